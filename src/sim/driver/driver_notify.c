/* The driver API's notifications: the runtime's. */
#include "sim/driver/driver.h"

#include <string.h>

cudaError_t acu_sim_cuDeviceRegisterAsyncNotification(CUdevice device, CUasyncCallback callbackFunc,
                                                      void *userData,
                                                      CUasyncCallbackHandle *callback) {
    cudaAsyncCallback same; /* what the callback gets has the same layout */
    memcpy(&same, &callbackFunc, sizeof same);
    return acu_sim_cudaDeviceRegisterAsyncNotification(
        device, same, userData, (cudaAsyncCallbackHandle_t *)(void *)callback);
}

cudaError_t acu_sim_cuDeviceUnregisterAsyncNotification(CUdevice device,
                                                        CUasyncCallbackHandle callback) {
    return acu_sim_cudaDeviceUnregisterAsyncNotification(
        device, (cudaAsyncCallbackHandle_t)(void *)callback);
}
