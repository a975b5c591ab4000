/*
 * Fills of memory. The memory is validated when the call or the node is made; the bytes are written
 * in stream order, to where the memory is then.
 */
#include "sim/memory/fill.h"

#include "sim/device/device.h"
#include "sim/device/need.h"
#include "sim/memory/layout.h"
#include "sim/memory/memory.h"
#include "sim/memory/multicast.h"
#include "sim/memory/range.h"
#include "sim/stream/capture.h"
#include "sim/stream/op.h"
#include "sim/stream/stream.h"

#include <string.h>

/* ---- operations ---- */

static bool lay_out(const struct cudaMemsetParams *fill, acu_sim_layout *to) {
    const struct cudaPos origin = {0};
    const struct cudaPitchedPtr ptr = {fill->dst, fill->pitch, 0, fill->height};
    struct cudaExtent extent = {0, fill->height, 1};
    return !__builtin_mul_overflow(fill->width, (size_t)fill->elementSize, &extent.width) &&
           acu_sim_layout_of_memory(&ptr, &origin, &extent, 1, to);
}

/* Returns the four bytes that are written again and again. A node may have a value that is larger
 * than its element; GPUs repeat it by OR, without cutting it off, so that its upper bytes come into
 * the elements that follow. */
static uint32_t pattern_of(const struct cudaMemsetParams *fill) {
    uint32_t pattern = fill->value;
    if (fill->elementSize == 1)
        pattern |= pattern << 8;
    return fill->elementSize < 4 ? pattern | pattern << 16 : pattern;
}

static void fill_row(char *to, const struct cudaMemsetParams *fill) {
    const uint32_t pattern = pattern_of(fill); /* little-endian, as on devices */
    const size_t width = fill->width * fill->elementSize;
    if (pattern == (pattern & 0xff) * 0x01010101) {
        memset(to, (int)pattern, width);
        return;
    }
    for (size_t x = 0; x < width; x += sizeof pattern)
        memcpy(to + x, &pattern, width - x < sizeof pattern ? width - x : sizeof pattern);
}

static cudaError_t run(acu_sim_op *op) {
    const struct cudaMemsetParams *fill = &op->with.fill.params;
    acu_sim_layout to;
    if (!lay_out(fill, &to))
        return cudaErrorInvalidValue;
    pthread_mutex_lock(&acu_sim_lock);
    acu_sim_memory_move_begin();
    to.at = acu_sim_layout_bytes(&to, true, true);
    pthread_mutex_unlock(&acu_sim_lock);
    bool bound = true;
    for (size_t y = 0; to.at && y < fill->height; y++) {
        fill_row(to.at + y * to.pitch, fill);
        bound = acu_sim_multicast_spread(to.at + y * to.pitch, fill->width * fill->elementSize) &&
                bound;
    }
    acu_sim_memory_move_end();
    return to.at && bound ? cudaSuccess : cudaErrorIllegalAddress;
}

static bool is_element_size(unsigned size) {
    return size == 1 || size == 2 || size == 4;
}

/* The pitch of a single row means nothing. */
static cudaError_t validate_alignment(const struct cudaMemsetParams *fill) {
    if ((uintptr_t)fill->dst % fill->elementSize == 0 &&
        (fill->height == 1 ||
         (fill->pitch % fill->elementSize == 0 && fill->pitch >= fill->width * fill->elementSize)))
        return cudaSuccess;
    return SIM_REFUSE(cudaErrorInvalidValue,
                      "the destination %p and the pitch of %zu bytes must be multiples of the "
                      "element's %u bytes, and a row of %zu elements must fit into the pitch",
                      fill->dst, fill->pitch, fill->elementSize, fill->width);
}

static cudaError_t validate_shape(const struct cudaMemsetParams *fill, acu_sim_layout *layout) {
    if (!is_element_size(fill->elementSize))
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "elements of %u bytes cannot be filled, but of 1, 2 or 4",
                          fill->elementSize);
    if (!fill->width || !fill->height)
        return SIM_REFUSE(cudaErrorInvalidValue, "the fill has no elements: width or height "
                                                 "is 0");
    if (!lay_out(fill, layout))
        return SIM_REFUSE(cudaErrorInvalidValue, "the size of the fill is too large for a "
                                                 "number");
    return validate_alignment(fill);
}

static cudaError_t validate(const struct cudaMemsetParams *fill, acu_sim_endpoint *to) {
    acu_sim_layout layout;
    SIM_TRY(validate_shape(fill, &layout));
    SIM_TRY(acu_sim_layout_find(&layout, "destination", to));
    if (!to->device)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "a device cannot fill the destination %p, which CUDA does not know: it "
                          "is the host's own memory, or lies beside an allocation",
                          fill->dst);
    return acu_sim_range_is_read_only(to->range)
               ? acu_sim_range_validate_access(to->range, acu_sim_device_now(), true)
               : cudaSuccess;
}

static cudaError_t new_op(const struct cudaMemsetParams *params, const acu_sim_device *device,
                          acu_sim_op **op) {
    if (!(*op = acu_sim_op_new(cudaGraphNodeTypeMemset, run)))
        return cudaErrorMemoryAllocation;
    (*op)->with.fill.params = *params;
    (*op)->with.fill.device = device;
    return cudaSuccess;
}

cudaError_t acu_sim_fill_op(const struct cudaMemsetParams *params, acu_sim_op **op) {
    acu_sim_endpoint to;
    SIM_TRY(validate(params, &to));
    if (acu_sim_range_has_grants(to.range))
        SIM_TRY(acu_sim_range_validate_access(to.range, acu_sim_device_now(), true));
    /* A node that the program adds may fill memory of any device. */
    return new_op(params, to.range ? to.range->device : acu_sim_device_now(), op);
}

