/* Calls with attributes, or with many ranges: they copy, prefetch or discard. */
#include "sim/memory/batch.h"

#include "sim/memory/array.h"
#include "sim/memory/compressed.h"
#include "sim/memory/copy.h"
#include "sim/memory/managed.h"
#include "sim/memory/range.h"
#include "sim/stream/capture.h"
#include "sim/stream/op.h"
#include "sim/stream/stream.h"

#include <stdlib.h>
#include <string.h>

/* Attributes and locations are given in entries: entry `i` is that of all elements from
 * `indices[i]` on, up to the next entry's. Whether the indices are valid for `count` elements. */
static bool are_valid_indices(const size_t *indices, size_t entries, size_t count) {
    if (!indices || !entries || entries > count || indices[0] != 0)
        return false;
    for (size_t i = 1; i < entries; i++)
        if (indices[i] <= indices[i - 1] || indices[i] >= count)
            return false;
    return true;
}

/* Returns the entry of an element: that of the element before it (`last`), or the next one. */
static size_t entry_of(const size_t *indices, size_t entries, size_t element, size_t last) {
    return last + 1 < entries && indices[last + 1] == element ? last + 1 : last;
}

static cudaError_t refuse_legacy(void) {
    return SIM_REFUSE(cudaErrorInvalidValue,
                      "the legacy default stream takes no batches: pass a stream that the "
                      "program created, or cudaStreamPerThread");
}

/* Returns an error for the legacy default stream, which takes no batches, and for a captured
 * stream, whose capture stays valid. `good`: so far the other arguments are valid. */
static cudaError_t validate_stream(cudaStream_t handle, bool good) {
    acu_sim_stream *stream;
    handle = acu_sim_stream_handle(handle);
    if (!handle || handle == cudaStreamLegacy)
        return refuse_legacy();
    SIM_TRY(acu_sim_stream_of(handle, &stream));
    SIM_TRY(acu_sim_capture_allows(stream, SIM_ENQUEUES));
    if (!good)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "an array of the batch is NULL, there is no copy, or the attributes or "
                          "their indices are not valid: these begin with 0 and rise");
    return stream->capture
               ? SIM_REFUSE(cudaErrorStreamCaptureUnsupported,
                            "stream %p is being captured, and a capture does not take batches: "
                            "add a node of cudaGraphNodeTypeMemcpyBatch, or copy one by one",
                            (void *)stream)
               : cudaSuccess;
}

/* ---- copies ---- */

static bool is_valid_order(enum cudaMemcpySrcAccessOrder order, unsigned flags) {
    return order >= cudaMemcpySrcAccessOrderStream && order <= cudaMemcpySrcAccessOrderAny &&
           !(flags & ~(unsigned)cudaMemcpyFlagPreferOverlapWithCompute);
}

typedef struct batch {
    struct cudaMemcpy3DParms *copies;
    bool *early;  /* whether the source of a copy is read before the call returns */
    size_t count; /* copies that were added */
} batch;

/* Returns false without memory; the caller frees the batch also then. */
static bool new_batch(batch *b, size_t room) {
    *b = (batch){calloc(room, sizeof *b->copies), calloc(room, sizeof *b->early), 0};
    return b->copies && b->early;
}

static void free_batch(const batch *b) {
    free(b->copies);
    free(b->early);
}

static void add(batch *b, const struct cudaMemcpy3DParms *copy,
                enum cudaMemcpySrcAccessOrder order) {
    b->copies[b->count] = *copy;
    b->early[b->count++] = order == cudaMemcpySrcAccessOrderDuringApiCall;
}

static cudaError_t add_copies(batch *b, void *const *dsts, const void *const *srcs,
                              const size_t *sizes, size_t count,
                              const struct cudaMemcpyAttributes *attributes, const size_t *indices,
                              size_t entries) {
    size_t entry = 0;
    for (size_t i = 0; i < count; i++) {
        entry = entry_of(indices, entries, i, entry);
        if (!sizes[i])
            return SIM_REFUSE(cudaErrorInvalidValue, "copy %zu of the batch is empty", i);
        if (!is_valid_order(attributes[entry].srcAccessOrder, attributes[entry].flags))
            return SIM_REFUSE(cudaErrorInvalidValue,
                              "attributes %zu have an unknown srcAccessOrder or unknown flags",
                              entry);
        const struct cudaMemcpy3DParms copy =
            acu_sim_copy_params(dsts[i], srcs[i], sizes[i], cudaMemcpyDefault);
        add(b, &copy, attributes[entry].srcAccessOrder);
    }
    return cudaSuccess;
}

