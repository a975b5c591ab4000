/* Changing executable graphs: as a whole, and node by node. */
#include "safe/graph/node_change.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- as a whole ---- */

/* Sentences for acu_exec_update_result. */
static const char *const refusals[] = {"",
                                       "the update failed",
                                       "the graphs have other nodes or dependencies",
                                       "a node has another type",
                                       "a node has another kernel",
                                       "parameters changed that cannot be updated",
                                       "something about the node cannot be updated",
                                       "a node has another kernel, which cannot be updated",
                                       "attributes changed that cannot be updated"};

/* Records why CUDA refused the update; returns the code. */
static int refuse_update(const char *call, acu_exec *exec, acu_graph *graph,
                         const cudaGraphExecUpdateResultInfo *info, int code) {
    char object[ACU_OBJECT_TEXT], text[ACU_OBJECT_TEXT], node[64] = "";
    unsigned result = (unsigned)info->result;
    const char *why = result < sizeof refusals / sizeof *refusals ? refusals[result] : "";
    acu_object_describe(exec, object);
    if (info->errorNode)
        acu_node_describe(graph, info->errorNode, node);
    snprintf(text, sizeof text, "%.50s%s%s%s%s", object, *why ? ": " : "", why,
             *node ? ", at " : "", node);
    if (code == cudaErrorGraphExecUpdateFailure)
        (void)cudaGetLastError(); /* the code is an answer, no error that CUDA should repeat */
    acu_fail_hint("the executable graph is as before; instantiate the other graph instead");
    return acu_cuda_failed(call, text, code);
}

/* Updates the exec under both locks. What the exec kept before goes to `old`, unless this fails. */
static int update_locked(acu_exec *exec, acu_graph *graph, acu_exec_previous *old,
                         acu_exec_update_info *report) {
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
            report->result = (acu_exec_update_result)info.result;
        report->error_node = code ? acu_node_from_raw(graph, info.errorNode) : (acu_node){NULL, 0};
    }
    if (!code)
        acu_exec_replace_all_kept(exec, kept, old);
    else
        (void)acu_kept_set_release(kept);
    return code;
}

acu_result acu_exec_update(acu_exec *exec, acu_graph *graph, acu_exec_update_info *info) {
    ACU_SCOPE();
    acu_exec_update_info unwanted, *report = info ? info : &unwanted;
    *report = (acu_exec_update_info){ACU_UPDATE_ERROR, {NULL, 0}};
    acu_destroy_deferred();
    ACU_NEED(exec, acu_exec_class);
    ACU_NEED(graph, acu_graph_class);
    ACU_TRY(acu_graph_check_uncaptured(__func__, graph));
    acu_exec_previous *old = malloc(sizeof *old);
    ACU_REQUIRE(old, ACU_ERROR_HOST_MEMORY, "no memory for an update");
    acu_graph_lock();
    acu_exec_lock(exec);
    int code = update_locked(exec, graph, old, report);
    acu_exec_previous *unused = acu_exec_take_unused(exec);
    acu_exec_unlock(exec);
    acu_graph_unlock();
    if (code)
        free(old);
    acu_exec_previous_free(unused);
    return code;
}

/* ---- node by node ---- */

acu_result acu_exec_set_kernel(acu_exec *exec, acu_node node, acu_kernel *kernel,
                               const acu_grid *grid, const acu_arg *args, size_t arg_count) {
    ACU_SCOPE();
    ACU_CHANGE_IN_EXEC(c, exec, node);
    return acu_node_change_kernel(&c, kernel, grid, args, arg_count);
}

acu_result acu_exec_set_copy(acu_exec *exec, acu_node node, const acu_copy *copy) {
    ACU_SCOPE();
    ACU_CHANGE_IN_EXEC(c, exec, node);
    return acu_node_change_copy(&c, copy);
}

acu_result acu_exec_set_copy_batch(acu_exec *exec, acu_node node, const acu_copy *copies,
                                   size_t count, const acu_copy_attributes *attributes,
                                   size_t attribute_count) {
    ACU_SCOPE();
    ACU_CHANGE_IN_EXEC(c, exec, node);
    return acu_node_change_copies(&c, copies, count, attributes, attribute_count);
}

acu_result acu_exec_set_fill(acu_exec *exec, acu_node node, const acu_fill *fill) {
    ACU_SCOPE();
    ACU_CHANGE_IN_EXEC(c, exec, node);
    return acu_node_change_fill(&c, fill);
}

acu_result acu_exec_set_host(acu_exec *exec, acu_node node, acu_closure closure) {
    ACU_SCOPE();
    ACU_CHANGE_IN_EXEC(c, exec, node);
    return acu_node_change_host(&c, &closure);
}

acu_result acu_exec_set_child(acu_exec *exec, acu_node node, acu_graph *child) {
    ACU_SCOPE();
    ACU_CHANGE_IN_EXEC(c, exec, node);
    return acu_node_change_child(&c, child);
}

acu_result acu_exec_set_event(acu_exec *exec, acu_node node, acu_event *event) {
    ACU_SCOPE();
    ACU_CHANGE_IN_EXEC(c, exec, node);
    return acu_node_change_event(&c, event);
}

acu_result acu_exec_set_memcpy(acu_exec *exec, acu_node node,
                               const struct cudaMemcpy3DParms *params) {
    ACU_SCOPE();
    ACU_CHANGE_IN_EXEC(c, exec, node);
    return acu_node_change_memcpy(&c, params);
}

acu_result acu_exec_set_semaphore_signal(acu_exec *exec, acu_node node,
                                         const acu_semaphore_signal *signals, size_t count) {
    ACU_SCOPE();
    ACU_CHANGE_IN_EXEC(c, exec, node);
    return acu_node_change_signals(&c, signals, count);
}

acu_result acu_exec_set_semaphore_wait(acu_exec *exec, acu_node node,
                                       const acu_semaphore_wait *waits, size_t count) {
    ACU_SCOPE();
    ACU_CHANGE_IN_EXEC(c, exec, node);
    return acu_node_change_waits(&c, waits, count);
}

acu_result acu_exec_set_values(acu_exec *exec, acu_node node, const acu_value_operation *operations,
                               size_t count) {
    ACU_SCOPE();
    ACU_CHANGE_IN_EXEC(c, exec, node);
    return acu_node_change_values(&c, operations, count);
}

acu_result acu_exec_set_params(acu_exec *exec, acu_node node, struct cudaGraphNodeParams *params) {
    ACU_SCOPE();
    ACU_CHANGE_IN_EXEC(c, exec, node);
    return acu_node_change_params(&c, params);
}

acu_result acu_exec_set_enabled(acu_exec *exec, acu_node node, bool enabled) {
    ACU_SCOPE();
    unsigned value = enabled;
    ACU_CHANGE_IN_EXEC(c, exec, node);
    return acu_node_change_enabled(&c, true, &value);
}

acu_result acu_exec_is_enabled(acu_exec *exec, acu_node node, bool *enabled) {
    ACU_SCOPE();
    unsigned value = 0;
    ACU_CHANGE_IN_EXEC(c, exec, node);
    ACU_NEED_POINTER(enabled);
    *enabled = false;
    ACU_TRY(acu_node_change_enabled(&c, false, &value));
    *enabled = value != 0;
    return 0;
}
