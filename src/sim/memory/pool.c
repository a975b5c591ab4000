/*
 * Pools of stream-ordered memory.
 *
 * What is used and reserved is counted when the call is made, as a driver plans it; addresses and
 * bytes of freed memory go back in stream order. Synchronising gives back what exceeds the
 * threshold.
 */
#include "sim/memory/pool.h"
#include "sim/caller.h"
#include "sim/device/device.h"
#include "sim/memory/memory.h"
#include "sim/memory/range.h"
#include "sim/set.h"
#include "sim/stream/capture.h"
#include "sim/stream/op.h"
#include "sim/stream/stream.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 32 << 20 }; /* by which a pool grows */

struct acu_sim_pool {
    acu_sim_device *device;
    struct cudaMemPoolProps props;
    uint64_t threshold, reserved, used, reserved_high, used_high;
    uint64_t taken; /* as `used`, which counts what was asked for, but rounded */
    int reuse[3];
    enum cudaMemAccessFlags access[SIM_DEVICES];
    size_t live; /* allocations */
    bool destroyed;
    const void *where; /* NULL: a default pool */
    acu_sim_pool *next, *before;
};

static acu_sim_pool *pools;
static acu_sim_set handles;

/* ---- making and taking back ---------------------------------------------------------------------
 */

static acu_sim_pool *new_pool(acu_sim_device *device, const struct cudaMemPoolProps *props,
                              const void *where) {
    acu_sim_pool *pool = calloc(1, sizeof *pool);
    if (!pool || !acu_sim_set_add(&handles, pool)) {
        free(pool);
        return NULL;
    }
    pool->device = device;
    pool->props = *props;
    pool->where = where;
    pool->access[device->index] = cudaMemAccessFlagsProtReadWrite;
    pool->reuse[0] = pool->reuse[1] = pool->reuse[2] = 1;
    pool->next = pools;
    if (pools)
        pools->before = pool;
    return pools = pool;
}

static void free_pool(acu_sim_pool *pool) {
    if (pool->before)
        pool->before->next = pool->next;
    else
        pools = pool->next;
    if (pool->next)
        pool->next->before = pool->before;
    acu_sim_set_remove(&handles, pool);
    pool->device->used -= pool->reserved;
    free(pool);
}

acu_sim_pool *acu_sim_pool_default(acu_sim_device *device) {
    const struct cudaMemPoolProps props = {
        .allocType = cudaMemAllocationTypePinned,
        .location = {.type = cudaMemLocationTypeDevice, .id = device->index}};
    if (!device->default_pool)
        device->default_pool = new_pool(device, &props, NULL);
    return device->default_pool;
}

static acu_sim_pool *current(acu_sim_device *device) {
    return device->pool ? device->pool : acu_sim_pool_default(device);
}

static acu_sim_pool *pool_of(cudaMemPool_t handle) {
    acu_sim_pool *pool = (acu_sim_pool *)(void *)handle;
    return acu_sim_set_has(&handles, pool) ? pool : NULL;
}

static cudaMemPool_t handle_of(acu_sim_pool *pool) {
    return (cudaMemPool_t)(void *)pool;
}

/* Down to that many bytes, but not below what is used; by whole chunks. */
static void shrink(acu_sim_pool *pool, uint64_t keep) {
    if (keep < pool->taken)
        keep = pool->taken;
    if (keep > UINT64_MAX - CHUNK)
        return;
    keep = (keep + CHUNK - 1) / CHUNK * CHUNK;
    if (pool->reserved <= keep)
        return;
    pool->device->used -= pool->reserved - keep;
    pool->reserved = keep;
}

void acu_sim_pools_trim(void) {
    for (acu_sim_pool *pool = pools; pool; pool = pool->next)
        shrink(pool, pool->threshold);
}

