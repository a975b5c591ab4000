/* Warps that stop at a line of a kernel (ANYCUDA_SIM=trap=…): they are printed, and a debugger gets
 * its turn. */
#ifndef ACU_SIM_CODE_STOPPED_H
#define ACU_SIM_CODE_STOPPED_H

#include "sim/noun.h"
#include "sim/ptx/code.h"
#include "sim/ptx/warp.h"

/* Returns whether warps of the kernel, which is to be executed, are to stop: it has the name that
 * the configuration says, or is a C++ function of that name. Under the lock. */
bool acu_sim_stopped_names(const char *kernel);

/* Says why warps of the kernel will not stop: it has no such place. Under the lock. */
void acu_sim_stopped_nowhere(const char *kernel);

/* Shows a warp of the kernel that has come to such a place (`op`) on the device, where a debugger
 * is attached stops the thread by SIGTRAP, and returns; after as many times as the configuration
 * says it only returns. Any thread may call the function, without the lock. */
void acu_sim_stopped_show(const char *kernel, const acu_sim_device *device, const ptx_warp *warp,
                          const ptx_op *op);

extern const acu_sim_noun acu_sim_stopped_noun;

#endif
