/* Graphs: their life, what they keep, and their properties. */
#include "kernels.h"
#include "../scratch.h"

#include <anycuda/cuda.h>
#include <anycuda/cudart.h>

#include <unistd.h>

static void lives_and_dies_once(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_quarantine(100);
    OK(acu_graph_create(&graph));
    assert_non_null(acu_graph_raw(graph));
    assert_ptr_equal(acu_graph_retain(graph), graph);
    OK(acu_graph_release(graph));
    OK(acu_graph_release(graph));
    FAILS(acu_graph_release(graph), ACU_ERROR_HANDLE, "the graph was released already");
    assert_null(acu_graph_retain(graph));
    OK(acu_graph_release(NULL));
    assert_null(acu_graph_raw(NULL));
    acu_quarantine(0);
}

static void needs_its_arguments(void **state) {
    (void)state;
    acu_graph *graph = NULL, *clone = NULL;
    acu_node node;
    size_t count = 0;
    unsigned id;
    FAILS(acu_graph_create(NULL), ACU_ERROR_ARGUMENT, "'graph' is NULL");
    FAILS(acu_graph_wrap(NULL, &graph), ACU_ERROR_ARGUMENT, "'raw' is NULL");
    FAILS(acu_graph_adopt(NULL, &graph), ACU_ERROR_ARGUMENT, "'raw' is NULL");
    FAILS(acu_graph_clone(NULL, &clone), ACU_ERROR_ARGUMENT, "the graph is NULL");
    FAILS(acu_graph_get_nodes(NULL, NULL, &count), ACU_ERROR_ARGUMENT, "the graph is NULL");
    OK(acu_graph_create(&graph));
    FAILS(acu_graph_clone(graph, NULL), ACU_ERROR_ARGUMENT, "'clone' is NULL");
    FAILS(acu_graph_get_nodes(graph, NULL, NULL), ACU_ERROR_ARGUMENT, "'count' is NULL");
    FAILS(acu_graph_get_root_nodes(graph, NULL, NULL), ACU_ERROR_ARGUMENT, "'count' is NULL");
    FAILS(acu_graph_get_edges(graph, NULL, NULL, NULL, NULL), ACU_ERROR_ARGUMENT,
          "'count' is NULL");
    FAILS(acu_graph_get_id(graph, NULL), ACU_ERROR_ARGUMENT, "'id' is NULL");
    FAILS(acu_graph_get_id(NULL, &id), ACU_ERROR_ARGUMENT, "the graph is NULL");
    FAILS(acu_graph_print_dot(graph, NULL, 0), ACU_ERROR_ARGUMENT, "'path' is NULL");
    FAILS(acu_graph_keep(graph, NULL, false), ACU_ERROR_ARGUMENT, "the buffer is NULL");
    FAILS(acu_node_wrap(graph, NULL, &node), ACU_ERROR_ARGUMENT, "'raw' is NULL");
    OK(acu_graph_release(graph));
}

static void wraps_and_adopts(void **state) {
    (void)state;
    acu_graph *graph = NULL, *other = NULL;
    acu_node node;
    size_t count = 0;
    OK(acu_graph_create(&graph));
    OK(acu_graph_wrap(acu_graph_raw(graph), &other));
    OK(acu_graph_add_empty(other, NULL, 0, &node));
    OK(acu_graph_release(other));
    OK(acu_graph_get_nodes(graph, NULL, &count));
    assert_int_equal(count, 1);
    struct CUgraph_st *raw = acu_graph_raw(graph);
    OK(acu_graph_clone(graph, &other)); /* what is adopted has to be no other's */
    OK(acu_graph_release(graph));
    assert_ptr_not_equal(acu_graph_raw(other), raw);
    OK(acu_graph_release(other));
}

/* Runtime, driver and anycuda have the same handles, by types that C converts into each other. */
static void is_the_drivers_graph_too(void **state) {
    (void)state;
    acu_graph *graph = NULL, *driver = NULL;
    acu_exec *exec = NULL;
    acu_node node;
    size_t count = 0;
    cudaGraph_t raw = NULL;
    cudaGraphNode_t raw_node = NULL;
    cudaGraphExec_t raw_exec = NULL;
    assert_int_equal(cudaGraphCreate(&raw, 0), 0);
    assert_int_equal(cudaGraphAddEmptyNode(&raw_node, raw, NULL, 0), 0);
    CUgraph same = raw;
    OK(acu_graph_adopt(same, &graph));
    CUgraph again = acu_graph_raw(graph);
    assert_ptr_equal(again, raw);
    OK(acu_graph_wrap(again, &driver));
    OK(acu_graph_release(driver));
    CUgraphNode of_driver = raw_node;
    OK(acu_node_wrap(graph, of_driver, &node));
    assert_ptr_equal(acu_node_raw(node), raw_node);
    OK(acu_graph_get_nodes(graph, &node, &count));
    assert_int_equal(count, 1);
    assert_int_equal(cudaGraphInstantiate(&raw_exec, acu_graph_raw(graph), 0), 0);
    CUgraphExec exec_of_driver = raw_exec;
    OK(acu_exec_adopt(exec_of_driver, &exec));
    assert_ptr_equal(acu_exec_raw(exec), raw_exec);
    OK(acu_exec_release(exec));
    OK(acu_graph_release(graph));
}

