/* The driver's modules, libraries, kernels and functions, launches and occupancy. */
#include "sim/code/function.h"
#include "sim/code/image.h"
#include "sim/code/kernel_launch.h"
#include "sim/code/module.h"
#include "sim/device/context.h"
#include "sim/device/device.h"
#include "sim/driver/driver.h"

#include <stdlib.h>
#include <string.h>

static CUresult leave(cudaError_t result) {
    acu_sim_leave_driver();
    return acu_sim_driver_result(result);
}

/* ---- modules ------------------------------------------------------------------------------------
 */

static CUresult load_module(CUmodule *module, const void *image, size_t size,
                            const acu_sim_options *options, const void *where) {
    acu_sim_module *made;
    cudaError_t result = acu_sim_enter_driver(SIM_NEEDS_CONTEXT, NULL);
    if (!result && !module)
        result = cudaErrorInvalidValue;
    if (!result)
        result = acu_sim_module_load(acu_sim_context_now(), image, size, options, where, &made);
    if (!result)
        *module = (CUmodule)(void *)made;
    return leave(result);
}

CUresult acu_sim_cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions,
                                    CUjit_option *options, void **optionValues) {
    const acu_sim_options asked = {
        .jit = (const int *)options, .jit_values = optionValues, .jit_count = numOptions};
    return load_module(module, image, SIZE_MAX, &asked, SIM_CALLER);
}

CUresult acu_sim_cuModuleLoadData(CUmodule *module, const void *image) {
    return load_module(module, image, SIZE_MAX, &(acu_sim_options){.jit = NULL}, SIM_CALLER);
}

CUresult acu_sim_cuModuleLoadFatBinary(CUmodule *module, const void *fatCubin) {
    return load_module(module, fatCubin, SIZE_MAX, &(acu_sim_options){.jit = NULL}, SIM_CALLER);
}

CUresult acu_sim_cuModuleLoad(CUmodule *module, const char *fname) {
    char *image = NULL;
    size_t size = 0;
    cudaError_t result = acu_sim_enter_driver(SIM_NEEDS_CONTEXT, NULL);
    if (!result)
        result = fname && module ? acu_sim_module_read_file(fname, &image, &size)
                                 : cudaErrorInvalidValue;
    CUresult loaded = leave(result);
    if (!loaded)
        loaded = load_module(module, image, size, &(acu_sim_options){.jit = NULL}, SIM_CALLER);
    free(image);
    return loaded;
}

/* Enters, and finds the module; `good` is that the other arguments are. */
static cudaError_t enter_module(CUmodule handle, bool good, acu_sim_module **module) {
    cudaError_t result = acu_sim_enter_driver(SIM_NEEDS_CONTEXT, NULL);
    if (!result && !good)
        result = cudaErrorInvalidValue;
    if (!result && !(*module = acu_sim_module_of(handle)))
        result = cudaErrorInvalidResourceHandle;
    return result;
}

/* A library's own goes with the library. */
CUresult acu_sim_cuModuleUnload(CUmodule hmod) {
    acu_sim_module *m;
    cudaError_t result = enter_module(hmod, true, &m);
    if (!result && m->library)
        result = cudaErrorNotPermitted;
    if (!result)
        acu_sim_module_unload(m);
    return leave(result);
}

CUresult acu_sim_cuModuleGetLoadingMode(CUmoduleLoadingMode *mode) {
    cudaError_t result = acu_sim_enter_driver(SIM_NEEDS_DRIVER, NULL);
    if (!result && !mode)
        result = cudaErrorInvalidValue;
    if (!result)
        *mode = CU_MODULE_LAZY_LOADING;
    return leave(result);
}

CUresult acu_sim_cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name) {
    acu_sim_module *m;
    cudaError_t result = enter_module(hmod, hfunc && name && *name, &m);
    int index = result ? -1 : acu_sim_image_entry(m->image, name);
    if (!result && index < 0)
        result = cudaErrorSymbolNotFound;
    if (!result)
        *hfunc = (CUfunction)(void *)&m->functions[index];
    return leave(result);
}

