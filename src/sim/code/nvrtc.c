/* The simulated NVRTC: its functions and options. source.c compiles. */
#include "sim/code/nvrtc.h"

#include "core/values.h"
#include "nvrtc_abi.h"
#include "sim/caller.h"
#include "sim/code/image.h"
#include "sim/code/source.h"
#include "sim/set.h"

#include <anycuda/nvrtc.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct program {
    char *source, *name;
    char **expressions; /* the name expressions that were added */
    size_t expression_count;
    int version;   /* of the PTX: 80 is 8.0 */
    bool compiled; /* with valid options, perhaps with errors in the source */
    bool good;     /* compiled without errors */
    bool real;     /* the architecture is a real one (sm_90), not a virtual one (compute_90) */
    acu_sim_text ptx, log;
    acu_sim_code_image image; /* of the PTX, to look up names */
    const void *where;        /* where the program created it */
    struct program *next;
} program;

static program *programs;
static acu_sim_set handles;

/* ---- programs ---- */

static program *program_of(nvrtcProgram handle) {
    program *p = (program *)(void *)handle;
    return acu_sim_set_has(&handles, p) ? p : NULL;
}

static char *copy_text(const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);
    return copy ? memcpy(copy, text, size) : NULL;
}

static void clear_result(program *p) {
    free(p->ptx.bytes);
    free(p->log.bytes);
    p->ptx = p->log = (acu_sim_text){0};
    acu_sim_image_clear(&p->image);
}

static void free_program(program *p) {
    for (program **at = &programs; *at; at = &(*at)->next)
        if (*at == p) {
            *at = p->next;
            break;
        }
    acu_sim_set_remove(&handles, p);
    clear_result(p);
    for (size_t i = 0; i < p->expression_count; i++)
        free(p->expressions[i]);
    free(p->expressions);
    free(p->source);
    free(p->name);
    free(p);
}

static void reset(void) {
    while (programs)
        free_program(programs);
}

static int leaks(int print) {
    int count = 0;
    for (const program *p = programs; p; p = p->next, count++)
        if (print)
            acu_sim_caller_report("NVRTC program", p, 0, p->where);
    return count;
}

const acu_sim_noun acu_sim_program_noun = {.reset = reset, .leaks = leaks};

/* NVRTC needs neither a driver nor a device, so its functions only take the lock. Headers are
 * ignored. */
static nvrtcResult create(nvrtcProgram *prog, const char *src, const char *name, int numHeaders,
                          const char *const *headers, const char *const *includeNames) {
    if (!prog || !src || numHeaders < 0 || (numHeaders && (!headers || !includeNames)))
        return NVRTC_ERROR_INVALID_INPUT;
    program *p = calloc(1, sizeof *p);
    if (!p)
        return NVRTC_ERROR_OUT_OF_MEMORY;
    p->where = __builtin_return_address(0);
    p->source = copy_text(src);
    p->name = copy_text(name && *name ? name : "default_program");
    pthread_mutex_lock(&acu_sim_lock);
    bool good = p->source && p->name && acu_sim_set_add(&handles, p);
    p->next = programs;
    programs = p;
    if (!good)
        free_program(p);
    pthread_mutex_unlock(&acu_sim_lock);
    if (good)
        *prog = (nvrtcProgram)(void *)p;
    return good ? NVRTC_SUCCESS : NVRTC_ERROR_OUT_OF_MEMORY;
}

/* Takes the lock and finds the program. `valid`: the other arguments are valid. Callers release the
 * lock with leave(), whatever this returns. */
static nvrtcResult enter(nvrtcProgram handle, bool valid, program **p) {
    pthread_mutex_lock(&acu_sim_lock);
    *p = program_of(handle);
    return !*p ? NVRTC_ERROR_INVALID_PROGRAM : valid ? NVRTC_SUCCESS : NVRTC_ERROR_INVALID_INPUT;
}

