/* Kernels: their life, their attributes and parameters, and occupancy. */
#include "safe/kernel/kernel.h"
#include "core/call.h"
#include "core/translate.h"
#include "cuda_abi.h"
#include "safe/base/primary_context.h"
#include "safe/kernel/launch.h"
#include "safe/kernel/module.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUTCOME(kernel, code) acu_outcome(__func__, (kernel), (int)(code))

/* Runs a call where the kernel is loaded; `code` receives the result. */
#define WITH_KERNEL(kernel, code, call)                                                            \
    do {                                                                                           \
        acu_code_guard guard;                                                                      \
        (code) = (kernel)->api->enter(&(kernel)->place, &guard);                                   \
        if (!(code))                                                                               \
            (code) = (call);                                                                       \
        (kernel)->api->leave(&guard);                                                              \
    } while (0)

/* ---- life ---- */

typedef struct limit {
    int *value;
    enum cudaDeviceAttr attribute;
} limit;

/* Asks for an attribute; the value is -1 where the runtime is too old to know the attribute. */
static int ask_optional(int *value, enum cudaDeviceAttr attribute, int device) {
    acu_saved_record before;
    acu_record_save(&before);
    int code = (int)cudaDeviceGetAttribute(value, attribute, device);
    if (code != cudaErrorInvalidValue && code != ACU_NOT_SUPPORTED)
        return code;
    acu_record_restore(&before);
    (void)cudaGetLastError();
    *value = -1;
    return 0;
}

static int ask_limits(acu_kernel *kernel, int device) {
    acu_kernel_limits *l = &kernel->limits;
    const limit all[] = {
        {&l->threads, cudaDevAttrMaxThreadsPerBlock},
        {&kernel->most_threads[0], cudaDevAttrMaxBlockDimX},
        {&kernel->most_threads[1], cudaDevAttrMaxBlockDimY},
        {&kernel->most_threads[2], cudaDevAttrMaxBlockDimZ},
        {&kernel->most_blocks[0], cudaDevAttrMaxGridDimX},
        {&kernel->most_blocks[1], cudaDevAttrMaxGridDimY},
        {&kernel->most_blocks[2], cudaDevAttrMaxGridDimZ},
        {&l->shared_most, cudaDevAttrMaxSharedMemoryPerBlockOptin},
        {&l->cooperative, cudaDevAttrCooperativeLaunch},
        {&l->multiprocessors, cudaDevAttrMultiProcessorCount},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        int code = (int)cudaDeviceGetAttribute(all[i].value, all[i].attribute, device);
        if (code)
            return code;
    }
    return ask_optional(&l->clusters, cudaDevAttrClusterLaunch, device);
}

static void take_settings(acu_kernel *kernel, const struct cudaFuncAttributes *all) {
    __atomic_store_n(&kernel->max_shared, all->maxDynamicSharedSizeBytes, __ATOMIC_RELAXED);
    __atomic_store_n(&kernel->cluster_needed,
                     all->clusterDimMustBeSet && !all->requiredClusterWidth, __ATOMIC_RELAXED);
}

int acu_kernel_refresh(acu_kernel *kernel) {
    struct cudaFuncAttributes all = {0};
    int code = kernel->api->attributes(&all, kernel->raw);
    if (!code)
        take_settings(kernel, &all);
    return code;
}

/* Asks for all attributes that launches need. Most never change, and are written only here, before
 * another thread has the kernel. */
static int ask_attributes(acu_kernel *kernel) {
    struct cudaFuncAttributes all = {0};
    int code = kernel->api->attributes(&all, kernel->raw);
    if (code)
        return code;
    kernel->max_threads = all.maxThreadsPerBlock;
    kernel->registers = all.numRegs;
    kernel->static_shared = (int)all.sharedSizeBytes;
    take_settings(kernel, &all);
    return 0;
}

static int add_parameter(acu_kernel *kernel, size_t offset, size_t size) {
    size_t count = kernel->count;
    if ((count & (count - 1)) == 0) {
        acu_parameter *grown = realloc(kernel->parameters, (count ? 2 * count : 1) * sizeof *grown);
        if (!grown)
            return acu_record(ACU_ERROR_HOST_MEMORY, "no memory for the kernel's parameters");
        kernel->parameters = grown;
    }
    kernel->parameters[kernel->count++] = (acu_parameter){.offset = offset, .size = size};
    return 0;
}

/* Asks CUDA for the parameters; ACU_NOT_SUPPORTED, with nothing recorded, where it cannot report
 * them. */
