/* Which instructions each .target has. */
#ifndef ACU_SIM_PTX_TARGET_H
#define ACU_SIM_PTX_TARGET_H

#include "sim/ptx/lower_inside.h"

/* Ends the lowering with what ptxas says, if the module's .target lacks the instruction. */
void acu_ptx_check_target(ptx_lowering *lowering, const ptx_instruction *instruction);

#endif
