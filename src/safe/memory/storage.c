/* Memory: where it comes from, who uses it, and when it may go. */
#include "safe/memory/storage.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- uses --------------------------------------------------------------------------------------
 */

static acu_timeline *sole_of(const acu_storage *storage) {
    return __atomic_load_n(&storage->sole, __ATOMIC_SEQ_CST);
}

static bool is_homes(const acu_storage *storage, const acu_timeline *timeline) {
    return storage->home && storage->home->timeline == timeline;
}

static acu_timeline *hold(const acu_storage *storage, acu_timeline *timeline) {
    return is_homes(storage, timeline) ? timeline : acu_timeline_retain(timeline);
}

static int let_go(const acu_storage *storage, acu_timeline *timeline) {
    return is_homes(storage, timeline) ? 0 : acu_timeline_release(timeline);
}

static acu_use *find_use(acu_storage *storage, const acu_timeline *timeline) {
    for (unsigned i = 0; i < storage->use_count; i++)
        if (storage->uses[i].timeline == timeline)
            return &storage->uses[i];
    return NULL;
}

/* The only user becomes an entry like others. It may have written, last just now. */
static void open_table(acu_storage *storage) {
    acu_timeline *sole = sole_of(storage);
    if (!sole)
        return;
    __atomic_store_n(&storage->sole, NULL, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&sole->shared_count, 1,
                       __ATOMIC_SEQ_CST); /* before its number is asked for */
    storage->plain = false;
    uint64_t version = ++storage->version;
    storage->uses[0] = (acu_use){
        .timeline = sole, /* with its reference */
        .number = acu_timeline_now(sole),
        .added = version,
        .written = version,
        .seen = version,
    };
    storage->use_count = 1;
}

static void drop_use(acu_storage *storage, unsigned index) {
    if (let_go(storage, storage->uses[index].timeline))
        acu_record_release_error();
    storage->uses[index] = storage->uses[--storage->use_count];
}

static int wait_for_uses(acu_storage *storage, acu_stream *stream, bool writes) {
    const acu_use *mine = find_use(storage, stream->timeline);
    for (unsigned i = 0; i < storage->use_count; i++) {
        const acu_use *use = &storage->uses[i];
        bool seen = mine && use->written && mine->seen >= use->added;
        if (use == mine || seen || (!writes && !use->written))
            continue;
        int code = acu_timeline_wait(use->timeline, use->number, stream);
        if (code)
            return code;
    }
    return 0;
}

int acu_storage_begin_use_slow(acu_storage *storage, acu_stream *stream, bool writes,
                               uint64_t *version) {
    acu_capture *capture = acu_capture_of(stream);
    if (capture)
        return capture->use(capture, &storage->object, writes);
    if (acu_has(storage->flags, ACU_BUFFER_UNORDERED))
        return 0;
    pthread_mutex_lock(&storage->lock);
    open_table(storage);
    int code = wait_for_uses(storage, stream, writes);
    *version = storage->version;
    pthread_mutex_unlock(&storage->lock);
    return code;
}

/* The table is full: the stream waits for the oldest use of another one and stands for both, also
 * for what that one wrote. */
static int fold_use(acu_storage *storage, acu_stream *stream, bool *writes) {
    unsigned oldest = 0;
    for (unsigned i = 1; i < storage->use_count; i++)
        if (storage->uses[i].added < storage->uses[oldest].added)
            oldest = i;
    const acu_use *use = &storage->uses[oldest];
    int code = acu_timeline_wait(use->timeline, use->number, stream);
    if (code) /* rather wait here than forget it */
        code = acu_timeline_synchronize(use->timeline, use->number);
    *writes = *writes || use->written != 0;
    drop_use(storage, oldest);
    return code;
}

/* What the write came after need not be remembered; what slipped in since the beginning must be. */
static void forget_older(acu_storage *storage, const acu_timeline *writer, uint64_t version) {
    for (unsigned i = storage->use_count; i-- > 0;)
        if (storage->uses[i].timeline != writer && storage->uses[i].added <= version)
            drop_use(storage, i);
}

