/*
 * The caching allocator: what it has for each stream.
 *
 * A cache belongs to one allocator and one stream. It has free pieces, in two heaps, and storages
 * that are ready: released with a small piece of memory each, to be handed out again as they are.
 * The functions of this header do that, without a call, a lock of the allocator's, or an event.
 */
#ifndef ACU_SRC_ALLOCATOR_CACHE_H
#define ACU_SRC_ALLOCATOR_CACHE_H

#include "safe/memory/allocator.h"
#include "safe/memory/storage.h"

#include <sched.h>

enum {
    ACU_READY_CLASSES = 72, /* those of at most ACU_SMALL bytes */
    ACU_READY_MOST = 64,    /* storages of one class */
    ACU_READY_LARGE = 32    /* larger ones */
};

/* What was done with pieces of one class. */
typedef struct acu_counts {
    uint64_t allocations, frees;
} acu_counts;

/* The storages of one class that are ready, the last one first. */
typedef struct acu_ready {
    acu_storage *first; /* linked by object.next */
    uint64_t count;
    acu_counts counts;
} acu_ready;

/* Larger ones: each is for requests of its own size, rounded up. */
typedef struct acu_ready_large {
    unsigned count;
    size_t bytes[ACU_READY_LARGE];
    acu_storage *storages[ACU_READY_LARGE];
    acu_counts counts[ACU_COUNTED_CLASSES];
} acu_ready_large;

typedef struct acu_caching acu_caching;

/* Memory that is given out during a capture: it is not used by anything else while the graph lives,
 * which keeps this object. */
typedef struct acu_arena {
    acu_object object;
    acu_caching *allocator; /* with a reference */
    uint64_t capture;       /* its id */
    struct acu_arena *next;
    acu_capture_ending end;
    acu_storage *made; /* under the allocator's lock: in the capture, by next_made, each with a
                          reference until the capture ends */
} acu_arena;

typedef struct acu_cache {
    acu_stream_cache base;
    bool busy;              /* atomic: the lock of what follows, up to `ready_large` */
    bool keeps;             /* storages are kept */
    bool ended;             /* none will be any more */
    bool shared;            /* the allocator has other caches: it counts for all of them */
    size_t used, used_high; /* bytes */
    acu_ready ready[ACU_READY_CLASSES];
    acu_ready_large ready_large;
    acu_heap small, large;  /* under the allocator's lock, as all below */
    acu_timeline *timeline; /* of the stream, with a reference */
    acu_caching *allocator;
    acu_arena *arena;       /* the memory is that of a capture; else NULL */
    struct acu_cache *next; /* of the same allocator */
} acu_cache;

struct acu_caching {
    acu_allocator base;
    acu_allocator_source source; /* not ACU_ALLOCATOR_ANY */
    acu_pool *pool;              /* with a reference; NULL: the current one */
    size_t step;                 /* the granularity of virtual memory */
    size_t total;                /* bytes of the device's memory, or the host's */
    size_t used, used_high;      /* atomic: of all caches, where there are several */
    uint64_t misses;             /* under the lock: how often the source gave some */
    size_t asked;                /* under the lock: bytes that it is being asked for */
    acu_cache *caches;           /* under the lock; none goes before the allocator */
    acu_segment *segments;       /* under the lock */
    acu_arena *arenas;           /* under the lock */
};

extern ACU_OURS const acu_allocator_way acu_caching_way;

static inline void acu_cache_lock(acu_cache *cache) {
    while (!ACU_LIKELY(!__atomic_exchange_n(&cache->busy, true, __ATOMIC_ACQUIRE)))
        (void)sched_yield();
}
static inline void acu_cache_unlock(acu_cache *cache) {
    __atomic_store_n(&cache->busy, false, __ATOMIC_RELEASE);
}

