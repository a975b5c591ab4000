/* What nodes were given, as CUDA has it, and the attributes of kernels. */
#include "core/call.h"
#include "safe/kernel/backend.h"
#include "cudart_abi.h"
#include "safe/graph/graph.h"

#include <string.h>

/* Kernels that the driver has loaded are none of the runtime's. */
static int get_kernel(cudaGraphNode_t node, struct cudaKernelNodeParamsV2 *params) {
    acu_saved_record before;
    acu_record_save(&before);
    int code = acu_runtime_backend.get_node_params(node, params);
    if (code != cudaErrorInvalidDeviceFunction)
        return code;
    (void)cudaGetLastError();
    acu_record_restore(&before);
    return acu_driver_backend.get_node_params(node, params);
}

static int get_fill(cudaGraphNode_t node, struct cudaMemsetParamsV2 *params) {
    struct cudaMemsetParams p = {0};
    int code = (int)cudaGraphMemsetNodeGetParams(node, &p);
    *params = (struct cudaMemsetParamsV2){p.dst,   p.pitch,  p.value, p.elementSize,
                                          p.width, p.height, NULL};
    return code;
}

static int get_host(cudaGraphNode_t node, struct cudaHostNodeParamsV2 *params) {
    struct cudaHostNodeParams p = {0};
    int code = (int)cudaGraphHostNodeGetParams(node, &p);
    *params = (struct cudaHostNodeParamsV2){.fn = p.fn, .userData = p.userData};
    return code;
}

static int get_signal(cudaGraphNode_t node, struct cudaExternalSemaphoreSignalNodeParamsV2 *to) {
    struct cudaExternalSemaphoreSignalNodeParams p = {0};
    int code = (int)cudaGraphExternalSemaphoresSignalNodeGetParams(node, &p);
    to->extSemArray = p.extSemArray;
    to->paramsArray = p.paramsArray;
    to->numExtSems = p.numExtSems;
    return code;
}

static int get_wait(cudaGraphNode_t node, struct cudaExternalSemaphoreWaitNodeParamsV2 *to) {
    struct cudaExternalSemaphoreWaitNodeParams p = {0};
    int code = (int)cudaGraphExternalSemaphoresWaitNodeGetParams(node, &p);
    to->extSemArray = p.extSemArray;
    to->paramsArray = p.paramsArray;
    to->numExtSems = p.numExtSems;
    return code;
}

static int get_alloc(cudaGraphNode_t node, struct cudaMemAllocNodeParamsV2 *to) {
    struct cudaMemAllocNodeParams p = {.poolProps = {.allocType = cudaMemAllocationTypeInvalid}};
    int code = (int)cudaGraphMemAllocNodeGetParams(node, &p);
    *to = (struct cudaMemAllocNodeParamsV2){p.poolProps, p.accessDescs, p.accessDescCount,
                                            p.bytesize, p.dptr};
    return code;
}

/* Before 13.2 there is one function for each kind of node, and none for some. */
static int get_of_kind(cudaGraphNode_t node, struct cudaGraphNodeParams *params) {
    switch ((int)params->type) {
    case cudaGraphNodeTypeKernel:
        return get_kernel(node, &params->kernel);
    case cudaGraphNodeTypeMemcpy:
        return (int)cudaGraphMemcpyNodeGetParams(node, &params->memcpy.copyParams);
    case cudaGraphNodeTypeMemset:
        return get_fill(node, &params->memset);
    case cudaGraphNodeTypeHost:
        return get_host(node, &params->host);
    case cudaGraphNodeTypeGraph:
        return (int)cudaGraphChildGraphNodeGetGraph(node, &params->graph.graph);
    case cudaGraphNodeTypeWaitEvent:
        return (int)cudaGraphEventWaitNodeGetEvent(node, &params->eventWait.event);
    case cudaGraphNodeTypeEventRecord:
        return (int)cudaGraphEventRecordNodeGetEvent(node, &params->eventRecord.event);
    case cudaGraphNodeTypeExtSemaphoreSignal:
        return get_signal(node, &params->extSemSignal);
    case cudaGraphNodeTypeExtSemaphoreWait:
        return get_wait(node, &params->extSemWait);
    case cudaGraphNodeTypeMemAlloc:
        return get_alloc(node, &params->alloc);
    case cudaGraphNodeTypeMemFree:
        return (int)cudaGraphMemFreeNodeGetParams(node, &params->free.dptr);
    case cudaGraphNodeTypeEmpty:
        return 0;
    default:
        return (int)cudaGraphNodeGetParams(node, params);
    }
}

/* A driver may be older than the runtime, which then cannot. */
static int get(cudaGraphNode_t node, struct cudaGraphNodeParams *params) {
    acu_saved_record before;
    acu_record_save(&before);
    if (acu_call_exists(&acu_function_cudaGraphNodeGetParams)) {
        int code = (int)cudaGraphNodeGetParams(node, params);
        if (code != cudaErrorCallRequiresNewerDriver)
            return code;
        (void)cudaGetLastError();
        acu_record_restore(&before);
    }
    int code = acu_node_read_type(node, &params->type);
    return code ? code : get_of_kind(node, params);
}

acu_result acu_node_get_params(acu_node node, struct cudaGraphNodeParams *params) {
    cudaGraphNode_t raw = NULL;
    ACU_NEED_POINTER(params);
    memset(params, 0, sizeof *params);
    ACU_TRY(acu_node_check(__func__, node, &raw));
    acu_graph_lock();
    int code = get(raw, params);
    acu_graph_unlock();
    return acu_outcome(__func__, node.graph, code);
}

/* ---- attributes --------------------------------------------------------------------------------
 */

acu_result acu_node_get_attribute(acu_node node, struct cudaLaunchAttribute_st *attribute) {
    cudaGraphNode_t raw = NULL;
    ACU_NEED_POINTER(attribute);
    ACU_TRY(acu_node_check(__func__, node, &raw));
    acu_graph_lock();
    int code = (int)cudaGraphKernelNodeGetAttribute(raw, attribute->id, &attribute->val);
    acu_graph_unlock();
    return acu_outcome(__func__, node.graph, code);
}

acu_result acu_node_set_attribute(acu_node node, const struct cudaLaunchAttribute_st *attribute) {
    cudaGraphNode_t raw = NULL;
    ACU_NEED_POINTER(attribute);
    ACU_TRY(acu_node_check(__func__, node, &raw));
    acu_graph_lock();
    int code = (int)cudaGraphKernelNodeSetAttribute(raw, attribute->id, &attribute->val);
    acu_graph_unlock();
    return acu_outcome(__func__, node.graph, code);
}

acu_result acu_node_copy_attributes(acu_node to, acu_node from) {
    cudaGraphNode_t raw_to = NULL, raw_from = NULL;
    ACU_TRY(acu_node_check(__func__, to, &raw_to));
    ACU_TRY(acu_node_check(__func__, from, &raw_from));
    acu_graph_lock();
    int code = (int)cudaGraphKernelNodeCopyAttributes(raw_to, raw_from);
    acu_graph_unlock();
    return acu_outcome(__func__, to.graph, code);
}
