/* Streams: what they are, how they are ordered, what is called back. */
#include "conformance.h"

#include <pthread.h>
#include <stdlib.h>

/* ---- making ---- */

CASE(a_stream) {
    cudaStream_t stream = NULL;
    unsigned flags = 99;
    int priority = 99;
    OK(cudaStreamCreate(&stream));
    IS(stream != NULL);
    OK(cudaStreamGetFlags(stream, &flags));
    EQUAL(flags, cudaStreamDefault);
    OK(cudaStreamGetPriority(stream, &priority));
    EQUAL(priority, 0);
    SAYS(cudaSuccess, cudaStreamQuery(stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaStreamDestroy(stream));
}

CASE(a_non_blocking_stream) {
    cudaStream_t stream;
    unsigned flags = 99;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamGetFlags(stream, &flags));
    EQUAL(flags, cudaStreamNonBlocking);
    OK(cudaStreamDestroy(stream));
}

CASE(stream_flags_that_do_not_exist) {
    cudaStream_t stream;
    FAILS(cudaErrorInvalidValue, cudaStreamCreateWithFlags(&stream, 2));
    FAILS(cudaErrorInvalidValue, cudaStreamCreateWithFlags(&stream, 0x80000000U));
    FAILS(cudaErrorInvalidValue, cudaStreamCreateWithPriority(&stream, 4, 0));
}

CASE(a_stream_wants_a_place) {
    FAILS(cudaErrorInvalidValue, cudaStreamCreate(NULL));
    FAILS(cudaErrorInvalidValue, cudaStreamCreateWithFlags(NULL, cudaStreamNonBlocking));
    FAILS(cudaErrorInvalidValue, cudaStreamCreateWithPriority(NULL, 0, 0));
}

CASE(the_range_of_priorities) {
    int least = 99, greatest = 99;
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    EQUAL(least, 0);
    EQUAL(greatest, -5);
    OK(cudaDeviceGetStreamPriorityRange(NULL, &greatest));
    OK(cudaDeviceGetStreamPriorityRange(&least, NULL));
    OK(cudaDeviceGetStreamPriorityRange(NULL, NULL));
}

CASE(priorities_are_clamped) {
    static const int asked[] = {-100, -6, -5, -1, 0, 1, 100};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        cudaStream_t stream;
        int got = 99, expected = asked[i] < -5 ? -5 : asked[i] > 0 ? 0 : asked[i];
        OK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, asked[i]));
        OK(cudaStreamGetPriority(stream, &got));
        EQUAL(got, expected);
        OK(cudaStreamDestroy(stream));
    }
}

CASE(destroying_no_stream) {
    FAILS(cudaErrorInvalidResourceHandle, cudaStreamDestroy(NULL));
    FAILS(cudaErrorInvalidResourceHandle, cudaStreamDestroy(cudaStreamLegacy));
    FAILS(cudaErrorInvalidResourceHandle, cudaStreamDestroy(cudaStreamPerThread));
}

CASE(a_stream_is_destroyed_while_it_works) {
    cudaStream_t stream;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    hold(stream);
    OK(cudaStreamDestroy(stream));
    let_go();
    OK(cudaDeviceSynchronize());
}

/* ---- what is known of a stream ---- */

CASE(places_for_answers) {
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    FAILS(cudaErrorInvalidValue, cudaStreamGetFlags(stream, NULL));
    FAILS(cudaErrorInvalidValue, cudaStreamGetPriority(stream, NULL));
    OK(cudaStreamDestroy(stream));
}

CASE(the_default_streams_flags_and_priorities) {
    static const cudaStream_t streams[] = {NULL, cudaStreamLegacy, cudaStreamPerThread};
    for (int i = 0; i < 3; i++) {
        unsigned flags = 99;
        int priority = 99;
        OK(cudaStreamGetFlags(streams[i], &flags));
        EQUAL(flags, 0);
        OK(cudaStreamGetPriority(streams[i], &priority));
        EQUAL(priority, 0);
    }
}

