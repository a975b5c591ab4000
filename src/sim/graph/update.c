/*
 * Changing executable graphs: one node, or all nodes by those of another graph of the same shape.
 *
 * The nodes of the two graphs are paired, beginning with the nodes that no other depends on, then
 * against the edges, in the order in which the edges were made. Older runtimes pair by ids, and so
 * do all where one child graph is changed.
 */
#include "sim/graph/update.h"

#include "core/values.h"
#include "sim/behaviour.h"
#include "sim/code/execute.h"
#include "sim/code/kernel_launch.h"
#include "sim/device/device.h"
#include "sim/device/need.h"
#include "sim/graph/conditional.h"
#include "sim/graph/edge.h"
#include "sim/graph/exec.h"
#include "sim/graph/graph.h"
#include "sim/graph/graph_memory.h"
#include "sim/graph/kernel_node.h"
#include "sim/graph/node.h"
#include "sim/graph/user_object.h"
#include "sim/graph/value_node.h"
#include "sim/memory/batch.h"
#include "sim/memory/external_semaphore.h"
#include "sim/memory/range.h"
#include "sim/stream/edge_list.h"
#include "sim/stream/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one node ---- */

/* What an update cannot change of one side of a copy: what the direction calls it, whether it is
 * from a pool, and the device. */
typedef struct side {
    int called; /* -1: host memory, 1: a device's, 0: the direction leaves it open */
    bool in_pool;
    const acu_sim_device *device; /* NULL: it may be another */
} side;

static side side_of(const void *address, enum cudaMemcpyKind kind, enum cudaMemcpyKind to_this) {
    const acu_sim_range *range = acu_sim_range_overlapping((uintptr_t)address, 1);
    const bool is_device = range && range->kind == SIM_DEVICE, in_pool = range && range->pool;
    return (side){kind == cudaMemcpyDefault                             ? 0
                  : kind == to_this || kind == cudaMemcpyDeviceToDevice ? 1
                                                                        : -1,
                  in_pool, is_device && !in_pool ? range->device : NULL};
}

static bool is_same_side(side a, side b) {
    return a.called == b.called && a.in_pool == b.in_pool &&
           (!a.device || !b.device || a.device == b.device);
}

static bool is_same_source(const struct cudaMemcpy3DParms *a, const struct cudaMemcpy3DParms *b) {
    return is_same_side(side_of(a->srcPtr.ptr, a->kind, cudaMemcpyDeviceToHost),
                        side_of(b->srcPtr.ptr, b->kind, cudaMemcpyDeviceToHost));
}

static bool is_same_target(const struct cudaMemcpy3DParms *a, const struct cudaMemcpy3DParms *b) {
    return is_same_side(side_of(a->dstPtr.ptr, a->kind, cudaMemcpyHostToDevice),
                        side_of(b->dstPtr.ptr, b->kind, cudaMemcpyHostToDevice));
}

/* Returns the device that has the memory at an address for good; NULL: it may be anywhere. */
static const acu_sim_device *device_of(const void *address) {
    const acu_sim_range *range = acu_sim_range_overlapping((uintptr_t)address, 1);
    return range && range->kind == SIM_DEVICE && !range->pool ? range->device : NULL;
}

/* Returns whether memory at the addresses is not of two devices. */
static bool is_same_place(const void *one, const void *other) {
    const acu_sim_device *first = device_of(one), *second = device_of(other);
    return !first || !second || first == second;
}

static bool is_row(const struct cudaExtent *extent) {
    return extent->height == 1 && extent->depth == 1;
}

/* Returns whether one copy may replace another: an array must stay an array, and memory where it
 * is; only the size of a single row may change. */
static bool can_copy(const struct cudaMemcpy3DParms *from, const struct cudaMemcpy3DParms *to) {
    bool rows = is_row(&from->extent) && is_row(&to->extent);
    return !from->srcArray == !to->srcArray && !from->dstArray == !to->dstArray &&
           (rows || memcmp(&from->extent, &to->extent, sizeof from->extent) == 0) &&
           is_same_source(from, to) && is_same_target(from, to);
}

