/* Contexts that a program makes, besides the device's primary one. */
#include "kernels.h"

#include <pthread.h>

/* Current; NULL: there is none. The primary one is below it. */
static CUcontext make(void) {
    CUcontext made = NULL;
    register_kernels();
    return cudaFree(NULL) || cuCtxCreate(&made, NULL, 0, 0) ? NULL : made;
}

static CUcontext now_current(void) {
    CUcontext current = NULL;
    return cuCtxGetCurrent(&current) ? NULL : current;
}

CASE(is_current_until_popped) {
    CUcontext primary, made, popped = NULL;
    OK(cudaFree(NULL));
    primary = now_current();
    made = make();
    IS(made && made != primary && now_current() == made);
    OK(cuCtxPopCurrent(&popped));
    IS(popped == made && now_current() == primary);
    OK(cuCtxPushCurrent(made));
    IS(now_current() == made);
    OK(cuCtxDestroy(made)); /* and pops it */
    IS(now_current() == primary);
}

CASE(what_is_no_context) {
    CUcontext made;
    CUexecAffinityParam affinity = {.type = CU_EXEC_AFFINITY_TYPE_SM_COUNT};
    CUctxCreateParams params = {.execAffinityParams = &affinity, .numExecAffinityParams = 1};
    OK(cudaFree(NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuCtxCreate(NULL, NULL, 0, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuCtxCreate(&made, NULL, 0x1000, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuCtxCreate(&made, NULL, CU_CTX_SCHED_SPIN | CU_CTX_SCHED_YIELD, 0));
    SAYS(CUDA_ERROR_INVALID_DEVICE, cuCtxCreate(&made, NULL, 0, 99));
    affinity.param.smCount.val = 8;
    /* For servers of many processes only. */
    SAYS(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, cuCtxCreate(&made, &params, 0, 0));
}

CASE(what_it_says) {
    CUcontext made = NULL, primary;
    CUdevice device = 9;
    unsigned flags = 0, version = 0;
    unsigned long long id = 0, other = 0;
    OK(cudaFree(NULL));
    primary = now_current();
    OK(cuCtxCreate(&made, NULL, CU_CTX_SCHED_SPIN, 0));
    OK(cuCtxGetDevice(&device));
    EQUAL(device, 0);
    OK(cuCtxGetFlags(&flags));
    EQUAL(flags, CU_CTX_SCHED_SPIN); /* no word of mapped memory, unlike the primary one's */
    OK(cuCtxGetApiVersion(made, &version));
    EQUAL(version, 3020);
    OK(cuCtxGetId(made, &id));
    OK(cuCtxGetId(primary, &other));
    IS(id != other);
    OK(cuCtxGetId(NULL, &other));
    IS(id == other);
    OK(cuCtxDestroy(made));
}

CASE(limits_and_caches_are_each_contexts) {
    size_t stack = 0;
    CUfunc_cache cache = CU_FUNC_CACHE_PREFER_NONE;
    CUcontext made = make();
    OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 2048));
    OK(cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1));
    OK(cuCtxPopCurrent(NULL));
    OK(cuCtxGetLimit(&stack, CU_LIMIT_STACK_SIZE));
    EQUAL(stack, 1024);
    OK(cuCtxGetCacheConfig(&cache));
    EQUAL(cache, CU_FUNC_CACHE_PREFER_NONE);
    OK(cuCtxPushCurrent(made));
    OK(cuCtxGetLimit(&stack, CU_LIMIT_STACK_SIZE));
    EQUAL(stack, 2048);
    OK(cuCtxDestroy(made));
}

/* ---- what is in it ---- */

CASE(the_runtime_takes_what_is_current) {
    CUcontext made = make(), owner = NULL;
    void *memory;
    cudaStream_t stream;
    OK(cudaMalloc(&memory, 64));
    OK(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, (CUdeviceptr)(uintptr_t)memory));
    IS(owner == made);
    OK(cudaStreamCreate(&stream));
    OK(cuStreamGetCtx((CUstream)stream, &owner));
    IS(owner == made);
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(memory));
    IS(now_current() == made);
    OK(cudaSetDevice(0));
    IS(now_current() != made);
    OK(cuCtxDestroy(made));
}

