/*
 * The driver API's contexts: a device's primary one, which the runtime uses, and those that
 * programs create. What a program creates belongs to the context that is current then, and is
 * released with it; so are its default streams, its limits and the modules of libraries. Addresses
 * of memory and pools belong to the device.
 */
#include "sim/caller.h"
#include "sim/code/module.h"
#include "sim/device/context.h"
#include "sim/device/device.h"
#include "sim/device/need.h"
#include "sim/driver/driver.h"
#include "sim/memory/array.h"
#include "sim/memory/guard.h"
#include "sim/memory/memory.h"
#include "sim/memory/range.h"
#include "sim/memory/texture.h"
#include "sim/noun.h"
#include "sim/set.h"
#include "sim/stream/capture.h"
#include "sim/stream/event.h"
#include "sim/stream/execution_context.h"
#include "sim/stream/stream.h"

#include <stdlib.h>

/* ---- handles ---- */

static CUcontext current_handle(void) {
    const acu_sim_thread *self = acu_sim_self();
    return acu_sim_context_handle(self->context ? self->context
                                                : &acu_sim_device_at(self->device)->own);
}

/* Returns whether a context can be made current. One that has ended can be, and a primary one that
 * nobody uses: only the calls that then use it are refused. */
static bool is_accepted(CUcontext handle) {
    return acu_sim_context_named(handle) != NULL;
}

/* ---- the primary context ---- */

cudaError_t acu_sim_cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev) {
    acu_sim_device *d;
    SIM_TRY(acu_sim_driver_find_device(dev, pctx != NULL, &d));
    SIM_TRY(acu_sim_device_activate(d));
    d->retained++;
    *pctx = acu_sim_context_handle(&d->own);
    return cudaSuccess;
}

static void release(acu_sim_device *device) {
    if (--device->retained == 0 && !device->of_runtime)
        acu_sim_device_clear(device, false);
}

cudaError_t acu_sim_cuDevicePrimaryCtxRelease(CUdevice dev) {
    acu_sim_device *d;
    SIM_TRY(acu_sim_driver_find_device(dev, true, &d));
    SIM_TRY(acu_sim_may_wait());
    if (!d->retained)
        return cudaErrorDeviceUninitialized;
    release(d);
    return cudaSuccess;
}

cudaError_t acu_sim_cuDevicePrimaryCtxReset(CUdevice dev) {
    acu_sim_device *d;
    SIM_TRY(acu_sim_driver_find_device(dev, true, &d));
    SIM_TRY(acu_sim_may_wait());
    acu_sim_device_clear(d, false);
    return cudaSuccess;
}

cudaError_t acu_sim_cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active) {
    acu_sim_device *d;
    SIM_TRY(acu_sim_driver_find_device(dev, flags && active, &d));
    *flags = d->flags;
    *active = acu_sim_device_has_primary(d);
    return cudaSuccess;
}

static bool are_flags(unsigned flags) {
    unsigned schedule = flags & CU_CTX_SCHED_MASK;
    return !(flags & ~(unsigned)CU_CTX_FLAGS_MASK) &&
           (schedule & (schedule - 1)) == 0; /* one, or automatic */
}

cudaError_t acu_sim_cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags) {
    acu_sim_device *d;
    SIM_TRY(acu_sim_driver_find_device(dev, are_flags(flags), &d));
    d->flags = flags;
    return cudaSuccess;
}

/* ---- the current context ---- */

cudaError_t acu_sim_cuCtxGetCurrent(CUcontext *pctx) {
    if (!pctx)
        return cudaErrorInvalidValue;
    *pctx = acu_sim_self()->bound ? current_handle() : NULL;
    return cudaSuccess;
}

static void make_current(CUcontext handle) {
    acu_sim_thread *self = acu_sim_self();
    acu_sim_context *context = acu_sim_context_named(handle);
    self->bound = context != NULL;
    self->context = context && context->made ? context : NULL;
    if (context)
        self->device = context->device->index;
}

