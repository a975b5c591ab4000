/* What the simulator says where the code alone does not tell why a call was refused. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */

#include "graph_test.h"

#include <anycuda/cuda.h>

#include <pthread.h>
#include <sys/mman.h>

static void *memory_of(int device, size_t size) {
    OK(cudaSetDevice(device));
    void *memory = new_memory(size);
    OK(cudaSetDevice(0));
    return memory;
}

static void *pooled_of(int device, size_t size) {
    void *memory;
    OK(cudaSetDevice(device));
    OK(cudaMallocAsync(&memory, size, 0));
    OK(cudaStreamSynchronize(0));
    OK(cudaSetDevice(0));
    return memory;
}

static cudaGraph_t with_allocation(void **memory) {
    struct cudaMemAllocNodeParams params = {.bytesize = 1000};
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t node;
    params.poolProps.allocType = cudaMemAllocationTypePinned;
    params.poolProps.location.type = cudaMemLocationTypeDevice;
    OK(cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
    *memory = params.dptr;
    return graph;
}

/* ---- what cannot be made ---- */

TEST(flags_of_streams_and_events) {
    cudaStream_t stream;
    cudaEvent_t event;
    SAID(cudaErrorInvalidValue, cudaStreamCreateWithFlags(&stream, 9), "the flags are 0x9");
    SAID(cudaErrorInvalidValue, cudaStreamCreate(NULL), "no place for the stream");
    SAID(cudaErrorInvalidValue, cudaEventCreateWithFlags(&event, cudaEventInterprocess),
         "with that cudaEventInterprocess");
    SAID(cudaErrorInvalidValue, cudaEventCreate(NULL), "no place for the event");
    OK(cudaEventCreate(&event));
    SAID(cudaErrorInvalidValue, cudaEventRecordWithFlags(event, NULL, 9),
         "the flags are 0x9: a record has");
    SAID(cudaErrorInvalidValue, cudaStreamWaitEvent(NULL, event, 9),
         "the flags are 0x9: a wait has");
    SAID(cudaErrorInvalidValue, cudaEventElapsedTime(NULL, event, event), "no place for the time");
    OK(cudaEventDestroy(event));
}

TEST(flags_and_sizes_of_memory) {
    void *memory;
    size_t pitch;
    struct cudaPitchedPtr rows;
    SAID(cudaErrorInvalidValue, cudaMalloc(NULL, 1), "no place for the address");
    SAID(cudaErrorInvalidValue, cudaMallocAsync(NULL, 1, NULL), "no place for the address");
    SAID(cudaErrorInvalidValue, cudaHostAlloc(&memory, 1, 0x63), "the flags are 0x63");
    SAID(cudaErrorInvalidValue, cudaMallocManaged(&memory, 1, 9), "the flags are 0x9");
    SAID(cudaErrorInvalidValue, cudaMallocPitch(&memory, &pitch, SIZE_MAX, 2),
         "more than can be addressed");
    SAID(cudaErrorMemoryAllocation, cudaMalloc3D(&rows, (struct cudaExtent){SIZE_MAX / 2, 9, 9}),
         "more than can be addressed");
    SAID(cudaErrorInvalidValue, cudaHostRegister(&memory, 1, 0xff00), "which are 0xff00");
    SAID(cudaErrorInvalidValue, cudaMemPoolCreate(NULL, NULL), "no place for the pool");
}

TEST(no_room_on_a_device) {
    void *memory;
    SAID(cudaErrorMemoryAllocation, cudaMalloc(&memory, (size_t)2 << 30), "bytes free, and");
    SAID(cudaErrorMemoryAllocation, cudaMallocAsync(&memory, (size_t)2 << 30, 0), "device 0 has");
    SAID(cudaErrorMemoryAllocation, cudaMallocHost(&memory, SIZE_MAX / 2 + 1), "the host has no");
}

TEST(addresses_and_memory_that_cannot_be) {
    enum { CHUNK = 2 << 20 };
    CUdeviceptr at;
    CUmemGenericAllocationHandle memory;
    CUmemAllocationProp p = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                             .location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}}};
    OK(cuInit(0));
    assert_int_equal(cuMemAddressReserve(&at, 100, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
    expect_reason("the size is 100 bytes");
    assert_int_equal(cuMemAddressReserve(&at, CHUNK, 3, 0, 0), CUDA_ERROR_INVALID_VALUE);
    expect_reason("the alignment 3 is no power of two");
    assert_int_equal(cuMemAddressReserve(&at, CHUNK, 0, 0, 1), CUDA_ERROR_INVALID_VALUE);
    expect_reason("flags is 1, and must be 0");
    assert_int_equal(cuMemAddressReserve(NULL, CHUNK, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
    expect_reason("no place for the address");
    assert_int_equal(cuMemAddressReserve(&at, (size_t)1 << 62u, 0, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
    expect_reason("the process has no 4611686018427387904 bytes of addresses");
    assert_int_equal(cuMemCreate(&memory, 0, &p, 0), CUDA_ERROR_INVALID_VALUE);
    expect_reason("the size is 0 bytes, and must be a multiple of the granularity");
    assert_int_equal(cuMemCreate(&memory, CHUNK, &p, 2), CUDA_ERROR_INVALID_VALUE);
    expect_reason("flags is 2, and must be 0");
    assert_int_equal(cuMemRelease(8), CUDA_ERROR_INVALID_VALUE);
    expect_reason("0x8 is no handle of memory");
    assert_int_equal(cuMemRetainAllocationHandle(&memory, &at), CUDA_ERROR_INVALID_VALUE);
    expect_reason("nothing is mapped at");
    assert_int_equal(cuMemCreate(&memory, (size_t)2 << 30, &p, 0), CUDA_ERROR_OUT_OF_MEMORY);
    expect_reason("bytes free, and");
    p.allocFlags.compressionType = 9;
    assert_int_equal(cuMemCreate(&memory, CHUNK, &p, 0), CUDA_ERROR_INVALID_VALUE);
    expect_reason("no compressionType 9");
    p.location.id = 7;
    assert_int_equal(cuMemCreate(&memory, CHUNK, &p, 0), CUDA_ERROR_INVALID_DEVICE);
    expect_reason("there is no device 7");
    p = (CUmemAllocationProp){.location = {CU_MEM_LOCATION_TYPE_HOST_NUMA, {3}}};
    assert_int_equal(cuMemCreate(&memory, CHUNK, &p, 0), CUDA_ERROR_INVALID_VALUE);
    expect_reason("its only NUMA node");
    p.location.id = 0;
    assert_int_equal(cuMemCreate(&memory, CHUNK, &p, 0), CUDA_ERROR_INVALID_VALUE);
    expect_reason("prop->type is 0");
}

/* ---- memory ---- */

TEST(memory_of_another_device) {
    void *other = memory_of(1, 100), *pooled = pooled_of(1, 100), *own = new_memory(100);
    SAID(cudaErrorInvalidValue, cudaMemset(other, 0, 100),
         "device 0 may not write the 100 bytes at ");
    SAYS(cudaErrorInvalidValue, cudaMemsetAsync(other, 0, 100, 0));
    expect_reason("which are memory of device 1: call cudaDeviceEnablePeerAccess()");
    SAID(cudaErrorInvalidValue, cudaMemset(pooled, 0, 100),
         "which are of a pool of device 1: call cudaMemPoolSetAccess()");
    SAID(cudaErrorInvalidValue, cudaMemcpy(pooled, own, 100, cudaMemcpyDefault),
         "device 0 may not write the 100 bytes at ");
    SAID(cudaErrorInvalidValue, cudaMemcpy(own, pooled, 100, cudaMemcpyDefault),
         "device 0 may not read the 100 bytes at ");
    SAID(cudaErrorInvalidValue, cudaMemcpyPeer(own, 0, pooled, 0, 100),
         "device 0 may not read the 100 bytes at ");
    SAID(cudaErrorInvalidValue, cudaMemcpyPeer(pooled, 0, own, 0, 100),
         "device 0 may not write the 100 bytes at ");
    OK(cudaFreeAsync(pooled, 0));
    OK(cudaFree(other));
    OK(cudaFree(own));
}

TEST(copies) {
    char *memory = new_memory(100), host[200] = {0};
    SAID(cudaErrorInvalidValue, cudaMemcpy(memory + 20, host, 200, cudaMemcpyHostToDevice),
         "the call uses 200 bytes from the destination ");
    SAID(cudaErrorInvalidValue, cudaMemcpy(host, memory + 20, 200, cudaMemcpyDeviceToHost),
         "and only 80 are left of the 100 bytes that are allocated at ");
    SAID(cudaErrorInvalidValue, cudaMemcpy(NULL, host, 1, cudaMemcpyDefault),
         "the destination is NULL");
    SAID(cudaErrorInvalidValue, cudaMemcpy(memory, host, 1, cudaMemcpyDeviceToDevice),
         "the direction says that the source is memory of a device, and CUDA knows no such memory");
    SAID(cudaErrorInvalidPitchValue, cudaMemcpy2D(memory, 9, host, 10, 10, 2, cudaMemcpyDefault),
         "a row of 10 bytes is longer than the destination's pitch of 9 bytes");
    SAID(cudaErrorInvalidValue, cudaMemcpyPeer(memory, 0, host, 1, 10),
         "the source is host memory that CUDA did not allocate or register");
    SAID(cudaErrorInvalidValue, cudaMemset(host, 0, 10), "a device cannot fill the destination ");
    OK(cudaFree(memory));
    SAID(cudaErrorInvalidValue, cudaMemcpy(memory, host, 10, cudaMemcpyDefault),
         "no memory of a device is at the destination ");
}

TEST(boxes) {
    char *memory = new_memory(1000);
    struct cudaMemcpy3DParms copy = {.srcPtr = {memory, 10, 10, 2},
                                     .dstPtr = {memory + 500, 10, 10, 2},
                                     .extent = {10, 2, 2},
                                     .kind = cudaMemcpyDefault};
    copy.srcPtr.ysize = 1;
    SAID(cudaErrorInvalidValue, cudaMemcpy3D(&copy),
         "the source's pitch of 10 bytes or its 1 rows");
    copy.srcPtr.pitch = 9;
    SAID(cudaErrorInvalidPitchValue, cudaMemcpy3D(&copy),
         "a pitch of 9 bytes and 1 rows are given");
    copy.srcPtr = (struct cudaPitchedPtr){0};
    SAID(cudaErrorInvalidValue, cudaMemcpy3D(&copy), "the source or destination is missing");
    SAID(cudaErrorInvalidValue,
         cudaMemset3D((struct cudaPitchedPtr){memory, 10, 10, 2}, 0, (struct cudaExtent){11, 2, 1}),
         "does not fit into the pitch of 10 bytes and the 2 rows");
    OK(cudaFree(memory));
}

TEST(freeing) {
    char *memory = new_memory(100), *pinned, *managed;
    void *at;
    OK(cudaMallocHost((void **)&pinned, 100));
    OK(cudaMallocManaged((void **)&managed, 100, cudaMemAttachGlobal));
    SAID(cudaErrorInvalidValue, cudaFree(memory + 1), "is inside of the 100 bytes that begin at ");
    SAID(cudaErrorInvalidValue, cudaFree(pinned), ": use cudaFreeHost()");
    SAID(cudaErrorInvalidValue, cudaFreeHost(memory), ": use cudaFree()");
    SAID(cudaErrorInvalidValue, cudaFreeAsync(pinned, 0), ": use cudaFreeHost()");
    SAID(cudaErrorNotSupported, cudaFreeAsync(managed, 0), "managed memory that is of no pool");
    SAID(cudaErrorInvalidValue, cudaHostUnregister(pinned), ": use cudaFreeHost()");
    SAID(cudaErrorInvalidValue, cudaHostRegister(pinned, 100, 0),
         "CUDA knows a part of the memory already: the 100 bytes at ");
    SAID(cudaErrorInvalidValue, cudaHostGetDevicePointer(&at, memory, 0),
         "is not host memory that cudaHostAlloc() allocated");
    OK(cudaFree(memory));
    SAID(cudaErrorInvalidValue, cudaFree(memory),
         "it was freed already, or CUDA did not allocate it");
    OK(cudaFreeHost(pinned));
    OK(cudaFree(managed));
}

TEST(pools) {
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .handleTypes = cudaMemHandleTypeFabric,
                                     .location = {.type = cudaMemLocationTypeDevice}};
    struct cudaMemAccessDesc access = {.location = {.type = cudaMemLocationTypeDevice},
                                       .flags = cudaMemAccessFlagsProtNone};
    cudaMemPool_t pool;
    void *memory;
    SAID(cudaErrorNotPermitted, cudaMemPoolCreate(&pool, &props),
         "this process may not make fabric handles");
    props.handleTypes = cudaMemHandleTypeWin32;
    SAID(cudaErrorInvalidValue, cudaMemPoolCreate(&pool, &props),
         "handles of Windows do not exist here");
    props.location.id = 7;
    SAID(cudaErrorInvalidValue, cudaMemPoolCreate(&pool, &props), "with id 7 for a pool");
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    SAID(cudaErrorInvalidValue, cudaMemPoolDestroy(pool), "a default pool cannot be destroyed");
    SAID(cudaErrorInvalidDevice, cudaMemPoolSetAccess(pool, &access, 1),
         "the access of device 0 to its own pool cannot be taken back");
    access.flags = cudaMemAccessFlagsProtRead;
    SAID(cudaErrorNotSupported, cudaMemPoolSetAccess(pool, &access, 1),
         "a pool grants no read-only access");
    SAID(cudaErrorInvalidValue, cudaMallocFromPoolAsync(&memory, 1, (cudaMemPool_t)&props, 0),
         "is no pool: it was destroyed, or never created");
}

TEST(managed_memory) {
    const struct cudaMemLocation host = {.type = cudaMemLocationTypeHost};
    char *memory = new_memory(100);
    SAID(cudaErrorInvalidValue, cudaMemPrefetchAsync(memory, 100, host, 0, 0),
         "are managed memory of one allocation");
    SAID(cudaErrorInvalidValue, cudaMemAdvise(memory, 100, cudaMemAdviseSetReadMostly, host),
         "are managed memory of one allocation");
    OK(cudaFree(memory));
}

TEST(registering) {
    enum { PAGE = 4096 };
    char *pages = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    SAID(cudaErrorInvalidValue, cudaHostRegister(pages, PAGE, 0),
         "cannot be written: register it with cudaHostRegisterReadOnly");
    SAID(cudaErrorInvalidValue, cudaHostRegister(pages, PAGE, cudaHostRegisterIoMemory),
         "cudaHostRegisterIoMemory is for memory of other devices");
    OK(cudaHostRegister(pages, PAGE, cudaHostRegisterReadOnly));
    SAID(cudaErrorInvalidValue, cudaMemset(pages, 0, PAGE),
         "are read-only for devices, because they were registered with cudaHostRegisterReadOnly");
    SAID(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(pages, PAGE, 0),
         "CUDA knows a part of the memory already");
    OK(cudaHostUnregister(pages));
    assert_int_equal(munmap(pages, PAGE), 0);
    SAID(cudaErrorInvalidValue, cudaHostRegister(pages, PAGE, 0), "is not mapped in this process");
}

TEST(arrays) {
    const struct cudaChannelFormatDesc bytes = {.x = 8, .f = cudaChannelFormatKindUnsigned};
    const struct cudaChannelFormatDesc floats = {.x = 32, .f = cudaChannelFormatKindFloat};
    char *memory = new_memory(100);
    struct cudaMemcpy3DParms copy = {.extent = {4, 1, 1}, .kind = cudaMemcpyDefault};
    cudaArray_t narrow, wide;
    OK(cudaMallocArray(&narrow, &bytes, 8, 1, 0));
    OK(cudaMallocArray(&wide, &floats, 8, 1, 0));
    copy.srcArray = narrow;
    copy.dstArray = wide;
    SAID(cudaErrorInvalidValue, cudaMemcpy3D(&copy),
         "the elements of the two arrays do not have the same size");
    copy.dstPtr.ptr = memory;
    SAID(cudaErrorInvalidValue, cudaMemcpy3D(&copy),
         "the destination is given twice, as an array and as memory");
    copy.dstArray = NULL;
    copy.dstPtr = (struct cudaPitchedPtr){memory, 8, 8, 1};
    copy.srcPos.x = 6;
    SAID(cudaErrorInvalidValue, cudaMemcpy3D(&copy), "a part of the box is outside of the array");
    copy.kind = cudaMemcpyHostToDevice;
    SAID(cudaErrorInvalidValue, cudaMemcpy3D(&copy),
         "the direction says that the source is the host's, and it is an array");
    OK(cudaFreeArray(narrow));
    copy.kind = cudaMemcpyDefault;
    SAID(cudaErrorInvalidResourceHandle, cudaMemcpy3D(&copy), "is no array: it was freed");
    OK(cudaFreeArray(wide));
    OK(cudaFree(memory));
}

TEST(batches) {
    struct cudaMemcpyAttributes attributes = {.srcAccessOrder = cudaMemcpySrcAccessOrderStream};
    void *to = new_memory(10), *from = new_memory(10);
    const void *source = from;
    size_t size = 10, first = 0;
    cudaStream_t stream = new_stream();
    cudaGraph_t graph;
    SAID(cudaErrorInvalidValue,
         cudaMemcpyBatchAsync(&to, &source, &size, 1, &attributes, &first, 1, 0),
         "the legacy default stream takes no batches");
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    SAID(cudaErrorStreamCaptureUnsupported,
         cudaMemcpyBatchAsync(&to, &source, &size, 1, &attributes, &first, 1, stream),
         "is being captured, and a capture does not take batches");
    OK(cudaStreamEndCapture(stream, &graph));
    size = 0;
    SAID(cudaErrorInvalidValue,
         cudaMemcpyBatchAsync(&to, &source, &size, 1, &attributes, &first, 1, stream),
         "copy 0 of the batch is empty");
    SAID(cudaErrorInvalidValue,
         cudaMemcpyBatchAsync(&to, NULL, &size, 1, &attributes, &first, 1, stream),
         "an array of the batch is NULL, there is no copy, or the attributes");
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(to));
    OK(cudaFree(from));
}

/* ---- streams, events, captures ---- */

TEST(handles) {
    cudaStream_t stream = new_stream();
    cudaEvent_t event = new_event(), other;
    float ms;
    OK(cudaEventCreate(&other));
    SAID(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, event, event),
         "it was created with cudaEventDisableTiming");
    SAID(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, other, other),
         "was never recorded");
    OK(cudaEventDestroy(other));
    SAID(cudaErrorInvalidResourceHandle, cudaEventRecord(other, stream),
         "is no event: it was destroyed, or never created");
    OK(cudaStreamDestroy(stream));
    SAID(cudaErrorInvalidResourceHandle, cudaEventRecord(event, stream),
         "is no stream: it was destroyed, or never created");
    OK(cudaSetDevice(1));
    SAID(cudaErrorInvalidResourceHandle, cudaEventRecord(event, cudaStreamLegacy),
         "the event is of a context on device 0, and the stream of another on device 1");
    OK(cudaSetDevice(0));
    SAID(cudaErrorIllegalState, cudaEventRecordWithFlags(event, 0, cudaEventRecordExternal),
         "the flag for external events is for captured streams only");
    OK(cudaEventDestroy(event));
}

/* Begins a capture of the stream anew. */
static void capture_anew(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
    cudaGraph_t graph;
    (void)cudaStreamEndCapture(stream, &graph);
    (void)cudaGetLastError();
    OK(cudaStreamBeginCapture(stream, mode));
}

TEST(what_a_capture_does_not_take) {
    const enum cudaStreamCaptureMode relaxed = cudaStreamCaptureModeRelaxed;
    void *memory = new_memory(10), *more;
    cudaStream_t stream = new_stream();
    cudaGraph_t graph;
    OK(cudaStreamBeginCapture(stream, relaxed));
    SAID(cudaErrorStreamCaptureUnsupported, cudaMemcpyPeerAsync(memory, 0, memory, 0, 10, stream),
         "is being captured, and a capture does not take this call");
    SAID(cudaErrorStreamCaptureInvalidated, cudaMemsetAsync(memory, 0, 10, stream),
         "is invalid, because of an earlier call: end it with cudaStreamEndCapture()");
    SAID(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph),
         "an earlier call made the capture invalid");
    capture_anew(stream, relaxed);
    SAID(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(stream),
         "the host cannot wait for it or ask about it");
    capture_anew(stream, relaxed);
    SAID(cudaErrorStreamCaptureUnsupported, cudaDeviceSynchronize(),
         "the call waits also for the streams of a capture");
    capture_anew(stream, cudaStreamCaptureModeGlobal);
    SAID(cudaErrorStreamCaptureUnsupported, cudaMalloc(&more, 10),
         "the call is unsafe while this thread captures stream ");
    capture_anew(stream, relaxed);
    SAID(cudaErrorIllegalState, cudaStreamBeginCapture(stream, relaxed),
         "is being captured already");
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphDestroy(graph));
    SAID(cudaErrorIllegalState, cudaStreamEndCapture(stream, &graph), "is not being captured");
    SAID(cudaErrorStreamCaptureUnsupported, cudaStreamBeginCapture(cudaStreamLegacy, relaxed),
         "the legacy default stream cannot be captured");
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(memory));
}

