/* Memory that graphs allocate and free. */
#ifndef ACU_SIM_GRAPH_GRAPH_MEMORY_H
#define ACU_SIM_GRAPH_GRAPH_MEMORY_H

#include "sim/noun.h"
#include "sim/graph/plan.h"

/* Make the operation of a node that allocates memory, which has no address before
 * acu_sim_graph_memory_place(), and of one that frees the memory at an address. */
cudaError_t acu_sim_graph_memory_alloc_op(struct cudaMemAllocNodeParams *params,
                                          acu_sim_graph *graph, acu_sim_op **op);
cudaError_t acu_sim_graph_memory_free_op(void *address, acu_sim_graph *graph, acu_sim_op **op);

/* Gives the allocation of a node an address, which depends on what the graph frees before that
 * node; does nothing to other nodes, or if the allocation has had one. */
cudaError_t acu_sim_graph_memory_place(acu_sim_node *node);

/* Returns whether an operation is a node's that allocates or frees memory. */
bool acu_sim_graph_memory_is_op(const acu_sim_op *op);
/* Returns the parameters of the allocation that such an operation makes or frees. */
struct cudaMemAllocNodeParams acu_sim_allocation_params(const acu_sim_op *op);

/* Gives the allocations of a graph that is moved into a node to the outermost graph there. */
void acu_sim_allocations_move(const acu_sim_graph *from, const acu_sim_graph *to);

/*
 * Records that the steps of a launch allocate and free memory: for the program that holds from the
 * call on. Returns why the launch is refused, and then records nothing. With `auto_free` a launch
 * may allocate what an earlier one allocated and nobody freed.
 */
cudaError_t acu_sim_graph_memory_launch(const acu_sim_step *steps, size_t count, bool auto_free);

/* Returns the error of what a graph does not support that has memory, and says why: `so` is what
 * follows, as "it cannot be cloned". */
cudaError_t acu_sim_graph_refuse_memory(const char *so);

/* Returns whether a graph, or a graph in its nodes, allocates or frees memory. */
bool acu_sim_graph_has_memory(const acu_sim_graph *graph);

extern const acu_sim_noun acu_sim_graph_memory_noun;

#endif
