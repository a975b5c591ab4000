/*
 * The memory that a program maps to sparse arrays and arrays with deferred mapping, by
 * cuMemMapArrayAsync(). A call is validated as a whole; then an operation of its stream changes
 * what is mapped.
 */
#include "sim/memory/array_memory.h"

#include "sim/cuda_bodies.h"
#include "sim/device/device.h"
#include "sim/memory/array.h"
#include "sim/memory/external_memory.h"
#include "sim/memory/memory.h"
#include "sim/stream/capture.h"
#include "sim/stream/op.h"
#include "sim/stream/stream.h"

#include <stdlib.h>

/* A box of pieces to which memory is mapped, along x first. */
typedef struct change {
    acu_sim_array_memory *of;
    acu_sim_created *memory; /* NULL: what is mapped is unmapped */
    char *bytes;             /* of the memory */
    size_t first;            /* the first piece */
    size_t columns, rows;    /* pieces from one row to the next, and rows from a slab to the next */
    size_t wide, high, deep; /* of the box */
    bool is_beyond;          /* the box begins behind the array: nothing of the array changes */
} change;

struct acu_sim_array_changes {
    unsigned count;
    change list[];
};

/* ---- what is mapped ---- */

acu_sim_array_memory *acu_sim_array_memory_new(acu_sim_array *const *levels, unsigned count) {
    acu_sim_array_memory *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->refs = 1;
    acu_sim_array_lay_out(levels, count, &m->shape);
    return m;
}

static size_t piece_count(const acu_sim_array_memory *m) {
    return m->shape.size / SIM_PIECE;
}

void acu_sim_array_memory_release(acu_sim_array_memory *memory) {
    if (!memory || --memory->refs)
        return;
    acu_sim_memory_wait_for_moves();
    for (size_t i = 0; memory->pieces && i < piece_count(memory); i++)
        acu_sim_created_let_go(memory->pieces[i].of);
    if (memory->external)
        acu_sim_external_release(memory->external);
    free(memory->pieces);
    free(memory);
}

/* An array with deferred mapping is mapped as a whole. */
bool acu_sim_array_memory_is_there(const acu_sim_array *array) {
    const acu_sim_array_memory *m = array->memory;
    return !m || m->whole || array->flags & cudaArraySparse || (m->pieces && m->pieces[0].of);
}

char *acu_sim_array_memory_at(const acu_sim_array *level, size_t x, size_t y, size_t z,
                              size_t *run) {
    const acu_sim_array_memory *m = level->memory;
    const size_t offset = acu_sim_array_offset(level, x, y, z);
    const acu_sim_array_piece *piece = m->pieces ? &m->pieces[offset / SIM_PIECE] : NULL;
    const size_t unit = m->whole ? SIM_IMAGE_RUN : SIM_PIECE_RUN;
    *run = unit - x % unit;
    if (m->whole)
        return m->whole + offset;
    return piece && piece->of ? piece->bytes + offset % SIM_PIECE : NULL;
}

/* ---- changing what is mapped ---- */

static void set_piece(acu_sim_array_piece *piece, acu_sim_created *memory, char *bytes) {
    acu_sim_created_hold(memory);
    acu_sim_created_let_go(piece->of);
    *piece = (acu_sim_array_piece){memory, bytes};
}

static void apply(const change *c) {
    char *bytes = c->bytes;
    for (size_t z = 0; z < c->deep; z++)
        for (size_t y = 0; y < c->high; y++)
            for (size_t x = 0; x < c->wide; x++) {
                const size_t piece = c->first + (z * c->rows + y) * c->columns + x;
                set_piece(&c->of->pieces[piece], c->memory, bytes);
                bytes += c->memory ? SIM_PIECE : 0;
            }
}

static void drop_changes(struct acu_sim_array_changes *changes) {
    for (unsigned i = 0; changes && i < changes->count; i++) {
        acu_sim_created_let_go(changes->list[i].memory);
        acu_sim_array_memory_release(changes->list[i].of);
    }
    free(changes);
}

static void drop(acu_sim_op *op) {
    drop_changes(op->with.array_changes);
    op->with.array_changes = NULL;
}

