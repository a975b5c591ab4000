/* Parameters of nodes: made for copies and fills, and asked for; attributes of kernel nodes. */
#include "core/call.h"
#include "cudart_abi.h"
#include "safe/graph/node.h"
#include "safe/kernel/code_api.h"
#include "safe/memory/region.h"

#include <string.h>

/* ---- made for copies and fills ---- */

/* A node does something: CUDA's have no bytes otherwise. `name` is the member that says how much.
 */
static int refuse_nothing(const char *call, const acu_buffer *buffer, const char *name,
                          size_t asked, size_t at) {
    if (asked == ACU_REST)
        return acu_fail_on(call, buffer, ACU_ERROR_RANGE,
                           "there are no elements from element %zu on, and a node has at least one",
                           at);
    acu_fail_hint("leave the node out, or write ACU_REST for all elements from the first one on");
    return acu_fail_on(call, buffer, ACU_ERROR_RANGE,
                       "'%s' is 0, but a node has at least one element", name);
}

int acu_node_params_of_copy(const char *call, const acu_copy *copy, acu_node_params *params) {
    if (!copy)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'copy' is NULL");
    const size_t count = acu_buffer_copy_counted(copy).count;
    int code = acu_buffer_check_copy(call, copy->to, copy->to_at, copy->from, copy->from_at, count);
    if (code)
        return code;
    size_t size = acu_dtype_size(copy->to->dtype);
    *params = (acu_node_params){
        .device = acu_buffer_copy_device(copy->to, copy->from, copy->to->object.device),
        .copy = {copy->to->pointer + copy->to_at * size, copy->from->pointer + copy->from_at * size,
                 count * size, acu_buffer_copy_kind(copy->to, copy->from)},
        .count = 2,
        .keeps = {{&copy->to->storage->object, true}, {&copy->from->storage->object, false}}};
    return count ? 0 : refuse_nothing(call, copy->from, "copy->count", copy->count, copy->from_at);
}

void acu_node_hint_at_copy(const acu_copy *copy, int code) {
    if (code == cudaErrorInvalidValue && copy &&
        acu_buffer_copy_is_peer(copy->to, copy->from, copy->to->object.device))
        acu_fail_hint(
            "a node copies what device %d can access: acu_pool_set_access() opens a pool of "
            "device %d to it, acu_device_enable_peer_access() the memory of none",
            copy->to->object.device, copy->from->object.device);
}

/* Returns the bytes of the largest unit that CUDA sets at once, and its value; 0 if CUDA cannot set
 * such an element. */
static unsigned unit_of(const unsigned char *bytes, size_t size, unsigned *value) {
    *value = bytes[0];
    if (memcmp(bytes, bytes + 1, size - 1) == 0)
        return 1;
    if (size != 2 && size != 4)
        return 0;
    uint16_t two;
    memcpy(&two, bytes, 2);
    *value = two;
    if (size == 4)
        memcpy(value, bytes, 4);
    return (unsigned)size;
}

/* Returns whether all rows lie in the buffer. */
static bool rows_fit(const acu_buffer *buffer, size_t at, size_t width, size_t height,
                     size_t pitch) {
    size_t end;
    return !__builtin_mul_overflow(height - 1, pitch, &end) &&
           !__builtin_add_overflow(end, width, &end) && !__builtin_add_overflow(end, at, &end) &&
           end <= buffer->count;
}

/* Finds the elements from a row to the next one, of which `*pitch` is the width so far: of a
 * pitched buffer its own. Returns 0 or a failure recorded for `call`. */
static int find_pitch(const char *call, const acu_fill *fill, size_t *pitch) {
    const acu_buffer *buffer = fill->buffer;
    const size_t size = acu_dtype_size(buffer->dtype);
    if (fill->pitch)
        *pitch = fill->pitch;
    if (fill->pitch || fill->height <= 1 || !buffer->pitched)
        return 0;
    const size_t bytes = acu_pitched_layout_of(buffer)->row_pitch;
    *pitch = bytes / size;
    if (bytes % size == 0)
        return 0;
    acu_fail_hint("capture acu_region_fill(), which knows such rows");
    return acu_fail_on(call, buffer, ACU_ERROR_DTYPE,
                       "rows %zu bytes apart are no whole number of %s", bytes,
                       acu_dtype_name(buffer->dtype));
}

