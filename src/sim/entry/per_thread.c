/*
 * The variants for files compiled with the per-thread default stream: the same calls, where no
 * stream means the thread's own.
 */
#include "sim/memory/array.h"
#include "sim/memory/copy.h"
#include "sim/memory/pool.h"

static cudaStream_t own(cudaStream_t stream) {
    return stream ? stream : cudaStreamPerThread;
}

cudaError_t acu_sim_cudaMemcpy_ptds(void *dst, const void *src, size_t count,
                                    enum cudaMemcpyKind kind) {
    return acu_sim_copy(dst, src, count, kind, cudaStreamPerThread, false);
}

cudaError_t acu_sim_cudaMemcpyAsync_ptsz(void *dst, const void *src, size_t count,
                                         enum cudaMemcpyKind kind, cudaStream_t stream) {
    return acu_sim_copy(dst, src, count, kind, own(stream), true);
}

cudaError_t acu_sim_cudaMemcpy2D_ptds(void *dst, size_t dpitch, const void *src, size_t spitch,
                                      size_t width, size_t height, enum cudaMemcpyKind kind) {
    const acu_sim_box box = {dst, src, dpitch, spitch, width, height};
    return acu_sim_copy_2d(&box, kind, cudaStreamPerThread, false);
}

cudaError_t acu_sim_cudaMemcpy2DAsync_ptsz(void *dst, size_t dpitch, const void *src, size_t spitch,
                                           size_t width, size_t height, enum cudaMemcpyKind kind,
                                           cudaStream_t stream) {
    return acu_sim_cudaMemcpy2DAsync(dst, dpitch, src, spitch, width, height, kind, own(stream));
}

cudaError_t acu_sim_cudaMemset_ptds(void *devPtr, int value, size_t count) {
    return acu_sim_fill(devPtr, count, value, count, 1, cudaStreamPerThread, false);
}

cudaError_t acu_sim_cudaMemsetAsync_ptsz(void *devPtr, int value, size_t count,
                                         cudaStream_t stream) {
    return acu_sim_fill(devPtr, count, value, count, 1, own(stream), true);
}

cudaError_t acu_sim_cudaMemset2D_ptds(void *devPtr, size_t pitch, int value, size_t width,
                                      size_t height) {
    return acu_sim_fill(devPtr, pitch, value, width, height, cudaStreamPerThread, false);
}

cudaError_t acu_sim_cudaMemset2DAsync_ptsz(void *devPtr, size_t pitch, int value, size_t width,
                                           size_t height, cudaStream_t stream) {
    return acu_sim_fill(devPtr, pitch, value, width, height, own(stream), true);
}

cudaError_t acu_sim_cudaMallocAsync_ptsz(void **devPtr, size_t size, cudaStream_t hStream) {
    return acu_sim_alloc_async(devPtr, size, NULL, own(hStream), SIM_CALLER);
}

cudaError_t acu_sim_cudaMallocFromPoolAsync_ptsz(void **ptr, size_t size, cudaMemPool_t memPool,
                                                 cudaStream_t stream) {
    return acu_sim_alloc_async(ptr, size, &memPool, own(stream), SIM_CALLER);
}

cudaError_t acu_sim_cudaFreeAsync_ptsz(void *devPtr, cudaStream_t hStream) {
    return acu_sim_cudaFreeAsync(devPtr, own(hStream));
}

cudaError_t acu_sim_cudaMemPrefetchAsync_ptsz(const void *devPtr, size_t count,
                                              struct cudaMemLocation location, unsigned int flags,
                                              cudaStream_t stream) {
    return acu_sim_cudaMemPrefetchAsync(devPtr, count, location, flags, own(stream));
}

cudaError_t acu_sim_cudaEventRecord_ptsz(cudaEvent_t event, cudaStream_t stream) {
    return acu_sim_cudaEventRecord(event, own(stream));
}

cudaError_t acu_sim_cudaEventRecordWithFlags_ptsz(cudaEvent_t event, cudaStream_t stream,
                                                  unsigned int flags) {
    return acu_sim_cudaEventRecordWithFlags(event, own(stream), flags);
}

cudaError_t acu_sim_cudaLaunchHostFunc_ptsz(cudaStream_t stream, cudaHostFn_t fn, void *userData) {
    return acu_sim_cudaLaunchHostFunc(own(stream), fn, userData);
}

