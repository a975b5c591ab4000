/*
 * What the device runtime answers is what it answered on an H200 (CUDA 13.0). Streams and events
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
    const int attribute = (int)c->call->arguments[1], device = (int)c->call->arguments[2];
    int value = 0;
    cudaError_t result =
        acu_sim_cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)attribute, device);
    if (!attribute && result == cudaErrorInvalidValue)
        result = cudaSuccess; /* to kernels, 0 is one whose value is 0 */
    if (!result || result == cudaErrorInvalidDevice)
        write_number(c, value);
    return result;
}

static cudaError_t get_limit(const calling *c) {
    enum { SHARED_LIMIT = 7, GRAPHICS_LIMIT = 8 }; /* of the driver's own */
    const uint64_t limit = c->call->arguments[1];
    const acu_sim_context *context = c->module->context;
    const bool known = limit != cudaLimitDevRuntimeSyncDepth && limit <= GRAPHICS_LIMIT;
    write_address(c, !known                    ? UINT64_MAX
                     : limit == GRAPHICS_LIMIT ? 0
                     : limit == SHARED_LIMIT
                         ? (uint64_t)acu_sim_device_attribute(
                               context->device, cudaDevAttrMaxSharedMemoryPerBlockOptin)
                         : context->limits[limit]);
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
    const unsigned threads = (unsigned)c->call->arguments[2];
    SIM_TRY(find_kernel(c, 1, &kernel));
    write_number(c, (int)acu_sim_function_occupancy(kernel, threads, c->call->arguments[3]));
    return threads ? cudaSuccess : cudaErrorInvalidValue;
}

/* ---- memory ---- */

static cudaError_t take_memory(const calling *c) {
    if (!c->call->arguments[1])
        return cudaErrorInvalidValue;
    acu_sim_heap *heap = acu_sim_heap_of(c->module->context, true);
    const void *memory = heap ? acu_sim_heap_take(heap, c->call->arguments[1]) : NULL;
    if (!memory)
        return cudaErrorMemoryAllocation;
    write_address(c, (uintptr_t)memory);
    return cudaSuccess;
}

static cudaError_t give_memory(const calling *c) {
    const void *memory = (const void *)(uintptr_t)c->call->arguments[0];
    bool overlooked;
    const cudaError_t result = acu_sim_heap_free(c->module->context, memory, &overlooked);
    return result ? end(c, result, "cudaFree() got no memory, or what is free", "") : cudaSuccess;
}

/* ---- streams and events ---- */

enum {
    TAIL_LAUNCH = 3,
    LAST_NAMED = 4, /* cudaStreamFireAndForget */
    FIRST_HANDLE = 256,
    MOST_EVENTS = 4096, /* of a grid */
};

/* Streams have even handles behind those that CUDA names, such as cudaStreamTailLaunch; events have
 * odd ones. Those that were destroyed are taken, too. */
static bool is_made(const calling *c, uint64_t handle, bool is_event) {
    return handle >= FIRST_HANDLE && handle % 2 == is_event &&
           (handle - FIRST_HANDLE) / 2 < c->children->handles;
}

static bool is_stream(const calling *c, uint64_t handle) {
    return handle <= LAST_NAMED || is_made(c, handle, false);
}

/* Returns whether events can be recorded there, and be waited for. */
static bool orders_events(const calling *c, uint64_t handle) {
    return handle < TAIL_LAUNCH || is_made(c, handle, false);
}

static cudaError_t use(bool valid) {
    return valid ? cudaSuccess : cudaErrorInvalidValue;
}

/* A GPU reads what an event's handle points to. */
static cudaError_t use_event(const calling *c, uint64_t handle) {
    return handle && !is_made(c, handle, true)
               ? end(c, cudaErrorIllegalAddress, "the device runtime got no event", "")
               : use(handle);
}

static cudaError_t create_stream(const calling *c) {
    if (c->call->arguments[1] > cudaStreamNonBlocking)
        return cudaErrorInvalidValue;
    write_address(c, FIRST_HANDLE + 2 * c->children->handles++);
    return cudaSuccess;
}

/* Those that were destroyed count, too. */
static cudaError_t create_event(const calling *c) {
    if ((c->call->arguments[1] & ~(uint64_t)cudaEventBlockingSync) != cudaEventDisableTiming)
        return cudaErrorInvalidValue;
    if (c->children->events == MOST_EVENTS)
        return cudaErrorMemoryAllocation;
    c->children->events++;
    write_address(c, FIRST_HANDLE + 2 * c->children->handles++ + 1);
    return cudaSuccess;
}

