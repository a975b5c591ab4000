/* Results, their names, and what is kept of a failure. */
#include "safe.h"

#include <anycuda/cuda.h>
#include <anycuda/cudart.h>
#include <anycuda/nvrtc.h>

#include <ctype.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static void every_code_has_a_name(void **state) {
    (void)state;
    assert_string_equal(acu_result_name(0), "cudaSuccess");
    assert_string_equal(acu_result_name(2), "cudaErrorMemoryAllocation");
    assert_string_equal(acu_result_name(ACU_ERROR_RANGE), "ACU_ERROR_RANGE");
    assert_string_equal(acu_result_name(-1000), "unknown error");
    assert_string_equal(acu_result_name(12345), "unknown error");
    for (int code = ACU_ERROR_LIMIT; code < 0; code++) {
        assert_memory_equal(acu_result_name(code), "ACU_ERROR_", 10);
        assert_true(strlen(acu_result_string(code)) > 5);
    }
}

static void every_known_code_has_words(void **state) {
    (void)state;
    for (int code = 0; code < 1000; code++) {
        const char *name = acu_result_name(code), *text = acu_result_string(code);
        assert_non_null(name);
        assert_true(*text != '\0');
        if (strcmp(name, "unknown error") != 0)
            assert_null(strstr(text, "unrecognized"));
    }
}

static void a_failure_has_parts(void **state) {
    (void)state;
    acu_stream *stream = NULL;
    int value;
    FAILS(acu_device_get_attribute(7, 1, &value), 101, "device 7 does not exist; there ");
    acu_error error = acu_last_error_details();
    assert_int_equal(error.code, 101);
    assert_string_equal(error.call, "acu_device_get_attribute");
    assert_string_equal(error.message, acu_last_error_message());
    assert_true(*error.hint);

    OK(acu_stream_create(another_device(), NULL, &stream));
    acu_inject_errors("cudaStreamSynchronize@1:719");
    FAILS(acu_stream_synchronize(stream), 719, "error injected");
    error = acu_last_error_details();
    assert_string_equal(error.call, "acu_stream_synchronize");
    assert_non_null(strstr(error.object, "stream 0x"));
    assert_non_null(strstr(error.object, another_device() == 1 ? "on device 1" : "on device 0"));
    assert_non_null(strstr(error.message, "acu_stream_synchronize: cudaStreamSynchronize: "));
    OK(acu_stream_release(stream));
    assert_int_equal(acu_last_error(), 719); /* success leaves the last error */
    acu_clear_error();
    error = acu_last_error_details();
    assert_int_equal(error.code, 0);
    assert_string_equal(error.object, "");
    assert_string_equal(error.message, "");
}

static void a_code_has_a_kind(void **state) {
    static const struct {
        const char *rule;
        acu_error_kind kind;
    } cases[] = {
        {"cudaStreamSynchronize@1:1", ACU_ERROR_KIND_ARGUMENT},
        {"cudaStreamSynchronize@1:2", ACU_ERROR_KIND_MEMORY},
        {"cudaStreamSynchronize@1:36", ACU_ERROR_KIND_DRIVER},
        {"cudaStreamSynchronize@1:801", ACU_ERROR_KIND_DEVICE},
        {"cudaStreamSynchronize@1:209", ACU_ERROR_KIND_CODE},
        {"cudaStreamSynchronize@1:700", ACU_ERROR_KIND_WORK},
        {"cudaStreamSynchronize@1:900", ACU_ERROR_KIND_STATE},
        {"cudaStreamSynchronize@1:999", ACU_ERROR_KIND_OTHER},
        {"cudaStreamSynchronize@1:12345", ACU_ERROR_KIND_OTHER},
    };
    (void)state;
    acu_stream *stream = NULL;
    OK(acu_stream_create(0, NULL, &stream));
    for (size_t i = 0; i < COUNT(cases); i++) {
        acu_inject_errors(cases[i].rule);
        assert_int_not_equal(acu_stream_synchronize(stream), 0);
        assert_int_equal(acu_last_error_details().kind, cases[i].kind);
        assert_int_equal(acu_last_error_details().feature, -1);
    }
    OK(acu_stream_release(stream));
    assert_int_equal(acu_stream_synchronize(NULL), ACU_ERROR_ARGUMENT);
    assert_int_equal(acu_last_error_details().kind, ACU_ERROR_KIND_ARGUMENT);
    acu_clear_error();
    assert_int_equal(acu_last_error_details().kind, ACU_ERROR_KIND_NONE);
    assert_int_equal(acu_last_error_details().feature, -1);
}

