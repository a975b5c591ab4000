#include "sim/stream/edge_list.h"

#include <stdlib.h>
#include <string.h>

static void move(acu_sim_edge_list *list, size_t to, size_t from, size_t count) {
    memmove(list->nodes + to, list->nodes + from, count * sizeof *list->nodes);
    memmove(list->data + to, list->data + from, count * sizeof *list->data);
}

/* Moves the edges to the beginning of the memory. */
static void close_gap(acu_sim_edge_list *list) {
    if (!list->gap)
        return;
    list->nodes -= list->gap;
    list->data -= list->gap;
    move(list, 0, list->gap, list->count);
    list->gap = 0;
}

static bool grow(acu_sim_edge_list *list) {
    size_t room = list->room * 2 + 2;
    cudaGraphNode_t *nodes = realloc(list->nodes, room * sizeof *nodes);
    if (!nodes)
        return false;
    list->nodes = nodes;
    cudaGraphEdgeData *data = realloc(list->data, room * sizeof *data);
    if (!data)
        return false;
    list->data = data;
    list->room = room;
    return true;
}

bool acu_sim_edge_list_add(acu_sim_edge_list *list, cudaGraphNode_t node, cudaGraphEdgeData data) {
    if (list->gap + list->count == list->room) {
        close_gap(list);
        if (2 * list->count >= list->room && !grow(list))
            return false;
    }
    list->nodes[list->count] = node;
    list->data[list->count++] = data;
    return true;
}

static bool is_same(cudaGraphEdgeData a, cudaGraphEdgeData b) {
    return memcmp(&a, &b, sizeof a) == 0;
}

bool acu_sim_edge_list_differ(const acu_sim_edge_list *a, const acu_sim_edge_list *b, size_t i) {
    return !is_same(a->data[i], b->data[i]);
}

size_t acu_sim_edge_list_find(const acu_sim_edge_list *list, cudaGraphNode_t node,
                              cudaGraphEdgeData data) {
    size_t i = 0;
    while (i < list->count && (list->nodes[i] != node || !is_same(list->data[i], data)))
        i++;
    return i;
}

bool acu_sim_edge_list_merge(acu_sim_edge_list *list, const cudaGraphNode_t *nodes,
                             const cudaGraphEdgeData *data, size_t count) {
    for (size_t i = 0; i < count; i++) {
        cudaGraphEdgeData edge = data ? data[i] : (cudaGraphEdgeData){0};
        if (acu_sim_edge_list_find(list, nodes[i], edge) == list->count &&
            !acu_sim_edge_list_add(list, nodes[i], edge))
            return false;
    }
    return true;
}

void acu_sim_edge_list_clear(acu_sim_edge_list *list) {
    close_gap(list);
    free(list->nodes);
    free(list->data);
    *list = (acu_sim_edge_list){0};
}

/* The shorter side is moved, since callers mostly remove the first edges. */
void acu_sim_edge_list_remove(acu_sim_edge_list *list, size_t at) {
    if (at == list->count)
        return;
    list->count--;
    if (at > list->count / 2) {
        move(list, at, at + 1, list->count - at);
        return;
    }
    move(list, 1, 0, at);
    list->nodes++;
    list->data++;
    list->gap++;
}
