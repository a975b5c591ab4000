/*
 * Graphs as the rest of the safe layer sees them.
 *
 * A child graph and the body of a conditional node are parts of a graph. A part has a handle of its
 * own, which belongs to the whole graph, its `root`: the root counts the owners, and keeps the
 * objects that nodes of its parts use.
 *
 * One lock for all graphs, acu_graph_lock(), is held around each of CUDA's calls on a graph or a
 * node, because CUDA connects graphs with each other: a clone with its original, and a child graph
 * with its copy in a node. (On GPUs, cudaGraphDestroy() of a clone crashes while another thread
 * adds to the original.) Locks are taken in this order: the lock of all graphs, the lock of an
 * exec, a graph's `kept_lock`.
 */
#ifndef ACU_SRC_GRAPH_H
#define ACU_SRC_GRAPH_H

#include <anycuda/graph.h>

#include "safe/base/object.h"
#include "safe/graph/kept.h"

#include <pthread.h>

/* What is known of a node, and CUDA does not know. */
typedef struct acu_node_note {
    char *name; /* allocated; NULL: none */
    bool timed; /* `time` is set */
    acu_node_time time;
} acu_node_note;

struct acu_graph {
    acu_object object;
    cudaGraph_t raw;        /* NULL: lost, or not captured yet */
    bool owned;             /* the raw graph is destroyed with the handle */
    acu_graph *root;        /* the graph itself unless it is a part */
    uint32_t salt;          /* the upper half of its nodes' ids, which no other graph has */
    acu_graph *parent;      /* of a part: the graph that has the node `within`; else NULL */
    cudaGraphNode_t within; /* of a part: the node that the part is in */
    acu_graph *next;        /* of a part: the root's next part */
    int condition;          /* of a body: 1 + its node's acu_conditional_type; else 0 */
    cudaGraphNode_t *nodes; /* the nodes with an id, by its lower half - 1; NULL: destroyed */
    uint32_t node_count, node_room;
    uint32_t *slots;      /* a hash table of 2 * node_room: index + 1 into `nodes` */
    acu_node_note *notes; /* of the first `note_room` of `nodes`; of the others nothing is noted */
    uint32_t note_room;
    acu_graph_time time; /* no replays: not profiled */
    /* The fields below are used in a root only: */
    pthread_mutex_t kept_lock;
    acu_kept_set *kept;   /* what the graph keeps alive; under kept_lock */
    uint32_t kept_number; /* the last number that acu_graph_keep() gave a list */
    acu_graph *parts;     /* a list, linked by `next` */
    unsigned capturing;   /* atomic: captures into the graph or its parts */
    bool updatable;       /* kernels may change a node: launches upload before; under the lock */
};

extern const acu_class acu_graph_class;

/* Take and give up the lock of all graphs. */
void acu_graph_lock(void);
void acu_graph_unlock(void);

/* ---- life ---- */

/* Makes a handle without a raw graph. NULL, and a failure recorded for `call`, without memory. */
acu_graph *acu_graph_new(const char *call);
/* Makes a handle for a part of the parent; the root does not know it yet. NULL as acu_graph_new().
 */
acu_graph *acu_graph_new_part(const char *call, acu_graph *parent);
/* Gives the part to its root, under the lock. */
void acu_graph_add_part(acu_graph *part, cudaGraph_t raw, cudaGraphNode_t within);
/* Frees a part that no root has; NULL is fine. */
void acu_graph_discard_part(acu_graph *part);
/* Releases the parts in a node, and the parts in their nodes, under the lock; in all nodes of the
 * graph if `within` is NULL. */
void acu_graph_release_parts(acu_graph *graph, cudaGraphNode_t within);

/* Returns 0, or ACU_ERROR_CAPTURE, recorded, while a stream is captured into the graph. */
int acu_graph_check_uncaptured(const char *call, const acu_graph *graph);

/* Makes a copy for the public function `call`, as acu_graph_clone() does. */
int acu_graph_clone_for(const char *call, acu_graph *graph, acu_graph **clone);

/* ---- what it keeps ---- */

/* Returns the set with a reference for the caller. The caller holds the lock of all graphs. */
acu_kept_set *acu_graph_kept_set(acu_graph *graph);
/* Makes room for one more list, so that acu_graph_replace_kept() cannot fail while the caller holds
 * the lock of all graphs. Returns 0, or a recorded failure. */
int acu_graph_reserve_kept(acu_graph *graph, const acu_kept_list *list);
/* Gives the node another list, whose reference goes to the graph, under the lock of all graphs.
 * Returns the node's list until now, whose reference is the caller's. */
acu_kept_list *acu_graph_replace_kept(acu_graph *graph, uint64_t node, acu_kept_list *list);
/* Keeps a list of objects for as long as the graph lives; its reference goes to the graph. Returns
 * 0, or a recorded failure. Takes the lock of all graphs. */
int acu_graph_keep_list(acu_graph *graph, acu_kept_list *list);
/* Keeps an object that was captured. Returns 0, or a recorded failure. */
int acu_graph_keep_object(acu_graph *graph, acu_object *object, bool writes);

/* ---- ids of its nodes; under the lock ---- */

/* Makes room for so many more ids. False without memory. */
bool acu_graph_reserve_nodes(acu_graph *graph, size_t more);
/* Returns the slot of a raw node, which is 0 if the node has no id yet. There must be room. */
uint32_t *acu_graph_node_slot(const acu_graph *graph, cudaGraphNode_t raw);
/* Forgets all ids, names and times: CUDA has destroyed the nodes. */
void acu_graph_forget_nodes(acu_graph *graph);

/* ---- names and times of its nodes; under the lock ---- */

/* Returns the note of a node, which has an id; NULL, recorded, without memory. */
acu_node_note *acu_graph_make_note(acu_graph *graph, cudaGraphNode_t raw);
/* Returns the note of a node; NULL if nothing is noted. */
const acu_node_note *acu_graph_find_note(const acu_graph *graph, cudaGraphNode_t raw);
/* Gives the nodes of a clone the names that they have in the graph. Returns 0, or a recorded
 * failure. */
int acu_graph_copy_names(const acu_graph *graph, acu_graph *clone);

/* ---- buffers with memory of graphs ---- */

/* Returns 0, or a failure recorded for `call` if no graph has allocated the buffer's memory. */
int acu_graph_check_memory(const char *call, const acu_buffer *buffer);

#endif