CASE(memory_goes_with_it) {
    CUdeviceptr at, managed;
    unsigned type;
    CUcontext made = make();
    OK(cuMemAlloc(&at, 64));
    OK(cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL));
    OK(cuCtxDestroy(made));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, managed));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemFree(at));
}

CASE(memory_of_another_context) {
    unsigned in = 7, out = 0;
    CUdeviceptr at;
    CUcontext made = make();
    OK(cuMemAlloc(&at, 64));
    OK(cuMemcpyHtoD(at, &in, sizeof in));
    OK(cuCtxPopCurrent(NULL));
    OK(cuMemcpyDtoH(&out, at, sizeof out));
    EQUAL(out, in);
    OK(cuMemsetD32(at, 1, 1));
    /* Freeing seems to wait for the memory's own context only: without this, two of 17 runs lost
     * the device (719). */
    OK(cuCtxSynchronize());
    OK(cuMemFree(at));
    OK(cuCtxDestroy(made));
}

CASE(host_memory_of_another_context) {
    static char mine[4096] __attribute__((aligned(4096)));
    char *pinned = NULL, *kept = NULL;
    CUdeviceptr at = 0;
    unsigned flags = 99;
    CUcontext made = make();
    OK(cuMemHostAlloc((void **)&pinned, 64, CU_MEMHOSTALLOC_DEVICEMAP));
    OK(cuMemHostAlloc((void **)&kept, 64, CU_MEMHOSTALLOC_PORTABLE));
    OK(cuMemHostRegister(mine, sizeof mine, CU_MEMHOSTREGISTER_DEVICEMAP));
    OK(cuCtxPopCurrent(NULL));
    char *all[] = {pinned, kept, mine};
    for (size_t i = 0; i < 3; i++) {
        at = 0;
        OK(cuMemHostGetDevicePointer(&at, all[i], 0));
        IS(at == (CUdeviceptr)(uintptr_t)all[i]);
        OK(cuMemHostGetFlags(&flags, all[i]));
        OK(cuMemsetD8((CUdeviceptr)(uintptr_t)all[i], (unsigned char)(i + 1), 8));
        OK(cuCtxSynchronize());
        EQUAL(all[i][7], i + 1);
    }
    SAYS(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister(mine, sizeof mine, 0));
    OK(cuMemHostUnregister(mine));
    OK(cuMemFreeHost(kept));
    OK(cuCtxDestroy(made));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemHostGetFlags(&flags, pinned));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost(pinned));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemHostGetFlags(&flags, mine));
}

