/* Images, modules and libraries: loading, unloading, and what is in them by name. */
#include "sim/code/module.h"
#include "sim/caller.h"
#include "sim/code/compiled.h"
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

int acu_sim_image_entry(const acu_sim_image *image, const char *name) {
    for (size_t i = 0; i < image->entry_count; i++)
        if (strcmp(image->entries[i].name, name) == 0)
            return (int)i;
    return -1;
}

int acu_sim_image_variable(const acu_sim_image *image, const char *name) {
    for (size_t i = 0; i < image->variable_count; i++)
        if (strcmp(image->variables[i].name, name) == 0)
            return (int)i;
    return -1;
}

cudaError_t acu_sim_module_read_file(const char *path, char **text, size_t *size) {
    FILE *file = fopen(path, "rb");
    size_t used = 0, room = 0;
    cudaError_t result = file ? cudaSuccess : cudaErrorFileNotFound;
    *text = NULL;
    while (!result && !feof(file) && !ferror(file)) {
        if (room - used < 2) {
            char *grown = realloc(*text, room = room * 2 + 4096);
            if (!grown) {
                result = cudaErrorMemoryAllocation;
                break;
            }
            *text = grown;
        }
        used += fread(*text + used, 1, room - used - 1, file);
    }
    if (file)
        (void)fclose(file);
    if (result)
        free(*text), *text = NULL;
    else
        (*text)[used] = '\0', *size = used;
    return result;
}

/* ---- what a load is asked ---- */

bool acu_sim_options_are_known(const acu_sim_options *options) {
    if ((options->jit_count && (!options->jit || !options->jit_values)) ||
        (options->library_count && (!options->library || !options->library_values)))
        return false;
    for (unsigned i = 0; i < options->jit_count; i++)
        if (options->jit[i] < 0 || options->jit[i] >= 36)
            return false;
    for (unsigned i = 0; i < options->library_count; i++)
        if (options->library[i] != cudaLibraryHostUniversalFunctionAndDataTable &&
            options->library[i] != cudaLibraryBinaryIsPreserved)
            return false;
    return true;
}

void **acu_sim_options_value(const acu_sim_options *options, int option) {
    for (unsigned i = 0; i < options->jit_count; i++)
        if (options->jit[i] == option)
            return &options->jit_values[i];
    return NULL;
}

/* Puts the text in the buffer that was given, and how much there is in place of its size. */
static void write_log(const acu_sim_options *options, int buffer, int size, const char *text) {
    void **at = acu_sim_options_value(options, buffer),
         **room = acu_sim_options_value(options, size);
    if (!at || !*at || !room || !*room)
        return;
    int written = snprintf(*at, (size_t)(uintptr_t)*room, "%s", text);
    if ((uintptr_t)written >= (uintptr_t)*room)
        written = (int)((uintptr_t)*room - 1);
    *room = (void *)(uintptr_t)written;
}

cudaError_t acu_sim_image_load(const void *code, size_t size, const acu_sim_options *options,
                               acu_sim_image **image) {
    char why[400], log[500] = "";
    if (!code || !acu_sim_options_are_known(options))
        return cudaErrorInvalidValue;
    cudaError_t result = acu_sim_image_read(code, size, image, why, sizeof why);
    if (result && why[0])
        snprintf(log, sizeof log, "%s\n%s", why,
                 strstr(why, "fatal") ? ""
                                      : "ptxas fatal   : Ptx assembly aborted due to errors\n");
    write_log(options, cudaJitErrorLogBuffer, cudaJitErrorLogBufferSizeBytes, log);
    write_log(options, cudaJitInfoLogBuffer, cudaJitInfoLogBufferSizeBytes, "");
    return result;
}

/* ---- modules ---- */

void acu_sim_module_release(acu_sim_module *module) {
    if (!module || --module->refs)
        return;
    acu_sim_image_release(module->image);
    free(module->functions);
    free(module->variables);
    free(module);
}

/* calloc() of nothing may be NULL, too. */
static size_t at_least_one(size_t count) {
    return count ? count : 1;
}

static cudaError_t make_variables(acu_sim_module *module) {
    const acu_sim_image *image = module->image;
    for (size_t i = 0; i < image->variable_count; i++) {
        const acu_sim_variable *variable = &image->variables[i];
        void *at = NULL;
        bool shared = variable->managed && module->library; /* one for all devices */
        cudaError_t result = shared ? cudaSuccess
                                    : acu_sim_memory_variable_new(module->context, variable->size,
                                                                  variable->managed, &at);
        if (result)
            return result;
        if (at && variable->bytes)
            memcpy(acu_sim_range_bytes(acu_sim_range_of(at), at), variable->bytes, variable->size);
        /* NOLINTNEXTLINE(clang-analyzer-security.ArrayBound): there are as many */
        module->variables[i] = shared ? module->library->managed[i] : at;
    }
    return cudaSuccess;
}

