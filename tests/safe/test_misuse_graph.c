/* Misuse of graphs, nodes and execs. */
#include "misuse.h"

#include <anycuda/cudart.h>

static void graphs(void **state) {
    (void)state;
    size_t count = 0;
    unsigned id;
    uint64_t bytes;
    acu_graph_time time;
    acu_node node = good.node;
    acu_graph *made = NULL;
    struct CUgraph_st *raw = acu_graph_raw(good.graph);
    NOT_NULL(acu_graph_create(NULL));
    NOT_NULL(acu_graph_wrap(NULL, &made));
    NOT_NULL(acu_graph_wrap(raw, NULL));
    NOT_NULL(acu_graph_adopt(NULL, &made));
    NOT_NULL(acu_graph_adopt(raw, NULL));
    HANDLE(acu_graph_clone(bad, &made));
    NOT_NULL(acu_graph_clone(good.graph, NULL));
    assert_null(made);
    HANDLE(acu_graph_keep(bad, good.buffer, true));
    HANDLE(acu_graph_keep(good.graph, bad, true));
    HANDLE(acu_graph_get_nodes(bad, NULL, &count));
    HANDLE(acu_graph_get_root_nodes(bad, NULL, &count));
    HANDLE(acu_graph_get_edges(bad, NULL, NULL, NULL, &count));
    HANDLE(acu_graph_add_dependencies(bad, &node, &node, NULL, 1));
    HANDLE(acu_graph_remove_dependencies(bad, &node, &node, NULL, 1));
    HANDLE(acu_graph_get_id(bad, &id));
    HANDLE(acu_graph_print_dot(bad, "/dev/null", 0));
    HANDLE(acu_graph_keep_exec(bad, good.exec));
    HANDLE(acu_graph_keep_exec(good.graph, bad));
    REFUSED(acu_graph_keep_exec(good.graph, good.exec), ACU_ERROR_STATE,
            "kernels cannot launch it");
    HANDLE(acu_graph_draw(bad, "/dev/null"));
    HANDLE(acu_graph_profile(bad, good.stream, NULL));
    HANDLE(acu_graph_profile(good.graph, bad, NULL));
    HANDLE(acu_graph_get_time(bad, &time));
    NOT_NULL(acu_graph_draw(good.graph, NULL));
    NOT_NULL(acu_graph_get_time(good.graph, NULL));
    NOT_NULL(acu_graph_get_nodes(good.graph, NULL, NULL));
    NOT_NULL(acu_graph_get_root_nodes(good.graph, NULL, NULL));
    NOT_NULL(acu_graph_get_edges(good.graph, NULL, NULL, NULL, NULL));
    NOT_NULL(acu_graph_add_dependencies(good.graph, NULL, &node, NULL, 1));
    NOT_NULL(acu_graph_add_dependencies(good.graph, &node, NULL, NULL, 1));
    NOT_NULL(acu_graph_remove_dependencies(good.graph, NULL, &node, NULL, 1));
    NOT_NULL(acu_graph_remove_dependencies(good.graph, &node, NULL, NULL, 1));
    NOT_NULL(acu_graph_get_id(good.graph, NULL));
    NOT_NULL(acu_graph_print_dot(good.graph, NULL, 0));
    NO_DEVICE(acu_graph_memory_get_attribute(absent, ACU_GRAPH_MEMORY_USED, &bytes));
    NO_DEVICE(acu_graph_memory_reset(absent, ACU_GRAPH_MEMORY_USED_HIGH));
    NO_DEVICE(acu_graph_memory_trim(absent));
    NOT_NULL(acu_graph_memory_get_attribute(0, ACU_GRAPH_MEMORY_USED, NULL));
    destroyed = 0;
    HANDLE(acu_graph_keep_data(bad, empty_closure));
    HANDLE(acu_graph_attach_data(bad, empty_closure));
    assert_int_equal(destroyed, 6);
    SAYS(NULL, acu_graph_raw(bad));
    OWNERS(graph);
}

/* A node is as bad as its graph, and none without it. */
#define BAD_NODE ((acu_node){bad, 1})

