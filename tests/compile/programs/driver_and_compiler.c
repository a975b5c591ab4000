/* The runtime, the driver API and NVRTC in one file. */
#include <cuda.h>
#include <cuda_runtime.h>
#include <nvrtc.h>
#include <stdio.h>

static size_t CUDA_CB no_memory(int block_size) {
    (void)block_size;
    return 0;
}

int main(void) {
    static const char text[] = "extern \"C\" __global__ void nothing() {}";
    const char *options[] = {"--std=c++17"};
    int grid = 0, block = 0;
    nvrtcProgram program;
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction function;
    char ptx[4096];
    size_t size = 0;

    if (nvrtcCreateProgram(&program, text, "nothing.cu", 0, NULL, NULL) != NVRTC_SUCCESS) {
        printf("no compiler: %s\n", acu_last_error_message());
        return 0;
    }
    if (nvrtcCompileProgram(program, 1, options) != NVRTC_SUCCESS ||
        nvrtcGetPTXSize(program, &size) != NVRTC_SUCCESS || size > sizeof ptx ||
        nvrtcGetPTX(program, ptx) != NVRTC_SUCCESS ||
        nvrtcDestroyProgram(&program) != NVRTC_SUCCESS)
        return 1;
    if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&device, 0) != CUDA_SUCCESS) {
        printf("no driver: %s\n", acu_last_error_message());
        return 0;
    }
    if (cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS ||
        cuCtxSetCurrent(context) != CUDA_SUCCESS ||
        cuModuleLoadData(&module, ptx) != CUDA_SUCCESS ||
        cuModuleGetFunction(&function, module, "nothing") != CUDA_SUCCESS ||
        cuOccupancyMaxPotentialBlockSize(&grid, &block, function, no_memory, 0, 0) !=
            CUDA_SUCCESS ||
        cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, CU_STREAM_LEGACY, NULL, NULL) != CUDA_SUCCESS)
        return 1;
    return cudaDeviceSynchronize() != cudaSuccess || cuModuleUnload(module) != CUDA_SUCCESS ||
           cuDevicePrimaryCtxRelease(device) != CUDA_SUCCESS;
}
