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
 * Stand around a call about all streams of an execution context, or of a device where `context` is
 * NULL: such a call would break any capture of one of them, even a relaxed one. The first returns
 * 0, or the recorded ACU_ERROR_CAPTURE if there is one, which says that `what` would break the
 * capture; after 0 the second one follows, and until then no capture begins on the device.
 */
int acu_capture_begin_whole(int device, const acu_object *context, const char *what);
void acu_capture_end_whole(int device);
/* Stand around waiting for the whole device. */
static inline int acu_capture_begin_device_wait(int device) {
    return acu_capture_begin_whole(device, NULL, "waiting for the device");
}
static inline void acu_capture_end_device_wait(int device) {
    acu_capture_end_whole(device);
}

#endif
