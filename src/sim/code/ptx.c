/*
 * Reads PTX for an image: src/sim/ptx/ reads the text, and the image lists what the program asks
 * for by name: the kernels and the variables.
 */
#define _POSIX_C_SOURCE 200809L /* strdup */
#include "sim/code/image.h"

#include "sim/code/kernel_launch.h"
#include "sim/device/device.h"
#include "sim/ptx/parse.h"
#include "sim/ptx/text.h"
#include "sim/ptx/validate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- kernels ---- */

static size_t align_up(size_t value, size_t align) {
    return align ? (value + align - 1) / align * align : value;
}

/* A GPU's parameters begin here in a constant bank (compute capability 9.0), within which they are
 * aligned. */
enum { PARAMS_AT = 0x210 };

static bool read_params(acu_sim_entry *entry, const ptx_function *f) {
    size_t count = 0;
    for (const ptx_variable *v = f->params; v; v = v->next)
        count++;
    entry->params = calloc(count + 1, sizeof *entry->params);
    for (const ptx_variable *v = f->params; v && entry->params; v = v->next) {
        acu_sim_param *param = &entry->params[entry->param_count++];
        param->offset = align_up(PARAMS_AT + entry->param_bytes, v->align) - PARAMS_AT;
        param->place = align_up(entry->param_room, v->align);
        param->size = v->size;
        entry->param_bytes = param->offset + v->size;
        entry->param_room = param->place + v->size;
    }
    return entry->params != NULL;
}

static void add_bytes(size_t *sum, const ptx_variable *v) {
    *sum = align_up(*sum, v->align) + v->size;
}

/* Adds the shared variables that the function declares. */
static void add_own(acu_sim_entry *entry, const ptx_function *f) {
    for (const ptx_variable *v = f->variables; v; v = v->next)
        if (v->space == PTX_SHARED)
            add_bytes(&entry->shared, v);
}

static void add_called(void *entry, const ptx_reference *r) {
    if (r->function)
        add_own(entry, r->function);
}

/* Adds the shared variables that the kernel and what it may call name and declare, in the order in
 * which ptxas places them. */
static void add_shared(acu_sim_entry *entry, ptx_module *module, const ptx_function *f) {
    acu_sim_entry called = {.shared = 0};
    acu_ptx_module_reach(module, f, add_called, &called);
    for (const ptx_variable *v = module->variables; v; v = v->next)
        if (v->space == PTX_SHARED && v->size && v->mark == module->mark)
            add_bytes(&entry->shared, v);
    add_own(entry, f);
    entry->shared += called.shared;
}

/* What is dynamic follows what is static, aligned as the module declares it. A GPU aligns it in all
 * kernels, also in those that do not use it. */
static void align_dynamic(acu_sim_entry *entry, const ptx_module *module) {
    for (const ptx_variable *v = module->variables; v; v = v->next)
        if (v->space == PTX_SHARED && !v->size)
            entry->shared = align_up(entry->shared, v->align);
}

static bool read_entry(acu_sim_entry *entry, ptx_module *module, const ptx_function *f) {
    *entry = (acu_sim_entry){.name = strdup(f->name),
                             .max_registers = f->max_registers,
                             .min_blocks = f->min_blocks,
                             .max_cluster = f->max_cluster,
                             .explicit_cluster = f->explicit_cluster,
                             .blocks_are_clusters = f->blocks_are_clusters};
    memcpy(entry->max_threads, f->max_threads, sizeof entry->max_threads);
    memcpy(entry->threads, f->threads, sizeof entry->threads);
    memcpy(entry->cluster, f->cluster, sizeof entry->cluster);
    add_shared(entry, module, f);
    for (const ptx_variable *v = f->variables; v; v = v->next)
        if (v->space == PTX_LOCAL)
            add_bytes(&entry->local, v);
    align_dynamic(entry, module);
    return read_params(entry, f) && entry->name;
}