static cudaError_t copy_batch(void *const *dsts, const void *const *srcs, const size_t *sizes,
                              size_t count, const struct cudaMemcpyAttributes *attributes,
                              const size_t *indices, size_t entries, cudaStream_t stream) {
    batch b;
    if (!dsts || !srcs || !sizes || !count || !attributes ||
        !are_valid_indices(indices, entries, count))
        return cudaErrorInvalidValue;
    cudaError_t why = new_batch(&b, count)
                          ? add_copies(&b, dsts, srcs, sizes, count, attributes, indices, entries)
                          : cudaErrorMemoryAllocation;
    if (!why)
        why = acu_sim_copy_all(b.copies, b.early, b.count, stream);
    free_batch(&b);
    return why;
}

static bool are_valid_attributes(const struct cudaMemcpyAttributes *attributes,
                                 const size_t *indices, size_t entries, size_t count) {
    if (!attributes || !are_valid_indices(indices, entries, count))
        return false;
    for (size_t i = 0; i < entries; i++)
        if (!is_valid_order(attributes[i].srcAccessOrder, attributes[i].flags))
            return false;
    return true;
}

cudaError_t acu_sim_cudaMemcpyBatchAsync(void *const *dsts, const void *const *srcs,
                                         const size_t *sizes, size_t count,
                                         struct cudaMemcpyAttributes *attrs, size_t *attrsIdxs,
                                         size_t numAttrs, cudaStream_t stream) {
    SIM_TRY(validate_stream(stream, dsts && srcs && sizes && count &&
                                        are_valid_attributes(attrs, attrsIdxs, numAttrs, count)));
    return copy_batch(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, stream);
}

cudaError_t acu_sim_cudaMemcpyWithAttributesAsync(void *dst, const void *src, size_t size,
                                                  struct cudaMemcpyAttributes *attr,
                                                  cudaStream_t stream) {
    size_t first = 0;
    SIM_TRY(acu_sim_driver_has(&acu_function_cuMemcpyWithAttributesAsync));
    return copy_batch(&dst, &src, &size, 1, attr, &first, 1, stream);
}

/* ---- a node that copies ---- */

struct acu_sim_batch {
    struct cudaMemcpyBatchNodeParams params; /* whose arrays the batch owns */
    acu_sim_op **copies;                     /* NULL: a copy of no bytes */
};

static void free_node_batch(acu_sim_batch *b) {
    for (size_t i = 0; b->copies && i < b->params.count; i++)
        acu_sim_op_release(b->copies[i]);
    free(b->copies);
    free(b->params.dsts);
    free(b->params.srcs);
    free(b->params.sizes);
    free(b->params.attrs);
    free(b->params.attrsIdxs);
    free(b);
}

static void drop_batch(acu_sim_op *op) {
    free_node_batch(op->with.batch);
}

static cudaError_t run_batch(acu_sim_op *op) {
    const acu_sim_batch *b = op->with.batch;
    for (size_t i = 0; i < b->params.count; i++)
        if (b->copies[i])
            SIM_TRY(b->copies[i]->run(b->copies[i]));
    return cudaSuccess;
}

static void *duplicate(const void *from, size_t count, size_t size) {
    void *copy = calloc(count, size);
    return copy ? memcpy(copy, from, count * size) : NULL;
}

