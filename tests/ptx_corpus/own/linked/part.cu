#include "linked.h"

static __device__ int hidden = 40;

static __device__ __noinline__ int own(int value) {
    return value + hidden;
}

__device__ int increment(int value) {
    return value + 1;
}

__device__ int offset = 100;
__constant__ int factors[4] = {1, 2, 3, 4};
__device__ unary operations[2] = {increment, own};

__device__ int twice(int value) {
    return 2 * value + own(0);
}

__global__ void of_the_other_file(int *out) {
    *out = own(5) + sevenfold(3) + counter<int>;
}

long run_the_other_file() {
    int *out = on_device<int>(1), found, changed = 7;
    of_the_other_file<<<1, 1>>>(out);
    to_host(&found, out, 1);
    long wrong = found != 45 + 21 + 5;
    CALL(cudaMemcpyToSymbol(hidden, &changed, sizeof changed));
    of_the_other_file<<<1, 1>>>(out);
    to_host(&found, out, 1);
    return wrong + (found != 12 + 21 + 5);
}
