/* Compressed formats: blocks of 4 by 4 texels. */
#ifndef ACU_SIM_MEMORY_COMPRESSED_H
#define ACU_SIM_MEMORY_COMPRESSED_H

#include "sim/sim.h"

#include <anycuda/sim.h>

enum { SIM_BLOCK = 4 }; /* texels along a side of a block */

/* Returns the bytes of a block; 0 if the format is not compressed. */
size_t acu_sim_compressed_size(enum cudaChannelFormatKind kind);
/* Returns how many blocks, or texels where the format is not compressed, a number of texels takes.
 */
size_t acu_sim_compressed_count(enum cudaChannelFormatKind kind, size_t texels);
/* Returns the description of a compressed format that cudaCreateChannelDesc() gives. */
struct cudaChannelFormatDesc acu_sim_compressed_describe(enum cudaChannelFormatKind kind);
/* Returns whether the channels have the bits that cudaCreateChannelDesc() gives the format. */
bool acu_sim_compressed_is_described(const struct cudaChannelFormatDesc *desc);
/* Returns whether the colors are those of sRGB. */
bool acu_sim_compressed_is_srgb(enum cudaChannelFormatKind kind);
/* Returns whether numbers can be less than 0. */
bool acu_sim_compressed_is_signed(enum cudaChannelFormatKind kind);
/* Returns whether texels are halves, which BC6H has. */
bool acu_sim_compressed_is_half(enum cudaChannelFormatKind kind);
/* Returns a texel of a block, row by row; of sRGB not yet made linear. */
acu_sim_texel acu_sim_compressed_texel(enum cudaChannelFormatKind kind, const unsigned char *block,
                                       unsigned number);

#endif
