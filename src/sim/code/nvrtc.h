/* What the rest of the simulator knows of the compiler that it plays. */
#ifndef ACU_SIM_NVRTC_H
#define ACU_SIM_NVRTC_H

#include "sim/noun.h"
#include "sim/sim.h"

/* NULL if there is no such symbol. */
acu_fn acu_sim_nvrtc_symbol(const char *symbol);

extern const acu_sim_noun acu_sim_program_noun;

#endif
