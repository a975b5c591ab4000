/* Streams and events. */
#include "fuzz.h"

static void nothing(void *unused_data) {
    (void)unused_data;
}

static void create_stream(void) {
    object *o = empty(STREAM);
    cudaStream_t made = UNWRITTEN;
    const unsigned flags = (unsigned)ONE_OF(0, 0, 1, 1, 1, 2, 7);
    cudaError_t result;
    if (!o)
        return;
    if (one_in(3)) {
        const int priority = ONE_OF(-100, -5, -3, -1, 0, 1, 100);
        call("cudaStreamCreateWithPriority(%u, %d)", flags, priority);
        result = cudaStreamCreateWithPriority(&made, flags, priority);
    } else if (one_in(3)) {
        call("cudaStreamCreate()");
        result = cudaStreamCreate(&made);
    } else {
        call("cudaStreamCreateWithFlags(%u)", flags);
        result = cudaStreamCreateWithFlags(&made, flags);
    }
    if (!result)
        o->handle = made;
    answer(result, "%s", result ? handle_state(made) : name(o));
    /* CUDA does not wait for a stream that never worked, also not for an event recorded there. */
    if (!result) {
        call("cudaLaunchHostFunc(%s, function)", name(o));
        answer(cudaLaunchHostFunc(made, nothing, NULL), "%s", "");
        settle((chosen_stream){made, o, name(o)});
    }
}

/* A stream of a capture is destroyed seldom: that ends the capture's other streams, too. */
static void destroy_stream(void) {
    chosen_stream s = any_stream();
    if (is_capturing(s) && !one_in(8))
        return;
    call("cudaStreamDestroy(%s)", s.name);
    forget_captured_graph(s.object, false);
    if (s.object)
        s.object->handle = NULL;
    answer(cudaStreamDestroy(s.handle), "%s", "");
}

static void query_stream(void) {
    const chosen_stream s = any_stream();
    call("cudaStreamQuery(%s)", s.name);
    answer(cudaStreamQuery(s.handle), "%s", "");
}

static void synchronize_stream(void) {
    const chosen_stream s = any_stream();
    call("cudaStreamSynchronize(%s)", s.name);
    answer(cudaStreamSynchronize(s.handle), "%s", "");
}

static void describe_stream(void) {
    const chosen_stream s = any_stream();
    unsigned flags = 77;
    int number = -77;
    unsigned long long id = 0;
    cudaError_t result;
    switch (below(4)) {
    case 0:
        call("cudaStreamGetFlags(%s)", s.name);
        result = cudaStreamGetFlags(s.handle, &flags);
        answer(result, "%u", flags);
        break;
    case 1:
        call("cudaStreamGetPriority(%s)", s.name);
        result = cudaStreamGetPriority(s.handle, &number);
        answer(result, "%d", number);
        break;
    case 2:
        call("cudaStreamGetId(%s)", s.name);
        result = cudaStreamGetId(s.handle, &id);
        answer(result, "%s", id ? "some" : "0");
        break;
    default:
        call("cudaStreamGetDevice(%s)", s.name);
        result = cudaStreamGetDevice(s.handle, &number);
        answer(result, "%d", number);
    }
}

static void attribute_of_stream(void) {
    const chosen_stream s = any_stream(), other = any_stream();
    const int attribute = ONE_OF(-1, 0, 1, 2, 3, 5, 8, 9, 10, 13, 30);
    cudaStreamAttrValue value;
    memset(&value, 0, sizeof value);
    switch (below(3)) {
    case 0: {
        call("cudaStreamGetAttribute(%s, %d)", s.name, attribute);
        const cudaError_t result =
            cudaStreamGetAttribute(s.handle, (cudaStreamAttrID)attribute, &value);
        answer(result, "%d", attribute == 3 || attribute == 8 ? (int)value.priority : 0);
        break;
    }
    case 1:
        value.priority = attribute == 8 || attribute == 3 ? ONE_OF(0, 0, -1, 2) : 0;
        call("cudaStreamSetAttribute(%s, %d, %d)", s.name, attribute, (int)value.priority);
        answer(cudaStreamSetAttribute(s.handle, (cudaStreamAttrID)attribute, &value), "%s", "");
        break;
    default:
        call("cudaStreamCopyAttributes(%s, %s)", s.name, other.name);
        answer(cudaStreamCopyAttributes(s.handle, other.handle), "%s", "");
    }
}

static void wait_event(void) {
    const chosen_stream s = any_stream();
    const object *event = any(EVENT);
    const unsigned flags = (unsigned)ONE_OF(0, 0, 0, 0, 1, 2);
    call("cudaStreamWaitEvent(%s, %s, %u)", s.name, name(event), flags);
    answer(cudaStreamWaitEvent(s.handle, event->handle, flags), "%s", "");
    settle(s);
}

static void CUDART_CB stream_callback(cudaStream_t stream, cudaError_t status, void *data) {
    (void)stream;
    (void)status;
    (void)data;
}

static void host_function(void) {
    const chosen_stream s = any_stream();
    const bool none = one_in(10);
    if (one_in(3)) {
        const unsigned flags = (unsigned)ONE_OF(0, 0, 0, 1);
        call("cudaStreamAddCallback(%s, %s, %u)", s.name, none ? "NULL" : "callback", flags);
        answer(cudaStreamAddCallback(s.handle, none ? NULL : stream_callback, NULL, flags), "%s",
               "");
    } else {
        call("cudaLaunchHostFunc(%s, %s)", s.name, none ? "NULL" : "function");
        answer(cudaLaunchHostFunc(s.handle, none ? NULL : nothing, NULL), "%s", "");
    }
    settle(s);
}

