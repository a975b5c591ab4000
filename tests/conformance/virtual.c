/* Virtual memory management. */
#include "conformance.h"

#include <stdlib.h>

static const CUmemAllocationProp on_device = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                              .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
static const CUmemAccessDesc read_write = {{.type = CU_MEM_LOCATION_TYPE_DEVICE},
                                           CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

static size_t chunk(void) {
    size_t granularity = 0;
    if (cudaFree(NULL) ||
        cuMemGetAllocationGranularity(&granularity, &on_device, CU_MEM_ALLOC_GRANULARITY_MINIMUM))
        return 1; /* which no chunk is as small as */
    return granularity;
}

CASE(granularity) {
    size_t size = 0;
    CUmemAllocationProp wrong = on_device;
    EQUAL(chunk(), 2 * MIB);
    OK(cuMemGetAllocationGranularity(&size, &on_device, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    EQUAL(size, 2 * MIB);
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuMemGetAllocationGranularity(NULL, &on_device, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuMemGetAllocationGranularity(&size, NULL, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuMemGetAllocationGranularity(&size, &on_device, (CUmemAllocationGranularity_flags)7));
    wrong.location.id = 99; /* the device is not looked at */
    OK(cuMemGetAllocationGranularity(&size, &wrong, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
}

CASE(is_supported) {
    int value = 0;
    OK(cudaFree(NULL));
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
    EQUAL(value, 1);
}

CASE(two_chunks_side_by_side) {
    const size_t size = chunk();
    CUdeviceptr at;
    CUmemGenericAllocationHandle first, second;
    unsigned long long flags = 9;
    char *bytes = malloc(2 * size);
    OK(cuMemAddressReserve(&at, 4 * size, 0, 0, 0));
    OK(cuMemCreate(&first, size, &on_device, 0));
    OK(cuMemCreate(&second, size, &on_device, 0));
    OK(cuMemMap(at, size, 0, first, 0));
    OK(cuMemMap(at + size, size, 0, second, 0));
    SAYS(CUDA_SUCCESS, cuMemGetAccess(&flags, &read_write.location, at));
    EQUAL(flags, 0);
    OK(cuMemSetAccess(at, 2 * size, &read_write, 1));
    OK(cuMemsetD8(at, 1, 2 * size));
    OK(cuMemcpyDtoH(bytes, at, 2 * size));
    IS(bytes[0] == 1 && bytes[2 * size - 1] == 1);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemsetD8(at, 1, 2 * size + 1));
    OK(cuMemGetAccess(&flags, &read_write.location, at));
    EQUAL(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(cuMemUnmap(at, 2 * size));
    OK(cuMemRelease(first));
    OK(cuMemRelease(second));
    OK(cuMemAddressFree(at, 4 * size));
    free(bytes);
}

CASE(memory_outlives_its_handle_and_moves) {
    const size_t size = chunk();
    CUdeviceptr at;
    CUmemGenericAllocationHandle handle, same = 0;
    CUmemAllocationProp properties = {0};
    char byte = 0;
    OK(cuMemAddressReserve(&at, 2 * size, 0, 0, 0));
    OK(cuMemCreate(&handle, size, &on_device, 0));
    OK(cuMemMap(at, size, 0, handle, 0));
    OK(cuMemSetAccess(at, size, &read_write, 1));
    OK(cuMemsetD8(at, 7, size));
    OK(cuMemRelease(handle));
    OK(cuMemcpyDtoH(&byte, at, 1));
    EQUAL(byte, 7);
    OK(cuMemRetainAllocationHandle(&same, (void *)(uintptr_t)at));
    OK(cuMemGetAllocationPropertiesFromHandle(&properties, same));
    EQUAL(properties.type, CU_MEM_ALLOCATION_TYPE_PINNED);
    EQUAL(properties.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
    OK(cudaDeviceSynchronize());
    OK(cuMemUnmap(at, size));
    OK(cuMemMap(at + size, size, 0, same, 0));
    OK(cuMemSetAccess(at + size, size, &read_write, 1));
    OK(cuMemcpyDtoH(&byte, at + size + 5, 1));
    EQUAL(byte, 7);
    OK(cuMemUnmap(at + size, size));
    OK(cuMemRelease(same));
    OK(cuMemAddressFree(at, 2 * size));
}

CASE(what_a_mapped_pointer_is) {
    const size_t size = chunk();
    CUdeviceptr at;
    CUmemGenericAllocationHandle handle;
    struct cudaPointerAttributes a;
    CUdeviceptr base = 0;
    size_t range = 0;
    OK(cuMemAddressReserve(&at, 2 * size, 0, 0, 0));
    OK(cuMemCreate(&handle, size, &on_device, 0));
    OK(cuMemMap(at, size, 0, handle, 0));
    OK(cuMemSetAccess(at, size, &read_write, 1));
    OK(cudaPointerGetAttributes(&a, (void *)(uintptr_t)at));
    EQUAL(a.type, cudaMemoryTypeDevice);
    EQUAL(a.device, 0);
    SAYS(CUDA_SUCCESS, cuMemGetAddressRange(&base, &range, at + 5));
    IS(base == at);
    EQUAL(range, 2097152);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemFree(at));
    FAILS(cudaErrorInvalidValue, cudaFree((void *)(uintptr_t)at));
    OK(cuMemUnmap(at, size));
    OK(cuMemRelease(handle));
    OK(cuMemAddressFree(at, 2 * size));
}

CASE(what_is_refused) {
    const size_t size = chunk();
    CUdeviceptr at;
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp wrong = on_device;
    CUmemAccessDesc access = read_write;
    unsigned long long flags;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(NULL, size, 0, 0, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(&at, 0, 0, 0, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(&at, 100, 0, 0, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(&at, size, 3, 0, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(&at, size, 0, 0, 1));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, 100, &on_device, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemCreate(NULL, size, &on_device, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, size, NULL, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, size, &on_device, 1));
    SAYS(CUDA_ERROR_OUT_OF_MEMORY, cuMemCreate(&handle, size << 20, &on_device, 0));
    wrong.location.id = 99;
    SAYS(CUDA_ERROR_INVALID_DEVICE, cuMemCreate(&handle, size, &wrong, 0));
    OK(cuMemAddressReserve(&at, 2 * size, 0, 0, 0));
    OK(cuMemCreate(&handle, size, &on_device, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemMap(at + 1, size, 0, handle, 0));
    SAYS(CUDA_ERROR_NOT_SUPPORTED, cuMemMap(at, 2 * size, 0, handle, 0));
    SAYS(CUDA_ERROR_NOT_SUPPORTED, cuMemMap(at, size, size, handle, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemMap(at, size, 0, 0, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemMap(at, size, 0, handle, 1));
    OK(cuMemUnmap(at, size)); /* nothing is there */
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess(at, size, &access, 1));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemGetAccess(&flags, &access.location, at));
    OK(cuMemMap(at, size, 0, handle, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemMap(at, size, 0, handle, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemsetD8(at, 1, 1)); /* no access yet */
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess(at, size, NULL, 1));
    access.location.id = 99;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess(at, size, &access, 1));
    access = read_write;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    OK(cuMemSetAccess(at, size, &access, 1));
    OK(cuMemUnmap(at, 2 * size)); /* a half of which is mapped */
    OK(cuMemUnmap(at, size));
    OK(cuMemRelease(handle));
    OK(cuMemAddressFree(at, 2 * size));
}

/* ---- what is known of memory that nobody has access to ---- */

static int type_of(CUdeviceptr at) {
    struct cudaPointerAttributes a;
    return cudaPointerGetAttributes(&a, (void *)(uintptr_t)at) ? -1 : (int)a.type;
}

static unsigned long long attribute_of(CUdeviceptr at, CUpointer_attribute attribute) {
    unsigned long long value = 0;
    return cuPointerGetAttribute(&value, attribute, at) ? 99 : value;
}

CASE(memory_without_access_is_known) {
    const size_t size = chunk();
    CUdeviceptr at, base;
    CUmemGenericAllocationHandle handle;
    unsigned long long flags = 7;
    unsigned host_flags = 0;
    size_t range = 0;
    OK(cuMemAddressReserve(&at, 2 * size, 0, 0, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemGetAccess(&flags, &read_write.location, at));
    EQUAL(flags, 0); /* which is written before the error */
    EQUAL(type_of(at), cudaMemoryTypeUnregistered);
    OK(cuMemCreate(&handle, size, &on_device, 0));
    OK(cuMemMap(at + size, size, 0, handle, 0));
    EQUAL(type_of(at), cudaMemoryTypeUnregistered);
    EQUAL(type_of(at + size), cudaMemoryTypeDevice);
    EQUAL(attribute_of(at + size, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR), at);
    EQUAL(attribute_of(at + size, CU_POINTER_ATTRIBUTE_RANGE_SIZE), 2 * size);
    EQUAL(attribute_of(at + size, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR), at + size);
    EQUAL(attribute_of(at + size, CU_POINTER_ATTRIBUTE_MAPPING_SIZE), size);
    EQUAL(attribute_of(at + size, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS), 0);
    EQUAL(attribute_of(at + size, CU_POINTER_ATTRIBUTE_DEVICE_POINTER), 99);
    SAYS(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange(&base, &range, at + size));
    OK(cuMemSetAccess(at + size, size, &read_write, 1));
    OK(cudaHostGetFlags(&host_flags, (void *)(uintptr_t)(at + size)));
    EQUAL(host_flags, cudaHostAllocPortable | cudaHostAllocMapped);
    EQUAL(attribute_of(at + size, CU_POINTER_ATTRIBUTE_DEVICE_POINTER), at + size);
    OK(cuMemGetAddressRange(&base, &range, at + size));
    IS(base == at + size && range == size);
    OK(cuMemUnmap(at, 2 * size));
    EQUAL(type_of(at + size), cudaMemoryTypeUnregistered);
    OK(cuMemRelease(handle));
    OK(cuMemAddressFree(at, 2 * size));
}

CASE(memory_is_mapped_as_a_whole) {
    const size_t size = chunk();
    CUdeviceptr at;
    CUmemGenericAllocationHandle handle;
    OK(cuMemAddressReserve(&at, 2 * size, 0, 0, 0));
    OK(cuMemCreate(&handle, 2 * size, &on_device, 0));
    SAYS(CUDA_ERROR_NOT_SUPPORTED, cuMemMap(at, size, 0, handle, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemMap(0, size, 0, handle, 0));
    OK(cuMemMap(at, 2 * size, 0, handle, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(at, size));
    OK(cuMemUnmap(at, 2 * size));
    OK(cuMemUnmap(at, 4096)); /* where nothing is mapped */
    OK(cuMemRelease(handle));
    OK(cuMemAddressFree(at, 2 * size));
}

/* Only where the first mapping begins and where the last one ends is looked at. */
CASE(access_across_a_gap) {
    const size_t size = chunk();
    CUdeviceptr at;
    CUmemGenericAllocationHandle handle;
    OK(cuMemAddressReserve(&at, 3 * size, 0, 0, 0));
    OK(cuMemCreate(&handle, size, &on_device, 0));
    OK(cuMemMap(at, size, 0, handle, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess(at, 3 * size, &read_write, 1));
    OK(cuMemMap(at + 2 * size, size, 0, handle, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess(at, 2 * size, &read_write, 1));
    OK(cuMemSetAccess(at, 3 * size, &read_write, 1));
    EQUAL(attribute_of(at, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS),
          CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
    OK(cuMemUnmap(at, 3 * size));
    OK(cuMemRelease(handle));
    OK(cuMemAddressFree(at, 3 * size));
}

CASE(properties_of_memory) {
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp asked = on_device, got;
    const size_t size = chunk();
    asked.allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_GENERIC;
    asked.allocFlags.gpuDirectRDMACapable = 2;
    OK(cuMemCreate(&handle, size, &asked, 0));
    OK(cuMemGetAllocationPropertiesFromHandle(&got, handle));
    EQUAL(got.allocFlags.compressionType, CU_MEM_ALLOCATION_COMP_NONE);
    EQUAL(got.allocFlags.gpuDirectRDMACapable, 1);
    OK(cuMemRelease(handle));
    asked.allocFlags.compressionType = 2;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, size, &asked, 0));
    asked.location.id = 99; /* which is looked at first */
    asked.type = CU_MEM_ALLOCATION_TYPE_INVALID;
    SAYS(CUDA_ERROR_INVALID_DEVICE, cuMemCreate(&handle, size, &asked, 0));
}

/* ---- memory of the host ---- */

static const CUmemAllocationProp on_host = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                            .location = {.type = CU_MEM_LOCATION_TYPE_HOST}};
static const CUmemAccessDesc by_host = {{.type = CU_MEM_LOCATION_TYPE_HOST_NUMA},
                                        CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

CASE(memory_of_the_host) {
    const size_t size = chunk();
    CUdeviceptr at;
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp got;
    char byte = 0;
    OK(cuMemCreate(&handle, size, &on_host, 0));
    OK(cuMemGetAllocationPropertiesFromHandle(&got, handle));
    EQUAL(got.location.type, CU_MEM_LOCATION_TYPE_HOST_NUMA);
    EQUAL(got.location.id, 0);
    OK(cuMemAddressReserve(&at, size, 0, 0, 0));
    OK(cuMemMap(at, size, 0, handle, 0));
    EQUAL(type_of(at), cudaMemoryTypeHost);
    OK(cuMemSetAccess(at, size, &by_host, 1));
    *(volatile char *)(uintptr_t)at = 42;
    EQUAL(attribute_of(at, CU_POINTER_ATTRIBUTE_HOST_POINTER), at);
    EQUAL(attribute_of(at, CU_POINTER_ATTRIBUTE_DEVICE_POINTER), 99);
    OK(cuMemSetAccess(at, size, &read_write, 1));
    OK(cuMemcpyDtoH(&byte, at, 1));
    EQUAL(byte, 42);
    OK(cuMemsetD8(at, 7, size));
    OK(cuCtxSynchronize());
    EQUAL(*(volatile char *)(uintptr_t)(at + size - 1), 7);
    FAILS(cudaErrorInvalidValue, cudaFreeHost((void *)(uintptr_t)at));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemFree(at));
    OK(cuMemUnmap(at, size));
    OK(cuMemRelease(handle));
    OK(cuMemAddressFree(at, size));
}

CASE(access_of_the_host) {
    const size_t size = chunk();
    CUdeviceptr at;
    CUmemGenericAllocationHandle handle;
    CUmemAccessDesc host = by_host, both[2] = {read_write, by_host};
    const CUmemLocation any_node = {.type = CU_MEM_LOCATION_TYPE_HOST};
    unsigned long long flags = 9;
    OK(cuMemCreate(&handle, size, &on_device, 0));
    OK(cuMemAddressReserve(&at, size, 0, 0, 0));
    OK(cuMemMap(at, size, 0, handle, 0));
    SAYS(CUDA_ERROR_NOT_SUPPORTED, cuMemSetAccess(at, size, &by_host, 1));
    host.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    OK(cuMemSetAccess(at, size, &host, 1));
    both[0].location.id = 99;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess(at, size, both, 2));
    both[0] = read_write; /* which takes effect before the other is refused */
    SAYS(CUDA_ERROR_NOT_SUPPORTED, cuMemSetAccess(at, size, both, 2));
    OK(cuMemGetAccess(&flags, &read_write.location, at));
    EQUAL(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(cuMemGetAccess(&flags, &by_host.location, at));
    EQUAL(flags, 0);
    OK(cuMemGetAccess(&flags, &any_node, at)); /* the device's, because the host has none */
    EQUAL(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(cuMemUnmap(at, size));
    OK(cuMemRelease(handle));
    OK(cuMemAddressFree(at, size));
}

CASE(memory_of_the_host_that_is_refused) {
    const size_t size = chunk();
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp wrong = on_host;
    wrong.location.id = 99; /* a number beside HOST is ignored */
    OK(cuMemCreate(&handle, size, &wrong, 0));
    OK(cuMemRelease(handle));
    wrong.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, size, &wrong, 0));
    wrong.location = (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT};
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, size, &wrong, 0));
    wrong = on_host;
    wrong.allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_GENERIC;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, size, &wrong, 0));
    wrong = on_host;
    wrong.allocFlags.gpuDirectRDMACapable = 1;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, size, &wrong, 0));
    wrong = on_host;
    wrong.type = CU_MEM_ALLOCATION_TYPE_MANAGED;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, size, &wrong, 0));
}

CASE(the_host_can_have_memory) {
    int value = 0;
    OK(cuDeviceGetAttribute(&value,
                            CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
    EQUAL(value, 1);
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
                            0));
    EQUAL(value, 1);
}

/* ---- what the access does not allow: what stays of it goes with the process ----
 */

/* Memory of a device, mapped for itself alone, once filled with 1s. */
static CUdeviceptr map_of(int device, CUmemAccess_flags flags) {
    const size_t size = chunk();
    CUmemAllocationProp properties = on_device;
    CUmemAccessDesc access = read_write;
    CUdeviceptr at = 0;
    CUmemGenericAllocationHandle handle;
    properties.location.id = access.location.id = device;
    if (cudaSetDevice(device) || cudaFree(NULL) || cuMemAddressReserve(&at, size, 0, 0, 0) ||
        cuMemCreate(&handle, size, &properties, 0) || cuMemMap(at, size, 0, handle, 0) ||
        cuMemSetAccess(at, size, &access, 1) || cuMemsetD8(at, 1, size) || cuCtxSynchronize())
        return 0;
    access.flags = flags;
    return cuMemSetAccess(at, size, &access, 1) || cudaSetDevice(0) || cudaFree(NULL) ? 0 : at;
}

LONE_CASE(memory_to_read_is_filled) {
    CUdeviceptr at = map_of(0, CU_MEM_ACCESS_FLAGS_PROT_READ);
    unsigned long long flags = 9;
    char byte = 0;
    IS(at != 0);
    OK(cuMemGetAccess(&flags, &read_write.location, at));
    EQUAL(flags, CU_MEM_ACCESS_FLAGS_PROT_READ);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemsetD8(at, 7, 64));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(&byte, at, 1));
    EQUAL(byte, 1);
}

LONE_CASE(memory_to_read_is_copied_to) {
    CUdeviceptr at = map_of(0, CU_MEM_ACCESS_FLAGS_PROT_READ);
    char bytes[64] = {7};
    IS(at != 0);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(at, bytes, 64));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(bytes, at, 1));
    EQUAL(bytes[0], 1);
}

