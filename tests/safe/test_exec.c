/* Executable graphs: launches, updates, changes, and what they keep until when. */
#include "graph_test.h"

#include <anycuda/cudart.h>

static int setup(void **state) {
    return begin_graph(state, ACU_I32);
}

static void lives_and_dies_once(void **state) {
    (void)state;
    acu_exec *exec = NULL, *borrowed = NULL;
    uint64_t flags = 0;
    unsigned id = 0;
    acu_quarantine(100);
    OK(acu_graph_add_empty(graph, NULL, 0, NULL));
    OK(acu_graph_instantiate(graph, &(acu_exec_options){.flags = ACU_EXEC_AUTO_FREE}, &exec));
    OK_SINCE(12000, acu_exec_get_flags(exec, &flags));
    assert_int_equal(flags, runtime_version() >= 12000 ? ACU_EXEC_AUTO_FREE : 0);
    OK_SINCE_IN_DRIVER(13010, acu_exec_get_id(exec, &id));
    OK(acu_exec_wrap(acu_exec_raw(exec), &borrowed));
    OK(acu_exec_launch(borrowed, stream));
    OK(acu_stream_synchronize(stream));
    OK(acu_exec_release(borrowed));
    OK(acu_exec_upload(exec, stream));
    OK(acu_exec_launch(exec, stream));
    OK(acu_stream_synchronize(stream));
    assert_ptr_equal(acu_exec_retain(exec), exec);
    OK(acu_exec_release(exec));
    OK(acu_exec_release(exec));
    FAILS(acu_exec_release(exec), ACU_ERROR_HANDLE, "released already");
    FAILS(acu_exec_launch(exec, stream), ACU_ERROR_HANDLE, "released already");
    acu_quarantine(0);
}

static void needs_its_arguments(void **state) {
    (void)state;
    acu_exec *exec = NULL;
    acu_exec_update_info update;
    uint64_t flags;
    unsigned id;
    bool enabled;
    FAILS(acu_graph_instantiate(NULL, NULL, &exec), ACU_ERROR_ARGUMENT, "the graph is NULL");
    FAILS(acu_graph_instantiate(graph, NULL, NULL), ACU_ERROR_ARGUMENT, "'exec' is NULL");
    FAILS(acu_exec_wrap(NULL, &exec), ACU_ERROR_ARGUMENT, "'raw' is NULL");
    FAILS(acu_exec_adopt(NULL, &exec), ACU_ERROR_ARGUMENT, "'raw' is NULL");
    FAILS(acu_exec_launch(NULL, stream), ACU_ERROR_ARGUMENT, "the executable graph is NULL");
    OK(acu_graph_instantiate(graph, NULL, &exec));
    FAILS(acu_exec_launch(exec, NULL), ACU_ERROR_ARGUMENT, "the stream is NULL");
    FAILS(acu_exec_upload(exec, NULL), ACU_ERROR_ARGUMENT, "the stream is NULL");
    FAILS(acu_exec_get_flags(exec, NULL), ACU_ERROR_ARGUMENT, "'flags' is NULL");
    FAILS(acu_exec_get_flags(NULL, &flags), ACU_ERROR_ARGUMENT, "is NULL");
    FAILS(acu_exec_get_id(exec, NULL), ACU_ERROR_ARGUMENT, "'id' is NULL");
    FAILS(acu_exec_get_id(NULL, &id), ACU_ERROR_ARGUMENT, "is NULL");
    FAILS(acu_exec_update(exec, NULL, &update), ACU_ERROR_ARGUMENT, "the graph is NULL");
    FAILS(acu_exec_update(NULL, graph, NULL), ACU_ERROR_ARGUMENT, "is NULL");
    FAILS(acu_exec_is_enabled(exec, (acu_node){0}, &enabled), ACU_ERROR_ARGUMENT,
          "the node is invalid");
    FAILS(acu_exec_set_params(exec, (acu_node){0}, NULL), ACU_ERROR_ARGUMENT, "'params' is NULL");
    assert_null(acu_exec_raw(NULL));
    OK(acu_exec_release(exec));
}