static void nodes(void **state) {
    (void)state;
    size_t count = 0;
    unsigned id;
    uint64_t number;
    acu_node copy;
    acu_node_type type;
    acu_node_time time;
    struct CUgraphDeviceUpdatableNode_st *handle;
    const char *name;
    acu_graph *child;
    HANDLE(acu_node_find_in_clone(BAD_NODE, good.graph, &copy));
    HANDLE(acu_node_find_in_clone(good.node, bad, &copy));
    HANDLE(acu_node_wrap(bad, acu_node_raw(good.node), &copy));
    HANDLE(acu_node_destroy(BAD_NODE));
    HANDLE(acu_node_get_dependencies(BAD_NODE, NULL, NULL, &count));
    HANDLE(acu_node_get_dependent_nodes(BAD_NODE, NULL, NULL, &count));
    HANDLE(acu_node_get_type(BAD_NODE, &type));
    HANDLE(acu_node_get_child(BAD_NODE, &child));
    HANDLE(acu_node_set_updatable(BAD_NODE, &handle));
    NOT_NULL(acu_node_set_updatable(good.node, NULL));
    HANDLE(acu_node_set_name(BAD_NODE, "name"));
    HANDLE(acu_node_get_name(BAD_NODE, &name));
    HANDLE(acu_node_get_time(BAD_NODE, &time));
    NOT_NULL(acu_node_get_name(good.node, NULL));
    NOT_NULL(acu_node_get_time(good.node, NULL));
    HANDLE(acu_node_get_local_id(BAD_NODE, &id));
    HANDLE(acu_node_get_tools_id(BAD_NODE, &number));
    NOT_NULL(acu_node_get_tools_id(good.node, NULL));
    NOT_NULL(acu_node_find_in_clone(good.node, good.graph, NULL));
    NOT_NULL(acu_node_wrap(good.graph, acu_node_raw(good.node), NULL));
    NOT_NULL(acu_node_wrap(good.graph, NULL, &copy));
    NOT_NULL(acu_node_get_dependencies(good.node, NULL, NULL, NULL));
    NOT_NULL(acu_node_get_dependent_nodes(good.node, NULL, NULL, NULL));
    NOT_NULL(acu_node_get_type(good.node, NULL));
    NOT_NULL(acu_node_get_child(good.node, NULL));
    NOT_NULL(acu_node_get_local_id(good.node, NULL));
    SAYS(NULL, acu_node_raw(BAD_NODE));
    for (uint64_t no_id = 2; no_id > 1; no_id *= 2) {
        REFUSED(acu_node_get_type((acu_node){good.graph, no_id}, &type), ACU_ERROR_HANDLE,
                "no such node");
        REFUSED(acu_graph_add_empty(good.graph, &(acu_node){good.graph, no_id}, 1, NULL),
                ACU_ERROR_HANDLE, "no such node");
    }
}

#define ADDED(kind, ...) acu_graph_add_##kind(bad, NULL, 0, __VA_ARGS__, NULL)
#define GIVEN(kind, ...) acu_graph_add_##kind(good.graph, NULL, 0, __VA_ARGS__, NULL)

