/*
 * A libcudart whose functions do nothing: what is left of a call is the way to it. With COLD those
 * that are timed leave nothing of it in the first caches (fake.h).
 */
#include "fake.h"

#include <anycuda/cudart_types.h>

#include <stdlib.h>

int cudaRuntimeGetVersion(int *version) {
    *version = 13000;
    return 0;
}

/* The functions by which the loader recognises a libcudart, and those that are called. */
EMPTY(cudaMalloc)
EMPTY(cudaStreamBeginCapture)
EMPTY(cudaDeviceGetPCIBusId)
EMPTY(cudaFreeHost)
EMPTY(cudaMemcpy2DAsync)
EMPTY(cudaMemcpy3DAsync)
EMPTY(cudaGetDevice)
EMPTY(cudaSetDevice)
EMPTY(cudaStreamCreate)
EMPTY(cudaStreamQuery)
EMPTY(cudaEventCreate)
EMPTY(cudaEventQuery)
EMPTY(cudaEventRecord)
EMPTY(cudaDeviceSynchronize)
EMPTY(cudaFree)
EMPTY(cudaGetLastError)
EMPTY(cudaStreamDestroy)
EMPTY(cudaStreamWaitEvent)
EMPTY(cudaEventDestroy)
EMPTY(cudaEventSynchronize)
EMPTY(cudaGraphDestroy)
EMPTY(cudaGraphExecDestroy)
EMPTY(cudaLibraryUnload)
EMPTY(cudaThreadExchangeStreamCaptureMode)

TIMED(cudaFreeAsync)
TIMED(cudaGraphLaunch)
TIMED(cudaMemcpyAsync)
TIMED(cudaMemset2DAsync)
TIMED(cudaMemsetAsync)
TIMED(cudaStreamSynchronize)

#if defined(COLD)
/* Launches by the driver's call, as CUDA's own does, so that both do the same work. */
int cuLaunchKernel(void);
int cudaLaunchKernel(void) {
    return cuLaunchKernel();
}
#else
TIMED(cudaLaunchKernel)
#endif

/* These functions return a pointer, which nobody looks at. */
static char something[4096];

#define GIVES(name)                                                                                \
    int name(void **made) {                                                                        \
        *made = something;                                                                         \
        return 0;                                                                                  \
    }

GIVES(cudaStreamCreateWithPriority)
GIVES(cudaStreamEndCapture)
GIVES(cudaEventCreateWithFlags)
GIVES(cudaGraphAddKernelNode)
GIVES(cudaGraphCreate)
GIVES(cudaGraphInstantiate)
GIVES(cudaGraphInstantiateWithParams)
GIVES(cudaLibraryLoadData)
GIVES(cudaLibraryGetKernel)

int cudaMallocAsync(void **made) {
    *made = something;
    return work();
}

int cudaHostAlloc(void **made, size_t size) {
    *made = malloc(size);
    return 0;
}

int cudaLibraryGetKernelCount(unsigned *count) {
    *count = 1;
    return 0;
}

int cudaGetDeviceCount(int *count) {
    *count = 1;
    return 0;
}

int cudaStreamIsCapturing(void *stream, int *status) {
    (void)stream;
    *status = 0;
    return 0;
}

int cudaGetDeviceProperties(struct cudaDeviceProp *properties) {
    *properties = (struct cudaDeviceProp){.name = "nothing", .totalGlobalMem = 1u << 30u};
    return 0;
}

int cudaDeviceGetAttribute(int *value) {
    *value = 1024;
    return 0;
}

/* Each kernel takes two pointers and an int. */
int cudaFuncGetAttributes(struct cudaFuncAttributes *attributes) {
    *attributes = (struct cudaFuncAttributes){.maxThreadsPerBlock = 1024};
    return 0;
}

int cudaFuncGetParamInfo(const void *function, size_t index, size_t *offset, size_t *size) {
    (void)function;
    *offset = 8 * index;
    *size = index < 2 ? 8 : 4;
    return index < 3 ? 0 : cudaErrorInvalidValue;
}
