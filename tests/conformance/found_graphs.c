/*
 * What random programs found about graphs (tests/fuzz/): an H200 with driver 13.0 was asked on
 * 13.0, 12.4 and 11.8.
 */
#include "graphs.h"
#include "kernels.h"

/* ---- making ---- */

static cudaError_t make_two(cudaGraph_t *graph, cudaGraph_t *other) {
    const cudaError_t result = cudaGraphCreate(graph, 0);
    return result ? result : cudaGraphCreate(other, 0);
}

/* Makes a graph of an empty node, and an instance of it. */
static cudaError_t make_instance(cudaGraph_t *graph, cudaGraphNode_t *node, cudaGraphExec_t *exec) {
    cudaError_t result = cudaGraphCreate(graph, 0);
    result = result ? result : cudaGraphAddEmptyNode(node, *graph, NULL, 0);
    return result ? result : cudaGraphInstantiate(exec, *graph, 0);
}

/* Adds a node, and two that depend on it. */
static cudaError_t add_branches(cudaGraph_t graph, cudaGraphNode_t *first) {
    cudaGraphNode_t node = NULL;
    cudaError_t result = cudaGraphAddEmptyNode(first, graph, NULL, 0);
    for (int i = 0; i < 2 && !result; i++)
        result = cudaGraphAddEmptyNode(&node, graph, first, 1);
    return result;
}

/* Each may be NULL. */
static cudaError_t drop(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraph_t other) {
    cudaError_t result = exec ? cudaGraphExecDestroy(exec) : cudaSuccess;
    if (!result && graph)
        result = cudaGraphDestroy(graph);
    return !result && other ? cudaGraphDestroy(other) : result;
}

/* ---- updates ---- */

/* Nodes are paired by ids in 11.7 and 11.8, and a node that fails to be made, because one of its
 * dependencies stands there twice, has an id. */
CASE(updating_after_a_node_failed) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t nodes[2] = {NULL, NULL}, none = NULL;
    cudaGraphExecUpdateResultInfo info = {.result = cudaGraphExecUpdateError};
    OK(make_instance(&graph, &nodes[0], &exec));
    nodes[1] = nodes[0];
    OK(cudaGraphExecUpdate(exec, graph, &info));
    FAILS(cudaErrorInvalidValue, cudaGraphAddEmptyNode(&none, graph, nodes, 2));
    SAYS(FROM(12000, cudaSuccess, cudaErrorGraphExecUpdateFailure),
         cudaGraphExecUpdate(exec, graph, &info));
    EQUAL(info.result,
          FROM(12000, cudaGraphExecUpdateSuccess, cudaGraphExecUpdateErrorNotSupported));
    (void)cudaGetLastError();
    OK(drop(exec, graph, NULL));
}

/* The last pair is looked at first: its types differ, while the edges of the first pair do. */
CASE(updating_with_types_and_edges_that_differ) {
    cudaGraph_t graph = NULL, other = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t first = NULL, node = NULL, last = NULL;
    cudaGraphExecUpdateResultInfo info = {.result = cudaGraphExecUpdateSuccess};
    int calls = 0;
    OK(make_two(&graph, &other));
    OK(add_branches(graph, &first));
    OK(cudaGraphAddEmptyNode(&first, other, NULL, 0));
    OK(cudaGraphAddEmptyNode(&node, other, NULL, 0));
    IS((last = add_host(other, &node, 1, &calls)) != NULL);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    FAILS(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(exec, other, &info));
    EQUAL(info.result, FROM(12000, cudaGraphExecUpdateErrorNodeTypeChanged,
                            cudaGraphExecUpdateErrorTopologyChanged));
    IS(info.errorNode == FROM(12000, last, first));
    OK(drop(exec, graph, other));
}

/* The nodes that no other depends on are paired in the order in which they came to be that: here a
 * node that failed to be made made the first one the last. */
