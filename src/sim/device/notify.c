/*
 * Asynchronous notifications of a device, and the log of the driver. The simulator has no memory
 * budget that could be exceeded, and reports each error by the call that fails. So callbacks are
 * registered and never called, and the log is empty.
 */
#include "sim/device/notify.h"

#include "sim/device/device.h"
#include "sim/set.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct listener {
    acu_sim_device *device; /* NULL: the callback is registered for the log */
} listener;

static acu_sim_set listeners;

static listener *new_listener(acu_sim_device *device) {
    listener *l = calloc(1, sizeof *l);
    if (!l || !acu_sim_set_add(&listeners, l)) {
        free(l);
        return NULL;
    }
    l->device = device;
    return l;
}

static cudaError_t remove_listener(listener *l, const acu_sim_device *device) {
    if (!acu_sim_set_has(&listeners, l) || l->device != device)
        return cudaErrorInvalidValue;
    acu_sim_set_remove(&listeners, l);
    free(l);
    return cudaSuccess;
}

/* ---- notifications ---- */

cudaError_t acu_sim_cudaDeviceRegisterAsyncNotification(int device, cudaAsyncCallback callbackFunc,
                                                        void *userData,
                                                        cudaAsyncCallbackHandle_t *callback) {
    (void)userData;
    listener *l = NULL;
    if (!acu_sim_device_at(device))
        return cudaErrorInvalidDevice;
    if (!callbackFunc || !callback)
        return cudaErrorInvalidValue;
    if (!(l = new_listener(acu_sim_device_at(device))))
        return cudaErrorMemoryAllocation;
    *callback = (cudaAsyncCallbackHandle_t)(void *)l;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaDeviceUnregisterAsyncNotification(int device,
                                                          cudaAsyncCallbackHandle_t callback) {
    if (!acu_sim_device_at(device))
        return cudaErrorInvalidDevice;
    return remove_listener((listener *)(void *)callback, acu_sim_device_at(device));
}

/* ---- tools ---- */

/* No tool listens. */
cudaError_t acu_sim_cudaProfilerStart(void) {
    return cudaSuccess;
}

cudaError_t acu_sim_cudaProfilerStop(void) {
    return cudaSuccess;
}

/* ---- the log ---- */

cudaError_t acu_sim_cudaLogsRegisterCallback(cudaLogsCallback_t callbackFunc, void *userData,
                                             cudaLogsCallbackHandle *callback_out) {
    (void)userData;
    if (!callbackFunc)
        return cudaErrorInvalidValue;
    listener *l = new_listener(NULL);
    if (!l)
        return cudaErrorMemoryAllocation;
    if (callback_out)
        *callback_out = (cudaLogsCallbackHandle)(void *)l;
    return cudaSuccess; /* NOLINT(clang-analyzer-unix.Malloc): the set has it */
}

cudaError_t acu_sim_cudaLogsUnregisterCallback(cudaLogsCallbackHandle callback) {
    return remove_listener((listener *)(void *)callback, NULL);
}

cudaError_t acu_sim_cudaLogsCurrent(cudaLogIterator *iterator_out, unsigned int flags) {
    if (!iterator_out || flags)
        return cudaErrorInvalidValue;
    *iterator_out = 0;
    return cudaSuccess;
}

/* NOLINTBEGIN(readability-non-const-parameter): the signatures are CUDA's */
cudaError_t acu_sim_cudaLogsDumpToFile(cudaLogIterator *iterator, const char *pathToFile,
                                       unsigned int flags) {
    (void)iterator;
    if (!pathToFile || flags)
        return cudaErrorInvalidValue;
    FILE *file = fopen(pathToFile, "w");
    if (!file)
        return cudaErrorInvalidValue;
    return fclose(file) ? cudaErrorOperatingSystem : cudaSuccess;
}

cudaError_t acu_sim_cudaLogsDumpToMemory(cudaLogIterator *iterator, char *buffer, size_t *size,
                                         unsigned int flags) {
    (void)iterator;
    if (!buffer || !size || flags || !*size)
        return cudaErrorInvalidValue;
    *buffer = '\0';
    *size = 0;
    return cudaSuccess;
}
/* NOLINTEND(readability-non-const-parameter) */

static void reset(void) {
    for (size_t i = 0; i < listeners.room; i++)
        free((void *)(uintptr_t)listeners.slots[i]);
    acu_sim_set_clear(&listeners);
}

const acu_sim_noun acu_sim_notify_noun = {.reset = reset};
