/* Edges between nodes. */
#ifndef ACU_SIM_GRAPH_EDGE_H
#define ACU_SIM_GRAPH_EDGE_H

#include "sim/sim.h"

/* Adds an edge to both of its nodes; returns false without memory. */
bool acu_sim_edge_add(acu_sim_node *from, acu_sim_node *to, cudaGraphEdgeData data);
/* Removes all edges from and to a node. */
void acu_sim_edge_remove_all(acu_sim_node *node);
/* Returns whether the data of an edge are all zero: the edge is a full dependency. */
bool acu_sim_edge_is_plain(cudaGraphEdgeData data);

/* Returns whether CUDA allows an edge with such data. `to` is NULL while the node that the edge
 * leads to is not yet made. */
cudaError_t acu_sim_edge_validate(const acu_sim_node *from, const acu_sim_node *to,
                                  cudaGraphEdgeData data);

/*
 * Returns all nodes of a graph, each behind those that it depends on, in a list that the caller
 * frees; NULL without memory. `odd` is NULL unless the edges make a cycle: then the list is
 * incomplete, and `odd` is a node in the cycle or behind it. Uses the field `degree` of the nodes.
 */
acu_sim_node **acu_sim_graph_order(acu_sim_graph *graph, acu_sim_node **odd);

#endif
