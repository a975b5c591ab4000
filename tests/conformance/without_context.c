/* Calls of the driver in a thread without a current context: a stream, an event and memory bring
 * their own. */
#include "kernels.h"

#include <pthread.h>

static CUstream stream;
static CUevent event;
static CUdeviceptr memory;
static CUmemoryPool pool;

static void prepare(void) {
    register_kernels();
    IS(!cudaFree(NULL) && !cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) &&
       !cuEventCreate(&event, 0) && !cuMemAlloc(&memory, 256) && !cuMemsetD8(memory, 0, 256) &&
       !cuCtxSynchronize() && !cuDeviceGetDefaultMemPool(&pool, 0) && !cuCtxSetCurrent(NULL));
}

static void clean_up(void) {
    IS(!cuStreamDestroy(stream) && !cuEventDestroy(event) && !cuMemFree(memory));
    IS(!cudaFree(NULL));
}

CASE(a_stream_brings_its_context) {
    CUcontext current = (CUcontext)(uintptr_t)9, of = NULL;
    unsigned char bytes[4] = {9, 9, 9, 9};
    unsigned flags = 9;
    unsigned long long id;
    int priority;
    CUstreamAttrValue value;
    prepare();
    OK(cuMemsetD8Async(memory, 5, 4, stream));
    OK(cuMemcpyDtoDAsync(memory + 8, memory, 4, stream));
    OK(cuMemcpyAsync(memory + 16, memory + 8, 4, stream));
    OK(cuMemcpyDtoHAsync(bytes, memory + 16, 4, stream));
    OK(cuStreamSynchronize(stream));
    EQUAL(bytes[3], 5);
    OK(cuStreamQuery(stream));
    OK(cuStreamGetFlags(stream, &flags));
    EQUAL(flags, CU_STREAM_NON_BLOCKING);
    OK(cuStreamGetPriority(stream, &priority));
    OK(cuStreamGetCtx(stream, &of));
    IS(of != NULL);
    OK(cuCtxGetCurrent(&current));
    IS(current == NULL); /* only during the calls */
    OK(cuStreamGetId(stream, &id));
    OK(cuStreamGetAttribute(stream, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
    ASK(value.syncPolicy);
    value.syncPolicy = CU_SYNC_POLICY_YIELD;
    OK(cuStreamSetAttribute(stream, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
    OK(cuStreamWriteValue32(stream, memory, 7, 0));
    OK(cuStreamWaitValue32(stream, memory, 7, CU_STREAM_WAIT_VALUE_EQ));
    OK(cuStreamSynchronize(stream));
    clean_up();
}

CASE(an_event_brings_its_context) {
    float milliseconds;
    prepare();
    OK(cuEventRecord(event, stream));
    OK(cuEventSynchronize(event));
    OK(cuEventQuery(event));
    OK(cuEventElapsedTime(&milliseconds, event, event));
    OK(cuStreamWaitEvent(stream, event, 0));
    OK(cuEventRecordWithFlags(event, stream, 0));
    OK(cuStreamSynchronize(stream));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuEventRecord(event, NULL));
    clean_up();
}

CASE(memory_in_stream_order) {
    CUdeviceptr at = 0, other = 0;
    prepare();
    OK(cuMemAllocFromPoolAsync(&at, 1000, pool, stream));
    OK(cuMemAllocAsync(&other, 1000, stream));
    OK(cuMemsetD32Async(at, 1, 10, stream));
    OK(cuMemFreeAsync(at, stream));
    OK(cuMemFreeAsync(other, stream));
    OK(cuMemPoolTrimTo(pool, 0));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuMemAllocFromPoolAsync(&at, 1000, pool, NULL));
    SAYS(CUDA_ERROR_INVALID_CONTEXT,
         cuMemAllocFromPoolAsync(&at, 1000, pool, CU_STREAM_PER_THREAD));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuMemAllocAsync(&at, 1000, NULL));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuMemFreeAsync(memory, NULL));
    clean_up();
}

CASE(default_streams_have_none) {
    prepare();
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuMemsetD8Async(memory, 1, 4, NULL));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuStreamSynchronize(NULL));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuStreamSynchronize(CU_STREAM_LEGACY));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuStreamQuery(CU_STREAM_PER_THREAD));
    clean_up();
}

CASE(what_brings_none) {
    CUdeviceptr at;
    CUstream made;
    CUevent made_event;
    void *host;
    size_t size;
    unsigned char byte;
    prepare();
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&at, 100));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuMemHostAlloc(&host, 100, 0));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuMemsetD8(memory, 1, 4));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuMemcpyDtoH(&byte, memory, 1));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuMemGetAddressRange(&at, &size, memory));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuStreamCreate(&made, 0));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuEventCreate(&made_event, 0));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize());
    clean_up();
}

CASE(pointers_need_none) {
    CUmemorytype type = 9;
    int here = 0;
    CUpointer_attribute which = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    void *into = &type;
    prepare();
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory));
    EQUAL(type, CU_MEMORYTYPE_DEVICE);
    OK(cuPointerGetAttributes(1, &which, &into, (CUdeviceptr)(uintptr_t)&here));
    EQUAL(type, 0);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemFree((CUdeviceptr)(uintptr_t)&here));
    clean_up();
}

CASE(captures_and_graphs) {
    CUgraph graph;
    CUgraphExec exec;
    CUstreamCaptureStatus status;
    prepare();
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemsetD8Async(memory, 1, 4, stream));
    OK(cuStreamIsCapturing(stream, &status));
    EQUAL(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(cuStreamEndCapture(stream, &graph));
    ASK(cuGraphInstantiate(&exec, graph, 0));
    OK(cudaFree(NULL));
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuCtxSetCurrent(NULL));
    OK(cuGraphUpload(exec, stream));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    clean_up();
}

static void count(void *data) {
    ++*(int *)data;
}

CASE(launches) {
    CUmodule module;
    CUfunction nothing;
    int called = 0;
    prepare();
    OK(cudaFree(NULL));
    OK(cuModuleLoadData(&module, module_text));
    OK(cuModuleGetFunction(&nothing, module, "nothing"));
    OK(cuCtxSetCurrent(NULL));
    OK(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    SAYS(CUDA_ERROR_INVALID_CONTEXT,
         cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cuLaunchHostFunc(stream, count, &called));
    OK(cuStreamSynchronize(stream));
    EQUAL(called, 1);
    OK(cudaFree(NULL));
    OK(cuModuleUnload(module));
    clean_up();
}
