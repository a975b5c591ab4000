/* Changes of executable graphs: as a whole, or node by node. */
#include "event.h"
#include "exec.h"
#include "launch.h"

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
    acu_describe(exec, object);
    if (info->errorNode)
        acu_node_describe(graph, info->errorNode, node);
    snprintf(said, sizeof said, "%.50s%s%s%s%s", object, *why ? ": " : "", why,
             *node ? ", at " : "", node);
    if (code == cudaErrorGraphExecUpdateFailure)
        (void)cudaGetLastError(); /* an answer */
    acu_blame(call, said, code);
    acu_hint("the executable graph is as before; instantiate the other one instead");
    return code;
}

static int update_locked(acu_exec *exec, acu_graph *graph, acu_change *old, acu_update *update) {
    cudaGraphExecUpdateResultInfo info = {0};
    acu_bag *bag = acu_graph_bag(graph);
    int code = acu_outcome("acu_exec_update", exec, acu_exec_reserve(exec, acu_bag_size(bag)));
    if (!code && !acu_nodes_reserve(graph, 1))
        code = acu_fault("acu_exec_update", "", ACU_ERROR_HOST_MEMORY, "no memory for a node");
    if (!code) {
        code = (int)cudaGraphExecUpdate(exec->raw, graph->raw, &info);
        if (code)
            refuse_update("acu_exec_update", exec, graph, &info, code);
        if ((unsigned)info.result <= ACU_UPDATE_ATTRIBUTES_CHANGED)
            update->outcome = (acu_update_outcome)info.result;
        update->error_node = code ? acu_node_of(graph, info.errorNode) : (acu_node){NULL, 0};
    }
    if (!code)
        acu_exec_take_over(exec, bag, old);
    else
        (void)acu_bag_release(bag);
    return code;
}

acu_result acu_exec_update(acu_exec *exec, acu_graph *graph, acu_update *update) {
    acu_update unwanted, *told = update ? update : &unwanted;
    *told = (acu_update){ACU_UPDATE_ERROR, {NULL, 0}};
    acu_destroy_deferred();
    ACU_NEED(exec, acu_exec_class);
    ACU_NEED(graph, acu_graph_class);
    ACU_TRY(acu_graph_not_captured(__func__, graph));
    acu_change *old = calloc(1, sizeof *old);
    ACU_REQUIRE(old, ACU_ERROR_HOST_MEMORY, "no memory for an update");
    acu_graph_lock();
    pthread_mutex_lock(&exec->lock);
    int code = update_locked(exec, graph, old, told);
    acu_change *unused = acu_exec_take_unused(exec);
    pthread_mutex_unlock(&exec->lock);
    acu_graph_unlock();
    if (code)
        free(old);
    acu_changes_free(unused);
    return code;
}

/* ---- changing a node ---------------------------------------------------------------------------
 */

/* A change that is being made. Between begin() and end() exec and graph are locked. */
typedef struct changing {
    const char *call;
    acu_exec *exec;
    acu_node node;
    cudaGraphNode_t raw;
    acu_change *change;
    acu_guard guard;
} changing;

#define CHANGING(c) changing c = {.call = __func__, exec, node}

static int check_change(changing *c) {
    char text[ACU_OBJECT_TEXT];
    if (!acu_is(c->exec, &acu_exec_class))
        return acu_bad_handle(c->call, c->exec, &acu_exec_class);
    int code = acu_node_check(c->call, c->node, &c->raw);
    if (code)
        return code;
    if (c->exec->source && c->node.graph->root->salt != c->exec->source)
        return acu_fault(c->call, acu_describe(c->exec, text), ACU_ERROR_ARGUMENT,
                         "the node is not of the graph that was instantiated");
    return 0;
}

static int keep_in(acu_change *change, const acu_kept *keeps, size_t count) {
    int code = 0;
    for (size_t i = 0; i < count && !code; i++)
        code = acu_bag_add(&change->bag, keeps[i].object, keeps[i].writes);
    return code;
}

