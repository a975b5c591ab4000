/* Transfers during captures: a graph keeps what is written, and nothing is read. */
#include "transfers.h"

static void a_capture_refuses_reads_and_goes_on(void **state) {
    (void)state;
    acu_stream *other = stream_on(0);
    acu_buffer *buffer = numbers_on(stream, 8);
    acu_transfer *transfer = NULL, *before = NULL;
    acu_graph *graph = NULL;
    float numbers[8] = {0};
    OK(acu_buffer_read_async(buffer, 0, 8, &before, NULL));
    OK(acu_stream_begin_capture(stream, NULL));
    FAILS(acu_buffer_read_async(buffer, 0, 8, &transfer, NULL), ACU_ERROR_CAPTURE,
          "is being captured");
    assert_non_null(strstr(acu_last_error_details().hint, "after a launch"));
    assert_null(transfer);
    FAILS(acu_buffer_write_async(buffer, 0, ACU_F32, numbers, 8, other), ACU_ERROR_CAPTURE, "");
    FAILS(acu_transfer_query(before), ACU_ERROR_CAPTURE, "");
    FAILS(acu_transfer_synchronize(before), ACU_ERROR_CAPTURE, "");
    OK(acu_buffer_zero(buffer, NULL));
    OK(acu_stream_end_capture(stream, &graph));
    OK(acu_transfer_read(before, numbers, 8));
    assert_true(numbers[7] == 7);
    OK(acu_transfer_release(before));
    OK(acu_graph_release(graph));
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(other));
}

/* Each launch writes what was there when the write was captured; the graph keeps that, and the
 * buffer. */
static void a_captured_write_is_a_snapshot(void **state) {
    (void)state;
    enum { MANY = 3 * MIB };
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    float numbers[8] = {1, 2, 3}, back[8] = {0};
    unsigned char *many = malloc(MANY), last = 0;
    acu_buffer *buffer = numbers_on(stream, 8), *large = NULL;
    assert_non_null(many);
    OK(acu_buffer_create(stream, ACU_U8, MANY, &large));
    memset(many, 77, MANY);
    OK(acu_stream_begin_capture(noted(stream), NULL));
    OK(acu_buffer_write_async(buffer, 0, ACU_F32, numbers, 8, NULL));
    numbers[0] = 9;
    OK(acu_buffer_write_async(buffer, 2, ACU_F32, numbers, 1, NULL)); /* after the other one */
    OK(acu_buffer_write_async(buffer, 8, ACU_F32, numbers, 0, NULL));
    OK(acu_buffer_write_async(large, 0, ACU_U8, many, MANY, NULL));
    FAILS(acu_buffer_write_async(buffer, 2, ACU_F32, numbers, 7, NULL), ACU_ERROR_RANGE, "");
    memset(many, 0, MANY);
    memset(numbers, 0, sizeof numbers);
    OK(acu_stream_end_capture(stream, &graph));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_graph_release(graph));
    for (int i = 0; i < 3; i++) {
        OK(acu_buffer_zero(buffer, NULL));
        OK(acu_buffer_zero(large, NULL));
        OK(acu_exec_launch(exec, stream));
        OK(acu_buffer_read_typed(large, MANY - 1, ACU_U8, &last, 1, NULL));
        OK(acu_buffer_read(buffer, back, 8));
        assert_true(back[0] == 1 && back[1] == 2 && back[2] == 9 && last == 77);
    }
    OK(acu_exec_launch(exec, stream));
    OK(acu_exec_release(exec));
    OK(acu_buffer_release(buffer));
    OK(acu_buffer_release(large));
    OK(acu_stream_synchronize(stream));
    free(many);
}

/* Writes on two streams of a capture have the order that they were captured in. */
static void captured_writes_are_ordered(void **state) {
    (void)state;
    acu_stream *side = stream_on(0);
    acu_buffer *buffer = numbers_on(stream, 8), *seen = numbers_on(stream, 8);
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    float number = 0;
    OK(acu_stream_begin_capture(noted(stream),
                                &(acu_capture_options){.mode = ACU_CAPTURE_RELAXED}));
    OK(acu_stream_wait_stream(side, stream)); /* it is captured, too */
    for (int i = 0; i < 6; i++) {
        number = (float)(100 + i);
        OK(acu_buffer_write_async(buffer, 1, ACU_F32, &number, 1, i % 2 ? side : stream));
    }
    OK(acu_buffer_copy(seen, buffer, stream));
    OK(acu_stream_end_capture(stream, &graph));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    for (int i = 0; i < 4; i++) {
        OK(acu_exec_launch(exec, stream));
        OK(acu_buffer_read_typed(seen, 1, ACU_F32, &number, 1, NULL));
        assert_true(number == 105);
    }
    OK(acu_exec_release(exec));
    OK(acu_graph_release(graph));
    OK(acu_buffer_release(buffer));
    OK(acu_buffer_release(seen));
    OK(acu_stream_release(side));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TRANSFER_TEST(a_capture_refuses_reads_and_goes_on),
        TRANSFER_TEST(a_captured_write_is_a_snapshot),
        TRANSFER_TEST(captured_writes_are_ordered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
