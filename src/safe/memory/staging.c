/* Staging: the pinned memory of streams, and when it can be used again. */
#include "safe/memory/staging.h"
#include "safe/base/device.h"

#include <stdlib.h>

static const size_t least_block = (size_t)64 << 10u, most_block = (size_t)256 << 10u;
static const size_t most_of_ring = (size_t)16 << 20u;
static const size_t most_kept = (size_t)64 << 20u; /* bytes of blocks that no read uses */
static const size_t page = 4096;
/* Each copy begins with a line of the cache, so that host and device do not work on the same one.
 */
static const size_t line = 64;

/* ---- blocks ---- */

/* Allocates as another thread's capture allows. The caller has seen that this thread's do. */
static int allocate(acu_staging_block *block, int device) {
    acu_guard guard;
    void *memory = NULL;
    int mode = acu_thread_ignore_captures();
    int code = acu_guard_enter(&guard, device);
    if (!code)
        code = (int)cudaHostAlloc(&memory, block->bytes, cudaHostAllocPortable);
    if (!code) {
        block->memory = memory;
        code = (int)cudaEventCreateWithFlags(&block->copied, cudaEventDisableTiming);
        if (code)
            (void)cudaFreeHost(memory);
    }
    acu_guard_leave(&guard);
    acu_thread_restore(mode);
    return code;
}

/* Stores NULL, and returns 0, where there is no pinned memory: the caller has another way. */
static int new_block(const acu_staging *s, size_t bytes, acu_staging_block **out) {
    acu_saved_record before;
    acu_staging_block *block = malloc(sizeof *block);
    *out = NULL;
    if (!block)
        return acu_record(ACU_ERROR_HOST_MEMORY, "the host has no memory for a copy");
    *block = (acu_staging_block){.bytes = bytes};
    acu_record_save(&before);
    int code = allocate(block, s->object.device);
    if (!code) {
        *out = block;
        return 0;
    }
    free(block);
    if (code != cudaErrorMemoryAllocation)
        return code;
    (void)cudaGetLastError();
    acu_record_restore(&before);
    return 0;
}

/* Frees a block from which nothing is copied any more. */
static int free_block(acu_staging_block *block) {
    int first = 0, second = 0;
    if (!acu_is_unloading())
        first = acu_forgive_unloading((int)cudaEventDestroy(block->copied));
    if (!acu_is_unloading())
        second = acu_forgive_unloading((int)cudaFreeHost(block->memory));
    free(block);
    return first ? first : second;
}

int acu_staging_record(const acu_staging_block *block, const acu_stream *stream) {
    acu_guard guard;
    int code = acu_stream_enter(stream, &guard);
    if (!code)
        code = (int)cudaEventRecord(block->copied, stream->raw);
    acu_guard_leave(&guard);
    return code;
}

/* ---- life ---- */

static bool is_over(const acu_staging *s) {
    return acu_timeline_is_over(s->timeline, __atomic_load_n(&s->number, __ATOMIC_RELAXED));
}

static int destroy_staging(acu_object *object) {
    acu_staging *s = (acu_staging *)object;
    int code = 0;
    if (!is_over(s))
        return ACU_LATER;
    for (unsigned i = 0; i < s->count; i++) {
        int freed = free_block(s->ring[i]);
        code = code ? code : freed;
    }
    while (s->kept) {
        acu_staging_block *next = s->kept->next;
        int freed = free_block(s->kept);
        code = code ? code : freed;
        s->kept = next;
    }
    pthread_mutex_destroy(&s->lock);
    int released = acu_timeline_release(s->timeline);
    return code ? code : released;
}

static const acu_class staging_class = {"staging memory", destroy_staging, NULL, NULL};