CASE(updating_after_a_node_was_last_again) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL, second = NULL;
    cudaGraphNode_t nodes[2] = {NULL, NULL}, other = NULL, none = NULL;
    cudaGraphExecUpdateResultInfo info = {.result = cudaGraphExecUpdateError};
    int calls = 0;
    OK(cudaGraphCreate(&graph, 0));
    IS((nodes[0] = add_host(graph, NULL, 0, &calls)) != NULL);
    OK(cudaGraphAddEmptyNode(&other, graph, NULL, 0));
    nodes[1] = nodes[0];
    OK(cudaGraphInstantiate(&exec, graph, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphAddEmptyNode(&none, graph, nodes, 2));
    OK(cudaGraphInstantiate(&second, graph, 0));
    FAILS(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(exec, graph, &info));
    EQUAL(info.result, FROM(12000, cudaGraphExecUpdateErrorNodeTypeChanged,
                            cudaGraphExecUpdateErrorNotSupported));
    OK(cudaGraphExecUpdate(second, graph, &info)); /* instances have the order of their graph */
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphExecDestroy(second));
    OK(cudaGraphDestroy(graph));
}

/* A fill of a device's memory may become one of the host's. */
CASE(filling_memory_elsewhere) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t node = NULL;
    struct cudaMemsetParams params = {.elementSize = 1, .width = 16, .height = 1};
    unsigned char *device = NULL, *host = NULL;
    OK(cudaMalloc((void **)&device, 64));
    OK(cudaMallocHost((void **)&host, 64));
    host[15] = 9;
    params.dst = device;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemsetNode(&node, graph, NULL, 0, &params));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    params.dst = host;
    params.value = 5;
    OK(cudaGraphExecMemsetNodeSetParams(exec, node, &params));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaStreamSynchronize(0));
    EQUAL(host[15], 5);
    OK(drop(exec, graph, NULL));
    OK(cudaFree(device));
    OK(cudaFreeHost(host));
}

/* The order in which edges were made does not count. */
CASE(updating_with_edges_made_in_another_order) {
    cudaGraph_t graph = NULL, other = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t a = NULL, b = NULL, c = NULL;
    cudaGraphExecUpdateResultInfo info = {.result = cudaGraphExecUpdateError};
    OK(make_two(&graph, &other));
    OK(add_branches(graph, &a));
    OK(cudaGraphAddEmptyNode(&a, other, NULL, 0));
    OK(cudaGraphAddEmptyNode(&b, other, NULL, 0));
    OK(cudaGraphAddEmptyNode(&c, other, &a, 1));
    OK(cudaGraphAddDependencies(other, &a, &b, NULL, 1));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphExecUpdate(exec, other, &info));
    OK(drop(exec, graph, other));
}

/* A child graph's nodes are paired by ids, in which a node counts that was destroyed. */
CASE(changing_a_child_graph_by_one_that_lost_a_node) {
    cudaGraph_t graph = NULL, child = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t node = NULL, lost = NULL;
    OK(make_two(&graph, &child));
    OK(cudaGraphAddChildGraphNode(&node, graph, NULL, 0, child));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphExecChildGraphNodeSetParams(exec, node, child));
    OK(cudaGraphAddEmptyNode(&lost, child, NULL, 0));
    OK(cudaGraphDestroyNode(lost));
    FAILS(cudaErrorGraphExecUpdateFailure, cudaGraphExecChildGraphNodeSetParams(exec, node, child));
    OK(drop(exec, graph, child));
}

/* Adds a node that allocates, and one that frees the memory; returns the latter, NULL on error. */
static cudaGraphNode_t add_memory(cudaGraph_t graph) {
    struct cudaMemAllocNodeParams params = {
        .poolProps = {.allocType = cudaMemAllocationTypePinned,
                      .location = {cudaMemLocationTypeDevice, {0}}},
        .bytesize = 4096};
    cudaGraphNode_t made = NULL, freed = NULL;
    return cudaGraphAddMemAllocNode(&made, graph, NULL, 0, &params) ||
                   cudaGraphAddMemFreeNode(&freed, graph, &made, 1, params.dptr)
               ? NULL
               : freed;
}

CASE(nodes_of_memory_are_not_changed) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t node = NULL;
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeMemFree};
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    IS((node = add_memory(graph)) != NULL);
    FAILS(cudaErrorNotSupported, cudaGraphExecNodeSetParams(exec, node, &params));
    OK(drop(exec, graph, NULL));
}

