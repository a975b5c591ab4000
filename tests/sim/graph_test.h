/* What the tests of graphs share. */
#ifndef GRAPH_TEST_H
#define GRAPH_TEST_H

#include "sim_test.h"

static inline cudaStream_t new_stream(void) {
    cudaStream_t stream;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

static inline cudaEvent_t new_event(void) {
    cudaEvent_t event;
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    return event;
}

static inline cudaGraph_t new_graph(void) {
    cudaGraph_t graph;
    OK(cudaGraphCreate(&graph, 0));
    return graph;
}

static inline void *new_memory(size_t size) {
    void *memory;
    OK(cudaMalloc(&memory, size));
    return memory;
}

static inline cudaGraphNode_t add_empty(cudaGraph_t graph, const cudaGraphNode_t *before,
                                        size_t count) {
    cudaGraphNode_t node;
    OK(cudaGraphAddEmptyNode(&node, graph, before, count));
    return node;
}

/* Each call of it adds one digit. */
static inline void add_digit(void *data) {
    int *number = data;
    number[0] = (int)((unsigned)number[0] * 10 + (unsigned)++number[1]); /* may wrap */
}

/* Counts its calls. */
static inline void count_up(void *data) {
    atomic_fetch_add((atomic_int *)data, 1);
}

static inline cudaGraphNode_t add_host(cudaGraph_t graph, const cudaGraphNode_t *before,
                                       size_t count, cudaHostFn_t fn, void *data) {
    const struct cudaHostNodeParams params = {fn, data};
    cudaGraphNode_t node;
    OK(cudaGraphAddHostNode(&node, graph, before, count, &params));
    return node;
}

static inline cudaGraphExec_t instantiate(cudaGraph_t graph) {
    cudaGraphExec_t exec;
    OK(cudaGraphInstantiate(&exec, graph, 0));
    return exec;
}

static inline size_t node_count(cudaGraph_t graph) {
    size_t count = 0;
    OK(cudaGraphGetNodes(graph, NULL, &count));
    return count;
}

static inline enum cudaGraphNodeType type_of(cudaGraphNode_t node) {
    enum cudaGraphNodeType type;
    OK(cudaGraphNodeGetType(node, &type));
    return type;
}

/* Launches it once and waits. */
static inline void run_once(cudaGraph_t graph) {
    cudaStream_t stream = new_stream();
    cudaGraphExec_t exec = instantiate(graph);
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaStreamDestroy(stream));
}

#endif
