/* The driver's view of execution contexts and the resources of devices. */
#include "sim/device/context.h"
#include "sim/device/device.h"
#include "sim/driver/driver.h"
#include "sim/stream/execution_context.h"
#include "sim/stream/stream.h"

/* The structs are the same, field by field. */
_Static_assert(sizeof(CUdevResource) == sizeof(cudaDevResource), "resources are laid out alike");
_Static_assert(sizeof(CU_DEV_SM_RESOURCE_GROUP_PARAMS) == sizeof(cudaDevSmResourceGroupParams),
               "and what is asked of a group");

static cudaDevResource *as_resource(CUdevResource *resource) {
    return (cudaDevResource *)(void *)resource;
}

static const cudaDevResource *as_input(const CUdevResource *resource) {
    return (const cudaDevResource *)(const void *)resource;
}

static cudaExecutionContext_t as_context(CUgreenCtx context) {
    return (cudaExecutionContext_t)(void *)context;
}

/* That of the context's device; NULL if it is none. */
static cudaExecutionContext_t of_device(CUcontext context) {
    acu_sim_device *device = acu_sim_context_device(context);
    acu_sim_execution_context *primary = device ? acu_sim_execution_context_primary(device) : NULL;
    return (cudaExecutionContext_t)(void *)primary;
}

CUresult acu_sim_cuDeviceGetDevResource(CUdevice device, CUdevResource *resource,
                                        CUdevResourceType type) {
    BY_RUNTIME(SIM_NEEDS_DRIVER, acu_sim_cudaDeviceGetDevResource(device, as_resource(resource),
                                                                  (enum cudaDevResourceType)type));
}

CUresult acu_sim_cuDevSmResourceSplitByCount(CUdevResource *result, unsigned int *nbGroups,
                                             const CUdevResource *input, CUdevResource *remaining,
                                             unsigned int flags, unsigned int minCount) {
    BY_RUNTIME(SIM_NEEDS_DRIVER,
               acu_sim_cudaDevSmResourceSplitByCount(as_resource(result), nbGroups, as_input(input),
                                                     as_resource(remaining), flags, minCount));
}

CUresult acu_sim_cuDevSmResourceSplit(CUdevResource *result, unsigned int nbGroups,
                                      const CUdevResource *input, CUdevResource *remainder,
                                      unsigned int flags,
                                      CU_DEV_SM_RESOURCE_GROUP_PARAMS *groupParams) {
    BY_RUNTIME(SIM_NEEDS_DRIVER,
               acu_sim_cudaDevSmResourceSplit(as_resource(result), nbGroups, as_input(input),
                                              as_resource(remainder), flags,
                                              (cudaDevSmResourceGroupParams *)(void *)groupParams));
}

CUresult acu_sim_cuDevResourceGenerateDesc(CUdevResourceDesc *phDesc, CUdevResource *resources,
                                           unsigned int nbResources) {
    BY_RUNTIME(SIM_NEEDS_DRIVER,
               acu_sim_cudaDevResourceGenerateDesc((cudaDevResourceDesc_t *)(void *)phDesc,
                                                   as_resource(resources), nbResources));
}

/* ---- green contexts -----------------------------------------------------------------------------
 */

CUresult acu_sim_cuGreenCtxCreate(CUgreenCtx *phCtx, CUdevResourceDesc desc, CUdevice dev,
                                  unsigned int flags) {
    CUresult why = acu_sim_begin(SIM_NEEDS_DRIVER);
    if (why)
        return why;
    bool known = acu_sim_driver_knows(&acu_cuda_type_flags_greenCtxCreate, flags);
    return acu_sim_end(known
                           ? acu_sim_cudaGreenCtxCreate((cudaExecutionContext_t *)(void *)phCtx,
                                                        (cudaDevResourceDesc_t)(void *)desc, dev, 0)
                           : cudaErrorInvalidValue);
}

CUresult acu_sim_cuGreenCtxDestroy(CUgreenCtx hCtx) {
    BY_RUNTIME(SIM_NEEDS_DRIVER, acu_sim_cudaExecutionCtxDestroy(as_context(hCtx)));
}

CUresult acu_sim_cuGreenCtxGetId(CUgreenCtx greenCtx, unsigned long long *greenCtxId) {
    BY_RUNTIME(SIM_NEEDS_DRIVER, acu_sim_cudaExecutionCtxGetId(as_context(greenCtx), greenCtxId));
}

