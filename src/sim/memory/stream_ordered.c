/*
 * Memory that is allocated and freed in the order of a stream.
 *
 * What a pool has used and reserved is counted when the call is made, as a driver plans it. The
 * addresses and bytes of freed memory are given back in stream order.
 */
#include "sim/caller.h"
#include "sim/device/device.h"
#include "sim/memory/default_pool.h"
#include "sim/memory/memory.h"
#include "sim/memory/pool.h"
#include "sim/memory/range.h"
#include "sim/memory/unwritten.h"
#include "sim/memory/shared_pool.h"
#include "sim/stream/capture.h"
#include "sim/stream/op.h"
#include "sim/stream/stream.h"

/* ---- allocating ---- */

/* Makes a range of the pool. Memory whose free is queued has its addresses still: where no others
 * are left, waits for the device; the lock is given up meanwhile. NULL without room. */
static acu_sim_range *pool_range(const acu_sim_pool *pool, size_t size) {
    const acu_sim_memory kind = acu_sim_pool_kind(pool);
    acu_sim_device *device = pool->device;
    acu_sim_range *range = acu_sim_memory_new_range_of(kind, device, size);
    if (!range && kind == SIM_DEVICE) {
        acu_sim_stream_wait_device(device);
        range = acu_sim_memory_new_range_of(kind, device, size);
    }
    return range;
}

/* Allocates from the pool; `at` is NULL for a size of 0. */
static cudaError_t allocate(acu_sim_pool *pool, size_t size, void **at) {
    *at = NULL;
    if (size == 0)
        return cudaSuccess;
    if (size > SIZE_MAX / 2)
        return SIM_REFUSE(cudaErrorMemoryAllocation, "%zu bytes are more than can be addressed",
                          size);
    if (!acu_sim_pool_reserve(pool, size))
        return cudaErrorMemoryAllocation; /* which says why */
    const cudaMemPool_t handle = acu_sim_pool_handle(pool);
    acu_sim_range *range = pool_range(pool, size);
    if (!range)
        return cudaErrorMemoryAllocation;
    if (acu_sim_pool_of(handle) != pool) { /* destroyed by another thread meanwhile */
        acu_sim_memory_free_range_of(range);
        return cudaErrorInvalidValue;
    }
    range->pool = pool;
    range->where = SIM_CALLER;
    acu_sim_pool_view_place(pool, range);
    acu_sim_pool_record_alloc(pool, size);
    acu_sim_unwritten_begin(range);
    *at = (void *)range->base;
    return cudaSuccess;
}

/* Returns whether captures allow to allocate and free on the stream: a capture of the stream takes
 * that as nodes, and on other streams it is unsafe. */
static cudaError_t validate_capture(acu_sim_stream *stream) {
    SIM_TRY(acu_sim_capture_allows(stream, SIM_ENQUEUES));
    return stream->capture ? cudaSuccess : acu_sim_capture_allows_unsafe();
}

/* Allocates from a pool; `handle`: NULL for the current pool of the stream's device. */
static cudaError_t allocate_async(void **at, size_t size, const cudaMemPool_t *handle,
                                  cudaStream_t stream) {
    acu_sim_stream *s;
    if (!at)
        return SIM_REFUSE(cudaErrorInvalidValue, "there is no place for the address: it is NULL");
    *at = NULL;
    SIM_TRY(acu_sim_stream_of(stream, &s));
    SIM_TRY(validate_capture(s));
    acu_sim_pool *pool = handle ? acu_sim_pool_of(*handle) : acu_sim_pool_current(s->device);
    if (!pool)
        return handle ? SIM_REFUSE(cudaErrorInvalidValue,
                                   "%p is no pool: it was destroyed, or never created",
                                   (void *)*handle)
                      : cudaErrorMemoryAllocation;
    if (!acu_sim_pool_own(acu_sim_pool_handle(pool)))
        return cudaErrorInvalidValue;
    if (s->capture && acu_sim_pool_is_host(pool->props.location.type) &&
        pool->props.location.type != cudaMemLocationTypeHostNumaCurrent)
        return SIM_REFUSE(cudaErrorNotSupported,
                          "stream %p is being captured, and a graph cannot allocate from a pool "
                          "of host memory: allocate before the capture",
                          (void *)s);
    if (s->capture && !size) /* nothing is captured */
        return cudaSuccess;
    return s->capture ? acu_sim_capture_alloc(s, &pool->props, size, at) : allocate(pool, size, at);
}

cudaError_t acu_sim_cudaMallocAsync(void **devPtr, size_t size, cudaStream_t hStream) {
    return allocate_async(devPtr, size, NULL, hStream);
}

cudaError_t acu_sim_cudaMallocFromPoolAsync(void **ptr, size_t size, cudaMemPool_t memPool,
                                            cudaStream_t stream) {
    return allocate_async(ptr, size, &memPool, stream);
}

/* ---- freeing ---- */

static cudaError_t run_free(acu_sim_op *op) {
    pthread_mutex_lock(&acu_sim_lock);
    acu_sim_memory_free_range_of(op->with.range);
    pthread_mutex_unlock(&acu_sim_lock);
    return cudaSuccess;
}

/* Gives the free of the range to the stream; the lock may be given up meanwhile. */
static cudaError_t submit_free(acu_sim_range *range, acu_sim_stream *stream) {
    acu_sim_op *op = acu_sim_op_new(cudaGraphNodeTypeMemFree, run_free);
    if (!op)
        return cudaErrorMemoryAllocation;
    op->with.range = range;
    op->always = true;
    cudaError_t why = acu_sim_stream_submit(stream, op, acu_sim_stream_is_free(stream));
    /* Any other error is the context's, which later calls report. */
    return why == cudaErrorMemoryAllocation ? why : cudaSuccess;
}

static cudaError_t free_of_graph(acu_sim_range *range, acu_sim_stream *stream) {
    acu_sim_op *op = acu_sim_memory_new_free_op(range);
    return op ? acu_sim_stream_submit(stream, op, acu_sim_stream_is_free(stream))
              : cudaErrorInvalidValue;
}

/* Memory of cudaMalloc() can be freed in stream order, too. */
static cudaError_t validate_free(const acu_sim_range *range, const void *address) {
    const bool is_pooled = range && range->pool;
    if (range && range->kind == SIM_MANAGED && !is_pooled)
        return SIM_REFUSE(cudaErrorNotSupported,
                          "managed memory that is of no pool is not freed in stream order: use "
                          "cudaFree()");
    if (!range || (range->kind != SIM_DEVICE && !is_pooled) || range->base != (uintptr_t)address ||
        range->of_module || (range->bytes && !is_pooled))
        return acu_sim_memory_refuse_free(range, address);
    return cudaSuccess;
}

static cudaError_t free_async(void *at, acu_sim_stream *stream) {
    acu_sim_range *range = acu_sim_range_of(at);
    if (stream->capture)
        return acu_sim_capture_free(stream, at);
    SIM_TRY(validate_free(range, at));
    if (range->allocation)
        return free_of_graph(range, stream);
    if (range->pool)
        acu_sim_pool_record_free(range->pool, range->size);
    else
        range->device->used -= acu_sim_memory_rounded(range->size);
    range->freed = true;
    range->pool = NULL;
    return submit_free(range, stream);
}

cudaError_t acu_sim_cudaFreeAsync(void *devPtr, cudaStream_t hStream) {
    acu_sim_stream *s;
    SIM_TRY(acu_sim_stream_of(hStream, &s));
    SIM_TRY(validate_capture(s));
    return devPtr ? free_async(devPtr, s) : cudaSuccess;
}
