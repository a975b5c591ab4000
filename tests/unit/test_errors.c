/* What a failure says to a program in numbers, of a fake runtime and driver. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <anycuda/anycuda.h>
#include <anycuda/cuda.h>
#include <anycuda/cudart.h>
#include <anycuda/nvrtc.h>

#include "core/record.h"
#include "loader/load.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- libraries that fail with what a test wants ---- */

static struct {
    int code;           /* what each function of the runtime returns */
    int driver;         /* the driver's version */
    const char *absent; /* the runtime does not export this function */
} fake;

static int fail_always(void) {
    return fake.code;
}

static int driver_version(int *version) {
    *version = fake.driver;
    return 0;
}

static int copy_batch(void *dsts, void *srcs, void *sizes, size_t count, void *attributes,
                      void *indices, size_t attribute_count, size_t *failed, void *stream) {
    (void)dsts, (void)srcs, (void)sizes, (void)count, (void)attributes, (void)indices;
    (void)attribute_count, (void)stream;
    *failed = 3;
    return fake.code;
}

static void *resolve(const char *symbol, void *data) {
    acu_fn fn = strncmp(symbol, "cu", 2) == 0 ? (acu_fn)fail_always : NULL;
    void *address;
    (void)data;
    if (strcmp(symbol, "cuDriverGetVersion") == 0)
        fn = (acu_fn)driver_version;
    if (strcmp(symbol, "cudaMemcpyBatchAsync") == 0)
        fn = (acu_fn)copy_batch;
    if (fake.absent && strcmp(symbol, fake.absent) == 0)
        fn = NULL;
    memcpy(&address, &fn, sizeof address);
    return address;
}

static void fake_runtime(int version, int driver, int code) {
    acu_load_options options = {.resolve = resolve, .version = version};
    acu_load_reset_for_tests();
    fake.code = code;
    fake.driver = driver;
    fake.absent = NULL;
    assert_int_equal(acu_load(&options), 0);
    acu_clear_error();
}

/* The last failure of the thread; `hint` is a part of its hint, "" if it has none. */
static void expect(acu_error_kind kind, int feature, int needed, int found, const char *hint) {
    const acu_error error = acu_last_error_details();
    assert_int_equal(error.kind, kind);
    assert_int_equal(error.feature, feature);
    assert_int_equal(error.needed, needed);
    assert_int_equal(error.found, found);
    assert_string_not_equal(error.call, "");
    if (*hint ? !strstr(error.hint, hint) : *error.hint)
        fail_msg("%s has the hint '%s'", error.call, error.hint);
}

/* ---- calls of CUDA ---- */

/* "Not supported" may concern any part of a call whose function is there. */
static void what_a_call_does_not_support_is_unknown(void **state) {
    (void)state;
    cudaMemPool_t pool = NULL;
    struct cudaMemPoolProps props = {.handleTypes = cudaMemHandleTypeFabric};
    fake_runtime(12080, 12080, cudaErrorNotSupported);
    assert_int_equal(cudaMemPoolCreate(&pool, &props), cudaErrorNotSupported);
    expect(ACU_ERROR_KIND_DEVICE, -1, 0, 0, "acu_supports()");
    assert_int_equal(acu_last_error_details().since, 0);
}

/* Only a function that came after the driver is known to be what the driver lacks. */
static void what_an_older_driver_lacks(void **state) {
    (void)state;
    cudaGraphConditionalHandle handle;
    void *memory;
    fake_runtime(12080, 12020, cudaErrorCallRequiresNewerDriver);
    assert_int_equal(cudaGraphConditionalHandleCreate(&handle, NULL, 0, 0),
                     cudaErrorCallRequiresNewerDriver);
    expect(ACU_ERROR_KIND_DRIVER, ACU_FEATURE_GRAPH_CONDITIONAL_NODES, 12030, 12020,
           "newer driver");
    assert_int_equal(cudaMallocManaged(&memory, 1, cudaMemAttachGlobal),
                     cudaErrorCallRequiresNewerDriver);
    expect(ACU_ERROR_KIND_DRIVER, -1, 0, 12020, "newer driver");
}

static void an_old_libcuda_is_an_old_driver(void **state) {
    acu_load_options driver = {.library = ACU_CUDA, .resolve = resolve, .version = 12000};
    CUmemGenericAllocationHandle handle;
    (void)state;
    fake_runtime(12080, 12000, 0);
    assert_int_equal(acu_load(&driver), 0);
    fake.absent = "cuMulticastCreate";
    assert_int_equal(cuMulticastCreate(&handle, NULL), CUDA_ERROR_NOT_SUPPORTED);
    expect(ACU_ERROR_KIND_DRIVER, ACU_FEATURE_MULTICAST, 12010, 12000, "acu_supports()");
    assert_non_null(strstr(acu_last_error_message(), "cuMulticastCreate needs CUDA 12.1"));
}

/* ---- libraries that are missing ---- */

