/* Mipmaps: arrays of decreasing size, which have one memory. */
#include "safe/base/device.h"
#include "safe/memory/array_make.h"

#define OUTCOME(mipmap, code) acu_outcome(__func__, (mipmap), (int)(code))
#define NEED_MIPMAP(mipmap)   ACU_NEED((mipmap), acu_mipmap_class)

/* ---- life ---- */

static int destroy_mipmap(acu_object *object) {
    return acu_object_release(NULL, ((acu_mipmap *)object)->shape.memory, &acu_buffer_class);
}

static void describe_mipmap(const acu_object *object, acu_description *d) {
    const acu_mipmap *mipmap = (const acu_mipmap *)object;
    acu_array_describe_shape(&mipmap->shape, d);
    acu_describe(d, "%u levels", mipmap->levels);
    acu_describe(d, "raw %p", (void *)mipmap->raw);
}

const acu_class acu_mipmap_class = {"mipmap", destroy_mipmap, describe_mipmap,
                                    acu_breaks_no_capture};

/* Makes a handle; returns 0 or a failure recorded for `call`. */
static int new_mipmap(const char *call, const acu_stream *stream, acu_mipmap **out) {
    *out = acu_object_new(call, &acu_mipmap_class, sizeof **out, stream->object.device);
    return *out ? 0 : ACU_ERROR_HOST_MEMORY;
}

/* Returns how many levels there can be: the last one has one element. */
static unsigned most_levels(const acu_extent *e, unsigned flags) {
    size_t largest = e->width > e->height ? e->width : e->height;
    unsigned count = 1;
    if (e->depth > largest &&
        !acu_has(flags, (unsigned)ACU_ARRAY_LAYERED | (unsigned)ACU_ARRAY_CUBE))
        largest = e->depth;
    for (; largest > 1; largest /= 2)
        count++;
    return count;
}

int acu_mipmap_check_levels(const char *call, acu_extent extent, unsigned flags, unsigned levels) {
    const unsigned most = most_levels(&extent, flags);
    return levels <= most
               ? 0
               : acu_fail(call, "", ACU_ERROR_RANGE,
                          "'levels' is %u, but of that extent there can be %u", levels, most);
}

acu_result acu_mipmap_create(acu_stream *stream, acu_format format, acu_extent extent,
                             unsigned levels, unsigned flags, acu_mipmap **mipmap) {
    ACU_SCOPE();
    acu_array_making m = {.call = __func__, .stream = stream};
    acu_mipmap *made = NULL;
    ACU_NEED_POINTER(mipmap);
    *mipmap = NULL;
    ACU_TRY(acu_array_begin_making(&m, &format, extent, flags));
    ACU_TRY(acu_mipmap_check_levels(__func__, extent, flags, levels));
    m.levels = levels ? levels : most_levels(&extent, flags);
    ACU_TRY(new_mipmap(__func__, stream, &made));
    int code = acu_array_allocate(&m, &made->shape, NULL, &made->raw);
    if (code) {
        acu_object_discard(&made->object);
        return code;
    }
    made->levels = m.levels;
    *mipmap = made;
    return 0;
}

/* Gets the array of a level. */
static int raw_level(int device, cudaMipmappedArray_t raw, unsigned level, cudaArray_t *array) {
    acu_guard guard;
    int code = acu_guard_enter(&guard, device);
    if (!code)
        code = (int)cudaGetMipmappedArrayLevel(array, raw, level);
    acu_guard_leave(&guard);
    return code;
}

/* Asks for the shape of level 0, and whether there is a last level. */
static int ask(const acu_array_making *m, acu_mipmap *made) {
    cudaArray_t first = NULL, last = NULL;
    const int device = m->stream->object.device;
    int code = raw_level(device, made->raw, 0, &first);
    if (!code)
        code = raw_level(device, made->raw, made->levels - 1, &last);
    if (code)
        return acu_cuda_failed_on(m->call, m->stream, code);
    return acu_array_ask(m, first, &made->shape);
}

