/*
 * Capture: what work becomes, and forks and joins. What it does not allow: capture_rules.c.
 *
 * A capture that a case begins is always ended, whatever went wrong: others share the process.
 */
#include "graphs.h"

#include <pthread.h>

/* ---- what is captured ---- */

CASE(a_capture_of_nothing) {
    cudaStream_t stream = new_stream();
    cudaGraph_t graph = NULL;
    EQUAL(status_of(stream), cudaStreamCaptureStatusNone);
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    EQUAL(status_of(stream), cudaStreamCaptureStatusActive);
    OK(cudaStreamEndCapture(stream, &graph));
    EQUAL(status_of(stream), cudaStreamCaptureStatusNone);
    EQUAL(count_nodes(graph), 0);
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
}

CASE(captured_work_is_not_done) {
    cudaStream_t stream = new_stream();
    cudaGraph_t graph = NULL;
    int calls = 0;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    YES(cudaLaunchHostFunc(stream, on_host, &calls));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaStreamSynchronize(stream));
    EQUAL(calls, 0);
    EQUAL(count_nodes(graph), 1);
    EQUAL(type_of(graph, 0), cudaGraphNodeTypeHost);
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
}

CASE(captured_work_in_its_order) {
    cudaStream_t stream = new_stream();
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    unsigned *device = NULL, *host = NULL;
    OK(cudaMalloc((void **)&device, 64));
    OK(cudaMallocHost((void **)&host, 64));
    host[0] = 0;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    YES(cudaMemsetAsync(device, 1, 64, stream));
    YES(cudaMemcpyAsync(host, device, 4, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    EQUAL(count_nodes(graph), 2);
    EQUAL(count_roots(graph), 1);
    EQUAL(count_edges(graph), 1);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    EQUAL(host[0], 0x01010101);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaFreeHost(host));
    OK(cudaFree(device));
    OK(cudaStreamDestroy(stream));
}

CASE(captured_calls_without_bytes) {
    cudaStream_t stream = new_stream();
    cudaGraph_t graph = NULL;
    void *device = NULL;
    OK(cudaMalloc(&device, 64));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    YES(cudaMemsetAsync(device, 1, 0, stream));
    YES(cudaMemcpyAsync(device, device, 0, cudaMemcpyDeviceToDevice, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    EQUAL(count_nodes(graph), 0);
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(device));
    OK(cudaStreamDestroy(stream));
}

CASE(a_captured_copy_of_pageable_memory) {
    cudaStream_t stream = new_stream();
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    void *device = NULL;
    static int from, to;
    from = 1, to = 0;
    OK(cudaMalloc(&device, 64));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    YES(cudaMemcpyAsync(device, &from, sizeof from, cudaMemcpyHostToDevice, stream));
    YES(cudaMemcpyAsync(&to, device, sizeof to, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    EQUAL(count_nodes(graph), 2);
    from = 2; /* read when it is launched */
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    EQUAL(to, 2);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(device));
    OK(cudaStreamDestroy(stream));
}

CASE(a_captured_copy_has_parameters) {
    cudaStream_t stream = new_stream();
    cudaGraph_t graph = NULL;
    char *device = NULL, *host = NULL;
    cudaGraphNode_t node;
    size_t count = 1;
    struct cudaMemcpy3DParms copy;
    OK(cudaMalloc((void **)&device, 64));
    OK(cudaMallocHost((void **)&host, 64));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    YES(cudaMemcpyAsync(host + 8, device + 4, 16, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphGetNodes(graph, &node, &count));
    OK(cudaGraphMemcpyNodeGetParams(node, &copy));
    EQUAL(copy.kind, cudaMemcpyDeviceToHost);
    EQUAL(copy.extent.width, 16);
    EQUAL(copy.extent.height, 1);
    EQUAL(copy.extent.depth, 1);
    IS((char *)copy.srcPtr.ptr + copy.srcPos.x == device + 4);
    IS((char *)copy.dstPtr.ptr + copy.dstPos.x == host + 8);
    IS(copy.srcArray == NULL && copy.dstArray == NULL);
    OK(cudaGraphDestroy(graph));
    OK(cudaFreeHost(host));
    OK(cudaFree(device));
    OK(cudaStreamDestroy(stream));
}

CASE(a_captured_fill_has_parameters) {
    cudaStream_t stream = new_stream();
    cudaGraph_t graph = NULL;
    char *device = NULL;
    cudaGraphNode_t nodes[2];
    size_t count = 2;
    struct cudaMemsetParams fill;
    OK(cudaMalloc((void **)&device, 1024));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    YES(cudaMemsetAsync(device + 4, 0x1ff, 40, stream));
    YES(cudaMemset2DAsync(device, 64, 7, 16, 4, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphGetNodes(graph, nodes, &count));
    OK(cudaGraphMemsetNodeGetParams(nodes[0], &fill));
    IS(fill.dst == device + 4);
    EQUAL(fill.value, 0xff);
    EQUAL(fill.elementSize, 1);
    EQUAL(fill.width, 40);
    EQUAL(fill.height, 1);
    OK(cudaGraphMemsetNodeGetParams(nodes[1], &fill));
    IS(fill.dst == device);
    EQUAL(fill.pitch, 64);
    EQUAL(fill.elementSize, 1);
    EQUAL(fill.width, 16);
    EQUAL(fill.height, 4);
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(device));
    OK(cudaStreamDestroy(stream));
}

CASE(the_thread_s_own_stream_can_be_captured) {
    cudaGraph_t graph = NULL;
    int calls = 0;
    OK(cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeThreadLocal));
    YES(cudaLaunchHostFunc(cudaStreamPerThread, on_host, &calls));
    OK(cudaStreamEndCapture(cudaStreamPerThread, &graph));
    EQUAL(count_nodes(graph), 1);
    OK(cudaGraphDestroy(graph));
}

CASE(launches_of_graphs_are_not_captured) {
    cudaStream_t stream = new_stream();
    cudaGraph_t graph = NULL, captured = NULL;
    cudaGraphExec_t exec = NULL;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    FAILS(cudaErrorStreamCaptureUnsupported, cudaGraphLaunch(exec, stream));
    FAILS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &captured));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
}

CASE(work_before_a_capture_goes_on) {
    cudaStream_t stream = new_stream();
    cudaGraph_t graph = NULL;
    int calls = 0;
    hold(stream);
    OK(cudaLaunchHostFunc(stream, on_host, &calls));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    YES(cudaLaunchHostFunc(stream, on_host, &calls));
    OK(cudaStreamEndCapture(stream, &graph));
    let_go();
    OK(cudaStreamSynchronize(stream));
    EQUAL(calls, 1);
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
}

/* ---- beginning and ending ---- */

CASE(streams_that_cannot_be_captured) {
    FAILS(cudaErrorStreamCaptureUnsupported,
          cudaStreamBeginCapture(NULL, cudaStreamCaptureModeRelaxed));
    FAILS(cudaErrorStreamCaptureUnsupported,
          cudaStreamBeginCapture(cudaStreamLegacy, cudaStreamCaptureModeThreadLocal));
}

CASE(capture_modes_that_do_not_exist) {
    cudaStream_t stream = new_stream();
    FAILS(cudaErrorInvalidValue, cudaStreamBeginCapture(stream, (enum cudaStreamCaptureMode)3));
    FAILS(cudaErrorInvalidValue, cudaStreamBeginCapture(stream, (enum cudaStreamCaptureMode) - 1));
    EQUAL(status_of(stream), cudaStreamCaptureStatusNone);
    OK(cudaStreamDestroy(stream));
}

CASE(beginning_twice) {
    cudaStream_t stream = new_stream();
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    FAILS(cudaErrorIllegalState, cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    EQUAL(status_of(stream), cudaStreamCaptureStatusActive);
    SAYS(cudaSuccess, end_capture(stream));
    OK(cudaStreamDestroy(stream));
}

CASE(ending_what_was_not_begun) {
    cudaStream_t stream = new_stream();
    cudaGraph_t graph = NULL;
    FAILS(cudaErrorIllegalState, cudaStreamEndCapture(stream, &graph));
    FAILS(cudaErrorIllegalState, cudaStreamEndCapture(cudaStreamPerThread, &graph));
    OK(cudaStreamDestroy(stream));
}

CASE(ending_the_legacy_stream) {
    cudaGraph_t graph = NULL;
    FAILS(cudaErrorIllegalState, cudaStreamEndCapture(NULL, &graph));
}

CASE(ending_without_a_place_for_the_graph) {
    cudaStream_t stream = new_stream();
    cudaGraph_t graph = NULL;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    SAYS(cudaSuccess, cudaStreamEndCapture(stream, NULL)); /* the graph is lost */
    EQUAL(status_of(stream), cudaStreamCaptureStatusNone);
    FAILS(cudaErrorIllegalState, cudaStreamEndCapture(stream, &graph));
    OK(cudaStreamDestroy(stream));
}

CASE(ending_on_a_stream_that_only_joined) {
    cudaStream_t a = new_stream(), b = new_stream();
    cudaEvent_t event = new_event();
    cudaGraph_t graph = NULL;
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    YES(cudaEventRecord(event, a));
    YES(cudaStreamWaitEvent(b, event, 0));
    FAILS(cudaErrorStreamCaptureUnmatched, cudaStreamEndCapture(b, &graph));
    EQUAL(status_of(a), cudaStreamCaptureStatusInvalidated);
    EQUAL(status_of(b), cudaStreamCaptureStatusInvalidated);
    FAILS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(a, &graph));
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
}

CASE(asking_without_a_place_for_the_answer) {
    cudaStream_t stream = new_stream();
    FAILS(cudaErrorInvalidValue, cudaStreamIsCapturing(stream, NULL));
    OK(cudaStreamDestroy(stream));
}

CASE(destroying_a_stream_that_is_captured) {
    cudaStream_t stream = new_stream();
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    SAYS(cudaSuccess, cudaStreamDestroy(stream));
    void *memory = NULL;
    OK(cudaMalloc(&memory, 64)); /* so there is no capture any more */
    OK(cudaFree(memory));
}

typedef struct ending {
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaError_t result;
} ending;

static void *end_there(void *data) {
    ending *it = data;
    it->result = cudaStreamEndCapture(it->stream, &it->graph);
    return NULL;
}

static cudaError_t in_a_thread(ending *it) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, end_there, it))
        return cudaErrorUnknown;
    (void)pthread_join(thread, NULL);
    return it->result;
}

