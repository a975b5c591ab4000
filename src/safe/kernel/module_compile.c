/* Compiling CUDA C++ source into a module, with NVRTC. */
#include "safe/kernel/module.h"
#include "core/translate.h"

#include <anycuda/nvrtc.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the log ---- */

static pthread_once_t log_once = PTHREAD_ONCE_INIT;
static pthread_key_t log_key; /* each thread's log, on the heap */
static bool log_has_key;      /* false: the process has no keys left, and logs are dropped */

static void make_log_key(void) {
    log_has_key = pthread_key_create(&log_key, free) == 0;
}

/* Replaces the thread's log, and takes the text over. */
static void keep_log(char *text) {
    (void)pthread_once(&log_once, make_log_key);
    char *before = log_has_key ? pthread_getspecific(log_key) : text;
    if (log_has_key && pthread_setspecific(log_key, text) != 0)
        before = text;
    free(before);
}

const char *acu_module_compile_log(void) {
    (void)pthread_once(&log_once, make_log_key);
    const char *text = log_has_key ? pthread_getspecific(log_key) : NULL;
    return text ? text : "";
}

/* ---- one compilation ---- */

/* A compilation, from source to names. */
typedef struct job {
    const char *call;
    const acu_module_program *program;
    nvrtcProgram compiler;
    char architecture[48]; /* an option; "" if the caller's options have one */
    char *code, *ptx;      /* what was compiled; `code` is NULL: PTX only */
    size_t code_bytes;
    acu_module_name *lowered;
    size_t lowered_count;
} job;

/* Returns the result as an acu_result. */
static int of_nvrtc(nvrtcResult result) {
    return result == NVRTC_SUCCESS ? 0 : acu_translate_nvrtc((int)result);
}

static size_t count_texts(const char *const *texts) {
    size_t count = 0;
    while (texts && texts[count])
        count++;
    return count;
}

