/*
 * Timelines: what a stream has done, and how far it has got.
 *
 * A timeline outlives its stream: a use of memory is remembered as a timeline and a number on it.
 * Work gets its number after it was put on the stream; all work between two marks has the same one.
 * Each timeline has one event, the mark, which shows how far the stream has got. It is recorded
 * only when another stream or a thread has to wait, and once more when the stream is destroyed.
 */
#ifndef ACU_SRC_TIMELINE_H
#define ACU_SRC_TIMELINE_H

#include <anycuda/stream.h>

#include "safe/base/object.h"

#include <pthread.h>

/* What launches read is in the first line of the cache. */
typedef struct acu_timeline {
    int references;  /* owners; atomic */
    int device;      /* ordinal */
    bool per_thread; /* the stream is a thread's default stream */
    uint64_t thread; /* the id of the thread that created the timeline */
    uint64_t issued; /* atomic: even: the last number marked; odd, one more: work was put on
                        the stream since then */
    uint64_t
        shared_count; /* atomic: how often memory that only this stream used got a second user */
    uint64_t capture; /* atomic: the id of the capture that the stream is in; 0: none */
    pthread_mutex_t lock; /* of all below */
    cudaStream_t raw;
    bool closed;      /* the stream is destroyed */
    bool unmarked;    /* it is, and the mark is not behind all of its work: CUDA made none */
    cudaEvent_t mark; /* NULL before the first mark */
    uint64_t marked;  /* numbers up to this one are before the mark */
    uint64_t done;    /* numbers up to this one are known to be done */
} acu_timeline;

/* A number for all work, also what was put on the raw stream. */
static const uint64_t ACU_EVERYTHING = UINT64_MAX;

/* ---- life ---- */

/* Returns a new timeline, which the caller owns; NULL without a record where the host has no
 * memory. */
acu_timeline *acu_timeline_new(int device, cudaStream_t raw);

static inline acu_timeline *acu_timeline_retain(acu_timeline *timeline) {
    __atomic_add_fetch(&timeline->references, 1, __ATOMIC_RELAXED);
    return timeline;
}
/* Takes an owner away; returns CUDA's code where the last one's mark is destroyed. NULL is fine. */
int acu_timeline_release(acu_timeline *timeline);

/* Prepares for the end of the stream: a mark is recorded for those that still have to wait for it.
 * Returns 0 or a recorded failure, after which all work is done, or those wait for the device. */
int acu_timeline_close(acu_timeline *timeline);

/* ---- numbers ---- */

/*
 * Returns the number of what was just put on the stream. Every operation calls this, and mostly
 * other work without a mark comes before it: then nothing is written.
 */
static inline uint64_t acu_timeline_issue(acu_timeline *timeline) {
    uint64_t issued = __atomic_load_n(&timeline->issued, __ATOMIC_SEQ_CST);
    if (!ACU_LIKELY(issued & 1u))
        issued = __atomic_fetch_or(&timeline->issued, 1u, __ATOMIC_SEQ_CST) | 1u;
    return issued + 1;
}

/* Does acu_timeline_issue() where that writes nothing; returns false where it would. */
static inline bool acu_timeline_has_issued(const acu_timeline *timeline, uint64_t *number) {
    uint64_t issued = __atomic_load_n(&timeline->issued, __ATOMIC_SEQ_CST);
    *number = issued + 1;
    return issued & 1u;
}

/* Returns the number of the last work that was put on the stream. A mark that is recorded after
 * this call is behind all work of this number and of smaller ones. */
static inline uint64_t acu_timeline_now(acu_timeline *timeline) {
    uint64_t issued = __atomic_load_n(&timeline->issued, __ATOMIC_SEQ_CST);
    if (!(issued & 1u))
        return issued;
    uint64_t now = issued + 1; /* where the exchange fails, another thread has stored it already */
    (void)__atomic_compare_exchange_n(&timeline->issued, &issued, now, false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_SEQ_CST);
    return now;
}

/* Returns the id of the capture that the stream is in; 0 if none. */
static inline uint64_t acu_timeline_capture(const acu_timeline *timeline) {
    return __atomic_load_n(&timeline->capture, __ATOMIC_ACQUIRE);
}

/* ---- marks ---- */

/*
 * Returns the raw stream as this thread can name it. Another thread's default stream has no name
 * here; but it is a blocking stream, so the legacy default stream comes after it.
 */
static inline cudaStream_t acu_timeline_raw(const acu_timeline *timeline) {
    bool foreign = timeline->per_thread && timeline->thread != acu_thread_id();
    return foreign ? cudaStreamLegacy : timeline->raw;
}

/* Records the mark; the caller holds the lock. Returns CUDA's code. */
int acu_timeline_record_mark(acu_timeline *timeline);

/* Records the mark before the stream is captured, so that others can wait for what came before the
 * capture; returns CUDA's code. */
int acu_timeline_mark(acu_timeline *timeline);

/* ---- waiting ---- */

/* Lets the stream wait for all work up to the number; returns 0 or a recorded failure. */
int acu_timeline_wait(acu_timeline *timeline, uint64_t number, acu_stream *stream);
/* Lets the stream wait for all work of the timeline, where both are in one capture; returns 0 or a
 * recorded failure. */
int acu_timeline_wait_captured(acu_timeline *timeline, acu_stream *stream);
/* Lets the thread wait for all work up to the number: by the mark, or where CUDA makes none, for
 * the stream, or where that is destroyed, for its device. Returns 0 or a recorded failure. */
int acu_timeline_synchronize(acu_timeline *timeline, uint64_t number);
/* Lets the thread wait for all work, where CUDA makes no mark; the caller holds the lock. Returns 0
 * or a recorded failure. */
int acu_timeline_finish(acu_timeline *timeline);
/*
 * Returns whether nothing uses any more what a thread has waited for: the wait, which returned
 * `code`, succeeded, or CUDA has lost all work. False: it may still be used, although the failure
 * may be that of a call that has nothing to do with the work. So it must be kept, and freed at a
 * later attempt (ACU_LATER).
 */
bool acu_timeline_was_finished(int code) ACU_COLD;
/* Returns whether all work up to the number is done; also false where asking would break a capture,
 * or where CUDA neither answers nor lets the thread wait. */
bool acu_timeline_is_over(acu_timeline *timeline, uint64_t number);
/* Notes that the thread has waited for all work up to the number. */
void acu_timeline_set_done(acu_timeline *timeline, uint64_t number);

#endif
