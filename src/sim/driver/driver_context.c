/*
 * The driver's contexts: a device's primary one, which the runtime uses, and those that programs
 * make besides. What is made while one is current is its own, and goes with it; so are its default
 * streams, limits, and what libraries have there. Memory's addresses and pools are the device's.
 */
#include "sim/caller.h"
#include "sim/code/module.h"
#include "sim/device/context.h"
#include "sim/device/device.h"
#include "sim/driver/driver.h"
#include "sim/memory/array.h"
#include "sim/memory/guard.h"
#include "sim/memory/memory.h"
#include "sim/memory/pool.h"
#include "sim/memory/texture.h"
#include "sim/set.h"
#include "sim/stream/capture.h"
#include "sim/stream/event.h"
#include "sim/stream/execution_context.h"
#include "sim/stream/stream.h"

#include <stdlib.h>

static CUresult leave(cudaError_t result) {
    acu_sim_leave_driver();
    return acu_sim_driver_result(result);
}

/* Enters, and finds the device; `good` is that the other arguments are. */
static cudaError_t enter_device(CUdevice number, bool good, acu_sim_device **device) {
    cudaError_t result = acu_sim_enter_driver(SIM_NEEDS_DRIVER, NULL);
    if (!result && !good)
        result = cudaErrorInvalidValue;
    if (!result && !(*device = acu_sim_device_at(number)))
        result = cudaErrorInvalidDevice;
    return result;
}

/* ---- handles ------------------------------------------------------------------------------------
 */

static CUcontext current(void) {
    const acu_sim_thread *self = acu_sim_self();
    return acu_sim_context_handle(self->context ? self->context
                                                : &acu_sim_device_at(self->device)->own);
}

/* To be made current: CUDA does not see that one has ended, only what is done with it then does. */
static bool is_taken(CUcontext handle) {
    const acu_sim_context *context = acu_sim_context_named(handle);
    return context && (context->made || acu_sim_device_has_primary(context->device));
}

/* ---- the primary context ------------------------------------------------------------------------
 */

/* Whoever does it, it is not the runtime. */
static cudaError_t activate(acu_sim_device *device) {
    bool of_runtime = device->of_runtime;
    cudaError_t result = device->active ? cudaSuccess : acu_sim_device_open(device);
    if (!result)
        result = acu_sim_device_activate(device);
    device->of_runtime = of_runtime;
    return result;
}

CUresult acu_sim_cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev) {
    acu_sim_device *d;
    cudaError_t result = enter_device(dev, pctx != NULL, &d);
    if (!result)
        result = activate(d);
    if (!result) {
        d->retained++;
        *pctx = acu_sim_context_handle(&d->own);
    }
    return leave(result);
}

static void let_go(acu_sim_device *device) {
    if (--device->retained == 0 && !device->of_runtime)
        acu_sim_device_clear(device, false);
}

CUresult acu_sim_cuDevicePrimaryCtxRelease(CUdevice dev) {
    acu_sim_device *d;
    cudaError_t result = enter_device(dev, true, &d);
    if (!result)
        result = acu_sim_may_wait();
    if (!result && !d->retained)
        result = cudaErrorDeviceUninitialized;
    if (!result)
        let_go(d);
    return leave(result);
}

CUresult acu_sim_cuDevicePrimaryCtxReset(CUdevice dev) {
    acu_sim_device *d;
    cudaError_t result = enter_device(dev, true, &d);
    if (!result)
        result = acu_sim_may_wait();
    if (!result)
        acu_sim_device_clear(d, false);
    return leave(result);
}

CUresult acu_sim_cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active) {
    acu_sim_device *d;
    cudaError_t result = enter_device(dev, flags && active, &d);
    if (!result) {
        *flags = d->flags;
        *active = acu_sim_device_has_primary(d);
    }
    return leave(result);
}

static bool are_flags(unsigned flags) {
    unsigned schedule = flags & CU_CTX_SCHED_MASK;
    return !(flags & ~(unsigned)CU_CTX_FLAGS_MASK) &&
           (schedule & (schedule - 1)) == 0; /* one, or automatic */
}

