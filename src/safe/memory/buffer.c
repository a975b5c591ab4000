/* Buffers: how they are made and released, their views, and the order of their uses. buffer_copy.c
 * and its neighbours work with the bytes. */
#include "safe/memory/buffer.h"
#include "safe/memory/allocator_cache.h"
#include "safe/memory/region.h"

#include <stdlib.h>

#define OUTCOME(buffer, code) acu_outcome(__func__, (buffer), (int)(code))
#define NEED_BUFFER(buffer)   ACU_NEED((buffer), acu_buffer_class)

static const acu_buffer_options defaults;

/* ---- making and releasing ---- */

/* Returns whether others capture the stream, which only CUDA knows. */
ACU_COLD static bool is_captured_by_others(const acu_stream *stream) {
    acu_saved_record before;
    acu_record_save(&before);
    bool captured = acu_stream_check_uncaptured(stream) == ACU_ERROR_CAPTURE;
    acu_record_restore(&before);
    return captured;
}

static inline bool is_captured(const acu_stream *stream) {
    return acu_is_shared(&stream->shared) ? is_captured_by_others(stream)
                                          : acu_capture_of(stream) != NULL;
}

/* Refuses a buffer in a capture: there would be memory only during a launch of the graph, but a
 * buffer is used outside of launches, too. */
ACU_COLD static int refuse_in_capture(const char *call, const acu_stream *stream) {
    acu_fail_hint("make the buffer before the capture, and the graph keeps it; or make memory "
                  "of the graph's own by acu_stream_capture_alloc()");
    return acu_fail_on(call, stream, ACU_ERROR_CAPTURE,
                       "a buffer cannot be made while its stream is being captured, because the "
                       "memory would belong to the graph");
}

/* Returns the constant's name of a kind of memory, for messages; never NULL. */
static const char *memory_name(acu_memory memory) {
    static const char *const names[] = {
        [ACU_MEMORY_POOL] = "ACU_MEMORY_POOL",
        [ACU_MEMORY_DEVICE] = "ACU_MEMORY_DEVICE",
        [ACU_MEMORY_PINNED] = "ACU_MEMORY_PINNED",
        [ACU_MEMORY_MAPPED] = "ACU_MEMORY_MAPPED",
        [ACU_MEMORY_MANAGED] = "ACU_MEMORY_MANAGED",
        [ACU_MEMORY_REGISTERED] = "ACU_MEMORY_REGISTERED",
        [ACU_MEMORY_GRAPH] = "ACU_MEMORY_GRAPH",
        [ACU_MEMORY_VIRTUAL] = "ACU_MEMORY_VIRTUAL",
        [ACU_MEMORY_HOST] = "ACU_MEMORY_HOST",
    };
    return (unsigned)memory < sizeof names / sizeof names[0] ? names[memory] : "an unknown memory";
}

/* Refuses flags that do not exist, or that do not apply to this kind of memory. */
static int check_flags(const char *call, const acu_buffer_options *o) {
    static const unsigned fit[] = {
        [ACU_MEMORY_PINNED] = ACU_BUFFER_WRITE_COMBINED + ACU_BUFFER_PORTABLE,
        [ACU_MEMORY_MAPPED] = ACU_BUFFER_WRITE_COMBINED + ACU_BUFFER_PORTABLE,
        [ACU_MEMORY_MANAGED] = ACU_BUFFER_ATTACH_HOST,
        [ACU_MEMORY_REGISTERED] = ACU_BUFFER_PORTABLE + ACU_BUFFER_MAP + ACU_BUFFER_READ_ONLY,
        [ACU_MEMORY_VIRTUAL] = 0,
        [ACU_MEMORY_HOST] = 0,
    };
    const unsigned wrong = o->flags & ~(fit[o->memory] | (unsigned)ACU_BUFFER_UNORDERED);
    return wrong ? acu_fail(call, "", ACU_ERROR_ARGUMENT, "%s has no flags 0x%x",
                            memory_name(o->memory), wrong)
                 : 0;
}

/* Returns whether the allocator gives out memory during the capture that the stream is in. */
static bool can_be_captured(const acu_storage_request *r) {
    return r->allocator && r->allocator->captures && acu_capture_of(r->stream);
}

