/* Textures and surfaces. */
#ifndef ACU_SIM_MEMORY_TEXTURE_H
#define ACU_SIM_MEMORY_TEXTURE_H

#include "sim/sim.h"

void acu_sim_textures_drop(const acu_sim_context *context);
void acu_sim_textures_reset(acu_sim_device *device);
int acu_sim_textures_leaks(int print);

#endif