static nvrtcResult leave(nvrtcResult result) {
    pthread_mutex_unlock(&acu_sim_lock);
    return result;
}

static nvrtcResult destroy(nvrtcProgram *prog) {
    program *p;
    nvrtcResult result = enter(prog ? *prog : NULL, true, &p);
    if (!result) {
        free_program(p);
        *prog = NULL;
    }
    return leave(result);
}

/* ---- compiling ---- */

static const int architectures[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};
enum { ARCHITECTURES = sizeof architectures / sizeof *architectures };

bool acu_sim_nvrtc_knows(int architecture) {
    for (int i = 0; i < ARCHITECTURES; i++)
        if (architectures[i] == architecture)
            return true;
    return false;
}

/* Returns the number of an architecture such as compute_90 or sm_90a; 0 if NVRTC has no such one.
 */
static int read_architecture(program *p, const char *text, char *variant) {
    static const char virtual_[] = "compute_";
    p->real = strncmp(text, "sm_", 3) == 0;
    if (!p->real && strncmp(text, virtual_, strlen(virtual_)) != 0)
        return 0;
    char *end;
    long number = strtol(text + (p->real ? 3 : strlen(virtual_)), &end, 10);
    if (*end && strcmp(end, "a") != 0 && strcmp(end, "f") != 0)
        return 0;
    *variant = *end;
    return acu_sim_nvrtc_knows((int)number) ? (int)number : 0;
}

/* Returns the value of option `*i` if that is --gpu-architecture=X, -arch=X, or either without "=X"
 * before an option X, which `*i` then counts, too; NULL if it is another option. */
static const char *architecture_option(const char *const *options, int count, int *i) {
    static const char *const names[] = {"--gpu-architecture", "-arch"};
    for (int k = 0; k < 2; k++) {
        size_t length = strlen(names[k]);
        if (strncmp(options[*i], names[k], length) != 0)
            continue;
        if (options[*i][length] == '=')
            return options[*i] + length + 1;
        if (options[*i][length] == '\0')
            return *i + 1 < count && options[*i + 1] ? options[++*i] : "";
    }
    return NULL;
}

/* The options that NVRTC 13.0 accepts, long or short, after one dash or two. */
static const char option_names[] =
    " gpu-architecture arch device-c dc device-w dw relocatable-device-code rdc "
    "extensible-whole-program ewp device-debug G generate-line-info lineinfo dopt "
    "Ofast-compile Ofc ptxas-options Xptxas maxrregcount ftz prec-sqrt prec-div fmad "
    "use_fast_math extra-device-vectorization modify-stack-limit dlink-time-opt dlto "
    "gen-opt-lto optix-ir jump-table-density jtd device-stack-protector define-macro D "
    "undefine-macro U include-path I pre-include include no-source-include std "
    "builtin-move-forward builtin-initializer-list disable-warnings w Wreorder "
    "warning-as-error Werror restrict device-as-default-execution-space default-device "
    "device-int128 device-float128 fdevice-syntax-only optimization-info opt-info "
    "display-error-number err-no no-display-error-number no-err-no diag-error diag-suppress "
    "diag-warn brief-diagnostics brief-diag time split-compile minimal version-ident "
    "create-pch use-pch pch pch-dir pch-messages pch-verbose instantiate-templates-in-pch "
    "fdevice-time-trace frandom-seed no-cache ";

/* Returns whether NVRTC knows the option. The values of -D, -U and -I may follow the letter without
 * a space. */
static bool is_option(const char *text) {
    char name[64];
    const int dashes = text[1] == '-' ? 2 : 1;
    snprintf(name, sizeof name, " %.*s ", (int)strcspn(text + dashes, "="), text + dashes);
    return (text[1] && strchr("DUI", text[1])) || (text[dashes] && strstr(option_names, name));
}

/* Returns whether the option has one of the names, after one dash or two; `value`: what is behind
 * it from "=" on. */
