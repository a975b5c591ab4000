/* Graphs: their life, their parts, what they keep, and the ids of their nodes. */
#include "safe/graph/graph.h"

#include "safe/base/closure.h"
#include "safe/memory/storage.h"

#include <stdio.h>
#include <stdlib.h>

#define OUTCOME(graph, code) acu_outcome(__func__, (graph), (int)(code))

/* ---- the lock ---- */

static pthread_mutex_t all_graphs = PTHREAD_MUTEX_INITIALIZER;

void acu_graph_lock(void) {
    pthread_mutex_lock(&all_graphs);
}

void acu_graph_unlock(void) {
    pthread_mutex_unlock(&all_graphs);
}

/* ---- life ---- */

/* Kept objects are released without the lock of all graphs, because there may be many, and they
 * take locks of their own. */
static int destroy_graph(acu_object *object) {
    acu_graph *graph = (acu_graph *)object;
    int code = 0, kept = 0;
    while (graph->parts) {
        acu_graph *part = graph->parts;
        graph->parts = part->next;
        (void)acu_object_release(NULL, part, &acu_graph_class);
    }
    if (graph->owned && !acu_is_unloading()) {
        acu_graph_lock();
        code = acu_forgive_unloading((int)cudaGraphDestroy(graph->raw));
        acu_graph_unlock();
    }
    if (graph->root == graph) {
        kept = acu_kept_set_release(graph->kept);
        pthread_mutex_destroy(&graph->kept_lock);
    }
    acu_graph_forget_nodes(graph);
    return code ? code : kept;
}

/* The nodes are not counted, because only CUDA knows how many there are. */
static void describe_graph(const acu_object *object, acu_description *d) {
    const acu_graph *graph = (const acu_graph *)object;
    bool capturing = __atomic_load_n(&graph->root->capturing, __ATOMIC_RELAXED) > 0;
    bool given = graph->root == graph && !graph->owned && !capturing;
    if (graph->root != graph)
        acu_describe(d, "a part of %p", (void *)graph->root);
    if (graph->raw)
        acu_describe(d, "%s %p", given ? "wrapped" : "raw", (void *)graph->raw);
    if (capturing)
        acu_describe(d, "being captured into");
    else if (!graph->raw)
        acu_describe(d, "lost, because a capture into it failed");
}

const acu_class acu_graph_class = {"graph", destroy_graph, describe_graph, NULL};

static acu_graph *new_graph(const char *call) {
    static uint32_t graphs;
    acu_graph *graph = acu_object_new(call, &acu_graph_class, sizeof *graph, ACU_EVERY_DEVICE);
    if (graph)
        graph->salt = __atomic_add_fetch(&graphs, 1, __ATOMIC_RELAXED);
    return graph;
}

acu_graph *acu_graph_new(const char *call) {
    acu_graph *graph = new_graph(call);
    if (!graph)
        return NULL;
    graph->root = graph;
    pthread_mutex_init(&graph->kept_lock, NULL);
    return graph;
}

acu_graph *acu_graph_new_part(const char *call, acu_graph *parent) {
    acu_graph *part = new_graph(call);
    if (!part)
        return NULL;
    part->root = parent->root;
    part->parent = parent;
    return part;
}

void acu_graph_add_part(acu_graph *part, cudaGraph_t raw, cudaGraphNode_t within) {
    part->raw = raw;
    part->within = within;
    part->next = part->root->parts;
    part->root->parts = part;
}

void acu_graph_discard_part(acu_graph *part) {
    if (part)
        acu_object_discard(&part->object);
}

acu_result acu_graph_create(acu_graph **graph) {
    ACU_SCOPE();
    ACU_NEED_POINTER(graph);
    *graph = NULL;
    acu_destroy_deferred();
    acu_graph *made = acu_graph_new(__func__);
    if (!made)
        return ACU_ERROR_HOST_MEMORY;
    int code = (int)cudaGraphCreate(&made->raw, 0);
    if (code) {
        acu_object_discard(&made->object);
        return OUTCOME(NULL, code);
    }
    made->owned = true;
    *graph = made;
    return 0;
}

static int take_graph(const char *call, cudaGraph_t raw, bool owned, acu_graph **graph) {
    if (graph)
        *graph = NULL;
    if (!graph || !raw)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'%s' is NULL", graph ? "raw" : "graph");
    acu_graph *made = *graph = acu_graph_new(call);
    if (!made)
        return ACU_ERROR_HOST_MEMORY;
    made->raw = raw;
    made->owned = owned;
    return 0;
}

acu_result acu_graph_wrap(struct CUgraph_st *raw, acu_graph **graph) {
    ACU_SCOPE();
    return take_graph(__func__, raw, false, graph);
}

