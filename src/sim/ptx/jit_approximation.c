/*
 * Approximations, whose results are those of sim/ptx/approximation.h for every float. Of each
 * operand lanes of 32 bits find the row, x, and what the sum is multiplied by; two vectors share
 * the computation of x^2, of 16 bits. Then lanes of 64 bits gather the row and compute the sum, as
 * doubles, which have all its bits.
 */
#include "sim/ptx/jit_inside.h"
#include "sim/ptx/lane_float.h"
#include "sim/ptx/lower_inside.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

/* A row: the upper halves of c1 and c2 are all of these numbers. */
typedef struct coefficients {
    double c0;
    uint32_t c2, c1;
} coefficients;

/* The rows of all functions, and where those of each begin: reciprocals, which quotients are made
 * of, roots, powers, logarithms, sines, and tangents. */
enum { RCP = 0, RSQRT = 128, SQRT = 256, EX2 = 384, LG2 = 448, SIN = 512, TANH = 576, ROWS = 627 };
/* The sign, the exponent and 4 bits of the mantissa of a float choose the row of its tangent, from
 * 2^-8 on. */
enum { KEYS = 11 * 16, FIRST_KEY = 119 * 16, KEY_SHIFT = 16 };
typedef struct approximations {
    coefficients rows[ROWS];
    uint32_t keys[KEYS]; /* the bytes before the row, and how far x is from the lowest bit */
} approximations;
static approximations tables; /* written once */

/* ---- tables ---- */

/* Fills in rows, which are multiplied by `scale`. Those of roots begin with odd exponents where
 * `turned` has 64. */
static void fill(unsigned at, unsigned count, const approximation_row *from, unsigned turned,
                 double scale, double more) {
    for (unsigned n = 0; n < count; n++) {
        const approximation_row *row = &from[n ^ turned];
        tables.rows[at + n] = (coefficients){.c0 = ((double)row->c0 + more) * scale,
                                             .c1 = bits_of_double(row->c1 * scale) >> 32,
                                             .c2 = bits_of_double(row->c2 * scale) >> 32};
    }
}

static void fill_keys(void) {
    for (unsigned n = 0; n < KEYS; n++) {
        const unsigned bits = acu_ptx_approximation_tanh_bits[n / 16];
        const unsigned row = acu_ptx_approximation_tanh_first[n / 16] + (n % 16 >> (4 - bits));
        tables.keys[n] = (6 - bits) << KEY_SHIFT | row * (unsigned)sizeof(coefficients);
    }
}

/* A logarithm is computed as four times as much, of which the fraction is cut off; an eighth more
 * makes no difference to that, and has it cut off of negative ones as of their complement. */
static void fill_tables(void) {
    fill(RCP, 128, acu_ptx_approximation_rcp, 0, 0x1p-41, 0);
    fill(RSQRT, 128, acu_ptx_approximation_rsqrt, 64, 0x1p-40, 0);
    fill(SQRT, 128, acu_ptx_approximation_sqrt, 64, 0x1p-40, 0);
    fill(EX2, 64, acu_ptx_approximation_ex2, 0, 0x1p-38, 0);
    fill(LG2, 64, acu_ptx_approximation_lg2, 0, 0x1p-2, 0.5);
    fill(SIN, 64, acu_ptx_approximation_sin, 0, 0x1p-37, 0);
    fill(TANH, ROWS - TANH, acu_ptx_approximation_tanh, 0, 0x1p-39, 0);
    fill_keys();
}

/* ---- parts ---- */

static x86_place pool(unsigned at) {
    return x86_at(JIT_POOL, (int32_t)at);
}

/* What the frame has of each of two vectors: the bytes before the row, x, x^2, what the sum is
 * multiplied by, or what a sign or an exponent is made of, and a scale of the operand. */
typedef enum kept { INDEX, X, SQUARE, FACTOR, SCALE } kept;
_Static_assert(2 * SCALE + 2 == JIT_APPROXIMATED, "the frame has room");

static x86_place of_frame(kept what, unsigned v, unsigned offset) {
    const size_t at = (2 * (size_t)what + v) * 64 + offset;
    return acu_jit_in_frame(offsetof(jit_frame, approximated) + at);
}

