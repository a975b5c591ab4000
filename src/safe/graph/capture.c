/* Captures of streams into graphs. */
#include <anycuda/capture.h>

#include "safe/base/active_capture.h"
#include "safe/graph/node.h"
#include "safe/memory/storage.h"

#include <stdlib.h>

#define OUTCOME(stream, code) acu_outcome(__func__, (stream), (int)(code))

/* A capture, from its beginning to its end. */
typedef struct graph_capture {
    acu_capture capture; /* what streams refer to */
    acu_graph *graph;    /* an owner */
    bool into;           /* the graph existed before the capture */
    bool again;          /* the graph was captured before; all below is for such captures */
    acu_kept_set *uses;  /* what this capture uses; under the lock of all graphs */
    acu_result (*changed)(void *data, acu_node node, acu_recapture how);
    void *data;
    struct cudaGraphRecaptureCallbackData asked;
    cudaGraphNode_t *raw; /* the graph's nodes, in their order */
    acu_node *nodes;      /* handles of these */
    size_t count;         /* of both */
    size_t next;          /* the index that `changed` probably needs next */
} graph_capture;

/* ---- what streams refer to ---- */

/* Notes that a stream of the capture uses the object, which the graph keeps from now on. */
static int use(acu_capture *capture, acu_object *object, bool writes) {
    graph_capture *mine = (graph_capture *)capture;
    int code = acu_graph_keep_object(mine->graph, object, writes);
    if (code || !mine->again)
        return code;
    acu_graph_lock();
    code = acu_kept_set_add(&mine->uses, object, writes);
    acu_graph_unlock();
    return code;
}

/* Frees a capture whose streams are free already. Gives up the graph's reference, too. */
static void free_capture(graph_capture *capture) {
    acu_graph *graph = capture->graph;
    __atomic_sub_fetch(&graph->root->capturing, 1, __ATOMIC_ACQ_REL);
    if (acu_kept_set_release(capture->uses))
        acu_record_release_error();
    free(capture->raw);
    free(capture->nodes);
    free(capture);
    (void)acu_object_release("acu_stream_end_capture", graph->root, &acu_graph_class);
}

/* Forgets the graph of a capture that failed. CUDA has then destroyed the graph, even one that
 * existed before, except where the graph is a part of another one, or CUDA could still end the
 * capture (`ended_well`). The handles that are left have no nodes. A graph that was captured again
 * is not destroyed by CUDA but cannot be used, so it is destroyed here. */
static void lose_graph(const graph_capture *capture, bool ended_well) {
    acu_graph *graph = capture->graph;
    if (graph->root != graph || (capture->into && ended_well))
        return;
    acu_graph_lock();
    if (capture->again && graph->owned)
        (void)cudaGraphDestroy(graph->raw);
    graph->raw = NULL;
    graph->owned = false;
    acu_graph_forget_nodes(graph);
    for (acu_graph *part = graph->parts; part; part = part->next) {
        part->raw = NULL;
        acu_graph_forget_nodes(part);
    }
    acu_graph_unlock();
}

/* Lets a graph that was captured again keep what it uses now. Returns what it kept before, whose
 * reference is the caller's; NULL where the graph has to keep that, too: it has parts, or there is
 * no memory. */
static acu_kept_set *replace_uses(const graph_capture *capture) {
    acu_graph *graph = capture->graph;
    acu_kept_set *before = NULL;
    acu_saved_record saved;
    if (!capture->again || graph->root != graph || graph->parts)
        return NULL;
    acu_record_save(&saved);
    acu_graph_lock();
    pthread_mutex_lock(&graph->kept_lock);
    (void)acu_kept_set_recapture(&graph->kept, capture->uses, &before);
    pthread_mutex_unlock(&graph->kept_lock);
    acu_graph_unlock();
    acu_record_restore(&saved);
    return before;
}

/* Frees the streams and the capture, whatever the result is. */
static void end_all(graph_capture *capture) {
    acu_capture_end(&capture->capture);
    free_capture(capture);
    acu_destroy_deferred();
}

