/*
 * Memory that a program maps to sparse and deferred arrays and mipmaps, by the driver's API: the
 * runtime has no such call. CUDA answers 1 to everything that is wrong; so all parts are checked
 * here first, against what CUDA says of the tiles.
 */
#include "safe/memory/array_make.h"
#include "safe/memory/physical.h"

#include <limits.h>
#include <stdlib.h>

enum { DEVICES = 32 }; /* CUDA names them by bits */

/* What is checked: one mapping of a list, with what CUDA says of the array. */
typedef struct part {
    const acu_array_parts *of;
    const acu_array_mapping *m;
    acu_sparse_properties tiles; /* of a sparse array */
    size_t whole;                /* bytes that a deferred array needs; 0: it is sparse */
    size_t needs;                /* set: bytes of the memory that the part takes */
} part;

/* ---- what CUDA says ---- */

static int ask_sparse(const acu_array_parts *p, acu_sparse_properties *tiles) {
    struct cudaArraySparseProperties sparse = {0};
    const int code = p->array ? (int)cudaArrayGetSparseProperties(&sparse, p->array)
                              : (int)cudaMipmappedArrayGetSparseProperties(&sparse, p->mipmap);
    *tiles = acu_array_sparse(&sparse);
    return code;
}

static int ask_whole(const acu_array_parts *p, size_t *bytes) {
    struct cudaArrayMemoryRequirements needs = {0};
    const int device = p->shape->memory->object.device;
    const int code = p->array
                         ? (int)cudaArrayGetMemoryRequirements(&needs, p->array, device)
                         : (int)cudaMipmappedArrayGetMemoryRequirements(&needs, p->mipmap, device);
    *bytes = needs.size;
    return code;
}

/* ---- checks; each returns 0 or a failure recorded for the call ---- */

#define REFUSE(p, code, ...) acu_fail_on((p)->of->call, (p)->of->handle, (code), __VA_ARGS__)

static size_t layers_of(const part *p) {
    const unsigned layers = (unsigned)ACU_ARRAY_LAYERED | (unsigned)ACU_ARRAY_CUBE;
    return acu_has(p->of->shape->flags, layers) ? p->of->shape->extent.depth : 1;
}

/* Returns the extent of the mapping's level, of one layer; none is 0. */
static acu_extent level_of(const part *p) {
    const acu_extent e = acu_array_elements(p->of->shape, false);
    const unsigned level = p->m->level;
    const size_t slices = layers_of(p) > 1 || e.depth == 1 ? 1 : e.depth >> level;
    return (acu_extent){e.width >> level ? e.width >> level : 1,
                        e.height >> level ? e.height >> level : 1, slices ? slices : 1};
}

/* Checks whole tiles in one direction, and counts them. */
static int check_side(const part *p, const char *name, size_t at, size_t extent, size_t tile,
                      size_t all, size_t *count) {
    if (at > all || extent > all - at || extent == 0)
        return REFUSE(p, ACU_ERROR_RANGE, "%s: %zu elements from element %zu on, of %zu", name,
                      extent, at, all);
    if (at % tile || (extent % tile && at + extent != all))
        return REFUSE(p, ACU_ERROR_RANGE,
                      "%s: %zu elements from element %zu on are not whole tiles, which have %zu "
                      "(the last one may end with the level, at %zu)",
                      name, extent, at, tile, all);
    *count = (extent + tile - 1) / tile;
    return 0;
}

static int check_layer(const part *p, size_t layers, const char *of) {
    return p->m->layer < layers ? 0
                                : REFUSE(p, ACU_ERROR_RANGE, "there is no layer %u: %s has %zu",
                                         p->m->layer, of, layers);
}

static int check_tiles(part *p) {
    const acu_array_mapping *m = p->m;
    size_t columns = 0, rows = 0, slabs = 0;
    if (m->tail_at || m->tail_bytes)
        return REFUSE(p, ACU_ERROR_ARGUMENT, "'tail_at' and 'tail_bytes' are for a tail");
    if (m->level >= p->of->levels)
        return REFUSE(p, ACU_ERROR_RANGE, "there is no level %u", m->level);
    if (m->level >= p->tiles.first_level && p->tiles.tail_bytes)
        return REFUSE(p, ACU_ERROR_RANGE, "level %u has no tiles, because it is in the tail",
                      m->level);
    ACU_TRY(check_layer(p, layers_of(p), "the array"));
    const acu_extent all = level_of(p), tile = p->tiles.tile;
    ACU_TRY(check_side(p, "width", m->at.x, m->extent.width, tile.width, all.width, &columns));
    ACU_TRY(check_side(p, "height", m->at.y, m->extent.height, tile.height, all.height, &rows));
    ACU_TRY(check_side(p, "depth", m->at.z, m->extent.depth, tile.depth, all.depth, &slabs));
    p->needs = columns * rows * slabs * ACU_TILE_BYTES;
    return 0;
}

