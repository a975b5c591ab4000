/* Graphs: their nodes and edges, and what they say of them. What is launched: exec.c. */
#include "graphs.h"
#include "../scratch.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const cudaGraphEdgeData plain;

/* ---- making ---- */

CASE(a_graph) {
    cudaGraph_t graph = NULL;
    OK(cudaGraphCreate(&graph, 0));
    IS(graph != NULL);
    EQUAL(count_nodes(graph), 0);
    EQUAL(count_roots(graph), 0);
    EQUAL(count_edges(graph), 0);
    OK(cudaGraphDestroy(graph));
}

CASE(mistakes_in_making_a_graph) {
    cudaGraph_t graph = NULL;
    FAILS(cudaErrorInvalidValue, cudaGraphCreate(NULL, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphCreate(&graph, 1));
    FAILS(cudaErrorInvalidValue, cudaGraphDestroy(NULL));
}

CASE(an_empty_node) {
    cudaGraph_t graph = NULL;
    cudaGraphNode_t node = NULL;
    enum cudaGraphNodeType type = cudaGraphNodeTypeCount;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddEmptyNode(&node, graph, NULL, 0));
    OK(cudaGraphNodeGetType(node, &type));
    EQUAL(type, cudaGraphNodeTypeEmpty);
    EQUAL(count_nodes(graph), 1);
    EQUAL(count_roots(graph), 1);
    OK(cudaGraphDestroy(graph));
}

CASE(mistakes_in_adding_a_node) {
    cudaGraph_t graph = NULL, other = NULL;
    cudaGraphNode_t node = NULL, foreign = NULL;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphCreate(&other, 0));
    OK(cudaGraphAddEmptyNode(&foreign, other, NULL, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphAddEmptyNode(NULL, graph, NULL, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphAddEmptyNode(&node, NULL, NULL, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphAddEmptyNode(&node, graph, NULL, 1));
    FAILS(cudaErrorInvalidValue, cudaGraphAddEmptyNode(&node, graph, &foreign, 1));
    EQUAL(count_nodes(graph), 0);
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(other));
}

CASE(a_dependency_given_twice) {
    cudaGraph_t graph = NULL;
    cudaGraphNode_t a = NULL, b = NULL;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddEmptyNode(&a, graph, NULL, 0));
    const cudaGraphNode_t twice[2] = {a, a};
    FAILS(cudaErrorInvalidValue, cudaGraphAddEmptyNode(&b, graph, twice, 2));
    EQUAL(count_nodes(graph), 1);
    OK(cudaGraphDestroy(graph));
}

/* ---- edges ---- */

CASE(edges_by_dependencies) {
    cudaGraph_t graph = NULL;
    cudaGraphNode_t a = NULL, b = NULL, got[3];
    size_t count = 3;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddEmptyNode(&a, graph, NULL, 0));
    OK(cudaGraphAddEmptyNode(&b, graph, &a, 1));
    OK(cudaGraphNodeGetDependencies(b, got, NULL, &count));
    EQUAL(count, 1);
    IS(got[0] == a && got[1] == NULL && got[2] == NULL);
    count = 3;
    OK(cudaGraphNodeGetDependentNodes(a, got, NULL, &count));
    EQUAL(count, 1);
    IS(got[0] == b);
    OK(cudaGraphNodeGetDependencies(a, NULL, NULL, &count));
    EQUAL(count, 0);
    OK(cudaGraphDestroy(graph));
}