CASE(streams_have_ids) {
    cudaStream_t a, b;
    unsigned long long first = 0, second = 0, again = 0;
    OK(cudaStreamCreate(&a));
    OK(cudaStreamGetId(a, &first));
    OK(cudaStreamCreate(&b));
    OK(cudaStreamGetId(b, &second));
    IS(first != second);
    OK(cudaStreamGetId(a, &again));
    IS(first == again);
    FAILS(cudaErrorInvalidValue, cudaStreamGetId(a, NULL));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
}

CASE(ids_of_default_streams) {
    unsigned long long null = 0, legacy = 0, own = 0;
    OK(cudaStreamGetId(NULL, &null));
    OK(cudaStreamGetId(cudaStreamLegacy, &legacy));
    OK(cudaStreamGetId(cudaStreamPerThread, &own));
    IS(null == legacy);
    IS(null != own);
}

CASE(a_streams_device) {
    cudaStream_t stream;
    int device = 99;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamGetDevice(stream, &device));
    EQUAL(device, 0);
    OK(cudaStreamGetDevice(NULL, &device));
    EQUAL(device, 0);
    OK(cudaStreamDestroy(stream));
}

CASE(a_stream_of_another_device) {
    cudaStream_t stream;
    NEEDS_DEVICES(2);
    OK(cudaSetDevice(1));
    OK(cudaStreamCreate(&stream));
    OK(cudaSetDevice(0));
    SAYS(cudaSuccess, cudaStreamQuery(stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaStreamDestroy(stream));
}

CASE(nothing_is_captured) {
    static const cudaStream_t streams[] = {NULL, cudaStreamLegacy, cudaStreamPerThread};
    enum cudaStreamCaptureStatus status = (enum cudaStreamCaptureStatus)99;
    for (int i = 0; i < 3; i++) {
        OK(cudaStreamIsCapturing(streams[i], &status));
        EQUAL(status, cudaStreamCaptureStatusNone);
    }
    FAILS(cudaErrorInvalidValue, cudaStreamIsCapturing(NULL, NULL));
}

/* ---- waiting ---- */

CASE(default_streams_with_nothing_to_do) {
    static const cudaStream_t streams[] = {NULL, cudaStreamLegacy, cudaStreamPerThread};
    for (int i = 0; i < 3; i++) {
        SAYS(cudaSuccess, cudaStreamQuery(streams[i]));
        OK(cudaStreamSynchronize(streams[i]));
    }
}

CASE(not_ready_is_an_answer_but_kept) {
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    hold(stream);
    SAYS(cudaErrorNotReady, cudaStreamQuery(stream));
    SAYS(cudaSuccess, cudaPeekAtLastError());
    SAYS(cudaErrorNotReady, cudaStreamQuery(stream));
    SAYS(cudaSuccess, cudaGetLastError());
    let_go();
    OK(cudaStreamSynchronize(stream));
    SAYS(cudaSuccess, cudaStreamQuery(stream));
    OK(cudaStreamDestroy(stream));
}

CASE(the_legacy_stream_is_busy_while_a_blocking_one_is) {
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    hold(stream);
    SAYS(cudaErrorNotReady, cudaStreamQuery(NULL));
    SAYS(cudaErrorNotReady, cudaStreamQuery(cudaStreamLegacy));
    SAYS(cudaSuccess, cudaStreamQuery(cudaStreamPerThread));
    let_go();
    OK(cudaStreamDestroy(stream));
}

CASE(the_legacy_stream_is_idle_while_a_non_blocking_one_is_busy) {
    cudaStream_t stream;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    hold(stream);
    SAYS(cudaSuccess, cudaStreamQuery(NULL));
    let_go();
    OK(cudaStreamDestroy(stream));
}

CASE(a_blocking_stream_is_busy_behind_the_legacy_one) {
    cudaStream_t stream;
    char *memory;
    OK(cudaMalloc((void **)&memory, 16));
    OK(cudaStreamCreate(&stream));
    hold(NULL);
    SAYS(cudaSuccess, cudaStreamQuery(stream));
    OK(cudaMemsetAsync(memory, 1, 16, stream));
    SAYS(cudaErrorNotReady, cudaStreamQuery(stream));
    (void)cudaGetLastError();
    let_go();
    OK(cudaStreamSynchronize(stream));
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(memory));
}

