/* Functions that CUDA's device runtime has: printf, malloc and so on. */
#include "sim/ptx/lower_inside.h"

bool acu_ptx_lower_device_call(ptx_lowering *l, const ptx_instruction *i, const ptx_function *function,
                               const ptx_operand *results, const ptx_operand *params) {
    (void)l;
    (void)i;
    (void)function;
    (void)results;
    (void)params;
    return false;
}