/* Counts for all caches, which several threads do at once. */
static inline void acu_cache_count_shared(acu_caching *a, size_t bytes, bool given_out) {
    const size_t now = __atomic_add_fetch(&a->used, given_out ? bytes : -bytes, __ATOMIC_RELAXED);
    size_t high = __atomic_load_n(&a->used_high, __ATOMIC_RELAXED);
    while (now > high && !__atomic_compare_exchange_n(&a->used_high, &high, now, true,
                                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

/* Counts bytes that are given out or taken back, under the cache's lock. */
static inline void acu_cache_count(acu_cache *cache, size_t bytes, bool given_out) {
    cache->used += given_out ? bytes : -bytes;
    if (cache->used > cache->used_high)
        cache->used_high = cache->used;
    if (!ACU_LIKELY(!cache->shared))
        acu_cache_count_shared(cache->allocator, bytes, given_out);
}

/* Returns whether buffers can be made and released by way of the ready storages. */
static inline bool acu_cache_is_usual(void) {
    return ACU_LIKELY(((uintptr_t)ACU_WATCHED(captures) | (uintptr_t)ACU_WATCHED(deferred) |
                       ACU_WATCHED(quarantine) | (unsigned)ACU_WATCHED(callbacks) |
                       ACU_WATCHED(unloading)) == 0);
}

/* Returns a storage of the class that was ready; NULL: there is none. */
static inline acu_storage *acu_cache_take(acu_cache *cache, unsigned class) {
    acu_ready *ready = &cache->ready[class];
    acu_cache_lock(cache);
    acu_storage *s = ready->first;
    if (ACU_LIKELY(s != NULL)) {
        ready->first = (acu_storage *)s->object.next;
        ready->count--;
        ready->counts.allocations++;
        acu_cache_count(cache, acu_class_bytes(class), true);
    }
    acu_cache_unlock(cache);
    return s;
}

/* Returns a large storage that was ready for just that size; NULL: there is none. */
static inline acu_storage *acu_cache_take_large(acu_cache *cache, size_t bytes) {
    acu_ready_large *ready = &cache->ready_large;
    acu_storage *s = NULL;
    const size_t size = acu_size_round(bytes);
    acu_cache_lock(cache);
    unsigned i = ready->count;
    while (i > 0 && ready->bytes[i - 1] != size)
        i--;
    if (i > 0) {
        const unsigned last = --ready->count;
        s = ready->storages[i - 1];
        ready->storages[i - 1] = ready->storages[last];
        ready->bytes[i - 1] = ready->bytes[last];
        ready->counts[acu_allocator_class_of(size)].allocations++;
        acu_cache_count(cache, size, true);
    }
    acu_cache_unlock(cache);
    return s;
}

/* Returns a storage that was ready, for so many elements of so many bytes, which are not 0; NULL:
 * there is none. */
static inline acu_storage *acu_cache_reuse(acu_cache *cache, acu_dtype dtype, size_t count,
                                           size_t bytes) {
    acu_storage *s = ACU_LIKELY(bytes <= ACU_SMALL) ? acu_cache_take(cache, acu_size_class(bytes))
                                                    : acu_cache_take_large(cache, bytes);
    if (s)
        acu_storage_renew(s, dtype, count);
    return s;
}

/* Returns whether the buffer's only owner can make the storage ready again. */
static inline bool acu_cache_can_keep(const acu_storage *s, const acu_buffer *buffer) {
    return s->cache && buffer == &s->first &&
           __atomic_load_n(&buffer->object.references, __ATOMIC_ACQUIRE) == 1 &&
           __atomic_load_n(&s->object.references, __ATOMIC_ACQUIRE) == 1 &&
           acu_storage_is_only_on(s, s->home->timeline);
}

/* Puts the storage where it is ready; returns false where there are enough. */
static inline bool acu_cache_put(acu_cache *cache, acu_storage *s) {
    acu_ready *ready = &cache->ready[s->class];
    if (!ACU_LIKELY(ready->count < ACU_READY_MOST))
        return false;
    s->object.next = (acu_object *)ready->first; /* NULL: it is the only one */
    ready->first = s;
    ready->count++;
    ready->counts.frees++;
    acu_cache_count(cache, acu_class_bytes(s->class), false);
    return true;
}
static inline bool acu_cache_put_large(acu_cache *cache, acu_storage *s) {
    acu_ready_large *ready = &cache->ready_large;
    const size_t size = s->piece->bytes;
    if (ready->count == ACU_READY_LARGE)
        return false;
    ready->bytes[ready->count] = size;
    ready->storages[ready->count++] = s;
    ready->counts[acu_allocator_class_of(size)].frees++;
    acu_cache_count(cache, size, false);
    return true;
}

/* Makes the storage ready again, with its memory; returns false, with nothing done, where the cache
 * keeps no more. */
static inline bool acu_cache_keep(acu_storage *s) {
    acu_cache *cache = s->cache;
    uint64_t number;
    if (!acu_timeline_has_issued(s->home->timeline, &number))
        number--; /* all work is before the last mark */
    acu_cache_lock(cache);
    const bool kept =
        cache->keeps && (ACU_LIKELY(s->class < ACU_READY_CLASSES) ? acu_cache_put(cache, s)
                                                                  : acu_cache_put_large(cache, s));
    if (ACU_LIKELY(kept)) {
        __atomic_store_n(&s->first.object.kind, NULL, __ATOMIC_RELAXED);
        s->freed = number;
    }
    acu_cache_unlock(cache);
    return kept;
}

/* ---- captures: allocator_capture.c ---- */

/* Finds the arena of a capture, or makes it; returns 0 or a recorded code. */
int acu_arena_find(acu_caching *a, acu_capture *capture, acu_arena **arena);
/* Remembers a storage that was made in the capture; returns 0 or a recorded code. */
int acu_arena_keep(acu_arena *arena, acu_storage *s);
/* Returns what the capture keeps for a storage: the arena, where the storage was made in it. */
acu_object *acu_arena_kept_by(const acu_capture *capture, acu_storage *s);
/* Makes memory free that the program has released in the capture, once the stream comes after what
 * other streams of the capture do with it. Where that cannot be had, it is not used again. */
void acu_arena_reclaim(acu_arena *arena, acu_stream *stream, acu_capture *capture);

/* ---- the source: allocator_source.c ---- */

/* Takes more from the source, for the heap, so that it has a free piece of at least so many bytes.
 * Returns 0 and that piece, with the allocator's lock held then; or a recorded code, without it. */
int acu_source_grow(acu_caching *a, acu_cache *cache, acu_heap *heap, acu_stream *stream,
                    size_t bytes, acu_piece **piece);
/* Gives segments back that are free, with their pieces, and what is mapped to free parts of ranges;
 * but keeps `keep` bytes that are not in use. The caller has the lock, which is given up. Returns
 * 0, or the first failure. */
int acu_source_shrink(acu_caching *a, size_t keep);
/* Finds out how much there is; returns 0 or a recorded code. */
int acu_source_open(acu_caching *a, acu_allocator_source wanted);
/* Returns how many bytes are in use, and the most that were. */
void acu_cache_get_used(acu_caching *a, size_t *used, size_t *high);

#endif