/* Makes the buffer of memory that was released before, or of new memory. */
static int make(const char *call, const acu_storage_request *r, acu_buffer **buffer) {
    const acu_allocator *from = r->allocator;
    const bool captured = is_captured(r->stream);
    if (captured && !can_be_captured(r))
        return refuse_in_capture(call, r->stream);
    acu_storage *s = from && from->way->reuse && !captured && r->options.flags == 0
                         ? from->way->reuse(r->allocator, r->stream, r->dtype, r->count)
                         : NULL;
    if (!s)
        return acu_storage_new(call, r, buffer);
    *buffer = &s->first;
    return 0;
}

int acu_buffer_new(const char *call, acu_stream *stream, acu_dtype dtype, size_t count,
                   const acu_buffer_options *o, acu_buffer **buffer) {
    if (!buffer)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'buffer' is NULL");
    *buffer = NULL;
    acu_destroy_deferred();
    ACU_TRY(acu_stream_check(call, stream));
    if ((unsigned)o->memory >= ACU_MEMORY_REGISTERED)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "options.memory is %s (%d), which cannot be allocated",
                        memory_name(o->memory), (int)o->memory);
    ACU_TRY(check_flags(call, o));
    if (o->pool && !acu_is(o->pool, &acu_pool_class))
        return acu_object_refuse(call, o->pool, &acu_pool_class);
    if (o->pool && o->memory != ACU_MEMORY_POOL)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "a pool is given, but %s does not come from pools", memory_name(o->memory));
    if (o->pool)
        ACU_TRY(acu_pool_check_access(call, o->pool, stream->object.device));
    acu_storage_request request = {
        .stream = stream, .dtype = dtype, .count = count, .options = *o, .owned = true};
    ACU_TRY(acu_allocator_choose(call, stream, &request.options, &request.allocator));
    const int code = make(call, &request, buffer);
    if (!request.allocator)
        return code;
    const int released = acu_object_release(call, request.allocator, request.allocator->object.was);
    return code ? code : released;
}

/* Where the device has a current allocator, and a buffer of so many bytes was released on the
 * stream before, its storage is used again, with its memory; `bytes` is 0 where something is
 * unusual. */
ACU_HOT __attribute__((noinline)) static int
create_from_allocator(const char *call, acu_stream *stream, acu_dtype dtype, size_t count,
                      size_t bytes, acu_buffer **buffer) {
    acu_cache *cache =
        bytes > 0 ? (acu_cache *)__atomic_load_n(&stream->cache, __ATOMIC_ACQUIRE) : NULL;
    acu_storage *s = ACU_LIKELY(cache) ? acu_cache_reuse(cache, dtype, count, bytes) : NULL;
    if (!ACU_LIKELY(s))
        return acu_buffer_new(call, stream, dtype, count, &defaults, buffer);
    *buffer = &s->first;
    return 0;
}

/* Where a buffer was released on the stream before, its storage is used again, without a jump.
 * Every other case is in acu_buffer_new(). */
ACU_HOT acu_result acu_buffer_create(acu_stream *stream, acu_dtype dtype, size_t count,
                                     acu_buffer **buffer) {
    ACU_SCOPE();
    bool usual = buffer && acu_nothing_special() && acu_is(stream, &acu_stream_class) &&
                 !is_captured(stream);
    size_t bytes = 0;
    acu_storage *s = ACU_LIKELY(usual) ? acu_storage_reuse(stream, dtype, count, &bytes) : NULL;
    if (!ACU_LIKELY(s != NULL))
        return create_from_allocator(__func__, stream, dtype, count, bytes, buffer);
    int code = (int)cudaMallocAsync((void **)&s->pointer, bytes, stream->raw);
    if (!ACU_LIKELY(code == 0)) {
        *buffer = NULL;
        return acu_storage_retry(__func__, s, code, buffer);
    }
    (void)acu_timeline_issue(stream->timeline);
    s->first.pointer = s->pointer;
    *buffer = &s->first;
    return 0;
}

acu_result acu_buffer_create_with(acu_stream *stream, acu_dtype dtype, size_t count,
                                  const acu_buffer_options *options, acu_buffer **buffer) {
    ACU_SCOPE();
    return acu_buffer_new(__func__, stream, dtype, count, options ? options : &defaults, buffer);
}

acu_result acu_buffer_create_from_typed(acu_stream *stream, acu_dtype dtype, const void *host,
                                        size_t count, acu_buffer **buffer) {
    ACU_SCOPE();
    acu_saved_record failure;
    ACU_NEED_POINTER(buffer);
    *buffer = NULL;
    ACU_REQUIRE(host || count == 0, ACU_ERROR_ARGUMENT, "'host' is NULL");
    ACU_TRY(acu_buffer_new(__func__, stream, dtype, count, &defaults, buffer));
    const int code = acu_buffer_write_typed(*buffer, 0, dtype, host, count, NULL);
    if (!code)
        return 0;
    (void)acu_cuda_failed(__func__, "", code);
    acu_record_save(&failure);
    if (acu_buffer_release(*buffer))
        acu_record_release_error();
    acu_record_restore(&failure);
    *buffer = NULL;
    return code;
}

