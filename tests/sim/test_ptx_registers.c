/*
 * The registers of kernels that are PTX alone: an estimate, and what follows from it. The figures
 * of ptxas 13.0 for sm_90 are beside those that are expected.
 */
#include "kernels.h"

#include <anycuda/cuda.h>
#include <stdio.h>

enum { TEXT = 1 << 16 };

/* Adds a line of PTX for each value. */
static size_t add_lines(char *text, size_t used, const char *line, int count, int step) {
    for (int n = 0; n < count; n++)
        used += (size_t)snprintf(text + used, TEXT - used, line, n, step < 0 ? count - n : n);
    return used;
}

/* Returns a text with the kernel k, which loads `count` values and only then stores them. */
static const char *keeping(const char *directives, const char *type, const char *name, int count) {
    static char text[TEXT], line[96];
    size_t used = (size_t)snprintf(text, TEXT,
                                   ".version 8.0\n.target sm_90\n.address_size 64\n"
                                   ".visible .entry k(.param .u64 p) %s\n{\n"
                                   ".reg .b64 %%d<300>; .reg .b32 %%r<300>; .reg .b64 %%a;\n"
                                   "ld.param.u64 %%a, [p];\n",
                                   directives);
    snprintf(line, sizeof line, "ld.volatile.global.%s %s%%d, [%%%%a+%%d*8];\n", type, name);
    used = add_lines(text, used, line, count, 1);
    snprintf(line, sizeof line, "st.volatile.global.%s [%%%%a+%%2$d*8], %s%%1$d;\n", type, name);
    used = add_lines(text, used, line, count, -1);
    snprintf(text + used, TEXT - used, "ret;\n}\n");
    return text;
}

static const void *load_kernel(const char *text, cudaLibrary_t *library) {
    OK(cudaLibraryLoadData(library, text, NULL, NULL, 0, NULL, NULL, 0));
    return kernel_of(*library, "k");
}

static struct cudaFuncAttributes attributes_of_text(const char *text) {
    struct cudaFuncAttributes a;
    cudaLibrary_t library;
    OK(cudaFuncGetAttributes(&a, load_kernel(text, &library)));
    OK(cudaLibraryUnload(library));
    return a;
}

static void has_registers(const char *text, int least, int most) {
    assert_in_range(attributes_of_text(text).numRegs, least, most);
}

TEST(as_many_as_are_needed_at_a_time) {
    has_registers(keeping("", "b32", "%%r", 1), 8, 10);      /* 8 */
    has_registers(keeping("", "b32", "%%r", 20), 22, 32);    /* 32 */
    has_registers(keeping("", "b32", "%%r", 100), 102, 128); /* 128 */
    has_registers(keeping("", "b64", "%%d", 50), 102, 108);  /* 106: two for each */
}

TEST(no_more_than_a_thread_has) {
    has_registers(keeping("", "b64", "%%d", 200), 254, 255); /* 254 */
}

TEST(predicates_and_parameters_take_none) {
    has_registers(PTX_HEAD ".visible .entry k(.param .u64 p, .param .u32 a, .param .u32 b)\n{\n"
                           ".reg .pred %p<40>; .reg .b32 %r<9>; .reg .b64 %d<9>;\n"
                           "ld.param.u64 %d1, [p]; ld.param.u32 %r1, [a]; ld.param.u32 %r2, [b];\n"
                           "setp.eq.u32 %p1, %r1, 1; setp.eq.u32 %p2, %r1, 2;\n"
                           "setp.eq.u32 %p3, %r1, 3; setp.eq.u32 %p4, %r1, 4;\n"
                           "@%p1 st.global.u32 [%d1], %r2; @%p2 st.global.u32 [%d1+4], %r2;\n"
                           "@%p3 st.global.u32 [%d1+8], %r2; @%p4 st.global.u32 [%d1+12], %r2;\n"
                           "ret;\n}\n",
                  8, 16); /* 16 */
}

