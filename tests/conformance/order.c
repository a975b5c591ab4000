/*
 * Which mistake a call reports where it has several, and what a capture hides. Random programs
 * found what is here (tests/fuzz/): an H200 with driver 13.0 was asked on 13.0, 12.4 and 11.8.
 */
#include "graphs.h"
#include "kernels.h"

enum { NO_DEVICE = 99, SIZE = 4096 };

static const struct cudaMemLocation here = {.type = cudaMemLocationTypeDevice, .id = 0},
                                    host = {.type = cudaMemLocationTypeHost},
                                    nowhere = {.type = cudaMemLocationTypeInvalid},
                                    node = {.type = cudaMemLocationTypeHostNuma};

/* What a capture of a blocking stream says of the call that follows. */
static cudaStream_t begin_blocking(void) {
    cudaStream_t stream = NULL;
    (void)cudaStreamCreate(&stream);
    (void)cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    return stream;
}

static void end_blocking(cudaStream_t stream) {
    (void)end_capture(stream);
    (void)cudaStreamDestroy(stream);
    (void)cudaGetLastError();
}

CASE(devices_that_do_not_exist) {
    const struct cudaChannelFormatDesc good = {32, 0, 0, 0, cudaChannelFormatKindUnsigned},
                                       bad = {32, 8, 0, 0, cudaChannelFormatKindUnsigned};
    size_t width = 7;
    FAILS(cudaErrorInvalidDevice, cudaDeviceGetTexture1DLinearMaxWidth(&width, &good, NO_DEVICE));
    FAILS(cudaErrorInvalidChannelDescriptor,
          cudaDeviceGetTexture1DLinearMaxWidth(&width, &bad, NO_DEVICE));
    EQUAL(width, 7);
    FAILS(cudaErrorInvalidDevice, cudaDeviceEnablePeerAccess(NO_DEVICE, 1));
    FAILS(cudaErrorInvalidValue, cudaDeviceEnablePeerAccess(0, 1));
    HARMLESS(cudaErrorInvalidDevice, cudaDeviceDisablePeerAccess(NO_DEVICE));
}

CASE(pools_of_devices_that_do_not_exist) {
    cudaMemPool_t pool = NULL;
    struct cudaMemAccessDesc access = {
        .location = {.type = cudaMemLocationTypeDevice, .id = NO_DEVICE},
        .flags = cudaMemAccessFlagsProtReadWrite};
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    FAILS(cudaErrorInvalidValue, cudaDeviceSetMemPool(NO_DEVICE, pool));
    FAILS(cudaErrorInvalidDevice, cudaMemPoolSetAccess(pool, &access, 1));
    access.flags = (enum cudaMemAccessFlags)7;
    FAILS(cudaErrorInvalidDevice, cudaMemPoolSetAccess(pool, &access, 1));
    access.flags = cudaMemAccessFlagsProtRead;
    FAILS(cudaErrorNotSupported, cudaMemPoolSetAccess(pool, &access, 1));
    access.location.id = 0;
    FAILS(cudaErrorNotSupported, cudaMemPoolSetAccess(pool, &access, 1));
    access.flags = (enum cudaMemAccessFlags)7;
    FAILS(cudaErrorInvalidValue, cudaMemPoolSetAccess(pool, &access, 1));
}

/* ---- advice ---- */

CASE(advice_to_no_place) {
    char *memory = NULL;
    OK(cudaMallocManaged((void **)&memory, SIZE, cudaMemAttachGlobal));
    SAYS(cudaErrorInvalidValue, cudaMemAdvise(memory, SIZE, cudaMemAdviseUnsetReadMostly, nowhere));
    SAYS(cudaErrorInvalidValue,
         cudaMemAdvise(memory, SIZE, cudaMemAdviseUnsetPreferredLocation, nowhere));
    HARMLESS(cudaErrorInvalidValue,
             cudaMemAdvise(memory, SIZE, cudaMemAdviseSetReadMostly, nowhere));
    UNSAFE(cudaMemAdvise(memory, SIZE, cudaMemAdviseSetReadMostly, here));
    (void)cudaGetLastError();
    OK(cudaFree(memory));
}

