/* Streams, and the timelines by which others wait for them. */
#include "safe/base/stream.h"
#include "safe/base/event.h"
#include "safe/memory/storage.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

static_assert(ACU_STREAM_NON_BLOCKING == cudaStreamNonBlocking, "");
static_assert((int)ACU_SYNC_AUTO == (int)cudaSyncPolicyAuto, "");
static_assert((int)ACU_SYNC_BLOCK == (int)cudaSyncPolicyBlockingSync, "");

#define OUTCOME(stream, code) acu_outcome(__func__, (stream), (int)(code))

/* Runs a call on the stream, and returns from the public function. */
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

/* ---- timelines ---------------------------------------------------------------------------------
 */

static acu_timeline *timeline_new(int device, cudaStream_t raw) {
    acu_timeline *timeline = acu_object_alloc(sizeof *timeline);
    if (!timeline)
        return NULL;
    *timeline = (acu_timeline){.references = 1,
                               .device = device,
                               .per_thread = raw == cudaStreamPerThread,
                               .thread = pthread_self(),
                               .raw = raw};
    pthread_mutex_init(&timeline->lock, NULL);
    return timeline;
}

int acu_timeline_release(acu_timeline *timeline) {
    if (!timeline || __atomic_sub_fetch(&timeline->references, 1, __ATOMIC_ACQ_REL) > 0)
        return 0;
    int code = 0;
    if (timeline->mark && !acu_is_unloading())
        code = acu_forgive_unloading((int)cudaEventDestroy(timeline->mark));
    pthread_mutex_destroy(&timeline->lock);
    free(timeline);
    return code;
}

/*
 * Another thread's default stream has no name here; but it is a blocking stream, so the legacy
 * stream comes after it.
 */
static cudaStream_t raw_here(const acu_timeline *timeline) {
    bool foreign = timeline->per_thread && !pthread_equal(timeline->thread, pthread_self());
    return foreign ? cudaStreamLegacy : timeline->raw;
}

static int capturing(cudaStream_t raw, bool *answer) {
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    int code = (int)cudaStreamIsCapturing(raw, &status);
    *answer = status != cudaStreamCaptureStatusNone;
    return code;
}

static uint64_t capture_of(const acu_timeline *timeline) {
    return __atomic_load_n(&timeline->capture, __ATOMIC_ACQUIRE);
}

/* The event belongs to the timeline's device, and so does its default stream. */
static int record_mark(acu_timeline *timeline) {
    acu_guard guard;
    int code = acu_guard_enter(&guard, timeline->device);
    if (!code && !timeline->mark)
        code = (int)cudaEventCreateWithFlags(&timeline->mark, cudaEventDisableTiming);
    uint64_t now = acu_timeline_now(timeline);
    if (!code)
        code = (int)cudaEventRecord(timeline->mark, raw_here(timeline));
    if (!code)
        timeline->marked = now;
    acu_guard_leave(&guard);
    return code;
}

int acu_timeline_mark(acu_timeline *timeline) {
    bool captured = false;
    pthread_mutex_lock(&timeline->lock);
    uint64_t now = acu_timeline_now(timeline);
    int code = 0;
    if (timeline->marked < now && timeline->done < now)
        code = capturing(raw_here(timeline), &captured);
    if (!code && !captured && timeline->marked < now && timeline->done < now)
        code = record_mark(timeline);
    pthread_mutex_unlock(&timeline->lock);
    return code;
}

/*
 * An event from outside breaks a capture. One of a capture brings the stream that waits for it in,
 * which is what the user wants who names the other stream, and not where memory has been used there
 * before: what was marked then can be waited for all the same.
 */
static int check_captures(acu_timeline *timeline, cudaStream_t by, uint64_t number,
                          bool *captured) {
    bool theirs = false, ours = false;
    acu_guard guard;
    int code = acu_guard_enter(&guard, timeline->device);
    if (!code && !timeline->closed)
        code = capturing(raw_here(timeline), &theirs);
    acu_guard_leave(&guard);
    if (!code)
        code = capturing(by, &ours);
    bool before = !ours && number <= timeline->marked;
    *captured = theirs && !before;
    if (code || theirs == ours || (theirs && (number == ACU_EVERYTHING || before)))
        return code;
    return acu_record(ACU_ERROR_CAPTURE, "%s",
                      ours
                          ? "what must be waited for was done before the capture, on another stream"
                          : "what must be waited for is being captured, on another stream");
}

