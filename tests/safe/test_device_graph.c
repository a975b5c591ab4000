/* Graphs that kernels change and launch, and data that raw graphs own. */
#include "graph_test.h"

#include <time.h>

static int begin_f32(void **state) {
    return begin_graph(state, ACU_F32);
}
#define DEVICE_TEST(function) SAFE_TEST(function, begin_f32, end_graph)

static acu_fill ones(acu_buffer *buffer) {
    static const float one = 1;
    return (acu_fill){.buffer = buffer, .dtype = ACU_F32, .element = &one, .width = ACU_REST};
}

/* Waits until so many closures were destroyed, on a thread of CUDA. */
static void await_destroyed(int count) {
    const struct timespec moment = {.tv_nsec = 1000000};
    while (__atomic_load_n(&destroyed, __ATOMIC_SEQ_CST) < count)
        (void)nanosleep(&moment, NULL);
}

/* ---- nodes that kernels change ---- */

static void need_updatable_nodes(void) {
    if (!is_since(12040)) {
        print_message("needs CUDA 12.4: nodes that the device can update\n");
        skip();
    }
}

static acu_node add_scale(acu_kernel *kernel) {
    acu_node node;
    OK(acu_graph_add_launch(graph, NULL, 0, &node, kernel, acu_grid_1d(8, 8), acu_inout(x), 2.0f,
                            8));
    return node;
}

/* CUDA's code for what it does not do with such nodes is CUDA's matter. */
#define REFUSED_BY_CUDA(call) assert_true((call) > 0)

static void nodes_become_updatable(void **state) {
    (void)state;
    need_updatable_nodes();
    acu_kernel *kernel = kernel_on(0, "scale");
    struct CUgraphDeviceUpdatableNode_st *handle = NULL, *again = NULL;
    acu_node node = add_scale(kernel), other_node = add_scale(kernel), child;
    acu_graph *empty = NULL;
    acu_exec *exec = NULL, *second = NULL;
    OK(acu_node_set_updatable(node, &handle));
    assert_non_null(handle);
    OK(acu_node_set_updatable(node, &again));
    assert_ptr_equal(again, handle);
    REFUSED_BY_CUDA(acu_node_copy_attributes(other_node, node));
    REFUSED_BY_CUDA(acu_node_destroy(node));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    REFUSED_BY_CUDA(acu_graph_instantiate(graph, NULL, &second));
    assert_null(second);
    OK(acu_graph_create(&empty));
    FAILS(acu_graph_add_child(empty, NULL, 0, graph, &child), ACU_NOT_SUPPORTED,
          "a graph with nodes that kernels may change cannot be a child");
    REFUSED_BY_CUDA(acu_exec_update(exec, graph, NULL));
    REFUSED_BY_CUDA(acu_exec_update(exec, empty, NULL));
    OK(acu_graph_release(empty));
    OK(acu_exec_launch(exec, stream));
    OK(acu_stream_synchronize(stream));
    OK(acu_exec_release(exec));
    OK(acu_kernel_release(kernel));
}

static void only_kernel_nodes_become_updatable(void **state) {
    (void)state;
    need_updatable_nodes();
    struct CUgraphDeviceUpdatableNode_st *handle = NULL;
    const acu_fill fill = ones(x);
    acu_node node;
    OK(acu_graph_add_fill(graph, NULL, 0, &fill, &node));
    FAILS(acu_node_set_updatable(node, &handle), 1, "cudaGraphKernelNodeSetAttribute");
    assert_null(handle);
}

static void older_runtimes_have_no_updatable_nodes(void **state) {
    (void)state;
    struct CUgraphDeviceUpdatableNode_st *handle = NULL;
    acu_kernel *kernel = kernel_on(0, "scale");
    if (is_since(12040))
        OK(acu_node_set_updatable(add_scale(kernel), &handle));
    else {
        assert_true(acu_node_set_updatable(add_scale(kernel), &handle) > 0);
        assert_non_null(strstr(acu_last_error_message(), "needs CUDA 12.4"));
    }
    OK(acu_kernel_release(kernel));
}

