/*
 * Functions of floats that are computed with 64 bits, and rounded: reciprocal roots, powers,
 * logarithms, sines, cosines, and the hyperbolic tangent. Each gives what the interpreter has, for
 * every float.
 */
#include "sim/ptx/jit_inside.h"
#include "sim/ptx/lower_inside.h"

#include <stddef.h>
#include <string.h>

static x86_place pool(unsigned at) {
    return x86_at(JIT_POOL, (int32_t)at);
}

/* Makes JIT_T0 the results for vector i of an operand of 32 bits, which are computed with 64. */
static void through_double(ptx_making *m, const ptx_op *op, unsigned i,
                           void (*make)(ptx_making *m, unsigned d)) {
    for (unsigned half = 2; half-- > 0 && !m->wide;) {
        acu_x86_vector(&m->x, X86_CVTPS2PD, JIT_T1, X86_NONE,
                       acu_jit_half(m, op->a, 2 * i + half, JIT_T1));
        make(m, JIT_T0);
        if (half)
            acu_jit_keep_half(m, JIT_T0);
        else
            acu_jit_join_halves(m);
    }
    if (!m->wide)
        return;
    for (unsigned half = 0; half < 2; half++) {
        acu_x86_vector(&m->x, X86_CVTPS2PD, JIT_T1, X86_NONE,
                       acu_jit_half(m, op->a, 2 * i + half, JIT_T1));
        make(m, JIT_T4 + half);
    }
    acu_x86_vector_by(&m->x, X86_INSERT256, JIT_T0, JIT_T4, x86_in(JIT_T5), 1);
}

/* Makes a vector of floats, half of one, the reciprocal roots of JIT_T1, which has 64 bits: from
 * the processor's 14 bits, whose error e becomes e^4. Where e is no number they are right. The
 * roots of floats are further than that from where rounding changes. Uses JIT_T0 to JIT_T3. */
static void make_roots(ptx_making *m, unsigned d) {
    enum { ORDERED = 7 };
    x86 *x = &m->x;
    if (!m->wide) {
        acu_x86_vector(x, X86_SQRTPD, JIT_T1, X86_NONE, x86_in(JIT_T1));
        acu_x86_vector(x, X86_LOAD, JIT_T0, X86_NONE, pool(JIT_ONE_WIDE));
        acu_x86_vector(x, X86_DIVPD, JIT_T0, JIT_T0, x86_in(JIT_T1));
        acu_x86_vector(x, X86_CVTPD2PS, d, X86_NONE, x86_in(JIT_T0));
        return;
    }
    acu_x86_vector(x, X86_RSQRT14PD, JIT_T0, X86_NONE, x86_in(JIT_T1));
    acu_x86_vector(x, X86_MULPD, JIT_T2, JIT_T1, x86_in(JIT_T0));
    acu_x86_vector(x, X86_FNMADD213PD, JIT_T2, JIT_T0, pool(JIT_ONE_WIDE)); /* 1 - a * y * y */
    acu_x86_vector_by(x, X86_CMPPD, 2, JIT_T2, x86_in(JIT_T2), ORDERED);
    acu_x86_vector(x, X86_LOAD, JIT_T3, X86_NONE, pool(JIT_ROOT_5));
    acu_x86_vector(x, X86_FMADD213PD, JIT_T3, JIT_T2, pool(JIT_ROOT_3));
    acu_x86_vector(x, X86_FMADD213PD, JIT_T3, JIT_T2, pool(JIT_ROOT_1));
    acu_x86_vector(x, X86_MULPD, JIT_T2, JIT_T2, x86_in(JIT_T0));
    acu_x86_masked(x, X86_FMADD231PD, JIT_T0, JIT_T2, x86_in(JIT_T3), 2);
    acu_x86_vector(x, X86_CVTPD2PS, d, X86_NONE, x86_in(JIT_T0));
}

bool acu_jit_reciprocal_root(ptx_making *m, const ptx_op *op, const jit_row *k) {
    (void)k;
    acu_jit_want(m, op->a, 4);
    acu_jit_begin(m, op->d, 4);
    const bool fixes = !acu_jit_leave_rough(m, op->d);
    for (unsigned i = 0; i < m->vectors; i++) {
        through_double(m, op, i, make_roots);
        if (fixes)
            acu_jit_make_number(m);
        acu_jit_put(m, op->d, 4, i);
    }
    return true;
}

