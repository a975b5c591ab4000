/* The runtime's libraries: each call finds its handle, and asks module.c. */
#include "sim/code/image.h"
#include "sim/code/module.h"
#include "sim/device/context.h"
#include "sim/device/device.h"

#include <stdlib.h>

/* ---- loading ------------------------------------------------------------------------------------
 */

cudaError_t acu_sim_cudaLibraryLoadData(cudaLibrary_t *library, const void *code,
                                        enum cudaJitOption *jitOptions, void **jitOptionsValues,
                                        unsigned int numJitOptions,
                                        enum cudaLibraryOption *libraryOptions,
                                        void **libraryOptionValues,
                                        unsigned int numLibraryOptions) {
    const acu_sim_options options = {(const int *)jitOptions, jitOptionsValues,
                                     numJitOptions,           (const int *)libraryOptions,
                                     libraryOptionValues,     numLibraryOptions};
    acu_sim_library *made;
    cudaError_t result = acu_sim_enter(SIM_NEEDS_CONTEXT, NULL);
    if (!result && !library)
        result = cudaErrorInvalidValue;
    if (!result)
        result = acu_sim_library_load(code, SIZE_MAX, &options, SIM_CALLER, &made);
    if (!result)
        *library = (cudaLibrary_t)(void *)made;
    return acu_sim_leave(result);
}

cudaError_t acu_sim_cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *fileName,
                                            enum cudaJitOption *jitOptions, void **jitOptionsValues,
                                            unsigned int numJitOptions,
                                            enum cudaLibraryOption *libraryOptions,
                                            void **libraryOptionValues,
                                            unsigned int numLibraryOptions) {
    const acu_sim_options options = {(const int *)jitOptions, jitOptionsValues,
                                     numJitOptions,           (const int *)libraryOptions,
                                     libraryOptionValues,     numLibraryOptions};
    acu_sim_library *made;
    char *code = NULL;
    size_t size;
    cudaError_t result = acu_sim_enter(SIM_NEEDS_CONTEXT, NULL);
    if (!result)
        result = !library || !fileName ? cudaErrorInvalidValue
                                       : acu_sim_module_read_file(fileName, &code, &size);
    if (!result)
        result = acu_sim_library_load(code, size, &options, SIM_CALLER, &made);
    if (!result)
        *library = (cudaLibrary_t)(void *)made;
    free(code);
    return acu_sim_leave(result);
}

/* Enters, and finds the library. */
static cudaError_t enter(cudaLibrary_t handle, acu_sim_device **device, acu_sim_library **library) {
    cudaError_t result = acu_sim_enter(SIM_NEEDS_CONTEXT, device);
    if (!result && !(*library = acu_sim_library_of(handle)))
        result = cudaErrorInvalidResourceHandle;
    return result ? result : acu_sim_library_read(*library);
}

cudaError_t acu_sim_cudaLibraryUnload(cudaLibrary_t library) {
    cudaError_t result = acu_sim_enter(SIM_NEEDS_A_CONTEXT, NULL); /* also a lost one */
    acu_sim_library *l = acu_sim_library_of(library);
    if (!result && (!l || l->compiled)) /* that goes with the program */
        result = cudaErrorInvalidResourceHandle;
    if (!result)
        acu_sim_library_unload(l);
    return acu_sim_leave(result);
}

/* ---- kernels ------------------------------------------------------------------------------------
 */

cudaError_t acu_sim_cudaLibraryGetKernel(cudaKernel_t *pKernel, cudaLibrary_t library,
                                         const char *name) {
    acu_sim_library *l;
    cudaError_t result = enter(library, NULL, &l);
    if (!result && (!pKernel || !name))
        result = cudaErrorInvalidValue;
    int index = result ? -1 : acu_sim_image_entry(l->image, name);
    if (!result && index < 0)
        result = cudaErrorSymbolNotFound;
    if (!result)
        *pKernel = (cudaKernel_t)(void *)&l->kernels[index];
    return acu_sim_leave(result);
}

cudaError_t acu_sim_cudaLibraryGetKernelCount(unsigned int *count, cudaLibrary_t lib) {
    cudaError_t result = acu_sim_enter(SIM_NEEDS_CONTEXT, NULL);
    acu_sim_library *l = acu_sim_library_of(lib);
    if (!result)
        result = !l ? cudaErrorInvalidResourceHandle : !count ? cudaErrorInvalidValue : cudaSuccess;
    if (!result) /* malformed PTX is not told yet */
        *count = acu_sim_library_read(l) ? 0 : (unsigned)l->image->entry_count;
    return acu_sim_leave(result);
}

cudaError_t acu_sim_cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned int numKernels,
                                                cudaLibrary_t lib) {
    cudaError_t result = acu_sim_enter(SIM_NEEDS_CONTEXT, NULL);
    acu_sim_library *l = acu_sim_library_of(lib);
    if (!result)
        result = !l         ? cudaErrorInvalidResourceHandle
                 : !kernels ? cudaErrorInvalidValue
                            : cudaSuccess;
    const unsigned count = result || acu_sim_library_read(l) ? 0 : (unsigned)l->image->entry_count;
    for (unsigned i = 0; i < numKernels && i < count; i++)
        kernels[i] = (cudaKernel_t)(void *)&l->kernels[i];
    return acu_sim_leave(result);
}

/* A kernel is none, and other functions are not known. */
cudaError_t acu_sim_cudaLibraryGetUnifiedFunction(void **fptr, cudaLibrary_t library,
                                                  const char *symbol) {
    acu_sim_library *l;
    cudaError_t result = enter(library, NULL, &l);
    if (!result)
        result = !fptr || !symbol || acu_sim_image_entry(l->image, symbol) >= 0
                     ? cudaErrorInvalidValue
                     : cudaErrorSymbolNotFound;
    return acu_sim_leave(result);
}

/* ---- variables ----------------------------------------------------------------------------------
 */

static cudaError_t get_variable(void **dptr, size_t *bytes, cudaLibrary_t library, const char *name,
                                bool only_managed) {
    acu_sim_library *l;
    acu_sim_module *module;
    cudaError_t result = enter(library, NULL, &l);
    if (!result && ((!dptr && !bytes) || !name))
        result = cudaErrorInvalidValue;
    int index = result ? -1 : acu_sim_image_variable(l->image, name);
    if (!result && index < 0 && !only_managed &&
        (!*name || acu_sim_image_entry(l->image, name) >= 0))
        result = cudaErrorInvalidValue; /* no name, or a kernel's */
    if (!result && (index < 0 || (only_managed && !l->image->variables[index].managed)))
        result = cudaErrorSymbolNotFound;
    if (!result)
        result = acu_sim_library_module(l, acu_sim_context_now(), &module);
    if (!result && dptr)
        *dptr = module->variables[index];
    if (!result && bytes)
        *bytes = l->image->variables[index].size;
    return acu_sim_leave(result);
}

cudaError_t acu_sim_cudaLibraryGetGlobal(void **dptr, size_t *bytes, cudaLibrary_t library,
                                         const char *name) {
    return get_variable(dptr, bytes, library, name, false);
}

cudaError_t acu_sim_cudaLibraryGetManaged(void **dptr, size_t *bytes, cudaLibrary_t library,
                                          const char *name) {
    return get_variable(dptr, bytes, library, name, true);
}
