/* Errors: what is told when, to whom, and what a lost context still allows. */
#include "conformance.h"

#include <pthread.h>

/* ---- the last error
 * ---------------------------------------------------------------------------------- */

CASE(an_error_is_told_once) {
    SAYS(cudaErrorInvalidDevice, cudaSetDevice(99));
    SAYS(cudaErrorInvalidDevice, cudaPeekAtLastError());
    SAYS(cudaErrorInvalidDevice, cudaPeekAtLastError());
    SAYS(cudaErrorInvalidDevice, cudaGetLastError());
    SAYS(cudaSuccess, cudaGetLastError());
    SAYS(cudaSuccess, cudaPeekAtLastError());
}

CASE(success_does_not_hide_an_error) {
    int device;
    SAYS(cudaErrorInvalidDevice, cudaSetDevice(99));
    OK(cudaGetDevice(&device));
    OK(cudaDeviceSynchronize());
    SAYS(cudaErrorInvalidDevice, cudaGetLastError());
}

CASE(the_newest_error_counts) {
    SAYS(cudaErrorInvalidDevice, cudaSetDevice(99));
    SAYS(cudaErrorInvalidValue, cudaMalloc(NULL, 1));
    SAYS(cudaErrorInvalidValue, cudaGetLastError());
    SAYS(cudaSuccess, cudaGetLastError());
}

static void *fail_elsewhere(void *unused) {
    (void)unused;
    (void)cudaSetDevice(99);
    return (void *)(intptr_t)cudaPeekAtLastError();
}

CASE(each_thread_has_its_own) {
    pthread_t thread;
    void *result = NULL;
    EQUAL(pthread_create(&thread, NULL, fail_elsewhere, NULL), 0);
    EQUAL(pthread_join(thread, &result), 0);
    EQUAL((intptr_t)result, cudaErrorInvalidDevice);
    SAYS(cudaSuccess, cudaPeekAtLastError());
}

CASE(an_error_of_one_call_does_not_fail_the_next) {
    char *memory;
    SAYS(cudaErrorInvalidValue, cudaMalloc(NULL, 1));
    OK(cudaMalloc((void **)&memory, 16));
    OK(cudaMemset(memory, 1, 16));
    OK(cudaFree(memory));
    SAYS(cudaErrorInvalidValue, cudaGetLastError());
}

CASE(versions) {
    int version = 0;
    OK(cudaRuntimeGetVersion(&version));
    EQUAL(version, runtime());
    OK(cudaDriverGetVersion(&version));
    IS(version / 1000 >= runtime() / 1000);
    FAILS(cudaErrorInvalidValue, cudaRuntimeGetVersion(NULL));
    FAILS(cudaErrorInvalidValue, cudaDriverGetVersion(NULL));
}

CASE(names_and_texts) {
    SAME_TEXT(cudaGetErrorName(cudaSuccess), "cudaSuccess");
    SAME_TEXT(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue");
}

/* ---- a lost context
 * ------------------------------------------------------------------------------------- */

static struct {
    cudaStream_t stream;
    cudaEvent_t event, recorded;
    cudaMemPool_t pool;
    char *memory, *pinned, *pooled;
} had;

/* Everything one may have. */
static bool have(void) {
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location = {cudaMemLocationTypeDevice, {0}}};
    return !cudaStreamCreate(&had.stream) && !cudaEventCreate(&had.event) &&
           !cudaEventCreate(&had.recorded) && !cudaMemPoolCreate(&had.pool, &props) &&
           !cudaMalloc((void **)&had.memory, 1000) && !cudaMallocHost((void **)&had.pinned, 1000) &&
           !cudaMallocAsync((void **)&had.pooled, 1000, had.stream) &&
           !cudaEventRecord(had.recorded, had.stream) && !cudaStreamSynchronize(had.stream);
}

/* Then the context is lost. */
static bool lose(int code) {
    bool good = have();
    fault(had.stream, code);
    return good;
}

