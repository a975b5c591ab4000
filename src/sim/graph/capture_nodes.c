/*
 * Capture: work that is given to a stream becomes nodes of a graph.
 *
 * A capture has several streams: the one where it began, and those that waited for its events. Each
 * stream has its capture dependencies, the nodes that its next node depends on; an event has those
 * that its stream had when the event was recorded.
 */
#include "sim/device/context.h"
#include "sim/device/device.h"
#include "sim/graph/edge.h"
#include "sim/graph/graph.h"
#include "sim/graph/graph_memory.h"
#include "sim/graph/kernel_node.h"
#include "sim/graph/node.h"
#include "sim/graph/recapture.h"
#include "sim/graph/user_object.h"
#include "sim/stream/capture.h"
#include "sim/stream/edge_list.h"
#include "sim/stream/event.h"
#include "sim/stream/execution_context.h"
#include "sim/stream/op.h"
#include "sim/stream/stream.h"

#include <stdlib.h>

static const acu_sim_capture_calls calls;

/* ---- beginning and ending ---- */

/* Begins a capture into a graph; into a new one, if `graph` is NULL. */
static cudaError_t begin(acu_sim_stream *stream, acu_sim_graph *graph,
                         enum cudaStreamCaptureMode mode) {
    acu_sim_capture *capture = calloc(1, sizeof *capture);
    if (!capture)
        return cudaErrorMemoryAllocation;
    *capture = (acu_sim_capture){.mode = mode,
                                 .calls = &calls,
                                 .graph = graph ? graph : acu_sim_graph_new(stream->device),
                                 .into = graph != NULL};
    if (!capture->graph) {
        free(capture);
        return cudaErrorMemoryAllocation;
    }
    acu_sim_graph_root(capture->graph)->captures++;
    acu_sim_capture_begin(capture, stream);
    return cudaSuccess;
}

/*
 * Ends a capture, so that its streams are free again. Without `keep` its graph is freed, also one
 * that existed before, unless it is in a node or was captured again; other captures into the freed
 * graph become invalid.
 */
static void finish(acu_sim_capture *capture, bool keep) {
    acu_sim_graph *root = acu_sim_graph_root(capture->graph);
    root->captures--;
    root->doomed |= !keep && capture->graph == root && !capture->again;
    for (acu_sim_capture *c = acu_sim_capture_first(); c && root->doomed; c = c->next)
        if (c != capture && acu_sim_graph_root(c->graph) == root)
            acu_sim_capture_invalidate(c);
    if (root->doomed && !root->captures)
        acu_sim_graph_free(root);
    acu_sim_capture_end(capture);
}

static void abandon(acu_sim_capture *capture) {
    finish(capture, false);
}

/* ---- nodes of captured work ---- */

/* Adds the edges to a new node; returns false without memory. */
static bool link_dependencies(const acu_sim_edge_list *dependencies, acu_sim_node *node) {
    for (size_t i = 0; i < dependencies->count; i++) {
        acu_sim_node *from = acu_sim_node_of(dependencies->nodes[i]);
        bool plain = acu_sim_edge_is_plain(dependencies->data[i]);
        if (!acu_sim_edge_add(from, node,
                              plain ? acu_sim_kernel_node_edge(from, node->op)
                                    : dependencies->data[i]))
            return false;
    }
    return true;
}

/* ---- capturing again ---- */

/* Returns the node of the graph that the next captured node must correspond to; NULL: no more. */
static acu_sim_node *expected_node(const acu_sim_capture *capture) {
    size_t i = capture->next_node;
    while (i < capture->limit && !capture->graph->nodes[i])
        i++;
    return i < capture->limit ? capture->graph->nodes[i] : NULL;
}

/* Returns the operation of that node, if it is of the type; else NULL. */
static acu_sim_op *expected_op(const acu_sim_stream *stream, enum cudaGraphNodeType type) {
    const acu_sim_node *node = stream->capture->again ? expected_node(stream->capture) : NULL;
    return node && node->op->type == type ? node->op : NULL;
}

