/* Contexts that a program makes besides a device's own, and what is theirs. */
#include "kernels.h"

#include <anycuda/cuda.h>

#include <pthread.h>

static CUdevice device;

static int begin_driver(void **state) {
    begin(state);
    register_kernels();
    return cuInit(0) || cuDeviceGet(&device, 0);
}

#define C(name) cmocka_unit_test_setup_teardown(name, begin_driver, end)

static CUcontext new_context(void) {
    CUcontext context = NULL;
    SAYS(CUDA_SUCCESS, cuCtxCreate(&context, NULL, 0, device));
    assert_non_null(context);
    return context;
}

/* The smallest program over the driver. */
TEST(a_program) {
    CUcontext context = new_context(), current = NULL;
    CUmodule module;
    CUfunction add;
    CUstream stream;
    CUdeviceptr at;
    float numbers[4] = {1, 2, 3, 4};
    unsigned n = 4;
    OK(cuCtxGetCurrent(&current));
    assert_ptr_equal(current, context);
    OK(cuModuleLoadData(&module, PTX));
    OK(cuModuleGetFunction(&add, module, "add"));
    OK(cuStreamCreate(&stream, 0));
    OK(cuMemAlloc(&at, sizeof numbers));
    OK(cuMemcpyHtoD(at, numbers, sizeof numbers));
    void *args[] = {&at, &at, &at, &n};
    OK(cuLaunchKernel(add, 1, 1, 1, 4, 1, 1, 0, stream, args, NULL));
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH(numbers, at, sizeof numbers));
    assert_true(numbers[3] == 8);
    OK(cuMemFree(at));
    OK(cuStreamDestroy(stream));
    OK(cuModuleUnload(module));
    OK(cuCtxDestroy(context));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&at, 4));
    expect_reason("this thread has no current context");
}

TEST(what_is_its_own_goes_with_it) {
    size_t before, after, total;
    CUcontext outer = new_context(), context;
    CUmodule module;
    CUfunction add;
    CUstream stream;
    CUevent event;
    CUdeviceptr at, kept;
    CUarray array;
    void *pinned;
    OK(cuMemAlloc(&kept, 64));
    OK(cuMemGetInfo(&before, &total));
    context = new_context();
    OK(cuMemAlloc(&at, 1 << 20));
    OK(cuMemAllocHost(&pinned, 4096));
    OK(cuMemAllocManaged(&at, 4096, CU_MEM_ATTACH_GLOBAL));
    OK(cuArrayCreate(&array, &(CUDA_ARRAY_DESCRIPTOR){16, 16, CU_AD_FORMAT_FLOAT, 1}));
    OK(cuModuleLoadData(&module, PTX));
    OK(cuModuleGetFunction(&add, module, "nothing"));
    OK(cuStreamCreate(&stream, 0));
    OK(cuEventCreate(&event, 0));
    OK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    OK(cuCtxDestroy(context));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy(stream));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuEventDestroy(event));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(module));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy(array));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemFree(at));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost(pinned));
    OK(cuMemGetInfo(&after, &total));
    assert_int_equal(before, after);
    OK(cuMemFree(kept)); /* the other one's */
    OK(cuCtxDestroy(outer));
}

/* In the order of a stream of another context's, which outlives it. */
TEST(what_it_freed_in_stream_order_is_not_freed_again) {
    blocker g = {0};
    CUcontext context;
    CUstream stream;
    CUdeviceptr plain, pooled;
    size_t before, after, total;
    void *memory;
    OK(cudaMemGetInfo(&before, &total));
    OK(cudaMalloc(&memory, 1 << 20));
    plain = (CUdeviceptr)(uintptr_t)memory;
    OK(cudaMallocAsync(&memory, 1 << 20, NULL));
    pooled = (CUdeviceptr)(uintptr_t)memory;
    context = new_context();
    OK(cuStreamCreate(&stream, 0));
    OK(cuLaunchHostFunc(stream, wait_until_unblocked, &g));
    OK(cuMemFreeAsync(plain, stream));
    OK(cuMemFreeAsync(pooled, stream));
    OK(cuDevicePrimaryCtxReset(device));
    unblock_stream(&g);
    OK(cuStreamSynchronize(stream));
    OK(cuMemGetInfo(&after, &total));
    assert_int_equal(before, after);
    OK(cuCtxDestroy(context));
}