/* Makes a vector of floats, half of one, 2 to the powers of JIT_T1, which has 64 bits, as
 * ex2_float() does; a product is not rounded here before it is added to, which makes no difference
 * to any float. Uses JIT_T0 to JIT_T3. */
static void make_powers(ptx_making *m, unsigned d) {
    x86 *x = &m->x;
    acu_x86_vector(x, X86_LOAD, JIT_T0, X86_NONE, pool(JIT_POWER));
    acu_x86_vector(x, X86_MAXPD, JIT_T1, JIT_T0, x86_in(JIT_T1)); /* the second one, if NaN */
    acu_x86_vector(x, X86_LOAD, JIT_T0, X86_NONE, pool(JIT_POWER + 64));
    acu_x86_vector(x, X86_MINPD, JIT_T1, JIT_T0, x86_in(JIT_T1));
    acu_x86_vector(x, X86_ADDPD, JIT_T2, JIT_T1, pool(JIT_POWER + 128)); /* the whole part, */
    acu_x86_vector(x, X86_SUBPD, JIT_T3, JIT_T2, pool(JIT_POWER + 128));
    acu_x86_vector(x, X86_SUBPD, JIT_T3, JIT_T1, x86_in(JIT_T3)); /* and the rest */
    acu_x86_vector(x, X86_LOAD, JIT_T0, X86_NONE, pool(JIT_SERIES));
    for (unsigned n = 1; n < JIT_SERIES_LENGTH; n++)
        acu_x86_vector(x, X86_FMADD213PD, JIT_T0, JIT_T3, pool(JIT_SERIES + 64 * n));
    acu_x86_shift_by(x, X86_SHIFT_PSLLQ, JIT_T2, JIT_T2, 52);
    acu_x86_vector(x, X86_PADDQ, JIT_T0, JIT_T0, x86_in(JIT_T2));
    acu_x86_vector(x, X86_CVTPD2PS, d, X86_NONE, x86_in(JIT_T0));
}

/* `predicate`: a result that is not normal becomes 0; no operand near 0 makes a difference. */
bool acu_jit_power(ptx_making *m, const ptx_op *op, const jit_row *k) {
    enum { BELOW = 0x11 };
    acu_jit_want(m, op->a, 4);
    acu_jit_begin(m, op->d, 4);
    const bool fixes = !acu_jit_leave_rough(m, op->d);
    for (unsigned i = 0; i < m->vectors; i++) {
        through_double(m, op, i, make_powers);
        if (k->predicate) {
            acu_x86_vector(&m->x, X86_LOAD, JIT_T1, X86_NONE, pool(JIT_NORMAL));
            acu_jit_take_where(m, 4, BELOW, JIT_T0, JIT_T1, JIT_T0, pool(JIT_ZERO));
        }
        if (fixes)
            acu_jit_make_number(m);
        acu_jit_put(m, op->d, 4, i);
    }
    return true;
}

/* ---- logarithms ---- */

/* Makes a vector of floats, half of one, the logarithms of JIT_T1, which has 64 bits and what is
 * above 0, as lg2_float() does: 2^e times m, whose logarithm is a series in (m - 1) / (m + 1). Uses
 * JIT_T0 to JIT_T3. */
