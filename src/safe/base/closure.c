/* Host callbacks: closures that streams call, and those that graphs own. */
#include "safe/base/stream.h"

#include <stdlib.h>

/* ---- waiting to be called -----------------------------------------------------------------------
 *
 * CUDA calls nobody on a device whose context is lost. What waits there is known here, so that its
 * data is destroyed all the same.
 */

typedef struct waiting {
    acu_closure closure;
    int device;
    bool abandoned; /* and destroyed; stays here in case CUDA calls it after all */
    struct waiting *next, **link;
} waiting;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static waiting *first;

static void link_in(waiting *w) {
    pthread_mutex_lock(&lock);
    w->next = first;
    w->link = &first;
    if (first)
        first->link = &w->next;
    first = w;
    pthread_mutex_unlock(&lock);
}

/* Whether it is still to be called. */
static bool take_out(waiting *w) {
    pthread_mutex_lock(&lock);
    *w->link = w->next;
    if (w->next)
        w->next->link = w->link;
    bool abandoned = w->abandoned;
    pthread_mutex_unlock(&lock);
    return !abandoned;
}

static waiting *find(int device) {
    waiting *w = first;
    while (w && (w->device != device || w->abandoned))
        w = w->next;
    return w;
}

static bool is_waited_for(int device) {
    pthread_mutex_lock(&lock);
    bool any = find(device) != NULL;
    pthread_mutex_unlock(&lock);
    return any;
}

static bool abandon_one(int device) {
    acu_closure closure = {NULL, NULL, NULL};
    pthread_mutex_lock(&lock);
    waiting *w = find(device);
    if (w) {
        w->abandoned = true;
        closure = w->closure;
    }
    pthread_mutex_unlock(&lock);
    if (closure.destroy)
        closure.destroy(closure.data);
    return w != NULL;
}

/* Any call that needs the context says so. */
static bool is_lost(int device) {
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
    if (!is_waited_for(device) || acu_is_unloading() || !is_lost(device))
        return;
    while (abandon_one(device)) {
    }
}

/* ---- called ------------------------------------------------------------------------------------
 */

/* cudaLaunchHostFunc would not call it where the stream has failed but the context lives. */
static void run(cudaStream_t unused, cudaError_t status, void *data) {
    waiting *w = data;
    (void)unused;
    acu_callback_begin();
    if (take_out(w)) {
        if (status == cudaSuccess)
            w->closure.call(w->closure.data);
        if (w->closure.destroy)
            w->closure.destroy(w->closure.data);
    }
    free(w);
    acu_callback_end();
}

static int add(acu_stream *stream, waiting *w) {
    acu_guard guard;
    int code = acu_stream_enter(stream, &guard);
    if (!code)
        code = acu_stream_check_uncaptured(stream);
    if (!code) {
        link_in(w);
        code = (int)cudaStreamAddCallback(stream->raw, run, w, 0);
        if (code)
            take_out(w);
    }
    acu_guard_leave(&guard);
    return code;
}

static int destroy_closure(acu_object *object) {
    const acu_closure *closure = &((acu_kept_closure *)object)->closure;
    if (closure->destroy)
        closure->destroy(closure->data);
    return 0;
}

static const acu_class closure_class = {"closure", destroy_closure, NULL};

acu_kept_closure *acu_closure_new(const char *call, const acu_closure *closure) {
    acu_kept_closure *kept = acu_object_new(call, &closure_class, sizeof *kept, -1);
    if (kept)
        kept->closure = *closure;
    return kept;
}

void acu_closure_run(void *kept) {
    const acu_closure *closure = &((acu_kept_closure *)kept)->closure;
    acu_callback_begin();
    closure->call(closure->data);
    acu_callback_end();
}

/* It is called at each launch of the graph, and destroyed with it; not, where this fails. */
static int capture_closure(const char *call, acu_stream *stream, const acu_closure *closure) {
    acu_capture *capture = acu_capture_of(stream);
    acu_kept_closure *kept = acu_closure_new(call, closure);
    if (!kept)
        return ACU_ERROR_HOST_MEMORY;
    int code = capture->use(capture, &kept->object, false);
    if (!code)
        code = (int)cudaLaunchHostFunc(stream->raw, acu_closure_run, kept);
    if (code)
        kept->closure.destroy = NULL;
    (void)acu_object_release(NULL, kept, &closure_class);
    return acu_outcome(call, stream, code);
}

static int call_closure(const char *call, acu_stream *stream, const acu_closure *closure) {
    ACU_TRY(acu_stream_check(call, stream));
    if (!closure->call)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'closure.call' is NULL");
    if (acu_capture_of(stream))
        return capture_closure(call, stream, closure);
    waiting *w = malloc(sizeof *w);
    if (!w)
        return acu_fail(call, "", ACU_ERROR_HOST_MEMORY, "no memory for a closure");
    *w = (waiting){.closure = *closure, .device = stream->object.device};
    int code = add(stream, w);
    if (code)
        free(w);
    return acu_outcome(call, stream, code);
}

acu_result acu_stream_call(acu_stream *stream, acu_closure closure) {
    int code = call_closure(__func__, stream, &closure);
    if (code && closure.destroy)
        closure.destroy(closure.data);
    return code;
}

/* A closure, too, so that what it releases is known to be released in a callback; but not in a
 * capture that nobody told of: there is no graph of ours to keep it. */
acu_result acu_stream_call_function(acu_stream *stream, void (*function)(void *data), void *data) {
    acu_guard guard;
    bool captured = false;
    ACU_NEED_POINTER(function);
    ACU_NEED_STREAM(stream);
    ACU_TRY(acu_stream_is_capturing(stream, &captured));
    if (!captured || acu_capture_of(stream))
        return call_closure(__func__, stream, &(acu_closure){function, data, NULL});
    int code = acu_stream_enter(stream, &guard);
    if (!code)
        code = (int)cudaLaunchHostFunc(stream->raw, function, data);
    acu_guard_leave(&guard);
    return acu_outcome(__func__, stream, code);
}
