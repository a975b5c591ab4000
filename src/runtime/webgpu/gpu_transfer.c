#include "runtime/webgpu/gpu_transfer.h"

#include "core/fail.h"
#include "runtime/webgpu/webgpu_call.h"

#include <stdlib.h>
#include <string.h>

enum { WORD = 4, SPARE = 8 };
static const uint64_t smallest = 4096, largest = UINT64_C(32) * 1024 * 1024; /* of what is kept */
static const char end[] = "acu_gpu_transfer_end";

struct acu_gpu_transfer {
    struct acu_gpu_transfer *next; /* in the list of spare ones */
    acu_gpu *gpu;
    WGPUBuffer staging;
    uint64_t room;
    size_t skip, size; /* the bytes in the staging buffer */
    bool done;         /* atomic: the callback has run */
    bool mapped;
    char text[ACU_GPU_TEXT]; /* why it is not mapped */
};

static void drop(acu_gpu_transfer *transfer) {
    if (transfer->staging)
        wgpuBufferRelease(transfer->staging);
    free(transfer);
}

/* Returns a spare transfer that has the room; NULL if there is none. The caller holds the lock. */
static acu_gpu_transfer *take_spare(acu_gpu *gpu, uint64_t bytes) {
    for (acu_gpu_transfer **at = &gpu->spare; *at; at = &(*at)->next) {
        acu_gpu_transfer *found = *at;
        if (found->room < bytes || found->room / 4 > bytes)
            continue;
        *at = found->next;
        gpu->spare_count--;
        return found;
    }
    return NULL;
}

static acu_gpu_transfer *make(acu_gpu *gpu, uint64_t bytes) {
    acu_gpu_transfer *transfer = calloc(1, sizeof *transfer);
    if (!transfer)
        return NULL;
    transfer->gpu = gpu;
    transfer->room = bytes < smallest ? smallest : bytes;
    transfer->staging = wgpuDeviceCreateBuffer(
        gpu->device,
        &(WGPUBufferDescriptor){.usage = WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst,
                                .size = transfer->room});
    return transfer;
}

/* Leaves a transfer to the device, which frees it when no callback can come any more. */
static void forget(acu_gpu_transfer *transfer) {
    acu_gpu *gpu = transfer->gpu;
    pthread_mutex_lock(&gpu->lock);
    transfer->next = gpu->forgotten;
    gpu->forgotten = transfer;
    pthread_mutex_unlock(&gpu->lock);
}

static void on_mapped(WGPUMapAsyncStatus status, WGPUStringView message, void *data, void *unused) {
    acu_gpu_transfer *transfer = data;
    (void)unused;
    transfer->mapped = status == WGPUMapAsyncStatus_Success;
    acu_webgpu_one_line(transfer->text, sizeof transfer->text, message);
    __atomic_store_n(&transfer->done, true, __ATOMIC_RELEASE);
}

/* Queues the copy of whole words, and asks for the mapping. */
static void queue(acu_gpu_transfer *transfer, WGPUBuffer from, uint64_t begin, uint64_t bytes) {
    acu_gpu *gpu = transfer->gpu;
    const WGPUCommandEncoder encoder = acu_gpu_encode(gpu);
    if (encoder) {
        wgpuCommandEncoderCopyBufferToBuffer(encoder, from, begin, transfer->staging, 0, bytes);
        acu_gpu_submit(gpu, encoder);
    }
    if (!acu_gpu_is_good(gpu)) {
        transfer->done = true;
        return;
    }
    const WGPUBufferMapCallbackInfo info = {
        .mode = WGPUCallbackMode_AllowProcessEvents, .callback = on_mapped, .userdata1 = transfer};
    (void)wgpuBufferMapAsync(transfer->staging, WGPUMapMode_Read, 0, (size_t)bytes, info);
}

