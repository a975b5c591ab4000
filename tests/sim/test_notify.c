/* What a driver tells of itself and of the links between devices. */
#include "sim_test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void hear(cudaAsyncNotificationInfo_t *info, void *data,
                 cudaAsyncCallbackHandle_t callback) {
    (void)info, (void)data, (void)callback;
}

TEST(listeners_come_and_go) {
    cudaAsyncCallbackHandle_t callback;
    OK(cudaDeviceRegisterAsyncNotification(1, hear, NULL, &callback));
    FAILS(cudaErrorInvalidValue, cudaDeviceUnregisterAsyncNotification(0, callback));
    OK(cudaDeviceUnregisterAsyncNotification(1, callback));
    FAILS(cudaErrorInvalidValue, cudaDeviceUnregisterAsyncNotification(1, callback));
    FAILS(cudaErrorInvalidValue, cudaDeviceRegisterAsyncNotification(0, NULL, NULL, &callback));
    FAILS(cudaErrorInvalidValue, cudaDeviceRegisterAsyncNotification(0, hear, NULL, NULL));
    FAILS(cudaErrorInvalidDevice, cudaDeviceRegisterAsyncNotification(2, hear, NULL, &callback));
    FAILS(cudaErrorInvalidDevice, cudaDeviceUnregisterAsyncNotification(-1, callback));
}

/* ---- a budget ---- */

enum { MIB = 1 << 20 };
#define TIGHT "devices=2,memory=1GiB,budget=4MiB"

/* What a callback has heard, and what the callback does itself. */
typedef struct ear {
    cudaAsyncCallbackHandle_t handle;
    atomic_int count, type, is_held, is_open;
    atomic_ullong over;
    _Atomic(cudaAsyncCallbackHandle_t) given;
    void (*then)(struct ear *ear);
    void *memory;
    cudaError_t results[3];
} ear;

static void hear_over(cudaAsyncNotificationInfo_t *info, void *data,
                      cudaAsyncCallbackHandle_t callback) {
    ear *e = data;
    atomic_store(&e->type, (int)info->type);
    atomic_store(&e->over, info->info.overBudget.bytesOverBudget);
    atomic_store(&e->given, callback);
    if (e->then)
        e->then(e);
    atomic_fetch_add(&e->count, 1);
}

static void listen(int device, ear *e) {
    OK(cudaDeviceRegisterAsyncNotification(device, hear_over, e, &e->handle));
}

static void wait_to_hear(ear *e, int count) {
    while (atomic_load(&e->count) < count)
        pause_briefly();
}

static void *take(size_t size) {
    void *memory = NULL;
    OK(cudaMalloc(&memory, size));
    return memory;
}

TEST(too_much_memory_is_heard_of) {
    ear first = {0}, second = {0}, other = {0};
    acu_sim_reset(TIGHT);
    listen(0, &first);
    listen(0, &second);
    listen(1, &other);
    void *within = take(4 * MIB);
    void *over = take(3 * MIB);
    wait_to_hear(&first, 1);
    wait_to_hear(&second, 1);
    assert_int_equal(first.type, cudaAsyncNotificationTypeOverBudget);
    assert_int_equal(first.over, 3 * MIB);
    assert_int_equal(second.over, 3 * MIB);
    assert_true(first.given == first.handle);
    assert_true(second.given == second.handle);
    /* What makes it worse is not heard of, only that the budget is exceeded once more. */
    void *more = take(MIB);
    OK(cudaFree(more));
    OK(cudaFree(over));
    over = take(2 * MIB);
    wait_to_hear(&first, 2);
    wait_to_hear(&second, 2);
    assert_int_equal(first.over, 2 * MIB);
    OK(cudaFree(within));
    OK(cudaFree(over));
    OK(cudaDeviceUnregisterAsyncNotification(0, first.handle));
    OK(cudaDeviceUnregisterAsyncNotification(0, second.handle));
    OK(cudaDeviceUnregisterAsyncNotification(1, other.handle));
    assert_int_equal(first.count, 2);
    assert_int_equal(other.count, 0);
}

TEST(pools_and_arrays_count_too) {
    const struct cudaChannelFormatDesc bytes = {8, 0, 0, 0, cudaChannelFormatKindUnsigned};
    ear e = {0};
    cudaArray_t array;
    void *memory;
    acu_sim_reset("memory=1GiB,budget=48MiB");
    listen(0, &e);
    OK(cudaMallocArray(&array, &bytes, 4096, 4096, 0));
    OK(cudaMallocAsync(&memory, 40 * MIB, NULL));
    wait_to_hear(&e, 1);
    OK(cudaFreeAsync(memory, NULL));
    OK(cudaFreeArray(array));
    OK(cudaDeviceUnregisterAsyncNotification(0, e.handle));
}

TEST(without_a_budget_nothing_is_heard) {
    ear e = {0};
    listen(0, &e);
    OK(cudaFree(take(512 * MIB)));
    OK(cudaDeviceUnregisterAsyncNotification(0, e.handle));
    assert_int_equal(e.count, 0);
}

/* A callback may free what is too much, but not register callbacks. */
static void free_it(ear *e) {
    cudaAsyncCallbackHandle_t handle;
    e->results[0] = cudaFree(e->memory);
    e->results[1] = cudaDeviceRegisterAsyncNotification(0, hear, NULL, &handle);
    e->results[2] = cudaDeviceUnregisterAsyncNotification(0, e->handle);
}

