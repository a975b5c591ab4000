#define _GNU_SOURCE /* madvise */
#include "runtime/cpu/cpu_memory.h"
#include "runtime/cpu/cpu_queue.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Memory of at least this size begins with a huge page. */
static const uint64_t huge = (uint64_t)2 << 20u;
static const uint64_t page = 4096;

uint64_t acu_cpu_memory_of_host(void) {
    const long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && bytes > 0 ? (uint64_t)pages * (uint64_t)bytes : 0;
}

/* Returns whether the host never has so much, so that it is not asked. */
static bool is_too_much(uint64_t bytes) {
    return bytes >= (uint64_t)1 << 30u && bytes > acu_cpu_memory_of_host();
}

acu_result acu_cpu_memory_allocate(acu_backend_queue *queue, uint64_t bytes,
                                   acu_backend_memory **out) {
    (void)queue;
    void *memory = NULL;
    const size_t alignment = bytes >= huge ? huge : bytes >= page ? page : ACU_CPU_ALIGNMENT;
    if (is_too_much(bytes) || posix_memalign(&memory, alignment, bytes))
        return acu_backend_fail(ACU_OUT_OF_MEMORY, "the host has no %llu bytes left",
                                (unsigned long long)bytes);
    if (bytes >= huge)
        (void)madvise(memory, bytes, MADV_HUGEPAGE); /* else pages are small */
    *out = memory;
    return ACU_SUCCESS;
}

/* ---- freeing ---- */

typedef struct free_task {
    acu_cpu_task task;
    void *memory;
} free_task;

static void free_part(const acu_cpu_task *task, size_t part, unsigned thread) {
    (void)part;
    (void)thread;
    free(((const free_task *)task)->memory);
}

/* Frees the memory behind the queue's work, which may use it, also while the queue records. Where
 * the task cannot be added, waits for the queue and frees the memory then. */
void acu_cpu_memory_free(acu_backend_queue *queue, acu_backend_memory *memory, uint64_t bytes) {
    const free_task task = {.task = {.part = free_part, .parts = 1}, .memory = memory};
    acu_backend_replay *recording = queue->recording;
    (void)bytes;
    queue->recording = NULL;
    if (acu_cpu_queue_is_idle(queue)) {
        free(memory);
    } else if (acu_cpu_queue_give(queue, &task.task, sizeof task, false)) {
        (void)acu_cpu_queue_synchronize(queue);
        free(memory);
    }
    queue->recording = recording;
}

/* ---- what is beneath ---- */

acu_result acu_cpu_memory_get_raw(acu_backend_device *device, acu_backend_memory *memory,
                                  acu_raw *raw) {
    (void)device;
    *raw = (acu_raw){.kind = ACU_RAW_POINTER, .handle = memory};
    return ACU_SUCCESS;
}

acu_result acu_cpu_memory_get_address(acu_backend_device *device, acu_backend_memory *memory,
                                      void **address) {
    (void)device;
    *address = memory;
    return ACU_SUCCESS;
}

acu_result acu_cpu_memory_wrap(acu_backend_device *device, void *memory, uint64_t bytes,
                               acu_backend_memory **out) {
    (void)device;
    (void)bytes;
    *out = memory;
    return ACU_SUCCESS;
}

void acu_cpu_memory_unwrap(acu_backend_device *device, acu_backend_memory *memory) {
    (void)device;
    (void)memory;
}