static int add_use(acu_storage *storage, acu_stream *stream, bool writes, uint64_t seen) {
    int code = 0;
    if (writes)
        forget_older(storage, stream->timeline, seen);
    acu_use *mine = find_use(storage, stream->timeline);
    if (!mine) {
        if (storage->use_count == ACU_USES)
            code = fold_use(storage, stream, &writes);
        mine = &storage->uses[storage->use_count++];
        *mine = (acu_use){.timeline = hold(storage, stream->timeline)};
    }
    mine->number = acu_timeline_issue(stream->timeline);
    mine->added = ++storage->version;
    mine->seen = seen;
    if (writes)
        mine->written = mine->added;
    return code;
}

int acu_storage_end_use_slow(acu_storage *storage, acu_stream *stream, bool writes,
                             uint64_t version) {
    if (acu_has(storage->flags, ACU_BUFFER_UNORDERED))
        return 0;
    pthread_mutex_lock(&storage->lock);
    open_table(storage);
    int code = add_use(storage, stream, writes, version);
    if (storage->use_count == 1 && storage->uses[0].timeline == stream->timeline) {
        storage->use_count = 0; /* its reference moves */
        __atomic_store_n(&storage->sole, stream->timeline, __ATOMIC_SEQ_CST);
    }
    pthread_mutex_unlock(&storage->lock);
    return code;
}

/* Not under the lock: what is waited for may wait for another thread that uses the memory, too. */
int acu_storage_synchronize(acu_storage *storage) {
    acu_use uses[ACU_USES];
    int code = 0;
    pthread_mutex_lock(&storage->lock);
    open_table(storage);
    const unsigned count = storage->use_count;
    for (unsigned i = 0; i < count; i++) {
        uses[i] = storage->uses[i];
        (void)acu_timeline_retain(uses[i].timeline);
    }
    pthread_mutex_unlock(&storage->lock);
    for (unsigned i = 0; i < count; i++) {
        if (!code)
            code = acu_timeline_synchronize(uses[i].timeline, uses[i].number);
        if (acu_timeline_release(uses[i].timeline))
            acu_record_release_error();
    }
    return code;
}

/* ---- allocating --------------------------------------------------------------------------------
 */

static unsigned host_flags(unsigned flags, acu_memory memory) {
    return (acu_has(flags, ACU_BUFFER_PORTABLE) ? cudaHostAllocPortable : 0u) |
           (acu_has(flags, ACU_BUFFER_WRITE_COMBINED) ? cudaHostAllocWriteCombined : 0u) |
           (memory == ACU_MEMORY_MAPPED ? cudaHostAllocMapped : 0u);
}

static unsigned register_flags(unsigned flags) {
    return (acu_has(flags, ACU_BUFFER_PORTABLE) ? cudaHostRegisterPortable : 0u) |
           (acu_has(flags, ACU_BUFFER_MAP) ? cudaHostRegisterMapped : 0u) |
           (acu_has(flags, ACU_BUFFER_READ_ONLY) ? cudaHostRegisterReadOnly : 0u);
}

/* The stream tells its device; only of a default stream it is the current one. */
static int allocate_from_pool(acu_storage *s, void **at) {
    acu_guard guard;
    cudaStream_t raw = s->home->raw;
    int code = acu_stream_enter(s->home, &guard);
    if (!code)
        code = s->pool ? (int)cudaMallocFromPoolAsync(at, acu_storage_bytes(s), s->pool->raw, raw)
                       : (int)cudaMallocAsync(at, acu_storage_bytes(s), raw);
    acu_guard_leave(&guard);
    return code;
}

/* The address by which the device sees the host's memory. */
static int map_host(acu_storage *s, void **at) {
    s->host = *at;
    return (int)cudaHostGetDevicePointer(at, s->host, 0);
}

static int allocate_mapped(acu_storage *s, void **at) {
    int code = (int)cudaHostAlloc(at, acu_storage_bytes(s), host_flags(s->flags, s->memory));
    if (code)
        return code;
    code = map_host(s, at);
    if (code)
        (void)cudaFreeHost(s->host);
    return code;
}

