/* Arrays: how they are made and released, what they are, and copies of whole ones. */
#include "safe/memory/array.h"
#include "safe/base/active_capture.h"
#include "safe/memory/array_make.h"

#include <stdio.h>

#define OUTCOME(array, code) acu_outcome(__func__, (array), (int)(code))
#define NEED_ARRAY(array)    ACU_NEED((array), acu_array_class)

/* ---- life ---- */

static int destroy_array(acu_object *object) {
    return acu_object_release(NULL, ((acu_array *)object)->shape.memory, &acu_buffer_class);
}

static void describe_array(const acu_object *object, acu_description *d) {
    const acu_array *array = (const acu_array *)object;
    acu_array_describe_shape(&array->shape, d);
    acu_describe(d, "raw %p", (void *)array->raw);
    if (array->is_level)
        acu_describe(d, "of a mipmap");
}

/* An array owns nothing but its share of the storage, which is delayed by itself. */
const acu_class acu_array_class = {"array", destroy_array, describe_array, acu_breaks_no_capture};

/* Makes a handle; returns 0 or a failure recorded for `call`. */
static int new_array(const char *call, const acu_stream *stream, acu_array **out) {
    *out = acu_object_new(call, &acu_array_class, sizeof **out, stream->object.device);
    return *out ? 0 : ACU_ERROR_HOST_MEMORY;
}

acu_result acu_array_create(acu_stream *stream, acu_format format, acu_extent extent,
                            unsigned flags, acu_array **array) {
    ACU_SCOPE();
    acu_array_making m = {.call = __func__, .stream = stream};
    acu_array *made = NULL;
    ACU_NEED_POINTER(array);
    *array = NULL;
    ACU_TRY(acu_array_begin_making(&m, &format, extent, flags));
    ACU_TRY(new_array(__func__, stream, &made));
    int code = acu_array_allocate(&m, &made->shape, &made->raw, NULL);
    if (code) {
        acu_object_discard(&made->object);
        return code;
    }
    *array = made;
    return 0;
}

int acu_array_share(const char *call, acu_buffer *memory, cudaArray_t raw, acu_array **array) {
    const acu_array_making m = {.call = call, .stream = memory->storage->home};
    acu_array *made = NULL;
    ACU_TRY(new_array(call, m.stream, &made));
    const int code = acu_array_ask(&m, raw, &made->shape);
    if (code) {
        acu_object_discard(&made->object);
        return code;
    }
    made->raw = raw;
    made->shape.owned = true; /* by what has the memory */
    made->shape.memory = memory;
    acu_object_add_owner(memory);
    *array = made;
    return 0;
}

/* Makes a handle for an array that is there. */
static int on_raw(const char *call, acu_stream *stream, cudaArray_t raw, bool owned,
                  acu_array **array) {
    acu_array_making m = {.call = call, .stream = stream};
    acu_array *made = NULL;
    if (!array)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'array' is NULL");
    *array = NULL;
    ACU_TRY(acu_stream_check(call, stream));
    if (!raw)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'raw' is NULL");
    acu_destroy_deferred();
    ACU_TRY(new_array(call, stream, &made));
    made->raw = raw;
    int code = acu_array_ask(&m, raw, &made->shape);
    if (!code)
        code = acu_array_keep(&m, &made->shape, raw, NULL, owned);
    if (code) {
        acu_object_discard(&made->object);
        return code;
    }
    *array = made;
    return 0;
}

acu_result acu_array_wrap(acu_stream *stream, struct cudaArray *raw, acu_array **array) {
    ACU_SCOPE();
    return on_raw(__func__, stream, raw, false, array);
}

acu_result acu_array_adopt(acu_stream *stream, struct cudaArray *raw, acu_array **array) {
    ACU_SCOPE();
    return on_raw(__func__, stream, raw, true, array);
}

acu_array *acu_array_retain(acu_array *array) {
    return acu_object_retain(__func__, array, &acu_array_class);
}

acu_result acu_array_release(acu_array *array) {
    ACU_SCOPE();
    acu_destroy_deferred();
    return acu_object_release(__func__, array, &acu_array_class);
}

void acu_array_cleanup(acu_array **array) {
    (void)acu_array_release(acu_take(array));
}

