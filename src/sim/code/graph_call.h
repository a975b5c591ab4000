/* What kernels that have PTX ask of graphs: they launch them, and change nodes of the one that they
 * are in. */
#ifndef ACU_SIM_CODE_GRAPH_CALL_H
#define ACU_SIM_CODE_GRAPH_CALL_H

#include "sim/code/kernel_launch.h"
#include "sim/ptx/runtime_call.h"

#include <anycuda/sim.h>

/* The graph that a launch is in. */
typedef struct acu_sim_in_graph {
    acu_sim_launch launch; /* the kernel and the device only */
    const acu_sim_device *device;
    const acu_sim_graph *graph;
    struct acu_sim_children *children; /* what its kernels have launched; NULL: it is in no graph */
    uint64_t exec; /* the handle for kernels; 0: kernels may not launch the graph */
} acu_sim_in_graph;

/* No function is called under the lock. */

/* Returns where a launch is that the calling thread runs. */
acu_sim_in_graph acu_sim_in_graph_of(const acu_sim_kernel_launch *launch);

/* Does a call of the device runtime, on any thread, if it is one of graphs; else returns false. */
bool acu_sim_graph_call(const acu_sim_in_graph *in, ptx_runtime_call *call);

/* Does what cudaGraphSetConditional() does in a kernel, on any thread. Returns false where a GPU
 * finds no memory for the handle. */
bool acu_sim_graph_set_conditional(const acu_sim_in_graph *in, uint64_t handle, unsigned value);

/* ---- what graphs do for these ---- */

/* A change of a kernel node by a kernel. */
typedef struct acu_sim_node_change {
    struct CUgraphDeviceUpdatableNode_st *node;
    enum cudaGraphKernelNodeField field;
    unsigned blocks[3]; /* of the grid */
    size_t offset, size;
    const void *value; /* of a parameter */
    int enabled;
} acu_sim_node_change;

/* The functions, of a folder that this one does not know. They take the lock. */
typedef struct acu_sim_graph_calls {
    /* Does the change, or only asks whether it can be done. Returns 0, or 1 with a line on stderr.
     */
    int (*change)(const acu_sim_launch *launch, const acu_sim_node_change *change, bool only_asks);
    /* Returns whether kernels may launch it. */
    bool (*is_for_kernels)(struct CUgraphExec_st *graph);
    /* Returns whether the host ever got such a handle of a node. */
    bool (*is_node)(struct CUgraphDeviceUpdatableNode_st *node);
    /* Returns whether a GPU has memory for a conditional handle of that number, be it one of the
     * graph or not: graphs without handles have none. */
    bool (*can_set)(const acu_sim_graph *root, uint32_t handle);
} acu_sim_graph_calls;

/* Sets the functions, under the lock: before there is a graph, none are needed. */
void acu_sim_graph_calls_use(const acu_sim_graph_calls *all);

#endif
