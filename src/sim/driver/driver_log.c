/* The driver API's log and what it tells tools: the runtime's. */
#include "sim/driver/driver.h"

#include <string.h>

cudaError_t acu_sim_cuLogsRegisterCallback(CUlogsCallback callbackFunc, void *userData,
                                           CUlogsCallbackHandle *callback_out) {
    cudaLogsCallback_t same; /* the level has the same numbers */
    memcpy(&same, &callbackFunc, sizeof same);
    return acu_sim_cudaLogsRegisterCallback(same, userData,
                                            (cudaLogsCallbackHandle *)(void *)callback_out);
}

cudaError_t acu_sim_cuLogsUnregisterCallback(CUlogsCallbackHandle callback) {
    return acu_sim_cudaLogsUnregisterCallback((cudaLogsCallbackHandle)(void *)callback);
}

cudaError_t acu_sim_cuLogsCurrent(CUlogIterator *iterator_out, unsigned int flags) {
    return acu_sim_cudaLogsCurrent(iterator_out, flags);
}

cudaError_t acu_sim_cuLogsDumpToFile(CUlogIterator *iterator, const char *pathToFile,
                                     unsigned int flags) {
    return acu_sim_cudaLogsDumpToFile(iterator, pathToFile, flags);
}

cudaError_t acu_sim_cuLogsDumpToMemory(CUlogIterator *iterator, char *buffer, size_t *size,
                                       unsigned int flags) {
    return acu_sim_cudaLogsDumpToMemory(iterator, buffer, size, flags);
}

/* ---- tools ---- */

cudaError_t acu_sim_cuProfilerStart(void) {
    return acu_sim_cudaProfilerStart();
}

cudaError_t acu_sim_cuProfilerStop(void) {
    return acu_sim_cudaProfilerStop();
}
