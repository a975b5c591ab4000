/*
 * The simulated nvJitLink: it links PTX, and its machine code is the linked PTX. Codes and logs are
 * those of nvJitLink 13.0, which was asked.
 */
#include "sim/code/nvjitlink.h"

#include "nvjitlink_abi.h"
#include "sim/caller.h"
#include "sim/code/image.h"
#include "sim/code/link.h"
#include "sim/code/nvrtc.h"
#include "sim/code/source.h"
#include "sim/set.h"

#include <anycuda/nvjitlink.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct jit_link {
    acu_sim_link *link;
    acu_sim_text log;
    int architecture; /* 80 is sm_80; 0: the options were refused, and nothing is linked */
    bool virtual, lto, to_ptx;
    bool with_libraries; /* CUDA's device runtime is linked, too */
    bool complete;
    char *result; /* what was linked, which belongs to `link`; NULL: nothing yet */
    size_t size;  /* of it, with the zero */
    const void *where;
    struct jit_link *next;
} jit_link;

static jit_link *jit_links;
static acu_sim_set jit_handles;

static const char empty_file[] = ".version 7.0\n.target sm_52\n.address_size 64\n";

/* ---- linkers ---- */

static void free_jit_link(jit_link *l) {
    jit_link **at = &jit_links;
    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    acu_sim_set_remove(&jit_handles, l);
    acu_sim_link_free(l->link);
    free(l->log.bytes);
    free(l);
}

static void reset_jit_links(void) {
    while (jit_links)
        free_jit_link(jit_links);
}

static int count_jit_links(int print) {
    int count = 0;
    for (const jit_link *l = jit_links; l; l = l->next, count++)
        if (print)
            acu_sim_caller_report("nvJitLink linker", l, 0, l->where);
    return count;
}

const acu_sim_noun acu_sim_jit_link_noun = {.reset = reset_jit_links, .leaks = count_jit_links};

static void keep_jit_line(void *data, const char *line) {
    acu_sim_text_print(&((jit_link *)data)->log, "%s", line);
}

/* Returns a linker without options; NULL without memory. */
static jit_link *new_jit_link(void) {
    jit_link *l = calloc(1, sizeof *l);
    if (l)
        l->link = acu_sim_link_new(keep_jit_line, l);
    if (!l || !l->link || !acu_sim_set_add(&jit_handles, l)) {
        if (l)
            acu_sim_link_free(l->link);
        free(l);
        return NULL;
    }
    l->next = jit_links;
    jit_links = l;
    return l;
}

/* Takes the lock and finds the linker; `given`: the other arguments are not NULL. The caller gives
 * the lock back with leave_jit_link(), whatever this returns. */
static nvJitLinkResult enter_jit_link(nvJitLinkHandle handle, bool given, jit_link **found) {
    jit_link *l = (jit_link *)(void *)handle;
    pthread_mutex_lock(&acu_sim_lock);
    if (!l || !given)
        return NVJITLINK_ERROR_NULL_INPUT;
    if (!acu_sim_set_has(&jit_handles, l))
        return NVJITLINK_ERROR_INVALID_INPUT;
    *found = l;
    return NVJITLINK_SUCCESS;
}

static nvJitLinkResult leave_jit_link(nvJitLinkResult result) {
    pthread_mutex_unlock(&acu_sim_lock);
    return result;
}

/* ---- options ---- */

/* Returns the number behind -arch=sm_ or -arch=compute_; 0: there is none. */
static int read_jit_architecture(jit_link *l, const char *value) {
    const char *number = strchr(value, '_');
    l->virtual = strncmp(value, "compute_", 8) == 0;
    return number && (l->virtual || strncmp(value, "sm_", 3) == 0)
               ? (int)strtol(number + 1, NULL, 10)
               : 0;
}

static nvJitLinkResult check_jit_architecture(jit_link *l, int number) {
    static const char older[] =
        " 10 11 12 13 20 21 30 32 35 37 50 52 53 60 61 62 70 72 "; /* 13.0 makes no code for them */
    char text[16];
    snprintf(text, sizeof text, " %d ", number);
    if (acu_sim_nvrtc_knows(number)) {
        l->architecture = number;
        return NVJITLINK_SUCCESS;
    }
    const bool is_old = strstr(older, text) != NULL;
    acu_sim_text_print(&l->log, "ERROR NVJITLINK_ERROR_%s_ARCH: %s architecture (compute_%d)\n",
                       is_old ? "UNSUPPORTED" : "UNRECOGNIZED",
                       is_old ? "unsupported" : "unrecognized", number);
    return is_old ? NVJITLINK_ERROR_UNSUPPORTED_ARCH : NVJITLINK_ERROR_UNRECOGNIZED_ARCH;
}

