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
    SAYS(CUDA_SUCCESS, cuStreamWriteValue32(stream, 4, 1, 0)); /* the launch looks at the address */
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
    cudaGraphNode_t again[] = {first, first};
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    size_t count = 7;
    YES(cudaStreamBeginCaptureToGraph(stream, graph, twice, NULL, 2,
                                      cudaStreamCaptureModeThreadLocal));
    YES(cudaStreamUpdateCaptureDependencies(stream, again, NULL, 2,
                                            cudaStreamSetCaptureDependencies));
    YES(cudaStreamGetCaptureInfo(stream, &status, NULL, NULL, NULL, NULL, &count));
    EQUAL(count, 1);
    (void)cudaStreamEndCapture(stream, &graph);
    (void)cudaGetLastError();
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
}

LONE_CASE(synchronous_copies_are_no_flag_while_capturing) {
    cudaStream_t stream = new_stream();
    unsigned flags = 77;
    int active = 7;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    SAYS(cudaSuccess, cudaSetDeviceFlags(cudaDeviceSyncMemops));
    EQUAL(status_of(stream), cudaStreamCaptureStatusInvalidated);
    SAYS(cudaSuccess, cudaGetDeviceFlags(&flags));
    EQUAL(flags & cudaDeviceSyncMemops, 0);
    SAYS(CUDA_SUCCESS, cuDevicePrimaryCtxGetState(0, &flags, &active));
    EQUAL(flags, cudaDeviceSyncMemops);
    (void)end_capture(stream);
    OK(cudaSetDeviceFlags(cudaDeviceSyncMemops));
    OK(cudaGetDeviceFlags(&flags));
    EQUAL(flags & cudaDeviceSyncMemops, cudaDeviceSyncMemops);
    OK(cudaSetDeviceFlags(0));
    OK(cudaStreamDestroy(stream));
}

/* ---- events ---- */

CASE(events_of_captures_that_are_lost) {
    cudaStream_t stream = new_stream();
    cudaEvent_t event = new_event(), timed = NULL;
    void *memory = NULL;
    float time = 7;
    OK(cudaEventCreate(&timed));
    YES(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    YES(cudaEventRecord(event, stream));
    SAYS(cudaErrorStreamCaptureUnsupported, cudaMalloc(&memory, SIZE));
    SAYS(cudaErrorInvalidValue, cudaEventQuery(event));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuEventQuery(event));
    SAYS(cudaErrorInvalidValue, cudaEventSynchronize(event));
    SAYS(cudaErrorInvalidValue, cudaEventElapsedTime(&time, event, event));
    SAYS(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&time, timed, event));
    SAYS(cudaErrorInvalidValue, cudaStreamWaitEvent(NULL, event, cudaEventWaitExternal));
    (void)end_capture(stream);
    OK(cudaEventDestroy(event));
    OK(cudaEventDestroy(timed));
    OK(cudaStreamDestroy(stream));
}

CASE(events_of_other_processes_are_not_captured) {
    cudaStream_t stream = new_stream();
    cudaEvent_t event = NULL;
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventInterprocess));
    YES(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    SAYS(cudaErrorStreamCaptureUnsupported, cudaEventRecord(event, stream));
    EQUAL(status_of(stream), cudaStreamCaptureStatusActive);
    SAYS(cudaErrorStreamCaptureUnsupported, cudaStreamWaitEvent(stream, event, 0));
    EQUAL(status_of(stream), cudaStreamCaptureStatusInvalidated);
    (void)end_capture(stream);
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(stream));
}

