/* Events. An event refers to the operation that recorded it last, and is done when that is. */
#include "sim/stream/event.h"

#include "sim/caller.h"
#include "sim/device/context.h"
#include "sim/device/device.h"
#include "sim/device/need.h"
#include "sim/noun.h"
#include "sim/set.h"
#include "sim/stream/capture.h"
#include "sim/stream/op.h"
#include "sim/stream/schedule.h"
#include "sim/stream/shared_event.h"
#include "sim/stream/stream.h"

#include <stdlib.h>

static acu_sim_event *events;
static acu_sim_set handles;

void acu_sim_event_release(acu_sim_event *event) {
    if (--event->refs)
        return;
    acu_sim_capture_forget_event(event);
    acu_sim_op_release(event->record);
    acu_sim_shared_event_release(event->shared);
    free(event);
}

/* Takes an event back from the program; nodes may still have references. */
static void free_event(acu_sim_event *event) {
    if (event->before)
        event->before->next = event->next;
    else
        events = event->next;
    if (event->next)
        event->next->before = event->before;
    acu_sim_set_remove(&handles, event);
    acu_sim_event_release(event);
}

static acu_sim_event *new_event(acu_sim_device *device, unsigned flags, const void *where) {
    acu_sim_event *event = calloc(1, sizeof *event);
    if (!event || !acu_sim_set_add(&handles, event)) {
        free(event);
        return NULL;
    }
    *event = (acu_sim_event){
        .device = device, .refs = 1, .flags = flags, .where = where, .next = events};
    event->context = acu_sim_context_now();
    if (events)
        events->before = event;
    events = event;
    return event;
}

acu_sim_event *acu_sim_event_of(cudaEvent_t handle) {
    acu_sim_event *event = (acu_sim_event *)(void *)handle;
    return acu_sim_set_has(&handles, event) ? event : NULL;
}

static void reset_device(acu_sim_device *device) {
    acu_sim_event *next;
    for (acu_sim_event *e = events; e; e = next) {
        next = e->next;
        if (e->device == device)
            free_event(e);
    }
}

static void drop_context(acu_sim_context *context) {
    acu_sim_event *next;
    for (acu_sim_event *e = events; e; e = next) {
        next = e->next;
        if (e->context == context)
            free_event(e);
    }
}

static int leaks(int print) {
    int count = 0;
    for (const acu_sim_event *e = events; e; e = e->next, count++)
        if (print)
            acu_sim_caller_report("event", e, 0, e->where);
    return count;
}

const acu_sim_noun acu_sim_event_noun = {
    .reset_device = reset_device, .drop_context = drop_context, .leaks = leaks};

/* ---- the API ---- */

static bool are_valid_flags(unsigned flags) {
    const unsigned known = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
    return !(flags & ~known) &&
           (!(flags & cudaEventInterprocess) || flags & cudaEventDisableTiming);
}

cudaError_t acu_sim_cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags) {
    if (!event)
        return SIM_REFUSE(cudaErrorInvalidValue, "there is no place for the event: it is NULL");
    if (!are_valid_flags(flags))
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the flags are 0x%x: there are cudaEventBlockingSync (1), "
                          "cudaEventDisableTiming (2), and with that cudaEventInterprocess (4)",
                          flags);
    acu_sim_event *made = new_event(acu_sim_device_now(), flags, SIM_CALLER);
    if (!made)
        return cudaErrorMemoryAllocation;
    if (flags & cudaEventInterprocess && !(made->shared = acu_sim_shared_event_new(made->device))) {
        free_event(made);
        return cudaErrorMemoryAllocation;
    }
    *event = (cudaEvent_t)(void *)made;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaEventCreate(cudaEvent_t *event) {
    return acu_sim_cudaEventCreateWithFlags(event, cudaEventDefault);
}

/* Returns an error unless the host may wait for an event, or ask whether it is done. An event that
 * was recorded in a capture is refused, and makes the capture invalid. */
static cudaError_t validate_host_use(const acu_sim_event *event) {
    return event->capture ? acu_sim_capture_refuse(event->capture, false)
                          : acu_sim_capture_allows_unsafe();
}

static cudaError_t refuse_handle(cudaEvent_t handle) {
    return SIM_REFUSE(cudaErrorInvalidResourceHandle,
                      "%p is no event: it was destroyed, or never created", (void *)handle);
}

/* CUDA reports a handle that is no event before the fault of the context. */
static cudaError_t find(cudaEvent_t handle, acu_sim_event **event) {
    *event = acu_sim_event_of(handle);
    return *event ? acu_sim_require(SIM_NEEDS_CONTEXT) : refuse_handle(handle);
}

cudaError_t acu_sim_cudaEventDestroy(cudaEvent_t event) {
    acu_sim_event *e;
    SIM_TRY(find(event, &e));
    free_event(e);
    return cudaSuccess;
}

void acu_sim_event_mark(acu_sim_event *event, acu_sim_op *op) {
    acu_sim_capture_forget_event(event);
    op->refs++;
    acu_sim_op_release(event->record);
    event->record = op;
    if (!event->shared || op->records)
        return;
    acu_sim_shared_event_hold(event->shared);
    op->records = event->shared;
    op->record = acu_sim_shared_event_begin(event->shared);
}

