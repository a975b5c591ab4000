/* Adding nodes: one function for each type, which checks its parameters, lets the graph keep what
 * the node uses, and adds the node. */
#include "cudart_abi.h"
#include "core/call.h"
#include "core/refuse.h"
#include "safe/base/clear_stack.h"
#include "safe/base/closure.h"
#include "safe/base/event.h"
#include "safe/base/external_semaphore.h"
#include "safe/base/primary_context.h"
#include "safe/graph/node.h"
#include "safe/kernel/launch.h"
#include "safe/memory/buffer.h"
#include "safe/memory/value.h"

#include <stdlib.h>
#include <string.h>

/* ---- for all types ---- */

enum { FEW = 16 };

/* A node that is being added. The lock of all graphs is held from begin() to end(). */
typedef struct adding {
    const char *call;
    acu_graph *graph;
    const acu_node *after;
    size_t after_count;
    acu_node *node;
    const acu_copy *copy;  /* what the node copies, for a hint; NULL if it copies nothing */
    acu_kept_list *list;   /* what the node keeps */
    cudaGraphNode_t raw;   /* the node that CUDA has added */
    cudaGraphNode_t *deps; /* `after` in CUDA's handles: `few`, or allocated */
    cudaGraphNode_t few[FEW];
    acu_guard guard;
} adding;

static int no_memory(const char *call) {
    return acu_fail(call, "", ACU_ERROR_HOST_MEMORY, "no memory for a node");
}

/* Fills `deps`. */
static int gather(adding *a) {
    for (size_t i = 0; i < a->after_count; i++) {
        if (a->after[i].graph && a->after[i].graph != a->graph)
            return acu_fail(a->call, "", ACU_ERROR_ARGUMENT,
                            "'after' has a node of another graph, at index %zu", i);
        int code = acu_node_check(a->call, a->after[i], &a->deps[i]);
        if (code)
            return code;
    }
    return 0;
}

static void free_deps(const adding *a) {
    if (a->deps != a->few)
        free(a->deps);
}

/* Checks the public function's parameters, and makes room for `deps`. */
static int check(adding *a) {
    if (a->node)
        *a->node = (acu_node){NULL, 0};
    if (!acu_is(a->graph, &acu_graph_class))
        return acu_object_refuse(a->call, a->graph, &acu_graph_class);
    if (!a->after && a->after_count > 0)
        return acu_fail(a->call, "", ACU_ERROR_ARGUMENT, "'after' is NULL");
    a->deps = a->few;
    if (a->after_count > FEW)
        a->deps = a->after_count < SIZE_MAX / 16 ? malloc(a->after_count * sizeof *a->deps) : NULL;
    return a->deps ? 0 : no_memory(a->call);
}

/* Does all that can fail but CUDA's call, so that nothing fails after that. */
static int prepare(adding *a, int device, const acu_object_use *keeps, size_t count) {
    int code = acu_kept_list_new(keeps, count, &a->list);
    if (!code)
        code = acu_graph_reserve_kept(a->graph, a->list);
    if (!code && !acu_graph_reserve_nodes(a->graph, 1))
        code = acu_record(ACU_ERROR_HOST_MEMORY, "no memory for a node");
    if (!code && device >= 0)
        code = acu_guard_enter(&a->guard, device);
    return code;
}

/* Ends what begin() began. Returns the public function's result for the result of CUDA's call. */
static int end(adding *a, int code) {
    acu_guard_leave(&a->guard);
    if (!code) {
        acu_node node = acu_node_from_raw(a->graph, a->raw);
        if (a->list)
            a->list = acu_graph_replace_kept(a->graph, node.id, a->list);
        if (a->node)
            *a->node = node;
    }
    acu_graph_unlock();
    free_deps(a);
    acu_node_hint_at_copy(a->copy, code);
    code = acu_outcome(a->call, a->graph, code);
    acu_kept_list_free(a->list);
    return code;
}

/* Begins to add a node that keeps `count` objects. Where this succeeds, the caller calls CUDA and
 * then end(); where this fails, the result is recorded and nothing is held. */
