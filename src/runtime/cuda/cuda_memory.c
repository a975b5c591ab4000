/* Memory: buffers of bytes. The core brings the uses of different queues into order, by marks that
 * are nearer than the safe layer's, which lets a stream wait for all that another one was given. */
#include "runtime/cuda/cuda.h"

#include <anycuda/allocator.h>
#include <anycuda/memory.h>

/* Stores a new buffer as memory. */
static acu_result give(acu_result code, acu_buffer *buffer, acu_backend_memory **out) {
    *out = (acu_backend_memory *)(void *)buffer;
    return acu_cuda_outcome(code);
}

/* What cannot be addressed is more than any device has. */
acu_result acu_cuda_memory_allocate(acu_backend_queue *queue, uint64_t bytes,
                                    acu_backend_memory **out) {
    const acu_buffer_options options = {.memory = queue->device->memory,
                                        .flags = ACU_BUFFER_UNORDERED};
    acu_buffer *buffer = NULL;
    *out = NULL;
    if (bytes > PTRDIFF_MAX)
        return acu_backend_fail(ACU_OUT_OF_MEMORY, "there is no room for %llu bytes",
                                (unsigned long long)bytes);
    const acu_result code =
        acu_buffer_create_with(queue->stream, ACU_BYTES(1), bytes, &options, &buffer);
    return give(code, buffer, out);
}

/* Only memory of pools is freed in the stream's order; for other memory the thread waits. A failed
 * release is kept for acu_release_error(). */
void acu_cuda_memory_free(acu_backend_queue *queue, acu_backend_memory *memory, uint64_t bytes) {
    (void)bytes;
    if (queue->device->memory != ACU_MEMORY_POOL)
        (void)acu_cuda_outcome(acu_stream_synchronize(queue->stream));
    (void)acu_buffer_release(acu_cuda_buffer(memory));
}

/* ---- memory that exists ---- */

static acu_memory kind_of(acu_memory_kind kind) {
    return kind == ACU_MEMORY_KIND_MANAGED  ? ACU_MEMORY_MANAGED
           : kind == ACU_MEMORY_KIND_PINNED ? ACU_MEMORY_MAPPED
                                            : ACU_MEMORY_DEVICE;
}

/* Asks CUDA what the memory is, because a kernel that reaches for an address that is none destroys
 * the process's context. */
static acu_result check_memory(const acu_backend_device *device, const char *memory, uint64_t bytes,
                               acu_memory *kind) {
    acu_memory_info info;
    bool can = false;
    ACU_TRY(acu_cuda_outcome(acu_memory_get_info(memory, &info)));
    if (info.kind == ACU_MEMORY_KIND_UNKNOWN)
        return acu_backend_fail(ACU_ERROR_ARGUMENT,
                                "%p is no memory that CUDA knows, such as memory of the host that "
                                "is not registered",
                                (const void *)memory);
    if (info.bytes > 0 && bytes > info.bytes - (size_t)(memory - (const char *)info.base))
        return acu_backend_fail(
            ACU_ERROR_RANGE, "%llu bytes at %p are more than the allocation of %zu bytes at %p",
            (unsigned long long)bytes, (const void *)memory, info.bytes, info.base);
    ACU_TRY(acu_cuda_outcome(acu_memory_can_access(memory, device->index, &can)));
    if (!can)
        return acu_backend_fail(ACU_ERROR_DEVICE,
                                "the memory at %p is of device %d, which device %d cannot access",
                                (const void *)memory, info.device, device->index);
    *kind = kind_of(info.kind);
    return 0;
}

/* Finds the stream to which wrapped memory belongs; under the device's lock. No work is ever put on
 * it, so that the first use waits for nothing. */
static acu_result need_home(acu_backend_device *device) {
    const acu_stream_options options = {.flags = ACU_STREAM_NON_BLOCKING};
    const acu_result code =
        device->home ? 0 : acu_stream_create(device->index, &options, &device->home);
    if (!code)
        device->wrapped++;
    return acu_cuda_outcome(code);
}

static void leave_home(acu_backend_device *device) {
    acu_stream *home = NULL;
    pthread_mutex_lock(&device->lock);
    if (--device->wrapped == 0) {
        home = device->home;
        device->home = NULL;
    }
    pthread_mutex_unlock(&device->lock);
    (void)acu_stream_release(home);
}

acu_result acu_cuda_memory_wrap(acu_backend_device *device, void *memory, uint64_t bytes,
                                acu_backend_memory **out) {
    acu_buffer *buffer = NULL;
    acu_memory kind = ACU_MEMORY_DEVICE;
    *out = NULL;
    ACU_TRY(check_memory(device, memory, bytes, &kind));
    pthread_mutex_lock(&device->lock);
    acu_result code = need_home(device);
    pthread_mutex_unlock(&device->lock);
    if (code)
        return code;
    code = acu_buffer_wrap(device->home, ACU_BYTES(1), memory, bytes, kind, &buffer);
    code = give(code, buffer, out);
    if (code)
        leave_home(device);
    return code;
}

void acu_cuda_memory_unwrap(acu_backend_device *device, acu_backend_memory *memory) {
    (void)acu_buffer_release(acu_cuda_buffer(memory));
    leave_home(device);
}

/* ---- what is beneath ---- */

acu_result acu_cuda_memory_get_raw(acu_backend_device *device, acu_backend_memory *memory,
                                   acu_raw *raw) {
    (void)device;
    *raw = (acu_raw){ACU_RAW_POINTER, acu_buffer_raw(acu_cuda_buffer(memory)), NULL};
    return 0;
}

acu_result acu_cuda_memory_get_address(acu_backend_device *device, acu_backend_memory *memory,
                                       void **address) {
    (void)device;
    *address = acu_buffer_raw(acu_cuda_buffer(memory));
    return 0;
}

/* ---- giving back ---- */

static acu_result trim_allocator(acu_allocator *allocator) {
    const acu_result code = acu_allocator_trim(allocator, 0);
    (void)acu_allocator_release(allocator);
    return code;
}

static acu_result trim_pool(acu_device device) {
    ACU_AUTO(acu_pool) *pool = NULL;
    ACU_TRY(acu_pool_get_current(device, &pool));
    return acu_pool_trim(pool, 0);
}

static acu_result trim(const acu_backend_device *device) {
    acu_allocator *allocator = NULL;
    ACU_TRY(acu_device_synchronize(device->index));
    ACU_TRY(acu_allocator_get_current(device->index, &allocator));
    if (allocator)
        return trim_allocator(allocator);
    return device->memory == ACU_MEMORY_POOL ? trim_pool(device->index) : 0;
}

/* Memory that another queue gave back is free once its work is done, so this waits for the device.
 * After a failure there is less room, which the allocation that follows reports. */
void acu_cuda_device_trim(acu_backend_device *device) {
    if (trim(device))
        return;
}
