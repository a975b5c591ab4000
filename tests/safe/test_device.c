/* Devices: what is asked and set, the current one, waiting and resetting. */
#include "safe.h"

static volatile int no_such = 77;

static void counts(void **state) {
    (void)state;
    int count = -1;
    OK(acu_device_get_count(&count));
    assert_true(count >= 1);
    if (is_simulated())
        assert_int_equal(count, another_device() + 1);
    FAILS(acu_device_get_count(NULL), ACU_ERROR_ARGUMENT, "'count' is NULL");
}

static void reports_why_there_is_no_device(void **state) {
    (void)state;
    int count = -1;
    ONLY_SIMULATED("a machine without a driver");
    begin_on("driver=none");
    acu_clear_error();
    assert_int_not_equal(acu_device_get_count(&count), 0);
    assert_int_equal(count, 0);
    assert_true(*acu_last_error_message());
}

static void current_device_is_the_threads(void **state) {
    (void)state;
    acu_device device = -1;
    OK(acu_device_set_current(another_device()));
    OK(acu_device_get_current(&device));
    assert_int_equal(device, another_device());
    OK(acu_device_set_current(ACU_DEVICE_CURRENT));
    OK(acu_device_set_current(0));
    FAILS(acu_device_set_current(5), 101, "device 5 does not exist; there ");
    FAILS(acu_device_get_current(NULL), ACU_ERROR_ARGUMENT, "NULL");
}

static acu_result in_scope(acu_device device, acu_device *seen) {
    ACU_AUTO(acu_device_guard) guard = {0};
    ACU_TRY(acu_device_enter(&guard, device));
    return acu_device_get_current(seen);
}

static void a_guard_changes_it_back(void **state) {
    (void)state;
    acu_device device = -1;
    OK(in_scope(another_device(), &device));
    assert_int_equal(device, another_device());
    OK(acu_device_get_current(&device));
    assert_int_equal(device, 0);
    FAILS(in_scope(9, &device), 101, "device 9 does not exist; there ");
    FAILS(acu_device_enter(NULL, 0), ACU_ERROR_ARGUMENT, "'guard' is NULL");
    OK(acu_device_leave(NULL));
    acu_device_guard guard = {0};
    OK(acu_device_enter(&guard, another_device()));
    OK(acu_device_leave(&guard));
    OK(acu_device_leave(&guard)); /* the second time does nothing */
    OK(acu_device_enter(&guard, another_device()));
    if (another_device())
        FAILS(acu_device_enter(&guard, 0), ACU_ERROR_STATE, "the guard has changed the device");
    OK(acu_device_leave(&guard));
    OK(acu_device_get_current(&device));
    assert_int_equal(device, 0);
}

static void describes(void **state) {
    (void)state;
    acu_device_info info;
    int value = 0;
    acu_device device = another_device();
    char pci[ACU_PCI_BUS_ID_SIZE], uuid[ACU_UUID_SIZE];
    acu_device same = -1;
    OK(acu_device_get_info(device, &info));
    assert_true(*info.name);
    assert_true(info.multiprocessors > 0);
    OK(acu_device_get_attribute(device, ACU_DEVICE_MULTIPROCESSORS, &value));
    assert_int_equal(info.multiprocessors, value);
    OK(acu_device_get_attribute(device, ACU_DEVICE_COMPUTE_MAJOR, &value));
    assert_int_equal(info.compute_major, value);
    OK(acu_device_get_pci_bus_id(device, pci));
    assert_string_equal(pci, info.pci_bus_id);
    OK(acu_device_get_by_pci_bus_id(pci, &same));
    assert_int_equal(same, device);
    OK(acu_device_get_uuid(device, uuid));
    assert_memory_equal(uuid, "GPU-", 4);
    assert_int_equal(strlen(uuid), 40);
    FAILS(acu_device_get_info(64, &info), 101, "device 64 does not exist; there ");
    FAILS(acu_device_get_info(0, NULL), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_device_get_attribute(0, 1, NULL), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_device_get_attribute(0, -3, &value), 1, "cudaDeviceGetAttribute");
    FAILS(acu_device_get_pci_bus_id(0, NULL), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_device_get_uuid(0, NULL), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_device_get_by_pci_bus_id(NULL, &same), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_device_get_by_pci_bus_id("nonsense", &same), 1, "nonsense");
}

