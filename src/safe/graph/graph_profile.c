/*
 * Profiling: a graph is replayed as it is, and in a copy that records an event before and after
 * each node.
 *
 * One after the other: event 0, event 1, first node, event 2, second node, event 3, … A node's time
 * is that between the two events around it; events 0 and 1 have nothing between them. Together:
 * after events 0 and 1 each node has a pair of events of its own. The first one depends on what the
 * node depends on, so that nothing but the events is added to the order of the nodes.
 *
 * CUDA copies no graph with conditional nodes. There the events are added to the graph itself, and
 * destroyed as soon as it is instantiated with them.
 */
#include "safe/base/stream.h"
#include "safe/graph/exec.h"
#include "safe/graph/node.h"

#include <stdlib.h>
#include <string.h>

enum { DEFAULT_REPLAYS = 10, MOST_REPLAYS = 1000000 };

/* The node of the graph that is timed, by its number in the order of their times. */
typedef struct timed_node {
    cudaGraphNode_t raw, copy;
    uint32_t waits;  /* nodes that it depends on and that are not ordered yet */
    uint32_t before; /* events: of the beginning and the end */
    uint32_t after;
} timed_node;

/* Edges in CUDA's handles, of nodes by their index in the list of nodes. */
typedef struct timed_edge {
    uint32_t from, to;
} timed_edge;

typedef struct profile {
    const char *call;
    acu_graph *graph;
    acu_graph *copy; /* the graph itself where CUDA makes no copy */
    acu_stream *stream;
    unsigned replays;
    bool together;
    size_t node_count, edge_count, event_count;
    timed_node *nodes;
    timed_edge *edges;
    uint32_t *order; /* the nodes, each one behind those that it depends on */
    cudaEvent_t *events;
    cudaGraphNode_t *event_nodes; /* that record them; NULL: not added yet */
    acu_exec *plain, *timed;      /* the graph as it is, and the copy with events */
    float *times;  /* per replay: begin and duration of each node, measured, between */
    float *wholes; /* per replay, of the graph as it is */
} profile;

/* ---- the nodes and their order ---- */

static int no_memory(const profile *p) {
    return acu_record(ACU_ERROR_HOST_MEMORY, "no memory to profile %zu nodes", p->node_count);
}

/* Lists the nodes, with their copies. Under the lock. */
static int list_nodes(profile *p) {
    acu_node_query q = {
        .call = p->call, ACU_QUERY_NODES, p->graph, .from = NULL, .count = &p->node_count};
    int code = acu_node_answer_locked(&q);
    if (code)
        return code;
    acu_node copy, *found = calloc(p->node_count + 1, sizeof *found);
    p->nodes = calloc(p->node_count + 1, sizeof *p->nodes);
    p->order = calloc(p->node_count + 1, sizeof *p->order);
    if (found && p->nodes && p->order) {
        q.from = found;
        code = acu_node_answer_locked(&q);
    } else
        code = no_memory(p);
    for (size_t i = 0; !code && i < p->node_count; i++) {
        p->nodes[i].raw = acu_node_raw_locked(found[i]);
        copy = found[i];
        if (p->copy != p->graph)
            code = acu_node_find_copy(p->nodes[i].raw, p->copy, &copy);
        if (!code)
            p->nodes[i].copy = acu_node_raw_locked(copy);
    }
    free(found);
    return code;
}

static int has_changed(void) {
    return acu_record(ACU_ERROR_STATE, "the graph was changed by a raw handle meanwhile");
}

/* Turns the ends of an edge into indices. Returns 0, or a recorded failure. */
static int convert_edge(profile *p, const uint32_t *by_id, size_t i, acu_node from, acu_node to) {
    const uint32_t start = by_id[(uint32_t)from.id - 1], end = by_id[(uint32_t)to.id - 1];
    p->edges[i] = (timed_edge){start - 1, end - 1};
    return start && end ? 0 : has_changed();
}

