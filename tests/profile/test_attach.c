/*
 * Which tool a program finds, and when. Each case is a process of its own, because a program looks
 * once.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <anycuda/profile.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%d: %s\n", __LINE__, #condition);                                     \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static void in_a_process(void (*run)(void), const char *tool) {
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (tool)
            setenv("NVTX_INJECTION64_PATH", tool, 1);
        else
            unsetenv("NVTX_INJECTION64_PATH");
        run();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* Stores the address of a function that the tool's library exports. */
static void find(const char *name, void *function) {
    void *library = dlopen(TOOL, RTLD_LAZY | RTLD_NOLOAD);
    CHECK(library);
    void *address = dlsym(library, name);
    CHECK(address);
    memcpy(function, &address, sizeof address);
}

static void tell_all(void) {
    uint64_t range = 1;
    acu_domain *domain = NULL;
    CHECK(acu_domain_create("d", &domain) == 0);
    CHECK(acu_range_push(domain, "a", NULL) == 0 && acu_range_pop(domain) == 0);
    CHECK(acu_range_mark(NULL, "b", NULL) == 0);
    CHECK(acu_range_start(domain, "c", NULL, &range) == 0 && acu_range_end(domain, range) == 0);
    CHECK(acu_domain_set_category_name(domain, 1, "x") == 0);
    CHECK(acu_domain_release(domain) == 0);
}

static void expect_lines(const char *const *expected) {
    const char *(*line)(int);
    int at = 0;
    find("tool_line", &line);
    for (; expected[at]; at++)
        CHECK(line(at) && strcmp(line(at), expected[at]) == 0);
    CHECK(!line(at));
}

static void all_is_heard(void) {
    static const char *const expected[] = {"domain d",        "push d: a",  "pop d",
                                           "mark -: b",       "start d: c", "end d: 101",
                                           "category d 1: x", "destroy d",  NULL};
    tell_all();
    CHECK(acu_range_heard());
    expect_lines(expected);
}

static void nothing_is_heard(void) {
    uint64_t range = 1;
    tell_all();
    CHECK(!acu_range_heard());
    CHECK(acu_range_start(NULL, "c", NULL, &range) == 0 && range == 0);
    CHECK(acu_range_push(NULL, NULL, NULL) == 0); /* nobody looks at the arguments */
}

static void *tell_in_a_thread(void *barrier) {
    pthread_barrier_wait(barrier);
    acu_range_mark(NULL, "t", NULL);
    return NULL;
}

/* All threads' first marks are heard: those that come while the tool attaches wait for it. */
static void the_first_marks_of_threads_are_heard(void) {
    enum { THREADS = 8 };
    static const char *const expected[] = {"mark -: t", "mark -: t", "mark -: t",
                                           "mark -: t", "mark -: t", "mark -: t",
                                           "mark -: t", "mark -: t", NULL};
    pthread_t threads[THREADS];
    pthread_barrier_t barrier;
    int (*attached)(void);
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, tell_in_a_thread, &barrier) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    expect_lines(expected);
    find("tool_attached", &attached);
    CHECK(attached() == 1);
}

static void a_tool_is_named_by_the_environment(void **state) {
    (void)state;
    in_a_process(all_is_heard, TOOL);
    in_a_process(the_first_marks_of_threads_are_heard, TOOL);
}

static void without_a_tool_nothing_happens(void **state) {
    (void)state;
    in_a_process(nothing_is_heard, NULL);
    in_a_process(nothing_is_heard, "");
    in_a_process(nothing_is_heard, "/nowhere/tool.so");
    in_a_process(nothing_is_heard, NO_TOOL);
}

static void a_tool_may_refuse(void **state) {
    (void)state;
    setenv("NVTX_TOOL_REFUSES", "1", 1);
    in_a_process(nothing_is_heard, TOOL);
    unsetenv("NVTX_TOOL_REFUSES");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tool_is_named_by_the_environment),
        cmocka_unit_test(without_a_tool_nothing_happens),
        cmocka_unit_test(a_tool_may_refuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
