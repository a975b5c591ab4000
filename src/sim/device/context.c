/*
 * Contexts of the driver: the one of a device, which the runtime uses, and those that the program
 * created besides. What is created while a context is current belongs to it, and goes with it.
 */
#include "sim/device/context.h"

#include "sim/device/device.h"
#include "sim/set.h"

#include <stdlib.h>
#include <string.h>

/* All that the program created, also those that have ended: their handles may be made current. */
static acu_sim_context *contexts;
static acu_sim_set handles;

/* ---- finding ---- */

bool acu_sim_context_is_alive(const acu_sim_context *context) {
    return context && acu_sim_set_has(&handles, context) && !context->ended;
}

acu_sim_context *acu_sim_context_now(void) {
    acu_sim_context *context = acu_sim_self()->context;
    acu_sim_device *device = acu_sim_device_at(acu_sim_self()->device);
    return acu_sim_context_is_alive(context) ? context : device ? &device->own : NULL;
}

acu_sim_context *acu_sim_context_on(acu_sim_device *device) {
    acu_sim_context *context = acu_sim_context_now();
    return context->device == device ? context : &device->own;
}

bool acu_sim_contexts_are_on(const acu_sim_device *device) {
    const acu_sim_context *c = contexts;
    while (c && (c->ended || c->device != device))
        c = c->next;
    return c != NULL;
}

bool acu_sim_device_has_primary(const acu_sim_device *device) {
    return device->active && (device->of_runtime || device->retained);
}

/* ---- handles ---- */

CUcontext acu_sim_context_handle(const acu_sim_context *context) {
    return (CUcontext)(uintptr_t)context;
}

acu_sim_context *acu_sim_context_named(CUcontext handle) {
    acu_sim_context *context = (acu_sim_context *)(void *)handle;
    if (acu_sim_set_has(&handles, context))
        return context;
    for (int i = 0; i < acu_sim_configuration()->devices; i++)
        if (context == &acu_sim_device_at(i)->own)
            return context;
    return NULL;
}

acu_sim_context *acu_sim_context_of(CUcontext handle) {
    acu_sim_context *context = acu_sim_context_named(handle);
    bool is_there =
        context && (context->made ? !context->ended : acu_sim_device_has_primary(context->device));
    return is_there ? context : NULL;
}

acu_sim_device *acu_sim_context_device(CUcontext handle) {
    const acu_sim_context *context = acu_sim_context_of(handle);
    return context ? context->device : NULL;
}

/* ---- life ---- */

unsigned long long acu_sim_context_new_id(void) {
    static unsigned long long last_id =
        SIM_DEVICES; /* the contexts of devices have the first ones */
    return ++last_id;
}

/* Returns the unit by which the second-level cache is set aside: a tenth of what can be. */
size_t acu_sim_device_persisting_unit(const acu_sim_device *device) {
    return (size_t)acu_sim_device_attribute(device, cudaDevAttrMaxPersistingL2CacheSize) / 10;
}

void acu_sim_context_defaults(acu_sim_context *context) {
    const acu_sim_device *device = context->device;
    context->users = context->made;
    context->cache = cudaFuncCachePreferNone;
    memset(context->limits, 0, sizeof context->limits);
    context->limits[cudaLimitStackSize] = 1024;
    context->prints = context->allocates = context->loads_nothing = false;
    context->limits[cudaLimitPrintfFifoSize] =
        (size_t)acu_sim_device_attribute(device, cudaDevAttrMultiProcessorCount) << 16;
    context->limits[cudaLimitMallocHeapSize] = (size_t)8 << 20;
    context->limits[cudaLimitDevRuntimeSyncDepth] = 2;
    context->limits[cudaLimitDevRuntimePendingLaunchCount] = 2048;
    context->limits[cudaLimitMaxL2FetchGranularity] = 64;
    context->limits[cudaLimitPersistingL2CacheSize] = 3 * acu_sim_device_persisting_unit(device);
}

cudaError_t acu_sim_context_new(acu_sim_device *device, unsigned flags, const void *where,
                                acu_sim_context **context) {
    acu_sim_context *made = calloc(1, sizeof *made);
    cudaError_t result = made ? acu_sim_device_open(device) : cudaErrorMemoryAllocation;
    if (!result && !acu_sim_set_add(&handles, made))
        result = cudaErrorMemoryAllocation;
    if (result) {
        free(made);
        return result;
    }
    *made = (acu_sim_context){.device = device,
                              .made = true,
                              .flags = flags,
                              .id = acu_sim_context_new_id(),
                              .where = where,
                              .next = contexts};
    acu_sim_context_defaults(made);
    *context = contexts = made;
    return cudaSuccess;
}

void acu_sim_contexts_reset(const acu_sim_device *device) {
    for (acu_sim_context **at = &contexts; *at;) {
        acu_sim_context *c = *at;
        if (c->device != device) {
            at = &c->next;
            continue;
        }
        acu_sim_nouns_drop_context(c);
        *at = c->next;
        acu_sim_set_remove(&handles, c);
        free(c);
    }
}

static int leaks(int print) {
    int count = 0;
    for (const acu_sim_context *c = contexts; c; c = c->next) {
        count += !c->ended;
        if (print && !c->ended)
            acu_sim_caller_report("context", c, 0, c->where);
    }
    return count;
}

const acu_sim_noun acu_sim_context_noun = {.leaks = leaks};
