/* Semaphores of other APIs. */
#ifndef ACU_SIM_MEMORY_EXTERNAL_SEMAPHORE_H
#define ACU_SIM_MEMORY_EXTERNAL_SEMAPHORE_H

#include "sim/sim.h"

void acu_sim_semaphores_reset(const acu_sim_device *device);
int acu_sim_semaphores_leaks(int print);

/* What signals semaphores of other APIs, or waits for them. */
cudaError_t acu_sim_semaphores_op(const struct cudaGraphNodeParams *params, acu_sim_op **op);
void acu_sim_semaphores_describe(const acu_sim_op *op, struct cudaGraphNodeParams *params);
unsigned acu_sim_semaphores_count(const acu_sim_op *op);

/* A graph's wait begins: `mark` is done when it is over, perhaps at once. */
void acu_sim_semaphores_await(acu_sim_op *wait, acu_sim_op *mark);

#endif
