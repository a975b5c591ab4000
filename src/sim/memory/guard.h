/* Redzones around allocations, with guard=1 in ANYCUDA_SIM; without it the functions do nothing. */
#ifndef ACU_SIM_MEMORY_GUARD_H
#define ACU_SIM_MEMORY_GUARD_H

#include "sim/sim.h"

/* With guard=1; else they do nothing. How much lies behind an allocation on a device. */
size_t acu_sim_guard_size(void);

/* Host memory. */
void *acu_sim_guard_map(size_t size);
void acu_sim_guard_unmap(void *at, size_t size);

/* A range is the program's from now on, and no longer. */
void acu_sim_guard_begin(const acu_sim_range *range);
void acu_sim_guard_end(acu_sim_range *range);
void acu_sim_guard_check(void);

/* The address is used, and is nobody's. */
void acu_sim_guard_explain(const void *address);
void acu_sim_guard_reset(void);

#endif
