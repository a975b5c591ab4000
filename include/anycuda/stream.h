/*
 * Streams: work that a device does in order.
 *
 * Several threads may use a stream at once, and retain and release it. What two threads put on one
 * stream at the same time, without a lock of their own, has no defined order.
 */
#ifndef ACU_STREAM_H
#define ACU_STREAM_H

#include <stdint.h>

#include <anycuda/device.h>

struct CUstream_st; /* what CUDA calls cudaStream_t and CUstream */

ACU_BEGIN_C

/** Work in order, on a device. */
typedef struct acu_stream acu_stream;
/** A place in a stream; declared in <anycuda/event.h>. */
typedef struct acu_event acu_event;

/** Bits of acu_stream_options.flags. */
enum acu_stream_flag {
    ACU_STREAM_NON_BLOCKING = 1 /* no waiting between it and the legacy default stream */
};

/** How a stream is made; all zero is what CUDA does by default. */
typedef struct acu_stream_options {
    unsigned flags; /* acu_stream_flag bits */
    int priority;   /* a smaller number is more urgent; acu_device_get_priority_range() */
} acu_stream_options;

/**
 * Makes a stream, which the caller owns.
 *
 * `options` may be NULL. Errors: ACU_ERROR_ARGUMENT where the flags do not exist,
 * ACU_ERROR_HOST_MEMORY, CUDA's own.
 */
ACU_CHECKED acu_result acu_stream_create(acu_device device, const acu_stream_options *options,
                                         acu_stream **stream);

/** Makes a handle for the device's legacy default stream; the caller owns the handle. */
ACU_CHECKED acu_result acu_stream_get_legacy(acu_device device, acu_stream **stream);

/**
 * Makes a handle for the calling thread's default stream; the caller owns the handle.
 *
 * CUDA's handle means another stream in each thread, so that any other thread that uses this one
 * gets ACU_ERROR_STATE. Any thread may release it.
 */
ACU_CHECKED acu_result acu_stream_get_per_thread(acu_device device, acu_stream **stream);

/**
 * Makes a handle for a raw stream that stays someone else's; the caller owns the handle.
 *
 * The last release leaves the raw stream alone. The raw stream must live until the handle, and
 * every buffer made on it, is released. It must belong to that device; CUDA is not asked.
 */
ACU_CHECKED acu_result acu_stream_wrap(acu_device device, struct CUstream_st *raw,
                                       acu_stream **stream);

/**
 * Makes a handle that owns a raw stream: the last release destroys both.
 *
 * Errors: ACU_ERROR_ARGUMENT where the raw stream is NULL or a default stream.
 */
ACU_CHECKED acu_result acu_stream_adopt(acu_device device, struct CUstream_st *raw,
                                        acu_stream **stream);

/**
 * Returns the cudaStream_t, which is also a CUstream; NULL where the handle is not a stream.
 *
 * The raw stream stays the handle's. Code that has it can capture the stream, so that from then on
 * CUDA is asked about that before a thread waits for the stream or queries it.
 */
struct CUstream_st *acu_stream_raw(const acu_stream *stream);

/** Adds an owner and returns the stream; NULL where the handle is not a stream. */
acu_stream *acu_stream_retain(acu_stream *stream);

/**
 * Takes an owner away; the last release destroys the stream, without waiting for its work.
 *
 * NULL is fine. Returns the result of the destruction, which acu_release_error() keeps, too. A
 * second release gives ACU_ERROR_HANDLE as long as acu_quarantine() keeps the dead stream.
 */
acu_result acu_stream_release(acu_stream *stream);

void acu_stream_cleanup(acu_stream **stream);

/**
 * Writes one line that names the stream, as errors do, such as "stream 0x55d0 (raw 0x7f20,
 * non-blocking) on device 0".
 *
 * At most `size` bytes are written, with a zero at the end. Returns the length of the whole line,
 * as snprintf() does. The handle may be NULL or of another kind, or released as long as
 * acu_quarantine() keeps it: the line then says so. CUDA is not called, and nothing is waited for.
 */
size_t acu_stream_describe(const acu_stream *stream, char *text, size_t size);

/**
 * Names the stream: acu_stream_describe() and errors have the name, at most 47 bytes of it, and
 * tools and traces that listen. "" takes it away, but not from tools.
 *
 * The name is read before the call returns.
 */
acu_result acu_stream_set_name(acu_stream *stream, const char *name);

