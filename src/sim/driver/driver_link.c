/*
 * The driver API's linker, as far as programs use it to compile PTX: its output is the linked text
 * of all inputs, which are PTX, or fat binaries with PTX. Machine code and libraries are not
 * linked.
 */
#include "sim/behaviour.h"
#include "sim/caller.h"
#include "sim/code/image.h"
#include "sim/code/link.h"
#include "sim/driver/driver.h"
#include "sim/set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct linker {
    char *log;           /* the program's buffer; NULL: it wants no log */
    size_t room, logged; /* bytes of the buffer, and of the text in it */
    void **log_size;     /* the program's variable for the size of the log */
    acu_sim_link *link;
    bool with_libraries; /* CUDA's device runtime is linked, too */
    const void *where;   /* the call that created it */
    struct linker *next;
} linker;

/* All linkers, and their handles; under the lock. */
static linker *linkers;
static acu_sim_set handles;

/* Finds a linker; `good`: the other arguments are valid, which the driver checks first. */
static cudaError_t find(CUlinkState handle, bool good, linker **found) {
    linker *l = (linker *)(void *)handle;
    if (!good)
        return cudaErrorInvalidValue;
    if (!acu_sim_set_has(&handles, l))
        return cudaErrorInvalidResourceHandle;
    *found = l;
    return cudaSuccess;
}

static void keep_log(linker *l, const acu_sim_options *options) {
    void **log = acu_sim_options_value(options, CU_JIT_ERROR_LOG_BUFFER);
    l->log_size = acu_sim_options_value(options, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
    l->log = log ? *log : NULL;
    l->room = l->log && l->log_size ? (size_t)(uintptr_t)*l->log_size : 0;
}

/* Appends to the log, as far as there is room. */
static void append_log(void *data, const char *text) {
    linker *l = data;
    if (l->room <= l->logged + 1)
        return;
    const int length = snprintf(l->log + l->logged, l->room - l->logged, "%s", text);
    l->logged += (size_t)length;
    if (l->logged >= l->room)
        l->logged = l->room - 1;
    *l->log_size = (void *)(uintptr_t)l->logged;
}

cudaError_t acu_sim_cuLinkCreate(unsigned int numOptions, CUjit_option *options,
                                 void **optionValues, CUlinkState *stateOut) {
    const acu_sim_options asked = {
        .jit = (const int *)options, .jit_values = optionValues, .jit_count = numOptions};
    if (!stateOut || !acu_sim_options_are_known(&asked))
        return cudaErrorInvalidValue;
    linker *made = calloc(1, sizeof *made);
    if (made)
        made->link = acu_sim_link_new(append_log, made);
    if (!made || !made->link || !acu_sim_set_add(&handles, made)) {
        if (made)
            acu_sim_link_free(made->link);
        free(made);
        return cudaErrorMemoryAllocation;
    }
    keep_log(made, &asked);
    acu_sim_link_limit_registers(made->link, acu_sim_options_registers(&asked));
    made->where = SIM_CALLER;
    made->next = linkers;
    linkers = made;
    *stateOut = (CUlinkState)(void *)made;
    return cudaSuccess;
}

static void destroy(linker *l) {
    for (linker **at = &linkers; *at; at = &(*at)->next)
        if (*at == l) {
            *at = l->next;
            break;
        }
    acu_sim_set_remove(&handles, l);
    acu_sim_link_free(l->link);
    free(l);
}

cudaError_t acu_sim_cuLinkDestroy(CUlinkState state) {
    linker *l;
    SIM_TRY(find(state, true, &l));
    destroy(l);
    return cudaSuccess;
}

static void reset(void) {
    while (linkers)
        destroy(linkers);
}

static int leaks(int print) {
    int count = 0;
    for (const linker *l = linkers; l; l = l->next, count++)
        if (print)
            acu_sim_caller_report("linker", l, 0, l->where);
    return count;
}

const acu_sim_noun acu_sim_linker_noun = {.reset = reset, .leaks = leaks};

/* ---- adding ---- */

/* What does not fit together is another error with newer runtimes. */
static cudaError_t error_of(cudaError_t result) {
    return result == cudaErrorInvalidSource && acu_sim_behaviour_linking_fails_unknown()
               ? cudaErrorUnknown
               : result;
}

/* Reads PTX, and logs why it cannot be read. */
static cudaError_t load(linker *l, const char *text, acu_sim_code_image **image) {
    char log[600] = "";
    const int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    cudaError_t result = acu_sim_image_load(
        text, SIZE_MAX,
        &(acu_sim_options){.jit = options, .jit_values = values, .jit_count = 2, .links = true},
        image);
    append_log(l, log);
    return result;
}

/* Adds the image, and releases it. */
static cudaError_t add_image(linker *l, acu_sim_code_image *image, const char *name) {
    cudaError_t result = error_of(acu_sim_link_add(l->link, image, name ? name : ""));
    acu_sim_image_release(image);
    return result;
}

static cudaError_t add_ptx(linker *l, const char *text, const char *name) {
    acu_sim_code_image *image;
    SIM_TRY(load(l, text, &image));
    return add_image(l, image, name);
}

/* Adds the PTX of a fat binary. */
static cudaError_t add_fat_binary(linker *l, const void *data, size_t size, const char *name) {
    acu_sim_code_image *image;
    char why[400] = "";
    cudaError_t result = acu_sim_image_read_ptx(data, size, &image, why, sizeof why);
    append_log(l, why);
    if (result)
        return result;
    return image ? add_image(l, image, name) : cudaErrorNotSupported;
}

/* Returns whether the data is not of its type at all; if it is, the error is that the type is not
 * simulated. */
static bool is_garbage(CUjitInputType type, const void *data, size_t size) {
    return (type == CU_JIT_INPUT_CUBIN || type == CU_JIT_INPUT_FATBINARY ||
            type == CU_JIT_INPUT_OBJECT || type == CU_JIT_INPUT_LIBRARY) &&
           !acu_sim_image_is_binary(data, size) && (size < 8 || memcmp(data, "!<arch>\n", 8) != 0);
}

static cudaError_t add(linker *l, CUjitInputType type, const void *data, size_t size,
                       const char *name) {
    if (type == CU_JIT_INPUT_FATBINARY && !is_garbage(type, data, size))
        return add_fat_binary(l, data, size, name);
    if (type == CU_JIT_INPUT_LIBRARY && acu_sim_link_is_device_runtime(data, size)) {
        l->with_libraries = true;
        return cudaSuccess;
    }
    if (type != CU_JIT_INPUT_PTX)
        return !acu_sim_driver_knows(&acu_cuda_type_CUjitInputType_enum, type)
                   ? cudaErrorInvalidValue
               : is_garbage(type, data, size) ? cudaErrorInvalidKernelImage
                                              : cudaErrorNotSupported;
    char *text = calloc(1, size + 1);
    if (!text)
        return cudaErrorMemoryAllocation;
    memcpy(text, data, size);
    cudaError_t result = add_ptx(l, text, name);
    free(text);
    return result;
}

static bool are_options(unsigned count, const CUjit_option *options, void **values) {
    return acu_sim_options_are_known(
        &(acu_sim_options){.jit = (const int *)options, .jit_values = values, .jit_count = count});
}

cudaError_t acu_sim_cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size,
                                  const char *name, unsigned int numOptions, CUjit_option *options,
                                  void **optionValues) {
    linker *l;
    bool good = data && size && size < SIZE_MAX && are_options(numOptions, options, optionValues);
    SIM_TRY(find(state, good, &l));
    return add(l, type, data, size, name);
}

