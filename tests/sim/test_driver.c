/* The driver API over the simulator, alone and beside the runtime. */
#include "driver_test.h"

#include <stdlib.h>

/* ---- beginning ---- */

TEST(nothing_works_before_init) {
    int value;
    CUdevice device;
    CUcontext current;
    CUdeviceptr memory;
    SAYS(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGet(&device, 0));
    SAYS(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&value));
    SAYS(CUDA_ERROR_NOT_INITIALIZED, cuCtxGetCurrent(&current));
    SAYS(CUDA_ERROR_NOT_INITIALIZED, cuMemAlloc(&memory, 16));
    OK(cuDriverGetVersion(&value));
    assert_int_equal(value, CUDART_VERSION);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuDriverGetVersion(NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuInit(1));
    OK(cuInit(0));
    OK(cuDeviceGetCount(&value));
    assert_int_equal(value, 2);
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&memory, 16));
    acu_sim_reset("devices=0");
    SAYS(CUDA_ERROR_NO_DEVICE, cuInit(0));
}

TEST(the_driver_may_be_older_than_the_runtime) {
    int value;
    acu_sim_reset("driver=12.4");
    FAILS(cudaErrorInsufficientDriver, cudaSetDevice(0));
    OK(cuInit(0));
    OK(cuDriverGetVersion(&value));
    assert_int_equal(value, 12040);
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    OK(cuCtxSynchronize());
    OK(cuDevicePrimaryCtxRelease(0));
}

TEST(a_runtime_call_initializes) {
    CUdevice device = 9;
    CUcontext current = NULL;
    OK(cudaSetDevice(1));
    OK(cuCtxGetDevice(&device));
    assert_int_equal(device, 1);
    OK(cuCtxGetCurrent(&current));
    assert_non_null(current);
}

TEST(errors_have_names) {
    const char *text = "x";
    OK(cuGetErrorName(CUDA_ERROR_INVALID_VALUE, &text));
    assert_string_equal(text, "CUDA_ERROR_INVALID_VALUE");
    OK(cuGetErrorString(CUDA_ERROR_INVALID_VALUE, &text));
    assert_true(text[0]);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGetErrorName((CUresult)12345, &text));
    assert_null(text);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGetErrorString((CUresult)12345, &text));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGetErrorName(CUDA_SUCCESS, NULL));
}

TEST(entry_points) {
    CUdriverProcAddressQueryResult status;
    enum cudaDriverEntryPointQueryResult found;
    void *fn = NULL, *other = NULL;
    CUresult (*get_count)(int *);
    int count = 0;
    OK(cuGetProcAddress("cuDeviceGetCount", &fn, 12000, 0, &status));
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SUCCESS);
    memcpy(&get_count, &fn, sizeof fn);
    OK(get_count(&count));
    assert_int_equal(count, 2);
    OK(cuGetProcAddress("cuNoSuch", &fn, 12000, 0, &status));
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    assert_null(fn);
    OK(cuGetProcAddress("cuFuncGetName", &fn, 12020, 0, &status));
    assert_int_equal(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    OK(cuGetProcAddress("cuLaunchKernelEx", &fn, 11060, 0,
                        &status)); /* no toolkit of 11.6 is known */
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SUCCESS);
    OK(cuGetProcAddress("cuLaunchKernelEx", &fn, 11050, 0, &status));
    assert_int_equal(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    OK(cuGetProcAddress("cuGreenCtxGetId", &fn, 12090, 0, &status));
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SUCCESS);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress(NULL, &fn, 12000, 0, &status));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress("cuInit", NULL, 12000, 0, &status));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress("cuInit", &fn, 12000, 9, &status));
    OK(cudaGetDriverEntryPoint("cuMemAlloc", &fn, cudaEnableDefault, &found));
    assert_true(fn && found == cudaDriverEntryPointSuccess);
    OK(cudaGetDriverEntryPoint("cuNoSuch", &fn, cudaEnableDefault, &found));
    assert_true(!fn && found == cudaDriverEntryPointSymbolNotFound);
    OK(cudaGetDriverEntryPointByVersion("cuFuncGetName", &fn, 12000, cudaEnableDefault, &found));
    assert_int_equal(found, cudaDriverEntryPointVersionNotSufficent);
    OK(cudaGetDriverEntryPoint("cuLaunchKernel", &fn, cudaEnableDefault, NULL));
    OK(cudaGetDriverEntryPoint("cuLaunchKernel", &other, cudaEnablePerThreadDefaultStream, NULL));
    assert_true(fn && other && fn != other);
    FAILS(cudaErrorInvalidValue, cudaGetDriverEntryPoint(NULL, &fn, cudaEnableDefault, &found));
    FAILS(cudaErrorInvalidValue, cudaGetDriverEntryPoint("cuInit", NULL, 0, &found));
    FAILS(cudaErrorInvalidValue, cudaGetDriverEntryPoint("cuInit", &fn, 7, &found));
}

