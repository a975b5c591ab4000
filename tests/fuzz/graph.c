/* Graphs and their nodes. */
#include "fuzz.h"

#include <stdio.h>

enum { MOST_NODES = 64 };

chosen_node any_node(const object *graph) {
    static cudaGraphNode_t nodes[MOST_NODES];
    chosen_node chosen = {NULL, "NULL"};
    size_t count = MOST_NODES;
    if (!graph->handle || one_in(40) || cudaGraphGetNodes(graph->handle, nodes, &count) || !count)
        return chosen;
    const unsigned index = below((unsigned)(count < MOST_NODES ? count : MOST_NODES));
    chosen.handle = nodes[index];
    (void)snprintf(chosen.name, sizeof chosen.name, "%s[%u]", name(graph), index);
    return chosen;
}

chosen_node any_node_of(const object *graph, enum cudaGraphNodeType type) {
    chosen_node chosen = any_node(graph);
    for (int i = 0; i < 12 && chosen.handle; i++) {
        enum cudaGraphNodeType found = cudaGraphNodeTypeCount;
        if (!cudaGraphNodeGetType(chosen.handle, &found) && found == type)
            break;
        chosen = any_node(graph);
    }
    return chosen;
}

node_list any_nodes(const object *graph) {
    node_list list = {.count = below(3)};
    size_t length = 1;
    list.name[0] = '{';
    for (size_t i = 0; i < list.count; i++) {
        const chosen_node node = any_node(graph);
        list.nodes[i] = node.handle;
        length += (size_t)snprintf(list.name + length, sizeof list.name - length, "%s%s",
                                   i ? " " : "", node.name);
    }
    (void)snprintf(list.name + length, sizeof list.name - length, "}");
    return list;
}

static void nothing(void *unused_data) {
    (void)unused_data;
}

/* ---- graphs ---- */

static void create_graph(void) {
    object *o = empty(GRAPH);
    cudaGraph_t made = UNWRITTEN;
    const unsigned flags = one_in(10);
    if (!o)
        return;
    call("cudaGraphCreate(%u)", flags);
    const cudaError_t result = cudaGraphCreate(&made, flags);
    if (!result)
        o->handle = made;
    answer(result, "%s", result ? handle_state(made) : name(o));
}

static void destroy_graph(void) {
    object *o = unused(GRAPH);
    if (!o)
        return;
    call("cudaGraphDestroy(%s)", name(o));
    void *handle = o->handle;
    o->handle = NULL;
    answer(cudaGraphDestroy(handle), "%s", "");
}

static void clone_graph(void) {
    object *to = empty(GRAPH);
    const object *from = any(GRAPH);
    cudaGraph_t made = UNWRITTEN;
    if (!to)
        return;
    call("cudaGraphClone(%s)", name(from));
    const cudaError_t result = cudaGraphClone(&made, from->handle);
    if (!result)
        to->handle = made;
    answer(result, "%s", result ? handle_state(made) : name(to));
}

static void list_graph(void) {
    const object *o = any(GRAPH);
    cudaGraphNode_t nodes[4], others[4];
    size_t count = (size_t)ONE_OF(0, 1, 3, 4);
    const size_t asked = count;
    cudaError_t result;
    switch (below(4)) {
    case 0:
        call("cudaGraphGetNodes(%s, %zu)", name(o), asked);
        result = cudaGraphGetNodes(o->handle, asked ? nodes : NULL, &count);
        break;
    case 1:
        call("cudaGraphGetRootNodes(%s, %zu)", name(o), asked);
        result = cudaGraphGetRootNodes(o->handle, asked ? nodes : NULL, &count);
        break;
    default:
        call("cudaGraphGetEdges(%s, %zu)", name(o), asked);
        result =
            cudaGraphGetEdges(o->handle, asked ? nodes : NULL, asked ? others : NULL, NULL, &count);
    }
    answer(result, "%zu", count);
}

