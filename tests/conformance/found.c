/*
 * What random programs found (tests/fuzz/): an H200 with driver 13.0 was asked on 13.0, 12.4 and
 * 11.8. order.c has which mistake a call reports where it has several.
 */
#include "graphs.h"
#include "kernels.h"

static const struct cudaChannelFormatDesc whole = {32, 0, 0, 0, cudaChannelFormatKindUnsigned};

/* ---- arrays and textures ---- */

CASE(arrays_without_memory) {
    cudaArray_t a = NULL;
    struct cudaArraySparseProperties sparse = {.miptailSize = 7};
    struct cudaArrayMemoryRequirements needs = {.size = 7};
    const struct cudaExtent large = {1000, 1000, 0}, small = {64, 64, 0};
    NEEDS(ACU_FEATURE_DEFERRED_MAPPING_ARRAYS);
    OK(cudaMalloc3DArray(&a, &whole, large, cudaArraySparse));
    OK(cudaArrayGetSparseProperties(&sparse, a));
    EQUAL(sparse.tileExtent.width, 128);
    EQUAL(sparse.tileExtent.height, 128);
    EQUAL(sparse.miptailSize, 0);
    SAYS(cudaErrorInvalidValue, cudaArrayGetMemoryRequirements(&needs, a, 0));
    EQUAL(needs.size, 0);
    OK(cudaFreeArray(a));
    OK(cudaMalloc3DArray(&a, &whole, small, cudaArraySparse));
    OK(cudaArrayGetSparseProperties(&sparse, a));
    EQUAL(sparse.flags, cudaArraySparsePropertiesSingleMipTail);
    EQUAL(sparse.miptailSize, 65536);
    OK(cudaFreeArray(a));
    OK(cudaMalloc3DArray(&a, &whole, large, cudaArrayDeferredMapping));
    OK(cudaArrayGetMemoryRequirements(&needs, a, 99)); /* CUDA does not look at the device */
    EQUAL(needs.size, 4128768);
    EQUAL(needs.alignment, 65536);
    SAYS(cudaErrorInvalidValue, cudaArrayGetSparseProperties(&sparse, a));
    OK(cudaFreeArray(a));
}

CASE(arrays_that_cannot_be_sparse) {
    cudaArray_t a = (cudaArray_t)(void *)&a;
    const struct cudaExtent row = {64, 0, 0}, square = {64, 64, 0};
    NEEDS(ACU_FEATURE_DEFERRED_MAPPING_ARRAYS);
    FAILS(cudaErrorInvalidValue, cudaMalloc3DArray(&a, &whole, row, cudaArraySparse));
    IS(a == NULL);
    FAILS(cudaErrorInvalidValue,
          cudaMalloc3DArray(&a, &whole, square, cudaArraySparse | cudaArrayDeferredMapping));
    FAILS(cudaErrorInvalidValue,
          cudaMalloc3DArray(&a, &whole, square, cudaArraySparse | cudaArraySurfaceLoadStore));
}

/* The format of elements is looked at first, how they are read next, where they are last. */
CASE(textures_of_memory) {
    char *memory = NULL;
    cudaTextureObject_t texture = 0;
    struct cudaTextureDesc how = {.addressMode = {cudaAddressModeClamp}};
    struct cudaResourceDesc what = {.resType = cudaResourceTypeLinear};
    OK(cudaMalloc((void **)&memory, 512));
    what.res.linear.devPtr = memory;
    what.res.linear.desc = (struct cudaChannelFormatDesc){32, 8, 0, 0, whole.f};
    how.filterMode = cudaFilterModeLinear;
    FAILS(cudaErrorInvalidChannelDescriptor, cudaCreateTextureObject(&texture, &what, &how, NULL));
    what.res.linear.desc = whole;
    what.res.linear.devPtr = memory + 1;
    FAILS(cudaErrorInvalidFilterSetting, cudaCreateTextureObject(&texture, &what, &how, NULL));
    how.filterMode = cudaFilterModePoint;
    how.readMode = cudaReadModeNormalizedFloat;
    FAILS(cudaErrorInvalidNormSetting, cudaCreateTextureObject(&texture, &what, &how, NULL));
    how.readMode = cudaReadModeElementType;
    FAILS(cudaErrorInvalidValue, cudaCreateTextureObject(&texture, &what, &how, NULL));
    what.res.linear.devPtr = memory;
    how.addressMode[1] = (enum cudaTextureAddressMode)9; /* of a dimension that there is not */
    OK(cudaCreateTextureObject(&texture, &what, &how, NULL));
    OK(cudaDestroyTextureObject(texture));
    OK(cudaFree(memory));
}