/* Ends the capture and destroys its graph; false if CUDA refuses to end it. */
static bool give_up(const graph_capture *capture) {
    cudaGraph_t raw = NULL;
    acu_saved_record before;
    acu_record_save(&before);
    cudaError_t code = cudaStreamEndCapture(capture->capture.origin->raw, &raw);
    if (code)
        (void)cudaGetLastError();
    if (raw && !capture->into)
        (void)cudaGraphDestroy(raw);
    acu_record_restore(&before);
    return !code;
}

/* Ends a capture because the stream where it began is destroyed. */
static void abandon(acu_capture *capture) {
    graph_capture *mine = (graph_capture *)capture;
    lose_graph(mine, give_up(mine));
    acu_capture_end(capture);
    free_capture(mine);
}

/* Returns the capture of anycuda that the stream is in; NULL if there is none. */
static graph_capture *begun_on(const acu_stream *stream) {
    acu_capture *capture = acu_capture_of(stream);
    return capture && capture->use == use ? (graph_capture *)capture : NULL;
}

/* ---- beginning ---- */

static enum cudaStreamCaptureMode mode_of(acu_capture_mode mode) {
    return mode == ACU_CAPTURE_THREAD   ? cudaStreamCaptureModeThreadLocal
           : mode == ACU_CAPTURE_GLOBAL ? cudaStreamCaptureModeGlobal
                                        : cudaStreamCaptureModeRelaxed;
}

/* Allocates the raw nodes, which the caller frees; *raw is NULL for a count of 0, and on failure.
 */
static int raw_nodes(const char *call, const acu_graph *graph, const acu_node *nodes, size_t count,
                     cudaGraphNode_t **raw) {
    int code = 0;
    *raw = NULL;
    if (count == 0)
        return 0;
    *raw = count < SIZE_MAX / 16 ? malloc(count * sizeof **raw) : NULL;
    if (!*raw)
        return acu_fail(call, "", ACU_ERROR_HOST_MEMORY, "no memory for %zu nodes", count);
    for (size_t i = 0; i < count && !code; i++) {
        if (nodes[i].graph && nodes[i].graph != graph)
            code = acu_fail(call, "", ACU_ERROR_ARGUMENT, "node %zu is of another graph", i);
        else
            code = acu_node_check(call, nodes[i], &(*raw)[i]);
    }
    if (code) {
        free(*raw);
        *raw = NULL;
    }
    return code;
}

/* Answers CUDA's callback about a node whose parameters differ. CUDA may hold locks of its own, so
 * this function takes none. */
static cudaError_t ask_program(void *data, cudaGraphNode_t raw,
                               const struct cudaGraphNodeParams *before,
                               const struct cudaGraphNodeParams *now,
                               enum cudaGraphRecaptureStatus status) {
    graph_capture *capture = data;
    acu_node node = {NULL, 0};
    (void)before;
    (void)now;
    for (size_t i = 0; i < capture->count && !node.graph; i++) {
        size_t at = (capture->next + i) % capture->count;
        if (capture->raw[at] == raw) {
            node = capture->nodes[at];
            capture->next = at + 1;
        }
    }
    acu_callback_begin();
    int answer = capture->changed(capture->data, node, (acu_recapture)status);
    acu_callback_end();
    return answer ? cudaErrorUnknown : cudaSuccess;
}

/* Fills `raw` and `nodes`, which ask_program() needs. */
static int gather_nodes(graph_capture *capture) {
    acu_graph *graph = capture->graph;
    int code = (int)cudaGraphGetNodes(graph->raw, NULL, &capture->count);
    size_t count = capture->count;
    if (code || count == 0)
        return code;
    capture->raw = calloc(count, sizeof *capture->raw);
    capture->nodes = calloc(count, sizeof *capture->nodes);
    if (!capture->raw || !capture->nodes || !acu_graph_reserve_nodes(graph, count))
        return acu_record(ACU_ERROR_HOST_MEMORY, "no memory for %zu nodes", count);
    code = (int)cudaGraphGetNodes(graph->raw, capture->raw, &capture->count);
    if (!code)
        acu_node_list(graph, capture->raw, capture->count, capture->nodes, count);
    return code;
}

