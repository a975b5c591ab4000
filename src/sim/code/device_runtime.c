/*
 * What the device runtime answers is what it answered on an H100 (CUDA 13.0). Streams and events
 * are handles only: the children of a grid run in the order of the calls, which is an order that
 * all streams and events allow.
 */
#include "sim/code/device_runtime.h"

#include "sim/code/execute.h"
#include "sim/code/function.h"
#include "sim/code/heap.h"
#include "sim/device/context.h"
#include "sim/device/device.h"

#include <stdio.h>
#include <string.h>

typedef struct calling {
    acu_sim_descendants *children;
    const acu_sim_kernel_launch *launch;
    const acu_sim_module *module;
    ptx_runtime_call *call;
} calling;

/* Ends the kernel: the call is not one that a GPU would answer, or that is simulated. */
static cudaError_t end(const calling *c, int error, const char *what, const char *name) {
    c->call->fault = error;
    snprintf(c->call->what, sizeof c->call->what, "%.60s%.95s", what, name);
    return (cudaError_t)error;
}

/* Finds the kernel that the argument points to. */
static cudaError_t find_kernel(const calling *c, unsigned n, acu_sim_function **kernel) {
    *kernel = acu_sim_execute_function(c->module, c->call->arguments[n]);
    return *kernel ? cudaSuccess
                   : end(c, cudaErrorIllegalAddress, "the device runtime got no kernel", "");
}

/* ---- values ---- */

static void write_number(const calling *c, int value) {
    memcpy(c->call->out, &value, sizeof value);
}

static void write_address(const calling *c, uint64_t value) {
    memcpy(c->call->out, &value, sizeof value);
}

static cudaError_t get_attribute(const calling *c) {
    int value;
    cudaError_t result = acu_sim_cudaDeviceGetAttribute(
        &value, (enum cudaDeviceAttr)c->call->arguments[1], (int)c->call->arguments[2]);
    if (!result)
        write_number(c, value);
    return result;
}

static cudaError_t get_limit(const calling *c) {
    const uint64_t limit = c->call->arguments[1];
    const acu_sim_context *context = c->module->context;
    const bool known =
        limit != cudaLimitDevRuntimeSyncDepth && limit <= cudaLimitPersistingL2CacheSize;
    write_address(c, known ? context->limits[limit] : UINT64_MAX);
    return known ? cudaSuccess : cudaErrorUnsupportedLimit;
}

static cudaError_t get_function_attributes(const calling *c) {
    struct cudaFuncAttributes all;
    acu_sim_function *kernel;
    SIM_TRY(find_kernel(c, 1, &kernel));
    acu_sim_function_describe(kernel, &all);
    memcpy(c->call->out, &all, PTX_RUNTIME_FUNCTION_BYTES);
    return cudaSuccess;
}

static cudaError_t get_occupancy(const calling *c) {
    acu_sim_function *kernel;
    const uint64_t threads = c->call->arguments[2];
    SIM_TRY(find_kernel(c, 1, &kernel));
    if (!threads || threads > acu_sim_function_threads(kernel))
        return cudaErrorInvalidValue;
    write_number(c,
                 (int)acu_sim_function_occupancy(kernel, (unsigned)threads, c->call->arguments[3]));
    return cudaSuccess;
}

/* ---- memory ---- */

static cudaError_t take_memory(const calling *c) {
    if (!c->call->arguments[1])
        return cudaErrorInvalidValue;
    acu_sim_heap *heap = acu_sim_heap_of(c->module->context, true);
    const void *memory = heap ? acu_sim_heap_take(heap, c->call->arguments[1]) : NULL;
    write_address(c, (uintptr_t)memory);
    return memory ? cudaSuccess : cudaErrorMemoryAllocation;
}

static cudaError_t give_memory(const calling *c) {
    const void *memory = (const void *)(uintptr_t)c->call->arguments[0];
    acu_sim_heap *heap = acu_sim_heap_of(c->module->context, false);
    return !memory || (heap && acu_sim_heap_give(heap, memory)) ? cudaSuccess
                                                                : cudaErrorInvalidValue;
}

/* ---- streams and events ---- */

