/* The current context, deprecated and small functions of devices, entry points. */
#include "fuzz.h"

static void shared_config(void) {
    const int wanted = ONE_OF(-1, 0, 1, 2, 3, 7);
    enum cudaSharedMemConfig got = (enum cudaSharedMemConfig)9;
    if (one_in(2)) {
        call("cudaDeviceSetSharedMemConfig(%d)", wanted);
        answer(cudaDeviceSetSharedMemConfig((enum cudaSharedMemConfig)wanted), "%s", "");
    } else {
        call("cudaDeviceGetSharedMemConfig()");
        const cudaError_t result = cudaDeviceGetSharedMemConfig(&got);
        answer(result, "%d", (int)got);
    }
}

/* What is deprecated; cudaThreadExit() would end everything. */
static void of_thread(void) {
    const int wanted = ONE_OF(-1, 0, 1, 2, 3, 4);
    enum cudaFuncCache config = (enum cudaFuncCache)9;
    size_t value = 7;
    switch (below(5)) {
    case 0:
        call("cudaThreadSynchronize()");
        answer(cudaThreadSynchronize(), "%s", "");
        break;
    case 1: {
        call("cudaThreadGetLimit(%d)", wanted);
        const cudaError_t result = cudaThreadGetLimit(&value, (enum cudaLimit)wanted);
        answer(result, "%s", value == 7 ? "same" : "written");
        break;
    }
    case 2:
        call("cudaThreadSetLimit(%d, 4096)", wanted);
        answer(cudaThreadSetLimit((enum cudaLimit)wanted, 4096), "%s", "");
        break;
    case 3: {
        call("cudaThreadGetCacheConfig()");
        const cudaError_t result = cudaThreadGetCacheConfig(&config);
        answer(result, "%d", (int)config);
        break;
    }
    default:
        call("cudaThreadSetCacheConfig(%d)", wanted);
        answer(cudaThreadSetCacheConfig((enum cudaFuncCache)wanted), "%s", "");
    }
}

static void small_calls(void) {
    struct cudaDeviceProp wanted;
    int device = -7;
    switch (below(5)) {
    case 0: {
        memset(&wanted, 0, sizeof wanted);
        wanted.major = ONE_OF(0, 3, 9, 100);
        call("cudaChooseDevice(%d)", wanted.major);
        const cudaError_t result = cudaChooseDevice(&device, &wanted);
        answer(result, "%s", device == -7 ? "same" : "written");
        break;
    }
    case 1:
        call("cudaProfilerStart()");
        answer(cudaProfilerStart(), "%s", "");
        break;
    case 2:
        call("cudaProfilerStop()");
        answer(cudaProfilerStop(), "%s", "");
        break;
    case 3:
        call("cudaCtxResetPersistingL2Cache()");
        answer(cudaCtxResetPersistingL2Cache(), "%s", "");
        break;
    default: {
        const int target = ONE_OF(0, 0, 1, -1), scope = ONE_OF(100, 200, 0, 150);
        call("cudaDeviceFlushGPUDirectRDMAWrites(%d, %d)", target, scope);
        answer(cudaDeviceFlushGPUDirectRDMAWrites((enum cudaFlushGPUDirectRDMAWritesTarget)target,
                                                  (enum cudaFlushGPUDirectRDMAWritesScope)scope),
               "%s", "");
    }
    }
}

static void entry_point(void) {
    static const char *const symbols[] = {"cuMemAlloc", "cuLaunchKernel", "cuStreamBeginCapture",
                                          "nothing of it", ""};
    const char *symbol = symbols[below(sizeof symbols / sizeof *symbols)];
    const unsigned long long flags = (unsigned long long)ONE_OF(0, 0, 0, 1, 2, 3, 8);
    enum cudaDriverEntryPointQueryResult status = (enum cudaDriverEntryPointQueryResult)77;
    void *found = UNWRITTEN;
    cudaError_t result;
    if (one_in(2)) {
        call("cudaGetDriverEntryPoint(\"%s\", %llu)", symbol, flags);
        result = cudaGetDriverEntryPoint(symbol, &found, flags, &status);
    } else {
        const unsigned version = (unsigned)ONE_OF(0, 2000, 11000, 12000, 13000, 99000);
        call("cudaGetDriverEntryPointByVersion(\"%s\", %u, %llu)", symbol, version, flags);
        result = cudaGetDriverEntryPointByVersion(symbol, &found, version, flags, &status);
    }
    answer(result, "%s %d", handle_state(found), (int)status);
}

