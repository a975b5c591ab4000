/* Devices: how many, what they are, which is current, and what is set on them. */
#include "conformance.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>

/* ---- counting and choosing
 * ------------------------------------------------------------------------ */

CASE(there_is_a_device) {
    int count = 0;
    OK(cudaGetDeviceCount(&count));
    IS(count > 0);
    FAILS(cudaErrorInvalidValue, cudaGetDeviceCount(NULL));
}

CASE(the_current_device) {
    int device = 99;
    OK(cudaGetDevice(&device));
    EQUAL(device, 0);
    OK(cudaSetDevice(0));
    OK(cudaGetDevice(&device));
    EQUAL(device, 0);
    FAILS(cudaErrorInvalidValue, cudaGetDevice(NULL));
}

CASE(devices_that_do_not_exist) {
    int device = 99;
    FAILS(cudaErrorInvalidDevice, cudaSetDevice(99));
    FAILS(cudaErrorInvalidDevice, cudaSetDevice(-1));
    OK(cudaGetDevice(&device));
    EQUAL(device, 0);
}

CASE(another_device) {
    int device = 99;
    NEEDS_DEVICES(2);
    OK(cudaSetDevice(1));
    OK(cudaGetDevice(&device));
    EQUAL(device, 1);
}

static void *device_of_thread(void *device) {
    return (void *)(intptr_t)cudaGetDevice(device);
}

CASE(each_thread_begins_with_the_first_device) {
    pthread_t thread;
    int device = 99;
    (void)cudaSetDevice(1);
    (void)cudaGetLastError();
    EQUAL(pthread_create(&thread, NULL, device_of_thread, &device), 0);
    EQUAL(pthread_join(thread, NULL), 0);
    EQUAL(device, 0);
}

CASE(choosing_a_device) {
    static struct cudaDeviceProp prop;
    int device = 99;
    OK(cudaGetDeviceProperties(&prop, 0));
    OK(cudaChooseDevice(&device, &prop));
    EQUAL(device, 0);
    FAILS(cudaErrorInvalidValue, cudaChooseDevice(NULL, &prop));
    FAILS(cudaErrorInvalidValue, cudaChooseDevice(&device, NULL));
}

CASE(valid_devices) {
    int list[] = {0}, wrong[] = {99}, twice[] = {0, 0};
    OK(cudaSetValidDevices(list, 1));
    FAILS(cudaErrorInvalidDevice, cudaSetValidDevices(wrong, 1));
    FAILS(cudaErrorInvalidValue, cudaSetValidDevices(NULL, 1));
    SAYS(cudaSuccess, cudaSetValidDevices(NULL, 0));
    FAILS(cudaErrorInvalidValue, cudaSetValidDevices(twice, 2));
    FAILS(cudaErrorInvalidValue, cudaSetValidDevices(list, -1));
    FAILS(cudaErrorInvalidValue, cudaSetValidDevices(list, 99));
    OK(cudaSetValidDevices(list, 0));
}

/* ---- attributes and properties
 * ---------------------------------------------------------------------- */

CASE(attributes) {
    int value = 0;
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0));
    EQUAL(value, 32);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxThreadsPerBlock, 0));
    EQUAL(value, 1024);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrUnifiedAddressing, 0));
    EQUAL(value, 1);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrMemoryPoolsSupported, 0));
    EQUAL(value, 1);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 0));
    IS(value >= 5);
}

CASE(attributes_that_are_refused) {
    int value = 0;
    FAILS(cudaErrorInvalidValue, cudaDeviceGetAttribute(NULL, cudaDevAttrWarpSize, 0));
    FAILS(cudaErrorInvalidDevice, cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 99));
    FAILS(cudaErrorInvalidDevice, cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, -1));
    FAILS(cudaErrorInvalidValue, cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)0, 0));
    FAILS(cudaErrorInvalidValue, cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)9999, 0));
    FAILS(cudaErrorInvalidValue, cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)(-1), 0));
}

/* What an H100 says, as a check of the simulator's: only on such a device. */
CASE(attributes_of_an_h100) {
    static struct cudaDeviceProp prop;
    OK(cudaGetDeviceProperties(&prop, 0));
    if (prop.major != 9 || prop.multiProcessorCount != 132) {
        skip("it is not an H100");
        return;
    }
    for (int attr = 1; attr < 160; attr++) {
        int value = 0;
        char what[40];
        cudaError_t result = cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)attr, 0);
        snprintf(what, sizeof what, "attribute %d: result", attr);
        ask(__LINE__, what, result);
        snprintf(what, sizeof what, "attribute %d: value", attr);
        ask(__LINE__, what, result ? 0 : value);
    }
}