/* ---- adding nodes ---- */

addition begin_addition(void) {
    addition a = {.graph = any(GRAPH), .made = UNWRITTEN};
    a.after = any_nodes(a.graph);
    return a;
}

static void add_empty(void) {
    addition a = begin_addition();
    call("cudaGraphAddEmptyNode(%s, %s)", HEAD(a));
    const cudaError_t result = cudaGraphAddEmptyNode(ARGUMENTS(a));
    answer(result, "%s", handle_state(a.made));
}

static void add_host(void) {
    addition a = begin_addition();
    const struct cudaHostNodeParams p = {one_in(10) ? NULL : nothing, NULL};
    call("cudaGraphAddHostNode(%s, %s, %s)", HEAD(a), p.fn ? "function" : "NULL");
    const cudaError_t result = cudaGraphAddHostNode(ARGUMENTS(a), &p);
    answer(result, "%s", handle_state(a.made));
}

struct cudaMemsetParams any_fill(place *to) {
    struct cudaMemsetParams p = {.value = below(1000)};
    *to = any_target();
    p.dst = to->address;
    p.elementSize = (unsigned)ONE_OF(1, 1, 1, 2, 2, 4, 4, 4, 4, 4, 0, 3, 8);
    p.width = (size_t)ONE_OF(0, 1, 4, 4, 16, 16, 64);
    p.height = (size_t)ONE_OF(0, 1, 1, 1, 3);
    p.pitch = (size_t)ONE_OF(0, 64, 256, 256, 256, 256, 5);
    return p;
}

static void add_fill(void) {
    addition a = begin_addition();
    place to;
    const struct cudaMemsetParams p = any_fill(&to);
    call("cudaGraphAddMemsetNode(%s, %s, {%s, %zu, %u, %u, %zu, %zu})", HEAD(a), to.name, p.pitch,
         p.value, p.elementSize, p.width, p.height);
    const cudaError_t result = cudaGraphAddMemsetNode(ARGUMENTS(a), &p);
    uses(&to, true, true);
    answer(result, "%s", handle_state(a.made));
}

static void add_copy(void) {
    addition a = begin_addition();
    place to = any_target(), from = any_place();
    const size_t size = any_size(to.room < from.room ? to.room : from.room);
    const int direction = any_direction();
    if (size > to.room || size > from.room || to.object == from.object)
        return;
    call("cudaGraphAddMemcpyNode1D(%s, %s, %s, %s, %zu, %d)", HEAD(a), to.name, from.name, size,
         direction);
    const cudaError_t result = cudaGraphAddMemcpyNode1D(ARGUMENTS(a), to.address, from.address,
                                                        size, (enum cudaMemcpyKind)direction);
    uses(&to, true, true);
    uses(&from, false, true);
    answer(result, "%s", handle_state(a.made));
}

static void add_box(void) {
    addition a = begin_addition();
    place to = any_target(), from = any_place();
    struct cudaMemcpy3DParms p;
    if (to.room < 1024 || from.room < 1024 || to.object == from.object)
        return;
    p = any_box(&to, &from);
    call("cudaGraphAddMemcpyNode(%s, %s, %s p%zu y%zu, %s p%zu y%zu, {%zu, %zu, %zu}, %d)", HEAD(a),
         to.name, p.dstPtr.pitch, p.dstPtr.ysize, from.name, p.srcPtr.pitch, p.srcPtr.ysize,
         p.extent.width, p.extent.height, p.extent.depth, (int)p.kind);
    const cudaError_t result = cudaGraphAddMemcpyNode(ARGUMENTS(a), &p);
    uses(&to, true, true);
    uses(&from, false, true);
    answer(result, "%s", handle_state(a.made));
}

static void add_child(void) {
    addition a = begin_addition();
    const object *child = any(GRAPH);
    if (child == a.graph && child->handle)
        return; /* crashes CUDA in the end */
    call("cudaGraphAddChildGraphNode(%s, %s, %s)", HEAD(a), name(child));
    const cudaError_t result = cudaGraphAddChildGraphNode(ARGUMENTS(a), child->handle);
    answer(result, "%s", handle_state(a.made));
}

