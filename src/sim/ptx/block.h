/* Blocks: their memory, and the turns of their warps. */
#ifndef ACU_SIM_PTX_BLOCK_H
#define ACU_SIM_PTX_BLOCK_H

#include "sim/ptx/grid.h"

/* Returns memory for a block of the worker's launch; NULL without memory. The caller frees it. */
ptx_block *acu_ptx_block_new(ptx_worker *worker);
void acu_ptx_block_free(ptx_block *block);

/* Makes the block begin as the one of that number in the grid. */
void acu_ptx_block_begin(ptx_block *block, uint64_t number);

/* Gives each warp its turn until all have ended, or all wait for other blocks. */
ptx_state acu_ptx_block_run(ptx_block *block);

#endif
