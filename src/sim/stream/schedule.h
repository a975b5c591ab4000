/* The schedule of all operations, if ANYCUDA_SIM has a seed. */
#ifndef ACU_SIM_STREAM_SCHEDULE_H
#define ACU_SIM_STREAM_SCHEDULE_H

#include "sim/noun.h"

/* Waits for the condition, a millisecond at most; the lock is given up meanwhile. */
void acu_sim_schedule_wait_briefly(pthread_cond_t *condition);

/* Starts the thread that runs all operations; returns false if that fails. */
bool acu_sim_schedule_start(void);
extern const acu_sim_noun acu_sim_schedule_noun;
/* Returns the next random number of the seed's sequence. */
uint64_t acu_sim_schedule_random(void);
/* Wakes the thread, because there is new work. */
void acu_sim_schedule_wake(void);
/* Records that a thread waits for an operation, so that operations are run until it is done;
 * does nothing without a seed. */
void acu_sim_schedule_want(acu_sim_op *op);
/* Records that an operation is done. */
void acu_sim_schedule_done(acu_sim_op *op);
/* Lets some operations run, because the program asks whether work is done. The lock is given up
 * meanwhile. Without a seed only threads of streams are woken that were not yet. */
void acu_sim_schedule_ask(void);

#endif
