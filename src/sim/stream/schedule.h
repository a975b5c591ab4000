/* The schedule of all operations where ANYCUDA_SIM gives a seed. */
#ifndef ACU_SIM_STREAM_SCHEDULE_H
#define ACU_SIM_STREAM_SCHEDULE_H

#include "sim/sim.h"

/* A millisecond at most; gives the lock up. */
void acu_sim_schedule_wait_briefly(pthread_cond_t *condition);

/* With a seed only; without one they do nothing. Somebody submits, waits for an operation, asks
 * whether something is done. */
bool acu_sim_schedule_start(void);
void acu_sim_schedule_reset(uint64_t seed);
uint64_t acu_sim_schedule_random(void);
void acu_sim_schedule_wake(void);
void acu_sim_schedule_want(acu_sim_op *op);
void acu_sim_schedule_done(acu_sim_op *op);
void acu_sim_schedule_ask(void);

#endif
