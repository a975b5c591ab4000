/* The caching allocator: which free memory serves a request. allocator_source.c gets more of it. */
#include "safe/memory/allocator_cache.h"
#include "safe/base/active_capture.h"
#include "safe/base/device.h"

#include <stdlib.h>
#include <string.h>

static acu_caching *caching(acu_allocator *a) {
    return (acu_caching *)a;
}

/* ---- what is in use ---- */

/* Counts for all caches from now on; the caller has the allocator's lock. */
static void begin_sharing(acu_caching *a) {
    for (acu_cache *cache = a->caches; cache; cache = cache->next) {
        acu_cache_lock(cache);
        if (!cache->shared) {
            __atomic_store_n(&a->used, cache->used, __ATOMIC_RELAXED);
            __atomic_store_n(&a->used_high, cache->used_high, __ATOMIC_RELAXED);
            cache->shared = true;
        }
        acu_cache_unlock(cache);
    }
}

void acu_cache_get_used(acu_caching *a, size_t *used, size_t *high) {
    acu_cache *only = a->caches && !a->caches->next ? a->caches : NULL;
    if (only) {
        acu_cache_lock(only);
        *used = only->used;
        *high = only->used_high;
        acu_cache_unlock(only);
    } else {
        *used = __atomic_load_n(&a->used, __ATOMIC_RELAXED);
        *high = __atomic_load_n(&a->used_high, __ATOMIC_RELAXED);
    }
    if (*high < *used) /* another thread is counting */
        *high = *used;
}

/* Returns what counts pieces of that size; the caller has the cache's lock. */
static acu_counts *counts_of(acu_cache *cache, size_t bytes) {
    return bytes <= ACU_SMALL ? &cache->ready[acu_size_class(bytes)].counts
                              : &cache->ready_large.counts[acu_allocator_class_of(bytes)];
}

/* Counts a piece that is given out or taken back. */
static void count(acu_cache *cache, size_t bytes, bool given_out) {
    acu_cache_lock(cache);
    acu_cache_count(cache, bytes, given_out);
    acu_counts *counts = counts_of(cache, bytes);
    *(given_out ? &counts->allocations : &counts->frees) += 1;
    acu_cache_unlock(cache);
}

/* ---- ready storages ---- */

static void add_to_list(acu_object **list, acu_storage *s) {
    s->object.next = *list;
    *list = &s->object;
}

static void take_small(acu_cache *cache, acu_object **list) {
    for (unsigned i = 0; i < ACU_READY_CLASSES; i++) {
        acu_ready *ready = &cache->ready[i];
        for (acu_storage *s = ready->first, *next; s; s = next) {
            next = (acu_storage *)s->object.next;
            add_to_list(list, s);
        }
        ready->first = NULL;
        ready->count = 0;
    }
}

static void take_large(acu_cache *cache, acu_object **list) {
    acu_ready_large *ready = &cache->ready_large;
    while (ready->count > 0)
        add_to_list(list, ready->storages[--ready->count]);
}

/* Takes the storages out of the cache, as a list. If `last`, none is kept any more. */
static acu_object *take_ready(acu_cache *cache, bool last) {
    acu_object *list = NULL;
    acu_cache_lock(cache);
    cache->ended = cache->ended || last;
    cache->keeps = cache->keeps && !last;
    take_small(cache, &list);
    take_large(cache, &list);
    acu_cache_unlock(cache);
    return list;
}

static int count_ready(acu_stream_cache *base) {
    acu_cache *cache = (acu_cache *)base;
    acu_cache_lock(cache);
    uint64_t ready = cache->ready_large.count;
    for (unsigned i = 0; i < ACU_READY_CLASSES; i++)
        ready += cache->ready[i].count;
    acu_cache_unlock(cache);
    return (int)ready;
}

static acu_object *stop(acu_stream_cache *cache) {
    return take_ready((acu_cache *)cache, true);
}

