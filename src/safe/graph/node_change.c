/* Changes: of executable graphs as a whole, and of nodes, in graphs and in executable ones. */
#include "cudart_abi.h"
#include "core/call.h"
#include "safe/base/closure.h"
#include "safe/base/event.h"
#include "safe/graph/exec.h"
#include "safe/kernel/launch.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

static_assert((int)ACU_UPDATE_ATTRIBUTES_CHANGED == (int)cudaGraphExecUpdateErrorAttributesChanged,
              "");

/* ---- updating ----------------------------------------------------------------------------------
 */

static const char *const refusals[] = {"",
                                       "the update failed",
                                       "the graphs have other nodes or dependencies",
                                       "a node is of another kind",
                                       "a kernel is another one",
                                       "parameters changed that must stay",
                                       "something about the node cannot be updated",
                                       "the kernel is another one in a way that cannot be updated",
                                       "attributes of the node changed that must stay"};

static int refuse_update(const char *call, acu_exec *exec, acu_graph *graph,
                         const cudaGraphExecUpdateResultInfo *info, int code) {
    char object[ACU_OBJECT_TEXT], said[ACU_OBJECT_TEXT], node[64] = "";
    unsigned result = (unsigned)info->result;
    const char *why = result < sizeof refusals / sizeof *refusals ? refusals[result] : "";
    acu_object_describe(exec, object);
    if (info->errorNode)
        acu_node_describe(graph, info->errorNode, node);
    snprintf(said, sizeof said, "%.50s%s%s%s%s", object, *why ? ": " : "", why,
             *node ? ", at " : "", node);
    if (code == cudaErrorGraphExecUpdateFailure)
        (void)cudaGetLastError(); /* an answer */
    acu_cuda_failed(call, said, code);
    acu_fail_hint("the executable graph is as before; instantiate the other one instead");
    return code;
}

static int update_locked(acu_exec *exec, acu_graph *graph, acu_exec_previous *old,
                         acu_exec_update_info *update) {
    cudaGraphExecUpdateResultInfo info = {0};
    acu_kept_set *kept = acu_graph_kept_set(graph);
    int code =
        acu_outcome("acu_exec_update", exec, acu_exec_reserve_uses(exec, acu_kept_set_size(kept)));
    if (!code && !acu_graph_reserve_nodes(graph, 1))
        code = acu_fail("acu_exec_update", "", ACU_ERROR_HOST_MEMORY, "no memory for a node");
    if (!code) {
        code = (int)cudaGraphExecUpdate(exec->raw, graph->raw, &info);
        if (code)
            refuse_update("acu_exec_update", exec, graph, &info, code);
        if ((unsigned)info.result <= ACU_UPDATE_ATTRIBUTES_CHANGED)
            update->result = (acu_exec_update_result)info.result;
        update->error_node = code ? acu_node_from_raw(graph, info.errorNode) : (acu_node){NULL, 0};
    }
    if (!code)
        acu_exec_replace_all_kept(exec, kept, old);
    else
        (void)acu_kept_set_release(kept);
    return code;
}

acu_result acu_exec_update(acu_exec *exec, acu_graph *graph, acu_exec_update_info *update) {
    acu_exec_update_info unwanted, *told = update ? update : &unwanted;
    *told = (acu_exec_update_info){ACU_UPDATE_ERROR, {NULL, 0}};
    acu_destroy_deferred();
    ACU_NEED(exec, acu_exec_class);
    ACU_NEED(graph, acu_graph_class);
    ACU_TRY(acu_graph_check_uncaptured(__func__, graph));
    acu_exec_previous *old = malloc(sizeof *old);
    ACU_REQUIRE(old, ACU_ERROR_HOST_MEMORY, "no memory for an update");
    acu_graph_lock();
    acu_exec_lock(exec);
    int code = update_locked(exec, graph, old, told);
    acu_exec_previous *unused = acu_exec_take_unused(exec);
    acu_exec_unlock(exec);
    acu_graph_unlock();
    if (code)
        free(old);
    acu_exec_previous_free(unused);
    return code;
}

/* ---- changing a node ---------------------------------------------------------------------------
 */

/* A change that is being made. Between begin() and end() exec and graph are locked. */
typedef struct changing {
    const char *call;
    bool in_exec;
    acu_exec *exec;
    acu_node node;
    cudaGraphNode_t raw;
    acu_kept_list *list; /* what the node keeps from now on; after end(), what it kept before */
    acu_exec_previous *retired; /* of an exec: for that */
    acu_guard guard;
} changing;

