/*
 * Events: a place in a stream that others wait for, and a time.
 *
 * Like streams, events may be used by several threads.
 */
#ifndef ACU_EVENT_H
#define ACU_EVENT_H

#include <anycuda/stream.h>

struct CUevent_st; /* what CUDA calls cudaEvent_t and CUevent */

ACU_BEGIN_C

/** Bits of acu_event_options.flags. */
enum acu_event_flag {
    ACU_EVENT_BLOCKING_SYNC = 1,  /* who waits for it sleeps */
    ACU_EVENT_DISABLE_TIMING = 2, /* cheaper; acu_event_get_elapsed_time() cannot use it */
    ACU_EVENT_INTERPROCESS = 4    /* needs ACU_EVENT_DISABLE_TIMING, too */
};

/** How an event is made; zero is what CUDA does by default: with timing. */
typedef struct acu_event_options {
    unsigned flags; /* acu_event_flag bits */
} acu_event_options;

/** Makes an event; the caller owns it. `options` may be NULL. */
ACU_CHECKED acu_result acu_event_create(acu_device device, const acu_event_options *options,
                                        acu_event **event);

/** A handle for an event of someone else, which must live as long and is not destroyed with it. */
ACU_CHECKED acu_result acu_event_wrap(acu_device device, struct CUevent_st *raw, acu_event **event);

/** Like acu_event_wrap(), but takes the raw event over. */
ACU_CHECKED acu_result acu_event_adopt(acu_device device, struct CUevent_st *raw,
                                       acu_event **event);

/** The cudaEvent_t, which is a CUevent, too; it stays the handle's. NULL if it is no event. */
struct CUevent_st *acu_event_raw(const acu_event *event);

/** One more owner; returns the event, NULL if it is none. */
acu_event *acu_event_retain(acu_event *event);

/** One owner less; the last one destroys the event. As acu_stream_release(). */
acu_result acu_event_release(acu_event *event);

void acu_event_cleanup(acu_event **event);

/** Its device; ACU_DEVICE_CURRENT if it is no event. */
acu_device acu_event_device(const acu_event *event);

/** Makes the event mean all that is on the stream now; ACU_ERROR_DEVICE if they do not belong
 * together. */
ACU_CHECKED acu_result acu_event_record(acu_event *event, acu_stream *stream);

/**
 * Captures a node that records the event at each launch, for those who wait outside of the graph,
 * and for times; acu_event_record() makes the event a place in the capture instead. The graph keeps
 * the event. ACU_ERROR_STATE if the stream is not being captured; else as acu_event_record().
 */
ACU_CHECKED acu_result acu_event_record_external(acu_event *event, acu_stream *stream);

/** Success if what it means is done, or it was never recorded; ACU_NOT_READY if not;
 * ACU_ERROR_CAPTURE as of acu_stream_synchronize(). */
ACU_CHECKED acu_result acu_event_query(acu_event *event);

/** Waits until what it means is done; ACU_ERROR_CAPTURE as of acu_stream_synchronize(). */
ACU_CHECKED acu_result acu_event_synchronize(acu_event *event);

/**
 * Milliseconds from one event to another.
 *
 * ACU_ERROR_STATE if one has no timing or was never recorded, ACU_ERROR_DEVICE if they are of two
 * devices, ACU_NOT_READY if one is not done yet.
 */
ACU_CHECKED acu_result acu_event_get_elapsed_time(acu_event *start, acu_event *end,
                                                  float *milliseconds);

ACU_END_C

#endif