static void keep(ptx_making *m, unsigned vector, kept what, unsigned v) {
    acu_x86_vector(&m->x, X86_STORE, vector, X86_NONE, of_frame(what, v, 0));
}

static void op_pool(ptx_making *m, x86_vector op, unsigned d, unsigned a, unsigned constant) {
    acu_x86_vector(&m->x, op, d, a, pool(constant));
}

static void load_pool(ptx_making *m, unsigned d, unsigned constant) {
    op_pool(m, X86_LOAD, d, X86_NONE, constant);
}

/* Makes d the elements of s where those of a compare so with a constant; uses k2, or JIT_T3. */
enum { EQUAL = 0x00, UNORDERED = 0x03, BELOW = 0x11, BELOW_OR_NAN = 0x19, NOT_BELOW = 0x1d };
enum { ABOVE = 0x1e };
static void take_if(ptx_making *m, unsigned predicate, unsigned a, unsigned constant, unsigned d,
                    x86_place s) {
    x86 *x = &m->x;
    acu_x86_vector_by(x, X86_CMPPS, m->wide ? 2 : JIT_T3, a, pool(constant), (uint8_t)predicate);
    if (m->wide)
        acu_x86_masked(x, X86_LOAD, d, X86_NONE, s, 2);
    else
        acu_x86_vector_by(x, X86_BLENDVPS, d, d, s, JIT_T3 << 4);
}

/* Makes d = s without its sign. */
static void drop_sign(ptx_making *m, unsigned d, unsigned s) {
    op_pool(m, X86_PAND, d, s, JIT_NAN);
}

/* ---- the row and x ---- */

/* Keeps the index of the row, which is so far from the lowest bit of JIT_T1, and x, which is there;
 * uses JIT_T2. */
static void keep_row(ptx_making *m, unsigned v, unsigned shift, unsigned mask) {
    acu_x86_shift_by(&m->x, X86_SHIFT_PSRLD, JIT_T2, JIT_T1, (uint8_t)(shift - 4));
    op_pool(m, X86_PAND, JIT_T2, JIT_T2, mask);
    keep(m, JIT_T2, INDEX, v);
    op_pool(m, X86_PAND, JIT_T1, JIT_T1, JIT_BEHIND);
    keep(m, JIT_T1, X, v);
}

/* The sum of a reciprocal is multiplied by a power of 2, with the sign, which is made of the
 * exponent's complement: infinite of 0 and, with .ftz, of what is subnormal, and 0 of infinity. */
static void find_reciprocal(ptx_making *m, unsigned v) {
    op_pool(m, X86_PXOR, JIT_T2, JIT_T1, JIT_EXPONENT);
    op_pool(m, X86_PAND, JIT_T2, JIT_T2, JIT_MINUS_INFINITE);
    keep(m, JIT_T2, FACTOR, v);
    acu_x86_shift_by(&m->x, X86_SHIFT_PSLLD, JIT_T1, JIT_T1, 1);
    keep_row(m, v, 17, JIT_ROWS_128);
}

static void find_root(ptx_making *m, unsigned v, bool is_reciprocal) {
    op_pool(m, X86_PADDD, JIT_T2, JIT_T1, JIT_ONE);
    acu_x86_shift_by(&m->x, X86_SHIFT_PSRLD, JIT_T2, JIT_T2, 1);
    op_pool(m, X86_PAND, JIT_T2, JIT_T2, JIT_EXPONENT);
    if (is_reciprocal) {
        load_pool(m, JIT_T3, JIT_ROOT_WHOLE);
        acu_x86_vector(&m->x, X86_PSUBD, JIT_T2, JIT_T3, x86_in(JIT_T2));
    }
    keep(m, JIT_T2, FACTOR, v);
    keep_row(m, v, 17, JIT_ROWS_128);
}

/* Beyond -127 and 128 the factor of a power is 0, and infinite. What is below -126 without .ftz is
 * halved here, and the power squared in the end. */