/* ---- devices ---- */

TEST(devices) {
    CUdevice device;
    char name[64];
    size_t bytes;
    int major, minor, value;
    CUuuid first, second;
    OK(cuDeviceGet(&device, 1));
    assert_int_equal(device, 1);
    SAYS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, 2));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuDeviceGet(NULL, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuDeviceGetCount(NULL));
    OK(cuDeviceGetName(name, sizeof name, 0));
    assert_string_equal(name, "anycuda simulator");
    SAYS(CUDA_ERROR_INVALID_VALUE, cuDeviceGetName(NULL, 5, 0));
    SAYS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetName(name, 5, 7));
    OK(cuDeviceTotalMem(&bytes, 0));
    assert_int_equal(bytes, 1 << 30);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuDeviceTotalMem(NULL, 0));
    OK(cuDeviceComputeCapability(&major, &minor, 0));
    assert_true(major == 9 && minor == 0);
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
    assert_int_equal(value, 32);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX, 0));
    SAYS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 9));
    OK(cuDeviceGetUuid(&first, 0));
    OK(cuDeviceGetUuid(&second, 1));
    assert_memory_not_equal(&first, &second, sizeof first);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuDeviceGetUuid(NULL, 0));
    OK(cuDeviceCanAccessPeer(&value, 0, 1));
    assert_int_equal(value, 1);
    OK(cuDeviceGetPCIBusId(name, sizeof name, 1));
    OK(cuDeviceGetByPCIBusId(&device, name));
    assert_int_equal(device, 1);
}

/* ---- contexts ---- */

TEST(primary_contexts) {
    CUcontext one, same;
    unsigned flags = 9;
    int active = 9;
    OK(cuInit(0));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease(0));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    assert_true(flags == 0 && !active);
    OK(cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_SPIN));
    OK(cuDevicePrimaryCtxRetain(&one, 0));
    OK(cuDevicePrimaryCtxRetain(&same, 0));
    assert_ptr_equal(one, same);
    OK(cuDevicePrimaryCtxRelease(0));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    assert_true(flags == CU_CTX_SCHED_SPIN && active);
    OK(cuDevicePrimaryCtxRelease(0));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    assert_false(active);
    OK(cuCtxSetCurrent(one)); /* as on a GPU: only its use is refused */
    SAYS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuCtxSynchronize());
    SAYS(CUDA_ERROR_INVALID_VALUE, cuDevicePrimaryCtxRetain(NULL, 0));
    SAYS(CUDA_ERROR_INVALID_DEVICE, cuDevicePrimaryCtxRetain(&one, 5));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuDevicePrimaryCtxSetFlags(0, 0x100));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuDevicePrimaryCtxGetState(0, NULL, &active));
}

TEST(the_runtime_keeps_its_context) {
    void *memory;
    CUcontext one;
    OK(cudaMalloc(&memory, 16));
    OK(cuDevicePrimaryCtxRetain(&one, 0));
    OK(cuDevicePrimaryCtxRelease(0));
    OK(cudaMemset(memory, 0, 16));
    OK(cudaFree(memory));
}

