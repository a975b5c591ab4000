/* The edges of graphs, and the order of nodes that results from them. */
#include "sim/graph/edge.h"

#include "sim/graph/graph.h"
#include "sim/graph/graph_memory.h"
#include "sim/graph/node.h"
#include "sim/stream/capture.h"
#include "sim/stream/edge_list.h"
#include "sim/stream/op.h"

#include <stdlib.h>
#include <string.h>

/* ---- edges ---- */

static acu_sim_node *node_at(const acu_sim_edge_list *links, size_t i) {
    return (acu_sim_node *)(void *)links->nodes[i];
}

bool acu_sim_edge_add(acu_sim_node *from, acu_sim_node *to, cudaGraphEdgeData data) {
    if (!acu_sim_edge_list_add(&from->after, acu_sim_node_handle(to), data))
        return false;
    if (acu_sim_edge_list_add(&to->before, acu_sim_node_handle(from), data))
        return true;
    from->after.count--;
    return false;
}

/* Returns whether the edge exists. The shorter one of the two lists is searched. */
static bool is_linked(const acu_sim_node *from, const acu_sim_node *to, cudaGraphEdgeData data) {
    return from->after.count < to->before.count
               ? acu_sim_edge_list_find(&from->after, (cudaGraphNode_t)(void *)(uintptr_t)to,
                                        data) < from->after.count
               : acu_sim_edge_list_find(&to->before, (cudaGraphNode_t)(void *)(uintptr_t)from,
                                        data) < to->before.count;
}

static void unlink_edge(acu_sim_node *from, acu_sim_node *to, cudaGraphEdgeData data) {
    acu_sim_edge_list_remove(&from->after,
                             acu_sim_edge_list_find(&from->after, acu_sim_node_handle(to), data));
    acu_sim_edge_list_remove(&to->before,
                             acu_sim_edge_list_find(&to->before, acu_sim_node_handle(from), data));
    if (!from->after.count)
        acu_sim_node_becomes_last(from);
}

void acu_sim_edge_remove_all(acu_sim_node *node) {
    while (node->before.count)
        unlink_edge(node_at(&node->before, 0), node, node->before.data[0]);
    while (node->after.count)
        unlink_edge(node, node_at(&node->after, 0), node->after.data[0]);
}

bool acu_sim_edge_is_plain(cudaGraphEdgeData data) {
    const cudaGraphEdgeData plain = {0};
    return memcmp(&data, &plain, sizeof data) == 0;
}

/* Only kernel nodes have ports, and only a kernel can start before another kernel has ended. */
cudaError_t acu_sim_edge_validate(const acu_sim_node *from, const acu_sim_node *to,
                                  cudaGraphEdgeData data) {
    bool kernel = from->op->type == cudaGraphNodeTypeKernel;
    static const unsigned char none[sizeof data.reserved];
    if (acu_sim_edge_is_plain(data))
        return cudaSuccess;
    if (!kernel)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "an edge that does not begin at a kernel node has no ports and no type");
    if (memcmp(data.reserved, none, sizeof none) != 0 || data.to_port ||
        data.from_port > cudaGraphKernelNodePortLaunchCompletion ||
        data.type > cudaGraphDependencyTypeProgrammatic)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the edge has an unknown port or type, or `to_port` or `reserved` is "
                          "not 0");
    if (data.type == cudaGraphDependencyTypeProgrammatic &&
        (data.from_port == cudaGraphKernelNodePortDefault ||
         (to && to->op->type != cudaGraphNodeTypeKernel)))
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "a programmatic edge must end at a kernel node, and have another port "
                          "than the default one");
    return cudaSuccess;
}

/* ---- order ---- */

/* Each node has in `degree` how many of its edges do not yet come from a listed node. */
acu_sim_node **acu_sim_graph_order(acu_sim_graph *graph, acu_sim_node **odd) {
    acu_sim_node **order = malloc((graph->count + 1) * sizeof(acu_sim_node *));
    size_t made = 0;
    *odd = NULL;
    for (size_t i = 0; order && i < graph->size; i++)
        if (graph->nodes[i] && !(graph->nodes[i]->degree = graph->nodes[i]->before.count))
            order[made++] = graph->nodes[i];
    for (size_t i = 0; order && i < made; i++)
        for (size_t j = 0; j < order[i]->after.count; j++) {
            acu_sim_node *next = node_at(&order[i]->after, j);
            if (--next->degree == 0)
                order[made++] = next;
        }
    for (size_t i = 0; order && made < graph->count && !*odd; i++)
        if (graph->nodes[i] && graph->nodes[i]->degree)
            *odd = graph->nodes[i];
    return order;
}

/* ---- the API ---- */

/* Returns an error unless all edges are valid, and exist or, without `exist`, do not. The caller
 * changes nothing before all edges were checked. */
static cudaError_t validate_edges(cudaGraph_t handle, const cudaGraphNode_t *from,
                                  const cudaGraphNode_t *to, const cudaGraphEdgeData *data,
                                  size_t count, bool exist) {
    const acu_sim_graph *graph = acu_sim_graph_of(handle);
    if (!graph)
        return acu_sim_graph_refuse_handle(handle);
    if (count && (!from || !to))
        return SIM_REFUSE(cudaErrorInvalidValue, "%zu edges are given, but no lists of nodes",
                          count);
    for (size_t i = 0; i < count; i++) {
        const acu_sim_node *a = acu_sim_node_of(from[i]), *b = acu_sim_node_of(to[i]);
        cudaGraphEdgeData edge = data ? data[i] : (cudaGraphEdgeData){0};
        if (!a || !b || a == b || a->graph != graph || b->graph != graph)
            return SIM_REFUSE(cudaErrorInvalidValue,
                              "edge %zu is not between two different nodes of the graph", i);
        SIM_TRY(acu_sim_edge_validate(a, b, edge));
        if (is_linked(a, b, edge) != exist)
            return SIM_REFUSE(cudaErrorInvalidValue,
                              exist ? "edge %zu does not exist" : "edge %zu exists already", i);
    }
    return cudaSuccess;
}

