/*
 * Memory, its uses, and the buffers on it, as the rest of the safe layer sees them.
 *
 * As long as one stream alone uses memory, nothing is remembered but that stream's timeline
 * (`sole`): an operation compares it before and after, and that is all. When a second stream comes,
 * the timeline becomes the first entry of a small table, in which each use waits for the uses that
 * it must come after.
 */
#ifndef ACU_SRC_STORAGE_H
#define ACU_SRC_STORAGE_H

#include <anycuda/buffer.h>

#include "safe/base/object.h"
#include "safe/base/stream.h"
#include "safe/memory/pool.h"
#include "types/dtype.h"

/* The uses of one timeline. The storage's version counts the uses that were added to the table. */
typedef struct acu_use {
    acu_timeline *timeline;
    uint64_t number;  /* the last use, on the timeline */
    uint64_t added;   /* the version of the last use */
    uint64_t written; /* the version of the last write; 0: there was none */
    uint64_t seen;    /* the timeline has waited for all writes up to this version */
} acu_use;

/* From the fifth use on, a stream waits for the oldest one; more are remembered only where none can
 * be waited for. */
enum { ACU_USES = 4, ACU_MOST_USES = 8 };

struct acu_buffer {
    acu_object object;
    struct acu_storage *storage;
    char *pointer; /* the device's address; the host's where only the host can address the memory */
    size_t count;  /* elements */
    acu_dtype dtype;
    bool pitched; /* it is the beginning of an acu_pitched_buffer (safe/memory/region.h) */
};

/* Where one stream alone uses the memory, only the first two lines of the cache are read. */
typedef struct acu_storage {
    acu_object object;
    /* Atomic: the only timeline that uses the memory, with a reference unless it is the home's;
     * NULL: the uses are in the table. */
    acu_timeline *sole;
    acu_stream *home; /* the buffer's stream, with a reference; NULL for memory of a graph */
    char *pointer;    /* the device's address, as that of a buffer */
    bool plain; /* stream-ordered memory of the current pool, without a table: it can be a spare */
    bool owned; /* the memory is freed with the storage */
    /* The first buffer on the memory is part of it, which saves an allocation. It is counted as
     * alive also while the storage is a spare. */
    _Alignas(ACU_CACHE_LINE) acu_buffer first;
    struct acu_cache *cache; /* where the storage can be kept ready with its memory; or NULL */
    unsigned class;          /* of its size there */
    uint64_t freed;          /* the number of the last use, while it is ready */
    struct acu_allocator *allocator; /* where the memory comes from, with a reference; or NULL */
    struct acu_piece *piece;         /* of a caching allocator; else NULL */
    struct acu_storage *next_made;   /* of the same capture, which is an owner */
    char *host; /* the host's address; NULL if the host cannot reach the memory */
    int device; /* ordinal */
    acu_memory memory;
    unsigned flags;    /* acu_buffer_flag bits */
    int not_freed;     /* CUDA's code where it was asked to free and refused; else 0 */
    acu_pool *pool;    /* with a reference; NULL: the current pool */
    acu_object *owner; /* the object that has the memory, with a reference; or NULL */
    /* Gives owned memory back on the home stream, which comes after all uses then; returns 0 or a
     * recorded code. NULL: the memory is freed as its kind is. */
    int (*give_back)(struct acu_storage *storage);
    /* Of memory that grows: makes what is missing for all elements, and sets the address. Returns
     * 0, or a recorded code, with nothing changed. NULL: the memory does not grow. */
    int (*fill)(struct acu_storage *storage, void **at);
    size_t capacity, filled; /* bytes that the memory can grow to, and that are there */
    /* Of memory to which the program gives devices access: what one may do. NULL: only the memory's
     * own device is known to use it. */
    acu_access (*access_of)(const struct acu_storage *storage, int device);
    pthread_mutex_t lock;
    uint64_t version;            /* under the lock */
    unsigned use_count;          /* under the lock */
    acu_use uses[ACU_MOST_USES]; /* under the lock; not initialised beyond the count */
} acu_storage;

