/* What each kind of node does when it is launched, and what it refuses. */
#include "kernels.h"

#include <anycuda/cudart.h>

static acu_stream *stream;
static acu_graph *graph;
static acu_buffer *x, *y;

static int setup(void **state) {
    return begin_kernels(state) || acu_stream_create(0, NULL, &stream) ||
           acu_graph_create(&graph) || acu_buffer_create(stream, ACU_I32, 8, &x) ||
           acu_buffer_create(stream, ACU_I32, 8, &y);
}

static int teardown(void **state) {
    return acu_buffer_release(x) || acu_buffer_release(y) || acu_graph_release(graph) ||
           acu_stream_release(stream) || nothing_left(state);
}

static void launch(void) {
    acu_exec *exec = NULL;
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_exec_launch(exec, stream));
    OK(acu_stream_synchronize(stream));
    OK(acu_exec_release(exec));
}

static void expect(acu_buffer *buffer, const int32_t *numbers) {
    int32_t back[8];
    OK(acu_buffer_read(buffer, back, 8));
    assert_memory_equal(back, numbers, sizeof back);
}

static void a_write_keeps_what_it_writes(void **state) {
    (void)state;
    int32_t numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    acu_node write, copy;
    OK(acu_graph_add_write(graph, NULL, 0, x, 0, ACU_I32, numbers, 8, &write));
    memset(numbers, 0, sizeof numbers);
    OK(acu_graph_add_copy(graph, &write, 1, &(acu_copy){.to = y, .from = x}, &copy));
    launch();
    expect(y, (int32_t[]){1, 2, 3, 4, 5, 6, 7, 8});
    acu_node_kind kind;
    OK(acu_node_type(copy, &kind));
    assert_int_equal(kind, ACU_NODE_COPY);
    float wrong = 1;
    FAILS(acu_graph_add_write(graph, NULL, 0, x, 0, ACU_F32, &wrong, 1, NULL), ACU_ERROR_DTYPE, "");
    FAILS(acu_graph_add_write(graph, NULL, 0, x, 8, ACU_I32, numbers, 1, NULL), ACU_ERROR_RANGE,
          "1 elements from element 8 on, of 8");
    FAILS(acu_graph_add_write(graph, NULL, 0, x, 0, ACU_I32, numbers, 0, NULL), ACU_ERROR_RANGE,
          "nothing to write");
    FAILS(acu_graph_add_write(graph, NULL, 0, x, 0, ACU_I32, NULL, 1, NULL), ACU_ERROR_ARGUMENT,
          "'host' is NULL");
    FAILS(acu_graph_add_write(graph, NULL, 0, NULL, 0, ACU_I32, numbers, 1, NULL),
          ACU_ERROR_ARGUMENT, "the buffer is NULL");
}

static void copies_parts_and_checks_them(void **state) {
    (void)state;
    const int32_t numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    acu_buffer *host = NULL, *floats = NULL;
    void *at;
    OK(acu_buffer_create_with(stream, ACU_I32, 8,
                              &(acu_buffer_options){.memory = ACU_MEMORY_PINNED}, &host));
    OK(acu_buffer_create(stream, ACU_F32, 8, &floats));
    OK(acu_buffer_write(x, numbers, 8));
    OK(acu_graph_add_copy(graph, NULL, 0, &(acu_copy){host, x, .to_at = 2, .from_at = 4}, NULL));
    launch();
    OK(acu_buffer_host(host, &at));
    assert_memory_equal((int32_t *)at + 2, numbers + 4, 4 * sizeof(int32_t));
    FAILS(acu_graph_add_copy(graph, NULL, 0, NULL, NULL), ACU_ERROR_ARGUMENT, "'copy' is NULL");
    FAILS(acu_graph_add_copy(graph, NULL, 0, &(acu_copy){.to = x, .from = floats}, NULL),
          ACU_ERROR_DTYPE, "");
    FAILS(acu_graph_add_copy(graph, NULL, 0, &(acu_copy){.to = x, .from = NULL}, NULL),
          ACU_ERROR_ARGUMENT, "");
    FAILS(acu_graph_add_copy(graph, NULL, 0, &(acu_copy){y, x, .count = 9}, NULL), ACU_ERROR_RANGE,
          "9 elements");
    FAILS(acu_graph_add_copy(graph, NULL, 0, &(acu_copy){y, x, .from_at = 8}, NULL),
          ACU_ERROR_RANGE, "nothing to copy");
    FAILS(acu_graph_add_copy(graph, NULL, 0, &(acu_copy){x, x, .to_at = 1, .count = 2}, NULL),
          ACU_ERROR_RANGE, "overlap");
    FAILS(acu_graph_add_copy(graph, NULL, 0, &(acu_copy){y, x, .count = SIZE_MAX}, NULL),
          ACU_ERROR_RANGE, "");
    OK(acu_buffer_release(host));
    OK(acu_buffer_release(floats));
}

