/* Capture: what becomes of work, of forks and joins, and what makes a capture invalid. */
#include "graph_test.h"

#include <pthread.h>

static enum cudaStreamCaptureStatus status_of(cudaStream_t stream) {
    enum cudaStreamCaptureStatus status;
    OK(cudaStreamIsCapturing(stream, &status));
    return status;
}

static void begin_capture(cudaStream_t stream) {
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
}

static cudaGraph_t end_capture(cudaStream_t stream) {
    cudaGraph_t graph = NULL;
    OK(cudaStreamEndCapture(stream, &graph));
    assert_non_null(graph);
    return graph;
}

/* The capture has become invalid, and ends so. */
static void ends_invalid(cudaStream_t stream) {
    cudaGraph_t graph = (cudaGraph_t)(void *)stream;
    assert_int_equal(status_of(stream), cudaStreamCaptureStatusInvalidated);
    FAILS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
    assert_null(graph);
    assert_int_equal(status_of(stream), cudaStreamCaptureStatusNone);
}

TEST(nothing_captured_is_an_empty_graph) {
    cudaStream_t stream = new_stream();
    begin_capture(stream);
    cudaGraph_t graph = end_capture(stream);
    assert_int_equal(node_count(graph), 0);
    run_once(graph);
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
}

TEST(work_becomes_nodes_in_its_order) {
    cudaStream_t stream = new_stream();
    int *memory = new_memory(8), host = 0, number[2] = {0};
    begin_capture(stream);
    OK(cudaMemsetAsync(memory, 1, 8, stream));
    OK(cudaMemcpyAsync(memory + 1, memory, 4, cudaMemcpyDeviceToDevice, stream));
    OK(cudaMemcpyAsync(&host, memory + 1, 4, cudaMemcpyDeviceToHost, stream));
    OK(cudaLaunchHostFunc(stream, add_digit, number));
    cudaGraph_t graph = end_capture(stream);
    assert_int_equal(host, 0);
    assert_int_equal(number[0], 0);
    cudaGraphNode_t nodes[4], roots[4];
    size_t count = 4, root_count = 4, edges = 0;
    OK(cudaGraphGetNodes(graph, nodes, &count));
    OK(cudaGraphGetRootNodes(graph, roots, &root_count));
    OK(cudaGraphGetEdges(graph, NULL, NULL, NULL, &edges));
    assert_int_equal(count, 4);
    assert_int_equal(root_count, 1);
    assert_int_equal(edges, 3);
    assert_ptr_equal(roots[0], nodes[0]);
    assert_int_equal(type_of(nodes[0]), cudaGraphNodeTypeMemset);
    assert_int_equal(type_of(nodes[1]), cudaGraphNodeTypeMemcpy);
    assert_int_equal(type_of(nodes[3]), cudaGraphNodeTypeHost);
    run_once(graph);
    assert_int_equal(host, 0x01010101);
    run_once(graph);
    assert_int_equal(number[0], 12);
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(memory));
    OK(cudaStreamDestroy(stream));
}

TEST(events_fork_and_join) {
    cudaStream_t a = new_stream(), b = new_stream();
    cudaEvent_t fork = new_event(), join = new_event();
    atomic_int count = 0;
    begin_capture(a);
    OK(cudaEventRecord(fork, a));
    OK(cudaStreamWaitEvent(b, fork, 0));
    assert_int_equal(status_of(b), cudaStreamCaptureStatusActive);
    OK(cudaLaunchHostFunc(a, count_up, &count));
    OK(cudaLaunchHostFunc(b, count_up, &count));
    OK(cudaEventRecord(join, b));
    OK(cudaStreamWaitEvent(a, join, 0));
    OK(cudaLaunchHostFunc(a, count_up, &count));
    cudaGraph_t graph = end_capture(a);
    assert_int_equal(status_of(b), cudaStreamCaptureStatusNone);
    size_t roots = 0, edges = 0;
    OK(cudaGraphGetRootNodes(graph, NULL, &roots));
    OK(cudaGraphGetEdges(graph, NULL, NULL, NULL, &edges));
    assert_int_equal(roots, 2);
    assert_int_equal(edges, 2);
    run_once(graph);
    assert_int_equal(atomic_load(&count), 3);
    OK(cudaGraphDestroy(graph));
    OK(cudaEventDestroy(fork));
    OK(cudaEventDestroy(join));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
}