static cudaError_t record(acu_sim_event *event, acu_sim_stream *stream) {
    acu_sim_op *op = acu_sim_op_new(cudaGraphNodeTypeEmpty, NULL);
    if (!op)
        return cudaErrorMemoryAllocation;
    acu_sim_event_mark(event, op);
    return acu_sim_stream_submit(stream, op, false);
}

static void drop_event(acu_sim_op *op) {
    acu_sim_event_release(op->with.event);
}

cudaError_t acu_sim_event_op(enum cudaGraphNodeType type, acu_sim_event *event, acu_sim_op **op) {
    if (!event)
        return cudaErrorInvalidValue;
    if (!(*op = acu_sim_op_new(type, NULL)))
        return cudaErrorMemoryAllocation;
    event->refs++;
    (*op)->with.event = event;
    (*op)->drop = drop_event;
    return cudaSuccess;
}

/* Returns whether the event was recorded in a capture that was ended or is invalid. */
static bool is_lost(const acu_sim_event *event) {
    return event && event->capture && event->capture->status != cudaStreamCaptureStatusActive;
}

static bool is_shared(const acu_sim_event *event) {
    return event->flags & cudaEventInterprocess;
}

/* Captures an external record or wait as a node; outside of a capture that is an error. */
static cudaError_t capture(enum cudaGraphNodeType type, acu_sim_event *event,
                           acu_sim_stream *stream) {
    acu_sim_op *op = NULL;
    if (!stream->capture)
        return SIM_REFUSE(cudaErrorIllegalState,
                          "the flag for external events is for captured streams only, and "
                          "stream %p is not being captured",
                          (void *)stream);
    SIM_TRY(acu_sim_event_op(type, event, &op));
    return acu_sim_capture_add(stream, op);
}

cudaError_t acu_sim_cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream,
                                             unsigned int flags) {
    acu_sim_event *e;
    acu_sim_stream *s;
    SIM_TRY(acu_sim_stream_of(stream, &s));
    SIM_TRY(acu_sim_capture_allows(s, SIM_ENQUEUES));
    SIM_TRY(find(event, &e));
    if (flags > cudaEventRecordExternal)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the flags are 0x%x: a record has cudaEventRecordExternal (1), or none",
                          flags);
    if (s->context != e->context)
        return SIM_REFUSE(cudaErrorInvalidResourceHandle,
                          "the event is of a context on device %d, and the stream of another on "
                          "device %d: record it on a stream of its own context",
                          e->device->index, s->device->index);
    if (s->capture && is_shared(e) && !flags) /* and the capture stays valid */
        return SIM_REFUSE(cudaErrorStreamCaptureUnsupported,
                          "an event made with cudaEventInterprocess is captured only with "
                          "cudaEventRecordExternal");
    if (flags)
        return capture(cudaGraphNodeTypeEventRecord, e, s);
    return s->capture ? acu_sim_capture_record(s, e) : record(e, s);
}

cudaError_t acu_sim_cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return acu_sim_cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

/* Returns whether the last record, which may be another process's, is not done. */
static bool is_pending(const acu_sim_event *event) {
    if (event->shared)
        return !acu_sim_shared_event_is_done(event->shared,
                                             acu_sim_shared_event_last(event->shared));
    return event->record && !event->record->done;
}

cudaError_t acu_sim_cudaEventQuery(cudaEvent_t event) {
    acu_sim_event *e;
    SIM_TRY(find(event, &e));
    SIM_TRY(e->device->sticky);
    SIM_TRY(validate_host_use(e));
    acu_sim_schedule_ask();
    e = acu_sim_event_of(event); /* another thread may have destroyed it: the lock was given up */
    if (!e)
        return cudaErrorInvalidResourceHandle;
    return is_pending(e) ? cudaErrorNotReady : cudaSuccess;
}

/* Waits for the last record. The lock is given up meanwhile, and the event may be destroyed. */
static void wait_for_record(const acu_sim_event *event) {
    acu_sim_shared_event *shared = event->shared;
    const uint64_t last = shared ? acu_sim_shared_event_last(shared) : 0;
    if (shared)
        acu_sim_shared_event_hold(shared);
    if (event->record && (!shared || event->record->record == last))
        acu_sim_op_wait(event->record);
    if (shared)
        acu_sim_shared_event_wait(shared, last);
    acu_sim_shared_event_release(shared);
}

cudaError_t acu_sim_cudaEventSynchronize(cudaEvent_t event) {
    acu_sim_event *e;
    SIM_TRY(find(event, &e));
    SIM_TRY(validate_host_use(e));
    const acu_sim_device *device = e->device; /* the event may be destroyed during the wait */
    wait_for_record(e);
    acu_sim_nouns_waited(true);
    return device->sticky;
}

