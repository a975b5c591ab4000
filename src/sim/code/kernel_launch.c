/*
 * Kernel launches. Every launch is prepared first: validated, with its arguments copied. A stream's
 * operation runs a prepared launch, and so does a kernel node of a graph.
 */
#include "sim/code/kernel_launch.h"
#include "sim/code/reference.h"

#include "core/record.h"
#include "sim/behaviour.h"
#include "sim/code/execute.h"
#include "sim/code/function.h"
#include "sim/code/image.h"
#include "sim/code/module.h"
#include "sim/device/context.h"
#include "sim/device/device.h"
#include "sim/device/device_resource.h"
#include "sim/memory/guard.h"
#include "sim/memory/memory.h"
#include "sim/memory/multicast.h"
#include "sim/memory/range.h"
#include "sim/memory/running.h"
#include "sim/stream/capture.h"
#include "sim/stream/event.h"
#include "sim/stream/execution_context.h"
#include "sim/stream/op.h"
#include "sim/stream/stream.h"

#include <limits.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the C functions of kernels ---- */

static struct {
    char *name;
    acu_sim_kernel function;
} *registered;
static size_t registered_count;
static unsigned registrations = 1; /* 0 is an entry that was never looked up */

static acu_sim_kernel find_registered(const char *name) {
    for (size_t i = 0; i < registered_count; i++)
        if (strcmp(registered[i].name, name) == 0)
            return registered[i].function;
    return NULL;
}

bool acu_sim_kernel_is_registered(const char *name) {
    return find_registered(name) != NULL;
}

static int record_function(const char *name, acu_sim_kernel function) {
    for (size_t i = 0; i < registered_count; i++)
        if (strcmp(registered[i].name, name) == 0) {
            registered[i].function = function;
            return cudaSuccess;
        }
    void *grown = realloc(registered, (registered_count + 1) * sizeof *registered);
    if (!grown)
        return cudaErrorMemoryAllocation;
    registered = grown;
    size_t size = strlen(name) + 1;
    char *copy = malloc(size);
    if (!copy)
        return cudaErrorMemoryAllocation;
    registered[registered_count].name = memcpy(copy, name, size);
    registered[registered_count++].function = function;
    return cudaSuccess;
}

int acu_sim_register(const char *name, acu_sim_kernel function) {
    if (!name || !*name)
        return cudaErrorInvalidValue;
    pthread_mutex_lock(&acu_sim_lock);
    int result = record_function(name, function);
    registrations++;
    pthread_mutex_unlock(&acu_sim_lock);
    return result;
}

static acu_sim_kernel registered_function(acu_sim_entry *entry) {
    if (entry->looked_up != registrations)
        entry->function = find_registered(entry->name);
    entry->looked_up = registrations;
    return entry->function;
}

/* Returns whether the kernel has a C function, or PTX that can be executed. Reports each kernel
 * once that has neither. */
static bool can_run(const acu_sim_function *function) {
    acu_sim_entry *entry = function->entry;
    if (registered_function(entry))
        return true;
    if (acu_sim_execute_prepare(function))
        return true;
    if (!entry->reported)
        fprintf(
            stderr,
            "anycuda: simulator: kernel \"%s\" cannot be launched: %s; a C function can stand for "
            "it: acu_sim_register(\"%s\", function)\n",
            entry->name, acu_sim_execute_why(function), entry->name);
    entry->reported = true;
    return false;
}

/* ---- running ---- */

/* A running kernel. */
struct acu_sim_run {
    jmp_buf end; /* where acu_sim_at() jumps to, to end the kernel */
    acu_sim_device *device;
    cudaError_t result;
};

/* Returns the allocation that all of the bytes are in; NULL if there is none, or the device cannot
 * access it. Memory that is freed in stream order is accessible until it is gone, because the
 * free may come after this kernel. */
const acu_sim_range *acu_sim_kernel_launch_find(const acu_sim_device *device, const void *address,
                                                size_t bytes) {
    const acu_sim_range *range = acu_sim_range_overlapping((uintptr_t)address, 1);
    if (!range || range->dormant || bytes > range->base + range->size - (uintptr_t)address)
        return NULL;
    return acu_sim_range_allows_access(range, device) ? range : NULL;
}

