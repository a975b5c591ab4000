// Clusters of blocks: distributed shared memory, cluster barriers, bulk copies that complete on an mbarrier, elect.
// options: -arch=compute_90 -code=compute_90
#include "check.h"
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/ptx>
#include <vector>

namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;

const int THREADS = 64, PART = 256;

// Each block adds what the next block of its cluster has.
__global__ void __cluster_dims__(4) neighbours(const int *in, int *out) {
    __shared__ int mine[THREADS];
    auto cluster = cg::this_cluster();
    int rank = cluster.block_rank(), next = (rank + 1) % cluster.num_blocks();
    mine[threadIdx.x] = in[blockIdx.x * THREADS + threadIdx.x];
    cluster.sync();
    int *theirs = cluster.map_shared_rank(mine, next);
    int sum = mine[threadIdx.x] + theirs[THREADS - 1 - threadIdx.x];
    atomicAdd(cluster.map_shared_rank(mine, 0), 0);
    cluster.sync();
    out[blockIdx.x * THREADS + threadIdx.x] = sum * 10 + rank;
}

// A bulk copy into shared memory, changed there, and back.
__global__ void bulk(const int *in, int *out) {
    __shared__ alignas(128) int part[PART];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::barrier<cuda::thread_scope_block> ready;
    if (threadIdx.x == 0) {
        init(&ready, blockDim.x);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
    cuda::barrier<cuda::thread_scope_block>::arrival_token token;
    if (threadIdx.x == 0) {
        cuda::device::memcpy_async_tx(part, in + blockIdx.x * PART, cuda::aligned_size_t<16>(sizeof part), ready);
        token = cuda::device::barrier_arrive_tx(ready, 1, sizeof part);
    } else {
        token = ready.arrive();
    }
    ready.wait(std::move(token));
    for (int i = threadIdx.x; i < PART; i += blockDim.x)
        part[i] = part[i] * 3 + blockIdx.x;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + blockIdx.x * PART, part, sizeof part);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}

__global__ void elected(int *out) {
    unsigned chosen = 0;
    asm volatile("{\n\t.reg .pred p;\n\telect.sync _|p, 0xffffffff;\n\tselp.u32 %0, 1, 0, p;\n\t}" : "=r"(chosen));
    out[threadIdx.x] = __popc(__ballot_sync(~0u, chosen)) + __reduce_max_sync(~0u, threadIdx.x);
}

int main() {
    const int count = 2048;
    std::vector<int> data(count), result(count);
    std::uint32_t state = 31;
    for (int &value : data)
        value = next_random(state) % 1000;
    int *in = on_device(count, data.data()), *out = on_device<int>(count);
    long wrong = 0;
    neighbours<<<8, THREADS>>>(in, out);
    to_host(result.data(), out, 8 * THREADS);
    for (int i = 0; i < 8 * THREADS; i++) {
        int block = i / THREADS, rank = block % 4, next = block - rank + (rank + 1) % 4;
        wrong += result[i] != (data[i] + data[next * THREADS + THREADS - 1 - i % THREADS]) * 10 + rank;
    }
    bulk<<<count / PART, 128>>>(in, out);
    to_host(result.data(), out, count);
    for (int i = 0; i < count; i++)
        wrong += result[i] != data[i] * 3 + i / PART;
    elected<<<1, 64>>>(out);
    to_host(result.data(), out, 64);
    for (int i = 0; i < 64; i++)
        wrong += result[i] != 1 + i / 32 * 32 + 31;
    return finish("clusters", wrong);
}