/* Lists the edges. Under the lock. */
static int list_edges(profile *p) {
    acu_node_query q = {
        .call = p->call, ACU_QUERY_EDGES, p->graph, .from = NULL, .count = &p->edge_count};
    int code = acu_node_answer_locked(&q);
    if (code)
        return code;
    acu_node *ends = calloc(2 * p->edge_count + 1, sizeof *ends);
    p->edges = calloc(p->edge_count + 1, sizeof *p->edges);
    q.from = ends;
    q.to = ends + p->edge_count;
    code = ends && p->edges ? acu_node_answer_locked(&q) : no_memory(p);
    uint32_t *by_id = code ? NULL : calloc(p->graph->node_count + 1, sizeof *by_id);
    if (!code && !by_id)
        code = no_memory(p);
    for (uint32_t i = 0; !code && i < p->node_count; i++)
        by_id[*acu_graph_node_slot(p->graph, p->nodes[i].raw) - 1] = i + 1;
    for (size_t i = 0; !code && i < p->edge_count; i++)
        code = convert_edge(p, by_id, i, ends[i], q.to[i]);
    free(by_id);
    free(ends);
    return code;
}

static int by_start(const void *a, const void *b) {
    const uint32_t x = ((const timed_edge *)a)->from, y = ((const timed_edge *)b)->from;
    return x < y ? -1 : x > y;
}