CUresult acu_sim_cuModuleGetFunctionCount(unsigned int *count, CUmodule mod) {
    acu_sim_module *m;
    cudaError_t result = enter_module(mod, count != NULL, &m);
    if (!result)
        *count = (unsigned)m->image->entry_count;
    return leave(result);
}

CUresult acu_sim_cuModuleEnumerateFunctions(CUfunction *functions, unsigned int numFunctions,
                                            CUmodule mod) {
    acu_sim_module *m;
    cudaError_t result = enter_module(mod, functions && numFunctions, &m);
    for (unsigned i = 0; !result && i < numFunctions && i < m->image->entry_count; i++)
        functions[i] = (CUfunction)(void *)&m->functions[i];
    return leave(result);
}

static cudaError_t get_variable(const acu_sim_module *module, const char *name, CUdeviceptr *dptr,
                                size_t *bytes) {
    int index = acu_sim_image_variable(module->image, name);
    if (index < 0 && dptr)
        *dptr = 0;
    if (index < 0)
        return acu_sim_image_entry(module->image, name) < 0 ? cudaErrorSymbolNotFound
                                                            : cudaErrorInvalidValue;
    if (dptr)
        *dptr = (CUdeviceptr)(uintptr_t)module->variables[index];
    if (bytes)
        *bytes = module->image->variables[index].size;
    return cudaSuccess;
}

CUresult acu_sim_cuModuleGetGlobal(CUdeviceptr *dptr, size_t *bytes, CUmodule hmod,
                                   const char *name) {
    acu_sim_module *m;
    cudaError_t result = enter_module(hmod, (dptr || bytes) && name, &m);
    if (!result)
        result = get_variable(m, name, dptr, bytes);
    return leave(result);
}

/* ---- libraries: the runtime's, but for a few ----------------------------------------------------
 */

CUresult acu_sim_cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions,
                                   void **jitOptionsValues, unsigned int numJitOptions,
                                   CUlibraryOption *libraryOptions, void **libraryOptionValues,
                                   unsigned int numLibraryOptions) {
    BY_RUNTIME(SIM_NEEDS_DRIVER,
               acu_sim_cudaLibraryLoadData(library, code, (enum cudaJitOption *)(void *)jitOptions,
                                           jitOptionsValues, numJitOptions,
                                           (enum cudaLibraryOption *)(void *)libraryOptions,
                                           libraryOptionValues, numLibraryOptions));
}

CUresult acu_sim_cuLibraryLoadFromFile(CUlibrary *library, const char *fileName,
                                       CUjit_option *jitOptions, void **jitOptionsValues,
                                       unsigned int numJitOptions, CUlibraryOption *libraryOptions,
                                       void **libraryOptionValues, unsigned int numLibraryOptions) {
    BY_RUNTIME(SIM_NEEDS_DRIVER,
               acu_sim_cudaLibraryLoadFromFile(
                   library, fileName, (enum cudaJitOption *)(void *)jitOptions, jitOptionsValues,
                   numJitOptions, (enum cudaLibraryOption *)(void *)libraryOptions,
                   libraryOptionValues, numLibraryOptions));
}

CUresult acu_sim_cuLibraryUnload(CUlibrary library) {
    BY_RUNTIME(SIM_NEEDS_DRIVER, acu_sim_cudaLibraryUnload(library));
}

CUresult acu_sim_cuLibraryGetKernel(CUkernel *pKernel, CUlibrary library, const char *name) {
    BY_RUNTIME(SIM_NEEDS_DRIVER, acu_sim_cudaLibraryGetKernel(pKernel, library, name));
}

CUresult acu_sim_cuLibraryGetKernelCount(unsigned int *count, CUlibrary lib) {
    BY_RUNTIME(SIM_NEEDS_DRIVER, acu_sim_cudaLibraryGetKernelCount(count, lib));
}

CUresult acu_sim_cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int numKernels,
                                           CUlibrary lib) {
    BY_RUNTIME(SIM_NEEDS_DRIVER, acu_sim_cudaLibraryEnumerateKernels(kernels, numKernels, lib));
}

