/* Replays: recorded tasks, which a queue does once more as one task. */
#ifndef ACU_CPU_REPLAY_H
#define ACU_CPU_REPLAY_H

#include <anycuda/backend.h>

acu_result acu_cpu_capture_begin(acu_backend_queue *queue);
acu_result acu_cpu_capture_end(acu_backend_queue *queue, acu_backend_replay **out);
void acu_cpu_capture_cancel(acu_backend_queue *queue);
acu_result acu_cpu_replay_run(acu_backend_queue *queue, acu_backend_replay *replay);
void acu_cpu_replay_destroy(acu_backend_replay *replay);

#endif
