/*
 * Copies and fills. Both ends are judged when the call is made; the bytes move in stream order.
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

/* Bytes from the first to the last of a box; false if there is no such number. */
static bool extent_of(size_t pitch, size_t width, size_t height, size_t *size) {
    return !__builtin_mul_overflow(pitch, height - 1, size) &&
           !__builtin_add_overflow(*size, width, size);
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

/* ---- moving -------------------------------------------------------------------------------------
 */

static cudaError_t move(acu_sim_op *op) {
    const acu_sim_box *box = &op->with.bytes.box;
    for (size_t row = 0; row < box->height; row++)
        memmove(box->to + row * box->to_pitch, box->from + row * box->from_pitch, box->width);
    return cudaSuccess;
}

static cudaError_t fill(acu_sim_op *op) {
    const acu_sim_box *box = &op->with.bytes.box;
    for (size_t row = 0; row < box->height; row++)
        memset(box->to + row * box->to_pitch, op->with.bytes.value, box->width);
    return cudaSuccess;
}

/* The source is free for the program when the call returns. */
static bool stage(acu_sim_op *op, acu_sim_box *box) {
    char *copy = malloc(box->width * box->height);
    if (!copy)
        return false;
    for (size_t row = 0; row < box->height; row++)
        memcpy(copy + row * box->width, box->from + row * box->from_pitch, box->width);
    box->from = op->staged = copy;
    box->from_pitch = box->width;
    return true;
}

static cudaError_t submit(acu_sim_stream *stream, acu_sim_box box, const end *to, const end *from,
                          bool async) {
    bool wait = async ? to->pageable || from->pageable || (to->pinned && from->pinned)
                      : to->host || from->host;
    acu_sim_op *op = acu_sim_op_new(move);
    if (!op)
        return cudaErrorMemoryAllocation;
    if (wait && from->pageable && !to->host && box.width * box.height <= STAGED_AT_MOST &&
        !acu_sim_is_free(stream) && stage(op, &box))
        wait = false;
    op->with.bytes.box = box;
    return acu_sim_submit(stream, op, wait);
}

/* Under the lock, after acu_sim_enter(). */
static cudaError_t copy(acu_sim_box box, enum cudaMemcpyKind kind, cudaStream_t handle,
                        bool async) {
    end to, from;
    size_t to_size, from_size;
    if ((unsigned)kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    acu_sim_stream *stream;
    cudaError_t why = acu_sim_stream_of(handle, &stream);
    if (why)
        return why;
    if (!box.width || !box.height)
        return cudaSuccess;
    if (!extent_of(box.to_pitch, box.width, box.height, &to_size) ||
        !extent_of(box.from_pitch, box.width, box.height, &from_size) ||
        !find_end(box.to, to_size, &to) || !find_end(box.from, from_size, &from) ||
        !fits_kind(&to, &from, kind))
        return cudaErrorInvalidValue;
    box.to = to.bytes;
    box.from = from.bytes;
    return submit(stream, box, &to, &from, async);
}

/* ---- copies -------------------------------------------------------------------------------------
 */

cudaError_t acu_sim_copy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
                         cudaStream_t stream, bool async) {
    const acu_sim_box box = {dst, src, count, count, count, 1};
    cudaError_t result = acu_sim_enter(SIM_NEEDS_CONTEXT, NULL);
    if (!result)
        result = copy(box, kind, stream, async);
    return acu_sim_leave(result);
}

cudaError_t acu_sim_copy_2d(const acu_sim_box *box, enum cudaMemcpyKind kind, cudaStream_t stream,
                            bool async) {
    acu_sim_device *device;
    cudaError_t result = acu_sim_enter(SIM_NEEDS_CONTEXT, &device);
    size_t largest = result ? 0 : (size_t)acu_sim_attribute(device, cudaDevAttrMaxPitch);
    if (!result && (box->width > box->to_pitch || box->width > box->from_pitch ||
                    box->to_pitch > largest || box->from_pitch > largest))
        result = cudaErrorInvalidPitchValue;
    if (!result)
        result = copy(*box, kind, stream, async);
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
    const acu_sim_box box = {dst, src, count, count, count, 1};
    cudaError_t result = acu_sim_enter(SIM_NEEDS_CONTEXT, NULL);
    if (!result && (!acu_sim_device_at(dstDevice) || !acu_sim_device_at(srcDevice)))
        result = cudaErrorInvalidDevice;
    if (!result)
        result = copy(box, cudaMemcpyDefault, stream, async);
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

/* Under the lock. A fill of host memory is waited for, unless it is asynchronous. */
static cudaError_t set(acu_sim_box box, int value, cudaStream_t handle, bool async) {
    end to;
    size_t size;
    acu_sim_stream *stream;
    cudaError_t why = acu_sim_stream_of(handle, &stream);
    if (why)
        return why;
    if (!box.width || !box.height)
        return cudaSuccess;
    if (!extent_of(box.to_pitch, box.width, box.height, &size) || !find_end(box.to, size, &to) ||
        !to.device)
        return cudaErrorInvalidValue;
    acu_sim_op *op = acu_sim_op_new(fill);
    if (!op)
        return cudaErrorMemoryAllocation;
    box.to = to.bytes;
    op->with.bytes.box = box;
    op->with.bytes.value = value;
    return acu_sim_submit(stream, op, !async && to.host);
}

cudaError_t acu_sim_fill(void *to, size_t pitch, int value, size_t width, size_t height,
                         cudaStream_t stream, bool async) {
    const acu_sim_box box = {to, NULL, pitch, 0, width, height};
    cudaError_t result = acu_sim_enter(SIM_NEEDS_CONTEXT, NULL);
    if (!result && height > 1 && pitch < width)
        result = cudaErrorInvalidValue;
    if (!result)
        result = set(box, value, stream, async);
    return acu_sim_leave(result);
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
