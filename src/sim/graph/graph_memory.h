/* Memory that graphs allocate and free. */
#ifndef ACU_SIM_GRAPH_GRAPH_MEMORY_H
#define ACU_SIM_GRAPH_GRAPH_MEMORY_H

#include "sim/graph/plan.h"

/* A node's that allocates, which says where; or frees what another allocates. */
cudaError_t acu_sim_graph_memory_alloc_op(struct cudaMemAllocNodeParams *params,
                                          acu_sim_graph *graph, acu_sim_op **op);
cudaError_t acu_sim_graph_memory_free_op(void *address, acu_sim_graph *graph, acu_sim_op **op);

void acu_sim_allocations_reset(const acu_sim_device *device);
bool acu_sim_graph_memory_is_op(const acu_sim_op *op);
struct cudaMemAllocNodeParams acu_sim_allocation_params(const acu_sim_op *op);

/* What was the one graph's is the other's. */
void acu_sim_allocations_move(const acu_sim_graph *from, const acu_sim_graph *to);

/* What a launch does to the program's memory from the call on; or why it cannot be. */
cudaError_t acu_sim_graph_memory_launch(const acu_sim_step *steps, size_t count, bool auto_free);

/* Allocates or frees, or something in its nodes does. */
bool acu_sim_graph_has_memory(const acu_sim_graph *graph);

#endif
