/* Modules and libraries: loading and unloading them, and finding what they contain. */
#include "sim/code/module.h"
#include "sim/code/reference.h"

#include "sim/caller.h"
#include "sim/code/compiled.h"
#include "sim/code/execute.h"
#include "sim/code/function.h"
#include "sim/code/image.h"
#include "sim/device/context.h"
#include "sim/device/device.h"
#include "sim/memory/memory.h"
#include "sim/memory/range.h"
#include "sim/set.h"
#include "sim/stream/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static acu_sim_module *modules;
static acu_sim_library *libraries;
static acu_sim_set module_handles, library_handles, kernel_handles, function_handles;

/* ---- modules ---- */

void acu_sim_module_release(acu_sim_module *module) {
    if (!module || --module->refs)
        return;
    acu_sim_image_release(module->image);
    free(module->functions);
    free(module->variables);
    free(module);
}

/* Returns a count for calloc(), which may return NULL of 0 elements although nothing failed. */
static size_t at_least_one(size_t count) {
    return count ? count : 1;
}

static cudaError_t create_variables(acu_sim_module *module) {
    const acu_sim_code_image *image = module->image;
    for (size_t i = 0; i < image->variable_count; i++) {
        const acu_sim_variable *variable = &image->variables[i];
        void *at = NULL;
        bool shared = variable->managed && module->library; /* by the library's modules */
        cudaError_t result =
            shared ? cudaSuccess
                   : acu_sim_memory_variable_new(module->context, variable->name, variable->size,
                                                 variable->managed, &at);
        if (result)
            return result;
        if (at && variable->bytes)
            memcpy(acu_sim_range_bytes(acu_sim_range_of(at), at), variable->bytes, variable->size);
        /* NOLINTNEXTLINE(clang-analyzer-security.ArrayBound): the array has as many elements */
        module->variables[i] = shared ? module->library->managed[i] : at;
    }
    acu_sim_execute_relocate(module);
    return cudaSuccess;
}

static bool create_functions(acu_sim_module *module) {
    const acu_sim_code_image *image = module->image;
    for (size_t i = 0; i < image->entry_count; i++) {
        acu_sim_function *function = &module->functions[i];
        acu_sim_entry *entry = &image->entries[i];
        const int usual =
                      acu_sim_device_attribute(module->device, cudaDevAttrMaxSharedMemoryPerBlock),
                  most = acu_sim_device_attribute(module->device,
                                                  cudaDevAttrMaxSharedMemoryPerBlockOptin);
        const int limit = (int)entry->shared > usual ? most : usual;
        acu_sim_settings set = {
            .dynamic = limit > (int)entry->shared ? limit - (int)entry->shared : 0,
            .carveout = -1,
            .cluster_must_be_set = entry->explicit_cluster,
        };
        for (int k = 0; k < 3; k++)
            set.cluster[k] = (int)entry->cluster[k];
        *function = (acu_sim_function){module, entry, .set = set, .of_kernel = set};
        if (!acu_sim_set_add(&function_handles, function))
            return false;
    }
    return true;
}

static void remove_from_library(acu_sim_module *module) {
    acu_sim_module **at = &module->library->modules;
    while (*at && *at != module)
        at = &(*at)->next_of_library;
    if (*at)
        *at = module->next_of_library;
}

static void unload_module(acu_sim_module *module) {
    if (module->library)
        remove_from_library(module);
    for (size_t i = 0; i < module->image->entry_count; i++)
        acu_sim_set_remove(&function_handles, &module->functions[i]);
    for (size_t i = 0; i < module->image->variable_count; i++)
        if (!module->library || !module->image->variables[i].managed)
            acu_sim_memory_variable_free(module->variables[i]);
    acu_sim_reference_free(module);
    acu_sim_set_remove(&module_handles, module);
    for (acu_sim_module **at = &modules; *at; at = &(*at)->next)
        if (*at == module) {
            *at = module->next;
            break;
        }
    module->loaded = false;
    acu_sim_module_release(module);
}

