/*
 * What WebGPU's own copies cannot do, since they move words of four bytes: kernels of a device that
 * write bytes. Each function is a part of an operation: its errors are those of acu_gpu_end().
 */
#ifndef ACU_GPU_KERNELS_H
#define ACU_GPU_KERNELS_H

#include "runtime/webgpu/gpu.h"

/* Compiles the kernels, once; before the operation begins. */
ACU_CHECKED acu_result acu_gpu_kernels_prepare(acu_gpu *gpu);

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