/* Makes the context current during the call, if it is there and the thread has none. */
static void borrow(const acu_sim_context *context) {
    if (context && !acu_sim_self()->bound) {
        acu_sim_call_keep_current();
        make_current(acu_sim_context_handle(context));
    }
}

cudaError_t acu_sim_require_with_stream(acu_sim_need need, CUstream handle) {
    const acu_sim_stream *stream = acu_sim_stream_named((cudaStream_t)handle);
    if ((uintptr_t)handle <= (uintptr_t)CU_STREAM_PER_THREAD) /* host functions have no context */
        acu_sim_self()->call.in_host_functions = false;
    borrow(stream ? stream->context : NULL);
    return acu_sim_require_by_driver(need);
}

cudaError_t acu_sim_require_with_event(acu_sim_need need, CUevent handle) {
    const acu_sim_event *event = acu_sim_event_of((cudaEvent_t)handle);
    borrow(event ? event->context : NULL);
    return acu_sim_require_by_driver(need);
}

cudaError_t acu_sim_require_with_memory(acu_sim_need need, CUdeviceptr memory) {
    const acu_sim_range *range = acu_sim_range_of(acu_sim_driver_pointer(memory));
    borrow(range ? range->context : NULL);
    return acu_sim_require_by_driver(acu_sim_self()->bound ? need : SIM_NEEDS_DRIVER);
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

/* Makes the context below the current one the thread's; below the last one is none, but the
 * runtime's current device stays. */
static void pop(void) {
    acu_sim_thread *self = acu_sim_self();
    acu_sim_current below = {.device = self->device};
    if (self->pushed_count)
        below = self->pushed[--self->pushed_count];
    self->device = below.device;
    self->bound = below.bound;
    self->context = below.context;
}

cudaError_t acu_sim_cuCtxSetCurrent(CUcontext ctx) {
    if (ctx && !is_accepted(ctx))
        return cudaErrorDeviceUninitialized;
    make_current(ctx);
    return cudaSuccess;
}

cudaError_t acu_sim_cuCtxPushCurrent(CUcontext ctx) {
    if (!is_accepted(ctx))
        return ctx ? cudaErrorDeviceUninitialized : cudaErrorInvalidValue;
    return push(ctx);
}

cudaError_t acu_sim_cuCtxPopCurrent(CUcontext *pctx) {
    if (!acu_sim_self()->bound)
        return cudaErrorDeviceUninitialized;
    if (pctx)
        *pctx = current_handle();
    pop();
    return cudaSuccess;
}

/* ---- contexts that programs create ---- */

/* Creates a context and makes it current; `refusal` is the error for the parameters that only some
 * versions of the function have, or cudaSuccess. */
static cudaError_t create(CUcontext *handle, cudaError_t refusal, unsigned flags, CUdevice number) {
    acu_sim_device *device;
    acu_sim_context *made = NULL;
    SIM_TRY(acu_sim_driver_find_device(number, handle && are_flags(flags), &device));
    SIM_TRY(refusal);
    if (acu_sim_self()->pushed_count == SIM_PUSHED)
        return cudaErrorMemoryAllocation;
    SIM_TRY(acu_sim_context_new(device, flags, SIM_CALLER, &made));
    *handle = acu_sim_context_handle(made);
    return push(*handle);
}

cudaError_t acu_sim_cuCtxCreate(CUcontext *pctx, CUctxCreateParams *ctxCreateParams,
                                unsigned int flags, CUdevice dev) {
    const CUctxCreateParams *p = ctxCreateParams;
    cudaError_t refusal = p && p->numExecAffinityParams ? cudaErrorUnsupportedExecAffinity
                          : p && p->cigParams           ? cudaErrorNotSupported
                                                        : cudaSuccess;
    return create(pctx, refusal, flags, dev);
}

cudaError_t acu_sim_cuCtxCreate_v2(CUcontext *handle, unsigned flags, CUdevice device) {
    return create(handle, cudaSuccess, flags, device);
}

cudaError_t acu_sim_cuCtxCreate_v3(CUcontext *handle, CUexecAffinityParam *params, int count,
                                   unsigned flags, CUdevice device) {
    (void)params;
    return create(handle, count ? cudaErrorUnsupportedExecAffinity : cudaSuccess, flags, device);
}

/* Ends a context, which stays in the stacks of other threads. With a device's last context ends
 * what all of them share. */
static void destroy(acu_sim_context *context) {
    acu_sim_device *device = context->device;
    acu_sim_stream_wait_device(device); /* also for the work of other contexts */
    acu_sim_nouns_drop_context(context);
    if (context->ended) /* by another thread, while the lock was given up */
        return;
    if (acu_sim_self()->context == context)
        pop();
    context->ended = true;
    if (!acu_sim_device_has_primary(device) && !acu_sim_contexts_are_on(device))
        acu_sim_device_clear(device, false);
}

/* A primary context cannot be destroyed. */
cudaError_t acu_sim_cuCtxDestroy(CUcontext ctx) {
    acu_sim_context *context = acu_sim_context_of(ctx);
    if (!context || !context->made)
        return ctx ? cudaErrorDeviceUninitialized : cudaErrorInvalidValue;
    SIM_TRY(acu_sim_may_wait());
    destroy(context);
    return cudaSuccess;
}

cudaError_t acu_sim_cuCtxAttach(CUcontext *pctx, unsigned int flags) {
    if (!pctx || flags)
        return cudaErrorInvalidValue;
    acu_sim_context_now()->users++;
    *pctx = current_handle();
    return cudaSuccess;
}

/* A primary context has no users but those that were attached; it outlives them. */
cudaError_t acu_sim_cuCtxDetach(CUcontext ctx) {
    acu_sim_context *context = acu_sim_context_of(ctx);
    if (!context || !acu_sim_self()->bound || current_handle() != ctx || !context->users)
        return cudaErrorDeviceUninitialized;
    if (--context->users == 0 && context->made)
        destroy(context);
    return cudaSuccess;
}

/* ---- properties of a context ---- */

/* Finds a context, the current one for NULL; `good` is whether the other arguments are valid, which
 * the driver checks last. */
static cudaError_t find_context(CUcontext ctx, bool good, acu_sim_context **context) {
    if (!ctx)
        SIM_TRY(acu_sim_require_by_driver(SIM_NEEDS_CONTEXT));
    *context = ctx ? acu_sim_context_of(ctx) : acu_sim_context_now();
    if (!*context)
        return cudaErrorDeviceUninitialized;
    return good ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t acu_sim_cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx) {
    acu_sim_context *context;
    SIM_TRY(find_context(ctx, device != NULL, &context));
    *device = context->device->index;
    return cudaSuccess;
}

/* Finds the current context, also one that has ended; `good` as for find_context(). */
static cudaError_t find_current(bool good, acu_sim_context **context) {
    if (!acu_sim_self()->bound)
        return cudaErrorDeviceUninitialized;
    *context = acu_sim_context_now();
    return good ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t acu_sim_cuCtxGetDevice(CUdevice *device) {
    acu_sim_context *context;
    SIM_TRY(find_current(device != NULL, &context));
    *device = context->device->index;
    return cudaSuccess;
}

cudaError_t acu_sim_cuCtxGetApiVersion(CUcontext ctx, unsigned int *version) {
    acu_sim_context *context;
    SIM_TRY(find_context(ctx, version != NULL, &context));
    *version = 3020; /* since when contexts are what they are */
    return cudaSuccess;
}

/* A context that a program created has the flags that it was created with. */
cudaError_t acu_sim_cuCtxGetFlags(unsigned int *flags) {
    acu_sim_context *context;
    SIM_TRY(find_current(flags != NULL, &context));
    *flags = context->made ? context->flags : acu_sim_device_context_flags(context->device);
    return cudaSuccess;
}

cudaError_t acu_sim_cuCtxSetFlags(unsigned int flags) {
    acu_sim_context *context;
    SIM_TRY(find_context(NULL, are_flags(flags), &context));
    if (context->made) {
        context->flags = flags;
        return cudaSuccess;
    }
    context->device->flags = flags & ~(unsigned)CU_CTX_MAP_HOST;
    context->device->keeps_local = false;
    return cudaSuccess;
}

cudaError_t acu_sim_cuCtxGetId(CUcontext ctx, unsigned long long *ctxId) {
    acu_sim_context *context;
    if (ctx && acu_sim_context_named(ctx) && !acu_sim_context_of(ctx))
        return cudaErrorContextIsDestroyed;
    SIM_TRY(find_context(ctx, ctxId != NULL, &context));
    *ctxId = context->id;
    return cudaSuccess;
}

cudaError_t acu_sim_cuCtxSynchronize_v2(CUcontext ctx) {
    acu_sim_context *context;
    SIM_TRY(find_context(ctx, true, &context));
    SIM_TRY(acu_sim_may_wait());
    SIM_TRY(acu_sim_capture_allows_context(context));
    const acu_sim_device *device = context->device; /* the context may end in the wait */
    acu_sim_stream_wait_context(context);
    acu_sim_nouns_waited(true);
    return device->sticky;
}

cudaError_t acu_sim_cuCtxSynchronize(void) {
    return acu_sim_cudaDeviceSynchronize();
}

cudaError_t acu_sim_cuCtxGetLimit(size_t *pvalue, CUlimit limit) {
    return acu_sim_cudaDeviceGetLimit(pvalue, (enum cudaLimit)limit);
}

cudaError_t acu_sim_cuCtxSetLimit(CUlimit limit, size_t value) {
    return acu_sim_cudaDeviceSetLimit((enum cudaLimit)limit, value);
}

cudaError_t acu_sim_cuCtxGetCacheConfig(CUfunc_cache *pconfig) {
    return acu_sim_cudaDeviceGetCacheConfig((enum cudaFuncCache *)(void *)pconfig);
}

cudaError_t acu_sim_cuCtxSetCacheConfig(CUfunc_cache config) {
    return acu_sim_cudaDeviceSetCacheConfig((enum cudaFuncCache)config);
}

cudaError_t acu_sim_cuCtxGetSharedMemConfig(CUsharedconfig *pConfig) {
    return acu_sim_cudaDeviceGetSharedMemConfig((enum cudaSharedMemConfig *)(void *)pConfig);
}

cudaError_t acu_sim_cuCtxSetSharedMemConfig(CUsharedconfig config) {
    return acu_sim_cudaDeviceSetSharedMemConfig((enum cudaSharedMemConfig)config);
}

cudaError_t acu_sim_cuCtxResetPersistingL2Cache(void) {
    return acu_sim_cudaCtxResetPersistingL2Cache();
}

cudaError_t acu_sim_cuCtxGetStreamPriorityRange(int *leastPriority, int *greatestPriority) {
    return acu_sim_cudaDeviceGetStreamPriorityRange(leastPriority, greatestPriority);
}

/* Returns the number of the device that a peer's context names; -1 if the context is invalid. */
static int peer_of(CUcontext handle) {
    const acu_sim_device *device = acu_sim_context_device(handle);
    return device ? device->index : -1;
}

/* Turns an error about a device into one about a context: the driver names the context where the
 * runtime names its device. */
static cudaError_t as_context_error(cudaError_t result) {
    return result == cudaErrorInvalidDevice ? cudaErrorDeviceUninitialized : result;
}

cudaError_t acu_sim_cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags) {
    return as_context_error(acu_sim_cudaDeviceEnablePeerAccess(peer_of(peerContext), Flags));
}

cudaError_t acu_sim_cuCtxDisablePeerAccess(CUcontext peerContext) {
    return as_context_error(acu_sim_cudaDeviceDisablePeerAccess(peer_of(peerContext)));
}
