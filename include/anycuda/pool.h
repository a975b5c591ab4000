/*
 * Pools: where stream-ordered memory comes from, and goes back to.
 *
 * Pools may be used by several threads.
 */
#ifndef ACU_POOL_H
#define ACU_POOL_H

#include <stdint.h>

#include <anycuda/device.h>

struct CUmemPoolHandle_st; /* what CUDA calls cudaMemPool_t and CUmemoryPool */

ACU_BEGIN_C

/** Where stream-ordered memory comes from. */
typedef struct acu_pool acu_pool;

/** How a pool is made; zero is what CUDA does by default. */
typedef struct acu_pool_options {
    size_t max_size;    /* 0: as much as there is; else since CUDA 12.2 */
    uint64_t threshold; /* bytes that it keeps rather than gives back at a synchronisation */
    unsigned handles; /* what it can be shared by: 0 nothing, 1 file descriptor, 8 fabric handle */
} acu_pool_options;

/** Makes a pool of the device's memory; the caller owns it. `options` may be NULL. */
ACU_CHECKED acu_result acu_pool_create(acu_device device, const acu_pool_options *options,
                                       acu_pool **pool);

/** The pool that the device came with, as a handle that the caller releases. */
ACU_CHECKED acu_result acu_pool_get_default(acu_device device, acu_pool **pool);

/** The pool that is allocated from where none is named, as a handle that the caller releases. */
ACU_CHECKED acu_result acu_pool_get_current(acu_device device, acu_pool **pool);

/** Makes a pool the one that its device allocates from; it must live until another takes its place.
 */
ACU_CHECKED acu_result acu_pool_set_current(acu_pool *pool);

/** A handle for a pool of someone else, which must live as long and is not destroyed with it. */
ACU_CHECKED acu_result acu_pool_wrap(acu_device device, struct CUmemPoolHandle_st *raw,
                                     acu_pool **pool);

/** Like acu_pool_wrap(), but takes the raw pool over. */
ACU_CHECKED acu_result acu_pool_adopt(acu_device device, struct CUmemPoolHandle_st *raw,
                                      acu_pool **pool);

/** The cudaMemPool_t, which is a CUmemoryPool, too; it stays the handle's. NULL if it is no pool.
 */
struct CUmemPoolHandle_st *acu_pool_raw(const acu_pool *pool);

/** One more owner; returns the pool, NULL if it is none. */
acu_pool *acu_pool_retain(acu_pool *pool);

/** One owner less; the last one, buffers count as such, destroys it. As acu_stream_release(). */
acu_result acu_pool_release(acu_pool *pool);

void acu_pool_cleanup(acu_pool **pool);

/** Its device; ACU_DEVICE_CURRENT if it is no pool. */
acu_device acu_pool_device(const acu_pool *pool);

/** Attributes of a pool, with CUDA's numbers (cudaMemPoolAttr). */
typedef enum acu_pool_attribute {
    ACU_POOL_REUSE_FOLLOWS_EVENTS = 1, /* 0 or 1, as the next two */
    ACU_POOL_REUSE_OPPORTUNISTIC = 2,
    ACU_POOL_REUSE_ADDS_DEPENDENCIES = 3,
    ACU_POOL_THRESHOLD = 4,     /* bytes that it keeps rather than gives back */
    ACU_POOL_RESERVED = 5,      /* bytes that it has; read only */
    ACU_POOL_RESERVED_HIGH = 6, /* the most it had; only 0 can be set */
    ACU_POOL_USED = 7,          /* bytes that are allocated from it; read only */
    ACU_POOL_USED_HIGH = 8      /* the most there were; only 0 can be set */
} acu_pool_attribute;

/** An attribute of the pool. */
ACU_CHECKED acu_result acu_pool_get_attribute(acu_pool *pool, acu_pool_attribute attribute,
                                              uint64_t *value);

/** Sets an attribute of the pool. */
ACU_CHECKED acu_result acu_pool_set_attribute(acu_pool *pool, acu_pool_attribute attribute,
                                              uint64_t value);

/** Gives memory back to the device that is free in the pool, but keeps at least `keep` bytes. */
ACU_CHECKED acu_result acu_pool_trim(acu_pool *pool, size_t keep);

/** What a device may do with a pool's memory. */
typedef enum acu_access {
    ACU_ACCESS_NONE = 0,
    ACU_ACCESS_READ = 1,
    ACU_ACCESS_READ_WRITE = 3
} acu_access;

/** Says what a device may do with the pool's memory; its own device always may do all. */
ACU_CHECKED acu_result acu_pool_set_access(acu_pool *pool, acu_device device, acu_access access);

/** What a device may do with the pool's memory. */
ACU_CHECKED acu_result acu_pool_get_access(acu_pool *pool, acu_device device, acu_access *access);

ACU_END_C

#endif
