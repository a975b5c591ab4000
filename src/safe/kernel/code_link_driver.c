/* Linking by the driver, in the device's primary context. */
#include "safe/kernel/code_api.h"
#include "safe/kernel/code_link.h"
#include "core/translate.h"

#include <anycuda/cuda.h>

#include <stdlib.h>
#include <string.h>

enum { LOG_BYTES = 16384, OPTIONS = 9 };

typedef struct job {
    acu_link *link;
    CUlinkState linker;
    CUjit_option options[OPTIONS];
    void *values[OPTIONS]; /* CUDA writes the sizes of the logs to it while the linker lives */
    unsigned count;
    char *info, *errors;
} job;

static void add_option(job *j, bool wanted, CUjit_option option, uintptr_t value) {
    if (!wanted)
        return;
    j->options[j->count] = option;
    j->values[j->count++] = (void *)value;
}

static int make_options(job *j) {
    const acu_code_link_options *o = j->link->options;
    j->info = calloc(1, LOG_BYTES + 1);
    j->errors = calloc(1, LOG_BYTES + 1);
    if (!j->info || !j->errors)
        return acu_record(ACU_ERROR_HOST_MEMORY, "no memory for the linker's logs");
    add_option(j, true, CU_JIT_INFO_LOG_BUFFER, (uintptr_t)j->info);
    add_option(j, true, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, LOG_BYTES);
    add_option(j, true, CU_JIT_ERROR_LOG_BUFFER, (uintptr_t)j->errors);
    add_option(j, true, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, LOG_BYTES);
    add_option(j, o->max_registers > 0, CU_JIT_MAX_REGISTERS, o->max_registers);
    add_option(j, o->level != ACU_JIT_LEVEL_DEFAULT, CU_JIT_OPTIMIZATION_LEVEL,
               (unsigned)o->level - ACU_JIT_O0);
    add_option(j, o->debug, CU_JIT_GENERATE_DEBUG_INFO, 1);
    add_option(j, o->lines, CU_JIT_GENERATE_LINE_INFO, 1);
    add_option(j, o->verbose, CU_JIT_LOG_VERBOSE, 1);
    return 0;
}

static CUjitInputType input_of(acu_code_form form) {
    static const CUjitInputType inputs[ACU_CODE_FORMS] = {
        [ACU_CODE_PTX] = CU_JIT_INPUT_PTX,
        [ACU_CODE_CUBIN] = CU_JIT_INPUT_CUBIN,
        [ACU_CODE_FATBIN] = CU_JIT_INPUT_FATBINARY,
        [ACU_CODE_OBJECT] = CU_JIT_INPUT_OBJECT,
        [ACU_CODE_ARCHIVE] = CU_JIT_INPUT_LIBRARY};
    return inputs[form];
}

static int add_parts(const job *j) {
    int code = 0;
    for (size_t i = 0; i < j->link->count && !code; i++) {
        const acu_link_part *part = &j->link->parts[i];
        const size_t zero = part->form == ACU_CODE_PTX; /* belongs to the text */
        code = acu_translate_driver(cuLinkAddData(j->linker, input_of(part->form),
                                                  part->bytes->bytes, part->bytes->size + zero,
                                                  part->name, 0, NULL, NULL));
    }
    return code;
}

/* Copies the result, which the linker owns. The simulator's is PTX. */
static int complete(const job *j) {
    void *bytes = NULL;
    size_t size = 0;
    int code = acu_translate_driver(cuLinkComplete(j->linker, &bytes, &size));
    if (code)
        return code;
    const acu_code_form form = acu_code_form_of(bytes, size);
    acu_code_bytes *image = &j->link->code->images[form];
    image->bytes = acu_code_copy(bytes, size);
    image->size = size;
    if (!image->bytes)
        return acu_record(ACU_ERROR_HOST_MEMORY, "no memory for %zu bytes of the linker", size);
    if (form == ACU_CODE_PTX)
        image->size = strlen(image->bytes);
    return 0;
}

/* Links in the context, which is current. */
static int link_here(job *j) {
    acu_saved_record failure;
    int code = acu_translate_driver(cuLinkCreate(j->count, j->options, j->values, &j->linker));
    if (code)
        return code;
    code = add_parts(j);
    if (!code)
        code = complete(j);
    acu_record_save(&failure);
    if (acu_translate_driver(cuLinkDestroy(j->linker)) != 0)
        acu_record_release_error();
    acu_record_restore(&failure);
    char **log = code ? &j->errors : &j->info;
    code = acu_link_take_log(j->link, *log, code);
    *log = NULL;
    return code;
}

int acu_link_by_driver(acu_link *link) {
    const acu_code_api *api = &acu_code_by_driver;
    acu_code_place place = {.device = link->device};
    acu_code_guard guard;
    job j = {.link = link};
    int code = make_options(&j);
    if (!code)
        code = api->open(&place);
    if (!code) {
        code = api->enter(&place, &guard);
        if (!code)
            code = link_here(&j);
        api->leave(&guard);
        const int closed = api->close(&place);
        code = code ? code : closed;
    }
    free(j.info);
    free(j.errors);
    return code;
}
