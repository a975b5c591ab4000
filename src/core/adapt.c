/*
 * One engine for every struct whose layout differs between versions: it walks the tables of
 * core/abi.h, so that generated adapters are a call each and nothing is written twice per struct.
 *
 * Memory of the caller is read and written by memcpy: a record may stand at any address (a batch
 * inside a byte buffer), and on the way out it may hold anything.
 */
#include "core/abi.h"

#include <stdio.h>
#include <string.h>

/* ---- reading what the tables describe ------------------------------------------------------ */

int64_t acu_value_read(const acu_type *type, const void *at) {
    bool is_signed = type->kind == ACU_KIND_SIGNED || type->kind == ACU_KIND_ENUM;
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    int64_t i64;
    switch (type->size) {
    case 1:
        memcpy(&u8, at, 1);
        return is_signed ? (int64_t)(int8_t)u8 : u8;
    case 2:
        memcpy(&u16, at, 2);
        return is_signed ? (int64_t)(int16_t)u16 : u16;
    case 4:
        memcpy(&u32, at, 4);
        return is_signed ? (int64_t)(int32_t)u32 : u32;
    case 8:
        memcpy(&i64, at, 8);
        return i64;
    default:
        return 0;
    }
}

static void write_integer(const acu_type *type, void *at, int64_t value) {
    uint8_t u8 = (uint8_t)value;
    uint16_t u16 = (uint16_t)value;
    uint32_t u32 = (uint32_t)value;
    switch (type->size) {
    case 1:
        memcpy(at, &u8, 1);
        break;
    case 2:
        memcpy(at, &u16, 2);
        break;
    case 4:
        memcpy(at, &u32, 4);
        break;
    case 8:
        memcpy(at, &value, 8);
        break;
    default:
        break;
    }
}

/* A table may give 0xffffffff or -1 for the same 32 bits. */
bool acu_value_equal(const acu_type *type, int64_t a, int64_t b) {
    uint64_t differ = (uint64_t)a ^ (uint64_t)b;
    return type->size >= 8 ? differ == 0 : (differ & ((UINT64_C(1) << (8U * type->size)) - 1)) == 0;
}

int32_t acu_field_tag(const acu_type *type, const acu_field *field, const void *record,
                      int32_t tag) {
    int32_t own;
    if (field->tag_offset < 0)
        return tag;
    /* Fields without tags say offset 0, in records of two bytes too. */
    if ((size_t)field->tag_offset + sizeof own > type->size)
        return 0;
    memcpy(&own, (const char *)record + field->tag_offset, sizeof own);
    return own;
}

const acu_type *acu_field_target(const acu_field *field) {
    return field->type->kind == ACU_KIND_POINTER ? field->type->target : NULL;
}

bool acu_field_active(const acu_field *field, int32_t tag) {
    if (!field->tags)
        return true;
    for (const int32_t *t = field->tags; *t != ACU_TAG_END; t++)
        if (*t == tag)
            return true;
    return false;
}

static void *read_pointer(const void *at) {
    void *pointer;
    memcpy(&pointer, at, sizeof pointer);
    return pointer;
}

static size_t as_count(int64_t value) {
    return value > 0 ? (size_t)value : 0;
}

const void *acu_argument_at(const acu_function *function, unsigned param, const void *args) {
    return (const char *)args + function->params[param].at;
}

size_t acu_argument_count(const acu_function *function, unsigned param, const void *args) {
    int by = (int)function->params[param].length;
    if (by < 0)
        return 1;
    const acu_param *counter = &function->params[by];
    const void *at = acu_argument_at(function, (unsigned)by, args);
    if (counter->depth)
        at = read_pointer(at);
    return at ? as_count(acu_value_read(counter->type, at)) : 0;
}

int32_t acu_argument_tag(const acu_function *function, unsigned param, const void *args) {
    int by = (int)function->params[param].tag;
    return by < 0 ? 0
                  : (int32_t)acu_value_read(function->params[by].type,
                                            acu_argument_at(function, (unsigned)by, args));
}