CASE(properties) {
    static struct cudaDeviceProp prop;
    int value = 0;
    OK(cudaGetDeviceProperties(&prop, 0));
    IS(prop.name[0] != '\0');
    EQUAL(prop.warpSize, 32);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
    EQUAL(prop.multiProcessorCount, value);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    EQUAL(prop.sharedMemPerBlockOptin, value);
    size_t available = 0, total = 0;
    OK(cudaMemGetInfo(&available, &total));
    EQUAL(prop.totalGlobalMem, total);
}

CASE(properties_that_are_refused) {
    static struct cudaDeviceProp prop;
    FAILS(cudaErrorInvalidDevice, cudaGetDeviceProperties(&prop, 99));
    FAILS(cudaErrorInvalidDevice, cudaGetDeviceProperties(&prop, -1));
    FAILS(cudaErrorInvalidValue, cudaGetDeviceProperties(NULL, 0));
}

CASE(a_devices_pci_id) {
    char id[32] = "";
    int device = 99;
    OK(cudaDeviceGetPCIBusId(id, sizeof id, 0));
    EQUAL(strlen(id), strlen("0000:00:00.0"));
    for (char *c = id; *c; c++)
        IS(!isupper((unsigned char)*c));
    OK(cudaDeviceGetByPCIBusId(&device, id));
    EQUAL(device, 0);
    OK(cudaDeviceGetByPCIBusId(&device, id + 5));
    id[strlen(id) - 2] = '\0';
    OK(cudaDeviceGetByPCIBusId(&device, id));
}

CASE(pci_ids_that_are_refused) {
    char id[32] = "";
    int device;
    FAILS(cudaErrorInvalidValue, cudaDeviceGetPCIBusId(NULL, 32, 0));
    FAILS(cudaErrorInvalidDevice, cudaDeviceGetPCIBusId(id, 32, 99));
    FAILS(cudaErrorInvalidValue, cudaDeviceGetPCIBusId(id, 5, 0));
    FAILS(cudaErrorInvalidValue, cudaDeviceGetPCIBusId(id, 12, 0));
    SAYS(cudaSuccess, cudaDeviceGetPCIBusId(id, 13, 0));
    FAILS(cudaErrorInvalidValue, cudaDeviceGetPCIBusId(id, 0, 0));
    FAILS(cudaErrorInvalidValue, cudaDeviceGetByPCIBusId(&device, NULL));
    FAILS(cudaErrorInvalidValue, cudaDeviceGetByPCIBusId(NULL, "0000:17:00.0"));
    FAILS(cudaErrorInvalidValue, cudaDeviceGetByPCIBusId(&device, "nonsense"));
    FAILS(cudaErrorInvalidValue, cudaDeviceGetByPCIBusId(&device, ""));
    FAILS(cudaErrorInvalidDevice, cudaDeviceGetByPCIBusId(&device, "0000:ee:1f.7"));
    FAILS(cudaErrorInvalidDevice, cudaDeviceGetByPCIBusId(&device, "0000:ee:1f.0"));
}

/* ---- limits
 * ----------------------------------------------------------------------------------------- */

CASE(limits) {
    static const enum cudaLimit all[] = {cudaLimitStackSize,
                                         cudaLimitPrintfFifoSize,
                                         cudaLimitMallocHeapSize,
                                         cudaLimitDevRuntimePendingLaunchCount,
                                         cudaLimitMaxL2FetchGranularity,
                                         cudaLimitPersistingL2CacheSize};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        size_t value = 12345;
        OK(cudaDeviceGetLimit(&value, all[i]));
        ASK(value);
    }
}

CASE(limits_that_are_refused) {
    size_t value;
    FAILS(cudaErrorInvalidValue, cudaDeviceGetLimit(NULL, cudaLimitStackSize));
    FAILS(cudaErrorInvalidValue, cudaDeviceGetLimit(&value, (enum cudaLimit)99));
    FAILS(cudaErrorInvalidValue, cudaDeviceSetLimit((enum cudaLimit)99, 1));
    FAILS(cudaErrorInvalidValue, cudaDeviceGetLimit(&value, (enum cudaLimit)(-1)));
    FAILS(cudaErrorUnsupportedLimit, cudaDeviceGetLimit(&value, cudaLimitDevRuntimeSyncDepth));
    FAILS(cudaErrorUnsupportedLimit, cudaDeviceSetLimit(cudaLimitDevRuntimeSyncDepth, 2));
}

