/*
 * Kernels loaded by the driver, for runtimes before 12.8 and for CUfunctions of the caller. Modules
 * are in the device's primary context, which the runtime uses, too, so streams, events, memory and
 * graphs are the same.
 */
#include "core/call.h"
#include "core/translate.h"
#include "safe/kernel/code_api.h"
#include "cuda_abi.h"
#include "safe/kernel/launch.h"

#include <anycuda/cuda.h>

#include <assert.h>
#include <string.h>

/* The driver's values are the runtime's, except for a few that the runtime lacks. */
static_assert((int)CUDA_ERROR_INVALID_VALUE == (int)cudaErrorInvalidValue, "");
static_assert((int)CUDA_ERROR_NOT_FOUND == (int)cudaErrorSymbolNotFound, "");
static_assert((int)CUDA_ERROR_DEINITIALIZED == (int)cudaErrorCudartUnloading, "");
static_assert((int)CU_JIT_OVERRIDE_DIRECTIVE_VALUES == (int)cudaJitOverrideDirectiveValues, "");
static_assert((int)CU_JIT_ERROR_LOG_BUFFER == (int)cudaJitErrorLogBuffer, "");
static_assert((int)CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE ==
                  (int)cudaFuncAttributeClusterSchedulingPolicyPreference,
              "");
static_assert(sizeof(CUlaunchAttribute) == sizeof(cudaLaunchAttribute), "");
static_assert((int)CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT ==
                  (int)cudaLaunchAttributeLaunchCompletionEvent,
              "");

static CUfunction function_of(const void *raw) {
    return (CUfunction)raw;
}

/* ---- places ---- */

static int open_place(acu_code_place *place) {
    CUdevice device = 0;
    int code = acu_translate_driver(cuInit(0));
    if (!code)
        code = acu_translate_driver(cuDeviceGet(&device, place->device));
    if (!code)
        code = acu_translate_driver(cuDevicePrimaryCtxRetain(&place->context, device));
    return code;
}

static int close_place(const acu_code_place *place) {
    CUdevice device = 0;
    int code = acu_translate_driver(cuDeviceGet(&device, place->device));
    return code ? code : acu_translate_driver(cuDevicePrimaryCtxRelease(device));
}

static int enter(const acu_code_place *place, acu_code_guard *guard) {
    CUcontext current = NULL;
    *guard = (acu_code_guard){.pushed = false};
    int code = acu_translate_driver(cuCtxGetCurrent(&current));
    if (code || current == place->context)
        return code;
    code = acu_translate_driver(cuCtxPushCurrent(place->context));
    guard->pushed = code == 0;
    return code;
}

static void leave(acu_code_guard *guard) {
    CUcontext popped;
    acu_saved_record before;
    if (!guard->pushed)
        return;
    guard->pushed = false;
    acu_record_save(&before);
    if (acu_translate_driver(cuCtxPopCurrent(&popped)))
        acu_record_release_error();
    acu_record_restore(&before);
}

/* ---- modules ---- */

static int load(void **module, const void *image, acu_code_jit *jit) {
    CUmodule loaded = NULL;
    int code = acu_translate_driver(cuModuleLoadDataEx(
        &loaded, image, jit->count, (CUjit_option *)(void *)jit->options, jit->values));
    *module = loaded;
    return code;
}

static int unload(void *module) {
    return acu_translate_driver(cuModuleUnload(module));
}

/* For a name of something else, or an invalid one, the driver returns "invalid value", where the
 * runtime returns "symbol not found". */
static int found(CUresult result) {
    int code = acu_translate_driver(result);
    return code == cudaErrorInvalidValue ? (int)cudaErrorSymbolNotFound : code;
}

static int kernel(const void **function, void *module, const char *name) {
    CUfunction raw = NULL;
    int code = found(cuModuleGetFunction(&raw, module, name));
    *function = raw;
    return code;
}

static int global(void **at, size_t *bytes, void *module, const char *name) {
    CUdeviceptr address = 0;
    int code = found(cuModuleGetGlobal(&address, bytes, module, name));
    *at = (void *)(uintptr_t)address;
    return code;
}

