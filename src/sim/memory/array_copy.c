/*
 * Copies that name an array and bytes of its rows: one box, or, in the older calls, a run of bytes
 * that goes on in the next row. All of them are copies of boxes of elements (copy.c).
 */
#include "sim/device/device.h"
#include "sim/memory/array.h"
#include "sim/memory/copy.h"
#include "sim/stream/op.h"
#include "sim/stream/stream.h"

/* ---- boxes --------------------------------------------------------------------------------------
 */

typedef struct place { /* in an array, or memory */
    cudaArray_const_t array;
    size_t x, y; /* bytes, rows */
    const void *memory;
    size_t pitch;
} place;

/* Bytes become elements, where all of them are whole. Of memory only the pitch is known; that is
 * also what a node says of it. */
static cudaError_t box_of(const place *to, const place *from, size_t width, size_t height,
                          enum cudaMemcpyKind kind, struct cudaMemcpy3DParms *box, bool *in_bytes) {
    const acu_sim_array *target = acu_sim_array_of(to->array);
    const acu_sim_array *source = acu_sim_array_of(from->array);
    if ((!target && !to->memory) || (!source && !from->memory))
        return to->array || from->array ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue;
    const size_t element = target ? target->element : source->element;
    *in_bytes = width % element || to->x % element || from->x % element;
    const size_t unit = *in_bytes ? 1 : element;
    *box = (struct cudaMemcpy3DParms){.extent = {width / unit, height, 1}, .kind = kind};
    if (target) {
        box->dstArray = (cudaArray_t)(uintptr_t)to->array;
        box->dstPos = (struct cudaPos){to->x / unit, to->y, 0};
    } else {
        box->dstPtr = (struct cudaPitchedPtr){(void *)(uintptr_t)to->memory, to->pitch, 0, 0};
    }
    if (source) {
        box->srcArray = (cudaArray_t)(uintptr_t)from->array;
        box->srcPos = (struct cudaPos){from->x / unit, from->y, 0};
    } else {
        box->srcPtr = (struct cudaPitchedPtr){(void *)(uintptr_t)from->memory, from->pitch, 0, 0};
    }
    return cudaSuccess;
}

struct cudaMemcpy3DParms acu_sim_copy_describe(const acu_sim_op *op) {
    struct cudaMemcpy3DParms told = op->with.copy.params;
    const acu_sim_array *array = acu_sim_array_of(told.dstArray ? told.dstArray : told.srcArray);
    if (!op->with.copy.in_bytes || !array)
        return told;
    told.extent.width /= array->element;
    told.dstPos.x /= array->element;
    told.srcPos.x /= array->element;
    return told;
}

/* A single row is no copy of rows. */
static cudaError_t judge_pitch(const acu_sim_device *device, const place *p, size_t width,
                               size_t height) {
    const size_t largest = (size_t)acu_sim_device_attribute(device, cudaDevAttrMaxPitch);
    if (p->array || (p->pitch >= width && p->pitch <= largest))
        return cudaSuccess;
    return height == 1 ? cudaErrorInvalidValue : cudaErrorInvalidPitchValue;
}

/* A whole call. */
static cudaError_t copy_box(place to, place from, size_t width, size_t height,
                            enum cudaMemcpyKind kind, cudaStream_t stream, bool async) {
    acu_sim_device *device = acu_sim_device_now();
    struct cudaMemcpy3DParms box;
    bool in_bytes;
    SIM_TRY(judge_pitch(device, &to, width, height));
    SIM_TRY(judge_pitch(device, &from, width, height));
    SIM_TRY(box_of(&to, &from, width, height, kind, &box, &in_bytes));
    return acu_sim_copy_within(&box, in_bytes, stream, async);
}

cudaError_t acu_sim_copy_2d_to_array(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                     const void *src, size_t spitch, size_t width, size_t height,
                                     enum cudaMemcpyKind kind, cudaStream_t stream, bool async) {
    return copy_box((place){.array = dst, .x = wOffset, .y = hOffset},
                    (place){.memory = src, .pitch = spitch}, width, height, kind, stream, async);
}

