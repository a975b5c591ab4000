/* Bytes of a block that are being read: they are copied into a staging buffer, which is mapped once
 * the device has come so far. */
#ifndef ACU_GPU_TRANSFER_H
#define ACU_GPU_TRANSFER_H

#include "runtime/webgpu/gpu_block.h"

typedef struct acu_gpu_transfer acu_gpu_transfer;

/* Queues the reading; the block may be released, and written, at once. */
ACU_CHECKED acu_result acu_gpu_transfer_begin(acu_gpu_block *block, uint64_t offset, size_t size,
                                              acu_gpu_transfer **out);
/* Returns whether acu_gpu_transfer_end() would not wait. */
bool acu_gpu_transfer_is_done(acu_gpu_transfer *transfer);
/* Waits, copies the bytes to `data` unless that is NULL, and ends the transfer, also if it fails.
 */
ACU_CHECKED acu_result acu_gpu_transfer_end(acu_gpu_transfer *transfer, void *data);

/* Give up the staging buffers that are kept, and, after the device itself, the transfers that were
 * never answered. */
void acu_gpu_transfer_drop_spare(acu_gpu *gpu);
void acu_gpu_transfer_drop_forgotten(acu_gpu *gpu);

#endif
