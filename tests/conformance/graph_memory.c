/* Memory that graphs allocate and free. */
#include "graphs.h"

static struct cudaMemAllocNodeParams alloc_params(size_t bytes) {
    struct cudaMemAllocNodeParams params = {.bytesize = bytes};
    params.poolProps.allocType = cudaMemAllocationTypePinned;
    params.poolProps.location.type = cudaMemLocationTypeDevice;
    return params;
}

CASE(a_node_that_allocates) {
    cudaGraph_t graph = NULL;
    cudaGraphNode_t node = NULL;
    struct cudaMemAllocNodeParams alloc = alloc_params(1000), got;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &alloc));
    IS(alloc.dptr != NULL);
    OK(cudaGraphMemAllocNodeGetParams(node, &got));
    IS(got.dptr == alloc.dptr);
    EQUAL(got.bytesize, 1000);
    OK(cudaGraphDestroy(graph));
}

CASE(mistakes_with_nodes_that_allocate) {
    cudaGraph_t graph = NULL;
    cudaGraphNode_t node = NULL;
    struct cudaMemAllocNodeParams alloc = alloc_params(0);
    OK(cudaGraphCreate(&graph, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &alloc));
    FAILS(cudaErrorInvalidValue, cudaGraphAddMemAllocNode(&node, graph, NULL, 0, NULL));
    alloc = alloc_params(1000);
    alloc.poolProps.location.id = 99;
    FAILS(cudaErrorInvalidValue, cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &alloc));
    alloc = alloc_params(1000);
    alloc.poolProps.allocType = cudaMemAllocationTypeInvalid;
    FAILS(cudaErrorInvalidValue, cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &alloc));
    EQUAL(count_nodes(graph), 0);
    OK(cudaGraphDestroy(graph));
}

CASE(memory_that_is_freed_in_its_graph) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t alloc_node = NULL, free_node = NULL, again = NULL;
    struct cudaMemAllocNodeParams alloc = alloc_params(1000);
    void *freed = NULL;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemAllocNode(&alloc_node, graph, NULL, 0, &alloc));
    cudaGraphNode_t fill = add_fill(graph, &alloc_node, 1, alloc.dptr, 1);
    IS(fill != NULL);
    OK(cudaGraphAddMemFreeNode(&free_node, graph, &fill, 1, alloc.dptr));
    OK(cudaGraphMemFreeNodeGetParams(free_node, &freed));
    IS(freed == alloc.dptr);
    FAILS(cudaErrorInvalidValue, cudaGraphAddMemFreeNode(&again, graph, &fill, 1, alloc.dptr));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaStreamSynchronize(0));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

CASE(memory_that_outlives_a_launch) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t node = NULL;
    cudaStream_t stream = new_stream();
    struct cudaMemAllocNodeParams alloc = alloc_params(1000);
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &alloc));
    IS(add_fill(graph, &node, 1, alloc.dptr, 42) != NULL);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    EQUAL(read_back(alloc.dptr), 42);
    FAILS(cudaErrorInvalidValue, cudaGraphLaunch(exec, stream)); /* not freed yet */
    OK(cudaFreeAsync(alloc.dptr, stream));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaFree(alloc.dptr));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
}

CASE(memory_that_is_freed_at_the_next_launch) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t node = NULL;
    cudaStream_t stream = new_stream();
    struct cudaMemAllocNodeParams alloc = alloc_params(1000);
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &alloc));
    OK(cudaGraphInstantiateWithFlags(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaFree(alloc.dptr));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
}

CASE(memory_that_another_graph_frees) {
    cudaGraph_t graph = NULL, other = NULL;
    cudaGraphExec_t exec = NULL, freeing = NULL;
    cudaGraphNode_t node = NULL, own = NULL;
    cudaStream_t stream = new_stream();
    struct cudaMemAllocNodeParams alloc = alloc_params(1000);
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphCreate(&other, 0));
    OK(cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &alloc));
    OK(cudaGraphAddMemFreeNode(&own, other, NULL, 0, alloc.dptr));
    FAILS(cudaErrorInvalidValue, cudaGraphAddMemFreeNode(&own, graph, &node, 1, alloc.dptr));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphInstantiate(&freeing, other, 0));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaGraphLaunch(freeing, stream));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaGraphLaunch(freeing, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphExecDestroy(freeing));
    OK(cudaGraphDestroy(other));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
}