cudaError_t acu_sim_cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path,
                                  unsigned int numOptions, CUjit_option *options,
                                  void **optionValues) {
    linker *l;
    char *data = NULL;
    size_t size = 0;
    SIM_TRY(find(state, path && are_options(numOptions, options, optionValues), &l));
    SIM_TRY(acu_sim_image_read_file(path, &data, &size));
    cudaError_t result = add(l, type, data, size, path);
    free(data);
    return result;
}

/* Links, and reads what comes out. */
static cudaError_t complete(linker *l, char **text, size_t *size) {
    acu_sim_code_image *image = NULL;
    SIM_TRY(error_of(acu_sim_link_complete(l->link, l->with_libraries, text, size)));
    cudaError_t result = *text ? load(l, *text, &image) : cudaSuccess;
    acu_sim_image_release(image);
    return result;
}

/* The output belongs to the linker. Without any input it is a file with nothing in it. */
cudaError_t acu_sim_cuLinkComplete(CUlinkState state, void **cubinOut, size_t *sizeOut) {
    static char nothing[] = ".version 7.0\n.target sm_52\n.address_size 64\n";
    linker *l;
    char *text;
    size_t size;
    SIM_TRY(find(state, cubinOut != NULL, &l));
    SIM_TRY(complete(l, &text, &size));
    *cubinOut = text ? text : nothing;
    if (sizeOut)
        *sizeOut = text ? size + 1 : sizeof nothing;
    return cudaSuccess;
}