extern ACU_OURS const acu_class acu_buffer_class, acu_storage_class;

static inline size_t acu_storage_bytes(const acu_storage *storage) {
    return storage->first.count * acu_dtype_size(storage->first.dtype);
}

/* Returns whether the memory is the host's alone: pinned, registered or neither. */
static inline bool acu_buffer_is_host_memory(const acu_buffer *buffer) {
    acu_memory memory = buffer->storage->memory;
    return memory == ACU_MEMORY_PINNED || memory == ACU_MEMORY_REGISTERED ||
           memory == ACU_MEMORY_HOST;
}
/* Returns whether the program has given the device access to memory of another one. */
bool acu_storage_is_open_to(const acu_storage *storage, int device, bool writes) ACU_COLD;
/* Returns whether the memory is its device's alone: others reach it only if they were allowed to.
 */
static inline bool acu_buffer_is_device_memory(const acu_buffer *buffer) {
    acu_memory memory = buffer->storage->memory;
    return memory == ACU_MEMORY_POOL || memory == ACU_MEMORY_DEVICE || memory == ACU_MEMORY_GRAPH ||
           memory == ACU_MEMORY_VIRTUAL;
}

/* ---- uses ---- */

/* Returns whether the timeline alone has used the memory: then nothing must be waited for, and
 * nothing remembered but the number of the new work. */
static inline bool acu_storage_is_only_on(const acu_storage *storage,
                                          const acu_timeline *timeline) {
    return ACU_LIKELY(__atomic_load_n(&storage->sole, __ATOMIC_SEQ_CST) == timeline);
}

/* Handle the cases of the next two functions in which more than one stream is involved, or a
 * capture. */
int acu_storage_begin_use_slow(acu_storage *storage, acu_stream *stream, bool writes,
                               uint64_t *version);
int acu_storage_end_use_slow(acu_storage *storage, acu_stream *stream, bool writes,
                             uint64_t version);

/*
 * The next two functions stand around each operation on the stream that uses the memory. At the
 * beginning the stream waits for the uses that the new one must come after, or the use is reported
 * to the capture. The end follows each successful beginning, also where the operation failed, and
 * gets the version that the beginning stored. Both return 0 or a recorded failure.
 */
static inline int acu_storage_begin_use(acu_storage *storage, acu_stream *stream, bool writes,
                                        uint64_t *version) {
    bool only_here = acu_storage_is_only_on(storage, stream->timeline) && !acu_capture_of(stream);
    *version = 0;
    return ACU_LIKELY(only_here) ? 0 : acu_storage_begin_use_slow(storage, stream, writes, version);
}
/* Issues the number of the use, and asks only then whether another stream has come: that stream
 * asks for the number after it has come, so that one of the two finds the other. */
static inline int acu_storage_end_use(acu_storage *storage, acu_stream *stream, bool writes,
                                      uint64_t version) {
    if (acu_capture_of(stream))
        return 0;
    (void)acu_timeline_issue(stream->timeline);
    return acu_storage_is_only_on(storage, stream->timeline)
               ? 0
               : acu_storage_end_use_slow(storage, stream, writes, version);
}

/* Lets the home stream wait for all uses on other streams; where it cannot, the thread waits.
 * Returns 0 or a recorded failure. */
int acu_storage_gather_uses(acu_storage *storage);
/* Lets the thread wait for all uses; returns 0 or a recorded failure. */
int acu_storage_synchronize(acu_storage *storage);
/* Forgets the uses that are over; returns how many streams may still use the memory. */
size_t acu_storage_forget_over(acu_storage *storage);
/* Makes another stream, of the same device, the home; returns the failure to release the earlier
 * one, or 0. */
int acu_storage_move(acu_storage *storage, acu_stream *to);
/* Gives up the references to timelines; returns CUDA's code where a timeline's end fails. */
int acu_storage_forget_uses(acu_storage *storage);

/* ---- life ---- */

