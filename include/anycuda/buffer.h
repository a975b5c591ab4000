/*
 * Buffers: typed memory that knows which streams use it.
 *
 * A buffer belongs to a stream. There it is allocated, written and read unless another stream is
 * named, and freed after its last use on any stream. Each operation waits for earlier uses on other
 * streams, by events that exist only once a second stream comes in. Slices share their buffer's
 * memory and keep it alive.
 *
 * Several threads may use one buffer, or parts of one. But operations that two of them issue at the
 * same moment, one of which writes, have no order: where they touch the same elements, the threads
 * have to take turns.
 */
#ifndef ACU_BUFFER_H
#define ACU_BUFFER_H

#include <anycuda/dtype.h>
#include <anycuda/event.h>
#include <anycuda/pool.h>
#include <anycuda/stream.h>

ACU_BEGIN_C

/** Typed memory, or a part of it. */
typedef struct acu_buffer acu_buffer;

/** Where memory comes from: <anycuda/allocator.h>. */
typedef struct acu_allocator acu_allocator;

/** Kinds of memory. */
typedef enum acu_memory {
    ACU_MEMORY_POOL,       /* of the device, in a stream's order; the default */
    ACU_MEMORY_DEVICE,     /* of the device, by cudaMalloc */
    ACU_MEMORY_PINNED,     /* of the host, pinned: the device copies from and to it directly */
    ACU_MEMORY_MAPPED,     /* pinned, and the device can address it */
    ACU_MEMORY_MANAGED,    /* moves between host and devices */
    ACU_MEMORY_REGISTERED, /* the caller's host memory, by acu_buffer_register() */
    ACU_MEMORY_GRAPH,      /* of the device, by launches of a graph: acu_graph_add_alloc() */
    ACU_MEMORY_VIRTUAL,    /* mapped to reserved addresses: acu_buffer_create_growable() */
    ACU_MEMORY_HOST        /* someone else's memory of the host, not pinned, to copy from and to */
} acu_memory;

/** Bits of acu_buffer_options.flags. */
enum acu_buffer_flag {
    ACU_BUFFER_UNORDERED = 1,      /* uses are not remembered: the caller orders the streams */
    ACU_BUFFER_WRITE_COMBINED = 2, /* pinned, mapped: fast to write, slow to read by the host */
    ACU_BUFFER_PORTABLE = 4,       /* pinned, mapped, registered: for all devices */
    ACU_BUFFER_ATTACH_HOST = 8,    /* managed: attached to the host at first */
    ACU_BUFFER_MAP = 16,           /* registered: the device can address it */
    ACU_BUFFER_READ_ONLY = 32      /* registered: the device only reads it */
};

/** How a buffer is made; all zero is stream-ordered memory of the device's current pool. */
typedef struct acu_buffer_options {
    acu_memory memory;
    acu_pool *pool;           /* for ACU_MEMORY_POOL; the buffer keeps it; NULL: the current pool */
    unsigned flags;           /* acu_buffer_flag bits */
    acu_allocator *allocator; /* with memory of that kind; kept; NULL: the device's current one */
} acu_buffer_options;

/**
 * Makes a buffer of `count` elements in the stream's order; the caller owns it, and it keeps the
 * stream.
 *
 * The elements are not initialised; there may be 0 of them. If the device has no room, the pools
 * are trimmed and the allocation is tried once more; the error then reports how much was asked for
 * and how much is free. Errors: ACU_ERROR_DTYPE where `dtype` is not a type, ACU_ERROR_OVERFLOW,
 * ACU_ERROR_CAPTURE while the stream is captured, ACU_OUT_OF_MEMORY.
 */
ACU_CHECKED acu_result acu_buffer_create(acu_stream *stream, acu_dtype dtype, size_t count,
                                         acu_buffer **buffer);

/**
 * Makes a buffer of any kind of memory; the caller owns it, and it keeps the stream. `options` may
 * be NULL.
 *
 * Errors: those of acu_buffer_create(), and ACU_ERROR_DEVICE where the stream's device cannot use
 * the pool.
 */
