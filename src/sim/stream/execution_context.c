/*
 * Execution contexts: a device's own, and green ones, which have some of its processors and streams
 * that use only these. CUDA does not promise that nothing else runs there, so the simulator lets
 * streams of all contexts work at once.
 */
#include "sim/stream/execution_context.h"

#include "sim/caller.h"
#include "sim/device/context.h"
#include "sim/device/device.h"
#include "sim/device/device_resource.h"
#include "sim/device/need.h"
#include "sim/noun.h"
#include "sim/set.h"
#include "sim/stream/capture.h"
#include "sim/stream/event.h"
#include "sim/stream/op.h"
#include "sim/stream/stream.h"

#include <stdlib.h>

static acu_sim_execution_context primaries[SIM_DEVICES];
static acu_sim_execution_context *contexts; /* green */
static acu_sim_set handles;
static char no_stream;

acu_sim_execution_context *acu_sim_execution_context_primary(acu_sim_device *device) {
    acu_sim_execution_context *execution = &primaries[device->index];
    if (!execution->device)
        *execution = (acu_sim_execution_context){.device = device,
                                                 .id = (unsigned long long)device->index + 1,
                                                 .is_primary = true,
                                                 .context = &device->own,
                                                 .processors = acu_sim_processors_all(device),
                                                 .queues = acu_sim_device_queues(device)};
    return execution;
}

acu_sim_execution_context *acu_sim_execution_context_whole(acu_sim_context *context) {
    acu_sim_execution_context *primary = acu_sim_execution_context_primary(context->device);
    if (!context->made)
        return primary;
    if (!context->whole && (context->whole = calloc(1, sizeof *context->whole)))
        *context->whole = (acu_sim_execution_context){.device = context->device,
                                                      .id = context->id,
                                                      .context = context,
                                                      .processors = primary->processors,
                                                      .queues = primary->queues};
    return context->whole;
}

acu_sim_execution_context *acu_sim_execution_context_of(cudaExecutionContext_t handle) {
    acu_sim_execution_context *execution = (acu_sim_execution_context *)(void *)handle;
    for (int i = 0; i < acu_sim_configuration()->devices; i++)
        if (execution == &primaries[i])
            return acu_sim_execution_context_primary(acu_sim_device_at(i));
    return acu_sim_set_has(&handles, execution) ? execution : NULL;
}

acu_sim_execution_context *acu_sim_execution_context_of_stream(const acu_sim_stream *stream) {
    acu_sim_execution_context *whole = stream->context->whole;
    return stream->execution_context ? stream->execution_context
           : whole                   ? whole
                                     : acu_sim_execution_context_primary(stream->device);
}

bool acu_sim_execution_context_has(const acu_sim_execution_context *execution,
                                   const acu_sim_stream *stream) {
    return stream->execution_context == execution ||
           (execution->context && stream->context == execution->context);
}

static cudaExecutionContext_t handle_of(acu_sim_execution_context *execution) {
    return (cudaExecutionContext_t)(void *)execution;
}

/* ---- life ---- */

/* Makes a green context, which retains the context of its device. */
static cudaError_t make(cudaDevResourceDesc_t desc, int index, const void *where,
                        acu_sim_execution_context **made) {
    acu_sim_device *device = acu_sim_device_at(index);
    acu_sim_execution_context *execution = calloc(1, sizeof *execution);
    cudaError_t why = !device ? cudaErrorInvalidDevice : cudaSuccess;
    if (!why && !execution)
        why = cudaErrorMemoryAllocation;
    const acu_sim_resources *has = acu_sim_descriptor_read(desc);
    if (!why && (!has || has->device != device))
        why = cudaErrorInvalidValue;
    const bool of_runtime = device && device->of_runtime;
    if (!why)
        why = acu_sim_device_activate(device);
    if (!why && !acu_sim_set_add(&handles, execution))
        why = cudaErrorMemoryAllocation;
    if (why) {
        free(execution);
        return why;
    }
    device->of_runtime = of_runtime;
    device->retained++;
    execution->device = device;
    execution->processors = has->processors;
    execution->queues = has->queues;
    execution->together = has->together;
    execution->flags = has->flags;
    execution->id = acu_sim_context_new_id();
    execution->where = where;
    execution->next = contexts;
    *made = contexts = execution;
    return cudaSuccess;
}