static void find_power(ptx_making *m, unsigned v, bool flushes) {
    x86 *x = &m->x;
    load_pool(m, JIT_T2, JIT_POWER_HIGH);
    acu_x86_vector(x, X86_MINPS, JIT_T1, JIT_T2, x86_in(JIT_T1));
    if (!flushes) {
        op_pool(m, X86_MULPS, JIT_T2, JIT_T1, JIT_HALF);
        take_if(m, BELOW, JIT_T1, JIT_MINUS_126, JIT_T1, x86_in(JIT_T2));
    }
    load_pool(m, JIT_T2, JIT_POWER_LOW);
    acu_x86_vector(x, X86_MAXPS, JIT_T1, JIT_T2, x86_in(JIT_T1));
    op_pool(m, X86_MULPS, JIT_T1, JIT_T1, JIT_2_23);
    acu_x86_vector(x, X86_CVTTPS2DQ, JIT_T1, X86_NONE, x86_in(JIT_T1));
    acu_x86_shift_by(x, X86_SHIFT_PSRAD, JIT_T2, JIT_T1, 31);
    op_pool(m, X86_PAND, JIT_T3, JIT_T1, JIT_MANTISSA);
    op_pool(m, X86_PMINUD, JIT_T3, JIT_T3, JIT_ONE_WORD);
    acu_x86_vector(x, X86_PAND, JIT_T3, JIT_T3, x86_in(JIT_T2));
    acu_x86_vector(x, X86_PSUBD, JIT_T1, JIT_T1, x86_in(JIT_T3)); /* the complement */
    op_pool(m, X86_PAND, JIT_T2, JIT_T1, JIT_MINUS_INFINITE);
    op_pool(m, X86_PADDD, JIT_T2, JIT_T2, JIT_ONE);
    keep(m, JIT_T2, FACTOR, v);
    keep_row(m, v, 17, JIT_ROWS_64);
}

/* The exponent is added to the sum of a logarithm. */
static void find_logarithm(ptx_making *m, unsigned v) {
    op_pool(m, X86_PAND, JIT_T2, JIT_T1, JIT_EXPONENT);
    op_pool(m, X86_PSUBD, JIT_T2, JIT_T2, JIT_ONE);
    keep(m, JIT_T2, FACTOR, v);
    keep_row(m, v, 17, JIT_ROWS_64);
}

/* The turns are found with the processor's rounding toward 0, in which the rest is exact. */
static void find_wave(ptx_making *m, unsigned v, bool is_sine) {
    x86 *x = &m->x;
    acu_x86_vector(x, X86_PXOR, JIT_T3, JIT_T1, x86_in(JIT_T1));
    if (is_sine)
        op_pool(m, X86_PAND, JIT_T3, JIT_T1, JIT_SIGN);
    drop_sign(m, JIT_T1, JIT_T1);
    load_pool(m, JIT_T2, JIT_TURN);
    if (m->wide)
        acu_x86_rounded(x, X86_MULPS, JIT_T1, JIT_T1, JIT_T2, X86_TO_ZERO);
    else
        acu_x86_vector(x, X86_MULPS, JIT_T1, JIT_T1, x86_in(JIT_T2));
    acu_x86_vector_by(x, X86_ROUNDPS, JIT_T2, X86_NONE, x86_in(JIT_T1), X86_DOWN | 8);
    acu_x86_vector(x, X86_SUBPS, JIT_T1, JIT_T1, x86_in(JIT_T2));
    op_pool(m, X86_MULPS, JIT_T1, JIT_T1, JIT_2_25);
    acu_x86_vector(x, X86_CVTTPS2DQ, JIT_T1, X86_NONE, x86_in(JIT_T1));
    if (!is_sine)
        op_pool(m, X86_PADDD, JIT_T1, JIT_T1, JIT_NORMAL); /* a quarter */
    acu_x86_shift_by(x, X86_SHIFT_PSLLD, JIT_T2, JIT_T1, 7);
    op_pool(m, X86_PAND, JIT_T2, JIT_T2, JIT_SIGN);
    acu_x86_vector(x, X86_PXOR, JIT_T3, JIT_T3, x86_in(JIT_T2));
    keep(m, JIT_T3, FACTOR, v);
    acu_x86_shift_by(x, X86_SHIFT_PSLLD, JIT_T2, JIT_T1, 8);
    acu_x86_shift_by(x, X86_SHIFT_PSRAD, JIT_T2, JIT_T2, 31);
    acu_x86_vector(x, X86_PXOR, JIT_T1, JIT_T1, x86_in(JIT_T2));
    keep_row(m, v, 17, JIT_ROWS_64);
}

