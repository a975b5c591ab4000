/* Floating point of 16 and 8 bits, which lanes have as its bits. lane.h includes this file. */
#ifndef ACU_SIM_PTX_LANE_HALF_H
#define ACU_SIM_PTX_LANE_HALF_H

#include "sim/ptx/lane_float.h"

#include <stdbool.h>

/* ---- narrow formats ---- */

/* A format: bits of the exponent and of the fraction. `finite`: it has no infinities (e4m3).
 * `all_numbers`: nor has it a NaN, whose bits are those of the largest number (e2m1). */
typedef struct narrow_format {
    int exponent, fraction;
    bool finite, all_numbers;
} narrow_format;

static const narrow_format format_f16 = {5, 10, false, false}, format_bf16 = {8, 7, false, false},
                           format_e4m3 = {4, 3, true, false}, format_e5m2 = {5, 2, false, false},
                           format_e2m3 = {2, 3, true, true}, format_e3m2 = {3, 2, true, true},
                           format_e2m1 = {2, 1, true, true};

/* Rounds to a narrow format, from the exact value: 'n' to nearest, 'z' towards zero, 'm' down, 'p'
 * up. With `satfinite` what is too large becomes the largest number. */
static inline uint32_t to_narrow(double value, narrow_format format, char way, bool satfinite) {
    uint64_t bits = bits_of_double(value);
    int bias = (1 << (format.exponent - 1)) - 1, shift = 52 - format.fraction;
    uint32_t sign = (uint32_t)(bits >> 63) << (format.exponent + format.fraction);
    uint32_t infinite = ((UINT32_C(1) << format.exponent) - 1) << format.fraction;
    uint32_t nan = infinite | ((UINT32_C(1) << format.fraction) - 1);
    uint32_t largest = format.all_numbers ? nan : format.finite ? nan - 1 : infinite - 1;
    if (value != value)
        return nan;
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023 + bias;
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    if (isinf(value))
        return sign | (satfinite || format.finite ? satfinite ? largest : nan : infinite);
    if (exponent <= 0) { /* subnormal in the narrow format, if it is not too small */
        fraction |= (bits >> 52 & 0x7ff) ? UINT64_C(1) << 52 : 0;
        shift += 1 - exponent;
        exponent = 0;
    }
    uint64_t kept = shift > 63 ? 0 : fraction >> shift,
             rest = shift > 63 ? (fraction != 0) : fraction & ((UINT64_C(1) << shift) - 1);
    uint64_t half = shift > 63 ? UINT64_MAX : UINT64_C(1) << (shift - 1);
    uint64_t result = ((uint64_t)exponent << format.fraction) + kept;
    bool away = way == (sign ? 'm' : 'p');
    if (way == 'n' ? rest > half || (rest == half && kept & 1) : away && rest)
        result++;
    if (result > largest)
        return sign | (satfinite || (way != 'n' && !away) ? largest
                       : format.finite                    ? nan
                                                          : infinite);
    return sign | (uint32_t)result;
}

static inline double of_narrow(uint32_t bits, narrow_format format) {
    int bias = (1 << (format.exponent - 1)) - 1;
    uint32_t fraction = bits & ((UINT32_C(1) << format.fraction) - 1);
    int exponent = (int)(bits >> format.fraction & ((UINT32_C(1) << format.exponent) - 1));
    bool negative = bits >> (format.exponent + format.fraction) & 1;
    double value;
    if (!format.all_numbers && exponent == (1 << format.exponent) - 1 &&
        (!format.finite || fraction == (UINT32_C(1) << format.fraction) - 1))
        value = fraction ? (double)NAN : (double)INFINITY;
    else if (exponent)
        value = ldexp((double)(fraction | UINT32_C(1) << format.fraction),
                      exponent - bias - format.fraction);
    else
        value = ldexp((double)fraction, 1 - bias - format.fraction);
    return negative ? -value : value;
}

/* Returns the exponent of a float as a power of two without a sign (ue8m0), of which 0xff is NaN:
 * the next lower one, or with `up` the next higher one. */
