/*
 * Graphs.
 *
 * The work of a node is an operation, which copies of the graph share; to change a node is to give
 * it another operation. An executable graph has a copy of the graph that it was made from, and the
 * nodes of the copy have the same ids. A launch does not follow that copy but its plan, which is
 * never changed after it was made; so a launch under way does not see changes of its executable
 * graph.
 */
#ifndef ACU_SIM_GRAPH_GRAPH_H
#define ACU_SIM_GRAPH_GRAPH_H

#include "sim/noun.h"
#include "sim/graph/conditional.h"
#include "sim/graph/user_object.h"

struct acu_sim_graph {
    acu_sim_device *device;
    size_t *uses;          /* how many there are: the graph itself, and each copy of it */
    size_t *original_uses; /* those of the graph that this is a copy of; NULL: of none */
    unsigned id;
    unsigned source;           /* the id of the graph that this is a copy of; 0: of none */
    acu_sim_node **nodes;      /* by id; NULL where a node was destroyed */
    size_t size, room;         /* elements of `nodes`: in use, and allocated */
    size_t count;              /* nodes that exist */
    size_t copied;             /* nodes with a lower id were copied from `source` */
    size_t memory_count;       /* nodes that allocate or free memory */
    bool had_memory;           /* the program tried to add such a node */
    size_t body_count;         /* nodes that have graphs */
    acu_sim_node *parent_node; /* the node that has this graph; NULL: none has */
    bool moved;                /* a child graph that was moved into its node, not copied */
    bool instanced;            /* an executable graph's copy: handles never mean it or its nodes */
    unsigned captures;         /* under way into it or its child graphs, which keep it alive */
    bool doomed;               /* a capture into it failed: it is freed when none is under way */
    acu_sim_condition *conditions; /* of an outermost graph, for the graphs in its nodes, too */
    size_t condition_count;
    acu_sim_keep *keeps; /* references to user objects */
    size_t keep_count;
    const void
        *where; /* where the program made the graph; NULL: it is not the program's to destroy */
    acu_sim_graph *next, *previous;
};

/* Returns the graph of a handle; NULL if there is none, or if an executable graph has it. */
acu_sim_graph *acu_sim_graph_of(cudaGraph_t handle);
/* Returns the error of a handle that has no graph, and says why. */
cudaError_t acu_sim_graph_refuse_handle(cudaGraph_t handle);
cudaGraph_t acu_sim_graph_handle(acu_sim_graph *graph);

/* Returns an empty graph, or a copy with all that is in the nodes; NULL without memory. The caller
 * owns the graph until it publishes it or gives it to a node. */
acu_sim_graph *acu_sim_graph_new(acu_sim_device *device);
acu_sim_graph *acu_sim_graph_copy(const acu_sim_graph *graph);
/* Frees a graph and its nodes; NULL is fine. */
void acu_sim_graph_free(acu_sim_graph *graph);

/* Returns whether a copy of the graph exists: a clone, in a child graph node, or an executable
 * graph. Copies of copies do not count. */
bool acu_sim_graph_has_copies(const acu_sim_graph *graph);
/* Returns an error, and says why, if CUDA copies the graph for the program into no other one. */
cudaError_t acu_sim_graph_may_be_copied(const acu_sim_graph *graph);

/* Gives a graph to the program, which made it at `where`, or takes it back. */
void acu_sim_graph_publish(acu_sim_graph *graph, const void *where);
void acu_sim_graph_withdraw(acu_sim_graph *graph);

/* Returns the outermost graph: the graph itself, if no node has it. */
acu_sim_graph *acu_sim_graph_root(acu_sim_graph *graph);

extern const acu_sim_noun acu_sim_graph_noun;

#endif
