/* Devices: what they are, what is set for them, and which one is current. device_link.c has their
 * links, and device_sync.c waits for them. */
#include "safe/base/device.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Returns 0, or the recorded failure that the device does not exist. */
static int check_known(const char *call, acu_device device, int known) {
    if (device >= 0 && device < known)
        return 0;
    return acu_fail(call, "", cudaErrorInvalidDevice,
                    known == 1 ? "device %d does not exist; there is %d device"
                               : "device %d does not exist; there are %d devices",
                    device, known);
}

/* Records how many devices there are, which CUDA does not report; returns 0 if the device exists.
 */
static int explain_device(const char *call, acu_device device) {
    int known = 0;
    acu_saved_record before;
    acu_record_save(&before);
    if (!cudaGetDeviceCount(&known) && check_known(call, device, known))
        return cudaErrorInvalidDevice;
    acu_record_restore(&before);
    return 0;
}

int acu_device_outcome_of(const char *call, const char *what, long long number, acu_device device,
                          int code) {
    char text[80];
    if (ACU_LIKELY(code == 0))
        return 0;
    if (code == cudaErrorInvalidDevice && explain_device(call, device))
        return code;
    if (what)
        snprintf(text, sizeof text, "%s %lld of device %d", what, number, device);
    else
        snprintf(text, sizeof text, "device %d", device);
    return acu_cuda_failed(call, text, code);
}

int acu_device_outcome(const char *call, acu_device device, int code) {
    return acu_device_outcome_of(call, NULL, 0, device, code);
}

#define OUTCOME(device, code) acu_device_outcome(__func__, (device), (int)(code))

/* ---- the current device ---- */

int acu_guard_change(acu_guard *guard, int device) {
    *guard = (acu_guard){0};
    int code = (int)cudaGetDevice(&guard->previous);
    if (code || device == ACU_DEVICE_CURRENT || device == guard->previous)
        return code;
    code = (int)cudaSetDevice(device);
    guard->changed = code == 0;
    return code;
}

int acu_device_resolve(const char *call, acu_device *device) {
    int known = 0, current = 0;
    int code = (int)cudaGetDeviceCount(&known);
    if (!code)
        __atomic_store_n(&acu_watched.devices, known, __ATOMIC_RELAXED);
    if (!code && *device == ACU_DEVICE_CURRENT) {
        code = (int)cudaGetDevice(&current);
        *device = current;
    }
    if (code)
        return acu_device_outcome(call, *device, code);
    return check_known(call, *device, known);
}

acu_result acu_device_get_count(int *count) {
    ACU_SCOPE();
    ACU_NEED_POINTER(count);
    *count = 0;
    int code = (int)cudaGetDeviceCount(count);
    if (code)
        *count = 0;
    return code ? acu_cuda_failed(__func__, "", code) : 0;
}

acu_result acu_device_get_current(acu_device *device) {
    ACU_SCOPE();
    ACU_NEED_POINTER(device);
    int code = (int)cudaGetDevice(device);
    return code ? acu_cuda_failed(__func__, "", code) : 0;
}

acu_result acu_device_set_current(acu_device device) {
    ACU_SCOPE();
    if (device == ACU_DEVICE_CURRENT)
        return 0;
    return OUTCOME(device, cudaSetDevice(device));
}

acu_result acu_device_set_name(acu_device device, const char *name) {
    ACU_SCOPE();
    ACU_NEED_POINTER(name);
    ACU_TRY(acu_device_resolve(__func__, &device));
    acu_object_name_device(device, name);
    if (acu_audience_listens())
        acu_audience_name(ACU_NAMED_DEVICE, (uint64_t)device, name);
    return 0;
}

acu_result acu_device_enter(acu_device_guard *guard, acu_device device) {
    ACU_SCOPE();
    ACU_NEED_POINTER(guard);
    ACU_REQUIRE(
        !guard->changed, ACU_ERROR_STATE,
        "the guard has changed the device and was not left since, or was not initialised to {0}");
    return OUTCOME(device, acu_guard_enter(guard, device));
}

acu_result acu_device_leave(acu_device_guard *guard) {
    ACU_SCOPE();
    if (!guard || !guard->changed)
        return 0;
    guard->changed = false;
    return OUTCOME(guard->previous, cudaSetDevice(guard->previous));
}

void acu_device_guard_cleanup(acu_device_guard *guard) {
    acu_saved_record before;
    acu_record_save(&before);
    if (acu_device_leave(guard))
        acu_record_release_error();
    acu_record_restore(&before);
}

