/*
 * Conditional nodes: a value that kernels set decides which of their graphs are run.
 *
 * A handle is a number, counted in each graph, and the default of its value belongs to the graph,
 * too; the value itself belongs to an executable graph. So the handle of one graph means in another
 * graph the handle with the same number, as with CUDA.
 */
#include "sim/graph/conditional.h"

#include "sim/graph/graph.h"
#include "sim/graph/node.h"
#include "sim/stream/execution_context.h"
#include "sim/stream/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

acu_sim_condition *acu_sim_condition_of(const acu_sim_graph *root,
                                        cudaGraphConditionalHandle handle) {
    for (size_t i = 0; i < root->condition_count; i++)
        if (root->conditions[i].handle == handle)
            return &root->conditions[i];
    return NULL;
}

bool acu_sim_conditions_copy(acu_sim_graph *to, const acu_sim_graph *from) {
    size_t size = from->condition_count * sizeof *from->conditions;
    acu_sim_condition *copy = size ? malloc(size) : NULL;
    if (size && !copy)
        return false;
    if (size)
        memcpy(copy, from->conditions, size);
    free(to->conditions);
    to->conditions = copy;
    to->condition_count = from->condition_count;
    return true;
}

static cudaError_t create(acu_sim_graph *graph, unsigned value, unsigned flags,
                          cudaGraphConditionalHandle *handle) {
    acu_sim_graph *root = acu_sim_graph_root(graph);
    acu_sim_condition *grown =
        realloc(root->conditions, (root->condition_count + 1) * sizeof *grown);
    if (!grown)
        return cudaErrorMemoryAllocation;
    root->conditions = grown;
    *handle = root->condition_count + 1;
    grown[root->condition_count++] = (acu_sim_condition){
        .handle = *handle, .start = value, .value = value, .assigned = flags != 0};
    return cudaSuccess;
}

/* The execution context must exist, and makes no other difference. */
static cudaError_t create_handle(cudaGraphConditionalHandle *pHandle_out, cudaGraph_t graph,
                                 cudaExecutionContext_t ctx, unsigned defaultLaunchValue,
                                 unsigned flags) {
    acu_sim_graph *g = acu_sim_graph_of(graph);
    if (!pHandle_out || !g || flags > cudaGraphCondAssignDefault ||
        (ctx && !acu_sim_execution_context_of(ctx)))
        return cudaErrorInvalidValue;
    return create(g, defaultLaunchValue, flags, pHandle_out);
}

cudaError_t acu_sim_cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *pHandle_out,
                                                     cudaGraph_t graph,
                                                     unsigned int defaultLaunchValue,
                                                     unsigned int flags) {
    return create_handle(pHandle_out, graph, NULL, defaultLaunchValue, flags);
}

cudaError_t acu_sim_cudaGraphConditionalHandleCreate_v2(cudaGraphConditionalHandle *pHandle_out,
                                                        cudaGraph_t graph,
                                                        cudaExecutionContext_t ctx,
                                                        unsigned int defaultLaunchValue,
                                                        unsigned int flags) {
    return create_handle(pHandle_out, graph, ctx, defaultLaunchValue, flags);
}

/* ---- nodes ---- */

/* Returns whether the driver has the type; the version of the runtime makes no difference. */
static bool is_known_type(enum cudaGraphConditionalNodeType type) {
    return acu_sim_driver_knows(&acu_cuda_type_CUgraphConditionalNodeType_enum, type);
}

/* Returns whether a node may have that many graphs. An if has an else since there are switches. */
static bool is_valid_size(const struct cudaConditionalNodeParams *params) {
    switch (params->type) {
    case cudaGraphCondTypeIf:
        return params->size == 1 || (params->size == 2 && is_known_type(cudaGraphCondTypeSwitch));
    case cudaGraphCondTypeWhile:
        return params->size == 1;
    case cudaGraphCondTypeSwitch:
        return params->size > 0;
    }
    return false;
}

cudaError_t acu_sim_conditional_op(const struct cudaConditionalNodeParams *params,
                                   acu_sim_graph *graph, acu_sim_op **op) {
    acu_sim_condition *condition = acu_sim_condition_of(acu_sim_graph_root(graph), params->handle);
    if (!condition || condition->used)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          condition ? "another node has the conditional handle %llu already"
                                    : "the graph has no conditional handle %llu",
                          params->handle);
    if (!is_valid_size(params) || !is_known_type(params->type))
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "a conditional node of type %d cannot have %u graphs", (int)params->type,
                          params->size);
    if (!(*op = acu_sim_op_new(cudaGraphNodeTypeConditional, NULL)))
        return cudaErrorMemoryAllocation;
    (*op)->with.condition.handle = params->handle;
    (*op)->with.condition.type = params->type;
    return cudaSuccess;
}