/* Ends the kernel. */
static _Noreturn void fail_at(const acu_sim_launch *launch, const void *address, size_t bytes,
                              const char *why) {
    fprintf(stderr,
            "anycuda: simulator: kernel \"%s\": illegal address: %zu bytes at %p are %s device %d "
            "can access\n",
            launch->kernel, bytes, address, why, launch->device);
    launch->run->result = cudaErrorIllegalAddress;
    longjmp(launch->run->end, 1);
}

void *acu_sim_at(const acu_sim_launch *launch, const void *address, size_t bytes) {
    const struct acu_sim_run *run = launch->run;
    if (bytes == 0) /* a kernel that touches nothing may have any pointer */
        return (void *)(uintptr_t)address;
    pthread_mutex_lock(&acu_sim_lock);
    const acu_sim_range *range = acu_sim_kernel_launch_find(run->device, address, bytes);
    const bool multicast = range && range->multicast;
    void *at = range && !multicast ? acu_sim_range_bytes(range, address) : NULL;
    if (!at)
        acu_sim_guard_explain(address);
    pthread_mutex_unlock(&acu_sim_lock);
    if (at)
        return at;
    fail_at(launch, address, bytes,
            multicast ? "of a multicast object, which only multimem instructions, and so "
                        "acu_sim_multicast_at() on"
                      : "not in one allocation that");
}

size_t acu_sim_multicast_at(const acu_sim_launch *launch, const void *address, size_t bytes,
                            void **places, size_t room) {
    pthread_mutex_lock(&acu_sim_lock);
    const bool accessible = acu_sim_kernel_launch_find(launch->run->device, address, bytes);
    const size_t count =
        accessible ? acu_sim_multicast_places(address, bytes, places, places ? room : 0) : 0;
    pthread_mutex_unlock(&acu_sim_lock);
    if (!count)
        fail_at(launch, address, bytes,
                "not of one multicast object, to which each device has bound memory, that");
    return count;
}

_Noreturn void acu_sim_kernel_end(const acu_sim_launch *launch, const char *what,
                                  unsigned long long value) {
    fprintf(stderr, "anycuda: simulator: kernel \"%s\": 0x%llx is %s\n", launch->kernel, value,
            what);
    launch->run->result = cudaErrorIllegalAddress;
    longjmp(launch->run->end, 1);
}

/* Writes how many blocks a launch has where so many are asked for; UINT_MAX where that is more. */
static void count_blocks(const acu_sim_entry *entry, const unsigned asked[3], unsigned grid[3]) {
    for (unsigned n = 0; n < 3; n++) {
        const bool is_multiple = entry->blocks_are_clusters && entry->cluster[n];
        const uint64_t blocks = (uint64_t)asked[n] * (is_multiple ? entry->cluster[n] : 1);
        grid[n] = blocks < UINT_MAX ? (unsigned)blocks : UINT_MAX;
    }
}

void acu_sim_kernel_launch_extents(const acu_sim_kernel_launch *prepared, unsigned grid[3],
                                   unsigned block[3]) {
    const acu_sim_entry *entry = prepared->function->entry;
    const unsigned *asked = prepared->block;
    const bool is_one = asked[0] == 1 && asked[1] == 1 && asked[2] == 1;
    count_blocks(entry, prepared->grid, grid);
    for (unsigned n = 0; n < 3; n++)
        block[n] = is_one && entry->threads[n] ? entry->threads[n] : asked[n];
}

/* Calls the function, which must not call CUDA: `in_callback` makes that fail. */
static cudaError_t execute(const acu_sim_kernel_launch *prepared, acu_sim_kernel function,
                           acu_sim_thread *self) {
    const acu_sim_entry *entry = prepared->function->entry;
    struct acu_sim_run run = {.device = prepared->function->module->device};
    acu_sim_launch launch = {.kernel = entry->name,
                             .shared = prepared->shared,
                             .device = run.device->index,
                             .multiprocessors = prepared->multiprocessors,
                             .run = &run};
    acu_sim_kernel_launch_extents(prepared, launch.grid, launch.block);
    memcpy(launch.cluster, prepared->cluster, sizeof launch.cluster);
    self->in_callback = true;
    if (setjmp(run.end) == 0)
        function(&launch, prepared->args);
    self->in_callback = false;
    return run.result;
}