/* Makes the storages' pieces free in their heaps; the caller has the allocator's lock. */
static void give_pieces(acu_object *list) {
    for (acu_object *object = list; object; object = object->next) {
        acu_storage *s = (acu_storage *)object;
        if (s->piece) {
            s->piece->number = s->freed;
            acu_heap_give(s->piece);
            s->piece = NULL;
        }
    }
}

/* Frees storages that are ready no more; the caller has no lock. */
static void discard(acu_object *list) {
    for (acu_object *next; list; list = next) {
        acu_storage *s = (acu_storage *)list;
        acu_allocator *a = s->allocator;
        acu_stream *home = s->home;
        next = list->next;
        pthread_mutex_lock(&a->lock);
        list->next = NULL;
        give_pieces(list);
        pthread_mutex_unlock(&a->lock);
        acu_object_count_down(s->device);
        acu_object_free(list);
        if (acu_object_release(NULL, home, &acu_stream_class))
            acu_record_release_error();
        if (acu_object_release(NULL, a, &acu_allocator_class))
            acu_record_release_error();
    }
}

/* ---- caches ---- */

typedef struct wanted_cache {
    const acu_caching *allocator;
    const acu_arena *arena;
} wanted_cache;

static bool is_wanted(const acu_stream_cache *base, const void *data) {
    const acu_cache *cache = (const acu_cache *)base;
    const wanted_cache *wanted = data;
    return __atomic_load_n(&cache->allocator, __ATOMIC_ACQUIRE) == wanted->allocator &&
           __atomic_load_n(&cache->arena, __ATOMIC_ACQUIRE) == wanted->arena;
}

static int no_memory(void) {
    return acu_record(ACU_ERROR_HOST_MEMORY, "the host has no memory for an allocator's cache");
}

static int new_cache(acu_caching *a, acu_stream *stream, acu_arena *arena, acu_cache **out) {
    acu_cache *cache = acu_object_alloc(sizeof *cache);
    if (!cache)
        return no_memory();
    memset(cache, 0, sizeof *cache);
    cache->base =
        (acu_stream_cache){.references = 2, .count = count_ready, .stop = stop, .discard = discard};
    cache->timeline = acu_timeline_retain(stream->timeline);
    cache->allocator = a;
    cache->arena = arena;
    cache->small = (acu_heap){.cache = cache, .small = true};
    cache->large = (acu_heap){.cache = cache};
    pthread_mutex_lock(&a->base.lock);
    cache->ended = arena || stream->raw == cudaStreamPerThread ||
                   __atomic_load_n(&a->base.users, __ATOMIC_RELAXED) == 0 ||
                   __atomic_load_n(&stream->users, __ATOMIC_RELAXED) == 0;
    cache->keeps = !cache->ended && !a->base.hooked;
    begin_sharing(a);
    cache->shared = a->caches != NULL;
    cache->next = a->caches;
    __atomic_store_n(&a->caches, cache, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&a->base.lock);
    acu_stream_add_cache(stream, &cache->base);
    *out = cache;
    return 0;
}

/* Returns the stream's cache; NULL: there is none yet. */
static acu_cache *look_for_cache(acu_caching *a, acu_stream *stream, acu_arena *arena) {
    const wanted_cache wanted = {a, arena};
    acu_cache *cache = (acu_cache *)acu_stream_find_cache(stream, is_wanted, &wanted);
    if (cache && !arena && __atomic_load_n(&a->base.current, __ATOMIC_RELAXED))
        acu_stream_set_cache(stream, &cache->base, &a->base.current);
    return cache;
}

/* Finds the stream's cache, or makes it; returns 0 or a recorded code. Two threads that use a
 * stream for the first time may make two caches, which does no harm. */
static int find_cache(acu_caching *a, acu_stream *stream, acu_arena *arena, acu_cache **cache) {
    *cache = look_for_cache(a, stream, arena);
    return *cache ? 0 : new_cache(a, stream, arena, cache);
}

/* Finds the cache of a stream that is captured; its arena is made with the first one. */
static int find_captured(acu_caching *a, acu_stream *stream, acu_capture *capture,
                         acu_cache **cache) {
    acu_arena *arena = NULL;
    const int code = acu_arena_find(a, capture, &arena);
    return code ? code : find_cache(a, stream, arena, cache);
}