size_t acu_field_target_count(const acu_type *type, const acu_field *field, const void *record) {
    if (field->target_count < 0)
        return 1;
    for (uint32_t i = 0; i < type->count; i++)
        if (type->fields[i].offset == field->target_count)
            return as_count(
                acu_value_read(type->fields[i].type, (const char *)record + field->target_count));
    return 0;
}

/* ---- where we are, for the messages -------------------------------------------------------- */

/* A step to a field: a chain on the stack, written out only when there is something to say. */
typedef struct step {
    const struct step *up;
    const char *names; /* of the record or function that it is a part of */
    size_t part;
    bool pointer; /* what follows is behind it */
    bool indexed;
    size_t index;
} step;

typedef struct text {
    char *at;
    size_t size, used;
} text;

static void append(text *out, const char *piece) {
    while (*piece && out->used + 1 < out->size)
        out->at[out->used++] = *piece++;
    out->at[out->used] = '\0';
}

static void append_path(text *out, const step *path) {
    if (path->up) {
        append_path(out, path->up);
        append(out, path->up->pointer && !path->up->indexed ? "->" : ".");
    }
    append(out, acu_part_name(path->names, path->part));
    if (path->indexed) {
        char index[24];
        snprintf(index, sizeof index, "[%zu]", path->index);
        append(out, index);
    }
}

/* ---- what the loaded version lays out otherwise -------------------------------------------- */

typedef struct walk {
    const acu_function *function;
    const acu_param *param;
    int version;
} walk;

static walk begin(const acu_function *function, unsigned param) {
    return (walk){function, &function->params[param], acu_library_version(function->library)};
}

static step step_to(const step *up, const acu_type *type, const acu_field *field) {
    return (step){.up = up, .names = type->name, .part = (size_t)(field - type->fields)};
}

/* NULL: as presented. */
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

static size_t field_size(const acu_field *field) {
    return (size_t)field->type->size * field->count;
}

static bool lacks(const acu_type *type, const acu_field *field, int version) {
    const acu_layout *layout = layout_in(type, version);
    if (field->since > version)
        return true;
    if (!layout)
        return false;
    return layout->offsets ? layout->offsets[field - type->fields] < 0
                           : field->offset >= layout->size;
}

/* Padding that shares its bytes with a real field (the long one of a union) is no padding. */
static bool is_shared(const acu_type *type, const acu_field *padding) {
    const acu_field *f = type->fields;
    for (uint32_t i = 0; i < type->count; i++, f++)
        if (!f->reserved && f->offset < padding->offset + field_size(padding) &&
            padding->offset < f->offset + field_size(f))
            return true;
    return false;
}

static bool is_zero(const unsigned char *at, size_t size) {
    while (size && !*at)
        at++, size--;
    return size == 0;
}

/* Does it ask for something? Looks at fields, not at the compiler's padding between them. */
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
    if (is_zero(at, field_size(field)))
        return false;
    if (field->count != 1 || type->kind == ACU_KIND_FLOAT)
        return true;
    int64_t value = acu_value_read(type, at);
    return !acu_value_equal(type, value, field->absent) &&
           !acu_value_equal(type, value, field->harmless);
}

/* ---- on the way in: refuse what would be lost ---------------------------------------------- */

static int refuse_newer(const walk *w, const acu_field *field, const step *path) {
    char what[160];
    append_path(&(text){what, sizeof what, 0}, path);
    return acu_refuse_newer(w->function, what, field->since > w->version ? field->since : 0);
}

static int refuse_reserved(const walk *w, const step *path) {
    char what[160];
    append_path(&(text){what, sizeof what, 0}, path);
    return acu_refuse_invalid(w->function, what, "must be zero");
}

static int check(const walk *w, const acu_type *type, const unsigned char *record, int32_t tag,
                 const step *up);