static bool can_fill(const struct cudaMemsetParams *from, const struct cudaMemsetParams *to) {
    bool same_shape = from->width == to->width && from->height == to->height &&
                      from->pitch == to->pitch && from->elementSize == to->elementSize;
    return ((from->height == 1 && to->height == 1) || same_shape) &&
           is_same_place(from->dst, to->dst);
}

static enum cudaGraphExecUpdateResult can_launch(const acu_sim_kernel_launch *from,
                                                 const acu_sim_kernel_launch *to) {
    if (acu_sim_kernel_launch_context(from) != acu_sim_kernel_launch_context(to))
        return cudaGraphExecUpdateErrorUnsupportedFunctionChange;
    return from->cooperative != to->cooperative ? cudaGraphExecUpdateErrorAttributesChanged
                                                : cudaGraphExecUpdateSuccess;
}

enum cudaGraphExecUpdateResult acu_sim_update_validate(const acu_sim_op *from,
                                                       const acu_sim_op *to) {
    bool good = true;
    if (from->type != to->type)
        return cudaGraphExecUpdateErrorNodeTypeChanged;
    switch ((int)from->type) {
    case cudaGraphNodeTypeKernel:
        return can_launch(from->with.launch, to->with.launch);
    case cudaGraphNodeTypeMemcpy:
        good = can_copy(&from->with.copy.params, &to->with.copy.params);
        break;
    case cudaGraphNodeTypeMemset:
        good = can_fill(&from->with.fill.params, &to->with.fill.params);
        break;
    case cudaGraphNodeTypeExtSemaphoreSignal:
    case cudaGraphNodeTypeExtSemaphoreWait:
        good = acu_sim_semaphores_count(from) == acu_sim_semaphores_count(to);
        break;
    case cudaGraphNodeTypeMemcpyBatch:
        good = acu_sim_batch_fits(from, to);
        break;
    case SIM_NODE_VALUES:
        good = acu_sim_values_can_update(from, to);
        break;
    case cudaGraphNodeTypeConditional:
        good = from->with.condition.type == to->with.condition.type;
        break;
    case cudaGraphNodeTypeMemAlloc:
    case cudaGraphNodeTypeMemFree:
        return from == to ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateErrorNotSupported;
    default:
        break;
    }
    return good ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateErrorParametersChanged;
}

static bool launches_graphs(const acu_sim_op *op) {
    return op->type == cudaGraphNodeTypeKernel &&
           acu_sim_execute_launches_graphs(op->with.launch->function);
}

/* Returns whether the kernel may launch graphs, and the executable graph is neither for kernels to
 * launch nor has another kernel that does: a GPU has prepared nothing for it. */
static bool launches_unprepared(const acu_sim_exec *e, const acu_sim_op *op) {
    bool prepared = !launches_graphs(op) || e->flags & cudaGraphInstantiateFlagDeviceLaunch;
    for (size_t i = 0; i < e->graph->size && !prepared; i++)
        prepared = e->graph->nodes[i] && launches_graphs(e->graph->nodes[i]->op);
    return !prepared;
}

/* Changes the parameters of one node of an executable graph. */
static cudaError_t set_node_params(const acu_sim_exec *e, acu_sim_node *node,
                                   const struct cudaGraphNodeParams *params) {
    acu_sim_op *op = NULL;
    if (params->type == cudaGraphNodeTypeGraph)
        return params->type == node->op->type
                   ? acu_sim_update_graph(node->bodies[0], acu_sim_graph_of(params->graph.graph))
                   : cudaErrorInvalidValue;
    cudaError_t result = acu_sim_node_make_op(node, params, &op);
    if (result)
        return result;
    if (launches_unprepared(e, op)) {
        acu_sim_op_release(op);
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the kernel may call cudaGraphLaunch(), and no kernel did so when the "
                          "graph was instantiated: instantiate it again");
    }
    if (acu_sim_update_validate(node->op, op)) {
        acu_sim_op_release(op);
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the node of an executable graph keeps the shape of its copy or fill, "
                          "and the kind and device of its memory, or the context of its kernel: "
                          "instantiate the graph again");
    }
    acu_sim_op_release(node->op);
    node->op = op;
    return cudaSuccess;
}