cudaError_t acu_sim_cudaLaunchHostFunc_v2_ptsz(cudaStream_t stream, cudaHostFn_t fn, void *userData,
                                               unsigned int syncMode) {
    return acu_sim_cudaLaunchHostFunc_v2(own(stream), fn, userData, syncMode);
}

cudaError_t acu_sim_cudaStreamAddCallback_ptsz(cudaStream_t stream, cudaStreamCallback_t callback,
                                               void *userData, unsigned int flags) {
    return acu_sim_cudaStreamAddCallback(own(stream), callback, userData, flags);
}

cudaError_t acu_sim_cudaStreamAttachMemAsync_ptsz(cudaStream_t stream, void *devPtr, size_t length,
                                                  unsigned int flags) {
    return acu_sim_cudaStreamAttachMemAsync(own(stream), devPtr, length, flags);
}

cudaError_t acu_sim_cudaStreamCopyAttributes_ptsz(cudaStream_t dst, cudaStream_t src) {
    return acu_sim_cudaStreamCopyAttributes(own(dst), own(src));
}

cudaError_t acu_sim_cudaStreamGetAttribute_ptsz(cudaStream_t hStream, cudaLaunchAttributeID attr,
                                                cudaLaunchAttributeValue *value_out) {
    return acu_sim_cudaStreamGetAttribute(own(hStream), attr, value_out);
}

cudaError_t acu_sim_cudaStreamSetAttribute_ptsz(cudaStream_t hStream, cudaLaunchAttributeID attr,
                                                const cudaLaunchAttributeValue *value) {
    return acu_sim_cudaStreamSetAttribute(own(hStream), attr, value);
}

cudaError_t acu_sim_cudaStreamGetDevice_ptsz(cudaStream_t hStream, int *device) {
    return acu_sim_cudaStreamGetDevice(own(hStream), device);
}

cudaError_t acu_sim_cudaStreamGetFlags_ptsz(cudaStream_t hStream, unsigned int *flags) {
    return acu_sim_cudaStreamGetFlags(own(hStream), flags);
}

cudaError_t acu_sim_cudaStreamGetId_ptsz(cudaStream_t hStream, unsigned long long *streamId) {
    return acu_sim_cudaStreamGetId(own(hStream), streamId);
}

cudaError_t acu_sim_cudaStreamGetDevResource_ptsz(cudaStream_t hStream, cudaDevResource *resource,
                                                  enum cudaDevResourceType type) {
    return acu_sim_cudaStreamGetDevResource(own(hStream), resource, type);
}

cudaError_t acu_sim_cudaStreamGetPriority_ptsz(cudaStream_t hStream, int *priority) {
    return acu_sim_cudaStreamGetPriority(own(hStream), priority);
}

cudaError_t acu_sim_cudaStreamIsCapturing_ptsz(cudaStream_t stream,
                                               enum cudaStreamCaptureStatus *pCaptureStatus) {
    return acu_sim_cudaStreamIsCapturing(own(stream), pCaptureStatus);
}

cudaError_t acu_sim_cudaStreamQuery_ptsz(cudaStream_t stream) {
    return acu_sim_cudaStreamQuery(own(stream));
}

cudaError_t acu_sim_cudaStreamSynchronize_ptsz(cudaStream_t stream) {
    return acu_sim_cudaStreamSynchronize(own(stream));
}

cudaError_t acu_sim_cudaStreamWaitEvent_ptsz(cudaStream_t stream, cudaEvent_t event,
                                             unsigned int flags) {
    return acu_sim_cudaStreamWaitEvent(own(stream), event, flags);
}

cudaError_t acu_sim_cudaLaunchKernel_ptsz(const void *func, dim3 gridDim, dim3 blockDim,
                                          void **args, size_t sharedMem, cudaStream_t stream) {
    return acu_sim_cudaLaunchKernel(func, gridDim, blockDim, args, sharedMem, own(stream));
}

cudaError_t acu_sim_cudaLaunchCooperativeKernel_ptsz(const void *func, dim3 gridDim, dim3 blockDim,
                                                     void **args, size_t sharedMem,
                                                     cudaStream_t stream) {
    return acu_sim_cudaLaunchCooperativeKernel(func, gridDim, blockDim, args, sharedMem,
                                               own(stream));
}

cudaError_t acu_sim_cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t *config, const void *func,
                                             void **args) {
    cudaLaunchConfig_t mine = config ? *config : (cudaLaunchConfig_t){.stream = NULL};
    mine.stream = own(mine.stream);
    return acu_sim_cudaLaunchKernelExC(config ? &mine : NULL, func, args);
}