static void fills_rows(void **state) {
    (void)state;
    const int32_t seven = 7, big = 0x01020304, equal = 0x05050505;
    acu_node all, row;
    acu_fill rows = {x, ACU_I32, &big, .at = 1, .width = 2, .height = 2, .pitch = 4};
    OK(acu_graph_add_fill(graph, NULL, 0, &(acu_fill){x, ACU_I32, &seven, .at = 0}, &all));
    OK(acu_graph_add_fill(graph, &all, 1, &rows, &row));
    OK(acu_graph_add_fill(graph, &row, 1, &(acu_fill){x, ACU_I32, &equal, .at = 7}, NULL));
    launch();
    expect(x, (int32_t[]){7, big, big, 7, 7, big, big, equal});
}

static void refuses_fills_that_do_not_fit(void **state) {
    (void)state;
    const int32_t one = 1;
    const double two = 2;
    acu_buffer *doubles = NULL;
    OK(acu_buffer_create(stream, ACU_F64, 8, &doubles));
#define FILL(...) acu_graph_add_fill(graph, NULL, 0, &(acu_fill){__VA_ARGS__}, NULL)
    FAILS(acu_graph_add_fill(graph, NULL, 0, NULL, NULL), ACU_ERROR_ARGUMENT, "'fill' is NULL");
    FAILS(FILL(x, ACU_I32, NULL, .at = 0), ACU_ERROR_ARGUMENT, "'fill->element' is NULL");
    FAILS(FILL(NULL, ACU_I32, &one, .at = 0), ACU_ERROR_ARGUMENT, "the buffer is NULL");
    FAILS(FILL(x, ACU_F32, &one, .at = 0), ACU_ERROR_DTYPE, "");
    FAILS(FILL(doubles, ACU_F64, &two, .at = 0), ACU_ERROR_DTYPE, "elements of 8 bytes");
    FAILS(FILL(x, ACU_I32, &one, .at = 9), ACU_ERROR_RANGE, "");
    FAILS(FILL(x, ACU_I32, &one, .at = 8), ACU_ERROR_RANGE, "of 8");
    FAILS(FILL(x, ACU_I32, &one, .at = 0, .width = 9), ACU_ERROR_RANGE, "of 8");
    FAILS(FILL(x, ACU_I32, &one, .at = 1, .width = 4, .height = 2), ACU_ERROR_RANGE, "of 8");
    FAILS(FILL(x, ACU_I32, &one, .at = 0, .width = 4, .height = 2, .pitch = 3), ACU_ERROR_RANGE,
          "");
    FAILS(FILL(x, ACU_I32, &one, .at = 0, .width = 1, .height = SIZE_MAX, .pitch = SIZE_MAX),
          ACU_ERROR_RANGE, "of 8");
    OK(acu_buffer_release(doubles));
}

static void count_up(void *data) {
    __atomic_add_fetch((int *)data, 1, __ATOMIC_SEQ_CST);
}

