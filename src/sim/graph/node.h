/* Nodes of graphs. */
#ifndef ACU_SIM_GRAPH_NODE_H
#define ACU_SIM_GRAPH_NODE_H

#include "sim/stream/capture.h"
#include "sim/stream/edge_list.h"

/* A type that only the driver has a name for: CU_GRAPH_NODE_TYPE_BATCH_MEM_OP. */
#define SIM_NODE_VALUES 12

struct acu_sim_node {
    acu_sim_graph *graph;
    unsigned id; /* its place in the graph; the same in copies */
    unsigned long long tools_id;
    acu_sim_op *op;
    bool disabled; /* of an instance */
    acu_sim_edge_list before, after;
    acu_sim_graph **bodies; /* its own: of a child graph node one */
    unsigned body_count;
    uint64_t mark; /* scratch of walks */
    size_t degree;
    acu_sim_node *pair; /* the node of another graph that it becomes like */
};

acu_sim_node *acu_sim_node_of(cudaGraphNode_t handle);
cudaGraphNode_t acu_sim_node_handle(acu_sim_node *node);

/* Takes the operation; NULL without memory. */
acu_sim_node *acu_sim_node_new(acu_sim_graph *graph, acu_sim_op *op);

/* Leaves the place of a node empty. */
bool acu_sim_graph_skip(acu_sim_graph *graph);
void acu_sim_node_free(acu_sim_node *node);

/* Gives it a graph of its own. */
bool acu_sim_node_embed(acu_sim_node *node, acu_sim_graph *body);

/* What no node is marked with yet. */
uint64_t acu_sim_node_new_mark(void);

/* They are nodes of the graph, none twice. */
cudaError_t acu_sim_nodes_validate(const acu_sim_graph *graph, const cudaGraphNode_t *nodes,
                                   const cudaGraphEdgeData *data, size_t count);

/* Whole calls. `type`: what the node must be. */
cudaError_t acu_sim_node_add(cudaGraphNode_t *node, cudaGraph_t graph,
                             const cudaGraphNode_t *dependencies, const cudaGraphEdgeData *data,
                             size_t count, struct cudaGraphNodeParams *params);
cudaError_t acu_sim_node_get_params(cudaGraphNode_t node, enum cudaGraphNodeType type,
                                    struct cudaGraphNodeParams *params);
cudaError_t acu_sim_node_set_params(cudaGraphNode_t node, const struct cudaGraphNodeParams *params);

/* Inside of a call: other work for the node. */
cudaError_t acu_sim_node_make_op(const acu_sim_node *node, const struct cudaGraphNodeParams *params,
                                 acu_sim_op **op);
void acu_sim_node_describe(const acu_sim_node *node, struct cudaGraphNodeParams *params);

#endif
