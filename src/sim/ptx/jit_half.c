/*
 * f16 and bf16, alone and in pairs, with AVX-512. A vector of 64 bytes has 32 numbers, whatever
 * the registers are called. They are computed as floats: 16 at a time, which of f16 are neighbours,
 * and of bf16 the lower or the upper ones of pairs.
 */
#include "sim/ptx/jit_inside.h"
#include "sim/ptx/lower_inside.h"

#include <stddef.h>

enum { UNORDERED = 3 };

static x86_place pool(unsigned at) {
    return x86_at(JIT_POOL, (int32_t)at);
}

static unsigned vectors_of(const ptx_making *m, unsigned size) {
    return PTX_LANES * size / m->width;
}

/* Gives the floats of a vector that are NaN the bits of a constant. */
static void fix_nan(ptx_making *m, unsigned vector, unsigned constant) {
    acu_x86_vector_by(&m->x, X86_CMPPS, 2, vector, x86_in(vector), UNORDERED);
    acu_x86_masked(&m->x, X86_LOAD, vector, X86_NONE, pool(constant), 2);
}

/* ---- operands ---- */

/* Returns the 32 bytes of vector i that have its lower or its upper half. */
static x86_place half_of(ptx_making *m, ptx_slot slot, unsigned size, unsigned i, unsigned half,
                         unsigned temporary) {
    const x86_place whole = acu_jit_source(m, slot, size, i);
    if (whole.in_memory)
        return acu_jit_memory(m, slot, (size_t)i * m->width + (size_t)half * m->width / 2);
    if (!half)
        return whole;
    acu_x86_vector_by(&m->x, X86_EXTRACT256, whole.number, X86_NONE, x86_in(temporary), 1);
    return x86_in(temporary);
}

/* Makes floats of 16 numbers of vector i: those of a half, or of bf16 those of that half of the
 * words. */
static void load_floats(ptx_making *m, const jit_row *k, ptx_slot slot, unsigned i, unsigned half,
                        unsigned d) {
    x86 *x = &m->x;
    if (!k->is_signed) {
        acu_x86_vector(x, X86_CVTPH2PS, d, X86_NONE, half_of(m, slot, k->size, i, half, d));
        return;
    }
    acu_x86_vector(x, X86_LOAD, d, X86_NONE, acu_jit_source(m, slot, k->size, i));
    if (half)
        acu_x86_vector(x, X86_PAND, d, d, pool(JIT_UPPER));
    else
        acu_x86_shift_by(x, X86_SHIFT_PSLLD, d, d, 16);
}

/* ---- results ---- */

/* Makes bf16 of the floats in a vector, rounded to the nearest: the upper 16 bits; uses JIT_T3. */
static void round_brains(ptx_making *m, unsigned vector) {
    x86 *x = &m->x;
    acu_x86_shift_by(x, X86_SHIFT_PSLLD, JIT_T3, vector, 15); /* the last bit that stays, */
    acu_x86_shift_by(x, X86_SHIFT_PSRLD, JIT_T3, JIT_T3, 31); /* alone */
    acu_x86_vector(x, X86_PADDD, vector, vector, x86_in(JIT_T3));
    acu_x86_vector(x, X86_PADDD, vector, vector, pool(JIT_BELOW_HALF));
}

/* Makes f16 of the floats in a vector, in half of a vector. */
static void round_halves(ptx_making *m, unsigned vector, unsigned d) {
    acu_x86_vector_by(&m->x, X86_CVTPS2PH, vector, X86_NONE, x86_in(d), X86_NEAREST);
}

/* Makes halves of the 16 floats in JIT_T4 and those in JIT_T1: f16 in half of JIT_T0 and of JIT_T1
 * each, bf16 in JIT_T0. */
static void join_floats(ptx_making *m, bool is_brain) {
    x86 *x = &m->x;
    acu_jit_fix_two(m, JIT_T4, JIT_T1, is_brain ? JIT_NAN_UPPER : JIT_NAN);
    if (!is_brain) {
        round_halves(m, JIT_T4, JIT_T0);
        round_halves(m, JIT_T1, JIT_T1);
        return;
    }
    round_brains(m, JIT_T4);
    round_brains(m, JIT_T1);
    acu_x86_shift_by(x, X86_SHIFT_PSRLD, JIT_T0, JIT_T4, 16);
    acu_x86_vector(x, X86_PAND, JIT_T1, JIT_T1, pool(JIT_UPPER));
    acu_x86_vector(x, X86_POR, JIT_T0, JIT_T0, x86_in(JIT_T1));
}