static int begin_again(acu_stream *stream, graph_capture *capture) {
    capture->asked = (struct cudaGraphRecaptureCallbackData){ask_program, capture};
    int code = capture->changed ? gather_nodes(capture) : 0;
    return code ? code
                : (int)cudaStreamBeginRecaptureToGraph(stream->raw, capture->capture.mode,
                                                       capture->graph->raw,
                                                       capture->changed ? &capture->asked : NULL);
}

static int begin_into(const char *call, acu_stream *stream, const acu_capture_options *o) {
    cudaGraphNode_t *after = NULL;
    cudaGraphEdgeData *edges = NULL;
    int code = raw_nodes(call, o->into, o->after, o->after_count, &after);
    if (code)
        return code;
    if (acu_edge_to_raw(o->edges, o->after_count, &edges)) {
        acu_graph_lock();
        code = (int)cudaStreamBeginCaptureToGraph(stream->raw, o->into->raw, after, edges,
                                                  o->after_count, mode_of(o->mode));
        acu_graph_unlock();
    } else
        code = acu_record(ACU_ERROR_HOST_MEMORY, "no memory for %zu edges", o->after_count);
    free(edges);
    free(after);
    return acu_outcome(call, stream, code);
}

static int begin_raw(const char *call, acu_stream *stream, const acu_capture_options *o,
                     graph_capture *capture) {
    if (!o->into)
        return acu_outcome(call, stream,
                           (int)cudaStreamBeginCapture(stream->raw, mode_of(o->mode)));
    if (!o->again)
        return begin_into(call, stream, o);
    acu_graph_lock();
    int code = begin_again(stream, capture);
    acu_graph_unlock();
    return acu_outcome(call, stream, code);
}

static int refuse_legacy(const char *call) {
    acu_fail_hint("capture a stream that acu_stream_create() has made");
    return acu_fail(call, "", ACU_ERROR_CAPTURE, "the legacy default stream cannot be captured");
}

static int check_options(const char *call, const acu_stream *stream, const acu_capture_options *o) {
    if ((unsigned)o->mode > ACU_CAPTURE_RELAXED)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "%d is not a capture mode", (int)o->mode);
    if (o->after_count > 0 && !(o->into && o->after))
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'%s' is NULL", o->into ? "after" : "into");
    if ((o->again && !o->into) || (o->changed && !o->again))
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'%s' is not set",
                        o->again ? "into" : "again");
    if (o->again && o->after_count > 0)
        return acu_fail(
            call, "", ACU_ERROR_ARGUMENT,
            "'after' is set, but a graph that is captured again keeps its dependencies");
    if (o->into && !acu_is(o->into, &acu_graph_class))
        return acu_object_refuse(call, o->into, &acu_graph_class);
    if (o->into && !o->into->raw)
        return acu_fail_on(call, o->into, ACU_ERROR_STATE, "the graph cannot be captured into");
    if (stream->raw == cudaStreamLegacy)
        return refuse_legacy(call);
    ACU_TRY(o->into ? acu_graph_check_uncaptured(call, o->into) : 0);
    int code = acu_stream_check_uncaptured(stream);
    if (code == ACU_ERROR_CAPTURE)
        acu_fail_hint("end the capture that is under way before another one begins");
    return acu_outcome(call, stream, code);
}

static int begin(const char *call, acu_stream *stream, const acu_capture_options *options) {
    static const acu_capture_options none;
    const acu_capture_options *o = options ? options : &none;
    ACU_TRY(acu_stream_check(call, stream));
    int code = check_options(call, stream, o);
    if (!code)
        code = acu_outcome(call, stream, acu_timeline_mark(stream->timeline));
    if (code)
        return code;
    graph_capture *capture = calloc(1, sizeof *capture);
    acu_graph *graph = !capture ? NULL : o->into ? o->into : acu_graph_new(call);
    if (!graph) {
        free(capture);
        return acu_fail(call, "", ACU_ERROR_HOST_MEMORY, "no memory for a capture");
    }
    if (o->into)
        acu_graph_retain(graph);
    *capture = (graph_capture){.capture = {use, abandon, .mode = mode_of(o->mode)},
                               .graph = graph,
                               .into = o->into != NULL,
                               .again = o->again,
                               .changed = o->changed,
                               .data = o->data};
    __atomic_add_fetch(&graph->root->capturing, 1, __ATOMIC_ACQ_REL);
    acu_capture_begin(&capture->capture, stream);
    code = begin_raw(call, stream, o, capture);
    if (code) {
        acu_capture_end(&capture->capture);
        free_capture(capture);
    }
    return code;
}

