/* Streams: queues of operations, each worked through by a thread. */
#ifndef ACU_SIM_STREAM_STREAM_H
#define ACU_SIM_STREAM_STREAM_H

#include "sim/noun.h"
#include "sim/stream/capture.h"
#include "sim/stream/edge_list.h"

struct acu_sim_stream {
    acu_sim_device *device;
    acu_sim_execution_context *execution_context; /* a green one; NULL: the device's */
    bool detached;                                /* that is gone */
    unsigned flags;
    int priority;
    unsigned long long id;
    bool is_default; /* made by the simulator, not by the program */
    bool threaded, closing;
    bool blocked;            /* its thread waits for another stream */
    acu_sim_op *head, *tail; /* queued; the first may be running */
    acu_sim_op *last;        /* the newest, also when done */
    pthread_cond_t wake;
    acu_sim_stream *next, *before; /* all streams */
    struct cudaAccessPolicyWindow window;
    enum cudaSynchronizationPolicy sync_policy;
    cudaLaunchMemSyncDomainMap domains;
    cudaLaunchMemSyncDomain domain;
    const void *where;
    acu_sim_context *context;       /* in whose context */
    uint64_t thread;                /* whose default stream it is; 0: no thread's */
    acu_sim_capture *capture;       /* NULL: work is done, not captured */
    acu_sim_edge_list dependencies; /* what the next node depends on */
    acu_sim_stream *next_captured;
};

/* The handle's stream; the default streams are those of the current device. */
cudaError_t acu_sim_stream_of(cudaStream_t handle, acu_sim_stream **stream);
acu_sim_stream *acu_sim_stream_legacy(acu_sim_context *context);

/* The nearest priority that there is. */
int acu_sim_stream_nearest_priority(int priority);

/* A new one of the program's, in an execution context; NULL without memory. */
acu_sim_stream *acu_sim_stream_new(acu_sim_execution_context *context, unsigned flags, int priority,
                                   const void *where);

/* The context's stream behind another one, or its first; NULL: no more. */
acu_sim_stream *acu_sim_stream_in(const acu_sim_execution_context *context, acu_sim_stream *after);

/* What a context's events are recorded in; nobody else knows it. */
acu_sim_stream *acu_sim_stream_of_records(acu_sim_execution_context *context);

/* Its work is done first, but nobody waits for that here. */
void acu_sim_stream_close(acu_sim_stream *stream);

/* Finds the stream, and reports the fault of its device. */
cudaError_t acu_sim_stream_usable(cudaStream_t handle, acu_sim_stream **stream);
/* What a handle means in this call: NULL is cudaStreamPerThread in a per-thread variant. */
cudaStream_t acu_sim_stream_handle(cudaStream_t handle);

/*
 * Queues the operation behind what CUDA orders it behind, and with `wait` waits until it is done;
 * while the stream is being captured it becomes a node.
 */
cudaError_t acu_sim_stream_submit(acu_sim_stream *stream, acu_sim_op *op, bool wait);

/* Runs what is ready, giving the lock up meanwhile. */
void acu_sim_op_run(acu_sim_device *device, acu_sim_op *op);

/* Something is due that was not: whoever waits looks again. */
void acu_sim_streams_wake(void);

/* Until it is done; gives the lock up meanwhile. */
void acu_sim_op_wait(acu_sim_op *op);
void acu_sim_stream_wait_device(acu_sim_device *device); /* all its streams; NULL: of all */
void acu_sim_stream_wait_context(const acu_sim_context *context);
void acu_sim_stream_wait_execution_context(const acu_sim_execution_context *context);
bool acu_sim_stream_is_idle(const acu_sim_stream *stream);

/* What is waited for on it now, is done at once. */
bool acu_sim_stream_is_free(const acu_sim_stream *stream);
void acu_sim_stream_thread_ended(const acu_sim_thread *self);
bool acu_sim_stream_thread_start(void *(*function)(void *data), void *data);

/* Some operation could be done now; does the one that the number picks. */
bool acu_sim_streams_are_ready(void);

/* One waits for something that nobody tells of: who waits for it looks again. */
bool acu_sim_streams_look(void);
bool acu_sim_streams_step(uint64_t random);

extern const acu_sim_noun acu_sim_stream_noun;

#endif
