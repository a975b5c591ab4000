/* Capturing into a graph again. */
#include "graph_test.h"

static cudaStream_t stream;
static char *memory;

static int begin_with_memory(void **state) {
    begin(state);
    stream = new_stream();
    memory = new_memory(64);
    return 0;
}

static int end_with_memory(void **state) {
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(memory));
    return end(state);
}

#define M(name) cmocka_unit_test_setup_teardown(name, begin_with_memory, end_with_memory)

/* What is asked about other parameters. */
typedef struct word {
    cudaError_t answer;
    int calls, inner;
    cudaGraphNode_t node;
    enum cudaGraphRecaptureStatus status;
    unsigned before, now;
} word;

static cudaError_t give_word(void *data, cudaGraphNode_t node,
                             const struct cudaGraphNodeParams *original,
                             const struct cudaGraphNodeParams *now,
                             enum cudaGraphRecaptureStatus status) {
    word *w = data;
    void *none;
    w->calls++;
    w->node = node;
    w->status = status;
    w->before = original->memset.value;
    w->now = now->memset.value;
    w->inner = cudaMalloc(&none, 8);
    return w->answer;
}

static void record(int value, size_t width) {
    OK(cudaMemsetAsync(memory, value, width, stream));
    OK(cudaMemsetAsync(memory + 32, 9, 32, stream));
}

static cudaGraph_t capture(int value) {
    cudaGraph_t graph;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    record(value, 8);
    OK(cudaStreamEndCapture(stream, &graph));
    return graph;
}

static void recapture(cudaGraph_t graph, word *w) {
    struct cudaGraphRecaptureCallbackData data = {give_word, w};
    OK(cudaStreamBeginRecaptureToGraph(stream, cudaStreamCaptureModeRelaxed, graph,
                                       w ? &data : NULL));
}

static int first_byte(void) {
    char byte;
    OK(cudaMemcpy(&byte, memory, 1, cudaMemcpyDeviceToHost));
    return byte;
}

TEST(other_parameters_are_taken_over) {
    cudaGraph_t graph = capture(1), ended;
    cudaGraphNode_t before[2], after[2];
    size_t count = 2;
    OK(cudaGraphGetNodes(graph, before, &count));
    cudaGraphExec_t exec = instantiate(graph);
    recapture(graph, NULL);
    record(2, 8);
    OK(cudaStreamEndCapture(stream, &ended));
    assert_ptr_equal(ended, graph);
    assert_int_equal(node_count(graph), 2);
    OK(cudaGraphGetNodes(graph, after, &count));
    assert_memory_equal(before, after, sizeof before); /* the nodes are the same */
    run_once(graph);
    assert_int_equal(first_byte(), 2);
    cudaGraphExecUpdateResultInfo info;
    OK(cudaGraphExecUpdate(exec, graph, &info));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

TEST(the_program_is_asked_about_them) {
    cudaGraph_t graph = capture(1), ended;
    cudaGraphNode_t nodes[2];
    size_t count = 2;
    word w = {.answer = cudaSuccess};
    OK(cudaGraphGetNodes(graph, nodes, &count));
    recapture(graph, &w);
    record(3, 8);
    OK(cudaStreamEndCapture(stream, &ended));
    assert_int_equal(w.calls, 1); /* the other one is as it was */
    assert_ptr_equal(w.node, nodes[0]);
    assert_int_equal(w.status, cudaGraphRecaptureEligibleForUpdate);
    assert_int_equal(w.before, 1);
    assert_int_equal(w.now, 3);
    assert_int_equal(w.inner, cudaErrorNotPermitted);
    OK(cudaGraphDestroy(graph));
}

TEST(the_program_may_say_no) {
    cudaGraph_t graph = capture(1), ended;
    word w = {.answer = cudaErrorInvalidValue};
    enum cudaStreamCaptureStatus status;
    recapture(graph, &w);
    FAILS(cudaErrorGraphRecaptureFailure, cudaMemsetAsync(memory, 4, 8, stream));
    expect_reason("the captured work differs from the node that the graph has there");
    OK(cudaStreamIsCapturing(stream, &status));
    assert_int_equal(status, cudaStreamCaptureStatusInvalidated);
    FAILS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &ended));
    OK(cudaGraphDestroy(graph)); /* it is the program's still */
}