static int begin(adding *a, int device, const acu_object_use *keeps, size_t count) {
    int code = check(a);
    if (code)
        return code;
    acu_destroy_deferred();
    code = gather(a);
    if (code) {
        free_deps(a);
        return code;
    }
    a->guard.changed = false;
    acu_graph_lock();
    code = prepare(a, device, keeps, count);
    if (code)
        (void)end(a, code);
    return code;
}

/* Declares `adding a` with the parameters that the public functions have in common. */
#define ADDING(a) adding a = {.call = __func__, graph, after, after_count, node}
/* The first arguments of CUDA's functions that add a node. */
#define PLACE(a) &(a).raw, (a).graph->raw, (a).deps, (a).after_count

acu_result acu_graph_add_empty(acu_graph *graph, const acu_node *after, size_t after_count,
                               acu_node *node) {
    ACU_SCOPE();
    ADDING(a);
    ACU_TRY(begin(&a, -1, NULL, 0));
    return end(&a, (int)cudaGraphAddEmptyNode(PLACE(a)));
}

/* ---- kernels ---- */

acu_result acu_graph_add_kernel(acu_graph *graph, const acu_node *after, size_t after_count,
                                acu_kernel *kernel, const acu_grid *grid, const acu_arg *args,
                                size_t arg_count, acu_node *node) {
    ACU_SCOPE();
    acu_prepared_launch prepared;
    ADDING(a);
    acu_object_use keeps[ACU_LAUNCH_MAX_OBJECTS];
    ACU_TRY(acu_launch_prepare(__func__, kernel, grid, args, arg_count, &prepared));
    ACU_TRY(begin(&a, acu_kernel_device(kernel), keeps, acu_launch_objects(&prepared, keeps)));
    return end(&a, acu_launch_add_node(&prepared, graph->raw, a.deps, after_count, &a.raw));
}

/* ---- copies ---- */

acu_result acu_graph_add_copy(acu_graph *graph, const acu_node *after, size_t after_count,
                              const acu_copy *copy, acu_node *node) {
    ACU_SCOPE();
    acu_node_params p = {.device = -1, .count = 0};
    ADDING(a);
    ACU_TRY(acu_node_params_of_copy(__func__, copy, &p));
    ACU_TRY(begin(&a, p.device, p.keeps, p.count));
    int code =
        (int)cudaGraphAddMemcpyNode1D(PLACE(a), p.copy.to, p.copy.from, p.copy.bytes, p.copy.kind);
    a.copy = copy;
    return end(&a, code);
}

acu_result acu_graph_add_copy_batch(acu_graph *graph, const acu_node *after, size_t after_count,
                                    const acu_copy *copies, size_t count,
                                    const acu_copy_attributes *attributes, size_t attribute_count,
                                    acu_node *node) {
    ACU_SCOPE();
    acu_node_copies c;
    ADDING(a);
    ACU_TRY(acu_node_copies_make(__func__, copies, count, attributes, attribute_count, &c));
    int code = begin(&a, c.device, c.keeps, c.keep_count);
    if (!code)
        code = end(&a,
                   (int)cudaGraphAddNode(&a.raw, graph->raw, a.deps, NULL, after_count, &c.params));
    acu_node_copies_free(&c);
    return code;
}

static int add_write(adding *a, acu_buffer *buffer, size_t at, acu_kept_closure *host,
                     size_t bytes) {
    acu_object_use keeps[] = {{&host->object, false}, {&buffer->storage->object, true}};
    enum cudaMemcpyKind kind =
        acu_buffer_is_host_memory(buffer) ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
    int code = begin(a, buffer->object.device, keeps, 2);
    if (code)
        return code;
    return end(a, (int)cudaGraphAddMemcpyNode1D(
                      PLACE(*a), buffer->pointer + at * acu_dtype_size(buffer->dtype),
                      host->closure.data, bytes, kind));
}