/* Beside nodes of memory a child graph cannot be replaced, although the graph itself has none. */
CASE(replacing_a_child_graph) {
    cudaGraph_t graph = NULL, child = NULL;
    cudaGraphNode_t node = NULL;
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeGraph};
    OK(make_two(&graph, &child));
    OK(cudaGraphAddChildGraphNode(&node, graph, NULL, 0, child));
    params.graph.graph = child;
    OK(cudaGraphNodeSetParams(node, &params));
    IS(add_memory(graph) != NULL);
    FAILS(cudaErrorNotSupported, cudaGraphNodeSetParams(node, &params));
    OK(drop(NULL, graph, child));
}

/* ---- attributes of kernel nodes ---- */

static cudaError_t set_value(cudaGraphNode_t node, int id, int value) {
    cudaLaunchAttributeValue all;
    memset(&all, 0, sizeof all);
    memcpy(&all, &value, sizeof value);
    return cudaGraphKernelNodeSetAttribute(node, (cudaLaunchAttributeID)id, &all);
}

/* Adds a kernel node of the module. */
static CUresult add_nothing(cudaGraph_t graph, CUfunction function, cudaGraphNode_t *node) {
    CUDA_KERNEL_NODE_PARAMS params = {.func = function,
                                      .gridDimX = 1,
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = 1,
                                      .blockDimY = 1,
                                      .blockDimZ = 1};
    return cuGraphAddKernelNode((CUgraphNode *)node, (CUgraph)graph, NULL, 0, &params);
}

/*
 * What CUDA documents for nodes that the device can update, with the codes of an H200 (12.4, 13.0).
 *
 * The graph is not made a child here. CUDA takes it as one, and then crashes when it is destroyed
 * after the parent (12.4, 13.0); where the parent was destroyed before a launch, that launch ended
 * with 719 on an H100.
 */
CASE(nodes_that_the_device_can_update) {
    CUmodule module = NULL;
    CUfunction function = NULL;
    cudaGraph_t graph = NULL, clone = NULL, empty = NULL;
    cudaGraphNode_t node = NULL, other = NULL;
    cudaGraphExec_t exec = NULL, second = NULL;
    cudaLaunchAttributeValue value;
    cudaGraphExecUpdateResultInfo info;
    NEEDS(ACU_FEATURE_GRAPH_DEVICE_UPDATABLE_NODES);
    register_kernels();
    OK(cudaFree(NULL));
    OK(cuModuleLoadData(&module, module_text));
    OK(cuModuleGetFunction(&function, module, "nothing"));
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphCreate(&empty, 0));
    OK(add_nothing(graph, function, &node));
    OK(add_nothing(graph, function, &other));
    memset(&value, 0, sizeof value);
    value.deviceUpdatableKernelNode.deviceUpdatable = 1;
    OK(cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributeDeviceUpdatableKernelNode, &value));
    cudaGraphDeviceNode_t handle = value.deviceUpdatableKernelNode.devNode;
    IS(handle != NULL);
    memset(&value, 0, sizeof value);
    OK(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributeDeviceUpdatableKernelNode, &value));
    EQUAL(value.deviceUpdatableKernelNode.deviceUpdatable, 1);
    IS(value.deviceUpdatableKernelNode.devNode != NULL);
    IS(value.deviceUpdatableKernelNode.devNode == handle);
    SAYS(cudaErrorInvalidValue, cudaGraphKernelNodeSetAttribute(
                                    node, cudaLaunchAttributeDeviceUpdatableKernelNode, &value));
    value.deviceUpdatableKernelNode.devNode = NULL;
    OK(cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributeDeviceUpdatableKernelNode, &value));
    IS(value.deviceUpdatableKernelNode.devNode == handle);
    SAYS(cudaErrorNotSupported, cudaGraphKernelNodeCopyAttributes(other, node));
    SAYS(cudaErrorNotSupported, cudaGraphKernelNodeCopyAttributes(node, other));
    SAYS(cudaErrorNotSupported, cudaGraphDestroyNode(node));
    SAYS(cudaErrorNotSupported, cudaGraphClone(&clone, graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    SAYS(cudaErrorNotSupported, cudaGraphInstantiate(&second, graph, 0));
    SAYS(cudaErrorNotSupported, cudaGraphExecUpdate(exec, graph, &info));
    EQUAL(info.result, cudaGraphExecUpdateSuccess);
    SAYS(cudaErrorNotSupported, cudaGraphExecUpdate(exec, empty, &info));
    EQUAL(info.result, cudaGraphExecUpdateSuccess);
    OK(cudaGraphUpload(exec, NULL));
    OK(cudaGraphLaunch(exec, NULL));
    OK(cudaStreamSynchronize(NULL));
    (void)cudaGetLastError();
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(empty));
    OK(cudaGraphDestroy(graph));
    OK(cuModuleUnload(module));
}

