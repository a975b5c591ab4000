/* Finds mistakes in a module before anything of it is launched. */
#ifndef ACU_SIM_PTX_VALIDATE_H
#define ACU_SIM_PTX_VALIDATE_H

#include "sim/ptx/parse.h"

/*
 * Validates the instructions of all functions of the module. Returns PTX_OK; PTX_NO_MEMORY;
 * PTX_INVALID for what ptxas refuses: then `error` has a line for each of the first mistakes. A
 * function with an instruction that the simulator does not execute is no error: its `left_out` says
 * which one.
 */
ptx_result acu_ptx_validate(ptx_module *module, ptx_error *error);

/* Returns why the simulator does not execute a kernel of the module, which may be because of what
 * it calls; NULL: it does. The text belongs to the module. */
const char *acu_ptx_left_out(ptx_module *module, const ptx_function *entry);

/* Returns a function that the module needs and does not define; NULL: there is none. The module
 * need not define what each device has, and what the texts that it was linked from found in
 * libraries of CUDA's. */
const ptx_function *acu_ptx_unresolved(const ptx_module *module);

#endif
