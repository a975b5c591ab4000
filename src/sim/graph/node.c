/* Nodes of graphs: creating them, reading and changing their parameters. */
#include "sim/graph/node.h"

#include "sim/behaviour.h"
#include "sim/graph/conditional.h"
#include "sim/graph/edge.h"
#include "sim/graph/graph.h"
#include "sim/graph/graph_memory.h"
#include "sim/graph/kernel_node.h"
#include "sim/graph/value_node.h"
#include "sim/memory/batch.h"
#include "sim/memory/copy.h"
#include "sim/memory/external_semaphore.h"
#include "sim/memory/fill.h"
#include "sim/set.h"
#include "sim/stream/edge_list.h"
#include "sim/stream/event.h"
#include "sim/stream/execution_context.h"
#include "sim/stream/host_function.h"
#include "sim/stream/op.h"

#include <stdlib.h>
#include <string.h>

static acu_sim_set handles; /* all nodes, also those of executable graphs */
static unsigned long long last_tools_id;
static uint64_t last_mark;

acu_sim_node *acu_sim_node_of(cudaGraphNode_t handle) {
    acu_sim_node *node = (acu_sim_node *)(void *)handle;
    return acu_sim_set_has(&handles, node) && !acu_sim_graph_root(node->graph)->instanced ? node
                                                                                          : NULL;
}

cudaGraphNode_t acu_sim_node_handle(acu_sim_node *node) {
    return (cudaGraphNode_t)(void *)node;
}

/* ---- life ---- */

/* Makes room for one more node; returns false without memory. */
static bool make_room(acu_sim_graph *graph) {
    if (graph->size < graph->room)
        return true;
    size_t room = graph->room * 2 + 8;
    acu_sim_node **nodes = realloc(graph->nodes, room * sizeof(acu_sim_node *));
    if (!nodes)
        return false;
    graph->nodes = nodes;
    graph->room = room;
    return true;
}

bool acu_sim_graph_skip_id(acu_sim_graph *graph) {
    if (!make_room(graph))
        return false;
    graph->nodes[graph->size++] = NULL;
    return true;
}

void acu_sim_node_becomes_last(acu_sim_node *node) {
    static unsigned long long newest;
    node->last_since = ++newest;
}

acu_sim_node *acu_sim_node_new(acu_sim_graph *graph, acu_sim_op *op) {
    acu_sim_node *node = calloc(1, sizeof *node);
    if (!node || !make_room(graph) || !acu_sim_set_add(&handles, node)) {
        free(node);
        acu_sim_op_release(op);
        return NULL;
    }
    node->graph = graph;
    node->id = (unsigned)graph->size;
    node->tools_id = ++last_tools_id;
    node->op = op;
    acu_sim_node_becomes_last(node);
    graph->nodes[graph->size++] = node;
    graph->count++;
    graph->memory_count += acu_sim_graph_memory_is_op(op);
    return node;
}

bool acu_sim_node_embed(acu_sim_node *node, acu_sim_graph *body) {
    acu_sim_graph **grown = realloc(node->bodies, (node->body_count + 1) * sizeof(acu_sim_graph *));
    if (!grown)
        return false;
    node->bodies = grown;
    node->bodies[node->body_count++] = body;
    node->graph->body_count += node->body_count == 1;
    body->parent_node = node;
    return true;
}

void acu_sim_node_free(acu_sim_node *node) {
    node->graph->nodes[node->id] = NULL;
    node->graph->count--;
    node->graph->memory_count -= acu_sim_graph_memory_is_op(node->op);
    node->graph->body_count -= node->body_count != 0;
    acu_sim_set_remove(&handles, node);
    for (unsigned i = 0; i < node->body_count; i++)
        acu_sim_graph_free(node->bodies[i]);
    free(node->bodies);
    acu_sim_edge_list_clear(&node->before);
    acu_sim_edge_list_clear(&node->after);
    acu_sim_op_release(node->op);
    free(node);
}

/* ---- operations ---- */