CASE(adding_and_removing_edges) {
    cudaGraph_t graph = NULL;
    cudaGraphNode_t a = NULL, b = NULL, from[2], to[2];
    size_t count = 2;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddEmptyNode(&a, graph, NULL, 0));
    OK(cudaGraphAddEmptyNode(&b, graph, NULL, 0));
    OK(cudaGraphAddDependencies(graph, &a, &b, NULL, 1));
    OK(cudaGraphGetEdges(graph, from, to, NULL, &count));
    EQUAL(count, 1);
    IS(from[0] == a && to[0] == b && from[1] == NULL && to[1] == NULL);
    FAILS(cudaErrorInvalidValue, cudaGraphAddDependencies(graph, &a, &b, NULL, 1));
    OK(cudaGraphRemoveDependencies(graph, &a, &b, NULL, 1));
    EQUAL(count_edges(graph), 0);
    FAILS(cudaErrorInvalidValue, cudaGraphRemoveDependencies(graph, &a, &b, NULL, 1));
    OK(cudaGraphAddDependencies(graph, NULL, NULL, NULL, 0));
    OK(cudaGraphRemoveDependencies(graph, NULL, NULL, NULL, 0));
    OK(cudaGraphDestroy(graph));
}

CASE(mistakes_in_adding_edges) {
    cudaGraph_t graph = NULL, other = NULL;
    cudaGraphNode_t a = NULL, b = NULL;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphCreate(&other, 0));
    OK(cudaGraphAddEmptyNode(&a, graph, NULL, 0));
    OK(cudaGraphAddEmptyNode(&b, other, NULL, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphAddDependencies(graph, &a, &b, NULL, 1));
    FAILS(cudaErrorInvalidValue, cudaGraphAddDependencies(graph, &b, &a, NULL, 1));
    FAILS(cudaErrorInvalidValue, cudaGraphAddDependencies(graph, NULL, &a, NULL, 1));
    FAILS(cudaErrorInvalidValue, cudaGraphAddDependencies(graph, &a, NULL, NULL, 1));
    FAILS(cudaErrorInvalidValue, cudaGraphAddDependencies(NULL, &a, &a, NULL, 1));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(other));
}

CASE(an_edge_to_itself) {
    cudaGraph_t graph = NULL;
    cudaGraphNode_t a = NULL;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddEmptyNode(&a, graph, NULL, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphAddDependencies(graph, &a, &a, NULL, 1));
    OK(cudaGraphDestroy(graph));
}

CASE(circles_are_allowed_until_the_graph_is_instantiated) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t a = NULL, b = NULL;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddEmptyNode(&a, graph, NULL, 0));
    OK(cudaGraphAddEmptyNode(&b, graph, &a, 1));
    OK(cudaGraphAddDependencies(graph, &b, &a, NULL, 1));
    EQUAL(count_edges(graph), 2);
    EQUAL(count_roots(graph), 0);
    FAILS(cudaErrorInvalidValue, cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphDestroy(graph));
}

CASE(edges_of_several_nodes) {
    cudaGraph_t graph = NULL;
    cudaGraphNode_t a = NULL, b = NULL, c = NULL, d = NULL, from[8], to[8];
    size_t count = 8;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddEmptyNode(&a, graph, NULL, 0));
    OK(cudaGraphAddEmptyNode(&b, graph, &a, 1));
    OK(cudaGraphAddEmptyNode(&c, graph, &a, 1));
    const cudaGraphNode_t both[2] = {b, c};
    OK(cudaGraphAddEmptyNode(&d, graph, both, 2));
    OK(cudaGraphGetEdges(graph, from, to, NULL, &count));
    EQUAL(count, 4);
    EQUAL(count_roots(graph), 1);
    count = 2; /* as many as there is room for */
    OK(cudaGraphGetEdges(graph, from, to, NULL, &count));
    EQUAL(count, 2);
    count = 2;
    OK(cudaGraphGetNodes(graph, from, &count));
    EQUAL(count, 2);
    OK(cudaGraphDestroy(graph));
}

