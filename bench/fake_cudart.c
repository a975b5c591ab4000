/* A libcudart whose functions do nothing: what is left of a call is the way to it. */
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
EMPTY(cudaMallocAsync)
EMPTY(cudaLaunchKernel)
EMPTY(cudaGraphInstantiate)
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