CASE(the_stacks_size) {
    static const size_t asked[] = {1000, 1024, 1, 0, 2000, (size_t)1 << 30, SIZE_MAX};
    size_t before = 0;
    OK(cudaDeviceGetLimit(&before, cudaLimitStackSize));
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        size_t value = 0;
        ASK(cudaDeviceSetLimit(cudaLimitStackSize, asked[i]));
        OK(cudaDeviceGetLimit(&value, cudaLimitStackSize));
        ASK(value);
    }
    OK(cudaDeviceSetLimit(cudaLimitStackSize, before));
}

CASE(other_limits_are_set) {
    static const struct {
        enum cudaLimit limit;
        size_t asked;
    } all[] = {{cudaLimitPrintfFifoSize, 2 * MIB},
               {cudaLimitPrintfFifoSize, 1000},
               {cudaLimitMallocHeapSize, 16 * MIB},
               {cudaLimitMallocHeapSize, 1000},
               {cudaLimitDevRuntimePendingLaunchCount, 1000},
               {cudaLimitDevRuntimePendingLaunchCount, 0},
               {cudaLimitMaxL2FetchGranularity, 0},
               {cudaLimitMaxL2FetchGranularity, 32},
               {cudaLimitMaxL2FetchGranularity, 100},
               {cudaLimitMaxL2FetchGranularity, 128},
               {cudaLimitMaxL2FetchGranularity, 129},
               {cudaLimitPersistingL2CacheSize, MIB},
               {cudaLimitPersistingL2CacheSize, 1000},
               {cudaLimitPersistingL2CacheSize, (size_t)1 << 30}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        size_t before = 0, value = 0;
        OK(cudaDeviceGetLimit(&before, all[i].limit));
        ASK(cudaDeviceSetLimit(all[i].limit, all[i].asked));
        OK(cudaDeviceGetLimit(&value, all[i].limit));
        ASK(value);
        OK(cudaDeviceSetLimit(all[i].limit, before));
    }
}

/* ---- flags
 * ------------------------------------------------------------------------------------------ */

LONE_CASE(flags_before_anything) {
    unsigned flags = 99;
    OK(cudaGetDeviceFlags(&flags));
    EQUAL(flags, cudaDeviceMapHost);
    OK(cudaFree(NULL));
    OK(cudaGetDeviceFlags(&flags));
    EQUAL(flags, cudaDeviceMapHost);
    FAILS(cudaErrorInvalidValue, cudaGetDeviceFlags(NULL));
}

LONE_CASE(flags_after_a_context_was_made) {
    unsigned flags = 99;
    OK(cudaFree(NULL));
    SAYS(cudaSuccess, cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync));
    OK(cudaGetDeviceFlags(&flags));
    EQUAL(flags, 12);
}

LONE_CASE(flags_are_set) {
    static const unsigned all[] = {cudaDeviceScheduleSpin,
                                   cudaDeviceScheduleYield,
                                   cudaDeviceScheduleBlockingSync,
                                   cudaDeviceMapHost,
                                   cudaDeviceLmemResizeToMax,
                                   cudaDeviceSyncMemops,
                                   3,
                                   6,
                                   5,
                                   0x20,
                                   0x40,
                                   0x100,
                                   0x80000000U,
                                   0};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        unsigned flags = 99;
        ASK(cudaSetDeviceFlags(all[i]));
        OK(cudaGetDeviceFlags(&flags));
        ASK(flags);
    }
}

LONE_CASE(flags_after_a_reset) {
    unsigned flags = 99;
    OK(cudaSetDeviceFlags(cudaDeviceScheduleYield));
    OK(cudaFree(NULL));
    OK(cudaDeviceReset());
    OK(cudaGetDeviceFlags(&flags));
    EQUAL(flags, 0);
}

LONE_CASE(initialising_a_device) {
    unsigned flags = 99;
    OK(cudaInitDevice(0, cudaDeviceScheduleBlockingSync, cudaInitDeviceFlagsAreValid));
    OK(cudaGetDeviceFlags(&flags));
    EQUAL(flags, 12);
    OK(cudaInitDevice(0, cudaDeviceScheduleYield, 0));
    OK(cudaGetDeviceFlags(&flags));
    EQUAL(flags, 12);
    FAILS(cudaErrorInvalidDevice, cudaInitDevice(99, 0, 0));
    FAILS(cudaErrorInvalidValue, cudaInitDevice(0, 0x100, cudaInitDeviceFlagsAreValid));
    SAYS(cudaSuccess, cudaInitDevice(0, 0x100, 0));
    SAYS(cudaSuccess, cudaInitDevice(0, 0, 2));
}

/* ---- caches
 * ------------------------------------------------------------------------------------------- */