/* Runs one grid, and adds what it launches to `children`. */
static cudaError_t run_grid(const acu_sim_kernel_launch *prepared, acu_sim_descendants *children) {
    acu_sim_thread *self = acu_sim_self();
    acu_sim_kernel function = NULL;
    pthread_mutex_lock(&acu_sim_lock);
    acu_sim_running_begin(&self->running);
    bool loaded = prepared->function->module->loaded;
    bool runs = loaded && can_run(prepared->function);
    if (runs)
        function = registered_function(prepared->function->entry);
    if (!loaded)
        fprintf(stderr,
                "anycuda: simulator: kernel \"%s\" cannot run: its module or library was unloaded "
                "after the launch was prepared; keep it loaded while a graph has the kernel\n",
                prepared->function->entry->name);
    pthread_mutex_unlock(&acu_sim_lock);
    const cudaError_t result = function ? execute(prepared, function, self)
                               : runs   ? acu_sim_execute_run(prepared, children)
                               : loaded ? cudaErrorNotSupported
                                        : cudaErrorLaunchFailure;
    acu_sim_running_end(&self->running);
    return result;
}

/* A grid ends after all that it and its children launched. */
cudaError_t acu_sim_kernel_launch_run(const acu_sim_kernel_launch *prepared) {
    acu_sim_descendants children = {.first = NULL};
    cudaError_t result = run_grid(prepared, &children);
    for (acu_sim_descendant *next;
         !result && (next = acu_sim_descendants_take(&children)) != NULL;) {
        result = next->launch
                     ? run_grid(next->launch, &children)
                     : acu_sim_descendant_copy_run(&next->copy, prepared->function->module);
        acu_sim_descendant_free(next);
    }
    acu_sim_descendants_clear(&children);
    return result;
}

/* ---- validating ---- */

static size_t volume(const unsigned extent[3]) {
    return (size_t)extent[0] * extent[1] * extent[2];
}

/* Returns whether the device allows the extents; `first` is the attribute of the limit in x. */
static bool is_within_limits(const acu_sim_device *device, const unsigned extent[3],
                             enum cudaDeviceAttr first) {
    for (int i = 0; i < 3; i++)
        if (extent[i] == 0 || extent[i] > (unsigned)acu_sim_device_attribute(
                                              device, (enum cudaDeviceAttr)((int)first + i)))
            return false;
    return true;
}

static cudaError_t refuse_size(const char *what, const unsigned extent[3],
                               const acu_sim_device *device) {
    return SIM_REFUSE(acu_sim_behaviour_bad_grid_is_a_value() ? cudaErrorInvalidValue
                                                              : cudaErrorInvalidConfiguration,
                      "a part of the %s of %u x %u x %u is 0, or it is larger than the limits "
                      "of device %d",
                      what, extent[0], extent[1], extent[2], device->index);
}

/* Refuses a block with another size than that which the kernel was compiled for. */
static cudaError_t refuse_threads(const acu_sim_entry *entry, size_t threads) {
    return SIM_REFUSE(cudaErrorInvalidValue,
                      "the block has %zu threads, which the kernel \"%s\" was not compiled for: "
                      "its .reqntid or .maxntid (__launch_bounds__) says how many it takes",
                      threads, entry->name);
}