int acu_node_params_of_fill(const char *call, const acu_fill *fill, acu_node_params *params) {
    if (!fill || !fill->element)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'%s' is NULL",
                        fill ? "fill->element" : "fill");
    const acu_buffer *buffer = fill->buffer;
    int code = acu_buffer_check_host_copy(call, buffer, fill->at, fill->dtype, fill->element, 0);
    if (code)
        return code;
    size_t size = acu_dtype_size(buffer->dtype), height = fill->height ? fill->height : 1;
    size_t width = fill->width == ACU_REST ? buffer->count - fill->at : fill->width;
    size_t pitch = width;
    unsigned value = 0, unit = unit_of(fill->element, size, &value);
    if (unit == 0)
        return acu_fail_on(call, buffer, ACU_ERROR_DTYPE, "a node cannot set elements of %zu bytes",
                           size);
    if (width == 0)
        return refuse_nothing(call, buffer, "fill->width", fill->width, fill->at);
    ACU_TRY(find_pitch(call, fill, &pitch));
    if (pitch < width || !rows_fit(buffer, fill->at, width, height, pitch))
        return acu_fail_on(call, buffer, ACU_ERROR_RANGE,
                           "%zu rows of %zu elements, %zu apart, from element %zu on, of %zu",
                           height, width, pitch, fill->at, buffer->count);
    if ((uintptr_t)(buffer->pointer + fill->at * size) % unit != 0)
        return acu_fail_on(call, buffer, ACU_ERROR_DTYPE,
                           "a node cannot set elements of %zu bytes that are not aligned", size);
    *params = (acu_node_params){.device = buffer->object.device,
                                .fill = {.dst = buffer->pointer + fill->at * size,
                                         .pitch = pitch * size,
                                         .value = value,
                                         .elementSize = unit,
                                         .width = width * size / unit,
                                         .height = height},
                                .count = 1,
                                .keeps = {{&buffer->storage->object, true}}};
    return 0;
}

/* ---- asked for ---- */

/* The runtime does not know kernels that were loaded by the driver. */
static int get_kernel(cudaGraphNode_t node, struct cudaKernelNodeParamsV2 *params) {
    acu_saved_record before;
    acu_record_save(&before);
    int code = acu_code_by_runtime.get_node_params(node, params);
    if (code != cudaErrorInvalidDeviceFunction)
        return code;
    (void)cudaGetLastError();
    acu_record_restore(&before);
    return acu_code_by_driver.get_node_params(node, params);
}

static int get_fill(cudaGraphNode_t node, struct cudaMemsetParamsV2 *params) {
    struct cudaMemsetParams p = {0};
    int code = (int)cudaGraphMemsetNodeGetParams(node, &p);
    *params = (struct cudaMemsetParamsV2){p.dst,   p.pitch,  p.value, p.elementSize,
                                          p.width, p.height, NULL};
    return code;
}

static int get_host(cudaGraphNode_t node, struct cudaHostNodeParamsV2 *params) {
    struct cudaHostNodeParams p = {0};
    int code = (int)cudaGraphHostNodeGetParams(node, &p);
    *params = (struct cudaHostNodeParamsV2){.fn = p.fn, .userData = p.userData};
    return code;
}

static int get_signal(cudaGraphNode_t node, struct cudaExternalSemaphoreSignalNodeParamsV2 *to) {
    struct cudaExternalSemaphoreSignalNodeParams p = {0};
    int code = (int)cudaGraphExternalSemaphoresSignalNodeGetParams(node, &p);
    to->extSemArray = p.extSemArray;
    to->paramsArray = p.paramsArray;
    to->numExtSems = p.numExtSems;
    return code;
}

static int get_wait(cudaGraphNode_t node, struct cudaExternalSemaphoreWaitNodeParamsV2 *to) {
    struct cudaExternalSemaphoreWaitNodeParams p = {0};
    int code = (int)cudaGraphExternalSemaphoresWaitNodeGetParams(node, &p);
    to->extSemArray = p.extSemArray;
    to->paramsArray = p.paramsArray;
    to->numExtSems = p.numExtSems;
    return code;
}

static int get_alloc(cudaGraphNode_t node, struct cudaMemAllocNodeParamsV2 *to) {
    struct cudaMemAllocNodeParams p = {.poolProps = {.allocType = cudaMemAllocationTypeInvalid}};
    int code = (int)cudaGraphMemAllocNodeGetParams(node, &p);
    *to = (struct cudaMemAllocNodeParamsV2){p.poolProps, p.accessDescs, p.accessDescCount,
                                            p.bytesize, p.dptr};
    return code;
}

/* Before 13.2 the runtime has one function for each type of node, and none for some. */
static int get_by_type(cudaGraphNode_t node, struct cudaGraphNodeParams *params) {
    switch ((int)params->type) {
    case cudaGraphNodeTypeKernel:
        return get_kernel(node, &params->kernel);
    case cudaGraphNodeTypeMemcpy:
        return (int)cudaGraphMemcpyNodeGetParams(node, &params->memcpy.copyParams);
    case cudaGraphNodeTypeMemset:
        return get_fill(node, &params->memset);
    case cudaGraphNodeTypeHost:
        return get_host(node, &params->host);
    case cudaGraphNodeTypeGraph:
        return (int)cudaGraphChildGraphNodeGetGraph(node, &params->graph.graph);
    case cudaGraphNodeTypeWaitEvent:
        return (int)cudaGraphEventWaitNodeGetEvent(node, &params->eventWait.event);
    case cudaGraphNodeTypeEventRecord:
        return (int)cudaGraphEventRecordNodeGetEvent(node, &params->eventRecord.event);
    case cudaGraphNodeTypeExtSemaphoreSignal:
        return get_signal(node, &params->extSemSignal);
    case cudaGraphNodeTypeExtSemaphoreWait:
        return get_wait(node, &params->extSemWait);
    case cudaGraphNodeTypeMemAlloc:
        return get_alloc(node, &params->alloc);
    case cudaGraphNodeTypeMemFree:
        return (int)cudaGraphMemFreeNodeGetParams(node, &params->free.dptr);
    case cudaGraphNodeTypeEmpty:
        return 0;
    default:
        return (int)cudaGraphNodeGetParams(node, params);
    }
}

