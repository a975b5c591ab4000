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
    params.type = CU_GRAPH_NODE_TYPE_MEMCPY;
    SAYS(CUDA_ERROR_NOT_SUPPORTED, cuGraphAddNode(&last, graph, NULL, NULL, 0, &params));
    expect_reason("does not add a node of type 1 by cuGraphAddNode");
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGraphConditionalHandleCreate(NULL, graph, NULL, 0, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGraphConditionalHandleCreate(&handle, NULL, NULL, 0, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGraphConditionalHandleCreate(&handle, graph, NULL, 0, 2));
    SAYS(CUDA_ERROR_INVALID_CONTEXT,
         cuGraphConditionalHandleCreate(&handle, graph, (CUcontext)(void *)&handle, 0, 0));
}

#define G(name) cmocka_unit_test_setup_teardown(name, begin_graph, end_graph)

int main(void) {
    const struct CMUnitTest tests[] = {
        G(nodes_of_most_types), G(kernels), G(conditions), G(the_older_meaning), G(mistakes),
    };
    return RUN(tests);
}
