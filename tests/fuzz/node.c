/* Nodes of all types by cudaGraphAddNode(), and what nodes are made of. */
#include "fuzz.h"

#include <stdio.h>

static void nothing(void *unused_data) {
    (void)unused_data;
}

/* ---- parameters of any type ---- */

static bool choose_kernel(any_parameters *made) {
    const char *chosen;
    const struct cudaKernelNodeParams p = any_kernel_node(&chosen);
    struct cudaKernelNodeParamsV2 *kernel = &made->values.kernel;
    kernel->func = p.func;
    kernel->gridDim.x = p.gridDim.x;
    kernel->gridDim.y = kernel->gridDim.z = 1;
    kernel->blockDim.x = p.blockDim.x;
    kernel->blockDim.y = kernel->blockDim.z = 1;
    kernel->sharedMemBytes = p.sharedMemBytes;
    kernel->kernelParams = p.kernelParams;
    (void)snprintf(made->name, sizeof made->name, "%s %u %u %u", chosen, p.gridDim.x, p.blockDim.x,
                   p.sharedMemBytes);
    return p.func != NULL;
}

static bool choose_copy(any_parameters *made) {
    made->to = any_target();
    made->from = any_place();
    made->values.memcpy.copyParams = any_box(&made->to, &made->from);
    const struct cudaExtent extent = made->values.memcpy.copyParams.extent;
    (void)snprintf(made->name, sizeof made->name, "%s %s %zu %zu %zu", made->to.name,
                   made->from.name, extent.width, extent.height, extent.depth);
    return made->to.room >= 1024 && made->from.room >= 1024 &&
           made->to.object != made->from.object && may_write(&made->to);
}

static bool choose_fill(any_parameters *made) {
    const struct cudaMemsetParams p = any_fill(&made->to);
    struct cudaMemsetParamsV2 *fill = &made->values.memset;
    fill->dst = p.dst;
    fill->pitch = p.pitch;
    fill->value = p.value;
    fill->elementSize = p.elementSize;
    fill->width = p.width;
    fill->height = p.height;
    (void)snprintf(made->name, sizeof made->name, "%s %zu %u %zu %zu", made->to.name, p.pitch,
                   p.elementSize, p.width, p.height);
    return may_write(&made->to);
}

/* A graph in itself crashes CUDA in the end. */
static bool choose_child(any_parameters *made, const object *graph) {
    const object *child = any(GRAPH);
    made->values.graph.graph = child->handle;
    (void)snprintf(made->name, sizeof made->name, "%s", name(child));
    return child->handle && child != graph;
}

static bool choose_event(any_parameters *made) {
    made->event = any(EVENT);
    if (made->values.type == cudaGraphNodeTypeWaitEvent)
        made->values.eventWait.event = made->event->handle;
    else
        made->values.eventRecord.event = made->event->handle;
    (void)snprintf(made->name, sizeof made->name, "%s", name(made->event));
    return true;
}

static bool choose_allocation(any_parameters *made) {
    struct cudaMemAllocNodeParamsV2 *p = &made->values.alloc;
    p->poolProps.allocType = (enum cudaMemAllocationType)ONE_OF(1, 1, 1, 0);
    p->poolProps.location.type = (enum cudaMemLocationType)ONE_OF(1, 1, 1, 0);
    p->bytesize = (size_t)ONE_OF(0, 1, 4096, 65536);
    (void)snprintf(made->name, sizeof made->name, "%d %d %zu", (int)p->poolProps.allocType,
                   (int)p->poolProps.location.type, p->bytesize);
    return true;
}

bool choose_parameters(any_parameters *made, const object *graph) {
    memset(made, 0, sizeof *made);
    made->values.type =
        (enum cudaGraphNodeType)ONE_OF(0, 0, 1, 1, 2, 2, 2, 3, 4, 5, 6, 7, 10, 11, 99);
    switch ((int)made->values.type) {
    case cudaGraphNodeTypeKernel:
        return choose_kernel(made);
    case cudaGraphNodeTypeMemcpy:
        return choose_copy(made);
    case cudaGraphNodeTypeMemset:
        return choose_fill(made);
    case cudaGraphNodeTypeHost:
        made->values.host.fn = nothing;
        return true;
    case cudaGraphNodeTypeGraph:
        return choose_child(made, graph);
    case cudaGraphNodeTypeWaitEvent:
    case cudaGraphNodeTypeEventRecord:
        return choose_event(made);
    case cudaGraphNodeTypeMemAlloc:
        return choose_allocation(made);
    default:
        return true; /* nothing to choose; memory that is freed is NULL, which is wrong */
    }
}

