// Tiles of several warps, stages of cp.async, recursion as deep as the limit allows, and the parameters of a launch that
// was captured.
#include "check.h"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_pipeline.h>
#include <vector>

namespace cg = cooperative_groups;

template <int SIZE> __global__ void large_tiles(int *out) {
    __shared__ cg::block_tile_memory<256> memory;
    auto block = cg::this_thread_block(memory);
    auto tile = cg::tiled_partition<SIZE>(block);
    out[blockIdx.x * 256 + threadIdx.x] = cg::reduce(tile, int(threadIdx.x), cg::plus<int>());
}

// The last rounds commit groups without copies.
template <int STAGES> __global__ void staged(const float4 *in, float *out, int count) {
    __shared__ float4 part[STAGES][64];
    const int t = threadIdx.x;
    float sum = 0;
    for (int i = 0; i < STAGES - 1; i++) {
        if (i < count)
            __pipeline_memcpy_async(&part[i][t], &in[i * 64 + t], 16);
        __pipeline_commit();
    }
    for (int i = 0; i < count; i++) {
        __pipeline_wait_prior(STAGES - 2);
        __syncthreads();
        const int next = i + STAGES - 1;
        if (next < count)
            __pipeline_memcpy_async(&part[next % STAGES][t], &in[next * 64 + t], 16);
        __pipeline_commit();
        const float4 v = part[i % STAGES][(t + 1) % 64];
        sum += v.x + v.y * 2 + v.z * 3 + v.w * 4;
    }
    out[t] = sum;
}

__device__ __noinline__ int depth(int n) {
    volatile int frame[16];
    frame[n % 16] = n;
    return n == 0 ? 0 : depth(n - 1) + frame[n % 16];
}

__global__ void deep(int *out, int n) {
    *out = depth(n);
}

template <int SIZE> static long check_tiles(int *out) {
    std::vector<int> got(1024);
    long wrong = 0;
    large_tiles<SIZE><<<4, 256>>>(out);
    to_host(got.data(), out, got.size());
    for (int i = 0; i < 1024; i++) {
        const int first = i % 256 / SIZE * SIZE;
        wrong += got[i] != first * SIZE + SIZE * (SIZE - 1) / 2;
    }
    return wrong;
}

template <int STAGES> static long check_stages(const std::vector<float> &values, const float4 *in, float *out) {
    float got[64];
    long wrong = 0;
    for (int count = 1; count < 12; count += 3) {
        staged<STAGES><<<1, 64>>>(in, out, count);
        to_host(got, out, 64);
        for (int t = 0; t < 64; t++) {
            float sum = 0;
            for (int i = 0; i < count; i++)
                for (int n = 0; n < 4; n++)
                    sum += values[(i * 64 + (t + 1) % 64) * 4 + n] * float(n + 1);
            wrong += got[t] != sum;
        }
    }
    return wrong;
}

// A node that was captured from <<<>>> has the program's own function.
static long check_captured(int *out) {
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t node;
    cudaKernelNodeParams params = {};
    size_t count = 1;
    int n = 30, got = 0;
    CALL(cudaStreamCreate(&stream));
    CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    deep<<<1, 1, 0, stream>>>(out, 3);
    CALL(cudaStreamEndCapture(stream, &graph));
    CALL(cudaGraphInstantiate(&exec, graph, 0));
    CALL(cudaGraphGetNodes(graph, &node, &count));
    CALL(cudaGraphKernelNodeGetParams(node, &params));
    void *args[] = {&out, &n};
    params.kernelParams = args;
    CALL(cudaGraphExecKernelNodeSetParams(exec, node, &params));
    CALL(cudaGraphLaunch(exec, stream));
    CALL(cudaStreamSynchronize(stream));
    to_host(&got, out, 1);
    return (params.func != (void *)deep) + (got != 465);
}

int main() {
    std::vector<float> values(64 * 4 * 12);
    for (size_t i = 0; i < values.size(); i++)
        values[i] = float(i % 97);
    int *out = on_device<int>(1024);
    float *sums = on_device<float>(64);
    const float4 *in = (const float4 *)on_device(values.size(), values.data());
    long wrong = check_tiles<64>(out) + check_tiles<128>(out) + check_tiles<256>(out);
    wrong += check_stages<2>(values, in, sums) + check_stages<4>(values, in, sums);
    int got = 0;
    CALL(cudaDeviceSetLimit(cudaLimitStackSize, 64 << 10)); // for each thread of the whole device
    deep<<<1, 1>>>(out, 500);
    to_host(&got, out, 1);
    wrong += got != 125250;
    return finish("pipelines", wrong + check_captured(out));
}
