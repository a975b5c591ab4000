/* A libcudart whose functions do nothing: what is left of a call is the way to it. */
#include <anycuda/cudart_types.h>

#pragma GCC visibility push(default)
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

int cudaRuntimeGetVersion(int *version) {
    *version = 13000;
    return 0;
}

/* What the loader knows a libcudart by, and what is called. */
#define EMPTY(name)                                                                                \
    int name(void) {                                                                               \
        return 0;                                                                                  \
    }

EMPTY(cudaMalloc)
EMPTY(cudaLaunchKernel)
EMPTY(cudaStreamBeginCapture)
EMPTY(cudaGetDevice)
EMPTY(cudaSetDevice)
EMPTY(cudaStreamCreate)
EMPTY(cudaStreamQuery)
EMPTY(cudaStreamSynchronize)
EMPTY(cudaEventCreate)
EMPTY(cudaEventQuery)
EMPTY(cudaEventRecord)
EMPTY(cudaDeviceSynchronize)
EMPTY(cudaFree)
EMPTY(cudaGetLastError)
EMPTY(cudaFreeAsync)
EMPTY(cudaMemcpyAsync)
EMPTY(cudaMemsetAsync)
EMPTY(cudaStreamDestroy)
EMPTY(cudaStreamWaitEvent)
EMPTY(cudaEventDestroy)
EMPTY(cudaEventSynchronize)
EMPTY(cudaGraphDestroy)
EMPTY(cudaGraphExecDestroy)
EMPTY(cudaGraphLaunch)
EMPTY(cudaLibraryUnload)

/* What gives something, which nobody looks at. */
static char something[4096];

#define GIVES(name)                                                                                \
    int name(void **made) {                                                                        \
        *made = something;                                                                         \
        return 0;                                                                                  \
    }

GIVES(cudaMallocAsync)
GIVES(cudaStreamCreateWithPriority)
GIVES(cudaEventCreateWithFlags)
GIVES(cudaGraphAddKernelNode)
GIVES(cudaGraphCreate)
GIVES(cudaGraphInstantiate)
GIVES(cudaGraphInstantiateWithParams)
GIVES(cudaLibraryLoadData)
GIVES(cudaLibraryGetKernel)

int cudaGetDeviceCount(int *count) {
    *count = 1;
    return 0;
}

int cudaStreamIsCapturing(void *stream, int *status) {
    (void)stream;
    *status = 0;
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
