/* Blocks of pinned memory: small allocations share one, with what was asked for the first of them.
 */
#ifndef ACU_SIM_PINNED_BLOCK_H
#define ACU_SIM_PINNED_BLOCK_H

#include "sim/sim.h"

typedef struct acu_sim_pinned_block acu_sim_pinned_block;

/* The part of a block that an allocation takes. */
typedef struct acu_sim_pinned_part {
    acu_sim_pinned_block *block; /* NULL: the allocation is in none */
    unsigned first, count;       /* pages of the block */
} acu_sim_pinned_part;

/* Takes a part for an allocation with flags of cudaHostAlloc(), in a block of the device that has
 * room, or in a new one; `flags` becomes those that the memory has there. Returns false without
 * memory. */
bool acu_sim_pinned_block_take(const acu_sim_device *device, size_t size, unsigned *flags,
                               acu_sim_pinned_part *part);
/* Gives the part back; the last one ends the block. */
void acu_sim_pinned_block_give_back(acu_sim_pinned_part part);

#endif