ACU_CHECKED acu_result acu_buffer_create_with(acu_stream *stream, acu_dtype dtype, size_t count,
                                              const acu_buffer_options *options,
                                              acu_buffer **buffer);

/**
 * Makes a buffer of the caller's host memory, which is pinned while the buffer lives; the caller
 * owns the buffer.
 *
 * The memory must live until the last owner, slices included, has released it; that release waits
 * for all uses. While a capture delays the release (docs/users/threading.md), the memory must live
 * on until it is destroyed. Errors: those of acu_buffer_create().
 */
ACU_CHECKED acu_result acu_buffer_register(acu_stream *stream, acu_dtype dtype, void *host,
                                           size_t count, unsigned flags, acu_buffer **buffer);

/**
 * Makes a buffer on memory that stays someone else's; the caller owns the buffer.
 *
 * The memory may be freed after all uses, which acu_buffer_synchronize() and the last release wait
 * for; a release that a capture delays (docs/users/threading.md) does not wait. Errors: those of
 * acu_buffer_create(), and ACU_ERROR_DTYPE where the address is not aligned for the type.
 */
ACU_CHECKED acu_result acu_buffer_wrap(acu_stream *stream, acu_dtype dtype, void *pointer,
                                       size_t count, acu_memory memory, acu_buffer **buffer);

/**
 * Makes a buffer that owns memory: the last release frees it as its kind demands; the caller owns
 * the buffer.
 *
 * If this call fails, the memory stays the caller's. Errors: those of acu_buffer_wrap().
 */
ACU_CHECKED acu_result acu_buffer_adopt(acu_stream *stream, acu_dtype dtype, void *pointer,
                                        size_t count, acu_memory memory, acu_buffer **buffer);

/**
 * Makes a copy of a buffer, which belongs to `stream`, or where that is NULL to the buffer's; the
 * caller owns it. The copy is made in the stream's order: nothing is waited for.
 *
 * The memory is of the same kind, and of the same pool if the stream's device may use it. There are
 * exceptions: clones of registered and of other memory of the host are ACU_MEMORY_PINNED, and
 * clones of a graph's and of mapped memory are ACU_MEMORY_POOL. Errors: those of
 * acu_buffer_create_with() and acu_buffer_copy(); there is no buffer then.
 */
ACU_CHECKED acu_result acu_buffer_clone(acu_buffer *buffer, acu_stream *stream, acu_buffer **clone);

/**
 * Makes a buffer of a part of another one, whose memory it shares and keeps; the caller owns it.
 * Errors: ACU_ERROR_RANGE beyond the buffer's end.
 */
ACU_CHECKED acu_result acu_buffer_slice(acu_buffer *buffer, size_t at, size_t count,
                                        acu_buffer **slice);

/**
 * Makes a buffer on the same memory with another type; the caller owns it. A view of a pitched
 * buffer has the same rows. Errors: ACU_ERROR_DTYPE where size or alignment do not fit, of a
 * pitched buffer those of the rows.
 */
ACU_CHECKED acu_result acu_buffer_reinterpret(acu_buffer *buffer, acu_dtype dtype,
                                              acu_buffer **view);

/* ---- growing ----
 *
 * A buffer that can grow reserves addresses for all elements that it may have, and memory for those
 * that it has. Its address stays what it is, so that nothing is copied, and slices and captured
 * graphs stay right. No other thread may use the buffer while it grows or shrinks.
 */

/**
 * Makes a buffer of `count` elements that can grow to `capacity`; the caller owns it, and it keeps
 * the stream.
 *
 * The memory is ACU_MEMORY_VIRTUAL, of the stream's device alone: acu_buffer_virtual() is how
 * others get access. It is freed as memory is that does not belong to a pool. The stream may be
 * captured meanwhile. Errors: ACU_ERROR_RANGE where the capacity is 0 or less than `count`;
 * ACU_ERROR_DTYPE, ACU_ERROR_OVERFLOW, ACU_OUT_OF_MEMORY as for acu_buffer_create().
 */