static void free_context(acu_sim_execution_context *execution) {
    acu_sim_execution_context **link = &contexts;
    while (*link != execution)
        link = &(*link)->next;
    *link = execution->next;
    execution->device->retained--;
    acu_sim_set_remove(&handles, execution);
    acu_sim_op_release(execution->barrier);
    free(execution);
}

static void reset_device(acu_sim_device *device) {
    acu_sim_execution_context *next, *primary = &primaries[device->index];
    for (acu_sim_execution_context *c = contexts; c; c = next) {
        next = c->next;
        if (c->device == device)
            free_context(c);
    }
    acu_sim_op_release(primary->barrier);
    *primary = (acu_sim_execution_context){0};
}

/* Green contexts belong to the device's own context. */
static void drop_context(acu_sim_context *context) {
    if (!context->made)
        reset_device(context->device);
    if (context->whole)
        acu_sim_op_release(context->whole->barrier);
    free(context->whole);
    context->whole = NULL;
}

static int leaks(int print) {
    int count = 0;
    for (const acu_sim_execution_context *c = contexts; c; c = c->next, count++)
        if (print)
            acu_sim_caller_report("green execution", c, 0, c->where);
    return count;
}

const acu_sim_noun acu_sim_execution_context_noun = {
    .reset_device = reset_device, .drop_context = drop_context, .leaks = leaks};

cudaError_t acu_sim_cudaGreenCtxCreate(cudaExecutionContext_t *phCtx, cudaDevResourceDesc_t desc,
                                       int device, unsigned int flags) {
    acu_sim_execution_context *made = NULL;
    SIM_TRY(acu_sim_driver_has(&acu_function_cuGreenCtxCreate));
    if (!phCtx || !desc || flags)
        return cudaErrorInvalidValue;
    SIM_TRY(make(desc, device, SIM_CALLER, &made));
    *phCtx = handle_of(made);
    return cudaSuccess;
}

