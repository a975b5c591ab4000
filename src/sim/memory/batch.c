/* Calls with attributes, or with many ranges: copies, prefetches, discards. */
#include "sim/memory/batch.h"
#include "sim/memory/array.h"
#include "sim/memory/copy.h"
#include "sim/memory/managed.h"
#include "sim/memory/range.h"
#include "sim/stream/capture.h"
#include "sim/stream/op.h"
#include "sim/stream/stream.h"

#include <stdlib.h>
#include <string.h>

/* The attributes of `count` things: each set begins at an index, the first at 0. */
static bool are_indices(const size_t *indices, size_t sets, size_t count) {
    if (!indices || !sets || sets > count || indices[0] != 0)
        return false;
    for (size_t i = 1; i < sets; i++)
        if (indices[i] <= indices[i - 1] || indices[i] >= count)
            return false;
    return true;
}

/* Which set the thing has: that of the one before it, or the next one. */
static size_t set_of(const size_t *indices, size_t sets, size_t thing, size_t last) {
    return last + 1 < sets && indices[last + 1] == thing ? last + 1 : last;
}

/* None of these goes to the default stream that all others wait for, and no capture takes it. */
static cudaError_t judge_stream(cudaStream_t handle) {
    acu_sim_stream *stream;
    handle = acu_sim_stream_handle(handle);
    if (!handle || handle == cudaStreamLegacy)
        return cudaErrorInvalidValue;
    cudaError_t why = acu_sim_stream_of(handle, &stream);
    return why ? why : acu_sim_capture_allows(stream, SIM_REFUSES);
}

/* ---- copies -------------------------------------------------------------------------------------
 */

static bool is_order(enum cudaMemcpySrcAccessOrder order, unsigned flags) {
    return order >= cudaMemcpySrcAccessOrderStream && order <= cudaMemcpySrcAccessOrderAny &&
           !(flags & ~(unsigned)cudaMemcpyFlagPreferOverlapWithCompute);
}

typedef struct batch {
    struct cudaMemcpy3DParms *copies;
    bool *early;
    size_t count;
} batch;

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

static cudaError_t fill_batch(batch *b, void *const *dsts, const void *const *srcs,
                              const size_t *sizes, size_t count,
                              const struct cudaMemcpyAttributes *attributes, const size_t *indices,
                              size_t sets) {
    size_t set = 0;
    for (size_t i = 0; i < count; i++) {
        set = set_of(indices, sets, i, set);
        if (!sizes[i] || !is_order(attributes[set].srcAccessOrder, attributes[set].flags))
            return cudaErrorInvalidValue;
        const struct cudaMemcpy3DParms copy =
            acu_sim_copy_params(dsts[i], srcs[i], sizes[i], cudaMemcpyDefault);
        add(b, &copy, attributes[set].srcAccessOrder);
    }
    return cudaSuccess;
}

static cudaError_t copy_batch(void *const *dsts, const void *const *srcs, const size_t *sizes,
                              size_t count, const struct cudaMemcpyAttributes *attributes,
                              const size_t *indices, size_t sets, cudaStream_t stream) {
    batch b;
    cudaError_t why = cudaSuccess;
    if (!dsts || !srcs || !sizes || !count || !attributes || !are_indices(indices, sets, count))
        return cudaErrorInvalidValue;
    if (!new_batch(&b, count))
        why = cudaErrorMemoryAllocation;
    if (!why)
        why = fill_batch(&b, dsts, srcs, sizes, count, attributes, indices, sets);
    if (!why)
        why = acu_sim_copy_all(b.copies, b.early, b.count, stream);
    free_batch(&b);
    return why;
}

cudaError_t acu_sim_cudaMemcpyBatchAsync(void *const *dsts, const void *const *srcs,
                                         const size_t *sizes, size_t count,
                                         struct cudaMemcpyAttributes *attrs, size_t *attrsIdxs,
                                         size_t numAttrs, cudaStream_t stream) {
    SIM_TRY(judge_stream(stream));
    return copy_batch(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, stream);
}

cudaError_t acu_sim_cudaMemcpyWithAttributesAsync(void *dst, const void *src, size_t size,
                                                  struct cudaMemcpyAttributes *attr,
                                                  cudaStream_t stream) {
    size_t first = 0;
    SIM_TRY(acu_sim_driver_has(&acu_function_cuMemcpyWithAttributesAsync));
    return copy_batch(&dst, &src, &size, 1, attr, &first, 1, stream);
}