/* Returns an error unless the event has a time, or will have one. */
static cudaError_t validate_timed(cudaEvent_t handle) {
    const acu_sim_event *event = acu_sim_event_of(handle);
    if (!event)
        return refuse_handle(handle);
    if (event->capture)
        return acu_sim_capture_refuse(event->capture, true);
    if (event->flags & cudaEventDisableTiming)
        return SIM_REFUSE(cudaErrorInvalidResourceHandle,
                          "event %p has no time, because it was created with "
                          "cudaEventDisableTiming",
                          (const void *)event);
    return event->record ? cudaSuccess
                         : SIM_REFUSE(cudaErrorInvalidResourceHandle, "event %p was never recorded",
                                      (const void *)event);
}

cudaError_t acu_sim_cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end) {
    const acu_sim_event *from = acu_sim_event_of(start), *to = acu_sim_event_of(end);
    if (!ms)
        return SIM_REFUSE(cudaErrorInvalidValue, "there is no place for the time: it is NULL");
    SIM_TRY(validate_timed(start));
    SIM_TRY(validate_timed(end));
    if (from->context != to->context)
        return SIM_REFUSE(cudaErrorInvalidResourceHandle,
                          "the two events are of different contexts, on devices %d and %d",
                          from->device->index, to->device->index);
    if (!from->record->done || !to->record->done)
        return cudaErrorNotReady;
    *ms = (float)((double)((int64_t)to->record->ns - (int64_t)from->record->ns) / 1e6);
    return cudaSuccess;
}

bool acu_sim_event_last_record(const acu_sim_event *event, acu_sim_op **op) {
    const uint64_t last = event->shared ? acu_sim_shared_event_last(event->shared) : 0;
    *op = event->record;
    if (event->shared && !(event->record && event->record->record == last)) {
        *op = NULL;
        if (!is_pending(event))
            return true;
        *op = acu_sim_shared_event_wait_op(event->shared, last);
        return *op;
    }
    if (*op)
        (*op)->refs++;
    return true;
}

/* Makes a stream wait for the last record, of whichever process. */
static cudaError_t wait_for_shared(acu_sim_stream *stream, acu_sim_shared_event *shared) {
    acu_sim_op *op = acu_sim_shared_event_wait_op(shared, acu_sim_shared_event_last(shared));
    return op ? acu_sim_stream_submit(stream, op, false) : cudaErrorMemoryAllocation;
}

static cudaError_t wait(acu_sim_stream *stream, const acu_sim_event *event) {
    if (stream->capture || event->capture)
        return acu_sim_capture_wait(stream, event);
    if (!is_pending(event))
        return cudaSuccess;
    if (event->shared)
        return wait_for_shared(stream, event->shared);
    acu_sim_op *op = acu_sim_op_new(cudaGraphNodeTypeEmpty, NULL);
    if (op && acu_sim_op_after(op, event->record))
        return acu_sim_stream_submit(stream, op, false);
    acu_sim_op_release(op);
    return cudaErrorMemoryAllocation;
}

cudaError_t acu_sim_cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                        unsigned int flags) {
    acu_sim_event *e;
    acu_sim_stream *s;
    SIM_TRY(acu_sim_stream_of(stream, &s));
    SIM_TRY(acu_sim_capture_allows(s, SIM_ENQUEUES));
    if (flags > cudaEventWaitExternal)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the flags are 0x%x: a wait has cudaEventWaitExternal (1), or none",
                          flags);
    if (s->capture && !acu_sim_event_of(event))
        acu_sim_capture_invalidate(s->capture);
    SIM_TRY(find(event, &e));
    if (s->capture && is_shared(e) && !flags)
        return acu_sim_capture_allows(s, SIM_REFUSES);
    if (flags && is_lost(e)) {
        if (s->capture)
            acu_sim_capture_invalidate(s->capture);
        return acu_sim_capture_refuse(e->capture, true);
    }
    return flags ? capture(cudaGraphNodeTypeWaitEvent, e, s) : wait(s, e);
}

/* ---- other processes ---- */

cudaError_t acu_sim_cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event) {
    acu_sim_event *e;
    if (!handle)
        return SIM_REFUSE(cudaErrorInvalidValue, "handle is NULL");
    SIM_TRY(find(event, &e));
    return e->shared && acu_sim_shared_event_export(e->shared, handle)
               ? cudaSuccess
               : SIM_REFUSE(cudaErrorInvalidResourceHandle,
                            "the event was not created in this process with cudaEventInterprocess "
                            "and cudaEventDisableTiming");
}

cudaError_t acu_sim_cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle) {
    acu_sim_shared_event *shared;
    acu_sim_device *device;
    if (!event)
        return SIM_REFUSE(cudaErrorInvalidValue, "event is NULL");
    SIM_TRY(acu_sim_shared_event_open(&handle, &shared, &device));
    acu_sim_event *made =
        new_event(device, cudaEventInterprocess | cudaEventDisableTiming, SIM_CALLER);
    if (!made) {
        acu_sim_shared_event_release(shared);
        return cudaErrorMemoryAllocation;
    }
    made->shared = shared;
    *event = (cudaEvent_t)(void *)made;
    return cudaSuccess;
}
