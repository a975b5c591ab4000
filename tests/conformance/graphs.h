/* What the cases of capture and of graphs share. */
#ifndef GRAPHS_H
#define GRAPHS_H

#include "conformance.h"

/* Where the case must not end: a capture goes on. */
#define YES(call) SAYS(cudaSuccess, call)

static inline void on_host(void *data) {
    ++*(int *)data;
}

static inline cudaStream_t new_stream(void) {
    cudaStream_t stream = NULL;
    (void)cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    return stream;
}

static inline cudaEvent_t new_event(void) {
    cudaEvent_t event = NULL;
    (void)cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    return event;
}

static inline int status_of(cudaStream_t stream) {
    enum cudaStreamCaptureStatus status = (enum cudaStreamCaptureStatus)99;
    cudaError_t result = cudaStreamIsCapturing(stream, &status);
    return result ? -(int)result : (int)status;
}

/* Ends a capture whatever has become of it, and leaves neither a graph nor an error. */
static inline cudaError_t end_capture(cudaStream_t stream) {
    cudaGraph_t graph = NULL;
    cudaError_t result = cudaStreamEndCapture(stream, &graph);
    (void)cudaGetLastError();
    return graph && cudaGraphDestroy(graph) ? cudaErrorUnknown : result;
}

/* What a capture in this mode says of the call, and whether it is invalid then. */
#define DURING(mode, code, status, call)                                                           \
    do {                                                                                           \
        cudaStream_t during = new_stream();                                                        \
        cudaGraph_t captured = NULL;                                                               \
        YES(cudaStreamBeginCapture(during, mode));                                                 \
        SAYS(code, call);                                                                          \
        EQUAL(status_of(during), status);                                                          \
        SAYS((status) == cudaStreamCaptureStatusActive ? cudaSuccess                               \
                                                       : cudaErrorStreamCaptureInvalidated,        \
             cudaStreamEndCapture(during, &captured));                                             \
        if (captured)                                                                              \
            (void)cudaGraphDestroy(captured);                                                      \
        (void)cudaStreamDestroy(during);                                                           \
        (void)cudaGetLastError();                                                                  \
    } while (0)
/* The call fails in a capture and leaves it valid. */
#define HARMLESS(code, call)                                                                       \
    DURING(cudaStreamCaptureModeThreadLocal, code, cudaStreamCaptureStatusActive, call)
#define ALLOWED(call)                                                                              \
    DURING(cudaStreamCaptureModeThreadLocal, cudaSuccess, cudaStreamCaptureStatusActive, call)
#define UNSAFE(call)                                                                               \
    DURING(cudaStreamCaptureModeThreadLocal, cudaErrorStreamCaptureUnsupported,                    \
           cudaStreamCaptureStatusInvalidated, call)

static inline size_t count_nodes(cudaGraph_t graph) {
    size_t count = 99;
    return cudaGraphGetNodes(graph, NULL, &count) ? 99 : count;
}

static inline size_t count_roots(cudaGraph_t graph) {
    size_t count = 99;
    return cudaGraphGetRootNodes(graph, NULL, &count) ? 99 : count;
}

static inline size_t count_edges(cudaGraph_t graph) {
    size_t count = 99;
    return cudaGraphGetEdges(graph, NULL, NULL, NULL, &count) ? 99 : count;
}

static inline int type_of(cudaGraph_t graph, size_t index) {
    cudaGraphNode_t nodes[8];
    size_t count = 8;
    enum cudaGraphNodeType type = cudaGraphNodeTypeCount;
    if (cudaGraphGetNodes(graph, nodes, &count) == cudaSuccess && index < count)
        (void)cudaGraphNodeGetType(nodes[index], &type);
    return (int)type;
}

static inline cudaGraphNode_t add_host(cudaGraph_t graph, const cudaGraphNode_t *before,
                                       size_t count, void *data) {
    const struct cudaHostNodeParams host = {on_host, data};
    cudaGraphNode_t node = NULL;
    (void)cudaGraphAddHostNode(&node, graph, before, count, &host);
    return node;
}

static inline cudaGraphNode_t add_fill(cudaGraph_t graph, const cudaGraphNode_t *before,
                                       size_t count, void *to, unsigned value) {
    const struct cudaMemsetParams fill = {to, 0, value, 4, 1, 1};
    cudaGraphNode_t node = NULL;
    (void)cudaGraphAddMemsetNode(&node, graph, before, count, &fill);
    return node;
}

static inline unsigned read_back(const void *from) {
    unsigned value = 99;
    return cudaMemcpy(&value, from, sizeof value, cudaMemcpyDeviceToHost) ? 0xbad : value;
}

#endif
