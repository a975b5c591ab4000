/* Graphs that kernels launch, and nodes that they change: the functions of <anycuda/sim.h>. */
#include "sim/graph/device_graph.h"

#include "sim/code/kernel_launch.h"
#include "sim/device/device.h"
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

acu_sim_exec *acu_sim_child_take(acu_sim_child **list) {
    acu_sim_child *child = *list;
    if (!child)
        return NULL;
    acu_sim_exec *exec = child->exec;
    *list = child->next;
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
    for (acu_sim_exec *exec; (exec = acu_sim_child_take(list));)
        acu_sim_child_end(exec);
}

/* Adds a launch to the end of a list; false without memory. */
static bool append(acu_sim_child **list, acu_sim_exec *exec) {
    acu_sim_child *child = calloc(1, sizeof *child);
    if (!child)
        return false;
    child->exec = exec;
    exec->refs++;
    exec->queued = true;
    while (*list)
        list = &(*list)->next;
    *list = child;
    return true;
}

/* ---- launching ---- */

/* Returns why the kernel cannot launch the graph; NULL if it can. */
static const char *reason(const acu_sim_thread *self, const acu_sim_exec *exec, bool behind) {
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
    if (behind ? self->children->behind_count >= MOST_BEHIND
               : self->children->at_once_count >= MOST_AT_ONCE)
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
    const char *why = reason(self, exec, behind);
    if (!why && !append(behind ? &children->behind : &children->at_once, exec))
        why = "there is no memory";
    if (!why)
        *(behind ? &children->behind_count : &children->at_once_count) += 1;
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

int acu_sim_set_node_enabled(const acu_sim_launch *launch,
                             struct CUgraphDeviceUpdatableNode_st *node, int enabled) {
    pthread_mutex_lock(&acu_sim_lock);
    acu_sim_kernel_launch *its = find(launch, node);
    if (its)
        its->off = !enabled;
    pthread_mutex_unlock(&acu_sim_lock);
    return its ? 0 : cudaErrorInvalidValue;
}

int acu_sim_set_node_grid(const acu_sim_launch *launch, struct CUgraphDeviceUpdatableNode_st *node,
                          const unsigned blocks[3]) {
    pthread_mutex_lock(&acu_sim_lock);
    acu_sim_kernel_launch *its = find(launch, node);
    const bool good = its && acu_sim_kernel_launch_set_grid(its, blocks);
    pthread_mutex_unlock(&acu_sim_lock);
    return good ? 0 : cudaErrorInvalidValue;
}

int acu_sim_set_node_param(const acu_sim_launch *launch, struct CUgraphDeviceUpdatableNode_st *node,
                           size_t offset, const void *value, size_t size) {
    pthread_mutex_lock(&acu_sim_lock);
    acu_sim_kernel_launch *its = find(launch, node);
    const bool good = its && acu_sim_kernel_launch_set_param(its, offset, value, size);
    pthread_mutex_unlock(&acu_sim_lock);
    return good ? 0 : cudaErrorInvalidValue;
}