/* ---- copies in one node -------------------------------------------------------------------------
 */

struct acu_sim_batch {
    struct cudaMemcpyBatchNodeParams params; /* its arrays are its own */
    acu_sim_op **copies;                     /* NULL: of no bytes */
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
    cudaError_t result = cudaSuccess;
    for (size_t i = 0; i < b->params.count && !result; i++)
        if (b->copies[i])
            result = b->copies[i]->run(b->copies[i]);
    return result;
}

static void *duplicate(const void *from, size_t count, size_t size) {
    void *copy = calloc(count, size);
    return copy ? memcpy(copy, from, count * size) : NULL;
}

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

/* Those of no bytes are not looked at. */
static cudaError_t make_copies(acu_sim_batch *b) {
    const struct cudaMemcpyBatchNodeParams *p = &b->params;
    cudaError_t why = cudaSuccess;
    for (size_t i = 0, set = 0; i < p->count && !why; i++) {
        set = set_of(p->attrsIdxs, p->numAttrs, i, set);
        if (!is_order(p->attrs[set].srcAccessOrder, p->attrs[set].flags))
            return cudaErrorInvalidValue;
        const struct cudaMemcpy3DParms copy =
            acu_sim_copy_params(p->dsts[i], p->srcs[i], p->sizes[i], cudaMemcpyDefault);
        if (p->sizes[i])
            why = acu_sim_copy_op(&copy, &b->copies[i]);
    }
    return why;
}