static cudaError_t plain_op(enum cudaGraphNodeType type, acu_sim_op **op) {
    *op = acu_sim_op_new(type, NULL);
    return *op ? cudaSuccess : cudaErrorMemoryAllocation;
}

static cudaError_t host_op(const struct cudaHostNodeParamsV2 *host, acu_sim_op **op) {
    if (!host->fn)
        return SIM_REFUSE(cudaErrorInvalidValue, "fn, the host function, is NULL");
    if (host->syncMode > cudaHostTaskSpinWait)
        return cudaErrorInvalidValue;
    if (host->syncMode)
        SIM_TRY(acu_sim_driver_has(&acu_function_cuLaunchHostFunc_v2));
    *op = acu_sim_host_function_op(host->fn, host->userData);
    if (!*op)
        return cudaErrorMemoryAllocation;
    (*op)->with.host.mode = host->syncMode;
    return cudaSuccess;
}

static struct cudaMemsetParams fill_params(const struct cudaMemsetParamsV2 *fill) {
    return (struct cudaMemsetParams){.dst = fill->dst,
                                     .pitch = fill->pitch,
                                     .value = fill->value,
                                     .elementSize = fill->elementSize,
                                     .width = fill->width,
                                     .height = fill->height};
}

static cudaError_t alloc_op(struct cudaMemAllocNodeParamsV2 *alloc, acu_sim_graph *graph,
                            acu_sim_op **op) {
    struct cudaMemAllocNodeParams params;
    memcpy(&params, alloc, sizeof params);
    cudaError_t result = acu_sim_graph_memory_alloc_op(&params, graph, op);
    alloc->dptr = params.dptr;
    return result;
}

static bool is_moved(const struct cudaChildGraphNodeParams *child) {
    return child->ownership == cudaGraphChildGraphOwnershipMove;
}

/* Returns an error unless a graph may become a child graph: by default as a copy; a graph that is
 * moved must be one that the program could destroy. */
static cudaError_t validate_child(const struct cudaChildGraphNodeParams *child,
                                  acu_sim_graph *into) {
    const acu_sim_graph *graph = acu_sim_graph_of(child->graph);
    const bool known =
        acu_sim_knows(&acu_cudart_type_cudaGraphChildGraphNodeOwnership, child->ownership);
    if (!graph)
        return acu_sim_graph_refuse_handle(child->graph);
    if (graph->moved)
        return SIM_REFUSE(cudaErrorNotSupported, "the child graph was moved into a node already");
    if (child->ownership && !(known && is_moved(child)))
        return SIM_REFUSE(cudaErrorNotSupported,
                          "ownership must be cudaGraphChildGraphOwnershipClone or, if the "
                          "runtime has that, cudaGraphChildGraphOwnershipMove");
    if (is_moved(child) && (!graph->where || graph->captures || acu_sim_graph_root(into) == graph))
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "only a graph that the program could destroy is moved into a node: "
                          "none of a node or capture, and not the graph that gets the node");
    if (is_moved(child) && !acu_sim_graph_has_conditions(graph))
        return cudaSuccess;
    return acu_sim_graph_may_be_copied(graph);
}

static cudaError_t child_op(const struct cudaGraphNodeParams *params, acu_sim_graph *into,
                            acu_sim_op **op) {
    cudaError_t result = validate_child(&params->graph, into);
    return result ? result : plain_op(params->type, op);
}

/* A child graph that was moved into its node gets no new nodes that allocate or free memory. */
static cudaError_t memory_op(struct cudaGraphNodeParams *params, acu_sim_graph *graph,
                             acu_sim_op **op) {
    if (graph->moved)
        return SIM_REFUSE(cudaErrorNotSupported,
                          "the graph was moved into a node, and gets no new nodes that allocate "
                          "or free memory");
    return params->type == cudaGraphNodeTypeMemAlloc
               ? alloc_op(&params->alloc, graph, op)
               : acu_sim_graph_memory_free_op(params->free.dptr, graph, op);
}

/* Makes the operation of a node; the graphs that the node owns are made by embed(). `old` is the
 * operation that the node had before; NULL for a new node. */
