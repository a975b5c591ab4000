/* The driver's calls that the runtime has, too: each by one use, and one mistake of each group. */
#include "driver_test.h"

TEST(pools) {
    CUmemoryPool pool, other;
    CUdeviceptr at;
    cuuint64_t threshold = 1 << 20, used = 0;
    CUmemLocation there = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1};
    CUmemLocation here = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
    CUmemAccess_flags flags;
    const CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = here};
    const CUmemAccessDesc access = {.location = there, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    OK(cuMemPoolCreate(&pool, &props));
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    OK(cuMemAllocFromPoolAsync(&at, 1000, pool, NULL));
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    assert_int_equal(used, 1000);
    OK(cuMemPoolSetAccess(pool, &access, 1));
    OK(cuMemPoolGetAccess(&flags, pool, &there));
    assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(cuMemFreeAsync(at, NULL));
    OK(cuStreamSynchronize(NULL));
    OK(cuMemPoolTrimTo(pool, 0));
    OK(cuMemGetDefaultMemPool(&other, &here, CU_MEM_ALLOCATION_TYPE_PINNED));
    OK(cuMemSetMemPool(&here, CU_MEM_ALLOCATION_TYPE_PINNED, pool));
    OK(cuMemGetMemPool(&other, &here, CU_MEM_ALLOCATION_TYPE_PINNED));
    assert_ptr_equal(other, pool);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemPoolCreate(&pool, NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemPoolGetAttribute(other, (CUmemPool_attribute)999, &used));
    OK(cuMemPoolDestroy(other));
    OK(cudaGetLastError()); /* the driver leaves none behind */
}

TEST(managed_memory) {
    CUdeviceptr at;
    int where = 9, kind = 9;
    void *data[] = {&where, &kind};
    size_t rooms[] = {sizeof where, sizeof kind};
    CUmem_range_attribute attributes[] = {CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
                                          CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION};
    const CUmemLocation device = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1};
    OK(cuMemAllocManaged(&at, 4096, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemAdvise(at, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, device));
    OK(cuMemPrefetchAsync(at, 4096, device, 0, NULL));
    OK(cuStreamAttachMemAsync(NULL, at, 0, CU_MEM_ATTACH_GLOBAL));
    OK(cuStreamSynchronize(NULL));
    OK(cuMemRangeGetAttribute(&where, sizeof where, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, at, 4096));
    assert_int_equal(where, 1);
    OK(cuMemRangeGetAttributes(data, rooms, attributes, 2, at, 4096));
    assert_int_equal(kind, 1);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemPrefetchAsync(0, 4096, device, 0, NULL));
    OK(cuMemFree(at));
}

