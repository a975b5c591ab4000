/*
 * Cases of what CUDA does, for the simulator and for real libcudarts alike.
 *
 *   CASE(nothing_is_nowhere) {
 *       void *memory = &memory;
 *       OK(cudaMalloc(&memory, 0));
 *       IS(memory == NULL);
 *       FAILS(cudaErrorInvalidValue, cudaMalloc(NULL, 100));
 *   }
 */
#ifndef CONFORMANCE_H
#define CONFORMANCE_H

#include <anycuda/cuda.h>
#include <anycuda/cudart.h>
#include <anycuda/load.h>
#include <anycuda/supports.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { KIB = 1 << 10, MIB = 1 << 20 };

/* ---- cases ---- */

typedef struct test_case {
    const char *file, *name;
    void (*body)(void);
    bool alone;
    struct test_case *next;
} test_case;

void add_case(test_case *added);

#define CASE(name) CASE_WITH(name, false)
/* In a process of its own. */
#define LONE_CASE(name) CASE_WITH(name, true)
#define CASE_WITH(name, is_alone)                                                                  \
    static void name(void);                                                                        \
    __attribute__((constructor)) static void add_##name(void) {                                    \
        static test_case it = {__FILE__, #name, name, is_alone, NULL};                             \
        add_case(&it);                                                                             \
    }                                                                                              \
    static void name(void)

/* ---- what a case needs ---- */

/* Ends the case, skipped, where there is no such feature. A *call* that the runtime lacks does so
 * by itself. */
#define NEEDS(feature)                                                                             \
    do {                                                                                           \
        if (!has_feature(feature))                                                                 \
            return;                                                                                \
    } while (0)
#define NEEDS_DEVICES(count)                                                                       \
    do {                                                                                           \
        if (!has_devices(count))                                                                   \
            return;                                                                                \
    } while (0)
bool has_feature(acu_feature feature);
bool has_devices(int count);
/* Ends nothing: the case returns by itself. */
void skip(const char *reason);

/* The loaded runtime's version, 12040; the driver's. */
int runtime(void);
int driver(void);
bool is_simulated(void);

/* What is expected from that version of the runtime on, and before. */
#define FROM(version, then, before) (runtime() >= (version) ? (then) : (before))

/* ---- checks: each takes a line in the record ---- */

/* The call succeeds; if not, the case ends. */
#define OK(call)                                                                                   \
    do {                                                                                           \
        if (!check_code(__LINE__, #call, CODE_NAME(call), (long long)(call), 0))                   \
            return;                                                                                \
    } while (0)

/* Checks that the call returns the code, and that cudaGetLastError() returns it once. */
#define FAILS(code, call)                                                                          \
    do {                                                                                           \
        (void)check_code(__LINE__, #call, CODE_NAME(call), (long long)(call), (long long)(code));  \
        if (is_skipped())                                                                          \
            return;                                                                                \
        check_last(__LINE__, #call, (long long)(code));                                            \
    } while (0)

/* Checks that the call returns the code; the last error is not checked. */
#define SAYS(code, call)                                                                           \
    do {                                                                                           \
        (void)check_code(__LINE__, #call, CODE_NAME(call), (long long)(call), (long long)(code));  \
        if (is_skipped())                                                                          \
            return;                                                                                \
    } while (0)

/* Checks that the call returns one of two codes. Chance decides which, so runs are not compared. */
#define SAYS_EITHER(a, b, call)                                                                    \
    check_either(__LINE__, #call, (long long)(a), (long long)(b), (long long)(call))

/* What a call, or any number, is; without a judgement: what no GPU has said yet, or what the next
 * chip may say otherwise. */
#define ASK(value) ask(__LINE__, #value, (long long)(value))

#define EQUAL(got, expected)                                                                       \
    check_number(__LINE__, #got " is " #expected, (long long)(got), (long long)(expected))
#define IS(condition) check_number(__LINE__, #condition, (condition) != 0, 1)
#define SAME_TEXT(got, expected)                                                                   \
    check_number(__LINE__, #got " is " #expected, strcmp((got), (expected)) == 0, 1)

typedef const char *name_of_code(long long code);
name_of_code runtime_code, driver_code;
#define CODE_NAME(call) _Generic((call), cudaError_t: runtime_code, default: driver_code)

bool check_code(int line, const char *call, name_of_code *name, long long got, long long expected);
void check_last(int line, const char *call, long long expected);
void check_either(int line, const char *call, long long a, long long b, long long got);
void check_number(int line, const char *what, long long got, long long expected);
void ask(int line, const char *what, long long got);
bool is_skipped(void);

/* ---- work that does not end by itself ---- */

/* The stream stops there until let_go(), or until the case ends; one at a time. */
void hold(cudaStream_t stream);
/* Returns when it went on. */
void let_go(void);

/* Whether the call returns only after the stream, where work does not end meanwhile, went on. */
#define WAITS(expected, stream, call)                                                              \
    do {                                                                                           \
        (expected) ? hold_briefly(stream) : hold_long(stream);                                     \
        OK(call);                                                                                  \
        check_number(__LINE__, "waits: " #call, has_gone_on(), (expected));                        \
    } while (0)
void hold_briefly(cudaStream_t stream);
/* For a call that is not to wait, however slow the machine is. */
void hold_long(cudaStream_t stream);
/* Also waits until the stream went on. */
bool has_gone_on(void);

void wait_a_moment(void);
/* Waits until the value is the number; after many seconds it gives up. */
void wait_until_is(const int *value, int number);
/* Waits until the stream has nothing to do, without synchronising; returns what cuStreamQuery()
 * says then, after many seconds CUDA_ERROR_NOT_READY. */
CUresult end_of_work(CUstream stream);

/* Queues work that loses the context: 700 is an illegal address, 719 a launch failure. What it
 * needs is loaded first, since that may wait for the device. */
bool prepare_fault(void);
void fault(cudaStream_t stream, int code);

#endif
