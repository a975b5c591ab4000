/*
 * Graphs that kernels launch, and nodes that they change.
 *
 * What a kernel launches is run by the thread that runs the kernel: at once after the kernel, or,
 * behind the graph that the kernel is in, once that has ended. CUDA promises no more order.
 */
#ifndef ACU_SIM_GRAPH_DEVICE_GRAPH_H
#define ACU_SIM_GRAPH_DEVICE_GRAPH_H

#include "sim/graph/exec.h"

/* An executable graph that a kernel launched, with a reference. */
typedef struct acu_sim_child {
    acu_sim_exec *exec;
    bool is_sibling;
    struct acu_sim_child *next;
} acu_sim_child;

/* What the kernels of one graph launch have launched. */
typedef struct acu_sim_children {
    acu_sim_child *at_once, *behind; /* lists, the first one first */
    unsigned at_once_count, behind_count;
    unsigned *sibling_count; /* of the graph that this one is beside, and of its siblings */
} acu_sim_children;

/* Lets kernels ask for what is of graphs; called under the lock, when the first graph is made. */
void acu_sim_device_graph_begin(void);

/* Takes the first of a list, as a launch that runs now, and says whether it is a sibling of the
 * graph that launched it; NULL: there is none. Under the lock. */
acu_sim_exec *acu_sim_child_take(acu_sim_child **list, bool *is_sibling);
/* Ends the launch that was taken, under the lock. */
void acu_sim_child_end(acu_sim_exec *exec);
/* Gives up a list, under the lock. */
void acu_sim_child_drop(acu_sim_child **list);

#endif
