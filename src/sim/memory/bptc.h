/* The two formats that Khronos calls BPTC: BC7, of bytes, and BC6H, of halves. */
#ifndef ACU_SIM_MEMORY_BPTC_H
#define ACU_SIM_MEMORY_BPTC_H

#include "sim/sim.h"

#include <anycuda/sim.h>

/* Returns a texel of a block of BC7, as fractions. */
acu_sim_texel acu_sim_bptc_fractions(const unsigned char block[16], unsigned number);
/* Sets red, green and blue of a texel of a block of BC6H, as halves. */
void acu_sim_bptc_halves(const unsigned char block[16], unsigned number, bool is_signed,
                         unsigned short color[3]);

#endif