CASE(the_cache) {
    enum cudaFuncCache cache = (enum cudaFuncCache)99;
    OK(cudaDeviceGetCacheConfig(&cache));
    EQUAL(cache, cudaFuncCachePreferNone);
    OK(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
    OK(cudaDeviceGetCacheConfig(&cache));
    EQUAL(cache, 2);
    OK(cudaDeviceSetCacheConfig(cudaFuncCachePreferNone));
    FAILS(cudaErrorInvalidValue, cudaDeviceGetCacheConfig(NULL));
    FAILS(cudaErrorInvalidValue, cudaDeviceSetCacheConfig((enum cudaFuncCache)9));
    OK(cudaCtxResetPersistingL2Cache());
}

/* ---- resetting
 * -------------------------------------------------------------------------------------------- */

LONE_CASE(a_reset_takes_everything_back) {
    char *memory;
    struct cudaPointerAttributes a;
    OK(cudaMalloc((void **)&memory, 64 * MIB));
    OK(cudaDeviceReset());
    OK(cudaPointerGetAttributes(&a, memory));
    EQUAL(a.type, cudaMemoryTypeUnregistered);
    FAILS(cudaErrorInvalidValue, cudaFree(memory));
    OK(cudaMalloc((void **)&memory, 1000));
    OK(cudaFree(memory));
}

LONE_CASE(a_reset_before_anything) {
    OK(cudaDeviceReset());
    OK(cudaDeviceReset());
    OK(cudaDeviceSynchronize());
}

LONE_CASE(a_reset_puts_limits_back) {
    size_t before = 0, after = 0;
    OK(cudaDeviceGetLimit(&before, cudaLimitStackSize));
    OK(cudaDeviceSetLimit(cudaLimitStackSize, 4096));
    OK(cudaDeviceReset());
    OK(cudaDeviceGetLimit(&after, cudaLimitStackSize));
    EQUAL(after, before);
}

LONE_CASE(a_reset_keeps_the_current_device_and_the_last_error) {
    int device = 99;
    (void)cudaSetDevice(99);
    OK(cudaDeviceReset());
    SAYS(cudaErrorInvalidDevice, cudaGetLastError());
    OK(cudaGetDevice(&device));
    EQUAL(device, 0);
}

LONE_CASE(a_reset_waits) {
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    WAITS(true, stream, cudaDeviceReset());
}

/* ---- peers
 * ------------------------------------------------------------------------------------------------
 */

CASE(no_device_is_its_own_peer) {
    int can = 99;
    OK(cudaDeviceCanAccessPeer(&can, 0, 0));
    EQUAL(can, 0);
    FAILS(cudaErrorInvalidDevice, cudaDeviceCanAccessPeer(&can, 0, 99));
    FAILS(cudaErrorInvalidDevice, cudaDeviceCanAccessPeer(&can, 99, 0));
    FAILS(cudaErrorInvalidValue, cudaDeviceCanAccessPeer(NULL, 0, 0));
    FAILS(cudaErrorInvalidDevice, cudaDeviceEnablePeerAccess(0, 0));
    FAILS(cudaErrorInvalidDevice, cudaDeviceEnablePeerAccess(99, 0));
    FAILS(cudaErrorInvalidValue, cudaDeviceEnablePeerAccess(0, 1));
    FAILS(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(0));
    FAILS(cudaErrorInvalidDevice, cudaDeviceDisablePeerAccess(99));
}

CASE(peers_of_each_other) {
    int can = 99;
    NEEDS_DEVICES(2);
    OK(cudaDeviceCanAccessPeer(&can, 0, 1));
    if (!can) {
        skip("the devices are no peers");
        return;
    }
    FAILS(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(1));
    FAILS(cudaErrorInvalidValue, cudaDeviceEnablePeerAccess(1, 1));
    OK(cudaDeviceEnablePeerAccess(1, 0));
    FAILS(cudaErrorPeerAccessAlreadyEnabled, cudaDeviceEnablePeerAccess(1, 0));
    OK(cudaDeviceDisablePeerAccess(1));
}

CASE(attributes_of_peers) {
    int value = 99;
    FAILS(cudaErrorInvalidDevice, cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 0));
    FAILS(cudaErrorInvalidDevice, cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 99));
    FAILS(cudaErrorInvalidValue, cudaDeviceGetP2PAttribute(NULL, cudaDevP2PAttrAccessSupported, 0, 0));
    FAILS(cudaErrorInvalidDevice, cudaDeviceGetP2PAttribute(&value, (enum cudaDeviceP2PAttr)99, 0, 0));
    NEEDS_DEVICES(2);
    OK(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 1));
    FAILS(cudaErrorInvalidValue,
          cudaDeviceGetP2PAttribute(&value, (enum cudaDeviceP2PAttr)99, 0, 1));
}