static bool make_functions(acu_sim_module *module) {
    const acu_sim_image *image = module->image;
    for (size_t i = 0; i < image->entry_count; i++) {
        acu_sim_function *function = &module->functions[i];
        acu_sim_entry *entry = &image->entries[i];
        int limit = acu_sim_device_attribute(module->device, cudaDevAttrMaxSharedMemoryPerBlock);
        acu_sim_settings set = {
            .dynamic = limit > (int)entry->shared ? limit - (int)entry->shared : 0,
            .carveout = -1,
            .cluster_must_be_set = entry->explicit_cluster && !entry->cluster[0],
        };
        for (int k = 0; k < 3; k++)
            set.cluster[k] = (int)entry->cluster[k];
        *function = (acu_sim_function){module, entry, .set = set, .of_kernel = set};
        if (!acu_sim_set_add(&function_handles, function))
            return false;
    }
    return true;
}

static void leave_library(acu_sim_module *module) {
    acu_sim_module **at = &module->library->modules;
    while (*at && *at != module)
        at = &(*at)->next_of_library;
    if (*at)
        *at = module->next_of_library;
}

static void unload_module(acu_sim_module *module) {
    if (module->library)
        leave_library(module);
    for (size_t i = 0; i < module->image->entry_count; i++)
        acu_sim_set_remove(&function_handles, &module->functions[i]);
    for (size_t i = 0; i < module->image->variable_count; i++)
        if (!module->library || !module->image->variables[i].managed)
            acu_sim_memory_variable_free(module->variables[i]);
    acu_sim_set_remove(&module_handles, module);
    for (acu_sim_module **at = &modules; *at; at = &(*at)->next)
        if (*at == module) {
            *at = module->next;
            break;
        }
    module->loaded = false;
    acu_sim_module_release(module);
}

/* Takes a reference on the image. */
static cudaError_t new_module(acu_sim_image *image, acu_sim_context *context,
                              acu_sim_library *library, const void *where,
                              acu_sim_module **module) {
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
        make_functions(made))
        result = make_variables(made);
    if (result)
        unload_module(made);
    else
        *module = made;
    return result;
}

cudaError_t acu_sim_module_load(acu_sim_context *context, const void *code, size_t size,
                                const acu_sim_options *options, const void *where,
                                acu_sim_module **module) {
    acu_sim_image *image = NULL;
    cudaError_t result = acu_sim_image_load(code, size, options, &image);
    if (!result)
        result = new_module(image, context, NULL, where, module);
    acu_sim_image_release(image);
    return result;
}

void acu_sim_module_unload(acu_sim_module *module) {
    acu_sim_device *device = module->device;
    acu_sim_stream_wait_device(device);
    if (acu_sim_module_of(module)) /* the lock was given up */
        unload_module(module);
}

/* ---- libraries ---- */

/* All that was read of it. */
static void empty_library(acu_sim_library *library) {
    acu_sim_image *image = library->image;
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
    empty_library(library);
    acu_sim_set_remove(&library_handles, library);
    for (acu_sim_library **at = &libraries; *at; at = &(*at)->next)
        if (*at == library) {
            *at = library->next;
            break;
        }
    free(library);
}

static cudaError_t make_managed(acu_sim_library *library) {
    const acu_sim_image *image = library->image;
    for (size_t i = 0; i < image->variable_count; i++) {
        const acu_sim_variable *variable = &image->variables[i];
        if (!variable->managed || library->managed[i])
            continue;
        cudaError_t result = acu_sim_memory_variable_new(acu_sim_context_now(), variable->size,
                                                         true, &library->managed[i]);
        if (result)
            return result;
        if (variable->bytes && variable->size)
            memcpy(library->managed[i], variable->bytes, variable->size);
    }
    if (library->compiled)
        acu_sim_compiled_place(library);
    return cudaSuccess;
}

static cudaError_t make_kernels(acu_sim_library *library) {
    for (size_t i = 0; i < library->image->entry_count; i++) {
        library->kernels[i] = (acu_sim_kernel_handle){library, i, NULL};
        if (!acu_sim_set_add(&kernel_handles, &library->kernels[i]))
            return cudaErrorMemoryAllocation;
    }
    return cudaSuccess;
}

static acu_sim_image *empty_image(void) {
    acu_sim_image *image = calloc(1, sizeof *image);
    if (image)
        image->refs = 1;
    return image;
}

/* Libraries are loaded lazily: whether text or machine code can be read, and is for the device, is
 * told to whom first needs it. */
static cudaError_t load_lazily(const void *code, size_t size, const acu_sim_options *options,
                               acu_sim_image **image, cudaError_t *why) {
    cudaError_t result = acu_sim_image_load(code, size, options, image);
    *why = cudaSuccess;
    if (!result || result == cudaErrorInvalidValue || result == cudaErrorMemoryAllocation)
        return result;
    *why = result;
    return (*image = empty_image()) ? cudaSuccess : cudaErrorMemoryAllocation;
}