/* Replaces the newly captured node, which is the newest one of the graph, by the corresponding old
 * node. The lock is given up while the program's callback runs. */
static cudaError_t keep_old_node(acu_sim_stream *stream, acu_sim_node **made) {
    acu_sim_capture *capture = stream->capture;
    acu_sim_node *old = expected_node(capture), *new = *made;
    capture->refs++;
    bool good = old && acu_sim_recapture(old, new, &capture->asked);
    /* Another thread may have ended the capture while the callback ran. */
    if (capture->status == cudaStreamCaptureStatusNone) {
        acu_sim_capture_release(capture);
        return cudaErrorStreamCaptureInvalidated;
    }
    acu_sim_edge_remove_all(new);
    acu_sim_node_free(new);
    capture->graph->size--;
    capture->next_node = old ? old->id + 1 : capture->limit;
    if (!good)
        acu_sim_capture_invalidate(capture);
    acu_sim_capture_release(capture);
    *made = old;
    return good ? cudaSuccess
                : SIM_REFUSE(
                      cudaErrorGraphRecaptureFailure,
                      "the captured work differs from the node that the graph has there, "
                      "in its type, edges or parameters, or the program's callback refused it");
}

static cudaError_t add(acu_sim_stream *stream, acu_sim_op *op) {
    acu_sim_node *made = acu_sim_node_new(stream->capture->graph, op);
    if (!made)
        return cudaErrorMemoryAllocation;
    if (!link_dependencies(&stream->dependencies, made) || acu_sim_graph_memory_place(made)) {
        acu_sim_edge_remove_all(made);
        acu_sim_node_free(made);
        return cudaErrorMemoryAllocation;
    }
    stream->dependencies.count = 0;
    if (op->type == cudaGraphNodeTypeKernel &&
        acu_sim_kernel_node_set_captured_priority(made, stream->priority))
        return cudaErrorMemoryAllocation;
    made->op->execution_context = (cudaExecutionContext_t)(void *)stream->execution_context;
    if (stream->capture->again) {
        cudaError_t why = keep_old_node(stream, &made);
        if (why)
            return why;
    }
    return acu_sim_edge_list_add(&stream->dependencies, acu_sim_node_handle(made),
                                 (cudaGraphEdgeData){0})
               ? cudaSuccess
               : cudaErrorMemoryAllocation;
}

/* ---- memory that the graph allocates and frees ---- */

/* Returns whether the allocation of a node is the one that the program asks for again. */
static bool is_as_before(const acu_sim_op *op, const struct cudaMemAllocNodeParams *params) {
    const struct cudaMemAllocNodeParams before = acu_sim_allocation_params(op);
    return before.bytesize == params->bytesize && before.accessDescCount == 0 &&
           before.poolProps.location.id == params->poolProps.location.id;
}

static cudaError_t alloc(acu_sim_stream *stream, const struct cudaMemPoolProps *props, size_t size,
                         void **at) {
    struct cudaMemAllocNodeParams params = {.poolProps = *props, .bytesize = size};
    params.poolProps.allocType = cudaMemAllocationTypePinned; /* also from a managed pool */
    acu_sim_op *op = expected_op(stream, cudaGraphNodeTypeMemAlloc);
    cudaError_t result = cudaSuccess;
    if (op && is_as_before(op, &params)) {
        params = acu_sim_allocation_params(op);
        op->refs++;
    } else {
        result = acu_sim_graph_memory_alloc_op(&params, stream->capture->graph, &op);
    }
    *at = params.dptr;
    if (!result && !(result = add(stream, op)))
        *at = acu_sim_allocation_params(op).dptr;
    return result;
}

