/* What the simulator's tests share. Each test begins in a fresh simulator with two devices of 1
 * GiB. */
#ifndef SIM_TEST_H
#define SIM_TEST_H

#include <anycuda/cudart.h>
#include <anycuda/sim.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#ifndef MACHINE_MORE /* tests of kernels are compiled for each way to execute them */
#define MACHINE_MORE ""
#endif
#define MACHINE "devices=2,memory=1GiB" MACHINE_MORE

#define OK(call) assert_int_equal(call, cudaSuccess)
/* Checks that the call returns the code, and that cudaGetLastError() then does; but not
 * cudaErrorNotReady, which is an answer and is not recorded. */
#define FAILS(code, call)                                                                          \
    do {                                                                                           \
        assert_int_equal(call, code);                                                              \
        assert_int_equal(cudaGetLastError(), (code) == cudaErrorNotReady ? cudaSuccess : (code));  \
    } while (0)
#define SAYS(code, call) assert_int_equal(call, code)

/* Checks that the message of the last failure has the text, and was not cut off. */
static inline void expect_reason(const char *text) {
    if (!strstr(acu_last_error_message(), text))
        print_error("expected: %s\nmessage:  %s\n", text, acu_last_error_message());
    assert_non_null(strstr(acu_last_error_message(), text));
    assert_non_null(strstr(acu_last_error_message(), "; libcud"));
}

/* Checks the error of a call of the runtime, and its reason. */
#define SAID(code, call, text)                                                                     \
    do {                                                                                           \
        FAILS(code, call);                                                                         \
        expect_reason(text);                                                                       \
    } while (0)

static inline int begin(void **state) {
    (void)state;
    acu_sim_reset(MACHINE);
    return 0;
}

/* Nothing is left, unless the test says so by resetting. */
static inline int end(void **state) {
    (void)state;
    return acu_sim_leaks(1);
}

/* TEST(name) { … }, and in the list: T(name) */
#define TEST(name) static void name(void **state __attribute__((unused)))
#define T(name)    cmocka_unit_test_setup_teardown(name, begin, end)
#define RUN(tests) cmocka_run_group_tests(tests, NULL, NULL)

static inline void pause_briefly(void) {
    const struct timespec moment = {.tv_nsec = 200000};
    nanosleep(&moment, NULL);
}

/* Work that does not end before unblock_stream(), and holds the work behind it up. */
typedef struct blocker {
    atomic_int is_open, reached;
} blocker;

static inline void wait_until_unblocked(void *data) {
    blocker *b = data;
    atomic_store(&b->reached, 1);
    while (!atomic_load(&b->is_open))
        pause_briefly();
}

static inline void block_stream(blocker *b, cudaStream_t stream) {
    OK(cudaLaunchHostFunc(stream, wait_until_unblocked, b));
}

static inline void unblock_stream(blocker *b) {
    atomic_store(&b->is_open, 1);
}

#endif
