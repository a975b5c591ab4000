/* Captures: how they begin and end, which streams join, and what the graph then owns. */
#include "capture_test.h"

#include <anycuda/cudart.h>

static void what_is_captured_is_done_later(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    bool capturing = true;
    OK(acu_buffer_zero(x, NULL));
    OK(acu_stream_is_capturing(a, &capturing));
    assert_false(capturing);
    OK(acu_stream_begin_capture(a, NULL));
    fill(x, a, 3);
    OK(acu_stream_is_capturing(a, &capturing));
    assert_true(capturing);
    OK(acu_stream_end_capture(a, &graph));
    OK(acu_stream_is_capturing(a, &capturing));
    assert_false(capturing);
    expect(x, 0);
    assert_int_equal(nodes_of(graph), 1);
    launch_and_release(graph);
    expect(x, 3);
}

static void beginnings_are_checked(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_stream *legacy = NULL;
    acu_node node = {0};
    OK(acu_stream_get_legacy(0, &legacy));
    FAILS(acu_stream_begin_capture(NULL, NULL), ACU_ERROR_ARGUMENT, "the stream is NULL");
    FAILS(acu_stream_begin_capture(legacy, NULL), ACU_ERROR_CAPTURE, "legacy default stream");
    assert_non_null(
        strstr(acu_last_error_details().hint, "a stream that acu_stream_create() has made"));
    acu_capture_options unknown = {.after_count = 0};
    memset(&unknown.mode, 1, sizeof unknown.mode);
    FAILS(acu_stream_begin_capture(a, &unknown), ACU_ERROR_ARGUMENT, "is not a capture mode");
    FAILS(acu_stream_begin_capture(a, &(acu_capture_options){.after = &node, .after_count = 1}),
          ACU_ERROR_ARGUMENT, "'into' is NULL");
    FAILS(acu_stream_end_capture(a, &graph), ACU_ERROR_CAPTURE, "no capture of anycuda");
    FAILS(acu_stream_end_capture(a, NULL), ACU_ERROR_ARGUMENT, "'graph' is NULL");
    FAILS(acu_stream_end_capture(NULL, &graph), ACU_ERROR_ARGUMENT, "the stream is NULL");
    OK(acu_stream_begin_capture(a, NULL));
    FAILS(acu_stream_begin_capture(a, NULL), ACU_ERROR_CAPTURE, "is being captured");
    assert_non_null(strstr(acu_last_error_details().hint, "before another one begins"));
    OK(acu_stream_end_capture(a, &graph));
    OK(acu_graph_release(graph));
    OK(acu_stream_release(legacy));
}

/* ---- the closure form ---- */

static acu_result fill_both(acu_stream *stream, void *data) {
    int32_t value = bytes_of(*(int32_t *)data);
    ACU_TRY(acu_buffer_fill_typed(x, ACU_I32, &value, stream));
    return acu_buffer_fill_typed(y, ACU_I32, &value, stream);
}

static acu_result fails(acu_stream *stream, void *data) {
    ACU_TRY(fill_both(stream, data));
    return acu_buffer_write(x, (const int32_t[]){1}, 9); /* ACU_ERROR_RANGE */
}

static acu_result forgets_a_stream(acu_stream *stream, void *data) {
    ACU_TRY(acu_stream_fork(stream, &b, 1));
    ACU_TRY(acu_buffer_fill_typed(y, ACU_I32, data, b));
    return ACU_SUCCESS;
}

static acu_result fails_and_forgets(acu_stream *stream, void *data) {
    ACU_TRY(forgets_a_stream(stream, data));
    return 12345;
}

static void a_function_is_captured(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    int32_t value = 4;
    OK(acu_stream_capture(a, NULL, fill_both, &value, &graph));
    launch_and_release(graph);
    expect(x, 4);
    expect(y, 4);
    FAILS(acu_stream_capture(a, NULL, NULL, NULL, &graph), ACU_ERROR_ARGUMENT,
          "'function' is NULL");
    FAILS(acu_stream_capture(a, NULL, fill_both, &value, NULL), ACU_ERROR_ARGUMENT,
          "'graph' is NULL");
}

