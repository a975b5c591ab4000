/*
 * Virtual memory: a reserved range of addresses, to which physical memory is mapped in pieces.
 *
 * The range keeps what is mapped to it, and a buffer on a part of the range keeps the range. A
 * device may use the memory if it was given access, which holds for what is mapped later, too.
 *
 * A buffer that only has to grow needs none of this: acu_buffer_create_growable().
 *
 * Several threads may use a range at once, and retain and release it.
 */
#ifndef ACU_VIRTUAL_H
#define ACU_VIRTUAL_H

#include <anycuda/buffer.h>
#include <anycuda/multicast.h>
#include <anycuda/physical.h>

ACU_BEGIN_C

/** A reserved range of addresses. */
typedef struct acu_virtual acu_virtual;

/** How addresses are reserved; all zero leaves the choice to CUDA. */
typedef struct acu_virtual_options {
    size_t alignment; /* of the first address: a power of two; 0: what memory of the device needs */
    void *wish;       /* the first address, if CUDA can give it; NULL: any */
} acu_virtual_options;

/**
 * Reserves a range of addresses, which the caller owns; `options` may be NULL.
 *
 * `device` gets access to all that is mapped. `bytes` is rounded up to a multiple of the
 * granularity of the device's memory. Errors: ACU_ERROR_RANGE where `bytes` is 0,
 * ACU_ERROR_OVERFLOW, ACU_OUT_OF_MEMORY.
 */
ACU_CHECKED acu_result acu_virtual_reserve(acu_device device, size_t bytes,
                                           const acu_virtual_options *options,
                                           acu_virtual **addresses);

/**
 * Makes a handle for a raw range that someone else reserved and will free; the caller owns the
 * handle.
 *
 * What is mapped to the range already is not known to the handle: nothing can be mapped over it,
 * and acu_virtual_unmap() leaves it alone. The last release unmaps what the handle mapped. The
 * range must live until then.
 */
ACU_CHECKED acu_result acu_virtual_wrap(acu_device device, void *raw, size_t bytes,
                                        acu_virtual **addresses);

/**
 * Makes a handle that owns a raw range: the last release frees both. If this call fails, the range
 * stays the caller's.
 */
ACU_CHECKED acu_result acu_virtual_adopt(acu_device device, void *raw, size_t bytes,
                                         acu_virtual **addresses);

/**
 * Returns the first address, which stays the handle's; NULL where the handle is not a range.
 */
void *acu_virtual_raw(const acu_virtual *addresses);

/** Adds an owner and returns the range; NULL where the handle is not a range. */
acu_virtual *acu_virtual_retain(acu_virtual *addresses);

/**
 * Takes an owner away; the last release unmaps everything and frees the addresses. A buffer on the
 * range is an owner, too. Everything else is as for acu_stream_release().
 */
acu_result acu_virtual_release(acu_virtual *addresses);

void acu_virtual_cleanup(acu_virtual **addresses);

/** Writes one line that names the range, as errors do; acu_stream_describe() has the rules. */
size_t acu_virtual_describe(const acu_virtual *addresses, char *text, size_t size);

/** Returns the size of the range; 0 where the handle is not a range. */
size_t acu_virtual_bytes(const acu_virtual *addresses);

/** Returns the device that the range was made for; ACU_DEVICE_CURRENT where it is not a range. */
acu_device acu_virtual_device(const acu_virtual *addresses);

/**
 * Maps all of the physical memory to the addresses from byte `at` on; the range keeps the memory.
 *
 * Errors: ACU_ERROR_RANGE where the memory does not fit, or `at` is no multiple of the granularity;
 * ACU_ERROR_STATE where something is mapped there, or the range is a buffer's that grows.
 */
ACU_CHECKED acu_result acu_virtual_map(acu_virtual *addresses, size_t at, acu_physical *physical);

/**
 * Maps a part of a multicast object, from its byte `multicast_at` on, to the addresses from byte
 * `at` on; the range keeps the object.
 *
 * The addresses are for `multimem` instructions of kernels, which get them as a pointer; there is
 * no buffer on them. All devices must have been added; until then CUDA would wait, and the call is
 * refused as acu_multicast_bind() is. Errors: ACU_ERROR_RANGE where a number is no multiple of both
 * granularities, or the bytes are outside of the range or the object; ACU_ERROR_DEVICE where a
 * device has access to the range that was not added; ACU_ERROR_STATE as for acu_virtual_map() and
 * acu_multicast_bind().
 */
ACU_CHECKED acu_result acu_virtual_map_multicast(acu_virtual *addresses, size_t at,
                                                 acu_multicast *multicast, size_t multicast_at,
                                                 size_t bytes);

