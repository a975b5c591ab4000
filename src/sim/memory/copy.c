/*
 * Copies and fills. Both ends are judged when the call is made, or the node; the bytes move in
 * stream order, from and to where they are then.
 *
 * What the host waits for is CUDA's: a call that is not asynchronous waits unless both ends are
 * device memory; an asynchronous one waits where pageable memory takes part, except that a small
 * pageable source is copied first.
 */
#include "sim/memory/copy.h"
#include "sim/device/device.h"
#include "sim/memory/array.h"
#include "sim/memory/guard.h"
#include "sim/memory/memory.h"
#include "sim/memory/range.h"
#include "sim/stream/capture.h"
#include "sim/stream/op.h"
#include "sim/stream/stream.h"

#include <stdlib.h>
#include <string.h>

enum { STAGED_AT_MOST = 2 << 20 };

/* ---- one end ------------------------------------------------------------------------------------
 */

typedef struct end {
    char *bytes;       /* where they are */
    bool pageable;     /* memory that CUDA does not know */
    bool pinned;       /* host memory that it knows */
    bool host, device; /* who can reach it */
    bool in_array;
    const acu_sim_range *range; /* NULL: no device knows it */
} end;

/* How it is to be done. */
typedef struct manner {
    bool async;
    bool early;    /* what the host can read of the source is read before the call returns */
    bool named;    /* the call says which devices */
    bool in_bytes; /* x and width, also in arrays */
} manner;

/* False: not all of it may be touched. */
static bool find_end(const void *address, size_t size, end *e) {
    const acu_sim_range *range = acu_sim_range_of(address);
    *e = (end){.bytes = (char *)(uintptr_t)address, .pageable = true, .host = true};
    if (!range) { /* memory of the program, also if what comes behind it is registered */
        acu_sim_guard_explain(address);
        return address && !acu_sim_range_is_device_address(address);
    }
    if (size > range->base + range->size - (uintptr_t)address)
        return false;
    *e = (end){.bytes = acu_sim_range_bytes(range, address),
               .pinned = range->kind == SIM_PINNED || range->kind == SIM_REGISTERED,
               .host = range->kind != SIM_DEVICE,
               .device = true,
               .range = range};
    return true;
}

/* Memory that has been shown to some devices: of a pool, or mapped. */
static bool is_shown_to_some(const acu_sim_range *range) {
    return range && (range->pool || range->bytes);
}

/* Not shown to the current device: a copy must name the memory's then. */
static bool can_read(const end *e, bool named) {
    return named || !is_shown_to_some(e->range) ||
           acu_sim_range_allows_access(e->range, acu_sim_device_at(acu_sim_self()->device));
}

static bool can_write(const end *e, bool named) {
    if (acu_sim_range_is_read_only(e->range))
        return false;
    return named || !is_shown_to_some(e->range) ||
           acu_sim_range_allows_writing(e->range, acu_sim_device_at(acu_sim_self()->device));
}

static bool is_direction(enum cudaMemcpyKind kind) {
    return (unsigned)kind <= cudaMemcpyDefault;
}

/* With unified addresses a direction says only where there must not be pageable memory. */
static bool fits_kind(const end *to, const end *from, enum cudaMemcpyKind kind) {
    bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    return !(to_device && to->pageable) && !(from_device && from->pageable);
}

/* ---- what there is to copy ----------------------------------------------------------------------
 */

/* One end of it, in bytes. */
typedef struct layout {
    char *at;
    size_t pitch, slice, width, size;
    bool in_array;
} layout;