static void add_event(void) {
    addition a = begin_addition();
    object *event = any(EVENT);
    cudaError_t result;
    if (one_in(2)) {
        call("cudaGraphAddEventRecordNode(%s, %s, %s)", HEAD(a), name(event));
        result = cudaGraphAddEventRecordNode(ARGUMENTS(a), event->handle);
    } else {
        call("cudaGraphAddEventWaitNode(%s, %s, %s)", HEAD(a), name(event));
        result = cudaGraphAddEventWaitNode(ARGUMENTS(a), event->handle);
    }
    event->is_used |= event->handle != NULL;
    answer(result, "%s", handle_state(a.made));
}

static void add_allocation(void) {
    addition a = begin_addition();
    struct cudaMemAllocNodeParams p;
    memset(&p, 0, sizeof p);
    p.poolProps.allocType = (enum cudaMemAllocationType)ONE_OF(1, 1, 1, 0);
    p.poolProps.location.type = (enum cudaMemLocationType)ONE_OF(1, 1, 1, 0);
    p.poolProps.location.id = any_device();
    p.bytesize = (size_t)ONE_OF(0, 1, 4096, 65536);
    p.dptr = UNWRITTEN;
    call("cudaGraphAddMemAllocNode(%s, %s, {%d, {%d, %d}}, %zu)", HEAD(a),
         (int)p.poolProps.allocType, (int)p.poolProps.location.type, p.poolProps.location.id,
         p.bytesize);
    const cudaError_t result = cudaGraphAddMemAllocNode(ARGUMENTS(a), &p);
    if (!result && one_in(2)) {
        answer(result, "%s %s", handle_state(a.made), handle_state(p.dptr));
        cudaGraphNode_t freed = UNWRITTEN;
        const bool wrong = one_in(6);
        call("cudaGraphAddMemFreeNode(%s, {it}, %s)", name(a.graph), wrong ? "NULL" : "its");
        const cudaError_t second =
            cudaGraphAddMemFreeNode(&freed, a.graph->handle, &a.made, 1, wrong ? NULL : p.dptr);
        answer(second, "%s", handle_state(freed));
        return;
    }
    answer(result, "%s %s", handle_state(a.made), handle_state(p.dptr));
}

struct cudaKernelNodeParams any_kernel_node(const char **chosen) {
    static unsigned long long words[4];
    static void *arguments[4] = {words, words + 1, words + 2, words + 3};
    const void *kernel = any_kernel(chosen);
    return (struct cudaKernelNodeParams){(void *)(uintptr_t)kernel,
                                         {(unsigned)ONE_OF(1, 1, 1, 0, 7), 1, 1},
                                         {(unsigned)ONE_OF(1, 1, 64, 0, 2048), 1, 1},
                                         (unsigned)ONE_OF(0, 0, 0, 1000, 300000),
                                         one_in(10) ? NULL : arguments,
                                         NULL};
}

static void add_kernel(void) {
    addition a = begin_addition();
    const char *chosen;
    const struct cudaKernelNodeParams p = any_kernel_node(&chosen);
    if (!p.func)
        return;
    call("cudaGraphAddKernelNode(%s, %s, {%s, %u, %u, %u, %s})", HEAD(a), chosen, p.gridDim.x,
         p.blockDim.x, p.sharedMemBytes, p.kernelParams ? "arguments" : "NULL");
    const cudaError_t result = cudaGraphAddKernelNode(ARGUMENTS(a), &p);
    answer(result, "%s", handle_state(a.made));
}

/* ---- edges and nodes ---- */

