/* Instances of graphs: making, changing and launching them. */
#include "graph_test.h"

#include <pthread.h>

TEST(order_of_the_edges) {
    int number[2] = {0}, other[2] = {0};
    cudaGraph_t graph = new_graph(), child = new_graph();
    add_host(child, NULL, 0, add_digit, other);
    cudaGraphNode_t a = add_host(graph, NULL, 0, add_digit, number), b;
    OK(cudaGraphAddChildGraphNode(&b, graph, &a, 1, child));
    add_host(graph, &b, 1, add_digit, number);
    OK(cudaGraphDestroy(child));
    run_once(graph);
    assert_int_equal(number[0], 12);
    assert_int_equal(other[0], 1);
    OK(cudaGraphDestroy(graph));
}

TEST(a_circle_has_no_order) {
    cudaGraph_t graph = new_graph();
    cudaGraphExec_t exec;
    cudaGraphNode_t a = add_empty(graph, NULL, 0), b = add_empty(graph, &a, 1);
    OK(cudaGraphAddDependencies(graph, &b, &a, NULL, 1));
    cudaGraphInstantiateParams params = {0};
    FAILS(cudaErrorInvalidValue, cudaGraphInstantiate(&exec, graph, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphInstantiateWithParams(&exec, graph, &params));
    assert_int_equal(params.result_out, cudaGraphInstantiateInvalidStructure);
    assert_true(params.errNode_out == a || params.errNode_out == b);
    OK(cudaGraphDestroy(graph));
}

TEST(launches_of_one_instance_are_in_order) {
    int number[2] = {0};
    blocker g = {0};
    cudaGraph_t graph = new_graph();
    cudaStream_t a = new_stream(), b = new_stream();
    cudaGraphNode_t first = add_host(graph, NULL, 0, wait_until_unblocked, &g);
    add_host(graph, &first, 1, add_digit, number);
    cudaGraphExec_t exec = instantiate(graph);
    OK(cudaGraphLaunch(exec, a));
    OK(cudaGraphLaunch(exec, b));
    SAYS(cudaErrorNotReady, cudaStreamQuery(b));
    unblock_stream(&g);
    OK(cudaStreamSynchronize(b));
    assert_int_equal(number[0], 12);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
}

TEST(destroyed_while_it_runs) {
    blocker g = {0};
    atomic_int count = 0;
    cudaStream_t stream = new_stream();
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t first = add_host(graph, NULL, 0, wait_until_unblocked, &g);
    add_host(graph, &first, 1, count_up, &count);
    cudaGraphExec_t exec = instantiate(graph);
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    unblock_stream(&g);
    OK(cudaStreamSynchronize(stream));
    assert_int_equal(atomic_load(&count), 1);
    FAILS(cudaErrorInvalidValue, cudaGraphLaunch(exec, stream));
    FAILS(cudaErrorInvalidValue, cudaGraphExecDestroy(exec));
    OK(cudaStreamDestroy(stream));
}

TEST(events_in_graphs) {
    blocker g = {0};
    cudaEvent_t event = new_event();
    cudaStream_t stream = new_stream(), other = new_stream();
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t first = add_host(graph, NULL, 0, wait_until_unblocked, &g), node;
    OK(cudaGraphAddEventRecordNode(&node, graph, &first, 1, event));
    cudaGraphExec_t exec = instantiate(graph);
    OK(cudaGraphLaunch(exec, stream));
    SAYS(cudaErrorNotReady, cudaEventQuery(event));
    OK(cudaStreamWaitEvent(other, event, 0));
    SAYS(cudaErrorNotReady, cudaStreamQuery(other));
    OK(cudaEventDestroy(event));
    unblock_stream(&g);
    OK(cudaStreamSynchronize(other));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
    OK(cudaStreamDestroy(other));
}

TEST(memory_that_is_gone) {
    cudaGraph_t graph = new_graph();
    cudaStream_t stream = new_stream();
    void *memory = new_memory(64);
    const struct cudaMemsetParams fill = {memory, 64, 1, 4, 16, 1};
    cudaGraphNode_t node;
    OK(cudaGraphAddMemsetNode(&node, graph, NULL, 0, &fill));
    cudaGraphExec_t exec = instantiate(graph);
    OK(cudaFree(memory));
    OK(cudaGraphLaunch(exec, stream));
    FAILS(cudaErrorIllegalAddress, cudaStreamSynchronize(stream));
    OK(cudaDeviceReset());
}

/* ---- threads and ends ---- */

enum { THREADS = 4, ROUNDS = 50 };

static void *capture_and_launch(void *data) {
    cudaStream_t stream = new_stream(), side = new_stream();
    cudaEvent_t fork = new_event(), join = new_event();
    for (int i = 0; i < ROUNDS; i++) {
        cudaGraph_t graph;
        OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        OK(cudaEventRecord(fork, stream));
        OK(cudaStreamWaitEvent(side, fork, 0));
        OK(cudaLaunchHostFunc(side, count_up, data));
        OK(cudaEventRecord(join, side));
        OK(cudaStreamWaitEvent(stream, join, 0));
        OK(cudaStreamEndCapture(stream, &graph));
        cudaGraphExec_t exec = instantiate(graph);
        OK(cudaGraphLaunch(exec, stream));
        OK(cudaGraphLaunch(exec, side));
        OK(cudaGraphExecDestroy(exec));
        OK(cudaGraphDestroy(graph));
    }
    OK(cudaStreamSynchronize(stream));
    OK(cudaStreamSynchronize(side));
    OK(cudaEventDestroy(fork));
    OK(cudaEventDestroy(join));
    OK(cudaStreamDestroy(stream));
    OK(cudaStreamDestroy(side));
    return NULL;
}

TEST(threads_have_captures_of_their_own) {
    pthread_t threads[THREADS];
    atomic_int count = 0;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, capture_and_launch, &count), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&count), 2 * THREADS * ROUNDS);
}