cudaError_t acu_sim_cudaStreamBeginCapture_ptsz(cudaStream_t stream,
                                                enum cudaStreamCaptureMode mode) {
    return acu_sim_cudaStreamBeginCapture(own(stream), mode);
}

cudaError_t
acu_sim_cudaStreamBeginRecaptureToGraph_ptsz(cudaStream_t stream, enum cudaStreamCaptureMode mode,
                                             cudaGraph_t graph,
                                             struct cudaGraphRecaptureCallbackData *callbackData) {
    return acu_sim_cudaStreamBeginRecaptureToGraph(own(stream), mode, graph, callbackData);
}

cudaError_t acu_sim_cudaStreamBeginCaptureToGraph_ptsz(cudaStream_t stream, cudaGraph_t graph,
                                                       const cudaGraphNode_t *dependencies,
                                                       const cudaGraphEdgeData *dependencyData,
                                                       size_t numDependencies,
                                                       enum cudaStreamCaptureMode mode) {
    return acu_sim_cudaStreamBeginCaptureToGraph(own(stream), graph, dependencies, dependencyData,
                                                 numDependencies, mode);
}

cudaError_t acu_sim_cudaStreamEndCapture_ptsz(cudaStream_t stream, cudaGraph_t *pGraph) {
    return acu_sim_cudaStreamEndCapture(own(stream), pGraph);
}

cudaError_t acu_sim_cudaStreamGetCaptureInfo_ptsz(
    cudaStream_t stream, enum cudaStreamCaptureStatus *captureStatus_out,
    unsigned long long *id_out, cudaGraph_t *graph_out, const cudaGraphNode_t **dependencies_out,
    const cudaGraphEdgeData **edgeData_out, size_t *numDependencies_out) {
    return acu_sim_cudaStreamGetCaptureInfo(own(stream), captureStatus_out, id_out, graph_out,
                                            dependencies_out, edgeData_out, numDependencies_out);
}

cudaError_t
acu_sim_cudaStreamUpdateCaptureDependencies_ptsz(cudaStream_t stream, cudaGraphNode_t *dependencies,
                                                 const cudaGraphEdgeData *dependencyData,
                                                 size_t numDependencies, unsigned int flags) {
    return acu_sim_cudaStreamUpdateCaptureDependencies(own(stream), dependencies, dependencyData,
                                                       numDependencies, flags);
}

cudaError_t acu_sim_cudaGraphLaunch_ptsz(cudaGraphExec_t graphExec, cudaStream_t stream) {
    return acu_sim_cudaGraphLaunch(graphExec, own(stream));
}

cudaError_t acu_sim_cudaGraphUpload_ptsz(cudaGraphExec_t graphExec, cudaStream_t stream) {
    return acu_sim_cudaGraphUpload(graphExec, own(stream));
}

cudaError_t
acu_sim_cudaGraphInstantiateWithParams_ptsz(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                            cudaGraphInstantiateParams *instantiateParams) {
    if (instantiateParams && instantiateParams->flags & cudaGraphInstantiateFlagUpload)
        instantiateParams->uploadStream = own(instantiateParams->uploadStream);
    return acu_sim_cudaGraphInstantiateWithParams(pGraphExec, graph, instantiateParams);
}

/* ---- arrays and boxes ---------------------------------------------------------------------------
 */

cudaError_t acu_sim_cudaMemcpy3D_ptds(const struct cudaMemcpy3DParms *p) {
    return acu_sim_copy_3d(p, cudaStreamPerThread, false);
}

cudaError_t acu_sim_cudaMemcpy3DAsync_ptsz(const struct cudaMemcpy3DParms *p, cudaStream_t stream) {
    return acu_sim_copy_3d(p, own(stream), true);
}

cudaError_t acu_sim_cudaMemcpy3DPeer_ptds(const struct cudaMemcpy3DPeerParms *p) {
    return acu_sim_copy_3d_peer(p, cudaStreamPerThread, false);
}

cudaError_t acu_sim_cudaMemcpy3DPeerAsync_ptsz(const struct cudaMemcpy3DPeerParms *p,
                                               cudaStream_t stream) {
    return acu_sim_copy_3d_peer(p, own(stream), true);
}

cudaError_t acu_sim_cudaMemset3D_ptds(struct cudaPitchedPtr pitchedDevPtr, int value,
                                      struct cudaExtent extent) {
    return acu_sim_fill_3d(pitchedDevPtr, value, extent, cudaStreamPerThread, false);
}