/* False: there is no such number. */
static bool lay_out(const struct cudaPitchedPtr *ptr, const struct cudaPos *pos,
                    const struct cudaExtent *extent, size_t element, layout *l) {
    size_t rows, slices, skipped, offset;
    l->in_array = false;
    if (__builtin_mul_overflow(extent->width, element, &l->width) ||
        __builtin_mul_overflow(ptr->pitch, ptr->ysize, &l->slice) ||
        __builtin_mul_overflow(l->slice, extent->depth - 1, &slices) ||
        __builtin_mul_overflow(ptr->pitch, extent->height - 1, &rows) ||
        __builtin_add_overflow(slices, rows, &l->size) ||
        __builtin_add_overflow(l->size, l->width, &l->size) ||
        __builtin_mul_overflow(l->slice, pos->z, &offset) ||
        __builtin_mul_overflow(ptr->pitch, pos->y, &skipped) ||
        __builtin_add_overflow(offset, skipped, &offset) ||
        __builtin_add_overflow(offset, pos->x, &offset) ||
        (uintptr_t)ptr->ptr + offset < (uintptr_t)ptr->ptr)
        return false;
    l->at = ptr->ptr ? (char *)ptr->ptr + offset : NULL;
    l->pitch = ptr->pitch;
    return true;
}

static bool is_inside(size_t from, size_t count, size_t all) {
    return from <= all && count <= all - from;
}

/* False: it is gone, or all of it is not inside. */
static bool lay_out_array(cudaArray_const_t handle, const struct cudaPos *pos,
                          const struct cudaExtent *extent, size_t unit, layout *l) {
    const acu_sim_array *array = acu_sim_array_of(handle);
    if (!array || !unit || !is_inside(pos->x, extent->width, array->pitch / unit) ||
        !is_inside(pos->y, extent->height, array->height) ||
        !is_inside(pos->z, extent->depth, array->depth))
        return false;
    *l = (layout){.pitch = array->pitch,
                  .slice = array->pitch * array->height,
                  .width = extent->width * unit,
                  .in_array = true};
    l->at = array->bytes + pos->z * l->slice + pos->y * l->pitch + pos->x * unit;
    return true;
}

/* What x and width count: elements of the arrays, if there are any; 0 if theirs differ in size. */
static size_t unit_of(const struct cudaMemcpy3DParms *copy, bool in_bytes) {
    const acu_sim_array *to = acu_sim_array_of(copy->dstArray);
    const acu_sim_array *from = acu_sim_array_of(copy->srcArray);
    if (to && from && to->element != from->element)
        return 0;
    return in_bytes ? 1 : to ? to->element : from ? from->element : 1;
}

static bool lay_out_to(const struct cudaMemcpy3DParms *copy, size_t unit, layout *l) {
    return copy->dstArray ? lay_out_array(copy->dstArray, &copy->dstPos, &copy->extent, unit, l)
                          : lay_out(&copy->dstPtr, &copy->dstPos, &copy->extent, unit, l);
}

static bool lay_out_from(const struct cudaMemcpy3DParms *copy, size_t unit, layout *l) {
    return copy->srcArray ? lay_out_array(copy->srcArray, &copy->srcPos, &copy->extent, unit, l)
                          : lay_out(&copy->srcPtr, &copy->srcPos, &copy->extent, unit, l);
}

static bool is_empty(const struct cudaExtent *extent) {
    return !extent->width || !extent->height || !extent->depth;
}

struct cudaMemcpy3DParms acu_sim_copy_params(void *dst, const void *src, size_t count,
                                             enum cudaMemcpyKind kind) {
    return (struct cudaMemcpy3DParms){.srcPtr = {(void *)(uintptr_t)src, count, count, 1},
                                      .dstPtr = {dst, count, count, 1},
                                      .extent = {count, 1, 1},
                                      .kind = kind};
}

static struct cudaMemcpy3DParms params_of(const acu_sim_box *box, enum cudaMemcpyKind kind) {
    void *src = (void *)(uintptr_t)box->from;
    return (struct cudaMemcpy3DParms){.srcPtr = {src, box->from_pitch, box->width, box->height},
                                      .dstPtr = {box->to, box->to_pitch, box->width, box->height},
                                      .extent = {box->width, box->height, 1},
                                      .kind = kind};
}

