/* A graph built by hand, and one captured, with the types and constants of the headers that are
 * rarely named. */
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <driver_functions.h>
#include <library_types.h>
#include <stdio.h>
#include <string.h>
#include <vector_functions.h>

static int failed(cudaError_t status, const char *what) {
    if (status == cudaSuccess)
        return 0;
    fprintf(stderr, "%s failed: %s\n", what, cudaGetErrorString(status));
    return 1;
}

static int by_hand(void *device, void *host, size_t bytes) {
    struct cudaMemcpy3DParms copy;
    struct cudaMemsetParams set;
    struct cudaHostNodeParams call;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t nodes[3];
    memset(&copy, 0, sizeof copy);
    memset(&set, 0, sizeof set);
    memset(&call, 0, sizeof call);
    copy.srcPtr = make_cudaPitchedPtr(host, bytes, bytes, 1);
    copy.dstPtr = make_cudaPitchedPtr(device, bytes, bytes, 1);
    copy.extent = make_cudaExtent(bytes, 1, 1);
    copy.srcPos = make_cudaPos(0, 0, 0);
    copy.kind = cudaMemcpyHostToDevice;
    set.dst = device;
    set.elementSize = 1;
    set.width = bytes;
    set.height = 1;
    if (failed(cudaGraphCreate(&graph, 0), "cudaGraphCreate") ||
        failed(cudaGraphAddMemsetNode(&nodes[0], graph, NULL, 0, &set), "cudaGraphAddMemsetNode") ||
        failed(cudaGraphAddMemcpyNode(&nodes[1], graph, &nodes[0], 1, &copy),
               "cudaGraphAddMemcpyNode") ||
        failed(cudaGraphAddEmptyNode(&nodes[2], graph, &nodes[1], 1), "cudaGraphAddEmptyNode") ||
        failed(cudaGraphInstantiate(&exec, graph, 0), "cudaGraphInstantiate") ||
        failed(cudaGraphLaunch(exec, 0), "cudaGraphLaunch") ||
        failed(cudaStreamSynchronize(cudaStreamLegacy), "cudaStreamSynchronize"))
        return 1;
    return failed(cudaGraphExecDestroy(exec), "cudaGraphExecDestroy") ||
           failed(cudaGraphDestroy(graph), "cudaGraphDestroy");
}

static int captured(void *device, const void *host, size_t bytes) {
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    size_t nodes = 0;
    if (failed(cudaStreamCreate(&stream), "cudaStreamCreate") ||
        failed(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal),
               "cudaStreamBeginCapture") ||
        failed(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream),
               "cudaMemcpyAsync") ||
        failed(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing") ||
        failed(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture") ||
        failed(cudaGraphGetNodes(graph, NULL, &nodes), "cudaGraphGetNodes") ||
        failed(
            cudaGraphInstantiateWithFlags(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch),
            "cudaGraphInstantiateWithFlags") ||
        failed(cudaGraphLaunch(exec, stream), "cudaGraphLaunch"))
        return 1;
    printf("%d nodes, capture %s\n", (int)nodes,
           status == cudaStreamCaptureStatusActive ? "active" : "over");
    return failed(cudaStreamSynchronize(stream), "cudaStreamSynchronize") ||
           failed(cudaGraphExecDestroy(exec), "cudaGraphExecDestroy") ||
           failed(cudaGraphDestroy(graph), "cudaGraphDestroy") ||
           failed(cudaStreamDestroy(stream), "cudaStreamDestroy");
}

int main(void) {
    const cudaDataType_t type = CUDA_R_32F;
    const libraryPropertyType part = MAJOR_VERSION;
    const float4 value = make_float4(1.0F, 2.0F, 3.0F, 4.0F);
    int version = 0, count = 0;
    void *device = NULL, *host = NULL;
    cudaRuntimeGetVersion(&version);
    printf("compiled for %d, runs on %d, types %d %d\n", CUDART_VERSION, version, (int)type,
           (int)part);
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0)
        return 0;
    if (failed(cudaProfilerStart(), "cudaProfilerStart") ||
        failed(cudaMalloc(&device, sizeof value), "cudaMalloc") ||
        failed(cudaMallocHost(&host, sizeof value), "cudaMallocHost"))
        return 1;
    memcpy(host, &value, sizeof value);
    if (by_hand(device, host, sizeof value) || captured(device, host, sizeof value))
        return 1;
    return failed(cudaFree(device), "cudaFree") || failed(cudaFreeHost(host), "cudaFreeHost") ||
           failed(cudaProfilerStop(), "cudaProfilerStop");
}
