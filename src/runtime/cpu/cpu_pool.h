/* The threads that do the work of all queues, and the lock that guards the queues. */
#ifndef ACU_CPU_POOL_H
#define ACU_CPU_POOL_H

#include <anycuda/backend.h>

#include <pthread.h>

extern pthread_mutex_t acu_cpu_lock;

/*
 * Counts the seats: ANYCUDA_CPU_THREADS, or the processors that this process may use. Fails where
 * the variable is no such number. Takes the lock.
 */
acu_result acu_cpu_pool_count(unsigned *seats);

/* ---- with the lock ---- */

/* Starts the first thread where there is none, so that work can be given. */
acu_result acu_cpu_pool_begin(void);

/* Lets one more thread look for work, if there is one that sleeps or can be started. */
void acu_cpu_pool_wake(void);

/*
 * Takes a free seat for this thread, and writes its number. Only who has a seat works. Returns
 * false where no seat is free, or this thread has one already because it is inside of a program's
 * function.
 */
bool acu_cpu_pool_sit(unsigned *number);
/* Gives the seat back. */
void acu_cpu_pool_rise(void);

/*
 * Called before and after this thread sleeps until work of a queue is done. Where the thread has a
 * seat, another one works there meanwhile. acu_cpu_pool_lend() writes what
 * acu_cpu_pool_take_back() is given; without an error where nothing is lent.
 */
acu_result acu_cpu_pool_lend(bool *lent);
void acu_cpu_pool_take_back(bool lent);

#endif
