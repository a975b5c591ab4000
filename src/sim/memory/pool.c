/*
 * Pools: what they have and count, their attributes, and who has access.
 *
 * What is used and reserved is counted when a call is made, as a driver plans it. Each
 * synchronisation gives back what a pool holds above its threshold.
 */
#include "sim/memory/pool.h"

#include "sim/caller.h"
#include "sim/device/device.h"
#include "sim/memory/default_pool.h"
#include "sim/memory/memory.h"
#include "sim/memory/shared_pool.h"
#include "sim/set.h"

#include <stdlib.h>

enum { CHUNK = 32 << 20 }; /* bytes by which a pool grows */

static acu_sim_pool *pools;
static acu_sim_set handles;

/* ---- life ---- */

acu_sim_memory acu_sim_pool_kind(const acu_sim_pool *pool) {
    if (pool->props.allocType == cudaMemAllocationTypeManaged)
        return SIM_MANAGED;
    return pool->props.location.type == cudaMemLocationTypeDevice ? SIM_DEVICE : SIM_PINNED;
}

bool acu_sim_pool_is_host(enum cudaMemLocationType type) {
    return type == cudaMemLocationTypeHost || type == cudaMemLocationTypeHostNuma ||
           type == cudaMemLocationTypeHostNumaCurrent;
}

acu_sim_pool *acu_sim_pool_new(acu_sim_device *device, const struct cudaMemPoolProps *props,
                               const void *where) {
    acu_sim_pool *pool = calloc(1, sizeof *pool);
    if (!pool || !acu_sim_set_add(&handles, pool)) {
        free(pool);
        return NULL;
    }
    pool->device = device;
    pool->props = *props;
    pool->where = where;
    if (acu_sim_pool_kind(pool) == SIM_DEVICE)
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
    if (acu_sim_pool_kind(pool) == SIM_DEVICE)
        pool->device->used -= pool->reserved;
    acu_sim_pool_view_release(pool->view);
    free(pool);
}

void acu_sim_pool_drop(acu_sim_pool *pool) {
    free_pool(pool);
}

acu_sim_pool *acu_sim_pool_next(const acu_sim_pool *pool) {
    return pool ? pool->next : pools;
}

acu_sim_pool *acu_sim_pool_of(cudaMemPool_t handle) {
    acu_sim_pool *pool = (acu_sim_pool *)(void *)handle;
    return acu_sim_set_has(&handles, pool) ? pool : NULL;
}

cudaMemPool_t acu_sim_pool_handle(acu_sim_pool *pool) {
    return (cudaMemPool_t)(void *)pool;
}