static bool is_jit_option(const char *option) {
    static const char plain[] = " -lto -ptx -g -lineinfo -verbose -time -no-cache -O0 -O3 "
                                "-optimize-unused-variables ",
                      valued[] = " -maxrregcount= -ftz= -prec-div= -prec-sqrt= -fma= "
                                 "-kernels-used= -variables-used= -Xptxas= -split-compile= "
                                 "-split-compile-extended= -jump-table-density= ";
    char name[64];
    const char *value = strchr(option, '=');
    snprintf(name, sizeof name, " %.*s ", (int)(value ? value - option + 1 : 60), option);
    return strstr(value ? valued : plain, name) != NULL;
}

/* Reads one option; `number` becomes the architecture. */
static nvJitLinkResult read_jit_option(jit_link *l, const char *option, int *number) {
    static const char arch[] = "-arch=";
    if (strncmp(option, arch, strlen(arch)) == 0) {
        *number = read_jit_architecture(l, option + strlen(arch));
        if (*number)
            return NVJITLINK_SUCCESS;
        acu_sim_text_print(&l->log,
                           "ERROR NVJITLINK_ERROR_UNRECOGNIZED_OPTION: missing option value (%s)\n",
                           option);
    } else if (is_jit_option(option)) {
        l->lto |= strcmp(option, "-lto") == 0;
        l->to_ptx |= strcmp(option, "-ptx") == 0;
        return NVJITLINK_SUCCESS;
    } else if (strncmp(option, "-O", 2) == 0 && option[2]) {
        acu_sim_text_print(&l->log, "unsupported value of -O: %s. Only 0 and 3 are supported.\n",
                           option + 2);
    } else {
        acu_sim_text_print(&l->log, "unrecognized option: %s\n", option);
    }
    return NVJITLINK_ERROR_UNRECOGNIZED_OPTION;
}

static nvJitLinkResult read_jit_options(jit_link *l, uint32_t count, const char *const *options) {
    int number = 0;
    for (uint32_t i = 0; i < count; i++) {
        const nvJitLinkResult result =
            options[i] ? read_jit_option(l, options[i], &number) : NVJITLINK_ERROR_NULL_INPUT;
        if (result)
            return result;
    }
    if (!number)
        return NVJITLINK_ERROR_MISSING_ARCH;
    if (l->virtual && !l->to_ptx) {
        acu_sim_text_print(&l->log, "ERROR: virtual arch requires -ptx\n");
        return NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS;
    }
    if (l->to_ptx && !l->lto) {
        acu_sim_text_print(&l->log, "ERROR: -ptx requires -lto\n");
        return NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS;
    }
    return check_jit_architecture(l, number);
}

/* The handle is there, with a log, if the options are refused, too. */
static nvJitLinkResult create_jit_link(nvJitLinkHandle *handle, uint32_t numOptions,
                                       const char **options) {
    if (!handle || !options)
        return NVJITLINK_ERROR_NULL_INPUT;
    pthread_mutex_lock(&acu_sim_lock);
    jit_link *l = new_jit_link();
    if (!l)
        return leave_jit_link(NVJITLINK_ERROR_INTERNAL);
    l->where = __builtin_return_address(0);
    *handle = (nvJitLinkHandle)(void *)l;
    return leave_jit_link(read_jit_options(l, numOptions, options));
}

static nvJitLinkResult destroy_jit_link(nvJitLinkHandle *handle) {
    jit_link *l;
    const nvJitLinkResult result = enter_jit_link(handle ? *handle : NULL, true, &l);
    if (!result) {
        free_jit_link(l);
        *handle = NULL;
    }
    return leave_jit_link(result);
}

/* ---- inputs ---- */

static nvJitLinkResult refuse_jit_ptx(jit_link *l, const char *log, const char *name) {
    acu_sim_text_print(&l->log, "%sERROR NVJITLINK_ERROR_PTX_COMPILE: JIT the PTX (%s)\n", log,
                       name);
    return NVJITLINK_ERROR_PTX_COMPILE;
}

