/*
 * The driver's calls that the runtime has with the same arguments, one line each: pools, managed
 * memory, objects of graphs, graphs and captures. Enumerations and structs are the same by value.
 */
#include "sim/driver/driver.h"

_Static_assert(sizeof(CUmemPoolProps) == sizeof(struct cudaMemPoolProps), "laid out alike");
_Static_assert(sizeof(CUmemAccessDesc) == sizeof(struct cudaMemAccessDesc), "laid out alike");
_Static_assert(sizeof(CUmemLocation) == sizeof(struct cudaMemLocation), "laid out alike");
_Static_assert(sizeof(CUgraphEdgeData) == sizeof(cudaGraphEdgeData), "laid out alike");
_Static_assert(sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS) == sizeof(cudaGraphInstantiateParams),
               "laid out alike");
_Static_assert(sizeof(CUmemcpyAttributes) == sizeof(struct cudaMemcpyAttributes), "laid out alike");

#define ANYWHERE(name, params, call)                                                               \
    CUresult acu_sim_##name params {                                                               \
        BY_RUNTIME(SIM_NEEDS_DRIVER, call);                                                        \
    }
#define IN_CONTEXT(name, params, call)                                                             \
    CUresult acu_sim_##name params {                                                               \
        BY_RUNTIME(SIM_NEEDS_CONTEXT, call);                                                       \
    }
/* To the runtime's type. */
#define AS(type, value) ((type)(void *)(uintptr_t)(value))

static struct cudaMemLocation as_location(CUmemLocation location) {
    return (struct cudaMemLocation){.type = (enum cudaMemLocationType)location.type,
                                    .id = location.id};
}

/* ---- pools --------------------------------------------------------------------------------------
 */

ANYWHERE(cuMemPoolCreate, (CUmemoryPool * pool, const CUmemPoolProps *props),
         acu_sim_cudaMemPoolCreate(pool, AS(const struct cudaMemPoolProps *, props)))
ANYWHERE(cuMemPoolDestroy, (CUmemoryPool pool), acu_sim_cudaMemPoolDestroy(pool))
ANYWHERE(cuMemPoolTrimTo, (CUmemoryPool pool, size_t keep), acu_sim_cudaMemPoolTrimTo(pool, keep))
ANYWHERE(cuMemPoolGetAttribute, (CUmemoryPool pool, CUmemPool_attribute attribute, void *value),
         acu_sim_cudaMemPoolGetAttribute(pool, (enum cudaMemPoolAttr)attribute, value))
ANYWHERE(cuMemPoolSetAttribute, (CUmemoryPool pool, CUmemPool_attribute attribute, void *value),
         acu_sim_cudaMemPoolSetAttribute(pool, (enum cudaMemPoolAttr)attribute, value))
ANYWHERE(cuMemPoolGetAccess, (CUmemAccess_flags * flags, CUmemoryPool pool, CUmemLocation *who),
         acu_sim_cudaMemPoolGetAccess(AS(enum cudaMemAccessFlags *, flags), pool,
                                      AS(struct cudaMemLocation *, who)))
ANYWHERE(cuMemPoolSetAccess, (CUmemoryPool pool, const CUmemAccessDesc *list, size_t count),
         acu_sim_cudaMemPoolSetAccess(pool, AS(const struct cudaMemAccessDesc *, list), count))
ANYWHERE(cuMemGetDefaultMemPool,
         (CUmemoryPool * pool, CUmemLocation *where, CUmemAllocationType type),
         acu_sim_cudaMemGetDefaultMemPool(pool, AS(struct cudaMemLocation *, where),
                                          (enum cudaMemAllocationType)type))
ANYWHERE(cuMemGetMemPool, (CUmemoryPool * pool, CUmemLocation *where, CUmemAllocationType type),
         acu_sim_cudaMemGetMemPool(pool, AS(struct cudaMemLocation *, where),
                                   (enum cudaMemAllocationType)type))
ANYWHERE(cuMemSetMemPool, (CUmemLocation * where, CUmemAllocationType type, CUmemoryPool pool),
         acu_sim_cudaMemSetMemPool(AS(struct cudaMemLocation *, where),
                                   (enum cudaMemAllocationType)type, pool))

/* ---- managed memory, and many copies ------------------------------------------------------------
 */

IN_CONTEXT(cuMemAdvise, (CUdeviceptr at, size_t size, CUmem_advise advice, CUmemLocation where),
           acu_sim_cudaMemAdvise(AS(void *, at), size, (enum cudaMemoryAdvise)advice,
                                 as_location(where)))
