/* Graphs: making, copying and destroying them, and listing their nodes. */
#include "sim/graph/graph.h"

#include "sim/caller.h"
#include "sim/device/device.h"
#include "sim/graph/conditional.h"
#include "sim/graph/device_graph.h"
#include "sim/graph/edge.h"
#include "sim/graph/graph_memory.h"
#include "sim/graph/kernel_node.h"
#include "sim/graph/node.h"
#include "sim/graph/user_object.h"
#include "sim/set.h"
#include "sim/stream/op.h"

#include <stdlib.h>

static acu_sim_graph *graphs; /* those that the program must destroy */
static acu_sim_set handles;   /* all graphs, also those in nodes and in executable graphs */
static unsigned last_id;

acu_sim_graph *acu_sim_graph_of(cudaGraph_t handle) {
    acu_sim_graph *graph = (acu_sim_graph *)(void *)handle;
    return acu_sim_set_has(&handles, graph) && !acu_sim_graph_root(graph)->instanced ? graph : NULL;
}

cudaError_t acu_sim_graph_refuse_handle(cudaGraph_t handle) {
    return SIM_REFUSE(cudaErrorInvalidValue, "%p is no graph: it was destroyed, or never created",
                      (void *)handle);
}

cudaGraph_t acu_sim_graph_handle(acu_sim_graph *graph) {
    return (cudaGraph_t)(void *)graph;
}

/* ---- life ---- */

/* Takes one use back; the last one frees the number. NULL is fine. */
static void end_use(size_t *uses) {
    if (uses && !--*uses)
        free(uses);
}

bool acu_sim_graph_has_copies(const acu_sim_graph *graph) {
    return *graph->uses > 1;
}

acu_sim_graph *acu_sim_graph_new(acu_sim_device *device) {
    acu_sim_graph *graph = calloc(1, sizeof *graph);
    size_t *uses = malloc(sizeof *uses);
    if (!graph || !uses || !acu_sim_set_add(&handles, graph)) {
        free(uses);
        free(graph);
        return NULL;
    }
    acu_sim_device_graph_begin();
    *uses = 1;
    graph->uses = uses;
    graph->device = device;
    graph->id = ++last_id;
    return graph;
}

void acu_sim_graph_publish(acu_sim_graph *graph, const void *where) {
    graph->where = where;
    graph->next = graphs;
    if (graphs)
        graphs->previous = graph;
    graphs = graph;
}

void acu_sim_graph_withdraw(acu_sim_graph *graph) {
    if (!graph->where)
        return;
    if (graph->previous)
        graph->previous->next = graph->next;
    else
        graphs = graph->next;
    if (graph->next)
        graph->next->previous = graph->previous;
    graph->where = NULL;
    graph->next = graph->previous = NULL;
}

void acu_sim_graph_free(acu_sim_graph *graph) {
    if (!graph)
        return;
    acu_sim_graph_withdraw(graph);
    acu_sim_set_remove(&handles, graph);
    for (size_t i = 0; i < graph->size; i++)
        if (graph->nodes[i])
            acu_sim_node_free(graph->nodes[i]);
    acu_sim_user_objects_clear(graph);
    end_use(graph->uses);
    end_use(graph->original_uses);
    free(graph->conditions);
    free(graph->nodes);
    free(graph);
}

acu_sim_graph *acu_sim_graph_root(acu_sim_graph *graph) {
    while (graph->parent_node)
        graph = graph->parent_node->graph;
    return graph;
}

/* ---- copying ---- */

static bool copy_bodies(acu_sim_node *to, const acu_sim_node *from) {
    for (unsigned i = 0; i < from->body_count; i++) {
        acu_sim_graph *body = acu_sim_graph_copy(from->bodies[i]);
        if (!body || !acu_sim_node_embed(to, body)) {
            acu_sim_graph_free(body);
            return false;
        }
    }
    return true;
}

