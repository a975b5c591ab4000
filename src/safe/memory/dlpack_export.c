/* DLPack: buffers as tensors for other frameworks. */
#include "safe/memory/buffer.h"
#include "types/dlpack.h"

/* ---- the device ---- */

#define BIT(device) (1u << (unsigned)(device))

/* Returns as what the memory is exported by default; ACU_DLPACK_DEFAULT where it cannot be. `any`
 * becomes all devices that it can be exported as, as bits. */
static acu_dlpack_device device_of(const acu_storage *s, unsigned *any) {
    const unsigned host = BIT(ACU_DLPACK_CPU) | BIT(ACU_DLPACK_CUDA_HOST);
    *any = BIT(ACU_DLPACK_CUDA);
    switch (s->memory) {
    case ACU_MEMORY_POOL:
    case ACU_MEMORY_DEVICE:
    case ACU_MEMORY_VIRTUAL:
        return ACU_DLPACK_CUDA;
    case ACU_MEMORY_PINNED:
        *any = host;
        return ACU_DLPACK_CUDA_HOST;
    case ACU_MEMORY_MAPPED:
        *any |= host;
        return ACU_DLPACK_CUDA_HOST;
    case ACU_MEMORY_REGISTERED:
        *any = host | (acu_has(s->flags, ACU_BUFFER_MAP) ? BIT(ACU_DLPACK_CUDA) : 0u);
        return ACU_DLPACK_CUDA_HOST;
    case ACU_MEMORY_MANAGED:
        *any |= BIT(ACU_DLPACK_CPU) | BIT(ACU_DLPACK_CUDA_MANAGED);
        return ACU_DLPACK_CUDA_MANAGED;
    case ACU_MEMORY_HOST:
        *any = BIT(ACU_DLPACK_CPU);
        return ACU_DLPACK_CPU;
    case ACU_MEMORY_GRAPH:
        break;
    }
    *any = 0;
    return ACU_DLPACK_DEFAULT;
}

static bool is_of_host(acu_dlpack_device device) {
    return device == ACU_DLPACK_CPU || device == ACU_DLPACK_CUDA_HOST;
}

static int id_of(const acu_buffer *buffer, acu_dlpack_device device) {
    return is_of_host(device) ? 0 : buffer->object.device;
}

/* Replaces ACU_DLPACK_DEFAULT; returns 0, or a recorded failure where the memory is not that of the
 * device. */
static int choose_device(const char *call, const acu_buffer *buffer, acu_dlpack_device *device) {
    unsigned any = 0;
    const acu_dlpack_device usual = device_of(buffer->storage, &any);
    if (!any)
        return acu_fail_on(call, buffer, ACU_ERROR_MEMORY_KIND,
                           "memory of a graph cannot be exported: it exists during launches only");
    *device = *device == ACU_DLPACK_DEFAULT ? usual : *device;
    const unsigned number = (unsigned)*device;
    if (number != ACU_DLPACK_CPU && number != ACU_DLPACK_CUDA && number != ACU_DLPACK_CUDA_HOST &&
        number != ACU_DLPACK_CUDA_MANAGED)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "options.device is %u, which is none of ours",
                        number);
    if (any & BIT(number))
        return 0;
    acu_fail_hint("device 0 (ACU_DLPACK_DEFAULT) is %d here; copy the elements into memory of "
                  "another kind for other devices",
                  (int)usual);
    return acu_fail_on(call, buffer, ACU_ERROR_MEMORY_KIND,
                       "this kind of memory cannot be exported as device %u of DLPack", number);
}

acu_result acu_buffer_get_dlpack_device(acu_buffer *buffer, acu_dlpack_device *device,
                                        int *device_id) {
    ACU_SCOPE();
    ACU_NEED_POINTER(device);
    ACU_NEED_POINTER(device_id);
    *device = ACU_DLPACK_DEFAULT;
    *device_id = 0;
    ACU_NEED(buffer, acu_buffer_class);
    ACU_TRY(choose_device(__func__, buffer, device));
    *device_id = id_of(buffer, *device);
    return 0;
}

/* ---- the tensor ---- */

/* Ends a tensor. The thread's last error stays as it is, and a failure is kept for
 * acu_release_error(). */
static void end_export(void *owner) {
    acu_destroy_deferred();
    (void)acu_buffer_give_up_memory("acu_buffer_release", owner);
}