void acu_sim_pool_record_free(acu_sim_pool *pool, size_t size) {
    pool->used -= size;
    pool->taken -= acu_sim_memory_rounded(size);
    pool->live--;
    if (pool->destroyed && !pool->live)
        free_pool(pool);
}

void acu_sim_pools_reset(acu_sim_device *device) {
    acu_sim_pool *next;
    for (acu_sim_pool *pool = pools; pool; pool = next) {
        next = pool->next;
        if (pool->device == device)
            free_pool(pool);
    }
    device->pool = device->default_pool = NULL;
}

int acu_sim_pools_leaks(int print) {
    int count = 0;
    for (const acu_sim_pool *pool = pools; pool; pool = pool->next)
        if (pool->where && !pool->destroyed) {
            count++;
            if (print)
                acu_sim_caller_report("memory pool", pool, 0, pool->where);
        }
    return count;
}

/* ---- allocating ---------------------------------------------------------------------------------
 */

/* Makes room in the pool: by whole chunks, or, where there is not so much, by what is needed. */
static bool reserve(acu_sim_pool *pool, uint64_t size) {
    uint64_t needed = pool->taken + size;
    if (needed < size || (pool->props.maxSize && needed > pool->props.maxSize))
        return false;
    if (needed <= pool->reserved)
        return true;
    uint64_t missing = needed - pool->reserved;
    uint64_t chunks = (missing + CHUNK - 1) / CHUNK * CHUNK;
    if (pool->props.maxSize && pool->reserved + chunks > pool->props.maxSize)
        chunks = missing;
    if (acu_sim_memory_charge(pool->device, chunks))
        pool->reserved += chunks;
    else if (acu_sim_memory_charge(pool->device, missing))
        pool->reserved += missing;
    else
        return false;
    return true;
}

static cudaError_t allocate(acu_sim_pool *pool, size_t size, void **at, const void *where) {
    *at = NULL;
    if (size == 0)
        return cudaSuccess;
    if (size > SIZE_MAX / 2 || !reserve(pool, acu_sim_memory_rounded(size)))
        return cudaErrorMemoryAllocation;
    acu_sim_range *range = acu_sim_memory_new_range(pool->device, size);
    if (!range)
        return cudaErrorMemoryAllocation;
    range->pool = pool;
    range->where = where;
    pool->live++;
    pool->used += size;
    pool->taken += acu_sim_memory_rounded(size);
    if (pool->used_high < pool->used)
        pool->used_high = pool->used;
    if (pool->reserved_high < pool->reserved)
        pool->reserved_high = pool->reserved;
    *at = (void *)range->base;
    return cudaSuccess;
}

cudaError_t acu_sim_pool_alloc_async(void **at, size_t size, cudaMemPool_t *handle,
                                     cudaStream_t stream, const void *where) {
    acu_sim_stream *s = NULL;
    acu_sim_pool *pool = NULL;
    if (!at)
        return cudaErrorInvalidValue;
    SIM_TRY(acu_sim_stream_of(stream, &s));
    if (!(pool = handle ? pool_of(*handle) : current(s->device)))
        SIM_TRY(handle ? cudaErrorInvalidValue : cudaErrorMemoryAllocation);
    SIM_TRY(acu_sim_capture_allows(s, SIM_ENQUEUES));
    return s->capture ? acu_sim_capture_alloc(s, &pool->props, size, at)
                      : allocate(pool, size, at, where);
}

cudaError_t acu_sim_cudaMallocAsync(void **devPtr, size_t size, cudaStream_t hStream) {
    return acu_sim_pool_alloc_async(devPtr, size, NULL, hStream, SIM_CALLER);
}

cudaError_t acu_sim_cudaMallocFromPoolAsync(void **ptr, size_t size, cudaMemPool_t memPool,
                                            cudaStream_t stream) {
    return acu_sim_pool_alloc_async(ptr, size, &memPool, stream, SIM_CALLER);
}