CASE(a_non_blocking_stream_goes_past_the_legacy_one) {
    cudaStream_t stream;
    char *memory;
    OK(cudaMalloc((void **)&memory, 16));
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    hold(NULL);
    OK(cudaMemsetAsync(memory, 1, 16, stream));
    OK(cudaStreamSynchronize(stream));
    SAYS(cudaErrorNotReady, cudaStreamQuery(NULL));
    (void)cudaGetLastError();
    let_go();
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(memory));
}

CASE(the_per_thread_stream_is_blocking) {
    char *memory;
    OK(cudaMalloc((void **)&memory, 16));
    hold(NULL);
    OK(cudaMemsetAsync(memory, 1, 16, cudaStreamPerThread));
    SAYS(cudaErrorNotReady, cudaStreamQuery(cudaStreamPerThread));
    (void)cudaGetLastError();
    let_go();
    OK(cudaStreamSynchronize(cudaStreamPerThread));
    OK(cudaFree(memory));
}

CASE(synchronising_waits) {
    cudaStream_t blocking, other;
    OK(cudaStreamCreate(&blocking));
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    WAITS(true, blocking, cudaStreamSynchronize(blocking));
    WAITS(true, blocking, cudaDeviceSynchronize());
    WAITS(true, other, cudaDeviceSynchronize());
    WAITS(false, other, cudaStreamSynchronize(blocking));
    WAITS(false, other, cudaStreamSynchronize(NULL));
    OK(cudaStreamDestroy(blocking));
    OK(cudaStreamDestroy(other));
}

CASE(synchronising_the_legacy_stream_with_nothing_queued_on_it) {
    cudaStream_t blocking;
    OK(cudaStreamCreate(&blocking));
    WAITS(true, blocking, cudaStreamSynchronize(NULL));
    WAITS(true, blocking, cudaStreamSynchronize(cudaStreamLegacy));
    WAITS(false, blocking, cudaStreamSynchronize(cudaStreamPerThread));
    OK(cudaStreamDestroy(blocking));
}

CASE(destroying_does_not_wait) {
    cudaStream_t stream;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    WAITS(false, stream, cudaStreamDestroy(stream));
}

CASE(what_else_waits_for_the_device) {
    cudaStream_t stream, made;
    cudaEvent_t event;
    char *memory, *pinned;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaMalloc((void **)&memory, 16));
    WAITS(true, stream, cudaFree(memory));
    WAITS(false, stream, cudaFree(NULL));
    WAITS(false, stream, cudaMalloc((void **)&memory, 16));
    WAITS(false, stream, cudaMallocHost((void **)&pinned, 4096));
    WAITS(true, stream, cudaFreeHost(pinned));
    WAITS(false, stream, cudaStreamCreate(&made));
    WAITS(false, stream, cudaStreamDestroy(made));
    WAITS(false, stream, cudaEventCreate(&event));
    WAITS(false, stream, cudaEventDestroy(event));
    OK(cudaFree(memory));
    WAITS(false, stream, cudaMallocManaged((void **)&memory, 4096, cudaMemAttachGlobal));
    WAITS(true, stream, cudaFree(memory));
    OK(cudaStreamDestroy(stream));
}

/* ---- events between streams
 * ----------------------------------------------------------------------- */

CASE(a_stream_waits_for_an_event) {
    cudaStream_t a, b;
    cudaEvent_t event;
    OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    hold(a);
    OK(cudaEventRecord(event, a));
    OK(cudaStreamWaitEvent(b, event, 0));
    SAYS(cudaErrorNotReady, cudaStreamQuery(b));
    (void)cudaGetLastError();
    let_go();
    OK(cudaStreamSynchronize(b));
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
}

CASE(a_stream_waits_for_an_event_that_was_never_recorded) {
    cudaStream_t stream;
    cudaEvent_t event;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaEventCreate(&event));
    OK(cudaStreamWaitEvent(stream, event, 0));
    SAYS(cudaSuccess, cudaStreamQuery(stream));
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(stream));
}