ACU_CHECKED acu_result acu_buffer_create_growable(acu_stream *stream, acu_dtype dtype, size_t count,
                                                  size_t capacity, acu_buffer **buffer);

/**
 * Makes the buffer `count` elements long, which is at least as many as it has; the new ones are not
 * initialised.
 *
 * The memory is there when the call returns, for all streams: nothing is waited for. It is taken in
 * pieces of at most 256 MiB, and at least the granularity (2 MiB on most devices), so that most
 * small steps need none. Errors: ACU_ERROR_MEMORY_KIND where the buffer cannot grow, because it was
 * made by another function, or is a slice or view; ACU_ERROR_RANGE beyond the capacity or
 * below the present count; ACU_OUT_OF_MEMORY, after which the buffer is as it was.
 */
ACU_CHECKED acu_result acu_buffer_grow(acu_buffer *buffer, size_t count);

/**
 * Makes the buffer `count` elements long, which is at most as many as it has, waits until all uses
 * so far are done, and gives back the pieces of memory that lie beyond them.
 *
 * Errors: ACU_ERROR_MEMORY_KIND as for acu_buffer_grow(); ACU_ERROR_RANGE above the present count;
 * ACU_ERROR_STATE where a slice, view, tensor (acu_buffer_export_dlpack()), texture, share or graph
 * keeps the memory, because it may use what would be given back; ACU_ERROR_CAPTURE as for
 * acu_stream_synchronize(). Other owners of the buffer itself, and lists of arguments, do not
 * count: they see the buffer as it is then. If CUDA cannot unmap a piece, the buffer has as many
 * elements afterwards as still have memory.
 */
ACU_CHECKED acu_result acu_buffer_shrink(acu_buffer *buffer, size_t count);

/**
 * Returns how many elements the buffer can have without moving: its count, unless it can grow; 0
 * where the handle is not a buffer.
 */
size_t acu_buffer_capacity(const acu_buffer *buffer);

/* ---- owners ---- */

/** Adds an owner and returns the buffer; NULL where the handle is not a buffer. */
acu_buffer *acu_buffer_retain(acu_buffer *buffer);

/**
 * Takes an owner away; the last release frees the memory. Slices are owners, too.
 *
 * Stream-ordered memory is freed on the buffer's stream, which waits for uses on other streams
 * first. For any other memory the calling thread waits. Everything else is as for
 * acu_stream_release().
 */
acu_result acu_buffer_release(acu_buffer *buffer);

void acu_buffer_cleanup(acu_buffer **buffer);

/** Writes one line that names the buffer, as errors do; acu_stream_describe() has the rules. */
size_t acu_buffer_describe(const acu_buffer *buffer, char *text, size_t size);

/* ---- what a buffer is ---- */

/**
 * Returns the address that kernels use, which stays the buffer's; NULL where the handle is not a
 * buffer.
 */
void *acu_buffer_raw(const acu_buffer *buffer);

/**
 * Waits until all uses so far are done, and gets the address that the host uses.
 *
 * The host may then write and read until the buffer is used again. Errors: ACU_ERROR_MEMORY_KIND
 * where the host cannot reach the memory; ACU_ERROR_CAPTURE as for acu_stream_synchronize().
 */
ACU_CHECKED acu_result acu_buffer_get_host(acu_buffer *buffer, void **host);

/** Returns the type of the buffer's elements; ACU_ANY where the handle is not a buffer. */
acu_dtype acu_buffer_dtype(const acu_buffer *buffer);

/** Returns how many elements the buffer has; 0 where the handle is not a buffer. */
size_t acu_buffer_count(const acu_buffer *buffer);

/** Returns how many bytes the elements take; 0 where the handle is not a buffer. */
size_t acu_buffer_bytes(const acu_buffer *buffer);

/** Returns the kind of the buffer's memory; ACU_MEMORY_POOL where the handle is not a buffer. */
acu_memory acu_buffer_memory(const acu_buffer *buffer);