/* The first launch uploads, and the first one after a change; the others do not. */
static void launches_upload_what_kernels_change(void **state) {
    (void)state;
    need_updatable_nodes();
    ONLY_SIMULATED("makes calls fail");
    acu_kernel *kernel = kernel_on(0, "scale");
    struct CUgraphDeviceUpdatableNode_st *handle = NULL;
    acu_exec *exec = NULL;
    acu_node node = add_scale(kernel);
    OK(acu_node_set_updatable(node, &handle));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_inject_errors("cudaGraphUpload@1+:1"));
    FAILS(acu_exec_launch(exec, stream), 1, "cudaGraphUpload");
    OK(acu_inject_errors(NULL));
    OK(acu_exec_launch(exec, stream));
    OK(acu_inject_errors("cudaGraphUpload@1+:1"));
    OK(acu_exec_launch(exec, stream));
    OK(acu_exec_launch(exec, other));
    OK(acu_exec_set_launch(exec, node, kernel, acu_grid_1d(8, 8), acu_inout(y), 3.0f, 8));
    FAILS(acu_exec_launch(exec, stream), 1, "cudaGraphUpload");
    OK(acu_inject_errors(NULL));
    OK(acu_exec_upload(exec, stream));
    OK(acu_inject_errors("cudaGraphUpload@1+:1"));
    OK(acu_exec_launch(exec, stream));
    OK(acu_exec_set_enabled(exec, node, false));
    FAILS(acu_exec_launch(exec, stream), 1, "cudaGraphUpload");
    OK(acu_inject_errors(NULL));
    OK(acu_stream_synchronize(stream));
    OK(acu_stream_synchronize(other));
    OK(acu_exec_release(exec));
    OK(acu_kernel_release(kernel));
}

/* ---- graphs that kernels launch ---- */

static void need_device_launches(void) {
    if (!is_since(12000)) {
        print_message("needs CUDA 12.0: graphs that kernels launch\n");
        skip();
    }
}

/* Instantiates a graph that fills y, for kernels. */
static acu_exec *exec_for_kernels(void) {
    const acu_fill fill = ones(y);
    acu_graph *inner = NULL;
    acu_exec *exec = NULL;
    OK(acu_graph_create(&inner));
    OK(acu_graph_add_fill(inner, NULL, 0, &fill, NULL));
    OK(acu_graph_instantiate(
        inner, &(acu_exec_options){ACU_EXEC_DEVICE_LAUNCH | ACU_EXEC_UPLOAD, stream}, &exec));
    OK(acu_graph_release(inner));
    return exec;
}

static void kernels_launch_what_was_uploaded(void **state) {
    (void)state;
    need_device_launches();
    const acu_fill fill = ones(y), others = ones(x);
    acu_graph *inner = NULL;
    acu_exec *exec = NULL;
    acu_node node;
    OK(acu_graph_create(&inner));
    OK(acu_graph_add_fill(inner, NULL, 0, &fill, &node));
    OK(acu_graph_instantiate(inner, &(acu_exec_options){.flags = ACU_EXEC_DEVICE_LAUNCH}, &exec));
    FAILS(acu_graph_keep_exec(graph, exec), ACU_ERROR_STATE, "before it is uploaded");
    OK(acu_exec_launch(exec, stream));
    OK(acu_graph_keep_exec(graph, exec));
    OK(acu_exec_set_fill(exec, node, &others));
    FAILS(acu_graph_keep_exec(graph, exec), ACU_ERROR_STATE, "before it is uploaded");
    OK(acu_exec_upload(exec, stream));
    OK(acu_graph_keep_exec(graph, exec));
    OK(acu_exec_set_enabled(exec, node, false));
    FAILS(acu_graph_keep_exec(graph, exec), ACU_ERROR_STATE, "before it is uploaded");
    OK(acu_stream_synchronize(stream));
    OK(acu_exec_release(exec));
    OK(acu_graph_release(inner));
}

/* The graph owns the exec and what that uses, and a launch is a use of all of it. */
static void a_graph_keeps_what_its_kernels_launch(void **state) {
    (void)state;
    need_device_launches();
    blocker at = {0, 0};
    acu_exec *inner = exec_for_kernels(), *outer = NULL;
    OK(acu_graph_add_empty(graph, NULL, 0, NULL));
    OK(acu_graph_keep_exec(graph, inner));
    OK(acu_exec_release(inner));
    assert_non_null(acu_exec_raw(inner)); /* the graph is its owner */
    OK(acu_graph_instantiate(graph, NULL, &outer));
    block_stream(&at, other);
    OK(acu_buffer_zero(y, other));
    OK(acu_exec_launch(outer, stream));
    still_waits(stream);
    unblock_stream(&at);
    OK(acu_stream_synchronize(stream));
    OK(acu_exec_release(outer));
}

