/* Nodes and streams that wait for values in memory, or write them. */
#ifndef ACU_SIM_GRAPH_VALUE_NODE_H
#define ACU_SIM_GRAPH_VALUE_NODE_H

#include <anycuda/cuda.h>

#include "sim/graph/plan.h"

/* Makes the operation of a node of type SIM_NODE_VALUES. `params` has the driver's parameters where
 * the runtime's have their union. */
cudaError_t acu_sim_values_op(const struct cudaGraphNodeParams *params, acu_sim_op **op);
/* Writes the parameters of such a node to `params`; the operation owns the list in them. */
void acu_sim_values_describe(const acu_sim_op *op, struct cudaGraphNodeParams *params);
/* Returns the operations, one for each wait or write, that such a node does one after the other;
 * the node's operation owns them. */
acu_sim_op *const *acu_sim_values_each(const acu_sim_op *op, unsigned *count);
/* Returns whether a node waits for a value; else it only writes. */
bool acu_sim_values_have_wait(const acu_sim_op *op);

/* Returns whether all memory that a plan waits for or writes is allocated; else it must not be
 * launched. */
bool acu_sim_values_are_allocated(const acu_sim_plan *plan);

/* Returns whether a node of an executable graph can do `to` instead of `from`; and whether two
 * operations are equal. */
bool acu_sim_values_can_update(const acu_sim_op *from, const acu_sim_op *to);
bool acu_sim_values_are_equal(const acu_sim_op *a, const acu_sim_op *b);

/* Lets a stream wait for values and write them: one after the other, or in a capture as one node.
 * Nothing is done if any of the parameters is invalid. */
cudaError_t acu_sim_values_submit(acu_sim_stream *stream,
                                  const CUDA_BATCH_MEM_OP_NODE_PARAMS *params);
/* Returns the parameters of a node with these values; NULL makes an empty list, which is invalid.
 */
struct cudaGraphNodeParams acu_sim_values_params(const CUDA_BATCH_MEM_OP_NODE_PARAMS *values);

#endif