/**
 * Returns the device of the buffer's stream; ACU_DEVICE_CURRENT where the handle is not a buffer.
 */
acu_device acu_buffer_device(const acu_buffer *buffer);

/**
 * Returns the stream that the buffer belongs to, and which stays the buffer's; NULL where the
 * handle is not a buffer.
 */
acu_stream *acu_buffer_stream(const acu_buffer *buffer);

/**
 * Makes the buffer, with all slices and views of its memory, belong to another stream of the same
 * device, and keep that one instead.
 *
 * Nothing is waited for: uses on the earlier stream are remembered as those on any other. No other
 * thread may use the memory meanwhile. Errors: ACU_ERROR_DEVICE where the stream is on another
 * device; ACU_ERROR_MEMORY_KIND where the memory is a graph's, which belongs to no stream.
 */
ACU_CHECKED acu_result acu_buffer_set_stream(acu_buffer *buffer, acu_stream *stream);

/* ---- order ---- */

/**
 * Waits until all uses of the buffer's memory so far are done. Errors: ACU_ERROR_CAPTURE as for
 * acu_stream_synchronize().
 */
ACU_CHECKED acu_result acu_buffer_synchronize(acu_buffer *buffer);

/**
 * Forgets the uses of the buffer's memory that are done, and counts the streams whose uses may not
 * be; waits for nothing. `left` may be NULL.
 *
 * An operation on a buffer waits for earlier uses on other streams, also where they were over long
 * ago, because CUDA is not asked each time. After this call that costs nothing any more, and what
 * is kept of streams that are gone is given back. In a capture where CUDA must not be asked nothing
 * is forgotten, and of a buffer that is unordered nothing is known: `left` is 0 then.
 */
ACU_CHECKED acu_result acu_buffer_forget_uses(acu_buffer *buffer, size_t *left);

/**
 * Announces that the program itself will put work on `on` that uses the buffer, such as a raw
 * launch.
 *
 * With `writes` the stream waits for all earlier uses on other streams, without for their writes
 * alone. acu_buffer_end_use() must follow, with the same `writes` and `on`: otherwise other
 * streams, and the release that frees the memory, do not wait for the work.
 */
ACU_CHECKED acu_result acu_buffer_begin_use(acu_buffer *buffer, bool writes, acu_stream *on);

/**
 * Announces that the work of acu_buffer_begin_use() is on the stream now, also where that work
 * failed.
 */
ACU_CHECKED acu_result acu_buffer_end_use(acu_buffer *buffer, bool writes, acu_stream *on);

/* ---- copies ----
 *
 * `on` is the stream to use; NULL means the buffer's own, or that of the destination. `at` and
 * `count` are elements. Errors: ACU_ERROR_DTYPE and ACU_ERROR_RANGE; of functions that wait also
 * ACU_ERROR_CAPTURE.
 */

/**
 * Writes `count` elements from the host to the beginning, and waits; the type is the pointer's.
 *
 * This is a macro, so that an array that is written in place needs parentheses around it, because
 * of its commas: `acu_buffer_write(buffer, ((float[]){1, 2, 3}), 3)`.
 */
#define acu_buffer_write(buffer, host, count)                                                      \
    acu_buffer_write_typed((buffer), 0, ACU_DTYPE_OF(host), (host), (count), NULL)

/** Makes a buffer of `count` elements from the host; the type is the pointer's. */
#define acu_buffer_create_from(stream, host, count, buffer)                                        \
    acu_buffer_create_from_typed((stream), ACU_DTYPE_OF(host), (host), (count), (buffer))

/**
 * Makes a buffer as acu_buffer_create() does, and writes all of it, which waits; the caller owns
 * it.
 *
 * Errors: those of both functions; there is no buffer then.
 */
ACU_CHECKED acu_result acu_buffer_create_from_typed(acu_stream *stream, acu_dtype dtype,
                                                    const void *host, size_t count,
                                                    acu_buffer **buffer);

