/* Kernel nodes. */
#ifndef ACU_SIM_GRAPH_KERNEL_NODE_H
#define ACU_SIM_GRAPH_KERNEL_NODE_H

#include "sim/sim.h"

/* Kernels' part of it. `old`: what the node did before; may be NULL. */
cudaError_t acu_sim_kernel_node_op(const struct cudaKernelNodeParamsV2 *params,
                                   const acu_sim_op *old, acu_sim_op **op);

/* What a launch says that is captured: its priority, and how it follows the kernels before it. */
cudaError_t acu_sim_kernel_node_captured(acu_sim_node *node, int priority);
cudaGraphEdgeData acu_sim_kernel_node_edge(const acu_sim_node *from, const acu_sim_op *to);
void acu_sim_kernel_node_describe(const acu_sim_op *op, struct cudaKernelNodeParamsV2 *params);

#endif