/* Only libraries have unified functions. */
static int unified(void **at, void *module, const char *name) {
    (void)module;
    *at = NULL;
    return acu_record(
        ACU_NOT_SUPPORTED,
        "the unified function \"%s\" needs CUDA 12.8, which loads modules as libraries", name);
}

static int count(unsigned *kernels, void *module) {
    return acu_translate_driver(cuModuleGetFunctionCount(kernels, module));
}

static int list(const void **functions, unsigned kernels, void *module) {
    return acu_translate_driver(
        cuModuleEnumerateFunctions((CUfunction *)(void *)functions, kernels, module));
}

static int name(const char **text, const void *function) {
    return acu_translate_driver(cuFuncGetName(text, function_of(function)));
}

/* ---- kernels ---- */

typedef struct asked {
    CUfunction_attribute attribute;
    int *value;
} asked;

/* Asks for attributes. With `optional`, one that the driver is too old to know is 0. */
static int ask(const asked *list_of, size_t length, CUfunction function, bool optional) {
    int code = 0;
    acu_saved_record before;
    for (size_t i = 0; i < length && !code; i++) {
        acu_record_save(&before);
        code = acu_translate_driver(
            cuFuncGetAttribute(list_of[i].value, list_of[i].attribute, function));
        bool unknown = code == cudaErrorInvalidValue || code == ACU_NOT_SUPPORTED;
        if (optional && unknown) {
            acu_record_restore(&before);
            *list_of[i].value = 0;
            code = 0;
        }
    }
    return code;
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int attributes(struct cudaFuncAttributes *all, const void *raw) {
    int shared = 0, constant = 0, local = 0;
    const asked always[] = {
        {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &all->maxThreadsPerBlock},
        {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &shared},
        {CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, &constant},
        {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &local},
        {CU_FUNC_ATTRIBUTE_NUM_REGS, &all->numRegs},
        {CU_FUNC_ATTRIBUTE_PTX_VERSION, &all->ptxVersion},
        {CU_FUNC_ATTRIBUTE_BINARY_VERSION, &all->binaryVersion},
        {CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, &all->cacheModeCA},
        {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, &all->maxDynamicSharedSizeBytes},
        {CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, &all->preferredShmemCarveout},
    };
    const asked newer[] = {
        {CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, &all->clusterDimMustBeSet},
        {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, &all->requiredClusterWidth},
        {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, &all->requiredClusterHeight},
        {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, &all->requiredClusterDepth},
        {CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, &all->nonPortableClusterSizeAllowed},
        {CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
         &all->clusterSchedulingPolicyPreference},
    };
    *all = (struct cudaFuncAttributes){0};
    int code = ask(always, COUNT(always), function_of(raw), false);
    if (!code)
        code = ask(newer, COUNT(newer), function_of(raw), true);
    all->sharedSizeBytes = (size_t)shared;
    all->constSizeBytes = (size_t)constant;
    all->localSizeBytes = (size_t)local;
    return code;
}

static int driver_function(struct CUfunc_st **found, const void *function, bool of_module) {
    (void)of_module;
    *found = function_of(function);
    return 0;
}

/* The driver has one attribute that the runtime lacks, so the later ones have other numbers. */
static CUfunction_attribute attribute_of(enum cudaFuncAttribute attribute) {
    return attribute == cudaFuncAttributeSharedMemoryMode ? CU_FUNC_ATTRIBUTE_SHARED_MEMORY_MODE
                                                          : (CUfunction_attribute)attribute;
}

static int set(const void *function, enum cudaFuncAttribute attribute, int value) {
    return acu_translate_driver(
        cuFuncSetAttribute(function_of(function), attribute_of(attribute), value));
}

static int parameter(const void *function, size_t index, size_t *offset, size_t *size) {
    acu_saved_record before;
    *offset = *size = 0;
    if (!acu_call_exists(&acu_function_cuFuncGetParamInfo))
        return ACU_NOT_SUPPORTED;
    acu_record_save(&before);
    int code = acu_translate_driver(cuFuncGetParamInfo(function_of(function), index, offset, size));
    if (code != cudaErrorInvalidValue)
        return code;
    acu_record_restore(&before); /* it is beyond the last one */
    *size = 0;
    return 0;
}

static int occupancy(int *blocks, const void *function, int threads, size_t shared,
                     unsigned flags) {
    return acu_translate_driver(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks, function_of(function), threads, shared, flags));
}

