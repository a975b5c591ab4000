/* The driver API, simulated over the same devices, streams and memory as the runtime's. */
#ifndef ACU_SIM_DRIVER_H
#define ACU_SIM_DRIVER_H

#include "sim/cuda_bodies.h"
#include "sim/device/context.h"
#include "sim/device/error.h"
#include "sim/device/need.h"
#include "sim/noun.h"
#include "sim/sim.h"

/* Bodies of what the names meant in older versions of CUDA, with other parameters. */
cudaError_t acu_sim_cuGraphAddKernelNode_v1(CUgraphNode *node, CUgraph graph,
                                            const CUgraphNode *dependencies, size_t count,
                                            const CUDA_KERNEL_NODE_PARAMS_v1 *params);
cudaError_t acu_sim_cuGraphKernelNodeGetParams_v1(CUgraphNode node,
                                                  CUDA_KERNEL_NODE_PARAMS_v1 *params);
cudaError_t acu_sim_cuGraphKernelNodeSetParams_v1(CUgraphNode node,
                                                  const CUDA_KERNEL_NODE_PARAMS_v1 *params);
cudaError_t acu_sim_cuGraphExecKernelNodeSetParams_v1(CUgraphExec exec, CUgraphNode node,
                                                      const CUDA_KERNEL_NODE_PARAMS_v1 *params);

cudaError_t acu_sim_cuCtxCreate_v2(CUcontext *handle, unsigned flags, CUdevice device);
cudaError_t acu_sim_cuCtxCreate_v3(CUcontext *handle, CUexecAffinityParam *params, int count,
                                   unsigned flags, CUdevice device);
cudaError_t acu_sim_cuGetProcAddress_v1(const char *symbol, void **pfn, int version,
                                        cuuint64_t flags);

/* Adds a kernel's node, as cuGraphAddKernelNode() does, behind edges with data (NULL: plain). */
/* Returns the copy that a node makes, as the runtime describes it, but in bytes also in arrays. */
cudaError_t acu_sim_driver_copy_of_node(const CUDA_MEMCPY3D *copy,
                                        struct cudaMemcpy3DParms *params);

cudaError_t acu_sim_driver_add_kernel_node(CUgraphNode *node, CUgraph graph,
                                           const CUgraphNode *dependencies,
                                           const cudaGraphEdgeData *edges, size_t count,
                                           const CUDA_KERNEL_NODE_PARAMS_v3 *params);

/* What a name meant before its present meaning, or, of few names, means since. */
typedef struct acu_sim_older_meaning {
    acu_fn fn; /* NULL: none */
    int since; /* the CUDA that brought it */
} acu_sim_older_meaning;

/* Returns the newest of these meanings that a version of CUDA has. `own`: of the thread's own
 * default stream. */
acu_sim_older_meaning acu_sim_driver_older(const char *name, int version, bool own);
/* Returns the entry of such a meaning behind a symbol of libcuda; NULL: there is none. */
acu_fn acu_sim_driver_older_symbol(const char *symbol);

/* Finds what stands for cuGetExportTable(), which refuses every table; and refuses one to a caller.
 * The first who asks for that of a CUDA runtime is told on stderr why. */
CUdriverProcAddressQueryResult acu_sim_driver_find_table(int version, void **found);
CUresult acu_sim_driver_refuse_table(const CUuuid *id, const void *caller);

/* Converts an address of the driver's. */
static inline void *acu_sim_driver_pointer(CUdeviceptr address) {
    return (void *)(uintptr_t)address;
}

/* Converts a format and a number of channels to the runtime's description of an element, and back.
 * Formats of images, packed and planar, are refused. */
cudaError_t acu_sim_driver_read_format(CUarray_format format, unsigned channels,
                                       struct cudaChannelFormatDesc *desc);
void acu_sim_driver_write_format(const struct cudaChannelFormatDesc *desc, CUarray_format *format,
                                 unsigned *channels);

/* Finds a device; `good`: the other arguments are valid, which the driver checks first. */
cudaError_t acu_sim_driver_find_device(CUdevice number, bool good, acu_sim_device **device);

/* As acu_sim_require_by_driver(), for a call with a stream, an event or memory. Where the thread
 * has no current context, that of the stream or event is current during the call, but not of a
 * default stream; and that of the memory. CUDA knows memory without any context, too. */
cudaError_t acu_sim_require_with_stream(acu_sim_need need, CUstream handle);
cudaError_t acu_sim_require_with_event(acu_sim_need need, CUevent handle);
cudaError_t acu_sim_require_with_memory(acu_sim_need need, CUdeviceptr memory);

/* Returns the entry behind a symbol; NULL if there is no such symbol, or no driver. */
acu_fn acu_sim_driver_symbol(const char *symbol);

/* Does cuGetProcAddress(), and what the runtime makes of it. */
CUdriverProcAddressQueryResult acu_sim_driver_find(const char *symbol, int version, bool per_thread,
                                                   void **found);

extern const acu_sim_noun acu_sim_linker_noun;
extern const acu_sim_noun acu_sim_coredump_noun;
extern const acu_sim_noun acu_sim_process_noun;

#endif
