/*
 * Copies and fills. Both ends are judged when the call is made, or the node; the bytes move in
 * stream order, from and to where they are then.
 *
 * What the host waits for is CUDA's: a call that is not asynchronous waits unless both ends are
 * device memory; an asynchronous one waits where pageable memory takes part, except that a small
 * pageable source is copied first.
 */
#include "sim.h"

#include <stdlib.h>
#include <string.h>

enum { STAGED_AT_MOST = 64 * 1024 };

/* ---- one end ------------------------------------------------------------------------------------
 */

typedef struct end {
    char *bytes;       /* where they are */
    bool pageable;     /* memory that CUDA does not know */
    bool pinned;       /* host memory that it knows */
    bool host, device; /* who can reach it */
} end;

/* False: not all of it may be touched. */
static bool find_end(const void *address, size_t size, end *e) {
    const acu_sim_range *range = acu_sim_range_of(address);
    *e = (end){.bytes = (char *)(uintptr_t)address, .pageable = true, .host = true};
    if (!range) /* memory of the program, unless it runs into an allocation */
        return address && !acu_sim_is_device_address(address) &&
               !acu_sim_range_in((uintptr_t)address, size);
    if (size > range->base + range->size - (uintptr_t)address)
        return false;
    *e = (end){.bytes = acu_sim_view(range, address),
               .pinned = range->kind == SIM_PINNED || range->kind == SIM_REGISTERED,
               .host = range->kind != SIM_DEVICE,
               .device = true};
    return true;
}

static bool fits_kind(const end *to, const end *from, enum cudaMemcpyKind kind) {
    switch (kind) {
    case cudaMemcpyHostToHost:
        return to->host && from->host;
    case cudaMemcpyHostToDevice:
        return to->device && from->host;
    case cudaMemcpyDeviceToHost:
        return to->host && from->device;
    case cudaMemcpyDeviceToDevice:
        return to->device && from->device;
    case cudaMemcpyDefault:
        return true;
    }
    return false;
}

/* ---- what there is to copy ----------------------------------------------------------------------
 */

/* One end of it, in bytes. */
typedef struct layout {
    char *at;
    size_t pitch, slice, size;
} layout;