TEST(no_tool_profiles) {
    OK(cuProfilerStart());
    OK(cuProfilerStop());
    OK(cuCtxSetCurrent(NULL));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuProfilerStart());
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuProfilerStop());
}

TEST(a_reset_context_is_destroyed) {
    CUdeviceptr memory;
    OK(cuMemAlloc(&memory, 16));
    OK(cuDevicePrimaryCtxReset(0));
    SAYS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemFree(memory));
    OK(cuDevicePrimaryCtxRelease(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
}

TEST(contexts_are_stacked) {
    CUcontext second, top = NULL;
    CUdevice device;
    OK(cuDevicePrimaryCtxRetain(&second, 1));
    OK(cuCtxPushCurrent(second));
    OK(cuCtxGetDevice(&device));
    assert_int_equal(device, 1);
    OK(cuCtxPopCurrent(&top));
    assert_ptr_equal(top, second);
    OK(cuCtxGetCurrent(&top));
    assert_ptr_equal(top, context);
    OK(cuCtxPopCurrent(NULL));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuCtxPopCurrent(&top));
    OK(cuCtxGetCurrent(&top));
    assert_null(top);
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetDevice(&device));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuCtxPushCurrent(NULL));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetCurrent((CUcontext)(void *)&top));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuCtxGetCurrent(NULL));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy(second));
    OK(cuDevicePrimaryCtxRelease(1));
    OK(cuCtxSetCurrent(context));
}

TEST(the_current_context_is_the_runtimes_device) {
    CUcontext second;
    int device = 0;
    OK(cuDevicePrimaryCtxRetain(&second, 1));
    OK(cuCtxSetCurrent(second));
    OK(cudaGetDevice(&device));
    assert_int_equal(device, 1);
    OK(cuDevicePrimaryCtxRelease(1));
    OK(cudaSetDevice(0));
}

/* As cuCtxSynchronize(), which is of the current one. */
TEST(synchronizing_a_context_is_not_captured) {
    CUstream stream;
    CUgraph graph = NULL;
    char *pinned;
    OK(cuStreamCreate(&stream, 0));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    SAYS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuCtxSynchronize_v2(context));
    SAYS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
    OK(cuCtxSynchronize_v2(context));
    OK(cuStreamDestroy(stream));
    OK(cuDevicePrimaryCtxRelease(0));
    acu_sim_reset("guard=1");
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    OK(cuMemAllocHost((void **)&pinned, 100));
    pinned[100] = 1;
    OK(cuCtxSynchronize_v2(context));
    assert_int_equal(acu_sim_damages(), 1);
    OK(cuMemFreeHost(pinned));
}

TEST(what_contexts_say) {
    unsigned flags, version;
    unsigned long long id;
    size_t limit;
    int least, greatest;
    CUfunc_cache cache;
    CUdevice device;
    CUcontext second;
    OK(cuCtxGetFlags(&flags));
    OK(cuCtxGetApiVersion(context, &version));
    OK(cuCtxGetApiVersion(NULL, &version));
    assert_true(version > 0);
    OK(cuCtxGetId(NULL, &id));
    OK(cuCtxGetDevice_v2(&device, context));
    assert_int_equal(device, 0);
    OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
    OK(cuCtxGetLimit(&limit, CU_LIMIT_STACK_SIZE));
    assert_int_equal(limit, 4096);
    OK(cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1));
    OK(cuCtxGetCacheConfig(&cache));
    assert_int_equal(cache, CU_FUNC_CACHE_PREFER_L1);
    OK(cuCtxGetStreamPriorityRange(&least, &greatest));
    OK(cuCtxSynchronize());
    OK(cuCtxSynchronize_v2(context));
    OK(cuDevicePrimaryCtxRetain(&second, 1));
    OK(cuCtxEnablePeerAccess(second, 0));
    SAYS(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, cuCtxEnablePeerAccess(second, 0));
    OK(cuCtxDisablePeerAccess(second));
    SAYS(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(second));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuCtxEnablePeerAccess(NULL, 0));
    OK(cuDevicePrimaryCtxRelease(1));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuCtxGetFlags(NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuCtxGetApiVersion(context, NULL));
}

