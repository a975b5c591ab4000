/* Changing what a node does, in its graph or in an executable one. */
#include "safe/graph/node_change.h"

#include "cudart_abi.h"
#include "core/call.h"
#include "safe/base/clear_stack.h"
#include "safe/base/closure.h"
#include "safe/base/event.h"
#include "safe/base/external_semaphore.h"
#include "safe/base/primary_context.h"
#include "safe/kernel/code_api.h"
#include "safe/kernel/launch.h"
#include "safe/memory/value.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- beginning and ending ---- */

/* Checks the exec and the node, and fills `raw`. Takes no lock. */
static int check_change(acu_node_change *c) {
    if (c->in_exec && !acu_is(c->exec, &acu_exec_class))
        return acu_object_refuse(c->call, c->exec, &acu_exec_class);
    int code = acu_node_check(c->call, c->node, &c->raw);
    if (code)
        return code;
    if (c->in_exec && c->exec->source && c->node.graph->root->salt != c->exec->source)
        return acu_fail_on(c->call, c->exec, ACU_ERROR_ARGUMENT,
                           "the node is not of the graph that was instantiated");
    return 0;
}

static void lock(const acu_node_change *c) {
    acu_graph_lock();
    if (c->in_exec)
        acu_exec_lock(c->exec);
}

static void unlock(const acu_node_change *c) {
    if (c->in_exec)
        acu_exec_unlock(c->exec);
    acu_graph_unlock();
}

/* Returns the public function's result, under the locks. CUDA's own errors also name the node,
 * which may have another type than the function. */
static int outcome(const acu_node_change *c, int code) {
    const void *changed = c->in_exec ? (const void *)c->exec : c->node.graph;
    char object[ACU_OBJECT_TEXT], text[ACU_OBJECT_TEXT], node[64];
    if (code <= 0)
        return acu_outcome(c->call, changed, code);
    snprintf(text, sizeof text, "%.70s, %s", acu_object_describe(changed, object),
             acu_node_describe(c->node.graph, c->raw, node));
    if (code == cudaErrorInvalidValue)
        acu_fail_hint("%s() %s, and the message names the type of this one; if the type is right, "
                      "the parameters are not",
                      c->call, c->takes ? c->takes : "changes nodes of one type only");
    acu_node_hint_at_copy(c->copy, code);
    return acu_cuda_failed(c->call, text, code);
}

/* Makes room for the list, so that nothing can fail once CUDA has changed the node. */
static int reserve(acu_node_change *c) {
    if (!c->in_exec)
        return acu_graph_reserve_kept(c->node.graph, c->list);
    c->previous = malloc(sizeof *c->previous);
    if (!c->previous)
        return acu_record(ACU_ERROR_HOST_MEMORY, "no memory for a change");
    int code = acu_kept_set_reserve(&c->exec->kept);
    return code ? code : acu_exec_reserve_uses(c->exec, c->list ? c->list->count : 0);
}

/* Ends what begin() began. Returns the public function's result for the result of CUDA's call.
 * Where CUDA refused, what the node used before stays kept. */
static int end(acu_node_change *c, int code) {
    acu_exec_previous *unused = c->previous;
    acu_guard_leave(&c->guard);
    if (!code && c->in_exec) {
        acu_exec_replace_kept(c->exec, c->node.id, c->list, c->previous);
        c->list = NULL;
        unused = acu_exec_take_unused(c->exec);
    } else {
        if (!code)
            c->list = acu_graph_replace_kept(c->node.graph, c->node.id, c->list);
        if (unused)
            *unused = (acu_exec_previous){.list = NULL};
    }
    code = outcome(c, code);
    unlock(c);
    acu_kept_list_free(c->list);
    acu_exec_previous_free(unused);
    return code;
}

/* Begins to change a node that keeps `count` objects from now on. Where this succeeds, the caller
 * calls CUDA and then end(); where this fails, the result is recorded and nothing is held. */