static bool find_layout(const layout *l, end *e) {
    if (!l->in_array)
        return find_end(l->at, l->size, e);
    *e = (end){.bytes = l->at, .device = true, .in_array = true};
    return true;
}

/* Both ends are one: memory, or an array that there is. */
static cudaError_t judge_ends(const struct cudaMemcpy3DParms *copy) {
    if ((copy->srcArray && copy->srcPtr.ptr) || (copy->dstArray && copy->dstPtr.ptr))
        return cudaErrorInvalidValue;
    return (copy->srcArray && !acu_sim_array_of(copy->srcArray)) ||
                   (copy->dstArray && !acu_sim_array_of(copy->dstArray))
               ? cudaErrorInvalidResourceHandle
               : cudaSuccess;
}

static cudaError_t judge_copy(const struct cudaMemcpy3DParms *copy, const manner *how, end *to,
                              end *from) {
    layout to_layout, from_layout;
    if (!is_direction(copy->kind))
        return cudaErrorInvalidMemcpyDirection;
    cudaError_t why = judge_ends(copy);
    if (why)
        return why;
    const size_t unit = unit_of(copy, how->in_bytes);
    return !is_empty(&copy->extent) && unit && lay_out_to(copy, unit, &to_layout) &&
                   lay_out_from(copy, unit, &from_layout) && find_layout(&to_layout, to) &&
                   find_layout(&from_layout, from) && fits_kind(to, from, copy->kind) &&
                   can_write(to, how->named) && can_read(from, how->named)
               ? cudaSuccess
               : cudaErrorInvalidValue;
}

/* ---- moving -------------------------------------------------------------------------------------
 */

/* Also what was freed, but is not gone yet: in the order of its stream that comes later. */
static char *bytes_at(const layout *l, bool known, bool writes) {
    const acu_sim_range *range = acu_sim_range_overlapping((uintptr_t)l->at, 1);
    if (!range)
        return known || acu_sim_range_is_device_address(l->at) ? NULL : l->at;
    if (range->dormant || (writes && acu_sim_range_is_read_only(range)))
        return NULL;
    return l->size <= range->base + range->size - (uintptr_t)l->at
               ? acu_sim_range_bytes(range, l->at)
               : NULL;
}

/* They stay there until acu_sim_memory_move_end(). */
static bool find_both(const acu_sim_op *op, layout *to, layout *from) {
    const struct cudaMemcpy3DParms *copy = &op->with.copy.params;
    pthread_mutex_lock(&acu_sim_lock);
    acu_sim_memory_move_begin();
    const size_t unit = unit_of(copy, op->with.copy.in_bytes);
    bool good = lay_out_to(copy, unit, to) && lay_out_from(copy, unit, from);
    if (good && !to->in_array)
        to->at = bytes_at(to, op->with.copy.knew_to, true);
    if (good && !from->in_array && !op->staged)
        from->at = bytes_at(from, op->with.copy.knew_from, false);
    pthread_mutex_unlock(&acu_sim_lock);
    if (good && op->staged) {
        from->at = op->staged;
        from->pitch = from->width;
        from->slice = from->pitch * copy->extent.height;
    }
    return good && to->at && from->at;
}

static cudaError_t move(acu_sim_op *op) {
    const struct cudaExtent *extent = &op->with.copy.params.extent;
    layout to, from;
    const bool good = find_both(op, &to, &from);
    for (size_t z = 0; good && z < extent->depth; z++)
        for (size_t y = 0; y < extent->height; y++)
            memmove(to.at + z * to.slice + y * to.pitch, from.at + z * from.slice + y * from.pitch,
                    to.width);
    acu_sim_memory_move_end();
    return good ? cudaSuccess : cudaErrorIllegalAddress;
}

