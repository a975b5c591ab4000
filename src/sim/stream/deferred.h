/* Work for which the thread of its stream is not woken at once. All functions are called under the
 * lock. */
#ifndef ACU_SIM_STREAM_DEFERRED_H
#define ACU_SIM_STREAM_DEFERRED_H

#include "sim/sim.h"

/* Lets an operation, which was just queued, be run by the stream's thread, and wakes that; or
 * defers it, and what is queued before it. */
void acu_sim_deferred_queue(acu_sim_stream *stream, acu_sim_op *op);

/* Runs a deferred operation that this thread is going to wait for, with those before it; the lock
 * is given up meanwhile. If it is not deferred, wakes the threads of all streams that are. */
void acu_sim_deferred_run(acu_sim_op *op);

/* Returns whether this thread may run an operation that it waits for: not a function of the
 * program's, and a kernel only where the thread's stack has room for it. */
bool acu_sim_deferred_allows(const acu_sim_op *op);

/* Wake the thread of a stream, if that is deferred; and of all such streams. */
void acu_sim_deferred_wake(acu_sim_stream *stream);
void acu_sim_deferred_wake_all(void);

#endif
