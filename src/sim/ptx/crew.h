/* Threads that help with a launch. */
#ifndef ACU_SIM_PTX_CREW_H
#define ACU_SIM_PTX_CREW_H

#include <stdint.h>

/* Returns how many threads a launch has at most that says nothing else: one for each processor. */
unsigned acu_ptx_crew_most(void);

/*
 * Calls `work` with `data` on this thread, and at the same time on others: on at most `most`
 * threads (0: as many as there are processors), and on no more than there are pieces of work.
 * Returns when all calls have returned. The function is called on another thread only while this
 * thread's call has not returned, so it must take pieces until none is left.
 */
void acu_ptx_crew_run(void (*work)(void *data), void *data, unsigned most, uint64_t pieces);

#endif
