/*
 * Captures: which streams take part, and what a capture allows. A call that it does not allow makes
 * it invalid, and it must still be ended. How work becomes nodes is decided in
 * graph/capture_nodes.c, whose functions a capture has as acu_sim_capture_calls.
 */
#include "sim/stream/capture.h"

#include "sim/device/context.h"
#include "sim/stream/event.h"
#include "sim/stream/execution_context.h"
#include "sim/stream/stream.h"

#include <stdlib.h>

static acu_sim_capture *captures; /* under way */

/* ---- streams of a capture ---- */

void acu_sim_capture_release(acu_sim_capture *capture) {
    if (capture && --capture->refs == 0)
        free(capture);
}

void acu_sim_capture_join(acu_sim_capture *capture, acu_sim_stream *stream) {
    stream->capture = capture;
    stream->next_captured = capture->streams;
    capture->streams = stream;
}

static void leave(acu_sim_stream *stream) {
    stream->capture = NULL;
    acu_sim_edge_list_clear(&stream->dependencies);
}

void acu_sim_capture_invalidate(acu_sim_capture *capture) {
    capture->status = cudaStreamCaptureStatusInvalidated;
}

acu_sim_capture *acu_sim_capture_first(void) {
    return captures;
}

void acu_sim_capture_begin(acu_sim_capture *capture, acu_sim_stream *stream) {
    static unsigned long long last_id;
    capture->refs = 1;
    capture->id = ++last_id;
    capture->status = cudaStreamCaptureStatusActive;
    capture->thread = acu_sim_self()->id;
    capture->origin = stream;
    capture->next = captures;
    captures = capture;
    acu_sim_capture_join(capture, stream);
}

void acu_sim_capture_end(acu_sim_capture *capture) {
    acu_sim_capture **link = &captures;
    while (*link != capture)
        link = &(*link)->next;
    *link = capture->next;
    for (acu_sim_stream *s = capture->streams; s; s = s->next_captured)
        leave(s);
    acu_sim_edge_list_clear(&capture->lost);
    capture->status = cudaStreamCaptureStatusNone;
    capture->graph = NULL;
    capture->streams = NULL;
    acu_sim_capture_release(capture);
}

void acu_sim_capture_forget_stream(acu_sim_stream *stream) {
    acu_sim_capture *capture = stream->capture;
    if (!capture)
        return;
    if (capture->origin == stream) {
        capture->calls->abandon(capture);
        return;
    }
    acu_sim_stream **link = &capture->streams;
    while (*link != stream)
        link = &(*link)->next_captured;
    *link = stream->next_captured;
    if (!acu_sim_edge_list_merge(&capture->lost, stream->dependencies.nodes,
                                 stream->dependencies.data, stream->dependencies.count))
        acu_sim_capture_invalidate(capture);
    leave(stream);
}

void acu_sim_capture_forget_event(acu_sim_event *event) {
    acu_sim_capture_release(event->capture);
    event->capture = NULL;
    acu_sim_edge_list_clear(&event->dependencies);
}

static void reset_device(acu_sim_device *device) {
    acu_sim_capture *next;
    for (acu_sim_capture *capture = captures; capture; capture = next) {
        next = capture->next;
        if (capture->origin->device == device)
            capture->calls->abandon(capture);
    }
}

const acu_sim_noun acu_sim_capture_noun = {.reset_device = reset_device};

/* ---- what a capture allows ---- */

static bool is_blocking(const acu_sim_stream *stream) {
    return !(stream->flags & cudaStreamNonBlocking);
}

/* Returns whether a capture has a blocking stream of a context. */
static bool has_blocking_stream(const acu_sim_capture *capture, const acu_sim_context *context) {
    for (const acu_sim_stream *s = capture->streams; s; s = s->next_captured)
        if (s->context == context && is_blocking(s))
            return true;
    return false;
}

static bool is_in_context(const acu_sim_stream *stream, const void *context) {
    return stream->context == context;
}

static bool is_in_execution_context(const acu_sim_stream *stream, const void *execution) {
    return acu_sim_execution_context_has(execution, stream);
}

static bool has_stream(const acu_sim_capture *capture,
                       bool (*matches)(const acu_sim_stream *stream, const void *data),
                       const void *data) {
    for (const acu_sim_stream *s = capture->streams; s; s = s->next_captured)
        if (matches(s, data))
            return true;
    return false;
}

