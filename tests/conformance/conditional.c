/* Conditional nodes, as far as no kernel sets their values. */
#include "graphs.h"

static cudaError_t add_conditional(cudaGraph_t graph, cudaGraphConditionalHandle handle,
                                   enum cudaGraphConditionalNodeType type, unsigned size,
                                   cudaGraph_t **bodies) {
    cudaGraphNode_t node = NULL;
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeConditional};
    params.conditional.handle = handle;
    params.conditional.type = type;
    params.conditional.size = size;
    cudaError_t result = cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params);
    *bodies = params.conditional.phGraph_out;
    return result;
}

/* Launched once, it leaves that number in the memory; the graph goes with it. */
static void ends_with(cudaGraph_t graph, unsigned *device, unsigned expected) {
    cudaGraphExec_t exec = NULL;
    OK(cudaMemset(device, 0, 64));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaStreamSynchronize(0));
    EQUAL(read_back(device), expected);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

CASE(an_if) {
    unsigned *device = NULL;
    OK(cudaMalloc((void **)&device, 64));
    for (unsigned value = 0; value < 3; value++) {
        cudaGraph_t graph = NULL, *bodies = NULL;
        cudaGraphConditionalHandle handle = 0;
        OK(cudaGraphCreate(&graph, 0));
        OK(cudaGraphConditionalHandleCreate(&handle, graph, value, cudaGraphCondAssignDefault));
        OK(add_conditional(graph, handle, cudaGraphCondTypeIf, 1, &bodies));
        IS(bodies != NULL && bodies[0] != NULL);
        IS(bodies && add_fill(bodies[0], NULL, 0, device, 5) != NULL);
        ends_with(graph, device, value ? 5 : 0);
    }
    OK(cudaFree(device));
}

CASE(a_while_that_is_never_done) {
    cudaGraph_t graph = NULL, *bodies = NULL;
    cudaGraphConditionalHandle handle = 0;
    unsigned *device = NULL;
    OK(cudaMalloc((void **)&device, 64));
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphConditionalHandleCreate(&handle, graph, 0, cudaGraphCondAssignDefault));
    OK(add_conditional(graph, handle, cudaGraphCondTypeWhile, 1, &bodies));
    IS(add_fill(bodies[0], NULL, 0, device, 5) != NULL);
    ends_with(graph, device, 0);
    OK(cudaFree(device));
}

CASE(a_switch) {
    unsigned *device = NULL;
    if (driver() < 12080) { /* it is the driver that must know it, whatever the runtime */
        skip("the driver is older than switches");
        return;
    }
    OK(cudaMalloc((void **)&device, 64));
    for (unsigned value = 0; value < 3; value++) {
        cudaGraph_t graph = NULL, *bodies = NULL;
        cudaGraphConditionalHandle handle = 0;
        OK(cudaGraphCreate(&graph, 0));
        OK(cudaGraphConditionalHandleCreate(&handle, graph, value, cudaGraphCondAssignDefault));
        OK(add_conditional(graph, handle, cudaGraphCondTypeSwitch, 2, &bodies));
        IS(add_fill(bodies[0], NULL, 0, device, 10) != NULL);
        IS(add_fill(bodies[1], NULL, 0, device, 11) != NULL);
        ends_with(graph, device, value < 2 ? 10 + value : 0);
    }
    OK(cudaFree(device));
}

CASE(mistakes_with_conditional_nodes) {
    cudaGraph_t graph = NULL, other = NULL, *bodies = NULL;
    cudaGraphConditionalHandle handle = 0, foreign = 0, wrong = 0;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphCreate(&other, 0));
    OK(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0));
    OK(cudaGraphConditionalHandleCreate(&foreign, other, 0, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphConditionalHandleCreate(NULL, graph, 0, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphConditionalHandleCreate(&wrong, graph, 0, 2));
    FAILS(cudaErrorInvalidValue,
          add_conditional(graph, handle, cudaGraphCondTypeWhile, 2, &bodies));
    FAILS(cudaErrorInvalidValue, add_conditional(graph, handle, cudaGraphCondTypeIf, 0, &bodies));
    /* a number, which the graph has, too: the same as its own, which is used then */
    OK(add_conditional(graph, foreign, cudaGraphCondTypeIf, 1, &bodies));
    FAILS(cudaErrorInvalidValue, add_conditional(graph, handle, cudaGraphCondTypeIf, 1, &bodies));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(other));
}

/* A handle may be created without an execution context. */
CASE(handles_for_an_execution_context) {
    cudaExecutionContext_t context = NULL;
    OK(cudaDeviceGetExecutionCtx(&context, 0));
    for (int named = 0; named < 2; named++) {
        cudaGraph_t graph = NULL, *bodies = NULL;
        cudaGraphConditionalHandle handle = 0;
        unsigned *device = NULL;
        OK(cudaMalloc((void **)&device, 64));
        OK(cudaGraphCreate(&graph, 0));
        OK(cudaGraphConditionalHandleCreate_v2(&handle, graph, named ? context : NULL, 1,
                                               cudaGraphCondAssignDefault));
        OK(add_conditional(graph, handle, cudaGraphCondTypeIf, 1, &bodies));
        IS(add_fill(bodies[0], NULL, 0, device, 5) != NULL);
        ends_with(graph, device, 5);
        OK(cudaFree(device));
    }
}

