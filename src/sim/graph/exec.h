/* Instances of graphs, and their launches. */
#ifndef ACU_SIM_GRAPH_EXEC_H
#define ACU_SIM_GRAPH_EXEC_H

#include "sim/graph/plan.h"

typedef struct acu_sim_exec acu_sim_exec;

void acu_sim_execs_reset(acu_sim_device *device);
int acu_sim_execs_leaks(int print);

struct acu_sim_exec {
    unsigned refs; /* the program's, and those of launches under way */
    unsigned id;
    unsigned long long flags;
    acu_sim_graph *graph; /* its own; `source` is the graph that it was made from */
    acu_sim_plan *plan;   /* NULL: it was changed since */
    acu_sim_op *last;     /* the newest launch */
    const void *where;
    acu_sim_exec *next, *previous;
};

/* NULL if there is none. */
acu_sim_exec *acu_sim_exec_of(cudaGraphExec_t handle);

/* The instance's own node for one of the graph that it was made from; NULL if there is none. */
acu_sim_node *acu_sim_exec_node(acu_sim_exec *exec, cudaGraphNode_t handle);

/* It was changed: the next launch makes a new plan. */
void acu_sim_exec_touch(acu_sim_exec *exec);

/* Its own; NULL without memory. */
acu_sim_plan *acu_sim_exec_plan(acu_sim_exec *exec);
void acu_sim_exec_release(acu_sim_exec *exec);

/* Launches it. */
cudaError_t acu_sim_graph_launch_start(acu_sim_exec *exec, acu_sim_stream *stream);

#endif