static int ask_parameters(acu_kernel *kernel) {
    for (size_t i = 0;; i++) {
        size_t offset = 0, size = 0;
        int code = kernel->api->parameter(kernel->raw, i, &offset, &size);
        if (!code && size)
            code = add_parameter(kernel, offset, size);
        if (code || size == 0)
            return code;
    }
}

static int copy_parameters(acu_kernel *kernel, const acu_ptx_entry *entry) {
    int code = 0;
    for (size_t i = 0; i < entry->count && !code; i++)
        code = add_parameter(kernel, entry->parameters[i].offset, entry->parameters[i].size);
    return code;
}

/* Returns whether the PTX has the same parameters as CUDA reports. Only then its types are used. */
static bool agrees(const acu_kernel *kernel, const acu_ptx_entry *entry) {
    if (entry->count != kernel->count)
        return false;
    for (size_t i = 0; i < kernel->count; i++)
        if (entry->parameters[i].size != kernel->parameters[i].size ||
            entry->parameters[i].offset != kernel->parameters[i].offset)
            return false;
    return true;
}

/* Fills in the parameters, from CUDA or else from PTX, and how they are checked. */
static int find_parameters(acu_kernel *kernel, const acu_ptx_entry *entry) {
    int code = ask_parameters(kernel);
    if (code && code != ACU_NOT_SUPPORTED)
        return code;
    bool reported = code == 0;
    const acu_ptx_entry *known = entry && entry->known ? entry : NULL;
    code = !reported && known ? copy_parameters(kernel, known) : 0;
    if (code)
        return code;
    kernel->check = reported || known ? ACU_CHECK_SIZES : ACU_CHECK_NOTHING;
    if (!known || !agrees(kernel, known))
        return 0;
    for (size_t i = 0; i < kernel->count; i++)
        kernel->parameters[i].type = known->parameters[i].type;
    kernel->check = ACU_CHECK_TYPES;
    return 0;
}

/* Notes in few bytes what each parameter takes, for launches. */
static int find_accepted(acu_kernel *kernel) {
    kernel->accepted = kernel->count <= ACU_FEW_PARAMETERS
                           ? kernel->few
                           : malloc(kernel->count * sizeof *kernel->accepted);
    if (!kernel->accepted)
        return acu_record(ACU_ERROR_HOST_MEMORY, "no memory for the kernel's parameters");
    for (size_t i = 0; i < kernel->count; i++)
        kernel->accepted[i] = (acu_accepted){(uint32_t)kernel->parameters[i].size,
                                             acu_launch_kinds(kernel->parameters[i].type)};
    return 0;
}

static int look_at(acu_kernel *kernel, const acu_kernel_source *source) {
    int code = 0;
    if (source->module)
        code = kernel->api->kernel(&kernel->raw, source->module->raw, source->lowered);
    if (!code)
        code = ask_attributes(kernel);
    if (!code)
        code = find_parameters(kernel, source->entry);
    return code ? code : find_accepted(kernel);
}

/* ---- the driver's function ---- */

/* Returns whether the device has a primary context, which then costs nothing to retain. */
static bool has_primary_context(int device) {
    unsigned flags = 0;
    int active = 0;
    return cuDevicePrimaryCtxGetState(device, &flags, &active) == CUDA_SUCCESS && active;
}

/* Finds the kernel's function in the primary context, where almost all streams are: the driver
 * launches it a little faster than the kernel, whose function it looks for first. A kernel without
 * one is launched as it is. */
static void find_function(acu_kernel *kernel) {
    acu_saved_record before;
    acu_primary_context primary;
    struct CUfunc_st *function = NULL;
    acu_record_save(&before);
    if (has_primary_context(kernel->object.device)) {
        uint32_t number = ACU_NO_CONTEXT;
        if (!acu_primary_context_enter(&primary, kernel->object.device) &&
            !kernel->api->driver_function(&function, kernel->raw, true))
            number = acu_context_number(primary.raw);
        acu_primary_context_leave(&primary);
        if (number != ACU_NO_CONTEXT) {
            kernel->function = function;
            kernel->in_context = number;
            if (kernel->check != ACU_CHECK_NOTHING && kernel->count <= ACU_MAX_ARGUMENTS)
                kernel->direct_count = kernel->count;
        }
    }
    acu_record_restore(&before);
}

