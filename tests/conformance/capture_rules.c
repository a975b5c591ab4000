/* What captures do not allow, on their streams and beside them; see capture.c. */
#include "graphs.h"

#include <pthread.h>

static void on_callback(cudaStream_t stream, cudaError_t status, void *data) {
    (void)stream;
    (void)status;
    ++*(int *)data;
}

/* ---- events ---- */

CASE(waiting_for_what_was_recorded_outside) {
    cudaStream_t a = new_stream(), b = new_stream();
    cudaEvent_t event = new_event();
    cudaGraph_t graph = NULL;
    hold(b);
    OK(cudaEventRecord(event, b));
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    FAILS(cudaErrorStreamCaptureIsolation, cudaStreamWaitEvent(a, event, 0));
    EQUAL(status_of(a), cudaStreamCaptureStatusInvalidated);
    SAYS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(a, &graph));
    (void)cudaGetLastError();
    let_go();
    OK(cudaStreamSynchronize(b));
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    FAILS(cudaErrorStreamCaptureIsolation, cudaStreamWaitEvent(a, event, 0));
    SAYS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(a, &graph));
    (void)cudaGetLastError();
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
}

CASE(waiting_for_what_was_never_recorded) {
    cudaStream_t stream = new_stream();
    cudaEvent_t event = new_event();
    cudaGraph_t graph = NULL;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    SAYS(cudaSuccess, cudaStreamWaitEvent(stream, event, 0));
    EQUAL(status_of(stream), cudaStreamCaptureStatusActive);
    OK(cudaStreamEndCapture(stream, &graph));
    EQUAL(count_nodes(graph), 0);
    OK(cudaGraphDestroy(graph));
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(stream));
}

CASE(asking_after_a_captured_event) {
    cudaStream_t stream = new_stream();
    cudaEvent_t event = new_event();
    cudaGraph_t graph = NULL;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    YES(cudaEventRecord(event, stream));
    FAILS(cudaErrorCapturedEvent, cudaEventQuery(event));
    EQUAL(status_of(stream), cudaStreamCaptureStatusInvalidated);
    SAYS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    YES(cudaEventRecord(event, stream));
    FAILS(cudaErrorCapturedEvent, cudaEventSynchronize(event));
    EQUAL(status_of(stream), cudaStreamCaptureStatusInvalidated);
    SAYS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
    (void)cudaGetLastError();
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(stream));
}

CASE(time_of_captured_events) {
    cudaStream_t stream = new_stream();
    cudaEvent_t a = NULL, b = NULL;
    float ms;
    OK(cudaEventCreate(&a));
    OK(cudaEventCreate(&b));
    OK(cudaEventRecord(a, stream));
    OK(cudaEventSynchronize(a));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    YES(cudaEventRecord(b, stream));
    FAILS(cudaErrorCapturedEvent, cudaEventElapsedTime(&ms, a, b));
    SAYS(cudaSuccess, end_capture(stream));
    OK(cudaEventDestroy(a));
    OK(cudaEventDestroy(b));
    OK(cudaStreamDestroy(stream));
}

CASE(an_event_after_its_capture) {
    cudaStream_t a = new_stream(), b = new_stream();
    cudaEvent_t event = new_event();
    cudaGraph_t graph = NULL;
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    YES(cudaEventRecord(event, a));
    OK(cudaStreamEndCapture(a, &graph));
    FAILS(cudaErrorInvalidValue, cudaEventQuery(event));
    FAILS(cudaErrorInvalidValue, cudaEventSynchronize(event));
    FAILS(cudaErrorInvalidValue, cudaStreamWaitEvent(b, event, 0));
    EQUAL(status_of(b), cudaStreamCaptureStatusNone);
    OK(cudaEventRecord(event, b));
    OK(cudaEventSynchronize(event));
    OK(cudaGraphDestroy(graph));
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
}

