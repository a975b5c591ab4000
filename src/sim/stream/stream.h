/* Streams: queues of operations. A thread for each stream runs them, or with a seed one for all. */
#ifndef ACU_SIM_STREAM_STREAM_H
#define ACU_SIM_STREAM_STREAM_H

#include "sim/noun.h"
#include "sim/stream/capture.h"
#include "sim/stream/edge_list.h"

/* Which thread runs what is queued on a stream. */
typedef enum acu_sim_turn {
    SIM_THREAD,   /* the stream's thread, which was woken for it */
    SIM_DEFERRED, /* the same, but it was not woken yet (deferred.h) */
    SIM_WAITER,   /* a thread that waits for some of it, which then wakes the stream's thread */
} acu_sim_turn;

struct acu_sim_stream {
    acu_sim_device *device;
    acu_sim_execution_context *execution_context; /* the green one; NULL: none */
    bool detached; /* the green one was destroyed: the stream can only be destroyed, too */
    unsigned flags;
    int priority;
    unsigned long long id;
    bool is_default;         /* made by the simulator, not by the program */
    bool threaded;           /* a thread serves the stream, and frees it in the end */
    bool closing;            /* destroyed by the program; freed when its work is done */
    bool blocked;            /* its thread waits for an operation of another stream */
    acu_sim_op *head, *tail; /* queued operations; the first one may be running */
    acu_sim_op *last;        /* the newest operation, also when it is done; NULL: none */
    pthread_cond_t wake;     /* for the thread */
    acu_sim_turn turn;
    unsigned awaited;        /* not 0: the program waits as soon as it has queued work */
    uint64_t queued_ns;      /* when work was queued first, in nanoseconds */
    uint64_t deferred_by;    /* with SIM_DEFERRED: id of the thread that queued it */
    unsigned deferred_count; /* how many operations that are */
    acu_sim_stream *next_deferred;
    acu_sim_stream *next, *before; /* all streams */
    struct cudaAccessPolicyWindow window;
    enum cudaSynchronizationPolicy sync_policy;
    cudaLaunchMemSyncDomainMap domains;
    cudaLaunchMemSyncDomain domain;
    const void *where;        /* where the program created the stream; NULL: the simulator did */
    acu_sim_context *context; /* the context of the driver that the stream is in */
    uint64_t thread;          /* id of the thread whose default stream this is; 0: of none */
    acu_sim_capture *capture; /* NULL: none, so work is run */
    acu_sim_edge_list dependencies; /* with `capture`: the nodes that the next one depends on */
    acu_sim_stream *next_captured;
};

/* Finds the stream of a handle; the default streams are those of the current context. */
cudaError_t acu_sim_stream_of(cudaStream_t handle, acu_sim_stream **stream);
/* Returns the stream that the program created and has under the handle; NULL if there is none. */
acu_sim_stream *acu_sim_stream_named(cudaStream_t handle);
/* Returns the legacy default stream of a context, which is made if need be; NULL without memory. */
acu_sim_stream *acu_sim_stream_legacy(acu_sim_context *context);

/* Returns the nearest valid priority. */
int acu_sim_stream_nearest_priority(int priority);

/* Returns a new stream of the program in an execution context; NULL without memory. */
acu_sim_stream *acu_sim_stream_new(acu_sim_execution_context *execution, unsigned flags,
                                   int priority, const void *where);

/* Returns the next stream of an execution context, the first one if `after` is NULL; NULL: no more.
 */
acu_sim_stream *acu_sim_stream_in(const acu_sim_execution_context *execution,
                                  acu_sim_stream *after);

/* Returns the stream in which events of an execution context are recorded, which no handle means;
 * NULL without memory. */
acu_sim_stream *acu_sim_stream_of_records(acu_sim_execution_context *execution);

/* Destroys a stream. The work of the stream is still done, but this does not wait for it. */
void acu_sim_stream_close(acu_sim_stream *stream);

/* Finds the stream of a handle, and returns the fault of its device, if there was one. */
cudaError_t acu_sim_stream_usable(cudaStream_t handle, acu_sim_stream **stream);
/* Returns what a handle means in this call: cudaStreamPerThread instead of NULL in a call whose
 * name ends in _ptsz or _ptds. */
cudaStream_t acu_sim_stream_handle(cudaStream_t handle);

/*
 * Queues an operation, which waits for all that CUDA puts before it, and takes the caller's
 * reference, also on an error. On a captured stream the operation becomes a node instead. With
 * `wait` the call returns when the operation is done; the lock is given up meanwhile.
 */
cudaError_t acu_sim_stream_submit(acu_sim_stream *stream, acu_sim_op *op, bool wait);

/* Runs an operation that is ready; the lock is given up meanwhile. */
void acu_sim_op_run(acu_sim_device *device, acu_sim_op *op);

/* Makes all that wait check their conditions again, because `is_due` of an operation may be true.
 */
void acu_sim_streams_wake(void);

/* Waits until an operation is done; the lock is given up meanwhile. */
void acu_sim_op_wait(acu_sim_op *op);
/* Wait for the work that all streams have now: of a device, of all devices if that is NULL, of a
 * context, or of an execution context. The lock is given up meanwhile. */
void acu_sim_stream_wait_device(acu_sim_device *device);
void acu_sim_stream_wait_context(const acu_sim_context *context);
void acu_sim_stream_wait_execution_context(const acu_sim_execution_context *execution);
/* Returns whether a stream has no work; a legacy default stream includes the blocking streams. */
bool acu_sim_stream_is_idle(const acu_sim_stream *stream);

/* Returns whether new work on a stream would wait for nothing. */
bool acu_sim_stream_is_free(const acu_sim_stream *stream);
/* Does the work of a stream until it is closed, and frees it; for its thread. */
void acu_sim_stream_serve(acu_sim_stream *stream);
/* Gives the stream a thread that serves it; returns false if there is none. */
bool acu_sim_stream_thread_take(acu_sim_stream *stream);
/* Starts a thread in which the program's signals are blocked; returns false if that fails. */
bool acu_sim_stream_thread_start(void *(*function)(void *data), void *data);

/* Returns whether an operation of some stream is ready. */
bool acu_sim_streams_are_ready(void);

/* Returns whether an operation of some stream has a condition that must be checked again and again.
 */
bool acu_sim_streams_look(void);
/* Runs the ready operation that the number picks; returns false if none is. */
bool acu_sim_streams_step(uint64_t random);

extern const acu_sim_noun acu_sim_stream_noun;

#endif
