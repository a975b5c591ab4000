/* Errors and versions: what works without a driver and without a device. */
#include "sim.h"

/*
 * An error is told once; a lost context's as long as it is lost.
 * This is not a call like others: it neither fails nor needs anything.
 */
cudaError_t acu_sim_cudaGetLastError(void) {
    acu_sim_thread *self = acu_sim_self();
    cudaError_t last = self->last;
    pthread_mutex_lock(&acu_sim_lock);
    const acu_sim_device *device = acu_sim_device_at(self->device);
    if (!device || device->sticky != last)
        self->last = cudaSuccess;
    pthread_mutex_unlock(&acu_sim_lock);
    return last;
}

cudaError_t acu_sim_cudaPeekAtLastError(void) {
    return acu_sim_self()->last;
}

/* The core's table has the names; a text of our own would say no more. */
const char *acu_sim_cudaGetErrorName(cudaError_t error) {
    for (uint32_t i = 0; i < acu_cudart_info.result_type->count; i++)
        if (acu_cudart_info.result_type->values[i].value == (int64_t)error)
            return acu_cudart_info.result_type->values[i].name;
    return "unrecognized error code";
}

const char *acu_sim_cudaGetErrorString(cudaError_t error) {
    return error == cudaSuccess ? "no error" : acu_sim_cudaGetErrorName(error);
}

cudaError_t acu_sim_cudaDriverGetVersion(int *driverVersion) {
    (void)acu_sim_enter(SIM_NEEDS_NOTHING, NULL);
    if (!driverVersion)
        return acu_sim_leave(cudaErrorInvalidValue);
    *driverVersion = acu_sim_configuration()->driver;
    return acu_sim_leave(cudaSuccess);
}

cudaError_t acu_sim_cudaRuntimeGetVersion(int *runtimeVersion) {
    (void)acu_sim_enter(SIM_NEEDS_NOTHING, NULL);
    if (!runtimeVersion)
        return acu_sim_leave(cudaErrorInvalidValue);
    *runtimeVersion = acu_sim_configuration()->runtime;
    return acu_sim_leave(cudaSuccess);
}
