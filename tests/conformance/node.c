/* Nodes through the parameters of all types: graphs that are moved, batches, contexts. */
#include "graphs.h"

static cudaError_t add(cudaGraph_t graph, struct cudaGraphNodeParams *params,
                       cudaGraphNode_t *node) {
    return cudaGraphAddNode(node, graph, NULL, NULL, 0, params);
}

static struct cudaGraphNodeParams moved(cudaGraph_t child) {
    return (struct cudaGraphNodeParams){
        .type = cudaGraphNodeTypeGraph,
        .graph = {.graph = child, .ownership = cudaGraphChildGraphOwnershipMove}};
}

/* The field came with 12.9; what an older runtime makes of it is not known. */
static bool knows_ownership(void) {
    if (runtime() >= 12090 && driver() >= 12090)
        return true;
    skip("runtime or driver is older than ownership of child graphs");
    return false;
}

CASE(a_graph_that_is_moved) {
    cudaGraph_t parent = NULL, child = NULL, inside = NULL;
    cudaGraphNode_t node = NULL, alloc = NULL, gone = NULL;
    cudaGraphExec_t exec = NULL;
    if (!knows_ownership())
        return;
    struct cudaMemAllocNodeParams memory = {
        .poolProps = {.allocType = cudaMemAllocationTypePinned,
                      .location = {.type = cudaMemLocationTypeDevice}},
        .bytesize = 64};
    OK(cudaGraphCreate(&parent, 0));
    OK(cudaGraphCreate(&child, 0));
    OK(cudaGraphAddMemAllocNode(&alloc, child, NULL, 0, &memory));
    OK(cudaGraphAddMemFreeNode(&gone, child, &alloc, 1, memory.dptr));
    struct cudaGraphNodeParams params = moved(child);
    OK(add(parent, &params, &node));
    OK(cudaGraphChildGraphNodeGetGraph(node, &inside));
    IS(inside == child);
    OK(cudaGraphInstantiate(&exec, parent, 0));
    OK(cudaGraphLaunch(exec, NULL));
    OK(cudaStreamSynchronize(NULL));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(parent)); /* and the child with it */
}

CASE(what_was_moved_is_the_parents) {
    cudaGraph_t parent = NULL, other = NULL, child = NULL;
    cudaGraphNode_t node = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphExecUpdateResultInfo info;
    if (!knows_ownership())
        return;
    OK(cudaGraphCreate(&parent, 0));
    OK(cudaGraphCreate(&other, 0));
    OK(cudaGraphCreate(&child, 0));
    struct cudaGraphNodeParams params = moved(child);
    OK(add(parent, &params, &node));
    /* it must not be done; which error it is, is not said */
    IS(cudaGraphDestroy(child) != cudaSuccess);
    IS(cudaGraphInstantiate(&exec, child, 0) != cudaSuccess);
    IS(add(other, &params, &node) != cudaSuccess);
    SAYS(cudaErrorInvalidValue, cudaGraphDestroy(child));
    SAYS(cudaErrorNotSupported, cudaGraphInstantiate(&exec, child, 0));
    SAYS(cudaErrorNotSupported, add(other, &params, &node));
    params.graph.ownership = cudaGraphChildGraphOwnershipClone;
    SAYS(cudaErrorNotSupported, add(other, &params, &node));
    OK(cudaGraphInstantiate(&exec, parent, 0));
    SAYS(cudaErrorInvalidValue, cudaGraphExecUpdate(exec, child, &info));
    params.graph.ownership = cudaGraphChildGraphOwnershipInvalid;
    SAYS(cudaErrorNotSupported, add(parent, &params, &node));
    struct cudaMemAllocNodeParams memory = {
        .poolProps = {.allocType = cudaMemAllocationTypePinned,
                      .location = {.type = cudaMemLocationTypeDevice}},
        .bytesize = 64};
    SAYS(cudaErrorNotSupported, cudaGraphAddMemAllocNode(&node, child, NULL, 0, &memory));
    (void)cudaGetLastError();
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(parent));
    OK(cudaGraphDestroy(other));
}

CASE(copies_in_one_node) {
    unsigned from[2] = {1, 2}, *to = NULL;
    size_t sizes[2] = {4, 4}, first[1] = {0};
    struct cudaMemcpyAttributes in_order = {.srcAccessOrder = cudaMemcpySrcAccessOrderStream};
    cudaGraph_t graph = NULL;
    cudaGraphNode_t node = NULL;
    cudaGraphExec_t exec = NULL;
    if (driver() < 13050 || runtime() < 13050) {
        skip("runtime or driver is older than such nodes");
        return;
    }
    OK(cudaMalloc((void **)&to, 8));
    void *dsts[2] = {to, to + 1}, *srcs[2] = {from, from + 1};
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeMemcpyBatch,
                                         .memcpyBatch = {.count = 2,
                                                         .dsts = dsts,
                                                         .srcs = srcs,
                                                         .sizes = sizes,
                                                         .attrs = &in_order,
                                                         .attrsIdxs = first,
                                                         .numAttrs = 1}};
    OK(cudaGraphCreate(&graph, 0));
    OK(add(graph, &params, &node));
    EQUAL(type_of(graph, 0), cudaGraphNodeTypeMemcpyBatch);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, NULL));
    OK(cudaStreamSynchronize(NULL));
    EQUAL(read_back(to), 1);
    EQUAL(read_back(to + 1), 2);
    sizes[0] = 0; /* is left out */
    from[0] = from[1] = 7;
    OK(cudaGraphExecNodeSetParams(exec, node, &params));
    OK(cudaGraphLaunch(exec, NULL));
    OK(cudaStreamSynchronize(NULL));
    EQUAL(read_back(to), 1);
    EQUAL(read_back(to + 1), 7);
    params.memcpyBatch.count = 1;
    FAILS(cudaErrorInvalidValue, cudaGraphExecNodeSetParams(exec, node, &params));
    params.memcpyBatch.count = 0;
    FAILS(cudaErrorInvalidValue, add(graph, &params, &node));
    params.memcpyBatch.count = 2;
    in_order.srcAccessOrder = cudaMemcpySrcAccessOrderDuringApiCall;
    ASK(add(graph, &params, &node));
    ASK(cudaGraphNodeSetEnabled(exec, node, 0));
    (void)cudaGetLastError();
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(to));
}

CASE(a_node_of_a_context) {
    cudaExecutionContext_t context = NULL;
    cudaGraph_t graph = NULL;
    cudaGraphNode_t node = NULL;
    unsigned *to = NULL;
    if (driver() < 13010) {
        skip("the driver is older than the calls");
        return;
    }
    OK(cudaDeviceGetExecutionCtx(&context, 0));
    OK(cudaMalloc((void **)&to, 4));
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeMemset,
                                         .memset = {to, 4, 5, 4, 1, 1, context}};
    OK(cudaGraphCreate(&graph, 0));
    OK(add(graph, &params, &node));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(to));
}