static void calls_the_host_in_order(void **state) {
    (void)state;
    int counts[3] = {0};
    acu_node a, b;
    acu_graph *inner = NULL;
    OK(acu_graph_create(&inner));
    OK(acu_graph_add_host(inner, NULL, 0, (acu_closure){count_up, &counts[2], NULL}, NULL));
    OK(acu_graph_add_host(graph, NULL, 0, (acu_closure){count_up, &counts[0], NULL}, &a));
    OK(acu_graph_add_child(graph, &a, 1, inner, &b));
    OK(acu_graph_add_host(graph, &b, 1, (acu_closure){count_up, &counts[1], NULL}, NULL));
    OK(acu_graph_release(inner));
    launch();
    launch();
    for (int i = 0; i < 3; i++)
        assert_int_equal(counts[i], 2);
}

static void runs_kernels(void **state) {
    (void)state;
    float back[8];
    acu_kernel *kernel = kernel_on(0, "scale");
    acu_buffer *numbers = numbers_on(stream, 8);
    acu_node first, second;
    acu_node_kind kind;
    const acu_grid grid = acu_grid_1d(8, 32);
    const acu_arg args[] = {acu_inout(numbers), acu_arg_of(5.0f), acu_arg_of(8)};
    OK(acu_graph_add_kernel(graph, NULL, 0, kernel, &grid, args, 3, &first));
    OK(acu_graph_add_kernel(graph, &first, 1, kernel, &grid, args, 3, &second));
    OK(acu_node_type(second, &kind));
    assert_int_equal(kind, ACU_NODE_KERNEL);
    FAILS(acu_graph_add_kernel(graph, NULL, 0, NULL, &grid, args, 3, NULL), ACU_ERROR_ARGUMENT,
          "the kernel is NULL");
    FAILS(acu_graph_add_kernel(graph, NULL, 0, kernel, &grid, args, 2, NULL), ACU_ERROR_ARGUMENT,
          "acu_graph_add_kernel");
    FAILS(acu_graph_add_kernel(NULL, NULL, 0, kernel, &grid, args, 3, NULL), ACU_ERROR_ARGUMENT,
          "the graph is NULL");
    OK(acu_kernel_release(kernel)); /* the graph has it, and its module */
    launch();
    OK(acu_buffer_read(numbers, back, 8));
    assert_true(back[3] == 75);
    OK(acu_buffer_release(numbers));
}

static void records_and_waits(void **state) {
    (void)state;
    acu_event *event = NULL;
    acu_node record, wait;
    acu_node_kind kind;
    gate at;
    OK(acu_event_create(0, NULL, &event));
    OK(acu_graph_add_event_wait(graph, NULL, 0, event, &wait));
    OK(acu_graph_add_event_record(graph, &wait, 1, event, &record));
    OK(acu_node_type(wait, &kind));
    assert_int_equal(kind, ACU_NODE_EVENT_WAIT);
    close_gate(&at, stream);
    OK(acu_event_record(event, stream));
    open_gate(&at);
    launch();
    OK(acu_event_query(event));
    FAILS(acu_graph_add_event_wait(graph, NULL, 0, NULL, NULL), ACU_ERROR_ARGUMENT,
          "the event is NULL");
    FAILS(acu_graph_add_event_record(graph, NULL, 0, NULL, NULL), ACU_ERROR_ARGUMENT,
          "the event is NULL");
    OK(acu_event_release(event)); /* the graph has it still */
    launch();
}

/* ---- memory ------------------------------------------------------------------------------------
 */

