/* The caching allocator: how it takes memory from its source, and gives it back. */
#include "safe/memory/allocator_cache.h"
#include "safe/base/device.h"
#include "safe/memory/virtual.h"

#include <stdlib.h>
#include <unistd.h>

enum { MIB = 1u << 20u };

/* ---- the source ---- */

static int ask_virtual(int device, bool *has) {
    int answer = 0;
    int code = acu_translate_driver(cuInit(0));
    if (!code)
        code = acu_translate_driver(cuDeviceGetAttribute(
            &answer, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device));
    *has = answer != 0;
    return code;
}

/* Chooses the source; where the driver cannot be asked, the device has no virtual memory for us. */
static int choose_source(acu_caching *a, acu_allocator_source wanted) {
    const int device = a->base.object.device;
    bool has = false;
    acu_saved_record before;
    a->source = wanted;
    if (wanted > ACU_ALLOCATOR_VIRTUAL)
        return 0;
    acu_record_save(&before);
    const int code = ask_virtual(device, &has);
    if (wanted == ACU_ALLOCATOR_ANY) {
        acu_record_restore(&before);
        a->source = has ? ACU_ALLOCATOR_VIRTUAL : ACU_ALLOCATOR_DEVICE;
        return 0;
    }
    return code || has
               ? code
               : acu_record(cudaErrorNotSupported, "device %d has no virtual memory", device);
}

static int find_total(acu_caching *a) {
    size_t unused = 0;
    acu_guard guard;
    if (a->source == ACU_ALLOCATOR_PINNED) {
        a->total = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
        return 0;
    }
    int code = acu_guard_enter(&guard, a->base.object.device);
    if (!code)
        ACU_IGNORING_CAPTURES(code, cudaMemGetInfo(&unused, &a->total));
    acu_guard_leave(&guard);
    return code;
}

int acu_source_open(acu_caching *a, acu_allocator_source wanted) {
    const int device = a->base.object.device;
    int code = choose_source(a, wanted);
    if (!code)
        code = find_total(a);
    if (!code && a->source == ACU_ALLOCATOR_VIRTUAL)
        code = acu_physical_step(device, NULL, &a->step);
    return code;
}

static int take_in_order(const acu_caching *a, cudaStream_t on, size_t bytes, void **at) {
    return a->pool ? (int)cudaMallocFromPoolAsync(at, bytes, a->pool->raw, on)
                   : (int)cudaMallocAsync(at, bytes, on);
}

/* Takes memory by a stream of its own, and waits: a stream that is captured must not get the
 * allocation, which the graph would repeat. */
static int take_aside(const acu_caching *a, size_t bytes, void **at) {
    cudaStream_t aside = NULL;
    int code = (int)cudaStreamCreateWithFlags(&aside, cudaStreamNonBlocking);
    if (code)
        return code;
    code = take_in_order(a, aside, bytes, at);
    const int waited = code ? 0 : (int)cudaStreamSynchronize(aside);
    if (waited && cudaFree(*at))
        acu_record_release_error();
    if (cudaStreamDestroy(aside))
        acu_record_release_error();
    return code ? code : waited;
}

static int take(const acu_caching *a, acu_stream *stream, size_t bytes, void **at) {
    acu_guard guard;
    int code = acu_guard_enter(&guard, a->base.object.device);
    const int mode = acu_thread_ignore_all_captures();
    if (!code && a->source == ACU_ALLOCATOR_POOL)
        code = acu_capture_of(stream) ? take_aside(a, bytes, at)
                                      : take_in_order(a, stream->raw, bytes, at);
    else if (!code && a->source == ACU_ALLOCATOR_PINNED)
        code = (int)cudaHostAlloc(at, bytes, cudaHostAllocPortable);
    else if (!code)
        code = (int)cudaMalloc(at, bytes);
    if (code == cudaErrorMemoryAllocation)
        (void)cudaGetLastError();
    acu_thread_restore(mode);
    acu_guard_leave(&guard);
    return code;
}