acu_staging *acu_staging_of(const char *call, acu_stream *stream) {
    acu_object *there = __atomic_load_n(&stream->staging, __ATOMIC_ACQUIRE);
    if (there)
        return (acu_staging *)there;
    acu_staging *made = acu_object_new(call, &staging_class, sizeof *made, stream->object.device);
    if (!made)
        return NULL;
    pthread_mutex_init(&made->lock, NULL);
    made->timeline = acu_timeline_retain(stream->timeline);
    if (__atomic_compare_exchange_n(&stream->staging, &there, &made->object, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return made;
    (void)acu_staging_release(made); /* another thread was first */
    return (acu_staging *)there;
}

acu_staging *acu_staging_retain(acu_staging *staging) {
    acu_object_add_owner(staging);
    return staging;
}

int acu_staging_release(acu_staging *staging) {
    return acu_object_release(NULL, staging, &staging_class);
}

/* ---- writing ---- */

/* Adds a block behind the one that is being filled: as large as all others together, so that few
 * blocks serve small writes, and large writes soon have large ones. Changes nothing where the ring
 * is as large as it may be, or there is no pinned memory. */
static int grow(acu_staging *s, size_t bytes) {
    size_t wanted = s->ring_bytes > bytes ? s->ring_bytes : bytes, size = least_block;
    acu_staging_block *block = NULL;
    while (size < wanted && size < most_block)
        size *= 2;
    if (s->count == ACU_STAGING_BLOCKS || s->ring_bytes + size > most_of_ring)
        return 0;
    int code = new_block(s, size, &block);
    if (!block)
        return code;
    unsigned at = s->count ? s->at + 1 : 0;
    for (unsigned i = s->count++; i > at; i--)
        s->ring[i] = s->ring[i - 1];
    s->ring[at] = block;
    s->ring_bytes += size;
    return 0;
}

/* Waits until the block can be filled. */
static int wait_for_block(const acu_staging_block *block) {
    int mode = acu_thread_ignore_captures();
    int code = (int)cudaEventSynchronize(block->copied);
    acu_thread_restore(mode);
    return code;
}

static int query_block(const acu_staging_block *block, bool *over) {
    int mode = acu_thread_ignore_captures();
    int code = (int)cudaEventQuery(block->copied);
    acu_thread_restore(mode);
    *over = code != cudaErrorNotReady;
    if (*over)
        return code;
    acu_forget_not_ready();
    return 0;
}

/* Makes the block before the present one the one to be filled. The ring stays ordered by last use.
 */
static void go_back(acu_staging *s, unsigned before) {
    acu_staging_block *now = s->ring[s->at];
    s->ring[s->at] = s->ring[before];
    s->ring[before] = now;
}

/*
 * Finds the block to be filled next. Where the block before the present one is over, that one is
 * taken, because it is in the host's caches: large writes then need two blocks, and are as fast as
 * the caches are. Else it is the oldest one; or a new one where that is not over either, or is too
 * small. A block that is alone is not asked, because its copies have just begun.
 */
static int next_block(acu_staging *s, const acu_stream *stream, size_t bytes) {
    const unsigned count = s->count, before = (s->at + count - 1) % count;
    const unsigned oldest = (s->at + 1) % count;
    bool over = false;
    int code = acu_staging_record(s->ring[s->at], stream);
    if (!code && count > 1)
        code = query_block(s->ring[before], &over);
    if (!code && over && s->ring[before]->bytes >= bytes) {
        go_back(s, before);
        s->used = 0;
        return 0;
    }
    if (!code && !over && count > 2)
        code = query_block(s->ring[oldest], &over);
    const bool enough = over && s->ring[oldest]->bytes >= bytes;
    if (!code && !enough)
        code = grow(s, bytes);
    const bool grown = s->count > count;
    if (!code && !over && !grown)
        code = wait_for_block(s->ring[oldest]);
    if (code)
        return code;
    s->at = grown ? s->at + 1 : oldest;
    s->used = 0;
    return 0;
}

int acu_staging_reserve(acu_staging *s, acu_stream *stream, size_t bytes, char **at, size_t *fit) {
    int code = 0;
    *fit = 0;
    if (s->count == 0)
        code = grow(s, bytes);
    else if (s->ring[s->at]->bytes - s->used < (bytes < least_block ? bytes : page))
        code = next_block(s, stream, bytes);
    if (code || s->count == 0)
        return code;
    const acu_staging_block *block = s->ring[s->at];
    const size_t room = block->bytes - s->used;
    *at = block->memory + s->used;
    *fit = bytes < room ? bytes : room;
    s->used += (*fit + line - 1) / line * line;
    return 0;
}

/* ---- reading ---- */

/* Takes the smallest block out of the list that is large enough, but not far too large; NULL if
 * there is none. */
static acu_staging_block *take_kept(acu_staging *s, size_t bytes, size_t most) {
    acu_staging_block **best = NULL;
    for (acu_staging_block **b = &s->kept; *b; b = &(*b)->next)
        if ((*b)->bytes >= bytes && (*b)->bytes <= most && (!best || (*b)->bytes < (*best)->bytes))
            best = b;
    if (!best)
        return NULL;
    acu_staging_block *block = *best;
    *best = block->next;
    s->kept_bytes -= block->bytes;
    return block;
}

int acu_staging_take(acu_staging *s, size_t bytes, acu_staging_block **block) {
    const size_t unit = bytes < least_block ? page : least_block;
    const size_t size = (bytes + unit - 1) / unit * unit;
    pthread_mutex_lock(&s->lock);
    *block = take_kept(s, bytes, 2 * size);
    pthread_mutex_unlock(&s->lock);
    int code = *block ? 0 : new_block(s, size, block);
    if (*block || code)
        return code;
    pthread_mutex_lock(&s->lock);
    *block = take_kept(s, bytes, SIZE_MAX);
    pthread_mutex_unlock(&s->lock);
    return 0;
}

int acu_staging_give(acu_staging *s, acu_staging_block *block) {
    bool over = false;
    pthread_mutex_lock(&s->lock);
    const bool kept = block->bytes <= most_kept - s->kept_bytes;
    if (kept) {
        block->next = s->kept;
        s->kept = block;
        s->kept_bytes += block->bytes;
    }
    pthread_mutex_unlock(&s->lock);
    if (kept)
        return 0;
    acu_saved_record before;
    acu_record_save(&before);
    if (!acu_is_unloading() && query_block(block, &over))
        over = true; /* the device has failed, and copies nothing any more */
    acu_record_restore(&before);
    return over || acu_is_unloading() ? free_block(block) : ACU_LATER;
}
