/*
 * The log of the driver. The simulator reports each error by the call that fails, so callbacks are
 * registered and never called, and the log is empty.
 */
#include "sim/device/log.h"

#include "sim/set.h"

#include <stdio.h>
#include <stdlib.h>

static acu_sim_set listeners; /* the registered callbacks: handles without anything behind them */

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
    char *listener = calloc(1, 1);
    if (!listener || !acu_sim_set_add(&listeners, listener)) {
        free(listener);
        return cudaErrorMemoryAllocation;
    }
    if (callback_out)
        *callback_out = (cudaLogsCallbackHandle)(void *)listener;
    return cudaSuccess; /* NOLINT(clang-analyzer-unix.Malloc): the set has it */
}

cudaError_t acu_sim_cudaLogsUnregisterCallback(cudaLogsCallbackHandle callback) {
    if (!acu_sim_set_has(&listeners, callback))
        return cudaErrorInvalidValue;
    acu_sim_set_remove(&listeners, callback);
    free(callback);
    return cudaSuccess;
}

cudaError_t acu_sim_cudaLogsCurrent(cudaLogIterator *iterator_out, unsigned int flags) {
    (void)flags; /* which CUDA does not look at */
    if (!iterator_out)
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

const acu_sim_noun acu_sim_log_noun = {.reset = reset};
