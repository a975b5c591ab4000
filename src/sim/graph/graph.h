/*
 * Graphs, their nodes, and what is instantiated from them.
 *
 * A node says what it does by an operation, which clones and instances share: to change a node is
 * to give it another one. An instance has a copy of its graph, whose nodes have the same ids; what
 * of it is launched is a plan, in an order that respects the edges, which is made when it is needed
 * and never changed, so that a launch under way does not see what is done to its instance.
 */
#ifndef ACU_SIM_GRAPH_GRAPH_H
#define ACU_SIM_GRAPH_GRAPH_H

#include "sim/graph/conditional.h"
#include "sim/graph/user_object.h"

void acu_sim_graphs_reset(acu_sim_device *device);
int acu_sim_graphs_leaks(int print);

struct acu_sim_graph {
    acu_sim_device *device;
    unsigned id, source;  /* source: the id of the graph that it is a copy of, 0: of none */
    acu_sim_node **nodes; /* by id; NULL where one was destroyed */
    size_t size, room, count, copied;
    size_t memory_count, body_count; /* nodes that allocate or free; that have graphs */
    acu_sim_node
        *parent_node;  /* the node that it is in; NULL: it is the program's, or an instance's */
    bool moved;        /* into that node, from the program */
    bool instanced;    /* an instance's: handles never mean it, nor what is in it */
    unsigned captures; /* under way, into it and its parts: it is not freed meanwhile */
    bool doomed;       /* a capture into it failed: it is freed when none is under way */
    acu_sim_condition *conditions; /* of the graph that has no owner */
    size_t condition_count;
    acu_sim_keep *keeps;
    size_t keep_count;
    const void *where; /* NULL: not the program's to destroy */
    acu_sim_graph *next, *previous;
};

/* NULL if there is none. */
acu_sim_graph *acu_sim_graph_of(cudaGraph_t handle);
cudaGraph_t acu_sim_graph_handle(acu_sim_graph *graph);

/* An empty one, nobody's yet; NULL without memory, like its copies. */
acu_sim_graph *acu_sim_graph_new(acu_sim_device *device);
acu_sim_graph *acu_sim_graph_copy(const acu_sim_graph *graph);
void acu_sim_graph_free(acu_sim_graph *graph);

/* From now on, no longer, the program's. */
void acu_sim_graph_publish(acu_sim_graph *graph, const void *where);
void acu_sim_graph_withdraw(acu_sim_graph *graph);

/* The graph in whose nodes it is, or itself. */
acu_sim_graph *acu_sim_graph_root(acu_sim_graph *graph);

#endif
