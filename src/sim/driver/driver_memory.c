/* The driver API's memory: allocating it, what a pointer points at, and managed memory. */
#include "sim/device/device.h"
#include "sim/driver/driver.h"
#include "sim/memory/range.h"
#include "sim/memory/virtual.h"
#include "sim/stream/capture.h"

#include <string.h>

/* ---- allocating ---- */

/* The driver's calls write 0 where they fail, and look at captures before they look at sizes. Of
 * device memory they refuse a size of 0, for which the runtime returns NULL. */

cudaError_t acu_sim_cuMemAlloc(CUdeviceptr *dptr, size_t bytesize) {
    void *at;
    if (!dptr)
        return cudaErrorInvalidValue;
    *dptr = 0;
    SIM_TRY(acu_sim_capture_allows_unsafe());
    if (!bytesize)
        return cudaErrorInvalidValue;
    SIM_TRY(acu_sim_cudaMalloc(&at, bytesize));
    *dptr = (CUdeviceptr)(uintptr_t)at;
    return cudaSuccess;
}

cudaError_t acu_sim_cuMemAllocPitch(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes,
                                    size_t Height, unsigned int ElementSizeBytes) {
    void *at;
    bool element = ElementSizeBytes == 4 || ElementSizeBytes == 8 || ElementSizeBytes == 16;
    if (!dptr)
        return cudaErrorInvalidValue;
    *dptr = 0;
    if (!element || !WidthInBytes || !Height)
        return cudaErrorInvalidValue;
    SIM_TRY(acu_sim_cudaMallocPitch(&at, pPitch, WidthInBytes, Height));
    *dptr = (CUdeviceptr)(uintptr_t)at;
    return cudaSuccess;
}

cudaError_t acu_sim_cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags) {
    void *at;
    if (!dptr)
        return cudaErrorInvalidValue;
    *dptr = 0;
    if (!bytesize || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
        return cudaErrorInvalidValue;
    SIM_TRY(acu_sim_capture_allows_unsafe());
    SIM_TRY(acu_sim_cudaMallocManaged(&at, bytesize, flags));
    *dptr = (CUdeviceptr)(uintptr_t)at;
    return cudaSuccess;
}

cudaError_t acu_sim_cuMemFree(CUdeviceptr dptr) {
    SIM_TRY(acu_sim_require_with_memory(SIM_NEEDS_CONTEXT, dptr));
    return acu_sim_cudaFree(acu_sim_driver_pointer(dptr));
}

cudaError_t acu_sim_cuMemAllocHost(void **pp, size_t bytesize) {
    return acu_sim_cuMemHostAlloc(pp, bytesize, 0);
}

cudaError_t acu_sim_cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags) {
    const unsigned known =
        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    if (!pp)
        return cudaErrorInvalidValue;
    *pp = NULL;
    SIM_TRY(acu_sim_capture_allows_unsafe());
    return Flags & ~known ? cudaErrorInvalidValue : acu_sim_cudaHostAlloc(pp, bytesize, Flags);
}

cudaError_t acu_sim_cuMemFreeHost(void *p) {
    return p ? acu_sim_cudaFreeHost(p) : cudaErrorInvalidValue;
}

cudaError_t acu_sim_cuMemHostRegister(void *p, size_t bytesize, unsigned int Flags) {
    return acu_sim_cudaHostRegister(p, bytesize, Flags);
}

cudaError_t acu_sim_cuMemHostUnregister(void *p) {
    return acu_sim_cudaHostUnregister(p);
}

cudaError_t acu_sim_cuMemHostGetDevicePointer(CUdeviceptr *pdptr, void *p, unsigned int Flags) {
    void *at;
    if (!pdptr)
        return cudaErrorInvalidValue;
    SIM_TRY(acu_sim_cudaHostGetDevicePointer(&at, p, Flags));
    *pdptr = (CUdeviceptr)(uintptr_t)at;
    return cudaSuccess;
}

cudaError_t acu_sim_cuMemHostGetFlags(unsigned int *pFlags, void *p) {
    return acu_sim_cudaHostGetFlags(pFlags, p);
}

cudaError_t acu_sim_cuMemGetInfo(size_t *free, size_t *total) {
    return acu_sim_cudaMemGetInfo(free, total);
}

/* ---- pointers ---- */

/* Of mapped memory CUDA tells one mapping; and where that is the host's, 0 as its base. */
static void find_mapping(CUdeviceptr *pbase, size_t *psize, const acu_sim_mapping *mapping) {
    if (pbase)
        *pbase = mapping->of->on_host ? 0 : mapping->base;
    if (psize)
        *psize = mapping->size;
}

cudaError_t acu_sim_cuMemGetAddressRange(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr) {
    const acu_sim_range *range = acu_sim_range_there(acu_sim_driver_pointer(dptr));
    const acu_sim_mapping *mapping = acu_sim_virtual_mapping_at(acu_sim_driver_pointer(dptr));
    if (range && !mapping && !acu_sim_range_allows_access(range, acu_sim_device_now()))
        range = NULL;
    if (pbase)
        *pbase = range ? range->base : 0;
    if (psize)
        *psize = range ? range->size : 0;
    if (range && mapping)
        find_mapping(pbase, psize, mapping);
    return range ? cudaSuccess : cudaErrorSymbolNotFound;
}

/* ---- managed memory ---- */

static struct cudaMemLocation as_location(CUmemLocation location) {
    return (struct cudaMemLocation){.type = (enum cudaMemLocationType)location.type,
                                    .id = location.id};
}

cudaError_t acu_sim_cuMemAdvise(CUdeviceptr at, size_t size, CUmem_advise advice,
                                CUmemLocation where) {
    return acu_sim_cudaMemAdvise(acu_sim_driver_pointer(at), size, (enum cudaMemoryAdvise)advice,
                                 as_location(where));
}

cudaError_t acu_sim_cuMemPrefetchAsync(CUdeviceptr at, size_t size, CUmemLocation where,
                                       unsigned flags, CUstream stream) {
    return acu_sim_cudaMemPrefetchAsync(acu_sim_driver_pointer(at), size, as_location(where), flags,
                                        stream);
}

cudaError_t acu_sim_cuMemRangeGetAttribute(void *data, size_t room, CUmem_range_attribute attribute,
                                           CUdeviceptr at, size_t size) {
    return acu_sim_cudaMemRangeGetAttribute(data, room, (enum cudaMemRangeAttribute)attribute,
                                            acu_sim_driver_pointer(at), size);
}

cudaError_t acu_sim_cuMemRangeGetAttributes(void **data, size_t *rooms,
                                            CUmem_range_attribute *attributes, size_t count,
                                            CUdeviceptr at, size_t size) {
    return acu_sim_cudaMemRangeGetAttributes(data, rooms,
                                             (enum cudaMemRangeAttribute *)(void *)attributes,
                                             count, acu_sim_driver_pointer(at), size);
}

cudaError_t acu_sim_cuStreamAttachMemAsync(CUstream stream, CUdeviceptr at, size_t size,
                                           unsigned flags) {
    return acu_sim_cudaStreamAttachMemAsync(stream, acu_sim_driver_pointer(at), size, flags);
}