static bool is_one_of(const char *option, const char *name, const char *other, const char **value) {
    const char *text = option + strspn(option, "-");
    const size_t length = strcspn(text, "=");
    *value = text + length;
    return option[0] == '-' && ((strlen(name) == length && strncmp(text, name, length) == 0) ||
                                (strlen(other) == length && strncmp(text, other, length) == 0));
}

/* Refuses options that ask for what the simulator does not make, in place of PTX: NVRTC returns
 * no PTX with them. */
static nvrtcResult refuse_forms(program *p, int count, const char *const *options) {
    const char *lto = NULL, *optix = NULL, *value;
    for (int i = 0; options && i < count; i++)
        if (is_one_of(options[i], "dlto", "dlink-time-opt", &value))
            lto = value;
        else if (is_one_of(options[i], "optix-ir", "optix-ir", &value))
            optix = value;
    if (lto && *lto)
        acu_sim_text_print(&p->log, "nvrtc: error: --dlink-time-opt (-dlto) does not accept any "
                                    "argument\n");
    else if (lto && optix)
        acu_sim_text_print(&p->log, "nvrtc: error: -dlto is not compatible with -optix-ir\n");
    if (p->log.length)
        return NVRTC_ERROR_INVALID_OPTION;
    if (!lto && !optix)
        return NVRTC_SUCCESS;
    acu_sim_text_print(&p->log, "%s: error: the simulator makes no %s: compile without %s\n",
                       p->name, lto ? "LTO IR" : "OptiX IR",
                       lto ? "--dlink-time-opt (-dlto)" : "--optix-ir");
    return NVRTC_ERROR_COMPILATION;
}

/* Reads the architecture. Other options that NVRTC knows are ignored, because they do not change
 * what the source declares. */
static nvrtcResult read_options(program *p, int count, const char *const *options, int *target,
                                char *variant) {
    *target = architectures[0];
    *variant = '\0';
    for (int i = 0; options && i < count; i++) {
        const bool is_value = i > 0 && options[i] && options[i][0] != '-' &&
                              options[i - 1][0] == '-' && !strchr(options[i - 1], '=');
        if (!options[i] || !(is_value || (options[i][0] == '-' && is_option(options[i])))) {
            acu_sim_text_print(&p->log, "nvrtc: error: unrecognized option %s found\n",
                               options[i] ? options[i] : "NULL");
            return NVRTC_ERROR_INVALID_OPTION;
        }
        const char *value = architecture_option(options, count, &i);
        if (value && !(*target = read_architecture(p, value, variant))) {
            acu_sim_text_print(&p->log,
                               "nvrtc: error: invalid value for --gpu-architecture (-arch)\n");
            return NVRTC_ERROR_INVALID_OPTION;
        }
    }
    return NVRTC_SUCCESS;
}

/* Returns the name in PTX of a name expression; NULL if the program has no such kernel or variable.
 * "&add" and "add" are the same kernel. */
static const char *find_lowered(const program *p, const char *expression) {
    while (*expression == '&' || *expression == ' ')
        expression++;
    int index = acu_sim_image_entry(&p->image, expression);
    if (index >= 0)
        return p->image.entries[index].name;
    index = acu_sim_image_variable(&p->image, expression);
    return index >= 0 ? p->image.variables[index].name : NULL;
}

/* Reads the PTX that was written, which finds errors such as two kernels of one name, and looks up
 * the name expressions. */
static bool validate_result(program *p) {
    char why[300];
    if (acu_sim_ptx_read(p->ptx.bytes, p->ptx.length, p->version, &p->image, why, sizeof why)) {
        acu_sim_text_print(&p->log, "%s: error: %s\n", p->name, why);
        return false;
    }
    for (size_t i = 0; i < p->expression_count; i++)
        if (!find_lowered(p, p->expressions[i])) {
            acu_sim_text_print(&p->log, "%s: error: name expression \"%s\" is not found\n", p->name,
                               p->expressions[i]);
            return false;
        }
    return true;
}

