/* DLPack: blocks as tensors for other frameworks, and their tensors as blocks. */
#include <anycuda/block_dlpack.h>

#include "runtime/block.h"
#include "types/dlpack.h"
#include "types/dtype.h"

#include <stdlib.h>

/* ---- exporting ---- */

static void end_export(void *owner) {
    (void)acu_handle_release("acu_block_release", owner, &acu_block_class);
}

/* Finds where a block of a place lies; returns 0 or a recorded failure. */
static acu_result find_memory(const char *call, acu_block *block, acu_dlpack_tensor *t) {
    acu_client *client = block->client;
    const acu_backend *table = client->table;
    acu_raw raw = {ACU_RAW_NONE, NULL, NULL};
    acu_result code = 0;
    ACU_TRY(acu_client_lock(call, client));
    if (t->device_type == ACU_DLPACK_WEBGPU)
        code = table->memory_get_raw(client->device->device, block->memory, &raw);
    else
        code = table->memory_get_address(client->device->device, block->memory, &raw.handle);
    acu_client_unlock(client);
    t->data = raw.handle;
    return code ? acu_client_failed(call, client, block, code) : 0;
}

static acu_result choose_device(const char *call, const acu_block *block, acu_dlpack_tensor *t) {
    static const acu_dlpack_device devices[] = {
        [ACU_RUNTIME_CPU] = ACU_DLPACK_CPU,
        [ACU_RUNTIME_CUDA] = ACU_DLPACK_CUDA,
        [ACU_RUNTIME_WEBGPU] = ACU_DLPACK_WEBGPU,
    };
    const acu_place place = block->client->device->place;
    if (place.runtime > ACU_RUNTIME_WEBGPU) {
        acu_fail_hint("copy the block to the CPU by acu_block_copy(), and export that");
        return acu_client_fail(call, block->client, block, ACU_ERROR_MEMORY_KIND,
                               "DLPack has no device for memory of %s",
                               acu_runtime_name(place.runtime));
    }
    t->device_type = (int32_t)devices[place.runtime];
    t->device_id = place.device;
    return 0;
}

/* Checks that the elements lie in the block; `whole` is the layout where there is none. */
static acu_result check_layout(const char *call, const acu_block *block, acu_dtype dtype,
                               const acu_tensor_layout *layout, acu_tensor_layout *whole) {
    const size_t size = acu_dtype_size(dtype);
    bool inside = false;
    *whole = (acu_tensor_layout){.rank = 1, .shape = {block->bytes / size}};
    if (!layout && block->bytes % size != 0)
        return acu_client_fail(call, block->client, block, ACU_ERROR_DTYPE,
                               "%llu bytes are no whole number of %s, and there is no layout",
                               (unsigned long long)block->bytes, acu_dtype_name(dtype));
    ACU_TRY(acu_tensor_check(call, layout ? layout : whole, block->bytes / size, &inside));
    return inside
               ? 0
               : acu_client_fail(call, block->client, block, ACU_ERROR_RANGE,
                                 "some elements of the layout lie outside of the block, which "
                                 "has room for %llu of %s",
                                 (unsigned long long)(block->bytes / size), acu_dtype_name(dtype));
}

/* Sets where the first element lies. */
static acu_result set_first(const char *call, const acu_block *block, acu_dtype dtype, size_t at,
                            acu_dlpack_tensor *t) {
    const uint64_t offset = (uint64_t)at * acu_dtype_size(dtype);
    if (t->device_type == ACU_DLPACK_WEBGPU) {
        t->byte_offset = offset;
        return 0;
    }
    if ((uintptr_t)t->data % acu_dtype_alignment(dtype) != 0)
        return acu_client_fail(call, block->client, block, ACU_ERROR_DTYPE,
                               "the memory is not aligned for %s", acu_dtype_name(dtype));
    t->data = block->bytes > 0 ? (char *)t->data + offset : NULL;
    return 0;
}

/* Checks an export, and waits for all uses of the block. Returns 0 or a recorded failure. */
static acu_result begin_export(const char *call, acu_block *block, acu_dtype dtype,
                               const acu_tensor_layout *layout, acu_tensor_layout *whole,
                               acu_dlpack_made *made) {
    ACU_TRY(acu_client_refuse_waiting(call, block->client));
    ACU_TRY(choose_device(call, block, &made->tensor));
    ACU_TRY(acu_dlpack_from_dtype(call, dtype, &made->tensor.dtype));
    ACU_TRY(check_layout(call, block, dtype, layout, whole));
    ACU_TRY(find_memory(call, block, &made->tensor));
    ACU_TRY(set_first(call, block, dtype, layout ? layout->at : 0, &made->tensor));
    acu_block_wait(block, false, NULL);
    made->owner = block;
    made->end = end_export;
    return 0;
}

