/* The driver API, played over the same devices, streams and memory as the runtime's. */
#ifndef ACU_SIM_DRIVER_H
#define ACU_SIM_DRIVER_H

#include "sim/cuda_bodies.h"
#include "sim/device/context.h"
#include "sim/sim.h"

/* Older ones of the same names, with other structs. */
CUresult acu_sim_cuGraphAddKernelNode_v1(CUgraphNode *node, CUgraph graph,
                                         const CUgraphNode *dependencies, size_t count,
                                         const CUDA_KERNEL_NODE_PARAMS_v1 *params);
CUresult acu_sim_cuGraphKernelNodeGetParams_v1(CUgraphNode node,
                                               CUDA_KERNEL_NODE_PARAMS_v1 *params);
CUresult acu_sim_cuGraphKernelNodeSetParams_v1(CUgraphNode node,
                                               const CUDA_KERNEL_NODE_PARAMS_v1 *params);
CUresult acu_sim_cuGraphExecKernelNodeSetParams_v1(CUgraphExec exec, CUgraphNode node,
                                                   const CUDA_KERNEL_NODE_PARAMS_v1 *params);

CUresult acu_sim_cuCtxCreate_v2(CUcontext *handle, unsigned flags, CUdevice device);
CUresult acu_sim_cuCtxCreate_v3(CUcontext *handle, CUexecAffinityParam *params, int count,
                                unsigned flags, CUdevice device);

/* NULL if there is no such symbol, or no driver. */
acu_fn acu_sim_driver_symbol(const char *symbol);

/* The runtime's codes as the driver has them. */
CUresult acu_sim_driver_result(cudaError_t error);

/* Until all bodies are converted: judges as the driver, then the body of the runtime's function
 * does the call. */
CUresult acu_sim_begin(acu_sim_need need);
CUresult acu_sim_end(cudaError_t result);
#define BY_RUNTIME(need, call)                                                                     \
    do {                                                                                           \
        CUresult why_not = acu_sim_begin(need);                                                    \
        return why_not ? why_not : acu_sim_end(call);                                              \
    } while (0)

/* cuGetProcAddress(), and what the runtime makes of it. */
CUdriverProcAddressQueryResult acu_sim_driver_find(const char *symbol, int version, bool per_thread,
                                                   void **found);

void acu_sim_linkers_reset(void);
int acu_sim_linkers_leaks(int print);

#endif
