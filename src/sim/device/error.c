/*
 * Errors and versions: what works without a driver and without a device. The names of errors are
 * those of the core's tables.
 */
#include "sim/device/error.h"

#include "core/values.h"
#include "sim/behaviour.h"
#include "sim/device/need.h"
#include "sim/sim.h"

/* The error is reported once, also that of a fault; the next call that needs the context reports it
 * again. */
cudaError_t acu_sim_cudaGetLastError(void) {
    acu_sim_thread *self = acu_sim_self();
    cudaError_t last = self->last;
    acu_sim_use_runtime();
    self->last = cudaSuccess;
    return last;
}

cudaError_t acu_sim_cudaPeekAtLastError(void) {
    acu_sim_use_runtime();
    return acu_sim_self()->last;
}

const char *acu_sim_cudaGetErrorName(cudaError_t error) {
    acu_sim_use_runtime();
    return acu_sim_knows(&acu_cudart_type_cudaError, error)
               ? acu_value_name(&acu_cudart_type_cudaError, error)
               : "unrecognized error code";
}

const char *acu_sim_error_text_of(int code, const char *name) {
    for (const acu_sim_error_text *one = acu_sim_error_texts; one->text; one++)
        if (one->code == code)
            return one->text;
    return name;
}

const char *acu_sim_cudaGetErrorString(cudaError_t error) {
    acu_sim_use_runtime();
    return acu_sim_knows(&acu_cudart_type_cudaError, error)
               ? acu_sim_error_text_of((int)error, acu_sim_cudaGetErrorName(error))
               : "unrecognized error code";
}

/* The numbers are the same, but for what only the runtime has. */
CUresult acu_sim_driver_result(cudaError_t error) {
    switch ((int)error) {
    case cudaErrorInvalidConfiguration:
    case cudaErrorInvalidPitchValue:
    case cudaErrorInvalidMemcpyDirection:
        return CUDA_ERROR_INVALID_VALUE;
    case cudaErrorInvalidDeviceFunction:
        return CUDA_ERROR_INVALID_HANDLE;
    default:
        return (CUresult)error;
    }
}

/* The driver is initialised, if there is one; whether that works is not reported. */
cudaError_t acu_sim_cudaDriverGetVersion(int *driverVersion) {
    (void)acu_sim_require(SIM_NEEDS_DRIVER);
    if (!driverVersion)
        return cudaErrorInvalidValue;
    *driverVersion = acu_sim_configuration()->driver;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaRuntimeGetVersion(int *runtimeVersion) {
    if (!runtimeVersion)
        return cudaErrorInvalidValue;
    *runtimeVersion = acu_sim_configuration()->runtime;
    if (acu_sim_behaviour_version_query_inits_driver()) {
        acu_sim_init();
        acu_sim_use_runtime();
    }
    return cudaSuccess;
}