LONE_CASE(kernels_on_host_memory_of_another_context) {
    unsigned *pinned = NULL, value = 5, count = 1;
    CUmodule module;
    CUfunction store;
    CUcontext made = make();
    OK(cuMemHostAlloc((void **)&pinned, 64, 0));
    OK(cuCtxPopCurrent(NULL));
    OK(cuModuleLoadData(&module, module_text));
    OK(cuModuleGetFunction(&store, module, "store"));
    void *args[] = {(void *)&pinned, &value, &count};
    OK(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
    OK(cuCtxSynchronize());
    EQUAL(*pinned, 5);
    OK(cuModuleUnload(module));
    OK(cuCtxDestroy(made));
}

/* An array may be copied from; textures are each context's, and of its arrays. */
CASE(textures_and_arrays_of_another_context) {
    const struct cudaChannelFormatDesc bytes = {8, 0, 0, 0, cudaChannelFormatKindUnsigned};
    const struct cudaTextureDesc plain = {.readMode = cudaReadModeElementType};
    struct cudaResourceDesc resource = {.resType = cudaResourceTypeArray}, said = {0};
    cudaTextureObject_t texture = 0, second = 0;
    cudaArray_t array = NULL;
    char in[8] = {1, 2, 3, 4, 5, 6, 7, 8}, out[8] = {0};
    CUcontext made = make();
    OK(cudaMallocArray(&array, &bytes, 8, 1, 0));
    OK(cudaMemcpy2DToArray(array, 0, 0, in, 8, 8, 1, cudaMemcpyHostToDevice));
    resource.res.array.array = array;
    OK(cudaCreateTextureObject(&texture, &resource, &plain, NULL));
    OK(cuCtxPopCurrent(NULL));
    OK(cudaMemcpy2DFromArray(out, 8, array, 0, 0, 8, 1, cudaMemcpyDeviceToHost));
    EQUAL(out[7], 8);
    SAYS(cudaErrorInvalidValue, cudaGetTextureObjectResourceDesc(&said, texture));
    IS(said.res.array.array != array);
    SAYS(cudaErrorPeerAccessNotEnabled, cudaCreateTextureObject(&second, &resource, &plain, NULL));
    EQUAL(second, 0);
    OK(cudaDestroyTextureObject(texture));
    OK(cudaDestroyTextureObject(second));
    OK(cudaFreeArray(array));
    (void)cudaGetLastError();
    OK(cuCtxPushCurrent(made));
    SAYS_EITHER(cudaErrorInvalidValue, cudaErrorInvalidResourceHandle,
                cudaGetTextureObjectResourceDesc(&said, texture)); /* a GPU answered both */
    SAYS(cudaSuccess, cudaDestroyTextureObject(texture)); /* the other context's call did nothing */
    (void)cudaGetLastError();
    OK(cuCtxDestroy(made));
}

/* Which must be its own; what waits for them is what comes later. */
CASE(events_of_a_whole_context) {
    CUevent event, outside;
    CUstream stream, other;
    CUcontext primary, made;
    OK(cudaFree(NULL));
    primary = now_current();
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&outside, 0));
    made = make();
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&event, 0));
    hold((cudaStream_t)stream);
    OK(cuCtxRecordEvent(made, event));
    SAYS(CUDA_ERROR_NOT_READY, cuEventQuery(event));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuCtxRecordEvent(made, outside));
    OK(cuEventQuery(outside));
    OK(cuCtxRecordEvent(primary, outside));
    OK(cuEventQuery(outside));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuCtxRecordEvent(primary, event));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuCtxRecordEvent(NULL, event));
    OK(cuCtxWaitEvent(primary, event));
    OK(cuStreamQuery(other));
    OK(cuCtxWaitEvent(made, outside));
    let_go();
    OK(cuCtxSynchronize());
    OK(cuStreamDestroy(stream));
    OK(cuEventDestroy(event));
    OK(cuCtxDestroy(made));
    OK(cuEventDestroy(outside));
    OK(cuStreamDestroy(other));
}

CASE(events_and_streams_of_two_contexts) {
    CUevent event;
    CUstream outer, inner;
    CUcontext made;
    OK(cudaFree(NULL));
    OK(cuStreamCreate(&outer, CU_STREAM_NON_BLOCKING));
    made = make();
    OK(cuStreamCreate(&inner, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(event, outer));
    OK(cuEventRecord(event, inner));
    OK(cuStreamWaitEvent(outer, event, 0));
    OK(cuStreamSynchronize(outer));
    OK(cuEventRecord(event, NULL));
    OK(cuCtxPopCurrent(NULL));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(event, NULL)); /* the primary context's */
    OK(cuEventDestroy(event));
    OK(cuStreamDestroy(inner));
    OK(cuStreamDestroy(outer));
    OK(cuCtxDestroy(made));
}

CASE(functions_of_another_context) {
    CUmodule module;
    CUfunction nothing;
    CUstream outer;
    CUcontext made;
    OK(cudaFree(NULL));
    OK(cuStreamCreate(&outer, CU_STREAM_NON_BLOCKING));
    made = make();
    OK(cuModuleLoadData(&module, module_text));
    OK(cuModuleGetFunction(&nothing, module, "nothing"));
    OK(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cuCtxSynchronize());
    SAYS(CUDA_ERROR_INVALID_HANDLE,
         cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, outer, NULL, NULL));
    OK(cuCtxPopCurrent(NULL));
    SAYS(CUDA_ERROR_INVALID_HANDLE,
         cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, outer, NULL, NULL));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cuCtxSynchronize());
    OK(cuStreamDestroy(outer));
    OK(cuCtxDestroy(made));
}