CASE(waiting_for_no_event_ends_a_capture) {
    cudaStream_t stream = new_stream();
    YES(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    SAYS(cudaErrorInvalidResourceHandle, cudaStreamWaitEvent(stream, NULL, 0));
    EQUAL(status_of(stream), cudaStreamCaptureStatusInvalidated);
    (void)end_capture(stream);
    OK(cudaStreamDestroy(stream));
}

/* ---- graphs with memory ---- */

static cudaError_t add_memory(cudaGraph_t graph, const cudaGraphNode_t *after, size_t count) {
    struct cudaMemAllocNodeParams params = {
        .poolProps = {.allocType = cudaMemAllocationTypePinned, .location = here},
        .bytesize = SIZE};
    cudaGraphNode_t made = NULL;
    return cudaGraphAddMemAllocNode(&made, graph, after, count, &params);
}

/* An allocation that fails only for a dependency that is there twice leaves its mark. */
CASE(a_graph_that_was_to_have_memory) {
    cudaGraph_t graph = NULL, copy = NULL, other = NULL;
    cudaGraphNode_t first = NULL, child = NULL;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphCreate(&other, 0));
    OK(cudaGraphAddEmptyNode(&first, graph, NULL, 0));
    const cudaGraphNode_t twice[] = {first, first}, none[] = {NULL};
    FAILS(cudaErrorInvalidValue, add_memory(graph, none, 1));
    OK(cudaGraphRemoveDependencies(graph, &first, &first, NULL, 0));
    FAILS(cudaErrorInvalidValue, add_memory(graph, twice, 2));
    FAILS(cudaErrorNotSupported, cudaGraphRemoveDependencies(graph, &first, &first, NULL, 0));
    FAILS(cudaErrorNotSupported, cudaGraphRemoveDependencies(graph, NULL, NULL, NULL, 1));
    FAILS(cudaErrorNotSupported, cudaGraphDestroyNode(first));
    FAILS(cudaErrorNotSupported, cudaGraphClone(&copy, graph));
    FAILS(cudaErrorNotSupported, cudaGraphAddChildGraphNode(&child, other, none, 1, graph));
    FAILS(cudaErrorNotSupported, cudaGraphAddChildGraphNode(&child, NULL, NULL, 0, graph));
    OK(cudaGraphDestroy(other));
    OK(cudaGraphDestroy(graph));
}

/* Only executable graphs that have the memory count. */
CASE(executable_graphs_of_a_graph_with_memory) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t before = NULL, with = NULL, again = NULL;
    cudaGraphExecUpdateResultInfo info = {.result = cudaGraphExecUpdateError};
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphInstantiate(&before, graph, 0));
    OK(add_memory(graph, NULL, 0));
    SAYS(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(before, graph, &info));
    OK(cudaGraphInstantiate(&with, graph, 0));
    FAILS(cudaErrorNotSupported, cudaGraphInstantiate(&again, graph, 0));
    FAILS(cudaErrorNotSupported, cudaGraphExecUpdate(before, graph, &info));
    EQUAL(info.result, cudaGraphExecUpdateSuccess);
    OK(cudaGraphExecUpdate(with, graph, &info));
    OK(cudaGraphExecDestroy(with));
    OK(cudaGraphExecDestroy(before));
    OK(cudaGraphDestroy(graph));
}

CASE(uploading_while_capturing) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphInstantiateParams params = {.flags = cudaGraphInstantiateFlagUpload};
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphInstantiateWithParams(&exec, graph, &params));
    OK(cudaGraphExecDestroy(exec));
    ALLOWED(cudaGraphInstantiateWithParams(&exec, graph, &params));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

CASE(updating_where_more_nodes_are_last) {
    cudaGraph_t two = NULL, chain = NULL;
    cudaGraphNode_t first = NULL, second = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphExecUpdateResultInfo info = {.result = cudaGraphExecUpdateError};
    OK(cudaGraphCreate(&two, 0));
    OK(cudaGraphAddEmptyNode(&first, two, NULL, 0));
    OK(cudaGraphAddEmptyNode(&second, two, NULL, 0));
    OK(cudaGraphCreate(&chain, 0));
    OK(cudaGraphAddEmptyNode(&first, chain, NULL, 0));
    OK(cudaGraphAddEmptyNode(&second, chain, &first, 1));
    OK(cudaGraphInstantiate(&exec, two, 0));
    SAYS(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(exec, chain, &info));
    EQUAL(info.result, cudaGraphExecUpdateErrorTopologyChanged);
    EQUAL(info.errorNode == NULL, FROM(12000, 1, 0));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(chain));
    OK(cudaGraphDestroy(two));
}

/* ---- memory and kernels ---- */

static unsigned flags_of(void *memory) {
    unsigned flags = 99;
    return cudaHostGetFlags(&flags, memory) ? 99 : flags;
}

