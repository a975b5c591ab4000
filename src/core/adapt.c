/*
 * One engine for every struct whose layout differs between versions. The engine walks the tables of
 * core/abi.h, so a generated adapter is one call, and no code is written twice per struct.
 *
 * The caller's memory is read and written by memcpy, because a record may stand at any address (a
 * batch inside a byte buffer), and on the way out it may hold anything.
 */
#include "core/adapt.h"

#include "core/call.h"
#include "core/path.h"
#include "core/refuse.h"
#include "core/values.h"

#include <string.h>

/* ---- layouts of the loaded version ---- */

typedef struct walk {
    const acu_function *function;
    const acu_param *param;
    int version;
} walk;

static walk begin(const acu_function *function, unsigned param) {
    return (walk){function, &function->params[param], acu_call_version(function->library)};
}

/* Returns the older layout in force; NULL if the version has the presented one. */
static const acu_layout *layout_in(const acu_type *type, int version) {
    for (const acu_layout *l = type->layouts; l && l->until; l++)
        if (l->since <= version && version < l->until)
            return l;
    return NULL;
}

static uint32_t loaded_size(const acu_type *type, int version) {
    const acu_layout *layout = layout_in(type, version);
    return layout ? layout->size : type->size;
}

bool acu_adapt_lacks(const acu_type *type, const acu_field *field, int version) {
    const acu_layout *layout = layout_in(type, version);
    if (field->since > version)
        return true;
    if (!layout)
        return false;
    return layout->offsets ? layout->offsets[field - type->fields] < 0
                           : field->offset >= layout->size;
}

/* Returns whether padding shares its bytes with a real field (the longest of a union), and so is
 * none. */
static bool is_shared(const acu_type *type, const acu_field *padding) {
    const acu_field *f = type->fields;
    for (uint32_t i = 0; i < type->count; i++, f++)
        if (!f->reserved && f->offset < padding->offset + acu_field_size(padding) &&
            padding->offset < f->offset + acu_field_size(f))
            return true;
    return false;
}

static bool is_zero(const unsigned char *at, size_t size) {
    while (size && !*at)
        at++, size--;
    return size == 0;
}

/* Returns whether a field asks for something that the library lacks: a value that is not zero,
 * absent or harmless. Fields are read, not the compiler's padding between them. */
static bool in_use(const acu_type *owner, const acu_field *field, const unsigned char *record,
                   int32_t tag) {
    const acu_type *type = field->type;
    const unsigned char *at = record + field->offset;
    int32_t own = acu_field_tag(owner, field, record, tag);
    if (!acu_field_active(field, own))
        return false;
    if (type->kind == ACU_KIND_RECORD) {
        for (uint32_t i = 0; i < field->count; i++, at += type->size)
            for (uint32_t k = 0; k < type->count; k++)
                if (in_use(type, &type->fields[k], at, own))
                    return true;
        return false;
    }
    if (is_zero(at, acu_field_size(field)))
        return false;
    if (field->count != 1 || type->kind == ACU_KIND_FLOAT)
        return true;
    int64_t value = acu_value_read(type, at);
    return !acu_value_equal(type, value, field->absent) &&
           !acu_value_equal(type, value, field->harmless);
}

/* ---- checking records on the way in ---- */

static int refuse_newer(const walk *w, const acu_field *field, const acu_path *path) {
    char what[160];
    acu_path_append(&(acu_path_text){what, sizeof what, 0}, path);
    return acu_refuse_newer(w->function, what, field->since > w->version ? field->since : 0);
}

static int refuse_reserved(const walk *w, const acu_path *path) {
    char what[160];
    acu_path_append(&(acu_path_text){what, sizeof what, 0}, path);
    return acu_refuse_invalid(w->function, what, "must be zero");
}

static int check(const walk *w, const acu_type *type, const unsigned char *record, int32_t tag,
                 const acu_path *up);

static int check_each(const walk *w, const acu_type *type, const unsigned char *at, size_t count,
                      int32_t tag, acu_path *path, bool indexed) {
    int refused = 0;
    path->indexed = indexed;
    for (path->index = 0; path->index < count && !refused; path->index++)
        refused = check(w, type, at + path->index * type->size, tag, path);
    return refused;
}

static int check_field(const walk *w, const acu_type *type, const acu_field *field,
                       const unsigned char *record, int32_t tag, const acu_path *up) {
    const unsigned char *at = record + field->offset;
    const acu_type *pointed = acu_field_target(field);
    acu_path path = acu_path_to_field(up, type, field);
    path.pointer = pointed != NULL;
    if (field->reserved)
        return is_shared(type, field) || is_zero(at, acu_field_size(field))
                   ? 0
                   : refuse_reserved(w, &path);
    if (acu_adapt_lacks(type, field, w->version))
        return in_use(type, field, record, tag) ? refuse_newer(w, field, &path) : 0;
    int32_t own = acu_field_tag(type, field, record, tag);
    if (field->type->kind == ACU_KIND_RECORD)
        return check_each(w, field->type, at, field->count, own, &path, field->count > 1);
    const void *target = pointed ? acu_value_read_pointer(at) : NULL;
    if (!target)
        return 0;
    size_t count = acu_field_target_count(type, field, record);
    return check_each(w, pointed, target, count, own, &path, field->target_count >= 0);
}

