/* The caching allocator: memory that is given out during a capture, which is the graph's alone. */
#include "safe/memory/allocator_cache.h"

#include <stddef.h>

/* ---- storages that were made in the capture ---- */

/* Takes those storages out of the arena's list that only the arena owns, or all; the caller has the
 * lock, and gets the references. */
static acu_storage *take_made(acu_arena *arena, const acu_stream *home, bool all) {
    acu_storage *taken = NULL, **link = &arena->made;
    while (*link) {
        acu_storage *s = *link;
        const bool mine = __atomic_load_n(&s->object.references, __ATOMIC_ACQUIRE) == 1;
        if (all || (mine && s->home == home)) {
            *link = s->next_made;
            s->next_made = taken;
            taken = s;
        } else
            link = &s->next_made;
    }
    return taken;
}

static void release_made(acu_storage *made) {
    for (acu_storage *next; made; made = next) {
        next = made->next_made;
        if (acu_object_release(NULL, made, &acu_storage_class))
            acu_record_release_error();
    }
}

/* The capture ends: the graph keeps what the program has still, so that launches are ordered with
 * what it does to these buffers. */
static int end_of_capture(acu_capture_ending *end, acu_capture *capture) {
    acu_arena *arena = (acu_arena *)((char *)end - offsetof(acu_arena, end));
    acu_caching *a = arena->allocator;
    int code = 0;
    pthread_mutex_lock(&a->base.lock);
    acu_storage *made = take_made(arena, NULL, true);
    pthread_mutex_unlock(&a->base.lock);
    for (acu_storage *s = made; s && !code; s = s->next_made)
        if (__atomic_load_n(&s->object.references, __ATOMIC_ACQUIRE) > 1)
            code = capture->use(capture, &s->object, true);
    release_made(made);
    return code;
}

/* The graph is gone, and its last launch is over: the memory is its stream's, like any other. */
static int destroy_arena(acu_object *object) {
    acu_arena *arena = (acu_arena *)object;
    acu_caching *a = arena->allocator;
    pthread_mutex_lock(&a->base.lock);
    acu_storage *made = take_made(arena, NULL, true); /* where the capture was lost */
    acu_arena **link = &a->arenas;
    while (*link && *link != arena)
        link = &(*link)->next;
    if (*link)
        *link = arena->next;
    for (acu_cache *cache = a->caches; cache; cache = cache->next)
        if (cache->arena == arena)
            __atomic_store_n(&cache->arena, NULL, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&a->base.lock);
    release_made(made);
    return acu_object_release(NULL, a, &acu_allocator_class);
}

static const acu_class arena_class = {"memory of a capture", destroy_arena, NULL,
                                      acu_breaks_no_capture};

static acu_arena *find_arena(const acu_caching *a, uint64_t capture) {
    acu_arena *arena = a->arenas;
    while (arena && arena->capture != capture)
        arena = arena->next;
    return arena;
}

/* Lets the graph keep a storage without memory as one that it writes. All executable graphs of the
 * graph use the same memory: by this storage their launches are ordered, on whatever streams.
 * Returns 0 or a recorded code. */
static int order_launches(const acu_caching *a, acu_capture *capture) {
    acu_buffer *order = NULL;
    const int made =
        acu_storage_new_for_graph("acu_buffer_create", a->base.object.device, ACU_U8, 1, &order);
    if (made)
        return made;
    const int code = capture->use(capture, &order->storage->object, true);
    const int released = acu_object_release(NULL, order, &acu_buffer_class);
    return code ? code : released;
}

/* Makes the arena of a capture, which its graph will keep; returns 0 or a recorded code. */
static int new_arena(acu_caching *a, acu_capture *capture, acu_arena **out) {
    acu_arena *arena = acu_object_make(&arena_class, sizeof *arena, ACU_DEVICE_CURRENT);
    if (!arena)
        return ACU_ERROR_HOST_MEMORY;
    acu_object_add_owner(a);
    arena->allocator = a;
    arena->capture = capture->id;
    arena->end.run = end_of_capture;
    pthread_mutex_lock(&a->base.lock);
    arena->next = a->arenas;
    a->arenas = arena;
    pthread_mutex_unlock(&a->base.lock);
    *out = arena;
    int code = capture->use(capture, &arena->object, false);
    if (!code)
        code = order_launches(a, capture);
    if (!code)
        acu_capture_add_ending(capture, &arena->end);
    const int released = acu_object_release(NULL, arena, &arena_class); /* the graph owns it */
    return code ? code : released;
}

int acu_arena_find(acu_caching *a, acu_capture *capture, acu_arena **arena) {
    pthread_mutex_lock(&a->base.lock);
    *arena = find_arena(a, capture->id);
    pthread_mutex_unlock(&a->base.lock);
    return *arena ? 0 : new_arena(a, capture, arena);
}

/* ---- use ---- */

/* The memory may have been used before in the same capture, in the order of the home stream: as a
 * write there, that comes before what other streams do with it now. */
int acu_arena_keep(acu_arena *arena, acu_storage *s) {
    acu_capture *capture = acu_capture_of(s->home);
    const int code = capture ? acu_capture_order_use(&capture->order, s->home, s, true) : 0;
    if (code)
        return code;
    acu_object_add_owner(s);
    pthread_mutex_lock(&arena->allocator->base.lock);
    s->next_made = arena->made;
    arena->made = s;
    pthread_mutex_unlock(&arena->allocator->base.lock);
    return 0;
}

acu_object *acu_arena_kept_by(const acu_capture *capture, acu_storage *s) {
    acu_arena *arena =
        s->piece ? __atomic_load_n(&s->piece->heap->cache->arena, __ATOMIC_ACQUIRE) : NULL;
    return arena && arena->capture == capture->id ? &arena->object : &s->object;
}

void acu_arena_reclaim(acu_arena *arena, acu_stream *stream, acu_capture *capture) {
    acu_saved_record before;
    acu_caching *a = arena->allocator;
    pthread_mutex_lock(&a->base.lock);
    acu_storage *made = take_made(arena, stream, false);
    pthread_mutex_unlock(&a->base.lock);
    if (!made)
        return;
    acu_record_save(&before);
    for (acu_storage *s = made; s; s = s->next_made) {
        const acu_given given = {s->pointer, acu_storage_bytes(s), s->piece};
        if (acu_has(s->flags, ACU_BUFFER_UNORDERED) ||
            !acu_storage_is_only_on(s, stream->timeline) ||
            acu_capture_order_use(&capture->order, stream, s, true))
            continue; /* it is freed after the capture */
        s->pointer = NULL;
        s->piece = NULL;
        if (acu_allocator_give(&a->base, stream, &given))
            acu_record_release_error();
    }
    acu_record_restore(&before);
    release_made(made);
}