static void attach_memory(void) {
    const chosen_stream s = any_stream();
    const place p = any_place();
    const size_t size = one_in(2) ? 0 : p.room;
    const unsigned flags = (unsigned)ONE_OF(3, 1, 1, 2, 2, 4, 4, 7); /* 0 crashes CUDA */
    call("cudaStreamAttachMemAsync(%s, %s, %zu, %u)", s.name, p.name, size, flags);
    answer(cudaStreamAttachMemAsync(s.handle, p.address, size, flags), "%s", "");
    settle(s);
}

static void driver_stream(void) {
    const chosen_stream s = any_stream();
    unsigned flags = 77;
    int priority = -77;
    CUcontext context = UNWRITTEN;
    CUresult result;
    switch (below(5)) {
    case 0:
        call("cuStreamQuery(%s)", s.name);
        answer(cuStreamQuery(s.handle), "%s", "");
        break;
    case 1:
        call("cuStreamSynchronize(%s)", s.name);
        answer(cuStreamSynchronize(s.handle), "%s", "");
        break;
    case 2:
        call("cuStreamGetCtx(%s)", s.name);
        result = cuStreamGetCtx(s.handle, &context);
        answer(result, "%s", handle_state(context));
        break;
    case 3:
        call("cuStreamGetFlags(%s)", s.name);
        result = cuStreamGetFlags(s.handle, &flags);
        answer(result, "%u", flags);
        break;
    default:
        call("cuStreamGetPriority(%s)", s.name);
        result = cuStreamGetPriority(s.handle, &priority);
        answer(result, "%d", priority);
    }
}

bool has_values(const place *p) {
    return p->object && p->object->memory != PAGEABLE && !p->object->is_read_only && p->room >= 8;
}

static void write_value(void) {
    const chosen_stream s = any_stream();
    place p = any_place();
    const unsigned flags = (unsigned)ONE_OF(0, 0, 0, 1, 2);
    if (!has_values(&p))
        return;
    const bool captured = is_capturing(s);
    call("cuStreamWriteValue32(%s, %s, 5, %u)", s.name, p.name, flags);
    answer(cuStreamWriteValue32(s.handle, (CUdeviceptr)(uintptr_t)p.address, 5, flags), "%s", "");
    uses(&p, true, captured);
    settle(s);
}

/* ---- events ---- */

static void create_event(void) {
    object *o = empty(EVENT);
    cudaEvent_t made = UNWRITTEN;
    const unsigned flags = (unsigned)ONE_OF(0, 0, 1, 2, 2, 3, 4, 6, 8, 16);
    if (!o)
        return;
    call("cudaEventCreateWithFlags(%u)", flags);
    const cudaError_t result = cudaEventCreateWithFlags(&made, flags);
    if (!result)
        o->handle = made;
    answer(result, "%s", result ? handle_state(made) : name(o));
}

static void destroy_event(void) {
    object *o = unused(EVENT);
    if (!o)
        return;
    call("cudaEventDestroy(%s)", name(o));
    void *handle = o->handle;
    o->handle = NULL;
    answer(cudaEventDestroy(handle), "%s", "");
}

static void record_event(void) {
    cudaError_t recorded;
    const chosen_stream s = any_stream();
    object *event = any(EVENT);
    if (one_in(3)) {
        const unsigned flags = (unsigned)ONE_OF(0, 0, 0, 1, 2);
        call("cudaEventRecordWithFlags(%s, %s, %u)", name(event), s.name, flags);
        recorded = cudaEventRecordWithFlags(event->handle, s.handle, flags);
        answer(recorded, "%s", "");
        event->is_used |= flags == 1 && event->handle;
    } else {
        call("cudaEventRecord(%s, %s)", name(event), s.name);
        recorded = cudaEventRecord(event->handle, s.handle);
        answer(recorded, "%s", "");
    }
    settle(s);
    if (!recorded)
        settle_event(s, event);
}

static void ask_event(void) {
    const object *event = any(EVENT), *other = any(EVENT);
    float time = -7;
    switch (below(4)) {
    case 0:
        call("cudaEventQuery(%s)", name(event));
        answer(cudaEventQuery(event->handle), "%s", "");
        break;
    case 1:
        call("cudaEventSynchronize(%s)", name(event));
        answer(cudaEventSynchronize(event->handle), "%s", "");
        break;
    case 2:
        call("cuEventQuery(%s)", name(event));
        answer(cuEventQuery(event->handle), "%s", "");
        break;
    default: {
        call("cudaEventElapsedTime(%s, %s)", name(event), name(other));
        const cudaError_t result = cudaEventElapsedTime(&time, event->handle, other->handle);
        answer(result, "%s", time < 0 ? "same" : "written");
    }
    }
}

const operation stream_operations[] = {
    OPERATION(create_stream, 10, true),   OPERATION(destroy_stream, 3, false),
    OPERATION(query_stream, 6, false),    OPERATION(synchronize_stream, 6, false),
    OPERATION(describe_stream, 6, false), OPERATION(attribute_of_stream, 5, false),
    OPERATION(wait_event, 12, false),     OPERATION(host_function, 8, false),
    OPERATION(attach_memory, 3, false),   OPERATION(driver_stream, 5, false),
    OPERATION(write_value, 3, false),     OPERATION(create_event, 9, true),
    OPERATION(destroy_event, 3, false),   OPERATION(record_event, 14, false),
    OPERATION(ask_event, 8, false),       OPERATION(NULL, 0, false),
};
