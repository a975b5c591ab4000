/* Edges between nodes. */
#ifndef ACU_SIM_GRAPH_EDGE_H
#define ACU_SIM_GRAPH_EDGE_H

#include "sim/sim.h"

bool acu_sim_edge_add(acu_sim_node *from, acu_sim_node *to, cudaGraphEdgeData data);
void acu_sim_edge_remove_all(acu_sim_node *node);
bool acu_sim_edge_is_plain(cudaGraphEdgeData data);

/* `to` may be NULL: not known yet. */
cudaError_t acu_sim_edge_validate(const acu_sim_node *from, const acu_sim_node *to,
                                  cudaGraphEdgeData data);

/* All nodes of the graph, each behind those that it depends on; NULL without memory. `odd`: if
 * there is a circle, one behind or in it, and not all are listed. */
acu_sim_node **acu_sim_graph_order(acu_sim_graph *graph, acu_sim_node **odd);

#endif