/** Reads `count` elements from the beginning to the host, and waits; the type is the pointer's. */
#define acu_buffer_read(buffer, host, count)                                                       \
    acu_buffer_read_typed((buffer), 0, ACU_DTYPE_OF(host), (host), (count), NULL)

/** Writes elements from the host, and waits until that is done; `host` may then change. */
ACU_CHECKED acu_result acu_buffer_write_typed(acu_buffer *buffer, size_t at, acu_dtype dtype,
                                              const void *host, size_t count, acu_stream *on);

/** Reads elements to the host, and waits until they are there. */
ACU_CHECKED acu_result acu_buffer_read_typed(acu_buffer *buffer, size_t at, acu_dtype dtype,
                                             void *host, size_t count, acu_stream *on);

/**
 * Reads elements to the host as they are when an event is done.
 *
 * `on` waits for the event and copies, and the thread waits for `on` alone. Uses of the buffer
 * after the event are not waited for, unless they are on `on`: name another stream to read while
 * the next batch runs.
 */
ACU_CHECKED acu_result acu_buffer_read_after(acu_buffer *buffer, acu_event *event, size_t at,
                                             acu_dtype dtype, void *host, size_t count,
                                             acu_stream *on);

/**
 * Copies a whole buffer to another one of the same type and count, and does not wait.
 *
 * To copy between device and host without waiting, let one of the two be pinned or registered
 * memory, which lives until the copy is done; <anycuda/transfer.h> is for any other memory.
 *
 * Any two devices copy from one to the other, on a stream of any device. In a capture, the stream's
 * device must have access to the other one's pool, as for acu_graph_add_copy(): CUDA refuses the
 * copy with 1 otherwise.
 */
ACU_CHECKED acu_result acu_buffer_copy(acu_buffer *to, acu_buffer *from, acu_stream *on);

/**
 * Copies a part of a buffer into another one, and does not wait. The parts may be of the same
 * memory, but must not overlap.
 */
ACU_CHECKED acu_result acu_buffer_copy_range(acu_buffer *to, size_t to_at, acu_buffer *from,
                                             size_t from_at, size_t count, acu_stream *on);

/** As a number of elements in acu_copy and acu_fill: all from the first one on. */
#define ACU_REST ((size_t)-1)

/**
 * What is copied by a node of a graph, or in a batch: elements of one buffer to another. Either
 * buffer may be memory of the host.
 */
typedef struct acu_copy {
    acu_buffer *to, *from;
    size_t to_at, from_at; /* the first elements */
    size_t count;          /* ACU_REST: all elements that the source has from `from_at` on; 0: none,
                              which a batch may have, but not a node */
} acu_copy;

enum { ACU_MAX_RANK = 16 };

/** Which elements a strided copy takes, and where it puts them; all numbers are elements. */
typedef struct acu_strides {
    unsigned rank;       /* up to ACU_MAX_RANK; 0: one element */
    const size_t *shape; /* elements in each dimension, the last one is the innermost */
    const int64_t *to;   /* steps between them, of any sign but 0; NULL: densely packed */
    const int64_t *from; /* as `to`; 0 repeats an element */
    size_t to_at;        /* where the first element goes */
    size_t from_at;      /* where it comes from; with negative steps not the lowest one */
} acu_strides;

/**
 * Copies elements that lie apart, and does not wait.
 *
 * One kernel of the library's own copies where many copies of rows would be needed, as for a
 * transposition. Where it cannot run, because the stream's device does not reach the memory or the
 * driver does not compile PTX, there are as few copies of rows as the layout allows. Within one
 * memory nothing that is written may also be read, and two elements must not go to one place:
 * neither is found, and the result is undefined. A shape with a 0 copies nothing. Errors:
 * ACU_ERROR_OVERFLOW where the shape cannot be addressed.
 */
ACU_CHECKED acu_result acu_buffer_copy_strided(acu_buffer *to, acu_buffer *from,
                                               const acu_strides *strides, acu_stream *on);

