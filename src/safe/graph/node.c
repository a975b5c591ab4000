/* Nodes: one function for each kind, which checks, lets the graph keep what is used, and adds. */
#include "safe/base/closure.h"
#include "safe/base/event.h"
#include "safe/graph/graph.h"
#include "safe/kernel/launch.h"
#include "safe/memory/buffer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static_assert((int)ACU_CONDITIONAL_IF == (int)cudaGraphCondTypeIf, "");
static_assert((int)ACU_CONDITIONAL_SWITCH == (int)cudaGraphCondTypeSwitch, "");
static_assert((int)ACU_CONDITIONAL_ASSIGN_DEFAULT == (int)cudaGraphCondAssignDefault, "");

/* ---- what all have in common -------------------------------------------------------------------
 */

enum { FEW = 16 };

/* A node that is being added. Between begin() and end() the graph is locked. */
typedef struct adding {
    const char *call;
    acu_graph *graph;
    const acu_node *after;
    size_t after_count;
    acu_node *node;
    acu_kept_list *list; /* what it keeps */
    /* What CUDA's calls are given: */
    cudaGraphNode_t raw;
    cudaGraphNode_t *deps;
    cudaGraphNode_t few[FEW];
    acu_guard guard;
} adding;

static int no_memory(const char *call) {
    return acu_fail(call, "", ACU_ERROR_HOST_MEMORY, "no memory for a node");
}