/* CUDA makes the node before it looks at the address, so that a graph remembers a wrong one. */
static cudaError_t free_memory(acu_sim_stream *stream, void *at) {
    acu_sim_graph *graph = stream->capture->graph;
    acu_sim_op *op = expected_op(stream, cudaGraphNodeTypeMemFree);
    if (op && acu_sim_allocation_params(op).dptr == at) {
        op->refs++;
        return add(stream, op);
    }
    cudaError_t result = acu_sim_graph_memory_free_op(at, graph, &op);
    if (!result)
        return add(stream, op);
    graph->had_memory = true;
    return acu_sim_graph_skip_id(graph) ? result : cudaErrorMemoryAllocation;
}

static const acu_sim_capture_calls calls = {
    .add = add, .alloc = alloc, .free = free_memory, .abandon = abandon};

/* ---- joining ---- */

/* Returns whether all nodes have the mark. With a stack, marks the others and pushes them. */
static bool mark_dependencies(const acu_sim_edge_list *dependencies, uint64_t mark,
                              acu_sim_node **stack, size_t *count) {
    bool all = true;
    for (size_t i = 0; i < dependencies->count; i++) {
        acu_sim_node *node = (acu_sim_node *)(void *)dependencies->nodes[i];
        all = all && node->mark == mark;
        if (node->mark != mark && stack) {
            node->mark = mark;
            stack[(*count)++] = node;
        }
    }
    return all;
}

/* Returns an error unless the origin's dependencies are behind all work of the other streams. */
static cudaError_t validate_joined(const acu_sim_capture *capture) {
    uint64_t mark = acu_sim_node_new_mark();
    size_t count = 0;
    acu_sim_node **stack = malloc((capture->graph->count + 1) * sizeof(acu_sim_node *));
    if (!stack)
        return cudaErrorMemoryAllocation;
    (void)mark_dependencies(&capture->origin->dependencies, mark, stack, &count);
    while (count)
        (void)mark_dependencies(&stack[--count]->before, mark, stack, &count);
    free(stack);
    bool joined = mark_dependencies(&capture->lost, mark, NULL, NULL);
    for (const acu_sim_stream *s = capture->streams; s && joined; s = s->next_captured)
        joined = mark_dependencies(&s->dependencies, mark, NULL, NULL);
    return joined ? cudaSuccess
                  : SIM_REFUSE(cudaErrorStreamCaptureUnjoined,
                               "stream %p, where the capture began, does not wait for all "
                               "captured work of other streams: record events there at the end, "
                               "and wait for them here",
                               (void *)capture->origin);
}

/* ---- the API ---- */

static cudaError_t validate_begin(acu_sim_stream *stream, enum cudaStreamCaptureMode mode) {
    if ((unsigned)mode > cudaStreamCaptureModeRelaxed)
        return cudaErrorInvalidValue;
    if (stream == stream->context->legacy) {
        SIM_TRY(acu_sim_capture_allows(stream, SIM_ENQUEUES));
        return SIM_REFUSE(cudaErrorStreamCaptureUnsupported,
                          "the legacy default stream cannot be captured: capture a stream that "
                          "the program created, or cudaStreamPerThread");
    }
    return stream->capture ? SIM_REFUSE(cudaErrorIllegalState,
                                        "stream %p is being captured already", (void *)stream)
                           : cudaSuccess;
}

cudaError_t acu_sim_cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
    acu_sim_stream *s;
    SIM_TRY(acu_sim_stream_usable(stream, &s));
    SIM_TRY(validate_begin(s, mode));
    return begin(s, NULL, mode);
}

static bool is_captured_into(const acu_sim_graph *graph) {
    bool found = false;
    for (const acu_sim_capture *c = acu_sim_capture_first(); c && !found; c = c->next)
        found = c->graph == graph;
    return found;
}

