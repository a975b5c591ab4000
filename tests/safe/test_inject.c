/*
 * Every CUDA call of every scenario fails once. Whatever fails, nothing is leaked, the error is the
 * one that was made, and the same works afterwards. Where a function fails from then on, the error
 * may be another one, but the device does not fail: nothing was freed that it still used.
 *
 * A trace of an undisturbed run shows which calls those are. The scenarios are in scenarios.c.
 */
#include "scenarios.h"
#include "../scratch.h"

#include <anycuda/cudart.h>
#include <anycuda/sim.h>

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- one run, and what it called ---- */

static bool simulated;

enum { CALLS = 1000, NAME = 64 };

typedef struct trace {
    size_t count;
    struct {
        char function[NAME];
        bool injected, refused;
    } calls[CALLS];
} trace;

static char trace_file[SCRATCH_SIZE];

/* As assertions, in a process without cmocka. */
#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "    " __VA_ARGS__);                                                   \
            fputc('\n', stderr);                                                                   \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* "[thread] function(arguments) = result  duration"; what has no result cannot fail, and to make
 * the question for the last error fail would be no failure of CUDA. */
static void read_line(trace *all, const char *line) {
    const char *name = strchr(line, ' ') + 1;
    size_t length = strcspn(name, "(");
    if (!strstr(line, ") = ") || strncmp(name, "cudaGetLastError(", length + 1) == 0 ||
        strncmp(name, "cudaPeekAtLastError(", length + 1) == 0)
        return;
    CHECK(all->count < CALLS && length < NAME, "the trace has more than this test has room for");
    memcpy(all->calls[all->count].function, name, length);
    all->calls[all->count].function[length] = '\0';
    all->calls[all->count].injected = strstr(line, " (injected)") != NULL;
    all->calls[all->count].refused = strstr(line, " (refused)") != NULL;
    all->count++;
}

static acu_result traced_run(const scenario *it) {
    CHECK(truncate(trace_file, 0) == 0 && acu_trace_to(trace_file) == 0, "no trace");
    acu_result result = it->run();
    acu_trace_to(NULL);
    return result;
}

static void read_trace(trace *all) {
    char line[8192];
    FILE *file = fopen(trace_file, "r");
    CHECK(file, "no trace");
    all->count = 0;
    while (fgets(line, sizeof line, file))
        read_line(all, line);
    fclose(file);
}

/* ---- each of its calls fails ---- */

typedef struct injection {
    const scenario *in;
    const char *function;
    size_t nth; /* of the function's calls */
    size_t at;  /* of all calls */
    int code;
    bool ever; /* all later calls of the function fail, too */
} injection;

/* What is not destroyed because CUDA refuses to cannot be anything but left. */
static bool is_release(const char *function) {
    return strstr(function, "Free") || strstr(function, "Destroy") ||
           strstr(function, "Unregister") || strstr(function, "Unload") ||
           strstr(function, "Release") || strstr(function, "Unmap");
}

/* A call may succeed nevertheless, if this is seen behind the error. */
static const struct {
    int code; /* 0: any */
    const char *by;
} remedies[] = {
    {2, "cudaMemPoolTrimTo"},    /* room is made, and memory asked for again */
    {0, "cudaEventSynchronize"}, /* the host waits where the stream could not be told to */
    {0, "cudaStreamSynchronize"},
};

/* Around most waits the thread's mode is set. Where that fails, the wait works all the same. */
static bool is_mode(const injection *it) {
    return strcmp(it->function, "cudaThreadExchangeStreamCaptureMode") == 0;
}

static bool is_call(const trace *made, size_t i, const char *function) {
    return i < made->count && strcmp(made->calls[i].function, function) == 0;
}

/* Looks for a kernel's function in the primary context, or for the context of a stream. Where that
 * fails, the kernel is launched as it is. */
static bool is_shortcut(const injection *it, const trace *made) {
    bool is = is_call(made, it->at, "cuCtxGetId") || is_call(made, it->at, "cuStreamGetCtx") ||
              is_call(made, it->at, "cuStreamGetGreenCtx");
    for (size_t back = 0; back <= 5 && back <= it->at && !is; back++)
        is = is_call(made, it->at - back, "cuDevicePrimaryCtxGetState");
    return is;
}

static bool is_made_good(const injection *it, const trace *made) {
    if (is_mode(it) || is_shortcut(it, made))
        return true;
    for (size_t r = 0; r < COUNT(remedies); r++)
        for (size_t i = it->at; i < made->count; i++)
            if ((!remedies[r].code || remedies[r].code == it->code) &&
                strcmp(made->calls[i].function, remedies[r].by) == 0)
                return true;
    return false;
}

/* The mode is set in the same way everywhere, so that a few times show it; and where a function
 * fails from then on, its first calls show most. A capture that nobody can end goes on, and then
 * the device cannot be waited for. */
