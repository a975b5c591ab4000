#include "core/newer.h"

#include "core/adapt.h"
#include "core/path.h"
#include "core/values.h"

/* The number of elements that are read at most, because the count may be the very argument that was
 * wrong. */
enum { MOST_ELEMENTS = 64 };

typedef struct search {
    int version;
    acu_path_text text; /* the name of what was found, after the path to it where there is one */
} search;

/* Returns the entry of a newer value, or NULL. A value with several names is newer if all of them
 * are; the oldest is returned. */
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
                                int32_t tag, const acu_path *path);

static const acu_value *find_in_each(search *s, const acu_type *type, const unsigned char *at,
                                     size_t count, int32_t tag, acu_path *path) {
    const acu_value *newer = NULL;
    for (path->index = 0; !newer && path->index < count && path->index < MOST_ELEMENTS;
         path->index++)
        newer = find_in(s, type, at + path->index * type->size, tag, path);
    return newer;
}

static const acu_value *find_in_field(search *s, const acu_type *type, const acu_field *field,
                                      const unsigned char *record, int32_t tag,
                                      const acu_path *up) {
    int32_t own = acu_field_tag(type, field, record, tag);
    const unsigned char *at = record + field->offset;
    const acu_type *pointed = acu_field_target(field);
    acu_path path = acu_path_to_field(up, type, field);
    path.indexed = field->count > 1;
    if (field->reserved || !acu_field_active(field, own) ||
        acu_adapt_lacks(type, field, s->version))
        return NULL;
    if (!pointed)
        return find_in_each(s, field->type, at, field->count, own, &path);
    path.pointer = true;
    path.indexed = field->target_count >= 0;
    at = acu_value_read_pointer(at);
    return at ? find_in_each(s, pointed, at, acu_field_target_count(type, field, record), own,
                             &path)
              : NULL;
}

static const acu_value *find_in(search *s, const acu_type *type, const unsigned char *at,
                                int32_t tag, const acu_path *path) {
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
        acu_path_append(&s->text, path);
        acu_path_append_text(&s->text, " = ");
    }
    acu_path_append_text(&s->text, acu_part_name(type->name, (size_t)(newer - type->values)));
    return newer;
}

static const acu_value *find_in_argument(search *s, const acu_function *function, unsigned param,
                                         const void *args) {
    const acu_param *p = &function->params[param];
    int32_t tag = acu_argument_tag(function, param, args);
    acu_path path = {.names = function->name, .part = param};
    /* A field that is dropped on the way in cannot be the reason for the failure. */
    if (!p->type || p->depth > 1 || p->drops || (p->depth && p->direction == ACU_OUT))
        return NULL;
    if (!p->depth)
        return find_in_each(s, p->type, acu_argument_at(function, param, args), 1, tag, &path);
    path.pointer = true;
    path.indexed = p->length >= 0;
    const void *at = acu_value_read_pointer(acu_argument_at(function, param, args));
    return at ? find_in_each(s, p->type, at, acu_argument_count(function, param, args), tag, &path)
              : NULL;
}

static bool was_judged(const acu_function *function, int version) {
    return acu_function_has_quirk(function, ACU_QUIRK_OLDEST_JUDGES) && function->era_count > 1 &&
           version < function->eras[1].since;
}

const char *acu_newer_argument(const acu_function *function, const void *args, int version,
                               int *since) {
    static _Thread_local char text[256];
    search s = {version, {text, sizeof text, 0}};
    for (unsigned i = 0; i < function->param_count && !was_judged(function, version); i++) {
        const acu_value *newer = find_in_argument(&s, function, i, args);
        if (!newer)
            continue;
        *since = newer->since;
        return text;
    }
    return NULL;
}