static nvrtcResult compile_program(program *p, int count, const char *const *options) {
    int target;
    char variant;
    p->version = acu_sim_ptx_newest(acu_sim_configuration()->runtime);
    clear_result(p);
    p->compiled = p->good = false;
    nvrtcResult result = read_options(p, count, options, &target, &variant);
    if (result)
        return result;
    p->compiled = true;
    result = refuse_forms(p, count, options);
    if (result)
        return result;
    const char suffix[2] = {variant, '\0'};
    acu_sim_text_print(&p->ptx, ".version %d.%d\n.target sm_%d%s\n.address_size 64\n",
                       p->version / 10, p->version % 10, target, suffix);
    p->good = acu_sim_source_compile(p->source, p->name, &p->ptx, &p->log) && validate_result(p);
    return p->good ? NVRTC_SUCCESS : NVRTC_ERROR_COMPILATION;
}

static nvrtcResult compile(nvrtcProgram prog, int numOptions, const char *const *options) {
    program *p;
    nvrtcResult result = enter(prog, numOptions >= 0 && (!numOptions || options), &p);
    if (!result)
        result = compile_program(p, numOptions, options);
    return leave(result);
}

static nvrtcResult get_version(int *major, int *minor) {
    if (!major || !minor)
        return NVRTC_ERROR_INVALID_INPUT;
    pthread_mutex_lock(&acu_sim_lock);
    int runtime = acu_sim_configuration()->runtime;
    pthread_mutex_unlock(&acu_sim_lock);
    *major = runtime / 1000;
    *minor = runtime % 1000 / 10;
    return NVRTC_SUCCESS;
}

static nvrtcResult get_architecture_count(int *numArchs) {
    if (!numArchs)
        return NVRTC_ERROR_INVALID_INPUT;
    *numArchs = ARCHITECTURES;
    return NVRTC_SUCCESS;
}

static nvrtcResult get_architectures(int *supportedArchs) {
    if (!supportedArchs)
        return NVRTC_ERROR_INVALID_INPUT;
    memcpy(supportedArchs, architectures, sizeof architectures);
    return NVRTC_SUCCESS;
}

/* ---- results ---- */

/* Returns the size with the zero at the end. The machine code of simulated devices is PTX, too; a
 * program for a virtual architecture has none. */
static nvrtcResult get_code_size(nvrtcProgram prog, bool machine_code, size_t *size) {
    program *p;
    nvrtcResult result = enter(prog, size != NULL, &p);
    if (!result && !p->good)
        result = NVRTC_ERROR_INVALID_PROGRAM;
    if (!result)
        *size = machine_code && !p->real ? 0 : p->ptx.length + 1;
    return leave(result);
}

static nvrtcResult ptx_size(nvrtcProgram prog, size_t *size) {
    return get_code_size(prog, false, size);
}

static nvrtcResult cubin_size(nvrtcProgram prog, size_t *size) {
    return get_code_size(prog, true, size);
}

static nvrtcResult get_code(nvrtcProgram prog, bool machine_code, char *to) {
    program *p;
    nvrtcResult result = enter(prog, to != NULL, &p);
    if (!result && (!p->good || (machine_code && !p->real)))
        result = NVRTC_ERROR_INVALID_PROGRAM;
    if (!result)
        memcpy(to, p->ptx.bytes, p->ptx.length + 1);
    return leave(result);
}

static nvrtcResult ptx(nvrtcProgram prog, char *to) {
    return get_code(prog, false, to);
}

static nvrtcResult cubin(nvrtcProgram prog, char *to) {
    return get_code(prog, true, to);
}

static nvrtcResult log_size(nvrtcProgram prog, size_t *size) {
    program *p;
    nvrtcResult result = enter(prog, size != NULL, &p);
    if (!result)
        *size = p->log.length + 1;
    return leave(result);
}

