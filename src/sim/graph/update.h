/* Changes of the nodes of executable graphs. */
#ifndef ACU_SIM_GRAPH_UPDATE_H
#define ACU_SIM_GRAPH_UPDATE_H

#include "sim/sim.h"

/* Changes the parameters that a node has in an executable graph. */
cudaError_t acu_sim_update_set_params(cudaGraphExec_t exec, cudaGraphNode_t node,
                                      const struct cudaGraphNodeParams *params);

/* Returns why the node of an executable graph cannot do `to` instead of `from`;
 * cudaGraphExecUpdateSuccess if it can. */
enum cudaGraphExecUpdateResult acu_sim_update_validate(const acu_sim_op *from,
                                                       const acu_sim_op *to);
/* Gives the nodes of an executable graph, or of a graph in its nodes, the work of the corresponding
 * nodes of another graph, which must have the same shape; NULL is refused. */
cudaError_t acu_sim_update_graph(acu_sim_graph *mine, acu_sim_graph *other);

#endif
