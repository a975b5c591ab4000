/* Captures: which streams take part, and what they allow. */
#ifndef ACU_SIM_STREAM_CAPTURE_H
#define ACU_SIM_STREAM_CAPTURE_H

#include "sim/noun.h"
#include "sim/stream/edge_list.h"

/* What a capture does with the work of its streams. Graphs implement it. */
typedef struct acu_sim_capture_calls {
    /* Makes a node of the operation, which it takes. */
    cudaError_t (*add)(acu_sim_stream *stream, acu_sim_op *op);
    /* Allocates and frees memory of the graph. */
    cudaError_t (*alloc)(acu_sim_stream *stream, const struct cudaMemPoolProps *props, size_t size,
                         void **at);
    cudaError_t (*free)(acu_sim_stream *stream, void *at);
    /* Ends the capture without a result. */
    void (*abandon)(acu_sim_capture *capture);
} acu_sim_capture_calls;

struct acu_sim_capture {
    unsigned refs; /* one while the capture goes on, and one for each event that refers to it */
    unsigned long long id;
    enum cudaStreamCaptureStatus status; /* None: the capture has ended */
    enum cudaStreamCaptureMode mode;
    uint64_t thread; /* the id of the thread that began the capture */
    const acu_sim_capture_calls *calls;
    acu_sim_graph *graph;
    bool into;               /* the graph was there before the capture */
    bool again;              /* the nodes of the graph are captured once more */
    size_t next_node, limit; /* with `again`: the ids of the node that comes next, and of the end */
    struct cudaGraphRecaptureCallbackData asked; /* with `again`: the program's callback, or none */
    acu_sim_stream *origin;                      /* the stream on which the capture began */
    acu_sim_stream *streams; /* all streams of the capture, linked by `next_captured` */
    acu_sim_edge_list lost;  /* capture dependencies of streams that were destroyed */
    acu_sim_capture *next;   /* all captures under way */
};

/* What is about to be done with a stream. */
typedef enum acu_sim_use {
    SIM_LOOKS,    /* the call asks about the capture itself */
    SIM_ENQUEUES, /* the call gives work that a capture takes */
    SIM_REFUSES,  /* the call gives work that no capture takes */
    SIM_WAITS,    /* the host waits for the work of the stream, or asks about it */
} acu_sim_use;

/* Returns whether a capture allows something: cudaSuccess, or the error. A capture that does not
 * allow it is invalid from then on, except with SIM_LOOKS. */
cudaError_t acu_sim_capture_allows(acu_sim_stream *stream, acu_sim_use use);
/* Return cudaSuccess where captures allow to wait for a whole context, or execution context; else
 * the error. */
cudaError_t acu_sim_capture_allows_context(const acu_sim_context *context);
cudaError_t acu_sim_capture_allows_execution_context(const acu_sim_execution_context *execution);
/* Returns cudaSuccess where captures allow calls that CUDA calls unsafe in them, like cudaMalloc();
 * else the error. */
cudaError_t acu_sim_capture_allows_unsafe(void);
/* Returns the error of asking about an event that was recorded in a capture; `looks`: about its
 * time only, which leaves the capture valid. */
cudaError_t acu_sim_capture_refuse(acu_sim_capture *capture, bool looks);

/* Hands an operation, an allocation or a free on a captured stream to the capture's graph. */
cudaError_t acu_sim_capture_add(acu_sim_stream *stream, acu_sim_op *op);
cudaError_t acu_sim_capture_alloc(acu_sim_stream *stream, const struct cudaMemPoolProps *props,
                                  size_t size, void **at);
cudaError_t acu_sim_capture_free(acu_sim_stream *stream, void *at);

/* Records an event on a captured stream; lets a stream wait where it or the event is captured. */
cudaError_t acu_sim_capture_record(const acu_sim_stream *stream, acu_sim_event *event);
cudaError_t acu_sim_capture_wait(acu_sim_stream *stream, const acu_sim_event *event);

/* Takes a stream, or an event, that is about to be destroyed out of its capture. */
void acu_sim_capture_forget_stream(acu_sim_stream *stream);
void acu_sim_capture_forget_event(acu_sim_event *event);

/* Returns the first capture under way; the others follow by `next`. */
acu_sim_capture *acu_sim_capture_first(void);
/* Begins a capture, whose other fields are set, on a stream. */
void acu_sim_capture_begin(acu_sim_capture *capture, acu_sim_stream *stream);
/* Frees the streams of a capture and gives up its own reference. */
void acu_sim_capture_end(acu_sim_capture *capture);
/* Adds a stream to a capture. */
void acu_sim_capture_join(acu_sim_capture *capture, acu_sim_stream *stream);
/* Makes a capture invalid; it must still be ended. */
void acu_sim_capture_invalidate(acu_sim_capture *capture);
/* Gives a reference up; NULL is fine. */
void acu_sim_capture_release(acu_sim_capture *capture);

extern const acu_sim_noun acu_sim_capture_noun;

#endif
