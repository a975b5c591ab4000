/* Each type of node: what it does in a launch, and which parameters are refused. */
#include "graph_test.h"

#include <anycuda/cudart.h>

static int setup(void **state) {
    return begin_graph(state, ACU_I32);
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
    OK(acu_graph_add_copy(graph, &write, 1, &(acu_copy){.to = y, .from = x, .count = ACU_REST},
                          &copy));
    launch();
    expect(y, (int32_t[]){1, 2, 3, 4, 5, 6, 7, 8});
    acu_node_type type;
    OK(acu_node_get_type(copy, &type));
    assert_int_equal(type, ACU_NODE_COPY);
    float wrong = 1;
    FAILS(acu_graph_add_write(graph, NULL, 0, x, 0, ACU_F32, &wrong, 1, NULL), ACU_ERROR_DTYPE, "");
    FAILS(acu_graph_add_write(graph, NULL, 0, x, 8, ACU_I32, numbers, 1, NULL), ACU_ERROR_RANGE,
          "1 elements from element 8 on are outside of the buffer, which has 8");
    FAILS(acu_graph_add_write(graph, NULL, 0, x, 0, ACU_I32, numbers, 0, NULL), ACU_ERROR_RANGE,
          "nothing to write");
    FAILS(acu_graph_add_write(graph, NULL, 0, x, 0, ACU_I32, NULL, 1, NULL), ACU_ERROR_ARGUMENT,
          "'host' is NULL");
    FAILS(acu_graph_add_write(graph, NULL, 0, NULL, 0, ACU_I32, numbers, 1, NULL),
          ACU_ERROR_ARGUMENT, "the buffer is NULL");
}

static void copies_between_devices_need_access(void **state) {
    (void)state;
    NEEDS_TWO_DEVICES();
    bool can = false;
    int32_t numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    acu_node node;
    acu_stream *far = stream_on(1);
    acu_buffer *z = NULL;
    acu_pool *pool = NULL;
    OK(acu_pool_create(0, NULL, &pool));
    OK(acu_buffer_create_with(stream, ACU_I32, 8, &(acu_buffer_options){.pool = pool}, &z));
    OK(acu_buffer_write(z, numbers, 8));
    acu_buffer *there = NULL;
    OK(acu_buffer_create(far, ACU_I32, 8, &there));
    acu_result refused = acu_graph_add_copy(
        graph, NULL, 0, &(acu_copy){.to = there, .from = z, .count = ACU_REST}, &node);
    if (is_simulated())
        assert_int_equal(refused, 1);
    if (refused)
        assert_non_null(strstr(acu_last_error_details().hint, "acu_pool_set_access()"));
    OK(acu_device_can_access_peer(1, 0, &can));
    if (can) {
        OK(acu_pool_set_access(pool, 1, ACU_ACCESS_READ_WRITE));
        OK(acu_graph_add_copy(graph, NULL, 0,
                              &(acu_copy){.to = there, .from = z, .count = ACU_REST}, &node));
        launch();
        expect(there, numbers);
    }
    OK(acu_pool_release(pool));
    OK(acu_buffer_release(z));
    OK(acu_buffer_release(there));
    OK(acu_stream_release(far));
}

