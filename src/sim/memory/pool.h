/* Pools of memory that is allocated and freed in the order of streams. */
#ifndef ACU_SIM_MEMORY_POOL_H
#define ACU_SIM_MEMORY_POOL_H

#include "sim/memory/range.h"
#include "sim/noun.h"
#include "sim/sim.h"

typedef struct acu_sim_pool_view acu_sim_pool_view;

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
    acu_sim_pool_view *view; /* of a pool that processes share: its bytes; NULL of any other */
    bool exported;           /* the program has asked for a descriptor */
    unsigned imported;       /* how often it was imported here; 0: this process made the pool */
    bool destroyed;          /* the program destroyed the pool; the last free frees it */
    const void *where;       /* where the program made the pool; NULL: a default pool */
    acu_sim_pool *next, *before;
};

/* ---- life ---- */

/* Makes a pool; NULL without memory. `where`: where the program made it; NULL: a default pool. */
acu_sim_pool *acu_sim_pool_new(acu_sim_device *device, const struct cudaMemPoolProps *props,
                               const void *where);

/* Frees a pool that nobody has seen. */
void acu_sim_pool_drop(acu_sim_pool *pool);
/* Returns the pool behind one, or with NULL the first; NULL at the end. */
acu_sim_pool *acu_sim_pool_next(const acu_sim_pool *pool);

/* Returns the pool of a handle; NULL if there is no such pool. */
acu_sim_pool *acu_sim_pool_of(cudaMemPool_t handle);
/* Returns the pool of a handle that this process made; NULL, with the reason for the caller's
 * cudaErrorInvalidValue, if there is none, or another process has the pool. */
acu_sim_pool *acu_sim_pool_own(cudaMemPool_t handle);
cudaMemPool_t acu_sim_pool_handle(acu_sim_pool *pool);

/* Returns whether there are pools of the type at the location. CUDA looks at the number of a device
 * and of a NUMA node, of which the simulated host has one; managed memory needs no location. */
bool acu_sim_pool_exists_at(const struct cudaMemLocation *location,
                            enum cudaMemAllocationType type);

/* ---- what a pool has ---- */

/* Returns what kind of memory the pool has. */
acu_sim_memory acu_sim_pool_kind(const acu_sim_pool *pool);
/* Returns whether such a place is on the host. */
bool acu_sim_pool_is_host(enum cudaMemLocationType type);

/* Makes room in the pool for an allocation: whole chunks, or, where that is too much, what is
 * needed. Returns false if there is not so much memory. */
bool acu_sim_pool_reserve(acu_sim_pool *pool, size_t size);
/* Counts an allocation, for which there is room. */
void acu_sim_pool_record_alloc(acu_sim_pool *pool, size_t size);
/* Takes an allocation out of the pool's counts. The pool may be gone afterwards. */
void acu_sim_pool_record_free(acu_sim_pool *pool, size_t size);

/* Returns whether the program granted the device access to the pool. Access of devices to each
 * other does not matter for pools. */
bool acu_sim_pool_allows_access(const acu_sim_pool *pool, const acu_sim_device *device);

/* Does what every synchronisation does: pools give back what they hold above their thresholds. */
void acu_sim_pools_trim(void);

extern const acu_sim_noun acu_sim_pool_noun;

#endif
