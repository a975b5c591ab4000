/* Streams: how they are made and destroyed. stream_attributes.c has what is set on them,
 * stream_wait.c waits, stream_call.c calls functions of the host. */
#include "safe/base/stream.h"

#include <stdio.h>
#include <stdlib.h>

#define OUTCOME(stream, code) acu_outcome(__func__, (stream), (int)(code))

/* Runs `call` on the stream, and returns from the public function. */
#define ON_STREAM(stream, call)                                                                    \
    do {                                                                                           \
        acu_guard guard;                                                                           \
        ACU_NEED_STREAM(stream);                                                                   \
        int code = acu_stream_enter((stream), &guard);                                             \
        if (!code)                                                                                 \
            code = (int)(call);                                                                    \
        acu_guard_leave(&guard);                                                                   \
        return OUTCOME((stream), code);                                                            \
    } while (0)

/* ---- the list of all streams ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static acu_stream *all; /* under the lock */

static void add_to_list(acu_stream *stream) {
    pthread_mutex_lock(&lock);
    stream->next = all;
    stream->link = &all;
    if (all)
        all->link = &stream->next;
    all = stream;
    pthread_mutex_unlock(&lock);
}

static void remove_from_list(acu_stream *stream) {
    pthread_mutex_lock(&lock);
    *stream->link = stream->next;
    if (stream->next)
        stream->next->link = stream->link;
    pthread_mutex_unlock(&lock);
}

static int count_own(const acu_stream *stream) {
    int own = acu_is_spare(__atomic_load_n(&stream->spare, __ATOMIC_RELAXED)) +
              (__atomic_load_n(&stream->staging, __ATOMIC_RELAXED) != NULL);
    for (acu_stream_cache *cache = stream->caches; cache; cache = cache->next)
        own += cache->count(cache);
    return own;
}

int acu_stream_count_own(int device) {
    int own = 0;
    pthread_mutex_lock(&lock);
    for (const acu_stream *s = all; s; s = s->next)
        if (s->object.device == device)
            own += count_own(s);
    pthread_mutex_unlock(&lock);
    return own;
}

/* ---- caches ---- */

