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
    return prepare_fault() && !cudaStreamCreate(&had.stream) && !cudaEventCreate(&had.event) &&
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
    SAYS(cudaSuccess, cudaGetLastError());
    SAYS(cudaSuccess, cudaPeekAtLastError());
    SAYS(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    SAYS(cudaErrorIllegalAddress, cudaGetLastError());
    SAYS(cudaSuccess, cudaGetLastError());
}

LONE_CASE(a_launch_failure_is_told_by_whoever_waits) {
    IS(lose(719));
    SAYS(cudaErrorLaunchFailure, cudaDeviceSynchronize());
    SAYS(cudaErrorLaunchFailure, cudaGetLastError());
    SAYS(cudaSuccess, cudaGetLastError());
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
    SAYS(cudaSuccess, cudaGetDeviceCount(&out.number));
    SAYS(cudaSuccess, cudaGetDevice(&out.number));
    SAYS(cudaSuccess, cudaSetDevice(0));
    SAYS(cudaSuccess, cudaGetDeviceProperties(&out.prop, 0));
    SAYS(cudaSuccess, cudaDeviceGetAttribute(&out.number, cudaDevAttrWarpSize, 0));
    SAYS(cudaSuccess, cudaGetDeviceFlags(&out.flags));
    SAYS(cudaSuccess, cudaSetDeviceFlags(0));
    SAYS(cudaSuccess, cudaDeviceGetPCIBusId(out.bytes, 32, 0));
    SAYS(cudaSuccess, cudaDriverGetVersion(&out.number));
    SAYS(cudaSuccess, cudaRuntimeGetVersion(&out.number));
    SAYS(cudaErrorIllegalAddress, cudaDeviceGetLimit(&out.size[0], cudaLimitStackSize));
    SAYS(cudaErrorIllegalAddress, cudaDeviceSetLimit(cudaLimitStackSize, 1024));
    SAYS(cudaErrorIllegalAddress, cudaDeviceGetStreamPriorityRange(&out.number, NULL));
    SAYS(cudaErrorIllegalAddress, cudaMemGetInfo(&out.size[0], &out.size[1]));
    SAYS(cudaErrorIllegalAddress, cudaMalloc(&out.pointer, 16));
    SAYS(cudaSuccess, cudaMalloc(&out.pointer, 0));
    SAYS(cudaErrorIllegalAddress, cudaMallocHost(&out.pointer, 16));
    SAYS(cudaErrorIllegalAddress, cudaMallocManaged(&out.pointer, 16, cudaMemAttachGlobal));
    SAYS(cudaErrorIllegalAddress, cudaMallocAsync(&out.pointer, 16, had.stream));
    SAYS(cudaSuccess, cudaPointerGetAttributes(&out.attributes, had.memory));
    SAYS(cudaSuccess, cudaPointerGetAttributes(&out.attributes, &out));
    SAYS(cudaErrorIllegalAddress, cudaHostGetFlags(&out.flags, had.pinned));
    SAYS(cudaErrorIllegalAddress, cudaHostGetDevicePointer(&out.pointer, had.pinned, 0));
    SAYS(cudaErrorIllegalAddress, cudaHostRegister(&out, sizeof out, 0));
    SAYS(cudaErrorIllegalAddress, cudaHostUnregister(&out));
    SAYS(cudaErrorIllegalAddress, cudaMemcpy(out.bytes, had.memory, 16, cudaMemcpyDeviceToHost));
    SAYS(cudaErrorIllegalAddress, cudaMemcpy(out.bytes, out.bytes + 32, 16, cudaMemcpyHostToHost));
    SAYS(cudaErrorIllegalAddress,
         cudaMemcpyAsync(had.pinned, had.memory, 16, cudaMemcpyDeviceToHost, had.stream));
    SAYS(cudaErrorIllegalAddress, cudaMemset(had.memory, 1, 16));
    SAYS(cudaSuccess, cudaMemset(NULL, 1, 0));
    SAYS(cudaErrorIllegalAddress, cudaStreamCreate(&out.stream));
    SAYS(cudaErrorIllegalAddress, cudaStreamQuery(had.stream));
    SAYS(cudaErrorIllegalAddress, cudaStreamQuery(NULL));
    SAYS(cudaErrorIllegalAddress, cudaStreamSynchronize(had.stream));
    SAYS(cudaErrorIllegalAddress, cudaStreamGetFlags(had.stream, &out.flags));
    SAYS(cudaErrorIllegalAddress, cudaStreamGetPriority(had.stream, &out.number));
    SAYS(FROM(12000, cudaErrorIllegalAddress, cudaErrorNotSupported),
         cudaStreamGetId(had.stream, &out.id));
    SAYS(cudaErrorIllegalAddress, cudaStreamIsCapturing(had.stream, &out.capture));
    SAYS(cudaErrorIllegalAddress, cudaStreamWaitEvent(had.stream, had.recorded, 0));
    SAYS(cudaErrorInvalidValue, cudaLaunchHostFunc(had.stream, NULL, NULL));
    SAYS(cudaErrorIllegalAddress, cudaEventCreate(&out.event));
    SAYS(cudaErrorIllegalAddress, cudaEventRecord(had.event, had.stream));
    SAYS(cudaErrorIllegalAddress, cudaEventQuery(had.event));
    SAYS(cudaErrorIllegalAddress, cudaEventQuery(had.recorded));
    SAYS(cudaErrorIllegalAddress, cudaEventSynchronize(had.recorded));
    SAYS(cudaErrorIllegalAddress, cudaEventElapsedTime(&out.ms, had.recorded, had.recorded));
    SAYS(cudaSuccess, cudaMemPoolCreate(&out.pool, &props));
    SAYS(cudaSuccess, cudaDeviceGetDefaultMemPool(&out.pool, 0));
    SAYS(cudaSuccess, cudaMemPoolGetAttribute(had.pool, cudaMemPoolAttrUsedMemCurrent, &out.count));
    SAYS(cudaSuccess, cudaMemPoolTrimTo(had.pool, 0));
    SAYS(cudaErrorIllegalAddress, cudaFreeAsync(had.pooled, had.stream));
    SAYS(cudaSuccess, cudaMemPoolDestroy(had.pool));
    SAYS(cudaErrorIllegalAddress, cudaEventDestroy(had.event));
    SAYS(cudaErrorIllegalAddress, cudaEventDestroy(had.recorded));
    SAYS(cudaErrorIllegalAddress, cudaStreamDestroy(had.stream));
    SAYS(cudaErrorIllegalAddress, cudaFreeHost(had.pinned));
    SAYS(cudaErrorIllegalAddress, cudaFree(had.memory));
    SAYS(cudaErrorIllegalAddress, cudaFree(NULL));
}

