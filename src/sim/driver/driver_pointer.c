/*
 * Attributes of pointers. What each kind of memory answers was asked of an H200 with driver 13.0;
 * tests/conformance/pointer.c has the answers.
 */
#include "sim/device/device.h"
#include "sim/driver/driver.h"
#include "sim/memory/ipc_memory.h"
#include "sim/memory/pool.h"
#include "sim/memory/range.h"
#include "sim/memory/virtual.h"

#include <string.h>

/* A device maps its own memory and the host's in pieces of this size. */
enum { PIECE = 2 << 20 };

/* Bytes that each attribute has; 0 for one of which no GPU has been asked. */
static const unsigned char sizes[] = {
    [CU_POINTER_ATTRIBUTE_CONTEXT] = 8,
    [CU_POINTER_ATTRIBUTE_MEMORY_TYPE] = 4,
    [CU_POINTER_ATTRIBUTE_DEVICE_POINTER] = 8,
    [CU_POINTER_ATTRIBUTE_HOST_POINTER] = 8,
    [CU_POINTER_ATTRIBUTE_P2P_TOKENS] = 12,
    [CU_POINTER_ATTRIBUTE_SYNC_MEMOPS] = 4,
    [CU_POINTER_ATTRIBUTE_BUFFER_ID] = 8,
    [CU_POINTER_ATTRIBUTE_IS_MANAGED] = 4,
    [CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL] = 4,
    [CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE] = 4,
    [CU_POINTER_ATTRIBUTE_RANGE_START_ADDR] = 8,
    [CU_POINTER_ATTRIBUTE_RANGE_SIZE] = 8,
    [CU_POINTER_ATTRIBUTE_MAPPED] = 4,
    [CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES] = 8,
    [CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE] = 4,
    [CU_POINTER_ATTRIBUTE_ACCESS_FLAGS] = 4,
    [CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE] = 8,
    [CU_POINTER_ATTRIBUTE_MAPPING_SIZE] = 8,
    [CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR] = 8,
    [CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID] = 8,
    [CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE] = 4,
};

static size_t size_of(CUpointer_attribute attribute) {
    bool known = acu_sim_driver_knows(&acu_cuda_type_CUpointer_attribute_enum, attribute);
    return known && (size_t)attribute < sizeof sizes ? sizes[attribute] : 0;
}

/* Writes as many bytes of the value as the attribute has, and 0 behind them. */
static void put(void *to, CUpointer_attribute attribute, uint64_t value) {
    const size_t size = size_of(attribute);
    for (size_t i = 0; i < size; i++, value >>= 8u)
        ((unsigned char *)to)[i] = (unsigned char)value;
}

/* The device's mapping that has the range; of registered memory the device maps whole pages. */
static uintptr_t mapping_start(const acu_sim_range *range) {
    uintptr_t piece = range->kind == SIM_REGISTERED ? 4096 : PIECE;
    return range->bytes ? range->base : range->base / piece * piece;
}

/* Memory of another process is mapped in whole pieces of its own. */
static size_t mapping_size(const acu_sim_range *range) {
    uintptr_t piece = range->kind == SIM_REGISTERED ? 4096 : PIECE;
    if (range->ipc)
        return (range->size + PIECE - 1) / PIECE * PIECE;
    uintptr_t end = (range->base + range->size + piece - 1) / piece * piece;
    return range->bytes ? range->size : end - mapping_start(range);
}

static unsigned access_flags(const acu_sim_range *range) {
    return !acu_sim_range_allows_access(range, range->device)
               ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE
           : acu_sim_range_allows_writing(range, range->device)
               ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE
               : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READ;
}

/* Returns an attribute of a pointer into memory that CUDA knows; 0 where there is no such thing. */
static uint64_t look_up(const acu_sim_range *range, CUpointer_attribute attribute,
                        CUdeviceptr ptr) {
    bool device_only = range->kind == SIM_DEVICE, managed = range->kind == SIM_MANAGED;
    bool of_a_context = !acu_sim_range_has_grants(range) && !range->allocation;
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        return of_a_context ? (uintptr_t)acu_sim_context_handle(range->context) : 0;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        return device_only || managed ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        return ptr;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        return device_only ? 0 : ptr;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        return range->sync_memops;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        return range->id;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        return managed;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        return (uint64_t)range->device->index;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        return acu_sim_ipc_can_export(range);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        return range->base;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        return range->size;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        return true;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        return access_flags(range);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        return range->pool ? (uint64_t)range->pool->props.handleTypes : 0;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        return (uintptr_t)range->pool;
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        return mapping_size(range);
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        return mapping_start(range);
    default: /* abilities that the simulated devices lack, such as GPUDirect RDMA */
        return 0;
    }
}

/* Writes what cuPointerGetAttributes() does for a pointer into memory that CUDA does not know. */
static void put_unknown(void *to, CUpointer_attribute attribute, CUdeviceptr ptr) {
    if (attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER)
        put(to, attribute, ptr);
    else if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
        put(to, attribute, (uint32_t)CU_DEVICE_INVALID);
    else if (attribute != CU_POINTER_ATTRIBUTE_RANGE_START_ADDR &&
             attribute != CU_POINTER_ATTRIBUTE_RANGE_SIZE) /* which are left as they are */
        put(to, attribute, 0);
}

