/* Texture and surface objects. */
#ifndef ACU_SIM_MEMORY_TEXTURE_H
#define ACU_SIM_MEMORY_TEXTURE_H

#include "sim/noun.h"
#include "sim/sim.h"

extern const acu_sim_noun acu_sim_texture_noun;

#endif
