/* Streams: order, asynchrony, default streams, host functions, attributes. */
#define _GNU_SOURCE /* sigset_t */

#include "sim_test.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

static atomic_int order;

static void append(void *data) {
    *(int *)data = atomic_fetch_add(&order, 1) + 1;
}

/* What shows that a stream goes on: a host function would wait for others. */
static char *new_sign(void) {
    char *sign;
    OK(cudaMallocHost((void **)&sign, 1));
    *sign = 0;
    return sign;
}

static void give(char *sign, cudaStream_t stream) {
    OK(cudaMemsetAsync(sign, 1, 1, stream));
}

TEST(creates_and_destroys) {
    cudaStream_t a, b;
    OK(cudaStreamCreate(&a));
    OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    assert_true(a != b);
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
}

TEST(create_mistakes) {
    cudaStream_t stream;
    FAILS(cudaErrorInvalidValue, cudaStreamCreate(NULL));
    FAILS(cudaErrorInvalidValue, cudaStreamCreateWithFlags(&stream, 2));
    FAILS(cudaErrorInvalidValue, cudaStreamCreateWithPriority(NULL, 0, 0));
}

TEST(destroy_mistakes) {
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamDestroy(stream));
    FAILS(cudaErrorInvalidResourceHandle, cudaStreamDestroy(stream));
    FAILS(cudaErrorInvalidResourceHandle, cudaStreamDestroy(0));
    FAILS(cudaErrorInvalidResourceHandle, cudaStreamDestroy(cudaStreamLegacy));
    FAILS(cudaErrorInvalidResourceHandle, cudaStreamDestroy(cudaStreamPerThread));
}

TEST(stale_handles) {
    cudaStream_t stream;
    unsigned flags;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamDestroy(stream));
    FAILS(cudaErrorInvalidResourceHandle, cudaStreamQuery(stream));
    FAILS(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(stream));
    FAILS(cudaErrorInvalidResourceHandle, cudaStreamGetFlags(stream, &flags));
}

TEST(work_is_done_in_order) {
    cudaStream_t stream;
    int at[20] = {0};
    atomic_store(&order, 0);
    OK(cudaStreamCreate(&stream));
    for (int i = 0; i < 20; i++)
        OK(cudaLaunchHostFunc(stream, append, &at[i]));
    OK(cudaStreamSynchronize(stream));
    for (int i = 0; i < 20; i++)
        assert_int_equal(at[i], i + 1);
    OK(cudaStreamDestroy(stream));
}

TEST(work_is_asynchronous) {
    blocker g = {0};
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamQuery(stream));
    block_stream(&g, stream);
    FAILS(cudaErrorNotReady, cudaStreamQuery(stream));
    unblock_stream(&g);
    OK(cudaStreamSynchronize(stream));
    OK(cudaStreamQuery(stream));
    OK(cudaStreamDestroy(stream));
}

TEST(streams_are_independent) {
    blocker g = {0};
    cudaStream_t a, b;
    char *sign = new_sign();
    OK(cudaStreamCreate(&a));
    OK(cudaStreamCreate(&b));
    block_stream(&g, a);
    give(sign, b);
    OK(cudaStreamSynchronize(b)); /* while a is held up */
    assert_int_equal(*sign, 1);
    unblock_stream(&g);
    OK(cudaDeviceSynchronize());
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
    OK(cudaFreeHost(sign));
}

TEST(destroyed_streams_finish_their_work) {
    blocker g = {0};
    cudaStream_t stream;
    int at = 0;
    atomic_store(&order, 0);
    OK(cudaStreamCreate(&stream));
    block_stream(&g, stream);
    OK(cudaLaunchHostFunc(stream, append, &at));
    OK(cudaStreamDestroy(stream)); /* does not wait */
    assert_int_equal(at, 0);
    unblock_stream(&g);
    OK(cudaDeviceSynchronize());
    assert_int_equal(at, 1);
}

TEST(legacy_stream_waits_for_blocking_streams) {
    blocker g = {0};
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    block_stream(&g, stream);
    char *sign = new_sign();
    give(sign, 0);
    for (int i = 0; i < 20; i++)
        pause_briefly();
    assert_int_equal(*sign, 0);
    SAYS(cudaErrorNotReady, cudaStreamQuery(0));
    unblock_stream(&g);
    OK(cudaStreamSynchronize(0));
    assert_int_equal(*sign, 1);
    OK(cudaStreamDestroy(stream));
    OK(cudaFreeHost(sign));
}

TEST(blocking_streams_wait_for_the_legacy_stream) {
    blocker g = {0};
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    block_stream(&g, cudaStreamLegacy);
    char *sign = new_sign();
    give(sign, stream);
    for (int i = 0; i < 20; i++)
        pause_briefly();
    assert_int_equal(*sign, 0);
    unblock_stream(&g);
    OK(cudaStreamSynchronize(stream));
    assert_int_equal(*sign, 1);
    OK(cudaStreamDestroy(stream));
    OK(cudaFreeHost(sign));
}

