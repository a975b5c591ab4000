// cuda::barrier, cuda::pipeline, cuda::atomic and cuda::latch of libcu++ between threads of a block and of a grid.
#include "check.h"
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>
#include <vector>

#pragma nv_diag_suppress static_var_with_dynamic_init

using Barrier = cuda::barrier<cuda::thread_scope_block>;

__global__ void producers(const int *in, int *out, int rounds) {
    __shared__ Barrier ready, done;
    __shared__ int part[128];
    if (threadIdx.x == 0) {
        init(&ready, blockDim.x);
        init(&done, blockDim.x);
    }
    __syncthreads();
    int sum = 0;
    for (int round = 0; round < rounds; round++) {
        if (threadIdx.x < 32) {
            for (int i = threadIdx.x; i < 128; i += 32)
                part[i] = in[round * 128 + i];
        }
        ready.wait(ready.arrive());
        sum += part[(threadIdx.x + round) % 128];
        done.arrive_and_wait();
    }
    out[threadIdx.x] = sum;
}

__global__ void stages(const int *in, int *out, int rounds) {
    constexpr int STAGES = 3;
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
    __shared__ int part[STAGES][128];
    auto block = cooperative_groups::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    int sum = 0, next = 0;
    for (int round = 0; round < rounds; round++) {
        for (; next < rounds && next < round + STAGES; next++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, part[next % STAGES], in + next * 128, sizeof(int) * 128, pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum += part[round % STAGES][127 - threadIdx.x];
        block.sync();
        pipe.consumer_release();
    }
    out[threadIdx.x] = sum;
}

__device__ cuda::atomic<int, cuda::thread_scope_device> turn, total;
__device__ cuda::std::atomic_flag flag;
__device__ long plain;

__global__ void locked(int rounds) {
    for (int round = 0; round < rounds; round++) {
        for (bool done = false; !done;) {
            if (!flag.test_and_set(cuda::std::memory_order_acquire)) {
                plain += threadIdx.x + 1;
                flag.clear(cuda::std::memory_order_release);
                done = true;
            }
        }
        total.fetch_add(1, cuda::memory_order_relaxed);
        total.fetch_max(0);
    }
    __syncthreads();
    if (threadIdx.x == 0) { // the blocks take turns
        while (turn.load(cuda::memory_order_acquire) != (int)blockIdx.x) {
        }
        turn.store(blockIdx.x + 1, cuda::memory_order_release);
    }
}

int main() {
    const int rounds = 10;
    std::vector<int> data(rounds * 128), result(128);
    std::uint32_t state = 9;
    for (int &value : data)
        value = next_random(state) % 100000;
    int *in = on_device(data.size(), data.data()), *out = on_device<int>(128);
    long wrong = 0;
    producers<<<1, 128>>>(in, out, rounds);
    to_host(result.data(), out, 128);
    for (int i = 0; i < 128; i++) {
        int sum = 0;
        for (int round = 0; round < rounds; round++)
            sum += data[round * 128 + (i + round) % 128];
        wrong += result[i] != sum;
    }
    stages<<<1, 128>>>(in, out, rounds);
    to_host(result.data(), out, 128);
    for (int i = 0; i < 128; i++) {
        int sum = 0;
        for (int round = 0; round < rounds; round++)
            sum += data[round * 128 + 127 - i];
        wrong += result[i] != sum;
    }
    locked<<<4, 64>>>(3);
    CALL(cudaDeviceSynchronize());
    long sum = 0;
    int turns = 0, count = 0;
    CALL(cudaMemcpyFromSymbol(&sum, plain, sizeof sum));
    CALL(cudaMemcpyFromSymbol(&turns, turn, sizeof turns));
    CALL(cudaMemcpyFromSymbol(&count, total, sizeof count));
    wrong += sum != 4 * 3 * 64 * 65 / 2;
    wrong += turns != 4 || count != 4 * 64 * 3;
    return finish("barriers", wrong);
}