#define IN_EXEC(c)  changing c = {.call = __func__, true, exec, node}
#define IN_GRAPH(c) changing c = {.call = __func__, false, NULL, node}

static int check_change(changing *c) {
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

static void lock(const changing *c) {
    acu_graph_lock();
    if (c->in_exec)
        acu_exec_lock(c->exec);
}

static void unlock(const changing *c) {
    if (c->in_exec)
        acu_exec_unlock(c->exec);
    acu_graph_unlock();
}

/* Under the lock. CUDA's own refusals name the node, too: it may be of another kind. */
static int outcome(const changing *c, int code) {
    const void *changed = c->in_exec ? (const void *)c->exec : c->node.graph;
    char object[ACU_OBJECT_TEXT], said[ACU_OBJECT_TEXT], node[64];
    if (code <= 0)
        return acu_outcome(c->call, changed, code);
    snprintf(said, sizeof said, "%.70s, %s", acu_object_describe(changed, object),
             acu_node_describe(c->node.graph, c->raw, node));
    return acu_cuda_failed(c->call, said, code);
}

/* Room for the list, so that nothing can fail once CUDA has changed the node. */
static int reserve(changing *c) {
    if (!c->in_exec)
        return acu_graph_reserve_kept(c->node.graph, c->list);
    c->retired = malloc(sizeof *c->retired);
    if (!c->retired)
        return acu_record(ACU_ERROR_HOST_MEMORY, "no memory for a change");
    int code = acu_kept_set_reserve(&c->exec->kept);
    return code ? code : acu_exec_reserve_uses(c->exec, c->list ? c->list->count : 0);
}

/* Nothing that the node used is given up where CUDA refused. */
static int end(changing *c, int code) {
    acu_exec_previous *unused = c->retired;
    acu_guard_leave(&c->guard);
    if (!code && c->in_exec) {
        acu_exec_replace_kept(c->exec, c->node.id, c->list, c->retired);
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

/* On success, end() follows. */
static int begin(changing *c, int device, const acu_object_use *keeps, size_t count) {
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

/* CUDA's function for the exec's node, or the one for the graph's. */
#define SET(c, name, ...)                                                                          \
    (int)((c)->in_exec ? cudaGraphExec##name((c)->exec->raw, (c)->raw, __VA_ARGS__)                \
                       : cudaGraph##name((c)->raw, __VA_ARGS__))

/* ---- kernels -----------------------------------------------------------------------------------
 */

static int set_kernel(changing *c, acu_kernel *kernel, const acu_grid *grid, const acu_arg *args,
                      size_t arg_count) {
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

acu_result acu_exec_set_kernel(acu_exec *exec, acu_node node, acu_kernel *kernel,
                               const acu_grid *grid, const acu_arg *args, size_t arg_count) {
    IN_EXEC(c);
    return set_kernel(&c, kernel, grid, args, arg_count);
}

acu_result acu_node_set_kernel(acu_node node, acu_kernel *kernel, const acu_grid *grid,
                               const acu_arg *args, size_t arg_count) {
    IN_GRAPH(c);
    return set_kernel(&c, kernel, grid, args, arg_count);
}

/* ---- copies and fills --------------------------------------------------------------------------
 */

static int set_copy(changing *c, const acu_copy *copy) {
    acu_node_params p = {.device = -1, .count = 0};
    int code = acu_node_params_of_copy(c->call, copy, &p);
    if (!code)
        code = begin(c, p.device, p.keeps, p.count);
    if (code)
        return code;
    code = SET(c, MemcpyNodeSetParams1D, p.copy.to, p.copy.from, p.copy.bytes, p.copy.kind);
    return acu_node_hint_at_copy(copy, end(c, code));
}

acu_result acu_exec_set_copy(acu_exec *exec, acu_node node, const acu_copy *copy) {
    IN_EXEC(c);
    return set_copy(&c, copy);
}

acu_result acu_node_set_copy(acu_node node, const acu_copy *copy) {
    IN_GRAPH(c);
    return set_copy(&c, copy);
}

static int set_fill(changing *c, const acu_fill *fill) {
    acu_node_params p = {.device = -1, .count = 0};
    int code = acu_node_params_of_fill(c->call, fill, &p);
    if (!code)
        code = begin(c, p.device, p.keeps, p.count);
    return code ? code : end(c, SET(c, MemsetNodeSetParams, &p.fill));
}

acu_result acu_exec_set_fill(acu_exec *exec, acu_node node, const acu_fill *fill) {
    IN_EXEC(c);
    return set_fill(&c, fill);
}

acu_result acu_node_set_fill(acu_node node, const acu_fill *fill) {
    IN_GRAPH(c);
    return set_fill(&c, fill);
}

/* ---- the host, other graphs, events ------------------------------------------------------------
 */

/* The closure is destroyed by the caller where this fails. */
static int set_kept_host(changing *c, const acu_closure *closure) {
    if (!closure->call)
        return acu_fail(c->call, "", ACU_ERROR_ARGUMENT, "'closure.call' is NULL");
    acu_kept_closure *kept = acu_closure_new(c->call, closure);
    if (!kept)
        return ACU_ERROR_HOST_MEMORY;
    acu_object_use keep = {&kept->object, false};
    struct cudaHostNodeParams params = {acu_closure_run, kept};
    int code = begin(c, -1, &keep, 1);
    if (!code)
        code = end(c, SET(c, HostNodeSetParams, &params));
    if (code)
        kept->closure.destroy = NULL;
    (void)acu_object_release(NULL, kept, kept->object.was);
    return code;
}

static int set_host(changing *c, const acu_closure *closure) {
    int code = set_kept_host(c, closure);
    if (code && closure->destroy)
        closure->destroy(closure->data);
    return code;
}

acu_result acu_exec_set_host(acu_exec *exec, acu_node node, acu_closure closure) {
    IN_EXEC(c);
    return set_host(&c, &closure);
}

acu_result acu_node_set_host(acu_node node, acu_closure closure) {
    IN_GRAPH(c);
    return set_host(&c, &closure);
}

static int set_child(changing *c, acu_graph *child) {
    acu_kept_set *kept = acu_graph_kept_set(child);
    int code = acu_kept_list_from_set(kept, &c->list);
    (void)acu_kept_set_release(kept);
    if (!code)
        code = reserve(c);
    return code ? code
                : (int)cudaGraphExecChildGraphNodeSetParams(c->exec->raw, c->raw, child->raw);
}

acu_result acu_exec_set_child(acu_exec *exec, acu_node node, acu_graph *child) {
    IN_EXEC(c);
    ACU_NEED(child, acu_graph_class);
    ACU_TRY(acu_graph_check_uncaptured(__func__, child));
    ACU_TRY(check_change(&c));
    acu_destroy_deferred();
    c.guard.changed = false;
    lock(&c);
    return end(&c, set_child(&c, child));
}

static int set_event_of(const changing *c, cudaEvent_t event) {
    enum cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    int code = (int)cudaGraphNodeGetType(c->raw, &type);
    if (code)
        return code;
    return type == cudaGraphNodeTypeWaitEvent ? SET(c, EventWaitNodeSetEvent, event)
                                              : SET(c, EventRecordNodeSetEvent, event);
}

static int set_event(changing *c, acu_event *event) {
    if (!acu_is(event, &acu_event_class))
        return acu_object_refuse(c->call, event, &acu_event_class);
    acu_object_use keep = {&event->object, false};
    int code = begin(c, event->object.device, &keep, 1);
    acu_event_mark_recorded(event);
    return code ? code : end(c, set_event_of(c, event->raw));
}

acu_result acu_exec_set_event(acu_exec *exec, acu_node node, acu_event *event) {
    IN_EXEC(c);
    return set_event(&c, event);
}

acu_result acu_node_set_event(acu_node node, acu_event *event) {
    IN_GRAPH(c);
    return set_event(&c, event);
}

/* ---- raw ---------------------------------------------------------------------------------------
 */

static cudaGraphExec_t exec_of(const changing *c) {
    return c->in_exec ? c->exec->raw : NULL;
}

/* Before 12.2 there is one function for each kind of node. Those for all know what it needs. */
static int set_raw_of_kind(const changing *c, struct cudaGraphNodeParams *params) {
    switch ((int)params->type) {
    case cudaGraphNodeTypeKernel:
        return acu_runtime_backend.set_node_params(exec_of(c), c->raw, &params->kernel);
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

/* Kernels that the driver has loaded are none of the runtime's; before 13.2 it cannot be told which
 * ones are. */
static bool is_the_drivers(int code, const struct cudaGraphNodeParams *params) {
    return params->type == cudaGraphNodeTypeKernel &&
           (code == cudaErrorInvalidDeviceFunction ||
            (code == cudaErrorNotSupported &&
             params->kernel.functionType == cudaKernelFunctionTypeFunction));
}

static int put_raw(const changing *c, struct cudaGraphNodeParams *params) {
    acu_saved_record before;
    acu_record_save(&before);
    int code = acu_call_exists(&acu_function_cudaGraphNodeSetParams) ? SET(c, NodeSetParams, params)
                                                                     : set_raw_of_kind(c, params);
    if (!is_the_drivers(code, params))
        return code;
    (void)cudaGetLastError();
    acu_record_restore(&before);
    return acu_driver_backend.set_node_params(exec_of(c), c->raw, &params->kernel);
}

static int set_raw(changing *c, struct cudaGraphNodeParams *params) {
    if (!params)
        return acu_fail(c->call, "", ACU_ERROR_ARGUMENT, "'params' is NULL");
    int code = begin(c, -1, NULL, 0);
    if (code)
        return code;
    return end(c, put_raw(c, params));
}

static int set_memcpy(changing *c, const struct cudaMemcpy3DParms *params) {
    if (!params)
        return acu_fail(c->call, "", ACU_ERROR_ARGUMENT, "'params' is NULL");
    int code = begin(c, -1, NULL, 0);
    return code ? code : end(c, SET(c, MemcpyNodeSetParams, params));
}

acu_result acu_exec_set_memcpy(acu_exec *exec, acu_node node,
                               const struct cudaMemcpy3DParms *params) {
    IN_EXEC(c);
    return set_memcpy(&c, params);
}

acu_result acu_node_set_memcpy(acu_node node, const struct cudaMemcpy3DParms *params) {
    IN_GRAPH(c);
    return set_memcpy(&c, params);
}

static int set_signal(changing *c, const struct cudaExternalSemaphoreSignalNodeParams *params) {
    if (!params)
        return acu_fail(c->call, "", ACU_ERROR_ARGUMENT, "'params' is NULL");
    int code = begin(c, -1, NULL, 0);
    return code ? code : end(c, SET(c, ExternalSemaphoresSignalNodeSetParams, params));
}

acu_result
acu_exec_set_semaphore_signal(acu_exec *exec, acu_node node,
                              const struct cudaExternalSemaphoreSignalNodeParams *params) {
    IN_EXEC(c);
    return set_signal(&c, params);
}

acu_result
acu_node_set_semaphore_signal(acu_node node,
                              const struct cudaExternalSemaphoreSignalNodeParams *params) {
    IN_GRAPH(c);
    return set_signal(&c, params);
}

static int set_wait(changing *c, const struct cudaExternalSemaphoreWaitNodeParams *params) {
    if (!params)
        return acu_fail(c->call, "", ACU_ERROR_ARGUMENT, "'params' is NULL");
    int code = begin(c, -1, NULL, 0);
    return code ? code : end(c, SET(c, ExternalSemaphoresWaitNodeSetParams, params));
}

acu_result acu_exec_set_semaphore_wait(acu_exec *exec, acu_node node,
                                       const struct cudaExternalSemaphoreWaitNodeParams *params) {
    IN_EXEC(c);
    return set_wait(&c, params);
}

acu_result acu_node_set_semaphore_wait(acu_node node,
                                       const struct cudaExternalSemaphoreWaitNodeParams *params) {
    IN_GRAPH(c);
    return set_wait(&c, params);
}

acu_result acu_exec_set_params(acu_exec *exec, acu_node node, struct cudaGraphNodeParams *params) {
    IN_EXEC(c);
    return set_raw(&c, params);
}

acu_result acu_node_set_params(acu_node node, struct cudaGraphNodeParams *params) {
    IN_GRAPH(c);
    return set_raw(&c, params);
}

/* ---- left out or not ---------------------------------------------------------------------------
 */

static int with_node(changing *c, bool set, unsigned *enabled) {
    int code = check_change(c);
    if (code)
        return code;
    lock(c);
    code = (int)(set ? cudaGraphNodeSetEnabled(c->exec->raw, c->raw, *enabled)
                     : cudaGraphNodeGetEnabled(c->exec->raw, c->raw, enabled));
    code = outcome(c, code);
    unlock(c);
    return code;
}

acu_result acu_exec_set_enabled(acu_exec *exec, acu_node node, bool enabled) {
    unsigned value = enabled;
    IN_EXEC(c);
    return with_node(&c, true, &value);
}

acu_result acu_exec_is_enabled(acu_exec *exec, acu_node node, bool *enabled) {
    unsigned value = 0;
    IN_EXEC(c);
    ACU_NEED_POINTER(enabled);
    *enabled = false;
    ACU_TRY(with_node(&c, false, &value));
    *enabled = value != 0;
    return 0;
}