CASE(addresses_that_no_node_allocated) {
    cudaGraph_t graph = NULL;
    cudaGraphNode_t node = NULL;
    void *plain = NULL;
    int here;
    OK(cudaMalloc(&plain, 64));
    OK(cudaGraphCreate(&graph, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphAddMemFreeNode(&node, graph, NULL, 0, plain));
    FAILS(cudaErrorInvalidValue, cudaGraphAddMemFreeNode(&node, graph, NULL, 0, &here));
    FAILS(cudaErrorInvalidValue, cudaGraphAddMemFreeNode(&node, graph, NULL, 0, NULL));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(plain));
}

CASE(what_graphs_with_memory_do_not_allow) {
    cudaGraph_t graph = NULL, other = NULL, clone = NULL;
    cudaGraphExec_t exec = NULL, second = NULL;
    cudaGraphNode_t node = NULL, empty = NULL, child = NULL;
    struct cudaMemAllocNodeParams alloc = alloc_params(1000);
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphCreate(&other, 0));
    OK(cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &alloc));
    OK(cudaGraphAddEmptyNode(&empty, graph, &node, 1));
    FAILS(cudaErrorNotSupported, cudaGraphClone(&clone, graph));
    FAILS(cudaErrorNotSupported, cudaGraphAddChildGraphNode(&child, other, NULL, 0, graph));
    FAILS(cudaErrorNotSupported, cudaGraphDestroyNode(empty));
    FAILS(cudaErrorNotSupported, cudaGraphRemoveDependencies(graph, &node, &empty, NULL, 1));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    FAILS(cudaErrorNotSupported, cudaGraphInstantiate(&second, graph, 0));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphInstantiate(&second, graph, 0));
    OK(cudaGraphExecDestroy(second));
    OK(cudaGraphDestroy(other));
    OK(cudaGraphDestroy(graph));
}

CASE(what_devices_have_for_graphs) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t node = NULL;
    struct cudaMemAllocNodeParams alloc = alloc_params(MIB);
    unsigned long long value = 99, zero = 0, one = 1;
    OK(cudaDeviceGraphMemTrim(0));
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &alloc));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaStreamSynchronize(0));
    OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &value));
    IS(value >= MIB);
    OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &value));
    IS(value >= MIB);
    OK(cudaFree(alloc.dptr));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaDeviceGraphMemTrim(0));
    OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &value));
    EQUAL(value, 0);
    OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &value));
    EQUAL(value, 0);
    OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &value));
    IS(value >= MIB);
    OK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &zero));
    OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &value));
    EQUAL(value, 0);
    FAILS(cudaErrorInvalidValue,
          cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &one));
    FAILS(cudaErrorInvalidValue,
          cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &zero));
    FAILS(cudaErrorInvalidValue,
          cudaDeviceGetGraphMemAttribute(0, (enum cudaGraphMemAttributeType)9, &value));
    FAILS(cudaErrorInvalidDevice,
          cudaDeviceGetGraphMemAttribute(99, cudaGraphMemAttrUsedMemHigh, &value));
    FAILS(cudaErrorInvalidDevice, cudaDeviceGraphMemTrim(99));
}

/* An instance without memory, made of a graph that got a node with memory later, has the memory of
 * the graph that it was updated from. */
CASE(an_updated_instance_has_other_memory) {
    cudaGraph_t graph = NULL, other = NULL;
    cudaGraphExec_t exec = NULL, second = NULL;
    cudaGraphNode_t empty = NULL, node = NULL;
    cudaGraphExecUpdateResultInfo info;
    struct cudaMemAllocNodeParams alloc = alloc_params(4096);
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphCreate(&other, 0));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphAddEmptyNode(&empty, graph, NULL, 0));
    const cudaGraphNode_t twice[] = {empty, empty};
    FAILS(cudaErrorInvalidValue, cudaGraphAddMemAllocNode(&node, graph, twice, 2, &alloc));
    FAILS(cudaErrorInvalidValue, cudaGraphAddMemFreeNode(&node, other, NULL, 0, NULL));
    const bool updates = runtime() >= 12000;
    SAYS(updates ? cudaSuccess : cudaErrorGraphExecUpdateFailure,
         cudaGraphExecUpdate(exec, other, &info));
    (void)cudaGetLastError();
    OK(cudaGraphInstantiate(&second, graph, 0));
    if (updates)
        FAILS(cudaErrorNotSupported, cudaGraphInstantiate(&second, other, 0));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphExecDestroy(second));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(other));
}

/* Returns a graph with an instance, whose allocations follow each other or do not; NULL
 * if a call fails. */
