/* Calls that add, read or change nodes of one type. They use the calls for all types, node.h and
 * update.h. */
#include "sim/graph/graph.h"
#include "sim/graph/graph_memory.h"
#include "sim/graph/node.h"
#include "sim/graph/update.h"
#include "sim/memory/copy.h"

/* ---- all types, and empty nodes ---- */

/* Returns an error if CUDA copies the graph into no other one, which it says of a child first. */
static cudaError_t validate_child(cudaGraph_t handle) {
    const acu_sim_graph *graph = acu_sim_graph_of(handle);
    return graph ? acu_sim_graph_may_be_copied(graph) : cudaSuccess;
}

/* Returns what the runtime reports of a node's parameters before it looks at the graph. */
static cudaError_t validate_shape(const struct cudaGraphNodeParams *params) {
    return params && params->type == cudaGraphNodeTypeMemcpy
               ? acu_sim_copy_validate_shape(&params->memcpy.copyParams)
               : cudaSuccess;
}

cudaError_t acu_sim_cudaGraphAddNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                     const cudaGraphNode_t *pDependencies,
                                     const cudaGraphEdgeData *dependencyData,
                                     size_t numDependencies,
                                     struct cudaGraphNodeParams *nodeParams) {
    SIM_TRY(validate_shape(nodeParams));
    if (nodeParams && nodeParams->type == cudaGraphNodeTypeGraph &&
        nodeParams->graph.ownership == cudaGraphChildGraphOwnershipClone)
        SIM_TRY(validate_child(nodeParams->graph.graph));
    return acu_sim_node_add(pGraphNode, graph, pDependencies, dependencyData, numDependencies,
                            nodeParams);
}

cudaError_t acu_sim_cudaGraphNodeSetParams(cudaGraphNode_t node,
                                           struct cudaGraphNodeParams *nodeParams) {
    SIM_TRY(validate_shape(nodeParams));
    return acu_sim_node_set_params(node, nodeParams);
}

cudaError_t acu_sim_cudaGraphExecNodeSetParams(cudaGraphExec_t graphExec, cudaGraphNode_t node,
                                               struct cudaGraphNodeParams *nodeParams) {
    SIM_TRY(validate_shape(nodeParams));
    return acu_sim_update_set_params(graphExec, node, nodeParams);
}

cudaError_t acu_sim_cudaGraphAddEmptyNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                          const cudaGraphNode_t *pDependencies,
                                          size_t numDependencies) {
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeEmpty};
    return acu_sim_node_add(pGraphNode, graph, pDependencies, NULL, numDependencies, &params);
}

/* ---- copies ---- */

static struct cudaGraphNodeParams copy_node(const struct cudaMemcpy3DParms *copy) {
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeMemcpy};
    if (copy)
        params.memcpy.copyParams = *copy;
    return params;
}

static struct cudaGraphNodeParams copy_node_1d(void *dst, const void *src, size_t count,
                                               enum cudaMemcpyKind kind) {
    const struct cudaMemcpy3DParms copy = acu_sim_copy_params(dst, src, count, kind);
    return copy_node(&copy);
}

cudaError_t acu_sim_cudaGraphAddMemcpyNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                           const cudaGraphNode_t *pDependencies,
                                           size_t numDependencies,
                                           const struct cudaMemcpy3DParms *pCopyParams) {
    struct cudaGraphNodeParams params = copy_node(pCopyParams);
    if (pCopyParams)
        SIM_TRY(acu_sim_copy_validate_shape(pCopyParams));
    return acu_sim_node_add(pGraphNode, graph, pDependencies, NULL, numDependencies,
                            pCopyParams ? &params : NULL);
}

cudaError_t acu_sim_cudaGraphAddMemcpyNode1D(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                             const cudaGraphNode_t *pDependencies,
                                             size_t numDependencies, void *dst, const void *src,
                                             size_t count, enum cudaMemcpyKind kind) {
    struct cudaGraphNodeParams params = copy_node_1d(dst, src, count, kind);
    if (!acu_sim_copy_is_direction(kind))
        return count ? cudaErrorInvalidMemcpyDirection : cudaErrorInvalidValue;
    return acu_sim_node_add(pGraphNode, graph, pDependencies, NULL, numDependencies, &params);
}

cudaError_t acu_sim_cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node,
                                                 struct cudaMemcpy3DParms *pNodeParams) {
    struct cudaGraphNodeParams params;
    cudaError_t result =
        acu_sim_node_get_params(node, cudaGraphNodeTypeMemcpy, pNodeParams ? &params : NULL);
    if (!result && pNodeParams)
        *pNodeParams = params.memcpy.copyParams;
    return result;
}

