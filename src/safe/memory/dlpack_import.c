/* DLPack: tensors of other frameworks as buffers. */
#include "safe/memory/dlpack.h"

#include <string.h>

/* ---- the tensor ---- */

/* A tensor that was imported, as the owner of the buffer's memory. One of the two is NULL. */
typedef struct import {
    acu_object object;
    struct DLManagedTensorVersioned *versioned;
    struct DLManagedTensor *unversioned;
} import;

/* What the deleter does is not known, and may be CUDA's: the thread's last error stays as it is. */
static void delete_tensor(struct DLManagedTensorVersioned *versioned,
                          struct DLManagedTensor *unversioned) {
    acu_saved_record before;
    acu_record_save(&before);
    if (versioned && versioned->deleter)
        versioned->deleter(versioned);
    if (unversioned && unversioned->deleter)
        unversioned->deleter(unversioned);
    acu_record_restore(&before);
}

static int destroy_import(acu_object *object) {
    const import *i = (const import *)object;
    delete_tensor(i->versioned, i->unversioned);
    return 0;
}

/* A deleter may free memory, or wait, so that captures delay it. */
static const acu_class import_class = {"tensor", destroy_import, NULL, NULL};

/* Takes the tensor over; NULL and a recorded failure, with the tensor deleted, without memory. */
static import *take_over(const char *call, struct DLManagedTensorVersioned *versioned,
                         struct DLManagedTensor *unversioned) {
    import *made = acu_object_new(call, &import_class, sizeof *made, ACU_DEVICE_CURRENT);
    if (!made) {
        delete_tensor(versioned, unversioned);
        return NULL;
    }
    made->versioned = versioned;
    made->unversioned = unversioned;
    return made;
}

/* ---- the layout ---- */

/* Returns whether the elements are densely packed, whatever the steps of what has one element. */
static bool is_packed(const acu_tensor_layout *l, const int64_t *packed, size_t count) {
    for (unsigned i = 0; i < l->rank && count > 0; i++)
        if (l->shape[i] > 1 && l->strides[i] != packed[i])
            return false;
    return true;
}

/* Reads shape and strides; returns 0 or a recorded failure. */
static int read_layout(const char *call, const acu_dlpack_tensor *t, acu_tensor_layout *l,
                       acu_tensor_reach *reach) {
    int64_t packed[ACU_MAX_RANK] = {0};
    if (t->rank < 0 || t->rank > ACU_MAX_RANK || (t->rank > 0 && !t->shape))
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "the tensor has %d dimensions, or no shape: a buffer's layout has at most "
                        "%d",
                        t->rank, ACU_MAX_RANK);
    l->rank = (unsigned)t->rank;
    for (unsigned i = 0; i < l->rank; i++) {
        if (t->shape[i] < 0)
            return acu_fail(call, "", ACU_ERROR_ARGUMENT, "the tensor's shape[%u] is %lld", i,
                            (long long)t->shape[i]);
        l->shape[i] = (size_t)t->shape[i];
    }
    const bool fits = acu_tensor_pack(l->rank, l->shape, packed);
    memcpy(l->strides, t->strides && l->rank > 0 ? t->strides : packed,
           l->rank * sizeof *l->strides);
    l->strided = true;
    if (!fits || !acu_tensor_find_reach(l, reach))
        return acu_fail(call, "", ACU_ERROR_OVERFLOW,
                        "the tensor's elements lie where nothing can be addressed");
    l->strided = !is_packed(l, packed, reach->count);
    if (!l->strided)
        memcpy(l->strides, packed, sizeof packed);
    l->at = 0 - (size_t)reach->low; /* of the lowest number of all, too */
    return 0;
}

/* Finds the lowest element and how many lie from there to the highest. */
static int find_memory(const char *call, const acu_dlpack_tensor *t, const acu_tensor_reach *reach,
                       acu_storage_request *request) {
    const int64_t size = (int64_t)acu_dtype_size(request->dtype);
    int64_t span = 0, bytes = 0, down = 0;
    uintptr_t first = 0;
    if (reach->count == 0)
        return 0;
    if (!t->data)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "the tensor has elements, but its data is NULL");
    if (__builtin_sub_overflow(reach->high, reach->low, &span) ||
        __builtin_add_overflow(span, 1, &span) || __builtin_mul_overflow(span, size, &bytes) ||
        __builtin_mul_overflow(reach->low, size, &down) ||
        __builtin_add_overflow((uintptr_t)t->data, t->byte_offset, &first) ||
        __builtin_add_overflow(first, down, &first) || first > UINTPTR_MAX - (uintptr_t)bytes)
        return acu_fail(call, "", ACU_ERROR_OVERFLOW,
                        "the tensor's elements lie where nothing can be addressed");
    request->given = (void *)first;
    request->count = (size_t)span;
    return 0;
}

