/* Graphs that kernels launch, and nodes that they change: the functions of <anycuda/sim.h>. */
#include "sim/graph/device_graph.h"

#include "sim/code/graph_call.h"
#include "sim/device/device.h"
#include "sim/graph/conditional.h"
#include "sim/graph/graph.h"
#include "sim/graph/kernel_node.h"
#include "sim/graph/node.h"
#include "sim/stream/op.h"

#include <anycuda/sim.h>

#include <stdio.h>
#include <stdlib.h>

/* CUDA's own limits for the launches by the kernels of one graph launch. */
enum { MOST_AT_ONCE = 120, MOST_BEHIND = 255 };

/* ---- what was launched ---- */

acu_sim_exec *acu_sim_child_take(acu_sim_child **list, bool *is_sibling) {
    acu_sim_child *child = *list;
    if (!child)
        return NULL;
    acu_sim_exec *exec = child->exec;
    *list = child->next;
    *is_sibling = child->is_sibling;
    free(child);
    exec->queued = false;
    exec->running = true;
    return exec;
}

void acu_sim_child_end(acu_sim_exec *exec) {
    exec->running = false;
    acu_sim_exec_release(exec);
}

void acu_sim_child_drop(acu_sim_child **list) {
    bool is_sibling;
    for (acu_sim_exec *exec; (exec = acu_sim_child_take(list, &is_sibling));)
        acu_sim_child_end(exec);
}

/* Adds a launch to the end of a list; false without memory. */
static bool append(acu_sim_child **list, acu_sim_exec *exec, bool is_sibling) {
    acu_sim_child *child = calloc(1, sizeof *child);
    if (!child)
        return false;
    child->exec = exec;
    child->is_sibling = is_sibling;
    exec->refs++;
    exec->queued = true;
    while (*list)
        list = &(*list)->next;
    *list = child;
    return true;
}

/* ---- launching ---- */

/* Returns the number of launches there, which has a limit. */
static unsigned *count_of(acu_sim_children *children, acu_sim_graph_place place) {
    return place == ACU_SIM_TAIL      ? &children->behind_count
           : place == ACU_SIM_SIBLING ? children->sibling_count
                                      : &children->at_once_count;
}

/* Returns why the kernel cannot launch the graph; NULL if it can. */
static const char *reason(const acu_sim_thread *self, const acu_sim_exec *exec,
                          acu_sim_graph_place place) {
    const bool behind = place == ACU_SIM_TAIL;
    if (!self->children)
        return "the kernel is not in a graph";
    if (!exec)
        return "there is no such executable graph";
    if (!(exec->flags & cudaGraphInstantiateFlagDeviceLaunch))
        return "it was instantiated without cudaGraphInstantiateFlagDeviceLaunch";
    if (!exec->uploaded && !exec->launched)
        return "it was not uploaded since the host changed it last";
    if (exec->graph->device != self->graph->device)
        return "it is another device's";
    if (exec->queued ||
        ((exec->running || exec->graph == self->graph) && !(behind && exec->graph == self->graph)))
        return "another launch of it has not ended";
    if (*count_of(self->children, place) >= (unsigned)(behind ? MOST_BEHIND : MOST_AT_ONCE))
        return "the graph that the kernel is in has too many launches";
    return NULL;
}

int acu_sim_launch_graph(const acu_sim_launch *launch, struct CUgraphExec_st *graph,
                         acu_sim_graph_place place) {
    acu_sim_thread *self = acu_sim_self();
    const bool behind = place == ACU_SIM_TAIL;
    pthread_mutex_lock(&acu_sim_lock);
    acu_sim_exec *exec = acu_sim_exec_of(graph);
    acu_sim_children *children = self->children;
    const char *why = reason(self, exec, place);
    if (!why &&
        !append(behind ? &children->behind : &children->at_once, exec, place == ACU_SIM_SIBLING))
        why = "there is no memory";
    if (!why)
        *count_of(children, place) += 1;
    pthread_mutex_unlock(&acu_sim_lock);
    if (why)
        fprintf(stderr, "anycuda: simulator: kernel \"%s\" cannot launch executable graph %p: %s\n",
                launch->kernel, (void *)graph, why);
    return why ? cudaErrorInvalidValue : 0;
}