CASE(ending_in_another_thread) {
    ending it = {.stream = new_stream()};
    cudaGraph_t graph = NULL;
    OK(cudaStreamBeginCapture(it.stream, cudaStreamCaptureModeThreadLocal));
    SAYS(cudaErrorStreamCaptureWrongThread, in_a_thread(&it));
    EQUAL(status_of(it.stream), cudaStreamCaptureStatusNone);
    SAYS(cudaErrorIllegalState, cudaStreamEndCapture(it.stream, &graph));
    (void)cudaGetLastError();
    OK(cudaStreamBeginCapture(it.stream, cudaStreamCaptureModeRelaxed));
    SAYS(cudaSuccess, in_a_thread(&it));
    OK(cudaGraphDestroy(it.graph));
    OK(cudaStreamDestroy(it.stream));
}

CASE(ending_in_another_thread_before_all_joined) {
    ending it = {.stream = new_stream()};
    cudaStream_t other = new_stream();
    cudaEvent_t event = new_event();
    cudaGraph_t graph = NULL;
    int calls = 0;
    OK(cudaStreamBeginCapture(it.stream, cudaStreamCaptureModeThreadLocal));
    YES(cudaEventRecord(event, it.stream));
    YES(cudaStreamWaitEvent(other, event, 0));
    YES(cudaLaunchHostFunc(other, on_host, &calls));
    SAYS(cudaErrorStreamCaptureUnjoined, in_a_thread(&it));
    EQUAL(status_of(it.stream), cudaStreamCaptureStatusNone);
    SAYS(cudaErrorIllegalState, cudaStreamEndCapture(it.stream, &graph));
    (void)cudaGetLastError();
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(other));
    OK(cudaStreamDestroy(it.stream));
}

