/*
 * What the parts of the simulator share.
 *
 * One lock guards all state but the bytes of memory; it is held from acu_sim_enter() to
 * acu_sim_leave(), and while waiting given up. Work on streams is done outside it, by one thread
 * per stream, and one per device for the host functions that may not wait. An operation is
 * reference-counted: an event, and whoever waits, points at the operation.
 */
#ifndef ACU_SIM_SIM_H
#define ACU_SIM_SIM_H

#include <anycuda/cudart.h>

/* In the shared library the functions have CUDA's names, and can be seen. */
#if defined(ACU_SIM_SHARED)
#define SIM_SYMBOL(symbol) __asm__(symbol) __attribute__((visibility("default")))
#pragma GCC visibility push(default)
#else
#define SIM_SYMBOL(symbol)
#endif
#include <anycuda/sim.h>
#if defined(ACU_SIM_SHARED)
#pragma GCC visibility pop
#endif

#include "cuda_abi.h"
#include "cudart_abi.h"
#include "core/abi.h"
#include "sim/caller.h"

#include <pthread.h>

/* The signatures come from the generated header, so that no definition can differ from it. */
#define SIM(name) extern __typeof__(*acu_slot_##name) acu_sim_##name SIM_SYMBOL(#name);
#define SIM_PTDS(name, suffix)                                                                     \
    SIM(name)                                                                                      \
    extern __typeof__(*acu_slot_##name) acu_sim_##name##_##suffix SIM_SYMBOL(#name "_" #suffix);
#include "sim/entry/functions.h"
#undef SIM
#undef SIM_PTDS

enum { SIM_DEVICES = 64, SIM_PUSHED = 64 };

typedef struct acu_sim_stream acu_sim_stream;
typedef struct acu_sim_event acu_sim_event;
typedef struct acu_sim_pool acu_sim_pool;
typedef struct acu_sim_op acu_sim_op;
typedef struct acu_sim_range acu_sim_range;
typedef struct acu_sim_device acu_sim_device;
typedef struct acu_sim_execution_context acu_sim_execution_context;
typedef struct acu_sim_function acu_sim_function;
typedef struct acu_sim_prepared acu_sim_prepared;
typedef struct acu_sim_capture acu_sim_capture;
typedef struct acu_sim_flight acu_sim_flight;
typedef struct acu_sim_node acu_sim_node;
typedef struct acu_sim_graph acu_sim_graph;
typedef struct acu_sim_allocation acu_sim_allocation;
typedef struct acu_sim_user_object acu_sim_user_object;
typedef struct acu_sim_context acu_sim_context;
typedef struct acu_sim_batch acu_sim_batch;
typedef struct acu_sim_values acu_sim_values;
typedef struct acu_sim_semaphores acu_sim_semaphores;
typedef struct acu_sim_external acu_sim_external;

/* ---- configuration ------------------------------------------------------------------------------
 */

typedef struct acu_sim_config {
    int devices;
    uint64_t memory; /* per device */
    int cc;          /* 90 */
    int runtime, driver;
    bool leaks;
    bool guard;
    bool seeded;
    uint64_t seed;
} acu_sim_config;

/* Reads ANYCUDA_SIM at the first call. Under the lock. */
const acu_sim_config *acu_sim_configuration(void);

/* ---- one API call -------------------------------------------------------------------------------
 */

/* What a call needs, each including those before it. */
typedef enum acu_sim_need {
    SIM_NEEDS_NOTHING, /* works without driver and device */
    SIM_NEEDS_DRIVER,
    SIM_NEEDS_A_CONTEXT, /* makes the current device's, which may be lost */
    SIM_NEEDS_CONTEXT,   /* reports its sticky error */
} acu_sim_need;

/*
 * Takes the lock; tells why the call cannot be made, cudaSuccess if it can. Every call that entered
 * leaves, whatever enter said. `device`: the thread's current one, may be NULL.
 */
cudaError_t acu_sim_enter(acu_sim_need need, acu_sim_device **device);
/* Whether the driver is new enough for the function of its own that a call needs. */
cudaError_t acu_sim_driver_has(const acu_function *function);
/* Enters a call that says so before it looks at anything else. */
cudaError_t acu_sim_enter_newer(const acu_function *function);
/* A mistake of the program's, for those that CUDA tells before it looks at the context. */
cudaError_t acu_sim_mistake(cudaError_t result, bool mistaken, cudaError_t code);
/* Gives the lock up and makes the result the thread's last error, if it is one; returns it. */
cudaError_t acu_sim_leave(cudaError_t result);
/*
 * The same for a call of the driver, which activates nothing: it needs a context that somebody
 * made current. It leaves no error behind. SIM_NEEDS_DRIVER means cuInit().
 */
cudaError_t acu_sim_enter_driver(acu_sim_need need, acu_sim_device **device);
void acu_sim_leave_driver(void);
/* Why not, for the driver's calls that wait without a context: a host function must not, which they
 * would wait for. The others have asked that when they entered. */
cudaError_t acu_sim_may_wait(void);
/* What cuInit() does. */
void acu_sim_init(void);

/* A context, or a device that is only chosen, where it is not bound. */
typedef struct acu_sim_current {
    int device;
    bool bound;
    acu_sim_context *context; /* NULL: the device's own context */
} acu_sim_current;

/* What belongs to a thread. */
typedef struct acu_sim_thread {
    int device;
    cudaError_t last;
    bool in_callback;                /* a host function runs: it must not call CUDA */
    bool by_driver;                  /* a call of the driver is under way: it leaves no error */
    const void *caller;              /* whose it is */
    bool own_default;                /* no stream means the thread's own */
    uint64_t era;                    /* acu_sim_reset() begins a new one */
    uint64_t id;                     /* no other thread has had it */
    enum cudaStreamCaptureMode mode; /* how it bears the captures of others */
    const acu_sim_graph *graph;      /* whose launch it does; NULL: none's */
    /* A context is current: the device's own, or one that was made; and those below it, pushed. */
    bool bound;
    acu_sim_context *context; /* NULL: not one that was made */
    acu_sim_current pushed[SIM_PUSHED];
    int pushed_count;
    /* Its own default stream that it used last; gone if there is no such stream, or one with
     * another id. */
    acu_sim_stream *own;
    unsigned long long own_id;
} acu_sim_thread;
acu_sim_thread *acu_sim_self(void);

extern pthread_mutex_t acu_sim_lock;
/* Exit has begun: nothing is started any more. */
bool acu_sim_is_unloading(void);

/* The value is in the table and not newer than the runtime, or the driver that is being called. */
bool acu_sim_knows(const acu_type *type, int64_t value);
/* The value is in the table and not newer than the driver. */
bool acu_sim_driver_knows(const acu_type *type, int64_t value);

/* Who called CUDA: the wrapper is inlined in the program, or its copy is what is seen. */
#define SIM_CALLER                                                                                 \
    (acu_sim_self()->by_driver ? acu_sim_self()->caller                                            \
                               : acu_sim_caller(__builtin_return_address(0)))

#endif
