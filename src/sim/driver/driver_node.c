/* Nodes of all types, and conditional handles, for the driver API: its parameters have a layout of
 * their own. */
#include "sim/device/device.h"
#include "sim/driver/driver.h"
#include "sim/graph/node.h"
#include "sim/graph/value_node.h"

#include <stddef.h>
#include <string.h>

/* ---- what must be 0 ---- */

/* Returns the bytes of the parameters of the type. */
static size_t size_of(CUgraphNodeType type) {
    const CUgraphNodeParams p = {.type = type};
    const size_t sizes[] = {
        [CU_GRAPH_NODE_TYPE_KERNEL] = sizeof p.kernel,
        [CU_GRAPH_NODE_TYPE_MEMCPY] = sizeof p.memcpy,
        [CU_GRAPH_NODE_TYPE_MEMSET] = sizeof p.memset,
        [CU_GRAPH_NODE_TYPE_HOST] = sizeof p.host,
        [CU_GRAPH_NODE_TYPE_GRAPH] = sizeof p.graph,
        [CU_GRAPH_NODE_TYPE_EMPTY] = 0,
        [CU_GRAPH_NODE_TYPE_WAIT_EVENT] = sizeof p.eventWait,
        [CU_GRAPH_NODE_TYPE_EVENT_RECORD] = sizeof p.eventRecord,
        [CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL] = sizeof p.extSemSignal,
        [CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT] = sizeof p.extSemWait,
        [CU_GRAPH_NODE_TYPE_MEM_ALLOC] = sizeof p.alloc,
        [CU_GRAPH_NODE_TYPE_MEM_FREE] = sizeof p.free,
        [CU_GRAPH_NODE_TYPE_BATCH_MEM_OP] = sizeof p.memOp,
        [CU_GRAPH_NODE_TYPE_CONDITIONAL] = sizeof p.conditional,
    };
    return (size_t)type < sizeof sizes / sizeof *sizes ? sizes[type] : sizeof p.reserved1;
}

static bool is_zero(const void *data, size_t size) {
    const char *bytes = data;
    size_t n = 0;
    while (n < size && !bytes[n])
        n++;
    return n == size;
}

/* What is reserved, and what is behind the parameters of the type, must be 0. */
static cudaError_t validate_reserved(const CUgraphNodeParams *params) {
    const size_t size = size_of(params->type);
    if (is_zero(params->reserved0, sizeof params->reserved0) && !params->reserved2 &&
        is_zero((const char *)params->reserved1 + size, sizeof params->reserved1 - size))
        return cudaSuccess;
    return SIM_REFUSE(cudaErrorInvalidValue,
                      "what is reserved in the parameters, and what is behind those of a node of "
                      "type %d, must be 0",
                      (int)params->type);
}

/* ---- parameters ---- */

/* A context that is named must be alive; which one makes no difference here. */
static cudaError_t validate_context(CUcontext context) {
    return context && !acu_sim_context_device(context) ? cudaErrorContextIsDestroyed : cudaSuccess;
}

static cudaError_t read_copy(const CUDA_MEMCPY_NODE_PARAMS *from, struct cudaGraphNodeParams *to) {
    if (from->flags || from->reserved)
        return SIM_REFUSE(cudaErrorInvalidValue, "flags and what is reserved must be 0");
    SIM_TRY(validate_context(from->copyCtx));
    return acu_sim_driver_copy_of_node(&from->copyParams, &to->memcpy.copyParams);
}

static cudaError_t read_fill(const CUDA_MEMSET_NODE_PARAMS_v2 *from,
                             struct cudaGraphNodeParams *to) {
    to->memset = (struct cudaMemsetParamsV2){.dst = acu_sim_driver_pointer(from->dst),
                                             .pitch = from->pitch,
                                             .value = from->value,
                                             .elementSize = from->elementSize,
                                             .width = from->width,
                                             .height = from->height};
    return validate_context(from->ctx);
}

/* A device must be there, and access must be to read and write; the driver says so otherwise than
 * the runtime. */
static cudaError_t validate_access(const CUDA_MEM_ALLOC_NODE_PARAMS_v2 *alloc) {
    for (size_t i = 0; alloc->accessDescs && i < alloc->accessDescCount; i++) {
        const CUmemAccessDesc *access = &alloc->accessDescs[i];
        if (access->location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
            !acu_sim_device_at(access->location.id))
            return SIM_REFUSE(cudaErrorInvalidDevice, "accessDescs[%zu] names no device", i);
        if (access->flags == CU_MEM_ACCESS_FLAGS_PROT_READ)
            return SIM_REFUSE(cudaErrorNotSupported,
                              "accessDescs[%zu] must grant access to read and write", i);
    }
    return cudaSuccess;
}

static cudaError_t validate_pool(const CUmemPoolProps *props) {
    const size_t end = offsetof(CUmemPoolProps, usage) + sizeof props->usage;
    const CUmemLocationType at = props->location.type;
    if (!is_zero((const char *)props + end, sizeof *props - end) ||
        (unsigned)props->handleTypes > 15)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "poolProps has a type of handle that does not exist, or something where "
                          "it is reserved");
    if (at == CU_MEM_LOCATION_TYPE_HOST || at == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
        at == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT)
        return SIM_REFUSE(cudaErrorNotSupported, "a graph allocates memory of devices only");
    return props->allocType == CU_MEM_ALLOCATION_TYPE_MANAGED
               ? SIM_REFUSE(cudaErrorNotSupported,
                            "the simulator has no graphs that allocate managed memory")
               : cudaSuccess;
}

