/* Devices and what they say of themselves. */
#include "sim_test.h"

#include <stdio.h>

TEST(counts_what_is_configured) {
    int count = 0;
    OK(cudaGetDeviceCount(&count));
    assert_int_equal(count, 2);
    FAILS(cudaErrorInvalidValue, cudaGetDeviceCount(NULL));
}

TEST(no_device) {
    int count = -1, device;
    acu_sim_reset("devices=0");
    FAILS(cudaErrorNoDevice, cudaGetDeviceCount(&count));
    assert_int_equal(count, -1); /* as on a GPU, by all runtimes */
    FAILS(cudaErrorNoDevice, cudaGetDevice(&device));
    FAILS(cudaErrorNoDevice, cudaSetDevice(0));
    FAILS(cudaErrorNoDevice, cudaDeviceSynchronize());
}

TEST(current_device_is_the_first) {
    int device = -1;
    OK(cudaGetDevice(&device));
    assert_int_equal(device, 0);
    FAILS(cudaErrorInvalidValue, cudaGetDevice(NULL));
}

TEST(sets_the_device) {
    int device = -1;
    OK(cudaSetDevice(1));
    OK(cudaGetDevice(&device));
    assert_int_equal(device, 1);
}

TEST(there_is_no_such_device) {
    int device = -1;
    FAILS(cudaErrorInvalidDevice, cudaSetDevice(2));
    FAILS(cudaErrorInvalidDevice, cudaSetDevice(-1));
    OK(cudaGetDevice(&device));
    assert_int_equal(device, 0);
}

TEST(initialises_a_device) {
    unsigned flags = 0;
    OK(cudaInitDevice(1, cudaDeviceScheduleSpin, cudaInitDeviceFlagsAreValid));
    OK(cudaInitDevice(0, 0, 0));
    OK(cudaSetDevice(1));
    OK(cudaGetDeviceFlags(&flags));
    assert_int_equal(flags & cudaDeviceScheduleMask, cudaDeviceScheduleSpin);
    FAILS(cudaErrorInvalidDevice, cudaInitDevice(2, 0, 0));
    FAILS(cudaErrorInvalidValue, cudaInitDevice(0, 3, cudaInitDeviceFlagsAreValid));
    OK(cudaInitDevice(0, 3, 0)); /* nobody looks at them */
}

TEST(flags) {
    unsigned flags = 0;
    OK(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync));
    OK(cudaGetDeviceFlags(&flags));
    assert_int_equal(flags & cudaDeviceScheduleMask, cudaDeviceScheduleBlockingSync);
    FAILS(cudaErrorInvalidValue, cudaSetDeviceFlags(0x1000));
    FAILS(cudaErrorInvalidValue,
          cudaSetDeviceFlags(cudaDeviceScheduleSpin | cudaDeviceScheduleYield));
    FAILS(cudaErrorInvalidValue, cudaGetDeviceFlags(NULL));
}

static int attribute(enum cudaDeviceAttr id) {
    int value = -1;
    OK(cudaDeviceGetAttribute(&value, id, 0));
    return value;
}

TEST(attributes) {
    assert_int_equal(attribute(cudaDevAttrWarpSize), 32);
    assert_int_equal(attribute(cudaDevAttrMaxThreadsPerBlock), 1024);
    assert_int_equal(attribute(cudaDevAttrUnifiedAddressing), 1);
    assert_int_equal(attribute(cudaDevAttrComputeCapabilityMajor), 9);
    assert_int_equal(attribute(cudaDevAttrComputeCapabilityMinor), 0);
}

TEST(every_attribute_has_an_answer) {
    int value;
    for (int id = 1; id < 96; id++)
        if (id != 44)
            OK(cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)id, 1));
}

TEST(attribute_mistakes) {
    int value;
    FAILS(cudaErrorInvalidValue, cudaDeviceGetAttribute(NULL, cudaDevAttrWarpSize, 0));
    FAILS(cudaErrorInvalidDevice, cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 2));
    FAILS(cudaErrorInvalidValue, cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)0, 0));
    FAILS(cudaErrorInvalidValue, cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)9999, 0));
}

TEST(compute_capability_is_configured) {
    acu_sim_reset("cc=8.6");
    assert_int_equal(attribute(cudaDevAttrComputeCapabilityMajor), 8);
    assert_int_equal(attribute(cudaDevAttrComputeCapabilityMinor), 6);
    assert_int_equal(attribute(cudaDevAttrMaxThreadsPerMultiProcessor), 1536);
    assert_int_equal(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin), 99 * 1024);
    assert_int_equal(attribute(cudaDevAttrClusterLaunch), 0);
}

