/* Events: each points at the operation that recorded it last. */
#include "sim/stream/event.h"
#include "sim/caller.h"
#include "sim/device/context.h"
#include "sim/device/device.h"
#include "sim/memory/guard.h"
#include "sim/memory/pool.h"
#include "sim/set.h"
#include "sim/stream/capture.h"
#include "sim/stream/op.h"
#include "sim/stream/schedule.h"
#include "sim/stream/stream.h"

#include <stdlib.h>

static acu_sim_event *events;
static acu_sim_set handles;

void acu_sim_event_release(acu_sim_event *event) {
    if (--event->refs)
        return;
    acu_sim_capture_forget_event(event);
    acu_sim_op_release(event->record);
    free(event);
}

/* No longer the program's. */
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

void acu_sim_events_reset(acu_sim_device *device) {
    acu_sim_event *next;
    for (acu_sim_event *e = events; e; e = next) {
        next = e->next;
        if (e->device == device)
            free_event(e);
    }
}

void acu_sim_events_drop(const acu_sim_context *context) {
    acu_sim_event *next;
    for (acu_sim_event *e = events; e; e = next) {
        next = e->next;
        if (e->context == context)
            free_event(e);
    }
}

int acu_sim_events_leaks(int print) {
    int count = 0;
    for (const acu_sim_event *e = events; e; e = e->next, count++)
        if (print)
            acu_sim_caller_report("event", e, 0, e->where);
    return count;
}

/* ---- the API ------------------------------------------------------------------------------------
 */

static bool are_flags(unsigned flags) {
    const unsigned known = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
    return !(flags & ~known) &&
           (!(flags & cudaEventInterprocess) || flags & cudaEventDisableTiming);
}

static cudaError_t create(cudaEvent_t *event, unsigned flags, const void *where) {
    acu_sim_device *device;
    acu_sim_event *made = NULL;
    cudaError_t result = acu_sim_enter(SIM_NEEDS_CONTEXT, &device);
    if (!result && (!event || !are_flags(flags)))
        result = cudaErrorInvalidValue;
    if (!result && !(made = new_event(device, flags, where)))
        result = cudaErrorMemoryAllocation;
    if (!result)
        *event = (cudaEvent_t)(void *)made;
    return acu_sim_leave(result);
}

cudaError_t acu_sim_cudaEventCreate(cudaEvent_t *event) {
    return create(event, cudaEventDefault, SIM_CALLER);
}

cudaError_t acu_sim_cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags) {
    return create(event, flags, SIM_CALLER);
}

/* One that was recorded in a capture last is nothing to wait for or ask about; then that capture is
 * invalid. */
static cudaError_t allows(const acu_sim_event *event) {
    return event->capture ? acu_sim_capture_refuse(event->capture, false)
                          : acu_sim_capture_allows_unsafe();
}

/* Enters, and finds the event. */
static cudaError_t enter(cudaEvent_t handle, acu_sim_event **event) {
    cudaError_t result = acu_sim_enter(SIM_NEEDS_CONTEXT, NULL);
    *event = acu_sim_event_of(handle);
    return acu_sim_mistake(result, !*event, cudaErrorInvalidResourceHandle);
}

cudaError_t acu_sim_cudaEventDestroy(cudaEvent_t event) {
    acu_sim_event *e;
    cudaError_t result = enter(event, &e);
    if (!result)
        free_event(e);
    return acu_sim_leave(result);
}