static void tells_nodes_and_edges(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_node a, b, c, got[4], to[4];
    acu_edge edges[4];
    size_t count = 4;
    OK(acu_graph_create(&graph));
    OK(acu_graph_get_nodes(graph, got, &count));
    assert_int_equal(count, 0);
    OK(acu_graph_add_empty(graph, NULL, 0, &a));
    OK(acu_graph_add_empty(graph, &a, 1, &b));
    OK(acu_graph_add_empty(graph, (acu_node[]){a, b}, 2, &c));
    count = 2;
    OK(acu_graph_get_nodes(graph, got, &count)); /* there are more than there is room for */
    assert_int_equal(count, 3);
    assert_int_equal(got[1].id, b.id);
    count = 4;
    OK(acu_graph_get_root_nodes(graph, got, &count));
    assert_int_equal(count, 1);
    assert_int_equal(got[0].id, a.id);
    assert_ptr_equal(got[0].graph, graph);
    count = 4;
    OK(acu_graph_get_edges(graph, got, to, edges, &count));
    assert_int_equal(count, 3);
    count = 4;
    OK(acu_node_get_dependencies(c, got, NULL, &count));
    assert_int_equal(count, 2);
    assert_int_equal(got[0].id, a.id);
    assert_int_equal(got[1].id, b.id);
    count = 0;
    OK(acu_node_get_dependent_nodes(a, NULL, NULL, &count));
    assert_int_equal(count, 2);
    OK(acu_graph_release(graph));
}

static void dependencies_come_and_go(void **state) {
    (void)state;
    acu_graph *graph = NULL, *other = NULL;
    acu_node a, b, stranger;
    size_t count = 0;
    OK(acu_graph_create(&graph));
    OK(acu_graph_create(&other));
    OK(acu_graph_add_empty(graph, NULL, 0, &a));
    OK(acu_graph_add_empty(graph, NULL, 0, &b));
    OK(acu_graph_add_empty(other, NULL, 0, &stranger));
    OK(acu_graph_add_dependencies(graph, NULL, NULL, NULL, 0));
    OK(acu_graph_add_dependencies(graph, &a, &b, NULL, 1));
    FAILS(acu_graph_add_dependencies(graph, &a, &stranger, NULL, 1), ACU_ERROR_ARGUMENT,
          "node 0 is of another graph");
    FAILS(acu_graph_add_dependencies(graph, NULL, &b, NULL, 1), ACU_ERROR_ARGUMENT,
          "'from' is NULL");
    FAILS(acu_graph_add_dependencies(graph, &a, NULL, NULL, 1), ACU_ERROR_ARGUMENT, "'to' is NULL");
    FAILS(acu_graph_add_dependencies(graph, &a, &b, NULL, SIZE_MAX), ACU_ERROR_HOST_MEMORY, "");
    OK(acu_graph_get_edges(graph, NULL, NULL, NULL, &count));
    assert_int_equal(count, 1);
    OK(acu_graph_remove_dependencies(graph, &a, &b, NULL, 1));
    FAILS(acu_graph_remove_dependencies(graph, &a, &b, NULL, 1), 1, "");
    FAILS(acu_graph_add_empty(graph, &stranger, 1, NULL), ACU_ERROR_ARGUMENT, "of another graph");
    FAILS(acu_graph_add_empty(graph, NULL, 1, NULL), ACU_ERROR_ARGUMENT, "'after' is NULL");
    FAILS(acu_graph_add_empty(graph, &(acu_node){0}, 1, NULL), ACU_ERROR_ARGUMENT,
          "the node is invalid");
    OK(acu_graph_release(graph));
    OK(acu_graph_release(other));
}

