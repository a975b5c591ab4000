/* Allocators during captures: what a graph was captured with is nobody else's while it lives. */
#include "safe.h"

#include <anycuda/cudart.h>
#include <anycuda/layers.h>

enum { KIB = 1024, MIB = 1024 * KIB, BYTES = 4 * MIB };

static acu_stream *stream, *other;
static acu_allocator *allocator;

static const acu_allocator_source sources[] = {ACU_ALLOCATOR_VIRTUAL, ACU_ALLOCATOR_POOL,
                                               ACU_ALLOCATOR_DEVICE};

static int start(void **state) {
    begin(state);
    return acu_stream_create(0, NULL, &stream) || acu_stream_create(0, NULL, &other);
}

static int stop(void **state) {
    int code = acu_stream_release(stream) || acu_stream_release(other);
    return nothing_left(state) || code;
}

#define WITH_STREAMS(function) SAFE_TEST(function, start, stop)

static void use_source(acu_allocator_source source) {
    OK(acu_allocator_create(0, &(acu_allocator_options){.source = source}, &allocator));
    OK(acu_allocator_set_current(allocator));
}

static void end_source(void) {
    acu_allocator_info info;
    OK(acu_allocator_get_info(allocator, &info));
    assert_int_equal(info.used, 0);
    OK(acu_allocator_clear_current(0));
    OK(acu_allocator_release(allocator));
}

static acu_buffer *buffer_on(acu_stream *on, size_t bytes) {
    acu_buffer *made = NULL;
    OK(acu_buffer_create(on, ACU_U8, bytes, &made));
    return made;
}

static bool overlap(const acu_buffer *a, const char *second, size_t bytes) {
    const char *first = acu_buffer_raw(a);
    return first < second + bytes && second < first + acu_buffer_count(a);
}

static void fill(acu_buffer *buffer, unsigned char value) {
    OK(acu_buffer_fill_typed(buffer, ACU_U8, &value, NULL));
}

static void expect(acu_buffer *buffer, unsigned char value) {
    unsigned char found = 0;
    OK(acu_buffer_read_typed(buffer, acu_buffer_count(buffer) - 1, ACU_U8, &found, 1, NULL));
    assert_int_equal(found, value);
}

/* Captures: a temporary buffer gets 7 and is copied to `result`. Returns the temporary's address.
 */
static const char *capture(acu_buffer *result, size_t bytes, acu_exec **exec) {
    acu_graph *graph = NULL;
    OK(acu_stream_begin_capture(noted(stream), &(acu_capture_options){.mode = ACU_CAPTURE_GLOBAL}));
    acu_buffer *temporary = buffer_on(stream, bytes);
    const char *at = acu_buffer_raw(temporary);
    fill(temporary, 7);
    OK(acu_buffer_copy(result, temporary, NULL));
    OK(acu_buffer_release(temporary));
    OK(acu_stream_end_capture(stream, &graph));
    OK(acu_graph_instantiate(graph, NULL, exec));
    OK(acu_graph_release(graph));
    return at;
}

static size_t reserved_after_trim(void) {
    acu_allocator_info info;
    OK(acu_allocator_trim(allocator, 0));
    OK(acu_allocator_get_info(allocator, &info));
    return info.reserved;
}

static void memory_of_a_graph_is_its_own(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(sources); i++) {
        acu_exec *exec = NULL;
        acu_buffer *others[10];
        use_source(sources[i]);
        acu_buffer *before = buffer_on(stream, BYTES), *result = buffer_on(stream, BYTES);
        const char *used_before = acu_buffer_raw(before);
        OK(acu_buffer_release(before)); /* free, but not for the graph */
        const char *at = capture(result, BYTES, &exec);
        assert_ptr_not_equal(at, used_before);
        acu_allocator_info info;
        OK(acu_allocator_get_info(allocator, &info));
        assert_int_equal(info.used, BYTES); /* the temporary buffer is free, but the graph's */
        for (size_t k = 0; k < COUNT(others); k++) {
            others[k] = buffer_on(k % 2 ? stream : other, BYTES);
            assert_false(overlap(others[k], at, BYTES));
            fill(others[k], 1);
        }
        for (int k = 0; k < 3; k++) {
            fill(result, 0);
            OK(acu_exec_launch(exec, stream));
            expect(result, 7);
        }
        for (size_t k = 0; k < COUNT(others); k++) {
            expect(others[k], 1);
            OK(acu_buffer_release(others[k]));
        }
        const size_t with_graph = reserved_after_trim(); /* not the graph's */
        OK(acu_exec_launch(exec, stream));
        expect(result, 7);
        OK(acu_exec_release(exec));
        assert_true(reserved_after_trim() < with_graph);
        OK(acu_buffer_release(result));
        assert_int_equal(reserved_after_trim(), 0);
        end_source();
    }
}

