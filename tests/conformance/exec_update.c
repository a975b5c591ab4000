/* Changing what was instantiated: one node, or all. */
#include "graphs.h"
#include "kernels.h"

/* ---- changing one node ---- */

CASE(changing_a_host_node) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    int a = 0, b = 0;
    struct cudaHostNodeParams host = {on_host, &b}, got = {NULL, NULL};
    OK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t node = add_host(graph, NULL, 0, &a);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphExecHostNodeSetParams(exec, node, &host));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaStreamSynchronize(0));
    EQUAL(a, 0);
    EQUAL(b, 1);
    OK(cudaGraphHostNodeGetParams(node, &got));
    IS(got.userData == &a);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

CASE(changing_what_was_launched) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaStream_t stream = new_stream();
    int a = 0, b = 0;
    struct cudaHostNodeParams host = {on_host, &b};
    OK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t node = add_host(graph, NULL, 0, &a);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    hold(stream);
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaGraphExecHostNodeSetParams(exec, node, &host));
    let_go();
    OK(cudaStreamSynchronize(stream));
    EQUAL(a, 1);
    EQUAL(b, 0);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
}

CASE(changing_a_fill_and_a_copy) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t copy = NULL;
    unsigned *device = NULL;
    OK(cudaMalloc((void **)&device, 64));
    OK(cudaMemset(device, 0, 64));
    OK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t fill = add_fill(graph, NULL, 0, device, 1);
    OK(cudaGraphAddMemcpyNode1D(&copy, graph, &fill, 1, device + 1, device, 4,
                                cudaMemcpyDeviceToDevice));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    const struct cudaMemsetParams other = {device + 2, 0, 7, 4, 1, 1};
    OK(cudaGraphExecMemsetNodeSetParams(exec, fill, &other));
    OK(cudaGraphExecMemcpyNodeSetParams1D(exec, copy, device + 3, device + 2, 4,
                                          cudaMemcpyDeviceToDevice));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaStreamSynchronize(0));
    EQUAL(read_back(device), 0);
    EQUAL(read_back(device + 1), 0);
    EQUAL(read_back(device + 2), 7);
    EQUAL(read_back(device + 3), 7);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(device));
}

CASE(changing_the_kind_of_memory) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t copy = NULL;
    unsigned *device = NULL, *host = NULL;
    OK(cudaMalloc((void **)&device, 64));
    OK(cudaMallocHost((void **)&host, 64));
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemcpyNode1D(&copy, graph, NULL, 0, device + 1, device, 4,
                                cudaMemcpyDeviceToDevice));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    FAILS(cudaErrorInvalidValue,
          cudaGraphExecMemcpyNodeSetParams1D(exec, copy, host, device, 4, cudaMemcpyDeviceToHost));
    FAILS(cudaErrorInvalidValue, cudaGraphExecMemcpyNodeSetParams1D(exec, copy, device, device + 1,
                                                                    0, cudaMemcpyDeviceToDevice));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaFreeHost(host));
    OK(cudaFree(device));
}

CASE(mistakes_in_changing_a_node) {
    cudaGraph_t graph = NULL, other = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t empty = NULL;
    int calls = 0;
    struct cudaHostNodeParams host = {on_host, &calls}, none = {NULL, NULL};
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphCreate(&other, 0));
    cudaGraphNode_t node = add_host(graph, NULL, 0, &calls);
    cudaGraphNode_t foreign = add_host(other, NULL, 0, &calls);
    OK(cudaGraphAddEmptyNode(&empty, graph, NULL, 0));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphExecHostNodeSetParams(exec, foreign, &host));
    FAILS(cudaErrorInvalidValue, cudaGraphExecHostNodeSetParams(exec, empty, &host));
    FAILS(cudaErrorInvalidValue, cudaGraphExecHostNodeSetParams(exec, node, NULL));
    FAILS(cudaErrorInvalidValue, cudaGraphExecHostNodeSetParams(exec, node, &none));
    FAILS(cudaErrorInvalidValue, cudaGraphExecHostNodeSetParams(NULL, node, &host));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(other));
}