static void stale_nodes_meet_an_error(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_node a, b;
    acu_node_type type;
    unsigned id;
    acu_quarantine(100);
    OK(acu_graph_create(&graph));
    OK(acu_graph_add_empty(graph, NULL, 0, &a));
    OK(acu_graph_add_empty(graph, &a, 1, &b));
    OK(acu_node_destroy(a));
    assert_null(acu_node_raw(a));
    FAILS(acu_node_get_type(a, &type), ACU_ERROR_HANDLE, "no such node any more");
    FAILS(acu_node_destroy(a), ACU_ERROR_HANDLE, "no such node any more");
    FAILS(acu_graph_add_empty(graph, &a, 1, NULL), ACU_ERROR_HANDLE, "no such node any more");
    OK(acu_node_get_type(b, &type));
    assert_int_equal(type, ACU_NODE_EMPTY);
    OK(acu_graph_add_empty(graph, NULL, 0, NULL)); /* perhaps at the old one's address */
    FAILS(acu_node_get_type(a, &type), ACU_ERROR_HANDLE, "");
    OK(acu_graph_release(graph));
    FAILS(acu_node_get_type(b, &type), ACU_ERROR_HANDLE, "the graph was released already");
    FAILS(acu_node_get_local_id(b, &id), ACU_ERROR_HANDLE, "the graph was released already");
    assert_null(acu_node_raw(b));
    acu_quarantine(0);
}

static void many_nodes_keep_their_ids(void **state) {
    (void)state;
    enum { MANY = 1000 };
    static acu_node nodes[MANY], got[MANY];
    acu_graph *graph = NULL;
    size_t count = MANY;
    OK(acu_graph_create(&graph));
    for (int i = 0; i < MANY; i++)
        OK(acu_graph_add_empty(graph, nodes, i < 40 ? (size_t)i : 40, &nodes[i]));
    for (int i = 0; i < MANY; i += 2)
        OK(acu_node_destroy(nodes[i]));
    OK(acu_graph_get_nodes(graph, got, &count));
    assert_int_equal(count, MANY / 2);
    for (int i = 0; i < MANY / 2; i++)
        assert_int_equal(got[i].id, nodes[2 * i + 1].id);
    acu_node again;
    OK(acu_node_wrap(graph, acu_node_raw(nodes[1]), &again));
    assert_int_equal(again.id, nodes[1].id);
    OK(acu_graph_release(graph));
}

static void clones_have_their_own_nodes(void **state) {
    (void)state;
    acu_graph *graph = NULL, *clone = NULL;
    acu_node a, copy;
    OK(acu_graph_create(&graph));
    OK(acu_graph_add_empty(graph, NULL, 0, &a));
    OK(acu_graph_clone(graph, &clone));
    OK(acu_node_find_in_clone(a, clone, &copy));
    assert_ptr_equal(copy.graph, clone);
    assert_ptr_not_equal(acu_node_raw(copy), acu_node_raw(a));
    FAILS(acu_node_find_in_clone(a, graph, &copy), 1, "");
    FAILS(acu_node_find_in_clone(a, NULL, &copy), ACU_ERROR_ARGUMENT, "the graph is NULL");
    FAILS(acu_node_find_in_clone(a, clone, NULL), ACU_ERROR_ARGUMENT, "'copy' is NULL");
    OK(acu_graph_release(graph));
    OK(acu_graph_release(clone));
}

/* ---- what is kept ---- */

static int destroyed;

static void destroy(void *data) {
    (void)data;
    destroyed++;
}

static void nothing(void *data) {
    (void)data;
}

static void count(void *data) {
    __atomic_add_fetch((int *)data, 1, __ATOMIC_SEQ_CST);
}