CASE(an_event_of_another_capture_that_has_ended) {
    cudaStream_t a = new_stream(), b = new_stream();
    cudaEvent_t event = new_event();
    cudaGraph_t graph = NULL;
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    YES(cudaEventRecord(event, a));
    OK(cudaStreamEndCapture(a, &graph));
    OK(cudaStreamBeginCapture(b, cudaStreamCaptureModeThreadLocal));
    FAILS(cudaErrorInvalidValue, cudaStreamWaitEvent(b, event, 0));
    SAYS(cudaErrorStreamCaptureInvalidated, end_capture(b));
    OK(cudaGraphDestroy(graph));
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
}

CASE(destroying_an_event_that_is_captured) {
    cudaStream_t a = new_stream(), b = new_stream();
    cudaEvent_t event = new_event();
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    YES(cudaEventRecord(event, a));
    YES(cudaStreamWaitEvent(b, event, 0));
    YES(cudaEventDestroy(event));
    SAYS(cudaSuccess, end_capture(a));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
}

CASE(external_events_become_nodes) {
    cudaStream_t stream = new_stream();
    cudaEvent_t event = new_event(), got = NULL;
    cudaGraph_t graph = NULL;
    cudaGraphNode_t nodes[2];
    size_t count = 2;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    YES(cudaStreamWaitEvent(stream, event, cudaEventWaitExternal));
    YES(cudaEventRecordWithFlags(event, stream, cudaEventRecordExternal));
    OK(cudaStreamEndCapture(stream, &graph));
    EQUAL(count_nodes(graph), 2);
    EQUAL(count_edges(graph), 1);
    EQUAL(type_of(graph, 0), cudaGraphNodeTypeWaitEvent);
    EQUAL(type_of(graph, 1), cudaGraphNodeTypeEventRecord);
    OK(cudaGraphGetNodes(graph, nodes, &count));
    OK(cudaGraphEventWaitNodeGetEvent(nodes[0], &got));
    IS(got == event);
    SAYS(cudaSuccess, cudaEventQuery(event));
    OK(cudaGraphDestroy(graph));
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(stream));
}

CASE(external_events_outside_of_a_capture) {
    cudaStream_t stream = new_stream();
    cudaEvent_t event = new_event();
    FAILS(cudaErrorIllegalState, cudaEventRecordWithFlags(event, stream, cudaEventRecordExternal));
    FAILS(cudaErrorIllegalState, cudaStreamWaitEvent(stream, event, cudaEventWaitExternal));
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(stream));
}

/* ---- what makes a capture invalid ---- */

CASE(waiting_for_a_captured_stream) {
    cudaStream_t stream = new_stream();
    cudaGraph_t graph = (cudaGraph_t)(void *)stream;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    FAILS(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(stream));
    EQUAL(status_of(stream), cudaStreamCaptureStatusInvalidated);
    FAILS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
    IS(graph == NULL);
    EQUAL(status_of(stream), cudaStreamCaptureStatusNone);
    OK(cudaStreamDestroy(stream));
}

CASE(asking_after_a_captured_stream) {
    cudaStream_t stream = new_stream();
    cudaGraph_t graph = NULL;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    FAILS(cudaErrorStreamCaptureUnsupported, cudaStreamQuery(stream));
    EQUAL(status_of(stream), cudaStreamCaptureStatusInvalidated);
    FAILS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
    OK(cudaStreamDestroy(stream));
}

CASE(using_what_is_invalid) {
    cudaStream_t stream = new_stream(), other = new_stream();
    cudaEvent_t event = new_event();
    cudaGraph_t graph = NULL;
    int calls = 0;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    YES(cudaEventRecord(event, stream));
    SAYS(cudaErrorStreamCaptureUnsupported, cudaStreamQuery(stream));
    FAILS(cudaErrorStreamCaptureInvalidated, cudaLaunchHostFunc(stream, on_host, &calls));
    FAILS(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(stream));
    FAILS(cudaErrorStreamCaptureInvalidated, cudaEventRecord(event, stream));
    FAILS(cudaErrorStreamCaptureInvalidated, cudaStreamWaitEvent(stream, event, 0));
    FAILS(cudaErrorInvalidValue, cudaStreamWaitEvent(other, event, 0));
    FAILS(cudaErrorIllegalState, cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    SAYS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
    (void)cudaGetLastError();
    OK(cudaLaunchHostFunc(stream, on_host, &calls));
    OK(cudaStreamSynchronize(stream));
    EQUAL(calls, 1);
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(stream));
    OK(cudaStreamDestroy(other));
}