CASE(a_stream_waits_for_what_was_recorded_then) {
    cudaStream_t a, b;
    cudaEvent_t event;
    OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    OK(cudaEventCreate(&event));
    OK(cudaEventRecord(event, a));
    OK(cudaStreamSynchronize(a));
    hold(a);
    OK(cudaStreamWaitEvent(b, event, 0));
    OK(cudaEventRecord(event, a));
    OK(cudaStreamSynchronize(b));
    let_go();
    OK(cudaStreamSynchronize(a));
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
}

CASE(waits_that_are_refused) {
    cudaStream_t stream;
    cudaEvent_t event;
    OK(cudaStreamCreate(&stream));
    OK(cudaEventCreate(&event));
    FAILS(cudaErrorInvalidResourceHandle, cudaStreamWaitEvent(stream, NULL, 0));
    FAILS(cudaErrorInvalidValue, cudaStreamWaitEvent(stream, event, 2));
    FAILS(cudaErrorIllegalState, cudaStreamWaitEvent(stream, event, cudaEventWaitExternal));
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(stream));
}

/* ---- callbacks
 * -------------------------------------------------------------------------------------- */

static void CUDART_CB count(void *counter) {
    __atomic_add_fetch((int *)counter, 1, __ATOMIC_RELEASE);
}

CASE(host_functions_are_called_in_order) {
    cudaStream_t stream;
    static int calls;
    calls = 0;
    OK(cudaStreamCreate(&stream));
    for (int i = 0; i < 100; i++)
        OK(cudaLaunchHostFunc(stream, count, &calls));
    OK(cudaStreamSynchronize(stream));
    EQUAL(__atomic_load_n(&calls, __ATOMIC_ACQUIRE), 100);
    OK(cudaStreamDestroy(stream));
}

CASE(host_functions_of_two_devices) {
    cudaStream_t first, second;
    static int calls;
    NEEDS_DEVICES(2);
    calls = 0;
    OK(cudaStreamCreate(&first));
    OK(cudaSetDevice(1));
    OK(cudaStreamCreate(&second));
    OK(cudaSetDevice(0));
    hold(first);
    wait_a_moment();
    OK(cudaLaunchHostFunc(second, count, &calls));
    wait_until_is(&calls, 1);
    EQUAL(__atomic_load_n(&calls, __ATOMIC_ACQUIRE), 1);
    let_go();
    OK(cudaStreamSynchronize(second));
    OK(cudaStreamDestroy(first));
    OK(cudaStreamDestroy(second));
}

CASE(a_host_function_is_wanted) {
    FAILS(cudaErrorInvalidValue, cudaLaunchHostFunc(NULL, NULL, NULL));
    FAILS(cudaErrorInvalidValue, cudaStreamAddCallback(NULL, NULL, NULL, 0));
}

static struct inside {
    cudaError_t malloc, stream_query, stream_create, get_device, set_device, last, memcpy,
        event_query;
    cudaError_t count_, synchronise, memset_, flags, launch, attribute, version, info, free_;
} inside;

static void CUDART_CB call_cuda(void *unused) {
    void *memory = NULL;
    char a[4] = {0}, b[4] = {0};
    cudaStream_t stream;
    unsigned flags;
    int number;
    size_t x, y;
    (void)unused;
    inside.malloc = cudaMalloc(&memory, 16);
    inside.last = cudaGetLastError();
    inside.stream_query = cudaStreamQuery(NULL);
    inside.stream_create = cudaStreamCreate(&stream);
    inside.get_device = cudaGetDevice(&number);
    inside.set_device = cudaSetDevice(0);
    inside.memcpy = cudaMemcpy(a, b, 4, cudaMemcpyHostToHost);
    inside.count_ = cudaGetDeviceCount(&number);
    inside.synchronise = cudaDeviceSynchronize();
    inside.flags = cudaGetDeviceFlags(&flags);
    inside.launch = cudaLaunchHostFunc(NULL, count, &number);
    inside.attribute = cudaDeviceGetAttribute(&number, cudaDevAttrWarpSize, 0);
    inside.version = cudaRuntimeGetVersion(&number);
    inside.info = cudaMemGetInfo(&x, &y);
    inside.free_ = cudaFree(NULL);
}