CASE(mistakes_in_asking_for_edges) {
    cudaGraph_t graph = NULL;
    cudaGraphNode_t node = NULL, got[2];
    cudaGraphEdgeData data[2];
    size_t count = 2;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddEmptyNode(&node, graph, NULL, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphGetNodes(graph, NULL, NULL));
    FAILS(cudaErrorInvalidValue, cudaGraphGetRootNodes(graph, NULL, NULL));
    FAILS(cudaErrorInvalidValue, cudaGraphGetEdges(graph, NULL, NULL, NULL, NULL));
    FAILS(cudaErrorInvalidValue, cudaGraphGetEdges(graph, got, NULL, NULL, &count));
    SAYS(FROM(12030, cudaErrorInvalidValue, cudaSuccess),
         cudaGraphGetEdges(graph, NULL, NULL, data, &count));
    (void)cudaGetLastError();
    FAILS(cudaErrorInvalidValue, cudaGraphNodeGetDependencies(node, NULL, NULL, NULL));
    SAYS(FROM(12030, cudaErrorInvalidValue, cudaSuccess),
         cudaGraphNodeGetDependentNodes(node, NULL, data, &count));
    (void)cudaGetLastError();
    FAILS(cudaErrorInvalidValue, cudaGraphGetNodes(NULL, NULL, &count));
    FAILS(cudaErrorInvalidValue, cudaGraphNodeGetDependencies(NULL, NULL, NULL, &count));
    OK(cudaGraphDestroy(graph));
}

CASE(what_is_said_of_plain_edges) {
    cudaGraph_t graph = NULL;
    cudaGraphNode_t a = NULL, b = NULL, got[1];
    cudaGraphEdgeData data[1] = {{.from_port = 9, .to_port = 9, .type = 9}};
    size_t count = 1;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddEmptyNode(&a, graph, NULL, 0));
    OK(cudaGraphAddEmptyNode(&b, graph, NULL, 0));
    OK(cudaGraphAddDependencies(graph, &a, &b, &plain, 1));
    OK(cudaGraphNodeGetDependencies(b, got, data, &count));
    EQUAL(data[0].type, cudaGraphDependencyTypeDefault);
    EQUAL(data[0].from_port, 0);
    EQUAL(data[0].to_port, 0);
    OK(cudaGraphDestroy(graph));
}

CASE(only_kernels_have_ports) {
    NEEDS(ACU_FEATURE_GRAPH_EDGE_DATA);
    cudaGraph_t graph = NULL;
    cudaGraphNode_t a = NULL, b = NULL;
    const cudaGraphEdgeData programmatic = {.from_port = cudaGraphKernelNodePortProgrammatic,
                                            .type = cudaGraphDependencyTypeProgrammatic};
    const cudaGraphEdgeData unknown = {.type = 7}, port = {.to_port = 1};
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddEmptyNode(&a, graph, NULL, 0));
    OK(cudaGraphAddEmptyNode(&b, graph, NULL, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphAddDependencies(graph, &a, &b, &programmatic, 1));
    FAILS(cudaErrorInvalidValue, cudaGraphAddDependencies(graph, &a, &b, &unknown, 1));
    FAILS(cudaErrorInvalidValue, cudaGraphAddDependencies(graph, &a, &b, &port, 1));
    EQUAL(count_edges(graph), 0);
    OK(cudaGraphDestroy(graph));
}

CASE(destroying_a_node) {
    cudaGraph_t graph = NULL;
    cudaGraphNode_t a = NULL, b = NULL, c = NULL;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddEmptyNode(&a, graph, NULL, 0));
    OK(cudaGraphAddEmptyNode(&b, graph, &a, 1));
    OK(cudaGraphAddEmptyNode(&c, graph, &b, 1));
    OK(cudaGraphDestroyNode(b));
    EQUAL(count_nodes(graph), 2);
    EQUAL(count_edges(graph), 0);
    EQUAL(count_roots(graph), 2);
    FAILS(cudaErrorInvalidValue, cudaGraphDestroyNode(NULL));
    OK(cudaGraphDestroy(graph));
}

/* ---- clones and children ---- */

