/* Streams, events and captures by the driver. */
#include "fuzz.h"

static void driver_create_stream(void) {
    object *o = empty(STREAM);
    CUstream made = UNWRITTEN;
    const unsigned flags = (unsigned)ONE_OF(0, 0, 1, 1, 2, 7);
    const int priority = ONE_OF(-100, -5, -1, 0, 1);
    CUresult result;
    if (!o)
        return;
    if (one_in(2)) {
        call("cuStreamCreateWithPriority(%u, %d)", flags, priority);
        result = cuStreamCreateWithPriority(&made, flags, priority);
    } else {
        call("cuStreamCreate(%u)", flags);
        result = cuStreamCreate(&made, flags);
    }
    if (!result)
        o->handle = made;
    answer(result, "%s", result ? handle_state(made) : name(o));
}

static void driver_destroy_stream(void) {
    const chosen_stream s = any_stream();
    if (!s.object || (is_capturing(s) && !one_in(8)))
        return;
    call("cuStreamDestroy(%s)", s.name);
    forget_captured_graph(s.object, false);
    s.object->handle = NULL;
    answer(cuStreamDestroy(s.handle), "%s", "");
}

static void driver_wait_event(void) {
    const chosen_stream s = any_stream();
    const object *event = any(EVENT);
    const unsigned flags = (unsigned)ONE_OF(0, 0, 0, 1, 2);
    call("cuStreamWaitEvent(%s, %s, %u)", s.name, name(event), flags);
    answer(cuStreamWaitEvent(s.handle, event->handle, flags), "%s", "");
    settle(s);
}

static void nothing(void *unused_data) {
    (void)unused_data;
}

static void driver_host_function(void) {
    const chosen_stream s = any_stream();
    call("cuLaunchHostFunc(%s)", s.name);
    answer(cuLaunchHostFunc(s.handle, nothing, NULL), "%s", "");
    settle(s);
}

/* Waits for what the stream has written just before, so that nothing waits for long. */
static void wait_value(void) {
    const chosen_stream s = any_stream();
    const place p = any_place();
    const CUdeviceptr address = (CUdeviceptr)(uintptr_t)p.address;
    const unsigned flags = (unsigned)ONE_OF(0, 1, 1, 2, 3, 8);
    if (!has_values(&p) || is_capturing(s))
        return;
    call("cuStreamWriteValue32(%s, %s, 5, 0)", s.name, p.name);
    const CUresult result = cuStreamWriteValue32(s.handle, address, 5, 0);
    answer(result, "%s", "");
    if (!result) {
        call("cuStreamWaitValue32(%s, %s, 5, %u)", s.name, p.name, flags);
        answer(cuStreamWaitValue32(s.handle, address, 5, flags), "%s", "");
    }
    settle(s);
}

static void write_values(void) {
    const chosen_stream s = any_stream();
    place p = any_place();
    const CUdeviceptr address = (CUdeviceptr)(uintptr_t)p.address;
    const bool captured = is_capturing(s);
    const unsigned flags = (unsigned)ONE_OF(0, 0, 0, 1, 2);
    if (!has_values(&p))
        return;
    if (one_in(2)) {
        if (address % 8)
            return;
        call("cuStreamWriteValue64(%s, %s, 5, %u)", s.name, p.name, flags);
        answer(cuStreamWriteValue64(s.handle, address, 5, flags), "%s", "");
    } else {
        CUstreamBatchMemOpParams operations[2];
        const unsigned count = (unsigned)ONE_OF(0, 1, 1, 2);
        any_values(operations, &p);
        call("cuStreamBatchMemOp(%s, %u, {%d %s}, %u)", s.name, count, (int)operations[0].operation,
             p.name, flags);
        answer(cuStreamBatchMemOp(s.handle, count, operations, flags), "%s", "");
    }
    uses(&p, true, captured);
    settle(s);
}

/* ---- events ---- */

