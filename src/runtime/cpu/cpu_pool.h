/* The threads that do the work of all queues, and the lock that guards the queues. */
#ifndef ACU_CPU_POOL_H
#define ACU_CPU_POOL_H

#include <anycuda/backend.h>

#include <pthread.h>

extern pthread_mutex_t acu_cpu_lock;

/*
 * Counts the threads that may work at once: ANYCUDA_CPU_THREADS, or the processors that this
 * process may use. Fails where the variable is no such number. Takes the lock.
 */
acu_result acu_cpu_pool_count(unsigned *threads);

/* Starts the first thread where there is none, so that work can be given. With the lock. */
acu_result acu_cpu_pool_begin(void);

/* Lets one more thread look for work, if there is one that sleeps or can be started. With the lock.
 */
void acu_cpu_pool_wake(void);

/*
 * Called before and after a thread sleeps until work of a queue is done. Where that is a thread of
 * the pool, inside of a program's function, another thread works in its place meanwhile, with its
 * number. acu_cpu_pool_lend() returns what acu_cpu_pool_take_back() is given. With the lock.
 */
acu_result acu_cpu_pool_lend(bool *lent);
void acu_cpu_pool_take_back(bool lent);

#endif
