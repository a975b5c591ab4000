/* Kernel nodes: their parameters, and their attributes, which are attributes of a kernel launch. */
#include "sim/graph/kernel_node.h"

#include "sim/code/compiled.h"
#include "sim/code/kernel_launch.h"
#include "sim/code/module.h"
#include "sim/device/context.h"
#include "sim/device/device.h"
#include "sim/graph/graph.h"
#include "sim/graph/node.h"
#include "sim/graph/update.h"
#include "sim/stream/execution_context.h"
#include "sim/stream/op.h"

#include <stdlib.h>
#include <string.h>

/* ---- parameters ---- */

/* A function of the driver is accepted only if `functionType` says that it is one. */
static cudaError_t validate_function(const struct cudaKernelNodeParamsV2 *params) {
    bool known = params->functionType == cudaKernelFunctionTypeFunction
                     ? acu_sim_function_of(params->func) != NULL
                     : acu_sim_kernel_of_symbol(params->func) != NULL;
    return known ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

/* Makes the operation of a kernel launch. */
static cudaError_t new_launch_op(acu_sim_context *context,
                                 const acu_sim_execution_context *execution, const void *handle,
                                 const cudaLaunchConfig_t *config, void *const *args,
                                 void *const *extra, acu_sim_op **op) {
    acu_sim_kernel_launch *prepared = NULL;
    cudaError_t result = acu_sim_kernel_launch_prepare(context, execution, handle, config, args,
                                                       extra, true, &prepared);
    if (!result && !(*op = acu_sim_kernel_launch_op(prepared)))
        result = cudaErrorMemoryAllocation;
    return result;
}

/* Changed parameters keep the attributes and the context of the node. */
cudaError_t acu_sim_kernel_node_op(const struct cudaKernelNodeParamsV2 *params,
                                   const acu_sim_op *old, acu_sim_op **op) {
    const acu_sim_kernel_launch *before = old ? old->with.launch : NULL;
    const cudaLaunchConfig_t config = {.gridDim = params->gridDim,
                                       .blockDim = params->blockDim,
                                       .dynamicSmemBytes = params->sharedMemBytes,
                                       .attrs = before ? before->attributes : NULL,
                                       .numAttrs = before ? before->attribute_count : 0};
    cudaError_t result = validate_function(params);
    const acu_sim_execution_context *named = acu_sim_execution_context_of(params->ctx);
    acu_sim_context *context = before  ? acu_sim_kernel_launch_context(before)
                               : named ? &named->device->own
                                       : acu_sim_context_now();
    const acu_sim_execution_context *kept =
        old ? acu_sim_execution_context_of(old->execution_context) : named;
    return result ? result
                  : new_launch_op(context, kept, params->func, &config, params->kernelParams,
                                  params->extra, op);
}

/* What nvcc compiled is launched by a handle, and reported by the program's own function. */
void acu_sim_kernel_node_describe(const acu_sim_op *op, struct cudaKernelNodeParamsV2 *params) {
    const acu_sim_kernel_launch *p = op->with.launch;
    const void *host = acu_sim_compiled_host(p->handle);
    params->func = (void *)(uintptr_t)(host ? host : p->handle);
    params->gridDim = (dim3){p->grid[0], p->grid[1], p->grid[2]};
    params->blockDim = (dim3){p->block[0], p->block[1], p->block[2]};
    params->sharedMemBytes = (unsigned)p->shared;
    params->kernelParams = p->args;
    params->functionType = acu_sim_kernel_of_symbol(p->handle) ? cudaKernelFunctionTypeUnspecified
                                                               : cudaKernelFunctionTypeFunction;
}

static struct cudaGraphNodeParams kernel_node(const struct cudaKernelNodeParams *kernel) {
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeKernel};
    if (kernel) {
        params.kernel.func = kernel->func;
        params.kernel.gridDim = kernel->gridDim;
        params.kernel.blockDim = kernel->blockDim;
        params.kernel.sharedMemBytes = kernel->sharedMemBytes;
        params.kernel.kernelParams = kernel->kernelParams;
        params.kernel.extra = kernel->extra;
    }
    return params;
}

cudaError_t acu_sim_cudaGraphAddKernelNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                           const cudaGraphNode_t *pDependencies,
                                           size_t numDependencies,
                                           const struct cudaKernelNodeParams *pNodeParams) {
    struct cudaGraphNodeParams params = kernel_node(pNodeParams);
    return acu_sim_node_add(pGraphNode, graph, pDependencies, NULL, numDependencies,
                            pNodeParams ? &params : NULL);
}

