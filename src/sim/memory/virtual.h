/* Virtual memory management. */
#ifndef ACU_SIM_MEMORY_VIRTUAL_H
#define ACU_SIM_MEMORY_VIRTUAL_H

#include "sim/sim.h"

bool acu_sim_virtual_is_reserved(const void *address);

/* Unmaps and releases all memory of a device; for NULL that of all devices, and the addresses,
 * which a device's reset leaves to the program. */
void acu_sim_virtual_reset(const acu_sim_device *device);
int acu_sim_virtual_leaks(int print);

#endif
