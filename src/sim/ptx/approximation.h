/*
 * What a GPU approximates, bit for bit as an H200 (docs/internals/ptx_approximations.md): upper
 * bits of a number choose a row, and the 17 bits x behind them go into c0 + c1 x + c2 x^2, of which
 * the first 24 bits are the result. Operands and results are doubles, so that subnormal floats have
 * all their bits; who calls flushes and rounds them. Functions have no branches, so that compilers
 * make vector instructions of them.
 */
#ifndef ACU_SIM_PTX_APPROXIMATION_H
#define ACU_SIM_PTX_APPROXIMATION_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    int64_t c0;
    int32_t c1, c2;
} approximation_row;

/* The rows of roots are those of even exponents, and then those of odd ones. */
extern const approximation_row acu_ptx_approximation_rcp[128];
extern const approximation_row acu_ptx_approximation_rsqrt[128];
extern const approximation_row acu_ptx_approximation_sqrt[128];
extern const approximation_row acu_ptx_approximation_ex2[64];
extern const approximation_row acu_ptx_approximation_lg2[64];
extern const approximation_row acu_ptx_approximation_sin[64];
extern const approximation_row acu_ptx_approximation_tanh[51];
/* For each power of 2 from 2^-8 to 2^2, the first of its rows, and the bits that choose one. */
extern const uint32_t acu_ptx_approximation_tanh_first[11];
extern const uint32_t acu_ptx_approximation_tanh_bits[11];