TEST(contexts_are_stacked) {
    CUcontext first = new_context(), second = new_context(), current = NULL;
    OK(cuCtxPopCurrent(&current));
    assert_ptr_equal(current, second);
    OK(cuCtxGetCurrent(&current));
    assert_ptr_equal(current, first);
    OK(cuCtxPushCurrent(second));
    OK(cuCtxDestroy(second)); /* and pops it */
    OK(cuCtxGetCurrent(&current));
    assert_ptr_equal(current, first);
    OK(cuCtxSetCurrent(NULL));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize());
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetCurrent((CUcontext)(void *)&current));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuCtxPushCurrent((CUcontext)(void *)&current));
    OK(cuCtxSetCurrent(first));
    OK(cuCtxDestroy(first));
    OK(cuCtxGetCurrent(&current));
    assert_null(current);
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy(first));
}

typedef struct other {
    CUcontext context;
    CUresult before, after;
    pthread_barrier_t meet;
} other;

static void *use_it(void *data) {
    other *o = data;
    o->before = cuCtxSetCurrent(o->context);
    pthread_barrier_wait(&o->meet);
    pthread_barrier_wait(&o->meet);
    o->after = cuCtxSynchronize();
    return NULL;
}

TEST(it_is_destroyed_under_another_thread) {
    other o = {.context = new_context()};
    pthread_t thread;
    assert_int_equal(pthread_barrier_init(&o.meet, NULL, 2), 0);
    assert_int_equal(pthread_create(&thread, NULL, use_it, &o), 0);
    pthread_barrier_wait(&o.meet);
    OK(cuCtxDestroy(o.context));
    pthread_barrier_wait(&o.meet);
    pthread_join(thread, NULL);
    SAYS(CUDA_SUCCESS, o.before);
    SAYS(CUDA_ERROR_CONTEXT_IS_DESTROYED, o.after);
    pthread_barrier_destroy(&o.meet);
}

/* Its handle is still taken, as a GPU does; it is good for nothing. */
TEST(one_that_ended_is_made_current) {
    CUcontext context = new_context(), current = NULL;
    unsigned version;
    OK(cuCtxDestroy(context));
    OK(cuCtxSetCurrent(context));
    OK(cuCtxGetCurrent(&current));
    assert_ptr_equal(current, context);
    SAYS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuCtxSynchronize());
    expect_reason("this thread's current context was destroyed");
    OK(cuCtxPushCurrent(context));
    OK(cuCtxPopCurrent(NULL));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetApiVersion(context, &version));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy(context));
    OK(cuCtxSetCurrent(NULL));
}

TEST(beside_the_primary_context) {
    CUcontext context = new_context(), primary, found;
    unsigned flags;
    int active = 9;
    void *memory;
    OK(cuDevicePrimaryCtxGetState(device, &flags, &active));
    assert_int_equal(active, 0);
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease(device));
    OK(cudaMalloc(&memory, 64)); /* the runtime takes what is current */
    OK(cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_CONTEXT, (CUdeviceptr)(uintptr_t)memory));
    assert_ptr_equal(found, context);
    OK(cuDevicePrimaryCtxGetState(device, &flags, &active));
    assert_int_equal(active, 0);
    OK(cuDevicePrimaryCtxRetain(&primary, device));
    assert_ptr_not_equal(primary, context);
    OK(cuDevicePrimaryCtxGetState(device, &flags, &active));
    assert_int_equal(active, 1);
    OK(cuDevicePrimaryCtxRelease(device));
    OK(cudaFree(memory));
    OK(cudaSetDevice(0)); /* and is the primary's from now on */
    OK(cuCtxGetCurrent(&found));
    assert_ptr_not_equal(found, context);
    OK(cuCtxDestroy(context));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy(found));
}