static void info_is_the_same_on_old_runtimes(void **state) {
    (void)state;
    acu_device_info now, before;
    OK(acu_device_get_info(0, &now));
    ONLY_SIMULATED("another runtime in the same process");
    begin_on("devices=2,memory=1GiB,runtime=11.8,driver=11.8");
    OK(acu_device_get_info(0, &before));
    assert_string_equal(now.name, before.name);
    assert_int_equal(now.shared_memory_per_block_optin, before.shared_memory_per_block_optin);
}

static void memory_limits_flags_priorities(void **state) {
    (void)state;
    size_t left = 0, total = 0, limit = 0;
    int least = 5, greatest = 5;
    unsigned flags = 99;
    OK(acu_device_get_memory(0, &left, &total));
    assert_true(total > 0);
    if (is_simulated())
        assert_int_equal(total, (size_t)1 << 30u);
    assert_true(left <= total);
    OK(acu_device_get_memory(another_device(), NULL, NULL));
    OK(acu_device_get_priority_range(0, &least, &greatest));
    assert_true(greatest <= least);
    OK(acu_device_set_limit(0, ACU_LIMIT_STACK_SIZE, 4096));
    OK(acu_device_get_limit(0, ACU_LIMIT_STACK_SIZE, &limit));
    assert_true(limit >= 4096);
    if (is_since(13040))
        OK(acu_device_get_limit(0, ACU_LIMIT_BLOCK_MEMORY_SIZE, &limit));
    else if (acu_loaded(ACU_CUDART)->version < 13040)
        FAILS(acu_device_get_limit(0, ACU_LIMIT_BLOCK_MEMORY_SIZE, &limit), 801, "needs CUDA 13.4");
    FAILS(acu_device_get_limit(0, (acu_device_limit)no_such, &limit), 1, "cudaDeviceGetLimit");
    FAILS(acu_device_get_limit(0, ACU_LIMIT_STACK_SIZE, NULL), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_device_set_limit(0, (acu_device_limit)no_such, 1), 1, "cudaDeviceSetLimit");
    assert_non_null(strstr(acu_last_error_details().hint, "no such limit"));
    FAILS(acu_device_set_limit(0, ACU_LIMIT_PERSISTING_L2_SIZE, (size_t)1 << 40), 1, "");
    assert_non_null(strstr(acu_last_error_details().hint, "MaxPersistingL2CacheSize"));
    OK(acu_device_set_flags(another_device(), ACU_DEVICE_BLOCK));
    OK(acu_device_get_flags(another_device(), &flags));
    assert_int_equal(flags & 7u, ACU_DEVICE_BLOCK);
    if (is_since(12010)) {
        OK(acu_device_set_flags(another_device(), ACU_DEVICE_SYNC_MEMORY_OPERATIONS));
        OK(acu_device_get_flags(another_device(), &flags));
        assert_true(flags & ACU_DEVICE_SYNC_MEMORY_OPERATIONS);
        OK(acu_device_set_flags(another_device(), ACU_DEVICE_BLOCK));
    }
    FAILS(acu_device_get_flags(another_device(), NULL), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_device_get_priority_range(0, NULL, &greatest), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_device_get_memory(3, &left, NULL), 101, "device 3 does not exist; there ");
}

static void peers(void **state) {
    (void)state;
    NEEDS_TWO_DEVICES();
    bool can = false;
    OK(acu_device_can_access_peer(0, 1, &can));
    if (can) {
        OK(acu_device_enable_peer_access(0, 1));
        OK(acu_device_enable_peer_access(0, 1));
        OK(acu_device_disable_peer_access(0, 1));
        OK(acu_device_disable_peer_access(0, 1));
    }
    FAILS(acu_device_can_access_peer(0, 1, NULL), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_device_can_access_peer(0, 4, &can), 101, "device 4 does not exist; there ");
    FAILS(acu_device_enable_peer_access(0, 4), 101, "device 4 does not exist; there ");
    FAILS(acu_device_disable_peer_access(0, 4), 101, "device 4 does not exist; there ");
}

