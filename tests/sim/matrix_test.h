/* What the tests of products of matrices share: elements and their bits. */
#ifndef MATRIX_TEST_H
#define MATRIX_TEST_H

#include "driver_test.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* A type of elements: bits, and of floats those of the exponent and the fraction. */
typedef struct type {
    const char *name;
    unsigned bits, exponent, fraction;
    int least, most; /* the values that the tests use */
} type;

static const type types[] = {
    {"f16", 16, 5, 10, -8, 8},  {"bf16", 16, 8, 7, -8, 8},  {"tf32", 32, 8, 23, -8, 8},
    {"f32", 32, 8, 23, -8, 8},  {"e4m3", 8, 4, 3, -8, 8},   {"e5m2", 8, 5, 2, -4, 4},
    {"f64", 64, 11, 52, -8, 8}, {"s8", 8, 0, 0, -128, 127}, {"u8", 8, 0, 0, 0, 255},
    {"s4", 4, 0, 0, -8, 7},     {"u4", 4, 0, 0, 0, 15},     {"b1", 1, 0, 0, 0, 1},
    {"s32", 32, 0, 0, -8, 8},
};

static const type *type_of(const char *name) {
    for (size_t n = 0; n < sizeof types / sizeof *types; n++)
        if (strcmp(types[n].name, name) == 0)
            return &types[n];
    fail_msg("no type %s", name);
    return NULL;
}

/* Returns the bits of a small integer. */
static inline uint64_t encode(const type *t, int value) {
    if (!t->exponent)
        return (uint64_t)value & (UINT64_MAX >> (64 - t->bits));
    uint64_t size = (uint64_t)abs(value), sign = value < 0, top = 0;
    if (!size)
        return 0;
    while (size >> (top + 1))
        top++;
    uint64_t exponent = top + (UINT64_C(1) << (t->exponent - 1)) - 1;
    uint64_t fraction = (size ^ UINT64_C(1) << top) << t->fraction >> top;
    return ((sign << t->exponent) + exponent) << t->fraction | fraction;
}

static inline double decode(const type *t, uint64_t bits) {
    if (!t->exponent)
        return (double)(int32_t)bits;
    int bias = (1 << (t->exponent - 1)) - 1;
    uint64_t fraction = bits & ((UINT64_C(1) << t->fraction) - 1);
    int exponent = (int)(bits >> t->fraction & ((UINT64_C(1) << t->exponent) - 1));
    double value = exponent ? ldexp((double)fraction, -(int)t->fraction) + 1 : (double)fraction;
    value = ldexp(value, exponent ? exponent - bias : 1 - bias - (int)t->fraction);
    return bits >> (t->bits - 1) & 1 ? -value : value;
}

static uint32_t last_random = 1;

static inline int random_of(const type *t) {
    last_random = last_random * 1664525 + 1013904223;
    return t->least + (int)((last_random >> 8) % (unsigned)(t->most - t->least + 1));
}

/* Bits of an array of elements. */
static inline void put_bits(uint32_t *words, size_t index, unsigned bits, uint64_t value) {
    if (bits == 64)
        memcpy(words + index * 2, &value, sizeof value);
    else
        words[index * bits / 32] |= (uint32_t)value << index * bits % 32;
}

static inline uint64_t get_bits(const uint32_t *words, size_t index, unsigned bits) {
    uint64_t value;
    memcpy(&value, words + index * bits / 32 / 2 * 2, sizeof value);
    if (bits == 64)
        return value;
    return words[index * bits / 32] >> index * bits % 32 & (UINT32_MAX >> (32 - bits));
}

static inline CUmodule load_text(const char *text) {
    CUmodule module = NULL;
    OK(cuModuleLoadData(&module, text));
    return module;
}

#endif
