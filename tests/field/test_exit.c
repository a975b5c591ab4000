/*
 * Failures seen in the field: a process that ends, or forks, while it holds CUDA's objects. Some
 * sixteen threads ask for a quiet exit: what is released too late must neither crash nor complain.
 *
 * Each test is a process of its own, on the simulator, which is unloaded at exit as a runtime is.
 */
#define _GNU_SOURCE
#include <anycuda/anycuda.h>
#include <anycuda/cudart.h>
#include <anycuda/sim.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char printed[4096];

/* Runs it until its process has ended; returns how that was, and what it printed on stderr. */
static int alone(int (*body)(void)) {
    int ends[2], status = -1;
    size_t used = 0;
    ssize_t got;
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        alarm(100); /* instead of hanging */
        exit(body());
    }
    close(ends[1]);
    while (used + 1 < sizeof printed &&
           (got = read(ends[0], printed + used, sizeof printed - used - 1)) > 0)
        used += (size_t)got;
    printed[used] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void expect_quiet(int (*body)(void)) {
    int status = alone(body);
    if (status != 0 || printed[0])
        fail_msg("it ended with %d and printed: %s", status, printed);
}

/* ---- what a program holds ---- */

static struct {
    acu_stream *stream;
    acu_event *event;
    acu_pool *pool;
    acu_buffer *buffers[5];
    acu_buffer *slice;
    acu_module *module;
    acu_kernel *kernel;
    acu_graph *graph;
    acu_exec *exec;
} held;

static const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
                          ".visible .entry nothing() { ret; }\n";

static void nothing(const acu_sim_launch *launch, void *const *args) {
    (void)launch;
    (void)args;
}

static void call_nothing(void *data) {
    (void)data;
}

/* Code, and a graph that owns a buffer, a kernel and a closure. */
static acu_result hold_graph(void) {
    const acu_grid grid = acu_grid_1d(1, 1);
    const float one = 1;
    const acu_fill fill = {
        .buffer = held.buffers[1], .dtype = ACU_F32, .element = &one, .width = ACU_REST};
    acu_sim_register("nothing", nothing);
    ACU_TRY(acu_module_load(0, &(acu_module_source){.ptx = ptx}, &held.module));
    ACU_TRY(acu_module_get_kernel(held.module, "nothing", &held.kernel));
    ACU_TRY(acu_graph_create(&held.graph));
    ACU_TRY(acu_graph_add_fill(held.graph, NULL, 0, &fill, NULL));
    ACU_TRY(acu_graph_add_kernel(held.graph, NULL, 0, held.kernel, &grid, NULL, 0, NULL));
    ACU_TRY(acu_graph_add_host(held.graph, NULL, 0, (acu_closure){call_nothing, NULL, NULL}, NULL));
    ACU_TRY(acu_graph_instantiate(held.graph, NULL, &held.exec));
    return acu_exec_launch(held.exec, held.stream);
}

static acu_result hold(void) {
    static const acu_memory kinds[] = {ACU_MEMORY_POOL, ACU_MEMORY_DEVICE, ACU_MEMORY_PINNED,
                                       ACU_MEMORY_MANAGED};
    ACU_TRY(acu_stream_create(0, NULL, &held.stream));
    ACU_TRY(acu_event_create(0, NULL, &held.event));
    ACU_TRY(acu_pool_create(0, NULL, &held.pool));
    for (int i = 0; i < 4; i++)
        ACU_TRY(acu_buffer_create_with(held.stream, ACU_F32, 100,
                                       &(acu_buffer_options){.memory = kinds[i]},
                                       &held.buffers[i]));
    ACU_TRY(acu_buffer_create_with(held.stream, ACU_F32, 100,
                                   &(acu_buffer_options){.pool = held.pool}, &held.buffers[4]));
    ACU_TRY(acu_buffer_slice(held.buffers[0], 10, 10, &held.slice));
    ACU_TRY(acu_buffer_zero(held.slice, NULL));
    ACU_TRY(hold_graph());
    return acu_event_record(held.event, held.stream);
}

/* Says each failure. The order is the least convenient: what is used goes before its users. */
static void release(void) {
    acu_error kept;
    acu_result results[13];
    int count = 0;
    results[count++] = acu_module_release(held.module);
    results[count++] = acu_kernel_release(held.kernel);
    results[count++] = acu_graph_release(held.graph);
    results[count++] = acu_exec_release(held.exec);
    results[count++] = acu_pool_release(held.pool);
    results[count++] = acu_stream_release(held.stream);
    for (int i = 0; i < 5; i++)
        results[count++] = acu_buffer_release(held.buffers[i]);
    results[count++] = acu_buffer_release(held.slice);
    results[count++] = acu_event_release(held.event);
    for (int i = 0; i < count; i++)
        if (results[i])
            fprintf(stderr, "release %d is %d: %s\n", i, results[i], acu_last_error_message());
    if (acu_release_error(&kept))
        fprintf(stderr, "kept: %s\n", kept.message);
}

/* ---- too late ---- */

static int releases_in_a_handler(void) {
    (void)atexit(release); /* before CUDA's own, which therefore runs first */
    return hold();
}

static void test_quiet_exit_releases_in_an_exit_handler(void **state) {
    (void)state;
    expect_quiet(releases_in_a_handler);
}

