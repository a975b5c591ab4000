/*
 * Kernels and variables that nvcc compiled into the program. Before main() the program registers a
 * fat binary for each source file, with the host's addresses of its kernels and variables; a fat
 * binary is read when something in it is needed first. Host code launches a kernel in two steps: it
 * pushes the configuration of the launch, and calls the kernel's stub, which pops it.
 */
#include "sim/code/compiled.h"

#include "sim/code/image.h"
#include "sim/code/module.h"
#include "sim/device/context.h"
#include "sim/device/need.h"

#include <stdlib.h>
#include <string.h>

/* ---- tables by the host's address ---- */

typedef struct compiled_variable {
    acu_sim_library *library;
    const char *name; /* owned by the program */
    void **managed;   /* where host code reads the variable's address; NULL: not managed */
} compiled_variable;

typedef struct item {
    const void *host; /* the host's address */
    acu_sim_library *library;
    size_t order; /* the number of items that were added to the table before */
    void *what;   /* a kernel's handle or a variable, which the item owns */
} item;

/* Items are sorted by the first search after an addition. Of two with the same address the later
 * one counts. */
typedef struct table {
    item *items;
    size_t count, room, added;
    bool sorted;
} table;

static table kernels, variables;

/* Adds an item that owns `what`, which is freed on failure. False without memory, or if `what` is
 * NULL. */
static bool add_item(table *t, const void *host, acu_sim_library *library, void *what) {
    if (what && t->count == t->room) {
        size_t room = t->room ? t->room * 2 : 64;
        item *grown = realloc(t->items, room * sizeof *grown);
        if (grown) {
            t->items = grown;
            t->room = room;
        }
    }
    if (!what || t->count == t->room) {
        free(what);
        return false;
    }
    t->items[t->count++] = (item){host, library, t->added++, what};
    t->sorted = false;
    return true;
}

static int compare_items(const void *a, const void *b) {
    const item *x = a, *y = b;
    uintptr_t first = (uintptr_t)x->host, second = (uintptr_t)y->host;
    return first != second ? (first > second) - (first < second)
                           : (x->order > y->order) - (x->order < y->order);
}

static void *find_item(table *t, const void *host) {
    if (!t->sorted && t->count)
        qsort(t->items, t->count, sizeof *t->items, compare_items);
    t->sorted = true;
    size_t low = 0, high = t->count; /* both end at the first item above the address */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((uintptr_t)t->items[middle].host <= (uintptr_t)host)
            low = middle + 1;
        else
            high = middle;
    }
    return low && t->items[low - 1].host == host ? t->items[low - 1].what : NULL;
}

/* Removes the library's items, and calls `release` for each, if that is not NULL. */
static void remove_items(table *t, const acu_sim_library *library, void (*release)(void *what)) {
    size_t kept = 0;
    for (size_t i = 0; i < t->count; i++) {
        if (t->items[i].library != library) {
            t->items[kept++] = t->items[i];
            continue;
        }
        if (release)
            release(t->items[i].what);
        free(t->items[i].what);
    }
    t->count = kept;
}

static void release_kernel(void *what) {
    acu_sim_kernel_publish(what, false);
}

acu_sim_kernel_handle *acu_sim_compiled_kernel(const void *host) {
    return find_item(&kernels, host);
}

const void *acu_sim_compiled_host(const void *handle) {
    for (size_t i = 0; i < kernels.count; i++)
        if (kernels.items[i].what == handle)
            return kernels.items[i].host;
    return NULL;
}

void acu_sim_compiled_reset(const acu_sim_library *library) {
    for (size_t i = 0; i < kernels.count; i++)
        if (kernels.items[i].library == library)
            ((acu_sim_kernel_handle *)kernels.items[i].what)->index = SIZE_MAX;
}

/* ---- registering ---- */

/* The handles that the program keeps are libraries. Registering fails without memory only, and
 * reports nothing: using a kernel or variable that is missing fails later. NULL without a library.
 */
static acu_sim_library *library_of(void **handle) {
    return acu_sim_library_of(handle);
}

