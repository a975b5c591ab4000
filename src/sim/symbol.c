/*
 * Variables of device code that the host program names. A compiler registers them with a runtime
 * that it links; of such programs nothing runs here, so that every symbol is unknown. What modules
 * have, cudaLibraryGetGlobal() finds.
 */
#include "sim.h"

static cudaError_t refuse(bool judged, cudaError_t otherwise) {
    cudaError_t result = acu_sim_enter(SIM_NEEDS_CONTEXT, NULL);
    if (!result)
        result = judged ? cudaErrorInvalidSymbol : otherwise;
    return acu_sim_leave(result);
}

cudaError_t acu_sim_cudaGetSymbolAddress(void **devPtr, const void *symbol) {
    (void)symbol;
    return refuse(devPtr != NULL, cudaErrorInvalidValue);
}

cudaError_t acu_sim_cudaGetSymbolSize(size_t *size, const void *symbol) {
    (void)symbol;
    return refuse(size != NULL, cudaErrorInvalidValue);
}

/* A variable is memory of the device. */
static bool is_to(enum cudaMemcpyKind kind) {
    return kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice ||
           kind == cudaMemcpyDefault;
}

static bool is_from(enum cudaMemcpyKind kind) {
    return kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice ||
           kind == cudaMemcpyDefault;
}

cudaError_t acu_sim_cudaMemcpyToSymbol(const void *symbol, const void *src, size_t count,
                                       size_t offset, enum cudaMemcpyKind kind) {
    (void)symbol, (void)src, (void)count, (void)offset;
    return refuse(is_to(kind), cudaErrorInvalidMemcpyDirection);
}

cudaError_t acu_sim_cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t count, size_t offset,
                                         enum cudaMemcpyKind kind) {
    (void)dst, (void)symbol, (void)count, (void)offset;
    return refuse(is_from(kind), cudaErrorInvalidMemcpyDirection);
}

cudaError_t acu_sim_cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t count,
                                            size_t offset, enum cudaMemcpyKind kind,
                                            cudaStream_t stream) {
    (void)stream;
    return acu_sim_cudaMemcpyToSymbol(symbol, src, count, offset, kind);
}

cudaError_t acu_sim_cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t count,
                                              size_t offset, enum cudaMemcpyKind kind,
                                              cudaStream_t stream) {
    (void)stream;
    return acu_sim_cudaMemcpyFromSymbol(dst, symbol, count, offset, kind);
}

/* ---- nodes of graphs ----------------------------------------------------------------------------
 */

cudaError_t acu_sim_cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                                   const cudaGraphNode_t *pDependencies,
                                                   size_t numDependencies, const void *symbol,
                                                   const void *src, size_t count, size_t offset,
                                                   enum cudaMemcpyKind kind) {
    (void)pGraphNode, (void)graph, (void)pDependencies, (void)numDependencies;
    return acu_sim_cudaMemcpyToSymbol(symbol, src, count, offset, kind);
}

cudaError_t acu_sim_cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                                     const cudaGraphNode_t *pDependencies,
                                                     size_t numDependencies, void *dst,
                                                     const void *symbol, size_t count,
                                                     size_t offset, enum cudaMemcpyKind kind) {
    (void)pGraphNode, (void)graph, (void)pDependencies, (void)numDependencies;
    return acu_sim_cudaMemcpyFromSymbol(dst, symbol, count, offset, kind);
}

cudaError_t acu_sim_cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void *symbol,
                                                         const void *src, size_t count,
                                                         size_t offset, enum cudaMemcpyKind kind) {
    (void)node;
    return acu_sim_cudaMemcpyToSymbol(symbol, src, count, offset, kind);
}

cudaError_t acu_sim_cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *dst,
                                                           const void *symbol, size_t count,
                                                           size_t offset,
                                                           enum cudaMemcpyKind kind) {
    (void)node;
    return acu_sim_cudaMemcpyFromSymbol(dst, symbol, count, offset, kind);
}

cudaError_t acu_sim_cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t hGraphExec,
                                                             cudaGraphNode_t node,
                                                             const void *symbol, const void *src,
                                                             size_t count, size_t offset,
                                                             enum cudaMemcpyKind kind) {
    (void)hGraphExec, (void)node;
    return acu_sim_cudaMemcpyToSymbol(symbol, src, count, offset, kind);
}

cudaError_t acu_sim_cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t hGraphExec,
                                                               cudaGraphNode_t node, void *dst,
                                                               const void *symbol, size_t count,
                                                               size_t offset,
                                                               enum cudaMemcpyKind kind) {
    (void)hGraphExec, (void)node;
    return acu_sim_cudaMemcpyFromSymbol(dst, symbol, count, offset, kind);
}