int acu_buffer_new_on(const char *call, const acu_storage_request *r, acu_buffer **buffer) {
    if (!buffer)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'buffer' is NULL");
    *buffer = NULL;
    ACU_TRY(acu_stream_check(call, r->stream));
    if (!r->given && r->count > 0)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "the pointer is NULL");
    const size_t size = acu_dtype_size(r->dtype);
    if (size > 0 && (uintptr_t)r->given % acu_dtype_alignment(r->dtype) != 0)
        return acu_fail(call, "", ACU_ERROR_DTYPE, "%p is not aligned for %s", r->given,
                        acu_dtype_name(r->dtype));
    if (size > 0 && r->count > (UINTPTR_MAX - (uintptr_t)r->given) / size)
        return acu_fail(call, "", ACU_ERROR_OVERFLOW,
                        "%zu elements of %zu bytes at %p are more than can be addressed", r->count,
                        size, r->given);
    if ((unsigned)r->options.memory > ACU_MEMORY_HOST || r->options.memory == ACU_MEMORY_GRAPH)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "options.memory is %s (%d), which cannot be wrapped",
                        memory_name(r->options.memory), (int)r->options.memory);
    ACU_TRY(check_flags(call, &r->options));
    acu_destroy_deferred();
    return acu_storage_new(call, r, buffer);
}

acu_result acu_buffer_register(acu_stream *stream, acu_dtype dtype, void *host, size_t count,
                               unsigned flags, acu_buffer **buffer) {
    ACU_SCOPE();
    acu_storage_request request = {.stream = stream,
                                   .dtype = dtype,
                                   .count = count,
                                   .options = {.memory = ACU_MEMORY_REGISTERED, .flags = flags},
                                   .given = host,
                                   .owned = true};
    return acu_buffer_new_on(__func__, &request, buffer);
}

/* Makes a buffer on memory of CUDA's: acu_buffer_register() is for other memory of the host. */
static int on_address(const char *call, const acu_storage_request *r, acu_buffer **buffer) {
    if (buffer)
        *buffer = NULL;
    if (r->options.memory == ACU_MEMORY_VIRTUAL)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "acu_virtual_create_buffer() makes a buffer of virtual memory; as "
                        "ACU_MEMORY_DEVICE, memory that others mapped can be wrapped");
    if (r->options.memory == ACU_MEMORY_REGISTERED)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "acu_buffer_register() makes a buffer of registered memory");
    if (r->options.memory == ACU_MEMORY_HOST && r->owned)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "ACU_MEMORY_HOST cannot be adopted, because it is not CUDA's to free; "
                        "acu_buffer_wrap() leaves it the caller's");
    return acu_buffer_new_on(call, r, buffer);
}

acu_result acu_buffer_wrap(acu_stream *stream, acu_dtype dtype, void *pointer, size_t count,
                           acu_memory memory, acu_buffer **buffer) {
    ACU_SCOPE();
    acu_storage_request request = {.stream = stream,
                                   .dtype = dtype,
                                   .count = count,
                                   .options = {.memory = memory},
                                   .given = pointer,
                                   .owned = false};
    return on_address(__func__, &request, buffer);
}

acu_result acu_buffer_adopt(acu_stream *stream, acu_dtype dtype, void *pointer, size_t count,
                            acu_memory memory, acu_buffer **buffer) {
    ACU_SCOPE();
    acu_storage_request request = {.stream = stream,
                                   .dtype = dtype,
                                   .count = count,
                                   .options = {.memory = memory},
                                   .given = pointer,
                                   .owned = true};
    return on_address(__func__, &request, buffer);
}

acu_buffer *acu_buffer_retain(acu_buffer *buffer) {
    return acu_object_retain(__func__, buffer, &acu_buffer_class);
}

void acu_buffer_keep_memory(acu_buffer *buffer) {
    acu_object_add_owner(buffer);
    (void)acu_storage_retain(buffer->storage);
}

/* The buffer is still an owner of the memory, so that giving up the other one destroys nothing. */
int acu_buffer_give_up_memory(const char *call, acu_buffer *buffer) {
    (void)acu_object_release(NULL, buffer->storage, &acu_storage_class);
    return acu_object_release(call, buffer, &acu_buffer_class);
}

