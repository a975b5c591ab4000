/* Executable graphs: instantiating, destroying and launching them. */
#include "sim/graph/exec.h"

#include "sim/caller.h"
#include "sim/code/execute.h"
#include "sim/device/device.h"
#include "sim/graph/conditional.h"
#include "sim/graph/edge.h"
#include "sim/graph/graph.h"
#include "sim/graph/graph_memory.h"
#include "sim/graph/kernel_node.h"
#include "sim/graph/node.h"
#include "sim/graph/plan.h"
#include "sim/memory/fill.h"
#include "sim/memory/range.h"
#include "sim/set.h"
#include "sim/stream/capture.h"
#include "sim/stream/op.h"
#include "sim/stream/stream.h"

#include <stdlib.h>

static acu_sim_exec *execs;
static acu_sim_set handles;
static unsigned last_id;

acu_sim_exec *acu_sim_exec_of(cudaGraphExec_t handle) {
    acu_sim_exec *exec = (acu_sim_exec *)(void *)handle;
    return acu_sim_set_has(&handles, exec) ? exec : NULL;
}

/* ---- making and taking back ---- */

acu_sim_plan *acu_sim_exec_plan(acu_sim_exec *exec) {
    if (!exec->plan)
        exec->plan = acu_sim_plan_new(exec->graph);
    return exec->plan;
}

void acu_sim_exec_discard_plan(acu_sim_exec *exec) {
    acu_sim_plan_release(exec->plan);
    exec->plan = NULL;
    exec->uploaded = exec->launched = false;
}

acu_sim_exec *acu_sim_exec_of_copy(const acu_sim_graph *copy) {
    acu_sim_exec *exec = execs;
    while (exec && exec->graph != copy)
        exec = exec->next;
    return exec;
}

acu_sim_exec *acu_sim_exec_of_device_node(cudaGraphDeviceNode_t handle, acu_sim_node **node) {
    acu_sim_exec *exec = execs;
    *node = NULL;
    while (exec && handle && !(*node = acu_sim_graph_find_updatable(exec->graph, handle)))
        exec = exec->next;
    return *node ? exec : NULL;
}

void acu_sim_exec_release(acu_sim_exec *exec) {
    if (--exec->refs)
        return;
    acu_sim_exec_discard_plan(exec);
    acu_sim_graph_free(exec->graph);
    acu_sim_op_release(exec->last);
    free(exec);
}

/* Takes an executable graph back from the program; its launches under way go on. */
static void destroy(acu_sim_exec *exec) {
    acu_sim_set_remove(&handles, exec);
    if (exec->previous)
        exec->previous->next = exec->next;
    else
        execs = exec->next;
    if (exec->next)
        exec->next->previous = exec->previous;
    acu_sim_exec_release(exec);
}

static acu_sim_exec *new_exec(const acu_sim_graph *graph, unsigned long long flags,
                              const void *where) {
    acu_sim_exec *exec = calloc(1, sizeof *exec);
    if (!exec)
        return NULL;
    exec->refs = 1;
    exec->id = ++last_id;
    exec->flags = flags & ~(unsigned long long)cudaGraphInstantiateFlagUpload;
    exec->where = where;
    exec->graph = acu_sim_graph_copy(graph);
    if (exec->graph)
        exec->graph->instanced = true;
    if (!exec->graph || !acu_sim_graph_own_updatable(exec->graph) || !acu_sim_exec_plan(exec) ||
        !acu_sim_set_add(&handles, exec)) {
        acu_sim_exec_release(exec);
        return NULL;
    }
    exec->next = execs;
    if (execs)
        execs->previous = exec;
    return execs = exec;
}

/* Returns the copy that an executable graph has of a graph, which may be in nodes of the graph that
 * was instantiated; NULL if it has none. */
