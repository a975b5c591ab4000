/* Values in memory that streams wait for, and write. */
#include "kernels.h"

#include <anycuda/cudart.h>

#include <pthread.h>

static acu_buffer *values_of(acu_stream *stream, acu_memory memory, acu_dtype dtype) {
    acu_buffer *buffer = NULL;
    const acu_buffer_options options = {.memory = memory, .flags = ACU_BUFFER_UNORDERED};
    OK(acu_buffer_create_with(stream, dtype, 8, &options, &buffer));
    OK(acu_buffer_zero(buffer, NULL));
    OK(acu_stream_synchronize(stream));
    return buffer;
}

static uint32_t value_at(acu_buffer *buffer, size_t at) {
    uint32_t all[8];
    OK(acu_buffer_read(buffer, all, 8));
    return all[at];
}

static acu_stream *apart(void) {
    acu_stream *stream = NULL;
    OK(acu_stream_create(0, &(acu_stream_options){.flags = ACU_STREAM_NON_BLOCKING}, &stream));
    return stream;
}

/* ---- streams ---- */

static void one_stream_waits_for_another(void **state) {
    (void)state;
    NOT_UNDER_A_TOOL("a stream that waits may hold up the one that it waits for");
    acu_stream *waits = apart(), *writes = apart();
    acu_buffer *flags = values_of(waits, ACU_MEMORY_DEVICE, ACU_U32);
    OK(acu_stream_wait_value(waits, flags, 0, 7, ACU_VALUE_EQUAL));
    OK(acu_stream_write_value(waits, flags, 1, 5));
    still_waits(waits);
    OK(acu_stream_write_value(writes, flags, 0, 6));
    OK(acu_stream_synchronize(writes));
    still_waits(waits);
    OK(acu_stream_write_value(writes, flags, 0, 7));
    OK(acu_stream_synchronize(waits));
    assert_int_equal(value_at(flags, 1), 5);
    OK(acu_buffer_release(flags));
    OK(acu_stream_release(waits));
    OK(acu_stream_release(writes));
}

static void the_host_writes_what_a_stream_waits_for(void **state) {
    (void)state;
    NOT_UNDER_A_TOOL("it may wait for each call");
    static const acu_memory kinds[] = {ACU_MEMORY_PINNED, ACU_MEMORY_MAPPED};
    acu_stream *stream = apart();
    for (size_t i = 0; i < COUNT(kinds); i++) {
        void *host = NULL;
        acu_buffer *flags = values_of(stream, kinds[i], ACU_U64);
        OK(acu_buffer_get_host(flags, &host));
        uint64_t *value = host;
        OK(acu_stream_wait_value(stream, flags, 3, 1ull << 40u, ACU_VALUE_AT_LEAST));
        OK(acu_stream_write_value(stream, flags, 4, UINT64_MAX));
        still_waits(stream);
        assert_int_equal(__atomic_load_n(&value[4], __ATOMIC_SEQ_CST), 0);
        __atomic_store_n(&value[3], (1ull << 40u) + 1, __ATOMIC_SEQ_CST);
        OK(acu_stream_synchronize(stream));
        assert_true(__atomic_load_n(&value[4], __ATOMIC_SEQ_CST) == UINT64_MAX);
        OK(acu_buffer_release(flags));
    }
    OK(acu_stream_release(stream));
}

/* What the memory has, what is waited for, and whether that ends the wait. */
static void conditions(void **state) {
    (void)state;
    static const struct {
        uint32_t has, value;
        acu_value_condition until;
    } all[] = {{5, 5, ACU_VALUE_AT_LEAST},   {1, 0xfffffff0u, ACU_VALUE_AT_LEAST},
               {6, 6, ACU_VALUE_EQUAL},      {6, 3, ACU_VALUE_HAS_BITS},
               {1, 2, ACU_VALUE_LACKS_BITS}, {5, (uint32_t)-7, ACU_VALUE_AT_LEAST}};
    acu_stream *stream = apart();
    acu_buffer *flags = values_of(stream, ACU_MEMORY_DEVICE, ACU_I32);
    for (size_t i = 0; i < COUNT(all); i++) {
        OK(acu_stream_write_value(stream, flags, 0, all[i].has));
        OK(acu_stream_wait_value(stream, flags, 0, all[i].value, all[i].until));
        OK(acu_stream_synchronize(stream));
    }
    OK(acu_stream_write_value(stream, flags, 0, (uint64_t)-3)); /* a signed number fits, too */
    OK(acu_stream_wait_value(stream, flags, 0, (uint64_t)(int64_t)-3, ACU_VALUE_EQUAL));
    OK(acu_stream_synchronize(stream));
    OK(acu_buffer_release(flags));
    OK(acu_stream_release(stream));
}

