/* The driver's log: what is said of calls that fail, to whom, and where the lines are. */
#define _DEFAULT_SOURCE
#include "sim_test.h"
#include "../scratch.h"

#include <anycuda/cuda.h>

#include <fcntl.h>
#include <pthread.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define HEAD "\\[[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\\.[0-9]{3}\\]\\[[0-9]+\\]\\[CUDA\\]\\[E\\] "

static void matches(const char *text, const char *pattern) {
    regex_t compiled;
    assert_int_equal(regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB), 0);
    const int result = regexec(&compiled, text, 0, NULL, 0);
    regfree(&compiled);
    if (result)
        fail_msg("\"%s\" is not like \"%s\"", text, pattern);
}

/* Returns what was logged since the place, to where the place then goes. */
static const char *logged(cudaLogIterator *from) {
    static char text[30000];
    size_t size = sizeof text;
    OK(cudaLogsDumpToMemory(from, text, &size, 0));
    assert_int_equal(size, strlen(text));
    return text;
}

static size_t lines_in(const char *text) {
    size_t lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

/* ---- lines ---- */

TEST(a_call_that_fails_is_a_line) {
    cudaLogIterator at;
    CUstream none = (CUstream)8;
    OK(cudaFree(NULL));
    OK(cudaLogsCurrent(&at, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemFree(7));
    matches(logged(&at), "^(" HEAD "[^\n]*\n)?" HEAD
                         "Returning 1 \\(CUDA_ERROR_INVALID_VALUE\\) from cuMemFree_v2\n$");
    FAILS(cudaErrorInvalidDevice, cudaSetDevice(99));
    matches(logged(&at),
            "\\[E\\] Returning 101 \\(cudaErrorInvalidDevice\\) from cudaSetDevice\n$");
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(none));
    matches(logged(&at),
            "Returning 400 \\(CUDA_ERROR_INVALID_HANDLE\\) from cuStreamSynchronize\n$");
}

/* Some numbers are the runtime's only. */
TEST(each_library_has_its_own_numbers) {
    cudaLogIterator at;
    char bytes[16] = "";
    const CUDA_MEMCPY2D narrow = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                                  .srcHost = bytes,
                                  .srcPitch = 4,
                                  .dstMemoryType = CU_MEMORYTYPE_HOST,
                                  .dstHost = bytes,
                                  .WidthInBytes = 8,
                                  .Height = 2};
    OK(cudaFree(NULL));
    OK(cudaLogsCurrent(&at, 0));
    FAILS(cudaErrorInvalidPitchValue, cudaMemcpy2D(bytes, 4, bytes, 4, 8, 2, cudaMemcpyHostToHost));
    matches(logged(&at), "Returning 12 \\(cudaErrorInvalidPitchValue\\) from cudaMemcpy2D\n$");
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D(&narrow));
    matches(logged(&at), "Returning 1 \\(CUDA_ERROR_INVALID_VALUE\\) from cuMemcpy2D_v2\n$");
}

TEST(the_reason_is_a_line_before) {
    cudaLogIterator at;
    int host = 0;
    OK(cudaLogsCurrent(&at, 0));
    FAILS(cudaErrorInvalidValue, cudaFree(&host));
    matches(logged(&at), "^" HEAD "no memory is allocated at [^\n]*\n" HEAD
                         "Returning 1 \\(cudaErrorInvalidValue\\) from cudaFree\n$");
    expect_reason("no memory is allocated at");
}

TEST(what_is_no_failure_is_no_line) {
    cudaLogIterator at;
    cudaStream_t stream;
    blocker b = {0};
    OK(cudaStreamCreate(&stream));
    OK(cudaLogsCurrent(&at, 0));
    block_stream(&b, stream);
    SAYS(cudaErrorNotReady, cudaStreamQuery(stream));
    SAYS(CUDA_ERROR_NOT_READY, cuStreamQuery((CUstream)stream));
    unblock_stream(&b);
    OK(cudaStreamSynchronize(stream));
    OK(cudaStreamDestroy(stream));
    assert_string_equal(logged(&at), "");
    SAYS(cudaErrorInvalidDevice, cudaSetDevice(99));
    assert_int_equal(lines_in(logged(&at)), 1);
    SAYS(cudaErrorInvalidDevice, cudaPeekAtLastError());
    SAYS(cudaErrorInvalidDevice, cudaGetLastError());
    assert_string_equal(logged(&at), "");
}