/* Returns the first of the sorted edges that begin at a node, or at one after it. */
static size_t first_edge(const profile *p, uint32_t from) {
    size_t low = 0, high = p->edge_count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (p->edges[middle].from < from)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Orders the nodes. There is no cycle, because the graph was instantiated. Returns 0, or a recorded
 * failure. */
static int order_nodes(profile *p) {
    size_t ready = 0;
    qsort(p->edges, p->edge_count, sizeof *p->edges, by_start);
    for (size_t i = 0; i < p->edge_count; i++)
        p->nodes[p->edges[i].to].waits++;
    for (uint32_t i = 0; i < p->node_count; i++)
        if (p->nodes[i].waits == 0)
            p->order[ready++] = i;
    for (size_t at = 0; at < ready; at++) {
        const uint32_t from = p->order[at];
        for (size_t i = first_edge(p, from); i < p->edge_count && p->edges[i].from == from; i++)
            if (--p->nodes[p->edges[i].to].waits == 0)
                p->order[ready++] = p->edges[i].to;
    }
    return ready == p->node_count ? 0 : has_changed();
}

/* ---- events in the copy ---- */

static int make_events(profile *p) {
    acu_guard guard;
    const size_t count = p->together ? 2 + 2 * p->node_count : 2 + p->node_count;
    p->events = calloc(count, sizeof *p->events);
    p->event_nodes = calloc(count, sizeof *p->event_nodes);
    if (!p->events || !p->event_nodes)
        return no_memory(p);
    int code = acu_guard_enter(&guard, p->stream->object.device);
    for (; !code && p->event_count < count; p->event_count += !code)
        code = (int)cudaEventCreateWithFlags(&p->events[p->event_count], cudaEventDefault);
    acu_guard_leave(&guard);
    return code;
}

/* Adds a node that records an event, behind so many nodes. Returns CUDA's code. */
static int add_event(const profile *p, size_t event, const cudaGraphNode_t *after, size_t count,
                     cudaGraphNode_t *made) {
    const int code =
        (int)cudaGraphAddEventRecordNode(made, p->copy->raw, after, count, p->events[event]);
    p->event_nodes[event] = code ? NULL : *made;
    return code;
}

static int add_edge(const profile *p, cudaGraphNode_t from, cudaGraphNode_t to) {
    return (int)cudaGraphAddDependencies(p->copy->raw, &from, &to, NULL, 1);
}

/* Puts the nodes in a row, behind the event node `last`. */
static int put_in_a_row(profile *p, cudaGraphNode_t last) {
    int code = 0;
    for (size_t i = 0; !code && i < p->node_count; i++) {
        timed_node *node = &p->nodes[p->order[i]];
        node->before = (uint32_t)i + 1;
        node->after = (uint32_t)i + 2;
        code = add_edge(p, last, node->copy);
        if (!code)
            code = add_event(p, node->after, &node->copy, 1, &last);
    }
    return code;
}

/* Adds the event before a node, behind what the node depends on, or else behind `first`. */
static int add_begin(profile *p, timed_node *node, cudaGraphNode_t first) {
    cudaGraphNode_t made = NULL, *after = NULL;
    cudaGraphEdgeData *edges = NULL;
    size_t count = 0;
    int code = (int)cudaGraphNodeGetDependencies(node->copy, NULL, NULL, &count);
    if (!code && count > 0) {
        after = calloc(count, sizeof *after);
        edges = calloc(count, sizeof *edges);
        code = after && edges ? (int)cudaGraphNodeGetDependencies(node->copy, after, edges, &count)
                              : no_memory(p);
    }
    if (!code)
        code = add_event(p, node->before, count ? after : &first, count ? count : 1, &made);
    if (!code)
        code = add_edge(p, made, node->copy);
    free(after);
    free(edges);
    return code;
}

/* Gives each node a pair of events. The beginnings come first: later, a node depends on them. */
static int put_in_pairs(profile *p, cudaGraphNode_t first) {
    int code = 0;
    for (size_t i = 0; !code && i < p->node_count; i++) {
        timed_node *node = &p->nodes[i];
        cudaGraphNode_t made = NULL;
        node->before = 2 + 2 * (uint32_t)i;
        node->after = node->before + 1;
        code = add_begin(p, node, first);
        if (!code)
            code = add_event(p, node->after, &node->copy, 1, &made);
    }
    return code;
}

/* Adds the events to the copy. Under the lock. */
static int add_events(profile *p) {
    cudaGraphNode_t zero = NULL, one = NULL;
    int code = add_event(p, 0, NULL, 0, &zero);
    if (!code)
        code = add_event(p, 1, &zero, 1, &one);
    if (code)
        return code;
    return p->together ? put_in_pairs(p, one) : put_in_a_row(p, one);
}

/* ---- replays ---- */

static int elapsed(const profile *p, size_t from, size_t to, float *milliseconds) {
    return (int)cudaEventElapsedTime(milliseconds, p->events[from], p->events[to]);
}

/* Reads the times of one replay, which has ended: of each node the beginning and the duration, then
 * all of it and the time between two events. */
static int read_times(const profile *p, float *times) {
    float *measured = &times[2 * p->node_count], end = 0;
    int code = elapsed(p, 0, 1, measured + 1);
    *measured = 0;
    for (size_t i = 0; !code && i < p->node_count; i++) {
        code = elapsed(p, 1, p->nodes[i].before, &times[2 * i]);
        if (!code)
            code = elapsed(p, p->nodes[i].before, p->nodes[i].after, &times[2 * i + 1]);
        end = times[2 * i] + times[2 * i + 1];
        *measured = end > *measured ? end : *measured;
    }
    return code;
}

static int wait(const profile *p) {
    const int mode = acu_thread_ignore_captures();
    const int code = (int)cudaStreamSynchronize(p->stream->raw);
    acu_thread_restore(mode);
    return code;
}

/* Replays the graph as it is, between two events on the stream; `whole` may be NULL. */
static int replay_plain(const profile *p, float *whole) {
    int code = (int)cudaEventRecord(p->events[0], p->stream->raw);
    if (!code)
        code = acu_exec_launch_for(p->call, p->plain, p->stream);
    if (!code)
        code = (int)cudaEventRecord(p->events[1], p->stream->raw);
    if (!code)
        code = wait(p);
    return code || !whole ? code : elapsed(p, 0, 1, whole);
}

/* Replays the copy with events; `times` may be NULL. */
static int replay_timed(const profile *p, float *times) {
    int code = acu_exec_launch_for(p->call, p->timed, p->stream);
    if (!code)
        code = wait(p);
    return code || !times ? code : read_times(p, times);
}

static int replay_all_plain(profile *p) {
    p->wholes = calloc(p->replays, sizeof *p->wholes);
    int code = p->wholes ? replay_plain(p, NULL) : no_memory(p);
    for (unsigned i = 0; !code && i < p->replays; i++)
        code = replay_plain(p, &p->wholes[i]);
    return code;
}

static int replay_all_timed(profile *p) {
    const size_t width = 2 * p->node_count + 2;
    p->times = calloc(p->replays, width * sizeof *p->times);
    int code = p->times ? replay_timed(p, NULL) : no_memory(p);
    for (unsigned i = 0; !code && i < p->replays; i++)
        code = replay_timed(p, &p->times[i * width]);
    return code;
}

/* Runs replays on the stream. Returns the public function's result. */
static int run(profile *p, int (*replays)(profile *p)) {
    acu_guard guard;
    int code = acu_stream_enter(p->stream, &guard);
    if (!code)
        code = replays(p);
    acu_guard_leave(&guard);
    return acu_outcome(p->call, p->graph, code);
}

/* ---- results ---- */

static int by_time(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

/* Returns the median of a column, whose values are copied to `sorted`, from the least on. */
static float median_of(const profile *p, const float *first, size_t width, float *sorted) {
    for (unsigned i = 0; i < p->replays; i++)
        sorted[i] = first[i * width];
    qsort(sorted, p->replays, sizeof *sorted, by_time);
    return (sorted[(p->replays - 1) / 2] + sorted[p->replays / 2]) / 2;
}

/* Notes the times, those of nodes that were destroyed meanwhile apart. Under the lock. */
static int note_times(const profile *p, float *sorted) {
    const size_t width = 2 * p->node_count + 2;
    for (size_t i = 0; i < p->node_count; i++) {
        if (*acu_graph_node_slot(p->graph, p->nodes[i].raw) == 0)
            continue;
        acu_node_note *note = acu_graph_make_note(p->graph, p->nodes[i].raw);
        if (!note)
            return ACU_ERROR_HOST_MEMORY;
        note->time.begin = median_of(p, &p->times[2 * i], width, sorted);
        note->time.milliseconds = median_of(p, &p->times[2 * i + 1], width, sorted);
        note->time.least = sorted[0];
        note->time.most = sorted[p->replays - 1];
        note->timed = true;
    }
    p->graph->time = (acu_graph_time){
        .replays = p->replays,
        .together = p->together,
        .measured = median_of(p, &p->times[2 * p->node_count], width, sorted),
        .between = median_of(p, &p->times[2 * p->node_count + 1], width, sorted),
        .whole = median_of(p, p->wholes, 1, sorted),
    };
    return 0;
}

/* ---- all of it ---- */

/* Returns whether events can be added to the graph, and destroyed again: whether it has no memory
 * nodes, which forbid that, and no child graphs, which may have some. Under the lock. */
static bool takes_events(const profile *p) {
    for (size_t i = 0; i < p->node_count; i++) {
        enum cudaGraphNodeType type = cudaGraphNodeTypeMemAlloc;
        if (acu_node_read_type(p->nodes[i].raw, &type) || type == cudaGraphNodeTypeMemAlloc ||
            type == cudaGraphNodeTypeMemFree || type == cudaGraphNodeTypeGraph)
            return false;
    }
    return true;
}

/* Lists the graph's nodes and edges, with the copies of the nodes. */
static int list_graph(profile *p) {
    acu_graph_lock();
    int code = list_nodes(p);
    if (!code)
        code = list_edges(p);
    if (!code)
        code = order_nodes(p);
    if (!code)
        code = make_events(p);
    acu_graph_unlock();
    return acu_outcome(p->call, p->graph, code);
}

/* Makes the copy, or takes the graph itself where CUDA makes none; lists what is in it. */
static int copy_graph(profile *p) {
    acu_saved_record before, refused;
    acu_record_save(&before);
    acu_record_hold(); /* CUDA's refusal may be no failure */
    const int code = acu_graph_clone_for(p->call, p->graph, &p->copy);
    acu_record_resume();
    if (code && code != cudaErrorNotSupported)
        acu_record_complete();
    if (code != cudaErrorNotSupported)
        return code ? code : list_graph(p);
    acu_record_save(&refused);
    p->copy = p->graph;
    ACU_TRY(list_graph(p));
    acu_graph_lock();
    const bool good = takes_events(p);
    acu_graph_unlock();
    (void)cudaGetLastError();
    acu_record_restore(good ? &before : &refused);
    if (!good)
        acu_record_complete();
    return good ? 0 : code;
}

/* Destroys the events' nodes in the graph itself; acu_release_error() has the failures. */
static void take_events_out(const profile *p) {
    acu_saved_record before;
    acu_record_save(&before);
    acu_graph_lock();
    for (size_t i = p->event_count; i-- > 0;)
        if (p->event_nodes[i] && cudaGraphDestroyNode(p->event_nodes[i]) != cudaSuccess)
            acu_record_release_error();
    acu_graph_unlock();
    acu_record_restore(&before);
}

/* Instantiates the copy with events. */
static int instantiate_timed(profile *p) {
    acu_graph_lock();
    int code = add_events(p);
    acu_graph_unlock();
    code = acu_outcome(p->call, p->graph, code);
    if (!code)
        code = acu_graph_instantiate_for(p->call, p->copy, &p->timed);
    if (p->copy == p->graph)
        take_events_out(p);
    return code;
}

/* Releases an executable graph; acu_release_error() has the failure. */
static void release_exec(acu_exec **exec) {
    if (acu_object_release(NULL, *exec, &acu_exec_class))
        acu_record_release_error();
    *exec = NULL;
}

/* Instantiates the graph as it is. CUDA instantiates the graph of a child graph node only as a
 * copy. */
static int instantiate_plain(profile *p) {
    if (!p->graph->parent)
        ACU_TRY(acu_graph_instantiate_for(p->call, p->graph, &p->plain));
    ACU_TRY(copy_graph(p));
    return p->graph->parent ? acu_graph_instantiate_for(p->call, p->copy, &p->plain) : 0;
}

/* Measures the graph as it is, and then its nodes: of a graph with conditional nodes there can be
 * one executable graph at a time. */
static int measure(profile *p) {
    ACU_TRY(instantiate_plain(p));
    ACU_TRY(run(p, replay_all_plain));
    release_exec(&p->plain);
    ACU_TRY(instantiate_timed(p));
    ACU_TRY(run(p, replay_all_timed));
    float *sorted = calloc(p->replays, sizeof *sorted);
    int code = sorted ? 0 : no_memory(p);
    if (!code) {
        acu_graph_lock();
        code = note_times(p, sorted);
        acu_graph_unlock();
    }
    free(sorted);
    return acu_outcome(p->call, p->graph, code);
}

/* Gives up all that was made for the profile; acu_release_error() has the failures. */
static void finish(profile *p) {
    acu_saved_record before;
    acu_record_save(&before);
    for (size_t i = 0; i < p->event_count; i++)
        if (cudaEventDestroy(p->events[i]) != cudaSuccess)
            acu_record_release_error();
    release_exec(&p->timed);
    release_exec(&p->plain);
    if (p->copy != p->graph && acu_object_release(NULL, p->copy, &acu_graph_class))
        acu_record_release_error();
    free(p->nodes);
    free(p->edges);
    free(p->order);
    free(p->events);
    free(p->event_nodes);
    free(p->times);
    free(p->wholes);
    acu_record_restore(&before);
}

acu_result acu_graph_profile(acu_graph *graph, acu_stream *stream,
                             const acu_profile_options *options) {
    ACU_SCOPE();
    static const acu_profile_options none;
    const acu_profile_options *o = options ? options : &none;
    profile p = {.call = __func__,
                 .graph = graph,
                 .stream = stream,
                 .replays = o->replays ? o->replays : DEFAULT_REPLAYS,
                 .together = o->together};
    acu_destroy_deferred();
    ACU_NEED(graph, acu_graph_class);
    ACU_NEED_STREAM(stream);
    ACU_REQUIRE_OF(graph, p.replays <= MOST_REPLAYS, ACU_ERROR_ARGUMENT,
                   "'replays' is %u, and at most %d are measured", p.replays, (int)MOST_REPLAYS);
    ACU_TRY(acu_outcome(__func__, stream, acu_stream_check_wait(stream)));
    const int code = measure(&p);
    finish(&p);
    return code;
}

acu_result acu_graph_get_time(acu_graph *graph, acu_graph_time *time) {
    ACU_SCOPE();
    ACU_NEED_POINTER(time);
    *time = (acu_graph_time){.replays = 0};
    ACU_NEED(graph, acu_graph_class);
    acu_graph_lock();
    *time = graph->time;
    acu_graph_unlock();
    ACU_REQUIRE_OF(graph, time->replays > 0, ACU_ERROR_STATE,
                   "the graph was not profiled: acu_graph_profile() does");
    return 0;
}