CASE(a_clone) {
    cudaGraph_t graph = NULL, clone = NULL;
    cudaGraphNode_t a = NULL, b = NULL, found = NULL, later = NULL;
    size_t count = 1;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddEmptyNode(&a, graph, NULL, 0));
    OK(cudaGraphAddEmptyNode(&b, graph, &a, 1));
    OK(cudaGraphClone(&clone, graph));
    EQUAL(count_nodes(clone), 2);
    EQUAL(count_edges(clone), 1);
    OK(cudaGraphNodeFindInClone(&found, b, clone));
    IS(found != NULL && found != b);
    OK(cudaGraphNodeGetDependencies(found, &later, NULL, &count));
    OK(cudaGraphNodeFindInClone(&found, a, clone));
    IS(later == found);
    OK(cudaGraphDestroyNode(found));
    FAILS(cudaErrorInvalidValue, cudaGraphNodeFindInClone(&found, a, clone));
    OK(cudaGraphAddEmptyNode(&later, graph, NULL, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphNodeFindInClone(&found, later, clone));
    OK(cudaGraphDestroy(graph));
    EQUAL(count_nodes(clone), 1);
    OK(cudaGraphDestroy(clone));
}

CASE(mistakes_with_clones) {
    cudaGraph_t graph = NULL, other = NULL, clone = NULL;
    cudaGraphNode_t node = NULL, found = NULL;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphCreate(&other, 0));
    OK(cudaGraphAddEmptyNode(&node, graph, NULL, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphClone(NULL, graph));
    FAILS(cudaErrorInvalidValue, cudaGraphClone(&clone, NULL));
    FAILS(cudaErrorInvalidValue, cudaGraphNodeFindInClone(&found, node, other));
    FAILS(cudaErrorInvalidValue, cudaGraphNodeFindInClone(&found, node, graph));
    OK(cudaGraphClone(&clone, graph));
    FAILS(cudaErrorInvalidValue, cudaGraphNodeFindInClone(NULL, node, clone));
    FAILS(cudaErrorInvalidValue, cudaGraphNodeFindInClone(&found, NULL, clone));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(other));
    OK(cudaGraphDestroy(clone));
}

CASE(a_graph_in_a_node) {
    cudaGraph_t graph = NULL, child = NULL, inside = NULL;
    cudaGraphNode_t node = NULL, inner = NULL;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphCreate(&child, 0));
    OK(cudaGraphAddEmptyNode(&inner, child, NULL, 0));
    OK(cudaGraphAddChildGraphNode(&node, graph, NULL, 0, child));
    EQUAL(type_of(graph, 0), cudaGraphNodeTypeGraph);
    OK(cudaGraphChildGraphNodeGetGraph(node, &inside));
    IS(inside != child);
    EQUAL(count_nodes(inside), 1);
    OK(cudaGraphAddEmptyNode(&inner, child, NULL, 0)); /* it was copied */
    EQUAL(count_nodes(inside), 1);
    OK(cudaGraphAddEmptyNode(&inner, inside, NULL, 0)); /* and can be changed */
    EQUAL(count_nodes(inside), 2);
    OK(cudaGraphDestroy(child));
    OK(cudaGraphDestroy(graph));
}

CASE(mistakes_with_graphs_in_nodes) {
    cudaGraph_t graph = NULL, inside = NULL;
    cudaGraphNode_t node = NULL, empty = NULL;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddEmptyNode(&empty, graph, NULL, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphAddChildGraphNode(&node, graph, NULL, 0, NULL));
    FAILS(cudaErrorInvalidValue, cudaGraphChildGraphNodeGetGraph(empty, &inside));
    FAILS(cudaErrorInvalidValue, cudaGraphChildGraphNodeGetGraph(NULL, &inside));
    OK(cudaGraphDestroy(graph));
}

/* ---- parameters ---- */

