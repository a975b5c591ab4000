/*
 * Changing instances: the work of one node, or, from another graph of the same shape, of all.
 *
 * The nodes of the two graphs are paired from the last ones on, against the edges, in the order in
 * which the edges were made.
 */
#include "sim/graph/update.h"
#include "sim/code/kernel_launch.h"
#include "sim/device/device.h"
#include "sim/graph/conditional.h"
#include "sim/graph/edge.h"
#include "sim/graph/exec.h"
#include "sim/graph/graph.h"
#include "sim/graph/node.h"
#include "sim/graph/user_object.h"
#include "sim/graph/value_node.h"
#include "sim/memory/batch.h"
#include "sim/memory/external_semaphore.h"
#include "sim/memory/range.h"
#include "sim/stream/edge_list.h"
#include "sim/stream/op.h"

#include <stdlib.h>
#include <string.h>

/* ---- one node -----------------------------------------------------------------------------------
 */

/* Where memory is, as far as an instance depends on it: none of a device's, or whose. */
static const acu_sim_device *place_of(const void *address, bool *device) {
    const acu_sim_range *range = acu_sim_range_overlapping((uintptr_t)address, 1);
    *device = range && range->kind == SIM_DEVICE;
    return *device ? range->device : NULL;
}

static bool is_same_place(const void *a, const void *b) {
    bool a_device, b_device;
    const acu_sim_device *a_place = place_of(a, &a_device), *b_place = place_of(b, &b_device);
    return a_device == b_device && a_place == b_place;
}

static bool is_row(const struct cudaExtent *extent) {
    return extent->height == 1 && extent->depth == 1;
}

