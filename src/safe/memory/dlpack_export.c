/* DLPack: buffers as tensors for other frameworks. */
#include "safe/memory/dlpack.h"

#include <stdlib.h>

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

/* What an export needs until its deleter runs. */
typedef struct export {
    union {
        struct DLManagedTensorVersioned versioned;
        struct DLManagedTensor unversioned;
    } tensor;
    acu_buffer *buffer; /* with references to it and to its memory */
    int64_t shape[ACU_MAX_RANK], strides[ACU_MAX_RANK];
} export;

/* The thread's last error stays as it is, and a failure is kept for acu_release_error(). */
static void end_export(export *e) {
    acu_destroy_deferred();
    (void)acu_buffer_give_up_memory("acu_buffer_release", e->buffer);
    free(e);
}

static void delete_versioned(struct DLManagedTensorVersioned *tensor) {
    if (tensor)
        end_export(tensor->context);
}

static void delete_unversioned(struct DLManagedTensor *tensor) {
    if (tensor)
        end_export(tensor->context);
}

/* ---- the layout ---- */

/* Checks that all elements lie in the buffer. */
static int check_layout(const char *call, const acu_buffer *buffer, const acu_tensor_layout *l) {
    acu_tensor_reach reach;
    int64_t low, high;
    if (l->rank > ACU_MAX_RANK)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "layout.rank is %u, but a tensor has at most %d dimensions", l->rank,
                        ACU_MAX_RANK);
    if (!acu_tensor_find_reach(l, &reach))
        return acu_fail(call, "", ACU_ERROR_OVERFLOW,
                        "the layout's elements lie where nothing can be addressed");
    if (reach.count == 0)
        return acu_buffer_check_range(call, buffer, l->at, 0);
    if (l->at < buffer->count && !__builtin_add_overflow((int64_t)l->at, reach.low, &low) &&
        !__builtin_add_overflow((int64_t)l->at, reach.high, &high) && low >= 0 &&
        (uint64_t)high < buffer->count)
        return 0;
    return acu_fail_on(call, buffer, ACU_ERROR_RANGE,
                       "some elements of the layout lie outside of the buffer, which has %zu",
                       buffer->count);
}

static void copy_layout(export *e, const acu_tensor_layout *l) {
    (void)acu_tensor_pack(l->rank, l->shape, e->strides);
    for (unsigned i = 0; i < l->rank; i++) {
        e->shape[i] = (int64_t)l->shape[i];
        if (l->strided)
            e->strides[i] = l->strides[i];
    }
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

static int new_export(const char *call, acu_buffer *buffer, const acu_tensor_layout *layout,
                      const acu_dlpack_options *options, export **out, acu_dlpack_tensor *tensor) {
    const acu_tensor_layout whole = {.rank = 1, .shape = {buffer->count}};
    const acu_tensor_layout *l = layout ? layout : &whole;
    acu_dlpack_device device = options ? options->device : ACU_DLPACK_DEFAULT;
    acu_dlpack_dtype dtype = {0};
    ACU_TRY(choose_device(call, buffer, &device));
    ACU_TRY(acu_dlpack_from_dtype(call, buffer->dtype, &dtype));
    ACU_TRY(check_layout(call, buffer, l));
    if (is_of_host(device))
        ACU_TRY(acu_outcome(call, buffer, acu_storage_synchronize(buffer->storage)));
    export *e = calloc(1, sizeof *e);
    if (!e) {
        acu_fail_on(call, buffer, ACU_ERROR_HOST_MEMORY, "the host has no memory for a tensor");
        return ACU_ERROR_HOST_MEMORY;
    }
    copy_layout(e, l);
    e->buffer = buffer;
    acu_buffer_keep_memory(buffer);
    *tensor = (acu_dlpack_tensor){.data = address_of(buffer, device, l->at),
                                  .device_type = (int32_t)device,
                                  .device_id = id_of(buffer, device),
                                  .rank = (int32_t)l->rank,
                                  .dtype = dtype,
                                  .shape = e->shape,
                                  .strides = e->strides};
    *out = e;
    return 0;
}

acu_result acu_buffer_export_dlpack(acu_buffer *buffer, const acu_tensor_layout *layout,
                                    const acu_dlpack_options *options,
                                    struct DLManagedTensorVersioned **tensor) {
    const unsigned flags = options ? options->flags : 0;
    export *e = NULL;
    acu_dlpack_tensor t;
    ACU_NEED_POINTER(tensor);
    *tensor = NULL;
    acu_destroy_deferred();
    ACU_NEED(buffer, acu_buffer_class);
    ACU_REQUIRE(!(flags & ~(unsigned)(ACU_DLPACK_READ_ONLY + ACU_DLPACK_COPIED)),
                ACU_ERROR_ARGUMENT, "a tensor has no flags 0x%x", flags);
    ACU_TRY(new_export(__func__, buffer, layout, options, &e, &t));
    *tensor = &e->tensor.versioned;
    **tensor = (struct DLManagedTensorVersioned){.major = ACU_DLPACK_MAJOR,
                                                 .minor = ACU_DLPACK_MINOR,
                                                 .context = e,
                                                 .deleter = delete_versioned,
                                                 .flags = flags,
                                                 .tensor = t};
    return 0;
}

acu_result acu_buffer_export_dlpack_unversioned(acu_buffer *buffer, const acu_tensor_layout *layout,
                                                const acu_dlpack_options *options,
                                                struct DLManagedTensor **tensor) {
    const unsigned flags = options ? options->flags : 0;
    export *e = NULL;
    acu_dlpack_tensor t;
    ACU_NEED_POINTER(tensor);
    *tensor = NULL;
    acu_destroy_deferred();
    ACU_NEED(buffer, acu_buffer_class);
    ACU_REQUIRE(!flags, ACU_ERROR_ARGUMENT,
                "options.flags is 0x%x, but a tensor from before DLPack 1.0 has no flags", flags);
    ACU_TRY(new_export(__func__, buffer, layout, options, &e, &t));
    *tensor = &e->tensor.unversioned;
    **tensor = (struct DLManagedTensor){.tensor = t, .context = e, .deleter = delete_unversioned};
    return 0;
}