CASE(ending_what_is_invalid_in_another_thread) {
    ending it = {.stream = new_stream()};
    OK(cudaStreamBeginCapture(it.stream, cudaStreamCaptureModeThreadLocal));
    SAYS(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(it.stream));
    SAYS(cudaErrorStreamCaptureInvalidated, in_a_thread(&it));
    EQUAL(status_of(it.stream), cudaStreamCaptureStatusNone);
    (void)cudaGetLastError();
    OK(cudaStreamDestroy(it.stream));
}

/* ---- forks and joins ---- */

CASE(a_fork_and_its_join) {
    cudaStream_t a = new_stream(), b = new_stream();
    cudaEvent_t fork = new_event(), join = new_event();
    cudaGraph_t graph = NULL;
    int calls = 0;
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    YES(cudaLaunchHostFunc(a, on_host, &calls));
    YES(cudaEventRecord(fork, a));
    YES(cudaStreamWaitEvent(b, fork, 0));
    EQUAL(status_of(b), cudaStreamCaptureStatusActive);
    YES(cudaLaunchHostFunc(b, on_host, &calls));
    YES(cudaLaunchHostFunc(a, on_host, &calls));
    YES(cudaEventRecord(join, b));
    YES(cudaStreamWaitEvent(a, join, 0));
    YES(cudaLaunchHostFunc(a, on_host, &calls));
    OK(cudaStreamEndCapture(a, &graph));
    EQUAL(status_of(b), cudaStreamCaptureStatusNone);
    EQUAL(count_nodes(graph), 4);
    EQUAL(count_roots(graph), 1);
    EQUAL(count_edges(graph), 4);
    OK(cudaGraphDestroy(graph));
    OK(cudaEventDestroy(fork));
    OK(cudaEventDestroy(join));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
}