/* By an event of its own: what the mark stands for was before the capture. */
static int join_capture(acu_timeline *timeline, acu_stream *by) {
    cudaEvent_t event = NULL;
    acu_guard guard;
    int code = acu_guard_enter(&guard, timeline->device);
    if (!code)
        code = (int)cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    if (!code)
        code = (int)cudaEventRecord(event, raw_here(timeline));
    acu_guard_leave(&guard);
    if (!code)
        code = (int)cudaStreamWaitEvent(by->raw, event, 0);
    if (!code)
        acu_mark_shared(&by->shared);
    if (event && cudaEventDestroy(event))
        acu_record_release_error();
    return code;
}

static int wait_locked(acu_timeline *timeline, uint64_t number, acu_stream *by, bool *captured) {
    if (number <= timeline->done)
        return 0;
    int code = check_captures(timeline, by->raw, number, captured);
    if (!code && *captured)
        return join_capture(timeline, by);
    if (!code && !timeline->closed && timeline->marked < number)
        code = record_mark(timeline);
    if (!code && timeline->mark)
        code = (int)cudaStreamWaitEvent(by->raw, timeline->mark, 0);
    return code;
}

int acu_timeline_wait(acu_timeline *timeline, uint64_t number, acu_stream *by) {
    acu_guard guard;
    bool captured = false;
    if (timeline == by->timeline)
        return 0;
    int code = acu_stream_enter(by, &guard);
    if (!code && number == ACU_EVERYTHING && capture_of(timeline))
        code = acu_timeline_mark(by->timeline); /* before it is captured, too */
    if (!code) {
        pthread_mutex_lock(&timeline->lock);
        code = wait_locked(timeline, number, by, &captured);
        pthread_mutex_unlock(&timeline->lock);
    }
    if (!code && captured)
        acu_stream_came_after(by, capture_of(timeline));
    acu_guard_leave(&guard);
    return code;
}

int acu_timeline_synchronize(acu_timeline *timeline, uint64_t number) {
    bool captured = false;
    pthread_mutex_lock(&timeline->lock);
    bool over = number <= timeline->done;
    int code = over || timeline->closed ? 0 : capturing(raw_here(timeline), &captured);
    if (!code && captured && timeline->marked < number)
        code = acu_record(ACU_ERROR_CAPTURE, "what must be waited for is being captured");
    if (!code && !over && !timeline->closed && timeline->marked < number)
        code = record_mark(timeline);
    cudaEvent_t mark = over ? NULL : timeline->mark;
    pthread_mutex_unlock(&timeline->lock);
    if (!code && mark)
        code = acu_capture_check();
    return code || !mark ? code : (int)cudaEventSynchronize(mark);
}

/* Of a stream that has more to do, a mark tells it next time. */
static int ask_stream(acu_timeline *timeline, bool *over) {
    bool captured = false;
    int code = capturing(raw_here(timeline), &captured);
    *over = !captured;
    if (code || captured)
        return code;
    uint64_t now = acu_timeline_now(timeline);
    code = (int)cudaStreamQuery(raw_here(timeline));
    *over = code != cudaErrorNotReady;
    if (!*over)
        code = record_mark(timeline);
    else if (!code)
        timeline->done = now;
    return code;
}

static int ask_mark(const acu_timeline *timeline, bool *over) {
    int code = timeline->mark ? (int)cudaEventQuery(timeline->mark) : 0;
    *over = code != cudaErrorNotReady;
    return *over ? code : 0;
}

