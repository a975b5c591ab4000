/*
 * Memory and its uses, as the rest of the safe layer sees them.
 *
 * As long as one stream alone uses memory, nothing is remembered but that stream's timeline
 * (`sole`): an operation looks at it before and after, and that is all. When a second one comes,
 * the timeline becomes the first entry of a small table, in which each use waits for those that it
 * must come after.
 */
#ifndef ACU_SRC_MEMORY_H
#define ACU_SRC_MEMORY_H

#include <anycuda/buffer.h>

#include "safe/base/object.h"
#include "safe/memory/pool.h"
#include "safe/base/stream.h"

/* One timeline's uses; versions count the entries made in the table. */
typedef struct acu_use {
    acu_timeline *timeline;
    uint64_t number;  /* of its last use */
    uint64_t added;   /* version of the last use */
    uint64_t written; /* version of the last write; 0: it only read */
    uint64_t seen;    /* it has waited for all writes up to this version */
} acu_use;

enum { ACU_USES = 4 };

struct acu_buffer {
    acu_object object;
    struct acu_storage *storage;
    char *pointer; /* for the device, or, of memory that only the host can address, for that */
    size_t count;
    acu_dtype dtype;
};

/* Where one stream alone uses it, only the first two lines of the cache are looked at. */
typedef struct acu_storage {
    acu_object object;
    /* Atomic; an owner, unless it is the home's, which that keeps; NULL: the table tells. */
    acu_timeline *sole;
    acu_stream *home; /* an owner of it; NULL of a graph's memory */
    char *pointer;
    bool plain; /* stream-ordered of the current pool, no table yet: a spare one day */
    bool owned;
    _Alignas(ACU_CACHE_LINE) acu_buffer first; /* saves an allocation; counted as alive, also where
                                                  the storage is spare */
    char *host;                                /* NULL if it cannot reach it */
    int device;
    acu_memory memory;
    unsigned flags;
    int not_freed;     /* why CUDA did not, when it was asked to in the stream's order; 0: it was
                          not */
    acu_pool *pool;    /* an owner of it, or NULL */
    acu_object *owner; /* whose memory it is, and likewise; or NULL */
    pthread_mutex_t lock;
    uint64_t version; /* this and below under the lock */
    unsigned use_count;
    acu_use uses[ACU_USES]; /* what is beyond the count is not even zero */
} acu_storage;

extern ACU_OURS const acu_class acu_buffer_class, acu_storage_class;

static inline size_t acu_storage_bytes(const acu_storage *storage) {
    return storage->first.count * acu_dtype_size(storage->first.dtype);
}

/*
 * Around each operation on the stream that uses the memory. begin: the stream waits for what the
 * use must come after, or a capture is told. end: follows each successful begin, also where the
 * operation failed. Failures are recorded.
 */
int acu_storage_begin_use_slow(acu_storage *storage, acu_stream *stream, bool writes,
                               uint64_t *version);
int acu_storage_end_use_slow(acu_storage *storage, acu_stream *stream, bool writes,
                             uint64_t version);

/* Nobody else has used it: what is done there now need neither wait nor be remembered, beyond its
 * number. */
static inline bool acu_storage_is_only_on(const acu_storage *storage,
                                          const acu_timeline *timeline) {
    return ACU_LIKELY(__atomic_load_n(&storage->sole, __ATOMIC_SEQ_CST) == timeline);
}

static inline int acu_storage_begin_use(acu_storage *storage, acu_stream *stream, bool writes,
                                        uint64_t *version) {
    bool only_here = acu_storage_is_only_on(storage, stream->timeline) && !acu_capture_of(stream);
    *version = 0;
    return ACU_LIKELY(only_here) ? 0 : acu_storage_begin_use_slow(storage, stream, writes, version);
}

/* Whether someone else has come is asked again, once the number was issued. */
static inline int acu_storage_end_use(acu_storage *storage, acu_stream *stream, bool writes,
                                      uint64_t version) {
    if (acu_capture_of(stream))
        return 0;
    (void)acu_timeline_issue(stream->timeline);
    return acu_storage_is_only_on(storage, stream->timeline)
               ? 0
               : acu_storage_end_use_slow(storage, stream, writes, version);
}