static void make_logarithms(ptx_making *m, unsigned d) {
    x86 *x = &m->x;
    acu_x86_vector(x, X86_PADDQ, JIT_T2, JIT_T1, pool(JIT_LOG_FROM));
    acu_x86_shift_by(x, X86_SHIFT_PSRLQ, JIT_T2, JIT_T2, 52);
    acu_x86_vector(x, X86_POR, JIT_T0, JIT_T2, pool(JIT_LOG_WHOLE));
    acu_x86_vector(x, X86_SUBPD, JIT_T0, JIT_T0, pool(JIT_LOG_LESS)); /* e */
    acu_x86_shift_by(x, X86_SHIFT_PSLLQ, JIT_T2, JIT_T2, 52);
    acu_x86_vector(x, X86_PSUBQ, JIT_T1, JIT_T1, x86_in(JIT_T2));
    acu_x86_vector(x, X86_PADDQ, JIT_T1, JIT_T1, pool(JIT_LOG_BIAS)); /* m */
    acu_x86_vector(x, X86_SUBPD, JIT_T2, JIT_T1, pool(JIT_ONE_WIDE));
    acu_x86_vector(x, X86_ADDPD, JIT_T1, JIT_T1, pool(JIT_ONE_WIDE));
    acu_x86_vector(x, X86_DIVPD, JIT_T1, JIT_T2, x86_in(JIT_T1));
    acu_x86_vector(x, X86_MULPD, JIT_T3, JIT_T1, x86_in(JIT_T1));
    acu_x86_vector(x, X86_LOAD, JIT_T2, X86_NONE, pool(JIT_LOG_SERIES));
    for (unsigned n = 1; n < JIT_LOG_LENGTH; n++)
        acu_x86_vector(x, X86_FMADD213PD, JIT_T2, JIT_T3, pool(JIT_LOG_SERIES + 64 * n));
    acu_x86_vector(x, X86_FMADD213PD, JIT_T2, JIT_T1, x86_in(JIT_T0));
    acu_x86_vector(x, X86_CVTPD2PS, d, X86_NONE, x86_in(JIT_T2));
}

/* Gives JIT_T0 the elements of s where those of a compare so with a constant. */
static void take_instead(ptx_making *m, unsigned predicate, unsigned a, unsigned constant,
                         x86_place s) {
    acu_x86_vector(&m->x, X86_LOAD, JIT_T2, X86_NONE, pool(constant));
    acu_jit_take_where(m, 4, predicate, a, JIT_T2, JIT_T0, s);
}

bool acu_jit_logarithm(ptx_making *m, const ptx_op *op, const jit_row *k) {
    enum { EQUAL = 0x00, BELOW = 0x11, NOT_BELOW_OR_NAN = 0x15 };
    (void)k;
    acu_jit_want(m, op->a, 4);
    acu_jit_begin(m, op->d, 4);
    const bool fixes = !acu_jit_leave_rough(m, op->d);
    for (unsigned i = 0; i < m->vectors; i++) {
        through_double(m, op, i, make_logarithms);
        const unsigned a = acu_jit_load(m, op->a, 4, i, JIT_T1);
        take_instead(m, NOT_BELOW_OR_NAN, a, JIT_EXPONENT, x86_in(a)); /* infinite, too */
        take_instead(m, EQUAL, a, JIT_ZERO, pool(JIT_MINUS_INFINITE));
        take_instead(m, BELOW, a, JIT_ZERO, pool(JIT_NAN));
        if (fixes)
            acu_jit_make_number(m);
        acu_jit_put(m, op->d, 4, i);
    }
    return true;
}

/* ---- hyperbolic tangents ---- */

/* Makes a vector of floats, half of one, the tangents of JIT_T1, which has 64 bits: n / (n + 2),
 * where n is e^2x - 1, of a power of 2 and a series. Uses JIT_T0 to JIT_T3. */