static int check_each(const walk *w, const acu_type *type, const unsigned char *at, size_t count,
                      int32_t tag, step *path, bool indexed) {
    int refused = 0;
    path->indexed = indexed;
    for (path->index = 0; path->index < count && !refused; path->index++)
        refused = check(w, type, at + path->index * type->size, tag, path);
    return refused;
}

static int check_field(const walk *w, const acu_type *type, const acu_field *field,
                       const unsigned char *record, int32_t tag, const step *up) {
    const unsigned char *at = record + field->offset;
    const acu_type *pointed = acu_field_target(field);
    step path = step_to(up, type, field);
    path.pointer = pointed != NULL;
    if (field->reserved)
        return is_shared(type, field) || is_zero(at, field_size(field)) ? 0
                                                                        : refuse_reserved(w, &path);
    if (lacks(type, field, w->version))
        return in_use(type, field, record, tag) ? refuse_newer(w, field, &path) : 0;
    int32_t own = acu_field_tag(type, field, record, tag);
    if (field->type->kind == ACU_KIND_RECORD)
        return check_each(w, field->type, at, field->count, own, &path, field->count > 1);
    const void *target = pointed ? read_pointer(at) : NULL;
    if (!target)
        return 0;
    size_t count = acu_field_target_count(type, field, record);
    return check_each(w, pointed, target, count, own, &path, field->target_count >= 0);
}

static int check(const walk *w, const acu_type *type, const unsigned char *record, int32_t tag,
                 const step *up) {
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
    step path = {.names = function->name, .part = param, .pointer = w.param->depth > 0};
    if (!record || w.param->drops)
        return 0;
    return check_each(&w, w.param->type, record, count, tag, &path, w.param->length >= 0);
}

/* ---- on the way out: give what was not written its default --------------------------------- */

static void set_absent(const acu_field *field, unsigned char *at, bool keeps_harmless) {
    const acu_type *type = field->type;
    if (keeps_harmless && field->harmless && field->count == 1 &&
        acu_value_equal(type, acu_value_read(type, at), field->harmless))
        return;
    memset(at, 0, field_size(field));
    for (uint32_t i = 0; i < field->count; i++, at += type->size) {
        if (type->kind != ACU_KIND_RECORD && field->absent)
            write_integer(type, at, field->absent);
        for (uint32_t k = 0; type->kind == ACU_KIND_RECORD && k < type->count; k++)
            if (!type->fields[k].tags && type->fields[k].absent)
                set_absent(&type->fields[k], at + type->fields[k].offset, false);
    }
}

