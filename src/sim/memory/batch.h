/* Batches: calls, and a node, that copy, prefetch or discard many ranges. */
#ifndef ACU_SIM_MEMORY_BATCH_H
#define ACU_SIM_MEMORY_BATCH_H

#include "sim/sim.h"

/* Validates a batch of copies and makes the operation of a node of it, which the caller owns. */
cudaError_t acu_sim_batch_op(const struct cudaMemcpyBatchNodeParams *params, acu_sim_op **op);
/* Writes the parameters of the node, whose arrays stay the operation's. */
void acu_sim_batch_describe(const acu_sim_op *op, struct cudaMemcpyBatchNodeParams *params);

/* Returns whether a node of an instantiated graph that does `from` can be changed to do `to`. */
bool acu_sim_batch_fits(const acu_sim_op *from, const acu_sim_op *to);

#endif
