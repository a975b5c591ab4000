/* Linking by nvJitLink, which needs neither a driver nor a device. */
#include "safe/kernel/code_link.h"

#include <anycuda/nvjitlink.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OWN_OPTIONS = 8 };

typedef struct job {
    acu_link *link;
    nvJitLinkHandle linker;
    char registers[32], level[16];
    const char **options;
    uint32_t count;
} job;

static int of_nvjitlink(nvJitLinkResult result) {
    return result == NVJITLINK_SUCCESS ? 0 : acu_translate_nvjitlink((int)result);
}

/* ---- options ---- */

static void add_option(job *j, bool wanted, const char *option) {
    if (wanted)
        j->options[j->count++] = option;
}

static bool is_given(const acu_code_link_options *options, const char *wanted) {
    for (const char *const *option = options->options; option && *option; option++)
        if (strcmp(*option, wanted) == 0)
            return true;
    return false;
}

static bool has_lto(const acu_link *link) {
    for (size_t i = 0; i < link->count; i++)
        if (link->parts[i].form == ACU_CODE_LTO)
            return true;
    return false;
}

/* nvJitLink has levels up to 3. */
static int make_options(job *j) {
    const acu_code_link_options *o = j->link->options;
    size_t count = 0;
    const int level = (int)o->level - ACU_JIT_O0;
    while (o->options && o->options[count])
        count++;
    j->options = calloc(count + OWN_OPTIONS, sizeof *j->options);
    if (!j->options)
        return acu_record(ACU_ERROR_HOST_MEMORY, "no memory for %zu options", count);
    snprintf(j->registers, sizeof j->registers, "-maxrregcount=%u", o->max_registers);
    snprintf(j->level, sizeof j->level, "-O%d", level > 3 ? 3 : level);
    add_option(j, *j->link->architecture != '\0', j->link->architecture);
    add_option(j, has_lto(j->link) && !is_given(o, "-lto"), "-lto");
    add_option(j, o->max_registers > 0, j->registers);
    add_option(j, o->level != ACU_JIT_LEVEL_DEFAULT, j->level);
    add_option(j, o->debug, "-g");
    add_option(j, o->lines, "-lineinfo");
    add_option(j, o->verbose, "-verbose");
    for (size_t i = 0; i < count; i++)
        add_option(j, true, o->options[i]);
    return 0;
}

/* ---- linking ---- */

static nvJitLinkInputType input_of(acu_code_form form) {
    static const nvJitLinkInputType inputs[ACU_CODE_FORMS] = {
        [ACU_CODE_PTX] = NVJITLINK_INPUT_PTX,       [ACU_CODE_CUBIN] = NVJITLINK_INPUT_CUBIN,
        [ACU_CODE_LTO] = NVJITLINK_INPUT_LTOIR,     [ACU_CODE_FATBIN] = NVJITLINK_INPUT_FATBIN,
        [ACU_CODE_OBJECT] = NVJITLINK_INPUT_OBJECT, [ACU_CODE_ARCHIVE] = NVJITLINK_INPUT_LIBRARY};
    return inputs[form];
}

static int add_parts(const job *j) {
    int code = 0;
    for (size_t i = 0; i < j->link->count && !code; i++) {
        const acu_link_part *part = &j->link->parts[i];
        const size_t zero = part->form == ACU_CODE_PTX; /* belongs to the text */
        code = of_nvjitlink(nvJitLinkAddData(j->linker, input_of(part->form), part->bytes->bytes,
                                             part->bytes->size + zero, part->name));
    }
    return code;
}

/* The functions by which nvJitLink gives a result or a log. */
typedef nvJitLinkResult ask_size(nvJitLinkHandle linker, size_t *size);

static nvJitLinkResult cubin_size(nvJitLinkHandle linker, size_t *size) {
    return nvJitLinkGetLinkedCubinSize(linker, size);
}

static nvJitLinkResult ptx_size(nvJitLinkHandle linker, size_t *size) {
    return nvJitLinkGetLinkedPtxSize(linker, size);
}

static nvJitLinkResult error_size(nvJitLinkHandle linker, size_t *size) {
    return nvJitLinkGetErrorLogSize(linker, size);
}

static nvJitLinkResult info_size(nvJitLinkHandle linker, size_t *size) {
    return nvJitLinkGetInfoLogSize(linker, size);
}

/* Makes room for what the function gives the size of, and a zero. Returns 0, or a recorded
 * failure. */
static int make_room(const job *j, ask_size *ask, char **bytes, size_t *size) {
    *size = 0;
    int code = of_nvjitlink(ask(j->linker, size));
    if (code)
        return code;
    *bytes = *size > SIZE_MAX - 1 ? NULL : calloc(1, *size + 1);
    return *bytes
               ? 0
               : acu_record(ACU_ERROR_HOST_MEMORY, "no memory for %zu bytes of the linker", *size);
}

/* With -ptx, the result is PTX. */
static int read_result(const job *j) {
    const bool ptx = is_given(j->link->options, "-ptx");
    acu_code_bytes *image = &j->link->code->images[ptx ? ACU_CODE_PTX : ACU_CODE_CUBIN];
    int code = make_room(j, ptx ? ptx_size : cubin_size, &image->bytes, &image->size);
    if (code)
        return code;
    code = of_nvjitlink(ptx ? nvJitLinkGetLinkedPtx(j->linker, image->bytes)
                            : nvJitLinkGetLinkedCubin(j->linker, image->bytes));
    if (ptx)
        image->size = strlen(image->bytes);
    return code;
}

/* Reads the log of errors, or, where there is no failure, that of warnings. Returns `code`; what
 * fails here is no failure of linking. */
static int read_log(const job *j, int code) {
    acu_saved_record failure;
    char *log = NULL;
    size_t size = 0;
    acu_record_save(&failure);
    int unread = make_room(j, code ? error_size : info_size, &log, &size);
    if (!unread)
        unread = of_nvjitlink(code ? nvJitLinkGetErrorLog(j->linker, log)
                                   : nvJitLinkGetInfoLog(j->linker, log));
    if (unread) {
        free(log);
        log = NULL;
    }
    acu_record_restore(&failure);
    return acu_link_take_log(j->link, log, code);
}

static void free_job(job *j) {
    acu_saved_record before;
    acu_record_save(&before);
    if (j->linker && of_nvjitlink(nvJitLinkDestroy(&j->linker)) != 0)
        acu_record_release_error();
    acu_record_restore(&before);
    free(j->options);
}

/* nvJitLink does not say which option it does not know. */
static void hint_at_options(const job *j) {
    char text[200] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < j->count && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, " %s", j->options[i]);
    acu_fail_hint("this nvJitLink does not know one of the options%s", text);
}

static int create(job *j) {
    const nvJitLinkResult result = nvJitLinkCreate(&j->linker, j->count, j->options);
    if (result == NVJITLINK_ERROR_UNRECOGNIZED_OPTION)
        hint_at_options(j);
    return of_nvjitlink(result);
}

int acu_link_by_nvjitlink(acu_link *link) {
    job j = {.link = link};
    int code = make_options(&j);
    if (!code)
        code = create(&j);
    if (!code) {
        code = add_parts(&j);
        if (!code)
            code = of_nvjitlink(nvJitLinkComplete(j.linker));
        code = read_log(&j, code);
    }
    if (!code)
        code = read_result(&j);
    free_job(&j);
    return code;
}
