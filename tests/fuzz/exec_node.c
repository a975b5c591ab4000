/* Parameters of nodes in instances. */
#include "fuzz.h"

/* An instance whose graph is there, with a node of the graph, mostly of the type; its handle is
 * NULL if there is none. */
static const object *any_instance(chosen_node *node, enum cudaGraphNodeType type) {
    static const object nothing;
    const object *o = any(EXEC);
    if (!o->handle || !o->graph->handle || o->graph->number != o->number)
        return &nothing;
    *node = any_node_of(o->graph, type);
    return o;
}

static void instantiate_with_flags(void) {
    object *o = empty(EXEC), *graph = any(GRAPH);
    cudaGraphExec_t made = UNWRITTEN;
    const unsigned long long flags = (unsigned long long)ONE_OF(0, 0, 0, 1, 2, 8, 16);
    if (!o)
        return;
    call("cudaGraphInstantiateWithFlags(%s, %llu)", name(graph), flags);
    const cudaError_t result = cudaGraphInstantiateWithFlags(&made, graph->handle, flags);
    keep_exec(o, result ? NULL : made, graph, flags);
    answer(result, "%s", result ? handle_state(made) : name(o));
}

static void exec_kernel(void) {
    chosen_node node;
    const object *o = any_instance(&node, cudaGraphNodeTypeKernel);
    const char *chosen;
    const struct cudaKernelNodeParams p = any_kernel_node(&chosen);
    if (!o->handle || !p.func)
        return;
    call("cudaGraphExecKernelNodeSetParams(%s, %s, {%s, %u, %u, %u, %s})", name(o), node.name,
         chosen, p.gridDim.x, p.blockDim.x, p.sharedMemBytes,
         p.kernelParams ? "arguments" : "NULL");
    answer(cudaGraphExecKernelNodeSetParams(o->handle, node.handle, &p), "%s", "");
}

static void exec_copy(void) {
    chosen_node node;
    const object *o = any_instance(&node, cudaGraphNodeTypeMemcpy);
    place to = any_target(), from = any_place();
    if (!o->handle || to.room < 1024 || from.room < 1024 || to.object == from.object ||
        !may_write(&to))
        return;
    const struct cudaMemcpy3DParms p = any_box(&to, &from);
    call("cudaGraphExecMemcpyNodeSetParams(%s, %s, %s p%zu y%zu, %s p%zu y%zu, {%zu, %zu, %zu}, "
         "%d)",
         name(o), node.name, to.name, p.dstPtr.pitch, p.dstPtr.ysize, from.name, p.srcPtr.pitch,
         p.srcPtr.ysize, p.extent.width, p.extent.height, p.extent.depth, (int)p.kind);
    answer(cudaGraphExecMemcpyNodeSetParams(o->handle, node.handle, &p), "%s", "");
    uses(&to, true, true);
    uses(&from, false, true);
}

static void exec_child(void) {
    chosen_node node;
    const object *o = any_instance(&node, cudaGraphNodeTypeGraph), *child = any(GRAPH);
    if (!o->handle || !child->handle || child == o->graph)
        return;
    call("cudaGraphExecChildGraphNodeSetParams(%s, %s, %s)", name(o), node.name, name(child));
    answer(cudaGraphExecChildGraphNodeSetParams(o->handle, node.handle, child->handle), "%s", "");
}

static void exec_event(void) {
    const bool records = one_in(2);
    const enum cudaGraphNodeType type =
        records != one_in(6) ? cudaGraphNodeTypeEventRecord : cudaGraphNodeTypeWaitEvent;
    chosen_node node;
    const object *o = any_instance(&node, type);
    object *event = any(EVENT);
    if (!o->handle)
        return;
    if (records) {
        call("cudaGraphExecEventRecordNodeSetEvent(%s, %s, %s)", name(o), node.name, name(event));
        answer(cudaGraphExecEventRecordNodeSetEvent(o->handle, node.handle, event->handle), "%s",
               "");
    } else {
        call("cudaGraphExecEventWaitNodeSetEvent(%s, %s, %s)", name(o), node.name, name(event));
        answer(cudaGraphExecEventWaitNodeSetEvent(o->handle, node.handle, event->handle), "%s", "");
    }
    event->is_used |= event->handle != NULL;
}

static void exec_node(void) {
    chosen_node node;
    const enum cudaGraphNodeType type = (enum cudaGraphNodeType)below(8);
    const object *o = any_instance(&node, type);
    any_parameters p;
    if (!o->handle || !choose_parameters(&p, o->graph) || (p.values.type != type && !one_in(4)))
        return;
    call("cudaGraphExecNodeSetParams(%s, %s, {%d, %s})", name(o), node.name, (int)p.values.type,
         p.name);
    answer(cudaGraphExecNodeSetParams(o->handle, node.handle, &p.values), "%s", "");
    uses_parameters(&p);
}

static void exec_values(void) {
    chosen_node node;
    const object *o = any_instance(&node, (enum cudaGraphNodeType)12);
    place p = any_place();
    CUstreamBatchMemOpParams operations[2];
    CUDA_BATCH_MEM_OP_NODE_PARAMS values;
    if (!o->handle || !has_values(&p))
        return;
    memset(&values, 0, sizeof values);
    any_values(operations, &p);
    values.paramArray = operations;
    values.count = 1;
    if (cuCtxGetCurrent(&values.ctx) || !values.ctx)
        return;
    call("cuGraphExecBatchMemOpNodeSetParams(%s, %s, %s)", name(o), node.name, p.name);
    answer(cuGraphExecBatchMemOpNodeSetParams(o->handle, node.handle, &values), "%s", "");
    uses(&p, true, true);
}

const operation exec_node_operations[] = {
    OPERATION(instantiate_with_flags, 3, false),
    OPERATION(exec_kernel, 3, false),
    OPERATION(exec_copy, 3, false),
    OPERATION(exec_child, 2, false),
    OPERATION(exec_event, 3, false),
    OPERATION(exec_node, 8, false),
    OPERATION(exec_values, 1, false),
    OPERATION(NULL, 0, false),
};