acu_result acu_graph_adopt(struct CUgraph_st *raw, acu_graph **graph) {
    ACU_SCOPE();
    return take_graph(__func__, raw, true, graph);
}

struct CUgraph_st *acu_graph_raw(const acu_graph *graph) {
    return acu_is(graph, &acu_graph_class) ? graph->raw : NULL;
}

/* Returns the handle that counts the owners: an owner of a part is an owner of the whole. */
static acu_graph *whole(acu_graph *graph) {
    return acu_is(graph, &acu_graph_class) ? graph->root : graph;
}

acu_graph *acu_graph_retain(acu_graph *graph) {
    return acu_object_retain(__func__, whole(graph), &acu_graph_class) ? graph : NULL;
}

acu_result acu_graph_release(acu_graph *graph) {
    ACU_SCOPE();
    acu_destroy_deferred();
    return acu_object_release(__func__, whole(graph), &acu_graph_class);
}

void acu_graph_cleanup(acu_graph **graph) {
    (void)acu_graph_release(acu_take(graph));
}

size_t acu_graph_describe(const acu_graph *graph, char *text, size_t size) {
    return acu_object_describe_as(graph, &acu_graph_class, text, size);
}

int acu_graph_check_uncaptured(const char *call, const acu_graph *graph) {
    if (__atomic_load_n(&graph->root->capturing, __ATOMIC_ACQUIRE) == 0)
        return 0;
    acu_fail_hint("end the capture into the graph first, on the stream where it began");
    return acu_fail_on(call, graph, ACU_ERROR_CAPTURE, "a stream is being captured into the graph");
}

int acu_graph_clone_for(const char *call, acu_graph *graph, acu_graph **clone) {
    *clone = NULL;
    ACU_TRY(acu_graph_check_uncaptured(call, graph));
    acu_graph *made = acu_graph_new(call);
    if (!made)
        return ACU_ERROR_HOST_MEMORY;
    acu_graph_lock();
    int code = (int)cudaGraphClone(&made->raw, graph->raw);
    made->owned = !code;
    made->kept = acu_graph_kept_set(graph);
    if (!code && graph->notes)
        code = acu_graph_copy_names(graph, made);
    acu_graph_unlock();
    if (code == cudaErrorNotSupported)
        acu_fail_hint("CUDA copies no graph with nodes that allocate or free memory, or that are "
                      "conditional");
    code = acu_outcome(call, graph, code);
    if (code)
        (void)acu_object_release(NULL, made, &acu_graph_class);
    else
        *clone = made;
    return code;
}

acu_result acu_graph_clone(acu_graph *graph, acu_graph **clone) {
    ACU_SCOPE();
    ACU_NEED_POINTER(clone);
    *clone = NULL;
    acu_destroy_deferred();
    ACU_NEED(graph, acu_graph_class);
    return acu_graph_clone_for(__func__, graph, clone);
}

/* ---- what it keeps ---- */

acu_kept_set *acu_graph_kept_set(acu_graph *graph) {
    pthread_mutex_lock(&graph->root->kept_lock);
    acu_kept_set *kept = acu_kept_set_retain(graph->root->kept);
    pthread_mutex_unlock(&graph->root->kept_lock);
    return kept;
}

int acu_graph_keep_object(acu_graph *graph, acu_object *object, bool writes) {
    pthread_mutex_lock(&graph->root->kept_lock);
    int code = acu_kept_set_add(&graph->root->kept, object, writes);
    pthread_mutex_unlock(&graph->root->kept_lock);
    return code;
}

int acu_graph_reserve_kept(acu_graph *graph, const acu_kept_list *list) {
    int code = 0;
    pthread_mutex_lock(&graph->root->kept_lock);
    if (list || graph->root->kept)
        code = acu_kept_set_reserve(&graph->root->kept);
    pthread_mutex_unlock(&graph->root->kept_lock);
    return code;
}

acu_kept_list *acu_graph_replace_kept(acu_graph *graph, uint64_t node, acu_kept_list *list) {
    acu_kept_list *before = NULL;
    pthread_mutex_lock(&graph->root->kept_lock);
    if (list || graph->root->kept)
        before = acu_kept_set_replace(graph->root->kept, node, list);
    pthread_mutex_unlock(&graph->root->kept_lock);
    return before;
}

int acu_graph_keep_list(acu_graph *graph, acu_kept_list *list) {
    acu_graph_lock();
    int code = acu_graph_reserve_kept(graph, list);
    if (!code)
        list = acu_graph_replace_kept(graph, ++graph->root->kept_number, list);
    acu_graph_unlock();
    acu_kept_list_free(list);
    return code;
}