static inline uint16_t power_of(uint32_t bits, bool up, bool satfinite) {
    uint32_t magnitude = bits & 0x7fffffff;
    uint32_t power = magnitude >> 23;
    if (magnitude > 0x7f800000)
        return 0xff;
    /* Exponent 0 is 2^-127, which is a subnormal float. */
    if (up && power < 0xff && magnitude & 0x7fffff && magnitude > 0x400000)
        power++;
    return (uint16_t)(power == 0xff && satfinite ? 0xfe : power);
}

/* Returns the bf16 of a power of two. */
static inline uint16_t bf16_of_power(uint32_t power) {
    return (uint16_t)(power == 0xff ? 0x7fff : power ? power << 7 : 0x40);
}

/* ---- f16 and bf16 ---- */

static inline float f32_of_f16(uint16_t bits) {
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, exponent = bits >> 10 & 31,
             fraction = bits & 0x3ff;
    uint32_t normal = sign | (exponent + 112) << 23 | fraction << 13;
    uint32_t subnormal = sign | bits_of((float)(int32_t)fraction * 0x1p-24f);
    uint32_t other = fraction ? 0x7fffffff : sign | 0x7f800000;
    return float_of(exponent == 31 ? other : exponent ? normal : subnormal);
}

static inline float f32_of_bf16(uint16_t bits) {
    return float_of((uint32_t)bits << 16);
}

static inline bool is_nan_f16(uint16_t bits) {
    return (bits & 0x7fff) > 0x7c00;
}

static inline bool is_nan_bf16(uint16_t bits) {
    return (bits & 0x7fff) > 0x7f80;
}

/* Between 64 and 16 bits NaN keeps its sign and as much as fits, and becomes quiet. */
static inline double f64_of_f16(uint16_t bits) {
    if (!is_nan_f16(bits))
        return (double)f32_of_f16(bits);
    return double_of((uint64_t)(bits & 0x8000) << 48 | UINT64_C(0x7ff8) << 48 |
                     (uint64_t)(bits & 0x3ff) << 42);
}

static inline uint16_t with_nan_f16(uint16_t value, double from) {
    uint64_t bits = bits_of_double(from);
    return from == from ? value : (uint16_t)((bits >> 48 & 0x8000) | 0x7e00 | (bits >> 42 & 0x3ff));
}

static inline uint16_t with_nan_bf16(uint16_t value, double from) {
    uint64_t bits = bits_of_double(from);
    return from == from ? value : (uint16_t)((bits >> 48 & 0x8000) | 0x7fc0 | (bits >> 45 & 0x7f));
}

#define ROUND(type, name, way, finite)                                                             \
    static inline uint16_t type##_##name(double value) {                                           \
        return (uint16_t)to_narrow(value, format_##type, way, finite);                             \
    }
ROUND(f16, rz, 'z', false)
ROUND(f16, rm, 'm', false)
ROUND(f16, rp, 'p', false)
ROUND(bf16, rz, 'z', false)
ROUND(bf16, rm, 'm', false)
ROUND(bf16, rp, 'p', false)
ROUND(f16, finite_rn, 'n', true)
ROUND(f16, finite_rz, 'z', true)
ROUND(bf16, finite_rn, 'n', true)
ROUND(bf16, finite_rz, 'z', true)
#undef ROUND

/* Rounds to the nearest as to_narrow() does, without branches, so that compilers make vector
 * instructions of it. A number that is subnormal in 16 bits is added to one whose last bit counts
 * as much as theirs. */
static inline uint16_t rounded_half(double value, int fraction, int bias, double one,
                                    double least) {
    const int shift = 52 - fraction;
    int64_t bits = (int64_t)bits_of_double(value), size = bits & INT64_MAX;
    const uint64_t half = (UINT64_C(1) << (shift - 1)) - 1 + ((uint64_t)size >> shift & 1);
    int64_t normal =
        (int64_t)(((uint64_t)size + half) >> shift) - ((int64_t)(1023 - bias) << fraction);
    int64_t small =
        (int64_t)(bits_of_double(double_of((uint64_t)size) + one) - bits_of_double(one));
    int64_t result = double_of((uint64_t)size) < least ? small : normal;
    int64_t infinite = (int64_t)(2 * bias + 1) << fraction;
    result = result > infinite ? infinite : result;
    result |= (bits >> 48) & 0x8000;
    return (uint16_t)(value == value ? result : 0x7fff);
}

