/* The nodes of a graph and their dependencies. */
#include "safe/graph/node.h"

#include <stdlib.h>

/* ---- dependencies ---- */

bool acu_edge_to_raw(const acu_edge *edges, size_t count, cudaGraphEdgeData **made) {
    *made = NULL;
    if (!edges || count == 0)
        return true;
    cudaGraphEdgeData *data = *made = calloc(count, sizeof *data);
    for (size_t i = 0; data && i < count; i++) {
        data[i].from_port = edges[i].from_port;
        data[i].to_port = edges[i].to_port;
        data[i].type = edges[i].type;
    }
    return data;
}

/* A change of dependencies, by the public function's parameters. */
typedef struct dependencies {
    const char *call;
    acu_graph *graph;
    const acu_node *from, *to;
    const acu_edge *edges;
    size_t count;
    bool add;
} dependencies;

static int gather_nodes(const dependencies *d, const acu_node *nodes, cudaGraphNode_t *raw) {
    for (size_t i = 0; i < d->count; i++) {
        if (nodes[i].graph && nodes[i].graph != d->graph)
            return acu_fail(d->call, "", ACU_ERROR_ARGUMENT, "node %zu is of another graph", i);
        int code = acu_node_check(d->call, nodes[i], &raw[i]);
        if (code)
            return code;
    }
    return 0;
}

/* Changes the dependencies; `raw` and `edges` have room for what CUDA is given. */
static int change_with(const dependencies *d, cudaGraphNode_t *raw, cudaGraphEdgeData *edges) {
    cudaGraphNode_t *to = raw + d->count;
    int code = gather_nodes(d, d->from, raw);
    if (!code)
        code = gather_nodes(d, d->to, to);
    if (code)
        return code;
    acu_graph_lock();
    code = (int)(d->add ? cudaGraphAddDependencies(d->graph->raw, raw, to, edges, d->count)
                        : cudaGraphRemoveDependencies(d->graph->raw, raw, to, edges, d->count));
    acu_graph_unlock();
    return acu_outcome(d->call, d->graph, code);
}

static int change_dependencies(const dependencies *d) {
    cudaGraphEdgeData *edges = NULL;
    if (!acu_is(d->graph, &acu_graph_class))
        return acu_object_refuse(d->call, d->graph, &acu_graph_class);
    if (d->count == 0)
        return 0;
    if (!d->from || !d->to)
        return acu_fail(d->call, "", ACU_ERROR_ARGUMENT, "'%s' is NULL", d->from ? "to" : "from");
    cudaGraphNode_t *raw = d->count < SIZE_MAX / 32 ? malloc(2 * d->count * sizeof *raw) : NULL;
    bool room = raw && acu_edge_to_raw(d->edges, d->count, &edges);
    int code =
        room ? change_with(d, raw, edges)
             : acu_fail(d->call, "", ACU_ERROR_HOST_MEMORY, "no memory for %zu nodes", d->count);
    free(edges);
    free(raw);
    return code;
}

acu_result acu_graph_add_dependencies(acu_graph *graph, const acu_node *from, const acu_node *to,
                                      const acu_edge *edges, size_t count) {
    ACU_SCOPE();
    dependencies d = {__func__, graph, from, to, edges, count, true};
    return change_dependencies(&d);
}

acu_result acu_graph_remove_dependencies(acu_graph *graph, const acu_node *from, const acu_node *to,
                                         const acu_edge *edges, size_t count) {
    ACU_SCOPE();
    dependencies d = {__func__, graph, from, to, edges, count, false};
    return change_dependencies(&d);
}

/* ---- lists ---- */

