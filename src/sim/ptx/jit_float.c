/* Floating point of 64 bits, roundings that are not to nearest, and conversions. */
#include "sim/ptx/jit_inside.h"
#include "sim/ptx/lower_inside.h"

#include <stddef.h>
#include <string.h>

enum { UNORDERED = 3, NOT_BELOW = 0x1d };

static x86_place pool(unsigned at) {
    return x86_at(JIT_POOL, (int32_t)at);
}

static unsigned vectors_of(const ptx_making *m, unsigned size) {
    return PTX_LANES * size / m->width;
}

void acu_jit_take_where(ptx_making *m, unsigned size, unsigned predicate, unsigned a, unsigned b,
                        unsigned d, x86_place s) {
    x86 *x = &m->x;
    const x86_vector compare = size == 4 ? X86_CMPPS : X86_CMPPD;
    if (m->wide) {
        acu_x86_vector_by(x, compare, 2, a, x86_in(b), (uint8_t)predicate);
        acu_x86_masked(x, size == 4 ? X86_LOAD : X86_LOADQ, d, X86_NONE, s, 2);
        return;
    }
    acu_x86_vector_by(x, compare, JIT_T3, a, x86_in(b), (uint8_t)predicate);
    acu_x86_vector_by(x, size == 4 ? X86_BLENDVPS : X86_BLENDVPD, d, d, s, JIT_T3 << 4);
}

/* ---- roundings ---- */

/* Makes JIT_T0 = JIT_T0 op b, rounded as `rounding` says: x86_rounding. Of a fused operation it is
 * JIT_T0 * JIT_T1 + b. */
static void rounded(ptx_making *m, x86_vector op, unsigned b, unsigned rounding, bool is_fused,
                    bool is_unary) {
    x86 *x = &m->x;
    const unsigned a = is_fused ? JIT_T1 : is_unary ? X86_NONE : JIT_T0;
    if (m->wide)
        acu_x86_rounded(x, op, JIT_T0, a, b, rounding);
    else
        acu_x86_vector(x, op, JIT_T0, a, x86_in(b));
}

static void set_rounding(ptx_making *m, unsigned rounding) {
    if (!m->wide)
        acu_x86_load_control(&m->x, acu_jit_control_of(m, rounding));
}

void acu_jit_make_number(ptx_making *m) {
    acu_jit_take_where(m, 4, UNORDERED, JIT_T0, JIT_T0, JIT_T0, pool(JIT_NAN));
}

/* An operation of one operand, two or three, of 32 bits: `predicate` is the rounding. `from` says
 * what the first operand is: 1 of a reciprocal. */
bool acu_jit_rounded(ptx_making *m, const ptx_op *op, const jit_row *k) {
    x86 *x = &m->x;
    const unsigned count = k->vector == X86_FMADD213PS          ? 3
                           : k->from || k->vector == X86_SQRTPS ? 1
                                                                : 2;
    const ptx_slot slots[] = {op->a, op->b, op->c};
    for (unsigned n = 0; n < count; n++)
        acu_jit_want(m, slots[n], 4);
    acu_jit_begin(m, op->d, 4);
    const bool fixes = !acu_jit_leave_rough(m, op->d);
    set_rounding(m, k->predicate);
    for (unsigned i = 0; i < m->vectors; i++) {
        const unsigned last = acu_jit_load(m, slots[count - 1], 4, i, JIT_T2);
        if (k->from)
            acu_x86_vector(x, X86_LOAD, JIT_T0, X86_NONE, pool(JIT_ONE));
        else
            acu_x86_vector(x, X86_LOAD, JIT_T0, X86_NONE, acu_jit_source(m, op->a, 4, i));
        if (count == 3)
            acu_x86_vector(x, X86_LOAD, JIT_T1, X86_NONE, acu_jit_source(m, op->b, 4, i));
        rounded(m, k->vector, last, k->predicate, count == 3, k->vector == X86_SQRTPS);
        if (k->saturates)
            acu_jit_saturate_vector(m, JIT_T0);
        else if (fixes)
            acu_jit_make_number(m);
        acu_jit_put(m, op->d, 4, i);
    }
    set_rounding(m, X86_NEAREST);
    return true;
}

/* ---- 64 bits: NaN is that of the second operand, or else of the first one ---- */