static int gather(adding *a) {
    for (size_t i = 0; i < a->after_count; i++) {
        if (a->after[i].graph && a->after[i].graph != a->graph)
            return acu_fail(a->call, "", ACU_ERROR_ARGUMENT,
                            "node %zu, which this one shall come after, is of another graph", i);
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

/* Whatever can fail besides CUDA's call. */
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

/* The result of CUDA's call becomes that of the public function. */
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
    code = acu_outcome(a->call, a->graph, code);
    acu_kept_list_free(a->list);
    return code;
}

/* On success, end() follows. */
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

/* `adding a` with the public function's parameters; begun with what it keeps. */
#define ADDING(a) adding a = {.call = __func__, graph, after, after_count, node}
/* What CUDA's functions that add a node begin with. */
#define PLACE(a) &(a).raw, (a).graph->raw, (a).deps, (a).after_count

acu_result acu_graph_add_empty(acu_graph *graph, const acu_node *after, size_t after_count,
                               acu_node *node) {
    ADDING(a);
    ACU_TRY(begin(&a, -1, NULL, 0));
    return end(&a, (int)cudaGraphAddEmptyNode(PLACE(a)));
}

/* ---- kernels -----------------------------------------------------------------------------------
 */

acu_result acu_graph_add_kernel(acu_graph *graph, const acu_node *after, size_t after_count,
                                acu_kernel *kernel, const acu_grid *grid, const acu_arg *args,
                                size_t arg_count, acu_node *node) {
    acu_prepared_launch prepared;
    ADDING(a);
    acu_object_use keeps[ACU_LAUNCH_MAX_OBJECTS];
    ACU_TRY(acu_launch_prepare(__func__, kernel, grid, args, arg_count, &prepared));
    ACU_TRY(begin(&a, acu_kernel_device(kernel), keeps, acu_launch_objects(&prepared, keeps)));
    return end(&a, acu_launch_add_node(&prepared, graph->raw, a.deps, after_count, &a.raw));
}

/* ---- copies ------------------------------------------------------------------------------------
 */

int acu_node_params_of_copy(const char *call, const acu_copy *copy, acu_node_params *params) {
    if (!copy)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'copy' is NULL");
    size_t count = copy->count;
    if (count == 0 && acu_is(copy->from, &acu_buffer_class) && copy->from_at < copy->from->count)
        count = copy->from->count - copy->from_at;
    int code = acu_buffer_check_copy(call, copy->to, copy->to_at, copy->from, copy->from_at, count);
    if (code)
        return code;
    size_t size = acu_dtype_size(copy->to->dtype);
    *params = (acu_node_params){
        .device = copy->to->object.device,
        .copy = {copy->to->pointer + copy->to_at * size, copy->from->pointer + copy->from_at * size,
                 count * size, acu_buffer_copy_kind(copy->to, copy->from)},
        .count = 2,
        .keeps = {{&copy->to->storage->object, true}, {&copy->from->storage->object, false}}};
    if (count == 0)
        return acu_fail_on(call, copy->from, ACU_ERROR_RANGE, "there is nothing to copy");
    return 0;
}

int acu_node_hint_at_copy(const acu_copy *copy, int code) {
    int to = code ? copy->to->object.device : -1, from = code ? copy->from->object.device : -1;
    if (code == cudaErrorInvalidValue && acu_buffer_copy_is_peer(copy->to, copy->from))
        acu_fail_hint(
            "a node copies what device %d can access: acu_pool_set_access() opens a pool of "
            "device %d to it, acu_device_enable_peer_access() the memory of none",
            to, from);
    return code;
}

acu_result acu_graph_add_copy(acu_graph *graph, const acu_node *after, size_t after_count,
                              const acu_copy *copy, acu_node *node) {
    acu_node_params p = {.device = -1, .count = 0};
    ADDING(a);
    ACU_TRY(acu_node_params_of_copy(__func__, copy, &p));
    ACU_TRY(begin(&a, p.device, p.keeps, p.count));
    int code =
        (int)cudaGraphAddMemcpyNode1D(PLACE(a), p.copy.to, p.copy.from, p.copy.bytes, p.copy.kind);
    return acu_node_hint_at_copy(copy, end(&a, code));
}

static acu_kept_closure *keep_bytes(const char *call, const void *host, size_t bytes) {
    void *data = malloc(bytes);
    acu_kept_closure *kept = data ? acu_closure_new(call, &(acu_closure){NULL, data, free}) : NULL;
    if (!kept) {
        free(data);
        (void)no_memory(call);
        return NULL;
    }
    memcpy(data, host, bytes);
    return kept;
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
    ADDING(a);
    ACU_TRY(acu_buffer_check_host_copy(__func__, buffer, at, dtype, host, count));
    ACU_REQUIRE_OF(buffer, count > 0, ACU_ERROR_RANGE, "there is nothing to write");
    size_t bytes = count * acu_dtype_size(buffer->dtype);
    acu_kept_closure *kept = keep_bytes(__func__, host, bytes);
    if (!kept)
        return ACU_ERROR_HOST_MEMORY;
    int code = add_write(&a, buffer, at, kept, bytes);
    (void)acu_object_release(NULL, kept, kept->object.was);
    return code;
}

acu_result acu_graph_add_memcpy(acu_graph *graph, const acu_node *after, size_t after_count,
                                const struct cudaMemcpy3DParms *params, acu_node *node) {
    ADDING(a);
    ACU_NEED_POINTER(params);
    ACU_TRY(begin(&a, -1, NULL, 0));
    return end(&a, (int)cudaGraphAddMemcpyNode(PLACE(a), params));
}

/* ---- fills -------------------------------------------------------------------------------------
 */

/* The largest unit that CUDA sets at once; 0 if it cannot set such an element. */
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

/* Whether all rows lie in the buffer. */
static bool rows_fit(const acu_buffer *buffer, size_t at, size_t width, size_t height,
                     size_t pitch) {
    size_t end;
    return !__builtin_mul_overflow(height - 1, pitch, &end) &&
           !__builtin_add_overflow(end, width, &end) && !__builtin_add_overflow(end, at, &end) &&
           end <= buffer->count;
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
    size_t width = fill->width ? fill->width : buffer->count - fill->at;
    size_t pitch = fill->pitch ? fill->pitch : width;
    unsigned value = 0, unit = unit_of(fill->element, size, &value);
    if (unit == 0)
        return acu_fail_on(call, buffer, ACU_ERROR_DTYPE, "a node cannot set elements of %zu bytes",
                           size);
    if (width == 0 || pitch < width || !rows_fit(buffer, fill->at, width, height, pitch))
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

acu_result acu_graph_add_fill(acu_graph *graph, const acu_node *after, size_t after_count,
                              const acu_fill *fill, acu_node *node) {
    acu_node_params p = {.device = -1, .count = 0};
    ADDING(a);
    ACU_TRY(acu_node_params_of_fill(__func__, fill, &p));
    ACU_TRY(begin(&a, p.device, p.keeps, p.count));
    return end(&a, (int)cudaGraphAddMemsetNode(PLACE(a), &p.fill));
}

/* ---- the host, other graphs, events ------------------------------------------------------------
 */

static int add_host(adding *a, const acu_closure *closure) {
    if (!closure->call)
        return acu_fail(a->call, "", ACU_ERROR_ARGUMENT, "'closure.call' is NULL");
    acu_kept_closure *kept = acu_closure_new(a->call, closure);
    if (!kept)
        return ACU_ERROR_HOST_MEMORY;
    acu_object_use keep = {&kept->object, false};
    struct cudaHostNodeParams params = {acu_closure_run, kept};
    int code = begin(a, -1, &keep, 1);
    if (!code)
        code = end(a, (int)cudaGraphAddHostNode(PLACE(*a), &params));
    if (code)
        kept->closure.destroy = NULL; /* the caller does it */
    (void)acu_object_release(NULL, kept, kept->object.was);
    return code;
}

acu_result acu_graph_add_host(acu_graph *graph, const acu_node *after, size_t after_count,
                              acu_closure closure, acu_node *node) {
    ADDING(a);
    int code = add_host(&a, &closure);
    if (code && closure.destroy)
        closure.destroy(closure.data);
    return code;
}

/* What the child keeps, the whole keeps, too. */
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
    ADDING(a);
    ACU_NEED(child, acu_graph_class);
    ACU_REQUIRE(child != graph, ACU_ERROR_ARGUMENT, "a graph cannot be its own child");
    ACU_TRY(acu_graph_check_uncaptured(__func__, child));
    ACU_TRY(begin(&a, -1, NULL, 0));
    return end(&a, add_child(&a, child));
}

acu_result acu_graph_add_event_record(acu_graph *graph, const acu_node *after, size_t after_count,
                                      acu_event *event, acu_node *node) {
    ADDING(a);
    ACU_NEED(event, acu_event_class);
    acu_object_use keep = {&event->object, false};
    ACU_TRY(begin(&a, event->object.device, &keep, 1));
    acu_event_mark_recorded(event);
    return end(&a, (int)cudaGraphAddEventRecordNode(PLACE(a), event->raw));
}

acu_result acu_graph_add_event_wait(acu_graph *graph, const acu_node *after, size_t after_count,
                                    acu_event *event, acu_node *node) {
    ADDING(a);
    ACU_NEED(event, acu_event_class);
    acu_object_use keep = {&event->object, false};
    ACU_TRY(begin(&a, event->object.device, &keep, 1));
    return end(&a, (int)cudaGraphAddEventWaitNode(PLACE(a), event->raw));
}

acu_result
acu_graph_add_semaphore_signal(acu_graph *graph, const acu_node *after, size_t after_count,
                               const struct cudaExternalSemaphoreSignalNodeParams *params,
                               acu_node *node) {
    ADDING(a);
    ACU_NEED_POINTER(params);
    ACU_TRY(begin(&a, -1, NULL, 0));
    return end(&a, (int)cudaGraphAddExternalSemaphoresSignalNode(PLACE(a), params));
}

acu_result acu_graph_add_semaphore_wait(acu_graph *graph, const acu_node *after, size_t after_count,
                                        const struct cudaExternalSemaphoreWaitNodeParams *params,
                                        acu_node *node) {
    ADDING(a);
    ACU_NEED_POINTER(params);
    ACU_TRY(begin(&a, -1, NULL, 0));
    return end(&a, (int)cudaGraphAddExternalSemaphoresWaitNode(PLACE(a), params));
}

/* ---- memory ------------------------------------------------------------------------------------
 */

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
    acu_buffer *made = NULL;
    ADDING(a);
    ACU_NEED_POINTER(buffer);
    *buffer = NULL;
    ACU_NEED(graph, acu_graph_class);
    ACU_REQUIRE(count > 0, ACU_ERROR_ARGUMENT, "there is nothing to allocate");
    ACU_TRY(acu_device_resolve(__func__, &device));
    ACU_TRY(acu_storage_new_for_graph(__func__, device, dtype, count, &made));
    int code = add_alloc(&a, made);
    if (code)
        (void)acu_object_release(NULL, made, &acu_buffer_class);
    else
        *buffer = made;
    return code;
}