IN_CONTEXT(cuMemPrefetchAsync,
           (CUdeviceptr at, size_t size, CUmemLocation where, unsigned flags, CUstream stream),
           acu_sim_cudaMemPrefetchAsync(AS(void *, at), size, as_location(where), flags, stream))
IN_CONTEXT(cuMemRangeGetAttribute,
           (void *data, size_t room, CUmem_range_attribute attribute, CUdeviceptr at, size_t size),
           acu_sim_cudaMemRangeGetAttribute(data, room, (enum cudaMemRangeAttribute)attribute,
                                            AS(void *, at), size))
IN_CONTEXT(cuMemRangeGetAttributes,
           (void **data, size_t *rooms, CUmem_range_attribute *attributes, size_t count,
            CUdeviceptr at, size_t size),
           acu_sim_cudaMemRangeGetAttributes(data, rooms,
                                             AS(enum cudaMemRangeAttribute *, attributes), count,
                                             AS(void *, at), size))
IN_CONTEXT(cuStreamAttachMemAsync, (CUstream stream, CUdeviceptr at, size_t size, unsigned flags),
           acu_sim_cudaStreamAttachMemAsync(stream, AS(void *, at), size, flags))
IN_CONTEXT(cuMemcpyBatchAsync,
           (CUdeviceptr * to, CUdeviceptr *from, size_t *sizes, size_t count,
            CUmemcpyAttributes *attributes, size_t *indices, size_t attribute_count,
            CUstream stream),
           acu_sim_cudaMemcpyBatchAsync(AS(void *const *, to), AS(const void *const *, from), sizes,
                                        count, AS(struct cudaMemcpyAttributes *, attributes),
                                        indices, attribute_count, stream))

/* ---- graphs -------------------------------------------------------------------------------------
 */

ANYWHERE(cuUserObjectCreate,
         (CUuserObject * object, void *data, CUhostFn destroy, unsigned count, unsigned flags),
         acu_sim_cudaUserObjectCreate(object, data, destroy, count, flags))
ANYWHERE(cuUserObjectRetain, (CUuserObject object, unsigned count),
         acu_sim_cudaUserObjectRetain(object, count))
ANYWHERE(cuUserObjectRelease, (CUuserObject object, unsigned count),
         acu_sim_cudaUserObjectRelease(object, count))
ANYWHERE(cuGraphRetainUserObject,
         (CUgraph graph, CUuserObject object, unsigned count, unsigned flags),
         acu_sim_cudaGraphRetainUserObject(graph, object, count, flags))
ANYWHERE(cuGraphReleaseUserObject, (CUgraph graph, CUuserObject object, unsigned count),
         acu_sim_cudaGraphReleaseUserObject(graph, object, count))
ANYWHERE(cuGraphDebugDotPrint, (CUgraph graph, const char *path, unsigned flags),
         acu_sim_cudaGraphDebugDotPrint(graph, path, flags))
ANYWHERE(cuGraphNodeGetDependencies,
         (CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *data, size_t *count),
         acu_sim_cudaGraphNodeGetDependencies(node, nodes, AS(cudaGraphEdgeData *, data), count))
ANYWHERE(cuGraphNodeGetDependentNodes,
         (CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *data, size_t *count),
         acu_sim_cudaGraphNodeGetDependentNodes(node, nodes, AS(cudaGraphEdgeData *, data), count))
ANYWHERE(cuGraphNodeGetEnabled, (CUgraphExec exec, CUgraphNode node, unsigned *enabled),
         acu_sim_cudaGraphNodeGetEnabled(exec, node, enabled))
ANYWHERE(cuGraphNodeSetEnabled, (CUgraphExec exec, CUgraphNode node, unsigned enabled),
         acu_sim_cudaGraphNodeSetEnabled(exec, node, enabled))
ANYWHERE(cuGraphInstantiateWithParams,
         (CUgraphExec * exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params),
         acu_sim_cudaGraphInstantiateWithParams(exec, graph,
                                                AS(cudaGraphInstantiateParams *, params)))
ANYWHERE(cuGraphExecGetFlags, (CUgraphExec exec, cuuint64_t *flags),
         acu_sim_cudaGraphExecGetFlags(exec, AS(unsigned long long *, flags)))
ANYWHERE(cuGraphGetId, (CUgraph graph, unsigned *id), acu_sim_cudaGraphGetId(graph, id))
ANYWHERE(cuGraphExecGetId, (CUgraphExec exec, unsigned *id), acu_sim_cudaGraphExecGetId(exec, id))
ANYWHERE(cuGraphNodeGetLocalId, (CUgraphNode node, unsigned *id),
         acu_sim_cudaGraphNodeGetLocalId(node, id))