bool acu_jit_double(ptx_making *m, const ptx_op *op, const jit_row *k) {
    x86 *x = &m->x;
    const bool swaps = k->vector == X86_ADDPD || k->vector == X86_MULPD;
    const bool subtracts = k->vector == X86_SUBPD;
    acu_jit_want(m, op->a, 8);
    acu_jit_want(m, op->b, 8);
    acu_jit_begin(m, op->d, 8);
    for (unsigned i = 0; i < vectors_of(m, 8); i++) {
        const unsigned a = acu_jit_load(m, op->a, 8, i, JIT_T1),
                       b = acu_jit_load(m, op->b, 8, i, subtracts ? JIT_T0 : JIT_T2);
        if (subtracts) { /* b * -1 + a, because a difference has the NaN of the first one */
            if (b != JIT_T0)
                acu_x86_vector(x, X86_LOAD, JIT_T0, X86_NONE, x86_in(b));
            acu_x86_vector(x, X86_FMADD132PD, JIT_T0, a, pool(JIT_MINUS_ONE_WIDE));
        } else {
            acu_x86_vector(x, k->vector, JIT_T0, swaps ? b : a, x86_in(swaps ? a : b));
        }
        acu_jit_put(m, op->d, 8, i);
    }
    return true;
}

/* Jumps if no element of JIT_T0 is NaN. */
static size_t jump_if_numbers(ptx_making *m) {
    x86 *x = &m->x;
    if (m->wide) {
        acu_x86_vector_by(x, X86_CMPPD, 2, JIT_T0, x86_in(JIT_T0), UNORDERED);
        acu_x86_test_mask(x, 2);
    } else {
        acu_x86_vector_by(x, X86_CMPPD, JIT_T3, JIT_T0, x86_in(JIT_T0), UNORDERED);
        acu_x86_vector(x, X86_PTEST, JIT_T3, X86_NONE, x86_in(JIT_T3));
    }
    return acu_x86_jump(x, X86_ZERO);
}

/* Returns whether the four results are written where they belong at once, not from JIT_T0 on: then
 * these have what was there if it is also an operand. */
static bool fuses_in_place(const ptx_making *m, const ptx_op *op) {
    return !m->masked_by_guard && acu_jit_has_all(m, op->d, 8);
}

void acu_jit_fix_fused(ptx_making *m, const ptx_op *op, bool in_place) {
    x86 *x = &m->x;
    const ptx_slot slots[] = {op->a, op->c, op->b};
    for (unsigned i = 0; i < 4; i++)
        for (unsigned n = 0; n < 3; n++) {
            const unsigned one = in_place && slots[n] == op->d
                                     ? JIT_T0 + i
                                     : acu_jit_load(m, slots[n], 8, i, JIT_T4);
            acu_x86_vector(x, X86_ADDPD, JIT_T5, one, x86_in(one)); /* quiet */
            acu_jit_take_where(m, 8, UNORDERED, one, one,
                               in_place ? acu_jit_target(m, op->d, 8, i) : JIT_T0 + i,
                               x86_in(JIT_T5));
        }
}

/* Computes vector i of d = a * b + c, and returns what has it. */
static unsigned fuse_one(ptx_making *m, const ptx_op *op, unsigned i) {
    x86 *x = &m->x;
    const bool in_place = fuses_in_place(m, op);
    const unsigned d = in_place ? acu_jit_target(m, op->d, 8, i) : JIT_T0 + i;
    const bool is_sum = in_place && op->c == op->d;
    const ptx_slot first = is_sum                       ? op->c
                           : in_place && op->b == op->d ? op->b
                                                        : op->a,
                   other = first == op->b ? op->a : op->b;
    if (in_place && first == op->d)
        acu_x86_vector(x, X86_LOAD, JIT_T0 + i, X86_NONE, x86_in(d));
    else
        acu_x86_vector(x, X86_LOAD, d, X86_NONE, acu_jit_source(m, first, 8, i));
    /* what is d is read from there: it is not yet written */
    if (is_sum)
        acu_x86_vector(x, X86_FMADD231PD, d,
                       op->a == op->d ? JIT_T0 + i : acu_jit_load(m, op->a, 8, i, JIT_T4),
                       op->b == op->d ? x86_in(JIT_T0 + i) : acu_jit_source(m, op->b, 8, i));
    else
        acu_x86_vector(x, X86_FMADD213PD, d,
                       in_place && other == op->d ? JIT_T0 + i
                                                  : acu_jit_load(m, other, 8, i, JIT_T4),
                       acu_jit_source(m, op->c, 8, i));
    return d;
}