LONE_CASE(mistakes_in_a_lost_context) {
    IS(lose(700));
    SAYS(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    (void)cudaGetLastError();
    SAYS(cudaErrorInvalidValue, cudaMalloc(NULL, 16));
    SAYS(cudaErrorInvalidDevice, cudaSetDevice(99));
    SAYS(cudaErrorInvalidValue, cudaStreamCreate(NULL));
    SAYS(cudaErrorInvalidResourceHandle, cudaEventQuery(NULL));
    SAYS(cudaErrorInvalidMemcpyDirection, cudaMemcpy(NULL, NULL, 16, (enum cudaMemcpyKind)9));
    SAYS(cudaErrorIllegalAddress, cudaFree(&out));
}

LONE_CASE(no_reset_cures_a_lost_context) {
    int value = 7;
    IS(lose(700));
    SAYS(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    SAYS(cudaSuccess, cudaDeviceReset());
    SAYS(cudaErrorIllegalAddress, cudaGetLastError());
    SAYS(cudaSuccess, cudaGetLastError());
    SAYS(cudaErrorDevicesUnavailable, cudaDeviceSynchronize());
    SAYS(cudaErrorDevicesUnavailable, cudaMalloc((void **)&had.memory, 16));
    SAYS(cudaErrorDevicesUnavailable, cudaMemcpy(had.memory, &value, 4, cudaMemcpyHostToDevice));
    SAYS(cudaErrorDevicesUnavailable, cudaFree(had.memory));
}

LONE_CASE(a_reset_before_the_fault_was_told) {
    IS(lose(700));
    SAYS(cudaSuccess, cudaDeviceReset());
    SAYS(cudaSuccess, cudaGetLastError());
    SAYS(cudaErrorDevicesUnavailable, cudaDeviceSynchronize());
    SAYS(cudaErrorDevicesUnavailable, cudaMalloc((void **)&had.memory, 16));
}

static struct {
    int calls, status;
} told;

static void CUDART_CB host_function(void *unused) {
    (void)unused;
    (void)__atomic_add_fetch(&told.calls, 1, __ATOMIC_RELEASE);
}

static void CUDART_CB callback(cudaStream_t stream, cudaError_t status, void *unused) {
    (void)stream, (void)unused;
    told.status = (int)status;
    (void)__atomic_add_fetch(&told.calls, 1, __ATOMIC_RELEASE);
}

LONE_CASE(host_functions_are_not_called_after_a_fault) {
    IS(have());
    hold(had.stream);
    fault(had.stream, 700);
    OK(cudaLaunchHostFunc(had.stream, host_function, NULL));
    let_go();
    SAYS(cudaErrorIllegalAddress, cudaStreamSynchronize(had.stream));
    wait_a_moment();
    EQUAL(__atomic_load_n(&told.calls, __ATOMIC_ACQUIRE), 0);
}

/* Though perhaps only after the stream was waited for. */
LONE_CASE(callbacks_are_told_of_a_fault) {
    IS(have());
    hold(had.stream);
    fault(had.stream, 700);
    OK(cudaStreamAddCallback(had.stream, callback, NULL, 0));
    let_go();
    SAYS(cudaErrorIllegalAddress, cudaStreamSynchronize(had.stream));
    wait_until_is(&told.calls, 1);
    EQUAL(told.calls, 1);
    EQUAL(told.status, 700);
}

static struct {
    cudaError_t last, synchronise;
} elsewhere;

static void *errors_elsewhere(void *unused) {
    (void)unused;
    elsewhere.last = cudaPeekAtLastError();
    elsewhere.synchronise = cudaDeviceSynchronize();
    return NULL;
}

LONE_CASE(other_threads_are_told_of_a_fault) {
    pthread_t thread;
    IS(lose(700));
    SAYS(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    EQUAL(pthread_create(&thread, NULL, errors_elsewhere, NULL), 0);
    EQUAL(pthread_join(thread, NULL), 0);
    EQUAL(elsewhere.last, cudaSuccess);
    EQUAL(elsewhere.synchronise, cudaErrorIllegalAddress);
}

/* The other one's context is lost, too, whichever is current. */
LONE_CASE(a_fault_on_one_device_of_two) {
    NEEDS_DEVICES(2);
    const cudaError_t lost = cudaErrorIllegalAddress;
    cudaStream_t other = NULL;
    cudaEvent_t event = NULL;
    void *memory = NULL, *pooled = NULL;
    char local[16];
    OK(cudaSetDevice(1));
    OK(cudaStreamCreate(&other));
    OK(cudaEventCreate(&event));
    OK(cudaMalloc(&memory, 64));
    OK(cudaMallocAsync(&pooled, 64, other));
    OK(cudaStreamSynchronize(other));
    OK(cudaSetDevice(0));
    IS(lose(700));
    SAYS(lost, cudaStreamSynchronize(had.stream));
    for (int current = 0; current < 2; current++) {
        OK(cudaSetDevice(current));
        SAYS(lost, cudaStreamQuery(other));
        SAYS(lost, cudaStreamSynchronize(other));
        SAYS(lost, cudaEventRecord(event, other));
        SAYS(lost, cudaEventQuery(event));
        SAYS(lost, cudaEventSynchronize(event));
        SAYS(lost, cudaStreamWaitEvent(other, event, 0));
        SAYS(lost, cudaMemsetAsync(memory, 1, 64, other));
        SAYS(lost, cudaMemcpyAsync(local, memory, 16, cudaMemcpyDeviceToHost, other));
        SAYS(lost, cudaDeviceSynchronize());
        (void)cudaGetLastError();
    }
    OK(cudaSetDevice(0));
    SAYS(lost, cudaFreeAsync(pooled, other));
    SAYS(lost, cudaFree(memory));
    SAYS(lost, cudaEventDestroy(event));
    SAYS(lost, cudaStreamDestroy(other));
}

/* It gets no context any more. Before 12.0 cudaSetDevice() makes none. */
LONE_CASE(a_fault_and_a_device_that_was_not_used) {
    NEEDS_DEVICES(2);
    const cudaError_t lost = cudaErrorIllegalAddress, none = cudaErrorDevicesUnavailable;
    cudaStream_t stream;
    cudaEvent_t event;
    size_t room = 0, total = 0;
    void *memory = NULL;
    IS(lose(700));
    SAYS(lost, cudaStreamSynchronize(had.stream));
    (void)cudaGetLastError();
    SAYS(FROM(12000, none, cudaSuccess), cudaSetDevice(1));
    SAYS(none, cudaMalloc(&memory, 64));
    SAYS(none, cudaStreamCreate(&stream));
    SAYS(none, cudaEventCreate(&event));
    SAYS(none, cudaMemGetInfo(&room, &total));
    SAYS(none, cudaDeviceSynchronize());
    SAYS(none, cudaMemset(memory, 1, 64));
    SAYS(none, cudaGetLastError());
    SAYS(cudaSuccess, cudaSetDevice(0));
    SAYS(lost, cudaDeviceSynchronize());
}

/* The driver says why none is made, and names one that is current all the same. */
LONE_CASE(a_fault_and_the_drivers_contexts) {
    NEEDS_DEVICES(2);
    const CUresult lost = CUDA_ERROR_ILLEGAL_ADDRESS;
    const cudaError_t none = cudaErrorDevicesUnavailable;
    CUcontext context = NULL;
    IS(lose(700));
    SAYS(cudaErrorIllegalAddress, cudaStreamSynchronize(had.stream));
    (void)cudaGetLastError();
    SAYS(lost, cuDevicePrimaryCtxRetain(&context, 1));
    SAYS(lost, cuCtxCreate(&context, NULL, 0, 1));
    SAYS(CUDA_SUCCESS, cuDevicePrimaryCtxRetain(&context, 0));
    SAYS(lost, cuCtxCreate(&context, NULL, 0, 0));
    SAYS(CUDA_SUCCESS, cuCtxSetCurrent(NULL));
    SAYS(FROM(12000, none, cudaSuccess), cudaSetDevice(1));
    SAYS(CUDA_SUCCESS, cuCtxGetCurrent(&context));
    IS(context != NULL);
    SAYS(cudaSuccess, cudaSetDevice(0));
    SAYS(cudaSuccess, cudaDeviceReset());
    (void)cudaGetLastError();
    FAILS(none, cudaDeviceSynchronize());
}

/* Which context is that, and what does the driver say there, and after a reset? */
LONE_CASE(a_fault_and_what_is_current) {
    NEEDS_DEVICES(2);
    CUcontext first = NULL, context = NULL;
    IS(lose(700));
    SAYS(cudaErrorIllegalAddress, cudaStreamSynchronize(had.stream));
    (void)cudaGetLastError();
    OK(cuCtxGetCurrent(&first));
    OK(cuCtxSetCurrent(NULL));
    OK(cuCtxGetCurrent(&context));
    IS(context == NULL);
    SAYS(FROM(12000, cudaErrorDevicesUnavailable, cudaSuccess), cudaSetDevice(1));
    OK(cuCtxGetCurrent(&context));
    IS(context != first);
    SAYS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuCtxSynchronize());
    OK(cudaSetDevice(0));
    OK(cudaDeviceReset());
    SAYS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuCtxSynchronize());
    SAYS(CUDA_ERROR_ILLEGAL_ADDRESS, cuDevicePrimaryCtxRetain(&context, 0));
}

/* ---- functions that are newer than the driver ---- */

/* Some of them return that error before they look at their arguments. */

CASE(functions_of_13_1_and_a_driver_13_0) {
    if (driver() >= 13010) {
        skip("the driver has it");
        return;
    }
    FAILS(cudaErrorCallRequiresNewerDriver, cudaDevSmResourceSplit(NULL, 0, NULL, NULL, 0, NULL));
    FAILS(cudaErrorCallRequiresNewerDriver, cudaGraphGetId(NULL, NULL));
    FAILS(cudaErrorCallRequiresNewerDriver, cudaGraphExecGetId(NULL, NULL));
    FAILS(cudaErrorCallRequiresNewerDriver, cudaGraphNodeGetContainingGraph(NULL, NULL));
    FAILS(cudaErrorCallRequiresNewerDriver, cudaGraphNodeGetLocalId(NULL, NULL));
    FAILS(cudaErrorCallRequiresNewerDriver, cudaGraphNodeGetToolsId(NULL, NULL));
    FAILS(cudaErrorInvalidValue, cudaStreamGetDevResource(NULL, NULL, cudaDevResourceTypeInvalid));
    FAILS(cudaErrorInvalidValue, cudaDeviceGetDevResource(0, NULL, cudaDevResourceTypeInvalid));
    FAILS(cudaErrorInvalidValue, cudaDevSmResourceSplitByCount(NULL, NULL, NULL, NULL, 0, 0));
    FAILS(cudaErrorInvalidValue, cudaDevResourceGenerateDesc(NULL, NULL, 0));
    FAILS(cudaErrorInvalidValue, cudaGreenCtxCreate(NULL, NULL, 0, 0));
    FAILS(cudaErrorInvalidValue, cudaDeviceGetExecutionCtx(NULL, 0));
    FAILS(cudaErrorInvalidValue, cudaExecutionCtxDestroy(NULL));
    FAILS(cudaErrorInvalidValue,
          cudaExecutionCtxGetDevResource(NULL, NULL, cudaDevResourceTypeInvalid));
    FAILS(cudaErrorInvalidValue, cudaExecutionCtxGetDevice(NULL, NULL));
    FAILS(cudaErrorInvalidValue, cudaExecutionCtxGetId(NULL, NULL));
    FAILS(cudaErrorInvalidValue, cudaExecutionCtxRecordEvent(NULL, NULL));
    FAILS(cudaErrorInvalidValue, cudaExecutionCtxStreamCreate(NULL, NULL, 0, 0));
    FAILS(cudaErrorInvalidValue, cudaExecutionCtxSynchronize(NULL));
    FAILS(cudaErrorInvalidValue, cudaExecutionCtxWaitEvent(NULL, NULL));
    FAILS(cudaErrorInvalidValue, cudaGraphConditionalHandleCreate_v2(NULL, NULL, NULL, 0, 0));
}

CASE(functions_of_13_2_and_a_driver_13_0) {
    if (driver() >= 13010) {
        skip("the driver has it");
        return;
    }
    FAILS(cudaErrorCallRequiresNewerDriver, cudaLaunchHostFunc_v2(NULL, NULL, NULL, 0));
    FAILS(cudaErrorCallRequiresNewerDriver,
          cudaMemcpyWithAttributesAsync(NULL, NULL, 0, NULL, NULL));
    FAILS(cudaErrorCallRequiresNewerDriver, cudaMemcpy3DWithAttributesAsync(NULL, 0, NULL));
    FAILS(cudaErrorInvalidValue, cudaGraphNodeGetParams(NULL, NULL));
    FAILS(cudaErrorInvalidDeviceFunction, cudaFuncGetParamCount(NULL, NULL));
}

CASE(functions_of_13_3_and_a_driver_13_0) {
    if (driver() >= 13010) {
        skip("the driver has it");
        return;
    }
    FAILS(cudaErrorCallRequiresNewerDriver,
          cudaStreamBeginRecaptureToGraph(NULL, cudaStreamCaptureModeGlobal, NULL, NULL));
}

CASE(functions_of_13_4_and_a_driver_13_0) {
    if (driver() >= 13010) {
        skip("the driver has it");
        return;
    }
    FAILS(cudaErrorCallRequiresNewerDriver, cudaMemGetLocationInfo(NULL, 0, 0, 0, NULL));
}
