/* Names of nodes, times of nodes, and pictures of graphs. */
#include "graph_test.h"
#include "../scratch.h"

#include <unistd.h>

static int begin_f32(void **state) {
    return begin_graph(state, ACU_F32);
}
#define DRAW_TEST(function) SAFE_TEST(function, begin_f32, end_graph)

/* The picture of a graph, which the test frees. */
static char *picture_of(acu_graph *of) {
    char path[SCRATCH_SIZE];
    const int file = mkstemp(scratch_path(path));
    assert_true(file >= 0);
    OK(acu_graph_draw(of, path));
    const off_t size = lseek(file, 0, SEEK_END);
    char *text = calloc((size_t)size + 1, 1);
    assert_non_null(text);
    assert_int_equal(pread(file, text, (size_t)size, 0), size);
    close(file);
    unlink(path);
    return text;
}

/* The picture has the text, or the test fails with all of it. */
static void has(const char *picture, const char *text) {
    if (!strstr(picture, text))
        fail_msg("there is no '%s' in:\n%s", text, picture);
}

static void has_not(const char *picture, const char *text) {
    if (strstr(picture, text))
        fail_msg("there is '%s' in:\n%s", text, picture);
}

static acu_fill ones(void) {
    static const float one = 1;
    return (acu_fill){.buffer = x, .dtype = ACU_F32, .element = &one, .width = ACU_REST};
}

static acu_copy all_of_x(void) {
    return (acu_copy){.to = y, .from = x, .count = ACU_REST};
}

static void nodes_have_names(void **state) {
    (void)state;
    const acu_fill fill = ones();
    const char *name = "none";
    acu_node node, other_node;
    OK(acu_graph_add_fill(graph, NULL, 0, &fill, &node));
    OK(acu_graph_add_fill(graph, NULL, 0, &fill, &other_node));
    OK(acu_node_get_name(node, &name));
    assert_null(name);
    char text[] = "zeros";
    OK(acu_node_set_name(node, text));
    text[0] = '?';
    OK(acu_node_get_name(node, &name));
    assert_string_equal(name, "zeros");
    OK(acu_node_get_name(other_node, &name));
    assert_null(name);
    OK(acu_node_set_name(node, "first"));
    OK(acu_node_get_name(node, &name));
    assert_string_equal(name, "first");
    OK(acu_node_set_name(node, NULL));
    OK(acu_node_get_name(node, &name));
    assert_null(name);
    OK(acu_node_set_name(node, ""));
    OK(acu_node_destroy(node));
    FAILS(acu_node_get_name(node, &name), ACU_ERROR_HANDLE, "no such node");
    FAILS(acu_node_set_name(node, "late"), ACU_ERROR_HANDLE, "no such node");
}

/* Graphviz reads UTF-8. */
static void pictures_are_utf8(void **state) {
    (void)state;
    static const struct {
        const char *name, *drawn;
    } names[] = {
        {"gr\xc3\xb6\xc3\x9f"
         "e \xe2\x82\xac \xf0\x9f\x98\x80",
         "gr\xc3\xb6\xc3\x9f"
         "e \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"a\xf6z", "a\xef\xbf\xbdz"},
        {"cut \xe2\x82", "cut \xef\xbf\xbd\xef\xbf\xbd"},
        {"long \xc0\xaf", "long \xef\xbf\xbd\xef\xbf\xbd"},
        {"longer \xe0\x9f\xbf", "longer \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"half \xed\xa0\x80", "half \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"beyond \xf4\x90\x80\x80", "beyond \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"none \xff\"", "none \xef\xbf\xbd\\\""},
    };
    const acu_fill fill = ones();
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        acu_node node;
        OK(acu_graph_add_fill(graph, NULL, 0, &fill, &node));
        OK(acu_node_set_name(node, names[n].name));
    }
    char *picture = picture_of(graph);
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        has(picture, names[n].drawn);
    has_not(picture, "\xf6z");
    free(picture);
}

