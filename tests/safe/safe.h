/*
 * What the tests of the safe layer share. Each begins on a new simulator, and must leave nothing
 * behind. They run on GPUs, too: what cannot be had there is skipped, and the reason printed.
 */
#ifndef SAFE_H
#define SAFE_H

#include <setjmp.h>
#include <stdarg.h>
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

/* Ends the test, skipped, on a GPU. */
#define ONLY_SIMULATED(why)                                                                        \
    do {                                                                                           \
        if (!is_simulated()) {                                                                     \
            print_message("needs the simulator: %s\n", why);                                       \
            skip();                                                                                \
        }                                                                                          \
    } while (0)

/* Most machines with GPUs have one. */
static inline int wants_another_device(acu_result result) {
    return result == 101 && !is_simulated() &&
           strstr(acu_last_error_message(), "there is no device 1; there are 1");
}

/* Succeeds, or the test ends with what the library says. */
#define OK(call)                                                                                   \
    do {                                                                                           \
        acu_result ok_result = (call);                                                             \
        if (wants_another_device(ok_result)) {                                                     \
            print_message("needs two devices\n");                                                  \
            skip();                                                                                \
        }                                                                                          \
        if (ok_result)                                                                             \
            fail_msg("%s is %d: %s", #call, ok_result, acu_last_error_message());                  \
    } while (0)

/* Fails with the code, tells it, and has `text` in the message. */
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

static inline int begin(void **state) {
    (void)state;
    return begin_on("devices=2,memory=1GiB");
}

static inline int nothing_left(void **state) {
    acu_error error;
    (void)state;
    acu_fail_when(NULL);
    if (acu_release_error(&error)) {
        print_error("a release failed: %s\n", error.message);
        return -1;
    }
    return acu_sim_leaks(1) ? -1 : 0;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, nothing_left)

/* Work on a stream that does not end before open_gate(), which waits until it has ended. */
typedef struct gate {
    int open, passed;
} gate;
void close_gate(gate *at, acu_stream *stream);
void open_gate(gate *at);
void unlock_gate(gate *at); /* does not wait */

#endif
