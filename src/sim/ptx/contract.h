/* Products and sums that become one rounded operation. */
#ifndef ACU_SIM_PTX_CONTRACT_H
#define ACU_SIM_PTX_CONTRACT_H

#include "sim/ptx/flow.h"

/*
 * Returns a copy of the function, in the arena, in which additions without a rounding take in the
 * product that they add: `mul.f32 m, a, b; add.f32 d, m, c;` is `fma.rn.f32 d, a, b, c`. PTX
 * permits that, and a GPU's compiler does it where the product and all of its uses are in one basic
 * block, or a factor is a constant. NULL without memory.
 */
ptx_function *acu_ptx_contracted(const ptx_function *function, const ptx_flow_graph *flow,
                                 ptx_arena *arena);

#endif
