/* What CUDA knows about an address. */
#include <anycuda/cuda.h>
#include <anycuda/memory.h>

#include <stdio.h>

#include "core/translate.h"
#include "safe/base/device.h"

/* ---- questions to the driver, which an old one may not know ---- */

static CUdeviceptr number_of(const void *address) {
    return (CUdeviceptr)(uintptr_t)address;
}

/* Asks for one attribute; returns false, with `value` as it was and nothing recorded, where the
 * driver does not answer. The values are of 4 or 8 bytes. */
static bool ask(const void *address, CUpointer_attribute attribute, uint64_t *value) {
    acu_saved_record before;
    uint64_t answer = 0;
    acu_record_save(&before);
    const bool told = cuPointerGetAttribute(&answer, attribute, number_of(address)) == CUDA_SUCCESS;
    acu_record_restore(&before);
    if (told)
        *value = answer;
    return told;
}

static acu_memory_answer ask_whether(const void *address, CUpointer_attribute attribute) {
    uint64_t value = 0;
    if (!ask(address, attribute, &value))
        return ACU_MEMORY_ANSWER_UNKNOWN;
    return value ? ACU_MEMORY_ANSWER_YES : ACU_MEMORY_ANSWER_NO;
}

/* Asks for an attribute of a range of managed memory; returns false, with nothing recorded, where
 * the driver does not answer. */
static bool ask_range(const void *address, size_t bytes, CUmem_range_attribute attribute, int *list,
                      size_t count) {
    acu_saved_record before;
    acu_record_save(&before);
    const CUresult code =
        cuMemRangeGetAttribute(list, count * sizeof *list, attribute, number_of(address), bytes);
    acu_record_restore(&before);
    return code == CUDA_SUCCESS;
}

/* Returns whether the memory was mapped to reserved addresses: then it has a handle. What belongs
 * to a context was not. */
static bool is_mapped(const void *address) {
    acu_saved_record before;
    uint64_t context = 0;
    if (ask(address, CU_POINTER_ATTRIBUTE_CONTEXT, &context) && context)
        return false;
    CUmemGenericAllocationHandle handle = 0;
    acu_record_save(&before);
    const bool has = cuMemRetainAllocationHandle(&handle, (void *)address) == CUDA_SUCCESS;
    if (has)
        (void)cuMemRelease(handle);
    acu_record_restore(&before);
    return has;
}

/* ---- what is known ---- */

static acu_memory_kind kind_of(const struct cudaPointerAttributes *a, const void *address,
                               bool of_a_pool) {
    if (a->type == cudaMemoryTypeManaged)
        return ACU_MEMORY_KIND_MANAGED;
    if (!of_a_pool && is_mapped(address))
        return ACU_MEMORY_KIND_VIRTUAL;
    if (a->type == cudaMemoryTypeHost)
        return ACU_MEMORY_KIND_PINNED;
    return of_a_pool ? ACU_MEMORY_KIND_POOL : ACU_MEMORY_KIND_DEVICE;
}

/* Of mapped memory the range is all that was reserved; one mapping tells more. */
static void find_extent(const void *address, acu_memory_info *info) {
    const bool mapping = info->kind == ACU_MEMORY_KIND_VIRTUAL;
    uint64_t base = 0, bytes = 0;
    if (!ask(address,
             mapping ? CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR
                     : CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
             &base) ||
        !ask(address, mapping ? CU_POINTER_ATTRIBUTE_MAPPING_SIZE : CU_POINTER_ATTRIBUTE_RANGE_SIZE,
             &bytes))
        return;
    info->base = (void *)(uintptr_t)base;
    info->bytes = (size_t)bytes;
    if (mapping && ask(address, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, &base) &&
        ask(address, CU_POINTER_ATTRIBUTE_RANGE_SIZE, &bytes)) {
        info->reserved = (void *)(uintptr_t)base;
        info->reserved_bytes = (size_t)bytes;
    }
}

static acu_memory_answer find_writable(const void *address) {
    uint64_t flags = 0;
    if (!ask(address, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, &flags))
        return ACU_MEMORY_ANSWER_UNKNOWN;
    return flags == CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE ? ACU_MEMORY_ANSWER_YES
                                                               : ACU_MEMORY_ANSWER_NO;
}

/* ---- how managed memory is to be used ---- */

/* A place, as the driver is asked for it. */
typedef struct place {
    CUmem_range_attribute old;      /* a device's ordinal, or CUDA's number for host or nothing */
    CUmem_range_attribute type, id; /* of a location; since CUDA 12.2 */
} place;

static const place preferred = {CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION,
                                CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE,
                                CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID};
static const place prefetched = {CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION,
                                 CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE,
                                 CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID};

/* Only the newer attributes tell a NUMA node, for which the older one may have no number. */
static acu_memory_place find_place(const void *address, size_t bytes, const place *asked,
                                   acu_device *device, int *node) {
    int where = CU_DEVICE_INVALID, type = 0, id = 0;
    if (!ask_range(address, bytes, asked->old, &where, 1))
        return ACU_MEMORY_PLACE_UNKNOWN;
    if (where >= 0) {
        *device = where;
        return ACU_MEMORY_PLACE_DEVICE;
    }
    if (ask_range(address, bytes, asked->type, &type, 1) &&
        type == CU_MEM_LOCATION_TYPE_HOST_NUMA && ask_range(address, bytes, asked->id, &id, 1)) {
        *node = id;
        return ACU_MEMORY_PLACE_HOST;
    }
    return where == CU_DEVICE_CPU ? ACU_MEMORY_PLACE_HOST : ACU_MEMORY_PLACE_NONE;
}

