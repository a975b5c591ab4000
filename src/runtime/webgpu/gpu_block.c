#include "runtime/webgpu/gpu_block.h"

#include "core/fail.h"
#include "runtime/webgpu/gpu_kernels.h"
#include "runtime/webgpu/gpu_transfer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = 4 };

uint64_t acu_gpu_block_limit(const acu_gpu *gpu) {
    return gpu->limits.maxBufferSize & ~UINT64_C(3);
}

acu_result acu_gpu_block_create(acu_gpu *gpu, uint64_t size, acu_gpu_block **out) {
    static const char call[] = "acu_gpu_block_create";
    *out = NULL;
    if (size > acu_gpu_block_limit(gpu))
        return acu_fail(call, gpu->name, ACU_ERROR_LIMIT,
                        "%" PRIu64 " bytes are more than this device's largest buffer, %" PRIu64,
                        size, acu_gpu_block_limit(gpu));
    acu_gpu_block *block = calloc(1, sizeof *block);
    if (!block)
        return acu_fail(call, gpu->name, ACU_ERROR_HOST_MEMORY, "no memory for a block");
    *block = (acu_gpu_block){.gpu = gpu, .size = size};
    snprintf(block->name, sizeof block->name, "block of %" PRIu64 " bytes", size);
    acu_result result = acu_gpu_begin(gpu, call);
    if (!result) {
        block->buffer = wgpuDeviceCreateBuffer(
            gpu->device,
            &(WGPUBufferDescriptor){.usage = WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc |
                                             WGPUBufferUsage_CopyDst,
                                    .size = acu_gpu_block_room(block)});
        if (!block->buffer)
            acu_gpu_miss(gpu, "wgpuDeviceCreateBuffer");
        result = acu_gpu_end(gpu, call, block->name);
    }
    if (result)
        acu_gpu_block_release(block);
    else
        *out = block;
    return result;
}

void acu_gpu_block_release(acu_gpu_block *block) {
    if (!block)
        return;
    if (block->buffer)
        wgpuBufferRelease(block->buffer);
    free(block);
}

acu_result acu_gpu_block_check(const acu_gpu_block *block, const char *call, uint64_t offset,
                               uint64_t size) {
    if (offset <= block->size && size <= block->size - offset)
        return 0;
    return acu_fail(call, block->name, ACU_ERROR_RANGE,
                    "bytes %" PRIu64 " to %" PRIu64 " are not inside the block", offset,
                    offset + size);
}

/* ---- writing ---- */

/* Writes up to three bytes into one word, of which the others stay. */
static void merge(acu_gpu *gpu, WGPUBuffer buffer, uint64_t offset, const unsigned char *data,
                  size_t size) {
    const unsigned first = (unsigned)(offset % WORD) * 8;
    uint32_t value = 0, mask = 0;
    for (size_t i = 0; i < size; i++) {
        value |= (uint32_t)data[i] << (first + 8 * i);
        mask |= UINT32_C(0xff) << (first + 8 * i);
    }
    acu_gpu_kernels_merge(gpu, buffer, offset / WORD, value, mask);
}

/* The last word of a block may be written as a whole, because nobody sees what is behind the end.
 */
static void write_tail(acu_gpu_block *block, uint64_t offset, const unsigned char *data,
                       size_t size) {
    unsigned char word[WORD] = {0};
    if (offset + size != block->size) {
        merge(block->gpu, block->buffer, offset, data, size);
        return;
    }
    memcpy(word, data, size);
    wgpuQueueWriteBuffer(block->gpu->queue, block->buffer, offset, word, sizeof word);
}

acu_result acu_gpu_block_write(acu_gpu_block *block, uint64_t offset, const void *data,
                               size_t size) {
    static const char call[] = "acu_gpu_block_write";
    acu_gpu *gpu = block->gpu;
    ACU_TRY(acu_gpu_block_check(block, call, offset, size));
    ACU_TRY(acu_gpu_kernels_prepare(gpu));
    ACU_TRY(acu_gpu_begin(gpu, call));
    const unsigned char *at = data;
    size_t head = (size_t)(-offset % WORD);
    head = head < size ? head : size;
    const size_t body = (size - head) & ~(size_t)(WORD - 1), tail = size - head - body;
    if (head)
        merge(gpu, block->buffer, offset, at, head);
    if (body)
        wgpuQueueWriteBuffer(gpu->queue, block->buffer, offset + head, at + head, body);
    if (tail)
        write_tail(block, offset + head + body, at + head + body, tail);
    return acu_gpu_end(gpu, call, block->name);
}

/* ---- filling ---- */

acu_result acu_gpu_block_fill(acu_gpu_block *block, uint64_t offset, uint64_t size,
                              const void *element, size_t element_size) {
    static const char call[] = "acu_gpu_block_fill";
    if (element_size < 1 || element_size > 16)
        return acu_fail(call, block->name, ACU_ERROR_ARGUMENT,
                        "an element has 1 to 16 bytes, not %zu", element_size);
    ACU_TRY(acu_gpu_block_check(block, call, offset, size));
    ACU_TRY(acu_gpu_kernels_prepare(block->gpu));
    ACU_TRY(acu_gpu_begin(block->gpu, call));
    if (size)
        acu_gpu_kernels_fill(block->gpu, block->buffer, acu_gpu_block_room(block), offset, size,
                             element, element_size);
    return acu_gpu_end(block->gpu, call, block->name);
}

/* ---- reading ---- */

acu_result acu_gpu_block_read(acu_gpu_block *block, uint64_t offset, void *data, size_t size) {
    acu_gpu_transfer *transfer = NULL;
    ACU_TRY(acu_gpu_transfer_begin(block, offset, size, &transfer));
    return acu_gpu_transfer_end(transfer, data);
}
