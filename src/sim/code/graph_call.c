/* The functions of <anycuda/sim.h> do what kernels ask of graphs. They look at the calling thread
 * for the graph, and a kernel has several threads. */
#include "sim/code/graph_call.h"

#include "sim/code/function.h"
#include "sim/code/module.h"
#include "sim/device/device.h"

#include <stdio.h>
#include <string.h>

static const acu_sim_graph_calls *calls; /* under the lock; NULL: there is no graph yet */

void acu_sim_graph_calls_use(const acu_sim_graph_calls *all) {
    calls = all;
}

static const acu_sim_graph_calls *get_calls(void) {
    pthread_mutex_lock(&acu_sim_lock);
    const acu_sim_graph_calls *all = calls;
    pthread_mutex_unlock(&acu_sim_lock);
    return all;
}

acu_sim_in_graph acu_sim_in_graph_of(const acu_sim_kernel_launch *launch) {
    const acu_sim_thread *self = acu_sim_self();
    acu_sim_in_graph in = {.launch = {.kernel = launch->function->entry->name,
                                      .device = launch->function->module->device->index},
                           .device = launch->function->module->device,
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

/* Ends the kernel, which reads what it cannot. */
static int end(ptx_runtime_call *call, const char *what, uint64_t handle) {
    call->fault = cudaErrorIllegalAddress;
    snprintf(call->what, sizeof call->what, "0x%llx is %s", (unsigned long long)handle, what);
    return cudaErrorIllegalAddress;
}

/* Returns whether a GPU could read an executable graph at that address: one for kernels, or memory
 * that kernels have. NULL counts as one that can. */
static bool can_be_read(const acu_sim_in_graph *in, uint64_t graph) {
    const acu_sim_graph_calls *all = get_calls();
    if (!graph || (all && all->is_for_kernels((struct CUgraphExec_st *)(uintptr_t)graph)))
        return true;
    pthread_mutex_lock(&acu_sim_lock);
    const bool can = acu_sim_kernel_launch_find(in->device, (const void *)(uintptr_t)graph, 1);
    pthread_mutex_unlock(&acu_sim_lock);
    return can;
}

static int launch_graph(const acu_sim_in_graph *in, ptx_runtime_call *call) {
    const uint64_t graph = call->arguments[0], stream = call->arguments[1];
    if (!can_be_read(in, graph))
        return end(call, "no executable graph that kernels can launch", graph);
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

static int change_node(const acu_sim_in_graph *in, ptx_runtime_call *call) {
    const uint64_t *a = call->arguments;
    acu_sim_node_change change = {
        .node = (struct CUgraphDeviceUpdatableNode_st *)(uintptr_t)a[0],
        .field = call->function == PTX_RUNTIME_NODE_SET_PARAM     ? cudaGraphKernelNodeFieldParam
                 : call->function == PTX_RUNTIME_NODE_SET_ENABLED ? cudaGraphKernelNodeFieldEnabled
                 : call->function == PTX_RUNTIME_NODE_SET_GRID ? cudaGraphKernelNodeFieldGridDim
                                                               : cudaGraphKernelNodeFieldInvalid};
    const acu_sim_graph_calls *all = get_calls();
    if (change.node && !(all && all->is_node(change.node)))
        return end(call, "no node that kernels can change", a[0]);
    if (change.field == cudaGraphKernelNodeFieldParam) {
        change.offset = a[1];
        change.value = call->in;
        change.size = a[3];
    } else if (change.field == cudaGraphKernelNodeFieldEnabled) {
        change.enabled = (a[1] & UINT32_MAX) != 0;
    }
    memcpy(change.blocks, call->large[1], sizeof change.blocks);
    return all ? all->change(&in->launch, &change, call->only_asks) : cudaErrorInvalidValue;
}

static int answer(const acu_sim_in_graph *in, ptx_runtime_call *call) {
    return call->function == PTX_RUNTIME_GRAPH_LAUNCH ? launch_graph(in, call)
                                                      : change_node(in, call);
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

bool acu_sim_graph_set_conditional(const acu_sim_in_graph *in, uint64_t handle, unsigned value) {
    const acu_sim_graph *graph = in->graph;
    struct acu_sim_children *children = in->children;
    const uint32_t number = (uint32_t)handle; /* a GPU looks at no more */
    const acu_sim_graph_calls *all = get_calls();
    if (!all || !all->can_set(graph, number))
        return false;
    swap_place(&graph, &children);
    acu_sim_set_conditional(&in->launch, number, value);
    swap_place(&graph, &children);
    return true;
}