/* Adds what was read, and releases it. */
static nvJitLinkResult add_jit_image(jit_link *l, acu_sim_code_image *image, const char *name) {
    cudaError_t result = cudaErrorInvalidPtx;
    if (image->target <= l->architecture)
        result = acu_sim_link_add(l->link, image, name);
    else
        keep_jit_line(l,
                      "ptxas fatal   : SM version specified by .target is higher than default SM "
                      "version assumed\n");
    acu_sim_image_release(image);
    return result == cudaErrorInvalidPtx ? refuse_jit_ptx(l, "", name)
           : result                      ? NVJITLINK_ERROR_INTERNAL
                                         : NVJITLINK_SUCCESS;
}

static nvJitLinkResult add_jit_ptx(jit_link *l, const char *text, const char *name) {
    char log[600] = "";
    const int options[] = {cudaJitErrorLogBuffer, cudaJitErrorLogBufferSizeBytes};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    acu_sim_code_image *image;
    const cudaError_t result = acu_sim_image_load(
        text, SIZE_MAX,
        &(acu_sim_options){.jit = options, .jit_values = values, .jit_count = 2, .links = true},
        &image);
    if (result == cudaErrorNotSupported) /* an instruction that the simulator does not execute */
        keep_jit_line(l, log);
    return result == cudaErrorNotSupported ? NVJITLINK_ERROR_OUTDATED_LIBRARY
           : result                        ? refuse_jit_ptx(l, log, name)
                                           : add_jit_image(l, image, name);
}

static nvJitLinkResult refuse_jit_code(jit_link *l, const char *name) {
    acu_sim_text_print(
        &l->log,
        "the simulator links PTX, and the input '%s' has none: compile it to PTX, or let a "
        "library of NVIDIA's link it, which ANYCUDA_NVJITLINK=path chooses\n",
        name);
    return NVJITLINK_ERROR_OUTDATED_LIBRARY;
}

/* Adds the PTX of a fat binary. */
static nvJitLinkResult add_jit_fat(jit_link *l, const void *data, size_t size, const char *name) {
    acu_sim_code_image *image;
    char why[400] = "";
    const cudaError_t result = acu_sim_image_read_ptx(data, size, &image, why, sizeof why);
    if (result)
        return refuse_jit_ptx(l, why, name);
    return image ? add_jit_image(l, image, name) : refuse_jit_code(l, name);
}

/* What the bytes begin like. */
static nvJitLinkInputType type_of_input(const char *bytes, size_t size) {
    if (acu_sim_ptx_is_text(bytes))
        return NVJITLINK_INPUT_PTX;
    if (size >= 8 && memcmp(bytes, "!<arch>\n", 8) == 0)
        return NVJITLINK_INPUT_LIBRARY;
    if (!acu_sim_image_is_binary(bytes, size))
        return NVJITLINK_INPUT_NONE;
    return memcmp(bytes, "\177ELF", 4) == 0 ? NVJITLINK_INPUT_CUBIN : NVJITLINK_INPUT_FATBIN;
}

/* Returns whether an input that begins so may be of the type. What LTO IR begins with is not known.
 */
static bool suits_type(nvJitLinkInputType found, nvJitLinkInputType type) {
    if (type == NVJITLINK_INPUT_OBJECT || type == NVJITLINK_INPUT_LTOIR)
        return found == NVJITLINK_INPUT_CUBIN ||
               (type == NVJITLINK_INPUT_LTOIR && found == NVJITLINK_INPUT_NONE);
    return found == type;
}

/* Adds bytes behind which there is a zero. */
static nvJitLinkResult add_jit_bytes(jit_link *l, nvJitLinkInputType type, const char *bytes,
                                     size_t size, const char *name) {
    static const char *const types[] = {
        [NVJITLINK_INPUT_CUBIN] = "CUBIN",   [NVJITLINK_INPUT_PTX] = "PTX",
        [NVJITLINK_INPUT_LTOIR] = "LTOIR",   [NVJITLINK_INPUT_FATBIN] = "FATBIN",
        [NVJITLINK_INPUT_OBJECT] = "OBJECT", [NVJITLINK_INPUT_LIBRARY] = "LIBRARY",
        [NVJITLINK_INPUT_INDEX] = "INDEX"};
    const nvJitLinkInputType found = type_of_input(bytes, size);
    const bool any = type == NVJITLINK_INPUT_ANY;
    if (any && !found) {
        acu_sim_text_print(&l->log, "unrecognized input type: %s\n", name);
        return NVJITLINK_ERROR_UNRECOGNIZED_INPUT;
    }
    if (!any && (type == NVJITLINK_INPUT_NONE || (unsigned)type >= sizeof types / sizeof *types)) {
        acu_sim_text_print(&l->log, "unsupported input type: %s\n", name);
        return NVJITLINK_ERROR_INCORRECT_INPUT_TYPE;
    }
    if (!any && !suits_type(found, type)) {
        acu_sim_text_print(&l->log,
                           "ERROR 1: bad input: does not match type NVJITLINK_INPUT_%s%s\n",
                           types[type], name);
        return NVJITLINK_ERROR_INCORRECT_INPUT_TYPE;
    }
    if (found == NVJITLINK_INPUT_LIBRARY && acu_sim_link_is_device_runtime(bytes, size)) {
        l->with_libraries = true;
        return NVJITLINK_SUCCESS;
    }
    if (found == NVJITLINK_INPUT_PTX)
        return add_jit_ptx(l, bytes, name);
    return found == NVJITLINK_INPUT_FATBIN ? add_jit_fat(l, bytes, size, name)
                                           : refuse_jit_code(l, name);
}