/* Sets k1 for gather(): a gather clears its mask late, and the next one need not wait for that. */
static void prepare_gathers(ptx_making *m) {
    if (m->wide)
        acu_x86_set_mask(&m->x, 1);
}

/* Gathers, into d, elements at RAX, an index and an offset; uses k3, or JIT_T3. */
static void gather(ptx_making *m, x86_vector op, unsigned d, unsigned index, size_t offset) {
    acu_x86_vector(&m->x, X86_PXOR, d, d, x86_in(d)); /* nothing waits for what it was */
    if (m->wide)
        acu_x86_copy_mask(&m->x, 3, 1);
    else
        load_pool(m, JIT_T3, JIT_ONES);
    acu_x86_gather(&m->x, op, d, X86_RAX, index, (int32_t)offset, m->wide ? 3 : JIT_T3);
}

static void find_tangent(ptx_making *m, unsigned v) {
    x86 *x = &m->x;
    drop_sign(m, JIT_T2, JIT_T1);
    acu_x86_shift_by(x, X86_SHIFT_PSRLD, JIT_T2, JIT_T2, 19);
    op_pool(m, X86_PMAXUD, JIT_T2, JIT_T2, JIT_FIRST_KEY);
    op_pool(m, X86_PMINUD, JIT_T2, JIT_T2, JIT_LAST_KEY);
    acu_x86_shift_by(x, X86_SHIFT_PSLLD, JIT_T2, JIT_T2, 2);
    prepare_gathers(m);
    gather(m, X86_GATHERD, JIT_T0, JIT_T2, offsetof(approximations, keys) - (size_t)4 * FIRST_KEY);
    op_pool(m, X86_PAND, JIT_T2, JIT_T0, JIT_SHORT);
    keep(m, JIT_T2, INDEX, v);
    acu_x86_shift_by(x, X86_SHIFT_PSRLD, JIT_T0, JIT_T0, KEY_SHIFT);
    acu_x86_vector(x, X86_PSRLVD, JIT_T1, JIT_T1, x86_in(JIT_T0));
    op_pool(m, X86_PAND, JIT_T1, JIT_T1, JIT_BEHIND);
    keep(m, JIT_T1, X, v);
}

/* Multiplies JIT_T1 where it is subnormal. */
static void scale_small(ptx_making *m) {
    drop_sign(m, JIT_T2, JIT_T1);
    op_pool(m, X86_MULPS, JIT_T0, JIT_T1, JIT_2_24);
    take_if(m, BELOW, JIT_T2, JIT_NORMAL, JIT_T1, x86_in(JIT_T0));
}

/* Multiplies a divisor, JIT_T1, by a scale, which is kept for the dividend: where it is subnormal,
 * if that counts, and, but with div.approx, where it is above 2^126. With that the dividend becomes
 * 0 there, without .ftz; with .ftz the quotient needs no scale. */
static void scale_divisor(ptx_making *m, unsigned v, bool is_approx, bool flushes) {
    if (is_approx && flushes)
        return;
    drop_sign(m, JIT_T2, JIT_T1);
    load_pool(m, JIT_T0, JIT_ONE);
    if (!flushes)
        take_if(m, BELOW, JIT_T2, JIT_NORMAL, JIT_T0, pool(JIT_2_24));
    if (!is_approx)
        take_if(m, ABOVE, JIT_T2, JIT_2_126, JIT_T0, pool(JIT_QUARTER));
    acu_x86_vector(&m->x, X86_MULPS, JIT_T1, JIT_T1, x86_in(JIT_T0));
    if (is_approx)
        take_if(m, ABOVE, JIT_T2, JIT_2_126, JIT_T0, pool(JIT_ZERO));
    keep(m, JIT_T0, SCALE, v);
}

/* Prepares the sums of a vector, JIT_T1. */
static void find(ptx_making *m, const jit_row *k, unsigned v) {
    const jit_approximation kind = (jit_approximation)k->predicate;
    if ((kind == JIT_RECIPROCAL_ROOT || kind == JIT_ROOT || kind == JIT_LOGARITHM) && !k->flushes)
        scale_small(m);
    if (kind <= JIT_FULL_QUOTIENT) {
        if (kind != JIT_RECIPROCAL || !k->flushes)
            scale_divisor(m, v, kind == JIT_QUOTIENT, k->flushes);
        find_reciprocal(m, v);
    } else if (kind == JIT_RECIPROCAL_ROOT || kind == JIT_ROOT) {
        find_root(m, v, kind == JIT_RECIPROCAL_ROOT);
    } else if (kind == JIT_POWER) {
        find_power(m, v, k->flushes);
    } else if (kind == JIT_LOGARITHM) {
        find_logarithm(m, v);
    } else if (kind == JIT_TANGENT) {
        find_tangent(m, v);
    } else {
        find_wave(m, v, kind == JIT_SINE);
    }
}

