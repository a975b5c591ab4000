/* How many registers a compiler would give a thread. */
#ifndef ACU_SIM_PTX_PRESSURE_H
#define ACU_SIM_PTX_PRESSURE_H

#include "sim/ptx/ptx_module.h"

/*
 * Returns an estimate of how many 32-bit registers ptxas gives a thread of the kernel: as the most
 * values need at a time, in the kernel and in what it calls by name, but no more than what it
 * declares leaves room for (.maxnreg, .maxntid, .reqntid, .minnctapersm). Without memory it is too
 * small. As acu_ptx_module_reach(), not for several threads at a time.
 */
unsigned acu_ptx_estimate_registers(ptx_module *module, const ptx_function *kernel);

#endif
