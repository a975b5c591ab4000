/* Virtual memory: buffers on a part of a range. */
#include "safe/memory/buffer.h"
#include "safe/memory/virtual.h"

/* The part that a buffer lies on, which keeps the range and what is mapped there. */
typedef struct acu_part {
    acu_object object;
    acu_virtual *of; /* with a reference */
    size_t at, bytes;
} acu_part;

static int destroy_part(acu_object *object) {
    const acu_part *part = (const acu_part *)object;
    acu_virtual_unlock_part(part->of, part->at, part->bytes);
    return acu_object_release(NULL, part->of, &acu_virtual_class);
}

static const acu_class part_class = {"part of a range", destroy_part, NULL, acu_breaks_no_capture};

acu_virtual *acu_virtual_of_owner(const acu_object *owner) {
    if (acu_is(owner, &acu_virtual_class))
        return (acu_virtual *)owner;
    return acu_is(owner, &part_class) ? ((const acu_part *)owner)->of : NULL;
}

acu_access acu_virtual_access_of(const acu_storage *storage, int device) {
    acu_access access = ACU_ACCESS_NONE;
    acu_virtual *v = acu_virtual_of_owner(storage->owner);
    return v && acu_virtual_get_access(v, device, &access) == 0 ? access : ACU_ACCESS_NONE;
}

/* Makes a part, with the caller as owner; returns 0 or a failure recorded for `call`. */
static int new_part(const char *call, acu_virtual *v, size_t at, size_t bytes, acu_part **out) {
    acu_part *part = acu_object_new(call, &part_class, sizeof *part, ACU_DEVICE_CURRENT);
    if (!part)
        return ACU_ERROR_HOST_MEMORY;
    if (!acu_virtual_lock_part(v, at, bytes)) {
        acu_object_discard(&part->object);
        return acu_fail_on(call, v, ACU_ERROR_RANGE,
                           "not everything is mapped from byte %zu to byte %zu", at, at + bytes);
    }
    part->of = v;
    part->at = at;
    part->bytes = bytes;
    acu_object_add_owner(v);
    *out = part;
    return 0;
}

static int check_access(const char *call, acu_virtual *v, const acu_stream *stream) {
    acu_access access = ACU_ACCESS_NONE;
    ACU_TRY(acu_virtual_get_access(v, stream->object.device, &access));
    if (access == ACU_ACCESS_READ_WRITE)
        return 0;
    acu_fail_hint("acu_virtual_set_access() gives the device access");
    return acu_fail_on(
        call, v, ACU_ERROR_DEVICE,
        "the stream is on device %d, which may not read and write the range's memory",
        stream->object.device);
}

acu_result acu_virtual_create_buffer(acu_virtual *addresses, size_t at, acu_stream *stream,
                                     acu_dtype dtype, size_t count, acu_buffer **buffer) {
    ACU_SCOPE();
    acu_part *part = NULL;
    size_t bytes = 0;
    ACU_NEED_POINTER(buffer);
    *buffer = NULL;
    ACU_NEED(addresses, acu_virtual_class);
    acu_virtual *v = addresses;
    if (v->of_buffer)
        return acu_virtual_refuse_of_buffer(__func__, v);
    ACU_TRY(acu_stream_check(__func__, stream));
    if (acu_dtype_size(dtype) == 0)
        return acu_refuse_dtype(__func__, dtype);
    ACU_REQUIRE_OF(v,
                   !__builtin_mul_overflow(count, acu_dtype_size(dtype), &bytes) &&
                       at <= v->bytes && bytes <= v->bytes - at,
                   ACU_ERROR_RANGE, "%zu elements from byte %zu on are outside of the range", count,
                   at);
    ACU_TRY(check_access(__func__, v, stream));
    ACU_REQUIRE_OF(
        v, !acu_virtual_has_multicast(v, at, bytes), ACU_ERROR_MEMORY_KIND,
        "a multicast object is mapped there, which only multimem instructions of kernels "
        "access: give these the address");
    ACU_TRY(new_part(__func__, v, at, bytes, &part));
    const acu_storage_request request = {.stream = stream,
                                         .dtype = dtype,
                                         .count = count,
                                         .options = {.memory = ACU_MEMORY_VIRTUAL},
                                         .given = v->pointer + at,
                                         .access_of = acu_virtual_access_of,
                                         .owner = &part->object};
    int code = acu_buffer_new_on(__func__, &request, buffer);
    if (!code && acu_virtual_is_for_host(v, at, bytes))
        (*buffer)->storage->host = v->pointer + at;
    if (acu_object_release(__func__, part, &part_class)) /* the buffer is its owner now */
        acu_record_release_error();
    return code;
}
