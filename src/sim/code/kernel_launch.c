/*
 * Kernels: what they do, their attributes, and launching them.
 *
 * Every launch is prepared first: judged, with its arguments copied. A stream's operation runs what
 * was prepared, and so does a graph's node.
 */
#include "sim/code/kernel_launch.h"
#include "sim/code/function.h"
#include "sim/code/image.h"
#include "sim/code/module.h"
#include "sim/device/context.h"
#include "sim/device/device.h"
#include "sim/memory/guard.h"
#include "sim/memory/range.h"
#include "sim/stream/capture.h"
#include "sim/stream/event.h"
#include "sim/stream/op.h"
#include "sim/stream/stream.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- who executes a kernel ---- */

static struct {
    char *name;
    acu_sim_kernel function;
} *registered;
static size_t registered_count;
static unsigned registrations = 1;

static acu_sim_kernel function_named(const char *name) {
    for (size_t i = 0; i < registered_count; i++)
        if (strcmp(registered[i].name, name) == 0)
            return registered[i].function;
    return NULL;
}

static int add_function(const char *name, acu_sim_kernel function) {
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
    int result = add_function(name, function);
    registrations++;
    pthread_mutex_unlock(&acu_sim_lock);
    return result;
}

static acu_sim_kernel registered_for(acu_sim_entry *entry) {
    if (entry->looked_up != registrations)
        entry->function = function_named(entry->name);
    entry->looked_up = registrations;
    return entry->function;
}

/* The place for more: one that runs the PTX itself, say. The first that has a function is taken. */
static acu_sim_kernel (*const executors[])(acu_sim_entry *entry) = {registered_for};

static acu_sim_kernel function_of(acu_sim_entry *entry) {
    for (size_t i = 0; i < sizeof executors / sizeof *executors; i++)
        if (executors[i](entry))
            return executors[i](entry);
    if (!entry->reported)
        fprintf(stderr,
                "anycuda: simulator: kernel \"%s\" cannot be launched: nothing says what it does; "
                "acu_sim_register(\"%s\", function) would\n",
                entry->name, entry->name);
    entry->reported = true;
    return NULL;
}

/* ---- running ---- */

struct acu_sim_run {
    jmp_buf end;
    acu_sim_device *device;
    cudaError_t result;
};

/* Freed in stream order may be after this kernel, so it counts until it is gone. */
static const acu_sim_range *accessible(const acu_sim_device *device, const void *address,
                                       size_t bytes) {
    const acu_sim_range *range = acu_sim_range_overlapping((uintptr_t)address, 1);
    if (!range || range->dormant || bytes > range->base + range->size - (uintptr_t)address)
        return NULL;
    return acu_sim_range_allows_access(range, device) ? range : NULL;
}

void *acu_sim_at(const acu_sim_launch *launch, const void *address, size_t bytes) {
    struct acu_sim_run *run = launch->run;
    pthread_mutex_lock(&acu_sim_lock);
    const acu_sim_range *range = accessible(run->device, address, bytes);
    void *at = range ? acu_sim_range_bytes(range, address) : NULL;
    if (!at)
        acu_sim_guard_explain(address);
    pthread_mutex_unlock(&acu_sim_lock);
    if (at)
        return at;
    fprintf(stderr,
            "anycuda: simulator: kernel \"%s\": illegal address: %zu bytes at %p are not in one "
            "allocation that device %d can access\n",
            launch->kernel, bytes, address, launch->device);
    run->result = cudaErrorIllegalAddress;
    longjmp(run->end, 1);
}

static cudaError_t execute(const acu_sim_kernel_launch *prepared, acu_sim_kernel function) {
    const acu_sim_entry *entry = prepared->function->entry;
    struct acu_sim_run run = {.device = prepared->function->module->device};
    acu_sim_launch launch = {.kernel = entry->name,
                             .shared = prepared->shared,
                             .device = run.device->index,
                             .run = &run};
    memcpy(launch.grid, prepared->grid, sizeof launch.grid);
    memcpy(launch.block, prepared->block, sizeof launch.block);
    memcpy(launch.cluster, prepared->cluster, sizeof launch.cluster);
    acu_sim_self()->in_callback = true;
    if (setjmp(run.end) == 0)
        function(&launch, prepared->args);
    acu_sim_self()->in_callback = false;
    return run.result;
}

