/*
 * One API call. An entry (generated/src/sim/) makes it of each: it begins the call, asks whether
 * the call may be made, runs the body, and ends the call. The lock is held from the beginning to
 * the end, and given up while a body waits.
 */
#ifndef ACU_SIM_CALL_H
#define ACU_SIM_CALL_H

#include <anycuda/cudart.h>

#include "core/record.h"
#include "sim/caller.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* What an entry is called in the shared library: by CUDA's own name, and there it can be seen. */
#if defined(ACU_SIM_SHARED)
#define SIM_SYMBOL(symbol) __asm__(symbol) __attribute__((visibility("default")))
#else
#define SIM_SYMBOL(symbol)
#endif

enum { SIM_PUSHED = 64 };

typedef struct acu_sim_graph acu_sim_graph;
typedef struct acu_sim_stream acu_sim_stream;
typedef struct acu_sim_context acu_sim_context;

extern pthread_mutex_t acu_sim_lock;

/* A context, or a device that is only chosen, where it is not bound. */
typedef struct acu_sim_current {
    int device;
    bool bound;
    acu_sim_context *context; /* NULL: the device's own context */
} acu_sim_current;

/* What the entry knows of the call that a thread makes. */
typedef struct acu_sim_call {
    const void *caller;     /* the address in the program from where CUDA was called */
    const char *symbol;     /* a constant; NULL where it is a call of the simulator's own */
    bool by_driver;         /* a function of the driver: it leaves no last error */
    bool in_host_functions; /* also a host function may make the call */
    bool own_default;       /* NULL as a stream is the thread's own default stream */
    bool restores;          /* at its end `before` is current again */
    int cancelling;         /* whether the thread may be cancelled, outside of the call */
    acu_sim_current before;
} acu_sim_call;

/* What belongs to a thread. */
/* Whether a thread runs a kernel now (sim/memory/running.c). */
typedef struct acu_sim_running {
    bool runs;                            /* atomic: set under the lock */
    bool listed;                          /* changed by the thread itself */
    struct acu_sim_running *next, **from; /* under the lock */
} acu_sim_running;

typedef struct acu_sim_thread {
    int device;
    cudaError_t last;
    bool in_callback;                  /* a host function runs: it must not call CUDA */
    acu_sim_call call;                 /* the call that the thread makes; zero outside of one */
    uint64_t era;                      /* acu_sim_reset() begins a new one */
    uint64_t id;                       /* no other thread has had it */
    enum cudaStreamCaptureMode mode;   /* how it bears the captures of others */
    const acu_sim_graph *graph;        /* the graph whose launch the thread does; NULL: none */
    struct acu_sim_children *children; /* what its kernel launches; NULL: the thread runs none */
    /* A context is current: the device's own, or one that was made; and those below it, pushed. */
    bool bound;
    acu_sim_context *context; /* NULL: not one that was made */
    acu_sim_current pushed[SIM_PUSHED];
    int pushed_count;
    /* The default stream that the thread used last; gone if there is no such stream, or one with
     * another id. */
    acu_sim_stream *own;
    unsigned long long own_id;
    acu_sim_running running;
} acu_sim_thread;

/* Returns the calling thread's own state; never NULL. */
acu_sim_thread *acu_sim_self(void);

/* Takes the lock and makes the call the thread's, which keeps the outer one in `call` meanwhile: a
 * host function that runs inside of a call may make another one. */
void acu_sim_call_begin(acu_sim_call *call);
/* Gives the lock up, makes the outer call the thread's again, and makes the result the thread's
 * last error, if it is one and the call the runtime's. Returns the result. */
cudaError_t acu_sim_call_end(acu_sim_call *call, cudaError_t result);

/* Makes what is current now the thread's current context again when its call ends. */
void acu_sim_call_keep_current(void);

/* The code of a failure, whose reason is recorded for the message of the call: a sentence without
 * its end, as printf() takes it. */
#define SIM_REFUSE(code, ...) (acu_record_reason(__VA_ARGS__), (code))

/* Returns early with the code of what failed. For bodies, and what they call. */
#define SIM_TRY(expression)                                                                        \
    do {                                                                                           \
        cudaError_t sim_failed = (expression);                                                     \
        if (sim_failed)                                                                            \
            return sim_failed;                                                                     \
    } while (0)

/* What acu_sim_caller() makes of the call that is under way. */
#define SIM_CALLER acu_sim_caller(acu_sim_self()->call.caller)

#endif
