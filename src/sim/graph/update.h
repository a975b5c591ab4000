/* Changes of what the nodes of an instance do. */
#ifndef ACU_SIM_GRAPH_UPDATE_H
#define ACU_SIM_GRAPH_UPDATE_H

#include "sim/sim.h"

cudaError_t acu_sim_update_set_params(cudaGraphExec_t exec, cudaGraphNode_t node,
                                      const struct cudaGraphNodeParams *params);

/* Whether the node of an instance can do `to` instead of `from`, and if not, why. */
enum cudaGraphExecUpdateResult acu_sim_update_validate(const acu_sim_op *from,
                                                       const acu_sim_op *to);
/* Makes an instance's graph, or one in its nodes, do what another of the same shape does. */
cudaError_t acu_sim_update_graph(acu_sim_graph *mine, acu_sim_graph *other);

#endif
