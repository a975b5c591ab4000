// A program that knows nothing of anycuda, for nvcc: it is run with libanycuda-sim.so as its libcudart.
#include <cstdio>
#include <cuda_runtime.h>

__device__ int counter = 5;
__constant__ float factors[4];
__managed__ int shared_by_all = 3;

__global__ void add(const float *a, float *b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        b[i] += a[i] * factors[0];
}

template <class T> __global__ void __launch_bounds__(128) scale(T *a, T by, char more) {
    a[threadIdx.x] *= by;
    counter += more;
    shared_by_all++;
}

#define CHECK(call)                                                                                \
    if (cudaError_t error = call) {                                                                \
        std::printf("line %d: %s\n", __LINE__, cudaGetErrorName(error));                           \
        return 1;                                                                                  \
    }

int main() {
    float host[8] = {1, 2, 3, 4, 5, 6, 7, 8}, f[4] = {2, 3, 4, 5}, *a;
    int count = 0;
    cudaFuncAttributes attributes;
    CHECK(cudaMalloc(&a, sizeof host));
    CHECK(cudaMemcpy(a, host, sizeof host, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpyToSymbol(factors, f, sizeof f));
    add<<<1, 8>>>(a, a, 8);
    CHECK(cudaGetLastError());
    scale<float><<<1, 8>>>(a, 10.0f, 1);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host, a, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
    CHECK(cudaFuncGetAttributes(&attributes, scale<float>));
    scale<float><<<1, 256>>>(a, 10.0f, 1); // more than it allows
    std::printf("%g %g, counter %d, managed %d, at most %d, %s\n", host[0], host[7], count,
                shared_by_all, attributes.maxThreadsPerBlock, cudaGetErrorName(cudaGetLastError()));
    return cudaFree(a);
}