/* The thread waits for all uses. */
int acu_storage_synchronize(acu_storage *storage);

/*
 * New memory with the buffer `first` on it. `given`: of someone else, or to be registered; NULL: to
 * be allocated. `owned`: to be freed. `owner`: an object that has the memory, to be kept alive.
 * Failures are recorded, in the name of `call`.
 */
typedef struct acu_storage_request {
    acu_stream *stream;
    acu_dtype dtype;
    size_t count;
    acu_buffer_options options;
    void *given;
    bool owned;
    acu_object *owner;
} acu_storage_request;
int acu_storage_new(const char *call, const acu_storage_request *request, acu_buffer **buffer);

/*
 * The same, where all is as it mostly is: a buffer was released on the stream before. NULL, with
 * nothing done, where anything is not. Then CUDA is asked, and _made says what became of it.
 */
static inline acu_storage *acu_storage_reuse(acu_stream *stream, acu_dtype dtype, size_t count,
                                             size_t *bytes) {
    size_t size = acu_dtype_size(dtype);
    if (__builtin_mul_overflow(count, size, bytes) || *bytes - 1 >= PTRDIFF_MAX)
        return NULL; /* nothing, or too much */
    acu_storage *s = acu_stream_take_spare(stream);
    if (!s)
        return NULL;
    s->first.dtype = dtype;
    s->first.count = count;
    s->first.object.references = 1;
    __atomic_store_n(&s->first.object.kind, &acu_buffer_class, __ATOMIC_RELAXED);
    return s;
}
/* CUDA did not allocate it: at the second try it may. */
int acu_storage_retry(const char *call, acu_storage *storage, int code,
                      acu_buffer **buffer) ACU_COLD;

/* Its last owner can free it as simply as that, and keep it as a spare. */
static inline bool acu_storage_is_simple(const acu_storage *s, const acu_buffer *buffer) {
    return buffer == &s->first && s->plain &&
           __atomic_load_n(&buffer->object.references, __ATOMIC_ACQUIRE) == 1 &&
           __atomic_load_n(&s->object.references, __ATOMIC_ACQUIRE) == 1 &&
           acu_storage_is_only_on(s, s->home->timeline);
}
/* It was not freed because of `code`, or was but another is the spare. */
int acu_storage_finish_release(const char *call, acu_storage *storage, int code) ACU_COLD;

/* Memory that a graph will allocate, where it is written to `storage->pointer` and
 * `first.pointer`. */
int acu_storage_new_for_graph(const char *call, int device, acu_dtype dtype, size_t count,
                              acu_buffer **buffer);

acu_storage *acu_storage_retain(acu_storage *storage);

/* It has these elements; recorded if not. */
int acu_buffer_check_range(const char *call, const acu_buffer *buffer, size_t at, size_t count);
/* Lets `*on` be the buffer's own stream where it is NULL, and checks the stream. Returns 0, or the
 * failure, recorded for `call`: memory of a graph has no stream of its own. */
int acu_buffer_choose_stream(const char *call, const acu_buffer *buffer, acu_stream **on);
/* The checks of copies between a buffer and the host, and between buffers; recorded. */
int acu_buffer_check_host_copy(const char *call, const acu_buffer *buffer, size_t at,
                               acu_dtype dtype, const void *host, size_t count);
int acu_buffer_check_copy(const char *call, const acu_buffer *to, size_t to_at,
                          const acu_buffer *from, size_t from_at, size_t count);

/* Pinned or registered. */
bool acu_buffer_is_host_memory(const acu_buffer *buffer);
/* Of its device alone: others reach it only where someone has allowed it. */
bool acu_buffer_is_device_memory(const acu_buffer *buffer);
/* Both are known. */
enum cudaMemcpyKind acu_buffer_copy_kind(const acu_buffer *to, const acu_buffer *from);

/* Neither is the host's: CUDA wants to be told both devices. */
bool acu_buffer_copy_is_peer(const acu_buffer *to, const acu_buffer *from);

#endif