/* The source is free for the program when the call returns. */
static bool stage(acu_sim_op *op) {
    const struct cudaMemcpy3DParms *copy = &op->with.copy.params;
    const size_t height = copy->extent.height;
    layout from;
    if (!lay_out_from(copy, unit_of(copy, op->with.copy.in_bytes), &from))
        return false;
    char *bytes = malloc(from.width * height * copy->extent.depth);
    if (!bytes)
        return false;
    for (size_t z = 0; z < copy->extent.depth; z++)
        for (size_t y = 0; y < height; y++)
            memcpy(bytes + (z * height + y) * from.width, from.at + z * from.slice + y * from.pitch,
                   from.width);
    op->staged = bytes;
    return true;
}

static acu_sim_op *copy_op(const struct cudaMemcpy3DParms *copy, const manner *how, const end *to,
                           const end *from) {
    acu_sim_op *op = acu_sim_op_new(cudaGraphNodeTypeMemcpy, move);
    if (op) {
        op->with.copy.params = *copy;
        op->with.copy.in_bytes = how->in_bytes;
        op->with.copy.knew_to = !to->pageable;
        op->with.copy.knew_from = !from->pageable;
    }
    return op;
}

cudaError_t acu_sim_copy_op(const struct cudaMemcpy3DParms *params, acu_sim_op **op) {
    const manner how = {.async = true};
    end to, from;
    cudaError_t why = judge_copy(params, &how, &to, &from);
    if (!why && !(*op = copy_op(params, &how, &to, &from)))
        why = cudaErrorMemoryAllocation;
    return why;
}

/* Whether the host waits; a small source is copied instead. */
static bool waits(const acu_sim_stream *stream, acu_sim_op *op, const end *to, const end *from,
                  bool async) {
    const struct cudaMemcpy3DParms *copy = &op->with.copy.params;
    const struct cudaExtent *extent = &copy->extent;
    if (!async ? !to->host && !from->host
               : !to->pageable && !from->pageable && !(to->pinned && from->pinned))
        return false;
    size_t size =
        unit_of(copy, op->with.copy.in_bytes) * extent->width * extent->height * extent->depth;
    return !async || !from->pageable || to->host || size > STAGED_AT_MOST || stream->capture ||
           acu_sim_stream_is_free(stream) || !stage(op);
}

/* A call that is not asynchronous is not captured; beside a capture it may be. */
static cudaError_t allows(acu_sim_stream *stream, bool async) {
    return acu_sim_capture_allows(stream, async ? SIM_ENQUEUES : SIM_REFUSES);
}

/* Under the lock, after acu_sim_enter(). */
static cudaError_t copy_so(const struct cudaMemcpy3DParms *params, cudaStream_t handle,
                           manner how) {
    end to, from;
    acu_sim_stream *stream;
    cudaError_t why = acu_sim_stream_of(handle, &stream);
    if (!why && is_empty(&params->extent))
        return cudaSuccess;
    if (!why)
        why = judge_copy(params, &how, &to, &from);
    if (!why)
        why = allows(stream, how.async);
    if (why)
        return why;
    acu_sim_op *op = copy_op(params, &how, &to, &from);
    if (!op || (how.early && from.host && !stage(op))) {
        acu_sim_op_release(op);
        return cudaErrorMemoryAllocation;
    }
    return acu_sim_stream_submit(
        stream, op, op->staged ? to.pageable : waits(stream, op, &to, &from, how.async));
}

static cudaError_t copy(const struct cudaMemcpy3DParms *params, cudaStream_t handle, bool async) {
    return copy_so(params, handle, (manner){.async = async});
}

cudaError_t acu_sim_copy_all(const struct cudaMemcpy3DParms *copies, const bool *early,
                             size_t count, cudaStream_t stream) {
    cudaError_t why = cudaSuccess;
    const manner how = {.async = true};
    end to, from;
    for (size_t i = 0; i < count && !why; i++)
        why = judge_copy(&copies[i], &how, &to, &from);
    for (size_t i = 0; i < count && !why; i++)
        why = copy_so(&copies[i], stream, (manner){.async = true, .early = early[i]});
    return why;
}