static cudaError_t refuse_node(cudaGraphNode_t node) {
    return SIM_REFUSE(cudaErrorInvalidValue,
                      "%p is no node of the graph that was instantiated, or was added after "
                      "that",
                      (void *)node);
}

cudaError_t acu_sim_update_set_params(cudaGraphExec_t exec, cudaGraphNode_t node,
                                      const struct cudaGraphNodeParams *params) {
    acu_sim_exec *e = acu_sim_exec_of(exec);
    acu_sim_node *n = e ? acu_sim_exec_node(e, node) : NULL;
    const acu_sim_node *given = acu_sim_node_of(node);
    /* Of an empty node there is nothing to set, so that CUDA does not look for it in the graph. */
    if (e && given && params && params->type == cudaGraphNodeTypeEmpty &&
        given->op->type == cudaGraphNodeTypeEmpty)
        return cudaSuccess;
    if (e && given && params && params->type == given->op->type &&
        acu_sim_graph_memory_is_op(given->op))
        return SIM_REFUSE(cudaErrorNotSupported,
                          "the parameters of a node that allocates or frees memory cannot be "
                          "changed");
    if (!e || !n)
        return e ? refuse_node(node) : acu_sim_exec_refuse_handle(exec);
    SIM_TRY(params ? set_node_params(e, n, params) : cudaErrorInvalidValue);
    acu_sim_exec_discard_plan(e);
    return cudaSuccess;
}

/* ---- enabling and disabling nodes ---- */

static bool can_be_disabled(const acu_sim_node *node) {
    return node->op->type == cudaGraphNodeTypeKernel || node->op->type == cudaGraphNodeTypeMemcpy ||
           node->op->type == cudaGraphNodeTypeMemset;
}

/* Finds the executable graph and its copy of the node, which must be of a type that can be
 * disabled. */
static cudaError_t find(cudaGraphExec_t exec, cudaGraphNode_t handle, acu_sim_exec **e,
                        acu_sim_node **node) {
    *e = acu_sim_exec_of(exec);
    *node = *e ? acu_sim_exec_node(*e, handle) : NULL;
    if (!*e || !*node)
        return *e ? refuse_node(handle) : acu_sim_exec_refuse_handle(exec);
    return can_be_disabled(*node)
               ? cudaSuccess
               : SIM_REFUSE(cudaErrorInvalidValue,
                            "node %p cannot be disabled: only kernels, copies and fills can",
                            (void *)handle);
}

cudaError_t acu_sim_cudaGraphNodeSetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
                                            unsigned int isEnabled) {
    acu_sim_exec *exec;
    acu_sim_node *node;
    SIM_TRY(find(hGraphExec, hNode, &exec, &node));
    node->disabled = !isEnabled;
    acu_sim_exec_discard_plan(exec);
    return cudaSuccess;
}

cudaError_t acu_sim_cudaGraphNodeGetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
                                            unsigned int *isEnabled) {
    acu_sim_exec *exec;
    acu_sim_node *node;
    SIM_TRY(find(hGraphExec, hNode, &exec, &node));
    if (!isEnabled)
        return cudaErrorInvalidValue;
    *isEnabled = !node->disabled;
    return cudaSuccess;
}

/* ---- all nodes ---- */

/* Returns the node that the edge of an index comes from. */
static acu_sim_node *dependency(const acu_sim_node *node, size_t i) {
    return (acu_sim_node *)(void *)node->before.nodes[i];
}

/* Returns the next node of a graph, beginning with an id, which is moved on; NULL: no more. */
static acu_sim_node *next_node(const acu_sim_graph *graph, size_t *id) {
    while (*id < graph->size && !graph->nodes[*id])
        ++*id;
    return *id < graph->size ? graph->nodes[(*id)++] : NULL;
}