cudaError_t acu_sim_cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                                  const cudaGraphNode_t *dependencies,
                                                  const cudaGraphEdgeData *dependencyData,
                                                  size_t numDependencies,
                                                  enum cudaStreamCaptureMode mode) {
    acu_sim_stream *s;
    SIM_TRY(acu_sim_stream_usable(stream, &s));
    acu_sim_graph *g = acu_sim_graph_of(graph);
    if (!g)
        return acu_sim_graph_refuse_handle(graph);
    SIM_TRY(validate_begin(s, mode));
    SIM_TRY(acu_sim_nodes_validate(g, dependencies, dependencyData, numDependencies, true));
    if (is_captured_into(g))
        return SIM_REFUSE(cudaErrorIllegalState,
                          "another stream is being captured into the graph already");
    SIM_TRY(begin(s, g, mode));
    if (!acu_sim_edge_list_merge(&s->dependencies, dependencies, dependencyData, numDependencies)) {
        finish(s->capture, false);
        return cudaErrorMemoryAllocation;
    }
    return cudaSuccess;
}

/* The references of the graph to user objects are given up, because the capture makes them anew. */
cudaError_t
acu_sim_cudaStreamBeginRecaptureToGraph(cudaStream_t stream, enum cudaStreamCaptureMode mode,
                                        cudaGraph_t graph,
                                        struct cudaGraphRecaptureCallbackData *callbackData) {
    acu_sim_stream *s;
    SIM_TRY(acu_sim_stream_usable(stream, &s));
    acu_sim_graph *g = acu_sim_graph_of(graph);
    SIM_TRY(acu_sim_driver_has(&acu_function_cuStreamBeginRecaptureToGraph));
    SIM_TRY(validate_begin(s, mode));
    if (!g || g->captures)
        return cudaErrorInvalidValue;
    SIM_TRY(begin(s, g, mode));
    acu_sim_user_objects_clear(g);
    s->capture->again = true;
    s->capture->limit = g->size;
    if (callbackData)
        s->capture->asked = *callbackData;
    return cudaSuccess;
}

static cudaError_t refuse_uncaptured(const acu_sim_stream *stream) {
    return SIM_REFUSE(cudaErrorIllegalState, "stream %p is not being captured",
                      (const void *)stream);
}

static cudaError_t validate_end(const acu_sim_capture *capture) {
    return capture->status == cudaStreamCaptureStatusInvalidated
               ? SIM_REFUSE(cudaErrorStreamCaptureInvalidated,
                            "an earlier call made the capture invalid: its own error says why, "
                            "and there is no graph")
               : validate_joined(capture);
}

/* Ends the capture of a stream. Where it fails, and where `graph` is NULL, the captured graph is
 * freed; only a call on another stream than the origin does not end the capture. */
static cudaError_t end(acu_sim_stream *stream, cudaGraph_t *graph, const void *where) {
    acu_sim_capture *capture = stream->capture;
    cudaError_t result;
    if (!capture)
        return refuse_uncaptured(stream);
    if (capture->origin != stream) {
        acu_sim_capture_invalidate(capture);
        return SIM_REFUSE(cudaErrorStreamCaptureUnmatched,
                          "the capture began on stream %p, and is ended there: it is invalid now",
                          (void *)capture->origin);
    }
    const bool is_elsewhere =
        capture->mode != cudaStreamCaptureModeRelaxed && capture->thread != acu_sim_self()->id;
    result = validate_end(capture);
    if (!result && is_elsewhere)
        result = SIM_REFUSE(cudaErrorStreamCaptureWrongThread,
                            "another thread began the capture, which only that thread ends "
                            "unless the mode is cudaStreamCaptureModeRelaxed");
    if (!result && capture->again && expected_node(capture))
        result = SIM_REFUSE(cudaErrorGraphRecaptureFailure,
                            "the graph has more nodes than were captured again");
    acu_sim_graph *made = capture->graph;
    if (!result && graph && !capture->into)
        acu_sim_graph_publish(made, where);
    if (graph)
        *graph = result ? NULL : acu_sim_graph_handle(made);
    finish(capture, !result && (graph || capture->into));
    return result;
}

cudaError_t acu_sim_cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *pGraph) {
    acu_sim_stream *s;
    if (pGraph)
        *pGraph = NULL;
    SIM_TRY(acu_sim_stream_usable(stream, &s));
    if (!s->capture)
        SIM_TRY(acu_sim_capture_allows(s, SIM_ENQUEUES));
    return end(s, pGraph, SIM_CALLER);
}

