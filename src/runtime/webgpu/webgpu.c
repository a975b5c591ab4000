/* The back end on WebGPU: devices, queues, memory and marks, by the layer of gpu.h. */
#include "runtime/webgpu/webgpu.h"

#include "core/record.h"
#include "runtime/webgpu/gpu_launch.h"
#include "runtime/webgpu/gpu_mark.h"
#include "runtime/webgpu/gpu_strided.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NO_DEVICE = 100, INVALID_DEVICE = 101 }; /* cudaErrorNoDevice, cudaErrorInvalidDevice */

/* A layer's message is "call: words; object"; the caller has a call and an object of its own. */
void acu_webgpu_words(char *words, size_t size) {
    const acu_failure *last = acu_record_last();
    const char *from = last->message;
    const size_t prefix = last->call ? strlen(last->call) : 0;
    if (prefix && strncmp(from, last->call, prefix) == 0 && strncmp(from + prefix, ": ", 2) == 0)
        from += prefix + 2;
    const size_t length = strlen(from), object = strlen(last->object);
    const bool named = object && length > object + 2 &&
                       strcmp(from + length - object, last->object) == 0 &&
                       strncmp(from + length - object - 2, "; ", 2) == 0;
    snprintf(words, size, "%.*s", (int)(named ? length - object - 2 : length), from);
}

acu_result acu_webgpu_failed(acu_result result) {
    char words[ACU_MESSAGE_SIZE];
    if (!result)
        return 0;
    acu_webgpu_words(words, sizeof words);
    return acu_backend_fail(result, "%s", words);
}

/* ---- devices ---- */

static pthread_mutex_t finding = PTHREAD_MUTEX_INITIALIZER;
static acu_gpu_adapters found; /* under the lock until `count` is not 0 */

acu_result acu_webgpu_adapters(const acu_gpu_adapters **out) {
    acu_result result = 0;
    *out = &found;
    pthread_mutex_lock(&finding);
    if (!found.count)
        result = acu_webgpu_failed(acu_gpu_adapters_find(&found));
    if (!result && !found.count) {
        acu_gpu_adapters_drop(&found);
        result = acu_backend_fail(NO_DEVICE, "WebGPU finds no adapter: there is no driver of "
                                             "Vulkan or OpenGL with one");
    }
    pthread_mutex_unlock(&finding);
    return result;
}

static acu_result count_devices(int *count) {
    const acu_gpu_adapters *adapters = NULL;
    ACU_TRY(acu_webgpu_adapters(&adapters));
    *count = (int)adapters->count;
    return 0;
}

static acu_result device_open(int number, acu_backend_device **out) {
    const acu_gpu_adapters *adapters = NULL;
    *out = NULL;
    ACU_TRY(acu_webgpu_adapters(&adapters));
    if (number < 0 || (size_t)number >= adapters->count)
        return acu_backend_fail(INVALID_DEVICE, "there is no adapter %d; there are %zu", number,
                                adapters->count);
    acu_backend_device *device = calloc(1, sizeof *device);
    if (!device)
        return acu_backend_fail(ACU_ERROR_HOST_MEMORY, "no memory for a device");
    const acu_result result = acu_gpu_open(adapters, (size_t)number, &device->gpu);
    if (result)
        free(device);
    else
        *out = device;
    return acu_webgpu_failed(result);
}

static void device_close(acu_backend_device *device) {
    acu_gpu_close(device->gpu);
    free(device);
}