TEST(non_blocking_streams_do_not) {
    blocker g = {0};
    cudaStream_t stream;
    char *sign = new_sign();
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    block_stream(&g, 0);
    give(sign, stream);
    OK(cudaStreamSynchronize(stream));
    assert_int_equal(*sign, 1);
    unblock_stream(&g);
    OK(cudaDeviceSynchronize());
    OK(cudaStreamDestroy(stream));
    OK(cudaFreeHost(sign));
}

TEST(the_legacy_stream_does_not_wait_for_non_blocking_ones) {
    blocker g = {0};
    cudaStream_t stream;
    char *sign = new_sign();
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    block_stream(&g, stream);
    give(sign, 0);
    OK(cudaStreamSynchronize(0));
    assert_int_equal(*sign, 1);
    unblock_stream(&g);
    OK(cudaDeviceSynchronize());
    OK(cudaStreamDestroy(stream));
    OK(cudaFreeHost(sign));
}

TEST(devices_do_not_wait_for_each_other) {
    blocker g = {0};
    block_stream(&g, 0);
    OK(cudaSetDevice(1));
    OK(cudaDeviceSynchronize());
    OK(cudaStreamQuery(0));
    OK(cudaSetDevice(0));
    unblock_stream(&g);
    OK(cudaDeviceSynchronize());
}

TEST(the_per_thread_stream) {
    blocker g = {0};
    block_stream(&g, cudaStreamPerThread);
    FAILS(cudaErrorNotReady, cudaStreamQuery(cudaStreamPerThread));
    FAILS(cudaErrorNotReady, cudaStreamQuery(0)); /* which it blocks */
    unblock_stream(&g);
    OK(cudaStreamSynchronize(cudaStreamPerThread));
}

TEST(flags) {
    cudaStream_t stream;
    unsigned flags = 9;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamGetFlags(stream, &flags));
    assert_int_equal(flags, cudaStreamNonBlocking);
    OK(cudaStreamGetFlags(0, &flags));
    assert_int_equal(flags, cudaStreamDefault);
    FAILS(cudaErrorInvalidValue, cudaStreamGetFlags(stream, NULL));
    OK(cudaStreamDestroy(stream));
}

TEST(priorities_are_clamped) {
    cudaStream_t stream;
    int priority = 9, least, greatest;
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    OK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest - 100));
    OK(cudaStreamGetPriority(stream, &priority));
    assert_int_equal(priority, greatest);
    OK(cudaStreamDestroy(stream));
    OK(cudaStreamCreateWithPriority(&stream, 0, 100));
    OK(cudaStreamGetPriority(stream, &priority));
    assert_int_equal(priority, least);
    FAILS(cudaErrorInvalidValue, cudaStreamGetPriority(stream, NULL));
    OK(cudaStreamDestroy(stream));
}

TEST(ids_are_unique) {
    cudaStream_t a, b;
    unsigned long long ids[4] = {0};
    OK(cudaStreamCreate(&a));
    OK(cudaStreamCreate(&b));
    OK(cudaStreamGetId(a, &ids[0]));
    OK(cudaStreamGetId(b, &ids[1]));
    OK(cudaStreamGetId(0, &ids[2]));
    OK(cudaStreamGetId(cudaStreamPerThread, &ids[3]));
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < i; j++)
            assert_true(ids[i] != ids[j]);
    FAILS(cudaErrorInvalidValue, cudaStreamGetId(a, NULL));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
}

TEST(a_stream_knows_its_device) {
    cudaStream_t stream;
    int device = -1;
    OK(cudaSetDevice(1));
    OK(cudaStreamCreate(&stream));
    OK(cudaSetDevice(0));
    OK(cudaStreamGetDevice(stream, &device));
    assert_int_equal(device, 1);
    OK(cudaStreamGetDevice(0, &device));
    assert_int_equal(device, 0);
    FAILS(cudaErrorInvalidValue, cudaStreamGetDevice(stream, NULL));
    OK(cudaStreamDestroy(stream));
}

TEST(nothing_is_captured) {
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
    OK(cudaStreamIsCapturing(0, &status));
    assert_int_equal(status, cudaStreamCaptureStatusNone);
    FAILS(cudaErrorInvalidValue, cudaStreamIsCapturing(0, NULL));
}