static void a_cycle_is_told(void **state) {
    (void)state;
    acu_node a, b;
    acu_exec *exec = NULL;
    OK(acu_graph_add_empty(graph, NULL, 0, &a));
    OK(acu_graph_add_empty(graph, &a, 1, &b));
    OK(acu_graph_add_dependencies(graph, &b, &a, NULL, 1));
    const char *why = runtime_version() >= 12000 ? "the structure is invalid" : "";
    FAILS(acu_graph_instantiate(graph, NULL, &exec), 1, why);
    if (*why)
        assert_non_null(strstr(acu_last_error_message(), "empty node "));
    assert_null(exec);
}

/* ---- order and lifetime ---- */

static void add_fill(acu_graph *to, acu_buffer *buffer, int32_t value, acu_node *node) {
    OK(acu_graph_add_fill(to, NULL, 0, &(acu_fill){buffer, ACU_I32, &value, .width = ACU_REST},
                          node));
}

static void launches_are_uses(void **state) {
    (void)state;
    acu_exec *exec = NULL;
    int32_t back[8];
    const int32_t three = 3;
    blocker at;
    add_fill(graph, x, 5, NULL);
    OK(acu_graph_instantiate(graph, NULL, &exec));
    block_stream(&at, stream);
    OK(acu_buffer_fill(x, &three)); /* on `stream`, behind the blocker */
    OK(acu_exec_launch(exec, other));
    still_waits(other);
    OK(acu_buffer_copy(y, x, stream)); /* comes after the launch */
    unblock_stream(&at);
    OK(acu_buffer_read(y, back, 8));
    assert_int_equal(back[0], 5);
    OK(acu_exec_release(exec));
}

/* The third launch on a stream that alone uses the memory looks at none of it. */
static void launch_thrice(acu_exec *exec) {
    for (int i = 0; i < 3; i++)
        OK(acu_exec_launch(exec, stream));
}

static acu_exec *new_fill_exec(acu_node *fill) {
    acu_exec *exec = NULL;
    add_fill(graph, x, 5, fill);
    OK(acu_graph_instantiate(graph, NULL, &exec));
    return exec;
}

static void repeated_launches_are_uses(void **state) {
    (void)state;
    acu_buffer *z = NULL;
    acu_node fill;
    int32_t back[8];
    blocker at;
    acu_exec *exec = new_fill_exec(&fill);
    OK(acu_buffer_create(stream, ACU_I32, 8, &z));
    OK(acu_buffer_zero(z, NULL));
    for (int round = 0; round < 2; round++) {
        launch_thrice(exec);
        OK(acu_stream_synchronize(stream));
        block_stream(&at, other);
        OK(acu_buffer_copy(x, z, other));
        OK(acu_exec_launch(exec, stream)); /* comes after the copy, */
        still_waits(stream);
        unblock_stream(&at);
        launch_thrice(exec);
        OK(acu_stream_synchronize(stream));
        block_stream(&at, stream);
        OK(acu_exec_launch(exec, stream));
        OK(acu_buffer_copy(y, x, other)); /* and this one after the launch */
        still_waits(other);
        unblock_stream(&at);
        OK(acu_buffer_read(y, back, 8));
        assert_int_equal(back[0], 5);
    }
    launch_thrice(exec);
    OK(acu_stream_synchronize(stream));
    const acu_fill another = {z, ACU_I32, &(int32_t){7}, .width = ACU_REST};
    OK(acu_exec_set_fill(exec, fill, &another));
    block_stream(&at, other);
    OK(acu_buffer_copy(y, z, other));
    OK(acu_exec_launch(exec, stream)); /* writes what is being read */
    still_waits(stream);
    unblock_stream(&at);
    OK(acu_buffer_read(y, back, 8));
    assert_int_equal(back[0], 0);
    OK(acu_exec_release(exec));
    OK(acu_buffer_release(z));
}

static cudaError_t (*launch_now)(cudaGraphExec_t, cudaStream_t);
static blocker before_launch;
static acu_buffer *aside; /* of the stream alone */

static bool goes_on;

/* Another stream begins to use the memory: its copy waits for all there is until now. */
static cudaError_t launch_late(cudaGraphExec_t exec, cudaStream_t raw) {
    OK(acu_buffer_copy(y, x, other));
    block_stream(&before_launch, stream);
    if (goes_on) /* with other work, which is not marked */
        OK(acu_buffer_zero(aside, NULL));
    return launch_now(exec, raw);
}