static void not_every_exec_is_for_kernels(void **state) {
    (void)state;
    acu_exec *plain = NULL, *wrapped = NULL;
    OK(acu_graph_add_empty(graph, NULL, 0, NULL));
    OK(acu_graph_instantiate(graph, NULL, &plain));
    FAILS(acu_graph_keep_exec(graph, plain), ACU_ERROR_STATE, "kernels cannot launch it");
    assert_non_null(strstr(acu_last_error_details().hint, "ACU_EXEC_DEVICE_LAUNCH"));
    OK(acu_exec_release(plain));
    if (!is_since(12000))
        return;
    plain = exec_for_kernels();
    OK(acu_exec_wrap(acu_exec_raw(plain), &wrapped));
    OK(acu_graph_keep_exec(graph, wrapped));
    OK(acu_exec_release(wrapped));
    OK(acu_stream_synchronize(stream));
    OK(acu_graph_release(graph)); /* before what it has wrapped */
    OK(acu_exec_release(plain));
    OK(acu_graph_create(&graph));
}

static void devices_launch_no_host_functions(void **state) {
    (void)state;
    need_device_launches();
    acu_exec *exec = NULL;
    OK(acu_graph_add_host(graph, NULL, 0, (acu_closure){call, NULL, NULL}, NULL));
    FAILS(acu_graph_instantiate(graph, &(acu_exec_options){ACU_EXEC_DEVICE_LAUNCH, NULL}, &exec), 1,
          "host node 0: the operation cannot be instantiated like this");
    assert_null(exec);
}

/* ---- data that raw graphs own ---- */

static void raw_graphs_own_data(void **state) {
    (void)state;
    cudaGraph_t raw = NULL;
    acu_graph *made = NULL;
    OK(acu_graph_create(&made));
    OK(acu_graph_attach_data(made, (acu_closure){NULL, NULL, destroy}));
    OK(acu_graph_attach_data(made, (acu_closure){NULL, NULL, NULL})); /* nothing to be done */
    assert_int_equal(cudaGraphClone(&raw, acu_graph_raw(made)), 0);
    OK(acu_graph_release(made));
    OK(acu_stream_synchronize(stream));
    assert_int_equal(destroyed, 0); /* the clone, of which no handle knows, has it still */
    assert_int_equal(cudaGraphDestroy(raw), 0);
    await_destroyed(1);
}

static void execs_own_data_of_raw_graphs(void **state) {
    (void)state;
    acu_exec *exec = NULL;
    acu_graph *made = NULL;
    OK(acu_graph_create(&made));
    OK(acu_graph_add_empty(made, NULL, 0, NULL));
    OK(acu_graph_attach_data(made, (acu_closure){NULL, NULL, destroy}));
    OK(acu_graph_instantiate(made, NULL, &exec));
    OK(acu_graph_release(made));
    OK(acu_exec_launch(exec, stream));
    OK(acu_stream_synchronize(stream));
    assert_int_equal(destroyed, 0);
    OK(acu_exec_release(exec));
    await_destroyed(1);
}

static void data_is_destroyed_if_no_graph_takes_it(void **state) {
    (void)state;
    FAILS(acu_graph_attach_data(NULL, (acu_closure){NULL, NULL, destroy}), ACU_ERROR_ARGUMENT,
          "the graph is NULL");
    assert_int_equal(destroyed, 1);
    ONLY_SIMULATED("makes calls fail");
    OK(acu_inject_errors("cudaUserObjectCreate@1:2;cudaGraphRetainUserObject@1:1"));
    FAILS(acu_graph_attach_data(graph, (acu_closure){NULL, NULL, destroy}), 2,
          "cudaUserObjectCreate");
    assert_int_equal(destroyed, 2);
    FAILS(acu_graph_attach_data(graph, (acu_closure){NULL, NULL, destroy}), 1,
          "cudaGraphRetainUserObject");
    OK(acu_inject_errors(NULL));
    await_destroyed(3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(nodes_become_updatable),
        DEVICE_TEST(only_kernel_nodes_become_updatable),
        DEVICE_TEST(older_runtimes_have_no_updatable_nodes),
        DEVICE_TEST(launches_upload_what_kernels_change),
        DEVICE_TEST(kernels_launch_what_was_uploaded),
        DEVICE_TEST(a_graph_keeps_what_its_kernels_launch),
        DEVICE_TEST(not_every_exec_is_for_kernels),
        DEVICE_TEST(devices_launch_no_host_functions),
        DEVICE_TEST(raw_graphs_own_data),
        DEVICE_TEST(execs_own_data_of_raw_graphs),
        DEVICE_TEST(data_is_destroyed_if_no_graph_takes_it),
    };
    return cmocka_run_group_tests_name("graphs for devices", tests, NULL, NULL);
}
