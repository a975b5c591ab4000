// wgmma of Hopper: 64x8x16 halves from shared memory without swizzling, by one warp group.
// options: -arch=compute_90a -code=compute_90a
#include "check.h"
#include <cuda_fp16.h>
#include <vector>

const int M = 64, N = 8, K = 16;

// Core matrices are 8 rows of 16 bytes each: 128 bytes. Offsets are in units of 16 bytes.
__device__ std::uint64_t descriptor(const void *shared, int leading, int stride) {
    std::uint64_t address = __cvta_generic_to_shared(shared);
    return (address & 0x3ffff) >> 4 | (std::uint64_t)(leading >> 4) << 16 | (std::uint64_t)(stride >> 4) << 32;
}

__global__ void product(const __half *a, const __half *b, float *c) {
    __shared__ __align__(128) __half left[M * K], right[N * K];
    for (int i = threadIdx.x; i < M * K; i += blockDim.x) { // [k / 8][m / 8][m % 8][k % 8]
        int m = i / K, k = i % K;
        left[k / 8 * (M * 8) + m / 8 * 64 + m % 8 * 8 + k % 8] = a[i];
    }
    for (int i = threadIdx.x; i < N * K; i += blockDim.x) { // [k / 8][n % 8][k % 8]; b is [k][n]
        int k = i / N, n = i % N;
        right[k / 8 * (N * 8) + n * 8 + k % 8] = b[i];
    }
    __syncthreads();
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    float d[4] = {1, 1, 1, 1};
    std::uint64_t x = descriptor(left, M * 8 * 2, 128), y = descriptor(right, N * 8 * 2, 128);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %6, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, p, 1, 1, 0, 0;\n\t}"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "l"(x), "l"(y), "r"(1));
    asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;" ::: "memory");
    int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
    c[row * N + column] = d[0];
    c[row * N + column + 1] = d[1];
    c[(row + 8) * N + column] = d[2];
    c[(row + 8) * N + column + 1] = d[3];
}

int main() {
    std::vector<__half> a(M * K), b(K * N);
    std::vector<float> c(M * N);
    std::uint32_t state = 8;
    for (auto &value : a)
        value = __float2half(float((int)(next_random(state) % 9) - 4));
    for (auto &value : b)
        value = __float2half(float((int)(next_random(state) % 9) - 4));
    float *out = on_device<float>(c.size());
    product<<<1, 128>>>(on_device(a.size(), a.data()), on_device(b.size(), b.data()), out);
    to_host(c.data(), out, c.size());
    long wrong = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = 1;
            for (int k = 0; k < K; k++)
                sum += __half2float(a[i * K + k]) * __half2float(b[k * N + j]);
            wrong += c[i * N + j] != sum;
        }
    return finish("wgmma", wrong);
}
