#include "runtime/webgpu/gpu_launch.h"

#include "core/fail.h"

#include <inttypes.h>
#include <string.h>

static const char launch[] = "acu_gpu_launch";

static WGPUBindGroup bind(acu_gpu *gpu, const acu_gpu_pipeline *pipeline,
                          const acu_gpu_binding *bindings, size_t count, size_t size) {
    WGPUBindGroupEntry entries[ACU_GPU_BINDINGS + 1] = {{0}};
    for (size_t i = 0; i < count; i++)
        entries[i] = (WGPUBindGroupEntry){.binding = (uint32_t)i,
                                          .buffer = bindings[i].buffer,
                                          .offset = bindings[i].offset,
                                          .size = bindings[i].size};
    entries[count] =
        (WGPUBindGroupEntry){.binding = (uint32_t)count, .buffer = gpu->parameters, .size = size};
    return wgpuDeviceCreateBindGroup(gpu->device,
                                     &(WGPUBindGroupDescriptor){.layout = pipeline->layout,
                                                                .entryCount = count + (size > 0),
                                                                .entries = entries});
}

static void encode(acu_gpu *gpu, WGPUCommandEncoder encoder, const acu_gpu_pipeline *pipeline,
                   WGPUBindGroup group, acu_gpu_groups groups) {
    const WGPUComputePassEncoder pass = wgpuCommandEncoderBeginComputePass(encoder, NULL);
    if (!pass) {
        acu_gpu_miss(gpu, "wgpuCommandEncoderBeginComputePass");
        return;
    }
    wgpuComputePassEncoderSetPipeline(pass, pipeline->handle);
    wgpuComputePassEncoderSetBindGroup(pass, 0, group, 0, NULL);
    wgpuComputePassEncoderDispatchWorkgroups(pass, groups.x, groups.y, groups.z);
    wgpuComputePassEncoderEnd(pass);
    wgpuComputePassEncoderRelease(pass);
}

/* The queue orders writes and launches, so one buffer serves the parameters of all launches. The
 * size of a uniform buffer's binding is rounded to 16 bytes, as WGSL lays structs out. */
void acu_gpu_launch_part(acu_gpu *gpu, const acu_gpu_pipeline *pipeline,
                         const acu_gpu_binding *bindings, size_t count, const void *parameters,
                         size_t size, acu_gpu_groups groups) {
    unsigned char padded[ACU_GPU_PARAMETERS] = {0};
    const size_t rounded = (size + 15) & ~(size_t)15;
    const WGPUBindGroup group = bind(gpu, pipeline, bindings, count, rounded);
    if (!group) {
        acu_gpu_miss(gpu, "wgpuDeviceCreateBindGroup");
        return;
    }
    if (size) {
        memcpy(padded, parameters, size);
        wgpuQueueWriteBuffer(gpu->queue, gpu->parameters, 0, padded, rounded);
    }
    const WGPUCommandEncoder encoder = acu_gpu_encode(gpu);
    if (encoder) {
        encode(gpu, encoder, pipeline, group, groups);
        acu_gpu_submit(gpu, encoder);
    }
    wgpuBindGroupRelease(group);
}

/* ---- checks ---- */

static acu_result check_groups(const acu_gpu *gpu, acu_gpu_groups groups) {
    const uint32_t most = gpu->limits.maxComputeWorkgroupsPerDimension;
    if (groups.x <= most && groups.y <= most && groups.z <= most)
        return 0;
    return acu_fail(launch, gpu->name, ACU_ERROR_LIMIT,
                    "%" PRIu32 " x %" PRIu32 " x %" PRIu32
                    " work groups; this device takes %" PRIu32 " in each dimension",
                    groups.x, groups.y, groups.z, most);
}

static acu_result check_counts(const acu_gpu *gpu, size_t count, size_t size) {
    const uint32_t most = gpu->limits.maxStorageBuffersPerShaderStage;
    const uint64_t bytes = gpu->limits.maxUniformBufferBindingSize;
    if (count > most || count > ACU_GPU_BINDINGS)
        return acu_fail(launch, gpu->name, ACU_ERROR_LIMIT,
                        "%zu blocks; a kernel of this device takes %" PRIu32, count,
                        most < ACU_GPU_BINDINGS ? most : ACU_GPU_BINDINGS);
    if (size > ACU_GPU_PARAMETERS || size > bytes)
        return acu_fail(launch, gpu->name, ACU_ERROR_LIMIT,
                        "%zu bytes of parameters; a launch takes %" PRIu64, size,
                        bytes < ACU_GPU_PARAMETERS ? bytes : (uint64_t)ACU_GPU_PARAMETERS);
    return 0;
}

acu_result acu_gpu_launch_bound(acu_gpu *gpu, const acu_gpu_pipeline *pipeline,
                                const acu_gpu_binding *bindings, size_t count,
                                const void *parameters, size_t size, acu_gpu_groups groups) {
    ACU_TRY(check_counts(gpu, count, size));
    for (size_t i = 0; i < count; i++)
        if (bindings[i].size > gpu->limits.maxStorageBufferBindingSize)
            return acu_fail(launch, gpu->name, ACU_ERROR_LIMIT,
                            "block %zu has %" PRIu64
                            " bytes; a kernel of this device can use %" PRIu64 " bytes of a block",
                            i, bindings[i].size, gpu->limits.maxStorageBufferBindingSize);
    ACU_TRY(check_groups(gpu, groups));
    ACU_TRY(acu_gpu_begin(gpu, launch));
    acu_gpu_launch_part(gpu, pipeline, bindings, count, parameters, size, groups);
    return acu_gpu_end(gpu, launch, gpu->name);
}

acu_result acu_gpu_launch(acu_gpu *gpu, const acu_gpu_pipeline *pipeline,
                          acu_gpu_block *const *blocks, size_t count, const void *parameters,
                          size_t size, acu_gpu_groups groups) {
    acu_gpu_binding bindings[ACU_GPU_BINDINGS];
    for (size_t i = 0; i < count && i < ACU_GPU_BINDINGS; i++) {
        if (blocks[i]->gpu != gpu)
            return acu_fail(launch, blocks[i]->name, ACU_ERROR_DEVICE,
                            "the block is of another device");
        bindings[i] = (acu_gpu_binding){blocks[i]->buffer, 0, acu_gpu_block_room(blocks[i])};
    }
    return acu_gpu_launch_bound(gpu, pipeline, bindings, count, parameters, size, groups);
}
