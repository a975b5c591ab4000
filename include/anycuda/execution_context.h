/*
 * Execution contexts: parts of a device, with streams of their own.
 *
 * A device's multiprocessors are divided among the parts, so that a long kernel in one part leaves
 * those of the others free. Memory, kernels and events are the device's, and are used in a part as
 * anywhere. CUDA calls such a part a green context; the driver makes it, since CUDA 12.5, whatever
 * runtime is loaded.
 *
 * Several threads may use an execution context at once, and retain and release it.
 */
#ifndef ACU_EXECUTION_CONTEXT_H
#define ACU_EXECUTION_CONTEXT_H

#include <anycuda/event.h>

struct CUgreenCtx_st; /* what CUDA calls CUgreenCtx */

ACU_BEGIN_C

/** A part of a device. */
typedef struct acu_execution_context acu_execution_context;

/** What can be divided, and in which sizes. */
typedef struct acu_multiprocessors {
    unsigned count;  /* how many there are */
    unsigned least;  /* how many the smallest part has */
    unsigned step;   /* how many are together on the chip; a part has a multiple of them */
    unsigned queues; /* how many streams can submit work at once; 0: the driver does not say,
                        because it is older than CUDA 13.1 */
} acu_multiprocessors;

/** Asks what a device has to be divided. */
ACU_CHECKED acu_result acu_device_get_multiprocessors(acu_device device,
                                                      acu_multiprocessors *multiprocessors);

/** Bits of acu_device_part.flags, with CUDA's numbers. */
enum acu_part_flag {
    ACU_PART_BACKFILL = 1, /* fill up with multiprocessors that are not together; since CUDA 13.1 */
    ACU_PART_IN_DOMAIN = 2, /* only those of acu_device_part.domain; since CUDA 13.4 */
    /* with ACU_PART_IN_DOMAIN: also those that the domain has in addition; since CUDA 13.5 */
    ACU_PART_IN_WHOLE_DOMAIN = 4
};

/** As acu_device_part.domain: any locality domain of the device; since CUDA 13.5. */
#define ACU_PART_ANY_DOMAIN (~0u)

/** With whom a part shares the queues through which work gets to the device. */
typedef enum acu_queue_sharing {
    ACU_QUEUES_OF_DEVICE = 0, /* all of the device's, with all others */
    ACU_QUEUES_BALANCED = 1   /* where possible no queue of another part that is balanced, too */
} acu_queue_sharing;

/** What a part of a device gets. All zero is what is left: all multiprocessors, for the last part.
 */
typedef struct acu_device_part {
    unsigned multiprocessors; /* at least so many; 0: all that are left, only in the last part */
    unsigned together; /* how many must be together, for clusters of so many blocks; 0: the device's
                          step; else an even number up to 32, since CUDA 13.1 */
    unsigned preferred_together; /* a multiple of `together`, where it fits; since CUDA 13.1 */
    unsigned flags;              /* acu_part_flag bits */
    unsigned domain;             /* with ACU_PART_IN_DOMAIN: the number of the locality domain */

    unsigned queues; /* how many streams will submit work at once; 0: the device's number; else
                        since CUDA 13.1 */
    acu_queue_sharing sharing;        /* not ACU_QUEUES_OF_DEVICE: since CUDA 13.1 */
    acu_execution_context *queues_of; /* the queues that this one has already, which the new part
                                         keeps; then the two before are 0; NULL: none; since
                                         CUDA 13.1 */
} acu_device_part;

/**
 * Divides a device into parts, none of which has a multiprocessor of another; the caller owns
 * `count` execution contexts.
 *
 * Each number of multiprocessors is rounded up to what the device can give
 * (acu_device_get_multiprocessors()), and what is not asked for belongs to no part. Two calls
 * divide the same multiprocessors: their parts are not disjoint. If one part cannot be made, none
 * is. Errors: ACU_ERROR_LIMIT where the parts need more than there is, ACU_NOT_SUPPORTED where the
 * driver is too old for a part, 915 where CUDA cannot divide so.
 */
ACU_CHECKED acu_result acu_device_split(acu_device device, const acu_device_part *parts,
                                        size_t count, acu_execution_context **contexts);

/**
 * Divides the multiprocessors of an execution context as acu_device_split() divides a device's; the
 * caller owns `count` execution contexts.
 *
 * The context stays as it is, and its streams run where those of the new ones do.
 */
ACU_CHECKED acu_result acu_execution_context_split(acu_execution_context *context,
                                                   const acu_device_part *parts, size_t count,
                                                   acu_execution_context **contexts);

/**
 * Makes a handle for a raw CUgreenCtx that stays someone else's; the caller owns the new handle.
 *
 * The last release leaves the raw context alone. The raw context must live until the handle, and
 * every stream made in it, is released. It must belong to that device; CUDA is not asked. A
 * cudaExecutionContext_t of the runtime is no CUgreenCtx, and there is no way to convert it.
 */
