/* Ranges, marks and domains, as a tool hears them that the program is linked with; and the
 * profiler. */
#define _GNU_SOURCE /* syscall */
#include "safe.h"
#include "../nvtx_tool.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What a tool that is linked with a program defines. */
int (*InitializeInjectionNvtx2_fnptr)(const void *(*)(uint32_t)) = tool_attaches;

/* The tool was told these lines since the last look, and nothing else. */
static void heard_lines(const char *const *lines, int count) {
    static int seen;
    for (int i = 0; i < count; i++) {
        assert_true(seen < tool.count);
        assert_string_equal(tool.lines[seen++], lines[i]);
    }
    if (seen < tool.count)
        fail_msg("told as well: %s", tool.lines[seen]);
}
#define HEARD(...)                                                                                 \
    heard_lines((const char *const[]){__VA_ARGS__},                                                \
                sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void a_tool_attaches_once(void **state) {
    (void)state;
    assert_true(acu_range_heard());
    assert_int_equal(tool.attached, 1);
    assert_int_equal(tool.nvtx, 3);
    static const unsigned expected[7] = {0, 16, 9, 15, 7, 16, 7};
    assert_memory_equal(tool.functions, expected, sizeof expected);
}

static void ranges_nest_and_marks_are_moments(void **state) {
    (void)state;
    OK(acu_range_push(NULL, "outer", NULL));
    OK(acu_range_push(NULL, "inner", &(acu_range_options){.color = 0xff00ff00}));
    OK(acu_range_mark(NULL, "now", NULL));
    OK(acu_range_pop(NULL));
    OK(acu_range_pop(NULL));
    HEARD("push -: outer", "push -: inner (color 1 0xff00ff00, category 0)", "mark -: now", "pop -",
          "pop -");
}

static void payloads_keep_their_type(void **state) {
    (void)state;
    const acu_range_options number = {
        .category = 7, .payload = ACU_PAYLOAD_U64, .number.u64 = UINT64_MAX};
    const acu_range_options negative = {.payload = ACU_PAYLOAD_I64, .number.i64 = -5};
    const acu_range_options half = {.payload = ACU_PAYLOAD_F64, .number.f64 = 0.5};
    OK(acu_range_mark(NULL, "a", &number));
    OK(acu_range_mark(NULL, "b", &negative));
    OK(acu_range_mark(NULL, "c", &half));
    HEARD("mark -: a (color 0 0x00000000, category 7, u64 18446744073709551615)",
          "mark -: b (color 0 0x00000000, category 0, i64 -5)",
          "mark -: c (color 0 0x00000000, category 0, f64 0.5)");
}

static void a_domain_has_ranges_of_its_own(void **state) {
    (void)state;
    acu_domain *domain = NULL;
    OK(acu_domain_create("solver", &domain));
    assert_non_null(acu_domain_raw(domain));
    assert_string_equal(acu_domain_name(domain), "solver");
    OK(acu_domain_set_category_name(domain, 3, "io"));
    OK(acu_domain_set_category_name(NULL, 4, "net"));
    OK(acu_range_push(domain, "step", NULL));
    OK(acu_range_pop(domain));
    OK(acu_range_mark(domain, "done", NULL));
    assert_ptr_equal(acu_domain_retain(domain), domain);
    OK(acu_domain_release(domain));
    OK(acu_domain_release(domain));
    HEARD("domain solver", "category solver 3: io", "category - 4: net", "push solver: step",
          "pop solver", "mark solver: done", "destroy solver");
}

static void *end_it(void *range) {
    OK(acu_range_end(NULL, *(uint64_t *)range));
    return NULL;
}

static void a_range_may_end_on_another_thread(void **state) {
    (void)state;
    uint64_t a = 0, b = 0;
    pthread_t thread;
    OK(acu_range_start(NULL, "a", NULL, &a));
    OK(acu_range_start(NULL, "b", NULL, &b));
    assert_true(a && b && a != b);
    assert_int_equal(pthread_create(&thread, NULL, end_it, &a), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    OK(acu_range_end(NULL, b));
    OK(acu_range_end(NULL, 0));
    HEARD("start -: a", "start -: b", "end -: 101", "end -: 102");
}

static acu_result leaves_early(bool early) {
    ACU_RANGE(NULL, "scope");
    if (early)
        return 1;
    ACU_RANGE(NULL, "rest");
    return 0;
}

static void a_range_ends_with_its_scope(void **state) {
    (void)state;
    assert_int_equal(leaves_early(true), 1);
    assert_int_equal(leaves_early(false), 0);
    HEARD("push -: scope", "pop -", "push -: scope", "push -: rest", "pop -", "pop -");
}

static void a_domain_of_nvtx_is_wrapped_or_adopted(void **state) {
    (void)state;
    acu_domain *theirs = NULL, *mine = NULL;
    char text[200], owned[] = "theirs";
    void *raw = tool_create_domain("adopted"); /* as NVTX's own header would make it */
    OK(acu_domain_wrap((void *)owned, &theirs));
    OK(acu_domain_adopt(raw, &mine));
    assert_ptr_equal(acu_domain_raw(mine), raw);
    assert_string_equal(acu_domain_name(mine), "");
    OK(acu_range_mark(theirs, "x", NULL));
    OK(acu_range_mark(mine, "y", NULL));
    assert_true(acu_domain_describe(theirs, text, sizeof text) > 0);
    assert_non_null(strstr(text, "wrapped"));
    OK(acu_domain_release(theirs));
    OK(acu_domain_release(mine));
    HEARD("domain adopted", "mark theirs: x", "mark adopted: y", "destroy adopted");
}

static void a_line_names_the_domain(void **state) {
    (void)state;
    acu_domain *domain = NULL;
    char text[200];
    OK(acu_domain_create("a \"name\"", &domain));
    (void)acu_domain_describe(domain, text, sizeof text);
    assert_non_null(strstr(text, "domain 0x"));
    assert_non_null(strstr(text, "(\"a \"name\"\")"));
    OK(acu_domain_release(domain));
    HEARD("domain a \"name\"", "destroy a \"name\"");
}

static void things_have_names(void **state) {
    (void)state;
    char lines[4][100];
    acu_stream *stream = NULL, *legacy = NULL;
    acu_event *event = NULL;
    OK(acu_stream_create(0, NULL, &stream));
    OK(acu_stream_get_legacy(0, &legacy));
    OK(acu_event_create(0, NULL, &event));
    snprintf(lines[0], sizeof lines[0], "thread %ld: main", (long)syscall(SYS_gettid));
    snprintf(lines[1], sizeof lines[1], "stream %p: uploads", (void *)acu_stream_raw(stream));
    snprintf(lines[2], sizeof lines[2], "stream %p: all", (void *)acu_stream_raw(legacy));
    snprintf(lines[3], sizeof lines[3], "event %p: uploaded", (void *)acu_event_raw(event));
    OK(acu_thread_set_name("main"));
    OK(acu_device_set_name(0, "the first"));
    OK(acu_device_set_name(ACU_DEVICE_CURRENT, "the current"));
    OK(acu_stream_set_name(stream, "uploads"));
    OK(acu_stream_set_name(legacy, "all"));
    OK(acu_event_set_name(event, "uploaded"));
    OK(acu_event_release(event));
    OK(acu_stream_release(legacy));
    OK(acu_stream_release(stream));
    HEARD(lines[0], "device 0: the first", "device 0: the current", lines[1], lines[2], lines[3]);
}

static void ranges_do_not_touch_a_capture(void **state) {
    (void)state;
    acu_stream *stream = NULL;
    acu_graph *graph = NULL;
    acu_domain *domain = NULL;
    size_t count = 0;
    OK(acu_stream_create(0, NULL, &stream));
    OK(acu_stream_begin_capture(noted(stream), NULL));
    OK(acu_domain_create("captured", &domain));
    OK(acu_range_push(domain, "x", NULL));
    OK(acu_range_pop(domain));
    OK(acu_domain_release(domain));
    OK(acu_stream_end_capture(stream, &graph));
    OK(acu_graph_get_nodes(graph, NULL, &count));
    assert_int_equal(count, 0);
    OK(acu_graph_release(graph));
    OK(acu_stream_release(stream));
    HEARD("domain captured", "push captured: x", "pop captured", "destroy captured");
}

static void calls_are_named_on_request(void **state) {
    (void)state;
    acu_stream *stream = NULL;
    acu_event *event = NULL;
    acu_name_calls(1);
    OK(acu_stream_create(0, NULL, &stream));
    OK(acu_range_push(NULL, "mine", NULL)); /* what tells of ranges is none */
    OK(acu_event_create(0, NULL, &event));
    FAILS(acu_event_record(event, NULL), ACU_ERROR_ARGUMENT, "NULL");
    acu_event_cleanup(&event);
    OK(acu_range_pop(NULL));
    acu_name_calls(0);
    OK(acu_stream_release(stream));
    HEARD("domain anycuda", "push anycuda: acu_stream_create", "pop anycuda", "push -: mine",
          "push anycuda: acu_event_create", "pop anycuda", "push anycuda: acu_event_record",
          "pop anycuda", "push anycuda: acu_event_release", "pop anycuda", "pop -");
}

static void the_profiler_starts_and_stops(void **state) {
    (void)state;
    OK(acu_profiler_start());
    OK(acu_profiler_stop());
    OK(acu_profiler_stop());
    FAILS((acu_inject_errors("cudaProfilerStart@1:2"), acu_profiler_start()), 2,
          "cudaProfilerStart");
    FAILS((acu_inject_errors("cudaProfilerStop@1:2"), acu_profiler_stop()), 2, "cudaProfilerStop");
    acu_inject_errors(NULL);
}

static void the_profiler_leaves_captures_alone(void **state) {
    (void)state;
    acu_stream *stream = NULL;
    acu_graph *graph = NULL;
    OK(acu_stream_create(0, NULL, &stream));
    OK(acu_stream_begin_capture(noted(stream), NULL));
    FAILS(acu_profiler_start(), ACU_ERROR_CAPTURE, "acu_profiler_start");
    FAILS(acu_profiler_stop(), ACU_ERROR_CAPTURE, "acu_profiler_stop");
    OK(acu_stream_end_capture(stream, &graph));
    OK(acu_profiler_start());
    OK(acu_profiler_stop());
    OK(acu_graph_release(graph));
    OK(acu_stream_release(stream));
}

enum { THREADS = 4, EACH = 8 };

static void *tell_often(void *unused) {
    (void)unused;
    for (int i = 0; i < EACH; i++) {
        OK(acu_range_push(NULL, "t", NULL));
        OK(acu_range_pop(NULL));
    }
    return NULL;
}

static void many_threads_tell_at_once(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    const int before = tool.count;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, tell_often, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(tool.count - before, THREADS * EACH * 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_tool_attaches_once),
        TEST(ranges_nest_and_marks_are_moments),
        TEST(payloads_keep_their_type),
        TEST(a_domain_has_ranges_of_its_own),
        TEST(a_range_may_end_on_another_thread),
        TEST(a_range_ends_with_its_scope),
        TEST(a_domain_of_nvtx_is_wrapped_or_adopted),
        TEST(a_line_names_the_domain),
        TEST(things_have_names),
        TEST(ranges_do_not_touch_a_capture),
        TEST(calls_are_named_on_request),
        TEST(the_profiler_starts_and_stops),
        TEST(the_profiler_leaves_captures_alone),
        TEST(many_threads_tell_at_once), /* last: its lines are not looked at */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