TEST(many_copies) {
    char from[2][8] = {"hello", "world"}, back[16] = "";
    CUdeviceptr at, to[2], of[2];
    CUstream stream;
    size_t sizes[] = {8, 8}, first = 0;
    CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    OK(cuStreamCreate(&stream, 0));
    OK(cuMemAlloc(&at, 16));
    for (int i = 0; i < 2; i++) {
        to[i] = at + 8U * (unsigned)i;
        of[i] = (CUdeviceptr)(uintptr_t)from[i];
    }
    OK(cuMemcpyBatchAsync(to, of, sizes, 2, &attributes, &first, 1, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH(back, at, 16));
    assert_string_equal(back, "hello");
    assert_string_equal(back + 8, "world");
    OK(cuMemFree(at));
    OK(cuStreamDestroy(stream));
}

static int released;

static void release(void *data) {
    (void)data;
    __atomic_store_n(&released, 1, __ATOMIC_SEQ_CST);
}

TEST(objects_of_graphs) {
    CUuserObject object;
    CUgraph graph;
    OK(cuGraphCreate(&graph, 0));
    OK(cuUserObjectCreate(&object, &released, release, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    OK(cuUserObjectRetain(object, 1));
    OK(cuGraphRetainUserObject(graph, object, 1, 0));
    OK(cuGraphReleaseUserObject(graph, object, 1));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuUserObjectRetain(object, 0));
    OK(cuUserObjectRelease(object, 2));
    OK(cuGraphDestroy(graph));
}

TEST(nodes) {
    CUgraph graph, child, found;
    CUgraphNode record, wait, part, near[2];
    CUgraphExec exec;
    CUevent event, other, its;
    size_t count = 2;
    unsigned id = 0, enabled = 9;
    unsigned long long tools = 0;
    cuuint64_t flags = 9;
    CUDA_GRAPH_INSTANTIATE_PARAMS params = {0};
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&other, CU_EVENT_DISABLE_TIMING));
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphCreate(&child, 0));
    OK(cuGraphAddEventRecordNode(&record, graph, NULL, 0, event));
    OK(cuGraphAddEventWaitNode(&wait, graph, &record, 1, event));
    OK(cuGraphAddChildGraphNode(&part, graph, &wait, 1, child));
    OK(cuGraphNodeGetDependencies(wait, near, NULL, &count));
    assert_true(count == 1 && near[0] == record);
    count = 2;
    OK(cuGraphNodeGetDependentNodes(wait, near, NULL, &count));
    assert_true(count == 1 && near[0] == part);
    OK(cuGraphEventRecordNodeSetEvent(record, other));
    OK(cuGraphEventRecordNodeGetEvent(record, &its));
    assert_ptr_equal(its, other);
    OK(cuGraphEventWaitNodeSetEvent(wait, other));
    OK(cuGraphEventWaitNodeGetEvent(wait, &its));
    assert_ptr_equal(its, other);
    OK(cuGraphChildGraphNodeGetGraph(part, &found));
    assert_ptr_not_equal(found, child);
    OK(cuGraphGetId(graph, &id));
    assert_true(id > 0);
    OK(cuGraphNodeGetLocalId(wait, &id));
    OK(cuGraphNodeGetToolsId(wait, &tools));
    OK(cuGraphNodeGetContainingGraph(wait, &found));
    assert_ptr_equal(found, graph);
    OK(cuGraphDebugDotPrint(graph, "/dev/null", 0));
    OK(cuGraphInstantiateWithParams(&exec, graph, &params));
    OK(cuGraphExecGetFlags(exec, &flags));
    assert_int_equal(flags, 0);
    OK(cuGraphExecGetId(exec, &id));
    OK(cuGraphExecEventRecordNodeSetEvent(exec, record, event));
    OK(cuGraphExecEventWaitNodeSetEvent(exec, wait, event));
    OK(cuGraphExecChildGraphNodeSetParams(exec, part, child));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGraphNodeGetEnabled(exec, record, NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGraphNodeGetEnabled(exec, wait, &enabled));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGraphNodeSetEnabled(exec, wait, 0));
    OK(cuGraphLaunch(exec, NULL));
    OK(cuStreamSynchronize(NULL));
    OK(cuEventQuery(event));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(child));
    OK(cuGraphDestroy(graph));
    OK(cuEventDestroy(event));
    OK(cuEventDestroy(other));
}

TEST(memory_of_graphs) {
    cuuint64_t used = 9, none = 0;
    OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used));
    assert_int_equal(used, 0);
    OK(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &none));
    OK(cuDeviceGraphMemTrim(0));
    SAYS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGraphMemTrim(9));
}

TEST(captures) {
    CUstream stream;
    CUgraph graph, captured = NULL, ended;
    CUgraphNode begin_node;
    CUstreamCaptureStatus status;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    cuuint64_t id = 0;
    const CUgraphNode *tips;
    const CUgraphEdgeData *data;
    size_t count = 9;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddEmptyNode(&begin_node, graph, NULL, 0));
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    OK(cuStreamBeginCaptureToGraph(stream, graph, &begin_node, NULL, 1,
                                   CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuStreamGetCaptureInfo(stream, &status, &id, &captured, &tips, &data, &count));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    assert_true(captured == graph && count == 1 && tips[0] == begin_node);
    OK(cuStreamUpdateCaptureDependencies(stream, NULL, NULL, 0,
                                         CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    OK(cuStreamGetCaptureInfo(stream, &status, &id, NULL, NULL, NULL, &count));
    assert_int_equal(count, 0);
    OK(cuStreamEndCapture(stream, &ended));
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    OK(cuGraphDestroy(graph));
    OK(cuStreamDestroy(stream));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        C(pools), C(managed_memory),   C(many_copies), C(objects_of_graphs),
        C(nodes), C(memory_of_graphs), C(captures),
    };
    return RUN(tests);
}