/* As the programming guide's table of compute capabilities has it. */
TEST(compute_capabilities_differ) {
    static const struct {
        const char *configuration;
        int threads, blocks, shared, of_block, reserved;
    } all[] = {{"cc=5.0", 2048, 32, 64, 48, 0},    {"cc=6.1", 2048, 32, 96, 48, 0},
               {"cc=7.0", 2048, 32, 96, 96, 0},    {"cc=7.2", 2048, 32, 96, 96, 0},
               {"cc=7.5", 1024, 16, 64, 64, 0},    {"cc=8.0", 2048, 32, 164, 163, 1},
               {"cc=8.7", 1536, 16, 164, 163, 1},  {"cc=8.9", 1536, 24, 100, 99, 1},
               {"cc=9.0", 2048, 32, 228, 227, 1},  {"cc=10.0", 2048, 32, 228, 227, 1},
               {"cc=11.0", 1536, 24, 228, 227, 1}, {"cc=12.1", 1536, 24, 100, 99, 1}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        acu_sim_reset(all[i].configuration);
        assert_int_equal(attribute(cudaDevAttrMaxThreadsPerMultiProcessor), all[i].threads);
        assert_int_equal(attribute(cudaDevAttrMaxBlocksPerMultiprocessor), all[i].blocks);
        assert_int_equal(attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor),
                         all[i].shared * 1024);
        assert_int_equal(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin),
                         all[i].of_block * 1024);
        assert_int_equal(attribute(cudaDevAttrReservedSharedMemoryPerBlock),
                         all[i].reserved * 1024);
    }
}

TEST(properties_agree_with_attributes) {
    struct cudaDeviceProp p;
    OK(cudaGetDeviceProperties(&p, 0));
    assert_int_equal(p.major, attribute(cudaDevAttrComputeCapabilityMajor));
    assert_int_equal(p.multiProcessorCount, attribute(cudaDevAttrMultiProcessorCount));
    assert_int_equal(p.sharedMemPerBlock, attribute(cudaDevAttrMaxSharedMemoryPerBlock));
    assert_int_equal(p.sharedMemPerBlockOptin, attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
    assert_int_equal(p.maxThreadsDim[2], attribute(cudaDevAttrMaxBlockDimZ));
    assert_int_equal(p.maxGridSize[0], attribute(cudaDevAttrMaxGridDimX));
    assert_int_equal(p.pciBusID, attribute(cudaDevAttrPciBusId));
    assert_int_equal(p.clusterLaunch, attribute(cudaDevAttrClusterLaunch));
    assert_int_equal(p.totalGlobalMem, (size_t)1 << 30);
    assert_true(p.name[0]);
}

TEST(property_mistakes) {
    struct cudaDeviceProp p;
    FAILS(cudaErrorInvalidDevice, cudaGetDeviceProperties(&p, 2));
    FAILS(cudaErrorInvalidValue, cudaGetDeviceProperties(NULL, 0));
}

TEST(devices_differ) {
    struct cudaDeviceProp a, b;
    OK(cudaGetDeviceProperties(&a, 0));
    OK(cudaGetDeviceProperties(&b, 1));
    assert_int_not_equal(memcmp(&a.uuid, &b.uuid, sizeof a.uuid), 0);
    assert_int_not_equal(a.pciBusID, b.pciBusID);
}

TEST(chooses_a_device) {
    int device = -1;
    struct cudaDeviceProp p;
    OK(cudaGetDeviceProperties(&p, 1));
    OK(cudaChooseDevice(&device, &p));
    assert_in_range(device, 0, 1);
    FAILS(cudaErrorInvalidValue, cudaChooseDevice(NULL, &p));
}

TEST(pci_id_round_trip) {
    char id[32], shorter[16];
    int device = -1;
    OK(cudaDeviceGetPCIBusId(id, sizeof id, 1));
    OK(cudaDeviceGetByPCIBusId(&device, id));
    assert_int_equal(device, 1);
    snprintf(shorter, sizeof shorter, "%.10s", id); /* without the function */
    OK(cudaDeviceGetByPCIBusId(&device, shorter));
    OK(cudaDeviceGetByPCIBusId(&device, id + 5)); /* without the domain */
    assert_int_equal(device, 1);
}

TEST(pci_id_mistakes) {
    char id[32];
    int device;
    FAILS(cudaErrorInvalidDevice, cudaDeviceGetPCIBusId(id, sizeof id, 7));
    FAILS(cudaErrorInvalidValue, cudaDeviceGetPCIBusId(NULL, sizeof id, 0));
    FAILS(cudaErrorInvalidValue, cudaDeviceGetPCIBusId(id, 4, 0));
    FAILS(cudaErrorInvalidDevice, cudaDeviceGetByPCIBusId(&device, "0000:ff:00.0"));
    FAILS(cudaErrorInvalidValue, cudaDeviceGetByPCIBusId(&device, "nonsense"));
    FAILS(cudaErrorInvalidValue, cudaDeviceGetByPCIBusId(NULL, "0000:17:00.0"));
}

TEST(limits) {
    size_t value = 0;
    OK(cudaDeviceGetLimit(&value, cudaLimitStackSize));
    assert_int_equal(value, 1024);
    OK(cudaDeviceSetLimit(cudaLimitStackSize, 4096));
    OK(cudaDeviceGetLimit(&value, cudaLimitStackSize));
    assert_int_equal(value, 4096);
    OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 << 20));
    OK(cudaDeviceGetLimit(&value, cudaLimitMallocHeapSize));
    assert_int_equal(value, 16 << 20);
}