cudaError_t acu_sim_cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node,
                                                 const struct cudaMemcpy3DParms *pNodeParams) {
    const struct cudaGraphNodeParams params = copy_node(pNodeParams);
    if (pNodeParams)
        SIM_TRY(acu_sim_copy_validate_shape(pNodeParams));
    return acu_sim_node_set_params(node, pNodeParams ? &params : NULL);
}

cudaError_t acu_sim_cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *dst, const void *src,
                                                   size_t count, enum cudaMemcpyKind kind) {
    const struct cudaGraphNodeParams params = copy_node_1d(dst, src, count, kind);
    if (count && !acu_sim_copy_is_direction(kind))
        return cudaErrorInvalidMemcpyDirection;
    return acu_sim_node_set_params(node, &params);
}

cudaError_t acu_sim_cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t hGraphExec,
                                                     cudaGraphNode_t node,
                                                     const struct cudaMemcpy3DParms *pNodeParams) {
    const struct cudaGraphNodeParams params = copy_node(pNodeParams);
    if (pNodeParams)
        SIM_TRY(acu_sim_copy_validate_shape(pNodeParams));
    return acu_sim_update_set_params(hGraphExec, node, pNodeParams ? &params : NULL);
}

cudaError_t acu_sim_cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t hGraphExec,
                                                       cudaGraphNode_t node, void *dst,
                                                       const void *src, size_t count,
                                                       enum cudaMemcpyKind kind) {
    const struct cudaGraphNodeParams params = copy_node_1d(dst, src, count, kind);
    if (count && !acu_sim_copy_is_direction(kind))
        return cudaErrorInvalidMemcpyDirection;
    return acu_sim_update_set_params(hGraphExec, node, &params);
}

/* ---- fills ---- */

static struct cudaGraphNodeParams fill_node(const struct cudaMemsetParams *fill) {
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeMemset};
    if (fill)
        params.memset =
            (struct cudaMemsetParamsV2){fill->dst,   fill->pitch,  fill->value, fill->elementSize,
                                        fill->width, fill->height, NULL};
    return params;
}

cudaError_t acu_sim_cudaGraphAddMemsetNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                           const cudaGraphNode_t *pDependencies,
                                           size_t numDependencies,
                                           const struct cudaMemsetParams *pMemsetParams) {
    struct cudaGraphNodeParams params = fill_node(pMemsetParams);
    return acu_sim_node_add(pGraphNode, graph, pDependencies, NULL, numDependencies,
                            pMemsetParams ? &params : NULL);
}

cudaError_t acu_sim_cudaGraphMemsetNodeGetParams(cudaGraphNode_t node,
                                                 struct cudaMemsetParams *pNodeParams) {
    struct cudaGraphNodeParams params;
    cudaError_t result =
        acu_sim_node_get_params(node, cudaGraphNodeTypeMemset, pNodeParams ? &params : NULL);
    if (!result && pNodeParams)
        *pNodeParams = (struct cudaMemsetParams){params.memset.dst,   params.memset.pitch,
                                                 params.memset.value, params.memset.elementSize,
                                                 params.memset.width, params.memset.height};
    return result;
}

cudaError_t acu_sim_cudaGraphMemsetNodeSetParams(cudaGraphNode_t node,
                                                 const struct cudaMemsetParams *pNodeParams) {
    const struct cudaGraphNodeParams params = fill_node(pNodeParams);
    return acu_sim_node_set_params(node, pNodeParams ? &params : NULL);
}

cudaError_t acu_sim_cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t hGraphExec,
                                                     cudaGraphNode_t node,
                                                     const struct cudaMemsetParams *pNodeParams) {
    const struct cudaGraphNodeParams params = fill_node(pNodeParams);
    return acu_sim_update_set_params(hGraphExec, node, pNodeParams ? &params : NULL);
}

/* ---- host functions ---- */

static struct cudaGraphNodeParams host_node(const struct cudaHostNodeParams *host) {
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeHost};
    if (host) {
        params.host.fn = host->fn;
        params.host.userData = host->userData;
    }
    return params;
}

cudaError_t acu_sim_cudaGraphAddHostNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                         const cudaGraphNode_t *pDependencies,
                                         size_t numDependencies,
                                         const struct cudaHostNodeParams *pNodeParams) {
    struct cudaGraphNodeParams params = host_node(pNodeParams);
    return acu_sim_node_add(pGraphNode, graph, pDependencies, NULL, numDependencies,
                            pNodeParams ? &params : NULL);
}