static cudaError_t make_op_of_type(acu_sim_graph *graph, struct cudaGraphNodeParams *params,
                                   const acu_sim_op *old, acu_sim_op **op) {
    struct cudaMemsetParams fill;
    switch ((int)params->type) {
    case cudaGraphNodeTypeKernel:
        return acu_sim_kernel_node_op(&params->kernel, old, op);
    case cudaGraphNodeTypeMemcpy:
        return acu_sim_copy_op(&params->memcpy.copyParams, acu_sim_self()->call.by_driver, op);
    case cudaGraphNodeTypeMemset:
        fill = fill_params(&params->memset);
        return acu_sim_fill_op(&fill, op);
    case cudaGraphNodeTypeHost:
        return host_op(&params->host, op);
    case cudaGraphNodeTypeWaitEvent:
        return acu_sim_event_op(params->type, acu_sim_event_of(params->eventWait.event), op);
    case cudaGraphNodeTypeEventRecord:
        return acu_sim_event_op(params->type, acu_sim_event_of(params->eventRecord.event), op);
    case cudaGraphNodeTypeGraph:
        return child_op(params, graph, op);
    case cudaGraphNodeTypeConditional:
        return old ? SIM_REFUSE(cudaErrorNotSupported,
                                "the parameters of a conditional node cannot be changed")
                   : acu_sim_conditional_op(&params->conditional, graph, op);
    case cudaGraphNodeTypeMemAlloc:
    case cudaGraphNodeTypeMemFree:
        return old ? SIM_REFUSE(cudaErrorNotSupported, "the parameters of a node that allocates or "
                                                       "frees memory cannot be changed")
                   : memory_op(params, graph, op);
    case cudaGraphNodeTypeMemcpyBatch:
        return acu_sim_driver_knows(&acu_cuda_type_CUgraphNodeType_enum, params->type)
                   ? acu_sim_batch_op(&params->memcpyBatch, op)
                   : cudaErrorInvalidValue;
    case cudaGraphNodeTypeExtSemaphoreSignal:
    case cudaGraphNodeTypeExtSemaphoreWait:
        return acu_sim_semaphores_op(params, op);
    case cudaGraphNodeTypeEmpty:
        return plain_op(params->type, op);
    case SIM_NODE_VALUES:
        return acu_sim_self()->call.by_driver ? acu_sim_values_op(params, op)
                                              : cudaErrorInvalidValue;
    default:
        return acu_sim_knows(&acu_cudart_type_cudaGraphNodeType, params->type)
                   ? cudaErrorNotSupported
                   : cudaErrorInvalidValue;
    }
}

/* Returns where the parameters name an execution context; NULL if such nodes have none. */
static cudaExecutionContext_t *execution_context_in(struct cudaGraphNodeParams *params) {
    switch ((int)params->type) {
    case cudaGraphNodeTypeKernel:
        return &params->kernel.ctx;
    case cudaGraphNodeTypeMemcpy:
        return &params->memcpy.ctx;
    case cudaGraphNodeTypeMemset:
        return &params->memset.ctx;
    case cudaGraphNodeTypeEventRecord:
        return &params->eventRecord.ctx;
    case cudaGraphNodeTypeConditional:
        return &params->conditional.ctx;
    case cudaGraphNodeTypeMemcpyBatch:
        return &params->memcpyBatch.ctx;
    case cudaGraphNodeTypeExtSemaphoreSignal:
        return &params->extSemSignal.ctx;
    case cudaGraphNodeTypeExtSemaphoreWait:
        return &params->extSemWait.ctx;
    default:
        return NULL;
    }
}

/* Makes the operation of a node with its execution context. */
static cudaError_t make_op(acu_sim_graph *graph, struct cudaGraphNodeParams *params,
                           const acu_sim_op *old, acu_sim_op **op) {
    cudaExecutionContext_t *context = execution_context_in(params);
    if (context && *context && !acu_sim_execution_context_of(*context))
        return cudaErrorInvalidValue;
    cudaError_t result = make_op_of_type(graph, params, old, op);
    if (!result && context)
        (*op)->execution_context = *context;
    return result;
}