TEST(what_a_context_says) {
    CUcontext context = NULL, of_stream = NULL;
    CUstream stream;
    CUdevice its_device = 9;
    unsigned flags = 0, version = 0;
    unsigned long long id = 0, other_id = 0;
    OK(cuCtxCreate(&context, NULL, CU_CTX_SCHED_SPIN, device));
    OK(cuCtxGetFlags(&flags));
    assert_int_equal(flags, CU_CTX_SCHED_SPIN);
    OK(cuCtxSetFlags(CU_CTX_SCHED_YIELD));
    OK(cuCtxGetFlags(&flags));
    assert_int_equal(flags & CU_CTX_SCHED_MASK, CU_CTX_SCHED_YIELD);
    OK(cuCtxGetDevice(&its_device));
    assert_int_equal(its_device, device);
    OK(cuCtxGetApiVersion(context, &version));
    assert_true(version > 0);
    OK(cuCtxGetId(context, &id));
    CUcontext second = new_context();
    OK(cuCtxGetId(NULL, &other_id));
    assert_true(id != other_id && id > 2);
    OK(cuStreamCreate(&stream, 0));
    OK(cuStreamGetCtx(stream, &of_stream));
    assert_ptr_equal(of_stream, second);
    OK(cuStreamGetCtx(NULL, &of_stream));
    assert_ptr_equal(of_stream, second);
    OK(cuCtxDestroy(second));
    OK(cuCtxDestroy(context));
}

TEST(contexts_that_cannot_be) {
    CUcontext context;
    CUexecAffinityParam affinity = {.type = CU_EXEC_AFFINITY_TYPE_SM_COUNT};
    CUctxCreateParams params = {.execAffinityParams = &affinity, .numExecAffinityParams = 1};
    SAYS(CUDA_ERROR_INVALID_VALUE, cuCtxCreate(NULL, NULL, 0, device));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuCtxCreate(&context, NULL, 0x1000, device));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuCtxCreate(&context, NULL, CU_CTX_SCHED_SPIN | CU_CTX_SCHED_YIELD, device));
    SAYS(CUDA_ERROR_INVALID_DEVICE, cuCtxCreate(&context, NULL, 0, 77));
    SAYS(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, cuCtxCreate(&context, &params, 0, device));
    params = (CUctxCreateParams){
        .cigParams = &(CUctxCigParam){.sharedDataType = CIG_DATA_TYPE_D3D12_COMMAND_QUEUE}};
    SAYS(CUDA_ERROR_NOT_SUPPORTED, cuCtxCreate(&context, &params, 0, device));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuCtxDestroy(NULL));
}

TEST(older_names) {
    CUresult (*create)(CUcontext *, unsigned, CUdevice) = NULL;
    CUresult (*with_affinity)(CUcontext *, CUexecAffinityParam *, int, unsigned, CUdevice) = NULL;
    CUcontext context = NULL;
    OK(cuGetProcAddress("cuCtxCreate", (void **)(void *)&create, 11030, 0, NULL));
    SAYS(CUDA_SUCCESS, create(&context, 0, device));
    OK(cuCtxDestroy(context));
    OK(cuGetProcAddress("cuCtxCreate", (void **)(void *)&with_affinity, 12000, 0, NULL));
    SAYS(CUDA_SUCCESS, with_affinity(&context, NULL, 0, 0, device));
    OK(cuCtxDestroy(context));
}

TEST(a_context_is_a_leak) {
    CUcontext context = new_context();
    assert_int_equal(acu_sim_leaks(0), 1);
    OK(cuCtxDestroy(context));
    assert_int_equal(acu_sim_leaks(0), 0);
}

/* What the primary context had is gone; what this one has is not. */
TEST(it_outlives_resets) {
    CUcontext context, current;
    CUdeviceptr at, outer_at;
    CUstream stream, outer_stream;
    CUmodule module, outer_module;
    CUfunction nothing;
    unsigned value = 0, flags;
    int active = 9;
    OK(cudaFree(NULL));
    OK(cuMemAlloc(&outer_at, 64));
    OK(cuStreamCreate(&outer_stream, 0));
    OK(cuModuleLoadData(&outer_module, PTX));
    context = new_context();
    OK(cuMemAlloc(&at, 64));
    OK(cuStreamCreate(&stream, 0));
    OK(cuModuleLoadData(&module, PTX));
    OK(cuModuleGetFunction(&nothing, module, "nothing"));
    OK(cuDevicePrimaryCtxReset(device));
    OK(cuDevicePrimaryCtxGetState(device, &flags, &active));
    assert_int_equal(active, 0);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemFree(outer_at));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy(outer_stream));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(outer_module));
    OK(cudaDeviceReset());
    OK(cuCtxGetCurrent(&current));
    assert_ptr_equal(current, context);
    OK(cuMemsetD32Async(at, 7, 1, stream));
    OK(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH(&value, at, 4));
    assert_int_equal(value, 7);
    OK(cuCtxDestroy(context)); /* the last: with all that is there */
    assert_int_equal(acu_sim_leaks(0), 0);
}

