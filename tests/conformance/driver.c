/* The driver's devices and contexts beside the runtime, and finding its functions. */
#include "conformance.h"

CASE(devices) {
    CUdevice device = -1;
    int value = 0, count = 0, major = 0, minor = 0;
    char name[100] = "";
    size_t bytes = 0, total = 0, free_bytes = 0;
    OK(cudaFree(NULL));
    OK(cuDeviceGetCount(&count));
    OK(cuDeviceGet(&device, 0));
    EQUAL(device, 0);
    SAYS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, count));
    SAYS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, -1));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuDeviceGet(NULL, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuDeviceGetCount(NULL));
    OK(cuDeviceGetName(name, sizeof name, 0));
    IS(name[0] != '\0');
    OK(cuDeviceGetName(name, 4, 0));
    EQUAL(strlen(name), 3);
    SAYS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetName(name, 4, count));
    OK(cuDeviceTotalMem(&bytes, 0));
    OK(cudaMemGetInfo(&free_bytes, &total));
    IS(bytes == total);
    OK(cuDeviceComputeCapability(&major, &minor, 0));
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
    EQUAL(value, major);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuDeviceGetAttribute(&value, (CUdevice_attribute)7777, 0));
    SAYS(CUDA_ERROR_INVALID_DEVICE,
         cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, count));
}

LONE_CASE(nothing_works_before_init) {
    int value = 0;
    CUdevice device;
    CUcontext context;
    CUdeviceptr memory;
    OK(cuDriverGetVersion(&value)); /* the runtime would initialise the driver to tell this */
    OK(cudaRuntimeGetVersion(&value));
    /* A runtime 11 initialises the driver to tell its own version, too. */
    SAYS(FROM(12000, CUDA_ERROR_NOT_INITIALIZED, CUDA_SUCCESS), cuDeviceGetCount(&value));
    SAYS(FROM(12000, CUDA_ERROR_NOT_INITIALIZED, CUDA_SUCCESS), cuDeviceGet(&device, 0));
    SAYS(FROM(12000, CUDA_ERROR_NOT_INITIALIZED, CUDA_SUCCESS), cuCtxGetCurrent(&context));
    SAYS(FROM(12000, CUDA_ERROR_NOT_INITIALIZED, CUDA_ERROR_INVALID_CONTEXT),
         cuMemAlloc(&memory, 16));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuInit(1));
    OK(cuInit(0));
    OK(cuDeviceGetCount(&value));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&memory, 16));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize());
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetDevice(&device));
    OK(cuCtxGetCurrent(&context));
    IS(context == NULL);
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuCtxPopCurrent(&context));
}

LONE_CASE(the_runtime_initialises_the_driver_to_ask_for_its_version) {
    int value = 0;
    CUcontext context;
    CUdeviceptr memory;
    OK(cudaDriverGetVersion(&value));
    OK(cuDeviceGetCount(&value));
    OK(cuCtxGetCurrent(&context));
    IS(context == NULL);
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&memory, 16));
}

LONE_CASE(primary_contexts) {
    CUcontext one = NULL, same = NULL;
    unsigned flags = 9;
    int active = 9;
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    EQUAL(active, 0);
    EQUAL(flags, 0);
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease(0));
    OK(cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_SPIN));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuDevicePrimaryCtxSetFlags(0, 0x100));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuDevicePrimaryCtxSetFlags(0, 3));
    OK(cuDevicePrimaryCtxRetain(&one, 0));
    OK(cuDevicePrimaryCtxRetain(&same, 0));
    IS(one == same);
    OK(cuCtxGetCurrent(&same));
    IS(same == NULL);
    OK(cuDevicePrimaryCtxRelease(0));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    EQUAL(active, 1);
    EQUAL(flags, CU_CTX_SCHED_SPIN);
    OK(cuCtxSetCurrent(one));
    OK(cuCtxGetCurrent(&same));
    IS(same == one);
    OK(cuDevicePrimaryCtxRelease(0));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    EQUAL(active, 0);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuDevicePrimaryCtxRetain(NULL, 0));
    SAYS(CUDA_ERROR_INVALID_DEVICE, cuDevicePrimaryCtxRetain(&one, 999));
}

LONE_CASE(a_library_needs_no_context) {
    CUlibrary library;
    CUkernel kernel = NULL;
    CUcontext current = NULL;
    CUfunction function;
    OK(cuInit(0));
    OK(cuLibraryLoadData(&library,
                         ".version 7.0\n.target sm_52\n.address_size 64\n"
                         ".visible .entry nothing()\n{\n    ret;\n}\n",
                         NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&kernel, library, "nothing"));
    OK(cuCtxGetCurrent(&current));
    IS(current == NULL);
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuKernelGetFunction(&function, kernel));
    OK(cuLibraryUnload(library));
}