static bool read_entries(acu_sim_code_image *image, ptx_module *module) {
    size_t count = 0;
    for (const ptx_function *f = module->functions; f; f = f->next)
        count += f->is_entry && f->has_body;
    image->entries = calloc(count + 1, sizeof *image->entries);
    bool good = image->entries != NULL;
    for (const ptx_function *f = module->functions; f && good; f = f->next)
        if (f->is_entry && f->has_body)
            good = read_entry(&image->entries[image->entry_count++], module, f);
    return good;
}

/* ---- variables ---- */

/* Returns whether the program can ask for the variable. One that is extern and used is the text's
 * own, as ptxas warns, unless the text is linked with another one. */
static bool is_listed(const ptx_variable *v) {
    return !acu_ptx_is_reference(v) && (v->space == PTX_GLOBAL || v->space == PTX_CONST) &&
           (v->linkage != PTX_EXTERN || (v->used && v->size));
}

static bool read_variable(acu_sim_code_image *image, const ptx_variable *v) {
    acu_sim_variable *variable = &image->variables[image->variable_count++];
    *variable = (acu_sim_variable){.name = strdup(v->name),
                                   .size = v->size,
                                   .bytes = v->bytes ? malloc(v->size) : NULL,
                                   .constant = v->space == PTX_CONST,
                                   .managed = v->managed};
    image->constant_bytes += variable->constant ? v->size : 0;
    image->has_addresses |= v->relocation_count > 0;
    if (variable->bytes)
        memcpy(variable->bytes, v->bytes, v->size);
    return variable->name && !v->bytes == !variable->bytes;
}

static bool read_variables(acu_sim_code_image *image, const ptx_module *module) {
    size_t count = 0;
    for (const ptx_variable *v = module->variables; v; v = v->next)
        count += is_listed(v);
    image->variables = calloc(count + 1, sizeof *image->variables);
    bool good = image->variables != NULL;
    for (const ptx_variable *v = module->variables; v && good; v = v->next)
        if (is_listed(v))
            good = read_variable(image, v);
    return good;
}

static bool read_references(acu_sim_code_image *image, const ptx_module *module) {
    size_t count = 0;
    for (const ptx_variable *v = module->variables; v; v = v->next)
        count += acu_ptx_is_reference(v);
    image->references = calloc(count + 1, sizeof *image->references);
    bool good = image->references != NULL;
    for (const ptx_variable *v = module->variables; v && good; v = v->next)
        if (acu_ptx_is_reference(v)) {
            acu_sim_named_reference *r = &image->references[image->reference_count++];
            *r = (acu_sim_named_reference){strdup(v->name), v->type == PTX_SURFREF};
            good = r->name != NULL;
        }
    return good;
}

/* ---- the module ---- */

/* Returns the newest version of PTX that a CUDA version reads. PTX 7 came with CUDA 11, 8 with 12
 * and 9 with 13, at the same minor version. 12.6 had still 8.5. */
int acu_sim_ptx_newest(int version) {
    int major = version / 1000, minor = version % 1000 / 10;
    return 10 * (major - 4) + minor - (major == 12 && minor >= 6);
}

bool acu_sim_ptx_is_text(const char *text) {
    ptx_text t;
    acu_ptx_text_begin(&t, text, strlen(text));
    return acu_ptx_text_is(&t, ".version");
}

/* Keeps the text, which the linker copies. */
static bool keep_text(acu_sim_code_image *image, const char *text, size_t size) {
    image->text = malloc(size + 1);
    if (!image->text)
        return false;
    memcpy(image->text, text, size);
    image->text[size] = '\0';
    image->text_size = size;
    return true;
}

static cudaError_t error_of(ptx_result result) {
    static const cudaError_t errors[] = {
        [PTX_OK] = cudaSuccess,
        [PTX_NO_MEMORY] = cudaErrorMemoryAllocation,
        [PTX_INVALID] = cudaErrorInvalidPtx,
        [PTX_UNSUPPORTED] = cudaErrorUnsupportedPtxVersion,
        [PTX_NOT_SIMULATED] = cudaErrorNotSupported,
    };
    return errors[result];
}

