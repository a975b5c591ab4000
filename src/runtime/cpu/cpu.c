#include "runtime/cpu/cpu.h"
#include "runtime/cpu/cpu_copy.h"
#include "runtime/cpu/cpu_mark.h"
#include "runtime/cpu/cpu_memory.h"
#include "runtime/cpu/cpu_pool.h"
#include "runtime/cpu/cpu_program.h"
#include "runtime/cpu/cpu_queue.h"
#include "runtime/cpu/cpu_replay.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

struct acu_backend_device {
    char nothing; /* is kept for the only device */
};

static acu_result count_devices(int *count) {
    *count = 1;
    return ACU_SUCCESS;
}

static acu_result device_open(int device, acu_backend_device **out) {
    static acu_backend_device only;
    unsigned threads = 0;
    if (device != 0)
        return acu_backend_fail(ACU_ERROR_DEVICE, "the CPU is device 0, and there is no other");
    ACU_TRY(acu_cpu_pool_count(&threads));
    *out = &only;
    return ACU_SUCCESS;
}

static void device_close(acu_backend_device *device) {
    (void)device; /* the pool stays for whoever opens the device again */
}

/* Writes the processor's name, or else that of its kind, such as "aarch64". */
static void write_name(char *name, size_t size) {
    struct utsname system;
    char line[256];
    (void)snprintf(name, size, "%s", uname(&system) < 0 ? "CPU" : system.machine);
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (file == NULL)
        return;
    while (fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || colon == NULL)
            continue;
        const char *text = colon + 1 + strspn(colon + 1, " \t");
        (void)snprintf(name, size, "%.*s", (int)strcspn(text, "\n"), text);
        break;
    }
    (void)fclose(file);
}

/* acu_place_can bits */
static const unsigned can = ACU_CAN_CAPTURE + ACU_CAN_RUN_AHEAD + ACU_CAN_ADDRESS +
                            ACU_CAN_USE_HOST + ACU_CAN_WRAP + ACU_CAN_READ_BESIDE;

static acu_result device_get_info(acu_backend_device *device, acu_place_info *info) {
    (void)device;
    *info = (acu_place_info){
        .can = can,
        .alignment = ACU_CPU_ALIGNMENT,
        .largest_block = PTRDIFF_MAX,
        .memory = acu_cpu_memory_of_host(),
        .max_rank = ACU_MAX_RANK,
        .max_blocks = UINT_MAX,
        .max_group = {SIZE_MAX, SIZE_MAX, SIZE_MAX},
        .max_group_items = SIZE_MAX,
    };
    write_name(info->name, sizeof info->name);
    return acu_cpu_pool_count(&info->threads);
}

const acu_backend acu_cpu_backend = {
    .size = sizeof(acu_backend),
    .version = ACU_BACKEND_VERSION,
    .name = "cpu",
    .count_devices = count_devices,
    .device_open = device_open,
    .device_close = device_close,
    .device_get_info = device_get_info,
    .queue_create = acu_cpu_queue_create,
    .queue_destroy = acu_cpu_queue_destroy,
    .queue_synchronize = acu_cpu_queue_synchronize,
    .memory_allocate = acu_cpu_memory_allocate,
    .memory_free = acu_cpu_memory_free,
    .write = acu_cpu_write,
    .read = acu_cpu_read,
    .copy = acu_cpu_copy,
    .fill = acu_cpu_fill,
    .copy_strided = acu_cpu_copy_strided,
    .read_after = acu_cpu_read_after,
    .mark_create = acu_cpu_mark_create,
    .mark_destroy = acu_cpu_mark_destroy,
    .mark_query = acu_cpu_mark_query,
    .mark_synchronize = acu_cpu_mark_synchronize,
    .queue_wait = acu_cpu_mark_order,
    .program_create = acu_cpu_program_create,
    .program_destroy = acu_cpu_program_destroy,
    .run = acu_cpu_run,
    .capture_begin = acu_cpu_capture_begin,
    .capture_end = acu_cpu_capture_end,
    .capture_cancel = acu_cpu_capture_cancel,
    .replay_run = acu_cpu_replay_run,
    .replay_destroy = acu_cpu_replay_destroy,
    .memory_get_raw = acu_cpu_memory_get_raw,
    .memory_get_address = acu_cpu_memory_get_address,
    .memory_get_host = acu_cpu_memory_get_address,
    .memory_wrap = acu_cpu_memory_wrap,
    .memory_unwrap = acu_cpu_memory_unwrap,
    .closes_at_exit = true,
};