TEST(what_blocks_declare_limits_them) {
    has_registers(keeping(".maxnreg 40", "b32", "%%r", 100), 40, 40);                  /* 40 */
    has_registers(keeping(".maxnreg 8", "b32", "%%r", 100), 24, 24);                   /* 24 */
    has_registers(keeping(".maxntid 1024", "b32", "%%r", 100), 64, 64);                /* 64 */
    has_registers(keeping(".reqntid 16, 16, 4", "b32", "%%r", 100), 64, 64);           /* 64 */
    has_registers(keeping(".maxntid 512 .minnctapersm 2", "b32", "%%r", 100), 64, 64); /* 64 */
    has_registers(keeping(".maxntid 384 .minnctapersm 2", "b32", "%%r", 100), 80, 80); /* 80 */
    has_registers(keeping(".maxntid 256", "b32", "%%r", 100), 102, 128);               /* 128 */
    has_registers(keeping(".minnctapersm 8", "b32", "%%r", 100), 102, 108);            /* 104 */
}

TEST(what_is_called_counts) {
    const char *call = ".reg .b64 %d<3>; .reg .b32 %r<3>; { .param .b64 a; ld.param.u64 %d1, [p];\n"
                       "st.param.b64 [a], %d1; call many, (a); } ret;\n}\n";
    static char text[TEXT];
    const char *kernel = keeping("", "b32", "%%r", 60);
    const char *body = strchr(kernel, '{');
    snprintf(text, TEXT,
             PTX_HEAD ".func many(.param .b64 p)\n%s.visible .entry k(.param .u64 p)\n{\n%s", body,
             call);
    has_registers(text, 62, 72); /* 72 */
    snprintf(text, TEXT,
             PTX_HEAD ".func many(.param .b64 p)\n{ ret; }\n"
                      ".visible .entry k(.param .u64 p)\n{\n%s",
             call);
    has_registers(text, 24, 24); /* 6: ptxas does not call what is empty */
}

/* A GPU launches 512 threads of this kernel at most, but an estimate may be too large for another
 * one, which a GPU launches; so it refuses nothing. */
TEST(an_estimate_refuses_no_block) {
    cudaLibrary_t library;
    void *memory, *args[] = {&memory};
    int blocks = -1, grid = 0, threads = 0;
    const void *k = load_kernel(keeping("", "b32", "%%r", 100), &library);
    struct cudaFuncAttributes a;
    OK(cudaMalloc(&memory, 4096));
    OK(cudaFuncGetAttributes(&a, k));
    assert_int_equal(a.maxThreadsPerBlock, 1024);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, k, 1024, 0));
    assert_int_equal(blocks, 1);
    OK(cudaLaunchKernel(k, (dim3){1, 1, 1}, (dim3){1024, 1, 1}, args, 0, NULL));
    OK(cudaDeviceSynchronize());
    OK(cuOccupancyMaxPotentialBlockSize(&grid, &threads, (CUfunction)(uintptr_t)k, NULL, 0, 0));
    assert_in_range(threads, 32, 1024);
    OK(cudaFree(memory));
    OK(cudaLibraryUnload(library));
}

/* As for a kernel with 104 registers: 4 parts of 16384 / (104 * 32) warps. */
TEST(occupancy_and_cooperative_launches_follow) {
    cudaLibrary_t library;
    void *memory, *args[] = {&memory};
    int blocks = -1, processors = 0;
    const void *k = load_kernel(keeping("", "b32", "%%r", 98), &library);
    OK(cudaMalloc(&memory, 4096));
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, k, 128, 0));
    assert_int_equal(blocks, 4);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, k, 32, 0));
    assert_int_equal(blocks, 16);
    OK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
    const unsigned fit = 4 * (unsigned)processors;
    OK(cudaLaunchCooperativeKernel(k, (dim3){fit, 1, 1}, (dim3){128, 1, 1}, args, 0, NULL));
    FAILS(cudaErrorCooperativeLaunchTooLarge,
          cudaLaunchCooperativeKernel(k, (dim3){fit + 1, 1, 1}, (dim3){128, 1, 1}, args, 0, NULL));
    OK(cudaDeviceSynchronize());
    OK(cudaFree(memory));
    OK(cudaLibraryUnload(library));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        T(as_many_as_are_needed_at_a_time),
        T(no_more_than_a_thread_has),
        T(predicates_and_parameters_take_none),
        T(what_blocks_declare_limits_them),
        T(what_is_called_counts),
        T(an_estimate_refuses_no_block),
        T(occupancy_and_cooperative_launches_follow),
    };
    return RUN(tests);
}
