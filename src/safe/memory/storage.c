/* Storage: where memory comes from, and when it is freed. storage_use.c knows its uses. */
#include "safe/memory/storage.h"
#include "safe/base/active_capture.h"
#include "safe/memory/allocator.h"
#include "safe/memory/region.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- allocating ---- */

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

/* Allocates from the pool; the stream implies the device, unless it is a default stream: those mean
 * the current device. CUDA regards the call as unsafe during a capture of the thread, or a global
 * one of another thread; only programs that have captures pay for that. */
static int allocate_from_pool(acu_storage *s, void **at) {
    acu_guard guard;
    cudaStream_t raw = s->home->raw;
    int code = acu_stream_enter(s->home, &guard);
    const bool careful = ACU_WATCHED(global_captures) || ACU_WATCHED(captures);
    int mode = careful ? acu_thread_ignore_all_captures() : 0;
    if (!code)
        code = s->pool ? (int)cudaMallocFromPoolAsync(at, acu_storage_bytes(s), s->pool->raw, raw)
                       : (int)cudaMallocAsync(at, acu_storage_bytes(s), raw);
    if (careful)
        acu_thread_restore(mode);
    acu_guard_leave(&guard);
    return code;
}

/* Replaces the host's address by the one that the device uses. */
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
    case ACU_MEMORY_VIRTUAL:
        return s->fill ? s->fill(s, at) : cudaErrorInvalidValue;
    case ACU_MEMORY_GRAPH:
    case ACU_MEMORY_HOST:
        break;
    }
    return cudaErrorInvalidValue;
}

/* Waits until memory that was released is free; returns false where the thread may not wait. What
 * waited to be destroyed is destroyed after the first wait, and may free more. */
static bool finish_frees(const acu_storage *s) {
    const bool later = ACU_WATCHED(deferred) != NULL;
    if (acu_stream_check_wait(s->home) || cudaStreamSynchronize(s->home->raw))
        return false;
    acu_destroy_deferred();
    return !later || !cudaStreamSynchronize(s->home->raw);
}

/* Lets the pools give back what they keep; returns false where the thread may not wait for earlier
 * frees. Failures are ignored, because the allocation is tried again anyway. */
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

/* Writes "1.0 GiB" to `text`, and returns it. */
static const char *human(size_t bytes, char text[24]) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double size = (double)bytes;
    int unit = 0;
    for (; size >= 1024 && unit < 6; unit++)
        size /= 1024;
    snprintf(text, 24, unit ? "%.1f %s" : "%.0f %s", size, units[unit]);
    return text;
}

/* Returns 0 where CUDA does not answer; never more than the pool's limit. */
static size_t bytes_used_of(const acu_pool *pool) {
    uint64_t used = 0;
    int code;
    ACU_IGNORING_CAPTURES(code,
                          cudaMemPoolGetAttribute(pool->raw, cudaMemPoolAttrUsedMemCurrent, &used));
    if (code)
        return 0;
    return used < pool->max_size ? (size_t)used : pool->max_size;
}

/* Records how much memory was asked for and how much is free, if CUDA reports that. */
static int explain_no_room(const acu_storage *s, bool trimmed) {
    char want[24], left[24], all[24], room[ACU_OBJECT_TEXT];
    size_t free_bytes = 0, total = 0, wanted = acu_storage_bytes(s) - s->filled;
    acu_saved_record failure;
    acu_record_save(&failure);
    bool asked = cudaMemGetInfo(&free_bytes, &total) == cudaSuccess;
    size_t used = s->pool && s->pool->max_size > 0 ? bytes_used_of(s->pool) : 0;
    acu_record_restore(&failure);
    if (s->memory == ACU_MEMORY_PINNED || s->memory == ACU_MEMORY_MAPPED)
        return acu_record(cudaErrorMemoryAllocation,
                          "the host has no room for %zu bytes (%s) of pinned memory", wanted,
                          human(wanted, want));
    if (s->pool && s->pool->max_size > 0 && wanted > s->pool->max_size - used)
        return acu_record(cudaErrorMemoryAllocation,
                          "there is no room for %zu bytes (%s) in the pool, whose max_size is %zu "
                          "(%s); %zu are used",
                          wanted, human(wanted, want), s->pool->max_size,
                          human(s->pool->max_size, all), used);
    if (!asked)
        return acu_record(cudaErrorMemoryAllocation,
                          "there is no room for %zu bytes (%s) on device %d", wanted,
                          human(wanted, want), s->device);
    snprintf(room, sizeof room, "%zu bytes (%s) of %zu (%s) are free", free_bytes,
             human(free_bytes, left), total, human(total, all));
    return acu_record(cudaErrorMemoryAllocation,
                      "there is no room for %zu bytes (%s) on device %d: %s; the pools %s trimmed",
                      wanted, human(wanted, want), s->device, room,
                      trimmed ? "were" : "could not be");
}