static int available_shared(size_t *bytes, const void *function, int blocks, int threads) {
    return acu_translate_driver(
        cuOccupancyAvailableDynamicSMemPerBlock(bytes, function_of(function), blocks, threads));
}

static CUlaunchConfig config_of(const acu_prepared_launch *p, cudaStream_t stream) {
    return (CUlaunchConfig){.gridDimX = p->blocks.x,
                            .gridDimY = p->blocks.y,
                            .gridDimZ = p->blocks.z,
                            .blockDimX = p->threads.x,
                            .blockDimY = p->threads.y,
                            .blockDimZ = p->threads.z,
                            .sharedMemBytes = p->shared_bytes,
                            .hStream = stream,
                            .attrs = (CUlaunchAttribute *)(void *)p->attributes,
                            .numAttrs = p->attribute_count};
}

static int clusters(int *most, const acu_prepared_launch *p) {
    CUlaunchConfig config = config_of(p, NULL);
    return acu_translate_driver(
        cuOccupancyMaxActiveClusters(most, function_of(p->kernel->raw), &config));
}

static int cluster_size(int *blocks, const acu_prepared_launch *p) {
    CUlaunchConfig config = config_of(p, NULL);
    return acu_translate_driver(
        cuOccupancyMaxPotentialClusterSize(blocks, function_of(p->kernel->raw), &config));
}

/* ---- launches ---- */

static int launch_on(const acu_prepared_launch *p, cudaStream_t stream) {
    CUfunction function = function_of(p->kernel->raw);
    void **params = (void **)p->params;
    if (ACU_LIKELY(p->attribute_count == 0))
        return acu_translate_driver(cuLaunchKernel(function, p->blocks.x, p->blocks.y, p->blocks.z,
                                                   p->threads.x, p->threads.y, p->threads.z,
                                                   p->shared_bytes, stream, params, NULL));
    if (p->cooperative && p->attribute_count == 1)
        return acu_translate_driver(
            cuLaunchCooperativeKernel(function, p->blocks.x, p->blocks.y, p->blocks.z, p->threads.x,
                                      p->threads.y, p->threads.z, p->shared_bytes, stream, params));
    CUlaunchConfig config = config_of(p, stream);
    return acu_translate_driver(cuLaunchKernelEx(&config, function, params, NULL));
}

static int launch(const acu_prepared_launch *p, acu_stream *stream) {
    acu_code_guard guard;
    int code = enter(&p->kernel->place, &guard);
    if (!code)
        code = launch_on(p, stream->raw);
    leave(&guard);
    return code;
}

static CUDA_KERNEL_NODE_PARAMS node_of(const acu_prepared_launch *p) {
    return (CUDA_KERNEL_NODE_PARAMS){.func = function_of(p->kernel->raw),
                                     .gridDimX = p->blocks.x,
                                     .gridDimY = p->blocks.y,
                                     .gridDimZ = p->blocks.z,
                                     .blockDimX = p->threads.x,
                                     .blockDimY = p->threads.y,
                                     .blockDimZ = p->threads.z,
                                     .sharedMemBytes = p->shared_bytes,
                                     .kernelParams = (void **)p->params};
}

static int set_attributes(const acu_prepared_launch *p, cudaGraphNode_t node) {
    int code = 0;
    for (unsigned i = 0; i < p->attribute_count && !code; i++)
        code = acu_translate_driver(cuGraphKernelNodeSetAttribute(
            node, (CUkernelNodeAttrID)p->attributes[i].id,
            (const CUkernelNodeAttrValue *)(const void *)&p->attributes[i].val));
    return code;
}

/*
 * Drivers before 12.0 have these functions under their plain symbols, with a struct that begins in
 * the same way and is shorter. Runtimes before 12.0 find them. Returns 0 and the function in *call,
 * which is NULL where the newer one exists.
 */
static int find_old(const acu_function *function, void *call, size_t size) {
    int code = 0;
    void *found = NULL;
    enum cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
    if (!acu_call_exists(function))
        code = (int)cudaGetDriverEntryPoint(function->name, &found, cudaEnableDefault, &status);
    memcpy(call, &found, size);
    return code;
}