/** Returns the stream's device; ACU_DEVICE_CURRENT where the handle is not a stream. */
acu_device acu_stream_device(const acu_stream *stream);

/**
 * Asks CUDA for the stream's flags (acu_stream_flag bits).
 *
 * Errors: ACU_ERROR_CAPTURE while the stream is captured, because CUDA would end the capture.
 */
ACU_CHECKED acu_result acu_stream_get_flags(acu_stream *stream, unsigned *flags);

/** Asks CUDA for the stream's priority, which CUDA keeps within the device's range. */
ACU_CHECKED acu_result acu_stream_get_priority(acu_stream *stream, int *priority);

/**
 * Asks CUDA for the stream's number, which no other stream of the process ever has; since CUDA
 * 12.0.
 *
 * Errors: ACU_ERROR_CAPTURE while the stream is captured.
 */
ACU_CHECKED acu_result acu_stream_get_id(acu_stream *stream, uint64_t *id);

/**
 * How a thread waits in acu_stream_synchronize(), with CUDA's numbers (cudaSynchronizationPolicy).
 */
typedef enum acu_sync_policy {
    ACU_SYNC_AUTO = 1,
    ACU_SYNC_SPIN = 2,
    ACU_SYNC_YIELD = 3,
    ACU_SYNC_BLOCK = 4
} acu_sync_policy;

/** Asks how threads wait for the stream. */
ACU_CHECKED acu_result acu_stream_get_sync_policy(acu_stream *stream, acu_sync_policy *policy);

/** Sets how threads wait for the stream. */
ACU_CHECKED acu_result acu_stream_set_sync_policy(acu_stream *stream, acu_sync_policy policy);

/** A part of memory that the L2 cache treats in its own way for work on a stream. */
typedef struct acu_access_window {
    void *pointer;
    size_t bytes;
    float hit_ratio;    /* the part of the accesses that get `hit`, from 0 to 1 */
    unsigned hit, miss; /* 0 normal, 1 streaming, 2 persisting; `miss` cannot be 2 */
} acu_access_window;

/**
 * Sets the stream's access window; NULL removes it.
 *
 * `hit` 2 works with memory that acu_device_set_limit() set aside (ACU_LIMIT_PERSISTING_L2_SIZE),
 * and acu_device_reset_persisting_l2() ends what persists. Errors: CUDA's 1 where the window is
 * larger than the device allows, or `hit_ratio` or `miss` is wrong.
 */
ACU_CHECKED acu_result acu_stream_set_access_window(acu_stream *stream,
                                                    const acu_access_window *window);

/**
 * Which of the device's memory synchronisation domains stand for CUDA's two. A fence of a kernel
 * waits for the writes of its own domain only.
 */
typedef struct acu_memory_domains {
    unsigned char local; /* for launches in domain 0, the usual one */
    unsigned char
        remote; /* for launches in domain 1, as of libraries that write to other devices */
} acu_memory_domains;

/** What is set on a stream. What the runtime does not have yet is 0. */
typedef struct acu_stream_info {
    acu_access_window window;
    acu_sync_policy sync_policy;
    int priority;
    unsigned memory_domain;            /* since CUDA 12.0 */
    acu_memory_domains memory_domains; /* since CUDA 12.0 */
    bool nvlink_centric;               /* since CUDA 13.0 */
} acu_stream_info;

/** Asks for all that is set on the stream. */
ACU_CHECKED acu_result acu_stream_get_info(acu_stream *stream, acu_stream_info *info);

/** Sets the priority of later work; CUDA keeps it within the device's range. Since CUDA 12.0. */
ACU_CHECKED acu_result acu_stream_set_priority(acu_stream *stream, int priority);

/** Sets the memory synchronisation domain of later launches: 0, or 1 for remote. Since CUDA 12.0.
 */
ACU_CHECKED acu_result acu_stream_set_memory_domain(acu_stream *stream, unsigned domain);

/**
 * Sets which domains of the device stand for the two; since CUDA 12.0. Errors: CUDA's 1 where the
 * device has fewer domains (its attribute cudaDevAttrMemSyncDomainCount).
 */
ACU_CHECKED acu_result acu_stream_set_memory_domains(acu_stream *stream,
                                                     acu_memory_domains domains);

/**
 * Sets whether the blocks of later launches are spread so that the NVLinks are used best; since
 * CUDA 13.0. Errors: CUDA's own where the driver does not do it for streams.
 */
ACU_CHECKED acu_result acu_stream_set_nvlink_centric(acu_stream *stream, bool centric);