CUresult acu_sim_cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags) {
    acu_sim_device *d;
    cudaError_t result = enter_device(dev, are_flags(flags), &d);
    if (!result)
        d->flags = flags;
    return leave(result);
}

/* ---- the current context ------------------------------------------------------------------------
 */

CUresult acu_sim_cuCtxGetCurrent(CUcontext *pctx) {
    cudaError_t result = acu_sim_enter_driver(SIM_NEEDS_DRIVER, NULL);
    if (!result && !pctx)
        result = cudaErrorInvalidValue;
    if (!result)
        *pctx = acu_sim_self()->bound ? current() : NULL;
    return leave(result);
}

static void make_current(CUcontext handle) {
    acu_sim_thread *self = acu_sim_self();
    acu_sim_context *context = acu_sim_context_named(handle);
    self->bound = context != NULL;
    self->context = context && context->made ? context : NULL;
    if (context)
        self->device = context->device->index;
}

static cudaError_t push(CUcontext handle) {
    acu_sim_thread *self = acu_sim_self();
    if (self->pushed_count == SIM_PUSHED)
        return cudaErrorMemoryAllocation;
    self->pushed[self->pushed_count++] =
        (acu_sim_current){self->device, self->bound, self->context};
    make_current(handle);
    return cudaSuccess;
}

/* Below the last one there is none, but the device that the runtime was told stays. */
static void pop(void) {
    acu_sim_thread *self = acu_sim_self();
    acu_sim_current below = {.device = self->device};
    if (self->pushed_count)
        below = self->pushed[--self->pushed_count];
    self->device = below.device;
    self->bound = below.bound;
    self->context = below.context;
}

CUresult acu_sim_cuCtxSetCurrent(CUcontext ctx) {
    cudaError_t result = acu_sim_enter_driver(SIM_NEEDS_DRIVER, NULL);
    if (!result && ctx && !is_taken(ctx))
        result = cudaErrorDeviceUninitialized;
    if (!result)
        make_current(ctx);
    return leave(result);
}

CUresult acu_sim_cuCtxPushCurrent(CUcontext ctx) {
    cudaError_t result = acu_sim_enter_driver(SIM_NEEDS_DRIVER, NULL);
    if (!result && !is_taken(ctx))
        result = ctx ? cudaErrorDeviceUninitialized : cudaErrorInvalidValue;
    return leave(result ? result : push(ctx));
}

CUresult acu_sim_cuCtxPopCurrent(CUcontext *pctx) {
    cudaError_t result = acu_sim_enter_driver(SIM_NEEDS_DRIVER, NULL);
    if (!result && !acu_sim_self()->bound)
        result = cudaErrorDeviceUninitialized;
    if (!result && pctx)
        *pctx = current();
    if (!result)
        pop();
    return leave(result);
}

/* ---- contexts that programs make ----------------------------------------------------------------
 */

void acu_sim_context_drop(acu_sim_context *context) {
    acu_sim_stream_wait_context(context);
    if (context->made && !acu_sim_context_lives(context)) /* the lock was given up */
        return;
    acu_sim_streams_drop(context);
    acu_sim_execution_context_whole_drop(context);
    acu_sim_events_drop(context);
    acu_sim_modules_drop(context);
    acu_sim_textures_drop(context);
    acu_sim_arrays_drop(context);
    acu_sim_memory_drop_context(context);
}

static cudaError_t create(acu_sim_device *device, unsigned flags, const void *where,
                          CUcontext *handle) {
    acu_sim_context *made = NULL;
    cudaError_t result = acu_sim_context_new(device, flags, where, &made);
    if (result)
        return result;
    *handle = acu_sim_context_handle(made);
    return push(*handle);
}

/* `why`: not, because of what else was asked for. */
static CUresult create_context(CUcontext *pctx, cudaError_t why, unsigned flags, CUdevice dev,
                               const void *where) {
    acu_sim_device *d;
    cudaError_t result = enter_device(dev, pctx && are_flags(flags), &d);
    if (!result)
        result = why;
    if (!result && acu_sim_self()->pushed_count == SIM_PUSHED)
        result = cudaErrorMemoryAllocation;
    return leave(result ? result : create(d, flags, where, pctx));
}