CASE(changing_events) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t node = NULL;
    cudaEvent_t a = new_event(), b = new_event();
    cudaStream_t stream = new_stream();
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddEventRecordNode(&node, graph, NULL, 0, a));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphExecEventRecordNodeSetEvent(exec, node, b));
    hold(stream);
    OK(cudaGraphLaunch(exec, stream));
    SAYS(cudaSuccess, cudaEventQuery(a));
    SAYS(cudaErrorNotReady, cudaEventQuery(b));
    let_go();
    OK(cudaStreamSynchronize(stream));
    FAILS(cudaErrorInvalidValue, cudaGraphExecEventWaitNodeSetEvent(exec, node, b));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaEventDestroy(a));
    OK(cudaEventDestroy(b));
    OK(cudaStreamDestroy(stream));
}

CASE(changing_a_graph_in_a_node) {
    cudaGraph_t graph = NULL, child = NULL, other = NULL, bigger = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t node = NULL, empty = NULL;
    int a = 0, b = 0;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphCreate(&child, 0));
    OK(cudaGraphCreate(&other, 0));
    OK(cudaGraphCreate(&bigger, 0));
    IS(add_host(child, NULL, 0, &a) != NULL);
    IS(add_host(other, NULL, 0, &b) != NULL);
    OK(cudaGraphAddChildGraphNode(&node, graph, NULL, 0, child));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphExecChildGraphNodeSetParams(exec, node, other));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaStreamSynchronize(0));
    EQUAL(a, 0);
    EQUAL(b, 1);
    OK(cudaGraphAddEmptyNode(&empty, bigger, NULL, 0));
    IS(add_host(bigger, NULL, 0, &a) != NULL);
    FAILS(cudaErrorGraphExecUpdateFailure,
          cudaGraphExecChildGraphNodeSetParams(exec, node, bigger));
    FAILS(cudaErrorInvalidValue, cudaGraphExecChildGraphNodeSetParams(exec, node, NULL));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(child));
    OK(cudaGraphDestroy(other));
    OK(cudaGraphDestroy(bigger));
}

CASE(switching_a_node_off) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    unsigned *device = NULL, enabled = 9;
    int calls = 0;
    OK(cudaMalloc((void **)&device, 64));
    OK(cudaMemset(device, 0, 64));
    OK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t fill = add_fill(graph, NULL, 0, device, 3);
    cudaGraphNode_t host = add_host(graph, &fill, 1, &calls);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphNodeGetEnabled(exec, fill, &enabled));
    EQUAL(enabled, 1);
    OK(cudaGraphNodeSetEnabled(exec, fill, 0));
    OK(cudaGraphNodeGetEnabled(exec, fill, &enabled));
    EQUAL(enabled, 0);
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaStreamSynchronize(0));
    EQUAL(read_back(device), 0);
    EQUAL(calls, 1);
    OK(cudaGraphNodeSetEnabled(exec, fill, 1));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaStreamSynchronize(0));
    EQUAL(read_back(device), 3);
    FAILS(cudaErrorInvalidValue, cudaGraphNodeSetEnabled(exec, host, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphNodeGetEnabled(exec, host, &enabled));
    FAILS(cudaErrorInvalidValue, cudaGraphNodeGetEnabled(exec, fill, NULL));
    FAILS(cudaErrorInvalidValue, cudaGraphNodeSetEnabled(NULL, fill, 0));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(device));
}

/* ---- changing all nodes ---- */

CASE(updating) {
    cudaGraph_t graph = NULL, other = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphExecUpdateResultInfo info = {.result = cudaGraphExecUpdateError};
    int a = 0, b = 0;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphCreate(&other, 0));
    IS(add_host(graph, NULL, 0, &a) != NULL);
    IS(add_host(other, NULL, 0, &b) != NULL);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphExecUpdate(exec, other, &info));
    EQUAL(info.result, cudaGraphExecUpdateSuccess);
    IS(info.errorNode == NULL);
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaStreamSynchronize(0));
    EQUAL(a, 0);
    EQUAL(b, 1);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(other));
}

