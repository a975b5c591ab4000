/* Memory of other APIs: how it is imported and released; buffers and mipmaps of it. */
#include "safe/memory/external_memory.h"
#include "safe/base/descriptor.h"
#include "safe/base/device.h"
#include "safe/memory/array_make.h"
#include "safe/memory/buffer.h"

#define OUTCOME(memory, code) acu_outcome(__func__, (memory), (code))

/* ---- life ---- */

static int destroy_memory(acu_object *object) {
    const acu_external_memory *memory = (const acu_external_memory *)object;
    int code = 0;
    if (!memory->owned || acu_is_unloading())
        return 0;
    ACU_IGNORING_CAPTURES(code, cudaDestroyExternalMemory(memory->raw));
    return acu_forgive_unloading(code);
}

static const char *type_name(acu_external_memory_type type) {
    static const char *const names[] = {
        "",           "opaque descriptor", "opaque Win32 handle", "opaque Win32 KMT handle",
        "D3D12 heap", "D3D12 resource",    "D3D11 resource",      "D3D11 resource, KMT handle",
        "NvSciBuf",
    };
    return (unsigned)type < sizeof names / sizeof *names ? names[type] : "";
}

static void describe_memory(const acu_object *object, acu_description *d) {
    const acu_external_memory *memory = (const acu_external_memory *)object;
    acu_describe(d, "%zu bytes", memory->bytes);
    if (memory->type)
        acu_describe(d, "%s", type_name(memory->type));
    if (memory->dedicated)
        acu_describe(d, "dedicated");
    if (!memory->owned)
        acu_describe(d, "wrapped");
}

const acu_class acu_external_memory_class = {"external memory", destroy_memory, describe_memory,
                                             NULL};

static acu_external_memory *new_memory(const char *call, int device, size_t bytes) {
    acu_external_memory *made =
        acu_object_new(call, &acu_external_memory_class, sizeof *made, device);
    if (made)
        made->bytes = bytes;
    return made;
}

/* ---- importing ---- */

static int check_bytes(const char *call, size_t bytes) {
    return bytes ? 0
                 : acu_fail(call, "", ACU_ERROR_RANGE,
                            "the size is 0 bytes: the other API knows the allocation's size");
}

static bool is_global(acu_external_memory_type type) {
    return type == ACU_EXTERNAL_MEMORY_OPAQUE_WIN32_KMT ||
           type == ACU_EXTERNAL_MEMORY_D3D11_RESOURCE_KMT;
}

static bool is_resource(acu_external_memory_type type) {
    return type >= ACU_EXTERNAL_MEMORY_D3D12_RESOURCE &&
           type <= ACU_EXTERNAL_MEMORY_D3D11_RESOURCE_KMT;
}

static int check_source(const char *call, const acu_external_memory_source *source) {
    const bool is_descriptor = source->type == ACU_EXTERNAL_MEMORY_OPAQUE_FD;
    if (!*type_name(source->type))
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "source.type is %d, which is no acu_external_memory_type",
                        (int)source->type);
    if (is_descriptor && source->descriptor < 0)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "source.descriptor is %d, which is no descriptor", source->descriptor);
    if (!is_descriptor && !source->handle && (is_global(source->type) || !source->name))
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        is_global(source->type)
                            ? "source.handle is NULL, and a global handle has no name"
                            : "source.handle and source.name are NULL: one says which object");
    if (is_resource(source->type) && !source->dedicated)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "source.dedicated is false, but a resource of Direct3D has its memory "
                        "for itself");
    return check_bytes(call, source->bytes);
}

typedef struct importing {
    acu_external_memory *made;
    struct cudaExternalMemoryHandleDesc desc;
} importing;

static int import(importing *it) {
    int code = 0;
    ACU_IGNORING_CAPTURES(code, cudaImportExternalMemory(&it->made->raw, &it->desc));
    return code;
}

