/* CUDA C++ that a real NVRTC compiles runs on the simulator, without a GPU. */
#include "ptx_test.h"

#include <anycuda/load.h>
#include <anycuda/nvjitlink.h>
#include <anycuda/nvrtc.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the PTX of the source, which the caller frees. */
static char *compile(const char *source, const char *option) {
    const char *options[] = {"--gpu-architecture=compute_80", option};
    nvrtcProgram program;
    size_t size;
    OK(nvrtcCreateProgram(&program, source, "test.cu", 0, NULL, NULL));
    if (nvrtcCompileProgram(program, option ? 2 : 1, options)) {
        char log[2000];
        OK(nvrtcGetProgramLogSize(program, &size));
        assert_true(size <= sizeof log);
        OK(nvrtcGetProgramLog(program, log));
        fail_msg("%s", log);
    }
    OK(nvrtcGetPTXSize(program, &size));
    char *ptx = malloc(size);
    assert_non_null(ptx);
    OK(nvrtcGetPTX(program, ptx));
    OK(nvrtcDestroyProgram(&program));
    return ptx;
}

/* Templates, shared memory, a barrier, a loop, a shuffle, atomics. */
TEST(a_kernel_runs) {
    static const char source[] =
        "template <typename T> __device__ T square(T x) { return x * x; }\n"
        "extern \"C\" __global__ void k(unsigned *words) {\n"
        "    __shared__ unsigned all[64];\n"
        "    all[threadIdx.x] = square(words[threadIdx.x]);\n"
        "    __syncthreads();\n"
        "    unsigned sum = all[63 - threadIdx.x];\n"
        "    for (int far = 16; far > 0; far /= 2)\n"
        "        sum += __shfl_down_sync(~0u, sum, far);\n"
        "    if (threadIdx.x % 32 == 0)\n"
        "        atomicAdd(&words[64], sum);\n"
        "}\n";
    uint32_t words[65];
    count_up(words, 64);
    words[64] = 0;
    char *ptx = compile(source, NULL);
    run(ptx, 1, 64, words, 65);
    assert_int_equal(words[64], 63 * 64 * 127 / 6);
    free(ptx);
}

/* Two programs that call each other, linked by what the simulator has for nvJitLink. */
TEST(linked_programs_run) {
    static const char *const sources[] = {
        "extern __device__ unsigned twice(unsigned);\n"
        "extern \"C\" __global__ void k(unsigned *word) { *word = twice(*word); }\n",
        "__device__ unsigned twice(unsigned x) { return 2 * x; }\n"};
    const char *options[] = {"-arch=sm_80"};
    nvJitLinkHandle linker;
    size_t size;
    uint32_t word = 21;
    OK(nvJitLinkCreate(&linker, 1, options));
    for (int n = 0; n < 2; n++) {
        char *ptx = compile(sources[n], "--relocatable-device-code=true");
        OK(nvJitLinkAddData(linker, NVJITLINK_INPUT_PTX, ptx, strlen(ptx) + 1, "a program"));
        free(ptx);
    }
    OK(nvJitLinkComplete(linker));
    OK(nvJitLinkGetLinkedCubinSize(linker, &size));
    char *code = malloc(size);
    assert_non_null(code);
    OK(nvJitLinkGetLinkedCubin(linker, code));
    OK(nvJitLinkDestroy(&linker));
    run(code, 1, 1, &word, 1);
    assert_int_equal(word, 42);
    free(code);
}

int main(void) {
    const struct CMUnitTest tests[] = {C(a_kernel_runs), C(linked_programs_run)};
    if (acu_load(&(acu_load_options){.library = ACU_NVRTC}) || acu_loaded(ACU_NVRTC)->is_sim) {
        printf("skipped: no NVRTC is installed that compiles the kernels (libnvrtc.so)\n");
        return 77;
    }
    return RUN(tests);
}