/* ---- finding a piece, under the lock ---- */

static acu_heap *heap_for(acu_cache *cache, size_t bytes) {
    return bytes <= ACU_SMALL ? &cache->small : &cache->large;
}

/* Puts a list in front of another one. */
static void append(acu_object **list, acu_object *more) {
    acu_object **end = &more;
    while (*end)
        end = &(*end)->next;
    *end = *list;
    *list = more;
}

/* Makes the pieces of what is ready free: of the large ones alone, or of all. */
static void free_ready(acu_cache *cache, bool all, acu_object **list) {
    acu_object *ready = NULL;
    acu_cache_lock(cache);
    take_large(cache, &ready);
    if (all)
        take_small(cache, &ready);
    acu_cache_unlock(cache);
    give_pieces(ready);
    append(list, ready);
}

/* Returns a piece of the cache itself. Large pieces that are ready were looked at: they are joined
 * with their neighbours first; small ones where nothing else fits. `list` gets storages to be
 * discarded. */
static acu_piece *find_own(acu_cache *cache, size_t bytes, acu_object **list) {
    acu_heap *heap = heap_for(cache, bytes);
    if (bytes > ACU_SMALL)
        free_ready(cache, false, list);
    acu_piece *piece = acu_heap_find(heap, bytes);
    if (piece)
        return piece;
    free_ready(cache, true, list);
    return acu_heap_find(heap, bytes);
}

/* Returns a piece of another stream, whose work on it is done, or, if `wait`, which the stream then
 * waits for. */
static acu_piece *find_other(acu_caching *a, const acu_cache *cache, acu_stream *stream,
                             size_t bytes, bool wait, acu_object **list) {
    for (acu_cache *other = a->caches; other; other = other->next) {
        if (other == cache || other->arena)
            continue;
        acu_piece *piece = find_own(other, bytes, list);
        if (!piece)
            continue;
        if (piece->number == 0 || acu_timeline_is_over(other->timeline, piece->number))
            piece->number = 0;
        else if (!wait || acu_timeline_wait(other->timeline, piece->number, stream))
            continue;
        else
            a->base.info.waits++;
        a->base.info.crossed++;
        return piece;
    }
    return NULL;
}

/* ---- the ladder ---- */

/* Takes so many bytes of a free piece, which may be NULL, for a cache: the piece's earlier work
 * comes before later work of the cache's stream. The caller has the lock, which is given up.
 * Returns 0 or a code, which is recorded where the host has no memory. */
static int take_piece(acu_caching *a, acu_piece *piece, size_t bytes, acu_cache *cache) {
    const bool taken = piece && acu_heap_take(piece, bytes, heap_for(cache, bytes));
    pthread_mutex_unlock(&a->base.lock);
    return taken ? 0 : piece ? no_memory() : cudaErrorMemoryAllocation;
}

/* Takes a piece of what the allocator has. */
static int find_once(acu_caching *a, acu_cache *cache, acu_stream *stream, size_t bytes, bool wait,
                     acu_piece **piece) {
    acu_object *list = NULL;
    pthread_mutex_lock(&a->base.lock);
    *piece = find_own(cache, bytes, &list);
    if (!*piece && !cache->arena)
        *piece = find_other(a, cache, stream, bytes, wait, &list);
    const int code = take_piece(a, *piece, bytes, cache);
    discard(list);
    return code;
}

static int grow(acu_caching *a, acu_cache *cache, acu_stream *stream, size_t bytes,
                acu_piece **piece) {
    int code = acu_source_grow(a, cache, heap_for(cache, bytes), stream, bytes, piece);
    if (code)
        return code;
    a->misses++;
    return take_piece(a, *piece, bytes, cache);
}

