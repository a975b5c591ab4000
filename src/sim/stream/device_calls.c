/* Calls for a device that captures have a say in. */
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

/* A thread without a context gets the device's, if there is one. The context takes the flag of
 * synchronous copies when it waits for its work: with a capture it does not, which the call does
 * not report. */
cudaError_t acu_sim_cudaSetDeviceFlags(unsigned int flags) {
    acu_sim_device *device = acu_sim_device_now();
    const bool has_it = acu_sim_device_context_flags(device) & cudaDeviceSyncMemops;
    SIM_TRY(acu_sim_device_set_flags(device, flags));
    acu_sim_self()->bound |= acu_sim_device_has_primary(device);
    if (flags & cudaDeviceSyncMemops && !has_it &&
        acu_sim_capture_allows_context(acu_sim_context_now()))
        device->lacking_flags |= cudaDeviceSyncMemops;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags) {
    acu_sim_device *d = acu_sim_device_now();
    const acu_sim_device *peer = acu_sim_device_at(peerDevice);
    if (!peer)
        return cudaErrorInvalidDevice;
    if (flags)
        return cudaErrorInvalidValue;
    if (peer == d)
        return cudaErrorPeerAccessUnsupported;
    SIM_TRY(acu_sim_capture_allows_unsafe());
    if (d->peers[peerDevice])
        return cudaErrorPeerAccessAlreadyEnabled;
    d->peers[peerDevice] = true;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaDeviceDisablePeerAccess(int peerDevice) {
    acu_sim_device *d = acu_sim_device_now();
    if (!acu_sim_device_at(peerDevice))
        return cudaErrorInvalidDevice;
    SIM_TRY(acu_sim_capture_allows_unsafe());
    if (!d->peers[peerDevice])
        return cudaErrorPeerAccessNotEnabled;
    d->peers[peerDevice] = false;
    return cudaSuccess;
}

/* ---- the names of CUDA 3, which CUDA 12 still has ---- */

cudaError_t acu_sim_cudaThreadSynchronize(void) {
    return acu_sim_cudaDeviceSynchronize();
}

cudaError_t acu_sim_cudaThreadExit(void) {
    return acu_sim_cudaDeviceReset();
}

cudaError_t acu_sim_cudaThreadGetLimit(size_t *pValue, enum cudaLimit limit) {
    return acu_sim_cudaDeviceGetLimit(pValue, limit);
}

cudaError_t acu_sim_cudaThreadSetLimit(enum cudaLimit limit, size_t value) {
    return acu_sim_cudaDeviceSetLimit(limit, value);
}

cudaError_t acu_sim_cudaThreadGetCacheConfig(enum cudaFuncCache *pCacheConfig) {
    return acu_sim_cudaDeviceGetCacheConfig(pCacheConfig);
}

cudaError_t acu_sim_cudaThreadSetCacheConfig(enum cudaFuncCache cacheConfig) {
    return acu_sim_cudaDeviceSetCacheConfig(cacheConfig);
}