cudaError_t acu_sim_cudaGraphHostNodeGetParams(cudaGraphNode_t node,
                                               struct cudaHostNodeParams *pNodeParams) {
    struct cudaGraphNodeParams params;
    cudaError_t result =
        acu_sim_node_get_params(node, cudaGraphNodeTypeHost, pNodeParams ? &params : NULL);
    if (!result && pNodeParams)
        *pNodeParams = (struct cudaHostNodeParams){params.host.fn, params.host.userData};
    return result;
}

cudaError_t acu_sim_cudaGraphHostNodeSetParams(cudaGraphNode_t node,
                                               const struct cudaHostNodeParams *pNodeParams) {
    const struct cudaGraphNodeParams params = host_node(pNodeParams);
    return acu_sim_node_set_params(node, pNodeParams ? &params : NULL);
}

cudaError_t acu_sim_cudaGraphExecHostNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                                   const struct cudaHostNodeParams *pNodeParams) {
    const struct cudaGraphNodeParams params = host_node(pNodeParams);
    return acu_sim_update_set_params(hGraphExec, node, pNodeParams ? &params : NULL);
}

/* ---- child graphs ---- */

cudaError_t acu_sim_cudaGraphAddChildGraphNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                               const cudaGraphNode_t *pDependencies,
                                               size_t numDependencies, cudaGraph_t childGraph) {
    SIM_TRY(validate_child(childGraph)); /* also where there is no graph to add to */
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeGraph,
                                         .graph = {.graph = childGraph}};
    return acu_sim_node_add(pGraphNode, graph, pDependencies, NULL, numDependencies, &params);
}

cudaError_t acu_sim_cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *pGraph) {
    struct cudaGraphNodeParams params;
    cudaError_t result =
        acu_sim_node_get_params(node, cudaGraphNodeTypeGraph, pGraph ? &params : NULL);
    if (!result && pGraph)
        *pGraph = params.graph.graph;
    return result;
}

/* ---- events ---- */

static struct cudaGraphNodeParams event_node(enum cudaGraphNodeType type, cudaEvent_t event) {
    struct cudaGraphNodeParams params = {.type = type};
    if (type == cudaGraphNodeTypeEventRecord)
        params.eventRecord.event = event;
    else
        params.eventWait.event = event;
    return params;
}

cudaError_t acu_sim_cudaGraphAddEventRecordNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                                const cudaGraphNode_t *pDependencies,
                                                size_t numDependencies, cudaEvent_t event) {
    struct cudaGraphNodeParams params = event_node(cudaGraphNodeTypeEventRecord, event);
    return acu_sim_node_add(pGraphNode, graph, pDependencies, NULL, numDependencies, &params);
}

cudaError_t acu_sim_cudaGraphAddEventWaitNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                              const cudaGraphNode_t *pDependencies,
                                              size_t numDependencies, cudaEvent_t event) {
    struct cudaGraphNodeParams params = event_node(cudaGraphNodeTypeWaitEvent, event);
    return acu_sim_node_add(pGraphNode, graph, pDependencies, NULL, numDependencies, &params);
}

cudaError_t acu_sim_cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event_out) {
    struct cudaGraphNodeParams params;
    cudaError_t result =
        acu_sim_node_get_params(node, cudaGraphNodeTypeEventRecord, event_out ? &params : NULL);
    if (!result && event_out)
        *event_out = params.eventRecord.event;
    return result;
}

cudaError_t acu_sim_cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event_out) {
    struct cudaGraphNodeParams params;
    cudaError_t result =
        acu_sim_node_get_params(node, cudaGraphNodeTypeWaitEvent, event_out ? &params : NULL);
    if (!result && event_out)
        *event_out = params.eventWait.event;
    return result;
}

cudaError_t acu_sim_cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
    const struct cudaGraphNodeParams params = event_node(cudaGraphNodeTypeEventRecord, event);
    return acu_sim_node_set_params(node, &params);
}

cudaError_t acu_sim_cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
    const struct cudaGraphNodeParams params = event_node(cudaGraphNodeTypeWaitEvent, event);
    return acu_sim_node_set_params(node, &params);
}

cudaError_t acu_sim_cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t hGraphExec,
                                                         cudaGraphNode_t hNode, cudaEvent_t event) {
    const struct cudaGraphNodeParams params = event_node(cudaGraphNodeTypeEventRecord, event);
    return acu_sim_update_set_params(hGraphExec, hNode, &params);
}

cudaError_t acu_sim_cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t hGraphExec,
                                                       cudaGraphNode_t hNode, cudaEvent_t event) {
    const struct cudaGraphNodeParams params = event_node(cudaGraphNodeTypeWaitEvent, event);
    return acu_sim_update_set_params(hGraphExec, hNode, &params);
}

