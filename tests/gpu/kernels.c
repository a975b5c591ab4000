/* Kernels: by the driver on the runtime's streams, by the runtime's libraries; callbacks. */
#include "smoke.h"

#include <anycuda/cuda.h>

#include <sched.h>
#include <string.h>

/* Any toolkit's runtime takes it: it is the driver that compiles it. */
const char store_ptx[] = ".version 7.0\n"
                         ".target sm_52\n"
                         ".address_size 64\n"
                         ".visible .entry store(.param .u64 at, .param .u32 value)\n"
                         "{\n"
                         "    .reg .b32 %r<2>;\n"
                         "    .reg .b64 %rd<3>;\n"
                         "    ld.param.u64 %rd1, [at];\n"
                         "    ld.param.u32 %r1, [value];\n"
                         "    cvta.to.global.u64 %rd2, %rd1;\n"
                         "    st.global.u32 [%rd2], %r1;\n"
                         "    ret;\n"
                         "}\n";

int store(cudaStream_t stream, unsigned *at, unsigned value) {
    static CUfunction function;
    CUmodule module;
    void *args[] = {&at, &value};
    CUresult result = CUDA_SUCCESS;
    if (!function)
        result = cuModuleLoadData(&module, store_ptx);
    if (!function && !result)
        result = cuModuleGetFunction(&function, module, "store");
    if (!result)
        result = cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, (CUstream)stream, args, NULL);
    return (int)result;
}

static void by_the_driver(void) {
    cudaStream_t stream;
    unsigned *memory, got = 0;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaMalloc((void **)&memory, sizeof *memory));
    OK(store(stream, memory, 4711));
    OK(cudaMemcpyAsync(&got, memory, sizeof got, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
    EXPECT(got == 4711, "%u came back", got);
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(memory));
}

static void by_the_runtime(void) {
    cudaLibrary_t library;
    cudaKernel_t kernel;
    unsigned *memory, value = 4712, got = 0;
    void *args[] = {&memory, &value};
    const dim3 one = {1, 1, 1};
    NEEDS(12080, cudaLibraryLoadData(&library, store_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaMalloc((void **)&memory, sizeof *memory));
    OK(cudaLibraryLoadData(&library, store_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernel(&kernel, library, "store"));
    OK(cudaLaunchKernel((const void *)kernel, one, one, args, 0, 0));
    OK(cudaMemcpy(&got, memory, sizeof got, cudaMemcpyDeviceToHost));
    EXPECT(got == 4712, "%u came back", got);

    cudaLaunchConfig_t config = {.gridDim = one, .blockDim = one};
    value = 4713;
    OK(cudaLaunchKernelExC(&config, (const void *)kernel, args));
    OK(cudaMemcpy(&got, memory, sizeof got, cudaMemcpyDeviceToHost));
    EXPECT(got == 4713, "%u came back from cudaLaunchKernelExC", got);
    OK(cudaFree(memory));
    OK(cudaLibraryUnload(library));
}

static void function_attributes(void) {
    cudaLibrary_t library;
    cudaKernel_t kernel;
    struct {
        struct cudaFuncAttributes it;
        unsigned char behind[64];
    } a;
    NEEDS(12080, cudaLibraryLoadData(&library, store_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryLoadData(&library, store_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernel(&kernel, library, "store"));
    memset(&a, 0xa5, sizeof a);
    OK(cudaFuncGetAttributes(&a.it, (const void *)kernel));
    for (size_t i = 0; i < sizeof a.behind; i++)
        EXPECT(a.behind[i] == 0xa5, "byte %zu behind the struct was written", i);
    EXPECT(a.it.maxThreadsPerBlock == 1024 && a.it.ptxVersion == 52, "threads %d, PTX %d",
           a.it.maxThreadsPerBlock, a.it.ptxVersion);
    OK(cudaLibraryUnload(library));
}

/* ---- callbacks, and an answer that is no failure ---- */

static int go_on, went;

static void CUDART_CB wait_for_it(void *data) {
    while (!__atomic_load_n(&go_on, __ATOMIC_ACQUIRE))
        sched_yield();
    *(int *)data = 1;
}

static void not_ready(void) {
    cudaStream_t stream;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaLaunchHostFunc(stream, wait_for_it, &went));
    acu_clear_error();
    cudaError_t asked = cudaStreamQuery(stream);
    int recorded = acu_last_error();
    __atomic_store_n(&go_on, 1, __ATOMIC_RELEASE);
    OK(cudaStreamSynchronize(stream));
    EXPECT(asked == cudaErrorNotReady, "a busy stream says %d", asked);
    EXPECT(recorded == 0, "an answer was recorded as the failure %d", recorded);
    EXPECT(went == 1, "the callback did not run");
    OK(cudaStreamDestroy(stream));
}

/* The runtime's own: 11.7 has a smaller value than what is presented. */
static void stream_attributes(void) {
    cudaStream_t stream, other;
    cudaLaunchAttributeValue set = {.syncPolicy = cudaSyncPolicyBlockingSync}, got;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamCreate(&other));
    memset(&got, 0xa5, sizeof got);
    OK(cudaStreamSetAttribute(stream, cudaLaunchAttributeSynchronizationPolicy, &set));
    OK(cudaStreamGetAttribute(stream, cudaLaunchAttributeSynchronizationPolicy, &got));
    EXPECT(got.syncPolicy == cudaSyncPolicyBlockingSync, "got %d", got.syncPolicy);
    OK(cudaStreamCopyAttributes(other, stream));
    OK(cudaStreamGetAttribute(other, cudaLaunchAttributeSynchronizationPolicy, &got));
    EXPECT(got.syncPolicy == cudaSyncPolicyBlockingSync, "the copy has %d", got.syncPolicy);
    OK(cudaStreamDestroy(stream));
    OK(cudaStreamDestroy(other));
}

const check kernel_checks[] = {
    {"cuLaunchKernel on a runtime's stream", by_the_driver},
    {"cudaLaunchKernel of a library's kernel", by_the_runtime},
    {"function attributes", function_attributes},
    {"host callback, not ready", not_ready},
    {"stream attributes", stream_attributes},
    {NULL, NULL},
};