/* Holds no references afterwards, because the stream may keep the operation. */
static cudaError_t run(acu_sim_op *op) {
    const struct acu_sim_array_changes *changes = op->with.array_changes;
    pthread_mutex_lock(&acu_sim_lock);
    acu_sim_memory_wait_for_moves();
    for (unsigned i = 0; i < changes->count; i++)
        if (!changes->list[i].is_beyond)
            apply(&changes->list[i]);
    drop(op);
    pthread_mutex_unlock(&acu_sim_lock);
    return cudaSuccess;
}

/* ---- reading an entry of the list ---- */

/* Finds the levels to which the program maps memory itself; NULL if there are none. A level alone
 * is none. */
static acu_sim_array *const *find_levels(const CUarrayMapInfo *info, unsigned *count,
                                         acu_sim_array **only) {
    acu_sim_array *const *levels = only;
    if (info->resourceType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) {
        levels = acu_sim_array_mipmap_levels(
            (cudaMipmappedArray_const_t)(void *)info->resource.mipmap, count);
        return levels && levels[0]->memory && !levels[0]->memory->external ? levels : NULL;
    }
    *count = 1;
    *only = acu_sim_array_of((cudaArray_const_t)(void *)info->resource.array);
    return info->resourceType == CU_RESOURCE_TYPE_ARRAY && *only && !(*only)->is_level &&
                   (*only)->memory
               ? levels
               : NULL;
}

/* Returns whether whole tiles begin at an offset: the last one may end with the level. CUDA adds
 * with 32 bits, so that an offset may be as large as to come around. */
static bool are_tiles(uint32_t offset, uint32_t extent, size_t tile, size_t all) {
    const uint32_t end = offset + extent;
    return extent && extent <= all && offset % tile == 0 && end <= all &&
           (extent % tile == 0 || end == all);
}

static size_t tile_count(size_t extent, size_t tile) {
    return (extent + tile - 1) / tile;
}

static bool read_tiles(const CUarrayMapInfo *info, acu_sim_array *const *levels, unsigned count,
                       change *c) {
    const unsigned index = info->subresource.sparseLevel.level,
                   layer = info->subresource.sparseLevel.layer;
    const acu_sim_array *level = index < count ? levels[index] : NULL;
    if (!level || !level->place.tiled || layer >= acu_sim_array_layers(level))
        return false;
    const acu_sim_array_place *p = &level->place;
    const size_t width = p->width / level->element,
                 slices = acu_sim_array_has_slices(level) ? level->depth : 1;
    const uint32_t x = info->subresource.sparseLevel.offsetX,
                   y = info->subresource.sparseLevel.offsetY,
                   z = info->subresource.sparseLevel.offsetZ,
                   wide = info->subresource.sparseLevel.extentWidth,
                   high = info->subresource.sparseLevel.extentHeight,
                   deep = info->subresource.sparseLevel.extentDepth;
    if (!are_tiles(x, wide, width, level->width) || !are_tiles(y, high, p->height, level->height) ||
        !are_tiles(z, deep, p->depth, slices))
        return false;
    c->columns = p->columns;
    c->rows = p->rows;
    c->first = (p->start + layer * p->layer) / SIM_PIECE +
               (z / p->depth * p->rows + y / p->height) * p->columns + x / width;
    c->wide = tile_count(wide, width);
    c->high = tile_count(high, p->height);
    c->deep = tile_count(deep, p->depth);
    c->is_beyond = x >= level->width || y >= level->height || z >= slices;
    return true;
}

static void set_run(change *c, size_t first, size_t bytes) {
    c->first = first / SIM_PIECE;
    c->columns = c->wide = bytes / SIM_PIECE;
    c->rows = c->high = c->deep = 1;
}

static bool read_tail(const CUarrayMapInfo *info, const acu_sim_array_shape *shape, change *c) {
    const unsigned layer = info->subresource.miptail.layer;
    const uint64_t offset = info->subresource.miptail.offset, size = info->subresource.miptail.size;
    if (layer >= shape->tail_layers || !size || offset % SIM_PIECE || size % SIM_PIECE ||
        size > shape->tail_layer || offset > shape->tail_layer - size)
        return false;
    set_run(c, shape->tail + layer * shape->tail_layer + offset, size);
    return true;
}