static cudaError_t validate_block(const acu_sim_kernel_launch *prepared,
                                  const acu_sim_device *device) {
    const acu_sim_entry *entry = prepared->function->entry;
    unsigned grid[3], block[3];
    acu_sim_kernel_launch_extents(prepared, grid, block);
    size_t threads = volume(block);
    if (!is_within_limits(device, block, cudaDevAttrMaxBlockDimX) ||
        threads > (size_t)acu_sim_device_attribute(device, cudaDevAttrMaxThreadsPerBlock))
        return refuse_size("block", block, device);
    for (int i = 0; entry->threads[0] && i < 3; i++)
        if (block[i] != entry->threads[i])
            return refuse_threads(entry, threads);
    if (entry->max_threads[0] && threads > volume(entry->max_threads))
        return refuse_threads(entry, threads);
    /* Of a cooperative launch an H200 says that no block fits: validate_cooperative(). */
    return !prepared->cooperative && threads > acu_sim_function_threads(prepared->function)
               ? cudaErrorLaunchOutOfResources
               : cudaSuccess;
}

static cudaError_t validate_shared(const acu_sim_kernel_launch *prepared) {
    const size_t allowed = (size_t)prepared->function->set.dynamic;
    return prepared->shared > allowed
               ? SIM_REFUSE(cudaErrorInvalidValue,
                            "the launch asks for %zu bytes of dynamic shared memory, and the "
                            "kernel may use %zu: raise its attribute "
                            "cudaFuncAttributeMaxDynamicSharedMemorySize",
                            prepared->shared, allowed)
               : cudaSuccess;
}

static cudaError_t validate_cooperative(const acu_sim_kernel_launch *prepared,
                                        const acu_sim_device *device) {
    if (!prepared->cooperative)
        return cudaSuccess;
    if (!acu_sim_device_attribute(device, cudaDevAttrCooperativeLaunch))
        return cudaErrorNotSupported;
    unsigned grid[3], block[3];
    acu_sim_kernel_launch_extents(prepared, grid, block);
    size_t fit =
        (size_t)prepared->multiprocessors *
        acu_sim_function_occupancy(prepared->function, (unsigned)volume(block), prepared->shared);
    return volume(grid) > fit
               ? SIM_REFUSE(cudaErrorCooperativeLaunchTooLarge,
                            "the grid has %zu blocks, and %zu of them fit on %u multiprocessors of "
                            "device %d at once, as a cooperative launch needs",
                            volume(grid), fit, prepared->multiprocessors, device->index)
               : cudaSuccess;
}

static cudaError_t validate(acu_sim_kernel_launch *prepared, const acu_sim_device *device,
                            const cudaLaunchConfig_t *config, bool in_graph) {
    cudaError_t attributes = acu_sim_function_read_attributes(config, in_graph, prepared->cluster,
                                                              &prepared->cooperative);
    /* CUDA looks at the size of a block before it looks at clusters of none. */
    if (attributes == cudaErrorInvalidClusterSize && !in_graph)
        SIM_TRY(validate_block(prepared, device));
    SIM_TRY(attributes);
    unsigned grid[3], block[3];
    acu_sim_kernel_launch_extents(prepared, grid, block);
    if (!is_within_limits(device, grid, cudaDevAttrMaxGridDimX))
        return refuse_size("grid", grid, device);
    SIM_TRY(validate_block(prepared, device));
    SIM_TRY(acu_sim_function_validate_cluster(prepared->function, grid, prepared->cluster));
    if (in_graph)
        SIM_TRY(validate_shared(prepared));
    SIM_TRY(validate_cooperative(prepared, device));
    SIM_TRY(validate_shared(prepared));
    if (can_run(prepared->function))
        return cudaSuccess;
    acu_record_reason(
        "the simulator cannot execute the kernel \"%s\": %s; a C function can stand for it: "
        "acu_sim_register()",
        prepared->function->entry->name, acu_sim_execute_why(prepared->function));
    return prepared->function->entry->invalid ? cudaErrorInvalidPtx : cudaErrorNotSupported;
}

/* ---- preparing ---- */

/* Returns the buffer that the list `extra` names, and the buffer's size. Each pointer of the list
 * follows CU_LAUNCH_PARAM_BUFFER_POINTER (1) or _BUFFER_SIZE (2). NULL if the list is invalid. */
static const void *read_extra(void *const *extra, size_t *size) {
    const void *buffer = NULL;
    size_t given = 0;
    for (; *extra; extra += 2) {
        if (*extra == (void *)1)
            buffer = extra[1];
        else if (*extra == (void *)2 && extra[1])
            given = *(const size_t *)extra[1];
        else
            return NULL;
    }
    *size = given;
    return buffer;
}