TEST(no_error_is_left_with_the_runtime) {
    CUdeviceptr memory;
    SAYS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&memory, (size_t)1 << 40));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemFree(0x1234));
    SAYS(cudaSuccess, cudaPeekAtLastError());
}

/* ---- memory ---- */

TEST(memory) {
    CUdeviceptr a, b, base;
    size_t size, free_before, free_now, total;
    char bytes[64], back[64] = {0};
    OK(cuMemGetInfo(&free_before, &total));
    OK(cuMemAlloc(&a, sizeof bytes));
    OK(cuMemAlloc(&b, sizeof bytes));
    OK(cuMemGetInfo(&free_now, &total));
    assert_true(free_now < free_before && total == (size_t)1 << 30);
    memset(bytes, 42, sizeof bytes);
    OK(cuMemcpyHtoD(a, bytes, sizeof bytes));
    OK(cuMemcpyDtoD(b, a, sizeof bytes));
    OK(cuMemsetD8(b, 1, 8));
    OK(cuMemcpyDtoH(back, b, sizeof back));
    assert_true(back[0] == 1 && back[7] == 1 && back[8] == 42 && back[63] == 42);
    OK(cuMemcpy(a, b, 4));
    OK(cuMemGetAddressRange(&base, &size, a + 5));
    assert_true(base == a && size == sizeof bytes);
    OK(cuMemFree(a));
    OK(cuMemFree(b));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemFree(a));
    SAYS(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange(&base, &size, a));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(&a, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(NULL, 1));
}

TEST(patterns) {
    CUdeviceptr at;
    unsigned short twos[16];
    unsigned fours[8];
    size_t pitch;
    OK(cuMemAlloc(&at, 32));
    OK(cuMemsetD16(at, 0x1234, 16));
    OK(cuMemcpyDtoH(twos, at, sizeof twos));
    assert_true(twos[0] == 0x1234 && twos[15] == 0x1234);
    OK(cuMemsetD32Async(at, 0xdeadbeef, 4, NULL));
    OK(cuMemcpyDtoH(fours, at, sizeof fours));
    assert_true(fours[3] == 0xdeadbeef && fours[4] == 0x12341234);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemsetD32(at + 2, 1, 1));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemsetD16(at, 1, 17));
    OK(cuMemsetD16(at, 1, 0));
    OK(cuMemFree(at));
    OK(cuMemAllocPitch(&at, &pitch, 12, 3, 4));
    OK(cuMemsetD2D32(at, pitch, 7, 3, 3));
    OK(cuMemcpyDtoH(fours, at + 2 * pitch, 12));
    assert_true(fours[0] == 7 && fours[2] == 7);
    OK(cuMemsetD2D16Async(at, pitch, 7, 6, 3, NULL));
    OK(cuMemsetD2D8(at, pitch, 7, 12, 3));
    OK(cuMemFree(at));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemAllocPitch(&at, &pitch, 12, 3, 5));
    assert_int_equal(at, 0);
}

TEST(host_memory) {
    void *pinned, *mine = malloc(64);
    CUdeviceptr at;
    unsigned flags;
    OK(cuMemAllocHost(&pinned, 64));
    OK(cuMemHostGetDevicePointer(&at, pinned, 0));
    OK(cuMemHostGetFlags(&flags, pinned));
    OK(cuMemFreeHost(pinned));
    OK(cuMemHostAlloc(&pinned, 64, CU_MEMHOSTALLOC_PORTABLE));
    OK(cuMemFreeHost(pinned));
    OK(cuMemHostRegister(mine, 64, 0));
    SAYS(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister(mine, 64, 0));
    OK(cuMemHostUnregister(mine));
    free(mine);
    OK(cuMemAllocHost(&pinned, 0));
    assert_null(pinned);
    OK(cuMemAllocManaged(&at, 64, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemFree(at));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemAllocManaged(&at, 64, 9));
}