CUresult acu_sim_cuCtxCreate(CUcontext *pctx, CUctxCreateParams *ctxCreateParams,
                             unsigned int flags, CUdevice dev) {
    const CUctxCreateParams *p = ctxCreateParams;
    cudaError_t why = p && p->numExecAffinityParams ? cudaErrorUnsupportedExecAffinity
                      : p && p->cigParams           ? cudaErrorNotSupported
                                                    : cudaSuccess;
    return create_context(pctx, why, flags, dev, SIM_CALLER);
}

CUresult acu_sim_cuCtxCreate_v2(CUcontext *handle, unsigned flags, CUdevice device) {
    return create_context(handle, cudaSuccess, flags, device, SIM_CALLER);
}

CUresult acu_sim_cuCtxCreate_v3(CUcontext *handle, CUexecAffinityParam *params, int count,
                                unsigned flags, CUdevice device) {
    (void)params;
    return create_context(handle, count ? cudaErrorUnsupportedExecAffinity : cudaSuccess, flags,
                          device, SIM_CALLER);
}

/* In the stacks of other threads it stays. The last one on a device takes along what all have. */
static void destroy(acu_sim_context *context) {
    acu_sim_device *device = context->device;
    acu_sim_stream_wait_device(device); /* also for the work of other contexts */
    acu_sim_context_drop(context);
    if (context->ended) /* by another thread, meanwhile */
        return;
    if (acu_sim_self()->context == context)
        pop();
    context->ended = true;
    if (!acu_sim_device_has_primary(device) && !acu_sim_contexts_are_on(device))
        acu_sim_device_clear(device, false);
}

/* A primary context is not the caller's to destroy. */
CUresult acu_sim_cuCtxDestroy(CUcontext ctx) {
    cudaError_t result = acu_sim_enter_driver(SIM_NEEDS_DRIVER, NULL);
    acu_sim_context *context = acu_sim_context_of(ctx);
    if (!result && (!context || !context->made))
        result = ctx ? cudaErrorDeviceUninitialized : cudaErrorInvalidValue;
    if (!result)
        result = acu_sim_may_wait();
    if (!result)
        destroy(context);
    return leave(result);
}

/* ---- what a context is --------------------------------------------------------------------------
 */

/* Enters, and finds the context, the current one if there is none. */
static cudaError_t enter_context(CUcontext ctx, bool good, acu_sim_context **context) {
    cudaError_t result = acu_sim_enter_driver(ctx ? SIM_NEEDS_DRIVER : SIM_NEEDS_CONTEXT, NULL);
    *context = !result && ctx ? acu_sim_context_of(ctx) : acu_sim_context_now();
    if (!result && !*context)
        result = cudaErrorDeviceUninitialized;
    if (!result && !good)
        result = cudaErrorInvalidValue;
    return result;
}

CUresult acu_sim_cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx) {
    acu_sim_context *context;
    cudaError_t result = enter_context(ctx, device != NULL, &context);
    if (!result)
        *device = context->device->index;
    return leave(result);
}

CUresult acu_sim_cuCtxGetDevice(CUdevice *device) {
    return acu_sim_cuCtxGetDevice_v2(device, NULL);
}

CUresult acu_sim_cuCtxGetApiVersion(CUcontext ctx, unsigned int *version) {
    acu_sim_context *context;
    cudaError_t result = enter_context(ctx, version != NULL, &context);
    if (!result)
        *version = 3020; /* since when contexts are what they are */
    return leave(result);
}

/* One that was made says what it was made with. */
CUresult acu_sim_cuCtxGetFlags(unsigned int *flags) {
    acu_sim_context *context;
    cudaError_t result = enter_context(NULL, flags != NULL, &context);
    if (!result)
        *flags = context->made ? context->flags
                               : context->device->flags | CU_CTX_MAP_HOST |
                                     (context->device->keeps_local ? CU_CTX_LMEM_RESIZE_TO_MAX : 0);
    return leave(result);
}

CUresult acu_sim_cuCtxSetFlags(unsigned int flags) {
    acu_sim_context *context;
    cudaError_t result = enter_context(NULL, are_flags(flags), &context);
    if (!result)
        *(context->made ? &context->flags : &context->device->flags) = flags;
    return leave(result);
}