/* Where it cannot be asked, the thread waits rather than be wrong. */
static bool is_over(acu_timeline *timeline, uint64_t number) {
    acu_guard guard;
    bool over = timeline->done >= number;
    if (over)
        return true;
    int code = acu_guard_enter(&guard, timeline->device);
    if (!code)
        code = timeline->closed || timeline->marked >= number ? ask_mark(timeline, &over)
                                                              : ask_stream(timeline, &over);
    if (code) {
        over = true;
        (void)(timeline->closed ? cudaEventSynchronize(timeline->mark)
                                : cudaStreamSynchronize(raw_here(timeline)));
    }
    acu_guard_leave(&guard);
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
    pthread_mutex_lock(&timeline->lock);
    bool over = is_over(timeline, number);
    pthread_mutex_unlock(&timeline->lock);
    acu_record_restore(&before);
    return over;
}

/* The stream dies: who still has to wait for it finds the mark, or else that all is done. */
static int close_timeline(acu_timeline *timeline) {
    int code = 0;
    pthread_mutex_lock(&timeline->lock);
    bool wanted = __atomic_load_n(&timeline->references, __ATOMIC_ACQUIRE) > 1;
    if (wanted && !acu_is_unloading()) {
        code = acu_forgive_unloading(record_mark(timeline));
        if (code && !acu_is_unloading())
            (void)cudaStreamSynchronize(raw_here(timeline));
    }
    timeline->closed = true;
    pthread_mutex_unlock(&timeline->lock);
    return code;
}

/* ---- life --------------------------------------------------------------------------------------
 */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the list of all */
static acu_stream *all;

static void enlist(acu_stream *stream) {
    pthread_mutex_lock(&lock);
    stream->next = all;
    stream->link = &all;
    if (all)
        all->link = &stream->next;
    all = stream;
    pthread_mutex_unlock(&lock);
}

static void strike(acu_stream *stream) {
    pthread_mutex_lock(&lock);
    *stream->link = stream->next;
    if (stream->next)
        stream->next->link = stream->link;
    pthread_mutex_unlock(&lock);
}

int acu_stream_count_spares(int device) {
    int spares = 0;
    pthread_mutex_lock(&lock);
    for (const acu_stream *s = all; s; s = s->next)
        spares += s->object.device == device &&
                  acu_is_spare(__atomic_load_n(&s->spare, __ATOMIC_RELAXED));
    pthread_mutex_unlock(&lock);
    return spares;
}

static int destroy_stream(acu_object *object) {
    acu_stream *stream = (acu_stream *)object;
    strike(stream);
    acu_capture *capture = acu_capture_of(stream);
    if (capture && capture->origin == stream)
        capture->abandon(capture);
    int code = close_timeline(stream->timeline), last = 0;
    if (stream->owned && !acu_is_unloading())
        last = acu_forgive_unloading((int)cudaStreamDestroy(stream->raw));
    acu_stream_abandon_calls(object->device);
    int freed = acu_timeline_release(stream->timeline);
    return last ? last : code ? code : freed;
}

static void describe_stream(const acu_object *object, char *text, size_t size) {
    const acu_stream *stream = (const acu_stream *)object;
    if (stream->raw == cudaStreamLegacy)
        snprintf(text, size, " (the legacy default stream)");
    else if (stream->raw == cudaStreamPerThread)
        snprintf(text, size, " (the thread's default stream)");
    else if (!stream->owned)
        snprintf(text, size, " (%p of someone else)", (void *)stream->raw);
}

const acu_class acu_stream_class = {"stream", destroy_stream, describe_stream};

static int new_stream(const char *call, acu_device device, cudaStream_t raw, bool owned,
                      acu_stream **out) {
    int code = acu_device_resolve(call, &device);
    if (code)
        return code;
    acu_timeline *timeline = timeline_new(device, raw);
    acu_stream *stream =
        timeline ? acu_object_new(call, &acu_stream_class, sizeof *stream, device) : NULL;
    if (!stream) {
        free(timeline);
        return acu_fail(call, "", ACU_ERROR_HOST_MEMORY, "no memory for a stream");
    }
    stream->timeline = timeline;
    stream->raw = raw;
    stream->owned = owned;
    stream->is_default = raw == cudaStreamLegacy || raw == cudaStreamPerThread;
    stream->shared = !owned;
    enlist(stream);
    *out = stream;
    return 0;
}

