/* Copies between blocks, and within one. */
#include "core/fail.h"
#include "runtime/webgpu/gpu_block.h"
#include "runtime/webgpu/gpu_kernels.h"

enum { WORD = 4 };

static const char copy[] = "acu_gpu_block_copy";

/* Returns whether the bytes are whole words on both sides; the last word of both blocks counts as
 * one, because nobody sees what is behind their ends. */
static bool is_of_words(const acu_gpu_block *to, uint64_t to_offset, const acu_gpu_block *from,
                        uint64_t from_offset, uint64_t size) {
    return to_offset % WORD == 0 && from_offset % WORD == 0 &&
           (size % WORD == 0 || (to_offset + size == to->size && from_offset + size <= from->size));
}

static uint64_t rounded_up(uint64_t bytes) {
    return (bytes + WORD - 1) & ~(uint64_t)(WORD - 1);
}

static void copy_words(acu_gpu *gpu, WGPUBuffer to, uint64_t to_offset, WGPUBuffer from,
                       uint64_t from_offset, uint64_t size) {
    const WGPUCommandEncoder encoder = acu_gpu_encode(gpu);
    if (!encoder)
        return;
    wgpuCommandEncoderCopyBufferToBuffer(encoder, from, from_offset, to, to_offset,
                                         rounded_up(size));
    acu_gpu_submit(gpu, encoder);
}

bool acu_gpu_reserve(acu_gpu *gpu, uint64_t size) {
    if (gpu->scratch && gpu->scratch_size >= size)
        return true;
    if (gpu->scratch)
        wgpuBufferRelease(gpu->scratch);
    gpu->scratch = wgpuDeviceCreateBuffer(gpu->device,
                                          &(WGPUBufferDescriptor){.usage = WGPUBufferUsage_Storage |
                                                                           WGPUBufferUsage_CopySrc |
                                                                           WGPUBufferUsage_CopyDst,
                                                                  .size = size});
    gpu->scratch_size = gpu->scratch ? size : 0;
    if (!gpu->scratch)
        acu_gpu_miss(gpu, "wgpuDeviceCreateBuffer");
    if (acu_gpu_is_good(gpu))
        return true;
    if (gpu->scratch)
        wgpuBufferRelease(gpu->scratch);
    gpu->scratch = NULL;
    return false;
}

/* WebGPU copies only between two buffers; the words that hold the bytes go through a third one. */
static void move(acu_gpu_block *block, uint64_t to_offset, uint64_t from_offset, uint64_t size,
                 bool words) {
    acu_gpu *gpu = block->gpu;
    const uint64_t begin = from_offset & ~(uint64_t)(WORD - 1);
    const uint64_t bytes = rounded_up(from_offset + size) - begin;
    if (!acu_gpu_reserve(gpu, bytes))
        return;
    copy_words(gpu, gpu->scratch, 0, block->buffer, begin, bytes);
    if (words)
        copy_words(gpu, block->buffer, to_offset, gpu->scratch, 0, size);
    else
        acu_gpu_kernels_copy(gpu, block->buffer, acu_gpu_block_room(block), to_offset, gpu->scratch,
                             bytes, from_offset - begin, size);
}

/* Moves part by part, so that the scratch buffer stays small; from the end on where the bytes go
 * up.
 */
static void copy_within(acu_gpu_block *block, uint64_t to_offset, uint64_t from_offset,
                        uint64_t size, bool words) {
    const uint64_t step = block->gpu->scratch_step, parts = (size + step - 1) / step;
    for (uint64_t i = 0; i < parts && acu_gpu_is_good(block->gpu); i++) {
        const uint64_t at = (to_offset > from_offset ? parts - 1 - i : i) * step;
        const uint64_t left = size - at;
        move(block, to_offset + at, from_offset + at, left < step ? left : step, words);
    }
}

acu_result acu_gpu_block_copy(acu_gpu_block *to, uint64_t to_offset, acu_gpu_block *from,
                              uint64_t from_offset, uint64_t size) {
    acu_gpu *gpu = to->gpu;
    if (from->gpu != gpu)
        return acu_fail(copy, to->name, ACU_ERROR_DEVICE, "the blocks are of different devices");
    ACU_TRY(acu_gpu_block_check(to, copy, to_offset, size));
    ACU_TRY(acu_gpu_block_check(from, copy, from_offset, size));
    const bool words = is_of_words(to, to_offset, from, from_offset, size);
    ACU_TRY(acu_gpu_begin(gpu, copy));
    if (!size || (to == from && to_offset == from_offset))
        return acu_gpu_end(gpu, copy, to->name);
    if (to == from) {
        copy_within(to, to_offset, from_offset, size, words);
    } else if (words) {
        copy_words(gpu, to->buffer, to_offset, from->buffer, from_offset, size);
    } else {
        acu_gpu_kernels_copy(gpu, to->buffer, acu_gpu_block_room(to), to_offset, from->buffer,
                             acu_gpu_block_room(from), from_offset, size);
    }
    return acu_gpu_end(gpu, copy, to->name);
}
