/* What is instantiated from graphs, and launching it. Changing it: exec_update.c. */
#include "graphs.h"

/* ---- instantiating ---- */

CASE(an_instance_of_nothing) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    IS(exec != NULL);
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaStreamSynchronize(0));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

CASE(mistakes_in_instantiating) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    OK(cudaGraphCreate(&graph, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphInstantiate(NULL, graph, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphInstantiate(&exec, NULL, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphInstantiateWithFlags(&exec, graph, 0x1000));
    FAILS(cudaErrorInvalidValue, cudaGraphExecDestroy(NULL));
    FAILS(cudaErrorInvalidValue, cudaGraphLaunch(NULL, 0));
    OK(cudaGraphDestroy(graph));
}

CASE(flags_of_an_instance) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    unsigned long long flags = 99;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphInstantiateWithFlags(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    OK(cudaGraphExecGetFlags(exec, &flags));
    EQUAL(flags, cudaGraphInstantiateFlagAutoFreeOnLaunch);
    FAILS(cudaErrorInvalidValue, cudaGraphExecGetFlags(exec, NULL));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphInstantiateWithFlags(&exec, graph, cudaGraphInstantiateFlagUseNodePriority));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

CASE(instantiating_with_parameters) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaStream_t stream = new_stream();
    unsigned long long flags = 99;
    cudaGraphInstantiateParams params = {.flags = cudaGraphInstantiateFlagUpload,
                                         .uploadStream = stream,
                                         .result_out = cudaGraphInstantiateError};
    int calls = 0;
    OK(cudaGraphCreate(&graph, 0));
    IS(add_host(graph, NULL, 0, &calls) != NULL);
    OK(cudaGraphInstantiateWithParams(&exec, graph, &params));
    EQUAL(params.result_out, cudaGraphInstantiateSuccess);
    IS(params.errNode_out == NULL);
    OK(cudaGraphExecGetFlags(exec, &flags));
    EQUAL(flags, 0);
    OK(cudaStreamSynchronize(stream));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
}

CASE(a_circle_cannot_be_instantiated) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t a = NULL, b = NULL;
    cudaGraphInstantiateParams params = {.flags = 0};
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddEmptyNode(&a, graph, NULL, 0));
    OK(cudaGraphAddEmptyNode(&b, graph, &a, 1));
    OK(cudaGraphAddDependencies(graph, &b, &a, NULL, 1));
    FAILS(cudaErrorInvalidValue, cudaGraphInstantiateWithParams(&exec, graph, &params));
    EQUAL(params.result_out, cudaGraphInstantiateInvalidStructure);
    IS(params.errNode_out == a || params.errNode_out == b);
    OK(cudaGraphDestroy(graph));
}

CASE(flags_that_exclude_each_other) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphInstantiateParams params = {.flags = cudaGraphInstantiateFlagDeviceLaunch |
                                                  cudaGraphInstantiateFlagAutoFreeOnLaunch};
    OK(cudaGraphCreate(&graph, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphInstantiateWithParams(&exec, graph, &params));
    EQUAL(params.result_out, cudaGraphInstantiateError);
    OK(cudaGraphDestroy(graph));
}

CASE(what_devices_cannot_launch) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphInstantiateParams params = {.flags = cudaGraphInstantiateFlagDeviceLaunch};
    int calls = 0;
    OK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t node = add_host(graph, NULL, 0, &calls);
    SAYS(cudaErrorInvalidValue, cudaGraphInstantiateWithParams(&exec, graph, &params));
    EQUAL(params.result_out, cudaGraphInstantiateNodeOperationNotSupported);
    IS(params.errNode_out == node);
    (void)cudaGetLastError();
    OK(cudaGraphDestroy(graph));
}

/* CUDA documents which copies it refuses; an H100 answered. */
CASE(copies_that_devices_cannot_launch) {
    static unsigned pageable[4];
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t node = NULL;
    cudaGraphInstantiateParams params = {.flags = cudaGraphInstantiateFlagDeviceLaunch};
    unsigned *pinned = NULL, *memory = NULL;
    OK(cudaMalloc((void **)&memory, sizeof pageable));
    OK(cudaMallocHost((void **)&pinned, sizeof pageable));
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemcpyNode1D(&node, graph, NULL, 0, memory, pinned, sizeof pageable,
                                cudaMemcpyHostToDevice));
    OK(cudaGraphInstantiateWithParams(&exec, graph, &params));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphAddMemcpyNode1D(&node, graph, NULL, 0, memory, pageable, sizeof pageable,
                                cudaMemcpyHostToDevice));
    exec = NULL;
    SAYS(cudaErrorInvalidValue, cudaGraphInstantiateWithParams(&exec, graph, &params));
    EQUAL(params.result_out, cudaGraphInstantiateMultipleDevicesNotSupported);
    IS(params.errNode_out == node);
    (void)cudaGetLastError();
    OK(cudaGraphDestroy(graph));
    OK(cudaFreeHost(pinned));
    OK(cudaFree(memory));
}

