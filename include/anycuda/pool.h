/*
 * Pools: where stream-ordered memory comes from, and goes back to.
 *
 * Several threads may use a pool at once, and retain and release it.
 */
#ifndef ACU_POOL_H
#define ACU_POOL_H

#include <stdint.h>

#include <anycuda/device.h>

struct CUmemPoolHandle_st; /* what CUDA calls cudaMemPool_t and CUmemoryPool */

ACU_BEGIN_C

/** A pool of device memory. */
typedef struct acu_pool acu_pool;

/** How a pool is made; all zero is what CUDA does by default. */
typedef struct acu_pool_options {
    size_t max_size;    /* bytes; 0: as many as there are; any other since CUDA 12.2 */
    uint64_t threshold; /* bytes that are not given back to the device at a synchronisation */
    unsigned handles;   /* how it can be shared: 0 not, 1 file descriptor, 8 fabric handle */
} acu_pool_options;

/** Makes a pool of the device's memory, which the caller owns; `options` may be NULL. */
ACU_CHECKED acu_result acu_pool_create(acu_device device, const acu_pool_options *options,
                                       acu_pool **pool);

/** Makes a handle for the pool that the device came with; the caller owns the handle. */
ACU_CHECKED acu_result acu_pool_get_default(acu_device device, acu_pool **pool);

/**
 * Makes a handle for the device's current pool, from which memory comes where no pool is named; the
 * caller owns the handle.
 */
ACU_CHECKED acu_result acu_pool_get_current(acu_device device, acu_pool **pool);

/**
 * Makes a pool the current one of its device; the pool must live until another one takes its place.
 */
ACU_CHECKED acu_result acu_pool_set_current(acu_pool *pool);

/**
 * Makes a handle for a raw pool that stays someone else's; the caller owns the handle.
 *
 * The last release leaves the raw pool alone. The raw pool must live until the handle is released.
 */
ACU_CHECKED acu_result acu_pool_wrap(acu_device device, struct CUmemPoolHandle_st *raw,
                                     acu_pool **pool);

/** Makes a handle that owns a raw pool: the last release destroys both. */
ACU_CHECKED acu_result acu_pool_adopt(acu_device device, struct CUmemPoolHandle_st *raw,
                                      acu_pool **pool);

/**
 * Returns the cudaMemPool_t, which is also a CUmemoryPool; NULL where the handle is not a pool. The
 * raw pool stays the handle's.
 */
struct CUmemPoolHandle_st *acu_pool_raw(const acu_pool *pool);

/** Adds an owner and returns the pool; NULL where the handle is not a pool. */
acu_pool *acu_pool_retain(acu_pool *pool);

/**
 * Takes an owner away; the last release destroys the pool. A buffer from the pool is an owner, too.
 * Everything else is as for acu_stream_release().
 */
acu_result acu_pool_release(acu_pool *pool);

void acu_pool_cleanup(acu_pool **pool);

/** Writes one line that names the pool, as errors do; acu_stream_describe() has the rules. */
size_t acu_pool_describe(const acu_pool *pool, char *text, size_t size);

/** Returns the pool's device; ACU_DEVICE_CURRENT where the handle is not a pool. */
acu_device acu_pool_device(const acu_pool *pool);

/** Attributes of a pool, with CUDA's numbers (cudaMemPoolAttr). */
typedef enum acu_pool_attribute {
    ACU_POOL_REUSE_FOLLOWS_EVENTS = 1, /* 0 or 1, like the next two */
    ACU_POOL_REUSE_OPPORTUNISTIC = 2,
    ACU_POOL_REUSE_ADDS_DEPENDENCIES = 3,
    ACU_POOL_THRESHOLD = 4,     /* as acu_pool_options.threshold */
    ACU_POOL_RESERVED = 5,      /* bytes that the pool has; read only */
    ACU_POOL_RESERVED_HIGH = 6, /* the most bytes that it had; only 0 can be set */
    ACU_POOL_USED = 7,          /* bytes that are allocated from it; read only */
    ACU_POOL_USED_HIGH = 8,     /* the most bytes that were; only 0 can be set */

    /* How it was made; read only, since CUDA 13.2. */
    ACU_POOL_ALLOCATION_TYPE = 9, /* a cudaMemAllocationType */
    ACU_POOL_HANDLES = 10,        /* as acu_pool_options.handles */
    ACU_POOL_LOCATION_ID = 11,    /* a device, or a NUMA node of the host */
    ACU_POOL_LOCATION_TYPE = 12,  /* a cudaMemLocationType */
    ACU_POOL_MAX_SIZE = 13,       /* as acu_pool_options.max_size, or what CUDA made of it */
    ACU_POOL_HW_DECOMPRESS = 14,  /* 1: hardware can decompress into its memory */
    ACU_POOL_LOCALITY_DOMAIN = 15 /* the locality domain of its memory; since CUDA 13.4 */
} acu_pool_attribute;

/** Asks for an attribute of the pool. */
ACU_CHECKED acu_result acu_pool_get_attribute(acu_pool *pool, acu_pool_attribute attribute,
                                              uint64_t *value);

/** Sets an attribute of the pool. */
ACU_CHECKED acu_result acu_pool_set_attribute(acu_pool *pool, acu_pool_attribute attribute,
                                              uint64_t value);

/** Gives free memory of the pool back to the device, but keeps at least `keep` bytes. */
ACU_CHECKED acu_result acu_pool_trim(acu_pool *pool, size_t keep);

/** What a device may do with a pool's memory. */
typedef enum acu_access {
    ACU_ACCESS_NONE = 0,
    ACU_ACCESS_READ = 1,
    ACU_ACCESS_READ_WRITE = 3
} acu_access;

/**
 * Sets what a device may do with the pool's memory; the pool's own device may always do everything.
 */
ACU_CHECKED acu_result acu_pool_set_access(acu_pool *pool, acu_device device, acu_access access);

/** Asks what a device may do with the pool's memory. */
ACU_CHECKED acu_result acu_pool_get_access(acu_pool *pool, acu_device device, acu_access *access);

ACU_END_C

#endif
