/*
 * Streams: work in order, on a device.
 *
 * Streams may be used by several threads at once; their counts of references too. What is done on
 * one by two threads without a lock of their own has no defined order.
 */
#ifndef ACU_STREAM_H
#define ACU_STREAM_H

#include <stdint.h>

#include <anycuda/device.h>

struct CUstream_st; /* what CUDA calls cudaStream_t and CUstream */

ACU_BEGIN_C

/** Work in order, on a device. */
typedef struct acu_stream acu_stream;
/** A place in a stream: <anycuda/event.h>. */
typedef struct acu_event acu_event;

/** Bits of acu_stream_options.flags. */
enum acu_stream_flag {
    ACU_STREAM_NON_BLOCKING = 1 /* does not wait for the legacy default stream, nor it for this */
};

/** How a stream is made; zero is what CUDA does by default. */
typedef struct acu_stream_options {
    unsigned flags; /* acu_stream_flag bits */
    int priority;   /* smaller is more urgent; acu_device_get_priority_range() tells the range */
} acu_stream_options;

/**
 * Makes a stream; the caller owns it and releases it with acu_stream_release().
 *
 * `options` may be NULL. Errors: ACU_ERROR_ARGUMENT, ACU_ERROR_HOST_MEMORY, CUDA's own.
 */
ACU_CHECKED acu_result acu_stream_create(acu_device device, const acu_stream_options *options,
                                         acu_stream **stream);

/** The device's legacy default stream, as a handle that the caller releases. */
ACU_CHECKED acu_result acu_stream_get_legacy(acu_device device, acu_stream **stream);

/**
 * The calling thread's default stream, as a handle that the caller releases.
 *
 * It stands for another stream in each thread, so any other thread that uses it gets
 * ACU_ERROR_STATE; releasing is for all.
 */
ACU_CHECKED acu_result acu_stream_get_per_thread(acu_device device, acu_stream **stream);

/**
 * A handle for a stream of someone else, which stays theirs: releasing the handle leaves it alone.
 *
 * The raw stream must live until the handle, and every buffer created on it, is released. It must
 * be one of that device's: nobody asks CUDA.
 */
ACU_CHECKED acu_result acu_stream_wrap(acu_device device, struct CUstream_st *raw,
                                       acu_stream **stream);

/** Like acu_stream_wrap(), but takes the raw stream over: it is destroyed with the handle. */
ACU_CHECKED acu_result acu_stream_adopt(acu_device device, struct CUstream_st *raw,
                                        acu_stream **stream);

/**
 * The cudaStream_t, which is a CUstream, too; it stays the handle's. NULL if it is no stream.
 *
 * Whoever has it can capture the stream, so from then on CUDA is asked about that before the thread
 * waits for the stream or asks after its work.
 */
struct CUstream_st *acu_stream_raw(const acu_stream *stream);

/** One more owner; returns the stream, NULL if it is none. */
acu_stream *acu_stream_retain(acu_stream *stream);

/**
 * One owner less; the last one destroys the stream, which does not wait for its work.
 *
 * NULL is fine. The result is that of the destruction; acu_release_error() keeps it. A second
 * release is ACU_ERROR_HANDLE as long as acu_quarantine() remembers the stream.
 */
acu_result acu_stream_release(acu_stream *stream);

void acu_stream_cleanup(acu_stream **stream);

/** Its device; ACU_DEVICE_CURRENT if it is no stream. */
acu_device acu_stream_device(const acu_stream *stream);

/** Its flags (acu_stream_flag bits), as CUDA tells them. */
ACU_CHECKED acu_result acu_stream_get_flags(acu_stream *stream, unsigned *flags);

/** Its priority, which CUDA may have brought into the device's range. */
ACU_CHECKED acu_result acu_stream_get_priority(acu_stream *stream, int *priority);

/** CUDA's number of the stream, which no other one of the process ever has; since CUDA 12.0. */
ACU_CHECKED acu_result acu_stream_get_id(acu_stream *stream, uint64_t *id);

/** How a thread waits in acu_stream_synchronize(). */
typedef enum acu_sync_policy {
    ACU_SYNC_AUTO = 1,
    ACU_SYNC_SPIN = 2,
    ACU_SYNC_YIELD = 3,
    ACU_SYNC_BLOCK = 4
} acu_sync_policy;