/* Where the memory is an allocator's, which can keep the storage with it, it does. */
ACU_HOT __attribute__((noinline)) static int release_to_allocator(const char *call,
                                                                  acu_buffer *buffer) {
    if (acu_cache_is_usual() && acu_is(buffer, &acu_buffer_class) &&
        acu_cache_can_keep(buffer->storage, buffer) && acu_cache_keep(buffer->storage))
        return 0;
    acu_destroy_deferred();
    return acu_object_release(call, buffer, &acu_buffer_class);
}

/* Where the stream can keep the storage as its spare, it does, without a jump. Every other case is
 * in acu_object_release(). */
ACU_HOT acu_result acu_buffer_release(acu_buffer *buffer) {
    ACU_SCOPE();
    if (!ACU_LIKELY(acu_nothing_special() && acu_is(buffer, &acu_buffer_class) &&
                    acu_storage_is_simple(buffer->storage, buffer) && acu_last_error() == 0))
        return release_to_allocator(__func__, buffer);
    acu_storage *s = buffer->storage;
    acu_stream *home = s->home;
    __atomic_store_n(&buffer->object.kind, NULL, __ATOMIC_RELAXED);
    int code = (int)cudaFreeAsync(s->pointer, home->raw);
    if (ACU_LIKELY(code == 0 && acu_stream_keep_spare(home, &s->object)))
        return 0;
    return acu_storage_finish_release(__func__, s, code);
}

void acu_buffer_cleanup(acu_buffer **buffer) {
    (void)acu_buffer_release(acu_take(buffer));
}

size_t acu_buffer_describe(const acu_buffer *buffer, char *text, size_t size) {
    return acu_object_describe_as(buffer, &acu_buffer_class, text, size);
}

/* ---- views ---- */

/* Views are made and released often, and glibc's aligned_alloc(), from which other objects come,
 * takes six times as long as malloc(). */
int acu_buffer_new_view(const char *call, const acu_buffer *of, acu_buffer **view) {
    acu_buffer *made = malloc(sizeof *made);
    if (!made)
        return acu_fail(call, "", ACU_ERROR_HOST_MEMORY, "the host has no memory for a buffer");
    *made = (acu_buffer){.pitched = false};
    acu_object_init(&made->object, &acu_buffer_class, of->object.device);
    made->storage = acu_storage_retain(of->storage);
    made->pointer = of->pointer;
    made->dtype = of->dtype;
    made->count = of->count;
    *view = made;
    return 0;
}

int acu_buffer_check_range(const char *call, const acu_buffer *buffer, size_t at, size_t count) {
    if (at <= buffer->count && count <= buffer->count - at)
        return 0;
    return acu_fail_on(call, buffer, ACU_ERROR_RANGE,
                       "%zu elements from element %zu on are outside of the buffer, which has %zu",
                       count, at, buffer->count);
}

acu_result acu_buffer_slice(acu_buffer *buffer, size_t at, size_t count, acu_buffer **slice) {
    ACU_SCOPE();
    ACU_NEED_POINTER(slice);
    *slice = NULL;
    NEED_BUFFER(buffer);
    ACU_TRY(acu_buffer_check_range(__func__, buffer, at, count));
    ACU_TRY(acu_buffer_new_view(__func__, buffer, slice));
    (*slice)->count = count;
    if ((*slice)->pointer)
        (*slice)->pointer += at * acu_dtype_size(buffer->dtype);
    return 0;
}

acu_result acu_buffer_reinterpret(acu_buffer *buffer, acu_dtype dtype, acu_buffer **view) {
    ACU_SCOPE();
    size_t size = acu_dtype_size(dtype);
    ACU_NEED_POINTER(view);
    *view = NULL;
    NEED_BUFFER(buffer);
    size_t bytes = acu_buffer_bytes(buffer);
    if (size == 0)
        return acu_refuse_dtype(__func__, dtype);
    ACU_REQUIRE_OF(buffer, (uintptr_t)buffer->pointer % acu_dtype_alignment(dtype) == 0,
                   ACU_ERROR_DTYPE, "the memory is not aligned for %s", acu_dtype_name(dtype));
    if (buffer->pitched)
        return ((const acu_pitched_buffer *)buffer)->reinterpret(__func__, buffer, dtype, view);
    ACU_REQUIRE_OF(buffer, bytes % size == 0, ACU_ERROR_DTYPE,
                   "%zu bytes are no whole number of %s", bytes, acu_dtype_name(dtype));
    ACU_TRY(acu_buffer_new_view(__func__, buffer, view));
    (*view)->dtype = dtype;
    (*view)->count = bytes / size;
    return 0;
}