static int register_host(acu_storage *s, void **at) {
    int code = (int)cudaHostRegister(*at, acu_storage_bytes(s), register_flags(s->flags));
    s->host = *at;
    if (code || !acu_has(s->flags, ACU_BUFFER_MAP))
        return code;
    code = map_host(s, at);
    if (code)
        (void)cudaHostUnregister(s->host);
    return code;
}

static int allocate_once(acu_storage *s, void **at) {
    unsigned attach =
        acu_has(s->flags, ACU_BUFFER_ATTACH_HOST) ? cudaMemAttachHost : cudaMemAttachGlobal;
    int code = 0;
    switch (s->memory) {
    case ACU_MEMORY_POOL:
        return allocate_from_pool(s, at);
    case ACU_MEMORY_DEVICE:
        return (int)cudaMalloc(at, acu_storage_bytes(s));
    case ACU_MEMORY_PINNED:
        code = (int)cudaHostAlloc(at, acu_storage_bytes(s), host_flags(s->flags, s->memory));
        s->host = *at;
        return code;
    case ACU_MEMORY_MAPPED:
        return allocate_mapped(s, at);
    case ACU_MEMORY_MANAGED:
        code = (int)cudaMallocManaged(at, acu_storage_bytes(s), attach);
        s->host = *at;
        return code;
    case ACU_MEMORY_REGISTERED:
        return register_host(s, at);
    case ACU_MEMORY_GRAPH:
        break;
    }
    return cudaErrorInvalidValue;
}

/* Frees before it may still be under way, and what an exec keeps, waits for its last launch. */
static bool finish_frees(const acu_storage *s) {
    const bool later = ACU_WATCHED(deferred) != NULL;
    if (acu_stream_check_wait(s->home) || cudaStreamSynchronize(s->home->raw))
        return false;
    acu_destroy_deferred();
    return !later || !cudaStreamSynchronize(s->home->raw);
}

/* Gives back what pools keep; false where it may not wait. Failures do not matter: the allocation
 * is tried again anyway. */
static bool make_room(const acu_storage *s) {
    cudaMemPool_t pools[2] = {NULL, NULL};
    if (!finish_frees(s))
        return false;
    (void)cudaDeviceGetMemPool(&pools[0], s->device);
    (void)cudaDeviceGetDefaultMemPool(&pools[1], s->device);
    if (s->pool)
        (void)cudaMemPoolTrimTo(s->pool->raw, 0);
    for (int i = 0; i < 2; i++)
        if (pools[i])
            (void)cudaMemPoolTrimTo(pools[i], 0);
    (void)cudaGetLastError();
    return true;
}

static const char *human(size_t bytes, char text[24]) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double size = (double)bytes;
    int unit = 0;
    for (; size >= 1024 && unit < 6; unit++)
        size /= 1024;
    snprintf(text, 24, unit ? "%.1f %s" : "%.0f %s", size, units[unit]);
    return text;
}

/* Says what there is, as far as that can be asked. The record of the failure stands. */
static int explain_no_room(const acu_storage *s, bool trimmed) {
    char want[24], left[24], all[24], said[ACU_OBJECT_TEXT];
    size_t free_bytes = 0, total = 0;
    acu_saved_record failure;
    acu_record_save(&failure);
    bool asked = cudaMemGetInfo(&free_bytes, &total) == cudaSuccess;
    acu_record_restore(&failure);
    if (!asked)
        return acu_record(cudaErrorMemoryAllocation, "no room for %zu bytes (%s) on device %d",
                          acu_storage_bytes(s), human(acu_storage_bytes(s), want), s->device);
    snprintf(said, sizeof said, "%zu bytes (%s) of %zu (%s) are free", free_bytes,
             human(free_bytes, left), total, human(total, all));
    return acu_record(cudaErrorMemoryAllocation,
                      "no room for %zu bytes (%s) on device %d: %s; pools %s trimmed",
                      acu_storage_bytes(s), human(acu_storage_bytes(s), want), s->device, said,
                      trimmed ? "were" : "could not be");
}