/* Allocates memory that is not of a pool on the current device. */
__attribute__((noinline)) static int allocate_on_device(acu_storage *s, void **at) {
    acu_guard guard;
    if (s->memory != ACU_MEMORY_VIRTUAL && acu_capture_delays(NULL))
        return acu_record(ACU_ERROR_CAPTURE,
                          "allocating memory that is not of a pool would break the capture that is "
                          "under way");
    int code = acu_guard_enter(&guard, s->device);
    int mode = acu_thread_ignore_captures();
    if (!code)
        code = allocate_once(s, at);
    acu_thread_restore(mode);
    acu_guard_leave(&guard);
    return code;
}

/* Records the same with what CUDA said, which may be more. An injected error says nothing about
 * memory, and stays as it is. */
static int explain_refusal(const acu_storage *s, bool trimmed) {
    if (acu_record_last()->facts.injected)
        return cudaErrorMemoryAllocation;
    char said[ACU_MESSAGE_SIZE / 2], why[ACU_MESSAGE_SIZE / 2];
    snprintf(said, sizeof said, "%s", acu_last_error_message());
    const int code = explain_no_room(s, trimmed);
    snprintf(why, sizeof why, "%s", acu_last_error_message());
    return acu_record(code, "%s%s%s", why, *said ? "; " : "", said);
}

ACU_COLD static int allocate_again(acu_storage *s, void **at) {
    acu_guard guard;
    bool trimmed = false;
    int code = acu_guard_enter(&guard, s->device);
    int mode = acu_thread_ignore_captures();
    if (!code) {
        trimmed = make_room(s);
        code = allocate_once(s, at);
    }
    if (code == cudaErrorMemoryAllocation)
        code = explain_refusal(s, trimmed);
    acu_thread_restore(mode);
    acu_guard_leave(&guard);
    return code;
}

int acu_storage_grow(acu_storage *s) {
    void *at = s->pointer;
    int code = allocate_on_device(s, &at);
    return code == cudaErrorMemoryAllocation ? allocate_again(s, &at) : code;
}

/* Allocates from the storage's allocator. */
__attribute__((noinline)) static int allocate_from(acu_storage *s) {
    acu_given given = {0};
    const int code = acu_allocator_take(s->allocator, s->home, acu_storage_bytes(s), &given);
    if (code)
        return code;
    s->pointer = given.pointer;
    s->host = s->memory == ACU_MEMORY_PINNED ? given.pointer : NULL;
    s->piece = given.piece;
    const int kept = s->allocator->way->keep ? s->allocator->way->keep(s->allocator, s) : 0;
    if (kept && acu_allocator_give(s->allocator, s->home, &given))
        acu_record_release_error();
    return kept;
}

static int allocate(acu_storage *s, void *given) {
    void *at = given;
    if (!ACU_LIKELY(!s->allocator))
        return allocate_from(s);
    int code = ACU_LIKELY(s->memory == ACU_MEMORY_POOL) ? allocate_from_pool(s, &at)
                                                        : allocate_on_device(s, &at);
    s->pointer = at;
    return code;
}

/* ---- freeing ---- */

static int free_to_pool(acu_storage *s) {
    acu_guard guard;
    int code = acu_stream_enter(s->home, &guard);
    /* Another thread's default stream has no name here; the legacy default stream comes after it.
     */
    cudaStream_t raw = acu_stream_is_foreign(s->home) ? cudaStreamLegacy : s->home->raw;
    const bool careful = ACU_WATCHED(captures) != NULL;
    int mode = careful ? acu_thread_ignore_all_captures() : 0;
    if (!code)
        code = (int)cudaFreeAsync(s->pointer, raw);
    if (careful)
        acu_thread_restore(mode);
    acu_guard_leave(&guard);
    return code;
}

