/*
 * Host functions in streams, and faults that a test asks for.
 *
 * CUDA calls the host functions and callbacks of all streams one after the other. In the simulator
 * a stream's thread, which has nothing else to do, calls them itself, if no other one of the device
 * is being called. Else, and where other work must go on meanwhile, they are queued for a thread of
 * the device.
 */
#include "sim/stream/host_function.h"

#include "sim/device/device.h"
#include "sim/device/need.h"
#include "sim/stream/capture.h"
#include "sim/stream/op.h"
#include "sim/stream/stream.h"

/* ---- calling ---- */

/* The caller of host functions of each device. */
static struct caller {
    acu_sim_device *device;   /* NULL: there is no thread yet */
    bool busy;                /* a host function is being called */
    acu_sim_op *first, *last; /* queued, linked by `next_called` */
    pthread_cond_t wake;      /* for the thread */
} callers[SIM_DEVICES];

static void call_now(struct caller *caller, acu_sim_op *op) {
    caller->busy = true;
    acu_sim_op_run(caller->device, op);
    caller->busy = false;
}

static void *call_queued(void *data) {
    struct caller *caller = data;
    pthread_mutex_lock(&acu_sim_lock);
    for (;;) {
        acu_sim_op *op = caller->first;
        if (!op || caller->busy || acu_sim_is_unloading()) {
            pthread_cond_wait(&caller->wake, &acu_sim_lock);
            continue;
        }
        caller->first = op->next_called;
        call_now(caller, op);
        acu_sim_op_release(op);
    }
    return NULL;
}

bool acu_sim_host_function_start(acu_sim_device *device) {
    struct caller *caller = &callers[device->index];
    if (caller->device)
        return true;
    if (pthread_cond_init(&caller->wake, NULL))
        return false;
    caller->device = device;
    if (acu_sim_stream_thread_start(call_queued, caller))
        return true;
    caller->device = NULL;
    pthread_cond_destroy(&caller->wake);
    return false;
}

void acu_sim_host_function_queue(acu_sim_device *device, acu_sim_op *op) {
    struct caller *caller = &callers[device->index];
    op->refs++;
    op->next_called = NULL;
    if (caller->first)
        caller->last->next_called = op;
    else
        caller->first = op;
    caller->last = op;
    pthread_cond_signal(&caller->wake);
}

bool acu_sim_host_function_here(acu_sim_device *device, acu_sim_op *op) {
    struct caller *caller = &callers[device->index];
    if (caller->busy || caller->first)
        return false;
    call_now(caller, op);
    if (caller->first)
        pthread_cond_signal(&caller->wake);
    return true;
}

/* ---- host functions ---- */

static cudaError_t call_host(acu_sim_op *op) {
    acu_sim_thread *self = acu_sim_self();
    self->in_callback = true;
    if (op->with.host.callback)
        op->with.host.callback(op->with.host.handle, op->status, op->with.host.data);
    else
        op->with.host.fn(op->with.host.data);
    self->in_callback = false;
    return cudaSuccess;
}

acu_sim_op *acu_sim_host_function_op(cudaHostFn_t fn, void *data) {
    acu_sim_op *op = acu_sim_op_new(cudaGraphNodeTypeHost, call_host);
    if (op) {
        op->with.host.fn = fn;
        op->with.host.data = data;
    }
    return op;
}

static cudaError_t launch_host(cudaStream_t stream, cudaHostFn_t fn, cudaStreamCallback_t callback,
                               void *data, unsigned flags, unsigned allowed) {
    acu_sim_stream *s = NULL;
    cudaError_t why = acu_sim_require(SIM_NEEDS_CONTEXT);
    if (!why)
        why = acu_sim_stream_usable(stream, &s);
    if (!why && allowed)
        why = acu_sim_driver_has(&acu_function_cuLaunchHostFunc_v2);
    /* CUDA reports a mistake in the arguments before the fault that ended the context. */
    const bool faulted = why && why == acu_sim_device_now()->sticky;
    if ((!why || faulted) && ((!fn && !callback) || flags > allowed))
        return cudaErrorInvalidValue;
    SIM_TRY(why);
    if (callback)
        SIM_TRY(acu_sim_capture_allows(s, SIM_REFUSES));
    acu_sim_op *op = acu_sim_host_function_op(fn, data);
    if (!op)
        return cudaErrorMemoryAllocation;
    op->with.host.callback = callback;
    op->with.host.mode = callback ? 0 : flags;
    op->with.host.handle = acu_sim_stream_handle(stream);
    op->always = callback != NULL;
    return acu_sim_stream_submit(s, op, false);
}

cudaError_t acu_sim_cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *userData) {
    return launch_host(stream, fn, NULL, userData, 0, 0);
}

cudaError_t acu_sim_cudaLaunchHostFunc_v2(cudaStream_t stream, cudaHostFn_t fn, void *userData,
                                          unsigned int syncMode) {
    return launch_host(stream, fn, NULL, userData, syncMode, cudaHostTaskSpinWait);
}

cudaError_t acu_sim_cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
                                          void *userData, unsigned int flags) {
    return launch_host(stream, NULL, callback, userData, flags, 0);
}

/* ---- faults for tests ---- */

static cudaError_t fault(acu_sim_op *op) {
    return op->with.code;
}

static cudaError_t submit_fault(cudaStream_t stream, cudaError_t code) {
    acu_sim_stream *s;
    SIM_TRY(acu_sim_stream_usable(stream, &s));
    SIM_TRY(acu_sim_capture_allows(s, SIM_REFUSES));
    acu_sim_op *op = acu_sim_op_new(cudaGraphNodeTypeKernel, fault);
    if (!op)
        return cudaErrorMemoryAllocation;
    op->with.code = code;
    return acu_sim_stream_submit(s, op, false);
}

int acu_sim_fault(void *stream, int code) {
    acu_sim_call call = {.caller = __builtin_return_address(0)};
    acu_sim_call_begin(&call);
    cudaError_t result = acu_sim_require(SIM_NEEDS_CONTEXT);
    return (int)acu_sim_call_end(&call, result ? result : submit_fault(stream, (cudaError_t)code));
}