static acu_sim_graph *copy_of(acu_sim_exec *exec, const acu_sim_graph *graph) {
    if (!graph->parent_node)
        return exec->graph->source == graph->id ? exec->graph : NULL;
    const acu_sim_node *parent = graph->parent_node;
    acu_sim_graph *outer = copy_of(exec, parent->graph);
    if (!outer || parent->id >= outer->copied)
        return NULL;
    for (unsigned i = 0; i < parent->body_count; i++)
        if (parent->bodies[i] == graph)
            return outer->nodes[parent->id]->bodies[i];
    return NULL;
}

acu_sim_node *acu_sim_exec_node(acu_sim_exec *exec, cudaGraphNode_t handle) {
    const acu_sim_node *node = acu_sim_node_of(handle);
    const acu_sim_graph *graph = node ? copy_of(exec, node->graph) : NULL;
    return graph && node->id < graph->copied ? graph->nodes[node->id] : NULL;
}

static void reset_device(acu_sim_device *device) {
    acu_sim_exec *next;
    for (acu_sim_exec *exec = execs; exec; exec = next) {
        next = exec->next;
        if (exec->graph->device == device)
            destroy(exec);
    }
}

static int leaks(int print) {
    int count = 0;
    for (const acu_sim_exec *exec = execs; exec; exec = exec->next, count++)
        if (print)
            acu_sim_caller_report("executable graph", exec, 0, exec->where);
    return count;
}

const acu_sim_noun acu_sim_exec_noun = {.reset_device = reset_device, .leaks = leaks};

/* ---- instantiating ---- */

/* Returns whether the flags are known, and may be used together. */
static bool are_valid_flags(unsigned long long flags, unsigned long long allowed) {
    const unsigned long long both =
        cudaGraphInstantiateFlagAutoFreeOnLaunch | cudaGraphInstantiateFlagDeviceLaunch;
    return !(flags & ~allowed) && (flags & both) != both;
}

/* Returns the id of the graph whose memory an executable graph would have. */
static unsigned memory_source(const acu_sim_exec *exec) {
    return exec->memory_of ? exec->memory_of : exec->graph->source;
}

bool acu_sim_exec_has_memory_of(const acu_sim_graph *graph, const acu_sim_exec *except) {
    const acu_sim_exec *exec = acu_sim_graph_has_memory(graph) ? execs : NULL;
    while (exec && (exec == except || graph->id != memory_source(exec) ||
                    !acu_sim_graph_has_memory(exec->graph)))
        exec = exec->next;
    return exec != NULL;
}

static cudaError_t refuse(cudaGraphInstantiateParams *params, cudaGraphInstantiateResult why,
                          acu_sim_node *node, cudaError_t result) {
    params->result_out = why;
    params->errNode_out = node ? acu_sim_node_handle(node) : NULL;
    return result;
}

/* Returns an error if the edges make a cycle. */
static cudaError_t validate_order(acu_sim_graph *graph, cudaGraphInstantiateParams *params) {
    acu_sim_node *odd;
    acu_sim_node **order = acu_sim_graph_order(graph, &odd);
    free(order);
    if (!order)
        return cudaErrorMemoryAllocation;
    if (!odd)
        return cudaSuccess;
    acu_record_reason("the edges make a cycle, which node %p is in or behind", (void *)odd);
    return refuse(params, cudaGraphInstantiateInvalidStructure, odd, cudaErrorInvalidValue);
}

/* One side of a copy. Managed memory is the host's if the direction of the copy says so. */
typedef enum side { UNKNOWN, HOST, ON_DEVICE, MANAGED } side;

static side side_of(const void *address, bool is_called_host) {
    const acu_sim_range *range = acu_sim_range_overlapping((uintptr_t)address, 1);
    return !range                                          ? UNKNOWN
           : range->kind == SIM_DEVICE                     ? ON_DEVICE
           : range->kind == SIM_MANAGED && !is_called_host ? MANAGED
                                                           : HOST;
}

/* Returns whether a device can launch a graph with such a node. It copies what it reaches itself:
 * no arrays, and no memory of the host that is not pinned; and its kernels do not use CUDA's device
 * runtime. */