static cudaGraphExec_t shared;

static void *launch_shared(void *data) {
    (void)data;
    for (int i = 0; i < ROUNDS; i++)
        OK(cudaGraphLaunch(shared, cudaStreamPerThread));
    OK(cudaStreamSynchronize(cudaStreamPerThread));
    return NULL;
}

TEST(threads_launch_one_instance) {
    pthread_t threads[THREADS];
    int number[2] = {0};
    cudaGraph_t graph = new_graph();
    add_host(graph, NULL, 0, add_digit, number);
    shared = instantiate(graph);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, launch_shared, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(number[1], THREADS * ROUNDS); /* never two at a time */
    OK(cudaGraphExecDestroy(shared));
    OK(cudaGraphDestroy(graph));
}

TEST(what_is_left_is_told) {
    cudaUserObject_t object;
    cudaGraph_t graph = new_graph(), captured;
    cudaStream_t stream = new_stream();
    cudaGraphExec_t exec = instantiate(graph);
    int data;
    OK(cudaUserObjectCreate(&object, &data, count_up, 1, cudaUserObjectNoDestructorSync));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    assert_int_equal(acu_sim_leaks(0), 4); /* the graph, its instance, the object, the stream */
    OK(cudaStreamEndCapture(stream, &captured));
    assert_int_equal(acu_sim_leaks(0), 5);
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    acu_sim_reset(MACHINE);
    FAILS(cudaErrorInvalidValue, cudaGraphDestroy(graph));
    FAILS(cudaErrorInvalidValue, cudaGraphDestroy(captured));
    FAILS(cudaErrorInvalidValue, cudaGraphExecDestroy(exec));
    FAILS(cudaErrorInvalidValue, cudaUserObjectRelease(object, 1));
}

TEST(a_device_that_is_reset_loses_its_graphs) {
    cudaGraph_t graph = new_graph();
    cudaGraphExec_t exec = instantiate(graph);
    OK(cudaDeviceReset());
    FAILS(cudaErrorInvalidValue, cudaGraphExecDestroy(exec));
    FAILS(cudaErrorInvalidValue, cudaGraphDestroy(graph));
}

TEST(a_fault_ends_a_launch_but_not_its_events) {
    cudaGraph_t graph = new_graph();
    cudaStream_t stream = new_stream();
    cudaEvent_t event = new_event();
    void *memory = new_memory(64);
    atomic_int count = 0;
    const struct cudaMemsetParams fill = {memory, 64, 1, 4, 16, 1};
    cudaGraphNode_t node, record;
    OK(cudaGraphAddMemsetNode(&node, graph, NULL, 0, &fill));
    OK(cudaGraphAddEventRecordNode(&record, graph, &node, 1, event));
    add_host(graph, &node, 1, count_up, &count);
    cudaGraphExec_t exec = instantiate(graph);
    OK(cudaFree(memory));
    OK(cudaGraphLaunch(exec, stream));
    SAYS(cudaErrorIllegalAddress, cudaEventSynchronize(event));
    SAYS(cudaErrorIllegalAddress, cudaGraphLaunch(exec, stream));
    assert_int_equal(atomic_load(&count), 0);
    acu_sim_reset(MACHINE);
}

int main(void) {
    const struct CMUnitTest tests[] = {T(order_of_the_edges),
                                       T(a_circle_has_no_order),
                                       T(launches_of_one_instance_are_in_order),
                                       T(destroyed_while_it_runs),
                                       T(events_in_graphs),
                                       T(memory_that_is_gone),
                                       T(threads_have_captures_of_their_own),
                                       T(threads_launch_one_instance),
                                       T(what_is_left_is_told),
                                       T(a_device_that_is_reset_loses_its_graphs),
                                       T(a_fault_ends_a_launch_but_not_its_events)};
    return RUN(tests);
}
