/*
 * Batches: many copies, prefetches or discards in one call.
 *
 * The result is that of doing one after the other, so that a copy may read what an earlier one of
 * the batch has written. CUDA gives no order to a batch: what depends on each other becomes several
 * calls of CUDA. Where CUDA has no such call, because the runtime or the driver is too old, because
 * the stream is the legacy default stream, or because it is being captured, the elements are done
 * one by one, with the same result.
 *
 * All elements are checked first: where one of them is wrong, nothing is done.
 */
#ifndef ACU_BATCH_H
#define ACU_BATCH_H

#include <anycuda/buffer.h>
#include <anycuda/region.h>

ACU_BEGIN_C

enum { ACU_BATCH_OBJECT = 160, ACU_BATCH_REASON = 512 };

/** An element of a batch that failed. */
typedef struct acu_batch_failure {
    size_t index; /* which one; SIZE_MAX: the batch as a whole, because CUDA does not say which */
    acu_result result;
    char object[ACU_BATCH_OBJECT]; /* "buffer 0x55… (8 x f32)"; "" if it concerns none */
    char reason[ACU_BATCH_REASON]; /* as acu_last_error_message() returned it, perhaps cut short */
} acu_batch_failure;

/** What became of a batch. */
typedef struct acu_batch_report {
    acu_batch_failure *failures; /* the caller's array for them; NULL: not wanted */
    size_t room;                 /* how many it has room for; the first ones are reported */
    size_t failed;               /* set: how many elements failed */
    size_t calls;                /* set: how many calls of CUDA copied, prefetched or discarded */
} acu_batch_report;

/** When the source of a copy is read, with CUDA's numbers (cudaMemcpySrcAccessOrder). */
typedef enum acu_source_order {
    ACU_SOURCE_ORDER_DEFAULT = 0,         /* in the stream's order */
    ACU_SOURCE_ORDER_STREAM = 1,          /* the same */
    ACU_SOURCE_ORDER_DURING_API_CALL = 2, /* before the call returns */
    ACU_SOURCE_ORDER_ANY = 3              /* at any time until the copy is done */
} acu_source_order;

/**
 * How some copies of a batch are done; all zero is how acu_buffer_copy_range() copies.
 *
 * With an order other than the stream's, nothing that writes the source may still be under way on
 * any stream, which is not found out; and the host may change the source afterwards: with
 * ACU_SOURCE_ORDER_DURING_API_CALL as soon as the call has returned.
 */
typedef struct acu_copy_attributes {
    size_t first;           /* the first copy that they hold for; they do up to the next entry's */
    acu_source_order order; /* when the sources are read */
    bool overlap;           /* rather slower, if the copies then overlap with kernels */
    const acu_device *to;   /* where managed memory is that is written, or ACU_DEVICE_HOST; a hint;
                               NULL: CUDA finds out */
    const acu_device *from; /* the same of what is read */
} acu_copy_attributes;

/**
 * Copies parts of buffers into others, and does not wait.
 *
 * `attributes` may be NULL; copies before the first entry's have none. Copies one by one have no
 * use for hints, and wait at the end where a source must be read during the call. A batch of 0
 * copies is done, and so is a copy whose `count` is 0, as in acu_buffer_copy_range(); ACU_REST is
 * all that the source has from `from_at` on. A capture takes the copies as nodes.
 *
 * `report` may be NULL. The result is that of the first copy that failed, and so is the last error,
 * whose message has the index. If CUDA refuses a batch, its copies are tried one by one: those that
 * CUDA then takes are done. Errors, for each copy: those of acu_buffer_copy_range(); for the batch,
 * of which then no copy has failed: ACU_ERROR_ARGUMENT where an attribute is wrong, and
 * ACU_ERROR_CAPTURE where a source is to be read during the call and the stream is captured.
 */
ACU_CHECKED acu_result acu_batch_copy(acu_stream *stream, const acu_copy *copies, size_t count,
                                      const acu_copy_attributes *attributes, size_t attribute_count,
                                      acu_batch_report *report);

/** A region that is copied to another one. */
typedef struct acu_region_pair {
    acu_region to, from;
    acu_extent extent;
} acu_region_pair;

/**
 * Copies regions to others, as acu_region_copy() does, and does not wait; everything else is as for
 * acu_batch_copy().
 *
 * Errors, for each pair: those of acu_region_copy(); for the batch, those of acu_batch_copy().
 */
ACU_CHECKED acu_result acu_batch_copy_regions(acu_stream *stream, const acu_region_pair *pairs,
                                              size_t count, const acu_copy_attributes *attributes,
                                              size_t attribute_count, acu_batch_report *report);

/** Managed memory, and where it is to be. */
typedef struct acu_prefetch {
    acu_buffer *buffer;
    acu_device where; /* or ACU_DEVICE_HOST */
} acu_prefetch;

/**
 * Moves managed memory to devices, or to the host, before it is used there, and does not wait;
 * `report` as for acu_batch_copy().
 *
 * Errors, for each buffer: those of acu_buffer_prefetch(); ACU_ERROR_CAPTURE where the stream is
 * captured, because CUDA captures none of this.
 */
ACU_CHECKED acu_result acu_batch_prefetch(acu_stream *stream, const acu_prefetch *prefetches,
                                          size_t count, acu_batch_report *report);

/**
 * Gives up what managed memory holds, so that it need not be moved: its values are undefined until
 * they are written again; `report` as for acu_batch_copy().
 *
 * Where CUDA cannot do this, before CUDA 13.0 and on the legacy default stream, nothing is done:
 * the values that stay are allowed ones, and a program needs no second way. Errors: those of
 * acu_batch_prefetch().
 */
ACU_CHECKED acu_result acu_batch_discard(acu_stream *stream, acu_buffer *const *buffers,
                                         size_t count, acu_batch_report *report);

/**
 * Discards what managed memory holds, and moves the memory to where it will be written, without
 * copying anything; `report` as for acu_batch_copy().
 *
 * Where CUDA cannot discard, this is acu_batch_prefetch(). Errors: those of that.
 */
ACU_CHECKED acu_result acu_batch_discard_and_prefetch(acu_stream *stream,
                                                      const acu_prefetch *prefetches, size_t count,
                                                      acu_batch_report *report);

ACU_END_C

#endif
