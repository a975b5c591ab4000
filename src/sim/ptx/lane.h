/*
 * What the loops over lanes are made of. lanes_v1.c, lanes_v3.c and lanes_v4.c include this file
 * and then the generated loops, each for another level of the processor; which one is used is
 * chosen when the first kernel is made.
 */
/* No sum takes in a product that it was not told to: GNU C would let it. Nobody reads the
 * exceptions of floating point, so that conversions may be vectorized. Nobody reads errno either:
 * gcc knows that of roots by -fno-math-errno of the build alone. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#else
#pragma GCC optimize("fp-contract=off", "no-trapping-math")
#endif

#include "sim/ptx/lane_float.h"
#include "sim/ptx/lane_half.h"
#include "sim/ptx/lane_integer.h"
#include "sim/ptx/masked.h"
#include "sim/ptx/warp.h"

#include <math.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* The names of the loops' tables; lanes_v3.c and lanes_v4.c have others. */
#if !defined(LANE_HANDLERS)
#define LANE_HANDLERS   acu_ptx_lane_handlers_v1
#define MEMORY_HANDLERS acu_ptx_memory_handlers_v1
#define MASKED_HANDLERS acu_ptx_masked_handlers_v1
#define MATRIX_LOOPS    acu_ptx_matrix_loops_v1
#endif

typedef uint16_t lane_u16 __attribute__((may_alias));
typedef int16_t lane_s16 __attribute__((may_alias));
typedef uint32_t lane_u32 __attribute__((may_alias));
typedef int32_t lane_s32 __attribute__((may_alias));
typedef uint64_t lane_u64 __attribute__((may_alias));
typedef int64_t lane_s64 __attribute__((may_alias));
typedef float lane_f32 __attribute__((may_alias));
typedef double lane_f64 __attribute__((may_alias));

/* What a handler is made of, for operands of which it knows the sizes. */
#define LANE_INLINE static inline __attribute__((always_inline))
/* What a handler seldom comes to; it keeps its own registers for itself. */
#define LANE_RARE __attribute__((noinline))

/* A result is never where an operand of another size is, so that no lane depends on another one. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" /* not every loop can be vectorized */
#define EACH_LANE                                                                                  \
    _Pragma("clang loop vectorize(assume_safety)") for (unsigned i = 0; i < PTX_LANES; i++)
#else
#define EACH_LANE _Pragma("GCC ivdep") for (unsigned i = 0; i < PTX_LANES; i++)
#endif

/* Without a loop where a word of all lanes is four vectors: what takes a few instructions.
 * Compilers do that themselves where it is two. */
#if defined(__AVX2__) && !defined(__AVX512F__) && !defined(__clang__)
#define EACH_LANE_SHORT _Pragma("GCC unroll 4") EACH_LANE
#else
#define EACH_LANE_SHORT EACH_LANE
#endif

/* Returns a bit for each lane whose word is ~0; every word is 0 or ~0. */
LANE_INLINE uint32_t pack(const uint32_t *words) {
    uint32_t bits = 0;
#if defined(__AVX512DQ__)
    bits = _cvtmask16_u32(_mm512_movepi32_mask(_mm512_loadu_si512(words))) |
           _cvtmask16_u32(_mm512_movepi32_mask(_mm512_loadu_si512(words + 16))) << 16;
#elif defined(__AVX2__)
#pragma GCC unroll 4
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
