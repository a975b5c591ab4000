// Every overload that <cuda_runtime.h> has for C++, called as a program would. Compiled, linked,
// and run without a library: each call then fails, but reaches the right function.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

__global__ void scale(float *data, float factor, int count) {
    (void)data;
    (void)factor;
    (void)count;
}

struct lut {
    float values[16];
};

__constant__ lut table;
__device__ float weights[8];

static int failures = 0;

// What the call was about is in the message; with no library, nothing succeeds.
static void expect(cudaError_t result, const char *function) {
    const char *message = acu_last_error_message();
    if (result == cudaSuccess || std::strncmp(message, function, std::strlen(function)) != 0) {
        std::printf("%s: %d %s\n", function, static_cast<int>(result), message);
        failures++;
    }
    acu_clear_error();
}

static void memory(cudaStream_t stream, cudaMemPool_t pool) {
    float *data = nullptr, *host = nullptr;
    void *raw = nullptr;
    size_t pitch = 0;
    expect(cudaMalloc(&data, 64), "cudaMalloc");
    expect(cudaMalloc(&raw, 64), "cudaMalloc");
    // NVIDIA's overloads cast as C does: what a pointer points at may be const.
    const float *input = nullptr;
    expect(cudaMalloc(&input, 64), "cudaMalloc");
    const void *inputs[1] = {nullptr};
    void *outputs[1] = {nullptr};
    size_t bytes[1] = {4};
    cudaMemcpyAttributes plain = {};
    expect(cudaMemcpyBatchAsync(outputs, inputs, bytes, 1, plain, nullptr), "cudaMemcpyBatchAsync");
    expect(cudaMemcpyBatchAsync(inputs, inputs, bytes, 1, plain, nullptr), "cudaMemcpyBatchAsync");
    expect(cudaMallocPitch(&data, &pitch, 64, 64), "cudaMallocPitch");
    expect(cudaMallocManaged(&data, 64), "cudaMallocManaged");
    expect(cudaMallocManaged(&data, 64, cudaMemAttachHost), "cudaMallocManaged");
    expect(cudaMallocHost(&raw, 64), "cudaMallocHost");
    expect(cudaMallocHost(&raw, 64, cudaHostAllocMapped), "cudaHostAlloc");
    expect(cudaMallocHost(&host, 64), "cudaHostAlloc");
    expect(cudaMallocHost(&host, 64, cudaHostAllocMapped), "cudaHostAlloc");
    expect(cudaHostAlloc(&host, 64, cudaHostAllocDefault), "cudaHostAlloc");
    expect(cudaHostGetDevicePointer(&data, host, 0), "cudaHostGetDevicePointer");
    expect(cudaMallocAsync(&data, 64, stream), "cudaMallocAsync");
    expect(cudaMallocAsync(&data, 64, pool, stream), "cudaMallocFromPoolAsync");
    expect(cudaMallocAsync(&raw, 64, pool, stream), "cudaMallocFromPoolAsync");
    expect(cudaMallocFromPoolAsync(&data, 64, pool, stream), "cudaMallocFromPoolAsync");
    expect(cudaStreamAttachMemAsync(stream, data), "cudaStreamAttachMemAsync");
    expect(cudaStreamAttachMemAsync(stream, data, 0, cudaMemAttachHost),
           "cudaStreamAttachMemAsync");
    expect(cudaMemcpyAsync(data, host, 64, cudaMemcpyDefault), "cudaMemcpyAsync");
}

static void batches(cudaStream_t stream) {
    float *targets[] = {nullptr};
    const float *sources[] = {nullptr};
    size_t sizes[] = {64}, first[] = {0};
    cudaMemcpyAttributes attributes = {};
    cudaMemLocation location = {};
    expect(cudaMemcpyBatchAsync(targets, sources, sizes, 1, &attributes, first, 1, stream),
           "cudaMemcpyBatchAsync");
    expect(cudaMemcpyBatchAsync(targets, sources, sizes, 1, attributes, stream),
           "cudaMemcpyBatchAsync");
    expect(cudaMemPrefetchBatchAsync(targets, sizes, 1, &location, first, 1, 0, stream),
           "cudaMemPrefetchBatchAsync");
    expect(cudaMemPrefetchBatchAsync(targets, sizes, 1, location, 0, stream),
           "cudaMemPrefetchBatchAsync");
    expect(cudaMemDiscardAndPrefetchBatchAsync(targets, sizes, 1, &location, first, 1, 0, stream),
           "cudaMemDiscardAndPrefetchBatchAsync");
    expect(cudaMemDiscardAndPrefetchBatchAsync(targets, sizes, 1, location, 0, stream),
           "cudaMemDiscardAndPrefetchBatchAsync");
    expect(cudaMemcpyAsync(targets[0], sources[0], 64, &attributes, stream),
           "cudaMemcpyWithAttributesAsync");
}