/* An address is looked at only if there is an element. */
CASE(textures_of_no_elements) {
    static _Alignas(512) char pageable[512];
    cudaTextureObject_t texture = 0;
    const struct cudaTextureDesc how = {.addressMode = {cudaAddressModeClamp}};
    struct cudaResourceDesc what = {.resType = cudaResourceTypeLinear};
    what.res.linear.devPtr = pageable;
    what.res.linear.desc = whole;
    what.res.linear.sizeInBytes = 3;
    OK(cudaCreateTextureObject(&texture, &what, &how, NULL));
    OK(cudaDestroyTextureObject(texture));
    what.res.linear.sizeInBytes = 4; /* an H200 refused it, an H100 took it */
    if (is_simulated())
        FAILS(cudaErrorInvalidValue, cudaCreateTextureObject(&texture, &what, &how, NULL));
    else
        SAYS_EITHER(cudaErrorInvalidValue, cudaSuccess,
                    cudaCreateTextureObject(&texture, &what, &how, NULL));
    (void)cudaGetLastError();
    what.res.linear.devPtr = pageable + 32;
    what.res.linear.sizeInBytes = 0;
    FAILS(cudaErrorInvalidValue, cudaCreateTextureObject(&texture, &what, &how, NULL));
}

/* The rows of a texture may be longer than its pitch. */
CASE(textures_of_rows_beyond_the_pitch) {
    char *memory = NULL;
    cudaTextureObject_t texture = 0;
    const struct cudaTextureDesc how = {.addressMode = {cudaAddressModeClamp}};
    const struct cudaResourceDesc what = {.resType = cudaResourceTypePitch2D};
    struct cudaResourceDesc rows = what;
    OK(cudaMalloc((void **)&memory, 4096));
    rows.res.pitch2D.devPtr = memory;
    rows.res.pitch2D.desc = whole;
    rows.res.pitch2D.width = 16;
    rows.res.pitch2D.height = 4;
    rows.res.pitch2D.pitchInBytes = 32;
    OK(cudaCreateTextureObject(&texture, &rows, &how, NULL));
    OK(cudaDestroyTextureObject(texture));
    rows.res.pitch2D.pitchInBytes = 48;
    FAILS(cudaErrorInvalidValue, cudaCreateTextureObject(&texture, &rows, &how, NULL));
    OK(cudaFree(memory));
}

/* A view of a mipmapped array must name a format. */
CASE(views_of_mipmapped_arrays) {
    cudaMipmappedArray_t mipmap = NULL;
    cudaTextureObject_t texture = 7;
    const struct cudaExtent square = {16, 16, 0};
    const struct cudaTextureDesc how = {
        .addressMode = {cudaAddressModeClamp, cudaAddressModeClamp}};
    struct cudaResourceDesc what = {.resType = cudaResourceTypeMipmappedArray};
    struct cudaResourceViewDesc view = {.width = 16, .height = 16, .lastMipmapLevel = 1};
    OK(cudaMallocMipmappedArray(&mipmap, &whole, square, 2, 0));
    what.res.mipmap.mipmap = mipmap;
    FAILS(cudaErrorInvalidValue, cudaCreateTextureObject(&texture, &what, &how, &view));
    EQUAL(texture, 0);
    view.format = cudaResViewFormatUnsignedInt1;
    OK(cudaCreateTextureObject(&texture, &what, &how, &view));
    OK(cudaDestroyTextureObject(texture));
    OK(cudaFreeMipmappedArray(mipmap));
}

