/* Compiling CUDA C++ source, with NVRTC. */
#include "safe/base/device.h"
#include "safe/kernel/code_cache.h"
#include "core/translate.h"

#include <anycuda/nvrtc.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one compilation ---- */

/* A compilation, from source to names. */
typedef struct job {
    const acu_module_program *program;
    nvrtcProgram compiler;
    char architecture[48]; /* an option; "" if the caller's options have one */
    acu_code *code;        /* what was compiled */
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

bool acu_code_names_architecture(const acu_module_program *program) {
    const char *const *options = program->options;
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
    if (acu_code_names_architecture(j->program))
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

/* Reads the log into the code, and keeps it for the thread. */
static int read_log(const job *j) {
    size_t size = 0;
    int code = of_nvrtc(nvrtcGetProgramLogSize(j->compiler, &size));
    char *text = code ? NULL : room_for(size, &code);
    if (!code)
        code = of_nvrtc(nvrtcGetProgramLog(j->compiler, text));
    acu_code_keep_log(code ? NULL : text);
    if (code)
        free(text);
    else
        j->code->log = text;
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
    if (unread || !*j->code->log)
        return code;
    return acu_record(code, "%s", acu_record_one_line(j->code->log, line, sizeof line));
}

/* ---- its results ---- */

/* The functions by which NVRTC gives an image. */
typedef struct source {
    acu_code_form form;
    nvrtcResult (*size)(nvrtcProgram, size_t *);
    nvrtcResult (*get)(nvrtcProgram, char *);
} source;

static nvrtcResult ptx_size(nvrtcProgram compiler, size_t *size) {
    return nvrtcGetPTXSize(compiler, size);
}

static nvrtcResult get_ptx(nvrtcProgram compiler, char *to) {
    return nvrtcGetPTX(compiler, to);
}

static nvrtcResult cubin_size(nvrtcProgram compiler, size_t *size) {
    return nvrtcGetCUBINSize(compiler, size);
}

static nvrtcResult get_cubin(nvrtcProgram compiler, char *to) {
    return nvrtcGetCUBIN(compiler, to);
}

static nvrtcResult lto_size(nvrtcProgram compiler, size_t *size) {
    return nvrtcGetLTOIRSize(compiler, size);
}

static nvrtcResult get_lto(nvrtcProgram compiler, char *to) {
    return nvrtcGetLTOIR(compiler, to);
}

/* Reads an image, which does not exist where its size is 0, or that of its zero alone. */
static int read_image(const job *j, const source *from) {
    acu_code_bytes *image = &j->code->images[from->form];
    size_t size = 0;
    int code = of_nvrtc(from->size(j->compiler, &size));
    if (code || size <= 1)
        return code;
    image->bytes = room_for(size, &code);
    if (!code)
        code = of_nvrtc(from->get(j->compiler, image->bytes));
    if (!code)
        image->size = from->form == ACU_CODE_PTX ? strlen(image->bytes) : size;
    return code;
}

/* There is PTX and, for a real architecture, a cubin; or, with -dlto, LTO IR alone. */
static int read_images(const job *j) {
    static const source ptx = {ACU_CODE_PTX, ptx_size, get_ptx},
                        cubin = {ACU_CODE_CUBIN, cubin_size, get_cubin},
                        lto = {ACU_CODE_LTO, lto_size, get_lto};
    int code = read_image(j, &cubin);
    if (!code)
        code = read_image(j, &ptx);
    if (!code && !j->code->images[ACU_CODE_PTX].bytes)
        code = read_image(j, &lto);
    return code;
}

static char *copy_text(const char *text, int *code) {
    char *copy = acu_code_copy(text, strlen(text));
    if (!copy)
        *code = acu_record(ACU_ERROR_HOST_MEMORY, "no memory for the name \"%s\"", text);
    return copy;
}

static int read_names(const job *j) {
    const char *const *expressions = j->program->expressions;
    const size_t count = count_texts(expressions);
    int code = 0;
    j->code->names = calloc(count + 1, sizeof *j->code->names);
    if (!j->code->names)
        return acu_record(ACU_ERROR_HOST_MEMORY, "no memory for %zu names", count);
    for (size_t i = 0; i < count && !code; i++) {
        const char *name = NULL;
        code = of_nvrtc(nvrtcGetLoweredName(j->compiler, expressions[i], &name));
        if (code)
            break;
        acu_code_name *kept = &j->code->names[j->code->name_count++];
        kept->expression = copy_text(expressions[i], &code);
        kept->name = copy_text(name, &code);
    }
    return code;
}

static void free_job(job *j) {
    acu_saved_record before;
    acu_record_save(&before);
    if (j->compiler && of_nvrtc(nvrtcDestroyProgram(&j->compiler)) != 0)
        acu_record_release_error();
    acu_record_restore(&before);
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

/* Compiles, from the program to the names. */
static int compile_and_read(job *j) {
    const char *name = j->program->name ? j->program->name : "program.cu";
    int code = 0;
    j->code->name = copy_text(name, &code);
    if (!code)
        code = create(j);
    if (!code)
        code = compile(j);
    if (!code)
        code = read_images(j);
    return code ? code : read_names(j);
}

/* Makes the key of the program; false where not all is known that decides. */
static bool make_key(const job *j, acu_code_key *key) {
    acu_digest digest;
    acu_code_key_begin(&digest, "program", ACU_NVRTC);
    const bool known = acu_code_key_add_program(&digest, j->program, j->architecture);
    acu_digest_end(&digest, key->bytes);
    return known;
}

/* Writes the code, unless a header has changed while it was compiled. */
static void store(const job *j, acu_code_cache *cache, const acu_code_key *key) {
    acu_code_key now;
    if (make_key(j, &now) && memcmp(key->bytes, now.bytes, sizeof now.bytes) == 0)
        acu_code_cache_store(cache, key, j->code);
}

/* Finds the code in the cache, or compiles, and stores it there. */
static int find_or_compile(job *j, acu_code_cache *cache) {
    acu_code_key key;
    const bool known = cache && make_key(j, &key);
    if (cache && !known)
        acu_code_cache_skip(cache);
    j->code = known ? acu_code_cache_find(cache, &key) : NULL;
    if (j->code) {
        acu_code_keep_log(j->code->log);
        return 0;
    }
    j->code = acu_code_new();
    int code = j->code ? compile_and_read(j) : ACU_ERROR_HOST_MEMORY;
    if (!code && known)
        store(j, cache, &key);
    return code;
}

int acu_code_build(const char *call, acu_device device, const acu_module_program *program,
                   acu_code **code) {
    job j = {.program = program};
    acu_code_cache *cache = NULL;
    ACU_TRY(acu_code_cache_choose(call, program->cache, &cache));
    int failed = need_nvrtc(call);
    if (!failed) {
        failed = choose_architecture(&j, device);
        if (!failed)
            failed = find_or_compile(&j, cache);
        free_job(&j);
        if (failed)
            (void)acu_cuda_failed(call, program->name ? program->name : "", failed);
    }
    (void)acu_object_release(NULL, cache, &acu_code_cache_class);
    if (failed)
        (void)acu_object_release(NULL, j.code, &acu_code_class);
    else
        *code = j.code;
    return failed;
}

acu_result acu_code_compile(acu_device device, const acu_module_program *program, acu_code **code) {
    ACU_SCOPE();
    ACU_NEED_POINTER(code);
    *code = NULL;
    ACU_NEED_POINTER(program);
    acu_code_keep_log(NULL);
    ACU_REQUIRE(program->text, ACU_ERROR_ARGUMENT, "'program->text' is NULL");
    if (!acu_code_names_architecture(program))
        ACU_TRY(acu_device_resolve(__func__, &device));
    return acu_code_build(__func__, device, program, code);
}
