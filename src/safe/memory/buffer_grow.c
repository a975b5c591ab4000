/* Buffers that grow and shrink in place, on a range of addresses of their own. */
#include "safe/memory/buffer.h"
#include "safe/memory/virtual.h"

#define OUTCOME(buffer, code) acu_outcome(__func__, (buffer), (code))

/* ---- making ---- */

/* Maps what is missing. */
static int fill_range(acu_storage *s, void **at) {
    const size_t bytes = acu_storage_bytes(s);
    acu_virtual *v = (acu_virtual *)s->owner;
    *at = v->pointer;
    int code = acu_virtual_extend(v, bytes);
    if (!code && bytes > s->filled)
        s->filled = bytes;
    return code;
}

/* Reserves addresses for so many elements; returns 0 or a failure recorded for `call`. */
static int reserve(const char *call, acu_device device, acu_dtype dtype, size_t capacity,
                   const acu_growable_options *o, acu_virtual **range) {
    const size_t size = acu_dtype_size(dtype);
    size_t bytes = 0;
    if (size == 0)
        return acu_refuse_dtype(call, dtype);
    if (__builtin_mul_overflow(capacity, size, &bytes))
        return acu_fail(call, "", ACU_ERROR_OVERFLOW,
                        "a capacity of %zu elements of %zu bytes is more than can be addressed",
                        capacity, size);
    ACU_TRY(acu_physical_begin(call, &device));
    if (o->physical.tiles)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "options.physical.tiles is for arrays, and a buffer has an address");
    ACU_TRY(acu_physical_check_options(call, o->on_host ? ACU_DEVICE_HOST : device, &o->physical));
    const int code = acu_virtual_reserve_for_buffer(device, bytes, o, range);
    if (code == cudaErrorMemoryAllocation)
        acu_fail_hint("there are no addresses for a capacity of %zu bytes: choose a smaller one",
                      bytes);
    return acu_outcome(call, NULL, code);
}

static int create(const char *call, acu_stream *stream, acu_dtype dtype, size_t count,
                  size_t capacity, const acu_growable_options *o, acu_buffer **buffer) {
    acu_virtual *range = NULL;
    if (!buffer)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'buffer' is NULL");
    *buffer = NULL;
    ACU_TRY(acu_stream_check(call, stream));
    if (count > capacity || capacity == 0)
        return acu_fail(call, "", ACU_ERROR_RANGE,
                        "the capacity is %zu, but the buffer begins with %zu elements", capacity,
                        count);
    if (o->flags & ~(unsigned)ACU_BUFFER_UNORDERED)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "options.flags is 0x%x: a buffer that grows can be ACU_BUFFER_UNORDERED",
                        o->flags);
    ACU_TRY(reserve(call, stream->object.device, dtype, capacity, o, &range));
    const acu_storage_request request = {
        .stream = stream,
        .dtype = dtype,
        .count = count,
        .options = {.memory = ACU_MEMORY_VIRTUAL, .flags = o->flags},
        .owner = &range->object,
        .fill = fill_range,
        .capacity = capacity,
        .access_of = acu_virtual_access_of};
    const int code = acu_storage_new(call, &request, buffer);
    if (!code && o->on_host)
        (*buffer)->storage->host = range->pointer;
    acu_virtual_cleanup(&range); /* the storage is an owner now, if there is one */
    return code;
}

static const acu_growable_options ordinary;

acu_result acu_buffer_create_growable(acu_stream *stream, acu_dtype dtype, size_t count,
                                      size_t capacity, acu_buffer **buffer) {
    ACU_SCOPE();
    return create(__func__, stream, dtype, count, capacity, &ordinary, buffer);
}

acu_result acu_buffer_create_growable_with(acu_stream *stream, acu_dtype dtype, size_t count,
                                           size_t capacity, const acu_growable_options *options,
                                           acu_buffer **buffer) {
    ACU_SCOPE();
    return create(__func__, stream, dtype, count, capacity, options ? options : &ordinary, buffer);
}

/* ---- growing and shrinking ---- */

/* Returns the range that the buffer grows in; NULL where it cannot grow. */
static acu_virtual *range_of(const acu_buffer *buffer) {
    const acu_storage *s = buffer->storage;
    return buffer == &s->first && s->fill ? (acu_virtual *)s->owner : NULL;
}