/* ---- external semaphores ---- */

static struct cudaGraphNodeParams
signal_node(const struct cudaExternalSemaphoreSignalNodeParams *signal) {
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeExtSemaphoreSignal};
    if (signal) {
        params.extSemSignal.extSemArray = signal->extSemArray;
        params.extSemSignal.paramsArray = signal->paramsArray;
        params.extSemSignal.numExtSems = signal->numExtSems;
    }
    return params;
}

static struct cudaGraphNodeParams
wait_node(const struct cudaExternalSemaphoreWaitNodeParams *wait) {
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeExtSemaphoreWait};
    if (wait) {
        params.extSemWait.extSemArray = wait->extSemArray;
        params.extSemWait.paramsArray = wait->paramsArray;
        params.extSemWait.numExtSems = wait->numExtSems;
    }
    return params;
}

cudaError_t acu_sim_cudaGraphAddExternalSemaphoresSignalNode(
    cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
    size_t numDependencies, const struct cudaExternalSemaphoreSignalNodeParams *nodeParams) {
    struct cudaGraphNodeParams params = signal_node(nodeParams);
    return acu_sim_node_add(pGraphNode, graph, pDependencies, NULL, numDependencies,
                            nodeParams ? &params : NULL);
}

cudaError_t acu_sim_cudaGraphAddExternalSemaphoresWaitNode(
    cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
    size_t numDependencies, const struct cudaExternalSemaphoreWaitNodeParams *nodeParams) {
    struct cudaGraphNodeParams params = wait_node(nodeParams);
    return acu_sim_node_add(pGraphNode, graph, pDependencies, NULL, numDependencies,
                            nodeParams ? &params : NULL);
}

cudaError_t acu_sim_cudaGraphExternalSemaphoresSignalNodeGetParams(
    cudaGraphNode_t hNode, struct cudaExternalSemaphoreSignalNodeParams *params_out) {
    struct cudaGraphNodeParams params;
    cudaError_t result = acu_sim_node_get_params(hNode, cudaGraphNodeTypeExtSemaphoreSignal,
                                                 params_out ? &params : NULL);
    if (!result && params_out)
        *params_out = (struct cudaExternalSemaphoreSignalNodeParams){
            params.extSemSignal.extSemArray, params.extSemSignal.paramsArray,
            params.extSemSignal.numExtSems};
    return result;
}

cudaError_t acu_sim_cudaGraphExternalSemaphoresWaitNodeGetParams(
    cudaGraphNode_t hNode, struct cudaExternalSemaphoreWaitNodeParams *params_out) {
    struct cudaGraphNodeParams params;
    cudaError_t result = acu_sim_node_get_params(hNode, cudaGraphNodeTypeExtSemaphoreWait,
                                                 params_out ? &params : NULL);
    if (!result && params_out)
        *params_out = (struct cudaExternalSemaphoreWaitNodeParams){params.extSemWait.extSemArray,
                                                                   params.extSemWait.paramsArray,
                                                                   params.extSemWait.numExtSems};
    return result;
}

cudaError_t acu_sim_cudaGraphExternalSemaphoresSignalNodeSetParams(
    cudaGraphNode_t hNode, const struct cudaExternalSemaphoreSignalNodeParams *nodeParams) {
    const struct cudaGraphNodeParams params = signal_node(nodeParams);
    return acu_sim_node_set_params(hNode, nodeParams ? &params : NULL);
}

cudaError_t acu_sim_cudaGraphExternalSemaphoresWaitNodeSetParams(
    cudaGraphNode_t hNode, const struct cudaExternalSemaphoreWaitNodeParams *nodeParams) {
    const struct cudaGraphNodeParams params = wait_node(nodeParams);
    return acu_sim_node_set_params(hNode, nodeParams ? &params : NULL);
}

cudaError_t acu_sim_cudaGraphExecExternalSemaphoresSignalNodeSetParams(
    cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
    const struct cudaExternalSemaphoreSignalNodeParams *nodeParams) {
    const struct cudaGraphNodeParams params = signal_node(nodeParams);
    return acu_sim_update_set_params(hGraphExec, hNode, nodeParams ? &params : NULL);
}

cudaError_t acu_sim_cudaGraphExecExternalSemaphoresWaitNodeSetParams(
    cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
    const struct cudaExternalSemaphoreWaitNodeParams *nodeParams) {
    const struct cudaGraphNodeParams params = wait_node(nodeParams);
    return acu_sim_update_set_params(hGraphExec, hNode, nodeParams ? &params : NULL);
}