/* CUDA reports kernels by the program's own functions, so that a kernel of a library or of a module
 * is not found. */
cudaError_t acu_sim_cudaGraphKernelNodeGetParams(cudaGraphNode_t node,
                                                 struct cudaKernelNodeParams *pNodeParams) {
    struct cudaGraphNodeParams params;
    cudaError_t result =
        acu_sim_node_get_params(node, cudaGraphNodeTypeKernel, pNodeParams ? &params : NULL);
    if (!result && pNodeParams &&
        (acu_sim_kernel_of(params.kernel.func) || acu_sim_function_of(params.kernel.func)))
        return cudaErrorInvalidDeviceFunction;
    if (!result && pNodeParams)
        *pNodeParams = (struct cudaKernelNodeParams){.func = params.kernel.func,
                                                     .gridDim = params.kernel.gridDim,
                                                     .blockDim = params.kernel.blockDim,
                                                     .sharedMemBytes = params.kernel.sharedMemBytes,
                                                     .kernelParams = params.kernel.kernelParams};
    return result;
}

cudaError_t acu_sim_cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
                                                 const struct cudaKernelNodeParams *pNodeParams) {
    const struct cudaGraphNodeParams params = kernel_node(pNodeParams);
    return acu_sim_node_set_params(node, pNodeParams ? &params : NULL);
}

cudaError_t
acu_sim_cudaGraphExecKernelNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                         const struct cudaKernelNodeParams *pNodeParams) {
    const struct cudaGraphNodeParams params = kernel_node(pNodeParams);
    return acu_sim_update_set_params(hGraphExec, node, pNodeParams ? &params : NULL);
}

/* ---- attributes ---- */

/* Returns whether kernel nodes have the attribute: those that order a launch against other work in
 * its stream are edges in a graph. 11.7 has two of the attributes, by another name. */
static bool is_node_attribute(cudaLaunchAttributeID id) {
    switch ((int)id) {
    case cudaLaunchAttributeAccessPolicyWindow:
    case cudaLaunchAttributeCooperative:
    case cudaLaunchAttributePriority:
        return true;
    case cudaLaunchAttributeIgnore:
    case cudaLaunchAttributeSynchronizationPolicy:
    case cudaLaunchAttributeProgrammaticStreamSerialization:
    case cudaLaunchAttributeProgrammaticEvent:
    case cudaLaunchAttributeLaunchCompletionEvent:
        return false;
    default:
        return acu_sim_knows(&acu_cudart_type_cudaLaunchAttributeID, id);
    }
}

static const cudaLaunchAttribute *find_attribute(const acu_sim_kernel_launch *prepared,
                                                 cudaLaunchAttributeID id) {
    for (unsigned i = 0; i < prepared->attribute_count; i++)
        if (prepared->attributes[i].id == id)
            return &prepared->attributes[i];
    return NULL;
}

/* Returns the kernel node of a handle; NULL if there is none. */
static acu_sim_node *kernel_node_of(cudaGraphNode_t handle) {
    acu_sim_node *node = acu_sim_node_of(handle);
    return node && node->op->type == cudaGraphNodeTypeKernel ? node : NULL;
}