/* The driver's and NVRTC's numbers mean what they mean there. */
static void each_library_has_codes_of_its_own(void **state) {
    (void)state;
    acu_inject_errors("nvrtcVersion@1:1;cuInit@1:202"); /* out of memory; already current */
    int major, minor;
    assert_int_equal(nvrtcVersion(&major, &minor), NVRTC_ERROR_OUT_OF_MEMORY);
    assert_int_equal(acu_last_error_details().kind, ACU_ERROR_KIND_MEMORY);
    assert_int_equal(cuInit(0), CUDA_ERROR_CONTEXT_ALREADY_CURRENT);
    assert_int_equal(acu_last_error_details().kind, ACU_ERROR_KIND_OTHER);
}

/* ---- the program's function ---- */

typedef struct heard {
    int count, code;
    acu_error_kind kind;
    char call[40], object[160];
} heard;

static void hear(const acu_error *error, void *data) {
    heard *all = data;
    all->count++;
    all->code = error->code;
    all->kind = error->kind;
    snprintf(all->call, sizeof all->call, "%s", error->call);
    snprintf(all->object, sizeof all->object, "%s", error->object);
    /* What fails here is neither reported nor recorded. */
    assert_int_equal(acu_stream_synchronize(NULL), ACU_ERROR_ARGUMENT);
    assert_int_equal(acu_set_error_callback(NULL, NULL), ACU_ERROR_STATE);
}

static void failures_are_reported(void **state) {
    (void)state;
    heard all = {0};
    OK(acu_set_error_callback(hear, &all));
    assert_int_equal(acu_stream_synchronize(NULL), ACU_ERROR_ARGUMENT);
    assert_int_equal(all.count, 1);
    assert_string_equal(all.call, "acu_stream_synchronize");
    assert_int_equal(all.kind, ACU_ERROR_KIND_ARGUMENT);
    assert_int_equal(acu_last_error(), ACU_ERROR_ARGUMENT);

    acu_stream *stream = NULL;
    OK(acu_stream_create(0, NULL, &stream));
    acu_inject_errors("cudaStreamSynchronize@1:719");
    assert_int_equal(acu_stream_synchronize(stream), 719);
    assert_int_equal(all.count, 3); /* CUDA's, then anycuda's */
    assert_string_equal(all.call, "acu_stream_synchronize");
    assert_non_null(strstr(all.object, "stream 0x"));
    assert_int_equal(all.kind, ACU_ERROR_KIND_WORK);
    assert_int_equal(acu_last_error(), 719);
    OK(acu_stream_release(stream));

    assert_int_equal(cudaSetDevice(12345), cudaErrorInvalidDevice);
    assert_string_equal(all.call, "cudaSetDevice");
    assert_int_equal(acu_supports((acu_feature)0, 12345), cudaErrorInvalidDevice);
    assert_int_equal(all.count, 5);
    assert_int_equal(all.kind, ACU_ERROR_KIND_DEVICE);

    OK(acu_set_error_callback(NULL, NULL));
    assert_int_equal(acu_stream_synchronize(NULL), ACU_ERROR_ARGUMENT);
    assert_int_equal(all.count, 5);
    acu_clear_error();
    (void)cudaGetLastError();
}

/* The call fails with a hint of its own, which the program's function is shown. The next failure,
 * whose code has no hint, gets none. */
