/* Floating point of lanes. lane.h includes this file. */
#ifndef ACU_SIM_PTX_LANE_FLOAT_H
#define ACU_SIM_PTX_LANE_FLOAT_H

#include "sim/ptx/approximation.h"

#include <fenv.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Two floats in 64 bits (.f32x2). */
static inline float low_float(uint64_t pair) {
    return float_of((uint32_t)pair);
}

static inline float high_float(uint64_t pair) {
    return float_of((uint32_t)(pair >> 32));
}

static inline uint64_t two_floats(float low, float high) {
    return bits_of(low) | (uint64_t)bits_of(high) << 32;
}

/* .ftz: a subnormal number becomes a zero of its sign. */
static inline float flush(float value) {
    uint32_t bits = bits_of(value);
    return float_of(bits & 0x7f800000 ? bits : bits & 0x80000000);
}

/* .sat: what is not above 0, and NaN, becomes +0; what is above 1 becomes 1. */
static inline float saturate(float value) {
    return value > 0 ? value < 1 ? value : 1 : 0;
}

static inline double saturate_double(double value) {
    return value > 0 ? value < 1 ? value : 1 : 0;
}

/* The result of arithmetic: a GPU has one NaN. */
static inline float number(float value) {
    return value == value ? value : float_of(0x7fffffff);
}

static inline double quiet(double value) {
    return double_of(bits_of_double(value) | UINT64_C(1) << 51);
}

/* Of 64 bits NaN is that of an operand, made quiet; of several, the first one that is given here.
 */
static inline double number_of_three(double value, double a, double b, double c) {
    double nan = c != c ? quiet(c) : double_of(UINT64_C(0xfff8000000000000));
    nan = b != b ? quiet(b) : nan;
    nan = a != a ? quiet(a) : nan;
    return value == value ? value : nan;
}

static inline double number_of_two(double value, double a, double b) {
    return number_of_three(value, a, b, b);
}

static inline double number_of(double value, double a) {
    return number_of_three(value, a, a, a);
}

/* ---- rounding to nearest ---- */

#define NEAREST(type)                                                                              \
    static inline type add_rn_##type(type a, type b) {                                             \
        return a + b;                                                                              \
    }                                                                                              \
    static inline type sub_rn_##type(type a, type b) {                                             \
        return a - b;                                                                              \
    }                                                                                              \
    static inline type mul_rn_##type(type a, type b) {                                             \
        return a * b;                                                                              \
    }                                                                                              \
    static inline type div_rn_##type(type a, type b) {                                             \
        return a / b;                                                                              \
    }                                                                                              \
    static inline type rcp_rn_##type(type a) {                                                     \
        return 1 / a;                                                                              \
    }
NEAREST(float)
NEAREST(double)
#undef NEAREST

static inline float fma_rn_float(float a, float b, float c) {
    return fmaf(a, b, c);
}

static inline double fma_rn_double(double a, double b, double c) {
    return fma(a, b, c);
}

static inline float sqrt_rn_float(float a) {
    return sqrtf(a);
}

static inline double sqrt_rn_double(double a) {
    return sqrt(a);
}

/* ---- the other roundings ---- */

/* The operands go through memory, so that the compiler computes nothing before the rounding is set
 * or after it is back. */