/* ---- copies -------------------------------------------------------------------------------------
 */

cudaError_t acu_sim_copy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
                         cudaStream_t stream, bool async) {
    const struct cudaMemcpy3DParms params = acu_sim_copy_params(dst, src, count, kind);
    if (count && !is_direction(kind))
        return cudaErrorInvalidMemcpyDirection;
    SIM_TRY(acu_sim_require(SIM_NEEDS_CONTEXT));
    return copy(&params, stream, async);
}

/* A single row is no copy of rows. */
static cudaError_t judge_rows(const acu_sim_box *box) {
    size_t least = box->to_pitch < box->from_pitch ? box->to_pitch : box->from_pitch;
    if (!box->height || box->width <= least)
        return cudaSuccess;
    return box->height == 1 ? cudaErrorInvalidValue : cudaErrorInvalidPitchValue;
}

cudaError_t acu_sim_copy_2d(const acu_sim_box *box, enum cudaMemcpyKind kind, cudaStream_t stream,
                            bool async) {
    const struct cudaMemcpy3DParms params = params_of(box, kind);
    SIM_TRY(judge_rows(box));
    return copy(&params, stream, async);
}

cudaError_t acu_sim_copy_within(const struct cudaMemcpy3DParms *params, bool in_bytes,
                                cudaStream_t stream, bool async) {
    return copy_so(params, stream, (manner){.async = async, .in_bytes = in_bytes});
}

/* A row of memory must be as long as what is copied of it. */
static cudaError_t judge_pitch(const struct cudaPitchedPtr *ptr, size_t x, size_t width) {
    const size_t largest =
        (size_t)acu_sim_device_attribute(acu_sim_device_at(0), cudaDevAttrMaxPitch);
    if (!ptr->ptr)
        return cudaSuccess;
    if (ptr->pitch > largest || ptr->pitch < width)
        return cudaErrorInvalidPitchValue;
    return x > ptr->pitch - width ? cudaErrorInvalidValue : cudaSuccess;
}

/* A slice of memory must be as high. */
static bool has_rows(const struct cudaPitchedPtr *ptr, size_t y, const struct cudaExtent *extent) {
    return !ptr->ptr || (extent->height <= ptr->ysize && y <= ptr->ysize - extent->height);
}

static cudaError_t judge_pitches(const struct cudaMemcpy3DParms *params) {
    const size_t width = params->extent.width * unit_of(params, false);
    if (!params->extent.depth)
        return cudaSuccess;
    if (!has_rows(&params->srcPtr, params->srcPos.y, &params->extent) ||
        !has_rows(&params->dstPtr, params->dstPos.y, &params->extent))
        return cudaErrorInvalidValue;
    cudaError_t why = judge_pitch(&params->srcPtr, params->srcPos.x, width);
    return why ? why : judge_pitch(&params->dstPtr, params->dstPos.x, width);
}

cudaError_t acu_sim_copy_3d(const struct cudaMemcpy3DParms *params, cudaStream_t stream,
                            bool async) {
    SIM_TRY(params ? judge_pitches(params) : cudaErrorInvalidValue);
    return copy(params, stream, async);
}

cudaError_t acu_sim_cudaMemcpy3D(const struct cudaMemcpy3DParms *p) {
    return acu_sim_copy_3d(p, NULL, false);
}

cudaError_t acu_sim_cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream) {
    return acu_sim_copy_3d(p, stream, true);
}

/* Nothing, behind what is queued in the other stream, if there is one. */
static cudaError_t follow(acu_sim_stream *stream, const acu_sim_stream *before) {
    acu_sim_op *op = acu_sim_op_new(cudaGraphNodeTypeEmpty, NULL);
    if (!op || (before && !acu_sim_op_after(op, before->last))) {
        acu_sim_op_release(op);
        return cudaErrorMemoryAllocation;
    }
    return acu_sim_stream_submit(stream, op, false);
}

