/* Waiting for a device. */
#include "sim/device/context.h"
#include "sim/device/device.h"
#include "sim/noun.h"
#include "sim/stream/capture.h"
#include "sim/stream/stream.h"

/* The context is synchronized, and not the device with its other contexts. */
cudaError_t acu_sim_cudaDeviceSynchronize(void) {
    acu_sim_device *d = acu_sim_device_now();
    SIM_TRY(acu_sim_capture_allows_context(acu_sim_context_now()));
    acu_sim_stream_wait_context(acu_sim_context_now());
    acu_sim_nouns_waited(true);
    return d->sticky;
}