static nvJitLinkResult add_jit_data(nvJitLinkHandle handle, nvJitLinkInputType type,
                                    const void *data, size_t size, const char *name) {
    jit_link *l;
    nvJitLinkResult result = enter_jit_link(handle, data != NULL, &l);
    if (!result && (l->complete || !l->architecture))
        result = NVJITLINK_ERROR_INTERNAL;
    if (!result && (!size || size == SIZE_MAX))
        result = NVJITLINK_ERROR_INVALID_INPUT;
    char *text = result ? NULL : calloc(1, size + 1);
    if (!result)
        result = text ? add_jit_bytes(l, type, memcpy(text, data, size), size, name ? name : "")
                      : NVJITLINK_ERROR_INTERNAL;
    free(text);
    return leave_jit_link(result);
}

static nvJitLinkResult add_jit_file(nvJitLinkHandle handle, nvJitLinkInputType type,
                                    const char *path) {
    jit_link *l;
    char *text = NULL;
    size_t size;
    nvJitLinkResult result = enter_jit_link(handle, path != NULL, &l);
    if (!result && acu_sim_image_read_file(path, &text, &size)) {
        acu_sim_text_print(&l->log, "no such file: %s\n", path);
        result = NVJITLINK_ERROR_INVALID_INPUT;
    }
    leave_jit_link(result);
    if (!result)
        result = add_jit_data(handle, type, text, size, path);
    free(text);
    return result;
}

/* ---- results ---- */

/* A linker that links LTO IR has got none. Without any input there is a file with nothing in it. */
static nvJitLinkResult link_inputs(jit_link *l) {
    if (l->complete || !l->architecture)
        return NVJITLINK_ERROR_INTERNAL;
    l->complete = true;
    if (l->lto) {
        keep_jit_line(l, "ERROR in nvvmCompileProgram: NVVM_ERROR_NO_MODULE_IN_PROGRAM\n");
        return NVJITLINK_ERROR_NVVM_COMPILE;
    }
    if (acu_sim_link_complete(l->link, l->with_libraries, &l->result, &l->size)) {
        keep_jit_line(l, "ERROR 9: finish\n");
        l->result = NULL;
        return NVJITLINK_ERROR_INTERNAL;
    }
    l->size++;
    if (!l->result) {
        l->result = (char *)(uintptr_t)empty_file;
        l->size = sizeof empty_file;
    }
    return NVJITLINK_SUCCESS;
}

static nvJitLinkResult complete_jit_link(nvJitLinkHandle handle) {
    jit_link *l;
    nvJitLinkResult result = enter_jit_link(handle, true, &l);
    if (!result)
        result = link_inputs(l);
    return leave_jit_link(result);
}

/* Gives the size of what was linked, and, unless `to` is NULL, the bytes. */
static nvJitLinkResult give_jit_result(nvJitLinkHandle handle, size_t *size, void *to) {
    jit_link *l;
    nvJitLinkResult result = enter_jit_link(handle, size || to, &l);
    if (!result && !l->result)
        result = NVJITLINK_ERROR_INTERNAL;
    if (!result && size)
        *size = l->size;
    if (!result && to)
        memcpy(to, l->result, l->size);
    return leave_jit_link(result);
}

static nvJitLinkResult jit_cubin_size(nvJitLinkHandle handle, size_t *size) {
    return give_jit_result(handle, size, NULL);
}

static nvJitLinkResult jit_cubin(nvJitLinkHandle handle, void *cubin) {
    return give_jit_result(handle, NULL, cubin);
}