CUresult acu_sim_cuGreenCtxGetDevResource(CUgreenCtx hCtx, CUdevResource *resource,
                                          CUdevResourceType type) {
    BY_RUNTIME(SIM_NEEDS_DRIVER,
               acu_sim_cudaExecutionCtxGetDevResource(as_context(hCtx), as_resource(resource),
                                                      (enum cudaDevResourceType)type));
}

/* Nothing else than such a stream can be asked for. */
CUresult acu_sim_cuGreenCtxStreamCreate(CUstream *phStream, CUgreenCtx greenCtx, unsigned int flags,
                                        int priority) {
    CUresult why = acu_sim_begin(SIM_NEEDS_DRIVER);
    if (why)
        return why;
    return acu_sim_end(
        flags == CU_STREAM_NON_BLOCKING
            ? acu_sim_cudaExecutionCtxStreamCreate(phStream, as_context(greenCtx), flags, priority)
            : cudaErrorInvalidValue);
}

CUresult acu_sim_cuGreenCtxRecordEvent(CUgreenCtx hCtx, CUevent hEvent) {
    BY_RUNTIME(SIM_NEEDS_DRIVER, acu_sim_cudaExecutionCtxRecordEvent(as_context(hCtx), hEvent));
}

CUresult acu_sim_cuGreenCtxWaitEvent(CUgreenCtx hCtx, CUevent hEvent) {
    BY_RUNTIME(SIM_NEEDS_DRIVER, acu_sim_cudaExecutionCtxWaitEvent(as_context(hCtx), hEvent));
}

/* ---- whole contexts -----------------------------------------------------------------------------
 */

CUresult acu_sim_cuCtxGetDevResource(CUcontext hCtx, CUdevResource *resource,
                                     CUdevResourceType type) {
    BY_RUNTIME(SIM_NEEDS_DRIVER,
               acu_sim_cudaExecutionCtxGetDevResource(of_device(hCtx), as_resource(resource),
                                                      (enum cudaDevResourceType)type));
}

/* Any context that there is, as a whole; what is done to it has its lock. */
static CUresult with_whole(CUcontext handle, CUevent event,
                           cudaError_t (*call)(acu_sim_execution_context *context,
                                               cudaEvent_t event)) {
    CUresult why = acu_sim_begin(SIM_NEEDS_DRIVER);
    if (why)
        return why;
    cudaError_t result = acu_sim_enter(SIM_NEEDS_DRIVER, NULL);
    acu_sim_context *driver_context = acu_sim_context_of(handle);
    acu_sim_execution_context *context = NULL;
    if (!result)
        result = driver_context ? driver_context->device->sticky : cudaErrorDeviceUninitialized;
    if (!result && !(context = acu_sim_execution_context_whole(driver_context)))
        result = cudaErrorMemoryAllocation;
    if (!result)
        result = call(context, event);
    return acu_sim_end(acu_sim_leave(result));
}

CUresult acu_sim_cuCtxRecordEvent(CUcontext hCtx, CUevent hEvent) {
    return with_whole(hCtx, hEvent, acu_sim_execution_context_record);
}

CUresult acu_sim_cuCtxWaitEvent(CUcontext hCtx, CUevent hEvent) {
    return with_whole(hCtx, hEvent, acu_sim_execution_context_wait);
}

/* ---- streams ------------------------------------------------------------------------------------
 */

CUresult acu_sim_cuStreamGetDevResource(CUstream hStream, CUdevResource *resource,
                                        CUdevResourceType type) {
    BY_RUNTIME(SIM_NEEDS_CONTEXT, acu_sim_cudaStreamGetDevResource(hStream, as_resource(resource),
                                                                   (enum cudaDevResourceType)type));
}

CUresult acu_sim_cuStreamGetGreenCtx(CUstream hStream, CUgreenCtx *phCtx) {
    acu_sim_stream *s;
    CUresult why = acu_sim_begin(SIM_NEEDS_CONTEXT);
    if (why)
        return why;
    cudaError_t result = acu_sim_enter_stream(hStream, &s);
    if (!result && !phCtx)
        result = cudaErrorInvalidValue;
    if (!result)
        *phCtx = (CUgreenCtx)(void *)s->execution_context;
    return acu_sim_end(acu_sim_leave(result));
}
