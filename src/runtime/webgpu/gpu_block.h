/*
 * Memory of a device. WebGPU addresses buffers in words of four bytes; a block has any size, and
 * any offset and size may be written, read, copied and filled. A buffer is as long as the block's
 * last word; what is behind the block's end in that word is never seen.
 *
 * Offsets and sizes are in bytes; they are checked, and a size of 0 does nothing.
 */
#ifndef ACU_GPU_BLOCK_H
#define ACU_GPU_BLOCK_H

#include "runtime/webgpu/gpu.h"

typedef struct acu_gpu_block {
    acu_gpu *gpu; /* not owned: the device is closed after its blocks */
    WGPUBuffer buffer;
    uint64_t size;
    char name[96]; /* "block of 17 bytes", for errors */
} acu_gpu_block;

/* The contents are zero. Fails with ACU_ERROR_LIMIT above the largest size, and with
 * ACU_OUT_OF_MEMORY. */
ACU_CHECKED acu_result acu_gpu_block_create(acu_gpu *gpu, uint64_t size, acu_gpu_block **out);
/*
 * Makes a block of a buffer that exists, of this device, and adds an owner to it. Fails unless the
 * buffer has `size` bytes, whole words, and the usages that copies and kernels need.
 */
ACU_CHECKED acu_result acu_gpu_block_wrap(acu_gpu *gpu, WGPUBuffer buffer, uint64_t size,
                                          acu_gpu_block **out);
/* Work that is queued may still use the block. NULL is fine. */
void acu_gpu_block_release(acu_gpu_block *block);
/* Returns the largest size of a block of this device. */
uint64_t acu_gpu_block_limit(const acu_gpu *gpu);

/* Writes from the host; `data` may be used again when this returns. */
ACU_CHECKED acu_result acu_gpu_block_write(acu_gpu_block *block, uint64_t offset, const void *data,
                                           size_t size);
/* Reads to the host, and waits for that. */
ACU_CHECKED acu_result acu_gpu_block_read(acu_gpu_block *block, uint64_t offset, void *data,
                                          size_t size);
/* Fills with copies of `element`, which has 1 to 16 bytes; the first begins at `offset`, and the
 * last may be cut. */
ACU_CHECKED acu_result acu_gpu_block_fill(acu_gpu_block *block, uint64_t offset, uint64_t size,
                                          const void *element, size_t element_size);
/* Copies within a device (gpu_copy.c); the ranges may overlap. */
ACU_CHECKED acu_result acu_gpu_block_copy(acu_gpu_block *to, uint64_t to_offset,
                                          acu_gpu_block *from, uint64_t from_offset, uint64_t size);

/* Fails unless the range is inside the block. */
ACU_CHECKED acu_result acu_gpu_block_check(const acu_gpu_block *block, const char *call,
                                           uint64_t offset, uint64_t size);
/* Returns the bytes of the block's buffer, a multiple of four. */
static inline uint64_t acu_gpu_block_room(const acu_gpu_block *block) {
    return block->size ? (block->size + 3) & ~UINT64_C(3) : 4;
}

#endif
