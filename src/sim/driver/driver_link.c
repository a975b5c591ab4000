/*
 * The driver's linker, as far as it is used to compile PTX: what was added is put together, and is
 * what comes out; machine code and libraries are not linked.
 */
#include "sim/caller.h"
#include "sim/code/image.h"
#include "sim/driver/driver.h"
#include "sim/set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct part {
    acu_sim_image *image;
    char name[128]; /* as the program calls it */
} part;

typedef struct linker {
    char *log; /* the program keeps it; NULL: it wants none */
    size_t room, logged;
    void **told; /* where the log's size is told */
    char *text;  /* all that was added; NULL: nothing */
    size_t size;
    part *parts;
    size_t count;
    cudaError_t failed; /* something was there twice: nothing comes out any more */
    const void *where;
    struct linker *next;
} linker;

static linker *linkers;
static acu_sim_set handles;

static CUresult leave(cudaError_t result) {
    acu_sim_leave_driver();
    return acu_sim_driver_result(result);
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

static void keep_log(linker *l, const acu_sim_options *options) {
    void **log = acu_sim_options_value(options, CU_JIT_ERROR_LOG_BUFFER);
    l->told = acu_sim_options_value(options, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
    l->log = log ? *log : NULL;
    l->room = l->log && l->told ? (size_t)(uintptr_t)*l->told : 0;
}

/* One text behind the other, as far as there is room. */
static void say(linker *l, const char *text) {
    if (l->room <= l->logged + 1)
        return;
    const int length = snprintf(l->log + l->logged, l->room - l->logged, "%s", text);
    l->logged += (size_t)length;
    if (l->logged >= l->room)
        l->logged = l->room - 1;
    *l->told = (void *)(uintptr_t)l->logged;
}

CUresult acu_sim_cuLinkCreate(unsigned int numOptions, CUjit_option *options, void **optionValues,
                              CUlinkState *stateOut) {
    linker *made = NULL;
    cudaError_t result = acu_sim_enter_driver(SIM_NEEDS_CONTEXT, NULL);
    const acu_sim_options asked = {
        .jit = (const int *)options, .jit_values = optionValues, .jit_count = numOptions};
    if (!result && (!stateOut || !acu_sim_options_are_known(&asked)))
        result = cudaErrorInvalidValue;
    if (!result && (!(made = calloc(1, sizeof *made)) || !acu_sim_set_add(&handles, made)))
        result = cudaErrorMemoryAllocation;
    if (result || !made) {
        free(made);
        return leave(result);
    }
    keep_log(made, &asked);
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
    for (size_t i = 0; i < l->count; i++)
        acu_sim_image_release(l->parts[i].image);
    free(l->parts);
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
            acu_sim_caller_report("linker", l, 0, l->where);
    return count;
}

/* ---- symbols ------------------------------------------------------------------------------------
 */

/* What GPUs said, with the runtimes of these versions. */
static cudaError_t cannot_link(void) {
    return acu_sim_configuration()->runtime >= 12080 ? cudaErrorUnknown : cudaErrorInvalidSource;
}

static void say_symbol(linker *l, const char *what, const char *name, const part *in) {
    char line[400];
    snprintf(line, sizeof line, "error   : %s '%.200s' in '%s'\n", what, name, in->name);
    say(l, line);
}

static const acu_sim_symbol *offer_of(const acu_sim_image *image, const char *name) {
    for (size_t i = 0; i < image->offer_count; i++)
        if (strcmp(image->offers[i].name, name) == 0)
            return &image->offers[i];
    return NULL;
}

/* None that the part defines is there already, unless one may be there twice. */
static cudaError_t judge_offers(linker *l, const part *added) {
    cudaError_t result = cudaSuccess;
    for (size_t i = 0; i < added->image->offer_count; i++)
        for (size_t j = 0; j < l->count; j++) {
            const acu_sim_symbol *mine = &added->image->offers[i];
            const acu_sim_symbol *other = offer_of(l->parts[j].image, mine->name);
            if (!other || other->weak || mine->weak)
                continue;
            say_symbol(l, "Multiple definition of", mine->name, added);
            result = cannot_link();
        }
    return result;
}

/* Every device has these. */
static bool is_built_in(const char *name) {
    static const char *const names[] = {"vprintf", "malloc", "free", "__assertfail"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return strncmp(name, "__cuda_syscall", 14) == 0;
}

static bool is_offered(const linker *l, const char *name) {
    bool found = is_built_in(name);
    for (size_t i = 0; i < l->count && !found; i++)
        found = offer_of(l->parts[i].image, name) != NULL;
    return found;
}

/* What is only declared, and that nobody uses, may be missing. */
static cudaError_t judge_needs(linker *l) {
    cudaError_t result = cudaSuccess;
    for (size_t i = 0; i < l->count; i++)
        for (size_t j = 0; j < l->parts[i].image->need_count; j++) {
            const acu_sim_symbol *need = &l->parts[i].image->needs[j];
            if (!need->used || is_offered(l, need->name))
                continue;
            say_symbol(l, "Undefined reference to", need->name, &l->parts[i]);
            result = cannot_link();
        }
    return result;
}

/* ---- adding -------------------------------------------------------------------------------------
 */

/* Reads it, and logs why it cannot be read. */
static cudaError_t load(linker *l, const char *text, acu_sim_image **image) {
    char log[600] = "";
    const int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    cudaError_t result = acu_sim_image_load(
        text, SIZE_MAX, &(acu_sim_options){.jit = options, .jit_values = values, .jit_count = 2},
        image);
    say(l, log);
    return result;
}

/* What a file begins with, and another one behind it must not. */
static bool is_head(const char *line) {
    line += strspn(line, " \t");
    return strncmp(line, ".version", 8) == 0 || strncmp(line, ".target", 7) == 0 ||
           strncmp(line, ".address_size", 13) == 0;
}

static cudaError_t append(linker *l, const char *text) {
    const size_t length = strlen(text), begin = strlen(SIM_LINKED);
    char *grown = realloc(l->text, l->size + begin + length + 2);
    if (!grown)
        return cudaErrorMemoryAllocation;
    l->text = grown;
    const bool first = l->size == 0;
    if (first)
        memcpy(l->text, SIM_LINKED, l->size = begin);
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

static cudaError_t take(linker *l, const char *text, const part *added) {
    part *grown = realloc(l->parts, (l->count + 1) * sizeof *grown);
    if (!grown)
        return cudaErrorMemoryAllocation;
    l->parts = grown;
    cudaError_t result = judge_offers(l, added);
    if (result)
        return l->failed = result;
    result = append(l, text);
    if (!result)
        grown[l->count++] = *added;
    return result;
}

static cudaError_t add_ptx(linker *l, const char *text, const char *name) {
    part added = {0};
    cudaError_t result = load(l, text, &added.image);
    if (result)
        return result;
    snprintf(added.name, sizeof added.name, "%s", name ? name : "");
    result = take(l, text, &added);
    if (result)
        acu_sim_image_release(added.image);
    return result;
}

/* What is none of these is told from what is not played. */
static bool is_garbage(CUjitInputType type, const void *data, size_t size) {
    return (type == CU_JIT_INPUT_CUBIN || type == CU_JIT_INPUT_FATBINARY ||
            type == CU_JIT_INPUT_OBJECT || type == CU_JIT_INPUT_LIBRARY) &&
           !acu_sim_image_is_binary(data, size) && (size < 8 || memcmp(data, "!<arch>\n", 8) != 0);
}

static cudaError_t add(linker *l, CUjitInputType type, const void *data, size_t size,
                       const char *name) {
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

CUresult acu_sim_cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size,
                               const char *name, unsigned int numOptions, CUjit_option *options,
                               void **optionValues) {
    linker *l;
    bool good = data && size && size < SIZE_MAX && are_options(numOptions, options, optionValues);
    cudaError_t result = enter(state, good, &l);
    return leave(result ? result : add(l, type, data, size, name));
}

CUresult acu_sim_cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path,
                               unsigned int numOptions, CUjit_option *options,
                               void **optionValues) {
    linker *l;
    char *data = NULL;
    size_t size = 0;
    cudaError_t result = enter(state, path && are_options(numOptions, options, optionValues), &l);
    if (!result)
        result = acu_sim_module_read_file(path, &data, &size);
    if (!result)
        result = add(l, type, data, size, path);
    free(data);
    return leave(result);
}

static cudaError_t complete(linker *l) {
    acu_sim_image *image = NULL;
    cudaError_t result = l->failed ? l->failed : judge_needs(l);
    if (!result && l->text)
        result = load(l, l->text, &image);
    acu_sim_image_release(image);
    return result;
}

/* It is the linker's, and goes with it. Of nothing nothing is made. */
CUresult acu_sim_cuLinkComplete(CUlinkState state, void **cubinOut, size_t *sizeOut) {
    static char nothing[] = ".version 7.0\n.target sm_52\n.address_size 64\n";
    linker *l;
    cudaError_t result = enter(state, cubinOut != NULL, &l);
    if (!result)
        result = complete(l);
    if (!result)
        *cubinOut = l->text ? l->text : nothing;
    if (!result && sizeOut)
        *sizeOut = l->text ? l->size + 1 : sizeof nothing;
    return leave(result);
}