static int check(const walk *w, const acu_type *type, const unsigned char *record, int32_t tag,
                 const acu_path *up) {
    const acu_field *f = type->fields;
    for (uint32_t i = 0; i < type->count; i++, f++) {
        if (!acu_field_active(f, acu_field_tag(type, f, record, tag)))
            continue;
        int refused = check_field(w, type, f, record, tag, up);
        if (refused)
            return refused;
    }
    return 0;
}

int acu_adapt_check(const acu_function *function, unsigned param, const void *record, size_t count,
                    int tag) {
    walk w = begin(function, param);
    acu_path path = {.names = function->name, .part = param, .pointer = w.param->depth > 0};
    if (!record || w.param->drops)
        return 0;
    return check_each(&w, w.param->type, record, count, tag, &path, w.param->length >= 0);
}

/* ---- filling records on the way out ---- */

static void set_absent(const acu_field *field, unsigned char *at, bool keeps_harmless) {
    const acu_type *type = field->type;
    if (keeps_harmless && field->harmless && field->count == 1 &&
        acu_value_equal(type, acu_value_read(type, at), field->harmless))
        return;
    memset(at, 0, acu_field_size(field));
    for (uint32_t i = 0; i < field->count; i++, at += type->size) {
        if (type->kind != ACU_KIND_RECORD && field->absent)
            acu_value_write(type, at, field->absent);
        for (uint32_t k = 0; type->kind == ACU_KIND_RECORD && k < type->count; k++)
            if (!type->fields[k].tags && type->fields[k].absent)
                set_absent(&type->fields[k], at + type->fields[k].offset, false);
    }
}

static void fill(const walk *w, const acu_type *type, unsigned char *record, int32_t tag) {
    /* In an in-out record the caller's own values stay, because they were checked on the way in. */
    bool is_inout = w->param->direction == ACU_INOUT;
    const acu_layout *layout = layout_in(type, w->version);
    if (!is_inout && layout && !layout->offsets && layout->size < type->size)
        memset(record + layout->size, 0, type->size - layout->size);
    const acu_field *f = type->fields;
    for (uint32_t i = 0; i < type->count; i++, f++) {
        unsigned char *at = record + f->offset;
        int32_t own = acu_field_tag(type, f, record, tag);
        if (!acu_field_active(f, own))
            continue;
        if (f->reserved) {
            if (!is_shared(type, f))
                memset(at, 0, acu_field_size(f));
        } else if (acu_adapt_lacks(type, f, w->version)) {
            set_absent(f, at, is_inout);
        } else if (f->type->kind == ACU_KIND_RECORD) {
            for (uint32_t k = 0; k < f->count; k++)
                fill(w, f->type, at + (size_t)k * f->type->size, own);
        }
    }
}

void acu_adapt_fill(const acu_function *function, unsigned param, void *record, size_t count,
                    int tag) {
    walk w = begin(function, param);
    unsigned char *at = record;
    for (size_t i = 0; at && i < count; i++, at += w.param->type->size)
        fill(&w, w.param->type, at, tag);
}

/* ---- a temporary of the loaded layout ---- */

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Copies what both sides have; `in`: to the loaded layout, else from it. */
static void convert(int version, const acu_type *type, unsigned char *to, const unsigned char *from,
                    int32_t tag, bool in) {
    const acu_layout *layout = layout_in(type, version);
    if (!layout || !layout->offsets) {
        memcpy(to, from, smaller(type->size, loaded_size(type, version)));
        return;
    }
    for (uint32_t i = 0; i < type->count; i++) {
        const acu_field *f = &type->fields[i];
        int32_t own = acu_field_tag(type, f, in ? from : to, tag);
        if (layout->offsets[i] < 0 || f->reserved || !acu_field_active(f, own))
            continue;
        size_t stride = loaded_size(f->type, version);
        size_t bytes = layout->sizes ? layout->sizes[i] : stride * f->count;
        unsigned char *into = to + (in ? (uint32_t)layout->offsets[i] : f->offset);
        const unsigned char *out_of = from + (in ? f->offset : (uint32_t)layout->offsets[i]);
        if (f->type->kind != ACU_KIND_RECORD) {
            memcpy(into, out_of, smaller(bytes, acu_field_size(f)));
            continue;
        }
        for (size_t k = 0; k < smaller(f->count, bytes / stride); k++)
            convert(version, f->type, into + k * (in ? stride : f->type->size),
                    out_of + k * (in ? f->type->size : stride), own, in);
    }
}

int acu_adapt_to_loaded(const acu_function *function, unsigned param, void *loaded,
                        const void *presented, int tag) {
    walk w = begin(function, param);
    int refused = acu_adapt_check(function, param, presented, 1, tag);
    if (refused || !presented)
        return refused;
    memset(loaded, 0, loaded_size(w.param->type, w.version));
    convert(w.version, w.param->type, loaded, presented, tag, true);
    return 0;
}

void acu_adapt_from_loaded(const acu_function *function, unsigned param, void *presented,
                           const void *loaded, int tag) {
    walk w = begin(function, param);
    if (!presented)
        return;
    if (w.param->direction != ACU_INOUT)
        memset(presented, 0, w.param->type->size);
    convert(w.version, w.param->type, presented, loaded, tag, false);
    fill(&w, w.param->type, presented, tag);
}