static int free_to_allocator(acu_storage *s) {
    const acu_given given = {s->pointer, acu_storage_bytes(s), s->piece};
    return acu_allocator_give(s->allocator, s->home, &given);
}

static int free_now(acu_storage *s) {
    if (s->allocator)
        return free_to_allocator(s);
    if (s->give_back)
        return s->give_back(s);
    switch (s->memory) {
    case ACU_MEMORY_PINNED:
    case ACU_MEMORY_MAPPED:
        return (int)cudaFreeHost(s->host);
    case ACU_MEMORY_REGISTERED:
        return (int)cudaHostUnregister(s->host);
    case ACU_MEMORY_VIRTUAL:
        return 0; /* the range, as its owner is destroyed */
    case ACU_MEMORY_POOL:
    case ACU_MEMORY_DEVICE:
    case ACU_MEMORY_MANAGED:
    case ACU_MEMORY_GRAPH: /* a launch of the graph allocated it */
    case ACU_MEMORY_HOST:  /* which is never owned */
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

/* Frees the memory after the thread has waited for all uses. `before` is an earlier failure, or 0.
 * Returns the failure to free the memory, if there is one, else the first failure; ACU_LATER, with
 * nothing freed, where the thread may not wait, or cannot, because then a stream may still use the
 * memory. */
static int free_after_uses(acu_storage *s, int before) {
    int waited = acu_forgive_unloading(acu_storage_synchronize(s));
    if (!acu_timeline_was_finished(waited))
        return ACU_LATER;
    int freed = s->owned && !acu_is_unloading() ? acu_forgive_unloading(free_now(s)) : 0;
    return freed ? freed : before ? before : waited;
}

/* Frees the memory although that failed in the stream's order; returns as free_after_uses(). */
ACU_COLD static int free_after_failure(acu_storage *s, int failed) {
    if (acu_forgive_unloading(failed) == 0)
        return 0;
    return home_is_captured(s) ? ACU_LATER : free_after_uses(s, failed);
}

/* Frees the memory in the home stream's order. Where that fails, it is freed after all uses, so
 * that it is not lost; where a capture forbids both, ACU_LATER is returned. */
static int free_in_order(acu_storage *s) {
    int code = 0, refused = s->not_freed;
    s->not_freed = 0; /* it may be, at a later attempt */
    if (acu_capture_of(s->home))
        return ACU_LATER;
    if (!acu_storage_is_only_on(s, s->home->timeline) && !is_unordered(s))
        code = acu_storage_gather_uses(s);
    if (!code && (s->allocator || s->give_back))
        return free_now(s);
    if (!code)
        code = refused ? refused : free_to_pool(s);
    return ACU_LIKELY(code == 0) ? 0 : free_after_failure(s, code);
}

static int free_memory(acu_storage *s) {
    bool mine = s->pointer && s->memory != ACU_MEMORY_GRAPH && !acu_is_unloading();
    if (!mine)
        return 0;
    const bool in_order = s->memory == ACU_MEMORY_POOL || s->allocator || s->give_back;
    return in_order && s->owned ? free_in_order(s) : free_after_uses(s, 0);
}

/* Gives up what only few storages have. The lock was never used while the version is 0. */
__attribute__((noinline)) static int release_rest(acu_storage *s) {
    int uses = acu_storage_forget_uses(s);
    int pool = acu_object_release(NULL, s->pool, &acu_pool_class);
    int owner = s->owner ? acu_object_release(NULL, s->owner, s->owner->was) : 0;
    int from = s->allocator ? acu_object_release(NULL, s->allocator, s->allocator->object.was) : 0;
    if (s->version > 0)
        pthread_mutex_destroy(&s->lock);
    return uses ? uses : pool ? pool : owner ? owner : from;
}

/* Makes the storage the home stream's spare, alive again; returns false where it cannot be that.
 * The caller is destroying the first buffer, and counts it as dead; here it is counted as alive. */
static bool keep_as_spare(acu_storage *s) {
    if (!s->plain || !acu_storage_is_only_on(s, s->home->timeline) || ACU_WATCHED(quarantine) > 0)
        return false;
    int device = s->device;
    s->object.references = 1;
    __atomic_store_n(&s->object.kind, &acu_storage_class, __ATOMIC_RELAXED);
    acu_object_count_up(device);
    bool kept = acu_stream_keep_spare(s->home, &s->object);
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

/* A pool takes memory back in the order of a stream. Nobody waits for that, so that a thread which
 * creates and releases buffers does not run out of memory during another thread's long capture. */
static bool is_freed_in_order(const acu_object *object) {
    const acu_storage *s = (const acu_storage *)object;
    return (s->memory == ACU_MEMORY_POOL || s->allocator) && s->owned && !s->home->is_default &&
           acu_storage_is_only_on(s, s->home->timeline) && !acu_capture_of(s->home);
}

const acu_class acu_storage_class = {"memory", destroy_storage, NULL, is_freed_in_order};

/* ---- making ---- */

static int destroy_buffer(acu_object *object) {
    return acu_object_release(NULL, ((acu_buffer *)object)->storage, &acu_storage_class);
}

static const char *const memory_names[] = {
    [ACU_MEMORY_POOL] = "pool",       [ACU_MEMORY_DEVICE] = "device",
    [ACU_MEMORY_PINNED] = "pinned",   [ACU_MEMORY_MAPPED] = "mapped",
    [ACU_MEMORY_MANAGED] = "managed", [ACU_MEMORY_REGISTERED] = "registered",
    [ACU_MEMORY_GRAPH] = "graph",     [ACU_MEMORY_VIRTUAL] = "virtual",
    [ACU_MEMORY_HOST] = "host"};

/* The storage is alive as long as the buffer is. */
static void describe_layout(const acu_pitched_layout *l, acu_description *d) {
    acu_describe(d, "%zu x %zu x %zu, row pitch %zu", l->extent.width, l->extent.height,
                 l->extent.depth, l->row_pitch);
}

static void describe_buffer(const acu_object *object, acu_description *d) {
    const acu_buffer *buffer = (const acu_buffer *)object;
    const acu_storage *s = buffer->storage;
    acu_describe(d, "%zu x %s", buffer->count, acu_dtype_name(buffer->dtype));
    acu_describe(d, "%s memory at %p", memory_names[s->memory], (const void *)buffer->pointer);
    if (buffer->pitched)
        describe_layout(acu_pitched_layout_of(buffer), d);
    if (!s->owned && !s->owner && s->memory != ACU_MEMORY_GRAPH)
        acu_describe(d, "wrapped");
    if (acu_has(s->flags, ACU_BUFFER_UNORDERED))
        acu_describe(d, "unordered");
}

/* A buffer owns nothing but its share of the storage, which is delayed by itself. */
const acu_class acu_buffer_class = {"buffer", destroy_buffer, describe_buffer,
                                    acu_breaks_no_capture};

acu_storage *acu_storage_retain(acu_storage *storage) {
    return acu_object_retain(__func__, storage, &acu_storage_class);
}

/* The fields are set one by one, because most are not read before there are uses on other streams.
 * Returns NULL and a recorded failure where the host has no memory. */
static acu_storage *new_storage(const char *call, const acu_storage_request *r, int device) {
    acu_storage *s = acu_object_alloc(sizeof *s);
    if (!s) {
        acu_fail(call, "", ACU_ERROR_HOST_MEMORY, "the host has no memory for a buffer");
        return NULL;
    }
    acu_object_init(&s->object, &acu_storage_class, -1);
    acu_object_init(&s->first.object, &acu_buffer_class, device);
    s->object.embedded = true; /* destroy_storage() frees it */
    s->first.object.embedded = true;
    s->first.storage = s;
    s->first.dtype = r->dtype;
    s->first.count = r->count;
    s->first.pitched = false;
    s->device = device;
    s->home = r->stream;
    s->memory = r->options.memory;
    s->flags = r->options.flags;
    s->owned = r->owned;
    s->sole = NULL;
    s->pointer = s->first.pointer = s->host = NULL;
    s->pool = r->options.pool;
    s->owner = r->owner;
    s->give_back = r->give_back;
    s->allocator = r->allocator;
    s->piece = NULL;
    s->cache = NULL;
    s->next_made = NULL;
    s->fill = r->fill;
    s->access_of = r->access_of;
    s->capacity = s->filled = 0;
    s->plain = false;
    s->not_freed = 0;
    s->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    s->version = s->use_count = 0;
    acu_object_add_owner(s->home);
    acu_object_add_owner(s->pool);
    acu_object_add_owner(s->owner);
    acu_object_add_owner(s->allocator);
    return s;
}

bool acu_storage_is_open_to(const acu_storage *s, int device, bool writes) {
    const acu_access access = s->access_of ? s->access_of(s, device) : ACU_ACCESS_NONE;
    return access == ACU_ACCESS_READ_WRITE || (access == ACU_ACCESS_READ && !writes);
}

/* Uses memory that is there already. Where the host can reach it, its address is the same there. */
static int use_given(acu_storage *s, void *given) {
    bool for_host = s->memory == ACU_MEMORY_PINNED || s->memory == ACU_MEMORY_MAPPED ||
                    s->memory == ACU_MEMORY_MANAGED || s->memory == ACU_MEMORY_REGISTERED ||
                    s->memory == ACU_MEMORY_HOST;
    s->pointer = given;
    s->host = for_host ? given : NULL;
    return 0;
}

static bool is_there(const acu_storage_request *r) {
    return r->given && r->options.memory != ACU_MEMORY_REGISTERED;
}

ACU_COLD static int refuse_size(const char *call, acu_dtype dtype, size_t count, size_t size) {
    if (size == 0)
        return acu_refuse_dtype(call, dtype);
    return acu_fail(call, "", ACU_ERROR_OVERFLOW,
                    "%zu elements of %zu bytes are more than can be addressed", count, size);
}

/* Computes the bytes of so many elements; returns 0 or a recorded failure. */
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

/* Records that the allocation failed, and destroys the storage; returns the code. */
ACU_COLD static int give_up(const char *call, acu_storage *s, int code) {
    char text[ACU_OBJECT_TEXT];
    snprintf(text, sizeof text, "%zu x %s on device %d", s->first.count,
             acu_dtype_name(s->first.dtype), s->device);
    s->pointer = NULL;
    acu_cuda_failed(call, text, code);
    (void)acu_object_release(call, &s->first, &acu_buffer_class);
    return code;
}

/* Hands the buffer to the caller. What is on the stream now comes before all uses: the allocation,
 * or what filled given memory. Where uses are not remembered, those on the home stream find it out
 * as fast as others do. */
static void hand_out(acu_storage *s, acu_buffer **buffer) {
    (void)acu_timeline_issue(s->home->timeline);
    s->sole = s->home->timeline;
    s->first.pointer = s->pointer;
    *buffer = &s->first;
}

int acu_storage_retry(const char *call, acu_storage *s, int code, acu_buffer **buffer) {
    if (code == cudaErrorMemoryAllocation && s->memory != ACU_MEMORY_REGISTERED && !s->allocator) {
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
    size_t bytes = 0, capacity = 0;
    int code = size_of(call, r->dtype, r->count, &bytes);
    if (!code && r->fill)
        code = size_of(call, r->dtype, r->capacity, &capacity);
    if (code)
        return code;
    acu_storage *s = new_storage(call, r, r->stream->object.device);
    if (!s)
        return ACU_ERROR_HOST_MEMORY;
    s->capacity = capacity;
    if (is_there(r))
        code = use_given(s, r->given); /* also without elements: the memory may be owned */
    else if (bytes > 0 || capacity > 0)
        code = allocate(s, r->given);
    if (code)
        return acu_storage_retry(call, s, code, buffer);
    hand_out(s, buffer);
    s->plain = o->memory == ACU_MEMORY_POOL && o->flags == 0 && !o->pool && bytes > 0 &&
               !r->given && !r->owner && !r->allocator && !r->stream->is_default;
    return 0;
}

int acu_storage_finish_release(const char *call, acu_storage *s, int code) {
    s->not_freed = code;
    if (!code)
        s->pointer = NULL;
    return acu_object_destroy(call, &s->first.object);
}