TEST(functions_and_events_are_each_contexts) {
    CUmodule module;
    CUfunction nothing;
    CUstream outer_stream, stream;
    CUevent event;
    CUcontext outer = new_context(), inner;
    OK(cuStreamCreate(&outer_stream, 0));
    inner = new_context();
    OK(cuStreamCreate(&stream, 0));
    OK(cuEventCreate(&event, 0));
    OK(cuModuleLoadData(&module, PTX));
    OK(cuModuleGetFunction(&nothing, module, "nothing"));
    OK(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    OK(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    SAYS(CUDA_ERROR_INVALID_HANDLE,
         cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, outer_stream, NULL, NULL));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(event, outer_stream));
    OK(cuEventRecord(event, stream));
    OK(cuStreamWaitEvent(outer_stream, event, 0));
    OK(cuCtxPopCurrent(NULL));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(event, CU_STREAM_PER_THREAD));
    OK(cuCtxDestroy(inner));
    OK(cuCtxDestroy(outer));
}

/* A launch of its kernel is in the stream's context. */
TEST(a_library_is_in_each_context) {
    CUlibrary library;
    CUkernel kernel;
    CUfunction in_outer, in_inner, again;
    CUdeviceptr outer_at, inner_at;
    CUstream outer_stream;
    size_t size;
    unsigned value = 9, initial = 0;
    CUcontext outer = new_context(), inner, of = NULL;
    OK(cuStreamCreate(&outer_stream, 0));
    OK(cuLibraryLoadData(&library, PTX, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&kernel, library, "nothing"));
    OK(cuKernelGetFunction(&in_outer, kernel));
    OK(cuLibraryGetGlobal(&outer_at, &size, library, "counter"));
    OK(cuMemcpyDtoH(&initial, outer_at, 4));
    inner = new_context();
    OK(cuKernelGetFunction(&in_inner, kernel));
    assert_ptr_not_equal(in_inner, in_outer);
    OK(cuLibraryGetGlobal(&inner_at, &size, library, "counter"));
    assert_true(inner_at != outer_at);
    OK(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_CONTEXT, inner_at));
    assert_ptr_equal(of, inner);
    OK(cuMemcpyHtoD(inner_at, &value, 4));
    OK(cuMemcpyDtoH(&value, outer_at, 4));
    assert_int_equal(value, initial);
    OK(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, outer_stream, NULL, NULL));
    OK(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cuCtxDestroy(inner));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_CONTEXT, inner_at));
    OK(cuKernelGetFunction(&again, kernel));
    assert_ptr_equal(again, in_outer);
    OK(cuLibraryUnload(library));
    OK(cuCtxDestroy(outer));
}

/* What a thread has in each; they go with their context, or with the thread. */
TEST(threads_have_streams_in_each_context) {
    blocker g = {0};
    CUcontext outer = new_context(), inner = new_context(), of = NULL;
    CUstream own = CU_STREAM_PER_THREAD;
    OK(cuStreamGetCtx(own, &of));
    assert_ptr_equal(of, inner);
    OK(cuCtxPopCurrent(NULL));
    OK(cuStreamGetCtx(own, &of));
    assert_ptr_equal(of, outer);
    block_stream(&g, own);
    SAYS(CUDA_ERROR_NOT_READY, cuStreamQuery(own));
    OK(cuCtxPushCurrent(inner));
    OK(cuStreamQuery(own));
    OK(cuCtxSynchronize());
    unblock_stream(&g);
    OK(cuCtxDestroy(inner)); /* waits for the device, as GPUs do */
    OK(cuStreamSynchronize(own));
    OK(cuCtxDestroy(outer));
}

