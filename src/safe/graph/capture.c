/* Captures: how they begin and end, and what is known of them meanwhile. */
#include <anycuda/capture.h>

#include "safe/base/active_capture.h"
#include "safe/graph/graph.h"

#include <assert.h>
#include <stdlib.h>

static_assert((int)ACU_RECAPTURE_IMPOSSIBLE == (int)cudaGraphRecaptureError, "");
static_assert((int)ACU_CAPTURE_INVALIDATED == (int)cudaStreamCaptureStatusInvalidated, "");

#define OUTCOME(stream, code) acu_outcome(__func__, (stream), (int)(code))

typedef struct graph_capture {
    acu_capture capture;
    acu_graph *graph;   /* an owner of it */
    bool into;          /* it was there before */
    bool again;         /* and was captured before; then also: */
    acu_kept_set *uses; /* what is captured this time */
    acu_result (*changed)(void *data, acu_node node, acu_recapture how);
    void *data;
    struct cudaGraphRecaptureCallbackData asked;
    cudaGraphNode_t *raw; /* the graph's nodes, in their order, and their handles */
    acu_node *nodes;
    size_t count, next;
} graph_capture;

/* ---- what hangs on the streams -----------------------------------------------------------------
 */

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

/*
 * CUDA has destroyed it, also if it was there before, unless it is in a node or the capture ended
 * well after all: whoever has it, has a graph without nodes. One that was captured again it has
 * left in no state to be used.
 */
static void graph_is_lost(const graph_capture *capture, bool ended_well) {
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

/* What the graph used before is the caller's to give up; NULL where there is no memory to do so. */
static acu_kept_set *renew_uses(const graph_capture *capture) {
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

/* The streams are free again, whatever became of it. */
static void end_all(graph_capture *capture) {
    acu_capture_end(&capture->capture);
    free_capture(capture);
    acu_destroy_deferred();
}

/* Ends it without a graph; false if CUDA refuses. */
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

static void abandon(acu_capture *capture) {
    graph_capture *mine = (graph_capture *)capture;
    graph_is_lost(mine, give_up(mine));
    acu_capture_end(capture);
    free_capture(mine);
}

/* The one that anycuda began on this stream; NULL if there is none. */
static graph_capture *begun_on(const acu_stream *stream) {
    acu_capture *capture = acu_capture_of(stream);
    return capture && capture->use == use ? (graph_capture *)capture : NULL;
}

/* ---- beginning ---------------------------------------------------------------------------------
 */

static enum cudaStreamCaptureMode mode_of(acu_capture_mode mode) {
    return mode == ACU_CAPTURE_THREAD   ? cudaStreamCaptureModeThreadLocal
           : mode == ACU_CAPTURE_GLOBAL ? cudaStreamCaptureModeGlobal
                                        : cudaStreamCaptureModeRelaxed;
}

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

/* CUDA may hold locks of its own here: no other is taken. */
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
    acu_fail(call, "", ACU_ERROR_CAPTURE, "the legacy default stream cannot be captured");
    acu_fail_hint("capture a stream of acu_stream_create()");
    return ACU_ERROR_CAPTURE;
}

static int check_options(const char *call, const acu_stream *stream, const acu_capture_options *o) {
    if ((unsigned)o->mode > ACU_CAPTURE_RELAXED)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "there is no mode %d of capture",
                        (int)o->mode);
    if (o->after_count > 0 && !(o->into && o->after))
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'%s' is NULL", o->into ? "after" : "into");
    if ((o->again && !o->into) || (o->changed && !o->again))
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'%s' is not set",
                        o->again ? "into" : "again");
    if (o->again && o->after_count > 0)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "what is captured again depends on what it did before");
    if (o->into && !acu_is(o->into, &acu_graph_class))
        return acu_object_refuse(call, o->into, &acu_graph_class);
    if (stream->raw == cudaStreamLegacy)
        return refuse_legacy(call);
    int code = o->into ? acu_graph_check_uncaptured(call, o->into) : 0;
    return code ? code : acu_outcome(call, stream, acu_stream_check_uncaptured(stream));
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
    code = begin_raw(call, stream, o, capture);
    if (code)
        free_capture(capture);
    else
        acu_capture_begin(&capture->capture, stream);
    return code;
}

