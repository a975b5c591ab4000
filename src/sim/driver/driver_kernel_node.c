/*
 * The driver API's kernel nodes. Their parameters have another layout than the runtime's, may name
 * a function, and may name a context.
 */
#include "sim/code/function.h"
#include "sim/code/kernel_launch.h"
#include "sim/code/module.h"
#include "sim/device/context.h"
#include "sim/device/device.h"
#include "sim/driver/driver.h"
#include "sim/graph/node.h"
#include "sim/graph/update.h"
#include "sim/stream/op.h"

#include <string.h>

/* Returns the node's parameters as the runtime has them: a function, or else a kernel. */
static struct cudaGraphNodeParams as_node_params(const CUDA_KERNEL_NODE_PARAMS *kernel) {
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

/* Runs the call with the runtime's parameters while the context that the driver's name, if any, is
 * the thread's current one. */
static cudaError_t
in_context_of(const CUDA_KERNEL_NODE_PARAMS *kernel,
              cudaError_t (*call)(void *data, struct cudaGraphNodeParams *params), void *data) {
    acu_sim_thread *self = acu_sim_self();
    const acu_sim_current before = {.device = self->device, .context = self->context};
    struct cudaGraphNodeParams params = as_node_params(kernel);
    acu_sim_context *context =
        kernel && kernel->ctx ? acu_sim_context_of(kernel->ctx) : acu_sim_context_now();
    if (!context)
        return cudaErrorDeviceUninitialized;
    self->device = context->device->index;
    self->context = context->made ? context : NULL;
    cudaError_t result = call(data, kernel ? &params : NULL);
    self->device = before.device;
    self->context = before.context;
    return result;
}

typedef struct addition {
    CUgraphNode *node;
    CUgraph graph;
    const CUgraphNode *dependencies;
    const cudaGraphEdgeData *edges;
    size_t count;
} addition;

static cudaError_t add(void *data, struct cudaGraphNodeParams *params) {
    const addition *a = data;
    return acu_sim_node_add(a->node, a->graph, a->dependencies, a->edges, a->count, params);
}

cudaError_t acu_sim_cuGraphAddKernelNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                         const CUgraphNode *dependencies, size_t numDependencies,
                                         const CUDA_KERNEL_NODE_PARAMS *nodeParams) {
    addition a = {phGraphNode, hGraph, dependencies, NULL, numDependencies};
    return in_context_of(nodeParams, add, &a);
}

cudaError_t acu_sim_driver_add_kernel_node(CUgraphNode *node, CUgraph graph,
                                           const CUgraphNode *dependencies,
                                           const cudaGraphEdgeData *edges, size_t count,
                                           const CUDA_KERNEL_NODE_PARAMS_v3 *params) {
    CUDA_KERNEL_NODE_PARAMS same;
    addition a = {node, graph, dependencies, edges, count};
    _Static_assert(sizeof same == sizeof *params, "both have the same fields");
    memcpy(&same, params, sizeof same);
    return in_context_of(&same, add, &a);
}

static cudaError_t set_params(void *data, struct cudaGraphNodeParams *params) {
    return acu_sim_node_set_params(*(CUgraphNode *)data, params);
}

cudaError_t acu_sim_cuGraphKernelNodeSetParams(CUgraphNode hNode,
                                               const CUDA_KERNEL_NODE_PARAMS *nodeParams) {
    return in_context_of(nodeParams, set_params, &hNode);
}

typedef struct change {
    CUgraphExec exec;
    CUgraphNode node;
} change;

static cudaError_t set_exec_params(void *data, struct cudaGraphNodeParams *params) {
    const change *c = data;
    return acu_sim_update_set_params(c->exec, c->node, params);
}

cudaError_t acu_sim_cuGraphExecKernelNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                   const CUDA_KERNEL_NODE_PARAMS *nodeParams) {
    change c = {hGraphExec, hNode};
    return in_context_of(nodeParams, set_exec_params, &c);
}

/* Returns the kernel of a library whose function this is; NULL if the program loaded a module. */
static void *kernel_of(const acu_sim_function *f) {
    const acu_sim_library *library = f->module->library;
    return library && library->kernels ? &library->kernels[f - f->module->functions] : NULL;
}

