/* Marks: how many tasks of a queue have to be done. */
#ifndef ACU_CPU_MARK_H
#define ACU_CPU_MARK_H

#include <anycuda/backend.h>

acu_result acu_cpu_mark_create(acu_backend_queue *queue, acu_backend_mark **out);
void acu_cpu_mark_destroy(acu_backend_mark *mark);
acu_result acu_cpu_mark_query(acu_backend_mark *mark);
acu_result acu_cpu_mark_synchronize(acu_backend_mark *mark);

/* Lets later work of a queue wait for a mark; no thread waits meanwhile. */
acu_result acu_cpu_mark_order(acu_backend_queue *queue, acu_backend_mark *mark);

#endif