/* Gives a segment back, which nobody uses: all work there is done. CUDA knows whose it is; another
 * device that is current may only be woken up by it. */
static int give(const acu_caching *a, acu_segment *segment) {
    acu_guard guard;
    if (acu_is_unloading())
        return 0;
    if (segment->range)
        return acu_object_release(NULL, segment->range, &acu_virtual_class);
    const int entered = acu_guard_enter(&guard, a->base.object.device);
    const int code = a->source == ACU_ALLOCATOR_PINNED ? (int)cudaFreeHost(segment->pointer)
                                                       : (int)cudaFree(segment->pointer);
    acu_guard_leave(&guard);
    return acu_forgive_unloading(code ? code : entered);
}

/* ---- segments, under the lock ---- */

static void add_segment(acu_caching *a, acu_segment *segment) {
    segment->next = a->segments;
    segment->link = &a->segments;
    if (a->segments)
        a->segments->link = &segment->next;
    a->segments = segment;
    a->base.info.segments++;
}

static void remove_segment(acu_caching *a, acu_segment *segment) {
    *segment->link = segment->next;
    if (segment->next)
        segment->next->link = segment->link;
    a->base.info.segments--;
}

static void count_reserved(acu_caching *a, size_t bytes) {
    acu_allocator_info *info = &a->base.info;
    info->reserved += bytes;
    if (info->reserved_high < info->reserved)
        info->reserved_high = info->reserved;
}

static bool is_within_limit(const acu_caching *a, size_t bytes) {
    const size_t limit = a->base.info.limit, reserved = a->base.info.reserved + a->asked;
    return limit == 0 || (reserved <= limit && bytes <= limit - reserved);
}

ACU_COLD static int refuse_limit(const acu_caching *a, size_t bytes) {
    acu_fail_hint("release something, or choose another limit: acu_allocator_set_limit()");
    return acu_record(cudaErrorMemoryAllocation,
                      "there is no room for %zu more bytes: the allocator has %zu, and its limit "
                      "is %zu",
                      bytes, a->base.info.reserved, a->base.info.limit);
}

static int no_memory(void) {
    return acu_record(ACU_ERROR_HOST_MEMORY, "the host has no memory for an allocator's segment");
}

static size_t round_up(size_t bytes, size_t step) {
    return (bytes + step - 1) / step * step;
}

/* ---- ranges of addresses ---- */

/* Reserves addresses for as much as the device has, for the heap. Sets the hole that they are. */
static int open_range(acu_caching *a, acu_heap *heap, acu_piece **hole) {
    acu_segment *segment = calloc(1, sizeof *segment);
    const size_t room = round_up(a->total, a->step);
    if (!segment)
        return no_memory();
    int code = acu_virtual_reserve_for_buffer(a->base.object.device, room, NULL, &segment->range);
    if (code) {
        free(segment);
        return code;
    }
    segment->pointer = acu_virtual_raw(segment->range);
    segment->heap = heap;
    *hole = acu_heap_open(segment, room);
    if (!*hole) {
        (void)give(a, segment);
        free(segment);
        return no_memory();
    }
    add_segment(a, segment);
    return 0;
}

static size_t free_in(const acu_piece *piece, const acu_heap *heap) {
    return piece && piece->free && piece->heap == heap ? piece->bytes : 0;
}

/* Returns how many bytes of a hole need memory, so that there is a free piece of `bytes` then with
 * what the heap has beside it; 0 if the hole is too small. */
static size_t needed(const acu_caching *a, const acu_heap *heap, const acu_piece *hole,
                     size_t bytes) {
    const size_t have = free_in(hole->before, heap);
    const size_t need = round_up(bytes - have, a->step);
    if (need <= hole->bytes)
        return need;
    return have + hole->bytes + free_in(hole->after, heap) >= bytes ? hole->bytes : 0;
}