static void memory_leaves_within_a_launch(void **state) {
    (void)state;
    acu_stream *third = NULL;
    acu_exec *exec = new_fill_exec(NULL);
    OK(acu_stream_create(0, NULL, &third));
    OK(acu_buffer_create(stream, ACU_I32, 8, &aside));
    for (int round = 0; round < 2; round++) {
        goes_on = round;
        launch_thrice(exec);
        launch_now = acu_slot_cudaGraphLaunch;
        acu_slot_cudaGraphLaunch = launch_late;
        OK(acu_exec_launch(exec, stream));
        acu_slot_cudaGraphLaunch = launch_now;
        OK(acu_buffer_copy(y, x, third));
        still_waits(third); /* behind what was not marked, too */
        unblock_stream(&before_launch);
        OK(acu_stream_synchronize(third));
    }
    goes_on = false;
    OK(acu_exec_release(exec));
    OK(acu_buffer_release(aside));
    OK(acu_stream_release(third));
}

/* Where the stream was marked before, the launch comes after the mark. */
static void a_launch_behind_a_mark_is_waited_for(void **state) {
    (void)state;
    blocker at;
    acu_exec *exec = new_fill_exec(NULL);
    launch_thrice(exec);
    OK(acu_stream_wait_stream(other, stream));
    OK(acu_stream_synchronize(stream));
    block_stream(&at, stream);
    OK(acu_exec_launch(exec, stream));
    OK(acu_buffer_copy(y, x, other));
    still_waits(other);
    unblock_stream(&at);
    OK(acu_stream_synchronize(other));
    OK(acu_exec_release(exec));
}

/* The counts of shared buffers of both timelines are equal: 0. */
static void another_stream_waits_for_what_came_after_a_launch(void **state) {
    (void)state;
    blocker at;
    acu_exec *exec = new_fill_exec(NULL);
    launch_thrice(exec);
    OK(acu_stream_synchronize(stream));
    block_stream(&at, stream);
    OK(acu_buffer_zero(x, NULL));
    OK(acu_exec_launch(exec, other));
    still_waits(other);
    unblock_stream(&at);
    OK(acu_stream_synchronize(other));
    OK(acu_exec_release(exec));
}

/* Within the first launch, which looks at all of it: the next one does so, too. */
static void memory_leaves_within_the_first_launch(void **state) {
    (void)state;
    acu_exec *exec = NULL;
    acu_buffer *z = NULL;
    blocker at;
    OK(acu_buffer_create(other, ACU_I32, 8, &z));
    OK(acu_buffer_zero(z, NULL));
    add_fill(graph, x, 5, NULL);
    OK(acu_graph_instantiate(graph, NULL, &exec));
    launch_now = acu_slot_cudaGraphLaunch;
    acu_slot_cudaGraphLaunch = launch_late;
    acu_result result = acu_exec_launch(exec, stream);
    acu_slot_cudaGraphLaunch = launch_now;
    unblock_stream(&before_launch);
    OK(result);
    block_stream(&at, other);
    OK(acu_buffer_copy(x, z, other)); /* no memory of the stream's own leaves it */
    OK(acu_exec_launch(exec, stream));
    still_waits(stream);
    unblock_stream(&at);
    OK(acu_stream_synchronize(stream));
    OK(acu_exec_release(exec));
    OK(acu_buffer_release(z));
}

/* Memory that is read on two streams belongs to neither alone, however often one of them launches
 * the graph. */
static void memory_that_others_read_is_looked_at(void **state) {
    (void)state;
    acu_exec *exec = NULL;
    acu_buffer *z = NULL;
    int32_t back[8];
    blocker at;
    OK(acu_buffer_create(other, ACU_I32, 8, &z));
    OK(acu_graph_add_copy(graph, NULL, 0, &(acu_copy){.to = y, .from = x, .count = ACU_REST},
                          NULL));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_buffer_zero(x, NULL));
    OK(acu_buffer_copy(z, x, other));
    launch_thrice(exec);
    OK(acu_stream_synchronize(stream));
    OK(acu_buffer_fill_typed(z, ACU_I32, &(int32_t){0x03030303}, other));
    block_stream(&at, other);
    OK(acu_buffer_copy(x, z, other));
    OK(acu_exec_launch(exec, stream));
    still_waits(stream);
    unblock_stream(&at);
    OK(acu_buffer_read(y, back, 8));
    assert_int_equal(back[0], 0x03030303);
    OK(acu_exec_release(exec));
    OK(acu_buffer_release(z));
}

