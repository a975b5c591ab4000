/*
 * Which threads run kernels now. A kernel's function has addresses of bytes while it runs, so that
 * who moves bytes pauses kernels. All functions but acu_sim_running_end() are called with the lock.
 */
#ifndef ACU_SIM_MEMORY_RUNNING_H
#define ACU_SIM_MEMORY_RUNNING_H

#include "sim/sim.h"

/* Kernels are paused. */
extern bool acu_sim_running_paused;

/* Handle a thread that runs its first kernel, or is paused, or of which nobody would say that it
 * has ended. */
void acu_sim_running_begin_slow(acu_sim_running *self);
void acu_sim_running_end_slow(void);

/* Says that this thread begins to run a kernel. */
static inline void acu_sim_running_begin(acu_sim_running *self) {
    if (acu_sim_running_paused || !self->listed)
        acu_sim_running_begin_slow(self);
    else
        __atomic_store_n(&self->runs, true, __ATOMIC_RELAXED);
}

/* Says that the kernel has ended. */
static inline void acu_sim_running_end(acu_sim_running *self) {
    if (self->listed)
        __atomic_store_n(&self->runs, false, __ATOMIC_RELEASE);
    else
        acu_sim_running_end_slow();
}

/* Waits until no kernel runs, and gives the lock up meanwhile; none begins until they resume. */
void acu_sim_running_pause(void);
void acu_sim_running_resume(void);

#endif
