/*
 * The driver's graphs: the runtime's by other names, but for kernel nodes, whose parameters have
 * another layout and may name a function.
 */
#include "sim/code/kernel_launch.h"
#include "sim/code/module.h"
#include "sim/device/context.h"
#include "sim/device/device.h"
#include "sim/driver/driver.h"
#include "sim/graph/node.h"
#include "sim/graph/update.h"
#include "sim/stream/op.h"

#include <string.h>

#define GRAPHS(call)     BY_RUNTIME(SIM_NEEDS_DRIVER, call)
#define IN_CONTEXT(call) BY_RUNTIME(SIM_NEEDS_CONTEXT, call)

/* ---- kernel nodes -------------------------------------------------------------------------------
 */

/* A kernel counts where there is no function. */
static struct cudaGraphNodeParams kernel_node(const CUDA_KERNEL_NODE_PARAMS *kernel) {
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeKernel};
    if (!kernel)
        return params;
    params.kernel = (struct cudaKernelNodeParamsV2){
        .func = kernel->func ? (void *)kernel->func : (void *)kernel->kern,
        .gridDim = {kernel->gridDimX, kernel->gridDimY, kernel->gridDimZ},
        .blockDim = {kernel->blockDimX, kernel->blockDimY, kernel->blockDimZ},
        .sharedMemBytes = kernel->sharedMemBytes,
        .kernelParams = kernel->kernelParams,
        .extra = kernel->extra};
    if (kernel->func && !acu_sim_kernel_of(kernel->func))
        params.kernel.functionType = cudaKernelFunctionTypeFunction;
    return params;
}

/* A context is that of the thread, or is made the thread's for the call. */
static CUresult with_kernel(const CUDA_KERNEL_NODE_PARAMS *kernel,
                            cudaError_t (*call)(void *data, struct cudaGraphNodeParams *params),
                            void *data) {
    acu_sim_thread *self = acu_sim_self();
    CUresult why = acu_sim_begin(SIM_NEEDS_CONTEXT);
    if (why)
        return why;
    const acu_sim_current before = {.device = self->device, .context = self->context};
    struct cudaGraphNodeParams params = kernel_node(kernel);
    acu_sim_context *other =
        kernel && kernel->ctx ? acu_sim_context_of(kernel->ctx) : acu_sim_context_now();
    if (!other)
        return acu_sim_end(cudaErrorDeviceUninitialized);
    self->device = other->device->index;
    self->context = other->made ? other : NULL;
    why = acu_sim_end(call(data, kernel ? &params : NULL));
    self->device = before.device;
    self->context = before.context;
    return why;
}

typedef struct added {
    CUgraphNode *node;
    CUgraph graph;
    const CUgraphNode *dependencies;
    size_t count;
} added;

static cudaError_t add(void *data, struct cudaGraphNodeParams *params) {
    const added *a = data;
    return acu_sim_node_add(a->node, a->graph, a->dependencies, NULL, a->count, params);
}

CUresult acu_sim_cuGraphAddKernelNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                      const CUgraphNode *dependencies, size_t numDependencies,
                                      const CUDA_KERNEL_NODE_PARAMS *nodeParams) {
    added a = {phGraphNode, hGraph, dependencies, numDependencies};
    return with_kernel(nodeParams, add, &a);
}

static cudaError_t put(void *data, struct cudaGraphNodeParams *params) {
    return acu_sim_node_set_params(*(CUgraphNode *)data, params);
}

CUresult acu_sim_cuGraphKernelNodeSetParams(CUgraphNode hNode,
                                            const CUDA_KERNEL_NODE_PARAMS *nodeParams) {
    return with_kernel(nodeParams, put, &hNode);
}

typedef struct changed {
    CUgraphExec exec;
    CUgraphNode node;
} changed;

static cudaError_t put_exec(void *data, struct cudaGraphNodeParams *params) {
    const changed *c = data;
    return acu_sim_update_set_params(c->exec, c->node, params);
}

CUresult acu_sim_cuGraphExecKernelNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                const CUDA_KERNEL_NODE_PARAMS *nodeParams) {
    changed c = {hGraphExec, hNode};
    return with_kernel(nodeParams, put_exec, &c);
}