/* Returns the range, or NULL and the recorded failure that the buffer cannot grow. */
static acu_virtual *need_range(const char *call, const acu_buffer *buffer) {
    acu_virtual *v = range_of(buffer);
    if (v)
        return v;
    if (buffer->storage->fill) {
        acu_fail_hint("grow or shrink the buffer itself");
        (void)acu_fail_on(call, buffer, ACU_ERROR_MEMORY_KIND,
                          "a slice or view cannot grow or shrink");
        return NULL;
    }
    acu_fail_hint("acu_buffer_create_growable() makes a buffer that can");
    (void)acu_fail_on(call, buffer, ACU_ERROR_MEMORY_KIND,
                      "the buffer cannot grow or shrink: it was not made for that");
    return NULL;
}

static size_t capacity_of(const acu_buffer *buffer) {
    return range_of(buffer) ? buffer->storage->capacity / acu_dtype_size(buffer->dtype)
                            : buffer->count;
}

size_t acu_buffer_capacity(const acu_buffer *buffer) {
    return acu_is(buffer, &acu_buffer_class) ? capacity_of(buffer) : 0;
}

acu_virtual *acu_buffer_virtual(const acu_buffer *buffer) {
    return acu_is(buffer, &acu_buffer_class) ? acu_virtual_of_owner(buffer->storage->owner) : NULL;
}

acu_result acu_buffer_grow(acu_buffer *buffer, size_t count) {
    ACU_SCOPE();
    acu_destroy_deferred();
    ACU_NEED(buffer, acu_buffer_class);
    const acu_virtual *v = need_range(__func__, buffer);
    const size_t before = buffer->count;
    if (!v)
        return ACU_ERROR_MEMORY_KIND;
    ACU_REQUIRE_OF(buffer, count >= before, ACU_ERROR_RANGE,
                   "%zu elements are fewer than the %zu that it has; acu_buffer_shrink() makes it "
                   "smaller",
                   count, before);
    ACU_REQUIRE_OF(buffer, count <= capacity_of(buffer), ACU_ERROR_RANGE,
                   "%zu elements are more than its capacity, which is %zu", count,
                   capacity_of(buffer));
    buffer->count = count;
    int code = acu_storage_grow(buffer->storage);
    if (code)
        buffer->count = before;
    return OUTCOME(buffer, code);
}

/* What has the memory's address and size owns the storage. What owns the buffer alone, as a list of
 * arguments, or an owner that the program has added, sees that it has shrunk. */
static bool is_kept_by_others(const acu_buffer *buffer) {
    return __atomic_load_n(&buffer->storage->object.references, __ATOMIC_ACQUIRE) != 1;
}

/* Gives back what lies behind so many elements. Where that fails, the buffer has all elements whose
 * memory is still there. */
static int cut(acu_buffer *buffer, acu_virtual *v, size_t count) {
    const size_t size = acu_dtype_size(buffer->dtype), before = buffer->count;
    size_t left = 0;
    const int code = acu_virtual_cut(v, count * size, &left);
    if (code)
        count = left / size < before ? left / size : before;
    buffer->count = count;
    buffer->storage->filled = count * size;
    return code;
}

acu_result acu_buffer_shrink(acu_buffer *buffer, size_t count) {
    ACU_SCOPE();
    acu_destroy_deferred();
    ACU_NEED(buffer, acu_buffer_class);
    acu_virtual *v = need_range(__func__, buffer);
    if (!v)
        return ACU_ERROR_MEMORY_KIND;
    ACU_REQUIRE_OF(buffer, count <= buffer->count, ACU_ERROR_RANGE,
                   "%zu elements are more than the %zu that it has; acu_buffer_grow() makes it "
                   "larger",
                   count, buffer->count);
    if (count == buffer->count)
        return 0;
    ACU_TRY(OUTCOME(buffer, acu_storage_synchronize(buffer->storage)));
    if (is_kept_by_others(buffer))
        acu_destroy_deferred(); /* what was released, and is done now */
    ACU_REQUIRE_OF(buffer, !is_kept_by_others(buffer), ACU_ERROR_STATE,
                   "a slice, a view, a tensor, a texture, a share or a graph keeps the memory, and "
                   "may use what would be given back");
    return OUTCOME(buffer, cut(buffer, v, count));
}