static void expect_inside(void) {
    const cudaError_t no = cudaErrorNotPermitted;
    EQUAL(inside.count_, cudaSuccess);
    EQUAL(inside.version, cudaSuccess);
    EQUAL(inside.last, no);
    EQUAL(inside.get_device, no);
    EQUAL(inside.set_device, no);
    EQUAL(inside.flags, no);
    EQUAL(inside.attribute, no);
    EQUAL(inside.malloc, no);
    EQUAL(inside.free_, no);
    EQUAL(inside.info, no);
    EQUAL(inside.memcpy, no);
    EQUAL(inside.stream_query, no);
    EQUAL(inside.stream_create, no);
    EQUAL(inside.launch, no);
    EQUAL(inside.synchronise, no);
}

LONE_CASE(cuda_in_a_host_function) {
    OK(cudaLaunchHostFunc(NULL, call_cuda, NULL));
    OK(cudaStreamSynchronize(NULL));
    expect_inside();
}

static void CUDART_CB call_cuda_back(cudaStream_t stream, cudaError_t status, void *data) {
    (void)stream, (void)status;
    call_cuda(data);
}

LONE_CASE(cuda_in_a_callback) {
    OK(cudaStreamAddCallback(NULL, call_cuda_back, NULL, 0));
    OK(cudaStreamSynchronize(NULL));
    expect_inside();
}

static struct {
    cudaStream_t stream;
    cudaError_t status;
    void *data;
} told;

static void CUDART_CB keep(cudaStream_t stream, cudaError_t status, void *data) {
    told.stream = stream;
    told.status = status;
    told.data = data;
}

CASE(a_callback_is_told_stream_and_status) {
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamAddCallback(stream, keep, &told, 0));
    OK(cudaStreamSynchronize(stream));
    IS(told.stream == stream);
    IS(told.data == &told);
    EQUAL(told.status, cudaSuccess);
    OK(cudaStreamAddCallback(NULL, keep, &told, 0));
    OK(cudaStreamSynchronize(NULL));
    IS(told.stream == NULL);
    IS(told.stream != cudaStreamLegacy);
    OK(cudaStreamDestroy(stream));
}

CASE(flags_of_callbacks_do_not_exist) {
    FAILS(cudaErrorInvalidValue, cudaStreamAddCallback(NULL, keep, NULL, 1));
    FAILS(cudaErrorInvalidValue, cudaStreamAddCallback(NULL, keep, NULL, 0x80000000U));
}

CASE(a_stream_waits_for_its_callback) {
    char *memory;
    cudaStream_t stream;
    OK(cudaMalloc((void **)&memory, 16));
    OK(cudaStreamCreate(&stream));
    hold(stream);
    OK(cudaMemsetAsync(memory, 1, 16, stream));
    SAYS(cudaErrorNotReady, cudaStreamQuery(stream));
    (void)cudaGetLastError();
    let_go();
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(memory));
}

/* ---- attributes
 * -------------------------------------------------------------------------------------- */

CASE(a_streams_attributes) {
    cudaStream_t stream;
    cudaLaunchAttributeValue value = {0};
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamGetAttribute(stream, cudaLaunchAttributeSynchronizationPolicy, &value));
    EQUAL((int)value.syncPolicy, -1); /* none was set */
    value.syncPolicy = cudaSyncPolicyBlockingSync;
    OK(cudaStreamSetAttribute(stream, cudaLaunchAttributeSynchronizationPolicy, &value));
    memset(&value, 0, sizeof value);
    OK(cudaStreamGetAttribute(stream, cudaLaunchAttributeSynchronizationPolicy, &value));
    EQUAL(value.syncPolicy, cudaSyncPolicyBlockingSync);
    OK(cudaStreamDestroy(stream));
}

