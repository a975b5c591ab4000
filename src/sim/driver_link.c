/*
 * The driver's linker, as far as it is used to compile PTX: what was added is put together, and is
 * what comes out; machine code and libraries are not linked.
 */
#include "driver.h"
#include "module.h"

#include <stdlib.h>
#include <string.h>

typedef struct linker {
    acu_sim_options options; /* the program keeps what they point at */
    char *text;              /* all that was added; NULL: nothing */
    size_t size;
    const void *where;
    struct linker *next;
} linker;

static linker *linkers;
static acu_sim_set handles;

static CUresult leave(cudaError_t result) {
    acu_sim_leave_driver();
    return acu_sim_as_result(result);
}

/* Enters, and finds the linker; `good` is that the other arguments are. */
static cudaError_t enter(CUlinkState handle, bool good, linker **found) {
    cudaError_t result = acu_sim_enter_driver(SIM_NEEDS_CONTEXT, NULL);
    linker *l = (linker *)(void *)handle;
    if (!result && !good)
        result = cudaErrorInvalidValue;
    if (!result && !acu_sim_set_has(&handles, l))
        result = cudaErrorInvalidResourceHandle;
    if (!result)
        *found = l;
    return result;
}

CUresult acu_sim_cuLinkCreate(unsigned int numOptions, CUjit_option *options, void **optionValues,
                              CUlinkState *stateOut) {
    linker *made = NULL;
    cudaError_t result = acu_sim_enter_driver(SIM_NEEDS_CONTEXT, NULL);
    const acu_sim_options asked = {
        .jit = (const int *)options, .jit_values = optionValues, .jit_count = numOptions};
    if (!result && (!stateOut || !acu_sim_are_options(&asked)))
        result = cudaErrorInvalidValue;
    if (!result && (!(made = calloc(1, sizeof *made)) || !acu_sim_set_add(&handles, made)))
        result = cudaErrorMemoryAllocation;
    if (result || !made) {
        free(made);
        return leave(result);
    }
    made->options = asked;
    made->where = SIM_CALLER;
    made->next = linkers;
    linkers = made;
    *stateOut = (CUlinkState)(void *)made;
    return leave(cudaSuccess);
}

static void destroy(linker *l) {
    for (linker **at = &linkers; *at; at = &(*at)->next)
        if (*at == l) {
            *at = l->next;
            break;
        }
    acu_sim_set_remove(&handles, l);
    free(l->text);
    free(l);
}

CUresult acu_sim_cuLinkDestroy(CUlinkState state) {
    linker *l;
    cudaError_t result = enter(state, true, &l);
    if (!result)
        destroy(l);
    return leave(result);
}

void acu_sim_linkers_reset(void) {
    while (linkers)
        destroy(linkers);
}

int acu_sim_linkers_leaks(int print) {
    int count = 0;
    for (const linker *l = linkers; l; l = l->next, count++)
        if (print)
            acu_sim_report("linker", l, 0, l->where);
    return count;
}

/* ---- adding -------------------------------------------------------------------------------------
 */

static cudaError_t check(const linker *l, const char *text) {
    acu_sim_image *image = NULL;
    cudaError_t result = acu_sim_image_load(text, SIZE_MAX, &l->options, &image);
    acu_sim_image_release(image);
    return result;
}

/* What a file begins with, and another one behind it must not. */
static bool is_head(const char *line) {
    line += strspn(line, " \t");
    return strncmp(line, ".version", 8) == 0 || strncmp(line, ".target", 7) == 0 ||
           strncmp(line, ".address_size", 13) == 0;
}

static cudaError_t append(linker *l, const char *text) {
    size_t length = strlen(text);
    char *grown = realloc(l->text, l->size + length + 2);
    if (!grown)
        return cudaErrorMemoryAllocation;
    l->text = grown;
    bool first = l->size == 0;
    for (const char *line = text, *end; *line; line = end) {
        end = line + strcspn(line, "\n");
        end += *end == '\n';
        if (!first && is_head(line))
            continue;
        memcpy(l->text + l->size, line, (size_t)(end - line));
        l->size += (size_t)(end - line);
    }
    l->text[l->size++] = '\n';
    l->text[l->size] = '\0';
    return cudaSuccess;
}

static cudaError_t add(linker *l, CUjitInputType type, const void *data, size_t size) {
    if (type != CU_JIT_INPUT_PTX)
        return acu_sim_driver_knows(&acu_cuda_type_CUjitInputType_enum, type)
                   ? cudaErrorNotSupported
                   : cudaErrorInvalidValue;
    char *text = calloc(1, size + 1);
    if (!text)
        return cudaErrorMemoryAllocation;
    memcpy(text, data, size);
    cudaError_t result = check(l, text);
    if (!result)
        result = append(l, text);
    free(text);
    return result;
}

static bool are_options(unsigned count, const CUjit_option *options, void **values) {
    return acu_sim_are_options(
        &(acu_sim_options){.jit = (const int *)options, .jit_values = values, .jit_count = count});
}

CUresult acu_sim_cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size,
                               const char *name, unsigned int numOptions, CUjit_option *options,
                               void **optionValues) {
    linker *l;
    bool good = data && size && size < SIZE_MAX && are_options(numOptions, options, optionValues);
    cudaError_t result = enter(state, good, &l);
    (void)name;
    return leave(result ? result : add(l, type, data, size));
}

CUresult acu_sim_cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path,
                               unsigned int numOptions, CUjit_option *options,
                               void **optionValues) {
    linker *l;
    char *data = NULL;
    size_t size = 0;
    cudaError_t result = enter(state, path && are_options(numOptions, options, optionValues), &l);
    if (!result)
        result = acu_sim_read_file(path, &data, &size);
    if (!result)
        result = add(l, type, data, size);
    free(data);
    return leave(result);
}

/* It is the linker's, and goes with it. */
CUresult acu_sim_cuLinkComplete(CUlinkState state, void **cubinOut, size_t *sizeOut) {
    linker *l;
    cudaError_t result = enter(state, cubinOut != NULL, &l);
    if (!result)
        result = l->text ? check(l, l->text) : cudaErrorInvalidValue;
    if (!result)
        *cubinOut = l->text;
    if (!result && sizeOut)
        *sizeOut = l->size + 1;
    return leave(result);
}
