/*
 * Processes that are locked, saved and restored. The simulator has the calling process alone, whose
 * state changes as CUDA documents; nothing is saved, and calls do not wait. Codes are an H100's.
 */
#define _POSIX_C_SOURCE 200809L /* getpid */
#include "sim/driver/driver.h"

#include <unistd.h>

static CUprocessState state = CU_PROCESS_STATE_RUNNING;

static cudaError_t require_self(int pid) {
    if (pid == (int)getpid())
        return cudaSuccess;
    return SIM_REFUSE(pid > 0 ? cudaErrorNotSupported : cudaErrorOperatingSystem,
                      "the simulator has no other process than its own, %d", (int)getpid());
}

static cudaError_t change(int pid, CUprocessState from, CUprocessState to) {
    static const char *const names[] = {"running", "locked", "checkpointed"};
    SIM_TRY(require_self(pid));
    if (state != from)
        return SIM_REFUSE(cudaErrorIllegalState, "process %d is %s, and must be %s", pid,
                          names[state], names[from]);
    state = to;
    return cudaSuccess;
}

/* NOLINTBEGIN(readability-non-const-parameter): the signatures are CUDA's */
cudaError_t acu_sim_cuCheckpointProcessGetState(int pid, CUprocessState *found) {
    if (!found)
        return cudaErrorInvalidValue;
    SIM_TRY(require_self(pid));
    *found = state;
    return cudaSuccess;
}

cudaError_t acu_sim_cuCheckpointProcessGetRestoreThreadId(int pid, int *tid) {
    if (!tid)
        return cudaErrorInvalidValue;
    SIM_TRY(require_self(pid));
    *tid = pid;
    return cudaSuccess;
}

cudaError_t acu_sim_cuCheckpointProcessLock(int pid, CUcheckpointLockArgs *args) {
    (void)args;
    return change(pid, CU_PROCESS_STATE_RUNNING, CU_PROCESS_STATE_LOCKED);
}

cudaError_t acu_sim_cuCheckpointProcessCheckpoint(int pid, CUcheckpointCheckpointArgs *args) {
    if (args && args->customStorageInfo_out)
        return SIM_REFUSE(cudaErrorNotSupported, "the simulator has no storage of a program's own");
    return change(pid, CU_PROCESS_STATE_LOCKED, CU_PROCESS_STATE_CHECKPOINTED);
}

cudaError_t acu_sim_cuCheckpointProcessRestore(int pid, CUcheckpointRestoreArgs *args) {
    if (args && args->customStorageInfo_out)
        return SIM_REFUSE(cudaErrorNotSupported, "the simulator has no storage of a program's own");
    return change(pid, CU_PROCESS_STATE_CHECKPOINTED, CU_PROCESS_STATE_LOCKED);
}

cudaError_t acu_sim_cuCheckpointProcessUnlock(int pid, CUcheckpointUnlockArgs *args) {
    (void)args;
    return change(pid, CU_PROCESS_STATE_LOCKED, CU_PROCESS_STATE_RUNNING);
}
/* NOLINTEND(readability-non-const-parameter) */

static void reset(void) {
    state = CU_PROCESS_STATE_RUNNING;
}

const acu_sim_noun acu_sim_process_noun = {.reset = reset};