/* Finds the hole at the lowest address of a range that serves a request. */
static acu_piece *find_hole(const acu_caching *a, const acu_heap *heap, size_t bytes) {
    acu_piece *best = NULL;
    for (acu_segment *s = a->segments; s; s = s->next)
        for (acu_piece *hole = s->heap == heap ? s->holes : NULL; hole; hole = hole->next)
            if (needed(a, heap, hole, bytes) && (!best || hole->pointer < best->pointer))
                best = hole;
    return best;
}

/* Returns 0 and a hole; there is always one in a new range, which is as large as the device. */
static int need_hole(acu_caching *a, acu_heap *heap, size_t bytes, acu_piece **hole) {
    *hole = find_hole(a, heap, bytes);
    if (*hole)
        return 0;
    return bytes <= a->total
               ? open_range(a, heap, hole)
               : acu_record(cudaErrorMemoryAllocation, "device %d has no room for %zu bytes",
                            a->base.object.device, bytes);
}

/* Gives memory to as much of a hole as is needed for a free piece of so many bytes. */
static int fill_hole(acu_caching *a, acu_heap *heap, size_t bytes, acu_piece **piece) {
    acu_piece *hole = NULL;
    int code = need_hole(a, heap, bytes, &hole);
    if (code)
        return code;
    acu_segment *segment = hole->segment;
    const size_t need = needed(a, heap, hole, bytes);
    if (!is_within_limit(a, need))
        return refuse_limit(a, need);
    if (!acu_heap_take_hole(hole, need, heap))
        return no_memory();
    code = acu_virtual_fill(segment->range, (size_t)(hole->pointer - segment->pointer), need);
    if (code) {
        acu_heap_give_hole(hole);
        return code;
    }
    *piece = acu_heap_give(hole);
    segment->bytes += need;
    count_reserved(a, need);
    return 0;
}

/* Returns whether the piece can be given back: its work is done, and no graph may use it again. */
static bool is_idle(const acu_piece *piece) {
    return piece->free && piece->number == 0 && !piece->heap->cache->arena;
}

/* Returns the first piece from `piece` on that is in use, or must stay; NULL: there is none. */
static acu_piece *next_used(acu_piece *piece) {
    while (piece && (!piece->heap || is_idle(piece)))
        piece = piece->after;
    return piece;
}

/* Unmaps what is mapped wholly to the pieces from `first` up to `end` bytes of their range, which
 * are idle or holes, the last one first. `most` is how much may be unmapped, and becomes how much
 * is left of it. Returns 0 or a recorded code. */
static int empty_row(acu_caching *a, acu_piece *first, size_t end, size_t *most) {
    acu_segment *segment = first->segment;
    const size_t begin = (size_t)(first->pointer - segment->pointer);
    size_t bytes;
    int code = 0;
    while (!code && acu_virtual_find_last(segment->range, begin, end, *most, &end, &bytes)) {
        acu_piece *piece = acu_heap_cut(first, segment->pointer + end, bytes);
        if (!piece)
            return no_memory();
        code = acu_virtual_empty(segment->range, end);
        if (code) {
            (void)acu_heap_give(piece);
            continue;
        }
        acu_heap_give_hole(piece);
        segment->bytes -= bytes;
        a->base.info.reserved -= bytes;
        *most -= bytes;
    }
    return code;
}

/* Unmaps at most so many bytes of a range that nobody needs; returns 0 or a recorded code. */
static int empty_range(acu_caching *a, acu_segment *segment, size_t most) {
    const size_t room = acu_virtual_bytes(segment->range);
    int code = 0;
    for (acu_piece *first = segment->first; first && !code;) {
        acu_piece *used = next_used(first);
        const size_t end = used ? (size_t)(used->pointer - segment->pointer) : room;
        if (first != used)
            code = empty_row(a, first, end, &most);
        first = used ? used->after : NULL;
    }
    return code;
}

/* ---- segments of fixed size ---- */

/* Small pieces share segments of 2 MiB, medium ones of 20 MiB, so that the source is seldom asked;
 * large ones have one of their own. */