/* The stream's next operation comes after, or its last one before, the work of another device. */
static cudaError_t serialize(acu_sim_stream *stream, int index, bool after) {
    acu_sim_device *device = acu_sim_device_at(index);
    acu_sim_stream *legacy = device->active ? acu_sim_stream_legacy(&device->own) : NULL;
    if (!legacy || device == stream->device)
        return cudaSuccess;
    if (!after)
        return follow(legacy, stream);
    cudaError_t why = follow(legacy, NULL);
    return why ? why : follow(stream, legacy);
}

/* Memory of a pool is named as that of a device to which the pool is shown. */
static bool is_shown(const void *address, int device) {
    const acu_sim_range *range = acu_sim_range_of(address);
    return !range || !range->pool || acu_sim_range_allows_access(range, acu_sim_device_at(device));
}

/*
 * The devices are checked; where the memory is, its addresses say. A copy that is not asynchronous
 * is in the order of both devices.
 */
static cudaError_t copy_between(const struct cudaMemcpy3DParms *params, int to, int from,
                                cudaStream_t handle, bool async) {
    acu_sim_stream *stream;
    if (!acu_sim_device_at(to) || !acu_sim_device_at(from))
        return cudaErrorInvalidDevice;
    cudaError_t why = acu_sim_stream_of(handle, &stream);
    if (!why && (!is_shown(params->dstPtr.ptr, to) || !is_shown(params->srcPtr.ptr, from)))
        why = cudaErrorInvalidValue;
    if (!why)
        why = allows(stream, async);
    if (!why && !async)
        why = serialize(stream, to, true);
    if (!why && !async)
        why = serialize(stream, from, true);
    if (!why)
        why = copy_so(params, handle, (manner){.async = async, .named = true});
    if (!why && !async)
        why = serialize(stream, to, false);
    if (!why && !async)
        why = serialize(stream, from, false);
    return why;
}

cudaError_t acu_sim_copy_3d_peer(const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream,
                                 bool async) {
    if (!p)
        return cudaErrorInvalidValue;
    const struct cudaMemcpy3DParms params = {.srcArray = p->srcArray,
                                             .srcPos = p->srcPos,
                                             .srcPtr = p->srcPtr,
                                             .dstArray = p->dstArray,
                                             .dstPos = p->dstPos,
                                             .dstPtr = p->dstPtr,
                                             .extent = p->extent,
                                             .kind = cudaMemcpyDefault};
    SIM_TRY(judge_pitches(&params));
    return copy_between(&params, p->dstDevice, p->srcDevice, stream, async);
}

cudaError_t acu_sim_cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *p) {
    return acu_sim_copy_3d_peer(p, NULL, false);
}

cudaError_t acu_sim_cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *p,
                                          cudaStream_t stream) {
    return acu_sim_copy_3d_peer(p, stream, true);
}

cudaError_t acu_sim_cudaMemcpy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind) {
    return acu_sim_copy(dst, src, count, kind, NULL, false);
}

cudaError_t acu_sim_cudaMemcpyAsync(void *dst, const void *src, size_t count,
                                    enum cudaMemcpyKind kind, cudaStream_t stream) {
    return acu_sim_copy(dst, src, count, kind, stream, true);
}

cudaError_t acu_sim_cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch,
                                 size_t width, size_t height, enum cudaMemcpyKind kind) {
    const acu_sim_box box = {dst, src, dpitch, spitch, width, height};
    return acu_sim_copy_2d(&box, kind, NULL, false);
}

cudaError_t acu_sim_cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch,
                                      size_t width, size_t height, enum cudaMemcpyKind kind,
                                      cudaStream_t stream) {
    const acu_sim_box box = {dst, src, dpitch, spitch, width, height};
    return acu_sim_copy_2d(&box, kind, stream, true);
}