/* Names that come after many nodes, and nodes after names. */
static void many_nodes_have_names(void **state) {
    (void)state;
    acu_node nodes[100];
    char name[16];
    const char *got;
    for (int i = 0; i < 100; i++) {
        OK(acu_graph_add_empty(graph, NULL, 0, &nodes[i]));
        snprintf(name, sizeof name, "node of %d", i);
        if (i % 3 == 0)
            OK(acu_node_set_name(nodes[i], name));
    }
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "node of %d", i);
        OK(acu_node_get_name(nodes[i], &got));
        if (i % 3 == 0)
            assert_string_equal(got, name);
        else
            assert_null(got);
    }
}

static void clones_have_the_names(void **state) {
    (void)state;
    const acu_fill fill = ones();
    acu_graph *clone = NULL;
    acu_node node, gone, copy;
    const char *name;
    OK(acu_graph_add_empty(graph, NULL, 0, &gone));
    OK(acu_node_set_name(gone, "gone"));
    OK(acu_graph_add_fill(graph, NULL, 0, &fill, &node));
    OK(acu_node_set_name(node, "ones"));
    OK(acu_node_destroy(gone));
    OK(acu_graph_clone(graph, &clone));
    OK(acu_node_set_name(node, "of the original"));
    OK(acu_node_find_in_clone(node, clone, &copy));
    OK(acu_node_get_name(copy, &name));
    assert_string_equal(name, "ones");
    OK(acu_graph_release(clone));
}

static void messages_have_the_names(void **state) {
    (void)state;
    const acu_fill fill = ones();
    const acu_copy copy = all_of_x();
    acu_node node;
    OK(acu_graph_add_fill(graph, NULL, 0, &fill, &node));
    OK(acu_node_set_name(node, "a name that is much longer than a message has room for"));
    FAILS(acu_node_set_copy(node, &copy), 1, "memset node 0 'a name that is much longer tha'");
}

static void captured_nodes_have_names(void **state) {
    (void)state;
    acu_node node;
    acu_graph *captured = NULL;
    const char *name;
    OK(acu_stream_begin_capture(stream, NULL));
    OK(acu_buffer_zero(x, stream));
    OK(acu_stream_get_captured_node(stream, &node));
    OK(acu_node_set_name(node, "zero x"));
    OK(acu_stream_end_capture(stream, &captured));
    OK(acu_node_get_name(node, &name));
    assert_string_equal(name, "zero x");
    char *picture = picture_of(captured);
    has(picture,
        "n0 [kind=\"memset\" title=\"zero x\" detail=\"32 bytes\" label=\"zero x\\nmemset");
    free(picture);
    OK(acu_graph_release(captured));
}

static void capture_zero(acu_graph *into, acu_graph **captured) {
    OK(acu_stream_begin_capture(stream,
                                &(acu_capture_options){.into = into, .again = into != NULL}));
    OK(acu_buffer_zero(x, stream));
    OK(acu_stream_end_capture(stream, captured));
}

static void names_stay_when_a_graph_is_captured_again(void **state) {
    (void)state;
    if (runtime_version() < 13030 || driver_version() < 13030)
        return;
    acu_graph *captured = NULL, *same = NULL;
    acu_node node;
    size_t count = 1;
    const char *name;
    capture_zero(NULL, &captured);
    OK(acu_graph_get_nodes(captured, &node, &count));
    OK(acu_node_set_name(node, "zero x"));
    capture_zero(captured, &same);
    assert_ptr_equal(same, captured);
    OK(acu_graph_get_nodes(captured, &node, &count));
    OK(acu_node_get_name(node, &name));
    assert_string_equal(name, "zero x");
    OK(acu_graph_release(same));
    OK(acu_graph_release(captured));
}

/* ---- pictures ---- */