TEST(attributes) {
    cudaStream_t a, b;
    cudaLaunchAttributeValue value = {.syncPolicy = cudaSyncPolicySpin};
    OK(cudaStreamCreate(&a));
    OK(cudaStreamCreate(&b));
    OK(cudaStreamSetAttribute(a, cudaLaunchAttributeSynchronizationPolicy, &value));
    memset(&value, 0, sizeof value);
    OK(cudaStreamCopyAttributes(b, a));
    OK(cudaStreamGetAttribute(b, cudaLaunchAttributeSynchronizationPolicy, &value));
    assert_int_equal(value.syncPolicy, cudaSyncPolicySpin);
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
}

TEST(attribute_mistakes) {
    cudaStream_t stream;
    cudaLaunchAttributeValue value = {.accessPolicyWindow = {.hitRatio = 2}};
    OK(cudaStreamCreate(&stream));
    FAILS(cudaErrorInvalidValue,
          cudaStreamSetAttribute(stream, cudaLaunchAttributeAccessPolicyWindow, &value));
    FAILS(cudaErrorInvalidValue,
          cudaStreamSetAttribute(stream, cudaLaunchAttributeCooperative, &value));
    FAILS(cudaErrorInvalidValue, cudaStreamGetAttribute(stream, cudaLaunchAttributePriority, NULL));
    value.syncPolicy = (enum cudaSynchronizationPolicy)77;
    FAILS(cudaErrorInvalidValue,
          cudaStreamSetAttribute(stream, cudaLaunchAttributeSynchronizationPolicy, &value));
    OK(cudaStreamDestroy(stream));
}

static cudaError_t inside[3];

static void calls_cuda(void *data) {
    void *memory;
    (void)data;
    inside[0] = cudaMalloc(&memory, 10);
    inside[1] = cudaDeviceSynchronize();
    inside[2] = cudaStreamQuery(0);
}

TEST(host_functions_must_not_call_cuda) {
    OK(cudaLaunchHostFunc(0, calls_cuda, NULL));
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 3; i++)
        assert_int_equal(inside[i], cudaErrorNotPermitted);
}

static sigset_t blocked;

static void tell_signals(void *told) {
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    atomic_store((atomic_int *)told, 1);
}

static void expect_blocked(void) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        assert_false(sigismember(&blocked, faults[i]));
    assert_true(sigismember(&blocked, SIGINT));
    assert_true(sigismember(&blocked, SIGTERM));
    assert_true(sigismember(&blocked, SIGALRM));
}

/* Else nobody would be told of what a host function, or a kernel, did to itself. */
TEST(faults_are_the_threads_own_signals) {
    cudaUserObject_t object;
    atomic_int told = 0;
    OK(cudaLaunchHostFunc(0, tell_signals, &told));
    OK(cudaDeviceSynchronize());
    expect_blocked();
    atomic_store(&told, 0);
    OK(cudaUserObjectCreate(&object, &told, tell_signals, 1, cudaUserObjectNoDestructorSync));
    OK(cudaUserObjectRelease(object, 1));
    while (!atomic_load(&told))
        pause_briefly();
    expect_blocked();
}

TEST(host_function_mistakes) {
    FAILS(cudaErrorInvalidValue, cudaLaunchHostFunc(0, NULL, NULL));
    FAILS(cudaErrorInvalidValue, cudaLaunchHostFunc_v2(0, append, NULL, 7));
}

TEST(host_functions_may_spin) {
    int at = 0;
    atomic_store(&order, 0);
    OK(cudaLaunchHostFunc_v2(0, append, &at, cudaHostTaskSpinWait));
    OK(cudaDeviceSynchronize());
    assert_int_equal(at, 1);
}

static cudaStream_t called_for;
static cudaError_t called_with = cudaErrorUnknown;

static void callback(cudaStream_t stream, cudaError_t status, void *data) {
    called_for = stream;
    called_with = status;
    *(int *)data = 5;
}

TEST(callbacks) {
    cudaStream_t stream;
    int data = 0;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamAddCallback(stream, callback, &data, 0));
    OK(cudaStreamSynchronize(stream));
    assert_int_equal(data, 5);
    assert_int_equal(called_with, cudaSuccess);
    assert_ptr_equal(called_for, stream);
    FAILS(cudaErrorInvalidValue, cudaStreamAddCallback(stream, NULL, &data, 0));
    FAILS(cudaErrorInvalidValue, cudaStreamAddCallback(stream, callback, &data, 1));
    OK(cudaStreamDestroy(stream));
}

static pthread_t caller;

static void note_caller(void *data) {
    caller = pthread_self();
    *(atomic_int *)data = 1;
}