/* d = a * b + c with AVX-512: NaN is looked for in all four vectors at once. */
static void fuse_four(ptx_making *m, const ptx_op *op) {
    x86 *x = &m->x;
    unsigned d[4];
    for (unsigned i = 0; i < 4; i++)
        d[i] = fuse_one(m, op, i);
    acu_x86_vector_by(x, X86_CMPPD, 2, d[0], x86_in(d[1]), UNORDERED);
    acu_x86_vector_by(x, X86_CMPPD, 3, d[2], x86_in(d[3]), UNORDERED);
    jit_aside *aside = acu_jit_aside(m, NULL);
    if (!aside)
        return; /* there is no memory, and the code is worth nothing */
    acu_x86_test_masks(x, 2, 3);
    aside->jumps[aside->jump_count++] = acu_x86_jump(x, X86_NOT_ZERO);
    aside->fused = op;
    aside->in_place = fuses_in_place(m, op);
    memcpy(aside->before, m->groups, sizeof m->groups);
    aside->back = x->size;
    for (unsigned i = 0; i < 4 && !fuses_in_place(m, op); i++) {
        const unsigned to = acu_jit_target(m, op->d, 8, i);
        if (to != d[i])
            acu_x86_vector(x, X86_LOAD, to, X86_NONE, x86_in(d[i]));
        acu_jit_done(m, op->d, 8, i);
    }
}

/* d = a * b + c. NaN is that of b, or else of c, or else of a; processors differ in theirs. */
bool acu_jit_fused_double(ptx_making *m, const ptx_op *op, const jit_row *k) {
    x86 *x = &m->x;
    const ptx_slot slots[] = {op->a, op->c, op->b};
    (void)k;
    for (unsigned n = 0; n < 3; n++)
        acu_jit_want(m, slots[n], 8);
    acu_jit_begin(m, op->d, 8);
    if (m->wide) {
        fuse_four(m, op);
        return true;
    }
    for (unsigned i = 0; i < vectors_of(m, 8); i++) {
        acu_x86_vector(x, X86_LOAD, JIT_T0, X86_NONE, acu_jit_source(m, op->a, 8, i));
        acu_x86_vector(x, X86_FMADD213PD, JIT_T0, acu_jit_load(m, op->b, 8, i, JIT_T1),
                       acu_jit_source(m, op->c, 8, i));
        const size_t numbers = jump_if_numbers(m);
        for (unsigned n = 0; n < 3; n++) {
            const unsigned one = acu_jit_load(m, slots[n], 8, i, JIT_T1);
            acu_x86_vector(x, X86_ADDPD, JIT_T2, one, x86_in(one)); /* quiet */
            acu_jit_take_where(m, 8, UNORDERED, one, one, JIT_T0, x86_in(JIT_T2));
        }
        acu_x86_land(x, numbers, x->size);
        acu_jit_put(m, op->d, 8, i);
    }
    return true;
}

/* Changes the sign of a, but NaN is quiet and keeps it. `predicate`: a constant of the pool. */
bool acu_jit_signed_double(ptx_making *m, const ptx_op *op, const jit_row *k) {
    x86 *x = &m->x;
    acu_jit_want(m, op->a, 8);
    acu_jit_begin(m, op->d, 8);
    for (unsigned i = 0; i < vectors_of(m, 8); i++) {
        const unsigned a = acu_jit_load(m, op->a, 8, i, JIT_T1);
        acu_x86_vector(x, k->vector, JIT_T0, a, pool(64u * k->predicate));
        acu_x86_vector(x, X86_ADDPD, JIT_T2, a, x86_in(a));
        acu_jit_take_where(m, 8, UNORDERED, a, a, JIT_T0, x86_in(JIT_T2));
        acu_jit_put(m, op->d, 8, i);
    }
    return true;
}

