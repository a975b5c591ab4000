/* Device memory that other processes open by handles (cudaIpcGetMemHandle). */
#ifndef ACU_SIM_MEMORY_IPC_MEMORY_H
#define ACU_SIM_MEMORY_IPC_MEMORY_H

#include "sim/noun.h"
#include "sim/sim.h"

/* Returns whether other processes can open the range: memory of cudaMalloc(). */
bool acu_sim_ipc_can_export(const acu_sim_range *range);
/* Ends the handles of a range that is freed, and makes its pages the process's own again. */
void acu_sim_ipc_end_export(acu_sim_range *range);

/* Frees what a range of another process's memory has, when the range goes. */
void acu_sim_ipc_release(acu_sim_ipc *import);

extern const acu_sim_noun acu_sim_ipc_memory_noun;

#endif