/* ---- what a buffer is ---- */

void *acu_buffer_raw(const acu_buffer *buffer) {
    return acu_is(buffer, &acu_buffer_class) ? buffer->pointer : NULL;
}

acu_dtype acu_buffer_dtype(const acu_buffer *buffer) {
    return acu_is(buffer, &acu_buffer_class) ? buffer->dtype : ACU_ANY;
}

size_t acu_buffer_count(const acu_buffer *buffer) {
    return acu_is(buffer, &acu_buffer_class) ? buffer->count : 0;
}

size_t acu_buffer_bytes(const acu_buffer *buffer) {
    return acu_buffer_count(buffer) * acu_dtype_size(acu_buffer_dtype(buffer));
}

acu_memory acu_buffer_memory(const acu_buffer *buffer) {
    return acu_is(buffer, &acu_buffer_class) ? buffer->storage->memory : ACU_MEMORY_POOL;
}

acu_device acu_buffer_device(const acu_buffer *buffer) {
    return acu_is(buffer, &acu_buffer_class) ? buffer->object.device : ACU_DEVICE_CURRENT;
}

acu_stream *acu_buffer_stream(const acu_buffer *buffer) {
    return acu_is(buffer, &acu_buffer_class) ? buffer->storage->home : NULL;
}

acu_result acu_buffer_set_stream(acu_buffer *buffer, acu_stream *stream) {
    ACU_SCOPE();
    NEED_BUFFER(buffer);
    ACU_TRY(acu_stream_check(__func__, stream));
    acu_storage *s = buffer->storage;
    ACU_REQUIRE_OF(buffer, s->home, ACU_ERROR_MEMORY_KIND,
                   "the memory is a graph's, which belongs to no stream");
    ACU_REQUIRE_OF(buffer, stream->object.device == s->device, ACU_ERROR_DEVICE,
                   "the stream is on device %d", stream->object.device);
    return OUTCOME(buffer, acu_storage_move(s, stream));
}

/* ---- order ---- */

acu_result acu_buffer_synchronize(acu_buffer *buffer) {
    ACU_SCOPE();
    acu_destroy_deferred();
    NEED_BUFFER(buffer);
    return OUTCOME(buffer, acu_storage_synchronize(buffer->storage));
}

acu_result acu_buffer_get_host(acu_buffer *buffer, void **host) {
    ACU_SCOPE();
    ACU_NEED_POINTER(host);
    *host = NULL;
    NEED_BUFFER(buffer);
    acu_storage *s = buffer->storage;
    ACU_REQUIRE_OF(buffer, s->host || buffer->count == 0, ACU_ERROR_MEMORY_KIND,
                   "the host cannot reach this memory; acu_buffer_read() copies it");
    ACU_TRY(OUTCOME(buffer, acu_storage_synchronize(s)));
    *host = s->host ? s->host + (buffer->pointer - s->pointer) : NULL;
    return 0;
}

int acu_buffer_choose_stream(const char *call, const acu_buffer *buffer, acu_stream **on) {
    if (!*on)
        *on = buffer->storage->home;
    if (!*on)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "the buffer is memory of a graph, which belongs to no stream; name the "
                        "stream to use");
    return acu_stream_check(call, *on);
}

acu_result acu_buffer_forget_uses(acu_buffer *buffer, size_t *left) {
    ACU_SCOPE();
    NEED_BUFFER(buffer);
    const size_t still = acu_storage_forget_over(buffer->storage);
    if (left)
        *left = still;
    return 0;
}

acu_result acu_buffer_begin_use(acu_buffer *buffer, bool writes, acu_stream *on) {
    ACU_SCOPE();
    uint64_t unused;
    NEED_BUFFER(buffer);
    ACU_TRY(acu_buffer_choose_stream(__func__, buffer, &on));
    return OUTCOME(buffer, acu_storage_begin_use(buffer->storage, on, writes, &unused));
}

/* No version is known from acu_buffer_begin_use(), so no earlier use is forgotten. */
acu_result acu_buffer_end_use(acu_buffer *buffer, bool writes, acu_stream *on) {
    ACU_SCOPE();
    NEED_BUFFER(buffer);
    ACU_TRY(acu_buffer_choose_stream(__func__, buffer, &on));
    return OUTCOME(buffer, acu_storage_end_use(buffer->storage, on, writes, 0));
}
