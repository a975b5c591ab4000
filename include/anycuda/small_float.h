/*
 * What the small floating-point types of <cuda_fp16.h>, <cuda_bf16.h> and <cuda_fp8.h> share: a
 * number as significand times a power of two, rounded into a format with few bits. A format is the
 * number of its exponent's bits and of its fraction's, and `largest`, the pattern of its largest
 * finite number.
 */
#ifndef ACU_SMALL_FLOAT_H
#define ACU_SMALL_FLOAT_H

#include <anycuda/base.h>

#include <string.h>

ACU_BEGIN_CASTS

/* How a number that lies between two of a format is rounded, as cudaRoundMode counts. */
#define ACU_ROUND_NEAREST 0
#define ACU_ROUND_ZERO    1
#define ACU_ROUND_UP      2
#define ACU_ROUND_DOWN    3

/* significand * 2^exponent, or no such number */
typedef struct acu_number {
    uint64_t significand;
    int exponent;
    int negative;
    int infinite;
    int nan;
} acu_number;

static inline acu_number acu_number_of_integer(uint64_t magnitude, int negative) {
    acu_number number = {magnitude, 0, negative, 0, 0};
    return number;
}

static inline acu_number acu_number_of_double(double value) {
    acu_number number = {0, 0, 0, 0, 0};
    uint64_t bits;
    int field;
    memcpy(&bits, &value, sizeof(bits));
    field = (int)(bits >> 52 & 0x7ff);
    number.significand = bits & 0xfffffffffffffu;
    number.negative = (int)(bits >> 63);
    number.infinite = field == 0x7ff && !number.significand;
    number.nan = field == 0x7ff && number.significand;
    number.exponent = (field ? field : 1) - 1075;
    if (field)
        number.significand |= (uint64_t)1 << 52;
    return number;
}

/* The pattern of a format with so many bits, which must be finite; the sign is not part of it. */
static inline acu_number acu_number_of_pattern(unsigned pattern, int exponent_bits,
                                               int fraction_bits) {
    acu_number number = {0, 0, 0, 0, 0};
    const int field = (int)(pattern >> fraction_bits);
    number.significand = pattern & ((1u << fraction_bits) - 1);
    if (field)
        number.significand |= 1u << fraction_bits;
    number.exponent = (field ? field : 1) - ((1 << (exponent_bits - 1)) - 1) - fraction_bits;
    return number;
}

/* Exact for every number of a small format. */
static inline double acu_number_to_double(acu_number number) {
    const uint64_t bits = (uint64_t)(number.exponent + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof(power));
    return (number.negative ? -(double)number.significand : (double)number.significand) * power;
}

/*
 * The pattern of a finite number without its sign. What is larger than the largest finite number
 * becomes that number, or the pattern after it (infinity), as the rounding says.
 */
static inline unsigned acu_number_round(acu_number number, int exponent_bits, int fraction_bits,
                                        unsigned largest, int rounding) {
    const int lowest = 2 - (1 << (exponent_bits - 1));
    const int away = rounding == (number.negative ? ACU_ROUND_DOWN : ACU_ROUND_UP);
    uint64_t significand = number.significand, rest;
    int exponent = number.exponent + 63, dropped = 63 - fraction_bits;
    unsigned pattern;
    if (!significand)
        return 0;
    while (!(significand >> 63)) {
        significand <<= 1;
        exponent--;
    }
    if (exponent < lowest)
        dropped += lowest - exponent;
    pattern = dropped < 64 ? (unsigned)(significand >> dropped) : 0;
    /* What is dropped, as a fraction of the last kept bit; of less than a half only that it is
     * there. */
    rest = dropped < 64 ? significand << (64 - dropped) : dropped == 64 ? significand : 1;
    if (rounding == ACU_ROUND_NEAREST)
        pattern += rest > (uint64_t)1 << 63 || (rest == (uint64_t)1 << 63 && (pattern & 1));
    else
        pattern += away && rest;
    if (exponent > lowest)
        pattern += (unsigned)(exponent - lowest) << fraction_bits;
    if (pattern <= largest)
        return pattern;
    return rounding == ACU_ROUND_NEAREST || away ? largest + 1 : largest;
}

/* Towards zero into [lowest, highest], as a GPU converts: too much becomes the nearest of the two.
 */
static inline long long acu_number_to_signed(acu_number number, long long lowest, long long highest,
                                             long long nan) {
    const uint64_t limit = number.negative ? (uint64_t)0 - (uint64_t)lowest : (uint64_t)highest;
    uint64_t magnitude = 0;
    if (number.nan)
        return nan;
    if (number.infinite || (number.significand && number.exponent > 62))
        magnitude = limit;
    else if (number.exponent >= 0)
        magnitude = number.significand << number.exponent;
    else if (number.exponent > -64)
        magnitude = number.significand >> -number.exponent;
    if (magnitude > limit ||
        (number.exponent > 0 && magnitude >> number.exponent != number.significand))
        magnitude = limit;
    return (long long)(number.negative ? (uint64_t)0 - magnitude : magnitude);
}

static inline unsigned long long
acu_number_to_unsigned(acu_number number, unsigned long long highest, unsigned long long nan) {
    uint64_t magnitude = 0;
    if (number.nan)
        return nan;
    if (number.negative)
        return 0;
    if (number.infinite || (number.significand && number.exponent > 63))
        return highest;
    if (number.exponent >= 0)
        magnitude = number.significand << number.exponent;
    else if (number.exponent > -64)
        magnitude = number.significand >> -number.exponent;
    if (magnitude > highest ||
        (number.exponent > 0 && magnitude >> number.exponent != number.significand))
        return highest;
    return magnitude;
}

ACU_END_CASTS

#endif
