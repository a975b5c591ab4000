/* Run-time gates, asked of a fake runtime and a fake driver. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <anycuda/cuda_types.h>
#include <anycuda/cudart_types.h>
#include <anycuda/load.h>
#include <anycuda/supports.h>

#include "loader/load.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* ---- a driver that answers what a test wants ---- */

enum { ATTRIBUTES = 256 };

static struct {
    int version; /* 0: there is no driver */
    int devices;
    CUresult init;
    int values[ATTRIBUTES];
    bool unknown[ATTRIBUTES];
    CUresult broken; /* what cuDeviceGetAttribute fails with */
    unsigned inits, runtime_calls;
} fake;

static CUresult driver_version(int *version) {
    *version = fake.version;
    return CUDA_SUCCESS;
}

static CUresult init(unsigned flags) {
    assert_int_equal(flags, 0);
    fake.inits++;
    return fake.init;
}

static CUresult get_count(int *count) {
    *count = fake.devices;
    return CUDA_SUCCESS;
}

static CUresult get_device(CUdevice *device, int ordinal) {
    assert_in_range(ordinal, 0, fake.devices - 1);
    *device = ordinal + 100; /* a handle is no ordinal */
    return CUDA_SUCCESS;
}

static CUresult get_attribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    assert_in_range(device, 100, 100 + fake.devices - 1);
    if (fake.broken)
        return fake.broken;
    if (fake.unknown[attribute])
        return CUDA_ERROR_INVALID_VALUE;
    *value = fake.values[attribute];
    return CUDA_SUCCESS;
}

static CUresult get_name(char *name, int size, CUdevice device) {
    snprintf(name, (size_t)size, "Made-up GPU %d", device - 100);
    return CUDA_SUCCESS;
}

static int runtime_call(void) {
    fake.runtime_calls++;
    return cudaErrorUnknown;
}

static void *resolve(const char *symbol, void *data) {
    static const struct {
        const char *name;
        acu_fn fn;
    } known[] = {
        {"cuDriverGetVersion", (acu_fn)driver_version},  {"cuInit", (acu_fn)init},
        {"cuDeviceGetCount", (acu_fn)get_count},         {"cuDeviceGet", (acu_fn)get_device},
        {"cuDeviceGetAttribute", (acu_fn)get_attribute}, {"cuDeviceGetName", (acu_fn)get_name},
    };
    acu_fn fn = strncmp(symbol, "cuda", 4) == 0 ? (acu_fn)runtime_call : NULL;
    void *address;
    (void)data;
    for (size_t i = 0; fake.version && i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, symbol) == 0)
            fn = known[i].fn;
    memcpy(&address, &fn, sizeof address);
    return address;
}

