#include "loader/library.h"

#include "core/simulator.h"
#include "loader/platform.h"

#include <anycuda/cuda_types.h>
#include <anycuda/cudart_types.h>
#include <anycuda/nvrtc_types.h>

#include <stdio.h>
#include <string.h>

static int ask_one(acu_fn version_symbol) {
    int version = 0;
    int result = ((int (*)(int *))version_symbol)(&version);
    return result == 0 && version > 0 ? version : 0;
}

static int ask_two(acu_fn version_symbol) {
    int major = 0, minor = 0;
    int result = ((int (*)(int *, int *))version_symbol)(&major, &minor);
    return result == 0 && major > 0 ? major * 1000 + minor * 10 : 0;
}

/* The runtime has the driver's numbers, except for those that it never returns. */
static int translate_driver(int result) {
    switch (result) {
    case CUDA_ERROR_MULTICAST_RESOURCE_FULL:
    case CUDA_ERROR_CONTEXT_ALREADY_CURRENT:
    case CUDA_ERROR_KEY_ROTATION:
        return cudaErrorUnknown;
    default:
        return result;
    }
}

static int translate_nvrtc(int result) {
    switch (result) {
    case NVRTC_SUCCESS:
        return ACU_SUCCESS;
    case NVRTC_ERROR_OUT_OF_MEMORY:
        return ACU_ERROR_HOST_MEMORY;
    case NVRTC_ERROR_INVALID_INPUT:
    case NVRTC_ERROR_INVALID_OPTION:
    case NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID:
        return ACU_ERROR_ARGUMENT;
    case NVRTC_ERROR_COMPILATION:
        return ACU_ERROR_COMPILE;
    default:
        return cudaErrorUnknown;
    }
}

/* NVIDIA's wheels have a folder for each library until 12, and one for all of a version from 13. */
#define WHEELS(folder)                                                                             \
    (const char *const[]) {                                                                        \
        folder, "nvidia/cu[0-9]*/lib", NULL                                                        \
    }

acu_library acu_cudart = {
    .info = &acu_cudart_info,
    .id = ACU_CUDART,
    .packages = WHEELS("nvidia/cuda_runtime/lib"),
    .in_toolkits = true,
    .needs_driver = true,
    .ask = ask_one,
    .not_asked = 11080,
};

acu_library acu_cuda = {
    .info = &acu_cuda_info,
    .id = ACU_CUDA,
    .by_symbol = true,
    .ask = ask_one,
    .translate = translate_driver,
};

acu_library acu_nvrtc = {
    .info = &acu_nvrtc_info,
    .id = ACU_NVRTC,
    .packages = WHEELS("nvidia/cuda_nvrtc/lib"),
    .in_toolkits = true,
    .follows = &acu_cudart,
    .by_symbol = true,
    .ask = ask_two,
    .translate = translate_nvrtc,
};

/* Weak, because the simulator, if the program is linked with it, defines its own. */
__attribute__((weak)) const acu_sim *acu_sim_provider;

/* Set while this thread is inside a resolver, which must not wait for itself if it calls back. */
static _Thread_local bool resolving;

bool acu_library_is_resolving(void) {
    return resolving;
}

acu_load_state acu_library_state(const acu_library *library) {
    return (acu_load_state)__atomic_load_n(&library->state, __ATOMIC_ACQUIRE);
}

int acu_library_version(const acu_library *library) {
    return acu_library_state(library) == ACU_LOADED ? library->abi : 0;
}

const acu_library *acu_library_followed(const acu_library *library) {
    const acu_library *followed = library->follows;
    while (followed && !acu_library_version(followed))
        followed = followed->follows;
    return followed;
}

const acu_library_info *acu_library_about(const acu_library *library) {
    return library->info;
}

extern acu_library acu_webgpu __attribute__((weak));    /* library_webgpu.c */
extern acu_library acu_nvml __attribute__((weak));      /* library_nvml.c */
extern acu_library acu_nvjitlink __attribute__((weak)); /* library_nvjitlink.c */

acu_library *acu_library_of(acu_library_id id) {
    switch (id) {
    case ACU_CUDART:
        return &acu_cudart;
    case ACU_CUDA:
        return &acu_cuda;
    case ACU_NVRTC:
        return &acu_nvrtc;
    case ACU_WEBGPU:
        return &acu_webgpu;
    case ACU_NVML:
        return &acu_nvml;
    case ACU_NVJITLINK:
        return &acu_nvjitlink;
    }
    return NULL;
}

const char *acu_library_describe(const acu_library *library, const char *between,
                                 char text[ACU_LIBRARY_TEXT]) {
    if (acu_library_version(library))
        snprintf(text, ACU_LIBRARY_TEXT, "%s%s %d.%d (%s)", library->info->name, between,
                 ACU_MAJOR(library->loaded.version), ACU_MINOR(library->loaded.version),
                 library->loaded.path);
    else
        snprintf(text, ACU_LIBRARY_TEXT, "no %s is loaded", library->info->name);
    return text;
}

static acu_fn as_function(void *address) {
    acu_fn fn = NULL;
    memcpy(&fn, &address, sizeof fn);
    return fn;
}

/* Calls the resolver in one thread at a time; NULL where a resolver calls back. */
static acu_fn resolve(const acu_library *library, const char *symbol) {
    if (resolving)
        return NULL;
    acu_platform_lock(ACU_LOCK_RESOLVE);
    resolving = true;
    acu_fn fn = library->loaded.is_sim ? acu_sim_provider->resolve(symbol)
                                       : as_function(library->resolve(symbol, library->data));
    resolving = false;
    acu_platform_unlock(ACU_LOCK_RESOLVE);
    return fn;
}

bool acu_library_is_replaced(const acu_library *library) {
    return library->resolve || library->loaded.is_sim;
}

int acu_library_sim_abi(const acu_library *library) {
    acu_fn abi = acu_platform_symbol(library->handle, "acu_sim_abi");
    return abi ? ((int (*)(void))abi)() : 0;
}

/* The simulator may be a file, which has a handle. */
acu_fn acu_library_find(const acu_library *library, const char *symbol) {
    return acu_library_is_replaced(library) && !library->handle
               ? resolve(library, symbol)
               : acu_platform_symbol(library->handle, symbol);
}