/* Waits for the work that used what is free, gives all of it back, and tries again. */
ACU_COLD static int grow_in_need(acu_caching *a, acu_cache *cache, acu_stream *stream, size_t bytes,
                                 acu_piece **piece) {
    acu_saved_record failure;
    if (cache->arena)
        return cudaErrorMemoryAllocation;
    acu_record_save(&failure);
    const bool found = find_once(a, cache, stream, bytes, true, piece) == 0;
    const bool trimmed = !found && a->base.way->trim(&a->base, 0) == 0;
    acu_record_restore(&failure);
    if (found || !trimmed)
        return found ? 0 : cudaErrorMemoryAllocation;
    pthread_mutex_lock(&a->base.lock);
    a->base.info.trims++;
    pthread_mutex_unlock(&a->base.lock);
    return grow(a, cache, stream, bytes, piece);
}

/* What failed on the way is nobody's error where there is memory in the end. */
static int take_more(acu_caching *a, acu_cache *cache, acu_stream *stream, size_t bytes,
                     acu_piece **piece) {
    acu_saved_record before;
    acu_record_save(&before);
    int code = grow(a, cache, stream, bytes, piece);
    if (code == cudaErrorMemoryAllocation)
        code = grow_in_need(a, cache, stream, bytes, piece);
    if (!code)
        acu_record_restore(&before);
    return code;
}

static int take_from(acu_caching *a, acu_cache *cache, acu_stream *stream, size_t bytes,
                     acu_piece **piece) {
    const int code = find_once(a, cache, stream, bytes, false, piece);
    return code == cudaErrorMemoryAllocation ? take_more(a, cache, stream, bytes, piece) : code;
}

static int take(acu_allocator *base, acu_stream *stream, size_t bytes, acu_given *given) {
    acu_caching *a = caching(base);
    acu_capture *capture = acu_capture_of(stream);
    acu_cache *cache = NULL;
    acu_piece *piece = NULL;
    int code =
        capture ? find_captured(a, stream, capture, &cache) : find_cache(a, stream, NULL, &cache);
    if (!code && capture)
        acu_arena_reclaim(cache->arena, stream, capture);
    if (!code)
        code = take_from(a, cache, stream, acu_size_round(bytes), &piece);
    if (code)
        return code;
    count(cache, piece->bytes, true);
    given->piece = piece;
    given->pointer = piece->pointer;
    return 0;
}

/* Lets the piece go to the cache of another stream than that which it was taken for: a buffer on it
 * has moved there. */
ACU_COLD static int move_piece(acu_caching *a, acu_piece *piece, acu_stream *stream) {
    acu_cache *to = NULL;
    int code = find_cache(a, stream, piece->heap->cache->arena, &to);
    if (code)
        return code;
    pthread_mutex_lock(&a->base.lock);
    piece->heap = piece->heap->small ? &to->small : &to->large;
    pthread_mutex_unlock(&a->base.lock);
    return 0;
}

static int give(acu_allocator *base, acu_stream *stream, const acu_given *given) {
    acu_caching *a = caching(base);
    acu_piece *piece = given->piece;
    count(piece->heap->cache, piece->bytes, false);
    int code = piece->heap->cache->timeline == stream->timeline ? 0 : move_piece(a, piece, stream);
    if (code) /* no memory: the piece stays where it was, and its uses are waited for */
        code = acu_timeline_synchronize(stream->timeline, acu_timeline_issue(stream->timeline));
    if (!acu_timeline_was_finished(code))
        return code; /* it is lost: nobody knows when it can be used again */
    pthread_mutex_lock(&base->lock);
    piece->number = acu_timeline_issue(piece->heap->cache->timeline);
    acu_heap_give(piece);
    pthread_mutex_unlock(&base->lock);
    return code;
}

static struct acu_storage *reuse(acu_allocator *base, acu_stream *stream, acu_dtype dtype,
                                 size_t count) {
    size_t bytes = 0;
    if (__builtin_mul_overflow(count, acu_dtype_size(dtype), &bytes) || bytes - 1 >= PTRDIFF_MAX ||
        !acu_cache_is_usual())
        return NULL;
    acu_cache *cache = look_for_cache(caching(base), stream, NULL);
    return cache ? acu_cache_reuse(cache, dtype, count, bytes) : NULL;
}