static const acu_memory_range nothing_known = {.preferred_device = ACU_DEVICE_CURRENT,
                                               .prefetched_device = ACU_DEVICE_CURRENT,
                                               .preferred_node = -1,
                                               .prefetched_node = -1};

static void find_range(const void *address, size_t bytes, acu_memory_range *range) {
    int mostly = 0, devices[ACU_COUNTED_DEVICES];
    if (ask_range(address, bytes, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, &mostly, 1))
        range->read_mostly = mostly ? ACU_MEMORY_ANSWER_YES : ACU_MEMORY_ANSWER_NO;
    range->preferred =
        find_place(address, bytes, &preferred, &range->preferred_device, &range->preferred_node);
    range->prefetched =
        find_place(address, bytes, &prefetched, &range->prefetched_device, &range->prefetched_node);
    if (!ask_range(address, bytes, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, devices,
                   ACU_COUNTED_DEVICES))
        return;
    for (int i = 0; i < ACU_COUNTED_DEVICES; i++)
        if (devices[i] >= 0 && devices[i] < ACU_COUNTED_DEVICES)
            range->accessed_by |= UINT64_C(1) << (unsigned)devices[i];
}

static int outcome_at(const char *call, const void *address, int code) {
    char text[40];
    if (!code)
        return 0;
    snprintf(text, sizeof text, "address %p", address);
    return acu_cuda_failed(call, text, code);
}

/* CUDA is asked once in a way that may fail: what follows does not record failures. */
acu_result acu_memory_get_range(const void *address, size_t bytes, acu_memory_range *range) {
    ACU_SCOPE();
    int mostly = 0;
    ACU_NEED_POINTER(range);
    *range = nothing_known;
    ACU_REQUIRE(bytes > 0, ACU_ERROR_RANGE, "'bytes' is 0");
    const int code = (int)cudaMemRangeGetAttribute(&mostly, sizeof mostly,
                                                   cudaMemRangeAttributeReadMostly, address, bytes);
    if (code == cudaErrorInvalidValue)
        acu_fail_hint("only managed memory has such attributes; acu_memory_get_info() tells what "
                      "memory an address is in");
    ACU_TRY(outcome_at(__func__, address, code));
    find_range(address, bytes, range);
    return 0;
}

/* ---- all of it ---- */

static void find_all(const void *address, const struct cudaPointerAttributes *a,
                     acu_memory_info *info) {
    uint64_t pool = 0, handles = 0;
    (void)ask(address, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, &handles);
    (void)ask(address, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, &pool);
    (void)ask(address, CU_POINTER_ATTRIBUTE_BUFFER_ID, &info->id);
    info->kind = kind_of(a, address, pool != 0);
    info->device = a->device;
    info->host_address = a->hostPointer;
    info->device_address = a->devicePointer;
    info->pool = (struct CUmemPoolHandle_st *)(uintptr_t)pool;
    info->writable = find_writable(address);
    info->ipc = ask_whether(address, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE);
    info->rdma = ask_whether(address, CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE);
    info->synchronous = ask_whether(address, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS);
    info->handles = (unsigned)handles;
    find_extent(address, info);
    if (info->kind == ACU_MEMORY_KIND_MANAGED)
        find_range(address, 1, &info->range);
}

acu_result acu_memory_get_info(const void *address, acu_memory_info *info) {
    ACU_SCOPE();
    struct cudaPointerAttributes a = {.type = cudaMemoryTypeUnregistered};
    ACU_NEED_POINTER(info);
    *info = (acu_memory_info){.device = ACU_DEVICE_CURRENT, .range = nothing_known};
    ACU_TRY(outcome_at(__func__, address, (int)cudaPointerGetAttributes(&a, address)));
    if (a.type != cudaMemoryTypeUnregistered)
        find_all(address, &a, info);
    return 0;
}

acu_result acu_memory_set_synchronous(void *address, bool synchronous) {
    ACU_SCOPE();
    const unsigned value = synchronous;
    ACU_NEED_POINTER(address);
    return outcome_at(__func__, address,
                      acu_translate_driver(cuPointerSetAttribute(
                          &value, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, number_of(address))));
}

acu_result acu_memory_can_access(const void *address, acu_device device, bool *can) {
    ACU_SCOPE();
    struct cudaPointerAttributes a = {.type = cudaMemoryTypeUnregistered};
    acu_guard guard;
    ACU_NEED_POINTER(can);
    *can = false;
    if (device == ACU_DEVICE_CURRENT)
        ACU_TRY(acu_device_resolve(__func__, &device));
    int code = acu_guard_enter(&guard, device); /* refuses a device that does not exist */
    if (!code)
        code = (int)cudaPointerGetAttributes(&a, address);
    acu_guard_leave(&guard);
    *can = !code && a.type != cudaMemoryTypeUnregistered && a.devicePointer;
    return acu_device_outcome(__func__, device, code);
}