static void make_tangents(ptx_making *m, unsigned d) {
    x86 *x = &m->x;
    acu_x86_vector(x, X86_LOAD, JIT_T0, X86_NONE, pool(JIT_TANGENT));
    acu_x86_vector(x, X86_MAXPD, JIT_T1, JIT_T0, x86_in(JIT_T1)); /* the second one, if NaN */
    acu_x86_vector(x, X86_LOAD, JIT_T0, X86_NONE, pool(JIT_TANGENT + 64));
    acu_x86_vector(x, X86_MINPD, JIT_T1, JIT_T0, x86_in(JIT_T1));
    acu_x86_vector(x, X86_ADDPD, JIT_T1, JIT_T1, x86_in(JIT_T1));
    acu_x86_vector(x, X86_LOAD, JIT_T2, X86_NONE, pool(JIT_TANGENT + 128));
    acu_x86_vector(x, X86_FMADD213PD, JIT_T2, JIT_T1, pool(JIT_POWER + 128)); /* the whole part, */
    acu_x86_vector(x, X86_SUBPD, JIT_T3, JIT_T2, pool(JIT_POWER + 128));
    acu_x86_vector(x, X86_LOAD, JIT_T0, X86_NONE, pool(JIT_TANGENT + 192));
    acu_x86_vector(x, X86_FNMADD213PD, JIT_T0, JIT_T3, x86_in(JIT_T1));
    acu_x86_vector(x, X86_LOAD, JIT_T1, X86_NONE, pool(JIT_TANGENT + 256));
    acu_x86_vector(x, X86_FNMADD213PD, JIT_T1, JIT_T3, x86_in(JIT_T0)); /* and the rest */
    acu_x86_vector(x, X86_LOAD, JIT_T0, X86_NONE, pool(JIT_TANGENT_SERIES));
    for (unsigned n = 1; n < JIT_TANGENT_LENGTH; n++)
        acu_x86_vector(x, X86_FMADD213PD, JIT_T0, JIT_T1, pool(JIT_TANGENT_SERIES + 64 * n));
    acu_x86_vector(x, X86_MULPD, JIT_T0, JIT_T0, x86_in(JIT_T1));
    acu_x86_shift_by(x, X86_SHIFT_PSLLQ, JIT_T2, JIT_T2, 52);
    acu_x86_vector(x, X86_PADDQ, JIT_T2, JIT_T2, pool(JIT_ONE_WIDE)); /* the power */
    acu_x86_vector(x, X86_SUBPD, JIT_T3, JIT_T2, pool(JIT_ONE_WIDE));
    acu_x86_vector(x, X86_FMADD213PD, JIT_T2, JIT_T0, x86_in(JIT_T3));
    acu_x86_vector(x, X86_ADDPD, JIT_T3, JIT_T2, pool(JIT_ONE_WIDE));
    acu_x86_vector(x, X86_ADDPD, JIT_T3, JIT_T3, pool(JIT_ONE_WIDE));
    acu_x86_vector(x, X86_DIVPD, JIT_T2, JIT_T2, x86_in(JIT_T3));
    acu_x86_vector(x, X86_CVTPD2PS, d, X86_NONE, x86_in(JIT_T2));
}

bool acu_jit_tangent(ptx_making *m, const ptx_op *op, const jit_row *k) {
    x86 *x = &m->x;
    (void)k;
    acu_jit_want(m, op->a, 4);
    acu_jit_begin(m, op->d, 4);
    const bool fixes = !acu_jit_leave_rough(m, op->d);
    for (unsigned i = 0; i < m->vectors; i++) {
        through_double(m, op, i, make_tangents);
        acu_x86_vector(x, X86_PAND, JIT_T1, acu_jit_load(m, op->a, 4, i, JIT_T1), pool(JIT_SIGN));
        acu_x86_vector(x, X86_POR, JIT_T0, JIT_T0, x86_in(JIT_T1)); /* of -0 */
        if (fixes)
            acu_jit_make_number(m);
        acu_jit_put(m, op->d, 4, i);
    }
    return true;
}

/* ---- sines and cosines ---- */

/* Makes a vector of floats, half of one, the sines of JIT_T1, which has 64 bits and less than 2^20:
 * those of what is left of multiples of pi, whose number says the sign. Uses JIT_T0 to JIT_T3. */