TEST(other_shapes_are_refused) {
    cudaGraph_t graph = capture(1), ended;
    int calls = 0;
    recapture(graph, NULL);
    FAILS(cudaErrorGraphRecaptureFailure, cudaLaunchHostFunc(stream, count_up, &calls));
    FAILS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &ended));
    OK(cudaGraphDestroy(graph));

    graph = capture(1); /* too few */
    recapture(graph, NULL);
    OK(cudaMemsetAsync(memory, 1, 8, stream));
    FAILS(cudaErrorGraphRecaptureFailure, cudaStreamEndCapture(stream, &ended));
    expect_reason("the graph has more nodes than were captured again");
    OK(cudaGraphDestroy(graph));

    graph = capture(1); /* too many */
    recapture(graph, NULL);
    record(1, 8);
    FAILS(cudaErrorGraphRecaptureFailure, cudaMemsetAsync(memory, 1, 8, stream));
    FAILS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &ended));
    OK(cudaGraphDestroy(graph));

    graph = capture(1); /* other edges */
    recapture(graph, NULL);
    OK(cudaMemsetAsync(memory, 1, 8, stream));
    OK(cudaStreamUpdateCaptureDependencies(stream, NULL, NULL, 0,
                                           cudaStreamSetCaptureDependencies));
    FAILS(cudaErrorGraphRecaptureFailure, cudaMemsetAsync(memory + 32, 9, 32, stream));
    FAILS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &ended));
    OK(cudaGraphDestroy(graph));
}

static cudaError_t record_memory(size_t size, void **at) {
    cudaError_t result = cudaMallocAsync(at, size, stream);
    if (!result)
        result = cudaMemsetAsync(*at, 0, 64, stream);
    return result ? result : cudaFreeAsync(*at, stream);
}

TEST(memory_stays_where_it_was) {
    cudaGraph_t graph;
    void *first, *again;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    OK(record_memory(64, &first));
    OK(cudaStreamEndCapture(stream, &graph));
    recapture(graph, NULL);
    OK(record_memory(64, &again));
    OK(cudaStreamEndCapture(stream, &graph));
    assert_ptr_equal(first, again);
    run_once(graph);
    recapture(graph, NULL);
    FAILS(cudaErrorGraphRecaptureFailure, record_memory(128, &again));
    FAILS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
    acu_sim_reset(MACHINE);
    stream = new_stream();
    memory = new_memory(64);
}

TEST(what_cannot_be_captured_again) {
    cudaGraph_t graph = capture(1), other;
    cudaStream_t busy = new_stream();
    FAILS(cudaErrorInvalidValue,
          cudaStreamBeginRecaptureToGraph(stream, cudaStreamCaptureModeRelaxed, NULL, NULL));
    FAILS(cudaErrorInvalidValue,
          cudaStreamBeginRecaptureToGraph(stream, (enum cudaStreamCaptureMode)7, graph, NULL));
    FAILS(cudaErrorStreamCaptureUnsupported,
          cudaStreamBeginRecaptureToGraph(NULL, cudaStreamCaptureModeRelaxed, graph, NULL));
    OK(cudaStreamBeginCapture(busy, cudaStreamCaptureModeRelaxed));
    FAILS(cudaErrorIllegalState,
          cudaStreamBeginRecaptureToGraph(busy, cudaStreamCaptureModeRelaxed, graph, NULL));
    OK(cudaStreamEndCapture(busy, &other));
    recapture(graph, NULL);
    FAILS(cudaErrorInvalidValue,
          cudaStreamBeginRecaptureToGraph(busy, cudaStreamCaptureModeRelaxed, graph, NULL));
    record(1, 8);
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphDestroy(other));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(busy));
}

TEST(user_objects_are_released_first) {
    atomic_int gone = 0;
    cudaUserObject_t object;
    cudaGraph_t graph = capture(1);
    OK(cudaUserObjectCreate(&object, (void *)&gone, count_up, 1, cudaUserObjectNoDestructorSync));
    OK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
    recapture(graph, NULL);
    for (int i = 0; i < 100000 && !atomic_load(&gone); i++)
        pause_briefly();
    assert_int_equal(gone, 1);
    record(1, 8);
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphDestroy(graph));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        M(other_parameters_are_taken_over), M(the_program_is_asked_about_them),
        M(the_program_may_say_no),          M(other_shapes_are_refused),
        M(memory_stays_where_it_was),       M(what_cannot_be_captured_again),
        M(user_objects_are_released_first),
    };
    return RUN(tests);
}