static inline uint16_t f16_of_double(double value) {
    return rounded_half(value, 10, 15, 0x1p28, 0x1p-14);
}

static inline uint16_t bf16_of_double(double value) {
    return rounded_half(value, 7, 127, 0x1p-81, 0x1p-126);
}

/* f16_of_float() and bf16_of_float() round as the two before, in half as many instructions. */
static inline uint16_t f16_of_float(float value) {
    uint32_t bits = bits_of(value), size = bits & 0x7fffffff, one = bits_of(0.5f);
    int32_t normal = (int32_t)((size + 0xfff + (size >> 13 & 1)) >> 13) - ((127 - 15) << 10);
    int32_t small = (int32_t)(bits_of(float_of(size) + 0.5f) - one);
    int32_t result = float_of(size) < 0x1p-14f ? small : normal;
    result = result > 0x7c00 ? 0x7c00 : result;
    return (uint16_t)(value == value ? (uint32_t)result | (bits >> 16 & 0x8000) : 0x7fff);
}

static inline uint16_t bf16_of_float(float value) {
    uint32_t bits = bits_of(value);
    return (uint16_t)(value == value ? (bits + 0x7fff + (bits >> 16 & 1)) >> 16 : 0x7fff);
}

#define f16_rn(value)  _Generic((value), float: f16_of_float, default: f16_of_double)(value)
#define bf16_rn(value) _Generic((value), float: bf16_of_float, default: bf16_of_double)(value)

/* Return a double from which any rounding to fewer bits gives what the integer itself would: if it
 * is not exact its last bit is set. */
static inline double odd_of_u64(uint64_t a) {
    return a >> 53 ? (double)(a >> 11 | ((a & 0x7ff) != 0)) * 0x1p11 : (double)a;
}

static inline double odd_of_s64(int64_t a) {
    return a < 0 ? -odd_of_u64(0 - (uint64_t)a) : odd_of_u64((uint64_t)a);
}

/* Returns a * b + c, where the product is exact and no sum of numbers is infinite, so that another
 * rounding gives the right result: if the sum is not exact its last bit is set. */
#define FUSED(type, word, bits_of_type, type_of)                                                   \
    static inline type fma_odd_##type(type a, type b, type c) {                                    \
        type product = a * b, sum = product + c, part = sum - product,                             \
             error = (product - (sum - part)) + (c - part);                                        \
        word bits = bits_of_type(sum);                                                             \
        bool kept = (error != error) | (error == 0) | (bits & 1);                                  \
        word odd = (error > 0) == (sum > 0) ? bits | 1 : bits - 1;                                 \
        return type_of(kept ? bits : odd);                                                         \
    }
FUSED(float, uint32_t, bits_of, float_of)
FUSED(double, uint64_t, bits_of_double, double_of)
#undef FUSED

/* A sum of two numbers of 16 bits is exact in 32, or far from where two roundings differ from one.
 * A product is exact in 32 bits if the exponent has 5, as in f16, and else in 64. */
