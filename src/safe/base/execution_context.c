/* Execution contexts, by the driver's API: the runtime has had them since 13.1 only, and its
 * handles are not the driver's. execution_context_split.c divides devices. */
#include "safe/base/execution_context.h"
#include "safe/base/active_capture.h"
#include "safe/base/device.h"
#include "safe/base/event.h"
#include "safe/base/primary_context.h"
#include "safe/base/stream.h"

#include <anycuda/load.h>

#define OUTCOME(context, code) acu_outcome(__func__, (context), (code))

/* ---- life ---- */

static int destroy_context(acu_object *object) {
    const acu_execution_context *context = (const acu_execution_context *)object;
    int code = 0;
    if (context->owned && !acu_is_unloading())
        code = acu_forgive_unloading(acu_translate_driver(cuGreenCtxDestroy(context->raw)));
    const int released = acu_object_release(NULL, context->queues_of, &acu_execution_context_class);
    return code ? code : released;
}

static void describe_context(const acu_object *object, acu_description *d) {
    const acu_execution_context *context = (const acu_execution_context *)object;
    acu_describe(d, "%s %p", context->owned ? "raw" : "wrapped", (void *)context->raw);
    acu_describe(d, "%u multiprocessors", context->multiprocessors);
}

const acu_class acu_execution_context_class = {"execution context", destroy_context,
                                               describe_context, NULL};

int acu_execution_context_begin(const char *call, acu_device *device) {
    acu_destroy_deferred();
    ACU_TRY(acu_device_resolve(call, device));
    return acu_device_outcome(call, *device, acu_translate_driver(cuInit(0)));
}

bool acu_driver_is_since(int version) {
    const acu_load_info *driver = acu_loaded(ACU_CUDA);
    return driver && driver->version >= version;
}

acu_execution_context *acu_execution_context_new(const char *call, acu_device device,
                                                 CUgreenCtx raw, unsigned multiprocessors,
                                                 bool owned) {
    acu_execution_context *made =
        acu_object_new(call, &acu_execution_context_class, sizeof *made, device);
    if (!made)
        return NULL;
    made->raw = raw;
    made->multiprocessors = multiprocessors;
    made->owned = owned;
    return made;
}

/* Makes a handle for what is there; the driver reports its multiprocessors. */
static int on_raw(const char *call, acu_device device, CUgreenCtx raw, bool owned,
                  acu_execution_context **context) {
    CUdevResource has = {0};
    if (!context)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'context' is NULL");
    *context = NULL;
    if (!raw)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'raw' is NULL");
    ACU_TRY(acu_execution_context_begin(call, &device));
    ACU_TRY(acu_outcome(
        call, NULL,
        acu_translate_driver(cuGreenCtxGetDevResource(raw, &has, CU_DEV_RESOURCE_TYPE_SM))));
    *context = acu_execution_context_new(call, device, raw, has.sm.smCount, owned);
    return *context ? 0 : ACU_ERROR_HOST_MEMORY;
}

acu_result acu_execution_context_wrap(acu_device device, struct CUgreenCtx_st *raw,
                                      acu_execution_context **context) {
    ACU_SCOPE();
    return on_raw(__func__, device, raw, false, context);
}

acu_result acu_execution_context_adopt(acu_device device, struct CUgreenCtx_st *raw,
                                       acu_execution_context **context) {
    ACU_SCOPE();
    return on_raw(__func__, device, raw, true, context);
}

struct CUgreenCtx_st *acu_execution_context_raw(const acu_execution_context *context) {
    return acu_is(context, &acu_execution_context_class) ? context->raw : NULL;
}

acu_execution_context *acu_execution_context_retain(acu_execution_context *context) {
    return acu_object_retain(__func__, context, &acu_execution_context_class);
}

acu_result acu_execution_context_release(acu_execution_context *context) {
    ACU_SCOPE();
    acu_destroy_deferred();
    return acu_object_release(__func__, context, &acu_execution_context_class);
}

void acu_execution_context_cleanup(acu_execution_context **context) {
    (void)acu_execution_context_release(acu_take(context));
}

size_t acu_execution_context_describe(const acu_execution_context *context, char *text,
                                      size_t size) {
    return acu_object_describe_as(context, &acu_execution_context_class, text, size);
}

