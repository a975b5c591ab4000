/*
 * libanycuda-allocator.so: the caching allocator in the shapes that frameworks ask for.
 *
 * The functions take raw streams and addresses. Each device's memory comes from its current
 * allocator, which ANYCUDA_ALLOCATOR describes, or else from a caching one of the plugin. A pool is
 * what PyTorch gives to a captured graph: an allocator of its own, so that nothing else uses its
 * memory while the graph lives. docs/users/allocator.md shows how they are used.
 */
#include "plugin/plugin.h"

#include <anycuda/anycuda.h>
#include <anycuda/cudart.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEVICES = 64, ROWS = 1024 };

typedef struct known_stream {
    cudaStream_t raw;
    int device;
    const void *thread; /* of a thread's default stream: what no other thread has; else NULL */
    acu_stream *stream;
    struct known_stream *next;
} known_stream;

/* A pool of PyTorch's. `wanted` is the filter that says which streams use it. */
typedef struct known_pool {
    int device;
    uint64_t id[2];
    size_t users;
    bool open; /* between its begin and its end */
    acu_plugin_filter wanted;
    acu_allocator *allocator;
    struct known_pool *next;
} known_pool;

/* Memory that came from a pool, or of a device that is not asked for at its release. */
typedef struct known_memory {
    const void *pointer;
    acu_allocator *from; /* with a reference */
    struct known_memory *next;
} known_memory;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static acu_allocator *allocators[DEVICES];
static known_stream *streams[ROWS];
static known_memory *memories[ROWS];
static known_pool *pools;
static size_t open_pools;

static size_t row_of(const void *pointer) {
    return (size_t)(((uintptr_t)pointer >> 4u) * UINT64_C(0x9e3779b97f4a7c15) >> 40u) % ROWS;
}

/* What went wrong is printed, because no shape has a way to return it. */
static void complain(const char *call) {
    fprintf(stderr, "anycuda: %s: %s\n", call, acu_last_error_message());
}

/* ---- streams and allocators; under the lock ---- */

static known_stream *find_stream(cudaStream_t raw, int device, const void *thread) {
    known_stream *s = streams[row_of(raw)];
    while (s && !(s->raw == raw && s->device == device && s->thread == thread))
        s = s->next;
    return s;
}

static acu_result new_stream(cudaStream_t raw, int device, acu_stream **stream) {
    return raw == cudaStreamPerThread ? acu_stream_get_per_thread(device, stream)
                                      : acu_stream_wrap(device, raw, stream);
}

/* Returns the handle of a raw stream, which stays; NULL after a failure. */
static acu_stream *stream_of(cudaStream_t raw, int device) {
    static _Thread_local char own;
    const void *thread = raw == cudaStreamPerThread ? &own : NULL;
    known_stream *s = find_stream(raw, device, thread);
    if (s)
        return s->stream;
    s = calloc(1, sizeof *s);
    if (!s || new_stream(raw, device, &s->stream)) {
        free(s);
        return NULL;
    }
    s->raw = raw;
    s->device = device;
    s->thread = thread;
    s->next = streams[row_of(raw)];
    streams[row_of(raw)] = s;
    return s->stream;
}

static acu_allocator *allocator_of(int device) {
    if (device < 0 || device >= DEVICES)
        return NULL;
    if (!allocators[device] &&
        (acu_allocator_get_current(device, &allocators[device]) ||
         (!allocators[device] && acu_allocator_create(device, NULL, &allocators[device]))))
        return NULL;
    return allocators[device];
}

/* ---- pools; under the lock ---- */

static known_pool *find_pool(int device, uint64_t first, uint64_t second) {
    known_pool *pool = pools;
    while (pool && !(pool->device == device && pool->id[0] == first && pool->id[1] == second))
        pool = pool->next;
    return pool;
}

/* Returns the open pool that wants the stream; NULL: none. */
static known_pool *pool_for(int device, cudaStream_t raw) {
    known_pool *pool = open_pools > 0 ? pools : NULL;
    while (pool &&
           !(pool->open && pool->device == device && acu_plugin_filter_asks(&pool->wanted, raw)))
        pool = pool->next;
    return pool;
}

