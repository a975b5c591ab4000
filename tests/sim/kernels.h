/* Modules for the tests, and what their kernels do. */
#ifndef SIM_KERNELS_H
#define SIM_KERNELS_H

#include "sim_test.h"

#define PTX_HEAD ".version 7.0\n.target sm_52\n.address_size 64\n"

/* out[i] = a[i] + b[i], for i below n */
#define PTX_ADD                                                                                    \
    ".visible .entry add(.param .u64 add_a, .param .u64 add_b,\n"                                  \
    "    .param .u64 add_out, .param .u32 add_n)\n"                                                \
    "{\n"                                                                                          \
    "    .reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<4>;\n"                  \
    "    ld.param.u64 %rd1, [add_a];\n"                                                            \
    "    ld.param.u64 %rd2, [add_b];\n"                                                            \
    "    ld.param.u64 %rd3, [add_out];\n"                                                          \
    "    ld.param.u32 %r1, [add_n];\n"                                                             \
    "    mov.u32 %r2, %ctaid.x;\n"                                                                 \
    "    mov.u32 %r3, %ntid.x;\n"                                                                  \
    "    mov.u32 %r4, %tid.x;\n"                                                                   \
    "    mad.lo.s32 %r5, %r2, %r3, %r4;\n"                                                         \
    "    setp.ge.u32 %p1, %r5, %r1;\n"                                                             \
    "    @%p1 bra $END;\n"                                                                         \
    "    cvta.to.global.u64 %rd1, %rd1;\n"                                                         \
    "    cvta.to.global.u64 %rd2, %rd2;\n"                                                         \
    "    cvta.to.global.u64 %rd3, %rd3;\n"                                                         \
    "    mul.wide.u32 %rd4, %r5, 4;\n"                                                             \
    "    add.s64 %rd5, %rd1, %rd4;\n"                                                              \
    "    add.s64 %rd6, %rd2, %rd4;\n"                                                              \
    "    add.s64 %rd7, %rd3, %rd4;\n"                                                              \
    "    ld.global.f32 %f1, [%rd5];\n"                                                             \
    "    ld.global.f32 %f2, [%rd6];\n"                                                             \
    "    add.f32 %f3, %f1, %f2;\n"                                                                 \
    "    st.global.f32 [%rd7], %f3;\n"                                                             \
    "$END:\n"                                                                                      \
    "    ret;\n"                                                                                   \
    "}\n"

/* What a kernel declares, and nothing that it does. */
#define PTX_EMPTY(name, limits) ".visible .entry " name "()" limits "{ ret; }\n"

#define PTX                                                                                        \
    PTX_HEAD                                                                                       \
    ".global .align 4 .u32 counter = 7;\n"                                                         \
    ".const .align 4 .f32 factors[3] = {0f3F800000, 2.0, -4.0};\n"                                 \
    ".global .align 8 .b8 table[100];\n"                                                           \
    ".global .attribute(.managed) .align 4 .u32 shared_by_all = 3;\n"                              \
    ".shared .align 4 .b8 scratch[400];\n"                                                         \
    ".extern .shared .align 16 .b8 dynamic[];\n" PTX_ADD PTX_EMPTY("nothing", "")                  \
        PTX_EMPTY("at_most_64", ".maxntid 32, 2, 1") PTX_EMPTY("exactly_64", ".reqntid 64")        \
            PTX_EMPTY("few_registers",                                                             \
                      ".maxnreg 16 .minnctapersm 2") ".visible .entry mixed(.param .u8 a, "        \
                                                     ".param .align 8 .b8 b[20],\n"                \
                                                     "    .param .u16 c, .param .u64 .ptr "        \
                                                     ".global .align 16 d) { ret; }\n"             \
                                                     ".entry sharing(.param .u64 to)\n"            \
                                                     "{\n"                                         \
                                                     "    .shared .align 8 .b8 own[1000];\n"       \
                                                     "    .reg .b32 %r<2>;\n"                      \
                                                     "    mov.u32 %r1, scratch;\n"                 \
                                                     "    st.shared.u32 [%r1], %r1;\n"             \
                                                     "    ret;\n"                                  \
                                                     "}\n"

static inline void add_floats(const acu_sim_launch *launch, void *const *args) {
    const unsigned count = *(const unsigned *)args[3];
    const size_t bytes = count * sizeof(float);
    const float *a = acu_sim_at(launch, *(void *const *)args[0], bytes);
    const float *b = acu_sim_at(launch, *(void *const *)args[1], bytes);
    float *out = acu_sim_at(launch, *(void *const *)args[2], bytes);
    for (unsigned i = 0; i < count; i++)
        out[i] = a[i] + b[i];
}

static inline void do_nothing(const acu_sim_launch *launch, void *const *args) {
    (void)launch;
    (void)args;
}

static inline void register_kernels(void) {
    OK(acu_sim_register("add", add_floats));
    OK(acu_sim_register("nothing", do_nothing));
    OK(acu_sim_register("at_most_64", do_nothing));
    OK(acu_sim_register("exactly_64", do_nothing));
    OK(acu_sim_register("few_registers", do_nothing));
    OK(acu_sim_register("sharing", do_nothing));
}

static inline cudaLibrary_t load(const char *ptx) {
    cudaLibrary_t library = NULL;
    register_kernels();
    OK(cudaLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
    return library;
}

static inline cudaKernel_t kernel_of(cudaLibrary_t library, const char *name) {
    cudaKernel_t kernel = NULL;
    OK(cudaLibraryGetKernel(&kernel, library, name));
    return kernel;
}

static inline dim3 dim(unsigned x, unsigned y, unsigned z) {
    dim3 extent = {x, y, z};
    return extent;
}

#endif