CASE(a_graph_can_go_before_its_instance) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    int calls = 0;
    OK(cudaGraphCreate(&graph, 0));
    IS(add_host(graph, NULL, 0, &calls) != NULL);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaStreamSynchronize(0));
    EQUAL(calls, 1);
    OK(cudaGraphExecDestroy(exec));
}

CASE(later_nodes_are_not_the_instance_s) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    int calls = 0;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    IS(add_host(graph, NULL, 0, &calls) != NULL);
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaStreamSynchronize(0));
    EQUAL(calls, 0);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

/* ---- launching ---- */

CASE(launching_twice) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaStream_t a = new_stream(), b = new_stream();
    int calls = 0;
    OK(cudaGraphCreate(&graph, 0));
    IS(add_host(graph, NULL, 0, &calls) != NULL);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, a));
    OK(cudaGraphLaunch(exec, b));
    OK(cudaGraphLaunch(exec, a));
    OK(cudaStreamSynchronize(a));
    OK(cudaStreamSynchronize(b));
    EQUAL(calls, 3);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
}

CASE(a_launch_is_in_the_order_of_its_stream) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaStream_t stream = new_stream();
    unsigned *device = NULL;
    OK(cudaMalloc((void **)&device, 64));
    OK(cudaGraphCreate(&graph, 0));
    IS(add_fill(graph, NULL, 0, device, 5) != NULL);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    hold(stream);
    OK(cudaMemsetAsync(device, 1, 4, stream));
    OK(cudaGraphLaunch(exec, stream));
    SAYS(cudaErrorNotReady, cudaStreamQuery(stream));
    let_go();
    OK(cudaStreamSynchronize(stream));
    EQUAL(read_back(device), 5);
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaMemsetAsync(device, 0, 4, stream));
    OK(cudaStreamSynchronize(stream));
    EQUAL(read_back(device), 0);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(device));
    OK(cudaStreamDestroy(stream));
}

CASE(launches_on_streams_that_are_gone) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphUpload(exec, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphUpload(NULL, 0));
    OK(cudaStreamSynchronize(0));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

CASE(destroying_what_runs) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaStream_t stream = new_stream();
    int calls = 0;
    OK(cudaGraphCreate(&graph, 0));
    IS(add_host(graph, NULL, 0, &calls) != NULL);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    hold(stream);
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    let_go();
    OK(cudaStreamSynchronize(stream));
    EQUAL(calls, 1);
    OK(cudaStreamDestroy(stream));
}

CASE(graphs_in_graphs) {
    cudaGraph_t graph = NULL, child = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t first = NULL, node = NULL;
    unsigned *device = NULL;
    OK(cudaMalloc((void **)&device, 64));
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphCreate(&child, 0));
    first = add_fill(graph, NULL, 0, device, 1);
    IS(add_fill(child, NULL, 0, device, 2) != NULL);
    OK(cudaGraphAddChildGraphNode(&node, graph, &first, 1, child));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaStreamSynchronize(0));
    EQUAL(read_back(device), 2);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(child));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(device));
}

CASE(events_recorded_by_graphs) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t node = NULL;
    cudaEvent_t event = new_event();
    cudaStream_t stream = new_stream();
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddEventRecordNode(&node, graph, NULL, 0, event));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    SAYS(cudaSuccess, cudaEventQuery(event));
    hold(stream);
    OK(cudaGraphLaunch(exec, stream));
    SAYS(cudaErrorNotReady, cudaEventQuery(event));
    let_go();
    OK(cudaEventSynchronize(event));
    SAYS(cudaSuccess, cudaEventQuery(event));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(stream));
}

CASE(events_waited_for_by_graphs) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t node = NULL;
    cudaEvent_t event = new_event();
    cudaStream_t stream = new_stream(), other = new_stream();
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddEventWaitNode(&node, graph, NULL, 0, event));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    hold(other);
    OK(cudaEventRecord(event, other));
    OK(cudaGraphLaunch(exec, stream));
    SAYS(cudaErrorNotReady, cudaStreamQuery(stream));
    let_go();
    OK(cudaStreamSynchronize(stream));
    SAYS(cudaSuccess, cudaEventQuery(event));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(stream));
    OK(cudaStreamDestroy(other));
}