static void unlock(changing *c) {
    pthread_mutex_unlock(&c->exec->lock);
    acu_graph_unlock();
}

/* On success, end() follows. */
static int begin(changing *c, int device, const acu_kept *keeps, size_t count) {
    int code = check_change(c);
    if (code)
        return code;
    acu_destroy_deferred();
    c->change = calloc(1, sizeof *c->change);
    if (!c->change)
        return acu_fault(c->call, "", ACU_ERROR_HOST_MEMORY, "no memory for a change");
    c->change->node = c->node.id;
    acu_graph_lock();
    pthread_mutex_lock(&c->exec->lock);
    c->guard.changed = false;
    code = keep_in(c->change, keeps, count);
    if (!code && device >= 0)
        code = acu_guard_enter(&c->guard, device);
    if (!code)
        return 0;
    unlock(c);
    acu_changes_free(c->change);
    return acu_outcome(c->call, c->exec, code);
}

/* Nothing that the node used is given up where CUDA refused. */
static int end(changing *c, int code) {
    acu_change *unused = c->change;
    acu_guard_leave(&c->guard);
    if (!code) {
        acu_exec_replace(c->exec, c->change);
        unused = acu_exec_take_unused(c->exec);
    }
    unlock(c);
    code = acu_outcome(c->call, c->exec, code);
    acu_changes_free(unused);
    return code;
}

/* Before CUDA changes the node, for what the change keeps then. */
static int reserve(const changing *c) {
    return acu_exec_reserve(c->exec, acu_bag_size(c->change->bag));
}

static int set_kernel(changing *c, const acu_prepared *p) {
    int code = acu_bag_add(&c->change->bag, (acu_object *)p->kernel, false);
    for (unsigned i = 0; i < p->use_count && !code; i++)
        code = acu_bag_add(&c->change->bag, &p->uses[i].buffer->storage->object, p->uses[i].writes);
    for (unsigned i = 0; i < p->event_count && !code; i++)
        code = acu_bag_add(&c->change->bag, &p->events[i]->object, false);
    if (!code)
        code = reserve(c);
    return code ? code : acu_prepared_set_exec_node(p, c->exec->raw, c->raw);
}

acu_result acu_exec_set_kernel(acu_exec *exec, acu_node node, acu_kernel *kernel,
                               const acu_grid *grid, const acu_arg *args, size_t arg_count) {
    acu_prepared prepared;
    CHANGING(c);
    ACU_TRY(acu_prepare(__func__, kernel, grid, args, arg_count, &prepared));
    ACU_TRY(begin(&c, acu_kernel_device(kernel), NULL, 0));
    return end(&c, set_kernel(&c, &prepared));
}

acu_result acu_exec_set_copy(acu_exec *exec, acu_node node, const acu_copy *copy) {
    acu_node_params p = {.device = -1, .count = 0};
    CHANGING(c);
    ACU_TRY(acu_copy_params(__func__, copy, &p));
    ACU_TRY(begin(&c, p.device, p.keeps, p.count));
    int code = reserve(&c);
    if (!code)
        code = (int)cudaGraphExecMemcpyNodeSetParams1D(exec->raw, c.raw, p.copy.to, p.copy.from,
                                                       p.copy.bytes, p.copy.kind);
    return end(&c, code);
}

acu_result acu_exec_set_memcpy(acu_exec *exec, acu_node node,
                               const struct cudaMemcpy3DParms *params) {
    CHANGING(c);
    ACU_NEED_POINTER(params);
    ACU_TRY(begin(&c, -1, NULL, 0));
    return end(&c, (int)cudaGraphExecMemcpyNodeSetParams(exec->raw, c.raw, params));
}

acu_result acu_exec_set_fill(acu_exec *exec, acu_node node, const acu_fill *fill) {
    acu_node_params p = {.device = -1, .count = 0};
    CHANGING(c);
    ACU_TRY(acu_fill_params(__func__, fill, &p));
    ACU_TRY(begin(&c, p.device, p.keeps, p.count));
    int code = reserve(&c);
    if (!code)
        code = (int)cudaGraphExecMemsetNodeSetParams(exec->raw, c.raw, &p.fill);
    return end(&c, code);
}