/* Copies bytes of the parameters, which CUDA says are there from `offset` on, to their places. */
static void set_parameter_bytes(acu_sim_kernel_launch *prepared, size_t offset, const char *bytes,
                                size_t size) {
    const acu_sim_entry *entry = prepared->function->entry;
    for (size_t i = 0; i < entry->param_count; i++) {
        const acu_sim_param *p = &entry->params[i];
        const size_t first = p->offset > offset ? p->offset : offset, own = p->offset + p->size,
                     all = offset + size, end = own < all ? own : all;
        if (first < end)
            memcpy(prepared->arguments + p->place + (first - p->offset), bytes + (first - offset),
                   end - first);
    }
}

static cudaError_t copy_arguments(acu_sim_kernel_launch *prepared, void *const *args,
                                  void *const *extra) {
    const acu_sim_entry *entry = prepared->function->entry;
    size_t size = 0;
    const char *packed = extra ? read_extra(extra, &size) : NULL;
    if ((args && extra && entry->param_count) || (extra && !packed))
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the arguments are given twice, or `extra` does not name a buffer and "
                          "end with CU_LAUNCH_PARAM_END");
    if (size > ((entry->param_bytes + 7) & ~(size_t)7)) /* a struct may end with padding */
        return SIM_REFUSE(cudaErrorLaunchOutOfResources,
                          "the buffer of arguments has %zu bytes, and the parameters of the "
                          "kernel \"%s\" have %zu",
                          size, entry->name, entry->param_bytes);
    if (packed) { /* arguments missing at the buffer's end are zeros: CUDA accepts it */
        memset(prepared->arguments, 0, entry->param_room);
        set_parameter_bytes(prepared, 0, packed, size);
        return cudaSuccess;
    }
    for (size_t i = 0; i < entry->param_count; i++) {
        const acu_sim_param *param = &entry->params[i];
        const char *from = args ? args[i] : NULL;
        if (!from)
            return SIM_REFUSE(cudaErrorInvalidValue,
                              "the kernel \"%s\" has %zu parameters, and argument %zu is NULL",
                              entry->name, entry->param_count, i);
        memcpy(prepared->arguments + param->place, from, param->size);
    }
    return cudaSuccess;
}

/* Returns a launch in one block of memory: the struct, the attributes, the pointers, the arguments.
 * NULL without memory. */
static acu_sim_kernel_launch *new_launch(acu_sim_function *function,
                                         const cudaLaunchAttribute *attributes, unsigned count) {
    const acu_sim_entry *entry = function->entry;
    size_t listed = count * sizeof *attributes, pointers = entry->param_count * sizeof(void *);
    char *memory =
        malloc(sizeof(acu_sim_kernel_launch) + listed + pointers + entry->param_room + 127);
    if (!memory)
        return NULL;
    acu_sim_kernel_launch *made = (acu_sim_kernel_launch *)(void *)memory;
    *made = (acu_sim_kernel_launch){.function = function, .attribute_count = count};
    memory += sizeof *made;
    made->attributes = (cudaLaunchAttribute *)(void *)memory;
    made->args = (void **)(void *)(memory + listed);
    memory += listed + pointers;
    made->arguments = memory + (-(uintptr_t)memory & 127); /* as a GPU aligns them */
    if (count)
        memcpy(made->attributes, attributes, listed);
    for (size_t i = 0; i < entry->param_count; i++)
        made->args[i] = made->arguments + entry->params[i].place;
    made->references = acu_sim_reference_copy(function->module);
    function->module->refs++;
    return made;
}

void acu_sim_kernel_launch_free(acu_sim_kernel_launch *prepared) {
    if (!prepared)
        return;
    acu_sim_module_release(prepared->function->module);
    free(prepared->references);
    free(prepared);
}