static int begin(acu_node_change *c, int device, const acu_object_use *keeps, size_t count) {
    int code = check_change(c);
    if (code)
        return code;
    acu_destroy_deferred();
    c->guard.changed = false;
    lock(c);
    code = acu_kept_list_new(keeps, count, &c->list);
    if (!code)
        code = reserve(c);
    if (!code && device >= 0)
        code = acu_guard_enter(&c->guard, device);
    if (code)
        (void)end(c, code);
    return code;
}

/* Calls CUDA's function for a node in an exec, or the one for a node in a graph. */
#define SET(c, name, ...)                                                                          \
    (int)((c)->in_exec ? cudaGraphExec##name((c)->exec->raw, (c)->raw, __VA_ARGS__)                \
                       : cudaGraph##name((c)->raw, __VA_ARGS__))

/* ---- kernels ---- */

int acu_node_change_kernel(acu_node_change *c, acu_kernel *kernel, const acu_grid *grid,
                           const acu_arg *args, size_t arg_count) {
    acu_prepared_launch p;
    acu_object_use keeps[ACU_LAUNCH_MAX_OBJECTS];
    int code = acu_launch_prepare(c->call, kernel, grid, args, arg_count, &p);
    if (!code)
        code = begin(c, acu_kernel_device(kernel), keeps, acu_launch_objects(&p, keeps));
    if (code)
        return code;
    return end(c, c->in_exec ? acu_launch_set_exec_node(&p, c->exec->raw, c->raw)
                             : acu_launch_set_node(&p, c->raw));
}

/* ---- copies and fills ---- */

int acu_node_change_copy(acu_node_change *c, const acu_copy *copy) {
    acu_node_params p = {.device = -1, .count = 0};
    int code = acu_node_params_of_copy(c->call, copy, &p);
    if (!code)
        code = begin(c, p.device, p.keeps, p.count);
    if (code)
        return code;
    code = SET(c, MemcpyNodeSetParams1D, p.copy.to, p.copy.from, p.copy.bytes, p.copy.kind);
    c->copy = copy;
    return end(c, code);
}

int acu_node_change_copies(acu_node_change *c, const acu_copy *copies, size_t count,
                           const acu_copy_attributes *attributes, size_t attribute_count) {
    acu_node_copies made;
    int code = acu_node_copies_make(c->call, copies, count, attributes, attribute_count, &made);
    if (code)
        return code;
    code = begin(c, made.device, made.keeps, made.keep_count);
    if (!code)
        code = end(c, SET(c, NodeSetParams, &made.params));
    acu_node_copies_free(&made);
    return code;
}

int acu_node_change_fill(acu_node_change *c, const acu_fill *fill) {
    acu_node_params p = {.device = -1, .count = 0};
    int code = acu_node_params_of_fill(c->call, fill, &p);
    if (!code)
        code = begin(c, p.device, p.keeps, p.count);
    return code ? code : end(c, SET(c, MemsetNodeSetParams, &p.fill));
}

/* ---- host functions, child graphs, events ---- */

/* A launch goes on waiting for the function in the node's own way. */
static int set_host(const acu_node_change *c, acu_kept_closure *kept) {
    const struct cudaHostNodeParams params = {acu_closure_run, kept};
    struct cudaGraphNodeParams now = {.type = cudaGraphNodeTypeEmpty};
    if (acu_call_exists(&acu_function_cudaLaunchHostFunc_v2)) {
        const int code = acu_node_read_params(c->raw, &now);
        if (code)
            return code;
    }
    if (now.type != cudaGraphNodeTypeHost || now.host.syncMode == cudaHostTaskBlocking)
        return SET(c, HostNodeSetParams, &params);
    now.host.fn = acu_closure_run;
    now.host.userData = kept;
    return SET(c, NodeSetParams, &now);
}

/* The caller destroys the closure where this fails. */
static int set_kept_host(acu_node_change *c, const acu_closure *closure) {
    if (!closure->call)
        return acu_fail(c->call, "", ACU_ERROR_ARGUMENT, "'closure.call' is NULL");
    acu_kept_closure *kept = acu_closure_new(c->call, closure);
    if (!kept)
        return ACU_ERROR_HOST_MEMORY;
    acu_object_use keep = {&kept->object, false};
    int code = begin(c, -1, &keep, 1);
    if (!code)
        code = end(c, set_host(c, kept));
    if (code)
        kept->closure.destroy = NULL;
    (void)acu_object_release(NULL, kept, kept->object.was);
    return code;
}

int acu_node_change_host(acu_node_change *c, const acu_closure *closure) {
    int code = set_kept_host(c, closure);
    if (code && closure->destroy)
        closure->destroy(closure->data);
    return code;
}

/* Sets the graph of a child node; the exec keeps all that the child graph keeps. */
static int set_child(acu_node_change *c, acu_graph *child) {
    acu_kept_set *kept = acu_graph_kept_set(child);
    int code = acu_kept_list_from_set(kept, &c->list);
    (void)acu_kept_set_release(kept);
    if (!code)
        code = reserve(c);
    return code ? code
                : (int)cudaGraphExecChildGraphNodeSetParams(c->exec->raw, c->raw, child->raw);
}

int acu_node_change_child(acu_node_change *c, acu_graph *child) {
    if (!acu_is(child, &acu_graph_class))
        return acu_object_refuse(c->call, child, &acu_graph_class);
    int code = acu_graph_check_uncaptured(c->call, child);
    if (!code)
        code = check_change(c);
    if (code)
        return code;
    acu_destroy_deferred();
    c->guard.changed = false;
    lock(c);
    return end(c, set_child(c, child));
}

static int set_event_of(const acu_node_change *c, cudaEvent_t event) {
    enum cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    int code = (int)cudaGraphNodeGetType(c->raw, &type);
    if (code)
        return code;
    return type == cudaGraphNodeTypeWaitEvent ? SET(c, EventWaitNodeSetEvent, event)
                                              : SET(c, EventRecordNodeSetEvent, event);
}

int acu_node_change_event(acu_node_change *c, acu_event *event) {
    if (!acu_is(event, &acu_event_class))
        return acu_object_refuse(c->call, event, &acu_event_class);
    acu_object_use keep = {&event->object, false};
    int code = begin(c, event->object.device, &keep, 1);
    acu_event_mark_recorded(event);
    return code ? code : end(c, set_event_of(c, event->raw));
}

/* ---- CUDA's own parameters ---- */

static cudaGraphExec_t exec_of(const acu_node_change *c) {
    return c->in_exec ? c->exec->raw : NULL;
}

/* Before 12.2 the runtime has one function for each type of node, and none for some: there
 * cudaGraphNodeSetParams() is refused with the version that it needs. */
static int set_params_by_type(const acu_node_change *c, struct cudaGraphNodeParams *params) {
    switch ((int)params->type) {
    case cudaGraphNodeTypeKernel:
        return acu_code_by_runtime.set_node_params(exec_of(c), c->raw, &params->kernel);
    case cudaGraphNodeTypeMemcpy:
        return SET(c, MemcpyNodeSetParams, &params->memcpy.copyParams);
    case cudaGraphNodeTypeMemset:
        return SET(c, MemsetNodeSetParams,
                   &((struct cudaMemsetParams){params->memset.dst, params->memset.pitch,
                                               params->memset.value, params->memset.elementSize,
                                               params->memset.width, params->memset.height}));
    case cudaGraphNodeTypeHost:
        return SET(c, HostNodeSetParams,
                   &((struct cudaHostNodeParams){params->host.fn, params->host.userData}));
    case cudaGraphNodeTypeWaitEvent:
        return SET(c, EventWaitNodeSetEvent, params->eventWait.event);
    case cudaGraphNodeTypeEventRecord:
        return SET(c, EventRecordNodeSetEvent, params->eventRecord.event);
    case cudaGraphNodeTypeExtSemaphoreSignal:
        return SET(c, ExternalSemaphoresSignalNodeSetParams,
                   &((struct cudaExternalSemaphoreSignalNodeParams){
                       params->extSemSignal.extSemArray, params->extSemSignal.paramsArray,
                       params->extSemSignal.numExtSems}));
    case cudaGraphNodeTypeExtSemaphoreWait:
        return SET(c, ExternalSemaphoresWaitNodeSetParams,
                   &((struct cudaExternalSemaphoreWaitNodeParams){params->extSemWait.extSemArray,
                                                                  params->extSemWait.paramsArray,
                                                                  params->extSemWait.numExtSems}));
    default:
        return SET(c, NodeSetParams, params);
    }
}

/* Returns whether the runtime refused a kernel that was loaded by the driver. Before 13.2 the
 * parameters do not say which API has loaded a kernel. */
static bool is_driver_kernel(int code, const struct cudaGraphNodeParams *params) {
    return params->type == cudaGraphNodeTypeKernel &&
           (code == cudaErrorInvalidDeviceFunction ||
            (code == cudaErrorNotSupported &&
             params->kernel.functionType == cudaKernelFunctionTypeFunction));
}

static int set_params(const acu_node_change *c, struct cudaGraphNodeParams *params) {
    acu_saved_record before;
    acu_record_save(&before);
    int code = acu_call_exists(&acu_function_cudaGraphNodeSetParams)
                   ? SET(c, NodeSetParams, params)
                   : set_params_by_type(c, params);
    if (!is_driver_kernel(code, params))
        return code;
    (void)cudaGetLastError();
    acu_record_restore(&before);
    return acu_code_by_driver.set_node_params(exec_of(c), c->raw, &params->kernel);
}

int acu_node_change_params(acu_node_change *c, struct cudaGraphNodeParams *params) {
    if (!params)
        return acu_fail(c->call, "", ACU_ERROR_ARGUMENT, "'params' is NULL");
    int code = begin(c, -1, NULL, 0);
    if (code)
        return code;
    c->takes = "needs parameters of the node's own type";
    return end(c, set_params(c, params));
}

int acu_node_change_memcpy(acu_node_change *c, const struct cudaMemcpy3DParms *params) {
    if (!params)
        return acu_fail(c->call, "", ACU_ERROR_ARGUMENT, "'params' is NULL");
    int code = begin(c, -1, NULL, 0);
    if (code)
        return code;
    acu_clear_stack();
    return end(c, SET(c, MemcpyNodeSetParams, params));
}

/* ---- semaphores ---- */

int acu_node_change_signals(acu_node_change *c, const acu_semaphore_signal *signals, size_t count) {
    acu_semaphore_list list;
    int code = acu_external_list_signals(c->call, signals, count, &list);
    if (code)
        return code;
    const struct cudaExternalSemaphoreSignalNodeParams params = {list.raw, &list.params->signal,
                                                                 (unsigned)count};
    code = begin(c, list.device, list.objects, count);
    if (!code)
        code = end(c, SET(c, ExternalSemaphoresSignalNodeSetParams, &params));
    acu_external_free_list(&list);
    return code;
}

int acu_node_change_waits(acu_node_change *c, const acu_semaphore_wait *waits, size_t count) {
    acu_semaphore_list list;
    int code = acu_external_list_waits(c->call, waits, count, &list);
    if (code)
        return code;
    const struct cudaExternalSemaphoreWaitNodeParams params = {list.raw, &list.params->wait,
                                                               (unsigned)count};
    code = begin(c, list.device, list.objects, count);
    if (!code)
        code = end(c, SET(c, ExternalSemaphoresWaitNodeSetParams, &params));
    acu_external_free_list(&list);
    return code;
}

/* ---- values in memory ---- */

/* The node keeps the context that it has, which CUDA wants to be told. */
static int set_values(const acu_node_change *c, acu_value_list *list) {
    CUDA_BATCH_MEM_OP_NODE_PARAMS params = {0};
    int code = acu_translate_driver(cuGraphBatchMemOpNodeGetParams(c->raw, &params));
    params.count = list->count;
    params.paramArray = list->raw;
    if (code)
        return code;
    return acu_translate_driver(
        c->in_exec ? cuGraphExecBatchMemOpNodeSetParams(c->exec->raw, c->raw, &params)
                   : cuGraphBatchMemOpNodeSetParams(c->raw, &params));
}

int acu_node_change_values(acu_node_change *c, const acu_value_operation *operations,
                           size_t count) {
    acu_value_list list;
    acu_primary_context primary;
    acu_device device = ACU_DEVICE_CURRENT;
    int code = acu_value_list_fill(c->call, operations, count, &list);
    if (!code)
        code = acu_device_resolve(c->call, &device);
    if (!code)
        code = begin(c, -1, list.objects, list.object_count);
    if (code)
        return code;
    c->takes = "needs as many operations as the node has, of the same actions";
    code = acu_primary_context_enter(&primary, device);
    if (!code)
        code = set_values(c, &list);
    acu_primary_context_leave(&primary);
    return end(c, code);
}

/* ---- enabled or not ---- */

int acu_node_change_enabled(acu_node_change *c, bool set, unsigned *enabled) {
    int code = check_change(c);
    if (code)
        return code;
    c->takes = "takes kernel, copy and fill nodes only";
    lock(c);
    code = (int)(set ? cudaGraphNodeSetEnabled(c->exec->raw, c->raw, *enabled)
                     : cudaGraphNodeGetEnabled(c->exec->raw, c->raw, enabled));
    if (!code && set)
        acu_exec_mark_changed(c->exec);
    code = outcome(c, code);
    unlock(c);
    return code;
}

/* ---- in a graph ---- */

acu_result acu_node_set_kernel(acu_node node, acu_kernel *kernel, const acu_grid *grid,
                               const acu_arg *args, size_t arg_count) {
    ACU_SCOPE();
    ACU_CHANGE_IN_GRAPH(c, node);
    return acu_node_change_kernel(&c, kernel, grid, args, arg_count);
}

acu_result acu_node_set_copy(acu_node node, const acu_copy *copy) {
    ACU_SCOPE();
    ACU_CHANGE_IN_GRAPH(c, node);
    return acu_node_change_copy(&c, copy);
}

acu_result acu_node_set_copy_batch(acu_node node, const acu_copy *copies, size_t count,
                                   const acu_copy_attributes *attributes, size_t attribute_count) {
    ACU_SCOPE();
    ACU_CHANGE_IN_GRAPH(c, node);
    return acu_node_change_copies(&c, copies, count, attributes, attribute_count);
}

acu_result acu_node_set_fill(acu_node node, const acu_fill *fill) {
    ACU_SCOPE();
    ACU_CHANGE_IN_GRAPH(c, node);
    return acu_node_change_fill(&c, fill);
}

acu_result acu_node_set_host(acu_node node, acu_closure closure) {
    ACU_SCOPE();
    ACU_CHANGE_IN_GRAPH(c, node);
    return acu_node_change_host(&c, &closure);
}

acu_result acu_node_set_event(acu_node node, acu_event *event) {
    ACU_SCOPE();
    ACU_CHANGE_IN_GRAPH(c, node);
    return acu_node_change_event(&c, event);
}

acu_result acu_node_set_memcpy(acu_node node, const struct cudaMemcpy3DParms *params) {
    ACU_SCOPE();
    ACU_CHANGE_IN_GRAPH(c, node);
    return acu_node_change_memcpy(&c, params);
}

acu_result acu_node_set_semaphore_signal(acu_node node, const acu_semaphore_signal *signals,
                                         size_t count) {
    ACU_SCOPE();
    ACU_CHANGE_IN_GRAPH(c, node);
    return acu_node_change_signals(&c, signals, count);
}

acu_result acu_node_set_semaphore_wait(acu_node node, const acu_semaphore_wait *waits,
                                       size_t count) {
    ACU_SCOPE();
    ACU_CHANGE_IN_GRAPH(c, node);
    return acu_node_change_waits(&c, waits, count);
}

acu_result acu_node_set_values(acu_node node, const acu_value_operation *operations, size_t count) {
    ACU_SCOPE();
    ACU_CHANGE_IN_GRAPH(c, node);
    return acu_node_change_values(&c, operations, count);
}

acu_result acu_node_set_params(acu_node node, struct cudaGraphNodeParams *params) {
    ACU_SCOPE();
    ACU_CHANGE_IN_GRAPH(c, node);
    return acu_node_change_params(&c, params);
}