/* The default stream's raw handle means another stream while another device is current. */
static void launches_on_the_default_stream_of_a_device(void **state) {
    (void)state;
    NEEDS_TWO_DEVICES();
    acu_exec *exec = NULL;
    acu_stream *legacy = NULL;
    blocker at;
    OK(acu_stream_get_legacy(1, &legacy));
    OK(acu_graph_add_host(graph, NULL, 0, (acu_closure){call, NULL, NULL}, NULL));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_exec_launch(exec, legacy));
    OK(acu_stream_synchronize(legacy));
    block_stream(&at, legacy);
    OK(acu_exec_launch(exec, legacy));
    still_waits(legacy);
    assert_int_equal(__atomic_load_n(&called, __ATOMIC_SEQ_CST), 1);
    unblock_stream(&at);
    OK(acu_stream_synchronize(legacy));
    assert_int_equal(called, 2);
    OK(acu_exec_release(exec));
    OK(acu_stream_release(legacy));
}

/* NVlabs/cutile-rs PR 270: a captured graph outlived its buffers. */
static acu_result put_on(acu_stream *on, void *data) {
    const int32_t six = 6;
    (void)data;
    ACU_TRY(acu_buffer_fill(x, &six));
    ACU_TRY(acu_stream_call(on, (acu_closure){call, NULL, destroy}));
    return acu_buffer_copy(y, x, on);
}

static void cutile_rs_270_a_captured_graph_outlives_its_buffers(void **state) {
    (void)state;
    acu_graph *captured = NULL;
    acu_exec *exec = NULL;
    int32_t back[8] = {0};
    blocker at;
    OK(acu_stream_capture(stream, NULL, put_on, NULL, &captured));
    OK(acu_buffer_release(x));
    OK(acu_graph_instantiate(captured, NULL, &exec));
    OK(acu_graph_release(captured));
    OK(acu_exec_launch(exec, stream));
    block_stream(&at, stream);
    OK(acu_exec_launch(exec, stream));
    OK(acu_exec_release(exec));
    assert_int_equal(destroyed, 0); /* the last launch has not ended */
    unblock_stream(&at);
    OK(acu_stream_synchronize(stream));
    assert_int_equal(destroyed, 1);
    OK(acu_buffer_read(y, back, 8));
    assert_int_equal(back[7], 6);
    OK(acu_buffer_create(stream, ACU_I32, 8, &x));
}

static void a_launch_that_failed_is_not_the_last(void **state) {
    (void)state;
    acu_exec *exec = NULL;
    blocker at;
    OK(acu_graph_add_host(graph, NULL, 0, (acu_closure){call, NULL, NULL}, NULL));
    OK(acu_graph_keep_data(graph, (acu_closure){NULL, NULL, destroy}));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_graph_release(graph));
    graph = NULL;
    block_stream(&at, stream);
    OK(acu_exec_launch(exec, stream));
    assert_int_equal(acu_inject_errors("cudaGraphLaunch@1:999"), 0);
    FAILS(acu_exec_launch(exec, other), 999, "cudaGraphLaunch");
    acu_inject_errors(NULL);
    OK(acu_exec_release(exec));
    assert_int_equal(destroyed, 0);
    unblock_stream(&at);
    OK(acu_stream_synchronize(stream));
    assert_int_equal(destroyed, 1);
}

static void released_before_anyone_waits(void **state) {
    (void)state;
    acu_exec *exec = NULL;
    acu_stream *own = NULL;
    acu_graph *mine = NULL;
    acu_buffer *z = NULL;
    blocker at;
    OK(acu_stream_create(0, NULL, &own));
    OK(acu_buffer_create(own, ACU_I32, 8, &z));
    OK(acu_graph_create(&mine));
    add_fill(mine, z, 1, NULL);
    OK(acu_graph_keep_data(mine, (acu_closure){NULL, NULL, destroy}));
    OK(acu_graph_instantiate(mine, NULL, &exec));
    block_stream(&at, own);
    OK(acu_exec_launch(exec, own));
    OK(acu_exec_release(exec));
    OK(acu_graph_release(mine));
    OK(acu_buffer_release(z));
    OK(acu_stream_release(own));
    assert_int_equal(destroyed, 0);
    unblock_stream(&at);
    OK(acu_device_synchronize(0));
    assert_int_equal(destroyed, 1);
}