/* The first allocation of a block decides for the others; nothing else is pinned in the process. */
LONE_CASE(pinned_memory_shares_blocks) {
    void *plain = NULL, *portable = NULL, *combined = NULL, *large = NULL;
    OK(cudaHostAlloc(&plain, SIZE, cudaHostAllocDefault));
    OK(cudaHostAlloc(&portable, SIZE, cudaHostAllocPortable));
    OK(cudaHostAlloc(&combined, SIZE, cudaHostAllocPortable | cudaHostAllocWriteCombined));
    OK(cudaHostAlloc(&large, (size_t)2 << 20, cudaHostAllocPortable));
    EQUAL(flags_of(plain), 2);
    EQUAL(flags_of(portable), 2);
    EQUAL(flags_of(combined), 7);
    EQUAL(flags_of(large), 3);
    OK(cudaFreeHost(plain));
    OK(cudaFreeHost(portable));
    OK(cudaHostAlloc(&portable, SIZE, cudaHostAllocPortable));
    OK(cudaHostAlloc(&plain, SIZE, cudaHostAllocDefault));
    EQUAL(flags_of(portable), 3);
    EQUAL(flags_of(plain), 3);
    OK(cudaFreeHost(plain));
    OK(cudaFreeHost(portable));
    OK(cudaFreeHost(combined));
    OK(cudaFreeHost(large));
}

/* Returns the flags of the device after a graph with one copy was instantiated. */
static unsigned flags_after_copy(void *to, const void *from) {
    cudaGraph_t graph = NULL;
    cudaGraphNode_t made = NULL;
    cudaGraphExec_t exec = NULL;
    unsigned flags = 99;
    (void)cudaGraphCreate(&graph, 0);
    (void)cudaGraphAddMemcpyNode1D(&made, graph, NULL, 0, to, from, SIZE, cudaMemcpyDefault);
    (void)cudaGraphInstantiate(&exec, graph, 0);
    (void)cudaGetDeviceFlags(&flags);
    (void)cudaGraphExecDestroy(exec);
    (void)cudaGraphDestroy(graph);
    return flags;
}

/* Copies within device memory are kernels, for which local memory is kept. */
LONE_CASE(graphs_with_kernels_keep_local_memory) {
    char *memory = NULL, *pinned = NULL;
    OK(cudaMalloc((void **)&memory, 2 * SIZE));
    OK(cudaMallocHost((void **)&pinned, SIZE));
    EQUAL(flags_after_copy(memory, pinned) & cudaDeviceLmemResizeToMax, 0);
    EQUAL(flags_after_copy(memory, memory + SIZE) & cudaDeviceLmemResizeToMax,
          cudaDeviceLmemResizeToMax);
    OK(cudaFree(memory));
    OK(cudaFreeHost(pinned));
}

/* The direction says that pinned memory is a device's. */
CASE(an_update_with_another_direction) {
    cudaGraph_t from = NULL, to = NULL;
    cudaGraphNode_t made = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphExecUpdateResultInfo info = {.result = cudaGraphExecUpdateError};
    char *pinned = NULL;
    OK(cudaMallocHost((void **)&pinned, 2 * SIZE));
    OK(cudaGraphCreate(&from, 0));
    OK(cudaGraphCreate(&to, 0));
    OK(cudaGraphAddMemcpyNode1D(&made, from, NULL, 0, pinned, pinned + SIZE, SIZE,
                                cudaMemcpyDefault));
    OK(cudaGraphAddMemcpyNode1D(&made, to, NULL, 0, pinned, pinned + SIZE, SIZE,
                                cudaMemcpyDeviceToDevice));
    OK(cudaGraphInstantiate(&exec, from, 0));
    SAYS(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(exec, to, &info));
    EQUAL(info.result, cudaGraphExecUpdateErrorParametersChanged);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(from));
    OK(cudaGraphDestroy(to));
    OK(cudaFreeHost(pinned));
}

CASE(attaching_to_a_default_stream) {
    void *memory = NULL;
    OK(cudaMallocManaged(&memory, SIZE, cudaMemAttachGlobal));
    FAILS(cudaErrorInvalidValue, cudaStreamAttachMemAsync(NULL, memory, 0, cudaMemAttachSingle));
    OK(cudaStreamAttachMemAsync(cudaStreamLegacy, memory, 0, cudaMemAttachSingle));
    OK(cudaStreamSynchronize(cudaStreamLegacy));
    OK(cudaFree(memory));
}

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
