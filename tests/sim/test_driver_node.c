/* Nodes that the driver API's call for all types adds, and its conditional handles. */
#include "driver_test.h"

static CUdeviceptr at;
static CUgraph graph;
static CUgraphNode last; /* each node comes after the one before it */

static CUgraphNodeParams of_type(CUgraphNodeType type) {
    return (CUgraphNodeParams){.type = type};
}

static void add_to(CUgraph to, CUgraphNodeParams *params) {
    const CUgraphEdgeData plain = {0};
    CUgraphNodeType type;
    OK(cuGraphAddNode(&last, to, last ? &last : NULL, last ? &plain : NULL, last ? 1 : 0, params));
    OK(cuGraphNodeGetType(last, &type));
    assert_int_equal(type, params->type);
}

/* Adds a node that stores a value to one of the words. */
static void add_fill(CUgraph to, unsigned index, unsigned value) {
    CUgraphNodeParams params = of_type(CU_GRAPH_NODE_TYPE_MEMSET);
    params.memset.dst = at + index * sizeof value;
    params.memset.value = value;
    params.memset.elementSize = sizeof value;
    params.memset.width = params.memset.height = 1;
    add_to(to, &params);
}

static int begin_graph(void **state) {
    last = NULL;
    return begin_in_context(state) || cuMemAlloc(&at, 64) || cuMemsetD8(at, 0, 64) ||
           cuGraphCreate(&graph, 0);
}

static int end_graph(void **state) {
    int bad = cuGraphDestroy(graph) || cuMemFree(at);
    return bad || end_in_context(state);
}

/* Launches the graph; `words` gets what stands there then. */
static void run(unsigned words[16]) {
    CUgraphExec exec;
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphLaunch(exec, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(words, at, 64));
    OK(cuGraphExecDestroy(exec));
}

static void count_call(void *data) {
    ++*(unsigned *)data;
}

TEST(nodes_of_most_types) {
    unsigned calls = 0, words[16];
    CUgraph child;
    CUevent event;
    OK(cuEventCreate(&event, 0));
    CUgraphNodeParams params = of_type(CU_GRAPH_NODE_TYPE_EMPTY);
    add_to(graph, &params);
    add_fill(graph, 0, 7);
    params = of_type(CU_GRAPH_NODE_TYPE_HOST);
    params.host.fn = count_call;
    params.host.userData = &calls;
    add_to(graph, &params);
    params = of_type(CU_GRAPH_NODE_TYPE_EVENT_RECORD);
    params.eventRecord.event = event;
    add_to(graph, &params);
    params = of_type(CU_GRAPH_NODE_TYPE_WAIT_EVENT);
    params.eventWait.event = event;
    add_to(graph, &params);
    CUgraphNode before = last;
    last = NULL;
    OK(cuGraphCreate(&child, 0));
    add_fill(child, 1, 8);
    last = before;
    params = of_type(CU_GRAPH_NODE_TYPE_GRAPH);
    params.graph.graph = child;
    add_to(graph, &params);
    run(words);
    assert_int_equal(words[0], 7);
    assert_int_equal(words[1], 8);
    assert_int_equal(calls, 1);
    OK(cuGraphDestroy(child));
    OK(cuEventDestroy(event));
}

TEST(kernels) {
    static const char text[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
                               ".entry k(.param .u64 p) {\n.reg .b64 %d;\nld.param.u64 %d, [p];\n"
                               "st.global.u32 [%d], 42;\nret;\n}\n";
    unsigned words[16];
    void *args[] = {&at};
    CUmodule module;
    OK(cuModuleLoadData(&module, text));
    CUgraphNodeParams params = of_type(CU_GRAPH_NODE_TYPE_KERNEL);
    OK(cuModuleGetFunction(&params.kernel.func, module, "k"));
    params.kernel.gridDimX = params.kernel.gridDimY = params.kernel.gridDimZ = 1;
    params.kernel.blockDimX = params.kernel.blockDimY = params.kernel.blockDimZ = 1;
    params.kernel.kernelParams = args;
    add_fill(graph, 0, 7);
    add_to(graph, &params);
    run(words);
    assert_int_equal(words[0], 42);
    params.kernel.gridDimX = 0;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode(&last, graph, NULL, NULL, 0, &params));
    OK(cuModuleUnload(module));
}

