/* Arrays: how they are made and released, what they are, and copies of whole ones. */
#include "safe/memory/array.h"
#include "safe/base/active_capture.h"
#include "safe/memory/array_make.h"
#include "safe/memory/region.h"

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
    return on_raw(__func__, stream, raw, false, array);
}

acu_result acu_array_adopt(acu_stream *stream, struct cudaArray *raw, acu_array **array) {
    return on_raw(__func__, stream, raw, true, array);
}

acu_array *acu_array_retain(acu_array *array) {
    return acu_object_retain(__func__, array, &acu_array_class);
}

acu_result acu_array_release(acu_array *array) {
    acu_destroy_deferred();
    return acu_object_release(__func__, array, &acu_array_class);
}

void acu_array_cleanup(acu_array **array) {
    (void)acu_array_release(array ? *array : NULL);
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
    uint64_t unused;
    NEED_ARRAY(array);
    ACU_TRY(choose_stream(__func__, array, &on));
    return OUTCOME(array, acu_storage_begin_use(array->shape.memory->storage, on, writes, &unused));
}

acu_result acu_array_end_use(acu_array *array, bool writes, acu_stream *on) {
    NEED_ARRAY(array);
    ACU_TRY(choose_stream(__func__, array, &on));
    return OUTCOME(array, acu_storage_end_use(array->shape.memory->storage, on, writes, 0));
}

/* ---- copies ---- */

/* Copies between arrays of two devices name both; CUDA captures no such copy. */
static int run_copy(const acu_buffer_job *job, const void *data) {
    const struct cudaMemcpy3DParms *p = data;
    const bool both = job->to && job->from;
    if (!both || job->to->object.device == job->from->object.device)
        return (int)cudaMemcpy3DAsync(p, job->on->raw);
    const struct cudaMemcpy3DPeerParms peer = {.srcArray = p->srcArray,
                                               .srcDevice = job->from->object.device,
                                               .dstArray = p->dstArray,
                                               .dstDevice = job->to->object.device,
                                               .extent = p->extent};
    return (int)cudaMemcpy3DPeerAsync(&peer, job->on->raw);
}

static int run_rows(const acu_buffer_job *job, const void *data) {
    return (int)cudaMemcpy3DAsync(data, job->on->raw);
}

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
    ACU_TRY(check_host(__func__, array, dtype, host, count, &on));
    const struct cudaMemcpy3DParms p = {.srcPtr = rows_of(array, host),
                                        .dstArray = array->raw,
                                        .extent = whole(array),
                                        .kind = cudaMemcpyHostToDevice};
    const acu_buffer_job job = {
        .to = array->shape.memory, .on = on, .copies = true, .run = run_copy, .data = &p};
    return OUTCOME(array, acu_buffer_run_and_wait(&job));
}

acu_result acu_array_read_typed(acu_array *array, acu_dtype dtype, void *host, size_t count,
                                acu_stream *on) {
    ACU_TRY(check_host(__func__, array, dtype, host, count, &on));
    const struct cudaMemcpy3DParms p = {.srcArray = array->raw,
                                        .dstPtr = rows_of(array, host),
                                        .extent = whole(array),
                                        .kind = cudaMemcpyDeviceToHost};
    const acu_buffer_job job = {
        .from = array->shape.memory, .on = on, .copies = true, .run = run_copy, .data = &p};
    return OUTCOME(array, acu_buffer_run_and_wait(&job));
}

static bool have_equal_extents(const acu_array *a, const acu_array *b) {
    const struct cudaExtent x = whole(a), y = whole(b);
    return x.width == y.width && x.height == y.height && x.depth == y.depth;
}

/* Two levels of a mipmap have one memory, which is then written once. */
acu_result acu_array_copy(acu_array *to, acu_array *from, acu_stream *on) {
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
                                .run = run_copy,
                                .data = &p};
    return OUTCOME(to, acu_buffer_run(&job));
}

/* ---- copies of regions ---- */

/* One side of a copy: an array's region, or rows of memory. */
typedef struct side {
    const acu_array *array; /* NULL: rows */
    acu_buffer *memory;     /* NULL: the host */
    acu_rows rows;
    struct cudaPos at;
} side;