TEST(the_log_fails_as_other_calls_do) {
    char text[16] = "before";
    size_t size = sizeof text;
    char path[SCRATCH_SIZE];
    cudaLogIterator at;
    OK(cudaLogsCurrent(&at, 0));
    OK(cudaLogsDumpToMemory(&at, text, &size, 0));
    assert_int_equal(size, 0);
    assert_string_equal(text, "");
    int file = mkstemp(scratch_path(path));
    if (file < 0) {
        fail_msg("no file can be made at %s", path);
        return;
    }
    assert_int_equal(write(file, "x", 1), 1);
    OK(cudaLogsDumpToFile(&at, path, 0));
    assert_int_equal(lseek(file, 0, SEEK_END), 0);
    assert_int_equal(close(file), 0);
    assert_int_equal(remove(path), 0);

    cudaLogIterator before = at;
    FAILS(cudaErrorInvalidValue, cudaLogsDumpToMemory(&at, text, &size, 0)); /* no room: 0 bytes */
    FAILS(cudaErrorInvalidValue, cudaLogsCurrent(NULL, 0));
    OK(cudaLogsCurrent(&at, 1));
    FAILS(cudaErrorInvalidValue, cudaLogsDumpToFile(NULL, "/no/such/folder/log", 0));
    assert_int_equal(lines_in(logged(&before)), 3);
}

/* ---- listeners ---- */

typedef struct ear {
    pthread_t thread;
    int count;
    cudaLogLevel level;
    char line[512];
    bool calls; /* CUDA, and fails */
} ear;

static void hear(void *data, cudaLogLevel level, char *text, size_t length) {
    ear *e = data;
    e->count++;
    e->thread = pthread_self();
    e->level = level;
    assert_int_equal(length, strlen(text));
    snprintf(e->line, sizeof e->line, "%s", text);
    memset(text, '!', length); /* the program's own copy */
    if (e->calls) {
        assert_int_equal(cudaSetDevice(77), cudaErrorInvalidDevice);
        assert_int_equal(cudaSetDevice(0), cudaSuccess);
    }
}

TEST(a_listener_hears_what_fails_in_its_thread) {
    cudaLogsCallbackHandle handle;
    ear e = {.count = 0}, other = {.count = 0};
    OK(cudaLogsRegisterCallback(hear, &e, &handle));
    FAILS(cudaErrorInvalidDevice, cudaSetDevice(99));
    assert_int_equal(e.count, 1);
    assert_int_equal(e.level, cudaLogLevelError);
    assert_true(pthread_equal(e.thread, pthread_self()));
    matches(e.line, "^" HEAD "Returning 101 \\(cudaErrorInvalidDevice\\) from cudaSetDevice$");
    OK(cudaLogsRegisterCallback(hear, &other, NULL));
    FAILS(cudaErrorInvalidValue, cudaLogsUnregisterCallback(NULL));
    assert_int_equal(e.count, 2);
    assert_string_equal(e.line, other.line);
    OK(cudaLogsUnregisterCallback(handle));
    FAILS(cudaErrorInvalidValue, cudaLogsUnregisterCallback(handle));
    FAILS(cudaErrorInvalidValue, cudaLogsRegisterCallback(NULL, NULL, &handle));
    assert_int_equal(e.count, 2);
    assert_int_equal(other.count, 3);
}

/* What fails in a listener is in the log, but is not told, or that would not end. */
TEST(a_listener_may_make_calls_that_fail) {
    cudaLogIterator at;
    ear e = {.calls = true};
    int host = 0;
    OK(cudaLogsRegisterCallback(hear, &e, NULL));
    OK(cudaLogsCurrent(&at, 0));
    assert_int_equal(cudaFree(&host), cudaErrorInvalidValue);
    expect_reason("no memory is allocated at"); /* the failure's own reason */
    assert_int_equal(e.count, 2);
    assert_int_equal(lines_in(logged(&at)), 4);
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidValue);
}