/* ---- arithmetic ---- */

/* Makes d = a * b + c, from which another rounding gives what one would: where the sum is no
 * float the last bit is set of that beside it which is nearer to 0. The two floats beside it have
 * another last bit then, and the same one where the sum is exact. */
static void fuse_to_odd(ptx_making *m, unsigned d, unsigned a, unsigned b, unsigned c) {
    enum { DIFFERENT_BITS = 0x28 }; /* (d ^ a) & b */
    x86 *x = &m->x;
    acu_x86_vector(x, X86_LOAD, JIT_T0, X86_NONE, x86_in(a));
    acu_x86_vector(x, X86_LOAD, JIT_T5, X86_NONE, x86_in(a));
    if (a != d)
        acu_x86_vector(x, X86_LOAD, d, X86_NONE, x86_in(a));
    acu_x86_rounded(x, X86_FMADD213PS, JIT_T0, b, c, X86_DOWN);
    acu_x86_rounded(x, X86_FMADD213PS, JIT_T5, b, c, X86_UP);
    acu_x86_rounded(x, X86_FMADD213PS, d, b, c, X86_TO_ZERO);
    acu_x86_vector_by(x, X86_PTERNLOGD, JIT_T0, JIT_T5, pool(JIT_ONE_WORD), DIFFERENT_BITS);
    acu_x86_vector(x, X86_POR, d, d, x86_in(JIT_T0));
}

/* What an operation reads: its floats are in vectors, or are made of it. */
typedef struct half_operand {
    ptx_slot slot;
    bool has_floats;
} half_operand;

/* Prepares to read an operand. Floats of f16 are kept, because it takes as long to make them as to
 * compute with them. */
static half_operand want_operand(ptx_making *m, const jit_row *k, ptx_slot slot) {
    const jit_floats floats = k->is_signed ? JIT_NO_FLOATS : acu_jit_want_floats(m, slot, k->size);
    if (floats == JIT_NO_FLOATS)
        acu_jit_want(m, slot, k->size);
    for (unsigned i = 0; i < 2 * vectors_of(m, k->size) && floats == JIT_EMPTY_FLOATS; i++)
        load_floats(m, k, slot, i / 2, i % 2, acu_jit_floats(m, slot, i));
    return (half_operand){slot, floats != JIT_NO_FLOATS};
}

/* Returns the vector that has 16 floats of an operand: the temporary one, or one of its own. */
static unsigned load_operand(ptx_making *m, const jit_row *k, half_operand o, unsigned i,
                             unsigned half, unsigned temporary) {
    if (o.has_floats)
        return acu_jit_floats(m, o.slot, 2 * i + half);
    load_floats(m, k, o.slot, i, half, temporary);
    return temporary;
}

/* Computes 16 floats in the vector d; uses JIT_T0 to JIT_T3 and JIT_T5. A sum of two numbers is
 * rounded twice, which is right; a product of bf16 may have too few bits for that. */
static void compute(ptx_making *m, const half_operand *o, const jit_row *k, unsigned i,
                    unsigned half, unsigned d) {
    x86 *x = &m->x;
    const unsigned a = load_operand(m, k, o[0], i, half, JIT_T1),
                   b = load_operand(m, k, o[1], i, half, JIT_T2);
    unsigned c = JIT_T3;
    if (k->vector == X86_FMADD213PS)
        c = load_operand(m, k, o[2], i, half, JIT_T3);
    else if (k->vector == X86_MULPS && k->is_signed)
        acu_x86_vector(x, X86_LOAD, JIT_T3, X86_NONE, pool(JIT_SIGN)); /* -0 */
    else {
        acu_x86_vector(x, k->vector, d, a, x86_in(b));
        return;
    }
    fuse_to_odd(m, d, a, b, c);
}

/* Writes the halves in JIT_T0 and JIT_T1 to vector i of a result, and to its floats. */
static void put_halves(ptx_making *m, const ptx_op *op, const jit_row *k, unsigned i,
                       bool has_floats) {
    x86 *x = &m->x;
    for (unsigned half = 0; half < 2 && has_floats; half++)
        acu_x86_vector(x, X86_CVTPH2PS, acu_jit_floats(m, op->d, 2 * i + half), X86_NONE,
                       x86_in(JIT_T0 + half));
    if (k->is_signed) {
        acu_jit_put(m, op->d, k->size, i);
        return;
    }
    acu_x86_vector_by(x, X86_INSERT256, acu_jit_target(m, op->d, k->size, i), JIT_T0,
                      x86_in(JIT_T1), 1);
    acu_jit_done(m, op->d, k->size, i);
}