static int import_descriptor(int duplicate, void *data) {
    importing *it = data;
    it->desc.handle.fd = duplicate;
    return import(it);
}

static int import_source(acu_external_memory *made, const acu_external_memory_source *source) {
    acu_guard guard;
    importing it = {made,
                    {.type = (enum cudaExternalMemoryHandleType)source->type,
                     .size = source->bytes,
                     .flags = source->dedicated ? cudaExternalMemoryDedicated : 0}};
    int code = acu_guard_enter(&guard, made->object.device);
    if (source->type == ACU_EXTERNAL_MEMORY_NVSCI_BUF) {
        it.desc.handle.nvSciBufObject = source->handle;
    } else {
        it.desc.handle.win32.handle = (void *)(uintptr_t)source->handle;
        it.desc.handle.win32.name = source->name;
    }
    if (!code)
        code = source->type == ACU_EXTERNAL_MEMORY_OPAQUE_FD
                   ? acu_descriptor_give(source->descriptor, import_descriptor, &it)
                   : import(&it);
    acu_guard_leave(&guard);
    return code;
}

static void hint_at(const acu_external_memory_source *source, int code) {
    if (code == ACU_NOT_SUPPORTED && source->type != ACU_EXTERNAL_MEMORY_OPAQUE_FD)
        acu_fail_hint("Linux has file descriptors: let the other API export its memory as an "
                      "opaque one");
    else if (code == cudaErrorUnknown || code == cudaErrorInvalidValue)
        acu_fail_hint("the memory must come from the same device, whose UUIDs are equal in both "
                      "APIs; 'bytes' is the allocation's size, and 'dedicated' as it was made");
}

acu_result acu_external_memory_import(acu_device device, const acu_external_memory_source *source,
                                      acu_external_memory **memory) {
    ACU_SCOPE();
    ACU_NEED_POINTER(memory);
    *memory = NULL;
    ACU_NEED_POINTER(source);
    acu_destroy_deferred();
    ACU_TRY(check_source(__func__, source));
    ACU_TRY(acu_device_resolve(__func__, &device));
    acu_external_memory *made = new_memory(__func__, device, source->bytes);
    if (!made)
        return ACU_ERROR_HOST_MEMORY;
    const int code = import_source(made, source);
    if (code) {
        acu_object_discard(&made->object);
        hint_at(source, code);
        return acu_device_outcome(__func__, device, code);
    }
    made->type = source->type;
    made->dedicated = source->dedicated;
    made->owned = true;
    *memory = made;
    return 0;
}

/* ---- handles for what is there ---- */

static int on_raw(const char *call, acu_device device, cudaExternalMemory_t raw, size_t bytes,
                  bool owned, acu_external_memory **memory) {
    if (memory)
        *memory = NULL;
    if (!memory || !raw)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'%s' is NULL", memory ? "raw" : "memory");
    ACU_TRY(check_bytes(call, bytes));
    ACU_TRY(acu_device_resolve(call, &device));
    acu_external_memory *made = new_memory(call, device, bytes);
    if (!made)
        return ACU_ERROR_HOST_MEMORY;
    made->raw = raw;
    made->owned = owned;
    *memory = made;
    return 0;
}

acu_result acu_external_memory_wrap(acu_device device, struct CUexternalMemory_st *raw,
                                    size_t bytes, acu_external_memory **memory) {
    ACU_SCOPE();
    return on_raw(__func__, device, raw, bytes, false, memory);
}

acu_result acu_external_memory_adopt(acu_device device, struct CUexternalMemory_st *raw,
                                     size_t bytes, acu_external_memory **memory) {
    ACU_SCOPE();
    return on_raw(__func__, device, raw, bytes, true, memory);
}

struct CUexternalMemory_st *acu_external_memory_raw(const acu_external_memory *memory) {
    return acu_is(memory, &acu_external_memory_class) ? memory->raw : NULL;
}

acu_external_memory *acu_external_memory_retain(acu_external_memory *memory) {
    return acu_object_retain(__func__, memory, &acu_external_memory_class);
}