acu_sim_kernel_launch *acu_sim_kernel_launch_clone(const acu_sim_kernel_launch *prepared) {
    acu_sim_kernel_launch *copy =
        new_launch(prepared->function, prepared->attributes, prepared->attribute_count);
    if (!copy)
        return NULL;
    copy->handle = prepared->handle;
    memcpy(copy->grid, prepared->grid, sizeof copy->grid);
    memcpy(copy->block, prepared->block, sizeof copy->block);
    memcpy(copy->cluster, prepared->cluster, sizeof copy->cluster);
    copy->shared = prepared->shared;
    copy->cooperative = prepared->cooperative;
    copy->multiprocessors = prepared->multiprocessors;
    copy->processors = prepared->processors;
    memcpy(copy->arguments, prepared->arguments, prepared->function->entry->param_room);
    for (size_t n = 0; copy->references && prepared->references &&
                       n < prepared->function->module->image->reference_count;
         n++)
        copy->references[n] = prepared->references[n];
    return copy;
}

const char *acu_sim_kernel_launch_name(const acu_sim_kernel_launch *prepared) {
    return prepared->function->entry->name;
}

acu_sim_context *acu_sim_kernel_launch_context(const acu_sim_kernel_launch *prepared) {
    return prepared->function->module->context;
}

/* Finds the function of a kernel in the context, or the function itself, which must be of the
 * context. */
static cudaError_t find_function(acu_sim_context *context, const void *handle,
                                 acu_sim_function **function) {
    acu_sim_kernel_handle *kernel = acu_sim_kernel_of_symbol(handle);
    if (kernel)
        return acu_sim_kernel_function(kernel, context, function);
    *function = acu_sim_function_of(handle);
    if (!*function)
        return SIM_REFUSE(cudaErrorInvalidDeviceFunction,
                          "%p is no kernel that is known here: its module was unloaded, or the "
                          "program did not register it",
                          handle);
    return (*function)->module->context != context
               ? SIM_REFUSE(cudaErrorInvalidResourceHandle,
                            "the kernel is of a context on device %d, and the launch of another "
                            "on device %d: load its module there",
                            (*function)->module->device->index, context->device->index)
               : cudaSuccess;
}

cudaError_t acu_sim_kernel_launch_prepare(acu_sim_context *context,
                                          const acu_sim_execution_context *execution,
                                          const void *handle, const cudaLaunchConfig_t *config,
                                          void *const *args, void *const *extra, bool in_graph,
                                          acu_sim_kernel_launch **prepared) {
    acu_sim_function *function;
    SIM_TRY(find_function(context, handle, &function));
    if (config->numAttrs && !config->attrs)
        return cudaErrorInvalidValue;
    acu_sim_kernel_launch *made = new_launch(function, config->attrs, config->numAttrs);
    if (!made)
        return cudaErrorMemoryAllocation;
    made->handle = handle;
    made->processors = execution ? execution->processors : acu_sim_processors_all(context->device);
    made->multiprocessors = acu_sim_processors_count(&made->processors);
    made->shared = acu_sim_behaviour_shared_size_is_wide() ? config->dynamicSmemBytes
                                                           : (unsigned)config->dynamicSmemBytes;
    memcpy(made->grid, &config->gridDim, sizeof made->grid);
    memcpy(made->block, &config->blockDim, sizeof made->block);
    cudaError_t result = validate(made, context->device, config, in_graph);
    if (!result)
        result = copy_arguments(made, args, extra);
    if (result)
        acu_sim_kernel_launch_free(made);
    else
        *prepared = made;
    return result;
}

/* ---- launching ---- */

static cudaError_t run_launch(acu_sim_op *op) {
    return op->with.launch->off ? cudaSuccess : acu_sim_kernel_launch_run(op->with.launch);
}

static void release_launch(acu_sim_op *op) {
    acu_sim_kernel_launch_free(op->with.launch);
}

bool acu_sim_kernel_launch_set_grid(acu_sim_kernel_launch *prepared, const unsigned grid[3],
                                    bool only_asks) {
    unsigned blocks[3];
    count_blocks(prepared->function->entry, grid, blocks);
    const bool good =
        is_within_limits(prepared->function->module->device, blocks, cudaDevAttrMaxGridDimX);
    if (good && !only_asks)
        memcpy(prepared->grid, grid, sizeof prepared->grid);
    return good;
}