/* ---- the sum ---- */

/* Makes the squares of x of two vectors, as approx_square() does: without the lowest two bits of x,
 * which make no difference, both are in one vector of shorts. */
static void make_squares(ptx_making *m) {
    x86 *x = &m->x;
    acu_x86_vector(x, X86_LOAD, JIT_T0, X86_NONE, of_frame(X, 0, 0));
    acu_x86_vector(x, X86_LOAD, JIT_T1, X86_NONE, of_frame(X, 1, 0));
    acu_x86_shift_by(x, X86_SHIFT_PSRLD, JIT_T0, JIT_T0, 2);
    acu_x86_shift_by(x, X86_SHIFT_PSRLD, JIT_T1, JIT_T1, 2);
    acu_x86_shift_by(x, X86_SHIFT_PSLLD, JIT_T1, JIT_T1, 16);
    acu_x86_vector(x, X86_POR, JIT_T0, JIT_T0, x86_in(JIT_T1));
    op_pool(m, X86_PAND, JIT_T1, JIT_T0, JIT_SQUARE_HIGH);
    acu_x86_vector(x, X86_PADDW, JIT_T2, JIT_T1, x86_in(JIT_T1));
    acu_x86_vector(x, X86_PMULHUW, JIT_T2, JIT_T2, x86_in(JIT_T1));
    acu_x86_shift_by(x, X86_SHIFT_PSLLW, JIT_T1, JIT_T0, 2);
    op_pool(m, X86_PAND, JIT_T1, JIT_T1, JIT_SQUARE_LOW);
    for (unsigned n = 0; n < JIT_SQUARE_BITS; n++) {
        op_pool(m, X86_PAND, JIT_T3, JIT_T0, JIT_SQUARE_BIT + 64 * n);
        acu_x86_vector(x, X86_PMULHUW, JIT_T3, JIT_T3, x86_in(JIT_T1));
        acu_x86_vector(x, X86_PADDW, JIT_T2, JIT_T2, x86_in(JIT_T3));
    }
    op_pool(m, X86_PAND, JIT_T1, JIT_T2, JIT_SHORT);
    acu_x86_shift_by(x, X86_SHIFT_PSRLD, JIT_T2, JIT_T2, 16);
    keep(m, JIT_T1, SQUARE, 0);
    keep(m, JIT_T2, SQUARE, 1);
}

/* Returns where the rows of a function begin. */
static unsigned rows_of(jit_approximation kind) {
    static const unsigned rows[] = {[JIT_RECIPROCAL] = RCP,    [JIT_QUOTIENT] = RCP,
                                    [JIT_FULL_QUOTIENT] = RCP, [JIT_RECIPROCAL_ROOT] = RSQRT,
                                    [JIT_ROOT] = SQRT,         [JIT_POWER] = EX2,
                                    [JIT_LOGARITHM] = LG2,     [JIT_SINE] = SIN,
                                    [JIT_COSINE] = SIN,        [JIT_TANGENT] = TANH};
    return rows[kind];
}

/* Adds the exponent of four times a logarithm to JIT_T2, and cuts the fraction off. */
static void add_exponent(ptx_making *m, unsigned v, unsigned offset) {
    acu_x86_vector(&m->x, X86_CVTDQ2PD, JIT_T1, X86_NONE, of_frame(FACTOR, v, offset));
    op_pool(m, X86_FMADD231PD, JIT_T2, JIT_T1, JIT_LOG_EXPONENT);
    acu_x86_vector_by(&m->x, X86_ROUNDPD, JIT_T2, X86_NONE, x86_in(JIT_T2), X86_TO_ZERO | 8);
}

