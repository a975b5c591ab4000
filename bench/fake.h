/*
 * What the libraries whose functions do nothing have in common.
 *
 * With COLD those functions that are timed first run through as much code and memory as CUDA's own
 * do: what is left of a call is the way to it when nothing of that way is in the first caches, and
 * the processor's tables of branches and pages have forgotten it.
 */
#ifndef ACU_BENCH_FAKE_H
#define ACU_BENCH_FAKE_H

#include <stddef.h>

#pragma GCC visibility push(default)
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#if defined(COLD)
__attribute__((noinline)) static int work(void) {
    static volatile char memory[64 * 1024];
    for (size_t i = 0; i < sizeof memory; i += 64)
        memory[i]++;
    /* NOLINTNEXTLINE(portability-no-assembler): gcc and clang have it */
    __asm__ volatile(".rept 1024\n nop\n .p2align 6\n .endr");
    return 0;
}
#else
static inline int work(void) {
    return 0;
}
#endif

#define EMPTY(name)                                                                                \
    int name(void) {                                                                               \
        return 0;                                                                                  \
    }
#define TIMED(name)                                                                                \
    int name(void) {                                                                               \
        return work();                                                                             \
    }

#endif
