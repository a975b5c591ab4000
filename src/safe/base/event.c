/* Events: how they are made, recorded, waited for and compared. */
#include "safe/base/event.h"
#include "safe/base/active_capture.h"
#include "safe/base/stream.h"

#define OUTCOME(event, code) acu_outcome(__func__, (event), (int)(code))

/* ---- life ---- */

static int destroy_event(acu_object *object) {
    acu_event *event = (acu_event *)object;
    if (!event->owned || acu_is_unloading())
        return 0;
    return acu_forgive_unloading((int)cudaEventDestroy(event->raw));
}

static void describe_event(const acu_object *object, acu_description *d) {
    const acu_event *event = (const acu_event *)object;
    acu_describe_name(d, &event->name);
    acu_describe(d, "%s %p", event->owned ? "raw" : "wrapped", (void *)event->raw);
    if (acu_has(event->flags, ACU_EVENT_BLOCKING_SYNC))
        acu_describe(d, "blocking");
    if (!event->timed)
        acu_describe(d, "without timing");
    if (acu_has(event->flags, ACU_EVENT_INTERPROCESS))
        acu_describe(d, "interprocess");
    if (!__atomic_load_n(&event->recorded, __ATOMIC_RELAXED))
        acu_describe(d, "never recorded");
}

const acu_class acu_event_class = {"event", destroy_event, describe_event, NULL};

static int new_event(const char *call, acu_device device, cudaEvent_t raw, bool owned, bool timed,
                     acu_event **out) {
    int code = acu_device_resolve(call, &device);
    if (code)
        return code;
    acu_event *event = acu_object_new(call, &acu_event_class, sizeof *event, device);
    if (!event)
        return ACU_ERROR_HOST_MEMORY;
    event->raw = raw;
    event->owned = owned;
    event->timed = timed;
    *out = event;
    return 0;
}

static int create_raw(acu_device device, unsigned flags, cudaEvent_t *raw) {
    acu_guard guard;
    int code = acu_guard_enter(&guard, device);
    if (!code)
        code = (int)cudaEventCreateWithFlags(raw, flags);
    acu_guard_leave(&guard);
    return code;
}

acu_result acu_event_create(acu_device device, const acu_event_options *options,
                            acu_event **event) {
    ACU_SCOPE();
    cudaEvent_t raw = NULL;
    unsigned flags = options ? options->flags : 0;
    ACU_NEED_POINTER(event);
    *event = NULL;
    ACU_REQUIRE(flags <=
                    ACU_EVENT_BLOCKING_SYNC + ACU_EVENT_DISABLE_TIMING + ACU_EVENT_INTERPROCESS,
                ACU_ERROR_ARGUMENT, "an event has no flags 0x%x", flags);
    ACU_REQUIRE(!acu_has(flags, ACU_EVENT_INTERPROCESS) || acu_has(flags, ACU_EVENT_DISABLE_TIMING),
                ACU_ERROR_ARGUMENT,
                "ACU_EVENT_INTERPROCESS needs ACU_EVENT_DISABLE_TIMING, because an event that "
                "processes share measures no time");
    acu_destroy_deferred();
    ACU_TRY(acu_device_resolve(__func__, &device));
    ACU_TRY(OUTCOME(NULL, create_raw(device, flags, &raw)));
    int code =
        new_event(__func__, device, raw, true, !acu_has(flags, ACU_EVENT_DISABLE_TIMING), event);
    if (code)
        (void)cudaEventDestroy(raw);
    else
        (*event)->flags = flags;
    return code;
}

static int new_event_of(const char *call, acu_device device, cudaEvent_t raw, bool owned,
                        acu_event **event) {
    if (event)
        *event = NULL;
    if (!event || !raw)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'%s' is NULL", event ? "raw" : "event");
    int code = new_event(call, device, raw, owned, true, event);
    if (!code)
        (*event)->recorded = (*event)->shared = true; /* others may have recorded it */
    return code;
}

acu_result acu_event_wrap(acu_device device, struct CUevent_st *raw, acu_event **event) {
    ACU_SCOPE();
    return new_event_of(__func__, device, raw, false, event);
}

acu_result acu_event_adopt(acu_device device, struct CUevent_st *raw, acu_event **event) {
    ACU_SCOPE();
    return new_event_of(__func__, device, raw, true, event);
}

struct CUevent_st *acu_event_raw(const acu_event *event) {
    if (!acu_is(event, &acu_event_class))
        return NULL;
    acu_mark_shared((bool *)&event->shared);
    return event->raw;
}

acu_event *acu_event_retain(acu_event *event) {
    return acu_object_retain(__func__, event, &acu_event_class);
}

acu_result acu_event_release(acu_event *event) {
    ACU_SCOPE();
    acu_destroy_deferred();
    return acu_object_release(__func__, event, &acu_event_class);
}

void acu_event_cleanup(acu_event **event) {
    (void)acu_event_release(acu_take(event));
}

size_t acu_event_describe(const acu_event *event, char *text, size_t size) {
    return acu_object_describe_as(event, &acu_event_class, text, size);
}