/** Copies all attributes of a stream to another one. Errors: ACU_ERROR_DEVICE where they are on
 * different devices. */
ACU_CHECKED acu_result acu_stream_copy_attributes(acu_stream *to, acu_stream *from);

/**
 * Returns ACU_SUCCESS if all work on the stream is done, ACU_NOT_READY if not.
 *
 * Errors: that of work that failed; ACU_ERROR_CAPTURE as of acu_stream_synchronize().
 */
ACU_CHECKED acu_result acu_stream_query(acu_stream *stream);

/**
 * Waits until all work on the stream is done.
 *
 * Errors: that of work that failed; ACU_ERROR_CAPTURE where the stream is being captured, or where
 * CUDA would break a capture of another stream by this thread. The capture then goes on.
 */
ACU_CHECKED acu_result acu_stream_synchronize(acu_stream *stream);

/** Asks whether the stream is being captured into a graph, and nothing has broken the capture. */
ACU_CHECKED acu_result acu_stream_is_capturing(acu_stream *stream, bool *capturing);

/**
 * Lets later work on the stream wait for an event; an event that was never recorded is not waited
 * for.
 */
ACU_CHECKED acu_result acu_stream_wait_event(acu_stream *stream, acu_event *event);

/**
 * Captures a node that waits for an event at each launch of the graph.
 *
 * The event stands for what it was last recorded for, in the graph or elsewhere. The graph keeps
 * the event. acu_stream_wait_event() captures a dependency instead. Errors: ACU_ERROR_STATE where
 * the stream is not being captured.
 */
ACU_CHECKED acu_result acu_stream_wait_event_external(acu_stream *stream, acu_event *event);

/** Lets later work on the stream wait for all that is on `other` now; no event is needed. */
ACU_CHECKED acu_result acu_stream_wait_stream(acu_stream *stream, acu_stream *other);

/**
 * Lets later work on `count` streams wait for what is on `from` now; stops at the first failure.
 */
ACU_CHECKED acu_result acu_stream_fork(acu_stream *from, acu_stream *const *streams, size_t count);

/**
 * Lets later work on `into` wait for what is on `count` streams now; stops at the first failure.
 */
ACU_CHECKED acu_result acu_stream_join(acu_stream *into, acu_stream *const *streams, size_t count);

/** A function of the host with data of its own. */
typedef struct acu_closure {
    void (*call)(void *data);
    void *data;
    void (*destroy)(void *data); /* NULL: the data needs no destruction */
} acu_closure;

/**
 * Calls a closure on a thread of CUDA when the stream gets there, and then destroys its data.
 *
 * The closure's data is taken over in any case: `destroy` runs exactly once. That is after `call`;
 * or without it, if this function or the stream fails. On a device that has failed, where CUDA
 * calls nothing any more, the next synchronisation or release of a stream destroys the data.
 *
 * Neither function may call CUDA. Both may release handles, which are then destroyed a little
 * later. In a capture (<anycuda/capture.h>) `call` runs at each launch of the graph, and `destroy`
 * when nothing needs the graph any more. Errors: ACU_ERROR_CAPTURE in a capture that anycuda did
 * not begin.
 */
ACU_CHECKED acu_result acu_stream_call(acu_stream *stream, acu_closure closure);

/** How a stream waits for a function of the host, with CUDA's numbers (cudaHostTaskSyncMode). */
typedef enum acu_host_wait {
    ACU_HOST_BLOCK = 0, /* until a thread that sleeps has called it */
    ACU_HOST_SPIN = 1   /* a thread spins, and calls it sooner; since CUDA 13.2 */
} acu_host_wait;

/**
 * Calls a closure as acu_stream_call() does, in that way.
 *
 * With ACU_HOST_SPIN, `call` does not run where the device has failed, and `destroy` as where CUDA
 * calls nothing any more. Errors: those of acu_stream_call(), and 801 with a runtime, or 36 with a
 * driver, that is older than CUDA 13.2.
 */
ACU_CHECKED acu_result acu_stream_call_with(acu_stream *stream, acu_closure closure,
                                            acu_host_wait wait);

/**
 * Calls a function on a thread of CUDA when the stream gets there; the data stays the caller's.
 *
 * The function must not call CUDA, but may release handles. It does not run if the stream has
 * failed. In a capture it runs at each launch of the graph.
 */
ACU_CHECKED acu_result acu_stream_call_function(acu_stream *stream, void (*function)(void *data),
                                                void *data);

ACU_END_C

#endif