/* The function for all types needs a driver that is not older than the runtime. */
int acu_node_read_params(cudaGraphNode_t node, struct cudaGraphNodeParams *params) {
    acu_saved_record before;
    acu_record_save(&before);
    if (acu_call_exists(&acu_function_cudaGraphNodeGetParams)) {
        int code = (int)cudaGraphNodeGetParams(node, params);
        if (code != cudaErrorCallRequiresNewerDriver)
            return code;
        (void)cudaGetLastError();
        acu_record_restore(&before);
    }
    int code = acu_node_read_type(node, &params->type);
    return code ? code : get_by_type(node, params);
}

acu_result acu_node_get_params(acu_node node, struct cudaGraphNodeParams *params) {
    ACU_SCOPE();
    cudaGraphNode_t raw = NULL;
    ACU_NEED_POINTER(params);
    memset(params, 0, sizeof *params);
    ACU_TRY(acu_node_check(__func__, node, &raw));
    acu_graph_lock();
    int code = acu_node_read_params(raw, params);
    acu_graph_unlock();
    return acu_outcome(__func__, node.graph, code);
}

/* ---- attributes ---- */

acu_result acu_node_get_attribute(acu_node node, struct cudaLaunchAttribute_st *attribute) {
    ACU_SCOPE();
    cudaGraphNode_t raw = NULL;
    ACU_NEED_POINTER(attribute);
    ACU_TRY(acu_node_check(__func__, node, &raw));
    acu_graph_lock();
    int code = (int)cudaGraphKernelNodeGetAttribute(raw, attribute->id, &attribute->val);
    acu_graph_unlock();
    return acu_outcome(__func__, node.graph, code);
}

/* Sets an attribute, under the lock. Returns CUDA's code. */
static int set_attribute(acu_graph *graph, cudaGraphNode_t raw, cudaLaunchAttributeID id,
                         const cudaLaunchAttributeValue *value) {
    const int code = (int)cudaGraphKernelNodeSetAttribute(raw, id, value);
    if (!code && id == cudaLaunchAttributeDeviceUpdatableKernelNode)
        graph->root->updatable = true; /* CUDA cannot take this back */
    return code;
}

acu_result acu_node_set_attribute(acu_node node, const struct cudaLaunchAttribute_st *attribute) {
    ACU_SCOPE();
    cudaGraphNode_t raw = NULL;
    ACU_NEED_POINTER(attribute);
    ACU_TRY(acu_node_check(__func__, node, &raw));
    acu_graph_lock();
    int code = set_attribute(node.graph, raw, attribute->id, &attribute->val);
    acu_graph_unlock();
    return acu_outcome(__func__, node.graph, code);
}

acu_result acu_node_copy_attributes(acu_node to, acu_node from) {
    ACU_SCOPE();
    cudaGraphNode_t raw_to = NULL, raw_from = NULL;
    ACU_TRY(acu_node_check(__func__, to, &raw_to));
    ACU_TRY(acu_node_check(__func__, from, &raw_from));
    acu_graph_lock();
    int code = (int)cudaGraphKernelNodeCopyAttributes(raw_to, raw_from);
    acu_graph_unlock();
    return acu_outcome(__func__, to.graph, code);
}

/* Lets kernels change the node, and asks for its handle. CUDA may write it when the attribute is
 * set, but promises it for the question only. */
static int make_updatable(acu_graph *graph, cudaGraphNode_t raw, cudaGraphDeviceNode_t *handle) {
    const cudaLaunchAttributeID id = cudaLaunchAttributeDeviceUpdatableKernelNode;
    cudaLaunchAttributeValue value;
    memset(&value, 0, sizeof value);
    value.deviceUpdatableKernelNode.deviceUpdatable = 1;
    int code = set_attribute(graph, raw, id, &value);
    if (!code)
        code = (int)cudaGraphKernelNodeGetAttribute(raw, id, &value);
    if (!code)
        *handle = value.deviceUpdatableKernelNode.devNode;
    return code;
}

acu_result acu_node_set_updatable(acu_node node, struct CUgraphDeviceUpdatableNode_st **handle) {
    ACU_SCOPE();
    cudaGraphNode_t raw = NULL;
    ACU_NEED_POINTER(handle);
    *handle = NULL;
    ACU_TRY(acu_node_check(__func__, node, &raw));
    acu_graph_lock();
    int code = make_updatable(node.graph, raw, handle);
    acu_graph_unlock();
    return acu_outcome(__func__, node.graph, code);
}
