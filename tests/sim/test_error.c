/* Errors per thread, versions, and what a version changes. */
#include "sim_test.h"

#include <anycuda/cuda.h>

#include <pthread.h>

TEST(an_error_is_told_once) {
    SAYS(cudaErrorInvalidDevice, cudaSetDevice(9));
    SAYS(cudaErrorInvalidDevice, cudaPeekAtLastError());
    SAYS(cudaErrorInvalidDevice, cudaGetLastError());
    SAYS(cudaSuccess, cudaGetLastError());
    SAYS(cudaSuccess, cudaPeekAtLastError());
}

TEST(success_does_not_hide_an_error) {
    int device;
    SAYS(cudaErrorInvalidDevice, cudaSetDevice(9));
    OK(cudaGetDevice(&device));
    SAYS(cudaErrorInvalidDevice, cudaGetLastError());
}

TEST(the_last_error_counts) {
    SAYS(cudaErrorInvalidDevice, cudaSetDevice(9));
    SAYS(cudaErrorInvalidValue, cudaMalloc(NULL, 1));
    SAYS(cudaErrorInvalidValue, cudaGetLastError());
}

static void *fail_elsewhere(void *data) {
    (void)data;
    (void)cudaSetDevice(9);
    return (void *)(intptr_t)cudaPeekAtLastError();
}

TEST(each_thread_has_its_own) {
    pthread_t thread;
    void *result;
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, NULL), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_int_equal((intptr_t)result, cudaErrorInvalidDevice);
    SAYS(cudaSuccess, cudaPeekAtLastError());
}

static void *device_elsewhere(void *data) {
    int device = -1;
    (void)data;
    (void)cudaGetDevice(&device);
    return (void *)(intptr_t)device;
}

TEST(each_thread_has_its_device) {
    pthread_t thread;
    void *result;
    OK(cudaSetDevice(1));
    assert_int_equal(pthread_create(&thread, NULL, device_elsewhere, NULL), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_int_equal((intptr_t)result, 0);
}

TEST(versions) {
    int version = 0;
    OK(cudaRuntimeGetVersion(&version));
    assert_int_equal(version, CUDART_VERSION);
    OK(cudaDriverGetVersion(&version));
    assert_int_equal(version, CUDART_VERSION);
    FAILS(cudaErrorInvalidValue, cudaRuntimeGetVersion(NULL));
    FAILS(cudaErrorInvalidValue, cudaDriverGetVersion(NULL));
}

TEST(the_abi_is_the_headers) {
    assert_int_equal(acu_sim_abi(), CUDART_VERSION);
}

TEST(the_driver_is_too_old) {
    int value = 0;
    acu_sim_reset("driver=12.9");
    FAILS(cudaErrorInsufficientDriver, cudaGetDeviceCount(&value));
    FAILS(cudaErrorInsufficientDriver, cudaSetDevice(0));
    OK(cudaDriverGetVersion(&value));
    assert_int_equal(value, 12090);
}

TEST(a_driver_runs_its_own_major_version) {
    int count = 0;
    acu_sim_reset("driver=13.0");
    OK(cudaGetDeviceCount(&count));
    assert_int_equal(count, 1);
}

TEST(there_is_no_driver) {
    int value = -1;
    acu_sim_reset("driver=none");
    FAILS(cudaErrorInsufficientDriver, cudaGetDeviceCount(&value));
    OK(cudaDriverGetVersion(&value));
    assert_int_equal(value, 0);
}

TEST(an_older_runtime_knows_less) {
    int value;
    acu_sim_reset("runtime=12.0,driver=12.0");
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrClusterLaunch, 0));
    SAYS(cudaErrorInvalidValue, cudaDeviceGetAttribute(&value, cudaDevAttrHostNumaId, 0));
    OK(cudaRuntimeGetVersion(&value));
    assert_int_equal(value, 12000);
}