CASE(surfaces_of_memory) {
    char *memory = NULL;
    cudaSurfaceObject_t surface = 0;
    struct cudaResourceDesc what = {.resType = cudaResourceTypeLinear};
    OK(cudaMalloc((void **)&memory, 512));
    what.res.linear.devPtr = memory;
    what.res.linear.sizeInBytes = 512;
    what.res.linear.desc.x = 7;
    FAILS(cudaErrorInvalidChannelDescriptor, cudaCreateSurfaceObject(&surface, &what));
    what.res.linear.desc = whole;
    FAILS(cudaErrorInvalidValue, cudaCreateSurfaceObject(&surface, &what));
    OK(cudaFree(memory));
}

/* ---- the driver's memory and copies ---- */

CASE(the_driver_writes_nothing_found) {
    CUdeviceptr at = 7;
    void *host = &host;
    OK(cudaFree(NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(&at, 0));
    EQUAL(at, 0);
    at = 7;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemAllocManaged(&at, 0, CU_MEM_ATTACH_GLOBAL));
    EQUAL(at, 0);
    OK(cuMemAllocHost(&host, 0));
    IS(host == NULL);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemHostAlloc(&host, 0, 8));
}

/* A pitch of 0 is that of rows as long as needed. */
CASE(driver_boxes_without_a_pitch) {
    char *memory = NULL, in[64] = "a row and a row", out[64] = "";
    CUDA_MEMCPY2D box = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                         .srcHost = in,
                         .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                         .dstXInBytes = 4,
                         .dstPitch = 16,
                         .WidthInBytes = 6,
                         .Height = 2};
    OK(cudaMalloc((void **)&memory, 64));
    box.dstDevice = (CUdeviceptr)(uintptr_t)memory;
    OK(cuMemcpy2D(&box));
    OK(cudaMemcpy(out, memory, 32, cudaMemcpyDefault));
    EQUAL(memcmp(out + 4, in, 6), 0);
    EQUAL(memcmp(out + 20, in + 6, 6), 0);
    box.dstPitch = 8;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D(&box));
    OK(cudaFree(memory));
}

/* Of a device's memory of a pool, CUDA does not look at what a box skips. */
CASE(driver_boxes_in_memory_of_a_pool) {
    CUdeviceptr pool = 0, plain = 0;
    char row[64] = "";
    CUDA_MEMCPY3D box = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                         .srcHost = row,
                         .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                         .dstXInBytes = 16,
                         .dstPitch = 64,
                         .WidthInBytes = 64,
                         .Height = 1,
                         .Depth = 1};
    OK(cuMemAlloc(&plain, 4096));
    OK(cuMemAllocAsync(&pool, 64, 0));
    OK(cuStreamSynchronize(0));
    box.dstDevice = plain;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D(&box)); /* beyond the pitch */
    box.dstDevice = pool;
    OK(cuMemcpy3D(&box)); /* that, and beyond the memory */
    box.WidthInBytes = 65;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D(&box));
    OK(cuMemFree(plain));
    OK(cuMemFree(pool));
}

/* Rows must lie in the height also where there is one slice. */
CASE(driver_boxes_beyond_the_height) {
    char *memory = NULL, rows[256] = "";
    CUDA_MEMCPY3D box = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                         .srcHost = rows,
                         .srcPitch = 64,
                         .srcHeight = 2,
                         .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                         .dstPitch = 64,
                         .WidthInBytes = 16,
                         .Height = 2,
                         .Depth = 1};
    OK(cudaMalloc((void **)&memory, 256));
    box.dstDevice = (CUdeviceptr)(uintptr_t)memory;
    OK(cuMemcpy3D(&box));
    box.srcY = 1;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D(&box));
    OK(cudaFree(memory));
}