cudaError_t acu_sim_conditional_embed(acu_sim_node *node,
                                      struct cudaConditionalNodeParams *params) {
    acu_sim_condition_of(acu_sim_graph_root(node->graph), params->handle)->used = true;
    for (unsigned i = 0; i < params->size; i++) {
        acu_sim_graph *body = acu_sim_graph_new(node->graph->device);
        if (!body || !acu_sim_node_embed(node, body)) {
            acu_sim_graph_free(body);
            return cudaErrorMemoryAllocation;
        }
    }
    params->phGraph_out = (cudaGraph_t *)(void *)node->bodies;
    return cudaSuccess;
}

void acu_sim_conditional_describe(const acu_sim_node *node,
                                  struct cudaConditionalNodeParams *params) {
    params->handle = node->op->with.condition.handle;
    params->type = node->op->with.condition.type;
    params->size = node->body_count;
    params->phGraph_out = (cudaGraph_t *)(void *)node->bodies;
}

/* Returns whether CUDA allows nodes of the type in the graphs of a conditional node. */
static bool is_allowed_in_conditional(enum cudaGraphNodeType type) {
    return type == cudaGraphNodeTypeKernel || type == cudaGraphNodeTypeEmpty ||
           type == cudaGraphNodeTypeGraph || type == cudaGraphNodeTypeMemset ||
           type == cudaGraphNodeTypeMemcpy || type == cudaGraphNodeTypeConditional;
}

static bool is_in_conditional(const acu_sim_graph *graph) {
    while (graph->parent_node && graph->parent_node->op->type != cudaGraphNodeTypeConditional)
        graph = graph->parent_node->graph;
    return graph->parent_node != NULL;
}

bool acu_sim_conditional_can_instantiate(const acu_sim_node *node) {
    const acu_sim_op *op = node->op;
    if (op->type == cudaGraphNodeTypeConditional)
        return acu_sim_condition_of(acu_sim_graph_root(node->graph), op->with.condition.handle);
    return is_allowed_in_conditional(op->type) || !is_in_conditional(node->graph);
}

bool acu_sim_graph_has_conditions(const acu_sim_graph *graph) {
    bool found = graph->condition_count;
    for (size_t i = 0; graph->body_count && i < graph->size && !found; i++) {
        const acu_sim_node *node = graph->nodes[i];
        found = node && node->op->type == cudaGraphNodeTypeConditional;
        for (unsigned j = 0; node && j < node->body_count && !found; j++)
            found = acu_sim_graph_has_conditions(node->bodies[j]);
    }
    return found;
}

/* ---- running ---- */

void acu_sim_conditions_start(const acu_sim_graph *root) {
    for (size_t i = 0; i < root->condition_count; i++)
        if (root->conditions[i].assigned)
            root->conditions[i].value = root->conditions[i].start;
}

unsigned acu_sim_condition_value(const acu_sim_graph *root, cudaGraphConditionalHandle handle) {
    pthread_mutex_lock(&acu_sim_lock);
    const acu_sim_condition *condition = acu_sim_condition_of(root, handle);
    unsigned value = condition ? condition->value : 0;
    pthread_mutex_unlock(&acu_sim_lock);
    return value;
}

/* An H200 has more memory behind the handles: 10^6 does not fault there, and 10^7 does. */
bool acu_sim_condition_can_be_set(const acu_sim_graph *root, uint32_t handle) {
    enum { MOST = 1 << 20 };
    pthread_mutex_lock(&acu_sim_lock);
    const bool can = root && root->condition_count && handle <= MOST;
    pthread_mutex_unlock(&acu_sim_lock);
    return can;
}

void acu_sim_set_conditional(const acu_sim_launch *launch, unsigned long long handle,
                             unsigned value) {
    const acu_sim_graph *root = acu_sim_self()->graph;
    pthread_mutex_lock(&acu_sim_lock);
    acu_sim_condition *condition = root ? acu_sim_condition_of(root, handle) : NULL;
    if (condition)
        condition->value = value;
    pthread_mutex_unlock(&acu_sim_lock);
    if (!condition)
        fprintf(stderr,
                "anycuda: simulator: kernel \"%s\" cannot set conditional handle %llu: the graph "
                "that the kernel runs in has no such handle\n",
                launch->kernel, handle);
}
