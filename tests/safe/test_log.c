/* The driver's log. */
#include "safe.h"

#include "../scratch.h"

#include <anycuda/cudart.h>

#include <unistd.h>

typedef struct ear {
    int heard;
    acu_log_level level;
    char line[64];
    acu_listener *release; /* in the call; or NULL */
} ear;

static void hear(acu_log_level level, const char *line, size_t length, void *data) {
    ear *e = data;
    e->heard++;
    e->level = level;
    snprintf(e->line, sizeof e->line, "%.*s", (int)length, line);
    (void)acu_listener_release(e->release);
    e->release = NULL;
}

/* Skips where the driver has no log. */
#define NEEDS_LOG()                                                                                \
    do {                                                                                           \
        if (!is_driver_since(12090))                                                               \
            SKIP("needs a driver of CUDA 12.9: its log");                                          \
    } while (0)

static void drivers_without_a_log(void **state) {
    (void)state;
    ear e = {.heard = 0};
    acu_listener *listener = NULL;
    acu_log_position at = 0;
    char text[16] = "before";
    size_t length = 9;
    if (is_driver_since(12090))
        SKIP("the driver has a log");
    FAILS(acu_log_listen(hear, &e, &listener), 801, "needs CUDA 12.9");
    FAILS(acu_log_get_end(&at), 801, "needs CUDA 12.9");
    FAILS(acu_log_read(NULL, text, sizeof text, &length), 801, "needs CUDA 12.9");
    FAILS(acu_log_print(NULL, "/nonexistent"), 801, "needs CUDA 12.9");
    assert_string_equal(text, "");
    assert_int_equal(length, 0);
    assert_null(listener);
}

static void a_listener_hears_lines(void **state) {
    (void)state;
    ear e = {.heard = 0};
    acu_listener *listener = NULL;
    char text[200];
    NEEDS_LOG();
    OK(acu_log_listen(hear, &e, &listener));
    assert_non_null(acu_listener_raw(listener));
    (void)acu_listener_describe(listener, text, sizeof text);
    assert_non_null(strstr(text, "of the log"));
    if (is_simulated()) {
        acu_sim_log(1, "something is odd");
        assert_int_equal(e.heard, 1);
        assert_int_equal(e.level, ACU_LOG_WARNING);
        assert_string_equal(e.line, "something is odd");
        acu_sim_log(0, "something is wrong");
        assert_int_equal(e.level, ACU_LOG_ERROR);
    }
    OK(acu_listener_release(listener));
    if (is_simulated()) {
        acu_sim_log(0, "nobody hears");
        assert_int_equal(e.heard, 2);
    }
}

static void a_listener_that_ends_itself(void **state) {
    (void)state;
    ear e = {.heard = 0};
    ONLY_SIMULATED("lines at will");
    NEEDS_LOG();
    OK(acu_log_listen(hear, &e, &e.release));
    acu_sim_log(0, "once");
    acu_sim_log(0, "perhaps once more"); /* the end is put off until a call looks for it */
    OK(acu_device_synchronize(0));
    const int heard = e.heard;
    acu_sim_log(0, "never");
    assert_int_equal(e.heard, heard);
}

static void lines_from_a_place_on(void **state) {
    (void)state;
    acu_log_position at = 0, same;
    char text[128];
    size_t length = 0;
    NEEDS_LOG();
    OK(acu_log_get_end(&at));
    OK(acu_log_read(&at, text, sizeof text, &length));
    assert_int_equal(length, 0);
    assert_string_equal(text, "");
    ONLY_SIMULATED("lines at will");
    acu_sim_log(0, "the first line, which is the one to be left out");
    acu_sim_log(0, "second");
    same = at;
    OK(acu_log_read(&at, text, sizeof text, &length));
    assert_string_equal(text, "the first line, which is the one to be left out\nsecond\n");
    assert_int_equal(length, strlen(text));
    OK(acu_log_read(&at, text, sizeof text, &length));
    assert_int_equal(length, 0);
    OK(acu_log_read(&same, text, 40, &length)); /* the newest one has room */
    assert_non_null(strstr(text, "left out"));
    assert_null(strstr(text, "first"));
    assert_non_null(strstr(text, "second\n"));
    acu_sim_log(0, "a line that is too long for the text");
    FAILS(acu_log_read(NULL, text, 8, &length), 1, "cuLogsDumpToMemory");
    assert_int_equal(length, 0);
    assert_string_equal(text, "");
    FAILS(acu_log_read(NULL, text, 0, &length), ACU_ERROR_RANGE, "'size' is 0");
}

static void a_log_in_a_file(void **state) {
    (void)state;
    char path[SCRATCH_SIZE], text[64] = "";
    NEEDS_LOG();
    int file = mkstemp(scratch_path(path));
    assert_true(file >= 0);
    acu_log_position at = 0;
    OK(acu_log_get_end(&at));
    if (is_simulated())
        acu_sim_log(0, "in a file");
    OK(acu_log_print(&at, path));
    if (is_simulated()) {
        assert_int_equal(read(file, text, sizeof text - 1), 10);
        assert_string_equal(text, "in a file\n");
    }
    assert_int_equal(close(file), 0);
    assert_int_equal(remove(path), 0);
    FAILS(acu_log_print(NULL, "/no/such/folder/log"), 1, "/no/such/folder/log");
}