/* Copies the parameters; NULL without memory. */
static acu_sim_batch *new_node_batch(const struct cudaMemcpyBatchNodeParams *p) {
    acu_sim_batch *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    b->params = *p;
    b->params.dsts = duplicate(p->dsts, p->count, sizeof(void *));
    b->params.srcs = duplicate(p->srcs, p->count, sizeof(void *));
    b->params.sizes = duplicate(p->sizes, p->count, sizeof *p->sizes);
    b->params.attrs = duplicate(p->attrs, p->numAttrs, sizeof *p->attrs);
    b->params.attrsIdxs = duplicate(p->attrsIdxs, p->numAttrs, sizeof *p->attrsIdxs);
    b->copies = calloc(p->count, sizeof(acu_sim_op *));
    if (b->params.dsts && b->params.srcs && b->params.sizes && b->params.attrs &&
        b->params.attrsIdxs && b->copies)
        return b;
    free_node_batch(b);
    return NULL;
}

/* Makes the operations of the copies. A copy of no bytes is not validated. */
static cudaError_t make_copies(acu_sim_batch *b) {
    const struct cudaMemcpyBatchNodeParams *p = &b->params;
    for (size_t i = 0, entry = 0; i < p->count; i++) {
        entry = entry_of(p->attrsIdxs, p->numAttrs, i, entry);
        if (!is_valid_order(p->attrs[entry].srcAccessOrder, p->attrs[entry].flags))
            return cudaErrorInvalidValue;
        const struct cudaMemcpy3DParms copy =
            acu_sim_copy_params(p->dsts[i], p->srcs[i], p->sizes[i], cudaMemcpyDefault);
        if (p->sizes[i])
            SIM_TRY(acu_sim_copy_op(&copy, false, &b->copies[i]));
    }
    return cudaSuccess;
}

cudaError_t acu_sim_batch_op(const struct cudaMemcpyBatchNodeParams *params, acu_sim_op **op) {
    if (!params->dsts || !params->srcs || !params->sizes || !params->count || !params->attrs ||
        !are_valid_indices(params->attrsIdxs, params->numAttrs, params->count))
        return cudaErrorInvalidValue;
    acu_sim_batch *b = new_node_batch(params);
    if (!b)
        return cudaErrorMemoryAllocation;
    cudaError_t why = make_copies(b);
    if (!why && !(*op = acu_sim_op_new(cudaGraphNodeTypeMemcpyBatch, run_batch)))
        why = cudaErrorMemoryAllocation;
    if (why) {
        free_node_batch(b);
        return why;
    }
    (*op)->with.batch = b;
    (*op)->drop = drop_batch;
    return cudaSuccess;
}

void acu_sim_batch_describe(const acu_sim_op *op, struct cudaMemcpyBatchNodeParams *params) {
    *params = op->with.batch->params;
}

bool acu_sim_batch_fits(const acu_sim_op *from, const acu_sim_op *to) {
    const struct cudaMemcpyBatchNodeParams *a = &from->with.batch->params;
    const struct cudaMemcpyBatchNodeParams *b = &to->with.batch->params;
    return a->count == b->count && a->numAttrs == b->numAttrs &&
           from->execution_context == to->execution_context &&
           memcmp(a->attrs, b->attrs, a->numAttrs * sizeof *a->attrs) == 0 &&
           memcmp(a->attrsIdxs, b->attrsIdxs, a->numAttrs * sizeof *a->attrsIdxs) == 0;
}

/* ---- copies of boxes ---- */

/* Returns whether a row or layer is as long as what is copied of it, which 0 stands for. */
static bool is_long_enough(size_t given, size_t least) {
    return !given || given >= least;
}

/* Translates an operand whose width and x are elements of `element` bytes; returns false if the
 * operand is invalid. */
static bool read_operand(const struct cudaMemcpy3DOperand *o, const struct cudaExtent *extent,
                         size_t element, cudaArray_t *array, struct cudaPos *pos,
                         struct cudaPitchedPtr *ptr) {
    if (o->type == cudaMemcpyOperandTypeArray) {
        *array = o->op.array.array;
        *pos = (struct cudaPos){o->op.array.offset.x, o->op.array.offset.y, o->op.array.offset.z};
        return *array != NULL;
    }
    const size_t row = o->op.ptr.rowLength, layer = o->op.ptr.layerHeight;
    if (o->type != cudaMemcpyOperandTypePointer || !is_long_enough(row, extent->width) ||
        !is_long_enough(layer, extent->height))
        return false;
    ptr->ptr = o->op.ptr.ptr;
    ptr->ysize = layer ? layer : extent->height;
    return !__builtin_mul_overflow(row ? row : extent->width, element, &ptr->pitch);
}

