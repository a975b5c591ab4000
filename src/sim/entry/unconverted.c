/* Until all bodies are converted: what bodies call that enter and leave by themselves. */
#include "sim/device/device.h"
#include "sim/stream/stream.h"

static void enter(acu_sim_device **device) {
    acu_sim_call *call = &acu_sim_self()->call;
    if (call->entered) {
        call->entered++;
    } else {
        acu_sim_call same = *call;
        acu_sim_call_begin(&same);
    }
    if (device)
        *device = acu_sim_device_now();
}

static void leave(void) {
    if (!--acu_sim_self()->call.entered)
        pthread_mutex_unlock(&acu_sim_lock);
}

cudaError_t acu_sim_enter(acu_sim_need need, acu_sim_device **device) {
    enter(device);
    return acu_sim_require(need);
}

cudaError_t acu_sim_leave(cudaError_t result) {
    leave();
    if (result && result != cudaErrorNotReady && !acu_sim_self()->call.by_driver)
        acu_sim_self()->last = result;
    return result;
}

cudaError_t acu_sim_enter_newer(const acu_function *function) {
    cudaError_t result = acu_sim_enter(SIM_NEEDS_CONTEXT, NULL);
    return result ? result : acu_sim_driver_has(function);
}

cudaError_t acu_sim_enter_stream(cudaStream_t handle, acu_sim_stream **stream) {
    cudaError_t result = acu_sim_enter(SIM_NEEDS_CONTEXT, NULL);
    return result ? result : acu_sim_stream_usable(handle, stream);
}

cudaError_t acu_sim_mistake(cudaError_t result, bool mistaken, cudaError_t code) {
    const acu_sim_device *current = acu_sim_device_now();
    bool first = !result || (current && current->sticky == result);
    return first && mistaken ? code : result;
}
