#include "runtime/cpu/cpu_copy.h"
#include "runtime/cpu/cpu_mark.h"
#include "runtime/cpu/cpu_queue.h"

#include <stdlib.h>
#include <string.h>

/* Bytes that the thread which gives the work copies itself, if the queue is idle: of copies that it
 * does not wait for, and of those that it waits for. Several threads do not copy so much faster. */
static const uint64_t at_once = (uint64_t)4 << 20u, waiting = (uint64_t)16 << 20u;
/* Bytes of one part of a larger copy. */
static const size_t part_bytes = (size_t)1 << 20u;

static char *address(acu_backend_memory *memory, uint64_t at) {
    return (char *)memory + at;
}

/* ---- copies ---- */

typedef struct copy_task {
    acu_cpu_task task;
    char *to;
    const char *from;
    uint64_t bytes;
    uint64_t step; /* of a part, in bytes */
} copy_task;

static void copy_part(const acu_cpu_task *task, size_t part, unsigned thread) {
    const copy_task *copy = (const copy_task *)task;
    const uint64_t at = part * copy->step, left = copy->bytes - at;
    (void)thread;
    memmove(copy->to + at, copy->from + at, left < copy->step ? left : copy->step);
}

static copy_task copy_of(void *to, const void *from, uint64_t bytes) {
    const uintptr_t a = (uintptr_t)to, b = (uintptr_t)from;
    const bool overlaps = a < b ? b - a < bytes : a - b < bytes;
    const uint64_t step = overlaps || bytes <= waiting ? bytes : part_bytes;
    return (copy_task){.task = {.part = copy_part, .parts = (bytes + step - 1) / step},
                       .to = to,
                       .from = from,
                       .bytes = bytes,
                       .step = step};
}

acu_result acu_cpu_copy(acu_backend_queue *queue, acu_backend_memory *to, uint64_t to_at,
                        acu_backend_memory *from, uint64_t from_at, uint64_t bytes) {
    const copy_task copy = copy_of(address(to, to_at), address(from, from_at), bytes);
    return acu_cpu_queue_give(queue, &copy.task, sizeof copy, bytes <= at_once);
}

/* ---- the host ---- */

/* Adds a write whose bytes are in the task, behind the struct. */
static acu_result keep(acu_backend_queue *queue, void *to, const void *from, size_t bytes) {
    copy_task *copy = malloc(sizeof *copy + bytes);
    if (copy == NULL)
        return acu_backend_fail(ACU_ERROR_HOST_MEMORY, "no memory to keep %zu bytes", bytes);
    memcpy(copy + 1, from, bytes);
    *copy = copy_of(to, copy + 1, bytes);
    copy->task.held = bytes;
    return acu_cpu_queue_add(queue, &copy->task);
}

acu_result acu_cpu_write(acu_backend_queue *queue, acu_backend_memory *to, uint64_t at,
                         const void *from, size_t bytes) {
    const bool idle = acu_cpu_queue_is_idle(queue);
    if (queue->recording || (!idle && acu_cpu_queue_may_hold(queue, bytes)))
        return keep(queue, address(to, at), from, bytes);
    const copy_task copy = copy_of(address(to, at), from, bytes);
    return acu_cpu_queue_give_and_wait(queue, &copy.task, sizeof copy, bytes <= waiting);
}

acu_result acu_cpu_read(acu_backend_queue *queue, acu_backend_memory *from, uint64_t at, void *to,
                        size_t bytes) {
    const copy_task copy = copy_of(to, address(from, at), bytes);
    return acu_cpu_queue_give_and_wait(queue, &copy.task, sizeof copy, bytes <= waiting);
}

/* Copies by several threads, beside all queues. */
static acu_result copy_beside(void *to, const void *from, uint64_t bytes) {
    acu_backend_queue *beside = NULL;
    ACU_TRY(acu_cpu_queue_create(NULL, NULL, &beside));
    const copy_task copy = copy_of(to, from, bytes);
    const acu_result result = acu_cpu_queue_give_and_wait(beside, &copy.task, sizeof copy, false);
    acu_cpu_queue_destroy(beside);
    return result;
}

