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

#include "object.h"
#include "pool.h"
#include "stream.h"

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
    acu_dtype dtype;
    size_t count;
};

typedef struct acu_storage {
    acu_object object;
    acu_memory memory;
    unsigned flags;
    int device;
    bool owned;
    /* Atomic; an owner, unless it is the home's, which that keeps; NULL: the table tells. */
    acu_timeline *sole;
    acu_stream *home;     /* an owner of it; NULL of a graph's memory */
    char *pointer, *host; /* host: NULL if it cannot reach it */
    size_t bytes;
    acu_pool *pool;    /* an owner of it, or NULL */
    acu_object *owner; /* whose memory it is, and likewise; or NULL */
    acu_buffer first;  /* saves an allocation */
    /* Where one stream alone uses it, this and what follows is not looked at. */
    pthread_mutex_t lock;
    uint64_t version; /* this and below under the lock */
    unsigned use_count;
    acu_use uses[ACU_USES]; /* what is beyond the count is not even zero */
} acu_storage;

extern ACU_OURS const acu_class acu_buffer_class, acu_storage_class;

/* What acu_use_begin tells acu_use_end. */
typedef struct acu_ticket {
    uint64_t version;
} acu_ticket;

/*
 * Around each operation on the stream that uses the memory. begin: the stream waits for what the
 * use must come after, or a capture is told. end: follows each successful begin, also where the
 * operation failed. Failures are recorded.
 */
int acu_use_begins(acu_storage *storage, acu_stream *stream, bool writes, acu_ticket *ticket);
int acu_use_ends(acu_storage *storage, acu_stream *stream, bool writes, const acu_ticket *ticket);

/* Nobody else has used it: what is done there now need neither wait nor be remembered, beyond its
 * number. */
static inline bool acu_storage_is_only_on(const acu_storage *storage,
                                          const acu_timeline *timeline) {
    return ACU_LIKELY(__atomic_load_n(&storage->sole, __ATOMIC_SEQ_CST) == timeline);
}

static inline int acu_use_begin(acu_storage *storage, acu_stream *stream, bool writes,
                                acu_ticket *ticket) {
    bool only_here = acu_storage_is_only_on(storage, stream->timeline) && !acu_capture_of(stream);
    ticket->version = 0;
    return ACU_LIKELY(only_here) ? 0 : acu_use_begins(storage, stream, writes, ticket);
}

/* Whether someone else has come is asked again, once the number was issued. */
static inline int acu_use_end(acu_storage *storage, acu_stream *stream, bool writes,
                              const acu_ticket *ticket) {
    if (acu_capture_of(stream))
        return 0;
    (void)acu_timeline_issue(stream->timeline);
    return acu_storage_is_only_on(storage, stream->timeline)
               ? 0
               : acu_use_ends(storage, stream, writes, ticket);
}

/* The thread waits for all uses. */
int acu_storage_settle(acu_storage *storage);

/*
 * New memory with the buffer `first` on it. `given`: of someone else, or to be registered; NULL: to
 * be allocated. `owned`: to be freed. `owner`: an object that has the memory, to be kept alive.
 * Failures are recorded, in the name of `call`.
 */
typedef struct acu_request {
    acu_stream *stream;
    acu_dtype dtype;
    size_t count;
    acu_buffer_options options;
    void *given;
    bool owned;
    acu_object *owner;
} acu_request;
int acu_storage_new(const char *call, const acu_request *request, acu_buffer **buffer);

/* Memory that a graph will allocate, where it is written to `storage->pointer` and
 * `first.pointer`. */
int acu_storage_of_graph(const char *call, int device, acu_dtype dtype, size_t count,
                         acu_buffer **buffer);

acu_storage *acu_storage_retain(acu_storage *storage);

/* It has these elements; recorded if not. */
int acu_buffer_has(const char *call, const acu_buffer *buffer, size_t at, size_t count);
/* The checks of copies between a buffer and the host, and between buffers; recorded. */
int acu_buffer_check(const char *call, const acu_buffer *buffer, size_t at, acu_dtype dtype,
                     const void *host, size_t count);
int acu_copy_check(const char *call, const acu_buffer *to, size_t to_at, const acu_buffer *from,
                   size_t from_at, size_t count);

/* Pinned or registered. */
bool acu_buffer_is_hosts(const acu_buffer *buffer);
/* Of its device alone: others reach it only where someone has allowed it. */
bool acu_buffer_is_devices(const acu_buffer *buffer);
/* Both are known. */
enum cudaMemcpyKind acu_copy_kind(const acu_buffer *to, const acu_buffer *from);

/* Neither is the host's: CUDA wants to be told both devices. */
bool acu_copy_is_between_devices(const acu_buffer *to, const acu_buffer *from);

/* A buffer on the memory, whose reference it takes; pointer, type and count are the caller's to
 * set. */
void acu_buffer_init(acu_buffer *buffer, acu_storage *storage);

#endif