/* `is_signed`: of bf16; `size`: 2, or 4 of pairs. */
bool acu_jit_halves(ptx_making *m, const ptx_op *op, const jit_row *k) {
    const ptx_slot slots[] = {op->a, op->b, op->c};
    half_operand operands[3];
    if (!m->wide)
        return false;
    for (unsigned n = 0; n < (k->vector == X86_FMADD213PS ? 3 : 2); n++)
        operands[n] = want_operand(m, k, slots[n]);
    acu_jit_begin(m, op->d, k->size);
    const bool has_floats = !k->is_signed && !m->masked_by_guard &&
                            acu_jit_want_floats(m, op->d, k->size) != JIT_NO_FLOATS;
    for (unsigned i = 0; i < vectors_of(m, k->size); i++) {
        compute(m, operands, k, i, 0, JIT_T4);
        compute(m, operands, k, i, 1, JIT_T1);
        join_floats(m, k->is_signed);
        put_halves(m, op, k, i, has_floats);
    }
    return true;
}

/* ---- conversions ---- */

bool acu_jit_float_of_half(ptx_making *m, const ptx_op *op, const jit_row *k) {
    (void)k;
    if (!m->wide)
        return false;
    acu_jit_begin(m, op->d, 4);
    for (unsigned i = 0; i < m->vectors; i++) {
        acu_x86_vector(&m->x, X86_CVTPH2PS, JIT_T0, X86_NONE,
                       acu_jit_memory(m, op->a, (size_t)i * m->width / 2));
        fix_nan(m, JIT_T0, JIT_NAN);
        acu_jit_put(m, op->d, 4, i);
    }
    return true;
}

/* `is_signed`: to bf16. */
bool acu_jit_half_of_float(ptx_making *m, const ptx_op *op, const jit_row *k) {
    x86 *x = &m->x;
    if (!m->wide)
        return false;
    acu_jit_want(m, op->a, 4);
    acu_jit_begin(m, op->d, 2);
    for (unsigned i = 0; i < m->vectors; i++) {
        acu_x86_vector(x, X86_LOAD, JIT_T0, X86_NONE, acu_jit_source(m, op->a, 4, i));
        fix_nan(m, JIT_T0, k->is_signed ? JIT_NAN_UPPER : JIT_NAN);
        if (k->is_signed) {
            round_brains(m, JIT_T0);
            acu_x86_shift_by(x, X86_SHIFT_PSRLD, JIT_T0, JIT_T0, 16);
        } else {
            round_halves(m, JIT_T0, JIT_T0);
            acu_x86_vector(x, X86_PMOVZXWD, JIT_T0, X86_NONE, x86_in(JIT_T0));
        }
        acu_jit_store_shorts(m, op->d, i);
    }
    return true;
}

/* A pair of two floats, of which b is the lower one. */
bool acu_jit_pair_of_floats(ptx_making *m, const ptx_op *op, const jit_row *k) {
    x86 *x = &m->x;
    if (!m->wide)
        return false;
    acu_jit_want(m, op->a, 4);
    acu_jit_want(m, op->b, 4);
    acu_jit_begin(m, op->d, 4);
    for (unsigned i = 0; i < m->vectors; i++) {
        acu_x86_vector(x, X86_LOAD, JIT_T4, X86_NONE, acu_jit_source(m, op->b, 4, i));
        acu_x86_vector(x, X86_LOAD, JIT_T1, X86_NONE, acu_jit_source(m, op->a, 4, i));
        if (k->is_signed) {
            join_floats(m, true);
        } else {
            acu_jit_fix_two(m, JIT_T4, JIT_T1, JIT_NAN);
            round_halves(m, JIT_T4, JIT_T0);
            round_halves(m, JIT_T1, JIT_T1);
            acu_x86_vector(x, X86_PMOVZXWD, JIT_T0, X86_NONE, x86_in(JIT_T0));
            acu_x86_vector(x, X86_PMOVZXWD, JIT_T1, X86_NONE, x86_in(JIT_T1));
            acu_x86_shift_by(x, X86_SHIFT_PSLLD, JIT_T1, JIT_T1, 16);
            acu_x86_vector(x, X86_POR, JIT_T0, JIT_T0, x86_in(JIT_T1));
        }
        acu_jit_put(m, op->d, 4, i);
    }
    return true;
}