/* Returns the error of a wait for several streams, of which a capture has some. */
static cudaError_t refuse_context(const acu_sim_capture *capture) {
    return SIM_REFUSE(cudaErrorStreamCaptureUnsupported,
                      "the call waits also for the streams of a capture, which began on stream "
                      "%p: end that capture first; it is invalid now",
                      (void *)capture->origin);
}

/* Returns the error of a call that would make a legacy default stream wait for captured ones. */
static cudaError_t refuse_legacy(const acu_sim_capture *capture) {
    return SIM_REFUSE(cudaErrorStreamCaptureImplicit,
                      "the legacy default stream would wait for the streams of a capture, which "
                      "began on stream %p: use another stream, or capture streams that are made "
                      "with cudaStreamNonBlocking",
                      (void *)capture->origin);
}

/* Returns an error if work on a legacy default stream would wait for a captured stream. That makes
 * the captures invalid, unless the call only looks. */
static cudaError_t validate_legacy(const acu_sim_stream *stream, bool looks) {
    cudaError_t result = cudaSuccess;
    for (acu_sim_capture *c = captures; c; c = c->next)
        if (has_blocking_stream(c, stream->context)) {
            result = refuse_legacy(c);
            if (!looks)
                acu_sim_capture_invalidate(c);
        }
    return result;
}

/* Returns an error if a stream that matches is captured, and makes its capture invalid. */
static cudaError_t validate_context_wait(bool (*matches)(const acu_sim_stream *stream,
                                                         const void *data),
                                         const void *data) {
    cudaError_t result = cudaSuccess;
    for (acu_sim_capture *c = captures; c; c = c->next)
        if (has_stream(c, matches, data)) {
            result = refuse_context(c);
            acu_sim_capture_invalidate(c);
        }
    return result;
}

cudaError_t acu_sim_capture_allows_context(const acu_sim_context *context) {
    return validate_context_wait(is_in_context, context);
}

cudaError_t acu_sim_capture_allows_execution_context(const acu_sim_execution_context *execution) {
    return validate_context_wait(is_in_execution_context, execution);
}

/* Returns the error of an event that was recorded in a capture that was ended or is invalid. */
static cudaError_t refuse_lost_event(void) {
    return SIM_REFUSE(cudaErrorInvalidValue,
                      "the event was recorded last in a capture that has ended or is invalid: "
                      "record it again before it is used");
}

cudaError_t acu_sim_capture_refuse(acu_sim_capture *capture, bool looks) {
    if (capture->status != cudaStreamCaptureStatusActive)
        return refuse_lost_event();
    if (!looks)
        acu_sim_capture_invalidate(capture);
    return SIM_REFUSE(cudaErrorCapturedEvent,
                      "the event was recorded in a capture, where nothing runs: the host cannot "
                      "wait for it or ask about it; record it with cudaEventRecordExternal");
}

/* Returns whether a capture forbids unsafe calls of a thread, by the rules of
 * cudaThreadExchangeStreamCaptureMode(). */
static bool forbids_unsafe(const acu_sim_capture *capture, const acu_sim_thread *self) {
    if (self->mode == cudaStreamCaptureModeRelaxed)
        return false;
    if (capture->thread == self->id)
        return capture->mode != cudaStreamCaptureModeRelaxed;
    return self->mode == cudaStreamCaptureModeGlobal &&
           capture->mode == cudaStreamCaptureModeGlobal;
}

/* Returns the error of an unsafe call that a capture forbids. */
static cudaError_t refuse_unsafe(const acu_sim_capture *capture) {
    return SIM_REFUSE(cudaErrorStreamCaptureUnsupported,
                      "the call is unsafe while %s thread captures stream %p: make it before or "
                      "after, or set cudaStreamCaptureModeRelaxed with "
                      "cudaThreadExchangeStreamCaptureMode(); the capture is invalid now",
                      capture->thread == acu_sim_self()->id ? "this" : "another",
                      (void *)capture->origin);
}

cudaError_t acu_sim_capture_allows_unsafe(void) {
    cudaError_t result = cudaSuccess;
    for (acu_sim_capture *c = captures; c; c = c->next)
        if (forbids_unsafe(c, acu_sim_self())) {
            result = refuse_unsafe(c);
            acu_sim_capture_invalidate(c);
        }
    return result;
}