static void the_functions_failure_wins(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    bool capturing = true;
    int32_t value = 5;
    FAILS(acu_stream_capture(a, NULL, fails, &value, &graph), ACU_ERROR_RANGE, "which has 8");
    assert_null(graph);
    OK(acu_stream_is_capturing(a, &capturing));
    assert_false(capturing);
    assert_int_equal(acu_stream_capture(a, NULL, fails_and_forgets, &value, &graph), 12345);
    assert_null(graph);
    OK(acu_stream_is_capturing(b, &capturing));
    assert_false(capturing);
    OK(acu_buffer_zero(x, a));
    OK(acu_buffer_zero(y, b));
    expect(x, 0);
}

static void the_end_fails_where_a_stream_was_not_joined(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    int32_t value = 6;
    FAILS(acu_stream_capture(a, NULL, forgets_a_stream, &value, &graph), 904, "Unjoined");
    assert_null(graph);
    OK(acu_buffer_zero(y, b)); /* it is free again */
    expect(y, 0);
}

/* ---- several streams ---- */

static void streams_join_in_and_are_free_again(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    OK(acu_buffer_zero(y, b));
    OK(acu_stream_begin_capture(a, NULL));
    fill(x, a, 7);
    OK(acu_stream_fork(a, &b, 1));
    OK(acu_buffer_copy(y, x, b)); /* without the capture's knowledge, this would wait for uses */
    FAILS(acu_stream_end_capture(b, &graph), ACU_ERROR_CAPTURE, "began on another stream");
    OK(acu_stream_join(a, &b, 1));
    OK(acu_stream_end_capture(a, &graph));
    expect(y, 0);
    acu_buffer *z = x;
    OK(acu_buffer_release(z));
    launch_and_release(graph);
    expect(y, 7);
    fill(y, b, 8);
    expect(y, 8);
    OK(acu_buffer_create(a, ACU_I32, 8, &x));
}

static void events_carry_the_capture(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_event *forked = NULL, *joined = NULL;
    OK(acu_event_create(0, NULL, &forked));
    OK(acu_event_create(0, NULL, &joined));
    OK(acu_stream_begin_capture(a, NULL));
    fill(x, a, 1);
    OK(acu_event_record(forked, a));
    OK(acu_stream_wait_event(b, forked));
    OK(acu_buffer_copy(y, x, b));
    OK(acu_event_record(joined, b));
    FAILS(acu_event_query(joined), ACU_ERROR_CAPTURE, "work that is being captured");
    FAILS(acu_event_synchronize(joined), ACU_ERROR_CAPTURE, "work that is being captured");
    OK(acu_stream_wait_event(a, joined));
    OK(acu_stream_end_capture(a, &graph));
    assert_int_equal(nodes_of(graph), 2);
    OK(acu_event_record(joined, b)); /* means something else now */
    OK(acu_event_synchronize(joined));
    launch_and_release(graph);
    expect(y, 1);
    OK(acu_event_release(forked));
    OK(acu_event_release(joined));
}

static void a_joined_stream_may_be_released(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_stream *c = NULL;
    OK(acu_stream_create(0, NULL, &c));
    OK(acu_stream_begin_capture(a, NULL));
    OK(acu_stream_fork(a, &c, 1));
    fill(x, c, 2);
    OK(acu_stream_join(a, &c, 1));
    OK(acu_stream_release(c));
    OK(acu_stream_end_capture(a, &graph));
    launch_and_release(graph);
    expect(x, 2);
}

/* ---- into a graph that is there ---- */

static void captures_behind_nodes_of_a_graph(void **state) {
    (void)state;
    acu_graph *graph = NULL, *got = NULL;
    acu_node first, stranger;
    acu_graph *other = NULL;
    size_t count = 0;
    const int32_t one = bytes_of(1);
    OK(acu_graph_create(&graph));
    OK(acu_graph_create(&other));
    OK(acu_graph_add_empty(other, NULL, 0, &stranger));
    OK(acu_graph_add_fill(graph, NULL, 0, &(acu_fill){x, ACU_I32, &one, .width = ACU_REST},
                          &first));
    FAILS(acu_stream_begin_capture(
              a, &(acu_capture_options){.into = graph, .after = &stranger, .after_count = 1}),
          ACU_ERROR_ARGUMENT, "of another graph");
    OK_SINCE(12030,
             acu_stream_begin_capture(
                 a, &(acu_capture_options){.into = graph, .after = &first, .after_count = 1}));
    if (runtime_version() >= 12030) {
        OK(acu_buffer_copy(y, x, a));
        OK(acu_stream_end_capture(a, &got));
        OK(acu_node_get_dependent_nodes(first, NULL, NULL, &count));
        assert_int_equal(count, 1);
        launch_and_release(got);
        expect(y, 1);
    }
    OK(acu_graph_release(graph));
    OK(acu_graph_release(other));
}

