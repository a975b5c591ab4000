/* Special registers: %tid and the like. */
#ifndef ACU_SIM_PTX_SPECIAL_H
#define ACU_SIM_PTX_SPECIAL_H

#include "sim/ptx/grid.h"

/* Fill in the slots that are the same in a whole launch, for a block's place, and for a warp's
 * place in its block. */
void acu_ptx_fill_launch(const ptx_launch *launch, char *bank);
void acu_ptx_fill_block(const ptx_block *block, char *bank);
void acu_ptx_fill_warp(const ptx_warp *warp);

/* Writes a value to all lanes of an element of that size. Of the usual sizes compilers make
 * vectors: blocks begin often, and clocks and frames are read often. */
void acu_ptx_put_all(char *at, unsigned size, uint64_t value);

#endif