/** Sets every element to the one that `element` points at, and does not wait. */
#define acu_buffer_fill(buffer, element)                                                           \
    acu_buffer_fill_typed((buffer), ACU_DTYPE_OF(element), (element), NULL)

/**
 * Sets every element to `*element`, and does not wait.
 *
 * Of a pitched buffer (region.h) that are those of its rows; what lies between rows stays. Elements
 * of 1, 2 or 4 bytes, or of equal bytes, are set at the memory's speed. Errors:
 * ACU_ERROR_DEVICE where the stream belongs to another device.
 */
ACU_CHECKED acu_result acu_buffer_fill_typed(acu_buffer *buffer, acu_dtype dtype,
                                             const void *element, acu_stream *on);

/**
 * Sets every byte to 0, those between the rows of a pitched buffer, too, and does not wait. Errors:
 * ACU_ERROR_DEVICE where the stream belongs to another device.
 */
ACU_CHECKED acu_result acu_buffer_zero(acu_buffer *buffer, acu_stream *on);

/**
 * Sets `bytes` bytes from byte `at` on, whatever the elements are, and does not wait.
 *
 * The `pattern_bytes` bytes of `pattern` follow each other as often as there is room, and the last
 * time only as much of them as there is room for. Patterns of 1, 2 or 4 bytes, or of equal bytes,
 * are set at the memory's speed; long ones take a call of CUDA for every four bytes. Errors:
 * ACU_ERROR_ARGUMENT for a pattern of no bytes, and for a pitched buffer, of which
 * acu_region_fill() fills the rows; ACU_ERROR_RANGE; ACU_ERROR_DEVICE where the stream belongs to
 * another device.
 */
ACU_CHECKED acu_result acu_buffer_fill_bytes(acu_buffer *buffer, size_t at, size_t bytes,
                                             const void *pattern, size_t pattern_bytes,
                                             acu_stream *on);

/* ---- managed memory ----
 *
 * Errors: ACU_ERROR_MEMORY_KIND where the memory is of any other kind.
 */

/** Moves managed memory to a device, or to ACU_DEVICE_HOST, before it is used there. */
ACU_CHECKED acu_result acu_buffer_prefetch(acu_buffer *buffer, acu_device where, acu_stream *on);

/** How managed memory will be used, with CUDA's numbers (cudaMemoryAdvise). */
typedef enum acu_advise {
    ACU_ADVISE_SET_READ_MOSTLY = 1,
    ACU_ADVISE_UNSET_READ_MOSTLY = 2,
    ACU_ADVISE_SET_PREFERRED_LOCATION = 3,
    ACU_ADVISE_UNSET_PREFERRED_LOCATION = 4,
    ACU_ADVISE_SET_ACCESSED_BY = 5,
    ACU_ADVISE_UNSET_ACCESSED_BY = 6
} acu_advise;

/** Advises CUDA on how managed memory will be used; `device` may be ACU_DEVICE_HOST. */
ACU_CHECKED acu_result acu_buffer_advise(acu_buffer *buffer, acu_advise advice, acu_device device);

/** What managed memory is attached to, where host and device cannot use it at the same time. */
typedef enum acu_attach {
    ACU_ATTACH_GLOBAL = 1, /* all streams; the host may use it while the device has no work */
    ACU_ATTACH_HOST = 2,   /* the host alone; what ACU_BUFFER_ATTACH_HOST begins with */
    ACU_ATTACH_SINGLE = 4  /* one stream; the host may use it while that has no work */
} acu_attach;

/**
 * Attaches managed memory, from here on in the order of `on`; all of it, also for slices.
 *
 * This matters on devices without cudaDevAttrConcurrentManagedAccess; others accept it, but do not
 * need it. Errors: ACU_ERROR_ARGUMENT also where ACU_ATTACH_SINGLE names the legacy default stream.
 */
ACU_CHECKED acu_result acu_buffer_attach(acu_buffer *buffer, acu_attach to, acu_stream *on);

ACU_END_C

#endif