acu_result acu_stream_begin_capture(acu_stream *stream, const acu_capture_options *options) {
    ACU_SCOPE();
    acu_destroy_deferred();
    return begin(__func__, stream, options);
}

/* ---- memory ---- */

/* Captures the allocation, which gives the storage its address. */
static int allocate(acu_stream *stream, acu_storage *storage) {
    acu_guard guard;
    uint64_t version;
    void *at = NULL;
    int code = acu_storage_begin_use(storage, stream, true, &version);
    if (!code)
        code = acu_stream_enter(stream, &guard);
    if (code)
        return code;
    code = (int)cudaMallocAsync(&at, acu_storage_bytes(storage), stream->raw);
    acu_guard_leave(&guard);
    storage->pointer = storage->first.pointer = at;
    return code;
}

acu_result acu_stream_capture_alloc(acu_stream *stream, acu_dtype dtype, size_t count,
                                    acu_buffer **buffer) {
    ACU_SCOPE();
    acu_buffer *made = NULL;
    ACU_NEED_POINTER(buffer);
    *buffer = NULL;
    ACU_NEED_STREAM(stream);
    ACU_REQUIRE(count > 0, ACU_ERROR_ARGUMENT, "'count' is 0: there is nothing to allocate");
    ACU_REQUIRE(
        begun_on(stream), ACU_ERROR_STATE,
        "anycuda is not capturing the stream; acu_buffer_create() allocates outside of captures");
    ACU_TRY(acu_storage_new_for_graph(__func__, stream->object.device, dtype, count, &made));
    int code = OUTCOME(stream, allocate(stream, made->storage));
    if (code)
        (void)acu_object_release(NULL, made, &acu_buffer_class);
    else
        *buffer = made;
    return code;
}

/* ---- ending ---- */

/* Returns whether the stream is still captured: CUDA may refuse to end a capture. */
static bool goes_on(const acu_stream *stream) {
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    acu_saved_record failure;
    acu_record_save(&failure);
    if (cudaStreamIsCapturing(stream->raw, &status))
        (void)cudaGetLastError();
    acu_record_restore(&failure);
    return status != cudaStreamCaptureStatusNone;
}

/* Lets the graph keep the execution contexts that its nodes run in: those of the streams. Returns
 * the first failure. */
static int keep_contexts(acu_capture *capture) {
    acu_object *of_origin = capture->origin->context;
    int code = of_origin ? use(capture, of_origin, false) : 0;
    for (const acu_stream *s = capture->joined; s && !code; s = s->next_joined)
        code = s->context ? use(capture, s->context, false) : 0;
    return code;
}

/* Makes the calls that come before the end; returns the first failure. */
static int run_ends(acu_capture *capture) {
    int first = keep_contexts(capture);
    for (acu_capture_ending *e = __atomic_load_n(&capture->ends, __ATOMIC_ACQUIRE), *next; e;
         e = next) {
        next = e->next;
        const int code = e->run(e, capture);
        first = first ? first : code;
    }
    return first;
}

/* Loses the capture, because what its graph needs is not kept. */
static int end_in_failure(const char *call, const acu_stream *stream, graph_capture *capture,
                          int failed) {
    const int code = acu_outcome(call, stream, failed);
    lose_graph(capture, give_up(capture));
    end_all(capture);
    return code;
}

static int end(const char *call, acu_stream *stream, graph_capture *capture, acu_graph **graph) {
    cudaGraph_t raw = NULL;
    acu_kept_set *unused = NULL;
    const int failed = run_ends(&capture->capture);
    if (failed)
        return end_in_failure(call, stream, capture, failed);
    int code = acu_outcome(call, stream, (int)cudaStreamEndCapture(stream->raw, &raw));
    bool ended_well = code && goes_on(stream) && give_up(capture);
    if (code && !ended_well && goes_on(stream))
        return code;
    if (!code) {
        *graph = capture->graph;
        if (!capture->into) {
            capture->graph->raw = raw;
            capture->graph->owned = true;
        }
        (void)acu_graph_retain(*graph);
        unused = replace_uses(capture);
    } else
        lose_graph(capture, ended_well);
    end_all(capture);
    if (acu_kept_set_release(unused))
        acu_record_release_error();
    return code;
}