TEST(captures_of_several_streams) {
    const enum cudaStreamCaptureMode relaxed = cudaStreamCaptureModeRelaxed;
    cudaStream_t one = new_stream(), two = new_stream(), blocking;
    cudaEvent_t event = new_event(), plain = new_event();
    void *memory = new_memory(10);
    cudaGraph_t graph;
    OK(cudaStreamCreate(&blocking));
    OK(cudaStreamBeginCapture(blocking, relaxed));
    SAID(cudaErrorStreamCaptureImplicit, cudaMemsetAsync(memory, 0, 10, 0),
         "the legacy default stream would wait for the streams of a capture");
    (void)cudaStreamEndCapture(blocking, &graph);
    OK(cudaEventRecord(plain, two));
    OK(cudaStreamBeginCapture(one, relaxed));
    SAID(cudaErrorStreamCaptureIsolation, cudaStreamWaitEvent(one, plain, 0),
         "the event was recorded outside of the capture");
    capture_anew(one, relaxed);
    OK(cudaEventRecord(event, one));
    SAID(cudaErrorCapturedEvent, cudaEventSynchronize(event),
         "the event was recorded in a capture");
    SAID(cudaErrorInvalidValue, cudaEventQuery(event), "that has ended or is invalid");
    capture_anew(one, relaxed);
    OK(cudaEventRecord(event, one));
    OK(cudaStreamWaitEvent(two, event, 0));
    SAID(cudaErrorStreamCaptureUnmatched, cudaStreamEndCapture(two, &graph),
         "and is ended there: it is invalid now");
    capture_anew(one, relaxed);
    OK(cudaEventRecord(event, one));
    OK(cudaStreamWaitEvent(two, event, 0));
    OK(cudaMemsetAsync(memory, 0, 10, two));
    SAID(cudaErrorStreamCaptureUnjoined, cudaStreamEndCapture(one, &graph),
         "does not wait for all captured work of other streams");
    OK(cudaStreamBeginCapture(one, relaxed));
    OK(cudaStreamBeginCapture(two, relaxed));
    OK(cudaEventRecord(event, one));
    SAID(cudaErrorStreamCaptureMerge, cudaStreamWaitEvent(two, event, 0),
         "two captures cannot be joined");
    (void)cudaStreamEndCapture(one, &graph);
    (void)cudaStreamEndCapture(two, &graph);
    OK(cudaStreamDestroy(one));
    OK(cudaStreamDestroy(two));
    OK(cudaStreamDestroy(blocking));
    OK(cudaEventDestroy(event));
    OK(cudaEventDestroy(plain));
    OK(cudaFree(memory));
}

