/* DLPack: tensors of other frameworks as buffers. */
#include "safe/memory/buffer.h"
#include "types/dlpack.h"

/* ---- the tensor ---- */

/* A tensor that was imported, as the owner of the buffer's memory. */
typedef struct import {
    acu_object object;
    acu_dlpack_taken tensor;
} import;

static int destroy_import(acu_object *object) {
    acu_dlpack_delete(&((const import *)object)->tensor);
    return 0;
}

/* A deleter may free memory, or wait, so that captures delay it. */
static const acu_class import_class = {"tensor", destroy_import, NULL, NULL};

/* Takes the tensor over; NULL and a recorded failure, with the tensor deleted, where it is of
 * another version, or without memory. */
static import *take_over(const char *call, const acu_dlpack_taken *tensor, int *code) {
    *code = acu_dlpack_check_version(call, tensor);
    import *made =
        *code ? NULL : acu_object_new(call, &import_class, sizeof *made, ACU_DEVICE_CURRENT);
    if (made) {
        made->tensor = *tensor;
        return made;
    }
    *code = *code ? *code : ACU_ERROR_HOST_MEMORY;
    acu_dlpack_delete(tensor);
    return NULL;
}

/* ---- the device ---- */

static int refuse_device(const char *call, int type) {
    acu_fail_hint("let the exporter copy the tensor to device type 1 (CPU) or 2 (CUDA)");
    return acu_fail(call, "", ACU_ERROR_MEMORY_KIND,
                    "the tensor is on a device that is not CUDA's: %s (device type %d)",
                    acu_dlpack_device_name(type), type);
}

/* Finds the kind of memory; returns 0 or a recorded failure. */
static int find_kind(const char *call, const acu_dlpack_tensor *t, const acu_stream *stream,
                     acu_memory *memory) {
    switch (t->device_type) {
    case ACU_DLPACK_CPU:
        *memory = ACU_MEMORY_HOST;
        return 0;
    case ACU_DLPACK_CUDA_HOST:
        *memory = ACU_MEMORY_PINNED;
        return 0;
    case ACU_DLPACK_CUDA_MANAGED:
        *memory = ACU_MEMORY_MANAGED;
        return 0;
    case ACU_DLPACK_CUDA:
        *memory = ACU_MEMORY_DEVICE;
        break;
    default:
        return refuse_device(call, t->device_type);
    }
    if (t->device_id == stream->object.device)
        return 0;
    acu_fail_hint("import it on a stream of device %d; acu_buffer_copy() copies it to others",
                  t->device_id);
    return acu_fail_on(call, stream, ACU_ERROR_DEVICE,
                       "the tensor is on device %d, the stream is not", t->device_id);
}

/* ---- importing ---- */

/* Makes the buffer; `owner` becomes an owner of the tensor. */
static int make(const char *call, acu_stream *stream, import *owner, acu_dlpack_info *found,
                const acu_dlpack_info *info, acu_buffer **buffer) {
    const acu_dlpack_tensor *t = acu_dlpack_tensor_of(&owner->tensor);
    acu_storage_request request = {.stream = stream, .owner = &owner->object};
    acu_tensor_reach reach = {0};
    uintptr_t lowest = 0;
    if (!buffer)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'buffer' is NULL");
    ACU_TRY(acu_stream_check(call, stream));
    ACU_TRY(find_kind(call, t, stream, &request.options.memory));
    ACU_TRY(acu_dlpack_read(call, &owner->tensor, found, &reach));
    ACU_TRY(acu_dlpack_find_memory(call, t, &reach, acu_dtype_size(found->dtype), &lowest,
                                   &request.count));
    ACU_TRY(acu_dlpack_check_info(call, info, found));
    request.dtype = found->dtype;
    request.given = (void *)lowest;
    return acu_buffer_new_on(call, &request, buffer);
}

/* Imports a tensor, which is taken over in any case. */
static int import_tensor(const char *call, acu_stream *stream, const acu_dlpack_taken *tensor,
                         acu_dlpack_info *info, acu_buffer **buffer) {
    acu_dlpack_info found = {0};
    int code = 0;
    import *taken = take_over(call, tensor, &code);
    if (!taken)
        return code;
    code = make(call, stream, taken, &found, info, buffer);
    if (!code && info)
        *info = found;
    if (acu_object_release(call, taken, &import_class)) /* the buffer is its owner now */
        acu_record_release_error();
    return code;
}

static void clear(acu_dlpack_info *info, acu_buffer **buffer) {
    if (info)
        *info = (acu_dlpack_info){0};
    if (buffer)
        *buffer = NULL;
}

acu_result acu_buffer_import_dlpack(acu_stream *stream, struct DLManagedTensorVersioned *tensor,
                                    acu_dlpack_info *info, acu_buffer **buffer) {
    ACU_SCOPE();
    clear(info, buffer);
    ACU_NEED_POINTER(tensor);
    return import_tensor(__func__, stream, &(acu_dlpack_taken){.versioned = tensor}, info, buffer);
}

acu_result acu_buffer_import_dlpack_unversioned(acu_stream *stream, struct DLManagedTensor *tensor,
                                                acu_dlpack_info *info, acu_buffer **buffer) {
    ACU_SCOPE();
    clear(info, buffer);
    ACU_NEED_POINTER(tensor);
    return import_tensor(__func__, stream, &(acu_dlpack_taken){.unversioned = tensor}, info,
                         buffer);
}