/* Makes half a vector of floats of the sums of half of vector v. Uses JIT_T0 to JIT_T3. */
static void sum_half(ptx_making *m, jit_approximation kind, unsigned v, unsigned half, unsigned d) {
    x86 *x = &m->x;
    const unsigned offset = half * m->width / 2;
    const size_t row = rows_of(kind) * sizeof(coefficients);
    acu_x86_vector(x, X86_LOAD, JIT_T1, X86_NONE, of_frame(INDEX, v, 0));
    if (half) /* a load from there would wait for two stores */
        acu_x86_vector_by(x, m->wide ? X86_EXTRACT256 : X86_EXTRACT128, JIT_T1, X86_NONE,
                          x86_in(JIT_T1), 1);
    gather(m, X86_GATHERQ, JIT_T2, JIT_T1, row + offsetof(coefficients, c0));
    gather(m, X86_GATHERQ, JIT_T0, JIT_T1, row + offsetof(coefficients, c2));
    acu_x86_vector(x, X86_CVTDQ2PD, JIT_T1, X86_NONE, of_frame(X, v, offset));
    op_pool(m, X86_PAND, JIT_T3, JIT_T0, JIT_UPPER_WIDE);
    acu_x86_vector(x, X86_FMADD231PD, JIT_T2, JIT_T3, x86_in(JIT_T1));
    acu_x86_shift_by(x, X86_SHIFT_PSLLQ, JIT_T0, JIT_T0, 32);
    acu_x86_vector(x, X86_CVTDQ2PD, JIT_T1, X86_NONE, of_frame(SQUARE, v, offset));
    acu_x86_vector(x, X86_FMADD231PD, JIT_T2, JIT_T0, x86_in(JIT_T1));
    if (kind == JIT_LOGARITHM)
        add_exponent(m, v, offset);
    op_pool(m, X86_PAND, JIT_T2, JIT_T2, JIT_CUT);
    acu_x86_vector(x, X86_CVTPD2PS, d, X86_NONE, x86_in(JIT_T2));
}

/* Makes JIT_T0 the floats of vector v. */
static void sum(ptx_making *m, jit_approximation kind, unsigned v) {
    prepare_gathers(m);
    if (m->wide) {
        sum_half(m, kind, v, 1, JIT_T4);
        sum_half(m, kind, v, 0, JIT_T0);
        acu_x86_vector_by(&m->x, X86_INSERT256, JIT_T0, JIT_T0, x86_in(JIT_T4), 1);
        return;
    }
    sum_half(m, kind, v, 1, JIT_T0);
    acu_jit_keep_half(m, JIT_T0);
    sum_half(m, kind, v, 0, JIT_T0);
    acu_jit_join_halves(m);
}

/* ---- the rest ---- */

/* What results are instead, for each class of operands: four bits, from those of quiet NaN on, as
 * AVX-512 has them. 0: what they are, 2: NaN of the operand, 3: NaN, 4 and 5: infinite, 8: 0. */
const uint32_t acu_jit_fixes[JIT_APPROXIMATIONS] = {
    [JIT_RECIPROCAL] = 0x00000022,      [JIT_QUOTIENT] = 0x00000022, [JIT_FULL_QUOTIENT] = 0x22,
    [JIT_RECIPROCAL_ROOT] = 0x03830522, [JIT_ROOT] = 0x03530822,     [JIT_POWER] = 0x00000022,
    [JIT_LOGARITHM] = 0x03538422,       [JIT_SINE] = 0x00330022,     [JIT_COSINE] = 0x00330022,
    [JIT_TANGENT] = 0x00000022};

/* Gives JIT_T0 what it is instead where an operand is no number, 0, 1, infinite or negative. */
static void fix(ptx_making *m, jit_approximation kind, unsigned a) {
    static const unsigned results[] = {
        [3] = JIT_NAN, [4] = JIT_MINUS_INFINITE, [5] = JIT_EXPONENT, [8] = JIT_ZERO};
    static const unsigned classes[] = {[2] = JIT_ZERO,
                                       [3] = JIT_ONE,
                                       [4] = JIT_MINUS_INFINITE,
                                       [5] = JIT_EXPONENT,
                                       [6] = JIT_ZERO};
    const unsigned negative = 6;
    if (m->wide) {
        acu_x86_vector_by(&m->x, X86_FIXUPIMMPS, JIT_T0, a, pool(JIT_FIXES + 64 * kind), 0);
        return;
    }
    for (unsigned n = 2; n <= negative; n++) {
        const unsigned result = acu_jit_fixes[kind] >> 4 * n & 15;
        if (result)
            take_if(m, n == negative ? BELOW : EQUAL, a, classes[n], JIT_T0, pool(results[result]));
    }
    acu_jit_take_where(m, 4, UNORDERED, a, a, JIT_T0, x86_in(a));
}