TEST(names_and_texts) {
    assert_string_equal(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue");
    assert_string_equal(cudaGetErrorName(cudaSuccess), "cudaSuccess");
    assert_true(cudaGetErrorString(cudaErrorInvalidValue)[0]);
    assert_true(cudaGetErrorName((cudaError_t)77777)[0]);
}

TEST(what_is_not_simulated_is_refused) {
    const void *table = NULL;
    const cudaUUID_t id = {{0}};
    assert_int_not_equal(cudaGetExportTable(&table, &id), cudaSuccess);
    assert_non_null(
        strstr(acu_last_error_message(), "the simulator does not have cudaGetExportTable"));
    (void)cudaGetLastError();
}

/* ---- a lost context ---- */

TEST(a_fault_is_asynchronous_and_sticky) {
    blocker g = {0};
    void *memory;
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(cudaMalloc(&memory, 100));
    block_stream(&g, stream);
    OK(acu_sim_fault(stream, cudaErrorIllegalAddress));
    OK(cudaMemsetAsync(memory, 0, 100, stream));
    unblock_stream(&g);
    SAYS(cudaErrorIllegalAddress, cudaStreamSynchronize(stream));
    SAYS(cudaErrorIllegalAddress, cudaMalloc(&memory, 100));
    SAYS(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    SAYS(cudaErrorIllegalAddress, cudaGetLastError());
    SAYS(cudaSuccess, cudaGetLastError());
    SAYS(cudaErrorIllegalAddress, cudaStreamQuery(stream));
    acu_sim_reset(MACHINE);
}

/* No context can be made any more; the driver says why. */
TEST(a_fault_takes_devices_that_were_not_used) {
    const cudaError_t none = cudaErrorDevicesUnavailable;
    const CUresult lost = CUDA_ERROR_LAUNCH_FAILED;
    void *memory;
    CUcontext made, primary;
    OK(acu_sim_fault(NULL, cudaErrorLaunchFailure));
    FAILS(cudaErrorLaunchFailure, cudaDeviceSynchronize());
    FAILS(none, cudaSetDevice(1));
    FAILS(none, cudaMalloc(&memory, 100));
    FAILS(none, cudaFree(NULL));
    FAILS(none, cudaInitDevice(1, 0, 0));
    assert_int_equal(cuDevicePrimaryCtxRetain(&primary, 1), lost);
    assert_int_equal(cuCtxCreate(&made, NULL, 0, 1), lost);
    assert_int_equal(cuCtxCreate(&made, NULL, 0, 0), lost);
    OK(cudaSetDevice(0));
    SAYS(cudaErrorLaunchFailure, cudaFree(NULL));
    acu_sim_reset(MACHINE);
    OK(cudaSetDevice(1));
    OK(cudaMalloc(&memory, 100));
    OK(cudaFree(memory));
}

/* Though cudaSetDevice() made none, on 11 without a word. */
TEST(a_context_is_current_after_a_fault) {
    const char *const machines[] = {MACHINE, MACHINE ",runtime=11.7"};
    for (int i = 0; i < 2; i++) {
        CUcontext current = NULL;
        acu_sim_reset(machines[i]);
        OK(acu_sim_fault(NULL, cudaErrorLaunchFailure));
        FAILS(cudaErrorLaunchFailure, cudaDeviceSynchronize());
        assert_int_equal(cuCtxSetCurrent(NULL), CUDA_SUCCESS);
        SAYS(i ? cudaSuccess : cudaErrorDevicesUnavailable, cudaSetDevice(1));
        assert_int_equal(cuCtxGetCurrent(&current), CUDA_SUCCESS);
        assert_non_null(current);
        assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        SAYS(cudaErrorDevicesUnavailable, cudaFree(NULL));
        (void)cudaGetLastError();
    }
    acu_sim_reset(MACHINE);
}

/* Nor does the driver make another where a program made the only one. */
TEST(a_fault_in_a_made_context_leaves_no_primary_one) {
    CUcontext made, primary;
    assert_int_equal(cuInit(0), CUDA_SUCCESS);
    assert_int_equal(cuCtxCreate(&made, NULL, 0, 0), CUDA_SUCCESS);
    OK(acu_sim_fault(NULL, cudaErrorLaunchFailure));
    FAILS(cudaErrorLaunchFailure, cudaDeviceSynchronize());
    assert_int_equal(cuDevicePrimaryCtxRetain(&primary, 0), CUDA_ERROR_LAUNCH_FAILED);
    assert_int_equal(cuCtxDestroy(made), CUDA_SUCCESS);
    FAILS(cudaErrorDevicesUnavailable, cudaFree(NULL));
    acu_sim_reset(MACHINE);
}

TEST(no_reset_repairs_the_device) {
    void *memory;
    OK(acu_sim_fault(NULL, cudaErrorIllegalAddress));
    SAYS(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    OK(cudaDeviceReset());
    SAYS(cudaErrorIllegalAddress, cudaGetLastError());
    FAILS(cudaErrorDevicesUnavailable, cudaMalloc(&memory, 100));
    acu_sim_reset(MACHINE);
    OK(cudaMalloc(&memory, 100));
    OK(cudaFree(memory));
}

static cudaError_t told;

static void tell(cudaStream_t stream, cudaError_t status, void *data) {
    (void)stream;
    (void)data;
    told = status;
}

static void must_not_run(void *data) {
    *(int *)data = 1;
}

TEST(callbacks_hear_of_it_host_functions_do_not_run) {
    blocker g = {0};
    int ran = 0;
    block_stream(&g, 0);
    OK(acu_sim_fault(NULL, cudaErrorIllegalAddress));
    OK(cudaLaunchHostFunc(0, must_not_run, &ran));
    OK(cudaStreamAddCallback(0, tell, NULL, 0));
    unblock_stream(&g);
    SAYS(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    assert_int_equal(told, cudaErrorIllegalAddress);
    assert_int_equal(ran, 0);
    (void)cudaGetLastError();
    acu_sim_reset(MACHINE);
}

static int sum;

static void add(void *data) {
    sum += *(int *)data;
}

static void *hammer(void *data) {
    static int one = 1;
    cudaStream_t stream;
    char *memory, from[64] = {0}, back[64];
    (void)data;
    for (int i = 0; i < 100; i++) {
        if (cudaStreamCreate(&stream) || cudaMalloc((void **)&memory, 64))
            return (void *)1;
        memset(from, i, sizeof from);
        if (cudaMemcpyAsync(memory, from, 64, cudaMemcpyHostToDevice, stream) ||
            cudaMemcpyAsync(back, memory, 64, cudaMemcpyDeviceToHost, stream) ||
            cudaStreamSynchronize(stream) || memcmp(from, back, 64) != 0)
            return (void *)2;
        if (cudaLaunchHostFunc(0, add, &one) || cudaFree(memory) || cudaStreamDestroy(stream))
            return (void *)3;
    }
    return NULL;
}

TEST(many_threads) {
    enum { COUNT = 8 };
    pthread_t threads[COUNT];
    void *result;
    sum = 0;
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hammer, NULL), 0);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_null(result);
    }
    OK(cudaDeviceSynchronize());
    assert_int_equal(sum, COUNT * 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        T(an_error_is_told_once),
        T(success_does_not_hide_an_error),
        T(the_last_error_counts),
        T(each_thread_has_its_own),
        T(each_thread_has_its_device),
        T(versions),
        T(the_abi_is_the_headers),
        T(the_driver_is_too_old),
        T(a_driver_runs_its_own_major_version),
        T(there_is_no_driver),
        T(an_older_runtime_knows_less),
        T(names_and_texts),
        T(what_is_not_simulated_is_refused),
        T(a_fault_is_asynchronous_and_sticky),
        T(a_fault_takes_devices_that_were_not_used),
        T(a_context_is_current_after_a_fault),
        T(a_fault_in_a_made_context_leaves_no_primary_one),
        T(no_reset_repairs_the_device),
        T(callbacks_hear_of_it_host_functions_do_not_run),
        T(many_threads),
    };
    return RUN(tests);
}