CASE(what_a_conditional_body_takes) {
    cudaGraphExec_t exec = NULL;
    cudaGraph_t graph = NULL, clone = NULL, *bodies = NULL;
    cudaGraphConditionalHandle handle = 0;
    cudaGraphNode_t node = NULL;
    int calls = 0;
    const struct cudaHostNodeParams host = {on_host, &calls};
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0));
    OK(add_conditional(graph, handle, cudaGraphCondTypeIf, 1, &bodies));
    OK(cudaGraphAddEmptyNode(&node, bodies[0], NULL, 0));
    OK(cudaGraphAddHostNode(&node, bodies[0], NULL, 0, &host));
    SAYS(cudaErrorInvalidValue, cudaGraphInstantiate(&exec, graph, 0));
    (void)cudaGetLastError();
    FAILS(cudaErrorNotSupported, cudaGraphClone(&clone, graph));
    OK(cudaGraphDestroy(graph));
}

CASE(a_handle_without_a_node) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphConditionalHandle handle = 0;
    cudaGraphInstantiateParams params = {.flags = 0};
    NEEDS(ACU_FEATURE_GRAPH_SWITCH_NODES);
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphInstantiateWithParams(&exec, graph, &params));
    EQUAL(params.result_out, cudaGraphInstantiateConditionalHandleUnused);
    OK(cudaGraphDestroy(graph));
}

CASE(handles_of_two_graphs) {
    cudaGraph_t graph = NULL, other = NULL;
    cudaGraphConditionalHandle a = 0, b = 0, c = 0;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphCreate(&other, 0));
    OK(cudaGraphConditionalHandleCreate(&a, graph, 0, 0));
    OK(cudaGraphConditionalHandleCreate(&b, graph, 0, 0));
    OK(cudaGraphConditionalHandleCreate(&c, other, 0, 0));
    IS(a != b);
    IS(a == c); /* a number in each graph */
    EQUAL(b - a, 1);
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(other));
}

static unsigned keeps_local(void) {
    unsigned flags = 0;
    return cuCtxGetFlags(&flags) ? 99 : flags & (unsigned)CU_CTX_LMEM_RESIZE_TO_MAX;
}

/* What makes the context keep its local memory. */
LONE_CASE(local_memory_is_kept) {
    cudaGraph_t graph = NULL, *bodies = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphConditionalHandle handle = 0;
    OK(cudaFree(NULL));
    EQUAL(keeps_local(), 0);
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphConditionalHandleCreate(&handle, graph, 0, cudaGraphCondAssignDefault));
    EQUAL(keeps_local(), 0);
    OK(add_conditional(graph, handle, cudaGraphCondTypeIf, 1, &bodies));
    EQUAL(keeps_local(), 0);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    EQUAL(keeps_local(), CU_CTX_LMEM_RESIZE_TO_MAX);
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaStreamSynchronize(0));
    EQUAL(keeps_local(), CU_CTX_LMEM_RESIZE_TO_MAX);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

/* Makes an instance of a graph that fills memory, and returns whether local memory is kept then. */
static unsigned kept_by_fill(void *memory, size_t width, size_t rows, size_t pitch) {
    const struct cudaMemsetParams fill = {
        .dst = memory, .elementSize = 1, .width = width, .height = rows, .pitch = pitch};
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t node = NULL;
    const bool good = !cuCtxSetFlags(CU_CTX_MAP_HOST) && keeps_local() == 0 &&
                      !cudaGraphCreate(&graph, 0) &&
                      !cudaGraphAddMemsetNode(&node, graph, NULL, 0, &fill) &&
                      !cudaGraphInstantiate(&exec, graph, 0) && !cudaGraphExecDestroy(exec) &&
                      !cudaGraphDestroy(graph);
    return good ? keeps_local() : 99;
}

LONE_CASE(large_fills_keep_local_memory) {
    int device = 0, active = 0;
    unsigned flags = 0;
    char *memory = NULL, *pinned = NULL;
    OK(cudaMalloc((void **)&memory, 65536));
    OK(cudaMallocHost((void **)&pinned, 65536));
    EQUAL(kept_by_fill(memory, 4096, 1, 4096), 0);
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    EQUAL(flags, 0); /* cuCtxSetFlags() leaves out that host memory is mapped */
    EQUAL(kept_by_fill(memory, 1024, 3, 1024), 0);
    EQUAL(kept_by_fill(pinned, 4096, 1, 4096), 0);
    EQUAL(kept_by_fill(memory, 2048, 3, 2048), CU_CTX_LMEM_RESIZE_TO_MAX);
    EQUAL(kept_by_fill(memory, 64, 3, 128), CU_CTX_LMEM_RESIZE_TO_MAX);
    EQUAL(kept_by_fill(pinned, 8192, 1, 8192), CU_CTX_LMEM_RESIZE_TO_MAX);
    OK(cudaGetDeviceFlags(&flags));
    EQUAL(flags & (unsigned)cudaDeviceLmemResizeToMax, cudaDeviceLmemResizeToMax);
    OK(cudaSetValidDevices(&device, 1)); /* no context is current any more, but the same remains */
    OK(cudaGetDeviceFlags(&flags));
    EQUAL(flags & (unsigned)cudaDeviceLmemResizeToMax, 0);
    OK(cudaFree(NULL));
    OK(cudaGetDeviceFlags(&flags));
    EQUAL(flags & (unsigned)cudaDeviceLmemResizeToMax, cudaDeviceLmemResizeToMax);
    OK(cudaFree(memory));
    OK(cudaFreeHost(pinned));
}
