/* Nodes that wait for values in memory, or write them. */
#ifndef ACU_SIM_GRAPH_VALUE_NODE_H
#define ACU_SIM_GRAPH_VALUE_NODE_H

#include <anycuda/cuda.h>

#include "sim/graph/plan.h"

/* Values in memory that a node waits for, and writes, in its order; each is an operation. The
 * driver's parameters are where the runtime's union is. */
cudaError_t acu_sim_values_op(const struct cudaGraphNodeParams *params, acu_sim_op **op);
void acu_sim_values_describe(const acu_sim_op *op, struct cudaGraphNodeParams *params);
acu_sim_op *const *acu_sim_values_each(const acu_sim_op *op, unsigned *count);
bool acu_sim_values_wait(const acu_sim_op *op);

/* All their memory is there, so that the launch may begin. */
bool acu_sim_values_have_places(const acu_sim_plan *plan);

/* An instance's node can do the other instead; it is the same. */
bool acu_sim_values_fit(const acu_sim_op *from, const acu_sim_op *to);
bool acu_sim_values_are(const acu_sim_op *a, const acu_sim_op *b);

/* Gives the stream what it is to wait for and to write: one after the other, or in a capture as one
 * node. All are judged before the first is done. */
cudaError_t acu_sim_values_submit(acu_sim_stream *stream,
                                  const CUDA_BATCH_MEM_OP_NODE_PARAMS *params);
/* The parameters of a node that does this; NULL: of no list. */
struct cudaGraphNodeParams acu_sim_values_params(const CUDA_BATCH_MEM_OP_NODE_PARAMS *values);

#endif