/* Returns the bytes of an element of an array; 0 if the operand is no array. */
static size_t element_of(const struct cudaMemcpy3DOperand *o) {
    const acu_sim_array *array =
        o->type == cudaMemcpyOperandTypeArray ? acu_sim_array_of(o->op.array.array) : NULL;
    return array ? array->element : 0;
}

/* No GPU was asked how long the rows of compressed arrays are in memory. */
static bool is_compressed(const struct cudaMemcpy3DOperand *o) {
    const acu_sim_array *array =
        o->type == cudaMemcpyOperandTypeArray ? acu_sim_array_of(o->op.array.array) : NULL;
    return array && acu_sim_compressed_size(array->desc.f) > 0;
}

/* Adds a copy to the batch; returns false if the copy is invalid. */
static bool add_box(batch *b, const struct cudaMemcpy3DBatchOp *op) {
    struct cudaMemcpy3DParms copy = {.extent = op->extent, .kind = cudaMemcpyDefault};
    const size_t to = element_of(&op->dst), from = element_of(&op->src);
    const size_t element = to ? to : from ? from : 1;
    if (!is_valid_order(op->srcAccessOrder, op->flags) ||
        !read_operand(&op->dst, &op->extent, element, &copy.dstArray, &copy.dstPos, &copy.dstPtr) ||
        !read_operand(&op->src, &op->extent, element, &copy.srcArray, &copy.srcPos, &copy.srcPtr))
        return false;
    add(b, &copy, op->srcAccessOrder);
    return true;
}

static cudaError_t copy_boxes(const struct cudaMemcpy3DBatchOp *ops, size_t count,
                              unsigned long long flags, cudaStream_t stream) {
    batch b;
    if (!ops || !count || flags)
        return cudaErrorInvalidValue;
    cudaError_t why = new_batch(&b, count) ? cudaSuccess : cudaErrorMemoryAllocation;
    for (size_t i = 0; i < count && !why; i++)
        if (!add_box(&b, &ops[i]))
            why = cudaErrorInvalidValue;
        else if (is_compressed(&ops[i].dst) || is_compressed(&ops[i].src))
            why = SIM_REFUSE(cudaErrorNotSupported,
                             "the simulator copies compressed arrays by cudaMemcpy3D() only");
    if (!why)
        why = acu_sim_copy_all(b.copies, b.early, b.count, stream);
    free_batch(&b);
    return why;
}

cudaError_t acu_sim_cudaMemcpy3DBatchAsync(size_t numOps, struct cudaMemcpy3DBatchOp *opList,
                                           unsigned long long flags, cudaStream_t stream) {
    SIM_TRY(validate_stream(stream, true));
    return copy_boxes(opList, numOps, flags, stream);
}

cudaError_t acu_sim_cudaMemcpy3DWithAttributesAsync(struct cudaMemcpy3DBatchOp *op,
                                                    unsigned long long flags, cudaStream_t stream) {
    SIM_TRY(acu_sim_driver_has(&acu_function_cuMemcpy3DWithAttributesAsync));
    return copy_boxes(op, 1, flags, stream);
}

/* ---- managed memory ---- */

/* Where ranges are prefetched to. */
typedef struct targets {
    const struct cudaMemLocation *locations;
    const size_t *indices;
    size_t count;
} targets;

/* Validates the ranges; `to` is NULL where nothing is prefetched. */
static cudaError_t validate_ranges(void *const *at, const size_t *sizes, size_t count,
                                   const targets *to) {
    size_t entry = 0;
    if (!at || !sizes || !count ||
        (to && (!to->locations || !are_valid_indices(to->indices, to->count, count))))
        return cudaErrorInvalidValue;
    for (size_t i = 0; i < count; i++) {
        if (!acu_sim_managed_range(at[i], sizes[i]))
            return acu_sim_managed_refuse_range(at[i], sizes[i]);
        if (!to)
            continue;
        entry = entry_of(to->indices, to->count, i, entry);
        if (acu_sim_managed_validate_location(to->locations[entry]))
            return cudaErrorInvalidValue;
    }
    return cudaSuccess;
}