cudaError_t acu_sim_fill_instantiate(const acu_sim_op *op) {
    const struct cudaMemsetParams *fill = &op->with.fill.params;
    const acu_sim_range *range = acu_sim_range_overlapping((uintptr_t)fill->dst, 1);
    acu_sim_layout layout;
    if (!range && acu_sim_range_is_device_address(fill->dst))
        return cudaSuccess;
    if (!range)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "a node fills %p, which is host memory that CUDA does not know",
                          fill->dst);
    SIM_TRY(acu_sim_range_validate_access(range, op->with.fill.device, true));
    return lay_out(fill, &layout) && layout.size <= range->base + range->size - (uintptr_t)fill->dst
               ? cudaSuccess
               : SIM_REFUSE(cudaErrorInvalidValue,
                            "a node fills more at %p than the %zu bytes that are allocated at "
                            "%p",
                            fill->dst, range->size, (void *)range->base);
}

/* ---- calls ---- */

static cudaError_t submit(const struct cudaMemsetParams *params, cudaStream_t handle, bool async) {
    acu_sim_endpoint to = {0};
    acu_sim_op *op;
    acu_sim_stream *stream;
    SIM_TRY(acu_sim_stream_of(handle, &stream));
    const bool is_empty = !params->width || !params->height;
    /* A call that is not asynchronous is not captured. The runtime does nothing for an empty one.
     */
    if (!is_empty || acu_sim_self()->call.by_driver)
        SIM_TRY(acu_sim_capture_allows(stream, async ? SIM_ENQUEUES : SIM_REFUSES));
    if (is_empty)
        return cudaSuccess;
    if (stream->capture)
        SIM_TRY(validate_alignment(params));
    if (!stream->capture) /* CUDA does not validate the memory of a fill that it captures */
        SIM_TRY(validate(params, &to));
    SIM_TRY(acu_sim_range_validate_access(to.range, stream->device, true));
    SIM_TRY(new_op(params, stream->device, &op));
    return acu_sim_stream_submit(stream, op, !async && to.host);
}

cudaError_t acu_sim_fill(const struct cudaMemsetParams *params, cudaStream_t stream, bool async) {
    if (params->width && params->height)
        SIM_TRY(acu_sim_require(SIM_NEEDS_CONTEXT));
    return submit(params, stream, async);
}

static cudaError_t fill_bytes(void *to, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream, bool async) {
    const struct cudaMemsetParams params = {to, pitch, (unsigned char)value, 1, width, height};
    return acu_sim_fill(&params, stream, async);
}

cudaError_t acu_sim_cudaMemset(void *devPtr, int value, size_t count) {
    return fill_bytes(devPtr, 0, value, count, 1, NULL, false);
}

cudaError_t acu_sim_cudaMemsetAsync(void *devPtr, int value, size_t count, cudaStream_t stream) {
    return fill_bytes(devPtr, 0, value, count, 1, stream, true);
}

cudaError_t acu_sim_cudaMemset2D(void *devPtr, size_t pitch, int value, size_t width,
                                 size_t height) {
    return fill_bytes(devPtr, pitch, value, width, height, NULL, false);
}

cudaError_t acu_sim_cudaMemset2DAsync(void *devPtr, size_t pitch, int value, size_t width,
                                      size_t height, cudaStream_t stream) {
    return fill_bytes(devPtr, pitch, value, width, height, stream, true);
}

/* Returns whether the rows of the box fit into the pitch, if there are several, whether the box has
 * no more rows than a slice of the memory, and whether its slices fit into memory. */
static bool fits(const struct cudaPitchedPtr *ptr, const struct cudaExtent *extent) {
    size_t slice, all;
    const bool has_rows = extent->height > 1 || extent->depth > 1;
    if (ptr->ysize < extent->height || (has_rows && ptr->pitch < extent->width))
        return false;
    return extent->depth == 1 || (!__builtin_mul_overflow(ptr->pitch, ptr->ysize, &slice) &&
                                  !__builtin_mul_overflow(slice, extent->depth, &all));
}

/* Fills slice by slice, or all slices at once where they lie behind one another without a gap. */
static cudaError_t fill_slices(const struct cudaPitchedPtr *ptr, int value,
                               const struct cudaExtent *extent, cudaStream_t stream, bool async) {
    struct cudaMemsetParams fill = {ptr->ptr, ptr->pitch,    (unsigned char)value,
                                    1,        extent->width, extent->height};
    size_t slices = extent->depth;
    if (acu_sim_layout_is_empty(extent)) {
        fill.height = 0; /* nothing is filled, but the stream is validated */
        return submit(&fill, stream, async);
    }
    if (!fits(ptr, extent))
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "a box of %zu bytes and %zu rows in %zu slices does not fit into the "
                          "pitch of %zu bytes and the %zu rows of the memory",
                          extent->width, extent->height, extent->depth, ptr->pitch, ptr->ysize);
    if (ptr->ysize == extent->height) {
        fill.height *= slices;
        slices = 1;
    }
    for (size_t i = 0; i < slices; i++) {
        fill.dst = (char *)ptr->ptr + i * ptr->pitch * ptr->ysize;
        SIM_TRY(submit(&fill, stream, async));
    }
    return cudaSuccess;
}

cudaError_t acu_sim_cudaMemset3D(struct cudaPitchedPtr pitchedDevPtr, int value,
                                 struct cudaExtent extent) {
    return fill_slices(&pitchedDevPtr, value, &extent, NULL, false);
}

cudaError_t acu_sim_cudaMemset3DAsync(struct cudaPitchedPtr pitchedDevPtr, int value,
                                      struct cudaExtent extent, cudaStream_t stream) {
    return fill_slices(&pitchedDevPtr, value, &extent, stream, true);
}
