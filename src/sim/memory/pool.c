/*
 * Pools of stream-ordered memory.
 *
 * What is used and reserved is counted when the call is made, as a driver plans it. The addresses
 * and bytes of freed memory are given back in stream order. Each synchronisation gives back what a
 * pool holds above its threshold.
 */
#include "sim/memory/pool.h"

#include "core/record.h"
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

enum { CHUNK = 32 << 20 }; /* bytes by which a pool grows */

struct acu_sim_pool {
    acu_sim_device *device;
    struct cudaMemPoolProps props;
    uint64_t threshold;               /* bytes that a synchronisation leaves in the pool */
    uint64_t reserved, reserved_high; /* bytes taken of the device's memory, and the most */
    uint64_t used, used_high;         /* bytes that the program asked for, and the most */
    uint64_t taken;                   /* as `used`, each allocation rounded */
    int reuse[3];                     /* the attributes of reuse, which are only stored */
    enum cudaMemAccessFlags access[SIM_DEVICES]; /* that devices were granted */
    size_t live;                                 /* allocations that are not freed */
    bool destroyed;    /* the program destroyed the pool; the last free frees it */
    const void *where; /* where the program made the pool; NULL: a default pool */
    acu_sim_pool *next, *before;
};

static acu_sim_pool *pools;
/* The default pools of memory of no device, and those that the program set: by the location's type,
 * and whether the memory is managed. */
static acu_sim_pool *other_pools[cudaMemLocationTypeHostNumaCurrent][2];
static acu_sim_pool *set_pools[cudaMemLocationTypeHostNumaCurrent][2];
static acu_sim_set handles;

/* ---- life ---- */

/* Returns what kind of memory a pool with such properties has. */
static acu_sim_memory kind_of(const struct cudaMemPoolProps *props) {
    if (props->allocType == cudaMemAllocationTypeManaged)
        return SIM_MANAGED;
    return props->location.type == cudaMemLocationTypeDevice ? SIM_DEVICE : SIM_PINNED;
}

static bool is_host(enum cudaMemLocationType type) {
    return type == cudaMemLocationTypeHost || type == cudaMemLocationTypeHostNuma ||
           type == cudaMemLocationTypeHostNumaCurrent;
}

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
    if (kind_of(props) == SIM_DEVICE)
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
    if (kind_of(&pool->props) == SIM_DEVICE)
        pool->device->used -= pool->reserved;
    free(pool);
}

/* Returns a default pool, which is made when it is first asked for; NULL without memory. */
static acu_sim_pool *default_pool(acu_sim_pool **pool, acu_sim_device *device,
                                  enum cudaMemLocationType location,
                                  enum cudaMemAllocationType type) {
    const struct cudaMemPoolProps props = {
        .allocType = type,
        .location = {.type = location,
                     .id = location == cudaMemLocationTypeDevice ? device->index : 0}};
    if (!*pool)
        *pool = new_pool(device, &props, NULL);
    return *pool;
}

acu_sim_pool *acu_sim_pool_default(acu_sim_device *device) {
    return default_pool(&device->default_pool, device, cudaMemLocationTypeDevice,
                        cudaMemAllocationTypePinned);
}

/* Returns the pool that cudaMallocAsync() allocates from; NULL without memory. */
static acu_sim_pool *current_pool(acu_sim_device *device) {
    return device->pool ? device->pool : acu_sim_pool_default(device);
}

/* Returns the pool of a handle; NULL if there is no such pool. */
static acu_sim_pool *pool_of(cudaMemPool_t handle) {
    acu_sim_pool *pool = (acu_sim_pool *)(void *)handle;
    return acu_sim_set_has(&handles, pool) ? pool : NULL;
}

static cudaMemPool_t handle_of(acu_sim_pool *pool) {
    return (cudaMemPool_t)(void *)pool;
}