ACU_CHECKED acu_result acu_execution_context_wrap(acu_device device, struct CUgreenCtx_st *raw,
                                                  acu_execution_context **context);

/**
 * Makes a handle that owns a raw one: the last release destroys both. If this call fails, the raw
 * context stays the caller's.
 */
ACU_CHECKED acu_result acu_execution_context_adopt(acu_device device, struct CUgreenCtx_st *raw,
                                                   acu_execution_context **context);

/**
 * Returns the CUgreenCtx, which stays the handle's; NULL where the handle is not an execution
 * context.
 */
struct CUgreenCtx_st *acu_execution_context_raw(const acu_execution_context *context);

/** Adds an owner and returns the context; NULL where the handle is not an execution context. */
acu_execution_context *acu_execution_context_retain(acu_execution_context *context);

/**
 * Takes an owner away; the last release destroys the context. Its streams are owners, too, and so
 * are the graphs that were captured from them. Everything else is as for acu_stream_release().
 */
acu_result acu_execution_context_release(acu_execution_context *context);

void acu_execution_context_cleanup(acu_execution_context **context);

/** Writes one line that names the context, as errors do; acu_stream_describe() has the rules. */
size_t acu_execution_context_describe(const acu_execution_context *context, char *text,
                                      size_t size);

/** Returns the context's device; ACU_DEVICE_CURRENT where the handle is not one. */
acu_device acu_execution_context_device(const acu_execution_context *context);

/** What CUDA made of a part. A driver before CUDA 13.1 may say no more than how many
 * multiprocessors there are. */
typedef struct acu_execution_context_info {
    unsigned multiprocessors;
    unsigned together;         /* how many are together */
    unsigned flags;            /* acu_part_flag bits */
    unsigned domain;           /* with ACU_PART_IN_DOMAIN */
    unsigned queues;           /* how many streams can submit work at once */
    acu_queue_sharing sharing; /* with whom it shares them */
} acu_execution_context_info;

/** Asks what the context has. */
ACU_CHECKED acu_result acu_execution_context_get_info(acu_execution_context *context,
                                                      acu_execution_context_info *info);

/**
 * Asks for the context's number, which no other context of the process ever has; since CUDA 13.0.
 */
ACU_CHECKED acu_result acu_execution_context_get_id(acu_execution_context *context, uint64_t *id);

/**
 * Makes a stream whose work runs in the context; the caller owns the stream, which keeps the
 * context.
 *
 * `options` may be NULL. Such a stream never waits for the legacy default stream: it is
 * ACU_STREAM_NON_BLOCKING, whatever `options->flags` say. Errors: as for acu_stream_create().
 */
ACU_CHECKED acu_result acu_execution_context_create_stream(acu_execution_context *context,
                                                           const acu_stream_options *options,
                                                           acu_stream **stream);

/**
 * Returns the context that the stream was made in, and which stays the stream's; NULL where that is
 * not known to be one: the stream is the device's own, or was wrapped.
 */
acu_execution_context *acu_stream_execution_context(const acu_stream *stream);

/**
 * Asks on how many multiprocessors the stream's work may run; since CUDA 13.1, for any stream.
 *
 * Errors: ACU_ERROR_CAPTURE while the stream is captured.
 */
ACU_CHECKED acu_result acu_stream_get_multiprocessors(acu_stream *stream, unsigned *count);

/**
 * Lets the event stand for all that is now on all streams of the context.
 *
 * Errors: ACU_ERROR_DEVICE where event and context belong to different devices; ACU_ERROR_CAPTURE
 * where a stream of the context is being captured, because CUDA would break the capture.
 */
ACU_CHECKED acu_result acu_execution_context_record_event(acu_execution_context *context,
                                                          acu_event *event);

/**
 * Lets later work on all streams of the context wait for an event; an event that was never recorded
 * is not waited for.
 *
 * Errors: ACU_ERROR_CAPTURE where a stream of the context is being captured, or the event stands
 * for work that is.
 */
ACU_CHECKED acu_result acu_execution_context_wait_event(acu_execution_context *context,
                                                        acu_event *event);

/**
 * Waits until all work on all streams of the context is done.
 *
 * Errors: ACU_ERROR_CAPTURE as of acu_stream_synchronize(), for each of the streams.
 */
ACU_CHECKED acu_result acu_execution_context_synchronize(acu_execution_context *context);

/**
 * Lets the event stand for all that is now on all streams of the device, those of its execution
 * contexts included; since CUDA 12.5. Errors: as for acu_execution_context_record_event().
 */
ACU_CHECKED acu_result acu_device_record_event(acu_device device, acu_event *event);

/**
 * Lets later work on all streams of the device wait for an event, those of its execution contexts
 * included; since CUDA 12.5. Errors: as for acu_execution_context_wait_event().
 */
ACU_CHECKED acu_result acu_device_wait_event(acu_device device, acu_event *event);

ACU_END_C

#endif
