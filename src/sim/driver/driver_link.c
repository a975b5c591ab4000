/*
 * The driver API's linker, as far as programs use it to compile PTX: its output is the text of all
 * inputs, one after the other. Machine code and libraries are not linked.
 */
#include "sim/behaviour.h"
#include "sim/caller.h"
#include "sim/code/image.h"
#include "sim/driver/driver.h"
#include "sim/set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct part {
    acu_sim_code_image *image;
    char name[128]; /* the program's name of it */
} part;

typedef struct linker {
    char *log;           /* the program's buffer; NULL: it wants no log */
    size_t room, logged; /* bytes of the buffer, and of the text in it */
    void **log_size;     /* the program's variable for the size of the log */
    char *text;          /* all inputs; NULL: none yet */
    size_t size;         /* bytes of the text */
    part *parts;
    size_t count;
    cudaError_t failed; /* a symbol was defined twice, so that there is no output any more */
    const void *where;  /* the call that created it */
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
static void append_log(linker *l, const char *text) {
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
    if (!made || !acu_sim_set_add(&handles, made)) {
        free(made);
        return cudaErrorMemoryAllocation;
    }
    keep_log(made, &asked);
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
    for (size_t i = 0; i < l->count; i++)
        acu_sim_image_release(l->parts[i].image);
    free(l->parts);
    free(l->text);
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

/* ---- symbols ---- */

static cudaError_t cannot_link(void) {
    return acu_sim_behaviour_linking_fails_unknown() ? cudaErrorUnknown : cudaErrorInvalidSource;
}

static void log_symbol(linker *l, const char *what, const char *name, const part *in) {
    char line[400];
    snprintf(line, sizeof line, "error   : %s '%.200s' in '%s'\n", what, name, in->name);
    append_log(l, line);
}

static const acu_sim_symbol *offer_of(const acu_sim_code_image *image, const char *name) {
    for (size_t i = 0; i < image->offer_count; i++)
        if (strcmp(image->offers[i].name, name) == 0)
            return &image->offers[i];
    return NULL;
}

/* Refuses a part that defines what another part defines already, unless one of the two is weak. */
static cudaError_t validate_offers(linker *l, const part *added) {
    cudaError_t result = cudaSuccess;
    for (size_t i = 0; i < added->image->offer_count; i++)
        for (size_t j = 0; j < l->count; j++) {
            const acu_sim_symbol *mine = &added->image->offers[i];
            const acu_sim_symbol *other = offer_of(l->parts[j].image, mine->name);
            if (!other || other->weak || mine->weak)
                continue;
            log_symbol(l, "Multiple definition of", mine->name, added);
            result = cannot_link();
        }
    return result;
}

/* Returns whether every device has that symbol. */
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

/* Refuses to link while a symbol that is used is undefined; one that is only declared may be. */
static cudaError_t validate_needs(linker *l) {
    cudaError_t result = cudaSuccess;
    for (size_t i = 0; i < l->count; i++)
        for (size_t j = 0; j < l->parts[i].image->need_count; j++) {
            const acu_sim_symbol *need = &l->parts[i].image->needs[j];
            if (!need->used || is_offered(l, need->name))
                continue;
            log_symbol(l, "Undefined reference to", need->name, &l->parts[i]);
            result = cannot_link();
        }
    return result;
}

/* ---- adding ---- */

/* Reads PTX, and logs why it cannot be read. */
static cudaError_t load(linker *l, const char *text, acu_sim_code_image **image) {
    char log[600] = "";
    const int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    cudaError_t result = acu_sim_image_load(
        text, SIZE_MAX, &(acu_sim_options){.jit = options, .jit_values = values, .jit_count = 2},
        image);
    append_log(l, log);
    return result;
}

/* Returns whether a line belongs to the head of a file, which the text must have only once. */
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

/* Lets the linker take the part over, unless this fails. */
static cudaError_t take(linker *l, const char *text, const part *added) {
    part *grown = realloc(l->parts, (l->count + 1) * sizeof *grown);
    if (!grown)
        return cudaErrorMemoryAllocation;
    l->parts = grown;
    cudaError_t result = validate_offers(l, added);
    if (result)
        return l->failed = result;
    SIM_TRY(append(l, text));
    grown[l->count++] = *added;
    return cudaSuccess;
}

static cudaError_t add_ptx(linker *l, const char *text, const char *name) {
    part added = {0};
    SIM_TRY(load(l, text, &added.image));
    snprintf(added.name, sizeof added.name, "%s", name ? name : "");
    cudaError_t result = take(l, text, &added);
    if (result)
        acu_sim_image_release(added.image);
    return result;
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

static cudaError_t complete(linker *l) {
    acu_sim_code_image *image = NULL;
    cudaError_t result = l->failed ? l->failed : validate_needs(l);
    if (!result && l->text)
        result = load(l, l->text, &image);
    acu_sim_image_release(image);
    return result;
}

/* The output belongs to the linker. Without any input it is a file with nothing in it. */
cudaError_t acu_sim_cuLinkComplete(CUlinkState state, void **cubinOut, size_t *sizeOut) {
    static char nothing[] = ".version 7.0\n.target sm_52\n.address_size 64\n";
    linker *l;
    SIM_TRY(find(state, cubinOut != NULL, &l));
    SIM_TRY(complete(l));
    *cubinOut = l->text ? l->text : nothing;
    if (sizeOut)
        *sizeOut = l->text ? l->size + 1 : sizeof nothing;
    return cudaSuccess;
}
