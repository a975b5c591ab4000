/* Callbacks about a device, and the driver's log. An H100 with driver 13.0 was asked. */
#define _POSIX_C_SOURCE 200809L /* getpid */
#include "conformance.h"
#include "kernels.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/* NOLINTNEXTLINE(readability-non-const-parameter): the signature is CUDA's */
static void hear_log_by_driver(void *data, CUlogLevel level, char *text, size_t length) {
    (void)data, (void)level, (void)text, (void)length;
}

CASE(the_log_by_the_driver) {
    CUlogsCallbackHandle handle = NULL;
    CUlogIterator at = 0;
    char text[65536];
    size_t size = sizeof text;
    OK(cuInit(0));
    OK(cuLogsRegisterCallback(hear_log_by_driver, NULL, &handle));
    IS(handle != NULL);
    OK(cuLogsCurrent(&at, 0));
    OK(cuLogsDumpToMemory(&at, text, &size, 0)); /* nothing was added */
    EQUAL(size, 0);
    OK(cuLogsUnregisterCallback(handle));
    ASK(cuLogsRegisterCallback(NULL, NULL, &handle));
    ASK(cuLogsCurrent(NULL, 0));
    ASK(cuLogsDumpToMemory(&at, NULL, &size, 0));
    ASK(cuLogsDumpToFile(&at, "/no/such/folder/log", 0));
}

/* What was heard last, and how often. */
typedef struct heard {
    int lines;
    char line[1024];
} heard;

/* NOLINTNEXTLINE(readability-non-const-parameter): the signature is CUDA's */
static void keep_line(void *data, CUlogLevel level, char *text, size_t length) {
    heard *h = data;
    (void)level;
    h->lines++;
    snprintf(h->line, sizeof h->line, "%.*s", (int)length, text);
}

static int lines_in(const char *text) {
    int lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

/* Returns the lines since the place, to whose end the place goes; "" where there are none. */
static const char *logged(CUlogIterator *from) {
    static char text[65536];
    size_t size = sizeof text;
    *text = '\0';
    (void)cuLogsDumpToMemory(from, text, &size, 0);
    return text;
}

/* A line is "[HH:MM:SS.mmm][thread][CUDA][E] …"; that an H200 (13.0) writes it is known of this
 * call only. */
CASE(the_log_has_calls_that_fail) {
    static const char line[] =
        "][CUDA][E] Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuMemFree_v2";
    CUlogsCallbackHandle handle = NULL;
    CUlogIterator at = 0;
    heard h = {.lines = 0};
    OK(cudaFree(NULL));
    OK(cuLogsRegisterCallback(keep_line, &h, &handle));
    OK(cuLogsCurrent(&at, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemFree(7));
    const char *text = logged(&at);
    IS(strstr(text, line) != NULL);
    IS(text[0] == '[' && text[3] == ':' && text[6] == ':' && text[9] == '.' && text[13] == ']');
    EQUAL(h.lines, lines_in(text));
    ASK(strncmp(h.line, text, strlen(h.line)) == 0 || strstr(text, h.line) != NULL); /* all of it */
    ASK(h.line[0] && h.line[strlen(h.line) - 1] == '\n');
    OK(cuLogsUnregisterCallback(handle));
}

/* How many lines there are of what is no failure, or the runtime's own. */
CASE(the_log_and_the_runtime) {
    CUlogIterator at = 0;
    cudaStream_t stream;
    int local = 0;
    OK(cudaStreamCreate(&stream));
    OK(cuLogsCurrent(&at, 0));
    hold(stream);
    SAYS(cudaErrorNotReady, cudaStreamQuery(stream));
    SAYS(CUDA_ERROR_NOT_READY, cuStreamQuery((CUstream)stream));
    ASK(lines_in(logged(&at)));
    let_go();
    OK(cudaStreamSynchronize(stream));
    OK(cudaStreamDestroy(stream));
    FAILS(cudaErrorInvalidValue, cudaMalloc(NULL, 1));
    ASK(lines_in(logged(&at)));
    FAILS(cudaErrorInvalidDevice, cudaSetDevice(99));
    ASK(lines_in(logged(&at)));
    FAILS(cudaErrorInvalidValue, cudaFree(&local));
    ASK(strstr(logged(&at), "from cuMemFree_v2") != NULL);
}

/* ---- coredumps: none is written ---- */

static void hear_coredump(void *data, int process, CUdevice device) {
    (void)data, (void)process, (void)device;
}

/* The context loads no code afterwards, so the case is alone. */
LONE_CASE(coredumps_of_a_context) {
    bool on = true;
    char path[1024] = "";
    unsigned flags = 0;
    size_t size = sizeof on;
    OK(cudaFree(NULL));
    OK(cuCoredumpGetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, &on, &size));
    EQUAL(on, false);
    EQUAL(size, 1);
    OK(cuCoredumpGetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, NULL, &size));
    EQUAL(size, 1);
    on = true;
    size = sizeof on;
    OK(cuCoredumpSetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, &on, &size));
    on = false;
    OK(cuCoredumpGetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, &on, &size));
    EQUAL(on, true);
    on = false;
    OK(cuCoredumpSetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, &on, &size));
    strcpy(path, "a-path");
    size = strlen(path) + 1;
    OK(cuCoredumpSetAttribute(CU_COREDUMP_FILE, path, &size));
    size = sizeof path;
    OK(cuCoredumpGetAttribute(CU_COREDUMP_FILE, path, &size));
    SAME_TEXT(path, "a-path");
    EQUAL(size, 1024);
    size = 3;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuCoredumpGetAttribute(CU_COREDUMP_FILE, path, &size));
    size = sizeof on;
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuCoredumpSetAttribute(CU_COREDUMP_ENABLE_USER_TRIGGER, &on, &size));
    size = sizeof path;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuCoredumpSetAttribute(CU_COREDUMP_PIPE, path, &size));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuCoredumpGetAttribute((CUcoredumpSettings)99, path, &size));
    if (driver() >= 12050) {
        size = sizeof flags;
        flags = CU_COREDUMP_SKIP_GLOBAL_MEMORY;
        OK(cuCoredumpSetAttribute(CU_COREDUMP_GENERATION_FLAGS, &flags, &size));
        flags = 0;
        OK(cuCoredumpGetAttribute(CU_COREDUMP_GENERATION_FLAGS, &flags, &size));
        EQUAL(flags, CU_COREDUMP_SKIP_GLOBAL_MEMORY);
        flags = 0x00800000;
        ASK(cuCoredumpSetAttribute(CU_COREDUMP_GENERATION_FLAGS, &flags, &size));
        flags = 0;
        OK(cuCoredumpSetAttribute(CU_COREDUMP_GENERATION_FLAGS, &flags, &size));
    }
}