static void draws_every_type(void **state) {
    (void)state;
    const acu_fill fill = ones();
    const acu_copy copy = all_of_x();
    acu_node fill_node, copy_node, kernel_node, host_node, child_node, event_node, nodes[3];
    acu_kernel *kernel = kernel_on(0, "scale");
    acu_event *event = NULL;
    acu_graph *inner = NULL;
    const acu_grid grid = acu_grid_1d(1000, 256);
    OK(acu_event_create(0, NULL, &event));
    OK(acu_graph_create(&inner));
    OK(acu_graph_add_empty(inner, NULL, 0, NULL));
    OK(acu_graph_add_fill(graph, NULL, 0, &fill, &fill_node));
    OK(acu_graph_add_copy(graph, &fill_node, 1, &copy, &copy_node));
    OK(acu_graph_add_launch(graph, &copy_node, 1, &kernel_node, kernel, grid, acu_inout(x), 2.0f,
                            8));
    OK(acu_graph_add_host(graph, &fill_node, 1, (acu_closure){call, NULL, NULL}, &host_node));
    nodes[0] = kernel_node;
    nodes[1] = host_node;
    OK(acu_graph_add_child(graph, nodes, 2, inner, &child_node));
    OK(acu_graph_add_event_record(graph, &child_node, 1, event, &event_node));
    OK(acu_graph_add_event_wait(graph, &event_node, 1, event, NULL));
    char *picture = picture_of(graph);
    has(picture, "digraph anycuda {\n  graph [format=\"anycuda 1\"");
    has(picture, "n0 [kind=\"memset\" title=\"memset\" detail=\"32 bytes\"");
    has(picture, "n1 [kind=\"memcpy\" title=\"memcpy\" detail=\"32 bytes");
    has(picture, "n2 [kind=\"kernel\" title=\"scale\" detail=\"4 blocks of 256\" "
                 "label=\"scale\\nkernel\\n4 blocks of 256\" shape=box");
    has(picture, "n3 [kind=\"host\" title=\"host\" detail=\"\" label=\"host\" shape=octagon");
    has(picture, "n4 [kind=\"child graph\"");
    has(picture, "  subgraph cluster_p1 {\n    graph [within=\"n4\" label=\"n4: child graph\"");
    has(picture, "    p1n0 [kind=\"empty\"");
    has(picture, "n5 [kind=\"event record\"");
    has(picture, "n6 [kind=\"event wait\"");
    has(picture, "  n0 -> n1;\n");
    has(picture, "  n2 -> n4;\n");
    has(picture, "  n5 -> n6;\n");
    has_not(picture, " us=");
    has_not(picture, "replays");
    free(picture);
    OK(acu_node_set_name(kernel_node, "the \"best\" \\ one\n"));
    picture = picture_of(graph);
    has(picture, "title=\"the \\\"best\\\" \\\\ one \" kernel=\"scale\"");
    free(picture);
    OK(acu_graph_release(inner));
    OK(acu_event_release(event));
    OK(acu_kernel_release(kernel));
}

static void draws_grids(void **state) {
    (void)state;
    acu_kernel *kernel = kernel_on(0, "scale");
    const acu_grid flat = acu_grid_2d(64, 4, 32, 4);
    const acu_grid deep = acu_grid_3d((acu_size3){64, 4, 2}, (acu_size3){32, 4, 1});
    OK(acu_graph_add_launch(graph, NULL, 0, NULL, kernel, flat, acu_inout(x), 2.0f, 8));
    OK(acu_graph_add_launch(graph, NULL, 0, NULL, kernel, deep, acu_inout(x), 2.0f, 8));
    char *picture = picture_of(graph);
    has(picture, "detail=\"2x1 blocks of 32x4\"");
    has(picture, "detail=\"2x1x2 blocks of 32x4x1\"");
    free(picture);
    OK(acu_kernel_release(kernel));
}