cudaError_t acu_sim_cudaMemcpy2DToArray(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                        const void *src, size_t spitch, size_t width, size_t height,
                                        enum cudaMemcpyKind kind) {
    return acu_sim_copy_2d_to_array(dst, wOffset, hOffset, src, spitch, width, height, kind, NULL,
                                    false);
}

cudaError_t acu_sim_cudaMemcpy2DToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                             const void *src, size_t spitch, size_t width,
                                             size_t height, enum cudaMemcpyKind kind,
                                             cudaStream_t stream) {
    return acu_sim_copy_2d_to_array(dst, wOffset, hOffset, src, spitch, width, height, kind, stream,
                                    true);
}

cudaError_t acu_sim_copy_2d_from_array(void *dst, size_t dpitch, cudaArray_const_t src,
                                       size_t wOffset, size_t hOffset, size_t width, size_t height,
                                       enum cudaMemcpyKind kind, cudaStream_t stream, bool async) {
    return copy_box((place){.memory = dst, .pitch = dpitch},
                    (place){.array = src, .x = wOffset, .y = hOffset}, width, height, kind, stream,
                    async);
}

cudaError_t acu_sim_cudaMemcpy2DFromArray(void *dst, size_t dpitch, cudaArray_const_t src,
                                          size_t wOffset, size_t hOffset, size_t width,
                                          size_t height, enum cudaMemcpyKind kind) {
    return acu_sim_copy_2d_from_array(dst, dpitch, src, wOffset, hOffset, width, height, kind, NULL,
                                      false);
}

cudaError_t acu_sim_cudaMemcpy2DFromArrayAsync(void *dst, size_t dpitch, cudaArray_const_t src,
                                               size_t wOffset, size_t hOffset, size_t width,
                                               size_t height, enum cudaMemcpyKind kind,
                                               cudaStream_t stream) {
    return acu_sim_copy_2d_from_array(dst, dpitch, src, wOffset, hOffset, width, height, kind,
                                      stream, true);
}

cudaError_t acu_sim_copy_2d_arrays(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
                                   cudaArray_const_t src, size_t wOffsetSrc, size_t hOffsetSrc,
                                   size_t width, size_t height, enum cudaMemcpyKind kind,
                                   cudaStream_t stream) {
    return copy_box((place){.array = dst, .x = wOffsetDst, .y = hOffsetDst},
                    (place){.array = src, .x = wOffsetSrc, .y = hOffsetSrc}, width, height, kind,
                    stream, false);
}

cudaError_t acu_sim_cudaMemcpy2DArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
                                             cudaArray_const_t src, size_t wOffsetSrc,
                                             size_t hOffsetSrc, size_t width, size_t height,
                                             enum cudaMemcpyKind kind) {
    return acu_sim_copy_2d_arrays(dst, wOffsetDst, hOffsetDst, src, wOffsetSrc, hOffsetSrc, width,
                                  height, kind, NULL);
}

/* ---- runs of bytes ------------------------------------------------------------------------------
 */