CASE(a_library_is_in_each_context) {
    CUlibrary library;
    CUkernel kernel;
    CUfunction outer = NULL, inner = NULL;
    CUdeviceptr in_outer = 0, in_inner = 0;
    size_t bytes;
    CUcontext made;
    OK(cudaFree(NULL));
    OK(cuLibraryLoadData(&library, module_text, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&kernel, library, "nothing"));
    OK(cuKernelGetFunction(&outer, kernel));
    OK(cuLibraryGetGlobal(&in_outer, &bytes, library, "counter"));
    made = make();
    OK(cuKernelGetFunction(&inner, kernel));
    OK(cuLibraryGetGlobal(&in_inner, &bytes, library, "counter"));
    IS(inner != outer);
    IS(in_inner != in_outer);
    OK(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cuCtxSynchronize());
    OK(cuCtxDestroy(made));
    OK(cuLibraryUnload(library));
}

CASE(attributes_of_a_kernel_in_two_contexts) {
    const CUfunction_attribute most = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    CUlibrary library;
    CUkernel kernel;
    CUfunction function;
    CUcontext made;
    int value = 0;
    OK(cudaFree(NULL));
    OK(cuLibraryLoadData(&library, module_text, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&kernel, library, "nothing"));
    OK(cuKernelSetAttribute(most, 1000, kernel, 0));
    made = make();
    OK(cuKernelGetAttribute(&value, most, kernel, 0));
    EQUAL(value, 1000);
    OK(cuKernelGetFunction(&function, kernel));
    OK(cuFuncGetAttribute(&value, most, function));
    EQUAL(value, 1000);
    OK(cuKernelSetAttribute(most, 2000, kernel, 0));
    OK(cuFuncGetAttribute(&value, most, function));
    EQUAL(value, 2000);
    OK(cuCtxDestroy(made));
    OK(cuKernelGetAttribute(&value, most, kernel, 0));
    EQUAL(value, 2000);
    OK(cuLibraryUnload(library));
}

/* A function of one context is set alone; its kernel is not. */
CASE(attributes_of_a_function_in_two_contexts) {
    const CUfunction_attribute most = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    const CUfunction_attribute carveout = CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
    CUlibrary library;
    CUkernel kernel;
    CUfunction function, later;
    CUcontext made;
    int value = 0;
    OK(cudaFree(NULL));
    OK(cuLibraryLoadData(&library, module_text, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&kernel, library, "nothing"));
    OK(cuKernelGetFunction(&function, kernel));
    OK(cuFuncSetAttribute(function, most, 3000));
    OK(cuKernelGetAttribute(&value, most, kernel, 0));
    EQUAL(value, 49152);
    made = make();
    OK(cuKernelGetFunction(&later, kernel));
    OK(cuFuncGetAttribute(&value, most, later));
    EQUAL(value, 49152);
    OK(cuFuncSetAttribute(later, carveout, 50));
    OK(cuKernelGetAttribute(&value, carveout, kernel, 0));
    EQUAL(value, -1);
    OK(cuFuncGetAttribute(&value, carveout, function));
    EQUAL(value, -1);
    OK(cuKernelSetAttribute(most, 2000, kernel, 0)); /* what was set itself stays */
    OK(cuFuncGetAttribute(&value, most, function));
    EQUAL(value, 3000);
    OK(cuFuncGetAttribute(&value, most, later));
    EQUAL(value, 2000);
    OK(cuFuncGetAttribute(&value, carveout, later));
    EQUAL(value, 50);
    OK(cuCtxDestroy(made));
    OK(cuLibraryUnload(library));
}