static void *end_elsewhere(void *stream) {
    cudaGraph_t graph;
    SAID(cudaErrorStreamCaptureWrongThread, cudaStreamEndCapture(stream, &graph),
         "another thread began the capture");
    return NULL;
}

static void *allocate_elsewhere(void *data) {
    void *memory;
    (void)data;
    SAID(cudaErrorStreamCaptureUnsupported, cudaMalloc(&memory, 10),
         "the call is unsafe while another thread captures stream ");
    return NULL;
}

TEST(an_unsafe_call_of_another_thread) {
    pthread_t thread;
    cudaStream_t stream = new_stream();
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    assert_int_equal(pthread_create(&thread, NULL, allocate_elsewhere, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    OK(cudaStreamDestroy(stream));
}

TEST(a_pool_of_the_host_in_a_capture) {
    const struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                           .location = {.type = cudaMemLocationTypeHost}};
    cudaStream_t stream = new_stream();
    cudaMemPool_t pool;
    void *memory;
    OK(cudaMemPoolCreate(&pool, &props));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    SAID(cudaErrorNotSupported, cudaMallocFromPoolAsync(&memory, 10, pool, stream),
         "a graph cannot allocate from a pool of host memory");
    OK(cudaStreamDestroy(stream));
    OK(cudaMemPoolDestroy(pool));
}

TEST(a_capture_that_another_thread_ends) {
    pthread_t thread;
    cudaStream_t stream = new_stream();
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    assert_int_equal(pthread_create(&thread, NULL, end_elsewhere, stream), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    OK(cudaStreamDestroy(stream));
}

static void call_cuda(void *data) {
    void *memory;
    SAID(cudaErrorNotPermitted, cudaMalloc(&memory, 10), "a host function or callback");
    *(int *)data = 1;
}

TEST(a_host_function_that_calls_cuda) {
    int called = 0;
    OK(cudaLaunchHostFunc(0, call_cuda, &called));
    OK(cudaDeviceSynchronize());
    assert_int_equal(called, 1);
}

/* ---- graphs ---- */

TEST(graphs_with_memory) {
    void *memory;
    cudaGraph_t graph = with_allocation(&memory), other = new_graph(), clone;
    cudaGraphExec_t exec, second;
    cudaGraphNode_t node, alloc;
    size_t one = 1;
    cudaGraphExecUpdateResultInfo info;
    struct cudaMemAllocNodeParams params = {0};
    OK(cudaGraphGetNodes(graph, &alloc, &one));
    SAID(cudaErrorNotSupported, cudaGraphClone(&clone, graph), "so it cannot be cloned");
    SAID(cudaErrorNotSupported, cudaGraphAddChildGraphNode(&node, other, NULL, 0, graph),
         "or copied into a child graph node");
    SAID(cudaErrorNotSupported, cudaGraphDestroyNode(alloc), "none of its nodes can be destroyed");
    SAID(cudaErrorNotSupported, cudaGraphRemoveDependencies(graph, &alloc, &alloc, NULL, 1),
         "none of its edges can be removed");
    SAID(cudaErrorInvalidValue, cudaGraphAddMemFreeNode(&node, other, NULL, 0, &params),
         "no graph allocates memory at ");
    OK(cudaGraphInstantiate(&exec, graph, 0));
    SAID(cudaErrorNotSupported, cudaGraphInstantiate(&second, graph, 0),
         "so it has one executable graph at a time");
    OK(cudaGraphLaunch(exec, 0));
    SAID(cudaErrorInvalidValue, cudaGraphLaunch(exec, 0),
         "which an earlier launch allocated and nobody freed");
    OK(cudaFree(memory));
    OK(cudaGraphAddMemFreeNode(&node, other, NULL, 0, memory));
    SAID(cudaErrorInvalidValue, cudaGraphAddMemFreeNode(&node, other, NULL, 0, memory),
         "are freed already by a node of this graph or of another");
    OK(cudaGraphInstantiate(&second, other, 0));
    SAID(cudaErrorInvalidValue, cudaGraphLaunch(second, 0),
         "which are not allocated: launch the graph first that allocates them");
    SAID(cudaErrorNotSupported, cudaGraphExecUpdate(second, graph, &info),
         "and another has its memory");
    SAID(cudaErrorInvalidValue, cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &params),
         "bytesize must not be 0");
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphExecDestroy(second));
    OK(cudaGraphDestroy(other));
    OK(cudaGraphDestroy(graph));
}