cudaError_t acu_sim_kernel_launch_run(const acu_sim_kernel_launch *prepared) {
    acu_sim_kernel function = NULL;
    pthread_mutex_lock(&acu_sim_lock);
    bool loaded = prepared->function->module->loaded;
    if (loaded)
        function = function_of(prepared->function->entry);
    else
        fprintf(stderr, "anycuda: simulator: kernel \"%s\" is launched, but was unloaded\n",
                prepared->function->entry->name);
    pthread_mutex_unlock(&acu_sim_lock);
    if (function)
        return execute(prepared, function);
    return loaded ? cudaErrorNotSupported : cudaErrorLaunchFailure;
}

/* ---- judging a launch ---- */

static size_t volume(const unsigned extent[3]) {
    return (size_t)extent[0] * extent[1] * extent[2];
}

static bool within(const acu_sim_device *device, const unsigned extent[3],
                   enum cudaDeviceAttr first) {
    for (int i = 0; i < 3; i++)
        if (extent[i] == 0 || extent[i] > (unsigned)acu_sim_device_attribute(
                                              device, (enum cudaDeviceAttr)((int)first + i)))
            return false;
    return true;
}

static cudaError_t judge_block(const acu_sim_kernel_launch *p, const acu_sim_device *device) {
    const acu_sim_entry *entry = p->function->entry;
    size_t threads = volume(p->block);
    if (!within(device, p->grid, cudaDevAttrMaxGridDimX) ||
        !within(device, p->block, cudaDevAttrMaxBlockDimX) ||
        threads > (size_t)acu_sim_device_attribute(device, cudaDevAttrMaxThreadsPerBlock))
        return acu_sim_configuration()->runtime < 13000 ? cudaErrorInvalidConfiguration
                                                        : cudaErrorInvalidValue;
    for (int i = 0; entry->threads[0] && i < 3; i++)
        if (p->block[i] != entry->threads[i])
            return cudaErrorInvalidValue;
    if (entry->max_threads[0] && threads > volume(entry->max_threads))
        return cudaErrorInvalidValue;
    if (threads > acu_sim_function_threads(p->function))
        return cudaErrorLaunchOutOfResources;
    return p->shared > (size_t)p->function->set.dynamic ? cudaErrorInvalidValue : cudaSuccess;
}

/* A cluster's size must be given where the kernel says so, and be the kernel's own if it has one.
 */
static cudaError_t judge_cluster(acu_sim_kernel_launch *p, const acu_sim_device *device) {
    const acu_sim_function *function = p->function;
    bool given = p->cluster[0] || p->cluster[1] || p->cluster[2];
    for (int i = 0; i < 3; i++) {
        if (given && function->set.cluster[0] &&
            p->cluster[i] != (unsigned)function->set.cluster[i])
            return cudaErrorInvalidClusterSize;
        if (!given)
            p->cluster[i] = function->set.cluster[i] ? (unsigned)function->set.cluster[i] : 1;
    }
    if (!given && !function->set.cluster[0])
        return function->set.cluster_must_be_set ? cudaErrorInvalidClusterSize : cudaSuccess;
    if (!acu_sim_device_attribute(device, cudaDevAttrClusterLaunch))
        return cudaErrorNotSupported;
    size_t blocks = volume(p->cluster);
    if (blocks == 0 || blocks > (function->set.big_clusters ? 16u : 8u))
        return cudaErrorInvalidClusterSize;
    for (int i = 0; i < 3; i++)
        if (p->grid[i] % p->cluster[i])
            return cudaErrorInvalidClusterSize;
    return cudaSuccess;
}

static cudaError_t judge_cooperation(const acu_sim_kernel_launch *p, const acu_sim_device *device) {
    if (!p->cooperative)
        return cudaSuccess;
    if (!acu_sim_device_attribute(device, cudaDevAttrCooperativeLaunch))
        return cudaErrorNotSupported;
    size_t fit = (size_t)acu_sim_device_attribute(device, cudaDevAttrMultiProcessorCount) *
                 acu_sim_function_occupancy(p->function, (unsigned)volume(p->block), p->shared);
    return volume(p->grid) > fit ? cudaErrorCooperativeLaunchTooLarge : cudaSuccess;
}

