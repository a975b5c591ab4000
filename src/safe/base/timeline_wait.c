/* Timelines: how streams and threads wait for what is on them, also around captures. */
#include "core/status.h"
#include "safe/base/active_capture.h"
#include "safe/base/device.h"
#include "safe/base/stream.h"

static int ask_capturing(cudaStream_t raw, bool *capturing) {
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    int code = (int)cudaStreamIsCapturing(raw, &status);
    *capturing = status != cudaStreamCaptureStatusNone;
    return code;
}

/* ---- a stream waits ---- */

/*
 * Returns 0 if the stream can wait for the number; sets `*captured` if it will join the timeline's
 * capture by that.
 *
 * Waiting for an event from outside of a capture breaks the capture. Waiting for an event of a
 * capture brings the waiting stream into it. That is wanted where the program names the other
 * stream (the number is ACU_EVERYTHING), but not where memory was used there before: what was
 * marked before the capture can be waited for all the same.
 */
static int check_captures(acu_timeline *timeline, cudaStream_t stream, uint64_t number,
                          bool *captured) {
    bool theirs = false, ours = false;
    acu_guard guard;
    int code = acu_guard_enter(&guard, timeline->device);
    if (!code && !timeline->closed)
        code = ask_capturing(acu_timeline_raw(timeline), &theirs);
    acu_guard_leave(&guard);
    if (!code)
        code = ask_capturing(stream, &ours);
    bool before = !ours && number <= timeline->marked;
    *captured = theirs && !before;
    if (code || theirs == ours || (theirs && (number == ACU_EVERYTHING || before)))
        return code;
    return acu_record(ACU_ERROR_CAPTURE, "%s",
                      ours ? "the stream is being captured, and cannot wait for what another "
                             "stream did before the capture"
                           : "what the stream must wait for is being captured on another stream");
}

/* Lets the stream wait for an event of the capture, so that it joins the capture. The mark cannot
 * be that event, because it stands for what came before the capture. */
static int wait_for_captured(acu_timeline *timeline, acu_stream *stream) {
    cudaEvent_t event = NULL;
    acu_guard guard;
    int code = acu_guard_enter(&guard, timeline->device);
    if (!code)
        code = (int)cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    if (!code)
        code = (int)cudaEventRecord(event, acu_timeline_raw(timeline));
    acu_guard_leave(&guard);
    if (!code)
        code = (int)cudaStreamWaitEvent(stream->raw, event, 0);
    if (!code)
        acu_mark_shared(&stream->shared);
    if (event && cudaEventDestroy(event))
        acu_record_release_error();
    return code;
}

static int join_capture(acu_timeline *timeline, acu_stream *stream) {
    const bool joined = acu_capture_join(acu_timeline_capture(timeline), stream);
    int code = wait_for_captured(timeline, stream);
    if (code && joined)
        acu_capture_leave(stream);
    return code;
}

static int wait_locked(acu_timeline *timeline, uint64_t number, acu_stream *stream) {
    bool captured = false;
    if (number <= timeline->done)
        return 0;
    if (timeline->unmarked) /* there is nothing that the stream could wait for */
        return acu_timeline_finish(timeline);
    int code = check_captures(timeline, stream->raw, number, &captured);
    if (!code && captured)
        return join_capture(timeline, stream);
    if (!code && !timeline->closed && timeline->marked < number)
        code = acu_timeline_record_mark(timeline);
    if (!code && timeline->mark)
        code = (int)cudaStreamWaitEvent(stream->raw, timeline->mark, 0);
    return code;
}

int acu_timeline_wait(acu_timeline *timeline, uint64_t number, acu_stream *stream) {
    acu_guard guard;
    if (timeline == stream->timeline)
        return 0;
    int code = acu_stream_enter(stream, &guard);
    if (!code && number == ACU_EVERYTHING && acu_timeline_capture(timeline))
        code = acu_timeline_mark(stream->timeline); /* before the stream joins the capture */
    if (!code) {
        pthread_mutex_lock(&timeline->lock);
        code = wait_locked(timeline, number, stream);
        pthread_mutex_unlock(&timeline->lock);
    }
    acu_guard_leave(&guard);
    acu_capture *capture = acu_capture_of(stream);
    if (!code && capture && capture->id == acu_timeline_capture(timeline))
        acu_capture_order_waited(&capture->order, stream, timeline);
    return code;
}

int acu_timeline_wait_captured(acu_timeline *timeline, acu_stream *stream) {
    acu_guard guard;
    if (timeline->per_thread && timeline->thread != acu_thread_id())
        return acu_record(ACU_ERROR_CAPTURE,
                          "the memory was used on the default stream of another thread, which this "
                          "thread cannot wait for in a capture");
    int code = acu_stream_enter(stream, &guard);
    if (!code)
        code = wait_for_captured(timeline, stream);
    acu_guard_leave(&guard);
    return code;
}

/* ---- the thread waits ---- */

bool acu_timeline_was_finished(int code) {
    return code == 0 || acu_status_is_lost();
}

/* Waiting for a device breaks any capture there, so that none may begin meanwhile. */
static int wait_for_device(int device) {
    int code = acu_capture_begin_device_wait(device);
    if (code)
        return code;
    code = (int)cudaDeviceSynchronize();
    acu_capture_end_device_wait(device);
    return code;
}

