/* The driver API's graphs, but for kernel nodes and batches of memory operations: other names for
 * the runtime's functions, with structs of the same layout. */
#include "sim/driver/driver.h"

_Static_assert(sizeof(CUgraphEdgeData) == sizeof(cudaGraphEdgeData), "laid out alike");
_Static_assert(sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS) == sizeof(cudaGraphInstantiateParams),
               "laid out alike");

/* ---- graphs ---- */

cudaError_t acu_sim_cuGraphCreate(CUgraph *phGraph, unsigned int flags) {
    return acu_sim_cudaGraphCreate(phGraph, flags);
}

cudaError_t acu_sim_cuGraphDestroy(CUgraph hGraph) {
    return acu_sim_cudaGraphDestroy(hGraph);
}

cudaError_t acu_sim_cuGraphClone(CUgraph *phGraphClone, CUgraph originalGraph) {
    return acu_sim_cudaGraphClone(phGraphClone, originalGraph);
}

cudaError_t acu_sim_cuGraphGetId(CUgraph graph, unsigned *id) {
    return acu_sim_cudaGraphGetId(graph, id);
}

cudaError_t acu_sim_cuGraphDebugDotPrint(CUgraph graph, const char *path, unsigned flags) {
    return acu_sim_cudaGraphDebugDotPrint(graph, path, flags);
}

cudaError_t acu_sim_cuGraphGetNodes(CUgraph hGraph, CUgraphNode *nodes, size_t *numNodes) {
    return acu_sim_cudaGraphGetNodes(hGraph, nodes, numNodes);
}

cudaError_t acu_sim_cuGraphGetRootNodes(CUgraph hGraph, CUgraphNode *rootNodes,
                                        size_t *numRootNodes) {
    return acu_sim_cudaGraphGetRootNodes(hGraph, rootNodes, numRootNodes);
}

cudaError_t acu_sim_cuGraphAddDependencies(CUgraph hGraph, const CUgraphNode *from,
                                           const CUgraphNode *to, const CUgraphEdgeData *edgeData,
                                           size_t numDependencies) {
    return acu_sim_cudaGraphAddDependencies(
        hGraph, from, to, (const cudaGraphEdgeData *)(const void *)edgeData, numDependencies);
}

cudaError_t acu_sim_cuGraphRemoveDependencies(CUgraph hGraph, const CUgraphNode *from,
                                              const CUgraphNode *to,
                                              const CUgraphEdgeData *edgeData,
                                              size_t numDependencies) {
    return acu_sim_cudaGraphRemoveDependencies(
        hGraph, from, to, (const cudaGraphEdgeData *)(const void *)edgeData, numDependencies);
}

cudaError_t acu_sim_cuGraphGetEdges(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to,
                                    CUgraphEdgeData *edgeData, size_t *numEdges) {
    return acu_sim_cudaGraphGetEdges(hGraph, from, to, (cudaGraphEdgeData *)(void *)edgeData,
                                     numEdges);
}

/* ---- nodes ---- */

cudaError_t acu_sim_cuGraphDestroyNode(CUgraphNode hNode) {
    return acu_sim_cudaGraphDestroyNode(hNode);
}

cudaError_t acu_sim_cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType *type) {
    return acu_sim_cudaGraphNodeGetType(hNode, (enum cudaGraphNodeType *)(void *)type);
}

cudaError_t acu_sim_cuGraphNodeFindInClone(CUgraphNode *phNode, CUgraphNode hOriginalNode,
                                           CUgraph hClonedGraph) {
    return acu_sim_cudaGraphNodeFindInClone(phNode, hOriginalNode, hClonedGraph);
}

cudaError_t acu_sim_cuGraphAddEmptyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                        const CUgraphNode *dependencies, size_t numDependencies) {
    return acu_sim_cudaGraphAddEmptyNode(phGraphNode, hGraph, dependencies, numDependencies);
}

cudaError_t acu_sim_cuGraphAddChildGraphNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                             const CUgraphNode *dependencies,
                                             size_t numDependencies, CUgraph childGraph) {
    return acu_sim_cudaGraphAddChildGraphNode(phGraphNode, hGraph, dependencies, numDependencies,
                                              childGraph);
}

cudaError_t acu_sim_cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *graph) {
    return acu_sim_cudaGraphChildGraphNodeGetGraph(node, graph);
}

cudaError_t acu_sim_cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *nodes,
                                               CUgraphEdgeData *data, size_t *count) {
    return acu_sim_cudaGraphNodeGetDependencies(node, nodes, (cudaGraphEdgeData *)(void *)data,
                                                count);
}

cudaError_t acu_sim_cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes,
                                                 CUgraphEdgeData *data, size_t *count) {
    return acu_sim_cudaGraphNodeGetDependentNodes(node, nodes, (cudaGraphEdgeData *)(void *)data,
                                                  count);
}

cudaError_t acu_sim_cuGraphNodeGetLocalId(CUgraphNode node, unsigned *id) {
    return acu_sim_cudaGraphNodeGetLocalId(node, id);
}

cudaError_t acu_sim_cuGraphNodeGetToolsId(CUgraphNode node, unsigned long long *id) {
    return acu_sim_cudaGraphNodeGetToolsId(node, id);
}

cudaError_t acu_sim_cuGraphNodeGetContainingGraph(CUgraphNode node, CUgraph *graph) {
    return acu_sim_cudaGraphNodeGetContainingGraph(node, graph);
}