#define DIRECTED(rounding, direction, type, fused, root)                                           \
    static inline type add_##rounding##_##type(type a, type b) {                                   \
        volatile type x = a, y = b, result;                                                        \
        fesetround(direction);                                                                     \
        result = x + y;                                                                            \
        fesetround(FE_TONEAREST);                                                                  \
        return result;                                                                             \
    }                                                                                              \
    static inline type sub_##rounding##_##type(type a, type b) {                                   \
        return add_##rounding##_##type(a, -b);                                                     \
    }                                                                                              \
    static inline type mul_##rounding##_##type(type a, type b) {                                   \
        volatile type x = a, y = b, result;                                                        \
        fesetround(direction);                                                                     \
        result = x * y;                                                                            \
        fesetround(FE_TONEAREST);                                                                  \
        return result;                                                                             \
    }                                                                                              \
    static inline type div_##rounding##_##type(type a, type b) {                                   \
        volatile type x = a, y = b, result;                                                        \
        fesetround(direction);                                                                     \
        result = x / y;                                                                            \
        fesetround(FE_TONEAREST);                                                                  \
        return result;                                                                             \
    }                                                                                              \
    static inline type rcp_##rounding##_##type(type a) {                                           \
        return div_##rounding##_##type(1, a);                                                      \
    }                                                                                              \
    static inline type fma_##rounding##_##type(type a, type b, type c) {                           \
        volatile type x = a, y = b, z = c, result;                                                 \
        fesetround(direction);                                                                     \
        result = fused(x, y, z);                                                                   \
        fesetround(FE_TONEAREST);                                                                  \
        return result;                                                                             \
    }                                                                                              \
    static inline type sqrt_##rounding##_##type(type a) {                                          \
        volatile type x = a, result;                                                               \
        fesetround(direction);                                                                     \
        result = root(x);                                                                          \
        fesetround(FE_TONEAREST);                                                                  \
        return result;                                                                             \
    }                                                                                              \
    static inline type of_s64_##rounding##_##type(int64_t a) {                                     \
        volatile int64_t x = a;                                                                    \
        volatile type result;                                                                      \
        fesetround(direction);                                                                     \
        result = (type)x;                                                                          \
        fesetround(FE_TONEAREST);                                                                  \
        return result;                                                                             \
    }                                                                                              \
    static inline type of_u64_##rounding##_##type(uint64_t a) {                                    \
        volatile uint64_t x = a;                                                                   \
        volatile type result;                                                                      \
        fesetround(direction);                                                                     \
        result = (type)x;                                                                          \
        fesetround(FE_TONEAREST);                                                                  \
        return result;                                                                             \
    }
DIRECTED(rz, FE_TOWARDZERO, float, fmaf, sqrtf)
DIRECTED(rm, FE_DOWNWARD, float, fmaf, sqrtf)
DIRECTED(rp, FE_UPWARD, float, fmaf, sqrtf)
DIRECTED(rz, FE_TOWARDZERO, double, fma, sqrt)
DIRECTED(rm, FE_DOWNWARD, double, fma, sqrt)
DIRECTED(rp, FE_UPWARD, double, fma, sqrt)
#undef DIRECTED

static inline float of_s64_rn_float(int64_t a) {
    return (float)a;
}

static inline float of_u64_rn_float(uint64_t a) {
    return (float)a;
}

static inline double of_s64_rn_double(int64_t a) {
    return (double)a;
}

static inline double of_u64_rn_double(uint64_t a) {
    return (double)a;
}

static inline float narrow_rn(double a) {
    return (float)a;
}

#define NARROW(rounding, direction)                                                                \
    static inline float narrow_##rounding(double a) {                                              \
        volatile double x = a;                                                                     \
        volatile float result;                                                                     \
        fesetround(direction);                                                                     \
        result = (float)x;                                                                         \
        fesetround(FE_TONEAREST);                                                                  \
        return result;                                                                             \
    }
NARROW(rz, FE_TOWARDZERO)
NARROW(rm, FE_DOWNWARD)
NARROW(rp, FE_UPWARD)
#undef NARROW

/* ---- flushing what is rounded up to the smallest normal number ---- */

/* .ftz flushes what would not be normal if exponents had no end, although it is rounded to the
 * smallest normal number: what is below this part of it. 1 - 2^-24, which has 24 bits, is flushed.
 */
#define TINY_rn (1 - 0x1p-25)
#define TINY_rz (1 - 0x1p-24 + 0x1p-53)
#define TINY_rm TINY_rz
#define TINY_rp TINY_rz

/* The same of products, for which numbers that are larger by a power of two show it. */
static inline float flush_scaled(float value, float scaled) {
    return fabsf(scaled) < 0x1p-62f ? float_of(bits_of(value) & 0x80000000) : value;
}

#define FLUSHED(rounding)                                                                          \
    static inline float mul_ftz_##rounding##_float(float a, float b) {                             \
        return flush_scaled(mul_##rounding##_float(a, b), mul_##rounding##_float(a * 0x1p64f, b)); \
    }                                                                                              \
    static inline float fma_ftz_##rounding##_float(float a, float b, float c) {                    \
        return flush_scaled(fma_##rounding##_float(a, b, c),                                       \
                            fma_##rounding##_float(a * 0x1p64f, b, c * 0x1p64f));                  \
    }
FLUSHED(rn)
FLUSHED(rz)
FLUSHED(rm)
FLUSHED(rp)
#undef FLUSHED

static inline float flush_tiny(float value, double exact, double part) {
    bool tiny = fabsf(value) == 0x1p-126f && fabs(exact) < 0x1p-126 * part;
    return tiny ? float_of(bits_of(value) & 0x80000000) : value;
}

