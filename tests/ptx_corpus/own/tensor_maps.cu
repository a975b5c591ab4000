// Tiles of a matrix, by cuda::barrier and tensor maps: blocks transpose tiles that are swizzled in shared memory, through
// two stages; then add tiles of another matrix to the result; and read beyond its edges.
// options: -arch=compute_90 -code=compute_90
#include "check.h"
#include <cuda.h>
#include <cuda/barrier>
#include <utility>
#include <vector>

namespace cde = cuda::device::experimental;
using barrier = cuda::barrier<cuda::thread_scope_block>;

const int TILE = 32, COLUMNS = 200, ROWS = 104, STRIDE = 208; // the last tiles lie partly outside

// Where an element of a tile of 32 words a row is: chunks of 16 bytes change places in 8 rows.
__device__ int place(int row, int column) {
    return row * TILE + ((column / 4) ^ (row % 8)) * 4 + column % 4;
}

__global__ void transpose(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to) {
    __shared__ alignas(1024) int in[2][TILE * TILE];
    __shared__ alignas(1024) int out[TILE * TILE];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ barrier full[2];
    int tiles = (COLUMNS + TILE - 1) / TILE, x = threadIdx.x % TILE, y = threadIdx.x / TILE;
    if (threadIdx.x == 0) {
        init(&full[0], blockDim.x);
        init(&full[1], blockDim.x);
        cde::fence_proxy_async_shared_cta();
    }
    __syncthreads();
    barrier::arrival_token tokens[2];
    for (int n = 0; n <= tiles; n++) {
        if (n < tiles) {
            if (threadIdx.x == 0) {
                cde::cp_async_bulk_tensor_2d_global_to_shared(in[n % 2], &from, n * TILE, blockIdx.x * TILE, full[n % 2]);
                tokens[n % 2] = cuda::device::barrier_arrive_tx(full[n % 2], 1, sizeof in[0]);
            } else {
                tokens[n % 2] = full[n % 2].arrive();
            }
        }
        if (n == 0)
            continue;
        int before = (n - 1) % 2;
        full[before].wait(std::move(tokens[before]));
        for (int row = y; row < TILE; row += blockDim.x / TILE)
            out[place(row, x)] = in[before][place(x, row)];
        cde::fence_proxy_async_shared_cta();
        __syncthreads();
        if (threadIdx.x == 0) {
            cde::cp_async_bulk_tensor_2d_shared_to_global(&to, blockIdx.x * TILE, (n - 1) * TILE, out);
            cde::cp_async_bulk_commit_group();
            cde::cp_async_bulk_wait_group_read<0>();
        }
        __syncthreads();
    }
}

// Adds 3 to a tile, part of which lies outside.
__global__ void add(const __grid_constant__ CUtensorMap to, int column, int row) {
    __shared__ alignas(1024) int tile[TILE * TILE];
    for (int i = threadIdx.x; i < TILE * TILE; i += blockDim.x)
        tile[i] = 3;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x)
        return;
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&to),
                 "r"(column), "r"(row), "r"((unsigned)__cvta_generic_to_shared(tile))
                 : "memory");
    cde::cp_async_bulk_commit_group();
    cde::cp_async_bulk_wait_group_read<0>();
}

CUtensorMap map_of(int *memory, int columns, int rows, int stride) {
    static decltype(&cuTensorMapEncodeTiled) encode;
    cudaDriverEntryPointQueryResult found;
    CUtensorMap map;
    if (!encode)
        CALL(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", (void **)&encode, 12000, cudaEnableDefault,
                                              &found));
    cuuint64_t shape[] = {(cuuint64_t)columns, (cuuint64_t)rows}, strides[] = {stride * sizeof(int)};
    cuuint32_t box[] = {TILE, TILE}, steps[] = {1, 1};
    if (encode(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, memory, shape, strides, box, steps,
               CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
        std::exit(2);
    return map;
}

int main() {
    std::vector<int> a(ROWS * STRIDE), b(COLUMNS * STRIDE, -1), right = b;
    std::uint32_t state = 5;
    for (int &value : a)
        value = (int)next_random(state);
    int *in = on_device(a.size(), a.data()), *out = on_device(b.size(), b.data());
    CUtensorMap from = map_of(in, COLUMNS, ROWS, STRIDE), to = map_of(out, ROWS, COLUMNS, STRIDE);
    transpose<<<(ROWS + TILE - 1) / TILE, 128>>>(from, to);
    add<<<1, 64>>>(to, ROWS - 28, COLUMNS - 8);
    to_host(b.data(), out, b.size());
    for (int y = 0; y < ROWS; y++)
        for (int x = 0; x < COLUMNS; x++)
            right[x * STRIDE + y] = a[y * STRIDE + x] + (y >= ROWS - 28 && x >= COLUMNS - 8 ? 3 : 0);
    long wrong = 0;
    for (size_t i = 0; i < b.size(); i++)
        wrong += b[i] != right[i];
    return finish("tensor_maps", wrong);
}