static void a_missing_library_is_named(void **state) {
    cudaGraphConditionalHandle handle;
    CUmemGenericAllocationHandle memory;
    int major, minor;
    (void)state;
    acu_load_reset_for_tests();
    setenv("ANYCUDA_CUDART", "/nowhere/libcudart.so.12", 1);
    setenv("ANYCUDA_CUDA", "/nowhere/libcuda.so.1", 1);
    setenv("ANYCUDA_NVRTC", "/nowhere/libnvrtc.so.12", 1);
    assert_int_equal(cudaGraphConditionalHandleCreate(&handle, NULL, 0, 0),
                     cudaErrorSharedObjectInitFailed);
    expect(ACU_ERROR_KIND_LIBRARY, ACU_FEATURE_GRAPH_CONDITIONAL_NODES, 12030, 0, "ANYCUDA_CUDART");
    assert_int_equal(cuMulticastCreate(&memory, NULL), CUDA_ERROR_SHARED_OBJECT_INIT_FAILED);
    expect(ACU_ERROR_KIND_DRIVER, ACU_FEATURE_MULTICAST, 12010, 0, "ANYCUDA_CUDA ");
    assert_int_not_equal(acu_supports(ACU_FEATURE_MULTICAST, -1), 0);
    expect(ACU_ERROR_KIND_DRIVER, ACU_FEATURE_MULTICAST, 12010, 0, "ANYCUDA_CUDA ");
    assert_int_not_equal(nvrtcVersion(&major, &minor), 0);
    expect(ACU_ERROR_KIND_LIBRARY, -1, 0, 0, "ANYCUDA_NVRTC");
    unsetenv("ANYCUDA_CUDA");
    unsetenv("ANYCUDA_NVRTC");
    unsetenv("ANYCUDA_CUDART");
}

static void a_failed_load_is_a_failure(void **state) {
    const acu_load_options driver = {.library = ACU_CUDA, .path = "/nowhere/libcuda.so.1"};
    const acu_load_options compiler = {.library = ACU_NVRTC, .path = "/nowhere/libnvrtc.so.12"};
    (void)state;
    acu_load_reset_for_tests();
    assert_int_equal(acu_load(&(acu_load_options){.library = (acu_library_id)7}),
                     cudaErrorInvalidValue);
    expect(ACU_ERROR_KIND_ARGUMENT, -1, 0, 0, "");
    assert_int_equal(acu_load(&(acu_load_options){.path = "/nowhere/libcudart.so.12"}),
                     cudaErrorSharedObjectInitFailed);
    expect(ACU_ERROR_KIND_LIBRARY, -1, 0, 0, "ANYCUDA_CUDART");
    assert_int_equal(acu_load(&driver), CUDA_ERROR_SHARED_OBJECT_INIT_FAILED);
    expect(ACU_ERROR_KIND_DRIVER, -1, 0, 0, "NVIDIA driver");
    assert_int_equal(acu_load(&compiler), NVRTC_ERROR_INTERNAL_ERROR);
    expect(ACU_ERROR_KIND_LIBRARY, -1, 0, 0, "ANYCUDA_NVRTC");
    assert_int_equal(acu_last_error(),
                     cudaErrorSharedObjectInitFailed); /* in the runtime's numbers */
    fake_runtime(12080, 12080, 0);
    assert_int_equal(acu_load(&(acu_load_options){.path = "/nowhere/libcudart.so.12"}),
                     cudaErrorSharedObjectInitFailed);
    expect(ACU_ERROR_KIND_STATE, -1, 0, 0, "before all calls");
}

/* ---- the program's function ---- */

typedef struct heard {
    int count;
    char message[1024];
    jmp_buf *leave; /* not NULL: the function does not return */
} heard;

static void hear(const acu_error *error, void *data) {
    heard *all = data;
    all->count++;
    snprintf(all->message, sizeof all->message, "%s", error->message);
    if (all->leave)
        longjmp(*all->leave, 1);
}

static void the_whole_message_is_reported(void **state) {
    heard all = {0};
    (void)state;
    fake_runtime(12080, 12080, cudaErrorInvalidValue);
    acu_record(cudaErrorInvalidValue, "an earlier call");
    acu_record_refusal("an earlier call", false); /* has not come to its wrapper */
    assert_int_equal(acu_set_error_callback(hear, &all), 0);
    assert_int_equal(cudaMemcpyBatchAsync(NULL, NULL, NULL, 0, NULL, NULL, 0, NULL),
                     cudaErrorInvalidValue);
    assert_int_equal(acu_set_error_callback(NULL, NULL), 0);
    assert_int_equal(all.count, 1);
    assert_non_null(strstr(all.message, "cudaErrorInvalidValue (1) (copy 3)"));
    assert_string_equal(all.message, acu_last_error_message());
}

/* A thread that leaves the function by longjmp() reports no more, but its failures are recorded. */
static void a_thread_may_leave_by_longjmp(void **state) {
    static heard all;
    jmp_buf back;
    void *memory;
    (void)state;
    fake_runtime(12080, 12080, cudaErrorInvalidDevice);
    all = (heard){.leave = &back};
    assert_int_equal(acu_set_error_callback(hear, &all), 0);
    if (setjmp(back) == 0)
        (void)cudaMalloc(&memory, 1);
    assert_int_equal(all.count, 1);
    assert_int_equal(acu_last_error(), cudaErrorInvalidDevice);
    fake.code = cudaErrorMemoryAllocation;
    assert_int_equal(cudaMalloc(&memory, 1), cudaErrorMemoryAllocation);
    expect(ACU_ERROR_KIND_MEMORY, -1, 0, 0, "release");
    assert_string_equal(acu_last_error_details().call, "cudaMalloc");
    assert_int_equal(acu_set_error_callback(NULL, NULL), ACU_ERROR_STATE);
    expect(ACU_ERROR_KIND_STATE, -1, 0, 0, "");
    assert_int_equal(all.count, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_call_does_not_support_is_unknown),
        cmocka_unit_test(what_an_older_driver_lacks),
        cmocka_unit_test(an_old_libcuda_is_an_old_driver),
        cmocka_unit_test(a_missing_library_is_named),
        cmocka_unit_test(a_failed_load_is_a_failure),
        cmocka_unit_test(the_whole_message_is_reported),
        cmocka_unit_test(a_thread_may_leave_by_longjmp), /* the last one: it is still inside */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
