/*
 * Kernels on the simulator, against the same work in plain C and on PoCL, in turns within one
 * process: bench_kernels [--cpu] [--only NAME] [--behind N] [libpocl]. Prints a line for each
 * kernel, with tabs: its name, thread-instructions, and milliseconds of each way, with the median
 * ratio of C's and PoCL's time to the simulator's. With --behind, N launches of the simulator
 * follow each other, as a program's mostly do, and the line has the time of one. kernels.py makes a
 * table of several runs.
 */
#define _DEFAULT_SOURCE
#include "kernels.h"
#include "pairs.h"

#include <anycuda/cuda.h>
#include <anycuda/cudart.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 15, LAUNCHES = 200 };

#define OK(call)                                                                                   \
    do {                                                                                           \
        int code = (int)(call);                                                                    \
        if (code) {                                                                                \
            fprintf(stderr, "%s: error %d\n", #call, code);                                        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static float *host[3], *result;
static bool has_pocl, counts_work;
static unsigned behind = 1; /* launches of the simulator that follow each other */

/* ---- the simulator ---- */

static CUmodule module;
static CUfunction kernel;
static CUdeviceptr memory[3];
static cudaTextureObject_t texture;
static cudaArray_t array;

static void upload_image(const float *a) {
    const struct cudaChannelFormatDesc format = {32, 0, 0, 0, cudaChannelFormatKindFloat};
    const struct cudaTextureDesc how = {.addressMode = {cudaAddressModeClamp, cudaAddressModeClamp},
                                        .filterMode = cudaFilterModeLinear};
    struct cudaResourceDesc from = {.resType = cudaResourceTypeArray};
    OK(cudaMallocArray(&array, &format, SIDE, SIDE, 0));
    OK(cudaMemcpy2DToArray(array, 0, 0, a, SIDE * sizeof *a, SIDE * sizeof *a, SIDE,
                           cudaMemcpyHostToDevice));
    from.res.array.array = array;
    OK(cudaCreateTextureObject(&texture, &from, &how, NULL));
    memory[0] = texture;
}

static void sim_make(const work *w) {
    const size_t words[3] = {w->a, w->b, w->c};
    OK(cuModuleLoadData(&module, w->ptx));
    OK(cuModuleGetFunction(&kernel, module, "k"));
    for (unsigned n = 0; n < 3; n++) {
        memory[n] = 0;
        if (!words[n])
            continue;
        if (n == 0 && w->has_image) {
            upload_image(host[0]);
            continue;
        }
        OK(cuMemAlloc(&memory[n], words[n] * sizeof(float)));
        OK(cuMemcpyHtoD(memory[n], host[n], words[n] * sizeof(float)));
    }
}

static void sim_run(const work *w) {
    void *arguments[] = {&memory[0], &memory[1], &memory[2]};
    OK(cuLaunchKernel(kernel, w->grid[0], w->grid[1], 1, w->block[0], w->block[1], 1, 0, NULL,
                      arguments, NULL));
    OK(cuCtxSynchronize());
}

static void sim_free(const work *w) {
    if (w->has_image) {
        OK(cudaDestroyTextureObject(texture));
        OK(cudaFreeArray(array));
        memory[0] = 0;
    }
    for (unsigned n = 0; n < 3; n++)
        if (memory[n])
            OK(cuMemFree(memory[n]));
    OK(cuModuleUnload(module));
}

/* ---- a row ---- */

static void compare_results(const work *w, const float *expected, const char *way) {
    if (w->is_exact && memcmp(result, expected, w->c * sizeof *result) == 0)
        return;
    for (size_t n = 0; n < w->c; n++)
        if (w->is_exact ||
            !(fabsf(result[n] - expected[n]) <= 0.02f * fabsf(expected[n]) + 0.01f)) {
            fprintf(stderr, "%s: %s: element %zu is %g instead of %g\n", w->name, way, n,
                    (double)result[n], (double)expected[n]);
            exit(1);
        }
}

/* Runs each way once, from the same memory. */
static void check(const work *w) {
    float *expected = malloc(w->c * sizeof *expected);
    if (!expected)
        abort();
    memcpy(expected, host[2], w->c * sizeof *expected);
    w->in_c(host[0], host[1], expected);
    sim_run(w);
    OK(cuMemcpyDtoH(result, memory[2], w->c * sizeof *result));
    compare_results(w, expected, "the simulator");
    if (has_pocl) {
        pocl_run(w);
        pocl_read(w, result);
        compare_results(w, expected, "PoCL");
    }
    free(expected);
}

/* Nanoseconds: of a clock, or those that processors worked for this program, which other programs
 * do not change. */
static double time_now(void) {
    struct timespec t;
    clock_gettime(counts_work ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double ms_since(double begin) {
    return (time_now() - begin) / 1e6;
}

static void print_row(const char *name, double count, double (*ms)[ROUNDS]) {
    double ratio[2][ROUNDS];
    for (unsigned n = 0; n < ROUNDS; n++)
        for (unsigned way = 0; way < 2; way++)
            ratio[way][n] = ms[way + 1][n] / ms[0][n];
    printf("%s\t%.0f\t%.5f", name, count, median_of(ms[0], ROUNDS));
    for (unsigned way = 1; way < 3; way++)
        printf("\t%.5f\t%.4f", median_of(ms[way], ROUNDS), median_of(ratio[way - 1], ROUNDS));
    printf("\n");
    fflush(stdout);
}

static void row(const work *w) {
    static double ms[3][ROUNDS];
    memset(ms, 0, sizeof ms);
    sim_make(w);
    if (has_pocl)
        pocl_make(w, host[0], host[1], host[2]);
    check(w);
    for (unsigned n = 0; n < ROUNDS; n++) {
        double begin = time_now();
        for (unsigned i = 0; i < behind; i++)
            sim_run(w);
        ms[0][n] = ms_since(begin) / behind;
        begin = time_now();
        w->in_c(host[0], host[1], result);
        ms[1][n] = ms_since(begin);
        begin = time_now();
        if (has_pocl) {
            pocl_run(w);
            ms[2][n] = ms_since(begin);
        }
    }
    print_row(w->name, w->count(), ms);
    sim_free(w);
    if (has_pocl)
        pocl_free();
}

/* ---- once ---- */

static const char one_ptx[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 k_0) {\n"
    ".reg .b64 %%rd<3>; .reg .b32 %%r<3>;\nld.param.u64 %%rd1, [k_0];\n"
    "mov.u32 %%r1, %u;\nst.global.u32 [%%rd1], %%r1;\nret;\n}\n";
static const char one_cl[] = "kernel void k(global uint *c) { *c = %u; }";

/* Launches of a block, one after the other, each of which is waited for. */
static void launch_row(void) {
    static double ms[3][ROUNDS];
    const work one = {.c = 1,
                      .grid = {1, 1},
                      .block = {32, 1},
                      .ptx = works[0].ptx,
                      .cl = "kernel void k(global const float *a, global const float *b, global "
                            "float *c) { c[get_global_id(0)] = 1; }"};
    work w = one;
    w.a = w.b = w.c = VECTOR;
    sim_make(&w);
    if (has_pocl)
        pocl_make(&w, host[0], host[1], host[2]);
    for (unsigned n = 0; n < ROUNDS; n++) {
        double begin = time_now();
        for (unsigned i = 0; i < LAUNCHES; i++)
            sim_run(&w);
        ms[0][n] = ms_since(begin) / LAUNCHES;
        begin = time_now();
        for (unsigned i = 0; i < LAUNCHES && has_pocl; i++)
            pocl_run(&w);
        ms[2][n] = has_pocl ? ms_since(begin) / LAUNCHES : 0;
    }
    print_row("a launch of one block", 0, ms);
    sim_free(&w);
    if (has_pocl)
        pocl_free();
}

/* Kernels that neither way has seen before: read, made and run. */
static void first_row(void) {
    static double ms[3][ROUNDS];
    char text[1024];
    const work one = {.c = 1, .grid = {1, 1}, .block = {1, 1}, .ptx = text};
    for (unsigned n = 0; n < ROUNDS; n++) {
        const unsigned number = (unsigned)now_ns();
        void *arguments[] = {&memory[2]};
        snprintf(text, sizeof text, one_ptx, number);
        OK(cuMemAlloc(&memory[2], sizeof(float)));
        double begin = time_now();
        OK(cuModuleLoadData(&module, one.ptx));
        OK(cuModuleGetFunction(&kernel, module, "k"));
        OK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
        OK(cuMemcpyDtoH(result, memory[2], sizeof *result));
        ms[0][n] = ms_since(begin);
        OK(cuMemFree(memory[2]));
        OK(cuModuleUnload(module));
        snprintf(text, sizeof text, one_cl, number);
        begin = time_now();
        if (has_pocl) {
            pocl_first(text);
            ms[2][n] = ms_since(begin);
        }
    }
    print_row("the first result of a new kernel", 0, ms);
}

int main(int count, char **words) {
    CUdevice device;
    CUcontext context;
    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cuDevicePrimaryCtxRetain(&context, device));
    OK(cuCtxSetCurrent(context));
    const char *only = "";
    for (int n = 1; n < count; n++)
        if (strcmp(words[n], "--cpu") == 0)
            counts_work = true;
        else if (strcmp(words[n], "--wall") == 0)
            counts_work = false;
        else if (strcmp(words[n], "--only") == 0 && n + 1 < count)
            only = words[++n];
        else if (strcmp(words[n], "--behind") == 0 && n + 1 < count)
            behind = (unsigned)strtoul(words[++n], NULL, 10);
        else
            has_pocl = pocl_open(words[n]);
    if (!behind) {
        fprintf(stderr, "--behind needs a number of launches, from 1 on\n");
        return 2;
    }
    for (unsigned n = 0; n < 3; n++) {
        host[n] = malloc(VECTOR * sizeof *host[n]);
        for (size_t i = 0; host[n] && i < VECTOR; i++)
            host[n][i] = (float)((i * 7 + (size_t)n * 3) % 61) * 0.25f;
    }
    result = malloc(VECTOR * sizeof *result);
    if (!host[0] || !host[1] || !host[2] || !result)
        return 1;
    host[2][0] = 0;
    for (size_t n = 0; n < work_count; n++)
        if (strstr(works[n].name, only))
            row(&works[n]);
    if (strstr("launch", only))
        launch_row();
    if (strstr("first", only))
        first_row();
    OK(cuDevicePrimaryCtxRelease(device));
    for (unsigned n = 0; n < 3; n++)
        free(host[n]);
    free(result);
    return 0;
}