cudaError_t acu_sim_cudaMemset3DAsync_ptsz(struct cudaPitchedPtr pitchedDevPtr, int value,
                                           struct cudaExtent extent, cudaStream_t stream) {
    return acu_sim_fill_3d(pitchedDevPtr, value, extent, own(stream), true);
}

cudaError_t acu_sim_cudaMemcpy2DToArray_ptds(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                             const void *src, size_t spitch, size_t width,
                                             size_t height, enum cudaMemcpyKind kind) {
    return acu_sim_copy_2d_to_array(dst, wOffset, hOffset, src, spitch, width, height, kind,
                                    cudaStreamPerThread, false);
}

cudaError_t acu_sim_cudaMemcpy2DToArrayAsync_ptsz(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                                  const void *src, size_t spitch, size_t width,
                                                  size_t height, enum cudaMemcpyKind kind,
                                                  cudaStream_t stream) {
    return acu_sim_copy_2d_to_array(dst, wOffset, hOffset, src, spitch, width, height, kind,
                                    own(stream), true);
}

cudaError_t acu_sim_cudaMemcpy2DFromArray_ptds(void *dst, size_t dpitch, cudaArray_const_t src,
                                               size_t wOffset, size_t hOffset, size_t width,
                                               size_t height, enum cudaMemcpyKind kind) {
    return acu_sim_copy_2d_from_array(dst, dpitch, src, wOffset, hOffset, width, height, kind,
                                      cudaStreamPerThread, false);
}

cudaError_t acu_sim_cudaMemcpy2DFromArrayAsync_ptsz(void *dst, size_t dpitch, cudaArray_const_t src,
                                                    size_t wOffset, size_t hOffset, size_t width,
                                                    size_t height, enum cudaMemcpyKind kind,
                                                    cudaStream_t stream) {
    return acu_sim_copy_2d_from_array(dst, dpitch, src, wOffset, hOffset, width, height, kind,
                                      own(stream), true);
}

cudaError_t acu_sim_cudaMemcpy2DArrayToArray_ptds(cudaArray_t dst, size_t wOffsetDst,
                                                  size_t hOffsetDst, cudaArray_const_t src,
                                                  size_t wOffsetSrc, size_t hOffsetSrc,
                                                  size_t width, size_t height,
                                                  enum cudaMemcpyKind kind) {
    return acu_sim_copy_2d_arrays(dst, wOffsetDst, hOffsetDst, src, wOffsetSrc, hOffsetSrc, width,
                                  height, kind, cudaStreamPerThread);
}

cudaError_t acu_sim_cudaMemcpyToArray_ptds(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                           const void *src, size_t count,
                                           enum cudaMemcpyKind kind) {
    return acu_sim_copy_to_array(dst, wOffset, hOffset, src, count, kind, cudaStreamPerThread,
                                 false);
}

cudaError_t acu_sim_cudaMemcpyToArrayAsync_ptsz(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                                const void *src, size_t count,
                                                enum cudaMemcpyKind kind, cudaStream_t stream) {
    return acu_sim_copy_to_array(dst, wOffset, hOffset, src, count, kind, own(stream), true);
}

cudaError_t acu_sim_cudaMemcpyFromArray_ptds(void *dst, cudaArray_const_t src, size_t wOffset,
                                             size_t hOffset, size_t count,
                                             enum cudaMemcpyKind kind) {
    return acu_sim_copy_from_array(dst, src, wOffset, hOffset, count, kind, cudaStreamPerThread,
                                   false);
}

cudaError_t acu_sim_cudaMemcpyFromArrayAsync_ptsz(void *dst, cudaArray_const_t src, size_t wOffset,
                                                  size_t hOffset, size_t count,
                                                  enum cudaMemcpyKind kind, cudaStream_t stream) {
    return acu_sim_copy_from_array(dst, src, wOffset, hOffset, count, kind, own(stream), true);
}

cudaError_t acu_sim_cudaMemcpyArrayToArray_ptds(cudaArray_t dst, size_t wOffsetDst,
                                                size_t hOffsetDst, cudaArray_const_t src,
                                                size_t wOffsetSrc, size_t hOffsetSrc, size_t count,
                                                enum cudaMemcpyKind kind) {
    return acu_sim_copy_arrays(dst, wOffsetDst, hOffsetDst, src, wOffsetSrc, hOffsetSrc, count,
                               kind, cudaStreamPerThread);
}

