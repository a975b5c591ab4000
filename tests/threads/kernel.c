/* Kernels: PTX on a GPU, functions of the same names on the simulator. */
#include "threads.h"

#include <anycuda/sim.h>

#include <sched.h>
#include <stdio.h>

/* After a while that `spin` decides: to[i] = to[i] * factor + summand, or + from[i]. */
static const char module_text[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry compute(.param .u64 to, .param .u32 n, .param .u32 factor,\n"
    "    .param .u32 summand, .param .u32 spin)\n{\n"
    "    .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<4>;\n"
    "    ld.param.u64 %rd1, [to];\n    ld.param.u32 %r1, [n];\n"
    "    ld.param.u32 %r2, [factor];\n    ld.param.u32 %r3, [summand];\n"
    "    ld.param.u32 %r4, [spin];\n    mov.u32 %r5, %tid.x;\n"
    "    setp.ge.u32 %p1, %r5, %r1;\n    @%p1 bra END;\n"
    "    mul.wide.u32 %rd2, %r5, 4;\n    add.s64 %rd1, %rd1, %rd2;\n"
    "    ld.volatile.u32 %r6, [%rd1];\n"
    "    mov.u32 %r7, %clock;\n"
    "WAIT:\n    mov.u32 %r8, %clock;\n    sub.u32 %r8, %r8, %r7;\n"
    "    setp.lt.u32 %p2, %r8, %r4;\n    @%p2 bra WAIT;\n"
    "    mad.lo.u32 %r6, %r6, %r2, %r3;\n    st.volatile.u32 [%rd1], %r6;\n"
    "END:\n    ret;\n}\n"
    ".visible .entry mix(.param .u64 to, .param .u64 from, .param .u32 n,\n"
    "    .param .u32 factor, .param .u32 spin)\n{\n"
    "    .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<4>;\n"
    "    ld.param.u64 %rd1, [to];\n    ld.param.u64 %rd3, [from];\n    ld.param.u32 %r1, [n];\n"
    "    ld.param.u32 %r2, [factor];\n    ld.param.u32 %r4, [spin];\n    mov.u32 %r5, %tid.x;\n"
    "    setp.ge.u32 %p1, %r5, %r1;\n    @%p1 bra END;\n"
    "    mul.wide.u32 %rd2, %r5, 4;\n    add.s64 %rd1, %rd1, %rd2;\n"
    "    add.s64 %rd3, %rd3, %rd2;\n"
    "    ld.volatile.u32 %r6, [%rd1];\n    ld.volatile.u32 %r3, [%rd3];\n"
    "    mov.u32 %r7, %clock;\n"
    "WAIT:\n    mov.u32 %r8, %clock;\n    sub.u32 %r8, %r8, %r7;\n"
    "    setp.lt.u32 %p2, %r8, %r4;\n    @%p2 bra WAIT;\n"
    "    mad.lo.u32 %r6, %r6, %r2, %r3;\n    st.volatile.u32 [%rd1], %r6;\n"
    "END:\n    ret;\n}\n";

static CUfunction compute, mixing;
static cudaKernel_t compute_of_library, mixing_of_library;

static void spin(unsigned clocks) {
    for (unsigned i = 0; i < clocks; i += 8192)
        (void)sched_yield();
}

static void run_compute(const acu_sim_launch *launch, void *const *arguments) {
    const unsigned n = *(const unsigned *)arguments[1], factor = *(const unsigned *)arguments[2],
                   summand = *(const unsigned *)arguments[3];
    unsigned *to = acu_sim_at(launch, *(void *const *)arguments[0], n * sizeof *to);
    spin(*(const unsigned *)arguments[4]);
    for (unsigned i = 0; i < n; i++)
        to[i] = to[i] * factor + summand;
}

static void run_mix(const acu_sim_launch *launch, void *const *arguments) {
    const unsigned n = *(const unsigned *)arguments[2], factor = *(const unsigned *)arguments[3];
    unsigned *to = acu_sim_at(launch, *(void *const *)arguments[0], n * sizeof *to);
    const unsigned *from = acu_sim_at(launch, *(void *const *)arguments[1], n * sizeof *from);
    spin(*(const unsigned *)arguments[4]);
    for (unsigned i = 0; i < n; i++)
        to[i] = to[i] * factor + from[i];
}

CUfunction computing_function(void) {
    return compute;
}

/* Both are launched once, so that nothing is loaded beside a capture. */
void kernels_load(void) {
    CUmodule module = NULL;
    cudaLibrary_t library = NULL;
    void *nothing = NULL;
    unsigned zero = 0;
    void *arguments[] = {&nothing, &zero, &zero, &zero, &zero};
    void *mixed[] = {&nothing, &nothing, &zero, &zero, &zero};
    (void)acu_sim_register("compute", run_compute);
    (void)acu_sim_register("mix", run_mix);
    (void)cuModuleLoadData(&module, module_text);
    (void)cuModuleGetFunction(&compute, module, "compute");
    (void)cuModuleGetFunction(&mixing, module, "mix");
    (void)cuLaunchKernel(compute, 1, 1, 1, 1, 1, 1, 0, CU_STREAM_LEGACY, arguments, NULL);
    (void)cuLaunchKernel(mixing, 1, 1, 1, 1, 1, 1, 0, CU_STREAM_LEGACY, mixed, NULL);
    if (acu_loaded(ACU_CUDART)->version < 12080)
        return;
    (void)cudaLibraryLoadData(&library, module_text, NULL, NULL, 0, NULL, NULL, 0);
    (void)cudaLibraryGetKernel(&compute_of_library, library, "compute");
    (void)cudaLibraryGetKernel(&mixing_of_library, library, "mix");
    const dim3 one = {1, 1, 1};
    (void)cudaLaunchKernel(compute_of_library, one, one, arguments, 0, cudaStreamLegacy);
    (void)cudaLaunchKernel(mixing_of_library, one, one, mixed, 0, cudaStreamLegacy);
}

static unsigned any_spin(void) {
    return value_below(3) ? 0 : value_below(60000);
}

/* What the launch's choices are called does not depend on which API launches. */
static void launch(CUfunction function, cudaKernel_t kernel, void **arguments, stream *on) {
    const dim3 one = {1, 1, 1}, threads = {WORDS, 1, 1};
    const bool by_runtime = one_in(2);
    if (by_runtime && kernel)
        (void)answer(cudaLaunchKernel(kernel, one, threads, arguments, 0, on->handle));
    else
        (void)answer(
            cuLaunchKernel(function, 1, 1, 1, WORDS, 1, 1, 0, on->handle, arguments, NULL));
}

void mix(memory *to, const memory *from, stream *on) {
    unsigned n = 1 + value_below(WORDS), factor = 1 + 2 * value_below(1000), clocks = any_spin();
    const void *read = from->at;
    void *arguments[] = {&to->at, &read, &n, &factor, &clocks};
    call("launch(mix, %s, %s, %u, %u, %s)", to->name, from->name, n, factor, on->name);
    launch(mixing, mixing_of_library, arguments, on);
}

static void compute_on(memory *to, stream *on) {
    unsigned n = 1 + value_below(WORDS), factor = 1 + 2 * value_below(1000),
             summand = value_below(1000), clocks = any_spin();
    void *arguments[] = {&to->at, &n, &factor, &summand, &clocks};
    call("launch(compute, %s, %u, %u, %u, %s)", to->name, n, factor, summand, on->name);
    launch(compute, compute_of_library, arguments, on);
}

/* ---- other work ---- */

void fill(memory *to, stream *on) {
    const unsigned from = value_below(WORDS), count = 1 + value_below(WORDS - from),
                   byte = value_below(256);
    (void)CALL(cudaMemsetAsync(to->at + from, (int)byte, count * sizeof *to->at, on->handle),
               "cudaMemsetAsync(%s+%u, %u, %u, %s)", to->name, from, byte, count, on->name);
}

static void fill_rows(memory *to, stream *on) {
    const unsigned width = 1 + value_below(64), byte = value_below(256);
    (void)CALL(cudaMemset2DAsync(to->at, 64, (int)byte, width, 16, on->handle),
               "cudaMemset2DAsync(%s, 64, %u, %u, 16, %s)", to->name, byte, width, on->name);
}

static void copy(memory *to, const memory *from, stream *on) {
    const unsigned count = 1 + value_below(WORDS), at = value_below(WORDS - count + 1);
    (void)CALL(cudaMemcpyAsync(to->at + at, from->at, count * sizeof *to->at, cudaMemcpyDefault,
                               on->handle),
               "cudaMemcpyAsync(%s+%u, %s, %u, %s)", to->name, at, from->name, count, on->name);
}

static void copy_rows(memory *to, const memory *from, stream *on) {
    const unsigned width = 1 + value_below(64);
    (void)CALL(
        cudaMemcpy2DAsync(to->at, 64, from->at, 64, width, 16, cudaMemcpyDefault, on->handle),
        "cudaMemcpy2DAsync(%s, %s, %u, %s)", to->name, from->name, width, on->name);
}

void CUDART_CB run_host_call(void *data) {
    const host_call *it = data;
    for (unsigned i = 0; i < it->count; i++)
        it->at[i] = it->at[i] * it->factor + it->summand;
}

host_call *new_host_call(const memory *on) {
    if (me->host_call_count == CALLS_ON_HOST)
        return NULL;
    host_call *made = &me->host_calls[me->host_call_count++];
    *made = (host_call){on->at, 1 + value_below(WORDS), 1 + 2 * value_below(1000), value_below(99)};
    return made;
}

static void call_host(memory *to, stream *on) {
    host_call *made = new_host_call(to);
    if (made)
        (void)CALL(cudaLaunchHostFunc(on->handle, run_host_call, made),
                   "cudaLaunchHostFunc(%s, %s, %u, %u)", on->name, to->name, made->count,
                   made->factor);
}

static bool is_of_host(const memory *m) {
    return m->kind == PINNED;
}

void work(stream *on) {
    memory *to = any_memory(on), *from = any_memory(on);
    const unsigned kind = below(9);
    bring(to, on);
    if (to != from)
        bring(from, on);
    if (kind < 2)
        fill(to, on);
    else if (kind == 2)
        fill_rows(to, on);
    else if (to != from && kind == 3)
        copy(to, from, on);
    else if (to != from && kind == 4)
        copy_rows(to, from, on);
    else if (to != from && kind < 7)
        mix(to, from, on);
    else if (is_of_host(to))
        call_host(to, on);
    else
        compute_on(to, on);
}