TEST(what_a_pointer_is) {
    CUdeviceptr memory, start = 0;
    unsigned type = 0, managed = 9;
    int ordinal = 9;
    size_t size = 0;
    CUcontext owner = NULL;
    void *host;
    CUpointer_attribute both[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void *to[] = {&type, &ordinal};
    OK(cuMemAlloc(&memory, 100));
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory));
    assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
    OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, memory));
    assert_int_equal(ordinal, 0);
    OK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, memory));
    assert_int_equal(managed, 0);
    OK(cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, memory + 9));
    OK(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, memory + 9));
    assert_true(start == memory && size == 100);
    OK(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, memory));
    assert_ptr_equal(owner, context);
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, memory));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)&type));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuPointerGetAttribute(NULL, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory));
    OK(cuPointerGetAttributes(2, both, to, memory));
    OK(cuPointerGetAttributes(2, both, to, (CUdeviceptr)&type));
    assert_true(type == 0 && ordinal == CU_DEVICE_INVALID);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttributes(0, both, to, memory));
    OK(cuMemFree(memory));
}

TEST(streams_and_events_are_the_runtimes) {
    CUstream stream;
    CUevent event, later;
    CUdeviceptr memory;
    CUcontext owner = NULL;
    CUdevice device = 9;
    unsigned flags;
    float ms;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&event, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&later, CU_EVENT_DEFAULT));
    OK(cuEventRecord(event, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaEventQuery(event));
    OK(cudaEventRecord(later, stream));
    OK(cuEventSynchronize(later));
    OK(cuEventElapsedTime(&ms, event, later));
    OK(cuStreamWaitEvent(stream, event, 0));
    OK(cuStreamGetCtx(stream, &owner));
    assert_ptr_equal(owner, context);
    OK(cuStreamGetDevice(stream, &device));
    assert_int_equal(device, 0);
    OK(cuStreamGetFlags(stream, &flags));
    assert_int_equal(flags, CU_STREAM_NON_BLOCKING);
    OK(cuMemAllocAsync(&memory, 64, stream));
    OK(cuMemsetD8Async(memory, 3, 64, stream));
    OK(cuMemFreeAsync(memory, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuStreamQuery(stream));
    OK(cuEventDestroy(event));
    OK(cuEventDestroy(later));
    OK(cudaStreamDestroy(stream));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(stream));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamCreate(&stream, 77));
}

static int hosts;

static void count_host(void *data) {
    hosts += *(int *)data;
}

TEST(host_functions) {
    int three = 3;
    hosts = 0;
    OK(cuLaunchHostFunc(NULL, count_host, &three));
    OK(cuCtxSynchronize());
    assert_int_equal(hosts, 3);
}

/* ---- virtual memory management ---- */

enum { CHUNK = 2 << 20 };