/* An array stays an array. */
static bool can_copy(const struct cudaMemcpy3DParms *from, const struct cudaMemcpy3DParms *to) {
    bool rows = is_row(&from->extent) && is_row(&to->extent);
    return !from->srcArray == !to->srcArray && !from->dstArray == !to->dstArray &&
           (rows || memcmp(&from->extent, &to->extent, sizeof from->extent) == 0) &&
           is_same_place(from->srcPtr.ptr, to->srcPtr.ptr) &&
           is_same_place(from->dstPtr.ptr, to->dstPtr.ptr);
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

static cudaError_t put(acu_sim_node *node, const struct cudaGraphNodeParams *params) {
    acu_sim_op *op = NULL;
    if (params->type == cudaGraphNodeTypeGraph)
        return params->type == node->op->type
                   ? acu_sim_update_graph(node->bodies[0], acu_sim_graph_of(params->graph.graph))
                   : cudaErrorInvalidValue;
    cudaError_t result = acu_sim_node_make_op(node, params, &op);
    if (result)
        return result;
    if (acu_sim_update_validate(node->op, op)) {
        acu_sim_op_release(op);
        return cudaErrorInvalidValue;
    }
    acu_sim_op_release(node->op);
    node->op = op;
    return cudaSuccess;
}

cudaError_t acu_sim_update_set_params(cudaGraphExec_t exec, cudaGraphNode_t node,
                                      const struct cudaGraphNodeParams *params) {
    acu_sim_exec *e = acu_sim_exec_of(exec);
    acu_sim_node *n = e ? acu_sim_exec_node(e, node) : NULL;
    SIM_TRY(n && params ? put(n, params) : cudaErrorInvalidValue);
    acu_sim_exec_discard_plan(e);
    return cudaSuccess;
}

/* ---- switching nodes off ------------------------------------------------------------------------
 */

static bool can_be_disabled(const acu_sim_node *node) {
    return node->op->type == cudaGraphNodeTypeKernel || node->op->type == cudaGraphNodeTypeMemcpy ||
           node->op->type == cudaGraphNodeTypeMemset;
}

/* Enters, and finds the instance's own node. */
static cudaError_t find(cudaGraphExec_t exec, cudaGraphNode_t handle, acu_sim_exec **e,
                        acu_sim_node **node) {
    *e = acu_sim_exec_of(exec);
    *node = *e ? acu_sim_exec_node(*e, handle) : NULL;
    return !*node || !can_be_disabled(*node) ? cudaErrorInvalidValue : cudaSuccess;
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

/* ---- all nodes ----------------------------------------------------------------------------------
 */

static acu_sim_node *before(const acu_sim_node *node, size_t i) {
    return (acu_sim_node *)(void *)node->before.nodes[i];
}

/* The next node of a graph, from its id on. */
static acu_sim_node *next_node(const acu_sim_graph *graph, size_t *id) {
    while (*id < graph->size && !graph->nodes[*id])
        ++*id;
    return *id < graph->size ? graph->nodes[(*id)++] : NULL;
}

static void fail(cudaGraphExecUpdateResultInfo *info, enum cudaGraphExecUpdateResult result,
                 acu_sim_node *node, acu_sim_node *from) {
    info->result = result;
    info->errorNode = node ? acu_sim_node_handle(node) : NULL;
    info->errorFromNode = from ? acu_sim_node_handle(from) : NULL;
}

/* The next node that no other depends on. */
static acu_sim_node *next_last(const acu_sim_graph *graph, size_t *id) {
    acu_sim_node *node;
    do
        node = next_node(graph, id);
    while (node && node->after.count);
    return node;
}

static void forget_pairs(const acu_sim_graph *graph) {
    acu_sim_node *node;
    for (size_t i = 0; (node = next_node(graph, &i));)
        node->pair = NULL;
}

static void pair(acu_sim_node *a, acu_sim_node *b, acu_sim_node **stack, size_t *count) {
    a->pair = b;
    b->pair = a;
    stack[(*count)++] = a;
}

static bool pair_before(const acu_sim_node *mine, acu_sim_node *other, acu_sim_node **stack,
                        size_t *count, cudaGraphExecUpdateResultInfo *info) {
    if (mine->before.count != other->before.count) {
        fail(info, cudaGraphExecUpdateErrorTopologyChanged, other, NULL);
        return false;
    }
    for (size_t i = 0; i < mine->before.count; i++) {
        acu_sim_node *a = before(mine, i), *b = before(other, i);
        if (!a->pair && !b->pair)
            pair(a, b, stack, count);
        if (a->pair != b || acu_sim_edge_list_differ(&mine->before, &other->before, i)) {
            fail(info, cudaGraphExecUpdateErrorTopologyChanged, other, b);
            return false;
        }
    }
    return true;
}

/* Before 12.0 nodes were paired in the order in which they were made. */
static bool knows_edges(void) {
    return acu_sim_configuration()->runtime >= 12000;
}

static bool is_made_alike(const acu_sim_graph *mine, const acu_sim_graph *other,
                          cudaGraphExecUpdateResultInfo *info) {
    size_t i = 0, j = 0;
    acu_sim_node *a, *b;
    while ((a = next_node(mine, &i)) != NULL && (b = next_node(other, &j)) != NULL)
        if (a->pair != b) {
            fail(info, cudaGraphExecUpdateErrorTopologyChanged, b, NULL);
            return false;
        }
    return true;
}

/* `stack` has room for all nodes. */
static bool pair_all(const acu_sim_graph *mine, const acu_sim_graph *other, acu_sim_node **stack,
                     cudaGraphExecUpdateResultInfo *info) {
    size_t i = 0, j = 0, count = 0;
    acu_sim_node *a, *b;
    forget_pairs(mine);
    forget_pairs(other);
    while ((b = next_last(other, &j))) {
        if (!(a = next_last(mine, &i))) {
            fail(info, cudaGraphExecUpdateErrorTopologyChanged, b, NULL);
            return false;
        }
        pair(a, b, stack, &count);
    }
    while (count) {
        a = stack[--count];
        if (!pair_before(a, a->pair, stack, &count, info))
            return false;
    }
    return knows_edges() || is_made_alike(mine, other, info);
}

/* All are paired, unless there are more last nodes of mine. */
static bool judge_pair(const acu_sim_node *mine, cudaGraphExecUpdateResultInfo *info) {
    enum cudaGraphExecUpdateResult result = !mine->pair
                                                ? cudaGraphExecUpdateErrorTopologyChanged
                                                : acu_sim_update_validate(mine->op, mine->pair->op);
    if (!result && mine->body_count != mine->pair->body_count)
        result = cudaGraphExecUpdateErrorParametersChanged;
    if (result)
        fail(info, result, mine->pair, NULL);
    return !result;
}

static bool judge(const acu_sim_graph *mine, const acu_sim_graph *other,
                  cudaGraphExecUpdateResultInfo *info) {
    acu_sim_node *node;
    if (mine->count != other->count) {
        fail(info,
             knows_edges() ? cudaGraphExecUpdateErrorTopologyChanged
                           : cudaGraphExecUpdateErrorNotSupported,
             NULL, NULL);
        return false;
    }
    acu_sim_node **stack = malloc((mine->count + 1) * sizeof(acu_sim_node *));
    bool good = stack && pair_all(mine, other, stack, info);
    free(stack);
    for (size_t i = 0; good && (node = next_node(mine, &i)) != NULL;) {
        good = judge_pair(node, info);
        for (unsigned k = 0; good && k < node->body_count; k++)
            good = judge(node->bodies[k], node->pair->bodies[k], info);
    }
    return good;
}

/* What was judged is taken over. */
static void take(acu_sim_graph *mine) {
    acu_sim_node *node;
    for (size_t i = 0; (node = next_node(mine, &i));) {
        node->pair->op->refs++;
        acu_sim_op_release(node->op);
        node->op = node->pair->op;
        for (unsigned k = 0; k < node->body_count; k++)
            take(node->bodies[k]);
    }
}

/* Its values and what it keeps; a launch under way still needs the old ones. */
static bool take_rest(acu_sim_exec *exec, const acu_sim_graph *other) {
    acu_sim_graph *mine = exec->graph;
    if (!acu_sim_conditions_copy(mine, other))
        return false;
    if (!exec->last || exec->last->done)
        acu_sim_user_objects_clear(mine);
    return acu_sim_user_objects_copy(mine, other);
}

cudaError_t acu_sim_update_graph(acu_sim_graph *mine, acu_sim_graph *other) {
    cudaGraphExecUpdateResultInfo info = {.result = cudaGraphExecUpdateSuccess};
    if (!other)
        return cudaErrorInvalidValue;
    if (!judge(mine, other, &info))
        return cudaErrorGraphExecUpdateFailure;
    take(mine);
    return cudaSuccess;
}

cudaError_t acu_sim_cudaGraphExecUpdate(cudaGraphExec_t hGraphExec, cudaGraph_t hGraph,
                                        cudaGraphExecUpdateResultInfo *resultInfo) {
    acu_sim_exec *exec = acu_sim_exec_of(hGraphExec);
    acu_sim_graph *graph = acu_sim_graph_of(hGraph);
    if (resultInfo)
        fail(resultInfo, cudaGraphExecUpdateError, NULL, NULL);
    SIM_TRY(acu_sim_require(SIM_NEEDS_CONTEXT));
    if (!exec || !graph || graph->moved || !resultInfo)
        return cudaErrorInvalidValue;
    if (!judge(exec->graph, graph, resultInfo))
        return cudaErrorGraphExecUpdateFailure;
    if (!take_rest(exec, graph))
        return cudaErrorMemoryAllocation;
    take(exec->graph);
    acu_sim_exec_discard_plan(exec);
    resultInfo->result = cudaGraphExecUpdateSuccess;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t hGraphExec,
                                                         cudaGraphNode_t node,
                                                         cudaGraph_t childGraph) {
    const struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeGraph,
                                               .graph = {.graph = childGraph}};
    return acu_sim_update_set_params(hGraphExec, node, &params);
}