_Static_assert(sizeof(CUDA_MEM_ALLOC_NODE_PARAMS_v2) == sizeof(struct cudaMemAllocNodeParamsV2),
               "laid out alike");

static cudaError_t read_alloc(const CUDA_MEM_ALLOC_NODE_PARAMS_v2 *from,
                              struct cudaGraphNodeParams *to) {
    SIM_TRY(validate_pool(&from->poolProps));
    memcpy(&to->alloc, from, sizeof to->alloc);
    return validate_access(from);
}

_Static_assert(sizeof(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS) ==
                       sizeof(struct cudaExternalSemaphoreSignalParams) &&
                   sizeof(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS) ==
                       sizeof(struct cudaExternalSemaphoreWaitParams),
               "laid out alike");

static void read_values(const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *from,
                        struct cudaGraphNodeParams *to) {
    const CUDA_BATCH_MEM_OP_NODE_PARAMS values = {from->ctx, from->count, from->paramArray,
                                                  from->flags};
    *to = acu_sim_values_params(&values);
}

/* Reads the parameters of a node as the runtime has them. */
static cudaError_t read_node_params(const CUgraphNodeParams *from, struct cudaGraphNodeParams *to) {
    *to = (struct cudaGraphNodeParams){.type = (enum cudaGraphNodeType)from->type};
    switch (from->type) {
    case CU_GRAPH_NODE_TYPE_EMPTY:
        return cudaSuccess;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return read_copy(&from->memcpy, to);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return read_fill(&from->memset, to);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        return read_alloc(&from->alloc, to);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        to->free.dptr = acu_sim_driver_pointer(from->free.dptr);
        return cudaSuccess;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        read_values(&from->memOp, to);
        return cudaSuccess;
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
        to->extSemSignal.extSemArray = (cudaExternalSemaphore_t *)from->extSemSignal.extSemArray;
        to->extSemSignal.paramsArray = (const void *)from->extSemSignal.paramsArray;
        to->extSemSignal.numExtSems = from->extSemSignal.numExtSems;
        return cudaSuccess;
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
        to->extSemWait.extSemArray = (cudaExternalSemaphore_t *)from->extSemWait.extSemArray;
        to->extSemWait.paramsArray = (const void *)from->extSemWait.paramsArray;
        to->extSemWait.numExtSems = from->extSemWait.numExtSems;
        return cudaSuccess;
    case CU_GRAPH_NODE_TYPE_HOST:
        to->host.fn = from->host.fn;
        to->host.userData = from->host.userData;
        return cudaSuccess;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        to->graph.graph = from->graph.graph;
        to->graph.ownership = (enum cudaGraphChildGraphNodeOwnership)from->graph.ownership;
        return cudaSuccess;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        to->eventWait.event = from->eventWait.event;
        return cudaSuccess;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        to->eventRecord.event = from->eventRecord.event;
        return cudaSuccess;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        to->conditional.handle = from->conditional.handle;
        to->conditional.type = (enum cudaGraphConditionalNodeType)from->conditional.type;
        to->conditional.size = from->conditional.size;
        return cudaSuccess;
    default:
        return acu_sim_driver_knows(&acu_cuda_type_CUgraphNodeType_enum, from->type)
                   ? SIM_REFUSE(cudaErrorNotSupported,
                                "the simulator does not add a node of type %d by cuGraphAddNode",
                                (int)from->type)
                   : SIM_REFUSE(cudaErrorInvalidValue, "no node has the type %d", (int)from->type);
    }
}

/* ---- calls ---- */

cudaError_t acu_sim_cuGraphAddNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                   const CUgraphNode *dependencies,
                                   const CUgraphEdgeData *dependencyData, size_t numDependencies,
                                   CUgraphNodeParams *nodeParams) {
    const cudaGraphEdgeData *edges = (const cudaGraphEdgeData *)(const void *)dependencyData;
    struct cudaGraphNodeParams params;
    if (nodeParams)
        SIM_TRY(validate_reserved(nodeParams));
    if (nodeParams && nodeParams->type == CU_GRAPH_NODE_TYPE_KERNEL)
        return acu_sim_driver_add_kernel_node(phGraphNode, hGraph, dependencies, edges,
                                              numDependencies, &nodeParams->kernel);
    if (nodeParams)
        SIM_TRY(read_node_params(nodeParams, &params));
    if (nodeParams && nodeParams->type == CU_GRAPH_NODE_TYPE_MEMCPY) /* in bytes, so not the next */
        return acu_sim_node_add(phGraphNode, hGraph, dependencies, edges, numDependencies, &params);
    SIM_TRY(acu_sim_cudaGraphAddNode(phGraphNode, hGraph, dependencies, edges, numDependencies,
                                     nodeParams ? &params : NULL));
    if (nodeParams->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        nodeParams->conditional.phGraph_out = params.conditional.phGraph_out;
    if (nodeParams->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        nodeParams->alloc.dptr = (CUdeviceptr)(uintptr_t)params.alloc.dptr;
    return cudaSuccess;
}

cudaError_t acu_sim_cuGraphConditionalHandleCreate(CUgraphConditionalHandle *pHandle_out,
                                                   CUgraph hGraph, CUcontext ctx,
                                                   unsigned defaultLaunchValue, unsigned flags) {
    cudaGraphConditionalHandle handle;
    if (ctx && !acu_sim_context_of(ctx))
        return cudaErrorDeviceUninitialized;
    SIM_TRY(acu_sim_cudaGraphConditionalHandleCreate(pHandle_out ? &handle : NULL, hGraph,
                                                     defaultLaunchValue, flags));
    *pHandle_out = handle;
    return cudaSuccess;
}
