/*
 * Checks on a real GPU: one process, one libcudart, chosen by ANYCUDA_CUDART.
 *
 * A check is a function. It returns at its first failure; what it says goes into the report.
 */
#ifndef SMOKE_H
#define SMOKE_H

#include <anycuda/cudart.h>
#include <anycuda/load.h>

#include <stdbool.h>
#include <stdint.h>

typedef struct check {
    const char *name;
    void (*body)(void);
} check;

extern const check memory_checks[], property_checks[], graph_checks[], kernel_checks[];
extern const check boundary_checks[], ptds_checks[];

/* ---- what a check says ---- */

#define PRINTF(text, first) __attribute__((format(printf, text, first)))

void fail(const char *format, ...) PRINTF(1, 2);
void skip(const char *format, ...) PRINTF(1, 2);
/* For the reader: it is judged by nobody. */
void tell(const char *format, ...) PRINTF(1, 2);
/* Must be the same on every runtime that says something of `key`. */
void value(const char *key, const char *format, ...) PRINTF(2, 3);

/* Returns from the check unless the condition holds; the rest is printf's. */
#define EXPECT(condition, ...)                                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fail(__VA_ARGS__);                                                                     \
            return;                                                                                \
        }                                                                                          \
    } while (0)

/* Returns from the check unless the call succeeds. */
#define OK(call)                                                                                   \
    do {                                                                                           \
        if (failed(#call, (int)(call)))                                                            \
            return;                                                                                \
    } while (0)
bool failed(const char *call, int result);

/* Returns from the check, after judging the refusal, where the runtime is older than that. */
#define NEEDS(version, call)                                                                       \
    do {                                                                                           \
        if (runtime() < (version)) {                                                               \
            expect_refusal(#call, (call), version);                                                \
            return;                                                                                \
        }                                                                                          \
    } while (0)
void expect_refusal(const char *call, cudaError_t result, int since);

/* ---- what checks share ---- */

/* The loaded runtime's version, 12040, and the driver's. */
int runtime(void);
int driver(void);

/* NVIDIA's own function, past anycuda; NULL if the runtime does not export it. */
void *raw(const char *symbol);

/* Stores `value` at `at`, on the stream, by a kernel. Returns a CUresult. */
int store(cudaStream_t stream, unsigned *at, unsigned value);
extern const char store_ptx[];

static inline bool is_zero(const void *bytes, size_t size) {
    const unsigned char *at = bytes;
    while (size && *at == 0) {
        at++;
        size--;
    }
    return size == 0;
}

#endif