CUresult acu_sim_cuLibraryGetGlobal(CUdeviceptr *dptr, size_t *bytes, CUlibrary library,
                                    const char *name) {
    BY_RUNTIME(SIM_NEEDS_CONTEXT,
               acu_sim_cudaLibraryGetGlobal((void **)(void *)dptr, bytes, library, name));
}

CUresult acu_sim_cuLibraryGetManaged(CUdeviceptr *dptr, size_t *bytes, CUlibrary library,
                                     const char *name) {
    BY_RUNTIME(SIM_NEEDS_DRIVER,
               acu_sim_cudaLibraryGetManaged((void **)(void *)dptr, bytes, library, name));
}

CUresult acu_sim_cuLibraryGetUnifiedFunction(void **fptr, CUlibrary library, const char *symbol) {
    BY_RUNTIME(SIM_NEEDS_DRIVER, acu_sim_cudaLibraryGetUnifiedFunction(fptr, library, symbol));
}

CUresult acu_sim_cuLibraryGetModule(CUmodule *pMod, CUlibrary library) {
    acu_sim_module *module;
    cudaError_t result = acu_sim_enter_driver(SIM_NEEDS_CONTEXT, NULL);
    acu_sim_library *l = acu_sim_library_of(library);
    if (!result)
        result = !pMod ? cudaErrorInvalidValue : !l ? cudaErrorInvalidResourceHandle : cudaSuccess;
    if (!result)
        result = acu_sim_library_module(l, acu_sim_context_now(), &module);
    if (!result)
        *pMod = (CUmodule)(void *)module;
    return leave(result);
}

/* ---- kernels ------------------------------------------------------------------------------------
 */

/* Enters, and finds the kernel; `good` is that the other arguments are. */
static cudaError_t enter_kernel(acu_sim_need need, CUkernel handle, bool good,
                                acu_sim_kernel_handle **kernel) {
    cudaError_t result = acu_sim_enter_driver(need, NULL);
    if (!result && !good)
        result = cudaErrorInvalidValue;
    if (!result && !(*kernel = acu_sim_kernel_of(handle)))
        result = cudaErrorInvalidResourceHandle;
    return result ? result : acu_sim_kernel_find(*kernel);
}

CUresult acu_sim_cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel) {
    acu_sim_kernel_handle *k;
    acu_sim_function *f;
    cudaError_t result = enter_kernel(SIM_NEEDS_CONTEXT, kernel, pFunc != NULL, &k);
    if (!result)
        result = acu_sim_kernel_function(k, acu_sim_context_now(), &f);
    if (!result)
        *pFunc = (CUfunction)(void *)f;
    return leave(result);
}

CUresult acu_sim_cuKernelGetLibrary(CUlibrary *pLib, CUkernel kernel) {
    acu_sim_kernel_handle *k;
    cudaError_t result = enter_kernel(SIM_NEEDS_DRIVER, kernel, pLib != NULL, &k);
    if (!result)
        *pLib = (CUlibrary)(void *)k->library;
    return leave(result);
}

CUresult acu_sim_cuKernelGetName(const char **name, CUkernel hfunc) {
    acu_sim_kernel_handle *k;
    cudaError_t result = enter_kernel(SIM_NEEDS_DRIVER, hfunc, name != NULL, &k);
    if (!result)
        *name = acu_sim_kernel_entry(k)->name;
    return leave(result);
}

CUresult acu_sim_cuKernelGetParamCount(CUkernel kernel, size_t *paramCount) {
    acu_sim_kernel_handle *k;
    cudaError_t result = enter_kernel(SIM_NEEDS_DRIVER, kernel, paramCount != NULL, &k);
    if (!result)
        *paramCount = acu_sim_kernel_entry(k)->param_count;
    return leave(result);
}

static cudaError_t get_param(const acu_sim_entry *entry, size_t index, size_t *offset,
                             size_t *size) {
    if (index >= entry->param_count)
        return cudaErrorInvalidValue;
    *offset = entry->params[index].offset;
    if (size)
        *size = entry->params[index].size;
    return cudaSuccess;
}