static int check_tail(part *p) {
    const acu_array_mapping *m = p->m;
    const acu_extent e = m->extent;
    if (m->level || m->at.x || m->at.y || m->at.z || e.width || e.height || e.depth)
        return REFUSE(p, ACU_ERROR_ARGUMENT,
                      "'level', 'at' and 'extent' are for tiles, and this "
                      "is a tail");
    if (!p->tiles.tail_bytes)
        return REFUSE(p, ACU_ERROR_RANGE, "it has no tail: all levels have tiles");
    ACU_TRY(check_layer(p, p->tiles.is_single_tail ? 1 : layers_of(p), "the tail"));
    if (m->tail_at % ACU_TILE_BYTES || m->tail_bytes % ACU_TILE_BYTES || !m->tail_bytes ||
        m->tail_at > p->tiles.tail_bytes || m->tail_bytes > p->tiles.tail_bytes - m->tail_at)
        return REFUSE(p, ACU_ERROR_RANGE,
                      "%zu bytes from byte %zu on: a tail is mapped by multiples of %d, and this "
                      "one has %zu bytes",
                      m->tail_bytes, m->tail_at, ACU_TILE_BYTES, p->tiles.tail_bytes);
    p->needs = m->tail_bytes;
    return 0;
}

static int check_whole(part *p) {
    const acu_array_mapping *m = p->m;
    const acu_extent e = m->extent;
    if (m->level || m->layer || m->at.x || m->at.y || m->at.z || e.width || e.height || e.depth ||
        m->tail || m->tail_at || m->tail_bytes)
        return REFUSE(p, ACU_ERROR_ARGUMENT,
                      "a deferred array is mapped as a whole: a mapping has "
                      "'memory' and 'memory_at' only");
    p->needs = p->whole;
    return 0;
}

static int check_memory(const part *p) {
    const acu_array_mapping *m = p->m;
    const acu_physical *memory = m->memory;
    const int device = p->of->shape->memory->object.device;
    if (!acu_is(memory, &acu_physical_class))
        return acu_object_refuse(p->of->call, memory, &acu_physical_class);
    if (memory->untiled)
        return acu_fail_on(p->of->call, memory, ACU_ERROR_STATE,
                           "the memory was made without options.tiles");
    if (memory->lease)
        return acu_fail_on(p->of->call, memory, ACU_ERROR_STATE,
                           "the memory is a share of another process, whose lease ends with this "
                           "handle, and not when it is unmapped");
    if (memory->object.device != device)
        return acu_fail_on(p->of->call, memory, ACU_ERROR_DEVICE,
                           "the memory is of device %d, the array of device %d",
                           memory->object.device, device);
    if (m->memory_at % ACU_TILE_BYTES || m->memory_at > memory->bytes ||
        p->needs > memory->bytes - m->memory_at)
        return acu_fail_on(p->of->call, memory, ACU_ERROR_RANGE,
                           "the part needs %zu bytes from byte %zu on, which must be a multiple of "
                           "%d, and the memory has %zu",
                           p->needs, m->memory_at, ACU_TILE_BYTES, memory->bytes);
    return 0;
}

static int check(part *p) {
    ACU_TRY(p->whole ? check_whole(p) : p->m->tail ? check_tail(p) : check_tiles(p));
    return p->of->unmaps ? 0 : check_memory(p);
}

/* ---- in CUDA's words ---- */

static CUarrayMapInfo info_of(const part *p) {
    const acu_array_mapping *m = p->m;
    CUarrayMapInfo info = {
        .memOperationType = p->of->unmaps ? CU_MEM_OPERATION_TYPE_UNMAP : CU_MEM_OPERATION_TYPE_MAP,
        .resourceType = p->of->array ? CU_RESOURCE_TYPE_ARRAY : CU_RESOURCE_TYPE_MIPMAPPED_ARRAY,
        .memHandleType = CU_MEM_HANDLE_TYPE_GENERIC,
        .deviceBitMask = 1u << (unsigned)p->of->shape->memory->object.device};
    if (p->of->array)
        info.resource.array = (CUarray)(void *)p->of->array;
    else
        info.resource.mipmap = (CUmipmappedArray)(void *)p->of->mipmap;
    if (m->tail) {
        info.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL;
        info.subresource.miptail.layer = m->layer;
        info.subresource.miptail.offset = m->tail_at;
        info.subresource.miptail.size = m->tail_bytes;
    } else {
        info.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL;
        info.subresource.sparseLevel.level = m->level;
        info.subresource.sparseLevel.layer = m->layer;
        info.subresource.sparseLevel.offsetX = (unsigned)m->at.x;
        info.subresource.sparseLevel.offsetY = (unsigned)m->at.y;
        info.subresource.sparseLevel.offsetZ = (unsigned)m->at.z;
        info.subresource.sparseLevel.extentWidth = (unsigned)m->extent.width;
        info.subresource.sparseLevel.extentHeight = (unsigned)m->extent.height;
        info.subresource.sparseLevel.extentDepth = (unsigned)m->extent.depth;
    }
    if (!p->of->unmaps) {
        info.memHandle.memHandle = m->memory->raw;
        info.offset = m->memory_at;
    }
    return info;
}

/* ---- mapping ---- */

typedef struct list {
    CUarrayMapInfo *infos;
    unsigned count;
} list;

