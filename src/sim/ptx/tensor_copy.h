/* Copies of tiles by tensor maps, which async.c and tensor_replace.c share. */
#ifndef ACU_SIM_PTX_TENSOR_COPY_H
#define ACU_SIM_PTX_TENSOR_COPY_H

#include "sim/ptx/lower.h"
#include "sim/ptx/tensor_map.h"

/* Returns where the map is that a lane names; the kernel ends where there is none. */
char *acu_ptx_tensor_at(ptx_warp *warp, const ptx_op *op, unsigned lane, ptx_space space,
                        uint64_t address, bool writes, ptx_tensor_map *map);

/* Lowers cp.async.bulk.tensor, its prefetch and cp.reduce.async.bulk.tensor, whose first words are
 * taken. */
void acu_ptx_lower_tensor(ptx_lowering *lowering, const ptx_instruction *instruction,
                          ptx_words *words);

#endif
