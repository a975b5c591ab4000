/* What the checks of kernels found (ANYCUDA_SIM=check=…): it is printed, and counted for tests. */
#ifndef ACU_SIM_CODE_FINDING_H
#define ACU_SIM_CODE_FINDING_H

#include "sim/noun.h"
#include "sim/ptx/check.h"

/* Prints and counts a finding of a kernel; after a few of one instruction they are only counted.
 * Any thread may call the function. */
void acu_sim_finding_add(const char *kernel, const ptx_finding *finding);

/* A launch ends: prints how many findings of the kernel were not printed. */
void acu_sim_finding_launch_ends(const char *kernel);

/* Writes " in line 12 of the PTX (add.cu:7)" for an instruction. */
void acu_sim_finding_place(const ptx_module *module, const ptx_instruction *instruction, char *text,
                           size_t size);

extern const acu_sim_noun acu_sim_finding_noun;

#endif