TEST(unjoined_work) {
    cudaStream_t a = new_stream(), b = new_stream();
    cudaEvent_t fork = new_event();
    atomic_int count = 0;
    cudaGraph_t graph = (cudaGraph_t)(void *)a;
    begin_capture(a);
    OK(cudaEventRecord(fork, a));
    OK(cudaStreamWaitEvent(b, fork, 0));
    OK(cudaLaunchHostFunc(b, count_up, &count));
    FAILS(cudaErrorStreamCaptureUnjoined, cudaStreamEndCapture(a, &graph));
    assert_null(graph);
    assert_int_equal(status_of(a), cudaStreamCaptureStatusNone);
    assert_int_equal(status_of(b), cudaStreamCaptureStatusNone);
    OK(cudaEventDestroy(fork));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
}

TEST(begin_mistakes) {
    cudaStream_t stream = new_stream();
    FAILS(cudaErrorStreamCaptureUnsupported,
          cudaStreamBeginCapture(0, cudaStreamCaptureModeRelaxed));
    FAILS(cudaErrorStreamCaptureUnsupported,
          cudaStreamBeginCapture(cudaStreamLegacy, cudaStreamCaptureModeRelaxed));
    FAILS(cudaErrorInvalidValue, cudaStreamBeginCapture(stream, (enum cudaStreamCaptureMode)3));
    begin_capture(stream);
    FAILS(cudaErrorIllegalState, cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    OK(cudaGraphDestroy(end_capture(stream)));
    OK(cudaStreamDestroy(stream));
    FAILS(cudaErrorInvalidResourceHandle,
          cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
}

TEST(end_mistakes) {
    cudaStream_t a = new_stream(), b = new_stream();
    cudaEvent_t event = new_event();
    cudaGraph_t graph;
    FAILS(cudaErrorIllegalState, cudaStreamEndCapture(a, &graph));
    begin_capture(a);
    OK(cudaEventRecord(event, a));
    OK(cudaStreamWaitEvent(b, event, 0));
    FAILS(cudaErrorStreamCaptureUnmatched, cudaStreamEndCapture(b, &graph));
    ends_invalid(a);
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
}

TEST(waiting_for_a_captured_stream) {
    cudaStream_t stream = new_stream();
    begin_capture(stream);
    FAILS(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(stream));
    FAILS(cudaErrorStreamCaptureUnsupported, cudaStreamQuery(stream));
    ends_invalid(stream);
    begin_capture(stream);
    FAILS(cudaErrorStreamCaptureUnsupported, cudaStreamQuery(stream));
    ends_invalid(stream);
    begin_capture(stream);
    FAILS(cudaErrorStreamCaptureUnsupported, cudaDeviceSynchronize());
    ends_invalid(stream);
    OK(cudaStreamDestroy(stream));
}

/* One fails, and takes the graph along, which the other one still needs. */
TEST(captures_into_a_graph_and_its_part_fail_together) {
    cudaStream_t a = new_stream(), b = new_stream();
    cudaGraph_t graph = new_graph(), empty = new_graph(), part;
    cudaGraphNode_t node;
    char *memory = new_memory(4);
    OK(cudaGraphAddChildGraphNode(&node, graph, NULL, 0, empty));
    OK(cudaGraphChildGraphNodeGetGraph(node, &part));
    OK(cudaStreamBeginCaptureToGraph(a, graph, NULL, NULL, 0, cudaStreamCaptureModeRelaxed));
    FAILS(cudaErrorIllegalState,
          cudaStreamBeginCaptureToGraph(b, graph, NULL, NULL, 0, cudaStreamCaptureModeRelaxed));
    OK(cudaStreamBeginCaptureToGraph(b, part, NULL, NULL, 0, cudaStreamCaptureModeRelaxed));
    FAILS(cudaErrorStreamCaptureUnsupported, cudaStreamQuery(a));
    ends_invalid(a);
    FAILS(cudaErrorStreamCaptureInvalidated, cudaMemsetAsync(memory, 0, 1, b));
    ends_invalid(b);
    FAILS(cudaErrorInvalidValue, cudaGraphDestroy(graph)); /* it went with them */
    OK(cudaGraphDestroy(empty));
    OK(cudaFree(memory));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
}

#define T_ALL                                                                                      \
    T(nothing_captured_is_an_empty_graph), T(work_becomes_nodes_in_its_order),                     \
        T(events_fork_and_join), T(unjoined_work), T(begin_mistakes), T(end_mistakes),             \
        T(waiting_for_a_captured_stream), T(captures_into_a_graph_and_its_part_fail_together)

int main(void) {
    const struct CMUnitTest tests[] = {T_ALL};
    return RUN(tests);
}
