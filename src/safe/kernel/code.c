/* Code that is not loaded: its images and names, and the log of the thread's last compilation. */
#include "safe/kernel/code.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const form_names[ACU_CODE_FORMS] = {"PTX",    "cubin",       "LTO IR",
                                                       "fatbin", "object file", "archive"};

/* ---- the log ---- */

static pthread_once_t log_once = PTHREAD_ONCE_INIT;
static pthread_key_t log_key; /* each thread's log, on the heap */
static bool log_has_key;      /* false: the process has no keys left, and logs are dropped */

static void make_log_key(void) {
    log_has_key = pthread_key_create(&log_key, free) == 0;
}

void acu_code_keep_log(const char *text) {
    (void)pthread_once(&log_once, make_log_key);
    if (!log_has_key)
        return;
    char *copy = text && *text ? acu_code_copy(text, strlen(text)) : NULL;
    char *before = pthread_getspecific(log_key);
    if (pthread_setspecific(log_key, copy) != 0)
        before = copy;
    free(before);
}

const char *acu_code_kept_log(void) {
    (void)pthread_once(&log_once, make_log_key);
    const char *text = log_has_key ? pthread_getspecific(log_key) : NULL;
    return text ? text : "";
}

/* ---- life ---- */

void acu_code_free_names(acu_code_name *names, size_t count) {
    for (size_t i = 0; names && i < count; i++) {
        free(names[i].expression);
        free(names[i].name);
    }
    free(names);
}

acu_code_name *acu_code_copy_names(const acu_code *code) {
    acu_code_name *names = calloc(code->name_count + 1, sizeof *names);
    bool whole = names != NULL;
    for (size_t i = 0; i < code->name_count && whole; i++) {
        const acu_code_name *from = &code->names[i];
        names[i].expression = acu_code_copy(from->expression, strlen(from->expression));
        names[i].name = acu_code_copy(from->name, strlen(from->name));
        whole = names[i].expression && names[i].name;
    }
    if (whole)
        return names;
    acu_code_free_names(names, code->name_count);
    return NULL;
}

static int destroy_code(acu_object *object) {
    acu_code *code = (acu_code *)object;
    for (size_t i = 0; i < ACU_CODE_FORMS; i++)
        free(code->images[i].bytes);
    acu_code_free_names(code->names, code->name_count);
    free(code->log);
    free(code->name);
    return 0;
}

static void describe_code(const acu_object *object, acu_description *d) {
    const acu_code *code = (const acu_code *)object;
    if (code->name)
        acu_describe(d, "%s", code->name);
    for (size_t i = 0; i < ACU_CODE_FORMS; i++)
        if (code->images[i].bytes)
            acu_describe(d, "%zu bytes of %s", code->images[i].size, form_names[i]);
}

const acu_class acu_code_class = {"code", destroy_code, describe_code, acu_breaks_no_capture};

acu_code *acu_code_new(void) {
    return acu_object_make(&acu_code_class, sizeof(acu_code), -1);
}

/* Returns what follows the last slash. */
static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int fill(const char *call, acu_code *code, const acu_code_source *source) {
    const char *name = source->name   ? source->name
                       : source->file ? last_part(source->file)
                                      : "code";
    acu_code_bytes read = {.size = source->size};
    code->name = acu_code_copy(name, strlen(name));
    if (source->file)
        ACU_TRY(acu_code_read_file(call, source->file, &read.bytes, &read.size));
    else
        read.bytes = acu_code_copy(source->bytes, source->size);
    const acu_code_form form = acu_code_form_of(read.bytes, read.size);
    code->images[form] = read; /* is freed with the code */
    if (!code->name || !read.bytes)
        return acu_fail(call, "", ACU_ERROR_HOST_MEMORY, "no memory for %zu bytes of code",
                        read.size);
    ACU_TRY(acu_code_check(call, read.bytes, read.size));
    if (form == ACU_CODE_PTX)
        code->images[form].size = strlen(read.bytes);
    return 0;
}

acu_result acu_code_create(const acu_code_source *source, acu_code **code) {
    ACU_SCOPE();
    ACU_NEED_POINTER(code);
    *code = NULL;
    ACU_NEED_POINTER(source);
    ACU_REQUIRE(!!source->bytes + !!source->file == 1, ACU_ERROR_ARGUMENT,
                "exactly one of bytes and file is needed");
    acu_code *made = acu_object_new(__func__, &acu_code_class, sizeof *made, -1);
    if (!made)
        return ACU_ERROR_HOST_MEMORY;
    int failed = fill(__func__, made, source);
    if (failed)
        (void)acu_object_release(__func__, made, &acu_code_class);
    else
        *code = made;
    return failed;
}

/* ---- properties ---- */

/* Writes the names of the forms that there are. */
static void list_forms(const acu_code *code, char *text, size_t size) {
    size_t used = 0;
    snprintf(text, size, "nothing");
    for (size_t i = 0; i < ACU_CODE_FORMS && used < size; i++)
        if (code->images[i].bytes)
            used +=
                (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", form_names[i]);
}

acu_result acu_code_get_image(const acu_code *code, acu_code_form form, const void **bytes,
                              size_t *size) {
    ACU_SCOPE();
    char has[80];
    ACU_NEED_POINTER(bytes);
    ACU_NEED_POINTER(size);
    *bytes = NULL;
    *size = 0;
    ACU_NEED(code, acu_code_class);
    ACU_REQUIRE((unsigned)form < ACU_CODE_FORMS, ACU_ERROR_ARGUMENT, "%d is not a form of code",
                (int)form);
    list_forms(code, has, sizeof has);
    ACU_REQUIRE_OF(code, code->images[form].bytes, ACU_ERROR_STATE, "the code has no %s, it has %s",
                   form_names[form], has);
    *bytes = code->images[form].bytes;
    *size = code->images[form].size;
    return 0;
}

const char *acu_code_log(const acu_code *code) {
    return acu_is(code, &acu_code_class) && code->log ? code->log : "";
}

acu_code *acu_code_retain(acu_code *code) {
    return acu_object_retain(__func__, code, &acu_code_class);
}

acu_result acu_code_release(acu_code *code) {
    ACU_SCOPE();
    acu_destroy_deferred();
    return acu_object_release(__func__, code, &acu_code_class);
}

void acu_code_cleanup(acu_code **code) {
    (void)acu_code_release(acu_take(code));
}

size_t acu_code_describe(const acu_code *code, char *text, size_t size) {
    return acu_object_describe_as(code, &acu_code_class, text, size);
}