/* Finds an execution context. Other arguments that are not `good` are an error, too. */
static cudaError_t find(cudaExecutionContext_t handle, bool good,
                        acu_sim_execution_context **execution) {
    if (!handle || !good)
        return cudaErrorInvalidValue;
    *execution = acu_sim_execution_context_of(handle);
    return *execution ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

/* Does what find() does, but also returns an error unless the device has its context, without a
 * fault. */
static cudaError_t find_active(cudaExecutionContext_t handle, bool good,
                               acu_sim_execution_context **execution) {
    SIM_TRY(find(handle, good, execution));
    return (*execution)->device->active ? (*execution)->device->sticky
                                        : cudaErrorDeviceUninitialized;
}

/* The streams stay, and can only be destroyed. */
cudaError_t acu_sim_cudaExecutionCtxDestroy(cudaExecutionContext_t ctx) {
    acu_sim_execution_context *execution = NULL;
    SIM_TRY(find(ctx, true, &execution));
    if (execution->is_primary)
        return cudaErrorInvalidValue;
    acu_sim_device *device = execution->device;
    (void)acu_sim_capture_allows_execution_context(execution);
    for (acu_sim_stream *s = NULL; (s = acu_sim_stream_in(execution, s));) {
        s->detached = true;
        s->execution_context = NULL;
    }
    if (execution->records) {
        execution->records->execution_context = NULL;
        acu_sim_stream_close(execution->records);
    }
    free_context(execution);
    if (!device->retained && !device->of_runtime)
        acu_sim_device_clear(device, false);
    return cudaSuccess;
}

/* ---- resources ---- */

static cudaError_t resource_of(const acu_sim_execution_context *execution,
                               enum cudaDevResourceType type, cudaDevResource *resource) {
    const acu_sim_resources all = {execution->device, execution->processors, execution->queues,
                                   execution->together, execution->flags};
    return acu_sim_resource_get(&all, type, resource);
}

cudaError_t acu_sim_cudaDeviceGetExecutionCtx(cudaExecutionContext_t *ctx, int device) {
    acu_sim_device *d = acu_sim_device_at(device);
    if (!ctx)
        return cudaErrorInvalidValue;
    if (!d)
        return cudaErrorInvalidDevice;
    SIM_TRY(acu_sim_device_activate(d));
    *ctx = handle_of(acu_sim_execution_context_primary(d));
    return cudaSuccess;
}

cudaError_t acu_sim_cudaExecutionCtxGetDevice(int *device, cudaExecutionContext_t ctx) {
    acu_sim_execution_context *execution = NULL;
    SIM_TRY(find(ctx, device != NULL, &execution));
    *device = execution->device->index;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaExecutionCtxGetId(cudaExecutionContext_t ctx, unsigned long long *ctxId) {
    acu_sim_execution_context *execution = NULL;
    SIM_TRY(find(ctx, ctxId != NULL, &execution));
    *ctxId = execution->id;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaExecutionCtxGetDevResource(cudaExecutionContext_t ctx,
                                                   cudaDevResource *resource,
                                                   enum cudaDevResourceType type) {
    acu_sim_execution_context *execution = NULL;
    SIM_TRY(find(ctx, resource != NULL, &execution));
    return resource_of(execution, type, resource);
}

/* A stream has processors only. */
cudaError_t acu_sim_cudaStreamGetDevResource(cudaStream_t hStream, cudaDevResource *resource,
                                             enum cudaDevResourceType type) {
    acu_sim_stream *s;
    SIM_TRY(acu_sim_stream_usable(hStream, &s));
    if (!resource)
        return cudaErrorInvalidValue;
    SIM_TRY(acu_sim_driver_has(&acu_function_cuStreamGetDevResource));
    if (type != cudaDevResourceTypeSm)
        return cudaErrorInvalidResourceType;
    return resource_of(acu_sim_execution_context_of_stream(s), type, resource);
}

/* ---- streams ---- */

/* A green context's never wait for the stream that all others wait for. Where none was made, a GPU
 * left a handle that was neither NULL nor a stream's. */
cudaError_t acu_sim_cudaExecutionCtxStreamCreate(cudaStream_t *phStream, cudaExecutionContext_t ctx,
                                                 unsigned int flags, int priority) {
    acu_sim_execution_context *execution = NULL;
    bool good = phStream && !(flags & ~(unsigned)cudaStreamNonBlocking);
    cudaError_t why = acu_sim_require(SIM_NEEDS_DRIVER);
    if (!why)
        why = find_active(ctx, good, &execution);
    if (why && ctx && phStream)
        *phStream = (cudaStream_t)(void *)&no_stream;
    SIM_TRY(why);
    unsigned kind = execution->is_primary ? flags : (unsigned)cudaStreamNonBlocking;
    acu_sim_stream *made = acu_sim_stream_new(execution, kind, priority, SIM_CALLER);
    if (!made)
        return cudaErrorMemoryAllocation;
    *phStream = (cudaStream_t)(void *)made;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaExecutionCtxSynchronize(cudaExecutionContext_t ctx) {
    acu_sim_execution_context *execution = NULL;
    SIM_TRY(find_active(ctx, true, &execution));
    SIM_TRY(acu_sim_capture_allows_execution_context(execution));
    acu_sim_device *device = execution->device;
    acu_sim_stream_wait_execution_context(execution);
    acu_sim_nouns_waited(true);
    return device->sticky;
}

/* ---- events of all streams ---- */

/* Makes an operation wait for all that a barrier waits for; returns false without memory. */
static bool order_after(const acu_sim_op *barrier, acu_sim_op *op) {
    bool good = true;
    for (size_t i = 0; good && barrier && i < barrier->wait_count; i++)
        good = acu_sim_op_after(op, barrier->waits[i]);
    return good;
}

/* Returns the execution context with all streams of a context; NULL: there is none, so it has no
 * barrier either. */
static const acu_sim_execution_context *whole_of(const acu_sim_context *context) {
    return context->made ? context->whole : &primaries[context->device->index];
}

bool acu_sim_execution_contexts_order(const acu_sim_stream *stream, acu_sim_op *op) {
    const acu_sim_execution_context *whole = whole_of(stream->context);
    return (!whole || order_after(whole->barrier, op)) &&
           (!stream->execution_context || order_after(stream->execution_context->barrier, op));
}

static bool is_done(const acu_sim_op *barrier) {
    size_t i = 0;
    while (barrier && i < barrier->wait_count && barrier->waits[i]->done)
        i++;
    return !barrier || i == barrier->wait_count;
}

bool acu_sim_execution_contexts_are_open(const acu_sim_stream *stream) {
    const acu_sim_execution_context *whole = whole_of(stream->context);
    return (!whole || is_done(whole->barrier)) &&
           (!stream->execution_context || is_done(stream->execution_context->barrier));
}

/* Records an event by an operation in a stream that the program does not see. The operation waits
 * for the last one of each stream. */
static cudaError_t record(acu_sim_execution_context *execution, acu_sim_event *event) {
    acu_sim_op *op = acu_sim_op_new(cudaGraphNodeTypeEmpty, NULL);
    bool good = op != NULL;
    for (acu_sim_stream *s = NULL; good && (s = acu_sim_stream_in(execution, s));)
        good = acu_sim_op_after(op, s->last);
    acu_sim_stream *own = good ? acu_sim_stream_of_records(execution) : NULL;
    if (!own) {
        acu_sim_op_release(op);
        return cudaErrorMemoryAllocation;
    }
    acu_sim_event_mark(event, op);
    return acu_sim_stream_submit(own, op, false);
}

/* The event must belong to the context. */
cudaError_t acu_sim_execution_context_record(acu_sim_execution_context *execution,
                                             cudaEvent_t event) {
    const acu_sim_context *context =
        execution->context ? execution->context : &execution->device->own;
    acu_sim_event *e = acu_sim_event_of(event);
    if (!e || e->context != context)
        return cudaErrorInvalidResourceHandle;
    cudaError_t why = acu_sim_capture_allows_execution_context(execution);
    return why ? why : record(execution, e);
}

cudaError_t acu_sim_cudaExecutionCtxRecordEvent(cudaExecutionContext_t ctx, cudaEvent_t event) {
    acu_sim_execution_context *execution = NULL;
    SIM_TRY(find_active(ctx, true, &execution));
    return acu_sim_execution_context_record(execution, event);
}

/* Adds an operation to those that later work waits for, and forgets those that are done. */
static cudaError_t add_to_barrier(acu_sim_execution_context *execution, acu_sim_op *before) {
    acu_sim_op *barrier = acu_sim_op_new(cudaGraphNodeTypeEmpty, NULL);
    bool good =
        barrier && acu_sim_op_after(barrier, before) && order_after(execution->barrier, barrier);
    acu_sim_op_release(good ? execution->barrier : barrier);
    if (good)
        execution->barrier = barrier;
    return good ? cudaSuccess : cudaErrorMemoryAllocation;
}

/* An event that was recorded in a capture is refused, and makes that capture invalid. */
cudaError_t acu_sim_execution_context_wait(acu_sim_execution_context *execution,
                                           cudaEvent_t event) {
    const acu_sim_event *e = acu_sim_event_of(event);
    if (!e)
        return cudaErrorInvalidResourceHandle;
    if (e->capture) {
        (void)acu_sim_capture_refuse(e->capture, false);
        return cudaErrorStreamCaptureUnsupported;
    }
    cudaError_t why = acu_sim_capture_allows_execution_context(execution);
    return why || !e->record || e->record->done ? why : add_to_barrier(execution, e->record);
}

cudaError_t acu_sim_cudaExecutionCtxWaitEvent(cudaExecutionContext_t ctx, cudaEvent_t event) {
    acu_sim_execution_context *execution = NULL;
    SIM_TRY(find_active(ctx, true, &execution));
    return acu_sim_execution_context_wait(execution, event);
}