static void memory_of_a_graph_is_a_buffer(void **state) {
    (void)state;
    const int32_t numbers[8] = {8, 7, 6, 5, 4, 3, 2, 1};
    acu_buffer *z = NULL;
    acu_node alloc, write, copy, release;
    acu_node_kind kind;
    uint64_t used = 0;
    OK(acu_graph_add_alloc(graph, NULL, 0, 0, ACU_I32, 8, &z, &alloc));
    assert_non_null(acu_buffer_raw(z));
    assert_int_equal(acu_buffer_memory(z), ACU_MEMORY_GRAPH);
    assert_int_equal(acu_buffer_device(z), 0);
    OK(acu_graph_add_write(graph, &alloc, 1, z, 0, ACU_I32, numbers, 8, &write));
    OK(acu_graph_add_copy(graph, &write, 1, &(acu_copy){.to = y, .from = z}, &copy));
    OK(acu_graph_add_free(graph, &copy, 1, z, &release));
    OK(acu_node_type(release, &kind));
    assert_int_equal(kind, ACU_NODE_FREE);
    launch();
    launch();
    expect(y, numbers);
    OK(acu_graph_memory_get(0, ACU_GRAPH_MEMORY_USED_HIGH, &used));
    assert_true(used >= sizeof numbers);
    OK(acu_graph_memory_get(0, ACU_GRAPH_MEMORY_RESERVED, &used));
    assert_true(used >= sizeof numbers);
    OK(acu_graph_memory_reset(0, ACU_GRAPH_MEMORY_USED_HIGH));
    OK(acu_graph_memory_trim(0));
    OK(acu_buffer_release(z));
}

static void memory_outlives_its_launch(void **state) {
    (void)state;
    const int32_t numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    acu_stream *other = stream_on(0);
    acu_buffer *z = NULL;
    acu_exec *exec = NULL;
    acu_node alloc;
    OK(acu_graph_add_alloc(graph, NULL, 0, 0, ACU_I32, 8, &z, &alloc));
    OK(acu_graph_add_write(graph, &alloc, 1, z, 0, ACU_I32, numbers, 8, NULL));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_exec_launch(exec, stream));
    OK(acu_buffer_copy(x, z, other)); /* waits for the launch, as for any use */
    expect(x, numbers);
    OK(acu_buffer_free_graph_memory(z, other));
    OK(acu_stream_synchronize(other));
    FAILS(acu_buffer_free_graph_memory(x, other), ACU_ERROR_MEMORY_KIND, "no graph has allocated");
    FAILS(acu_buffer_free_graph_memory(z, NULL), ACU_ERROR_ARGUMENT, "the stream is NULL");
    FAILS(acu_buffer_read(z, &(int32_t){0}, 1), ACU_ERROR_ARGUMENT, "the stream is NULL");
    OK(acu_buffer_release(z));
    OK(acu_exec_release(exec));
    OK(acu_stream_release(other));
}

static void memory_is_checked(void **state) {
    (void)state;
    acu_buffer *z = NULL;
    uint64_t bytes;
#define ALLOC(device, dtype, count)                                                                \
    acu_graph_add_alloc(graph, NULL, 0, (device), (dtype), (count), &z, NULL)
    FAILS(ALLOC(0, ACU_I32, 0), ACU_ERROR_ARGUMENT, "nothing to allocate");
    FAILS(ALLOC(0, ACU_ANY, 8), ACU_ERROR_DTYPE, "no type of elements");
    FAILS(ALLOC(0, ACU_I32, SIZE_MAX), ACU_ERROR_OVERFLOW, "");
    FAILS(ALLOC(99, ACU_I32, 8), 101, "");
    FAILS(ALLOC(0, ACU_I32, (size_t)1 << 40), ACU_OUT_OF_MEMORY, "cudaGraphAddMemAllocNode");
    FAILS(acu_graph_add_alloc(graph, NULL, 0, 0, ACU_I32, 8, NULL, NULL), ACU_ERROR_ARGUMENT,
          "'buffer' is NULL");
    assert_null(z);
    FAILS(acu_graph_add_free(graph, NULL, 0, x, NULL), ACU_ERROR_MEMORY_KIND,
          "no graph has allocated");
    FAILS(acu_graph_add_free(graph, NULL, 0, NULL, NULL), ACU_ERROR_ARGUMENT, "the buffer is NULL");
    FAILS(acu_graph_memory_get(0, ACU_GRAPH_MEMORY_USED, NULL), ACU_ERROR_ARGUMENT,
          "'bytes' is NULL");
    FAILS(acu_graph_memory_get(99, ACU_GRAPH_MEMORY_USED, &bytes), 101, "");
    FAILS(acu_graph_memory_reset(0, ACU_GRAPH_MEMORY_USED), 1, "");
    FAILS(acu_graph_memory_trim(99), 101, "");
}