/* A run of bytes may begin where a row ends: that is the next row. */
CASE(copies_to_arrays_from_the_end_of_a_row) {
    cudaArray_t array = NULL;
    unsigned in[3] = {1, 2, 3}, out[4] = {9, 9, 9, 9};
    OK(cudaMallocArray(&array, &whole, 1, 4, 0));
    OK(cudaMemcpy2DToArray(array, 0, 0, out, 4, 4, 4, cudaMemcpyHostToDevice));
    OK(cudaMemcpyToArray(array, 4, 0, in, 12, cudaMemcpyHostToDevice));
    FAILS(cudaErrorInvalidValue, cudaMemcpyToArray(array, 4, 0, in, 16, cudaMemcpyHostToDevice));
    FAILS(cudaErrorInvalidValue, cudaMemcpyToArray(array, 5, 0, in, 1, cudaMemcpyHostToDevice));
    OK(cudaMemcpyFromArray(out, array, 0, 0, 16, cudaMemcpyDeviceToHost));
    EQUAL(out[0], 9);
    EQUAL(out[1], 1);
    EQUAL(out[3], 3);
    OK(cudaFreeArray(array));
}

CASE(copies_to_arrays_in_no_direction) {
    cudaArray_t array = NULL;
    unsigned in = 5;
    OK(cudaMallocArray(&array, &whole, 4, 4, 0));
    OK(cudaMemcpyToArray(array, 0, 0, &in, 4, (enum cudaMemcpyKind)9));
    OK(cudaMemcpyToArray(NULL, 0, 0, &in, 4, (enum cudaMemcpyKind)9));
    FAILS(cudaErrorInvalidMemcpyDirection,
          cudaMemcpyToArray(array, 0, 0, &in, 4, cudaMemcpyDeviceToHost));
    FAILS(cudaErrorInvalidResourceHandle,
          cudaMemcpyToArray(NULL, 0, 0, &in, 4, cudaMemcpyHostToDevice));
    OK(cudaFreeArray(array));
}

/* ---- pools of places ---- */

CASE(pools_of_the_host) {
    cudaMemPool_t pool = NULL;
    cudaStream_t stream = NULL;
    char *memory = NULL;
    unsigned flags = 7;
    struct cudaPointerAttributes attributes;
    struct cudaMemLocation place = {.type = cudaMemLocationTypeHost, .id = 99};
    enum cudaMemAccessFlags access = cudaMemAccessFlagsProtNone;
    OK(cudaMemGetDefaultMemPool(&pool, &place, cudaMemAllocationTypePinned));
    OK(cudaMemPoolGetAccess(&access, pool, &place));
    EQUAL(access, cudaMemAccessFlagsProtReadWrite);
    OK(cudaStreamCreate(&stream));
    OK(cudaMallocFromPoolAsync((void **)&memory, 4096, pool, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaPointerGetAttributes(&attributes, memory));
    EQUAL(attributes.type, cudaMemoryTypeHost);
    FAILS(cudaErrorInvalidValue, cudaHostGetFlags(&flags, memory));
    memory[0] = 7;
    EQUAL(memory[0], 7);
    FAILS(cudaErrorInvalidValue, cudaFreeHost(memory));
    OK(cudaFreeAsync(memory, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaStreamDestroy(stream));
}

CASE(places_that_have_pools) {
    cudaMemPool_t pool = NULL;
    struct cudaMemLocation place = {.type = cudaMemLocationTypeInvalid};
    OK(cudaMemGetDefaultMemPool(&pool, &place, cudaMemAllocationTypeManaged));
    FAILS(cudaErrorInvalidValue,
          cudaMemGetDefaultMemPool(&pool, &place, cudaMemAllocationTypePinned));
    place.type = (enum cudaMemLocationType)9;
    FAILS(cudaErrorNotSupported,
          cudaMemGetDefaultMemPool(&pool, &place, cudaMemAllocationTypePinned));
    FAILS(cudaErrorInvalidValue, cudaMemSetMemPool(&place, cudaMemAllocationTypePinned, NULL));
}

/* ---- graphs ---- */

/* A handle alone is enough to make a graph one that cannot be cloned. */
CASE(graphs_with_handles_of_conditions) {
    cudaGraph_t graph = NULL, clone = NULL;
    cudaGraphConditionalHandle handle;
    cudaGraphExec_t exec = NULL, second = NULL;
    cudaGraphNode_t node;
    enum cudaGraphNodeType type = cudaGraphNodeTypeCount;
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeConditional};
    NEEDS(ACU_FEATURE_GRAPH_CONDITIONAL_NODES);
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphConditionalHandleCreate(&handle, graph, 0, 1));
    FAILS(cudaErrorNotSupported, cudaGraphClone(&clone, graph));
    FAILS(cudaErrorInvalidValue, cudaGraphInstantiate(&second, graph, 0));
    params.conditional.handle = handle;
    params.conditional.type = cudaGraphCondTypeIf;
    params.conditional.size = 1;
    OK(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    SAYS(FROM(13000, cudaSuccess, cudaErrorUnknown), cudaGraphNodeGetType(node, &type));
    (void)cudaGetLastError();
    FAILS(cudaErrorNotSupported, cudaGraphInstantiate(&second, graph, 0)); /* there is one */
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroyNode(node));
    FAILS(cudaErrorInvalidValue, cudaGraphInstantiate(&exec, graph, 0)); /* again without a node */
    OK(cudaGraphDestroy(graph));
}

