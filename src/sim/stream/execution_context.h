/* Execution contexts, and the processors of a device that they have. */
#ifndef ACU_SIM_STREAM_EXECUTION_CONTEXT_H
#define ACU_SIM_STREAM_EXECUTION_CONTEXT_H

#include "sim/noun.h"
#include "sim/sim.h"
#include "sim/device/device_resource.h"

/* A device's own, or a green one: some of its processors, and streams that use only these. Or all
 * of a context that the driver made. */
struct acu_sim_execution_context {
    acu_sim_device *device;
    unsigned long long id;
    bool is_primary;          /* the device's own: also the green ones' streams are in it */
    acu_sim_context *context; /* whose streams it has; NULL: it is green */
    acu_sim_processors processors;
    struct cudaDevWorkqueueConfigResource queues;
    acu_sim_op *gate; /* never submitted: it waits for what later work waits for; may be NULL */
    acu_sim_stream *records; /* where its events are recorded; NULL: none was */
    const void *where;
    acu_sim_execution_context *next;
};

/* NULL if there is none. */
acu_sim_execution_context *acu_sim_execution_context_of(cudaExecutionContext_t handle);

/* The device's own; made with it. */
acu_sim_execution_context *acu_sim_execution_context_primary(acu_sim_device *device);

/* The one that a stream was made in. */
acu_sim_execution_context *acu_sim_execution_context_of_stream(const acu_sim_stream *stream);
bool acu_sim_execution_context_has(const acu_sim_execution_context *execution,
                                   const acu_sim_stream *stream);

/* Puts an operation behind what its context, and the green one in that, were told to wait for;
 * false: no memory. */
bool acu_sim_execution_contexts_order(const acu_sim_stream *stream, acu_sim_op *op);

/* There is nothing that an operation would wait for. */
bool acu_sim_execution_contexts_are_open(const acu_sim_stream *stream);

/* All of a context of the driver's, with which it goes; NULL without memory. */
acu_sim_execution_context *acu_sim_execution_context_whole(acu_sim_context *context);

/* Inside of a call: the event is all that there is in the context now; the context waits for it. */
cudaError_t acu_sim_execution_context_record(acu_sim_execution_context *execution,
                                             cudaEvent_t event);
cudaError_t acu_sim_execution_context_wait(acu_sim_execution_context *execution, cudaEvent_t event);

extern const acu_sim_noun acu_sim_execution_context_noun;

#endif