static bool copy_node(acu_sim_graph *to, const acu_sim_node *from) {
    from->op->refs++;
    acu_sim_node *node = acu_sim_node_new(to, from->op);
    if (!node)
        return false;
    node->disabled = from->disabled;
    node->last_since = from->last_since;
    return copy_bodies(node, from);
}

static bool copy_edges(acu_sim_graph *to, const acu_sim_node *from) {
    for (size_t i = 0; i < from->before.count; i++) {
        const acu_sim_node *before = (const acu_sim_node *)(const void *)from->before.nodes[i];
        if (!acu_sim_edge_add(to->nodes[before->id], to->nodes[from->id], from->before.data[i]))
            return false;
    }
    return true;
}

acu_sim_graph *acu_sim_graph_copy(const acu_sim_graph *graph) {
    acu_sim_graph *copy = acu_sim_graph_new(graph->device);
    bool good =
        copy && acu_sim_conditions_copy(copy, graph) && acu_sim_user_objects_copy(copy, graph);
    for (size_t i = 0; good && i < graph->size; i++)
        good = graph->nodes[i] ? copy_node(copy, graph->nodes[i]) : acu_sim_graph_skip_id(copy);
    for (size_t i = 0; good && i < graph->size; i++)
        good = !graph->nodes[i] || copy_edges(copy, graph->nodes[i]);
    if (!good) {
        acu_sim_graph_free(copy);
        return NULL;
    }
    ++*graph->uses;
    copy->original_uses = graph->uses;
    copy->source = graph->id;
    copy->copied = copy->size;
    copy->had_memory = graph->had_memory;
    return copy;
}

/* ---- the API ---- */

cudaError_t acu_sim_cudaGraphCreate(cudaGraph_t *pGraph, unsigned int flags) {
    if (!pGraph || flags)
        return cudaErrorInvalidValue;
    acu_sim_graph *graph = acu_sim_graph_new(acu_sim_device_now());
    if (!graph)
        return cudaErrorMemoryAllocation;
    acu_sim_graph_publish(graph, SIM_CALLER);
    *pGraph = acu_sim_graph_handle(graph);
    return cudaSuccess;
}

static cudaError_t find(cudaGraph_t handle, acu_sim_graph **graph) {
    *graph = acu_sim_graph_of(handle);
    return *graph ? cudaSuccess : acu_sim_graph_refuse_handle(handle);
}

/* A graph in a node cannot be destroyed without the node, nor one into which work is captured. */
cudaError_t acu_sim_cudaGraphDestroy(cudaGraph_t graph) {
    acu_sim_graph *g;
    SIM_TRY(find(graph, &g));
    if (g->captures)
        return SIM_REFUSE(cudaErrorIllegalState,
                          "a stream is being captured into the graph: end the capture first");
    if (!g->where)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the graph belongs to a node or to a capture, and goes with it");
    acu_sim_graph_free(g);
    return cudaSuccess;
}

bool acu_sim_graph_has_memory(const acu_sim_graph *graph) {
    bool found = graph->memory_count || graph->had_memory;
    for (size_t i = 0; graph->body_count && i < graph->size && !found; i++) {
        const acu_sim_node *node = graph->nodes[i];
        for (unsigned j = 0; node && j < node->body_count && !found; j++)
            found = acu_sim_graph_has_memory(node->bodies[j]);
    }
    return found;
}

cudaError_t acu_sim_graph_may_be_copied(const acu_sim_graph *graph) {
    if (acu_sim_graph_has_conditions(graph))
        return SIM_REFUSE(cudaErrorNotSupported,
                          "the graph has conditional handles or nodes, so it cannot be cloned, "
                          "or be a child graph");
    return acu_sim_graph_has_memory(graph)
               ? acu_sim_graph_refuse_memory("it cannot be cloned, or copied into a child graph "
                                             "node")
               : cudaSuccess;
}

