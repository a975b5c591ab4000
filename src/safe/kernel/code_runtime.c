/* Kernels loaded by the runtime: those of libraries (since CUDA 12.8), and those that nvcc compiled
 * into the program. */
#include "safe/kernel/code_api.h"
#include "core/call.h"
#include "core/translate.h"
#include "cuda_abi.h"
#include "cudart_abi.h"
#include "safe/base/primary_context.h"
#include "safe/kernel/launch.h"

#include <anycuda/cuda.h>

const acu_code_api *acu_code_api_for_modules(void) {
    return acu_call_exists(&acu_function_cudaLibraryLoadData) ? &acu_code_by_runtime
                                                              : &acu_code_by_driver;
}

/* ---- places ---- */

static int open_place(acu_code_place *place) {
    (void)place;
    return 0;
}

static int close_place(const acu_code_place *place) {
    (void)place;
    return 0;
}

static int enter(const acu_code_place *place, acu_code_guard *guard) {
    guard->pushed = false;
    return acu_guard_enter(&guard->device, place->device);
}

static void leave(acu_code_guard *guard) {
    acu_guard_leave(&guard->device);
}

/* ---- modules ---- */

/* CUDA loads lazily, and reports errors in the code only when something of it is needed. Asking for
 * the number of kernels makes CUDA report them here. */
static int load(void **module, const void *image, acu_code_jit *jit) {
    cudaLibrary_t library = NULL;
    unsigned kernels;
    acu_saved_record why;
    int code = (int)cudaLibraryLoadData(&library, image, jit->options, jit->values, jit->count,
                                        NULL, NULL, 0);
    if (!code && (code = (int)cudaLibraryGetKernelCount(&kernels, library)) != 0) {
        acu_record_save(&why);
        (void)cudaLibraryUnload(library);
        acu_record_restore(&why);
        library = NULL;
    }
    *module = library;
    return code;
}

static int unload(void *module) {
    return (int)cudaLibraryUnload(module);
}

static int kernel(const void **function, void *module, const char *name) {
    cudaKernel_t found = NULL;
    int code = (int)cudaLibraryGetKernel(&found, module, name);
    *function = found;
    return code;
}

/* Managed variables are found by another call; where there is neither, the first one's error
 * counts.
 */
static int global(void **at, size_t *bytes, void *module, const char *name) {
    acu_saved_record first;
    int code = (int)cudaLibraryGetGlobal(at, bytes, module, name);
    if (code == cudaErrorInvalidValue) /* the name of a kernel */
        return cudaErrorSymbolNotFound;
    if (code != cudaErrorSymbolNotFound)
        return code;
    acu_record_save(&first);
    int managed = (int)cudaLibraryGetManaged(at, bytes, module, name);
    acu_record_restore(&first);
    (void)cudaGetLastError();
    return managed ? code : 0;
}

/* The name of a kernel is an invalid value. */
static int unified(void **at, void *module, const char *name) {
    const int code = (int)cudaLibraryGetUnifiedFunction(at, module, name);
    return code == cudaErrorInvalidValue ? (int)cudaErrorSymbolNotFound : code;
}

static int count(unsigned *kernels, void *module) {
    return (int)cudaLibraryGetKernelCount(kernels, module);
}

static int list(const void **functions, unsigned kernels, void *module) {
    /* cudaKernel_t is a pointer like any other */
    return (int)cudaLibraryEnumerateKernels((cudaKernel_t *)(void *)functions, kernels, module);
}

static int name(const char **text, const void *function) {
    return (int)cudaFuncGetName(text, function);
}

/* ---- kernels ---- */

static int attributes(struct cudaFuncAttributes *all, const void *function) {
    return (int)cudaFuncGetAttributes(all, function);
}

/* A cudaKernel_t is a CUkernel; what was wrapped may be a host function instead. */
static int driver_function(struct CUfunc_st **found, const void *function, bool of_module) {
    acu_saved_record before;
    if (!of_module) {
        acu_record_save(&before);
        const int code = (int)cudaGetFuncBySymbol(found, function);
        if (code != cudaErrorInvalidDeviceFunction)
            return code;
        acu_record_restore(&before);
        (void)cudaGetLastError();
    }
    return acu_translate_driver(cuKernelGetFunction(found, (CUkernel)function));
}

static int set(const void *function, enum cudaFuncAttribute attribute, int value) {
    return (int)cudaFuncSetAttribute(function, attribute, value);
}

/* Asks the driver, which may be newer than the runtime, where the runtime cannot report parameters.
 */
static int ask_driver(const void *function, size_t index, size_t *offset, size_t *size) {
    cudaFunction_t same = NULL;
    int code = (int)cudaGetFuncBySymbol(&same, function);
    return code ? code : acu_translate_driver(cuFuncGetParamInfo(same, index, offset, size));
}