/* Returns how many elements an extent of an array is in memory: blocks, if compressed. */
static acu_extent in_memory(const acu_array *array, acu_extent e) {
    const size_t unit = acu_format_is_compressed(&array->shape.format) ? 4 : 1;
    return (acu_extent){(e.width + unit - 1) / unit, (e.height + unit - 1) / unit, e.depth};
}

/* Returns whether texels are whole blocks; the last block may end behind the array. */
static bool are_blocks(size_t at, size_t length, size_t all) {
    return at % 4 == 0 && (length % 4 == 0 || length == all - at);
}

static int check_blocks(const char *call, const acu_array *array, acu_position at, acu_extent e) {
    const acu_extent all = acu_array_elements(&array->shape, false);
    if (!acu_format_is_compressed(&array->shape.format) ||
        (are_blocks(at.x, e.width, all.width) && are_blocks(at.y, e.height, all.height)))
        return 0;
    acu_fail_hint("blocks have 4 x 4 texels: begin at multiples of 4, and copy multiples of 4 or "
                  "up to the edge");
    return acu_fail_on(call, array, ACU_ERROR_RANGE,
                       "%zu x %zu texels from {%zu, %zu} on are no whole blocks of a compressed "
                       "array",
                       e.width, e.height, at.x, at.y);
}

static int check_in_array(const char *call, const acu_region *region, acu_extent e, side *s) {
    const acu_array *array = region->array;
    const acu_position at = region->at;
    if (!acu_is(array, &acu_array_class))
        return acu_object_refuse(call, array, &acu_array_class);
    if (region->buffer || region->row_pitch || region->slice_height)
        return acu_fail_on(call, array, ACU_ERROR_ARGUMENT,
                           "a region of an array has no 'buffer', 'row_pitch' and 'slice_height'");
    const acu_extent all = acu_array_elements(&array->shape, false);
    if (at.x > all.width || e.width > all.width - at.x || at.y > all.height ||
        e.height > all.height - at.y || at.z > all.depth || e.depth > all.depth - at.z)
        return acu_fail_on(call, array, ACU_ERROR_RANGE,
                           "%zu x %zu x %zu elements from {%zu, %zu, %zu} on are outside of the "
                           "array, which has %zu x %zu x %zu",
                           e.width, e.height, e.depth, at.x, at.y, at.z, all.width, all.height,
                           all.depth);
    *s = (side){.array = array, .memory = array->shape.memory, .at = {at.x, at.y, at.z}};
    return check_blocks(call, array, at, e);
}

/* Checks that memory of such elements can be copied from or to the array. */
static int check_elements(const char *call, const acu_array *array, acu_dtype dtype, bool of_host) {
    const acu_format *f = &array->shape.format;
    const bool is_whole = acu_dtype_size(dtype) == array->shape.element &&
                          (f->channels > 1 || acu_dtype_fits(f->dtype, dtype));
    if (is_whole || (of_host && acu_dtype_fits(f->dtype, dtype)))
        return 0;
    acu_fail_hint("ACU_BYTES(%zu) is the type of the array's elements: acu_buffer_reinterpret()",
                  array->shape.element);
    return acu_fail_on(call, array, ACU_ERROR_DTYPE, "the array holds %u x %s, the memory %s",
                       f->channels, acu_dtype_name(f->dtype), acu_dtype_name(dtype));
}

static int find_side(const char *call, const acu_region *region, const char *name,
                     const acu_array *other, acu_extent extent, side *s) {
    if (!region)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'%s' is NULL", name);
    if (region->array)
        return check_in_array(call, region, extent, s);
    if (!acu_is(region->buffer, &acu_buffer_class))
        return acu_object_refuse(call, region->buffer, &acu_buffer_class);
    if (!acu_is(other, &acu_array_class))
        return acu_object_refuse(call, other, &acu_array_class);
    *s = (side){.memory = region->buffer};
    ACU_TRY(check_elements(call, other, region->buffer->dtype, false));
    return acu_region_find_rows(call, region, name, in_memory(other, extent), &s->rows);
}

