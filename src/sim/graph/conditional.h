/* Conditional nodes and the values that decide them. */
#ifndef ACU_SIM_GRAPH_CONDITIONAL_H
#define ACU_SIM_GRAPH_CONDITIONAL_H

#include "sim/sim.h"

/* A value that conditional nodes look at. */
typedef struct acu_sim_condition {
    cudaGraphConditionalHandle handle;
    unsigned start, value; /* value: an instance's */
    bool assigned;         /* the start is the value at each launch */
    bool used;             /* by a node */
} acu_sim_condition;

/* NULL if the graph has no such handle. */
acu_sim_condition *acu_sim_condition_of(const acu_sim_graph *root,
                                        cudaGraphConditionalHandle handle);
bool acu_sim_conditions_copy(acu_sim_graph *to, const acu_sim_graph *from);
cudaError_t acu_sim_conditional_op(const struct cudaConditionalNodeParams *params,
                                   acu_sim_graph *graph, acu_sim_op **op);

/* Makes the node's graphs, and says where they are. */
cudaError_t acu_sim_conditional_embed(acu_sim_node *node, struct cudaConditionalNodeParams *params);
void acu_sim_conditional_describe(const acu_sim_node *node,
                                  struct cudaConditionalNodeParams *params);

/* What can be instantiated: a node in a conditional one's graphs, a conditional one. */
bool acu_sim_conditional_takes(const acu_sim_node *node);
bool acu_sim_graph_has_conditions(const acu_sim_graph *graph);

/* A launch begins. */
void acu_sim_conditions_start(const acu_sim_graph *root);
unsigned acu_sim_condition_value(const acu_sim_graph *root, cudaGraphConditionalHandle handle);

#endif
