/* The table of the back end on CUDA, and its devices. */
#include "runtime/cuda/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where no pool is to be had, cudaMalloc() has the memory. */
static const acu_memory without_pools = ACU_MEMORY_DEVICE;

acu_result acu_cuda_explain(acu_result code) {
    return code == ACU_NOT_READY ? code : acu_backend_fail(code, "%s", acu_last_error_message());
}

static acu_result count_devices(int *count) {
    return acu_cuda_outcome(acu_device_get_count(count));
}

static acu_result device_open(int device, acu_backend_device **out) {
    *out = NULL;
    acu_backend_device *made = calloc(1, sizeof *made);
    if (!made)
        return acu_backend_fail(ACU_ERROR_HOST_MEMORY, "the host has no memory for device %d",
                                device);
    const acu_result code = acu_device_get_info(device, &made->info);
    if (code) {
        free(made);
        return acu_cuda_explain(code);
    }
    made->index = device;
    made->memory = made->info.memory_pools ? ACU_MEMORY_POOL : without_pools;
    pthread_mutex_init(&made->lock, NULL);
    *out = made;
    return 0;
}

/* All queues, and so the marks that wait, and all wrapped memory are gone by now. */
static void device_close(acu_backend_device *device) {
    pthread_mutex_destroy(&device->lock);
    free(device);
}

/* Two devices copy to each other by one call of CUDA, which goes through the host by itself where
 * they have no other way. */
static acu_result device_get_info(acu_backend_device *device, acu_place_info *info) {
    const acu_device_info *from = &device->info;
    *info = (acu_place_info){
        .can = ACU_CAN_CAPTURE + ACU_CAN_RUN_AHEAD + ACU_CAN_ADDRESS + ACU_CAN_WRAP +
               ACU_CAN_READ_BESIDE + ACU_CAN_COPY_PEERS,
        .alignment = 256, /* of cudaMalloc() and of pools; the caching allocator has more */
        .largest_block = from->memory,
        .memory = from->memory,
        .max_rank = ACU_MAX_RANK - 1, /* the bytes of an element are a dimension, too */
        .max_blocks = ACU_CUDA_MOST_ARGS,
        .max_group_items = (size_t)from->max_threads_per_block,
    };
    for (int i = 0; i < 3; i++)
        info->max_group[i] = (size_t)from->max_block[i];
    snprintf(info->name, sizeof info->name, "%.*s", (int)sizeof info->name - 1, from->name);
    return 0;
}

/* Returns whether the device has instructions for the type. Types of a program's own have none. */
static bool computes(acu_backend_device *device, acu_dtype dtype) {
    const int capability = device->info.compute_major * 10 + device->info.compute_minor;
    switch (dtype) {
    case ACU_F16:
        return capability >= 53;
    case ACU_BF16:
        return capability >= 80;
    case ACU_F8_E4M3:
    case ACU_F8_E5M2:
        return capability >= 89;
    default:
        return dtype >= ACU_F64 && dtype < ACU_BYTES_KIND && dtype <= ACU_C128;
    }
}

const acu_backend acu_cuda_backend = {
    .size = sizeof acu_cuda_backend,
    .version = ACU_BACKEND_VERSION,
    .name = "cuda",
    .count_devices = count_devices,
    .device_open = device_open,
    .device_close = device_close,
    .device_get_info = device_get_info,
    .queue_create = acu_cuda_queue_create,
    .queue_destroy = acu_cuda_queue_destroy,
    .queue_synchronize = acu_cuda_queue_synchronize,
    .memory_allocate = acu_cuda_memory_allocate,
    .memory_free = acu_cuda_memory_free,
    .write = acu_cuda_write,
    .read = acu_cuda_read,
    .copy = acu_cuda_copy,
    .fill = acu_cuda_fill,
    .copy_strided = acu_cuda_copy_strided,
    .copy_peer = acu_cuda_copy_peer,
    .read_after = acu_cuda_read_after,
    .mark_create = acu_cuda_mark_create,
    .mark_destroy = acu_cuda_mark_destroy,
    .mark_query = acu_cuda_mark_query,
    .mark_synchronize = acu_cuda_mark_synchronize,
    .queue_wait = acu_cuda_queue_wait,
    .program_create = acu_cuda_program_create,
    .program_destroy = acu_cuda_program_destroy,
    .run = acu_cuda_run,
    .capture_begin = acu_cuda_capture_begin,
    .capture_end = acu_cuda_capture_end,
    .capture_cancel = acu_cuda_capture_cancel,
    .replay_run = acu_cuda_replay_run,
    .replay_destroy = acu_cuda_replay_destroy,
    .queue_get_raw = acu_cuda_queue_get_raw,
    .memory_get_raw = acu_cuda_memory_get_raw,
    .memory_get_address = acu_cuda_memory_get_address,
    .memory_wrap = acu_cuda_memory_wrap,
    .memory_unwrap = acu_cuda_memory_unwrap,
    .computes = computes,
    .device_trim = acu_cuda_device_trim,
    .closes_at_exit = true,
};