cudaError_t acu_sim_cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                             const cudaGraphNode_t *to,
                                             const cudaGraphEdgeData *edgeData,
                                             size_t numDependencies) {
    SIM_TRY(validate_edges(graph, from, to, edgeData, numDependencies, false));
    for (size_t i = 0; i < numDependencies; i++) {
        acu_sim_node *a = acu_sim_node_of(from[i]), *b = acu_sim_node_of(to[i]);
        cudaGraphEdgeData edge = edgeData ? edgeData[i] : (cudaGraphEdgeData){0};
        if (is_linked(a, b, edge))
            return SIM_REFUSE(cudaErrorInvalidValue, "edge %zu is also an earlier one of the list",
                              i);
        if (!acu_sim_edge_add(a, b, edge))
            return cudaErrorMemoryAllocation;
    }
    return cudaSuccess;
}

cudaError_t acu_sim_cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                                const cudaGraphNode_t *to,
                                                const cudaGraphEdgeData *edgeData,
                                                size_t numDependencies) {
    const acu_sim_graph *g = acu_sim_graph_of(graph);
    if (g && acu_sim_graph_has_memory(g))
        return acu_sim_graph_refuse_memory("none of its edges can be removed");
    SIM_TRY(validate_edges(graph, from, to, edgeData, numDependencies, true));
    for (size_t i = 0; i < numDependencies; i++)
        unlink_edge(acu_sim_node_of(from[i]), acu_sim_node_of(to[i]),
                    edgeData ? edgeData[i] : (cudaGraphEdgeData){0});
    return cudaSuccess;
}

/* Returns whether the runtime has edge data; before 12.3 it ignored that parameter. */
static bool has_edge_data(void) {
    return acu_sim_knows(&acu_cudart_type_cudaGraphDependencyType_enum_8bit,
                         cudaGraphDependencyTypeProgrammatic);
}

/* Lists one end of edges: as many as fit, then NULL; without a list only their number. */
static cudaError_t list_nodes(const acu_sim_edge_list *links, cudaGraphNode_t *nodes,
                              cudaGraphEdgeData *data, size_t *count) {
    if (!count || (data && !nodes && has_edge_data()))
        return cudaErrorInvalidValue;
    for (size_t i = 0; nodes && !data && i < links->count; i++)
        if (!acu_sim_edge_is_plain(links->data[i]))
            return cudaErrorLossyQuery;
    for (size_t i = 0; nodes && i < *count; i++) {
        nodes[i] = i < links->count ? links->nodes[i] : NULL;
        if (data)
            data[i] = i < links->count ? links->data[i] : (cudaGraphEdgeData){0};
    }
    if (!nodes || links->count < *count)
        *count = links->count;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaGraphNodeGetDependencies(cudaGraphNode_t node,
                                                 cudaGraphNode_t *pDependencies,
                                                 cudaGraphEdgeData *edgeData,
                                                 size_t *pNumDependencies) {
    const acu_sim_node *n = acu_sim_node_of(node);
    return n ? list_nodes(&n->before, pDependencies, edgeData, pNumDependencies)
             : cudaErrorInvalidValue;
}

cudaError_t acu_sim_cudaGraphNodeGetDependentNodes(cudaGraphNode_t node,
                                                   cudaGraphNode_t *pDependentNodes,
                                                   cudaGraphEdgeData *edgeData,
                                                   size_t *pNumDependentNodes) {
    const acu_sim_node *n = acu_sim_node_of(node);
    return n ? list_nodes(&n->after, pDependentNodes, edgeData, pNumDependentNodes)
             : cudaErrorInvalidValue;
}

static cudaError_t list_edges(const acu_sim_graph *graph, cudaGraphNode_t *from,
                              cudaGraphNode_t *to, cudaGraphEdgeData *data, size_t *count) {
    size_t found = 0;
    for (size_t i = 0; i < graph->size; i++) {
        acu_sim_node *node = graph->nodes[i];
        for (size_t j = 0; node && j < node->after.count; j++, found++) {
            if (from && !data && !acu_sim_edge_is_plain(node->after.data[j]))
                return cudaErrorLossyQuery;
            if (!from || found >= *count)
                continue;
            from[found] = acu_sim_node_handle(node);
            to[found] = node->after.nodes[j];
            if (data)
                data[found] = node->after.data[j];
        }
    }
    for (size_t i = found; from && i < *count; i++)
        from[i] = to[i] = NULL;
    if (!from || found < *count)
        *count = found;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                                      cudaGraphEdgeData *edgeData, size_t *numEdges) {
    const acu_sim_graph *g = acu_sim_graph_of(graph);
    if (!g || !numEdges || !from != !to || (edgeData && !from && has_edge_data()))
        return cudaErrorInvalidValue;
    return list_edges(g, from, to, edgeData, numEdges);
}
