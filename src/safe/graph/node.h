/* Nodes as graphs, executable graphs and captures see them. */
#ifndef ACU_SRC_NODE_H
#define ACU_SRC_NODE_H

#include <anycuda/batch.h>
#include <anycuda/node.h>

#include "safe/graph/graph.h"

/* Returns 0 and the raw node, or a failure recorded for `call`. The caller holds no lock. */
int acu_node_check(const char *call, acu_node node, cudaGraphNode_t *raw);
/* Returns the node of a raw one, with a new id if it has none; no node for NULL. The caller holds
 * the lock, and acu_graph_reserve_nodes() has made room. */
acu_node acu_node_from_raw(acu_graph *graph, cudaGraphNode_t raw);
/* Returns the raw node of a handle that is the graph's, under the lock. */
static inline cudaGraphNode_t acu_node_raw_locked(acu_node node) {
    return node.graph->nodes[(uint32_t)node.id - 1];
}
/* Asks for the type; also of nodes that the runtime does not know but the driver does. Returns
 * CUDA's code. */
int acu_node_read_type(cudaGraphNode_t raw, enum cudaGraphNodeType *type);
/* Returns the word for a type of node, with CUDA's number; "unknown" for one that CUDA adds later.
 */
const char *acu_node_type_name(unsigned type);
/* Returns `text` with "kernel node 3", and its name, for messages. Under the lock. The node may be
 * in a part of the graph. */
const char *acu_node_describe(acu_graph *graph, cudaGraphNode_t raw, char text[64]);

/* Under the lock: finds the node's copy in a clone, and the graph in a child node, whose handle is
 * made unless an earlier call did. Return CUDA's code, or a recorded failure. */
int acu_node_find_copy(cudaGraphNode_t raw, acu_graph *clone, acu_node *copy);
int acu_node_find_child(const char *call, acu_graph *graph, cudaGraphNode_t raw, acu_graph **child);

/* ---- lists of nodes and edges ---- */

/* Allocates CUDA's form of the edges, which the caller frees; *made is NULL for none. False without
 * memory. */
bool acu_edge_to_raw(const acu_edge *edges, size_t count, cudaGraphEdgeData **made);
/* Copies what CUDA returned into arrays with `room` elements, or NULL. As acu_node_from_raw(). */
void acu_node_list(acu_graph *graph, const cudaGraphNode_t *raw, size_t count, acu_node *nodes,
                   size_t room);
void acu_edge_list(const cudaGraphEdgeData *raw, size_t count, acu_edge *edges, size_t room);

/* A question whose answer is a list. */
typedef struct acu_node_query {
    const char *call;
    enum {
        ACU_QUERY_NODES,
        ACU_QUERY_ROOT_NODES,
        ACU_QUERY_EDGES,
        ACU_QUERY_DEPENDENCIES,
        ACU_QUERY_DEPENDENT_NODES
    } about;
    acu_graph *graph;
    cudaGraphNode_t node; /* of the last two */
    acu_node *from, *to;  /* the answer; `to` for edges only; NULL if not wanted */
    acu_edge *edges;      /* NULL if not wanted */
    size_t *count;        /* the room, then how many there are */
} acu_node_query;
/* Answers the question. Returns 0, or a failure recorded for its call. */
int acu_node_answer(const acu_node_query *query);
/* Answers it under the lock, which the caller holds, for a graph that is one. Returns CUDA's code,
 * or a recorded failure. */
int acu_node_answer_locked(const acu_node_query *query);

/* ---- parameters ---- */

/* Asks for the node's parameters, under the lock. Returns CUDA's code. */
int acu_node_read_params(cudaGraphNode_t node, struct cudaGraphNodeParams *params);

/* The parameters of a copy or a fill, for CUDA, and the objects that the node keeps alive. */
typedef struct acu_node_params {
    int device; /* must be current for the call; -1: any */
    union {
        struct {
            void *to;
            const void *from;
            size_t bytes;
            enum cudaMemcpyKind kind;
        } copy;
        struct cudaMemsetParams fill;
    };
    unsigned count;
    acu_object_use keeps[2];
} acu_node_params;

/* Check a copy or a fill and write its parameters. Return 0, or a failure recorded for `call`. */
int acu_node_params_of_copy(const char *call, const acu_copy *copy, acu_node_params *params);
int acu_node_params_of_fill(const char *call, const acu_fill *fill, acu_node_params *params);

/* The parameters of a node with many copies, and the objects that the node keeps alive. */
typedef struct acu_node_copies {
    int device; /* must be current for the call */
    struct cudaGraphNodeParams params;
    acu_object_use *keeps;
    size_t keep_count;
    void *memory; /* with all arrays */
} acu_node_copies;

/* Checks the copies and writes their parameters, for acu_node_copies_free(). Returns 0, or a
 * failure recorded for `call`; then there is nothing to free. */
int acu_node_copies_make(const char *call, const acu_copy *copies, size_t count,
                         const acu_copy_attributes *attributes, size_t attribute_count,
                         acu_node_copies *made);
void acu_node_copies_free(acu_node_copies *copies);

/* Gives the failure that is recorded next a hint, if CUDA refused a copy between devices with this
 * code. NULL is no copy. */
void acu_node_hint_at_copy(const acu_copy *copy, int code);

#endif