TEST(changes_of_graphs) {
    void *memory;
    cudaGraph_t graph = with_allocation(&memory), other = new_graph(), clone, inside, captured;
    cudaStream_t stream = new_stream(), second = new_stream();
    cudaGraphNode_t alloc, found, child, a = add_empty(other, NULL, 0),
                                         b = add_empty(other, NULL, 0);
    cudaGraphNode_t from[] = {a, a}, to[] = {b, b};
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeMemAlloc};
    size_t one = 1;
    OK(cudaGraphGetNodes(graph, &alloc, &one));
    cudaGraphExec_t exec = instantiate(graph);
    SAID(cudaErrorNotSupported, cudaGraphNodeSetParams(alloc, &params),
         "the parameters of a node that allocates or frees memory cannot be changed");
    SAID(cudaErrorNotSupported, cudaGraphExecNodeSetParams(exec, alloc, &params),
         "the parameters of a node that allocates or frees memory cannot be changed");
    SAID(cudaErrorGraphExecUpdateFailure, cudaGraphExecChildGraphNodeSetParams(exec, alloc, graph),
         "the new child graph has, or has had, nodes that allocate or free memory");
    SAID(cudaErrorInvalidValue, cudaGraphAddDependencies(other, from, to, NULL, 2),
         "edge 1 is also an earlier one of the list");
    OK(cudaGraphClone(&clone, other));
    child = add_empty(other, NULL, 0);
    SAID(cudaErrorInvalidValue, cudaGraphNodeFindInClone(&found, child, clone),
         "the graph is no clone of the node's graph, or the node was added after");
    OK(cudaGraphAddChildGraphNode(&child, other, NULL, 0, clone));
    OK(cudaGraphChildGraphNodeGetGraph(child, &inside));
    SAID(cudaErrorInvalidValue, cudaGraphDestroy(inside), "the graph belongs to a node");
    OK(cudaStreamBeginCaptureToGraph(stream, other, NULL, NULL, 0, cudaStreamCaptureModeRelaxed));
    SAID(cudaErrorIllegalState,
         cudaStreamBeginCaptureToGraph(second, other, NULL, NULL, 0, cudaStreamCaptureModeRelaxed),
         "another stream is being captured into the graph already");
    SAID(cudaErrorIllegalState, cudaGraphDestroy(other), "end the capture first");
    SAID(cudaErrorIllegalState, cudaGraphDestroyNode(a), "end the capture first");
    SAID(cudaErrorIllegalState, cudaStreamUpdateCaptureDependencies(second, NULL, NULL, 0, 0),
         "is not being captured");
    OK(cudaStreamEndCapture(stream, &captured));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(clone));
    OK(cudaGraphDestroy(other));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(second));
    OK(cudaStreamDestroy(stream));
}