/* What is in a child graph node has no executable graph of its own; a clone has. */
CASE(child_graphs_are_not_instantiated) {
    cudaGraph_t inner = NULL, outer = NULL, child = NULL, clone = NULL;
    cudaGraphNode_t node = NULL, empty = NULL;
    cudaGraphExec_t exec = NULL;
    OK(cudaGraphCreate(&inner, 0));
    OK(cudaGraphAddEmptyNode(&empty, inner, NULL, 0));
    OK(cudaGraphCreate(&outer, 0));
    OK(cudaGraphAddChildGraphNode(&node, outer, NULL, 0, inner));
    OK(cudaGraphChildGraphNodeGetGraph(node, &child));
    SAYS(cudaErrorNotSupported, cudaGraphInstantiateWithFlags(&exec, child, 0));
    OK(cudaGraphClone(&clone, child));
    OK(cudaGraphInstantiateWithFlags(&exec, clone, 0));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(clone));
    OK(cudaGraphDestroy(outer));
    OK(cudaGraphDestroy(inner));
}

/* CUDA looks at the values of some attributes only. */
CASE(values_of_attributes_of_nodes) {
    CUmodule module = NULL;
    cudaGraph_t graph = NULL;
    CUgraphNode made = NULL;
    CUDA_KERNEL_NODE_PARAMS params = {.gridDimX = 1,
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = 1,
                                      .blockDimY = 1,
                                      .blockDimZ = 1};
    NEEDS(ACU_FEATURE_LAUNCH_ATTRIBUTES);
    register_kernels();
    OK(cudaFree(NULL));
    OK(cuModuleLoadData(&module, module_text));
    OK(cuModuleGetFunction(&params.func, module, "nothing"));
    OK(cudaGraphCreate(&graph, 0));
    OK(cuGraphAddKernelNode(&made, (CUgraph)graph, NULL, 0, &params));
    const cudaGraphNode_t node = (cudaGraphNode_t)made;
    OK(set_value(node, cudaLaunchAttributeClusterSchedulingPolicyPreference, -1));
    OK(set_value(node, cudaLaunchAttributeClusterSchedulingPolicyPreference, 4));
    if (runtime() >= 12040) {
        OK(set_value(node, cudaLaunchAttributeMemSyncDomainMap, 3));
        FAILS(cudaErrorInvalidValue, set_value(node, cudaLaunchAttributeMemSyncDomainMap, 4));
        FAILS(cudaErrorInvalidValue,
              set_value(node, cudaLaunchAttributeDeviceUpdatableKernelNode, 2));
        OK(set_value(node, cudaLaunchAttributeDeviceUpdatableKernelNode, 1));
        FAILS(cudaErrorNotSupported,
              set_value(node, cudaLaunchAttributeDeviceUpdatableKernelNode, 0));
    }
    if (runtime() >= 13000) {
        FAILS(cudaErrorInvalidValue,
              set_value(node, cudaLaunchAttributePreferredClusterDimension, 1));
        FAILS(cudaErrorInvalidValue,
              set_value(node, cudaLaunchAttributeNvlinkUtilCentricScheduling, 2));
    }
    OK(cudaGraphDestroy(graph));
    OK(cuModuleUnload(module));
}

/* ---- copies of graphs ---- */

static cudaError_t add_condition(cudaGraph_t graph) {
    cudaGraphNode_t node = NULL;
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeConditional,
                                         .conditional = {.type = cudaGraphCondTypeIf, .size = 1}};
    const cudaError_t result =
        cudaGraphConditionalHandleCreate(&params.conditional.handle, graph, 0, 1);
    return result ? result : cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params);
}

