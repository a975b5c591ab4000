/* Conditional nodes, and the values that decide which of their graphs run. */
#ifndef ACU_SIM_GRAPH_CONDITIONAL_H
#define ACU_SIM_GRAPH_CONDITIONAL_H

#include "sim/sim.h"

/* A value that decides which graphs of a conditional node run. */
typedef struct acu_sim_condition {
    cudaGraphConditionalHandle handle;
    unsigned start; /* the value at the beginning of a launch, where `assigned` */
    unsigned value; /* the current value; used in executable graphs only */
    bool assigned;  /* each launch begins by setting `value` to `start` */
    bool used;      /* a node of the graph has the handle */
} acu_sim_condition;

/* Returns the value of a handle; NULL if the outermost graph `root` has no such handle. */
acu_sim_condition *acu_sim_condition_of(const acu_sim_graph *root,
                                        cudaGraphConditionalHandle handle);
/* Replaces the values of a graph by copies of another graph's; returns false without memory. */
bool acu_sim_conditions_copy(acu_sim_graph *to, const acu_sim_graph *from);
/* Makes the operation of a conditional node. */
cudaError_t acu_sim_conditional_op(const struct cudaConditionalNodeParams *params,
                                   acu_sim_graph *graph, acu_sim_op **op);

/* Makes the empty graphs of a new conditional node, which from then on uses the handle, and writes
 * where they are to `params`. */
cudaError_t acu_sim_conditional_embed(acu_sim_node *node, struct cudaConditionalNodeParams *params);
/* Writes the parameters of a conditional node to `params`; the node owns their list of graphs. */
void acu_sim_conditional_describe(const acu_sim_node *node,
                                  struct cudaConditionalNodeParams *params);

/* Returns whether conditional nodes permit the instantiation of a node: a node inside of one must
 * be of a type that CUDA allows there, and a conditional node must have a valid handle. */
bool acu_sim_conditional_can_instantiate(const acu_sim_node *node);
/* Returns whether a graph, or a graph in its nodes, has a conditional node or a handle for one. */
bool acu_sim_graph_has_conditions(const acu_sim_graph *graph);

/* Sets the values to their defaults, because a launch begins. */
void acu_sim_conditions_start(const acu_sim_graph *root);
/* Returns the current value of a handle. Takes the lock, which the caller must not hold. */
unsigned acu_sim_condition_value(const acu_sim_graph *root, cudaGraphConditionalHandle handle);

/* Returns whether a GPU has memory for a conditional handle of that number, be it one of the graph
 * or not. Takes the lock. */
bool acu_sim_condition_can_be_set(const acu_sim_graph *root, uint32_t handle);

#endif