/* Keeps the block for the tensor that was made; a failure where there was no memory for it. */
static acu_result end_exporting(const char *call, acu_block *block, const void *tensor) {
    if (!tensor)
        return acu_client_fail(call, block->client, block, ACU_ERROR_HOST_MEMORY,
                               "the host has no memory for a tensor");
    (void)acu_handle_add_owner(block);
    return 0;
}

acu_result acu_block_export_dlpack(acu_block *block, acu_dtype dtype,
                                   const acu_tensor_layout *layout, unsigned flags,
                                   struct DLManagedTensorVersioned **tensor) {
    acu_tensor_layout whole;
    acu_dlpack_made made = {0};
    ACU_NEED_PLACE_FOR(tensor);
    ACU_NEED_HANDLE(block, acu_block_class);
    if (flags & ~ACU_DLPACK_FLAGS)
        return acu_client_fail(__func__, block->client, block, ACU_ERROR_ARGUMENT,
                               "a tensor has no flags 0x%x", flags);
    ACU_TRY(begin_export(__func__, block, dtype, layout, &whole, &made));
    *tensor = acu_dlpack_make(&made, layout ? layout : &whole, flags);
    return end_exporting(__func__, block, *tensor);
}

acu_result acu_block_export_dlpack_unversioned(acu_block *block, acu_dtype dtype,
                                               const acu_tensor_layout *layout,
                                               struct DLManagedTensor **tensor) {
    acu_tensor_layout whole;
    acu_dlpack_made made = {0};
    ACU_NEED_PLACE_FOR(tensor);
    ACU_NEED_HANDLE(block, acu_block_class);
    ACU_TRY(begin_export(__func__, block, dtype, layout, &whole, &made));
    *tensor = acu_dlpack_make_unversioned(&made, layout ? layout : &whole);
    return end_exporting(__func__, block, *tensor);
}

/* ---- importing ---- */

/* Checks that the tensor is on the client's device. */
static acu_result check_device(const char *call, const acu_client *client,
                               const acu_dlpack_tensor *t) {
    const acu_place place = client->device->place;
    const int type = t->device_type;
    const bool fits[] = {
        [ACU_RUNTIME_CPU] = type == ACU_DLPACK_CPU || type == ACU_DLPACK_CUDA_HOST,
        [ACU_RUNTIME_CUDA] = type == ACU_DLPACK_CUDA || type == ACU_DLPACK_CUDA_MANAGED,
        [ACU_RUNTIME_WEBGPU] = type == ACU_DLPACK_WEBGPU,
    };
    const bool numbered = type == ACU_DLPACK_CUDA || type == ACU_DLPACK_WEBGPU;
    if (place.runtime > ACU_RUNTIME_WEBGPU || !fits[place.runtime]) {
        acu_fail_hint(
            "import the tensor with a client of its own place, or let the exporter copy it");
        return acu_client_fail(call, client, client, ACU_ERROR_MEMORY_KIND,
                               "the tensor is on a device of another kind: %s (device type %d)",
                               acu_dlpack_device_name(type), type);
    }
    if (!numbered || t->device_id == place.device)
        return 0;
    acu_fail_hint("import it with a client of device %d; acu_block_copy() copies it to others",
                  t->device_id);
    return acu_client_fail(call, client, client, ACU_ERROR_DEVICE,
                           "the tensor is on device %d, the client is not", t->device_id);
}

/* Memory that becomes a block. */
typedef struct found_memory {
    void *memory;
    uint64_t bytes; /* 0: there are no elements */
} found_memory;

/* Finds the bytes of a WGPUBuffer up to the highest element: DLPack does not say how many it has.
 */
static acu_result find_in_buffer(const char *call, const acu_dlpack_tensor *t,
                                 const acu_tensor_reach *reach, acu_dlpack_info *info,
                                 found_memory *found) {
    const int64_t size = (int64_t)acu_dtype_size(info->dtype),
                  at = (int64_t)(t->byte_offset / (uint64_t)size);
    int64_t low = 0, count = 0, bytes = 0;
    if (t->byte_offset % (uint64_t)size != 0)
        return acu_fail(call, "", ACU_ERROR_DTYPE,
                        "the tensor's byte_offset of %llu is no whole number of %s",
                        (unsigned long long)t->byte_offset, acu_dtype_name(info->dtype));
    if (__builtin_add_overflow(at, reach->low, &low) || low < 0 ||
        __builtin_add_overflow(at, reach->high, &count) ||
        __builtin_add_overflow(count, 1, &count) || __builtin_mul_overflow(count, size, &bytes))
        return acu_fail(call, "", ACU_ERROR_OVERFLOW,
                        "the tensor's elements lie where nothing can be addressed");
    info->layout.at = (size_t)at;
    *found = (found_memory){t->data, (uint64_t)bytes};
    return 0;
}