void uses_parameters(any_parameters *used) {
    uses(&used->to, true, true);
    uses(&used->from, false, true);
    if (used->event && used->event->handle)
        used->event->is_used = true;
}

static void add_node(void) {
    addition a = begin_addition();
    any_parameters p;
    if (!choose_parameters(&p, a.graph))
        return;
    call("cudaGraphAddNode(%s, %s, {%d, %s})", HEAD(a), (int)p.values.type, p.name);
    const cudaError_t result =
        cudaGraphAddNode(&a.made, a.graph->handle, a.after.nodes, NULL, a.after.count, &p.values);
    uses_parameters(&p);
    answer(result, "%s", handle_state(a.made));
}

static void set_node(void) {
    const object *o = any(GRAPH);
    any_parameters p;
    if (!choose_parameters(&p, o))
        return;
    const chosen_node node = any_node_of(o, p.values.type);
    if (one_in(6)) {
        memset(&p, 0, sizeof p);
        p.values.type = (enum cudaGraphNodeType)77;
        call("cudaGraphNodeGetParams(%s)", node.name);
        const cudaError_t result = cudaGraphNodeGetParams(node.handle, &p.values);
        answer(result, "%d", (int)p.values.type);
        return;
    }
    call("cudaGraphNodeSetParams(%s, {%d, %s})", node.name, (int)p.values.type, p.name);
    answer(cudaGraphNodeSetParams(node.handle, &p.values), "%s", "");
    uses_parameters(&p);
}

/* ---- kernel nodes ---- */

static void kernel_node(void) {
    const chosen_node node = any_node_of(any(GRAPH), cudaGraphNodeTypeKernel);
    const char *chosen;
    struct cudaKernelNodeParams p = any_kernel_node(&chosen), got = {.sharedMemBytes = 77};
    if (one_in(2)) {
        call("cudaGraphKernelNodeGetParams(%s)", node.name);
        const cudaError_t result = cudaGraphKernelNodeGetParams(node.handle, &got);
        answer(result, "%u %u %u", got.gridDim.x, got.blockDim.x, got.sharedMemBytes);
    } else if (p.func) {
        call("cudaGraphKernelNodeSetParams(%s, {%s, %u, %u, %u, %s})", node.name, chosen,
             p.gridDim.x, p.blockDim.x, p.sharedMemBytes, p.kernelParams ? "arguments" : "NULL");
        answer(cudaGraphKernelNodeSetParams(node.handle, &p), "%s", "");
    }
}

static void kernel_node_attribute(void) {
    const object *o = any(GRAPH);
    const chosen_node node = any_node_of(o, cudaGraphNodeTypeKernel),
                      other = any_node_of(o, cudaGraphNodeTypeKernel);
    const int attribute = ONE_OF(-1, 0, 1, 2, 2, 3, 4, 5, 8, 8, 9, 10, 14, 30),
              wanted = ONE_OF(0, 0, 1, -1, 2);
    cudaLaunchAttributeValue value;
    memset(&value, 0, sizeof value);
    switch (below(3)) {
    case 0: {
        call("cudaGraphKernelNodeGetAttribute(%s, %d)", node.name, attribute);
        const cudaError_t result =
            cudaGraphKernelNodeGetAttribute(node.handle, (cudaLaunchAttributeID)attribute, &value);
        answer(result, "%d", attribute == 2 || attribute == 8 ? value.priority : 0);
        break;
    }
    case 1:
        if (attribute == 4)
            value.clusterDim.x = value.clusterDim.y = value.clusterDim.z = 1;
        else if (attribute != 1 && attribute != 9) /* of several fields, which stay 0 */
            value.priority = wanted;
        call("cudaGraphKernelNodeSetAttribute(%s, %d, %d)", node.name, attribute, wanted);
        answer(
            cudaGraphKernelNodeSetAttribute(node.handle, (cudaLaunchAttributeID)attribute, &value),
            "%s", "");
        break;
    default:
        call("cudaGraphKernelNodeCopyAttributes(%s, %s)", node.name, other.name);
        answer(cudaGraphKernelNodeCopyAttributes(node.handle, other.handle), "%s", "");
    }
}