static inline double double_of(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint64_t bits_of_double(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Returns the 23 bits of a float's mantissa. */
static inline uint32_t approx_mantissa(double x) {
    return (uint32_t)(bits_of_double(x) >> 29) & 0x7fffff;
}

static inline int64_t approx_exponent(double x) {
    return (int64_t)(bits_of_double(x) >> 52 & 0x7ff) - 1023;
}

/* Returns 2^n. */
static inline double approx_power(int64_t n) {
    return double_of((uint64_t)(n + 1023) << 52);
}

/* Returns what a GPU takes for x^2 / 2^19: of the square's terms (a bit's square, or twice the
 * product of two bits) those from 2^19 on. All terms of the upper 7 bits are. */
static inline uint32_t approx_square(uint32_t x) {
    const uint32_t high = x >> 10, low = x & 0x3ff;
    uint32_t sum = 2 * high * high;
#pragma GCC unroll 7
    for (uint32_t i = 0; i < 7; i++)
        sum += -(high >> i & 1) & (low >> (8 - i));
    return sum;
}

static inline int64_t approx_sum(const approximation_row *row, uint32_t x) {
    return row->c0 + (int64_t)row->c1 * x + (int64_t)row->c2 * approx_square(x);
}

/* Returns the first 24 bits of a sum, which is not below 0, nor 2^52. */
static inline double approx_cut(int64_t sum) {
    const double whole = double_of((uint64_t)sum | UINT64_C(0x4330000000000000)) - 0x1p52;
    return double_of(bits_of_double(whole) & ~UINT64_C(0x1fffffff));
}

/* Returns 1 / x. */
static inline double approx_rcp(double x) {
    const uint32_t m = approx_mantissa(x);
    const int64_t sum = approx_sum(&acu_ptx_approximation_rcp[m >> 16], (m & 0xffff) << 1);
    const double result = approx_cut(sum) * approx_power(-40 - approx_exponent(x));
    return x != x ? x : copysign(x == 0 ? INFINITY : fabs(x) == INFINITY ? 0 : result, x);
}

/* Returns the row of a root, and makes *half the half of the exponent. */
static inline uint32_t approx_root_row(double x, int64_t *half) {
    const int64_t exponent = approx_exponent(x), odd = exponent & 1;
    *half = (exponent - odd) / 2;
    return (uint32_t)odd << 6 | approx_mantissa(x) >> 17;
}

/* Returns 1 / sqrt(x). */
static inline double approx_rsqrt(double x) {
    int64_t half;
    const uint32_t row = approx_root_row(x, &half), m = approx_mantissa(x);
    const int64_t sum = approx_sum(&acu_ptx_approximation_rsqrt[row], m & 0x1ffff);
    const double part = row == 0 && m == 0 ? 0x1p40 : approx_cut(sum); /* of powers of 4 */
    const double result = part * approx_power(-40 - half);
    return x > 0 ? x == INFINITY ? 0 : result : x == 0 ? copysign(INFINITY, x) : NAN;
}

static inline double approx_sqrt(double x) {
    int64_t half;
    const uint32_t row = approx_root_row(x, &half), m = approx_mantissa(x);
    const int64_t sum = approx_sum(&acu_ptx_approximation_sqrt[row], m & 0x1ffff);
    const double result = approx_cut(sum) * approx_power(half - 40);
    return x > 0 && x < INFINITY ? result : x == 0 || x == INFINITY ? x : NAN;
}

/* Returns 2^x, which is 2^-160 or 2^130 where x is beyond. Of x a GPU takes 23 bits behind the
 * point; below 0 it takes their complement, which lacks 1 in the last place, unless all are 0. */
static inline double approx_ex2(double x) {
    const double near = x > -160 ? x < 130 ? x : 130 : -160;
    const int32_t number = (int32_t)(fabs(near) * 0x1p23);
    const int32_t below = number & 0x7fffff ? ~number : -number, bits = near < 0 ? below : number;
    const uint32_t m = (uint32_t)bits & 0x7fffff;
    const int64_t sum = approx_sum(&acu_ptx_approximation_ex2[m >> 17], m & 0x1ffff);
    const double result = approx_cut(sum) * approx_power((bits >> 23) - 38);
    return x != x ? x : result;
}

/* Returns the binary logarithm of x, which is above 0 and finite. Of negative sums a GPU takes the
 * complement, which lacks 1 in the last place. */
static inline double approx_lg2_positive(double x) {
    const uint32_t m = approx_mantissa(x);
    const int64_t sum = approx_sum(&acu_ptx_approximation_lg2[m >> 17], m & 0x1ffff) +
                        approx_exponent(x) * (INT64_C(1) << 38);
    const double result = approx_cut((sum < 0 ? ~sum : sum) >> 2) * 0x1p-36;
    return x == 1 ? 0 : sum < 0 ? -result : result;
}

static inline double approx_lg2(double x) {
    const double result = approx_lg2_positive(x);
    return x > 0 && x < INFINITY ? result : x == 0 ? -INFINITY : x > 0 ? x : NAN;
}

/* Returns the sine of so many turns, of which a GPU takes 25 bits behind the point: two say the
 * quarter. In every other quarter it goes back, by the complement of the other bits. */
static inline double approx_sin_of_turns(uint32_t turns) {
    const uint32_t back = -(turns >> 23 & 1), m = (turns ^ back) & 0x7fffff;
    const int64_t sum = approx_sum(&acu_ptx_approximation_sin[m >> 17], m & 0x1ffff);
    const double result = approx_cut(sum) * 0x1p-37;
    return turns & 0x1000000 ? -result : result;
}

/* Returns the 25 bits of |x| / 2 pi. A GPU multiplies first, and rounds the product toward 0. */
static inline uint32_t approx_turns(double x) {
    const double product =
        double_of(bits_of_double(fabs(x) * 0x1.45f306p-3) & ~UINT64_C(0x1fffffff));
    return (uint32_t)(int32_t)((product - floor(product)) * 0x1p25);
}

static inline double approx_sin(double x) {
    const double result = approx_sin_of_turns(approx_turns(fabs(x) < INFINITY ? x : 0));
    return fabs(x) < INFINITY ? signbit(x) ? -result : result : NAN;
}

static inline double approx_cos(double x) {
    const uint32_t quarter = 0x800000;
    const double result = approx_sin_of_turns(approx_turns(fabs(x) < INFINITY ? x : 0) + quarter);
    return fabs(x) < INFINITY ? result : NAN;
}

/* Returns the hyperbolic tangent of x: x itself below 2^-8, and 1 or -1 from 8 on. Between them
 * each power of 2 has so many rows that its numbers are as far apart as is useful. */
static inline double approx_tanh(double x) {
    const int64_t exponent = approx_exponent(x);
    const int64_t n = exponent < -8 ? 0 : exponent > 2 ? 10 : exponent + 8;
    const uint32_t m = approx_mantissa(x), bits = acu_ptx_approximation_tanh_bits[n];
    const uint32_t row = acu_ptx_approximation_tanh_first[n] + (m >> (23 - bits));
    const int64_t sum = approx_sum(&acu_ptx_approximation_tanh[row], m >> (6 - bits) & 0x1ffff);
    const double result = exponent > 2 ? 1 : approx_cut(sum) * 0x1p-39;
    return exponent < -8 || x != x ? x : copysign(result, x);
}

#endif