static void many_operations(void **state) {
    (void)state;
    acu_stream *stream = apart();
    acu_buffer *flags = values_of(stream, ACU_MEMORY_DEVICE, ACU_U32);
    acu_value_operation all[ACU_MOST_VALUES + 1];
    for (size_t i = 0; i < COUNT(all); i++)
        all[i] = (acu_value_operation){
            .action = ACU_VALUE_WRITE, .buffer = flags, .at = i % 8, .value = i};
    all[100] = (acu_value_operation){.action = ACU_VALUE_BARRIER, .on_device = true};
    all[101] = (acu_value_operation){.action = ACU_VALUE_BARRIER};
    all[102] = (acu_value_operation){.action = ACU_VALUE_WAIT,
                                     .address = (char *)acu_buffer_raw(flags) + 4,
                                     .value = 97,
                                     .until = ACU_VALUE_EQUAL};
    OK(acu_stream_run_values(stream, all, ACU_MOST_VALUES));
    OK(acu_stream_synchronize(stream));
    assert_int_equal(value_at(flags, 6), 254);
    assert_int_equal(value_at(flags, 7), 247);
    FAILS(acu_stream_run_values(stream, all, ACU_MOST_VALUES + 1), ACU_ERROR_LIMIT,
          "there are 256 operations, but there can be 255");
    FAILS(acu_stream_run_values(stream, all, 0), ACU_ERROR_ARGUMENT, "nothing to do");
    OK(acu_buffer_release(flags));
    OK(acu_stream_release(stream));
}

static void what_not_every_device_has(void **state) {
    (void)state;
    acu_stream *stream = apart();
    acu_buffer *flags = values_of(stream, ACU_MEMORY_DEVICE, ACU_U32);
    const acu_value_operation atomics[] = {{.action = ACU_VALUE_OR, .buffer = flags, .value = 6},
                                           {.action = ACU_VALUE_AND, .buffer = flags, .value = 5},
                                           {.action = ACU_VALUE_ADD, .buffer = flags, .value = 3}};
    const acu_value_operation flush = {.action = ACU_VALUE_FLUSH};
    acu_clear_error();
    if (acu_stream_run_values(stream, atomics, 3)) {
        assert_int_equal(acu_last_error(), ACU_NOT_SUPPORTED);
        assert_true(acu_last_error_details().hint[0] || strstr(acu_last_error_message(), "13.1"));
    } else
        assert_int_equal(value_at(flags, 0), 7);
    acu_clear_error();
    if (acu_stream_run_values(stream, &flush, 1))
        assert_int_equal(acu_last_error(), ACU_NOT_SUPPORTED);
    OK(acu_stream_synchronize(stream));
    OK(acu_buffer_release(flags));
    OK(acu_stream_release(stream));
}

static void wrong_operations(void **state) {
    (void)state;
    acu_stream *stream = apart();
    acu_buffer *ordered = numbers_on(stream, 4), *bytes = NULL, *pool = NULL;
    acu_buffer *flags = values_of(stream, ACU_MEMORY_DEVICE, ACU_U32);
    const acu_buffer_options device = {.memory = ACU_MEMORY_DEVICE, .flags = ACU_BUFFER_UNORDERED};
    OK(acu_buffer_create_with(stream, ACU_U8, 4, &device, &bytes));
    FAILS(acu_stream_write_value(stream, ordered, 0, 1), ACU_ERROR_STATE, "would let the write");
    assert_non_null(strstr(acu_last_error_details().hint, "ACU_BUFFER_UNORDERED"));
    FAILS(acu_stream_write_value(stream, bytes, 0, 1), ACU_ERROR_DTYPE, "an element 1");
    FAILS(acu_stream_write_value(stream, flags, 8, 1), ACU_ERROR_RANGE, "no element 8 among 8");
    FAILS(acu_stream_write_value(stream, flags, 0, 1ull << 32u), ACU_ERROR_OVERFLOW,
          "0x100000000 does not fit");
    FAILS(acu_stream_wait_value(stream, flags, 0, 1, (acu_value_condition)4), ACU_ERROR_ARGUMENT,
          "no condition 4");
    FAILS(acu_stream_run_values(stream, &(acu_value_operation){.action = (acu_value_action)7}, 1),
          ACU_ERROR_ARGUMENT, "no action 7");
    FAILS(acu_stream_run_values(stream, &(acu_value_operation){.action = ACU_VALUE_WRITE}, 1),
          ACU_ERROR_ARGUMENT, "'buffer' and 'address' are NULL");
    if (is_simulated()) {
        OK(acu_buffer_create_with(stream, ACU_U32, 4,
                                  &(acu_buffer_options){.flags = ACU_BUFFER_UNORDERED}, &pool));
        FAILS(acu_stream_write_value(stream, pool, 0, 1), 1, "cuStreamBatchMemOp");
        assert_non_null(strstr(acu_last_error_details().hint, "ACU_MEMORY_DEVICE"));
        const acu_value_operation odd = {.action = ACU_VALUE_WRITE,
                                         .address = (char *)acu_buffer_raw(flags) + 1};
        FAILS(acu_stream_run_values(stream, &odd, 1), 1, "cuStreamBatchMemOp");
        assert_non_null(strstr(acu_last_error_details().hint, "a multiple of the value's size"));
    }
    OK(acu_buffer_release(pool));
    OK(acu_buffer_release(bytes));
    OK(acu_buffer_release(flags));
    OK(acu_buffer_release(ordered));
    OK(acu_stream_release(stream));
}