static cudaError_t record_event(const calling *c) {
    const uint64_t *a = c->call->arguments;
    SIM_TRY(use_event(c, a[0]));
    return use(orders_events(c, a[1]));
}

static cudaError_t wait_for_event(const calling *c) {
    const uint64_t *a = c->call->arguments;
    SIM_TRY(use_event(c, a[1]));
    return use(orders_events(c, a[0]));
}

/* ---- copies ---- */

/* Returns whether the address is of no memory, or of memory that not all threads have, as shared
 * and local memory. What else cannot be accessed ends the kernel when the copy is made. */
static bool is_own(uint64_t address) {
    return !address || address >> 48;
}

/* Queues a copy. */
static cudaError_t add_copy(const calling *c, const acu_sim_descendant_copy *copy, uint64_t kind,
                            uint64_t stream) {
    if (!copy->sets && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    if (!is_stream(c, stream))
        return cudaErrorUnknown;
    if (!copy->bytes || !copy->rows || !copy->slices)
        return cudaSuccess;
    if (is_own(copy->to.at) || (!copy->sets && is_own(copy->from.at)))
        return cudaErrorInvalidValue;
    return acu_sim_descendants_copy(c->children, copy, stream == TAIL_LAUNCH)
               ? cudaSuccess
               : cudaErrorMemoryAllocation;
}

static cudaError_t copy_bytes(const calling *c) {
    const uint64_t *a = c->call->arguments;
    const acu_sim_descendant_copy made = {
        .to = {a[0], 0, 0}, .from = {a[1], 0, 0}, .bytes = a[2], .rows = 1, .slices = 1};
    return add_copy(c, &made, a[3], a[4]);
}

/* Returns whether no row reaches into the next one; a single one has no next. */
static bool rows_fit(const acu_sim_descendant_copy *copy) {
    return copy->rows < 2 ||
           (copy->to.row >= copy->bytes && (copy->sets || copy->from.row >= copy->bytes));
}

static cudaError_t copy_rows(const calling *c) {
    const uint64_t *a = c->call->arguments;
    const acu_sim_descendant_copy made = {
        .to = {a[0], a[1], 0}, .from = {a[2], a[3], 0}, .bytes = a[4], .rows = a[5], .slices = 1};
    return rows_fit(&made) ? add_copy(c, &made, a[6], a[7]) : cudaErrorInvalidPitchValue;
}

static acu_sim_descendant_place place_of(struct cudaPitchedPtr pointer, struct cudaPos at) {
    const uint64_t slice = pointer.pitch * pointer.ysize;
    if (!pointer.ptr)
        return (acu_sim_descendant_place){0, pointer.pitch, slice};
    return (acu_sim_descendant_place){
        (uintptr_t)pointer.ptr + at.x + at.y * pointer.pitch + at.z * slice, pointer.pitch, slice};
}

/* Arrays have no memory of kernels. */
static cudaError_t copy_box(const calling *c) {
    struct cudaMemcpy3DParms box;
    memcpy(&box, c->call->in, sizeof box);
    if (box.srcArray || box.dstArray)
        return cudaErrorInvalidValue;
    const acu_sim_descendant_copy made = {.to = place_of(box.dstPtr, box.dstPos),
                                          .from = place_of(box.srcPtr, box.srcPos),
                                          .bytes = box.extent.width,
                                          .rows = box.extent.height,
                                          .slices = box.extent.depth};
    return rows_fit(&made) ? add_copy(c, &made, box.kind, c->call->arguments[1])
                           : cudaErrorInvalidPitchValue;
}

static cudaError_t set_bytes(const calling *c) {
    const uint64_t *a = c->call->arguments;
    const acu_sim_descendant_copy made = {.to = {a[0], 0, 0},
                                          .bytes = a[2],
                                          .rows = 1,
                                          .slices = 1,
                                          .sets = true,
                                          .value = (unsigned char)a[1]};
    return add_copy(c, &made, 0, a[3]);
}

static cudaError_t set_rows(const calling *c) {
    const uint64_t *a = c->call->arguments;
    const acu_sim_descendant_copy made = {.to = {a[0], a[1], 0},
                                          .bytes = a[3],
                                          .rows = a[4],
                                          .slices = 1,
                                          .sets = true,
                                          .value = (unsigned char)a[2]};
    return rows_fit(&made) ? add_copy(c, &made, 0, a[5]) : cudaErrorInvalidValue;
}

static cudaError_t set_box(const calling *c) {
    struct cudaPitchedPtr pointer;
    struct cudaExtent extent;
    memcpy(&pointer, c->call->large[0], sizeof pointer);
    memcpy(&extent, c->call->large[2], sizeof extent);
    const acu_sim_descendant_copy made = {.to = place_of(pointer, (struct cudaPos){0, 0, 0}),
                                          .bytes = extent.width,
                                          .rows = extent.height,
                                          .slices = extent.depth,
                                          .sets = true,
                                          .value = (unsigned char)c->call->arguments[1]};
    return rows_fit(&made) ? add_copy(c, &made, 0, c->call->arguments[3]) : cudaErrorInvalidValue;
}

/* ---- launches ---- */

enum { MOST_ARGUMENTS = 32764 }; /* bytes of a kernel's parameters */

/* Returns how much dynamic shared memory a child may have. Where the kernel may have more than
 * every kernel by its attribute, a child may have all that the device allows. */
static size_t most_shared(const acu_sim_function *kernel) {
    const acu_sim_device *device = kernel->module->device;
    const int usual = acu_sim_device_attribute(device, cudaDevAttrMaxSharedMemoryPerBlock),
              all = acu_sim_device_attribute(device, cudaDevAttrMaxSharedMemoryPerBlockOptin);
    const size_t own = kernel->entry->shared,
                 room = (size_t)((size_t)kernel->set.dynamic + own > (size_t)usual ? all : usual);
    return room > own ? room - own : 0;
}

/* Prepares a launch of a kernel by the grid and the block that are in two arguments from `dims` on,
 * and the shared memory behind them. Returns what refuses the configuration, with no launch. A
 * kernel that cannot be executed ends the one that calls. */
static cudaError_t prepare(const calling *c, acu_sim_function *kernel, unsigned dims,
                           acu_sim_kernel_launch **prepared) {
    size_t size = 0;
    char nothing = 0;
    void *extra[] = {(void *)1, &nothing, (void *)2, &size, NULL};
    const unsigned *grid = c->call->large[dims], *block = c->call->large[dims + 1];
    const cudaLaunchConfig_t config = {.gridDim = {grid[0], grid[1], grid[2]},
                                       .blockDim = {block[0], block[1], block[2]}};
    const size_t shared = (unsigned)c->call->arguments[dims + 2];
    if (shared > most_shared(kernel))
        return cudaErrorInvalidConfiguration;
    const cudaError_t result = acu_sim_kernel_launch_prepare(c->module->context, NULL, kernel,
                                                             &config, NULL, extra, false, prepared);
    if (result == cudaErrorNotSupported)
        return end(c, result,
                   "it launches a kernel that cannot be executed: ", acu_sim_execute_why(kernel));
    if (*prepared) {
        (*prepared)->multiprocessors = c->launch->multiprocessors;
        (*prepared)->processors = c->launch->processors;
        (*prepared)->shared = shared;
    }
    return result;
}

/* Prepares a launch, whose arguments the kernel writes next. A wrong configuration gets a buffer,
 * too, and is refused when it is launched. */
static cudaError_t get_launch_buffer(const calling *c) {
    acu_sim_function *kernel;
    acu_sim_kernel_launch *prepared = NULL;
    SIM_TRY(find_kernel(c, 0, &kernel));
    const cudaError_t result = prepare(c, kernel, 1, &prepared);
    if (result == cudaErrorNotSupported || result == cudaErrorMemoryAllocation)
        return result;
    c->call->result = acu_sim_descendants_fill(c->children, prepared, kernel->entry->param_room);
    return c->call->result ? cudaSuccess : cudaErrorMemoryAllocation;
}

/* A buffer for arguments, of so many bytes, which says nothing of a kernel. Memory of calloc() has
 * every alignment that a store can need. */
static cudaError_t get_buffer(const calling *c) {
    const uint64_t bytes = c->call->arguments[1];
    if (bytes <= MOST_ARGUMENTS)
        c->call->result = acu_sim_descendants_fill(c->children, NULL, bytes);
    return c->call->result ? cudaSuccess : cudaErrorMemoryAllocation;
}

/* Returns how many tails a grid may have. */
static size_t most_tails(const calling *c) {
    return c->module->context->limits[cudaLimitDevRuntimePendingLaunchCount];
}

/* Queues the prepared launch on the stream. */
static cudaError_t launch(const calling *c, acu_sim_descendant *child, uint64_t stream) {
    const bool in_tail = stream == TAIL_LAUNCH;
    if (!child->launch)
        return cudaErrorInvalidConfiguration;
    if (!is_stream(c, stream))
        return cudaErrorInvalidValue;
    if (in_tail && c->children->tails >= most_tails(c))
        return cudaErrorLaunchPendingCountExceeded;
    c->children->tails += in_tail;
    acu_sim_descendants_launch(c->children, child, in_tail);
    return cudaSuccess;
}

/* Finds the buffer that the argument points to. */
static cudaError_t find_buffer(const calling *c, unsigned n, acu_sim_descendant **buffer) {
    *buffer = acu_sim_descendants_filled(c->children, c->call->arguments[n]);
    return *buffer ? cudaSuccess
                   : end(c, cudaErrorIllegalAddress, "cudaLaunchDevice() got no buffer", "");
}

static cudaError_t launch_prepared(const calling *c) {
    acu_sim_descendant *child;
    SIM_TRY(find_buffer(c, 0, &child));
    return launch(c, child, c->call->arguments[1]);
}

/* Launches a kernel with a copy of the arguments in the buffer; NULL stands for none. */
static cudaError_t launch_kernel(const calling *c) {
    acu_sim_function *kernel;
    acu_sim_kernel_launch *prepared = NULL;
    acu_sim_descendant *buffer = NULL;
    SIM_TRY(find_kernel(c, 0, &kernel));
    if (c->call->arguments[1])
        SIM_TRY(find_buffer(c, 1, &buffer));
    const cudaError_t result = prepare(c, kernel, 2, &prepared);
    if (result == cudaErrorNotSupported || result == cudaErrorMemoryAllocation)
        return result;
    if (result)
        return cudaErrorInvalidConfiguration;
    const size_t room = kernel->entry->param_room;
    if (buffer)
        memcpy(prepared->arguments, buffer->arguments, buffer->bytes < room ? buffer->bytes : room);
    const uint64_t at = acu_sim_descendants_fill(c->children, prepared, room);
    return at ? launch(c, acu_sim_descendants_filled(c->children, at), c->call->arguments[5])
              : cudaErrorMemoryAllocation;
}

/* ---- calls ---- */

/* Does a call that returns an error. */
static cudaError_t answer(const calling *c) {
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
        return copy_bytes(c);
    case PTX_RUNTIME_COPY_ROWS:
        return copy_rows(c);
    case PTX_RUNTIME_COPY_BOX:
        return copy_box(c);
    case PTX_RUNTIME_SET:
        return set_bytes(c);
    case PTX_RUNTIME_SET_ROWS:
        return set_rows(c);
    case PTX_RUNTIME_SET_BOX:
        return set_box(c);
    case PTX_RUNTIME_STREAM_CREATE:
        return create_stream(c);
    case PTX_RUNTIME_STREAM_DESTROY:
        return use(is_made(c, c->call->arguments[0], false));
    case PTX_RUNTIME_STREAM_WAIT:
        return wait_for_event(c);
    case PTX_RUNTIME_EVENT_CREATE:
        return create_event(c);
    case PTX_RUNTIME_EVENT_RECORD:
        return record_event(c);
    case PTX_RUNTIME_EVENT_DESTROY:
        return use_event(c, c->call->arguments[0]);
    case PTX_RUNTIME_PARAMETER_BUFFER:
        return get_buffer(c);
    case PTX_RUNTIME_LAUNCH_BUFFER:
        return get_launch_buffer(c);
    case PTX_RUNTIME_LAUNCH_KERNEL:
        return launch_kernel(c);
    case PTX_RUNTIME_LAUNCH:
        return launch_prepared(c);
    case PTX_RUNTIME_GET_BANKS:
        write_number(c, cudaSharedMemBankSizeFourByte);
        return cudaSuccess;
    default:
        return end(c, cudaErrorNotSupported, "the device runtime has no such function", "");
    }
}

/* Returns whether an error of the function is the thread's last error. */
static bool is_remembered(ptx_runtime_function function) {
    return function != PTX_RUNTIME_GET_LIMIT && function != PTX_RUNTIME_OCCUPANCY;
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
        if (result && is_remembered(call->function))
            acu_sim_descendants_set_error(c->children, call->thread, result);
        if (call->function != PTX_RUNTIME_PARAMETER_BUFFER &&
            call->function != PTX_RUNTIME_LAUNCH_BUFFER)
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
