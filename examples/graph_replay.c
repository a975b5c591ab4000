/*
 * Compares many small launches with one launch of a graph that does the same work.
 *
 * The launches are captured once, and the graph is launched many times. It is faster because the
 * host has less work.
 */
#define _POSIX_C_SOURCE 200809L
#include "example.h"

#include <time.h>

enum { COUNT = 256, STEPS = 100, ROUNDS = 50 };

/* extern "C" __global__ void increment(int *x, int n) */
static const char increment_ptx[] = ".version 7.0\n"
                                    ".target sm_52\n"
                                    ".address_size 64\n"
                                    ".visible .entry increment(.param .u64 .ptr x, .param .u32 n)\n"
                                    "{\n"
                                    "    .reg .pred %past;\n"
                                    "    .reg .b32 %i, %n, %value;\n"
                                    "    .reg .b64 %x, %at;\n"
                                    "    ld.param.u64 %x, [x];\n"
                                    "    ld.param.u32 %n, [n];\n"
                                    "    mov.u32 %i, %tid.x;\n"
                                    "    setp.ge.s32 %past, %i, %n;\n"
                                    "    @%past bra END;\n"
                                    "    mul.wide.s32 %at, %i, 4;\n"
                                    "    add.s64 %x, %x, %at;\n"
                                    "    ld.u32 %value, [%x];\n"
                                    "    add.u32 %value, %value, 1;\n"
                                    "    st.u32 [%x], %value;\n"
                                    "END:\n"
                                    "    ret;\n"
                                    "}\n";

typedef struct work {
    acu_kernel *kernel;
    acu_buffer *x;
} work;

/* Puts all steps on the stream, which may be captured. */
static acu_result put_steps(acu_stream *stream, void *data) {
    const work *w = data;
    for (int i = 0; i < STEPS; i++)
        ACU_TRY(acu_launch(stream, w->kernel, acu_grid_1d(COUNT, COUNT), w->x, COUNT));
    return ACU_SUCCESS;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* Measures the microseconds for a round of all steps, which `exec` has unless it is NULL. */
static acu_result measure(acu_stream *stream, work *w, acu_exec *exec, double *each) {
    double start = 0;
    for (int i = -1; i < ROUNDS; i++) { /* the first round is not measured */
        if (exec)
            ACU_TRY(acu_exec_launch(exec, stream));
        else
            ACU_TRY(put_steps(stream, w));
        if (i < 0) {
            ACU_TRY(acu_stream_synchronize(stream));
            start = now();
        }
    }
    ACU_TRY(acu_stream_synchronize(stream));
    *each = (now() - start) / ROUNDS;
    return ACU_SUCCESS;
}

static acu_result compare(acu_stream *stream, work *w) {
    double launches, replays;
    ACU_AUTO(acu_graph) *graph = NULL;
    ACU_AUTO(acu_exec) *exec = NULL;
    ACU_TRY(acu_stream_capture(stream, NULL, put_steps, w, &graph));
    ACU_TRY(acu_graph_instantiate(graph, NULL, &exec));
    ACU_TRY(measure(stream, w, NULL, &launches));
    ACU_TRY(measure(stream, w, exec, &replays));
    printf("%d launches, one by one: %8.1f us\n", STEPS, launches);
    printf("the same as one graph:    %8.1f us, %.1f times as fast\n", replays, launches / replays);
    return ACU_SUCCESS;
}

static acu_result run(int *wrong) {
    static int back[COUNT];
    const int expected = 2 * STEPS * (ROUNDS + 1);
    ACU_AUTO(acu_stream) *stream = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_module) *module = NULL;
    ACU_AUTO(acu_kernel) *kernel = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &stream));
    ACU_TRY(acu_buffer_create(stream, ACU_I32, COUNT, &x));
    ACU_TRY(acu_buffer_zero(x, NULL));
    ACU_TRY(acu_module_load(0, &(acu_module_source){.ptx = increment_ptx}, &module));
    ACU_TRY(acu_module_get_kernel(module, "increment", &kernel));
    ACU_TRY(compare(stream, &(work){kernel, x}));
    ACU_TRY(acu_buffer_read(x, back, COUNT));
    for (int i = 0; i < COUNT; i++)
        *wrong += back[i] != expected;
    printf("%d numbers were incremented %d times, %d of them wrongly\n", COUNT, expected, *wrong);
    return ACU_SUCCESS;
}

int main(void) {
    int wrong = 0;
    acu_result result = example_begin();
    if (!result)
        result = run(&wrong);
    return result ? example_end(result) : wrong != 0;
}