static cudaError_t drop(acu_sim_op *op) {
    pthread_mutex_lock(&acu_sim_lock);
    acu_sim_memory_free_range(op->with.range);
    pthread_mutex_unlock(&acu_sim_lock);
    return cudaSuccess;
}

static cudaError_t free_async(acu_sim_range *range, acu_sim_stream *stream) {
    acu_sim_op *op = acu_sim_op_new(cudaGraphNodeTypeMemFree, drop);
    if (!op)
        return cudaErrorMemoryAllocation;
    op->with.range = range;
    op->always = true;
    cudaError_t result = acu_sim_stream_submit(stream, op, acu_sim_stream_is_free(stream));
    if (result == cudaErrorMemoryAllocation)
        return result;
    return cudaSuccess;
}

static cudaError_t free_graphs(acu_sim_range *range, acu_sim_stream *stream) {
    acu_sim_op *op = range->new_free_op(range);
    return op ? acu_sim_stream_submit(stream, op, acu_sim_stream_is_free(stream))
              : cudaErrorInvalidValue;
}

/* Memory of cudaMalloc() can be freed in stream order, too. */
static cudaError_t judge_free(const acu_sim_range *range, const void *address) {
    if (range && range->kind == SIM_MANAGED)
        return cudaErrorNotSupported;
    return range && range->kind == SIM_DEVICE && range->base == (uintptr_t)address &&
                   !range->of_module && !range->bytes
               ? cudaSuccess
               : cudaErrorInvalidValue;
}

static cudaError_t free_any(void *at, acu_sim_stream *stream) {
    acu_sim_range *range = acu_sim_range_of(at);
    if (stream->capture)
        return acu_sim_capture_free(stream, at);
    cudaError_t why = judge_free(range, at);
    if (why)
        return why;
    if (range->allocation)
        return free_graphs(range, stream);
    if (range->pool)
        acu_sim_pool_record_free(range->pool, range->size);
    else
        range->device->used -= acu_sim_memory_rounded(range->size);
    range->freed = true;
    range->pool = NULL;
    return free_async(range, stream);
}

cudaError_t acu_sim_cudaFreeAsync(void *devPtr, cudaStream_t hStream) {
    acu_sim_stream *s = NULL;
    SIM_TRY(acu_sim_stream_of(hStream, &s));
    SIM_TRY(acu_sim_capture_allows(s, SIM_ENQUEUES));
    if (devPtr)
        SIM_TRY(free_any(devPtr, s));
    return cudaSuccess;
}

/* ---- pools --------------------------------------------------------------------------------------
 */

/* There are pools of device memory only: the attributes say the same. */
static cudaError_t judge_props(const struct cudaMemPoolProps *props) {
    const unsigned known_handles = cudaMemHandleTypePosixFileDescriptor | cudaMemHandleTypeWin32 |
                                   cudaMemHandleTypeWin32Kmt | cudaMemHandleTypeFabric;
    if (!props || (props->allocType != cudaMemAllocationTypePinned &&
                   !acu_sim_knows(&acu_cudart_type_cudaMemAllocationType, props->allocType)))
        return cudaErrorInvalidValue;
    if (props->allocType != cudaMemAllocationTypePinned)
        return props->allocType == cudaMemAllocationTypeManaged ? cudaErrorNotSupported
                                                                : cudaErrorInvalidValue;
    if (props->location.type != cudaMemLocationTypeDevice)
        return props->location.type != cudaMemLocationTypeInvalid &&
                       acu_sim_knows(&acu_cudart_type_cudaMemLocationType, props->location.type)
                   ? cudaErrorNotSupported
                   : cudaErrorInvalidValue;
    if (!acu_sim_device_at(props->location.id) || props->handleTypes & ~known_handles)
        return cudaErrorInvalidValue;
    return props->handleTypes == cudaMemHandleTypeNone ? cudaSuccess : cudaErrorNotSupported;
}