acu_result acu_external_memory_release(acu_external_memory *memory) {
    ACU_SCOPE();
    acu_destroy_deferred();
    return acu_object_release(__func__, memory, &acu_external_memory_class);
}

void acu_external_memory_cleanup(acu_external_memory **memory) {
    (void)acu_external_memory_release(acu_take(memory));
}

size_t acu_external_memory_describe(const acu_external_memory *memory, char *text, size_t size) {
    return acu_object_describe_as(memory, &acu_external_memory_class, text, size);
}

size_t acu_external_memory_bytes(const acu_external_memory *memory) {
    return acu_is(memory, &acu_external_memory_class) ? memory->bytes : 0;
}

acu_device acu_external_memory_device(const acu_external_memory *memory) {
    return acu_is(memory, &acu_external_memory_class) ? memory->object.device : ACU_DEVICE_CURRENT;
}

acu_result acu_external_memory_get_info(acu_external_memory *memory,
                                        acu_external_memory_info *info) {
    ACU_SCOPE();
    ACU_NEED_POINTER(info);
    *info = (acu_external_memory_info){.device = ACU_DEVICE_CURRENT};
    ACU_NEED(memory, acu_external_memory_class);
    *info = (acu_external_memory_info){.device = memory->object.device,
                                       .type = memory->type,
                                       .bytes = memory->bytes,
                                       .dedicated = memory->dedicated};
    return 0;
}

/* ---- buffers ---- */

static int map(const acu_external_memory *memory, size_t at, size_t bytes, void **address) {
    acu_guard guard;
    const struct cudaExternalMemoryBufferDesc desc = {.offset = at, .size = bytes};
    int code = acu_guard_enter(&guard, memory->object.device);
    if (!code)
        ACU_IGNORING_CAPTURES(code, cudaExternalMemoryGetMappedBuffer(address, memory->raw, &desc));
    acu_guard_leave(&guard);
    return code;
}

/* Gives up a mapping that no buffer or mipmap came to own; the failure that is recorded stays. */
static void unmap(void *address, cudaMipmappedArray_t raw) {
    int code = 0;
    acu_saved_record failure;
    acu_record_save(&failure);
    ACU_IGNORING_CAPTURES(code, address ? cudaFree(address) : cudaFreeMipmappedArray(raw));
    if (code)
        acu_record_release_error();
    acu_record_restore(&failure);
}

/* Checks the elements, and computes their size. */
static int check_part(const char *call, const acu_external_memory *memory, size_t at,
                      acu_dtype dtype, size_t count, size_t *bytes) {
    if (acu_dtype_size(dtype) == 0)
        return acu_refuse_dtype(call, dtype);
    if (count == 0)
        return acu_fail_on(call, memory, ACU_ERROR_RANGE, "'count' is 0: there is nothing to map");
    if (!__builtin_mul_overflow(count, acu_dtype_size(dtype), bytes) && at <= memory->bytes &&
        *bytes <= memory->bytes - at)
        return 0;
    return acu_fail_on(call, memory, ACU_ERROR_RANGE,
                       "%zu elements from byte %zu on are outside of the memory", count, at);
}

/* CUDA looks at the size only when something is mapped. */
static int outcome_of_map(const char *call, const acu_external_memory *memory, size_t at,
                          int code) {
    if (code == cudaErrorInvalidValue)
        acu_fail_hint(at > 0 && memory->dedicated
                          ? "of a dedicated allocation CUDA maps parts from byte 0 on only; "
                            "acu_buffer_slice() makes other parts"
                          : "'bytes' of the import must be the size of the allocation, which is "
                            "found out only now");
    return acu_outcome(call, memory, code);
}

static int check_device(const char *call, const acu_external_memory *memory,
                        const acu_stream *stream) {
    if (stream->object.device == memory->object.device)
        return 0;
    return acu_fail_on(call, memory, ACU_ERROR_DEVICE,
                       "the memory was imported on device %d, and the stream is on device %d",
                       memory->object.device, stream->object.device);
}