CASE(a_fork_that_does_nothing_needs_no_join) {
    cudaStream_t a = new_stream(), b = new_stream();
    cudaEvent_t fork = new_event();
    int calls = 0;
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    YES(cudaLaunchHostFunc(a, on_host, &calls));
    YES(cudaEventRecord(fork, a));
    YES(cudaStreamWaitEvent(b, fork, 0));
    SAYS(cudaSuccess, end_capture(a));
    OK(cudaEventDestroy(fork));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
}

CASE(a_fork_without_a_join) {
    cudaStream_t a = new_stream(), b = new_stream();
    cudaEvent_t fork = new_event();
    cudaGraph_t graph = (cudaGraph_t)(void *)a;
    int calls = 0;
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    YES(cudaEventRecord(fork, a));
    YES(cudaStreamWaitEvent(b, fork, 0));
    YES(cudaLaunchHostFunc(b, on_host, &calls));
    FAILS(cudaErrorStreamCaptureUnjoined, cudaStreamEndCapture(a, &graph));
    IS(graph == NULL);
    EQUAL(status_of(a), cudaStreamCaptureStatusNone);
    EQUAL(status_of(b), cudaStreamCaptureStatusNone);
    OK(cudaEventDestroy(fork));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
}

CASE(work_behind_the_join) {
    cudaStream_t a = new_stream(), b = new_stream();
    cudaEvent_t fork = new_event(), join = new_event();
    cudaGraph_t graph = NULL;
    int calls = 0;
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    YES(cudaEventRecord(fork, a));
    YES(cudaStreamWaitEvent(b, fork, 0));
    YES(cudaLaunchHostFunc(b, on_host, &calls));
    YES(cudaEventRecord(join, b));
    YES(cudaStreamWaitEvent(a, join, 0));
    YES(cudaLaunchHostFunc(b, on_host, &calls)); /* is not joined */
    FAILS(cudaErrorStreamCaptureUnjoined, cudaStreamEndCapture(a, &graph));
    OK(cudaEventDestroy(fork));
    OK(cudaEventDestroy(join));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
}

CASE(destroying_a_stream_that_joined) {
    cudaStream_t a = new_stream(), b = new_stream();
    cudaEvent_t fork = new_event();
    cudaGraph_t graph = NULL;
    int calls = 0;
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    YES(cudaEventRecord(fork, a));
    YES(cudaStreamWaitEvent(b, fork, 0));
    YES(cudaLaunchHostFunc(b, on_host, &calls));
    SAYS(cudaSuccess, cudaStreamDestroy(b));
    EQUAL(status_of(a), cudaStreamCaptureStatusActive);
    SAYS(cudaErrorStreamCaptureUnjoined, cudaStreamEndCapture(a, &graph));
    OK(cudaEventDestroy(fork));
    OK(cudaStreamDestroy(a));
}