/* Gives JIT_T0 the sign of the operand; uses JIT_T2. */
static void give_sign(ptx_making *m, unsigned a) {
    op_pool(m, X86_PAND, JIT_T2, a, JIT_SIGN);
    acu_x86_vector(&m->x, X86_POR, JIT_T0, JIT_T0, x86_in(JIT_T2));
}

/* Multiplies a reciprocal by the dividend, to which c may be added, or by the scale of 1. */
static void finish_quotient(ptx_making *m, const ptx_op *op, const jit_row *k, unsigned i,
                            unsigned v) {
    const bool divides = k->predicate != JIT_RECIPROCAL, flushes = k->flushes;
    const bool adds = k->vector == X86_FMADD213PS;
    const bool scales = !flushes || k->predicate == JIT_FULL_QUOTIENT;
    x86_place by = of_frame(SCALE, v, 0);
    if (divides && scales) {
        acu_x86_vector(&m->x, X86_LOAD, JIT_T1, X86_NONE, by);
        acu_x86_vector(&m->x, X86_MULPS, JIT_T1, JIT_T1, acu_jit_source(m, op->a, 4, i));
        by = x86_in(JIT_T1);
    } else if (divides) {
        by = acu_jit_source(m, op->a, 4, i);
    }
    if (adds) {
        if (!scales)
            acu_x86_vector(&m->x, X86_LOAD, JIT_T1, X86_NONE, by);
        acu_x86_vector(&m->x, X86_FMADD213PS, JIT_T0, JIT_T1, acu_jit_source(m, op->c, 4, i));
    } else if (divides || scales)
        acu_x86_vector(&m->x, X86_MULPS, JIT_T0, JIT_T0, by);
}

/* Makes one more of the reciprocal roots of powers of 4, whose row and x are these. */
static void finish_reciprocal_root(ptx_making *m, unsigned v) {
    x86 *x = &m->x;
    acu_x86_vector(x, X86_LOAD, JIT_T2, X86_NONE, of_frame(X, v, 0));
    acu_x86_shift_by(x, X86_SHIFT_PSLLD, JIT_T2, JIT_T2, 11);
    acu_x86_vector(x, X86_POR, JIT_T2, JIT_T2, of_frame(INDEX, v, 0));
    if (m->wide) {
        acu_x86_vector_by(x, X86_PCMPUD, 2, JIT_T2, pool(JIT_ROOT_4), JIT_EQUAL_TO);
        acu_x86_masked(x, X86_PSUBD, JIT_T0, JIT_T0, pool(JIT_ONES), 2);
    } else {
        op_pool(m, X86_PCMPEQD, JIT_T2, JIT_T2, JIT_ROOT_4);
        acu_x86_vector(x, X86_PSUBD, JIT_T0, JIT_T0, x86_in(JIT_T2));
    }
}

/* Makes JIT_T0 the result of `op` with a constant where the operand, a, is subnormal: it was
 * multiplied by 2^24. */
static void unscale_small(ptx_making *m, unsigned a, x86_vector op, unsigned constant) {
    op_pool(m, op, JIT_T2, JIT_T0, constant);
    drop_sign(m, JIT_T1, a);
    take_if(m, BELOW, JIT_T1, JIT_NORMAL, JIT_T0, x86_in(JIT_T2));
}

/* The tangent of what is below 2^-8 is that itself; from 8 on it is 1. */
static void finish_tangent(ptx_making *m, unsigned a) {
    drop_sign(m, JIT_T2, a);
    take_if(m, NOT_BELOW, JIT_T2, JIT_8, JIT_T0, pool(JIT_ONE));
    take_if(m, BELOW_OR_NAN, JIT_T2, JIT_2_M8, JIT_T0, x86_in(a));
    give_sign(m, a);
}

/* Does what is to be done with JIT_T0, made of the sum of vector v, before specials; a is the
 * operand. */