#define HALF(type, wide)                                                                           \
    static inline uint16_t add_##type(uint16_t a, uint16_t b) {                                    \
        return type##_rn(f32_of_##type(a) + f32_of_##type(b));                                     \
    }                                                                                              \
    static inline uint16_t sub_##type(uint16_t a, uint16_t b) {                                    \
        return type##_rn(f32_of_##type(a) - f32_of_##type(b));                                     \
    }                                                                                              \
    static inline uint16_t mul_##type(uint16_t a, uint16_t b) {                                    \
        return type##_rn((wide)f32_of_##type(a) * f32_of_##type(b));                               \
    }                                                                                              \
    static inline uint16_t fma_##type(uint16_t a, uint16_t b, uint16_t c) {                        \
        return type##_rn(fma_odd_##wide(f32_of_##type(a), f32_of_##type(b), f32_of_##type(c)));    \
    }                                                                                              \
    static inline uint16_t min_##type(uint16_t a, uint16_t b) {                                    \
        return type##_rn(min_f32(f32_of_##type(a), f32_of_##type(b)));                             \
    }                                                                                              \
    static inline uint16_t max_##type(uint16_t a, uint16_t b) {                                    \
        return type##_rn(max_f32(f32_of_##type(a), f32_of_##type(b)));                             \
    }                                                                                              \
    static inline uint16_t min_nan_##type(uint16_t a, uint16_t b) {                                \
        return type##_rn(min_nan_f32(f32_of_##type(a), f32_of_##type(b)));                         \
    }                                                                                              \
    static inline uint16_t max_nan_##type(uint16_t a, uint16_t b) {                                \
        return type##_rn(max_nan_f32(f32_of_##type(a), f32_of_##type(b)));                         \
    }                                                                                              \
    static inline uint16_t neg_##type(uint16_t a) {                                                \
        return is_nan_##type(a) ? 0x7fff : a ^ 0x8000;                                             \
    }                                                                                              \
    static inline uint16_t abs_##type(uint16_t a) {                                                \
        return is_nan_##type(a) ? 0x7fff : a & 0x7fff;                                             \
    }                                                                                              \
    static inline uint16_t with_sign_##type(uint16_t value, uint16_t a, uint16_t b) {              \
        return is_nan_##type(value) ? value : (uint16_t)((value & 0x7fff) | ((a ^ b) & 0x8000));   \
    }                                                                                              \
    static inline uint16_t min_sign_##type(uint16_t a, uint16_t b) {                               \
        return with_sign_##type(min_##type(a & 0x7fff, b & 0x7fff), a, b);                         \
    }                                                                                              \
    static inline uint16_t max_sign_##type(uint16_t a, uint16_t b) {                               \
        return with_sign_##type(max_##type(a & 0x7fff, b & 0x7fff), a, b);                         \
    }                                                                                              \
    static inline uint16_t min_nan_sign_##type(uint16_t a, uint16_t b) {                           \
        return with_sign_##type(min_nan_##type(a & 0x7fff, b & 0x7fff), a, b);                     \
    }                                                                                              \
    static inline uint16_t max_nan_sign_##type(uint16_t a, uint16_t b) {                           \
        return with_sign_##type(max_nan_##type(a & 0x7fff, b & 0x7fff), a, b);                     \
    }                                                                                              \
    static inline uint16_t tanh_##type(uint16_t a) {                                               \
        return is_nan_##type(a) ? 0x7fff : type##_rz(approx_tanh((double)f32_of_##type(a)));       \
    }
HALF(f16, float)
HALF(bf16, double)
#undef HALF

/* Approximations lose the bits that 16 bits have no place for. */
static inline uint16_t ex2_f16(uint16_t a) {
    float power = ex2_approx_ftz_float(f32_of_f16(a));
    return power != power ? 0x7fff : power < 0x1p16f ? f16_rz((double)power) : 0x7c00;
}

static inline uint16_t ex2_bf16(uint16_t a) {
    return (uint16_t)(bits_of(number(ex2_approx_ftz_float(f32_of_bf16(a)))) >> 16);
}

static inline uint16_t low(uint32_t word) {
    return (uint16_t)word;
}

static inline uint16_t high(uint32_t word) {
    return (uint16_t)(word >> 16);
}

static inline uint32_t both(uint32_t low_half, uint32_t high_half) {
    return low_half | high_half << 16;
}

/* .ftz of an operand of f16. */
static inline uint16_t flush_f16(uint16_t a) {
    return a & 0x7c00 ? a : a & 0x8000;
}

/* .ftz of a result of f16, which is exact here, or whose last bit is set. As of floats, what would
 * not be normal if exponents had no end is flushed, although it is rounded to the smallest normal
 * number: what is below this part of it. */
static inline uint16_t flush_rounded(float value) {
    const float least = 0x1p-14f * (1 - 0x1p-12f);
    const uint16_t rounded = f16_rn(value);
    return fabsf(value) < least ? rounded & 0x8000 : rounded;
}

static inline uint16_t add_ftz_f16(uint16_t a, uint16_t b) {
    return flush_rounded(f32_of_f16(flush_f16(a)) + f32_of_f16(flush_f16(b)));
}