static int destroy_kernel(acu_object *object) {
    acu_kernel *kernel = (acu_kernel *)object;
    int code = acu_object_release(NULL, kernel->module, &acu_module_class), closed = 0;
    if (!kernel->module && !acu_is_unloading())
        closed = acu_forgive_unloading(kernel->api->close(&kernel->place));
    free(kernel->name);
    free(kernel->parameters);
    if (kernel->accepted != kernel->few)
        free(kernel->accepted);
    return code ? code : closed;
}

static void describe_kernel(const acu_object *object, acu_description *d) {
    const acu_kernel *kernel = (const acu_kernel *)object;
    if (kernel->name && *kernel->name)
        acu_describe(d, "%s", kernel->name);
    if (kernel->module)
        acu_describe(d, "of module %p", (void *)kernel->module);
    else
        acu_describe(d, "wrapped %p", kernel->raw);
}

static_assert(offsetof(acu_kernel, few[3]) <= (size_t)2 * ACU_CACHE_LINE,
              "a launch reads two lines");

const acu_class acu_kernel_class = {"kernel", destroy_kernel, describe_kernel, NULL};

static char *copy_name(const char *name) {
    size_t size = strlen(name) + 1;
    char *copy = malloc(size);
    return copy ? memcpy(copy, name, size) : NULL;
}

int acu_kernel_new(const char *call, const acu_kernel_source *source, acu_kernel **out) {
    int device = source->place.device, code = 0;
    acu_kernel *kernel = acu_object_new(call, &acu_kernel_class, sizeof *kernel, device);
    char *name = kernel ? copy_name(source->name) : NULL;
    if (!name) {
        if (kernel)
            acu_object_discard(&kernel->object);
        if (!source->module)
            (void)source->api->close(&source->place);
        return acu_record(ACU_ERROR_HOST_MEMORY, "no memory for a kernel");
    }
    kernel->api = source->api;
    kernel->launch = source->api->launch;
    kernel->place = source->place;
    kernel->module = source->module ? acu_module_retain(source->module) : NULL;
    kernel->raw = source->raw;
    /* True for kernels of libraries since 13.0; before, the runtime refuses streams of another
     * device. */
    kernel->by_stream = source->module && source->api == &acu_code_by_runtime &&
                        acu_loaded(ACU_CUDART)->version >= 13000;
    /* A cudaKernel_t is a CUkernel. */
    kernel->direct = source->module && source->api == &acu_code_by_runtime &&
                     acu_call_exists(&acu_function_cuLaunchKernel);
    kernel->name = name;
    code = ask_limits(kernel, device);
    if (!code)
        WITH_KERNEL(kernel, code, look_at(kernel, source));
    if (code) {
        (void)acu_object_release(call, kernel, &acu_kernel_class);
        return code;
    }
    kernel->direct_count = ACU_NEVER_DIRECT;
    kernel->function = (struct CUfunc_st *)kernel->raw;
    if (kernel->direct)
        find_function(kernel);
    *out = kernel;
    return 0;
}

/* Asks for the name of a wrapped kernel; "" where the runtime does not report it. */
static int ask_name(const acu_kernel_source *source, const char **name) {
    acu_saved_record before;
    acu_code_guard guard;
    *name = NULL;
    acu_record_save(&before);
    int code = source->api->enter(&source->place, &guard);
    if (!code)
        code = source->api->name(name, source->raw);
    source->api->leave(&guard);
    if (code == ACU_NOT_SUPPORTED) {
        acu_record_restore(&before);
        (void)cudaGetLastError();
        code = 0;
    }
    if (code || !*name)
        *name = "";
    return code;
}

static int wrap(const char *call, acu_device device, const acu_code_api *api, const void *raw,
                acu_kernel **kernel) {
    if (kernel)
        *kernel = NULL;
    if (!kernel || !raw)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'%s' is NULL", kernel ? "raw" : "kernel");
    int code = acu_device_resolve(call, &device);
    if (code)
        return code;
    acu_kernel_source source = {.api = api, .raw = raw, .place = {.device = device}};
    code = api->open(&source.place);
    if (code)
        return acu_cuda_failed(call, "", code);
    code = ask_name(&source, &source.name);
    if (code)
        (void)api->close(&source.place);
    else
        code = acu_kernel_new(call, &source, kernel);
    return code ? acu_cuda_failed(call, "", code) : 0;
}

acu_result acu_kernel_wrap(acu_device device, const void *function, acu_kernel **kernel) {
    ACU_SCOPE();
    return wrap(__func__, device, &acu_code_by_runtime, function, kernel);
}