/* Finds the memory of the elements, of which there are some. */
static acu_result find_elements(const char *call, const acu_dlpack_tensor *t,
                                const acu_tensor_reach *reach, acu_dlpack_info *info,
                                found_memory *found) {
    const size_t size = acu_dtype_size(info->dtype);
    uintptr_t lowest = 0;
    size_t count = 0;
    if (t->device_type == ACU_DLPACK_WEBGPU && t->data)
        return find_in_buffer(call, t, reach, info, found);
    ACU_TRY(acu_dlpack_find_memory(call, t, reach, size, &lowest, &count));
    if (lowest % acu_dtype_alignment(info->dtype) != 0)
        return acu_fail(call, "", ACU_ERROR_DTYPE, "the tensor's memory is not aligned for %s",
                        acu_dtype_name(info->dtype));
    *found = (found_memory){(void *)lowest, (uint64_t)count * size};
    return 0;
}

/* Reads the tensor, and checks that the caller can use it. */
static acu_result read_tensor(const char *call, const acu_client *client,
                              const acu_dlpack_taken *taken, const acu_dlpack_info *info,
                              acu_dlpack_info *read, found_memory *found) {
    const acu_dlpack_tensor *t = acu_dlpack_tensor_of(taken);
    acu_tensor_reach reach = {0};
    ACU_TRY(acu_dlpack_check_version(call, taken));
    ACU_TRY(check_device(call, client, t));
    ACU_TRY(acu_dlpack_read(call, taken, read, &reach));
    if (reach.count > 0)
        ACU_TRY(find_elements(call, t, &reach, read, found));
    ACU_TRY(acu_dlpack_check_info(call, info, read));
    if (info || read->layout.at == 0)
        return 0;
    acu_fail_hint("give an acu_dlpack_info, which says where the tensor begins");
    return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                    "'info' is NULL, but the tensor begins inside of its WGPUBuffer");
}

static void drop_tensor(void *data) {
    acu_dlpack_delete(data);
    free(data);
}

/* Makes the block, which then owns the tensor. Where there is nothing to own, `*taken` stays the
 * caller's. */
static acu_result make_block(const char *call, acu_client *client, acu_dlpack_taken **taken,
                             acu_dlpack_info *info, acu_block **block) {
    acu_dlpack_info read = {0};
    found_memory found = {0};
    if (!block)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'block' is NULL");
    *block = NULL;
    ACU_TRY(read_tensor(call, client, *taken, info, &read, &found));
    if (found.bytes == 0) {
        ACU_TRY(acu_block_create(client, 0, block));
    } else {
        ACU_TRY(acu_block_wrap_for(call, client, found.memory, found.bytes, drop_tensor, *taken,
                                   block));
        *taken = NULL;
    }
    if (info)
        *info = read;
    return 0;
}

/* Imports a tensor, which is taken over in any case. */
static acu_result import_tensor(const char *call, acu_client *client,
                                const acu_dlpack_taken *tensor, acu_dlpack_info *info,
                                acu_block **block) {
    acu_dlpack_taken *taken = malloc(sizeof *taken);
    acu_result code = 0;
    if (info)
        *info = (acu_dlpack_info){0};
    if (!taken) {
        code = acu_fail(call, "", ACU_ERROR_HOST_MEMORY, "the host has no memory for a tensor");
        acu_dlpack_delete(tensor);
        return code;
    }
    *taken = *tensor;
    if (!acu_handle_is(client, &acu_client_class))
        code = acu_handle_refuse(call, client, &acu_client_class);
    else if ((code = make_block(call, client, &taken, info, block)))
        (void)acu_client_note_failure(client, code);
    if (taken)
        drop_tensor(taken);
    return code;
}

acu_result acu_block_import_dlpack(acu_client *client, struct DLManagedTensorVersioned *tensor,
                                   acu_dlpack_info *info, acu_block **block) {
    ACU_NEED_ADDRESS(tensor);
    return import_tensor(__func__, client, &(acu_dlpack_taken){.versioned = tensor}, info, block);
}

acu_result acu_block_import_dlpack_unversioned(acu_client *client, struct DLManagedTensor *tensor,
                                               acu_dlpack_info *info, acu_block **block) {
    ACU_NEED_ADDRESS(tensor);
    return import_tensor(__func__, client, &(acu_dlpack_taken){.unversioned = tensor}, info, block);
}
