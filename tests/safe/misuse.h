/*
 * What the tests of misuse share: each public function is called with handles that are none, with
 * NULL, and with devices that are not there. tests/tools/test_misuse.py finds what they forget.
 */
#ifndef MISUSE_H
#define MISUSE_H

#include "kernels.h"

#include <limits.h>

/* All of them live; a call is right but for the one argument that is not. */
extern struct good {
    acu_stream *stream;
    acu_event *event;
    acu_pool *pool;
    acu_buffer *buffer;
    acu_module *module;
    acu_kernel *kernel;
    acu_args *args;
    acu_graph *graph;
    acu_exec *exec;
    acu_node node;
    acu_grid grid;
} good;

/* Handles that are none. */
enum { A_NULL, RELEASED, OF_ANOTHER_KIND };
extern void *none[3];

int begin_misuse(void **state);
int end_misuse(void **state);
#define MISUSE(function) SAFE_TEST(function, begin_misuse, end_misuse)

void expect_refusal(acu_result result, int how, const char *call);

/* A closure whose data must be destroyed once, by the call that fails. */
extern int destroyed;
extern const acu_closure good_closure, empty_closure;

/* The call, with each `bad` handle from `first` on. */
#define TRIED(first, call)                                                                         \
    do {                                                                                           \
        for (int how = (first); how <= OF_ANOTHER_KIND; how++) {                                   \
            void *bad = none[how];                                                                 \
            acu_clear_error();                                                                     \
            expect_refusal((call), how, #call);                                                    \
        }                                                                                          \
    } while (0)
#define HANDLE(call)          TRIED(A_NULL, call)
#define OPTIONAL_HANDLE(call) TRIED(RELEASED, call)

/* The call fails, and all that the last error says was reported. */
#define REFUSED(call, expected, text)                                                              \
    do {                                                                                           \
        FAILS(call, expected, text);                                                               \
        expect_reported(#call);                                                                    \
    } while (0)

/* Of a pointer, where NULL is an error. */
#define NOT_NULL(call) REFUSED(call, ACU_ERROR_ARGUMENT, "NULL")
#define NO_DEVICE(call)                                                                            \
    do {                                                                                           \
        static const acu_device no_device[] = {99, INT_MAX, -3, INT_MIN};                          \
        for (size_t n = 0; n < COUNT(no_device); n++) {                                            \
            acu_device absent = no_device[n];                                                      \
            REFUSED(call, 101, "device ");                                                         \
        }                                                                                          \
    } while (0)

/* What tells something about a handle has an answer for what is none, and no error. */
#define SAYS(answer, call)                                                                         \
    do {                                                                                           \
        for (int how = A_NULL; how <= OF_ANOTHER_KIND; how++) {                                    \
            void *bad = none[how];                                                                 \
            if ((call) != (answer))                                                                \
                fail_msg("%s, where the handle is none (%d)", #call, how);                         \
        }                                                                                          \
    } while (0)

/* Retaining answers NULL and says why; a line names what is none; releasing NULL is fine; a cleanup
 * takes all of it. */
#define OWNERS(noun)                                                                               \
    do {                                                                                           \
        SAYS(NULL, acu_##noun##_retain(bad));                                                      \
        assert_int_equal(acu_last_error(), ACU_ERROR_HANDLE);                                      \
        expect_reported("acu_" #noun "_retain");                                                   \
        SAYS(true, acu_##noun##_describe(bad, NULL, 0) > 0);                                       \
        OPTIONAL_HANDLE(acu_##noun##_release(bad));                                                \
        OK(acu_##noun##_release(NULL));                                                            \
        acu_##noun *nothing = NULL;                                                                \
        acu_##noun##_cleanup(&nothing);                                                            \
    } while (0)

#endif
