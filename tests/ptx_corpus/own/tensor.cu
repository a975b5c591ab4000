// Tensor cores by wmma: f16 into f32 and f16, int8, tf32, bf16, double. Small integers, so that each sum is exact.
#include "check.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#include <vector>

using namespace nvcuda;

template <typename A, typename C, int M, int N, int K, typename F, typename LB>
__global__ void multiply(const A *a, const A *b, C *c, int rounds) {
    wmma::fragment<wmma::matrix_a, M, N, K, F, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, M, N, K, F, LB> right;
    wmma::fragment<wmma::accumulator, M, N, K, C> sum;
    wmma::fill_fragment(sum, C(1));
    for (int round = 0; round < rounds; round++) {
        wmma::load_matrix_sync(left, a, K);
        wmma::load_matrix_sync(right, b, std::is_same<LB, wmma::col_major>::value ? K : N);
        wmma::mma_sync(sum, left, right, sum);
    }
    wmma::store_matrix_sync(c, sum, N, wmma::mem_row_major);
}

template <typename A, typename C, int M, int N, int K, typename F, typename LB> long test(const char *name) {
    std::vector<A> a(M * K), b(K * N);
    std::vector<C> c(M * N);
    std::uint32_t state = M * 100 + K;
    bool column = std::is_same<LB, wmma::col_major>::value;
    for (A &value : a)
        value = A(float((int)(next_random(state) % 9) - 4));
    for (A &value : b)
        value = A(float((int)(next_random(state) % 9) - 4));
    A *left = on_device(a.size(), a.data()), *right = on_device(b.size(), b.data());
    C *out = on_device<C>(c.size());
    multiply<A, C, M, N, K, F, LB><<<1, 32>>>(left, right, out, 2);
    to_host(c.data(), out, c.size());
    long wrong = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = 1;
            for (int k = 0; k < K; k++)
                sum += 2 * float(a[i * K + k]) * float(b[column ? j * K + k : k * N + j]);
            wrong += float(c[i * N + j]) != sum;
        }
    std::printf("%s: %ld wrong\n", name, wrong);
    return wrong;
}

int main() {
    using Row = wmma::row_major;
    using Column = wmma::col_major;
    long wrong = test<__half, float, 16, 16, 16, __half, Row>("f16 to f32, 16x16x16");
    wrong += test<__half, float, 32, 8, 16, __half, Column>("f16 to f32, 32x8x16");
    wrong += test<__half, __half, 8, 32, 16, __half, Column>("f16 to f16, 8x32x16");
    wrong += test<signed char, int, 16, 16, 16, signed char, Column>("s8 to s32, 16x16x16");
    wrong += test<__nv_bfloat16, float, 16, 16, 16, __nv_bfloat16, Row>("bf16 to f32, 16x16x16");
    wrong += test<float, float, 16, 16, 8, wmma::precision::tf32, Column>("tf32 to f32, 16x16x8");
    wrong += test<double, double, 8, 8, 4, double, Column>("f64, 8x8x4");
    return finish("tensor", wrong);
}