/* 11.7 had the first ones, by another name. */
static bool is_attribute(cudaLaunchAttributeID id) {
    return id == cudaLaunchAttributeAccessPolicyWindow || id == cudaLaunchAttributeCooperative ||
           id == cudaLaunchAttributePriority ||
           acu_sim_knows(&acu_cudart_type_cudaLaunchAttributeID, id);
}

static cudaError_t read_attributes(acu_sim_kernel_launch *p, const cudaLaunchConfig_t *config) {
    if (config->numAttrs && !config->attrs)
        return cudaErrorInvalidValue;
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const cudaLaunchAttribute *a = &config->attrs[i];
        if (!is_attribute(a->id) || a->id == cudaLaunchAttributeSynchronizationPolicy)
            return cudaErrorInvalidValue;
        if (a->id == cudaLaunchAttributeMemSyncDomain &&
            (unsigned)a->val.memSyncDomain > cudaLaunchMemSyncDomainRemote)
            return cudaErrorInvalidValue;
        if (a->id == cudaLaunchAttributeCooperative)
            p->cooperative = a->val.cooperative != 0;
        if (a->id == cudaLaunchAttributeClusterDimension) {
            p->cluster[0] = a->val.clusterDim.x;
            p->cluster[1] = a->val.clusterDim.y;
            p->cluster[2] = a->val.clusterDim.z;
        }
    }
    return cudaSuccess;
}

static cudaError_t judge(acu_sim_kernel_launch *p, const acu_sim_device *device,
                         const cudaLaunchConfig_t *config) {
    cudaError_t result = read_attributes(p, config);
    if (!result)
        result = judge_block(p, device);
    if (!result)
        result = judge_cluster(p, device);
    if (!result)
        result = judge_cooperation(p, device);
    if (!result && !function_of(p->function->entry))
        result = cudaErrorNotSupported;
    return result;
}

/* ---- preparing ---- */

/* All arguments in one piece: the values CU_LAUNCH_PARAM_* say what is in the list. */
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

static cudaError_t copy_arguments(acu_sim_kernel_launch *p, void *const *args, void *const *extra) {
    const acu_sim_entry *entry = p->function->entry;
    size_t size = 0;
    const char *packed = extra ? read_extra(extra, &size) : NULL;
    if ((args && extra && entry->param_count) || (extra && !packed))
        return cudaErrorInvalidValue;
    if (size > ((entry->param_bytes + 7) & ~(size_t)7)) /* a struct may end with padding */
        return cudaErrorLaunchOutOfResources;
    if (packed) { /* what is missing is not missed */
        memset(p->arguments, 0, entry->param_bytes);
        memcpy(p->arguments, packed, size < entry->param_bytes ? size : entry->param_bytes);
        return cudaSuccess;
    }
    for (size_t i = 0; i < entry->param_count; i++) {
        const acu_sim_param *param = &entry->params[i];
        const char *from = args ? args[i] : NULL;
        if (!from)
            return cudaErrorInvalidValue;
        memcpy(p->arguments + param->offset, from, param->size);
    }
    return cudaSuccess;
}

/* One block of memory: the struct, its attributes, the pointers, the arguments. */
static acu_sim_kernel_launch *new_prepared(acu_sim_function *function,
                                           const cudaLaunchAttribute *attributes, unsigned count) {
    const acu_sim_entry *entry = function->entry;
    size_t listed = count * sizeof *attributes, pointers = entry->param_count * sizeof(void *);
    char *memory =
        malloc(sizeof(acu_sim_kernel_launch) + listed + pointers + entry->param_bytes + 63);
    if (!memory)
        return NULL;
    acu_sim_kernel_launch *made = (acu_sim_kernel_launch *)(void *)memory;
    *made = (acu_sim_kernel_launch){.function = function, .attribute_count = count};
    memory += sizeof *made;
    made->attributes = (cudaLaunchAttribute *)(void *)memory;
    made->args = (void **)(void *)(memory + listed);
    memory += listed + pointers;
    made->arguments = memory + (-(uintptr_t)memory & 63); /* as a GPU aligns them */
    if (count)
        memcpy(made->attributes, attributes, listed);
    for (size_t i = 0; i < entry->param_count; i++)
        made->args[i] = made->arguments + entry->params[i].offset;
    function->module->refs++;
    return made;
}

