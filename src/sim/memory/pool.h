/* Pools of stream-ordered memory. */
#ifndef ACU_SIM_MEMORY_POOL_H
#define ACU_SIM_MEMORY_POOL_H

#include "sim/noun.h"
#include "sim/sim.h"

/* Returns the default pool of the device, which is made at the first call; NULL without memory. */
acu_sim_pool *acu_sim_pool_default(acu_sim_device *device);

/* Takes an allocation out of the pool's counts. The pool may be gone afterwards. */
void acu_sim_pool_record_free(acu_sim_pool *pool, size_t size);

/* Returns whether the program granted the device access to the pool. Access of devices to each
 * other does not matter for pools. */
bool acu_sim_pool_allows_access(const acu_sim_pool *pool, const acu_sim_device *device);

/* Does what every synchronisation does: pools give back what they hold above their thresholds. */
void acu_sim_pools_trim(void);

extern const acu_sim_noun acu_sim_pool_noun;

#endif