/* Makes the graph of a child graph node: NULL for other types. The copy is made before the node is
 * added, because a graph may become a child of itself. */
static cudaError_t make_body(const struct cudaGraphNodeParams *params, acu_sim_graph **body) {
    if (params->type != cudaGraphNodeTypeGraph)
        return cudaSuccess;
    acu_sim_graph *graph = acu_sim_graph_of(params->graph.graph);
    *body = is_moved(&params->graph) ? graph : acu_sim_graph_copy(graph);
    return *body ? cudaSuccess : cudaErrorMemoryAllocation;
}

static cudaError_t embed_child(acu_sim_node *node, acu_sim_graph *body, bool moved) {
    if (!acu_sim_node_embed(node, body))
        return cudaErrorMemoryAllocation;
    body->moved = moved;
    if (moved) {
        acu_sim_graph_withdraw(body);
        acu_sim_allocations_move(body, acu_sim_graph_root(body));
    }
    return cudaSuccess;
}

/* Gives the node the graphs that its type needs. */
static cudaError_t embed(acu_sim_node *node, struct cudaGraphNodeParams *params,
                         acu_sim_graph *body) {
    if (params->type == cudaGraphNodeTypeConditional)
        return acu_sim_conditional_embed(node, &params->conditional);
    return body ? embed_child(node, body, is_moved(&params->graph)) : cudaSuccess;
}

/* Gives a child graph node a copy of another graph instead of its own graph, which is freed. CUDA
 * copies the graph, whichever ownership is asked for, if the runtime knows ownerships. */
static cudaError_t replace_child(acu_sim_node *node, struct cudaGraphNodeParams params) {
    acu_sim_graph *copy = NULL, *old = node->bodies[0];
    if (acu_sim_knows(&acu_cudart_type_cudaGraphChildGraphNodeOwnership,
                      cudaGraphChildGraphOwnershipMove))
        params.graph.ownership = cudaGraphChildGraphOwnershipClone;
    if (acu_sim_graph_has_memory(node->graph))
        return acu_sim_graph_refuse_memory("no child graph in it can be changed");
    SIM_TRY(validate_child(&params.graph, node->graph));
    SIM_TRY(make_body(&params, &copy));
    if (embed_child(node, copy, false)) {
        acu_sim_graph_free(copy);
        return cudaErrorMemoryAllocation;
    }
    node->bodies[0] = node->bodies[--node->body_count];
    acu_sim_graph_free(old);
    return cudaSuccess;
}

void acu_sim_node_describe(const acu_sim_node *node, struct cudaGraphNodeParams *params) {
    const acu_sim_op *op = node->op;
    const struct cudaMemsetParams *fill = &op->with.fill.params;
    struct cudaMemAllocNodeParams alloc;
    memset(params, 0, sizeof *params);
    params->type = op->type;
    switch ((int)op->type) {
    case cudaGraphNodeTypeKernel:
        acu_sim_kernel_node_describe(op, &params->kernel);
        break;
    case cudaGraphNodeTypeMemcpy:
        params->memcpy.copyParams = acu_sim_copy_describe(op);
        break;
    case cudaGraphNodeTypeMemset:
        params->memset =
            (struct cudaMemsetParamsV2){fill->dst,   fill->pitch,  fill->value, fill->elementSize,
                                        fill->width, fill->height, NULL};
        break;
    case cudaGraphNodeTypeHost:
        params->host.fn = op->with.host.fn;
        params->host.userData = op->with.host.data;
        params->host.syncMode = op->with.host.mode;
        break;
    case cudaGraphNodeTypeWaitEvent:
        params->eventWait.event = (cudaEvent_t)(void *)op->with.event;
        break;
    case cudaGraphNodeTypeEventRecord:
        params->eventRecord.event = (cudaEvent_t)(void *)op->with.event;
        break;
    case cudaGraphNodeTypeGraph:
        params->graph.graph = acu_sim_graph_handle(node->bodies[0]);
        params->graph.ownership = cudaGraphChildGraphOwnershipInvalid;
        break;
    case cudaGraphNodeTypeExtSemaphoreSignal:
    case cudaGraphNodeTypeExtSemaphoreWait:
        acu_sim_semaphores_describe(op, params);
        break;
    case cudaGraphNodeTypeMemcpyBatch:
        acu_sim_batch_describe(op, &params->memcpyBatch);
        break;
    case cudaGraphNodeTypeConditional:
        acu_sim_conditional_describe(node, &params->conditional);
        break;
    case cudaGraphNodeTypeMemAlloc:
        alloc = acu_sim_allocation_params(op);
        memcpy(&params->alloc, &alloc, sizeof alloc);
        break;
    case cudaGraphNodeTypeMemFree:
        params->free.dptr = acu_sim_allocation_params(op).dptr;
        break;
    case SIM_NODE_VALUES:
        acu_sim_values_describe(op, params);
        break;
    default:
        break;
    }
    cudaExecutionContext_t *context = execution_context_in(params);
    if (context)
        *context = op->execution_context;
}