/* A clone that was made before the condition forbids the graph's instances, but not its own. */
CASE(conditions_of_a_graph_and_of_its_clone) {
    cudaGraph_t graph = NULL, clone = NULL;
    cudaGraphExec_t exec = NULL, second = NULL;
    NEEDS(ACU_FEATURE_GRAPH_CONDITIONAL_NODES);
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphClone(&clone, graph));
    OK(add_condition(graph));
    OK(add_condition(clone));
    FAILS(cudaErrorNotSupported, cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphInstantiate(&second, clone, 0));
    OK(cudaGraphDestroy(clone));
    OK(cudaGraphInstantiate(&exec, graph, 0)); /* an instance of the clone does not count */
    OK(cudaGraphExecDestroy(second));
    OK(drop(exec, graph, NULL));
}

CASE(conditions_of_a_graph_that_is_a_child) {
    cudaGraph_t graph = NULL, parent = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t node = NULL;
    NEEDS(ACU_FEATURE_GRAPH_CONDITIONAL_NODES);
    OK(make_two(&graph, &parent));
    OK(cudaGraphAddChildGraphNode(&node, parent, NULL, 0, graph));
    OK(add_condition(graph));
    FAILS(cudaErrorNotSupported, cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphDestroy(parent));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(drop(exec, graph, NULL));
}

CASE(memory_of_a_graph_and_of_its_clone) {
    cudaGraph_t graph = NULL, clone = NULL;
    cudaGraphExec_t exec = NULL, second = NULL;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphClone(&clone, graph));
    IS(add_memory(graph) != NULL);
    IS(add_memory(clone) != NULL);
    OK(cudaGraphInstantiate(&exec, clone, 0));
    OK(cudaGraphInstantiate(&second, graph, 0));
    OK(cudaGraphExecDestroy(exec));
    FAILS(cudaErrorNotSupported, cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphExecDestroy(second));
    OK(drop(NULL, clone, graph));
}

/* An update makes an instance the one that has the memory of the other graph. */
CASE(memory_of_a_graph_that_updated_an_instance) {
    cudaGraph_t graph = NULL, clone = NULL;
    cudaGraphExec_t exec = NULL, second = NULL;
    cudaGraphNode_t none = NULL;
    cudaGraphExecUpdateResultInfo info = {.result = cudaGraphExecUpdateError};
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphClone(&clone, graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphAddMemFreeNode(&none, clone, NULL, 0, NULL));
    SAYS(FROM(12000, cudaSuccess, cudaErrorGraphExecUpdateFailure),
         cudaGraphExecUpdate(exec, clone, &info));
    SAYS(FROM(12000, cudaErrorNotSupported, cudaSuccess), cudaGraphInstantiate(&second, clone, 0));
    (void)cudaGetLastError();
    OK(cudaGraphExecDestroy(exec));
    if (second)
        OK(cudaGraphExecDestroy(second));
    OK(drop(NULL, clone, graph));
}

/* ---- captures ---- */

/* CUDA_ERROR_CAPTURED_EVENT is reported before an event that keeps no times. */
CASE(a_captured_event_without_times) {
    cudaStream_t stream = new_stream();
    cudaEvent_t event = new_event();
    float ms = 7;
    FAILS(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, event, event));
    YES(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    YES(cudaEventRecord(event, stream));
    SAYS(cudaErrorCapturedEvent, cudaEventElapsedTime(&ms, event, event));
    (void)end_capture(stream);
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(stream));
}

