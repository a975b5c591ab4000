/* The color of the border of a texture. */
#ifndef ACU_SIM_MEMORY_BORDER_H
#define ACU_SIM_MEMORY_BORDER_H

#include "sim/memory/texel.h"

/* Returns the color of the border, of which a texture has as many channels as its texels. A
 * compressed one has an alpha of 1 where its texels have none. */
acu_sim_texel acu_sim_border_of(const acu_sim_texture *t, const acu_sim_image *image);

#endif