CASE(updating_with_more_nodes) {
    cudaGraph_t graph = NULL, other = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphExecUpdateResultInfo info = {.result = cudaGraphExecUpdateSuccess};
    cudaGraphNode_t node = NULL;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphCreate(&other, 0));
    OK(cudaGraphAddEmptyNode(&node, other, NULL, 0));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    FAILS(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(exec, other, &info));
    EQUAL(info.result, FROM(12000, cudaGraphExecUpdateErrorTopologyChanged,
                            cudaGraphExecUpdateErrorNotSupported));
    IS(info.errorNode == NULL);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(other));
}

CASE(updating_with_other_edges) {
    cudaGraph_t graph = NULL, other = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphExecUpdateResultInfo info = {.result = cudaGraphExecUpdateSuccess};
    cudaGraphNode_t a = NULL, b = NULL;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphCreate(&other, 0));
    OK(cudaGraphAddEmptyNode(&a, graph, NULL, 0));
    OK(cudaGraphAddEmptyNode(&b, graph, &a, 1));
    OK(cudaGraphAddEmptyNode(&a, other, NULL, 0));
    OK(cudaGraphAddEmptyNode(&b, other, NULL, 0));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    FAILS(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(exec, other, &info));
    EQUAL(info.result, cudaGraphExecUpdateErrorTopologyChanged);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(other));
}

CASE(updating_with_another_type) {
    cudaGraph_t graph = NULL, other = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphExecUpdateResultInfo info = {.result = cudaGraphExecUpdateSuccess};
    cudaGraphNode_t node = NULL;
    int calls = 0;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphCreate(&other, 0));
    IS(add_host(graph, NULL, 0, &calls) != NULL);
    OK(cudaGraphAddEmptyNode(&node, other, NULL, 0));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    FAILS(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(exec, other, &info));
    EQUAL(info.result, cudaGraphExecUpdateErrorNodeTypeChanged);
    IS(info.errorNode == node);
    OK(cudaGraphLaunch(exec, 0)); /* it is as it was */
    OK(cudaStreamSynchronize(0));
    EQUAL(calls, 1);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(other));
}

/* Random programs of several threads showed the order, on 11.8, 12.4 and 13.0 (tests/threads/). */
CASE(updating_looks_at_the_last_node_first) {
    cudaGraph_t graph = NULL, other = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphExecUpdateResultInfo info = {.result = cudaGraphExecUpdateSuccess};
    cudaGraphNode_t first = NULL, last = NULL;
    void *device = NULL;
    int calls = 0;
    OK(cudaMalloc(&device, 64));
    struct cudaMemsetParams fill = {
        .dst = device, .pitch = 16, .elementSize = 1, .width = 8, .height = 2};
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphCreate(&other, 0));
    first = add_host(graph, NULL, 0, &calls);
    OK(cudaGraphAddMemsetNode(&last, graph, &first, 1, &fill));
    fill.width = 4;
    OK(cudaGraphAddEmptyNode(&first, other, NULL, 0));
    OK(cudaGraphAddMemsetNode(&last, other, &first, 1, &fill));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    FAILS(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(exec, other, &info));
    EQUAL(info.result, FROM(12000, cudaGraphExecUpdateErrorParametersChanged,
                            cudaGraphExecUpdateErrorNodeTypeChanged));
    IS(info.errorNode == FROM(12000, last, first));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(other));
    OK(cudaFree(device));
}

CASE(updating_with_another_kind_of_memory) {
    cudaGraph_t graph = NULL, other = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphExecUpdateResultInfo info = {.result = cudaGraphExecUpdateSuccess};
    cudaGraphNode_t node = NULL;
    unsigned *device = NULL, *host = NULL;
    OK(cudaMalloc((void **)&device, 64));
    OK(cudaMallocHost((void **)&host, 64));
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphCreate(&other, 0));
    OK(cudaGraphAddMemcpyNode1D(&node, graph, NULL, 0, device, device + 1, 4,
                                cudaMemcpyDeviceToDevice));
    OK(cudaGraphAddMemcpyNode1D(&node, other, NULL, 0, device, host, 4, cudaMemcpyHostToDevice));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    FAILS(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(exec, other, &info));
    EQUAL(info.result, cudaGraphExecUpdateErrorParametersChanged);
    IS(info.errorNode == node);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(other));
    OK(cudaFreeHost(host));
    OK(cudaFree(device));
}