static void symbols(cudaStream_t stream) {
    void *address = nullptr;
    const void *known = &table;
    size_t size = 0;
    expect(cudaGetSymbolAddress(&address, table), "cudaGetSymbolAddress");
    expect(cudaGetSymbolAddress(&address, known), "cudaGetSymbolAddress");
    expect(cudaGetSymbolSize(&size, weights), "cudaGetSymbolSize");
    expect(cudaMemcpyToSymbol(table, &size, sizeof size), "cudaMemcpyToSymbol");
    expect(cudaMemcpyToSymbolAsync(table, &size, sizeof size, 0, cudaMemcpyHostToDevice, stream),
           "cudaMemcpyToSymbolAsync");
    expect(cudaMemcpyFromSymbol(&size, table, sizeof size), "cudaMemcpyFromSymbol");
    expect(cudaMemcpyFromSymbolAsync(&size, weights, sizeof size), "cudaMemcpyFromSymbolAsync");
}

static void graphs(cudaGraph_t graph, cudaGraphExec_t exec, cudaGraphNode_t node) {
    char log[64];
    int value = 0;
    cudaGraphExecUpdateResult reason = cudaGraphExecUpdateSuccess;
    cudaUserObject_t object = nullptr;
    cudaEvent_t event = nullptr;
    lut *owned = new lut();
    expect(cudaEventCreate(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    expect(cudaGraphInstantiate(&exec, graph), "cudaGraphInstantiate");
    expect(cudaGraphInstantiate(&exec, graph, 0), "cudaGraphInstantiate");
    expect(cudaGraphInstantiate(&exec, graph, &node, log, sizeof log), "cudaGraphInstantiate");
    expect(cudaGraphExecUpdate(exec, graph, &node, &reason), "cudaGraphExecUpdate");
    expect(cudaGraphAddMemcpyNodeToSymbol(&node, graph, nullptr, 0, table, &value, 4, 0,
                                          cudaMemcpyHostToDevice),
           "cudaGraphAddMemcpyNodeToSymbol");
    expect(cudaGraphAddMemcpyNodeFromSymbol(&node, graph, nullptr, 0, &value, table, 4, 0,
                                            cudaMemcpyDeviceToHost),
           "cudaGraphAddMemcpyNodeFromSymbol");
    expect(cudaGraphMemcpyNodeSetParamsToSymbol(node, table, &value, 4, 0, cudaMemcpyHostToDevice),
           "cudaGraphMemcpyNodeSetParamsToSymbol");
    expect(
        cudaGraphMemcpyNodeSetParamsFromSymbol(node, &value, table, 4, 0, cudaMemcpyDeviceToHost),
        "cudaGraphMemcpyNodeSetParamsFromSymbol");
    expect(cudaGraphExecMemcpyNodeSetParamsToSymbol(exec, node, table, &value, 4, 0,
                                                    cudaMemcpyHostToDevice),
           "cudaGraphExecMemcpyNodeSetParamsToSymbol");
    expect(cudaGraphExecMemcpyNodeSetParamsFromSymbol(exec, node, &value, table, 4, 0,
                                                      cudaMemcpyDeviceToHost),
           "cudaGraphExecMemcpyNodeSetParamsFromSymbol");
    expect(cudaUserObjectCreate(&object, owned, 1, cudaUserObjectNoDestructorSync),
           "cudaUserObjectCreate");
    expect(cudaUserObjectCreate(&object, owned, 1, 1u), "cudaUserObjectCreate");
    delete owned;
}

static void kernels(cudaStream_t stream, cudaKernel_t handle, cudaLibrary_t library) {
    float *data = nullptr;
    float factor = 2;
    int count = 8;
    size_t bytes = 0;
    const char *name = nullptr;
    void *args[] = {&data, &factor, &count};
    void (*function)(int) = nullptr;
    cudaLaunchConfig_t config = {};
    cudaFuncAttributes attributes = {};
    expect(cudaLaunchKernel(scale, 1, 32, args), "cudaLaunchKernel");
    expect(cudaLaunchKernel(scale, dim3(1, 2), dim3(32), args, 0, stream), "cudaLaunchKernel");
    expect(cudaLaunchKernel(reinterpret_cast<const void *>(scale), 1, 32, args, 0, stream),
           "cudaLaunchKernel");
    expect(cudaLaunchCooperativeKernel(scale, 1, 32, args, 0, stream),
           "cudaLaunchCooperativeKernel");
    expect(cudaLaunchKernelEx(&config, scale, data, 2.0F, static_cast<short>(count)),
           "cudaLaunchKernelExC");
    expect(cudaLaunchKernelEx(&config, handle, data, factor, count), "cudaLaunchKernelExC");
    expect(cudaLaunchKernelEx(&config, handle), "cudaLaunchKernelExC");
    expect(cudaFuncGetAttributes(&attributes, scale), "cudaFuncGetAttributes");
    expect(cudaFuncSetAttribute(scale, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536),
           "cudaFuncSetAttribute");
    expect(cudaFuncSetCacheConfig(scale, cudaFuncCachePreferL1), "cudaFuncSetCacheConfig");
    expect(cudaFuncSetSharedMemConfig(scale, cudaSharedMemBankSizeEightByte),
           "cudaFuncSetSharedMemConfig");
    expect(cudaFuncGetName(&name, scale), "cudaFuncGetName");
    expect(cudaGetKernel(&handle, scale), "cudaGetKernel");
    expect(cudaLibraryGetGlobal(&data, &bytes, library, "x"), "cudaLibraryGetGlobal");
    expect(cudaLibraryGetManaged(&data, &bytes, library, "x"), "cudaLibraryGetManaged");
    expect(cudaLibraryGetUnifiedFunction(&function, library, "x"), "cudaLibraryGetUnifiedFunction");
}

static void occupancy() {
    int blocks = 0, grid = 0, block = 0;
    size_t bytes = 0;
    cudaLaunchConfig_t config = {};
    auto memory = [](int size) { return static_cast<size_t>(size) * 4; };
    expect(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale, 128, 0),
           "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    expect(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, scale, 128, 0,
                                                                  cudaOccupancyDefault),
           "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags");
    expect(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, scale, 2, 128),
           "cudaOccupancyAvailableDynamicSMemPerBlock");
    expect(cudaOccupancyMaxPotentialBlockSize(&grid, &block, scale), "cudaGetDevice");
    expect(cudaOccupancyMaxPotentialBlockSize(&grid, &block, scale, 1024, 256), "cudaGetDevice");
    expect(cudaOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, scale, 0, 0,
                                                       cudaOccupancyDefault),
           "cudaGetDevice");
    expect(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, scale, memory),
           "cudaGetDevice");
    expect(cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(
               &grid, &block, scale, memory, 512, cudaOccupancyDisableCachingOverride),
           "cudaGetDevice");
    expect(cudaOccupancyMaxPotentialClusterSize(&blocks, scale, &config),
           "cudaOccupancyMaxPotentialClusterSize");
    expect(cudaOccupancyMaxActiveClusters(&blocks, scale, &config),
           "cudaOccupancyMaxActiveClusters");
}