static bool can_launch_on_device(const acu_sim_node *node) {
    if (node->op->type == cudaGraphNodeTypeMemcpy) {
        const struct cudaMemcpy3DParms *copy = &node->op->with.copy.params;
        return !copy->srcArray && !copy->dstArray && side_of(copy->srcPtr.ptr, false) &&
               side_of(copy->dstPtr.ptr, false);
    }
    if (node->op->type == cudaGraphNodeTypeKernel)
        return !acu_sim_execute_uses_runtime(node->op->with.launch->function);
    return node->op->type == cudaGraphNodeTypeMemset || node->op->type == cudaGraphNodeTypeGraph;
}

static bool copies_by_kernel(const struct cudaMemcpy3DParms *copy) {
    const bool within_host = copy->kind == cudaMemcpyHostToHost;
    const side to = side_of(copy->dstPtr.ptr, within_host || copy->kind == cudaMemcpyDeviceToHost),
               from =
                   side_of(copy->srcPtr.ptr, within_host || copy->kind == cudaMemcpyHostToDevice);
    return to && from && (to == MANAGED || from == MANAGED || (to == ON_DEVICE && from == to));
}

/* Rows without a gap are one. That 4096 bytes are few and 6141 are many was asked of a GPU; what is
 * between was not. */
static bool fills_by_kernel(const struct cudaMemsetParams *fill) {
    const size_t row = fill->width * fill->elementSize;
    const acu_sim_range *range = acu_sim_range_overlapping((uintptr_t)fill->dst, 1);
    return (range && range->kind == SIM_MANAGED) || (fill->height > 1 && fill->pitch != row) ||
           row * fill->height > 4096;
}

/* Returns whether a GPU does the work with a kernel, so that local memory no longer shrinks once
 * the graph is instantiated. */
static bool runs_as_kernel(const acu_sim_op *op) {
    switch (op->type) {
    case cudaGraphNodeTypeKernel:
    case cudaGraphNodeTypeConditional:
        return true;
    case cudaGraphNodeTypeMemcpy:
        return copies_by_kernel(&op->with.copy.params);
    case cudaGraphNodeTypeMemset:
        return fills_by_kernel(&op->with.fill.params);
    default:
        return false;
    }
}

/* Each handle must have a node, and no copy may exist of a graph with handles. */
static cudaError_t validate_conditions(const acu_sim_graph *graph,
                                       cudaGraphInstantiateParams *params) {
    for (size_t i = 0; i < graph->condition_count; i++)
        if (!graph->conditions[i].used) {
            acu_record_reason("no node of the graph has the conditional handle %llu",
                              graph->conditions[i].handle);
            return refuse(params, cudaGraphInstantiateConditionalHandleUnused, NULL,
                          cudaErrorInvalidValue);
        }
    return acu_sim_graph_has_conditions(graph) && acu_sim_graph_has_copies(graph)
               ? SIM_REFUSE(cudaErrorNotSupported,
                            "the graph has conditional nodes, and so at most one executable "
                            "graph at a time: destroy that, or update it")
               : cudaSuccess;
}

/* Refuses a node whose operation is not supported; `reason` is what follows "node 0x1234". */
static cudaError_t refuse_node(cudaGraphInstantiateParams *params, acu_sim_node *node,
                               const char *reason) {
    acu_record_reason("node %p %s", (void *)node, reason);
    return refuse(params, cudaGraphInstantiateNodeOperationNotSupported, node,
                  cudaErrorInvalidValue);
}

/* A copy that a device cannot do is one of several devices for CUDA, the host among them. */
static cudaError_t refuse_launch(cudaGraphInstantiateParams *params, acu_sim_node *node) {
    const cudaError_t result = refuse_node(
        params, node,
        "cannot be launched by a device: with cudaGraphInstantiateFlagDeviceLaunch a graph has "
        "kernels that do not use the device runtime, fills, child graphs, and copies without "
        "arrays and "
        "pageable memory only");
    if (node->op->type == cudaGraphNodeTypeMemcpy)
        params->result_out = cudaGraphInstantiateMultipleDevicesNotSupported;
    return result;
}

