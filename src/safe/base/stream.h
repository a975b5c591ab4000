/*
 * Streams as the rest of the safe layer sees them.
 *
 * A timeline is what a stream has done, and outlives it: who remembers a use of memory remembers
 * the timeline and a number on it. The numbers are given after the work they stand for was put on
 * the stream, the same one to all work between two marks. One event per timeline marks how far it
 * has got; it is recorded only when somebody else has to wait, and once more when the stream dies.
 */
#ifndef ACU_SRC_STREAM_H
#define ACU_SRC_STREAM_H

#include <anycuda/stream.h>

#include "safe/base/object.h"

#include <pthread.h>

/* What launches look at, is in its first line of the cache. */
typedef struct acu_timeline {
    int references; /* atomic */
    int device;
    bool per_thread;
    pthread_t thread; /* whose default stream it is */
    uint64_t issued;  /* atomic: an even number, which is the last one marked; or, once work was put
                         on the stream since then, the odd one after it */
    uint64_t
        shared_count; /* atomic: how often memory that only this stream used got a second user */
    uint64_t capture; /* atomic: the number of the capture that the stream is in; 0: of none */
    pthread_mutex_t lock;
    /* under the lock: */
    cudaStream_t raw;
    bool closed;      /* the stream is gone */
    cudaEvent_t mark; /* NULL before the first */
    uint64_t marked;  /* all numbers up to this are before the mark */
    uint64_t done;    /* all up to this are known to be over */
} acu_timeline;

/*
 * A capture owns what the graph will use. While one is under way it hangs on the streams it
 * captures; each operation then tells it what it references instead of remembering a use: the work
 * is not done now, but whenever the graph is launched. `use` keeps the object alive; a failure
 * fails the operation.
 */
typedef struct acu_capture {
    int (*use)(struct acu_capture *capture, acu_object *object, bool writes);
    void (*abandon)(struct acu_capture *capture); /* the stream where it began dies */
    enum cudaStreamCaptureMode mode;
    uint64_t id; /* no other one ever has it */
    pthread_t thread;
    acu_stream *origin;
    acu_stream *joined; /* an owner of those that came in later */
    struct acu_capture *next;
} acu_capture;

/* From now on `origin` is captured; until it ends. */
void acu_capture_begin(acu_capture *capture, acu_stream *origin);
void acu_capture_end(acu_capture *capture);
/* The stream waits for something captured: CUDA captures it, too. Nothing, if it has ended. */
void acu_capture_join(uint64_t id, acu_stream *stream);
bool acu_capture_is_active(uint64_t id);

struct acu_stream {
    acu_object object;
    cudaStream_t raw;
    acu_timeline *timeline;
    acu_capture *capture; /* atomic; NULL if none */
    bool owned;
    bool is_default; /* means something else on each device */
    bool shared;     /* atomic: others may know the raw stream, and capture it without telling */
    /* What most operations look at ends here, with a line of the cache. */
    struct acu_storage *spare; /* atomic; see below */
    acu_stream *next_joined;   /* in that capture */
    acu_stream *next, **link;  /* in the list of all */
};

extern ACU_OURS const acu_class acu_stream_class;

/*
 * A storage that died on the stream waits for the next one to be made there, which finds it as it
 * was: an owner of the stream, counted among the living, ready to be allocated. Who creates and
 * releases buffers all the time neither passes malloc() and free(), whose code and tables come from
 * memory each time as CUDA has filled the caches in between, nor counts anything. It goes when
 * somebody releases the stream, and none is kept from then on.
 */