/* A graph remembers a free that it refused, and then takes no edges back. */
CASE(a_refused_free_is_remembered) {
    cudaGraph_t graph = NULL;
    cudaGraphNode_t node, nodes[2];
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeMemFree};
    NEEDS(ACU_FEATURE_GRAPH_NODE_PARAMS);
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddEmptyNode(&nodes[0], graph, NULL, 0));
    OK(cudaGraphAddEmptyNode(&nodes[1], graph, nodes, 1));
    FAILS(cudaErrorInvalidValue, cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    FAILS(cudaErrorNotSupported, cudaGraphRemoveDependencies(graph, &nodes[0], &nodes[1], NULL, 1));
    OK(cudaGraphDestroy(graph));
}

/* Captures take fills that calls refuse; the graph cannot be instantiated. */
CASE(fills_that_only_captures_take) {
    cudaStream_t stream = NULL;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    char *memory = NULL;
    OK(cudaMalloc((void **)&memory, 4096));
    OK(cudaStreamCreate(&stream));
    SAYS(cudaErrorInvalidValue, cudaMemsetAsync(memory, 1, 3 << 20, stream));
    (void)cudaGetLastError();
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    OK(cudaMemsetAsync(memory, 1, 3 << 20, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    FAILS(cudaErrorInvalidValue, cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(memory));
}

/* ---- functions ---- */

/* Of a launch, an attribute that is wrong leaves the capture as it is. */
CASE(wrong_attributes_in_a_capture) {
    CUmodule module = NULL;
    CUfunction function = NULL;
    cudaStream_t stream = NULL;
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                   .value.clusterDim = {0, 1, 1}};
    CUlaunchConfig config = {.gridDimX = 1,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 1,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .attrs = &attribute,
                             .numAttrs = 1};
    register_kernels();
    OK(cudaFree(NULL));
    OK(cuModuleLoadData(&module, module_text));
    OK(cuModuleGetFunction(&function, module, "nothing"));
    OK(cudaStreamCreate(&stream));
    config.hStream = stream;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    SAYS(CUDA_ERROR_INVALID_CLUSTER_SIZE, cuLaunchKernelEx(&config, function, NULL, NULL));
    OK(cudaStreamIsCapturing(stream, &status));
    EQUAL(status, cudaStreamCaptureStatusActive);
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE;
    attribute.value.priority = 7;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernelEx(&config, function, NULL, NULL));
    OK(cudaStreamIsCapturing(stream, &status));
    EQUAL(status, cudaStreamCaptureStatusActive);
    config.blockDimX = 0;
    config.numAttrs = 0;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernelEx(&config, function, NULL, NULL));
    OK(cudaStreamIsCapturing(stream, &status));
    EQUAL(status, cudaStreamCaptureStatusInvalidated);
    (void)end_capture(stream);
    (void)cudaGetLastError();
    OK(cudaStreamDestroy(stream));
    OK(cuModuleUnload(module));
}