/* ---- the device ---- */

static const char *const devices[] = {
    [4] = "OpenCL",   [7] = "Vulkan", [8] = "Metal",     [9] = "VPI",
    [10] = "ROCm",    [11] = "ROCm",  [14] = "oneAPI",   [15] = "WebGPU",
    [16] = "Hexagon", [17] = "MAIA",  [18] = "Trainium",
};

static int refuse_device(const char *call, int type) {
    const size_t known = sizeof devices / sizeof devices[0];
    const char *name = type >= 0 && (size_t)type < known ? devices[type] : NULL;
    acu_fail_hint("let the exporter copy the tensor to device type 1 (CPU) or 2 (CUDA)");
    return acu_fail(call, "", ACU_ERROR_MEMORY_KIND,
                    "the tensor is on a device that is not CUDA's: %s (device type %d)",
                    name ? name : "an unknown one", type);
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

static int check_info(const char *call, const acu_dlpack_info *info, const acu_dlpack_info *found) {
    if (info)
        return 0;
    if (!found->layout.strided && !acu_has(found->flags, ACU_DLPACK_READ_ONLY))
        return 0;
    acu_fail_hint("give an acu_dlpack_info, which says how the tensor is");
    return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'info' is NULL, but the tensor %s",
                    found->layout.strided ? "is not densely packed" : "must not be written to");
}

/* Makes the buffer; `owner` becomes an owner of the tensor. */
static int make(const char *call, acu_stream *stream, const acu_dlpack_tensor *t, import *owner,
                acu_dlpack_info *found, const acu_dlpack_info *info, acu_buffer **buffer) {
    acu_storage_request request = {.stream = stream, .owner = &owner->object};
    acu_tensor_reach reach = {0};
    ACU_TRY(acu_stream_check(call, stream));
    ACU_TRY(find_kind(call, t, stream, &request.options.memory));
    ACU_TRY(acu_dlpack_to_dtype(call, t->dtype, &request.dtype));
    ACU_TRY(read_layout(call, t, &found->layout, &reach));
    ACU_TRY(find_memory(call, t, &reach, &request));
    ACU_TRY(check_info(call, info, found));
    found->device = (acu_dlpack_device)t->device_type;
    found->device_id = t->device_id;
    return acu_buffer_new_on(call, &request, buffer);
}

/* Imports a tensor that was taken over, and gives up the reference to it. */
static int import_tensor(const char *call, acu_stream *stream, const acu_dlpack_tensor *t,
                         uint64_t flags, import *taken, acu_dlpack_info *info,
                         acu_buffer **buffer) {
    acu_dlpack_info found = {
        .flags = (unsigned)(flags & (unsigned)(ACU_DLPACK_READ_ONLY + ACU_DLPACK_COPIED))};
    int code = buffer ? make(call, stream, t, taken, &found, info, buffer)
                      : acu_fail(call, "", ACU_ERROR_ARGUMENT, "'buffer' is NULL");
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
    clear(info, buffer);
    ACU_NEED_POINTER(tensor);
    if (tensor->major != ACU_DLPACK_MAJOR) {
        const unsigned major = tensor->major, minor = tensor->minor;
        delete_tensor(tensor, NULL);
        acu_fail_hint("ask the exporter for version 1 (max_version=(1, 0) in Python)");
        return acu_fail(__func__, "", ACU_NOT_SUPPORTED,
                        "the tensor is of DLPack %u.%u, but only version 1 is known here", major,
                        minor);
    }
    import *taken = take_over(__func__, tensor, NULL);
    return taken ? import_tensor(__func__, stream, &tensor->tensor, tensor->flags, taken, info,
                                 buffer)
                 : ACU_ERROR_HOST_MEMORY;
}

acu_result acu_buffer_import_dlpack_unversioned(acu_stream *stream, struct DLManagedTensor *tensor,
                                                acu_dlpack_info *info, acu_buffer **buffer) {
    clear(info, buffer);
    ACU_NEED_POINTER(tensor);
    import *taken = take_over(__func__, NULL, tensor);
    return taken ? import_tensor(__func__, stream, &tensor->tensor, 0, taken, info, buffer)
                 : ACU_ERROR_HOST_MEMORY;
}
