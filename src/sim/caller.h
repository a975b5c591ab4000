/* Where the program called CUDA, for the reports of leaks and redzones. */
#ifndef ACU_SIM_CALLER_H
#define ACU_SIM_CALLER_H

#include <stdbool.h>
#include <stddef.h>

/* Returns where something was made: the call, or with leaks=1 or guard=1 the calls that led to it.
 */
const void *acu_sim_caller(const void *last);
void acu_sim_caller_reset(bool on);

/* Take and give up the lock of this file over a fork(), inside the simulator's lock. */
void acu_sim_caller_lock(void);
void acu_sim_caller_unlock(void);

/* Writes "add+0x1a, from main+0x2b"; "program+0x1a2b" where that has no symbols. */
void acu_sim_caller_describe(const void *where, char *text, size_t size);

enum { SIM_CALLER_TEXT = 640 };

/* Writes one line of the leak report. */
void acu_sim_caller_report(const char *what, const void *handle, size_t size, const void *where);

#endif