static cudaError_t validate_launch_flags(acu_sim_node *node, cudaGraphInstantiateParams *params) {
    return params->flags & cudaGraphInstantiateFlagDeviceLaunch && !can_launch_on_device(node)
               ? refuse_launch(params, node)
               : cudaSuccess;
}

/* Returns why a graph cannot be instantiated, or a graph in its nodes. */
static cudaError_t validate(acu_sim_graph *graph, cudaGraphInstantiateParams *params) {
    cudaError_t result = validate_order(graph, params);
    for (size_t i = 0; !result && i < graph->size; i++) {
        acu_sim_node *node = graph->nodes[i];
        if (node)
            result = validate_launch_flags(node, params);
        if (!result && node && node->op->type == cudaGraphNodeTypeMemset &&
            acu_sim_fill_instantiate(node->op))
            result = refuse(params, cudaGraphInstantiateError, node, cudaErrorInvalidValue);
        if (node && (!result || node->op->type != cudaGraphNodeTypeMemset) &&
            runs_as_kernel(node->op))
            graph->device->keeps_local = true;
        if (!result && node && !acu_sim_conditional_can_instantiate(node))
            result = refuse_node(params, node,
                                 "is conditional without a handle of the graph, or is in the graph "
                                 "of a conditional node, where nodes of its type are not allowed");
        for (unsigned j = 0; !result && node && j < node->body_count; j++)
            result = validate(node->bodies[j], params);
    }
    return result;
}

static bool has_exec(const acu_sim_graph *graph) {
    const acu_sim_exec *exec = execs;
    while (exec && exec->graph->source != graph->id)
        exec = exec->next;
    return exec != NULL;
}

static cudaError_t instantiate(cudaGraphExec_t *exec, cudaGraph_t handle,
                               unsigned long long allowed, cudaGraphInstantiateParams *params,
                               const void *where) {
    acu_sim_exec *made = NULL;
    acu_sim_graph *graph = acu_sim_graph_of(handle);
    params->result_out = cudaGraphInstantiateError;
    params->errNode_out = NULL;
    if (!exec)
        return SIM_REFUSE(cudaErrorInvalidValue, "the address of the new executable graph is NULL");
    if (!are_valid_flags(params->flags, allowed))
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "flags 0x%llx are not known here, or are those of AutoFreeOnLaunch and "
                          "DeviceLaunch together",
                          params->flags);
    if (!(params->flags & cudaGraphInstantiateFlagUpload)) /* which asked about its stream */
        SIM_TRY(acu_sim_capture_allows_unsafe());
    if (!graph)
        return acu_sim_graph_refuse_handle(handle);
    if (graph->moved)
        return SIM_REFUSE(cudaErrorNotSupported,
                          "the graph was moved into a node: instantiate the graph of that node");
    if (graph->parent_node && graph->parent_node->op->type == cudaGraphNodeTypeGraph)
        return SIM_REFUSE(cudaErrorNotSupported,
                          "the graph is in a child graph node: instantiate a clone of it");
    SIM_TRY(validate_conditions(graph, params));
    if (acu_sim_graph_is_updatable(graph) && has_exec(graph))
        return SIM_REFUSE(cudaErrorNotSupported,
                          "the graph has kernel nodes that the device can update, and so at most "
                          "one executable graph at a time: destroy that first");
    if (acu_sim_exec_has_memory_of(graph, NULL))
        return acu_sim_graph_refuse_memory(
            "it has one executable graph at a time: destroy that, or launch it again");
    SIM_TRY(validate(graph, params));
    if (!(made = new_exec(graph, params->flags, where)))
        return cudaErrorMemoryAllocation;
    *exec = (cudaGraphExec_t)(void *)made;
    params->result_out = cudaGraphInstantiateSuccess;
    return cudaSuccess;
}

static const unsigned long long always_allowed = cudaGraphInstantiateFlagAutoFreeOnLaunch |
                                                 cudaGraphInstantiateFlagDeviceLaunch |
                                                 cudaGraphInstantiateFlagUseNodePriority;

cudaError_t acu_sim_cudaGraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                         unsigned long long flags) {
    cudaGraphInstantiateParams params = {.flags = flags};
    return instantiate(pGraphExec, graph, always_allowed, &params, SIM_CALLER);
}