static void nodes_are_added(void **state) {
    (void)state;
    static int numbers[8];
    acu_buffer *made = NULL;
    acu_graph *bodies[1] = {NULL};
    acu_conditional conditional = {good.graph, 0};
    const acu_copy copy = {.to = good.buffer, .from = good.buffer, .to_at = 4, .count = 1};
    const acu_fill fill = {
        .buffer = good.buffer, .dtype = ACU_F32, .element = numbers, .width = ACU_REST};
    HANDLE(acu_graph_add_empty(bad, NULL, 0, NULL));
    HANDLE(ADDED(kernel, good.kernel, &good.grid, NULL, 0));
    HANDLE(GIVEN(kernel, bad, &good.grid, NULL, 0));
    NOT_NULL(GIVEN(kernel, good.kernel, NULL, NULL, 0));
    REFUSED(GIVEN(kernel, good.kernel, &good.grid, NULL, 1), ACU_ERROR_ARGUMENT, "");
    HANDLE(ADDED(copy, &copy));
    HANDLE(GIVEN(copy, &((acu_copy){.to = bad, .from = good.buffer, .count = ACU_REST})));
    HANDLE(GIVEN(copy, &((acu_copy){.to = good.buffer, .from = bad, .count = ACU_REST})));
    NOT_NULL(GIVEN(copy, NULL));
    HANDLE(ADDED(copy_batch, &copy, 1, NULL, 0));
    HANDLE(GIVEN(copy_batch, &((acu_copy){bad, good.buffer, 4, 0, 1}), 1, NULL, 0));
    NOT_NULL(GIVEN(copy_batch, NULL, 1, NULL, 0));
    HANDLE(ADDED(write, good.buffer, 0, ACU_ANY, numbers, 8));
    HANDLE(GIVEN(write, bad, 0, ACU_ANY, numbers, 8));
    NOT_NULL(GIVEN(write, good.buffer, 0, ACU_ANY, NULL, 8));
    NOT_NULL(GIVEN(memcpy, NULL));
    HANDLE(ADDED(fill, &fill));
    HANDLE(GIVEN(
        fill,
        &((acu_fill){.buffer = bad, .dtype = ACU_F32, .element = numbers, .width = ACU_REST})));
    NOT_NULL(
        GIVEN(fill, &((acu_fill){.buffer = good.buffer, .dtype = ACU_F32, .width = ACU_REST})));
    NOT_NULL(GIVEN(fill, NULL));
    HANDLE(ADDED(child, good.graph));
    HANDLE(GIVEN(child, bad));
    HANDLE(ADDED(event_record, good.event));
    HANDLE(GIVEN(event_record, bad));
    HANDLE(ADDED(event_wait, good.event));
    HANDLE(GIVEN(event_wait, bad));
    HANDLE(ADDED(alloc, 0, ACU_F32, 8, &made));
    NOT_NULL(GIVEN(alloc, 0, ACU_F32, 8, NULL));
    NO_DEVICE(GIVEN(alloc, absent, ACU_F32, 8, &made));
    OK(GIVEN(alloc, 0, ACU_F32, 8, &made));
    HANDLE(ADDED(free, made));
    OK(acu_buffer_release(made));
    HANDLE(GIVEN(free, bad));
    NOT_NULL(GIVEN(semaphore_signal, NULL, 1));
    NOT_NULL(GIVEN(semaphore_wait, NULL, 1));
    HANDLE(ADDED(semaphore_signal, NULL, 0));
    HANDLE(ADDED(semaphore_wait, NULL, 0));
    HANDLE(acu_conditional_create(bad, 0, 0, &conditional));
    NOT_NULL(acu_conditional_create(good.graph, 0, 0, NULL));
    conditional.graph = good.graph;
    HANDLE(ADDED(conditional, conditional, ACU_CONDITIONAL_IF, bodies, 1));
    HANDLE(GIVEN(conditional, ((acu_conditional){bad, 0}), ACU_CONDITIONAL_IF, bodies, 1));
    NOT_NULL(GIVEN(conditional, conditional, ACU_CONDITIONAL_IF, NULL, 1));
    NOT_NULL(GIVEN(node, NULL, NULL));
    destroyed = 0;
    HANDLE(ADDED(host, good_closure));
    NOT_NULL(GIVEN(host, empty_closure));
    HANDLE(ADDED(host_with, good_closure, ACU_HOST_BLOCK));
    NOT_NULL(GIVEN(host_with, empty_closure, ACU_HOST_BLOCK));
    assert_int_equal(destroyed, 8);
    assert_null(bodies[0]);
    NOT_NULL(acu_graph_add_empty(good.graph, NULL, 1, NULL));
}

static void huge_counts(void **state) {
    (void)state;
    acu_node node = good.node;
    acu_buffer *made = NULL;
    const size_t most = SIZE_MAX, wraps = SIZE_MAX / sizeof(void *) + 2; /* times 8 it is 8 */
    REFUSED(acu_graph_add_empty(good.graph, &node, most, NULL), ACU_ERROR_HOST_MEMORY, "");
    REFUSED(acu_graph_add_empty(good.graph, &node, wraps, NULL), ACU_ERROR_HOST_MEMORY, "");
    REFUSED(acu_graph_add_dependencies(good.graph, &node, &node, NULL, wraps),
            ACU_ERROR_HOST_MEMORY, "");
    REFUSED(acu_graph_remove_dependencies(good.graph, &node, &node, NULL, wraps),
            ACU_ERROR_HOST_MEMORY, "");
    REFUSED(GIVEN(alloc, 0, ACU_F64, wraps, &made), ACU_ERROR_OVERFLOW, "");
    REFUSED(GIVEN(write, good.buffer, 1, ACU_F32, &node, most), ACU_ERROR_RANGE, "which has 8");
    REFUSED(GIVEN(kernel, good.kernel, &good.grid, (const acu_arg *)&node, most),
            ACU_ERROR_ARGUMENT, "");
    REFUSED(acu_stream_begin_capture(
                good.stream,
                &(acu_capture_options){.into = good.graph, .after = &node, .after_count = wraps}),
            ACU_ERROR_HOST_MEMORY, "");
}