cudaError_t acu_sim_node_make_op(const acu_sim_node *node, const struct cudaGraphNodeParams *params,
                                 acu_sim_op **op) {
    if (params->type != node->op->type || params->type == cudaGraphNodeTypeGraph)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the parameters are those of another type of node (%d) than the node "
                          "has (%d)",
                          (int)params->type, (int)node->op->type);
    struct cudaGraphNodeParams mine = *params;
    return make_op(node->graph, &mine, node->op, op);
}

static cudaError_t set_params(acu_sim_node *node, const struct cudaGraphNodeParams *params) {
    acu_sim_op *op;
    if (params->type == cudaGraphNodeTypeGraph && params->type == node->op->type)
        return replace_child(node, *params);
    SIM_TRY(acu_sim_node_make_op(node, params, &op));
    acu_sim_op_release(node->op);
    node->op = op;
    return cudaSuccess;
}

/* ---- calls for all types ---- */

uint64_t acu_sim_node_new_mark(void) {
    return ++last_mark;
}

cudaError_t acu_sim_nodes_validate(const acu_sim_graph *graph, const cudaGraphNode_t *nodes,
                                   const cudaGraphEdgeData *data, size_t count, bool repeats) {
    uint64_t mark = acu_sim_node_new_mark();
    if (count && !nodes)
        return SIM_REFUSE(cudaErrorInvalidValue, "%zu dependencies are given, but no list", count);
    for (size_t i = 0; i < count; i++) {
        acu_sim_node *node = acu_sim_node_of(nodes[i]);
        if (!node || node->graph != graph)
            return SIM_REFUSE(cudaErrorInvalidValue, "dependency %zu is %s", i,
                              node ? "a node of another graph" : "no node: it was destroyed");
        if (node->mark == mark && !repeats)
            return SIM_REFUSE(cudaErrorInvalidValue,
                              "dependency %zu is also an earlier one of the list", i);
        if (data)
            SIM_TRY(acu_sim_edge_validate(node, NULL, data[i]));
        node->mark = mark;
    }
    return cudaSuccess;
}

static cudaError_t link_all(acu_sim_node *node, const cudaGraphNode_t *dependencies,
                            const cudaGraphEdgeData *data, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!acu_sim_edge_add(acu_sim_node_of(dependencies[i]), node,
                              data ? data[i] : (cudaGraphEdgeData){0}))
            return cudaErrorMemoryAllocation;
    return cudaSuccess;
}

/* Fails as CUDA does after it has made a node: the node has had an id, and what it depended on
 * becomes last again. Returns the error, or that there is no memory. */
static cudaError_t fail_made(acu_sim_graph *graph, const cudaGraphNode_t *dependencies,
                             size_t count, cudaError_t why) {
    for (size_t i = 0; i < count; i++) {
        acu_sim_node *node = acu_sim_node_of(dependencies[i]);
        if (!node->after.count)
            acu_sim_node_becomes_last(node);
    }
    return acu_sim_graph_skip_id(graph) ? why : cudaErrorMemoryAllocation;
}

/* CUDA looks at the parameters, then at the dependencies, and last at whether one of these is there
 * twice, when there is a node already: an allocation that fails for that is remembered by the
 * graph. Of a free CUDA looks at the address after the dependencies, so that the same is true of a
 * wrong address. */