static int need_graph_memory(const char *call, const acu_buffer *buffer) {
    if (!acu_is(buffer, &acu_buffer_class))
        return acu_object_refuse(call, buffer, &acu_buffer_class);
    if (buffer->storage->memory == ACU_MEMORY_GRAPH)
        return 0;
    return acu_fail_on(call, buffer, ACU_ERROR_MEMORY_KIND, "no graph has allocated this memory");
}

acu_result acu_graph_add_free(acu_graph *graph, const acu_node *after, size_t after_count,
                              acu_buffer *buffer, acu_node *node) {
    ADDING(a);
    ACU_TRY(need_graph_memory(__func__, buffer));
    acu_storage *s = buffer->storage;
    acu_object_use keep = {&s->object, true};
    ACU_TRY(begin(&a, s->device, &keep, 1));
    return end(&a, (int)cudaGraphAddMemFreeNode(PLACE(a), s->pointer));
}

static int free_on(acu_storage *s, acu_stream *on) {
    uint64_t version;
    acu_guard guard;
    int code = acu_storage_begin_use(s, on, true, &version);
    if (code)
        return code;
    code = acu_stream_enter(on, &guard);
    if (!code)
        code = (int)cudaFreeAsync(s->pointer, on->raw);
    acu_guard_leave(&guard);
    int ended = acu_storage_end_use(s, on, true, version);
    return code ? code : ended;
}