/* Returns whether cuPointerGetAttribute() fails for the attribute of such memory. CUDA writes the
 * value before it fails. */
static bool is_refused(const acu_sim_range *range, CUpointer_attribute attribute) {
    if (attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER)
        return range->kind == SIM_DEVICE;
    if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_POINTER)
        return !range->bytes && !acu_sim_range_allows_access(range, acu_sim_device_now());
    if (attribute == CU_POINTER_ATTRIBUTE_P2P_TOKENS)
        return range->kind != SIM_DEVICE && range->kind != SIM_MANAGED;
    return false;
}

/* ---- mapped memory, which a pointer may point into that nobody has access to ---- */

static bool device_reaches(const acu_sim_mapping *m) {
    return acu_sim_mapping_access(m, acu_sim_self()->device) != CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

/* As look_up(), of mapped memory: the reservation is its range. */
static uint64_t look_up_mapped(const acu_sim_mapping *m, CUpointer_attribute attribute,
                               CUdeviceptr ptr) {
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        return m->of->on_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        return device_reaches(m) ? ptr : 0;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        return m->host ? ptr : 0;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        return m->id;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        return (uint64_t)m->of->device->index;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        return m->in->base;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        return m->in->size;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        return true;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        return (uint64_t)m->of->properties.requestedHandleTypes;
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
        return m->of->properties.allocFlags.gpuDirectRDMACapable;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        return acu_sim_mapping_access(m, m->of->device->index); /* whose numbers are the same */
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        return m->size;
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        return m->base;
    default:
        return 0;
    }
}

/* CUDA writes the value before it fails. */
static cudaError_t get_mapped(const acu_sim_mapping *m, void *data, CUpointer_attribute attribute,
                              CUdeviceptr ptr) {
    put(data, attribute, look_up_mapped(m, attribute, ptr));
    return (attribute == CU_POINTER_ATTRIBUTE_DEVICE_POINTER && !device_reaches(m)) ||
                   (attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER && !m->host)
               ? cudaErrorInvalidValue
               : cudaSuccess;
}

/* ---- calls ---- */

/* A pointer that CUDA does not know is refused here, but not by cuPointerGetAttributes(). */
cudaError_t acu_sim_cuPointerGetAttribute(void *data, CUpointer_attribute attribute,
                                          CUdeviceptr ptr) {
    SIM_TRY(acu_sim_require_with_memory(SIM_NEEDS_CONTEXT, ptr));
    const acu_sim_mapping *mapping = acu_sim_virtual_mapping_at(acu_sim_driver_pointer(ptr));
    acu_sim_range *range = acu_sim_range_there(acu_sim_driver_pointer(ptr));
    if (!data || (!range && !mapping) || !size_of(attribute))
        return cudaErrorInvalidValue;
    if (mapping)
        return get_mapped(mapping, data, attribute, ptr);
    put(data, attribute, look_up(range, attribute, ptr));
    if (is_refused(range, attribute))
        return cudaErrorInvalidValue;
    /* The program asks for tokens so that other devices can copy the memory. CUDA sets the memory's
     * SYNC_MEMOPS then. */
    range->sync_memops = range->sync_memops || attribute == CU_POINTER_ATTRIBUTE_P2P_TOKENS;
    return cudaSuccess;
}

cudaError_t acu_sim_cuPointerGetAttributes(unsigned int numAttributes,
                                           CUpointer_attribute *attributes, void **data,
                                           CUdeviceptr ptr) {
    SIM_TRY(acu_sim_require_with_memory(SIM_NEEDS_CONTEXT, ptr));
    const acu_sim_mapping *mapping = acu_sim_virtual_mapping_at(acu_sim_driver_pointer(ptr));
    const acu_sim_range *range = acu_sim_range_there(acu_sim_driver_pointer(ptr));
    if (!numAttributes || !attributes || !data)
        return cudaErrorInvalidValue;
    for (unsigned i = 0; i < numAttributes; i++)
        if (!size_of(attributes[i]) || attributes[i] == CU_POINTER_ATTRIBUTE_P2P_TOKENS)
            return cudaErrorInvalidValue;
    for (unsigned i = 0; i < numAttributes; i++)
        if (mapping)
            put(data[i], attributes[i], look_up_mapped(mapping, attributes[i], ptr));
        else if (range)
            put(data[i], attributes[i], look_up(range, attributes[i], ptr));
        else
            put_unknown(data[i], attributes[i], ptr);
    return cudaSuccess;
}

/* Copies are in order here whatever the attribute says; only the value is kept. */
cudaError_t acu_sim_cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
                                          CUdeviceptr ptr) {
    SIM_TRY(acu_sim_require_with_memory(SIM_NEEDS_CONTEXT, ptr));
    const acu_sim_mapping *mapping = acu_sim_virtual_mapping_at(acu_sim_driver_pointer(ptr));
    acu_sim_range *range = acu_sim_range_there(acu_sim_driver_pointer(ptr));
    unsigned on;
    if (!value || (!range && !mapping) || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
        return cudaErrorInvalidValue;
    if (mapping)
        return cudaErrorNotSupported;
    memcpy(&on, value, sizeof on);
    range->sync_memops = on != 0;
    return cudaSuccess;
}