static cudaError_t make_op_after(acu_sim_graph *graph, const cudaGraphNode_t *dependencies,
                                 const cudaGraphEdgeData *data, size_t count,
                                 struct cudaGraphNodeParams *params, acu_sim_op **op) {
    if (params->type == cudaGraphNodeTypeMemFree && !graph->moved) {
        SIM_TRY(acu_sim_nodes_validate(graph, dependencies, data, count, true));
        graph->had_memory = true;
        cudaError_t why = make_op(graph, params, NULL, op);
        if (why)
            return fail_made(graph, NULL, 0, why);
    } else {
        SIM_TRY(make_op(graph, params, NULL, op));
    }
    cudaError_t result = acu_sim_nodes_validate(graph, dependencies, data, count, true);
    if (!result) {
        graph->had_memory |= acu_sim_graph_memory_is_op(*op);
        result = acu_sim_nodes_validate(graph, dependencies, data, count, false);
        if (result)
            result = fail_made(graph, dependencies, count, result);
    }
    if (result)
        acu_sim_op_release(*op);
    return result;
}

static cudaError_t add(acu_sim_graph *graph, const cudaGraphNode_t *dependencies,
                       const cudaGraphEdgeData *data, size_t count,
                       struct cudaGraphNodeParams *params, acu_sim_node **made) {
    acu_sim_op *op = NULL;
    acu_sim_graph *body = NULL;
    SIM_TRY(make_op_after(graph, dependencies, data, count, params, &op));
    cudaError_t result = make_body(params, &body);
    if (result) {
        acu_sim_op_release(op);
        return result;
    }
    acu_sim_node *node = acu_sim_node_new(graph, op);
    result = node ? link_all(node, dependencies, data, count) : cudaErrorMemoryAllocation;
    if (!result)
        result = acu_sim_graph_memory_place(node);
    if (!result && params->type == cudaGraphNodeTypeMemAlloc)
        params->alloc.dptr = acu_sim_allocation_params(op).dptr;
    if (!result) /* last, because a graph that was moved cannot be moved back */
        result = embed(node, params, body);
    if (result && node) {
        acu_sim_edge_remove_all(node);
        acu_sim_node_free(node);
    }
    if (result && body && !is_moved(&params->graph))
        acu_sim_graph_free(body);
    if (result)
        return result;
    *made = node;
    return cudaSuccess;
}

cudaError_t acu_sim_node_add(cudaGraphNode_t *node, cudaGraph_t graph,
                             const cudaGraphNode_t *dependencies, const cudaGraphEdgeData *data,
                             size_t count, struct cudaGraphNodeParams *params) {
    acu_sim_node *made = NULL;
    acu_sim_graph *g = acu_sim_graph_of(graph);
    if (!g)
        return acu_sim_graph_refuse_handle(graph);
    if (!node || !params)
        return SIM_REFUSE(cudaErrorInvalidValue, "%s is NULL",
                          node ? "the parameters' address" : "the address of the new node");
    SIM_TRY(add(g, dependencies, data, count, params, &made));
    *node = acu_sim_node_handle(made);
    return cudaSuccess;
}

static cudaError_t refuse_handle(cudaGraphNode_t handle) {
    return SIM_REFUSE(cudaErrorInvalidValue,
                      "%p is no node of a graph: it was destroyed, or never created",
                      (void *)handle);
}

cudaError_t acu_sim_node_get_params(cudaGraphNode_t node, enum cudaGraphNodeType type,
                                    struct cudaGraphNodeParams *params) {
    const acu_sim_node *n = acu_sim_node_of(node);
    if (!n)
        return refuse_handle(node);
    if (!params || n->op->type != type)
        return SIM_REFUSE(cudaErrorInvalidValue, params ? "the node is of another type"
                                                        : "the address of the parameters is NULL");
    acu_sim_node_describe(n, params);
    return cudaSuccess;
}

