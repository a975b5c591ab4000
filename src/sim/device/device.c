/* Devices: how many, which is current, and their contexts; what they say of themselves is in
 * attributes.c. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */

#include "sim/device/device.h"
#include "core/record.h"

#include "sim/behaviour.h"
#include "sim/device/context.h"
#include "sim/device/need.h"
#include "sim/noun.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static acu_sim_device devices[SIM_DEVICES];
/* After a fault, why: as the driver says where a context would be made; the runtime says 46. */
static cudaError_t lost;

acu_sim_device *acu_sim_device_at(int index) {
    if (index < 0 || index >= acu_sim_configuration()->devices)
        return NULL;
    acu_sim_device *device = &devices[index];
    if (!device->own.device) { /* kernels read it without the lock */
        device->index = index;
        device->own = (acu_sim_context){.device = device, .id = (unsigned long long)index + 1};
    }
    return device;
}

acu_sim_device *acu_sim_device_now(void) {
    return acu_sim_device_at(acu_sim_self()->device);
}

/* ---- the current device ---- */

cudaError_t acu_sim_cudaGetDeviceCount(int *count) {
    cudaError_t why = acu_sim_require(SIM_NEEDS_DRIVER);
    if (why == cudaErrorNotPermitted || acu_sim_parent_knows_devices())
        why = cudaSuccess; /* host functions may ask for the count, and children */
    if (count && !why)
        *count = acu_sim_configuration()->devices;
    return !why && !count ? cudaErrorInvalidValue : why;
}