TEST(conditions) {
    unsigned words[16];
    for (unsigned value = 0; value < 2; value++) {
        CUgraphNodeParams params = of_type(CU_GRAPH_NODE_TYPE_CONDITIONAL);
        OK(cuGraphConditionalHandleCreate(&params.conditional.handle, graph, value ? context : NULL,
                                          value, CU_GRAPH_COND_ASSIGN_DEFAULT));
        params.conditional.type = CU_GRAPH_COND_TYPE_IF;
        params.conditional.size = 1;
        params.conditional.ctx = context;
        last = NULL;
        add_to(graph, &params);
        last = NULL;
        add_fill(params.conditional.phGraph_out[0], value, 5);
    }
    run(words);
    assert_int_equal(words[0], 0);
    assert_int_equal(words[1], 5);
}

/* A copy of 16 bytes from the host. */
static CUgraphNodeParams copy_of(const void *from) {
    CUgraphNodeParams params = of_type(CU_GRAPH_NODE_TYPE_MEMCPY);
    params.memcpy.copyParams = (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_HOST,
                                               .srcHost = from,
                                               .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                               .dstDevice = at,
                                               .WidthInBytes = 16,
                                               .Height = 1,
                                               .Depth = 1};
    return params;
}

/* What CUDA reports of a node has the pitch and the rows as they were given. */
TEST(copies) {
    static unsigned char from[512];
    unsigned words[16];
    struct cudaMemcpy3DParms shown;
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (unsigned char)i;
    CUgraphNodeParams params = copy_of(from);
    CUDA_MEMCPY3D *copy = &params.memcpy.copyParams;
    copy->Height = 2;
    copy->srcXInBytes = 4;
    copy->dstXInBytes = 8;
    copy->srcY = 1;
    add_to(graph, &params);
    run(words);
    const unsigned rows[] = {0,          0, 0x1b1a1918, 0x1f1e1d1c, 0x23222120,
                             0x27262524, 0, 0,          0x2f2e2d2c};
    assert_memory_equal(words, rows, sizeof rows);
    OK((CUresult)cudaGraphMemcpyNodeGetParams((cudaGraphNode_t)last, &shown));
    assert_ptr_equal(shown.srcPtr.ptr, from);
    assert_int_equal(shown.srcPtr.pitch + shown.srcPtr.xsize + shown.srcPtr.ysize, 0);
    assert_int_equal(shown.srcPos.x, 4);
    assert_int_equal(shown.kind, cudaMemcpyHostToDevice);
    copy->srcPitch = 64;
    copy->srcHeight = 3;
    copy->Height = 1;
    copy->srcZ = 1;
    params.memcpy.copyCtx = context;
    add_to(graph, &params);
    run(words);
    assert_int_equal(words[2], 0x07060504); /* byte 64 * (1 + 3) + 4 */
    OK((CUresult)cudaGraphMemcpyNodeGetParams((cudaGraphNode_t)last, &shown));
    assert_int_equal(shown.srcPtr.pitch, 64);
    assert_int_equal(shown.srcPtr.ysize, 3);
}

/* In arrays a copy counts bytes, also parts of an element. */
TEST(copies_of_arrays) {
    const CUDA_ARRAY_DESCRIPTOR words_of_8 = {8, 8, CU_AD_FORMAT_UNSIGNED_INT32, 1};
    static const unsigned from[4] = {0x03020100, 0x07060504, 0x0b0a0908, 0x0f0e0d0c};
    unsigned words[16];
    struct cudaMemcpy3DParms shown;
    CUgraphNodeParams to = copy_of(from), back = copy_of(NULL);
    CUarray array;
    OK(cuArrayCreate(&array, &words_of_8));
    to.memcpy.copyParams.dstMemoryType = back.memcpy.copyParams.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    to.memcpy.copyParams.dstArray = back.memcpy.copyParams.srcArray = array;
    add_to(graph, &to);
    back.memcpy.copyParams.srcXInBytes = 2;
    back.memcpy.copyParams.WidthInBytes = 6;
    add_to(graph, &back);
    run(words);
    assert_int_equal(words[0], 0x05040302);
    assert_int_equal(words[1], 0x0706);
    OK((CUresult)cudaGraphMemcpyNodeGetParams((cudaGraphNode_t)last, &shown));
    assert_int_equal(shown.extent.width, 1); /* whole elements */
    assert_int_equal(shown.srcPos.x, 0);
    back.memcpy.copyParams.srcXInBytes = 24;
    back.memcpy.copyParams.WidthInBytes = 16;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode(&last, graph, NULL, NULL, 0, &back));
    OK(cuArrayDestroy(array));
}