void acu_stream_add_cache(acu_stream *stream, acu_stream_cache *cache) {
    pthread_mutex_lock(&lock);
    cache->stream = stream;
    cache->next = stream->caches;
    __atomic_store_n(&stream->caches, cache, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
}

acu_stream_cache *acu_stream_find_cache(const acu_stream *stream,
                                        bool (*is)(const acu_stream_cache *cache, const void *data),
                                        const void *data) {
    pthread_mutex_lock(&lock);
    acu_stream_cache *cache = stream->caches;
    while (cache && !is(cache, data))
        cache = cache->next;
    pthread_mutex_unlock(&lock);
    return cache;
}

void acu_stream_set_cache(acu_stream *stream, acu_stream_cache *cache, const bool *current) {
    pthread_mutex_lock(&lock);
    if (__atomic_load_n(current, __ATOMIC_RELAXED))
        __atomic_store_n(&stream->cache, cache, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
}

static void release_caches(acu_stream *stream) {
    pthread_mutex_lock(&lock);
    acu_stream_cache *cache = stream->caches;
    __atomic_store_n(&stream->caches, NULL, __ATOMIC_RELAXED);
    for (acu_stream_cache *c = cache; c; c = c->next)
        c->stream = NULL;
    pthread_mutex_unlock(&lock);
    for (acu_stream_cache *next; cache; cache = next) {
        next = cache->next;
        acu_stream_cache_release(cache);
    }
}

/* ---- life ---- */

static int destroy_stream(acu_object *object) {
    acu_stream *stream = (acu_stream *)object;
    remove_from_list(stream);
    release_caches(stream);
    acu_capture *capture = acu_capture_of(stream);
    if (capture && capture->origin == stream)
        capture->abandon(capture);
    int code = acu_timeline_close(stream->timeline), last = 0;
    if (stream->owned && __atomic_load_n(&stream->named, __ATOMIC_RELAXED))
        acu_audience_name(ACU_NAMED_STREAM, (uintptr_t)stream->raw, NULL);
    if (stream->owned && !acu_is_unloading())
        last = acu_forgive_unloading((int)cudaStreamDestroy(stream->raw));
    acu_stream_abandon_calls(object->device);
    acu_object *const kept[] = {stream->kernels, stream->staging, stream->context};
    int first = last ? last : code;
    int released = acu_timeline_release(stream->timeline);
    first = first ? first : released;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        released = kept[i] ? acu_object_release(NULL, kept[i], kept[i]->was) : 0;
        first = first ? first : released;
    }
    return first;
}

static void describe_stream(const acu_object *object, acu_description *d) {
    const acu_stream *stream = (const acu_stream *)object;
    acu_describe_name(d, &stream->name);
    if (stream->raw == cudaStreamLegacy)
        acu_describe(d, "the legacy default stream");
    else if (stream->raw == cudaStreamPerThread)
        acu_describe(d, "the thread's default stream");
    else
        acu_describe(d, "%s %p", stream->owned ? "raw" : "wrapped", (void *)stream->raw);
    if (acu_has(stream->flags, ACU_STREAM_NON_BLOCKING))
        acu_describe(d, "non-blocking");
    const int priority = __atomic_load_n(&stream->priority, __ATOMIC_RELAXED);
    if (priority)
        acu_describe(d, "priority %d", priority);
    if (stream->context)
        acu_describe(d, "in execution context %p", (void *)stream->context);
    if (acu_capture_of(stream))
        acu_describe(d, "being captured");
}

const acu_class acu_stream_class = {"stream", destroy_stream, describe_stream, NULL};

static int new_stream(const char *call, acu_device device, cudaStream_t raw, bool owned,
                      acu_stream **out) {
    int code = acu_device_resolve(call, &device);
    if (code)
        return code;
    acu_timeline *timeline = acu_timeline_new(device, raw);
    acu_stream *stream =
        timeline ? acu_object_new(call, &acu_stream_class, sizeof *stream, device) : NULL;
    if (!stream) {
        free(timeline);
        return acu_fail(call, "", ACU_ERROR_HOST_MEMORY, "the host has no memory for a stream");
    }
    stream->users = 1;
    stream->timeline = timeline;
    stream->raw = raw;
    stream->owned = owned;
    stream->is_default = raw == cudaStreamLegacy || raw == cudaStreamPerThread;
    stream->shared = !owned;
    add_to_list(stream);
    *out = stream;
    return 0;
}

/* Creates the raw stream, before there is a handle for it: a failure leaves nothing behind. */
static int create_raw(acu_device device, const acu_stream_options *options, cudaStream_t *raw) {
    acu_guard guard;
    int code = acu_guard_enter(&guard, device);
    if (!code)
        code = (int)cudaStreamCreateWithPriority(raw, options->flags, options->priority);
    acu_guard_leave(&guard);
    return code;
}

acu_result acu_stream_create(acu_device device, const acu_stream_options *options,
                             acu_stream **stream) {
    ACU_SCOPE();
    static const acu_stream_options none;
    cudaStream_t raw = NULL;
    ACU_NEED_POINTER(stream);
    *stream = NULL;
    ACU_REQUIRE(!options || !(options->flags & ~(unsigned)ACU_STREAM_NON_BLOCKING),
                ACU_ERROR_ARGUMENT, "a stream has no flags 0x%x", options->flags);
    acu_destroy_deferred();
    ACU_TRY(acu_device_resolve(__func__, &device));
    ACU_TRY(OUTCOME(NULL, create_raw(device, options ? options : &none, &raw)));
    int code = new_stream(__func__, device, raw, true, stream);
    if (code) {
        (void)cudaStreamDestroy(raw);
    } else if (options) {
        (*stream)->flags = options->flags;
        (*stream)->priority = options->priority;
    }
    return code;
}

int acu_stream_new_in(const char *call, acu_object *context, cudaStream_t raw,
                      const acu_stream_options *options, acu_stream **stream) {
    int code = new_stream(call, context->device, raw, true, stream);
    if (code) {
        (void)cudaStreamDestroy(raw);
        return code;
    }
    (*stream)->flags = ACU_STREAM_NON_BLOCKING;
    (*stream)->priority = options->priority;
    (*stream)->context = context;
    acu_object_add_owner(context);
    return 0;
}

acu_result acu_stream_get_legacy(acu_device device, acu_stream **stream) {
    ACU_SCOPE();
    ACU_NEED_POINTER(stream);
    *stream = NULL;
    return new_stream(__func__, device, cudaStreamLegacy, false, stream);
}

acu_result acu_stream_get_per_thread(acu_device device, acu_stream **stream) {
    ACU_SCOPE();
    ACU_NEED_POINTER(stream);
    *stream = NULL;
    return new_stream(__func__, device, cudaStreamPerThread, false, stream);
}

acu_result acu_stream_wrap(acu_device device, struct CUstream_st *raw, acu_stream **stream) {
    ACU_SCOPE();
    ACU_NEED_POINTER(stream);
    *stream = NULL;
    return new_stream(__func__, device, raw ? raw : cudaStreamLegacy, false, stream);
}

acu_result acu_stream_adopt(acu_device device, struct CUstream_st *raw, acu_stream **stream) {
    ACU_SCOPE();
    ACU_NEED_POINTER(stream);
    *stream = NULL;
    ACU_REQUIRE(raw && raw != cudaStreamLegacy && raw != cudaStreamPerThread, ACU_ERROR_ARGUMENT,
                "a default stream cannot be adopted; acu_stream_wrap() makes a handle for it");
    int code = new_stream(__func__, device, raw, true, stream);
    if (!code)
        acu_mark_shared(&(*stream)->shared);
    return code;
}

struct CUstream_st *acu_stream_raw(const acu_stream *stream) {
    if (!acu_is(stream, &acu_stream_class))
        return NULL;
    acu_mark_shared((bool *)&stream->shared);
    return stream->raw;
}

acu_stream *acu_stream_retain(acu_stream *stream) {
    acu_stream *retained = acu_object_retain(__func__, stream, &acu_stream_class);
    if (retained)
        __atomic_add_fetch(&retained->users, 1, __ATOMIC_RELAXED);
    return retained;
}

static void free_spare(acu_stream *stream, acu_object *spare) {
    acu_object_count_down(stream->object.device);
    acu_object_free(spare);
    (void)acu_object_release(NULL, stream, &acu_stream_class);
}

/* The references that a spare, and storages in caches, have to the stream cannot be the last ones:
 * the caller has one, too. */
static void drop_spare(acu_stream *stream) {
    acu_object *spare = __atomic_exchange_n(&stream->spare, ACU_NO_MORE_SPARES, __ATOMIC_ACQ_REL);
    if (acu_is_spare(spare))
        free_spare(stream, spare);
}

/* No cache leaves the list while there is the stream. */
static void drop_ready(acu_stream_cache *caches) {
    for (acu_stream_cache *cache = caches; cache; cache = cache->next)
        cache->discard(cache->stop(cache));
}

/* Stops the spares of streams until one has a spare, which is stored; returns that stream, or NULL
 * after the last one. */
static acu_stream *next_with_spare(int device, acu_object **spare) {
    acu_stream *found = NULL;
    pthread_mutex_lock(&lock);
    for (acu_stream *s = all; s && !found; s = s->next) {
        acu_object *here = __atomic_load_n(&s->spare, __ATOMIC_RELAXED);
        if (s->object.device != device || here == ACU_NO_MORE_SPARES || here == ACU_NO_SPARES_NOW)
            continue;
        *spare = __atomic_exchange_n(&s->spare, ACU_NO_SPARES_NOW, __ATOMIC_ACQ_REL);
        found = acu_is_spare(*spare) ? s : NULL;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

void acu_stream_stop_spares(int device) {
    acu_object *spare = NULL;
    for (acu_stream *s; (s = next_with_spare(device, &spare));)
        free_spare(s, spare); /* whose reference kept the stream until now */
}

void acu_stream_resume_spares(int device) {
    pthread_mutex_lock(&lock);
    for (acu_stream *s = all; s; s = s->next)
        if (s->object.device == device) {
            acu_object *now = ACU_NO_SPARES_NOW;
            (void)__atomic_compare_exchange_n(&s->spare, &now, NULL, false, __ATOMIC_RELAXED,
                                              __ATOMIC_RELAXED);
            __atomic_store_n(&s->cache, NULL, __ATOMIC_RELAXED);
        }
    pthread_mutex_unlock(&lock);
}

/* Ends the capture that began on the stream, which the program cannot do without a reference. What
 * the graph keeps may own the stream, which would then live as long as the capture. */
static void abandon_capture(const acu_stream *stream) {
    acu_capture *capture = acu_capture_of(stream);
    if (!capture || capture->origin != stream)
        return;
    capture->abandon(capture);
    acu_destroy_deferred();
}

acu_result acu_stream_release(acu_stream *stream) {
    ACU_SCOPE();
    acu_destroy_deferred();
    if (acu_is(stream, &acu_stream_class)) {
        drop_spare(stream);
        drop_ready(__atomic_load_n(&stream->caches, __ATOMIC_ACQUIRE));
        if (__atomic_sub_fetch(&stream->users, 1, __ATOMIC_ACQ_REL) == 0 &&
            !ACU_LIKELY(!ACU_WATCHED(captures)))
            abandon_capture(stream);
    }
    return acu_object_release(__func__, stream, &acu_stream_class);
}

void acu_stream_cleanup(acu_stream **stream) {
    (void)acu_stream_release(acu_take(stream));
}

size_t acu_stream_describe(const acu_stream *stream, char *text, size_t size) {
    return acu_object_describe_as(stream, &acu_stream_class, text, size);
}

int acu_stream_refuse(const char *call, const acu_stream *stream) {
    if (!acu_is(stream, &acu_stream_class))
        return acu_object_refuse(call, stream, &acu_stream_class);
    return acu_fail_on(call, stream, ACU_ERROR_STATE,
                       "this is the default stream of another thread");
}

/* ---- attributes ---- */

acu_device acu_stream_device(const acu_stream *stream) {
    return acu_is(stream, &acu_stream_class) ? stream->object.device : ACU_DEVICE_CURRENT;
}

acu_result acu_stream_get_flags(acu_stream *stream, unsigned *flags) {
    ACU_SCOPE();
    ACU_NEED_POINTER(flags);
    ACU_NEED_STREAM(stream);
    ACU_TRY(OUTCOME(stream, acu_stream_check_uncaptured(stream)));
    return OUTCOME(stream, cudaStreamGetFlags(stream->raw, flags));
}

acu_result acu_stream_get_priority(acu_stream *stream, int *priority) {
    ACU_SCOPE();
    ACU_NEED_POINTER(priority);
    ON_STREAM(stream, cudaStreamGetPriority(stream->raw, priority));
}

acu_result acu_stream_get_id(acu_stream *stream, uint64_t *id) {
    ACU_SCOPE();
    unsigned long long number = 0;
    ACU_NEED_POINTER(id);
    *id = 0;
    ACU_NEED_STREAM(stream);
    ACU_TRY(OUTCOME(stream, acu_stream_check_uncaptured(stream)));
    ACU_TRY(OUTCOME(stream, cudaStreamGetId(stream->raw, &number)));
    *id = number;
    return 0;
}