/* ---- used again within a capture ---- */

static void fill_on(acu_buffer *buffer, unsigned char value, acu_stream *on) {
    OK(acu_buffer_fill_typed(buffer, ACU_U8, &value, on));
}

static acu_graph *end_and_launch(void) {
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    OK(acu_stream_end_capture(stream, &graph));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    for (int i = 0; i < 3; i++)
        OK(acu_exec_launch(exec, stream));
    OK(acu_exec_release(exec));
    return graph;
}

/* What was released in the capture is used again there: a graph needs as much as it uses at once.
 */
static void a_capture_uses_its_memory_again(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(sources); i++) {
        acu_buffer *results[5];
        const void *at = NULL;
        use_source(sources[i]);
        for (size_t k = 0; k < COUNT(results); k++)
            results[k] = buffer_on(stream, BYTES);
        OK(acu_stream_begin_capture(noted(stream), NULL));
        for (size_t k = 0; k < COUNT(results); k++) {
            acu_buffer *temporary = buffer_on(stream, BYTES);
            assert_true(k == 0 || acu_buffer_raw(temporary) == at);
            at = acu_buffer_raw(temporary);
            fill(temporary, (unsigned char)(k + 1));
            OK(acu_buffer_copy(results[k], temporary, NULL));
            OK(acu_buffer_release(temporary));
        }
        acu_graph *graph = end_and_launch();
        for (size_t k = 0; k < COUNT(results); k++) {
            expect(results[k], (unsigned char)(k + 1));
            OK(acu_buffer_release(results[k]));
        }
        OK(acu_graph_release(graph));
        end_source();
    }
}

/* Another stream of the capture uses the memory late; its own stream comes after that. */
static void memory_waits_for_the_captures_other_streams(void **state) {
    (void)state;
    use_source(ACU_ALLOCATOR_VIRTUAL);
    acu_buffer *first = buffer_on(stream, BYTES), *second = buffer_on(stream, BYTES);
    OK(acu_stream_begin_capture(noted(stream), NULL));
    acu_buffer *temporary = buffer_on(stream, BYTES);
    const void *at = acu_buffer_raw(temporary);
    fill(temporary, 7);
    OK(acu_stream_fork(stream, &other, 1));
    OK(acu_stream_call_function(other, work_50_ms, NULL));
    OK(acu_buffer_copy(first, temporary, other));
    OK(acu_buffer_release(temporary));
    temporary = buffer_on(stream, BYTES);
    assert_ptr_equal(acu_buffer_raw(temporary), at);
    fill(temporary, 9);
    OK(acu_buffer_copy(second, temporary, NULL));
    OK(acu_buffer_release(temporary));
    OK(acu_stream_join(stream, &other, 1));
    acu_graph *graph = end_and_launch();
    expect(first, 7);
    expect(second, 9);
    OK(acu_graph_release(graph));
    OK(acu_buffer_release(first));
    OK(acu_buffer_release(second));
    end_source();
}

/* The first use of memory that is used again may be on another stream, which comes after the work
 * that used it before. */
