/* Which pool a place has by default, and which the program chose for it. */
#include "sim/memory/default_pool.h"

#include "sim/device/device.h"
#include "sim/memory/pool.h"

/* The default pools of memory of no device, and those that the program set: by the location's type,
 * and whether the memory is managed. */
static acu_sim_pool *other_pools[cudaMemLocationTypeHostNumaCurrent][2];
static acu_sim_pool *set_pools[cudaMemLocationTypeHostNumaCurrent][2];

/* Returns a default pool, which is made when it is first asked for; NULL without memory. */
static acu_sim_pool *default_pool(acu_sim_pool **pool, acu_sim_device *device,
                                  enum cudaMemLocationType location,
                                  enum cudaMemAllocationType type) {
    const struct cudaMemPoolProps props = {
        .allocType = type,
        .location = {.type = location,
                     .id = location == cudaMemLocationTypeDevice ? device->index : 0}};
    if (!*pool)
        *pool = acu_sim_pool_new(device, &props, NULL);
    return *pool;
}

acu_sim_pool *acu_sim_pool_default(acu_sim_device *device) {
    return default_pool(&device->default_pool, device, cudaMemLocationTypeDevice,
                        cudaMemAllocationTypePinned);
}

acu_sim_pool *acu_sim_pool_current(acu_sim_device *device) {
    return device->pool ? device->pool : acu_sim_pool_default(device);
}

static void forget(acu_sim_pool **pool) {
    if (!acu_sim_pool_of(acu_sim_pool_handle(*pool)))
        *pool = NULL;
}

void acu_sim_pool_forget(acu_sim_device *device) {
    forget(&device->pool);
    forget(&device->default_pool);
    forget(&device->managed_pool);
    forget(&device->managed_default_pool);
    for (size_t i = 0; i < sizeof other_pools / sizeof **other_pools; i++) {
        forget(&other_pools[i / 2][i % 2]);
        forget(&set_pools[i / 2][i % 2]);
    }
}

/* ---- of a device ---- */

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
    *handle = acu_sim_pool_handle(pool);
    return cudaSuccess;
}

static cudaError_t set_pool(acu_sim_device *device, cudaMemPool_t handle) {
    acu_sim_pool *pool = acu_sim_pool_own(handle);
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
    return get_pool(acu_sim_pool_current(d), memPool);
}

cudaError_t acu_sim_cudaDeviceSetMemPool(int device, cudaMemPool_t memPool) {
    acu_sim_device *d;
    cudaError_t why = find_device(memPool, device, &d);
    if (why)
        return why == cudaErrorInvalidDevice ? cudaErrorInvalidValue : why;
    return set_pool(d, memPool);
}

/* ---- of any place ---- */

/* Validates a location and a type of memory; finds the device of the location, and makes its
 * context. The device of other locations is the current one. */
static cudaError_t find_location(const void *out, const struct cudaMemLocation *location,
                                 enum cudaMemAllocationType type, acu_sim_device **device) {
    if (!location || !out)
        return cudaErrorInvalidValue;
    if (!acu_sim_knows(&acu_cudart_type_cudaMemLocationType, location->type) ||
        location->type == cudaMemLocationTypeHostNumaCurrent)
        return cudaErrorNotSupported;
    if (!acu_sim_pool_exists_at(location, type))
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
    acu_sim_pool *pool = acu_sim_pool_own(memPool);
    if (!pool)
        return cudaErrorInvalidValue;
    SIM_TRY(find_location(memPool, location, type, &d));
    if (pool->props.allocType != type || pool->props.location.type != location->type ||
        (location->type == cudaMemLocationTypeDevice && pool->device != d))
        return cudaErrorInvalidValue;
    *set_pool_of(location, type, d) = pool;
    return cudaSuccess;
}