typedef struct acu_storage_request {
    acu_stream *stream;
    acu_dtype dtype;
    size_t count; /* elements */
    acu_buffer_options options;
    struct acu_allocator *allocator; /* where memory comes from; or NULL. The storage is an owner */
    void *given;       /* memory that is there already, or is to be registered; NULL: allocate */
    bool owned;        /* the memory is to be freed with the storage */
    acu_object *owner; /* the object that has the memory, to be kept alive; or NULL */
    int (*give_back)(acu_storage *storage);       /* as that of the storage */
    int (*fill)(acu_storage *storage, void **at); /* as that of the storage */
    size_t capacity;                              /* elements that the memory can grow to */
    acu_access (*access_of)(const acu_storage *storage, int device); /* as that of the storage */
} acu_storage_request;

/* Makes memory with a first buffer on it, which the caller owns; returns 0, or a failure recorded
 * for `call`. */
int acu_storage_new(const char *call, const acu_storage_request *request, acu_buffer **buffer);

/* Makes the first buffer of a storage that was released alive again. */
static inline void acu_storage_renew(acu_storage *s, acu_dtype dtype, size_t count) {
    s->first.dtype = dtype;
    s->first.count = count;
    s->first.object.references = 1;
    __atomic_store_n(&s->first.object.kind, &acu_buffer_class, __ATOMIC_RELAXED);
}

/*
 * Returns the stream's spare as a storage for so many elements; NULL, with nothing done, where
 * there is none or the size is unusual (`*bytes` is 0 then). The caller asks CUDA for `*bytes`; if
 * that fails, it calls acu_storage_retry().
 */
static inline acu_storage *acu_storage_reuse(acu_stream *stream, acu_dtype dtype, size_t count,
                                             size_t *bytes) {
    size_t size = acu_dtype_size(dtype);
    if (__builtin_mul_overflow(count, size, bytes) || *bytes - 1 >= PTRDIFF_MAX) {
        *bytes = 0; /* nothing, or too much */
        return NULL;
    }
    acu_storage *s = (acu_storage *)acu_stream_take_spare(stream);
    if (s)
        acu_storage_renew(s, dtype, count);
    return s;
}
/* Tries again, after the pools are trimmed, to allocate what CUDA refused with `code`, or destroys
 * the storage. Returns 0, or a failure recorded for `call`. */
int acu_storage_retry(const char *call, acu_storage *storage, int code,
                      acu_buffer **buffer) ACU_COLD;

/* Returns whether the buffer's only owner can free the memory by cudaFreeAsync() on the home stream
 * and then keep the storage as a spare. */
static inline bool acu_storage_is_simple(const acu_storage *s, const acu_buffer *buffer) {
    return buffer == &s->first && s->plain &&
           __atomic_load_n(&buffer->object.references, __ATOMIC_ACQUIRE) == 1 &&
           __atomic_load_n(&s->object.references, __ATOMIC_ACQUIRE) == 1 &&
           acu_storage_is_only_on(s, s->home->timeline);
}
/* Ends a release that cudaFreeAsync() refused with `code`, or (`code` is 0) after which the stream
 * kept another spare. Returns as acu_object_destroy() does. */
int acu_storage_finish_release(const char *call, acu_storage *storage, int code) ACU_COLD;

/* Makes what is missing of memory that grows, for all elements that its buffer now has; trims the
 * pools and tries again where there is no room. Returns 0, or a recorded code, with nothing
 * changed. */
int acu_storage_grow(acu_storage *storage);

/* Makes a buffer on memory that a graph will allocate: the caller writes the address to
 * `storage->pointer` and `first.pointer`. Returns 0, or a failure recorded for `call`. */
int acu_storage_new_for_graph(const char *call, int device, acu_dtype dtype, size_t count,
                              acu_buffer **buffer);

/* Adds an owner that may use the memory as it is now: until it is gone, no buffer there shrinks.
 * Returns the storage. */
acu_storage *acu_storage_retain(acu_storage *storage);

#endif
