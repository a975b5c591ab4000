/* Host functions, which the threads of a device call one after the other. */
#ifndef ACU_SIM_STREAM_HOST_FUNCTION_H
#define ACU_SIM_STREAM_HOST_FUNCTION_H

#include "sim/sim.h"

acu_sim_op *acu_sim_host_function_op(cudaHostFn_t fn, void *data);

/* Queues it for the device's thread that calls host functions, which must have been started. */
void acu_sim_host_function_queue(acu_sim_device *device, acu_sim_op *op);
bool acu_sim_host_function_start(acu_sim_device *device);

/* Runs it in this thread; false if another one is being called, or queued. */
bool acu_sim_host_function_here(acu_sim_device *device, acu_sim_op *op);

#endif