/* ---- updates ---- */

static void updates_to_a_graph_of_the_same_shape(void **state) {
    (void)state;
    acu_graph *same = NULL, *more = NULL;
    acu_exec *exec = NULL;
    acu_exec_update_info update;
    int32_t back[8];
    add_fill(graph, x, 1, NULL);
    OK(acu_graph_create(&same));
    add_fill(same, y, 2, NULL);
    OK(acu_graph_create(&more));
    add_fill(more, y, 3, NULL);
    add_fill(more, x, 3, NULL);
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_exec_update(exec, same, &update));
    assert_int_equal(update.result, ACU_UPDATE_SUCCESS);
    OK(acu_graph_release(same));
    OK(acu_exec_launch(exec, stream));
    OK(acu_buffer_read(y, back, 8));
    assert_int_equal(back[0], 2);
    bool reported = runtime_version() >= 12000; /* before, CUDA reports no reason */
    FAILS(acu_exec_update(exec, more, &update), 910,
          reported ? "other nodes or dependencies" : "cannot be updated");
    assert_int_equal(update.result,
                     reported ? ACU_UPDATE_TOPOLOGY_CHANGED : ACU_UPDATE_NOT_SUPPORTED);
    assert_true(*acu_last_error_details().hint);
    OK(acu_buffer_zero(y, NULL));
    OK(acu_exec_launch(exec, stream)); /* as before */
    OK(acu_buffer_read(y, back, 8));
    assert_int_equal(back[0], 2);
    OK(acu_graph_release(more));
    OK(acu_exec_release(exec));
}

static void an_update_of_another_kind_names_the_node(void **state) {
    (void)state;
    acu_graph *another = NULL;
    acu_exec *exec = NULL;
    acu_exec_update_info update;
    acu_node node;
    add_fill(graph, x, 1, NULL);
    OK(acu_graph_create(&another));
    OK(acu_graph_add_empty(another, NULL, 0, &node));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    FAILS(acu_exec_update(exec, another, &update), 910, "a node has another type");
    assert_int_equal(update.result, ACU_UPDATE_NODE_TYPE_CHANGED);
    assert_ptr_equal(update.error_node.graph, another);
    assert_int_equal(update.error_node.id, node.id);
    assert_non_null(strstr(acu_last_error_message(), "empty node 0"));
    OK(acu_graph_release(another));
    OK(acu_exec_release(exec));
}

/* ---- changes ---- */

static void changes_a_fill_and_a_copy(void **state) {
    (void)state;
    acu_exec *exec = NULL;
    acu_node fill, copy;
    int32_t back[8], eight = 8;
    acu_buffer *z = NULL;
    OK(acu_buffer_create(stream, ACU_I32, 8, &z));
    add_fill(graph, x, 1, &fill);
    OK(acu_graph_add_copy(graph, &fill, 1, &(acu_copy){.to = y, .from = x, .count = ACU_REST},
                          &copy));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_exec_set_fill(exec, fill, &(acu_fill){z, ACU_I32, &eight, .width = ACU_REST}));
    OK(acu_exec_set_copy(exec, copy, &(acu_copy){.to = x, .from = z, .count = ACU_REST}));
    OK(acu_buffer_release(z)); /* it is the exec's now */
    OK(acu_exec_launch(exec, other));
    OK(acu_buffer_read(x, back, 8));
    assert_int_equal(back[3], 8);
    FAILS(acu_exec_set_fill(exec, fill, NULL), ACU_ERROR_ARGUMENT, "'fill' is NULL");
    FAILS(acu_exec_set_copy(exec, copy, NULL), ACU_ERROR_ARGUMENT, "'copy' is NULL");
    FAILS(acu_exec_set_copy(exec, fill, &(acu_copy){.to = y, .from = x, .count = ACU_REST}), 1, "");
    FAILS(acu_exec_set_memcpy(exec, copy, NULL), ACU_ERROR_ARGUMENT, "'params' is NULL");
    OK(acu_exec_release(exec));
}