static CUgraphNodeParams allocation(void) {
    CUgraphNodeParams params = of_type(CU_GRAPH_NODE_TYPE_MEM_ALLOC);
    params.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params.alloc.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    params.alloc.bytesize = 1024;
    params.alloc.dptr = 5;
    return params;
}

TEST(memory_of_graphs) {
    CUgraphNodeParams params = allocation(), end = of_type(CU_GRAPH_NODE_TYPE_MEM_FREE);
    struct cudaMemAllocNodeParams shown;
    unsigned words[16];
    add_to(graph, &params);
    OK((CUresult)cudaGraphMemAllocNodeGetParams((cudaGraphNode_t)last, &shown));
    assert_int_equal(shown.bytesize, 1024);
    assert_ptr_equal(shown.dptr, (void *)(uintptr_t)params.alloc.dptr);
    CUgraphNodeParams copy = copy_of(NULL);
    copy.memcpy.copyParams.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.memcpy.copyParams.srcDevice = end.free.dptr = params.alloc.dptr;
    CUgraphNodeParams fill = of_type(CU_GRAPH_NODE_TYPE_MEMSET);
    fill.memset = (CUDA_MEMSET_NODE_PARAMS_v2){params.alloc.dptr, 0, 0x0a0b0c0d, 4, 4, 1, context};
    add_to(graph, &fill);
    add_to(graph, &copy);
    add_to(graph, &end);
    run(words);
    assert_int_equal(words[3], 0x0a0b0c0d);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode(&last, graph, NULL, NULL, 0, &end));
    end.free.dptr = at;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode(&last, graph, NULL, NULL, 0, &end));
}

TEST(values_in_memory) {
    CUstreamBatchMemOpParams write = {
        .writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, .address = at, .value = 77}};
    CUgraphNodeParams params = of_type(CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
    unsigned words[16];
    params.memOp.ctx = context;
    params.memOp.count = 1;
    params.memOp.paramArray = &write;
    add_to(graph, &params);
    run(words);
    assert_int_equal(words[0], 77);
    params.memOp.ctx = NULL;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode(&last, graph, NULL, NULL, 0, &params));
}

/* No semaphores are signaled or waited for. */
TEST(no_semaphores) {
    CUgraphNodeParams params = of_type(CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL);
    unsigned words[16];
    add_to(graph, &params);
    params.type = CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT;
    add_to(graph, &params);
    run(words);
}

/* An H200 says all of this (580.159.04). */
TEST(wrong_copies) {
    static char from[64];
#define WRONG(code, change)                                                                        \
    do {                                                                                           \
        CUgraphNodeParams params = copy_of(from);                                                  \
        change;                                                                                    \
        SAYS(code, cuGraphAddNode(&last, graph, NULL, NULL, 0, &params));                          \
    } while (0)
    static long none[512];
    WRONG(CUDA_ERROR_CONTEXT_IS_DESTROYED, params.memcpy.copyCtx = (CUcontext)(void *)none);
    WRONG(CUDA_ERROR_INVALID_VALUE, params.memcpy.flags = 1);
    WRONG(CUDA_ERROR_INVALID_VALUE, params.memcpy.reserved = 1);
    WRONG(CUDA_ERROR_INVALID_VALUE, params.reserved0[1] = 1);
    WRONG(CUDA_ERROR_INVALID_VALUE, params.reserved2 = 1);
    WRONG(CUDA_ERROR_INVALID_VALUE, params.reserved1[28] = 1);
    WRONG(CUDA_ERROR_INVALID_VALUE, params.memcpy.copyParams.WidthInBytes = 0);
    WRONG(CUDA_ERROR_INVALID_VALUE, params.memcpy.copyParams.Depth = 0);
    WRONG(CUDA_ERROR_INVALID_VALUE, params.memcpy.copyParams.srcMemoryType = (CUmemorytype)0);
    WRONG(CUDA_ERROR_INVALID_VALUE, params.memcpy.copyParams.srcMemoryType = CU_MEMORYTYPE_ARRAY);
    WRONG(CUDA_ERROR_INVALID_VALUE, params.memcpy.copyParams.srcPitch = 8);
    WRONG(CUDA_ERROR_INVALID_VALUE, params.memcpy.copyParams.srcHost = NULL);
    WRONG(CUDA_ERROR_INVALID_VALUE, params.memcpy.copyParams.dstDevice = (CUdeviceptr)from);
    WRONG(CUDA_ERROR_INVALID_VALUE, params.memcpy.copyParams.WidthInBytes = 1 << 20);
#undef WRONG
    CUgraphNodeParams fill = of_type(CU_GRAPH_NODE_TYPE_MEMSET);
    fill.memset = (CUDA_MEMSET_NODE_PARAMS_v2){at, 0, 1, 4, 4, 1, (CUcontext)(void *)none};
    SAYS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuGraphAddNode(&last, graph, NULL, NULL, 0, &fill));
}

