/*
 * Copies that name an array and bytes of its rows: a box, or, in the older calls, a run of bytes
 * that continues in the next row. Each becomes copies of boxes of elements (copy.c).
 */
#include "sim/device/device.h"
#include "sim/memory/array.h"
#include "sim/memory/compressed.h"
#include "sim/memory/copy.h"
#include "sim/stream/capture.h"
#include "sim/stream/op.h"
#include "sim/stream/stream.h"

/* Where a copy begins: in an array, or in memory. */
typedef struct position {
    bool in_array;
    cudaArray_const_t array; /* NULL: in memory, or no array */
    size_t x, y;             /* in the array: bytes, and rows */
    const void *memory;      /* NULL: in an array */
    size_t pitch;            /* of the memory, in bytes */
} position;

static bool is_compressed(const acu_sim_array *array) {
    return array && acu_sim_compressed_size(array->desc.f) > 0;
}

/*
 * Makes the parameters of a box, whose bytes become elements if all of them are whole; `in_bytes`
 * says that some are not. Of memory only the pitch is set, because a node reports no more than
 * that.
 */
static cudaError_t make_box(const position *to, const position *from, size_t width, size_t height,
                            enum cudaMemcpyKind kind, struct cudaMemcpy3DParms *box,
                            bool *in_bytes) {
    const acu_sim_array *target = acu_sim_array_of(to->array);
    const acu_sim_array *source = acu_sim_array_of(from->array);
    if ((!target && !to->memory) || (!source && !from->memory))
        return cudaErrorInvalidResourceHandle;
    if (is_compressed(target) || is_compressed(source))
        return SIM_REFUSE(cudaErrorNotSupported,
                          "the simulator copies compressed arrays by cudaMemcpy3D() only, which "
                          "counts texels");
    const size_t element = target ? target->element : source->element;
    *in_bytes = width % element || to->x % element || from->x % element ||
                (target && source && target->element != source->element);
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

/* ---- boxes ---- */

/* The directions of an array are those of a device's memory. */
static bool fits_direction(const position *to, const position *from, enum cudaMemcpyKind kind) {
    const bool is_to_host = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost,
               is_from_host = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost;
    return acu_sim_copy_is_direction(kind) && !(is_to_host && to->in_array) &&
           !(is_from_host && from->in_array);
}

static cudaError_t copy_box(position to, position from, size_t width, size_t height,
                            enum cudaMemcpyKind kind, cudaStream_t stream, bool async) {
    struct cudaMemcpy3DParms box;
    bool in_bytes;
    if (!width || !height)
        return cudaSuccess;
    if (height > 1 && ((to.pitch && to.pitch < width) || (from.pitch && from.pitch < width)))
        return cudaErrorInvalidPitchValue;
    if (!fits_direction(&to, &from, kind))
        return cudaErrorInvalidMemcpyDirection;
    SIM_TRY(make_box(&to, &from, width, height, kind, &box, &in_bytes));
    return acu_sim_copy_box(&box, in_bytes, stream, async);
}

cudaError_t acu_sim_cudaMemcpy2DToArray(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                        const void *src, size_t spitch, size_t width, size_t height,
                                        enum cudaMemcpyKind kind) {
    return copy_box((position){.in_array = true, .array = dst, .x = wOffset, .y = hOffset},
                    (position){.memory = src, .pitch = spitch}, width, height, kind, NULL, false);
}

cudaError_t acu_sim_cudaMemcpy2DToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                             const void *src, size_t spitch, size_t width,
                                             size_t height, enum cudaMemcpyKind kind,
                                             cudaStream_t stream) {
    return copy_box((position){.in_array = true, .array = dst, .x = wOffset, .y = hOffset},
                    (position){.memory = src, .pitch = spitch}, width, height, kind, stream, true);
}

cudaError_t acu_sim_cudaMemcpy2DFromArray(void *dst, size_t dpitch, cudaArray_const_t src,
                                          size_t wOffset, size_t hOffset, size_t width,
                                          size_t height, enum cudaMemcpyKind kind) {
    return copy_box((position){.memory = dst, .pitch = dpitch},
                    (position){.in_array = true, .array = src, .x = wOffset, .y = hOffset}, width,
                    height, kind, NULL, false);
}

cudaError_t acu_sim_cudaMemcpy2DFromArrayAsync(void *dst, size_t dpitch, cudaArray_const_t src,
                                               size_t wOffset, size_t hOffset, size_t width,
                                               size_t height, enum cudaMemcpyKind kind,
                                               cudaStream_t stream) {
    return copy_box((position){.memory = dst, .pitch = dpitch},
                    (position){.in_array = true, .array = src, .x = wOffset, .y = hOffset}, width,
                    height, kind, stream, true);
}