static void changed_buffers_go_when_their_launch_has_ended(void **state) {
    (void)state;
    acu_exec *exec = NULL;
    acu_node host;
    blocker at;
    OK(acu_graph_add_host(graph, NULL, 0, (acu_closure){call, NULL, NULL}, &host));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_exec_set_host(exec, host, (acu_closure){call, NULL, destroy}));
    block_stream(&at, stream);
    OK(acu_exec_launch(exec, stream));
    OK(acu_exec_set_host(exec, host, (acu_closure){call, NULL, destroy}));
    assert_int_equal(destroyed, 0); /* the first one is still to be called */
    unblock_stream(&at);
    OK(acu_stream_synchronize(stream));
    OK(acu_exec_set_host(exec, host, (acu_closure){call, NULL, destroy}));
    assert_int_equal(destroyed, 2); /* the second one was never launched */
    FAILS(acu_exec_set_host(exec, host, (acu_closure){NULL, NULL, destroy}), ACU_ERROR_ARGUMENT,
          "'closure.call' is NULL");
    FAILS(acu_exec_set_host(NULL, host, (acu_closure){call, NULL, destroy}), ACU_ERROR_ARGUMENT,
          "is NULL");
    assert_int_equal(destroyed, 4);
    OK(acu_exec_release(exec));
    assert_int_equal(destroyed, 5);
}

static void changes_need_a_node_of_its_graph(void **state) {
    (void)state;
    acu_exec *exec = NULL;
    acu_graph *clone = NULL;
    acu_node node, stranger;
    int32_t one = 1;
    add_fill(graph, x, 1, &node);
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_graph_clone(graph, &clone));
    OK(acu_node_find_in_clone(node, clone, &stranger));
    FAILS(acu_exec_set_fill(exec, stranger, &(acu_fill){x, ACU_I32, &one, .width = ACU_REST}),
          ACU_ERROR_ARGUMENT, "not of the graph that was instantiated");
    OK(acu_node_destroy(node));
    FAILS(acu_exec_set_fill(exec, node, &(acu_fill){x, ACU_I32, &one, .width = ACU_REST}),
          ACU_ERROR_HANDLE, "");
    OK(acu_graph_release(clone));
    OK(acu_exec_release(exec));
}

static void changes_a_kernel(void **state) {
    (void)state;
    float back[8];
    bool enabled = true;
    acu_exec *exec = NULL;
    acu_node node;
    acu_kernel *kernel = kernel_on(0, "scale");
    acu_buffer *first = numbers_on(stream, 8), *second = numbers_on(stream, 8);
    const acu_grid grid = acu_grid_1d(8, 32);
    acu_arg args[] = {acu_inout(first), acu_arg_of(3.0f), acu_arg_of(8)};
    OK(acu_graph_add_kernel(graph, NULL, 0, kernel, &grid, args, 3, &node));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_exec_launch(exec, stream));
    args[0] = acu_inout(second);
    args[1] = acu_arg_of(10.0f);
    OK(acu_exec_set_kernel(exec, node, kernel, &grid, args, 3));
    OK(acu_exec_launch(exec, stream));
    OK(acu_exec_set_enabled(exec, node, false));
    OK(acu_exec_is_enabled(exec, node, &enabled));
    assert_false(enabled);
    OK(acu_exec_launch(exec, stream));
    OK(acu_exec_set_enabled(exec, node, true));
    OK(acu_exec_launch(exec, stream));
    FAILS(acu_exec_set_kernel(exec, node, NULL, &grid, args, 3), ACU_ERROR_ARGUMENT,
          "the kernel is NULL");
    FAILS(acu_exec_set_kernel(exec, node, kernel, &grid, args, 1), ACU_ERROR_ARGUMENT,
          "acu_exec_set_kernel");
    FAILS(acu_exec_is_enabled(exec, node, NULL), ACU_ERROR_ARGUMENT, "'enabled' is NULL");
    OK(acu_kernel_release(kernel));
    OK(acu_buffer_read(first, back, 8));
    assert_true(back[2] == 6);
    OK(acu_buffer_read(second, back, 8));
    assert_true(back[2] == 200);
    OK(acu_buffer_release(first));
    OK(acu_buffer_release(second));
    OK(acu_exec_release(exec));
}