acu_result acu_kernel_wrap_driver(acu_device device, struct CUfunc_st *raw, acu_kernel **kernel) {
    ACU_SCOPE();
    return wrap(__func__, device, &acu_code_by_driver, raw, kernel);
}

/* ---- properties ---- */

const void *acu_kernel_raw(const acu_kernel *kernel) {
    return acu_is(kernel, &acu_kernel_class) && kernel->api == &acu_code_by_runtime ? kernel->raw
                                                                                    : NULL;
}

struct CUfunc_st *acu_kernel_raw_driver(const acu_kernel *kernel) {
    return acu_is(kernel, &acu_kernel_class) && kernel->api == &acu_code_by_driver
               ? (struct CUfunc_st *)kernel->raw
               : NULL;
}

acu_result acu_kernel_get_function(acu_kernel *kernel, struct CUfunc_st **function) {
    ACU_SCOPE();
    int code = 0;
    ACU_NEED_POINTER(function);
    *function = NULL;
    ACU_NEED(kernel, acu_kernel_class);
    WITH_KERNEL(kernel, code,
                kernel->api->driver_function(function, kernel->raw, kernel->module != NULL));
    return OUTCOME(kernel, code);
}

/* Loads the driver's function of the kernel, or asks whether it is loaded. The context is current
 * where it is. Returns 0 or a recorded failure. */
static int load_function(const acu_kernel *kernel, bool *loaded) {
    CUfunctionLoadingState state = CU_FUNCTION_LOADING_STATE_UNLOADED;
    struct CUfunc_st *function = NULL;
    int code = kernel->api->driver_function(&function, kernel->raw, kernel->module != NULL);
    if (code || !loaded)
        return code ? code : acu_translate_driver(cuFuncLoad(function));
    code = acu_translate_driver(cuFuncIsLoaded(&state, function));
    *loaded = state == CU_FUNCTION_LOADING_STATE_LOADED;
    return code;
}

acu_result acu_kernel_is_loaded(acu_kernel *kernel, bool *loaded) {
    ACU_SCOPE();
    int code = 0;
    ACU_NEED_POINTER(loaded);
    *loaded = false;
    ACU_NEED(kernel, acu_kernel_class);
    WITH_KERNEL(kernel, code, load_function(kernel, loaded));
    return OUTCOME(kernel, code);
}

acu_result acu_kernel_load(acu_kernel *kernel) {
    ACU_SCOPE();
    int code = 0;
    ACU_NEED(kernel, acu_kernel_class);
    WITH_KERNEL(kernel, code, load_function(kernel, NULL));
    return OUTCOME(kernel, code);
}

acu_kernel *acu_kernel_retain(acu_kernel *kernel) {
    return acu_object_retain(__func__, kernel, &acu_kernel_class);
}

acu_result acu_kernel_release(acu_kernel *kernel) {
    ACU_SCOPE();
    acu_destroy_deferred();
    return acu_object_release(__func__, kernel, &acu_kernel_class);
}

void acu_kernel_cleanup(acu_kernel **kernel) {
    (void)acu_kernel_release(acu_take(kernel));
}

size_t acu_kernel_describe(const acu_kernel *kernel, char *text, size_t size) {
    return acu_object_describe_as(kernel, &acu_kernel_class, text, size);
}

acu_device acu_kernel_device(const acu_kernel *kernel) {
    return acu_is(kernel, &acu_kernel_class) ? kernel->object.device : ACU_DEVICE_CURRENT;
}

const char *acu_kernel_name(const acu_kernel *kernel) {
    return acu_is(kernel, &acu_kernel_class) ? kernel->name : "";
}

acu_module *acu_kernel_module(const acu_kernel *kernel) {
    return acu_is(kernel, &acu_kernel_class) ? kernel->module : NULL;
}

static void fill_info(acu_kernel_info *info, const struct cudaFuncAttributes *all) {
    *info = (acu_kernel_info){
        .max_threads = all->maxThreadsPerBlock,
        .registers = all->numRegs,
        .static_shared = all->sharedSizeBytes,
        .max_shared = (size_t)all->maxDynamicSharedSizeBytes,
        .constant_bytes = all->constSizeBytes,
        .local_bytes = all->localSizeBytes,
        .shared_carveout = all->preferredShmemCarveout,
        .ptx_version = all->ptxVersion,
        .binary_version = all->binaryVersion,
        .cluster_needed = all->clusterDimMustBeSet != 0,
        .big_clusters = all->nonPortableClusterSizeAllowed != 0,
        .cluster = {(size_t)all->requiredClusterWidth, (size_t)all->requiredClusterHeight,
                    (size_t)all->requiredClusterDepth},
        .cluster_scheduling = all->clusterSchedulingPolicyPreference,
    };
}