/* A failure names the number that CUDA refuses, and the device. */
static void errors_name_what_is_asked(void **state) {
    (void)state;
    const acu_device_limit limit = (acu_device_limit)no_such;
    const int number = no_such;
    char limits[64], caches[64], memory[64];
    size_t value = 0;
    uint64_t bytes = 0;
    snprintf(limits, sizeof limits, "; limit %d of device 0", number);
    snprintf(caches, sizeof caches, "; cache configuration %d of device 0", number);
    snprintf(memory, sizeof memory, "; graph memory attribute %d of device 0", number);
    FAILS(acu_device_get_limit(0, limit, &value), 1, limits);
    FAILS(acu_device_set_limit(0, limit, 1), 1, limits);
    FAILS(acu_device_set_flags(0, 3), 1, "; flags 3 of device 0");
    FAILS(acu_device_set_cache_config(0, (acu_cache_config)no_such), 1, caches);
    FAILS(acu_graph_memory_get_attribute(0, (acu_graph_memory_attribute)no_such, &bytes), 1,
          memory);
    FAILS(acu_graph_memory_reset(0, (acu_graph_memory_attribute)no_such), 1, memory);
    FAILS(acu_graph_memory_reset(0, ACU_GRAPH_MEMORY_USED), 1,
          "; graph memory attribute 0 of device 0");
    FAILS(acu_device_get_by_pci_bus_id("", &(acu_device){0}), 1, "; PCI bus id \"\"");
}

static void links_to_peers(void **state) {
    (void)state;
    acu_peer_info info = {.performance_rank = 99};
    bool can = false;
    FAILS(acu_device_get_peer_info(0, 0, &info), ACU_ERROR_ARGUMENT,
          "'device' and 'peer' are both device 0");
    FAILS(acu_device_get_peer_info(0, 7, &info), 101, "device 7 does not exist; there ");
    FAILS(acu_device_get_peer_info(0, 1, NULL), ACU_ERROR_ARGUMENT, "'info' is NULL");
    NEEDS_TWO_DEVICES();
    OK(acu_device_set_current(1));
    acu_clear_error();
    OK(acu_device_get_peer_info(ACU_DEVICE_CURRENT, 0, &info));
    assert_int_equal(acu_last_error(), 0); /* also where the runtime lacks an attribute */
    OK(acu_device_can_access_peer(1, 0, &can));
    assert_int_equal(info.access, can);
    assert_true(info.performance_rank >= 0);
    if (is_simulated())
        assert_true(info.access && info.native_atomics && !info.some_native_atomics);
    OK(acu_device_set_current(0));
}

static void atomics_over_links(void **state) {
    (void)state;
    unsigned can = 99;
    if (acu_loaded(ACU_CUDART)->version < 13000) {
        FAILS(acu_device_get_host_atomics(0, ACU_ATOMIC_CAS, &can), 801, "needs CUDA 13.0");
        if (another_device())
            FAILS(acu_device_get_peer_atomics(0, 1, ACU_ATOMIC_CAS, &can), 801, "needs CUDA 13.0");
        return;
    }
    if (!is_since(13000))
        return; /* the driver's own refusal, whose words are the runtime's */
    OK(acu_device_get_host_atomics(0, ACU_ATOMIC_CAS, &can));
    if (is_simulated())
        assert_int_equal(can, 0); /* an x86 host has no native ones */
    FAILS(acu_device_get_host_atomics(0, (acu_atomic_operation)no_such, &can), 1,
          "cudaDeviceGetHostAtomicCapabilities");
    FAILS(acu_device_get_peer_atomics(0, 0, ACU_ATOMIC_CAS, &can), ACU_ERROR_ARGUMENT,
          "'device' and 'peer' are both device 0");
    NEEDS_TWO_DEVICES();
    OK(acu_device_get_peer_atomics(0, 1, ACU_ATOMIC_INTEGER_ADD, &can));
    if (is_simulated())
        assert_true(can & ACU_ATOMIC_SCALAR_32 && can & ACU_ATOMIC_SIGNED);
    FAILS(acu_device_get_peer_atomics(0, 1, (acu_atomic_operation)no_such, &can), 1,
          "cudaDeviceGetP2PAtomicCapabilities");
}