/* Keeps an object for as long as the graph lives. */
static int keep(acu_graph *graph, acu_object *object, bool writes) {
    acu_kept_list *list = NULL;
    const acu_object_use kept = {object, writes};
    int code = acu_kept_list_new(&kept, 1, &list);
    return code ? code : acu_graph_keep_list(graph, list);
}

acu_result acu_graph_keep(acu_graph *graph, acu_buffer *buffer, bool writes) {
    ACU_SCOPE();
    ACU_NEED(graph, acu_graph_class);
    ACU_NEED(buffer, acu_buffer_class);
    return OUTCOME(graph, keep(graph, &buffer->storage->object, writes));
}

static int keep_data(const char *call, acu_graph *graph, const acu_closure *closure) {
    if (!acu_is(graph, &acu_graph_class))
        return acu_object_refuse(call, graph, &acu_graph_class);
    acu_kept_closure *kept = acu_closure_new(call, closure);
    if (!kept)
        return ACU_ERROR_HOST_MEMORY;
    int code = keep(graph, &kept->object, false);
    if (code)
        kept->closure.destroy = NULL; /* the caller destroys the data */
    (void)acu_object_release(NULL, kept, kept->object.was);
    return acu_outcome(call, graph, code);
}

acu_result acu_graph_keep_data(acu_graph *graph, acu_closure closure) {
    ACU_SCOPE();
    int code = keep_data(__func__, graph, &closure);
    if (code && closure.destroy)
        closure.destroy(closure.data);
    return code;
}

/* ---- ids of nodes ---- */

uint32_t *acu_graph_node_slot(const acu_graph *graph, cudaGraphNode_t raw) {
    size_t mask = 2 * (size_t)graph->node_room - 1;
    size_t at = (size_t)(((uint64_t)(uintptr_t)raw * UINT64_C(0x9e3779b97f4a7c15)) >> 32u) & mask;
    while (graph->slots[at] && graph->nodes[graph->slots[at] - 1] != raw)
        at = (at + 1) & mask;
    return &graph->slots[at];
}

/* Nodes that were destroyed count, too, because their ids are not used again. */
bool acu_graph_reserve_nodes(acu_graph *graph, size_t more) {
    size_t count = graph->node_count, room = graph->node_room ? graph->node_room : 16;
    if (more <= graph->node_room - count)
        return true;
    while (room - count < more)
        room *= 2;
    cudaGraphNode_t *nodes =
        room < UINT32_MAX / 2 ? realloc(graph->nodes, room * sizeof *nodes) : NULL;
    if (!nodes)
        return false;
    graph->nodes = nodes;
    uint32_t *slots = calloc(2 * room, sizeof *slots);
    if (!slots)
        return false;
    free(graph->slots);
    graph->slots = slots;
    graph->node_room = (uint32_t)room;
    for (uint32_t i = 0; i < count; i++)
        if (nodes[i])
            *acu_graph_node_slot(graph, nodes[i]) = i + 1;
    return true;
}

void acu_graph_forget_nodes(acu_graph *graph) {
    for (uint32_t i = 0; i < graph->note_room; i++)
        free(graph->notes[i].name);
    free(graph->notes);
    free(graph->nodes);
    free(graph->slots);
    graph->notes = NULL;
    graph->nodes = NULL;
    graph->slots = NULL;
    graph->node_count = graph->node_room = graph->note_room = 0;
    graph->time = (acu_graph_time){.replays = 0};
}

/* ---- parts ---- */

void acu_graph_release_parts(acu_graph *graph, cudaGraphNode_t within) {
    for (acu_graph **link = &graph->root->parts; *link;) {
        acu_graph *part = *link;
        if (part->parent != graph || (within && part->within != within)) {
            link = &part->next;
            continue;
        }
        *link = part->next;
        acu_graph_release_parts(part, NULL);
        (void)acu_object_release(NULL, part, &acu_graph_class);
        link = &graph->root->parts; /* other parts may be gone, too */
    }
}

/* ---- properties ---- */

acu_result acu_graph_get_id(acu_graph *graph, unsigned *id) {
    ACU_SCOPE();
    ACU_NEED_POINTER(id);
    *id = 0;
    ACU_NEED(graph, acu_graph_class);
    acu_graph_lock();
    int code = (int)cudaGraphGetId(graph->raw, id);
    acu_graph_unlock();
    return OUTCOME(graph, code);
}

acu_result acu_graph_print_dot(acu_graph *graph, const char *path, unsigned flags) {
    ACU_SCOPE();
    ACU_NEED_POINTER(path);
    ACU_NEED(graph, acu_graph_class);
    acu_graph_lock();
    int code = (int)cudaGraphDebugDotPrint(graph->raw, path, flags);
    acu_graph_unlock();
    return code ? acu_cuda_failed(__func__, path, code) : 0; /* the file is mostly the reason */
}