cudaError_t acu_sim_cudaMemPoolCreate(cudaMemPool_t *memPool,
                                      const struct cudaMemPoolProps *poolProps) {
    acu_sim_pool *pool = NULL;
    acu_sim_device *device = NULL;
    SIM_TRY(memPool ? judge_props(poolProps) : cudaErrorInvalidValue);
    SIM_TRY(acu_sim_device_activate(device = acu_sim_device_at(poolProps->location.id)));
    if (!(pool = new_pool(device, poolProps, SIM_CALLER)))
        return cudaErrorMemoryAllocation;
    *memPool = handle_of(pool);
    return cudaSuccess;
}

/* What is allocated stays until it is freed. */
cudaError_t acu_sim_cudaMemPoolDestroy(cudaMemPool_t memPool) {
    acu_sim_pool *pool = pool_of(memPool);
    if (!pool || !pool->where)
        return cudaErrorInvalidValue;
    if (pool->device->pool == pool)
        pool->device->pool = NULL;
    pool->destroyed = true;
    acu_sim_set_remove(&handles, pool);
    if (!pool->live)
        free_pool(pool);
    return cudaSuccess;
}

cudaError_t acu_sim_cudaMemPoolTrimTo(cudaMemPool_t memPool, size_t minBytesToKeep) {
    acu_sim_pool *pool = pool_of(memPool);
    if (!pool)
        return cudaErrorInvalidValue;
    shrink(pool, minBytesToKeep);
    return cudaSuccess;
}

/* ---- attributes ---------------------------------------------------------------------------------
 */

static void get_number(const acu_sim_pool *pool, enum cudaMemPoolAttr attr, int *value) {
    switch ((int)attr) {
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies:
        *value = pool->reuse[attr - cudaMemPoolReuseFollowEventDependencies];
        break;
    case cudaMemPoolAttrAllocationType:
        *value = (int)pool->props.allocType;
        break;
    case cudaMemPoolAttrExportHandleTypes:
        *value = (int)pool->props.handleTypes;
        break;
    case cudaMemPoolAttrLocationId:
        *value = pool->props.location.id;
        break;
    case cudaMemPoolAttrLocationType:
        *value = (int)pool->props.location.type;
        break;
    default:
        *value = 0;
    }
}

static void get_attribute(const acu_sim_pool *pool, enum cudaMemPoolAttr attr, void *value) {
    uint64_t *bytes = value;
    switch ((int)attr) {
    case cudaMemPoolAttrReleaseThreshold:
        *bytes = pool->threshold;
        break;
    case cudaMemPoolAttrReservedMemCurrent:
        *bytes = pool->reserved;
        break;
    case cudaMemPoolAttrReservedMemHigh:
        *bytes = pool->reserved_high;
        break;
    case cudaMemPoolAttrUsedMemCurrent:
        *bytes = pool->used;
        break;
    case cudaMemPoolAttrUsedMemHigh:
        *bytes = pool->used_high;
        break;
    case cudaMemPoolAttrMaxPoolSize:
        *bytes = pool->props.maxSize;
        break;
    default:
        get_number(pool, attr, value);
    }
}

cudaError_t acu_sim_cudaMemPoolGetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr,
                                            void *value) {
    const acu_sim_pool *pool = pool_of(memPool);
    if (!pool || !value || !acu_sim_knows(&acu_cudart_type_cudaMemPoolAttr, attr))
        return cudaErrorInvalidValue;
    get_attribute(pool, attr, value);
    return cudaSuccess;
}