CASE(the_runtime_uses_the_primary_context) {
    CUcontext current = NULL, primary = NULL;
    CUdevice device = -1;
    void *memory;
    OK(cudaFree(NULL));
    OK(cuCtxGetCurrent(&current));
    OK(cuDevicePrimaryCtxRetain(&primary, 0));
    IS(current == primary);
    OK(cudaMalloc(&memory, 16));
    OK(cuDevicePrimaryCtxRelease(0));
    OK(cudaMemset(memory, 0, 16));
    OK(cuMemFree((CUdeviceptr)(uintptr_t)memory));
    OK(cuCtxGetDevice(&device));
    EQUAL(device, 0);
}

CASE(contexts_are_stacked) {
    CUcontext primary = NULL, top = NULL;
    OK(cudaFree(NULL));
    OK(cuCtxGetCurrent(&primary));
    OK(cuCtxPushCurrent(primary));
    OK(cuCtxPopCurrent(&top));
    IS(top == primary);
    OK(cuCtxGetCurrent(&top));
    IS(top == primary);
    OK(cuCtxSetCurrent(NULL));
    OK(cuCtxGetCurrent(&top));
    IS(top == NULL);
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize());
    OK(cudaFree(NULL)); /* the runtime makes it current again */
    OK(cuCtxGetCurrent(&top));
    IS(top == primary);
    OK(cuCtxPopCurrent(NULL));
    OK(cudaFree(NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuCtxPushCurrent(NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuCtxGetCurrent(NULL));
}

CASE(no_error_is_left_with_the_runtime) {
    CUdeviceptr memory;
    OK(cudaFree(NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(&memory, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(NULL, 16));
    SAYS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&memory, (size_t)1 << 50));
    EQUAL(cudaPeekAtLastError(), cudaSuccess);
}

CASE(what_a_context_says) {
    unsigned flags = 0, version = 0;
    size_t limit = 0;
    CUfunc_cache cache;
    int least = 1, greatest = 1;
    OK(cudaFree(NULL));
    OK(cuCtxGetFlags(&flags));
    /* conditional nodes, if there were any before, leave the other one behind */
    EQUAL(flags & ~(unsigned)CU_CTX_LMEM_RESIZE_TO_MAX, CU_CTX_MAP_HOST);
    OK(cuCtxGetApiVersion(NULL, &version));
    EQUAL(version, 3020);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuCtxGetApiVersion(NULL, NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuCtxGetFlags(NULL));
    OK(cuCtxGetLimit(&limit, CU_LIMIT_STACK_SIZE));
    EQUAL(limit, 1024);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuCtxGetLimit(&limit, (CUlimit)77));
    OK(cuCtxGetCacheConfig(&cache));
    OK(cuCtxSetCacheConfig(cache));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuCtxGetCacheConfig(NULL));
    OK(cuCtxGetStreamPriorityRange(&least, &greatest));
    EQUAL(least, 0);
    EQUAL(greatest, -5);
    OK(cuCtxSynchronize());
    SAYS(CUDA_ERROR_INVALID_VALUE, cuCtxDestroy(NULL));
}

/* ---- finding functions ---- */

CASE(entry_points) {
    void *fn = NULL, *other = NULL;
    CUdriverProcAddressQueryResult status;
    OK(cudaFree(NULL));
    OK(cuGetProcAddress("cuMemAlloc", &fn, driver(), 0, &status));
    IS(fn != NULL);
    EQUAL(status, CU_GET_PROC_ADDRESS_SUCCESS);
    SAYS(CUDA_SUCCESS, cuGetProcAddress("cuNoSuch", &fn, driver(), 0, &status));
    EQUAL(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    IS(fn == NULL);
    SAYS(CUDA_SUCCESS, cuGetProcAddress("cuFuncGetName", &fn, 12000, 0, &status));
    EQUAL(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    OK(cuGetProcAddress("cuLaunchKernel", &fn, driver(), 0, NULL));
    OK(cuGetProcAddress("cuLaunchKernel", &other, driver(),
                        CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, NULL));
    IS(fn != other);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress("cuInit", &fn, driver(), 99, &status));
}

CASE(entry_points_by_the_runtime) {
    void *fn = NULL;
    enum cudaDriverEntryPointQueryResult status;
    if (runtime() > driver()) { /* asks for its own version, of an older driver */
        FAILS(cudaErrorInvalidValue,
              cudaGetDriverEntryPoint("cuMemsetD32Async", &fn, cudaEnableDefault, &status));
        return;
    }
    OK(cudaGetDriverEntryPoint("cuMemsetD32Async", &fn, cudaEnableDefault, &status));
    IS(fn != NULL);
    EQUAL(status, cudaDriverEntryPointSuccess);
    OK(cudaGetDriverEntryPoint("cuNoSuch", &fn, cudaEnableDefault, &status));
    IS(fn == NULL);
    EQUAL(status, cudaDriverEntryPointSymbolNotFound);
    /* CUDA itself crashes where the function is to go to NULL */
    FAILS(cudaErrorInvalidValue, cudaGetDriverEntryPoint("cuInit", &fn, 99, &status));
}

CASE(names_of_errors) {
    const char *text = "x";
    OK(cuGetErrorName(CUDA_ERROR_INVALID_VALUE, &text));
    SAME_TEXT(text, "CUDA_ERROR_INVALID_VALUE");
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGetErrorName((CUresult)12345, &text));
    IS(text == NULL);
    OK(cuGetErrorString(CUDA_SUCCESS, &text));
    IS(text && text[0]);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGetErrorString((CUresult)12345, &text));
    IS(text == NULL);
    OK(cuGetErrorString(CUDA_ERROR_INVALID_VALUE, &text));
    SAME_TEXT(text, "invalid argument");
    OK(cuGetErrorString(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, &text));
    SAME_TEXT(text, "the graph update was not performed because it included changes which violated "
                    "constraints specific to instantiated graph update");
    SAME_TEXT(cudaGetErrorString(cudaErrorInvalidPitchValue), "invalid pitch argument");
    SAME_TEXT(cudaGetErrorString((cudaError_t)77777), "unrecognized error code");
}

