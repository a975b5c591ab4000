/* The driver API's kernels, which a library has once for all contexts, and its functions, which a
 * module has in one context. */
#include "sim/code/function.h"
#include "sim/code/module.h"
#include "sim/device/context.h"
#include "sim/device/device.h"
#include "sim/driver/driver.h"

/* ---- kernels ---- */

/* Finds a kernel; `good`: the other arguments are valid, which the driver checks first. */
static cudaError_t find_kernel(CUkernel handle, bool good, acu_sim_kernel_handle **kernel) {
    if (!good)
        return cudaErrorInvalidValue;
    *kernel = acu_sim_kernel_of(handle);
    return *kernel ? acu_sim_kernel_find(*kernel) : cudaErrorInvalidResourceHandle;
}

cudaError_t acu_sim_cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel) {
    acu_sim_kernel_handle *k;
    acu_sim_function *f;
    SIM_TRY(find_kernel(kernel, pFunc != NULL, &k));
    SIM_TRY(acu_sim_kernel_function(k, acu_sim_context_now(), &f));
    *pFunc = (CUfunction)(void *)f;
    return cudaSuccess;
}

cudaError_t acu_sim_cuKernelGetLibrary(CUlibrary *pLib, CUkernel kernel) {
    acu_sim_kernel_handle *k;
    SIM_TRY(find_kernel(kernel, pLib != NULL, &k));
    *pLib = (CUlibrary)(void *)k->library;
    return cudaSuccess;
}

cudaError_t acu_sim_cuKernelGetName(const char **name, CUkernel hfunc) {
    acu_sim_kernel_handle *k;
    SIM_TRY(find_kernel(hfunc, name != NULL, &k));
    *name = acu_sim_kernel_entry(k)->name;
    return cudaSuccess;
}

cudaError_t acu_sim_cuKernelGetParamCount(CUkernel kernel, size_t *paramCount) {
    acu_sim_kernel_handle *k;
    SIM_TRY(find_kernel(kernel, paramCount != NULL, &k));
    *paramCount = acu_sim_kernel_entry(k)->param_count;
    return cudaSuccess;
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

cudaError_t acu_sim_cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t *paramOffset,
                                         size_t *paramSize) {
    acu_sim_kernel_handle *k;
    SIM_TRY(find_kernel(kernel, paramOffset != NULL, &k));
    return get_param(acu_sim_kernel_entry(k), paramIndex, paramOffset, paramSize);
}

/* Finds the kernel's function on a device. */
static cudaError_t find_function_on(acu_sim_kernel_handle *kernel, CUdevice number,
                                    acu_sim_function **function) {
    acu_sim_device *device = acu_sim_device_at(number);
    return device ? acu_sim_kernel_function_on(kernel, device, function) : cudaErrorInvalidDevice;
}

static bool is_attribute(CUfunction_attribute attribute) {
    return attribute != CU_FUNC_ATTRIBUTE_MAX &&
           acu_sim_driver_knows(&acu_cuda_type_CUfunction_attribute_enum, attribute);
}

cudaError_t acu_sim_cuKernelGetAttribute(int *pi, CUfunction_attribute attrib, CUkernel kernel,
                                         CUdevice dev) {
    acu_sim_kernel_handle *k;
    acu_sim_function *f;
    SIM_TRY(find_kernel(kernel, pi && is_attribute(attrib), &k));
    SIM_TRY(find_function_on(k, dev, &f));
    return acu_sim_kernel_get(f, (int)attrib, pi);
}

cudaError_t acu_sim_cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel,
                                         CUdevice dev) {
    acu_sim_kernel_handle *k;
    acu_sim_function *f;
    SIM_TRY(find_kernel(kernel, is_attribute(attrib), &k));
    SIM_TRY(find_function_on(k, dev, &f));
    return acu_sim_kernel_set(f, (int)attrib, val);
}

/* Returns whether the configuration of the cache is valid. It is not kept, because nothing depends
 * on it. */
static bool is_cache(CUfunc_cache config) {
    return acu_sim_driver_knows(&acu_cuda_type_CUfunc_cache_enum, config);
}

cudaError_t acu_sim_cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev) {
    acu_sim_kernel_handle *k;
    acu_sim_function *f;
    SIM_TRY(find_kernel(kernel, is_cache(config), &k));
    return find_function_on(k, dev, &f);
}

/* ---- functions ---- */

/* Finds a function; `good`: the other arguments are valid, which the driver checks first. */
static cudaError_t find_function(CUfunction handle, bool good, acu_sim_function **function) {
    if (!good)
        return cudaErrorInvalidValue;
    *function = acu_sim_function_of(handle);
    return *function ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t acu_sim_cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc) {
    acu_sim_function *f;
    SIM_TRY(find_function(hfunc, pi && is_attribute(attrib), &f));
    return acu_sim_function_get(f, (int)attrib, pi);
}

cudaError_t acu_sim_cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value) {
    acu_sim_function *f;
    SIM_TRY(find_function(hfunc, is_attribute(attrib), &f));
    return acu_sim_function_set(f, (int)attrib, value);
}

cudaError_t acu_sim_cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config) {
    acu_sim_function *f;
    SIM_TRY(find_function(hfunc, is_cache(config), &f));
    f->cache = (enum cudaFuncCache)config;
    return cudaSuccess;
}

cudaError_t acu_sim_cuFuncGetName(const char **name, CUfunction hfunc) {
    acu_sim_function *f;
    SIM_TRY(find_function(hfunc, name != NULL, &f));
    *name = f->entry->name;
    return cudaSuccess;
}

cudaError_t acu_sim_cuFuncGetModule(CUmodule *hmod, CUfunction hfunc) {
    acu_sim_function *f;
    SIM_TRY(find_function(hfunc, hmod != NULL, &f));
    *hmod = (CUmodule)(void *)f->module;
    return cudaSuccess;
}

cudaError_t acu_sim_cuFuncGetParamCount(CUfunction func, size_t *paramCount) {
    acu_sim_function *f;
    SIM_TRY(find_function(func, paramCount != NULL, &f));
    *paramCount = f->entry->param_count;
    return cudaSuccess;
}

cudaError_t acu_sim_cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t *paramOffset,
                                       size_t *paramSize) {
    acu_sim_function *f;
    SIM_TRY(find_function(func, paramOffset != NULL, &f));
    return get_param(f->entry, paramIndex, paramOffset, paramSize);
}

cudaError_t acu_sim_cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction function) {
    acu_sim_function *f;
    SIM_TRY(find_function(function, state != NULL, &f));
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return cudaSuccess;
}

cudaError_t acu_sim_cuFuncLoad(CUfunction function) {
    acu_sim_function *f;
    return find_function(function, true, &f);
}