static int parameter(const void *function, size_t index, size_t *offset, size_t *size) {
    acu_saved_record before;
    bool in_runtime = acu_call_exists(&acu_function_cudaFuncGetParamInfo);
    *offset = *size = 0;
    if (!in_runtime && !acu_call_exists(&acu_function_cuFuncGetParamInfo))
        return ACU_NOT_SUPPORTED;
    acu_record_save(&before);
    int code = in_runtime ? (int)cudaFuncGetParamInfo(function, index, offset, size)
                          : ask_driver(function, index, offset, size);
    if (code != cudaErrorInvalidValue)
        return code;
    acu_record_restore(&before); /* it is beyond the last one */
    (void)cudaGetLastError();
    *size = 0;
    return 0;
}

static int occupancy(int *blocks, const void *function, int threads, size_t shared,
                     unsigned flags) {
    return (int)cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads,
                                                                       shared, flags);
}

static int available_shared(size_t *bytes, const void *function, int blocks, int threads) {
    return (int)cudaOccupancyAvailableDynamicSMemPerBlock(bytes, function, blocks, threads);
}

static cudaLaunchConfig_t config_of(const acu_prepared_launch *prepared, cudaStream_t stream) {
    return (cudaLaunchConfig_t){.gridDim = prepared->blocks,
                                .blockDim = prepared->threads,
                                .dynamicSmemBytes = prepared->shared_bytes,
                                .stream = stream,
                                .attrs = (cudaLaunchAttribute *)prepared->attributes,
                                .numAttrs = prepared->attribute_count};
}

static int clusters(int *most, const acu_prepared_launch *prepared) {
    cudaLaunchConfig_t config = config_of(prepared, NULL);
    return (int)cudaOccupancyMaxActiveClusters(most, prepared->kernel->raw, &config);
}

static int cluster_size(int *blocks, const acu_prepared_launch *prepared) {
    cudaLaunchConfig_t config = config_of(prepared, NULL);
    return (int)cudaOccupancyMaxPotentialClusterSize(blocks, prepared->kernel->raw, &config);
}

/* ---- launches ---- */

ACU_COLD static int launch_with_attributes(const acu_prepared_launch *p, cudaStream_t stream) {
    const void *function = p->kernel->raw;
    void **params = (void **)p->params;
    if (p->cooperative && p->attribute_count == 1)
        return (int)cudaLaunchCooperativeKernel(function, p->blocks, p->threads, params,
                                                p->shared_bytes, stream);
    cudaLaunchConfig_t config = config_of(p, stream);
    return (int)cudaLaunchKernelExC(&config, function, params);
}

/* Returns the number of the stream's context; ACU_NO_CONTEXT for one in a green context, whose
 * functions are its own. */
static uint32_t ask_context(const acu_stream *stream) {
    CUcontext context = NULL;
    CUgreenCtx green = NULL;
    if (stream->context || (acu_call_exists(&acu_function_cuStreamGetGreenCtx) &&
                            (cuStreamGetGreenCtx(stream->raw, &green) != CUDA_SUCCESS || green)))
        return ACU_NO_CONTEXT;
    return cuStreamGetCtx(stream->raw, &context) == CUDA_SUCCESS ? acu_context_number(context)
                                                                 : ACU_NO_CONTEXT;
}

/* Returns the function of the kernel in the stream's context, or else the kernel, which the driver
 * takes with any stream. */
ACU_COLD static CUfunction look_for_function(const acu_kernel *kernel, acu_stream *stream) {
    uint32_t number = __atomic_load_n(&stream->in_context, __ATOMIC_RELAXED);
    if (number == 0) {
        acu_saved_record before;
        acu_record_save(&before);
        number = ask_context(stream);
        acu_record_restore(&before);
        __atomic_store_n(&stream->in_context, number, __ATOMIC_RELAXED);
    }
    return number == kernel->in_context ? kernel->function : (CUfunction)kernel->raw;
}

/* The slot is called without its wrapper, because a failure here is none yet. */
static inline bool launch_by_driver(CUfunction function, const acu_prepared_launch *p,
                                    const acu_stream *stream) {
    return ACU_LIKELY(ACU_LOAD(acu_slot_cuLaunchKernel)(function, p->blocks.x, p->blocks.y,
                                                        p->blocks.z, p->threads.x, p->threads.y,
                                                        p->threads.z, p->shared_bytes, stream->raw,
                                                        (void **)p->params, NULL) == CUDA_SUCCESS);
}

ACU_COLD static bool launch_kernel(CUfunction tried, const acu_prepared_launch *p,
                                   const acu_stream *stream) {
    CUfunction kernel = (CUfunction)p->kernel->raw;
    return tried != kernel && launch_by_driver(kernel, p, stream);
}

/*
 * Launches by the driver's call beneath the runtime's, which takes the same stream, and the
 * context from it. Where the driver refuses the function, it is asked for the kernel; where it
 * refuses that, too, the runtime's call is made, and says what is wrong. Returns false where the
 * launch has to go that way: nodes that are captured are the runtime's, as those that are added,
 * and default streams are those of the current device.
 */