int acu_timeline_finish(acu_timeline *timeline) {
    const uint64_t now = acu_timeline_now(timeline);
    acu_guard guard;
    int code = acu_capture_check();
    if (!code && !timeline->closed && acu_timeline_capture(timeline))
        code = acu_record(ACU_ERROR_CAPTURE, "what the thread must wait for is being captured");
    if (code)
        return code;
    code = acu_guard_enter(&guard, timeline->device);
    const int mode = acu_thread_ignore_captures();
    if (!code)
        code = timeline->closed ? wait_for_device(timeline->device)
                                : (int)cudaStreamSynchronize(acu_timeline_raw(timeline));
    acu_thread_restore(mode);
    acu_guard_leave(&guard);
    if (code)
        return code;
    timeline->done = now;
    timeline->unmarked = false;
    return 0;
}

/* The thread waits without the lock, because what it waits for may need it. */
static int wait_for_mark(acu_timeline *timeline, uint64_t number) {
    bool captured = false;
    pthread_mutex_lock(&timeline->lock);
    bool over = number <= timeline->done;
    int code = over || timeline->closed ? 0 : ask_capturing(acu_timeline_raw(timeline), &captured);
    if (!code && captured && timeline->marked < number)
        code = acu_record(ACU_ERROR_CAPTURE, "what the thread must wait for is being captured");
    if (!code && !over && !timeline->closed && timeline->marked < number)
        code = acu_timeline_record_mark(timeline);
    if (!code && !over && timeline->unmarked)
        code = acu_timeline_finish(timeline);
    cudaEvent_t mark = over ? NULL : timeline->mark;
    pthread_mutex_unlock(&timeline->lock);
    if (!code && mark)
        code = acu_capture_check();
    if (code || !mark)
        return code;
    int mode = acu_thread_ignore_captures();
    code = (int)cudaEventSynchronize(mark);
    acu_thread_restore(mode);
    return code;
}

/* What failed on the way is nobody's error where the thread has waited in the end. */
int acu_timeline_synchronize(acu_timeline *timeline, uint64_t number) {
    acu_saved_record before;
    acu_record_save(&before);
    int code = wait_for_mark(timeline, number);
    if (code == 0 || code == ACU_ERROR_CAPTURE || acu_timeline_was_finished(code))
        return code;
    pthread_mutex_lock(&timeline->lock);
    code = acu_timeline_finish(timeline);
    pthread_mutex_unlock(&timeline->lock);
    if (!code)
        acu_record_restore(&before);
    return code;
}

/* ---- the thread asks ---- */

/* Asks the stream. If that has more to do, a mark is recorded for the next time. */
static int ask_stream(acu_timeline *timeline, bool *over) {
    bool captured = false;
    int code = ask_capturing(acu_timeline_raw(timeline), &captured);
    *over = !captured;
    if (code || captured)
        return code;
    uint64_t now = acu_timeline_now(timeline);
    code = (int)cudaStreamQuery(acu_timeline_raw(timeline));
    *over = code != cudaErrorNotReady;
    if (!*over)
        code = acu_timeline_record_mark(timeline);
    else if (!code)
        timeline->done = now;
    return code;
}

static int ask_mark(const acu_timeline *timeline, bool *over) {
    int code = timeline->mark ? (int)cudaEventQuery(timeline->mark) : 0;
    *over = code != cudaErrorNotReady;
    return *over ? code : 0;
}

static int ask(acu_timeline *timeline, bool is_marked, bool *over) {
    acu_guard guard;
    int code = acu_guard_enter(&guard, timeline->device);
    if (!code)
        code = is_marked ? ask_mark(timeline, over) : ask_stream(timeline, over);
    acu_guard_leave(&guard);
    return code;
}

/* Lets the thread wait: for the mark if that is behind the work, because the stream itself may be
 * captured by now. Returns whether the work is over. */
static bool wait_until_over(acu_timeline *timeline, bool is_marked) {
    if (is_marked && timeline->mark && cudaEventSynchronize(timeline->mark) == cudaSuccess)
        return true;
    return acu_timeline_was_finished(acu_timeline_finish(timeline));
}

/* Where CUDA fails to answer, the thread waits: then the answer is true for certain. */
static bool is_over(acu_timeline *timeline, uint64_t number) {
    bool over = timeline->done >= number;
    if (over)
        return true;
    const bool is_marked = !timeline->unmarked && (timeline->closed || timeline->marked >= number);
    const int code = timeline->unmarked ? 0 : ask(timeline, is_marked, &over);
    if (timeline->unmarked || code)
        over = (code && acu_timeline_was_finished(code)) || wait_until_over(timeline, is_marked);
    acu_forget_not_ready();
    return over;
}

bool acu_timeline_is_over(acu_timeline *timeline, uint64_t number) {
    acu_saved_record before;
    if (acu_is_unloading())
        return true;
    if (acu_capture_delays(NULL))
        return false;
    acu_record_save(&before);
    int mode = acu_thread_ignore_captures();
    pthread_mutex_lock(&timeline->lock);
    bool over = is_over(timeline, number);
    pthread_mutex_unlock(&timeline->lock);
    acu_thread_restore(mode);
    acu_record_restore(&before);
    return over;
}