/** How threads wait for this stream. */
ACU_CHECKED acu_result acu_stream_get_sync_policy(acu_stream *stream, acu_sync_policy *policy);

/** Sets how threads wait for this stream. */
ACU_CHECKED acu_result acu_stream_set_sync_policy(acu_stream *stream, acu_sync_policy policy);

/** A part of memory that the L2 cache shall treat in its own way for work on a stream. */
typedef struct acu_access_window {
    void *pointer;
    size_t bytes;
    float hit_ratio;    /* of the accesses, how many get `hit` */
    unsigned hit, miss; /* 0 normal, 1 streaming, 2 persisting; `miss` not persisting */
} acu_access_window;

/** Sets the window; NULL ends it. */
ACU_CHECKED acu_result acu_stream_set_access_window(acu_stream *stream,
                                                    const acu_access_window *window);

/** Copies all attributes from one stream to another of the same device. */
ACU_CHECKED acu_result acu_stream_copy_attributes(acu_stream *to, acu_stream *from);

/** Success if all its work is done, ACU_NOT_READY if not, or the error of work that failed;
 * ACU_ERROR_CAPTURE as of acu_stream_synchronize(). */
ACU_CHECKED acu_result acu_stream_query(acu_stream *stream);

/** Waits until all its work is done; ACU_ERROR_CAPTURE, and the capture goes on, if it is captured,
 * or the thread captures another stream and CUDA would break that. */
ACU_CHECKED acu_result acu_stream_synchronize(acu_stream *stream);

/** Whether the stream is being captured into a graph, and nothing has broken that. */
ACU_CHECKED acu_result acu_stream_is_capturing(acu_stream *stream, bool *capturing);

/** Lets what comes next on the stream wait for an event. One never recorded is not waited for. */
ACU_CHECKED acu_result acu_stream_wait_event(acu_stream *stream, acu_event *event);

/**
 * Captures a node that waits, at each launch, for what an event means then, also if it is recorded
 * outside of the graph; acu_stream_wait_event() captures a dependency instead. The graph keeps the
 * event.
 *
 * ACU_ERROR_STATE if the stream is not being captured.
 */
ACU_CHECKED acu_result acu_stream_wait_event_external(acu_stream *stream, acu_event *event);

/** Lets what comes next on the stream wait for all that is on `other` now; needs no event. */
ACU_CHECKED acu_result acu_stream_wait_stream(acu_stream *stream, acu_stream *other);

/** Lets `count` streams go on after what is on `from` now. Stops at the first failure. */
ACU_CHECKED acu_result acu_stream_fork(acu_stream *from, acu_stream *const *streams, size_t count);

/** Lets `into` go on after what is on `count` streams now. Stops at the first failure. */
ACU_CHECKED acu_result acu_stream_join(acu_stream *into, acu_stream *const *streams, size_t count);

/** A function with data of its own. */
typedef struct acu_closure {
    void (*call)(void *data);
    void *data;
    void (*destroy)(void *data); /* NULL: nothing is to be done */
} acu_closure;

/**
 * Calls a closure on a thread of CUDA when the stream gets there, and then destroys its data.
 *
 * Takes the data over in any case: `destroy` runs exactly once, after `call`, or without it if this
 * call fails or the stream does; on a device that is lost, where CUDA calls nobody, the next
 * synchronisation or release of a stream does it. Neither may call CUDA; releasing handles is fine,
 * they are destroyed a little later. In a capture (<anycuda/capture.h>) `call` runs at each launch
 * of the graph, and `destroy` when nothing needs the graph any more; ACU_ERROR_CAPTURE in one of
 * CUDA's that anycuda does not know of.
 */
ACU_CHECKED acu_result acu_stream_call(acu_stream *stream, acu_closure closure);

/**
 * Calls `function` on a thread of CUDA when the stream gets there; the data stays the caller's.
 *
 * It must not call CUDA, but may release handles; it does not run if the stream has failed. It can
 * be captured.
 */
ACU_CHECKED acu_result acu_stream_call_function(acu_stream *stream, void (*function)(void *data),
                                                void *data);

ACU_END_C

#endif