static bool is_left_out(const injection *it) {
    const bool ends = strcmp(it->function, "cudaStreamEndCapture") == 0;
    return (is_mode(it) && it->nth > 4) || (it->ever && (it->nth > 2 || ends));
}

enum { NOT_MET = 3 }; /* how a process ends where the call was not called */

/* What a release could not destroy may be left, but it is not freed too early. */
static void check_ever(const injection *it, const char *rule) {
    const size_t kept = acu_release_error(NULL);
    CHECK(acu_device_synchronize(0) == 0, "%s: the device fails: %s", rule,
          acu_last_error_message());
    const int left = acu_sim_leaks(kept == 0);
    CHECK(left == 0 || kept > 0, "%s: %d leaked", rule, left);
    if (left)
        begin_kernels(NULL);
    const acu_result result = it->in->run();
    CHECK(!result, "%s: the run after it is %d: %s", rule, result, acu_last_error_message());
    CHECK(acu_device_synchronize(0) == 0, "%s: the device fails", rule);
}

static void run_with(const injection *it) {
    static trace made;
    char rule[2 * NAME];
    acu_error released;
    begin_kernels(NULL);
    snprintf(rule, sizeof rule, "%s@%zu%s:%d", it->function, it->nth, it->ever ? "+" : "",
             it->code);
    CHECK(acu_inject_errors(rule) == 0, "%s is no rule", rule);
    acu_result result = traced_run(it->in);
    const char *message = acu_last_error_message();
    read_trace(&made);
    acu_inject_errors(NULL);
    if (it->at >= made.count || !made.calls[it->at].injected)
        exit(NOT_MET);
    if (it->ever) {
        check_ever(it, rule);
        return;
    }
    CHECK(!result || (result == it->code && acu_last_error() == it->code && *message),
          "%s: the result is %d, the last error %d: %s", rule, result, acu_last_error(), message);
    size_t kept = acu_release_error(&released);
    CHECK(!kept || released.code == it->code, "%s: a release failed with %d: %s", rule,
          released.code, released.message);
    CHECK(result || kept || is_made_good(it, &made), "%s: nothing reported it", rule);
    CHECK(acu_device_synchronize(0) == 0, "%s: the device fails", rule); /* launches may go on */
    int may_leave = kept && is_release(it->function) ? 1 : 0;
    int left = acu_sim_leaks(!may_leave);
    CHECK(left <= may_leave, "%s: %d leaked, %zu releases failed", rule, left, kept);
    if (left)
        begin_kernels(NULL);
    result = it->in->run();
    CHECK(!result, "%s: the run after it is %d: %s", rule, result, acu_last_error_message());
    CHECK(acu_device_synchronize(0) == 0, "%s: the device fails", rule);
    CHECK(acu_sim_leaks(1) == 0, "%s: the run after it leaks", rule);
}

static void run_cleanly(const injection *it) {
    begin_kernels(NULL);
    acu_result result = traced_run(it->in);
    CHECK(!result, "the result is %d: %s", result, acu_last_error_message());
    CHECK(acu_device_synchronize(0) == 0, "the device fails");
    CHECK(acu_sim_leaks(1) == 0 && acu_release_error(NULL) == 0, "it leaks");
}

/* In a process of its own, so that what is asked once per process fails, too. */
static int alone(void (*run)(const injection *), const injection *it) {
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        run(it);
        exit(0);
    }
    waitpid(child, &status, 0);
    return status;
}

static void find_another_device(const injection *it) {
    (void)it;
    exit(another_device());
}

static void ask_driver(const injection *it) {
    (void)it;
    const int version = driver_version();
    exit(version / 1000 * 10 + version % 1000 / 10); /* an exit status is a byte */
}

static void ask_simulated(const injection *it) {
    (void)it;
    exit(is_simulated());
}

static const struct {
    int code;
    bool ever;
} ways[] = {{2, false}, {719, false}, {2, true}};
static trace clean, again; /* of the first run of a process, and of the second */

static void aim(injection *it, const trace *calls, size_t at, size_t way) {
    it->at = at;
    it->code = ways[way].code;
    it->ever = ways[way].ever;
    it->function = calls->calls[at].function;
    it->nth = 1;
    for (size_t i = 0; i < at; i++)
        it->nth += strcmp(calls->calls[i].function, it->function) == 0;
}

static void run_twice(const injection *it) {
    run_cleanly(it);
    run_cleanly(it);
}

/*
 * A second run calls all but what is asked once per process: these fail one after the other in one
 * process. That is over where something is found wrong, or where an earlier error had an effect,
 * such as another current device, so that a call is not met; the next one goes on from there.
 */
static struct {
    size_t at, way;
} *next; /* which both processes see */

