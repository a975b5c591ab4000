/* The driver API's events: other names for the runtime's functions. */
#include "sim/driver/driver.h"

cudaError_t acu_sim_cuEventCreate(CUevent *phEvent, unsigned int Flags) {
    return acu_sim_cudaEventCreateWithFlags(phEvent, Flags);
}

cudaError_t acu_sim_cuEventDestroy(CUevent hEvent) {
    return acu_sim_cudaEventDestroy(hEvent);
}

cudaError_t acu_sim_cuEventRecord(CUevent hEvent, CUstream hStream) {
    return acu_sim_cudaEventRecord(hEvent, hStream);
}

cudaError_t acu_sim_cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags) {
    return acu_sim_cudaEventRecordWithFlags(hEvent, hStream, flags);
}

cudaError_t acu_sim_cuEventQuery(CUevent hEvent) {
    return acu_sim_cudaEventQuery(hEvent);
}

cudaError_t acu_sim_cuEventSynchronize(CUevent hEvent) {
    return acu_sim_cudaEventSynchronize(hEvent);
}

cudaError_t acu_sim_cuEventElapsedTime(float *pMilliseconds, CUevent hStart, CUevent hEnd) {
    return acu_sim_cudaEventElapsedTime(pMilliseconds, hStart, hEnd);
}