/* A kernel that the graph does not keep: only CUDA knows its name, and not every version. */
static void draws_what_it_does_not_keep(void **state) {
    (void)state;
    acu_graph *wrapped = NULL;
    acu_kernel *kernel = kernel_on(0, "scale");
    OK(acu_graph_add_launch(graph, NULL, 0, NULL, kernel, acu_grid_1d(8, 8), acu_inout(x), 2.0f,
                            8));
    OK(acu_graph_wrap(acu_graph_raw(graph), &wrapped));
    char *picture = picture_of(wrapped);
    has(picture, runtime_version() >= 12030 ? "title=\"scale\"" : "title=\"kernel 0x");
    free(picture);
    OK(acu_graph_release(wrapped));
    OK(acu_kernel_release(kernel));
}

static void draws_memory_and_bodies(void **state) {
    (void)state;
    acu_buffer *own = NULL;
    acu_node alloc;
    OK(acu_graph_add_alloc(graph, NULL, 0, 0, ACU_F32, 1 << 20, &own, &alloc));
    OK(acu_graph_add_free(graph, &alloc, 1, own, NULL));
    char *picture = picture_of(graph);
    has(picture, "n0 [kind=\"memory alloc\" title=\"memory alloc\" detail=\"4.0 MiB\"");
    has(picture, "n1 [kind=\"memory free\"");
    free(picture);
    OK(acu_buffer_release(own));
    if (runtime_version() < 12030 || driver_version() < 12030)
        return;
    acu_graph *loops = NULL, *body = NULL;
    acu_conditional conditional;
    acu_node node;
    OK(acu_graph_create(&loops));
    OK(acu_conditional_create(loops, 1, ACU_CONDITIONAL_ASSIGN_DEFAULT, &conditional));
    OK(acu_graph_add_conditional(loops, NULL, 0, conditional, ACU_CONDITIONAL_WHILE, &body, 1,
                                 &node));
    OK(acu_graph_add_empty(body, NULL, 0, &node));
    OK(acu_node_set_name(node, "again"));
    picture = picture_of(loops);
    has(picture, "n0 [kind=\"conditional\"");
    has(picture, "title=\"conditional\" detail=\"while\"");
    has(picture, "graph [within=\"n0\" label=\"n0: while not 0\"");
    has(picture, "p1n0 [kind=\"empty\" title=\"again\"");
    free(picture);
    OK(acu_graph_release(loops));
}

/* Bodies are drawn in the order of their numbers. */
static void draws_conditions(void **state) {
    (void)state;
    if (runtime_version() < 12080 || driver_version() < 12080)
        return;
    acu_graph *bodies[3];
    acu_conditional conditional;
    OK(acu_conditional_create(graph, 1, ACU_CONDITIONAL_ASSIGN_DEFAULT, &conditional));
    OK(acu_graph_add_conditional(graph, NULL, 0, conditional, ACU_CONDITIONAL_IF, bodies, 2, NULL));
    OK(acu_conditional_create(graph, 1, ACU_CONDITIONAL_ASSIGN_DEFAULT, &conditional));
    OK(acu_graph_add_conditional(graph, NULL, 0, conditional, ACU_CONDITIONAL_SWITCH, bodies, 3,
                                 NULL));
    char *picture = picture_of(graph);
    has(picture, "detail=\"if\"");
    has(picture, "cluster_p1 {\n    graph [within=\"n0\" label=\"n0: if not 0\"");
    has(picture, "cluster_p2 {\n    graph [within=\"n0\" label=\"n0: else\"");
    has(picture, "detail=\"switch\"");
    has(picture, "cluster_p3 {\n    graph [within=\"n1\" label=\"n1: case 0\"");
    has(picture, "cluster_p5 {\n    graph [within=\"n1\" label=\"n1: case 2\"");
    free(picture);
}