static int keep(acu_allocator *base, acu_storage *s) {
    acu_cache *cache = s->piece->heap->cache;
    (void)base;
    if (cache->arena)
        return acu_arena_keep(cache->arena, s);
    const size_t bytes = s->piece->bytes;
    s->cache = s->flags == 0 ? cache : NULL;
    s->class = bytes <= ACU_SMALL ? acu_size_class(bytes) : ACU_READY_CLASSES;
    return 0;
}

/* ---- giving back ---- */

/* Returns the number of the last use of what is free in a heap, that is not known to be done. */
static uint64_t last_use(const acu_heap *heap, uint64_t number) {
    for (unsigned class = 0; class < ACU_HEAP_CLASSES; class++)
        for (const acu_piece *piece = heap->free[class]; piece; piece = piece->next)
            number = piece->number > number ? piece->number : number;
    return number;
}

static void forget_uses(acu_heap *heap, uint64_t number) {
    for (unsigned class = 0; class < ACU_HEAP_CLASSES; class++)
        for (acu_piece *piece = heap->free[class]; piece; piece = piece->next)
            if (piece->number <= number)
                piece->number = 0;
}

/* Lets the thread wait, without the lock, for all work that used what is free in the cache. */
static int wait_for_uses(acu_caching *a, acu_cache *cache) {
    pthread_mutex_lock(&a->base.lock);
    const uint64_t number = last_use(&cache->large, last_use(&cache->small, 0));
    pthread_mutex_unlock(&a->base.lock);
    if (number == 0)
        return 0;
    const int code = acu_forgive_unloading(acu_timeline_synchronize(cache->timeline, number));
    if (code)
        return code;
    pthread_mutex_lock(&a->base.lock);
    forget_uses(&cache->small, number);
    forget_uses(&cache->large, number);
    pthread_mutex_unlock(&a->base.lock);
    return 0;
}

static void join_ready(acu_caching *a, bool last) {
    for (acu_cache *cache = __atomic_load_n(&a->caches, __ATOMIC_ACQUIRE); cache;
         cache = cache->next)
        discard(take_ready(cache, last));
}

static int trim(acu_allocator *base, size_t keep) {
    acu_caching *a = caching(base);
    int code = acu_capture_check();
    if (code)
        return code;
    join_ready(a, false);
    for (acu_cache *cache = __atomic_load_n(&a->caches, __ATOMIC_ACQUIRE); cache && !code;
         cache = cache->next)
        code = wait_for_uses(a, cache);
    if (code)
        return code;
    pthread_mutex_lock(&base->lock);
    code = acu_source_shrink(a, keep);
    if (code) /* what CUDA does not take back is lost, also where room is made for a request */
        acu_record_release_error();
    return code;
}

/* ---- life ---- */

static void stop_all(acu_allocator *base) {
    join_ready(caching(base), true);
}

static void free_caches(acu_caching *a) {
    for (acu_cache *cache = a->caches, *next; cache; cache = next) {
        next = cache->next;
        if (acu_timeline_release(cache->timeline))
            acu_record_release_error();
        cache->timeline = NULL;
        /* The stream may still have the cache, and another allocator may come to lie here. */
        __atomic_store_n(&cache->allocator, NULL, __ATOMIC_RELEASE);
        acu_stream_cache_release(&cache->base);
    }
}

/* Waits for all work on what is free. Where CUDA has lost the work, the memory is given back all
 * the same. Returns ACU_LATER where the thread may not wait, or cannot. */
static int finish_uses(acu_caching *a) {
    int first = 0;
    for (acu_cache *cache = a->caches; cache && !acu_is_unloading(); cache = cache->next) {
        const int code = wait_for_uses(a, cache);
        if (!acu_timeline_was_finished(code))
            return ACU_LATER;
        first = first ? first : code;
        forget_uses(&cache->small, UINT64_MAX);
        forget_uses(&cache->large, UINT64_MAX);
    }
    return first;
}