TEST(limit_mistakes) {
    size_t value;
    FAILS(cudaErrorInvalidValue, cudaDeviceGetLimit(NULL, cudaLimitStackSize));
    FAILS(cudaErrorUnsupportedLimit, cudaDeviceGetLimit(&value, cudaLimitDevRuntimeSyncDepth));
}

TEST(cache_configuration) {
    enum cudaFuncCache cache;
    OK(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
    OK(cudaDeviceGetCacheConfig(&cache));
    assert_int_equal(cache, cudaFuncCachePreferL1);
    FAILS(cudaErrorInvalidValue, cudaDeviceGetCacheConfig(NULL));
}

TEST(stream_priorities) {
    int least = -9, greatest = 9;
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    assert_int_equal(least, 0);
    assert_true(greatest < 0);
    OK(cudaDeviceGetStreamPriorityRange(NULL, NULL));
}

TEST(peers_can_access_each_other) {
    int can = -1;
    OK(cudaDeviceCanAccessPeer(&can, 0, 1));
    assert_int_equal(can, 1);
    OK(cudaDeviceCanAccessPeer(&can, 0, 0));
    assert_int_equal(can, 0);
    FAILS(cudaErrorInvalidValue, cudaDeviceCanAccessPeer(NULL, 0, 1));
    FAILS(cudaErrorInvalidDevice, cudaDeviceCanAccessPeer(&can, 0, 2));
}

TEST(peer_access_is_enabled_once) {
    OK(cudaDeviceEnablePeerAccess(1, 0));
    FAILS(cudaErrorPeerAccessAlreadyEnabled, cudaDeviceEnablePeerAccess(1, 0));
    OK(cudaDeviceDisablePeerAccess(1));
    FAILS(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(1));
}

TEST(peer_access_mistakes) {
    FAILS(cudaErrorPeerAccessUnsupported, cudaDeviceEnablePeerAccess(0, 0));
    FAILS(cudaErrorInvalidDevice, cudaDeviceEnablePeerAccess(2, 0));
    FAILS(cudaErrorInvalidValue, cudaDeviceEnablePeerAccess(1, 1));
    FAILS(cudaErrorInvalidDevice, cudaDeviceDisablePeerAccess(2));
}

TEST(peer_attributes) {
    int value = -1;
    OK(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 1));
    assert_int_equal(value, 1);
    FAILS(cudaErrorInvalidDevice,
          cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 0));
    FAILS(cudaErrorInvalidValue,
          cudaDeviceGetP2PAttribute(NULL, cudaDevP2PAttrAccessSupported, 0, 1));
}

TEST(reset_takes_everything_back) {
    void *memory;
    cudaStream_t stream;
    size_t free_ = 0, total = 0;
    OK(cudaMalloc(&memory, 1 << 20));
    OK(cudaStreamCreate(&stream));
    OK(cudaDeviceReset());
    OK(cudaMemGetInfo(&free_, &total));
    assert_int_equal(free_, total);
    FAILS(cudaErrorInvalidValue, cudaFree(memory));
}

TEST(reset_leaves_other_devices) {
    void *memory;
    OK(cudaMalloc(&memory, 100));
    OK(cudaSetDevice(1));
    OK(cudaDeviceReset());
    OK(cudaFree(memory));
}

TEST(valid_devices) {
    int both[] = {1, 0}, wrong[] = {5};
    OK(cudaSetValidDevices(both, 2));
    FAILS(cudaErrorInvalidDevice, cudaSetValidDevices(wrong, 1));
    FAILS(cudaErrorInvalidValue, cudaSetValidDevices(both, 3));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        T(counts_what_is_configured),
        T(no_device),
        T(current_device_is_the_first),
        T(sets_the_device),
        T(there_is_no_such_device),
        T(initialises_a_device),
        T(flags),
        T(attributes),
        T(every_attribute_has_an_answer),
        T(attribute_mistakes),
        T(compute_capability_is_configured),
        T(compute_capabilities_differ),
        T(properties_agree_with_attributes),
        T(property_mistakes),
        T(devices_differ),
        T(chooses_a_device),
        T(pci_id_round_trip),
        T(pci_id_mistakes),
        T(limits),
        T(limit_mistakes),
        T(cache_configuration),
        T(stream_priorities),
        T(peers_can_access_each_other),
        T(peer_access_is_enabled_once),
        T(peer_access_mistakes),
        T(peer_attributes),
        T(reset_takes_everything_back),
        T(reset_leaves_other_devices),
        T(valid_devices),
    };
    return RUN(tests);
}