static void execs(void **state) {
    (void)state;
    bool yes;
    unsigned id;
    uint64_t flags;
    acu_exec *made = NULL;
    struct CUgraphExec_st *raw = acu_exec_raw(good.exec);
    HANDLE(acu_graph_instantiate(bad, NULL, &made));
    OPTIONAL_HANDLE(acu_graph_instantiate(
        good.graph, &(acu_exec_options){.flags = ACU_EXEC_UPLOAD, .upload = bad}, &made));
    NOT_NULL(acu_graph_instantiate(good.graph, NULL, NULL));
    NOT_NULL(acu_exec_wrap(NULL, &made));
    NOT_NULL(acu_exec_wrap(raw, NULL));
    NOT_NULL(acu_exec_adopt(NULL, &made));
    NOT_NULL(acu_exec_adopt(raw, NULL));
    assert_null(made);
    HANDLE(acu_exec_upload(bad, good.stream));
    HANDLE(acu_exec_upload(good.exec, bad));
    HANDLE(acu_exec_launch(bad, good.stream));
    HANDLE(acu_exec_launch(good.exec, bad));
    HANDLE(acu_exec_get_flags(bad, &flags));
    HANDLE(acu_exec_get_id(bad, &id));
    HANDLE(acu_exec_update(bad, good.graph, NULL));
    HANDLE(acu_exec_update(good.exec, bad, NULL));
    HANDLE(acu_exec_is_enabled(bad, good.node, &yes));
    HANDLE(acu_exec_is_enabled(good.exec, BAD_NODE, &yes));
    NOT_NULL(acu_exec_get_flags(good.exec, NULL));
    NOT_NULL(acu_exec_get_id(good.exec, NULL));
    NOT_NULL(acu_exec_is_enabled(good.exec, good.node, NULL));
    SAYS(NULL, acu_exec_raw(bad));
    OWNERS(exec);
}

static void nodes_are_changed(void **state) {
    (void)state;
    static const float one = 1;
    const acu_copy copy = {.to = good.buffer, .from = good.buffer, .to_at = 4, .count = 1};
    const acu_fill fill = {
        .buffer = good.buffer, .dtype = ACU_F32, .element = &one, .width = ACU_REST};
    struct cudaGraphNodeParams raw;
    cudaLaunchAttribute attribute = {.id = cudaLaunchAttributePriority};
    HANDLE(acu_node_set_kernel(BAD_NODE, good.kernel, &good.grid, NULL, 0));
    HANDLE(acu_node_set_kernel(good.node, bad, &good.grid, NULL, 0));
    HANDLE(acu_node_set_copy(BAD_NODE, &copy));
    HANDLE(acu_node_set_copy(good.node,
                             &(acu_copy){.to = bad, .from = good.buffer, .count = ACU_REST}));
    HANDLE(acu_node_set_copy_batch(BAD_NODE, &copy, 1, NULL, 0));
    HANDLE(
        acu_node_set_copy_batch(good.node, &((acu_copy){bad, good.buffer, 4, 0, 1}), 1, NULL, 0));
    NOT_NULL(acu_node_set_copy_batch(good.node, NULL, 1, NULL, 0));
    HANDLE(acu_node_set_fill(BAD_NODE, &fill));
    HANDLE(acu_node_set_fill(good.node, &(acu_fill){bad, ACU_F32, &one, .width = ACU_REST}));
    HANDLE(acu_node_set_event(BAD_NODE, good.event));
    HANDLE(acu_node_set_event(good.node, bad));
    HANDLE(acu_node_get_params(BAD_NODE, &raw));
    HANDLE(acu_node_get_attribute(BAD_NODE, &attribute));
    HANDLE(acu_node_set_attribute(BAD_NODE, &attribute));
    HANDLE(acu_node_copy_attributes(BAD_NODE, good.node));
    HANDLE(acu_node_copy_attributes(good.node, BAD_NODE));
    NOT_NULL(acu_node_set_kernel(good.node, good.kernel, NULL, NULL, 0));
    NOT_NULL(acu_node_set_copy(good.node, NULL));
    NOT_NULL(acu_node_set_memcpy(good.node, NULL));
    NOT_NULL(acu_node_set_fill(good.node, NULL));
    NOT_NULL(acu_node_set_semaphore_signal(good.node, NULL, 1));
    NOT_NULL(acu_node_set_semaphore_wait(good.node, NULL, 1));
    NOT_NULL(acu_node_set_params(good.node, NULL));
    NOT_NULL(acu_node_get_params(good.node, NULL));
    NOT_NULL(acu_node_get_attribute(good.node, NULL));
    NOT_NULL(acu_node_set_attribute(good.node, NULL));
    destroyed = 0;
    HANDLE(acu_node_set_host(BAD_NODE, good_closure));
    NOT_NULL(acu_node_set_host(good.node, empty_closure));
    assert_int_equal(destroyed, 4);
}

