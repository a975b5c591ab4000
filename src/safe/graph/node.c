/* Nodes: their ids, and what can be asked of them. */
#include "safe/graph/node.h"

#include <anycuda/cuda.h>

#include <stdio.h>

#define OUTCOME(graph, code) acu_outcome(__func__, (graph), (int)(code))

/* Runs a call on the node, whose raw handle is `raw`, and returns from the public function. */
#define ON_NODE(node, call)                                                                        \
    do {                                                                                           \
        cudaGraphNode_t raw = NULL;                                                                \
        ACU_TRY(acu_node_check(__func__, (node), &raw));                                           \
        acu_graph_lock();                                                                          \
        int code = (int)(call);                                                                    \
        acu_graph_unlock();                                                                        \
        return OUTCOME((node).graph, code);                                                        \
    } while (0)

/* ---- handles ---- */

acu_node acu_node_from_raw(acu_graph *graph, cudaGraphNode_t raw) {
    if (!raw)
        return (acu_node){NULL, 0};
    uint32_t *slot = acu_graph_node_slot(graph, raw);
    if (!*slot) {
        graph->nodes[graph->node_count++] = raw;
        *slot = graph->node_count;
    }
    return (acu_node){graph, (uint64_t)graph->salt << 32u | *slot};
}

/* Returns NULL if the node was destroyed, or is another graph's. */
static cudaGraphNode_t find_node(acu_node node) {
    uint32_t index = (uint32_t)node.id - 1;
    acu_graph *graph = node.graph;
    acu_graph_lock();
    bool known = node.id >> 32u == graph->salt && index < graph->node_count;
    cudaGraphNode_t raw = known ? graph->nodes[index] : NULL;
    acu_graph_unlock();
    return raw;
}

int acu_node_check(const char *call, acu_node node, cudaGraphNode_t *raw) {
    if (!node.graph)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "the node is invalid: all zero");
    if (!acu_is(node.graph, &acu_graph_class))
        return acu_object_refuse(call, node.graph, &acu_graph_class);
    *raw = find_node(node);
    if (*raw)
        return 0;
    return acu_fail_on(call, node.graph, ACU_ERROR_HANDLE, "the graph has no such node any more");
}

struct CUgraphNode_st *acu_node_raw(acu_node node) {
    return acu_is(node.graph, &acu_graph_class) ? find_node(node) : NULL;
}

acu_result acu_node_wrap(acu_graph *graph, struct CUgraphNode_st *raw, acu_node *node) {
    ACU_SCOPE();
    ACU_NEED_POINTER(node);
    *node = (acu_node){NULL, 0};
    ACU_NEED(graph, acu_graph_class);
    ACU_NEED_POINTER(raw);
    acu_graph_lock();
    bool room = acu_graph_reserve_nodes(graph, 1);
    if (room)
        *node = acu_node_from_raw(graph, raw);
    acu_graph_unlock();
    ACU_REQUIRE(room, ACU_ERROR_HOST_MEMORY, "no memory for a node");
    return 0;
}

/* ---- destroying ---- */

/* Under the lock. The list that nothing needs any more goes to *unused, with its reference. */
static int destroy_node(acu_node node, cudaGraphNode_t raw, acu_kept_list **unused) {
    acu_graph *graph = node.graph;
    int code = acu_graph_reserve_kept(graph, NULL);
    if (!code)
        code = (int)cudaGraphDestroyNode(raw);
    if (code)
        return code;
    graph->nodes[*acu_graph_node_slot(graph, raw) - 1] = NULL;
    acu_graph_release_parts(graph, raw);
    *unused = acu_graph_replace_kept(graph, node.id, NULL);
    return 0;
}

acu_result acu_node_destroy(acu_node node) {
    ACU_SCOPE();
    cudaGraphNode_t raw = NULL;
    acu_kept_list *unused = NULL;
    acu_destroy_deferred();
    ACU_TRY(acu_node_check(__func__, node, &raw));
    acu_graph_lock();
    int code = OUTCOME(node.graph, destroy_node(node, raw, &unused));
    acu_graph_unlock();
    acu_kept_list_free(unused);
    return code;
}

/* ---- types ---- */

static const char *const type_names[] = {
    "kernel",           "memcpy",          "memset",           "host",
    "child graph",      "empty",           "event wait",       "event record",
    "semaphore signal", "semaphore wait",  "memory alloc",     "memory free",
    "batch mem op",     "conditional",     "memcpy batch",     NULL,
    "reserved",         "external engine", "fabric copy batch"};

const char *acu_node_type_name(unsigned type) {
    const bool known = type < sizeof type_names / sizeof *type_names && type_names[type];
    return known ? type_names[type] : "unknown";
}

/* Runtimes return cudaErrorUnknown for nodes of which the driver alone knows, such as those of
 * values, and before 13.0 for their own conditional nodes, so the driver is asked then. */
int acu_node_read_type(cudaGraphNode_t raw, enum cudaGraphNodeType *type) {
    acu_saved_record before;
    CUgraphNodeType theirs;
    acu_record_save(&before);
    int code = (int)cudaGraphNodeGetType(raw, type);
    if (code != cudaErrorUnknown || cuGraphNodeGetType(raw, &theirs) != CUDA_SUCCESS)
        return code;
    acu_record_restore(&before);
    (void)cudaGetLastError();
    *type = (enum cudaGraphNodeType)theirs;
    return 0;
}