cudaError_t acu_sim_cudaGraphClone(cudaGraph_t *pGraphClone, cudaGraph_t originalGraph) {
    acu_sim_graph *original;
    SIM_TRY(find(originalGraph, &original));
    if (!pGraphClone)
        return cudaErrorInvalidValue;
    SIM_TRY(acu_sim_graph_may_be_copied(original));
    if (acu_sim_graph_is_updatable(original))
        return SIM_REFUSE(cudaErrorNotSupported,
                          "the graph has kernel nodes that the device can update");
    acu_sim_graph *clone = acu_sim_graph_copy(original);
    if (!clone)
        return cudaErrorMemoryAllocation;
    acu_sim_graph_publish(clone, SIM_CALLER);
    *pGraphClone = acu_sim_graph_handle(clone);
    return cudaSuccess;
}

cudaError_t acu_sim_cudaGraphNodeFindInClone(cudaGraphNode_t *pNode, cudaGraphNode_t originalNode,
                                             cudaGraph_t clonedGraph) {
    acu_sim_graph *clone;
    SIM_TRY(find(clonedGraph, &clone));
    const acu_sim_node *node = acu_sim_node_of(originalNode);
    if (!pNode || !node)
        return cudaErrorInvalidValue;
    *pNode = NULL;
    if (clone->source != node->graph->id || node->id >= clone->copied || !clone->nodes[node->id])
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the graph is no clone of the node's graph, or the node was added "
                          "after the clone was made");
    *pNode = acu_sim_node_handle(clone->nodes[node->id]);
    return cudaSuccess;
}

/* ---- nodes of a graph ---- */

static bool exists(const acu_sim_node *node) {
    return node != NULL;
}

static bool is_root(const acu_sim_node *node) {
    return node && node->before.count == 0;
}

/* Lists the nodes that match: as many as fit, then NULL; without a list only their number. */
static cudaError_t list_nodes(const acu_sim_graph *graph, bool (*matches)(const acu_sim_node *node),
                              cudaGraphNode_t *nodes, size_t *count) {
    size_t found = 0;
    for (size_t i = 0; i < graph->size; i++)
        if (matches(graph->nodes[i])) {
            if (nodes && found < *count)
                nodes[found] = acu_sim_node_handle(graph->nodes[i]);
            found++;
        }
    for (size_t i = found; nodes && i < *count; i++)
        nodes[i] = NULL;
    if (!nodes || found < *count)
        *count = found;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *numNodes) {
    acu_sim_graph *g;
    SIM_TRY(find(graph, &g));
    return numNodes ? list_nodes(g, exists, nodes, numNodes) : cudaErrorInvalidValue;
}

cudaError_t acu_sim_cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *pRootNodes,
                                          size_t *pNumRootNodes) {
    acu_sim_graph *g;
    SIM_TRY(find(graph, &g));
    return pNumRootNodes ? list_nodes(g, is_root, pRootNodes, pNumRootNodes)
                         : cudaErrorInvalidValue;
}

cudaError_t acu_sim_cudaGraphGetId(cudaGraph_t hGraph, unsigned int *graphID) {
    SIM_TRY(acu_sim_driver_has(&acu_function_cuGraphGetId));
    const acu_sim_graph *g = acu_sim_graph_of(hGraph);
    if (!g || !graphID)
        return cudaErrorInvalidValue;
    *graphID = g->id;
    return cudaSuccess;
}

/* ---- reset and leaks ---- */

static void reset_device(acu_sim_device *device) {
    acu_sim_graph *next;
    for (acu_sim_graph *graph = graphs; graph; graph = next) {
        next = graph->next;
        if (graph->device == device)
            acu_sim_graph_free(graph);
    }
}

static int leaks(int print) {
    int count = 0;
    for (const acu_sim_graph *graph = graphs; graph; graph = graph->next, count++)
        if (print)
            acu_sim_caller_report("graph", graph, 0, graph->where);
    return count;
}

const acu_sim_noun acu_sim_graph_noun = {.reset_device = reset_device, .leaks = leaks};
