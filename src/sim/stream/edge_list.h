/* A list of edges: nodes, each with the data of the edge from or to it. */
#ifndef ACU_SIM_STREAM_EDGE_LIST_H
#define ACU_SIM_STREAM_EDGE_LIST_H

#include "sim/sim.h"

/* All zero is an empty list. */
typedef struct acu_sim_edge_list {
    cudaGraphNode_t *nodes;
    cudaGraphEdgeData *data;
    size_t count, room;
    size_t gap; /* unused elements before the first one, which are part of `room` */
} acu_sim_edge_list;

/* Appends an edge; returns false without memory. */
bool acu_sim_edge_list_add(acu_sim_edge_list *list, cudaGraphNode_t node, cudaGraphEdgeData data);
/* Appends the edges that the list lacks; returns false without memory. `data` is NULL for plain
 * edges. */
bool acu_sim_edge_list_merge(acu_sim_edge_list *list, const cudaGraphNode_t *nodes,
                             const cudaGraphEdgeData *data, size_t count);
/* Returns the index of an edge, or `count` where the list lacks it. */
size_t acu_sim_edge_list_find(const acu_sim_edge_list *list, cudaGraphNode_t node,
                              cudaGraphEdgeData data);
/* Returns whether the data of the edges at an index differ. */
bool acu_sim_edge_list_differ(const acu_sim_edge_list *a, const acu_sim_edge_list *b, size_t i);
/* Removes the edge at an index and keeps the order of the others; an index of `count` removes
 * nothing. */
void acu_sim_edge_list_remove(acu_sim_edge_list *list, size_t at);
/* Frees the memory of the list, which is empty then. */
void acu_sim_edge_list_clear(acu_sim_edge_list *list);

#endif
