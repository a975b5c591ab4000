/*
 * The driver API's memory pools, and allocating from them: other names for the runtime's functions,
 * with structs of the same layout.
 */
#include "sim/driver/driver.h"

_Static_assert(sizeof(CUmemPoolProps) == sizeof(struct cudaMemPoolProps), "laid out alike");
_Static_assert(sizeof(CUmemAccessDesc) == sizeof(struct cudaMemAccessDesc), "laid out alike");
_Static_assert(sizeof(CUmemLocation) == sizeof(struct cudaMemLocation), "laid out alike");

cudaError_t acu_sim_cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props) {
    return acu_sim_cudaMemPoolCreate(pool, (const struct cudaMemPoolProps *)(const void *)props);
}

cudaError_t acu_sim_cuMemPoolDestroy(CUmemoryPool pool) {
    return acu_sim_cudaMemPoolDestroy(pool);
}

cudaError_t acu_sim_cuMemPoolTrimTo(CUmemoryPool pool, size_t keep) {
    return acu_sim_cudaMemPoolTrimTo(pool, keep);
}

cudaError_t acu_sim_cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute,
                                          void *value) {
    return acu_sim_cudaMemPoolGetAttribute(pool, (enum cudaMemPoolAttr)attribute, value);
}

cudaError_t acu_sim_cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute,
                                          void *value) {
    return acu_sim_cudaMemPoolSetAttribute(pool, (enum cudaMemPoolAttr)attribute, value);
}

cudaError_t acu_sim_cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool pool,
                                       CUmemLocation *location) {
    return acu_sim_cudaMemPoolGetAccess((enum cudaMemAccessFlags *)(void *)flags, pool,
                                        (struct cudaMemLocation *)(void *)location);
}

cudaError_t acu_sim_cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *list,
                                       size_t count) {
    return acu_sim_cudaMemPoolSetAccess(pool, (const struct cudaMemAccessDesc *)(const void *)list,
                                        count);
}

cudaError_t acu_sim_cuMemGetDefaultMemPool(CUmemoryPool *pool, CUmemLocation *where,
                                           CUmemAllocationType type) {
    return acu_sim_cudaMemGetDefaultMemPool(pool, (struct cudaMemLocation *)(void *)where,
                                            (enum cudaMemAllocationType)type);
}

cudaError_t acu_sim_cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *where,
                                    CUmemAllocationType type) {
    return acu_sim_cudaMemGetMemPool(pool, (struct cudaMemLocation *)(void *)where,
                                     (enum cudaMemAllocationType)type);
}

cudaError_t acu_sim_cuMemSetMemPool(CUmemLocation *where, CUmemAllocationType type,
                                    CUmemoryPool pool) {
    return acu_sim_cudaMemSetMemPool((struct cudaMemLocation *)(void *)where,
                                     (enum cudaMemAllocationType)type, pool);
}

/* The driver refuses a size of zero, for which the runtime returns NULL. */
cudaError_t acu_sim_cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream) {
    void *at;
    if (!dptr || !bytesize)
        return cudaErrorInvalidValue;
    SIM_TRY(acu_sim_cudaMallocAsync(&at, bytesize, hStream));
    *dptr = (CUdeviceptr)(uintptr_t)at;
    return cudaSuccess;
}

cudaError_t acu_sim_cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
                                            CUstream hStream) {
    void *at;
    if (!dptr || !bytesize)
        return cudaErrorInvalidValue;
    SIM_TRY(acu_sim_cudaMallocFromPoolAsync(&at, bytesize, pool, hStream));
    *dptr = (CUdeviceptr)(uintptr_t)at;
    return cudaSuccess;
}

cudaError_t acu_sim_cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream) {
    return acu_sim_cudaFreeAsync(acu_sim_driver_pointer(dptr), hStream);
}

/* ---- sharing ---- */

_Static_assert(sizeof(CUmemPoolPtrExportData) == sizeof(struct cudaMemPoolPtrExportData),
               "laid out alike");

cudaError_t acu_sim_cuMemPoolExportToShareableHandle(void *handle_out, CUmemoryPool pool,
                                                     CUmemAllocationHandleType handleType,
                                                     unsigned long long flags) {
    return acu_sim_cudaMemPoolExportToShareableHandle(
        handle_out, pool, (enum cudaMemAllocationHandleType)handleType, flags != 0);
}

cudaError_t acu_sim_cuMemPoolImportFromShareableHandle(CUmemoryPool *pool_out, void *handle,
                                                       CUmemAllocationHandleType handleType,
                                                       unsigned long long flags) {
    return acu_sim_cudaMemPoolImportFromShareableHandle(
        pool_out, handle, (enum cudaMemAllocationHandleType)handleType, flags != 0);
}

cudaError_t acu_sim_cuMemPoolExportPointer(CUmemPoolPtrExportData *shareData_out, CUdeviceptr ptr) {
    return acu_sim_cudaMemPoolExportPointer(
        (struct cudaMemPoolPtrExportData *)(void *)shareData_out, acu_sim_driver_pointer(ptr));
}

cudaError_t acu_sim_cuMemPoolImportPointer(CUdeviceptr *ptr_out, CUmemoryPool pool,
                                           CUmemPoolPtrExportData *shareData) {
    void *at = NULL;
    cudaError_t why = acu_sim_cudaMemPoolImportPointer(
        ptr_out ? &at : NULL, pool, (struct cudaMemPoolPtrExportData *)(void *)shareData);
    if (ptr_out)
        *ptr_out = (CUdeviceptr)(uintptr_t)at;
    return why;
}
