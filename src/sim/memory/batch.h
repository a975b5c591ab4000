/* Batches of copies, as calls and as nodes. */
#ifndef ACU_SIM_MEMORY_BATCH_H
#define ACU_SIM_MEMORY_BATCH_H

#include "sim/sim.h"

/* Copies in one node. */
cudaError_t acu_sim_batch_op(const struct cudaMemcpyBatchNodeParams *params, acu_sim_op **op);
void acu_sim_batch_describe(const acu_sim_op *op, struct cudaMemcpyBatchNodeParams *params);

/* An instance's node can do the other instead. */
bool acu_sim_batch_fits(const acu_sim_op *from, const acu_sim_op *to);

#endif
