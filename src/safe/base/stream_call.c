/* Streams: closures and functions of the host that they call. */
#include "safe/base/closure.h"
#include "safe/base/stream.h"

#include <stdlib.h>

/* ---- calls that wait ---- */

/*
 * A closure that CUDA has been asked to call. On a device whose context has failed CUDA calls
 * nothing, so the calls that wait are listed here: their data is then destroyed without a call.
 */
typedef struct waiting_call {
    acu_closure closure;
    int device;     /* ordinal */
    bool abandoned; /* under the lock: the data is destroyed; the memory stays for CUDA, which may
                       call after all */
    struct waiting_call *next, **link; /* in the list; under the lock */
} waiting_call;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static waiting_call *first; /* the list of all; under the lock */

static void add_to_list(waiting_call *w) {
    pthread_mutex_lock(&lock);
    w->next = first;
    w->link = &first;
    if (first)
        first->link = &w->next;
    first = w;
    pthread_mutex_unlock(&lock);
}

/* Returns whether the closure is still to be called. */
static bool remove_from_list(waiting_call *w) {
    pthread_mutex_lock(&lock);
    *w->link = w->next;
    if (w->next)
        w->next->link = w->link;
    bool abandoned = w->abandoned;
    pthread_mutex_unlock(&lock);
    return !abandoned;
}

/* Returns a call on the device whose data is not destroyed yet, or NULL; the caller holds the lock.
 */
static waiting_call *find(int device) {
    waiting_call *w = first;
    while (w && (w->device != device || w->abandoned))
        w = w->next;
    return w;
}

static bool has_waiting_calls(int device) {
    pthread_mutex_lock(&lock);
    bool any = find(device) != NULL;
    pthread_mutex_unlock(&lock);
    return any;
}

/* Destroys the data of one call; returns false if there was none. */
static bool abandon_one(int device) {
    acu_closure closure = {NULL, NULL, NULL};
    pthread_mutex_lock(&lock);
    waiting_call *w = find(device);
    if (w) {
        w->abandoned = true;
        closure = w->closure;
    }
    pthread_mutex_unlock(&lock);
    if (closure.destroy)
        closure.destroy(closure.data);
    return w != NULL;
}

/* Returns whether the device's context has failed: then any call of CUDA that needs it fails. */
static bool has_failed(int device) {
    acu_saved_record saved;
    acu_guard guard;
    size_t available, total;
    acu_record_save(&saved);
    int code = acu_guard_enter(&guard, device);
    if (!code)
        code = (int)cudaMemGetInfo(&available, &total);
    acu_guard_leave(&guard);
    acu_record_restore(&saved);
    return code != 0;
}

void acu_stream_abandon_calls(int device) {
    if (!has_waiting_calls(device) || acu_is_unloading() || !has_failed(device))
        return;
    while (abandon_one(device)) {
    }
}

/* ---- calling ---- */

/* A cudaStreamCallback_t. CUDA runs a cudaLaunchHostFunc() only if the stream has not failed, but a
 * callback in any case, so that the data is destroyed. */
static void run(cudaStream_t unused, cudaError_t status, void *data) {
    waiting_call *w = data;
    (void)unused;
    acu_callback_begin();
    if (remove_from_list(w)) {
        if (status == cudaSuccess)
            w->closure.call(w->closure.data);
        if (w->closure.destroy)
            w->closure.destroy(w->closure.data);
    }
    free(w);
    acu_callback_end();
}

/* A cudaHostFn_t, which CUDA calls only where nothing has failed. */
static void run_well(void *data) {
    run(NULL, cudaSuccess, data);
}

/* Without a callback CUDA waits in the way that is asked for. */
static int add(acu_stream *stream, waiting_call *w, acu_host_wait wait) {
    return wait == ACU_HOST_BLOCK
               ? (int)cudaStreamAddCallback(stream->raw, run, w, 0)
               : (int)cudaLaunchHostFunc_v2(stream->raw, run_well, w, (unsigned)wait);
}

static int add_callback(acu_stream *stream, waiting_call *w, acu_host_wait wait) {
    acu_guard guard;
    int code = acu_stream_enter(stream, &guard);
    if (!code)
        code = acu_stream_check_uncaptured(stream);
    if (!code) {
        add_to_list(w);
        code = add(stream, w, wait);
        if (code)
            remove_from_list(w);
    }
    acu_guard_leave(&guard);
    return code;
}

/* Lets the graph that is captured keep the closure: each launch calls it, and the data is destroyed
 * with the graph. Where this fails, the data stays the caller's. */
static int capture_call(const char *call, acu_stream *stream, const acu_closure *closure,
                        acu_host_wait wait) {
    acu_capture *capture = acu_capture_of(stream);
    acu_kept_closure *kept = acu_closure_new(call, closure);
    if (!kept)
        return ACU_ERROR_HOST_MEMORY;
    int code = capture->use(capture, &kept->object, false);
    if (!code)
        code = wait == ACU_HOST_BLOCK
                   ? (int)cudaLaunchHostFunc(stream->raw, acu_closure_run, kept)
                   : (int)cudaLaunchHostFunc_v2(stream->raw, acu_closure_run, kept, (unsigned)wait);
    if (code)
        kept->closure.destroy = NULL;
    (void)acu_object_release(NULL, kept, kept->object.was);
    return acu_outcome(call, stream, code);
}

static int call_closure(const char *call, acu_stream *stream, const acu_closure *closure,
                        acu_host_wait wait) {
    ACU_TRY(acu_stream_check(call, stream));
    if (wait != ACU_HOST_BLOCK && wait != ACU_HOST_SPIN)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "there is no way %d to wait", (int)wait);
    if (!closure->call)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'closure.call' is NULL");
    if (acu_capture_of(stream))
        return capture_call(call, stream, closure, wait);
    waiting_call *w = malloc(sizeof *w);
    if (!w)
        return acu_fail(call, "", ACU_ERROR_HOST_MEMORY, "the host has no memory for a closure");
    *w = (waiting_call){.closure = *closure, .device = stream->object.device};
    int code = add_callback(stream, w, wait);
    if (code)
        free(w);
    return acu_outcome(call, stream, code);
}

acu_result acu_stream_call(acu_stream *stream, acu_closure closure) {
    ACU_SCOPE();
    int code = call_closure(__func__, stream, &closure, ACU_HOST_BLOCK);
    if (code && closure.destroy)
        closure.destroy(closure.data);
    return code;
}

acu_result acu_stream_call_with(acu_stream *stream, acu_closure closure, acu_host_wait wait) {
    ACU_SCOPE();
    int code = call_closure(__func__, stream, &closure, wait);
    if (code && closure.destroy)
        closure.destroy(closure.data);
    return code;
}

/* The function becomes a closure, so that what it releases is known to be released in a callback.
 * In a capture that anycuda did not begin it does not, because no graph of anycuda could keep that.
 */
acu_result acu_stream_call_function(acu_stream *stream, void (*function)(void *data), void *data) {
    ACU_SCOPE();
    acu_guard guard;
    bool captured = false;
    ACU_NEED_POINTER(function);
    ACU_NEED_STREAM(stream);
    ACU_TRY(acu_stream_is_capturing(stream, &captured));
    if (!captured || acu_capture_of(stream))
        return call_closure(__func__, stream, &(acu_closure){function, data, NULL}, ACU_HOST_BLOCK);
    int code = acu_stream_enter(stream, &guard);
    if (!code)
        code = (int)cudaLaunchHostFunc(stream->raw, function, data);
    acu_guard_leave(&guard);
    return acu_outcome(__func__, stream, code);
}
