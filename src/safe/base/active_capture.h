/* The captures under way: which streams are in them, and what would break them. */
#ifndef ACU_SRC_ACTIVE_CAPTURE_H
#define ACU_SRC_ACTIVE_CAPTURE_H

#include "safe/base/stream.h"

/* Makes the capture active from now on, with the stream `origin` in it. The caller begins CUDA's
 * capture afterwards, so that no thread begins to wait for the device in between; threads that wait
 * already are waited for. */
void acu_capture_begin(acu_capture *capture, acu_stream *origin);
/* Frees all streams of a capture that is over or did not begin. */
void acu_capture_end(acu_capture *capture);
/* Notes that the stream will wait for something of the capture with this id, so CUDA will capture
 * the stream, too. Returns false, with nothing done, if that capture is over or the stream is in
 * one already. Threads that wait for the stream's device are waited for. */
bool acu_capture_join(uint64_t id, acu_stream *stream);
/* Takes back acu_capture_join(), because the stream did not come to wait. */
void acu_capture_leave(acu_stream *stream);
bool acu_capture_is_active(uint64_t id);

/* Answers acu_capture_delays() where there are captures. */
bool acu_capture_delays_slow(const acu_object *object) ACU_COLD;
/* Returns whether destroying the object, or anything where that is NULL, would break a capture. A
 * stream where a capture began does not break it, because the capture ends with the stream. */
static inline bool acu_capture_delays(const acu_object *object) {
    return !ACU_LIKELY(!ACU_WATCHED(captures)) && acu_capture_delays_slow(object);
}

/* Returns 0, or the recorded ACU_ERROR_CAPTURE if waiting, querying or creating something in this
 * thread would break a capture. */
int acu_capture_check(void);
/*
 * Stand around waiting for the whole device, which would break any capture there, even a relaxed
 * one. The first returns 0, or the recorded ACU_ERROR_CAPTURE if there is one; after 0 the second
 * one follows, and until then no capture begins there.
 */
int acu_capture_begin_device_wait(int device);
void acu_capture_end_device_wait(int device);

#endif