/* Memory that is no pool's is allocated on the current device. */
__attribute__((noinline)) static int allocate_on_device(acu_storage *s, void **at) {
    acu_guard guard;
    if (acu_capture_delays(NULL))
        return acu_record(ACU_ERROR_CAPTURE,
                          "allocating such memory would break the capture that is under way");
    int code = acu_guard_enter(&guard, s->device);
    if (!code)
        code = allocate_once(s, at);
    acu_guard_leave(&guard);
    return code;
}

ACU_COLD static int allocate_again(acu_storage *s, void **at) {
    acu_guard guard;
    bool trimmed = false;
    int code = acu_guard_enter(&guard, s->device);
    if (!code) {
        trimmed = make_room(s);
        code = allocate_once(s, at);
    }
    if (code == cudaErrorMemoryAllocation)
        code = explain_no_room(s, trimmed);
    acu_guard_leave(&guard);
    return code;
}

static int allocate(acu_storage *s, void *given) {
    void *at = given;
    int code = ACU_LIKELY(s->memory == ACU_MEMORY_POOL) ? allocate_from_pool(s, &at)
                                                        : allocate_on_device(s, &at);
    s->pointer = at;
    return code;
}

/* ---- freeing -----------------------------------------------------------------------------------
 */

/* The home stream waits for uses elsewhere; where it cannot, the thread does. */
__attribute__((noinline)) static int gather_uses(acu_storage *s) {
    int code = 0;
    pthread_mutex_lock(&s->lock);
    open_table(s);
    for (unsigned i = 0; i < s->use_count && !code; i++) {
        const acu_use *use = &s->uses[i];
        code = acu_timeline_wait(use->timeline, use->number, s->home);
        if (code)
            code = acu_timeline_synchronize(use->timeline, use->number);
    }
    pthread_mutex_unlock(&s->lock);
    return code;
}

static int free_to_pool(acu_storage *s) {
    acu_guard guard;
    int code = acu_stream_enter(s->home, &guard);
    /* Another thread's default stream is not known here; the legacy one comes after it. */
    cudaStream_t raw = acu_stream_is_foreign(s->home) ? cudaStreamLegacy : s->home->raw;
    if (!code)
        code = (int)cudaFreeAsync(s->pointer, raw);
    acu_guard_leave(&guard);
    return code;
}

static int free_now(acu_storage *s) {
    switch (s->memory) {
    case ACU_MEMORY_PINNED:
    case ACU_MEMORY_MAPPED:
        return (int)cudaFreeHost(s->host);
    case ACU_MEMORY_REGISTERED:
        return (int)cudaHostUnregister(s->host);
    case ACU_MEMORY_POOL:
    case ACU_MEMORY_DEVICE:
    case ACU_MEMORY_MANAGED:
    case ACU_MEMORY_GRAPH: /* a launch allocated it */
        break;
    }
    return (int)cudaFree(s->pointer);
}

static bool home_is_captured(const acu_storage *s) {
    return acu_capture_of(s->home) || acu_stream_check_uncaptured(s->home) == ACU_ERROR_CAPTURE;
}

static bool is_unordered(const acu_storage *s) {
    return acu_has(s->flags, ACU_BUFFER_UNORDERED);
}

/* `before`: what failed until now; the first failure is told, but for that to free it. */
static int free_after_all(acu_storage *s, int before) {
    int settled = acu_forgive_unloading(acu_storage_synchronize(s));
    if (settled == ACU_ERROR_CAPTURE)
        return ACU_LATER;
    int freed = s->owned && !acu_is_unloading() ? acu_forgive_unloading(free_now(s)) : 0;
    return freed ? freed : before ? before : settled;
}

ACU_COLD static int free_anyhow(acu_storage *s, int failed) {
    if (acu_forgive_unloading(failed) == 0)
        return 0;
    return home_is_captured(s) ? ACU_LATER : free_after_all(s, failed);
}

/*
 * Memory must not be lost: where it cannot be freed in order, it is freed after all uses; where a
 * capture forbids either, later.
 */
static int free_in_order(acu_storage *s) {
    int code = 0, was_asked = s->not_freed;
    s->not_freed = 0; /* later it may be */
    if (acu_capture_of(s->home))
        return ACU_LATER;
    if (!acu_storage_is_only_on(s, s->home->timeline) && !is_unordered(s))
        code = gather_uses(s);
    if (!code)
        code = was_asked ? was_asked : free_to_pool(s);
    return ACU_LIKELY(code == 0) ? 0 : free_anyhow(s, code);
}

