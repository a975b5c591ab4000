/* The captures under way: which streams are in them, and what would break them. */
#include "safe/base/active_capture.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all captures and their streams */
static uint64_t captures_begun;

/* The list of captures is acu_watched.captures. */
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

/* ---- which streams ---- */

void acu_capture_begin(acu_capture *capture, acu_stream *origin) {
    acu_object_delay_by(acu_capture_delays_slow);
    pthread_mutex_lock(&lock);
    capture->id = ++captures_begun;
    capture->origin = origin;
    capture->thread = pthread_self();
    capture->next = acu_watched.captures;
    __atomic_store_n(&acu_watched.captures, capture, __ATOMIC_RELEASE);
    set_capture(origin, capture);
    pthread_mutex_unlock(&lock);
}

void acu_capture_join(uint64_t id, acu_stream *stream) {
    pthread_mutex_lock(&lock);
    acu_capture *capture = find(id);
    if (capture && !stream->capture) {
        set_capture(stream, capture);
        stream->next_joined = capture->joined;
        capture->joined = acu_stream_retain(stream);
    }
    pthread_mutex_unlock(&lock);
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

static int refuse(const char *what) {
    acu_record(ACU_ERROR_CAPTURE, "%s would break the capture that is under way", what);
    acu_fail_hint("do it before the capture begins or after its end");
    return ACU_ERROR_CAPTURE;
}

int acu_capture_check(void) {
    return ACU_LIKELY(!acu_capture_delays(NULL)) ? 0 : refuse("this call");
}

static bool is_on(const acu_capture *capture, int device) {
    bool on = capture->origin->object.device == device;
    for (const acu_stream *s = capture->joined; s && !on; s = s->next_joined)
        on = s->object.device == device;
    return on;
}

int acu_capture_check_device(int device) {
    bool captured = false;
    if (ACU_LIKELY(!ACU_WATCHED(captures)))
        return 0;
    pthread_mutex_lock(&lock);
    for (const acu_capture *c = acu_watched.captures; c && !captured; c = c->next)
        captured = is_on(c, device);
    pthread_mutex_unlock(&lock);
    return captured ? refuse("waiting for the device") : 0;
}

bool acu_capture_delays_slow(const acu_object *object) {
    bool delays = false;
    pthread_mutex_lock(&lock);
    for (const acu_capture *c = acu_watched.captures; c; c = c->next) {
        if (&c->origin->object == object) { /* the capture ends with its stream */
            delays = false;
            break;
        }
        if (c->mode == cudaStreamCaptureModeGlobal)
            delays = true;
        if (c->mode == cudaStreamCaptureModeThreadLocal && pthread_equal(c->thread, pthread_self()))
            delays = true;
    }
    pthread_mutex_unlock(&lock);
    return delays;
}