/* The wrapper of 12.1 and older refuses nodes that the call has no number for. */
CASE(advice_to_a_numa_node_is_not_looked_at) {
    char *memory = NULL, *managed = NULL;
    int is_mostly_read = 7;
    NEEDS(ACU_FEATURE_HOST_NUMA_LOCATIONS);
    OK(cudaMalloc((void **)&memory, SIZE));
    OK(cudaMallocManaged((void **)&managed, SIZE, cudaMemAttachGlobal));
    OK(cudaMemAdvise(memory, SIZE, cudaMemAdviseSetReadMostly, node));
    OK(cudaMemAdvise(memory, 0, cudaMemAdviseUnsetPreferredLocation, node));
    OK(cudaMemAdvise(memory, SIZE, cudaMemAdviseSetPreferredLocation, node));
    ALLOWED(cudaMemAdvise(memory, SIZE, cudaMemAdviseSetReadMostly, node));
    FAILS(cudaErrorInvalidValue, cudaMemAdvise(managed, SIZE, cudaMemAdviseSetAccessedBy, node));
    OK(cudaMemAdvise(managed, SIZE, cudaMemAdviseSetReadMostly, here));
    OK(cudaMemAdvise(managed, SIZE, cudaMemAdviseUnsetReadMostly, node));
    OK(cudaMemRangeGetAttribute(&is_mostly_read, sizeof is_mostly_read,
                                cudaMemRangeAttributeReadMostly, managed, SIZE));
    EQUAL(is_mostly_read, 1);
    OK(cudaFree(managed));
    OK(cudaFree(memory));
}

CASE(prefetching_nothing_to_no_device) {
    const struct cudaMemLocation away = {.type = cudaMemLocationTypeDevice, .id = NO_DEVICE};
    char *memory = NULL;
    OK(cudaMalloc((void **)&memory, SIZE));
    FAILS(cudaErrorInvalidValue, cudaMemPrefetchAsync(memory, 0, away, 0, NULL));
    FAILS(cudaErrorInvalidDevice, cudaMemPrefetchAsync(memory, SIZE, away, 0, NULL));
    FAILS(cudaErrorInvalidValue, cudaMemPrefetchAsync(memory, SIZE, host, 0, NULL));
    OK(cudaFree(memory));
}

/* ---- captures ---- */

CASE(what_a_capture_does_not_look_at) {
    void *memory = &memory;
    ALLOWED(cudaMalloc(&memory, 0));
    IS(memory == NULL);
    HARMLESS(cudaErrorInvalidValue, cudaMallocManaged(&memory, SIZE, 4));
    UNSAFE(cudaMallocManaged(&memory, SIZE, cudaMemAttachGlobal));
}

CASE(a_texture_gathers_in_two_dimensions) {
    const struct cudaChannelFormatDesc element = {32, 0, 0, 0, cudaChannelFormatKindUnsigned};
    cudaArray_t array = NULL;
    FAILS(cudaErrorInvalidValue, cudaMallocArray(&array, &element, 64, 0, cudaArrayTextureGather));
    UNSAFE(cudaMallocArray(&array, &element, 64, 0, cudaArrayTextureGather));
}

CASE(no_function_on_an_invalid_stream) {
    cudaStream_t stream = new_stream();
    void *memory = NULL;
    YES(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    SAYS(cudaErrorStreamCaptureUnsupported, cudaMalloc(&memory, SIZE));
    SAYS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
         cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    (void)end_capture(stream);
    OK(cudaStreamDestroy(stream));
}

CASE(ending_on_the_legacy_stream) {
    cudaStream_t stream = begin_blocking();
    cudaGraph_t graph = NULL;
    SAYS(cudaErrorStreamCaptureImplicit, cudaStreamEndCapture(NULL, &graph));
    EQUAL(status_of(stream), cudaStreamCaptureStatusInvalidated);
    end_blocking(stream);
    stream = begin_blocking();
    SAYS(cudaErrorStreamCaptureImplicit, cudaStreamDestroy(cudaStreamLegacy));
    end_blocking(stream);
    FAILS(cudaErrorInvalidResourceHandle, cudaStreamDestroy(cudaStreamLegacy));
}

CASE(attributes_are_copied_to_a_stream_that_is_asked_first) {
    cudaStream_t stream = begin_blocking();
    void *memory = NULL;
    SAYS(cudaErrorStreamCaptureUnsupported, cudaMalloc(&memory, SIZE));
    SAYS(cudaErrorStreamCaptureInvalidated, cudaStreamCopyAttributes(stream, NULL));
    SAYS(cudaErrorStreamCaptureImplicit, cudaStreamCopyAttributes(cudaStreamLegacy, stream));
    end_blocking(stream);
}

CASE(capturing_behind_a_node_twice) {
    cudaStream_t stream = new_stream();
    cudaGraph_t graph = NULL;
    cudaGraphNode_t first = NULL;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddEmptyNode(&first, graph, NULL, 0));
    const cudaGraphNode_t twice[] = {first, first};
    YES(cudaStreamBeginCaptureToGraph(stream, graph, twice, NULL, 2,
                                      cudaStreamCaptureModeThreadLocal));
    (void)cudaStreamEndCapture(stream, &graph);
    (void)cudaGetLastError();
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
}