LONE_CASE(memory_to_read_is_copied_to_on_the_device) {
    CUdeviceptr at = map_of(0, CU_MEM_ACCESS_FLAGS_PROT_READ), other;
    char byte = 0;
    IS(at != 0);
    OK(cuMemAlloc(&other, 64));
    OK(cuMemsetD8(other, 7, 64));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoD(at, other, 64));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(&byte, at, 1));
    EQUAL(byte, 1);
}

LONE_CASE(memory_to_read_is_read) {
    CUdeviceptr at = map_of(0, CU_MEM_ACCESS_FLAGS_PROT_READ), other;
    char bytes[64] = {0};
    IS(at != 0);
    OK(cuMemAlloc(&other, 64));
    OK(cuMemcpyDtoH(bytes, at, 64));
    EQUAL(bytes[63], 1);
    OK(cuMemcpyDtoD(other, at, 64));
    OK(cudaMemcpy((void *)(uintptr_t)other, (void *)(uintptr_t)at, 64, cudaMemcpyDefault));
    OK(cuCtxSynchronize());
}

LONE_CASE(memory_of_another_device_alone_is_filled) {
    NEEDS_DEVICES(2);
    CUdeviceptr at = map_of(1, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    IS(at != 0);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemsetD8(at, 7, 64));
    OK(cuCtxSynchronize());
    FAILS(cudaErrorInvalidValue, cudaMemset((void *)(uintptr_t)at, 7, 64));
    OK(cuCtxSynchronize());
}