static bool remember(void *pointer, acu_allocator *from) {
    known_memory *m = calloc(1, sizeof *m);
    if (!m)
        return false;
    *m = (known_memory){pointer, acu_allocator_retain(from), memories[row_of(pointer)]};
    memories[row_of(pointer)] = m;
    return true;
}

/* Returns where the memory came from, as an owner; forgets it if `last`. */
static acu_allocator *origin_of(const void *pointer, int device, bool last) {
    known_memory **link = &memories[row_of(pointer)];
    while (*link && (*link)->pointer != pointer)
        link = &(*link)->next;
    known_memory *m = *link;
    if (!m) {
        acu_allocator *from = allocator_of(device);
        return from ? acu_allocator_retain(from) : NULL;
    }
    acu_allocator *from = m->from;
    if (!last)
        return acu_allocator_retain(from);
    *link = m->next;
    free(m);
    return from;
}

/* ---- PyTorch's shape ---- */

/* Chooses the allocator, as an owner, and the stream's handle. */
static acu_allocator *choose(int device, cudaStream_t raw, acu_stream **stream, bool *pooled) {
    pthread_mutex_lock(&lock);
    const known_pool *pool = pool_for(device, raw);
    acu_allocator *from = pool ? pool->allocator : allocator_of(device);
    *stream = from ? stream_of(raw, device) : NULL;
    if (*stream)
        (void)acu_allocator_retain(from);
    *pooled = pool != NULL;
    pthread_mutex_unlock(&lock);
    return *stream ? from : NULL;
}

static void *allocate(acu_allocator *from, acu_stream *stream, size_t bytes, bool pooled) {
    void *pointer = NULL;
    if (acu_allocator_allocate(from, stream, bytes, &pointer) || !pooled || !pointer)
        return pointer;
    pthread_mutex_lock(&lock);
    const bool known = remember(pointer, from);
    pthread_mutex_unlock(&lock);
    if (known)
        return pointer;
    (void)acu_allocator_free(from, pointer);
    return NULL;
}

/* While a stream is captured, PyTorch's capture must not see the calls that an allocator makes. */
static enum cudaStreamCaptureMode relax(void) {
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    if (cudaThreadExchangeStreamCaptureMode(&mode))
        return cudaStreamCaptureModeRelaxed;
    return mode;
}

static void restore(enum cudaStreamCaptureMode mode) {
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
}

void *acu_plugin_allocate(ssize_t size, int device, cudaStream_t stream) {
    acu_stream *on = NULL;
    bool pooled = false;
    void *pointer = NULL;
    if (size <= 0)
        return NULL;
    const enum cudaStreamCaptureMode mode = relax();
    acu_allocator *from = choose(device, stream, &on, &pooled);
    if (from)
        pointer = allocate(from, on, (size_t)size, pooled);
    if (!pointer)
        complain("acu_plugin_allocate");
    (void)acu_allocator_release(from);
    restore(mode);
    return pointer;
}

void acu_plugin_free(void *pointer, ssize_t size, int device, cudaStream_t stream) {
    (void)size;
    (void)stream;
    if (!pointer)
        return;
    const enum cudaStreamCaptureMode mode = relax();
    pthread_mutex_lock(&lock);
    acu_allocator *from = origin_of(pointer, device, true);
    pthread_mutex_unlock(&lock);
    if (!from || acu_allocator_free(from, pointer))
        complain("acu_plugin_free");
    (void)acu_allocator_release(from);
    restore(mode);
}

void acu_plugin_init(int devices) {
    (void)devices;
    if (acu_load(NULL))
        complain("acu_plugin_init");
}

void acu_plugin_reset(void) {
    for (int device = 0; device < DEVICES; device++) {
        pthread_mutex_lock(&lock);
        acu_allocator *allocator =
            allocators[device] ? acu_allocator_retain(allocators[device]) : NULL;
        pthread_mutex_unlock(&lock);
        if (allocator && acu_allocator_trim(allocator, 0))
            complain("acu_plugin_reset");
        (void)acu_allocator_release(allocator);
    }
}

void acu_plugin_memory_fraction(double fraction, int device) {
    pthread_mutex_lock(&lock);
    acu_allocator *allocator = allocator_of(device);
    pthread_mutex_unlock(&lock);
    if (!allocator || acu_allocator_set_fraction(allocator, fraction))
        complain("acu_plugin_memory_fraction");
}