size_t acu_array_describe(const acu_array *array, char *text, size_t size) {
    return acu_object_describe_as(array, &acu_array_class, text, size);
}

/* ---- what an array is ---- */

struct cudaArray *acu_array_raw(const acu_array *array) {
    return acu_is(array, &acu_array_class) ? array->raw : NULL;
}

acu_format acu_array_format(const acu_array *array) {
    return acu_is(array, &acu_array_class) ? array->shape.format : (acu_format){0};
}

acu_extent acu_array_extent(const acu_array *array) {
    return acu_is(array, &acu_array_class) ? array->shape.extent : (acu_extent){0};
}

unsigned acu_array_flags(const acu_array *array) {
    return acu_is(array, &acu_array_class) ? array->shape.flags : 0;
}

size_t acu_array_count(const acu_array *array) {
    if (!acu_is(array, &acu_array_class))
        return 0;
    const acu_extent e = acu_array_elements(&array->shape, true);
    return e.width * e.height * e.depth * array->shape.format.channels;
}

acu_stream *acu_array_stream(const acu_array *array) {
    return acu_is(array, &acu_array_class) ? array->shape.memory->storage->home : NULL;
}

acu_device acu_array_device(const acu_array *array) {
    return acu_is(array, &acu_array_class) ? array->object.device : ACU_DEVICE_CURRENT;
}

acu_result acu_array_get_memory_requirements(const acu_array *array,
                                             acu_memory_requirements *requirements) {
    ACU_SCOPE();
    struct cudaArrayMemoryRequirements needs = {0};
    ACU_NEED_POINTER(requirements);
    *requirements = (acu_memory_requirements){0};
    NEED_ARRAY(array);
    ACU_TRY(acu_array_check_flag(__func__, array, &array->shape, ACU_ARRAY_DEFERRED));
    ACU_TRY(
        OUTCOME(array, cudaArrayGetMemoryRequirements(&needs, array->raw, array->object.device)));
    *requirements = (acu_memory_requirements){needs.size, needs.alignment};
    return 0;
}

acu_result acu_array_get_sparse_properties(const acu_array *array,
                                           acu_sparse_properties *properties) {
    ACU_SCOPE();
    struct cudaArraySparseProperties sparse = {0};
    ACU_NEED_POINTER(properties);
    *properties = (acu_sparse_properties){0};
    NEED_ARRAY(array);
    ACU_TRY(acu_array_check_flag(__func__, array, &array->shape, ACU_ARRAY_SPARSE));
    ACU_TRY(OUTCOME(array, cudaArrayGetSparseProperties(&sparse, array->raw)));
    *properties = acu_array_sparse(&sparse);
    return 0;
}

/* ---- order ---- */

acu_result acu_array_synchronize(acu_array *array) {
    ACU_SCOPE();
    acu_destroy_deferred();
    NEED_ARRAY(array);
    return OUTCOME(array, acu_storage_synchronize(array->shape.memory->storage));
}

/* Checks the stream; NULL becomes the array's own. */
static int choose_stream(const char *call, const acu_array *array, acu_stream **on) {
    if (!*on)
        *on = array->shape.memory->storage->home;
    return acu_stream_check(call, *on);
}

acu_result acu_array_begin_use(acu_array *array, bool writes, acu_stream *on) {
    ACU_SCOPE();
    uint64_t unused;
    NEED_ARRAY(array);
    ACU_TRY(choose_stream(__func__, array, &on));
    return OUTCOME(array, acu_storage_begin_use(array->shape.memory->storage, on, writes, &unused));
}

acu_result acu_array_end_use(acu_array *array, bool writes, acu_stream *on) {
    ACU_SCOPE();
    NEED_ARRAY(array);
    ACU_TRY(choose_stream(__func__, array, &on));
    return OUTCOME(array, acu_storage_end_use(array->shape.memory->storage, on, writes, 0));
}

/* ---- copies ---- */