static size_t segment_bytes(size_t bytes) {
    return bytes <= ACU_SMALL         ? (size_t)2 * MIB
           : bytes < (size_t)10 * MIB ? (size_t)20 * MIB
                                      : round_up(bytes, (size_t)2 * MIB);
}

/* Takes a segment of that size. The lock is held before; afterwards only on success. */
static int take_segment(acu_caching *a, acu_heap *heap, acu_stream *stream, size_t bytes,
                        acu_piece **piece) {
    void *at = NULL;
    acu_segment *segment = calloc(1, sizeof *segment);
    if (!segment)
        return no_memory();
    pthread_mutex_unlock(&a->base.lock); /* because CUDA may wait */
    int code = take(a, stream, bytes, &at);
    pthread_mutex_lock(&a->base.lock);
    if (code) {
        free(segment);
        return code;
    }
    segment->pointer = at;
    segment->heap = heap;
    segment->bytes = bytes;
    acu_piece *hole = acu_heap_open(segment, bytes);
    if (!hole) {
        (void)give(a, segment);
        free(segment);
        return no_memory();
    }
    (void)acu_heap_take_hole(hole, bytes, heap); /* all of it, which cannot fail */
    *piece = acu_heap_give(hole);
    if (a->source == ACU_ALLOCATOR_POOL) /* other streams come after the allocation */
        (*piece)->number = acu_timeline_issue(heap->cache->timeline);
    add_segment(a, segment);
    return 0;
}

static int try_segment(acu_caching *a, acu_heap *heap, acu_stream *stream, size_t bytes,
                       acu_piece **piece) {
    if (!is_within_limit(a, bytes))
        return refuse_limit(a, bytes);
    a->asked += bytes; /* of the limit, because the lock is given up */
    const int code = take_segment(a, heap, stream, bytes, piece);
    a->asked -= bytes;
    if (!code)
        count_reserved(a, bytes);
    return code;
}

int acu_source_grow(acu_caching *a, acu_cache *cache, acu_heap *heap, acu_stream *stream,
                    size_t bytes, acu_piece **piece) {
    const size_t best = segment_bytes(bytes);
    (void)cache;
    pthread_mutex_lock(&a->base.lock);
    int code = a->source == ACU_ALLOCATOR_VIRTUAL ? fill_hole(a, heap, bytes, piece)
                                                  : try_segment(a, heap, stream, best, piece);
    if (code == cudaErrorMemoryAllocation && a->source != ACU_ALLOCATOR_VIRTUAL && best > bytes)
        code = try_segment(a, heap, stream, bytes, piece);
    if (code)
        pthread_mutex_unlock(&a->base.lock);
    return code;
}

/* ---- giving back ---- */

static bool is_unused(const acu_segment *segment) {
    return !next_used(segment->first);
}

/* Takes the segment, with its pieces, away from the allocator. */
static void take_away(acu_caching *a, acu_segment *segment) {
    acu_heap_close(segment);
    remove_segment(a, segment);
    a->base.info.reserved -= segment->bytes;
}

int acu_source_shrink(acu_caching *a, size_t keep) {
    acu_segment *gone = NULL;
    size_t used = 0, high = 0;
    int code = 0;
    acu_cache_get_used(a, &used, &high);
    for (acu_segment *s = a->segments, *next; s; s = next) {
        const size_t reserved = a->base.info.reserved;
        const size_t unused = reserved > used ? reserved - used : 0;
        const size_t most = unused > keep ? unused - keep : 0;
        next = s->next;
        if (is_unused(s) && s->bytes <= most) {
            take_away(a, s);
            s->next = gone;
            gone = s;
        } else if (s->range && most > 0) {
            const int emptied = empty_range(a, s, most);
            code = code ? code : emptied;
        }
    }
    pthread_mutex_unlock(&a->base.lock);
    for (acu_segment *next; gone; gone = next) {
        next = gone->next;
        const int given = give(a, gone);
        code = code ? code : given;
        free(gone);
    }
    return code;
}
