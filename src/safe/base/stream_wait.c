/* Streams: what they wait for, how threads wait for them, and what a capture forbids of that. */
#include "safe/base/active_capture.h"
#include "safe/base/event.h"
#include "safe/base/stream.h"

#define OUTCOME(stream, code) acu_outcome(__func__, (stream), (int)(code))

/* Runs `call` on the stream, and returns from the public function. */
#define ON_STREAM(stream, call)                                                                    \
    do {                                                                                           \
        acu_guard guard;                                                                           \
        ACU_NEED_STREAM(stream);                                                                   \
        int code = acu_stream_enter((stream), &guard);                                             \
        if (!code)                                                                                 \
            code = (int)(call);                                                                    \
        acu_guard_leave(&guard);                                                                   \
        return OUTCOME((stream), code);                                                            \
    } while (0)

/* ---- captures ---- */

static int query_capture(const acu_stream *stream, enum cudaStreamCaptureStatus *status) {
    acu_guard guard;
    int code = acu_stream_enter(stream, &guard);
    if (!code)
        code = (int)cudaStreamIsCapturing(stream->raw, status);
    acu_guard_leave(&guard);
    return code;
}

int acu_stream_check_uncaptured(const acu_stream *stream) {
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    int code = query_capture(stream, &status);
    if (!code && status != cudaStreamCaptureStatusNone)
        code = acu_record(ACU_ERROR_CAPTURE, "the stream is being captured");
    return code;
}

int acu_stream_check_wait_slow(const acu_stream *stream) {
    int code = acu_stream_check_uncaptured(stream);
    return code ? code : acu_capture_check();
}

int acu_stream_capture_event(acu_stream *stream, acu_object *event) {
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    acu_capture *capture = acu_capture_of(stream);
    if (capture)
        return capture->use(capture, event, false);
    int code = acu_is_shared(&stream->shared) ? query_capture(stream, &status) : 0;
    if (code || status != cudaStreamCaptureStatusNone)
        return code;
    acu_record(ACU_ERROR_STATE,
               "the stream is not being captured, so the call cannot add a node to a graph");
    return ACU_ERROR_STATE;
}

acu_result acu_stream_is_capturing(acu_stream *stream, bool *capturing) {
    ACU_SCOPE();
    ACU_NEED_POINTER(capturing);
    *capturing = false;
    ACU_NEED_STREAM(stream);
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    int code = query_capture(stream, &status);
    *capturing = status == cudaStreamCaptureStatusActive;
    return OUTCOME(stream, code);
}

/* ---- the thread waits ---- */

acu_result acu_stream_query(acu_stream *stream) {
    ACU_SCOPE();
    acu_guard guard;
    ACU_NEED_STREAM(stream);
    int code = acu_stream_enter(stream, &guard);
    if (!code)
        code = acu_stream_check_wait(stream);
    if (!code) {
        int mode = acu_thread_ignore_captures();
        code = (int)cudaStreamQuery(stream->raw);
        acu_thread_restore(mode);
    }
    acu_guard_leave(&guard);
    return acu_query_outcome(__func__, stream, code);
}

static int synchronize(acu_stream *stream) {
    const uint64_t now = acu_timeline_now(stream->timeline);
    int code = acu_stream_check_wait(stream);
    if (!code) {
        int mode = acu_thread_ignore_captures();
        code = (int)cudaStreamSynchronize(stream->raw);
        acu_thread_restore(mode);
    }
    if (!code)
        acu_timeline_set_done(stream->timeline, now);
    acu_destroy_deferred(); /* some of these objects were waiting for this work */
    return code;
}

acu_result acu_stream_synchronize(acu_stream *stream) {
    ACU_SCOPE();
    ON_STREAM(stream, synchronize(stream));
}

/* ---- the stream waits ---- */

static int wait_for_event(acu_stream *stream, const acu_event *event) {
    const uint64_t capture = __atomic_load_n(&event->capture, __ATOMIC_ACQUIRE);
    int code =
        capture ? acu_timeline_mark(stream->timeline) : 0; /* before the stream joins the capture */
    const bool joined = !code && capture && acu_capture_join(capture, stream);
    if (!code)
        code = (int)cudaStreamWaitEvent(stream->raw, event->raw, 0);
    if (code && joined)
        acu_capture_leave(stream);
    if (acu_is_shared(&event->shared))
        acu_mark_shared(&stream->shared);
    return code;
}

acu_result acu_stream_wait_event(acu_stream *stream, acu_event *event) {
    ACU_SCOPE();
    ACU_NEED(event, acu_event_class);
    ON_STREAM(stream, wait_for_event(stream, event));
}

static int wait_externally(acu_stream *stream, acu_event *event) {
    int code = acu_stream_capture_event(stream, &event->object);
    return code ? code : (int)cudaStreamWaitEvent(stream->raw, event->raw, cudaEventWaitExternal);
}

acu_result acu_stream_wait_event_external(acu_stream *stream, acu_event *event) {
    ACU_SCOPE();
    ACU_NEED(event, acu_event_class);
    ON_STREAM(stream, wait_externally(stream, event));
}

acu_result acu_stream_wait_stream(acu_stream *stream, acu_stream *other) {
    ACU_SCOPE();
    ACU_NEED_STREAM(stream);
    ACU_NEED_STREAM(other);
    return OUTCOME(stream, acu_timeline_wait(other->timeline, ACU_EVERYTHING, stream));
}

acu_result acu_stream_fork(acu_stream *from, acu_stream *const *streams, size_t count) {
    ACU_SCOPE();
    ACU_NEED_STREAM(from);
    ACU_REQUIRE(streams || count == 0, ACU_ERROR_ARGUMENT, "'streams' is NULL");
    for (size_t i = 0; i < count; i++) {
        ACU_NEED_STREAM(streams[i]);
        ACU_TRY(OUTCOME(streams[i], acu_timeline_wait(from->timeline, ACU_EVERYTHING, streams[i])));
    }
    return 0;
}

acu_result acu_stream_join(acu_stream *into, acu_stream *const *streams, size_t count) {
    ACU_SCOPE();
    ACU_NEED_STREAM(into);
    ACU_REQUIRE(streams || count == 0, ACU_ERROR_ARGUMENT, "'streams' is NULL");
    for (size_t i = 0; i < count; i++) {
        ACU_NEED_STREAM(streams[i]);
        ACU_TRY(OUTCOME(into, acu_timeline_wait(streams[i]->timeline, ACU_EVERYTHING, into)));
    }
    return 0;
}
