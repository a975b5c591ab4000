/* The simulated nvJitLink. */
#ifndef ACU_SIM_NVJITLINK_H
#define ACU_SIM_NVJITLINK_H

#include "sim/noun.h"
#include "sim/sim.h"

/* Returns nvJitLink's function of the name; NULL if there is none. */
acu_fn acu_sim_nvjitlink_symbol(const char *symbol);

extern const acu_sim_noun acu_sim_jit_link_noun;

#endif