/* Makes a mipmap of a raw one; `m` has the call, the stream and what has the memory. */
static int on_raw(const acu_array_making *m, cudaMipmappedArray_t raw, unsigned levels, bool owned,
                  acu_mipmap **mipmap) {
    acu_mipmap *made = NULL;
    ACU_TRY(new_mipmap(m->call, m->stream, &made));
    made->raw = raw;
    made->levels = levels;
    int code = ask(m, made);
    if (!code)
        code = acu_array_keep(m, &made->shape, NULL, raw, owned);
    if (code) {
        acu_object_discard(&made->object);
        return code;
    }
    *mipmap = made;
    return 0;
}

int acu_mipmap_share(const char *call, acu_buffer *memory, cudaMipmappedArray_t raw,
                     unsigned levels, acu_mipmap **mipmap) {
    const acu_array_making m = {.call = call, .stream = memory->storage->home};
    acu_mipmap *made = NULL;
    ACU_TRY(new_mipmap(call, m.stream, &made));
    made->raw = raw;
    made->levels = levels;
    const int code = ask(&m, made);
    if (code) {
        acu_object_discard(&made->object);
        return code;
    }
    made->shape.owned = true; /* by what has the memory */
    made->shape.memory = memory;
    acu_object_add_owner(memory);
    *mipmap = made;
    return 0;
}

int acu_mipmap_own(const char *call, acu_stream *stream, cudaMipmappedArray_t raw, unsigned levels,
                   acu_object *owner, acu_mipmap **mipmap) {
    const acu_array_making m = {.call = call, .stream = stream, .owner = owner};
    return on_raw(&m, raw, levels, true, mipmap);
}

static int wrap(const char *call, acu_stream *stream, cudaMipmappedArray_t raw, unsigned levels,
                bool owned, acu_mipmap **mipmap) {
    const acu_array_making m = {.call = call, .stream = stream};
    if (!mipmap)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'mipmap' is NULL");
    *mipmap = NULL;
    ACU_TRY(acu_stream_check(call, stream));
    if (!raw)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'raw' is NULL");
    if (!levels)
        return acu_fail(call, "", ACU_ERROR_RANGE, "'levels' is 0, but a mipmap has levels");
    acu_destroy_deferred();
    return on_raw(&m, raw, levels, owned, mipmap);
}

acu_result acu_mipmap_wrap(acu_stream *stream, struct cudaMipmappedArray *raw, unsigned levels,
                           acu_mipmap **mipmap) {
    ACU_SCOPE();
    return wrap(__func__, stream, raw, levels, false, mipmap);
}

acu_result acu_mipmap_adopt(acu_stream *stream, struct cudaMipmappedArray *raw, unsigned levels,
                            acu_mipmap **mipmap) {
    ACU_SCOPE();
    return wrap(__func__, stream, raw, levels, true, mipmap);
}

acu_mipmap *acu_mipmap_retain(acu_mipmap *mipmap) {
    return acu_object_retain(__func__, mipmap, &acu_mipmap_class);
}

acu_result acu_mipmap_release(acu_mipmap *mipmap) {
    ACU_SCOPE();
    acu_destroy_deferred();
    return acu_object_release(__func__, mipmap, &acu_mipmap_class);
}

void acu_mipmap_cleanup(acu_mipmap **mipmap) {
    (void)acu_mipmap_release(acu_take(mipmap));
}

size_t acu_mipmap_describe(const acu_mipmap *mipmap, char *text, size_t size) {
    return acu_object_describe_as(mipmap, &acu_mipmap_class, text, size);
}

/* ---- what a mipmap is ---- */

struct cudaMipmappedArray *acu_mipmap_raw(const acu_mipmap *mipmap) {
    return acu_is(mipmap, &acu_mipmap_class) ? mipmap->raw : NULL;
}

unsigned acu_mipmap_levels(const acu_mipmap *mipmap) {
    return acu_is(mipmap, &acu_mipmap_class) ? mipmap->levels : 0;
}

acu_format acu_mipmap_format(const acu_mipmap *mipmap) {
    return acu_is(mipmap, &acu_mipmap_class) ? mipmap->shape.format : (acu_format){0};
}

acu_extent acu_mipmap_extent(const acu_mipmap *mipmap) {
    return acu_is(mipmap, &acu_mipmap_class) ? mipmap->shape.extent : (acu_extent){0};
}

