/* Memory and arrays of one device that another one is asked about, or is to use. */
#include "graphs.h"
#include "kernels.h"

/* Allocates 64 KiB of the first device, and makes the second one current. */
static cudaError_t allocate_on_the_first(char **memory) {
    cudaError_t result = cudaSetDevice(0);
    if (!result)
        result = cudaMalloc((void **)memory, 65536);
    return result ? result : cudaSetDevice(1);
}

CASE(pointers_into_memory_without_access) {
    struct cudaPointerAttributes a;
    CUdeviceptr base, at, value = 0;
    size_t size;
    NEEDS_DEVICES(2);
    char *memory = NULL;
    OK(allocate_on_the_first(&memory));
    at = (CUdeviceptr)(uintptr_t)memory;
    void *const inside = (void *)(uintptr_t)(at + 4);
    OK(cudaFree(NULL));
    OK(cudaPointerGetAttributes(&a, inside));
    EQUAL(a.type, cudaMemoryTypeDevice);
    EQUAL(a.device, 0);
    IS(a.devicePointer == NULL);
    SAYS(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange(&base, &size, at));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, at));
    OK(cudaSetDevice(0));
    OK(cudaPointerGetAttributes(&a, inside));
    IS(a.devicePointer == inside);
    OK(cuMemGetAddressRange(&base, &size, at));
    OK(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, at));
    OK(cudaFree(memory));
}

CASE(a_device_that_has_access_knows_the_memory) {
    struct cudaPointerAttributes a;
    CUdeviceptr base;
    size_t size;
    int can = 0;
    NEEDS_DEVICES(2);
    char *memory = NULL;
    OK(allocate_on_the_first(&memory));
    void *const inside = (void *)((uintptr_t)memory + 4);
    OK(cudaDeviceCanAccessPeer(&can, 1, 0));
    if (can) {
        OK(cudaDeviceEnablePeerAccess(0, 0));
        OK(cudaPointerGetAttributes(&a, inside));
        IS(a.devicePointer == inside);
        OK(cuMemGetAddressRange(&base, &size, (CUdeviceptr)(uintptr_t)memory));
        OK(cudaMemset(memory, 1, 64));
        OK(cudaDeviceSynchronize());
        OK(cudaDeviceDisablePeerAccess(0));
    }
    OK(cudaSetDevice(0));
    OK(cudaFree(memory));
}

CASE(fills_of_memory_without_access) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t node = NULL;
    NEEDS_DEVICES(2);
    char *memory = NULL;
    OK(allocate_on_the_first(&memory));
    const struct cudaMemsetParams fill = {
        .dst = memory, .elementSize = 1, .width = 64, .height = 1};
    cudaStream_t there = new_stream();
    FAILS(cudaErrorInvalidValue, cudaMemset(memory, 1, 64));
    FAILS(cudaErrorInvalidValue, cudaMemsetAsync(memory, 1, 64, there));
    OK(cudaStreamBeginCapture(there, cudaStreamCaptureModeRelaxed));
    YES(cudaMemsetAsync(memory, 1, 64, there));
    OK(cudaStreamEndCapture(there, &graph));
    FAILS(cudaErrorInvalidValue, cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemsetNode(&node, graph, NULL, 0, &fill)); /* which is allowed */
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphExecDestroy(exec));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuStreamWriteValue32(there, (CUdeviceptr)(uintptr_t)memory, 5, 0));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(there));
    OK(cudaSetDevice(0));
    OK(cudaFree(memory));
}

/* A copy that names its devices is captured by nobody, whichever they are; one that does not is. */
CASE(captured_copies_between_devices) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    char *there = NULL, back[64] = {0};
    NEEDS_DEVICES(2);
    char *memory = NULL;
    OK(allocate_on_the_first(&memory));
    cudaStream_t stream = new_stream();
    OK(cudaMalloc((void **)&there, 64));
    OK(cudaMemset(there, 7, 64));
    OK(cudaDeviceSynchronize());
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    SAYS(cudaErrorStreamCaptureUnsupported, cudaMemcpyPeerAsync(memory, 0, there, 1, 64, stream));
    SAYS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
    (void)cudaGetLastError();
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    YES(cudaMemcpyAsync(memory, there, 64, cudaMemcpyDefault, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(back, memory, 64, cudaMemcpyDefault));
    EQUAL(back[63], 7);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(there));
    OK(cudaSetDevice(0));
    OK(cudaFree(memory));
}

