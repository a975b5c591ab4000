/* Buffers that grow and shrink in place, on a range of addresses of their own. */
#include "safe/memory/buffer.h"
#include "safe/memory/virtual.h"

#define OUTCOME(buffer, code) acu_outcome(__func__, (buffer), (code))

/* ---- making ---- */

/* Reserves the addresses, if that is not done, and maps what is missing. */
static int fill_range(acu_storage *s, void **at) {
    const size_t bytes = acu_storage_bytes(s);
    acu_virtual *v = acu_virtual_of_owner(s->owner);
    int code = v ? 0 : acu_virtual_reserve_for_buffer(s->device, s->capacity, &v);
    if (code)
        return code;
    s->owner = &v->object;
    *at = v->pointer;
    code = acu_virtual_extend(v, bytes);
    if (!code && bytes > s->filled)
        s->filled = bytes;
    return code;
}

acu_result acu_buffer_create_growable(acu_stream *stream, acu_dtype dtype, size_t count,
                                      size_t capacity, acu_buffer **buffer) {
    ACU_NEED_POINTER(buffer);
    *buffer = NULL;
    acu_device device = ACU_DEVICE_CURRENT;
    ACU_TRY(acu_stream_check(__func__, stream));
    ACU_REQUIRE(count <= capacity && capacity > 0, ACU_ERROR_RANGE,
                "the capacity is %zu, but the buffer begins with %zu elements", capacity, count);
    device = stream->object.device;
    ACU_TRY(acu_physical_begin(__func__, &device));
    const acu_storage_request request = {.stream = stream,
                                         .dtype = dtype,
                                         .count = count,
                                         .options = {.memory = ACU_MEMORY_VIRTUAL},
                                         .fill = fill_range,
                                         .capacity = capacity};
    return acu_storage_new(__func__, &request, buffer);
}

/* ---- growing and shrinking ---- */

/* Returns the range that the buffer grows in; NULL where it cannot grow. */
static acu_virtual *range_of(const acu_buffer *buffer) {
    const acu_storage *s = buffer->storage;
    acu_virtual *v = buffer == &s->first ? acu_virtual_of_owner(s->owner) : NULL;
    return v && v->of_buffer ? v : NULL;
}

/* Returns the range, or NULL and the recorded failure that the buffer cannot grow. */
static acu_virtual *need_range(const char *call, const acu_buffer *buffer) {
    acu_virtual *v = range_of(buffer);
    if (v)
        return v;
    acu_fail_hint("acu_buffer_create_growable() makes one that can; a slice or view of it cannot");
    (void)acu_fail_on(call, buffer, ACU_ERROR_MEMORY_KIND, "the buffer cannot grow or shrink");
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

/* Waits for all uses, and gives back what lies behind so many elements. */
static int shrink(acu_buffer *buffer, acu_virtual *v, size_t count) {
    int code = acu_storage_synchronize(buffer->storage);
    if (code)
        return code;
    buffer->count = count;
    buffer->storage->filled = acu_storage_bytes(buffer->storage);
    return acu_virtual_cut(v, buffer->storage->filled);
}

acu_result acu_buffer_shrink(acu_buffer *buffer, size_t count) {
    acu_destroy_deferred();
    ACU_NEED(buffer, acu_buffer_class);
    acu_virtual *v = need_range(__func__, buffer);
    if (!v)
        return ACU_ERROR_MEMORY_KIND;
    ACU_REQUIRE_OF(
        buffer, count <= buffer->count, ACU_ERROR_RANGE,
        "%zu elements are more than the %zu that it has; acu_buffer_grow() makes it larger", count,
        buffer->count);
    const acu_object *storage = &buffer->storage->object;
    ACU_REQUIRE_OF(buffer, __atomic_load_n(&storage->references, __ATOMIC_ACQUIRE) == 1,
                   ACU_ERROR_STATE,
                   "a slice, a view or a graph keeps the memory, and may use what would be given "
                   "back");
    return OUTCOME(buffer, shrink(buffer, v, count));
}
