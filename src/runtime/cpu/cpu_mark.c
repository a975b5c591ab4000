#include "runtime/cpu/cpu_mark.h"
#include "runtime/cpu/cpu_pool.h"
#include "runtime/cpu/cpu_queue.h"

#include <stdlib.h>

struct acu_backend_mark {
    acu_backend_queue *queue; /* of which the mark is an owner */
    uint64_t number;
};

static void own(acu_backend_queue *queue) {
    pthread_mutex_lock(&acu_cpu_lock);
    queue->owners++;
    pthread_mutex_unlock(&acu_cpu_lock);
}

acu_result acu_cpu_mark_create(acu_backend_queue *queue, acu_backend_mark **out) {
    acu_backend_mark *mark = malloc(sizeof *mark);
    if (mark == NULL)
        return acu_backend_fail(ACU_ERROR_HOST_MEMORY, "no memory for a mark");
    own(queue);
    mark->queue = queue;
    mark->number = atomic_load_explicit(&queue->given, memory_order_relaxed);
    *out = mark;
    return ACU_SUCCESS;
}

void acu_cpu_mark_destroy(acu_backend_mark *mark) {
    acu_cpu_queue_destroy(mark->queue);
    free(mark);
}

static bool is_reached(acu_backend_mark *mark) {
    return atomic_load_explicit(&mark->queue->done, memory_order_acquire) >= mark->number;
}

acu_result acu_cpu_mark_query(acu_backend_mark *mark) {
    if (is_reached(mark))
        return ACU_SUCCESS;
    return mark->queue->lost ? acu_cpu_mark_synchronize(mark) : ACU_NOT_READY;
}

acu_result acu_cpu_mark_synchronize(acu_backend_mark *mark) {
    return acu_cpu_queue_wait_until(mark->queue, mark->number);
}

static void drop(acu_cpu_task *task) {
    acu_cpu_queue_destroy(((acu_cpu_wait *)task)->awaited);
}

acu_result acu_cpu_mark_order(acu_backend_queue *queue, acu_backend_mark *mark) {
    if (is_reached(mark) || mark->queue == queue)
        return ACU_SUCCESS;
    if (mark->queue->lost)
        return acu_cpu_mark_synchronize(mark);
    acu_cpu_wait *wait = malloc(sizeof *wait);
    if (wait == NULL)
        return acu_backend_fail(ACU_ERROR_HOST_MEMORY, "no memory for a task");
    own(mark->queue);
    *wait = (acu_cpu_wait){.task = {.kind = ACU_CPU_WAIT, .drop = drop},
                           .awaited = mark->queue,
                           .number = mark->number};
    return acu_cpu_queue_add(queue, &wait->task);
}