CASE(a_host_node_s_parameters) {
    cudaGraph_t graph = NULL;
    cudaGraphNode_t node = NULL, empty = NULL;
    int a, b;
    struct cudaHostNodeParams host = {on_host, &a}, got = {NULL, NULL};
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddHostNode(&node, graph, NULL, 0, &host));
    OK(cudaGraphHostNodeGetParams(node, &got));
    IS(got.fn == on_host && got.userData == &a);
    host.userData = &b;
    OK(cudaGraphHostNodeSetParams(node, &host));
    OK(cudaGraphHostNodeGetParams(node, &got));
    IS(got.userData == &b);
    OK(cudaGraphAddEmptyNode(&empty, graph, NULL, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphHostNodeGetParams(empty, &got));
    FAILS(cudaErrorInvalidValue, cudaGraphHostNodeSetParams(empty, &host));
    FAILS(cudaErrorInvalidValue, cudaGraphHostNodeSetParams(node, NULL));
    FAILS(cudaErrorInvalidValue, cudaGraphAddHostNode(&node, graph, NULL, 0, NULL));
    host.fn = NULL;
    FAILS(cudaErrorInvalidValue, cudaGraphAddHostNode(&node, graph, NULL, 0, &host));
    OK(cudaGraphDestroy(graph));
}

CASE(a_copy_node_s_parameters) {
    cudaGraph_t graph = NULL;
    cudaGraphNode_t node = NULL;
    struct cudaMemcpy3DParms got;
    char *device = NULL;
    static char host[64];
    OK(cudaMalloc((void **)&device, 64));
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemcpyNode1D(&node, graph, NULL, 0, device, host, 32, cudaMemcpyHostToDevice));
    OK(cudaGraphMemcpyNodeGetParams(node, &got));
    EQUAL(got.kind, cudaMemcpyHostToDevice);
    EQUAL(got.extent.width, 32);
    EQUAL(got.extent.height, 1);
    EQUAL(got.extent.depth, 1);
    IS(got.srcPtr.ptr == host && got.dstPtr.ptr == device);
    OK(cudaGraphMemcpyNodeSetParams1D(node, device + 8, host + 4, 16, cudaMemcpyHostToDevice));
    OK(cudaGraphMemcpyNodeGetParams(node, &got));
    EQUAL(got.extent.width, 16);
    IS((char *)got.srcPtr.ptr + got.srcPos.x == host + 4);
    IS((char *)got.dstPtr.ptr + got.dstPos.x == device + 8);
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(device));
}

CASE(mistakes_with_copy_nodes) {
    cudaGraph_t graph = NULL;
    cudaGraphNode_t node = NULL;
    char *device = NULL;
    static char host[64];
    OK(cudaMalloc((void **)&device, 64));
    OK(cudaGraphCreate(&graph, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphAddMemcpyNode(&node, graph, NULL, 0, NULL));
    FAILS(cudaErrorInvalidMemcpyDirection,
          cudaGraphAddMemcpyNode1D(&node, graph, NULL, 0, device, host, 8, (enum cudaMemcpyKind)7));
    FAILS(cudaErrorInvalidValue,
          cudaGraphAddMemcpyNode1D(&node, graph, NULL, 0, NULL, host, 8, cudaMemcpyHostToDevice));
    FAILS(cudaErrorInvalidValue,
          cudaGraphAddMemcpyNode1D(&node, graph, NULL, 0, device, NULL, 8, cudaMemcpyHostToDevice));
    FAILS(cudaErrorInvalidValue,
          cudaGraphAddMemcpyNode1D(&node, graph, NULL, 0, device, host, 0, cudaMemcpyHostToDevice));
    EQUAL(count_nodes(graph), 0);
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(device));
}