TEST(parameters_of_nodes) {
    cudaGraph_t graph = new_graph();
    void *memory = new_memory(100);
    struct cudaMemcpy3DParms copy = {.srcPtr = {memory, 0, 0, 0}, .dstPtr = {memory, 0, 0, 0}};
    struct cudaMemsetParams fill = {.dst = memory, .elementSize = 4, .width = 0, .height = 1};
    struct cudaHostNodeParams host = {0};
    struct cudaMemAllocNodeParams alloc = {.bytesize = 10};
    cudaGraphNode_t node = add_empty(graph, NULL, 0), made;
    cudaGraphExec_t exec = instantiate(graph);
    SAYS(cudaErrorInvalidValue, cudaGraphAddMemcpyNode(&made, graph, NULL, 0, &copy));
    expect_reason("the copy is empty: a part of its extent is 0");
    SAID(cudaErrorInvalidValue, cudaGraphAddMemsetNode(&made, graph, NULL, 0, &fill),
         "the fill has no elements");
    fill.width = 1;
    fill.dst = (char *)memory + 1;
    SAID(cudaErrorInvalidValue, cudaGraphAddMemsetNode(&made, graph, NULL, 0, &fill),
         "must be multiples of the element's 4 bytes");
    SAID(cudaErrorInvalidValue, cudaGraphAddHostNode(&made, graph, NULL, 0, &host),
         "fn, the host function, is NULL");
    SAID(cudaErrorInvalidValue, cudaGraphAddMemAllocNode(&made, graph, NULL, 0, &alloc),
         "a graph allocates memory of devices only");
    alloc.poolProps.allocType = cudaMemAllocationTypePinned;
    alloc.poolProps.location.type = cudaMemLocationTypeDevice;
    alloc.accessDescCount = 1;
    SAID(cudaErrorInvalidValue, cudaGraphAddMemAllocNode(&made, graph, NULL, 0, &alloc),
         "accessDescs is NULL, and its count is 1");
    alloc.poolProps.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    alloc.accessDescCount = 0;
    SAID(cudaErrorNotSupported, cudaGraphAddMemAllocNode(&made, graph, NULL, 0, &alloc),
         "memory of a graph is not shared with other processes");
    SAID(cudaErrorInvalidValue, cudaGraphMemsetNodeSetParams(node, &fill),
         "the parameters are those of another type of node");
    SAID(cudaErrorInvalidValue, cudaGraphMemsetNodeGetParams(node, &fill),
         "the node is of another type");
    SAID(cudaErrorInvalidValue, cudaGraphNodeSetEnabled(exec, node, 0),
         "cannot be disabled: only kernels, copies and fills can");
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(memory));
}