static void make_waves(ptx_making *m, unsigned d, unsigned half) {
    x86 *x = &m->x;
    acu_x86_vector(x, X86_LOAD, JIT_T2, X86_NONE, pool(JIT_WAVE_INVERSE));
    acu_x86_vector(x, X86_FMADD213PD, JIT_T2, JIT_T1, pool(half));
    acu_x86_vector(x, X86_ADDPD, JIT_T2, JIT_T2, pool(JIT_POWER + 128)); /* the whole part, */
    acu_x86_vector(x, X86_SUBPD, JIT_T3, JIT_T2, pool(JIT_POWER + 128));
    acu_x86_vector(x, X86_SUBPD, JIT_T3, JIT_T3, pool(half));
    acu_x86_vector(x, X86_LOAD, JIT_T0, X86_NONE, pool(JIT_WAVE_PI));
    acu_x86_vector(x, X86_FNMADD213PD, JIT_T0, JIT_T3, x86_in(JIT_T1));
    acu_x86_vector(x, X86_LOAD, JIT_T1, X86_NONE, pool(JIT_WAVE_PI + 64));
    acu_x86_vector(x, X86_FNMADD213PD, JIT_T1, JIT_T3, x86_in(JIT_T0)); /* and the rest, */
    acu_x86_shift_by(x, X86_SHIFT_PSLLQ, JIT_T2, JIT_T2, 63);
    acu_x86_vector(x, X86_PXOR, JIT_T1, JIT_T1, x86_in(JIT_T2)); /* with the sign */
    acu_x86_vector(x, X86_MULPD, JIT_T3, JIT_T1, x86_in(JIT_T1));
    acu_x86_vector(x, X86_LOAD, JIT_T0, X86_NONE, pool(JIT_WAVE_SERIES));
    for (unsigned n = 1; n < JIT_WAVE_LENGTH; n++)
        acu_x86_vector(x, X86_FMADD213PD, JIT_T0, JIT_T3, pool(JIT_WAVE_SERIES + 64 * n));
    acu_x86_vector(x, X86_MULPD, JIT_T0, JIT_T0, x86_in(JIT_T1)); /* which is -0 of -0 */
    acu_x86_vector(x, X86_CVTPD2PS, d, X86_NONE, x86_in(JIT_T0));
}

static void make_sines(ptx_making *m, unsigned d) {
    make_waves(m, d, JIT_ZERO);
}

static void make_cosines(ptx_making *m, unsigned d) {
    make_waves(m, d, JIT_ROOT_1);
}

/* Goes aside if a lane has a number that is too large, or none. */
static void leave_if_large(ptx_making *m, jit_aside *aside, ptx_slot slot) {
    enum { ABOVE = 6 };
    x86 *x = &m->x;
    for (unsigned i = 0; i < m->vectors; i++) {
        acu_x86_vector(x, X86_PAND, JIT_T1, acu_jit_load(m, slot, 4, i, JIT_T1), pool(JIT_NAN));
        if (m->wide) {
            acu_x86_vector_by(x, X86_PCMPUD, 2 + i, JIT_T1, pool(JIT_WAVE_LIMIT), ABOVE);
            continue;
        }
        acu_x86_vector(x, X86_PCMPGTD, i ? JIT_T1 : JIT_T2, JIT_T1, pool(JIT_WAVE_LIMIT));
        if (i)
            acu_x86_vector(x, X86_POR, JIT_T2, JIT_T2, x86_in(JIT_T1));
    }
    if (m->wide)
        acu_x86_test_masks(x, 2, 3);
    else
        acu_x86_vector(x, X86_PTEST, JIT_T2, X86_NONE, x86_in(JIT_T2));
    acu_jit_leave_if(m, aside, X86_NOT_ZERO);
}

/* The handler, aside, finds all values in memory that the operation reads or keeps some of; vectors
 * of the result have nothing yet. */
static void begin_aside(ptx_making *m, jit_aside *aside, const ptx_op *op) {
    aside->keeps_masks = true;
    memcpy(aside->before, m->groups, sizeof m->groups);
    for (unsigned g = 0; g < m->group_count; g++)
        if (aside->before[g].slot == op->d)
            aside->before[g].size = 0;
}

/* `predicate`: a cosine. */
bool acu_jit_wave(ptx_making *m, const ptx_op *op, const jit_row *k) {
    jit_aside *aside = acu_jit_aside(m, &m->code->ops[m->at]);
    if (!aside)
        return false;
    acu_jit_want(m, op->a, 4);
    if (m->masked_by_guard || op->d == op->a)
        acu_jit_lend(m, op->d);
    acu_jit_begin(m, op->d, 4);
    begin_aside(m, aside, op);
    leave_if_large(m, aside, op->a);
    for (unsigned i = 0; i < m->vectors; i++) {
        through_double(m, op, i, k->predicate ? make_cosines : make_sines);
        acu_jit_put(m, op->d, 4, i);
    }
    aside->back = m->x.size;
    memcpy(aside->after, m->groups, sizeof m->groups);
    return true;
}