/* Records why an update fails. */
static void refuse(cudaGraphExecUpdateResultInfo *info, enum cudaGraphExecUpdateResult result,
                   acu_sim_node *node, acu_sim_node *from) {
    info->result = result;
    info->errorNode = node ? acu_sim_node_handle(node) : NULL;
    info->errorFromNode = from ? acu_sim_node_handle(from) : NULL;
}

static int compare_last(const void *a, const void *b) {
    const acu_sim_node *const *one = a, *const *other = b;
    return (*one)->last_since < (*other)->last_since ? -1 : 1;
}

/* Lists the nodes that no other depends on, in the order in which they came to be that; returns
 * their number. */
static size_t list_last(const acu_sim_graph *graph, acu_sim_node **list) {
    size_t i = 0, count = 0;
    acu_sim_node *node;
    while ((node = next_node(graph, &i)))
        if (!node->after.count)
            list[count++] = node;
    qsort(list, count, sizeof *list, compare_last);
    return count;
}

static void forget_pairs(const acu_sim_graph *graph) {
    acu_sim_node *node;
    for (size_t i = 0; (node = next_node(graph, &i));)
        node->pair = NULL;
}

static void pair(acu_sim_node *a, acu_sim_node *b) {
    a->pair = b;
    b->pair = a;
}

static bool validate(const acu_sim_graph *mine, const acu_sim_graph *other, bool by_edges,
                     cudaGraphExecUpdateResultInfo *info);

/* Returns whether a node that has a pair can be updated, and the graphs in it. */
static bool validate_pair(const acu_sim_node *mine, bool by_edges,
                          cudaGraphExecUpdateResultInfo *info) {
    enum cudaGraphExecUpdateResult result = acu_sim_update_validate(mine->op, mine->pair->op);
    bool good = true;
    if (!result && mine->body_count != mine->pair->body_count)
        result = cudaGraphExecUpdateErrorParametersChanged;
    if (result)
        refuse(info, result, mine->pair, NULL);
    for (unsigned i = 0; !result && good && i < mine->body_count; i++)
        good = validate(mine->bodies[i], mine->pair->bodies[i], by_edges, info);
    return !result && good;
}

/* Pairs the nodes that a pair depends on, and puts them on the stack; returns false if they do
 * not correspond. */
static bool pair_before(const acu_sim_node *mine, acu_sim_node *other, acu_sim_node **stack,
                        size_t *count, cudaGraphExecUpdateResultInfo *info) {
    if (mine->before.count != other->before.count) {
        refuse(info, cudaGraphExecUpdateErrorTopologyChanged, other, NULL);
        return false;
    }
    for (size_t i = 0; i < mine->before.count; i++) {
        acu_sim_node *a = dependency(mine, i), *b = dependency(other, i);
        if (!a->pair && !b->pair) {
            pair(a, b);
            stack[(*count)++] = a;
        }
        if (a->pair != b || acu_sim_edge_list_differ(&mine->before, &other->before, i)) {
            refuse(info, cudaGraphExecUpdateErrorTopologyChanged, other, b);
            return false;
        }
    }
    return true;
}

/* Pairs the nodes that no other depends on; returns their number, 0 if the graphs have different
 * numbers. Both lists have room for all nodes. */
static size_t pair_last(const acu_sim_graph *mine, const acu_sim_graph *other,
                        acu_sim_node **my_list, acu_sim_node **other_list,
                        cudaGraphExecUpdateResultInfo *info) {
    const size_t count = list_last(mine, my_list), others = list_last(other, other_list);
    for (size_t i = 0; i < count && i < others; i++)
        pair(my_list[i], other_list[i]);
    if (count != others)
        refuse(info, cudaGraphExecUpdateErrorTopologyChanged,
               count < others ? other_list[count] : NULL, NULL);
    return count == others ? count : 0;
}

/* Pairs all nodes by their edges, beginning with those that no other depends on; returns false if
 * the shapes differ, or if a node cannot be updated. `stack` has room for all nodes of both. */
