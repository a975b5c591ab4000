/* What kernels print. */
#ifndef ACU_SIM_CODE_PRINT_H
#define ACU_SIM_CODE_PRINT_H

#include "sim/noun.h"

#include <stddef.h>

/* Keeps a text that a kernel has printed until the host synchronises, or copies and
 * waits for that, as a GPU does. Any thread may
 * call this function. */
void acu_sim_print_keep(const char *text, size_t size);

/* Writes to stdout what is kept, when the host has waited. */
extern const acu_sim_noun acu_sim_print_noun;

#endif
