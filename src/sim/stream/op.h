/* Operations: the work that a stream does once, or a node of a graph many times. */
#ifndef ACU_SIM_STREAM_OP_H
#define ACU_SIM_STREAM_OP_H

#include "sim/sim.h"

/*
 * What is done once, in a stream, or, shared by nodes of graphs and by what was instantiated from
 * them, many times; then it is not changed any more.
 */
struct acu_sim_op {
    unsigned refs;
    enum cudaGraphNodeType type; /* what it is as a node: which of `with` it has */
    unsigned wanted;             /* how many wait for it, where there is a seed */
    bool done, taken;            /* taken: the thread that made it runs it itself */
    uint64_t ns;                 /* when it was done */
    acu_sim_stream *stream;
    acu_sim_op *next, *next_called; /* in the stream; among what the host is to be called for */
    acu_sim_op **waits;             /* what must be done before */
    size_t wait_count, wait_room;
    bool any;                             /* one of them is enough */
    bool unfinished;                      /* it is to be run again, once it is ready */
    bool (*is_due)(const acu_sim_op *op); /* more that must be so before; NULL: nothing */
    cudaError_t (*run)(acu_sim_op *op);   /* NULL: nothing but the order. Outside the lock. */
    bool always;                          /* also where the context is lost */
    cudaError_t status;                   /* of the context, when it ran */
    void (*over)(acu_sim_op *op);         /* of one without a stream: it was run; under the lock */
    void (*drop)(acu_sim_op *op);         /* gives up what it has; under the lock */
    void *staged;                         /* a copy of what a pageable source held */
    cudaExecutionContext_t
        execution_context; /* of a node: the one that was named; NULL: none was */
    union {
        struct {
            struct cudaMemcpy3DParms params;
            bool in_bytes; /* its x and width, also in arrays */
            /* The memory was CUDA's when this was judged; it must still be when it is done. */
            bool knew_to, knew_from;
        } copy;
        struct {
            struct cudaMemsetParams params;
        } fill;
        acu_sim_event *event;
        struct {
            cudaGraphConditionalHandle handle;
            enum cudaGraphConditionalNodeType type;
        } condition;
        acu_sim_graph_launch *graph_launch; /* a launch of a graph */
        struct {
            cudaHostFn_t fn;
            cudaStreamCallback_t callback;
            cudaStream_t handle;
            void *data;
            acu_sim_graph_launch *graph_launch; /* whose step it is; NULL: a stream's */
            unsigned step;
        } host;
        struct {
            void *at;
            uint64_t value;
            bool wide; /* of 8 bytes */
            unsigned flags;
            const acu_sim_device *device; /* that waits for it, or writes it */
        } value;
        acu_sim_values *values;
        acu_sim_range *range;
        acu_sim_allocation *allocation;
        acu_sim_kernel_launch *launch;
        acu_sim_batch *batch;
        acu_sim_semaphores *semaphores;
        struct {
            acu_sim_op *wait; /* a graph's, which this says is over */
            acu_sim_op *next;
        } awaited;
        cudaError_t code;
    } with;
};

/* A new operation, not yet in a stream; NULL without memory. Given up by acu_sim_stream_submit().
 */
acu_sim_op *acu_sim_op_new(enum cudaGraphNodeType type, cudaError_t (*run)(acu_sim_op *op));
bool acu_sim_op_after(acu_sim_op *op, acu_sim_op *before);
void acu_sim_op_release(acu_sim_op *op);

/* An operation that is in no stream is done now. */
void acu_sim_op_finish(acu_sim_op *op);

#endif