static cudaError_t copy_peer(void *dst, int dstDevice, const void *src, int srcDevice, size_t count,
                             cudaStream_t stream, bool async) {
    const struct cudaMemcpy3DParms params = acu_sim_copy_params(dst, src, count, cudaMemcpyDefault);
    if (count)
        SIM_TRY(copy_between(&params, dstDevice, srcDevice, stream, async));
    return cudaSuccess;
}

cudaError_t acu_sim_cudaMemcpyPeer(void *dst, int dstDevice, const void *src, int srcDevice,
                                   size_t count) {
    return copy_peer(dst, dstDevice, src, srcDevice, count, NULL, false);
}

cudaError_t acu_sim_cudaMemcpyPeerAsync(void *dst, int dstDevice, const void *src, int srcDevice,
                                        size_t count, cudaStream_t stream) {
    return copy_peer(dst, dstDevice, src, srcDevice, count, stream, true);
}

/* ---- fills --------------------------------------------------------------------------------------
 */

static void fill_row(char *to, const struct cudaMemsetParams *fill) {
    if (fill->elementSize == 1) {
        memset(to, (int)fill->value, fill->width);
        return;
    }
    for (size_t x = 0; x < fill->width; x++) /* little-endian, like the devices */
        memcpy(to + x * fill->elementSize, &fill->value, fill->elementSize);
}

static bool lay_out_fill(const struct cudaMemsetParams *fill, layout *to) {
    const struct cudaPos origin = {0};
    const struct cudaPitchedPtr ptr = {fill->dst, fill->pitch, 0, fill->height};
    struct cudaExtent extent = {0, fill->height, 1};
    return !__builtin_mul_overflow(fill->width, (size_t)fill->elementSize, &extent.width) &&
           lay_out(&ptr, &origin, &extent, 1, to);
}

static cudaError_t fill(acu_sim_op *op) {
    const struct cudaMemsetParams *fill = &op->with.fill.params;
    layout to;
    if (!lay_out_fill(fill, &to))
        return cudaErrorInvalidValue;
    pthread_mutex_lock(&acu_sim_lock);
    acu_sim_memory_move_begin();
    to.at = bytes_at(&to, true, true);
    pthread_mutex_unlock(&acu_sim_lock);
    for (size_t y = 0; to.at && y < fill->height; y++)
        fill_row(to.at + y * to.pitch, fill);
    acu_sim_memory_move_end();
    return to.at ? cudaSuccess : cudaErrorIllegalAddress;
}

static cudaError_t judge_fill(const struct cudaMemsetParams *fill, end *to) {
    layout l;
    bool sized = fill->elementSize == 1 || fill->elementSize == 2 || fill->elementSize == 4;
    return sized && fill->width && fill->height && lay_out_fill(fill, &l) &&
                   (uintptr_t)fill->dst % fill->elementSize == 0 &&
                   (fill->height == 1 || (fill->pitch % fill->elementSize == 0 &&
                                          fill->pitch >= fill->width * fill->elementSize)) &&
                   find_end(l.at, l.size, to) && to->device &&
                   !acu_sim_range_is_read_only(to->range)
               ? cudaSuccess
               : cudaErrorInvalidValue;
}

static cudaError_t fill_op(const struct cudaMemsetParams *params, acu_sim_op **op) {
    if (!(*op = acu_sim_op_new(cudaGraphNodeTypeMemset, fill)))
        return cudaErrorMemoryAllocation;
    (*op)->with.fill.params = *params;
    return cudaSuccess;
}

cudaError_t acu_sim_fill_op(const struct cudaMemsetParams *params, acu_sim_op **op) {
    end to;
    cudaError_t why = judge_fill(params, &to);
    return why ? why : fill_op(params, op);
}