/* Checks that all elements lie in the buffer. */
static int check_layout(const char *call, const acu_buffer *buffer, const acu_tensor_layout *l) {
    bool inside = false;
    ACU_TRY(acu_tensor_check(call, l, buffer->count, &inside));
    return inside ? 0
                  : acu_fail_on(call, buffer, ACU_ERROR_RANGE,
                                "some elements of the layout lie outside of the buffer, which has "
                                "%zu",
                                buffer->count);
}

/* Returns the address of the first element, as the device knows it. */
static char *address_of(const acu_buffer *buffer, acu_dlpack_device device, size_t at) {
    const acu_storage *s = buffer->storage;
    const bool on_host = is_of_host(device);
    if (!buffer->pointer || (on_host && !s->host))
        return NULL; /* there are no elements */
    char *first = on_host ? s->host + (buffer->pointer - s->pointer) : buffer->pointer;
    return first + at * acu_dtype_size(buffer->dtype);
}

/* ---- exporting ---- */

static const acu_tensor_layout *layout_of(const acu_buffer *buffer, const acu_tensor_layout *layout,
                                          acu_tensor_layout *whole) {
    *whole = (acu_tensor_layout){.rank = 1, .shape = {buffer->count}};
    return layout ? layout : whole;
}

/* Checks an export, and waits where the host may read at once. Returns 0 or a recorded failure. */
static int begin_export(const char *call, acu_buffer *buffer, const acu_tensor_layout *l,
                        const acu_dlpack_options *options, acu_dlpack_made *made) {
    acu_dlpack_device device = options ? options->device : ACU_DLPACK_DEFAULT;
    ACU_TRY(choose_device(call, buffer, &device));
    ACU_TRY(acu_dlpack_from_dtype(call, buffer->dtype, &made->tensor.dtype));
    ACU_TRY(check_layout(call, buffer, l));
    if (is_of_host(device))
        ACU_TRY(acu_outcome(call, buffer, acu_storage_synchronize(buffer->storage)));
    made->tensor.data = address_of(buffer, device, l->at);
    made->tensor.device_type = (int32_t)device;
    made->tensor.device_id = id_of(buffer, device);
    made->owner = buffer;
    made->end = end_export;
    return 0;
}

/* Keeps the buffer for the tensor that was made; a failure where there was no memory for it. */
static int end_exporting(const char *call, acu_buffer *buffer, const void *tensor) {
    if (!tensor)
        return acu_fail_on(call, buffer, ACU_ERROR_HOST_MEMORY,
                           "the host has no memory for a tensor");
    acu_buffer_keep_memory(buffer);
    return 0;
}

acu_result acu_buffer_export_dlpack(acu_buffer *buffer, const acu_tensor_layout *layout,
                                    const acu_dlpack_options *options,
                                    struct DLManagedTensorVersioned **tensor) {
    ACU_SCOPE();
    const unsigned flags = options ? options->flags : 0;
    acu_tensor_layout whole;
    acu_dlpack_made made = {0};
    ACU_NEED_POINTER(tensor);
    *tensor = NULL;
    acu_destroy_deferred();
    ACU_NEED(buffer, acu_buffer_class);
    ACU_REQUIRE(!(flags & ~ACU_DLPACK_FLAGS), ACU_ERROR_ARGUMENT, "a tensor has no flags 0x%x",
                flags);
    layout = layout_of(buffer, layout, &whole);
    ACU_TRY(begin_export(__func__, buffer, layout, options, &made));
    *tensor = acu_dlpack_make(&made, layout, flags);
    return end_exporting(__func__, buffer, *tensor);
}

acu_result acu_buffer_export_dlpack_unversioned(acu_buffer *buffer, const acu_tensor_layout *layout,
                                                const acu_dlpack_options *options,
                                                struct DLManagedTensor **tensor) {
    ACU_SCOPE();
    const unsigned flags = options ? options->flags : 0;
    acu_tensor_layout whole;
    acu_dlpack_made made = {0};
    ACU_NEED_POINTER(tensor);
    *tensor = NULL;
    acu_destroy_deferred();
    ACU_NEED(buffer, acu_buffer_class);
    ACU_REQUIRE(!flags, ACU_ERROR_ARGUMENT,
                "options.flags is 0x%x, but a tensor from before DLPack 1.0 has no flags", flags);
    layout = layout_of(buffer, layout, &whole);
    ACU_TRY(begin_export(__func__, buffer, layout, options, &made));
    *tensor = acu_dlpack_make_unversioned(&made, layout);
    return end_exporting(__func__, buffer, *tensor);
}