/* PTX and LTO IR are results of LTO only, of which there is none. */
static nvJitLinkResult no_jit_result(nvJitLinkHandle handle, bool given) {
    jit_link *l;
    const nvJitLinkResult result = enter_jit_link(handle, given, &l);
    return leave_jit_link(result ? result : NVJITLINK_ERROR_INVALID_INPUT);
}

static nvJitLinkResult no_jit_size(nvJitLinkHandle handle, size_t *size) {
    return no_jit_result(handle, size != NULL);
}

static nvJitLinkResult no_jit_ptx(nvJitLinkHandle handle, char *ptx) {
    return no_jit_result(handle, ptx != NULL);
}

static nvJitLinkResult no_jit_ltoir(nvJitLinkHandle handle, void *ltoir) {
    return no_jit_result(handle, ltoir != NULL);
}

/* ---- logs ---- */

/* The size counts the zero at the end, but is 0 of an empty log. */
static nvJitLinkResult jit_log_size(nvJitLinkHandle handle, size_t *size) {
    jit_link *l;
    const nvJitLinkResult result = enter_jit_link(handle, size != NULL, &l);
    if (!result)
        *size = l->log.bytes ? l->log.length + 1 : 0;
    return leave_jit_link(result);
}

static nvJitLinkResult jit_log(nvJitLinkHandle handle, char *log) {
    jit_link *l;
    const nvJitLinkResult result = enter_jit_link(handle, log != NULL, &l);
    if (!result)
        memcpy(log, l->log.bytes ? l->log.bytes : "", l->log.length + 1);
    return leave_jit_link(result);
}

/* The linker tells nothing but errors. */
static nvJitLinkResult jit_info_size(nvJitLinkHandle handle, size_t *size) {
    jit_link *l;
    const nvJitLinkResult result = enter_jit_link(handle, size != NULL, &l);
    if (!result)
        *size = 0;
    return leave_jit_link(result);
}

static nvJitLinkResult jit_info(nvJitLinkHandle handle, char *log) {
    jit_link *l;
    const nvJitLinkResult result = enter_jit_link(handle, log != NULL, &l);
    if (!result)
        *log = '\0';
    return leave_jit_link(result);
}

static nvJitLinkResult jit_version(unsigned *major, unsigned *minor) {
    if (!major || !minor)
        return NVJITLINK_ERROR_NULL_INPUT;
    pthread_mutex_lock(&acu_sim_lock);
    const int runtime = acu_sim_configuration()->runtime;
    *major = (unsigned)runtime / 1000;
    *minor = (unsigned)runtime % 1000 / 10;
    return leave_jit_link(NVJITLINK_SUCCESS);
}

/* ---- symbols ---- */

/* A function must have the type that nvJitLink's header declares. */
#define JIT_FUNCTION(name, fn) {#name, _Generic((fn), __typeof__(acu_slot_##name): (acu_fn)(fn))}

acu_fn acu_sim_nvjitlink_symbol(const char *symbol) {
    static const struct {
        const char *name;
        acu_fn fn;
    } functions[] = {
        JIT_FUNCTION(nvJitLinkAddData, add_jit_data),
        JIT_FUNCTION(nvJitLinkAddFile, add_jit_file),
        JIT_FUNCTION(nvJitLinkComplete, complete_jit_link),
        JIT_FUNCTION(nvJitLinkCreate, create_jit_link),
        JIT_FUNCTION(nvJitLinkDestroy, destroy_jit_link),
        JIT_FUNCTION(nvJitLinkGetErrorLog, jit_log),
        JIT_FUNCTION(nvJitLinkGetErrorLogSize, jit_log_size),
        JIT_FUNCTION(nvJitLinkGetInfoLog, jit_info),
        JIT_FUNCTION(nvJitLinkGetInfoLogSize, jit_info_size),
        JIT_FUNCTION(nvJitLinkGetLinkedCubin, jit_cubin),
        JIT_FUNCTION(nvJitLinkGetLinkedCubinSize, jit_cubin_size),
        JIT_FUNCTION(nvJitLinkGetLinkedLTOIR, no_jit_ltoir),
        JIT_FUNCTION(nvJitLinkGetLinkedLTOIRSize, no_jit_size),
        JIT_FUNCTION(nvJitLinkGetLinkedPtx, no_jit_ptx),
        JIT_FUNCTION(nvJitLinkGetLinkedPtxSize, no_jit_size),
        JIT_FUNCTION(nvJitLinkVersion, jit_version),
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, symbol) == 0)
            return functions[i].fn;
    return NULL;
}