/* Creates a module that takes a reference on the image. */
static cudaError_t new_module(acu_sim_code_image *image, acu_sim_context *context,
                              acu_sim_library *library, const void *where,
                              acu_sim_module **module) {
    if (context->loads_nothing)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "coredumps of faults were turned on and off again in the context on "
                          "device %d, which loads no code since then: reset the device, or leave "
                          "them on",
                          context->device->index);
    acu_sim_module *made = calloc(1, sizeof *made);
    if (!made)
        return cudaErrorMemoryAllocation;
    *made = (acu_sim_module){.refs = 1,
                             .loaded = true,
                             .image = image,
                             .device = context->device,
                             .library = library,
                             .where = where,
                             .context = context,
                             .next = modules};
    image->refs++;
    modules = made;
    made->functions = calloc(at_least_one(image->entry_count), sizeof *made->functions);
    made->variables = calloc(at_least_one(image->variable_count), sizeof *made->variables);
    cudaError_t result = cudaErrorMemoryAllocation;
    if (made->functions && made->variables && acu_sim_set_add(&module_handles, made) &&
        create_functions(made) && acu_sim_reference_create(made))
        result = create_variables(made);
    if (result)
        unload_module(made);
    else
        *module = made;
    return result;
}

cudaError_t acu_sim_module_load(acu_sim_context *context, const void *code, size_t size,
                                const acu_sim_options *options, const void *where,
                                acu_sim_module **module) {
    acu_sim_code_image *image;
    SIM_TRY(acu_sim_image_load(code, size, options, &image));
    cudaError_t result = new_module(image, context, NULL, where, module);
    acu_sim_image_release(image);
    return result;
}

void acu_sim_module_unload(acu_sim_module *module) {
    acu_sim_stream_wait_device(module->device);
    if (acu_sim_module_of(module)) /* another thread may have unloaded it while this one waited */
        unload_module(module);
}

/* ---- libraries ---- */

/* Frees the modules, the kernels and everything else that was read of the library's code. */
static void clear_library(acu_sim_library *library) {
    acu_sim_code_image *image = library->image;
    while (library->modules)
        unload_module(library->modules);
    for (size_t i = 0; library->kernels && i < image->entry_count; i++)
        acu_sim_set_remove(&kernel_handles, &library->kernels[i]);
    for (size_t i = 0; library->managed && i < image->variable_count; i++)
        acu_sim_memory_variable_free(library->managed[i]);
    acu_sim_image_release(image);
    free(library->kernels);
    free(library->managed);
    library->image = NULL;
    library->kernels = NULL;
    library->managed = NULL;
}

static void unload_library(acu_sim_library *library) {
    clear_library(library);
    acu_sim_set_remove(&library_handles, library);
    for (acu_sim_library **at = &libraries; *at; at = &(*at)->next)
        if (*at == library) {
            *at = library->next;
            break;
        }
    free(library);
}

static cudaError_t create_managed_variables(acu_sim_library *library) {
    const acu_sim_code_image *image = library->image;
    for (size_t i = 0; i < image->variable_count; i++) {
        const acu_sim_variable *variable = &image->variables[i];
        if (!variable->managed || library->managed[i])
            continue;
        cudaError_t result = acu_sim_memory_variable_new(
            acu_sim_context_now(), variable->name, variable->size, true, &library->managed[i]);
        if (result)
            return result;
        if (variable->bytes && variable->size)
            memcpy(library->managed[i], variable->bytes, variable->size);
    }
    if (library->compiled)
        acu_sim_compiled_place(library);
    return cudaSuccess;
}

static cudaError_t create_kernels(acu_sim_library *library) {
    for (size_t i = 0; i < library->image->entry_count; i++) {
        library->kernels[i] = (acu_sim_kernel_handle){library, i, NULL};
        if (!acu_sim_set_add(&kernel_handles, &library->kernels[i]))
            return cudaErrorMemoryAllocation;
    }
    return cudaSuccess;
}

static acu_sim_code_image *new_empty_image(void) {
    acu_sim_code_image *image = calloc(1, sizeof *image);
    if (image)
        image->refs = 1;
    return image;
}

/* Reads the code of a library. CUDA loads libraries lazily: code that cannot be read, or is for
 * other devices, fails when something in it is needed. So `why` is then the error, and the image is
 * empty. */
static cudaError_t load_lazily(const void *code, size_t size, const acu_sim_options *options,
                               acu_sim_code_image **image, cudaError_t *why) {
    cudaError_t result = acu_sim_image_load(code, size, options, image);
    *why = cudaSuccess;
    if (!result || result == cudaErrorInvalidValue || result == cudaErrorMemoryAllocation)
        return result;
    *why = result;
    return (*image = new_empty_image()) ? cudaSuccess : cudaErrorMemoryAllocation;
}