static enum cudaStreamCaptureStatus status_of(const acu_sim_stream *stream) {
    return stream->capture ? stream->capture->status : cudaStreamCaptureStatusNone;
}

cudaError_t acu_sim_cudaStreamIsCapturing(cudaStream_t stream,
                                          enum cudaStreamCaptureStatus *pCaptureStatus) {
    acu_sim_stream *s;
    SIM_TRY(acu_sim_stream_usable(stream, &s));
    if (!pCaptureStatus)
        return cudaErrorInvalidValue;
    SIM_TRY(acu_sim_capture_allows(s, SIM_LOOKS));
    *pCaptureStatus = status_of(s);
    return cudaSuccess;
}

/* Returns whether an edge has data that a query without them would lose. */
static bool has_edge_data(const acu_sim_edge_list *dependencies) {
    for (size_t i = 0; i < dependencies->count; i++)
        if (!acu_sim_edge_is_plain(dependencies->data[i]))
            return true;
    return false;
}

cudaError_t acu_sim_cudaStreamGetCaptureInfo(cudaStream_t stream,
                                             enum cudaStreamCaptureStatus *captureStatus_out,
                                             unsigned long long *id_out, cudaGraph_t *graph_out,
                                             const cudaGraphNode_t **dependencies_out,
                                             const cudaGraphEdgeData **edgeData_out,
                                             size_t *numDependencies_out) {
    acu_sim_stream *s;
    SIM_TRY(acu_sim_stream_usable(stream, &s));
    if (!captureStatus_out || (edgeData_out && !dependencies_out))
        return cudaErrorInvalidValue;
    SIM_TRY(acu_sim_capture_allows(s, SIM_LOOKS));
    if (dependencies_out && !edgeData_out && has_edge_data(&s->dependencies))
        return cudaErrorLossyQuery;
    *captureStatus_out = status_of(s);
    if (*captureStatus_out == cudaStreamCaptureStatusActive) {
        if (id_out)
            *id_out = s->capture->id;
        if (graph_out)
            *graph_out = acu_sim_graph_handle(s->capture->graph);
        if (dependencies_out)
            *dependencies_out = s->dependencies.nodes;
        if (edgeData_out)
            *edgeData_out = s->dependencies.data;
        if (numDependencies_out)
            *numDependencies_out = s->dependencies.count;
    }
    return cudaSuccess;
}

static cudaError_t change_dependencies(acu_sim_stream *stream, const cudaGraphNode_t *nodes,
                                       const cudaGraphEdgeData *data, size_t count, bool set) {
    SIM_TRY(acu_sim_nodes_validate(stream->capture->graph, nodes, data, count, true));
    if (set)
        stream->dependencies.count = 0;
    return acu_sim_edge_list_merge(&stream->dependencies, nodes, data, count)
               ? cudaSuccess
               : cudaErrorMemoryAllocation;
}

cudaError_t acu_sim_cudaStreamUpdateCaptureDependencies(cudaStream_t stream,
                                                        cudaGraphNode_t *dependencies,
                                                        const cudaGraphEdgeData *dependencyData,
                                                        size_t numDependencies,
                                                        unsigned int flags) {
    acu_sim_stream *s;
    SIM_TRY(acu_sim_stream_usable(stream, &s));
    if (!s->capture)
        return refuse_uncaptured(s);
    SIM_TRY(acu_sim_capture_allows(s, SIM_ENQUEUES));
    if (flags > cudaStreamSetCaptureDependencies)
        return cudaErrorInvalidValue;
    return change_dependencies(s, dependencies, dependencyData, numDependencies,
                               flags == cudaStreamSetCaptureDependencies);
}

cudaError_t acu_sim_cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode) {
    acu_sim_thread *self = acu_sim_self();
    if (!mode)
        return cudaErrorInvalidValue;
    enum cudaStreamCaptureMode before = self->mode;
    self->mode = *mode;
    *mode = before;
    return cudaSuccess;
}