/* One device that has everything. */
static void fake_driver(int runtime, int driver) {
    acu_load_reset_for_tests();
    memset(&fake, 0, sizeof fake);
    fake.version = driver;
    fake.devices = 1;
    for (int i = 0; i < ATTRIBUTES; i++)
        fake.values[i] = 1;
    fake.values[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = 9;
    fake.values[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR] = 0;
    acu_load_options options = {.resolve = resolve, .version = runtime};
    if (runtime)
        assert_int_equal(acu_load(&options), 0);
    options = (acu_load_options){.library = ACU_CUDA, .resolve = resolve, .version = driver};
    if (driver)
        assert_int_equal(acu_load(&options), 0);
    acu_clear_error();
}

static void expect(acu_feature feature, int device, int code, const char *message) {
    int result = acu_supports(feature, device);
    if (strcmp(acu_last_error_message(), message) != 0)
        fail_msg("\"%s\" instead of \"%s\"", acu_last_error_message(), message);
    assert_int_equal(result, code);
    assert_int_equal(acu_last_error(), code);
    assert_int_equal(fake.runtime_calls, 0); /* the runtime's last error cannot have changed */
}

static void expect_there(acu_feature feature, int device) {
    acu_clear_error();
    expect(feature, device, 0, "");
}

/* What the last failure says to a program. */
static void expect_facts(acu_error_kind kind, acu_feature feature, int needed, int found) {
    const acu_error error = acu_last_error_details();
    acu_feature_info info;
    assert_int_equal(acu_feature_get_info(feature, &info), 0);
    assert_int_equal(error.kind, kind);
    assert_int_equal(error.feature, feature);
    assert_int_equal(error.since, info.since);
    assert_int_equal(error.until, info.until);
    assert_int_equal(error.needed, needed);
    assert_int_equal(error.found, found);
    assert_string_equal(error.call, "acu_supports");
    assert_null(strstr(error.hint, "acu_supports")); /* that is what was called */
}

/* ---- features of the runtime ---- */

static void is_there(void **state) {
    (void)state;
    fake_driver(13000, 13000);
    expect_there(ACU_FEATURE_GRAPH_CONDITIONAL_NODES, -1);
    expect_there(ACU_FEATURE_STREAM_ORDERED_ALLOCATION, -1);
    expect_there(ACU_FEATURE_VIRTUAL_MEMORY, -1);
    assert_int_equal(fake.inits, 0); /* nobody asked a device */
    expect_there(ACU_FEATURE_GRAPH_CONDITIONAL_NODES, 0);
    expect_there(ACU_FEATURE_STREAM_ORDERED_ALLOCATION, 0);
    expect_there(ACU_FEATURE_VIRTUAL_MEMORY, 0);
    expect_there(ACU_FEATURE_PROGRAMMATIC_LAUNCH, 0);
    assert_int_not_equal(fake.inits, 0);
}

static void runtime_is_too_old(void **state) {
    (void)state;
    fake_driver(12010, 13000);
    expect(ACU_FEATURE_GRAPH_CONDITIONAL_NODES, 0, cudaErrorNotSupported,
           "graph conditional nodes: needs CUDA 12.3; loaded libcudart is 12.1 (resolver)");
    expect_facts(ACU_ERROR_KIND_VERSION, ACU_FEATURE_GRAPH_CONDITIONAL_NODES, 12030, 12010);
    assert_int_equal(fake.inits, 0); /* the first question that is answered with no ends it */
    fake_driver(12030, 13000);
    expect_there(ACU_FEATURE_GRAPH_CONDITIONAL_NODES, 0);
}

static void runtime_is_too_new(void **state) {
    (void)state;
    fake_driver(13000, 13000);
    expect(ACU_FEATURE_TEXTURE_REFERENCES, -1, cudaErrorNotSupported,
           "texture and surface references: removed in CUDA 12.0 (last in 11.8); loaded libcudart "
           "is 13.0 (resolver)");
    expect_facts(ACU_ERROR_KIND_VERSION, ACU_FEATURE_TEXTURE_REFERENCES, 11080, 13000);
    fake_driver(11080, 13000);
    expect_there(ACU_FEATURE_TEXTURE_REFERENCES, -1);
}

static void driver_is_too_old(void **state) {
    (void)state;
    fake_driver(12080, 12020);
    expect(ACU_FEATURE_GRAPH_CONDITIONAL_NODES, 0, cudaErrorNotSupported,
           "graph conditional nodes: needs driver 12.3; the installed driver supports 12.2");
    expect_facts(ACU_ERROR_KIND_DRIVER, ACU_FEATURE_GRAPH_CONDITIONAL_NODES, 12030, 12020);
    expect_there(ACU_FEATURE_GRAPH_NODE_PARAMS, 0);
    fake_driver(11070, 11010); /* a floor that was typed */
    expect(ACU_FEATURE_STREAM_ORDERED_ALLOCATION, -1, cudaErrorNotSupported,
           "stream-ordered allocation: needs driver 11.2; the installed driver supports 11.1");
}

static void driver_is_too_old_for_the_runtime(void **state) {
    (void)state;
    fake_driver(12080, 11080);
    expect(ACU_FEATURE_MANAGED_MEMORY, -1, cudaErrorInsufficientDriver,
           "managed memory: driver 11.8 is older than libcudart 12.x needs");
    expect_facts(ACU_ERROR_KIND_DRIVER, ACU_FEATURE_MANAGED_MEMORY, 12000, 11080);
}

static void there_is_no_driver(void **state) {
    (void)state;
    fake_driver(12080, 0);
    expect(ACU_FEATURE_MANAGED_MEMORY, -1, cudaErrorInsufficientDriver,
           "managed memory: no NVIDIA driver is installed");
    expect_facts(ACU_ERROR_KIND_DRIVER, ACU_FEATURE_MANAGED_MEMORY, 12000, 0);
    expect(ACU_FEATURE_MANAGED_MEMORY, 0, cudaErrorInsufficientDriver,
           "managed memory: no NVIDIA driver is installed");
}

static void there_is_no_runtime(void **state) {
    (void)state;
    fake_driver(0, 13000);
    assert_int_not_equal(acu_load(&(acu_load_options){.path = "/nowhere/libcudart.so.12"}), 0);
    assert_int_equal(acu_supports(ACU_FEATURE_MANAGED_MEMORY, 0), cudaErrorSharedObjectInitFailed);
    assert_non_null(strstr(acu_last_error_message(), "managed memory: no usable libcudart: "));
    expect_facts(ACU_ERROR_KIND_LIBRARY, ACU_FEATURE_MANAGED_MEMORY, 0, 0);
    assert_non_null(strstr(acu_last_error_message(), "/nowhere/libcudart.so.12"));
}

/* ---- devices ---- */

static void device_lacks_it(void **state) {
    (void)state;
    fake_driver(12080, 12080);
    fake.values[CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH] = 0;
    expect_there(ACU_FEATURE_CLUSTER_LAUNCH, -1);
    expect(ACU_FEATURE_CLUSTER_LAUNCH, 0, cudaErrorNotSupported,
           "device 0 (Made-up GPU 0) does not support thread block clusters: "
           "cudaDevAttrClusterLaunch is 0");
    expect_facts(ACU_ERROR_KIND_DEVICE, ACU_FEATURE_CLUSTER_LAUNCH, 0, 0);
    fake.values[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = 8;
    fake.values[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR] = 6;
    expect(ACU_FEATURE_PROGRAMMATIC_LAUNCH, 0, cudaErrorNotSupported,
           "device 0 (Made-up GPU 0) does not support programmatic dependent launch: its compute "
           "capability is 8.6, not 9.0");
    expect_facts(ACU_ERROR_KIND_DEVICE, ACU_FEATURE_PROGRAMMATIC_LAUNCH, 90, 86);
}

static void device_cannot_be_found(void **state) {
    (void)state;
    fake_driver(12080, 12080);
    expect(ACU_FEATURE_CLUSTER_LAUNCH, 1, cudaErrorInvalidDevice,
           "thread block clusters: device 1 does not exist; there is 1 device");
    expect(ACU_FEATURE_CLUSTER_LAUNCH, -2, cudaErrorInvalidDevice,
           "thread block clusters: device -2 does not exist; there is 1 device");
    expect(ACU_FEATURE_BATCH_COPIES, 1, cudaErrorInvalidDevice, /* asks nothing of a device */
           "batched copies: device 1 does not exist; there is 1 device");
    fake.devices = 2;
    expect(ACU_FEATURE_CLUSTER_LAUNCH, 2, cudaErrorInvalidDevice,
           "thread block clusters: device 2 does not exist; there are 2 devices");
    fake.devices = 0;
    assert_int_equal(acu_supports(ACU_FEATURE_CLUSTER_LAUNCH, 0), cudaErrorNoDevice);
    fake.init = CUDA_ERROR_NO_DEVICE;
    assert_int_equal(acu_supports(ACU_FEATURE_CLUSTER_LAUNCH, 0), cudaErrorNoDevice);
    assert_non_null(strstr(acu_last_error_message(), "thread block clusters: "));
}

static void driver_does_not_know_the_attribute(void **state) {
    (void)state;
    fake_driver(12080, 12080);
    fake.unknown[CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH] = true;
    expect_there(ACU_FEATURE_CLUSTER_LAUNCH, 0);
}

static void driver_fails(void **state) {
    (void)state;
    fake_driver(12080, 12080);
    fake.broken = CUDA_ERROR_DEINITIALIZED;
    expect(ACU_FEATURE_CLUSTER_LAUNCH, 0, CUDA_ERROR_DEINITIALIZED,
           "thread block clusters: cuDeviceGetAttribute failed with CUDA_ERROR_DEINITIALIZED (4)");
    expect_facts(ACU_ERROR_KIND_STATE, ACU_FEATURE_CLUSTER_LAUNCH, 0, 0);
    fake.init = CUDA_ERROR_UNKNOWN;
    expect(ACU_FEATURE_CLUSTER_LAUNCH, 0, CUDA_ERROR_UNKNOWN,
           "thread block clusters: cuInit failed with CUDA_ERROR_UNKNOWN (999)");
}

/* ---- features of the driver API alone ---- */

static void driver_feature(void **state) {
    (void)state;
    fake_driver(0, 12000); /* no runtime is needed */
    expect_there(ACU_FEATURE_VIRTUAL_MEMORY, 0);
    expect(ACU_FEATURE_MULTICAST, -1, cudaErrorNotSupported,
           "multicast objects: needs driver 12.1; the installed driver supports 12.0");
    fake.values[CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED] = 0;
    expect(ACU_FEATURE_VIRTUAL_MEMORY, 0, cudaErrorNotSupported,
           "device 0 (Made-up GPU 0) does not support virtual memory management: "
           "CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED is 0");
    expect(ACU_FEATURE_VIRTUAL_MEMORY, 4, cudaErrorInvalidDevice,
           "virtual memory management: device 4 does not exist; there is 1 device");
    expect_facts(ACU_ERROR_KIND_DEVICE, ACU_FEATURE_VIRTUAL_MEMORY, 0, 0);
    assert_null(acu_loaded(ACU_CUDART));
}

static void driver_feature_without_a_driver(void **state) {
    acu_load_options nowhere = {.library = ACU_CUDA, .path = "/nowhere/libcuda.so.1"};
    (void)state;
    fake_driver(12080, 0);
    assert_int_not_equal(acu_load(&nowhere), 0);
    assert_int_equal(acu_supports(ACU_FEATURE_VIRTUAL_MEMORY, -1), cudaErrorInsufficientDriver);
    assert_non_null(
        strstr(acu_last_error_message(), "virtual memory management: no usable libcuda: "));
    expect_facts(ACU_ERROR_KIND_DRIVER, ACU_FEATURE_VIRTUAL_MEMORY, 11000, 0);
    /* As the runtime's features say it. */
    assert_int_equal(acu_supports(ACU_FEATURE_MANAGED_MEMORY, -1), cudaErrorInsufficientDriver);
}

/* NVRTC needs no driver, but a device is asked through it. */
static void compiler_feature_of_a_device_without_a_driver(void **state) {
    acu_load_options compiler = {.library = ACU_NVRTC, .resolve = resolve, .version = 12080};
    acu_load_options nowhere = {.library = ACU_CUDA, .path = "/nowhere/libcuda.so.1"};
    (void)state;
    fake_driver(0, 0);
    assert_int_equal(acu_load(&compiler), 0);
    assert_int_not_equal(acu_load(&nowhere), 0);
    assert_int_equal(acu_supports(ACU_FEATURE_RUNTIME_COMPILATION, 0), cudaErrorInsufficientDriver);
    assert_non_null(strstr(acu_last_error_message(), "runtime compilation: no usable libcuda: "));
}

static void compiler_feature(void **state) {
    acu_load_options nowhere = {.library = ACU_NVRTC, .path = "/nowhere/libnvrtc.so.12"};
    (void)state;
    fake_driver(0, 0);
    assert_int_not_equal(acu_load(&nowhere), 0);
    assert_int_equal(acu_supports(ACU_FEATURE_RUNTIME_COMPILATION, -1),
                     cudaErrorSharedObjectInitFailed);
    assert_non_null(strstr(acu_last_error_message(), "runtime compilation: no usable libnvrtc: "));
    expect_facts(ACU_ERROR_KIND_LIBRARY, ACU_FEATURE_RUNTIME_COMPILATION, 0, 0);
    acu_load_options options = {.library = ACU_NVRTC, .resolve = resolve, .version = 12080};
    assert_int_equal(acu_load(&options), 0);
    expect_there(ACU_FEATURE_RUNTIME_COMPILATION, -1); /* without a driver */
}

/* ---- names ---- */

/* A number that no feature has; a cast would say that one has it. */
static acu_feature numbered(int number) {
    acu_feature feature;
    memcpy(&feature, &number, sizeof feature);
    return feature;
}

static void feature_is_unknown(void **state) {
    (void)state;
    fake_driver(12080, 12080);
    expect(numbered(ACU_FEATURE_COUNT), 0, cudaErrorInvalidValue,
           "acu_supports: there is no feature " /* the count */
#define TEXT(number)    TEXT_OF(number)
#define TEXT_OF(number) #number
           TEXT(ACU_FEATURE_COUNT));
    assert_int_equal(acu_supports(numbered(-1), 0), cudaErrorInvalidValue);
    assert_string_equal(acu_feature_name(numbered(ACU_FEATURE_COUNT)), "unknown feature");
    assert_string_equal(acu_feature_name(numbered(-1)), "unknown feature");
    assert_string_equal(acu_feature_id(numbered(-1)), "unknown feature");
    acu_feature_info info;
    assert_int_equal(acu_feature_get_info(numbered(-1), &info), ACU_ERROR_ARGUMENT);
    assert_string_equal(acu_last_error_message(), "acu_feature_get_info: there is no feature -1");
    assert_int_equal(acu_feature_get_info(ACU_FEATURE_MULTICAST, NULL), ACU_ERROR_ARGUMENT);
    assert_string_equal(acu_last_error_message(), "acu_feature_get_info: 'info' is NULL");
}

static void names(void **state) {
    (void)state;
    assert_string_equal(acu_feature_name(ACU_FEATURE_VIRTUAL_MEMORY), "virtual memory management");
    for (int i = 0; i < ACU_FEATURE_COUNT; i++) {
        assert_non_null(acu_feature_name((acu_feature)i));
        assert_memory_equal(acu_feature_id((acu_feature)i), "ACU_FEATURE_", 12);
    }
}

static void what_a_feature_needs(void **state) {
    (void)state;
    acu_feature_info info;
    assert_int_equal(acu_feature_get_info(ACU_FEATURE_CLUSTER_LAUNCH, &info), 0);
    assert_string_equal(info.id, "ACU_FEATURE_CLUSTER_LAUNCH");
    assert_string_equal(info.title, "thread block clusters");
    assert_int_equal(info.library, ACU_CUDART);
    assert_int_equal(info.since, 11080);
    assert_int_equal(info.driver, 11080);
    assert_string_equal(info.attribute, "cudaDevAttrClusterLaunch");
    assert_int_equal(info.attribute_number, cudaDevAttrClusterLaunch);
    assert_int_equal(acu_feature_get_info(ACU_FEATURE_TEXTURE_REFERENCES, &info), 0);
    assert_int_equal(info.until, 11080);
    assert_int_equal(info.removed, 12000);
    assert_non_null(info.functions[0]);
    for (int i = 0; i < ACU_FEATURE_COUNT; i++) {
        assert_int_equal(acu_feature_get_info((acu_feature)i, &info), 0);
        assert_string_equal(info.id, acu_feature_id((acu_feature)i));
        for (size_t f = 0; info.functions[f]; f++)
            assert_memory_equal(info.functions[f], info.library == ACU_NVRTC ? "nv" : "cu", 2);
    }
}

static void success_keeps_the_last_error(void **state) {
    (void)state;
    fake_driver(12080, 12080);
    assert_int_equal(acu_supports(ACU_FEATURE_CLUSTER_LAUNCH, 7), cudaErrorInvalidDevice);
    assert_int_equal(acu_supports(ACU_FEATURE_CLUSTER_LAUNCH, 0), 0);
    assert_int_equal(acu_last_error(), cudaErrorInvalidDevice);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_there),
        cmocka_unit_test(runtime_is_too_old),
        cmocka_unit_test(runtime_is_too_new),
        cmocka_unit_test(driver_is_too_old),
        cmocka_unit_test(driver_is_too_old_for_the_runtime),
        cmocka_unit_test(there_is_no_driver),
        cmocka_unit_test(there_is_no_runtime),
        cmocka_unit_test(device_lacks_it),
        cmocka_unit_test(device_cannot_be_found),
        cmocka_unit_test(driver_does_not_know_the_attribute),
        cmocka_unit_test(driver_fails),
        cmocka_unit_test(driver_feature),
        cmocka_unit_test(driver_feature_without_a_driver),
        cmocka_unit_test(compiler_feature),
        cmocka_unit_test(compiler_feature_of_a_device_without_a_driver),
        cmocka_unit_test(feature_is_unknown),
        cmocka_unit_test(names),
        cmocka_unit_test(what_a_feature_needs),
        cmocka_unit_test(success_keeps_the_last_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
