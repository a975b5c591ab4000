/* Programs: a copy of their source, and their owners. */
#define _POSIX_C_SOURCE 200809L /* strdup */
#include "runtime/program.h"

#include <stdlib.h>

/* ---- checking a source ---- */

static bool is_known_runtime(const char *name) {
    return strcmp(name, "cpu") == 0 || strcmp(name, "cuda") == 0 || strcmp(name, "webgpu") == 0;
}

static acu_result check_form(const char *call, const acu_program_source *s, size_t i) {
    const acu_form *form = &s->forms[i];
    if (!form->runtime || !*form->runtime || !form->code || !form->bytes)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "source.forms[%zu] of \"%s\" has no name of a runtime, or no code", i,
                        s->name);
    if (is_known_runtime(form->runtime))
        return acu_fail(
            call, "", ACU_ERROR_ARGUMENT,
            "source.forms[%zu] of \"%s\" is for \"%s\", whose form is a field of its own", i,
            s->name, form->runtime);
    for (size_t j = 0; j < i; j++)
        if (strcmp(s->forms[j].runtime, form->runtime) == 0)
            return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                            "source.forms[%zu] and [%zu] of \"%s\" are both for \"%s\"", j, i,
                            s->name, form->runtime);
    return 0;
}

static acu_result check_source(const char *call, const acu_program_source *s) {
    if (!s->name || !*s->name)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "source.name is NULL or empty");
    if (!s->cpu && !s->ptx && !s->cuda && !s->wgsl && s->form_count == 0)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "the source of \"%s\" has no form", s->name);
    if (s->flags & ~(unsigned)ACU_PROGRAM_ON_CPU)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "a program has no flags 0x%x", s->flags);
    if (s->flags && !s->cpu)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "source.flags of \"%s\" says ACU_PROGRAM_ON_CPU, but source.cpu is NULL",
                        s->name);
    if (s->form_count > 0 && !s->forms)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "source.forms of \"%s\" is NULL", s->name);
    for (size_t i = 0; i < s->form_count; i++)
        ACU_TRY(check_form(call, s, i));
    return 0;
}

/* Copies the fields that the caller's header has; those that it lacks are zero. */
static acu_result read_source(const char *call, const acu_program_source *given,
                              acu_program_source *s) {
    const size_t size = given->size ? given->size : sizeof *s;
    if (size > sizeof *s || size < offsetof(acu_program_source, cpu))
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "source.size is %zu, but the struct has %zu bytes", size, sizeof *s);
    memcpy(s, given, size);
    s->size = sizeof *s;
    return check_source(call, s);
}

/* ---- copying it ---- */

/* Replaces a text by a copy; returns whether there was memory. */
static bool copy_text(const char **text) {
    const char *copy = *text ? strdup(*text) : NULL;
    const bool copied = copy || !*text;
    *text = copy;
    return copied;
}

static bool copy_form(acu_form *to, const acu_form *from) {
    void *code = malloc(from->bytes);
    to->runtime = strdup(from->runtime);
    to->code = code;
    to->bytes = from->bytes;
    if (code)
        memcpy(code, from->code, from->bytes);
    return code && to->runtime;
}

static bool copy_forms(acu_program_source *s) {
    const acu_form *from = s->forms;
    acu_form *to = s->form_count ? calloc(s->form_count, sizeof *to) : NULL;
    bool copied = to || s->form_count == 0;
    for (size_t i = 0; i < s->form_count && to; i++)
        copied = copy_form(&to[i], &from[i]) && copied;
    s->forms = to;
    return copied;
}

/* Makes all that the source points to the program's; returns whether there was memory. What was
 * copied is then freed by free_source(). */
static bool copy_source(acu_program_source *s) {
    bool copied =
        copy_text(&s->name); /* each is called, so that no pointer of the caller's stays */
    copied = copy_text(&s->ptx) && copied;
    copied = copy_text(&s->cuda) && copied;
    copied = copy_text(&s->wgsl) && copied;
    copied = copy_forms(s) && copied;
    s->group[0] = s->group[0] ? s->group[0] : 256;
    s->group[1] = s->group[1] ? s->group[1] : 1;
    s->group[2] = s->group[2] ? s->group[2] : 1;
    return copied;
}

static void free_source(acu_program_source *s) {
    for (size_t i = 0; i < s->form_count && s->forms; i++) {
        free((void *)s->forms[i].runtime);
        free((void *)s->forms[i].code);
    }
    free((void *)s->forms);
    free((void *)s->name);
    free((void *)s->ptx);
    free((void *)s->cuda);
    free((void *)s->wgsl);
}

/* ---- life ---- */

static acu_result destroy(acu_handle *handle) {
    acu_program *program = (acu_program *)handle;
    const acu_result code = acu_program_free_compiled(program);
    free_source(&program->source);
    pthread_mutex_destroy(&program->lock);
    return code;
}

static void describe(const acu_handle *handle, acu_handle_text *text) {
    acu_handle_add(text, " \"%.60s\"", ((const acu_program *)handle)->source.name);
}

const acu_handle_class acu_program_class = {"program", destroy, describe};

acu_result acu_program_create(const acu_program_source *source, acu_program **program) {
    acu_program_source s = {0};
    ACU_NEED_PLACE_FOR(program);
    ACU_NEED_ADDRESS(source);
    ACU_TRY(read_source(__func__, source, &s));
    acu_program *made = acu_handle_new(__func__, &acu_program_class, sizeof *made);
    if (!made)
        return ACU_ERROR_HOST_MEMORY;
    if (!copy_source(&s)) {
        free_source(&s);
        acu_handle_discard(made);
        return acu_fail(__func__, "", ACU_ERROR_HOST_MEMORY,
                        "the host has no memory for a program");
    }
    made->source = s;
    pthread_mutex_init(&made->lock, NULL);
    *program = made;
    return 0;
}

acu_program *acu_program_retain(acu_program *program) {
    return acu_handle_retain(__func__, program, &acu_program_class);
}

acu_result acu_program_release(acu_program *program) {
    return acu_handle_release(__func__, program, &acu_program_class);
}

void acu_program_cleanup(acu_program **program) {
    (void)acu_program_release(acu_take(program));
}

size_t acu_program_describe(const acu_program *program, char *text, size_t size) {
    return acu_handle_describe(program, &acu_program_class, text, size);
}

const char *acu_program_name(const acu_program *program) {
    return acu_handle_is(program, &acu_program_class) ? program->source.name : "";
}
