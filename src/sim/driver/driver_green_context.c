/* The driver API's resources of devices, and its green contexts, which are the runtime's execution
 * contexts. */
#include "sim/device/context.h"
#include "sim/device/device.h"
#include "sim/driver/driver.h"
#include "sim/stream/execution_context.h"
#include "sim/stream/stream.h"

/* ---- resources ---- */

_Static_assert(sizeof(CUdevResource) == sizeof(cudaDevResource), "laid out alike");
_Static_assert(sizeof(CU_DEV_SM_RESOURCE_GROUP_PARAMS) == sizeof(cudaDevSmResourceGroupParams),
               "laid out alike");

static cudaDevResource *as_resource(CUdevResource *resource) {
    return (cudaDevResource *)(void *)resource;
}

static const cudaDevResource *as_input(const CUdevResource *resource) {
    return (const cudaDevResource *)(const void *)resource;
}

cudaError_t acu_sim_cuDeviceGetDevResource(CUdevice device, CUdevResource *resource,
                                           CUdevResourceType type) {
    return acu_sim_cudaDeviceGetDevResource(device, as_resource(resource),
                                            (enum cudaDevResourceType)type);
}

cudaError_t acu_sim_cuDevSmResourceSplitByCount(CUdevResource *result, unsigned int *nbGroups,
                                                const CUdevResource *input,
                                                CUdevResource *remaining, unsigned int flags,
                                                unsigned int minCount) {
    return acu_sim_cudaDevSmResourceSplitByCount(as_resource(result), nbGroups, as_input(input),
                                                 as_resource(remaining), flags, minCount);
}

cudaError_t acu_sim_cuDevSmResourceSplit(CUdevResource *result, unsigned int nbGroups,
                                         const CUdevResource *input, CUdevResource *remainder,
                                         unsigned int flags,
                                         CU_DEV_SM_RESOURCE_GROUP_PARAMS *groupParams) {
    return acu_sim_cudaDevSmResourceSplit(as_resource(result), nbGroups, as_input(input),
                                          as_resource(remainder), flags,
                                          (cudaDevSmResourceGroupParams *)(void *)groupParams);
}

cudaError_t acu_sim_cuDevResourceGenerateDesc(CUdevResourceDesc *phDesc, CUdevResource *resources,
                                              unsigned int nbResources) {
    return acu_sim_cudaDevResourceGenerateDesc((cudaDevResourceDesc_t *)(void *)phDesc,
                                               as_resource(resources), nbResources);
}

/* ---- green contexts ---- */

static cudaExecutionContext_t as_context(CUgreenCtx context) {
    return (cudaExecutionContext_t)(void *)context;
}

cudaError_t acu_sim_cuGreenCtxCreate(CUgreenCtx *phCtx, CUdevResourceDesc desc, CUdevice dev,
                                     unsigned int flags) {
    if (!acu_sim_driver_knows(&acu_cuda_type_flags_greenCtxCreate, flags))
        return cudaErrorInvalidValue;
    return acu_sim_cudaGreenCtxCreate((cudaExecutionContext_t *)(void *)phCtx,
                                      (cudaDevResourceDesc_t)(void *)desc, dev, 0);
}

cudaError_t acu_sim_cuGreenCtxDestroy(CUgreenCtx hCtx) {
    return acu_sim_cudaExecutionCtxDestroy(as_context(hCtx));
}

cudaError_t acu_sim_cuGreenCtxGetId(CUgreenCtx greenCtx, unsigned long long *greenCtxId) {
    return acu_sim_cudaExecutionCtxGetId(as_context(greenCtx), greenCtxId);
}

cudaError_t acu_sim_cuGreenCtxGetDevResource(CUgreenCtx hCtx, CUdevResource *resource,
                                             CUdevResourceType type) {
    return acu_sim_cudaExecutionCtxGetDevResource(as_context(hCtx), as_resource(resource),
                                                  (enum cudaDevResourceType)type);
}

/* A green context has no other streams than non-blocking ones. */
cudaError_t acu_sim_cuGreenCtxStreamCreate(CUstream *phStream, CUgreenCtx greenCtx,
                                           unsigned int flags, int priority) {
    if (flags != CU_STREAM_NON_BLOCKING)
        return cudaErrorInvalidValue;
    return acu_sim_cudaExecutionCtxStreamCreate(phStream, as_context(greenCtx), flags, priority);
}

cudaError_t acu_sim_cuGreenCtxRecordEvent(CUgreenCtx hCtx, CUevent hEvent) {
    return acu_sim_cudaExecutionCtxRecordEvent(as_context(hCtx), hEvent);
}

cudaError_t acu_sim_cuGreenCtxWaitEvent(CUgreenCtx hCtx, CUevent hEvent) {
    return acu_sim_cudaExecutionCtxWaitEvent(as_context(hCtx), hEvent);
}

/* ---- whole contexts ---- */

/* Returns the execution context that is the whole of a context's device; NULL if the context is
 * invalid. */
static cudaExecutionContext_t primary_of(CUcontext context) {
    acu_sim_device *device = acu_sim_context_device(context);
    acu_sim_execution_context *primary = device ? acu_sim_execution_context_primary(device) : NULL;
    return (cudaExecutionContext_t)(void *)primary;
}

cudaError_t acu_sim_cuCtxGetDevResource(CUcontext hCtx, CUdevResource *resource,
                                        CUdevResourceType type) {
    return acu_sim_cudaExecutionCtxGetDevResource(primary_of(hCtx), as_resource(resource),
                                                  (enum cudaDevResourceType)type);
}

/* Finds the execution context that is the whole of a context, which need not be the current one. */
static cudaError_t find_whole(CUcontext handle, acu_sim_execution_context **whole) {
    acu_sim_context *context = acu_sim_context_of(handle);
    SIM_TRY(context ? context->device->sticky : cudaErrorDeviceUninitialized);
    *whole = acu_sim_execution_context_whole(context);
    return *whole ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t acu_sim_cuCtxRecordEvent(CUcontext hCtx, CUevent hEvent) {
    acu_sim_execution_context *whole;
    SIM_TRY(find_whole(hCtx, &whole));
    return acu_sim_execution_context_record(whole, hEvent);
}

cudaError_t acu_sim_cuCtxWaitEvent(CUcontext hCtx, CUevent hEvent) {
    acu_sim_execution_context *whole;
    SIM_TRY(find_whole(hCtx, &whole));
    return acu_sim_execution_context_wait(whole, hEvent);
}

/* ---- streams ---- */

cudaError_t acu_sim_cuStreamGetDevResource(CUstream hStream, CUdevResource *resource,
                                           CUdevResourceType type) {
    return acu_sim_cudaStreamGetDevResource(hStream, as_resource(resource),
                                            (enum cudaDevResourceType)type);
}

cudaError_t acu_sim_cuStreamGetGreenCtx(CUstream hStream, CUgreenCtx *phCtx) {
    acu_sim_stream *s;
    SIM_TRY(acu_sim_stream_usable(hStream, &s));
    if (!phCtx)
        return cudaErrorInvalidValue;
    *phCtx = (CUgreenCtx)(void *)s->execution_context;
    return cudaSuccess;
}