static void change_edges(void) {
    const object *o = any(GRAPH);
    const chosen_node from = any_node(o), to = any_node(o);
    const size_t count = (size_t)ONE_OF(0, 1, 1, 1, 1);
    if (one_in(3)) {
        call("cudaGraphRemoveDependencies(%s, %s, %s, %zu)", name(o), from.name, to.name, count);
        answer(cudaGraphRemoveDependencies(o->handle, &from.handle, &to.handle, NULL, count), "%s",
               "");
    } else {
        call("cudaGraphAddDependencies(%s, %s, %s, %zu)", name(o), from.name, to.name, count);
        answer(cudaGraphAddDependencies(o->handle, &from.handle, &to.handle, NULL, count), "%s",
               "");
    }
}

static void describe_node(void) {
    const object *o = any(GRAPH);
    const chosen_node node = any_node(o);
    enum cudaGraphNodeType type = (enum cudaGraphNodeType)99;
    size_t count = 77;
    cudaError_t result;
    switch (below(3)) {
    case 0:
        call("cudaGraphNodeGetType(%s)", node.name);
        result = cudaGraphNodeGetType(node.handle, &type);
        answer(result, "%d", (int)type);
        break;
    case 1:
        call("cudaGraphNodeGetDependencies(%s)", node.name);
        result = cudaGraphNodeGetDependencies(node.handle, NULL, NULL, &count);
        answer(result, "%zu", count);
        break;
    default:
        call("cudaGraphNodeGetDependentNodes(%s)", node.name);
        result = cudaGraphNodeGetDependentNodes(node.handle, NULL, NULL, &count);
        answer(result, "%zu", count);
    }
}

static void destroy_node(void) {
    object *o = unused(GRAPH);
    if (!o)
        return;
    for (const object *e = objects[EXEC]; e < objects[EXEC] + SLOTS; e++)
        if (e->handle && e->graph == o)
            return; /* the instance's calls take the graph's nodes */
    const chosen_node node = any_node(o);
    call("cudaGraphDestroyNode(%s)", node.name);
    answer(cudaGraphDestroyNode(node.handle), "%s", "");
}

static void find_in_clone(void) {
    const object *from = any(GRAPH), *clone = any(GRAPH);
    const chosen_node node = any_node(from);
    cudaGraphNode_t found = UNWRITTEN;
    call("cudaGraphNodeFindInClone(%s, %s)", node.name, name(clone));
    const cudaError_t result = cudaGraphNodeFindInClone(&found, node.handle, clone->handle);
    answer(result, "%s", handle_state(found));
}

static void node_parameters(void) {
    const object *o = any(GRAPH);
    const chosen_node node = any_node(o);
    place to;
    struct cudaMemsetParams fill = any_fill(&to), got_fill = {.width = 7};
    struct cudaHostNodeParams host = {nothing, NULL};
    struct cudaMemcpy3DParms box;
    cudaError_t result;
    switch (below(6)) {
    case 0:
        call("cudaGraphMemsetNodeSetParams(%s, {%s, %zu, %u, %u, %zu, %zu})", node.name, to.name,
             fill.pitch, fill.value, fill.elementSize, fill.width, fill.height);
        answer(cudaGraphMemsetNodeSetParams(node.handle, &fill), "%s", "");
        uses(&to, true, true);
        break;
    case 1:
        call("cudaGraphMemsetNodeGetParams(%s)", node.name);
        result = cudaGraphMemsetNodeGetParams(node.handle, &got_fill);
        answer(result, "%zu %zu %u %u %zu", got_fill.width, got_fill.height, got_fill.elementSize,
               result ? 0 : got_fill.value, result ? 0 : got_fill.pitch);
        break;
    case 2:
        call("cudaGraphHostNodeSetParams(%s)", node.name);
        answer(cudaGraphHostNodeSetParams(node.handle, &host), "%s", "");
        break;
    case 3:
        host.fn = NULL;
        call("cudaGraphHostNodeGetParams(%s)", node.name);
        result = cudaGraphHostNodeGetParams(node.handle, &host);
        answer(result, "%s", host.fn == nothing ? "ours" : host.fn ? "other" : "NULL");
        break;
    case 4:
        memset(&box, 0, sizeof box);
        call("cudaGraphMemcpyNodeGetParams(%s)", node.name);
        result = cudaGraphMemcpyNodeGetParams(node.handle, &box);
        answer(result, "%zu %zu %zu %d", box.extent.width, box.extent.height, box.extent.depth,
               (int)box.kind);
        break;
    default: {
        cudaEvent_t event = UNWRITTEN;
        call("cudaGraphEventRecordNodeGetEvent(%s)", node.name);
        result = cudaGraphEventRecordNodeGetEvent(node.handle, &event);
        answer(result, "%s", handle_state(event));
    }
    }
}