CASE(what_captures_make_of_small_calls) {
    cudaStream_t stream = new_stream();
    cudaGraph_t graph = NULL;
    cudaGraphNode_t nodes[2] = {NULL, NULL};
    size_t count = 2;
    struct cudaMemsetParams fill = {.pitch = 7};
    CUdeviceptr managed = 7;
    CUstreamBatchMemOpParams none;
    char *memory = NULL;
    void *none_at_all = stream;
    OK(cudaMalloc((void **)&memory, 64));
    YES(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    YES(cuStreamBatchMemOp((CUstream)stream, 0, &none, 0)); /* an empty batch is a node */
    YES(cudaMemsetAsync(memory, 3, 64, stream));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemAllocManaged(&managed, 0, CU_MEM_ATTACH_HOST));
    YES(cudaMallocAsync(&none_at_all, 0, stream)); /* not a node */
    IS(none_at_all == NULL);
    OK(cudaStreamEndCapture(stream, &graph));
    EQUAL(count_nodes(graph), 2);
    OK(cudaGraphGetNodes(graph, nodes, &count));
    OK(cudaGraphMemsetNodeGetParams(nodes[1], &fill));
    EQUAL(fill.width, 64);
    EQUAL(fill.pitch, 0);
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(memory));
}

/* A refused free in a capture has made a node: its id is used, and the graph is one with memory. */
CASE(a_refused_free_in_a_capture) {
    static int pageable;
    cudaStream_t stream = new_stream();
    cudaGraph_t graph = NULL, captured = NULL;
    cudaGraphNode_t node = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphExecUpdateResultInfo info = {.result = cudaGraphExecUpdateError};
    OK(make_instance(&graph, &node, &exec));
    YES(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    SAYS(cudaErrorInvalidValue, cudaFreeAsync(&pageable, stream));
    (void)cudaGetLastError();
    OK(cudaStreamEndCapture(stream, &captured));
    EQUAL(count_nodes(captured), 0);
    FAILS(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(exec, captured, &info));
    EQUAL(info.result, cudaGraphExecUpdateErrorTopologyChanged);
    FAILS(cudaErrorNotSupported, cudaGraphAddChildGraphNode(&node, graph, NULL, 0, captured));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(captured));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
}

/* To wait, as one outside, for an event of a capture that has ended makes the capture invalid. */
CASE(an_event_of_an_ended_capture) {
    cudaStream_t stream = new_stream();
    cudaEvent_t event = new_event();
    cudaGraph_t graph = NULL;
    YES(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    YES(cudaEventRecord(event, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    YES(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    SAYS(cudaErrorInvalidValue, cudaStreamWaitEvent(stream, event, cudaEventWaitExternal));
    EQUAL(status_of(stream), cudaStreamCaptureStatusInvalidated);
    (void)end_capture(stream);
    OK(cudaGraphDestroy(graph));
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(stream));
}

/* The flag stays where the context has it, although the call cannot wait in a capture. */
LONE_CASE(flags_that_are_set_again_in_a_capture) {
    cudaStream_t stream = NULL;
    unsigned flags = 7;
    if (runtime() < 12010) {
        skip("older runtimes refuse the flag");
        return;
    }
    OK(cudaFree(NULL));
    OK(cudaSetDeviceFlags(cudaDeviceSyncMemops));
    IS((stream = new_stream()) != NULL);
    YES(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    YES(cudaSetDeviceFlags(cudaDeviceSyncMemops));
    YES(cudaGetDeviceFlags(&flags));
    EQUAL(flags, cudaDeviceSyncMemops | cudaDeviceMapHost);
    (void)end_capture(stream);
    OK(cudaStreamDestroy(stream));
}

/* A node's value may be larger than its element: it is repeated by OR, without being cut off. */
CASE(a_fill_with_a_value_larger_than_its_element) {
    static const unsigned char bytes[] = {0x5e, 0x5f, 0x5f, 0x5f, 0x5e, 0x5f, 0x5f};
    struct cudaMemsetParams fill = {.elementSize = 1, .width = 7, .height = 1, .value = 0x35e};
    unsigned char back[8] = {0};
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t node = NULL;
    OK(cudaMalloc(&fill.dst, 8));
    OK(cudaMemset(fill.dst, 0x35e, 8)); /* calls cut the value off */
    OK(cudaMemcpy(back, fill.dst, 8, cudaMemcpyDeviceToHost));
    EQUAL(back[7], 0x5e);
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemsetNode(&node, graph, NULL, 0, &fill));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, NULL));
    OK(cudaMemcpy(back, fill.dst, 8, cudaMemcpyDeviceToHost));
    IS(memcmp(back, bytes, sizeof bytes) == 0);
    EQUAL(back[7], 0x5e);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(fill.dst));
}