static void another_stream_comes_after_earlier_work(void **state) {
    (void)state;
    use_source(ACU_ALLOCATOR_VIRTUAL);
    acu_buffer *first = buffer_on(stream, BYTES), *second = buffer_on(stream, BYTES);
    OK(acu_stream_begin_capture(noted(stream), NULL));
    acu_buffer *temporary = buffer_on(stream, BYTES);
    const void *at = acu_buffer_raw(temporary);
    OK(acu_stream_fork(stream, &other, 1));
    OK(acu_stream_call_function(stream, work_50_ms, NULL));
    fill(temporary, 7);
    OK(acu_buffer_copy(first, temporary, NULL));
    OK(acu_buffer_release(temporary));
    temporary = buffer_on(stream, BYTES);
    assert_ptr_equal(acu_buffer_raw(temporary), at);
    fill_on(temporary, 9, other);
    OK(acu_stream_join(stream, &other, 1));
    OK(acu_buffer_copy(second, temporary, NULL)); /* 7 if the earlier work came later */
    OK(acu_buffer_release(temporary));
    acu_graph *graph = end_and_launch();
    expect(first, 7);
    expect(second, 9);
    OK(acu_graph_release(graph));
    OK(acu_buffer_release(first));
    OK(acu_buffer_release(second));
    end_source();
}

/* A buffer that the program, a slice or a node has still is not used again. */
static void what_is_kept_is_not_used_again(void **state) {
    (void)state;
    acu_buffer *slice = NULL;
    use_source(ACU_ALLOCATOR_VIRTUAL);
    OK(acu_stream_begin_capture(noted(stream), NULL));
    acu_buffer *sliced = buffer_on(stream, BYTES), *held = buffer_on(stream, BYTES);
    OK(acu_buffer_slice(sliced, BYTES - 10, 10, &slice));
    fill(sliced, 5);
    fill(held, 6);
    OK(acu_buffer_release(sliced));
    acu_buffer *next = buffer_on(stream, BYTES);
    assert_false(overlap(next, acu_buffer_raw(slice), 10));
    assert_false(overlap(next, acu_buffer_raw(held), BYTES));
    fill(next, 8);
    acu_graph *graph = end_and_launch();
    expect(slice, 5);
    expect(held, 6);
    expect(next, 8);
    OK(acu_graph_release(graph));
    OK(acu_buffer_release(slice));
    OK(acu_buffer_release(held));
    OK(acu_buffer_release(next));
    end_source();
}

/* ---- afterwards ---- */

/* When the graph is gone, its memory is its stream's. */
static void memory_comes_back_with_the_graphs_end(void **state) {
    (void)state;
    acu_exec *exec = NULL;
    use_source(ACU_ALLOCATOR_DEVICE);
    acu_buffer *result = buffer_on(stream, 12 * MIB);
    const char *at = capture(result, 12 * MIB, &exec);
    OK(acu_exec_launch(exec, stream));
    OK(acu_stream_synchronize(stream));
    OK(acu_exec_release(exec));
    acu_buffer *next = buffer_on(stream, 12 * MIB);
    assert_ptr_equal(acu_buffer_raw(next), at);
    OK(acu_buffer_release(next));
    OK(acu_buffer_release(result));
    end_source();
}

/* A buffer that was made in a capture is a buffer like any other afterwards. */
static void a_captured_buffer_lives_on(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(sources); i++) {
        acu_graph *graph = NULL;
        acu_exec *exec = NULL;
        use_source(sources[i]);
        OK(acu_stream_begin_capture(noted(stream), NULL));
        acu_buffer *made = buffer_on(stream, 300 * KIB);
        fill(made, 9);
        OK(acu_stream_end_capture(stream, &graph));
        OK(acu_graph_instantiate(graph, NULL, &exec));
        OK(acu_exec_launch(exec, other));
        expect(made, 9); /* the launch on the other stream is waited for */
        OK(acu_exec_release(exec));
        OK(acu_graph_release(graph));
        expect(made, 9);
        OK(acu_buffer_release(made));
        end_source();
    }
}