/* ---- event nodes ---- */

cudaError_t acu_sim_cuGraphAddEventRecordNode(CUgraphNode *node, CUgraph graph,
                                              const CUgraphNode *after, size_t count,
                                              CUevent event) {
    return acu_sim_cudaGraphAddEventRecordNode(node, graph, after, count, event);
}

cudaError_t acu_sim_cuGraphAddEventWaitNode(CUgraphNode *node, CUgraph graph,
                                            const CUgraphNode *after, size_t count, CUevent event) {
    return acu_sim_cudaGraphAddEventWaitNode(node, graph, after, count, event);
}

cudaError_t acu_sim_cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent *event) {
    return acu_sim_cudaGraphEventRecordNodeGetEvent(node, event);
}

cudaError_t acu_sim_cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent *event) {
    return acu_sim_cudaGraphEventWaitNodeGetEvent(node, event);
}

cudaError_t acu_sim_cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) {
    return acu_sim_cudaGraphEventRecordNodeSetEvent(node, event);
}

cudaError_t acu_sim_cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event) {
    return acu_sim_cudaGraphEventWaitNodeSetEvent(node, event);
}

/* ---- executable graphs ---- */

cudaError_t acu_sim_cuGraphInstantiate(CUgraphExec *phGraphExec, CUgraph hGraph,
                                       unsigned long long flags) {
    return acu_sim_cudaGraphInstantiate(phGraphExec, hGraph, flags);
}

cudaError_t acu_sim_cuGraphInstantiateWithParams(CUgraphExec *exec, CUgraph graph,
                                                 CUDA_GRAPH_INSTANTIATE_PARAMS *params) {
    return acu_sim_cudaGraphInstantiateWithParams(exec, graph,
                                                  (cudaGraphInstantiateParams *)(void *)params);
}

cudaError_t acu_sim_cuGraphExecDestroy(CUgraphExec hGraphExec) {
    return acu_sim_cudaGraphExecDestroy(hGraphExec);
}

cudaError_t acu_sim_cuGraphLaunch(CUgraphExec hGraphExec, CUstream hStream) {
    return acu_sim_cudaGraphLaunch(hGraphExec, hStream);
}

cudaError_t acu_sim_cuGraphUpload(CUgraphExec hGraphExec, CUstream hStream) {
    return acu_sim_cudaGraphUpload(hGraphExec, hStream);
}

cudaError_t acu_sim_cuGraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph,
                                      CUgraphExecUpdateResultInfo *resultInfo) {
    return acu_sim_cudaGraphExecUpdate(hGraphExec, hGraph,
                                       (cudaGraphExecUpdateResultInfo *)(void *)resultInfo);
}

cudaError_t acu_sim_cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t *flags) {
    return acu_sim_cudaGraphExecGetFlags(exec, (unsigned long long *)(void *)flags);
}

cudaError_t acu_sim_cuGraphExecGetId(CUgraphExec exec, unsigned *id) {
    return acu_sim_cudaGraphExecGetId(exec, id);
}

cudaError_t acu_sim_cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned *enabled) {
    return acu_sim_cudaGraphNodeGetEnabled(exec, node, enabled);
}

cudaError_t acu_sim_cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned enabled) {
    return acu_sim_cudaGraphNodeSetEnabled(exec, node, enabled);
}

cudaError_t acu_sim_cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                       CUgraph child) {
    return acu_sim_cudaGraphExecChildGraphNodeSetParams(exec, node, child);
}

cudaError_t acu_sim_cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node,
                                                       CUevent event) {
    return acu_sim_cudaGraphExecEventRecordNodeSetEvent(exec, node, event);
}

cudaError_t acu_sim_cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node,
                                                     CUevent event) {
    return acu_sim_cudaGraphExecEventWaitNodeSetEvent(exec, node, event);
}

/* ---- user objects ---- */

cudaError_t acu_sim_cuUserObjectCreate(CUuserObject *object, void *data, CUhostFn destroy,
                                       unsigned count, unsigned flags) {
    return acu_sim_cudaUserObjectCreate(object, data, destroy, count, flags);
}

cudaError_t acu_sim_cuUserObjectRetain(CUuserObject object, unsigned count) {
    return acu_sim_cudaUserObjectRetain(object, count);
}

cudaError_t acu_sim_cuUserObjectRelease(CUuserObject object, unsigned count) {
    return acu_sim_cudaUserObjectRelease(object, count);
}

cudaError_t acu_sim_cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned count,
                                            unsigned flags) {
    return acu_sim_cudaGraphRetainUserObject(graph, object, count, flags);
}

cudaError_t acu_sim_cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned count) {
    return acu_sim_cudaGraphReleaseUserObject(graph, object, count);
}

/* ---- memory of graphs ---- */

cudaError_t acu_sim_cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute,
                                                 void *value) {
    return acu_sim_cudaDeviceGetGraphMemAttribute(device, (enum cudaGraphMemAttributeType)attribute,
                                                  value);
}

cudaError_t acu_sim_cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute,
                                                 void *value) {
    return acu_sim_cudaDeviceSetGraphMemAttribute(device, (enum cudaGraphMemAttributeType)attribute,
                                                  value);
}

cudaError_t acu_sim_cuDeviceGraphMemTrim(CUdevice device) {
    return acu_sim_cudaDeviceGraphMemTrim(device);
}