LONE_CASE(an_illegal_address_is_told_by_whoever_waits) {
    IS(lose(700));
    SAYS(cudaErrorIllegalAddress, cudaStreamSynchronize(had.stream));
    SAYS(cudaErrorIllegalAddress, cudaPeekAtLastError());
    SAYS(cudaErrorIllegalAddress, cudaGetLastError());
    ASK(cudaGetLastError());
    ASK(cudaPeekAtLastError());
    SAYS(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    ASK(cudaGetLastError());
    ASK(cudaGetLastError());
}

LONE_CASE(a_launch_failure_is_told_by_whoever_waits) {
    IS(lose(719));
    SAYS(cudaErrorLaunchFailure, cudaDeviceSynchronize());
    SAYS(cudaErrorLaunchFailure, cudaGetLastError());
    ASK(cudaGetLastError());
    SAYS(cudaErrorLaunchFailure, cudaStreamSynchronize(had.stream));
}

LONE_CASE(a_fault_is_told_by_an_event) {
    IS(have());
    hold(had.stream);
    fault(had.stream, 700);
    OK(cudaEventRecord(had.event, had.stream));
    let_go();
    SAYS(cudaErrorIllegalAddress, cudaEventSynchronize(had.event));
    SAYS(cudaErrorIllegalAddress, cudaEventQuery(had.event));
}

LONE_CASE(a_fault_is_told_by_a_query) {
    cudaError_t result;
    IS(lose(700));
    do
        result = cudaStreamQuery(had.stream);
    while (result == cudaErrorNotReady);
    EQUAL(result, cudaErrorIllegalAddress);
}

LONE_CASE(a_fault_is_told_by_a_copy) {
    char local[16];
    IS(lose(700));
    SAYS(cudaErrorIllegalAddress, cudaMemcpy(local, had.memory, 16, cudaMemcpyDeviceToHost));
}

static union {
    int number;
    unsigned flags;
    size_t size[2];
    void *pointer;
    float ms;
    unsigned long long id;
    cudaStream_t stream;
    cudaEvent_t event;
    cudaMemPool_t pool;
    char bytes[64];
    struct cudaPointerAttributes attributes;
    uint64_t count;
    enum cudaStreamCaptureStatus capture;
    struct cudaDeviceProp prop;
} out;

LONE_CASE(what_a_lost_context_still_answers) {
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location = {cudaMemLocationTypeDevice, {0}}};
    IS(lose(700));
    SAYS(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    (void)cudaGetLastError();
    ASK(cudaGetDeviceCount(&out.number));
    ASK(cudaGetDevice(&out.number));
    ASK(cudaSetDevice(0));
    ASK(cudaGetDeviceProperties(&out.prop, 0));
    ASK(cudaDeviceGetAttribute(&out.number, cudaDevAttrWarpSize, 0));
    ASK(cudaGetDeviceFlags(&out.flags));
    ASK(cudaSetDeviceFlags(0));
    ASK(cudaDeviceGetPCIBusId(out.bytes, 32, 0));
    ASK(cudaDriverGetVersion(&out.number));
    ASK(cudaRuntimeGetVersion(&out.number));
    ASK(cudaDeviceGetLimit(&out.size[0], cudaLimitStackSize));
    ASK(cudaDeviceSetLimit(cudaLimitStackSize, 1024));
    ASK(cudaDeviceGetStreamPriorityRange(&out.number, NULL));
    ASK(cudaMemGetInfo(&out.size[0], &out.size[1]));
    ASK(cudaMalloc(&out.pointer, 16));
    ASK(cudaMalloc(&out.pointer, 0));
    ASK(cudaMallocHost(&out.pointer, 16));
    ASK(cudaMallocManaged(&out.pointer, 16, cudaMemAttachGlobal));
    ASK(cudaMallocAsync(&out.pointer, 16, had.stream));
    ASK(cudaPointerGetAttributes(&out.attributes, had.memory));
    ASK(cudaPointerGetAttributes(&out.attributes, &out));
    ASK(cudaHostGetFlags(&out.flags, had.pinned));
    ASK(cudaHostGetDevicePointer(&out.pointer, had.pinned, 0));
    ASK(cudaHostRegister(&out, sizeof out, 0));
    ASK(cudaHostUnregister(&out));
    ASK(cudaMemcpy(out.bytes, had.memory, 16, cudaMemcpyDeviceToHost));
    ASK(cudaMemcpy(out.bytes, out.bytes + 32, 16, cudaMemcpyHostToHost));
    ASK(cudaMemcpyAsync(had.pinned, had.memory, 16, cudaMemcpyDeviceToHost, had.stream));
    ASK(cudaMemset(had.memory, 1, 16));
    ASK(cudaMemset(NULL, 1, 0));
    ASK(cudaStreamCreate(&out.stream));
    ASK(cudaStreamQuery(had.stream));
    ASK(cudaStreamQuery(NULL));
    ASK(cudaStreamSynchronize(had.stream));
    ASK(cudaStreamGetFlags(had.stream, &out.flags));
    ASK(cudaStreamGetPriority(had.stream, &out.number));
    ASK(cudaStreamGetId(had.stream, &out.id));
    ASK(cudaStreamIsCapturing(had.stream, &out.capture));
    ASK(cudaStreamWaitEvent(had.stream, had.recorded, 0));
    ASK(cudaLaunchHostFunc(had.stream, NULL, NULL));
    ASK(cudaEventCreate(&out.event));
    ASK(cudaEventRecord(had.event, had.stream));
    ASK(cudaEventQuery(had.event));
    ASK(cudaEventQuery(had.recorded));
    ASK(cudaEventSynchronize(had.recorded));
    ASK(cudaEventElapsedTime(&out.ms, had.recorded, had.recorded));
    ASK(cudaMemPoolCreate(&out.pool, &props));
    ASK(cudaDeviceGetDefaultMemPool(&out.pool, 0));
    ASK(cudaMemPoolGetAttribute(had.pool, cudaMemPoolAttrUsedMemCurrent, &out.count));
    ASK(cudaMemPoolTrimTo(had.pool, 0));
    ASK(cudaFreeAsync(had.pooled, had.stream));
    ASK(cudaMemPoolDestroy(had.pool));
    ASK(cudaEventDestroy(had.event));
    ASK(cudaEventDestroy(had.recorded));
    ASK(cudaStreamDestroy(had.stream));
    ASK(cudaFreeHost(had.pinned));
    ASK(cudaFree(had.memory));
    ASK(cudaFree(NULL));
}

LONE_CASE(mistakes_in_a_lost_context) {
    IS(lose(700));
    SAYS(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    (void)cudaGetLastError();
    ASK(cudaMalloc(NULL, 16));
    ASK(cudaSetDevice(99));
    ASK(cudaStreamCreate(NULL));
    ASK(cudaEventQuery(NULL));
    ASK(cudaMemcpy(NULL, NULL, 16, (enum cudaMemcpyKind)9));
    ASK(cudaFree(&out));
}

LONE_CASE(a_reset_cures_a_lost_context) {
    int value = 7;
    IS(lose(700));
    SAYS(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    ASK(cudaDeviceReset());
    ASK(cudaGetLastError());
    ASK(cudaGetLastError());
    ASK(cudaDeviceSynchronize());
    ASK(cudaMalloc((void **)&had.memory, 16));
    ASK(cudaMemcpy(had.memory, &value, 4, cudaMemcpyHostToDevice));
    ASK(cudaFree(had.memory));
}

LONE_CASE(a_reset_before_the_fault_was_told) {
    IS(lose(700));
    ASK(cudaDeviceReset());
    ASK(cudaGetLastError());
    ASK(cudaDeviceSynchronize());
    ASK(cudaMalloc((void **)&had.memory, 16));
}

static struct {
    int calls;
    cudaError_t status;
} told;

static void CUDART_CB host_function(void *unused) {
    (void)unused;
    told.calls++;
}

static void CUDART_CB callback(cudaStream_t stream, cudaError_t status, void *unused) {
    (void)stream, (void)unused;
    told.calls++;
    told.status = status;
}

LONE_CASE(host_functions_are_not_called_after_a_fault) {
    IS(lose(700));
    ASK(cudaLaunchHostFunc(had.stream, host_function, NULL));
    SAYS(cudaErrorIllegalAddress, cudaStreamSynchronize(had.stream));
    ASK(told.calls);
}

LONE_CASE(callbacks_are_told_of_a_fault) {
    IS(lose(700));
    ASK(cudaStreamAddCallback(had.stream, callback, NULL, 0));
    SAYS(cudaErrorIllegalAddress, cudaStreamSynchronize(had.stream));
    ASK(told.calls);
    ASK(told.status);
}

static void *errors_elsewhere(void *unused) {
    (void)unused;
    ASK(cudaPeekAtLastError());
    ASK(cudaDeviceSynchronize());
    return NULL;
}

LONE_CASE(other_threads_are_told_of_a_fault) {
    pthread_t thread;
    IS(lose(700));
    SAYS(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    EQUAL(pthread_create(&thread, NULL, errors_elsewhere, NULL), 0);
    EQUAL(pthread_join(thread, NULL), 0);
}