/* Records a failure of such a function; returns its code. */
static int of_old(const acu_function *function, int result) {
    return result ? acu_record(result, "%s failed with %s (%d)", function->name,
                               acu_result_name(result), result)
                  : 0;
}

static int add_node(const acu_prepared_launch *p, cudaGraph_t graph, const cudaGraphNode_t *after,
                    size_t afters, cudaGraphNode_t *node) {
    const acu_function *function = &acu_function_cuGraphAddKernelNode;
    CUDA_KERNEL_NODE_PARAMS params = node_of(p);
    int (*old)(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, const void *);
    int code = find_old(function, &old, sizeof old);
    if (!code)
        code =
            old ? of_old(function, old(node, graph, after, afters, &params))
                : acu_translate_driver(cuGraphAddKernelNode(node, graph, after, afters, &params));
    return code ? code : set_attributes(p, *node);
}

static int get_node_params(cudaGraphNode_t node, struct cudaKernelNodeParamsV2 *params) {
    const acu_function *function = &acu_function_cuGraphKernelNodeGetParams;
    CUDA_KERNEL_NODE_PARAMS p = {0};
    int (*old)(CUgraphNode, void *);
    int code = find_old(function, &old, sizeof old);
    if (!code)
        code = old ? of_old(function, old(node, &p))
                   : acu_translate_driver(cuGraphKernelNodeGetParams(node, &p));
    *params =
        (struct cudaKernelNodeParamsV2){.func = p.func ? (void *)p.func : (void *)p.kern,
                                        .gridDim = {p.gridDimX, p.gridDimY, p.gridDimZ},
                                        .blockDim = {p.blockDimX, p.blockDimY, p.blockDimZ},
                                        .sharedMemBytes = p.sharedMemBytes,
                                        .kernelParams = p.kernelParams,
                                        .extra = p.extra,
                                        .functionType = p.func ? cudaKernelFunctionTypeFunction
                                                               : cudaKernelFunctionTypeUnspecified};
    return code;
}

static int set_params(cudaGraphNode_t node, const CUDA_KERNEL_NODE_PARAMS *params) {
    const acu_function *function = &acu_function_cuGraphKernelNodeSetParams;
    int (*old)(CUgraphNode, const void *);
    int code = find_old(function, &old, sizeof old);
    if (code)
        return code;
    return old ? of_old(function, old(node, params))
               : acu_translate_driver(cuGraphKernelNodeSetParams(node, params));
}

static int set_exec_params(cudaGraphExec_t exec, cudaGraphNode_t node,
                           const CUDA_KERNEL_NODE_PARAMS *params) {
    const acu_function *function = &acu_function_cuGraphExecKernelNodeSetParams;
    int (*old)(CUgraphExec, CUgraphNode, const void *);
    int code = find_old(function, &old, sizeof old);
    if (code)
        return code;
    return old ? of_old(function, old(exec, node, params))
               : acu_translate_driver(cuGraphExecKernelNodeSetParams(exec, node, params));
}

static int set_node_params(cudaGraphExec_t exec, cudaGraphNode_t node,
                           const struct cudaKernelNodeParamsV2 *p) {
    const CUDA_KERNEL_NODE_PARAMS params = {.func = p->cuFunc,
                                            .gridDimX = p->gridDim.x,
                                            .gridDimY = p->gridDim.y,
                                            .gridDimZ = p->gridDim.z,
                                            .blockDimX = p->blockDim.x,
                                            .blockDimY = p->blockDim.y,
                                            .blockDimZ = p->blockDim.z,
                                            .sharedMemBytes = p->sharedMemBytes,
                                            .kernelParams = p->kernelParams,
                                            .extra = p->extra};
    return exec ? set_exec_params(exec, node, &params) : set_params(node, &params);
}

static int set_node(const acu_prepared_launch *p, cudaGraphNode_t node) {
    const CUDA_KERNEL_NODE_PARAMS params = node_of(p);
    int code = set_params(node, &params);
    return code ? code : set_attributes(p, node);
}

static int set_exec_node(const acu_prepared_launch *p, cudaGraphExec_t exec, cudaGraphNode_t node) {
    const CUDA_KERNEL_NODE_PARAMS params = node_of(p);
    return set_exec_params(exec, node, &params);
}

const acu_code_api acu_code_by_driver = {
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