static void check(bool holds, const char *what) {
    if (!holds) {
        std::printf("%s\n", what);
        failures++;
    }
}

static bool is(cudaChannelFormatDesc format, int x, int y, int z, int w,
               cudaChannelFormatKind kind) {
    return format.x == x && format.y == y && format.z == z && format.w == w && format.f == kind;
}

static void records() {
    const float4 f = make_float4(1, 2, 3, 4);
    check(f.x == 1 && f.w == 4, "make_float4");
    const cudaExtent extent = make_cudaExtent(1, 2, 3);
    check(extent.width == 1 && extent.depth == 3, "make_cudaExtent");
    const cudaPitchedPtr pitched = make_cudaPitchedPtr(nullptr, 256, 64, 2);
    check(pitched.pitch == 256 && pitched.ysize == 2, "make_cudaPitchedPtr");
    check(make_cudaPos(1, 2, 3).z == 3, "make_cudaPos");

    check(is(cudaCreateChannelDesc<float4>(), 32, 32, 32, 32, cudaChannelFormatKindFloat),
          "float4");
    check(is(cudaCreateChannelDesc<uchar2>(), 8, 8, 0, 0, cudaChannelFormatKindUnsigned), "uchar2");
    check(is(cudaCreateChannelDesc<short>(), 16, 0, 0, 0, cudaChannelFormatKindSigned), "short");
    check(is(cudaCreateChannelDesc<float3>(), 0, 0, 0, 0, cudaChannelFormatKindNone), "float3");
    check(is(cudaCreateChannelDesc<double>(), 0, 0, 0, 0, cudaChannelFormatKindNone), "double");
    check(is(cudaCreateChannelDesc<lut>(), 0, 0, 0, 0, cudaChannelFormatKindNone), "lut");
    check(is(cudaCreateChannelDesc<cudaChannelFormatKindNV12>(), 8, 8, 8, 0,
             cudaChannelFormatKindNV12),
          "NV12");
    check(is(cudaCreateChannelDescHalf2(), 16, 16, 0, 0, cudaChannelFormatKindFloat), "half2");
    check(is(cudaCreateChannelDesc<cudaChannelFormatKindUnsignedNormalized16X2>(), 16, 16, 0, 0,
             cudaChannelFormatKindUnsignedNormalized16X2),
          "UnsignedNormalized16X2");
}

int main() {
    memory(nullptr, nullptr);
    batches(nullptr);
    symbols(nullptr);
    graphs(nullptr, nullptr, nullptr);
    kernels(nullptr, nullptr, nullptr);
    occupancy();
    records();
    return failures != 0;
}