/* The processor's NaN is that of the operand. `is_signed`: a is what 1 is divided by. */
bool acu_jit_unary_double(ptx_making *m, const ptx_op *op, const jit_row *k) {
    x86 *x = &m->x;
    if (!m->wide && k->vector != X86_SQRTPD && k->vector != X86_DIVPD && k->vector != X86_ROUNDPD)
        return false;
    acu_jit_want(m, op->a, 8);
    acu_jit_begin(m, op->d, 8);
    for (unsigned i = 0; i < vectors_of(m, 8); i++) {
        const x86_place a = acu_jit_source(m, op->a, 8, i);
        if (k->is_signed)
            acu_x86_vector(x, X86_LOAD, JIT_T0, X86_NONE, pool(JIT_ONE_WIDE));
        if (k->vector == X86_ROUNDPD)
            acu_x86_vector_by(x, k->vector, JIT_T0, X86_NONE, a, k->predicate | 8);
        else
            acu_x86_vector(x, k->vector, JIT_T0, k->is_signed ? JIT_T0 : X86_NONE, a);
        acu_jit_put(m, op->d, 8, i);
    }
    return true;
}

/* ---- conversions ---- */

void acu_jit_join_halves(ptx_making *m) {
    acu_x86_vector_by(&m->x, X86_INSERT128, JIT_T0, JIT_T0,
                      acu_jit_in_frame(offsetof(jit_frame, words)), 1);
}

void acu_jit_keep_half(ptx_making *m, unsigned vector) {
    acu_x86_vector_by(&m->x, X86_EXTRACT128, vector, X86_NONE,
                      acu_jit_in_frame(offsetof(jit_frame, words)), 0);
}

/* What is not above 0, and NaN, becomes 0, what is above 1 becomes 1. */
bool acu_jit_saturate(ptx_making *m, const ptx_op *op, const jit_row *k) {
    x86 *x = &m->x;
    (void)k;
    acu_jit_want(m, op->a, 4);
    acu_jit_begin(m, op->d, 4);
    for (unsigned i = 0; i < m->vectors; i++) {
        acu_x86_vector(x, X86_LOAD, JIT_T0, X86_NONE, acu_jit_source(m, op->a, 4, i));
        acu_jit_saturate_vector(m, JIT_T0);
        acu_jit_put(m, op->d, 4, i);
    }
    return true;
}

/* Makes 16 words, in JIT_T0, of vectors 2i and 2i + 1 of 64 bits. AVX-512 only. */
static void narrow_two(ptx_making *m, const ptx_op *op, const jit_row *k, unsigned i) {
    x86 *x = &m->x;
    for (unsigned half = 0; half < 2; half++)
        acu_x86_rounded(x, k->vector, JIT_T0 + half, X86_NONE,
                        acu_jit_load(m, op->a, 8, 2 * i + half, JIT_T2), k->predicate);
    acu_x86_vector_by(x, X86_INSERT256, JIT_T0, JIT_T0, x86_in(JIT_T1), 1);
}

/* An integer of 32 bits: the processor has the lowest one for NaN, as a GPU has, and for all that
 * does not fit. */
bool acu_jit_word_of_double(ptx_making *m, const ptx_op *op, const jit_row *k) {
    enum { ABOVE = 0x1e };
    x86 *x = &m->x;
    if (!m->wide)
        return false;
    acu_jit_want(m, op->a, 8);
    acu_jit_begin(m, op->d, 4);
    for (unsigned i = 0; i < m->vectors; i++) {
        narrow_two(m, op, k, i);
        for (unsigned half = 0; half < 2; half++)
            acu_x86_vector_by(x, X86_CMPPD, 2 + half,
                              acu_jit_load(m, op->a, 8, 2 * i + half, JIT_T2), pool(JIT_ZERO),
                              ABOVE);
        acu_x86_join_masks(x, 8, 2, 3, 2);
        acu_x86_vector(x, X86_LOAD, JIT_T1, X86_NONE, pool(JIT_SIGN));
        acu_x86_masked_by(x, X86_PCMPUD, 2, JIT_T0, x86_in(JIT_T1), 2, 0);
        acu_x86_masked(x, X86_LOAD, JIT_T0, X86_NONE, pool(JIT_NAN), 2); /* 0x7fffffff */
        acu_jit_put(m, op->d, 4, i);
    }
    return true;
}