CASE(waiting_for_the_device) {
    DURING(cudaStreamCaptureModeRelaxed, cudaErrorStreamCaptureUnsupported,
           cudaStreamCaptureStatusInvalidated, cudaDeviceSynchronize());
}

CASE(callbacks_are_not_captured) {
    cudaStream_t stream = new_stream();
    int calls = 0;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    FAILS(cudaErrorStreamCaptureUnsupported, cudaStreamAddCallback(stream, on_callback, &calls, 0));
    EQUAL(status_of(stream), cudaStreamCaptureStatusInvalidated);
    SAYS(cudaErrorStreamCaptureInvalidated, end_capture(stream));
    OK(cudaStreamDestroy(stream));
}

CASE(attaching_and_prefetching_are_not_captured) {
    cudaStream_t stream = new_stream();
    cudaGraph_t graph = NULL;
    void *managed = NULL;
    const struct cudaMemLocation here = {.type = cudaMemLocationTypeDevice, .id = 0};
    OK(cudaMallocManaged(&managed, 4096, cudaMemAttachGlobal));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    SAYS(cudaErrorStreamCaptureUnsupported,
         cudaStreamAttachMemAsync(stream, managed, 0, cudaMemAttachGlobal));
    EQUAL(status_of(stream), cudaStreamCaptureStatusInvalidated);
    SAYS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    SAYS(cudaErrorStreamCaptureUnsupported, cudaMemPrefetchAsync(managed, 4096, here, 0, stream));
    SAYS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
    (void)cudaGetLastError();
    OK(cudaFree(managed));
    OK(cudaStreamDestroy(stream));
}

CASE(mistakes_do_not_make_it_invalid) {
    cudaStream_t stream = new_stream();
    cudaGraph_t graph = NULL;
    void *device = NULL;
    OK(cudaMalloc(&device, 64));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    SAYS(cudaSuccess, cudaMemsetAsync(NULL, 1, 64, stream)); /* is not looked at yet */
    SAYS(cudaErrorInvalidValue, cudaLaunchHostFunc(stream, NULL, NULL));
    SAYS(cudaErrorInvalidMemcpyDirection,
         cudaMemcpyAsync(device, device, 4, (enum cudaMemcpyKind)9, stream));
    (void)cudaGetLastError();
    EQUAL(status_of(stream), cudaStreamCaptureStatusActive);
    SAYS(cudaSuccess, cudaStreamEndCapture(stream, &graph));
    if (graph)
        EQUAL(count_nodes(graph), 1);
    if (graph)
        OK(cudaGraphDestroy(graph));
    OK(cudaFree(device));
    OK(cudaStreamDestroy(stream));
}

/* ---- the legacy stream ---- */

/* Does what DURING does, with a stream that blocks the legacy one. */
#define BLOCKING(code, status, call)                                                               \
    do {                                                                                           \
        cudaStream_t during = NULL;                                                                \
        cudaGraph_t captured = NULL;                                                               \
        YES(cudaStreamCreate(&during));                                                            \
        YES(cudaStreamBeginCapture(during, cudaStreamCaptureModeRelaxed));                         \
        SAYS(code, call);                                                                          \
        EQUAL(status_of(during), status);                                                          \
        SAYS((status) == cudaStreamCaptureStatusActive ? cudaSuccess                               \
                                                       : cudaErrorStreamCaptureInvalidated,        \
             cudaStreamEndCapture(during, &captured));                                             \
        if (captured)                                                                              \
            (void)cudaGraphDestroy(captured);                                                      \
        (void)cudaStreamDestroy(during);                                                           \
        (void)cudaGetLastError();                                                                  \
    } while (0)
#define IMPLICIT(call)                                                                             \
    BLOCKING(cudaErrorStreamCaptureImplicit, cudaStreamCaptureStatusInvalidated, call)

