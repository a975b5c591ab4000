// Dynamic parallelism and programmatic dependent launches, graphs of kernels, streams and events.
// options: -arch=compute_90 -code=compute_90
#include "check.h"
#include <vector>

__global__ void first(int *data) {
    data[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x + 1;
    cudaTriggerProgrammaticLaunchCompletion();
}

__global__ void second(const int *data, int *out) {
    cudaGridDependencySynchronize();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = data[i] * 2;
}

__global__ void step(int *data, int by) { atomicAdd(data, by * (*(volatile int *)data >= 0)); }

int main() {
    int *data = on_device<int>(256), *out = on_device<int>(256), result[256];
    cudaStream_t stream;
    CALL(cudaStreamCreate(&stream));
    first<<<2, 128, 0, stream>>>(data);
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(2);
    config.blockDim = dim3(128);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    CALL(cudaLaunchKernelEx(&config, second, (const int *)data, out));
    CALL(cudaStreamSynchronize(stream));
    to_host(result, out, 256);
    long wrong = 0;
    for (int i = 0; i < 256; i++)
        wrong += result[i] != (i % 128 + 1) * 2;
    int *counter = on_device<int>(1);
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int k = 1; k <= 5; k++)
        step<<<2, 64, 0, stream>>>(counter, k);
    CALL(cudaStreamEndCapture(stream, &graph));
    CALL(cudaGraphInstantiate(&exec, graph, 0));
    for (int k = 0; k < 3; k++)
        CALL(cudaGraphLaunch(exec, stream));
    CALL(cudaStreamSynchronize(stream));
    to_host(result, counter, 1);
    wrong += result[0] != 3 * 128 * 15;
    return finish("dependent", wrong);
}