acu_result acu_cpu_read_after(acu_backend_queue *queue, acu_backend_mark *mark,
                              acu_backend_memory *from, uint64_t at, void *to, size_t bytes) {
    (void)queue;
    ACU_TRY(acu_cpu_mark_synchronize(mark));
    if (bytes > waiting)
        return copy_beside(to, address(from, at), bytes);
    memcpy(to, address(from, at), bytes);
    return ACU_SUCCESS;
}

/* ---- fills ---- */

typedef struct fill_task {
    acu_cpu_task task;
    char *to;
    uint64_t bytes;
    uint64_t step; /* of a part, in bytes: a number of whole elements */
    size_t element_bytes;
    char element[16];
} fill_task;

/* Fills bytes that begin with a whole element, of which the first `known` bytes have been filled.
 */
static void spread(char *to, size_t bytes, size_t known) {
    while (known < bytes) {
        const size_t more = known < bytes - known ? known : bytes - known;
        memcpy(to + known, to, more);
        known += more;
    }
}

/* Fills with an element of 16 bytes. */
static void fill_lines(char *to, size_t bytes, const char *element) {
    uint64_t line[2];
    memcpy(line, element, 16);
    for (; bytes >= 64; to += 64, bytes -= 64)
        for (int i = 0; i < 64; i += 16)
            memcpy(to + i, line, 16);
    for (; bytes >= 16; to += 16, bytes -= 16)
        memcpy(to, line, 16);
    memcpy(to, line, bytes);
}

/* Fills with an element of any other size. */
static void fill_pattern(char *to, size_t bytes, const char *element, size_t element_bytes) {
    char pattern[4096];
    const size_t most = bytes < sizeof pattern ? 256 : sizeof pattern;
    const size_t whole = most / element_bytes * element_bytes;
    memcpy(pattern, element, element_bytes);
    spread(pattern, whole, element_bytes);
    for (; bytes > whole; to += whole, bytes -= whole)
        memcpy(to, pattern, whole);
    memcpy(to, pattern, bytes);
}

static void fill_part(const acu_cpu_task *task, size_t part, unsigned thread) {
    const fill_task *fill = (const fill_task *)task;
    const uint64_t at = part * fill->step, left = fill->bytes - at;
    const size_t bytes = left < fill->step ? left : fill->step;
    (void)thread;
    if (fill->element_bytes == 1)
        memset(fill->to + at, fill->element[0], bytes);
    else if (fill->element_bytes == 16)
        fill_lines(fill->to + at, bytes, fill->element);
    else
        fill_pattern(fill->to + at, bytes, fill->element, fill->element_bytes);
}

/* Sets an element, or one that does the same: of 1 byte where all its bytes are equal, of 16 where
 * that is a number of whole ones. */
static void set_element(fill_task *fill, const char *element, size_t bytes) {
    memcpy(fill->element, element, bytes);
    fill->element_bytes = bytes;
    if (memcmp(element, element + 1, bytes - 1) == 0)
        fill->element_bytes = 1;
    else if (16 % bytes == 0)
        spread(fill->element, fill->element_bytes = 16, bytes);
}

acu_result acu_cpu_fill(acu_backend_queue *queue, acu_backend_memory *to, uint64_t at,
                        uint64_t bytes, const void *element, size_t element_bytes) {
    const uint64_t step = bytes <= waiting ? bytes : part_bytes / element_bytes * element_bytes;
    fill_task fill;
    fill.task = (acu_cpu_task){.part = fill_part, .parts = (bytes + step - 1) / step};
    fill.to = address(to, at);
    fill.bytes = bytes;
    fill.step = step;
    set_element(&fill, element, element_bytes);
    return acu_cpu_queue_give(queue, &fill.task, sizeof fill, bytes <= at_once);
}