static void finish_sum(ptx_making *m, const jit_row *k, unsigned v, unsigned a) {
    x86 *x = &m->x;
    const bool is_scaled = !k->flushes;
    if (k->predicate <= JIT_POWER)
        acu_x86_vector(x, X86_MULPS, JIT_T0, JIT_T0, of_frame(FACTOR, v, 0));
    switch ((jit_approximation)k->predicate) {
    case JIT_RECIPROCAL_ROOT:
        finish_reciprocal_root(m, v);
        if (is_scaled)
            unscale_small(m, a, X86_MULPS, JIT_2_12);
        break;
    case JIT_ROOT:
        if (is_scaled)
            unscale_small(m, a, X86_MULPS, JIT_2_M12);
        break;
    case JIT_POWER:
        if (is_scaled) {
            acu_x86_vector(x, X86_MULPS, JIT_T2, JIT_T0, x86_in(JIT_T0));
            take_if(m, BELOW, a, JIT_MINUS_126, JIT_T0, x86_in(JIT_T2));
        }
        break;
    case JIT_LOGARITHM:
        op_pool(m, X86_MULPS, JIT_T0, JIT_T0, JIT_2_M36);
        if (is_scaled)
            unscale_small(m, a, X86_SUBPS, JIT_24);
        break;
    case JIT_SINE:
    case JIT_COSINE:
        acu_x86_vector(x, X86_PXOR, JIT_T0, JIT_T0, of_frame(FACTOR, v, 0));
        break;
    case JIT_TANGENT:
        finish_tangent(m, a);
        break;
    default:
        break;
    }
}

/* ---- operations ---- */

static bool divides(jit_approximation kind) {
    return kind == JIT_QUOTIENT || kind == JIT_FULL_QUOTIENT;
}

/* Makes vector i of the result, of the sum of vector v. */
static void approximate(ptx_making *m, const ptx_op *op, const jit_row *k, unsigned i, unsigned v,
                        bool fixes) {
    const jit_approximation kind = (jit_approximation)k->predicate;
    const ptx_slot slot = divides(kind) ? op->b : op->a;
    sum(m, kind, v);
    finish_sum(m, k, v, acu_jit_load(m, slot, 4, i, JIT_T1));
    const unsigned a = acu_jit_load(m, slot, 4, i, JIT_T1);
    if (kind != JIT_TANGENT)
        fix(m, kind, a);
    if (kind == JIT_RECIPROCAL_ROOT || kind == JIT_ROOT)
        give_sign(m, a);
    if (kind <= JIT_FULL_QUOTIENT)
        finish_quotient(m, op, k, i, v);
    if (k->saturates)
        acu_jit_saturate_vector(m, JIT_T0);
    else if (fixes)
        acu_jit_make_number(m);
    acu_jit_put(m, op->d, 4, i);
}

/* `predicate` is the function: jit_approximation. With `vector` X86_FMADD213PS, c is added to it.
 */
bool acu_jit_approximate(ptx_making *m, const ptx_op *op, const jit_row *k) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const jit_approximation kind = (jit_approximation)k->predicate;
    const bool rounds = !m->wide && (kind == JIT_SINE || kind == JIT_COSINE);
    pthread_once(&once, fill_tables);
    acu_jit_want_all(m, op, k, k->vector == X86_FMADD213PS ? 3 : divides(kind) ? 2 : 1);
    acu_jit_begin(m, op->d, 4);
    const bool fixes = !acu_jit_leave_rough(m, op->d);
    acu_x86_load_number(&m->x, X86_RAX, (uintptr_t)&tables);
    for (unsigned i = 0; i < m->vectors; i += 2) {
        if (rounds)
            acu_x86_load_control(&m->x, acu_jit_control_of(m, X86_TO_ZERO));
        for (unsigned v = 0; v < 2; v++) {
            acu_x86_vector(&m->x, X86_LOAD, JIT_T1, X86_NONE,
                           acu_jit_source(m, divides(kind) ? op->b : op->a, 4, i + v));
            find(m, k, v);
        }
        if (rounds)
            acu_x86_load_control(&m->x, acu_jit_control_of(m, X86_NEAREST));
        make_squares(m);
        for (unsigned v = 0; v < 2; v++)
            approximate(m, op, k, i + v, v, fixes);
    }
    return true;
}