static int set_host(changing *c, const acu_closure *closure) {
    if (!closure->call)
        return acu_fault(c->call, "", ACU_ERROR_ARGUMENT, "'closure.call' is NULL");
    acu_kept_closure *kept = acu_closure_keep(c->call, closure);
    if (!kept)
        return ACU_ERROR_HOST_MEMORY;
    acu_kept keep = {&kept->object, false};
    struct cudaHostNodeParams params = {acu_closure_run, kept};
    int code = begin(c, -1, &keep, 1);
    if (!code) {
        code = reserve(c);
        if (!code)
            code = (int)cudaGraphExecHostNodeSetParams(c->exec->raw, c->raw, &params);
        if (code)
            kept->closure.destroy = NULL; /* the caller does it */
        code = end(c, code);
    } else {
        kept->closure.destroy = NULL;
    }
    (void)acu_object_release(NULL, kept, kept->object.was);
    return code;
}

acu_result acu_exec_set_host(acu_exec *exec, acu_node node, acu_closure closure) {
    CHANGING(c);
    int code = set_host(&c, &closure);
    if (code && closure.destroy)
        closure.destroy(closure.data);
    return code;
}

acu_result acu_exec_set_child(acu_exec *exec, acu_node node, acu_graph *child) {
    CHANGING(c);
    ACU_NEED(child, acu_graph_class);
    ACU_TRY(acu_graph_not_captured(__func__, child));
    ACU_TRY(begin(&c, -1, NULL, 0));
    c.change->bag = acu_graph_bag(child);
    int code = reserve(&c);
    if (!code)
        code = (int)cudaGraphExecChildGraphNodeSetParams(exec->raw, c.raw, child->raw);
    return end(&c, code);
}

static int set_event(const changing *c, const acu_event *event) {
    enum cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    int code = (int)cudaGraphNodeGetType(c->raw, &type);
    if (!code)
        code = reserve(c);
    if (code)
        return code;
    return type == cudaGraphNodeTypeWaitEvent
               ? (int)cudaGraphExecEventWaitNodeSetEvent(c->exec->raw, c->raw, event->raw)
               : (int)cudaGraphExecEventRecordNodeSetEvent(c->exec->raw, c->raw, event->raw);
}

acu_result acu_exec_set_event(acu_exec *exec, acu_node node, acu_event *event) {
    CHANGING(c);
    ACU_NEED(event, acu_event_class);
    acu_kept keep = {&event->object, false};
    ACU_TRY(begin(&c, event->object.device, &keep, 1));
    return end(&c, set_event(&c, event));
}

acu_result acu_exec_set_raw(acu_exec *exec, acu_node node, struct cudaGraphNodeParams *params) {
    CHANGING(c);
    ACU_NEED_POINTER(params);
    ACU_TRY(begin(&c, -1, NULL, 0));
    return end(&c, (int)cudaGraphExecNodeSetParams(exec->raw, c.raw, params));
}

static int with_node(changing *c, bool set, unsigned *enabled) {
    int code = check_change(c);
    if (code)
        return code;
    acu_graph_lock();
    pthread_mutex_lock(&c->exec->lock);
    code = (int)(set ? cudaGraphNodeSetEnabled(c->exec->raw, c->raw, *enabled)
                     : cudaGraphNodeGetEnabled(c->exec->raw, c->raw, enabled));
    unlock(c);
    return acu_outcome(c->call, c->exec, code);
}

acu_result acu_exec_set_enabled(acu_exec *exec, acu_node node, bool enabled) {
    unsigned value = enabled;
    CHANGING(c);
    return with_node(&c, true, &value);
}

acu_result acu_exec_enabled(acu_exec *exec, acu_node node, bool *enabled) {
    unsigned value = 0;
    CHANGING(c);
    ACU_NEED_POINTER(enabled);
    *enabled = false;
    ACU_TRY(with_node(&c, false, &value));
    *enabled = value != 0;
    return 0;
}
