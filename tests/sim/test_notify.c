/* What a driver tells of itself and of the links between devices. */
#include "sim_test.h"
#include "../scratch.h"

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

/* NOLINTNEXTLINE(readability-non-const-parameter): the signature is CUDA's */
static void hear_log(void *data, cudaLogLevel level, char *text, size_t length) {
    (void)data, (void)level, (void)text, (void)length;
}

TEST(the_log_is_empty) {
    char text[16] = "before";
    char path[SCRATCH_SIZE];
    size_t size = sizeof text;
    cudaLogIterator at;
    cudaLogsCallbackHandle callback;
    OK(cudaLogsCurrent(&at, 0));
    OK(cudaLogsDumpToMemory(&at, text, &size, 0));
    assert_int_equal(size, 0);
    assert_string_equal(text, "");
    FAILS(cudaErrorInvalidValue, cudaLogsDumpToMemory(&at, text, &size, 0));
    FAILS(cudaErrorInvalidValue, cudaLogsCurrent(NULL, 0));
    FAILS(cudaErrorInvalidValue, cudaLogsCurrent(&at, 1));
    int file = mkstemp(scratch_path(path));
    if (file < 0) {
        fail_msg("no file can be made at %s", path);
        return;
    }
    assert_int_equal(write(file, "x", 1), 1);
    OK(cudaLogsDumpToFile(NULL, path, 0));
    assert_int_equal(lseek(file, 0, SEEK_END), 0);
    assert_int_equal(close(file), 0);
    assert_int_equal(remove(path), 0);
    FAILS(cudaErrorInvalidValue, cudaLogsDumpToFile(NULL, "/no/such/folder/log", 0));
    OK(cudaLogsRegisterCallback(hear_log, NULL, &callback));
    OK(cudaLogsUnregisterCallback(callback));
    FAILS(cudaErrorInvalidValue, cudaLogsUnregisterCallback(callback));
    FAILS(cudaErrorInvalidValue, cudaLogsRegisterCallback(NULL, NULL, &callback));
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
    FAILS(cudaErrorNotSupported, cudaMemPoolImportFromShareableHandle(
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
        T(the_log_is_empty),
        T(links_have_what_the_attributes_say),
        T(banks_stay_as_they_are),
        T(no_pool_can_be_exported),
        T(no_tool_listens),
    };
    return RUN(tests);
}