static void create_user_object(object *o, unsigned count) {
    cudaUserObject_t made = UNWRITTEN;
    const unsigned flags = (unsigned)ONE_OF(1, 1, 1, 0, 2);
    call("cudaUserObjectCreate(%u, %u)", count, flags);
    const cudaError_t result = cudaUserObjectCreate(&made, pageable, nothing, count, flags);
    if (!result) {
        o->handle = made;
        o->size = count;
    }
    answer(result, "%s", handle_state(made));
}

/* The program always keeps a reference of its own, so that no handle becomes stale. */
static void release_user_object(object *held, unsigned count) {
    if (!held->handle || held->size <= count)
        return;
    call("cudaUserObjectRelease(%s, %u)", name(held), count);
    const cudaError_t result = cudaUserObjectRelease(held->handle, count);
    if (!result)
        held->size -= count;
    answer(result, "%s", "");
}

static void retain_for_graph(const object *held, unsigned count) {
    const object *graph = any(GRAPH);
    const unsigned flags = (unsigned)ONE_OF(0, 0, 2);
    const bool is_released = one_in(3);
    call("cudaGraphRetainUserObject(%s, %s, %u, %u)", name(graph), name(held), count, flags);
    const cudaError_t result = cudaGraphRetainUserObject(graph->handle, held->handle, count, flags);
    answer(result, "%s", "");
    if (result || !is_released)
        return;
    call("cudaGraphReleaseUserObject(%s, %s, %u)", name(graph), name(held), count);
    answer(cudaGraphReleaseUserObject(graph->handle, held->handle, count), "%s", "");
}

static void user_object(void) {
    object *o = empty(USER_OBJECT), *held = any(USER_OBJECT);
    const unsigned count = (unsigned)ONE_OF(0, 1, 1, 2);
    if (o && one_in(2)) {
        create_user_object(o, count);
    } else if (one_in(2)) {
        retain_for_graph(held, count);
    } else if (one_in(2)) {
        release_user_object(held, count);
    } else {
        call("cudaUserObjectRetain(%s, %u)", name(held), count);
        const cudaError_t result = cudaUserObjectRetain(held->handle, count);
        if (!result)
            held->size += count;
        answer(result, "%s", "");
    }
}

const operation graph_operations[] = {
    OPERATION(create_graph, 7, true),   OPERATION(destroy_graph, 2, false),
    OPERATION(clone_graph, 3, false),   OPERATION(list_graph, 8, false),
    OPERATION(add_empty, 8, true),      OPERATION(add_host, 6, true),
    OPERATION(add_fill, 10, true),      OPERATION(add_copy, 10, true),
    OPERATION(add_box, 4, false),       OPERATION(add_child, 4, false),
    OPERATION(add_event, 5, false),     OPERATION(add_allocation, 4, false),
    OPERATION(add_kernel, 4, false),    OPERATION(change_edges, 12, false),
    OPERATION(describe_node, 6, false), OPERATION(destroy_node, 3, false),
    OPERATION(find_in_clone, 2, false), OPERATION(node_parameters, 8, false),
    OPERATION(user_object, 3, true),    OPERATION(NULL, 0, false),
};