/* ---- symbols ------------------------------------------------------------------------------------
 */

cudaError_t acu_sim_cudaMemcpyToSymbolAsync_ptsz(const void *symbol, const void *src, size_t count,
                                                 size_t offset, enum cudaMemcpyKind kind,
                                                 cudaStream_t stream) {
    return acu_sim_cudaMemcpyToSymbolAsync(symbol, src, count, offset, kind, own(stream));
}

cudaError_t acu_sim_cudaMemcpyFromSymbolAsync_ptsz(void *dst, const void *symbol, size_t count,
                                                   size_t offset, enum cudaMemcpyKind kind,
                                                   cudaStream_t stream) {
    return acu_sim_cudaMemcpyFromSymbolAsync(dst, symbol, count, offset, kind, own(stream));
}

/* ---- batches ------------------------------------------------------------------------------------
 */

cudaError_t acu_sim_cudaMemcpyBatchAsync_ptsz(void *const *dsts, const void *const *srcs,
                                              const size_t *sizes, size_t count,
                                              struct cudaMemcpyAttributes *attrs, size_t *attrsIdxs,
                                              size_t numAttrs, cudaStream_t stream) {
    return acu_sim_cudaMemcpyBatchAsync(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs,
                                        own(stream));
}

cudaError_t acu_sim_cudaMemcpyWithAttributesAsync_ptsz(void *dst, const void *src, size_t size,
                                                       struct cudaMemcpyAttributes *attr,
                                                       cudaStream_t stream) {
    return acu_sim_cudaMemcpyWithAttributesAsync(dst, src, size, attr, own(stream));
}

cudaError_t acu_sim_cudaMemcpy3DBatchAsync_ptsz(size_t numOps, struct cudaMemcpy3DBatchOp *opList,
                                                unsigned long long flags, cudaStream_t stream) {
    return acu_sim_cudaMemcpy3DBatchAsync(numOps, opList, flags, own(stream));
}

cudaError_t acu_sim_cudaMemcpy3DWithAttributesAsync_ptsz(struct cudaMemcpy3DBatchOp *op,
                                                         unsigned long long flags,
                                                         cudaStream_t stream) {
    return acu_sim_cudaMemcpy3DWithAttributesAsync(op, flags, own(stream));
}

cudaError_t acu_sim_cudaMemPrefetchBatchAsync_ptsz(void **dptrs, size_t *sizes, size_t count,
                                                   struct cudaMemLocation *prefetchLocs,
                                                   size_t *prefetchLocIdxs, size_t numPrefetchLocs,
                                                   unsigned long long flags, cudaStream_t stream) {
    return acu_sim_cudaMemPrefetchBatchAsync(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs,
                                             numPrefetchLocs, flags, own(stream));
}

cudaError_t
acu_sim_cudaMemDiscardAndPrefetchBatchAsync_ptsz(void **dptrs, size_t *sizes, size_t count,
                                                 struct cudaMemLocation *prefetchLocs,
                                                 size_t *prefetchLocIdxs, size_t numPrefetchLocs,
                                                 unsigned long long flags, cudaStream_t stream) {
    return acu_sim_cudaMemDiscardAndPrefetchBatchAsync(
        dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags, own(stream));
}

cudaError_t acu_sim_cudaMemDiscardBatchAsync_ptsz(void **dptrs, size_t *sizes, size_t count,
                                                  unsigned long long flags, cudaStream_t stream) {
    return acu_sim_cudaMemDiscardBatchAsync(dptrs, sizes, count, flags, own(stream));
}

/* ---- semaphores of other APIs -------------------------------------------------------------------
 */

cudaError_t acu_sim_cudaSignalExternalSemaphoresAsync_ptsz(
    const cudaExternalSemaphore_t *extSemArray,
    const struct cudaExternalSemaphoreSignalParams *paramsArray, unsigned int numExtSems,
    cudaStream_t stream) {
    return acu_sim_cudaSignalExternalSemaphoresAsync(extSemArray, paramsArray, numExtSems,
                                                     own(stream));
}

cudaError_t acu_sim_cudaWaitExternalSemaphoresAsync_ptsz(
    const cudaExternalSemaphore_t *extSemArray,
    const struct cudaExternalSemaphoreWaitParams *paramsArray, unsigned int numExtSems,
    cudaStream_t stream) {
    return acu_sim_cudaWaitExternalSemaphoresAsync(extSemArray, paramsArray, numExtSems,
                                                   own(stream));
}
