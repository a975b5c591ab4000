/*
 * Graphs as the rest of the safe layer sees them.
 *
 * Child graphs and bodies are parts of a graph: handles of their own, which it owns, while owners
 * are counted and objects kept at the whole, `root`.
 *
 * One lock for all graphs is held around CUDA's calls on them: what is done to one concerns others,
 * since CUDA keeps a clone and its original connected, and a child and its copy in a node. (On GPUs
 * cudaGraphDestroy() of a clone crashes while another thread adds to the original.) `kept_lock`,
 * taken last, is held around the kept. Where an exec's lock is needed, too, it comes between them.
 */
#ifndef ACU_SRC_GRAPH_H
#define ACU_SRC_GRAPH_H

#include <anycuda/exec.h>
#include <anycuda/graph.h>

#include "safe/graph/kept.h"
#include "safe/memory/storage.h"

struct acu_graph {
    acu_object object;
    cudaGraph_t raw;
    bool owned;
    acu_graph *root;   /* itself, if it is no part */
    uint32_t salt;     /* no other graph has it: the upper half of its nodes' ids */
    acu_graph *parent; /* the graph whose node it is in, and that node; NULL if it is no part */
    cudaGraphNode_t within;
    acu_graph *next; /* of the root's parts */
    /* Nodes that have an id, by its lower half; NULL: destroyed. */
    cudaGraphNode_t *nodes;
    uint32_t node_count, node_room;
    uint32_t *slots; /* hashed: index + 1 into `nodes`; twice as many as there is room */
    /* Of the root: */
    pthread_mutex_t kept_lock;
    acu_kept_set *kept;
    uint32_t given; /* by acu_graph_keep(): these have numbers instead of nodes */
    acu_graph *parts;
    unsigned capturing; /* atomic: captures into the graph or its parts */
};

extern const acu_class acu_graph_class;

/* A graph without a raw one yet; or a part: its owner is the root. */
acu_graph *acu_graph_new(const char *call);
acu_graph *acu_graph_new_part(const char *call, acu_graph *parent);
/* The part becomes known, or is forgotten. */
void acu_graph_add_part(acu_graph *part, cudaGraph_t raw, cudaGraphNode_t within);
void acu_graph_discard_part(acu_graph *part);

void acu_graph_lock(void);
void acu_graph_unlock(void);

/* Room for `more` nodes; false without memory. */
bool acu_graph_reserve_nodes(acu_graph *graph, size_t more);
/* All are gone. */
void acu_graph_forget_nodes(acu_graph *graph);
/* The node's handle, a new one if it has none yet; there must be room. */
acu_node acu_node_from_raw(acu_graph *graph, cudaGraphNode_t raw);
/* The raw node of a live handle; else NULL, and the failure is recorded in the name of `call`.
 * Needs no lock of the caller, and holds none afterwards. */
int acu_node_check(const char *call, acu_node node, cudaGraphNode_t *raw);

/* Shares what the graph keeps, under the graph's lock: who has room in the kept there, is alone
 * with it until he gives. */
acu_kept_set *acu_graph_kept_set(acu_graph *graph);
/* Room for what a node uses, and that it uses it; under the lock. The list is taken, what was is
 * returned. */
int acu_graph_reserve_kept(acu_graph *graph, const acu_kept_list *list);
acu_kept_list *acu_graph_replace_kept(acu_graph *graph, uint64_t node, acu_kept_list *list);
/* Keeps what is captured. */
int acu_graph_keep_object(acu_graph *graph, acu_object *object, bool writes);

/* 0, or ACU_ERROR_CAPTURE. */
int acu_graph_check_uncaptured(const char *call, const acu_graph *graph);

int acu_node_read_type(cudaGraphNode_t raw, enum cudaGraphNodeType *type);

/* "kernel node 3": for messages about a node, which may be in a part. */
const char *acu_node_describe(acu_graph *graph, cudaGraphNode_t raw, char text[64]);

/* Makes CUDA's edge data; *made is NULL of none. False without memory; the caller frees it. */
bool acu_edge_to_raw(const acu_edge *edges, size_t count, cudaGraphEdgeData **made);
/* An answer about nodes, as far as there is room; frees nothing. */
void acu_node_list(acu_graph *graph, const cudaGraphNode_t *raw, size_t count, acu_node *nodes,
                   size_t room);
void acu_edge_list(const cudaGraphEdgeData *raw, size_t count, acu_edge *edges, size_t room);

/* ---- parameters, for nodes and for execs -------------------------------------------------------
 */

/* What a node of the kind needs to be told, checked; `count` objects are to be kept. */
typedef struct acu_node_params {
    int device; /* to be made current; -1: any */
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

int acu_node_params_of_copy(const char *call, const acu_copy *copy, acu_node_params *params);
/* Says what to do where CUDA refused a node that copies between devices; returns the code. */
int acu_node_hint_at_copy(const acu_copy *copy, int code);
int acu_node_params_of_fill(const char *call, const acu_fill *fill, acu_node_params *params);

#endif