CASE(updating_with_nodes_made_in_another_order) {
    cudaGraph_t graph = NULL, other = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphExecUpdateResultInfo info = {.result = cudaGraphExecUpdateError};
    cudaGraphNode_t a = NULL, b = NULL;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphCreate(&other, 0));
    OK(cudaGraphAddEmptyNode(&a, graph, NULL, 0));
    OK(cudaGraphAddEmptyNode(&b, graph, &a, 1));
    OK(cudaGraphAddEmptyNode(&b, other, NULL, 0));
    OK(cudaGraphAddEmptyNode(&a, other, NULL, 0));
    OK(cudaGraphAddDependencies(other, &a, &b, NULL, 1));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    SAYS(FROM(12000, cudaSuccess, cudaErrorGraphExecUpdateFailure),
         cudaGraphExecUpdate(exec, other, &info));
    (void)cudaGetLastError();
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(other));
}

CASE(mistakes_in_updating) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphExecUpdateResultInfo info = {.result = cudaGraphExecUpdateSuccess};
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphExecUpdate(NULL, graph, &info));
    FAILS(cudaErrorInvalidValue, cudaGraphExecUpdate(exec, NULL, &info));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

/* ---- kernels ---- */

/* Of one node that launches the function of the device's own module; NULL: there is none. */
static cudaGraph_t graph_of_kernel(int device, const char *name, CUmodule *module,
                                   CUgraphNode *node) {
    cudaGraph_t graph = NULL;
    CUDA_KERNEL_NODE_PARAMS params = {.gridDimX = 1,
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = 1,
                                      .blockDimY = 1,
                                      .blockDimZ = 1};
    register_kernels();
    return cudaSetDevice(device) || cudaFree(NULL) || cuModuleLoadData(module, module_text) ||
                   cuModuleGetFunction(&params.func, *module, name) || cudaGraphCreate(&graph, 0) ||
                   cuGraphAddKernelNode(node, (CUgraph)graph, NULL, 0, &params)
               ? NULL
               : graph;
}

static void update(cudaGraphExec_t exec, cudaGraph_t graph,
                   enum cudaGraphExecUpdateResult expected) {
    cudaGraphExecUpdateResultInfo info = {.result = cudaGraphExecUpdateError};
    SAYS(expected ? cudaErrorGraphExecUpdateFailure : cudaSuccess,
         cudaGraphExecUpdate(exec, graph, &info));
    EQUAL(info.result, expected);
    EQUAL(info.errorNode != NULL, expected != cudaGraphExecUpdateSuccess);
}

CASE(updating_with_another_function) {
    CUmodule modules[2];
    CUgraphNode nodes[2];
    cudaGraphExec_t exec = NULL;
    cudaGraph_t graph = graph_of_kernel(0, "nothing", &modules[0], &nodes[0]);
    cudaGraph_t other = graph_of_kernel(0, "at_most_64", &modules[1], &nodes[1]);
    IS(graph && other);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    update(exec, other, cudaGraphExecUpdateSuccess);
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaStreamSynchronize(0));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(other));
    OK(cuModuleUnload(modules[0]));
    OK(cuModuleUnload(modules[1]));
}