static void fill(const walk *w, const acu_type *type, unsigned char *record, int32_t tag) {
    /* What went in was checked: in an in-out record the caller's own values stay. */
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
                memset(at, 0, field_size(f));
        } else if (lacks(type, f, w->version)) {
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

/* ---- a temporary of the loaded layout ------------------------------------------------------ */

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
            memcpy(into, out_of, smaller(bytes, field_size(f)));
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

/* ---- explaining a failure: what in the arguments is newer than the library? ---------------- */

/* A count may be the very thing that was wrong: look at so many elements, not at all of them. */
enum { LOOK_AT = 64 };

typedef struct search {
    int version;
    text where; /* what was found, after the path to it, unless it is an argument itself */
} search;

/* A value may have several names; it is newer if all of them are. The oldest of them, or NULL. */
static const acu_value *newer_value(const acu_type *type, int64_t value, int version) {
    const acu_value *newer = NULL;
    const acu_value *v = type->values;
    for (uint32_t i = 0; i < type->count; i++, v++) {
        if (!acu_value_equal(type, v->value, value))
            continue;
        if (v->since <= version)
            return NULL;
        if (!newer || v->since < newer->since)
            newer = v;
    }
    return newer;
}

static bool has_flag(const acu_value *flag, uint64_t bits) {
    return ((uint64_t)flag->value & ~bits) == 0;
}

static const acu_value *newer_flag(const acu_type *type, uint64_t bits, int version) {
    uint64_t known = 0;
    const acu_value *v = type->values;
    for (uint32_t i = 0; i < type->count; i++)
        if (v[i].since <= version && has_flag(&v[i], bits))
            known |= (uint64_t)v[i].value;
    for (uint32_t i = 0; i < type->count; i++)
        if (v[i].since > version && has_flag(&v[i], bits) && !has_flag(&v[i], known))
            return &v[i];
    return NULL;
}

static const acu_value *find_in(search *s, const acu_type *type, const unsigned char *at,
                                int32_t tag, const step *path);

static const acu_value *find_in_each(search *s, const acu_type *type, const unsigned char *at,
                                     size_t count, int32_t tag, step *path) {
    const acu_value *newer = NULL;
    for (path->index = 0; !newer && path->index < smaller(count, LOOK_AT); path->index++)
        newer = find_in(s, type, at + path->index * type->size, tag, path);
    return newer;
}

static const acu_value *find_in_field(search *s, const acu_type *type, const acu_field *field,
                                      const unsigned char *record, int32_t tag, const step *up) {
    int32_t own = acu_field_tag(type, field, record, tag);
    const unsigned char *at = record + field->offset;
    const acu_type *pointed = acu_field_target(field);
    step path = step_to(up, type, field);
    path.indexed = field->count > 1;
    if (field->reserved || !acu_field_active(field, own) || lacks(type, field, s->version))
        return NULL;
    if (!pointed)
        return find_in_each(s, field->type, at, field->count, own, &path);
    path.pointer = true;
    path.indexed = field->target_count >= 0;
    at = read_pointer(at);
    return at ? find_in_each(s, pointed, at, acu_field_target_count(type, field, record), own,
                             &path)
              : NULL;
}

static const acu_value *find_in(search *s, const acu_type *type, const unsigned char *at,
                                int32_t tag, const step *path) {
    const acu_value *newer = NULL;
    if (type->kind == ACU_KIND_RECORD)
        for (uint32_t i = 0; !newer && i < type->count; i++)
            newer = find_in_field(s, type, &type->fields[i], at, tag, path);
    else if (type->kind == ACU_KIND_ENUM)
        newer = newer_value(type, acu_value_read(type, at), s->version);
    else if (type->kind == ACU_KIND_FLAGS)
        newer = newer_flag(type, (uint64_t)acu_value_read(type, at), s->version);
    if (!newer || type->kind == ACU_KIND_RECORD)
        return newer;
    if (path->up || path->pointer) {
        append_path(&s->where, path);
        append(&s->where, " = ");
    }
    append(&s->where, acu_part_name(type->name, (size_t)(newer - type->values)));
    return newer;
}

static const acu_value *find_in_argument(search *s, const acu_function *function, unsigned param,
                                         const void *args) {
    const acu_param *p = &function->params[param];
    int32_t tag = acu_argument_tag(function, param, args);
    step path = {.names = function->name, .part = param};
    /* What is dropped on the way in is nobody's mistake either. */
    if (!p->type || p->depth > 1 || p->drops || (p->depth && p->direction == ACU_OUT))
        return NULL;
    if (!p->depth)
        return find_in_each(s, p->type, acu_argument_at(function, param, args), 1, tag, &path);
    path.pointer = true;
    path.indexed = p->length >= 0;
    const void *at = read_pointer(acu_argument_at(function, param, args));
    return at ? find_in_each(s, p->type, at, acu_argument_count(function, param, args), tag, &path)
              : NULL;
}

const char *acu_newer_argument(const acu_function *function, const void *args, int version,
                               int *since) {
    static _Thread_local char said[256];
    search s = {version, {said, sizeof said, 0}};
    for (unsigned i = 0; i < function->param_count; i++) {
        const acu_value *newer = find_in_argument(&s, function, i, args);
        if (!newer)
            continue;
        *since = newer->since;
        return said;
    }
    return NULL;
}