TEST(dependencies) {
    cudaGraph_t graph = new_graph(), other = new_graph();
    cudaGraphNode_t a = add_empty(graph, NULL, 0), b = add_empty(graph, &a, 1), made;
    cudaGraphNode_t foreign = add_empty(other, NULL, 0), twice[] = {a, a};
    const cudaGraphEdgeData programmatic = {.type = cudaGraphDependencyTypeProgrammatic};
    cudaGraphExec_t exec;
    SAID(cudaErrorInvalidValue, cudaGraphAddEmptyNode(&made, graph, &foreign, 1),
         "dependency 0 is a node of another graph");
    SAID(cudaErrorInvalidValue, cudaGraphAddEmptyNode(&made, graph, twice, 2),
         "dependency 1 is also an earlier one of the list");
    SAID(cudaErrorInvalidValue, cudaGraphAddDependencies(graph, &a, &b, NULL, 1),
         "edge 0 exists already");
    SAID(cudaErrorInvalidValue, cudaGraphRemoveDependencies(graph, &b, &a, NULL, 1),
         "edge 0 does not exist");
    SAID(cudaErrorInvalidValue, cudaGraphAddDependencies(graph, &a, &foreign, NULL, 1),
         "edge 0 is not between two different nodes of the graph");
    SAID(cudaErrorInvalidValue, cudaGraphAddDependencies(graph, &b, &a, &programmatic, 1),
         "does not begin at a kernel node");
    OK(cudaGraphAddDependencies(graph, &b, &a, NULL, 1));
    SAID(cudaErrorInvalidValue, cudaGraphInstantiate(&exec, graph, 0), "the edges make a cycle");
    OK(cudaGraphDestroy(other));
    SAID(cudaErrorInvalidValue, cudaGraphAddEmptyNode(&made, graph, &foreign, 1),
         "dependency 0 is no node");
    SAID(cudaErrorInvalidValue, cudaGraphAddEmptyNode(&made, other, NULL, 0),
         "is no graph: it was destroyed, or never created");
    SAID(cudaErrorInvalidValue, cudaGraphDestroyNode(foreign), "is no node of a graph");
    OK(cudaGraphDestroy(graph));
}