CUresult acu_sim_cuCtxGetId(CUcontext ctx, unsigned long long *ctxId) {
    acu_sim_context *context;
    cudaError_t result = enter_context(ctx, ctxId != NULL, &context);
    if (!result)
        *ctxId = context->id;
    return leave(result);
}

CUresult acu_sim_cuCtxSynchronize_v2(CUcontext ctx) {
    acu_sim_context *context;
    cudaError_t result = enter_context(ctx, true, &context);
    if (!result)
        result = acu_sim_may_wait();
    if (!result) {
        const acu_sim_device *device = context->device;
        result = acu_sim_capture_allows_context(context);
        if (result)
            return leave(result);
        acu_sim_stream_wait_context(context);
        acu_sim_pools_trim();
        acu_sim_guard_check();
        result = device->sticky;
    }
    return leave(result);
}

CUresult acu_sim_cuCtxSynchronize(void) {
    BY_RUNTIME(SIM_NEEDS_CONTEXT, acu_sim_cudaDeviceSynchronize());
}

CUresult acu_sim_cuCtxGetLimit(size_t *pvalue, CUlimit limit) {
    BY_RUNTIME(SIM_NEEDS_CONTEXT, acu_sim_cudaDeviceGetLimit(pvalue, (enum cudaLimit)limit));
}

CUresult acu_sim_cuCtxSetLimit(CUlimit limit, size_t value) {
    BY_RUNTIME(SIM_NEEDS_CONTEXT, acu_sim_cudaDeviceSetLimit((enum cudaLimit)limit, value));
}

CUresult acu_sim_cuCtxGetCacheConfig(CUfunc_cache *pconfig) {
    BY_RUNTIME(SIM_NEEDS_CONTEXT,
               acu_sim_cudaDeviceGetCacheConfig((enum cudaFuncCache *)(void *)pconfig));
}

CUresult acu_sim_cuCtxSetCacheConfig(CUfunc_cache config) {
    BY_RUNTIME(SIM_NEEDS_CONTEXT, acu_sim_cudaDeviceSetCacheConfig((enum cudaFuncCache)config));
}

CUresult acu_sim_cuCtxGetSharedMemConfig(CUsharedconfig *pConfig) {
    BY_RUNTIME(SIM_NEEDS_CONTEXT,
               acu_sim_cudaDeviceGetSharedMemConfig((enum cudaSharedMemConfig *)(void *)pConfig));
}

CUresult acu_sim_cuCtxSetSharedMemConfig(CUsharedconfig config) {
    BY_RUNTIME(SIM_NEEDS_CONTEXT,
               acu_sim_cudaDeviceSetSharedMemConfig((enum cudaSharedMemConfig)config));
}

CUresult acu_sim_cuCtxResetPersistingL2Cache(void) {
    BY_RUNTIME(SIM_NEEDS_CONTEXT, acu_sim_cudaCtxResetPersistingL2Cache());
}

CUresult acu_sim_cuCtxGetStreamPriorityRange(int *leastPriority, int *greatestPriority) {
    BY_RUNTIME(SIM_NEEDS_CONTEXT,
               acu_sim_cudaDeviceGetStreamPriorityRange(leastPriority, greatestPriority));
}

/* A peer's context stands for its device. */
static int peer_of(CUcontext handle) {
    const acu_sim_device *device = acu_sim_context_device(handle);
    return device ? device->index : -1;
}

static CUresult as_context(CUresult result) {
    return result == CUDA_ERROR_INVALID_DEVICE ? CUDA_ERROR_INVALID_CONTEXT : result;
}

CUresult acu_sim_cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags) {
    CUresult why = acu_sim_begin(SIM_NEEDS_CONTEXT);
    return why ? why
               : as_context(
                     acu_sim_end(acu_sim_cudaDeviceEnablePeerAccess(peer_of(peerContext), Flags)));
}

CUresult acu_sim_cuCtxDisablePeerAccess(CUcontext peerContext) {
    CUresult why = acu_sim_begin(SIM_NEEDS_CONTEXT);
    return why ? why
               : as_context(acu_sim_end(acu_sim_cudaDeviceDisablePeerAccess(peer_of(peerContext))));
}