/* Replaces all attributes of a node. */
static cudaError_t set_attributes(acu_sim_node *node, cudaLaunchAttribute *attributes,
                                  unsigned count) {
    acu_sim_op *op = NULL;
    const acu_sim_kernel_launch *p = node->op->with.launch;
    const cudaLaunchConfig_t config = {.gridDim = {p->grid[0], p->grid[1], p->grid[2]},
                                       .blockDim = {p->block[0], p->block[1], p->block[2]},
                                       .dynamicSmemBytes = p->shared,
                                       .attrs = attributes,
                                       .numAttrs = count};
    cudaError_t result = new_launch_op(acu_sim_kernel_launch_context(p),
                                       acu_sim_execution_context_of(node->op->execution_context),
                                       p->handle, &config, p->args, NULL, &op);
    if (result)
        return result;
    op->execution_context = node->op->execution_context;
    acu_sim_op_release(node->op);
    node->op = op;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaGraphKernelNodeGetAttribute(cudaGraphNode_t hNode,
                                                    cudaLaunchAttributeID attr,
                                                    cudaLaunchAttributeValue *value_out) {
    const acu_sim_node *node = kernel_node_of(hNode);
    if (!node || !value_out || !is_node_attribute(attr))
        return cudaErrorInvalidValue;
    const cudaLaunchAttribute *found = find_attribute(node->op->with.launch, attr);
    memset(value_out, 0, sizeof *value_out);
    if (found)
        *value_out = found->val;
    else if (attr == cudaLaunchAttributeMemSyncDomainMap)
        value_out->memSyncDomainMap.remote = 1;
    return cudaSuccess;
}

/* Sets or adds one attribute of a node. */
static cudaError_t set_attribute(acu_sim_node *node, const cudaLaunchAttribute *attribute) {
    const acu_sim_kernel_launch *p = node->op->with.launch;
    unsigned count = p->attribute_count, at = 0;
    cudaLaunchAttribute *all = malloc((count + 1) * sizeof *all);
    if (!all)
        return cudaErrorMemoryAllocation;
    if (count)
        memcpy(all, p->attributes, count * sizeof *all);
    while (at < count && all[at].id != attribute->id)
        at++;
    all[at] = *attribute;
    cudaError_t result = set_attributes(node, all, at == count ? count + 1 : count);
    free(all);
    return result;
}

cudaError_t acu_sim_kernel_node_set_captured_priority(acu_sim_node *node, int priority) {
    const cudaLaunchAttribute attribute = {.id = cudaLaunchAttributePriority,
                                           .val = {.priority = priority}};
    return !priority || find_attribute(node->op->with.launch, attribute.id)
               ? cudaSuccess
               : set_attribute(node, &attribute);
}

/* Returns the data of an edge to the operation; before 12.3 edges have none. */
cudaGraphEdgeData acu_sim_kernel_node_edge(const acu_sim_node *from, const acu_sim_op *to) {
    const cudaLaunchAttribute *attribute =
        to->type == cudaGraphNodeTypeKernel && from->op->type == cudaGraphNodeTypeKernel
            ? find_attribute(to->with.launch, cudaLaunchAttributeProgrammaticStreamSerialization)
            : NULL;
    bool early = attribute && attribute->val.programmaticStreamSerializationAllowed &&
                 acu_sim_knows(&acu_cudart_type_cudaGraphDependencyType_enum_8bit,
                               cudaGraphDependencyTypeProgrammatic);
    return early ? (cudaGraphEdgeData){.from_port = cudaGraphKernelNodePortProgrammatic,
                                       .type = cudaGraphDependencyTypeProgrammatic}
                 : (cudaGraphEdgeData){0};
}

/* Returns the error of a value that a node's attribute cannot have. A node that graphs update from
 * the device stays one. */
static cudaError_t validate_value(const acu_sim_node *node, cudaLaunchAttributeID id,
                                  const cudaLaunchAttributeValue *value) {
    const unsigned domains =
        (unsigned)acu_sim_device_attribute(acu_sim_device_now(), cudaDevAttrMemSyncDomainCount);
    const cudaLaunchAttribute *before = find_attribute(node->op->with.launch, id);
    const cudaLaunchAttribute *cluster =
        find_attribute(node->op->with.launch, cudaLaunchAttributeClusterDimension);
    const int updatable = value->deviceUpdatableKernelNode.deviceUpdatable;
    bool good = true;
    switch ((int)id) {
    case cudaLaunchAttributeMemSyncDomainMap:
        good =
            value->memSyncDomainMap.default_ < domains && value->memSyncDomainMap.remote < domains;
        break;
    case cudaLaunchAttributePreferredClusterDimension: /* beside a size of clusters only */
        good = cluster && cluster->val.clusterDim.x;
        break;
    case cudaLaunchAttributeDeviceUpdatableKernelNode:
        if (before && before->val.deviceUpdatableKernelNode.deviceUpdatable && !updatable)
            return cudaErrorNotSupported;
        good = updatable == 0 || (updatable == 1 && !value->deviceUpdatableKernelNode.devNode);
        break;
    case cudaLaunchAttributeNvlinkUtilCentricScheduling:
        good = value->nvlinkUtilCentricScheduling <= 1;
        break;
    default:
        break;
    }
    return good ? cudaSuccess : cudaErrorInvalidValue;
}

/* ---- nodes that kernels change ---- */

/* How many nodes were ever made updatable; where there is none, no graph is looked through. */
static uintptr_t updatable_nodes;

enum { HANDLES_APART = 256 };

bool acu_sim_kernel_node_gave_handle(cudaGraphDeviceNode_t handle) {
    const uintptr_t number = (uintptr_t)handle;
    return number && number % HANDLES_APART == 0 && number / HANDLES_APART <= updatable_nodes;
}

cudaGraphDeviceNode_t acu_sim_kernel_node_device_handle(const acu_sim_node *node) {
    const cudaLaunchAttribute *found =
        node->op->type == cudaGraphNodeTypeKernel
            ? find_attribute(node->op->with.launch, cudaLaunchAttributeDeviceUpdatableKernelNode)
            : NULL;
    return found && found->val.deviceUpdatableKernelNode.deviceUpdatable
               ? found->val.deviceUpdatableKernelNode.devNode
               : NULL;
}

acu_sim_node *acu_sim_graph_find_updatable(const acu_sim_graph *graph,
                                           cudaGraphDeviceNode_t handle) {
    acu_sim_node *found = NULL;
    for (size_t i = 0; updatable_nodes && !found && i < graph->size; i++) {
        acu_sim_node *node = graph->nodes[i];
        cudaGraphDeviceNode_t its = node ? acu_sim_kernel_node_device_handle(node) : NULL;
        if (its && (!handle || its == handle))
            return node;
        for (unsigned j = 0; node && !found && j < node->body_count; j++)
            found = acu_sim_graph_find_updatable(node->bodies[j], handle);
    }
    return found;
}

bool acu_sim_graph_is_updatable(const acu_sim_graph *graph) {
    return acu_sim_graph_find_updatable(graph, NULL) != NULL;
}

bool acu_sim_graph_own_updatable(acu_sim_graph *graph) {
    bool good = true;
    for (size_t i = 0; updatable_nodes && good && i < graph->size; i++) {
        acu_sim_node *node = graph->nodes[i];
        if (node && acu_sim_kernel_node_device_handle(node)) {
            const acu_sim_kernel_launch *p = node->op->with.launch;
            good = !set_attributes(node, p->attributes, p->attribute_count);
        }
        for (unsigned j = 0; node && good && j < node->body_count; j++)
            good = acu_sim_graph_own_updatable(node->bodies[j]);
    }
    return good;
}

/* Writes the device's handle of a node to the attribute and, as CUDA does, to the program's, which
 * is called constant. A node that is updatable already keeps its handle. */
static void give_handle(const acu_sim_node *node, cudaLaunchAttribute *attribute,
                        const cudaLaunchAttributeValue *theirs) {
    cudaGraphDeviceNode_t handle = acu_sim_kernel_node_device_handle(node);
    cudaLaunchAttributeValue *value = (cudaLaunchAttributeValue *)(uintptr_t)theirs;
    if (!handle)
        handle = (cudaGraphDeviceNode_t)(++updatable_nodes * HANDLES_APART);
    attribute->val.deviceUpdatableKernelNode.devNode = handle;
    value->deviceUpdatableKernelNode.devNode = handle;
}

cudaError_t acu_sim_cudaGraphKernelNodeSetAttribute(cudaGraphNode_t hNode,
                                                    cudaLaunchAttributeID attr,
                                                    const cudaLaunchAttributeValue *value) {
    acu_sim_node *node = kernel_node_of(hNode);
    if (!node || !value || !is_node_attribute(attr))
        return cudaErrorInvalidValue;
    SIM_TRY(validate_value(node, attr, value));
    cudaLaunchAttribute attribute = {.id = attr, .val = *value};
    if (attr == cudaLaunchAttributeDeviceUpdatableKernelNode &&
        value->deviceUpdatableKernelNode.deviceUpdatable)
        give_handle(node, &attribute, value);
    return set_attribute(node, &attribute);
}

cudaError_t acu_sim_cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t hDst, cudaGraphNode_t hSrc) {
    acu_sim_node *to = kernel_node_of(hDst);
    const acu_sim_node *from = kernel_node_of(hSrc);
    if (!to || !from)
        return cudaErrorInvalidValue;
    if (acu_sim_kernel_node_device_handle(to) || acu_sim_kernel_node_device_handle(from))
        return SIM_REFUSE(cudaErrorNotSupported,
                          "attributes are copied neither to nor from a node that the device can "
                          "update");
    const acu_sim_kernel_launch *p = from->op->with.launch;
    return set_attributes(to, p->attributes, p->attribute_count);
}