static nvrtcResult log_text(nvrtcProgram prog, char *to) {
    program *p;
    nvrtcResult result = enter(prog, to != NULL, &p);
    if (!result)
        memcpy(to, p->log.bytes ? p->log.bytes : "", p->log.length + 1);
    return leave(result);
}

static nvrtcResult add_expression(nvrtcProgram prog, const char *const expression) {
    program *p;
    nvrtcResult result = enter(prog, expression != NULL, &p);
    if (!result && p->compiled)
        result = NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION;
    char **grown =
        result ? NULL : realloc(p->expressions, (p->expression_count + 1) * sizeof(char *));
    char *copy = grown ? copy_text(expression) : NULL;
    if (grown)
        p->expressions = grown;
    if (copy)
        p->expressions[p->expression_count++] = copy;
    if (!result && !copy)
        result = NVRTC_ERROR_OUT_OF_MEMORY;
    return leave(result);
}

static nvrtcResult lowered_name(nvrtcProgram prog, const char *const expression,
                                const char **lowered_) {
    program *p;
    nvrtcResult result = enter(prog, expression && lowered_, &p);
    if (!result && !p->good)
        result = NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION;
    bool known = false;
    for (size_t i = 0; !result && i < p->expression_count; i++)
        known |= strcmp(p->expressions[i], expression) == 0;
    if (!result && !known)
        result = NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
    if (!result)
        *lowered_ = find_lowered(p, expression);
    return leave(result);
}

/* LTO IR and OptiX IR are made by options that this NVRTC refuses, so their size is 0. */
static nvrtcResult no_size(nvrtcProgram prog, size_t *size) {
    program *p;
    nvrtcResult result = enter(prog, size != NULL, &p);
    if (!result)
        *size = 0;
    return leave(result);
}

static nvrtcResult no_text(nvrtcProgram prog, char *to) {
    program *p;
    return leave(enter(prog, to != NULL, &p));
}

static const char *error_name(nvrtcResult result) {
    const char *name = acu_value_name(&acu_nvrtc_type_nvrtcResult, result);
    return name ? name : "NVRTC_ERROR unknown";
}

/* ---- symbols ---- */

/* A function must have the type that NVRTC's header declares. */
#define FUNCTION(name, fn) {#name, _Generic((fn), __typeof__(acu_slot_##name): (acu_fn)(fn))}

acu_fn acu_sim_nvrtc_symbol(const char *symbol) {
    static const struct {
        const char *name;
        acu_fn fn;
    } functions[] = {
        FUNCTION(nvrtcAddNameExpression, add_expression),
        FUNCTION(nvrtcCompileProgram, compile),
        FUNCTION(nvrtcCreateProgram, create),
        FUNCTION(nvrtcDestroyProgram, destroy),
        FUNCTION(nvrtcGetCUBIN, cubin),
        FUNCTION(nvrtcGetCUBINSize, cubin_size),
        FUNCTION(nvrtcGetErrorString, error_name),
        FUNCTION(nvrtcGetLTOIR, no_text),
        FUNCTION(nvrtcGetLTOIRSize, no_size),
        FUNCTION(nvrtcGetLoweredName, lowered_name),
        FUNCTION(nvrtcGetNumSupportedArchs, get_architecture_count),
        FUNCTION(nvrtcGetOptiXIR, no_text),
        FUNCTION(nvrtcGetOptiXIRSize, no_size),
        FUNCTION(nvrtcGetPTX, ptx),
        FUNCTION(nvrtcGetPTXSize, ptx_size),
        FUNCTION(nvrtcGetProgramLog, log_text),
        FUNCTION(nvrtcGetProgramLogSize, log_size),
        FUNCTION(nvrtcGetSupportedArchs, get_architectures),
        FUNCTION(nvrtcVersion, get_version),
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, symbol) == 0)
            return functions[i].fn;
    return NULL;
}