/* A node, and a captured call, for which a launch waits by spinning. */
static void spinning_host_functions(void **state) {
    (void)state;
    int called = 0;
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    acu_stream *stream = stream_on(0);
    acu_node node;
    destroyed = 0;
    OK(acu_graph_create(&graph));
    OK(acu_graph_add_host_with(graph, NULL, 0, (acu_closure){count, &called, NULL}, ACU_HOST_BLOCK,
                               &node));
    FAILS(acu_graph_add_host_with(graph, NULL, 0, (acu_closure){count, &called, destroy},
                                  (acu_host_wait)5, NULL),
          ACU_ERROR_ARGUMENT, "no way 5 to wait");
    assert_int_equal(destroyed, 1);
    if (!is_since(13020)) {
        acu_result result = acu_graph_add_host_with(
            graph, &node, 1, (acu_closure){count, &called, destroy}, ACU_HOST_SPIN, NULL);
        assert_true(result == 801 || result == 36 || result == 1);
        assert_int_equal(destroyed, 2);
    } else {
        struct cudaGraphNodeParams params;
        acu_node spinning;
        OK(acu_graph_add_host_with(graph, &node, 1, (acu_closure){count, &called, NULL},
                                   ACU_HOST_SPIN, &spinning));
        OK(acu_node_get_params(spinning, &params));
        assert_int_equal(params.host.syncMode, ACU_HOST_SPIN);
        OK(acu_node_set_host(spinning, (acu_closure){count, &called, NULL})); /* keeps the way */
        OK(acu_node_get_params(spinning, &params));
        assert_int_equal(params.host.syncMode, ACU_HOST_SPIN);
        OK(acu_stream_begin_capture(
            stream, &(acu_capture_options){.into = graph, .after = &node, .after_count = 1}));
        OK(acu_stream_call_with(stream, (acu_closure){count, &called, destroy}, ACU_HOST_SPIN));
        OK(acu_stream_end_capture(stream, &graph));
        OK(acu_graph_release(graph));
        OK(acu_graph_instantiate(graph, NULL, &exec));
        OK(acu_exec_set_host(exec, spinning, (acu_closure){count, &called, NULL}));
        OK(acu_exec_launch(exec, stream));
        OK(acu_stream_synchronize(stream));
        assert_int_equal(called, 3);
        OK(acu_exec_release(exec));
    }
    OK(acu_graph_release(graph));
    assert_int_equal(destroyed, 2);
    OK(acu_stream_release(stream));
}

static void data_is_destroyed_when_nothing_needs_it(void **state) {
    (void)state;
    acu_graph *graph = NULL, *clone = NULL, *parent = NULL;
    acu_exec *exec = NULL;
    destroyed = 0;
    OK(acu_graph_create(&graph));
    OK(acu_graph_add_host(graph, NULL, 0, (acu_closure){nothing, NULL, destroy}, NULL));
    OK(acu_graph_keep_data(graph, (acu_closure){NULL, NULL, destroy}));
    OK(acu_graph_clone(graph, &clone));
    OK(acu_graph_create(&parent));
    OK(acu_graph_add_child(parent, NULL, 0, graph, NULL));
    OK(acu_graph_instantiate(clone, NULL, &exec));
    OK(acu_graph_release(graph));
    OK(acu_graph_release(clone));
    OK(acu_exec_release(exec));
    assert_int_equal(destroyed, 0);
    OK(acu_graph_release(parent));
    assert_int_equal(destroyed, 2);
    FAILS(acu_graph_keep_data(NULL, (acu_closure){NULL, NULL, destroy}), ACU_ERROR_ARGUMENT, "");
    FAILS(acu_graph_add_host_with(NULL, NULL, 0, (acu_closure){nothing, NULL, NULL}, ACU_HOST_SPIN,
                                  NULL),
          ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_graph_add_host(NULL, NULL, 0, (acu_closure){nothing, NULL, destroy}, NULL),
          ACU_ERROR_ARGUMENT, "the graph is NULL");
    FAILS(acu_graph_add_host(NULL, NULL, 0, (acu_closure){NULL, NULL, destroy}, NULL),
          ACU_ERROR_ARGUMENT, "'closure.call' is NULL");
    assert_int_equal(destroyed, 5);
}

static void a_buffer_is_kept_once(void **state) {
    (void)state;
    acu_stream *stream = NULL;
    acu_buffer *x = NULL;
    acu_graph *graph = NULL;
    OK(acu_stream_create(0, NULL, &stream));
    OK(acu_buffer_create(stream, ACU_F32, 8, &x));
    OK(acu_graph_create(&graph));
    for (int i = 0; i < 1000; i++)
        OK(acu_graph_keep(graph, x, i % 2));
    OK(acu_buffer_release(x));
    OK(acu_stream_release(stream));
    assert_true(!is_simulated() || acu_sim_leaks(0) > 1); /* the graph has memory and stream */
    OK(acu_graph_release(graph));
}

/* ---- parts ---- */

