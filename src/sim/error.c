/*
 * Errors and versions: what works without a driver and without a device. The names of errors are
 * those of the core's tables, and so are the texts, as none of NVIDIA's is in here.
 */
#include "sim/sim.h"
#include "core/values.h"

/*
 * An error is told once, also that of a lost context; the next call that needs that tells it again.
 * This is not a call like others: it neither fails nor needs anything.
 */
cudaError_t acu_sim_cudaGetLastError(void) {
    acu_sim_thread *self = acu_sim_self();
    cudaError_t last = self->last;
    self->last = cudaSuccess;
    return last;
}

cudaError_t acu_sim_cudaPeekAtLastError(void) {
    return acu_sim_self()->last;
}

static const char *name_of(cudaError_t error) {
    (void)acu_sim_enter(SIM_NEEDS_NOTHING, NULL);
    bool known = acu_sim_knows(&acu_cudart_type_cudaError, error);
    (void)acu_sim_leave(cudaSuccess);
    return known ? acu_value_name(&acu_cudart_type_cudaError, error) : "unrecognized error code";
}

const char *acu_sim_cudaGetErrorName(cudaError_t error) {
    return name_of(error);
}

const char *acu_sim_cudaGetErrorString(cudaError_t error) {
    return error ? name_of(error) : "no error";
}

/* It initialises the driver, if there is one; whether that works is not told. */
cudaError_t acu_sim_cudaDriverGetVersion(int *driverVersion) {
    (void)acu_sim_enter(SIM_NEEDS_DRIVER, NULL);
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
    if (*runtimeVersion < 12000)
        acu_sim_init(); /* of the driver, as these do */
    return acu_sim_leave(cudaSuccess);
}