/* Asks CUDA; `edges` and `to` only matter where the question has them. */
static int ask(const acu_node_query *q, cudaGraphNode_t *from, cudaGraphNode_t *to,
               cudaGraphEdgeData *edges, size_t *count) {
    switch (q->about) {
    case ACU_QUERY_NODES:
        return (int)cudaGraphGetNodes(q->graph->raw, from, count);
    case ACU_QUERY_ROOT_NODES:
        return (int)cudaGraphGetRootNodes(q->graph->raw, from, count);
    case ACU_QUERY_EDGES:
        return (int)cudaGraphGetEdges(q->graph->raw, from, to, edges, count);
    case ACU_QUERY_DEPENDENCIES:
        return (int)cudaGraphNodeGetDependencies(q->node, from, edges, count);
    case ACU_QUERY_DEPENDENT_NODES:
        break;
    }
    return (int)cudaGraphNodeGetDependentNodes(q->node, from, edges, count);
}

void acu_node_list(acu_graph *graph, const cudaGraphNode_t *raw, size_t count, acu_node *nodes,
                   size_t room) {
    for (size_t i = 0; nodes && i < count && i < room; i++)
        nodes[i] = acu_node_from_raw(graph, raw[i]);
}

void acu_edge_list(const cudaGraphEdgeData *raw, size_t count, acu_edge *edges, size_t room) {
    for (size_t i = 0; edges && i < count && i < room; i++)
        edges[i] = (acu_edge){raw[i].from_port, raw[i].to_port, raw[i].type};
}

/* Asks for all and copies what there is room for. Edge data is always asked for, because CUDA fails
 * where an edge has data and the caller gives no room for it. */
static int fill(const acu_node_query *q, size_t count, size_t room) {
    int code = ACU_ERROR_HOST_MEMORY;
    cudaGraphNode_t *from = calloc(2 * count, sizeof *from);
    cudaGraphEdgeData *edges = calloc(count, sizeof *edges);
    bool room_for_all = from && edges && acu_graph_reserve_nodes(q->graph, 2 * count);
    if (room_for_all)
        code = ask(q, from, from + count, edges, q->count);
    else
        acu_record(ACU_ERROR_HOST_MEMORY, "no memory for %zu nodes", count);
    if (room_for_all && !code) {
        acu_node_list(q->graph, from, *q->count, q->from, room);
        if (q->about == ACU_QUERY_EDGES)
            acu_node_list(q->graph, from + count, *q->count, q->to, room);
        acu_edge_list(edges, *q->count, q->edges, room);
    }
    free(from);
    free(edges);
    return code;
}

int acu_node_answer_locked(const acu_node_query *q) {
    size_t room = *q->count, count = 0;
    int code = ask(q, NULL, NULL, NULL, &count);
    *q->count = code ? 0 : count;
    if (!code && count > 0 && room > 0 && (q->from || q->to || q->edges))
        code = fill(q, count, room);
    return code;
}

int acu_node_answer(const acu_node_query *q) {
    if (!q->count)
        return acu_fail(q->call, "", ACU_ERROR_ARGUMENT, "'count' is NULL");
    if (!acu_is(q->graph, &acu_graph_class)) {
        *q->count = 0;
        return acu_object_refuse(q->call, q->graph, &acu_graph_class);
    }
    acu_graph_lock();
    int code = acu_node_answer_locked(q);
    acu_graph_unlock();
    return acu_outcome(q->call, q->graph, code);
}

acu_result acu_graph_get_nodes(acu_graph *graph, acu_node *nodes, size_t *count) {
    ACU_SCOPE();
    acu_node_query q = {.call = __func__, ACU_QUERY_NODES, graph, .from = nodes, .count = count};
    return acu_node_answer(&q);
}

acu_result acu_graph_get_root_nodes(acu_graph *graph, acu_node *nodes, size_t *count) {
    ACU_SCOPE();
    acu_node_query q = {
        .call = __func__, ACU_QUERY_ROOT_NODES, graph, .from = nodes, .count = count};
    return acu_node_answer(&q);
}

acu_result acu_graph_get_edges(acu_graph *graph, acu_node *from, acu_node *to, acu_edge *edges,
                               size_t *count) {
    ACU_SCOPE();
    acu_node_query q = {__func__, ACU_QUERY_EDGES, graph, NULL, from, to, edges, count};
    return acu_node_answer(&q);
}
