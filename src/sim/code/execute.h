/* Kernels that have no C function, but PTX: src/sim/ptx/ executes it. */
#ifndef ACU_SIM_CODE_EXECUTE_H
#define ACU_SIM_CODE_EXECUTE_H

#include "sim/code/descendants.h"
#include "sim/code/kernel_launch.h"
#include "sim/code/module.h"

/* All functions but acu_sim_execute_run() are called under the lock. */

/* Makes the kernel's code if that was not tried yet. Returns whether it can be executed; if not,
 * acu_sim_execute_why() says why. */
bool acu_sim_execute_prepare(const acu_sim_function *function);

/* Returns why the kernel cannot be executed. */
const char *acu_sim_execute_why(const acu_sim_function *function);

/* Return whether the kernel has PTX that may call CUDA's device runtime, as to launch kernels; and
 * whether it may launch graphs. */
bool acu_sim_execute_uses_runtime(const acu_sim_function *function);
bool acu_sim_execute_launches_graphs(const acu_sim_function *function);

/* Fixes the limits of the context that the kernel uses, of what it prints and of its heap; called
 * under the lock, when it is launched. */
void acu_sim_execute_fix_limits(const acu_sim_function *function);

/* Executes a launch whose kernel was prepared, and adds what it launches to `children`. The lock is
 * not held. The error returned is the context's: it is sticky. */
cudaError_t acu_sim_execute_run(const acu_sim_kernel_launch *prepared,
                                acu_sim_descendants *children);

/* Returns the kernel that the pointer of a kernel of the module points to; NULL: there is none. */
acu_sim_function *acu_sim_execute_function(const acu_sim_module *module, uint64_t pointer);

/* Writes the addresses that are in the initial values of a new module's variables. */
void acu_sim_execute_relocate(acu_sim_module *module);

/* Frees what was made of the image's PTX. */
void acu_sim_execute_forget(acu_sim_code_image *image);

/* Takes over the level of the processor that kernels are made for. */
extern const acu_sim_noun acu_sim_execute_noun;

#endif