CASE(a_copy_node_in_three_dimensions) {
    cudaGraph_t graph = NULL;
    cudaGraphNode_t node = NULL;
    cudaGraphExec_t exec = NULL;
    static unsigned char from[2][3][8], to[2][3][8];
    struct cudaMemcpy3DParms copy = {.extent = {4, 2, 2}, .kind = cudaMemcpyHostToDevice}, got;
    void *device = NULL;
    const size_t bytes = sizeof from;
    for (size_t i = 0; i < bytes; i++)
        ((unsigned char *)from)[i] = (unsigned char)i;
    memset(to, 0, sizeof to);
    OK(cudaMalloc(&device, sizeof from));
    OK(cudaMemset(device, 0xee, sizeof from));
    copy.srcPtr = (struct cudaPitchedPtr){from, 8, 8, 3};
    copy.srcPos = (struct cudaPos){2, 1, 0};
    copy.dstPtr = (struct cudaPitchedPtr){device, 8, 8, 3};
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemcpyNode(&node, graph, NULL, 0, &copy));
    OK(cudaGraphMemcpyNodeGetParams(node, &got));
    EQUAL(got.extent.width, 4);
    EQUAL(got.extent.height, 2);
    EQUAL(got.extent.depth, 2);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaStreamSynchronize(0));
    OK(cudaMemcpy(to, device, sizeof to, cudaMemcpyDeviceToHost));
    EQUAL(to[0][0][0], from[0][1][2]);
    EQUAL(to[1][1][3], from[1][2][5]);
    EQUAL(to[0][2][0], 0xee);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(device));
}

CASE(a_fill_node_s_parameters) {
    cudaGraph_t graph = NULL;
    cudaGraphNode_t node = NULL;
    char *device = NULL;
    OK(cudaMalloc((void **)&device, 64));
    struct cudaMemsetParams fill = {device, 0, 0x1234, 2, 8, 1}, got;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemsetNode(&node, graph, NULL, 0, &fill));
    OK(cudaGraphMemsetNodeGetParams(node, &got));
    IS(got.dst == device);
    EQUAL(got.value, 0x1234);
    EQUAL(got.elementSize, 2);
    EQUAL(got.width, 8);
    EQUAL(got.height, 1);
    fill.value = 7;
    OK(cudaGraphMemsetNodeSetParams(node, &fill));
    OK(cudaGraphMemsetNodeGetParams(node, &got));
    EQUAL(got.value, 7);
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(device));
}

CASE(mistakes_with_fill_nodes) {
    cudaGraph_t graph = NULL;
    cudaGraphNode_t node = NULL;
    char *device = NULL;
    OK(cudaMalloc((void **)&device, 64));
    OK(cudaGraphCreate(&graph, 0));
    struct cudaMemsetParams fill = {device, 0, 0, 3, 8, 1};
    FAILS(cudaErrorInvalidValue, cudaGraphAddMemsetNode(&node, graph, NULL, 0, &fill));
    fill = (struct cudaMemsetParams){device + 1, 0, 0, 4, 8, 1};
    FAILS(cudaErrorInvalidValue, cudaGraphAddMemsetNode(&node, graph, NULL, 0, &fill));
    fill = (struct cudaMemsetParams){NULL, 0, 0, 1, 8, 1};
    FAILS(cudaErrorInvalidValue, cudaGraphAddMemsetNode(&node, graph, NULL, 0, &fill));
    fill = (struct cudaMemsetParams){device, 0, 0, 1, 0, 1};
    FAILS(cudaErrorInvalidValue, cudaGraphAddMemsetNode(&node, graph, NULL, 0, &fill));
    fill = (struct cudaMemsetParams){device, 0, 0, 1, 8, 0};
    FAILS(cudaErrorInvalidValue, cudaGraphAddMemsetNode(&node, graph, NULL, 0, &fill));
    FAILS(cudaErrorInvalidValue, cudaGraphAddMemsetNode(&node, graph, NULL, 0, NULL));
    EQUAL(count_nodes(graph), 0);
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(device));
}

