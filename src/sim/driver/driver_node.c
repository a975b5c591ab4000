/* Nodes of all types, and conditional handles, for the driver API: its parameters have a layout of
 * their own. Copies, memory and semaphores are not among them. */
#include "sim/driver/driver.h"
#include "sim/graph/node.h"

#include <string.h>

/* Returns the parameters of a node as the runtime has them; false: of this type they are not
 * simulated. A context makes no difference to these types. */
static bool read_node_params(const CUgraphNodeParams *from, struct cudaGraphNodeParams *to) {
    *to = (struct cudaGraphNodeParams){.type = (enum cudaGraphNodeType)from->type};
    switch (from->type) {
    case CU_GRAPH_NODE_TYPE_EMPTY:
        return true;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        to->memset = (struct cudaMemsetParamsV2){.dst = acu_sim_driver_pointer(from->memset.dst),
                                                 .pitch = from->memset.pitch,
                                                 .value = from->memset.value,
                                                 .elementSize = from->memset.elementSize,
                                                 .width = from->memset.width,
                                                 .height = from->memset.height};
        return true;
    case CU_GRAPH_NODE_TYPE_HOST:
        to->host.fn = from->host.fn;
        to->host.userData = from->host.userData;
        return true;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        to->graph.graph = from->graph.graph;
        to->graph.ownership = (enum cudaGraphChildGraphNodeOwnership)from->graph.ownership;
        return true;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        to->eventWait.event = from->eventWait.event;
        return true;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        to->eventRecord.event = from->eventRecord.event;
        return true;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        to->conditional.handle = from->conditional.handle;
        to->conditional.type = (enum cudaGraphConditionalNodeType)from->conditional.type;
        to->conditional.size = from->conditional.size;
        return true;
    default:
        return false;
    }
}

cudaError_t acu_sim_cuGraphAddNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                   const CUgraphNode *dependencies,
                                   const CUgraphEdgeData *dependencyData, size_t numDependencies,
                                   CUgraphNodeParams *nodeParams) {
    const cudaGraphEdgeData *edges = (const cudaGraphEdgeData *)(const void *)dependencyData;
    struct cudaGraphNodeParams params;
    if (nodeParams && nodeParams->type == CU_GRAPH_NODE_TYPE_KERNEL)
        return acu_sim_driver_add_kernel_node(phGraphNode, hGraph, dependencies, edges,
                                              numDependencies, &nodeParams->kernel);
    if (nodeParams && !read_node_params(nodeParams, &params))
        return SIM_REFUSE(cudaErrorNotSupported,
                          "the simulator does not add a node of type %d by cuGraphAddNode; of "
                          "copies, memory and semaphores it has the runtime's calls only",
                          (int)nodeParams->type);
    SIM_TRY(acu_sim_cudaGraphAddNode(phGraphNode, hGraph, dependencies, edges, numDependencies,
                                     nodeParams ? &params : NULL));
    if (nodeParams->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        nodeParams->conditional.phGraph_out = params.conditional.phGraph_out;
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
