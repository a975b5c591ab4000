/*
 * Streams: ordered queues of operations, each worked off by a thread of its own.
 *
 * What orders operations of different streams is in one place: acu_sim_stream_submit() makes an
 * operation wait for those that CUDA puts before it. An operation on a legacy default stream waits
 * for all blocking streams of its context, and theirs for it.
 */
#include "sim/stream/stream.h"

#include "loader/platform.h"
#include "sim/behaviour.h"
#include "sim/caller.h"
#include "sim/device/context.h"
#include "sim/device/device.h"
#include "sim/device/need.h"
#include "sim/noun.h"
#include "sim/set.h"
#include "sim/stream/capture.h"
#include "sim/stream/deferred.h"
#include "sim/stream/execution_context.h"
#include "sim/stream/host_function.h"
#include "sim/stream/op.h"
#include "sim/stream/schedule.h"
#include "sim/stream/shared_event.h"

#include <stdlib.h>

static acu_sim_stream *streams; /* all, also those that only finish their work */
static acu_sim_set handles;
static unsigned long long last_id;

static pthread_cond_t changed = PTHREAD_COND_INITIALIZER; /* an operation is done */
static unsigned waiters, blocked_streams;

/* ---- waiting ---- */

void acu_sim_op_wait(acu_sim_op *op) {
    op->refs++;
    waiters++;
    if (!op->done) {
        acu_sim_schedule_want(op);
        acu_sim_deferred_run(op);
    }
    while (!op->done)
        pthread_cond_wait(&changed, &acu_sim_lock);
    waiters--;
    acu_sim_op_release(op);
}

/* ---- doing the work ---- */

static void free_stream(acu_sim_stream *stream) {
    if (stream->before)
        stream->before->next = stream->next;
    else
        streams = stream->next;
    if (stream->next)
        stream->next->before = stream->before;
    acu_sim_op_release(stream->last);
    pthread_cond_destroy(&stream->wake);
    free(stream);
}

static void push(acu_sim_stream *stream, acu_sim_op *op) {
    op->refs += 2; /* the queue's and `last` */
    op->stream = stream;
    acu_sim_op_release(stream->last);
    stream->last = op;
    if (stream->tail)
        stream->tail->next = op;
    else
        stream->head = op;
    stream->tail = op;
}

static void wake_waiters(void) {
    if (waiters)
        pthread_cond_broadcast(&changed);
    for (acu_sim_stream *s = blocked_streams ? streams : NULL; s; s = s->next)
        if (s->blocked)
            pthread_cond_signal(&s->wake);
}

void acu_sim_streams_wake(void) {
    wake_waiters();
    acu_sim_schedule_wake();
}

void acu_sim_op_finish(acu_sim_op *op) {
    if (!op->run) /* it may end a time that is measured */
        op->ns = acu_platform_now_ns();
    op->done = true;
    if (op->records)
        acu_sim_shared_event_finish(op->records, op->record);
    acu_sim_schedule_done(op);
    acu_sim_op_forget_waits(op);
    wake_waiters();
}

/* Takes a done operation off its stream, which may be gone afterwards. */
static void complete(acu_sim_stream *stream, acu_sim_op *op) {
    stream->head = op->next;
    if (!stream->head)
        stream->tail = NULL;
    op->next = NULL;
    acu_sim_op_finish(op);
    acu_sim_op_release(op);
    if (stream->turn == SIM_THREAD && (stream->head || stream->closing))
        pthread_cond_signal(&stream->wake);
    if (stream->closing && !stream->threaded && !stream->head)
        free_stream(stream);
}

/* Runs an operation, which in a stream is the first of the queue. */
void acu_sim_op_run(acu_sim_device *device, acu_sim_op *op) {
    op->status = device->sticky;
    acu_sim_op_forget_waits(op);
    if (op->run && (!op->status || op->always)) {
        pthread_mutex_unlock(&acu_sim_lock);
        cudaError_t result = op->run(op);
        pthread_mutex_lock(&acu_sim_lock);
        if (result)
            acu_sim_device_fail(device, result);
    }
    if (op->unfinished)
        op->taken = op->unfinished = false;
    else if (op->stream)
        complete(op->stream, op);
    else
        op->over(op);
}

/* Returns whether the operation is a host function, of which one is called at a time. */
static bool is_called(const acu_sim_op *op) {
    return op->type == cudaGraphNodeTypeHost && !acu_sim_configuration()->seeded;
}

