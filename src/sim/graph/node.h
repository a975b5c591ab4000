/* Nodes of graphs. */
#ifndef ACU_SIM_GRAPH_NODE_H
#define ACU_SIM_GRAPH_NODE_H

#include "sim/stream/capture.h"
#include "sim/stream/edge_list.h"

/* CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: only the driver has a name for this type. */
#define SIM_NODE_VALUES 12

struct acu_sim_node {
    acu_sim_graph *graph;
    unsigned id; /* the index in `nodes` of the graph; the same in copies of the graph */
    unsigned long long tools_id;     /* no other node has had it */
    acu_sim_op *op;                  /* the work of the node */
    bool disabled;                   /* in an executable graph only: the node is not run */
    acu_sim_edge_list before, after; /* edges to this node, and from it */
    unsigned long long last_since;   /* which of the nodes that no other depends on came to be one
                                      * later has a larger number */
    acu_sim_graph **bodies;          /* the graphs that the node owns: one of a child graph node */
    unsigned body_count;
    uint64_t mark;      /* of the last walk through the graph that met the node */
    size_t degree;      /* for walks: edges not yet followed, or the node's last step in a plan */
    acu_sim_node *pair; /* in an update: the corresponding node of the other graph; or NULL */
};

/* Returns the node of a handle; NULL if there is none, or if an executable graph has it. */
acu_sim_node *acu_sim_node_of(cudaGraphNode_t handle);
cudaGraphNode_t acu_sim_node_handle(acu_sim_node *node);

/* Adds a node without edges to a graph; NULL without memory. The node owns the operation, which is
 * released also where there is no memory. */
acu_sim_node *acu_sim_node_new(acu_sim_graph *graph, acu_sim_op *op);

/* Notes that no other node depends on the node any more. */
void acu_sim_node_becomes_last(acu_sim_node *node);

/* Leaves the next id of a graph without a node; returns false without memory. */
bool acu_sim_graph_skip_id(acu_sim_graph *graph);
/* Frees a node and its graphs. The caller has removed the edges from the other nodes, or frees
 * these, too. */
void acu_sim_node_free(acu_sim_node *node);

/* Gives a graph to a node, which owns it from then on; returns false without memory. */
bool acu_sim_node_embed(acu_sim_node *node, acu_sim_graph *body);

/* Returns a mark that no node has yet, for a walk through a graph. */
uint64_t acu_sim_node_new_mark(void);

/* Returns an error unless all handles are nodes of the graph, and may have such edges to a new
 * node. A node may be there twice only with `repeats`. `data` is NULL for plain edges. */
cudaError_t acu_sim_nodes_validate(const acu_sim_graph *graph, const cudaGraphNode_t *nodes,
                                   const cudaGraphEdgeData *data, size_t count, bool repeats);

/* Do what the calls for all types of nodes share: add a node, read its parameters, change them. A
 * node whose type is not `type` is refused. */
cudaError_t acu_sim_node_add(cudaGraphNode_t *node, cudaGraph_t graph,
                             const cudaGraphNode_t *dependencies, const cudaGraphEdgeData *data,
                             size_t count, struct cudaGraphNodeParams *params);
cudaError_t acu_sim_node_get_params(cudaGraphNode_t node, enum cudaGraphNodeType type,
                                    struct cudaGraphNodeParams *params);
cudaError_t acu_sim_node_set_params(cudaGraphNode_t node, const struct cudaGraphNodeParams *params);

/* Makes an operation that a node can have instead of its own; child graph nodes have none such. */
cudaError_t acu_sim_node_make_op(const acu_sim_node *node, const struct cudaGraphNodeParams *params,
                                 acu_sim_op **op);
/* Writes the parameters of a node to `params`; the node owns what they point at. */
void acu_sim_node_describe(const acu_sim_node *node, struct cudaGraphNodeParams *params);

#endif