CASE(the_legacy_stream_depends_on_captured_ones) {
    enum cudaStreamCaptureStatus status;
    unsigned long long id;
    BLOCKING(cudaErrorStreamCaptureImplicit, cudaStreamCaptureStatusActive,
             cudaStreamIsCapturing(NULL, &status));
    BLOCKING(cudaErrorStreamCaptureImplicit, cudaStreamCaptureStatusActive,
             cudaStreamGetCaptureInfo(NULL, &status, &id, NULL, NULL, NULL, NULL));
}

CASE(work_on_the_legacy_stream) {
    void *device = NULL;
    int host = 0, calls = 0;
    OK(cudaMalloc(&device, 64));
    IMPLICIT(cudaMemsetAsync(device, 0, 64, NULL));
    IMPLICIT(cudaMemset(device, 0, 64));
    IMPLICIT(cudaMemcpy(device, &host, 4, cudaMemcpyHostToDevice));
    IMPLICIT(cudaMemcpyAsync(device, &host, 4, cudaMemcpyHostToDevice, NULL));
    IMPLICIT(cudaLaunchHostFunc(NULL, on_host, &calls));
    OK(cudaFree(device));
}

CASE(waiting_for_the_legacy_stream) {
    IMPLICIT(cudaStreamSynchronize(NULL));
    IMPLICIT(cudaStreamQuery(NULL));
}

CASE(events_on_the_legacy_stream) {
    cudaEvent_t event = new_event();
    IMPLICIT(cudaEventRecord(event, NULL));
    IMPLICIT(cudaStreamWaitEvent(NULL, event, 0));
    OK(cudaEventDestroy(event));
}

CASE(the_legacy_stream_beside_one_that_does_not_block) {
    void *device = NULL;
    OK(cudaMalloc(&device, 64));
    ALLOWED(cudaMemsetAsync(device, 0, 64, NULL));
    ALLOWED(cudaMemcpyAsync(device, device, 0, cudaMemcpyDeviceToDevice, NULL));
    OK(cudaStreamSynchronize(NULL));
    OK(cudaFree(device));
}

CASE(the_legacy_stream_waits_for_a_captured_event) {
    cudaStream_t stream = new_stream();
    cudaEvent_t event = new_event();
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    YES(cudaEventRecord(event, stream));
    FAILS(cudaErrorStreamCaptureImplicit, cudaStreamWaitEvent(NULL, event, 0));
    EQUAL(status_of(stream), cudaStreamCaptureStatusInvalidated);
    SAYS(cudaErrorStreamCaptureInvalidated, end_capture(stream));
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(stream));
}

/* ---- modes ---- */

CASE(allocating_is_unsafe) {
    void *memory = NULL, *kept = NULL;
    size_t pitch;
    OK(cudaMalloc(&kept, 64));
    UNSAFE(cudaMalloc(&memory, 64));
    UNSAFE(cudaMallocPitch(&memory, &pitch, 64, 2));
    UNSAFE(cudaMallocManaged(&memory, 64, cudaMemAttachGlobal));
    UNSAFE(cudaFree(kept));
    OK(cudaFree(kept));
}

CASE(host_memory_is_unsafe) {
    void *memory = NULL, *kept = NULL;
    static char page[8192];
    OK(cudaMallocHost(&kept, 64));
    UNSAFE(cudaMallocHost(&memory, 64));
    UNSAFE(cudaHostAlloc(&memory, 64, cudaHostAllocDefault));
    UNSAFE(cudaFreeHost(kept));
    OK(cudaFreeHost(kept));
    UNSAFE(cudaHostRegister(page, sizeof page, cudaHostRegisterDefault));
    OK(cudaHostRegister(page, sizeof page, cudaHostRegisterDefault));
    UNSAFE(cudaHostUnregister(page));
    OK(cudaHostUnregister(page));
}

CASE(freeing_nothing_is_unsafe) {
    UNSAFE(cudaFree(NULL));
    UNSAFE(cudaFreeHost(NULL));
}

CASE(waiting_for_others_is_unsafe) {
    cudaStream_t other = new_stream();
    cudaEvent_t event = new_event();
    OK(cudaEventRecord(event, other));
    OK(cudaStreamSynchronize(other));
    UNSAFE(cudaEventQuery(event));
    UNSAFE(cudaEventSynchronize(event));
    UNSAFE(cudaStreamQuery(other));
    UNSAFE(cudaStreamSynchronize(other));
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(other));
}

