/*
 * Events: a place in a stream that others wait for, and a time.
 *
 * Several threads may use an event at once, and retain and release it.
 */
#ifndef ACU_EVENT_H
#define ACU_EVENT_H

#include <anycuda/stream.h>

struct CUevent_st; /* what CUDA calls cudaEvent_t and CUevent */

ACU_BEGIN_C

/** Bits of acu_event_options.flags. */
enum acu_event_flag {
    ACU_EVENT_BLOCKING_SYNC = 1,  /* a thread that waits for it sleeps */
    ACU_EVENT_DISABLE_TIMING = 2, /* cheaper; not for acu_event_get_elapsed_time() */
    ACU_EVENT_INTERPROCESS = 4    /* only with ACU_EVENT_DISABLE_TIMING */
};

/** How an event is made; all zero is what CUDA does by default: with timing. */
typedef struct acu_event_options {
    unsigned flags; /* acu_event_flag bits */
} acu_event_options;

/** Makes an event, which the caller owns; `options` may be NULL. */
ACU_CHECKED acu_result acu_event_create(acu_device device, const acu_event_options *options,
                                        acu_event **event);

/**
 * Makes a handle for a raw event that stays someone else's; the caller owns the handle.
 *
 * The last release leaves the raw event alone. The raw event must live until the handle is
 * released.
 */
ACU_CHECKED acu_result acu_event_wrap(acu_device device, struct CUevent_st *raw, acu_event **event);

/** Makes a handle that owns a raw event: the last release destroys both. */
ACU_CHECKED acu_result acu_event_adopt(acu_device device, struct CUevent_st *raw,
                                       acu_event **event);

/**
 * Returns the cudaEvent_t, which is also a CUevent; NULL where the handle is not an event. The raw
 * event stays the handle's.
 */
struct CUevent_st *acu_event_raw(const acu_event *event);

/** Adds an owner and returns the event; NULL where the handle is not an event. */
acu_event *acu_event_retain(acu_event *event);

/**
 * Takes an owner away; the last release destroys the event. Everything else is as for
 * acu_stream_release().
 */
acu_result acu_event_release(acu_event *event);

void acu_event_cleanup(acu_event **event);

/** Writes one line that names the event, as errors do; acu_stream_describe() has the rules. */
size_t acu_event_describe(const acu_event *event, char *text, size_t size);

/** Names the event as acu_stream_set_name() does a stream. */
acu_result acu_event_set_name(acu_event *event, const char *name);

/** Returns the event's device; ACU_DEVICE_CURRENT where the handle is not an event. */
acu_device acu_event_device(const acu_event *event);

/**
 * Lets the event stand for all that is on the stream now.
 *
 * Errors: ACU_ERROR_DEVICE where event and stream belong to different devices.
 */
ACU_CHECKED acu_result acu_event_record(acu_event *event, acu_stream *stream);

/**
 * Captures a node that records the event at each launch of the graph.
 *
 * The event then serves to wait outside of the graph, or to take times. acu_event_record() makes
 * the event a place in the capture instead. The graph keeps the event. Errors: ACU_ERROR_STATE
 * where the stream is not being captured; else as for acu_event_record().
 */
ACU_CHECKED acu_result acu_event_record_external(acu_event *event, acu_stream *stream);

/**
 * Returns ACU_SUCCESS if the work that the event stands for is done, or if it was never recorded;
 * ACU_NOT_READY if not.
 *
 * Errors: ACU_ERROR_CAPTURE as for acu_stream_synchronize().
 */
ACU_CHECKED acu_result acu_event_query(acu_event *event);

/**
 * Waits until the work that the event stands for is done.
 *
 * Errors: ACU_ERROR_CAPTURE as for acu_stream_synchronize().
 */
ACU_CHECKED acu_result acu_event_synchronize(acu_event *event);

/**
 * Computes the milliseconds from one event to another.
 *
 * Returns ACU_NOT_READY if one of them is not done yet. Errors: ACU_ERROR_STATE where one has no
 * timing or was never recorded, ACU_ERROR_DEVICE where they belong to different devices.
 */
ACU_CHECKED acu_result acu_event_get_elapsed_time(acu_event *start, acu_event *end,
                                                  float *milliseconds);

ACU_END_C

#endif