/* Begins an operation, by this thread where it has nothing else to do (`here`). */
static void begin(acu_sim_device *device, acu_sim_op *op, bool here) {
    op->taken = true;
    if (!is_called(op))
        acu_sim_op_run(device, op);
    else if (!here || !acu_sim_host_function_here(device, op))
        acu_sim_host_function_queue(device, op);
}

void acu_sim_stream_serve(acu_sim_stream *stream) {
    /* NOLINTBEGIN(clang-analyzer-unix.Malloc): one that has a thread is freed here only */
    while (stream->head || !stream->closing || stream->turn != SIM_THREAD) {
        acu_sim_op *op = stream->head;
        bool ready = op && acu_sim_op_is_ready(op);
        if (ready && !op->taken && stream->turn == SIM_THREAD && !acu_sim_is_unloading()) {
            begin(stream->device, op, true);
            continue;
        }
        stream->blocked = op && !ready;
        blocked_streams += stream->blocked;
        if (op && op->is_due)
            acu_sim_schedule_wait_briefly(&stream->wake);
        else
            pthread_cond_wait(&stream->wake, &acu_sim_lock);
        blocked_streams -= stream->blocked;
        stream->blocked = false;
    }
    /* NOLINTEND(clang-analyzer-unix.Malloc) */
    free_stream(stream);
}

/* Gives the stream a thread; with a seed all streams have the same one. */
static bool start_thread(acu_sim_stream *stream) {
    if (acu_sim_configuration()->seeded)
        return acu_sim_schedule_start();
    if (!stream->threaded)
        stream->threaded = acu_sim_stream_thread_take(stream);
    if (!stream->threaded)
        acu_record_reason("the system refuses one more thread, which a stream with work needs; "
                          "ulimit -u, ulimit -v and the limits of a container decide how many "
                          "there may be");
    return stream->threaded;
}

static bool has_ready(const acu_sim_stream *stream) {
    return stream->head && !stream->head->taken && acu_sim_op_is_ready(stream->head);
}

bool acu_sim_streams_are_ready(void) {
    for (const acu_sim_stream *s = streams; s; s = s->next)
        if (has_ready(s))
            return true;
    return false;
}

bool acu_sim_streams_look(void) {
    for (const acu_sim_stream *s = streams; s; s = s->next)
        if (s->head && s->head->is_due)
            return true;
    return false;
}

bool acu_sim_streams_step(uint64_t random) {
    uint64_t ready = 0;
    for (const acu_sim_stream *s = streams; s; s = s->next)
        ready += has_ready(s);
    uint64_t left = ready ? random % ready : 0;
    for (acu_sim_stream *s = ready ? streams : NULL; s; s = s->next)
        if (has_ready(s) && left-- == 0) {
            begin(s->device, s->head, true);
            return true;
        }
    return false;
}

/* ---- order ---- */

static bool is_blocking(const acu_sim_stream *stream) {
    return !(stream->flags & cudaStreamNonBlocking);
}

/* Orders the operation: the legacy default stream and the blocking streams of a context order each
 * other; execution contexts wait for events. */
static bool order(acu_sim_stream *stream, acu_sim_op *op) {
    const acu_sim_stream *legacy = stream->context->legacy;
    if (!acu_sim_execution_contexts_order(stream, op))
        return false;
    if (!is_blocking(stream) || !legacy)
        return true;
    if (stream != legacy)
        return acu_sim_op_after(op, legacy->last);
    for (acu_sim_stream *s = streams; s; s = s->next)
        if (s != stream && s->context == stream->context && is_blocking(s) &&
            !acu_sim_op_after(op, s->last))
            return false;
    return true;
}

cudaError_t acu_sim_stream_submit(acu_sim_stream *stream, acu_sim_op *op, bool wait) {
    acu_sim_device *device = stream->device;
    cudaError_t why = acu_sim_capture_allows(stream, SIM_ENQUEUES);
    if (!why && stream->capture)
        return acu_sim_capture_add(stream, op);
    bool good = !why && order(stream, op);
    /* At once, in this thread, if nothing is before it and it takes no time or is waited for. */
    bool now = good && !stream->head && acu_sim_op_is_ready(op) &&
               (!op->run || is_called(op) ||
                (wait && !acu_sim_configuration()->seeded && acu_sim_deferred_allows(op)));
    if (good && !now)
        good = start_thread(stream);
    if (good && is_called(op))
        good = acu_sim_host_function_start(device);
    if (good) {
        push(stream, op);
        if (now)
            begin(device, op, false);
        else
            acu_sim_deferred_queue(stream, op);
        acu_sim_schedule_wake();
        if (wait) {
            acu_sim_op_wait(op); /* NOLINT(clang-analyzer-unix.Malloc): it is counted */
            acu_sim_nouns_finished();
        }
    }
    acu_sim_op_release(op); /* NOLINT(clang-analyzer-unix.Malloc): it is counted */
    if (!good)
        return why ? why : cudaErrorMemoryAllocation;
    return wait ? device->sticky : cudaSuccess;
}