CASE(merging_captures) {
    cudaStream_t a = new_stream(), b = new_stream();
    cudaEvent_t event = new_event();
    cudaGraph_t graph = NULL;
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    YES(cudaStreamBeginCapture(b, cudaStreamCaptureModeThreadLocal));
    YES(cudaEventRecord(event, a));
    FAILS(cudaErrorStreamCaptureMerge, cudaStreamWaitEvent(b, event, 0));
    EQUAL(status_of(a), cudaStreamCaptureStatusInvalidated);
    EQUAL(status_of(b), cudaStreamCaptureStatusInvalidated);
    SAYS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(a, &graph));
    SAYS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(b, &graph));
    (void)cudaGetLastError();
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
}

CASE(beginning_on_a_stream_that_joined) {
    cudaStream_t a = new_stream(), b = new_stream();
    cudaEvent_t event = new_event();
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    YES(cudaEventRecord(event, a));
    YES(cudaStreamWaitEvent(b, event, 0));
    FAILS(cudaErrorIllegalState, cudaStreamBeginCapture(b, cudaStreamCaptureModeThreadLocal));
    SAYS(cudaSuccess, end_capture(a));
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
}

/* ---- what a capture says of itself ---- */

CASE(what_a_capture_says) {
    cudaStream_t stream = new_stream();
    enum cudaStreamCaptureStatus status = (enum cudaStreamCaptureStatus)99;
    unsigned long long first = 0, second = 0;
    const cudaGraphNode_t *nodes = NULL;
    const cudaGraphEdgeData *data = NULL;
    cudaGraph_t graph = NULL, captured = NULL;
    size_t count = 99;
    int calls = 0;
    OK(cudaStreamGetCaptureInfo(stream, &status, &first, &graph, &nodes, &data, &count));
    EQUAL(status, cudaStreamCaptureStatusNone);
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    YES(cudaStreamGetCaptureInfo(stream, &status, &first, &graph, &nodes, &data, &count));
    EQUAL(status, cudaStreamCaptureStatusActive);
    EQUAL(count, 0);
    YES(cudaLaunchHostFunc(stream, on_host, &calls));
    YES(cudaStreamGetCaptureInfo(stream, &status, &second, &captured, &nodes, &data, &count));
    EQUAL(count, 1);
    IS(first == second && graph == captured);
    EQUAL(count_nodes(graph), 1);
    OK(cudaStreamEndCapture(stream, &captured));
    IS(graph == captured);
    OK(cudaGraphDestroy(captured));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    YES(cudaStreamGetCaptureInfo(stream, &status, &second, NULL, NULL, NULL, NULL));
    IS(first != second);
    OK(cudaStreamEndCapture(stream, &captured));
    OK(cudaGraphDestroy(captured));
    OK(cudaStreamDestroy(stream));
}

CASE(capture_information_wants_a_place) {
    cudaStream_t stream = new_stream();
    unsigned long long id;
    FAILS(cudaErrorInvalidValue,
          cudaStreamGetCaptureInfo(stream, NULL, &id, NULL, NULL, NULL, NULL));
    OK(cudaStreamDestroy(stream));
}

CASE(dependencies_can_be_changed) {
    cudaStream_t stream = new_stream();
    enum cudaStreamCaptureStatus status;
    const cudaGraphNode_t *nodes = NULL;
    const cudaGraphEdgeData *data = NULL;
    cudaGraph_t graph = NULL;
    cudaGraphNode_t extra = NULL;
    size_t count = 99;
    int calls = 0;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    YES(cudaLaunchHostFunc(stream, on_host, &calls));
    YES(cudaStreamGetCaptureInfo(stream, &status, NULL, &graph, &nodes, &data, &count));
    YES(cudaGraphAddEmptyNode(&extra, graph, NULL, 0));
    YES(cudaStreamUpdateCaptureDependencies(stream, &extra, NULL, 1,
                                            cudaStreamAddCaptureDependencies));
    YES(cudaStreamGetCaptureInfo(stream, &status, NULL, NULL, &nodes, &data, &count));
    EQUAL(count, 2);
    YES(cudaLaunchHostFunc(stream, on_host, &calls));
    EQUAL(count_edges(graph), 2);
    YES(cudaStreamUpdateCaptureDependencies(stream, &extra, NULL, 1,
                                            cudaStreamSetCaptureDependencies));
    YES(cudaStreamGetCaptureInfo(stream, &status, NULL, NULL, &nodes, &data, &count));
    EQUAL(count, 1);
    IS(nodes && nodes[0] == extra);
    YES(cudaStreamUpdateCaptureDependencies(stream, NULL, NULL, 0,
                                            cudaStreamSetCaptureDependencies));
    OK(cudaStreamEndCapture(stream, &graph)); /* what was let go needs no join */
    EQUAL(count_nodes(graph), 3);
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
}