acu_result acu_graph_add_write(acu_graph *graph, const acu_node *after, size_t after_count,
                               acu_buffer *buffer, size_t at, acu_dtype dtype, const void *host,
                               size_t count, acu_node *node) {
    ACU_SCOPE();
    ADDING(a);
    ACU_TRY(acu_buffer_check_host_copy(__func__, buffer, at, dtype, host, count));
    ACU_REQUIRE_OF(buffer, count > 0, ACU_ERROR_RANGE, "'count' is 0: there is nothing to write");
    size_t bytes = count * acu_dtype_size(buffer->dtype);
    acu_kept_closure *kept = acu_closure_of_bytes(__func__, host, bytes);
    if (!kept)
        return ACU_ERROR_HOST_MEMORY;
    int code = add_write(&a, buffer, at, kept, bytes);
    (void)acu_object_release(NULL, kept, kept->object.was);
    return code;
}

acu_result acu_graph_add_memcpy(acu_graph *graph, const acu_node *after, size_t after_count,
                                const struct cudaMemcpy3DParms *params, acu_node *node) {
    ACU_SCOPE();
    ADDING(a);
    ACU_NEED_POINTER(params);
    ACU_TRY(begin(&a, -1, NULL, 0));
    acu_clear_stack();
    return end(&a, (int)cudaGraphAddMemcpyNode(PLACE(a), params));
}

/* ---- fills ---- */

acu_result acu_graph_add_fill(acu_graph *graph, const acu_node *after, size_t after_count,
                              const acu_fill *fill, acu_node *node) {
    ACU_SCOPE();
    acu_node_params p = {.device = -1, .count = 0};
    ADDING(a);
    ACU_TRY(acu_node_params_of_fill(__func__, fill, &p));
    ACU_TRY(begin(&a, p.device, p.keeps, p.count));
    return end(&a, (int)cudaGraphAddMemsetNode(PLACE(a), &p.fill));
}

/* ---- host functions, child graphs, events ---- */

/* A runtime that does not know the field is not called. */
static int add_host_raw(adding *a, acu_kept_closure *kept, acu_host_wait wait) {
    const struct cudaHostNodeParams params = {acu_closure_run, kept};
    struct cudaGraphNodeParams with = {
        .type = cudaGraphNodeTypeHost,
        .host = {.fn = acu_closure_run, .userData = kept, .syncMode = (unsigned)wait}};
    if (wait == ACU_HOST_BLOCK)
        return (int)cudaGraphAddHostNode(PLACE(*a), &params);
    if (!acu_call_exists(&acu_function_cudaLaunchHostFunc_v2))
        return acu_refuse_missing_function(&acu_function_cudaLaunchHostFunc_v2);
    return (int)cudaGraphAddNode(&a->raw, a->graph->raw, a->deps, NULL, a->after_count, &with);
}

static int add_host(adding *a, const acu_closure *closure, acu_host_wait wait) {
    if (wait != ACU_HOST_BLOCK && wait != ACU_HOST_SPIN)
        return acu_fail(a->call, "", ACU_ERROR_ARGUMENT, "there is no way %d to wait", (int)wait);
    if (!closure->call)
        return acu_fail(a->call, "", ACU_ERROR_ARGUMENT, "'closure.call' is NULL");
    acu_kept_closure *kept = acu_closure_new(a->call, closure);
    if (!kept)
        return ACU_ERROR_HOST_MEMORY;
    acu_object_use keep = {&kept->object, false};
    int code = begin(a, -1, &keep, 1);
    if (!code)
        code = end(a, add_host_raw(a, kept, wait));
    if (code)
        kept->closure.destroy = NULL; /* the caller destroys the data */
    (void)acu_object_release(NULL, kept, kept->object.was);
    return code;
}

acu_result acu_graph_add_host(acu_graph *graph, const acu_node *after, size_t after_count,
                              acu_closure closure, acu_node *node) {
    ACU_SCOPE();
    ADDING(a);
    int code = add_host(&a, &closure, ACU_HOST_BLOCK);
    if (code && closure.destroy)
        closure.destroy(closure.data);
    return code;
}

