#define _POSIX_C_SOURCE 200809L
#include "pairs.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PAIRS = 301, NS = 500000 /* one half of a pair lasts about that long */ };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Nanoseconds for one call. */
static double measure(loop *fn, long calls, settle *after) {
    double begin = now();
    fn(calls);
    double spent = now() - begin;
    after();
    return spent / (double)calls;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values) {
    qsort(values, PAIRS, sizeof *values, ascending);
    return values[PAIRS / 2];
}

void print_header(const char *first, const char *second) {
    printf("| call | %s, ns | %s, ns | added, ns: min / median / max | ratio: min / median / max "
           "|\n|---|---|---|---|---|\n",
           first, second);
}

void compare(const char *name, loop *first, loop *second, long most, settle *after) {
    static double one[PAIRS], other[PAIRS], added[PAIRS], ratio[PAIRS];
    long calls = 100;
    while (measure(first, calls, after) * (double)calls < NS && calls < 1000000)
        calls *= 2;
    if (most && calls > most)
        calls = most;
    measure(second, calls, after);
    for (int i = 0; i < PAIRS; i++) {
        if (i % 2) /* neither is always the one that comes after */
            other[i] = measure(second, calls, after);
        one[i] = measure(first, calls, after);
        if (!(i % 2))
            other[i] = measure(second, calls, after);
        added[i] = other[i] - one[i];
        ratio[i] = other[i] / one[i];
    }
    double a = median(one), b = median(other), more = median(added), times = median(ratio);
    printf("| %s | %.2f | %.2f | %.2f / %.2f / %.2f | %.3f / %.3f / %.3f |\n", name, a, b, added[0],
           more, added[PAIRS - 1], ratio[0], times, ratio[PAIRS - 1]);
    fflush(stdout);
}