/* Gives the library the image, which the library owns, also on failure. */
static cudaError_t fill_library(acu_sim_library *library, acu_sim_code_image *image,
                                cudaError_t why) {
    library->image = image;
    library->why = why;
    library->kernels = calloc(at_least_one(image->entry_count), sizeof *library->kernels);
    library->managed = calloc(at_least_one(image->variable_count), sizeof *library->managed);
    return library->kernels && library->managed ? create_kernels(library)
                                                : cudaErrorMemoryAllocation;
}

static acu_sim_library *new_library(const void *where) {
    acu_sim_library *made = calloc(1, sizeof *made);
    if (!made || !acu_sim_set_add(&library_handles, made)) {
        free(made);
        return NULL;
    }
    made->where = where;
    made->next = libraries;
    return libraries = made;
}

cudaError_t acu_sim_library_load(const void *code, size_t size, const acu_sim_options *options,
                                 const void *where, acu_sim_library **library) {
    acu_sim_code_image *image;
    cudaError_t why;
    SIM_TRY(load_lazily(code, size, options, &image, &why));
    acu_sim_library *made = new_library(where);
    if (!made) {
        acu_sim_image_release(image);
        return cudaErrorMemoryAllocation;
    }
    cudaError_t result = fill_library(made, image, why);
    if (!result)
        result = create_managed_variables(made);
    if (result)
        unload_library(made);
    else
        *library = made;
    return result;
}

acu_sim_library *acu_sim_library_compiled(const void *code) {
    acu_sim_library *made = new_library(NULL);
    if (made)
        made->compiled = code;
    return made;
}

/* Says what a program of nvcc lacks, which cannot ask for the reason. */
static void say_what_lacks(void) {
    const int cc = acu_sim_configuration()->cc, ptx = cc < 80 ? cc : 80;
    fprintf(stderr,
            "anycuda: simulator: a file of the program has no code for this device, whose compute "
            "capability is %d.%d: compile it to PTX that the device runs, with nvcc "
            "-arch=compute_%d -code=compute_%d, or choose another device by ANYCUDA_SIM=cc=…\n",
            cc / 10, cc % 10, ptx, ptx);
}

cudaError_t acu_sim_library_read(acu_sim_library *library) {
    const acu_sim_options none = {0};
    acu_sim_code_image *image = NULL;
    if (!library->compiled || library->read)
        return library->why;
    cudaError_t why = acu_sim_image_load(library->compiled, SIZE_MAX, &none, &image);
    if (why == cudaErrorMemoryAllocation || (!image && !(image = new_empty_image())))
        return cudaErrorMemoryAllocation;
    clear_library(library);
    cudaError_t result = fill_library(library, image, why);
    library->read = !result;
    if (library->read && why == cudaErrorNoKernelImageForDevice)
        say_what_lacks();
    return result ? result : why;
}

void acu_sim_library_unload(acu_sim_library *library) {
    acu_sim_stream_wait_device(NULL);
    if (acu_sim_library_of(library))
        unload_library(library);
}

/* Adds the module to the library. Its functions get the settings of their kernels on the device,
 * which a module in another context has. */
static void add_to_library(acu_sim_module *module, acu_sim_library *library) {
    const acu_sim_module *other = library->modules;
    while (other && other->device != module->device)
        other = other->next_of_library;
    for (size_t i = 0; other && i < module->image->entry_count; i++)
        module->functions[i].set = module->functions[i].of_kernel = other->functions[i].of_kernel;
    module->next_of_library = library->modules;
    library->modules = module;
}

cudaError_t acu_sim_library_module(acu_sim_library *library, acu_sim_context *context,
                                   acu_sim_module **module) {
    SIM_TRY(acu_sim_library_read(library));
    for (*module = library->modules; *module; *module = (*module)->next_of_library)
        if ((*module)->context == context)
            return cudaSuccess;
    SIM_TRY(create_managed_variables(library));
    SIM_TRY(new_module(library->image, context, library, library->where, module));
    add_to_library(*module, library);
    return cudaSuccess;
}

cudaError_t acu_sim_kernel_find(acu_sim_kernel_handle *kernel) {
    SIM_TRY(acu_sim_library_read(kernel->library));
    if (kernel->index != SIZE_MAX)
        return cudaSuccess;
    int index = acu_sim_image_entry(kernel->library->image, kernel->name);
    if (index < 0)
        return cudaErrorInvalidDeviceFunction;
    kernel->index = (size_t)index;
    return cudaSuccess;
}