CASE(an_event_node_s_event) {
    cudaGraph_t graph = NULL;
    cudaGraphNode_t record = NULL, wait = NULL;
    cudaEvent_t a = new_event(), b = new_event(), got = NULL;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddEventRecordNode(&record, graph, NULL, 0, a));
    OK(cudaGraphAddEventWaitNode(&wait, graph, &record, 1, a));
    OK(cudaGraphEventRecordNodeGetEvent(record, &got));
    IS(got == a);
    OK(cudaGraphEventRecordNodeSetEvent(record, b));
    OK(cudaGraphEventRecordNodeGetEvent(record, &got));
    IS(got == b);
    OK(cudaGraphEventWaitNodeSetEvent(wait, b));
    OK(cudaGraphEventWaitNodeGetEvent(wait, &got));
    IS(got == b);
    FAILS(cudaErrorInvalidValue, cudaGraphEventWaitNodeGetEvent(record, &got));
    FAILS(cudaErrorInvalidValue, cudaGraphEventRecordNodeGetEvent(wait, &got));
    OK(cudaGraphDestroy(graph));
    OK(cudaEventDestroy(a));
    OK(cudaEventDestroy(b));
}

CASE(a_node_without_an_event) {
    cudaGraph_t graph = NULL;
    cudaGraphNode_t node = NULL;
    OK(cudaGraphCreate(&graph, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphAddEventRecordNode(&node, graph, NULL, 0, NULL));
    FAILS(cudaErrorInvalidValue, cudaGraphAddEventWaitNode(&node, graph, NULL, 0, NULL));
    OK(cudaGraphDestroy(graph));
}

CASE(nodes_of_any_type) {
    cudaGraph_t graph = NULL;
    cudaGraphNode_t node = NULL;
    int calls = 0;
    struct cudaHostNodeParams host;
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeHost};
    params.host.fn = on_host;
    params.host.userData = &calls;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    EQUAL(type_of(graph, 0), cudaGraphNodeTypeHost);
    OK(cudaGraphHostNodeGetParams(node, &host));
    IS(host.userData == &calls);
    params.host.userData = &host;
    OK(cudaGraphNodeSetParams(node, &params));
    OK(cudaGraphHostNodeGetParams(node, &host));
    IS(host.userData == &host);
    params = (struct cudaGraphNodeParams){.type = cudaGraphNodeTypeEmpty};
    OK(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    params.type = (enum cudaGraphNodeType)77;
    FAILS(cudaErrorInvalidValue, cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    FAILS(cudaErrorInvalidValue, cudaGraphAddNode(&node, graph, NULL, NULL, 0, NULL));
    OK(cudaGraphDestroy(graph));
}

CASE(parameters_of_another_type) {
    cudaGraph_t graph = NULL;
    cudaGraphNode_t node = NULL;
    int calls = 0;
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeHost};
    params.host.fn = on_host;
    params.host.userData = &calls;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddEmptyNode(&node, graph, NULL, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphNodeSetParams(node, &params));
    FAILS(cudaErrorInvalidValue, cudaGraphNodeSetParams(node, NULL));
    OK(cudaGraphDestroy(graph));
}

CASE(asking_a_node_for_its_type) {
    cudaGraph_t graph = NULL;
    cudaGraphNode_t node = NULL;
    enum cudaGraphNodeType type;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddEmptyNode(&node, graph, NULL, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphNodeGetType(node, NULL));
    FAILS(cudaErrorInvalidValue, cudaGraphNodeGetType(NULL, &type));
    OK(cudaGraphDestroy(graph));
}

/* ---- drawings ---- */

CASE(a_drawing) {
    cudaGraph_t graph = NULL;
    cudaGraphNode_t node = NULL;
    char path[SCRATCH_SIZE], text[64] = "";
    int file = mkstemp(scratch_path(path));
    IS(file >= 0);
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddEmptyNode(&node, graph, NULL, 0));
    OK(cudaGraphDebugDotPrint(graph, path, 0));
    IS(read(file, text, sizeof text - 1) > 10);
    IS(strncmp(text, "digraph", 7) == 0);
    (void)close(file);
    (void)unlink(path);
    OK(cudaGraphDestroy(graph));
}

