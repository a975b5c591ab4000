#define _POSIX_C_SOURCE 200809L
#include "pairs.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PAIRS = 301, NS = 500000 /* one half of a pair lasts about that long */ };

double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

double measure(loop *fn, long calls, settle *after) {
    double begin = now_ns();
    fn(calls);
    double spent = now_ns() - begin;
    after();
    return spent / (double)calls;
}

long calls_for(double ns, loop *fn, long most, settle *after) {
    long calls = 1;
    most = most ? most : 1000000;
    while (calls < most && measure(fn, calls, after) * (double)calls < ns)
        calls *= 2;
    return calls < most ? calls : most;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median_of(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, ascending);
    return values[count / 2];
}

void print_header(const char *first, const char *second) {
    printf("| call | %s, ns | %s, ns | added, ns: min / median / max | ratio: min / median / max "
           "|\n|---|---|---|---|---|\n",
           first, second);
}

double compare(const char *name, loop *first, loop *second, long most, settle *after) {
    static double one[PAIRS], other[PAIRS], added[PAIRS], ratio[PAIRS];
    const long calls = calls_for(NS, first, most, after);
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
    double a = median_of(one, PAIRS), b = median_of(other, PAIRS), more = median_of(added, PAIRS),
           times = median_of(ratio, PAIRS);
    printf("| %s | %.2f | %.2f | %.2f / %.2f / %.2f | %.3f / %.3f / %.3f |\n", name, a, b, added[0],
           more, added[PAIRS - 1], ratio[0], times, ratio[PAIRS - 1]);
    fflush(stdout);
    return times;
}