CUresult acu_sim_cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t *paramOffset,
                                      size_t *paramSize) {
    acu_sim_kernel_handle *k;
    cudaError_t result = enter_kernel(SIM_NEEDS_DRIVER, kernel, paramOffset != NULL, &k);
    if (!result)
        result = get_param(acu_sim_kernel_entry(k), paramIndex, paramOffset, paramSize);
    return leave(result);
}

/* The kernel's function on a device. */
static cudaError_t function_on(acu_sim_kernel_handle *kernel, CUdevice number,
                               acu_sim_function **function) {
    acu_sim_device *device = acu_sim_device_at(number);
    return device ? acu_sim_kernel_function_on(kernel, device, function) : cudaErrorInvalidDevice;
}

static bool is_attribute(CUfunction_attribute attribute) {
    return attribute != CU_FUNC_ATTRIBUTE_MAX &&
           acu_sim_driver_knows(&acu_cuda_type_CUfunction_attribute_enum, attribute);
}

CUresult acu_sim_cuKernelGetAttribute(int *pi, CUfunction_attribute attrib, CUkernel kernel,
                                      CUdevice dev) {
    acu_sim_kernel_handle *k;
    acu_sim_function *f;
    cudaError_t result = enter_kernel(SIM_NEEDS_DRIVER, kernel, pi && is_attribute(attrib), &k);
    if (!result)
        result = function_on(k, dev, &f);
    if (!result)
        result = acu_sim_kernel_get(f, (int)attrib, pi);
    return leave(result);
}

CUresult acu_sim_cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel,
                                      CUdevice dev) {
    acu_sim_kernel_handle *k;
    acu_sim_function *f;
    cudaError_t result = enter_kernel(SIM_NEEDS_DRIVER, kernel, is_attribute(attrib), &k);
    if (!result)
        result = function_on(k, dev, &f);
    if (!result)
        result = acu_sim_kernel_set(f, (int)attrib, val);
    return leave(result);
}

/* Nobody is told, and nothing depends on it. */
static bool is_cache(CUfunc_cache config) {
    return acu_sim_driver_knows(&acu_cuda_type_CUfunc_cache_enum, config);
}

CUresult acu_sim_cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev) {
    acu_sim_kernel_handle *k;
    acu_sim_function *f;
    cudaError_t result = enter_kernel(SIM_NEEDS_DRIVER, kernel, is_cache(config), &k);
    if (!result)
        result = function_on(k, dev, &f);
    return leave(result);
}

/* ---- functions ----------------------------------------------------------------------------------
 */

/* Enters, and finds the function; `good` is that the other arguments are. */
static cudaError_t enter_function(CUfunction handle, bool good, acu_sim_function **function) {
    cudaError_t result = acu_sim_enter_driver(SIM_NEEDS_CONTEXT, NULL);
    if (!result && !good)
        result = cudaErrorInvalidValue;
    if (!result && !(*function = acu_sim_function_of(handle)))
        result = cudaErrorInvalidResourceHandle;
    return result;
}

CUresult acu_sim_cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc) {
    acu_sim_function *f;
    cudaError_t result = enter_function(hfunc, pi && is_attribute(attrib), &f);
    if (!result)
        result = acu_sim_function_get(f, (int)attrib, pi);
    return leave(result);
}

CUresult acu_sim_cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value) {
    acu_sim_function *f;
    cudaError_t result = enter_function(hfunc, is_attribute(attrib), &f);
    if (!result)
        result = acu_sim_function_set(f, (int)attrib, value);
    return leave(result);
}

CUresult acu_sim_cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config) {
    acu_sim_function *f;
    return leave(enter_function(hfunc, is_cache(config), &f));
}

CUresult acu_sim_cuFuncGetName(const char **name, CUfunction hfunc) {
    acu_sim_function *f;
    cudaError_t result = enter_function(hfunc, name != NULL, &f);
    if (!result)
        *name = f->entry->name;
    return leave(result);
}

CUresult acu_sim_cuFuncGetModule(CUmodule *hmod, CUfunction hfunc) {
    acu_sim_function *f;
    cudaError_t result = enter_function(hfunc, hmod != NULL, &f);
    if (!result)
        *hmod = (CUmodule)(void *)f->module;
    return leave(result);
}

