#include "core/values.h"

#include <string.h>

/* ---- values ---- */

const char *acu_part_name(const char *names, size_t part) {
    for (size_t i = 0; i <= part; i++)
        names += strlen(names) + 1;
    return names;
}

const char *acu_value_name(const acu_type *type, int64_t value) {
    for (uint32_t i = 0; i < type->count; i++)
        if (acu_value_equal(type, type->values[i].value, value))
            return acu_part_name(type->name, i);
    return NULL;
}

const acu_value *acu_value_find(const acu_type *type, const char *name) {
    const char *names = type->name;
    for (uint32_t i = 0; i < type->count; i++) {
        names = acu_part_name(names, 0);
        if (strcmp(names, name) == 0)
            return &type->values[i];
    }
    return NULL;
}

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

void acu_value_write(const acu_type *type, void *at, int64_t value) {
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

/* Compares only the bytes of the type, because a table may give 0xffffffff or -1 for 32 bits. */
bool acu_value_equal(const acu_type *type, int64_t a, int64_t b) {
    uint64_t differ = (uint64_t)a ^ (uint64_t)b;
    return type->size >= 8 ? differ == 0 : (differ & ((UINT64_C(1) << (8U * type->size)) - 1)) == 0;
}

void *acu_value_read_pointer(const void *at) {
    void *pointer;
    memcpy(&pointer, at, sizeof pointer);
    return pointer;
}

static size_t as_count(int64_t value) {
    return value > 0 ? (size_t)value : 0;
}

/* ---- fields ---- */

int32_t acu_field_tag(const acu_type *type, const acu_field *field, const void *record,
                      int32_t tag) {
    int32_t own;
    if (field->tag_offset < 0)
        return tag;
    /* Fields without tags have the offset 0, also in records of less than four bytes. */
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

size_t acu_field_target_count(const acu_type *type, const acu_field *field, const void *record) {
    if (field->target_count < 0)
        return 1;
    for (uint32_t i = 0; i < type->count; i++)
        if (type->fields[i].offset == field->target_count)
            return as_count(
                acu_value_read(type->fields[i].type, (const char *)record + field->target_count));
    return 0;
}

size_t acu_field_size(const acu_field *field) {
    return (size_t)field->type->size * field->count;
}

/* ---- arguments ---- */

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
        at = acu_value_read_pointer(at);
    return at ? as_count(acu_value_read(counter->type, at)) : 0;
}

int32_t acu_argument_tag(const acu_function *function, unsigned param, const void *args) {
    int by = (int)function->params[param].tag;
    return by < 0 ? 0
                  : (int32_t)acu_value_read(function->params[by].type,
                                            acu_argument_at(function, (unsigned)by, args));
}