cudaError_t acu_sim_ptx_read(const char *text, size_t size, int newest, acu_sim_code_image *image,
                             char *why, size_t room) {
    ptx_error error;
    const ptx_result result = acu_ptx_parse(text, size, newest, &image->ptx, &error);
    if (result) {
        snprintf(why, room, "%s", error.text);
        return error_of(result);
    }
    image->version = image->ptx->version;
    image->target = image->ptx->target;
    image->variant = image->ptx->variant;
    return read_entries(image, image->ptx) && read_variables(image, image->ptx) &&
                   read_references(image, image->ptx) && keep_text(image, text, size)
               ? cudaSuccess
               : cudaErrorMemoryAllocation;
}

/* ---- what is wrong ---- */

/* Returns a variable whose size another text has to say; NULL: there is none. */
static const ptx_variable *unresolved_variable(const ptx_module *module) {
    for (const ptx_variable *v = module->variables; v; v = v->next)
        if (v->linkage == PTX_EXTERN && !v->size && v->space != PTX_SHARED)
            return v;
    return NULL;
}

/* Says which memory the text has too much of; false if the driver takes it. The driver, other than
 * ptxas, gives a kernel as much static shared memory as the device has for one that asks. */
static bool has_too_much(const acu_sim_code_image *image, char *why, size_t room) {
    enum { MOST_CONSTANT = 64 << 10 };
    const size_t most_shared = (size_t)acu_sim_device_attribute(
        acu_sim_device_now(), cudaDevAttrMaxSharedMemoryPerBlockOptin);
    for (size_t i = 0; i < image->entry_count; i++) {
        const acu_sim_entry *entry = &image->entries[i];
        if (entry->shared <= most_shared)
            continue;
        snprintf(why, room,
                 "ptxas error   : Entry function '%s' uses too much shared data (0x%zx bytes, "
                 "0x%zx max)",
                 entry->name, entry->shared, most_shared);
        return true;
    }
    if (image->constant_bytes > MOST_CONSTANT)
        snprintf(why, room,
                 "ptxas error   : File uses too much global constant data (0x%zx bytes, 0x%x max)",
                 image->constant_bytes, MOST_CONSTANT);
    return image->constant_bytes > MOST_CONSTANT;
}

cudaError_t acu_sim_ptx_validate(const acu_sim_code_image *image, bool whole, char *why,
                                 size_t room) {
    ptx_error error = {.text = ""};
    const ptx_result result = acu_ptx_validate(image->ptx, &error);
    const ptx_function *function = whole ? acu_ptx_unresolved(image->ptx) : NULL;
    const ptx_variable *variable = whole ? unresolved_variable(image->ptx) : NULL;
    if (result)
        snprintf(why, room, "%s", error.text);
    else if (function || variable)
        snprintf(why, room, "ptxas fatal   : Unresolved extern %s '%s'",
                 function ? "function" : "variable", function ? function->name : variable->name);
    else if (!has_too_much(image, why, room))
        return cudaSuccess;
    return result ? error_of(result) : cudaErrorInvalidPtx;
}

cudaError_t acu_sim_ptx_executes(const acu_sim_code_image *image, char *why, size_t room) {
    for (const ptx_function *f = image->ptx->functions; f; f = f->next) {
        const char *left_out = f->is_entry && f->has_body ? acu_ptx_left_out(image->ptx, f) : NULL;
        if (!left_out || acu_sim_kernel_is_registered(f->name))
            continue;
        snprintf(why, room, "%s", left_out);
        acu_record_reason(
            "the simulator cannot execute the kernel \"%s\": %s; a C function can stand for it: "
            "acu_sim_register()",
            f->name, left_out);
        return cudaErrorNotSupported;
    }
    return cudaSuccess;
}
