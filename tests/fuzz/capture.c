/* Captures. */
#include "fuzz.h"

static void begin_capture(void) {
    const chosen_stream s = any_stream();
    const int mode = ONE_OF(0, 0, 0, 1, 1, 2, 2, 3, -1);
    call("cudaStreamBeginCapture(%s, %d)", s.name, mode);
    answer(cudaStreamBeginCapture(s.handle, (enum cudaStreamCaptureMode)mode), "%s", "");
}

static void begin_capture_to_graph(void) {
    const chosen_stream s = any_stream();
    object *graph = any(GRAPH);
    const node_list after = any_nodes(graph);
    const int mode = ONE_OF(0, 1, 2, 2, 3);
    if (!s.object || graph->is_used) /* a second capture into a graph may crash CUDA */
        return;
    call("cudaStreamBeginCaptureToGraph(%s, %s, %s, %d)", s.name, name(graph), after.name, mode);
    const cudaError_t result = cudaStreamBeginCaptureToGraph(
        s.handle, graph->handle, after.nodes, NULL, after.count, (enum cudaStreamCaptureMode)mode);
    answer(result, "%s", "");
    if (!result) {
        graph->is_used = true;
        s.object->graph = graph;
    }
}

/* A capture that fails takes the graph with it that it captured into. */
void forget_captured_graph(object *stream, bool is_kept) {
    if (stream && stream->graph && !is_kept)
        stream->graph->handle = NULL;
    if (stream)
        stream->graph = NULL;
}

bool keep_captured_graph(object *into, object *stream, cudaError_t result, cudaGraph_t made) {
    bool is_known = false;
    for (const object *g = objects[GRAPH]; g < objects[GRAPH] + SLOTS; g++)
        is_known |= g->handle == made;
    if (!result && made && made != UNWRITTEN && !is_known)
        into->handle = made;
    if (result != cudaErrorIllegalState)
        forget_captured_graph(stream, !result);
    return is_known;
}

static void end_capture(void) {
    const chosen_stream s = any_captured_stream();
    object *o = empty(GRAPH);
    cudaGraph_t made = UNWRITTEN;
    if (!o)
        return;
    call("cudaStreamEndCapture(%s)", s.name);
    const cudaError_t result = cudaStreamEndCapture(s.handle, &made);
    const bool is_known = keep_captured_graph(o, s.object, result, made);
    size_t nodes = 0, edges = 0;
    if (!result && made && made != UNWRITTEN) {
        (void)cudaGraphGetNodes(made, NULL, &nodes);
        (void)cudaGraphGetEdges(made, NULL, NULL, NULL, &edges);
    }
    answer(result, "%s %zu %zu",
           is_known                    ? "known"
           : made && o->handle == made ? name(o)
                                       : handle_state(made),
           nodes, edges);
}

static void ask_capture(void) {
    const chosen_stream s = any_stream();
    enum cudaStreamCaptureStatus status = (enum cudaStreamCaptureStatus)9;
    cudaGraph_t graph = UNWRITTEN;
    const cudaGraphNode_t *dependencies = NULL;
    unsigned long long id = 0;
    size_t count = 77;
    cudaError_t result;
    CUresult driver_result;
    switch (below(3)) {
    case 0:
        call("cudaStreamIsCapturing(%s)", s.name);
        result = cudaStreamIsCapturing(s.handle, &status);
        answer(result, "%d", (int)status);
        break;
    case 1: {
        CUstreamCaptureStatus driver_status = (CUstreamCaptureStatus)9;
        call("cuStreamIsCapturing(%s)", s.name);
        driver_result = cuStreamIsCapturing(s.handle, &driver_status);
        answer(driver_result, "%d", (int)driver_status);
        break;
    }
    default:
        call("cudaStreamGetCaptureInfo(%s)", s.name);
        result =
            cudaStreamGetCaptureInfo(s.handle, &status, &id, &graph, &dependencies, NULL, &count);
        answer(result, "%d %s %s %zu", (int)status, id ? "id" : "0", handle_state(graph), count);
    }
}

static void change_capture(void) {
    const chosen_stream s = any_captured_stream();
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaGraph_t graph = NULL;
    cudaGraphNode_t nodes[8];
    size_t count = 8;
    const unsigned flags = (unsigned)ONE_OF(0, 0, 1, 1, 2);
    if (!is_capturing(s))
        return;
    if (cudaStreamGetCaptureInfo(s.handle, &status, NULL, &graph, NULL, NULL, NULL) || !graph ||
        cudaGraphGetNodes(graph, nodes, &count)) {
        (void)cudaGetLastError();
        count = 0;
    }
    const size_t first = count ? below((unsigned)(count < 8 ? count : 8)) : 0,
                 taken = count ? below(2) : 0;
    call("cudaStreamUpdateCaptureDependencies(%s, {%zu}, %zu, %u)", s.name, first, taken, flags);
    answer(cudaStreamUpdateCaptureDependencies(s.handle, nodes + first, NULL, taken, flags), "%s",
           "");
}

static void exchange_mode(void) {
    enum cudaStreamCaptureMode mode = (enum cudaStreamCaptureMode)ONE_OF(0, 0, 0, 1, 2, 3);
    call("cudaThreadExchangeStreamCaptureMode(%d)", (int)mode);
    const cudaError_t result = cudaThreadExchangeStreamCaptureMode(&mode);
    answer(result, "%d", (int)mode);
}

const operation capture_operations[] = {
    OPERATION(begin_capture, 12, false), OPERATION(begin_capture_to_graph, 3, false),
    OPERATION(end_capture, 14, false),   OPERATION(ask_capture, 8, false),
    OPERATION(change_capture, 3, false), OPERATION(exchange_mode, 3, false),
    OPERATION(NULL, 0, false),
};