CASE(attributes_set_by_the_runtime) {
    const CUfunction_attribute most = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    cudaLibrary_t library = NULL;
    cudaKernel_t kernel = NULL;
    struct cudaFuncAttributes seen;
    CUfunction later;
    CUcontext made;
    int value = 0;
    OK(cudaLibraryLoadData(&library, module_text, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernel(&kernel, library, "nothing"));
    OK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 4000));
    made = make();
    OK(cuKernelGetFunction(&later, (CUkernel)kernel));
    OK(cuFuncGetAttribute(&value, most, later));
    EQUAL(value, FROM(13000, 4000, 49152));
    OK(cuFuncSetAttribute(later, most, 5000));
    OK(cudaFuncGetAttributes(&seen, kernel));
    EQUAL(seen.maxDynamicSharedSizeBytes, FROM(13000, 4000, 5000));
    OK(cuKernelGetAttribute(&value, most, (CUkernel)kernel, 0));
    EQUAL(value, FROM(13000, 4000, 49152));
    OK(cuCtxDestroy(made));
    OK(cudaLibraryUnload(library));
}

CASE(streams_and_events_of_another_context) {
    CUevent inner_event, event;
    CUstream inner;
    CUdeviceptr at;
    float ms = 0;
    CUcontext made = make();
    OK(cuStreamCreate(&inner, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&inner_event, 0));
    OK(cuEventRecord(inner_event, inner));
    OK(cuStreamSynchronize(inner));
    OK(cuCtxPopCurrent(NULL));
    OK(cuMemAlloc(&at, 64));
    OK(cuEventCreate(&event, 0));
    OK(cuEventRecord(event, NULL));
    OK(cuCtxSynchronize());
    SAYS(CUDA_SUCCESS, cuMemsetD8Async(at, 1, 64, inner));
    SAYS(CUDA_SUCCESS, cuMemcpyDtoDAsync(at, at + 32, 32, inner));
    IS(cuStreamQuery(inner) != CUDA_ERROR_INVALID_HANDLE);
    OK(cuStreamSynchronize(inner)); /* before the memory is freed */
    SAYS(CUDA_SUCCESS, cuEventQuery(inner_event));
    SAYS(CUDA_SUCCESS, cuEventSynchronize(inner_event));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, inner_event, event));
    SAYS(CUDA_SUCCESS, cuEventDestroy(inner_event));
    SAYS(CUDA_SUCCESS, cuStreamDestroy(inner));
    OK(cuEventDestroy(event));
    OK(cuMemFree(at));
    OK(cuCtxDestroy(made));
}

LONE_CASE(graphs_in_another_context) {
    CUstream inner;
    CUdeviceptr at;
    cudaGraph_t graph;
    cudaGraphNode_t node;
    cudaGraphExec_t exec;
    struct cudaMemsetParams params = {.elementSize = 1, .width = 64, .height = 1};
    CUcontext made;
    OK(cudaFree(NULL));
    OK(cuMemAlloc(&at, 64));
    params.dst = (void *)(uintptr_t)at;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemsetNode(&node, graph, NULL, 0, &params));
    OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    made = make();
    OK(cuStreamCreate(&inner, CU_STREAM_NON_BLOCKING));
    SAYS(CUDA_SUCCESS, cuGraphLaunch((CUgraphExec)exec, inner));
    OK(cuStreamSynchronize(inner));
    OK(cuStreamDestroy(inner));
    OK(cuCtxDestroy(made));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cuMemFree(at));
}

/* ---- default streams, and waiting ---- */

CASE(each_has_a_default_stream) {
    CUstream blocking;
    CUdeviceptr at;
    CUcontext made = make();
    OK(cuMemAlloc(&at, 64));
    OK(cuStreamCreate(&blocking, 0));
    OK(cuCtxPopCurrent(NULL));
    hold(NULL); /* the primary one's */
    OK(cuCtxPushCurrent(made));
    OK(cuStreamQuery(NULL));
    OK(cuMemsetD8Async(at, 1, 64, blocking));
    OK(end_of_work(blocking));
    let_go();
    OK(cuMemFree(at));
    OK(cuStreamDestroy(blocking));
    OK(cuCtxDestroy(made));
}

