/*
 * Zones behind allocations, which show writes behind their end, and reports of uses after free:
 * with guard=1 in ANYCUDA_SIM. Without it these functions do nothing.
 */
#ifndef ACU_SIM_MEMORY_GUARD_H
#define ACU_SIM_MEMORY_GUARD_H

#include "sim/noun.h"
#include "sim/sim.h"

/* Returns the bytes of the zone that must lie behind an allocation of device memory; 0 without
 * guard=1. */
size_t acu_sim_guard_size(void);

/* Maps host memory between two pages that fault; NULL without memory. */
void *acu_sim_guard_map(size_t size);
/* Makes the memory fault. Its addresses stay taken until enough other memory was freed. */
void acu_sim_guard_unmap(void *at, size_t size);

/* Writes the pattern behind a range that was allocated. */
void acu_sim_guard_begin(const acu_sim_range *range);
/* Checks the pattern of a range that is freed, and remembers the range. */
void acu_sim_guard_end(acu_sim_range *range);
/* Checks the patterns of all ranges, and reports each damaged one once. */
void acu_sim_guard_check(void);

/* Reports a use after free if the address, which is in no range, is in one that was freed. */
void acu_sim_guard_explain(const void *address);

extern const acu_sim_noun acu_sim_guard_noun;

#endif