acu_result acu_graph_add_host_with(acu_graph *graph, const acu_node *after, size_t after_count,
                                   acu_closure closure, acu_host_wait wait, acu_node *node) {
    ACU_SCOPE();
    ADDING(a);
    int code = add_host(&a, &closure, wait);
    if (code && closure.destroy)
        closure.destroy(closure.data);
    return code;
}

/* Refuses a graph whose nodes kernels may change: CUDA copies it, and crashes when it is destroyed
 * after the copy. */
static int refuse_updatable(const char *call, const acu_graph *child) {
    acu_graph_lock();
    const bool updatable = child->root->updatable;
    acu_graph_unlock();
    if (!updatable)
        return 0;
    acu_fail_hint("launch the two graphs one after the other on a stream, or add the nodes to the "
                  "graph itself");
    return acu_fail_on(call, child, ACU_NOT_SUPPORTED,
                       "a graph with nodes that kernels may change cannot be a child: CUDA crashes "
                       "when it is destroyed after its copy");
}

/* Adds a child node, which keeps all that the child graph keeps. */
static int add_child(adding *a, acu_graph *child) {
    acu_kept_set *kept = acu_graph_kept_set(child);
    int code = acu_kept_list_from_set(kept, &a->list);
    (void)acu_kept_set_release(kept);
    if (!code)
        code = acu_graph_reserve_kept(a->graph, a->list);
    return code ? code : (int)cudaGraphAddChildGraphNode(PLACE(*a), child->raw);
}

acu_result acu_graph_add_child(acu_graph *graph, const acu_node *after, size_t after_count,
                               acu_graph *child, acu_node *node) {
    ACU_SCOPE();
    ADDING(a);
    ACU_NEED(child, acu_graph_class);
    ACU_REQUIRE(child != graph, ACU_ERROR_ARGUMENT, "a graph cannot be its own child");
    ACU_TRY(acu_graph_check_uncaptured(__func__, child));
    ACU_TRY(refuse_updatable(__func__, child));
    ACU_TRY(begin(&a, -1, NULL, 0));
    return end(&a, add_child(&a, child));
}

acu_result acu_graph_add_event_record(acu_graph *graph, const acu_node *after, size_t after_count,
                                      acu_event *event, acu_node *node) {
    ACU_SCOPE();
    ADDING(a);
    ACU_NEED(event, acu_event_class);
    acu_object_use keep = {&event->object, false};
    ACU_TRY(begin(&a, event->object.device, &keep, 1));
    acu_event_mark_recorded(event);
    return end(&a, (int)cudaGraphAddEventRecordNode(PLACE(a), event->raw));
}

acu_result acu_graph_add_event_wait(acu_graph *graph, const acu_node *after, size_t after_count,
                                    acu_event *event, acu_node *node) {
    ACU_SCOPE();
    ADDING(a);
    ACU_NEED(event, acu_event_class);
    acu_object_use keep = {&event->object, false};
    ACU_TRY(begin(&a, event->object.device, &keep, 1));
    return end(&a, (int)cudaGraphAddEventWaitNode(PLACE(a), event->raw));
}

acu_result acu_graph_add_semaphore_signal(acu_graph *graph, const acu_node *after,
                                          size_t after_count, const acu_semaphore_signal *signals,
                                          size_t count, acu_node *node) {
    ACU_SCOPE();
    acu_semaphore_list list;
    ADDING(a);
    ACU_TRY(acu_external_list_signals(__func__, signals, count, &list));
    const struct cudaExternalSemaphoreSignalNodeParams params = {list.raw, &list.params->signal,
                                                                 (unsigned)count};
    int code = begin(&a, list.device, list.objects, count);
    if (!code)
        code = end(&a, (int)cudaGraphAddExternalSemaphoresSignalNode(PLACE(a), &params));
    acu_external_free_list(&list);
    return code;
}