cudaError_t acu_sim_cudaGetDevice(int *device) {
    if (!device)
        return cudaErrorInvalidValue;
    *device = acu_sim_self()->device;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaSetDevice(int device) {
    acu_sim_device *d = acu_sim_device_at(device);
    if (!d)
        return cudaErrorInvalidDevice;
    bool activates = acu_sim_behaviour_set_device_makes_context();
    cudaError_t why = activates ? acu_sim_device_activate(d) : cudaSuccess;
    if (!why || why == cudaErrorDevicesUnavailable) { /* the device is current then, too */
        acu_sim_self()->device = device;
        /* GPUs name a context on 11, too, where the device has one or has lost it. */
        acu_sim_self()->bound = activates || lost || acu_sim_device_has_primary(d);
        acu_sim_self()->context = NULL;
    }
    return why;
}

cudaError_t acu_sim_cudaSetValidDevices(int *device_arr, int len) {
    if (len < 0 || len > acu_sim_configuration()->devices || (len && !device_arr))
        return cudaErrorInvalidValue;
    for (int i = 0; i < len; i++)
        if (!acu_sim_device_at(device_arr[i]))
            SIM_TRY(cudaErrorInvalidDevice);
    acu_sim_self()->bound = false; /* until a call of the runtime needs a context */
    acu_sim_self()->context = NULL;
    acu_sim_self()->device = len ? device_arr[0] : 0;
    return cudaSuccess;
}

/* Two bits of the mask have no name; they are accepted, and no context has them. */
enum { NAMELESS_FLAGS = 0x60, NARROW_MASK = 0x1f };

static bool are_flags(unsigned flags) {
    unsigned schedule = flags & cudaDeviceScheduleMask;
    unsigned mask =
        acu_sim_behaviour_device_mask_is_wide() ? (unsigned)cudaDeviceMask : NARROW_MASK;
    return !(flags & ~mask) &&
           (schedule == 0 || schedule == cudaDeviceScheduleSpin ||
            schedule == cudaDeviceScheduleYield || schedule == cudaDeviceScheduleBlockingSync);
}

cudaError_t acu_sim_device_set_flags(acu_sim_device *device, unsigned flags) {
    if (!are_flags(flags))
        return cudaErrorInvalidValue;
    device->flags = flags & ~(unsigned)cudaDeviceMapHost;
    device->lacking_flags = NAMELESS_FLAGS;
    device->keeps_local = false; /* until the next graph with a kernel */
    return cudaSuccess;
}

unsigned acu_sim_device_context_flags(const acu_sim_device *device) {
    return (device->flags & ~device->lacking_flags) | cudaDeviceMapHost |
           (device->keeps_local ? cudaDeviceLmemResizeToMax : 0);
}

cudaError_t acu_sim_cudaInitDevice(int device, unsigned int deviceFlags, unsigned int flags) {
    acu_sim_device *d = acu_sim_device_at(device);
    if (!d)
        return cudaErrorInvalidDevice;
    if (flags & cudaInitDeviceFlagsAreValid)
        SIM_TRY(acu_sim_device_set_flags(d, deviceFlags));
    return acu_sim_device_activate(d);
}

/* After a reset, mapped host memory is not reported; and where no context is current, the flags are
 * those that were set, not those that the context took. */
cudaError_t acu_sim_cudaGetDeviceFlags(unsigned int *flags) {
    acu_sim_device *d = acu_sim_device_now();
    if (!flags)
        return cudaErrorInvalidValue;
    *flags = acu_sim_device_context_flags(d) &
             ~(d->was_reset && !d->active ? (unsigned)cudaDeviceMapHost : 0);
    if (d->active && !acu_sim_self()->bound)
        *flags = (*flags & ~(unsigned)cudaDeviceLmemResizeToMax) | d->flags;
    return cudaSuccess;
}

/* ---- the context ---- */

static bool reserve_span(acu_sim_device *device, size_t span) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *base = mmap(NULL, span, PROT_NONE, flags, -1, 0);
    void *view = mmap(NULL, span, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (base == MAP_FAILED || view == MAP_FAILED) {
        if (base != MAP_FAILED)
            munmap(base, span);
        if (view != MAP_FAILED)
            munmap(view, span);
        return false;
    }
    device->base = (uintptr_t)base;
    device->view = view;
    device->span = span;
    device->cursor = 0;
    return true;
}

/* Reserves addresses for four times the memory, so that those given back are not soon used again;
 * but no more than a process has for such devices, and for the memory alone where a process may not
 * have more. */
static bool reserve_addresses(acu_sim_device *device) {
    static bool reported;
    const size_t memory = (size_t)acu_sim_configuration()->memory, many = (size_t)4 << 40;
    const size_t span = memory * 4 <= many ? memory * 4 : memory > many ? memory : many;
    if (device->span || reserve_span(device, span) || reserve_span(device, memory))
        return true;
    if (!reported)
        fprintf(
            stderr,
            "anycuda: simulator: a device has no memory, because this process cannot reserve "
            "twice %zu MiB of addresses: a limit (ulimit -v) or a tool such as valgrind forbids "
            "it; ANYCUDA_SIM=memory=256MiB needs less\n",
            memory >> 20U);
    acu_record_reason("the process cannot reserve twice %zu MiB of addresses for the simulated "
                      "device; ANYCUDA_SIM=memory=256MiB needs less",
                      memory >> 20U);
    reported = true;
    return false;
}

cudaError_t acu_sim_device_open(acu_sim_device *device) {
    if (lost)
        return lost;
    return reserve_addresses(device) ? cudaSuccess : cudaErrorMemoryAllocation;
}

void acu_sim_device_fail(acu_sim_device *device, cudaError_t why) {
    for (int i = 0; i < acu_sim_configuration()->devices; i++) {
        acu_sim_device *d = acu_sim_device_at(i);
        if (!d->sticky && (d == device || d->active || acu_sim_contexts_are_on(d)))
            d->sticky = why;
    }
    lost = lost ? lost : why;
}

cudaError_t acu_sim_device_activate(acu_sim_device *device) {
    device->of_runtime |= !acu_sim_self()->call.by_driver;
    if (device->active)
        return cudaSuccess;
    if (lost && !acu_sim_self()->call.by_driver)
        return cudaErrorDevicesUnavailable;
    cudaError_t result = acu_sim_device_open(device);
    if (result)
        return result;
    acu_sim_context_defaults(&device->own);
    device->active = true;
    return cudaSuccess;
}

/* Takes back what all contexts of the device have; streams, the first noun, wait for their work. */
static void clear_all(acu_sim_device *device) {
    acu_sim_nouns_reset_device(device);
    for (int i = 0; i < SIM_DEVICES; i++)
        device->peers[i] = devices[i].peers[device->index] = false;
    device->sticky = cudaSuccess;
    device->used = 0;
    device->graph_memory = device->graph_used_high = device->graph_reserved_high = 0;
}

void acu_sim_device_clear(acu_sim_device *device, bool for_good) {
    if (for_good)
        acu_sim_contexts_reset(device);
    if (acu_sim_contexts_are_on(device)) {
        acu_sim_nouns_drop_context(&device->own);
    } else {
        clear_all(device);
    }
    device->active = device->of_runtime = false;
    device->was_reset = true;
    device->own.id = acu_sim_context_new_id(); /* the next primary context is another one */
    if (!for_good)
        return;
    if (device->span) {
        munmap((void *)device->base, device->span);
        munmap(device->view, device->span);
    }
    *device = (acu_sim_device){0};
    lost = cudaSuccess;
}

cudaError_t acu_sim_cudaDeviceReset(void) {
    acu_sim_device *d = acu_sim_device_now();
    acu_sim_device_clear(d, false);
    d->flags = 0;
    d->keeps_local = false;
    return cudaSuccess;
}

/* The runtime passes limits of the driver on: two that programs do not set, and one that only
 * graphics contexts have. */
enum { SHARED_MEMORY_LIMIT = 7, GRAPHICS_LIMIT = 8, GRAPHICS_MEMORY_LIMIT = 9 };

static bool is_of_driver(enum cudaLimit limit) {
    return (int)limit == SHARED_MEMORY_LIMIT || (int)limit == GRAPHICS_LIMIT;
}

static bool is_limit(enum cudaLimit limit) {
    return acu_sim_knows(&acu_cudart_type_cudaLimit, limit) || (int)limit == GRAPHICS_MEMORY_LIMIT;
}

/* Device-side synchronisation went with 9.0 and with CUDA 12. */
static bool has_limit(enum cudaLimit limit) {
    if ((int)limit == GRAPHICS_MEMORY_LIMIT)
        return false;
    return limit != cudaLimitDevRuntimeSyncDepth ||
           (acu_sim_configuration()->cc < 90 && acu_sim_behaviour_has_sync_depth());
}

cudaError_t acu_sim_cudaDeviceGetLimit(size_t *pValue, enum cudaLimit limit) {
    if (pValue && is_of_driver(limit)) {
        *pValue = (int)limit == GRAPHICS_LIMIT
                      ? 0
                      : (size_t)acu_sim_device_attribute(acu_sim_device_now(),
                                                         cudaDevAttrMaxSharedMemoryPerBlockOptin);
        return cudaSuccess;
    }
    if (!pValue || !is_limit(limit))
        return cudaErrorInvalidValue;
    if (!has_limit(limit))
        return cudaErrorUnsupportedLimit;
    *pValue = acu_sim_context_now()->limits[limit];
    return cudaSuccess;
}

static size_t at_least(size_t value, size_t least) {
    return value < least ? least : value;
}

/* Returns the value, rounded up; one that is too large for that stays. */
static size_t in_units(size_t value, size_t unit) {
    return value > SIZE_MAX - unit ? value : (value + unit - 1) / unit * unit;
}

/* Returns what becomes of a value that was asked for. */
static size_t rounded_limit(const acu_sim_device *d, enum cudaLimit limit, size_t value) {
    const size_t unit = acu_sim_device_persisting_unit(d), most_printed = (size_t)2 << 30;
    switch ((int)limit) {
    case cudaLimitStackSize:
        return (value + 15) & ~(size_t)15;
    case cudaLimitPrintfFifoSize:
        return value > most_printed ? most_printed
                                    : in_units(at_least(value, (size_t)512 << 10), 256);
    case cudaLimitMallocHeapSize:
        return in_units(at_least(value, (size_t)4 << 20), (size_t)64 << 10);
    case cudaLimitDevRuntimePendingLaunchCount:
        return at_least(value, 32);
    case cudaLimitPersistingL2CacheSize:
        return unit ? (value + unit - 1) / unit * unit : 0;
    default:
        return value;
    }
}

static cudaError_t set_limit(acu_sim_context *context, enum cudaLimit limit, size_t value) {
    const acu_sim_device *d = context->device;
    if (limit == cudaLimitStackSize && value > (size_t)511 * 1024) /* as on an H200 */
        return cudaErrorInvalidValue;
    if (limit == cudaLimitMaxL2FetchGranularity && value > 128)
        return cudaErrorInvalidValue;
    if (limit == cudaLimitPersistingL2CacheSize &&
        value > (size_t)acu_sim_device_attribute(d, cudaDevAttrMaxPersistingL2CacheSize))
        return cudaErrorInvalidValue;
    if ((limit == cudaLimitPrintfFifoSize && context->prints) ||
        (limit == cudaLimitMallocHeapSize && context->allocates))
        return SIM_REFUSE(
            cudaErrorInvalidValue, "a kernel that %s was launched already: set the limit before",
            context->prints && limit == cudaLimitPrintfFifoSize ? "prints" : "allocates");
    context->limits[limit] = rounded_limit(d, limit, value);
    return cudaSuccess;
}

cudaError_t acu_sim_cudaDeviceSetLimit(enum cudaLimit limit, size_t value) {
    if (is_of_driver(limit))
        return cudaErrorNotPermitted;
    if (!is_limit(limit))
        return cudaErrorInvalidValue;
    if (!has_limit(limit))
        return cudaErrorUnsupportedLimit;
    return set_limit(acu_sim_context_now(), limit, value);
}

cudaError_t acu_sim_cudaDeviceGetCacheConfig(enum cudaFuncCache *pCacheConfig) {
    if (!pCacheConfig)
        return cudaErrorInvalidValue;
    *pCacheConfig = acu_sim_context_now()->cache;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaDeviceSetCacheConfig(enum cudaFuncCache cacheConfig) {
    if (!acu_sim_knows(&acu_cudart_type_cudaFuncCache, cacheConfig))
        return cudaErrorInvalidValue;
    acu_sim_context_now()->cache = cacheConfig;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaDeviceGetStreamPriorityRange(int *leastPriority, int *greatestPriority) {
    if (leastPriority)
        *leastPriority = SIM_LEAST_PRIORITY;
    if (greatestPriority)
        *greatestPriority = SIM_GREATEST_PRIORITY;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaCtxResetPersistingL2Cache(void) {
    return acu_sim_require_by_driver(SIM_NEEDS_CONTEXT); /* the runtime gets no context for it */
}

/* ---- peers ---- */

bool acu_sim_device_can_access(const acu_sim_device *device, int other) {
    return device->index == other || device->peers[other];
}

cudaError_t acu_sim_cudaDeviceCanAccessPeer(int *canAccessPeer, int device, int peerDevice) {
    if (!canAccessPeer)
        return cudaErrorInvalidValue;
    if (!acu_sim_device_at(device) || !acu_sim_device_at(peerDevice))
        return cudaErrorInvalidDevice;
    *canAccessPeer = device != peerDevice;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attr,
                                              int srcDevice, int dstDevice) {
    if (!value)
        return cudaErrorInvalidValue;
    if (!acu_sim_device_at(srcDevice) || !acu_sim_device_at(dstDevice) || srcDevice == dstDevice)
        return cudaErrorInvalidDevice;
    if (!acu_sim_knows(&acu_cudart_type_cudaDeviceP2PAttr, attr))
        return cudaErrorInvalidValue;
    *value = attr == cudaDevP2PAttrAccessSupported || attr == cudaDevP2PAttrNativeAtomicSupported;
    return cudaSuccess;
}