/* Other streams, and other threads' work, go on during a capture of any mode. */
static void others_allocate_meanwhile(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(sources); i++) {
        acu_graph *graph = NULL;
        use_source(sources[i]);
        acu_buffer *kept = buffer_on(stream, BYTES);
        OK(acu_buffer_release(kept));
        OK(acu_stream_begin_capture(noted(stream),
                                    &(acu_capture_options){.mode = ACU_CAPTURE_GLOBAL}));
        for (size_t k = 1; k < 20; k++) {
            acu_buffer *buffer = buffer_on(other, k * 300 * KIB);
            OK(acu_buffer_fill_typed(buffer, ACU_U8, &(unsigned char){3}, other));
            OK(acu_buffer_release(buffer));
        }
        FAILS(acu_allocator_trim(allocator, 0), ACU_ERROR_CAPTURE, "capture");
        OK(acu_stream_end_capture(stream, &graph)); /* it was not broken */
        OK(acu_graph_release(graph));
        end_source();
    }
}

static void a_lost_capture_gives_its_memory_back(void **state) {
    (void)state;
    acu_stream *brief = NULL;
    use_source(ACU_ALLOCATOR_DEVICE);
    OK(acu_stream_create(0, NULL, &brief));
    OK(acu_stream_begin_capture(brief, NULL));
    acu_buffer *made = buffer_on(brief, BYTES);
    fill(made, 1);
    OK(acu_buffer_release(made));
    OK(acu_stream_release(brief)); /* the capture goes with it */
    assert_int_equal(reserved_after_trim(), 0);
    end_source();
}

static void two_graphs_have_memory_of_their_own(void **state) {
    (void)state;
    acu_exec *first = NULL, *second = NULL;
    use_source(ACU_ALLOCATOR_VIRTUAL);
    acu_buffer *result = buffer_on(stream, BYTES);
    const char *one = capture(result, BYTES, &first), *two = capture(result, BYTES, &second);
    assert_ptr_not_equal(one, two);
    OK(acu_exec_release(first));
    OK(acu_exec_launch(second, stream));
    expect(result, 7);
    OK(acu_exec_release(second));
    OK(acu_buffer_release(result));
    end_source();
}

/* Both use the memory that the graph has, although nothing else has told anycuda so. */
static void two_execs_of_a_graph_take_turns(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(sources); i++) {
        acu_graph *graph = NULL;
        acu_exec *first = NULL, *second = NULL;
        blocker holder;
        use_source(sources[i]);
        OK(acu_stream_begin_capture(noted(stream), NULL));
        acu_buffer *temporary = buffer_on(stream, BYTES);
        fill(temporary, 7);
        OK(acu_buffer_release(temporary));
        OK(acu_stream_end_capture(stream, &graph));
        OK(acu_graph_instantiate(graph, NULL, &first));
        OK(acu_graph_instantiate(graph, NULL, &second));
        block_stream(&holder, stream);
        OK(acu_exec_launch(first, stream));
        OK(acu_exec_launch(second, other));
        still_waits(other);
        unblock_stream(&holder);
        OK(acu_stream_synchronize(other));
        OK(acu_exec_release(first));
        OK(acu_exec_release(second));
        OK(acu_graph_release(graph));
        end_source();
    }
}

/* The graph of a raw capture keeps nothing: nobody would hold the memory for it. */
static void a_capture_of_others_is_refused(void **state) {
    (void)state;
    cudaGraph_t graph = NULL;
    acu_buffer *none = NULL;
    use_source(ACU_ALLOCATOR_DEVICE);
    assert_int_equal(
        cudaStreamBeginCapture(acu_stream_raw(stream), cudaStreamCaptureModeThreadLocal), 0);
    FAILS(acu_buffer_create(stream, ACU_U8, 100, &none), ACU_ERROR_CAPTURE, "being captured");
    assert_int_equal(cudaStreamEndCapture(acu_stream_raw(stream), &graph), 0);
    assert_int_equal(cudaGraphDestroy(graph), 0);
    end_source();
}

static acu_result no_memory(void *data, size_t bytes, acu_device device, cudaStream_t on,
                            void **pointer) {
    (void)data;
    (void)bytes;
    (void)device;
    (void)on;
    *pointer = NULL;
    return ACU_OUT_OF_MEMORY;
}

static acu_result not_called(void *data, void *pointer, size_t bytes, acu_device device,
                             cudaStream_t on) {
    (void)data;
    (void)pointer;
    (void)bytes;
    (void)device;
    (void)on;
    fail();
    return 0;
}