acu_device acu_event_device(const acu_event *event) {
    return acu_is(event, &acu_event_class) ? event->object.device : ACU_DEVICE_CURRENT;
}

acu_result acu_event_set_name(acu_event *event, const char *name) {
    ACU_SCOPE();
    ACU_NEED(event, acu_event_class);
    ACU_NEED_POINTER(name);
    acu_name_set(&event->name, name);
    if (acu_audience_listens())
        acu_audience_name(ACU_NAMED_EVENT, (uintptr_t)event->raw, name);
    return 0;
}

/* ---- use ---- */

#define NEED_SAME_DEVICE(event, stream)                                                            \
    ACU_REQUIRE_OF((event), (event)->object.device == (stream)->object.device, ACU_ERROR_DEVICE,   \
                   "the event belongs to device %d, the stream to device %d",                      \
                   (event)->object.device, (stream)->object.device)

acu_result acu_event_record(acu_event *event, acu_stream *stream) {
    ACU_SCOPE();
    acu_guard guard;
    ACU_NEED(event, acu_event_class);
    ACU_NEED_STREAM(stream);
    NEED_SAME_DEVICE(event, stream);
    int code = acu_stream_enter(stream, &guard);
    if (!code)
        code = (int)cudaEventRecord(event->raw, stream->raw);
    acu_guard_leave(&guard);
    if (!code) {
        uint64_t capture = __atomic_load_n(&stream->timeline->capture, __ATOMIC_ACQUIRE);
        __atomic_store_n(&event->capture, capture, __ATOMIC_RELEASE);
        __atomic_store_n(&event->recorded, true, __ATOMIC_RELAXED);
        if (acu_is_shared(&stream->shared))
            acu_mark_shared(&event->shared);
    }
    return OUTCOME(event, code);
}

acu_result acu_event_record_external(acu_event *event, acu_stream *stream) {
    ACU_SCOPE();
    acu_guard guard;
    ACU_NEED(event, acu_event_class);
    ACU_NEED_STREAM(stream);
    NEED_SAME_DEVICE(event, stream);
    int code = acu_stream_enter(stream, &guard);
    if (!code)
        code = acu_stream_capture_event(stream, &event->object);
    if (!code)
        code = (int)cudaEventRecordWithFlags(event->raw, stream->raw, cudaEventRecordExternal);
    acu_guard_leave(&guard);
    if (!code)
        acu_event_mark_recorded(event);
    return OUTCOME(stream, code);
}

/* Returns whether the event was recorded in a capture that is still active; a query would break
 * that. */
static bool is_captured(const acu_event *event) {
    uint64_t capture = __atomic_load_n(&event->capture, __ATOMIC_ACQUIRE);
    return capture && acu_capture_is_active(capture);
}

#define NEED_UNCAPTURED(event)                                                                     \
    do {                                                                                           \
        ACU_REQUIRE_OF((event), !is_captured(event), ACU_ERROR_CAPTURE,                            \
                       "the event stands for work that is being captured");                        \
        ACU_TRY(OUTCOME((event), acu_capture_check()));                                            \
    } while (0)

acu_result acu_event_query(acu_event *event) {
    ACU_SCOPE();
    ACU_NEED(event, acu_event_class);
    NEED_UNCAPTURED(event);
    int mode = acu_thread_ignore_captures();
    int code = (int)cudaEventQuery(event->raw);
    acu_thread_restore(mode);
    return acu_query_outcome(__func__, event, code);
}

acu_result acu_event_synchronize(acu_event *event) {
    ACU_SCOPE();
    ACU_NEED(event, acu_event_class);
    NEED_UNCAPTURED(event);
    int mode = acu_thread_ignore_captures();
    int code = (int)cudaEventSynchronize(event->raw);
    acu_thread_restore(mode);
    acu_destroy_deferred(); /* some of these objects were waiting for this work */
    return OUTCOME(event, code);
}

/* Returns why the event has no time; NULL if it has one, or may have. */
static const char *untimed(const acu_event *event) {
    if (!event->timed)
        return "was created without timing";
    return __atomic_load_n(&event->recorded, __ATOMIC_RELAXED) ? NULL : "was never recorded";
}

acu_result acu_event_get_elapsed_time(acu_event *start, acu_event *end, float *milliseconds) {
    ACU_SCOPE();
    ACU_NEED_POINTER(milliseconds);
    *milliseconds = 0;
    ACU_NEED(start, acu_event_class);
    ACU_NEED(end, acu_event_class);
    ACU_REQUIRE(start->object.device == end->object.device, ACU_ERROR_DEVICE,
                "the events belong to the devices %d and %d", start->object.device,
                end->object.device);
    const char *first = untimed(start), *second = untimed(end);
    ACU_REQUIRE_OF(start, !first, ACU_ERROR_STATE, "the first event %s", first);
    ACU_REQUIRE_OF(end, !second, ACU_ERROR_STATE, "the second event %s", second);
    int code = (int)cudaEventElapsedTime(milliseconds, start->raw, end->raw);
    return acu_query_outcome(__func__, end, code);
}
