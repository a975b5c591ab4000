/* Streams as the rest of the safe layer sees them. */
#ifndef ACU_SRC_STREAM_H
#define ACU_SRC_STREAM_H

#include <anycuda/stream.h>

#include "safe/base/capture_order.h"
#include "safe/base/device.h"
#include "safe/base/name.h"
#include "safe/base/object.h"
#include "safe/base/timeline.h"

#include <pthread.h>
#include <stdlib.h>

/*
 * A capture, as the streams in it know it. While it is active, an operation on one of them reports
 * each object that it uses to the capture, instead of remembering a use on the stream: the work is
 * not done now, but at each launch of the graph.
 */
typedef struct acu_capture_ending acu_capture_ending;

typedef struct acu_capture {
    /* Keeps the object alive for the graph; a failure is recorded and fails the operation. */
    int (*use)(struct acu_capture *capture, acu_object *object, bool writes);
    /* Ends the capture, because the program has released the stream where it began. */
    void (*abandon)(struct acu_capture *capture);
    acu_capture_order order; /* of the uses of memory */
    enum cudaStreamCaptureMode mode;
    uint64_t id;        /* no other capture of the process ever has it */
    uint64_t thread;    /* the id of the thread that began it */
    acu_stream *origin; /* the stream where it began */
    acu_stream *joined; /* the streams that came in later, each with a reference */
    struct acu_capture *next;
    acu_capture_ending *ends; /* atomic: what is called before it ends, in a list */
} acu_capture;

/* What is called before a capture ends; not where it is lost. Returns 0, or a recorded code, for
 * which the capture is lost. */
struct acu_capture_ending {
    int (*run)(acu_capture_ending *end, acu_capture *capture);
    acu_capture_ending *next;
};

/* Adds a call, which must be there until the graph goes. */
static inline void acu_capture_add_ending(acu_capture *capture, acu_capture_ending *end) {
    end->next = __atomic_load_n(&capture->ends, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&capture->ends, &end->next, end, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED)) {
    }
}

/*
 * What an allocator keeps for a stream (safe/memory/allocator_cache.h). The stream and the
 * allocator own it together: the list of a stream, and `stream`, are under the lock of the list of
 * all streams.
 */
typedef struct acu_stream_cache {
    int references;                /* atomic */
    struct acu_stream_cache *next; /* of the same stream */
    acu_stream *stream;            /* NULL: it is destroyed */
    /* Returns how many storages are kept, which count as alive. */
    int (*count)(struct acu_stream_cache *cache);
    /* Keeps no storage any more; returns those that were kept, in a list, with their references. */
    acu_object *(*stop)(struct acu_stream_cache *cache);
    /* Frees such a list, and gives up its references. */
    void (*discard)(acu_object *storages);
} acu_stream_cache;

struct acu_stream {
    acu_object object;
    cudaStream_t raw;
    acu_timeline *timeline;
    acu_capture *capture; /* atomic; NULL if the stream is in none */
    bool owned;           /* the raw stream is destroyed with the handle */
    bool is_default;      /* the raw stream means another one on each device */
    bool shared;          /* atomic: others may know the raw stream, and may capture it unnoticed */
    uint32_t
        in_context; /* atomic: the number of its context; 0: not asked yet, or ACU_NO_CONTEXT */
    /* What most operations read ends here, with a line of the cache. */
    acu_object *spare;        /* atomic; see below */
    acu_stream_cache *cache;  /* atomic: of the device's current allocator; NULL: not known */
    acu_stream_cache *caches; /* atomic: of all allocators, in a list */
    acu_object *staging;      /* atomic: pinned memory (safe/memory/staging.h); NULL: none yet */
    unsigned flags;           /* acu_stream_flag bits; 0 where the raw stream was given */
    int priority;             /* atomic: as it was asked for; 0 where the raw stream was given */
    bool named;               /* atomic: tools and traces know it by a name */
    int users;                /* atomic: owners outside of the safe layer */
    acu_object *context;      /* the execution context that it runs in, with a reference; or NULL */
    acu_object *kernels;      /* atomic: those of the safe layer's own, with a reference; or NULL */
    acu_stream *next_joined;  /* the next stream that joined the capture */
    acu_stream *next, **link; /* in the list of all streams */
    acu_name name;            /* as the program calls it */
};

extern ACU_OURS const acu_class acu_stream_class;

/* Makes a handle that owns the raw stream, which was made with the options in the execution
 * context. The stream keeps the context. Returns 0, or a failure recorded for `call`; the raw
 * stream is destroyed then. */
int acu_stream_new_in(const char *call, acu_object *context, cudaStream_t raw,
                      const acu_stream_options *options, acu_stream **stream);

/* ---- the spare storage ---- */

/*
 * A storage (safe/memory/storage.h) that was released on the stream is kept for the next one that
 * is made there: with its reference to the stream, counted as alive, ready to be allocated. A
 * program that creates and releases buffers all the time then calls neither malloc() nor free(),
 * whose code and tables CUDA has driven out of the caches in between, and counts nothing. The spare
 * is freed when an owner releases the stream; from then on none is kept.
 */
#define ACU_NO_MORE_SPARES ((acu_object *)1)
/* The device has a current allocator, whose memory is kept in another way. */
#define ACU_NO_SPARES_NOW ((acu_object *)2)

/* Hints at what CUDA refuses of an attribute of a stream or a launch, where that is known. */
void acu_stream_hint_at(acu_device device, const cudaLaunchAttribute *attribute);