static void draws_edge_data(void **state) {
    (void)state;
    if (runtime_version() < 12030 || driver_version() < 12030)
        return;
    acu_kernel *kernel = kernel_on(0, "scale");
    acu_node nodes[2];
    const acu_grid grid = acu_grid_1d(8, 8);
    for (int i = 0; i < 2; i++)
        OK(acu_graph_add_launch(graph, NULL, 0, &nodes[i], kernel, grid, acu_inout(x), 2.0f, 8));
    OK(acu_graph_add_dependencies(graph, &nodes[0], &nodes[1],
                                  &(acu_edge){.from_port = 1, .type = 1}, 1));
    char *picture = picture_of(graph);
    has(picture, "n0 -> n1 [from_port=1 to_port=0 type=1 style=dashed label=\"programmatic\"]");
    free(picture);
    OK(acu_kernel_release(kernel));
}

static void says_why_it_cannot_draw(void **state) {
    (void)state;
    FAILS(acu_graph_draw(graph, "/no such folder/graph.dot"), 304,
          "cannot write /no such folder/graph.dot: No such file");
    if (access("/dev/full", W_OK) == 0)
        FAILS(acu_graph_draw(graph, "/dev/full"), 304, "cannot write /dev/full: No space");
}

/* ---- times ---- */

static void is_timed(acu_node node, unsigned replays) {
    acu_node_time time;
    OK(acu_node_get_time(node, &time));
    assert_true(time.least >= 0 && time.least <= time.milliseconds &&
                time.milliseconds <= time.most);
    assert_true(time.begin >= 0);
    if (replays == 1)
        assert_true(time.least == time.most);
}

static void add_work(acu_node nodes[4]) {
    const acu_fill fill = ones();
    const acu_copy copy = all_of_x();
    OK(acu_graph_add_fill(graph, NULL, 0, &fill, &nodes[0]));
    OK(acu_graph_add_copy(graph, nodes, 1, &copy, &nodes[1]));
    OK(acu_graph_add_host(graph, nodes, 1, (acu_closure){call, NULL, NULL}, &nodes[2]));
    OK(acu_graph_add_empty(graph, nodes + 1, 2, &nodes[3]));
}

static void profiles(bool together) {
    acu_node nodes[4], fresh;
    acu_graph_time time;
    acu_node_time times[4];
    size_t count = 0;
    float numbers[8] = {0};
    add_work(nodes);
    FAILS(acu_graph_get_time(graph, &time), ACU_ERROR_STATE, "the graph was not profiled");
    FAILS(acu_node_get_time(nodes[0], &times[0]), ACU_ERROR_STATE, "the graph was not profiled");
    OK(acu_graph_profile(graph, stream,
                         &(acu_profile_options){.replays = 3, .together = together}));
    assert_int_equal(called, 8); /* three replays that are measured, and one, of both kinds */
    OK(acu_buffer_read(y, numbers, 8));
    assert_true(numbers[7] == 1);
    OK(acu_graph_get_time(graph, &time));
    assert_int_equal(time.replays, 3);
    assert_int_equal(time.together, together);
    assert_true(time.whole >= 0 && time.measured >= 0 && time.between >= 0);
    for (int i = 0; i < 4; i++) {
        is_timed(nodes[i], 3);
        OK(acu_node_get_time(nodes[i], &times[i]));
    }
    /* What depends on another node begins later. */
    assert_true(times[1].begin >= times[0].begin && times[3].begin >= times[1].begin &&
                times[3].begin >= times[2].begin);
    OK(acu_graph_get_nodes(graph, NULL, &count));
    assert_int_equal(count, 4); /* the graph has got no events */
    OK(acu_graph_add_empty(graph, NULL, 0, &fresh));
    FAILS(acu_node_get_time(fresh, &times[0]), ACU_ERROR_STATE, "since it has this node");
    char *picture = picture_of(graph);
    has(picture, together ? "graph [replays=3 together=1 us_whole="
                          : "graph [replays=3 together=0 us_whole=");
    has(picture, "kind=\"memset\" title=\"memset\" detail=\"32 bytes\" us=");
    free(picture);
}

static void profiles_one_after_the_other(void **state) {
    (void)state;
    profiles(false);
}

