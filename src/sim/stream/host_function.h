/* Host functions. Those of one device are called one after the other. */
#ifndef ACU_SIM_STREAM_HOST_FUNCTION_H
#define ACU_SIM_STREAM_HOST_FUNCTION_H

#include "sim/sim.h"

/* Makes the operation that calls a host function; NULL without memory. */
acu_sim_op *acu_sim_host_function_op(cudaHostFn_t fn, void *data);

/* Queues an operation for the device's thread that calls host functions, which must run already. */
void acu_sim_host_function_queue(acu_sim_device *device, acu_sim_op *op);
/* Starts that thread, if it does not run; returns false if that fails. */
bool acu_sim_host_function_start(acu_sim_device *device);

/* Runs an operation in this thread; the lock is given up meanwhile. Returns false, and does
 * nothing, if another host function of the device is being called or is queued. */
bool acu_sim_host_function_here(acu_sim_device *device, acu_sim_op *op);

#endif