/* False: there is no such number. */
static bool lay_out(const struct cudaPitchedPtr *ptr, const struct cudaPos *pos,
                    const struct cudaExtent *extent, layout *l) {
    size_t rows, slices, skipped, offset;
    if (__builtin_mul_overflow(ptr->pitch, ptr->ysize, &l->slice) ||
        __builtin_mul_overflow(l->slice, extent->depth - 1, &slices) ||
        __builtin_mul_overflow(ptr->pitch, extent->height - 1, &rows) ||
        __builtin_add_overflow(slices, rows, &l->size) ||
        __builtin_add_overflow(l->size, extent->width, &l->size) ||
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

static bool lay_out_both(const struct cudaMemcpy3DParms *copy, layout *to, layout *from) {
    return lay_out(&copy->dstPtr, &copy->dstPos, &copy->extent, to) &&
           lay_out(&copy->srcPtr, &copy->srcPos, &copy->extent, from);
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

static cudaError_t judge_copy(const struct cudaMemcpy3DParms *copy, end *to, end *from) {
    layout to_layout, from_layout;
    if ((unsigned)copy->kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    if (copy->srcArray || copy->dstArray)
        return cudaErrorNotSupported;
    return !is_empty(&copy->extent) && lay_out_both(copy, &to_layout, &from_layout) &&
                   find_end(to_layout.at, to_layout.size, to) &&
                   find_end(from_layout.at, from_layout.size, from) &&
                   fits_kind(to, from, copy->kind)
               ? cudaSuccess
               : cudaErrorInvalidValue;
}

/* ---- moving -------------------------------------------------------------------------------------
 */

/* Also what was freed, but is not gone yet: in the order of its stream that comes later. */
static char *bytes_at(const layout *l, bool known) {
    const acu_sim_range *range = acu_sim_range_in((uintptr_t)l->at, 1);
    if (!range)
        return known || acu_sim_is_device_address(l->at) ? NULL : l->at;
    if (range->dormant)
        return NULL;
    return l->size <= range->base + range->size - (uintptr_t)l->at ? acu_sim_view(range, l->at)
                                                                   : NULL;
}

static bool find_both(const acu_sim_op *op, layout *to, layout *from) {
    (void)lay_out_both(&op->with.copy.params, to, from);
    pthread_mutex_lock(&acu_sim_lock);
    to->at = bytes_at(to, op->with.copy.knew_to);
    if (!op->staged)
        from->at = bytes_at(from, op->with.copy.knew_from);
    pthread_mutex_unlock(&acu_sim_lock);
    if (op->staged) {
        from->at = op->staged;
        from->pitch = op->with.copy.params.extent.width;
        from->slice = from->pitch * op->with.copy.params.extent.height;
    }
    return to->at && from->at;
}

static cudaError_t move(acu_sim_op *op) {
    const struct cudaExtent *extent = &op->with.copy.params.extent;
    layout to, from;
    if (!find_both(op, &to, &from))
        return cudaErrorIllegalAddress;
    for (size_t z = 0; z < extent->depth; z++)
        for (size_t y = 0; y < extent->height; y++)
            memmove(to.at + z * to.slice + y * to.pitch, from.at + z * from.slice + y * from.pitch,
                    extent->width);
    return cudaSuccess;
}

/* The source is free for the program when the call returns. */
static bool stage(acu_sim_op *op) {
    const struct cudaMemcpy3DParms *copy = &op->with.copy.params;
    size_t width = copy->extent.width, height = copy->extent.height;
    layout from;
    char *bytes = malloc(width * height * copy->extent.depth);
    if (!bytes || !lay_out(&copy->srcPtr, &copy->srcPos, &copy->extent, &from)) {
        free(bytes);
        return false;
    }
    for (size_t z = 0; z < copy->extent.depth; z++)
        for (size_t y = 0; y < height; y++)
            memcpy(bytes + (z * height + y) * width, from.at + z * from.slice + y * from.pitch,
                   width);
    op->staged = bytes;
    return true;
}

static acu_sim_op *copy_op(const struct cudaMemcpy3DParms *copy, const end *to, const end *from) {
    acu_sim_op *op = acu_sim_op_new(cudaGraphNodeTypeMemcpy, move);
    if (op) {
        op->with.copy.params = *copy;
        op->with.copy.knew_to = !to->pageable;
        op->with.copy.knew_from = !from->pageable;
    }
    return op;
}

cudaError_t acu_sim_op_copy(const struct cudaMemcpy3DParms *params, acu_sim_op **op) {
    end to, from;
    cudaError_t why = judge_copy(params, &to, &from);
    if (!why && !(*op = copy_op(params, &to, &from)))
        why = cudaErrorMemoryAllocation;
    return why;
}

/* Whether the host waits; a small source is copied instead. */
static bool waits(const acu_sim_stream *stream, acu_sim_op *op, const end *to, const end *from,
                  bool async) {
    const struct cudaExtent *extent = &op->with.copy.params.extent;
    if (!async ? !to->host && !from->host
               : !to->pageable && !from->pageable && !(to->pinned && from->pinned))
        return false;
    size_t size = extent->width * extent->height * extent->depth;
    return !from->pageable || to->host || size > STAGED_AT_MOST || stream->capture ||
           acu_sim_is_free(stream) || !stage(op);
}

/* What a call that is not asynchronous needs, beyond its stream: nobody captures. */
static cudaError_t allows(acu_sim_stream *stream, bool async) {
    return acu_sim_capture_allows(stream, async ? SIM_ENQUEUES : SIM_WAITS);
}

/* Under the lock, after acu_sim_enter(). */
static cudaError_t copy(const struct cudaMemcpy3DParms *params, cudaStream_t handle, bool async) {
    end to, from;
    acu_sim_stream *stream;
    if ((unsigned)params->kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    cudaError_t why = acu_sim_stream_of(handle, &stream);
    if (!why && is_empty(&params->extent))
        return cudaSuccess;
    if (!why)
        why = judge_copy(params, &to, &from);
    if (!why)
        why = allows(stream, async);
    if (why)
        return why;
    acu_sim_op *op = copy_op(params, &to, &from);
    return op ? acu_sim_submit(stream, op, waits(stream, op, &to, &from, async))
              : cudaErrorMemoryAllocation;
}

/* ---- copies -------------------------------------------------------------------------------------
 */

cudaError_t acu_sim_copy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
                         cudaStream_t stream, bool async) {
    const struct cudaMemcpy3DParms params = acu_sim_copy_params(dst, src, count, kind);
    cudaError_t result = acu_sim_enter(SIM_NEEDS_CONTEXT, NULL);
    if (!result)
        result = copy(&params, stream, async);
    return acu_sim_leave(result);
}

cudaError_t acu_sim_copy_2d(const acu_sim_box *box, enum cudaMemcpyKind kind, cudaStream_t stream,
                            bool async) {
    acu_sim_device *device;
    const struct cudaMemcpy3DParms params = params_of(box, kind);
    cudaError_t result = acu_sim_enter(SIM_NEEDS_CONTEXT, &device);
    size_t largest = result ? 0 : (size_t)acu_sim_attribute(device, cudaDevAttrMaxPitch);
    if (!result && (box->width > box->to_pitch || box->width > box->from_pitch ||
                    box->to_pitch > largest || box->from_pitch > largest))
        result = cudaErrorInvalidPitchValue;
    if (!result)
        result = copy(&params, stream, async);
    return acu_sim_leave(result);
}

cudaError_t acu_sim_cudaMemcpy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind) {
    return acu_sim_copy(dst, src, count, kind, cudaStreamLegacy, false);
}

cudaError_t acu_sim_cudaMemcpyAsync(void *dst, const void *src, size_t count,
                                    enum cudaMemcpyKind kind, cudaStream_t stream) {
    return acu_sim_copy(dst, src, count, kind, stream, true);
}

cudaError_t acu_sim_cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch,
                                 size_t width, size_t height, enum cudaMemcpyKind kind) {
    const acu_sim_box box = {dst, src, dpitch, spitch, width, height};
    return acu_sim_copy_2d(&box, kind, cudaStreamLegacy, false);
}

cudaError_t acu_sim_cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch,
                                      size_t width, size_t height, enum cudaMemcpyKind kind,
                                      cudaStream_t stream) {
    const acu_sim_box box = {dst, src, dpitch, spitch, width, height};
    return acu_sim_copy_2d(&box, kind, stream, true);
}

/* The devices are checked; where the memory is, its addresses say. */
static cudaError_t copy_peer(void *dst, int dstDevice, const void *src, int srcDevice, size_t count,
                             cudaStream_t stream, bool async) {
    const struct cudaMemcpy3DParms params = acu_sim_copy_params(dst, src, count, cudaMemcpyDefault);
    cudaError_t result = acu_sim_enter(SIM_NEEDS_CONTEXT, NULL);
    if (!result && (!acu_sim_device_at(dstDevice) || !acu_sim_device_at(srcDevice)))
        result = cudaErrorInvalidDevice;
    if (!result)
        result = copy(&params, stream, async);
    return acu_sim_leave(result);
}

cudaError_t acu_sim_cudaMemcpyPeer(void *dst, int dstDevice, const void *src, int srcDevice,
                                   size_t count) {
    return copy_peer(dst, dstDevice, src, srcDevice, count, cudaStreamLegacy, false);
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
           lay_out(&ptr, &origin, &extent, to);
}

static cudaError_t fill(acu_sim_op *op) {
    const struct cudaMemsetParams *fill = &op->with.fill.params;
    layout to;
    (void)lay_out_fill(fill, &to);
    pthread_mutex_lock(&acu_sim_lock);
    to.at = bytes_at(&to, true);
    pthread_mutex_unlock(&acu_sim_lock);
    if (!to.at)
        return cudaErrorIllegalAddress;
    for (size_t y = 0; y < fill->height; y++)
        fill_row(to.at + y * to.pitch, fill);
    return cudaSuccess;
}

static cudaError_t judge_fill(const struct cudaMemsetParams *fill, end *to) {
    layout l;
    bool sized = fill->elementSize == 1 || fill->elementSize == 2 || fill->elementSize == 4;
    return sized && fill->width && fill->height && lay_out_fill(fill, &l) &&
                   (uintptr_t)fill->dst % fill->elementSize == 0 &&
                   (fill->height == 1 || (fill->pitch % fill->elementSize == 0 &&
                                          fill->pitch >= fill->width * fill->elementSize)) &&
                   find_end(l.at, l.size, to) && to->device
               ? cudaSuccess
               : cudaErrorInvalidValue;
}

cudaError_t acu_sim_op_fill(const struct cudaMemsetParams *params, acu_sim_op **op) {
    end to;
    cudaError_t why = judge_fill(params, &to);
    if (!why && !(*op = acu_sim_op_new(cudaGraphNodeTypeMemset, fill)))
        why = cudaErrorMemoryAllocation;
    if (!why)
        (*op)->with.fill.params = *params;
    return why;
}

/* Under the lock. A fill of host memory is waited for, unless it is asynchronous. */
static cudaError_t set(const struct cudaMemsetParams *params, cudaStream_t handle, bool async) {
    end to;
    acu_sim_op *op = NULL;
    acu_sim_stream *stream;
    cudaError_t why = acu_sim_stream_of(handle, &stream);
    if (!why && (!params->width || !params->height))
        return cudaSuccess;
    if (!why)
        why = judge_fill(params, &to);
    if (!why)
        why = allows(stream, async);
    if (!why)
        why = acu_sim_op_fill(params, &op);
    return why ? why : acu_sim_submit(stream, op, !async && to.host);
}

cudaError_t acu_sim_fill_with(const struct cudaMemsetParams *params, cudaStream_t stream,
                              bool async) {
    cudaError_t result = acu_sim_enter(SIM_NEEDS_CONTEXT, NULL);
    if (!result)
        result = set(params, stream, async);
    return acu_sim_leave(result);
}

cudaError_t acu_sim_fill(void *to, size_t pitch, int value, size_t width, size_t height,
                         cudaStream_t stream, bool async) {
    const struct cudaMemsetParams params = {to, pitch, (unsigned char)value, 1, width, height};
    return acu_sim_fill_with(&params, stream, async);
}

cudaError_t acu_sim_cudaMemset(void *devPtr, int value, size_t count) {
    return acu_sim_fill(devPtr, count, value, count, 1, cudaStreamLegacy, false);
}

cudaError_t acu_sim_cudaMemsetAsync(void *devPtr, int value, size_t count, cudaStream_t stream) {
    return acu_sim_fill(devPtr, count, value, count, 1, stream, true);
}

cudaError_t acu_sim_cudaMemset2D(void *devPtr, size_t pitch, int value, size_t width,
                                 size_t height) {
    return acu_sim_fill(devPtr, pitch, value, width, height, cudaStreamLegacy, false);
}

cudaError_t acu_sim_cudaMemset2DAsync(void *devPtr, size_t pitch, int value, size_t width,
                                      size_t height, cudaStream_t stream) {
    return acu_sim_fill(devPtr, pitch, value, width, height, stream, true);
}
