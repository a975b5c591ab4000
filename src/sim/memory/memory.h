/* Memory of devices and of the host: allocating it and giving it back. */
#ifndef ACU_SIM_MEMORY_MEMORY_H
#define ACU_SIM_MEMORY_MEMORY_H

#include "sim/sim.h"

void acu_sim_memory_drop_context(const acu_sim_context *context);

/* Device memory at a new address; charges nothing. NULL if there is no room. */
acu_sim_range *acu_sim_memory_new_range(acu_sim_device *device, size_t size);

/* Takes the range out and drops what is in it. */
void acu_sim_memory_free_range(acu_sim_range *range);

/* Takes part of the device's memory; false if it is not there. */
bool acu_sim_memory_charge(acu_sim_device *device, uint64_t bytes);

/*
 * Who copies or fills, begins under the lock and ends outside it. Who gives bytes to the system
 * waits for all such first, also for those of devices and contexts whose work is not waited for;
 * none begins while the lock is held, and later ones find no memory.
 */
void acu_sim_memory_move_begin(void);
void acu_sim_memory_move_end(void);
void acu_sim_memory_wait_for_moves(void);
size_t acu_sim_memory_rounded(size_t size);        /* what an allocation takes */
void acu_sim_memory_reset(acu_sim_device *device); /* all of it; NULL: of all devices */

/* For a variable of a module: zeroed device memory, or managed memory. */
cudaError_t acu_sim_memory_variable_new(acu_sim_context *context, size_t size, bool managed,
                                        void **at);
void acu_sim_memory_variable_free(void *at);
int acu_sim_memory_leaks(int print);

#endif