static void a_graph_goes_with_a_capture_into_it_that_fails(void **state) {
    (void)state;
    acu_graph *graph = NULL, *got = NULL;
    size_t count = 9;
    OK(acu_graph_create(&graph));
    OK_SINCE(12030, acu_stream_begin_capture(a, &(acu_capture_options){.into = graph}));
    if (runtime_version() < 12030) {
        OK(acu_graph_release(graph));
        return;
    }
    fill(x, a, 1);
    (void)cudaStreamQuery(acu_stream_raw(a)); /* breaks it */
    FAILS(acu_stream_end_capture(a, &got), cudaErrorStreamCaptureInvalidated, "");
    assert_null(got);
    assert_int_not_equal(acu_graph_get_nodes(graph, NULL, &count), 0);
    OK(acu_graph_release(graph));
}

static void tells_what_it_knows(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_capture_info info, later;
    acu_node nodes[2], added, got[2];
    size_t count = 2;
    OK(acu_stream_get_capture_info(a, &info));
    assert_int_equal(info.status, ACU_CAPTURE_NONE);
    assert_null(info.graph);
    FAILS(acu_stream_get_capture_dependencies(a, nodes, NULL, &count), ACU_ERROR_STATE, "");
    FAILS(acu_stream_get_capture_info(a, NULL), ACU_ERROR_ARGUMENT, "'info' is NULL");
    FAILS(acu_stream_get_capture_info(NULL, &info), ACU_ERROR_ARGUMENT, "the stream is NULL");
    FAILS(acu_stream_get_capture_status(a, NULL), ACU_ERROR_ARGUMENT, "'status' is NULL");
    OK(acu_stream_begin_capture(a, NULL));
    fill(x, a, 1);
    OK(acu_stream_get_capture_info(a, &info));
    assert_int_equal(info.status, ACU_CAPTURE_ACTIVE);
    assert_int_not_equal(info.id, 0);
    assert_int_equal(info.dependencies, 1);
    count = 2;
    OK(acu_stream_get_capture_dependencies(a, nodes, NULL, &count));
    assert_int_equal(count, 1);
    OK(acu_graph_add_empty(info.graph, nodes, 1, &added));
    OK(acu_stream_set_capture_dependencies(a, &added, NULL, 1, true));
    count = 2;
    OK(acu_stream_get_capture_dependencies(a, got, NULL, &count));
    assert_int_equal(count, 2);
    OK(acu_stream_set_capture_dependencies(a, &added, &(acu_edge){0}, 1, false));
    fill(x, a, 2);
    OK(acu_stream_get_capture_info(a, &later));
    assert_int_equal(later.id, info.id);
    OK(acu_stream_end_capture(a, &graph));
    assert_ptr_equal(graph, info.graph);
    count = 2;
    OK(acu_node_get_dependent_nodes(added, got, NULL, &count));
    assert_int_equal(count, 1);
    launch_and_release(graph);
    expect(x, 2);
}

/* The parameters of a captured launch change between replays. */
static void a_captured_launch_is_changed(void **state) {
    (void)state;
    float back[8];
    acu_node node, none;
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    acu_kernel *kernel = kernel_on(0, "scale");
    acu_buffer *numbers = numbers_on(a, 8);
    FAILS(acu_stream_get_captured_node(a, &none), ACU_ERROR_STATE, "is not capturing the stream");
    OK(acu_stream_begin_capture(a, NULL));
    FAILS(acu_stream_get_captured_node(a, &none), ACU_ERROR_STATE, "nothing was captured");
    OK(acu_launch(a, kernel, acu_grid_1d(8, 8), numbers, 1.0f, 8));
    OK(acu_stream_get_captured_node(a, &node));
    OK(acu_stream_fork(a, &b, 1));
    fill(x, a, 1);
    fill(y, b, 1);
    OK(acu_stream_join(a, &b, 1));
    FAILS(acu_stream_get_captured_node(a, &none), ACU_ERROR_STATE, "depends on several");
    OK(acu_stream_end_capture(a, &graph));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    for (int i = 1; i <= 3; i++) {
        OK(acu_exec_set_launch(exec, node, kernel, acu_grid_1d(8, 8), numbers, (float)i, 8));
        OK(acu_exec_launch(exec, a));
    }
    OK(acu_buffer_read(numbers, back, 8));
    assert_true(back[7] == 7 * 1 * 2 * 3);
    OK(acu_node_set_launch(node, kernel, acu_grid_1d(8, 8), numbers, 10.0f, 8));
    OK(acu_graph_add_launch(graph, &node, 1, &none, kernel, acu_grid_1d(8, 8), numbers, 2.0f, 8));
    OK(acu_exec_release(exec));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_exec_launch(exec, a));
    OK(acu_buffer_read(numbers, back, 8));
    assert_true(back[7] == 42 * 20);
    OK(acu_kernel_release(kernel));
    OK(acu_buffer_release(numbers));
    OK(acu_exec_release(exec));
    OK(acu_graph_release(graph));
}