/* Gives back whole chunks, down to `keep` bytes, but not below what is used. */
static void shrink(acu_sim_pool *pool, uint64_t keep) {
    if (keep < pool->taken)
        keep = pool->taken;
    if (keep > UINT64_MAX - CHUNK)
        return;
    keep = (keep + CHUNK - 1) / CHUNK * CHUNK;
    if (pool->reserved <= keep)
        return;
    if (kind_of(&pool->props) == SIM_DEVICE)
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

/* Forgets the pools of no device that are gone. */
static void forget_other_pools(void) {
    for (size_t i = 0; i < sizeof other_pools / sizeof **other_pools; i++) {
        if (!pool_of(handle_of(other_pools[i / 2][i % 2])))
            other_pools[i / 2][i % 2] = NULL;
        if (!pool_of(handle_of(set_pools[i / 2][i % 2])))
            set_pools[i / 2][i % 2] = NULL;
    }
}

static void reset_device(acu_sim_device *device) {
    acu_sim_pool *next;
    for (acu_sim_pool *pool = pools; pool; pool = next) {
        next = pool->next;
        if (pool->device == device)
            free_pool(pool);
    }
    device->pool = device->default_pool = NULL;
    device->managed_pool = device->managed_default_pool = NULL;
    forget_other_pools();
}

static int leaks(int print) {
    int count = 0;
    for (const acu_sim_pool *pool = pools; pool; pool = pool->next)
        if (pool->where && !pool->destroyed) {
            count++;
            if (print)
                acu_sim_caller_report("memory pool", pool, 0, pool->where);
        }
    return count;
}

static void waited(bool for_work) {
    if (for_work)
        acu_sim_pools_trim();
}

const acu_sim_noun acu_sim_pool_noun = {
    .reset_device = reset_device, .leaks = leaks, .waited = waited};

/* ---- allocating ---- */

/* Makes room in the pool: whole chunks, or, where that is too much, what is needed. Returns false
 * if there is not so much memory. */
static bool reserve(acu_sim_pool *pool, uint64_t size) {
    uint64_t needed = pool->taken + size;
    if (needed < size || (pool->props.maxSize && needed > pool->props.maxSize))
        return false;
    if (needed <= pool->reserved)
        return true;
    if (kind_of(&pool->props) != SIM_DEVICE) {
        pool->reserved = needed;
        return true;
    }
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

/* Allocates from the pool; `at` is NULL for a size of 0. */
static cudaError_t allocate(acu_sim_pool *pool, size_t size, void **at) {
    *at = NULL;
    if (size == 0)
        return cudaSuccess;
    if (size > SIZE_MAX / 2 || !reserve(pool, acu_sim_memory_rounded(size)))
        return cudaErrorMemoryAllocation;
    acu_sim_range *range = acu_sim_memory_new_range_of(kind_of(&pool->props), pool->device, size);
    if (!range)
        return cudaErrorMemoryAllocation;
    range->pool = pool;
    range->where = SIM_CALLER;
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
        return cudaErrorInvalidValue;
    *at = NULL;
    SIM_TRY(acu_sim_stream_of(stream, &s));
    SIM_TRY(validate_capture(s));
    acu_sim_pool *pool = handle ? pool_of(*handle) : current_pool(s->device);
    if (!pool)
        return handle ? cudaErrorInvalidValue : cudaErrorMemoryAllocation;
    if (s->capture && is_host(pool->props.location.type))
        return cudaErrorNotSupported;
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
        return cudaErrorNotSupported;
    if (!range || (range->kind != SIM_DEVICE && !is_pooled) || range->base != (uintptr_t)address ||
        range->of_module || range->bytes)
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

/* Captures a free; only memory of a graph can be freed so, once by each graph. */
static cudaError_t free_in_capture(void *at, const acu_sim_range *range, acu_sim_stream *stream) {
    const bool is_of_graph = range && range->base == (uintptr_t)at && range->allocation;
    const size_t size = is_of_graph ? range->size : 0;
    const cudaError_t result = acu_sim_capture_free(stream, at);
    if (result == cudaErrorInvalidValue && is_of_graph)
        acu_record_reason("the %zu bytes at %p, which a graph allocates, are freed already by a "
                          "node of this graph or of another",
                          size, at);
    else if (result == cudaErrorInvalidValue)
        acu_record_reason("no graph allocates memory at %p: a capture frees only what a graph "
                          "allocates",
                          at);
    return result;
}

static cudaError_t free_async(void *at, acu_sim_stream *stream) {
    acu_sim_range *range = acu_sim_range_of(at);
    if (stream->capture)
        return free_in_capture(at, range, stream);
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

/* ---- creating and destroying ---- */

/* Returns whether there are pools of the type at the location. CUDA looks at the number of a device
 * and of a NUMA node, of which the simulated host has one; managed memory needs no location. */
static bool has_pools(const struct cudaMemLocation *location, enum cudaMemAllocationType type) {
    const bool is_managed = type == cudaMemAllocationTypeManaged;
    if (!is_managed && type != cudaMemAllocationTypePinned)
        return false;
    switch (location->type) {
    case cudaMemLocationTypeDevice:
        return acu_sim_device_at(location->id);
    case cudaMemLocationTypeHostNuma:
        return location->id == 0;
    case cudaMemLocationTypeHost:
        return true;
    default:
        return is_managed;
    }
}

/* No pool here has handles for other processes, as the attributes of the device say. */
static cudaError_t validate_props(const struct cudaMemPoolProps *props) {
    const unsigned known_handles = cudaMemHandleTypePosixFileDescriptor | cudaMemHandleTypeWin32 |
                                   cudaMemHandleTypeWin32Kmt | cudaMemHandleTypeFabric;
    if (!props)
        return cudaErrorInvalidValue;
    if (!acu_sim_knows(&acu_cudart_type_cudaMemLocationType, props->location.type))
        return cudaErrorNotSupported;
    if (!has_pools(&props->location, props->allocType) || props->handleTypes & ~known_handles)
        return cudaErrorInvalidValue;
    return props->handleTypes == cudaMemHandleTypeNone ? cudaSuccess : cudaErrorNotSupported;
}

cudaError_t acu_sim_cudaMemPoolCreate(cudaMemPool_t *memPool,
                                      const struct cudaMemPoolProps *poolProps) {
    if (!memPool)
        return cudaErrorInvalidValue;
    SIM_TRY(validate_props(poolProps));
    acu_sim_device *device = poolProps->location.type == cudaMemLocationTypeDevice
                                 ? acu_sim_device_at(poolProps->location.id)
                                 : acu_sim_device_now();
    SIM_TRY(acu_sim_device_activate(device));
    acu_sim_pool *pool = new_pool(device, poolProps, SIM_CALLER);
    if (!pool)
        return cudaErrorMemoryAllocation;
    *memPool = handle_of(pool);
    return cudaSuccess;
}

/* The pool's allocations stay until they are freed. */
cudaError_t acu_sim_cudaMemPoolDestroy(cudaMemPool_t memPool) {
    acu_sim_pool *pool = pool_of(memPool);
    if (!pool || !pool->where)
        return cudaErrorInvalidValue;
    if (pool->device->pool == pool)
        pool->device->pool = NULL;
    if (pool->device->managed_pool == pool)
        pool->device->managed_pool = NULL;
    pool->destroyed = true;
    acu_sim_set_remove(&handles, pool);
    forget_other_pools();
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

/* ---- attributes ---- */

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

/* A high-water mark can only be set to 0, which makes it the current value. */
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

/* ---- access ---- */

/* The place of a pool always has access, and a pool of a device grants none to the host. */
static cudaError_t validate_access(const acu_sim_pool *pool, const struct cudaMemAccessDesc *desc) {
    const acu_sim_memory kind = kind_of(&pool->props);
    const bool is_device = desc->location.type == cudaMemLocationTypeDevice;
    if ((!is_device && (kind == SIM_DEVICE || !is_host(desc->location.type))) ||
        desc->flags == cudaMemAccessFlagsProtRead)
        return cudaErrorNotSupported;
    if (is_device && !acu_sim_device_at(desc->location.id))
        return cudaErrorInvalidDevice;
    if (!acu_sim_knows(&acu_cudart_type_cudaMemAccessFlags, desc->flags))
        return cudaErrorInvalidValue;
    if (desc->flags == cudaMemAccessFlagsProtReadWrite || kind == SIM_MANAGED)
        return cudaSuccess;
    if (is_device && kind == SIM_DEVICE && desc->location.id == pool->device->index)
        return cudaErrorInvalidDevice;
    return is_device ? cudaSuccess : cudaErrorNotSupported;
}

/* Managed memory moves to where it is used. */
bool acu_sim_pool_allows_access(const acu_sim_pool *pool, const acu_sim_device *device) {
    return kind_of(&pool->props) == SIM_MANAGED ||
           pool->access[device->index] != cudaMemAccessFlagsProtNone;
}

cudaError_t acu_sim_cudaMemPoolSetAccess(cudaMemPool_t memPool,
                                         const struct cudaMemAccessDesc *descList, size_t count) {
    acu_sim_pool *pool = pool_of(memPool);
    if (!pool || (count && !descList))
        return cudaErrorInvalidValue;
    for (size_t i = 0; i < count; i++)
        SIM_TRY(validate_access(pool, &descList[i]));
    for (size_t i = 0; i < count; i++)
        if (descList[i].location.type == cudaMemLocationTypeDevice)
            pool->access[descList[i].location.id] = descList[i].flags;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t memPool,
                                         struct cudaMemLocation *location) {
    const acu_sim_pool *pool = pool_of(memPool);
    if (!flags || !pool || !location)
        return cudaErrorInvalidValue;
    if (location->type == cudaMemLocationTypeHost ||
        location->type == cudaMemLocationTypeHostNuma) {
        *flags = kind_of(&pool->props) == SIM_PINNED ? cudaMemAccessFlagsProtReadWrite
                                                     : cudaMemAccessFlagsProtNone;
        return cudaSuccess;
    }
    if (location->type != cudaMemLocationTypeDevice || !acu_sim_device_at(location->id))
        return cudaErrorInvalidValue;
    *flags = pool->access[location->id];
    return cudaSuccess;
}

/* ---- pools of devices ---- */

/* Finds the device of a call, and makes its context. */
static cudaError_t find_device(const void *out, int index, acu_sim_device **device) {
    *device = acu_sim_device_at(index);
    if (!out)
        return cudaErrorInvalidValue;
    if (!*device)
        return cudaErrorInvalidDevice;
    return acu_sim_device_activate(*device);
}

/* Returns a pool to the program; NULL: there was no memory for it. */
static cudaError_t get_pool(acu_sim_pool *pool, cudaMemPool_t *handle) {
    if (!pool)
        return cudaErrorMemoryAllocation;
    *handle = handle_of(pool);
    return cudaSuccess;
}

static cudaError_t set_pool(acu_sim_device *device, cudaMemPool_t handle) {
    acu_sim_pool *pool = pool_of(handle);
    if (!pool || pool->device != device)
        return cudaErrorInvalidValue;
    device->pool = pool;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaDeviceGetDefaultMemPool(cudaMemPool_t *memPool, int device) {
    acu_sim_device *d;
    SIM_TRY(find_device(memPool, device, &d));
    return get_pool(acu_sim_pool_default(d), memPool);
}

cudaError_t acu_sim_cudaDeviceGetMemPool(cudaMemPool_t *memPool, int device) {
    acu_sim_device *d;
    cudaError_t why = find_device(memPool, device, &d);
    if (why == cudaErrorInvalidDevice) /* cudaDeviceGetDefaultMemPool() returns that */
        return cudaErrorInvalidValue;
    if (why)
        return why;
    return get_pool(current_pool(d), memPool);
}

cudaError_t acu_sim_cudaDeviceSetMemPool(int device, cudaMemPool_t memPool) {
    acu_sim_device *d;
    cudaError_t why = find_device(memPool, device, &d);
    if (why)
        return why == cudaErrorInvalidDevice ? cudaErrorInvalidValue : why;
    return set_pool(d, memPool);
}

/* Validates a location and a type of memory; finds the device of the location, and makes its
 * context. The device of other locations is the current one. */
static cudaError_t find_location(const void *out, const struct cudaMemLocation *location,
                                 enum cudaMemAllocationType type, acu_sim_device **device) {
    if (!location || !out)
        return cudaErrorInvalidValue;
    if (!acu_sim_knows(&acu_cudart_type_cudaMemLocationType, location->type) ||
        location->type == cudaMemLocationTypeHostNumaCurrent)
        return cudaErrorNotSupported;
    if (!has_pools(location, type))
        return cudaErrorInvalidValue;
    const bool is_device = location->type == cudaMemLocationTypeDevice;
    *device = is_device ? acu_sim_device_at(location->id) : acu_sim_device_now();
    return acu_sim_device_activate(*device);
}

/* Returns the default pool of a location that find_location() accepted; NULL without memory. */
static acu_sim_pool *default_pool_of(const struct cudaMemLocation *location,
                                     enum cudaMemAllocationType type, acu_sim_device *device) {
    const bool is_managed = type == cudaMemAllocationTypeManaged;
    if (location->type != cudaMemLocationTypeDevice)
        return default_pool(&other_pools[location->type][is_managed], device, location->type, type);
    return is_managed ? default_pool(&device->managed_default_pool, device, location->type, type)
                      : acu_sim_pool_default(device);
}

/* Returns where the pool is kept that the program set for such a location; NULL there: none. */
static acu_sim_pool **set_pool_of(const struct cudaMemLocation *location,
                                  enum cudaMemAllocationType type, acu_sim_device *device) {
    const bool is_managed = type == cudaMemAllocationTypeManaged;
    if (location->type != cudaMemLocationTypeDevice)
        return &set_pools[location->type][is_managed];
    return is_managed ? &device->managed_pool : &device->pool;
}

cudaError_t acu_sim_cudaMemGetDefaultMemPool(cudaMemPool_t *memPool,
                                             struct cudaMemLocation *location,
                                             enum cudaMemAllocationType type) {
    acu_sim_device *d;
    SIM_TRY(find_location(memPool, location, type, &d));
    return get_pool(default_pool_of(location, type, d), memPool);
}

cudaError_t acu_sim_cudaMemGetMemPool(cudaMemPool_t *memPool, struct cudaMemLocation *location,
                                      enum cudaMemAllocationType type) {
    acu_sim_device *d;
    SIM_TRY(find_location(memPool, location, type, &d));
    acu_sim_pool **set = set_pool_of(location, type, d);
    return get_pool(*set ? *set : default_pool_of(location, type, d), memPool);
}

cudaError_t acu_sim_cudaMemSetMemPool(struct cudaMemLocation *location,
                                      enum cudaMemAllocationType type, cudaMemPool_t memPool) {
    acu_sim_device *d;
    acu_sim_pool *pool = pool_of(memPool);
    if (!pool)
        return cudaErrorInvalidValue;
    SIM_TRY(find_location(memPool, location, type, &d));
    if (pool->props.allocType != type || pool->props.location.type != location->type ||
        (location->type == cudaMemLocationTypeDevice && pool->device != d))
        return cudaErrorInvalidValue;
    *set_pool_of(location, type, d) = pool;
    return cudaSuccess;
}

/* ---- sharing ---- */

/* No pool has a type of handle (validate_props()), so no pool can be exported. */
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
    if (!memPool || !shareableHandle || flags || handleType == cudaMemHandleTypeNone ||
        !acu_sim_knows(&acu_cudart_type_cudaMemAllocationHandleType, handleType))
        return cudaErrorInvalidValue;
    return cudaErrorNotSupported;
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