bool acu_sim_stream_is_idle(const acu_sim_stream *stream) {
    if (stream->head)
        return false;
    if (stream != stream->context->legacy)
        return true;
    for (const acu_sim_stream *s = streams; s; s = s->next)
        if (s->context == stream->context && is_blocking(s) && s->head)
            return false;
    return true;
}

bool acu_sim_stream_is_free(const acu_sim_stream *stream) {
    const acu_sim_stream *legacy = stream->context->legacy;
    return acu_sim_stream_is_idle(stream) &&
           (!is_blocking(stream) || !legacy || acu_sim_stream_is_idle(legacy)) &&
           acu_sim_execution_contexts_are_open(stream);
}

/* Waits for what was queued before this call, not what others add meanwhile: the newest operation
 * of each stream is noted before the first is waited for. */
static void wait_for(bool (*matches)(const acu_sim_stream *stream, const void *data),
                     const void *data) {
    size_t count = 0, i = 0;
    for (acu_sim_stream *s = streams; s; s = s->next)
        count += s->head && matches(s, data);
    acu_sim_op **ops = count ? malloc(count * sizeof(acu_sim_op *)) : NULL;
    for (acu_sim_stream *s = ops ? streams : NULL; s; s = s->next)
        if (s->head && matches(s, data)) {
            s->last->refs++;
            ops[i++] = s->last;
        }
    for (i = 0; ops && i < count; i++) {
        acu_sim_op_wait(ops[i]);
        acu_sim_op_release(ops[i]); /* NOLINT(clang-analyzer-unix.Malloc): it is counted */
    }
    free(ops);
}

static bool is_of_execution_context(const acu_sim_stream *stream, const void *execution) {
    return acu_sim_execution_context_has(execution, stream);
}

static bool is_of_device(const acu_sim_stream *stream, const void *device) {
    return !device || stream->device == device;
}

static bool is_of_context(const acu_sim_stream *stream, const void *context) {
    return stream->context == context;
}

static bool is_joined_by(const acu_sim_stream *stream, const void *legacy) {
    return stream == legacy ||
           (is_blocking(stream) && stream->context == ((const acu_sim_stream *)legacy)->context);
}

static bool is_it(const acu_sim_stream *stream, const void *other) {
    return stream == other;
}

void acu_sim_stream_wait_device(acu_sim_device *device) {
    wait_for(is_of_device, device);
}

void acu_sim_stream_wait_context(const acu_sim_context *context) {
    wait_for(is_of_context, context);
}

void acu_sim_stream_wait_execution_context(const acu_sim_execution_context *execution) {
    wait_for(is_of_execution_context, execution);
}

/* ---- making and finding ---- */

int acu_sim_stream_nearest_priority(int priority) {
    if (priority < SIM_GREATEST_PRIORITY)
        return SIM_GREATEST_PRIORITY;
    return priority > SIM_LEAST_PRIORITY ? SIM_LEAST_PRIORITY : priority;
}

static acu_sim_stream *new_stream(acu_sim_context *context, unsigned flags, int priority,
                                  const void *where) {
    acu_sim_stream *stream = calloc(1, sizeof *stream);
    if (!stream || pthread_cond_init(&stream->wake, NULL)) {
        free(stream);
        return NULL;
    }
    stream->device = context->device;
    stream->context = context;
    stream->flags = flags;
    stream->priority = acu_sim_stream_nearest_priority(priority);
    stream->id = ++last_id;
    stream->where = where;
    stream->is_default = !where;
    /* None was set. NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange) */
    stream->sync_policy = (enum cudaSynchronizationPolicy)(-1);
    stream->domains.remote = 1;
    stream->next = streams;
    if (streams)
        streams->before = stream;
    streams = stream;
    return stream;
}