/* The device of the stream that pinned memory was made with has no access to the pool. */
static void copies_to_memory_of_the_host_need_no_access(void **state) {
    (void)state;
    NEEDS_TWO_DEVICES();
    const int32_t numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const acu_buffer_options on_host = {.memory = ACU_MEMORY_PINNED};
    acu_stream *far = stream_on(1);
    acu_buffer *host = NULL;
    acu_node there, back;
    OK(acu_buffer_create_with(far, ACU_I32, 8, &on_host, &host));
    OK(acu_buffer_write(x, numbers, 8));
    OK(acu_buffer_zero(y, NULL));
    OK(acu_graph_add_copy(graph, NULL, 0, &(acu_copy){.to = host, .from = x, .count = ACU_REST},
                          &there));
    OK(acu_graph_add_copy(graph, &there, 1, &(acu_copy){.to = y, .from = host, .count = ACU_REST},
                          &back));
    launch();
    expect(y, numbers);
    OK(acu_buffer_release(host));
    OK(acu_stream_release(far));
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
    OK(acu_graph_add_copy(graph, NULL, 0,
                          &(acu_copy){host, x, .to_at = 2, .from_at = 4, .count = ACU_REST}, NULL));
    launch();
    OK(acu_buffer_get_host(host, &at));
    assert_memory_equal((int32_t *)at + 2, numbers + 4, 4 * sizeof(int32_t));
    FAILS(acu_graph_add_copy(graph, NULL, 0, NULL, NULL), ACU_ERROR_ARGUMENT, "'copy' is NULL");
    FAILS(acu_graph_add_copy(graph, NULL, 0,
                             &(acu_copy){.to = x, .from = floats, .count = ACU_REST}, NULL),
          ACU_ERROR_DTYPE, "");
    FAILS(acu_graph_add_copy(graph, NULL, 0, &(acu_copy){.to = x, .from = NULL, .count = ACU_REST},
                             NULL),
          ACU_ERROR_ARGUMENT, "");
    FAILS(acu_graph_add_copy(graph, NULL, 0, &(acu_copy){y, x, .count = 9}, NULL), ACU_ERROR_RANGE,
          "9 elements");
    FAILS(acu_graph_add_copy(graph, NULL, 0, &(acu_copy){y, x, .from_at = 8, .count = ACU_REST},
                             NULL),
          ACU_ERROR_RANGE, "no elements from element 8 on");
    FAILS(acu_graph_add_copy(graph, NULL, 0, &(acu_copy){x, x, .to_at = 1, .count = 2}, NULL),
          ACU_ERROR_RANGE, "overlap");
    FAILS(acu_graph_add_copy(graph, NULL, 0, &(acu_copy){y, x, .count = SIZE_MAX - 1}, NULL),
          ACU_ERROR_RANGE, "");
    FAILS(acu_graph_add_copy(graph, NULL, 0, &(acu_copy){y, x, .count = 0}, NULL), ACU_ERROR_RANGE,
          "'copy->count' is 0");
    assert_non_null(strstr(acu_last_error_details().hint, "ACU_REST"));
    OK(acu_buffer_release(host));
    OK(acu_buffer_release(floats));
}