LONE_CASE(synchronous_copies_are_no_flag_while_capturing) {
    cudaStream_t stream = new_stream();
    unsigned flags = 77;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    SAYS(cudaSuccess, cudaSetDeviceFlags(cudaDeviceSyncMemops));
    SAYS(cudaSuccess, cudaGetDeviceFlags(&flags));
    EQUAL(flags & cudaDeviceSyncMemops, 0);
    (void)end_capture(stream);
    OK(cudaSetDeviceFlags(cudaDeviceSyncMemops));
    OK(cudaGetDeviceFlags(&flags));
    EQUAL(flags & cudaDeviceSyncMemops, cudaDeviceSyncMemops);
    OK(cudaSetDeviceFlags(0));
    OK(cudaStreamDestroy(stream));
}

/* ---- memory and kernels ---- */

CASE(values_are_not_written_to_pools) {
    void *memory = NULL;
    OK(cudaMallocAsync(&memory, SIZE, NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuStreamWriteValue32(NULL, (CUdeviceptr)(uintptr_t)memory, 1, 0));
    OK(cudaFreeAsync(memory, NULL));
    OK(cudaStreamSynchronize(NULL));
}

CASE(attributes_that_the_driver_knows) {
    char *memory = NULL;
    int type = 7;
    const int of_location = 5; /* cudaMemRangeAttributePreferredLocationType, of 12.2 */
    if (driver() < 12020) {
        skip("the driver is older than 12.2");
        return;
    }
    OK(cudaMallocManaged((void **)&memory, SIZE, cudaMemAttachGlobal));
    OK(cudaMemRangeGetAttribute(&type, sizeof type, (enum cudaMemRangeAttribute)of_location, memory,
                                SIZE));
    EQUAL(type, 0);
    OK(cudaFree(memory));
}

/* A GPU gives the blocks as little shared memory as one of them needs. */
CASE(a_large_cache_leaves_little_shared_memory) {
    CUmodule module = NULL;
    CUfunction function = NULL;
    int blocks = 0, few = 0;
    register_kernels();
    OK(cuModuleLoadData(&module, module_text));
    OK(cuModuleGetFunction(&function, module, "nothing"));
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 32, 0));
    OK(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
    SAYS(CUDA_SUCCESS, cuOccupancyMaxActiveBlocksPerMultiprocessor(&few, function, 32, 0));
    IS(few < blocks);
    ASK(few);
    SAYS(CUDA_SUCCESS, cuOccupancyMaxActiveBlocksPerMultiprocessor(&few, function, 32, 1000));
    ASK(few);
    OK(cudaDeviceSetCacheConfig(cudaFuncCachePreferNone));
    OK(cuModuleUnload(module));
}

CASE(a_cooperative_launch_with_too_much_shared_memory) {
    CUmodule module = NULL;
    CUfunction function = NULL;
    register_kernels();
    OK(cuModuleLoadData(&module, module_text));
    OK(cuModuleGetFunction(&function, module, "nothing"));
    SAYS(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
         cuLaunchCooperativeKernel(function, 1, 1, 1, 1, 1, 1, 49153, NULL, NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 49153, NULL, NULL, NULL));
    OK(cuModuleUnload(module));
}