static inline uint16_t sub_ftz_f16(uint16_t a, uint16_t b) {
    return flush_rounded(f32_of_f16(flush_f16(a)) - f32_of_f16(flush_f16(b)));
}

static inline uint16_t mul_ftz_f16(uint16_t a, uint16_t b) {
    return flush_rounded(f32_of_f16(flush_f16(a)) * f32_of_f16(flush_f16(b)));
}

static inline uint16_t fma_ftz_f16(uint16_t a, uint16_t b, uint16_t c) {
    return flush_rounded(fma_odd_float(f32_of_f16(flush_f16(a)), f32_of_f16(flush_f16(b)),
                                       f32_of_f16(flush_f16(c))));
}

/* .sat and .relu. */

static inline uint16_t saturate_f16(uint16_t a) {
    return f16_rn(saturate(f32_of_f16(a)));
}

static inline uint16_t relu_f16(uint16_t a) {
    return (a & 0x7fff) > 0x7c00 ? 0x7fff : a & 0x8000 ? 0 : a;
}

static inline uint16_t relu_bf16(uint16_t a) {
    return (a & 0x7fff) > 0x7f80 ? 0x7fff : a & 0x8000 ? 0 : a;
}

static inline uint16_t plain(uint16_t a) {
    return a;
}

static inline float relu_f32(float a) {
    return a != a ? float_of(0x7fffffff) : a > 0 ? a : 0;
}

/* Returns the number as bf16, rounded away from zero where the random bits and those that are cut
 * off carry. */
static inline uint16_t bf16_rs(float a, uint32_t random) {
    uint32_t bits = bits_of(a);
    if (a != a)
        return 0x7fff;
    return (uint16_t)(isinf(a) ? bits >> 16 : (bits + (random & 0xffff)) >> 16);
}

static inline uint16_t bf16_finite_rs(float a, uint32_t random) {
    uint16_t bits = bf16_rs(a, random);
    return (bits & 0x7fff) == 0x7f80 ? bits - 1 : bits;
}

/* Returns 0 where a factor is the NaN that a tensor map puts in the place of what lies outside of
 * the tensor, with or without a sign; else the result. */
static inline uint16_t unless_outside(uint16_t result, uint32_t a, uint32_t b) {
    return (a & 0x7fff) == 0x7ff7 || (b & 0x7fff) == 0x7ff7 ? 0 : result;
}

/* tf32: a float whose last 13 bits are not used. */
static inline uint32_t tf32_rna(float a) {
    uint32_t bits = bits_of(a);
    return (bits & 0x7f800000) == 0x7f800000 ? bits & 0xffffe000 : (bits + 0x1000) & 0xffffe000;
}

static inline uint32_t tf32_rn(float a) {
    uint32_t bits = bits_of(a);
    if ((bits & 0x7f800000) == 0x7f800000)
        return a != a ? 0x7fffe000 : bits;
    return (bits + 0xfff + (bits >> 13 & 1)) & 0xffffe000;
}

static inline uint32_t tf32_rz(float a) {
    return a != a ? 0x7fffe000 : bits_of(a) & 0xffffe000;
}

/* Infinity becomes the largest number; a GPU treats NaN in the same way. */
static inline uint32_t tf32_finite(uint32_t a) {
    return (a & 0x7fffffff) >= 0x7f800000 ? a - 0x2000 : a;
}

static inline bool ordered_as(unsigned comparison, float a, float b) {
    switch (comparison) {
    case 0:
        return a == b;
    case 1:
        return a < b || a > b;
    case 2:
        return a < b;
    case 3:
        return a <= b;
    case 4:
        return a > b;
    case 5:
        return a >= b;
    default:
        return a == a && b == b;
    }
}

/* A comparison by its number, in the order of spec/ptx/half.yaml. */
static inline bool compare_as(unsigned comparison, float a, float b) {
    if (comparison < 6 || comparison == 12)
        return ordered_as(comparison, a, b);
    return a != a || b != b || (comparison < 12 && ordered_as(comparison - 6, a, b));
}

#endif