/* ---- nodes of other types ---- */

static void copy_node(void) {
    const chosen_node node = any_node_of(any(GRAPH), cudaGraphNodeTypeMemcpy);
    place to = any_target(), from = any_place();
    if (to.room < 1024 || from.room < 1024 || to.object == from.object || !may_write(&to))
        return;
    if (one_in(2)) {
        const size_t size = any_size(smaller(to.room, from.room) - 1);
        const int direction = any_direction();
        call("cudaGraphMemcpyNodeSetParams1D(%s, %s, %s, %zu, %d)", node.name, to.name, from.name,
             size, direction);
        answer(cudaGraphMemcpyNodeSetParams1D(node.handle, to.address, from.address, size,
                                              (enum cudaMemcpyKind)direction),
               "%s", "");
    } else {
        const struct cudaMemcpy3DParms p = any_box(&to, &from);
        call("cudaGraphMemcpyNodeSetParams(%s, %s p%zu y%zu, %s p%zu y%zu, {%zu, %zu, %zu}, %d)",
             node.name, to.name, p.dstPtr.pitch, p.dstPtr.ysize, from.name, p.srcPtr.pitch,
             p.srcPtr.ysize, p.extent.width, p.extent.height, p.extent.depth, (int)p.kind);
        answer(cudaGraphMemcpyNodeSetParams(node.handle, &p), "%s", "");
    }
    uses(&to, true, true);
    uses(&from, false, true);
}

static void event_node(void) {
    const enum cudaGraphNodeType type =
        one_in(2) ? cudaGraphNodeTypeWaitEvent : cudaGraphNodeTypeEventRecord;
    const chosen_node node = any_node_of(any(GRAPH), type);
    object *event = any(EVENT);
    cudaEvent_t got = UNWRITTEN;
    switch (below(3)) {
    case 0: {
        call("cudaGraphEventWaitNodeGetEvent(%s)", node.name);
        const cudaError_t result = cudaGraphEventWaitNodeGetEvent(node.handle, &got);
        answer(result, "%s", handle_state(got));
        return;
    }
    case 1:
        call("cudaGraphEventWaitNodeSetEvent(%s, %s)", node.name, name(event));
        answer(cudaGraphEventWaitNodeSetEvent(node.handle, event->handle), "%s", "");
        break;
    default:
        call("cudaGraphEventRecordNodeSetEvent(%s, %s)", node.name, name(event));
        answer(cudaGraphEventRecordNodeSetEvent(node.handle, event->handle), "%s", "");
    }
    event->is_used |= event->handle != NULL;
}

static void ask_node(void) {
    const enum cudaGraphNodeType types[] = {cudaGraphNodeTypeGraph, cudaGraphNodeTypeMemAlloc,
                                            cudaGraphNodeTypeMemFree};
    const unsigned wanted = below(3);
    const chosen_node node = any_node_of(any(GRAPH), types[wanted]);
    cudaGraph_t child = UNWRITTEN;
    struct cudaMemAllocNodeParams allocation;
    void *freed = UNWRITTEN;
    switch (wanted) {
    case 0: {
        call("cudaGraphChildGraphNodeGetGraph(%s)", node.name);
        const cudaError_t result = cudaGraphChildGraphNodeGetGraph(node.handle, &child);
        answer(result, "%s", handle_state(child));
        break;
    }
    case 1: {
        memset(&allocation, 0, sizeof allocation);
        allocation.bytesize = 7;
        call("cudaGraphMemAllocNodeGetParams(%s)", node.name);
        const cudaError_t result = cudaGraphMemAllocNodeGetParams(node.handle, &allocation);
        answer(result, "%d %zu", (int)allocation.poolProps.allocType, allocation.bytesize);
        break;
    }
    default: {
        call("cudaGraphMemFreeNodeGetParams(%s)", node.name);
        const cudaError_t result = cudaGraphMemFreeNodeGetParams(node.handle, &freed);
        answer(result, "%s", handle_state(freed));
    }
    }
}

static void print_graph(void) {
    const object *o = any(GRAPH);
    const unsigned flags = (unsigned)ONE_OF(0, 1, 4, 1 << 10, 0x7fff);
    if (!o->handle)
        return;
    call("cudaGraphDebugDotPrint(%s, %u)", name(o), flags);
    answer(cudaGraphDebugDotPrint(o->handle, "/dev/null", flags), "%s", "");
}

/* ---- conditional nodes ---- */