static inline float not_flushed(float value, double exact, double part) {
    (void)exact;
    (void)part;
    return value;
}

/* ---- smallest and largest ---- */

/* A zero with a sign is below one without; what is no number loses, or, with .NaN, wins. */
static inline float min_f32(float a, float b) {
    int first = (a < b) | ((a == b) & (int)(bits_of(a) >> 31));
    float result = first ? a : b;
    result = b != b ? a : result;
    return a != a ? number(b) : result;
}

static inline float max_f32(float a, float b) {
    int first = (a > b) | ((a == b) & (int)(~bits_of(a) >> 31));
    float result = first ? a : b;
    result = b != b ? a : result;
    return a != a ? number(b) : result;
}

static inline float min_nan_f32(float a, float b) {
    return a != a || b != b ? float_of(0x7fffffff) : min_f32(a, b);
}

static inline float max_nan_f32(float a, float b) {
    return a != a || b != b ? float_of(0x7fffffff) : max_f32(a, b);
}

static inline double min_f64(double a, double b) {
    if (a != a)
        return b != b ? quiet(b) : b;
    if (b != b)
        return a;
    return a < b || (a == b && bits_of_double(a) >> 63) ? a : b;
}

static inline double max_f64(double a, double b) {
    if (a != a)
        return b != b ? quiet(b) : b;
    if (b != b)
        return a;
    return a > b || (a == b && !(bits_of_double(a) >> 63)) ? a : b;
}

/* The magnitude is the result's, the sign that of the product. */
static inline float with_sign_of_both(float value, float a, float b) {
    if (value != value)
        return value;
    return float_of((bits_of(value) & 0x7fffffff) | ((bits_of(a) ^ bits_of(b)) & 0x80000000));
}

/* ---- to integers ---- */

/* A number that does not fit becomes the nearest one that does; NaN becomes 0, or, where one side
 * has 64 bits, the highest bit alone. */
#define TO_INTEGER(type, lane, low, high, nan)                                                     \
    static inline lane to_##type(double value) {                                                   \
        return value != value            ? (nan)                                                   \
               : value <= (double)(low)  ? (low)                                                   \
               : value >= (double)(high) ? (high)                                                  \
                                         : (lane)value;                                            \
    }
TO_INTEGER(u32, uint32_t, 0, UINT32_MAX, 0)
TO_INTEGER(u64, uint64_t, 0, UINT64_MAX, UINT64_C(1) << 63)
TO_INTEGER(s64, int64_t, INT64_MIN, INT64_MAX, INT64_MIN)
#undef TO_INTEGER

/* The same without branches, for what fits in 32 bits with a sign. */
#define TO_SMALL(type, lane, low, high)                                                            \
    static inline lane to_##type(double value) {                                                   \
        double least = value > (low) ? value : (low), most = least < (high) ? least : (high);      \
        return (lane)(value != value ? 0 : (int32_t)most);                                         \
    }
TO_SMALL(u8, uint8_t, 0, UINT8_MAX)
TO_SMALL(s8, int8_t, INT8_MIN, INT8_MAX)
TO_SMALL(u16, uint16_t, 0, UINT16_MAX)
TO_SMALL(s16, int16_t, INT16_MIN, INT16_MAX)
TO_SMALL(s32, int32_t, INT32_MIN, INT32_MAX)
#undef TO_SMALL

/* What NaN of 64 bits becomes. */
#define NAN_OF_u8  UINT8_C(0x80)
#define NAN_OF_s8  INT8_MIN
#define NAN_OF_u16 UINT16_C(0x8000)
#define NAN_OF_s16 INT16_MIN
#define NAN_OF_u32 UINT32_C(0x80000000)
#define NAN_OF_s32 INT32_MIN
#define NAN_OF_u64 (UINT64_C(1) << 63)
#define NAN_OF_s64 INT64_MIN

/* ---- approximations ---- */

/* A reciprocal or a power that is not normal becomes 0. */
static inline double flush_approximation(double value) {
    return fabs(value) < 0x1p-126 ? copysign(0, value) : value;
}

static inline float rcp_approx_float(float a) {
    return (float)approx_rcp((double)a);
}

static inline float rcp_approx_ftz_float(float a) {
    return (float)flush_approximation(approx_rcp((double)a));
}

/* Above 2^126 a divisor has no reciprocal but 0; .full divides both numbers by 4 before. */
static inline float div_approx_float(float a, float b) {
    return (float)((double)a * flush_approximation(approx_rcp((double)b)));
}