void acu_sim_event_mark(acu_sim_event *event, acu_sim_op *op) {
    acu_sim_capture_forget_event(event);
    op->refs++;
    acu_sim_op_release(event->record);
    event->record = op;
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

/* What is external is a node of a capture, and means nothing outside of one. */
static cudaError_t capture(enum cudaGraphNodeType type, acu_sim_event *event,
                           acu_sim_stream *stream) {
    acu_sim_op *op = NULL;
    cudaError_t result = stream->capture ? cudaSuccess : cudaErrorIllegalState;
    if (!result)
        result = acu_sim_event_op(type, event, &op);
    return result ? result : acu_sim_capture_add(stream, op);
}

cudaError_t acu_sim_cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream,
                                             unsigned int flags) {
    acu_sim_event *e;
    acu_sim_stream *s = NULL;
    cudaError_t result = enter(event, &e);
    if (!result && flags > cudaEventRecordExternal)
        result = cudaErrorInvalidValue;
    if (!result)
        result = acu_sim_stream_of(stream, &s);
    if (!result && s->context != e->context)
        result = cudaErrorInvalidResourceHandle;
    if (!result)
        result = acu_sim_capture_allows(s, SIM_ENQUEUES);
    if (!result && flags)
        result = capture(cudaGraphNodeTypeEventRecord, e, s);
    else if (!result)
        result = s->capture ? acu_sim_capture_record(s, e) : record(e, s);
    return acu_sim_leave(result);
}

cudaError_t acu_sim_cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return acu_sim_cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

cudaError_t acu_sim_cudaEventQuery(cudaEvent_t event) {
    acu_sim_event *e;
    cudaError_t result = enter(event, &e);
    if (!result)
        result = e->device->sticky;
    if (!result)
        result = allows(e);
    if (!result) {
        acu_sim_schedule_ask();
        e = acu_sim_event_of(event); /* the lock was given up */
        if (!e)
            result = cudaErrorInvalidResourceHandle;
    }
    if (!result && e->record && !e->record->done)
        result = cudaErrorNotReady;
    return acu_sim_leave(result);
}

cudaError_t acu_sim_cudaEventSynchronize(cudaEvent_t event) {
    acu_sim_event *e;
    cudaError_t result = enter(event, &e);
    if (!result)
        result = allows(e);
    if (!result) {
        acu_sim_device *device = e->device;
        if (e->record)
            acu_sim_op_wait(e->record);
        acu_sim_pools_settle();
        acu_sim_guard_check();
        result = device->sticky;
    }
    return acu_sim_leave(result);
}

static bool is_timed(const acu_sim_event *event) {
    return event && !(event->flags & cudaEventDisableTiming);
}

cudaError_t acu_sim_cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end) {
    cudaError_t result = acu_sim_enter(SIM_NEEDS_CONTEXT, NULL);
    const acu_sim_event *from = acu_sim_event_of(start), *to = acu_sim_event_of(end);
    if (!result && !ms)
        result = cudaErrorInvalidValue;
    if (!result && (!is_timed(from) || !is_timed(to) || from->context != to->context))
        result = cudaErrorInvalidResourceHandle;
    if (!result && (from->capture || to->capture))
        result = acu_sim_capture_refuse(from->capture ? from->capture : to->capture, true);
    if (!result && (!from->record || !to->record))
        result = cudaErrorInvalidResourceHandle;
    if (!result && (!from->record->done || !to->record->done))
        result = cudaErrorNotReady;
    if (!result)
        *ms = (float)((double)((int64_t)to->record->ns - (int64_t)from->record->ns) / 1e6);
    return acu_sim_leave(result);
}

static cudaError_t wait(acu_sim_stream *stream, const acu_sim_event *event) {
    if (stream->capture || event->capture)
        return acu_sim_capture_wait(stream, event);
    if (!event->record || event->record->done)
        return cudaSuccess;
    acu_sim_op *op = acu_sim_op_new(cudaGraphNodeTypeEmpty, NULL);
    if (op && acu_sim_op_after(op, event->record))
        return acu_sim_stream_submit(stream, op, false);
    acu_sim_op_release(op);
    return cudaErrorMemoryAllocation;
}

cudaError_t acu_sim_cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                        unsigned int flags) {
    acu_sim_event *e;
    acu_sim_stream *s = NULL;
    cudaError_t result = enter(event, &e);
    if (!result && flags > cudaEventWaitExternal)
        result = cudaErrorInvalidValue;
    if (!result)
        result = acu_sim_stream_of(stream, &s);
    if (!result)
        result = acu_sim_capture_allows(s, SIM_ENQUEUES);
    if (!result)
        result = flags ? capture(cudaGraphNodeTypeWaitEvent, e, s) : wait(s, e);
    return acu_sim_leave(result);
}