/* A program's allocator would not know that the memory is a graph's. */
static void a_programs_allocator_is_refused(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_buffer *none = NULL;
    const acu_allocator_functions functions = {
        .size = sizeof functions, .allocate = no_memory, .free = not_called};
    OK(acu_allocator_wrap(0, ACU_MEMORY_POOL, &functions, NULL, &allocator));
    OK(acu_stream_begin_capture(noted(stream), NULL));
    FAILS(acu_buffer_create_with(stream, ACU_U8, 100, &(acu_buffer_options){.allocator = allocator},
                                 &none),
          ACU_ERROR_CAPTURE, "being captured");
    OK(acu_stream_end_capture(stream, &graph));
    OK(acu_graph_release(graph));
    FAILS(acu_buffer_create_with(stream, ACU_U8, 100, &(acu_buffer_options){.allocator = allocator},
                                 &none),
          ACU_OUT_OF_MEMORY, "the allocator's function `allocate` returned 2");
    OK(acu_allocator_release(allocator));
}

static void the_limit_holds_in_a_capture(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_buffer *none = NULL;
    use_source(ACU_ALLOCATOR_DEVICE);
    OK(acu_allocator_set_limit(allocator, 8 * MIB));
    OK(acu_stream_begin_capture(noted(stream), NULL));
    acu_buffer *made = buffer_on(stream, 6 * MIB);
    FAILS(acu_buffer_create(stream, ACU_U8, 6 * MIB, &none), ACU_OUT_OF_MEMORY, "its limit is");
    OK(acu_buffer_release(made));
    OK(acu_stream_end_capture(stream, &graph));
    OK(acu_graph_release(graph));
    end_source();
}

/* A released graph is asked for when something else is made. Where CUDA does not answer, the thread
 * waits for the launch alone: to wait for the stream would end its capture, and find nothing out.
 */
static void a_question_without_an_answer_ends_no_capture(void **state) {
    (void)state;
    ONLY_SIMULATED("a call that fails on purpose");
    acu_exec *exec = NULL;
    acu_graph *graph = NULL;
    use_source(ACU_ALLOCATOR_POOL);
    acu_buffer *result = buffer_on(stream, BYTES);
    (void)capture(result, BYTES, &exec);
    OK(acu_stream_call_function(stream, work_50_ms, NULL));
    OK(acu_exec_launch(exec, stream));
    OK(acu_exec_release(exec)); /* which has to wait, and leaves a mark */
    OK(acu_stream_begin_capture(noted(stream),
                                &(acu_capture_options){.mode = ACU_CAPTURE_RELAXED}));
    OK(acu_inject_errors("cudaEventQuery@1:2"));
    acu_buffer *meanwhile = buffer_on(other, BYTES);
    fill(meanwhile, 1);
    OK(acu_inject_errors(NULL));
    OK(acu_buffer_zero(result, NULL));
    OK(acu_stream_end_capture(stream, &graph));
    expect(result, 7);
    expect(meanwhile, 1);
    OK(acu_graph_release(graph));
    OK(acu_buffer_release(meanwhile));
    OK(acu_buffer_release(result));
    end_source();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_STREAMS(memory_of_a_graph_is_its_own),
        WITH_STREAMS(a_capture_uses_its_memory_again),
        WITH_STREAMS(memory_waits_for_the_captures_other_streams),
        WITH_STREAMS(another_stream_comes_after_earlier_work),
        WITH_STREAMS(what_is_kept_is_not_used_again),
        WITH_STREAMS(memory_comes_back_with_the_graphs_end),
        WITH_STREAMS(a_captured_buffer_lives_on),
        WITH_STREAMS(others_allocate_meanwhile),
        WITH_STREAMS(a_lost_capture_gives_its_memory_back),
        WITH_STREAMS(two_graphs_have_memory_of_their_own),
        WITH_STREAMS(two_execs_of_a_graph_take_turns),
        WITH_STREAMS(a_capture_of_others_is_refused),
        WITH_STREAMS(a_programs_allocator_is_refused),
        WITH_STREAMS(the_limit_holds_in_a_capture),
        WITH_STREAMS(a_question_without_an_answer_ends_no_capture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
