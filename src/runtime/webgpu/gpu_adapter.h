/* The adapters of this machine: what a device can be opened on. */
#ifndef ACU_GPU_ADAPTER_H
#define ACU_GPU_ADAPTER_H

#include <anycuda/status.h>
#include <anycuda/webgpu.h>

#include <stdbool.h>

typedef struct acu_gpu_adapter {
    WGPUAdapter handle;
    char name[128];   /* "NVIDIA H100", "llvmpipe (LLVM 15.0.6, 256 bits)" */
    char driver[128]; /* "Mesa 22.3.6 (LLVM 15.0.6)" */
    WGPUAdapterType type;
    WGPUBackendType backend;
    uint32_t vendor, device; /* PCI's numbers */
    WGPULimits limits;
} acu_gpu_adapter;

/* The adapters, best first: discrete GPUs, integrated ones, unknown ones, the processor itself. */
typedef struct acu_gpu_adapters {
    WGPUInstance instance; /* owned */
    acu_gpu_adapter *list; /* owned */
    size_t count;
} acu_gpu_adapters;

/*
 * Finds the adapters by Vulkan, or by OpenGL where no Vulkan driver is found. Having none is no
 * failure: `count` is 0. The caller drops what was found; devices that were opened stay.
 */
ACU_CHECKED acu_result acu_gpu_adapters_find(acu_gpu_adapters *out);
void acu_gpu_adapters_drop(acu_gpu_adapters *adapters);

/* Returns whether the adapter is the processor, by a driver that executes shaders on it. */
bool acu_gpu_adapter_is_cpu(const acu_gpu_adapter *adapter);

#endif