static void reset_device(acu_sim_device *device) {
    acu_sim_pool *next;
    for (acu_sim_pool *pool = pools; pool; pool = next) {
        next = pool->next;
        if (pool->device == device)
            free_pool(pool);
    }
    acu_sim_pool_forget(device);
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

/* ---- what is used and reserved ---- */

bool acu_sim_pool_reserve(acu_sim_pool *pool, size_t size) {
    const uint64_t rounded = acu_sim_memory_rounded(size);
    uint64_t needed = pool->taken + rounded;
    if (needed < rounded || (pool->props.maxSize && needed > pool->props.maxSize)) {
        acu_record_reason("of the pool's maxSize of %zu bytes %llu are taken, and %zu more are "
                          "needed",
                          pool->props.maxSize, (unsigned long long)pool->taken, size);
        return false;
    }
    if (needed <= pool->reserved)
        return true;
    if (acu_sim_pool_kind(pool) != SIM_DEVICE) {
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

/* Gives back whole chunks, down to `keep` bytes, but not below what is used. */
static void shrink(acu_sim_pool *pool, uint64_t keep) {
    if (keep < pool->taken)
        keep = pool->taken;
    if (keep > UINT64_MAX - CHUNK)
        return;
    keep = (keep + CHUNK - 1) / CHUNK * CHUNK;
    if (pool->reserved <= keep)
        return;
    if (acu_sim_pool_kind(pool) == SIM_DEVICE)
        pool->device->used -= pool->reserved - keep;
    pool->reserved = keep;
}

void acu_sim_pools_trim(void) {
    for (acu_sim_pool *pool = pools; pool; pool = pool->next)
        shrink(pool, pool->threshold);
}

void acu_sim_pool_record_alloc(acu_sim_pool *pool, size_t size) {
    pool->live++;
    pool->used += size;
    pool->taken += acu_sim_memory_rounded(size);
    if (pool->used_high < pool->used)
        pool->used_high = pool->used;
    if (pool->reserved_high < pool->reserved)
        pool->reserved_high = pool->reserved;
}

void acu_sim_pool_record_free(acu_sim_pool *pool, size_t size) {
    pool->used -= pool->imported ? 0 : size;
    pool->taken -= pool->imported ? 0 : acu_sim_memory_rounded(size);
    pool->live--;
    if (pool->destroyed && !pool->live)
        free_pool(pool);
}

/* ---- creating and destroying ---- */

bool acu_sim_pool_exists_at(const struct cudaMemLocation *location,
                            enum cudaMemAllocationType type) {
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

/* Of the handles for other processes there are descriptors only, as the attributes of the device
 * say; of larger numbers than 9 none names a handle. */
static cudaError_t validate_handles(enum cudaMemAllocationHandleType types) {
    const unsigned file = cudaMemHandleTypePosixFileDescriptor, fabric = cudaMemHandleTypeFabric;
    if ((types & ~(file | fabric)) != 0)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "handleTypes is %u, and handles of Windows do not exist here",
                          (unsigned)types);
    return types & fabric ? SIM_REFUSE(cudaErrorNotPermitted,
                                       "this process may not make fabric handles: there is no "
                                       "channel for them")
                          : cudaSuccess;
}

static cudaError_t validate_props(const struct cudaMemPoolProps *props) {
    if (!props)
        return SIM_REFUSE(cudaErrorInvalidValue, "poolProps is NULL");
    if (!acu_sim_knows(&acu_cudart_type_cudaMemLocationType, props->location.type))
        return cudaErrorNotSupported;
    if (!acu_sim_pool_exists_at(&props->location, props->allocType))
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "there is no place of type %d with id %d for a pool, or allocType is "
                          "neither pinned nor managed",
                          (int)props->location.type, props->location.id);
    return validate_handles(props->handleTypes);
}

cudaError_t acu_sim_cudaMemPoolCreate(cudaMemPool_t *memPool,
                                      const struct cudaMemPoolProps *poolProps) {
    if (!memPool)
        return SIM_REFUSE(cudaErrorInvalidValue, "there is no place for the pool: it is NULL");
    SIM_TRY(validate_props(poolProps));
    acu_sim_device *device = poolProps->location.type == cudaMemLocationTypeDevice
                                 ? acu_sim_device_at(poolProps->location.id)
                                 : acu_sim_device_now();
    SIM_TRY(acu_sim_device_activate(device));
    acu_sim_pool *pool = acu_sim_pool_new(device, poolProps, SIM_CALLER);
    if (pool && poolProps->handleTypes && !acu_sim_pool_view_new(pool)) {
        free_pool(pool);
        pool = NULL;
    }
    if (!pool)
        return cudaErrorMemoryAllocation;
    *memPool = acu_sim_pool_handle(pool);
    return cudaSuccess;
}

static cudaError_t refuse_handle(cudaMemPool_t handle) {
    return SIM_REFUSE(cudaErrorInvalidValue, "%p is no pool: it was destroyed, or never created",
                      (void *)handle);
}

acu_sim_pool *acu_sim_pool_own(cudaMemPool_t handle) {
    acu_sim_pool *pool = acu_sim_pool_of(handle);
    if (!pool)
        (void)refuse_handle(handle);
    else if (pool->imported)
        (void)SIM_REFUSE(cudaErrorInvalidValue,
                         "pool %p is another process's, which alone changes it and allocates",
                         (void *)handle);
    return pool && !pool->imported ? pool : NULL;
}

/* The pool's allocations stay until they are freed. */
cudaError_t acu_sim_cudaMemPoolDestroy(cudaMemPool_t memPool) {
    acu_sim_pool *pool = acu_sim_pool_of(memPool);
    if (!pool || !pool->where)
        return pool ? SIM_REFUSE(cudaErrorInvalidValue, "a default pool cannot be destroyed")
                    : refuse_handle(memPool);
    if (pool->imported && pool->live)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the pool is another process's, and %zu allocations of it are open: free "
                          "them first",
                          pool->live);
    if (pool->imported > 1) {
        pool->imported--;
        return cudaSuccess;
    }
    pool->destroyed = true;
    acu_sim_set_remove(&handles, pool);
    acu_sim_pool_forget(pool->device);
    if (!pool->live)
        free_pool(pool);
    return cudaSuccess;
}

cudaError_t acu_sim_cudaMemPoolTrimTo(cudaMemPool_t memPool, size_t minBytesToKeep) {
    acu_sim_pool *pool = acu_sim_pool_own(memPool);
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
    const acu_sim_pool *pool = acu_sim_pool_own(memPool);
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
    acu_sim_pool *pool = acu_sim_pool_own(memPool);
    if (!pool)
        return cudaErrorInvalidValue;
    if (!value)
        return SIM_REFUSE(cudaErrorInvalidValue, "the address of the value is NULL");
    return set_attribute(pool, attr, value);
}

/* ---- access ---- */

/* The place of a pool always has access, and a pool of a device grants none to the host. */
static cudaError_t validate_access(const acu_sim_pool *pool, const struct cudaMemAccessDesc *desc) {
    const acu_sim_memory kind = acu_sim_pool_kind(pool);
    const bool is_device = desc->location.type == cudaMemLocationTypeDevice;
    if ((!is_device && (kind == SIM_DEVICE || !acu_sim_pool_is_host(desc->location.type))) ||
        desc->flags == cudaMemAccessFlagsProtRead)
        return SIM_REFUSE(cudaErrorNotSupported,
                          "a pool grants no read-only access, and a pool of a device grants "
                          "access to devices only");
    if (is_device && !acu_sim_device_at(desc->location.id))
        return cudaErrorInvalidDevice;
    if (!acu_sim_knows(&acu_cudart_type_cudaMemAccessFlags, desc->flags))
        return cudaErrorInvalidValue;
    if (desc->flags == cudaMemAccessFlagsProtReadWrite || kind == SIM_MANAGED)
        return cudaSuccess;
    if (is_device && kind == SIM_DEVICE && desc->location.id == pool->device->index)
        return SIM_REFUSE(cudaErrorInvalidDevice,
                          "the access of device %d to its own pool cannot be taken back",
                          desc->location.id);
    return is_device ? cudaSuccess
                     : SIM_REFUSE(cudaErrorNotSupported,
                                  "the access of the host to a pool of host memory cannot be "
                                  "taken back");
}

/* Managed memory moves to where it is used. */
bool acu_sim_pool_allows_access(const acu_sim_pool *pool, const acu_sim_device *device) {
    return acu_sim_pool_kind(pool) == SIM_MANAGED ||
           pool->access[device->index] != cudaMemAccessFlagsProtNone;
}

cudaError_t acu_sim_cudaMemPoolSetAccess(cudaMemPool_t memPool,
                                         const struct cudaMemAccessDesc *descList, size_t count) {
    acu_sim_pool *pool = acu_sim_pool_of(memPool);
    if (!pool)
        return refuse_handle(memPool);
    if (count && !descList)
        return SIM_REFUSE(cudaErrorInvalidValue, "descList is NULL, and count is %zu", count);
    for (size_t i = 0; i < count; i++)
        SIM_TRY(validate_access(pool, &descList[i]));
    for (size_t i = 0; i < count; i++)
        if (descList[i].location.type == cudaMemLocationTypeDevice)
            pool->access[descList[i].location.id] = descList[i].flags;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t memPool,
                                         struct cudaMemLocation *location) {
    const acu_sim_pool *pool = acu_sim_pool_of(memPool);
    if (!flags || !pool || !location)
        return cudaErrorInvalidValue;
    if (location->type == cudaMemLocationTypeHost ||
        location->type == cudaMemLocationTypeHostNuma) {
        *flags = acu_sim_pool_kind(pool) == SIM_PINNED ? cudaMemAccessFlagsProtReadWrite
                                                       : cudaMemAccessFlagsProtNone;
        return cudaSuccess;
    }
    if (location->type != cudaMemLocationTypeDevice || !acu_sim_device_at(location->id))
        return cudaErrorInvalidValue;
    *flags = pool->access[location->id];
    return cudaSuccess;
}
