/*
 * Variables of device code that the host program names: each is found, and then the call is that
 * for its memory. Those of modules that the program loaded, cudaLibraryGetGlobal() finds.
 */
#include "sim/code/compiled.h"
#include "sim/device/context.h"

/* Part of a variable. */
typedef struct place {
    const void *symbol;
    size_t count, offset;
} place;

/* A whole call: finds the variable in the current context. `judged`: what else it is given is good.
 */
static cudaError_t find(const place *p, bool judged, cudaError_t otherwise, char **at) {
    void *begin = NULL;
    size_t size = 0;
    cudaError_t result = acu_sim_enter(SIM_NEEDS_CONTEXT, NULL);
    if (!result && !judged)
        result = otherwise;
    if (!result)
        result = acu_sim_compiled_variable(p->symbol, acu_sim_context_now(), &begin, &size);
    if (!result && (p->offset > size || p->count > size - p->offset))
        result = cudaErrorInvalidValue;
    if (!result)
        *at = (char *)begin + p->offset;
    return acu_sim_leave(result);
}

cudaError_t acu_sim_cudaGetSymbolAddress(void **devPtr, const void *symbol) {
    char *at = NULL;
    cudaError_t result =
        find(&(place){.symbol = symbol}, devPtr != NULL, cudaErrorInvalidValue, &at);
    if (!result && devPtr)
        *devPtr = at;
    return result;
}

cudaError_t acu_sim_cudaGetSymbolSize(size_t *size, const void *symbol) {
    void *at;
    cudaError_t result = acu_sim_enter(SIM_NEEDS_CONTEXT, NULL);
    if (!result)
        result = size ? acu_sim_compiled_variable(symbol, acu_sim_context_now(), &at, size)
                      : cudaErrorInvalidValue;
    return acu_sim_leave(result);
}

/* A variable is memory of the device. */
static cudaError_t find_to(const place *p, enum cudaMemcpyKind kind, char **at) {
    bool good = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice ||
                kind == cudaMemcpyDefault;
    return find(p, good, cudaErrorInvalidMemcpyDirection, at);
}

static cudaError_t find_from(const place *p, enum cudaMemcpyKind kind, char **at) {
    bool good = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice ||
                kind == cudaMemcpyDefault;
    return find(p, good, cudaErrorInvalidMemcpyDirection, at);
}

cudaError_t acu_sim_cudaMemcpyToSymbol(const void *symbol, const void *src, size_t count,
                                       size_t offset, enum cudaMemcpyKind kind) {
    char *at = NULL;
    cudaError_t result = find_to(&(place){symbol, count, offset}, kind, &at);
    return result ? result : acu_sim_cudaMemcpy(at, src, count, kind);
}

cudaError_t acu_sim_cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t count, size_t offset,
                                         enum cudaMemcpyKind kind) {
    char *at = NULL;
    cudaError_t result = find_from(&(place){symbol, count, offset}, kind, &at);
    return result ? result : acu_sim_cudaMemcpy(dst, at, count, kind);
}

cudaError_t acu_sim_cudaMemcpyToSymbol_ptds(const void *symbol, const void *src, size_t count,
                                            size_t offset, enum cudaMemcpyKind kind) {
    char *at = NULL;
    cudaError_t result = find_to(&(place){symbol, count, offset}, kind, &at);
    return result ? result : acu_sim_cudaMemcpy_ptds(at, src, count, kind);
}

cudaError_t acu_sim_cudaMemcpyFromSymbol_ptds(void *dst, const void *symbol, size_t count,
                                              size_t offset, enum cudaMemcpyKind kind) {
    char *at = NULL;
    cudaError_t result = find_from(&(place){symbol, count, offset}, kind, &at);
    return result ? result : acu_sim_cudaMemcpy_ptds(dst, at, count, kind);
}

cudaError_t acu_sim_cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t count,
                                            size_t offset, enum cudaMemcpyKind kind,
                                            cudaStream_t stream) {
    char *at = NULL;
    cudaError_t result = find_to(&(place){symbol, count, offset}, kind, &at);
    return result ? result : acu_sim_cudaMemcpyAsync(at, src, count, kind, stream);
}

cudaError_t acu_sim_cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t count,
                                              size_t offset, enum cudaMemcpyKind kind,
                                              cudaStream_t stream) {
    char *at = NULL;
    cudaError_t result = find_from(&(place){symbol, count, offset}, kind, &at);
    return result ? result : acu_sim_cudaMemcpyAsync(dst, at, count, kind, stream);
}

/* ---- nodes of graphs ----------------------------------------------------------------------------
 */

cudaError_t acu_sim_cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                                   const cudaGraphNode_t *pDependencies,
                                                   size_t numDependencies, const void *symbol,
                                                   const void *src, size_t count, size_t offset,
                                                   enum cudaMemcpyKind kind) {
    char *at = NULL;
    cudaError_t result = find_to(&(place){symbol, count, offset}, kind, &at);
    return result ? result
                  : acu_sim_cudaGraphAddMemcpyNode1D(pGraphNode, graph, pDependencies,
                                                     numDependencies, at, src, count, kind);
}

cudaError_t acu_sim_cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                                     const cudaGraphNode_t *pDependencies,
                                                     size_t numDependencies, void *dst,
                                                     const void *symbol, size_t count,
                                                     size_t offset, enum cudaMemcpyKind kind) {
    char *at = NULL;
    cudaError_t result = find_from(&(place){symbol, count, offset}, kind, &at);
    return result ? result
                  : acu_sim_cudaGraphAddMemcpyNode1D(pGraphNode, graph, pDependencies,
                                                     numDependencies, dst, at, count, kind);
}

cudaError_t acu_sim_cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void *symbol,
                                                         const void *src, size_t count,
                                                         size_t offset, enum cudaMemcpyKind kind) {
    char *at = NULL;
    cudaError_t result = find_to(&(place){symbol, count, offset}, kind, &at);
    return result ? result : acu_sim_cudaGraphMemcpyNodeSetParams1D(node, at, src, count, kind);
}

cudaError_t acu_sim_cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *dst,
                                                           const void *symbol, size_t count,
                                                           size_t offset,
                                                           enum cudaMemcpyKind kind) {
    char *at = NULL;
    cudaError_t result = find_from(&(place){symbol, count, offset}, kind, &at);
    return result ? result : acu_sim_cudaGraphMemcpyNodeSetParams1D(node, dst, at, count, kind);
}

cudaError_t acu_sim_cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t hGraphExec,
                                                             cudaGraphNode_t node,
                                                             const void *symbol, const void *src,
                                                             size_t count, size_t offset,
                                                             enum cudaMemcpyKind kind) {
    char *at = NULL;
    cudaError_t result = find_to(&(place){symbol, count, offset}, kind, &at);
    return result
               ? result
               : acu_sim_cudaGraphExecMemcpyNodeSetParams1D(hGraphExec, node, at, src, count, kind);
}

cudaError_t acu_sim_cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t hGraphExec,
                                                               cudaGraphNode_t node, void *dst,
                                                               const void *symbol, size_t count,
                                                               size_t offset,
                                                               enum cudaMemcpyKind kind) {
    char *at = NULL;
    cudaError_t result = find_from(&(place){symbol, count, offset}, kind, &at);
    return result
               ? result
               : acu_sim_cudaGraphExecMemcpyNodeSetParams1D(hGraphExec, node, dst, at, count, kind);
}
