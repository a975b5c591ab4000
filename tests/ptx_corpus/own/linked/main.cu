// Functions, variables, kernels and static symbols of two files (nvcc -rdc=true).
// options: -rdc=true -arch=compute_80 -code=compute_80
#include "linked.h"

static __device__ int hidden = 3;

static __device__ __noinline__ int own(int value) {
    return value + hidden;
}

__global__ void kernel(int *out) {
    __shared__ int sum;
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    atomicAdd(&sum, twice(threadIdx.x));
    __syncthreads();
    out[threadIdx.x] = sum + offset + own(1) + factors[2] + operations[threadIdx.x % 2](1) +
                       sevenfold(2) + counter<int>;
}

int main() {
    int *out = on_device<int>(4), found[4], added = 7;
    long wrong = 0;
    kernel<<<1, 4>>>(out);
    to_host(found, out, 4);
    for (int n = 0; n < 4; n++)
        wrong += found[n] != 2 * 6 + 4 * 40 + 100 + 4 + 3 + (n % 2 ? 41 : 2) + 14 + 5;
    CALL(cudaMemcpyToSymbol(offset, &added, sizeof added));
    kernel<<<1, 4>>>(out);
    to_host(found, out, 4);
    for (int n = 0; n < 4; n++)
        wrong += found[n] != 2 * 6 + 4 * 40 + 7 + 4 + 3 + (n % 2 ? 41 : 2) + 14 + 5;
    wrong += run_the_other_file();
    of_the_other_file<<<1, 1>>>(out);
    to_host(found, out, 1);
    wrong += found[0] != 12 + 21 + 5;
    return finish("linked", wrong);
}
