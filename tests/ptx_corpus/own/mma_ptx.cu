// mma.sync, ldmatrix and cp.async as inline PTX: a 64x64x64 product of halves by one block.
#include "check.h"
#include <cuda_fp16.h>
#include <vector>

const int SIZE = 64;

__global__ void product(const __half *a, const __half *b, float *c) {
    __shared__ __align__(128) __half left[SIZE * SIZE], right[SIZE * SIZE];
    for (int i = threadIdx.x * 8; i < SIZE * SIZE; i += blockDim.x * 8) {
        unsigned to = __cvta_generic_to_shared(left + i), other = __cvta_generic_to_shared(right + i);
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(a + i) : "memory");
        asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(other), "l"(b + i) : "memory");
    }
    asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = warp * 16;
    for (int column = 0; column < SIZE; column += 8) {
        float d[4] = {0, 0, 0, 0};
        for (int k = 0; k < SIZE; k += 16) {
            unsigned x[4], y[2];
            unsigned at = __cvta_generic_to_shared(left + (row + lane % 16) * SIZE + k + lane / 16 * 8);
            unsigned of = __cvta_generic_to_shared(right + (k + lane % 16) * SIZE + column);
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                         : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(at));
            asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                         : "=r"(y[0]), "=r"(y[1]) : "r"(of));
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                         "{%0,%1,%2,%3};"
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                         : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
        }
        float *out = c + (row + lane / 4) * SIZE + column + lane % 4 * 2;
        out[0] = d[0];
        out[1] = d[1];
        out[8 * SIZE] = d[2];
        out[8 * SIZE + 1] = d[3];
    }
}

int main() {
    std::vector<__half> a(SIZE * SIZE), b(SIZE * SIZE);
    std::vector<float> c(SIZE * SIZE);
    std::uint32_t state = 5;
    for (int i = 0; i < SIZE * SIZE; i++) {
        a[i] = __float2half(float((int)(next_random(state) % 17) - 8));
        b[i] = __float2half(float((int)(next_random(state) % 17) - 8));
    }
    __half *left = on_device(a.size(), a.data()), *right = on_device(b.size(), b.data());
    float *out = on_device<float>(c.size());
    product<<<1, 128>>>(left, right, out);
    to_host(c.data(), out, c.size());
    long wrong = 0;
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) {
            float sum = 0;
            for (int k = 0; k < SIZE; k++)
                sum += __half2float(a[i * SIZE + k]) * __half2float(b[k * SIZE + j]);
            wrong += c[i * SIZE + j] != sum;
        }
    return finish("mma_ptx", wrong);
}
