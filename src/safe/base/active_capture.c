/* The captures under way: which streams are in them, and what would break them. */
#include "safe/base/active_capture.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all captures and their streams */
static uint64_t captures_begun;
/* How many threads wait for each device; under the lock. A device beyond the table shares a place.
 */
static unsigned device_waits[ACU_COUNTED_DEVICES];
static pthread_cond_t device_wait_is_over = PTHREAD_COND_INITIALIZER;

/* Finds the capture with this id. The list of captures is acu_watched.captures. */
static acu_capture *find(uint64_t id) {
    acu_capture *capture = acu_watched.captures;
    while (capture && capture->id != id)
        capture = capture->next;
    return capture;
}

static void set_capture(acu_stream *stream, acu_capture *capture) {
    __atomic_store_n(&stream->capture, capture, __ATOMIC_RELEASE);
    __atomic_store_n(&stream->timeline->capture, capture ? capture->id : 0, __ATOMIC_RELEASE);
}

static unsigned *waits_for(int device) {
    return &device_waits[(unsigned)device % ACU_COUNTED_DEVICES];
}

/* Waits until no thread waits for the device. The caller holds the lock, which is given up
 * meanwhile. */
static void wait_until_nobody_waits_for(int device) {
    while (*waits_for(device) > 0)
        pthread_cond_wait(&device_wait_is_over, &lock);
}

/* ---- which streams ---- */

void acu_capture_begin(acu_capture *capture, acu_stream *origin) {
    acu_object_delay_by(acu_capture_delays_slow);
    acu_capture_order_init(&capture->order);
    if (capture->mode == cudaStreamCaptureModeGlobal)
        __atomic_store_n(&acu_watched.global_captures, true, __ATOMIC_RELEASE);
    pthread_mutex_lock(&lock);
    wait_until_nobody_waits_for(origin->object.device);
    capture->id = ++captures_begun;
    capture->origin = origin;
    capture->thread = acu_thread_id();
    capture->next = acu_watched.captures;
    __atomic_store_n(&acu_watched.captures, capture, __ATOMIC_RELEASE);
    set_capture(origin, capture);
    pthread_mutex_unlock(&lock);
}

bool acu_capture_join(uint64_t id, acu_stream *stream) {
    bool joined = false;
    pthread_mutex_lock(&lock);
    if (!stream->capture)
        wait_until_nobody_waits_for(stream->object.device);
    acu_capture *capture = find(id);
    if (capture && !stream->capture) {
        set_capture(stream, capture);
        stream->next_joined = capture->joined;
        acu_object_add_owner(stream);
        capture->joined = stream;
        joined = true;
    }
    pthread_mutex_unlock(&lock);
    return joined;
}

void acu_capture_leave(acu_stream *stream) {
    pthread_mutex_lock(&lock);
    acu_capture *capture = stream->capture; /* NULL: another thread has ended it meanwhile */
    acu_stream **link = capture ? &capture->joined : NULL;
    while (link && *link != stream)
        link = &(*link)->next_joined;
    if (link) {
        *link = stream->next_joined;
        set_capture(stream, NULL);
    }
    pthread_mutex_unlock(&lock);
    if (link)
        (void)acu_object_release(NULL, stream, &acu_stream_class);
}

void acu_capture_end(acu_capture *capture) {
    pthread_mutex_lock(&lock);
    acu_capture **link = &acu_watched.captures;
    while (*link != capture)
        link = &(*link)->next;
    __atomic_store_n(link, capture->next, __ATOMIC_RELEASE);
    set_capture(capture->origin, NULL);
    for (acu_stream *stream = capture->joined; stream; stream = stream->next_joined)
        set_capture(stream, NULL);
    pthread_mutex_unlock(&lock);
    acu_capture_order_destroy(&capture->order);
    while (capture->joined) {
        acu_stream *stream = capture->joined;
        capture->joined = stream->next_joined;
        (void)acu_object_release("acu_stream_end_capture", stream, &acu_stream_class);
    }
}

bool acu_capture_is_active(uint64_t id) {
    pthread_mutex_lock(&lock);
    bool active = find(id) != NULL;
    pthread_mutex_unlock(&lock);
    return active;
}

/* ---- what would break them ---- */

/* Returns whether the stream is in the execution context; where that is NULL, on the device. */
static bool is_in(const acu_stream *stream, int device, const acu_object *context) {
    return context ? stream->context == context : stream->object.device == device;
}

static bool is_on(const acu_capture *capture, int device, const acu_object *context) {
    bool on = is_in(capture->origin, device, context);
    for (const acu_stream *s = capture->joined; s && !on; s = s->next_joined)
        on = is_in(s, device, context);
    return on;
}

/* Returns the capture that destroying the object, or anything where that is NULL, would break; NULL
 * if there is none. The caller holds the lock. */
static const acu_capture *find_delaying(const acu_object *object) {
    const acu_capture *delaying = NULL;
    for (const acu_capture *c = acu_watched.captures; c; c = c->next) {
        if (&c->origin->object == object)
            return NULL; /* the capture ends with its stream */
        if (c->mode == cudaStreamCaptureModeGlobal ||
            (c->mode == cudaStreamCaptureModeThreadLocal && c->thread == acu_thread_id()))
            delaying = c;
    }
    return delaying;
}

static const acu_capture *find_on(int device, const acu_object *context) {
    const acu_capture *c = acu_watched.captures;
    while (c && !is_on(c, device, context))
        c = c->next;
    return c;
}

/* Records that `what` would break the capture, and gives up the lock. Returns 0 without a
 * capture. */
static int refuse_and_unlock(const acu_capture *capture, const char *what) {
    char stream[ACU_OBJECT_TEXT];
    if (!capture) {
        pthread_mutex_unlock(&lock);
        return 0;
    }
    acu_object_describe(capture->origin, stream);
    pthread_mutex_unlock(&lock);
    acu_fail_hint("do it before the capture begins or after its end");
    return acu_record(ACU_ERROR_CAPTURE, "%s would break the capture that began on %s", what,
                      stream);
}

int acu_capture_check(void) {
    if (ACU_LIKELY(!ACU_WATCHED(captures)))
        return 0;
    pthread_mutex_lock(&lock);
    return refuse_and_unlock(find_delaying(NULL), "this call");
}

int acu_capture_begin_whole(int device, const acu_object *context, const char *what) {
    pthread_mutex_lock(&lock);
    const acu_capture *capture = find_on(device, context);
    *waits_for(device) += !capture;
    return refuse_and_unlock(capture, what);
}

void acu_capture_end_whole(int device) {
    pthread_mutex_lock(&lock);
    --*waits_for(device);
    pthread_cond_broadcast(&device_wait_is_over);
    pthread_mutex_unlock(&lock);
}

bool acu_capture_delays_slow(const acu_object *object) {
    pthread_mutex_lock(&lock);
    const bool delays = find_delaying(object) != NULL;
    pthread_mutex_unlock(&lock);
    return delays;
}
