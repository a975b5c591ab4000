/* Registers that are copies of other ones. */
#ifndef ACU_SIM_PTX_COPIES_H
#define ACU_SIM_PTX_COPIES_H

#include "sim/ptx/flow.h"

/*
 * Lets what reads a copy (`mov.b32 %r2, %r1`) read the register itself, within a basic block and as
 * long as neither is written. Copies that nobody reads any more are absorbed. Changes the
 * function's instructions; new operands are in the arena. False without memory.
 */
bool acu_ptx_forward_copies(ptx_function *function, const ptx_flow_graph *flow, ptx_arena *arena);

#endif
