/* The driver API's modules, and its libraries, which are the runtime's. */
#include "sim/code/function.h"
#include "sim/code/image.h"
#include "sim/code/module.h"
#include "sim/code/reference.h"
#include "sim/device/context.h"
#include "sim/driver/driver.h"

#include <stdlib.h>

/* ---- modules ---- */

/* Loads an image of at most `size` bytes into the current context. */
static cudaError_t load_module(CUmodule *module, const void *image, size_t size,
                               const acu_sim_options *options) {
    acu_sim_module *made;
    if (!module)
        return cudaErrorInvalidValue;
    SIM_TRY(acu_sim_module_load(acu_sim_context_now(), image, size, options, SIM_CALLER, &made));
    *module = (CUmodule)(void *)made;
    return cudaSuccess;
}

cudaError_t acu_sim_cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions,
                                       CUjit_option *options, void **optionValues) {
    const acu_sim_options asked = {
        .jit = (const int *)options, .jit_values = optionValues, .jit_count = numOptions};
    return load_module(module, image, SIZE_MAX, &asked);
}

cudaError_t acu_sim_cuModuleLoadData(CUmodule *module, const void *image) {
    return load_module(module, image, SIZE_MAX, &(acu_sim_options){.jit = NULL});
}

cudaError_t acu_sim_cuModuleLoadFatBinary(CUmodule *module, const void *fatCubin) {
    return load_module(module, fatCubin, SIZE_MAX, &(acu_sim_options){.jit = NULL});
}

cudaError_t acu_sim_cuModuleLoad(CUmodule *module, const char *fname) {
    char *image = NULL;
    size_t size = 0;
    if (!fname || !module)
        return cudaErrorInvalidValue;
    SIM_TRY(acu_sim_image_read_file(fname, &image, &size));
    cudaError_t result = load_module(module, image, size, &(acu_sim_options){.jit = NULL});
    free(image);
    return result;
}

/* Finds a module; `good`: the other arguments are valid, which the driver checks first. */
static cudaError_t find_module(CUmodule handle, bool good, acu_sim_module **module) {
    if (!good)
        return cudaErrorInvalidValue;
    *module = acu_sim_module_of(handle);
    return *module ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

/* A library's module is unloaded with the library. */
cudaError_t acu_sim_cuModuleUnload(CUmodule hmod) {
    acu_sim_module *m;
    SIM_TRY(find_module(hmod, true, &m));
    if (m->library)
        return cudaErrorNotPermitted;
    acu_sim_module_unload(m);
    return cudaSuccess;
}

cudaError_t acu_sim_cuModuleGetLoadingMode(CUmoduleLoadingMode *mode) {
    if (!mode)
        return cudaErrorInvalidValue;
    *mode = CU_MODULE_LAZY_LOADING;
    return cudaSuccess;
}

cudaError_t acu_sim_cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name) {
    acu_sim_module *m;
    SIM_TRY(find_module(hmod, hfunc && name && *name, &m));
    int index = acu_sim_image_entry(m->image, name);
    *hfunc = NULL;
    if (index < 0)
        return acu_sim_image_lacks(m->image, name);
    *hfunc = (CUfunction)(void *)&m->functions[index];
    return cudaSuccess;
}

cudaError_t acu_sim_cuModuleGetFunctionCount(unsigned int *count, CUmodule mod) {
    acu_sim_module *m;
    SIM_TRY(find_module(mod, count != NULL, &m));
    *count = (unsigned)m->image->entry_count;
    return cudaSuccess;
}

cudaError_t acu_sim_cuModuleEnumerateFunctions(CUfunction *functions, unsigned int numFunctions,
                                               CUmodule mod) {
    acu_sim_module *m;
    SIM_TRY(find_module(mod, functions && numFunctions, &m));
    for (unsigned i = 0; i < numFunctions && i < m->image->entry_count; i++)
        functions[i] = (CUfunction)(void *)&m->functions[i];
    return cudaSuccess;
}