/* ---- what it is ---- */

acu_device acu_execution_context_device(const acu_execution_context *context) {
    return acu_is(context, &acu_execution_context_class) ? context->object.device
                                                         : ACU_DEVICE_CURRENT;
}

acu_result acu_execution_context_get_info(acu_execution_context *context,
                                          acu_execution_context_info *info) {
    ACU_SCOPE();
    CUdevResource has = {0}, queues = {0};
    ACU_NEED_POINTER(info);
    *info = (acu_execution_context_info){0};
    ACU_NEED(context, acu_execution_context_class);
    ACU_TRY(OUTCOME(context, acu_translate_driver(cuGreenCtxGetDevResource(
                                 context->raw, &has, CU_DEV_RESOURCE_TYPE_SM))));
    if (acu_driver_is_since(13010))
        ACU_TRY(
            OUTCOME(context, acu_translate_driver(cuGreenCtxGetDevResource(
                                 context->raw, &queues, CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG))));
    *info = (acu_execution_context_info){
        .multiprocessors = has.sm.smCount,
        .together = has.sm.smCoscheduledAlignment,
        .flags = has.sm.flags,
        .domain = has.sm.localityDomainId,
        .queues = queues.wqConfig.wqConcurrencyLimit,
        .sharing = (acu_queue_sharing)queues.wqConfig.sharingScope,
    };
    return 0;
}

acu_result acu_execution_context_get_id(acu_execution_context *context, uint64_t *id) {
    ACU_SCOPE();
    unsigned long long number = 0;
    ACU_NEED_POINTER(id);
    *id = 0;
    ACU_NEED(context, acu_execution_context_class);
    ACU_TRY(OUTCOME(context, acu_translate_driver(cuGreenCtxGetId(context->raw, &number))));
    *id = number;
    return 0;
}

/* ---- streams ---- */

acu_result acu_execution_context_create_stream(acu_execution_context *context,
                                               const acu_stream_options *options,
                                               acu_stream **stream) {
    ACU_SCOPE();
    static const acu_stream_options none;
    const acu_stream_options *o = options ? options : &none;
    CUstream raw = NULL;
    ACU_NEED_POINTER(stream);
    *stream = NULL;
    ACU_NEED(context, acu_execution_context_class);
    ACU_REQUIRE_OF(context, !(o->flags & ~(unsigned)ACU_STREAM_NON_BLOCKING), ACU_ERROR_ARGUMENT,
                   "a stream has no flags 0x%x", o->flags);
    acu_destroy_deferred();
    ACU_TRY(OUTCOME(context, acu_translate_driver(cuGreenCtxStreamCreate(
                                 &raw, context->raw, CU_STREAM_NON_BLOCKING, o->priority))));
    return acu_stream_new_in(__func__, &context->object, raw, o, stream);
}

acu_execution_context *acu_stream_execution_context(const acu_stream *stream) {
    return acu_is(stream, &acu_stream_class) ? (acu_execution_context *)stream->context : NULL;
}

static int ask_processors(const acu_stream *stream, unsigned *count) {
    acu_primary_context primary;
    CUdevResource has = {0};
    int code = acu_primary_context_enter(&primary, stream->object.device);
    if (!code)
        code = acu_translate_driver(
            cuStreamGetDevResource(stream->raw, &has, CU_DEV_RESOURCE_TYPE_SM));
    acu_primary_context_leave(&primary);
    *count = code ? 0 : has.sm.smCount;
    return code;
}

acu_result acu_stream_get_multiprocessors(acu_stream *stream, unsigned *count) {
    ACU_SCOPE();
    ACU_NEED_POINTER(count);
    *count = 0;
    ACU_NEED_STREAM(stream);
    ACU_TRY(OUTCOME(stream, acu_stream_check_uncaptured(stream)));
    return OUTCOME(stream, ask_processors(stream, count));
}

/* ---- events of all streams ---- */

/* A context of the driver: green, or the primary one of a device, with all of its streams. */
typedef struct whole {
    acu_device device;
    acu_execution_context *green; /* NULL: the primary one */
} whole;

typedef CUresult call_of_green(CUgreenCtx context, CUevent event);
typedef CUresult call_of_primary(CUcontext context, CUevent event);

