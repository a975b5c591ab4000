/* Captures and what is outside of them: events, and captures that anycuda did not begin. */
#include "capture_test.h"

#include <anycuda/cudart.h>

static void only_node_is(acu_graph *graph, acu_node_type expected) {
    acu_node node;
    acu_node_type type;
    size_t count = 1;
    OK(acu_graph_get_nodes(graph, &node, &count));
    assert_int_equal(count, 1);
    OK(acu_node_get_type(node, &type));
    assert_int_equal(type, expected);
}

/* ---- events ---- */

static void external_records_are_nodes(void **state) {
    (void)state;
    float ms = -1;
    acu_event *start = NULL, *end = NULL;
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    OK(acu_event_create(0, NULL, &start));
    OK(acu_event_create(0, NULL, &end));
    FAILS(acu_event_get_elapsed_time(start, end, &ms), ACU_ERROR_STATE, "never recorded");
    OK(acu_stream_begin_capture(a, NULL));
    OK(acu_event_record_external(start, a));
    OK(acu_buffer_zero(x, a));
    OK(acu_event_record_external(end, a));
    OK(acu_stream_end_capture(a, &graph));
    OK(acu_event_synchronize(end)); /* it means nothing of the capture */
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_exec_launch(exec, a));
    OK(acu_event_synchronize(end));
    OK(acu_event_get_elapsed_time(start, end, &ms));
    assert_true(ms >= 0);
    acu_event_release(start); /* the graph keeps them */
    acu_event_release(end);
    OK(acu_exec_launch(exec, a));
    OK(acu_stream_synchronize(a));
    OK(acu_exec_release(exec));
    OK(acu_graph_release(graph));
}

static void external_waits_are_nodes(void **state) {
    (void)state;
    acu_event *event = NULL;
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    blocker at;
    OK(acu_event_create(0, NULL, &event));
    OK(acu_stream_begin_capture(a, NULL));
    OK(acu_stream_wait_event_external(a, event));
    OK(acu_stream_end_capture(a, &graph));
    only_node_is(graph, ACU_NODE_EVENT_WAIT);
    OK(acu_graph_instantiate(graph, NULL, &exec));
    block_stream(&at, b);
    OK(acu_event_record(event, b)); /* outside of the graph, and after the capture */
    OK(acu_event_release(event));
    OK(acu_exec_launch(exec, a));
    still_waits(a);
    unblock_stream(&at);
    OK(acu_stream_synchronize(a));
    OK(acu_exec_release(exec));
    OK(acu_graph_release(graph));
}

static void external_means_nothing_outside_of_a_capture(void **state) {
    (void)state;
    acu_event *event = NULL;
    acu_stream *legacy = NULL;
    OK(acu_event_create(0, NULL, &event));
    OK(acu_stream_get_legacy(0, &legacy));
    FAILS(acu_event_record_external(event, a), ACU_ERROR_STATE, "is not being captured");
    FAILS(acu_stream_wait_event_external(a, event), ACU_ERROR_STATE, "is not being captured");
    FAILS(acu_event_record_external(event, legacy), ACU_ERROR_STATE, "is not being captured");
    FAILS(acu_event_record_external(NULL, a), ACU_ERROR_ARGUMENT, "the event is NULL");
    FAILS(acu_stream_wait_event_external(a, NULL), ACU_ERROR_ARGUMENT, "the event is NULL");
    OK(acu_stream_release(legacy));
    OK(acu_event_release(event));
}

static void events_of_other_devices_are_refused(void **state) {
    (void)state;
    NEEDS_TWO_DEVICES();
    acu_event *far = NULL;
    OK(acu_event_create(1, NULL, &far));
    FAILS(acu_event_record_external(far, a), ACU_ERROR_DEVICE, "event belongs to device 1");
    OK(acu_event_release(far));
}

static void event_nodes_take_times(void **state) {
    (void)state;
    float ms = -1;
    acu_node record;
    acu_event *start = NULL, *end = NULL;
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    OK(acu_event_create(0, NULL, &start));
    OK(acu_event_create(0, NULL, &end));
    OK(acu_graph_create(&graph));
    OK(acu_graph_add_event_record(graph, NULL, 0, start, &record));
    OK(acu_graph_add_event_record(graph, &record, 1, end, NULL));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_exec_launch(exec, a));
    OK(acu_stream_synchronize(a));
    OK(acu_event_get_elapsed_time(start, end, &ms));
    OK(acu_exec_release(exec));
    OK(acu_graph_release(graph));
    OK(acu_event_release(start));
    OK(acu_event_release(end));
}

