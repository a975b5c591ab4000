/* Timelines: their life and their marks. timeline_wait.c waits for them. */
#include "safe/base/timeline.h"
#include "safe/base/device.h"

#include <stdlib.h>

/* ---- life ---- */

acu_timeline *acu_timeline_new(int device, cudaStream_t raw) {
    acu_timeline *timeline = acu_object_alloc(sizeof *timeline);
    if (!timeline)
        return NULL;
    *timeline = (acu_timeline){.references = 1,
                               .device = device,
                               .per_thread = raw == cudaStreamPerThread,
                               .thread = acu_thread_id(),
                               .raw = raw};
    pthread_mutex_init(&timeline->lock, NULL);
    return timeline;
}

int acu_timeline_release(acu_timeline *timeline) {
    if (!timeline || __atomic_sub_fetch(&timeline->references, 1, __ATOMIC_ACQ_REL) > 0)
        return 0;
    int code = 0;
    if (timeline->mark && !acu_is_unloading())
        code = acu_forgive_unloading((int)cudaEventDestroy(timeline->mark));
    pthread_mutex_destroy(&timeline->lock);
    free(timeline);
    return code;
}

/* Where no mark can be recorded, the thread waits, so that no one has to wait later; where it
 * cannot do that either, those wait for the device. */
int acu_timeline_close(acu_timeline *timeline) {
    int code = 0;
    pthread_mutex_lock(&timeline->lock);
    bool wanted = __atomic_load_n(&timeline->references, __ATOMIC_ACQUIRE) > 1;
    if (wanted && !acu_is_unloading()) {
        code = acu_forgive_unloading(acu_timeline_record_mark(timeline));
        if (code && !acu_is_unloading())
            timeline->unmarked = !acu_timeline_was_finished(acu_timeline_finish(timeline));
    }
    timeline->closed = true;
    pthread_mutex_unlock(&timeline->lock);
    return code;
}

/* ---- marks ---- */

/* The event belongs to the timeline's device, and a default stream means that of the current
 * device: so the timeline's device is made current. */
int acu_timeline_record_mark(acu_timeline *timeline) {
    acu_guard guard;
    int code = acu_guard_enter(&guard, timeline->device);
    if (!code && !timeline->mark)
        code = (int)cudaEventCreateWithFlags(&timeline->mark, cudaEventDisableTiming);
    uint64_t now = acu_timeline_now(timeline);
    if (!code)
        code = (int)cudaEventRecord(timeline->mark, acu_timeline_raw(timeline));
    if (!code)
        timeline->marked = now;
    acu_guard_leave(&guard);
    return code;
}

int acu_timeline_mark(acu_timeline *timeline) {
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    pthread_mutex_lock(&timeline->lock);
    uint64_t now = acu_timeline_now(timeline);
    bool wanted = timeline->marked < now && timeline->done < now;
    int code = wanted ? (int)cudaStreamIsCapturing(acu_timeline_raw(timeline), &status) : 0;
    if (!code && wanted && status == cudaStreamCaptureStatusNone)
        code = acu_timeline_record_mark(timeline);
    pthread_mutex_unlock(&timeline->lock);
    return code;
}

void acu_timeline_set_done(acu_timeline *timeline, uint64_t number) {
    pthread_mutex_lock(&timeline->lock);
    if (timeline->done < number)
        timeline->done = number;
    pthread_mutex_unlock(&timeline->lock);
}
