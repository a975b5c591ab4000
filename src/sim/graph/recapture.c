/*
 * Capturing a graph again. The nodes of the capture are compared with those that the graph has
 * already, in the order of their creation, and the graph's nodes take over the new parameters.
 */
#include "sim/graph/recapture.h"

#include "sim/code/function.h"
#include "sim/code/kernel_launch.h"
#include "sim/graph/edge.h"
#include "sim/graph/graph_memory.h"
#include "sim/graph/node.h"
#include "sim/graph/update.h"
#include "sim/graph/value_node.h"
#include "sim/stream/edge_list.h"
#include "sim/stream/op.h"

#include <string.h>

static bool is_same_launch(const acu_sim_kernel_launch *a, const acu_sim_kernel_launch *b) {
    return a->handle == b->handle && a->function == b->function && a->shared == b->shared &&
           a->cooperative == b->cooperative && a->attribute_count == b->attribute_count &&
           memcmp(a->grid, b->grid, sizeof a->grid) == 0 &&
           memcmp(a->block, b->block, sizeof a->block) == 0 &&
           memcmp(a->cluster, b->cluster, sizeof a->cluster) == 0 &&
           memcmp(a->arguments, b->arguments, a->function->entry->param_room) == 0 &&
           memcmp(a->attributes, b->attributes, a->attribute_count * sizeof *a->attributes) == 0;
}

/* The padding behind the last member, `kind`, is not compared. */
static bool is_same_copy(const struct cudaMemcpy3DParms *a, const struct cudaMemcpy3DParms *b) {
    return memcmp(a, b, offsetof(struct cudaMemcpy3DParms, kind)) == 0 && a->kind == b->kind;
}

/* Returns whether two operations of one type do the same. */
static bool is_same_work(const acu_sim_op *a, const acu_sim_op *b) {
    if (a->execution_context != b->execution_context)
        return false;
    switch ((int)a->type) {
    case cudaGraphNodeTypeKernel:
        return is_same_launch(a->with.launch, b->with.launch);
    case cudaGraphNodeTypeMemcpy:
        return a->with.copy.in_bytes == b->with.copy.in_bytes &&
               is_same_copy(&a->with.copy.params, &b->with.copy.params);
    case cudaGraphNodeTypeMemset:
        return memcmp(&a->with.fill, &b->with.fill, sizeof a->with.fill) == 0;
    case cudaGraphNodeTypeHost:
        return a->with.host.fn == b->with.host.fn && a->with.host.data == b->with.host.data;
    case cudaGraphNodeTypeWaitEvent:
    case cudaGraphNodeTypeEventRecord:
        return a->with.event == b->with.event;
    case SIM_NODE_VALUES:
        return acu_sim_values_are_equal(a, b);
    case cudaGraphNodeTypeEmpty:
        return true;
    default:
        return a == b;
    }
}

/* Returns whether two nodes depend on the same nodes by equal edges. */
static bool has_same_edges(const acu_sim_node *a, const acu_sim_node *b) {
    bool alike = a->before.count == b->before.count;
    for (size_t i = 0; alike && i < a->before.count; i++)
        alike = acu_sim_edge_list_find(&b->before, a->before.nodes[i], a->before.data[i]) <
                b->before.count;
    return alike;
}

/* Returns whether the program's callback accepts the new parameters. The lock is given up
 * meanwhile, so another thread may end the capture: then false. */
static bool callback_accepts(acu_sim_node *old, acu_sim_node *made,
                             const struct cudaGraphRecaptureCallbackData *asked) {
    struct cudaGraphNodeParams before, now;
    const cudaGraphNode_t handle = acu_sim_node_handle(made);
    acu_sim_thread *self = acu_sim_self();
    const enum cudaGraphRecaptureStatus status = acu_sim_update_validate(old->op, made->op)
                                                     ? cudaGraphRecaptureIneligibleForUpdate
                                                     : cudaGraphRecaptureEligibleForUpdate;
    acu_sim_node_describe(old, &before);
    acu_sim_node_describe(made, &now);
    const bool in_callback = self->in_callback;
    self->in_callback = true;
    pthread_mutex_unlock(&acu_sim_lock);
    cudaError_t result =
        asked->callbackFunc(asked->userData, acu_sim_node_handle(old), &before, &now, status);
    pthread_mutex_lock(&acu_sim_lock);
    self->in_callback = in_callback;
    return result == cudaSuccess && acu_sim_node_of(acu_sim_node_handle(old)) &&
           acu_sim_node_of(handle);
}

bool acu_sim_recapture(acu_sim_node *old, acu_sim_node *made,
                       const struct cudaGraphRecaptureCallbackData *asked) {
    if (old->op->type != made->op->type || !has_same_edges(old, made))
        return false;
    if (is_same_work(old->op, made->op))
        return true;
    if (acu_sim_graph_memory_is_op(made->op) ||
        (asked->callbackFunc && !callback_accepts(old, made, asked)))
        return false;
    made->op->refs++;
    acu_sim_op_release(old->op);
    old->op = made->op;
    return true;
}