/* A loop only where the graph sets the value to 0 before each run. */
static void add_conditional(void) {
    addition a = begin_addition();
    struct cudaGraphNodeParams p;
    cudaGraphNode_t inner = UNWRITTEN;
    const unsigned value = (unsigned)ONE_OF(0, 0, 1, 2), flags = (unsigned)ONE_OF(0, 1, 1, 1, 2);
    if (!a.graph->handle)
        return;
    memset(&p, 0, sizeof p);
    p.type = cudaGraphNodeTypeConditional;
    p.conditional.type = (enum cudaGraphConditionalNodeType)ONE_OF(0, 0, 0, 1, 2, 9);
    p.conditional.size = (unsigned)ONE_OF(1, 1, 1, 2, 0);
    if (p.conditional.type == cudaGraphCondTypeWhile && (value || flags != 1))
        return;
    call("cudaGraphConditionalHandleCreate(%s, %u, %u)", name(a.graph), value, flags);
    const cudaError_t result =
        cudaGraphConditionalHandleCreate(&p.conditional.handle, a.graph->handle, value, flags);
    answer(result, "%s", "");
    if (result)
        return;
    call("cudaGraphAddNode(%s, %s, {conditional, %d, %u})", HEAD(a), (int)p.conditional.type,
         p.conditional.size);
    const cudaError_t second =
        cudaGraphAddNode(&a.made, a.graph->handle, a.after.nodes, NULL, a.after.count, &p);
    answer(second, "%s", handle_state(a.made));
    if (second || !p.conditional.phGraph_out || !p.conditional.phGraph_out[0])
        return;
    call("cudaGraphAddEmptyNode(body)");
    const cudaError_t third = cudaGraphAddEmptyNode(&inner, p.conditional.phGraph_out[0], NULL, 0);
    answer(third, "%s", handle_state(inner));
}

/* ---- the driver's nodes that write values ---- */

void any_values(CUstreamBatchMemOpParams operations[2], const place *p) {
    memset(operations, 0, 2 * sizeof *operations);
    for (int i = 0; i < 2; i++) {
        operations[i].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
        operations[i].writeValue.address = (CUdeviceptr)(uintptr_t)p->address;
        operations[i].writeValue.value = below(100);
        operations[i].writeValue.flags = (unsigned)ONE_OF(0, 0, 0, 1, 2);
    }
}

static void value_node(void) {
    addition a = begin_addition();
    place p = any_place();
    CUstreamBatchMemOpParams operations[2];
    CUDA_BATCH_MEM_OP_NODE_PARAMS values;
    /* a type that only the driver has */
    const chosen_node node = any_node_of(a.graph, (enum cudaGraphNodeType)12);
    if (!has_values(&p))
        return;
    memset(&values, 0, sizeof values);
    any_values(operations, &p);
    values.paramArray = operations;
    values.count = (unsigned)ONE_OF(0, 1, 1, 2);
    if (cuCtxGetCurrent(&values.ctx) || !values.ctx)
        return;
    if (one_in(2)) {
        call("cuGraphAddBatchMemOpNode(%s, %s, %s, %u)", HEAD(a), p.name, values.count);
        const CUresult result = cuGraphAddBatchMemOpNode(ARGUMENTS(a), &values);
        answer(result, "%s", handle_state(a.made));
    } else if (one_in(2)) {
        call("cuGraphBatchMemOpNodeSetParams(%s, %s, %u)", node.name, p.name, values.count);
        answer(cuGraphBatchMemOpNodeSetParams(node.handle, &values), "%s", "");
    } else {
        values.count = 77;
        call("cuGraphBatchMemOpNodeGetParams(%s)", node.name);
        const CUresult result = cuGraphBatchMemOpNodeGetParams(node.handle, &values);
        answer(result, "%u", values.count);
        return;
    }
    uses(&p, true, true);
}

const operation node_operations[] = {
    OPERATION(add_node, 8, false),
    OPERATION(set_node, 4, false),
    OPERATION(kernel_node, 4, false),
    OPERATION(kernel_node_attribute, 4, false),
    OPERATION(copy_node, 4, false),
    OPERATION(event_node, 3, false),
    OPERATION(ask_node, 4, false),
    OPERATION(print_graph, 1, false),
    OPERATION(add_conditional, 3, false),
    OPERATION(value_node, 3, false),
    OPERATION(NULL, 0, false),
};