static void describe(const acu_sim_kernel_launch *p, CUDA_KERNEL_NODE_PARAMS *params) {
    void *kernel = acu_sim_kernel_of_symbol(p->handle);
    void *handle = (void *)(uintptr_t)p->handle;
    *params =
        (CUDA_KERNEL_NODE_PARAMS){.func = kernel ? NULL : handle,
                                  .gridDimX = p->grid[0],
                                  .gridDimY = p->grid[1],
                                  .gridDimZ = p->grid[2],
                                  .blockDimX = p->block[0],
                                  .blockDimY = p->block[1],
                                  .blockDimZ = p->block[2],
                                  .sharedMemBytes = (unsigned)p->shared,
                                  .kernelParams = p->args,
                                  .kern = kernel,
                                  .ctx = acu_sim_context_handle(acu_sim_kernel_launch_context(p))};
}

CUresult acu_sim_cuGraphKernelNodeGetParams(CUgraphNode hNode,
                                            CUDA_KERNEL_NODE_PARAMS *nodeParams) {
    cudaError_t result = acu_sim_enter_driver(SIM_NEEDS_DRIVER, NULL);
    const acu_sim_node *node = acu_sim_node_of(hNode);
    if (!result && (!nodeParams || !node || node->op->type != cudaGraphNodeTypeKernel))
        result = cudaErrorInvalidValue;
    if (!result)
        describe(node->op->with.launch, nodeParams);
    acu_sim_leave_driver();
    return acu_sim_driver_result(result);
}

CUresult acu_sim_cuGraphKernelNodeGetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                               CUkernelNodeAttrValue *value_out) {
    GRAPHS(acu_sim_cudaGraphKernelNodeGetAttribute(hNode, (cudaLaunchAttributeID)attr,
                                                   (cudaLaunchAttributeValue *)(void *)value_out));
}

CUresult acu_sim_cuGraphKernelNodeSetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                               const CUkernelNodeAttrValue *value) {
    GRAPHS(acu_sim_cudaGraphKernelNodeSetAttribute(
        hNode, (cudaLaunchAttributeID)attr, (const cudaLaunchAttributeValue *)(const void *)value));
}

CUresult acu_sim_cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src) {
    GRAPHS(acu_sim_cudaGraphKernelNodeCopyAttributes(dst, src));
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

CUresult acu_sim_cuGraphKernelNodeGetParams_v1(CUgraphNode node,
                                               CUDA_KERNEL_NODE_PARAMS_v1 *params) {
    CUDA_KERNEL_NODE_PARAMS wide = {0};
    CUresult result = acu_sim_cuGraphKernelNodeGetParams(node, params ? &wide : NULL);
    if (!result && params)
        memcpy(params, &wide, sizeof *params); /* it begins alike */
    return result;
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

/* ---- graphs -------------------------------------------------------------------------------------
 */

CUresult acu_sim_cuGraphCreate(CUgraph *phGraph, unsigned int flags) {
    GRAPHS(acu_sim_cudaGraphCreate(phGraph, flags));
}

CUresult acu_sim_cuGraphDestroy(CUgraph hGraph) {
    GRAPHS(acu_sim_cudaGraphDestroy(hGraph));
}

CUresult acu_sim_cuGraphClone(CUgraph *phGraphClone, CUgraph originalGraph) {
    GRAPHS(acu_sim_cudaGraphClone(phGraphClone, originalGraph));
}

CUresult acu_sim_cuGraphGetNodes(CUgraph hGraph, CUgraphNode *nodes, size_t *numNodes) {
    GRAPHS(acu_sim_cudaGraphGetNodes(hGraph, nodes, numNodes));
}

CUresult acu_sim_cuGraphGetRootNodes(CUgraph hGraph, CUgraphNode *rootNodes, size_t *numRootNodes) {
    GRAPHS(acu_sim_cudaGraphGetRootNodes(hGraph, rootNodes, numRootNodes));
}

CUresult acu_sim_cuGraphDestroyNode(CUgraphNode hNode) {
    GRAPHS(acu_sim_cudaGraphDestroyNode(hNode));
}

CUresult acu_sim_cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType *type) {
    GRAPHS(acu_sim_cudaGraphNodeGetType(hNode, (enum cudaGraphNodeType *)(void *)type));
}

CUresult acu_sim_cuGraphNodeFindInClone(CUgraphNode *phNode, CUgraphNode hOriginalNode,
                                        CUgraph hClonedGraph) {
    GRAPHS(acu_sim_cudaGraphNodeFindInClone(phNode, hOriginalNode, hClonedGraph));
}

CUresult acu_sim_cuGraphAddEmptyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                     const CUgraphNode *dependencies, size_t numDependencies) {
    GRAPHS(acu_sim_cudaGraphAddEmptyNode(phGraphNode, hGraph, dependencies, numDependencies));
}