/* Bytes of a row; memory has one that never ends. */
static size_t row_of(const place *p) {
    const acu_sim_array *array = acu_sim_array_of(p->array);
    return array ? array->pitch : SIZE_MAX;
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

static void advance(place *p, size_t width, size_t height, size_t row) {
    if (p->memory) {
        p->memory = (const char *)p->memory + width * height;
        return;
    }
    p->x += width;
    p->y += height - 1;
    if (p->x == row) {
        p->x = 0;
        p->y++;
    }
}

/* All of the run is in the array. */
static bool holds(const place *p, size_t count) {
    const acu_sim_array *array = acu_sim_array_of(p->array);
    if (!array)
        return !p->array;
    return p->x < array->pitch && p->y < array->height &&
           count <= (array->height - p->y) * array->pitch - p->x;
}

/* The largest boxes that go: the rest of a row, or whole rows. */
static cudaError_t copy_run(place to, place from, size_t count, enum cudaMemcpyKind kind,
                            cudaStream_t stream, bool async) {
    const size_t to_row = row_of(&to), from_row = row_of(&from);
    if (count && (!holds(&to, count) || !holds(&from, count)))
        return cudaErrorInvalidValue;
    cudaError_t why = cudaSuccess;
    while (count && !why) {
        struct cudaMemcpy3DParms box;
        bool in_bytes;
        size_t width = least(
            count, least(to_row - (to.array ? to.x : 0), from_row - (from.array ? from.x : 0)));
        size_t row = least(to_row, from_row), height = 1;
        if (width == row && (!to.array || to_row == row) && (!from.array || from_row == row))
            height = count / row;
        to.pitch = from.pitch = width;
        why = box_of(&to, &from, width, height, kind, &box, &in_bytes);
        if (!why)
            why = acu_sim_copy_within(&box, in_bytes, stream, async);
        advance(&to, width, height, to_row);
        advance(&from, width, height, from_row);
        count -= width * height;
    }
    return why;
}

/* A whole call. */
static cudaError_t copy_linear(place to, place from, size_t count, enum cudaMemcpyKind kind,
                               cudaStream_t stream, bool async) {
    acu_sim_stream *s;
    if ((unsigned)kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    SIM_TRY(acu_sim_stream_of(stream, &s));
    if ((to.array && !acu_sim_array_of(to.array)) || (from.array && !acu_sim_array_of(from.array)))
        return cudaErrorInvalidResourceHandle;
    return copy_run(to, from, count, kind, stream, async);
}

cudaError_t acu_sim_copy_to_array(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src,
                                  size_t count, enum cudaMemcpyKind kind, cudaStream_t stream,
                                  bool async) {
    return copy_linear((place){.array = dst, .x = wOffset, .y = hOffset}, (place){.memory = src},
                       count, kind, stream, async);
}

cudaError_t acu_sim_cudaMemcpyToArray(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                      const void *src, size_t count, enum cudaMemcpyKind kind) {
    return acu_sim_copy_to_array(dst, wOffset, hOffset, src, count, kind, NULL, false);
}

cudaError_t acu_sim_cudaMemcpyToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                           const void *src, size_t count, enum cudaMemcpyKind kind,
                                           cudaStream_t stream) {
    return acu_sim_copy_to_array(dst, wOffset, hOffset, src, count, kind, stream, true);
}

cudaError_t acu_sim_copy_from_array(void *dst, cudaArray_const_t src, size_t wOffset,
                                    size_t hOffset, size_t count, enum cudaMemcpyKind kind,
                                    cudaStream_t stream, bool async) {
    return copy_linear((place){.memory = dst}, (place){.array = src, .x = wOffset, .y = hOffset},
                       count, kind, stream, async);
}

cudaError_t acu_sim_cudaMemcpyFromArray(void *dst, cudaArray_const_t src, size_t wOffset,
                                        size_t hOffset, size_t count, enum cudaMemcpyKind kind) {
    return acu_sim_copy_from_array(dst, src, wOffset, hOffset, count, kind, NULL, false);
}

cudaError_t acu_sim_cudaMemcpyFromArrayAsync(void *dst, cudaArray_const_t src, size_t wOffset,
                                             size_t hOffset, size_t count, enum cudaMemcpyKind kind,
                                             cudaStream_t stream) {
    return acu_sim_copy_from_array(dst, src, wOffset, hOffset, count, kind, stream, true);
}

cudaError_t acu_sim_copy_arrays(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
                                cudaArray_const_t src, size_t wOffsetSrc, size_t hOffsetSrc,
                                size_t count, enum cudaMemcpyKind kind, cudaStream_t stream) {
    return copy_linear((place){.array = dst, .x = wOffsetDst, .y = hOffsetDst},
                       (place){.array = src, .x = wOffsetSrc, .y = hOffsetSrc}, count, kind, stream,
                       false);
}

cudaError_t acu_sim_cudaMemcpyArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
                                           cudaArray_const_t src, size_t wOffsetSrc,
                                           size_t hOffsetSrc, size_t count,
                                           enum cudaMemcpyKind kind) {
    return acu_sim_copy_arrays(dst, wOffsetDst, hOffsetDst, src, wOffsetSrc, hOffsetSrc, count,
                               kind, NULL);
}