/* Under the lock. A fill of host memory is waited for, unless it is asynchronous. */
static cudaError_t set(const struct cudaMemsetParams *params, cudaStream_t handle, bool async) {
    end to;
    acu_sim_op *op = NULL;
    acu_sim_stream *stream;
    cudaError_t why = acu_sim_stream_of(handle, &stream);
    if (!why && (!params->width || !params->height))
        return cudaSuccess;
    if (!why && stream->capture) /* what is captured is not looked at */
        to = (end){0};
    else if (!why)
        why = judge_fill(params, &to);
    if (!why)
        why = allows(stream, async);
    if (!why && is_shown_to_some(to.range) &&
        !acu_sim_range_allows_writing(to.range, stream->device))
        why = cudaErrorInvalidValue;
    if (!why)
        why = fill_op(params, &op);
    return why ? why : acu_sim_stream_submit(stream, op, !async && to.host);
}

cudaError_t acu_sim_fill_with(const struct cudaMemsetParams *params, cudaStream_t stream,
                              bool async) {
    if (params->width && params->height)
        SIM_TRY(acu_sim_require(SIM_NEEDS_CONTEXT));
    return set(params, stream, async);
}

cudaError_t acu_sim_fill(void *to, size_t pitch, int value, size_t width, size_t height,
                         cudaStream_t stream, bool async) {
    const struct cudaMemsetParams params = {to, pitch, (unsigned char)value, 1, width, height};
    return acu_sim_fill_with(&params, stream, async);
}

cudaError_t acu_sim_cudaMemset(void *devPtr, int value, size_t count) {
    return acu_sim_fill(devPtr, count, value, count, 1, NULL, false);
}

cudaError_t acu_sim_cudaMemsetAsync(void *devPtr, int value, size_t count, cudaStream_t stream) {
    return acu_sim_fill(devPtr, count, value, count, 1, stream, true);
}

cudaError_t acu_sim_cudaMemset2D(void *devPtr, size_t pitch, int value, size_t width,
                                 size_t height) {
    return acu_sim_fill(devPtr, pitch, value, width, height, NULL, false);
}

cudaError_t acu_sim_cudaMemset2DAsync(void *devPtr, size_t pitch, int value, size_t width,
                                      size_t height, cudaStream_t stream) {
    return acu_sim_fill(devPtr, pitch, value, width, height, stream, true);
}

/* Slice by slice, or at once where slices lie behind one another without a gap. */
static cudaError_t set_slices(const struct cudaPitchedPtr *ptr, int value,
                              const struct cudaExtent *extent, cudaStream_t stream, bool async) {
    struct cudaMemsetParams fill = {ptr->ptr, ptr->pitch,    (unsigned char)value,
                                    1,        extent->width, extent->height};
    size_t slices = extent->depth, slice, all;
    cudaError_t why = cudaSuccess;
    if (is_empty(extent))
        fill.height = 0, slices = 1; /* nothing, but the stream is judged */
    else if (ptr->ysize < extent->height ||
             (slices > 1 && (__builtin_mul_overflow(ptr->pitch, ptr->ysize, &slice) ||
                             __builtin_mul_overflow(slice, slices, &all))))
        return cudaErrorInvalidValue;
    if (slices > 1 && ptr->ysize == extent->height) {
        fill.height *= slices;
        slices = 1;
    }
    for (size_t i = 0; !why && i < slices; i++) {
        fill.dst = (char *)ptr->ptr + i * ptr->pitch * ptr->ysize;
        why = set(&fill, stream, async);
    }
    return why;
}

cudaError_t acu_sim_fill_3d(struct cudaPitchedPtr ptr, int value, struct cudaExtent extent,
                            cudaStream_t stream, bool async) {
    return set_slices(&ptr, value, &extent, stream, async);
}

cudaError_t acu_sim_cudaMemset3D(struct cudaPitchedPtr pitchedDevPtr, int value,
                                 struct cudaExtent extent) {
    return acu_sim_fill_3d(pitchedDevPtr, value, extent, NULL, false);
}

cudaError_t acu_sim_cudaMemset3DAsync(struct cudaPitchedPtr pitchedDevPtr, int value,
                                      struct cudaExtent extent, cudaStream_t stream) {
    return acu_sim_fill_3d(pitchedDevPtr, value, extent, stream, true);
}