CASE(updating_with_a_cooperative_launch) {
    CUmodule modules[2] = {NULL, NULL};
    CUgraphNode nodes[2] = {NULL, NULL};
    CUlaunchAttributeValue value = {.cooperative = 1};
    cudaGraphExec_t exec = NULL;
    cudaGraph_t graph = graph_of_kernel(0, "nothing", &modules[0], &nodes[0]);
    cudaGraph_t other = graph_of_kernel(0, "nothing", &modules[1], &nodes[1]);
    IS(graph && other);
    OK(cuGraphKernelNodeSetAttribute(nodes[1], CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    update(exec, other, cudaGraphExecUpdateErrorAttributesChanged);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(other));
    OK(cuModuleUnload(modules[0]));
    OK(cuModuleUnload(modules[1]));
}

CASE(updating_with_the_function_of_another_device) {
    NEEDS_DEVICES(2);
    CUmodule modules[2] = {NULL, NULL};
    CUgraphNode nodes[2] = {NULL, NULL};
    cudaGraphExec_t exec = NULL;
    cudaGraph_t other = graph_of_kernel(1, "nothing", &modules[1], &nodes[1]);
    cudaGraph_t graph = graph_of_kernel(0, "nothing", &modules[0], &nodes[0]);
    IS(graph && other);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    update(exec, other, cudaGraphExecUpdateErrorUnsupportedFunctionChange);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(other));
    OK(cuModuleUnload(modules[0]));
    OK(cudaSetDevice(1));
    OK(cudaFree(NULL));
    OK(cuModuleUnload(modules[1]));
}

/* ---- copies of boxes
 * -----------------------------------------------------------------------------
 */

/* NOLINTNEXTLINE(readability-non-const-parameter): it is written to, later */
static struct cudaMemcpy3DParms row(const unsigned *from, unsigned *to, size_t numbers) {
    struct cudaMemcpy3DParms p = {.kind = cudaMemcpyDefault};
    p.srcPtr = (struct cudaPitchedPtr){(void *)(uintptr_t)from, 64, 64, 1};
    p.dstPtr = (struct cudaPitchedPtr){to, 64, 64, 1};
    p.extent = (struct cudaExtent){numbers * sizeof *from, 1, 1};
    return p;
}

CASE(changing_a_copy_of_a_box) {
    unsigned *memory = NULL, out[16] = {0};
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t node = NULL, empty = NULL;
    struct cudaMemcpy3DParms p, got;
    OK(cudaMalloc((void **)&memory, 256));
    OK(cudaMemset(memory, 1, 64));
    OK(cudaMemset(memory + 16, 2, 64));
    OK(cudaMemset(memory + 32, 0, 64));
    OK(cudaGraphCreate(&graph, 0));
    p = row(memory, memory + 32, 2);
    OK(cudaGraphAddMemcpyNode(&node, graph, NULL, 0, &p));
    OK(cudaGraphAddEmptyNode(&empty, graph, NULL, 0));
    p = row(memory, memory + 32, 3);
    OK(cudaGraphMemcpyNodeSetParams(node, &p));
    OK(cudaGraphMemcpyNodeGetParams(node, &got));
    EQUAL(got.extent.width, 12);
    FAILS(cudaErrorInvalidValue, cudaGraphMemcpyNodeSetParams(node, NULL));
    FAILS(cudaErrorInvalidValue, cudaGraphMemcpyNodeSetParams(NULL, &p));
    SAYS(cudaErrorInvalidValue, cudaGraphMemcpyNodeSetParams(empty, &p));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    p = row(memory + 16, memory + 33, 2);
    OK(cudaGraphExecMemcpyNodeSetParams(exec, node, &p));
    OK(cudaGraphMemcpyNodeGetParams(node, &got)); /* the node is as it was */
    EQUAL(got.extent.width, 12);
    FAILS(cudaErrorInvalidValue, cudaGraphExecMemcpyNodeSetParams(exec, node, NULL));
    FAILS(cudaErrorInvalidValue, cudaGraphExecMemcpyNodeSetParams(NULL, node, &p));
    SAYS(cudaErrorInvalidValue, cudaGraphExecMemcpyNodeSetParams(exec, empty, &p));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaMemcpy(out, memory + 32, 64, cudaMemcpyDeviceToHost));
    EQUAL(out[0], 0);
    EQUAL(out[1], 0x02020202);
    EQUAL(out[2], 0x02020202);
    EQUAL(out[3], 0);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(memory));
}

CASE(updating_nothing) {
    cudaGraphExecUpdateResultInfo info = {.result = (enum cudaGraphExecUpdateResult)77};
    SAYS(cudaErrorInvalidValue, cudaGraphExecUpdate(NULL, NULL, &info));
    EQUAL(info.result, FROM(12000, 77, cudaGraphExecUpdateError));
    (void)cudaGetLastError();
}