void acu_sim_stream_close(acu_sim_stream *stream) {
    acu_sim_set_remove(&handles, stream);
    acu_sim_capture_forget_stream(stream);
    acu_sim_deferred_wake(stream);
    stream->closing = true;
    if (stream->threaded)
        pthread_cond_signal(&stream->wake);
    else if (!stream->head)
        free_stream(stream);
}

acu_sim_stream *acu_sim_stream_new(acu_sim_execution_context *execution, unsigned flags,
                                   int priority, const void *where) {
    acu_sim_stream *stream = new_stream(&execution->device->own, flags, priority, where);
    if (!stream)
        return NULL;
    stream->execution_context = execution->is_primary ? NULL : execution;
    if (acu_sim_set_add(&handles, stream))
        return stream;
    acu_sim_stream_close(stream);
    return NULL;
}

acu_sim_stream *acu_sim_stream_in(const acu_sim_execution_context *execution,
                                  acu_sim_stream *after) {
    acu_sim_stream *s = after ? after->next : streams;
    while (s && (s->closing || !acu_sim_execution_context_has(execution, s) ||
                 s == acu_sim_execution_context_of_stream(s)->records))
        s = s->next;
    return s;
}

acu_sim_stream *acu_sim_stream_of_records(acu_sim_execution_context *execution) {
    if (execution->records)
        return execution->records;
    acu_sim_context *context = execution->context ? execution->context : &execution->device->own;
    acu_sim_stream *made = new_stream(context, cudaStreamNonBlocking, 0, NULL);
    if (made)
        made->execution_context = execution->context ? NULL : execution;
    return execution->records = made;
}

acu_sim_stream *acu_sim_stream_legacy(acu_sim_context *context) {
    if (!context->legacy)
        context->legacy = new_stream(context, cudaStreamDefault, 0, NULL);
    return context->legacy;
}

static acu_sim_stream *known_own(const acu_sim_thread *self, const acu_sim_context *context) {
    acu_sim_stream *stream = self->own;
    if (acu_sim_set_has(&handles, stream) && stream->id == self->own_id &&
        stream->context == context)
        return stream;
    stream = streams;
    while (stream && (stream->thread != self->id || stream->context != context || stream->closing))
        stream = stream->next;
    return stream;
}

static acu_sim_stream *own_stream(acu_sim_context *context) {
    acu_sim_thread *self = acu_sim_self();
    acu_sim_stream *stream = known_own(self, context);
    if (!stream) {
        stream = new_stream(context, cudaStreamDefault, 0, NULL);
        if (!stream || !acu_sim_set_add(&handles, stream))
            return NULL;
        stream->thread = self->id;
    }
    self->own = stream;
    self->own_id = stream->id;
    return stream;
}

static void thread_ended(const acu_sim_thread *self) {
    acu_sim_stream *next;
    for (acu_sim_stream *s = streams; s; s = next) {
        next = s->next;
        if (s->thread == self->id && !s->closing)
            acu_sim_stream_close(s);
    }
}

cudaStream_t acu_sim_stream_handle(cudaStream_t handle) {
    return !handle && acu_sim_self()->call.own_default ? cudaStreamPerThread : handle;
}

acu_sim_stream *acu_sim_stream_named(cudaStream_t handle) {
    acu_sim_stream *named = (acu_sim_stream *)(void *)handle;
    return acu_sim_set_has(&handles, named) && !named->is_default ? named : NULL;
}

cudaError_t acu_sim_stream_of(cudaStream_t handle, acu_sim_stream **stream) {
    handle = acu_sim_stream_handle(handle);
    if (!handle || handle == cudaStreamLegacy)
        *stream = acu_sim_stream_legacy(acu_sim_context_now());
    else if (handle == cudaStreamPerThread)
        *stream = own_stream(acu_sim_context_now());
    else if (!(*stream = acu_sim_stream_named(handle)))
        return SIM_REFUSE(cudaErrorInvalidResourceHandle,
                          "%p is no stream: it was destroyed, or never created", (void *)handle);
    if (*stream && (*stream)->detached)
        return SIM_REFUSE(cudaErrorStreamDetached,
                          "the execution context of stream %p was destroyed", (void *)*stream);
    return *stream ? cudaSuccess : cudaErrorMemoryAllocation;
}