CASE(names_of_the_driver) {
    void *found = &found;
    enum cudaDriverEntryPointQueryResult status = (enum cudaDriverEntryPointQueryResult)9;
    OK(cudaGetDriverEntryPointByVersion("cuLaunchKernel", &found, 2000, 0, &status));
    IS(found == NULL);
    EQUAL(status, cudaDriverEntryPointVersionNotSufficent);
    OK(cudaGetDriverEntryPointByVersion("cuLaunchKernel", &found, 12000, 3, &status));
    IS(found != NULL);
    OK(cudaGetDriverEntryPointByVersion("nothing of it", &found, 12000, 0, &status));
    EQUAL(status, cudaDriverEntryPointSymbolNotFound);
    FAILS(cudaErrorInvalidValue,
          cudaGetDriverEntryPointByVersion("cuLaunchKernel", &found, 99000, 0, &status));
}

/* ---- the last error ---- */

/* A call that only asks forgets the last error. */
CASE(a_question_that_forgets_the_last_error) {
    void *found = NULL;
    if (driver() < runtime()) {
        skip("a driver refuses to look for what is newer than itself");
        return;
    }
    SAYS(cudaErrorInvalidValue, cudaMalloc(NULL, 1));
    OK(cudaGetDriverEntryPoint("nothing of it", &found, 0, NULL));
    EQUAL(cudaGetLastError(), FROM(12000, cudaErrorInvalidValue, cudaSuccess));
}

/* ---- the names of CUDA 3 ---- */

CASE(calls_for_the_thread) {
    size_t value = 0, same = 1;
    OK(cudaThreadSynchronize());
    OK(cudaThreadGetLimit(&value, cudaLimitMallocHeapSize));
    OK(cudaDeviceGetLimit(&same, cudaLimitMallocHeapSize));
    EQUAL(value, same);
    OK(cudaThreadSetCacheConfig(cudaFuncCachePreferL1));
    OK(cudaThreadSetCacheConfig(cudaFuncCachePreferNone));
    FAILS(cudaErrorInvalidValue, cudaThreadSetCacheConfig((enum cudaFuncCache)9));
}

/* ---- managed memory ---- */

static int attribute_of(char *at, size_t size, enum cudaMemRangeAttribute attribute) {
    int value = -77;
    return cudaMemRangeGetAttribute(&value, sizeof value, attribute, at, size) ? -78 : value;
}

/* What is not said about all pages is not said. */
CASE(advice_about_a_part) {
    enum { ALL = 65536, HALF = ALL / 2, PAGE = 4096 };
    const struct cudaMemLocation device = {cudaMemLocationTypeDevice, {0}};
    char *memory = NULL;
    OK(cudaMallocManaged((void **)&memory, ALL, cudaMemAttachGlobal));
    OK(cudaMemAdvise(memory + 100, 1, cudaMemAdviseSetReadMostly, device));
    OK(cudaMemAdvise(memory, HALF, cudaMemAdviseSetPreferredLocation, device));
    EQUAL(attribute_of(memory, PAGE, cudaMemRangeAttributeReadMostly), 1);
    EQUAL(attribute_of(memory, PAGE + 1, cudaMemRangeAttributeReadMostly), 0);
    EQUAL(attribute_of(memory, HALF, cudaMemRangeAttributePreferredLocation), 0);
    EQUAL(attribute_of(memory, HALF + 1, cudaMemRangeAttributePreferredLocation),
          cudaInvalidDeviceId);
    EQUAL(attribute_of(memory + HALF, HALF, cudaMemRangeAttributePreferredLocation),
          cudaInvalidDeviceId);
    OK(cudaMemAdvise(memory, ALL, cudaMemAdviseSetReadMostly, device));
    EQUAL(attribute_of(memory, ALL, cudaMemRangeAttributeReadMostly), 1);
    OK(cudaMemAdvise(memory, ALL, cudaMemAdviseUnsetReadMostly, device));
    EQUAL(attribute_of(memory, ALL, cudaMemRangeAttributeReadMostly), 0);
    OK(cudaFree(memory));
}