static inline float div_approx_ftz_float(float a, float b) {
    return mul_ftz_rn_float(a, rcp_approx_ftz_float(b));
}

static inline float div_full_float(float a, float b) {
    return (float)((double)a * approx_rcp((double)b));
}

static inline float div_full_ftz_float(float a, float b) {
    const float part = fabsf(b) > 0x1p126f ? 0.25f : 1;
    return mul_ftz_rn_float(flush(a * part), rcp_approx_ftz_float(b * part));
}

/* A sum that takes in a quotient: ptxas fuses it with the product by the reciprocal. */
static inline float div_approx_add_float(float a, float b, float c) {
    const float scale = fabsf(b) < 0x1p-126f ? 0x1p24f : 1;
    return fma_rn_float(a * scale, rcp_approx_ftz_float(b * scale), c);
}

static inline float div_full_add_float(float a, float b, float c) {
    const float scale = fabsf(b) > 0x1p126f ? 0.25f : fabsf(b) < 0x1p-126f ? 0x1p24f : 1;
    return fma_rn_float(a * scale, rcp_approx_ftz_float(b * scale), c);
}

static inline float div_approx_ftz_add_float(float a, float b, float c) {
    return fma_ftz_rn_float(a, rcp_approx_ftz_float(b), c);
}

static inline float div_full_ftz_add_float(float a, float b, float c) {
    const float part = fabsf(b) > 0x1p126f ? 0.25f : 1;
    return fma_ftz_rn_float(flush(a * part), rcp_approx_ftz_float(b * part), c);
}

static inline float sqrt_approx_float(float a) {
    return (float)approx_sqrt((double)a);
}

static inline float rsqrt_approx_float(float a) {
    return (float)approx_rsqrt((double)a);
}

/* What is below 2^-126 is the square of the root, which is rounded. */
static inline float ex2_approx_float(float a) {
    const double root = flush_approximation(approx_ex2((double)a * (a < -126 ? 0.5 : 1)));
    return (float)(a < -126 ? root * root : root);
}

static inline float ex2_approx_ftz_float(float a) {
    return (float)flush_approximation(approx_ex2((double)a));
}

/* Of a subnormal number the logarithm is that of 2^24 times as much, less 24, which is rounded. */
static inline float lg2_approx_float(float a) {
    const bool subnormal = fabsf(a) < 0x1p-126f;
    const double logarithm = approx_lg2((double)a * (subnormal ? 0x1p24 : 1));
    return (float)(logarithm - (subnormal ? 24 : 0));
}

static inline float sin_approx_float(float a) {
    return (float)approx_sin((double)a);
}

static inline float cos_approx_float(float a) {
    return (float)approx_cos((double)a);
}

static inline float tanh_approx_float(float a) {
    return (float)approx_tanh((double)a);
}

/* .approx.ftz of 64 bits reads and gives the upper half of the number. */
static inline double upper_half(double a) {
    return double_of(bits_of_double(a) & UINT64_C(0xffffffff00000000));
}

static inline double upper_number(double value) {
    return value == value ? upper_half(value) : double_of(UINT64_C(0x7fffffff00000000));
}

static inline double flush_double(double value) {
    return fabs(value) < 0x1p-1022 ? copysign(0, value) : value;
}

static inline double rcp_upper(double a) {
    const double x = flush_double(upper_half(a));
    const bool scaled = fabs(x) >= 0x1p900 && fabs(x) < INFINITY;
    const double y = approx_rcp(scaled ? x * 0x1p-200 : x);
    return upper_number(flush_double(scaled ? y * 0x1p-200 : y));
}

static inline double rsqrt_upper(double a) {
    return upper_number(approx_rsqrt(flush_double(upper_half(a))));
}

/* Without .ftz all bits are right but the last one or two: a step of Halley's method follows. */
static inline double rsqrt_approx_double(double a) {
    const double x = a < 0x1p-1022 ? a * 0x1p54 : a, part = a < 0x1p-1022 ? 0x1p27 : 1;
    const double y = rsqrt_upper(x), rest = fma(x, -(y * y), 1);
    const double result = fma(fma(rest, 0.375, 0.5), y * rest, y) * part;
    const double other = a == 0 ? copysign(INFINITY, a) : a > 0 ? 0 : number_of(NAN, a);
    return a > 0 && a < INFINITY ? result : other;
}

#endif
