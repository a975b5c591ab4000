/* Graphs that are captured again: the same work in the same order, with other parameters. */
#include "kernels.h"

#include <anycuda/cudart.h>

static acu_stream *stream;
static acu_buffer *x, *y;
static acu_graph *graph;

static int setup(void **state) {
    graph = NULL;
    return begin_kernels(state) || acu_stream_create(0, NULL, &stream) ||
           acu_buffer_create(stream, ACU_I32, 8, &x) || acu_buffer_create(stream, ACU_I32, 8, &y);
}

static int teardown(void **state) {
    return acu_buffer_release(x) || acu_buffer_release(y) || acu_graph_release(graph) ||
           acu_stream_release(stream) || nothing_left(state);
}

static void fill(acu_buffer *buffer, int32_t value) {
    OK(acu_buffer_fill_typed(buffer, ACU_I32, &value, stream));
}

static void capture(acu_buffer *first, acu_buffer *second) {
    OK(acu_stream_begin_capture(stream, NULL));
    fill(first, 1);
    fill(second, 2);
    OK(acu_stream_end_capture(stream, &graph));
}

/* Ends the test, skipped, where the runtime or its driver is older. */
#define NEEDS_RECAPTURE()                                                                          \
    do {                                                                                           \
        capture(x, y);                                                                             \
        const acu_capture_options again_here = {.into = graph, .again = true};                     \
        if (runtime_version() < 13030 || driver_version() < 13030) {                               \
            OK_SINCE_IN_DRIVER(13030, acu_stream_begin_capture(stream, &again_here));              \
            print_message("needs CUDA 13.3\n");                                                    \
            is_refused();                                                                          \
            skip();                                                                                \
        }                                                                                          \
    } while (0)

/* The graph is as it was. */
static void is_refused(void) {
    acu_exec *exec = NULL;
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_exec_release(exec));
    OK(acu_graph_release(graph));
    graph = NULL;
}

static int32_t first_of(acu_buffer *buffer) {
    int32_t back[8];
    OK(acu_buffer_read(buffer, back, 8));
    return back[0];
}

static void end_again(void) {
    acu_graph *same = NULL;
    OK(acu_stream_end_capture(stream, &same));
    assert_ptr_equal(same, graph);
    OK(acu_graph_release(same));
}

static void launch(acu_exec *exec) {
    OK(acu_exec_launch(exec, stream));
    OK(acu_stream_synchronize(stream));
}

/* ---- what it is for ---- */

static void nodes_take_over_what_is_different(void **state) {
    (void)state;
    acu_node before[2], after[2];
    acu_exec *exec = NULL;
    size_t count = 2;
    NEEDS_RECAPTURE();
    OK(acu_graph_get_nodes(graph, before, &count));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_stream_begin_capture(stream, &(acu_capture_options){.into = graph, .again = true}));
    fill(x, 5);
    fill(y, 2);
    end_again();
    OK(acu_graph_get_nodes(graph, after, &count));
    assert_int_equal(count, 2);
    assert_int_equal(before[0].id, after[0].id);
    assert_int_equal(before[1].id, after[1].id);
    launch(exec);
    assert_int_equal(first_of(x), 1);
    OK(acu_exec_update(exec, graph, NULL));
    launch(exec);
    assert_int_equal(first_of(x), 5);
    assert_int_equal(first_of(y), 2);
    OK(acu_exec_release(exec));
}

typedef struct asked {
    int calls;
    acu_node node;
    acu_recapture how;
    acu_result answer;
} asked;

static acu_result note(void *data, acu_node node, acu_recapture how) {
    asked *a = data;
    a->calls++;
    a->node = node;
    a->how = how;
    return a->answer;
}

static void the_program_is_asked(void **state) {
    (void)state;
    asked a = {.answer = 0};
    acu_node nodes[2];
    size_t count = 2;
    NEEDS_RECAPTURE();
    OK(acu_graph_get_nodes(graph, nodes, &count));
    OK(acu_stream_begin_capture(
        stream, &(acu_capture_options){.into = graph, .again = true, .changed = note, .data = &a}));
    fill(x, 1); /* as before */
    fill(y, 7);
    end_again();
    assert_int_equal(a.calls, 1);
    assert_ptr_equal(a.node.graph, graph);
    assert_int_equal(a.node.id, nodes[1].id);
    assert_int_equal(a.how, ACU_RECAPTURE_UPDATES);
}

/* ---- what ends it ---- */

static void has_no_nodes(acu_graph *lost) {
    size_t count = 9;
    assert_null(acu_graph_raw(lost));
    FAILS(acu_graph_get_nodes(lost, NULL, &count), 1, "lost, because a capture into it failed");
    assert_int_equal(count, 0);
    FAILS(acu_stream_begin_capture(stream, &(acu_capture_options){.into = lost}), ACU_ERROR_STATE,
          "lost, because a capture into it failed");
}