CASE(synchronising_another_context) {
    cudaStream_t outer;
    CUcontext made;
    OK(cudaFree(NULL));
    OK(cudaStreamCreate(&outer));
    made = make();
    WAITS(false, outer, cuCtxSynchronize());
    WAITS(false, outer, cudaDeviceSynchronize());
    OK(cuCtxDestroy(made));
    OK(cudaStreamDestroy(outer));
}

/* Whose work is waited for: the current context's, or the memory's. */
CASE(freeing_waits) {
    cudaStream_t outer;
    CUdeviceptr at[3];
    CUcontext made;
    OK(cudaFree(NULL));
    OK(cudaStreamCreate(&outer));
    OK(cuMemAlloc(&at[0], 64));
    made = make();
    OK(cuMemAlloc(&at[1], 64));
    OK(cuMemAlloc(&at[2], 64));
    WAITS(0, outer, cuMemFree(at[1]));
    WAITS(1, outer, cuMemFree(at[0]));
    OK(cuCtxPopCurrent(NULL));
    WAITS(0, outer, cuMemFree(at[2]));
    WAITS(1, outer, cuCtxDestroy(made));
    OK(cudaStreamDestroy(outer));
}

/* ---- its end ---- */

typedef struct other_thread {
    CUcontext context;
    CUresult before, after, created, allocated;
    pthread_barrier_t meet;
} other_thread;

static void *use_it(void *data) {
    other_thread *o = data;
    CUdeviceptr at;
    CUstream stream;
    o->before = cuCtxSetCurrent(o->context);
    pthread_barrier_wait(&o->meet);
    pthread_barrier_wait(&o->meet);
    o->after = cuCtxSynchronize();
    o->created = cuStreamCreate(&stream, 0);
    o->allocated = cuMemAlloc(&at, 64);
    return NULL;
}