/* Returns the rows for CUDA, which wants slices that are a whole number of rows apart. */
static struct cudaPitchedPtr pitched(const side *s, acu_extent e) {
    const size_t rows = e.depth > 1 ? s->rows.slice / s->rows.pitch : e.height;
    return (struct cudaPitchedPtr){s->rows.at, s->rows.pitch, e.width, rows};
}

static struct cudaMemcpy3DParms params_of(const side *to, const side *from, acu_extent e) {
    struct cudaMemcpy3DParms p = {.extent = {e.width, e.height, e.depth},
                                  .kind = cudaMemcpyDefault};
    const acu_extent memory = in_memory(to->array ? to->array : from->array, e);
    p.dstPos = to->at;
    p.srcPos = from->at;
    if (to->array)
        p.dstArray = to->array->raw;
    else
        p.dstPtr = pitched(to, memory);
    if (from->array)
        p.srcArray = from->array->raw;
    else
        p.srcPtr = pitched(from, memory);
    return p;
}

static int check_two_arrays(const char *call, const side *to, const side *from) {
    if (to->array->raw == from->array->raw)
        return acu_fail_on(call, to->array, ACU_ERROR_RANGE, "both regions are of one array");
    const acu_format *format = &to->array->shape.format, *other = &from->array->shape.format;
    if (acu_format_is_compressed(format) != acu_format_is_compressed(other))
        return acu_fail_on(call, to->array, ACU_ERROR_DTYPE,
                           "one array is compressed and the other one is not");
    if (to->array->shape.element == from->array->shape.element)
        return 0;
    return acu_fail_on(call, to->array, ACU_ERROR_DTYPE,
                       "elements of the destination have %zu bytes, those of the source %zu",
                       to->array->shape.element, from->array->shape.element);
}

int acu_array_copy_regions(const char *call, const acu_region *to, const acu_region *from,
                           acu_extent extent, acu_stream *on) {
    side t = {0}, f = {0};
    ACU_TRY(acu_region_check_extent(call, extent));
    ACU_TRY(find_side(call, to, "to", from ? from->array : NULL, extent, &t));
    ACU_TRY(find_side(call, from, "from", to ? to->array : NULL, extent, &f));
    if (t.array && f.array)
        ACU_TRY(check_two_arrays(call, &t, &f));
    ACU_TRY(acu_buffer_choose_stream(call, t.memory, &on));
    const struct cudaMemcpy3DParms p = params_of(&t, &f, extent);
    const acu_buffer_job job = {.to = t.memory,
                                .from = f.memory,
                                .on = on,
                                .copies = true,
                                .run = t.array && f.array ? run_copy : run_rows,
                                .data = &p};
    const void *handle = t.array ? (const void *)t.array : (const void *)t.memory;
    return acu_outcome(call, handle, acu_buffer_run(&job));
}

int acu_array_copy_host(const char *call, const acu_array_host_copy *c) {
    side array = {0}, host = {0};
    size_t first = 0, end = 0;
    acu_stream *on = c->on;
    ACU_TRY(acu_region_check_extent(call, c->extent));
    ACU_TRY(check_in_array(call, c->region, c->extent, &array));
    if (!c->host)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'host' is NULL");
    ACU_TRY(check_elements(call, array.array, c->dtype, true));
    const acu_rows_asked asked = {.object = array.array,
                                  .name = "the host's memory",
                                  .extent = in_memory(array.array, c->extent),
                                  .size = array.array->shape.element,
                                  .row_pitch = c->row_pitch,
                                  .slice_height = c->slice_height};
    ACU_TRY(acu_rows_place(call, &asked, &host.rows, &first, &end));
    host.rows.at = (char *)(uintptr_t)c->host;
    ACU_TRY(choose_stream(call, array.array, &on));
    struct cudaMemcpy3DParms p =
        params_of(c->writes ? &array : &host, c->writes ? &host : &array, c->extent);
    p.kind = c->writes ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
    const acu_buffer_job job = {.to = c->writes ? array.memory : NULL,
                                .from = c->writes ? NULL : array.memory,
                                .on = on,
                                .copies = true,
                                .run = run_rows,
                                .data = &p};
    return acu_outcome(call, array.array, acu_buffer_run_and_wait(&job));
}
