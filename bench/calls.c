/*
 * A call through anycuda against the same call linked directly, in pairs within one process. Prints
 * a table in Markdown. Which libcudart that is, is decided when this is linked: the fake one of
 * empty functions, or a real one. Exits with 77 where a real one finds no GPU.
 */
#define _POSIX_C_SOURCE 200809L
#include "loops.h"

#include <anycuda/cudart.h>
#include <anycuda/load.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PAIRS = 301, NS = 500000 /* one half of a pair lasts about that long */ };

void *bench_stream, *bench_event;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Nanoseconds for one call. What it left in the queue is not its own. */
static double measure(loop *fn, long calls) {
    double begin = now();
    fn(calls);
    double spent = now() - begin;
    if (cudaStreamSynchronize(bench_stream))
        abort();
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

static void compare(const char *name, loop *first, loop *second) {
    static double direct[PAIRS], ours[PAIRS], added[PAIRS], ratio[PAIRS];
    long calls = 100;
    while (measure(first, calls) * (double)calls < NS && calls < 1000000)
        calls *= 2;
    if (first == direct_cudaEventRecord) /* as many as the queue takes without waiting */
        calls = calls < 500 ? calls : 500;
    measure(second, calls);
    for (int i = 0; i < PAIRS; i++) {
        if (i % 2) /* neither is always the one that comes after */
            ours[i] = measure(second, calls);
        direct[i] = measure(first, calls);
        if (!(i % 2))
            ours[i] = measure(second, calls);
        added[i] = ours[i] - direct[i];
        ratio[i] = ours[i] / direct[i];
    }
    double one = median(direct), other = median(ours), more = median(added), times = median(ratio);
    printf("| %s | %.2f | %.2f | %.2f / %.2f / %.2f | %.3f / %.3f / %.3f |\n", name, one, other,
           added[0], more, added[PAIRS - 1], ratio[0], times, ratio[PAIRS - 1]);
}

int main(void) {
    /* Already in the process, as it is linked. */
    if (cudaStreamCreate((cudaStream_t *)&bench_stream) ||
        cudaEventCreate((cudaEvent_t *)&bench_event)) {
        printf("%s\n", acu_last_error_message());
        return 77;
    }
    if (strcmp(acu_loaded(ACU_CUDART)->found, "already in the process") != 0) {
        printf("anycuda took another libcudart: %s\n", acu_loaded(ACU_CUDART)->path);
        return 1;
    }
    printf("| call | direct, ns | anycuda, ns | added, ns: min / median / max | ratio: min / "
           "median / max |\n");
    printf("|---|---|---|---|---|\n");
    compare("cudaGetDevice", direct_cudaGetDevice, anycuda_cudaGetDevice);
    compare("cudaStreamQuery", direct_cudaStreamQuery, anycuda_cudaStreamQuery);
    compare("cudaEventRecord", direct_cudaEventRecord, anycuda_cudaEventRecord);
    compare("noise: direct cudaGetDevice twice", direct_cudaGetDevice, direct_cudaGetDevice);
    return 0;
}