CASE(a_streams_policy_that_does_not_exist) {
    cudaStream_t stream;
    cudaLaunchAttributeValue value = {0};
    OK(cudaStreamCreate(&stream));
    value.syncPolicy = (enum cudaSynchronizationPolicy)77;
    FAILS(cudaErrorInvalidValue,
          cudaStreamSetAttribute(stream, cudaLaunchAttributeSynchronizationPolicy, &value));
    value.syncPolicy = (enum cudaSynchronizationPolicy)0;
    FAILS(cudaErrorInvalidValue,
          cudaStreamSetAttribute(stream, cudaLaunchAttributeSynchronizationPolicy, &value));
    OK(cudaStreamDestroy(stream));
}

CASE(a_streams_window) {
    cudaStream_t stream;
    char *memory;
    cudaLaunchAttributeValue value, got = {0};
    OK(cudaStreamCreate(&stream));
    OK(cudaMalloc((void **)&memory, MIB));
    OK(cudaStreamGetAttribute(stream, cudaLaunchAttributeAccessPolicyWindow, &got));
    IS(got.accessPolicyWindow.base_ptr == NULL);
    EQUAL(got.accessPolicyWindow.num_bytes, 0);
    memset(&value, 0, sizeof value);
    value.accessPolicyWindow = (struct cudaAccessPolicyWindow){
        memory, MIB, 0.5F, cudaAccessPropertyPersisting, cudaAccessPropertyStreaming};
    OK(cudaStreamSetAttribute(stream, cudaLaunchAttributeAccessPolicyWindow, &value));
    OK(cudaStreamGetAttribute(stream, cudaLaunchAttributeAccessPolicyWindow, &got));
    IS(got.accessPolicyWindow.base_ptr == memory);
    EQUAL(got.accessPolicyWindow.num_bytes, MIB);
    EQUAL(got.accessPolicyWindow.hitRatio * 2, 1);
    EQUAL(got.accessPolicyWindow.hitProp, cudaAccessPropertyPersisting);
    EQUAL(got.accessPolicyWindow.missProp, cudaAccessPropertyStreaming);
    value.accessPolicyWindow.hitRatio = 2;
    FAILS(cudaErrorInvalidValue,
          cudaStreamSetAttribute(stream, cudaLaunchAttributeAccessPolicyWindow, &value));
    value.accessPolicyWindow.hitRatio = -1;
    FAILS(cudaErrorInvalidValue,
          cudaStreamSetAttribute(stream, cudaLaunchAttributeAccessPolicyWindow, &value));
    value.accessPolicyWindow.hitRatio = 1;
    value.accessPolicyWindow.hitProp = (enum cudaAccessProperty)9;
    SAYS(cudaSuccess,
         cudaStreamSetAttribute(stream, cudaLaunchAttributeAccessPolicyWindow, &value));
    value.accessPolicyWindow.hitProp = cudaAccessPropertyNormal;
    value.accessPolicyWindow.missProp = cudaAccessPropertyPersisting;
    FAILS(cudaErrorInvalidValue,
          cudaStreamSetAttribute(stream, cudaLaunchAttributeAccessPolicyWindow, &value));
    value.accessPolicyWindow.missProp = cudaAccessPropertyNormal;
    value.accessPolicyWindow.num_bytes = (size_t)1 << 40;
    FAILS(cudaErrorInvalidValue,
          cudaStreamSetAttribute(stream, cudaLaunchAttributeAccessPolicyWindow, &value));
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(memory));
}

/* 11.8 knew the priority as an attribute of launches only; 11.7 did not look. */
CASE(a_streams_priority_as_an_attribute) {
    static const int asked[] = {-1, 0, -9, 9};
    cudaStream_t stream;
    cudaLaunchAttributeValue value = {0};
    OK(cudaStreamCreateWithPriority(&stream, 0, -3));
    SAYS(runtime() / 10 == 1108 ? cudaErrorInvalidValue : cudaSuccess,
         cudaStreamGetAttribute(stream, cudaLaunchAttributePriority, &value));
    for (size_t i = 0; runtime() >= 12000 && i < sizeof asked / sizeof *asked; i++) {
        int got = 99, expected = asked[i] < -5 ? -5 : asked[i] > 0 ? 0 : asked[i];
        value.priority = asked[i];
        SAYS(cudaSuccess, cudaStreamSetAttribute(stream, cudaLaunchAttributePriority, &value));
        OK(cudaStreamGetPriority(stream, &got));
        EQUAL(got, expected);
    }
    OK(cudaStreamDestroy(stream));
}