/* Also its default streams; what waits is what comes later, and only there. */
TEST(an_event_is_all_of_a_context) {
    CUcontext primary, made;
    CUstream outside, inside, later;
    CUevent of_primary, of_made;
    blocker g = {0}, h = {0};
    OK(cuDevicePrimaryCtxRetain(&primary, device));
    OK(cuCtxSetCurrent(primary));
    OK(cuStreamCreate(&outside, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&of_primary, 0));
    made = new_context();
    OK(cuStreamCreate(&inside, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&later, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&of_made, 0));
    block_stream(&g, NULL); /* the made one's */
    OK(cuCtxRecordEvent(made, of_made));
    SAYS(CUDA_ERROR_NOT_READY, cuEventQuery(of_made));
    unblock_stream(&g);
    OK(cuEventSynchronize(of_made));
    block_stream(&h, outside);
    OK(cuCtxRecordEvent(made, of_made)); /* whatever others do */
    OK(cuEventSynchronize(of_made));
    OK(cuCtxRecordEvent(primary, of_primary));
    OK(cuCtxWaitEvent(made, of_primary));
    OK(cuStreamQuery(later));
    OK(cuCtxRecordEvent(made, of_made));
    OK(cuEventRecord(of_made, later));
    SAYS(CUDA_ERROR_NOT_READY, cuStreamQuery(later));
    unblock_stream(&h);
    OK(cuStreamSynchronize(later));
    OK(cuCtxWaitEvent(made, of_primary)); /* which is done */
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuCtxWaitEvent(made, NULL));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuCtxWaitEvent(NULL, of_made));
    OK(cuCtxDestroy(made));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuCtxRecordEvent(made, of_primary));
    OK(cuCtxSetCurrent(primary));
    OK(cuEventDestroy(of_primary));
    OK(cuStreamDestroy(outside));
    OK(cuDevicePrimaryCtxRelease(device));
}

/* They go with it, and are made of its arrays. */
TEST(textures_are_each_contexts) {
    const struct cudaChannelFormatDesc bytes = {8, 0, 0, 0, cudaChannelFormatKindUnsigned};
    const struct cudaTextureDesc plain = {.readMode = cudaReadModeElementType};
    struct cudaResourceDesc r = {.resType = cudaResourceTypeArray}, levels, said;
    cudaTextureObject_t texture, none;
    cudaSurfaceObject_t surface;
    CUcontext made = new_context();
    levels.resType = cudaResourceTypeMipmappedArray;
    OK(cudaMallocArray(&r.res.array.array, &bytes, 8, 8, cudaArraySurfaceLoadStore));
    OK(cudaMallocMipmappedArray(&levels.res.mipmap.mipmap, &bytes, (struct cudaExtent){8, 8, 0}, 2,
                                0));
    OK(cudaCreateTextureObject(&texture, &r, &plain, NULL));
    OK(cudaCreateSurfaceObject(&surface, &r));
    OK(cudaGetTextureObjectResourceDesc(&said, texture));
    OK(cuCtxPopCurrent(NULL));
    FAILS(cudaErrorInvalidValue, cudaGetTextureObjectResourceDesc(&said, texture));
    FAILS(cudaErrorInvalidValue, cudaGetSurfaceObjectResourceDesc(&said, surface));
    FAILS(cudaErrorPeerAccessNotEnabled, cudaCreateTextureObject(&none, &r, &plain, NULL));
    FAILS(cudaErrorPeerAccessNotEnabled, cudaCreateTextureObject(&none, &levels, &plain, NULL));
    FAILS(cudaErrorPeerAccessNotEnabled, cudaCreateSurfaceObject(&none, &r));
    OK(cuCtxDestroy(made));
    OK(cudaDeviceReset());
}

TEST(limits_and_caches_are_each_contexts) {
    size_t stack = 0;
    CUfunc_cache cache = CU_FUNC_CACHE_PREFER_NONE;
    CUcontext outer = new_context(), inner = new_context();
    OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 2048));
    OK(cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1));
    OK(cuCtxPopCurrent(NULL));
    OK(cuCtxGetLimit(&stack, CU_LIMIT_STACK_SIZE));
    assert_int_equal(stack, 1024);
    OK(cuCtxGetCacheConfig(&cache));
    assert_int_equal(cache, CU_FUNC_CACHE_PREFER_NONE);
    OK(cuCtxPushCurrent(inner));
    OK(cuCtxGetLimit(&stack, CU_LIMIT_STACK_SIZE));
    assert_int_equal(stack, 2048);
    OK(cuCtxDestroy(inner));
    OK(cuCtxDestroy(outer));
}

enum { RESERVED = 2 << 20 };

static CUdeviceptr reserved;
static CUresult inside[6];

static void waits(void *data) {
    const CUcontext context = data;
    inside[0] = cuCtxSynchronize();
    inside[1] = cuCtxSynchronize_v2(context);
    inside[2] = cuDevicePrimaryCtxReset(device);
    inside[3] = cuDevicePrimaryCtxRelease(device);
    inside[4] = cuCtxDestroy(context);
    inside[5] = cuMemUnmap(reserved, RESERVED);
}