/* Made before the handle that will hold it, so that a failure leaves nothing behind. */
static int create_raw(acu_device device, const acu_stream_options *options, cudaStream_t *raw) {
    acu_guard guard;
    int code = acu_guard_enter(&guard, device);
    if (!code)
        code = (int)cudaStreamCreateWithPriority(raw, options->flags, options->priority);
    acu_guard_leave(&guard);
    return code;
}

acu_result acu_stream_create(acu_device device, const acu_stream_options *options,
                             acu_stream **stream) {
    static const acu_stream_options none;
    cudaStream_t raw = NULL;
    ACU_NEED_POINTER(stream);
    *stream = NULL;
    ACU_REQUIRE(!options || !(options->flags & ~(unsigned)ACU_STREAM_NON_BLOCKING),
                ACU_ERROR_ARGUMENT, "a stream has no flags 0x%x", options->flags);
    acu_destroy_deferred();
    ACU_TRY(acu_device_resolve(__func__, &device));
    ACU_TRY(OUTCOME(NULL, create_raw(device, options ? options : &none, &raw)));
    int code = new_stream(__func__, device, raw, true, stream);
    if (code)
        (void)cudaStreamDestroy(raw);
    return code;
}

acu_result acu_stream_get_legacy(acu_device device, acu_stream **stream) {
    ACU_NEED_POINTER(stream);
    *stream = NULL;
    return new_stream(__func__, device, cudaStreamLegacy, false, stream);
}

acu_result acu_stream_get_per_thread(acu_device device, acu_stream **stream) {
    ACU_NEED_POINTER(stream);
    *stream = NULL;
    return new_stream(__func__, device, cudaStreamPerThread, false, stream);
}

acu_result acu_stream_wrap(acu_device device, struct CUstream_st *raw, acu_stream **stream) {
    ACU_NEED_POINTER(stream);
    *stream = NULL;
    return new_stream(__func__, device, raw ? raw : cudaStreamLegacy, false, stream);
}

acu_result acu_stream_adopt(acu_device device, struct CUstream_st *raw, acu_stream **stream) {
    ACU_NEED_POINTER(stream);
    *stream = NULL;
    ACU_REQUIRE(raw && raw != cudaStreamLegacy && raw != cudaStreamPerThread, ACU_ERROR_ARGUMENT,
                "a default stream cannot be taken over");
    int code = new_stream(__func__, device, raw, true, stream);
    if (!code)
        acu_mark_shared(&(*stream)->shared);
    return code;
}

struct CUstream_st *acu_stream_raw(const acu_stream *stream) {
    if (!acu_is(stream, &acu_stream_class))
        return NULL;
    acu_mark_shared((bool *)&stream->shared);
    return stream->raw;
}

acu_stream *acu_stream_retain(acu_stream *stream) {
    return acu_object_retain(__func__, stream, &acu_stream_class);
}

static void drop_spare(acu_stream *stream) {
    acu_storage *spare = __atomic_exchange_n(&stream->spare, ACU_NO_MORE_SPARES, __ATOMIC_ACQ_REL);
    if (!acu_is_spare(spare))
        return;
    acu_object_count_down(spare->first.object.device);
    acu_object_free(&spare->object);
    (void)acu_object_release(NULL, stream, &acu_stream_class); /* not the last owner */
}

acu_result acu_stream_release(acu_stream *stream) {
    acu_destroy_deferred();
    if (acu_is(stream, &acu_stream_class))
        drop_spare(stream);
    return acu_object_release(__func__, stream, &acu_stream_class);
}

void acu_stream_cleanup(acu_stream **stream) {
    (void)acu_stream_release(stream ? *stream : NULL);
}

/* ---- what it is --------------------------------------------------------------------------------
 */

acu_device acu_stream_device(const acu_stream *stream) {
    return acu_is(stream, &acu_stream_class) ? stream->object.device : ACU_DEVICE_CURRENT;
}

acu_result acu_stream_get_flags(acu_stream *stream, unsigned *flags) {
    ACU_NEED_POINTER(flags);
    ON_STREAM(stream, cudaStreamGetFlags(stream->raw, flags));
}