static void takes_raw_parameters(void **state) {
    (void)state;
    const int32_t numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    acu_node node;
    size_t count = 0;
    struct cudaGraphNodeParams fill = {
        .type = cudaGraphNodeTypeMemset,
        .memset = {
            .dst = acu_buffer_raw(x), .value = 9, .elementSize = 4, .width = 8, .height = 1}};
    struct cudaMemcpy3DParms copy = {.srcPtr = {acu_buffer_raw(x), 16, 4, 2},
                                     .dstPtr = {acu_buffer_raw(y), 16, 4, 2},
                                     .extent = {16, 2, 1},
                                     .kind = cudaMemcpyDeviceToDevice};
    OK(acu_buffer_write(y, numbers, 8));
    OK_SINCE(12020, acu_graph_add_raw(graph, NULL, 0, NULL, &fill, &node));
    if (runtime_version() < 12020)
        return;
    OK(acu_graph_add_memcpy(graph, &node, 1, &copy, NULL));
    OK(acu_graph_keep(graph, x, true));
    OK(acu_graph_keep(graph, y, true));
    OK(acu_node_dependents(node, NULL, NULL, &count));
    assert_int_equal(count, 1);
    launch();
    expect(y, (int32_t[]){9, 9, 9, 9, 9, 9, 9, 9});
    FAILS(acu_graph_add_raw(graph, NULL, 0, NULL, NULL, NULL), ACU_ERROR_ARGUMENT,
          "'params' is NULL");
    FAILS(acu_graph_add_memcpy(graph, NULL, 0, NULL, NULL), ACU_ERROR_ARGUMENT, "'params' is NULL");
    FAILS(acu_graph_add_semaphore_wait(graph, NULL, 0, NULL, NULL), ACU_ERROR_ARGUMENT,
          "'params' is NULL");
    FAILS(acu_graph_add_semaphore_signal(graph, NULL, 0, NULL, NULL), ACU_ERROR_ARGUMENT,
          "'params' is NULL");
}

static void edges_have_data(void **state) {
    (void)state;
    acu_node a, b;
    acu_edge edge = {.type = 9}, got;
    size_t count = 1;
    struct cudaGraphNodeParams empty = {.type = cudaGraphNodeTypeEmpty};
    if (runtime_version() < 12030) /* that has none */
        return;
    OK(acu_graph_add_empty(graph, NULL, 0, &a));
    FAILS(acu_graph_add_raw(graph, &a, 1, &edge, &empty, &b), 1, "cudaGraphAddNode");
    edge.type = 0;
    OK(acu_graph_add_raw(graph, &a, 1, &edge, &empty, &b));
    OK(acu_graph_edges(graph, NULL, NULL, &got, &count));
    assert_int_equal(count, 1);
    assert_int_equal(got.type, 0);
    OK(acu_graph_remove_dependencies(graph, &a, &b, &edge, 1));
    count = 0;
    OK(acu_graph_edges(graph, NULL, NULL, NULL, &count));
    assert_int_equal(count, 0);
}

#undef TEST
#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_write_keeps_what_it_writes),
        TEST(copies_parts_and_checks_them),
        TEST(fills_rows),
        TEST(refuses_fills_that_do_not_fit),
        TEST(calls_the_host_in_order),
        TEST(runs_kernels),
        TEST(records_and_waits),
        TEST(memory_of_a_graph_is_a_buffer),
        TEST(memory_outlives_its_launch),
        TEST(memory_is_checked),
        TEST(takes_raw_parameters),
        TEST(edges_have_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