static bool read_place(const CUarrayMapInfo *info, acu_sim_array *const *levels, unsigned count,
                       change *c) {
    const acu_sim_array_shape *shape = &levels[0]->memory->shape;
    if (levels[0]->flags & cudaArrayDeferredMapping) { /* of which nothing else is looked at */
        set_run(c, 0, shape->size);
        return true;
    }
    switch (info->subresourceType) {
    case CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL:
        return read_tiles(info, levels, count, c);
    case CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL:
        return read_tail(info, shape, c);
    default:
        return false;
    }
}

/* Finds the memory, which must be large enough for all pieces. CUDA adds with 64 bits, so that an
 * offset may be as large as to come around; nothing is mapped then. */
static cudaError_t read_memory(const CUarrayMapInfo *info, const acu_sim_device *device,
                               change *c) {
    if (info->memOperationType == CU_MEM_OPERATION_TYPE_UNMAP)
        return cudaSuccess;
    acu_sim_created *memory = acu_sim_created_for_arrays(info->memHandle.memHandle, device);
    const uint64_t needed = (uint64_t)(c->wide * c->high * c->deep) * SIM_PIECE;
    if (!memory || info->offset % SIM_PIECE || needed > memory->size ||
        info->offset + needed > memory->size)
        return cudaErrorInvalidValue;
    if (info->offset >= memory->size)
        return cudaSuccess;
    char *bytes = acu_sim_created_bytes(memory);
    if (!bytes)
        return cudaErrorMemoryAllocation;
    c->memory = memory;
    c->bytes = bytes + info->offset;
    return cudaSuccess;
}

static bool is_plain(const CUarrayMapInfo *info, const acu_sim_device *device) {
    return (info->memOperationType == CU_MEM_OPERATION_TYPE_UNMAP ||
            (info->memOperationType == CU_MEM_OPERATION_TYPE_MAP &&
             info->memHandleType == CU_MEM_HANDLE_TYPE_GENERIC)) &&
           !info->flags && !info->reserved[0] && !info->reserved[1] && device->index < 32 &&
           info->deviceBitMask == 1u << device->index;
}

/* Reads an entry; a change that was read holds references. */
static cudaError_t read_change(const CUarrayMapInfo *info, const acu_sim_device *device,
                               change *c) {
    acu_sim_array *only;
    unsigned count;
    acu_sim_array *const *levels = find_levels(info, &count, &only);
    if (!levels || levels[0]->device != device || !is_plain(info, device) ||
        !read_place(info, levels, count, c))
        return cudaErrorInvalidValue;
    SIM_TRY(read_memory(info, device, c));
    c->of = levels[0]->memory;
    if (!c->of->pieces &&
        !(c->of->pieces = calloc(piece_count(c->of), sizeof(acu_sim_array_piece))))
        return cudaErrorMemoryAllocation;
    c->of->refs++;
    acu_sim_created_hold(c->memory);
    return cudaSuccess;
}

/* ---- the call ---- */

cudaError_t acu_sim_cuMemMapArrayAsync(CUarrayMapInfo *mapInfoList, unsigned int count,
                                       CUstream hStream) {
    acu_sim_stream *stream;
    cudaError_t why = cudaSuccess;
    if (!mapInfoList || !count)
        return cudaErrorInvalidValue;
    SIM_TRY(acu_sim_stream_of(hStream, &stream));
    SIM_TRY(acu_sim_capture_allows(stream, SIM_REFUSES));
    struct acu_sim_array_changes *changes =
        calloc(1, sizeof *changes + count * sizeof *changes->list);
    for (unsigned i = 0; changes && !why && i < count; i++)
        if (!(why = read_change(&mapInfoList[i], stream->device, &changes->list[i])))
            changes->count++;
    acu_sim_op *op = changes && !why ? acu_sim_op_new(cudaGraphNodeTypeEmpty, run) : NULL;
    if (!op) {
        drop_changes(changes);
        return why ? why : cudaErrorMemoryAllocation;
    }
    op->with.array_changes = changes;
    op->drop = drop;
    return acu_sim_stream_submit(stream, op, false);
}
