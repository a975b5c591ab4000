/* The budget of a device's memory, and the callbacks that hear when it is exceeded. */
#ifndef ACU_SIM_MEMORY_BUDGET_H
#define ACU_SIM_MEMORY_BUDGET_H

#include "sim/noun.h"
#include "sim/sim.h"

/* Notifies the callbacks of a device if the bytes that were just taken of its memory made it exceed
 * the budget. */
void acu_sim_budget_look(const acu_sim_device *device, uint64_t taken);

extern const acu_sim_noun acu_sim_budget_noun;

#endif
