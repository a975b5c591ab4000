/* Operations: the work that a stream does once, or a node of a graph many times. */
#ifndef ACU_SIM_STREAM_OP_H
#define ACU_SIM_STREAM_OP_H

#include "sim/sim.h"

/*
 * An operation is in one stream and is done once; or it belongs to nodes of graphs and executable
 * graphs, which share it, and is done many times, and then it is never changed. In a launch of such
 * a graph, some steps have an operation of their own, which is in no stream (graph/plan.h).
 */
struct acu_sim_op {
    unsigned refs;
    enum cudaGraphNodeType type; /* the type as a node, and which member of `with` is used */
    unsigned wanted;             /* threads that wait for it; counted with a seed only */
    bool done;
    bool taken;                     /* a thread runs it, or a host function is queued */
    uint64_t ns;                    /* when it was done, in nanoseconds; only if `run` is NULL */
    acu_sim_stream *stream;         /* NULL: none */
    acu_sim_op *next, *next_called; /* in the stream; among queued host functions */
    acu_sim_op **waits;             /* operations that must be done before */
    size_t wait_count, wait_room;
    bool any;        /* it is enough that one of `waits` is done */
    bool unfinished; /* set by `run`: the operation is run again, once it is ready */
    /* Returns whether another condition for running is met; under the lock. NULL: there is none. A
     * change may come without a call, so the condition is checked every millisecond. */
    bool (*is_due)(const acu_sim_op *op);
    cudaError_t (*run)(acu_sim_op *op); /* the work, without the lock; NULL: there is none */
    bool always;                        /* it is run in a lost context, too */
    bool calls_program;                 /* it is a kernel that is a function of the program */
    acu_sim_shared_event *records;      /* the shared event that it records; NULL: none */
    uint64_t record;                    /* the number of that record */
    cudaError_t status;                 /* the fault of the context before the run */
    void (*over)(acu_sim_op *op); /* called after the run if there is no stream; under the lock */
    void (*drop)(acu_sim_op *op); /* frees what `with` owns, under the lock; NULL: nothing */
    void *staged;                 /* a copy of a pageable source; or NULL */
    cudaExecutionContext_t execution_context; /* the one that a node names; NULL: none */
    union {
        struct {
            struct cudaMemcpy3DParms params;
            bool in_bytes;  /* x and width are bytes, also in arrays */
            bool in_blocks; /* an array is compressed: what is counted in texels copies blocks */
            /* CUDA knew the memory when the copy was validated, so it must when the copy runs. */
            bool knew_to, knew_from;
        } copy;
        struct {
            struct cudaMemsetParams params;
            const acu_sim_device *device; /* that writes */
        } fill;
        acu_sim_event *event;
        struct {
            acu_sim_shared_event *shared;
            uint64_t number; /* of the record that is waited for */
        } awaited_event;
        struct {
            cudaGraphConditionalHandle handle;
            enum cudaGraphConditionalNodeType type;
        } condition;
        acu_sim_graph_launch *graph_launch; /* NULL once the launch has run */
        struct {
            cudaHostFn_t fn;
            cudaStreamCallback_t callback;
            cudaStream_t handle;
            void *data;
            unsigned mode;                      /* cudaHostTaskSyncMode; nothing differs by it */
            acu_sim_graph_launch *graph_launch; /* NULL: the operation is in a stream */
            unsigned step;                      /* of the graph launch */
        } host;
        struct {
            void *at; /* an address of the device */
            uint64_t value;
            bool wide; /* the value has 8 bytes, not 4 */
            unsigned flags;
            const acu_sim_device *device; /* that waits or writes */
        } value;
        acu_sim_values *values;
        acu_sim_range *range;
        acu_sim_allocation *allocation;
        acu_sim_kernel_launch *launch;
        acu_sim_batch *batch;
        acu_sim_semaphores *semaphores;
        struct acu_sim_array_changes *array_changes;
        struct {
            acu_sim_op *wait; /* the mark of a graph launch, which ends with this operation */
            acu_sim_op *next;
        } awaited;
        cudaError_t code; /* of acu_sim_fault() */
    } with;
};

/* Returns an operation that is in no stream, with one reference, which acu_sim_stream_submit()
 * gives up; NULL without memory. */
acu_sim_op *acu_sim_op_new(enum cudaGraphNodeType type, cudaError_t (*run)(acu_sim_op *op));
/* Makes an operation wait for another, unless that is NULL or done; returns false without memory.
 */
bool acu_sim_op_after(acu_sim_op *op, acu_sim_op *before);
/* Forgets what the operation waits for. */
void acu_sim_op_forget_waits(acu_sim_op *op);
/* Returns whether all that the operation waits for is done. */
bool acu_sim_op_is_ready(const acu_sim_op *op);
/* Gives a reference up; NULL is fine. */
void acu_sim_op_release(acu_sim_op *op);

/* Records that an operation is done, and wakes what waits for it. */
void acu_sim_op_finish(acu_sim_op *op);

#endif