/* ---- what a device is ---- */

acu_result acu_device_get_attribute(acu_device device, int attribute, int *value) {
    ACU_SCOPE();
    ACU_NEED_POINTER(value);
    ACU_TRY(acu_device_resolve(__func__, &device));
    return acu_device_outcome_of(
        __func__, "attribute", attribute, device,
        (int)cudaDeviceGetAttribute(value, (enum cudaDeviceAttr)attribute, device));
}

int acu_device_optional(int code, int *value, const acu_saved_record *before) {
    if (code != cudaErrorInvalidValue && code != cudaErrorNotSupported)
        return code;
    *value = 0;
    (void)cudaGetLastError();
    acu_record_restore(before);
    return 0;
}

static int optional(enum cudaDeviceAttr attribute, acu_device device, int *value) {
    acu_saved_record before;
    acu_record_save(&before);
    return acu_device_optional((int)cudaDeviceGetAttribute(value, attribute, device), value,
                               &before);
}

static void fill_info(acu_device_info *info, const struct cudaDeviceProp *p) {
    *info = (acu_device_info){
        .compute_major = p->major,
        .compute_minor = p->minor,
        .multiprocessors = p->multiProcessorCount,
        .warp_size = p->warpSize,
        .max_threads_per_block = p->maxThreadsPerBlock,
        .max_threads_per_multiprocessor = p->maxThreadsPerMultiProcessor,
        .max_blocks_per_multiprocessor = p->maxBlocksPerMultiProcessor,
        .registers_per_block = p->regsPerBlock,
        .registers_per_multiprocessor = p->regsPerMultiprocessor,
        .shared_memory_per_block = p->sharedMemPerBlock,
        .shared_memory_per_block_optin = p->sharedMemPerBlockOptin,
        .shared_memory_per_multiprocessor = p->sharedMemPerMultiprocessor,
        .memory = p->totalGlobalMem,
        .constant_memory = p->totalConstMem,
        .l2_bytes = (size_t)p->l2CacheSize,
        .memory_bus_bits = p->memoryBusWidth,
        .async_engines = p->asyncEngineCount,
        .integrated = p->integrated,
        .ecc = p->ECCEnabled,
        .unified_addressing = p->unifiedAddressing,
        .managed_memory = p->managedMemory,
        .concurrent_managed_access = p->concurrentManagedAccess,
        .pageable_memory_access = p->pageableMemoryAccess,
        .concurrent_kernels = p->concurrentKernels,
        .cooperative_launch = p->cooperativeLaunch,
        .stream_priorities = p->streamPrioritiesSupported,
        .can_map_host_memory = p->canMapHostMemory,
    };
    static_assert(sizeof info->name == sizeof p->name, "the name would be cut");
    memcpy(info->name, p->name, sizeof info->name);
    memcpy(info->uuid, &p->uuid, sizeof info->uuid);
    memcpy(info->max_block, p->maxThreadsDim, sizeof info->max_block);
    memcpy(info->max_grid, p->maxGridSize, sizeof info->max_grid);
}

acu_result acu_device_get_info(acu_device device, acu_device_info *info) {
    ACU_SCOPE();
    ACU_NEED_POINTER(info);
    struct cudaDeviceProp properties;
    ACU_TRY(acu_device_resolve(__func__, &device));
    ACU_TRY(OUTCOME(device, cudaGetDeviceProperties(&properties, device)));
    fill_info(info, &properties);
    int memory_pools = 0, cluster_launch = 0;
    const struct {
        enum cudaDeviceAttr attribute;
        int *value;
    } more[] = {{cudaDevAttrClockRate, &info->clock_khz},
                {cudaDevAttrMemoryClockRate, &info->memory_clock_khz},
                {cudaDevAttrMemoryPoolsSupported, &memory_pools},
                {cudaDevAttrClusterLaunch, &cluster_launch}};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        ACU_TRY(OUTCOME(device, optional(more[i].attribute, device, more[i].value)));
    info->memory_pools = memory_pools;
    info->cluster_launch = cluster_launch;
    return OUTCOME(device,
                   cudaDeviceGetPCIBusId(info->pci_bus_id, sizeof info->pci_bus_id, device));
}

acu_result acu_device_get_pci_bus_id(acu_device device, char text[ACU_PCI_BUS_ID_SIZE]) {
    ACU_SCOPE();
    ACU_NEED_POINTER(text);
    ACU_TRY(acu_device_resolve(__func__, &device));
    return OUTCOME(device, cudaDeviceGetPCIBusId(text, ACU_PCI_BUS_ID_SIZE, device));
}