static int end_capture(const char *call, acu_stream *stream, acu_graph **graph) {
    if (!graph)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'graph' is NULL");
    *graph = NULL;
    if (!acu_is(stream, &acu_stream_class))
        return acu_object_refuse(call, stream, &acu_stream_class);
    graph_capture *capture = begun_on(stream);
    if (capture && capture->capture.origin == stream)
        return end(call, stream, capture, graph);
    acu_fail_hint("end the capture on the stream that acu_stream_begin_capture() was given");
    if (capture)
        return acu_fail_on(call, stream, ACU_ERROR_CAPTURE,
                           "the capture began on another stream, %p",
                           (void *)capture->capture.origin);
    return acu_fail_on(call, stream, ACU_ERROR_CAPTURE,
                       "no capture of anycuda began on the stream");
}

acu_result acu_stream_end_capture(acu_stream *stream, acu_graph **graph) {
    ACU_SCOPE();
    return end_capture(__func__, stream, graph);
}

/* Ends the capture of a function that has failed. Its failure is the result, whatever ending the
 * capture returns. */
static int end_failed(const char *call, acu_stream *stream, int code) {
    acu_graph *unwanted = NULL;
    acu_saved_record failure;
    acu_record_save(&failure);
    if (acu_is(stream, &acu_stream_class) && begun_on(stream))
        (void)end_capture(call, stream, &unwanted);
    (void)cudaGetLastError();
    (void)acu_graph_release(unwanted);
    acu_record_restore(&failure);
    return code;
}

acu_result acu_stream_capture(acu_stream *stream, const acu_capture_options *options,
                              acu_result (*function)(acu_stream *stream, void *data), void *data,
                              acu_graph **graph) {
    ACU_SCOPE();
    ACU_NEED_POINTER(graph);
    *graph = NULL;
    ACU_NEED_POINTER(function);
    acu_destroy_deferred();
    ACU_TRY(begin(__func__, stream, options));
    int code = function(stream, data);
    return code ? end_failed(__func__, stream, code) : end_capture(__func__, stream, graph);
}

/* ---- properties ---- */

/* What cudaStreamGetCaptureInfo() returns. */
typedef struct capture_state {
    enum cudaStreamCaptureStatus status;
    unsigned long long id;
    cudaGraph_t graph;
    const cudaGraphNode_t *nodes;
    const cudaGraphEdgeData *edges;
    size_t count;
} capture_state;

/* Asks CUDA. Edge data is always asked for, because CUDA does not report the nodes alone where an
 * edge has data. */
static int ask(const acu_stream *stream, capture_state *s) {
    acu_guard guard;
    *s = (capture_state){.status = cudaStreamCaptureStatusNone};
    int code = acu_stream_enter(stream, &guard);
    if (!code)
        code = (int)cudaStreamGetCaptureInfo(stream->raw, &s->status, &s->id, &s->graph, &s->nodes,
                                             &s->edges, &s->count);
    acu_guard_leave(&guard);
    if (code || s->status != cudaStreamCaptureStatusActive)
        *s = (capture_state){.status = s->status};
    return code;
}

acu_result acu_stream_get_capture_status(acu_stream *stream, acu_capture_status *status) {
    ACU_SCOPE();
    enum cudaStreamCaptureStatus now = cudaStreamCaptureStatusNone;
    acu_guard guard;
    ACU_NEED_POINTER(status);
    *status = ACU_CAPTURE_NONE;
    ACU_NEED_STREAM(stream);
    int code = acu_stream_enter(stream, &guard);
    if (!code)
        code = (int)cudaStreamIsCapturing(stream->raw, &now);
    acu_guard_leave(&guard);
    *status = (acu_capture_status)now;
    return OUTCOME(stream, code);
}

/* Returns the graph that is being captured; NULL if anycuda did not begin the capture. A new graph
 * gets its raw handle here, because CUDA reports it only while it captures. */
static acu_graph *graph_of(const acu_stream *stream, const capture_state *s) {
    graph_capture *capture = begun_on(stream);
    if (!capture || !s->graph)
        return NULL;
    capture->graph->raw = s->graph;
    return capture->graph;
}

