/* Semaphores of other APIs (graphics), which the program imports, signals and waits for. */
#ifndef ACU_SIM_MEMORY_EXTERNAL_SEMAPHORE_H
#define ACU_SIM_MEMORY_EXTERNAL_SEMAPHORE_H

#include "sim/noun.h"
#include "sim/sim.h"

/* Validates what signals semaphores, or waits for them, and makes the operation of a node of it,
 * which the caller owns. */
cudaError_t acu_sim_semaphores_op(const struct cudaGraphNodeParams *params, acu_sim_op **op);
/* Writes the parameters of the node, whose arrays stay the operation's. */
void acu_sim_semaphores_describe(const acu_sim_op *op, struct cudaGraphNodeParams *params);
/* Returns the number of semaphores of the operation. */
unsigned acu_sim_semaphores_count(const acu_sim_op *op);

/* Begins the wait of a graph: `mark` is finished when the wait is over, perhaps at once. */
void acu_sim_semaphores_await(acu_sim_op *wait, acu_sim_op *mark);

extern const acu_sim_noun acu_sim_external_semaphore_noun;

#endif