/* A GPU's driver names the function, and its kernel, whichever the program named. */
static void describe(const acu_sim_kernel_launch *p, CUDA_KERNEL_NODE_PARAMS *params) {
    void *kernel = acu_sim_kernel_of_symbol(p->handle);
    *params =
        (CUDA_KERNEL_NODE_PARAMS){.func = (CUfunction)(void *)p->function,
                                  .gridDimX = p->grid[0],
                                  .gridDimY = p->grid[1],
                                  .gridDimZ = p->grid[2],
                                  .blockDimX = p->block[0],
                                  .blockDimY = p->block[1],
                                  .blockDimZ = p->block[2],
                                  .sharedMemBytes = (unsigned)p->shared,
                                  .kernelParams = p->args,
                                  .kern = kernel ? kernel : kernel_of(p->function),
                                  .ctx = acu_sim_context_handle(acu_sim_kernel_launch_context(p))};
}

cudaError_t acu_sim_cuGraphKernelNodeGetParams(CUgraphNode hNode,
                                               CUDA_KERNEL_NODE_PARAMS *nodeParams) {
    const acu_sim_node *node = acu_sim_node_of(hNode);
    if (!nodeParams || !node || node->op->type != cudaGraphNodeTypeKernel)
        return cudaErrorInvalidValue;
    describe(node->op->with.launch, nodeParams);
    return cudaSuccess;
}

cudaError_t acu_sim_cuGraphKernelNodeGetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                                  CUkernelNodeAttrValue *value_out) {
    return acu_sim_cudaGraphKernelNodeGetAttribute(hNode, (cudaLaunchAttributeID)attr,
                                                   (cudaLaunchAttributeValue *)(void *)value_out);
}

cudaError_t acu_sim_cuGraphKernelNodeSetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                                  const CUkernelNodeAttrValue *value) {
    return acu_sim_cudaGraphKernelNodeSetAttribute(
        hNode, (cudaLaunchAttributeID)attr, (const cudaLaunchAttributeValue *)(const void *)value);
}

cudaError_t acu_sim_cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src) {
    return acu_sim_cudaGraphKernelNodeCopyAttributes(dst, src);
}

/* ---- parameters as CUDA 11 has them ---- */

/* Returns the parameters as CUDA 12 has them: with neither a kernel nor a context. */
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

cudaError_t acu_sim_cuGraphAddKernelNode_v1(CUgraphNode *node, CUgraph graph,
                                            const CUgraphNode *dependencies, size_t count,
                                            const CUDA_KERNEL_NODE_PARAMS_v1 *params) {
    CUDA_KERNEL_NODE_PARAMS wide = widen(params);
    return acu_sim_cuGraphAddKernelNode(node, graph, dependencies, count, params ? &wide : NULL);
}

cudaError_t acu_sim_cuGraphKernelNodeGetParams_v1(CUgraphNode node,
                                                  CUDA_KERNEL_NODE_PARAMS_v1 *params) {
    CUDA_KERNEL_NODE_PARAMS wide = {0};
    SIM_TRY(acu_sim_cuGraphKernelNodeGetParams(node, params ? &wide : NULL));
    memcpy(params, &wide, sizeof *params); /* the wider struct begins with the same fields */
    return cudaSuccess;
}

cudaError_t acu_sim_cuGraphKernelNodeSetParams_v1(CUgraphNode node,
                                                  const CUDA_KERNEL_NODE_PARAMS_v1 *params) {
    CUDA_KERNEL_NODE_PARAMS wide = widen(params);
    return acu_sim_cuGraphKernelNodeSetParams(node, params ? &wide : NULL);
}

cudaError_t acu_sim_cuGraphExecKernelNodeSetParams_v1(CUgraphExec exec, CUgraphNode node,
                                                      const CUDA_KERNEL_NODE_PARAMS_v1 *params) {
    CUDA_KERNEL_NODE_PARAMS wide = widen(params);
    return acu_sim_cuGraphExecKernelNodeSetParams(exec, node, params ? &wide : NULL);
}
