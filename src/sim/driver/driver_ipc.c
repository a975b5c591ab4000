/* The driver API's handles for other processes: other names for the runtime's functions. */
#include "sim/driver/driver.h"

#include <string.h>

_Static_assert(sizeof(CUipcEventHandle) == sizeof(cudaIpcEventHandle_t), "laid out alike");
_Static_assert(sizeof(CUipcMemHandle) == sizeof(cudaIpcMemHandle_t), "laid out alike");

cudaError_t acu_sim_cuIpcGetMemHandle(CUipcMemHandle *pHandle, CUdeviceptr dptr) {
    return acu_sim_cudaIpcGetMemHandle((cudaIpcMemHandle_t *)(void *)pHandle,
                                       acu_sim_driver_pointer(dptr));
}

cudaError_t acu_sim_cuIpcOpenMemHandle(CUdeviceptr *pdptr, CUipcMemHandle handle,
                                       unsigned int flags) {
    cudaIpcMemHandle_t same;
    void *at;
    memcpy(&same, &handle, sizeof same);
    SIM_TRY(acu_sim_cudaIpcOpenMemHandle(pdptr ? &at : NULL, same, flags));
    *pdptr = (CUdeviceptr)(uintptr_t)at;
    return cudaSuccess;
}

cudaError_t acu_sim_cuIpcCloseMemHandle(CUdeviceptr dptr) {
    return acu_sim_cudaIpcCloseMemHandle(acu_sim_driver_pointer(dptr));
}

cudaError_t acu_sim_cuIpcGetEventHandle(CUipcEventHandle *pHandle, CUevent event) {
    return acu_sim_cudaIpcGetEventHandle((cudaIpcEventHandle_t *)(void *)pHandle, event);
}

cudaError_t acu_sim_cuIpcOpenEventHandle(CUevent *phEvent, CUipcEventHandle handle) {
    cudaIpcEventHandle_t same;
    memcpy(&same, &handle, sizeof same);
    return acu_sim_cudaIpcOpenEventHandle(phEvent, same);
}