void **acu_sim_compiled_RegisterFatBinary(void *wrapper) {
    pthread_mutex_lock(&acu_sim_lock);
    acu_sim_library *library = acu_sim_library_compiled(wrapper);
    pthread_mutex_unlock(&acu_sim_lock);
    return (void **)(void *)library;
}

void acu_sim_compiled_RegisterFatBinaryEnd(void **handle) {
    (void)handle;
}

/* Nothing is released at exit, because unloading waits for work that exit may have ended. */
void acu_sim_compiled_UnregisterFatBinary(void **handle) {
    pthread_mutex_lock(&acu_sim_lock);
    acu_sim_library *library = library_of(handle);
    if (library && !acu_sim_is_unloading()) {
        remove_items(&kernels, library, release_kernel);
        remove_items(&variables, library, NULL);
        acu_sim_library_unload(library);
    }
    pthread_mutex_unlock(&acu_sim_lock);
}

void acu_sim_compiled_RegisterFunction(void **handle, const char *host, char *device,
                                       const char *name, int thread_limit, void *tid, void *bid,
                                       dim3 *block, dim3 *grid, int *warp_size) {
    (void)device, (void)thread_limit, (void)tid, (void)bid, (void)block, (void)grid,
        (void)warp_size;
    pthread_mutex_lock(&acu_sim_lock);
    acu_sim_library *library = library_of(handle);
    acu_sim_kernel_handle *kernel = library ? malloc(sizeof *kernel) : NULL;
    if (kernel) {
        *kernel = (acu_sim_kernel_handle){.library = library, .index = SIZE_MAX, .name = name};
        if (add_item(&kernels, host, library, kernel))
            acu_sim_kernel_publish(kernel, true);
    }
    pthread_mutex_unlock(&acu_sim_lock);
}

static void register_variable(void **handle, const void *host, const char *name, void **managed) {
    pthread_mutex_lock(&acu_sim_lock);
    acu_sim_library *library = library_of(handle);
    compiled_variable *variable = library ? malloc(sizeof *variable) : NULL;
    if (variable) {
        *variable = (compiled_variable){library, name, managed};
        (void)add_item(&variables, host, library, variable);
    }
    pthread_mutex_unlock(&acu_sim_lock);
}

void acu_sim_compiled_RegisterVar(void **handle, char *host, char *device, const char *name,
                                  int is_extern, size_t size, int constant, int global) {
    (void)device, (void)is_extern, (void)size, (void)constant, (void)global;
    register_variable(handle, host, name, NULL);
}

void acu_sim_compiled_RegisterManagedVar(void **handle, void **host, char *device, const char *name,
                                         int is_extern, size_t size, int constant, int global) {
    (void)device, (void)is_extern, (void)size, (void)constant, (void)global;
    register_variable(handle, host, name, host);
}

/* Host variables that kernels use need no record here, because simulated kernels are host
 * functions. */
void acu_sim_compiled_RegisterHostVar(void **handle, const char *name, char *host, size_t size) {
    (void)handle, (void)name, (void)host, (void)size;
}

/* ---- variables ---- */

/* Returns the variable that is registered for the host's address, or the managed variable that is
 * at the address; NULL if there is none. */
static const compiled_variable *find_variable(const void *host) {
    const compiled_variable *found = find_item(&variables, host);
    for (size_t i = 0; !found && i < variables.count; i++) {
        const compiled_variable *v = variables.items[i].what;
        if (v->managed && host && *v->managed == host)
            found = v;
    }
    return found;
}

cudaError_t acu_sim_compiled_variable(const void *host, acu_sim_context *context, void **at,
                                      size_t *size) {
    const compiled_variable *v = find_variable(host);
    acu_sim_module *module;
    if (!v)
        return cudaErrorInvalidSymbol;
    SIM_TRY(acu_sim_library_module(v->library, context, &module));
    int index = acu_sim_image_variable(module->image, v->name);
    if (index < 0)
        return cudaErrorInvalidSymbol;
    *at = module->variables[index];
    *size = module->image->variables[index].size;
    return cudaSuccess;
}

