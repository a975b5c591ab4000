/* Executable graphs, and launching them. */
#ifndef ACU_SIM_GRAPH_EXEC_H
#define ACU_SIM_GRAPH_EXEC_H

#include "sim/noun.h"
#include "sim/graph/plan.h"

typedef struct acu_sim_exec acu_sim_exec;

struct acu_sim_exec {
    unsigned refs; /* one of the program, and one of each launch under way */
    unsigned id;
    unsigned long long flags; /* of the instantiation, without the one that asks for an upload */
    acu_sim_graph *graph;     /* a copy; its `source` is the id of the instantiated graph */
    unsigned memory_of;       /* the id of the graph that it was last updated by, and whose memory
                               * it has; 0: of none */
    acu_sim_plan *plan;       /* NULL: the graph was changed since the plan was made */
    acu_sim_op *last;         /* the newest launch; NULL: none */
    bool uploaded;            /* since the last change by the host */
    bool launched;            /* by the host, since then */
    bool queued, running;     /* a kernel has launched it, and that launch waits or runs */
    const void *where;        /* where the program instantiated it */
    acu_sim_exec *next, *previous;
};

/* Returns the executable graph of a handle; NULL if there is none. */
acu_sim_exec *acu_sim_exec_of(cudaGraphExec_t handle);

/* Returns the error of a handle that has no executable graph, and says why. */
static inline cudaError_t acu_sim_exec_refuse_handle(cudaGraphExec_t handle) {
    return SIM_REFUSE(cudaErrorInvalidValue,
                      "%p is no executable graph: it was destroyed, or never instantiated",
                      (void *)handle);
}

/* Returns the copy that an executable graph has of a node of the graph that was instantiated; NULL
 * if it has none. */
acu_sim_node *acu_sim_exec_node(acu_sim_exec *exec, cudaGraphNode_t handle);

/* Gives the plan up, because the graph was changed: the next launch makes a new one. */
void acu_sim_exec_discard_plan(acu_sim_exec *exec);

/* Returns the plan, which is made where it was given up; NULL without memory. The executable graph
 * keeps its reference. */
acu_sim_plan *acu_sim_exec_plan(acu_sim_exec *exec);
/* Gives a reference up, and frees the executable graph with the last one. */
void acu_sim_exec_release(acu_sim_exec *exec);

/* Returns the executable graph whose copy this is; NULL: none's, or it was destroyed. */
acu_sim_exec *acu_sim_exec_of_copy(const acu_sim_graph *copy);
/* Returns an executable graph with a node that kernels change by this handle, and the node; NULL:
 * there is none. */
acu_sim_exec *acu_sim_exec_of_device_node(cudaGraphDeviceNode_t handle, acu_sim_node **node);

/* Launches an executable graph into a stream. */
cudaError_t acu_sim_graph_launch_start(acu_sim_exec *exec, acu_sim_stream *stream);

/* Returns whether an executable graph, other than `except`, has the memory that the graph
 * allocates. CUDA allows one. */
bool acu_sim_exec_has_memory_of(const acu_sim_graph *graph, const acu_sim_exec *except);

extern const acu_sim_noun acu_sim_exec_noun;

#endif
