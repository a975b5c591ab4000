/* Pools of stream-ordered memory. */
#ifndef ACU_SIM_MEMORY_POOL_H
#define ACU_SIM_MEMORY_POOL_H

#include "sim/sim.h"

/* The default pool; NULL if there is no memory for it. */
acu_sim_pool *acu_sim_pool_default(acu_sim_device *device);

/* A range of the pool was freed, at the call; what was dropped, in stream order. */
void acu_sim_pool_record_free(acu_sim_pool *pool, size_t size);

/* Its memory is shown to that device; what devices show to each other does not matter here. */
bool acu_sim_pool_allows_access(const acu_sim_pool *pool, const acu_sim_device *device);

/* What synchronising does: pools give back what they hold above their thresholds. */
void acu_sim_pools_trim(void);
void acu_sim_pools_reset(acu_sim_device *device);
int acu_sim_pools_leaks(int print);

/* From the current pool of the stream's device if `handle` is NULL. A whole call. */
cudaError_t acu_sim_pool_alloc_async(void **at, size_t size, cudaMemPool_t *handle,
                                     cudaStream_t stream, const void *where);

#endif
