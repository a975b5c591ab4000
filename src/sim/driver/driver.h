/* The driver API, played over the same devices, streams and memory as the runtime's. */
#ifndef ACU_SIM_DRIVER_H
#define ACU_SIM_DRIVER_H

#include "sim/device/context.h"
#include "sim/sim.h"

#include <anycuda/cuda.h>

#define DRIVER(name) extern __typeof__(*acu_slot_##name) acu_sim_##name;
#define DRIVER_PTDS(name, suffix, params, args)                                                    \
    extern __typeof__(*acu_slot_##name) acu_sim_##name, acu_sim_##name##_##suffix;
#include "sim/entry/driver_functions.h"
#undef DRIVER
#undef DRIVER_PTDS

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
CUresult acu_sim_as_result(cudaError_t error);

/*
 * For calls that the runtime has, too: judged as the driver's, and then the runtime's own.
 * `begin` gives no lock to the caller.
 */
CUresult acu_sim_begin_for(acu_sim_need need, const void *caller);
#define acu_sim_begin(need) acu_sim_begin_for(need, __builtin_return_address(0))
CUresult acu_sim_end(cudaError_t result);
#define BY_RUNTIME(need, call)                                                                     \
    do {                                                                                           \
        CUresult why_not = acu_sim_begin(need);                                                    \
        return why_not ? why_not : acu_sim_end(call);                                              \
    } while (0)

/* cuGetProcAddress(), and what the runtime makes of it. */
CUdriverProcAddressQueryResult acu_sim_find_driver(const char *symbol, int version, bool per_thread,
                                                   void **found);

void acu_sim_linkers_reset(void);
int acu_sim_linkers_leaks(int print);

#endif
