/* Nodes that copy to and from variables of device code, which the program names by symbols. */
#include "sim/code/symbol.h"

cudaError_t acu_sim_cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                                   const cudaGraphNode_t *pDependencies,
                                                   size_t numDependencies, const void *symbol,
                                                   const void *src, size_t count, size_t offset,
                                                   enum cudaMemcpyKind kind) {
    char *at = NULL;
    cudaError_t result =
        acu_sim_symbol_find_to(&(acu_sim_symbol_part){symbol, count, offset}, kind, &at);
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
    cudaError_t result =
        acu_sim_symbol_find_from(&(acu_sim_symbol_part){symbol, count, offset}, kind, &at);
    return result ? result
                  : acu_sim_cudaGraphAddMemcpyNode1D(pGraphNode, graph, pDependencies,
                                                     numDependencies, dst, at, count, kind);
}

cudaError_t acu_sim_cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void *symbol,
                                                         const void *src, size_t count,
                                                         size_t offset, enum cudaMemcpyKind kind) {
    char *at = NULL;
    cudaError_t result =
        acu_sim_symbol_find_to(&(acu_sim_symbol_part){symbol, count, offset}, kind, &at);
    return result ? result : acu_sim_cudaGraphMemcpyNodeSetParams1D(node, at, src, count, kind);
}

cudaError_t acu_sim_cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *dst,
                                                           const void *symbol, size_t count,
                                                           size_t offset,
                                                           enum cudaMemcpyKind kind) {
    char *at = NULL;
    cudaError_t result =
        acu_sim_symbol_find_from(&(acu_sim_symbol_part){symbol, count, offset}, kind, &at);
    return result ? result : acu_sim_cudaGraphMemcpyNodeSetParams1D(node, dst, at, count, kind);
}

cudaError_t acu_sim_cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t hGraphExec,
                                                             cudaGraphNode_t node,
                                                             const void *symbol, const void *src,
                                                             size_t count, size_t offset,
                                                             enum cudaMemcpyKind kind) {
    char *at = NULL;
    cudaError_t result =
        acu_sim_symbol_find_to(&(acu_sim_symbol_part){symbol, count, offset}, kind, &at);
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
    cudaError_t result =
        acu_sim_symbol_find_from(&(acu_sim_symbol_part){symbol, count, offset}, kind, &at);
    return result
               ? result
               : acu_sim_cudaGraphExecMemcpyNodeSetParams1D(hGraphExec, node, dst, at, count, kind);
}
