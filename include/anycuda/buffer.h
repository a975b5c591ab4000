/*
 * Buffers: typed memory that knows who uses it.
 *
 * A buffer belongs to a stream: there it is allocated, written and read unless another is named,
 * and freed, after its last use wherever that was. Each operation waits for those before it on
 * other streams, by events that exist only when a second stream comes in. Slices share their
 * buffer's memory and keep it alive.
 *
 * Several threads may use one buffer, or parts of one. But operations that two of them issue at the
 * same moment, one of which writes, are in no order: where they touch the same elements, the
 * threads have to take turns.
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

/** Where memory comes from. */
typedef enum acu_memory {
    ACU_MEMORY_POOL,       /* of the device, stream-ordered: the default */
    ACU_MEMORY_DEVICE,     /* of the device, by cudaMalloc */
    ACU_MEMORY_PINNED,     /* of the host, which the device copies from and to by itself */
    ACU_MEMORY_MAPPED,     /* pinned, and the device can address it */
    ACU_MEMORY_MANAGED,    /* moves between host and devices */
    ACU_MEMORY_REGISTERED, /* the caller's host memory, by acu_buffer_register() */
    ACU_MEMORY_GRAPH       /* of the device, by launches of a graph: acu_graph_add_alloc() */
} acu_memory;

/** Bits of acu_buffer_options.flags. */
enum acu_buffer_flag {
    ACU_BUFFER_UNORDERED = 1,      /* uses are not remembered: the caller orders streams himself */
    ACU_BUFFER_WRITE_COMBINED = 2, /* pinned, mapped: fast to write, slow to read by the host */
    ACU_BUFFER_PORTABLE = 4,       /* pinned, mapped, registered: for all devices */
    ACU_BUFFER_ATTACH_HOST = 8,    /* managed: the host's first */
    ACU_BUFFER_MAP = 16,           /* registered: the device can address it */
    ACU_BUFFER_READ_ONLY = 32      /* registered: the device only reads it */
};

/** How a buffer is made; zero is stream-ordered memory of the device's current pool. */
typedef struct acu_buffer_options {
    acu_memory memory;
    acu_pool *pool; /* ACU_MEMORY_POOL: from this one, which the buffer keeps alive */
    unsigned flags; /* acu_buffer_flag bits */
} acu_buffer_options;

/**
 * Makes a buffer of `count` elements in the stream's order; the caller owns it, and it owns the
 * stream.
 *
 * Nothing is written to it. If the device has no room, the pools are trimmed and it is tried once
 * more; the error then tells how much was asked for and is free. 0 elements are fine. Errors:
 * ACU_ERROR_DTYPE of what is no type, ACU_ERROR_OVERFLOW, ACU_ERROR_CAPTURE, ACU_OUT_OF_MEMORY.
 */
ACU_CHECKED acu_result acu_buffer_create(acu_stream *stream, acu_dtype dtype, size_t count,
                                         acu_buffer **buffer);

/** acu_buffer_create() of any memory, with its errors, and ACU_ERROR_DEVICE of a pool that the
 * stream's device cannot use; `options` may be NULL. */
ACU_CHECKED acu_result acu_buffer_create_with(acu_stream *stream, acu_dtype dtype, size_t count,
                                              const acu_buffer_options *options,
                                              acu_buffer **buffer);

/**
 * Makes a buffer of the caller's host memory, pinned while the buffer lives.
 *
 * The memory must live until the last owner, slices included, has released it: that waits for all
 * uses. Errors as of acu_buffer_create().
 */
ACU_CHECKED acu_result acu_buffer_register(acu_stream *stream, acu_dtype dtype, void *host,
                                           size_t count, unsigned flags, acu_buffer **buffer);

/**
 * A buffer on memory of someone else, who frees it: after all uses, which acu_buffer_synchronize()
 * and the last release wait for. Errors as of acu_buffer_create(), and ACU_ERROR_DTYPE at an
 * address that is not aligned for it.
 */
ACU_CHECKED acu_result acu_buffer_wrap(acu_stream *stream, acu_dtype dtype, void *pointer,
                                       size_t count, acu_memory memory, acu_buffer **buffer);

/** Like acu_buffer_wrap(), but takes the memory over and frees it as its kind demands. */
ACU_CHECKED acu_result acu_buffer_adopt(acu_stream *stream, acu_dtype dtype, void *pointer,
                                        size_t count, acu_memory memory, acu_buffer **buffer);

/** A part of a buffer, which shares and keeps its memory; ACU_ERROR_RANGE beyond its end. */
ACU_CHECKED acu_result acu_buffer_slice(acu_buffer *buffer, size_t at, size_t count,
                                        acu_buffer **slice);

/** The same memory as other elements; ACU_ERROR_DTYPE where they do not fit, also in alignment. */
ACU_CHECKED acu_result acu_buffer_reinterpret(acu_buffer *buffer, acu_dtype dtype,
                                              acu_buffer **view);

