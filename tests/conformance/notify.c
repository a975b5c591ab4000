/* Callbacks about a device, and the driver's log. An H100 with driver 13.0 was asked. */
#include "conformance.h"

static void hear(cudaAsyncNotificationInfo_t *info, void *data, cudaAsyncCallbackHandle_t handle) {
    (void)info, (void)data, (void)handle;
}

static void hear_by_driver(CUasyncNotificationInfo *info, void *data,
                           CUasyncCallbackHandle handle) {
    (void)info, (void)data, (void)handle;
}

/* Nothing exceeds a budget, because there is none. A handle that is no longer one, and no place for
 * the handle, crash CUDA. */
CASE(callbacks_are_registered) {
    cudaAsyncCallbackHandle_t first = NULL, second = NULL;
    void *memory;
    OK(cudaDeviceRegisterAsyncNotification(0, hear, NULL, &first));
    OK(cudaDeviceRegisterAsyncNotification(0, hear, NULL, &second));
    IS(first != second);
    FAILS(cudaErrorInvalidDevice, cudaDeviceRegisterAsyncNotification(99, hear, NULL, &first));
    FAILS(cudaErrorInvalidDevice, cudaDeviceRegisterAsyncNotification(-1, hear, NULL, &first));
    FAILS(cudaErrorInvalidValue, cudaDeviceRegisterAsyncNotification(0, NULL, NULL, &first));
    FAILS(cudaErrorInvalidDevice, cudaDeviceUnregisterAsyncNotification(99, first));
    OK(cudaMalloc(&memory, 32 * MIB));
    OK(cudaFree(memory));
    OK(cudaDeviceUnregisterAsyncNotification(0, first));
    OK(cudaDeviceUnregisterAsyncNotification(0, second));
}

CASE(callbacks_of_the_driver) {
    CUasyncCallbackHandle first = NULL, second = NULL, none = NULL;
    OK(cudaFree(NULL));
    OK(cuDeviceRegisterAsyncNotification(0, hear_by_driver, NULL, &first));
    OK(cuDeviceRegisterAsyncNotification(0, hear_by_driver, NULL, &second));
    IS(first != second);
    SAYS(CUDA_ERROR_INVALID_DEVICE,
         cuDeviceRegisterAsyncNotification(99, hear_by_driver, NULL, &none));
    SAYS(CUDA_ERROR_INVALID_DEVICE,
         cuDeviceRegisterAsyncNotification(-1, hear_by_driver, NULL, &none));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuDeviceRegisterAsyncNotification(0, NULL, NULL, &none));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuDeviceRegisterAsyncNotification(99, NULL, NULL, &none));
    SAYS(CUDA_ERROR_INVALID_DEVICE, cuDeviceUnregisterAsyncNotification(99, first));
    OK(cuDeviceUnregisterAsyncNotification(0, first));
    OK(cuDeviceUnregisterAsyncNotification(0, second));
}

/* Captures do not look at it. */
CASE(callbacks_are_registered_while_capturing) {
    CUasyncCallbackHandle handle = NULL;
    CUstream stream;
    CUgraph graph;
    OK(cudaFree(NULL));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuDeviceRegisterAsyncNotification(0, hear_by_driver, NULL, &handle));
    OK(cuDeviceUnregisterAsyncNotification(0, handle));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphDestroy(graph));
    OK(cuStreamDestroy(stream));
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the signature is CUDA's */
static void hear_log(void *data, cudaLogLevel level, char *text, size_t length) {
    (void)data, (void)level, (void)text, (void)length;
}

CASE(the_log_is_listened_to) {
    cudaLogsCallbackHandle handle = NULL;
    cudaLogIterator at = 0;
    char text[65536];
    size_t size = sizeof text;
    OK(cudaLogsRegisterCallback(hear_log, NULL, &handle));
    SAYS(cudaErrorInvalidValue, cudaLogsRegisterCallback(NULL, NULL, &handle));
    SAYS(cudaErrorInvalidValue, cudaLogsCurrent(NULL, 0));
    OK(cudaLogsCurrent(&at, 1)); /* whose flags are not looked at */
    SAYS(cudaErrorInvalidValue, cudaLogsDumpToFile(NULL, "/no/such/folder/log", 0));
    OK(cudaLogsCurrent(&at, 0));
    OK(cudaLogsDumpToMemory(&at, text, &size, 0)); /* nothing was added */
    EQUAL(size, 0);
    OK(cudaLogsUnregisterCallback(handle));
    (void)cudaGetLastError();
}
