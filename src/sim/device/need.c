/* What a call needs before its body runs, and the error that it returns if that is missing. */
#include "sim/device/need.h"

#include "core/record.h"
#include "sim/device/device.h"

/* Returns an error unless the driver is new enough for the runtime: it must have the same major
 * version, or a newer one. */
static cudaError_t validate_machine(const acu_sim_config *config) {
    if (config->driver / 1000 < config->runtime / 1000)
        return cudaErrorInsufficientDriver;
    if (config->listed_twice)
        return cudaErrorInvalidDevice;
    return config->devices ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t acu_sim_require_unforked(void) {
    if (!acu_sim_is_forked())
        return cudaSuccess;
    acu_record_reason("this process was forked by one that had used CUDA, which does not work in "
                      "the child: use CUDA after the fork only, or exec() a program in the child");
    return cudaErrorInitializationError;
}

static cudaError_t refuse_destroyed(void) {
    return SIM_REFUSE(cudaErrorContextIsDestroyed,
                      "this thread's current context was destroyed: make another current with "
                      "cudaSetDevice() or cuCtxSetCurrent()");
}

/* Whether a host function makes the call, and must not. */
static bool is_forbidden(const acu_sim_thread *self) {
    return self->in_callback && !self->call.in_host_functions;
}

static cudaError_t refuse_callback(void) {
    return SIM_REFUSE(cudaErrorNotPermitted,
                      "a host function or callback of a stream makes the call: these must not "
                      "call CUDA, so give the work to another thread");
}

static cudaError_t activate_context(acu_sim_thread *self) {
    self->bound = true;
    if (!self->context)
        return acu_sim_device_activate(acu_sim_device_now());
    return acu_sim_context_is_alive(self->context) ? cudaSuccess : refuse_destroyed();
}

cudaError_t acu_sim_require(acu_sim_need need) {
    acu_sim_thread *self = acu_sim_self();
    if (!self->call.by_driver && need != SIM_NEEDS_NO_INIT)
        acu_sim_use_runtime();
    if (need <= SIM_NEEDS_NOTHING)
        return cudaSuccess;
    if (acu_sim_is_unloading())
        return cudaErrorCudartUnloading;
    SIM_TRY(acu_sim_require_unforked());
    if (!self->call.by_driver)
        SIM_TRY(validate_machine(acu_sim_configuration()));
    acu_sim_init();
    if (is_forbidden(self))
        return refuse_callback();
    if (self->call.by_driver || need < SIM_NEEDS_A_CONTEXT)
        return cudaSuccess;
    SIM_TRY(activate_context(self));
    return need == SIM_NEEDS_CONTEXT ? acu_sim_device_now()->sticky : cudaSuccess;
}

static cudaError_t validate_current_context(const acu_sim_thread *self) {
    const acu_sim_device *device = acu_sim_device_now();
    bool alive = self->context ? acu_sim_context_is_alive(self->context) : device->active;
    if (!self->bound)
        return SIM_REFUSE(cudaErrorDeviceUninitialized,
                          "this thread has no current context: call cudaSetDevice() or "
                          "cuCtxSetCurrent() in it first");
    return alive ? device->sticky : refuse_destroyed();
}

cudaError_t acu_sim_require_by_driver(acu_sim_need need) {
    const acu_sim_thread *self = acu_sim_self();
    if (acu_sim_is_unloading())
        return cudaErrorCudartUnloading;
    if (need == SIM_NEEDS_NOTHING)
        return cudaSuccess;
    SIM_TRY(acu_sim_require_unforked());
    if (!acu_sim_is_initialized() || !acu_sim_configuration()->driver)
        return cudaErrorInitializationError;
    if (need >= SIM_NEEDS_DRIVER && is_forbidden(self))
        return refuse_callback();
    return need == SIM_NEEDS_CONTEXT ? validate_current_context(self) : cudaSuccess;
}

cudaError_t acu_sim_may_wait(void) {
    return acu_sim_self()->in_callback ? refuse_callback() : cudaSuccess;
}