#define HINTED(call, expected, advice)                                                             \
    do {                                                                                           \
        FAILS(call, expected, "");                                                                 \
        if (!strstr(acu_last_error_details().hint, (advice)))                                      \
            fail_msg("%s has the hint '%s'", #call, acu_last_error_details().hint);                \
        expect_reported(#call);                                                                    \
        FAILS(acu_stream_synchronize(NULL), ACU_ERROR_ARGUMENT, "");                               \
        assert_string_equal(acu_last_error_details().hint, "");                                    \
        expect_reported("acu_stream_synchronize");                                                 \
    } while (0)

static void a_failures_own_hint_is_reported(void **state) {
    (void)state;
    acu_stream *stream = NULL;
    acu_graph *graph = NULL, *captured = NULL;
    acu_exec *exec = NULL;
    acu_buffer *floats = NULL, *numbers = NULL, *made = NULL;
    acu_module *module = NULL;
    OK(acu_stream_create(0, NULL, &stream));
    OK(acu_graph_create(&graph));
    OK(acu_buffer_create(stream, ACU_F32, 4, &floats));
    OK(acu_buffer_create(stream, ACU_I32, 4, &numbers));
    keep_reports();
    HINTED(acu_buffer_copy(floats, numbers, stream), ACU_ERROR_DTYPE, "acu_buffer_reinterpret()");
    HINTED(acu_module_load(0, &(acu_module_source){.ptx = "no PTX"}, &module), ACU_ERROR_ARGUMENT,
           "acu_module_compile()");
    HINTED(acu_stream_end_capture(stream, &captured), ACU_ERROR_CAPTURE,
           "acu_stream_begin_capture()");
    OK(acu_stream_begin_capture(noted(stream), NULL));
    HINTED(acu_stream_begin_capture(stream, NULL), ACU_ERROR_CAPTURE, "before another one begins");
    HINTED(acu_buffer_create(stream, ACU_F32, 4, &made), ACU_ERROR_CAPTURE,
           "acu_stream_capture_alloc()");
    HINTED(acu_graph_instantiate(graph, NULL, &exec), ACU_ERROR_CAPTURE, "or after its end");
    OK(acu_stream_end_capture(stream, &captured));
    OK(acu_graph_release(captured));
    captured = NULL;
    if (is_since(12030)) { /* has cudaStreamBeginCaptureToGraph() */
        OK(acu_stream_begin_capture(stream, &(acu_capture_options){.into = graph}));
        HINTED(acu_graph_instantiate(graph, NULL, &exec), ACU_ERROR_CAPTURE,
               "into the graph first");
        OK(acu_stream_end_capture(stream, &captured));
    }
    stop_reports();
    OK(acu_graph_release(captured));
    OK(acu_graph_release(graph));
    OK(acu_buffer_release(numbers));
    OK(acu_buffer_release(floats));
    OK(acu_stream_release(stream));
}

static void count_failures(const acu_error *error, void *data) {
    (void)error;
    __atomic_add_fetch((int *)data, 1, __ATOMIC_RELAXED);
}

static void *fail_often(void *unused) {
    (void)unused;
    for (int i = 0; i < 1000; i++)
        assert_int_equal(acu_stream_synchronize(NULL), ACU_ERROR_ARGUMENT);
    return NULL;
}

/* After acu_set_error_callback() has returned, no thread is in the old function. */
static void it_may_be_replaced_while_threads_fail(void **state) {
    (void)state;
    pthread_t threads[4];
    for (size_t i = 0; i < COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, fail_often, NULL), 0);
    for (int i = 0; i < 200; i++) {
        int *count = calloc(1, sizeof *count);
        OK(acu_set_error_callback(count_failures, count));
        OK(acu_set_error_callback(NULL, NULL));
        free(count);
    }
    for (size_t i = 0; i < COUNT(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void remember_code(const acu_error *error, void *data) {
    *(acu_result *)data = error->code;
}

/* The record has the runtime's numbers, also where NVRTC fails, which has its own. */
static void codes_of_nvrtc_are_translated(void **state) {
    (void)state;
    acu_result seen = 0;
    nvrtcProgram program = NULL;
    const char *options[] = {"--no-such-option"};
    OK(acu_set_error_callback(remember_code, &seen));
    assert_int_equal(nvrtcCreateProgram(&program, "int x;", NULL, 0, NULL, NULL), NVRTC_SUCCESS);
    assert_int_equal(nvrtcCompileProgram(program, 1, options), NVRTC_ERROR_INVALID_OPTION);
    OK(acu_set_error_callback(NULL, NULL));
    assert_int_equal(seen, ACU_ERROR_ARGUMENT);
    assert_int_equal(acu_last_error(), ACU_ERROR_ARGUMENT);
    assert_int_equal(acu_last_error_details().code, ACU_ERROR_ARGUMENT);
    assert_int_equal(nvrtcDestroyProgram(&program), NVRTC_SUCCESS);
    acu_clear_error();
}

static void fork_and_fail(const acu_error *error, void *data) {
    (void)error;
    *(pid_t *)data = fork();
}

/* A child that was forked in the program's function reports its own failures, and may set another
 * function. */
static void a_child_may_replace_it(void **state) {
    (void)state;
    pid_t child = -1;
    int status = -1, count = 0;
    OK(acu_set_error_callback(fork_and_fail, &child));
    assert_int_equal(acu_stream_synchronize(NULL), ACU_ERROR_ARGUMENT);
    if (child == 0) {
        alarm(20);
        acu_result set = acu_set_error_callback(count_failures, &count);
        acu_result failed = acu_stream_synchronize(NULL);
        _exit(set == 0 && failed == ACU_ERROR_ARGUMENT && count == 1 ? 0 : 1);
    }
    OK(acu_set_error_callback(NULL, NULL));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    acu_clear_error();
}

static void a_failing_release_is_kept_and_hides_nothing(void **state) {
    (void)state;
    acu_error error;
    acu_stream *stream = NULL;
    acu_event *event = NULL, *other = NULL;
    int value;
    OK(acu_stream_create(0, NULL, &stream));
    OK(acu_event_create(0, NULL, &event));
    OK(acu_event_create(0, NULL, &other));
    FAILS(acu_device_get_attribute(0, -5, &value), 1, "cudaDeviceGetAttribute");
    acu_inject_errors("cudaEventDestroy@*:46");
    struct CUevent_st *raw = acu_event_raw(event), *raw_other = acu_event_raw(other);
    assert_int_equal(acu_event_release(event), 46);
    assert_int_equal(acu_event_release(other), 46);
    assert_int_equal(acu_last_error(), 1);
    assert_non_null(strstr(acu_last_error_message(), "cudaDeviceGetAttribute"));
    assert_int_equal(acu_release_error(&error), 2);
    assert_int_equal(error.code, 46);
    assert_non_null(strstr(error.message, "acu_event_release: cudaEventDestroy: "));
    assert_non_null(strstr(error.object, "event 0x"));
    assert_int_equal(acu_release_error(&error), 0);
    assert_int_equal(error.code, 0);
    acu_inject_errors(NULL);
    OK(acu_event_adopt(0, raw, &event)); /* so that nothing is left */
    OK(acu_event_adopt(0, raw_other, &other));
    OK(acu_event_release(event));
    OK(acu_event_release(other));
    OK(acu_stream_release(stream));
}

static void nothing_is_called_while_the_runtime_unloads(void **state) {
    (void)state;
    /* The runtime stays in this state, so this test is the last one. */
    acu_event *event = NULL;
    acu_stream *stream = NULL;
    OK(acu_event_create(0, NULL, &event));
    OK(acu_stream_create(0, NULL, &stream));
    acu_inject_errors("cudaEventDestroy@1:4;cudaStreamDestroy@*:1");
    OK(acu_event_release(event));   /* "the runtime is unloading": fine, there is nothing to free */
    OK(acu_stream_release(stream)); /* CUDA is not called any more; the call would fail */
    assert_int_equal(acu_release_error(NULL), 0);
    acu_inject_errors(NULL);
    acu_sim_reset(NULL);
}

static acu_result tries(acu_result first, int *reached) {
    ACU_TRY(first);
    *reached = 1;
    return ACU_SUCCESS;
}

static void try_returns_early(void **state) {
    (void)state;
    int reached = 0;
    assert_int_equal(tries(ACU_ERROR_STATE, &reached), ACU_ERROR_STATE);
    assert_int_equal(reached, 0);
    assert_int_equal(tries(0, &reached), 0);
    assert_int_equal(reached, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(every_code_has_a_name),
        TEST(every_known_code_has_words),
        TEST(a_failure_has_parts),
        TEST(a_code_has_a_kind),
        TEST(each_library_has_codes_of_its_own),
        TEST(failures_are_reported),
        TEST(a_failures_own_hint_is_reported),
        TEST(it_may_be_replaced_while_threads_fail),
        TEST(codes_of_nvrtc_are_translated),
        TEST(a_child_may_replace_it),
        TEST(a_failing_release_is_kept_and_hides_nothing),
        TEST(try_returns_early),
        TEST(nothing_is_called_while_the_runtime_unloads), /* the last one */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