struct CUgraphExec_st *acu_sim_current_graph(const acu_sim_launch *launch) {
    (void)launch;
    const acu_sim_thread *self = acu_sim_self();
    pthread_mutex_lock(&acu_sim_lock);
    acu_sim_exec *exec = self->children ? acu_sim_exec_of_copy(self->graph) : NULL;
    if (exec && !(exec->flags & cudaGraphInstantiateFlagDeviceLaunch))
        exec = NULL;
    pthread_mutex_unlock(&acu_sim_lock);
    return (struct CUgraphExec_st *)(void *)exec;
}

static bool is_for_kernels(struct CUgraphExec_st *graph) {
    pthread_mutex_lock(&acu_sim_lock);
    const acu_sim_exec *exec = acu_sim_exec_of(graph);
    const bool is = exec && exec->flags & cudaGraphInstantiateFlagDeviceLaunch;
    pthread_mutex_unlock(&acu_sim_lock);
    return is;
}

/* ---- changing nodes ---- */

/* Finds what a node of an uploaded executable graph launches, under the lock; NULL if a kernel
 * cannot change that, with a line on stderr. */
static acu_sim_kernel_launch *find(const acu_sim_launch *launch,
                                   struct CUgraphDeviceUpdatableNode_st *handle) {
    acu_sim_node *node = NULL;
    const acu_sim_exec *exec = acu_sim_exec_of_device_node(handle, &node);
    if (exec && exec->uploaded && exec->graph->device->index == launch->device)
        return node->op->with.launch;
    fprintf(stderr, "anycuda: simulator: kernel \"%s\" cannot change node %p: %s\n", launch->kernel,
            (void *)handle,
            !exec             ? "no executable graph has it"
            : !exec->uploaded ? "its graph was not uploaded since the host changed it last"
                              : "it is another device's");
    return NULL;
}

static bool is_node(struct CUgraphDeviceUpdatableNode_st *node) {
    pthread_mutex_lock(&acu_sim_lock);
    const bool is = acu_sim_kernel_node_gave_handle(node);
    pthread_mutex_unlock(&acu_sim_lock);
    return is;
}

static int change_node(const acu_sim_launch *launch, const acu_sim_node_change *change,
                       bool only_asks) {
    pthread_mutex_lock(&acu_sim_lock);
    acu_sim_kernel_launch *its = find(launch, change->node);
    bool good = its;
    if (its && change->field == cudaGraphKernelNodeFieldGridDim)
        good = acu_sim_kernel_launch_set_grid(its, change->blocks, only_asks);
    else if (its && change->field == cudaGraphKernelNodeFieldParam)
        good = acu_sim_kernel_launch_set_param(its, change->offset, change->value, change->size,
                                               only_asks);
    else if (its && change->field == cudaGraphKernelNodeFieldEnabled)
        its->off = only_asks ? its->off : !change->enabled;
    else
        good = false;
    pthread_mutex_unlock(&acu_sim_lock);
    return good ? 0 : cudaErrorInvalidValue;
}

int acu_sim_set_node_enabled(const acu_sim_launch *launch,
                             struct CUgraphDeviceUpdatableNode_st *node, int enabled) {
    const acu_sim_node_change change = {
        .node = node, .field = cudaGraphKernelNodeFieldEnabled, .enabled = enabled};
    return change_node(launch, &change, false);
}

int acu_sim_set_node_grid(const acu_sim_launch *launch, struct CUgraphDeviceUpdatableNode_st *node,
                          const unsigned blocks[3]) {
    const acu_sim_node_change change = {.node = node,
                                        .field = cudaGraphKernelNodeFieldGridDim,
                                        .blocks = {blocks[0], blocks[1], blocks[2]}};
    return change_node(launch, &change, false);
}

int acu_sim_set_node_param(const acu_sim_launch *launch, struct CUgraphDeviceUpdatableNode_st *node,
                           size_t offset, const void *value, size_t size) {
    const acu_sim_node_change change = {.node = node,
                                        .field = cudaGraphKernelNodeFieldParam,
                                        .offset = offset,
                                        .value = value,
                                        .size = size};
    return change_node(launch, &change, false);
}

void acu_sim_device_graph_begin(void) {
    static const acu_sim_graph_calls calls = {.change = change_node,
                                              .is_for_kernels = is_for_kernels,
                                              .is_node = is_node,
                                              .can_set = acu_sim_condition_can_be_set};
    acu_sim_graph_calls_use(&calls);
}