bool acu_sim_kernel_launch_set_param(acu_sim_kernel_launch *prepared, size_t offset,
                                     const void *value, size_t size, bool only_asks) {
    const size_t room = prepared->function->entry->param_bytes;
    const bool good = value && offset <= room && size <= room - offset;
    if (good && !only_asks)
        set_parameter_bytes(prepared, offset, value, size);
    return good;
}

acu_sim_op *acu_sim_kernel_launch_op(acu_sim_kernel_launch *prepared) {
    acu_sim_op *op = acu_sim_op_new(cudaGraphNodeTypeKernel, run_launch);
    if (!op) {
        acu_sim_kernel_launch_free(prepared);
        return NULL;
    }
    op->with.launch = prepared;
    op->drop = release_launch;
    op->calls_program = registered_function(prepared->function->entry) != NULL;
    return op;
}

/* Returns the event that an attribute records; NULL if the attribute is another or names none. */
static acu_sim_event *event_of_attribute(const cudaLaunchAttribute *attribute) {
    return attribute->id == cudaLaunchAttributeProgrammaticEvent
               ? acu_sim_event_of(attribute->val.programmaticEvent.event)
           : attribute->id == cudaLaunchAttributeLaunchCompletionEvent
               ? acu_sim_event_of(attribute->val.launchCompletionEvent.event)
               : NULL;
}

/* The events of a launch's attributes must be of the context and without timing. */
static cudaError_t validate_events(const acu_sim_kernel_launch *prepared,
                                   const acu_sim_context *context) {
    for (unsigned i = 0; i < prepared->attribute_count; i++) {
        cudaLaunchAttributeID id = prepared->attributes[i].id;
        const acu_sim_event *event = event_of_attribute(&prepared->attributes[i]);
        if (id != cudaLaunchAttributeProgrammaticEvent &&
            id != cudaLaunchAttributeLaunchCompletionEvent)
            continue;
        if (!event || event->context != context)
            return SIM_REFUSE(cudaErrorInvalidResourceHandle,
                              "the event of launch attribute %u is no event, or of another "
                              "context than the stream",
                              i);
        if (!(event->flags & cudaEventDisableTiming))
            return SIM_REFUSE(cudaErrorInvalidValue,
                              "the event of launch attribute %u must be created with "
                              "cudaEventDisableTiming",
                              i);
    }
    return cudaSuccess;
}

/* Queues the operation. The events of the launch's attributes are complete when the kernel is: CUDA
 * allows them to be that late. */
static cudaError_t submit_op(acu_sim_stream *stream, acu_sim_op *op) {
    const acu_sim_kernel_launch *prepared = op->with.launch;
    op->refs++; /* the stream may release the operation before this function ends */
    if (!stream->capture)
        for (unsigned i = 0; i < prepared->attribute_count; i++)
            if (event_of_attribute(&prepared->attributes[i]))
                acu_sim_event_mark(event_of_attribute(&prepared->attributes[i]), op);
    bool captured = stream->capture != NULL;
    const bool waits = !captured && acu_sim_configuration()->blocking;
    cudaError_t result = acu_sim_stream_submit(stream, op, waits);
    for (unsigned i = 0; captured && !result && i < prepared->attribute_count; i++)
        if (event_of_attribute(&prepared->attributes[i]))
            result = acu_sim_capture_record(stream, event_of_attribute(&prepared->attributes[i]));
    acu_sim_op_release(op);
    return result;
}

/* A kernel that may launch graphs must be in one. */
static cudaError_t validate_place(const acu_sim_kernel_launch *prepared) {
    return acu_sim_execute_launches_graphs(prepared->function)
               ? SIM_REFUSE(cudaErrorNotSupported,
                            "the kernel \"%s\" may call cudaGraphLaunch(), and such kernels run as "
                            "nodes of graphs only",
                            prepared->function->entry->name)
               : cudaSuccess;
}