CASE(mistakes_in_changing_dependencies) {
    cudaStream_t stream = new_stream();
    cudaGraph_t other = NULL;
    cudaGraphNode_t foreign = NULL;
    OK(cudaGraphCreate(&other, 0));
    OK(cudaGraphAddEmptyNode(&foreign, other, NULL, 0));
    FAILS(cudaErrorIllegalState, cudaStreamUpdateCaptureDependencies(
                                     stream, NULL, NULL, 0, cudaStreamSetCaptureDependencies));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    FAILS(cudaErrorInvalidValue, cudaStreamUpdateCaptureDependencies(
                                     stream, NULL, NULL, 1, cudaStreamSetCaptureDependencies));
    FAILS(cudaErrorInvalidValue, cudaStreamUpdateCaptureDependencies(stream, NULL, NULL, 0, 2));
    FAILS(cudaErrorInvalidValue, cudaStreamUpdateCaptureDependencies(
                                     stream, &foreign, NULL, 1, cudaStreamAddCaptureDependencies));
    EQUAL(status_of(stream), cudaStreamCaptureStatusActive);
    SAYS(cudaSuccess, end_capture(stream));
    OK(cudaGraphDestroy(other));
    OK(cudaStreamDestroy(stream));
}

CASE(removing_nodes_while_capturing) {
    cudaStream_t stream = new_stream();
    enum cudaStreamCaptureStatus status;
    const cudaGraphNode_t *nodes = NULL;
    const cudaGraphEdgeData *data = NULL;
    cudaGraph_t graph = NULL;
    size_t count = 0;
    int calls = 0;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    YES(cudaLaunchHostFunc(stream, on_host, &calls));
    YES(cudaStreamGetCaptureInfo(stream, &status, NULL, &graph, &nodes, &data, &count));
    if (count)
        FAILS(cudaErrorIllegalState, cudaGraphDestroyNode(nodes[0]));
    FAILS(cudaErrorIllegalState, cudaGraphDestroy(graph));
    SAYS(cudaSuccess, end_capture(stream));
    OK(cudaStreamDestroy(stream));
}

/* ---- capturing into a graph ---- */

CASE(capturing_into_a_graph) {
    cudaStream_t stream = new_stream();
    cudaGraph_t graph = NULL, captured = NULL;
    cudaGraphNode_t root = NULL;
    int calls = 0;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddEmptyNode(&root, graph, NULL, 0));
    OK(cudaStreamBeginCaptureToGraph(stream, graph, &root, NULL, 1,
                                     cudaStreamCaptureModeThreadLocal));
    EQUAL(status_of(stream), cudaStreamCaptureStatusActive);
    YES(cudaLaunchHostFunc(stream, on_host, &calls));
    OK(cudaStreamEndCapture(stream, &captured));
    IS(captured == graph);
    EQUAL(count_nodes(graph), 2);
    EQUAL(count_edges(graph), 1);
    OK(cudaStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0,
                                     cudaStreamCaptureModeThreadLocal));
    YES(cudaLaunchHostFunc(stream, on_host, &calls));
    OK(cudaStreamEndCapture(stream, &captured));
    EQUAL(count_nodes(graph), 3);
    EQUAL(count_roots(graph), 2);
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
}