/** One more owner; returns the buffer, NULL if it is none. */
acu_buffer *acu_buffer_retain(acu_buffer *buffer);

/**
 * One owner less; the last one, slices count as such, frees the memory.
 *
 * Stream-ordered memory is freed on the buffer's stream, after it has waited there for uses on
 * others; for any other the calling thread waits. NULL is fine. As acu_stream_release() otherwise.
 */
acu_result acu_buffer_release(acu_buffer *buffer);

void acu_buffer_cleanup(acu_buffer **buffer);

/* ---- what it is ---- */

/** The address that kernels use; it stays the buffer's. NULL if it is no buffer. */
void *acu_buffer_raw(const acu_buffer *buffer);

/**
 * The address that the host uses, after all uses so far are done.
 *
 * The host may then write or read until the buffer is used again. ACU_ERROR_MEMORY_KIND for memory
 * that the host cannot reach; ACU_ERROR_CAPTURE as of acu_stream_synchronize().
 */
ACU_CHECKED acu_result acu_buffer_get_host(acu_buffer *buffer, void **host);

/** The type of its elements; ACU_ANY if it is no buffer. */
acu_dtype acu_buffer_dtype(const acu_buffer *buffer);

/** How many elements it has; 0 if it is no buffer. */
size_t acu_buffer_count(const acu_buffer *buffer);

/** How many bytes they take; 0 if it is no buffer. */
size_t acu_buffer_bytes(const acu_buffer *buffer);

/** Where its memory comes from; ACU_MEMORY_POOL if it is no buffer. */
acu_memory acu_buffer_memory(const acu_buffer *buffer);

/** The device of its stream; ACU_DEVICE_CURRENT if it is no buffer. */
acu_device acu_buffer_device(const acu_buffer *buffer);

/** The stream that it belongs to, which stays the buffer's; NULL if it is no buffer. */
acu_stream *acu_buffer_stream(const acu_buffer *buffer);

/* ---- order ---- */

/** Waits until all uses of its memory so far are done; ACU_ERROR_CAPTURE as of
 * acu_stream_synchronize(). */
ACU_CHECKED acu_result acu_buffer_synchronize(acu_buffer *buffer);

/**
 * Says that something of the caller's, such as a raw launch, is about to use the buffer on a
 * stream: the stream waits for what it must come after. To be followed by acu_buffer_end_use().
 */
ACU_CHECKED acu_result acu_buffer_begin_use(acu_buffer *buffer, bool writes, acu_stream *on);

/** Says that it is on the stream now. */
ACU_CHECKED acu_result acu_buffer_end_use(acu_buffer *buffer, bool writes, acu_stream *on);

/* ---- copies ----
 *
 * `on` is the stream to use, NULL the buffer's own (the destination's). `at` and `count` are
 * elements. Errors of all: ACU_ERROR_DTYPE, ACU_ERROR_RANGE; ACU_ERROR_CAPTURE of those that wait.
 */

/** Writes `count` elements from the host, at the beginning; the type is the pointer's. Waits. */
#define acu_buffer_write(buffer, host, count)                                                      \
    acu_buffer_write_typed((buffer), 0, ACU_DTYPE_OF(host), (host), (count), NULL)

/** Makes a buffer of the device's of `count` elements of the host; the type is the pointer's. */
#define acu_buffer_create_from(stream, host, count, buffer)                                        \
    acu_buffer_create_from_typed((stream), ACU_DTYPE_OF(host), (host), (count), (buffer))

/**
 * Makes a buffer as acu_buffer_create() does, and writes to all of it, which waits; the caller owns
 * it. The errors of both; there is no buffer then.
 */
ACU_CHECKED acu_result acu_buffer_create_from_typed(acu_stream *stream, acu_dtype dtype,
                                                    const void *host, size_t count,
                                                    acu_buffer **buffer);

/** Reads `count` elements to the host, from the beginning; the type is the pointer's. Waits. */
#define acu_buffer_read(buffer, host, count)                                                       \
    acu_buffer_read_typed((buffer), 0, ACU_DTYPE_OF(host), (host), (count), NULL)

/** Writes elements from the host, and waits until that is done, so `host` may then change. */
ACU_CHECKED acu_result acu_buffer_write_typed(acu_buffer *buffer, size_t at, acu_dtype dtype,
                                              const void *host, size_t count, acu_stream *on);

/** Reads elements to the host, and waits until they are there. */
ACU_CHECKED acu_result acu_buffer_read_typed(acu_buffer *buffer, size_t at, acu_dtype dtype,
                                             void *host, size_t count, acu_stream *on);

/**
 * Reads to the host what is there when an event is done: `on` waits for the event and copies, and
 * the thread waits for `on` alone. Uses of the buffer after the event are not waited for, unless
 * `on` is the stream that they are on: name another one to read while the next batch runs.
 */