static const CUmemAllocationProp on_device = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                              .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
static const CUmemAccessDesc read_write = {{.type = CU_MEM_LOCATION_TYPE_DEVICE},
                                           CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

TEST(memory_is_mapped) {
    CUdeviceptr at, base = 0;
    CUmemGenericAllocationHandle first, second, same;
    CUmemAllocationProp properties = {0};
    unsigned long long flags = 9;
    size_t granularity = 0, before, now, total, size = 0;
    char *bytes = malloc(2 * CHUNK);
    OK(cuMemGetAllocationGranularity(&granularity, &on_device, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    assert_int_equal(granularity, CHUNK);
    OK(cuMemGetInfo(&before, &total));
    OK(cuMemAddressReserve(&at, 4 * CHUNK, 0, 0, 0));
    OK(cuMemCreate(&first, CHUNK, &on_device, 0));
    OK(cuMemCreate(&second, CHUNK, &on_device, 0));
    OK(cuMemGetInfo(&now, &total));
    assert_int_equal(before - now, 2 * CHUNK);
    OK(cuMemMap(at, CHUNK, 0, first, 0));
    OK(cuMemMap(at + CHUNK, CHUNK, 0, second, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemsetD8(at, 1, CHUNK));
    OK(cuMemSetAccess(at, 2 * CHUNK, &read_write, 1));
    OK(cuMemsetD8(at, 1, 2 * CHUNK)); /* over both */
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemsetD8(at, 1, 2 * CHUNK + 1));
    OK(cuMemcpyDtoH(bytes, at, 2 * CHUNK));
    assert_true(bytes[0] == 1 && bytes[2 * CHUNK - 1] == 1);
    OK(cuMemGetAccess(&flags, &read_write.location, at));
    assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(cuMemGetAllocationPropertiesFromHandle(&properties, first));
    assert_int_equal(properties.type, CU_MEM_ALLOCATION_TYPE_PINNED);
    OK(cuMemGetAddressRange(&base, &size, at + 5));
    assert_true(base == at);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemFree(at));
    OK(cuMemRelease(first)); /* it stays while it is mapped */
    OK(cuMemsetD8(at, 2, 1));
    OK(cuMemRetainAllocationHandle(&same, (void *)at));
    assert_int_equal(same, first);
    OK(cuMemUnmap(at, CHUNK));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemsetD8(at, 1, 1));
    OK(cuMemMap(at + 2 * CHUNK, CHUNK, 0, same, 0));
    OK(cuMemSetAccess(at + 2 * CHUNK, CHUNK, &read_write, 1));
    OK(cuMemcpyDtoH(bytes, at + 2 * CHUNK, 2));
    assert_true(bytes[0] == 2 && bytes[1] == 1);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(at, 4 * CHUNK));
    OK(cuMemUnmap(at + CHUNK, 2 * CHUNK));
    OK(cuMemRelease(same));
    OK(cuMemRelease(second));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemRelease(second));
    OK(cuMemAddressFree(at, 4 * CHUNK));
    OK(cuMemGetInfo(&now, &total));
    assert_int_equal(now, before);
    free(bytes);
}

