/* Launches each kernel of tests/sim/profiled.h once, in their order: on the simulator, or under ncu
 * on a GPU. tests/gpu/profile_ncu.py starts it. Ends with 77 where there is no GPU. */
#include "../sim/profiled.h"

#include <anycuda/cuda.h>
#include <stdio.h>

static int failed(const char *what, const char *kernel, CUresult result) {
    if (result)
        fprintf(stderr, "%s of %s: error %d\n", what, kernel, (int)result);
    return result != CUDA_SUCCESS;
}

static int run_kernel(const profiled_kernel *k, CUdeviceptr at) {
    CUmodule module;
    CUfunction function;
    void *args[] = {&at};
    return failed("loading", k->name, cuModuleLoadData(&module, k->text)) ||
           failed("finding", k->name, cuModuleGetFunction(&function, module, k->name)) ||
           failed("launching", k->name,
                  cuLaunchKernel(function, PROFILED_BLOCKS, 1, 1, PROFILED_THREADS, 1, 1, 0, NULL,
                                 args, NULL)) ||
           failed("the end", k->name, cuCtxSynchronize()) ||
           failed("unloading", k->name, cuModuleUnload(module));
}

int main(void) {
    CUcontext context;
    CUdeviceptr at;
    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context)) {
        printf("there is no GPU\n");
        return 77;
    }
    if (cuMemAlloc(&at, PROFILED_BYTES) || cuMemsetD8(at, 0, PROFILED_BYTES))
        return 1;
    for (size_t n = 0; n < PROFILED_COUNT; n++)
        if (run_kernel(&profiled_kernels[n], at))
            return 1;
    return cuMemFree(at) || cuDevicePrimaryCtxRelease(0);
}