CASE(a_streams_memory_domains) {
    cudaStream_t stream;
    cudaLaunchAttributeValue value = {0};
    NEEDS(ACU_FEATURE_MEMORY_SYNC_DOMAINS);
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamGetAttribute(stream, cudaLaunchAttributeMemSyncDomain, &value));
    EQUAL(value.memSyncDomain, cudaLaunchMemSyncDomainDefault);
    OK(cudaStreamGetAttribute(stream, cudaLaunchAttributeMemSyncDomainMap, &value));
    EQUAL(value.memSyncDomainMap.default_, 0);
    EQUAL(value.memSyncDomainMap.remote, 1);
    value.memSyncDomain = cudaLaunchMemSyncDomainRemote;
    OK(cudaStreamSetAttribute(stream, cudaLaunchAttributeMemSyncDomain, &value));
    value.memSyncDomain = (cudaLaunchMemSyncDomain)9;
    FAILS(cudaErrorInvalidValue,
          cudaStreamSetAttribute(stream, cudaLaunchAttributeMemSyncDomain, &value));
    value.memSyncDomainMap.default_ = 3;
    value.memSyncDomainMap.remote = 2;
    OK(cudaStreamSetAttribute(stream, cudaLaunchAttributeMemSyncDomainMap, &value));
    value.memSyncDomainMap.remote = 99;
    FAILS(cudaErrorInvalidValue,
          cudaStreamSetAttribute(stream, cudaLaunchAttributeMemSyncDomainMap, &value));
    OK(cudaStreamDestroy(stream));
}

CASE(attributes_that_streams_do_not_have) {
    cudaStream_t stream;
    cudaLaunchAttributeValue value = {0};
    OK(cudaStreamCreate(&stream));
    FAILS(cudaErrorInvalidValue,
          cudaStreamGetAttribute(stream, cudaLaunchAttributeCooperative, &value));
    FAILS(cudaErrorInvalidValue,
          cudaStreamSetAttribute(stream, cudaLaunchAttributeCooperative, &value));
    FAILS(cudaErrorInvalidValue, cudaStreamGetAttribute(stream, (cudaLaunchAttributeID)99, &value));
    FAILS(cudaErrorInvalidValue, cudaStreamSetAttribute(stream, (cudaLaunchAttributeID)99, &value));
    OK(cudaStreamDestroy(stream));
}

CASE(attributes_of_default_streams) {
    cudaLaunchAttributeValue value = {.syncPolicy = cudaSyncPolicyAuto};
    OK(cudaStreamGetAttribute(NULL, cudaLaunchAttributeSynchronizationPolicy, &value));
    EQUAL((int)value.syncPolicy, -1);
    OK(cudaStreamGetAttribute(cudaStreamPerThread, cudaLaunchAttributeSynchronizationPolicy,
                              &value));
    EQUAL((int)value.syncPolicy, -1);
}

LONE_CASE(attributes_of_default_streams_are_set) {
    cudaLaunchAttributeValue value = {.syncPolicy = cudaSyncPolicyAuto};
    SAYS(cudaSuccess,
         cudaStreamSetAttribute(NULL, cudaLaunchAttributeSynchronizationPolicy, &value));
    SAYS(cudaSuccess, cudaStreamSetAttribute(cudaStreamPerThread,
                                             cudaLaunchAttributeSynchronizationPolicy, &value));
}

CASE(attributes_are_copied) {
    cudaStream_t a, b;
    cudaLaunchAttributeValue value = {.syncPolicy = cudaSyncPolicyYield};
    OK(cudaStreamCreate(&a));
    OK(cudaStreamCreate(&b));
    OK(cudaStreamSetAttribute(a, cudaLaunchAttributeSynchronizationPolicy, &value));
    OK(cudaStreamCopyAttributes(b, a));
    memset(&value, 0, sizeof value);
    OK(cudaStreamGetAttribute(b, cudaLaunchAttributeSynchronizationPolicy, &value));
    EQUAL(value.syncPolicy, cudaSyncPolicyYield);
    SAYS(cudaSuccess, cudaStreamCopyAttributes(NULL, a));
    SAYS(cudaSuccess, cudaStreamCopyAttributes(a, NULL));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
}