acu_result acu_stream_begin_capture(acu_stream *stream, const acu_capture_options *options) {
    acu_destroy_deferred();
    return begin(__func__, stream, options);
}

/* ---- memory ------------------------------------------------------------------------------------
 */

static int allocate(acu_stream *stream, acu_storage *storage) {
    acu_capture *capture = acu_capture_of(stream);
    acu_guard guard;
    void *at = NULL;
    int code = capture->use(capture, &storage->object, true);
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
    acu_buffer *made = NULL;
    ACU_NEED_POINTER(buffer);
    *buffer = NULL;
    ACU_NEED_STREAM(stream);
    ACU_REQUIRE(count > 0, ACU_ERROR_ARGUMENT, "there is nothing to allocate");
    ACU_REQUIRE(begun_on(stream), ACU_ERROR_STATE,
                "no capture of anycuda's is active on the stream; acu_buffer_create() allocates");
    ACU_TRY(acu_storage_new_for_graph(__func__, stream->object.device, dtype, count, &made));
    int code = OUTCOME(stream, allocate(stream, made->storage));
    if (code)
        (void)acu_object_release(NULL, made, &acu_buffer_class);
    else
        *buffer = made;
    return code;
}

/* ---- ending ------------------------------------------------------------------------------------
 */

/* CUDA may refuse to end it here and now; then it goes on. */
static bool goes_on(const acu_stream *stream) {
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    acu_saved_record failure;
    acu_record_save(&failure);
    if (cudaStreamIsCapturing(stream->raw, &status))
        (void)cudaGetLastError();
    acu_record_restore(&failure);
    return status != cudaStreamCaptureStatusNone;
}

static int end(const char *call, acu_stream *stream, graph_capture *capture, acu_graph **graph) {
    cudaGraph_t raw = NULL;
    acu_kept_set *unused = NULL;
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
        unused = renew_uses(capture);
    } else
        graph_is_lost(capture, ended_well);
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
    if (capture)
        acu_fail_on(call, stream, ACU_ERROR_CAPTURE, "the capture began on another stream, %p",
                    (void *)capture->capture.origin);
    else
        acu_fail_on(call, stream, ACU_ERROR_CAPTURE, "no capture of anycuda's began on the stream");
    acu_fail_hint("end it on the stream that acu_stream_begin_capture() was given");
    return ACU_ERROR_CAPTURE;
}

acu_result acu_stream_end_capture(acu_stream *stream, acu_graph **graph) {
    return end_capture(__func__, stream, graph);
}

/* The function's failure stands, whatever becomes of the end. */
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
    ACU_NEED_POINTER(graph);
    *graph = NULL;
    ACU_NEED_POINTER(function);
    acu_destroy_deferred();
    ACU_TRY(begin(__func__, stream, options));
    int code = function(stream, data);
    return code ? end_failed(__func__, stream, code) : end_capture(__func__, stream, graph);
}

/* ---- what is known -----------------------------------------------------------------------------
 */

typedef struct capture_state {
    enum cudaStreamCaptureStatus status;
    unsigned long long id;
    cudaGraph_t graph;
    const cudaGraphNode_t *nodes;
    const cudaGraphEdgeData *edges;
    size_t count;
} capture_state;

/* Of edges with data, CUDA does not tell the nodes alone. */
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

/* The graph that is being made has its raw handle from now on. */
static acu_graph *graph_of(const acu_stream *stream, const capture_state *s) {
    graph_capture *capture = begun_on(stream);
    if (!capture || !s->graph)
        return NULL;
    capture->graph->raw = s->graph;
    return capture->graph;
}

acu_result acu_stream_get_capture_info(acu_stream *stream, acu_capture_info *info) {
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
        code = acu_fail_on(call, stream, ACU_ERROR_STATE,
                           "no capture of anycuda's is active on the stream");
    return code;
}

acu_result acu_stream_get_capture_dependencies(acu_stream *stream, acu_node *nodes, acu_edge *edges,
                                               size_t *count) {
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

acu_result acu_stream_set_capture_dependencies(acu_stream *stream, const acu_node *nodes,
                                               const acu_edge *edges, size_t count, bool add) {
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
