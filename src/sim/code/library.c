/* The runtime's functions for libraries; module.c loads and unloads libraries. */
#include "sim/code/image.h"
#include "sim/code/module.h"
#include "sim/device/context.h"
#include "sim/device/device.h"

#include <stdlib.h>

/* ---- loading ---- */

cudaError_t acu_sim_cudaLibraryLoadData(cudaLibrary_t *library, const void *code,
                                        enum cudaJitOption *jitOptions, void **jitOptionsValues,
                                        unsigned int numJitOptions,
                                        enum cudaLibraryOption *libraryOptions,
                                        void **libraryOptionValues,
                                        unsigned int numLibraryOptions) {
    const acu_sim_options options = {.jit = (const int *)jitOptions,
                                     .jit_values = jitOptionsValues,
                                     .jit_count = numJitOptions,
                                     .library = (const int *)libraryOptions,
                                     .library_values = libraryOptionValues,
                                     .library_count = numLibraryOptions};
    acu_sim_library *made;
    if (!library)
        return cudaErrorInvalidValue;
    SIM_TRY(acu_sim_library_load(code, SIZE_MAX, &options, SIM_CALLER, &made));
    *library = (cudaLibrary_t)(void *)made;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *fileName,
                                            enum cudaJitOption *jitOptions, void **jitOptionsValues,
                                            unsigned int numJitOptions,
                                            enum cudaLibraryOption *libraryOptions,
                                            void **libraryOptionValues,
                                            unsigned int numLibraryOptions) {
    const acu_sim_options options = {.jit = (const int *)jitOptions,
                                     .jit_values = jitOptionsValues,
                                     .jit_count = numJitOptions,
                                     .library = (const int *)libraryOptions,
                                     .library_values = libraryOptionValues,
                                     .library_count = numLibraryOptions};
    acu_sim_library *made;
    char *code;
    size_t size;
    if (!library || !fileName)
        return cudaErrorInvalidValue;
    SIM_TRY(acu_sim_image_read_file(fileName, &code, &size));
    cudaError_t result = acu_sim_library_load(code, size, &options, SIM_CALLER, &made);
    free(code);
    if (!result)
        *library = (cudaLibrary_t)(void *)made;
    return result;
}

/* Finds the library. Returns the error with which its code could not be read, if that failed. */
static cudaError_t find(cudaLibrary_t handle, acu_sim_library **library) {
    *library = acu_sim_library_of(handle);
    return *library ? acu_sim_library_read(*library) : cudaErrorInvalidResourceHandle;
}

cudaError_t acu_sim_cudaLibraryUnload(cudaLibrary_t library) {
    acu_sim_library *l = acu_sim_library_of(library);
    if (!l || l->compiled) /* the program's own code cannot be unloaded */
        return cudaErrorInvalidResourceHandle;
    acu_sim_library_unload(l);
    return cudaSuccess;
}

/* ---- kernels ---- */

cudaError_t acu_sim_cudaLibraryGetKernel(cudaKernel_t *pKernel, cudaLibrary_t library,
                                         const char *name) {
    acu_sim_library *l;
    SIM_TRY(find(library, &l));
    if (!pKernel || !name)
        return cudaErrorInvalidValue;
    int index = acu_sim_image_entry(l->image, name);
    if (index < 0)
        return acu_sim_image_lacks(l->image, name);
    *pKernel = (cudaKernel_t)(void *)&l->kernels[index];
    return cudaSuccess;
}

cudaError_t acu_sim_cudaLibraryGetKernelCount(unsigned int *count, cudaLibrary_t lib) {
    acu_sim_library *l = acu_sim_library_of(lib);
    if (!l)
        return cudaErrorInvalidResourceHandle;
    if (!count)
        return cudaErrorInvalidValue;
    *count = acu_sim_library_read(l) ? 0 : (unsigned)l->image->entry_count;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned int numKernels,
                                                cudaLibrary_t lib) {
    acu_sim_library *l = acu_sim_library_of(lib);
    if (!l)
        return cudaErrorInvalidResourceHandle;
    if (!kernels)
        return cudaErrorInvalidValue;
    const unsigned count = acu_sim_library_read(l) ? 0 : (unsigned)l->image->entry_count;
    for (unsigned i = 0; i < numKernels && i < count; i++)
        kernels[i] = (cudaKernel_t)(void *)&l->kernels[i];
    return cudaSuccess;
}

/* Kernels are refused, because only device functions can be unified functions, and images do not
 * list device functions: every other name is not found. */
cudaError_t acu_sim_cudaLibraryGetUnifiedFunction(void **fptr, cudaLibrary_t library,
                                                  const char *symbol) {
    acu_sim_library *l;
    SIM_TRY(find(library, &l));
    return !fptr || !symbol || acu_sim_image_entry(l->image, symbol) >= 0 ? cudaErrorInvalidValue
                                                                          : cudaErrorSymbolNotFound;
}

/* ---- variables ---- */

static cudaError_t get_variable(void **dptr, size_t *bytes, cudaLibrary_t library, const char *name,
                                bool only_managed) {
    acu_sim_library *l;
    acu_sim_module *module;
    if (!(l = acu_sim_library_of(library)))
        return cudaErrorInvalidResourceHandle;
    if ((!dptr && !bytes) || !name || !*name)
        return cudaErrorInvalidValue;
    SIM_TRY(acu_sim_library_read(l));
    int index = acu_sim_image_variable(l->image, name);
    if (index < 0 && !only_managed && acu_sim_image_entry(l->image, name) >= 0)
        return cudaErrorInvalidValue; /* the name is a kernel's */
    if (index < 0 || (only_managed && !l->image->variables[index].managed))
        return acu_sim_image_lacks(l->image, name);
    SIM_TRY(acu_sim_library_module(l, acu_sim_context_now(), &module));
    if (dptr)
        *dptr = module->variables[index];
    if (bytes)
        *bytes = l->image->variables[index].size;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaLibraryGetGlobal(void **dptr, size_t *bytes, cudaLibrary_t library,
                                         const char *name) {
    return get_variable(dptr, bytes, library, name, false);
}

cudaError_t acu_sim_cudaLibraryGetManaged(void **dptr, size_t *bytes, cudaLibrary_t library,
                                          const char *name) {
    return get_variable(dptr, bytes, library, name, true);
}
