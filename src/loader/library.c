/*
 * The three libraries: what each is, what is loaded of it, whom to ask for its driver, and the
 * slots that lead into it.
 */
#include "layers/layers.h"
#include "loader/loader.h"
#include "loader/platform.h"

#include <stdlib.h>
#include <string.h>

/* ---- the three libraries ----------------------------------------------------------------------
 */

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

acu_library acu_cudart = {
    .info = &acu_cudart_info,
    .id = ACU_CUDART,
    .wheel = "cuda_runtime",
    .needs_driver = true,
    .ask = ask_one,
};

acu_library acu_cuda = {
    .info = &acu_cuda_info,
    .id = ACU_CUDA,
    .by_symbol = true,
    .ask = ask_one,
};

acu_library acu_nvrtc = {
    .info = &acu_nvrtc_info,
    .id = ACU_NVRTC,
    .wheel = "cuda_nvrtc",
    .follows = &acu_cudart,
    .by_symbol = true,
    .ask = ask_two,
};

/* Weak: the simulator's own, if that is linked, takes its place. */
__attribute__((weak)) const acu_sim *acu_sim_provider;

/* A resolver that asks itself must not wait for itself. */
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

const acu_library_info *acu_library_about(const acu_library *library) {
    return library->info;
}

static acu_fn as_function(void *address) {
    acu_fn fn = NULL;
    memcpy(&fn, &address, sizeof fn);
    return fn;
}

/* One thread at a time; NULL for a resolver that asks itself. */
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

/* Not CUDA, but a resolver or the simulator. */
bool acu_library_is_replaced(const acu_library *library) {
    return library->resolve || library->loaded.is_sim;
}

/* Also while it is being loaded. The simulator may be a file. */
acu_fn acu_library_find(const acu_library *library, const char *symbol) {
    return acu_library_is_replaced(library) && !library->handle
               ? resolve(library, symbol)
               : acu_platform_symbol(library->handle, symbol);
}

/* ---- the driver's version ---------------------------------------------------------------------
 */

enum { NOT_ASKED = -2 };

static int driver = NOT_ASKED;

/* cuDriverGetVersion needs no cuInit, and a runtime opens libcuda.so.1 itself at its first call. */
static int ask_driver(acu_fn get_version) {
    int version = get_version ? ask_one(get_version) : 0;
    return version > 0 ? version : ACU_DRIVER_SILENT;
}

acu_library *acu_driver_of(acu_library *library) {
    bool plays = library->needs_driver && acu_library_state(library) == ACU_LOADED &&
                 acu_library_is_replaced(library);
    return plays ? library : &acu_cuda;
}

int acu_driver_version(const acu_library *library) {
    if (acu_library_state(library) == ACU_LOADED && acu_library_is_replaced(library)) {
        acu_fn get_version = acu_library_find(library, "cuDriverGetVersion");
        return get_version ? ask_driver(get_version) : ACU_DRIVER_NONE;
    }
    int known = __atomic_load_n(&driver, __ATOMIC_RELAXED);
    if (known == NOT_ASKED) {
        void *handle = acu_platform_open("libcuda.so.1", false, NULL, 0);
        known = handle ? ask_driver(acu_platform_symbol(handle, "cuDriverGetVersion"))
                       : ACU_DRIVER_NONE;
        __atomic_store_n(&driver, known, __ATOMIC_RELAXED);
    }
    return known;
}

bool acu_driver_was_asked(void) {
    return __atomic_load_n(&driver, __ATOMIC_RELAXED) != NOT_ASKED;
}

void acu_driver_forget(void) {
    __atomic_store_n(&driver, NOT_ASKED, __ATOMIC_RELAXED);
}

/* ---- slots ------------------------------------------------------------------------------------
 */

/* Under its lock. */
static void publish(acu_library *library, const acu_function *function, acu_fn fn) {
    acu_fn entry = *function->slot; /* written under the lock only */
    if (entry == fn)
        return;
    if (library->published_count == library->published_room) {
        size_t room = library->published_room * 2 + 32;
        acu_published *grown = realloc(library->published, room * sizeof *grown);
        if (!grown)
            return; /* the slow path goes on working */
        library->published = grown;
        library->published_room = room;
    }
    library->published[library->published_count++] = (acu_published){function, entry};
    __atomic_store_n(function->slot, fn, __ATOMIC_RELEASE);
}

void acu_slot_publish(const acu_function *function, acu_fn symbol, acu_fn fn) {
    acu_platform_lock(ACU_LOCK_SLOTS);
    /* First what the adapter reads, then, by release, the slot that leads to it. Written once:
     * other threads' adapters may be reading it when a second thread comes here. */
    if (function->real && *function->real != symbol)
        *function->real = symbol;
    /* Asked under the lock: a layer is switched on first, and takes published slots back then. */
    if (!acu_layers_on())
        publish(function->library, function, fn);
    acu_platform_unlock(ACU_LOCK_SLOTS);
}

void acu_slot_unpublish(acu_library *library) {
    acu_platform_lock(ACU_LOCK_SLOTS);
    for (size_t i = 0; i < library->published_count; i++) {
        const acu_published *p = &library->published[i];
        __atomic_store_n(p->function->slot, p->entry, __ATOMIC_RELEASE);
    }
    library->published_count = 0;
    acu_platform_unlock(ACU_LOCK_SLOTS);
}