LONE_CASE(memory_of_another_device_alone_is_copied_to) {
    NEEDS_DEVICES(2);
    CUdeviceptr at = map_of(1, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    char bytes[64] = {7};
    IS(at != 0);
    FAILS(cudaErrorInvalidValue, cudaMemcpy((void *)(uintptr_t)at, bytes, 64, cudaMemcpyDefault));
    OK(cuCtxSynchronize());
}

LONE_CASE(memory_of_another_device_alone_is_read) {
    NEEDS_DEVICES(2);
    CUdeviceptr at = map_of(1, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    char bytes[64] = {0};
    IS(at != 0);
    FAILS(cudaErrorInvalidValue, cudaMemcpy(bytes, (void *)(uintptr_t)at, 64, cudaMemcpyDefault));
    EQUAL(bytes[63], 0);
    OK(cuCtxSynchronize());
}

LONE_CASE(memory_of_another_device_alone_is_copied_from_on_this) {
    NEEDS_DEVICES(2);
    CUdeviceptr at = map_of(1, CU_MEM_ACCESS_FLAGS_PROT_READWRITE), other;
    IS(at != 0);
    OK(cuMemAlloc(&other, 64));
    FAILS(cudaErrorInvalidValue,
          cudaMemcpy((void *)(uintptr_t)other, (void *)(uintptr_t)at, 64, cudaMemcpyDefault));
    OK(cuCtxSynchronize());
}
