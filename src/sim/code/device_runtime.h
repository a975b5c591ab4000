/* CUDA's device runtime: what kernels call as host code calls the runtime. */
#ifndef ACU_SIM_CODE_DEVICE_RUNTIME_H
#define ACU_SIM_CODE_DEVICE_RUNTIME_H

#include "sim/code/descendants.h"
#include "sim/ptx/runtime_call.h"

/* Does a call by a thread of the launch. The lock is not held. */
void acu_sim_device_runtime_call(acu_sim_descendants *children, const acu_sim_kernel_launch *launch,
                                 ptx_runtime_call *call);

#endif