/* Each would wait for the host function. */
TEST(host_functions_must_not_wait) {
    CUcontext primary, context = new_context();
    CUstream stream;
    OK(cuDevicePrimaryCtxRetain(&primary, device));
    OK(cuStreamCreate(&stream, 0));
    OK(cuMemAddressReserve(&reserved, RESERVED, 0, 0, 0));
    OK(cuLaunchHostFunc(stream, waits, context));
    OK(cuStreamSynchronize(stream));
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++)
        SAYS(CUDA_ERROR_NOT_PERMITTED, inside[i]);
    OK(cuMemAddressFree(reserved, RESERVED));
    OK(cuDevicePrimaryCtxRelease(device));
    OK(cuCtxDestroy(context));
}

static CUevent done;
static CUstream own_stream, idle;
static CUdeviceptr filled;
static CUresult may[15], must_not[22];

static void asks(void *data) {
    CUcontext context;
    CUdevice found;
    CUdeviceptr at;
    CUmemGenericAllocationHandle handle;
    const CUmemAllocationProp pinned = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    unsigned flags;
    unsigned long long id;
    int number;
    size_t size;
    float time;
    char name[99];
    (void)data;
    may[0] = cuEventQuery(done);
    may[1] = cuEventElapsedTime(&time, done, done);
    may[2] = cuStreamQuery(idle);
    may[3] = cuStreamGetCtx(idle, &context);
    may[4] = cuStreamGetFlags(idle, &flags);
    may[5] = cuStreamGetPriority(idle, &number);
    may[6] = cuStreamGetId(idle, &id);
    may[7] = cuStreamWaitEvent(idle, done, 0);
    may[8] = cuEventRecord(done, idle);
    may[9] = (CUresult)cudaEventQuery(done) == CUDA_ERROR_NOT_PERMITTED;
    may[10] = cuStreamQuery(own_stream) == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
    may[11] = cuMemsetD8Async(filled, 7, 16, idle);
    may[12] = cuStreamSynchronize(idle);
    may[13] = cuEventSynchronize(done);
    may[14] = (CUresult)cudaEventSynchronize((cudaEvent_t)done) == CUDA_ERROR_NOT_PERMITTED;
    must_not[0] = cuDeviceGet(&found, 0);
    must_not[1] = cuDeviceGetCount(&number);
    must_not[2] = cuDeviceGetName(name, sizeof name, 0);
    must_not[3] = cuDeviceGetAttribute(&number, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0);
    must_not[4] = cuDeviceTotalMem(&size, 0);
    must_not[5] = cuDevicePrimaryCtxGetState(0, &flags, &number);
    must_not[6] = cuCtxGetCurrent(&context);
    must_not[7] = cuCtxSetCurrent(NULL);
    must_not[8] = cuCtxPushCurrent(NULL);
    must_not[9] = cuCtxPopCurrent(&context);
    must_not[10] = cuCtxGetApiVersion(NULL, &flags);
    must_not[11] = cuMemAddressReserve(&at, RESERVED, 0, 0, 0);
    must_not[12] = cuMemCreate(&handle, RESERVED, &pinned, 0);
    must_not[13] = cuMemGetAllocationGranularity(&size, &pinned, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    must_not[14] = cuMemAlloc(&at, 16);
    must_not[15] = (CUresult)cudaEventRecord((cudaEvent_t)done, (cudaStream_t)idle);
    must_not[16] = (CUresult)cudaStreamSynchronize((cudaStream_t)idle);
    must_not[17] = cuStreamSynchronize(NULL);
    must_not[18] = cuStreamSynchronize(CU_STREAM_PER_THREAD);
    must_not[19] = cuStreamQuery(CU_STREAM_LEGACY);
    must_not[20] = cuCtxSynchronize();
    must_not[21] = (CUresult)cudaDeviceSynchronize();
}

/* An H200 lets a host function ask events and streams, and refuses what needs a current context. */
TEST(what_host_functions_may_call) {
    CUcontext context = new_context();
    OK(cuStreamCreate(&own_stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&idle, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&done, 0));
    OK(cuEventRecord(done, idle));
    OK(cuEventSynchronize(done));
    OK(cuMemAlloc(&filled, 16));
    OK(cuLaunchHostFunc(own_stream, asks, NULL));
    OK(cuStreamSynchronize(own_stream));
    for (size_t i = 0; i < sizeof may / sizeof *may; i++)
        OK(may[i]);
    for (size_t i = 0; i < sizeof must_not / sizeof *must_not; i++)
        SAYS(CUDA_ERROR_NOT_PERMITTED, must_not[i]);
    OK(cuCtxDestroy(context));
}

/* The legacy default stream waits for the blocking streams of its own context only. */
TEST(default_streams_are_each_contexts) {
    blocker g = {0};
    CUstream blocking;
    CUevent event;
    CUcontext outer = new_context(), inner = new_context();
    OK(cuStreamCreate(&blocking, 0));
    OK(cuEventCreate(&event, 0));
    OK(cuCtxPopCurrent(NULL));
    block_stream(&g, NULL);
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(event, NULL));
    SAYS(CUDA_ERROR_NOT_READY, cuStreamQuery(NULL));
    OK(cuCtxPushCurrent(inner));
    OK(cuEventRecord(event, blocking));
    OK(cuEventRecord(event, NULL));
    OK(cuStreamQuery(NULL));
    OK(cuStreamSynchronize(NULL));
    OK(cuCtxSynchronize());
    OK(cuEventQuery(event));
    OK(cuCtxPopCurrent(NULL));
    SAYS(CUDA_ERROR_NOT_READY, cuStreamQuery(NULL));
    unblock_stream(&g);
    OK(cuCtxSynchronize());
    OK(cuStreamQuery(NULL));
    OK(cuCtxDestroy(inner));
    OK(cuCtxDestroy(outer));
}