CASE(copied_attributes_and_priorities) {
    cudaStream_t a, b;
    int priority = 99;
    OK(cudaStreamCreateWithPriority(&a, 0, -3));
    OK(cudaStreamCreateWithPriority(&b, 0, -1));
    OK(cudaStreamCopyAttributes(b, a));
    OK(cudaStreamGetPriority(b, &priority));
    EQUAL(priority, -3);
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
}

/* ---- threads
 * ------------------------------------------------------------------------------------------ */

static void *own_id(void *data) {
    unsigned long long *id = data;
    return (void *)(intptr_t)cudaStreamGetId(cudaStreamPerThread, id);
}

CASE(each_thread_has_its_own_default_stream) {
    pthread_t thread;
    unsigned long long mine = 0, other = 0;
    OK(cudaStreamGetId(cudaStreamPerThread, &mine));
    EQUAL(pthread_create(&thread, NULL, own_id, &other), 0);
    EQUAL(pthread_join(thread, NULL), 0);
    IS(mine != other);
}

/* ---- the threads of callbacks ---- */

static void note_thread(void *thread) {
    *(pthread_t *)thread = pthread_self();
}

static void CUDART_CB note_thread_too(cudaStream_t stream, cudaError_t status, void *thread) {
    (void)stream;
    (void)status;
    note_thread(thread);
}

/* One thread for all streams of a device, and not the caller's. */
CASE(which_thread_calls_host_functions) {
    cudaStream_t a, b;
    pthread_t first, again, others, callback, prioritys;
    cudaStream_t high;
    OK(cudaStreamCreate(&a));
    OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithPriority(&high, cudaStreamNonBlocking, -5));
    OK(cudaLaunchHostFunc(a, note_thread, &first));
    OK(cudaStreamSynchronize(a));
    OK(cudaLaunchHostFunc(a, note_thread, &again));
    OK(cudaStreamSynchronize(a));
    OK(cudaLaunchHostFunc(b, note_thread, &others));
    OK(cudaStreamSynchronize(b));
    OK(cudaStreamAddCallback(b, note_thread_too, &callback, 0));
    OK(cudaStreamSynchronize(b));
    OK(cudaLaunchHostFunc(high, note_thread, &prioritys));
    OK(cudaStreamSynchronize(high));
    IS(!pthread_equal(first, pthread_self()));
    IS(pthread_equal(first, again));
    IS(pthread_equal(first, others));
    IS(pthread_equal(first, callback));
    IS(pthread_equal(first, prioritys));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
    OK(cudaStreamDestroy(high));
}

CASE(which_thread_calls_host_functions_of_two_devices) {
    NEEDS_DEVICES(2);
    cudaStream_t streams[2];
    pthread_t threads[2];
    for (int device = 0; device < 2; device++) {
        OK(cudaSetDevice(device));
        OK(cudaStreamCreate(&streams[device]));
        OK(cudaLaunchHostFunc(streams[device], note_thread, &threads[device]));
        OK(cudaStreamSynchronize(streams[device]));
        OK(cudaStreamDestroy(streams[device]));
    }
    OK(cudaSetDevice(0));
    IS(!pthread_equal(threads[0], threads[1]));
}

/* CUDA's header says that streams have it; no driver has been asked yet. */
CASE(nvlink_scheduling_of_a_stream) {
    cudaStream_t stream;
    cudaLaunchAttributeValue value = {.nvlinkUtilCentricScheduling = 1};
    OK(cudaStreamCreate(&stream));
    ASK(cudaStreamSetAttribute(stream, cudaLaunchAttributeNvlinkUtilCentricScheduling, &value));
    ASK(cudaStreamGetAttribute(stream, cudaLaunchAttributeNvlinkUtilCentricScheduling, &value));
    (void)cudaGetLastError();
    OK(cudaStreamDestroy(stream));
}