static int free_memory(acu_storage *s) {
    bool mine = s->pointer && s->memory != ACU_MEMORY_GRAPH && !acu_is_unloading();
    if (!mine)
        return 0;
    return s->memory == ACU_MEMORY_POOL && s->owned ? free_in_order(s) : free_after_all(s, 0);
}

/* What only few have, besides their home. */
__attribute__((noinline)) static int release_rest(acu_storage *s) {
    int gone = let_go(s, sole_of(s));
    while (s->use_count > 0)
        drop_use(s, s->use_count - 1);
    int pool = acu_object_release(NULL, s->pool, &acu_pool_class);
    int owner = s->owner ? acu_object_release(NULL, s->owner, s->owner->was) : 0;
    if (s->version > 0) /* else nobody has come to need it */
        pthread_mutex_destroy(&s->lock);
    return gone ? gone : pool ? pool : owner;
}

/* As it was before; its buffer, which whoever destroys it counts as dead, is counted with it. */
static bool keep_as_spare(acu_storage *s) {
    if (!s->plain || !acu_storage_is_only_on(s, s->home->timeline) || ACU_WATCHED(quarantine) > 0)
        return false;
    int device = s->device;
    s->object.references = 1;
    __atomic_store_n(&s->object.kind, &acu_storage_class, __ATOMIC_RELAXED);
    acu_object_count_up(device);
    bool kept = acu_stream_keep_spare(s->home, s);
    if (!kept)
        acu_object_count_down(device);
    return kept;
}

static int destroy_storage(acu_object *object) {
    acu_storage *s = (acu_storage *)object;
    int code = free_memory(s);
    if (code == ACU_LATER)
        return code;
    if (code == 0 && keep_as_spare(s))
        return 0;
    int rest = s->plain ? 0 : release_rest(s);
    int home = acu_object_release(NULL, s->home, &acu_stream_class);
    acu_object_free(object);
    return code ? code : rest ? rest : home;
}

const acu_class acu_storage_class = {"memory", destroy_storage, NULL};

/* ---- buffers on it -----------------------------------------------------------------------------
 */

static int destroy_buffer(acu_object *object) {
    return acu_object_release(NULL, ((acu_buffer *)object)->storage, &acu_storage_class);
}

static void describe_buffer(const acu_object *object, char *text, size_t size) {
    const acu_buffer *buffer = (const acu_buffer *)object;
    snprintf(text, size, " (%zu x %s)", buffer->count, acu_dtype_name(buffer->dtype));
}

const acu_class acu_buffer_class = {"buffer", destroy_buffer, describe_buffer};

acu_storage *acu_storage_retain(acu_storage *storage) {
    return acu_object_retain(__func__, storage, &acu_storage_class);
}

/* Field by field, because most of it is not looked at before there are uses on other streams. */
static acu_storage *new_storage(const char *call, const acu_storage_request *r, int device) {
    acu_storage *s = acu_object_alloc(sizeof *s);
    if (!s) {
        acu_fail(call, "", ACU_ERROR_HOST_MEMORY, "no memory for a buffer");
        return NULL;
    }
    acu_object_init(&s->object, &acu_storage_class, -1);
    acu_object_init(&s->first.object, &acu_buffer_class, device);
    s->object.embedded = true; /* it buries itself */
    s->first.object.embedded = true;
    s->first.storage = s;
    s->first.dtype = r->dtype;
    s->first.count = r->count;
    s->device = device;
    s->home = r->stream;
    s->memory = r->options.memory;
    s->flags = r->options.flags;
    s->owned = r->owned;
    s->sole = NULL;
    s->pointer = s->first.pointer = s->host = NULL;
    s->pool = r->options.pool;
    s->owner = r->owner;
    s->plain = false;
    s->not_freed = 0;
    s->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    s->version = s->use_count = 0;
    acu_object_add_owner(s->home);
    acu_object_add_owner(s->pool);
    acu_object_add_owner(s->owner);
    return s;
}