static int destroy(acu_allocator *base) {
    acu_caching *a = caching(base);
    const int code = finish_uses(a);
    if (code == ACU_LATER)
        return code;
    pthread_mutex_lock(&base->lock);
    const int given = acu_source_shrink(a, 0);
    free_caches(a);
    const int pool = acu_object_release(NULL, a->pool, &acu_pool_class);
    return code ? code : given ? given : pool;
}

/* ---- what it does ---- */

static size_t largest_free(const acu_caching *a) {
    size_t largest = 0;
    for (const acu_cache *cache = a->caches; cache; cache = cache->next) {
        const size_t small = acu_heap_largest(&cache->small);
        const size_t large = acu_heap_largest(&cache->large);
        largest = small > largest ? small : largest;
        largest = large > largest ? large : largest;
    }
    return largest;
}

static void add(acu_allocator_class_info *class, const acu_counts *counts) {
    class->allocations += counts->allocations;
    class->used += (size_t)(counts->allocations - counts->frees);
}

/* Adds what all caches have counted; the caller has the allocator's lock. */
static void add_counts(const acu_caching *a, acu_allocator_class_info *classes) {
    for (acu_cache *cache = a->caches; cache; cache = cache->next) {
        acu_cache_lock(cache);
        for (unsigned i = 0; i < ACU_READY_CLASSES; i++)
            add(&classes[acu_allocator_class_of(acu_class_bytes(i))], &cache->ready[i].counts);
        for (unsigned i = 0; i < ACU_COUNTED_CLASSES; i++)
            add(&classes[i], &cache->ready_large.counts[i]);
        acu_cache_unlock(cache);
    }
}

static void get_info(acu_allocator *base, acu_allocator_info *info) {
    acu_caching *a = caching(base);
    pthread_mutex_lock(&base->lock);
    acu_cache_get_used(a, &info->used, &info->used_high);
    info->largest_free = largest_free(a);
    acu_allocator_class_info classes[ACU_COUNTED_CLASSES] = {{0}};
    add_counts(a, classes);
    for (unsigned i = 0; i < ACU_COUNTED_CLASSES; i++) {
        info->allocations += classes[i].allocations;
        info->frees += classes[i].allocations - classes[i].used;
    }
    /* What the source gave to another thread is counted before it is given out. */
    info->hits = info->allocations > a->misses ? info->allocations - a->misses : 0;
    pthread_mutex_unlock(&base->lock);
    const size_t unused = info->reserved > info->used ? info->reserved - info->used : 0;
    info->fragmentation =
        unused > info->largest_free ? 1 - (double)info->largest_free / (double)unused : 0;
}

static void add_classes(acu_allocator *base, acu_allocator_class_info *classes) {
    pthread_mutex_lock(&base->lock);
    add_counts(caching(base), classes);
    pthread_mutex_unlock(&base->lock);
}

static void reset(acu_allocator *base) {
    acu_caching *a = caching(base);
    pthread_mutex_lock(&base->lock);
    for (acu_cache *cache = a->caches; cache; cache = cache->next) {
        acu_cache_lock(cache);
        cache->used_high = cache->used;
        acu_cache_unlock(cache);
    }
    __atomic_store_n(&a->used_high, __atomic_load_n(&a->used, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
    pthread_mutex_unlock(&base->lock);
}

/* Hooks want to see each allocation, so that no storage may be ready. */
static void set_hooked(acu_allocator *base, bool hooked) {
    acu_caching *a = caching(base);
    for (acu_cache *cache = __atomic_load_n(&a->caches, __ATOMIC_ACQUIRE); cache;
         cache = cache->next) {
        acu_cache_lock(cache);
        cache->keeps = !hooked && !cache->ended;
        acu_cache_unlock(cache);
        if (hooked)
            discard(take_ready(cache, false));
    }
}

const acu_allocator_way acu_caching_way = {.take = take,
                                           .give = give,
                                           .reuse = reuse,
                                           .keep = keep,
                                           .kept_by = acu_arena_kept_by,
                                           .trim = trim,
                                           .get_info = get_info,
                                           .destroy = destroy,
                                           .add_classes = add_classes,
                                           .reset = reset,
                                           .set_hooked = set_hooked,
                                           .stop = stop_all};