#define ACU_NO_MORE_SPARES ((struct acu_storage *)1)
static inline bool acu_is_spare(const struct acu_storage *spare) {
    return (uintptr_t)spare > 1;
}
static inline struct acu_storage *acu_stream_take_spare(acu_stream *stream) {
    struct acu_storage *spare = __atomic_load_n(&stream->spare, __ATOMIC_RELAXED);
    bool taken =
        acu_is_spare(spare) && __atomic_compare_exchange_n(&stream->spare, &spare, NULL, false,
                                                           __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
    return taken ? spare : NULL;
}
static inline bool acu_stream_keep_spare(acu_stream *stream, struct acu_storage *spare) {
    struct acu_storage *none = NULL;
    return __atomic_compare_exchange_n(&stream->spare, &none, spare, false, __ATOMIC_RELEASE,
                                       __ATOMIC_RELAXED);
}
/* How many there are on the device. */
int acu_stream_count_spares(int device);

/* All that work needs which is put on a stream; `foreign`: the thread's, but of another thread. */
static inline bool acu_stream_is_foreign(const acu_stream *stream) {
    return !ACU_LIKELY(!stream->is_default) && stream->timeline->per_thread &&
           !pthread_equal(stream->timeline->thread, pthread_self());
}

/* Records what is wrong with a stream that cannot be used; returns the code. */
int acu_stream_refuse(const char *call, const acu_stream *stream) ACU_COLD;

static inline int acu_stream_check(const char *call, const acu_stream *stream) {
    bool good = acu_is(stream, &acu_stream_class) && !acu_stream_is_foreign(stream);
    return ACU_LIKELY(good) ? 0 : acu_stream_refuse(call, stream);
}

#define ACU_NEED_STREAM(stream) ACU_TRY(acu_stream_check(__func__, (stream)))

/* Makes the stream's device current where that matters. */
static inline int acu_stream_enter(const acu_stream *stream, acu_guard *guard) {
    guard->changed = false;
    return ACU_LIKELY(!stream->is_default) ? 0 : acu_guard_enter(guard, stream->object.device);
}

static inline acu_capture *acu_capture_of(const acu_stream *stream) {
    return __atomic_load_n(&stream->capture, __ATOMIC_ACQUIRE);
}

/* From now on only CUDA knows whether the stream, or what waits for the event, is being captured.
 */
/* NOLINTNEXTLINE(readability-non-const-parameter): it is written */
static inline void acu_mark_shared(bool *shared) {
    if (!__atomic_load_n(shared, __ATOMIC_RELAXED))
        __atomic_store_n(shared, true, __ATOMIC_RELAXED);
}
static inline bool acu_is_shared(const bool *shared) {
    return __atomic_load_n(shared, __ATOMIC_RELAXED);
}

/* What is put on the stream now, waits for what this capture captured. */
static inline void acu_stream_came_after(acu_stream *stream, uint64_t capture) {
    if (capture)
        acu_capture_join(capture, stream);
}

/* Gives an event to the capture that the stream is in; 0, or a recorded failure, also if it is in
 * none. One that anycuda did not begin keeps nothing. */
int acu_stream_capture_event(acu_stream *stream, acu_object *event);

/* 0, or ACU_ERROR_CAPTURE, recorded, before CUDA would break the capture. */
int acu_stream_check_uncaptured(const acu_stream *stream);
/* The same before the thread waits for the stream or asks after its work, which also breaks the
 * thread's captures of other streams. CUDA need not be asked where a capture would be known. */
int acu_stream_check_wait_slow(const acu_stream *stream);
static inline int acu_stream_check_wait(const acu_stream *stream) {
    bool known = !ACU_WATCHED(captures) && !acu_is_shared(&stream->shared);
    return ACU_LIKELY(known) ? 0 : acu_stream_check_wait_slow(stream);
}

/* CUDA keeps "not ready" as its last error, where it hides a real one from who asks later. */
void acu_forget_not_ready(void);

/* ---- timelines ---------------------------------------------------------------------------------
 */

static const uint64_t ACU_EVERYTHING = UINT64_MAX; /* also what was put on the raw stream */

/*
 * The number of what was just put on the stream. That mostly follows other work without a mark in
 * between, so that nothing is written: this is passed by each operation.
 */
static inline uint64_t acu_timeline_issue(acu_timeline *timeline) {
    uint64_t issued = __atomic_load_n(&timeline->issued, __ATOMIC_SEQ_CST);
    if (!ACU_LIKELY(issued & 1u))
        issued = __atomic_fetch_or(&timeline->issued, 1u, __ATOMIC_SEQ_CST) | 1u;
    return issued + 1;
}

/* The same where nothing need be written; else false. */
static inline bool acu_timeline_has_issued(const acu_timeline *timeline, uint64_t *number) {
    uint64_t issued = __atomic_load_n(&timeline->issued, __ATOMIC_SEQ_CST);
    *number = issued + 1;
    return issued & 1u;
}

/* The number of all that was put on the stream until now. Who asks before recording the mark can be
 * sure that the mark is behind all that has this number, or a smaller one. */
static inline uint64_t acu_timeline_now(acu_timeline *timeline) {
    uint64_t issued = __atomic_load_n(&timeline->issued, __ATOMIC_SEQ_CST);
    if (!(issued & 1u))
        return issued;
    uint64_t now = issued + 1; /* if it is already, someone else was faster */
    (void)__atomic_compare_exchange_n(&timeline->issued, &issued, now, false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_SEQ_CST);
    return now;
}

static inline acu_timeline *acu_timeline_retain(acu_timeline *timeline) {
    __atomic_add_fetch(&timeline->references, 1, __ATOMIC_RELAXED);
    return timeline;
}

int acu_timeline_release(acu_timeline *timeline);

/* Before the stream is captured: so that others can wait for what it did until now. */
int acu_timeline_mark(acu_timeline *timeline);

/* Lets `by` wait for all up to the number; the failure is recorded. */
int acu_timeline_wait(acu_timeline *timeline, uint64_t number, acu_stream *by);
/* The thread waits. */
int acu_timeline_synchronize(acu_timeline *timeline, uint64_t number);
/* Whether all up to the number is over; false also where a capture forbids to ask. */
bool acu_timeline_is_over(acu_timeline *timeline, uint64_t number);

/* After a failure: destroys what a lost device will never call. */
void acu_stream_abandon_calls(int device);

/* ---- closures that graphs own ------------------------------------------------------------------
 */

typedef struct acu_kept_closure {
    acu_object object;
    acu_closure closure;
} acu_kept_closure;

/* Its destruction is the closure's; NULL and a recorded failure where there is no memory. */
acu_kept_closure *acu_closure_new(const char *call, const acu_closure *closure);
/* A cudaHostFn_t: calls it. */
void acu_closure_run(void *kept);

#endif