enum { TAIL_LAUNCH = 3, FIRST_HANDLE = 256 };

/* Streams have even handles behind those that CUDA names, such as cudaStreamTailLaunch. */
static bool is_stream(const calling *c, uint64_t handle) {
    return handle <= 4 || (handle >= FIRST_HANDLE && handle % 2 == 0 &&
                           (handle - FIRST_HANDLE) / 2 < c->children->handles);
}

static bool is_event(const calling *c, uint64_t handle) {
    return handle >= FIRST_HANDLE && handle % 2 == 1 &&
           (handle - FIRST_HANDLE) / 2 < c->children->handles;
}

static cudaError_t create(const calling *c, bool is_event) {
    const uint64_t flags = c->call->arguments[1];
    if (is_event ? flags != cudaEventDisableTiming : flags > cudaStreamNonBlocking)
        return cudaErrorInvalidValue;
    write_address(c, FIRST_HANDLE + 2 * c->children->handles++ + is_event);
    return cudaSuccess;
}

static cudaError_t use(const calling *c, bool valid) {
    (void)c;
    return valid ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

/* Returns whether the memory is such that all threads have. A copy of other memory, as of shared or
 * local memory, is refused; one beyond an allocation ends the kernel when it is made. */
static bool is_of_all(const calling *c, uint64_t address) {
    const void *at = (const void *)(uintptr_t)address;
    size_t bytes;
    acu_sim_heap *heap = acu_sim_heap_of(c->module->context, false);
    return acu_sim_kernel_launch_find(c->module->device, at, 1) ||
           (heap && acu_sim_heap_find(heap, at, &bytes));
}

static cudaError_t copy(const calling *c, bool sets) {
    const uint64_t *a = c->call->arguments, kind = sets ? 0 : a[3], stream = a[sets ? 3 : 4];
    if (!sets && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    if (!is_stream(c, stream))
        return cudaErrorInvalidResourceHandle;
    if (!a[2])
        return cudaSuccess;
    if (!is_of_all(c, a[0]) || (!sets && !is_of_all(c, a[1])))
        return cudaErrorInvalidValue;
    const acu_sim_descendant made = {.to = a[0],
                                     .from = sets ? 0 : a[1],
                                     .bytes = a[2],
                                     .sets = sets,
                                     .value = sets ? (unsigned char)a[1] : 0};
    return acu_sim_descendants_copy(c->children, &made, stream == TAIL_LAUNCH)
               ? cudaSuccess
               : cudaErrorMemoryAllocation;
}

/* ---- launches ---- */

/* Prepares a launch, whose arguments the kernel writes next. A wrong configuration is an error of
 * the thread, and there is no buffer. */
static cudaError_t get_buffer(const calling *c) {
    acu_sim_function *kernel;
    acu_sim_kernel_launch *prepared;
    size_t size = 0;
    char nothing = 0;
    void *extra[] = {(void *)1, &nothing, (void *)2, &size, NULL};
    const unsigned *grid = c->call->extents[1], *block = c->call->extents[2];
    const cudaLaunchConfig_t config = {.gridDim = {grid[0], grid[1], grid[2]},
                                       .blockDim = {block[0], block[1], block[2]},
                                       .dynamicSmemBytes = c->call->arguments[3]};
    SIM_TRY(find_kernel(c, 0, &kernel));
    cudaError_t result = acu_sim_kernel_launch_prepare(c->module->context, NULL, kernel, &config,
                                                       NULL, extra, false, &prepared);
    if (result == cudaErrorNotSupported)
        return end(c, result,
                   "it launches a kernel that cannot be executed: ", acu_sim_execute_why(kernel));
    if (result)
        return result == cudaErrorMemoryAllocation ? result : cudaErrorInvalidConfiguration;
    prepared->multiprocessors = c->launch->multiprocessors;
    if (!acu_sim_descendants_fill(c->children, prepared))
        return cudaErrorMemoryAllocation;
    c->call->result = (uintptr_t)prepared->arguments;
    return cudaSuccess;
}

static cudaError_t launch(const calling *c) {
    const uint64_t *a = c->call->arguments;
    if (!is_stream(c, a[1]))
        return cudaErrorInvalidResourceHandle;
    return acu_sim_descendants_launch(c->children, a[0], a[1] == TAIL_LAUNCH)
               ? cudaSuccess
               : end(c, cudaErrorIllegalAddress, "cudaLaunchDevice() got no buffer", "");
}

/* ---- calls ---- */

/* Does a call that returns an error. */
static cudaError_t answer(const calling *c) {
    const uint64_t *a = c->call->arguments;
    switch (c->call->function) {
    case PTX_RUNTIME_GET_DEVICE:
        write_number(c, c->module->device->index);
        return cudaSuccess;
    case PTX_RUNTIME_GET_DEVICE_COUNT:
        write_number(c, acu_sim_configuration()->devices);
        return cudaSuccess;
    case PTX_RUNTIME_GET_ATTRIBUTE:
        return get_attribute(c);
    case PTX_RUNTIME_GET_LIMIT:
        return get_limit(c);
    case PTX_RUNTIME_GET_CACHE_CONFIG:
        write_number(c, cudaFuncCachePreferNone);
        return cudaSuccess;
    case PTX_RUNTIME_GET_VERSION:
        write_number(c, 6000);
        return cudaSuccess;
    case PTX_RUNTIME_FUNCTION_ATTRIBUTES:
        return get_function_attributes(c);
    case PTX_RUNTIME_OCCUPANCY:
        return get_occupancy(c);
    case PTX_RUNTIME_MALLOC:
        return take_memory(c);
    case PTX_RUNTIME_FREE:
        return give_memory(c);
    case PTX_RUNTIME_COPY:
        return copy(c, false);
    case PTX_RUNTIME_SET:
        return copy(c, true);
    case PTX_RUNTIME_STREAM_CREATE:
        return create(c, false);
    case PTX_RUNTIME_STREAM_DESTROY:
        return use(c, is_stream(c, a[0]));
    case PTX_RUNTIME_STREAM_WAIT:
        return use(c, is_stream(c, a[0]) && is_event(c, a[1]));
    case PTX_RUNTIME_EVENT_CREATE:
        return create(c, true);
    case PTX_RUNTIME_EVENT_RECORD:
        return use(c, is_event(c, a[0]) && is_stream(c, a[1]));
    case PTX_RUNTIME_EVENT_DESTROY:
        return use(c, is_event(c, a[0]));
    case PTX_RUNTIME_PARAMETER_BUFFER:
        return get_buffer(c);
    case PTX_RUNTIME_LAUNCH:
        return launch(c);
    default:
        return end(c, cudaErrorNotSupported, "the device runtime has no such function", "");
    }
}

static void do_call(const calling *c) {
    ptx_runtime_call *call = c->call;
    const cudaError_t given = (cudaError_t)call->arguments[0];
    if (call->function == PTX_RUNTIME_GET_LAST_ERROR ||
        call->function == PTX_RUNTIME_PEEK_AT_LAST_ERROR) {
        call->result = acu_sim_descendants_error(c->children, call->thread,
                                                 call->function == PTX_RUNTIME_GET_LAST_ERROR);
    } else if (call->function == PTX_RUNTIME_GET_ERROR_NAME) {
        call->result = acu_sim_descendants_show(c->children, acu_sim_cudaGetErrorName(given));
    } else if (call->function == PTX_RUNTIME_GET_ERROR_STRING) {
        call->result = acu_sim_descendants_show(c->children, acu_sim_cudaGetErrorString(given));
    } else {
        const cudaError_t result = answer(c);
        if (result)
            acu_sim_descendants_set_error(c->children, call->thread, result);
        if (call->function != PTX_RUNTIME_PARAMETER_BUFFER)
            call->result = result;
    }
}

void acu_sim_device_runtime_call(acu_sim_descendants *children, const acu_sim_kernel_launch *launch,
                                 ptx_runtime_call *call) {
    pthread_mutex_lock(&acu_sim_lock);
    do_call(&(calling){
        .children = children, .launch = launch, .module = launch->function->module, .call = call});
    pthread_mutex_unlock(&acu_sim_lock);
}
