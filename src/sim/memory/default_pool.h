/* Which pool a place has by default, and which the program chose for it. */
#ifndef ACU_SIM_MEMORY_DEFAULT_POOL_H
#define ACU_SIM_MEMORY_DEFAULT_POOL_H

#include "sim/sim.h"

/* Returns the default pool of the device, which is made at the first call; NULL without memory. */
acu_sim_pool *acu_sim_pool_default(acu_sim_device *device);

/* Returns the pool that cudaMallocAsync() allocates from; NULL without memory. */
acu_sim_pool *acu_sim_pool_current(acu_sim_device *device);

/* Forgets the pools of the device, and of places that are no device, that are gone. */
void acu_sim_pool_forget(acu_sim_device *device);

#endif