/* A process takes a GPU a second to begin, and a sanitizer twenty times as long as usual. */
#if defined(__SANITIZE_ADDRESS__)
enum { PROCESSES_ARE_SLOW = 1 };
#else
enum { PROCESSES_ARE_SLOW = 0 };
#endif

/* On a GPU, which takes its time, each call fails in one of the ways. */
static bool is_asked(size_t at, size_t way) {
    return simulated || at % COUNT(ways) == way;
}

static void run_in_a_row(const injection *first) {
    injection it = *first;
    /* The runtime keeps the context from then on, which a GPU takes long to make for each run. */
    CHECK(!cudaSetDevice(elsewhere) && !cudaFree(NULL) && !cudaSetDevice(0), "no other device");
    run_cleanly(&it);
    for (; next->at < again.count; next->at++, next->way = 0)
        for (; next->way < COUNT(ways) && !again.calls[next->at].refused; next->way++) {
            aim(&it, &again, next->at, next->way);
            if (!is_asked(next->at, next->way) || is_left_out(&it))
                continue;
            alarm(100);
            CHECK(cudaSetDevice(0) == 0, "there is no device 0"); /* a failure may leave another */
            run_with(&it);
        }
    alarm(0);
}

/* What is over by then, and so called or not, depends on a GPU, but not on the simulator. */
static int report_failure(const injection *it, int status) {
    bool missed = WIFEXITED(status) && WEXITSTATUS(status) == NOT_MET;
    if (!status || (missed && !simulated))
        return 0;
    print_error("%s@%zu%s:%d%s\n", it->function, it->nth, it->ever ? "+" : "", it->code,
                missed                ? " was not met"
                : WIFSIGNALED(status) ? " ended the process, or did not end"
                                      : "");
    return 1;
}

static int fail_in_a_row(injection *it) {
    int failed = 0, status = 1;
    for (next->at = next->way = 0; status && next->at < again.count;) {
        size_t at = next->at, way = next->way;
        status = alone(run_in_a_row, it);
        if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_MET &&
            (at != next->at || way != next->way))
            continue;
        if (next->at < again.count && next->way < COUNT(ways))
            aim(it, &again, next->at, next->way);
        if (++next->way >= COUNT(ways)) {
            next->at++;
            next->way = 0;
        }
        failed += report_failure(it, status);
    }
    return failed;
}

/* Where processes are slow, only what a second run does not call fails in a process of its own. */
static void survives(void **state) {
    int failed = 0;
    size_t met = 0;
    const bool slow = PROCESSES_ARE_SLOW || !simulated;
    injection it = {.in = *state};
    assert_int_equal(alone(run_cleanly, &it), 0);
    read_trace(&clean);
    assert_true(clean.count > 0);
    assert_int_equal(alone(run_twice, &it), 0);
    read_trace(&again);
    failed += fail_in_a_row(&it);
    for (size_t at = 0; at < clean.count; at++) {
        const char *function = clean.calls[at].function;
        if (slow && met < again.count && strcmp(function, again.calls[met].function) == 0) {
            met++;
            continue;
        }
        for (size_t c = 0; c < COUNT(ways) && !clean.calls[at].refused; c++) {
            aim(&it, &clean, at, c);
            failed += is_asked(at, c) && !is_left_out(&it)
                          ? report_failure(&it, alone(run_with, &it))
                          : 0;
        }
    }
    assert_int_equal(failed, 0);
}

/* A word names the scenario to be run, so that others can run beside it; or --list. */
int main(int count, char **words) {
    struct CMUnitTest tests[MOST_SCENARIOS] = {{0}};
    if (scenario_count > MOST_SCENARIOS)
        return 1;
    if (count > 1 && strcmp(words[1], "--list") == 0) {
        for (size_t i = 0; i < scenario_count; i++)
            puts(scenarios[i].name);
        return 0;
    }
    if (count > 1)
        cmocka_set_test_filter(words[1]);
    close(mkstemp(scratch_path(trace_file)));
    char shared[SCRATCH_SIZE];
    int place = mkstemp(scratch_path(shared));
    next = ftruncate(place, sizeof *next)
               ? MAP_FAILED
               : mmap(NULL, sizeof *next, PROT_READ | PROT_WRITE, MAP_SHARED, place, 0);
    unlink(shared);
    if (next == MAP_FAILED)
        return 1;
    simulated = WEXITSTATUS(alone(ask_simulated, NULL));
    const int version = WEXITSTATUS(alone(ask_driver, NULL));
    known_driver = version / 10 * 1000 + version % 10 * 10;
    elsewhere = WEXITSTATUS(alone(find_another_device, NULL)); /* CUDA does not survive a fork */
    for (size_t i = 0; i < scenario_count; i++)
        tests[i] = (struct CMUnitTest){.name = scenarios[i].name,
                                       .test_func = survives,
                                       .initial_state = (void *)&scenarios[i]};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(trace_file);
    return failed;
}