cudaError_t acu_sim_kernel_function(acu_sim_kernel_handle *kernel, acu_sim_context *context,
                                    acu_sim_function **function) {
    acu_sim_module *module;
    SIM_TRY(acu_sim_kernel_find(kernel));
    SIM_TRY(acu_sim_library_module(kernel->library, context, &module));
    *function = &module->functions[kernel->index];
    return cudaSuccess;
}

cudaError_t acu_sim_kernel_function_on(acu_sim_kernel_handle *kernel, acu_sim_device *device,
                                       acu_sim_function **function) {
    acu_sim_context *context = acu_sim_context_on(device);
    if (!context->made)
        SIM_TRY(acu_sim_device_activate(device));
    return acu_sim_kernel_function(kernel, context, function);
}

acu_sim_entry *acu_sim_kernel_entry(const acu_sim_kernel_handle *kernel) {
    return &kernel->library->image->entries[kernel->index];
}

/* ---- handles ---- */

/* Returns the handle if it is in the set, else NULL. The cast is right, because the program's
 * handle stands for an object of the simulator. */
static void *find_handle(const acu_sim_set *set, const void *handle) {
    return acu_sim_set_has(set, handle) ? (void *)(uintptr_t)handle : NULL;
}

acu_sim_module *acu_sim_module_of(const void *handle) {
    return find_handle(&module_handles, handle);
}

acu_sim_library *acu_sim_library_of(const void *handle) {
    return find_handle(&library_handles, handle);
}

acu_sim_kernel_handle *acu_sim_kernel_of(const void *handle) {
    return find_handle(&kernel_handles, handle);
}

acu_sim_kernel_handle *acu_sim_kernel_of_symbol(const void *function) {
    acu_sim_kernel_handle *kernel = acu_sim_kernel_of(function);
    return kernel ? kernel : acu_sim_compiled_kernel(function);
}

bool acu_sim_kernel_publish(acu_sim_kernel_handle *kernel, bool is_known) {
    if (is_known)
        return acu_sim_set_add(&kernel_handles, kernel);
    acu_sim_set_remove(&kernel_handles, kernel);
    return true;
}

acu_sim_function *acu_sim_function_of(const void *handle) {
    return find_handle(&function_handles, handle);
}

/* ---- reset ---- */

/* Forgets the library's managed variables on the device, whose memory is freed next. */
static void forget_managed(acu_sim_library *library, const acu_sim_device *device) {
    for (size_t i = 0; library->image && i < library->image->variable_count; i++) {
        const acu_sim_range *range = acu_sim_range_of(library->managed[i]);
        if (range && range->device == device)
            library->managed[i] = NULL;
    }
}

/* The library stays, but its code is read again, because another device may need other code of it.
 */
static void clear_compiled(acu_sim_library *library) {
    if (library->read)
        clear_library(library);
    library->read = false;
    acu_sim_compiled_reset(library);
}

static void reset_device(acu_sim_device *device) {
    acu_sim_module *next;
    for (acu_sim_module *m = modules; m; m = next) {
        next = m->next;
        if (m->device == device)
            unload_module(m);
    }
    for (acu_sim_library *l = libraries; l; l = l->next) /* libraries stay */
        forget_managed(l, device);
}

static void reset(void) {
    acu_sim_library *next;
    for (acu_sim_library *l = libraries; l; l = next) {
        next = l->next;
        if (l->compiled)
            clear_compiled(l);
        else
            unload_library(l);
    }
}

static void drop_context(acu_sim_context *context) {
    acu_sim_module *next;
    for (acu_sim_module *m = modules; m; m = next) {
        next = m->next;
        if (m->context == context)
            unload_module(m);
    }
}

static int leaks(int print) {
    int count = 0;
    for (const acu_sim_module *m = modules; m; m = m->next)
        if (!m->library) {
            count++;
            if (print)
                acu_sim_caller_report("module", m, 0, m->where);
        }
    for (const acu_sim_library *l = libraries; l; l = l->next)
        if (!l->compiled) {
            count++;
            if (print)
                acu_sim_caller_report("library", l, 0, l->where);
        }
    return count;
}

const acu_sim_noun acu_sim_module_noun = {
    .reset_device = reset_device, .reset = reset, .drop_context = drop_context, .leaks = leaks};
