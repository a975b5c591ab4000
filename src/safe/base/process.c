/* Processes: locked, saved, restored and unlocked by the driver. */
#include "core/fail.h"
#include "core/translate.h"
#include "safe/base/object.h"

#include <anycuda/cuda.h>
#include <anycuda/process.h>

#include <assert.h>
#include <limits.h>
#include <stdio.h>

static int outcome(const char *call, int process, int code) {
    char text[32];
    if (!code)
        return 0;
    snprintf(text, sizeof text, "process %d", process);
    return acu_cuda_failed(call, text, code);
}

#define OUTCOME(process, code) outcome(__func__, (process), acu_translate_driver((int)(code)))

acu_result acu_process_get_state(int process, acu_process_state *state) {
    ACU_SCOPE();
    CUprocessState found = CU_PROCESS_STATE_RUNNING;
    ACU_NEED_POINTER(state);
    *state = ACU_PROCESS_RUNNING;
    ACU_TRY(OUTCOME(process, cuCheckpointProcessGetState(process, &found)));
    *state = (acu_process_state)found;
    return 0;
}

acu_result acu_process_get_restore_thread(int process, int *thread) {
    ACU_SCOPE();
    ACU_NEED_POINTER(thread);
    *thread = 0;
    return OUTCOME(process, cuCheckpointProcessGetRestoreThreadId(process, thread));
}

acu_result acu_process_lock(int process, unsigned timeout_ms) {
    ACU_SCOPE();
    CUcheckpointLockArgs args = {.timeoutMs = timeout_ms};
    const int code = acu_translate_driver(cuCheckpointProcessLock(process, &args));
    return code == ACU_NOT_READY ? code : outcome(__func__, process, code);
}

acu_result acu_process_checkpoint(int process) {
    ACU_SCOPE();
    return OUTCOME(process, cuCheckpointProcessCheckpoint(process, NULL));
}

static_assert(sizeof(acu_process_move) == sizeof(CUcheckpointGpuPair), "CUDA reads the moves");

acu_result acu_process_restore(int process, const acu_process_move *moves, size_t count) {
    ACU_SCOPE();
    CUcheckpointRestoreArgs args = {.gpuPairs = (CUcheckpointGpuPair *)(uintptr_t)moves,
                                    .gpuPairsCount = (unsigned)count};
    ACU_REQUIRE(moves || !count, ACU_ERROR_ARGUMENT, "'moves' is NULL, and 'count' is %zu", count);
    ACU_REQUIRE(count <= UINT_MAX, ACU_ERROR_RANGE, "'count' is %zu: CUDA takes %u at most", count,
                UINT_MAX);
    int code = acu_translate_driver(cuInit(0));
    if (!code)
        code = acu_translate_driver(cuCheckpointProcessRestore(process, count ? &args : NULL));
    return outcome(__func__, process, code);
}

acu_result acu_process_unlock(int process) {
    ACU_SCOPE();
    return OUTCOME(process, cuCheckpointProcessUnlock(process, NULL));
}