static bool in_destructor;

__attribute__((destructor)) static void at_the_very_end(void) {
    if (in_destructor)
        release();
}

static int releases_in_a_destructor(void) {
    in_destructor = true;
    return hold();
}

static void test_quiet_exit_releases_in_a_static_destructor(void **state) {
    (void)state;
    expect_quiet(releases_in_a_destructor);
}

static int releases_nothing(void) {
    return hold();
}

static void test_quiet_exit_releases_nothing(void **state) {
    (void)state;
    expect_quiet(releases_nothing);
}

/* An error, and which: nobody may take it for a success, or for the end of the GPU. */
static void use(void) {
    float number = 1;
    acu_stream *stream = NULL;
    acu_result result = acu_buffer_write(held.buffers[0], &number, 1);
    if (result != cudaErrorCudartUnloading || acu_last_error() != result ||
        !strstr(acu_last_error_message(), "cudaErrorCudartUnloading"))
        fprintf(stderr, "write is %d: %s\n", result, acu_last_error_message());
    result = acu_stream_create(0, NULL, &stream);
    if (result != cudaErrorCudartUnloading || stream)
        fprintf(stderr, "create is %d: %s\n", result, acu_last_error_message());
    release();
}

static int uses_in_a_handler(void) {
    (void)atexit(use);
    return hold();
}

static void test_quiet_exit_use_after_unloading_is_an_error(void **state) {
    (void)state;
    expect_quiet(uses_in_a_handler);
}

/* The first call of all may come too late, too. */
static void use_first(void) {
    int count = 7;
    if (acu_device_get_count(&count) && count != 0)
        fprintf(stderr, "%d devices after: %s\n", count, acu_last_error_message());
}

static int calls_first_at_exit(void) {
    (void)atexit(use_first);
    return 0;
}

static void test_quiet_exit_the_first_call_is_in_an_exit_handler(void **state) {
    (void)state;
    expect_quiet(calls_first_at_exit);
}

static void *work(void *ready) {
    float numbers[100] = {0};
    for (int i = 0; acu_buffer_write(held.buffers[i % 4], numbers, 100) == 0; i++)
        __atomic_store_n((int *)ready, 1, __ATOMIC_RELEASE);
    for (;;) /* the process ends around it */
        pause();
    return NULL;
}

static int leaves_a_thread_at_work(void) {
    static int ready;
    pthread_t thread;
    if (hold() || pthread_create(&thread, NULL, work, &ready))
        return 1;
    while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
        sched_yield();
    return 0;
}

static void test_quiet_exit_with_a_thread_at_work(void **state) {
    (void)state;
    for (int i = 0; i < 20; i++)
        expect_quiet(leaves_a_thread_at_work);
}

/* ---- forks ---- */

static int status_of(pid_t child) {
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* CUDA does not survive a fork: every call of the child reports so, and it may release. */
static int forks(void) {
    float number = 1;
    if (hold())
        return 1;
    pid_t child = fork();
    if (child == 0) {
        alarm(100);
        acu_result result = acu_buffer_write(held.buffers[0], &number, 1);
        if (result != cudaErrorInitializationError || acu_last_error() != result)
            _exit(2);
        if (!strstr(acu_last_error_message(), "was forked by one that had used CUDA"))
            _exit(3);
        for (int i = 0; i < 5; i++)
            (void)acu_buffer_release(held.buffers[i]);
        (void)acu_buffer_release(held.slice);
        (void)acu_event_release(held.event);
        (void)acu_stream_release(held.stream);
        (void)acu_pool_release(held.pool);
        (void)acu_exec_release(held.exec);
        (void)acu_graph_release(held.graph);
        (void)acu_kernel_release(held.kernel);
        (void)acu_module_release(held.module);
        exit(0);
    }
    if (status_of(child))
        return 10 + status_of(child);
    if (acu_buffer_write(held.buffers[0], &number, 1) ||
        acu_buffer_read(held.buffers[0], &number, 1))
        return 3; /* the parent goes on */
    release();
    return 0;
}

static void test_fork_the_child_is_told_and_the_parent_goes_on(void **state) {
    (void)state;
    expect_quiet(forks);
}

/* A child of a process that never called CUDA may use it: multiprocessing, servers that fork. */
static int forks_first(void) {
    pid_t child = fork();
    if (child == 0) {
        acu_result result = hold();
        if (!result)
            release();
        exit(result != 0);
    }
    int status = status_of(child);
    return status ? status : hold() ? 4 : (release(), 0);
}

static void test_fork_before_the_first_call(void **state) {
    (void)state;
    expect_quiet(forks_first);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quiet_exit_releases_in_an_exit_handler),
        cmocka_unit_test(test_quiet_exit_releases_in_a_static_destructor),
        cmocka_unit_test(test_quiet_exit_releases_nothing),
        cmocka_unit_test(test_quiet_exit_use_after_unloading_is_an_error),
        cmocka_unit_test(test_quiet_exit_the_first_call_is_in_an_exit_handler),
        cmocka_unit_test(test_quiet_exit_with_a_thread_at_work),
        cmocka_unit_test(test_fork_the_child_is_told_and_the_parent_goes_on),
        cmocka_unit_test(test_fork_before_the_first_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