CUresult acu_sim_cuFuncGetParamCount(CUfunction func, size_t *paramCount) {
    acu_sim_function *f;
    cudaError_t result = enter_function(func, paramCount != NULL, &f);
    if (!result)
        *paramCount = f->entry->param_count;
    return leave(result);
}

CUresult acu_sim_cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t *paramOffset,
                                    size_t *paramSize) {
    acu_sim_function *f;
    cudaError_t result = enter_function(func, paramOffset != NULL, &f);
    if (!result)
        result = get_param(f->entry, paramIndex, paramOffset, paramSize);
    return leave(result);
}

CUresult acu_sim_cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction function) {
    acu_sim_function *f;
    cudaError_t result = enter_function(function, state != NULL, &f);
    if (!result)
        *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return leave(result);
}

CUresult acu_sim_cuFuncLoad(CUfunction function) {
    acu_sim_function *f;
    return leave(enter_function(function, true, &f));
}

/* ---- launching ----------------------------------------------------------------------------------
 */

static CUresult launch(const cudaLaunchConfig_t *config, CUfunction f, void **params,
                       void **extra) {
    CUresult why = acu_sim_begin(SIM_NEEDS_CONTEXT);
    if (why)
        return why;
    cudaError_t result =
        acu_sim_kernel_of(f) || acu_sim_function_of(f)
            ? acu_sim_kernel_launch_submit(config->stream, f, config, params, extra)
            : cudaErrorInvalidResourceHandle;
    return acu_sim_end(result);
}

CUresult acu_sim_cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                                unsigned int gridDimZ, unsigned int blockDimX,
                                unsigned int blockDimY, unsigned int blockDimZ,
                                unsigned int sharedMemBytes, CUstream hStream, void **kernelParams,
                                void **extra) {
    const cudaLaunchConfig_t config = {.gridDim = {gridDimX, gridDimY, gridDimZ},
                                       .blockDim = {blockDimX, blockDimY, blockDimZ},
                                       .dynamicSmemBytes = sharedMemBytes,
                                       .stream = hStream};
    return launch(&config, f, kernelParams, extra);
}

CUresult acu_sim_cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX,
                                           unsigned int gridDimY, unsigned int gridDimZ,
                                           unsigned int blockDimX, unsigned int blockDimY,
                                           unsigned int blockDimZ, unsigned int sharedMemBytes,
                                           CUstream hStream, void **kernelParams) {
    cudaLaunchAttribute attribute = {.id = cudaLaunchAttributeCooperative, .val.cooperative = 1};
    const cudaLaunchConfig_t config = {.gridDim = {gridDimX, gridDimY, gridDimZ},
                                       .blockDim = {blockDimX, blockDimY, blockDimZ},
                                       .dynamicSmemBytes = sharedMemBytes,
                                       .stream = hStream,
                                       .attrs = &attribute,
                                       .numAttrs = 1};
    return launch(&config, f, kernelParams, NULL);
}

/* An attribute has the same layout in both APIs. */
static cudaLaunchConfig_t as_config(const CUlaunchConfig *config) {
    return (cudaLaunchConfig_t){
        .gridDim = {config->gridDimX, config->gridDimY, config->gridDimZ},
        .blockDim = {config->blockDimX, config->blockDimY, config->blockDimZ},
        .dynamicSmemBytes = config->sharedMemBytes,
        .stream = config->hStream,
        .attrs = (cudaLaunchAttribute *)(void *)config->attrs,
        .numAttrs = config->numAttrs};
}

CUresult acu_sim_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **kernelParams,
                                  void **extra) {
    if (!config)
        BY_RUNTIME(SIM_NEEDS_CONTEXT, cudaErrorInvalidValue);
    const cudaLaunchConfig_t same = as_config(config);
    return launch(&same, f, kernelParams, extra);
}

/* ---- occupancy ----------------------------------------------------------------------------------
 */