acu_result acu_kernel_get_info(acu_kernel *kernel, acu_kernel_info *info) {
    ACU_SCOPE();
    struct cudaFuncAttributes all = {0};
    int code = 0;
    ACU_NEED_POINTER(info);
    *info = (acu_kernel_info){0};
    ACU_NEED(kernel, acu_kernel_class);
    WITH_KERNEL(kernel, code, kernel->api->attributes(&all, kernel->raw));
    ACU_TRY(OUTCOME(kernel, code));
    fill_info(info, &all);
    return 0;
}

static int set_and_refresh(acu_kernel *kernel, enum cudaFuncAttribute attribute, int value) {
    int code = kernel->api->set(kernel->raw, attribute, value);
    return code ? code : acu_kernel_refresh(kernel);
}

acu_result acu_kernel_set_attribute(acu_kernel *kernel, acu_kernel_attribute attribute, int value) {
    ACU_SCOPE();
    int code = 0;
    ACU_NEED(kernel, acu_kernel_class);
    int most = kernel->limits.shared_most - kernel->static_shared;
    ACU_REQUIRE_OF(
        kernel, attribute != ACU_KERNEL_MAX_SHARED || value <= most, ACU_ERROR_LIMIT,
        "%d bytes of dynamic shared memory for %s: device %d has %d per block, of which the code "
        "takes %d",
        value, kernel->name, kernel->object.device, kernel->limits.shared_most,
        kernel->static_shared);
    WITH_KERNEL(kernel, code, set_and_refresh(kernel, (enum cudaFuncAttribute)attribute, value));
    return OUTCOME(kernel, code);
}

/* ---- parameters ---- */

acu_parameter_check acu_kernel_parameter_check(const acu_kernel *kernel) {
    return acu_is(kernel, &acu_kernel_class) ? kernel->check : ACU_CHECK_NOTHING;
}

static int check_known(const char *call, const acu_kernel *kernel) {
    if (!acu_is(kernel, &acu_kernel_class))
        return acu_object_refuse(call, kernel, &acu_kernel_class);
    if (kernel->check == ACU_CHECK_NOTHING)
        return acu_fail_on(
            call, kernel, ACU_NOT_SUPPORTED,
            "the parameters of %s are not known: PTX declares them, and driver and runtime report "
            "them since 12.4",
            kernel->name);
    return 0;
}

acu_result acu_kernel_get_parameter_count(acu_kernel *kernel, size_t *count) {
    ACU_SCOPE();
    ACU_NEED_POINTER(count);
    *count = 0;
    ACU_TRY(check_known(__func__, kernel));
    *count = kernel->count;
    return 0;
}

acu_result acu_kernel_get_parameter(acu_kernel *kernel, size_t index, acu_parameter *parameter) {
    ACU_SCOPE();
    ACU_NEED_POINTER(parameter);
    *parameter = (acu_parameter){0};
    ACU_TRY(check_known(__func__, kernel));
    ACU_REQUIRE_OF(kernel, index < kernel->count, ACU_ERROR_RANGE,
                   "%s has %zu parameters, so there is no parameter %zu", kernel->name,
                   kernel->count, index);
    *parameter = kernel->parameters[index];
    return 0;
}

/* ---- occupancy ---- */

static int blocks_per(const acu_kernel *kernel, size_t threads, size_t shared, unsigned flags,
                      int *blocks) {
    int code = 0;
    *blocks = 0;
    if (shared > (size_t)kernel->limits.shared_most) /* CUDA counts such sizes in 32 bits */
        return 0;
    WITH_KERNEL(kernel, code,
                kernel->api->occupancy(blocks, kernel->raw, (int)threads, shared, flags));
    return code;
}

int acu_kernel_count_resident(const acu_kernel *kernel, int threads, size_t shared,
                              size_t multiprocessors, size_t *blocks) {
    int each = 0;
    int code = blocks_per(kernel, (size_t)threads, shared, 0, &each);
    *blocks =
        (size_t)each * (multiprocessors ? multiprocessors : (size_t)kernel->limits.multiprocessors);
    return code;
}

