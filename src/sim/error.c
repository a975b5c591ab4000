/*
 * Errors and versions: what works without a driver and without a device. The names and texts of
 * errors are the core's own.
 */
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
