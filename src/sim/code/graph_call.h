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
    const acu_sim_graph *graph;
    struct acu_sim_children *children; /* what its kernels have launched; NULL: it is in no graph */
    uint64_t exec; /* the handle for kernels; 0: kernels may not launch the graph */
} acu_sim_in_graph;

/* No function is called under the lock. */

/* Returns where a launch is that the calling thread runs. */
acu_sim_in_graph acu_sim_in_graph_of(const acu_sim_kernel_launch *launch);

/* Does a call of the device runtime, on any thread, if it is one of graphs; else returns false. */
bool acu_sim_graph_call(const acu_sim_in_graph *in, ptx_runtime_call *call);

/* Does what cudaGraphSetConditional() does in a kernel, on any thread. */
void acu_sim_graph_set_conditional(const acu_sim_in_graph *in, uint64_t handle, unsigned value);

#endif