TEST(a_callback_calls_cuda) {
    ear e = {.then = free_it};
    size_t left, all;
    acu_sim_reset(TIGHT);
    e.memory = take(3 * MIB);
    listen(0, &e);
    void *over = take(2 * MIB);
    wait_to_hear(&e, 1);
    OK(e.results[0]);
    SAYS(cudaErrorNotPermitted, e.results[1]);
    SAYS(cudaErrorNotPermitted, e.results[2]);
    OK(cudaMemGetInfo(&left, &all));
    assert_int_equal(all - left, 2 * MIB);
    OK(cudaFree(over));
    OK(cudaDeviceUnregisterAsyncNotification(0, e.handle));
}

static void hold(ear *e) {
    atomic_store(&e->is_held, 1);
    while (!atomic_load(&e->is_open))
        pause_briefly();
}

static void *open_it(void *data) {
    ear *e = data;
    pause_briefly();
    atomic_store(&e->is_open, 1);
    return NULL;
}

/* Makes a callback that does not return before another thread lets it. */
static pthread_t begin_to_hear(ear *e) {
    pthread_t thread;
    listen(0, e);
    (void)take(5 * MIB);
    while (!atomic_load(&e->is_held))
        pause_briefly();
    assert_int_equal(pthread_create(&thread, NULL, open_it, e), 0);
    return thread;
}

TEST(unregistering_waits_for_the_callback) {
    ear e = {.then = hold};
    acu_sim_reset(TIGHT ",seed=7");
    pthread_t thread = begin_to_hear(&e);
    OK(cudaDeviceUnregisterAsyncNotification(0, e.handle));
    assert_int_equal(e.count, 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    FAILS(cudaErrorInvalidValue, cudaDeviceUnregisterAsyncNotification(0, e.handle));
    acu_sim_reset(MACHINE);
}

TEST(a_reset_waits_for_the_callback) {
    ear e = {.then = hold};
    acu_sim_reset(TIGHT);
    pthread_t thread = begin_to_hear(&e);
    acu_sim_reset(TIGHT);
    assert_int_equal(e.count, 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    OK(cudaFree(take(5 * MIB)));
    assert_int_equal(e.count, 1);
}

TEST(links_have_what_the_attributes_say) {
    enum cudaAtomicOperation ops[2] = {cudaAtomicOperationCAS, cudaAtomicOperationFloatAdd};
    unsigned can[2] = {77, 77};
    OK(cudaDeviceGetHostAtomicCapabilities(can, ops, 2, 0));
    assert_int_equal(can[0], 0);
    OK(cudaDeviceGetP2PAtomicCapabilities(can, ops, 2, 0, 1));
    assert_true(can[0] & cudaAtomicCapabilityScalar64);
    assert_false(can[1] & cudaAtomicCapabilityUnsigned);
    FAILS(cudaErrorInvalidDevice, cudaDeviceGetP2PAtomicCapabilities(can, ops, 2, 0, 0));
    FAILS(cudaErrorInvalidDevice, cudaDeviceGetHostAtomicCapabilities(can, ops, 2, 2));
    FAILS(cudaErrorInvalidValue, cudaDeviceGetHostAtomicCapabilities(can, ops, 0, 0));
    ops[1] = (enum cudaAtomicOperation)99;
    FAILS(cudaErrorInvalidValue, cudaDeviceGetHostAtomicCapabilities(can, ops, 2, 0));
    OK(cudaDeviceFlushGPUDirectRDMAWrites(cudaFlushGPUDirectRDMAWritesTargetCurrentDevice,
                                          cudaFlushGPUDirectRDMAWritesToOwner));
    FAILS(cudaErrorInvalidValue,
          cudaDeviceFlushGPUDirectRDMAWrites(cudaFlushGPUDirectRDMAWritesTargetCurrentDevice,
                                             (enum cudaFlushGPUDirectRDMAWritesScope)1));
}

TEST(banks_stay_as_they_are) {
    enum cudaSharedMemConfig config;
    OK(cudaDeviceSetSharedMemConfig(cudaSharedMemBankSizeEightByte));
    OK(cudaDeviceGetSharedMemConfig(&config));
    assert_int_equal(config, cudaSharedMemBankSizeFourByte);
    FAILS(cudaErrorInvalidValue, cudaDeviceSetSharedMemConfig((enum cudaSharedMemConfig)3));
    FAILS(cudaErrorInvalidValue, cudaDeviceGetSharedMemConfig(NULL));
}

TEST(no_pool_can_be_exported) {
    cudaMemPool_t pool;
    struct cudaMemPoolPtrExportData data;
    int file = 0;
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    FAILS(cudaErrorInvalidValue,
          cudaMemPoolExportToShareableHandle(&file, pool, cudaMemHandleTypePosixFileDescriptor, 0));
    FAILS(cudaErrorInvalidValue, cudaMemPoolExportPointer(&data, &file));
    FAILS(cudaErrorInvalidValue, cudaMemPoolImportFromShareableHandle(
                                     NULL, &file, cudaMemHandleTypePosixFileDescriptor, 0));
    FAILS(cudaErrorUnknown, cudaMemPoolImportFromShareableHandle(
                                &pool, &file, cudaMemHandleTypePosixFileDescriptor, 0));
    FAILS(cudaErrorInvalidValue, cudaMemPoolImportPointer(NULL, pool, &data));
}

TEST(no_tool_listens) {
    OK(cudaProfilerStart());
    OK(cudaProfilerStop());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        T(listeners_come_and_go),
        T(too_much_memory_is_heard_of),
        T(pools_and_arrays_count_too),
        T(without_a_budget_nothing_is_heard),
        T(a_callback_calls_cuda),
        T(unregistering_waits_for_the_callback),
        T(a_reset_waits_for_the_callback),
        T(links_have_what_the_attributes_say),
        T(banks_stay_as_they_are),
        T(no_pool_can_be_exported),
        T(no_tool_listens),
    };
    return RUN(tests);
}