/* High-water marks can only be put back to what is current. */
static cudaError_t set_attribute(acu_sim_pool *pool, enum cudaMemPoolAttr attr, const void *value) {
    const uint64_t *bytes = value;
    switch ((int)attr) {
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies:
        pool->reuse[attr - cudaMemPoolReuseFollowEventDependencies] = *(const int *)value != 0;
        return cudaSuccess;
    case cudaMemPoolAttrReleaseThreshold:
        pool->threshold = *bytes;
        return cudaSuccess;
    case cudaMemPoolAttrReservedMemHigh:
        if (*bytes == 0)
            pool->reserved_high = pool->reserved;
        return *bytes == 0 ? cudaSuccess : cudaErrorInvalidValue;
    case cudaMemPoolAttrUsedMemHigh:
        if (*bytes == 0)
            pool->used_high = pool->used;
        return *bytes == 0 ? cudaSuccess : cudaErrorInvalidValue;
    default:
        return cudaErrorInvalidValue;
    }
}

cudaError_t acu_sim_cudaMemPoolSetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr,
                                            void *value) {
    acu_sim_pool *pool = pool_of(memPool);
    if (!pool || !value)
        return cudaErrorInvalidValue;
    return set_attribute(pool, attr, value);
}

/* ---- access -------------------------------------------------------------------------------------
 */

static cudaError_t judge_access(const acu_sim_pool *pool, const struct cudaMemAccessDesc *desc) {
    if (!acu_sim_knows(&acu_cudart_type_cudaMemAccessFlags, desc->flags) ||
        desc->location.type != cudaMemLocationTypeDevice)
        return cudaErrorInvalidValue;
    if (!acu_sim_device_at(desc->location.id))
        return cudaErrorInvalidDevice;
    if (desc->flags == cudaMemAccessFlagsProtRead)
        return cudaErrorNotSupported;
    /* Its own device always has access. */
    return desc->location.id == pool->device->index &&
                   desc->flags != cudaMemAccessFlagsProtReadWrite
               ? cudaErrorInvalidDevice
               : cudaSuccess;
}

bool acu_sim_pool_allows_access(const acu_sim_pool *pool, const acu_sim_device *device) {
    return pool->access[device->index] != cudaMemAccessFlagsProtNone;
}

cudaError_t acu_sim_cudaMemPoolSetAccess(cudaMemPool_t memPool,
                                         const struct cudaMemAccessDesc *descList, size_t count) {
    acu_sim_pool *pool = pool_of(memPool);
    if (!pool || (count && !descList))
        return cudaErrorInvalidValue;
    for (size_t i = 0; i < count; i++)
        SIM_TRY(judge_access(pool, &descList[i]));
    for (size_t i = 0; i < count; i++)
        pool->access[descList[i].location.id] = descList[i].flags;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t memPool,
                                         struct cudaMemLocation *location) {
    const acu_sim_pool *pool = pool_of(memPool);
    if (!flags || !pool || !location || location->type != cudaMemLocationTypeDevice)
        return cudaErrorInvalidValue;
    if (!acu_sim_device_at(location->id))
        return cudaErrorInvalidValue;
    *flags = pool->access[location->id];
    return cudaSuccess;
}

/* ---- the pool of a device -----------------------------------------------------------------------
 */

/* Enters, and makes the device ready. */
static cudaError_t find(const void *out, int index, acu_sim_device **device) {
    *device = acu_sim_device_at(index);
    if (!out)
        return cudaErrorInvalidValue;
    if (!*device)
        return cudaErrorInvalidDevice;
    return acu_sim_device_activate(*device);
}

static cudaError_t give(acu_sim_device *device, bool standard, cudaMemPool_t *handle) {
    acu_sim_pool *pool = standard ? acu_sim_pool_default(device) : current(device);
    if (!pool)
        return cudaErrorMemoryAllocation;
    *handle = handle_of(pool);
    return cudaSuccess;
}

