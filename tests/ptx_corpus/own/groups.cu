// Cooperative groups: tiles of all sizes, coalesced and labelled groups, scans, a block's and a grid's barrier.
#include "check.h"
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <vector>

namespace cg = cooperative_groups;

template <int SIZE> __device__ int tile_sum(cg::thread_block block, int value) {
    auto tile = cg::tiled_partition<SIZE>(block);
    return cg::reduce(tile, value, cg::plus<int>()) + tile.shfl_down(value, 1) - tile.shfl_xor(value, 1);
}

__global__ void warps(int *out) {
    auto block = cg::this_thread_block();
    int rank = block.thread_rank(), *mine = out + (blockIdx.x * blockDim.x + rank) * 8;
    mine[0] = tile_sum<32>(block, rank);
    mine[1] = tile_sum<16>(block, rank);
    mine[2] = tile_sum<8>(block, rank);
    mine[3] = tile_sum<4>(block, rank);
    auto warp = cg::tiled_partition<32>(block);
    mine[4] = cg::inclusive_scan(warp, rank);
    auto label = cg::labeled_partition(warp, rank % 3);
    mine[5] = cg::reduce(label, rank, cg::greater<int>());
    mine[6] = -1;
    if (rank % 5 < 2) {
        auto active = cg::coalesced_threads();
        mine[6] = active.size() * 100 + active.thread_rank();
    }
    auto halves = cg::binary_partition(warp, rank % 4 == 0);
    mine[7] = halves.size() * 100 + halves.shfl(rank % 32, 0);
}

__global__ void grid_steps(int *data, int count, int steps) {
    auto grid = cg::this_grid();
    for (int step = 0; step < steps; step++) {
        int *from = data + (step % 2) * count, *to = data + (1 - step % 2) * count;
        for (int i = grid.thread_rank(); i < count; i += grid.size())
            to[i] = from[i] + from[(i + 37) % count];
        grid.sync();
    }
}

__global__ void copied(const int *in, int *out) {
    __shared__ int part[256];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, part, in + blockIdx.x * 256, sizeof part);
    cg::wait(block);
    out[blockIdx.x * 256 + threadIdx.x] = part[255 - threadIdx.x];
}

static int expected(int rank, int size) {
    int first = rank / size * size, lane = rank % size;
    return first * size + size * (size - 1) / 2 + (lane + 1 < size ? rank + 1 : rank) - (first + (lane ^ 1));
}

int main() {
    const int threads = 96;
    std::vector<int> result(threads * 2 * 8);
    int *out = on_device<int>(result.size());
    warps<<<2, threads>>>(out);
    to_host(result.data(), out, result.size());
    long wrong = 0;
    for (int i = 0; i < threads * 2; i++) {
        int rank = i % threads, *mine = &result[i * 8], first = rank / 32 * 32, sum = 0, largest = 0, active = 0, place = 0;
        for (int k = first; k < first + 32; k++) {
            sum += k <= rank ? k : 0;
            largest = k % 3 == rank % 3 ? k : largest;
            active += k % 5 < 2;
            place += k % 5 < 2 && k < rank;
        }
        for (int k = 0; k < 4; k++)
            wrong += mine[k] != expected(rank, 32 >> k);
        wrong += mine[4] != sum;
        wrong += mine[5] != largest;
        wrong += mine[6] != (rank % 5 < 2 ? active * 100 + place : -1);
        wrong += mine[7] != (rank % 4 == 0 ? 800 : 2401);
    }
    int count = 3000, steps = 9;
    std::vector<int> data(count * 2), next(count), now(count);
    for (int i = 0; i < count; i++)
        data[i] = now[i] = i % 17;
    int *memory = on_device(data.size(), data.data());
    void *arguments[] = {&memory, &count, &steps};
    CALL(cudaLaunchCooperativeKernel((void *)grid_steps, dim3(4), dim3(128), arguments, 0, nullptr));
    to_host(data.data(), memory, data.size());
    for (int step = 0; step < steps; step++, now.swap(next))
        for (int i = 0; i < count; i++)
            next[i] = now[i] + now[(i + 37) % count];
    for (int i = 0; i < count; i++)
        wrong += data[(steps % 2) * count + i] != now[i];
    copied<<<3, 256>>>(memory, memory + count);
    std::vector<int> before(data), after(count);
    to_host(after.data(), memory + count, 768);
    for (int i = 0; i < 768; i++)
        wrong += after[i] != before[i / 256 * 256 + 255 - i % 256];
    return finish("groups", wrong);
}