/* Contexts where coredumps of faults were turned on and off load no code until the device is
 * reset; functions that they have still run. The driver for 13.0 was asked. */
LONE_CASE(coredumps_turned_off_let_no_code_in) {
    static const char text[] = PTX_HEAD PTX_NOTHING("nothing", "");
    CUmodule before = NULL, after = NULL;
    CUfunction function = NULL;
    bool on = true;
    size_t size = sizeof on;
    if (driver() < 13000)
        return;
    OK(cudaFree(NULL));
    OK(cuModuleLoadData(&before, text));
    OK(cuModuleGetFunction(&function, before, "nothing"));
    OK(cuCoredumpSetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, &on, &size));
    OK(cuModuleLoadData(&after, text));
    OK(cuModuleUnload(after));
    on = false;
    OK(cuCoredumpSetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, &on, &size));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuModuleLoadData(&after, text));
    on = true;
    OK(cuCoredumpSetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, &on, &size));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuModuleLoadData(&after, text));
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cudaDeviceSynchronize());
    OK(cudaDeviceReset());
    OK(cudaFree(NULL));
    OK(cuModuleLoadData(&after, text));
    OK(cuModuleUnload(after));
}

CASE(coredumps_of_the_process) {
    bool on = true;
    size_t size = sizeof on;
    OK(cuInit(0));
    OK(cuCoredumpGetAttributeGlobal(CU_COREDUMP_ENABLE_ON_EXCEPTION, &on, &size));
    ASK(on);
    size = sizeof on;
    OK(cuCoredumpGetAttributeGlobal(CU_COREDUMP_TRIGGER_HOST, &on, &size));
    ASK(on);
}

CASE(coredumps_are_listened_to) {
    CUcoredumpCallbackHandle begins = NULL, ends = NULL;
    OK(cuInit(0));
    OK(cuCoredumpRegisterStartCallback(hear_coredump, NULL, &begins));
    OK(cuCoredumpRegisterCompleteCallback(hear_coredump, NULL, &ends));
    IS(begins != NULL && ends != NULL);
    OK(cuCoredumpDeregisterStartCallback(begins));
    OK(cuCoredumpDeregisterCompleteCallback(ends));
    ASK(cuCoredumpRegisterStartCallback(NULL, NULL, &begins));
}

/* ---- the state of this process: nothing is done with it ---- */

CASE(the_state_of_this_process) {
    CUprocessState state = CU_PROCESS_STATE_FAILED;
    int thread = 0;
    OK(cudaFree(NULL));
    SAYS(CUDA_SUCCESS, cuCheckpointProcessGetState((int)getpid(), &state));
    EQUAL(state, CU_PROCESS_STATE_RUNNING);
    ASK(cuCheckpointProcessGetRestoreThreadId((int)getpid(), &thread));
    SAYS(CUDA_ERROR_ILLEGAL_STATE, cuCheckpointProcessUnlock((int)getpid(), NULL));
    SAYS(CUDA_ERROR_ILLEGAL_STATE, cuCheckpointProcessCheckpoint((int)getpid(), NULL));
    SAYS(CUDA_ERROR_ILLEGAL_STATE, cuCheckpointProcessRestore((int)getpid(), NULL));
    SAYS(CUDA_ERROR_OPERATING_SYSTEM, cuCheckpointProcessGetState(-1, &state));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuCheckpointProcessGetState((int)getpid(), NULL));
}
