/* Blocks: their memory, and the turns of their warps. */
#ifndef ACU_SIM_PTX_BLOCK_H
#define ACU_SIM_PTX_BLOCK_H

#include "sim/ptx/grid.h"

/* Returns memory for a block of the worker's launch; NULL without memory. The caller frees it. */
ptx_block *acu_ptx_block_new(ptx_worker *worker);
void acu_ptx_block_free(ptx_block *block);

/* Makes the block begin as the one of that number in the grid. */
void acu_ptx_block_begin(ptx_block *block, uint64_t number);

/* Gives each warp its turn until all have ended, or spin, or wait for the rest of the cluster. */
ptx_state acu_ptx_block_run(ptx_block *block);

/* Ends the kernel because no warp of the block can go on, and no other block will change that. */
_Noreturn void acu_ptx_block_fail_waiting(ptx_block *block);

#endif