static bool pair_by_edges(const acu_sim_graph *mine, const acu_sim_graph *other,
                          acu_sim_node **stack, cudaGraphExecUpdateResultInfo *info) {
    size_t count = pair_last(mine, other, stack, stack + mine->count, info);
    bool good = count || !mine->count;
    while (good && count) {
        const acu_sim_node *a = stack[--count];
        good = pair_before(a, a->pair, stack, &count, info) && validate_pair(a, true, info);
    }
    return good;
}

static bool has_after(const acu_sim_node *node, unsigned id) {
    size_t i = 0;
    while (i < node->after.count &&
           ((const acu_sim_node *)(const void *)node->after.nodes[i])->id != id)
        i++;
    return i < node->after.count;
}

/* Returns whether the same nodes, by their ids, depend on both. */
static bool is_same_after(const acu_sim_node *a, const acu_sim_node *b) {
    bool same = a->after.count == b->after.count;
    for (size_t i = 0; same && i < a->after.count; i++)
        same = has_after(b, ((const acu_sim_node *)(const void *)a->after.nodes[i])->id);
    return same;
}

/* Pairs all nodes by their ids, in which those count that were destroyed, and those that failed to
 * be made; returns false if the shapes differ, or if a node cannot be updated. */
static bool pair_by_ids(const acu_sim_graph *mine, const acu_sim_graph *other,
                        cudaGraphExecUpdateResultInfo *info) {
    for (size_t i = 0; i < mine->size; i++) {
        acu_sim_node *a = mine->nodes[i], *b = other->nodes[i];
        if (!a && !b)
            continue;
        if (!a || !b || !is_same_after(a, b)) {
            refuse(info, cudaGraphExecUpdateErrorTopologyChanged, b, NULL);
            return false;
        }
        pair(a, b);
        if (!validate_pair(a, false, info))
            return false;
    }
    return true;
}

/* Returns whether all nodes have a pair: those that depend on each other may have none. */
static bool are_paired(const acu_sim_graph *graph, cudaGraphExecUpdateResultInfo *info) {
    const acu_sim_node *node;
    size_t i = 0;
    do
        node = next_node(graph, &i);
    while (node && node->pair);
    if (node)
        refuse(info, cudaGraphExecUpdateErrorTopologyChanged, NULL, NULL);
    return !node;
}

/* Returns whether a graph can be updated, and pairs its nodes; else writes to `info` why not. */
static bool validate(const acu_sim_graph *mine, const acu_sim_graph *other, bool by_edges,
                     cudaGraphExecUpdateResultInfo *info) {
    if (by_edges ? mine->count != other->count : mine->size != other->size) {
        refuse(info,
               by_edges ? cudaGraphExecUpdateErrorTopologyChanged
                        : cudaGraphExecUpdateErrorNotSupported,
               NULL, NULL);
        return false;
    }
    forget_pairs(mine);
    forget_pairs(other);
    if (!by_edges)
        return pair_by_ids(mine, other, info);
    acu_sim_node **stack = malloc((mine->count + other->count + 1) * sizeof(acu_sim_node *));
    const bool good = stack && pair_by_edges(mine, other, stack, info) && are_paired(mine, info);
    free(stack);
    return good;
}

/* Gives the nodes of a graph, which was validated, the work of the paired nodes. */
static void copy_work(acu_sim_graph *mine) {
    acu_sim_node *node;
    for (size_t i = 0; (node = next_node(mine, &i));) {
        node->pair->op->refs++;
        acu_sim_op_release(node->op);
        node->op = node->pair->op;
        for (unsigned k = 0; k < node->body_count; k++)
            copy_work(node->bodies[k]);
    }
}

/* Copies conditional values and references to user objects; returns false without memory. The old
 * references stay while a launch is under way, because it may still use the objects. */
static bool copy_conditions_and_objects(acu_sim_exec *exec, const acu_sim_graph *other) {
    acu_sim_graph *mine = exec->graph;
    if (!acu_sim_conditions_copy(mine, other))
        return false;
    if (!exec->last || exec->last->done)
        acu_sim_user_objects_clear(mine);
    return acu_sim_user_objects_copy(mine, other);
}