ACU_CHECKED acu_result acu_buffer_read_after(acu_buffer *buffer, acu_event *event, size_t at,
                                             acu_dtype dtype, void *host, size_t count,
                                             acu_stream *on);

/**
 * Copies a whole buffer to another of the same type and count, and does not wait.
 *
 * Between device and host: the other one is pinned or registered memory, whose lifetime is looked
 * after.
 */
ACU_CHECKED acu_result acu_buffer_copy(acu_buffer *to, acu_buffer *from, acu_stream *on);

/** Copies a part of a buffer into another one, and does not wait. They may be parts of the same
 * memory, but must not overlap. */
ACU_CHECKED acu_result acu_buffer_copy_range(acu_buffer *to, size_t to_at, acu_buffer *from,
                                             size_t from_at, size_t count, acu_stream *on);

enum { ACU_MAX_RANK = 16 };

/** Which elements a strided copy takes, and where it puts them; all in elements. */
typedef struct acu_strides {
    unsigned rank;       /* up to ACU_MAX_RANK; 0: one element */
    const size_t *shape; /* elements in each dimension, the last one is the innermost */
    const int64_t *to;   /* steps between them, of any sign but 0; NULL: densely packed */
    const int64_t *from; /* likewise, 0 repeats an element */
    size_t to_at;        /* where the first element goes, and */
    size_t from_at;      /* where it comes from: with negative steps not the lowest one */
} acu_strides;

/**
 * Copies elements that lie apart, and does not wait.
 *
 * Done by as few 2D copies as the layout allows: one for each row of rows; steps that are negative
 * or not ascending cost a copy for each element or row. Within one memory nothing that is written
 * may also be read: that is not found, and what is there then is not defined. ACU_ERROR_OVERFLOW
 * for a shape that no machine can address.
 */
ACU_CHECKED acu_result acu_buffer_copy_strided(acu_buffer *to, acu_buffer *from,
                                               const acu_strides *strides, acu_stream *on);

/** Sets every element to the one that `element` points at, and does not wait. */
#define acu_buffer_fill(buffer, element)                                                           \
    acu_buffer_fill_typed((buffer), ACU_DTYPE_OF(element), (element), NULL)

/** Sets every element to `*element`, and does not wait. Elements of 1, 2 and 4 bytes, or of equal
 * bytes, at the memory's speed. ACU_ERROR_DEVICE on a stream of another device. */
ACU_CHECKED acu_result acu_buffer_fill_typed(acu_buffer *buffer, acu_dtype dtype,
                                             const void *element, acu_stream *on);

/** Sets every byte to 0, and does not wait; ACU_ERROR_DEVICE on a stream of another device. */
ACU_CHECKED acu_result acu_buffer_zero(acu_buffer *buffer, acu_stream *on);

/* ---- managed memory; of any other kind: ACU_ERROR_MEMORY_KIND ---- */

/** Brings managed memory to a device, or to ACU_DEVICE_HOST, before it is used there. */
ACU_CHECKED acu_result acu_buffer_prefetch(acu_buffer *buffer, acu_device where, acu_stream *on);

/** How managed memory will be used. */
typedef enum acu_advise {
    ACU_ADVISE_SET_READ_MOSTLY = 1,
    ACU_ADVISE_UNSET_READ_MOSTLY = 2,
    ACU_ADVISE_SET_PREFERRED_LOCATION = 3,
    ACU_ADVISE_UNSET_PREFERRED_LOCATION = 4,
    ACU_ADVISE_SET_ACCESSED_BY = 5,
    ACU_ADVISE_UNSET_ACCESSED_BY = 6
} acu_advise;

/** Says how managed memory will be used; `device` may be ACU_DEVICE_HOST. */
ACU_CHECKED acu_result acu_buffer_advise(acu_buffer *buffer, acu_advise advice, acu_device device);

/** Whose managed memory is, where host and device cannot use it at the same time. */
typedef enum acu_attach {
    ACU_ATTACH_GLOBAL = 1, /* all streams'; the host's while the device has nothing to do */
    ACU_ATTACH_HOST = 2,   /* the host's: what ACU_BUFFER_ATTACH_HOST begins with */
    ACU_ATTACH_SINGLE = 4  /* one stream's; the host's while that one has nothing to do */
} acu_attach;

/**
 * Says whose managed memory is, from here on in the order of `on`; all of it, slices as well.
 *
 * It matters on devices without cudaDevAttrConcurrentManagedAccess; others take it and need it not.
 * ACU_ERROR_ARGUMENT also where ACU_ATTACH_SINGLE is to be the default stream of all threads.
 */
ACU_CHECKED acu_result acu_buffer_attach(acu_buffer *buffer, acu_attach to, acu_stream *on);

ACU_END_C

#endif