static void captured_launches_keep_their_events(void **state) {
    (void)state;
    if (runtime_version() < 12030) {
        print_message("launches record events since CUDA 12.3\n");
        skip();
    }
    acu_kernel *nothing = kernel_on(0, "nothing");
    acu_event *begun = NULL;
    acu_graph *graph = NULL;
    acu_grid grid = acu_grid_1d(1, 1);
    OK(acu_event_create(0, &(acu_event_options){.flags = ACU_EVENT_DISABLE_TIMING}, &begun));
    struct CUevent_st *raw = acu_event_raw(begun);
    grid.begun_event = begun;
    OK(acu_stream_begin_capture(a, NULL));
    OK(acu_launch(a, nothing, grid));
    OK(acu_event_release(begun));
    OK(acu_stream_end_capture(a, &graph));
    assert_int_not_equal(cudaEventQuery(raw), cudaErrorInvalidResourceHandle);
    OK(acu_graph_release(graph));
    OK(acu_kernel_release(nothing));
}

/* ---- captures that anycuda did not begin ---- */

static void others_captures_are_seen_on_their_stream(void **state) {
    (void)state;
    int32_t number;
    acu_capture_status status;
    acu_event *event = NULL;
    cudaGraph_t raw = NULL;
    OK(acu_event_create(0, NULL, &event));
    struct CUstream_st *stream = acu_stream_raw(a);
    assert_int_equal(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), 0);
    FAILS(acu_stream_synchronize(a), ACU_ERROR_CAPTURE, "is being captured");
    FAILS(acu_stream_query(a), ACU_ERROR_CAPTURE, "is being captured");
    FAILS(acu_buffer_read(x, &number, 1), ACU_ERROR_CAPTURE, "is being captured");
    OK(acu_event_record_external(event, a));
    OK(acu_stream_wait_event_external(a, event));
    OK(acu_stream_get_capture_status(a, &status));
    assert_int_equal(status, ACU_CAPTURE_ACTIVE); /* nothing has broken it */
    assert_int_equal(cudaStreamEndCapture(stream, &raw), 0);
    assert_int_equal(cudaGraphDestroy(raw), 0);
    OK(acu_event_release(event));
}

/* CUDA has no function that returns whether a thread captures; an unsafe call shows it. */
static void breaking_others_captures_is_explained(void **state) {
    (void)state;
    acu_capture_status status;
    acu_graph *plain = NULL;
    acu_exec *exec = NULL;
    cudaGraph_t raw = NULL;
    OK(acu_graph_create(&plain));
    struct CUstream_st *stream = acu_stream_raw(a);
    assert_int_equal(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), 0);
    FAILS(acu_graph_instantiate(plain, NULL, &exec), 900, "cudaErrorStreamCaptureUnsupported");
    assert_non_null(strstr(acu_last_error_details().hint, "CUDA has invalidated the capture"));
    OK(acu_stream_get_capture_status(a, &status));
    assert_int_equal(status, ACU_CAPTURE_INVALIDATED);
    FAILS(acu_event_record_external(NULL, a), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_buffer_zero(x, a), 901, "cudaErrorStreamCaptureInvalidated");
    assert_non_null(strstr(acu_last_error_details().hint, "look for the earlier call"));
    FAILS(acu_buffer_fill_typed(x, ACU_BYTES(4), "abcd", a), 901, "");
    assert_int_equal(cudaStreamEndCapture(stream, &raw), cudaErrorStreamCaptureInvalidated);
    assert_null(raw);
    (void)cudaGetLastError();
    OK(acu_buffer_zero(x, a));
    OK(acu_graph_instantiate(plain, NULL, &exec));
    OK(acu_exec_release(exec));
    OK(acu_graph_release(plain));
}

/* A library that must not break its caller's captures does this. */
static void a_thread_may_say_that_it_is_careful(void **state) {
    (void)state;
    acu_graph *plain = NULL;
    acu_exec *exec = NULL;
    cudaGraph_t raw = NULL;
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    OK(acu_graph_create(&plain));
    struct CUstream_st *stream = acu_stream_raw(a);
    assert_int_equal(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), 0);
    assert_int_equal(cudaThreadExchangeStreamCaptureMode(&mode), 0);
    OK(acu_graph_instantiate(plain, NULL, &exec));
    assert_int_equal(cudaThreadExchangeStreamCaptureMode(&mode), 0);
    assert_int_equal(cudaStreamEndCapture(stream, &raw), 0);
    assert_int_equal(cudaGraphDestroy(raw), 0);
    OK(acu_exec_release(exec));
    OK(acu_graph_release(plain));
}

/* ---- memory ---- */