static void fills_rows(void **state) {
    (void)state;
    const int32_t seven = 7, big = 0x01020304, equal = 0x05050505;
    acu_node all, row;
    acu_fill rows = {x, ACU_I32, &big, .at = 1, .width = 2, .height = 2, .pitch = 4};
    OK(acu_graph_add_fill(graph, NULL, 0, &(acu_fill){x, ACU_I32, &seven, .width = ACU_REST},
                          &all));
    OK(acu_graph_add_fill(graph, &all, 1, &rows, &row));
    OK(acu_graph_add_fill(graph, &row, 1,
                          &(acu_fill){x, ACU_I32, &equal, .at = 7, .width = ACU_REST}, NULL));
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
    FAILS(FILL(x, ACU_I32, NULL, .width = ACU_REST), ACU_ERROR_ARGUMENT, "'fill->element' is NULL");
    FAILS(FILL(NULL, ACU_I32, &one, .width = ACU_REST), ACU_ERROR_ARGUMENT, "the buffer is NULL");
    FAILS(FILL(x, ACU_F32, &one, .width = ACU_REST), ACU_ERROR_DTYPE, "");
    FAILS(FILL(doubles, ACU_F64, &two, .width = ACU_REST), ACU_ERROR_DTYPE, "elements of 8 bytes");
    FAILS(FILL(x, ACU_I32, &one, .at = 9, .width = ACU_REST), ACU_ERROR_RANGE, "");
    FAILS(FILL(x, ACU_I32, &one, .at = 8, .width = ACU_REST), ACU_ERROR_RANGE,
          "no elements from element 8 on");
    FAILS(FILL(x, ACU_I32, &one, .at = 0), ACU_ERROR_RANGE, "'fill->width' is 0");
    assert_non_null(strstr(acu_last_error_details().hint, "ACU_REST"));
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
    acu_node_type type;
    const acu_grid grid = acu_grid_1d(8, 32);
    const acu_arg args[] = {acu_inout(numbers), acu_arg_of(5.0f), acu_arg_of(8)};
    OK(acu_graph_add_kernel(graph, NULL, 0, kernel, &grid, args, 3, &first));
    OK(acu_graph_add_kernel(graph, &first, 1, kernel, &grid, args, 3, &second));
    OK(acu_node_get_type(second, &type));
    assert_int_equal(type, ACU_NODE_KERNEL);
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
    acu_node_type type;
    blocker at;
    OK(acu_event_create(0, NULL, &event));
    OK(acu_graph_add_event_wait(graph, NULL, 0, event, &wait));
    OK(acu_graph_add_event_record(graph, &wait, 1, event, &record));
    OK(acu_node_get_type(wait, &type));
    assert_int_equal(type, ACU_NODE_EVENT_WAIT);
    block_stream(&at, stream);
    OK(acu_event_record(event, stream));
    unblock_stream(&at);
    launch();
    OK(acu_event_query(event));
    FAILS(acu_graph_add_event_wait(graph, NULL, 0, NULL, NULL), ACU_ERROR_ARGUMENT,
          "the event is NULL");
    FAILS(acu_graph_add_event_record(graph, NULL, 0, NULL, NULL), ACU_ERROR_ARGUMENT,
          "the event is NULL");
    OK(acu_event_release(event)); /* the graph has it still */
    launch();
}

/* ---- memory ---- */

static void memory_of_a_graph_is_a_buffer(void **state) {
    (void)state;
    const int32_t numbers[8] = {8, 7, 6, 5, 4, 3, 2, 1};
    acu_buffer *z = NULL;
    acu_node alloc, write, copy, release;
    acu_node_type type;
    uint64_t used = 0;
    OK(acu_graph_add_alloc(graph, NULL, 0, 0, ACU_I32, 8, &z, &alloc));
    assert_non_null(acu_buffer_raw(z));
    assert_int_equal(acu_buffer_memory(z), ACU_MEMORY_GRAPH);
    assert_int_equal(acu_buffer_device(z), 0);
    OK(acu_graph_add_write(graph, &alloc, 1, z, 0, ACU_I32, numbers, 8, &write));
    OK(acu_graph_add_copy(graph, &write, 1, &(acu_copy){.to = y, .from = z, .count = ACU_REST},
                          &copy));
    OK(acu_graph_add_free(graph, &copy, 1, z, &release));
    OK(acu_node_get_type(release, &type));
    assert_int_equal(type, ACU_NODE_FREE);
    launch();
    launch();
    expect(y, numbers);
    OK(acu_graph_memory_get_attribute(0, ACU_GRAPH_MEMORY_USED_HIGH, &used));
    assert_true(used >= sizeof numbers);
    OK(acu_graph_memory_get_attribute(0, ACU_GRAPH_MEMORY_RESERVED, &used));
    assert_true(used >= sizeof numbers);
    OK(acu_graph_memory_reset(0, ACU_GRAPH_MEMORY_USED_HIGH));
    OK(acu_graph_memory_trim(0));
    OK(acu_buffer_release(z));
}

