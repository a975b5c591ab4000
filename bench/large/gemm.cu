// C = A B of 1024 x 1024 in f16 with sums in f32, by wmma and by mma.sync, against plain C.
// `large.py` builds and runs it.
#include "large.h"
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

constexpr int SIZE = 1024, TILE = 64, DEPTH = 32, WARPS = 4, PAD = 8;

// The next 64 x 32 of A and 32 x 64 of B, 16 bytes for each access; rows are 16 bytes longer, as
// programs do against conflicts.
__device__ void load(const half *a, const half *b, int row, int column, int k,
                     half left[TILE][DEPTH + PAD], half right[DEPTH][TILE + PAD]) {
    for (int i = threadIdx.x; i < TILE * DEPTH / 8; i += blockDim.x) {
        int y = i / (DEPTH / 8), x = i % (DEPTH / 8) * 8;
        *(int4 *)&left[y][x] = *(const int4 *)&a[(row + y) * SIZE + k + x];
    }
    for (int i = threadIdx.x; i < TILE * DEPTH / 8; i += blockDim.x) {
        int y = i / (TILE / 8), x = i % (TILE / 8) * 8;
        *(int4 *)&right[y][x] = *(const int4 *)&b[(k + y) * SIZE + column + x];
    }
}

// Each warp computes 32 x 32 of the block's 64 x 64.
__global__ void by_wmma(const half *a, const half *b, float *c) {
    __shared__ __align__(32) half left[TILE][DEPTH + PAD], right[DEPTH][TILE + PAD];
    int row = blockIdx.y * TILE, column = blockIdx.x * TILE, warp = threadIdx.x / 32;
    int y = warp / 2 * 32, x = warp % 2 * 32;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[2][2];
    for (auto &line : sum)
        for (auto &fragment : line)
            wmma::fill_fragment(fragment, 0.0f);
    for (int k = 0; k < SIZE; k += DEPTH) {
        load(a, b, row, column, k, left, right);
        __syncthreads();
        for (int part = 0; part < DEPTH; part += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> m[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> n[2];
            for (int i = 0; i < 2; i++) {
                wmma::load_matrix_sync(m[i], &left[y + i * 16][part], DEPTH + PAD);
                wmma::load_matrix_sync(n[i], &right[part][x + i * 16], TILE + PAD);
            }
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 2; j++)
                    wmma::mma_sync(sum[i][j], m[i], n[j], sum[i][j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            wmma::store_matrix_sync(&c[(row + y + i * 16) * SIZE + column + x + j * 16], sum[i][j],
                                    SIZE, wmma::mem_row_major);
}

__device__ unsigned address(const half *at) {
    return (unsigned)__cvta_generic_to_shared(at);
}

// The same with ldmatrix and mma.sync.m16n8k16: a warp has two rows of four products each.
__global__ void by_mma(const half *a, const half *b, float *c) {
    __shared__ __align__(32) half left[TILE][DEPTH + PAD], right[DEPTH][TILE + PAD];
    int row = blockIdx.y * TILE, column = blockIdx.x * TILE, warp = threadIdx.x / 32,
        lane = threadIdx.x % 32;
    int y = warp / 2 * 32, x = warp % 2 * 32;
    float sum[2][4][4] = {};
    for (int k = 0; k < SIZE; k += DEPTH) {
        load(a, b, row, column, k, left, right);
        __syncthreads();
        for (int part = 0; part < DEPTH; part += 16) {
            unsigned m[2][4], n[4][2];
            for (int i = 0; i < 2; i++)
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                             : "=r"(m[i][0]), "=r"(m[i][1]), "=r"(m[i][2]), "=r"(m[i][3])
                             : "r"(address(&left[y + i * 16 + lane % 16][part + lane / 16 * 8])));
            for (int j = 0; j < 4; j++)
                asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                             : "=r"(n[j][0]), "=r"(n[j][1])
                             : "r"(address(&right[part + lane % 16][x + j * 8])));
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 4; j++)
                    asm volatile(
                        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                        : "+f"(sum[i][j][0]), "+f"(sum[i][j][1]), "+f"(sum[i][j][2]),
                          "+f"(sum[i][j][3])
                        : "r"(m[i][0]), "r"(m[i][1]), "r"(m[i][2]), "r"(m[i][3]), "r"(n[j][0]),
                          "r"(n[j][1]));
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++)
            for (int e = 0; e < 4; e++)
                c[(row + y + i * 16 + lane / 4 + e / 2 * 8) * SIZE + column + x + j * 8 +
                  lane % 4 * 2 + e % 2] = sum[i][j][e];
}

static void multiply(const std::vector<half> &a, const std::vector<half> &b,
                     std::vector<float> &c) {
    std::vector<float> left(a.begin(), a.end()), right(b.begin(), b.end());
    for (int i = 0; i < SIZE; i++)
        for (int k = 0; k < SIZE; k++)
            for (int j = 0; j < SIZE; j++)
                c[i * SIZE + j] += left[i * SIZE + k] * right[k * SIZE + j];
}

int main() {
    std::vector<half> a(SIZE * SIZE), b(SIZE * SIZE);
    std::vector<float> right(SIZE * SIZE), c(SIZE * SIZE);
    std::uint32_t state = 1;
    for (auto *matrix : {&a, &b})
        for (half &value : *matrix) // small integers, so that each sum is exact
            value = half(float((int)(next_random(state) % 9) - 4));
    double plain = seconds([&] { multiply(a, b, right); });
    half *left = on_device(a.size(), a.data()), *other = on_device(b.size(), b.data());
    int failed = 0;
    for (auto kernel : {by_wmma, by_mma}) {
        float *out = on_device<float>(c.size());
        double time = median([&] {
            kernel<<<dim3(SIZE / TILE, SIZE / TILE), WARPS * 32>>>(left, other, out);
            CALL(cudaDeviceSynchronize());
        });
        to_host(c.data(), out, c.size());
        failed |=
            row(kernel == by_wmma ? "f16 GEMM of 1024^3, wmma" : "f16 GEMM of 1024^3, mma.sync",
                time, plain, c == right);
    }
    return failed;
}