CASE(synchronous_copies_are_safe) {
    void *device = NULL;
    int host = 0;
    OK(cudaMalloc(&device, 64));
    ALLOWED(cudaMemcpy(device, &host, 4, cudaMemcpyHostToDevice));
    ALLOWED(cudaMemcpy(&host, device, 4, cudaMemcpyDeviceToHost));
    ALLOWED(cudaMemset(device, 0, 64));
    OK(cudaFree(device));
}

CASE(making_handles_is_safe) {
    cudaStream_t stream = NULL;
    cudaEvent_t event = NULL;
    ALLOWED(cudaStreamCreate(&stream));
    ALLOWED(cudaStreamDestroy(stream));
    ALLOWED(cudaEventCreate(&event));
    ALLOWED(cudaEventDestroy(event));
}

CASE(asking_is_safe) {
    size_t free_, total;
    int number;
    void *device = NULL;
    struct cudaPointerAttributes attributes;
    OK(cudaMalloc(&device, 64));
    ALLOWED(cudaMemGetInfo(&free_, &total));
    ALLOWED(cudaGetDevice(&number));
    ALLOWED(cudaDeviceGetAttribute(&number, cudaDevAttrWarpSize, 0));
    ALLOWED(cudaPointerGetAttributes(&attributes, device));
    OK(cudaFree(device));
}

CASE(work_on_other_streams_is_safe) {
    cudaStream_t other = new_stream();
    void *device = NULL;
    int calls = 0;
    OK(cudaMalloc(&device, 64));
    ALLOWED(cudaMemsetAsync(device, 0, 64, other));
    ALLOWED(cudaLaunchHostFunc(other, on_host, &calls));
    OK(cudaStreamSynchronize(other));
    OK(cudaFree(device));
    OK(cudaStreamDestroy(other));
}

CASE(graphs_while_capturing) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t node;
    int calls = 0;
    const struct cudaHostNodeParams host = {on_host, &calls};
    ALLOWED(cudaGraphCreate(&graph, 0));
    ALLOWED(cudaGraphAddHostNode(&node, graph, NULL, 0, &host));
    UNSAFE(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    UNSAFE(cudaGraphExecDestroy(exec));
    OK(cudaGraphExecDestroy(exec));
    ALLOWED(cudaGraphDestroy(graph));
}

CASE(relaxed_captures_allow_unsafe_calls) {
    void *memory = NULL;
    cudaStream_t other = new_stream();
    DURING(cudaStreamCaptureModeRelaxed, cudaSuccess, cudaStreamCaptureStatusActive,
           cudaMalloc(&memory, 64));
    DURING(cudaStreamCaptureModeRelaxed, cudaSuccess, cudaStreamCaptureStatusActive,
           cudaStreamSynchronize(other));
    DURING(cudaStreamCaptureModeRelaxed, cudaSuccess, cudaStreamCaptureStatusActive,
           cudaFree(memory));
    OK(cudaStreamDestroy(other));
}

typedef struct allocating {
    enum cudaStreamCaptureMode mode;
    bool exchanges;
    cudaError_t result;
} allocating;

static void *allocate_there(void *data) {
    allocating *it = data;
    void *memory = NULL;
    if (it->exchanges)
        (void)cudaThreadExchangeStreamCaptureMode(&it->mode);
    it->result = cudaMalloc(&memory, 64);
    if (!it->result)
        (void)cudaFree(memory);
    return NULL;
}

static cudaError_t in_a_thread(allocating *it) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, allocate_there, it))
        return cudaErrorUnknown;
    (void)pthread_join(thread, NULL);
    return it->result;
}

CASE(a_global_capture_binds_other_threads) {
    allocating it = {.exchanges = false};
    DURING(cudaStreamCaptureModeGlobal, cudaErrorStreamCaptureUnsupported,
           cudaStreamCaptureStatusInvalidated, in_a_thread(&it));
}