CASE(a_drawing_that_cannot_be_written) {
    cudaGraph_t graph = NULL;
    OK(cudaGraphCreate(&graph, 0));
    FAILS(cudaErrorOperatingSystem, cudaGraphDebugDotPrint(graph, "/nowhere/to/be/found.dot", 0));
    FAILS(cudaErrorInvalidValue, cudaGraphDebugDotPrint(graph, NULL, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphDebugDotPrint(NULL, "/tmp/never", 0));
    OK(cudaGraphDestroy(graph));
}

/* ---- user objects ---- */

static atomic_int destroyed; /* by a thread of CUDA's */

static void count_destroyed(void *data) {
    (void)data;
    destroyed++;
}

static int becomes(int count) {
    for (int i = 0; destroyed != count && i < 50000; i++)
        (void)usleep(1000);
    return destroyed;
}

CASE(a_user_object) {
    cudaUserObject_t object = NULL;
    destroyed = 0;
    OK(cudaUserObjectCreate(&object, NULL, count_destroyed, 1, cudaUserObjectNoDestructorSync));
    OK(cudaUserObjectRetain(object, 2));
    OK(cudaUserObjectRelease(object, 2));
    EQUAL(destroyed, 0);
    OK(cudaUserObjectRelease(object, 1));
    EQUAL(becomes(1), 1);
}

CASE(mistakes_in_making_a_user_object) {
    cudaUserObject_t object = NULL;
    FAILS(cudaErrorInvalidValue,
          cudaUserObjectCreate(NULL, NULL, count_destroyed, 1, cudaUserObjectNoDestructorSync));
    FAILS(cudaErrorInvalidValue,
          cudaUserObjectCreate(&object, NULL, NULL, 1, cudaUserObjectNoDestructorSync));
    FAILS(cudaErrorInvalidValue,
          cudaUserObjectCreate(&object, NULL, count_destroyed, 0, cudaUserObjectNoDestructorSync));
    FAILS(cudaErrorInvalidValue, cudaUserObjectCreate(&object, NULL, count_destroyed, 1, 0));
}

CASE(mistakes_with_user_objects) {
    cudaUserObject_t object = NULL;
    cudaGraph_t graph = NULL;
    destroyed = 0;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaUserObjectCreate(&object, NULL, count_destroyed, 1, cudaUserObjectNoDestructorSync));
    FAILS(cudaErrorInvalidValue, cudaUserObjectRetain(object, 0));
    FAILS(cudaErrorInvalidValue, cudaUserObjectRelease(object, 0));
    FAILS(cudaErrorInvalidValue, cudaUserObjectRetain(object, 0x80000000U));
    FAILS(cudaErrorInvalidValue, cudaGraphRetainUserObject(graph, object, 0, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphRetainUserObject(graph, object, 1, 2));
    FAILS(cudaErrorInvalidValue, cudaGraphRetainUserObject(NULL, object, 1, 0));
    OK(cudaUserObjectRelease(object, 1));
    OK(cudaGraphDestroy(graph));
    EQUAL(becomes(1), 1);
}

CASE(a_graph_keeps_user_objects) {
    cudaUserObject_t object = NULL;
    cudaGraph_t graph = NULL, clone = NULL;
    cudaGraphExec_t exec = NULL;
    destroyed = 0;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaUserObjectCreate(&object, NULL, count_destroyed, 1, cudaUserObjectNoDestructorSync));
    OK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphClone(&clone, graph));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphExecDestroy(exec));
    (void)usleep(20000);
    EQUAL(destroyed, 0);
    OK(cudaGraphDestroy(clone));
    EQUAL(becomes(1), 1);
}