void acu_sim_kernel_launch_free(acu_sim_kernel_launch *prepared) {
    if (!prepared)
        return;
    acu_sim_module_release(prepared->function->module);
    free(prepared);
}

acu_sim_kernel_launch *acu_sim_kernel_launch_clone(const acu_sim_kernel_launch *prepared) {
    acu_sim_kernel_launch *copy =
        new_prepared(prepared->function, prepared->attributes, prepared->attribute_count);
    if (!copy)
        return NULL;
    copy->handle = prepared->handle;
    memcpy(copy->grid, prepared->grid, sizeof copy->grid);
    memcpy(copy->block, prepared->block, sizeof copy->block);
    memcpy(copy->cluster, prepared->cluster, sizeof copy->cluster);
    copy->shared = prepared->shared;
    copy->cooperative = prepared->cooperative;
    memcpy(copy->arguments, prepared->arguments, prepared->function->entry->param_bytes);
    return copy;
}

const char *acu_sim_kernel_launch_name(const acu_sim_kernel_launch *prepared) {
    return prepared->function->entry->name;
}

acu_sim_context *acu_sim_kernel_launch_context(const acu_sim_kernel_launch *prepared) {
    return prepared->function->module->context;
}

/* A kernel's function in the context, or a function that is of this one. */
static cudaError_t find_function(acu_sim_context *context, const void *handle,
                                 acu_sim_function **function) {
    acu_sim_kernel_handle *kernel = acu_sim_kernel_of_symbol(handle);
    if (kernel)
        return acu_sim_kernel_function(kernel, context, function);
    *function = acu_sim_function_of(handle);
    return !*function                                ? cudaErrorInvalidDeviceFunction
           : (*function)->module->context != context ? cudaErrorInvalidResourceHandle
                                                     : cudaSuccess;
}

cudaError_t acu_sim_kernel_launch_prepare(acu_sim_context *context, const void *handle,
                                          const cudaLaunchConfig_t *config, void *const *args,
                                          void *const *extra, acu_sim_kernel_launch **prepared) {
    acu_sim_function *function;
    cudaError_t result = find_function(context, handle, &function);
    if (result)
        return result;
    if (config->numAttrs && !config->attrs)
        return cudaErrorInvalidValue;
    acu_sim_kernel_launch *made = new_prepared(function, config->attrs, config->numAttrs);
    if (!made)
        return cudaErrorMemoryAllocation;
    made->handle = handle;
    made->shared = acu_sim_configuration()->runtime < 13050 ? (unsigned)config->dynamicSmemBytes
                                                            : config->dynamicSmemBytes;
    memcpy(made->grid, &config->gridDim, sizeof made->grid);
    memcpy(made->block, &config->blockDim, sizeof made->block);
    result = judge(made, context->device, config);
    if (!result)
        result = copy_arguments(made, args, extra);
    if (result)
        acu_sim_kernel_launch_free(made);
    else
        *prepared = made;
    return result;
}

/* ---- launching ---- */

static cudaError_t run_op(acu_sim_op *op) {
    return acu_sim_kernel_launch_run(op->with.launch);
}

static void drop_op(acu_sim_op *op) {
    acu_sim_kernel_launch_free(op->with.launch);
}

acu_sim_op *acu_sim_kernel_launch_op(acu_sim_kernel_launch *prepared) {
    acu_sim_op *op = acu_sim_op_new(cudaGraphNodeTypeKernel, run_op);
    if (!op) {
        acu_sim_kernel_launch_free(prepared);
        return NULL;
    }
    op->with.launch = prepared;
    op->drop = drop_op;
    return op;
}

