/* What streams and events ask of a capture. */
#ifndef ACU_SIM_STREAM_CAPTURE_H
#define ACU_SIM_STREAM_CAPTURE_H

#include "sim/sim.h"

/* What is about to be done with a stream. */
typedef enum acu_sim_use {
    SIM_LOOKS,    /* at the capture itself */
    SIM_ENQUEUES, /* what a capture takes */
    SIM_REFUSES,  /* what no capture takes */
    SIM_WAITS,    /* the host waits for its work, or asks after it; or does as if */
} acu_sim_use;

/* Why not, because of a capture; then that is invalid from now on, unless one only looked. */
cudaError_t acu_sim_capture_allows(acu_sim_stream *stream, acu_sim_use use);

/* The same for what waits for a context, or an execution context, as a whole. */
cudaError_t acu_sim_capture_allows_context(const acu_sim_context *context);
cudaError_t acu_sim_capture_allows_execution_context(const acu_sim_execution_context *context);

/* The same for calls that a capture would not see, like cudaMalloc(). */
cudaError_t acu_sim_capture_allows_unsafe(void);

/* The same for asking after an event that was recorded in it; `looks`: for its time. */
cudaError_t acu_sim_capture_refuse(acu_sim_capture *capture, bool looks);

/* The graph that the stream is captured into; NULL: none. */
acu_sim_graph *acu_sim_capture_graph(const acu_sim_stream *stream);

/* What a graph that is captured again does next, if it is of that type; else NULL. */
acu_sim_op *acu_sim_capture_expects(const acu_sim_stream *stream, enum cudaGraphNodeType type);

/* Makes a node of the operation, which it takes. `node` may be NULL. */
cudaError_t acu_sim_capture_add(acu_sim_stream *stream, acu_sim_op *op, acu_sim_node **node);

/* What recording means on a stream that is captured, and waiting where one of both is. */
cudaError_t acu_sim_capture_record(const acu_sim_stream *stream, acu_sim_event *event);
cudaError_t acu_sim_capture_wait(acu_sim_stream *stream, const acu_sim_event *event);

/* The stream, the event, is going. */
void acu_sim_capture_forget_stream(acu_sim_stream *stream);
void acu_sim_capture_forget_event(acu_sim_event *event);
void acu_sim_captures_reset(acu_sim_device *device);

#endif
