/* Staging: the pinned memory of streams, and when it can be used again. */
#include "safe/memory/staging.h"

#include "core/caches.h"
#include "safe/base/device.h"

#include <anycuda/load.h>

#include <stdlib.h>

static const size_t least_block = (size_t)64 << 10u, most_block = (size_t)4 << 20u;
static const size_t most_kept = (size_t)64
                                << 20u; /* bytes of the blocks for a stream's next reads */
static const size_t page = 4096;
/* Each copy begins with a line of the cache, so that host and device do not work on the same one.
 */
static const size_t line = 64;

/* ---- blocks ---- */

/*
 * Blocks that no staging has. CUDA waits for all devices when it frees pinned memory, which neither
 * the release of a stream or a transfer may do, nor a call that happens to come later. So they are
 * kept for whoever needs one next, and freed when a thread has waited for the device anyway.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static acu_staging_block *unused; /* a list; under the lock */

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

/* Returns whether nothing is copied from or to the block any more; also where CUDA has lost the
 * work of the device, which copies nothing. */
static bool is_block_over(const acu_staging_block *block) {
    acu_saved_record before;
    bool over = false;
    acu_record_save(&before);
    const int code = query_block(block, &over);
    if (code)
        over = acu_timeline_was_finished(code);
    acu_record_restore(&before);
    return over;
}

static void destroy_event(cudaEvent_t event) {
    if (event && !acu_is_unloading() && acu_forgive_unloading((int)cudaEventDestroy(event)))
        acu_record_release_error();
}

/* Frees a block that is over. */
static void free_block(acu_staging_block *block) {
    destroy_event(block->copied);
    for (size_t i = 0; i < ACU_STAGING_PARTS - 1; i++)
        destroy_event(block->parts[i]);
    if (!acu_is_unloading() && acu_forgive_unloading((int)cudaFreeHost(block->memory)))
        acu_record_release_error();
    free(block);
}

/* Takes the unused blocks of a device, or of all where that is negative, out of the list. */
static acu_staging_block *take_unused(int device) {
    acu_staging_block *taken = NULL, **link = &unused;
    pthread_mutex_lock(&lock);
    while (*link) {
        acu_staging_block *block = *link;
        if (device >= 0 && block->device != device) {
            link = &block->next;
            continue;
        }
        *link = block->next;
        block->next = taken;
        taken = block;
    }
    pthread_mutex_unlock(&lock);
    return taken;
}

static void add_unused(acu_staging_block *block) {
    pthread_mutex_lock(&lock);
    block->next = unused;
    unused = block;
    pthread_mutex_unlock(&lock);
}

static void free_unused(int device) {
    acu_saved_record before;
    acu_record_save(&before);
    acu_staging_block *next = NULL, *block = take_unused(device);
    for (; block; block = next) {
        next = block->next;
        if (acu_is_unloading() || is_block_over(block))
            free_block(block);
        else
            add_unused(block);
    }
    acu_record_restore(&before);
}

static void free_all_unused(void) {
    acu_destroy_deferred(); /* the pinned memory of streams whose work is done by now */
    free_unused(-1);
}

/* The simulator reports at exit what is left, also where it is a library of its own, which asks no
 * keepers. CUDA reports nothing, and there nobody waits. */
static void free_at_exit(void) {
    const acu_load_info *runtime = acu_loaded(ACU_CUDART);
    if (runtime && runtime->is_sim)
        free_unused(-1);
}

/* Gives up a block, from which something may still be copied. */
static void give_up(acu_staging_block *block) {
    static bool once; /* atomic */
    static acu_keeper keeper = {.give_back = free_all_unused};
    if (!__atomic_exchange_n(&once, true, __ATOMIC_RELAXED)) {
        acu_caches_add(&keeper);
        acu_device_when_idle(free_unused);
        (void)atexit(free_at_exit);
    }
    add_unused(block);
}

/* Returns an unused block of the device that is over, large enough, but not far too large; NULL if
 * there is none. */
static acu_staging_block *find_unused(int device, size_t bytes) {
    acu_staging_block *block = NULL, **link = &unused;
    pthread_mutex_lock(&lock);
    while (*link && !block) {
        acu_staging_block *b = *link;
        if (b->device == device && b->bytes >= bytes && b->bytes <= 2 * bytes && is_block_over(b))
            block = b;
        else
            link = &b->next;
    }
    if (block)
        *link = block->next;
    pthread_mutex_unlock(&lock);
    return block;
}

/* Allocates as another thread's capture allows. The caller has seen that this thread's do. */
static int allocate(acu_staging_block *block) {
    acu_guard guard;
    void *memory = NULL;
    int mode = acu_thread_ignore_captures();
    int code = acu_guard_enter(&guard, block->device);
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
    *out = find_unused(s->object.device, bytes);
    if (*out)
        return 0;
    acu_staging_block *block = malloc(sizeof *block);
    if (!block)
        return acu_record(ACU_ERROR_HOST_MEMORY, "the host has no memory for a copy");
    *block = (acu_staging_block){.bytes = bytes, .device = s->object.device};
    acu_record_save(&before);
    int code = allocate(block);
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

int acu_staging_make_parts(acu_staging_block *block) {
    acu_guard guard;
    int mode = acu_thread_ignore_captures();
    int code = acu_guard_enter(&guard, block->device);
    for (size_t i = 0; i < ACU_STAGING_PARTS - 1 && !code; i++)
        if (!block->parts[i])
            code = (int)cudaEventCreateWithFlags(&block->parts[i], cudaEventDisableTiming);
    acu_guard_leave(&guard);
    acu_thread_restore(mode);
    return code;
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
    if (!is_over(s))
        return ACU_LATER;
    for (unsigned i = 0; i < s->count; i++)
        give_up(s->ring[i]);
    while (s->kept) {
        acu_staging_block *next = s->kept->next;
        give_up(s->kept);
        s->kept = next;
    }
    pthread_mutex_destroy(&s->lock);
    return acu_timeline_release(s->timeline);
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
    if (s->count == ACU_STAGING_BLOCKS || s->ring_bytes + size > acu_staging_ring)
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

/* Makes the oldest block the one to be filled; or a new one where that is still in use, or is too
 * small. A block that is alone is not asked, because its copies have just begun. */
static int next_block(acu_staging *s, const acu_stream *stream, size_t bytes) {
    const unsigned count = s->count, oldest = (s->at + 1) % count;
    bool over = false;
    int code = acu_staging_record(s->ring[s->at], stream);
    if (!code && count > 1)
        code = query_block(s->ring[oldest], &over);
    if (!code && !(over && s->ring[oldest]->bytes >= bytes))
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

void acu_staging_give(acu_staging *s, acu_staging_block *block) {
    pthread_mutex_lock(&s->lock);
    const bool kept = block->bytes <= most_kept - s->kept_bytes;
    if (kept) {
        block->next = s->kept;
        s->kept = block;
        s->kept_bytes += block->bytes;
    }
    pthread_mutex_unlock(&s->lock);
    if (!kept)
        give_up(block);
}