static void a_lost_graph_has_no_nodes(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_capture_info info;
    acu_node node = {0};
    acu_node_type type;
    size_t count = 1;
    OK(acu_stream_begin_capture(a, NULL));
    fill(x, a, 1);
    OK(acu_stream_get_capture_info(a, &info));
    OK(acu_stream_get_capture_dependencies(a, &node, NULL, &count));
    acu_graph_retain(info.graph);
    OK(acu_stream_fork(a, &b, 1));
    fill(y, b, 1);
    FAILS(acu_stream_end_capture(a, &graph), 904, "Unjoined");
    FAILS(acu_node_get_type(node, &type), ACU_ERROR_HANDLE, "no such node any more");
    FAILS(acu_graph_get_nodes(info.graph, NULL, &count), 1, "");
    OK(acu_graph_release(info.graph));
}

static void launches_are_captured(void **state) {
    (void)state;
    float back[8];
    acu_graph *graph = NULL;
    acu_kernel *kernel = kernel_on(0, "scale");
    acu_buffer *numbers = numbers_on(a, 8), *copy = numbers_on(a, 8);
    OK(acu_stream_begin_capture(a, NULL));
    OK(acu_launch(a, kernel, acu_grid_1d(8, 8), acu_inout(numbers), 2.0f, 8));
    OK(acu_buffer_copy(copy, numbers, a));
    OK(acu_stream_end_capture(a, &graph));
    OK(acu_kernel_release(kernel)); /* the graph has all it needs */
    OK(acu_buffer_release(numbers));
    assert_int_equal(nodes_of(graph), 2);
    launch_and_release(graph);
    OK(acu_buffer_read(copy, back, 8));
    assert_true(back[7] == 14);
    OK(acu_buffer_release(copy));
}

/* ---- graphs in captures ---- */

static int called, destroyed;

static void call(void *data) {
    (void)data;
    __atomic_add_fetch(&called, 1, __ATOMIC_SEQ_CST);
}

static void destroy(void *data) {
    (void)data;
    __atomic_add_fetch(&destroyed, 1, __ATOMIC_SEQ_CST);
}

static void a_launch_is_not_captured(void **state) {
    (void)state;
    acu_graph *inner = NULL, *outer = NULL;
    acu_exec *exec = NULL;
    size_t count = 0;
    const int32_t two = bytes_of(2);
    OK(acu_graph_create(&inner));
    OK(acu_graph_add_fill(inner, NULL, 0, &(acu_fill){x, ACU_I32, &two, .width = ACU_REST}, NULL));
    OK(acu_graph_instantiate(inner, NULL, &exec));
    for (int i = 0; i < 2; i++) /* so that the next one could be like the one before */
        OK(acu_exec_launch(exec, a));
    OK(acu_stream_synchronize(a));
    OK(acu_stream_begin_capture(a, NULL));
    FAILS(acu_exec_upload(exec, a), ACU_ERROR_CAPTURE, "is being captured");
    FAILS(acu_exec_launch(exec, a), ACU_ERROR_CAPTURE, "is being captured");
    OK(acu_stream_end_capture(a, &outer)); /* it was not broken */
    OK(acu_graph_get_nodes(outer, NULL, &count));
    assert_int_equal(count, 0);
    OK(acu_graph_release(outer));
    OK(acu_graph_release(inner));
    OK(acu_exec_release(exec));
}