cudaError_t acu_sim_node_set_params(cudaGraphNode_t node,
                                    const struct cudaGraphNodeParams *params) {
    acu_sim_node *n = acu_sim_node_of(node);
    if (!n)
        return refuse_handle(node);
    return params ? set_params(n, params)
                  : SIM_REFUSE(cudaErrorInvalidValue, "the address of the parameters is NULL");
}

cudaError_t acu_sim_cudaGraphDestroyNode(cudaGraphNode_t node) {
    acu_sim_node *n = acu_sim_node_of(node);
    if (!n)
        return refuse_handle(node);
    if (acu_sim_graph_root(n->graph)->captures)
        return SIM_REFUSE(cudaErrorIllegalState,
                          "a stream is being captured into the graph: end the capture first");
    if (acu_sim_graph_has_memory(n->graph))
        return acu_sim_graph_refuse_memory("none of its nodes can be destroyed");
    if (acu_sim_kernel_node_device_handle(n))
        return SIM_REFUSE(cudaErrorNotSupported,
                          "a node that the device can update stays in its graph");
    if (n->op->type == cudaGraphNodeTypeConditional)
        acu_sim_condition_of(acu_sim_graph_root(n->graph), n->op->with.condition.handle)->used =
            false;
    acu_sim_edge_remove_all(n);
    acu_sim_node_free(n);
    return cudaSuccess;
}

/* Finds the node of a handle. `out` is where the caller writes its result; NULL is an error. */
static cudaError_t find(cudaGraphNode_t handle, const void *out, acu_sim_node **node) {
    *node = acu_sim_node_of(handle);
    if (!*node)
        return refuse_handle(handle);
    return out ? cudaSuccess
               : SIM_REFUSE(cudaErrorInvalidValue, "the address for the result is NULL");
}

cudaError_t acu_sim_cudaGraphNodeGetParams(cudaGraphNode_t node,
                                           struct cudaGraphNodeParams *nodeParams) {
    acu_sim_node *n;
    SIM_TRY(find(node, nodeParams, &n));
    SIM_TRY(acu_sim_driver_has(&acu_function_cuGraphNodeGetParams));
    acu_sim_node_describe(n, nodeParams);
    return cudaSuccess;
}

/* ---- types and ids ---- */

/* The runtime has no name for SIM_NODE_VALUES. */
cudaError_t acu_sim_cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *pType) {
    acu_sim_node *n;
    SIM_TRY(find(node, pType, &n));
    if (!acu_sim_self()->call.by_driver &&
        (n->op->type == SIM_NODE_VALUES || (n->op->type == cudaGraphNodeTypeConditional &&
                                            acu_sim_behaviour_conditional_type_is_unknown())))
        return cudaErrorUnknown;
    *pType = n->op->type;
    return cudaSuccess;
}

/* Does what find() does, but first returns an error if the driver lacks the function. */
static cudaError_t find_newer(const acu_function *function, cudaGraphNode_t handle, const void *out,
                              acu_sim_node **node) {
    SIM_TRY(acu_sim_driver_has(function));
    return find(handle, out, node);
}

cudaError_t acu_sim_cudaGraphNodeGetContainingGraph(cudaGraphNode_t hNode, cudaGraph_t *phGraph) {
    acu_sim_node *n;
    SIM_TRY(find_newer(&acu_function_cuGraphNodeGetContainingGraph, hNode, phGraph, &n));
    *phGraph = acu_sim_graph_handle(n->graph);
    return cudaSuccess;
}

cudaError_t acu_sim_cudaGraphNodeGetLocalId(cudaGraphNode_t hNode, unsigned int *nodeId) {
    acu_sim_node *n;
    SIM_TRY(find_newer(&acu_function_cuGraphNodeGetLocalId, hNode, nodeId, &n));
    *nodeId = n->id;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaGraphNodeGetToolsId(cudaGraphNode_t hNode,
                                            unsigned long long *toolsNodeId) {
    acu_sim_node *n;
    SIM_TRY(find_newer(&acu_function_cuGraphNodeGetToolsId, hNode, toolsNodeId, &n));
    *toolsNodeId = n->tools_id;
    return cudaSuccess;
}
