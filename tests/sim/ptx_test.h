/* What the tests of kernels in PTX share. */
#ifndef PTX_TEST_H
#define PTX_TEST_H

#include "driver_test.h"

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"

static inline CUmodule load_text(const char *text) {
    CUmodule module = NULL;
    OK(cuModuleLoadData(&module, text));
    return module;
}

static inline int launch(CUmodule module, const char *name, unsigned blocks, unsigned threads,
                         void **args) {
    CUfunction function = NULL;
    OK(cuModuleGetFunction(&function, module, name));
    return cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, NULL, args, NULL);
}

/* Runs the kernel "k" of one pointer, to `count` words that are in memory before and are read back
 * after. */
static inline void run(const char *text, unsigned blocks, unsigned threads, uint32_t *words,
                       size_t count) {
    CUmodule module = load_text(text);
    CUdeviceptr at;
    void *args[] = {&at};
    OK(cuMemAlloc(&at, count * sizeof *words));
    OK(cuMemcpyHtoD(at, words, count * sizeof *words));
    OK(launch(module, "k", blocks, threads, args));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(words, at, count * sizeof *words));
    OK(cuMemFree(at));
    OK(cuModuleUnload(module));
}

/* Puts instructions between the load of a thread's word into %r1 and the store of %r2. */
#define WORD(declares, instructions)                                                               \
    HEAD ".entry k(.param .u64 p) {\n.reg .b32 %r<20>; .reg .b64 %d<8>; .reg .pred "               \
         "%p<8>;\n" declares "ld.param.u64 %d1, [p];\nmov.u32 %r9, %tid.x;\nmov.u32 %r10, "        \
         "%ctaid.x;\nmov.u32 %r11, %ntid.x;\n"                                                     \
         "mad.lo.u32 %r9, %r10, %r11, %r9;\nmul.wide.u32 %d2, %r9, 4;\nadd.u64 %d3, %d1, %d2;\n"   \
         "ld.global.u32 %r1, [%d3];\n" instructions "st.global.u32 [%d3], %r2;\nret;\n}\n"

static inline void count_up(uint32_t *words, size_t count) {
    for (size_t n = 0; n < count; n++)
        words[n] = (uint32_t)n;
}

/* Runs a kernel of some threads that fails, and takes everything back. Each 16 threads have 64
 * bytes of memory, behind which there is none. */
static inline void fault_of_blocks(const char *text, unsigned blocks, unsigned threads, int code) {
    CUmodule module = load_text(text);
    CUdeviceptr at;
    void *args[] = {&at};
    OK(cuMemAlloc(&at, (threads + 15) / 16 * 64));
    OK(launch(module, "k", blocks, threads, args));
    SAYS((CUresult)code, cuCtxSynchronize());
    SAYS((CUresult)code, cuCtxSynchronize());
    acu_sim_reset(MACHINE);
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
}

static inline void fault_of(const char *text, unsigned threads, int code) {
    fault_of_blocks(text, 1, threads, code);
}

static inline void fault(const char *text, int code) {
    fault_of(text, 1, code);
}

#endif