static bool begins(const char *text, const char *beginning) {
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

static bool names_architecture(const char *const *options) {
    for (; options && *options; options++)
        if (begins(*options, "--gpu-architecture") || begins(*options, "-arch"))
            return true;
    return false;
}

/* Finds the newest architecture that this NVRTC knows and the device runs; 0: there is none. */
static int best_architecture(int device_has, int *best) {
    int count = 0, code = of_nvrtc(nvrtcGetNumSupportedArchs(&count));
    int *all = code || count <= 0 ? NULL : malloc((size_t)count * sizeof *all);
    if (code)
        return code;
    if (!all)
        return acu_record(ACU_ERROR_HOST_MEMORY, "no memory for %d architectures", count);
    code = of_nvrtc(nvrtcGetSupportedArchs(all));
    *best = 0;
    for (int i = 0; i < count && !code; i++)
        if (all[i] <= device_has && all[i] > *best)
            *best = all[i];
    free(all);
    return code;
}

static int choose_architecture(job *j, acu_device device) {
    int major = 0, minor = 0, best = 0;
    if (names_architecture(j->program->options))
        return 0;
    int code = (int)cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    if (!code)
        code = (int)cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
    int has = 10 * major + minor;
    if (!code)
        code = best_architecture(has, &best);
    if (!code && best == 0)
        return acu_record(
            ACU_NOT_SUPPORTED,
            "this NVRTC cannot compile for device %d, whose compute capability %d.%d is too "
            "old",
            device, major, minor);
    bool exact = best == has && !acu_loaded(ACU_CUDART)->is_sim; /* the simulator reads PTX only */
    snprintf(j->architecture, sizeof j->architecture, "--gpu-architecture=%s_%d",
             exact ? "sm" : "compute", best);
    return code;
}

static int create(job *j) {
    const acu_module_program *p = j->program;
    size_t count = 0;
    while (p->headers && p->headers[count].name)
        count++;
    const char **texts = calloc(2 * count + 1, sizeof *texts);
    if (!texts)
        return acu_record(ACU_ERROR_HOST_MEMORY, "no memory for %zu headers", count);
    for (size_t i = 0; i < count; i++) {
        texts[i] = p->headers[i].text ? p->headers[i].text : "";
        texts[count + i] = p->headers[i].name;
    }
    int code = of_nvrtc(nvrtcCreateProgram(&j->compiler, p->text, p->name ? p->name : "program.cu",
                                           (int)count, texts, texts + count));
    free(texts);
    for (size_t i = 0; p->expressions && p->expressions[i] && !code; i++)
        code = of_nvrtc(nvrtcAddNameExpression(j->compiler, p->expressions[i]));
    return code;
}

/* Allocates a text of so many bytes and a zero; NULL, and a recorded failure in *code, without
 * memory. */
static char *room_for(size_t size, int *code) {
    char *text = size > SIZE_MAX - 1 ? NULL : calloc(1, size + 1);
    if (!text)
        *code = acu_record(ACU_ERROR_HOST_MEMORY, "no memory for %zu bytes of the compiler", size);
    return text;
}

static int read_log(const job *j) {
    size_t size = 0;
    int code = of_nvrtc(nvrtcGetProgramLogSize(j->compiler, &size));
    char *text = code ? NULL : room_for(size, &code);
    if (!code)
        code = of_nvrtc(nvrtcGetProgramLog(j->compiler, text));
    keep_log(code ? NULL : text);
    if (code)
        free(text);
    return code;
}

/* Compiles and keeps the log. The recorded failure has the beginning of the log. */
static int compile(job *j) {
    char line[700];
    acu_saved_record failure;
    size_t count = count_texts(j->program->options);
    const char **options = calloc(count + 1, sizeof *options);
    if (!options)
        return acu_record(ACU_ERROR_HOST_MEMORY, "no memory for %zu options", count);
    for (size_t i = 0; i < count; i++)
        options[i] = j->program->options[i];
    if (*j->architecture)
        options[count++] = j->architecture;
    int code = of_nvrtc(nvrtcCompileProgram(j->compiler, (int)count, options));
    free(options);
    acu_record_save(&failure);
    int unread = read_log(j);
    if (!code)
        return unread;
    acu_record_restore(&failure);
    if (unread || !*acu_module_compile_log())
        return code;
    return acu_record(code, "%s", acu_record_one_line(acu_module_compile_log(), line, sizeof line));
}

/* ---- its results ---- */

static int read_cubin(job *j) {
    size_t size = 0;
    int code = of_nvrtc(nvrtcGetCUBINSize(j->compiler, &size));
    if (code || size == 0) /* 0 for a virtual architecture */
        return code;
    j->code = room_for(size, &code);
    j->code_bytes = size;
    return code ? code : of_nvrtc(nvrtcGetCUBIN(j->compiler, j->code));
}

static int read_ptx(job *j) {
    size_t size = 0;
    int code = of_nvrtc(nvrtcGetPTXSize(j->compiler, &size));
    if (!code)
        j->ptx = room_for(size, &code);
    return code ? code : of_nvrtc(nvrtcGetPTX(j->compiler, j->ptx));
}

static char *copy_text(const char *text, int *code) {
    size_t length = strlen(text);
    char *copy = room_for(length, code);
    if (copy)
        snprintf(copy, length + 1, "%s", text);
    return copy;
}

static int read_names(job *j) {
    const char *const *expressions = j->program->expressions;
    size_t count = count_texts(expressions);
    int code = 0;
    j->lowered = calloc(count + 1, sizeof *j->lowered);
    if (!j->lowered)
        return acu_record(ACU_ERROR_HOST_MEMORY, "no memory for %zu names", count);
    for (size_t i = 0; i < count && !code; i++) {
        const char *name = NULL;
        code = of_nvrtc(nvrtcGetLoweredName(j->compiler, expressions[i], &name));
        if (code)
            break;
        j->lowered_count = i + 1;
        j->lowered[i].expression = copy_text(expressions[i], &code);
        j->lowered[i].name = copy_text(name, &code);
    }
    return code;
}

static void free_job(job *j) {
    acu_saved_record before;
    acu_record_save(&before);
    if (j->compiler && of_nvrtc(nvrtcDestroyProgram(&j->compiler)) != 0)
        acu_record_release_error();
    acu_record_restore(&before);
    for (size_t i = 0; i < j->lowered_count; i++) {
        free(j->lowered[i].expression);
        free(j->lowered[i].name);
    }
    free(j->lowered);
    free(j->code);
    free(j->ptx);
}

/* Returns 0 if there is NVRTC; else a failure recorded for `call`. Images with the runtime often
 * lack NVRTC. */
static int need_nvrtc(const char *call) {
    int major = 0, minor = 0, result = (int)nvrtcVersion(&major, &minor);
    if (result == NVRTC_SUCCESS)
        return 0;
    bool missing = !acu_loaded(ACU_NVRTC);
    int code = missing ? acu_record_recode(result, cudaErrorSharedObjectInitFailed)
                       : acu_translate_nvrtc(result);
    if (missing)
        acu_fail_hint(
            "install NVRTC (cuda-nvrtc-12-x or nvidia-cuda-nvrtc, of the driver's CUDA major "
            "or older), or name its file in ANYCUDA_NVRTC");
    return acu_cuda_failed(call, "", code);
}

static int build(job *j, acu_device device) {
    int code = choose_architecture(j, device);
    if (!code)
        code = create(j);
    if (!code)
        code = compile(j);
    if (!code)
        code = read_cubin(j);
    if (!code)
        code = read_ptx(j);
    return code ? code : read_names(j);
}

/* Loads the code; the module takes the names over. */
static int load(job *j, acu_device device, acu_module **module) {
    const acu_module_image image = {.bytes = j->code ? j->code : j->ptx,
                                    .size = j->code ? j->code_bytes : strlen(j->ptx),
                                    .ptx = j->ptx,
                                    .jit = &j->program->jit};
    int code = acu_module_new(j->call, device, &image, module);
    if (code)
        return code;
    (*module)->lowered = j->lowered;
    (*module)->lowered_count = j->lowered_count;
    j->lowered = NULL;
    j->lowered_count = 0;
    return 0;
}

acu_result acu_module_compile(acu_device device, const acu_module_program *program,
                              acu_module **module) {
    job j = {.call = __func__, .program = program};
    ACU_NEED_POINTER(module);
    *module = NULL;
    ACU_NEED_POINTER(program);
    ACU_REQUIRE(program->text, ACU_ERROR_ARGUMENT, "'program->text' is NULL");
    acu_destroy_deferred();
    keep_log(NULL);
    ACU_TRY(acu_device_resolve(__func__, &device));
    ACU_TRY(need_nvrtc(__func__));
    int code = build(&j, device);
    if (code)
        acu_cuda_failed(__func__, program->name ? program->name : "", code);
    else
        code = load(&j, device, module);
    free_job(&j);
    return code;
}