/* Pages that were moved to several places, or of which only some were, are nowhere. */
CASE(moving_a_part) {
    enum { ALL = 65536, HALF = ALL / 2, PAGE = 4096 };
    const struct cudaMemLocation device = {cudaMemLocationTypeDevice, {0}};
    const struct cudaMemLocation host = {cudaMemLocationTypeHost, {0}};
    const enum cudaMemRangeAttribute last = cudaMemRangeAttributeLastPrefetchLocation;
    char *memory = NULL;
    OK(cudaMallocManaged((void **)&memory, ALL, cudaMemAttachGlobal));
    OK(cudaMemPrefetchAsync(memory + 16, HALF - 16, device, 0, NULL));
    EQUAL(attribute_of(memory, HALF, last), 0);
    if (is_simulated()) /* an H100 says so, too, but not each time */
        EQUAL(attribute_of(memory, ALL, last), cudaInvalidDeviceId);
    else
        SAYS_EITHER(cudaInvalidDeviceId, 0, attribute_of(memory, ALL, last));
    OK(cudaMemPrefetchAsync(memory, 1, host, 0, NULL));
    EQUAL(attribute_of(memory, PAGE, last), cudaCpuDeviceId);
    EQUAL(attribute_of(memory, HALF, last), cudaInvalidDeviceId);
    EQUAL(attribute_of(memory + PAGE, HALF - PAGE, last), 0);
    OK(cudaMemPrefetchAsync(memory, ALL, host, 0, NULL));
    EQUAL(attribute_of(memory, ALL, last), cudaCpuDeviceId);
    OK(cudaStreamSynchronize(NULL));
    OK(cudaFree(memory));
}

/* NULL is refused before the place is looked at. */
CASE(moving_no_memory) {
    const struct cudaMemLocation nowhere = {cudaMemLocationTypeDevice, {99}};
    char *memory = NULL;
    OK(cudaMallocManaged((void **)&memory, 4096, cudaMemAttachGlobal));
    FAILS(cudaErrorInvalidDevice, cudaMemPrefetchAsync(memory, 4096, nowhere, 0, 0));
    FAILS(cudaErrorInvalidValue, cudaMemPrefetchAsync(NULL, 4096, nowhere, 0, 0));
    OK(cudaFree(memory));
}

/* ---- the current context ---- */

/* The next call of the runtime that needs a context gets one; setting flags does, too. */
LONE_CASE(choosing_devices_gives_the_context_up) {
    int device = 0;
    unsigned flags = 7;
    CUdevice current = -7;
    OK(cudaFree(NULL));
    OK(cudaSetDevice(0));
    OK(cuCtxGetDevice(&current));
    EQUAL(current, 0);
    OK(cudaSetValidDevices(&device, 1));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetDevice(&current));
    FAILS(cudaErrorDeviceUninitialized, cudaCtxResetPersistingL2Cache());
    OK(cudaProfilerStop());
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetDevice(&current));
    OK(cudaProfilerStart());
    OK(cuCtxGetDevice(&current));
    OK(cudaSetValidDevices(NULL, 0));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetDevice(&current));
    OK(cudaSetDeviceFlags(cudaDeviceScheduleYield));
    OK(cuCtxGetDevice(&current));
    OK(cudaGetDeviceFlags(&flags));
    EQUAL(flags, cudaDeviceScheduleYield | cudaDeviceMapHost);
}