static bool is_tail(const CUarrayMapInfo *info) {
    return info->subresourceType == CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL;
}

/* Maps each tail by a call of its own: a driver 580 mapped no tail that came after a level in one
 * call, and answered 0. */
static int run(const acu_buffer_job *job, const void *data) {
    const list *l = data;
    int code = 0;
    for (unsigned i = 0, count; i < l->count && !code; i += count) {
        count = 1;
        while (!is_tail(&l->infos[i]) && i + count < l->count && !is_tail(&l->infos[i + count]))
            count++;
        code = acu_translate_driver(
            cuMemMapArrayAsync(&l->infos[i], count, (CUstream)(void *)job->on->raw));
    }
    return code;
}

/* Checks all parts, which the error names by their index, and fills the list. */
static int fill_list(const acu_array_parts *p, list *l) {
    part one = {.of = p};
    const bool deferred = acu_has(p->shape->flags, (unsigned)ACU_ARRAY_DEFERRED);
    ACU_TRY(acu_outcome(p->call, p->handle,
                        deferred ? ask_whole(p, &one.whole) : ask_sparse(p, &one.tiles)));
    int code = 0;
    for (; l->count < p->count && !code; l->count += code == 0) {
        one.m = &p->mappings[l->count];
        acu_record_note("mapping", l->count);
        code = check(&one);
        if (!code)
            l->infos[l->count] = info_of(&one);
    }
    acu_record_note(NULL, 0);
    return code;
}

static int check_list(acu_array_parts *p) {
    const unsigned mapped = (unsigned)ACU_ARRAY_SPARSE | (unsigned)ACU_ARRAY_DEFERRED;
    const int device = p->shape->memory->object.device;
    if (!(p->shape->flags & mapped))
        return acu_fail_on(p->call, p->handle, ACU_ERROR_STATE,
                           "it was made with neither ACU_ARRAY_SPARSE nor ACU_ARRAY_DEFERRED, and "
                           "has memory of its own");
    if (device >= DEVICES)
        return acu_fail_on(p->call, p->handle, ACU_ERROR_LIMIT,
                           "CUDA maps memory to arrays of devices below %d only", DEVICES);
    if (!p->mappings && p->count)
        return acu_fail(p->call, "", ACU_ERROR_ARGUMENT, "'mappings' is NULL");
    if (p->count > UINT_MAX / 2)
        return acu_fail(p->call, "", ACU_ERROR_RANGE, "%zu mappings are too many", p->count);
    if (!p->on)
        p->on = p->shape->memory->storage->home;
    ACU_TRY(acu_stream_check(p->call, p->on));
    if (p->on->object.device != device)
        return acu_fail_on(p->call, p->on, ACU_ERROR_DEVICE,
                           "the stream is of device %d, the array of device %d",
                           p->on->object.device, device);
    return acu_outcome(p->call, p->on, acu_stream_check_uncaptured(p->on));
}

int acu_array_map_parts(acu_array_parts *p) {
    ACU_TRY(check_list(p));
    if (!p->count)
        return 0;
    list l = {.infos = malloc(p->count * sizeof *l.infos)};
    if (!l.infos)
        return acu_fail(p->call, "", ACU_ERROR_HOST_MEMORY,
                        "the host has no memory for a list of %zu mappings", p->count);
    int code = fill_list(p, &l);
    if (!code) {
        const acu_buffer_job job = {.to = p->shape->memory, .on = p->on, .run = run, .data = &l};
        code = acu_buffer_run(&job);
        if (code == cudaErrorInvalidValue && !p->unmaps)
            acu_fail_hint("memory of a raw handle, too, must have been made for tiles "
                          "(CU_MEM_CREATE_USAGE_TILE_POOL), which CUDA does not report");
        code = acu_outcome(p->call, p->handle, code);
    }
    free(l.infos);
    return code;
}

static int map_parts(const char *call, const acu_array *array, const acu_array_mapping *mappings,
                     size_t count, bool unmaps, acu_stream *on) {
    if (!acu_is(array, &acu_array_class))
        return acu_object_refuse(call, array, &acu_array_class);
    if (array->is_level)
        return acu_fail_on(call, array, ACU_ERROR_STATE,
                           "it is a level: acu_mipmap_map() and acu_mipmap_unmap() map memory to "
                           "its mipmap");
    acu_array_parts parts = {.call = call,
                             .handle = array,
                             .shape = &array->shape,
                             .array = array->raw,
                             .levels = 1,
                             .mappings = mappings,
                             .count = count,
                             .unmaps = unmaps,
                             .on = on};
    return acu_array_map_parts(&parts);
}

acu_result acu_array_map(acu_array *array, const acu_array_mapping *mappings, size_t count,
                         acu_stream *on) {
    ACU_SCOPE();
    return map_parts(__func__, array, mappings, count, false, on);
}

acu_result acu_array_unmap(acu_array *array, const acu_array_mapping *mappings, size_t count,
                           acu_stream *on) {
    ACU_SCOPE();
    return map_parts(__func__, array, mappings, count, true, on);
}
