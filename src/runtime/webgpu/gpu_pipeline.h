/* Compute pipelines, kept by the text that they were compiled from, because compiling takes
 * milliseconds. */
#ifndef ACU_GPU_PIPELINE_H
#define ACU_GPU_PIPELINE_H

#include "runtime/webgpu/gpu.h"

typedef struct acu_gpu_pipeline {
    struct acu_gpu_pipeline *next;
    WGPUComputePipeline handle;
    WGPUBindGroupLayout layout; /* of group 0 */
    size_t users;               /* under the device's lock */
    uint64_t hash;
    char *source; /* owned, as is `entry` */
    char *entry;
} acu_gpu_pipeline;

/*
 * Returns the pipeline of an entry point of a WGSL text, compiling it the first time. Fails with
 * ACU_ERROR_COMPILE and the compiler's words. The pipeline lives until each user has put it back,
 * or as long as the device.
 *
 * `entry` NULL means the text's only entry point.
 */
ACU_CHECKED acu_result acu_gpu_pipeline_get(acu_gpu *gpu, const char *source, const char *entry,
                                            const acu_gpu_pipeline **out);
/* Takes a user away; work that is queued may still use the pipeline. */
void acu_gpu_pipeline_put(acu_gpu *gpu, const acu_gpu_pipeline *pipeline);
/* Returns the pipeline as acu_gpu_pipeline_get() does, as a part of an operation, which fails where
 * this returns NULL. */
const acu_gpu_pipeline *acu_gpu_pipeline_part(acu_gpu *gpu, const char *source, const char *entry);
/* Returns how many the device has. */
size_t acu_gpu_pipeline_count(acu_gpu *gpu);
void acu_gpu_pipeline_drop_all(acu_gpu *gpu);

#endif