static void profiles_together(void **state) {
    (void)state;
    profiles(true);
}

/* Programmatic dependencies, many nodes, and nodes that were added in another order than they run.
 */
static void profiles_any_order(void **state) {
    (void)state;
    enum { NODES = 60 };
    acu_node nodes[NODES];
    acu_node_time time, before;
    for (int i = 0; i < NODES; i++)
        OK(acu_graph_add_empty(graph, NULL, 0, &nodes[i]));
    for (int i = 0; i + 1 < NODES; i++)
        OK(acu_graph_add_dependencies(graph, &nodes[i + 1], &nodes[i], NULL, 1));
    OK(acu_node_destroy(nodes[NODES / 2]));
    for (int together = 0; together < 2; together++) {
        OK(acu_graph_profile(graph, stream,
                             &(acu_profile_options){.replays = 1, .together = together > 0}));
        for (int i = 0; i < NODES; i++)
            if (i != NODES / 2)
                is_timed(nodes[i], 1);
        OK(acu_node_get_time(nodes[NODES - 1], &before));
        OK(acu_node_get_time(nodes[NODES / 2 + 1], &time));
        assert_true(time.begin >= before.begin);
    }
}

static void profiles_nothing(void **state) {
    (void)state;
    acu_graph_time time;
    OK(acu_graph_profile(graph, stream, NULL));
    OK(acu_graph_get_time(graph, &time));
    assert_int_equal(time.replays, 10);
    assert_true(time.measured == 0);
}

/* A launch is a use of each buffer. */
static void a_profile_waits_for_other_streams(void **state) {
    (void)state;
    acu_node nodes[4];
    float numbers[8] = {0}, twos[8] = {2, 2, 2, 2, 2, 2, 2, 2};
    add_work(nodes);
    OK(acu_buffer_write_typed(x, 0, ACU_F32, twos, 8, other));
    OK(acu_graph_profile(graph, stream, &(acu_profile_options){.replays = 1}));
    OK(acu_buffer_read_typed(y, 0, ACU_F32, numbers, 8, other));
    assert_true(numbers[0] == 1);
}

static void a_child_graph_is_profiled_by_itself(void **state) {
    (void)state;
    const acu_fill fill = ones();
    acu_graph *inner = NULL, *child = NULL;
    acu_node node, in_child;
    acu_node_time time;
    size_t count = 1;
    OK(acu_graph_create(&inner));
    OK(acu_graph_add_fill(inner, NULL, 0, &fill, NULL));
    OK(acu_graph_add_child(graph, NULL, 0, inner, &node));
    OK(acu_node_get_child(node, &child));
    OK(acu_graph_get_nodes(child, &in_child, &count));
    OK(acu_graph_profile(graph, stream, &(acu_profile_options){.replays = 1}));
    is_timed(node, 1);
    FAILS(acu_node_get_time(in_child, &time), ACU_ERROR_STATE, "was not profiled");
    OK(acu_graph_profile(child, stream, &(acu_profile_options){.replays = 1}));
    is_timed(in_child, 1);
    char *picture = picture_of(graph);
    has(picture, "    graph [replays=1");
    free(picture);
    OK(acu_graph_release(inner));
}