static void writes_of_other_devices(void **state) {
    (void)state;
    acu_rdma_info info = {.ordered = ACU_RDMA_ALL_DEVICES};
    acu_device current = -1;
    int options = -1;
    const acu_device device = another_device();
    OK(acu_device_get_rdma_info(device, &info));
    OK(acu_device_get_attribute(device, 117, &options)); /* …GPUDirectRDMAFlushWritesOptions */
    assert_int_equal(options & 3, info.flush_by_host + 2 * info.flush_by_stream);
    assert_true(info.ordered == ACU_RDMA_NOWHERE || info.ordered == ACU_RDMA_OWNER ||
                info.ordered == ACU_RDMA_ALL_DEVICES);
    if (info.flush_by_host || is_simulated()) {
        OK(acu_device_flush_rdma_writes(device, ACU_RDMA_OWNER));
        OK(acu_device_flush_rdma_writes(ACU_DEVICE_CURRENT, ACU_RDMA_ALL_DEVICES));
    }
    FAILS(acu_device_flush_rdma_writes(0, ACU_RDMA_NOWHERE), 1, "; scope 0 of device 0");
    FAILS(acu_device_flush_rdma_writes(0, (acu_rdma_scope)no_such), 1, "; scope 77 of device 0");
    OK(acu_device_get_current(&current));
    assert_int_equal(current, 0);
}

static void caches(void **state) {
    (void)state;
    acu_cache_config config = ACU_CACHE_PREFER_SHARED;
    const acu_device device = another_device();
    acu_device current = -1;
    OK(acu_device_set_cache_config(device, ACU_CACHE_PREFER_L1));
    OK(acu_device_get_cache_config(device, &config));
    assert_int_equal(config, ACU_CACHE_PREFER_L1);
    OK(acu_device_set_cache_config(device, ACU_CACHE_PREFER_NONE));
    FAILS(acu_device_set_cache_config(device, (acu_cache_config)no_such), 1,
          "cudaDeviceSetCacheConfig");
    OK(acu_device_reset_persisting_l2(device));
    OK(acu_device_get_current(&current));
    assert_int_equal(current, 0);
}

static void caches_during_a_capture(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    ACU_AUTO(acu_stream) *stream = NULL;
    OK(acu_stream_create(0, NULL, &stream));
    OK(acu_stream_begin_capture(noted(stream), NULL));
    OK(acu_device_set_cache_config(0, ACU_CACHE_PREFER_NONE));
    OK(acu_device_reset_persisting_l2(0));
    OK(acu_stream_end_capture(stream, &graph));
    OK(acu_graph_release(graph));
}

static void reset_spares_what_is_alive(void **state) {
    (void)state;
    acu_stream *stream = NULL;
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    OK(acu_device_synchronize(0));
    OK(acu_stream_create(0, NULL, &stream));
    FAILS(acu_device_reset(0), ACU_ERROR_STATE, "1 object of device 0 is still alive");
    if (another_device() != 0)
        OK(acu_device_reset(another_device()));
    OK(acu_stream_release(stream));
    OK(acu_device_reset(0));
    OK(acu_graph_create(&graph)); /* a graph may have something on any device */
    OK(acu_graph_add_empty(graph, NULL, 0, NULL));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    FAILS(acu_device_reset(0), ACU_ERROR_STATE, "2 objects of device 0 are still alive");
    OK(acu_graph_release(graph));
    FAILS(acu_device_reset(0), ACU_ERROR_STATE, "1 object of device 0 is still alive");
    OK(acu_exec_release(exec));
    OK(acu_device_reset(0));
    OK(acu_stream_create(0, NULL, &stream)); /* released, but its launch is under way */
    OK(acu_graph_create(&graph));
    OK(acu_graph_add_host(graph, NULL, 0, (acu_closure){work_50_ms, NULL, NULL}, NULL));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_exec_launch(exec, stream));
    OK(acu_exec_release(exec));
    OK(acu_graph_release(graph));
    OK(acu_stream_release(stream));
    OK(acu_device_reset(0));
    FAILS(acu_device_reset(3), 101, "device 3 does not exist; there ");
    FAILS(acu_device_synchronize(3), 101, "device 3 does not exist; there ");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(counts),
        TEST(reports_why_there_is_no_device),
        TEST(current_device_is_the_threads),
        TEST(a_guard_changes_it_back),
        TEST(describes),
        TEST(info_is_the_same_on_old_runtimes),
        TEST(memory_limits_flags_priorities),
        TEST(peers),
        TEST(errors_name_what_is_asked),
        TEST(links_to_peers),
        TEST(atomics_over_links),
        TEST(writes_of_other_devices),
        TEST(caches),
        TEST(caches_during_a_capture),
        TEST(reset_spares_what_is_alive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
