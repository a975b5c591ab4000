/* Virtual memory management. */
#ifndef ACU_SIM_MEMORY_VIRTUAL_H
#define ACU_SIM_MEMORY_VIRTUAL_H

#include "sim/noun.h"
#include "sim/sim.h"

bool acu_sim_virtual_is_reserved(const void *address);

extern const acu_sim_noun acu_sim_virtual_noun;

#endif