static inline bool launch_directly(const acu_prepared_launch *p, acu_stream *stream) {
    const acu_kernel *kernel = p->kernel;
    if (!ACU_LIKELY(kernel->direct && p->attribute_count == 0 && !stream->is_default &&
                    !acu_capture_of(stream) && !acu_is_shared(&stream->shared)))
        return false;
    CUfunction function = kernel->function;
    if (!ACU_LIKELY(__atomic_load_n(&stream->in_context, __ATOMIC_RELAXED) == kernel->in_context))
        function = look_for_function(kernel, stream);
    return launch_by_driver(function, p, stream) || launch_kernel(function, p, stream);
}

__attribute__((noinline)) static int launch_by_runtime(const acu_prepared_launch *p,
                                                       const acu_stream *stream) {
    acu_guard guard;
    bool by_stream = p->kernel->by_stream && p->attribute_count == 0;
    int code = by_stream ? acu_stream_enter(stream, &guard)
                         : acu_guard_enter(&guard, p->kernel->place.device);
    if (code)
        return code;
    if (ACU_LIKELY(p->attribute_count == 0))
        code = (int)cudaLaunchKernel(p->kernel->raw, p->blocks, p->threads, (void **)p->params,
                                     p->shared_bytes, stream->raw);
    else
        code = launch_with_attributes(p, stream->raw);
    acu_guard_leave(&guard);
    return code;
}

ACU_HOT static int launch(const acu_prepared_launch *p, acu_stream *stream) {
    return ACU_LIKELY(launch_directly(p, stream)) ? 0 : launch_by_runtime(p, stream);
}

static struct cudaKernelNodeParams node_of(const acu_prepared_launch *p) {
    return (struct cudaKernelNodeParams){.func = (void *)p->kernel->raw,
                                         .gridDim = p->blocks,
                                         .blockDim = p->threads,
                                         .sharedMemBytes = p->shared_bytes,
                                         .kernelParams = (void **)p->params};
}

static int set_attributes(const acu_prepared_launch *p, cudaGraphNode_t node) {
    int code = 0;
    for (unsigned i = 0; i < p->attribute_count && !code; i++)
        code =
            (int)cudaGraphKernelNodeSetAttribute(node, p->attributes[i].id, &p->attributes[i].val);
    return code;
}

static int add_node(const acu_prepared_launch *p, cudaGraph_t graph, const cudaGraphNode_t *after,
                    size_t afters, cudaGraphNode_t *node) {
    struct cudaKernelNodeParams params = node_of(p);
    int code = (int)cudaGraphAddKernelNode(node, graph, after, afters, &params);
    return code ? code : set_attributes(p, *node);
}

static int get_node_params(cudaGraphNode_t node, struct cudaKernelNodeParamsV2 *params) {
    struct cudaKernelNodeParams p = {0};
    int code = (int)cudaGraphKernelNodeGetParams(node, &p);
    *params = (struct cudaKernelNodeParamsV2){.func = p.func,
                                              .gridDim = p.gridDim,
                                              .blockDim = p.blockDim,
                                              .sharedMemBytes = p.sharedMemBytes,
                                              .kernelParams = p.kernelParams,
                                              .extra = p.extra};
    return code;
}

static int set_node_params(cudaGraphExec_t exec, cudaGraphNode_t node,
                           const struct cudaKernelNodeParamsV2 *p) {
    const struct cudaKernelNodeParams params = {.func = p->func,
                                                .gridDim = p->gridDim,
                                                .blockDim = p->blockDim,
                                                .sharedMemBytes = p->sharedMemBytes,
                                                .kernelParams = p->kernelParams,
                                                .extra = p->extra};
    return (int)(exec ? cudaGraphExecKernelNodeSetParams(exec, node, &params)
                      : cudaGraphKernelNodeSetParams(node, &params));
}

static int set_node(const acu_prepared_launch *p, cudaGraphNode_t node) {
    struct cudaKernelNodeParams params = node_of(p);
    int code = (int)cudaGraphKernelNodeSetParams(node, &params);
    return code ? code : set_attributes(p, node);
}

static int set_exec_node(const acu_prepared_launch *p, cudaGraphExec_t exec, cudaGraphNode_t node) {
    struct cudaKernelNodeParams params = node_of(p);
    return (int)cudaGraphExecKernelNodeSetParams(exec, node, &params);
}

const acu_code_api acu_code_by_runtime = {
    .open = open_place,
    .close = close_place,
    .enter = enter,
    .leave = leave,
    .load = load,
    .unload = unload,
    .kernel = kernel,
    .global = global,
    .unified = unified,
    .count = count,
    .list = list,
    .name = name,
    .attributes = attributes,
    .driver_function = driver_function,
    .set = set,
    .parameter = parameter,
    .occupancy = occupancy,
    .available_shared = available_shared,
    .clusters = clusters,
    .cluster_size = cluster_size,
    .launch = launch,
    .add_node = add_node,
    .get_node_params = get_node_params,
    .set_node_params = set_node_params,
    .set_node = set_node,
    .set_exec_node = set_exec_node,
};