static void memory_outlives_its_launch(void **state) {
    (void)state;
    const int32_t numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    acu_buffer *z = NULL;
    acu_exec *exec = NULL;
    acu_node alloc;
    OK(acu_graph_add_alloc(graph, NULL, 0, 0, ACU_I32, 8, &z, &alloc));
    OK(acu_graph_add_write(graph, &alloc, 1, z, 0, ACU_I32, numbers, 8, NULL));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_exec_launch(exec, stream));
    OK(acu_buffer_copy(x, z, other)); /* waits for the launch, as for any use */
    expect(x, numbers);
    OK(acu_graph_memory_free(z, other));
    OK(acu_stream_synchronize(other));
    if (is_simulated()) /* which alone says more than the code */
        FAILS(acu_graph_memory_free(z, other), cudaErrorInvalidValue, "the 32 bytes at 0x");
    FAILS(acu_graph_memory_free(x, other), ACU_ERROR_MEMORY_KIND, "not allocated by a graph");
    FAILS(acu_graph_memory_free(z, NULL), ACU_ERROR_ARGUMENT, "the stream is NULL");
    FAILS(acu_buffer_read(z, &(int32_t){0}, 1), ACU_ERROR_ARGUMENT, "belongs to no stream");
    OK(acu_buffer_release(z));
    OK(acu_exec_release(exec));
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
    FAILS(ALLOC(0, ACU_I32, (size_t)1 << 40u), ACU_OUT_OF_MEMORY, "cudaGraphAddMemAllocNode");
    FAILS(acu_graph_add_alloc(graph, NULL, 0, 0, ACU_I32, 8, NULL, NULL), ACU_ERROR_ARGUMENT,
          "'buffer' is NULL");
    assert_null(z);
    FAILS(acu_graph_add_free(graph, NULL, 0, x, NULL), ACU_ERROR_MEMORY_KIND,
          "not allocated by a graph");
    FAILS(acu_graph_add_free(graph, NULL, 0, NULL, NULL), ACU_ERROR_ARGUMENT, "the buffer is NULL");
    FAILS(acu_graph_memory_get_attribute(0, ACU_GRAPH_MEMORY_USED, NULL), ACU_ERROR_ARGUMENT,
          "'bytes' is NULL");
    FAILS(acu_graph_memory_get_attribute(99, ACU_GRAPH_MEMORY_USED, &bytes), 101, "");
    FAILS(acu_graph_memory_reset(0, ACU_GRAPH_MEMORY_USED), 1, "");
    FAILS(acu_graph_memory_trim(99), 101, "");
}

/* ---- conditions ---- */

/* x[1] counts; x[0] counts down, and is what decides. */
static const char count_ptx[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);\n"
    ".visible .entry count(.param .u64 x, .param .u64 handle)\n"
    "{\n"
    "    .reg .b32 %left, %done; .reg .b64 %x, %handle;\n"
    "    .param .b64 to; .param .b32 value;\n"
    "    ld.param.u64 %x, [x];\n"
    "    ld.param.u64 %handle, [handle];\n"
    "    ld.u32 %left, [%x];\n"
    "    ld.u32 %done, [%x+4];\n"
    "    sub.u32 %left, %left, 1;\n"
    "    add.u32 %done, %done, 1;\n"
    "    st.u32 [%x], %left;\n"
    "    st.u32 [%x+4], %done;\n"
    "    st.param.b64 [to], %handle;\n"
    "    st.param.b32 [value], %left;\n"
    "    call.uni cudaGraphSetConditional, (to, value);\n"
    "    ret;\n"
    "}\n";

static void count(const acu_sim_launch *here, void *const *args) {
    uint32_t *at = acu_sim_at(here, *(void *const *)args[0], 2 * sizeof *at);
    at[0]--;
    at[1]++;
    acu_sim_set_conditional(here, *(const unsigned long long *)args[1], at[0]);
}