static cudaError_t prepare_with_events(const acu_sim_stream *stream, const void *function,
                                       const cudaLaunchConfig_t *config, void *const *args,
                                       void *const *extra, acu_sim_kernel_launch **prepared) {
    SIM_TRY(acu_sim_kernel_launch_prepare(stream->context,
                                          acu_sim_execution_context_of_stream(stream), function,
                                          config, args, extra, stream->capture != NULL, prepared));
    cudaError_t result = validate_events(*prepared, stream->context);
    if (!result && !stream->capture)
        result = validate_place(*prepared);
    if (result)
        acu_sim_kernel_launch_free(*prepared);
    return result;
}

/* A launch that fails makes the capture of its stream invalid, unless an attribute is wrong. */
cudaError_t acu_sim_kernel_launch_submit(cudaStream_t handle, const void *function,
                                         const cudaLaunchConfig_t *config, void *const *args,
                                         void *const *extra) {
    acu_sim_stream *stream;
    acu_sim_kernel_launch *prepared;
    SIM_TRY(acu_sim_stream_of(handle, &stream));
    if (!acu_sim_self()->call.by_driver && !acu_sim_behaviour_launch_goes_by_stream() &&
        stream->device->index != acu_sim_self()->device)
        return SIM_REFUSE(cudaErrorInvalidResourceHandle,
                          "the stream is of device %d, and device %d is current: call "
                          "cudaSetDevice(%d) before the launch",
                          stream->device->index, acu_sim_self()->device, stream->device->index);
    SIM_TRY(acu_sim_capture_allows(stream, SIM_ENQUEUES));
    unsigned cluster[3];
    bool cooperative;
    if (stream->capture)
        SIM_TRY(acu_sim_function_read_attributes(config, false, cluster, &cooperative));
    cudaError_t result = prepare_with_events(stream, function, config, args, extra, &prepared);
    /* CUDA refuses a function of another context before it looks at the capture. */
    if (result && result != cudaErrorInvalidResourceHandle && stream->capture)
        acu_sim_capture_invalidate(stream->capture);
    SIM_TRY(result);
    if (!stream->capture)
        acu_sim_execute_fix_limits(prepared->function);
    acu_sim_op *op = acu_sim_kernel_launch_op(prepared);
    return op ? submit_op(stream, op) : cudaErrorMemoryAllocation;
}

/* The runtime launches kernels that its own calls returned, or host functions that nvcc compiled as
 * the names of kernels; functions of the driver are refused. */
static cudaError_t launch_by_runtime(const cudaLaunchConfig_t *config, const void *func,
                                     void **args) {
    if (!acu_sim_kernel_of_symbol(func))
        return SIM_REFUSE(func && acu_sim_behaviour_launch_reports_handle()
                              ? cudaErrorInvalidResourceHandle
                              : cudaErrorInvalidDeviceFunction,
                          "%p is no kernel of the runtime's: its library was unloaded, or it is a "
                          "function of the driver or was never registered",
                          func);
    if (!config)
        return cudaErrorInvalidValue;
    return acu_sim_kernel_launch_submit(config->stream, func, config, args, NULL);
}

cudaError_t acu_sim_cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func,
                                        void **args) {
    return launch_by_runtime(config, func, args);
}

cudaError_t acu_sim_cudaLaunchKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args,
                                     size_t sharedMem, cudaStream_t stream) {
    const cudaLaunchConfig_t config = {
        .gridDim = gridDim, .blockDim = blockDim, .dynamicSmemBytes = sharedMem, .stream = stream};
    return launch_by_runtime(&config, func, args);
}

cudaError_t acu_sim_cudaLaunchCooperativeKernel(const void *func, dim3 gridDim, dim3 blockDim,
                                                void **args, size_t sharedMem,
                                                cudaStream_t stream) {
    cudaLaunchAttribute attribute = {.id = cudaLaunchAttributeCooperative, .val.cooperative = 1};
    const cudaLaunchConfig_t config = {.gridDim = gridDim,
                                       .blockDim = blockDim,
                                       .dynamicSmemBytes = sharedMem,
                                       .stream = stream,
                                       .attrs = &attribute,
                                       .numAttrs = 1};
    return launch_by_runtime(&config, func, args);
}
