/* Types of elements: their sizes and names, and which fit each other. */
#include "types/dtype.h"

#include <stdio.h>
#include <string.h>

acu_registered_dtype acu_registered_dtypes[ACU_REGISTERED_TYPES];

static const struct {
    const char *name;
    acu_dtype dtype;
    bool in_c; /* C has the type, so that a pointer implies it */
} types[] = {
    {"f64", ACU_F64, true},
    {"f32", ACU_F32, true},
    {"f16", ACU_F16, false},
    {"bf16", ACU_BF16, false},
    {"f8_e4m3", ACU_F8_E4M3, false},
    {"f8_e5m2", ACU_F8_E5M2, false},
    {"i8", ACU_I8, true},
    {"i16", ACU_I16, true},
    {"i32", ACU_I32, true},
    {"i64", ACU_I64, true},
    {"u8", ACU_U8, true},
    {"u16", ACU_U16, true},
    {"u32", ACU_U32, true},
    {"u64", ACU_U64, true},
    {"bool", ACU_BOOL, true},
    {"c64", ACU_C64, true},
    {"c128", ACU_C128, true},
};

/* Returns the place of a type in the table, which its first byte counts from 1; -1 if it is not
 * there. */
static int find(acu_dtype dtype) {
    int i = (int)(dtype >> 24u) - 1;
    return i >= 0 && i < (int)(sizeof types / sizeof *types) && types[i].dtype == dtype ? i : -1;
}

static bool is_bytes(acu_dtype dtype) {
    return (dtype & 0xff000000u) == ACU_BYTES_KIND;
}

const acu_registered_dtype *acu_dtype_find_registered(acu_dtype dtype) {
    const unsigned i = (dtype - ACU_REGISTERED_KIND) >> 24u; /* large where the number is smaller */
    if (i >= ACU_REGISTERED_TYPES)
        return NULL;
    const acu_registered_dtype *one = &acu_registered_dtypes[i];
    return atomic_load_explicit(&one->dtype, memory_order_acquire) == dtype ? one : NULL;
}

__attribute__((hot)) size_t acu_dtype_size(acu_dtype dtype) {
    const bool known = is_bytes(dtype) || find(dtype) >= 0 || acu_dtype_find_registered(dtype);
    return known ? dtype & 0xffffffu : 0;
}

size_t acu_dtype_group(acu_dtype dtype) {
    const acu_registered_dtype *one = acu_dtype_find_registered(dtype);
    return one ? one->elements : acu_dtype_size(dtype) != 0;
}

size_t acu_dtype_alignment(acu_dtype dtype) {
    const size_t size = acu_dtype_size(dtype), lowest = size & (~size + 1);
    return is_bytes(dtype) ? 1 : lowest;
}

static const char any[] = "any", unknown[] = "unknown";

const char *acu_dtype_name(acu_dtype dtype) {
    static _Thread_local char texts[2][32]; /* two, because a message may name two types */
    static _Thread_local unsigned turn;
    const acu_registered_dtype *one = acu_dtype_find_registered(dtype);
    int i = find(dtype);
    if (i >= 0 || one)
        return one ? one->name : types[i].name;
    if (!is_bytes(dtype) || acu_dtype_size(dtype) == 0)
        return dtype == ACU_ANY ? any : unknown;
    char *text = texts[turn++ % 2];
    snprintf(text, sizeof texts[0], "bytes(%zu)", acu_dtype_size(dtype));
    return text;
}

bool acu_dtype_is_taken(const char *name) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, name) == 0)
            return true;
    return strcmp(name, any) == 0 || strcmp(name, unknown) == 0;
}

/* Returns whether the integer type is what C programs use for a type that C lacks. */
static bool stands_in(acu_dtype integer, acu_dtype dtype) {
    int i = find(dtype);
    return i >= 0 && !types[i].in_c && (integer == ACU_U8 || integer == ACU_U16);
}

bool acu_dtype_fits(acu_dtype dtype, acu_dtype other) {
    if (dtype == other || dtype == ACU_ANY || other == ACU_ANY)
        return true;
    if (acu_dtype_size(dtype) != acu_dtype_size(other))
        return false;
    return is_bytes(dtype) || is_bytes(other) || stands_in(dtype, other) || stands_in(other, dtype);
}