static acu_result device_get_info(acu_backend_device *device, acu_place_info *info) {
    const acu_gpu *gpu = device->gpu;
    const WGPULimits *limits = &gpu->limits;
    const uint32_t blocks = limits->maxStorageBuffersPerShaderStage;
    *info = (acu_place_info){.can = (unsigned)ACU_CAN_RUN_AHEAD | (unsigned)ACU_CAN_WRAP,
                             .alignment = limits->minStorageBufferOffsetAlignment,
                             .largest_block = acu_gpu_block_limit(gpu),
                             .max_rank = ACU_MAX_RANK,
                             .max_blocks = blocks < ACU_GPU_BINDINGS ? blocks : ACU_GPU_BINDINGS,
                             .max_group = {limits->maxComputeWorkgroupSizeX,
                                           limits->maxComputeWorkgroupSizeY,
                                           limits->maxComputeWorkgroupSizeZ},
                             .max_group_items = limits->maxComputeInvocationsPerWorkgroup};
    snprintf(info->name, sizeof info->name, "%s", acu_gpu_adapter_name(gpu));
    return 0;
}

/* WGSL has these numbers; of f16 it depends on the device. */
static bool computes(acu_backend_device *device, acu_dtype dtype) {
    return dtype == ACU_F32 || dtype == ACU_I32 || dtype == ACU_U32 ||
           (dtype == ACU_F16 && device->gpu->has_f16);
}

static void device_trim(acu_backend_device *device) {
    acu_gpu_trim(device->gpu);
}

/* ---- queues ---- */

static acu_result queue_create(acu_backend_device *device, const acu_backend_queue_options *options,
                               acu_backend_queue **out) {
    (void)options; /* WebGPU has no priorities */
    *out = calloc(1, sizeof **out);
    if (!*out)
        return acu_backend_fail(ACU_ERROR_HOST_MEMORY, "no memory for a queue");
    (*out)->gpu = device->gpu;
    return 0;
}

static void queue_destroy(acu_backend_queue *queue) {
    free(queue);
}

/* Waits for the work of all queues of the device, because WebGPU does not tell them apart. */
static acu_result queue_synchronize(acu_backend_queue *queue) {
    return acu_webgpu_failed(acu_gpu_synchronize(queue->gpu));
}

static acu_result queue_get_raw(acu_backend_queue *queue, acu_raw *raw) {
    *raw = (acu_raw){ACU_RAW_WEBGPU, queue->gpu->device, queue->gpu->queue};
    return 0;
}

/* ---- memory ---- */

static acu_result memory_allocate(acu_backend_queue *queue, uint64_t bytes,
                                  acu_backend_memory **out) {
    acu_gpu_block *block = NULL;
    const acu_result result = acu_gpu_block_create(queue->gpu, bytes, &block);
    *out = (acu_backend_memory *)(void *)block;
    return acu_webgpu_failed(result);
}

static void memory_free(acu_backend_queue *queue, acu_backend_memory *memory, uint64_t bytes) {
    (void)queue;
    (void)bytes;
    acu_gpu_block_release(acu_webgpu_block(memory));
}

static acu_result write_bytes(acu_backend_queue *queue, acu_backend_memory *to, uint64_t at,
                              const void *from, size_t bytes) {
    (void)queue;
    return acu_webgpu_failed(acu_gpu_block_write(acu_webgpu_block(to), at, from, bytes));
}

static acu_result read_bytes(acu_backend_queue *queue, acu_backend_memory *from, uint64_t at,
                             void *to, size_t bytes) {
    (void)queue;
    return acu_webgpu_failed(acu_gpu_block_read(acu_webgpu_block(from), at, to, bytes));
}

static acu_result copy(acu_backend_queue *queue, acu_backend_memory *to, uint64_t to_at,
                       acu_backend_memory *from, uint64_t from_at, uint64_t bytes) {
    (void)queue;
    return acu_webgpu_failed(
        acu_gpu_block_copy(acu_webgpu_block(to), to_at, acu_webgpu_block(from), from_at, bytes));
}

static acu_result fill(acu_backend_queue *queue, acu_backend_memory *to, uint64_t at,
                       uint64_t bytes, const void *element, size_t element_bytes) {
    (void)queue;
    return acu_webgpu_failed(
        acu_gpu_block_fill(acu_webgpu_block(to), at, bytes, element, element_bytes));
}