enum { THREADS = 4, EACH = 20 };

static void *fail_often(void *unused) {
    (void)unused;
    for (int i = 0; i < EACH; i++)
        assert_int_equal(cudaSetDevice(99), cudaErrorInvalidDevice);
    return NULL;
}

TEST(threads_fail_at_once) {
    cudaLogIterator at;
    pthread_t threads[THREADS];
    OK(cudaLogsCurrent(&at, 0));
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, fail_often, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    matches(logged(&at), "^(" HEAD "Returning 101 [^\n]* from cudaSetDevice\n){80}$");
}

/* ---- CUDA_LOG_FILE ---- */

/* Begins anew with the variable, makes a call fail, and ends with neither. */
static void fail_with_file(const char *target, const char *machine) {
    setenv("CUDA_LOG_FILE", target, 1);
    acu_sim_reset(machine);
    FAILS(cudaErrorInvalidDevice, cudaSetDevice(99));
    unsetenv("CUDA_LOG_FILE");
    acu_sim_reset(MACHINE);
    FAILS(cudaErrorInvalidDevice, cudaSetDevice(98)); /* is not written there */
}

static void a_file_has(const char *path, const char *pattern) {
    char text[4096];
    int file = open(path, O_RDONLY);
    assert_true(file >= 0);
    const ssize_t size = read(file, text, sizeof text - 1);
    assert_true(size >= 0);
    text[size] = '\0';
    assert_int_equal(close(file), 0);
    matches(text, pattern);
}

TEST(a_file_gets_the_lines) {
    char path[SCRATCH_SIZE];
    int file = mkstemp(scratch_path(path));
    assert_true(file >= 0);
    assert_int_equal(close(file), 0);
    fail_with_file(path, MACHINE);
    a_file_has(path, "^" HEAD "Returning 101 [^\n]* from cudaSetDevice\n$");
    fail_with_file(path, MACHINE ",driver=12.8,runtime=12.8"); /* has no log */
    fail_with_file(path, MACHINE);                             /* appends */
    a_file_has(path, "^(" HEAD "Returning 101 [^\n]* from cudaSetDevice\n){2}$");
    assert_int_equal(remove(path), 0);
}

/* Does with descriptor 1 or 2 on a file. */
static void fail_with_stream(const char *target, int descriptor, const char *pattern) {
    char path[SCRATCH_SIZE];
    int file = mkstemp(scratch_path(path));
    fflush(NULL);
    int kept = dup(descriptor);
    assert_true(file >= 0 && kept >= 0 && dup2(file, descriptor) >= 0);
    fail_with_file(target, MACHINE);
    fflush(NULL);
    assert_true(dup2(kept, descriptor) >= 0);
    assert_int_equal(close(kept), 0);
    assert_int_equal(close(file), 0);
    a_file_has(path, pattern);
    assert_int_equal(remove(path), 0);
}

TEST(stdout_and_stderr_get_the_lines) {
    fail_with_stream("stdout", STDOUT_FILENO, "^" HEAD "Returning 101 [^\n]*\n$");
    fail_with_stream("stderr", STDERR_FILENO, "^" HEAD "Returning 101 [^\n]*\n$");
}

TEST(a_file_that_cannot_be_opened_is_named_once) {
    fail_with_stream("/no/such/folder/log", STDERR_FILENO,
                     "^anycuda: simulator: CUDA_LOG_FILE: cannot open \"/no/such/folder/log\": "
                     "[^\n]+\n$");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        T(a_call_that_fails_is_a_line),
        T(each_library_has_its_own_numbers),
        T(the_reason_is_a_line_before),
        T(what_is_no_failure_is_no_line),
        T(the_log_fails_as_other_calls_do),
        T(a_listener_hears_what_fails_in_its_thread),
        T(a_listener_may_make_calls_that_fail),
        T(threads_fail_at_once),
        T(a_file_gets_the_lines),
        T(stdout_and_stderr_get_the_lines),
        T(a_file_that_cannot_be_opened_is_named_once),
    };
    return RUN(tests);
}