acu_result acu_device_get_by_pci_bus_id(const char *text, acu_device *device) {
    ACU_SCOPE();
    ACU_NEED_POINTER(text);
    ACU_NEED_POINTER(device);
    char object[ACU_PCI_BUS_ID_SIZE + 32];
    int code = (int)cudaDeviceGetByPCIBusId(device, text);
    if (!code)
        return 0;
    snprintf(object, sizeof object, "PCI bus id \"%.*s\"", ACU_PCI_BUS_ID_SIZE, text);
    return acu_cuda_failed(__func__, object, code);
}

acu_result acu_device_get_uuid(acu_device device, char text[ACU_UUID_SIZE]) {
    ACU_SCOPE();
    ACU_NEED_POINTER(text);
    struct cudaDeviceProp properties;
    unsigned char u[16];
    ACU_TRY(acu_device_resolve(__func__, &device));
    ACU_TRY(OUTCOME(device, cudaGetDeviceProperties(&properties, device)));
    memcpy(u, &properties.uuid, sizeof u);
    snprintf(text, ACU_UUID_SIZE,
             "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1],
             u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14],
             u[15]);
    return 0;
}

acu_result acu_device_get_memory(acu_device device, size_t *free_bytes, size_t *total_bytes) {
    ACU_SCOPE();
    size_t unused_free, unused_total;
    ACU_ON_DEVICE(device, cudaMemGetInfo(free_bytes ? free_bytes : &unused_free,
                                         total_bytes ? total_bytes : &unused_total));
}

acu_result acu_device_get_priority_range(acu_device device, int *least, int *greatest) {
    ACU_SCOPE();
    ACU_NEED_POINTER(least);
    ACU_NEED_POINTER(greatest);
    ACU_ON_DEVICE(device, cudaDeviceGetStreamPriorityRange(least, greatest));
}

/* ---- what is set ---- */

acu_result acu_device_get_limit(acu_device device, acu_device_limit limit, size_t *value) {
    ACU_SCOPE();
    ACU_NEED_POINTER(value);
    ACU_ON_DEVICE_OF("limit", limit, device, cudaDeviceGetLimit(value, (enum cudaLimit)limit));
}

static int set_limit(acu_device_limit limit, size_t value) {
    int code;
    ACU_IGNORING_CAPTURES(code, cudaDeviceSetLimit((enum cudaLimit)limit, value));
    if (code == cudaErrorInvalidValue && limit == ACU_LIMIT_PERSISTING_L2_SIZE)
        acu_fail_hint("the device's attribute cudaDevAttrMaxPersistingL2CacheSize (108) is the "
                      "largest value");
    else if (code == cudaErrorInvalidValue)
        acu_fail_hint("the device has no such limit, or the value is too large for it");
    return code;
}

acu_result acu_device_set_limit(acu_device device, acu_device_limit limit, size_t value) {
    ACU_SCOPE();
    ACU_ON_DEVICE_OF("limit", limit, device, set_limit(limit, value));
}

acu_result acu_device_get_flags(acu_device device, unsigned *flags) {
    ACU_SCOPE();
    ACU_NEED_POINTER(flags);
    ACU_ON_DEVICE(device, cudaGetDeviceFlags(flags));
}

acu_result acu_device_set_flags(acu_device device, unsigned flags) {
    ACU_SCOPE();
    ACU_ON_DEVICE_OF("flags", flags, device, cudaSetDeviceFlags(flags));
}

static int get_cache_config(acu_cache_config *config) {
    enum cudaFuncCache found = cudaFuncCachePreferNone;
    int code = (int)cudaDeviceGetCacheConfig(&found);
    *config = (acu_cache_config)found;
    return code;
}

static int set_cache_config(acu_cache_config config) {
    int code;
    ACU_IGNORING_CAPTURES(code, cudaDeviceSetCacheConfig((enum cudaFuncCache)config));
    return code;
}

acu_result acu_device_get_cache_config(acu_device device, acu_cache_config *config) {
    ACU_SCOPE();
    ACU_NEED_POINTER(config);
    ACU_ON_DEVICE(device, get_cache_config(config));
}

acu_result acu_device_set_cache_config(acu_device device, acu_cache_config config) {
    ACU_SCOPE();
    ACU_ON_DEVICE_OF("cache configuration", config, device, set_cache_config(config));
}

acu_result acu_device_reset_persisting_l2(acu_device device) {
    ACU_SCOPE();
    ACU_ON_DEVICE(device, cudaCtxResetPersistingL2Cache());
}