void acu_plugin_record_stream(void *pointer, cudaStream_t stream) {
    int device = 0;
    acu_stream *on = NULL;
    acu_allocator *from = NULL;
    if (cudaGetDevice(&device) == cudaSuccess) {
        pthread_mutex_lock(&lock);
        from = origin_of(pointer, device, false);
        on = stream_of(stream, device);
        pthread_mutex_unlock(&lock);
    }
    if (!from || !on || acu_allocator_attach(from, pointer, on))
        complain("acu_plugin_record_stream");
    (void)acu_allocator_release(from);
}

/* ---- PyTorch's pools ---- */

static known_pool *new_pool(int device, uint64_t first, uint64_t second) {
    known_pool *pool = calloc(1, sizeof *pool);
    if (!pool || acu_allocator_create(device, NULL, &pool->allocator)) {
        free(pool);
        return NULL;
    }
    pool->device = device;
    pool->id[0] = first;
    pool->id[1] = second;
    pool->next = pools;
    pools = pool;
    return pool;
}

void acu_plugin_begin_pool(int device, uint64_t first, uint64_t second, void *filter) {
    const enum cudaStreamCaptureMode mode = relax();
    pthread_mutex_lock(&lock);
    known_pool *pool = find_pool(device, first, second);
    if (!pool)
        pool = new_pool(device, first, second);
    if (pool && !pool->open) {
        acu_plugin_filter_copy(&pool->wanted, filter);
        pool->open = true;
        open_pools++;
    }
    if (pool)
        pool->users++;
    pthread_mutex_unlock(&lock);
    if (!pool)
        complain("acu_plugin_begin_pool");
    restore(mode);
}

void acu_plugin_end_pool(int device, uint64_t first, uint64_t second) {
    pthread_mutex_lock(&lock);
    known_pool *pool = find_pool(device, first, second);
    if (pool && pool->open) {
        acu_plugin_filter_destroy(&pool->wanted);
        pool->open = false;
        open_pools--;
    }
    pthread_mutex_unlock(&lock);
}

void acu_plugin_release_pool(int device, uint64_t first, uint64_t second) {
    acu_allocator *allocator = NULL;
    const enum cudaStreamCaptureMode mode = relax();
    pthread_mutex_lock(&lock);
    known_pool **link = &pools, *pool = NULL;
    while (*link &&
           !((*link)->device == device && (*link)->id[0] == first && (*link)->id[1] == second))
        link = &(*link)->next;
    pool = *link;
    if (pool && --pool->users == 0 && !pool->open) {
        *link = pool->next;
        allocator = pool->allocator;
        free(pool);
    }
    pthread_mutex_unlock(&lock);
    if (acu_allocator_release(allocator)) /* what is in use is freed later, and is an owner */
        complain("acu_plugin_release_pool");
    restore(mode);
}

/* ---- RMM's and CuPy's shapes ---- */

static int current_device(void) {
    int device = 0;
    return cudaGetDevice(&device) ? -1 : device;
}

void *acu_plugin_rmm_allocate(size_t bytes, cudaStream_t stream, void *unused) {
    (void)unused;
    return bytes > PTRDIFF_MAX ? NULL
                               : acu_plugin_allocate((ssize_t)bytes, current_device(), stream);
}

void acu_plugin_rmm_deallocate(void *pointer, size_t bytes, cudaStream_t stream, void *unused) {
    (void)unused;
    acu_plugin_free(pointer, (ssize_t)bytes, current_device(), stream);
}

void *acu_plugin_cupy_malloc(void *stream, size_t bytes, int device) {
    return bytes > PTRDIFF_MAX ? NULL
                               : acu_plugin_allocate((ssize_t)bytes, device, (cudaStream_t)stream);
}

void acu_plugin_cupy_free(void *stream, void *pointer, int device) {
    acu_plugin_free(pointer, 0, device, (cudaStream_t)stream);
}

/* ---- figures ---- */

int acu_plugin_get_info(int device, acu_allocator_info *info) {
    pthread_mutex_lock(&lock);
    acu_allocator *allocator = allocator_of(device);
    pthread_mutex_unlock(&lock);
    return allocator ? acu_allocator_get_info(allocator, info) : acu_last_error();
}