static acu_result copy_strided(acu_backend_queue *queue, acu_backend_memory *to,
                               acu_backend_memory *from, const acu_backend_strided *strided) {
    (void)queue;
    return acu_webgpu_failed(
        acu_gpu_block_copy_strided(acu_webgpu_block(to), acu_webgpu_block(from), strided));
}

static acu_result memory_get_raw(acu_backend_device *device, acu_backend_memory *memory,
                                 acu_raw *raw) {
    (void)device;
    *raw = (acu_raw){ACU_RAW_WEBGPU, acu_webgpu_block(memory)->buffer, NULL};
    return 0;
}

static acu_result memory_wrap(acu_backend_device *device, void *memory, uint64_t bytes,
                              acu_backend_memory **out) {
    acu_gpu_block *block = NULL;
    const acu_result result = acu_gpu_block_wrap(device->gpu, memory, bytes, &block);
    *out = (acu_backend_memory *)(void *)block;
    return acu_webgpu_failed(result);
}

static void memory_unwrap(acu_backend_device *device, acu_backend_memory *memory) {
    (void)device;
    acu_gpu_block_release(acu_webgpu_block(memory));
}

/* ---- marks ---- */

static acu_gpu_mark *mark_of(acu_backend_mark *mark) {
    return (acu_gpu_mark *)(void *)mark;
}

static acu_result mark_create(acu_backend_queue *queue, acu_backend_mark **out) {
    acu_gpu_mark *mark = NULL;
    const acu_result result = acu_gpu_mark_create(queue->gpu, &mark);
    *out = (acu_backend_mark *)(void *)mark;
    return acu_webgpu_failed(result);
}

static void mark_destroy(acu_backend_mark *mark) {
    acu_gpu_mark_release(mark_of(mark));
}

static acu_result mark_synchronize(acu_backend_mark *mark) {
    return acu_webgpu_failed(acu_gpu_mark_wait(mark_of(mark)));
}

/* A lost device may never say that it is done. */
static acu_result mark_query(acu_backend_mark *mark) {
    acu_gpu_mark *m = mark_of(mark);
    if (!acu_gpu_mark_is_done(m) && !acu_gpu_is_lost(acu_gpu_mark_device(m)))
        return ACU_NOT_READY;
    return mark_synchronize(mark);
}

/* The one queue of a device is in order anyway; two devices cannot wait for each other. */
static acu_result queue_wait(acu_backend_queue *queue, acu_backend_mark *mark) {
    if (acu_gpu_mark_device(mark_of(mark)) == queue->gpu)
        return 0;
    return acu_backend_fail(ACU_NOT_SUPPORTED, "WebGPU's devices cannot wait for each other");
}

/* What is left out: reading beside later work and copies between devices, which WebGPU cannot do,
 * addresses, which it does not have, and captures. */
const acu_backend acu_webgpu_backend = {
    .size = sizeof(acu_backend),
    .version = ACU_BACKEND_VERSION,
    .name = "webgpu",
    .count_devices = count_devices,
    .device_open = device_open,
    .device_close = device_close,
    .device_get_info = device_get_info,
    .queue_create = queue_create,
    .queue_destroy = queue_destroy,
    .queue_synchronize = queue_synchronize,
    .memory_allocate = memory_allocate,
    .memory_free = memory_free,
    .write = write_bytes,
    .read = read_bytes,
    .copy = copy,
    .fill = fill,
    .copy_strided = copy_strided,
    .mark_create = mark_create,
    .mark_destroy = mark_destroy,
    .mark_query = mark_query,
    .mark_synchronize = mark_synchronize,
    .queue_wait = queue_wait,
    .program_create = acu_webgpu_program_create,
    .program_destroy = acu_webgpu_program_destroy,
    .run = acu_webgpu_run,
    .queue_get_raw = queue_get_raw,
    .memory_get_raw = memory_get_raw,
    .memory_wrap = memory_wrap,
    .memory_unwrap = memory_unwrap,
    .computes = computes,
    .device_trim = device_trim,
};