acu_result acu_graph_add_semaphore_wait(acu_graph *graph, const acu_node *after, size_t after_count,
                                        const acu_semaphore_wait *waits, size_t count,
                                        acu_node *node) {
    ACU_SCOPE();
    acu_semaphore_list list;
    ADDING(a);
    ACU_TRY(acu_external_list_waits(__func__, waits, count, &list));
    const struct cudaExternalSemaphoreWaitNodeParams params = {list.raw, &list.params->wait,
                                                               (unsigned)count};
    int code = begin(&a, list.device, list.objects, count);
    if (!code)
        code = end(&a, (int)cudaGraphAddExternalSemaphoresWaitNode(PLACE(a), &params));
    acu_external_free_list(&list);
    return code;
}

/* ---- values in memory ---- */

acu_result acu_graph_add_values(acu_graph *graph, const acu_node *after, size_t after_count,
                                acu_device device, const acu_value_operation *operations,
                                size_t count, acu_node *node) {
    ACU_SCOPE();
    acu_value_list list;
    acu_primary_context primary;
    ADDING(a);
    ACU_TRY(acu_device_resolve(__func__, &device));
    ACU_TRY(acu_value_list_fill(__func__, operations, count, &list));
    ACU_TRY(begin(&a, -1, list.objects, list.object_count));
    int code = acu_primary_context_enter(&primary, device);
    const CUDA_BATCH_MEM_OP_NODE_PARAMS params = {
        .ctx = primary.raw, .count = list.count, .paramArray = list.raw};
    if (!code)
        code = acu_translate_driver(cuGraphAddBatchMemOpNode(PLACE(a), &params));
    acu_primary_context_leave(&primary);
    acu_value_hint(&list, code);
    return end(&a, code);
}

/* ---- memory ---- */

static int add_alloc(adding *a, acu_buffer *buffer) {
    acu_storage *s = buffer->storage;
    acu_object_use keep = {&s->object, true};
    struct cudaMemAllocNodeParams params = {
        .poolProps = {.allocType = cudaMemAllocationTypePinned,
                      .location = {.type = cudaMemLocationTypeDevice, .id = s->device}},
        .bytesize = acu_storage_bytes(s)};
    int code = begin(a, s->device, &keep, 1);
    if (!code)
        code = end(a, (int)cudaGraphAddMemAllocNode(PLACE(*a), &params));
    if (!code)
        s->pointer = buffer->pointer = params.dptr;
    return code;
}

acu_result acu_graph_add_alloc(acu_graph *graph, const acu_node *after, size_t after_count,
                               acu_device device, acu_dtype dtype, size_t count,
                               acu_buffer **buffer, acu_node *node) {
    ACU_SCOPE();
    acu_buffer *made = NULL;
    ADDING(a);
    ACU_NEED_POINTER(buffer);
    *buffer = NULL;
    ACU_NEED(graph, acu_graph_class);
    ACU_REQUIRE(count > 0, ACU_ERROR_ARGUMENT, "'count' is 0: there is nothing to allocate");
    ACU_TRY(acu_device_resolve(__func__, &device));
    ACU_TRY(acu_storage_new_for_graph(__func__, device, dtype, count, &made));
    int code = add_alloc(&a, made);
    if (code)
        (void)acu_object_release(NULL, made, &acu_buffer_class);
    else
        *buffer = made;
    return code;
}

acu_result acu_graph_add_free(acu_graph *graph, const acu_node *after, size_t after_count,
                              acu_buffer *buffer, acu_node *node) {
    ACU_SCOPE();
    ADDING(a);
    ACU_TRY(acu_graph_check_memory(__func__, buffer));
    acu_storage *s = buffer->storage;
    acu_object_use keep = {&s->object, true};
    ACU_TRY(begin(&a, s->device, &keep, 1));
    return end(&a, (int)cudaGraphAddMemFreeNode(PLACE(a), s->pointer));
}

/* ---- conditional nodes ---- */

acu_result acu_conditional_create(acu_graph *graph, unsigned default_value, unsigned flags,
                                  acu_conditional *conditional) {
    ACU_SCOPE();
    cudaGraphConditionalHandle raw = 0;
    ACU_NEED_POINTER(conditional);
    *conditional = (acu_conditional){NULL, 0};
    ACU_NEED(graph, acu_graph_class);
    acu_graph_lock();
    int code = (int)cudaGraphConditionalHandleCreate(&raw, graph->raw, default_value, flags);
    acu_graph_unlock();
    if (!code)
        *conditional = (acu_conditional){graph, raw};
    return acu_outcome(__func__, graph, code);
}