CUresult acu_sim_cuGraphAddChildGraphNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                          const CUgraphNode *dependencies, size_t numDependencies,
                                          CUgraph childGraph) {
    GRAPHS(acu_sim_cudaGraphAddChildGraphNode(phGraphNode, hGraph, dependencies, numDependencies,
                                              childGraph));
}

CUresult acu_sim_cuGraphAddDependencies(CUgraph hGraph, const CUgraphNode *from,
                                        const CUgraphNode *to, const CUgraphEdgeData *edgeData,
                                        size_t numDependencies) {
    GRAPHS(acu_sim_cudaGraphAddDependencies(
        hGraph, from, to, (const cudaGraphEdgeData *)(const void *)edgeData, numDependencies));
}

CUresult acu_sim_cuGraphRemoveDependencies(CUgraph hGraph, const CUgraphNode *from,
                                           const CUgraphNode *to, const CUgraphEdgeData *edgeData,
                                           size_t numDependencies) {
    GRAPHS(acu_sim_cudaGraphRemoveDependencies(
        hGraph, from, to, (const cudaGraphEdgeData *)(const void *)edgeData, numDependencies));
}

CUresult acu_sim_cuGraphGetEdges(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to,
                                 CUgraphEdgeData *edgeData, size_t *numEdges) {
    GRAPHS(acu_sim_cudaGraphGetEdges(hGraph, from, to, (cudaGraphEdgeData *)(void *)edgeData,
                                     numEdges));
}

/* ---- instances ----------------------------------------------------------------------------------
 */

CUresult acu_sim_cuGraphInstantiate(CUgraphExec *phGraphExec, CUgraph hGraph,
                                    unsigned long long flags) {
    IN_CONTEXT(acu_sim_cudaGraphInstantiate(phGraphExec, hGraph, flags));
}

CUresult acu_sim_cuGraphExecDestroy(CUgraphExec hGraphExec) {
    GRAPHS(acu_sim_cudaGraphExecDestroy(hGraphExec));
}

CUresult acu_sim_cuGraphLaunch(CUgraphExec hGraphExec, CUstream hStream) {
    IN_CONTEXT(acu_sim_cudaGraphLaunch(hGraphExec, hStream));
}

CUresult acu_sim_cuGraphUpload(CUgraphExec hGraphExec, CUstream hStream) {
    IN_CONTEXT(acu_sim_cudaGraphUpload(hGraphExec, hStream));
}

CUresult acu_sim_cuGraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph,
                                   CUgraphExecUpdateResultInfo *resultInfo) {
    IN_CONTEXT(acu_sim_cudaGraphExecUpdate(hGraphExec, hGraph,
                                           (cudaGraphExecUpdateResultInfo *)(void *)resultInfo));
}

/* ---- capture ------------------------------------------------------------------------------------
 */

CUresult acu_sim_cuStreamBeginCapture(CUstream hStream, CUstreamCaptureMode mode) {
    IN_CONTEXT(acu_sim_cudaStreamBeginCapture(hStream, (enum cudaStreamCaptureMode)mode));
}

CUresult acu_sim_cuStreamEndCapture(CUstream hStream, CUgraph *phGraph) {
    IN_CONTEXT(acu_sim_cudaStreamEndCapture(hStream, phGraph));
}
