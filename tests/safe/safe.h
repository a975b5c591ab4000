/*
 * What the tests of the safe layer share. Each test begins on a new simulator, and must leave
 * nothing behind. The tests run on GPUs, too: what a GPU does not have is skipped, and the reason
 * printed.
 */
#ifndef SAFE_H
#define SAFE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <anycuda/anycuda.h>
#include <anycuda/load.h>
#include <anycuda/sim.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static inline int is_simulated(void) {
    return acu_load(NULL) == 0 && acu_loaded(ACU_CUDART)->is_sim;
}

/* Returns whether the tests' kernels are their PTX: on a GPU, and on the simulator with
 * ANYCUDA_TESTS_PTX. */
bool executes_ptx(void);

/* Lets a C function stand for a kernel whose PTX does the same, unless that is to be executed;
 * returns what acu_sim_register() does. */
int stand_in(const char *kernel, acu_sim_kernel function);

/* Skips the test that is running, and says why. */
#define SKIP(why)                                                                                  \
    do {                                                                                           \
        print_message("%s\n", why);                                                                \
        skip();                                                                                    \
    } while (0)

/* Skips the test on a GPU. */
#define ONLY_SIMULATED(why)                                                                        \
    do {                                                                                           \
        if (!is_simulated()) {                                                                     \
            print_message("needs the simulator: %s\n", why);                                       \
            skip();                                                                                \
        }                                                                                          \
    } while (0)

/* Returns the second device, or the first one where there is no other. */
static inline acu_device another_device(void) {
    int count = 0;
    return acu_device_get_count(&count) == 0 && count > 1 ? 1 : 0;
}

/* Skips the test where there is one device; for the beginning of a test. */
#define NEEDS_TWO_DEVICES()                                                                        \
    do {                                                                                           \
        if (another_device() == 0) {                                                               \
            print_message("needs two devices\n");                                                  \
            skip();                                                                                \
        }                                                                                          \
    } while (0)

/* Skips the test under compute-sanitizer, which runs one kernel at a time, waits where CUDA does
 * not, makes calls of its own, and reports what a test does wrong on purpose. */
#define NOT_UNDER_A_TOOL(why)                                                                      \
    do {                                                                                           \
        if (getenv("ANYCUDA_TESTS_SERIAL")) {                                                      \
            print_message("not under a tool (ANYCUDA_TESTS_SERIAL is set): %s\n", why);            \
            skip();                                                                                \
        }                                                                                          \
    } while (0)

/* The call succeeds, or the test fails with the library's message. */
#define OK(call)                                                                                   \
    do {                                                                                           \
        acu_result ok_result = (call);                                                             \
        if (ok_result)                                                                             \
            fail_msg("%s is %d: %s", #call, ok_result, acu_last_error_message());                  \
    } while (0)

/* The call fails with the code, which is the last error, too, and has `text` in its message. */
#define FAILS(call, expected, text)                                                                \
    do {                                                                                           \
        acu_clear_error();                                                                         \
        acu_result result_here = (call);                                                           \
        if (result_here != (expected) || acu_last_error() != (expected) ||                         \
            !strstr(acu_last_error_message(), (text)))                                             \
            fail_msg("%s is %d, the last error %d: %s", #call, result_here, acu_last_error(),      \
                     acu_last_error_message());                                                    \
    } while (0)

static inline int begin_on(const char *configuration) {
    if (is_simulated())
        acu_sim_reset(configuration);
    acu_clear_error();
    (void)acu_release_error(NULL);
    return 0;
}

/* These run around each test. A test that fails may leave a capture active, which is then ended, so
 * that it does not make later tests fail. */
typedef struct safe_test {
    void (*run)(void **state);
} safe_test;
int begin(void **state);
void run_whole(void **state);
int nothing_left(void **state);

#define SAFE_TEST(function, begin, end)                                                            \
    {                                                                                              \
        #function, run_whole, begin, end, &(safe_test) {                                           \
            function                                                                               \
        }                                                                                          \
    }
#define TEST(function) SAFE_TEST(function, begin, nothing_left)

/* Returns whether runtime and driver are that version, or newer. */
bool is_since(int version);

/* Returns whether the driver is that version, or newer. */
bool is_driver_since(int version);

/* Remembers that the stream may be captured; returns it. */
acu_stream *noted(acu_stream *stream);

/* Work on a stream that does not end before unblock_stream(), which waits until it has ended. */
typedef struct blocker {
    int open, passed;
} blocker;
void block_stream(blocker *at, acu_stream *stream);
void unblock_stream(blocker *at);
void unblock(blocker *at); /* does not wait for the work */
/* Checks that the stream's work is not done after it had time to end. */
void still_waits(acu_stream *stream);

/* Tries `count` seeds, or as many as the variable SEEDS says. Every version of the runtime has
   seeds of its own, so that the runs of one test do not repeat each other. */
void try_seeds(unsigned count, void (*try_with)(unsigned seed));
/* any() returns a number below `below`: the same numbers after each beginning with the same seed.
 */
void chance_begins(uint64_t seed);
unsigned any(unsigned below);

/* Keeps what the program's function for failures was shown last, until stop_reports(). */
void keep_reports(void);
void stop_reports(void);
/* Checks that the report was all that acu_last_error_details() now says; `call` is for the message.
 */
void expect_reported(const char *call);

/* A host function that takes a while. */
void work_50_ms(void *unused);

#endif
