/* Kernel nodes by the driver, which below 12.8 is the only one to make them of a module's kernels.
 */
#include "driver.h"
#include "graph.h"
#include "module.h"

/* A function, or a kernel, of which there is one for each context. */
static struct cudaGraphNodeParams as_node(const CUDA_KERNEL_NODE_PARAMS *p) {
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeKernel};
    if (!p)
        return params;
    params.kernel.func = p->func ? (void *)p->func : (void *)p->kern;
    params.kernel.functionType =
        p->func ? cudaKernelFunctionTypeFunction : cudaKernelFunctionTypeUnspecified;
    params.kernel.gridDim = (dim3){p->gridDimX, p->gridDimY, p->gridDimZ};
    params.kernel.blockDim = (dim3){p->blockDimX, p->blockDimY, p->blockDimZ};
    params.kernel.sharedMemBytes = p->sharedMemBytes;
    params.kernel.kernelParams = p->kernelParams;
    params.kernel.extra = p->extra;
    return params;
}

CUresult acu_sim_cuGraphAddKernelNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                      const CUgraphNode *dependencies, size_t numDependencies,
                                      const CUDA_KERNEL_NODE_PARAMS *nodeParams) {
    struct cudaGraphNodeParams params = as_node(nodeParams);
    BY_RUNTIME(SIM_NEEDS_CONTEXT, acu_sim_node_add(phGraphNode, hGraph, dependencies, NULL,
                                                   numDependencies, nodeParams ? &params : NULL));
}

CUresult acu_sim_cuGraphKernelNodeSetParams(CUgraphNode hNode,
                                            const CUDA_KERNEL_NODE_PARAMS *nodeParams) {
    const struct cudaGraphNodeParams params = as_node(nodeParams);
    BY_RUNTIME(SIM_NEEDS_CONTEXT, acu_sim_node_put(hNode, nodeParams ? &params : NULL));
}

CUresult acu_sim_cuGraphExecKernelNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                const CUDA_KERNEL_NODE_PARAMS *nodeParams) {
    const struct cudaGraphNodeParams params = as_node(nodeParams);
    BY_RUNTIME(SIM_NEEDS_CONTEXT, acu_sim_exec_put(hGraphExec, hNode, nodeParams ? &params : NULL));
}

static cudaError_t describe(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *out) {
    struct cudaGraphNodeParams params;
    cudaError_t result = acu_sim_node_get(node, cudaGraphNodeTypeKernel, out ? &params : NULL);
    const struct cudaKernelNodeParamsV2 *k = &params.kernel;
    if (result)
        return result;
    bool function = k->functionType == cudaKernelFunctionTypeFunction;
    *out = (CUDA_KERNEL_NODE_PARAMS){.func = function ? (CUfunction)k->func : NULL,
                                     .kern = function ? NULL : (CUkernel)k->func,
                                     .gridDimX = k->gridDim.x,
                                     .gridDimY = k->gridDim.y,
                                     .gridDimZ = k->gridDim.z,
                                     .blockDimX = k->blockDim.x,
                                     .blockDimY = k->blockDim.y,
                                     .blockDimZ = k->blockDim.z,
                                     .sharedMemBytes = k->sharedMemBytes,
                                     .kernelParams = k->kernelParams};
    return result;
}

CUresult acu_sim_cuGraphKernelNodeGetParams(CUgraphNode hNode,
                                            CUDA_KERNEL_NODE_PARAMS *nodeParams) {
    BY_RUNTIME(SIM_NEEDS_CONTEXT, describe(hNode, nodeParams));
}

/* Attributes have the same numbers and layout in both APIs. */
CUresult acu_sim_cuGraphKernelNodeSetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                               const CUkernelNodeAttrValue *value) {
    BY_RUNTIME(SIM_NEEDS_CONTEXT, acu_sim_cudaGraphKernelNodeSetAttribute(
                                      hNode, (cudaLaunchAttributeID)attr,
                                      (const cudaLaunchAttributeValue *)(const void *)value));
}

CUresult acu_sim_cuGraphKernelNodeGetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                               CUkernelNodeAttrValue *value_out) {
    BY_RUNTIME(SIM_NEEDS_CONTEXT, acu_sim_cudaGraphKernelNodeGetAttribute(
                                      hNode, (cudaLaunchAttributeID)attr,
                                      (cudaLaunchAttributeValue *)(void *)value_out));
}

/* ---- what they were below 12.0 ------------------------------------------------------------------
 */

/* Without a kernel and a context. */
static CUDA_KERNEL_NODE_PARAMS widen(const CUDA_KERNEL_NODE_PARAMS_v1 *p) {
    CUDA_KERNEL_NODE_PARAMS wide = {0};
    if (p)
        wide = (CUDA_KERNEL_NODE_PARAMS){.func = p->func,
                                         .gridDimX = p->gridDimX,
                                         .gridDimY = p->gridDimY,
                                         .gridDimZ = p->gridDimZ,
                                         .blockDimX = p->blockDimX,
                                         .blockDimY = p->blockDimY,
                                         .blockDimZ = p->blockDimZ,
                                         .sharedMemBytes = p->sharedMemBytes,
                                         .kernelParams = p->kernelParams,
                                         .extra = p->extra};
    return wide;
}

CUresult acu_sim_cuGraphAddKernelNode_v1(CUgraphNode *node, CUgraph graph,
                                         const CUgraphNode *dependencies, size_t count,
                                         const CUDA_KERNEL_NODE_PARAMS_v1 *params) {
    CUDA_KERNEL_NODE_PARAMS wide = widen(params);
    return acu_sim_cuGraphAddKernelNode(node, graph, dependencies, count, params ? &wide : NULL);
}

CUresult acu_sim_cuGraphKernelNodeSetParams_v1(CUgraphNode node,
                                               const CUDA_KERNEL_NODE_PARAMS_v1 *params) {
    CUDA_KERNEL_NODE_PARAMS wide = widen(params);
    return acu_sim_cuGraphKernelNodeSetParams(node, params ? &wide : NULL);
}

CUresult acu_sim_cuGraphExecKernelNodeSetParams_v1(CUgraphExec exec, CUgraphNode node,
                                                   const CUDA_KERNEL_NODE_PARAMS_v1 *params) {
    CUDA_KERNEL_NODE_PARAMS wide = widen(params);
    return acu_sim_cuGraphExecKernelNodeSetParams(exec, node, params ? &wide : NULL);
}