static void a_child_is_a_part(void **state) {
    (void)state;
    acu_graph *graph = NULL, *inner = NULL, *child = NULL, *again = NULL;
    acu_node node, other;
    size_t count = 0;
    acu_quarantine(100);
    OK(acu_graph_create(&graph));
    OK(acu_graph_create(&inner));
    OK(acu_graph_add_empty(inner, NULL, 0, NULL));
    OK(acu_graph_add_child(graph, NULL, 0, inner, &node));
    OK(acu_graph_release(inner));
    OK(acu_node_get_child(node, &child));
    OK(acu_node_get_child(node, &again));
    assert_ptr_equal(child, again);
    OK(acu_graph_get_nodes(child, NULL, &count));
    assert_int_equal(count, 1);
    assert_ptr_equal(acu_graph_retain(child), child); /* keeps the whole */
    OK(acu_graph_release(graph));
    OK(acu_graph_get_nodes(child, NULL, &count));
    OK(acu_graph_add_empty(graph, NULL, 0, &other));
    FAILS(acu_node_get_child(other, &again), 1, "");
    FAILS(acu_graph_add_empty(child, &other, 1, NULL), ACU_ERROR_ARGUMENT, "of another graph");
    OK(acu_node_destroy(node));
    FAILS(acu_graph_get_nodes(child, NULL, &count), ACU_ERROR_HANDLE, "released already");
    OK(acu_graph_release(graph));
    FAILS(acu_graph_release(child), ACU_ERROR_HANDLE, "");
    acu_quarantine(0);
}

static void a_graph_is_not_its_own_child(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    OK(acu_graph_create(&graph));
    FAILS(acu_graph_add_child(graph, NULL, 0, graph, NULL), ACU_ERROR_ARGUMENT,
          "cannot be its own child");
    FAILS(acu_graph_add_child(graph, NULL, 0, NULL, NULL), ACU_ERROR_ARGUMENT, "is NULL");
    OK(acu_graph_release(graph));
}

static void is_drawn(void **state) {
    (void)state;
    char path[SCRATCH_SIZE], line[200] = "";
    acu_graph *graph = NULL;
    close(mkstemp(scratch_path(path)));
    OK(acu_graph_create(&graph));
    OK(acu_graph_add_empty(graph, NULL, 0, NULL));
    OK(acu_graph_print_dot(graph, path,
                           ACU_DOT_VERBOSE | (is_since(13050) ? ACU_DOT_COPY_BATCHES : 0u)));
    FILE *file = fopen(path, "r");
    if (!file || !fgets(line, sizeof line, file))
        fail_msg("there is no drawing");
    assert_non_null(strstr(line, "digraph"));
    if (file)
        fclose(file);
    unlink(path);
    assert_int_not_equal(acu_graph_print_dot(graph, "/nowhere/at/all.dot", 0), 0);
    OK(acu_graph_release(graph));
}

static void has_numbers(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_node node;
    unsigned id = 0, of_node = 0;
    uint64_t of_tools = 0;
    OK(acu_graph_create(&graph));
    OK(acu_graph_add_empty(graph, NULL, 0, &node));
    OK_SINCE_IN_DRIVER(13010, acu_graph_get_id(graph, &id));
    OK_SINCE_IN_DRIVER(13010, acu_node_get_local_id(node, &of_node));
    if (driver_version() >= 13010) {
        OK_SINCE(13010, acu_node_get_tools_id(node, &of_tools));
        assert_int_equal(of_tools != 0, runtime_version() >= 13010);
    }
    if (runtime_version() >= 13010 && driver_version() == 13000) {
        FAILS(acu_graph_get_id(graph, &id), 36,
              "supports CUDA 13.0, and cudaGraphGetId came with 13.1");
        assert_non_null(strstr(acu_last_error_details().hint, "install a newer driver"));
    }
    FAILS(acu_node_get_local_id(node, NULL), ACU_ERROR_ARGUMENT, "'id' is NULL");
    FAILS(acu_node_get_type(node, NULL), ACU_ERROR_ARGUMENT, "'type' is NULL");
    FAILS(acu_node_get_child(node, NULL), ACU_ERROR_ARGUMENT, "'child' is NULL");
    FAILS(acu_node_wrap(graph, acu_node_raw(node), NULL), ACU_ERROR_ARGUMENT, "'node' is NULL");
    OK(acu_graph_release(graph));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(lives_and_dies_once),
        KERNEL_TEST(needs_its_arguments),
        KERNEL_TEST(wraps_and_adopts),
        KERNEL_TEST(is_the_drivers_graph_too),
        KERNEL_TEST(tells_nodes_and_edges),
        KERNEL_TEST(dependencies_come_and_go),
        KERNEL_TEST(stale_nodes_meet_an_error),
        KERNEL_TEST(many_nodes_keep_their_ids),
        KERNEL_TEST(clones_have_their_own_nodes),
        KERNEL_TEST(spinning_host_functions),
        KERNEL_TEST(data_is_destroyed_when_nothing_needs_it),
        KERNEL_TEST(a_buffer_is_kept_once),
        KERNEL_TEST(a_child_is_a_part),
        KERNEL_TEST(a_graph_is_not_its_own_child),
        KERNEL_TEST(is_drawn),
        KERNEL_TEST(has_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