static void reset_device(acu_sim_device *device) {
    acu_sim_stream_wait_device(device);
    acu_sim_stream *next;
    device->own.legacy = NULL;
    for (acu_sim_stream *s = streams; s; s = next) {
        next = s->next;
        if (s->device == device && !s->closing)
            acu_sim_stream_close(s);
    }
}

/* Nothing runs any more on what the other nouns drop next. */
static void drop_context(acu_sim_context *context) {
    acu_sim_stream_wait_context(context);
    acu_sim_stream *next;
    context->legacy = NULL;
    for (acu_sim_stream *s = streams; s; s = next) {
        next = s->next;
        if (s->context == context && !s->closing)
            acu_sim_stream_close(s);
    }
}

static int leaks(int print) {
    int count = 0;
    for (const acu_sim_stream *s = streams; s; s = s->next)
        if (!s->closing && !s->is_default) {
            count++;
            if (print)
                acu_sim_caller_report("stream", s, 0, s->where);
        }
    return count;
}

const acu_sim_noun acu_sim_stream_noun = {.reset_device = reset_device,
                                          .drop_context = drop_context,
                                          .leaks = leaks,
                                          .thread_ended = thread_ended};

/* ---- the API ---- */

static cudaError_t create(cudaStream_t *stream, unsigned flags, int priority, const void *where) {
    if (!stream)
        return SIM_REFUSE(cudaErrorInvalidValue, "there is no place for the stream: it is NULL");
    if (flags & ~(unsigned)cudaStreamNonBlocking)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the flags are 0x%x: a stream has cudaStreamNonBlocking (1), or none",
                          flags);
    SIM_TRY(acu_sim_require(SIM_NEEDS_CONTEXT));
    acu_sim_device *device = acu_sim_device_now();
    acu_sim_stream *made =
        acu_sim_stream_new(acu_sim_execution_context_primary(device), flags, priority, where);
    if (!made)
        return cudaErrorMemoryAllocation;
    made->context = acu_sim_context_now();
    *stream = (cudaStream_t)(void *)made;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaStreamCreate(cudaStream_t *pStream) {
    return create(pStream, cudaStreamDefault, 0, SIM_CALLER);
}

cudaError_t acu_sim_cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags) {
    return create(pStream, flags, 0, SIM_CALLER);
}

cudaError_t acu_sim_cudaStreamCreateWithPriority(cudaStream_t *pStream, unsigned int flags,
                                                 int priority) {
    return create(pStream, flags, priority, SIM_CALLER);
}

cudaError_t acu_sim_stream_usable(cudaStream_t handle, acu_sim_stream **stream) {
    SIM_TRY(acu_sim_stream_of(handle, stream));
    return (*stream)->device->sticky;
}

cudaError_t acu_sim_cudaStreamDestroy(cudaStream_t stream) {
    acu_sim_stream *s = NULL;
    cudaError_t why = acu_sim_stream_usable(stream, &s);
    const bool may_be_detached = acu_sim_behaviour_driver_knows_parts();
    if (why && !(s && why == cudaErrorStreamDetached && may_be_detached))
        return why;
    if (stream == cudaStreamLegacy)
        SIM_TRY(acu_sim_capture_allows(s, SIM_ENQUEUES));
    if (s->is_default)
        return SIM_REFUSE(cudaErrorInvalidResourceHandle, "a default stream cannot be destroyed");
    acu_sim_stream_close(s);
    return cudaSuccess;
}

cudaError_t acu_sim_cudaStreamQuery(cudaStream_t stream) {
    acu_sim_stream *s;
    SIM_TRY(acu_sim_stream_usable(stream, &s));
    SIM_TRY(acu_sim_capture_allows(s, SIM_WAITS));
    acu_sim_schedule_ask();
    SIM_TRY(acu_sim_stream_of(stream, &s)); /* the lock was given up */
    if (!acu_sim_stream_is_idle(s))
        return cudaErrorNotReady;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaStreamSynchronize(cudaStream_t stream) {
    acu_sim_stream *s;
    SIM_TRY(acu_sim_stream_usable(stream, &s));
    SIM_TRY(acu_sim_capture_allows(s, SIM_WAITS));
    acu_sim_device *device = s->device;
    const bool worked = s->last != NULL; /* one that never did is not waited for */
    wait_for(s == s->context->legacy ? is_joined_by : is_it, s);
    acu_sim_nouns_waited(worked); /* s may be destroyed: the lock was given up */
    return device->sticky;
}