TEST(mapping_that_is_refused) {
    CUdeviceptr at;
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp wrong = on_device;
    CUmemAccessDesc access = read_write;
    unsigned long long flags;
    size_t size;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(NULL, CHUNK, 0, 0, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(&at, 0, 0, 0, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(&at, 100, 0, 0, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(&at, CHUNK, 3, 0, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(&at, CHUNK, 0, 0, 1));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, 100, &on_device, 0));
    expect_reason("the size is 100 bytes, and must be a multiple of the granularity, which is "
                  "2097152, and not 0");
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemCreate(NULL, CHUNK, &on_device, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, CHUNK, NULL, 0));
    expect_reason("handle or prop is NULL");
    SAYS(CUDA_ERROR_OUT_OF_MEMORY, cuMemCreate(&handle, (size_t)CHUNK << 20, &on_device, 0));
    wrong.location.id = 9;
    SAYS(CUDA_ERROR_INVALID_DEVICE, cuMemCreate(&handle, CHUNK, &wrong, 0));
    wrong = on_device;
    wrong.type = CU_MEM_ALLOCATION_TYPE_INVALID;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, CHUNK, &wrong, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemGetAllocationGranularity(&size, &on_device, 7));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemGetAllocationGranularity(NULL, &on_device, 0));
    wrong = on_device;
    wrong.requestedHandleTypes = CU_MEM_HANDLE_TYPE_WIN32;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, CHUNK, &wrong, 0));
    expect_reason("handles of Windows do not exist here");
    wrong.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
    SAYS(CUDA_ERROR_NOT_PERMITTED, cuMemCreate(&handle, CHUNK, &wrong, 0));
    expect_reason("may not make fabric handles");
    OK(cuMemAddressReserve(&at, 2 * CHUNK, 4 * CHUNK, 0, 0));
    assert_int_equal(at % (4 * CHUNK), 0);
    OK(cuMemCreate(&handle, CHUNK, &on_device, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemMap(at + 1, CHUNK, 0, handle, 0));
    SAYS(CUDA_ERROR_NOT_SUPPORTED, cuMemMap(at, 2 * CHUNK, 0, handle, 0));
    SAYS(CUDA_ERROR_NOT_SUPPORTED, cuMemMap(at, CHUNK, CHUNK, handle, 0));
    expect_reason("the whole memory of 2097152 bytes is mapped or nothing");
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemMap(at, CHUNK, 0, 1234, 0));
    expect_reason("the handle is not one of cuMemCreate()");
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemMap(at + 2 * CHUNK, CHUNK, 0, handle, 0));
    expect_reason("are not addresses of one reservation by cuMemAddressReserve()");
    OK(cuMemUnmap(at, CHUNK)); /* nothing is there */
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(at + 2 * CHUNK, CHUNK));
    expect_reason("are not addresses of one reservation by cuMemAddressReserve()");
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess(at, CHUNK, &access, 1));
    expect_reason("do not begin and end where memory that is mapped does");
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemGetAccess(&flags, &access.location, at));
    OK(cuMemMap(at, CHUNK, 0, handle, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemMap(at, CHUNK, 0, handle, 0));
    expect_reason("memory is mapped to a part of the addresses at ");
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(at, CHUNK / 2));
    expect_reason("what one call of cuMemMap() mapped is unmapped only as a whole");
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(at, 2 * CHUNK));
    expect_reason("memory is still mapped to the addresses at ");
    access.location = (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_HOST};
    SAYS(CUDA_ERROR_NOT_SUPPORTED, cuMemSetAccess(at, CHUNK, &access, 1));
    expect_reason("the host cannot have access to memory of a device");
    access = read_write;
    access.location.id = 9;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess(at, CHUNK, &access, 1));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess(at, CHUNK, NULL, 1));
    expect_reason("no access is given");
    OK(cuMemUnmap(at, 2 * CHUNK));
    OK(cuMemUnmap(at, CHUNK));
    OK(cuMemRelease(handle));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(at, CHUNK));
    expect_reason("are not addresses that one call of cuMemAddressReserve() reserved");
    OK(cuMemAddressFree(at, 2 * CHUNK));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(at, 2 * CHUNK));
}

TEST(what_stays_mapped_is_a_leak) {
    CUdeviceptr at;
    CUmemGenericAllocationHandle handle;
    OK(cuMemAddressReserve(&at, CHUNK, 0, 0, 0));
    OK(cuMemCreate(&handle, CHUNK, &on_device, 0));
    OK(cuMemMap(at, CHUNK, 0, handle, 0));
    OK(cuMemSetAccess(at, CHUNK, &read_write, 1));
    OK(cuMemRelease(handle));
    assert_int_equal(acu_sim_leaks(0), 2);
    acu_sim_reset(MACHINE);
    assert_int_equal(acu_sim_leaks(0), 0);
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        T(nothing_works_before_init),
        T(the_driver_may_be_older_than_the_runtime),
        T(a_runtime_call_initializes),
        T(errors_have_names),
        C(entry_points),
        C(devices),
        T(primary_contexts),
        T(the_runtime_keeps_its_context),
        C(no_tool_profiles),
        C(a_reset_context_is_destroyed),
        C(contexts_are_stacked),
        C(the_current_context_is_the_runtimes_device),
        C(synchronizing_a_context_is_not_captured),
        C(what_contexts_say),
        C(no_error_is_left_with_the_runtime),
        C(memory),
        C(patterns),
        C(host_memory),
        C(what_a_pointer_is),
        C(streams_and_events_are_the_runtimes),
        C(host_functions),
        C(memory_is_mapped),
        C(mapping_that_is_refused),
        C(what_stays_mapped_is_a_leak),
    };
    return RUN(tests);
}