/* Adds the node and its bodies. The handles of the bodies are made first, so that nothing can fail
 * once CUDA has added the node. */
static int add_bodies(adding *a, struct cudaGraphNodeParams *params, acu_graph **bodies) {
    unsigned count = params->conditional.size;
    int code = 0;
    for (unsigned i = 0; i < count && !code; i++) {
        bodies[i] = acu_graph_new_part(a->call, a->graph);
        code = bodies[i] ? 0 : ACU_ERROR_HOST_MEMORY;
        if (bodies[i])
            bodies[i]->condition = 1 + (int)params->conditional.type;
    }
    if (!code)
        code = (int)cudaGraphAddNode(&a->raw, a->graph->raw, a->deps, NULL, a->after_count, params);
    for (unsigned i = 0; i < count; i++) {
        if (!code)
            acu_graph_add_part(bodies[i], params->conditional.phGraph_out[i], a->raw);
        else {
            acu_graph_discard_part(bodies[i]);
            bodies[i] = NULL;
        }
    }
    return code;
}

acu_result acu_graph_add_conditional(acu_graph *graph, const acu_node *after, size_t after_count,
                                     acu_conditional conditional, acu_conditional_type type,
                                     acu_graph **bodies, unsigned body_count, acu_node *node) {
    ACU_SCOPE();
    static const char *const names[] = {
        [ACU_CONDITIONAL_IF] = "ACU_CONDITIONAL_IF",
        [ACU_CONDITIONAL_WHILE] = "ACU_CONDITIONAL_WHILE",
        [ACU_CONDITIONAL_SWITCH] = "ACU_CONDITIONAL_SWITCH",
    };
    ADDING(a);
    ACU_NEED_POINTER(bodies);
    ACU_NEED(graph, acu_graph_class);
    ACU_REQUIRE(conditional.graph, ACU_ERROR_ARGUMENT,
                "the conditional's graph is NULL: acu_conditional_create() makes one");
    ACU_NEED(conditional.graph, acu_graph_class);
    ACU_REQUIRE(conditional.graph->root == graph->root, ACU_ERROR_ARGUMENT,
                "the conditional was made for another graph");
    ACU_REQUIRE((unsigned)type <= ACU_CONDITIONAL_SWITCH, ACU_ERROR_ARGUMENT,
                "there is no conditional node of type %d", (int)type);
    ACU_REQUIRE(body_count > 0 && (type != ACU_CONDITIONAL_IF || body_count <= 2) &&
                    (type != ACU_CONDITIONAL_WHILE || body_count == 1),
                ACU_ERROR_ARGUMENT, "%s cannot have %u bodies", names[type], body_count);
    memset(bodies, 0, body_count * sizeof *bodies);
    struct cudaGraphNodeParams params = {
        .type = cudaGraphNodeTypeConditional,
        .conditional = {.handle = conditional.raw,
                        .type = (enum cudaGraphConditionalNodeType)type,
                        .size = body_count}};
    ACU_TRY(begin(&a, -1, NULL, 0));
    return end(&a, add_bodies(&a, &params, bodies));
}

/* ---- any type ---- */

acu_result acu_graph_add_node(acu_graph *graph, const acu_node *after, size_t after_count,
                              const acu_edge *edges, struct cudaGraphNodeParams *params,
                              acu_node *node) {
    ACU_SCOPE();
    cudaGraphEdgeData *data = NULL;
    ADDING(a);
    ACU_NEED_POINTER(params);
    ACU_TRY(begin(&a, -1, NULL, 0));
    int code = ACU_ERROR_HOST_MEMORY;
    if (!acu_edge_to_raw(edges, after_count, &data))
        acu_record(code, "no memory for edges");
    else
        code = (int)cudaGraphAddNode(&a.raw, graph->raw, a.deps, data, after_count, params);
    free(data);
    return end(&a, code);
}
