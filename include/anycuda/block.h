/*
 * Blocks: memory of a place.
 *
 * A block is an address or a number of the place's own, which nobody adds to: positions in it are
 * arguments, in bytes. Every position and every size works on every place.
 *
 * A block keeps its client, and comes from its memory. Any client of the same place may use the
 * block, and copies go between places; uses are ordered as the calls were made. Where the thread
 * has to wait for another client's work, and that failed, the call fails with the same error and
 * does nothing. Released at any time, a block lives until the work that uses it is done. Several
 * threads may use a block at once, and retain and release it.
 */
#ifndef ACU_BLOCK_H
#define ACU_BLOCK_H

#include <anycuda/buffer.h>
#include <anycuda/mark.h>

ACU_BEGIN_C

/**
 * Makes a block, which the caller owns, and whose contents are not defined. A size of 0 is allowed.
 *
 * Errors: ACU_OUT_OF_MEMORY, also beyond the client's limit; ACU_ERROR_LIMIT above the largest
 * block of the place.
 */
ACU_CHECKED acu_result acu_block_create(acu_client *client, uint64_t bytes, acu_block **block);

/**
 * Makes a block for elements of a type: acu_dtype_storage() has the size; the caller owns the
 * block. Errors: ACU_ERROR_DTYPE, ACU_ERROR_OVERFLOW.
 */
ACU_CHECKED acu_result acu_block_create_for(acu_client *client, acu_dtype dtype, uint64_t count,
                                            acu_block **block);

/**
 * Makes a block of memory that exists: of the host for the CPU, an address of the device for CUDA,
 * a WGPUBuffer for WebGPU. The caller owns the block.
 *
 * `drop` is called with `data` once nothing uses the memory any more, on any thread; it may be
 * NULL, and is not called where this function fails. Errors: ACU_NOT_SUPPORTED where the place
 * cannot (ACU_CAN_WRAP); ACU_ERROR_LIMIT above the largest block of the place.
 */
ACU_CHECKED acu_result acu_block_wrap(acu_client *client, void *memory, uint64_t bytes,
                                      void (*drop)(void *data), void *data, acu_block **block);

/** Adds an owner and returns the block; NULL where the handle is not a block. */
acu_block *acu_block_retain(acu_block *block);

/**
 * Takes an owner away; the last release gives the memory back to the client after the work that
 * uses it. Everything else is as for acu_client_release().
 */
acu_result acu_block_release(acu_block *block);

void acu_block_cleanup(acu_block **block);

/** Writes one line that names the block, as errors do; acu_stream_describe() has the rules. */
size_t acu_block_describe(const acu_block *block, char *text, size_t size);

/** Returns the bytes of the block; 0 where the handle is not a block. */
uint64_t acu_block_size(const acu_block *block);

/** Returns the client, which stays the block's; NULL where the handle is not a block. */
acu_client *acu_block_client(const acu_block *block);

/**
 * Asks for what is beneath the block, which stays the block's: an address, a WGPUBuffer.
 *
 * What the caller does with it is not ordered with other work, and is not kept alive.
 */
ACU_CHECKED acu_result acu_block_get_raw(acu_block *block, acu_raw *raw);

/** Asks for the address of the memory. Errors: ACU_NOT_SUPPORTED where the place has none. */
ACU_CHECKED acu_result acu_block_get_address(acu_block *block, void **address);

/**
 * Waits for all uses of the block, and asks for an address by which the host reads and writes it
 * until the next work on the block is given. Errors: ACU_NOT_SUPPORTED without ACU_CAN_USE_HOST.
 */
ACU_CHECKED acu_result acu_block_get_host(acu_block *block, void **host);

/* ---- copies; each fails with ACU_ERROR_RANGE outside of the block ---- */

/** Writes bytes of the host, which may be used again when this returns. */
ACU_CHECKED acu_result acu_block_write(acu_client *client, acu_block *to, uint64_t at,
                                       const void *from, size_t bytes);

/** Reads bytes to the host, and waits until they are there. */
ACU_CHECKED acu_result acu_block_read(acu_client *client, acu_block *from, uint64_t at, void *to,
                                      size_t bytes);

/**
 * Reads bytes to the host as they are at a mark, and waits only for the mark and the copy.
 *
 * Work that the client was given after the mark goes on meanwhile. Work that writes to the block,
 * and is given while another thread is in this function, waits for it. Where the place cannot read
 * beside its work (ACU_CAN_READ_BESIDE) this is acu_block_read(). Errors: ACU_ERROR_STATE where
 * the block was made after the mark, or work after the mark has already written to it: what was
 * there at the mark is lost.
 */
ACU_CHECKED acu_result acu_block_read_after(acu_client *client, acu_mark *mark, acu_block *from,
                                            uint64_t at, void *to, size_t bytes);

/**
 * Copies bytes, also to another place, and within one block, where the ranges may overlap.
 *
 * `client` is of one of the two places, and its order decides. Between two places the call may wait
 * for the earlier work of both blocks' clients, and the bytes go through the host unless both can
 * ACU_CAN_COPY_PEERS. Errors: ACU_ERROR_DEVICE where the
 * client is of neither place; ACU_ERROR_CAPTURE while a replay is recorded, between two places.
 */
ACU_CHECKED acu_result acu_block_copy(acu_client *client, acu_block *to, uint64_t to_at,
                                      acu_block *from, uint64_t from_at, uint64_t bytes);

/**
 * Fills bytes with copies of an element of 1 to 16 bytes; the first begins at `at`, and the last is
 * cut where the size is no multiple. Errors: ACU_ERROR_ARGUMENT where the element has another size.
 */
ACU_CHECKED acu_result acu_block_fill(acu_client *client, acu_block *block, uint64_t at,
                                      uint64_t bytes, const void *element, size_t element_bytes);

/**
 * Copies elements of `element_bytes` bytes, of any number, that lie apart; all numbers of `strides`
 * are elements, and the rules are those of acu_buffer_copy_strided().
 *
 * Errors: ACU_ERROR_OVERFLOW where the shape cannot be addressed; ACU_ERROR_ARGUMENT where a step
 * of the destination is 0 in a dimension of several elements, or an element has no bytes.
 */
ACU_CHECKED acu_result acu_block_copy_strided(acu_client *client, acu_block *to, acu_block *from,
                                              size_t element_bytes, const acu_strides *strides);

ACU_END_C

#endif