bool acu_jit_float_of_double(ptx_making *m, const ptx_op *op, const jit_row *k) {
    if (!m->wide && k->vector != X86_CVTPD2PS)
        return false;
    acu_jit_want(m, op->a, 8);
    acu_jit_begin(m, op->d, 4);
    for (unsigned i = 0; i < m->vectors; i++) {
        if (m->wide) {
            narrow_two(m, op, k, i);
        } else {
            acu_x86_vector(&m->x, k->vector, JIT_T1, X86_NONE,
                           acu_jit_source(m, op->a, 8, 2 * i + 1));
            acu_jit_keep_half(m, JIT_T1);
            acu_x86_vector(&m->x, k->vector, JIT_T0, X86_NONE, acu_jit_source(m, op->a, 8, 2 * i));
            acu_jit_join_halves(m);
        }
        acu_jit_put(m, op->d, 4, i);
    }
    return true;
}

/* Widens vector i of 32 bits, or narrows two of 64 bits into it. */
bool acu_jit_widen_float(ptx_making *m, const ptx_op *op, const jit_row *k) {
    if (!m->wide && k->vector == X86_CVTUDQ2PD)
        return false;
    acu_jit_want(m, op->a, 4);
    acu_jit_begin(m, op->d, 8);
    for (unsigned i = 0; i < vectors_of(m, 8); i++) {
        acu_x86_vector(&m->x, k->vector, JIT_T0, X86_NONE, acu_jit_half(m, op->a, i, JIT_T0));
        if (k->flushes) /* it makes NaN the one that a GPU has, too */
            acu_jit_take_where(m, 8, UNORDERED, JIT_T0, JIT_T0, JIT_T0, pool(JIT_NAN_WIDE));
        acu_jit_put(m, op->d, 8, i);
    }
    return true;
}

/* Returns whether the 16 bits, or 8, of a source become words before they become floats. */
bool acu_jit_float_of_short(ptx_making *m, const ptx_op *op, const jit_row *k) {
    x86 *x = &m->x;
    acu_jit_begin(m, op->d, 4);
    for (unsigned i = 0; i < m->vectors; i++) {
        acu_x86_vector(x, k->is_signed ? X86_PMOVSXWD : X86_PMOVZXWD, JIT_T0, X86_NONE,
                       acu_jit_memory(m, op->a, (size_t)i * m->width / 2));
        acu_x86_vector(x, X86_CVTDQ2PS, JIT_T0, X86_NONE, x86_in(JIT_T0));
        acu_jit_put(m, op->d, 4, i);
    }
    return true;
}

/* An integer of a float, which is nearest, or `predicate` is how it is rounded first, or
 * X86_TOWARD_ZERO. What does not fit becomes the nearest number that does, and NaN becomes 0. */
bool acu_jit_integer_of_float(ptx_making *m, const ptx_op *op, const jit_row *k) {
    x86 *x = &m->x;
    if (!k->is_signed && !m->wide)
        return false;
    acu_jit_want(m, op->a, 4);
    acu_jit_begin(m, op->d, 4);
    for (unsigned i = 0; i < m->vectors; i++) {
        unsigned a = acu_jit_load(m, op->a, 4, i, JIT_T1);
        if (!k->is_signed) { /* MAXPS returns the second operand if one is no number */
            acu_x86_vector(x, X86_MAXPS, JIT_T1, a, pool(JIT_ZERO));
            a = JIT_T1;
        }
        if (m->wide)
            acu_x86_rounded(x, k->is_signed ? X86_CVTPS2DQ : X86_CVTPS2UDQ, JIT_T0, X86_NONE, a,
                            k->predicate);
        else
            acu_x86_vector(x, k->predicate == X86_NEAREST ? X86_CVTPS2DQ : X86_CVTTPS2DQ, JIT_T0,
                           X86_NONE, x86_in(a));
        if (k->is_signed) { /* the processor has the lowest number for all these */
            acu_x86_vector(x, X86_LOAD, JIT_T2, X86_NONE, pool(JIT_2_31));
            acu_jit_take_where(m, 4, NOT_BELOW, a, JIT_T2, JIT_T0, pool(JIT_NAN)); /* 0x7fffffff */
            acu_jit_take_where(m, 4, UNORDERED, a, a, JIT_T0, pool(JIT_ZERO));
        }
        acu_jit_put(m, op->d, 4, i);
    }
    return true;
}