/* What is given is there already; its owner knows the host's address by the same name. */
static int adopt(acu_storage *s, void *given) {
    bool for_host = s->memory == ACU_MEMORY_PINNED || s->memory == ACU_MEMORY_MAPPED ||
                    s->memory == ACU_MEMORY_MANAGED || s->memory == ACU_MEMORY_REGISTERED;
    s->pointer = given;
    s->host = for_host ? given : NULL;
    return 0;
}

static bool is_there(const acu_storage_request *r) {
    return r->given && r->options.memory != ACU_MEMORY_REGISTERED;
}

ACU_COLD static int refuse_size(const char *call, acu_dtype dtype, size_t count, size_t size) {
    if (size == 0)
        return acu_fail(call, "", ACU_ERROR_DTYPE, "0x%x is no type of elements", dtype);
    return acu_fail(call, "", ACU_ERROR_OVERFLOW, "%zu elements of %zu bytes", count, size);
}

static inline int size_of(const char *call, acu_dtype dtype, size_t count, size_t *bytes) {
    size_t size = acu_dtype_size(dtype);
    bool fits = !__builtin_mul_overflow(count, size, bytes) && *bytes <= PTRDIFF_MAX;
    return ACU_LIKELY(size > 0 && fits) ? 0 : refuse_size(call, dtype, count, size);
}

int acu_storage_new_for_graph(const char *call, int device, acu_dtype dtype, size_t count,
                              acu_buffer **buffer) {
    size_t bytes = 0;
    int code = size_of(call, dtype, count, &bytes);
    if (code)
        return code;
    const acu_storage_request request = {
        .dtype = dtype, .count = count, .options = {.memory = ACU_MEMORY_GRAPH}};
    acu_storage *s = new_storage(call, &request, device);
    if (!s)
        return ACU_ERROR_HOST_MEMORY;
    *buffer = &s->first;
    return 0;
}

ACU_COLD static int give_up(const char *call, acu_storage *s, int code) {
    char text[ACU_OBJECT_TEXT];
    snprintf(text, sizeof text, "%zu x %s on device %d", s->first.count,
             acu_dtype_name(s->first.dtype), s->device);
    s->pointer = NULL;
    acu_cuda_failed(call, text, code);
    (void)acu_object_release(call, &s->first, &acu_buffer_class);
    return code;
}

/* What was put on its stream comes first: the allocation, or what filled it. */
static void hand_out(acu_storage *s, acu_buffer **buffer) {
    if (!is_unordered(s)) {
        (void)acu_timeline_issue(s->home->timeline);
        s->sole = s->home->timeline;
    }
    s->first.pointer = s->pointer;
    *buffer = &s->first;
}

int acu_storage_retry(const char *call, acu_storage *s, int code, acu_buffer **buffer) {
    if (code == cudaErrorMemoryAllocation && s->memory != ACU_MEMORY_REGISTERED) {
        void *at = NULL;
        code = allocate_again(s, &at);
        s->pointer = at;
    }
    if (code)
        return give_up(call, s, code);
    hand_out(s, buffer);
    return 0;
}

int acu_storage_new(const char *call, const acu_storage_request *r, acu_buffer **buffer) {
    const acu_buffer_options *o = &r->options;
    size_t bytes = 0;
    int code = size_of(call, r->dtype, r->count, &bytes);
    if (code)
        return code;
    acu_storage *s = new_storage(call, r, r->stream->object.device);
    if (!s)
        return ACU_ERROR_HOST_MEMORY;
    if (is_there(r))
        code = adopt(s, r->given); /* also of no elements: it may be owned */
    else if (bytes > 0)
        code = allocate(s, r->given);
    if (code)
        return acu_storage_retry(call, s, code, buffer);
    hand_out(s, buffer);
    s->plain = o->memory == ACU_MEMORY_POOL && o->flags == 0 && !o->pool && bytes > 0 &&
               !r->given && !r->owner && !r->stream->is_default;
    return 0;
}

int acu_storage_finish_release(const char *call, acu_storage *s, int code) {
    s->not_freed = code;
    if (!code)
        s->pointer = NULL;
    return acu_object_destroy(call, &s->first.object);
}