void acu_sim_compiled_place(const acu_sim_library *library) {
    for (size_t i = 0; i < variables.count; i++) {
        const compiled_variable *v = variables.items[i].what;
        int index = v->library == library && v->managed
                        ? acu_sim_image_variable(library->image, v->name)
                        : -1;
        if (index >= 0)
            *v->managed = library->managed[index];
    }
}

static cudaError_t load_module(acu_sim_library *library) {
    acu_sim_module *module;
    SIM_TRY(acu_sim_require(SIM_NEEDS_CONTEXT));
    return library ? acu_sim_library_module(library, acu_sim_context_now(), &module)
                   : cudaErrorInvalidResourceHandle;
}

/* Host code calls this before its first access to a managed variable. The program keeps the result:
 * 1 if the variables have their addresses, 0 if the call is to be repeated. */
char acu_sim_compiled_InitModule(void **handle) {
    acu_sim_call call = {.caller = __builtin_return_address(0), .symbol = "__cudaInitModule"};
    acu_sim_call_begin(&call);
    return acu_sim_call_end(&call, load_module(library_of(handle))) ? 0 : 1;
}

/* ---- launching ---- */

typedef struct configuration {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
} configuration;

/* Configurations that were pushed and not popped. There can be several, because the expression of
 * an argument may launch a kernel itself. */
enum { MOST_PUSHED = 64 };
static _Thread_local configuration pushed[MOST_PUSHED];
static _Thread_local unsigned depth;

/* Returns 0, or an error: then host code does not call the stub. */
unsigned acu_sim_compiled_PushCallConfiguration(dim3 grid, dim3 block, size_t shared,
                                                cudaStream_t stream) {
    if (depth == MOST_PUSHED)
        return (unsigned)cudaErrorMemoryAllocation;
    pushed[depth++] = (configuration){grid, block, shared, stream};
    return 0;
}

cudaError_t acu_sim_compiled_PopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared,
                                                  void *stream) {
    if (depth == 0) {
        acu_sim_call call = {.caller = __builtin_return_address(0),
                             .symbol = "__cudaPopCallConfiguration"};
        acu_sim_call_begin(&call);
        return acu_sim_call_end(&call, cudaErrorMissingConfiguration);
    }
    const configuration *c = &pushed[--depth];
    *grid = c->grid;
    *block = c->block;
    *shared = c->shared;
    *(cudaStream_t *)stream = c->stream;
    return cudaSuccess;
}

/* A stub calls this once, perhaps before main(), so nothing is loaded and no context created. */
cudaError_t acu_sim_compiled_GetKernel(cudaKernel_t *kernel, const void *host) {
    acu_sim_call call = {.caller = __builtin_return_address(0), .symbol = "__cudaGetKernel"};
    acu_sim_call_begin(&call);
    acu_sim_kernel_handle *found = acu_sim_compiled_kernel(host);
    cudaError_t result = !kernel ? cudaErrorInvalidValue
                         : found ? cudaSuccess
                                 : cudaErrorInvalidDeviceFunction;
    if (!result)
        *kernel = (cudaKernel_t)(void *)found;
    return acu_sim_call_end(&call, result);
}

static cudaError_t launch(acu_sim_call call, cudaKernel_t kernel, dim3 grid, dim3 block,
                          void **args, size_t shared, cudaStream_t stream) {
    acu_sim_call_begin(&call);
    cudaError_t result = acu_sim_require(SIM_NEEDS_CONTEXT);
    if (!result)
        result = acu_sim_cudaLaunchKernel(kernel, grid, block, args, shared, stream);
    return acu_sim_call_end(&call, result);
}

cudaError_t acu_sim_compiled_LaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
                                          size_t shared, cudaStream_t stream) {
    const acu_sim_call call = {.caller = __builtin_return_address(0),
                               .symbol = "__cudaLaunchKernel"};
    return launch(call, kernel, grid, block, args, shared, stream);
}

cudaError_t acu_sim_compiled_LaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block,
                                               void **args, size_t shared, cudaStream_t stream) {
    const acu_sim_call call = {.caller = __builtin_return_address(0),
                               .symbol = "__cudaLaunchKernel_ptsz",
                               .own_default = true};
    return launch(call, kernel, grid, block, args, shared, stream);
}
