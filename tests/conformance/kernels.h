/* A module for the cases of kernels: PTX that any driver compiles, and what the simulator does for
 * it. */
#ifndef KERNELS_H
#define KERNELS_H

#include "conformance.h"

#include <anycuda/sim.h>

#define PTX_HEAD                  ".version 7.0\n.target sm_52\n.address_size 64\n"
#define PTX_NOTHING(name, limits) ".visible .entry " name "()" limits "\n{\n    ret;\n}\n"

static const char module_text[] = PTX_HEAD
    ".visible .global .align 4 .u32 counter = 7;\n"
    ".visible .const .align 4 .f32 factors[3] = {0f3F800000, 0f40000000, 0f40400000};\n"
    ".visible .global .align 8 .b8 table[100];\n"
    ".visible .global .attribute(.managed) .align 4 .u32 everywhere = 3;\n"
    /* to[i] = value, for i below count */
    ".visible .entry store(.param .u64 to, .param .u32 value, .param .u32 count)\n"
    "{\n"
    "    .reg .pred %p<2>;\n"
    "    .reg .b32 %r<7>;\n"
    "    .reg .b64 %rd<5>;\n"
    "    ld.param.u64 %rd1, [to];\n"
    "    ld.param.u32 %r1, [value];\n"
    "    ld.param.u32 %r2, [count];\n"
    "    mov.u32 %r3, %ctaid.x;\n"
    "    mov.u32 %r4, %ntid.x;\n"
    "    mov.u32 %r5, %tid.x;\n"
    "    mad.lo.s32 %r6, %r3, %r4, %r5;\n"
    "    setp.ge.u32 %p1, %r6, %r2;\n"
    "    @%p1 bra $L_end;\n"
    "    cvta.to.global.u64 %rd2, %rd1;\n"
    "    mul.wide.u32 %rd3, %r6, 4;\n"
    "    add.s64 %rd4, %rd2, %rd3;\n"
    "    st.global.u32 [%rd4], %r1;\n"
    "$L_end:\n"
    "    ret;\n"
    "}\n" PTX_NOTHING("nothing", "") PTX_NOTHING("at_most_64", "\n.maxntid 64, 1, 1") PTX_NOTHING(
        "exactly_64", "\n.reqntid 64, 1, 1") ".visible .entry mixed(.param .u8 a, .param .align 8 "
                                             ".b8 b[20], .param .u16 c, .param .u64 d)\n"
                                             "{\n"
                                             "    ret;\n"
                                             "}\n"
                                             ".visible .entry sharing(.param .u64 to)\n"
                                             "{\n"
                                             "    .shared .align 8 .b8 own[1000];\n"
                                             "    .reg .b32 %r<4>;\n"
                                             "    .reg .b64 %rd<3>;\n"
                                             "    ld.param.u64 %rd1, [to];\n"
                                             "    cvta.to.global.u64 %rd2, %rd1;\n"
                                             "    mov.u32 %r1, own;\n"
                                             "    mov.u32 %r2, %tid.x;\n"
                                             "    add.u32 %r1, %r1, %r2;\n"
                                             "    st.shared.u8 [%r1], %r2;\n"
                                             "    bar.sync 0;\n"
                                             "    ld.shared.u8 %r3, [%r1];\n"
                                             "    st.global.u32 [%rd2], %r3;\n"
                                             "    ret;\n"
                                             "}\n";

static inline void store_all(const acu_sim_launch *launch, void *const *args) {
    const unsigned value = *(const unsigned *)args[1], count = *(const unsigned *)args[2];
    const size_t threads = (size_t)launch->grid[0] * launch->block[0];
    unsigned *to = acu_sim_at(launch, *(void *const *)args[0], count * sizeof *to);
    for (size_t i = 0; i < count && i < threads; i++)
        to[i] = value;
}

static inline void do_nothing(const acu_sim_launch *launch, void *const *args) {
    (void)launch;
    (void)args;
}

/* Lets C functions stand for the kernels; with ANYCUDA_TESTS_PTX their PTX is executed. */
static inline void register_kernels(void) {
    static const char *const names[] = {"nothing", "at_most_64", "exactly_64", "mixed", "sharing"};
    if (getenv("ANYCUDA_TESTS_PTX"))
        return;
    acu_sim_register("store", store_all);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        acu_sim_register(names[i], do_nothing);
}

static inline dim3 dim(unsigned x, unsigned y, unsigned z) {
    const dim3 extent = {x, y, z};
    return extent;
}

#endif
