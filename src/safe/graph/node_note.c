/* Names and times of nodes, of which CUDA knows nothing. */
#include "safe/graph/node.h"

#include <stdlib.h>
#include <string.h>

/* ---- notes ---- */

acu_node_note *acu_graph_make_note(acu_graph *graph, cudaGraphNode_t raw) {
    const uint32_t index = *acu_graph_node_slot(graph, raw) - 1;
    if (index >= graph->note_room) {
        acu_node_note *notes = realloc(graph->notes, graph->node_room * sizeof *notes);
        if (!notes) {
            acu_record(ACU_ERROR_HOST_MEMORY, "no memory for the name or time of a node");
            return NULL;
        }
        memset(notes + graph->note_room, 0, (graph->node_room - graph->note_room) * sizeof *notes);
        graph->notes = notes;
        graph->note_room = graph->node_room;
    }
    return &graph->notes[index];
}

const acu_node_note *acu_graph_find_note(const acu_graph *graph, cudaGraphNode_t raw) {
    if (!graph->notes)
        return NULL;
    const uint32_t index = *acu_graph_node_slot(graph, raw) - 1; /* huge if there is no id */
    return index < graph->note_room ? &graph->notes[index] : NULL;
}

/* Copies the text, which may be NULL. Returns 0, or a recorded failure, which changes nothing. */
static int set_name(acu_graph *graph, cudaGraphNode_t raw, const char *name) {
    const size_t size = name ? strlen(name) + 1 : 0;
    acu_node_note *note = acu_graph_make_note(graph, raw);
    char *copy = note && name ? malloc(size) : NULL;
    if (!note || (name && !copy))
        return acu_record(ACU_ERROR_HOST_MEMORY, "no memory for the name of a node");
    if (copy)
        memcpy(copy, name, size);
    free(note->name);
    note->name = copy;
    return 0;
}

int acu_graph_copy_names(const acu_graph *graph, acu_graph *clone) {
    int code = 0;
    for (uint32_t i = 0; !code && i < graph->note_room && i < graph->node_count; i++) {
        acu_node copy;
        if (!graph->notes[i].name || !graph->nodes[i])
            continue;
        code = acu_node_find_copy(graph->nodes[i], clone, &copy);
        if (!code)
            code = set_name(clone, clone->nodes[(uint32_t)copy.id - 1], graph->notes[i].name);
    }
    return code;
}

/* ---- public functions ---- */

acu_result acu_node_set_name(acu_node node, const char *name) {
    ACU_SCOPE();
    cudaGraphNode_t raw = NULL;
    ACU_TRY(acu_node_check(__func__, node, &raw));
    acu_graph_lock();
    const int code = set_name(node.graph, raw, name);
    acu_graph_unlock();
    return acu_outcome(__func__, node.graph, code);
}

acu_result acu_node_get_name(acu_node node, const char **name) {
    ACU_SCOPE();
    cudaGraphNode_t raw = NULL;
    ACU_NEED_POINTER(name);
    *name = NULL;
    ACU_TRY(acu_node_check(__func__, node, &raw));
    acu_graph_lock();
    const acu_node_note *note = acu_graph_find_note(node.graph, raw);
    *name = note ? note->name : NULL;
    acu_graph_unlock();
    return 0;
}

acu_result acu_node_get_time(acu_node node, acu_node_time *time) {
    ACU_SCOPE();
    cudaGraphNode_t raw = NULL;
    ACU_NEED_POINTER(time);
    *time = (acu_node_time){0};
    ACU_TRY(acu_node_check(__func__, node, &raw));
    acu_graph_lock();
    const acu_node_note *note = acu_graph_find_note(node.graph, raw);
    const bool timed = note && note->timed;
    if (timed)
        *time = note->time;
    acu_graph_unlock();
    ACU_REQUIRE_OF(node.graph, timed, ACU_ERROR_STATE,
                   "the graph was not profiled since it has this node: acu_graph_profile() does");
    return 0;
}