static void buffers_are_made_before(void **state) {
    (void)state;
    acu_buffer *made = NULL;
    acu_graph *graph = NULL;
    cudaGraph_t raw = NULL;
    OK(acu_stream_begin_capture(a, NULL));
    FAILS(acu_buffer_create(a, ACU_I32, 8, &made), ACU_ERROR_CAPTURE, "belong to the graph");
    assert_non_null(strstr(acu_last_error_details().hint, "acu_stream_capture_alloc()"));
    assert_null(made);
    OK(acu_stream_end_capture(a, &graph));
    OK(acu_graph_release(graph));
    struct CUstream_st *stream = acu_stream_raw(a);
    OK(acu_buffer_create(a, ACU_I32, 8, &made));
    OK(acu_buffer_release(made));
    assert_int_equal(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), 0);
    FAILS(acu_buffer_create(a, ACU_I32, 8, &made), ACU_ERROR_CAPTURE, "belong to the graph");
    FAILS(acu_stream_capture_alloc(a, ACU_I32, 8, &made), ACU_ERROR_STATE,
          "anycuda is not capturing");
    assert_int_equal(cudaStreamEndCapture(stream, &raw), 0);
    assert_int_equal(cudaGraphDestroy(raw), 0);
}

static void graphs_allocate_for_themselves(void **state) {
    (void)state;
    const int32_t seven = 7;
    int32_t back[8];
    acu_buffer *own = NULL;
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    OK(acu_stream_begin_capture(a, NULL));
    OK(acu_stream_capture_alloc(a, ACU_I32, 8, &own));
    assert_non_null(acu_buffer_raw(own));
    OK(acu_buffer_fill_typed(own, ACU_I32, &seven, a));
    OK(acu_buffer_copy(x, own, a));
    OK(acu_graph_memory_free(own, a));
    OK(acu_buffer_release(own));
    OK(acu_stream_end_capture(a, &graph));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    for (int i = 0; i < 3; i++) /* which CUDA refuses where memory is left */
        OK(acu_exec_launch(exec, a));
    OK(acu_buffer_read(x, back, 8));
    assert_int_equal(back[7], 7);
    OK(acu_exec_release(exec));
    OK(acu_graph_release(graph));
}

static void what_a_launch_leaves_is_freed_by_name(void **state) {
    (void)state;
    const int32_t seven = 7;
    int32_t back[8];
    acu_buffer *own = NULL;
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    OK(acu_stream_begin_capture(a, NULL));
    OK(acu_stream_capture_alloc(a, ACU_I32, 8, &own));
    OK(acu_buffer_fill_typed(own, ACU_I32, &seven, a));
    OK(acu_stream_end_capture(a, &graph));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_exec_launch(exec, a));
    OK(acu_buffer_read_typed(own, 0, ACU_I32, back, 8, b)); /* waits for the launch */
    assert_int_equal(back[7], 7);
    OK(acu_graph_memory_free(own, b));
    OK(acu_stream_synchronize(b));
    OK(acu_buffer_release(own));
    OK(acu_exec_release(exec));
    OK(acu_graph_release(graph));
}

static void memory_of_captures_is_checked(void **state) {
    (void)state;
    acu_buffer *own = NULL;
    acu_graph *graph = NULL;
    FAILS(acu_stream_capture_alloc(a, ACU_I32, 8, &own), ACU_ERROR_STATE, "acu_buffer_create()");
    OK(acu_stream_begin_capture(a, NULL));
    FAILS(acu_stream_capture_alloc(a, ACU_I32, 0, &own), ACU_ERROR_ARGUMENT, "nothing to allocate");
    FAILS(acu_stream_capture_alloc(a, 0x77, 8, &own), ACU_ERROR_DTYPE, "no type");
    FAILS(acu_stream_capture_alloc(a, ACU_I32, SIZE_MAX, &own), ACU_ERROR_OVERFLOW, "elements");
    FAILS(acu_stream_capture_alloc(a, ACU_I32, 8, NULL), ACU_ERROR_ARGUMENT, "'buffer' is NULL");
    assert_int_equal(acu_inject_errors("cudaMallocAsync@1:2"), 0);
    FAILS(acu_stream_capture_alloc(a, ACU_I32, 8, &own), 2, "cudaMallocAsync");
    acu_inject_errors(NULL);
    assert_null(own);
    FAILS(acu_graph_memory_free(x, a), ACU_ERROR_MEMORY_KIND, "not allocated by a graph");
    OK(acu_stream_end_capture(a, &graph));
    OK(acu_graph_release(graph));
}

#undef TEST
#define TEST(function) SAFE_TEST(function, begin_capture, end_capture)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(external_records_are_nodes),
        TEST(external_waits_are_nodes),
        TEST(external_means_nothing_outside_of_a_capture),
        TEST(events_of_other_devices_are_refused),
        TEST(event_nodes_take_times),
        TEST(captured_launches_keep_their_events),
        TEST(others_captures_are_seen_on_their_stream),
        TEST(breaking_others_captures_is_explained),
        TEST(a_thread_may_say_that_it_is_careful),
        TEST(buffers_are_made_before),
        TEST(graphs_allocate_for_themselves),
        TEST(what_a_launch_leaves_is_freed_by_name),
        TEST(memory_of_captures_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