cudaError_t acu_sim_batch_op(const struct cudaMemcpyBatchNodeParams *params, acu_sim_op **op) {
    if (!params->dsts || !params->srcs || !params->sizes || !params->count || !params->attrs ||
        !are_indices(params->attrsIdxs, params->numAttrs, params->count))
        return cudaErrorInvalidValue;
    acu_sim_batch *b = new_node_batch(params);
    cudaError_t why = b ? make_copies(b) : cudaErrorMemoryAllocation;
    if (!why && !(*op = acu_sim_op_new(cudaGraphNodeTypeMemcpyBatch, run_batch)))
        why = cudaErrorMemoryAllocation;
    if (why) {
        if (b)
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

/* ---- copies of boxes ----------------------------------------------------------------------------
 */

/* Zero is as long, as high, as what is copied. */
static bool is_packed(size_t given, size_t least) {
    return !given || given >= least;
}

static bool read_operand(const struct cudaMemcpy3DOperand *o, const struct cudaExtent *extent,
                         size_t element, cudaArray_t *array, struct cudaPos *pos,
                         struct cudaPitchedPtr *ptr) {
    if (o->type == cudaMemcpyOperandTypeArray) {
        *array = o->op.array.array;
        *pos = (struct cudaPos){o->op.array.offset.x, o->op.array.offset.y, o->op.array.offset.z};
        return *array != NULL;
    }
    const size_t row = o->op.ptr.rowLength, layer = o->op.ptr.layerHeight;
    if (o->type != cudaMemcpyOperandTypePointer || !is_packed(row, extent->width) ||
        !is_packed(layer, extent->height))
        return false;
    ptr->ptr = o->op.ptr.ptr;
    ptr->ysize = layer ? layer : extent->height;
    return !__builtin_mul_overflow(row ? row : extent->width, element, &ptr->pitch);
}

static size_t element_of(const struct cudaMemcpy3DOperand *o) {
    const acu_sim_array *array =
        o->type == cudaMemcpyOperandTypeArray ? acu_sim_array_of(o->op.array.array) : NULL;
    return array ? array->element : 0;
}

static bool read_op(batch *b, const struct cudaMemcpy3DBatchOp *op) {
    struct cudaMemcpy3DParms copy = {.extent = op->extent, .kind = cudaMemcpyDefault};
    const size_t to = element_of(&op->dst), from = element_of(&op->src);
    const size_t element = to ? to : from ? from : 1;
    if (!is_order(op->srcAccessOrder, op->flags) ||
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
        if (!read_op(&b, &ops[i]))
            why = cudaErrorInvalidValue;
    if (!why)
        why = acu_sim_copy_all(b.copies, b.early, b.count, stream);
    free_batch(&b);
    return why;
}

cudaError_t acu_sim_cudaMemcpy3DBatchAsync(size_t numOps, struct cudaMemcpy3DBatchOp *opList,
                                           unsigned long long flags, cudaStream_t stream) {
    SIM_TRY(judge_stream(stream));
    return copy_boxes(opList, numOps, flags, stream);
}

cudaError_t acu_sim_cudaMemcpy3DWithAttributesAsync(struct cudaMemcpy3DBatchOp *op,
                                                    unsigned long long flags, cudaStream_t stream) {
    SIM_TRY(acu_sim_driver_has(&acu_function_cuMemcpy3DWithAttributesAsync));
    return copy_boxes(op, 1, flags, stream);
}

/* ---- managed memory -----------------------------------------------------------------------------
 */

typedef struct places { /* NULL: it is not to be moved */
    const struct cudaMemLocation *locations;
    const size_t *indices;
    size_t sets;
} places;

static cudaError_t judge_ranges(void *const *at, const size_t *sizes, size_t count,
                                const places *to, unsigned long long flags) {
    size_t set = 0;
    if (!at || !sizes || !count || flags ||
        (to && (!to->locations || !are_indices(to->indices, to->sets, count))))
        return cudaErrorInvalidValue;
    for (size_t i = 0; i < count; i++) {
        if (!acu_sim_managed_range(at[i], sizes[i]))
            return cudaErrorInvalidValue;
        if (to)
            set = set_of(to->indices, to->sets, i, set);
        cudaError_t why = to ? acu_sim_managed_validate_location(to->locations[set]) : cudaSuccess;
        if (why)
            return why;
    }
    return cudaSuccess;
}

/* What is discarded may have any value, also its old one. */
static cudaError_t manage(void *const *at, const size_t *sizes, size_t count, const places *to,
                          unsigned long long flags, cudaStream_t stream) {
    size_t set = 0;
    SIM_TRY(judge_stream(stream));
    SIM_TRY(judge_ranges(at, sizes, count, to, flags));
    for (size_t i = 0; to && i < count; i++) {
        set = set_of(to->indices, to->sets, i, set);
        acu_sim_managed_range(at[i], sizes[i])->prefetched = to->locations[set];
    }
    return cudaSuccess;
}

/* NOLINTBEGIN(readability-non-const-parameter): the signatures are CUDA's */
cudaError_t acu_sim_cudaMemPrefetchBatchAsync(void **dptrs, size_t *sizes, size_t count,
                                              struct cudaMemLocation *prefetchLocs,
                                              size_t *prefetchLocIdxs, size_t numPrefetchLocs,
                                              unsigned long long flags, cudaStream_t stream) {
    const places to = {prefetchLocs, prefetchLocIdxs, numPrefetchLocs};
    return manage(dptrs, sizes, count, &to, flags, stream);
}

cudaError_t acu_sim_cudaMemDiscardAndPrefetchBatchAsync(void **dptrs, size_t *sizes, size_t count,
                                                        struct cudaMemLocation *prefetchLocs,
                                                        size_t *prefetchLocIdxs,
                                                        size_t numPrefetchLocs,
                                                        unsigned long long flags,
                                                        cudaStream_t stream) {
    const places to = {prefetchLocs, prefetchLocIdxs, numPrefetchLocs};
    return manage(dptrs, sizes, count, &to, flags, stream);
}
/* NOLINTEND(readability-non-const-parameter) */

cudaError_t acu_sim_cudaMemDiscardBatchAsync(void **dptrs, size_t *sizes, size_t count,
                                             unsigned long long flags, cudaStream_t stream) {
    return manage(dptrs, sizes, count, NULL, flags, stream);
}

/* Where it was prefetched to; what nobody moved is where nobody has been, as far as is known. */
cudaError_t acu_sim_cudaMemGetLocationInfo(void *devPtr, size_t size, size_t summaryGranularity,
                                           size_t samplingGranularity,
                                           struct cudaMemLocation *location_out) {
    const acu_sim_range *range = acu_sim_managed_range(devPtr, size);
    const bool pageable = devPtr && size && !acu_sim_range_is_device_address(devPtr) &&
                          !acu_sim_range_overlapping((uintptr_t)devPtr, size);
    SIM_TRY(acu_sim_driver_has(&acu_function_cuMemGetLocationInfo));
    if ((!range && !pageable) || !location_out || !summaryGranularity ||
        summaryGranularity > size || samplingGranularity > summaryGranularity)
        return cudaErrorInvalidValue;
    struct cudaMemLocation location = {.type = cudaMemLocationTypeHost};
    if (range)
        location = range->prefetched;
    if (location.type == cudaMemLocationTypeInvalid)
        location.id = 0;
    for (size_t i = 0; i < (size - 1) / summaryGranularity + 1; i++)
        location_out[i] = location;
    return cudaSuccess;
}
