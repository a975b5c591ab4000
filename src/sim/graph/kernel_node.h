/* Kernel nodes. */
#ifndef ACU_SIM_GRAPH_KERNEL_NODE_H
#define ACU_SIM_GRAPH_KERNEL_NODE_H

#include "sim/sim.h"

/* Makes the operation of a kernel node. `old` is the operation that the node had before, from which
 * the new one takes attributes and context; NULL for a new node. */
cudaError_t acu_sim_kernel_node_op(const struct cudaKernelNodeParamsV2 *params,
                                   const acu_sim_op *old, acu_sim_op **op);
/* Writes the parameters of a kernel node to `params`; the operation owns what they point at. */
void acu_sim_kernel_node_describe(const acu_sim_op *op, struct cudaKernelNodeParamsV2 *params);

/* Gives a captured kernel launch the priority of its stream, unless the launch named one. */
cudaError_t acu_sim_kernel_node_set_captured_priority(acu_sim_node *node, int priority);
/* Returns the data of the edge to a captured kernel launch: programmatic where the launch has the
 * attribute for that and `from` is a kernel, too; else all zero. */
cudaGraphEdgeData acu_sim_kernel_node_edge(const acu_sim_node *from, const acu_sim_op *to);

/* ---- nodes that kernels change: cudaLaunchAttributeDeviceUpdatableKernelNode ---- */

/* Returns the handle by which kernels change the node; NULL if they cannot. */
cudaGraphDeviceNode_t acu_sim_kernel_node_device_handle(const acu_sim_node *node);
/* Returns whether any node ever had the handle. */
bool acu_sim_kernel_node_gave_handle(cudaGraphDeviceNode_t handle);
/* Returns whether kernels can change a node of the graph, or of graphs in its nodes. */
bool acu_sim_graph_is_updatable(const acu_sim_graph *graph);
/* Returns the node, of the graph or of graphs in its nodes, that kernels change by this handle;
 * by any for NULL. */
acu_sim_node *acu_sim_graph_find_updatable(const acu_sim_graph *graph,
                                           cudaGraphDeviceNode_t handle);
/* Gives the updatable nodes operations of their own, so that changing them changes no other graph.
 * False without memory. */
bool acu_sim_graph_own_updatable(acu_sim_graph *graph);

#endif