/* Which atomic operations there are depends on the machine. */
static void atomics(void) {
    unsigned capabilities[2] = {77, 77};
    const enum cudaAtomicOperation operations[2] = {(enum cudaAtomicOperation)ONE_OF(0, 1, 5, 99),
                                                    (enum cudaAtomicOperation)0};
    const unsigned count = (unsigned)ONE_OF(0, 1, 1, 2);
    const int device = any_device(), other = any_device();
    cudaError_t result;
    if (one_in(2)) {
        call("cudaDeviceGetHostAtomicCapabilities({%d}, %u, %d)", (int)operations[0], count,
             device);
        result = cudaDeviceGetHostAtomicCapabilities(capabilities, operations, count, device);
    } else {
        call("cudaDeviceGetP2PAtomicCapabilities({%d}, %u, %d, %d)", (int)operations[0], count,
             device, other);
        result = cudaDeviceGetP2PAtomicCapabilities(capabilities, operations, count, device, other);
    }
    answer(result, "%s", capabilities[0] == 77 ? "same" : "written");
}

/* Whether a code has a text of its own. */
static void error_strings(void) {
    const int code = ONE_OF(0, 1, 2, 5, 36, 46, 51, 100, 127, 400, 719, 900, 918, 999, 12345, -1);
    const char *text = NULL;
    call("cudaGetErrorString(%d)", code);
    const char *got = cudaGetErrorString((cudaError_t)code);
    answer(0, "%s", strcmp(got, cudaGetErrorString((cudaError_t)12345)) ? "known" : "unknown");
    call("cuGetErrorString(%d)", code);
    const CUresult result = cuGetErrorString((CUresult)code, &text);
    answer(result, "%s", text ? "known" : "NULL");
}

/* ---- the driver ---- */

static void push_context(void) {
    CUcontext current = NULL, popped = UNWRITTEN;
    if (cuCtxGetCurrent(&current) || !current)
        return;
    call("cuCtxPushCurrent(current)");
    const CUresult result = cuCtxPushCurrent(current);
    answer(result, "%s", "");
    if (result)
        return;
    call("cuCtxPopCurrent()");
    const CUresult second = cuCtxPopCurrent(&popped);
    answer(second, "%s", popped == current ? "current" : handle_state(popped));
}

static void context_config(void) {
    const int wanted = ONE_OF(-1, 0, 1, 2, 3, 4);
    CUfunc_cache config = (CUfunc_cache)9;
    switch (below(4)) {
    case 0: {
        const int limit = ONE_OF(0, 1, 2, 3, 4, 5, 6, 12);
        const size_t value = any_limit(limit);
        call("cuCtxSetLimit(%d, %zu)", limit, value);
        answer(cuCtxSetLimit((CUlimit)limit, value), "%s", "");
        break;
    }
    case 1:
        call("cuCtxSetCacheConfig(%d)", wanted);
        answer(cuCtxSetCacheConfig((CUfunc_cache)wanted), "%s", "");
        break;
    case 2: {
        call("cuCtxGetCacheConfig()");
        const CUresult result = cuCtxGetCacheConfig(&config);
        answer(result, "%d", (int)config);
        break;
    }
    default:
        call("cuCtxResetPersistingL2Cache()");
        answer(cuCtxResetPersistingL2Cache(), "%s", "");
    }
}

static void describe_driver_device(void) {
    const int device = any_device();
    size_t bytes = 7;
    int major = -7, minor = -7;
    CUresult result;
    if (one_in(2)) {
        call("cuDeviceTotalMem(%d)", device);
        result = cuDeviceTotalMem(&bytes, device);
        answer(result, "%s", bytes == 7 ? "same" : "written");
    } else {
        call("cuDeviceComputeCapability(%d)", device);
        result = cuDeviceComputeCapability(&major, &minor, device);
        answer(result, "%s", major == -7 ? "same" : "written");
    }
}

const operation context_operations[] = {
    OPERATION(shared_config, 2, false),
    OPERATION(of_thread, 3, false),
    OPERATION(small_calls, 3, false),
    OPERATION(entry_point, 2, false),
    OPERATION(atomics, 1, false),
    OPERATION(error_strings, 1, false),
    OPERATION(push_context, 2, false),
    OPERATION(context_config, 3, false),
    OPERATION(describe_driver_device, 1, false),
    OPERATION(NULL, 0, false),
};
