/*
 * Transfers: copies between buffers and ordinary memory of the host, for which no thread waits.
 *
 * The data passes through pinned memory of the stream. What is written is copied there before the
 * call returns, so that the caller may change or free its memory at once. What is read stays there
 * until the program takes it out of the transfer: no function keeps a pointer to memory of the
 * caller, so that nothing is ever written to memory that was freed meanwhile.
 *
 * Several threads may use a transfer at once, and retain and release it.
 */
#ifndef ACU_TRANSFER_H
#define ACU_TRANSFER_H

#include <anycuda/buffer.h>

ACU_BEGIN_C

/** Elements that are being read: a copy of them, as they were at a place in a stream. */
typedef struct acu_transfer acu_transfer;

/**
 * Writes elements from the host in the stream's order, and does not wait; `host` may change when
 * the call returns.
 *
 * The stream has up to 16 MiB of pinned memory for what is written but not copied yet. Only where
 * that is full the thread waits, for earlier writes on the stream. The call waits as
 * acu_buffer_write_typed() does where there is more data than that, or no pinned memory; and for
 * data of 4 MiB or more where the stream has nothing else to do, because CUDA's copy takes less
 * time then than the way through pinned memory. After a failure some of the elements may be
 * written.
 *
 * On a stream that is being captured the graph keeps a copy of the elements as they are now, and
 * each launch writes these. Errors: ACU_ERROR_DTYPE, ACU_ERROR_RANGE, ACU_ERROR_HOST_MEMORY, and
 * ACU_ERROR_CAPTURE as for acu_stream_synchronize() where another stream is captured.
 */
ACU_CHECKED acu_result acu_buffer_write_async(acu_buffer *buffer, size_t at, acu_dtype dtype,
                                              const void *host, size_t count, acu_stream *on);

/**
 * Begins to read elements in the stream's order, and does not wait; the caller owns the transfer.
 *
 * The transfer has the elements as they are at this place of the stream, whatever is written to the
 * buffer later; the buffer and the stream may be released. Each transfer has pinned memory of its
 * own, which afterwards serves the next ones. Where the host has no pinned memory, the call waits,
 * and the elements are in ordinary memory. Errors: ACU_ERROR_RANGE, ACU_ERROR_HOST_MEMORY, and
 * ACU_ERROR_CAPTURE as for acu_stream_synchronize(): a transfer has what is there once, but a graph
 * may be launched again and again. Read after a launch, or capture a copy to pinned memory.
 */
ACU_CHECKED acu_result acu_buffer_read_async(acu_buffer *buffer, size_t at, size_t count,
                                             acu_transfer **transfer, acu_stream *on);

/**
 * Returns ACU_SUCCESS if the elements are there, ACU_NOT_READY if not.
 *
 * Errors: that of work that failed; ACU_ERROR_CAPTURE as for acu_stream_synchronize().
 */
ACU_CHECKED acu_result acu_transfer_query(acu_transfer *transfer);

/**
 * Waits until the elements are there; later work on the stream is not waited for.
 *
 * Errors: that of work that failed; ACU_ERROR_CAPTURE as for acu_stream_synchronize().
 */
ACU_CHECKED acu_result acu_transfer_synchronize(acu_transfer *transfer);

/** Waits, and copies the first `count` elements to the host; the type is the pointer's. */
#define acu_transfer_read(transfer, host, count)                                                   \
    acu_transfer_read_typed((transfer), 0, ACU_DTYPE_OF(host), (host), (count))

/**
 * Waits as acu_transfer_synchronize() does, and copies elements to the host. They may be read again
 * and again. Errors: ACU_ERROR_DTYPE and ACU_ERROR_RANGE, and those of acu_transfer_synchronize().
 */
ACU_CHECKED acu_result acu_transfer_read_typed(acu_transfer *transfer, size_t at, acu_dtype dtype,
                                               void *host, size_t count);

/**
 * Waits as acu_transfer_synchronize() does, and gets the address of the elements, which stays the
 * transfer's; NULL where there are none. The bytes change no more.
 */
ACU_CHECKED acu_result acu_transfer_get_host(acu_transfer *transfer, const void **host);

/** Adds an owner and returns the transfer; NULL where the handle is not a transfer. */
acu_transfer *acu_transfer_retain(acu_transfer *transfer);

/**
 * Takes an owner away, and never waits: where the copy is still under way, its memory is used again
 * afterwards. Everything else is as for acu_stream_release().
 */
acu_result acu_transfer_release(acu_transfer *transfer);

void acu_transfer_cleanup(acu_transfer **transfer);

/** Writes one line that names the transfer, as errors do; acu_stream_describe() has the rules. */
size_t acu_transfer_describe(const acu_transfer *transfer, char *text, size_t size);

/** Returns the type of the elements; ACU_ANY where the handle is not a transfer. */
acu_dtype acu_transfer_dtype(const acu_transfer *transfer);

/** Returns how many elements are read; 0 where the handle is not a transfer. */
size_t acu_transfer_count(const acu_transfer *transfer);

/** Returns how many bytes the elements take; 0 where the handle is not a transfer. */
size_t acu_transfer_bytes(const acu_transfer *transfer);

/** Returns the device of the stream; ACU_DEVICE_CURRENT where the handle is not a transfer. */
acu_device acu_transfer_device(const acu_transfer *transfer);

ACU_END_C

#endif