TEST(its_users_are_counted) {
    CUcontext outer = new_context(), made = new_context(), again = NULL, current = NULL;
    CUdeviceptr at;
    OK(cuMemAlloc(&at, 64));
    OK(cuCtxAttach(&again, 0));
    assert_ptr_equal(again, made);
    OK(cuCtxDetach(made)); /* the one that attached itself, or the creator: they are alike */
    OK(cuMemsetD8(at, 0, 64));
    OK(cuCtxDetach(made)); /* and pops it */
    OK(cuCtxGetCurrent(&current));
    assert_ptr_equal(current, outer);
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuCtxDetach(made));
    OK(cuCtxAttach(&again, 0));
    OK(cuCtxDestroy(outer)); /* whoever uses it */
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuCtxDetach(outer));
}

TEST(what_is_not_attached_or_detached) {
    CUcontext outer = new_context(), made = new_context(), again = NULL;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuCtxAttach(NULL, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuCtxAttach(&again, 1));
    assert_null(again);
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuCtxDetach(outer)); /* it is not the current one */
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuCtxDetach(NULL));
    OK(cuCtxSetCurrent(NULL));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuCtxAttach(&again, 0));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuCtxDetach(made));
    OK(cuCtxDestroy(made));
    OK(cuCtxDestroy(outer));
}

/* A primary context is kept by those who retain it. */
TEST(a_primary_context_outlives_its_users) {
    CUcontext primary, again = NULL;
    OK(cuDevicePrimaryCtxRetain(&primary, device));
    OK(cuCtxSetCurrent(primary));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuCtxDetach(primary));
    OK(cuCtxAttach(&again, 0));
    assert_ptr_equal(again, primary);
    OK(cuCtxDetach(primary));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuCtxDetach(primary));
    OK(cuCtxSynchronize());
    OK(cuDevicePrimaryCtxRelease(device));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        C(a_program),
        C(an_event_is_all_of_a_context),
        C(textures_are_each_contexts),
        C(limits_and_caches_are_each_contexts),
        C(default_streams_are_each_contexts),
        C(what_is_its_own_goes_with_it),
        C(what_it_freed_in_stream_order_is_not_freed_again),
        C(contexts_are_stacked),
        C(it_is_destroyed_under_another_thread),
        C(beside_the_primary_context),
        C(what_a_context_says),
        C(contexts_that_cannot_be),
        C(older_names),
        C(a_context_is_a_leak),
        C(one_that_ended_is_made_current),
        C(it_outlives_resets),
        C(functions_and_events_are_each_contexts),
        C(a_library_is_in_each_context),
        C(threads_have_streams_in_each_context),
        C(host_functions_must_not_wait),
        C(what_host_functions_may_call),
        C(its_users_are_counted),
        C(what_is_not_attached_or_detached),
        C(a_primary_context_outlives_its_users),
    };
    return RUN(tests);
}