static cudaError_t refuse_update(const cudaGraphExecUpdateResultInfo *info) {
    const char *name = acu_value_name(&acu_cudart_type_cudaGraphExecUpdateResult, info->result);
    char node[32] = "";
    if (info->errorNode)
        snprintf(node, sizeof node, " at node %p", (void *)info->errorNode);
    return SIM_REFUSE(cudaErrorGraphExecUpdateFailure,
                      "the graph differs too much from the one that was instantiated: %s%s; "
                      "instantiate it instead",
                      name ? name : "an unknown result", node);
}

cudaError_t acu_sim_update_graph(acu_sim_graph *mine, acu_sim_graph *other) {
    cudaGraphExecUpdateResultInfo info = {.result = cudaGraphExecUpdateSuccess};
    if (!other)
        return SIM_REFUSE(cudaErrorInvalidValue, "the new child graph is no graph");
    if (!validate(mine, other, false, &info))
        return refuse_update(&info);
    copy_work(mine);
    return cudaSuccess;
}

cudaError_t acu_sim_cudaGraphExecUpdate(cudaGraphExec_t hGraphExec, cudaGraph_t hGraph,
                                        cudaGraphExecUpdateResultInfo *resultInfo) {
    acu_sim_exec *exec = acu_sim_exec_of(hGraphExec);
    acu_sim_graph *graph = acu_sim_graph_of(hGraph);
    SIM_TRY(acu_sim_require(SIM_NEEDS_CONTEXT));
    if (resultInfo && ((exec && graph) || !acu_sim_behaviour_update_of_nothing_has_no_result()))
        refuse(resultInfo, cudaGraphExecUpdateError, NULL, NULL);
    if (!exec || !graph)
        return exec ? acu_sim_graph_refuse_handle(hGraph) : acu_sim_exec_refuse_handle(hGraphExec);
    if (graph->moved || !resultInfo)
        return SIM_REFUSE(cudaErrorInvalidValue, resultInfo ? "the graph was moved into a node"
                                                            : "the address for the result is NULL");
    if (acu_sim_exec_has_memory_of(graph, exec)) {
        resultInfo->result = cudaGraphExecUpdateSuccess;
        return acu_sim_graph_refuse_memory("it has one executable graph at a time, and another has "
                                           "its memory: destroy that one first");
    }
    if (acu_sim_graph_is_updatable(exec->graph) || acu_sim_graph_is_updatable(graph)) {
        resultInfo->result = cudaGraphExecUpdateSuccess;
        return SIM_REFUSE(cudaErrorNotSupported,
                          "one of the graphs has nodes that the device can update");
    }
    if (!validate(exec->graph, graph, acu_sim_behaviour_update_pairs_by_edges(), resultInfo))
        return refuse_update(resultInfo);
    if (!copy_conditions_and_objects(exec, graph))
        return cudaErrorMemoryAllocation;
    copy_work(exec->graph);
    exec->graph->had_memory |= acu_sim_graph_has_memory(graph);
    exec->memory_of = acu_sim_graph_has_memory(graph) ? graph->id : 0;
    acu_sim_exec_discard_plan(exec);
    resultInfo->result = cudaGraphExecUpdateSuccess;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t hGraphExec,
                                                         cudaGraphNode_t node,
                                                         cudaGraph_t childGraph) {
    const struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeGraph,
                                               .graph = {.graph = childGraph}};
    const acu_sim_graph *child = acu_sim_graph_of(childGraph);
    if (child && acu_sim_exec_of(hGraphExec) && acu_sim_graph_has_memory(child))
        return SIM_REFUSE(cudaErrorGraphExecUpdateFailure, /* whichever node it is */
                          "the new child graph has, or has had, nodes that allocate or free "
                          "memory, so it cannot be copied");
    return acu_sim_update_set_params(hGraphExec, node, &params);
}