acu_result acu_gpu_transfer_begin(acu_gpu_block *block, uint64_t offset, size_t size,
                                  acu_gpu_transfer **out) {
    static const char call[] = "acu_gpu_transfer_begin";
    acu_gpu *gpu = block->gpu;
    *out = NULL;
    ACU_TRY(acu_gpu_block_check(block, call, offset, size));
    const uint64_t begin = offset & ~(uint64_t)(WORD - 1);
    const uint64_t bytes = ((offset + size + WORD - 1) & ~(uint64_t)(WORD - 1)) - begin;
    ACU_TRY(acu_gpu_begin(gpu, call));
    acu_gpu_transfer *transfer = take_spare(gpu, bytes);
    if (!transfer)
        transfer = make(gpu, bytes);
    if (!transfer)
        return acu_gpu_cancel(
            gpu, acu_fail(call, block->name, ACU_ERROR_HOST_MEMORY, "no memory for a transfer"));
    if (!transfer->staging) {
        drop(transfer);
        acu_gpu_miss(gpu, "wgpuDeviceCreateBuffer");
        return acu_gpu_end(gpu, call, block->name);
    }
    transfer->skip = (size_t)(offset - begin);
    transfer->size = size;
    transfer->done = transfer->mapped = size == 0;
    if (size)
        queue(transfer, block->buffer, begin, bytes);
    const acu_result result = acu_gpu_end(gpu, call, block->name);
    if (result && __atomic_load_n(&transfer->done, __ATOMIC_ACQUIRE))
        drop(transfer);
    else if (result)
        forget(transfer);
    else
        *out = transfer;
    return result;
}

bool acu_gpu_transfer_is_done(acu_gpu_transfer *transfer) {
    if (!__atomic_load_n(&transfer->done, __ATOMIC_ACQUIRE))
        acu_gpu_poll(transfer->gpu);
    return __atomic_load_n(&transfer->done, __ATOMIC_ACQUIRE);
}

/* Keeps a staging buffer for the next transfer, or gives it up. */
static void keep(acu_gpu_transfer *transfer) {
    acu_gpu *gpu = transfer->gpu;
    pthread_mutex_lock(&gpu->lock);
    const bool room = gpu->spare_count < SPARE && transfer->room <= largest;
    if (room) {
        transfer->next = gpu->spare;
        gpu->spare = transfer;
        gpu->spare_count++;
    }
    pthread_mutex_unlock(&gpu->lock);
    if (!room)
        drop(transfer);
}

/* Copies what is mapped, as an operation; wgpu-native ends the process if the device is lost. */
static acu_result copy_out(acu_gpu_transfer *transfer, void *data) {
    acu_gpu *gpu = transfer->gpu;
    const size_t bytes = (transfer->skip + transfer->size + WORD - 1) & ~(size_t)(WORD - 1);
    ACU_TRY(acu_gpu_begin(gpu, end));
    if (!acu_gpu_is_alive(gpu))
        return acu_gpu_end(gpu, end, gpu->name);
    const unsigned char *from = wgpuBufferGetConstMappedRange(transfer->staging, 0, bytes);
    if (!from)
        acu_gpu_miss(gpu, "wgpuBufferGetConstMappedRange");
    else if (data)
        memcpy(data, from + transfer->skip, transfer->size);
    wgpuBufferUnmap(transfer->staging);
    return acu_gpu_end(gpu, end, gpu->name);
}

/* Returns why a transfer was not mapped; the device's loss is the better reason, if there is one.
 */
static acu_result not_mapped(acu_gpu *gpu, const char *text) {
    ACU_TRY(acu_gpu_begin(gpu, end));
    if (!acu_gpu_is_alive(gpu))
        return acu_gpu_end(gpu, end, gpu->name);
    return acu_gpu_cancel(
        gpu, acu_fail(end, gpu->name, ACU_GPU_LOST, "the staging buffer was not mapped: %s", text));
}

acu_result acu_gpu_transfer_end(acu_gpu_transfer *transfer, void *data) {
    acu_gpu *gpu = transfer->gpu;
    char text[ACU_GPU_TEXT] = "the device did not answer";
    acu_gpu_wait(gpu, &transfer->done);
    if (!__atomic_load_n(&transfer->done, __ATOMIC_ACQUIRE)) {
        forget(transfer);
        return not_mapped(gpu, text);
    }
    if (!transfer->mapped) {
        memcpy(text, transfer->text, sizeof text);
        drop(transfer);
        return not_mapped(gpu, text);
    }
    const acu_result result = transfer->size ? copy_out(transfer, data) : 0;
    if (result)
        drop(transfer);
    else
        keep(transfer);
    return result;
}

static void drop_list(acu_gpu_transfer *transfer) {
    while (transfer) {
        acu_gpu_transfer *next = transfer->next;
        drop(transfer);
        transfer = next;
    }
}

void acu_gpu_transfer_drop_spare(acu_gpu *gpu) {
    drop_list(gpu->spare);
    gpu->spare = NULL;
    gpu->spare_count = 0;
}

void acu_gpu_transfer_drop_forgotten(acu_gpu *gpu) {
    drop_list(gpu->forgotten);
    gpu->forgotten = NULL;
}