/* The event that an attribute brings, NULL if it brings none. */
static acu_sim_event *event_of(const cudaLaunchAttribute *attribute) {
    return attribute->id == cudaLaunchAttributeProgrammaticEvent
               ? acu_sim_event_of(attribute->val.programmaticEvent.event)
           : attribute->id == cudaLaunchAttributeLaunchCompletionEvent
               ? acu_sim_event_of(attribute->val.launchCompletionEvent.event)
               : NULL;
}

/* They measure no time. */
static cudaError_t judge_events(const acu_sim_kernel_launch *prepared,
                                const acu_sim_context *context) {
    for (unsigned i = 0; i < prepared->attribute_count; i++) {
        cudaLaunchAttributeID id = prepared->attributes[i].id;
        const acu_sim_event *event = event_of(&prepared->attributes[i]);
        if (id != cudaLaunchAttributeProgrammaticEvent &&
            id != cudaLaunchAttributeLaunchCompletionEvent)
            continue;
        if (!event || event->context != context)
            return cudaErrorInvalidResourceHandle;
        if (!(event->flags & cudaEventDisableTiming))
            return cudaErrorInvalidValue;
    }
    return cudaSuccess;
}

/* Here they are over when the kernel is, which is as late as may be. */
static cudaError_t submit(acu_sim_stream *stream, acu_sim_op *op) {
    const acu_sim_kernel_launch *prepared = op->with.launch;
    op->refs++; /* for what follows */
    if (!stream->capture)
        for (unsigned i = 0; i < prepared->attribute_count; i++)
            if (event_of(&prepared->attributes[i]))
                acu_sim_event_mark(event_of(&prepared->attributes[i]), op);
    bool captured = stream->capture != NULL;
    cudaError_t result = acu_sim_stream_submit(stream, op, false);
    for (unsigned i = 0; captured && !result && i < prepared->attribute_count; i++)
        if (event_of(&prepared->attributes[i]))
            result = acu_sim_capture_record(stream, event_of(&prepared->attributes[i]));
    acu_sim_op_release(op);
    return result;
}

cudaError_t acu_sim_kernel_launch_submit(cudaStream_t handle, const void *function,
                                         const cudaLaunchConfig_t *config, void *const *args,
                                         void *const *extra) {
    acu_sim_stream *stream;
    acu_sim_kernel_launch *prepared = NULL;
    cudaError_t result = acu_sim_stream_of(handle, &stream);
    /* The runtime's device must be the stream's below 13.0; the driver goes by the stream. */
    if (!result && !acu_sim_self()->call.by_driver && acu_sim_configuration()->runtime < 13000 &&
        stream->device->index != acu_sim_self()->device)
        result = cudaErrorInvalidResourceHandle;
    if (!result)
        result = acu_sim_kernel_launch_prepare(stream->context, function, config, args, extra,
                                               &prepared);
    if (!result)
        result = judge_events(prepared, stream->context);
    if (result) {
        acu_sim_kernel_launch_free(prepared);
        return result;
    }
    acu_sim_op *op = acu_sim_kernel_launch_op(prepared);
    return op ? submit(stream, op) : cudaErrorMemoryAllocation;
}

/* A whole call of the runtime, which knows kernels by what its own calls returned, or by what the
 * program was compiled to name them. */
static cudaError_t launch(const cudaLaunchConfig_t *config, const void *func, void **args) {
    if (!acu_sim_kernel_of_symbol(func))
        SIM_TRY(func && acu_sim_configuration()->runtime >= 12080 ? cudaErrorInvalidResourceHandle
                                                                  : cudaErrorInvalidDeviceFunction);
    if (!config)
        return cudaErrorInvalidValue;
    return acu_sim_kernel_launch_submit(config->stream, func, config, args, NULL);
}

cudaError_t acu_sim_cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func,
                                        void **args) {
    return launch(config, func, args);
}

cudaError_t acu_sim_cudaLaunchKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args,
                                     size_t sharedMem, cudaStream_t stream) {
    const cudaLaunchConfig_t config = {
        .gridDim = gridDim, .blockDim = blockDim, .dynamicSmemBytes = sharedMem, .stream = stream};
    return launch(&config, func, args);
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
    return launch(&config, func, args);
}