static void the_program_may_refuse(void **state) {
    (void)state;
    asked a = {.answer = ACU_ERROR_STATE};
    acu_graph *same = NULL;
    int32_t other = 0x07070707;
    NEEDS_RECAPTURE();
    OK(acu_stream_begin_capture(
        stream, &(acu_capture_options){.into = graph, .again = true, .changed = note, .data = &a}));
    FAILS(acu_buffer_fill_typed(x, ACU_I32, &other, stream), 918, "GraphRecaptureFailure");
    assert_non_null(strstr(acu_last_error_details().hint, "in the same order"));
    assert_non_null(strstr(acu_last_error_details().hint, "acu_capture_options.changed"));
    assert_int_not_equal(acu_stream_end_capture(stream, &same), 0);
    assert_null(same);
    has_no_nodes(graph);
    fill(x, 1); /* the stream is free again */
}

static void other_work_is_refused(void **state) {
    (void)state;
    acu_graph *same = NULL;
    NEEDS_RECAPTURE();
    const acu_capture_options again = {.into = graph, .again = true};
    OK(acu_stream_begin_capture(stream, &again));
    fill(x, 1);
    FAILS(acu_stream_end_capture(stream, &same), 918, "GraphRecaptureFailure"); /* too little */
    has_no_nodes(graph);
    OK(acu_graph_release(graph));
    capture(x, y);
    OK(acu_stream_begin_capture(stream, &(acu_capture_options){.into = graph, .again = true}));
    FAILS(acu_buffer_copy(x, y, stream), 918, "GraphRecaptureFailure"); /* another kind */
    assert_int_not_equal(acu_stream_end_capture(stream, &same), 0);
    has_no_nodes(graph);
}

static void a_stream_that_goes_takes_the_graph_along(void **state) {
    (void)state;
    acu_stream *own = NULL;
    NEEDS_RECAPTURE();
    OK(acu_stream_create(0, NULL, &own));
    OK(acu_stream_begin_capture(own, &(acu_capture_options){.into = graph, .again = true}));
    OK(acu_stream_release(own));
    has_no_nodes(graph);
}

static void options_are_checked(void **state) {
    (void)state;
    acu_node node = {NULL, 0};
    NEEDS_RECAPTURE();
    FAILS(acu_stream_begin_capture(stream, &(acu_capture_options){.again = true}),
          ACU_ERROR_ARGUMENT, "'into' is not set");
    FAILS(acu_stream_begin_capture(stream, &(acu_capture_options){.changed = note}),
          ACU_ERROR_ARGUMENT, "'again' is not set");
    FAILS(
        acu_stream_begin_capture(
            stream,
            &(acu_capture_options){.into = graph, .again = true, .after = &node, .after_count = 1}),
        ACU_ERROR_ARGUMENT, "keeps its dependencies");
    assert_int_equal(acu_inject_errors("cudaStreamBeginRecaptureToGraph@1:999"), 0);
    FAILS(acu_stream_begin_capture(stream, &(acu_capture_options){.into = graph, .again = true}),
          999, "cudaStreamBeginRecaptureToGraph");
    acu_inject_errors(NULL);
    fill(x, 1); /* is not captured */
    size_t count = 0;
    OK(acu_graph_get_nodes(graph, NULL, &count));
    assert_int_equal(count, 2);
}

/* ---- what is kept ---- */

static bool is_alive(struct CUevent_st *raw) {
    bool alive = cudaEventQuery(raw) != cudaErrorInvalidResourceHandle;
    (void)cudaGetLastError();
    return alive;
}

static void captured_again_gives_up_what_was(void **state) {
    (void)state;
    ONLY_SIMULATED("whether an event is gone");
    acu_event *a = NULL, *b = NULL;
    acu_exec *exec = NULL;
    NEEDS_RECAPTURE();
    OK(acu_graph_release(graph));
    OK(acu_event_create(0, NULL, &a));
    OK(acu_event_create(0, NULL, &b));
    struct CUevent_st *raw_a = acu_event_raw(a), *raw_b = acu_event_raw(b);
    OK(acu_stream_begin_capture(stream, NULL));
    OK(acu_event_record_external(a, stream));
    OK(acu_stream_end_capture(stream, &graph));
    OK(acu_graph_keep(graph, x, true));
    OK(acu_event_release(a));
    assert_true(is_alive(raw_a));
    OK(acu_stream_begin_capture(stream, &(acu_capture_options){.into = graph, .again = true}));
    OK(acu_event_record_external(b, stream));
    end_again();
    OK(acu_event_release(b));
    assert_false(is_alive(raw_a));
    assert_true(is_alive(raw_b));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    launch(exec);
    OK(acu_exec_release(exec));
}

#undef TEST
#define TEST(function) SAFE_TEST(function, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(nodes_take_over_what_is_different),
        TEST(the_program_is_asked),
        TEST(the_program_may_refuse),
        TEST(other_work_is_refused),
        TEST(a_stream_that_goes_takes_the_graph_along),
        TEST(options_are_checked),
        TEST(captured_again_gives_up_what_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
