#include "runtime/cpu/cpu_replay.h"
#include "runtime/cpu/cpu_pool.h"
#include "runtime/cpu/cpu_queue.h"

#include <stdlib.h>

acu_result acu_cpu_capture_begin(acu_backend_queue *queue) {
    if (queue->recording)
        return acu_backend_fail(ACU_ERROR_STATE, "the queue records already");
    acu_backend_replay *replay = calloc(1, sizeof *replay);
    if (replay == NULL)
        return acu_backend_fail(ACU_ERROR_HOST_MEMORY, "no memory for a replay");
    replay->owners = 1;
    queue->recording = replay;
    return ACU_SUCCESS;
}

acu_result acu_cpu_capture_end(acu_backend_queue *queue, acu_backend_replay **out) {
    if (queue->recording == NULL)
        return acu_backend_fail(ACU_ERROR_STATE, "the queue does not record");
    *out = queue->recording;
    queue->recording = NULL;
    return ACU_SUCCESS;
}

void acu_cpu_capture_cancel(acu_backend_queue *queue) {
    acu_backend_replay *replay = queue->recording;
    queue->recording = NULL;
    if (replay)
        acu_cpu_replay_destroy(replay);
}

/* Takes an owner away. */
void acu_cpu_replay_destroy(acu_backend_replay *replay) {
    pthread_mutex_lock(&acu_cpu_lock);
    const unsigned owners = --replay->owners;
    pthread_mutex_unlock(&acu_cpu_lock);
    if (owners > 0)
        return;
    while (replay->first) {
        acu_cpu_task *task = replay->first;
        replay->first = task->next;
        if (task->drop)
            task->drop(task);
        free(task);
    }
    free(replay);
}

static void drop(acu_cpu_task *task) {
    acu_cpu_replay_destroy(((acu_cpu_again *)task)->replay);
}

acu_result acu_cpu_replay_run(acu_backend_queue *queue, acu_backend_replay *replay) {
    acu_cpu_again *again = malloc(sizeof *again);
    if (again == NULL)
        return acu_backend_fail(ACU_ERROR_HOST_MEMORY, "no memory for a task");
    pthread_mutex_lock(&acu_cpu_lock);
    replay->owners++;
    pthread_mutex_unlock(&acu_cpu_lock);
    *again = (acu_cpu_again){.task = {.kind = ACU_CPU_REPLAY, .drop = drop}, .replay = replay};
    return acu_cpu_queue_add(queue, &again->task);
}