TEST(wrong_allocations) {
    CUmemAccessDesc access = {.location.type = CU_MEM_LOCATION_TYPE_DEVICE,
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READ};
#define WRONG(code, change)                                                                        \
    do {                                                                                           \
        CUgraphNodeParams params = allocation();                                                   \
        change;                                                                                    \
        SAYS(code, cuGraphAddNode(&last, graph, NULL, NULL, 0, &params));                          \
        assert_int_equal(params.alloc.dptr, 5);                                                    \
    } while (0)
    WRONG(CUDA_ERROR_INVALID_VALUE, params.alloc.bytesize = 0);
    WRONG(CUDA_ERROR_OUT_OF_MEMORY, params.alloc.bytesize = (size_t)1 << 50);
    WRONG(CUDA_ERROR_INVALID_VALUE, params.alloc.poolProps.allocType = (CUmemAllocationType)0);
    WRONG(CUDA_ERROR_NOT_SUPPORTED,
          params.alloc.poolProps.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    WRONG(CUDA_ERROR_INVALID_VALUE,
          params.alloc.poolProps.handleTypes = (CUmemAllocationHandleType)64);
    WRONG(CUDA_ERROR_NOT_SUPPORTED,
          params.alloc.poolProps.location.type = CU_MEM_LOCATION_TYPE_HOST);
    WRONG(CUDA_ERROR_INVALID_VALUE, params.alloc.poolProps.location.type = (CUmemLocationType)9);
    WRONG(CUDA_ERROR_INVALID_VALUE, params.alloc.poolProps.location.id = 7);
    WRONG(CUDA_ERROR_INVALID_VALUE, params.alloc.poolProps.reserved[0] = 1);
    WRONG(CUDA_ERROR_NOT_SUPPORTED, params.alloc.accessDescs = &access;
          params.alloc.accessDescCount = 1);
    access.location.id = 7;
    WRONG(CUDA_ERROR_INVALID_DEVICE, params.alloc.accessDescs = &access;
          params.alloc.accessDescCount = 1);
#undef WRONG
}

/* What the name meant in CUDA 12.2: no data of edges. */
TEST(the_older_meaning) {
    CUresult (*older)(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, CUgraphNodeParams *);
    CUgraphNodeParams params = of_type(CU_GRAPH_NODE_TYPE_EMPTY);
    CUgraphNode second;
    size_t count = 0;
    OK(cuGetProcAddress("cuGraphAddNode", (void **)(void *)&older, 12020, 0, NULL));
    OK(older(&last, graph, NULL, 0, &params));
    OK(older(&second, graph, &last, 1, &params));
    OK(cuGraphGetEdges(graph, NULL, NULL, NULL, &count));
    assert_int_equal(count, 1);
}

TEST(mistakes) {
    CUgraphNodeParams params = of_type(CU_GRAPH_NODE_TYPE_EMPTY);
    CUgraphConditionalHandle handle;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode(&last, graph, NULL, NULL, 0, NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode(NULL, graph, NULL, NULL, 0, &params));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode(&last, NULL, NULL, NULL, 0, &params));
    params.type = (CUgraphNodeType)99;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode(&last, graph, NULL, NULL, 0, &params));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGraphConditionalHandleCreate(NULL, graph, NULL, 0, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGraphConditionalHandleCreate(&handle, NULL, NULL, 0, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGraphConditionalHandleCreate(&handle, graph, NULL, 0, 2));
    SAYS(CUDA_ERROR_INVALID_CONTEXT,
         cuGraphConditionalHandleCreate(&handle, graph, (CUcontext)(void *)&handle, 0, 0));
}

#define G(name) cmocka_unit_test_setup_teardown(name, begin_graph, end_graph)

int main(void) {
    const struct CMUnitTest tests[] = {
        G(nodes_of_most_types), G(kernels),           G(conditions),        G(copies),
        G(copies_of_arrays),    G(memory_of_graphs),  G(values_in_memory),  G(no_semaphores),
        G(wrong_copies),        G(wrong_allocations), G(the_older_meaning), G(mistakes),
    };
    return RUN(tests);
}