static cudaGraphExec_t allocate_in_graph(cudaGraph_t *graph, const size_t *sizes, size_t count,
                                         bool chained, void **memory) {
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t nodes[8] = {0};
    bool good = !cudaGraphCreate(graph, 0);
    for (size_t i = 0; i < count && good; i++) {
        struct cudaMemAllocNodeParams alloc = alloc_params(sizes[i]);
        const size_t before = chained && i;
        good = !cudaGraphAddMemAllocNode(&nodes[i], *graph, before ? &nodes[i - 1] : NULL, before,
                                         &alloc);
        memory[i] = alloc.dptr;
    }
    return good && !cudaGraphInstantiate(&exec, *graph, 0) ? exec : NULL;
}

/* Returns how many MiB a device's graphs have; -1 if the call fails. */
static long long graph_mib(enum cudaGraphMemAttributeType attribute) {
    unsigned long long value = 0;
    return cudaDeviceGetGraphMemAttribute(0, attribute, &value) ? -1 : (long long)(value / MIB);
}

CASE(graphs_get_memory_in_pieces) {
    static const struct {
        size_t sizes[3], count;
        bool chained;
        long long mib;
    } rows[] = {
        {{4096}, 1, false, 32},
        {{32 * MIB}, 1, false, 32},
        {{32 * MIB + 1}, 1, false, 64},
        {{65 * MIB}, 1, false, 96},
        {{4096, 4096}, 2, false, 32},
        {{20 * MIB, 20 * MIB}, 2, false, 64},
        {{20 * MIB, 20 * MIB, 20 * MIB}, 3, true, 64},
        {{100 * MIB, 1}, 2, false, 128},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cudaGraph_t graph = NULL;
        void *memory[3] = {0};
        OK(cudaDeviceGraphMemTrim(0));
        cudaGraphExec_t exec =
            allocate_in_graph(&graph, rows[i].sizes, rows[i].count, rows[i].chained, memory);
        IS(exec != NULL);
        EQUAL(graph_mib(cudaGraphMemAttrUsedMemCurrent), 0);
        OK(cudaGraphLaunch(exec, NULL));
        OK(cudaStreamSynchronize(NULL));
        EQUAL(graph_mib(cudaGraphMemAttrUsedMemCurrent), rows[i].mib);
        EQUAL(graph_mib(cudaGraphMemAttrReservedMemCurrent), rows[i].mib);
        for (size_t j = 0; j < rows[i].count; j++)
            OK(cudaFree(memory[j]));
        EQUAL(graph_mib(cudaGraphMemAttrUsedMemCurrent), rows[i].mib);
        OK(cudaDeviceGraphMemTrim(0));
        EQUAL(graph_mib(cudaGraphMemAttrUsedMemCurrent), 0);
        OK(cudaGraphExecDestroy(exec));
        OK(cudaGraphDestroy(graph));
    }
}

/* Pieces 0 to 2 have the allocations 0 and 1 and the begin of 2; the rest of 2 and the begin of 3;
 * the rest of 3. */
