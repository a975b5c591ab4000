/* Launching a pipeline on blocks. */
#ifndef ACU_GPU_LAUNCH_H
#define ACU_GPU_LAUNCH_H

#include "runtime/webgpu/gpu_block.h"
#include "runtime/webgpu/gpu_pipeline.h"

/* How many work groups, in three dimensions. */
typedef struct acu_gpu_groups {
    uint32_t x, y, z;
} acu_gpu_groups;

/* A part of a buffer, of whole words. */
typedef struct acu_gpu_binding {
    WGPUBuffer buffer;
    uint64_t offset, size;
} acu_gpu_binding;

enum { ACU_GPU_BINDINGS = 32 };

/*
 * Launches work groups of a pipeline. Block i is `@group(0) @binding(i)`, a storage buffer of whole
 * words; the parameters, if there are any, are a uniform buffer at the binding after the last
 * block. The text must use all of them.
 *
 * Fails with ACU_ERROR_LIMIT above a limit of the device, before WebGPU is called.
 */
ACU_CHECKED acu_result acu_gpu_launch(acu_gpu *gpu, const acu_gpu_pipeline *pipeline,
                                      acu_gpu_block *const *blocks, size_t count,
                                      const void *parameters, size_t size, acu_gpu_groups groups);
/* Launches as acu_gpu_launch() does, on parts of buffers. */
ACU_CHECKED acu_result acu_gpu_launch_bound(acu_gpu *gpu, const acu_gpu_pipeline *pipeline,
                                            const acu_gpu_binding *bindings, size_t count,
                                            const void *parameters, size_t size,
                                            acu_gpu_groups groups);
/* Launches as acu_gpu_launch_bound() does, as a part of an operation, without checks. */
void acu_gpu_launch_part(acu_gpu *gpu, const acu_gpu_pipeline *pipeline,
                         const acu_gpu_binding *bindings, size_t count, const void *parameters,
                         size_t size, acu_gpu_groups groups);

#endif