static void closures_are_called_at_each_launch(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    called = destroyed = 0;
    OK(acu_stream_begin_capture(a, NULL));
    OK(acu_stream_call(a, (acu_closure){call, NULL, destroy}));
    OK(acu_stream_end_capture(a, &graph));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_graph_release(graph));
    for (int i = 0; i < 3; i++)
        OK(acu_exec_launch(exec, a));
    OK(acu_stream_synchronize(a));
    assert_int_equal(called, 3);
    assert_int_equal(destroyed, 0);
    OK(acu_exec_release(exec));
    assert_int_equal(destroyed, 1);
}

#undef TEST
#define TEST(function) SAFE_TEST(function, begin_capture, end_capture)

static void copy_captured(acu_buffer *from, bool strided, acu_result expected) {
    const acu_strides every = {.rank = 1, .shape = (const size_t[]){8}};
    acu_graph *graph = NULL;
    OK(acu_stream_begin_capture(a, NULL));
    acu_result code =
        strided ? acu_buffer_copy_strided(x, from, &every, a) : acu_buffer_copy(x, from, a);
    assert_int_equal(code, expected);
    if (expected)
        assert_non_null(strstr(acu_last_error_details().hint, "acu_pool_set_access()"));
    OK(acu_stream_end_capture(a, &graph));
    launch_and_release(graph);
}

/* CUDA captures no copy that names devices, so that the stream's device must have access. */
static void captured_copies_between_devices_need_access(void **state) {
    (void)state;
    NEEDS_TWO_DEVICES();
    bool can = false;
    acu_stream *far = NULL;
    acu_pool *pool = NULL;
    acu_buffer *z = NULL;
    OK(acu_stream_create(1, NULL, &far));
    OK(acu_pool_create(1, NULL, &pool));
    OK(acu_buffer_create_with(far, ACU_I32, 8, &(acu_buffer_options){.pool = pool}, &z));
    fill(z, far, 5);
    fill(x, a, 1);
    OK(acu_stream_synchronize(far));
    copy_captured(z, false, 1);
    copy_captured(z, true, 1);
    expect(x, 1);
    OK(acu_device_can_access_peer(0, 1, &can));
    if (can) {
        OK(acu_pool_set_access(pool, 0, ACU_ACCESS_READ_WRITE));
        copy_captured(z, false, 0);
        expect(x, 5);
        fill(x, a, 1);
        copy_captured(z, true, 0);
        expect(x, 5);
    }
    OK(acu_buffer_release(z));
    OK(acu_pool_release(pool));
    OK(acu_stream_release(far));
}

/* The stream's device has no access to the pool, but the memory's device is current. */
static void copies_are_captured_on_a_stream_of_another_device(void **state) {
    (void)state;
    NEEDS_TWO_DEVICES();
    const acu_strides every = {.rank = 1, .shape = (const size_t[]){8}};
    acu_stream *far = NULL;
    acu_graph *graph = NULL;
    OK(acu_stream_create(1, NULL, &far));
    for (int strided = 0; strided < 2; strided++) {
        fill(x, a, 5);
        fill(y, a, 1);
        OK(acu_stream_synchronize(a));
        OK(acu_stream_begin_capture(far, NULL));
        OK(strided ? acu_buffer_copy_strided(y, x, &every, far) : acu_buffer_copy(y, x, far));
        OK(acu_stream_end_capture(far, &graph));
        launch_and_release(graph);
        expect(y, 5);
    }
    OK(acu_stream_release(far));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(what_is_captured_is_done_later),
        TEST(beginnings_are_checked),
        TEST(a_function_is_captured),
        TEST(the_functions_failure_wins),
        TEST(the_end_fails_where_a_stream_was_not_joined),
        TEST(streams_join_in_and_are_free_again),
        TEST(events_carry_the_capture),
        TEST(a_joined_stream_may_be_released),
        TEST(captures_behind_nodes_of_a_graph),
        TEST(a_graph_goes_with_a_capture_into_it_that_fails),
        TEST(tells_what_it_knows),
        TEST(a_captured_launch_is_changed),
        TEST(a_lost_graph_has_no_nodes),
        TEST(launches_are_captured),
        TEST(a_launch_is_not_captured),
        TEST(closures_are_called_at_each_launch),
        TEST(captured_copies_between_devices_need_access),
        TEST(copies_are_captured_on_a_stream_of_another_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