/* Enters, and finds the function, which may be named by its kernel. */
static cudaError_t enter_either(CUfunction handle, bool good, acu_sim_function **function) {
    cudaError_t result = acu_sim_enter_driver(SIM_NEEDS_CONTEXT, NULL);
    acu_sim_kernel_handle *kernel = acu_sim_kernel_of(handle);
    if (!result && !good)
        result = cudaErrorInvalidValue;
    if (result)
        return result;
    if (kernel)
        return acu_sim_kernel_function(kernel, acu_sim_context_now(), function);
    *function = acu_sim_function_of(handle);
    return *function ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

CUresult acu_sim_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize, unsigned int flags) {
    acu_sim_function *f;
    cudaError_t result = enter_either(func, numBlocks && blockSize > 0 && flags <= 1, &f);
    if (!result)
        *numBlocks = (int)acu_sim_function_occupancy(f, (unsigned)blockSize, dynamicSMemSize);
    return leave(result);
}

CUresult acu_sim_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, CUfunction func,
                                                             int blockSize,
                                                             size_t dynamicSMemSize) {
    return acu_sim_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize,
                                                                        dynamicSMemSize, 0);
}

CUresult acu_sim_cuOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize, CUfunction func,
                                                         int numBlocks, int blockSize) {
    acu_sim_function *f;
    cudaError_t result = enter_either(func, dynamicSmemSize && numBlocks > 0 && blockSize > 0, &f);
    if (!result && (unsigned)numBlocks > acu_sim_function_occupancy(f, (unsigned)blockSize, 0))
        result = cudaErrorInvalidValue;
    if (!result)
        *dynamicSmemSize = acu_sim_function_shared_for(f, (size_t)numBlocks);
    return leave(result);
}

/* The largest block among those with the most threads per multiprocessor; asks the program's
 * function outside the lock. */
CUresult
acu_sim_cuOccupancyMaxPotentialBlockSizeWithFlags(int *minGridSize, int *blockSize, CUfunction func,
                                                  CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                                  size_t dynamicSMemSize, int blockSizeLimit,
                                                  unsigned int flags) {
    acu_sim_function *f;
    bool good = minGridSize && blockSize && blockSizeLimit >= 0 && flags <= 1;
    cudaError_t result = enter_either(func, good, &f);
    int largest = result ? 0 : (int)acu_sim_function_threads(f), best = 0;
    int processors =
        result ? 0 : acu_sim_device_attribute(f->module->device, cudaDevAttrMultiProcessorCount);
    CUresult why = leave(result);
    if (why)
        return why;
    if (blockSizeLimit && blockSizeLimit < largest)
        largest = blockSizeLimit;
    for (int size = largest; size > 0; size = (size - 1) / 32 * 32) {
        int blocks = 0;
        size_t shared =
            blockSizeToDynamicSMemSize ? blockSizeToDynamicSMemSize(size) : dynamicSMemSize;
        why = acu_sim_cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, func, size, shared);
        if (why)
            return why;
        if (blocks * size > best) {
            best = blocks * size;
            *blockSize = size;
            *minGridSize = blocks * processors;
        }
    }
    return best ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult acu_sim_cuOccupancyMaxPotentialBlockSize(int *minGridSize, int *blockSize, CUfunction func,
                                                  CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                                  size_t dynamicSMemSize, int blockSizeLimit) {
    return acu_sim_cuOccupancyMaxPotentialBlockSizeWithFlags(minGridSize, blockSize, func,
                                                             blockSizeToDynamicSMemSize,
                                                             dynamicSMemSize, blockSizeLimit, 0);
}

CUresult acu_sim_cuOccupancyMaxPotentialClusterSize(int *clusterSize, CUfunction func,
                                                    const CUlaunchConfig *config) {
    acu_sim_function *f;
    cudaError_t result = enter_either(func, clusterSize && config, &f);
    if (!result) {
        const cudaLaunchConfig_t same = as_config(config);
        result = acu_sim_function_max_cluster_size(f, &same, clusterSize);
    }
    return leave(result);
}

CUresult acu_sim_cuOccupancyMaxActiveClusters(int *numClusters, CUfunction func,
                                              const CUlaunchConfig *config) {
    acu_sim_function *f;
    cudaError_t result = enter_either(func, numClusters && config, &f);
    if (!result) {
        const cudaLaunchConfig_t same = as_config(config);
        result = acu_sim_function_max_clusters(f, &same, numClusters);
    }
    return leave(result);
}