acu_result acu_stream_get_priority(acu_stream *stream, int *priority) {
    ACU_NEED_POINTER(priority);
    ON_STREAM(stream, cudaStreamGetPriority(stream->raw, priority));
}

acu_result acu_stream_get_id(acu_stream *stream, uint64_t *id) {
    unsigned long long number = 0;
    ACU_NEED_POINTER(id);
    *id = 0;
    ACU_NEED_STREAM(stream);
    ACU_TRY(OUTCOME(stream, cudaStreamGetId(stream->raw, &number)));
    *id = number;
    return 0;
}

acu_result acu_stream_get_sync_policy(acu_stream *stream, acu_sync_policy *policy) {
    cudaLaunchAttributeValue value = {{0}};
    ACU_NEED_POINTER(policy);
    ACU_NEED_STREAM(stream);
    ACU_TRY(OUTCOME(stream, cudaStreamGetAttribute(
                                stream->raw, cudaLaunchAttributeSynchronizationPolicy, &value)));
    *policy = (acu_sync_policy)value.syncPolicy;
    return 0;
}

acu_result acu_stream_set_sync_policy(acu_stream *stream, acu_sync_policy policy) {
    ACU_REQUIRE(policy >= ACU_SYNC_AUTO && policy <= ACU_SYNC_BLOCK, ACU_ERROR_ARGUMENT,
                "there is no policy %d", (int)policy);
    cudaLaunchAttributeValue value = {.syncPolicy = (enum cudaSynchronizationPolicy)policy};
    ON_STREAM(stream, cudaStreamSetAttribute(stream->raw, cudaLaunchAttributeSynchronizationPolicy,
                                             &value));
}

acu_result acu_stream_set_access_window(acu_stream *stream, const acu_access_window *window) {
    static const acu_access_window none;
    const acu_access_window *w = window ? window : &none;
    cudaLaunchAttributeValue value = {
        .accessPolicyWindow = {.base_ptr = w->pointer,
                               .num_bytes = w->bytes,
                               .hitRatio = w->hit_ratio,
                               .hitProp = (enum cudaAccessProperty)w->hit,
                               .missProp = (enum cudaAccessProperty)w->miss}};
    ON_STREAM(stream,
              cudaStreamSetAttribute(stream->raw, cudaLaunchAttributeAccessPolicyWindow, &value));
}

acu_result acu_stream_copy_attributes(acu_stream *to, acu_stream *from) {
    ACU_NEED_STREAM(from);
    ON_STREAM(to, cudaStreamCopyAttributes(to->raw, from->raw));
}

/* ---- waiting -----------------------------------------------------------------------------------
 */

static int query_capture(const acu_stream *stream, enum cudaStreamCaptureStatus *status) {
    acu_guard guard;
    int code = acu_stream_enter(stream, &guard);
    if (!code)
        code = (int)cudaStreamIsCapturing(stream->raw, status);
    acu_guard_leave(&guard);
    return code;
}

