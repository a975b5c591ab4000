/* What the rest of the simulator knows of the compiler that it plays. */
#ifndef ACU_SIM_NVRTC_H
#define ACU_SIM_NVRTC_H

#include "sim/sim.h"

/* NULL if there is no such symbol. */
acu_fn acu_sim_nvrtc_symbol(const char *symbol);
void acu_sim_programs_reset(void);
int acu_sim_programs_leaks(int print);

#endif
