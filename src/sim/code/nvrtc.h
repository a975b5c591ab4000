/* The simulated NVRTC. */
#ifndef ACU_SIM_NVRTC_H
#define ACU_SIM_NVRTC_H

#include "sim/noun.h"
#include "sim/sim.h"

/* Returns NVRTC's function of the name; NULL if there is none. */
acu_fn acu_sim_nvrtc_symbol(const char *symbol);

/* Returns whether compilers of CUDA make code for the architecture: 90 is sm_90. */
bool acu_sim_nvrtc_knows(int architecture);

extern const acu_sim_noun acu_sim_program_noun;

#endif