static int call_primary(acu_device device, call_of_primary *call, CUevent event) {
    acu_primary_context primary;
    int code = acu_primary_context_retain(&primary, device);
    if (!code)
        code = acu_translate_driver(call(primary.raw, event));
    acu_primary_context_leave(&primary);
    return code;
}

/* Makes the call while no stream of the context is captured. Returns 0 or a recorded code. */
static int call_whole(const whole *w, const char *what, call_of_green *green,
                      call_of_primary *primary, CUevent event) {
    int code = acu_capture_begin_whole(w->device, w->green ? &w->green->object : NULL, what);
    if (code)
        return code;
    code = w->green ? acu_translate_driver(green(w->green->raw, event))
                    : call_primary(w->device, primary, event);
    acu_capture_end_whole(w->device);
    return code;
}

static int record_event(const char *call, const whole *w, acu_event *event) {
    if (!acu_is(event, &acu_event_class))
        return acu_object_refuse(call, event, &acu_event_class);
    if (event->object.device != w->device)
        return acu_fail_on(call, event, ACU_ERROR_DEVICE,
                           "the event belongs to device %d, the streams to device %d",
                           event->object.device, w->device);
    int code = call_whole(w, "recording an event for all streams", cuGreenCtxRecordEvent,
                          cuCtxRecordEvent, event->raw);
    if (!code) {
        __atomic_store_n(&event->capture, 0, __ATOMIC_RELEASE);
        acu_event_mark_recorded(event);
    }
    return acu_outcome(call, event, code);
}

static int wait_event(const char *call, const whole *w, acu_event *event) {
    if (!acu_is(event, &acu_event_class))
        return acu_object_refuse(call, event, &acu_event_class);
    const uint64_t capture = __atomic_load_n(&event->capture, __ATOMIC_ACQUIRE);
    if (capture && acu_capture_is_active(capture))
        return acu_fail_on(call, event, ACU_ERROR_CAPTURE,
                           "the event stands for work that is being captured");
    return acu_outcome(
        call, event,
        call_whole(w, "letting all streams wait", cuGreenCtxWaitEvent, cuCtxWaitEvent, event->raw));
}

static whole whole_of(acu_execution_context *context) {
    return (whole){context->object.device, context};
}

acu_result acu_execution_context_record_event(acu_execution_context *context, acu_event *event) {
    ACU_SCOPE();
    ACU_NEED(context, acu_execution_context_class);
    const whole w = whole_of(context);
    return record_event(__func__, &w, event);
}

acu_result acu_execution_context_wait_event(acu_execution_context *context, acu_event *event) {
    ACU_SCOPE();
    ACU_NEED(context, acu_execution_context_class);
    const whole w = whole_of(context);
    return wait_event(__func__, &w, event);
}

acu_result acu_device_record_event(acu_device device, acu_event *event) {
    ACU_SCOPE();
    ACU_TRY(acu_execution_context_begin(__func__, &device));
    return record_event(__func__, &(whole){device, NULL}, event);
}

acu_result acu_device_wait_event(acu_device device, acu_event *event) {
    ACU_SCOPE();
    ACU_TRY(acu_execution_context_begin(__func__, &device));
    return wait_event(__func__, &(whole){device, NULL}, event);
}

/* Waits by an event, because not every driver waits for a context itself. */
static int synchronize(const whole *w, acu_event *event) {
    int code = call_whole(w, "waiting for the execution context", cuGreenCtxRecordEvent,
                          cuCtxRecordEvent, event->raw);
    if (code)
        return code;
    const int mode = acu_thread_ignore_captures();
    code = (int)cudaEventSynchronize(event->raw);
    acu_thread_restore(mode);
    return code;
}

acu_result acu_execution_context_synchronize(acu_execution_context *context) {
    ACU_SCOPE();
    acu_event *event = NULL;
    ACU_NEED(context, acu_execution_context_class);
    ACU_TRY(OUTCOME(context, acu_capture_check()));
    const whole w = whole_of(context);
    ACU_TRY(acu_event_create(w.device, &(acu_event_options){ACU_EVENT_DISABLE_TIMING}, &event));
    const int code = OUTCOME(context, synchronize(&w, event));
    (void)acu_object_release(__func__, event, &acu_event_class);
    acu_destroy_deferred(); /* some of these objects were waiting for this work */
    return code;
}