static cudaError_t take(acu_sim_device *device, cudaMemPool_t handle) {
    acu_sim_pool *pool = pool_of(handle);
    if (!pool || pool->device != device)
        return cudaErrorInvalidValue;
    device->pool = pool;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaDeviceGetDefaultMemPool(cudaMemPool_t *memPool, int device) {
    acu_sim_device *d;
    SIM_TRY(find(memPool, device, &d));
    return give(d, true, memPool);
}

cudaError_t acu_sim_cudaDeviceGetMemPool(cudaMemPool_t *memPool, int device) {
    acu_sim_device *d;
    cudaError_t why = find(memPool, device, &d);
    if (why == cudaErrorInvalidDevice) /* unlike cudaDeviceGetDefaultMemPool() */
        return cudaErrorInvalidValue;
    return why ? why : give(d, false, memPool);
}

cudaError_t acu_sim_cudaDeviceSetMemPool(int device, cudaMemPool_t memPool) {
    acu_sim_device *d;
    SIM_TRY(find(memPool, device, &d));
    return take(d, memPool);
}

/* The same by place and kind of memory; only a device's pinned memory has pools. */
static cudaError_t find_place(const void *out, const struct cudaMemLocation *location,
                              enum cudaMemAllocationType type, acu_sim_device **device) {
    bool known = location && location->type == cudaMemLocationTypeDevice;
    cudaError_t why = find(location ? out : NULL, known ? location->id : 0, device);
    if (why == cudaErrorInvalidDevice || (!why && (!known || type == cudaMemAllocationTypeInvalid)))
        return cudaErrorInvalidValue;
    return !why && type != cudaMemAllocationTypePinned ? cudaErrorNotSupported : why;
}

cudaError_t acu_sim_cudaMemGetDefaultMemPool(cudaMemPool_t *memPool,
                                             struct cudaMemLocation *location,
                                             enum cudaMemAllocationType type) {
    acu_sim_device *d;
    SIM_TRY(find_place(memPool, location, type, &d));
    return give(d, true, memPool);
}

cudaError_t acu_sim_cudaMemGetMemPool(cudaMemPool_t *memPool, struct cudaMemLocation *location,
                                      enum cudaMemAllocationType type) {
    acu_sim_device *d;
    SIM_TRY(find_place(memPool, location, type, &d));
    return give(d, false, memPool);
}

cudaError_t acu_sim_cudaMemSetMemPool(struct cudaMemLocation *location,
                                      enum cudaMemAllocationType type, cudaMemPool_t memPool) {
    acu_sim_device *d;
    SIM_TRY(find_place(memPool, location, type, &d));
    return take(d, memPool);
}

/* ---- sharing ------------------------------------------------------------------------------------
 */

/* No pool is made with a type of handle (judge_props), so there is none that could be exported. */
cudaError_t acu_sim_cudaMemPoolExportToShareableHandle(void *shareableHandle, cudaMemPool_t memPool,
                                                       enum cudaMemAllocationHandleType handleType,
                                                       unsigned int flags) {
    (void)shareableHandle, (void)memPool, (void)handleType, (void)flags;
    return cudaErrorInvalidValue;
}

cudaError_t
acu_sim_cudaMemPoolImportFromShareableHandle(cudaMemPool_t *memPool, void *shareableHandle,
                                             enum cudaMemAllocationHandleType handleType,
                                             unsigned int flags) {
    const bool is_type = handleType != cudaMemHandleTypeNone &&
                         acu_sim_knows(&acu_cudart_type_cudaMemAllocationHandleType, handleType);
    return memPool && shareableHandle && !flags && is_type ? cudaErrorNotSupported
                                                           : cudaErrorInvalidValue;
}

cudaError_t acu_sim_cudaMemPoolExportPointer(struct cudaMemPoolPtrExportData *exportData,
                                             void *ptr) {
    (void)exportData, (void)ptr;
    return cudaErrorInvalidValue;
}

cudaError_t acu_sim_cudaMemPoolImportPointer(void **ptr, cudaMemPool_t memPool,
                                             struct cudaMemPoolPtrExportData *exportData) {
    (void)ptr, (void)memPool, (void)exportData;
    return cudaErrorInvalidValue;
}