/* An array of the second device, and memory of a pool of the first one, to which the second one has
 * no access: a copy names the devices, or it is captured while the first one is current. */
CASE(an_array_and_a_pool_of_another_device) {
    const struct cudaChannelFormatDesc bytes = {8, 0, 0, 0, cudaChannelFormatKindUnsigned};
    char *memory = NULL, back[64] = {0};
    cudaArray_t array;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    NEEDS_DEVICES(2);
    OK(cudaMallocAsync((void **)&memory, 64, NULL));
    OK(cudaMemsetAsync(memory, 7, 64, NULL));
    OK(cudaStreamSynchronize(NULL));
    OK(cudaSetDevice(1));
    cudaStream_t stream = new_stream();
    OK(cudaMallocArray(&array, &bytes, 16, 4, 0));
    struct cudaMemcpy3DPeerParms to = {.srcPtr = {memory, 16, 16, 4},
                                       .srcDevice = 0,
                                       .dstArray = array,
                                       .dstDevice = 1,
                                       .extent = {16, 4, 1}};
    OK(cudaMemcpy3DPeerAsync(&to, stream));
    OK(cudaStreamSynchronize(stream));
    const struct cudaMemcpy3DPeerParms from = {.srcArray = array,
                                               .srcDevice = 1,
                                               .dstPtr = {memory, 16, 16, 4},
                                               .dstDevice = 0,
                                               .extent = {16, 4, 1}};
    OK(cudaMemcpy3DPeerAsync(&from, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy2DFromArray(back, 16, array, 0, 0, 16, 4, cudaMemcpyDeviceToHost));
    EQUAL(back[63], 7);
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    OK(cudaSetDevice(0));
    const struct cudaMemcpy3DParms captured = {.srcArray = array,
                                               .dstPtr = {memory, 16, 16, 4},
                                               .extent = {16, 4, 1},
                                               .kind = cudaMemcpyDefault};
    YES(cudaMemcpy3DAsync(&captured, stream));
    OK(cudaSetDevice(1));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
    OK(cudaFreeArray(array));
    OK(cudaSetDevice(0));
    OK(cudaFree(memory));
}

/* Without bytes nobody asks whose memory of a pool is named. */
CASE(empty_copies_may_name_any_device) {
    char *memory = NULL, *plain = NULL;
    struct cudaMemcpy3DPeerParms none = {.dstDevice = 1, .extent = {0, 0, 2}};
    NEEDS_DEVICES(2);
    OK(cudaMalloc((void **)&plain, 64));
    OK(cudaMallocAsync((void **)&memory, 64, NULL));
    none.srcPtr = none.dstPtr = (struct cudaPitchedPtr){plain, 0, 0, 0};
    none.dstPtr.ptr = memory;
    OK(cudaMemcpy3DPeer(&none));
    OK(cudaFreeAsync(memory, NULL));
    OK(cudaFree(plain));
}

CASE(peer_access_is_not_enabled_while_a_stream_captures) {
    cudaGraph_t graph = NULL;
    NEEDS_DEVICES(2);
    cudaStream_t stream = new_stream();
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    SAYS(cudaErrorStreamCaptureUnsupported, cudaDeviceEnablePeerAccess(1, 0));
    SAYS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
    (void)cudaGetLastError();
    OK(cudaStreamDestroy(stream));
}

/* That an array is another device's is found after how it is to be read, and after captures. */
CASE(textures_of_an_array_of_another_device) {
    const struct cudaChannelFormatDesc whole = {32, 0, 0, 0, cudaChannelFormatKindSigned};
    struct cudaResourceDesc resource = {.resType = cudaResourceTypeArray};
    struct cudaTextureDesc texture = {.readMode = cudaReadModeNormalizedFloat};
    cudaTextureObject_t object = 0;
    cudaGraph_t graph = NULL;
    NEEDS_DEVICES(2);
    OK(cudaMallocArray(&resource.res.array.array, &whole, 8, 8, 0));
    OK(cudaSetDevice(1));
    cudaStream_t stream = new_stream();
    FAILS(cudaErrorInvalidNormSetting, cudaCreateTextureObject(&object, &resource, &texture, NULL));
    texture.readMode = cudaReadModeElementType;
    FAILS(cudaErrorPeerAccessNotEnabled,
          cudaCreateTextureObject(&object, &resource, &texture, NULL));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    SAYS(cudaErrorStreamCaptureUnsupported,
         cudaCreateTextureObject(&object, &resource, &texture, NULL));
    SAYS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
    (void)cudaGetLastError();
    OK(cudaStreamDestroy(stream));
    OK(cudaSetDevice(0));
    OK(cudaFreeArray(resource.res.array.array));
}

LONE_CASE(the_first_valid_device_is_taken) {
    int devices[] = {1}, device = -1;
    char *memory = NULL;
    struct cudaPointerAttributes a;
    NEEDS_DEVICES(2);
    OK(cudaSetValidDevices(devices, 1));
    OK(cudaMalloc((void **)&memory, 64));
    OK(cudaPointerGetAttributes(&a, memory));
    EQUAL(a.device, 1);
    OK(cudaGetDevice(&device));
    EQUAL(device, 1);
    OK(cudaFree(memory));
    OK(cudaSetValidDevices(NULL, 0));
    OK(cudaMalloc((void **)&memory, 64));
    OK(cudaPointerGetAttributes(&a, memory));
    EQUAL(a.device, 0);
    OK(cudaFree(memory));
    OK(cudaSetDevice(0));
}

CASE(created_memory_of_the_host_belongs_to_the_first_device) {
    const CUmemAllocationProp of_host = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                         .location = {.type = CU_MEM_LOCATION_TYPE_HOST}};
    const CUmemAccessDesc here = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1},
                                  .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    struct cudaPointerAttributes a;
    CUmemGenericAllocationHandle memory;
    CUdeviceptr at;
    NEEDS_DEVICES(2);
    OK(cudaSetDevice(1));
    OK(cudaFree(NULL));
    SAYS(CUDA_SUCCESS, cuMemCreate(&memory, 2 * MIB, &of_host, 0));
    SAYS(CUDA_SUCCESS, cuMemAddressReserve(&at, 2 * MIB, 0, 0, 0));
    SAYS(CUDA_SUCCESS, cuMemMap(at, 2 * MIB, 0, memory, 0));
    SAYS(CUDA_SUCCESS, cuMemSetAccess(at, 2 * MIB, &here, 1));
    OK(cudaPointerGetAttributes(&a, (void *)(uintptr_t)at));
    EQUAL(a.type, cudaMemoryTypeHost);
    EQUAL(a.device, 0);
    IS(a.devicePointer == (void *)(uintptr_t)at);
    SAYS(CUDA_SUCCESS, cuMemUnmap(at, 2 * MIB));
    SAYS(CUDA_SUCCESS, cuMemRelease(memory));
    SAYS(CUDA_SUCCESS, cuMemAddressFree(at, 2 * MIB));
    OK(cudaSetDevice(0));
}

/* A function of another context is refused, and the capture goes on. */
CASE(captured_launches_of_another_context) {
    CUmodule module = NULL;
    CUfunction nothing = NULL;
    cudaGraph_t graph = NULL;
    size_t count = 9;
    NEEDS_DEVICES(2);
    OK(cudaFree(NULL));
    OK(cuModuleLoadData(&module, module_text));
    OK(cuModuleGetFunction(&nothing, module, "nothing"));
    OK(cudaSetDevice(1));
    cudaStream_t there = new_stream();
    OK(cudaStreamBeginCapture(there, cudaStreamCaptureModeRelaxed));
    SAYS(CUDA_ERROR_INVALID_HANDLE,
         cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, there, NULL, NULL));
    OK(cudaStreamEndCapture(there, &graph));
    OK(cudaGraphGetNodes(graph, NULL, &count));
    EQUAL(count, 0);
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(there));
    OK(cudaSetDevice(0));
    OK(cuModuleUnload(module));
}