static void a_kernel_ends_the_loop(void **state) {
    (void)state;
    acu_module *module = NULL;
    acu_kernel *kernel = NULL;
    acu_conditional more;
    acu_graph *body = NULL;
    acu_node loop, kernel_node;
    acu_node_type type;
    const acu_grid grid = acu_grid_1d(1, 1);
    OK_SINCE(12030, acu_conditional_create(graph, 1, ACU_CONDITIONAL_ASSIGN_DEFAULT, &more));
    if (runtime_version() < 12030)
        return;
    stand_in("count", count);
    OK(acu_module_load(0, &(acu_module_source){.ptx = count_ptx}, &module));
    OK(acu_module_get_kernel(module, "count", &kernel));
    OK(acu_module_release(module));
    OK(acu_graph_add_conditional(graph, NULL, 0, more, ACU_CONDITIONAL_WHILE, &body, 1, &loop));
    OK(acu_node_get_type(loop, &type));
    assert_int_equal(type, ACU_NODE_CONDITIONAL);
    OK(acu_graph_add_kernel(body, NULL, 0, kernel, &grid,
                            (acu_arg[]){acu_inout(x), acu_arg_of(more.raw)}, 2, &kernel_node));
    FAILS(acu_graph_add_empty(graph, &kernel_node, 1, NULL), ACU_ERROR_ARGUMENT, "another graph");
    OK(acu_kernel_release(kernel));
    for (int32_t round = 3; round < 5; round++) {
        OK(acu_buffer_write(x, ((int32_t[]){round, 0, 0, 0, 0, 0, 0, 0}), 8));
        launch();
        expect(x, (int32_t[]){0, round, 0, 0, 0, 0, 0, 0});
    }
}

static void add_choice(acu_conditional_type type, unsigned value, acu_graph **bodies,
                       unsigned count_of_bodies) {
    acu_conditional chosen;
    OK(acu_conditional_create(graph, value, ACU_CONDITIONAL_ASSIGN_DEFAULT, &chosen));
    OK(acu_graph_add_conditional(graph, NULL, 0, chosen, type, bodies, count_of_bodies, NULL));
    for (unsigned i = 0; i < count_of_bodies; i++) {
        const int32_t element = (int32_t)(0x01010101 * (i + 1));
        OK(acu_graph_add_fill(bodies[i], NULL, 0,
                              &(acu_fill){x, ACU_I32, &element, .at = 2 * (size_t)type, .width = 2},
                              NULL));
    }
}

/* A driver that knows them does them for an older runtime, too. */
static bool knows_switches(void) {
    return runtime_version() >= 12030 && driver_version() >= 12080;
}

static void bodies_are_chosen(void **state) {
    (void)state;
    acu_graph *bodies[3];
    const int32_t one = 0x01010101, two = 2 * one, three = 3 * one;
    if (!knows_switches())
        return;
    OK(acu_buffer_zero(x, NULL));
    add_choice(ACU_CONDITIONAL_IF, 0, bodies, 2);
    add_choice(ACU_CONDITIONAL_SWITCH, 2, bodies, 3);
    launch();
    expect(x, (int32_t[]){two, two, 0, 0, three, three, 0, 0});
    OK(acu_graph_release(graph)); /* and the bodies with it */
    OK(acu_graph_create(&graph));
    add_choice(ACU_CONDITIONAL_IF, 5, bodies, 1);
    launch();
    expect(x, (int32_t[]){one, one, 0, 0, three, three, 0, 0});
}