#define CHANGED(kind, ...)                                                                         \
    do {                                                                                           \
        HANDLE(acu_exec_set_##kind(bad, good.node, __VA_ARGS__));                                  \
        HANDLE(acu_exec_set_##kind(good.exec, BAD_NODE, __VA_ARGS__));                             \
    } while (0)

static void execs_are_changed(void **state) {
    (void)state;
    static const float one = 1;
    const acu_copy copy = {.to = good.buffer, .from = good.buffer, .to_at = 4, .count = 1};
    const acu_fill fill = {
        .buffer = good.buffer, .dtype = ACU_F32, .element = &one, .width = ACU_REST};
    acu_graph *child = NULL;
    OK(acu_graph_create(&child));
    CHANGED(kernel, good.kernel, &good.grid, NULL, 0);
    CHANGED(copy, &copy);
    CHANGED(copy_batch, &copy, 1, NULL, 0);
    CHANGED(fill, &fill);
    CHANGED(child, child);
    CHANGED(event, good.event);
    CHANGED(enabled, true);
    HANDLE(acu_exec_set_kernel(good.exec, good.node, bad, &good.grid, NULL, 0));
    HANDLE(acu_exec_set_copy(good.exec, good.node,
                             &(acu_copy){.to = bad, .from = good.buffer, .count = ACU_REST}));
    HANDLE(acu_exec_set_fill(good.exec, good.node,
                             &(acu_fill){bad, ACU_F32, &one, .width = ACU_REST}));
    HANDLE(acu_exec_set_child(good.exec, good.node, bad));
    HANDLE(acu_exec_set_event(good.exec, good.node, bad));
    NOT_NULL(acu_exec_set_kernel(good.exec, good.node, good.kernel, NULL, NULL, 0));
    NOT_NULL(acu_exec_set_copy(good.exec, good.node, NULL));
    HANDLE(acu_exec_set_copy_batch(good.exec, good.node, &((acu_copy){bad, good.buffer, 4, 0, 1}),
                                   1, NULL, 0));
    NOT_NULL(acu_exec_set_copy_batch(good.exec, good.node, NULL, 1, NULL, 0));
    NOT_NULL(acu_exec_set_memcpy(good.exec, good.node, NULL));
    NOT_NULL(acu_exec_set_fill(good.exec, good.node, NULL));
    NOT_NULL(acu_exec_set_semaphore_signal(good.exec, good.node, NULL, 1));
    NOT_NULL(acu_exec_set_semaphore_wait(good.exec, good.node, NULL, 1));
    NOT_NULL(acu_exec_set_params(good.exec, good.node, NULL));
    destroyed = 0;
    CHANGED(host, good_closure);
    NOT_NULL(acu_exec_set_host(good.exec, good.node, empty_closure));
    assert_int_equal(destroyed, 7);
    OK(acu_graph_release(child));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MISUSE(graphs),      MISUSE(nodes), MISUSE(nodes_are_added),  MISUSE(nodes_are_changed),
        MISUSE(huge_counts), MISUSE(execs), MISUSE(execs_are_changed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
