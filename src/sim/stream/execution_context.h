/* Execution contexts, and the multiprocessors and work queues that they have. */
#ifndef ACU_SIM_STREAM_EXECUTION_CONTEXT_H
#define ACU_SIM_STREAM_EXECUTION_CONTEXT_H

#include "sim/noun.h"
#include "sim/sim.h"
#include "sim/device/device_resource.h"

/* There are three kinds: primary ones, one of each device; green ones, which have some of the
 * multiprocessors and streams of their own; and one for each context that the driver created, once
 * it was asked for. */
struct acu_sim_execution_context {
    acu_sim_device *device;
    unsigned long long id;
    bool is_primary; /* its streams are those of the device's own context, green ones, too */
    acu_sim_context *context; /* the context whose streams it has; NULL: it is green */
    acu_sim_processors processors;
    struct cudaDevWorkqueueConfigResource queues;
    unsigned together, flags; /* as of acu_sim_resources */
    acu_sim_op *barrier;      /* never submitted: later work waits for what it waits for; or NULL */
    acu_sim_stream *records;  /* the stream in which its events are recorded; NULL: none was */
    const void *where;        /* where the program created it */
    acu_sim_execution_context *next;
};

/* Returns the execution context of a handle; NULL if there is none. */
acu_sim_execution_context *acu_sim_execution_context_of(cudaExecutionContext_t handle);

/* Returns the primary one of a device, which always exists. */
acu_sim_execution_context *acu_sim_execution_context_primary(acu_sim_device *device);

/* Returns the one that a stream was created in. */
acu_sim_execution_context *acu_sim_execution_context_of_stream(const acu_sim_stream *stream);
/* Returns whether a stream is in an execution context. */
bool acu_sim_execution_context_has(const acu_sim_execution_context *execution,
                                   const acu_sim_stream *stream);

/* Makes an operation wait for the events that the context of its stream, and a green one, must wait
 * for; returns false without memory. */
bool acu_sim_execution_contexts_order(const acu_sim_stream *stream, acu_sim_op *op);

/* Returns whether all these events are done. */
bool acu_sim_execution_contexts_are_open(const acu_sim_stream *stream);

/* Makes an execution context of all of a context of the driver's, with which it goes; NULL without
 * memory. */
acu_sim_execution_context *acu_sim_execution_context_whole(acu_sim_context *context);

/* Records an event, which is done when all work that is now in the streams is; and makes all later
 * work wait for an event. */
cudaError_t acu_sim_execution_context_record(acu_sim_execution_context *execution,
                                             cudaEvent_t event);
cudaError_t acu_sim_execution_context_wait(acu_sim_execution_context *execution, cudaEvent_t event);

extern const acu_sim_noun acu_sim_execution_context_noun;

#endif