acu_result acu_stream_get_capture_info(acu_stream *stream, acu_capture_info *info) {
    ACU_SCOPE();
    capture_state s = {.status = cudaStreamCaptureStatusNone};
    ACU_NEED_POINTER(info);
    *info = (acu_capture_info){.status = ACU_CAPTURE_NONE};
    ACU_NEED_STREAM(stream);
    int code = ask(stream, &s);
    *info = (acu_capture_info){(acu_capture_status)s.status, s.id, graph_of(stream, &s), s.count};
    return OUTCOME(stream, code);
}

static int need_active(const char *call, acu_stream *stream, capture_state *s, acu_graph **graph) {
    if (!acu_is(stream, &acu_stream_class))
        return acu_object_refuse(call, stream, &acu_stream_class);
    int code = acu_outcome(call, stream, ask(stream, s));
    *graph = code ? NULL : graph_of(stream, s);
    if (!code && !*graph)
        code = acu_fail_on(call, stream, ACU_ERROR_STATE, "anycuda is not capturing the stream");
    return code;
}

acu_result acu_stream_get_capture_dependencies(acu_stream *stream, acu_node *nodes, acu_edge *edges,
                                               size_t *count) {
    ACU_SCOPE();
    capture_state s = {.status = cudaStreamCaptureStatusNone};
    acu_graph *graph = NULL;
    ACU_NEED_POINTER(count);
    size_t room = *count;
    *count = 0;
    ACU_TRY(need_active(__func__, stream, &s, &graph));
    acu_graph_lock();
    bool memory = acu_graph_reserve_nodes(graph, s.count);
    if (memory) {
        acu_node_list(graph, s.nodes, s.count, nodes, room);
        if (s.edges)
            acu_edge_list(s.edges, s.count, edges, room);
        *count = s.count;
    }
    acu_graph_unlock();
    ACU_REQUIRE(memory, ACU_ERROR_HOST_MEMORY, "no memory for %zu nodes", s.count);
    return 0;
}

acu_result acu_stream_get_captured_node(acu_stream *stream, acu_node *node) {
    ACU_SCOPE();
    capture_state s = {.status = cudaStreamCaptureStatusNone};
    acu_graph *graph = NULL;
    ACU_NEED_POINTER(node);
    *node = (acu_node){NULL, 0};
    ACU_TRY(need_active(__func__, stream, &s, &graph));
    ACU_REQUIRE_OF(stream, s.count == 1, ACU_ERROR_STATE, "%s",
                   s.count == 0 ? "nothing was captured on the stream yet"
                                : "the stream has just waited for another one: the next node "
                                  "depends on several");
    acu_graph_lock();
    bool memory = acu_graph_reserve_nodes(graph, 1);
    if (memory)
        acu_node_list(graph, s.nodes, 1, node, 1);
    acu_graph_unlock();
    ACU_REQUIRE(memory, ACU_ERROR_HOST_MEMORY, "no memory for a node");
    return 0;
}

acu_result acu_stream_set_capture_dependencies(acu_stream *stream, const acu_node *nodes,
                                               const acu_edge *edges, size_t count, bool add) {
    ACU_SCOPE();
    capture_state s = {.status = cudaStreamCaptureStatusNone};
    acu_graph *graph = NULL;
    cudaGraphNode_t *raw = NULL;
    cudaGraphEdgeData *data = NULL;
    ACU_REQUIRE(nodes || count == 0, ACU_ERROR_ARGUMENT, "'nodes' is NULL");
    ACU_TRY(need_active(__func__, stream, &s, &graph));
    ACU_TRY(raw_nodes(__func__, graph, nodes, count, &raw));
    int code = ACU_ERROR_HOST_MEMORY;
    if (acu_edge_to_raw(edges, count, &data))
        code = (int)cudaStreamUpdateCaptureDependencies(stream->raw, raw, data, count,
                                                        add ? cudaStreamAddCaptureDependencies
                                                            : cudaStreamSetCaptureDependencies);
    else
        acu_record(code, "no memory for %zu edges", count);
    free(data);
    free(raw);
    return OUTCOME(stream, code);
}