static int check_host(const char *call, acu_array *array, acu_dtype dtype, const void *host,
                      size_t count, acu_stream **on) {
    if (!acu_is(array, &acu_array_class))
        return acu_object_refuse(call, array, &acu_array_class);
    if (!host)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'host' is NULL");
    const acu_dtype own = array->shape.format.dtype;
    if (acu_dtype_size(dtype) == 0 && dtype != ACU_ANY)
        return acu_refuse_dtype(call, dtype);
    if (!acu_dtype_fits(own, dtype))
        return acu_fail_on(call, array, ACU_ERROR_DTYPE, "the array holds %s, the host %s",
                           acu_dtype_name(own), acu_dtype_name(dtype));
    if (count != acu_array_count(array))
        return acu_fail_on(call, array, ACU_ERROR_RANGE,
                           "'count' is %zu, but all elements of the array have %zu values", count,
                           acu_array_count(array));
    return choose_stream(call, array, on);
}

static struct cudaPitchedPtr rows_of(const acu_array *array, const void *host) {
    const acu_extent e = acu_array_elements(&array->shape, true);
    return (struct cudaPitchedPtr){(void *)(uintptr_t)host, e.width * array->shape.element, e.width,
                                   e.height};
}

static struct cudaExtent whole(const acu_array *array) {
    const acu_extent e = acu_array_elements(&array->shape, false);
    return (struct cudaExtent){e.width, e.height, e.depth};
}

acu_result acu_array_write_typed(acu_array *array, acu_dtype dtype, const void *host, size_t count,
                                 acu_stream *on) {
    ACU_SCOPE();
    ACU_TRY(check_host(__func__, array, dtype, host, count, &on));
    const struct cudaMemcpy3DParms p = {.srcPtr = rows_of(array, host),
                                        .dstArray = array->raw,
                                        .extent = whole(array),
                                        .kind = cudaMemcpyHostToDevice};
    const acu_buffer_job job = {
        .to = array->shape.memory, .on = on, .copies = true, .run = acu_array_run_copy, .data = &p};
    return OUTCOME(array, acu_buffer_run_and_wait(&job));
}

acu_result acu_array_read_typed(acu_array *array, acu_dtype dtype, void *host, size_t count,
                                acu_stream *on) {
    ACU_SCOPE();
    ACU_TRY(check_host(__func__, array, dtype, host, count, &on));
    const struct cudaMemcpy3DParms p = {.srcArray = array->raw,
                                        .dstPtr = rows_of(array, host),
                                        .extent = whole(array),
                                        .kind = cudaMemcpyDeviceToHost};
    const acu_buffer_job job = {.from = array->shape.memory,
                                .on = on,
                                .copies = true,
                                .run = acu_array_run_copy,
                                .data = &p};
    return OUTCOME(array, acu_buffer_run_and_wait(&job));
}

static bool have_equal_extents(const acu_array *a, const acu_array *b) {
    const struct cudaExtent x = whole(a), y = whole(b);
    return x.width == y.width && x.height == y.height && x.depth == y.depth;
}

/* Two levels of a mipmap have one memory, which is then written once. */
acu_result acu_array_copy(acu_array *to, acu_array *from, acu_stream *on) {
    ACU_SCOPE();
    NEED_ARRAY(to);
    NEED_ARRAY(from);
    ACU_TRY(choose_stream(__func__, to, &on));
    ACU_REQUIRE_OF(to, have_equal_extents(to, from), ACU_ERROR_RANGE,
                   "the arrays have different extents");
    ACU_REQUIRE_OF(to,
                   to->shape.element == from->shape.element &&
                       acu_dtype_fits(to->shape.format.dtype, from->shape.format.dtype),
                   ACU_ERROR_DTYPE, "the destination holds %u x %s, the source %u x %s",
                   to->shape.format.channels, acu_dtype_name(to->shape.format.dtype),
                   from->shape.format.channels, acu_dtype_name(from->shape.format.dtype));
    ACU_REQUIRE_OF(to, to->raw != from->raw, ACU_ERROR_RANGE, "the two arrays are the same");
    const struct cudaMemcpy3DParms p = {.srcArray = from->raw,
                                        .dstArray = to->raw,
                                        .extent = whole(to),
                                        .kind = cudaMemcpyDeviceToDevice};
    const acu_buffer_job job = {.to = to->shape.memory,
                                .from = from->shape.memory,
                                .on = on,
                                .copies = true,
                                .run = acu_array_run_copy,
                                .data = &p};
    return OUTCOME(to, acu_buffer_run(&job));
}