/* Makes a captured stream's capture invalid; returns the error of a use that no capture takes. */
static cudaError_t refuse_use(const acu_sim_stream *stream, acu_sim_use use) {
    acu_sim_capture_invalidate(stream->capture);
    return SIM_REFUSE(cudaErrorStreamCaptureUnsupported,
                      use == SIM_WAITS
                          ? "stream %p is being captured, so that nothing runs on it: the host "
                            "cannot wait for it or ask about it before the capture's end; the "
                            "capture is invalid now"
                          : "stream %p is being captured, and a capture does not take this call: "
                            "make it before or after, or on another stream; the capture is "
                            "invalid now",
                      (const void *)stream);
}

static cudaError_t validate_active(const acu_sim_stream *stream) {
    return stream->capture->status == cudaStreamCaptureStatusInvalidated
               ? SIM_REFUSE(cudaErrorStreamCaptureInvalidated,
                            "the capture of stream %p is invalid, because of an earlier call: "
                            "end it with cudaStreamEndCapture(), and capture again",
                            (const void *)stream)
               : cudaSuccess;
}

cudaError_t acu_sim_capture_allows(acu_sim_stream *stream, acu_sim_use use) {
    if (!captures)
        return cudaSuccess;
    if (!stream->capture) {
        cudaError_t why = stream == stream->context->legacy
                              ? validate_legacy(stream, use == SIM_LOOKS)
                              : cudaSuccess;
        return !why && use == SIM_WAITS ? acu_sim_capture_allows_unsafe() : why;
    }
    if (use == SIM_LOOKS)
        return cudaSuccess;
    return use == SIM_ENQUEUES ? validate_active(stream) : refuse_use(stream, use);
}

/* ---- events ---- */

cudaError_t acu_sim_capture_record(const acu_sim_stream *stream, acu_sim_event *event) {
    const acu_sim_edge_list *dependencies = &stream->dependencies;
    acu_sim_capture_forget_event(event);
    if (!acu_sim_edge_list_merge(&event->dependencies, dependencies->nodes, dependencies->data,
                                 dependencies->count))
        return cudaErrorMemoryAllocation;
    event->capture = stream->capture;
    event->capture->refs++;
    return cudaSuccess;
}

/* Returns an error if a captured stream waits for an event that is not of its capture, or if a
 * legacy default stream waits for a captured event; the captures become invalid then. */
static cudaError_t validate_wait(acu_sim_stream *stream, const acu_sim_event *event) {
    acu_sim_capture *theirs = event->capture;
    bool active = theirs && theirs->status == cudaStreamCaptureStatusActive;
    if (theirs == stream->capture)
        return cudaSuccess;
    if (stream->capture)
        acu_sim_capture_invalidate(stream->capture);
    if (!theirs)
        return SIM_REFUSE(cudaErrorStreamCaptureIsolation,
                          "stream %p is being captured, and the event was recorded outside of "
                          "the capture: record it on a captured stream, or pass "
                          "cudaEventWaitExternal",
                          (void *)stream);
    if (!active)
        return refuse_lost_event();
    if (stream->capture || stream == stream->context->legacy)
        acu_sim_capture_invalidate(theirs);
    if (stream->capture)
        return SIM_REFUSE(cudaErrorStreamCaptureMerge,
                          "stream %p is of one capture, and the event was recorded in another: "
                          "two captures cannot be joined; both are invalid now",
                          (void *)stream);
    return stream == stream->context->legacy ? refuse_legacy(theirs) : cudaSuccess;
}

cudaError_t acu_sim_capture_wait(acu_sim_stream *stream, const acu_sim_event *event) {
    if (!event->capture && !event->record) /* never recorded */
        return cudaSuccess;
    cudaError_t why = validate_wait(stream, event);
    if (why)
        return why;
    if (!stream->capture && event->capture)
        acu_sim_capture_join(event->capture, stream);
    return acu_sim_edge_list_merge(&stream->dependencies, event->dependencies.nodes,
                                   event->dependencies.data, event->dependencies.count)
               ? cudaSuccess
               : cudaErrorMemoryAllocation;
}

/* ---- work ---- */

cudaError_t acu_sim_capture_add(acu_sim_stream *stream, acu_sim_op *op) {
    return stream->capture->calls->add(stream, op);
}

cudaError_t acu_sim_capture_alloc(acu_sim_stream *stream, const struct cudaMemPoolProps *props,
                                  size_t size, void **at) {
    return stream->capture->calls->alloc(stream, props, size, at);
}

cudaError_t acu_sim_capture_free(acu_sim_stream *stream, void *at) {
    return stream->capture->calls->free(stream, at);
}