CASE(a_local_capture_does_not) {
    allocating it = {.exchanges = false};
    DURING(cudaStreamCaptureModeThreadLocal, cudaSuccess, cudaStreamCaptureStatusActive,
           in_a_thread(&it));
    DURING(cudaStreamCaptureModeRelaxed, cudaSuccess, cudaStreamCaptureStatusActive,
           in_a_thread(&it));
}

CASE(threads_can_ignore_captures) {
    allocating it = {.exchanges = true, .mode = cudaStreamCaptureModeThreadLocal};
    DURING(cudaStreamCaptureModeGlobal, cudaSuccess, cudaStreamCaptureStatusActive,
           in_a_thread(&it));
    it.mode = cudaStreamCaptureModeRelaxed;
    DURING(cudaStreamCaptureModeGlobal, cudaSuccess, cudaStreamCaptureStatusActive,
           in_a_thread(&it));
}

CASE(a_relaxed_thread) {
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    void *memory = NULL;
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    EQUAL(mode, cudaStreamCaptureModeGlobal);
    DURING(cudaStreamCaptureModeGlobal, cudaSuccess, cudaStreamCaptureStatusActive,
           cudaMalloc(&memory, 64));
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    EQUAL(mode, cudaStreamCaptureModeRelaxed);
    OK(cudaFree(memory));
}

CASE(thread_modes_that_do_not_exist) {
    enum cudaStreamCaptureMode mode = (enum cudaStreamCaptureMode)3;
    OK(cudaThreadExchangeStreamCaptureMode(&mode)); /* nobody looks */
    EQUAL(mode, cudaStreamCaptureModeGlobal);
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
}

/* ---- pools, limits, streams ---- */

static struct cudaMemPoolProps pool_here(void) {
    const struct cudaMemPoolProps properties = {
        .allocType = cudaMemAllocationTypePinned,
        .location = {.type = cudaMemLocationTypeDevice, .id = 0}};
    return properties;
}

CASE(allocating_on_other_streams_is_unsafe) {
    cudaStream_t other = new_stream();
    void *memory = NULL, *kept = NULL;
    OK(cudaMallocAsync(&kept, 64, other));
    UNSAFE(cudaMallocAsync(&memory, 64, other));
    UNSAFE(cudaFreeAsync(kept, other));
    UNSAFE(cudaFreeAsync(NULL, other));
    OK(cudaFreeAsync(kept, other));
    OK(cudaStreamSynchronize(other));
    OK(cudaStreamDestroy(other));
}

CASE(a_relaxed_thread_allocates_on_other_streams) {
    cudaStream_t other = new_stream();
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    void *memory = NULL;
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    ALLOWED(cudaMallocAsync(&memory, 64, other));
    ALLOWED(cudaMemsetAsync(memory, 0, 64, other));
    ALLOWED(cudaFreeAsync(memory, other));
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    OK(cudaStreamSynchronize(other));
    OK(cudaStreamDestroy(other));
}

CASE(pools_are_unsafe) {
    cudaMemPool_t pool = NULL, made = NULL;
    const struct cudaMemPoolProps properties = pool_here();
    struct cudaMemLocation here = properties.location;
    const struct cudaMemAccessDesc access = {here, cudaMemAccessFlagsProtReadWrite};
    enum cudaMemAccessFlags flags;
    cuuint64_t value = 0;
    OK(cudaMemPoolCreate(&pool, &properties));
    UNSAFE(cudaMemPoolCreate(&made, &properties));
    UNSAFE(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &value));
    UNSAFE(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &value));
    UNSAFE(cudaMemPoolTrimTo(pool, 0));
    UNSAFE(cudaMemPoolGetAccess(&flags, pool, &here));
    UNSAFE(cudaMemPoolSetAccess(pool, &access, 1));
    UNSAFE(cudaDeviceSetMemPool(0, pool));
    UNSAFE(cudaMemPoolDestroy(pool));
    OK(cudaMemPoolDestroy(pool));
}