static inline bool acu_is_spare(const acu_object *spare) {
    return (uintptr_t)spare > 2;
}
/* Returns the spare, which is the caller's then; NULL if there is none. */
static inline acu_object *acu_stream_take_spare(acu_stream *stream) {
    acu_object *spare = __atomic_load_n(&stream->spare, __ATOMIC_RELAXED);
    bool taken =
        acu_is_spare(spare) && __atomic_compare_exchange_n(&stream->spare, &spare, NULL, false,
                                                           __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
    return taken ? spare : NULL;
}
/* Returns false where the stream has a spare already, or keeps none any more. */
static inline bool acu_stream_keep_spare(acu_stream *stream, acu_object *spare) {
    acu_object *none = NULL;
    return __atomic_compare_exchange_n(&stream->spare, &none, spare, false, __ATOMIC_RELEASE,
                                       __ATOMIC_RELAXED);
}
/* Returns how many objects the streams of the device have: spares, those in caches, staging. */
int acu_stream_count_own(int device);

/* Lets the streams of the device keep no spares, or keep them again. Then they know no cache of the
 * current allocator any more. */
void acu_stream_stop_spares(int device);
void acu_stream_resume_spares(int device);

/* ---- caches of allocators ---- */

/* Gives one of the two references up; the last one frees the cache, which is empty. */
static inline void acu_stream_cache_release(acu_stream_cache *cache) {
    if (__atomic_sub_fetch(&cache->references, 1, __ATOMIC_ACQ_REL) == 0)
        free(cache);
}

/* Adds a cache to the stream, which becomes an owner. */
void acu_stream_add_cache(acu_stream *stream, acu_stream_cache *cache);
/* Returns the first cache of the stream for which `is` returns true; NULL if there is none. */
acu_stream_cache *acu_stream_find_cache(const acu_stream *stream,
                                        bool (*is)(const acu_stream_cache *cache, const void *data),
                                        const void *data);
/* Makes the cache that of the current allocator, if `*current` is true. */
void acu_stream_set_cache(acu_stream *stream, acu_stream_cache *cache, const bool *current);

/* ---- use ---- */

/* Returns whether the stream is the default stream of another thread than this one. */
static inline bool acu_stream_is_foreign(const acu_stream *stream) {
    return !ACU_LIKELY(!stream->is_default) && stream->timeline->per_thread &&
           stream->timeline->thread != acu_thread_id();
}

/* Records what is wrong with a stream that cannot be used; returns the code. */
int acu_stream_refuse(const char *call, const acu_stream *stream) ACU_COLD;

/* Returns 0 if the handle is a stream that this thread can use; else the recorded failure. */
static inline int acu_stream_check(const char *call, const acu_stream *stream) {
    bool good = acu_is(stream, &acu_stream_class) && !acu_stream_is_foreign(stream);
    return ACU_LIKELY(good) ? 0 : acu_stream_refuse(call, stream);
}

#define ACU_NEED_STREAM(stream) ACU_TRY(acu_stream_check(__func__, (stream)))

/* Makes the stream's device current where that matters; acu_guard_leave() follows. */
static inline int acu_stream_enter(const acu_stream *stream, acu_guard *guard) {
    guard->changed = false;
    return ACU_LIKELY(!stream->is_default) ? 0 : acu_guard_enter(guard, stream->object.device);
}

/* Destroys the data of calls that wait on the device, if that has failed: CUDA will never make
 * them. */
void acu_stream_abandon_calls(int device);

/* ---- captures ---- */

/* Returns the capture that the stream is in, if anycuda began it; else NULL. */
static inline acu_capture *acu_capture_of(const acu_stream *stream) {
    return __atomic_load_n(&stream->capture, __ATOMIC_ACQUIRE);
}

/*
 * A stream or an event is shared once others may know its raw handle: from then on only CUDA knows
 * whether the stream, or what waits for the event, is being captured.
 */
/* NOLINTNEXTLINE(readability-non-const-parameter): it is written */
static inline void acu_mark_shared(bool *shared) {
    if (!__atomic_load_n(shared, __ATOMIC_RELAXED))
        __atomic_store_n(shared, true, __ATOMIC_RELAXED);
}
static inline bool acu_is_shared(const bool *shared) {
    return __atomic_load_n(shared, __ATOMIC_RELAXED);
}

/* Lets the capture that the stream is in keep an event. Returns 0, or the recorded failure that
 * there is no capture. A capture that anycuda did not begin keeps nothing. */
int acu_stream_capture_event(acu_stream *stream, acu_object *event);

/* Returns 0, or the recorded ACU_ERROR_CAPTURE if the stream is being captured. */
int acu_stream_check_uncaptured(const acu_stream *stream);

/* Does acu_stream_check_wait() where CUDA is asked. */
int acu_stream_check_wait_slow(const acu_stream *stream);
/* Returns 0 if the thread may wait for the stream or query it; else the recorded ACU_ERROR_CAPTURE,
 * because that would break a capture of the stream, or of another one by this thread. CUDA is not
 * asked where anycuda would know of a capture. */
static inline int acu_stream_check_wait(const acu_stream *stream) {
    bool known = !ACU_WATCHED(captures) && !acu_is_shared(&stream->shared);
    return ACU_LIKELY(known) ? 0 : acu_stream_check_wait_slow(stream);
}

#endif