/* Reports where a variable is and its size; another error for a name that is a function's. */
static cudaError_t get_variable(const acu_sim_module *module, const char *name, CUdeviceptr *dptr,
                                size_t *bytes) {
    int index = acu_sim_image_variable(module->image, name);
    if (dptr)
        *dptr = 0;
    if (bytes)
        *bytes = 0;
    if (!*name)
        return cudaErrorInvalidValue;
    if (index < 0)
        return acu_sim_image_entry(module->image, name) < 0 &&
                       !acu_sim_reference_named(module, name)
                   ? cudaErrorSymbolNotFound
                   : cudaErrorInvalidValue;
    if (dptr)
        *dptr = (CUdeviceptr)(uintptr_t)module->variables[index];
    if (bytes)
        *bytes = module->image->variables[index].size;
    return cudaSuccess;
}

cudaError_t acu_sim_cuModuleGetGlobal(CUdeviceptr *dptr, size_t *bytes, CUmodule hmod,
                                      const char *name) {
    acu_sim_module *m;
    SIM_TRY(find_module(hmod, (dptr || bytes) && name, &m));
    return get_variable(m, name, dptr, bytes);
}

/* ---- libraries ---- */

cudaError_t acu_sim_cuLibraryLoadData(CUlibrary *library, const void *code,
                                      CUjit_option *jitOptions, void **jitOptionsValues,
                                      unsigned int numJitOptions, CUlibraryOption *libraryOptions,
                                      void **libraryOptionValues, unsigned int numLibraryOptions) {
    return acu_sim_cudaLibraryLoadData(
        library, code, (enum cudaJitOption *)(void *)jitOptions, jitOptionsValues, numJitOptions,
        (enum cudaLibraryOption *)(void *)libraryOptions, libraryOptionValues, numLibraryOptions);
}

cudaError_t acu_sim_cuLibraryLoadFromFile(CUlibrary *library, const char *fileName,
                                          CUjit_option *jitOptions, void **jitOptionsValues,
                                          unsigned int numJitOptions,
                                          CUlibraryOption *libraryOptions,
                                          void **libraryOptionValues,
                                          unsigned int numLibraryOptions) {
    return acu_sim_cudaLibraryLoadFromFile(
        library, fileName, (enum cudaJitOption *)(void *)jitOptions, jitOptionsValues,
        numJitOptions, (enum cudaLibraryOption *)(void *)libraryOptions, libraryOptionValues,
        numLibraryOptions);
}

cudaError_t acu_sim_cuLibraryUnload(CUlibrary library) {
    return acu_sim_cudaLibraryUnload(library);
}

cudaError_t acu_sim_cuLibraryGetKernel(CUkernel *pKernel, CUlibrary library, const char *name) {
    return acu_sim_cudaLibraryGetKernel(pKernel, library, name);
}

cudaError_t acu_sim_cuLibraryGetKernelCount(unsigned int *count, CUlibrary lib) {
    return acu_sim_cudaLibraryGetKernelCount(count, lib);
}

cudaError_t acu_sim_cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int numKernels,
                                              CUlibrary lib) {
    return acu_sim_cudaLibraryEnumerateKernels(kernels, numKernels, lib);
}

cudaError_t acu_sim_cuLibraryGetGlobal(CUdeviceptr *dptr, size_t *bytes, CUlibrary library,
                                       const char *name) {
    return acu_sim_cudaLibraryGetGlobal((void **)(void *)dptr, bytes, library, name);
}

cudaError_t acu_sim_cuLibraryGetManaged(CUdeviceptr *dptr, size_t *bytes, CUlibrary library,
                                        const char *name) {
    return acu_sim_cudaLibraryGetManaged((void **)(void *)dptr, bytes, library, name);
}

cudaError_t acu_sim_cuLibraryGetUnifiedFunction(void **fptr, CUlibrary library,
                                                const char *symbol) {
    return acu_sim_cudaLibraryGetUnifiedFunction(fptr, library, symbol);
}

cudaError_t acu_sim_cuLibraryGetModule(CUmodule *pMod, CUlibrary library) {
    acu_sim_module *module;
    acu_sim_library *l = acu_sim_library_of(library);
    if (!pMod)
        return cudaErrorInvalidValue;
    if (!l)
        return cudaErrorInvalidResourceHandle;
    SIM_TRY(acu_sim_library_module(l, acu_sim_context_now(), &module));
    *pMod = (CUmodule)(void *)module;
    return cudaSuccess;
}
