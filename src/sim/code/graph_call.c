/* The functions of <anycuda/sim.h> do what kernels ask of graphs. They look at the calling thread
 * for the graph, and a kernel has several threads. */
#include "sim/code/graph_call.h"

#include "sim/code/function.h"
#include "sim/code/module.h"
#include "sim/device/device.h"

#include <stdio.h>

acu_sim_in_graph acu_sim_in_graph_of(const acu_sim_kernel_launch *launch) {
    const acu_sim_thread *self = acu_sim_self();
    acu_sim_in_graph in = {.launch = {.kernel = launch->function->entry->name,
                                      .device = launch->function->module->device->index},
                           .graph = self->graph,
                           .children = self->children};
    if (in.children)
        in.exec = (uintptr_t)acu_sim_current_graph(&in.launch);
    return in;
}

/* ---- calls ---- */

/* The streams that CUDA names for graphs: cudaStreamGraphTailLaunch and so on. */
static const uint64_t streams[] = {
    [ACU_SIM_TAIL] = UINT64_C(1) << 56,
    [ACU_SIM_FIRE_AND_FORGET] = UINT64_C(2) << 56,
    [ACU_SIM_SIBLING] = UINT64_C(3) << 56,
};

static int launch_graph(const acu_sim_in_graph *in, uint64_t graph, uint64_t stream) {
    for (unsigned n = 0; n < sizeof streams / sizeof *streams; n++)
        if (stream == streams[n])
            return acu_sim_launch_graph(&in->launch, (struct CUgraphExec_st *)(uintptr_t)graph,
                                        (acu_sim_graph_place)n);
    fprintf(stderr,
            "anycuda: simulator: kernel \"%s\" cannot launch executable graph 0x%llx into stream "
            "0x%llx: kernels launch graphs into cudaStreamGraphFireAndForget, "
            "cudaStreamGraphTailLaunch and cudaStreamGraphFireAndForgetAsSibling only\n",
            in->launch.kernel, (unsigned long long)graph, (unsigned long long)stream);
    return cudaErrorInvalidValue;
}

static int answer(const acu_sim_in_graph *in, const ptx_runtime_call *call) {
    const uint64_t *a = call->arguments;
    struct CUgraphDeviceUpdatableNode_st *node =
        (struct CUgraphDeviceUpdatableNode_st *)(uintptr_t)a[0];
    switch (call->function) {
    case PTX_RUNTIME_GRAPH_LAUNCH:
        return launch_graph(in, a[0], a[1]);
    case PTX_RUNTIME_NODE_SET_PARAM:
        return acu_sim_set_node_param(&in->launch, node, a[1], call->in, a[3]);
    case PTX_RUNTIME_NODE_SET_ENABLED:
        return acu_sim_set_node_enabled(&in->launch, node, (a[1] & UINT32_MAX) != 0);
    case PTX_RUNTIME_NODE_SET_GRID:
        return acu_sim_set_node_grid(&in->launch, node, call->extents[1]);
    default: /* an update of an unknown field */
        return cudaErrorInvalidValue;
    }
}

/* Lets the calling thread be in that graph, and says where it was. */
static void swap_place(const acu_sim_graph **graph, struct acu_sim_children **children) {
    acu_sim_thread *self = acu_sim_self();
    const acu_sim_graph *its_graph = self->graph;
    struct acu_sim_children *its_children = self->children;
    self->graph = *graph;
    self->children = *children;
    *graph = its_graph;
    *children = its_children;
}

bool acu_sim_graph_call(const acu_sim_in_graph *in, ptx_runtime_call *call) {
    const acu_sim_graph *graph = in->graph;
    struct acu_sim_children *children = in->children;
    if (call->function < PTX_RUNTIME_GRAPH_LAUNCH)
        return false;
    swap_place(&graph, &children);
    call->result = (uint64_t)answer(in, call);
    swap_place(&graph, &children);
    return true;
}

void acu_sim_graph_set_conditional(const acu_sim_in_graph *in, uint64_t handle, unsigned value) {
    const acu_sim_graph *graph = in->graph;
    struct acu_sim_children *children = in->children;
    swap_place(&graph, &children);
    acu_sim_set_conditional(&in->launch, handle, value);
    swap_place(&graph, &children);
}
