// Collectives of CUB within a block and a warp: load, scan, sort, exchange, reduce, store.
#include "check.h"
#include <algorithm>
#include <cub/cub.cuh>
#include <vector>

const int THREADS = 128, ITEMS = 4, TILE = THREADS * ITEMS;

__global__ void tile(const int *in, int *sorted, int *scanned, int *sums, int *warps) {
    using Load = cub::BlockLoad<int, THREADS, ITEMS, cub::BLOCK_LOAD_TRANSPOSE>;
    using Store = cub::BlockStore<int, THREADS, ITEMS, cub::BLOCK_STORE_WARP_TRANSPOSE>;
    using Sort = cub::BlockRadixSort<int, THREADS, ITEMS>;
    using Scan = cub::BlockScan<int, THREADS>;
    using Reduce = cub::BlockReduce<int, THREADS, cub::BLOCK_REDUCE_RAKING>;
    using Warp = cub::WarpReduce<int>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Store::TempStorage store;
        typename Sort::TempStorage sort;
        typename Scan::TempStorage scan;
        typename Reduce::TempStorage reduce;
        typename Warp::TempStorage warp[THREADS / 32];
    } shared;
    int items[ITEMS], scans[ITEMS], offset = blockIdx.x * TILE;
    Load(shared.load).Load(in + offset, items);
    __syncthreads();
    Scan(shared.scan).InclusiveSum(items, scans);
    __syncthreads();
    Store(shared.store).Store(scanned + offset, scans);
    __syncthreads();
    int sum = Reduce(shared.reduce).Sum(items);
    if (threadIdx.x == 0)
        sums[blockIdx.x] = sum;
    __syncthreads();
    int largest = Warp(shared.warp[threadIdx.x / 32]).Reduce(items[0], [](int a, int b) { return a > b ? a : b; });
    if (threadIdx.x % 32 == 0)
        warps[blockIdx.x * THREADS / 32 + threadIdx.x / 32] = largest;
    __syncthreads();
    Sort(shared.sort).Sort(items);
    __syncthreads();
    Store(shared.store).Store(sorted + offset, items);
}

int main() {
    const int blocks = 8, count = blocks * TILE;
    std::uint32_t state = 3;
    std::vector<int> data(count), sorted(count), scanned(count), sums(blocks), warps(blocks * THREADS / 32);
    for (int &value : data)
        value = (int)(next_random(state) % 2001) - 1000;
    int *in = on_device(count, data.data()), *a = on_device<int>(count), *b = on_device<int>(count);
    int *c = on_device<int>(blocks), *d = on_device<int>(warps.size());
    tile<<<blocks, THREADS>>>(in, a, b, c, d);
    to_host(sorted.data(), a, count);
    to_host(scanned.data(), b, count);
    to_host(sums.data(), c, blocks);
    to_host(warps.data(), d, warps.size());
    long wrong = 0;
    for (int block = 0; block < blocks; block++) {
        int sum = 0, *part = &data[block * TILE];
        for (int i = 0; i < TILE; i++)
            wrong += scanned[block * TILE + i] != (sum += part[i]);
        wrong += sums[block] != sum;
        for (int warp = 0; warp < THREADS / 32; warp++) {
            int largest = -2000;
            for (int lane = 0; lane < 32; lane++)
                largest = std::max(largest, part[(warp * 32 + lane) * ITEMS]);
            wrong += warps[block * THREADS / 32 + warp] != largest;
        }
        std::sort(part, part + TILE);
        for (int i = 0; i < TILE; i++)
            wrong += sorted[block * TILE + i] != part[i];
    }
    return finish("cub_block", wrong);
}