typedef struct sender {
    acu_stream *stream;
    acu_buffer *flags;
    acu_result result;
} sender;

static void *send_value(void *data) {
    sender *s = data;
    s->result = acu_stream_write_value(s->stream, s->flags, 2, 9);
    return NULL;
}

/* A thread that has made no call of CUDA has no current context. */
static void a_new_thread(void **state) {
    (void)state;
    pthread_t thread;
    acu_stream *stream = apart();
    sender s = {stream, values_of(stream, ACU_MEMORY_DEVICE, ACU_U32), -99};
    assert_int_equal(pthread_create(&thread, NULL, send_value, &s), 0);
    pthread_join(thread, NULL);
    assert_int_equal(s.result, 0);
    OK(acu_stream_synchronize(stream));
    assert_int_equal(value_at(s.flags, 2), 9);
    OK(acu_buffer_release(s.flags));
    OK(acu_stream_release(stream));
}

/* ---- graphs ---- */

/* A captured call is a node, and the graph keeps the buffer. */
static void captured_values(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    acu_node node;
    acu_node_type type;
    acu_stream *stream = apart();
    acu_buffer *flags = values_of(stream, ACU_MEMORY_DEVICE, ACU_U32), *same = NULL;
    OK(acu_buffer_slice(flags, 0, 8, &same));
    OK(acu_stream_begin_capture(stream, NULL));
    OK(acu_stream_write_value(stream, flags, 0, 3));
    OK(acu_stream_wait_value(stream, flags, 0, 3, ACU_VALUE_EQUAL));
    OK(acu_stream_get_captured_node(stream, &node));
    OK(acu_stream_end_capture(stream, &graph));
    OK(acu_node_get_type(node, &type));
    assert_int_equal(type, ACU_NODE_BATCH_MEM_OP);
    OK(acu_buffer_release(flags));
    OK(acu_buffer_release(same));
    OK(acu_graph_instantiate(graph, 0, &exec));
    OK(acu_exec_launch(exec, stream));
    OK(acu_stream_synchronize(stream));
    OK(acu_exec_release(exec));
    OK(acu_graph_release(graph));
    OK(acu_stream_release(stream));
}

static void nodes(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    acu_node node;
    acu_stream *stream = apart();
    acu_buffer *flags = values_of(stream, ACU_MEMORY_DEVICE, ACU_U32);
    acu_value_operation o[] = {{.action = ACU_VALUE_WRITE, .buffer = flags, .value = 3},
                               {.action = ACU_VALUE_WAIT, .buffer = flags, .value = 3},
                               {.action = ACU_VALUE_WRITE, .buffer = flags, .at = 1, .value = 4}};
    OK(acu_graph_create(&graph));
    OK(acu_graph_add_values(graph, NULL, 0, 0, o, COUNT(o), &node));
    OK(acu_graph_instantiate(graph, 0, &exec));
    OK(acu_exec_launch(exec, stream));
    OK(acu_stream_synchronize(stream));
    assert_int_equal(value_at(flags, 1), 4);
    o[2].value = 5;
    OK(acu_exec_set_values(exec, node, o, COUNT(o)));
    OK(acu_exec_launch(exec, stream));
    OK(acu_stream_synchronize(stream));
    assert_int_equal(value_at(flags, 1), 5);
    o[2].value = 6;
    OK(acu_node_set_values(node, o, COUNT(o)));
    FAILS(acu_exec_set_values(exec, node, o, 2), 1, "batch mem op node 0");
    assert_non_null(strstr(acu_last_error_details().hint, "as many operations"));
    OK(acu_exec_release(exec));
    OK(acu_graph_instantiate(graph, 0, &exec));
    OK(acu_exec_launch(exec, stream));
    OK(acu_stream_synchronize(stream));
    assert_int_equal(value_at(flags, 1), 6);
    FAILS(acu_graph_add_values(graph, NULL, 0, 0, o, 256, &node), ACU_ERROR_LIMIT, "256");
    OK(acu_exec_release(exec));
    OK(acu_graph_release(graph));
    OK(acu_buffer_release(flags));
    OK(acu_stream_release(stream));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(one_stream_waits_for_another),
        KERNEL_TEST(the_host_writes_what_a_stream_waits_for),
        KERNEL_TEST(conditions),
        KERNEL_TEST(many_operations),
        KERNEL_TEST(what_not_every_device_has),
        KERNEL_TEST(wrong_operations),
        KERNEL_TEST(a_new_thread),
        KERNEL_TEST(captured_values),
        KERNEL_TEST(nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
