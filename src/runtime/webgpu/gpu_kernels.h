/*
 * What WebGPU's own copies cannot do, since they move words of four bytes: kernels of a device that
 * write bytes. Each function is a part of an operation: its errors are those of acu_gpu_end().
 */
#ifndef ACU_GPU_KERNELS_H
#define ACU_GPU_KERNELS_H

#include "runtime/webgpu/gpu.h"

/* Returns one of the layer's own kernels, compiling it the first time; NULL, and fails the
 * operation, if that is not possible. */
const struct acu_gpu_pipeline *acu_gpu_kernels_get(acu_gpu *gpu, int kernel);

/* Makes the device's scratch buffer large enough (gpu_copy.c); work that is queued keeps the old
 * one. Returns false, and fails the operation, if there is no memory. */
bool acu_gpu_reserve(acu_gpu *gpu, uint64_t size);

/* Replaces the bits of `mask` in one word. */
void acu_gpu_kernels_merge(acu_gpu *gpu, WGPUBuffer buffer, uint64_t word, uint32_t value,
                           uint32_t mask);
/* Fills bytes of a buffer with an element of 1 to 16 bytes. */
void acu_gpu_kernels_fill(acu_gpu *gpu, WGPUBuffer buffer, uint64_t room, uint64_t offset,
                          uint64_t size, const void *element, size_t element_size);
/* Copies bytes between two buffers, which are not the same; `room` is the buffer's size. */
void acu_gpu_kernels_copy(acu_gpu *gpu, WGPUBuffer to, uint64_t to_room, uint64_t to_offset,
                          WGPUBuffer from, uint64_t from_room, uint64_t from_offset, uint64_t size);

#endif
