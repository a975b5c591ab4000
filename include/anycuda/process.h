/*
 * Processes that use CUDA, as something to stop, save and go on with: CUDA's part of a checkpoint,
 * beside which a tool such as CRIU saves the rest. Needs a driver of CUDA 12.8 or later, in both
 * processes; an older one is refused (801).
 *
 * lock, checkpoint, restore, unlock: in this order. A process is named by its id (a pid); the
 * caller must be allowed to trace it. These functions do not begin CUDA in the calling process,
 * except for acu_process_restore().
 */
#ifndef ACU_PROCESS_H
#define ACU_PROCESS_H

#include <stddef.h>

#include <anycuda/status.h>

ACU_BEGIN_C

/** What has been done with a process, with CUDA's numbers (CUprocessState). */
typedef enum acu_process_state {
    ACU_PROCESS_RUNNING = 0,
    ACU_PROCESS_LOCKED = 1,        /* its calls of CUDA wait */
    ACU_PROCESS_CHECKPOINTED = 2,  /* the memory of its devices lies in that of the host */
    ACU_PROCESS_FAILED = 3,        /* an error left it between two states */
    ACU_PROCESS_CHECKPOINTING = 4, /* since CUDA 13.4: to a store of the caller's */
    ACU_PROCESS_RESTORING = 5      /* since CUDA 13.4: from one */
} acu_process_state;

/** Asks for the state of a process. Errors: 1 where it does not use CUDA. */
ACU_CHECKED acu_result acu_process_get_state(int process, acu_process_state *state);

/** Asks for the thread of a process that restores it, which a checkpoint has to keep running. */
ACU_CHECKED acu_result acu_process_get_restore_thread(int process, int *thread);

/**
 * Lets all calls of CUDA in a running process wait, and waits for the work under way; at most
 * `timeout_ms` milliseconds, where 0 means without an end.
 *
 * Errors: 401 where the process is not running; 600 (ACU_NOT_READY) after the time, and the process
 * goes on running.
 */
ACU_CHECKED acu_result acu_process_lock(int process, unsigned timeout_ms);

/**
 * Brings the memory of a locked process's devices into its host memory, and gives the devices up.
 * Errors: 401 where the process is not locked.
 */
ACU_CHECKED acu_result acu_process_checkpoint(int process);

/** A device that a process had, and the one it shall have instead: their 16 bytes of UUID. */
typedef struct acu_process_move {
    unsigned char from[16], to[16];
} acu_process_move;

/**
 * Brings the memory of a process back to its devices, which leaves the process locked.
 *
 * `moves` may be NULL: the process gets its own devices. Otherwise they name each of them; the
 * devices must be of one kind. Errors: 401 where there is no checkpoint; 801 with moves before CUDA
 * 13.0.
 */
ACU_CHECKED acu_result acu_process_restore(int process, const acu_process_move *moves,
                                           size_t count);

/** Lets a locked process go on. Errors: 401 where the process is not locked. */
ACU_CHECKED acu_result acu_process_unlock(int process);

ACU_END_C

#endif