int acu_stream_refuse(const char *call, const acu_stream *stream) {
    if (!acu_is(stream, &acu_stream_class))
        return acu_object_refuse(call, stream, &acu_stream_class);
    return acu_fail_on(call, stream, ACU_ERROR_STATE,
                       "this is the default stream of another thread");
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

acu_result acu_stream_is_capturing(acu_stream *stream, bool *capturing) {
    ACU_NEED_POINTER(capturing);
    *capturing = false;
    ACU_NEED_STREAM(stream);
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    int code = query_capture(stream, &status);
    *capturing = status == cudaStreamCaptureStatusActive;
    return OUTCOME(stream, code);
}

void acu_forget_not_ready(void) {
    if (cudaPeekAtLastError() == cudaErrorNotReady)
        (void)cudaGetLastError();
}

acu_result acu_stream_query(acu_stream *stream) {
    acu_guard guard;
    ACU_NEED_STREAM(stream);
    int code = acu_stream_enter(stream, &guard);
    if (!code)
        code = acu_stream_check_wait(stream);
    if (!code)
        code = (int)cudaStreamQuery(stream->raw);
    acu_guard_leave(&guard);
    if (code == ACU_NOT_READY) {
        acu_forget_not_ready();
        return code;
    }
    return OUTCOME(stream, code);
}

/* Nobody need wait for that any more. */
static void is_done(acu_timeline *timeline, uint64_t number) {
    pthread_mutex_lock(&timeline->lock);
    if (timeline->done < number)
        timeline->done = number;
    pthread_mutex_unlock(&timeline->lock);
}

static int synchronize(acu_stream *stream) {
    const uint64_t now = acu_timeline_now(stream->timeline);
    int code = acu_stream_check_wait(stream);
    if (!code)
        code = (int)cudaStreamSynchronize(stream->raw);
    if (!code)
        is_done(stream->timeline, now);
    acu_destroy_deferred(); /* what waited for this */
    return code;
}

acu_result acu_stream_synchronize(acu_stream *stream) {
    ON_STREAM(stream, synchronize(stream));
}

static int wait_for_event(acu_stream *stream, const acu_event *event) {
    const uint64_t capture = __atomic_load_n(&event->capture, __ATOMIC_ACQUIRE);
    int code = capture ? acu_timeline_mark(stream->timeline) : 0; /* before it is captured, too */
    if (!code)
        code = (int)cudaStreamWaitEvent(stream->raw, event->raw, 0);
    if (!code)
        acu_stream_came_after(stream, capture);
    if (acu_is_shared(&event->shared))
        acu_mark_shared(&stream->shared);
    return code;
}

acu_result acu_stream_wait_event(acu_stream *stream, acu_event *event) {
    ACU_NEED(event, acu_event_class);
    ON_STREAM(stream, wait_for_event(stream, event));
}

int acu_stream_capture_event(acu_stream *stream, acu_object *event) {
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    acu_capture *capture = acu_capture_of(stream);
    if (capture)
        return capture->use(capture, event, false);
    int code = acu_is_shared(&stream->shared) ? query_capture(stream, &status) : 0;
    if (code || status != cudaStreamCaptureStatusNone)
        return code;
    acu_record(ACU_ERROR_STATE, "the stream is not being captured, and so makes no nodes");
    return ACU_ERROR_STATE;
}

static int wait_externally(acu_stream *stream, acu_event *event) {
    int code = acu_stream_capture_event(stream, &event->object);
    return code ? code : (int)cudaStreamWaitEvent(stream->raw, event->raw, cudaEventWaitExternal);
}

acu_result acu_stream_wait_event_external(acu_stream *stream, acu_event *event) {
    ACU_NEED(event, acu_event_class);
    ON_STREAM(stream, wait_externally(stream, event));
}

acu_result acu_stream_wait_stream(acu_stream *stream, acu_stream *other) {
    ACU_NEED_STREAM(stream);
    ACU_NEED_STREAM(other);
    return OUTCOME(stream, acu_timeline_wait(other->timeline, ACU_EVERYTHING, stream));
}

acu_result acu_stream_fork(acu_stream *from, acu_stream *const *streams, size_t count) {
    ACU_NEED_STREAM(from);
    ACU_REQUIRE(streams || count == 0, ACU_ERROR_ARGUMENT, "'streams' is NULL");
    for (size_t i = 0; i < count; i++) {
        ACU_NEED_STREAM(streams[i]);
        ACU_TRY(OUTCOME(streams[i], acu_timeline_wait(from->timeline, ACU_EVERYTHING, streams[i])));
    }
    return 0;
}

acu_result acu_stream_join(acu_stream *into, acu_stream *const *streams, size_t count) {
    ACU_NEED_STREAM(into);
    ACU_REQUIRE(streams || count == 0, ACU_ERROR_ARGUMENT, "'streams' is NULL");
    for (size_t i = 0; i < count; i++) {
        ACU_NEED_STREAM(streams[i]);
        ACU_TRY(OUTCOME(into, acu_timeline_wait(streams[i]->timeline, ACU_EVERYTHING, into)));
    }
    return 0;
}
