// A product of matrices as fast kernels of Hopper make it: a producer's warps copy tiles by tensor maps through three
// stages, with clusters that share those of b; two warp groups multiply them by wgmma, one stage behind the next.
// options: -arch=compute_90a -code=compute_90a
#include "check.h"
#include <cuda.h>
#include <cuda_fp16.h>
#include <vector>

const int TILE_M = 128, TILE_N = 128, TILE_K = 64, STAGES = 3, CLUSTER = 2;
const int A_BYTES = TILE_M * TILE_K * 2, B_BYTES = TILE_N * TILE_K * 2;

__device__ unsigned shared_address(const void *pointer) {
    return (unsigned)__cvta_generic_to_shared(pointer);
}

__device__ void wait_for(unsigned barrier, unsigned parity) {
    asm volatile("{\n\t.reg .pred p;\n\tWAIT: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n\t@!p bra WAIT;\n\t}"
                 ::"r"(barrier), "r"(parity) : "memory");
}

__device__ void copy_tile(const CUtensorMap *map, unsigned to, unsigned barrier, int x, int y) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
                 "[%4];" ::"r"(to), "l"(map), "r"(x), "r"(y), "r"(barrier) : "memory");
}

__device__ void copy_tile_to(const CUtensorMap *map, unsigned to, unsigned barrier, int x, int y, unsigned short blocks) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to), "l"(map), "r"(x), "r"(y), "r"(barrier), "h"(blocks)
                 : "memory");
}

// Rows of 128 bytes, swizzled; eight rows are 1024 bytes apart from the next eight.
__device__ std::uint64_t descriptor(unsigned address) {
    return (address & 0x3ffff) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

#define FOUR(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SIXTEEN(i) FOUR(i), FOUR(i + 4), FOUR(i + 8), FOUR(i + 12)
__device__ void multiply(float (&d)[64], std::uint64_t a, std::uint64_t b, int adds) {
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %66, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, "
                 "%12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, "
                 "%33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, "
                 "%54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, %64, %65, p, 1, 1, 0, 0;\n\t}"
                 : SIXTEEN(0), SIXTEEN(16), SIXTEEN(32), SIXTEEN(48) : "l"(a), "l"(b), "r"(adds));
}

struct Stages {
    alignas(1024) char a[STAGES][A_BYTES], b[STAGES][B_BYTES];
    std::uint64_t full[STAGES], empty[STAGES];
};

// Blocks of a cluster have rows of their own, and the same columns: each copies half of b's tile for both.
__device__ void produce(const CUtensorMap *a, const CUtensorMap *b, Stages *s, int steps, unsigned rank) {
    int row = blockIdx.x * TILE_M, column = blockIdx.y * TILE_N;
    for (int n = 0; n < steps; n++) {
        int stage = n % STAGES, half = TILE_N / CLUSTER;
        unsigned full = shared_address(&s->full[stage]);
        wait_for(shared_address(&s->empty[stage]), (n / STAGES + 1) % 2);
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(full), "r"(A_BYTES + B_BYTES) : "memory");
        copy_tile(a, shared_address(s->a[stage]), full, n * TILE_K, row);
        copy_tile_to(b, shared_address(s->b[stage]) + rank * half * TILE_K * 2, full, n * TILE_K,
                     column + (int)rank * half, (1 << CLUSTER) - 1);
    }
}

// A stage is free when the warp groups of all blocks of the cluster have read it.
__device__ void give_back(std::uint64_t *empty, unsigned rank) {
    asm volatile("{\n\t.reg .b32 r;\n\tmapa.shared::cluster.u32 r, %0, %1;\n\t"
                 "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [r];\n\t}" ::"r"(shared_address(empty)), "r"(rank)
                 : "memory");
}

__device__ void consume(Stages *s, float *c, int columns, int steps) {
    int group = threadIdx.x / 128 - 1, lane = threadIdx.x % 128;
    float d[64];
    for (int n = 0; n < steps; n++) {
        int stage = n % STAGES;
        unsigned a = shared_address(s->a[stage]) + group * 64 * TILE_K * 2, b = shared_address(s->b[stage]);
        wait_for(shared_address(&s->full[stage]), n / STAGES % 2);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int k = 0; k < TILE_K; k += 16)
            multiply(d, descriptor(a + k * 2), descriptor(b + k * 2), n || k);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
        if (n && lane < CLUSTER)
            give_back(&s->empty[(n - 1) % STAGES], lane);
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    if (lane < CLUSTER)
        give_back(&s->empty[(steps - 1) % STAGES], lane);
    int row = blockIdx.x * TILE_M + group * 64 + lane / 32 * 16 + lane % 32 / 4;
    int column = blockIdx.y * TILE_N + lane % 4 * 2;
    for (int i = 0; i < 64; i++)
        c[(row + i / 2 % 2 * 8) * columns + column + i / 4 * 8 + i % 2] = d[i];
}

__global__ void __launch_bounds__(384, 1) __cluster_dims__(CLUSTER, 1, 1)
    product(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float *c, int columns, int steps) {
    extern __shared__ __align__(1024) char memory[];
    Stages *s = (Stages *)memory;
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&s->full[i])) : "memory");
            asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&s->empty[i])), "r"(2 * CLUSTER)
                         : "memory");
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
    if (threadIdx.x < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0)
            produce(&a, &b, s, steps, rank);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        consume(s, c, columns, steps);
    }
    __syncthreads();
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}

CUtensorMap map_of(__half *memory, int k, int rows, int box_rows) {
    static decltype(&cuTensorMapEncodeTiled) encode;
    cudaDriverEntryPointQueryResult found;
    CUtensorMap map;
    if (!encode)
        CALL(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", (void **)&encode, 12000, cudaEnableDefault,
                                              &found));
    cuuint64_t shape[] = {(cuuint64_t)k, (cuuint64_t)rows}, strides[] = {k * sizeof(__half)};
    cuuint32_t box[] = {TILE_K, (cuuint32_t)box_rows}, steps[] = {1, 1};
    if (encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, memory, shape, strides, box, steps,
               CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
        std::exit(2);
    return map;
}

int main() {
    const int M = 512, N = 256, K = 328; // the last tiles along k lie partly outside
    std::vector<__half> a(M * K), b(N * K);
    std::vector<float> c(M * N);
    std::uint32_t state = 8;
    for (auto &value : a)
        value = __float2half(float((int)(next_random(state) % 9) - 4));
    for (auto &value : b)
        value = __float2half(float((int)(next_random(state) % 9) - 4));
    float *out = on_device<float>(c.size());
    CUtensorMap left = map_of(on_device(a.size(), a.data()), K, M, TILE_M),
                right = map_of(on_device(b.size(), b.data()), K, N, TILE_N / CLUSTER);
    CALL(cudaFuncSetAttribute(product, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Stages)));
    product<<<dim3(M / TILE_M, N / TILE_N), 384, sizeof(Stages)>>>(left, right, out, N, (K + TILE_K - 1) / TILE_K);
    to_host(c.data(), out, c.size());
    long wrong = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int k = 0; k < K; k++)
                sum += __half2float(a[i * K + k]) * __half2float(b[j * K + k]);
            wrong += c[i * N + j] != sum;
        }
    return finish("wgmma_pipeline", wrong);
}
