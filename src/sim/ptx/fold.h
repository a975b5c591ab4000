/* What a GPU's compiler computes of constants. */
#ifndef ACU_SIM_PTX_FOLD_H
#define ACU_SIM_PTX_FOLD_H

#include "sim/ptx/arena.h"
#include "sim/ptx/ptx_module.h"

/* Returns the number of an operand of f32 that is PTX_FLOAT. */
float acu_ptx_float_of(const ptx_operand *constant);
/* Returns an operand that is the number. */
ptx_operand acu_ptx_float_operand(float value);

/* Makes movs of constants of what ptxas computes, in the function's instructions, which the caller
 * may change. False without memory. */
bool acu_ptx_fold_constants(ptx_function *f, ptx_arena *arena);

#endif