acu_result acu_external_memory_create_buffer(acu_external_memory *memory, size_t at,
                                             acu_stream *stream, acu_dtype dtype, size_t count,
                                             acu_buffer **buffer) {
    ACU_SCOPE();
    void *address = NULL;
    size_t bytes = 0;
    ACU_NEED_POINTER(buffer);
    *buffer = NULL;
    ACU_NEED(memory, acu_external_memory_class);
    ACU_NEED_STREAM(stream);
    ACU_TRY(check_part(__func__, memory, at, dtype, count, &bytes));
    ACU_TRY(check_device(__func__, memory, stream));
    acu_destroy_deferred();
    ACU_TRY(outcome_of_map(__func__, memory, at, map(memory, at, bytes, &address)));
    const acu_storage_request request = {.stream = stream,
                                         .dtype = dtype,
                                         .count = count,
                                         .options = {.memory = ACU_MEMORY_DEVICE},
                                         .given = address,
                                         .owned = true,
                                         .owner = &memory->object};
    const int code = acu_buffer_new_on(__func__, &request, buffer);
    if (code)
        unmap(address, NULL);
    return code;
}

/* ---- images ---- */

static int map_image(const acu_external_memory *memory, size_t at, const acu_array_making *m,
                     cudaMipmappedArray_t *raw) {
    acu_guard guard;
    const struct cudaExternalMemoryMipmappedArrayDesc desc = {
        .offset = at,
        .formatDesc = m->desc,
        .extent = {m->extent.width, m->extent.height, m->extent.depth},
        .flags = m->flags,
        .numLevels = m->levels};
    int code = acu_guard_enter(&guard, memory->object.device);
    if (!code)
        ACU_IGNORING_CAPTURES(code,
                              cudaExternalMemoryGetMappedMipmappedArray(raw, memory->raw, &desc));
    acu_guard_leave(&guard);
    return code;
}

static void hint_at_image(const acu_array_making *m, int code) {
    const unsigned mapped = (unsigned)ACU_ARRAY_SPARSE | (unsigned)ACU_ARRAY_DEFERRED;
    if (code == cudaErrorInvalidValue && m->flags & mapped)
        acu_fail_hint("an image has its memory already: ACU_ARRAY_SPARSE and ACU_ARRAY_DEFERRED "
                      "are for arrays of CUDA's own");
    else
        acu_array_hint(m, code);
}

acu_result acu_external_memory_create_mipmap(acu_external_memory *memory, size_t at,
                                             acu_stream *stream, acu_format format,
                                             acu_extent extent, unsigned levels, unsigned flags,
                                             acu_mipmap **mipmap) {
    ACU_SCOPE();
    acu_array_making m = {.call = __func__, .stream = stream, .levels = levels};
    cudaMipmappedArray_t raw = NULL;
    ACU_NEED_POINTER(mipmap);
    *mipmap = NULL;
    ACU_NEED(memory, acu_external_memory_class);
    ACU_TRY(acu_array_begin_making(&m, &format, extent, flags));
    ACU_REQUIRE_OF(memory, at < memory->bytes, ACU_ERROR_RANGE,
                   "an image from byte %zu on is outside of the memory", at);
    ACU_REQUIRE_OF(memory, levels > 0, ACU_ERROR_RANGE,
                   "'levels' is 0: an image without further levels has 1");
    ACU_TRY(acu_mipmap_check_levels(__func__, extent, flags, levels));
    ACU_TRY(check_device(__func__, memory, stream));
    int code = map_image(memory, at, &m, &raw);
    if (code) {
        hint_at_image(&m, code);
        return acu_cuda_failed_on(__func__, memory, code);
    }
    code = acu_mipmap_own(__func__, stream, raw, levels, &memory->object, mipmap);
    if (code)
        unmap(NULL, raw);
    return code;
}
