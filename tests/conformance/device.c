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
    int list[] = {0}, wrong[] = {99};
    OK(cudaSetValidDevices(list, 1));
    FAILS(cudaErrorInvalidDevice, cudaSetValidDevices(wrong, 1));
    FAILS(cudaErrorInvalidValue, cudaSetValidDevices(NULL, 1));
    SAYS(cudaSuccess, cudaSetValidDevices(NULL, 0));
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
    IS(prop.totalGlobalMem == total);
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
    static const struct {
        enum cudaLimit limit;
        size_t value;
    } all[] = {{cudaLimitStackSize, 1024},
               {cudaLimitMallocHeapSize, 8 * MIB},
               {cudaLimitDevRuntimePendingLaunchCount, 2048},
               {cudaLimitMaxL2FetchGranularity, 64}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        size_t value = 12345;
        OK(cudaDeviceGetLimit(&value, all[i].limit));
        EQUAL(value, all[i].value);
    }
}

CASE(limits_by_the_size_of_the_device) {
    size_t value = 12345;
    int processors = 0, cache = 0;
    OK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
    OK(cudaDeviceGetLimit(&value, cudaLimitPrintfFifoSize));
    IS(value == (size_t)processors * 64 * KIB);
    OK(cudaDeviceGetAttribute(&cache, cudaDevAttrMaxPersistingL2CacheSize, 0));
    OK(cudaDeviceGetLimit(&value, cudaLimitPersistingL2CacheSize));
    IS(value == (size_t)cache / 10 * 3);
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

typedef struct setting {
    enum cudaLimit limit;
    size_t asked;
    cudaError_t code;
    size_t got;
} setting;

static void set_limits(const setting *all, size_t count) {
    for (size_t i = 0; i < count; i++) {
        size_t before = 0, value = 0;
        OK(cudaDeviceGetLimit(&before, all[i].limit));
        SAYS(all[i].code, cudaDeviceSetLimit(all[i].limit, all[i].asked));
        OK(cudaDeviceGetLimit(&value, all[i].limit));
        IS(value == (all[i].code ? before : all[i].got));
        OK(cudaDeviceSetLimit(all[i].limit, before));
    }
}
#define SET_LIMITS(all) set_limits(all, sizeof(all) / sizeof *(all))

CASE(the_stacks_size) {
    static const setting all[] = {{cudaLimitStackSize, 1000, cudaSuccess, 1008},
                                  {cudaLimitStackSize, 1024, cudaSuccess, 1024},
                                  {cudaLimitStackSize, 1, cudaSuccess, 16},
                                  {cudaLimitStackSize, 0, cudaSuccess, 0},
                                  {cudaLimitStackSize, 2000, cudaSuccess, 2000},
                                  {cudaLimitStackSize, 511 * KIB, cudaSuccess, 511 * KIB},
                                  {cudaLimitStackSize, 512 * KIB, cudaErrorInvalidValue, 0},
                                  {cudaLimitStackSize, 1 << 30, cudaErrorInvalidValue, 0},
                                  {cudaLimitStackSize, SIZE_MAX, cudaErrorInvalidValue, 0}};
    SET_LIMITS(all);
}

CASE(room_to_print_and_to_allocate) {
    static const setting all[] = {{cudaLimitPrintfFifoSize, 2 * MIB, cudaSuccess, 2 * MIB},
                                  {cudaLimitPrintfFifoSize, 1000, cudaSuccess, 512 * KIB},
                                  {cudaLimitMallocHeapSize, 16 * MIB, cudaSuccess, 16 * MIB},
                                  {cudaLimitMallocHeapSize, 1000, cudaSuccess, 4 * MIB}};
    SET_LIMITS(all);
}

CASE(how_many_launches_may_be_pending) {
    static const setting all[] = {{cudaLimitDevRuntimePendingLaunchCount, 1000, cudaSuccess, 1000},
                                  {cudaLimitDevRuntimePendingLaunchCount, 0, cudaSuccess, 32}};
    SET_LIMITS(all);
}

CASE(how_much_is_fetched) {
    static const setting all[] = {{cudaLimitMaxL2FetchGranularity, 0, cudaSuccess, 0},
                                  {cudaLimitMaxL2FetchGranularity, 32, cudaSuccess, 32},
                                  {cudaLimitMaxL2FetchGranularity, 100, cudaSuccess, 100},
                                  {cudaLimitMaxL2FetchGranularity, 128, cudaSuccess, 128},
                                  {cudaLimitMaxL2FetchGranularity, 129, cudaErrorInvalidValue, 0}};
    SET_LIMITS(all);
}

CASE(how_much_cache_is_set_aside) {
    int cache = 0;
    OK(cudaDeviceGetAttribute(&cache, cudaDevAttrMaxPersistingL2CacheSize, 0));
    const size_t unit = (size_t)cache / 10;
    const setting all[] = {{cudaLimitPersistingL2CacheSize, MIB, cudaSuccess, unit},
                           {cudaLimitPersistingL2CacheSize, 1000, cudaSuccess, unit},
                           {cudaLimitPersistingL2CacheSize, unit, cudaSuccess, unit},
                           {cudaLimitPersistingL2CacheSize, unit + 1, cudaSuccess, 2 * unit},
                           {cudaLimitPersistingL2CacheSize, 0, cudaSuccess, 0},
                           {cudaLimitPersistingL2CacheSize, 1 << 30, cudaErrorInvalidValue, 0}};
    SET_LIMITS(all);
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

/* Before 12.1 the mask was narrower. Two of its bits have no name; they are taken and forgotten. */
LONE_CASE(flags_are_set) {
    const cudaError_t no = cudaErrorInvalidValue, since_12_1 = FROM(12010, cudaSuccess, no);
    const struct {
        unsigned asked;
        cudaError_t code;
        unsigned got;
    } all[] = {{cudaDeviceScheduleSpin, cudaSuccess, cudaDeviceScheduleSpin},
               {cudaDeviceScheduleYield, cudaSuccess, cudaDeviceScheduleYield},
               {cudaDeviceScheduleBlockingSync, cudaSuccess, cudaDeviceScheduleBlockingSync},
               {cudaDeviceMapHost, cudaSuccess, 0},
               {cudaDeviceLmemResizeToMax, cudaSuccess, cudaDeviceLmemResizeToMax},
               {0x20, since_12_1, 0},
               {0x40, since_12_1, 0},
               {3, no, 0},
               {6, no, 0},
               {5, no, 0},
               {0x100, no, 0},
               {0x80000000U, no, 0},
               {0, cudaSuccess, 0}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        unsigned before = 99, flags = 99;
        OK(cudaGetDeviceFlags(&before));
        SAYS(all[i].code, cudaSetDeviceFlags(all[i].asked));
        OK(cudaGetDeviceFlags(&flags));
        EQUAL(flags, all[i].code ? before : (all[i].got | cudaDeviceMapHost));
    }
}

LONE_CASE(a_flag_that_came_later) {
    unsigned flags = 99;
    SAYS(cudaSuccess, cudaSetDeviceFlags(cudaDeviceSyncMemops));
    OK(cudaGetDeviceFlags(&flags));
    EQUAL(flags, cudaDeviceSyncMemops | cudaDeviceMapHost);
}

LONE_CASE(flags_after_a_reset) {
    unsigned flags = 99;
    OK(cudaSetDeviceFlags(cudaDeviceScheduleYield));
    OK(cudaFree(NULL));
    OK(cudaDeviceReset());
    OK(cudaGetDeviceFlags(&flags));
    EQUAL(flags, 0);
    OK(cudaFree(NULL));
    OK(cudaGetDeviceFlags(&flags));
    EQUAL(flags, 8);
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
    FAILS(cudaErrorPeerAccessUnsupported, cudaDeviceEnablePeerAccess(0, 0));
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
    FAILS(cudaErrorInvalidDevice,
          cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 0));
    FAILS(cudaErrorInvalidDevice,
          cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 99));
    FAILS(cudaErrorInvalidValue,
          cudaDeviceGetP2PAttribute(NULL, cudaDevP2PAttrAccessSupported, 0, 0));
    FAILS(cudaErrorInvalidDevice,
          cudaDeviceGetP2PAttribute(&value, (enum cudaDeviceP2PAttr)99, 0, 0));
    NEEDS_DEVICES(2);
    OK(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 1));
    FAILS(cudaErrorInvalidValue,
          cudaDeviceGetP2PAttribute(&value, (enum cudaDeviceP2PAttr)99, 0, 1));
}
