/* Texture and surface objects. */
#ifndef ACU_SIM_MEMORY_TEXTURE_H
#define ACU_SIM_MEMORY_TEXTURE_H

#include "sim/sim.h"

/* Destroys all objects of a context that ends. */
void acu_sim_textures_drop(const acu_sim_context *context);
/* Destroys all objects of the device; NULL: of all devices. */
void acu_sim_textures_reset(acu_sim_device *device);
/* Counts, and with `print` reports, the objects that the program has not destroyed. */
int acu_sim_textures_leaks(int print);

#endif