/* Takes the image, also where it fails. */
static cudaError_t fill_library(acu_sim_library *library, acu_sim_image *image, cudaError_t why) {
    library->image = image;
    library->why = why;
    library->kernels = calloc(at_least_one(image->entry_count), sizeof *library->kernels);
    library->managed = calloc(at_least_one(image->variable_count), sizeof *library->managed);
    return library->kernels && library->managed ? make_kernels(library) : cudaErrorMemoryAllocation;
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
    acu_sim_image *image = NULL;
    cudaError_t why, result = load_lazily(code, size, options, &image, &why);
    if (result)
        return result;
    acu_sim_library *made = new_library(where);
    if (!made) {
        acu_sim_image_release(image);
        return cudaErrorMemoryAllocation;
    }
    result = fill_library(made, image, why);
    if (!result)
        result = make_managed(made);
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

/* What is compiled into the program is read now; what was loaded, was. */
cudaError_t acu_sim_library_read(acu_sim_library *library) {
    const acu_sim_options none = {0};
    acu_sim_image *image = NULL;
    if (!library->compiled || library->read)
        return library->why;
    cudaError_t why = acu_sim_image_load(library->compiled, SIZE_MAX, &none, &image);
    if (why == cudaErrorMemoryAllocation || (!image && !(image = empty_image())))
        return cudaErrorMemoryAllocation;
    empty_library(library);
    cudaError_t result = fill_library(library, image, why);
    library->read = !result;
    return result ? result : why;
}

void acu_sim_library_unload(acu_sim_library *library) {
    acu_sim_stream_wait_device(NULL);
    if (acu_sim_library_of(library))
        unload_library(library);
}

/* Its functions are set as their kernels are in another context of the device. */
static void join_library(acu_sim_module *module, acu_sim_library *library) {
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
    cudaError_t result = acu_sim_library_read(library);
    *module = result ? NULL : library->modules;
    while (*module && (*module)->context != context)
        *module = (*module)->next_of_library;
    if (result || *module)
        return result;
    result = make_managed(library);
    if (!result)
        result = new_module(library->image, context, library, library->where, module);
    if (!result)
        join_library(*module, library);
    return result;
}

cudaError_t acu_sim_kernel_find(acu_sim_kernel_handle *kernel) {
    cudaError_t result = acu_sim_library_read(kernel->library);
    if (!result && kernel->index == SIZE_MAX) {
        int index = acu_sim_image_entry(kernel->library->image, kernel->name);
        result = index < 0 ? cudaErrorInvalidDeviceFunction : cudaSuccess;
        kernel->index = index < 0 ? SIZE_MAX : (size_t)index;
    }
    return result;
}

cudaError_t acu_sim_kernel_function(acu_sim_kernel_handle *kernel, acu_sim_context *context,
                                    acu_sim_function **function) {
    acu_sim_module *module;
    cudaError_t result = acu_sim_kernel_find(kernel);
    if (!result)
        result = acu_sim_library_module(kernel->library, context, &module);
    if (!result)
        *function = &module->functions[kernel->index];
    return result;
}

cudaError_t acu_sim_kernel_function_on(acu_sim_kernel_handle *kernel, acu_sim_device *device,
                                       acu_sim_function **function) {
    acu_sim_context *context = acu_sim_context_on(device);
    cudaError_t result = context->made ? cudaSuccess : acu_sim_device_activate(device);
    return result ? result : acu_sim_kernel_function(kernel, context, function);
}

acu_sim_entry *acu_sim_kernel_entry(const acu_sim_kernel_handle *kernel) {
    return &kernel->library->image->entries[kernel->index];
}

/* ---- handles ---- */

/* What has a handle may be changed through it, whatever it was given as. */
static void *known(const acu_sim_set *set, const void *handle) {
    return acu_sim_set_has(set, handle) ? (void *)(uintptr_t)handle : NULL;
}

acu_sim_module *acu_sim_module_of(const void *handle) {
    return known(&module_handles, handle);
}

acu_sim_library *acu_sim_library_of(const void *handle) {
    return known(&library_handles, handle);
}

acu_sim_kernel_handle *acu_sim_kernel_of(const void *handle) {
    return known(&kernel_handles, handle);
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
    return known(&function_handles, handle);
}

/* ---- taking back ---- */

/* Its managed variables are elsewhere, or nowhere. */
static void forget_device(acu_sim_library *library, const acu_sim_device *device) {
    for (size_t i = 0; library->image && i < library->image->variable_count; i++) {
        const acu_sim_range *range = acu_sim_range_of(library->managed[i]);
        if (range && range->device == device)
            library->managed[i] = NULL; /* the device's memory goes next */
    }
}

/* What is in the program stays; another device may take something else of it. */
static void reset_compiled(acu_sim_library *library) {
    if (library->read)
        empty_library(library);
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
    for (acu_sim_library *l = libraries; l; l = l->next) /* which stay */
        forget_device(l, device);
}

static void reset(void) {
    acu_sim_library *next;
    for (acu_sim_library *l = libraries; l; l = next) {
        next = l->next;
        if (l->compiled)
            reset_compiled(l);
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
