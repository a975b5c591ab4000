/* The captures under way: which streams are in them, and what would break them. */
#ifndef ACU_SRC_ACTIVE_CAPTURE_H
#define ACU_SRC_ACTIVE_CAPTURE_H

#include "safe/base/stream.h"

/* The capture is active from now on, with the stream `origin` in it. */
void acu_capture_begin(acu_capture *capture, acu_stream *origin);
/* The capture is over: all its streams are free again. */
void acu_capture_end(acu_capture *capture);
/* The stream waits for something of the capture with this id, so CUDA captures the stream, too.
 * Nothing happens if that capture is over. */
void acu_capture_join(uint64_t id, acu_stream *stream);
bool acu_capture_is_active(uint64_t id);

/* acu_capture_delays() where there are captures. */
bool acu_capture_delays_slow(const acu_object *object) ACU_COLD;
/* Whether destroying the object, or anything where that is NULL, would break a capture. A stream
 * where a capture began does not break it, because the capture ends with the stream. */
static inline bool acu_capture_delays(const acu_object *object) {
    return !ACU_LIKELY(!ACU_WATCHED(captures)) && acu_capture_delays_slow(object);
}

/* Returns 0, or the recorded ACU_ERROR_CAPTURE if waiting, querying or creating something in this
 * thread would break a capture. */
int acu_capture_check(void);
/* Returns 0, or the recorded ACU_ERROR_CAPTURE if waiting for the whole device would break a
 * capture; that breaks even relaxed ones there. */
int acu_capture_check_device(int device);

#endif