CASE(a_relaxed_thread_uses_pools) {
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaMemPool_t pool = NULL;
    const struct cudaMemPoolProps properties = pool_here();
    struct cudaMemLocation here = properties.location;
    const struct cudaMemAccessDesc access = {here, cudaMemAccessFlagsProtReadWrite};
    enum cudaMemAccessFlags flags;
    cuuint64_t value = 0;
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    ALLOWED(cudaMemPoolCreate(&pool, &properties));
    ALLOWED(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &value));
    ALLOWED(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &value));
    ALLOWED(cudaMemPoolTrimTo(pool, 0));
    ALLOWED(cudaMemPoolGetAccess(&flags, pool, &here));
    ALLOWED(cudaMemPoolSetAccess(pool, &access, 1));
    ALLOWED(cudaMemPoolDestroy(pool));
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
}

CASE(settings_are_unsafe) {
    size_t stack = 0;
    OK(cudaDeviceGetLimit(&stack, cudaLimitStackSize));
    ALLOWED(cudaDeviceGetLimit(&stack, cudaLimitStackSize));
    UNSAFE(cudaDeviceSetLimit(cudaLimitStackSize, stack));
    UNSAFE(cudaDeviceSetLimit((enum cudaLimit)12, stack));
    UNSAFE(cudaDeviceSetCacheConfig(cudaFuncCachePreferNone));
}

CASE(a_relaxed_thread_changes_settings) {
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    size_t stack = 0;
    OK(cudaDeviceGetLimit(&stack, cudaLimitStackSize));
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    ALLOWED(cudaDeviceSetLimit(cudaLimitStackSize, stack));
    ALLOWED(cudaDeviceSetCacheConfig(cudaFuncCachePreferNone));
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
}

/* What a captured stream reports of itself; `during` is DURING's. */
CASE(asking_a_captured_stream) {
    unsigned flags = 77;
    int priority = -77;
    cudaStreamAttrValue value = {.syncPolicy = cudaSyncPolicyAuto};
    ALLOWED(cudaStreamGetPriority(during, &priority));
    ALLOWED(cudaStreamSetAttribute(during, cudaStreamAttributeSynchronizationPolicy, &value));
    ALLOWED(cudaStreamGetAttribute(during, cudaStreamAttributeSynchronizationPolicy, &value));
    UNSAFE(cudaStreamGetFlags(during, &flags));
    EQUAL(flags, 77);
    DURING(cudaStreamCaptureModeRelaxed, cudaErrorStreamCaptureUnsupported,
           cudaStreamCaptureStatusInvalidated, cudaStreamGetFlags(during, &flags));
}

CASE(asking_a_captured_stream_for_its_number) {
    cudaStream_t stream = new_stream();
    unsigned long long id = 0;
    OK(cudaStreamGetId(stream, &id));
    UNSAFE(cudaStreamGetId(during, &id));
    OK(cudaStreamDestroy(stream));
}

/* An output that a failed call clears, or leaves. */
CASE(outputs_of_failed_allocations) {
    cudaStream_t stream = new_stream();
    cudaGraph_t graph = (cudaGraph_t)(void *)&stream;
    void *memory = &memory;
    cudaArray_t array = (cudaArray_t)(void *)&stream;
    const struct cudaChannelFormatDesc nothing = {0, 0, 0, 0, cudaChannelFormatKindUnsigned};
    FAILS(cudaErrorInvalidValue, cudaMallocManaged(&memory, 64, 0));
    IS(memory == NULL);
    memory = &memory;
    FAILS(cudaErrorInvalidValue, cudaHostAlloc(&memory, 64, 16));
    IS(memory == NULL);
    memory = &memory;
    OK(cudaHostAlloc(&memory, 0, 16)); /* nothing is allocated, and nobody looks at the flags */
    IS(memory == NULL);
    memory = &memory;
    FAILS(cudaErrorInvalidValue, cudaMallocFromPoolAsync(&memory, 64, NULL, stream));
    IS(memory == NULL);
    FAILS(cudaErrorInvalidChannelDescriptor, cudaMallocArray(&array, &nothing, 64, 0, 0));
    IS(array == NULL);
    FAILS(cudaErrorIllegalState, cudaStreamEndCapture(stream, &graph));
    IS(graph == NULL);
    OK(cudaStreamDestroy(stream));
}