TEST(instantiating) {
    cudaStream_t stream = new_stream();
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphConditionalHandle handle;
    void *other = memory_of(1, 100);
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    OK(cudaMemsetAsync(other, 0, 100, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    SAID(cudaErrorInvalidValue, cudaGraphInstantiate(&exec, graph, 0),
         "device 0 may not write the 100 bytes at ");
    SAID(cudaErrorInvalidValue, cudaGraphInstantiate(&exec, graph, 1ull << 40),
         "flags 0x10000000000 are not known here");
    OK(cudaGraphDestroy(graph));
    graph = new_graph();
    OK(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0));
    SAID(cudaErrorInvalidValue, cudaGraphInstantiate(&exec, graph, 0),
         "no node of the graph has the conditional handle 1");
    SAID(cudaErrorNotSupported, cudaGraphClone(&graph, graph),
         "the graph has conditional handles or nodes");
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(other));
}

TEST(updating) {
    cudaGraph_t graph = new_graph(), other = new_graph();
    void *memory = new_memory(100);
    struct cudaMemsetParams fill = {
        .dst = memory, .elementSize = 1, .width = 10, .height = 1, .pitch = 10};
    cudaGraphExecUpdateResultInfo info;
    cudaGraphNode_t node, late;
    cudaGraphExec_t exec;
    OK(cudaGraphAddMemsetNode(&node, graph, NULL, 0, &fill));
    exec = instantiate(graph);
    late = add_empty(graph, NULL, 0);
    SAID(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(exec, other, &info),
         "cudaGraphExecUpdateErrorTopologyChanged");
    fill.height = 2;
    SAID(cudaErrorInvalidValue, cudaGraphExecMemsetNodeSetParams(exec, node, &fill),
         "the node of an executable graph keeps the shape of its copy or fill");
    fill.elementSize = 3;
    SAID(cudaErrorInvalidValue, cudaGraphMemsetNodeSetParams(node, &fill),
         "elements of 3 bytes cannot be filled");
    SAID(cudaErrorInvalidValue, cudaGraphNodeSetEnabled(exec, late, 0),
         "is no node of the graph that was instantiated, or was added after that");
    OK(cudaGraphExecDestroy(exec));
    SAID(cudaErrorInvalidValue, cudaGraphLaunch(exec, 0), "is no executable graph");
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(other));
    OK(cudaFree(memory));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        T(flags_of_streams_and_events),
        T(flags_and_sizes_of_memory),
        T(no_room_on_a_device),
        T(addresses_and_memory_that_cannot_be),
        T(memory_of_another_device),
        T(copies),
        T(boxes),
        T(freeing),
        T(pools),
        T(managed_memory),
        T(registering),
        T(arrays),
        T(batches),
        T(handles),
        T(what_a_capture_does_not_take),
        T(captures_of_several_streams),
        T(an_unsafe_call_of_another_thread),
        T(a_pool_of_the_host_in_a_capture),
        T(a_capture_that_another_thread_ends),
        T(a_host_function_that_calls_cuda),
        T(graphs_with_memory),
        T(changes_of_graphs),
        T(parameters_of_nodes),
        T(dependencies),
        T(instantiating),
        T(updating),
    };
    return RUN(tests);
}