acu_result acu_kernel_get_blocks_per_multiprocessor(acu_kernel *kernel, size_t threads,
                                                    size_t shared_bytes, unsigned flags,
                                                    int *blocks) {
    ACU_SCOPE();
    ACU_NEED_POINTER(blocks);
    *blocks = 0;
    ACU_NEED(kernel, acu_kernel_class);
    ACU_REQUIRE_OF(kernel, threads > 0 && threads <= INT32_MAX, ACU_ERROR_ARGUMENT,
                   "a block cannot have %zu threads", threads);
    return OUTCOME(kernel, blocks_per(kernel, threads, shared_bytes, flags, blocks));
}

/* Tries one size of block, which becomes the best if more of its threads run at once. `best`:
 * threads of a block, and blocks on a multiprocessor. */
static int try_block(const acu_kernel *kernel, const acu_block_need *need, size_t threads,
                     size_t best[2]) {
    int each = 0;
    size_t shared = need->shared_for ? need->shared_for(threads, need->data) : need->shared_bytes;
    int code = blocks_per(kernel, threads, shared, need->flags, &each);
    if (!code && (size_t)each * threads > best[0] * best[1]) {
        best[0] = threads;
        best[1] = (size_t)each;
    }
    return code;
}

/* Tries all sizes as CUDA's own headers do, from the largest whole number of warps down. */
static int find_best(const acu_kernel *kernel, const acu_block_need *need, size_t best[2]) {
    int warp = 0, whole = 0;
    int code = (int)cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, kernel->object.device);
    if (!code)
        code = (int)cudaDeviceGetAttribute(&whole, cudaDevAttrMaxThreadsPerMultiProcessor,
                                           kernel->object.device);
    size_t step = warp > 0 ? (size_t)warp : 32, most = (size_t)kernel->max_threads;
    if (need->max_threads && need->max_threads < most)
        most = need->max_threads;
    for (size_t up = (most + step - 1) / step * step; up > 0 && !code; up -= step) {
        code = try_block(kernel, need, up < most ? up : most, best);
        if (best[0] * best[1] == (size_t)whole)
            break; /* the multiprocessor is full */
    }
    return code;
}

acu_result acu_kernel_get_best_block(acu_kernel *kernel, const acu_block_need *need,
                                     size_t *threads, size_t *blocks) {
    ACU_SCOPE();
    static const acu_block_need none;
    size_t best[2] = {0, 0};
    if (threads)
        *threads = 0;
    if (blocks)
        *blocks = 0;
    ACU_NEED(kernel, acu_kernel_class);
    ACU_TRY(OUTCOME(kernel, find_best(kernel, need ? need : &none, best)));
    if (threads)
        *threads = best[0];
    if (blocks)
        *blocks = best[1] * (size_t)kernel->limits.multiprocessors;
    return 0;
}

acu_result acu_kernel_get_available_shared(acu_kernel *kernel, int blocks, size_t threads,
                                           size_t *bytes) {
    ACU_SCOPE();
    int code = 0;
    ACU_NEED_POINTER(bytes);
    *bytes = 0;
    ACU_NEED(kernel, acu_kernel_class);
    ACU_REQUIRE_OF(kernel, threads > 0 && threads <= INT32_MAX, ACU_ERROR_ARGUMENT,
                   "a block cannot have %zu threads", threads);
    WITH_KERNEL(kernel, code,
                kernel->api->available_shared(bytes, kernel->raw, blocks, (int)threads));
    return OUTCOME(kernel, code);
}

/* A function of the API about clusters. */
typedef int cluster_question(int *answer, const acu_prepared_launch *prepared);

static int ask_clusters(const char *call, acu_kernel *kernel, const acu_grid *grid, bool size,
                        int *answer) {
    acu_prepared_launch prepared;
    if (!answer)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'%s' is NULL", size ? "blocks" : "clusters");
    *answer = 0;
    if (!acu_is(kernel, &acu_kernel_class))
        return acu_object_refuse(call, kernel, &acu_kernel_class);
    int code = acu_launch_prepare_grid(call, kernel, grid, &prepared);
    if (code)
        return code;
    cluster_question *ask = size ? kernel->api->cluster_size : kernel->api->clusters;
    WITH_KERNEL(kernel, code, ask(answer, &prepared));
    return acu_outcome(call, kernel, code);
}

acu_result acu_kernel_get_max_clusters(acu_kernel *kernel, const acu_grid *grid, int *clusters) {
    ACU_SCOPE();
    return ask_clusters(__func__, kernel, grid, false, clusters);
}

acu_result acu_kernel_get_max_cluster_size(acu_kernel *kernel, const acu_grid *grid, int *blocks) {
    ACU_SCOPE();
    return ask_clusters(__func__, kernel, grid, true, blocks);
}