CASE(a_graph_goes_with_a_capture_into_it_that_fails) {
    cudaStream_t stream = new_stream();
    cudaGraph_t graph = NULL, captured = NULL;
    int calls = 0;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0, cudaStreamCaptureModeRelaxed));
    YES(cudaLaunchHostFunc(stream, on_host, &calls));
    SAYS(cudaErrorStreamCaptureUnsupported, cudaStreamQuery(stream));
    SAYS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &captured));
    (void)cudaGetLastError();
    IS(captured == NULL);
    /* The handle is stale: CUDA 12.3 to 12.6 sometimes crash when they are given it. */
    if (is_simulated())
        FAILS(cudaErrorInvalidValue, cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
}

CASE(two_captures_into_one_graph) {
    cudaStream_t one = NULL, other = NULL;
    cudaGraph_t graph = NULL, ended = NULL;
    char *memory = NULL;
    OK(cudaMalloc((void **)&memory, 4));
    OK(cudaStreamCreate(&one));
    OK(cudaStreamCreate(&other));
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaStreamBeginCaptureToGraph(one, graph, NULL, NULL, 0, cudaStreamCaptureModeRelaxed));
    FAILS(cudaErrorIllegalState,
          cudaStreamBeginCaptureToGraph(other, graph, NULL, NULL, 0, cudaStreamCaptureModeRelaxed));
    OK(cudaMemsetAsync(memory, 0, 4, one));
    OK(cudaStreamEndCapture(one, &ended));
    EQUAL(count_nodes(graph), 1);
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(one));
    OK(cudaStreamDestroy(other));
    OK(cudaFree(memory));
}

CASE(mistakes_in_capturing_into_a_graph) {
    cudaStream_t stream = new_stream();
    cudaGraph_t graph = NULL, other = NULL;
    cudaGraphNode_t foreign = NULL;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphCreate(&other, 0));
    OK(cudaGraphAddEmptyNode(&foreign, other, NULL, 0));
    FAILS(cudaErrorInvalidValue, cudaStreamBeginCaptureToGraph(stream, graph, &foreign, NULL, 1,
                                                               cudaStreamCaptureModeThreadLocal));
    FAILS(cudaErrorInvalidValue, cudaStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 1,
                                                               cudaStreamCaptureModeThreadLocal));
    FAILS(cudaErrorInvalidValue, cudaStreamBeginCaptureToGraph(stream, NULL, NULL, NULL, 0,
                                                               cudaStreamCaptureModeThreadLocal));
    FAILS(cudaErrorInvalidValue, cudaStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0,
                                                               (enum cudaStreamCaptureMode)3));
    EQUAL(status_of(stream), cudaStreamCaptureStatusNone);
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(other));
    OK(cudaStreamDestroy(stream));
}

/* ---- memory ---- */

CASE(captured_allocations_are_nodes) {
    cudaStream_t stream = new_stream();
    cudaGraph_t graph = NULL;
    void *memory = NULL;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    YES(cudaMallocAsync(&memory, 1000, stream));
    YES(cudaMemsetAsync(memory, 1, 1000, stream));
    YES(cudaFreeAsync(memory, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    EQUAL(count_nodes(graph), 3);
    EQUAL(type_of(graph, 0), cudaGraphNodeTypeMemAlloc);
    EQUAL(type_of(graph, 1), cudaGraphNodeTypeMemset);
    EQUAL(type_of(graph, 2), cudaGraphNodeTypeMemFree);
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
}

CASE(only_a_graph_s_memory_is_freed_in_a_capture) {
    cudaStream_t stream = new_stream();
    void *memory = NULL, *plain = NULL;
    OK(cudaMallocAsync(&memory, 1000, stream));
    OK(cudaMalloc(&plain, 1000));
    OK(cudaStreamSynchronize(stream));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    SAYS(cudaErrorInvalidValue, cudaFreeAsync(memory, stream));
    SAYS(cudaErrorInvalidValue, cudaFreeAsync(plain, stream));
    EQUAL(status_of(stream), cudaStreamCaptureStatusActive);
    SAYS(cudaSuccess, end_capture(stream));
    OK(cudaFreeAsync(memory, stream));
    OK(cudaFree(plain));
    OK(cudaStreamSynchronize(stream));
    OK(cudaStreamDestroy(stream));
}