static void old_lines_are_forgotten(void **state) {
    (void)state;
    static char text[30000];
    size_t length = 0;
    ONLY_SIMULATED("lines at will");
    NEEDS_LOG();
    for (int i = 0; i < 700; i++)
        acu_sim_log(0, "a line of forty bytes, with its newline");
    OK(acu_log_read(NULL, text, sizeof text, &length));
    assert_int_equal(length, 100 * 40); /* an H200 keeps 100 lines */
}

static size_t lines_in(const char *text) {
    size_t lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

/* What a driver says of calls that fail, which is printed; all of it is heard, too. */
static void what_the_driver_says_of_failures(void **state) {
    (void)state;
    static char text[8192];
    ear e = {.heard = 0};
    acu_log_position at = 0;
    acu_listener *listener = NULL;
    acu_module *module = NULL;
    size_t length = 0;
    void *memory = &at;
    NEEDS_LOG();
    OK(acu_device_synchronize(0));
    OK(acu_log_listen(hear, &e, &listener));
    OK(acu_log_get_end(&at));
    assert_int_not_equal(acu_module_load(0, &(acu_module_source){.ptx = "no PTX"}, &module), 0);
    assert_int_not_equal(cudaFree(memory), 0); /* is no memory of a device */
    (void)cudaGetLastError();
    const int heard = e.heard;
    OK(acu_listener_release(listener));
    OK(acu_log_read(&at, text, sizeof text, &length));
    print_message("the driver's log, of which %d lines were heard at once: \"%s\"\n", heard, text);
    assert_int_equal(e.heard, lines_in(text));
}

/* What a listener releases, once, in the call that fails. */
typedef struct owner {
    int heard;
    acu_listener *listener;
    acu_buffer *buffer;
    acu_stream *stream;
    acu_event *event;
    acu_graph *graph;
    acu_exec *exec;
} owner;

static void release_all(acu_log_level level, const char *line, size_t length, void *data) {
    owner *o = data;
    (void)level, (void)line, (void)length;
    if (o->heard++)
        return;
    OK(acu_buffer_release(o->buffer));
    OK(acu_event_release(o->event));
    OK(acu_exec_release(o->exec));
    OK(acu_graph_release(o->graph));
    OK(acu_stream_release(o->stream));
    OK(acu_listener_release(o->listener));
}

static void begin_to_own(owner *o) {
    acu_stream *stream = NULL;
    const float one = 1;
    acu_node node;
    *o = (owner){.heard = 0};
    OK(acu_stream_create(0, NULL, &stream));
    OK(acu_buffer_create(stream, ACU_F32, 16, &o->buffer));
    OK(acu_event_create(0, NULL, &o->event));
    OK(acu_graph_create(&o->graph));
    const acu_fill fill = {o->buffer, ACU_F32, &one, .width = ACU_REST};
    OK(acu_graph_add_fill(o->graph, NULL, 0, &fill, &node));
    OK(acu_graph_instantiate(o->graph, NULL, &o->exec));
    OK(acu_exec_launch(o->exec, stream));
    OK(acu_stream_synchronize(stream));
    o->stream = stream;
    OK(acu_log_listen(release_all, o, &o->listener));
}

/* Calls that fail in CUDA while this library has locks of its own. */
static acu_result fail_in_a_graph(acu_graph *graph) {
    acu_node a, b;
    OK(acu_graph_add_empty(graph, NULL, 0, &a));
    OK(acu_graph_add_empty(graph, &a, 1, &b));
    return acu_graph_add_dependencies(graph, &a, &b, NULL, 1);
}

static acu_result fail_to_instantiate(acu_graph *graph) {
    acu_exec *exec = NULL;
    const acu_exec_options unknown = {.flags = 1u << 30};
    return acu_graph_instantiate(graph, &unknown, &exec);
}

static acu_result fail_to_allocate(acu_graph *graph) {
    acu_stream *stream = NULL;
    acu_buffer *buffer = NULL;
    (void)graph;
    OK(acu_stream_create(0, NULL, &stream));
    const acu_result failed = acu_buffer_create(stream, ACU_U8, (size_t)1 << 50, &buffer);
    OK(acu_stream_release(stream));
    return failed;
}

static acu_result fail_to_set_a_limit(acu_graph *graph) {
    (void)graph;
    return acu_device_set_limit(0, (acu_device_limit)99, 1);
}

static void what_a_listener_releases_ends_later(void **state) {
    (void)state;
    static acu_result (*const fail[])(acu_graph *) = {fail_in_a_graph, fail_to_instantiate,
                                                      fail_to_allocate, fail_to_set_a_limit};
    acu_graph *graph = NULL;
    owner o;
    NEEDS_LOG();
    OK(acu_graph_create(&graph));
    for (size_t i = 0; i < sizeof fail / sizeof *fail; i++) {
        begin_to_own(&o);
        assert_true(fail[i](graph) > 0);
        if (is_simulated())
            assert_true(o.heard > 0);
        else if (!o.heard) /* the runtime refused the call itself */
            release_all(ACU_LOG_ERROR, "", 0, &o);
        OK(acu_device_synchronize(0)); /* what was put off ends */
    }
    OK(acu_graph_release(graph));
    if (is_simulated())
        assert_int_equal(acu_sim_leaks(1), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(drivers_without_a_log),
        TEST(a_listener_hears_lines),
        TEST(a_listener_that_ends_itself),
        TEST(lines_from_a_place_on),
        TEST(a_log_in_a_file),
        TEST(old_lines_are_forgotten),
        TEST(what_the_driver_says_of_failures),
        TEST(what_a_listener_releases_ends_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
