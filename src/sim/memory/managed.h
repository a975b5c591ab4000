/* Managed memory. */
#ifndef ACU_SIM_MEMORY_MANAGED_H
#define ACU_SIM_MEMORY_MANAGED_H

#include "sim/sim.h"

/* Returns the managed range that has all of these bytes; NULL if there is none, or no bytes. */
acu_sim_range *acu_sim_managed_range(const void *address, size_t size);

/* Returns cudaSuccess where managed memory can be prefetched to the location, else the error. */
cudaError_t acu_sim_managed_validate_location(struct cudaMemLocation location);

#endif