ANYWHERE(cuGraphNodeGetToolsId, (CUgraphNode node, unsigned long long *id),
         acu_sim_cudaGraphNodeGetToolsId(node, id))
ANYWHERE(cuGraphNodeGetContainingGraph, (CUgraphNode node, CUgraph *graph),
         acu_sim_cudaGraphNodeGetContainingGraph(node, graph))
ANYWHERE(cuGraphChildGraphNodeGetGraph, (CUgraphNode node, CUgraph *graph),
         acu_sim_cudaGraphChildGraphNodeGetGraph(node, graph))
ANYWHERE(cuGraphExecChildGraphNodeSetParams, (CUgraphExec exec, CUgraphNode node, CUgraph child),
         acu_sim_cudaGraphExecChildGraphNodeSetParams(exec, node, child))
ANYWHERE(cuDeviceGetGraphMemAttribute,
         (CUdevice device, CUgraphMem_attribute attribute, void *value),
         acu_sim_cudaDeviceGetGraphMemAttribute(device, (enum cudaGraphMemAttributeType)attribute,
                                                value))
ANYWHERE(cuDeviceSetGraphMemAttribute,
         (CUdevice device, CUgraphMem_attribute attribute, void *value),
         acu_sim_cudaDeviceSetGraphMemAttribute(device, (enum cudaGraphMemAttributeType)attribute,
                                                value))
ANYWHERE(cuDeviceGraphMemTrim, (CUdevice device), acu_sim_cudaDeviceGraphMemTrim(device))

/* Nodes with events. */
ANYWHERE(cuGraphAddEventRecordNode,
         (CUgraphNode * node, CUgraph graph, const CUgraphNode *after, size_t count, CUevent event),
         acu_sim_cudaGraphAddEventRecordNode(node, graph, after, count, event))
ANYWHERE(cuGraphAddEventWaitNode,
         (CUgraphNode * node, CUgraph graph, const CUgraphNode *after, size_t count, CUevent event),
         acu_sim_cudaGraphAddEventWaitNode(node, graph, after, count, event))
ANYWHERE(cuGraphEventRecordNodeGetEvent, (CUgraphNode node, CUevent *event),
         acu_sim_cudaGraphEventRecordNodeGetEvent(node, event))
ANYWHERE(cuGraphEventWaitNodeGetEvent, (CUgraphNode node, CUevent *event),
         acu_sim_cudaGraphEventWaitNodeGetEvent(node, event))
ANYWHERE(cuGraphEventRecordNodeSetEvent, (CUgraphNode node, CUevent event),
         acu_sim_cudaGraphEventRecordNodeSetEvent(node, event))
ANYWHERE(cuGraphEventWaitNodeSetEvent, (CUgraphNode node, CUevent event),
         acu_sim_cudaGraphEventWaitNodeSetEvent(node, event))
ANYWHERE(cuGraphExecEventRecordNodeSetEvent, (CUgraphExec exec, CUgraphNode node, CUevent event),
         acu_sim_cudaGraphExecEventRecordNodeSetEvent(exec, node, event))
ANYWHERE(cuGraphExecEventWaitNodeSetEvent, (CUgraphExec exec, CUgraphNode node, CUevent event),
         acu_sim_cudaGraphExecEventWaitNodeSetEvent(exec, node, event))

/* ---- captures -----------------------------------------------------------------------------------
 */

ANYWHERE(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * mode),
         acu_sim_cudaThreadExchangeStreamCaptureMode(AS(enum cudaStreamCaptureMode *, mode)))
IN_CONTEXT(cuStreamBeginCaptureToGraph,
           (CUstream stream, CUgraph graph, const CUgraphNode *after, const CUgraphEdgeData *data,
            size_t count, CUstreamCaptureMode mode),
           acu_sim_cudaStreamBeginCaptureToGraph(stream, graph, after,
                                                 AS(const cudaGraphEdgeData *, data), count,
                                                 (enum cudaStreamCaptureMode)mode))
IN_CONTEXT(cuStreamGetCaptureInfo,
           (CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
            const CUgraphNode **nodes, const CUgraphEdgeData **data, size_t *count),
           acu_sim_cudaStreamGetCaptureInfo(stream, AS(enum cudaStreamCaptureStatus *, status),
                                            AS(unsigned long long *, id), graph, nodes,
                                            AS(const cudaGraphEdgeData **, data), count))
IN_CONTEXT(cuStreamUpdateCaptureDependencies,
           (CUstream stream, CUgraphNode *nodes, const CUgraphEdgeData *data, size_t count,
            unsigned flags),
           acu_sim_cudaStreamUpdateCaptureDependencies(stream, nodes,
                                                       AS(const cudaGraphEdgeData *, data), count,
                                                       flags))