/**
 * Unmaps what is mapped between byte `at` and `at + bytes`, and gives up the physical memory.
 *
 * Work that was queued by raw calls, and uses the addresses, must be done. Errors: ACU_ERROR_RANGE
 * where nothing is mapped, or a piece would be cut; ACU_ERROR_STATE where a buffer lies there.
 */
ACU_CHECKED acu_result acu_virtual_unmap(acu_virtual *addresses, size_t at, size_t bytes);

/**
 * Sets what a device, or ACU_DEVICE_HOST, may do with all that is mapped now or later.
 *
 * A device has no access to memory that is not its own unless it can reach it as a peer, and the
 * host only to memory of the host: CUDA refuses everything else. If it does, nothing has changed.
 */
ACU_CHECKED acu_result acu_virtual_set_access(acu_virtual *addresses, acu_device device,
                                              acu_access access);

/**
 * Asks what a device, or ACU_DEVICE_HOST, may do with the range, as acu_virtual_set_access() set
 * it: what raw calls gave or took is not known.
 */
ACU_CHECKED acu_result acu_virtual_get_access(acu_virtual *addresses, acu_device device,
                                              acu_access *access);

/** What is mapped to a piece of a range: physical memory, or a part of a multicast object. */
typedef struct acu_mapping {
    size_t at, bytes;         /* where in the range, and how many */
    acu_physical *physical;   /* which stays the range's, until the piece is unmapped; or NULL */
    acu_multicast *multicast; /* likewise, or NULL */
    size_t multicast_at;      /* where in the object */
    size_t buffers;           /* how many buffers lie on it; at least 1 in a range that grows */
} acu_mapping;

/** Lists what is mapped, from the first address to the last. */
ACU_CHECKED acu_result acu_virtual_get_mappings(acu_virtual *addresses, acu_mapping *mappings,
                                                size_t *count);

/**
 * Makes a buffer of `count` elements from byte `at` on; the caller owns it, and it keeps the range
 * and the stream. The addresses stay mapped while the buffer lives. acu_buffer_get_host() works if
 * all of the memory is the host's, and the host has access to the range.
 *
 * Errors: ACU_ERROR_RANGE beyond the range, or where not everything is mapped; ACU_ERROR_STATE
 * where the range is a buffer's that grows: acu_buffer_slice() makes a part of that;
 * ACU_ERROR_MEMORY_KIND where a multicast object is mapped;
 * ACU_ERROR_DTYPE where `at` is not aligned for the type; ACU_ERROR_DEVICE where the stream's
 * device may not both read and write; else as for acu_buffer_create().
 */
ACU_CHECKED acu_result acu_virtual_create_buffer(acu_virtual *addresses, size_t at,
                                                 acu_stream *stream, acu_dtype dtype, size_t count,
                                                 acu_buffer **buffer);

/** How the memory of a buffer that grows is made; all zero is ordinary memory of the device. */
typedef struct acu_growable_options {
    bool on_host; /* the host's, which the host may use, too */
    acu_physical_options
        physical;   /* how its pieces are made: handles, compression, the NUMA node */
    unsigned flags; /* ACU_BUFFER_UNORDERED */
} acu_growable_options;

/**
 * Makes a buffer as acu_buffer_create_growable() does, of any physical memory; the caller owns it.
 * `options` may be NULL.
 *
 * acu_virtual_get_mappings() lists the pieces. With ACU_SHARE_FILE_DESCRIPTOR in
 * `options->physical.handles`, acu_share_export_buffer() shares the buffer.
 * acu_buffer_get_host() works if the memory is the host's. Errors: those of
 * acu_buffer_create_growable() and of acu_physical_create(), and ACU_ERROR_ARGUMENT for other
 * flags.
 */
ACU_CHECKED acu_result acu_buffer_create_growable_with(acu_stream *stream, acu_dtype dtype,
                                                       size_t count, size_t capacity,
                                                       const acu_growable_options *options,
                                                       acu_buffer **buffer);

/**
 * Returns the range that the buffer lies on, and which stays the buffer's; NULL where the buffer's
 * memory is not ACU_MEMORY_VIRTUAL.
 *
 * acu_virtual_set_access() with this range lets another device use the buffer, also what the buffer
 * grows by: in launches and fills on that device's streams, and in captured copies.
 * A range that is retained longer than its buffer keeps the memory, and nothing else can be done.
 */
acu_virtual *acu_buffer_virtual(const acu_buffer *buffer);

ACU_END_C

#endif