/* Discards ranges, or prefetches them to the targets, if there are some. Discarded memory keeps its
 * value here, because it may have any. */
static cudaError_t discard_or_prefetch(void *const *at, const size_t *sizes, size_t count,
                                       const targets *to, unsigned long long flags,
                                       cudaStream_t stream) {
    size_t entry = 0;
    acu_sim_stream *s;
    stream = acu_sim_stream_handle(stream);
    if (flags)
        return SIM_REFUSE(cudaErrorInvalidValue, "flags must be 0");
    if (!stream || stream == cudaStreamLegacy)
        return refuse_legacy();
    SIM_TRY(acu_sim_stream_of(stream, &s));
    SIM_TRY(acu_sim_capture_allows(s, SIM_REFUSES));
    SIM_TRY(validate_ranges(at, sizes, count, to));
    for (size_t i = 0; to && i < count; i++) {
        entry = entry_of(to->indices, to->count, i, entry);
        if (!acu_sim_managed_move(acu_sim_managed_range(at[i], sizes[i]), at[i], sizes[i],
                                  to->locations[entry]))
            return cudaErrorMemoryAllocation;
    }
    return cudaSuccess;
}

/* NOLINTBEGIN(readability-non-const-parameter): the signatures are CUDA's */
cudaError_t acu_sim_cudaMemPrefetchBatchAsync(void **dptrs, size_t *sizes, size_t count,
                                              struct cudaMemLocation *prefetchLocs,
                                              size_t *prefetchLocIdxs, size_t numPrefetchLocs,
                                              unsigned long long flags, cudaStream_t stream) {
    const targets to = {prefetchLocs, prefetchLocIdxs, numPrefetchLocs};
    return discard_or_prefetch(dptrs, sizes, count, &to, flags, stream);
}

cudaError_t acu_sim_cudaMemDiscardAndPrefetchBatchAsync(void **dptrs, size_t *sizes, size_t count,
                                                        struct cudaMemLocation *prefetchLocs,
                                                        size_t *prefetchLocIdxs,
                                                        size_t numPrefetchLocs,
                                                        unsigned long long flags,
                                                        cudaStream_t stream) {
    const targets to = {prefetchLocs, prefetchLocIdxs, numPrefetchLocs};
    return discard_or_prefetch(dptrs, sizes, count, &to, flags, stream);
}
/* NOLINTEND(readability-non-const-parameter) */

cudaError_t acu_sim_cudaMemDiscardBatchAsync(void **dptrs, size_t *sizes, size_t count,
                                             unsigned long long flags, cudaStream_t stream) {
    return discard_or_prefetch(dptrs, sizes, count, NULL, flags, stream);
}

/* Reports where managed memory was prefetched to: to no location, if it never was. Pageable memory
 * is on the host. */
cudaError_t acu_sim_cudaMemGetLocationInfo(void *devPtr, size_t size, size_t summaryGranularity,
                                           size_t samplingGranularity,
                                           struct cudaMemLocation *location_out) {
    const acu_sim_range *range = acu_sim_managed_range(devPtr, size);
    const bool pageable = devPtr && size && !acu_sim_range_is_device_address(devPtr) &&
                          !acu_sim_range_overlapping((uintptr_t)devPtr, size);
    SIM_TRY(acu_sim_driver_has(&acu_function_cuMemGetLocationInfo));
    if (!devPtr || (!range && !pageable))
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the %zu bytes at %p are neither managed memory of one allocation, nor "
                          "all unknown to CUDA",
                          size, devPtr);
    if (!location_out || !summaryGranularity || summaryGranularity > size ||
        samplingGranularity > summaryGranularity)
        return cudaErrorInvalidValue;
    for (size_t at = 0; at < size; at += summaryGranularity) {
        const size_t rest = size - at;
        struct cudaMemLocation location = {.type = cudaMemLocationTypeHost};
        if (range)
            location = acu_sim_managed_place(range, (char *)devPtr + at,
                                             rest < summaryGranularity ? rest : summaryGranularity);
        if (location.type == cudaMemLocationTypeInvalid)
            location.id = 0;
        *location_out++ = location;
    }
    return cudaSuccess;
}