/* As CUDA does: one that waits for another's would wait for ever. */
TEST(host_functions_are_called_one_at_a_time) {
    blocker g = {0};
    cudaStream_t a, b;
    atomic_int called = 0;
    char *sign = new_sign();
    OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    block_stream(&g, a);
    while (!atomic_load(&g.reached))
        pause_briefly();
    give(sign, b);
    OK(cudaStreamSynchronize(b)); /* other work goes on */
    OK(cudaLaunchHostFunc(b, note_caller, &called));
    for (int i = 0; i < 20; i++)
        pause_briefly();
    assert_int_equal(atomic_load(&called), 0);
    unblock_stream(&g);
    OK(cudaStreamSynchronize(b));
    assert_int_equal(atomic_load(&called), 1);
    assert_true(!pthread_equal(caller, pthread_self()));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
    OK(cudaFreeHost(sign));
}

TEST(host_functions_of_two_devices_are_not) {
    blocker g = {0};
    atomic_int called = 0;
    block_stream(&g, 0);
    OK(cudaSetDevice(1));
    OK(cudaLaunchHostFunc(0, note_caller, &called));
    OK(cudaDeviceSynchronize());
    assert_int_equal(atomic_load(&called), 1);
    unblock_stream(&g);
    OK(cudaSetDevice(0));
    OK(cudaDeviceSynchronize());
}

TEST(device_synchronise_waits_for_all) {
    enum { COUNT = 8 };
    cudaStream_t streams[COUNT];
    int at[COUNT] = {0};
    for (int i = 0; i < COUNT; i++) {
        OK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
        OK(cudaLaunchHostFunc(streams[i], append, &at[i]));
    }
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < COUNT; i++) {
        assert_true(at[i] > 0);
        OK(cudaStreamDestroy(streams[i]));
    }
}

TEST(attach_memory) {
    void *managed, *device;
    OK(cudaMallocManaged(&managed, 100, cudaMemAttachHost));
    OK(cudaMalloc(&device, 100));
    OK(cudaStreamAttachMemAsync(0, managed, 0, cudaMemAttachGlobal));
    FAILS(cudaErrorInvalidValue, cudaStreamAttachMemAsync(0, managed, 0, 0));
    FAILS(cudaErrorInvalidValue, cudaStreamAttachMemAsync(0, device, 0, cudaMemAttachGlobal));
    OK(cudaFree(managed));
    OK(cudaFree(device));
}

static void sleep_a_little(void *data) {
    (void)data;
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
}

static void *destroy_soon(void *stream) {
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    return cudaStreamDestroy(stream) ? stream : NULL;
}

TEST(is_destroyed_while_it_is_waited_for) {
    cudaStream_t stream;
    pthread_t thread;
    void *failed;
    OK(cudaStreamCreate(&stream));
    OK(cudaLaunchHostFunc(stream, sleep_a_little, NULL));
    assert_int_equal(pthread_create(&thread, NULL, destroy_soon, stream), 0);
    OK(cudaStreamSynchronize(stream));
    assert_int_equal(pthread_join(thread, &failed), 0);
    assert_null(failed);
}

/* The thread is cancelled before it waits: its call ends first, and leaves no lock behind. */
static void *wait_cancelled(void *stream) {
    pthread_cancel(pthread_self());
    if (cudaStreamSynchronize(stream))
        return stream;
    pthread_testcancel();
    return NULL;
}

TEST(a_thread_that_is_cancelled) {
    cudaStream_t stream;
    pthread_t thread;
    void *result;
    OK(cudaStreamCreate(&stream));
    OK(cudaLaunchHostFunc(stream, sleep_a_little, NULL));
    assert_int_equal(pthread_create(&thread, NULL, wait_cancelled, stream), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, PTHREAD_CANCELED);
    OK(cudaStreamQuery(stream));
    OK(cudaStreamDestroy(stream));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        T(creates_and_destroys),
        T(create_mistakes),
        T(destroy_mistakes),
        T(stale_handles),
        T(work_is_done_in_order),
        T(work_is_asynchronous),
        T(streams_are_independent),
        T(destroyed_streams_finish_their_work),
        T(is_destroyed_while_it_is_waited_for),
        T(legacy_stream_waits_for_blocking_streams),
        T(blocking_streams_wait_for_the_legacy_stream),
        T(non_blocking_streams_do_not),
        T(the_legacy_stream_does_not_wait_for_non_blocking_ones),
        T(devices_do_not_wait_for_each_other),
        T(the_per_thread_stream),
        T(flags),
        T(priorities_are_clamped),
        T(ids_are_unique),
        T(a_stream_knows_its_device),
        T(nothing_is_captured),
        T(attributes),
        T(attribute_mistakes),
        T(host_functions_must_not_call_cuda),
        T(faults_are_the_threads_own_signals),
        T(host_function_mistakes),
        T(host_functions_may_spin),
        T(callbacks),
        T(host_functions_are_called_one_at_a_time),
        T(host_functions_of_two_devices_are_not),
        T(device_synchronise_waits_for_all),
        T(attach_memory),
        T(a_thread_that_is_cancelled),
    };
    return RUN(tests);
}
