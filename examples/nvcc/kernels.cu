// A kernel, as nvcc compiles it into a static library.
#include "kernels.h"

__global__ void vector_add(const float *a, const float *b, float *sum, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        sum[i] = a[i] + b[i];
}

extern "C" int launch_vector_add(const float *a, const float *b, float *sum, int n,
                                 struct CUstream_st *stream) {
    vector_add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, sum, n);
    return cudaGetLastError();
}

extern "C" const void *vector_add_function(void) {
    return reinterpret_cast<const void *>(vector_add);
}
