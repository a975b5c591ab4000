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

/* ---- blocks of buffers that exist ---- */

static const WGPUBufferUsage needed =
    WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst;
static const char wrap[] = "acu_gpu_block_wrap";

static acu_result check_buffer(const acu_gpu *gpu, WGPUBuffer buffer, uint64_t size) {
    if (!buffer)
        return acu_fail(wrap, gpu->name, ACU_ERROR_ARGUMENT, "the buffer is NULL");
    const WGPUBufferUsage usage = wgpuBufferGetUsage(buffer);
    const uint64_t room = wgpuBufferGetSize(buffer);
    if ((usage & needed) != needed)
        return acu_fail(wrap, gpu->name, ACU_ERROR_ARGUMENT,
                        "the buffer has the usages 0x%" PRIx64
                        "; Storage, CopySrc and CopyDst, 0x%" PRIx64 ", are needed",
                        (uint64_t)usage, (uint64_t)needed);
    if (room < size)
        return acu_fail(wrap, gpu->name, ACU_ERROR_RANGE,
                        "the buffer has %" PRIu64 " bytes, not %" PRIu64, room, size);
    if (room % WORD)
        return acu_fail(wrap, gpu->name, ACU_ERROR_ARGUMENT,
                        "the buffer has %" PRIu64
                        " bytes, which are no whole words: WebGPU copies words of %d bytes",
                        room, WORD);
    return 0;
}

/* The block has the whole buffer, whose bytes behind `size` are not this block's to change. A write
 * of no bytes fails where the buffer is another device's. */
acu_result acu_gpu_block_wrap(acu_gpu *gpu, WGPUBuffer buffer, uint64_t size, acu_gpu_block **out) {
    *out = NULL;
    ACU_TRY(check_buffer(gpu, buffer, size));
    ACU_TRY(acu_gpu_begin(gpu, wrap));
    wgpuQueueWriteBuffer(gpu->queue, buffer, 0, "", 0);
    ACU_TRY(acu_gpu_end(gpu, wrap, gpu->name));
    acu_gpu_block *block = calloc(1, sizeof *block);
    if (!block)
        return acu_fail(wrap, gpu->name, ACU_ERROR_HOST_MEMORY, "no memory for a block");
    *block = (acu_gpu_block){.gpu = gpu, .buffer = buffer, .size = wgpuBufferGetSize(buffer)};
    snprintf(block->name, sizeof block->name, "block of a buffer of %" PRIu64 " bytes",
             block->size);
    wgpuBufferAddRef(buffer);
    *out = block;
    return 0;
}

void acu_gpu_block_release(acu_gpu_block *block) {
    if (!block)
        return;
    if (block->buffer)
        wgpuBufferRelease(block->buffer);
    free(block);
}

static bool is_inside(const acu_gpu_block *block, uint64_t offset, uint64_t size) {
    return offset <= block->size && size <= block->size - offset;
}

acu_result acu_gpu_block_check(const acu_gpu_block *block, const char *call, uint64_t offset,
                               uint64_t size) {
    if (is_inside(block, offset, size))
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
    acu_gpu_write(block->gpu, block->buffer, offset, word, sizeof word);
}

/* Returns whether these are words, at least one, and nothing else. */
static bool is_words(uint64_t offset, size_t size) {
    return (offset | size) % WORD == 0 && size > 0;
}

/* Writes a head and a tail of a few bytes, and the words between; or fails. */
__attribute__((noinline)) static acu_result write_parts(acu_gpu_block *block, uint64_t offset,
                                                        const unsigned char *at, size_t size) {
    static const char call[] = "acu_gpu_block_write";
    acu_gpu *gpu = block->gpu;
    ACU_TRY(acu_gpu_block_check(block, call, offset, size));
    ACU_TRY(acu_gpu_begin(gpu, call));
    size_t head = (size_t)(-offset % WORD);
    head = head < size ? head : size;
    const size_t body = (size - head) & ~(size_t)(WORD - 1), tail = size - head - body;
    if (head)
        merge(gpu, block->buffer, offset, at, head);
    if (body)
        acu_gpu_write(gpu, block->buffer, offset + head, at + head, body);
    if (tail)
        write_tail(block, offset + head + body, at + head + body, tail);
    return acu_gpu_end(gpu, call, block->name);
}

acu_result acu_gpu_block_write(acu_gpu_block *block, uint64_t offset, const void *data,
                               size_t size) {
    if (is_words(offset, size) && size <= ACU_GPU_STEP && is_inside(block, offset, size))
        return acu_gpu_write_alone(block->gpu, block->name, block->buffer, offset, data, size);
    return write_parts(block, offset, data, size);
}

/* ---- filling ---- */

static bool is_zero(const unsigned char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (bytes[i])
            return false;
    return true;
}

/* Clears whole words; the last word of a block counts as one. Returns whether it could. */
static bool clear(acu_gpu_block *block, uint64_t offset, uint64_t size) {
    if (offset % WORD || (size % WORD && offset + size != block->size))
        return false;
    const WGPUCommandEncoder encoder = acu_gpu_encode(block->gpu);
    if (encoder) {
        wgpuCommandEncoderClearBuffer(encoder, block->buffer, offset,
                                      (size + WORD - 1) & ~(uint64_t)(WORD - 1));
        acu_gpu_submit(block->gpu, encoder);
    }
    return true;
}

acu_result acu_gpu_block_fill(acu_gpu_block *block, uint64_t offset, uint64_t size,
                              const void *element, size_t element_size) {
    static const char call[] = "acu_gpu_block_fill";
    if (element_size < 1 || element_size > 16)
        return acu_fail(call, block->name, ACU_ERROR_ARGUMENT,
                        "an element has 1 to 16 bytes, not %zu", element_size);
    ACU_TRY(acu_gpu_block_check(block, call, offset, size));
    ACU_TRY(acu_gpu_begin(block->gpu, call));
    if (size && (!is_zero(element, element_size) || !clear(block, offset, size)))
        acu_gpu_kernels_fill(block->gpu, block->buffer, acu_gpu_block_room(block), offset, size,
                             element, element_size);
    return acu_gpu_end(block->gpu, call, block->name);
}

/* ---- reading ---- */

/* Large reads go through staging buffers of this size, two at a time: the host copies the bytes of
 * one while the device fills the other. */
static const size_t piece = (size_t)16 * 1024 * 1024;

acu_result acu_gpu_block_read(acu_gpu_block *block, uint64_t offset, void *data, size_t size) {
    acu_gpu_transfer *before = NULL, *now = NULL;
    size_t taken = 0, asked = 0;
    acu_result result = acu_gpu_block_check(block, "acu_gpu_block_read", offset, size);
    if (result)
        return result;
    do {
        const size_t part = size - asked < piece ? size - asked : piece;
        result = acu_gpu_transfer_begin(block, offset + asked, part, &now);
        asked += part;
        if (before) { /* which ends in any case */
            const acu_result ended = acu_gpu_transfer_end(before, (char *)data + taken);
            result = result ? result : ended;
            taken += piece;
        }
        before = now;
    } while (!result && asked < size);
    if (!before)
        return result;
    const acu_result ended = acu_gpu_transfer_end(before, result ? NULL : (char *)data + taken);
    return result ? result : ended;
}
