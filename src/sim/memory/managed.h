/* Managed memory. */
#ifndef ACU_SIM_MEMORY_MANAGED_H
#define ACU_SIM_MEMORY_MANAGED_H

#include "sim/sim.h"

/* Returns the managed range that has all of these bytes; NULL if there is none, or no bytes. */
acu_sim_range *acu_sim_managed_range(const void *address, size_t size);

/* Returns the error of bytes that are not all of one managed range, and says why. */
static inline cudaError_t acu_sim_managed_refuse_range(const void *address, size_t size) {
    return SIM_REFUSE(cudaErrorInvalidValue,
                      "not all of the %zu bytes at %p are managed memory of one allocation "
                      "(cudaMallocManaged)",
                      size, address);
}

/* Returns cudaSuccess where managed memory can be prefetched to the location, else the error. */
cudaError_t acu_sim_managed_validate_location(struct cudaMemLocation location);

/* Records where all pages that have some of the bytes were moved to; returns false without memory.
 */
bool acu_sim_managed_move(acu_sim_range *range, const void *address, size_t count,
                          struct cudaMemLocation location);

/* Returns where all pages that have some of the bytes were moved to; no location where they were
 * not, or to several. */
struct cudaMemLocation acu_sim_managed_place(const acu_sim_range *range, const void *address,
                                             size_t count);

#endif