static void conditions_are_checked(void **state) {
    (void)state;
    acu_graph *bodies[2], *stranger = NULL;
    acu_conditional mine, theirs;
    FAILS(acu_conditional_create(NULL, 0, 0, &mine), ACU_ERROR_ARGUMENT, "the graph is NULL");
    FAILS(acu_conditional_create(graph, 0, 0, NULL), ACU_ERROR_ARGUMENT, "'conditional' is NULL");
    if (runtime_version() < 12030)
        return;
    OK(acu_graph_create(&stranger));
    OK(acu_conditional_create(graph, 0, 0, &mine));
    OK(acu_conditional_create(stranger, 0, 0, &theirs));
#define ADD(conditional, kind, bodies, count)                                                      \
    acu_graph_add_conditional(graph, NULL, 0, (conditional), (kind), (bodies), (count), NULL)
    FAILS(ADD(theirs, ACU_CONDITIONAL_IF, bodies, 1), ACU_ERROR_ARGUMENT, "made for another graph");
    FAILS(ADD((acu_conditional){0}, ACU_CONDITIONAL_IF, bodies, 1), ACU_ERROR_ARGUMENT, "is NULL");
    FAILS(ADD(mine, ACU_CONDITIONAL_IF, NULL, 1), ACU_ERROR_ARGUMENT, "'bodies' is NULL");
    FAILS(ADD(mine, (acu_conditional_type)9, bodies, 1), ACU_ERROR_ARGUMENT, "of type 9");
    FAILS(ADD(mine, ACU_CONDITIONAL_IF, bodies, 0), ACU_ERROR_ARGUMENT, "0 bodies");
    FAILS(ADD(mine, ACU_CONDITIONAL_IF, bodies, 3), ACU_ERROR_ARGUMENT, "3 bodies");
    FAILS(ADD(mine, ACU_CONDITIONAL_WHILE, bodies, 2), ACU_ERROR_ARGUMENT, "2 bodies");
    if (!knows_switches()) {
        FAILS(ADD(mine, ACU_CONDITIONAL_SWITCH, bodies, 2), 801, "needs CUDA 12.8");
        assert_null(bodies[0]);
    }
    OK(acu_graph_release(stranger));
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
    OK_SINCE(12020, acu_graph_add_node(graph, NULL, 0, NULL, &fill, &node));
    if (runtime_version() < 12020)
        return;
    OK(acu_graph_add_memcpy(graph, &node, 1, &copy, NULL));
    OK(acu_graph_keep(graph, x, true));
    OK(acu_graph_keep(graph, y, true));
    OK(acu_node_get_dependent_nodes(node, NULL, NULL, &count));
    assert_int_equal(count, 1);
    launch();
    expect(y, (int32_t[]){9, 9, 9, 9, 9, 9, 9, 9});
    FAILS(acu_graph_add_node(graph, NULL, 0, NULL, NULL, NULL), ACU_ERROR_ARGUMENT,
          "'params' is NULL");
    FAILS(acu_graph_add_memcpy(graph, NULL, 0, NULL, NULL), ACU_ERROR_ARGUMENT, "'params' is NULL");
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
    FAILS(acu_graph_add_node(graph, &a, 1, &edge, &empty, &b), 1, "cudaGraphAddNode");
    edge.type = 0;
    OK(acu_graph_add_node(graph, &a, 1, &edge, &empty, &b));
    OK(acu_graph_get_edges(graph, NULL, NULL, &got, &count));
    assert_int_equal(count, 1);
    assert_int_equal(got.type, 0);
    OK(acu_graph_remove_dependencies(graph, &a, &b, &edge, 1));
    count = 0;
    OK(acu_graph_get_edges(graph, NULL, NULL, NULL, &count));
    assert_int_equal(count, 0);
}

#undef TEST
#define TEST(function) SAFE_TEST(function, setup, end_graph)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_write_keeps_what_it_writes),
        TEST(copies_parts_and_checks_them),
        TEST(copies_between_devices_need_access),
        TEST(copies_to_memory_of_the_host_need_no_access),
        TEST(fills_rows),
        TEST(refuses_fills_that_do_not_fit),
        TEST(calls_the_host_in_order),
        TEST(runs_kernels),
        TEST(records_and_waits),
        TEST(memory_of_a_graph_is_a_buffer),
        TEST(memory_outlives_its_launch),
        TEST(memory_is_checked),
        TEST(a_kernel_ends_the_loop),
        TEST(bodies_are_chosen),
        TEST(conditions_are_checked),
        TEST(takes_raw_parameters),
        TEST(edges_have_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
