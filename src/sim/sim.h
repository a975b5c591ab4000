/*
 * What the parts of the simulator share.
 *
 * One lock guards all state but the bytes of memory; it is held from acu_sim_call_begin() to
 * acu_sim_call_end(), and given up while a body waits. Work on streams is done outside it, by one
 * thread per stream, or a thread that waits for the work, and one per device for the host functions
 * that may not wait. An operation is reference-counted: an event, and whoever waits, points at the
 * operation.
 */
#ifndef ACU_SIM_SIM_H
#define ACU_SIM_SIM_H

#include <anycuda/cudart.h>

/* In the shared library these can be seen. No other file includes the header: a file that did so
 * first would hide them. */
#if defined(ACU_SIM_SHARED)
#pragma GCC visibility push(default)
#endif
#include <anycuda/sim.h>
#if defined(ACU_SIM_SHARED)
#pragma GCC visibility pop
#endif

#include "cuda_abi.h"
#include "cudart_abi.h"
#include "core/abi.h"
#include "sim/call.h"
#include "sim/caller.h"
#include "sim/cudart_bodies.h"

#include <pthread.h>

enum { SIM_DEVICES = 64, SIM_OPTION = 512 /* bytes of an option's value */ };

typedef struct acu_sim_stream acu_sim_stream;
typedef struct acu_sim_event acu_sim_event;
typedef struct acu_sim_shared_event acu_sim_shared_event;
typedef struct acu_sim_pool acu_sim_pool;
typedef struct acu_sim_op acu_sim_op;
typedef struct acu_sim_range acu_sim_range;
typedef struct acu_sim_device acu_sim_device;
typedef struct acu_sim_execution_context acu_sim_execution_context;
typedef struct acu_sim_function acu_sim_function;
typedef struct acu_sim_kernel_launch acu_sim_kernel_launch;
typedef struct acu_sim_capture acu_sim_capture;
typedef struct acu_sim_graph_launch acu_sim_graph_launch;
typedef struct acu_sim_node acu_sim_node;
typedef struct acu_sim_graph acu_sim_graph;
typedef struct acu_sim_allocation acu_sim_allocation;
typedef struct acu_sim_user_object acu_sim_user_object;
typedef struct acu_sim_context acu_sim_context;
typedef struct acu_sim_batch acu_sim_batch;
typedef struct acu_sim_values acu_sim_values;
typedef struct acu_sim_semaphores acu_sim_semaphores;
typedef struct acu_sim_external acu_sim_external;
typedef struct acu_sim_ipc acu_sim_ipc;

/* ---- configuration ---- */

/* Where a warp stops, for a debugger. */
typedef struct acu_sim_trap {
    char kernel[SIM_OPTION], file[SIM_OPTION]; /* file "": the line is one of the PTX */
    unsigned line;                             /* 0: nowhere */
    unsigned times;                            /* it stops */
} acu_sim_trap;

typedef struct acu_sim_config {
    int devices;
    bool listed_twice; /* CUDA_VISIBLE_DEVICES lists a device twice; there are no devices then */
    uint64_t memory;   /* per device */
    uint64_t budget;   /* the same, that a process should use; 0: none */
    int cc;            /* 90 */
    int runtime, driver;
    bool leaks;
    bool guard;
    bool blocking;   /* CUDA_LAUNCH_BLOCKING: a launch returns when its kernel is done */
    unsigned checks; /* of kernels, as bits, PTX_CHECK_MEMORY and the others */
    acu_sim_trap trap;
    bool profile; /* kernels count what they do */
    bool profile_table;
    char profile_file[SIM_OPTION]; /* where the counts are written at exit; "": nowhere */
    unsigned jit;                  /* hot kernels become machine code */
    unsigned level;                /* of the processor, as ptx_level has them */
    unsigned threads;              /* that execute a kernel; 0: one for each processor */
    double timeout;                /* seconds that a kernel may take; 0: as many as it likes */
    bool seeded;
    uint64_t seed;
} acu_sim_config;

/* Reads ANYCUDA_SIM at the first call. Under the lock. */
const acu_sim_config *acu_sim_configuration(void);
/* Forgets the configuration, cuInit() and what threads have, and reads `configuration`, or
 * ANYCUDA_SIM if that is NULL. Under the lock, when all nouns have been reset. */
void acu_sim_begin_again(const char *configuration);

/* ---- the process ---- */

/* Returns whether exit has begun: nothing is started any more. */
bool acu_sim_is_unloading(void);
/* Notes a call of the runtime. Nearly all initialise CUDA, which then does not work in a child. The
 * caller need not hold the lock. */
void acu_sim_use_runtime(void);
/* Returns whether the process was forked by one that used CUDA: CUDA does not work in the child. */
bool acu_sim_is_forked(void);
/* Returns whether that was by the runtime, which then still knows in the child how many devices
 * there are. */
bool acu_sim_parent_knows_devices(void);
/* Returns whether cuInit() was called, or a call of the runtime that does the same. */
bool acu_sim_is_initialized(void);
void acu_sim_init(void);
/* Returns a number that changes when acu_sim_reset() makes what threads have invalid. */
uint64_t acu_sim_era(void);
/* Calls acu_sim_stream_thread_ended() when the calling thread ends. */
void acu_sim_watch_thread(const acu_sim_thread *self);

/* ---- one API call ---- */

/* Returns cudaSuccess where the driver is new enough for the function of its own that a call needs,
 * else the error. */
cudaError_t acu_sim_driver_has(const acu_function *function);

/* Returns whether the value is in the table and not newer than the runtime, or the driver that is
 * being called. */
bool acu_sim_knows(const acu_type *type, int64_t value);
/* Returns whether the value is in the table and not newer than the driver. */
bool acu_sim_driver_knows(const acu_type *type, int64_t value);

#endif