cudaError_t acu_sim_cudaGraphInstantiateWithFlags(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                                  unsigned long long flags) {
    cudaGraphInstantiateParams params = {.flags = flags};
    return instantiate(pGraphExec, graph, always_allowed, &params, SIM_CALLER);
}

cudaError_t acu_sim_cudaGraphInstantiateWithParams(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                                   cudaGraphInstantiateParams *instantiateParams) {
    cudaGraphInstantiateParams none = {.flags = ~0ull};
    cudaGraphInstantiateParams *params = instantiateParams ? instantiateParams : &none;
    if (instantiateParams && params->flags & cudaGraphInstantiateFlagUpload) {
        acu_sim_stream *stream;
        params->result_out = cudaGraphInstantiateError;
        SIM_TRY(acu_sim_stream_usable(params->uploadStream, &stream));
        SIM_TRY(acu_sim_capture_allows(stream, SIM_REFUSES));
    }
    cudaError_t result = instantiate(
        pGraphExec, graph, always_allowed | cudaGraphInstantiateFlagUpload, params, SIM_CALLER);
    if (!result && params->flags & cudaGraphInstantiateFlagUpload)
        result = acu_sim_cudaGraphUpload(*pGraphExec, params->uploadStream);
    return result;
}

static cudaError_t find(cudaGraphExec_t handle, acu_sim_exec **exec) {
    *exec = acu_sim_exec_of(handle);
    return *exec ? cudaSuccess : acu_sim_exec_refuse_handle(handle);
}

cudaError_t acu_sim_cudaGraphExecDestroy(cudaGraphExec_t graphExec) {
    acu_sim_exec *exec;
    SIM_TRY(find(graphExec, &exec));
    SIM_TRY(acu_sim_capture_allows_unsafe());
    destroy(exec);
    return cudaSuccess;
}

cudaError_t acu_sim_cudaGraphExecGetFlags(cudaGraphExec_t graphExec, unsigned long long *flags) {
    acu_sim_exec *exec;
    SIM_TRY(find(graphExec, &exec));
    if (!flags)
        return cudaErrorInvalidValue;
    /* CUDA does not report that nodes have priorities. */
    *flags = exec->flags & ~(unsigned long long)cudaGraphInstantiateFlagUseNodePriority;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaGraphExecGetId(cudaGraphExec_t hGraphExec, unsigned int *graphID) {
    SIM_TRY(acu_sim_driver_has(&acu_function_cuGraphExecGetId));
    const acu_sim_exec *exec = acu_sim_exec_of(hGraphExec);
    if (!exec || !graphID)
        return cudaErrorInvalidValue;
    *graphID = exec->id;
    return cudaSuccess;
}

/* ---- launching ---- */

cudaError_t acu_sim_cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream) {
    acu_sim_stream *s;
    SIM_TRY(acu_sim_stream_usable(stream, &s));
    SIM_TRY(acu_sim_capture_allows(s, SIM_REFUSES));
    acu_sim_exec *exec = acu_sim_exec_of(graphExec);
    return exec ? acu_sim_graph_launch_start(exec, s) : acu_sim_exec_refuse_handle(graphExec);
}

/* The simulator has nothing to upload, but the call takes its place in the order of the stream. */
cudaError_t acu_sim_cudaGraphUpload(cudaGraphExec_t graphExec, cudaStream_t stream) {
    acu_sim_stream *s;
    acu_sim_op *op = NULL;
    SIM_TRY(acu_sim_stream_usable(stream, &s));
    SIM_TRY(acu_sim_capture_allows(s, SIM_REFUSES));
    acu_sim_exec *exec = acu_sim_exec_of(graphExec);
    if (!exec)
        return acu_sim_exec_refuse_handle(graphExec);
    if (!(op = acu_sim_op_new(cudaGraphNodeTypeEmpty, NULL)))
        return cudaErrorMemoryAllocation;
    exec->uploaded = true;
    return acu_sim_stream_submit(s, op, false);
}