/* ---- memory ---- */

CASE(patterns) {
    CUdeviceptr at;
    unsigned short twos[16] = {0};
    unsigned fours[8] = {0};
    OK(cudaFree(NULL));
    OK(cuMemAlloc(&at, 32));
    OK(cuMemsetD16(at, 0x1234, 16));
    OK(cuMemcpyDtoH(twos, at, sizeof twos));
    EQUAL(twos[15], 0x1234);
    OK(cuMemsetD32Async(at, 0xdeadbeef, 4, NULL));
    OK(cuMemcpyDtoH(fours, at, sizeof fours));
    EQUAL(fours[3], 0xdeadbeef);
    EQUAL(fours[4], 0x12341234);
    OK(cuMemsetD8(at, 1, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemsetD32(at + 2, 1, 1));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemsetD16(at + 1, 1, 1));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemsetD16(at, 1, (size_t)1 << 40));
    OK(cuMemFree(at));
}

CASE(ranges) {
    CUdeviceptr at, base = 0;
    size_t size = 0;
    OK(cudaFree(NULL));
    OK(cuMemAlloc(&at, 1000));
    OK(cuMemGetAddressRange(&base, &size, at + 10));
    IS(base == at && size == 1000);
    OK(cuMemGetAddressRange(NULL, &size, at));
    OK(cuMemGetAddressRange(&base, NULL, at));
    OK(cuMemFree(at));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemFree(at));
    OK(cuMemFree(0));
    SAYS(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange(&base, &size, at));
    SAYS(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange(&base, &size, (CUdeviceptr)(uintptr_t)&size));
}

CASE(pointers) {
    unsigned type = 0, managed = 9;
    int ordinal = 9;
    CUdeviceptr at, start = 0;
    CUcontext owner = NULL, current = NULL;
    size_t size = 0;
    void *host = NULL;
    CUpointer_attribute both[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void *to[] = {&type, &ordinal};
    OK(cudaFree(NULL));
    OK(cuCtxGetCurrent(&current));
    OK(cuMemAlloc(&at, 100));
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at + 50));
    EQUAL(type, CU_MEMORYTYPE_DEVICE);
    OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at));
    EQUAL(ordinal, 0);
    OK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, at));
    EQUAL(managed, 0);
    OK(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, at));
    IS(owner == current);
    OK(cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, at + 50));
    OK(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, at + 50));
    IS(start == at && size == 100);
    OK(cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, at + 50));
    IS(start == at + 50);
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, at));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                                         (CUdeviceptr)(uintptr_t)&type));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuPointerGetAttribute(NULL, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(&type, (CUpointer_attribute)777, at));
    OK(cuPointerGetAttributes(2, both, to, at));
    EQUAL(type, CU_MEMORYTYPE_DEVICE);
    OK(cuPointerGetAttributes(2, both, to, (CUdeviceptr)(uintptr_t)&type));
    EQUAL(type, 0);
    EQUAL(ordinal, -2);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttributes(0, both, to, at));
    OK(cuMemFree(at));
    OK(cudaMallocHost(&host, 100));
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                             (CUdeviceptr)(uintptr_t)host));
    EQUAL(type, CU_MEMORYTYPE_HOST);
    OK(cudaFreeHost(host));
    OK(cudaMallocManaged(&host, 100, cudaMemAttachGlobal));
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                             (CUdeviceptr)(uintptr_t)host));
    EQUAL(type, CU_MEMORYTYPE_DEVICE);
    OK(cudaFree(host));
}

CASE(handles_are_the_runtimes) {
    CUstream stream;
    CUevent event;
    CUcontext owner = NULL, current = NULL;
    unsigned flags = 0;
    OK(cudaFree(NULL));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cudaEventRecord((cudaEvent_t)event, (cudaStream_t)stream));
    OK(cuEventSynchronize(event));
    OK(cudaStreamGetFlags((cudaStream_t)stream, &flags));
    EQUAL(flags, cudaStreamNonBlocking);
    OK(cuCtxGetCurrent(&current));
    OK(cuStreamGetCtx(stream, &owner));
    IS(owner == current);
    OK(cuStreamWaitEvent(stream, event, 0));
    OK(cudaEventDestroy((cudaEvent_t)event));
    OK(cudaStreamDestroy((cudaStream_t)stream));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamCreate(NULL, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamCreate(&stream, 0x777));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuEventCreate(NULL, 0));
}