CASE(trimming_leaves_pieces_with_memory_that_is_allocated) {
    static const size_t sizes[] = {4096, 4096, 40 * MIB, 40 * MIB};
    static const struct {
        int freed;
        long long mib;
    } steps[] = {{0, 96}, {2, 96}, {1, 64}, {3, 0}};
    cudaGraph_t graph = NULL;
    void *memory[4] = {0};
    OK(cudaDeviceGraphMemTrim(0));
    cudaGraphExec_t exec = allocate_in_graph(&graph, sizes, 4, false, memory);
    IS(exec != NULL);
    OK(cudaGraphLaunch(exec, NULL));
    OK(cudaStreamSynchronize(NULL));
    for (int i = 0; i < 4; i++) {
        OK(cudaFree(memory[steps[i].freed]));
        OK(cudaDeviceGraphMemTrim(0));
        EQUAL(graph_mib(cudaGraphMemAttrUsedMemCurrent), steps[i].mib);
    }
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

CASE(graphs_share_pieces_that_are_free) {
    static const size_t small = 20 * MIB, large = 40 * MIB;
    cudaGraph_t graphs[2] = {0};
    void *memory[2] = {0};
    OK(cudaDeviceGraphMemTrim(0));
    cudaGraphExec_t first = allocate_in_graph(&graphs[0], &small, 1, false, &memory[0]);
    cudaGraphExec_t second = allocate_in_graph(&graphs[1], &large, 1, false, &memory[1]);
    IS(first && second);
    OK(cudaGraphLaunch(first, NULL));
    OK(cudaGraphLaunch(second, NULL));
    OK(cudaStreamSynchronize(NULL));
    EQUAL(graph_mib(cudaGraphMemAttrUsedMemCurrent), 96); /* both are allocated */
    OK(cudaFree(memory[0]));
    OK(cudaFree(memory[1]));
    OK(cudaDeviceGraphMemTrim(0));
    OK(cudaGraphLaunch(first, NULL));
    OK(cudaFree(memory[0]));
    EQUAL(graph_mib(cudaGraphMemAttrUsedMemCurrent), 32);
    OK(cudaGraphLaunch(second, NULL));
    OK(cudaStreamSynchronize(NULL));
    EQUAL(graph_mib(cudaGraphMemAttrUsedMemCurrent), 64); /* the piece of the first, and another */
    OK(cudaFree(memory[1]));
    OK(cudaGraphExecDestroy(first));
    OK(cudaGraphExecDestroy(second));
    OK(cudaGraphDestroy(graphs[0]));
    OK(cudaGraphDestroy(graphs[1]));
    EQUAL(graph_mib(cudaGraphMemAttrUsedMemCurrent), 64); /* until they are trimmed */
    OK(cudaDeviceGraphMemTrim(0));
    EQUAL(graph_mib(cudaGraphMemAttrUsedMemCurrent), 0);
}

/* Together the allocations are larger than the device, but each is freed before the next one. */
CASE(an_allocation_lies_where_one_was_freed) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t last = NULL;
    void *first = NULL;
    OK(cudaDeviceGraphMemTrim(0));
    OK(cudaGraphCreate(&graph, 0));
    for (int i = 0; i < 100; i++) {
        struct cudaMemAllocNodeParams alloc = alloc_params((size_t)2048 * MIB);
        cudaGraphNode_t node = NULL;
        OK(cudaGraphAddMemAllocNode(&node, graph, last ? &last : NULL, last ? 1 : 0, &alloc));
        OK(cudaGraphAddMemFreeNode(&last, graph, &node, 1, alloc.dptr));
        first = first ? first : alloc.dptr;
        IS(alloc.dptr == first);
    }
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, NULL));
    OK(cudaStreamSynchronize(NULL));
    EQUAL(graph_mib(cudaGraphMemAttrUsedMemCurrent), 2048);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaDeviceGraphMemTrim(0));
}

static int memory_type_of(const void *at) {
    struct cudaPointerAttributes a;
    return cudaPointerGetAttributes(&a, at) ? -1 : (int)a.type;
}

CASE(memory_of_a_graph_is_known_while_it_is_allocated) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t node = NULL;
    struct cudaMemAllocNodeParams alloc = alloc_params(1000);
    CUdeviceptr base;
    CUcontext context;
    size_t size;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &alloc));
    const CUdeviceptr at = (CUdeviceptr)(uintptr_t)alloc.dptr;
    EQUAL(memory_type_of(alloc.dptr), cudaMemoryTypeUnregistered);
    SAYS(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange(&base, &size, at));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, NULL));
    OK(cudaStreamSynchronize(NULL));
    EQUAL(memory_type_of(alloc.dptr), cudaMemoryTypeDevice);
    OK(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, at));
    IS(context == NULL);
    OK(cuMemGetAddressRange(&base, &size, at));
    IS(base == at && size == 1000);
    OK(cudaFreeAsync(alloc.dptr, NULL));
    OK(cudaStreamSynchronize(NULL));
    EQUAL(memory_type_of(alloc.dptr), cudaMemoryTypeUnregistered);
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, at));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

/* What a capture takes from a pool of managed memory is a device's memory. */
CASE(a_captured_allocation_from_a_managed_pool) {
    const struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypeManaged,
                                           .location = {.type = cudaMemLocationTypeDevice}};
    struct cudaMemAllocNodeParams params;
    cudaMemPool_t pool = NULL;
    cudaStream_t stream = NULL;
    cudaGraph_t graph = NULL;
    cudaGraphNode_t node = NULL;
    size_t count = 1;
    void *memory = NULL;
    OK(cudaMemPoolCreate(&pool, &props));
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cudaMallocFromPoolAsync(&memory, 4096, pool, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphGetNodes(graph, &node, &count));
    OK(cudaGraphMemAllocNodeGetParams(node, &params));
    EQUAL(params.poolProps.allocType, cudaMemAllocationTypePinned);
    EQUAL(params.poolProps.location.type, cudaMemLocationTypeDevice);
    EQUAL(params.accessDescCount, 0);
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
    OK(cudaMemPoolDestroy(pool));
}