static void changes_a_child(void **state) {
    (void)state;
    acu_exec *exec = NULL;
    acu_graph *inner = NULL, *another = NULL, *child = NULL;
    acu_node node, fill;
    int32_t back[8], nine = 9;
    OK(acu_graph_create(&inner));
    OK(acu_graph_create(&another));
    add_fill(inner, x, 1, NULL);
    add_fill(another, y, 2, NULL);
    OK(acu_graph_add_child(graph, NULL, 0, inner, &node));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_exec_set_child(exec, node, another));
    OK(acu_graph_release(inner));
    OK(acu_graph_release(another));
    OK(acu_exec_launch(exec, other));
    OK(acu_buffer_read(y, back, 8));
    assert_int_equal(back[0], 2);
    FAILS(acu_exec_set_child(exec, node, NULL), ACU_ERROR_ARGUMENT, "the graph is NULL");
    OK(acu_node_get_child(node, &child)); /* its nodes are the exec's, too */
    size_t count = 1;
    OK(acu_graph_get_nodes(child, &fill, &count));
    OK(acu_exec_set_fill(exec, fill, &(acu_fill){x, ACU_I32, &nine, .width = ACU_REST}));
    OK(acu_exec_launch(exec, other));
    OK(acu_buffer_read(x, back, 8));
    assert_int_equal(back[0], 9);
    OK(acu_exec_release(exec));
}

static void changes_events(void **state) {
    (void)state;
    acu_exec *exec = NULL;
    acu_event *first = NULL, *second = NULL;
    acu_node record, wait, empty;
    OK(acu_event_create(0, NULL, &first));
    OK(acu_event_create(0, NULL, &second));
    OK(acu_graph_add_event_wait(graph, NULL, 0, first, &wait));
    OK(acu_graph_add_event_record(graph, &wait, 1, first, &record));
    OK(acu_graph_add_empty(graph, &record, 1, &empty));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_exec_set_event(exec, record, second));
    OK(acu_exec_set_event(exec, wait, second));
    FAILS(acu_exec_set_event(exec, empty, second), 1, "empty node");
    assert_non_null(strstr(acu_last_error_details().hint, "changes nodes of one type only"));
    FAILS(acu_exec_set_enabled(exec, empty, false), 1, "empty node");
    assert_non_null(strstr(acu_last_error_details().hint, "kernel, copy and fill nodes only"));
    FAILS(acu_exec_set_event(exec, record, NULL), ACU_ERROR_ARGUMENT, "the event is NULL");
    OK(acu_event_release(first));
    OK(acu_event_release(second));
    OK(acu_exec_launch(exec, stream));
    OK(acu_stream_synchronize(stream));
    OK(acu_exec_release(exec));
}

#undef TEST
#define TEST(function) SAFE_TEST(function, setup, end_graph)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(lives_and_dies_once),
        TEST(needs_its_arguments),
        TEST(a_cycle_is_told),
        TEST(launches_are_uses),
        TEST(repeated_launches_are_uses),
        TEST(memory_leaves_within_a_launch),
        TEST(a_launch_behind_a_mark_is_waited_for),
        TEST(another_stream_waits_for_what_came_after_a_launch),
        TEST(memory_leaves_within_the_first_launch),
        TEST(memory_that_others_read_is_looked_at),
        TEST(launches_on_the_default_stream_of_a_device),
        TEST(cutile_rs_270_a_captured_graph_outlives_its_buffers),
        TEST(a_launch_that_failed_is_not_the_last),
        TEST(released_before_anyone_waits),
        TEST(updates_to_a_graph_of_the_same_shape),
        TEST(an_update_of_another_kind_names_the_node),
        TEST(changes_a_fill_and_a_copy),
        TEST(changed_buffers_go_when_their_launch_has_ended),
        TEST(changes_need_a_node_of_its_graph),
        TEST(changes_a_kernel),
        TEST(changes_a_child),
        TEST(changes_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