LONE_CASE(is_destroyed_under_another_thread) {
    other_thread o = {.context = make()};
    pthread_t thread;
    EQUAL(pthread_barrier_init(&o.meet, NULL, 2), 0);
    EQUAL(pthread_create(&thread, NULL, use_it, &o), 0);
    pthread_barrier_wait(&o.meet);
    OK(cuCtxDestroy(o.context));
    pthread_barrier_wait(&o.meet);
    pthread_join(thread, NULL);
    EQUAL(o.before, CUDA_SUCCESS);
    EQUAL(o.after, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    EQUAL(o.created, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    EQUAL(o.allocated, CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

/* It is not destroyed again: that said 201 or 709, and after 709 most processes crashed at their
 * end. */
LONE_CASE(is_used_after_its_end) {
    unsigned version = 0;
    CUcontext made = make();
    OK(cuCtxDestroy(made));
    OK(cuCtxSetCurrent(made));
    OK(cuCtxPushCurrent(made));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetApiVersion(made, &version));
}

LONE_CASE(the_primary_context_is_not_destroyed) {
    OK(cudaFree(NULL));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy(now_current()));
    OK(cuCtxSynchronize());
}

LONE_CASE(outlives_a_reset_of_the_primary_context) {
    CUdeviceptr at;
    CUcontext made = make();
    OK(cuMemAlloc(&at, 64));
    OK(cuDevicePrimaryCtxReset(0));
    IS(now_current() == made);
    OK(cuCtxSynchronize());
    OK(cuMemsetD8(at, 0, 64));
    OK(cuCtxDestroy(made));
}

LONE_CASE(a_reset_by_the_runtime) {
    CUdeviceptr at;
    CUcontext made = make();
    OK(cuMemAlloc(&at, 64));
    OK(cudaDeviceReset());
    IS(now_current() == made);
    OK(cuCtxSetCurrent(made));
    OK(cuMemsetD8(at, 0, 64));
}

/* The handle may be the same. */
LONE_CASE(is_another_one_after_a_reset) {
    unsigned long long first = 0, second = 0, third = 0;
    OK(cudaFree(NULL));
    OK(cuCtxGetId(now_current(), &first));
    OK(cudaDeviceReset());
    OK(cudaFree(NULL));
    OK(cuCtxGetId(now_current(), &second));
    IS(second != first);
    OK(cuDevicePrimaryCtxReset(0));
    OK(cudaFree(NULL));
    OK(cuCtxGetId(now_current(), &third));
    IS(third != second && third != first);
}

/* A launch on a stream that a reset has destroyed, of the kernel, or of its function, which the
 * reset has destroyed, too. */
static void launch_after_a_reset(bool of_function) {
    CUlibrary library;
    CUkernel kernel;
    CUfunction function = NULL;
    CUstream stream = NULL;
    register_kernels();
    OK(cudaFree(NULL));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuLibraryLoadData(&library, module_text, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&kernel, library, "nothing"));
    OK(cuKernelGetFunction(&function, kernel));
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    OK(cudaDeviceReset());
    SAYS(CUDA_ERROR_CONTEXT_IS_DESTROYED,
         cuLaunchKernel(of_function ? function : (CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, stream,
                        NULL, NULL));
    OK(cuLibraryUnload(library));
}

LONE_CASE(a_kernel_on_a_stream_of_before_the_reset) {
    launch_after_a_reset(false);
}

LONE_CASE(a_function_on_a_stream_of_before_the_reset) {
    launch_after_a_reset(true);
}

LONE_CASE(what_a_reset_leaves_to_another_context) {
    CUmemoryPool pool;
    CUdeviceptr mine, pooled;
    unsigned type = 0;
    CUcontext made;
    OK(cudaFree(NULL));
    OK(cuMemAlloc(&mine, 64));
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    OK(cuMemAllocFromPoolAsync(&pooled, 64, pool, NULL));
    OK(cuCtxSynchronize());
    made = make();
    OK(cuDevicePrimaryCtxReset(0));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, mine));
    SAYS(CUDA_SUCCESS, cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pooled));
    OK(cuCtxSynchronize());
    OK(cuCtxDestroy(made));
}

LONE_CASE(is_alone) {
    unsigned flags = 0;
    int active = 9;
    CUcontext made = NULL;
    OK(cuInit(0));
    OK(cuCtxCreate(&made, NULL, 0, 0));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    EQUAL(active, 0);
    OK(cudaStreamSynchronize(NULL)); /* the runtime takes it, too */
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    EQUAL(active, 0);
    IS(now_current() == made);
    OK(cuCtxDestroy(made));
    IS(now_current() == NULL);
}

/* With one context, all of the process are lost. */
LONE_CASE(a_fault_in_one_of_two) {
    CUcontext made = make();
    IS(prepare_fault());
    fault(NULL, 700);
    SAYS(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
    OK(cuCtxPopCurrent(NULL));
    SAYS(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
    OK(cuCtxDestroy(made));
    SAYS(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
}

/* A primary context that nobody uses any more can be current, and says whose it is. */
LONE_CASE(a_primary_context_without_users) {
    CUcontext primary, again = NULL;
    CUdevice device = 9;
    unsigned flags, version;
    unsigned long long id;
    CUdeviceptr at;
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&primary, 0));
    OK(cuCtxSetCurrent(primary));
    OK(cuDevicePrimaryCtxRelease(0));
    IS(now_current() == primary);
    OK(cuCtxGetDevice(&device));
    EQUAL(device, 0);
    OK(cuCtxGetFlags(&flags));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetApiVersion(primary, &version));
    SAYS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuCtxGetId(primary, &id));
    SAYS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuCtxSynchronize());
    SAYS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc(&at, 100));
    OK(cuCtxSetCurrent(primary));
    OK(cuCtxPushCurrent(primary));
    OK(cuDevicePrimaryCtxRetain(&again, 0));
    IS(again == primary);
    OK(cuMemAlloc(&at, 100));
    OK(cuMemFree(at));
}