static void driver_create_event(void) {
    object *o = empty(EVENT);
    CUevent made = UNWRITTEN;
    const unsigned flags = (unsigned)ONE_OF(0, 0, 1, 2, 2, 3, 4, 6, 8, 16);
    if (!o)
        return;
    call("cuEventCreate(%u)", flags);
    const CUresult result = cuEventCreate(&made, flags);
    if (!result)
        o->handle = made;
    answer(result, "%s", result ? handle_state(made) : name(o));
}

static void driver_destroy_event(void) {
    object *o = unused(EVENT);
    if (!o)
        return;
    call("cuEventDestroy(%s)", name(o));
    void *handle = o->handle;
    o->handle = NULL;
    answer(cuEventDestroy(handle), "%s", "");
}

static void driver_record_event(void) {
    CUresult recorded;
    const chosen_stream s = any_stream();
    object *event = any(EVENT);
    if (one_in(3)) {
        const unsigned flags = (unsigned)ONE_OF(0, 0, 0, 1, 2);
        call("cuEventRecordWithFlags(%s, %s, %u)", name(event), s.name, flags);
        recorded = cuEventRecordWithFlags(event->handle, s.handle, flags);
        answer(recorded, "%s", "");
        event->is_used |= flags == 1 && event->handle;
    } else {
        call("cuEventRecord(%s, %s)", name(event), s.name);
        recorded = cuEventRecord(event->handle, s.handle);
        answer(recorded, "%s", "");
    }
    settle(s);
    if (!recorded)
        settle_event(s, event);
}

static void driver_ask_event(void) {
    const object *event = any(EVENT), *other = any(EVENT);
    float time = -7;
    if (one_in(2)) {
        call("cuEventSynchronize(%s)", name(event));
        answer(cuEventSynchronize(event->handle), "%s", "");
    } else {
        call("cuEventElapsedTime(%s, %s)", name(event), name(other));
        const CUresult result = cuEventElapsedTime(&time, event->handle, other->handle);
        answer(result, "%s", time < 0 ? "same" : "written");
    }
}

/* ---- captures ---- */

static void driver_begin_capture(void) {
    const chosen_stream s = any_stream();
    const int mode = ONE_OF(0, 0, 1, 1, 2, 2, 3);
    call("cuStreamBeginCapture(%s, %d)", s.name, mode);
    answer(cuStreamBeginCapture(s.handle, (CUstreamCaptureMode)mode), "%s", "");
}

static void driver_end_capture(void) {
    const chosen_stream s = any_captured_stream();
    object *o = empty(GRAPH);
    CUgraph made = UNWRITTEN;
    if (!o)
        return;
    call("cuStreamEndCapture(%s)", s.name);
    const CUresult result = cuStreamEndCapture(s.handle, &made);
    const bool is_known = keep_captured_graph(o, s.object, (cudaError_t)result, made);
    answer(result, "%s", is_known ? "known" : handle_state(made));
}

static void driver_ask_capture(void) {
    const chosen_stream s = any_stream();
    CUstreamCaptureStatus status = (CUstreamCaptureStatus)9;
    CUgraph graph = UNWRITTEN;
    const CUgraphNode *dependencies = NULL;
    cuuint64_t id = 0;
    size_t count = 77;
    call("cuStreamGetCaptureInfo(%s)", s.name);
    const CUresult result =
        cuStreamGetCaptureInfo(s.handle, &status, &id, &graph, &dependencies, NULL, &count);
    answer(result, "%d %s %s %zu", (int)status, id ? "id" : "0", handle_state(graph), count);
}

const operation driver_stream_operations[] = {
    OPERATION(driver_create_stream, 3, true),  OPERATION(driver_destroy_stream, 1, false),
    OPERATION(driver_wait_event, 4, false),    OPERATION(driver_host_function, 2, false),
    OPERATION(wait_value, 2, false),           OPERATION(write_values, 3, false),
    OPERATION(driver_create_event, 3, true),   OPERATION(driver_destroy_event, 1, false),
    OPERATION(driver_record_event, 4, false),  OPERATION(driver_ask_event, 3, false),
    OPERATION(driver_begin_capture, 3, false), OPERATION(driver_end_capture, 4, false),
    OPERATION(driver_ask_capture, 2, false),   OPERATION(NULL, 0, false),
};
