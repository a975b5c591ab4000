/*
 * What the loops over lanes are made of. lanes_v1.c, lanes_v3.c and lanes_v4.c include this file and then the generated
 * loops, each for another level of the processor; which one is used is chosen when the first kernel is made.
 */
#include "sim/ptx/warp.h"

#include <math.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

typedef uint16_t lane_u16 __attribute__((may_alias));
typedef int16_t lane_s16 __attribute__((may_alias));
typedef uint32_t lane_u32 __attribute__((may_alias));
typedef int32_t lane_s32 __attribute__((may_alias));
typedef uint64_t lane_u64 __attribute__((may_alias));
typedef int64_t lane_s64 __attribute__((may_alias));
typedef float lane_f32 __attribute__((may_alias));
typedef double lane_f64 __attribute__((may_alias));

/* A result is never where an operand of another size is, so that no lane depends on another one. */
#if defined(__clang__)
#define EACH_LANE _Pragma("clang loop vectorize(assume_safety)") for (unsigned i = 0; i < PTX_LANES; i++)
#else
#define EACH_LANE _Pragma("GCC ivdep") for (unsigned i = 0; i < PTX_LANES; i++)
#endif

/* Returns a bit for each lane whose word is ~0; every word is 0 or ~0. */
static inline uint32_t pack(const uint32_t *words) {
    uint32_t bits = 0;
#if defined(__AVX2__)
    for (unsigned i = 0; i < PTX_LANES; i += 8)
        bits |= (uint32_t)_mm256_movemask_ps(_mm256_loadu_ps((const lane_f32 *)(words + i))) << i;
#elif defined(__SSE2__)
    for (unsigned i = 0; i < PTX_LANES; i += 4)
        bits |= (uint32_t)_mm_movemask_ps(_mm_loadu_ps((const lane_f32 *)(words + i))) << i;
#else
    for (unsigned i = 0; i < PTX_LANES; i++)
        bits |= (words[i] & 1) << i;
#endif
    return bits;
}

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

/* .ftz: a subnormal number becomes a zero of its sign. */
static inline float flush(float value) {
    uint32_t bits = bits_of(value);
    return float_of(bits & 0x7f800000 ? bits : bits & 0x80000000);
}

/* .sat: what is not above 0, and NaN, becomes +0; what is above 1 becomes 1. */
static inline float saturate(float value) {
    return value > 0 ? value < 1 ? value : 1 : 0;
}

/* Integers wrap around. */
#define WRAPPING(type, lane, wide)                                                                                     \
    static inline lane add_##type(lane a, lane b) {                                                                    \
        return (lane)((wide)a + (wide)b);                                                                              \
    }                                                                                                                  \
    static inline lane sub_##type(lane a, lane b) {                                                                    \
        return (lane)((wide)a - (wide)b);                                                                              \
    }                                                                                                                  \
    static inline lane mul_##type(lane a, lane b) {                                                                    \
        return (lane)((wide)a * (wide)b);                                                                              \
    }
WRAPPING(u16, uint16_t, uint32_t)
WRAPPING(s16, int16_t, uint32_t)
WRAPPING(u32, uint32_t, uint32_t)
WRAPPING(s32, int32_t, uint32_t)
WRAPPING(u64, uint64_t, uint64_t)
WRAPPING(s64, int64_t, uint64_t)
#undef WRAPPING