acu_result acu_graph_memory_free(acu_buffer *buffer, acu_stream *stream) {
    ACU_TRY(need_graph_memory(__func__, buffer));
    ACU_NEED_STREAM(stream);
    return acu_outcome(__func__, buffer, free_on(buffer->storage, stream));
}

/* ---- conditions --------------------------------------------------------------------------------
 */

acu_result acu_conditional_create(acu_graph *graph, unsigned default_value, unsigned flags,
                                  acu_conditional *conditional) {
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

/* The handles are made first, so that nothing can fail once the node is there. */
static int add_bodies(adding *a, struct cudaGraphNodeParams *params, acu_graph **bodies) {
    unsigned count = params->conditional.size;
    int code = 0;
    for (unsigned i = 0; i < count && !code; i++) {
        bodies[i] = acu_graph_new_part(a->call, a->graph);
        code = bodies[i] ? 0 : ACU_ERROR_HOST_MEMORY;
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
                ACU_ERROR_ARGUMENT, "%u bodies", body_count);
    memset(bodies, 0, body_count * sizeof *bodies);
    struct cudaGraphNodeParams params = {
        .type = cudaGraphNodeTypeConditional,
        .conditional = {.handle = conditional.raw,
                        .type = (enum cudaGraphConditionalNodeType)type,
                        .size = body_count}};
    ACU_TRY(begin(&a, -1, NULL, 0));
    return end(&a, add_bodies(&a, &params, bodies));
}

/* ---- anything ----------------------------------------------------------------------------------
 */

acu_result acu_graph_add_node(acu_graph *graph, const acu_node *after, size_t after_count,
                              const acu_edge *edges, struct cudaGraphNodeParams *params,
                              acu_node *node) {
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