cudaError_t acu_sim_cudaMemcpy2DArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
                                             cudaArray_const_t src, size_t wOffsetSrc,
                                             size_t hOffsetSrc, size_t width, size_t height,
                                             enum cudaMemcpyKind kind) {
    return copy_box((position){.in_array = true, .array = dst, .x = wOffsetDst, .y = hOffsetDst},
                    (position){.in_array = true, .array = src, .x = wOffsetSrc, .y = hOffsetSrc},
                    width, height, kind, NULL, false);
}

/* ---- runs of bytes ---- */

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Returns the bytes of a row; memory is one row without an end. */
static size_t row_size(const position *place) {
    const acu_sim_array *array = acu_sim_array_of(place->array);
    return array ? array->pitch : SIZE_MAX;
}

static size_t rest_of_row(const position *place) {
    return row_size(place) - (place->array ? place->x : 0);
}

static void advance(position *place, size_t width, size_t height) {
    if (place->memory) {
        place->memory = (const char *)place->memory + width * height;
        return;
    }
    place->x += width;
    place->y += height - 1;
    if (place->x == row_size(place)) {
        place->x = 0;
        place->y++;
    }
}

/* Returns whether all of the run is inside of the array; of memory, that is validated later. */
static bool has_run(const position *place, size_t count) {
    const acu_sim_array *array = acu_sim_array_of(place->array);
    if (!array)
        return !place->array;
    if (acu_sim_self()->call.by_driver) /* whose runs end with the row */
        return place->x <= array->pitch && count <= array->pitch - place->x;
    return place->x <= array->pitch && place->y < array->height && /* the end of a row, too */
           count <= (array->height - place->y) * array->pitch - place->x;
}

/* Computes the largest box with which a run can begin: the rest of a row, or several whole rows,
 * where the rows of both ends are as long. */
static void first_box(const position *to, const position *from, size_t count, size_t *width,
                      size_t *height) {
    const size_t row = smaller(row_size(to), row_size(from));
    *width = smaller(count, smaller(rest_of_row(to), rest_of_row(from)));
    *height = 1;
    if (*width == row && (!to->array || row_size(to) == row) &&
        (!from->array || row_size(from) == row))
        *height = count / row;
}

static cudaError_t copy_run(position to, position from, size_t count, enum cudaMemcpyKind kind,
                            cudaStream_t stream, bool async) {
    acu_sim_stream *s;
    if (acu_sim_self()->call.by_driver) { /* which looks at captures first */
        SIM_TRY(acu_sim_stream_of(stream, &s));
        SIM_TRY(acu_sim_capture_allows(s, async ? SIM_ENQUEUES : SIM_REFUSES));
    }
    /* Between memory and an array, CUDA copies nothing in an unknown direction, without an error.
     */
    if (!count || (!acu_sim_copy_is_direction(kind) && !(to.in_array && from.in_array)))
        return cudaSuccess;
    if (!fits_direction(&to, &from, kind))
        return cudaErrorInvalidMemcpyDirection;
    SIM_TRY(acu_sim_stream_of(stream, &s));
    if ((to.in_array && !acu_sim_array_of(to.array)) ||
        (from.in_array && !acu_sim_array_of(from.array)))
        return cudaErrorInvalidResourceHandle;
    if (to.in_array && from.in_array && !acu_sim_self()->call.by_driver)
        SIM_TRY(acu_sim_capture_allows_unsafe());
    SIM_TRY(acu_sim_capture_allows(s, async ? SIM_ENQUEUES : SIM_REFUSES));
    if (!has_run(&to, count) || !has_run(&from, count))
        return cudaErrorInvalidValue;
    advance(&to, 0, 1); /* from the end of a row to the next one */
    advance(&from, 0, 1);
    while (count) {
        struct cudaMemcpy3DParms box;
        bool in_bytes;
        size_t width, height;
        first_box(&to, &from, count, &width, &height);
        to.pitch = from.pitch = width;
        SIM_TRY(make_box(&to, &from, width, height, kind, &box, &in_bytes));
        SIM_TRY(acu_sim_copy_box(&box, in_bytes, stream, async));
        advance(&to, width, height);
        advance(&from, width, height);
        count -= width * height;
    }
    return cudaSuccess;
}

cudaError_t acu_sim_copy_to_array(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src,
                                  size_t count, enum cudaMemcpyKind kind, cudaStream_t stream,
                                  bool async) {
    return copy_run((position){.in_array = true, .array = dst, .x = wOffset, .y = hOffset},
                    (position){.memory = src}, count, kind, stream, async);
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
    return copy_run((position){.memory = dst},
                    (position){.in_array = true, .array = src, .x = wOffset, .y = hOffset}, count,
                    kind, stream, async);
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

cudaError_t acu_sim_cudaMemcpyArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
                                           cudaArray_const_t src, size_t wOffsetSrc,
                                           size_t hOffsetSrc, size_t count,
                                           enum cudaMemcpyKind kind) {
    return copy_run((position){.in_array = true, .array = dst, .x = wOffsetDst, .y = hOffsetDst},
                    (position){.in_array = true, .array = src, .x = wOffsetSrc, .y = hOffsetSrc},
                    count, kind, NULL, false);
}