/* The graph is as before, also where something fails with the events in it. */
static void profiles_conditional_nodes(void **state) {
    (void)state;
    if (runtime_version() < 12030 || driver_version() < 12030)
        return;
    const acu_fill fill = ones();
    const acu_copy copy = all_of_x();
    acu_graph *body = NULL;
    acu_conditional conditional;
    acu_node nodes[3];
    acu_graph_time time;
    size_t count = 0;
    OK(acu_graph_add_fill(graph, NULL, 0, &fill, &nodes[0]));
    OK(acu_conditional_create(graph, 1, ACU_CONDITIONAL_ASSIGN_DEFAULT, &conditional));
    OK(acu_graph_add_conditional(graph, nodes, 1, conditional, ACU_CONDITIONAL_IF, &body, 1,
                                 &nodes[1]));
    OK(acu_graph_add_copy(body, NULL, 0, &copy, NULL));
    OK(acu_graph_add_empty(graph, &nodes[1], 1, &nodes[2]));
    acu_clear_error();
    for (int together = 0; together < 2; together++) {
        OK(acu_graph_profile(graph, stream,
                             &(acu_profile_options){.replays = 2, .together = together > 0}));
        assert_int_equal(acu_last_error(), 0); /* that CUDA makes no copy is no failure */
        for (int i = 0; i < 3; i++)
            is_timed(nodes[i], 2);
        OK(acu_graph_get_time(graph, &time));
        assert_int_equal(time.together, together);
        OK(acu_graph_get_nodes(graph, NULL, &count));
        assert_int_equal(count, 3);
        OK(acu_graph_get_edges(graph, NULL, NULL, NULL, &count));
        assert_int_equal(count, 2);
    }
    if (is_simulated()) {
        OK(acu_inject_errors("cudaGraphAddEventRecordNode@3:2"));
        FAILS(acu_graph_profile(graph, stream, NULL), 2, "cudaGraphAddEventRecordNode");
        OK(acu_inject_errors(NULL));
        OK(acu_graph_get_nodes(graph, NULL, &count));
        assert_int_equal(count, 3);
    }
    launch();
    acu_exec *exec = NULL;
    OK(acu_graph_instantiate(graph, NULL, &exec));
    FAILS(acu_graph_profile(graph, stream, NULL), 801, "cudaGraphInstantiate");
    OK(acu_exec_release(exec));
}

static void says_what_it_cannot_profile(void **state) {
    (void)state;
    acu_buffer *own = NULL;
    acu_node node;
    FAILS(acu_graph_profile(graph, stream, &(acu_profile_options){.replays = 2000000}),
          ACU_ERROR_ARGUMENT, "'replays' is 2000000");
    OK(acu_stream_begin_capture(stream, NULL));
    FAILS(acu_graph_profile(graph, stream, NULL), ACU_ERROR_CAPTURE, "is being captured");
    acu_graph *captured = NULL;
    OK(acu_stream_end_capture(stream, &captured));
    OK(acu_graph_release(captured));
    OK(acu_graph_add_alloc(graph, NULL, 0, 0, ACU_F32, 16, &own, &node));
    OK(acu_graph_add_free(graph, &node, 1, own, NULL));
    FAILS(acu_graph_profile(graph, stream, NULL), 801, "cudaGraphClone");
    assert_non_null(strstr(acu_last_error_details().hint, "allocate or free memory"));
    OK(acu_buffer_release(own));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DRAW_TEST(nodes_have_names),
        DRAW_TEST(pictures_are_utf8),
        DRAW_TEST(many_nodes_have_names),
        DRAW_TEST(clones_have_the_names),
        DRAW_TEST(messages_have_the_names),
        DRAW_TEST(captured_nodes_have_names),
        DRAW_TEST(names_stay_when_a_graph_is_captured_again),
        DRAW_TEST(draws_every_type),
        DRAW_TEST(draws_grids),
        DRAW_TEST(draws_what_it_does_not_keep),
        DRAW_TEST(draws_memory_and_bodies),
        DRAW_TEST(draws_conditions),
        DRAW_TEST(draws_edge_data),
        DRAW_TEST(says_why_it_cannot_draw),
        DRAW_TEST(profiles_one_after_the_other),
        DRAW_TEST(profiles_together),
        DRAW_TEST(profiles_any_order),
        DRAW_TEST(profiles_nothing),
        DRAW_TEST(a_profile_waits_for_other_streams),
        DRAW_TEST(a_child_graph_is_profiled_by_itself),
        DRAW_TEST(profiles_conditional_nodes),
        DRAW_TEST(says_what_it_cannot_profile),
    };
    return cmocka_run_group_tests_name("drawing graphs", tests, NULL, NULL);
}