unsigned acu_mipmap_flags(const acu_mipmap *mipmap) {
    return acu_is(mipmap, &acu_mipmap_class) ? mipmap->shape.flags : 0;
}

acu_stream *acu_mipmap_stream(const acu_mipmap *mipmap) {
    return acu_is(mipmap, &acu_mipmap_class) ? mipmap->shape.memory->storage->home : NULL;
}

acu_device acu_mipmap_device(const acu_mipmap *mipmap) {
    return acu_is(mipmap, &acu_mipmap_class) ? mipmap->object.device : ACU_DEVICE_CURRENT;
}

acu_result acu_mipmap_get_memory_requirements(const acu_mipmap *mipmap,
                                              acu_memory_requirements *requirements) {
    ACU_SCOPE();
    struct cudaArrayMemoryRequirements needs = {0};
    ACU_NEED_POINTER(requirements);
    *requirements = (acu_memory_requirements){0};
    NEED_MIPMAP(mipmap);
    ACU_TRY(acu_array_check_flag(__func__, mipmap, &mipmap->shape, ACU_ARRAY_DEFERRED));
    ACU_TRY(OUTCOME(mipmap, cudaMipmappedArrayGetMemoryRequirements(&needs, mipmap->raw,
                                                                    mipmap->object.device)));
    *requirements = (acu_memory_requirements){needs.size, needs.alignment};
    return 0;
}

acu_result acu_mipmap_get_sparse_properties(const acu_mipmap *mipmap,
                                            acu_sparse_properties *properties) {
    ACU_SCOPE();
    struct cudaArraySparseProperties sparse = {0};
    ACU_NEED_POINTER(properties);
    *properties = (acu_sparse_properties){0};
    NEED_MIPMAP(mipmap);
    ACU_TRY(acu_array_check_flag(__func__, mipmap, &mipmap->shape, ACU_ARRAY_SPARSE));
    ACU_TRY(OUTCOME(mipmap, cudaMipmappedArrayGetSparseProperties(&sparse, mipmap->raw)));
    *properties = acu_array_sparse(&sparse);
    return 0;
}

/* ---- memory that the program maps ---- */

static int map_parts(const char *call, const acu_mipmap *mipmap, const acu_array_mapping *mappings,
                     size_t count, bool unmaps, acu_stream *on) {
    if (!acu_is(mipmap, &acu_mipmap_class))
        return acu_object_refuse(call, mipmap, &acu_mipmap_class);
    acu_array_parts parts = {.call = call,
                             .handle = mipmap,
                             .shape = &mipmap->shape,
                             .mipmap = mipmap->raw,
                             .levels = mipmap->levels,
                             .mappings = mappings,
                             .count = count,
                             .unmaps = unmaps,
                             .on = on};
    return acu_array_map_parts(&parts);
}

acu_result acu_mipmap_map(acu_mipmap *mipmap, const acu_array_mapping *mappings, size_t count,
                          acu_stream *on) {
    ACU_SCOPE();
    return map_parts(__func__, mipmap, mappings, count, false, on);
}

acu_result acu_mipmap_unmap(acu_mipmap *mipmap, const acu_array_mapping *mappings, size_t count,
                            acu_stream *on) {
    ACU_SCOPE();
    return map_parts(__func__, mipmap, mappings, count, true, on);
}

/* ---- levels ---- */

acu_result acu_mipmap_get_level(acu_mipmap *mipmap, unsigned level, acu_array **array) {
    ACU_SCOPE();
    cudaArray_t raw = NULL;
    ACU_NEED_POINTER(array);
    *array = NULL;
    NEED_MIPMAP(mipmap);
    ACU_REQUIRE_OF(mipmap, level < mipmap->levels, ACU_ERROR_RANGE, "there is no level %u", level);
    ACU_TRY(OUTCOME(mipmap, raw_level(mipmap->object.device, mipmap->raw, level, &raw)));
    ACU_TRY(acu_array_share(__func__, mipmap->shape.memory, raw, array));
    (*array)->is_level = true;
    (*array)->shape.owned = mipmap->shape.owned;
    return 0;
}