const char *acu_node_describe(acu_graph *graph, cudaGraphNode_t raw, char text[64]) {
    enum cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    acu_saved_record before;
    acu_record_save(&before);
    const bool known = !acu_node_read_type(raw, &type);
    if (!known)
        (void)cudaGetLastError();
    acu_record_restore(&before);
    uint32_t number = graph->node_room ? *acu_graph_node_slot(graph, raw) : 0;
    const acu_node_note *note = number ? acu_graph_find_note(graph, raw) : NULL;
    const char *name = known ? acu_node_type_name(type) : "unknown";
    if (note && note->name)
        snprintf(text, 64, "%s node %u '%.30s'", name, number - 1, note->name);
    else if (number)
        snprintf(text, 64, "%s node %u", name, number - 1);
    else
        snprintf(text, 64, "%s node %p", name, (void *)raw);
    return text;
}

acu_result acu_node_get_type(acu_node node, acu_node_type *type) {
    ACU_SCOPE();
    enum cudaGraphNodeType raw_type = cudaGraphNodeTypeEmpty;
    cudaGraphNode_t raw = NULL;
    ACU_NEED_POINTER(type);
    *type = ACU_NODE_EMPTY;
    ACU_TRY(acu_node_check(__func__, node, &raw));
    acu_graph_lock();
    int code = acu_node_read_type(raw, &raw_type);
    acu_graph_unlock();
    *type = (acu_node_type)raw_type;
    return OUTCOME(node.graph, code);
}

/* ---- relatives ---- */

int acu_node_find_child(const char *call, acu_graph *graph, cudaGraphNode_t raw,
                        acu_graph **child) {
    cudaGraph_t inner = NULL;
    int code = (int)cudaGraphChildGraphNodeGetGraph(raw, &inner);
    if (code)
        return code;
    for (*child = graph->root->parts; *child; *child = (*child)->next)
        if ((*child)->raw == inner)
            return 0;
    *child = acu_graph_new_part(call, graph);
    if (!*child)
        return ACU_ERROR_HOST_MEMORY;
    acu_graph_add_part(*child, inner, raw);
    return 0;
}

acu_result acu_node_get_child(acu_node node, acu_graph **child) {
    ACU_SCOPE();
    ACU_NEED_POINTER(child);
    *child = NULL;
    ON_NODE(node, acu_node_find_child(__func__, node.graph, raw, child));
}

int acu_node_find_copy(cudaGraphNode_t raw, acu_graph *clone, acu_node *copy) {
    cudaGraphNode_t found = NULL;
    int code = (int)cudaGraphNodeFindInClone(&found, raw, clone->raw);
    if (!code && !acu_graph_reserve_nodes(clone, 1))
        code = acu_record(ACU_ERROR_HOST_MEMORY, "no memory for a node");
    if (!code)
        *copy = acu_node_from_raw(clone, found);
    return code;
}

acu_result acu_node_find_in_clone(acu_node node, acu_graph *clone, acu_node *copy) {
    ACU_SCOPE();
    cudaGraphNode_t raw = NULL;
    ACU_NEED_POINTER(copy);
    *copy = (acu_node){NULL, 0};
    ACU_TRY(acu_node_check(__func__, node, &raw));
    ACU_NEED(clone, acu_graph_class);
    acu_graph_lock();
    int code = acu_node_find_copy(raw, clone, copy);
    acu_graph_unlock();
    return OUTCOME(clone, code);
}

/* ---- ids ---- */

acu_result acu_node_get_local_id(acu_node node, unsigned *id) {
    ACU_SCOPE();
    ACU_NEED_POINTER(id);
    *id = 0;
    ON_NODE(node, cudaGraphNodeGetLocalId(raw, id));
}

acu_result acu_node_get_tools_id(acu_node node, uint64_t *id) {
    ACU_SCOPE();
    unsigned long long number = 0;
    cudaGraphNode_t raw = NULL;
    ACU_NEED_POINTER(id);
    *id = 0;
    ACU_TRY(acu_node_check(__func__, node, &raw));
    acu_graph_lock();
    int code = (int)cudaGraphNodeGetToolsId(raw, &number);
    acu_graph_unlock();
    *id = number;
    return OUTCOME(node.graph, code);
}

/* ---- dependencies ---- */

acu_result acu_node_get_dependencies(acu_node node, acu_node *nodes, acu_edge *edges,
                                     size_t *count) {
    ACU_SCOPE();
    acu_node_query q = {__func__, ACU_QUERY_DEPENDENCIES, node.graph, NULL, nodes, NULL, edges,
                        count};
    ACU_TRY(acu_node_check(__func__, node, &q.node));
    return acu_node_answer(&q);
}

acu_result acu_node_get_dependent_nodes(acu_node node, acu_node *nodes, acu_edge *edges,
                                        size_t *count) {
    ACU_SCOPE();
    acu_node_query q = {__func__, ACU_QUERY_DEPENDENT_NODES, node.graph, NULL, nodes, NULL, edges,
                        count};
    ACU_TRY(acu_node_check(__func__, node, &q.node));
    return acu_node_answer(&q);
}
