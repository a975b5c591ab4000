/* Operations that do the same in each lane, as instructions on vectors. */
#include "sim/ptx/form.h"
#include "sim/ptx/jit_inside.h"
#include "sim/ptx/lower_inside.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const jit_row *find_known(const ptx_op *op);

static x86_place pool(unsigned at) {
    return x86_at(JIT_POOL, (int32_t)at);
}

static unsigned vectors_of(const ptx_making *m, unsigned size) {
    return PTX_LANES * size / m->width;
}

/* Makes the one NaN that a GPU has of any. */
static void fix_nan(ptx_making *m, unsigned vector) {
    x86 *x = &m->x;
    enum { UNORDERED = 3 };
    if (m->wide) {
        acu_x86_vector_by(x, X86_CMPPS, 2, vector, x86_in(vector), UNORDERED);
        acu_x86_masked(x, X86_LOAD, vector, X86_NONE, pool(JIT_NAN), 2);
        return;
    }
    acu_x86_vector_by(x, X86_CMPPS, JIT_T2, vector, x86_in(vector), UNORDERED);
    acu_x86_vector_by(x, X86_BLENDVPS, vector, vector, pool(JIT_NAN), JIT_T2 << 4);
}

void acu_jit_saturate_vector(ptx_making *m, unsigned vector) {
    acu_x86_vector(&m->x, X86_MAXPS, vector, vector, pool(JIT_ZERO)); /* the second one, if NaN */
    acu_x86_vector(&m->x, X86_MINPS, vector, vector, pool(JIT_ONE));
}

/* Finishes a vector of results. */
static void finish(ptx_making *m, unsigned vector, const jit_row *k, bool fixes) {
    if (k->saturates)
        acu_jit_saturate_vector(m, vector);
    else if (fixes)
        fix_nan(m, vector);
}

/* Returns whether the NaN of a result that has been begun needs its bits now, not later. */
static bool fixes_now(ptx_making *m, const ptx_op *op, const jit_row *k) {
    return k->is_float && !acu_jit_leave_rough(m, op->d);
}

static void want_all(ptx_making *m, const ptx_op *op, const jit_row *k, unsigned count) {
    const ptx_slot slots[] = {op->a, op->b, op->c};
    for (unsigned n = 0; n < count; n++)
        acu_jit_want(m, slots[n], k->size);
}

static bool binary(ptx_making *m, const ptx_op *op, const jit_row *k) {
    want_all(m, op, k, 2);
    acu_jit_begin(m, op->d, k->size);
    const bool fixes = fixes_now(m, op, k);
    for (unsigned i = 0; i < vectors_of(m, k->size); i++) {
        unsigned a = acu_jit_load(m, op->a, k->size, i, JIT_T1),
                 d = acu_jit_target(m, op->d, k->size, i);
        acu_x86_vector(&m->x, k->vector, d, a, acu_jit_source(m, op->b, k->size, i));
        finish(m, d, k, fixes);
        acu_jit_done(m, op->d, k->size, i);
    }
    return true;
}

/* Of a and a constant of the pool, which comes first if `is_signed`. */
static bool with_pool(ptx_making *m, const ptx_op *op, const jit_row *k) {
    acu_jit_want(m, op->a, k->size);
    acu_jit_begin(m, op->d, k->size);
    const bool fixes = fixes_now(m, op, k);
    for (unsigned i = 0; i < vectors_of(m, k->size); i++) {
        x86_place constant = pool(64u * k->predicate);
        unsigned d;
        if (k->is_signed) {
            acu_x86_vector(&m->x, X86_LOAD, JIT_T1, X86_NONE, constant);
            x86_place a = acu_jit_source(m, op->a, k->size, i);
            d = acu_jit_target(m, op->d, k->size, i);
            acu_x86_vector(&m->x, k->vector, d, JIT_T1, a);
        } else {
            unsigned a = acu_jit_load(m, op->a, k->size, i, JIT_T1);
            d = acu_jit_target(m, op->d, k->size, i);
            acu_x86_vector(&m->x, k->vector, d, a, constant);
        }
        finish(m, d, k, fixes);
        acu_jit_done(m, op->d, k->size, i);
    }
    return true;
}

static bool unary(ptx_making *m, const ptx_op *op, const jit_row *k) {
    if (k->vector == X86_CVTUDQ2PS && !m->wide)
        return false;
    acu_jit_want(m, op->a, k->size);
    acu_jit_begin(m, op->d, k->size);
    const bool fixes = fixes_now(m, op, k);
    for (unsigned i = 0; i < vectors_of(m, k->size); i++) {
        unsigned d = acu_jit_target(m, op->d, k->size, i);
        acu_x86_vector(&m->x, k->vector, d, X86_NONE, acu_jit_source(m, op->a, k->size, i));
        finish(m, d, k, fixes);
        acu_jit_done(m, op->d, k->size, i);
    }
    return true;
}

/* A float without what is behind its point; `predicate` is how. */
static bool make_whole(ptx_making *m, const ptx_op *op, const jit_row *k) {
    acu_jit_want(m, op->a, 4);
    acu_jit_begin(m, op->d, 4);
    const bool fixes = fixes_now(m, op, k);
    for (unsigned i = 0; i < m->vectors; i++) {
        const unsigned d = acu_jit_target(m, op->d, 4, i);
        acu_x86_vector_by(&m->x, k->vector, d, X86_NONE, acu_jit_source(m, op->a, 4, i),
                          k->predicate | 8);
        finish(m, d, k, fixes);
        acu_jit_done(m, op->d, 4, i);
    }
    return true;
}

static bool copy(ptx_making *m, const ptx_op *op, const jit_row *k) {
    if (!op->size) {
        acu_x86_word(&m->x, X86_MOV, X86_RAX, acu_jit_memory(m, op->a, 0));
        acu_jit_store_predicate(m, op->d);
        return true;
    }
    if (op->size != 2 && op->size != 4 && op->size != 8)
        return false;
    jit_row sized = *k;
    sized.size = op->size;
    return unary(m, op, &sized);
}

/* Gives the vector d the bits of s where a predicate of floats a and b holds. */
static void take_where(ptx_making *m, unsigned predicate, unsigned a, x86_place b, unsigned d,
                       x86_place s) {
    x86 *x = &m->x;
    if (m->wide) {
        acu_x86_vector_by(x, X86_CMPPS, 2, a, b, (uint8_t)predicate);
        acu_x86_masked(x, X86_LOAD, d, X86_NONE, s, 2);
        return;
    }
    acu_x86_vector_by(x, X86_CMPPS, JIT_T2, a, b, (uint8_t)predicate);
    acu_x86_vector_by(x, X86_BLENDVPS, d, d, s, JIT_T2 << 4);
}

/* The smaller or the larger float. The instruction returns b where both are zeros or one is no
 * number, which loses. A zero with a sign is below one without: `predicate` joins their bits. */
static bool extreme(ptx_making *m, const ptx_op *op, const jit_row *k) {
    enum { EQUAL_NUMBERS = 0, UNORDERED = 3 };
    x86 *x = &m->x;
    want_all(m, op, k, 2);
    acu_jit_begin(m, op->d, 4);
    const bool fixes = fixes_now(m, op, k);
    for (unsigned i = 0; i < m->vectors; i++) {
        unsigned a = acu_jit_load(m, op->a, 4, i, JIT_T1);
        x86_place b = acu_jit_source(m, op->b, 4, i);
        acu_x86_vector(x, k->predicate ? X86_PAND : X86_POR, JIT_T3, a, b);
        acu_x86_vector(x, k->vector, JIT_T0, a, b);
        take_where(m, EQUAL_NUMBERS, a, b, JIT_T0, x86_in(JIT_T3));
        acu_x86_vector(x, X86_LOAD, JIT_T3, X86_NONE, b);
        take_where(m, UNORDERED, JIT_T3, x86_in(JIT_T3), JIT_T0, x86_in(a));
        take_where(m, UNORDERED, a, x86_in(a), JIT_T0, x86_in(JIT_T3));
        if (fixes)
            fix_nan(m, JIT_T0);
        unsigned d = acu_jit_target(m, op->d, 4, i);
        if (d != JIT_T0)
            acu_x86_vector(x, X86_LOAD, d, X86_NONE, x86_in(JIT_T0));
        acu_jit_done(m, op->d, 4, i);
    }
    return true;
}

/* d = a * b + c, rounded once. */
static bool fused(ptx_making *m, const ptx_op *op, const jit_row *k) {
    x86 *x = &m->x;
    want_all(m, op, k, 3);
    acu_jit_begin(m, op->d, 4);
    const bool fixes = fixes_now(m, op, k);
    for (unsigned i = 0; i < m->vectors; i++) {
        unsigned d = acu_jit_target(m, op->d, 4, i);
        x86_place a = acu_jit_source(m, op->a, 4, i), b = acu_jit_source(m, op->b, 4, i),
                  c = acu_jit_source(m, op->c, 4, i);
        if (!a.in_memory && a.number == d) {
            acu_x86_vector(x, X86_FMADD213PS, d, acu_jit_load(m, op->b, 4, i, JIT_T1), c);
        } else if (!b.in_memory && b.number == d) {
            acu_x86_vector(x, X86_FMADD213PS, d, acu_jit_load(m, op->a, 4, i, JIT_T1), c);
        } else {
            if (c.in_memory || c.number != d)
                acu_x86_vector(x, X86_LOAD, d, X86_NONE, c);
            acu_x86_vector(x, X86_FMADD231PS, d, acu_jit_load(m, op->a, 4, i, JIT_T1), b);
        }
        finish(m, d, k, fixes);
        acu_jit_done(m, op->d, 4, i);
    }
    return true;
}

/* d = a * b + c, of integers. */
static bool multiply_add(ptx_making *m, const ptx_op *op, const jit_row *k) {
    want_all(m, op, k, 3);
    acu_jit_begin(m, op->d, k->size);
    for (unsigned i = 0; i < vectors_of(m, k->size); i++) {
        unsigned a = acu_jit_load(m, op->a, k->size, i, JIT_T1);
        acu_x86_vector(&m->x, k->vector, JIT_T1, a, acu_jit_source(m, op->b, k->size, i));
        acu_x86_vector(&m->x, X86_PADDD, acu_jit_target(m, op->d, k->size, i), JIT_T1,
                       acu_jit_source(m, op->c, k->size, i));
        acu_jit_done(m, op->d, k->size, i);
    }
    return true;
}

x86_place acu_jit_half(ptx_making *m, ptx_slot slot, unsigned i, unsigned temporary) {
    x86_place whole = acu_jit_source(m, slot, 4, i / 2);
    if (whole.in_memory)
        return acu_jit_memory(m, slot, (size_t)i * m->width / 2);
    if (i % 2 == 0)
        return whole;
    acu_x86_vector_by(&m->x, m->wide ? X86_EXTRACT256 : X86_EXTRACT128, whole.number, X86_NONE,
                      x86_in(temporary), 1);
    return x86_in(temporary);
}

void acu_jit_widen(ptx_making *m, ptx_slot slot, unsigned i, bool is_signed, unsigned d) {
    acu_x86_vector(&m->x, is_signed ? X86_PMOVSXDQ : X86_PMOVZXDQ, d, X86_NONE,
                   acu_jit_half(m, slot, i, d));
}

static bool convert_wide(ptx_making *m, const ptx_op *op, const jit_row *k) {
    acu_jit_want(m, op->a, 4);
    acu_jit_begin(m, op->d, 8);
    for (unsigned i = 0; i < 2 * m->vectors; i++) {
        acu_jit_widen(m, op->a, i, k->is_signed, acu_jit_target(m, op->d, 8, i));
        acu_jit_done(m, op->d, 8, i);
    }
    return true;
}

/* d = a * b, of 64 bits; with `predicate`, + c. */
static bool multiply_wide(ptx_making *m, const ptx_op *op, const jit_row *k) {
    x86_vector multiply = k->is_signed ? X86_PMULDQ : X86_PMULUDQ;
    acu_jit_want(m, op->a, 4);
    acu_jit_want(m, op->b, 4);
    if (k->predicate)
        acu_jit_want(m, op->c, 8);
    acu_jit_begin(m, op->d, 8);
    for (unsigned i = 0; i < 2 * m->vectors; i++) {
        unsigned d = acu_jit_target(m, op->d, 8, i);
        x86_place b = x86_in(JIT_T2);
        acu_jit_widen(m, op->a, i, k->is_signed, JIT_T1);
        if (acu_jit_is_uniform(m, op->b)) /* all words are the same, and every other one counts */
            b = acu_jit_memory(m, op->b, 0);
        else
            acu_jit_widen(m, op->b, i, k->is_signed, JIT_T2);
        acu_x86_vector(&m->x, multiply, k->predicate ? JIT_T1 : d, JIT_T1, b);
        if (k->predicate)
            acu_x86_vector(&m->x, X86_PADDQ, d, JIT_T1, acu_jit_source(m, op->c, 8, i));
        acu_jit_done(m, op->d, 8, i);
    }
    return true;
}

/* Makes JIT_T0 the number in JIT_T1, with its sign, shifted to the right by JIT_T2: AVX2 has no
 * instruction for it. What is below 0 is turned, and turned back. */
static void shift_signed(ptx_making *m) {
    x86 *x = &m->x;
    acu_x86_vector(x, X86_LOAD, JIT_T0, X86_NONE, pool(JIT_ZERO));
    acu_x86_vector(x, X86_PCMPGTQ, JIT_T0, JIT_T0, x86_in(JIT_T1));
    acu_x86_vector(x, X86_PXOR, JIT_T1, JIT_T1, x86_in(JIT_T0));
    acu_x86_vector(x, X86_PSRLVQ, JIT_T1, JIT_T1, x86_in(JIT_T2));
    acu_x86_vector(x, X86_PXOR, JIT_T0, JIT_T0, x86_in(JIT_T1));
}

static bool shift_wide(ptx_making *m, const ptx_op *op, const jit_row *k) {
    acu_jit_want(m, op->a, 8);
    acu_jit_want(m, op->b, 4);
    acu_jit_begin(m, op->d, 8);
    for (unsigned i = 0; i < 2 * m->vectors; i++) {
        unsigned a = acu_jit_load(m, op->a, 8, i, JIT_T1);
        acu_x86_vector(&m->x, X86_PMOVZXDQ, JIT_T2, X86_NONE, acu_jit_half(m, op->b, i, JIT_T2));
        if (k->vector == X86_PSRAVQ && !m->wide)
            shift_signed(m);
        else
            acu_x86_vector(&m->x, k->vector, acu_jit_target(m, op->d, 8, i), a, x86_in(JIT_T2));
        acu_jit_done(m, op->d, 8, i);
    }
    return true;
}

/* Shifts two words, of which b is the upper one: `predicate` is 'l' or 'r', and by how much is the
 * low 5 bits of c, or, if `is_signed`, at most 32. */
static bool shift_two(ptx_making *m, const ptx_op *op, const jit_row *k) {
    x86 *x = &m->x;
    const bool is_left = k->predicate == 'l';
    want_all(m, op, k, 3);
    acu_jit_begin(m, op->d, 4);
    for (unsigned i = 0; i < m->vectors; i++) {
        const unsigned by = acu_jit_load(m, op->c, 4, i, JIT_T2);
        acu_x86_vector(x, k->is_signed ? X86_PMINUD : X86_PAND, JIT_T2, by,
                       pool(k->is_signed ? JIT_32 : JIT_31));
        const unsigned first = acu_jit_load(m, is_left ? op->b : op->a, 4, i, JIT_T1);
        acu_x86_vector(x, is_left ? X86_PSLLVD : X86_PSRLVD, JIT_T0, first, x86_in(JIT_T2));
        acu_x86_vector(x, X86_LOAD, JIT_T1, X86_NONE, pool(JIT_32));
        acu_x86_vector(x, X86_PSUBD, JIT_T2, JIT_T1, x86_in(JIT_T2));
        const unsigned second = acu_jit_load(m, is_left ? op->a : op->b, 4, i, JIT_T1);
        acu_x86_vector(x, is_left ? X86_PSRLVD : X86_PSLLVD, JIT_T2, second, x86_in(JIT_T2));
        acu_x86_vector(x, X86_POR, JIT_T0, JIT_T0, x86_in(JIT_T2));
        acu_jit_put(m, op->d, 4, i);
    }
    return true;
}

/* d = the upper 32 bits of a * b; with `predicate`, + c. */
static bool multiply_high(ptx_making *m, const ptx_op *op, const jit_row *k) {
    x86 *x = &m->x;
    const x86_vector multiply = k->is_signed ? X86_PMULDQ : X86_PMULUDQ;
    want_all(m, op, k, k->predicate ? 3 : 2);
    acu_jit_begin(m, op->d, 4);
    for (unsigned i = 0; i < m->vectors; i++) {
        const unsigned a = acu_jit_load(m, op->a, 4, i, JIT_T1),
                       b = acu_jit_load(m, op->b, 4, i, JIT_T2);
        acu_x86_vector(x, multiply, JIT_T0, a, x86_in(b));
        acu_x86_shift_by(x, X86_SHIFT_PSRLQ, JIT_T0, JIT_T0, 32);
        acu_x86_shift_by(x, X86_SHIFT_PSRLQ, JIT_T1, a, 32);
        acu_x86_shift_by(x, X86_SHIFT_PSRLQ, JIT_T2, b, 32);
        acu_x86_vector(x, multiply, JIT_T1, JIT_T1, x86_in(JIT_T2));
        acu_x86_shift_by(x, X86_SHIFT_PSRLQ, JIT_T1, JIT_T1, 32); /* the lower half becomes 0 */
        acu_x86_shift_by(x, X86_SHIFT_PSLLQ, JIT_T1, JIT_T1, 32);
        acu_x86_vector(x, X86_POR, JIT_T0, JIT_T0, x86_in(JIT_T1));
        if (k->predicate)
            acu_x86_vector(x, X86_PADDD, JIT_T0, JIT_T0, acu_jit_source(m, op->c, 4, i));
        acu_jit_put(m, op->d, 4, i);
    }
    return true;
}

/* d = a * b, of 16 bits each. */
static bool multiply_shorts(ptx_making *m, const ptx_op *op, const jit_row *k) {
    x86 *x = &m->x;
    const x86_vector widen = k->is_signed ? X86_PMOVSXWD : X86_PMOVZXWD;
    acu_jit_begin(m, op->d, 4);
    for (unsigned i = 0; i < m->vectors; i++) {
        const size_t at = (size_t)i * m->width / 2;
        acu_x86_vector(x, widen, JIT_T0, X86_NONE, acu_jit_memory(m, op->a, at));
        acu_x86_vector(x, widen, JIT_T1, X86_NONE, acu_jit_memory(m, op->b, at));
        acu_x86_vector(x, X86_PMULLD, JIT_T0, JIT_T0, x86_in(JIT_T1));
        acu_jit_put(m, op->d, 4, i);
    }
    return true;
}

/* d = a * b, of 64 bits: with AVX2, of products of 32. */
static bool multiply_long(ptx_making *m, const ptx_op *op, const jit_row *k) {
    x86 *x = &m->x;
    if (m->wide)
        return binary(m, op, k);
    want_all(m, op, k, 2);
    acu_jit_begin(m, op->d, 8);
    for (unsigned i = 0; i < vectors_of(m, 8); i++) {
        acu_x86_vector(x, X86_LOAD, JIT_T0, X86_NONE, acu_jit_source(m, op->a, 8, i));
        acu_x86_vector(x, X86_LOAD, JIT_T1, X86_NONE, acu_jit_source(m, op->b, 8, i));
        acu_x86_shift_by(x, X86_SHIFT_PSRLQ, JIT_T2, JIT_T0, 32);
        acu_x86_vector(x, X86_PMULUDQ, JIT_T2, JIT_T2, x86_in(JIT_T1));
        acu_x86_shift_by(x, X86_SHIFT_PSRLQ, JIT_T3, JIT_T1, 32);
        acu_x86_vector(x, X86_PMULUDQ, JIT_T3, JIT_T3, x86_in(JIT_T0));
        acu_x86_vector(x, X86_PADDQ, JIT_T2, JIT_T2, x86_in(JIT_T3));
        acu_x86_shift_by(x, X86_SHIFT_PSLLQ, JIT_T2, JIT_T2, 32);
        acu_x86_vector(x, X86_PMULUDQ, JIT_T0, JIT_T0, x86_in(JIT_T1));
        acu_x86_vector(x, X86_PADDQ, JIT_T0, JIT_T0, x86_in(JIT_T2));
        acu_jit_put(m, op->d, 8, i);
    }
    return true;
}

/* Makes d the low 32 bits of a where not all lanes are active. */
static void narrow_masked(ptx_making *m, const ptx_op *op) {
    x86 *x = &m->x;
    acu_jit_begin(m, op->d, 4);
    for (unsigned i = 0; i < m->vectors; i++) {
        for (unsigned half = 0; half < 2; half++)
            acu_x86_vector(x, X86_PMOVQD, acu_jit_load(m, op->a, 8, 2 * i + half, JIT_T2), X86_NONE,
                           x86_in(JIT_T0 + half));
        acu_x86_vector_by(x, X86_INSERT256, JIT_T0, JIT_T0, x86_in(JIT_T1), 1);
        acu_jit_put(m, op->d, 4, i);
    }
}

/* Makes elements of 64 bits ones of 32 with AVX2, for all lanes or some. */
static bool narrow_pairs(ptx_making *m, const ptx_op *op) {
    enum { EVEN = 0x88, OUTER_FIRST = 0xd8 };
    x86 *x = &m->x;
    acu_jit_want(m, op->a, 8);
    acu_jit_begin(m, op->d, 4);
    for (unsigned i = 0; i < m->vectors; i++) {
        const unsigned low = acu_jit_load(m, op->a, 8, 2 * i, JIT_T1);
        acu_x86_vector_by(x, X86_SHUFPS, JIT_T0, low, acu_jit_source(m, op->a, 8, 2 * i + 1), EVEN);
        acu_x86_vector_by(x, X86_PERMQ, JIT_T0, X86_NONE, x86_in(JIT_T0), OUTER_FIRST);
        acu_jit_put(m, op->d, 4, i);
    }
    return true;
}

/* d = the low 32 bits of a. */
static bool narrow(ptx_making *m, const ptx_op *op, const jit_row *k) {
    (void)k;
    if (!m->wide)
        return narrow_pairs(m, op);
    acu_jit_want(m, op->a, 8);
    if (m->masked) {
        narrow_masked(m, op);
        return true;
    }
    acu_jit_forget_one(m, op->d);
    acu_jit_wrote(m, op->d);
    for (unsigned i = 0; i < 2 * m->vectors; i++)
        acu_x86_vector(&m->x, X86_PMOVQD, acu_jit_load(m, op->a, 8, i, JIT_T1), X86_NONE,
                       acu_jit_memory(m, op->d, (size_t)i * 32));
    return true;
}

/* ---- predicates ---- */

/* Makes a word of ~0 for each lane of a vector whose bit is set. */
static void spread(ptx_making *m, x86_place bits, unsigned i, unsigned d) {
    acu_x86_vector(&m->x, X86_PBROADCASTD, d, X86_NONE, bits);
    acu_x86_vector(&m->x, X86_PAND, d, d, pool(JIT_BITS + 32 * i));
    acu_x86_vector(&m->x, X86_PCMPEQD, d, d, pool(JIT_BITS + 32 * i));
}

/* Makes JIT_T2 all ones where a predicate is true, for vector i; uses JIT_T3. AVX2 only. */
static void spread_true(ptx_making *m, ptx_slot predicate, unsigned size, unsigned i) {
    x86 *x = &m->x;
    const size_t compared = offsetof(jit_frame, compared);
    if (acu_jit_is_compared(m, predicate) && size == 4) {
        acu_x86_vector(x, X86_LOAD, JIT_T2, X86_NONE, acu_jit_in_frame(compared + (size_t)32 * i));
    } else if (acu_jit_is_compared(m, predicate)) {
        acu_x86_vector(x, X86_PMOVSXDQ, JIT_T2, X86_NONE,
                       acu_jit_in_frame(compared + (size_t)16 * i));
    } else if (size == 4) {
        spread(m, acu_jit_memory(m, predicate, 0), i, JIT_T2);
    } else {
        acu_x86_vector(x, X86_PMOVZXDQ, JIT_T3, X86_NONE, pool(JIT_BITS + 16 * i));
        acu_x86_vector(x, X86_PBROADCASTD, JIT_T2, X86_NONE, acu_jit_memory(m, predicate, 0));
        acu_x86_vector(x, X86_PAND, JIT_T2, JIT_T2, x86_in(JIT_T3));
        acu_x86_vector(x, X86_PCMPEQQ, JIT_T2, JIT_T2, x86_in(JIT_T3));
    }
}

static bool choose(ptx_making *m, const ptx_op *op, const jit_row *k) {
    x86 *x = &m->x;
    if (k->size == 2 && !m->wide)
        return false;
    want_all(m, op, k, 2);
    acu_jit_begin(m, op->d, k->size);
    for (unsigned i = 0; i < vectors_of(m, k->size); i++) {
        unsigned b = acu_jit_load(m, op->b, k->size, i, JIT_T1),
                 d = acu_jit_target(m, op->d, k->size, i);
        x86_place a = acu_jit_source(m, op->a, k->size, i);
        if (m->wide) {
            acu_x86_masked(x, k->vector, d, b, a, acu_jit_true(m, op->c, k->size, i));
        } else {
            spread_true(m, op->c, k->size, i);
            acu_x86_vector_by(x, X86_BLENDVPS, d, b, a, JIT_T2 << 4);
        }
        acu_jit_done(m, op->d, k->size, i);
    }
    return true;
}

void acu_jit_store_comparison(ptx_making *m, const ptx_op *op, const jit_row *k) {
    if (k->joined)
        acu_x86_word(&m->x,
                     k->joined == '&'   ? X86_AND
                     : k->joined == '|' ? X86_OR
                                        : X86_XOR,
                     X86_RAX, acu_jit_memory(m, op->c, 0));
    acu_jit_store_predicate(m, op->d);
}

/* Returns whether a comparison may depend on whether an operand is subnormal or 0. */
static bool flushes_compared(const ptx_making *m, const ptx_op *op, const jit_row *k) {
    return k->flushes && !acu_jit_is_far_from_0(m, op->a) && !acu_jit_is_far_from_0(m, op->b);
}

static bool compare_in_masks(ptx_making *m, const ptx_op *op, const jit_row *k) {
    x86 *x = &m->x;
    const unsigned low = JIT_K_COMPARED, high = low + 1, first = k->size == 8 ? 2 : low;
    want_all(m, op, k, 2);
    for (unsigned i = 0; i < vectors_of(m, k->size); i++) {
        const unsigned a = flushes_compared(m, op, k) ? acu_jit_load_flushed(m, op->a, i, JIT_T1)
                                                      : acu_jit_load(m, op->a, k->size, i, JIT_T1);
        const x86_place b = flushes_compared(m, op, k)
                                ? x86_in(acu_jit_load_flushed(m, op->b, i, JIT_T3))
                                : acu_jit_source(m, op->b, k->size, i);
        acu_x86_vector_by(x, k->vector, first + i, a, b, k->predicate);
    }
    if (k->size == 8) { /* they are in k2 to k5 */
        acu_x86_join_masks(x, 8, high, 5, 4);
        acu_x86_join_masks(x, 8, low, 3, 2);
    }
    acu_x86_join_masks(x, 16, 2, high, low);
    acu_x86_take_mask(x, X86_RAX, 2);
    acu_jit_store_comparison(m, op, k);
    m->compared_known = !k->joined && !m->masked_by_guard;
    m->compared = op->d;
    m->compared_version = acu_jit_version(m, op->d);
    return true;
}

enum { EQUAL, LESS, LESS_EQUAL, NOT_EQUAL = 4, NOT_LESS, NOT_LESS_EQUAL };

/* Makes words of ~0 for the lanes of vector i for which the comparison holds, or for which it does
 * not: then it returns true. AVX2 has few comparisons. */
static bool compare_words(ptx_making *m, const ptx_op *op, const jit_row *k, unsigned i) {
    x86 *x = &m->x;
    if (flushes_compared(m, op, k)) {
        const unsigned first = acu_jit_load_flushed(m, op->a, i, JIT_T1),
                       second = acu_jit_load_flushed(m, op->b, i, JIT_T3);
        acu_x86_vector_by(x, X86_CMPPS, JIT_T1, first, x86_in(second), k->predicate);
        return false;
    }
    bool turned = k->predicate == LESS || k->predicate == NOT_LESS;
    unsigned a = acu_jit_load(m, turned ? op->b : op->a, 4, i, JIT_T1);
    x86_place b = acu_jit_source(m, turned ? op->a : op->b, 4, i);
    if (k->is_float) {
        acu_x86_vector_by(x, X86_CMPPS, JIT_T1, acu_jit_load(m, op->a, 4, i, JIT_T1),
                          acu_jit_source(m, op->b, 4, i), k->predicate);
        return false;
    }
    if (k->predicate == EQUAL || k->predicate == NOT_EQUAL) {
        acu_x86_vector(x, X86_PCMPEQD, JIT_T1, a, b);
        return k->predicate == NOT_EQUAL;
    }
    if (k->is_signed) {
        acu_x86_vector(x, X86_PCMPGTD, JIT_T1, a, b);
        return k->predicate == LESS_EQUAL || k->predicate == NOT_LESS;
    }
    /* The smaller one is a: a is not above b. */
    acu_x86_vector(x, X86_PMINUD, JIT_T2, a, b);
    acu_x86_vector(x, X86_PCMPEQD, JIT_T1, JIT_T2, x86_in(a));
    return k->predicate == LESS || k->predicate == NOT_LESS_EQUAL;
}

/* Returns whether the next operation has the predicate as its guard, or chooses by it. */
static bool is_used_next(const ptx_making *m, ptx_slot predicate) {
    uint32_t at = m->at + 1;
    while (at < m->code->count && !m->leads[at] && m->code->ops[at].full == acu_ptx_nothing)
        at++;
    const ptx_op *next = &m->code->ops[at];
    if (at >= m->code->count || m->leads[at] || next->flow)
        return false;
    if (acu_ptx_is_guarded(next->full))
        return next->guard == predicate;
    const jit_row *k = find_known(next);
    return k->handler && k->translate == choose && next->c == predicate;
}

/* Keeps the words in JIT_T1 in the frame; `inverted`: the opposite. */
static void keep_compared(ptx_making *m, unsigned i, bool inverted) {
    const unsigned from = inverted ? JIT_T2 : JIT_T1;
    if (inverted)
        acu_x86_vector(&m->x, X86_PXOR, JIT_T2, JIT_T1, pool(JIT_ALL));
    acu_x86_vector(&m->x, X86_STORE, from, X86_NONE,
                   acu_jit_in_frame(offsetof(jit_frame, compared) + (size_t)32 * i));
}

/* Makes JIT_T1 all ones in the lanes of vector i of 64 bits for which the comparison holds, or for
 * which it does not: then it returns true. */
static bool compare_longs(ptx_making *m, const ptx_op *op, const jit_row *k, unsigned i) {
    x86 *x = &m->x;
    const bool equal = k->predicate == EQUAL || k->predicate == NOT_EQUAL;
    const bool turned = k->predicate == LESS || k->predicate == NOT_LESS;
    acu_x86_vector(x, X86_LOAD, JIT_T1, X86_NONE,
                   acu_jit_source(m, !k->is_float && turned ? op->b : op->a, 8, i));
    acu_x86_vector(x, X86_LOAD, JIT_T2, X86_NONE,
                   acu_jit_source(m, !k->is_float && turned ? op->a : op->b, 8, i));
    if (k->is_float) {
        acu_x86_vector_by(x, X86_CMPPD, JIT_T1, JIT_T1, x86_in(JIT_T2), k->predicate);
        return false;
    }
    if (!equal && !k->is_signed) {
        acu_x86_vector(x, X86_PXOR, JIT_T1, JIT_T1, pool(JIT_SIGN_WIDE));
        acu_x86_vector(x, X86_PXOR, JIT_T2, JIT_T2, pool(JIT_SIGN_WIDE));
    }
    acu_x86_vector(x, equal ? X86_PCMPEQQ : X86_PCMPGTQ, JIT_T1, JIT_T1, x86_in(JIT_T2));
    return k->predicate == NOT_EQUAL || k->predicate == LESS_EQUAL || k->predicate == NOT_LESS;
}

/* A comparison of 64 bits, with AVX2. */
static bool compare_all_longs(ptx_making *m, const ptx_op *op, const jit_row *k) {
    x86 *x = &m->x;
    bool inverted = false;
    want_all(m, op, k, 2);
    for (unsigned i = 0; i < vectors_of(m, 8); i++) {
        inverted = compare_longs(m, op, k, i);
        acu_x86_vector(x, X86_MOVMSKPD, i ? X86_RCX : X86_RAX, X86_NONE, x86_in(JIT_T1));
        if (i) {
            acu_x86_shift_left(x, X86_RCX, 4 * i);
            acu_x86_word(x, X86_OR, X86_RAX, x86_in(X86_RCX));
        }
    }
    if (inverted)
        acu_x86_not(x, X86_RAX);
    acu_jit_store_comparison(m, op, k);
    return true;
}

static bool compare(ptx_making *m, const ptx_op *op, const jit_row *k) {
    x86 *x = &m->x;
    if (m->wide)
        return compare_in_masks(m, op, k);
    if (k->size != 4)
        return compare_all_longs(m, op, k);
    bool inverted = false;
    const bool keeps = !k->joined && !m->masked_by_guard && is_used_next(m, op->d);
    want_all(m, op, k, 2);
    for (unsigned i = 0; i < m->vectors; i++) {
        x86_register to = i ? X86_RCX : X86_RAX;
        inverted = compare_words(m, op, k, i);
        if (keeps)
            keep_compared(m, i, inverted);
        acu_x86_vector(x, X86_MOVMSKPS, to, X86_NONE, x86_in(JIT_T1));
        if (i) {
            acu_x86_shift_left(x, X86_RCX, 8 * i);
            acu_x86_word(x, X86_OR, X86_RAX, x86_in(X86_RCX));
        }
    }
    if (inverted)
        acu_x86_not(x, X86_RAX);
    acu_jit_store_comparison(m, op, k);
    m->compared_known = keeps;
    m->compared = op->d;
    m->compared_version = acu_jit_version(m, op->d);
    return true;
}

static bool logic(ptx_making *m, const ptx_op *op, const jit_row *k) {
    acu_x86_word(&m->x, X86_MOV, X86_RAX, acu_jit_memory(m, op->a, 0));
    if (k->predicate)
        acu_x86_word(&m->x, (x86_arithmetic)k->predicate, X86_RAX, acu_jit_memory(m, op->b, 0));
    else
        acu_x86_not(&m->x, X86_RAX);
    acu_jit_store_predicate(m, op->d);
    return true;
}

/* ---- which operations there are ---- */

static const struct {
    const char *opcode;
    jit_translate *translate;
    x86_vector vector;
    uint8_t size, predicate;
    bool is_signed, is_float;
} rows[] = {
    {"add.u32", binary, X86_PADDD, 4, 0, false, false},
    {"add.s32", binary, X86_PADDD, 4, 0, false, false},
    {"sub.u32", binary, X86_PSUBD, 4, 0, false, false},
    {"sub.s32", binary, X86_PSUBD, 4, 0, false, false},
    {"mul.lo.u32", binary, X86_PMULLD, 4, 0, false, false},
    {"mul.lo.s32", binary, X86_PMULLD, 4, 0, false, false},
    {"mad.lo.u32", multiply_add, X86_PMULLD, 4, 0, false, false},
    {"mad.lo.s32", multiply_add, X86_PMULLD, 4, 0, false, false},
    {"min.u32", binary, X86_PMINUD, 4, 0, false, false},
    {"min.s32", binary, X86_PMINSD, 4, 0, false, false},
    {"max.u32", binary, X86_PMAXUD, 4, 0, false, false},
    {"max.s32", binary, X86_PMAXSD, 4, 0, false, false},
    {"abs.s32", unary, X86_ABSD, 4, 0, false, false},
    {"and.b32", binary, X86_PAND, 4, 0, false, false},
    {"or.b32", binary, X86_POR, 4, 0, false, false},
    {"xor.b32", binary, X86_PXOR, 4, 0, false, false},
    {"not.b32", with_pool, X86_PXOR, 4, JIT_ONES / 64, false, false},
    {"neg.s32", with_pool, X86_PSUBD, 4, JIT_ZERO / 64, true, false},
    {"shl.b32", binary, X86_PSLLVD, 4, 0, false, false},
    {"shr.b32", binary, X86_PSRLVD, 4, 0, false, false},
    {"shr.u32", binary, X86_PSRLVD, 4, 0, false, false},
    {"shr.s32", binary, X86_PSRAVD, 4, 0, false, false},
    {"selp.b32", choose, X86_BLENDMD, 4, 0, false, false},
    {"selp.u32", choose, X86_BLENDMD, 4, 0, false, false},
    {"selp.s32", choose, X86_BLENDMD, 4, 0, false, false},
    {"selp.f32", choose, X86_BLENDMD, 4, 0, false, false},

    {"add.u64", binary, X86_PADDQ, 8, 0, false, false},
    {"add.s64", binary, X86_PADDQ, 8, 0, false, false},
    {"sub.u64", binary, X86_PSUBQ, 8, 0, false, false},
    {"sub.s64", binary, X86_PSUBQ, 8, 0, false, false},
    {"mul.lo.u64", multiply_long, X86_PMULLQ, 8, 0, false, false},
    {"mul.lo.s64", multiply_long, X86_PMULLQ, 8, 0, false, false},
    {"and.b64", binary, X86_PAND, 8, 0, false, false},
    {"or.b64", binary, X86_POR, 8, 0, false, false},
    {"xor.b64", binary, X86_PXOR, 8, 0, false, false},
    {"not.b64", with_pool, X86_PXOR, 8, JIT_ONES / 64, false, false},
    {"neg.s64", with_pool, X86_PSUBQ, 8, JIT_ZERO / 64, true, false},
    {"shl.b64", shift_wide, X86_PSLLVQ, 8, 0, false, false},
    {"shr.b64", shift_wide, X86_PSRLVQ, 8, 0, false, false},
    {"shr.u64", shift_wide, X86_PSRLVQ, 8, 0, false, false},
    {"shr.s64", shift_wide, X86_PSRAVQ, 8, 0, false, false},
    {"selp.b64", choose, X86_BLENDMQ, 8, 0, false, false},
    {"selp.u64", choose, X86_BLENDMQ, 8, 0, false, false},
    {"selp.s64", choose, X86_BLENDMQ, 8, 0, false, false},
    {"selp.f64", choose, X86_BLENDMQ, 8, 0, false, false},

    {"mul.wide.u32", multiply_wide, X86_LOAD, 8, 0, false, false},
    {"mul.wide.s32", multiply_wide, X86_LOAD, 8, 0, true, false},
    {"mad.wide.u32", multiply_wide, X86_LOAD, 8, 1, false, false},
    {"mad.wide.s32", multiply_wide, X86_LOAD, 8, 1, true, false},
    {"mul.wide.u16", multiply_shorts, X86_LOAD, 4, 0, false, false},
    {"mul.wide.s16", multiply_shorts, X86_LOAD, 4, 0, true, false},
    {"cvt.u64.u32", convert_wide, X86_LOAD, 8, 0, false, false},
    {"cvt.s64.u32", convert_wide, X86_LOAD, 8, 0, false, false},
    {"cvt.u64.s32", convert_wide, X86_LOAD, 8, 0, true, false},
    {"cvt.s64.s32", convert_wide, X86_LOAD, 8, 0, true, false},
    {"cvt.u32.u64", narrow, X86_LOAD, 4, 0, false, false},
    {"cvt.u32.s64", narrow, X86_LOAD, 4, 0, false, false},
    {"cvt.s32.u64", narrow, X86_LOAD, 4, 0, false, false},
    {"cvt.s32.s64", narrow, X86_LOAD, 4, 0, false, false},
    {"cvt.u32.u32", unary, X86_LOAD, 4, 0, false, false},
    {"cvt.u32.s32", unary, X86_LOAD, 4, 0, false, false},
    {"cvt.s32.u32", unary, X86_LOAD, 4, 0, false, false},
    {"cvt.s32.s32", unary, X86_LOAD, 4, 0, false, false},

    {"add.f32", binary, X86_ADDPS, 4, 0, false, true},
    {"add.rn.f32", binary, X86_ADDPS, 4, 0, false, true},
    {"sub.f32", binary, X86_SUBPS, 4, 0, false, true},
    {"sub.rn.f32", binary, X86_SUBPS, 4, 0, false, true},
    {"mul.f32", binary, X86_MULPS, 4, 0, false, true},
    {"mul.rn.f32", binary, X86_MULPS, 4, 0, false, true},
    {"min.f32", extreme, X86_MINPS, 4, 0, false, true},
    {"max.f32", extreme, X86_MAXPS, 4, 1, false, true},
    {"div.rn.f32", binary, X86_DIVPS, 4, 0, false, true},
    {"div.approx.f32", binary, X86_DIVPS, 4, 0, false, true},
    {"div.full.f32", binary, X86_DIVPS, 4, 0, false, true},
    {"rcp.rn.f32", with_pool, X86_DIVPS, 4, JIT_ONE / 64, true, true},
    {"rcp.approx.f32", with_pool, X86_DIVPS, 4, JIT_ONE / 64, true, true},
    {"sqrt.rn.f32", unary, X86_SQRTPS, 4, 0, false, true},
    {"sqrt.approx.f32", unary, X86_SQRTPS, 4, 0, false, true},
    {"neg.f32", with_pool, X86_PXOR, 4, JIT_SIGN / 64, false, true},
    {"abs.f32", with_pool, X86_PAND, 4, JIT_NAN / 64, false, true},
    {"fma.rn.f32", fused, X86_LOAD, 4, 0, false, true},
    {"mad.rn.f32", fused, X86_LOAD, 4, 0, false, true},
    {"cvt.rni.f32.f32", make_whole, X86_ROUNDPS, 4, X86_NEAREST, false, true},
    {"cvt.rzi.f32.f32", make_whole, X86_ROUNDPS, 4, X86_TO_ZERO, false, true},
    {"cvt.rmi.f32.f32", make_whole, X86_ROUNDPS, 4, X86_DOWN, false, true},
    {"cvt.rpi.f32.f32", make_whole, X86_ROUNDPS, 4, X86_UP, false, true},
    {"cvt.rn.f32.s32", unary, X86_CVTDQ2PS, 4, 0, false, false},
    {"cvt.rn.f32.u32", unary, X86_CVTUDQ2PS, 4, 0, false, false},
    {"cvt.rn.ftz.f32.s32", unary, X86_CVTDQ2PS, 4, 0, false, false},
    {"cvt.rn.ftz.f32.u32", unary, X86_CVTUDQ2PS, 4, 0, false, false},

    {"shf.l.wrap.b32", shift_two, X86_LOAD, 4, 'l', false, false},
    {"shf.r.wrap.b32", shift_two, X86_LOAD, 4, 'r', false, false},
    {"shf.l.clamp.b32", shift_two, X86_LOAD, 4, 'l', true, false},
    {"shf.r.clamp.b32", shift_two, X86_LOAD, 4, 'r', true, false},
    {"mul.hi.u32", multiply_high, X86_LOAD, 4, 0, false, false},
    {"mul.hi.s32", multiply_high, X86_LOAD, 4, 0, true, false},
    {"mad.hi.u32", multiply_high, X86_LOAD, 4, 1, false, false},
    {"mad.hi.s32", multiply_high, X86_LOAD, 4, 1, true, false},

    {"add.u16", binary, X86_PADDW, 2, 0, false, false},
    {"add.s16", binary, X86_PADDW, 2, 0, false, false},
    {"sub.u16", binary, X86_PSUBW, 2, 0, false, false},
    {"sub.s16", binary, X86_PSUBW, 2, 0, false, false},
    {"mul.lo.u16", binary, X86_PMULLW, 2, 0, false, false},
    {"mul.lo.s16", binary, X86_PMULLW, 2, 0, false, false},
    {"min.u16", binary, X86_PMINUW, 2, 0, false, false},
    {"min.s16", binary, X86_PMINSW, 2, 0, false, false},
    {"max.u16", binary, X86_PMAXUW, 2, 0, false, false},
    {"max.s16", binary, X86_PMAXSW, 2, 0, false, false},
    {"and.b16", binary, X86_PAND, 2, 0, false, false},
    {"or.b16", binary, X86_POR, 2, 0, false, false},
    {"xor.b16", binary, X86_PXOR, 2, 0, false, false},
    {"not.b16", with_pool, X86_PXOR, 2, JIT_ONES / 64, false, false},
    {"neg.s16", with_pool, X86_PSUBW, 2, JIT_ZERO / 64, true, false},
    {"shl.b16", acu_jit_shift_short, (x86_vector)X86_SHIFT_PSLLW, 2, 0, false, false},
    {"shr.b16", acu_jit_shift_short, (x86_vector)X86_SHIFT_PSRLW, 2, 0, false, false},
    {"shr.u16", acu_jit_shift_short, (x86_vector)X86_SHIFT_PSRLW, 2, 0, false, false},
    {"shr.s16", acu_jit_shift_short, (x86_vector)X86_SHIFT_PSRAW, 2, 0, false, false},
    {"selp.b16", choose, X86_BLENDMW, 2, 0, false, false},
    {"selp.u16", choose, X86_BLENDMW, 2, 0, false, false},
    {"selp.s16", choose, X86_BLENDMW, 2, 0, false, false},

    {"add.f64", acu_jit_double, X86_ADDPD, 8, 0, false, false},
    {"add.rn.f64", acu_jit_double, X86_ADDPD, 8, 0, false, false},
    {"sub.f64", acu_jit_double, X86_SUBPD, 8, 0, false, false},
    {"sub.rn.f64", acu_jit_double, X86_SUBPD, 8, 0, false, false},
    {"mul.f64", acu_jit_double, X86_MULPD, 8, 0, false, false},
    {"mul.rn.f64", acu_jit_double, X86_MULPD, 8, 0, false, false},
    {"div.rn.f64", acu_jit_double, X86_DIVPD, 8, 0, false, false},
    {"fma.rn.f64", acu_jit_fused_double, X86_LOAD, 8, 0, false, false},
    {"mad.rn.f64", acu_jit_fused_double, X86_LOAD, 8, 0, false, false},
    {"neg.f64", acu_jit_signed_double, X86_PXOR, 8, JIT_SIGN_WIDE / 64, false, false},
    {"abs.f64", acu_jit_signed_double, X86_PAND, 8, JIT_SIZE_WIDE / 64, false, false},
    {"sqrt.rn.f64", acu_jit_unary_double, X86_SQRTPD, 8, 0, false, false},
    {"rcp.rn.f64", acu_jit_unary_double, X86_DIVPD, 8, 0, true, false},
    {"cvt.rni.f64.f64", acu_jit_unary_double, X86_ROUNDPD, 8, X86_NEAREST, false, false},
    {"cvt.rzi.f64.f64", acu_jit_unary_double, X86_ROUNDPD, 8, X86_TO_ZERO, false, false},
    {"cvt.rmi.f64.f64", acu_jit_unary_double, X86_ROUNDPD, 8, X86_DOWN, false, false},
    {"cvt.rpi.f64.f64", acu_jit_unary_double, X86_ROUNDPD, 8, X86_UP, false, false},
    {"cvt.rn.f64.s64", acu_jit_unary_double, X86_CVTQQ2PD, 8, 0, false, false},
    {"cvt.rn.f64.u64", acu_jit_unary_double, X86_CVTUQQ2PD, 8, 0, false, false},
    {"cvt.rn.f32.s64", acu_jit_float_of_double, X86_CVTQQ2PS, 4, X86_NEAREST, false, false},
    {"cvt.rn.f32.u64", acu_jit_float_of_double, X86_CVTUQQ2PS, 4, X86_NEAREST, false, false},
    {"rsqrt.approx.f32", acu_jit_reciprocal_root, X86_LOAD, 4, 0, false, false},
    {"ex2.approx.f32", acu_jit_power, X86_LOAD, 4, 0, false, false},
    {"ex2.approx.ftz.f32", acu_jit_power, X86_LOAD, 4, 1, false, false},
    {"cvt.sat.f32.f32", acu_jit_saturate, X86_LOAD, 4, 0, false, false},
    {"cvt.rn.f64.u32", acu_jit_widen_float, X86_CVTUDQ2PD, 8, 0, false, false},
    {"cvt.rni.s32.f64", acu_jit_word_of_double, X86_CVTPD2DQ, 4, X86_NEAREST, false, false},
    {"cvt.rzi.s32.f64", acu_jit_word_of_double, X86_CVTPD2DQ, 4, X86_TO_ZERO, false, false},
    {"cvt.rmi.s32.f64", acu_jit_word_of_double, X86_CVTPD2DQ, 4, X86_DOWN, false, false},
    {"cvt.rn.f32.f64", acu_jit_float_of_double, X86_CVTPD2PS, 4, X86_NEAREST, false, false},
    {"cvt.f64.f32", acu_jit_widen_float, X86_CVTPS2PD, 8, 0, false, false},
    {"cvt.rn.f64.s32", acu_jit_widen_float, X86_CVTDQ2PD, 8, 0, false, false},
    {"cvt.rn.f32.u16", acu_jit_float_of_short, X86_LOAD, 4, 0, false, false},
    {"cvt.rn.f32.s16", acu_jit_float_of_short, X86_LOAD, 4, 0, true, false},
    {"cvt.rn.f32.u8", acu_jit_float_of_short, X86_LOAD, 4, 0, false, false},
    {"cvt.rn.f32.s8", acu_jit_float_of_short, X86_LOAD, 4, 0, true, false},
    {"cvt.rni.s32.f32", acu_jit_integer_of_float, X86_LOAD, 4, X86_NEAREST, true, false},
    {"cvt.rzi.s32.f32", acu_jit_integer_of_float, X86_LOAD, 4, X86_TO_ZERO, true, false},
    {"cvt.rni.u32.f32", acu_jit_integer_of_float, X86_LOAD, 4, X86_NEAREST, false, false},
    {"cvt.rzi.u32.f32", acu_jit_integer_of_float, X86_LOAD, 4, X86_TO_ZERO, false, false},
    {"cvt.rni.ftz.s32.f32", acu_jit_integer_of_float, X86_LOAD, 4, X86_NEAREST, true, false},
    {"cvt.rzi.ftz.s32.f32", acu_jit_integer_of_float, X86_LOAD, 4, X86_TO_ZERO, true, false},
    {"cvt.rni.ftz.u32.f32", acu_jit_integer_of_float, X86_LOAD, 4, X86_NEAREST, false, false},
    {"cvt.rzi.ftz.u32.f32", acu_jit_integer_of_float, X86_LOAD, 4, X86_TO_ZERO, false, false},

    {"add.f16", acu_jit_halves, X86_ADDPS, 2, 0, false, false},
    {"add.rn.f16", acu_jit_halves, X86_ADDPS, 2, 0, false, false},
    {"sub.f16", acu_jit_halves, X86_SUBPS, 2, 0, false, false},
    {"sub.rn.f16", acu_jit_halves, X86_SUBPS, 2, 0, false, false},
    {"mul.f16", acu_jit_halves, X86_MULPS, 2, 0, false, false},
    {"mul.rn.f16", acu_jit_halves, X86_MULPS, 2, 0, false, false},
    {"fma.rn.f16", acu_jit_halves, X86_FMADD213PS, 2, 0, false, false},
    {"add.f16x2", acu_jit_halves, X86_ADDPS, 4, 0, false, false},
    {"add.rn.f16x2", acu_jit_halves, X86_ADDPS, 4, 0, false, false},
    {"sub.f16x2", acu_jit_halves, X86_SUBPS, 4, 0, false, false},
    {"sub.rn.f16x2", acu_jit_halves, X86_SUBPS, 4, 0, false, false},
    {"mul.f16x2", acu_jit_halves, X86_MULPS, 4, 0, false, false},
    {"mul.rn.f16x2", acu_jit_halves, X86_MULPS, 4, 0, false, false},
    {"fma.rn.f16x2", acu_jit_halves, X86_FMADD213PS, 4, 0, false, false},
    {"add.bf16", acu_jit_halves, X86_ADDPS, 2, 0, true, false},
    {"add.rn.bf16", acu_jit_halves, X86_ADDPS, 2, 0, true, false},
    {"sub.bf16", acu_jit_halves, X86_SUBPS, 2, 0, true, false},
    {"sub.rn.bf16", acu_jit_halves, X86_SUBPS, 2, 0, true, false},
    {"mul.bf16", acu_jit_halves, X86_MULPS, 2, 0, true, false},
    {"mul.rn.bf16", acu_jit_halves, X86_MULPS, 2, 0, true, false},
    {"fma.rn.bf16", acu_jit_halves, X86_FMADD213PS, 2, 0, true, false},
    {"add.bf16x2", acu_jit_halves, X86_ADDPS, 4, 0, true, false},
    {"add.rn.bf16x2", acu_jit_halves, X86_ADDPS, 4, 0, true, false},
    {"sub.bf16x2", acu_jit_halves, X86_SUBPS, 4, 0, true, false},
    {"sub.rn.bf16x2", acu_jit_halves, X86_SUBPS, 4, 0, true, false},
    {"mul.bf16x2", acu_jit_halves, X86_MULPS, 4, 0, true, false},
    {"mul.rn.bf16x2", acu_jit_halves, X86_MULPS, 4, 0, true, false},
    {"fma.rn.bf16x2", acu_jit_halves, X86_FMADD213PS, 4, 0, true, false},
    {"cvt.f32.f16", acu_jit_float_of_half, X86_LOAD, 4, 0, false, false},
    {"cvt.rn.f16.f32", acu_jit_half_of_float, X86_LOAD, 2, 0, false, false},
    {"cvt.rn.f16x2.f32", acu_jit_pair_of_floats, X86_LOAD, 4, 0, false, false},
    {"cvt.rn.bf16.f32", acu_jit_half_of_float, X86_LOAD, 2, 0, true, false},
    {"cvt.rn.bf16x2.f32", acu_jit_pair_of_floats, X86_LOAD, 4, 0, true, false},

    {"and.pred", logic, X86_LOAD, 0, X86_AND, false, false},
    {"or.pred", logic, X86_LOAD, 0, X86_OR, false, false},
    {"xor.pred", logic, X86_LOAD, 0, X86_XOR, false, false},
    {"not.pred", logic, X86_LOAD, 0, 0, false, false},
};

/* The predicates of comparisons, of integers and of floats. */
static const struct {
    const char *name;
    uint8_t predicate;
} integers[] = {{"eq", EQUAL},          {"ne", NOT_EQUAL}, {"lt", LESS}, {"le", LESS_EQUAL},
                {"gt", NOT_LESS_EQUAL}, {"ge", NOT_LESS},  {"lo", LESS}, {"ls", LESS_EQUAL},
                {"hi", NOT_LESS_EQUAL}, {"hs", NOT_LESS}},
  floats[] = {{"eq", 0x00},  {"ne", 0x0c},  {"lt", 0x11},  {"le", 0x12},  {"gt", 0x1e},
              {"ge", 0x1d},  {"equ", 0x08}, {"neu", 0x04}, {"ltu", 0x19}, {"leu", 0x1a},
              {"gtu", 0x16}, {"geu", 0x15}, {"num", 0x07}, {"nan", 0x03}};

/* Roundings that are not to nearest. */
static const struct {
    const char *name;
    uint8_t rounding;
} roundings[] = {{"rz", X86_TO_ZERO}, {"rm", X86_DOWN}, {"rp", X86_UP}};
static const struct {
    const char *name;
    x86_vector vector;
    bool is_reciprocal;
} rounded[] = {{"add", X86_ADDPS, false},      {"sub", X86_SUBPS, false},
               {"mul", X86_MULPS, false},      {"fma", X86_FMADD213PS, false},
               {"mad", X86_FMADD213PS, false}, {"div", X86_DIVPS, false},
               {"rcp", X86_DIVPS, true},       {"sqrt", X86_SQRTPS, false}};

/* Integers of up to 32 bits, and those that they may become. */
static const struct {
    const char *name;
    uint8_t bytes;
    bool is_signed;
} sizes[] = {{"u8", 1, false},  {"s8", 1, true},  {"u16", 2, false}, {"s16", 2, true},
             {"u32", 4, false}, {"s32", 4, true}, {"u64", 8, false}, {"s64", 8, true}};

enum { PLACES = 4096 };
static jit_row table[PLACES]; /* by handler, of every level; written once */

static jit_row *place_of(ptx_handler *handler) {
    size_t at = ((uintptr_t)handler >> 4) * 31 % PLACES;
    while (table[at].handler && table[at].handler != handler)
        at = (at + 1) % PLACES;
    return &table[at];
}

static void add(const char *opcode, jit_row k) {
    const ptx_form *form = acu_ptx_form_find(opcode);
    if (!form)
        return;
    for (ptx_level level = PTX_AVX2; level <= PTX_AVX512; level++) {
        k.handler = acu_ptx_lane_handlers(level)[form->handler];
        *place_of(k.handler) = k;
    }
}

/* Returns how many operands the code of a float operation has. */
static unsigned operands_of(const jit_row *k) {
    const bool is_one = k->vector == X86_SQRTPS || k->from;
    if (k->translate == fused || k->vector == X86_FMADD213PS)
        return 3;
    return k->translate == binary || k->translate == extreme ||
                   (k->translate == acu_jit_rounded && !is_one)
               ? 2
               : 1;
}

/* Returns whether a result may be subnormal, or be rounded up from what is, of normal operands. */
static bool may_be_subnormal(const jit_row *k) {
    return k->translate == fused || k->vector == X86_ADDPS || k->vector == X86_SUBPS ||
           k->vector == X86_MULPS || k->vector == X86_DIVPS || k->vector == X86_FMADD213PS;
}

/* Adds the forms of an operation of floats that flush, or saturate. */
static void add_float(const char *opcode, jit_row k) {
    const int length = (int)(strlen(opcode) - strlen(".f32"));
    jit_row flushed = k;
    char words[64];
    add(opcode, k);
    flushed.flushes = (uint8_t)operands_of(&k);
    flushed.flushes_result = may_be_subnormal(&k);
    for (unsigned saturates = 0; saturates < 2; saturates++) {
        k.saturates = flushed.saturates = saturates;
        if (saturates) {
            snprintf(words, sizeof words, "%.*s.sat.f32", length, opcode);
            add(words, k);
        }
        snprintf(words, sizeof words, "%.*s.ftz%s.f32", length, opcode, saturates ? ".sat" : "");
        add(words, flushed);
    }
}

static void add_comparisons(const char *name, jit_row k, const char *type) {
    static const char *const joins[] = {"", ".and", ".or", ".xor"};
    for (unsigned n = 0; n < 4; n++) {
        char opcode[64];
        snprintf(opcode, sizeof opcode, "setp.%s%s.%s%s", name, joins[n], k.flushes ? "ftz." : "",
                 type);
        k.joined = "\0&|^"[n];
        add(opcode, k);
    }
}

static void add_roundings(void) {
    for (size_t n = 0; n < sizeof rounded / sizeof *rounded; n++)
        for (size_t r = 0; r < sizeof roundings / sizeof *roundings; r++) {
            char opcode[64];
            snprintf(opcode, sizeof opcode, "%s.%s.f32", rounded[n].name, roundings[r].name);
            add_float(opcode, (jit_row){.translate = acu_jit_rounded,
                                        .vector = rounded[n].vector,
                                        .size = 4,
                                        .predicate = roundings[r].rounding,
                                        .from = rounded[n].is_reciprocal});
        }
}

/* Those between 32 and 64 bits are rows. */
static void add_sizes(void) {
    enum { SIZES = sizeof sizes / sizeof *sizes, WIDE = 4 };
    for (size_t to = 0; to < SIZES; to++)
        for (size_t from = 0; from < SIZES; from++) {
            const uint8_t lane = sizes[from].bytes < 2 ? 2 : sizes[from].bytes;
            const bool widens = sizes[to].bytes >= lane;
            char opcode[64];
            snprintf(opcode, sizeof opcode, "cvt.%s.%s", sizes[to].name, sizes[from].name);
            if (to < WIDE || from < WIDE)
                add(opcode,
                    (jit_row){.translate = acu_jit_convert_size,
                              .vector = X86_LOAD,
                              .size = sizes[to].bytes < 2 ? 2 : sizes[to].bytes,
                              .from = lane,
                              .predicate = widens ? lane : sizes[to].bytes,
                              .is_signed = widens ? sizes[from].is_signed : sizes[to].is_signed});
        }
}

static void add_handler(ptx_handler *handler, jit_translate *translate) {
    *place_of(handler) =
        (jit_row){.handler = handler, .translate = translate, .vector = X86_LOAD, .size = 4};
}

/* The rows of one operation, and of those that flush or saturate. */
static void add_row(size_t n) {
    const bool is_float = rows[n].is_float || rows[n].translate == acu_jit_reciprocal_root;
    const jit_row k = {.translate = rows[n].translate,
                       .vector = rows[n].vector,
                       .size = rows[n].size,
                       .predicate = rows[n].predicate,
                       .is_signed = rows[n].is_signed,
                       .is_float = rows[n].is_float};
    (is_float ? add_float : add)(rows[n].opcode, k);
}

/* Conversions that flush. */
static void add_flushing_conversions(void) {
    add("cvt.ftz.f32.f32",
        (jit_row){
            .translate = unary, .vector = X86_LOAD, .size = 4, .is_float = true, .flushes = 1});
    add("cvt.ftz.sat.f32.f32",
        (jit_row){.translate = acu_jit_saturate, .vector = X86_LOAD, .size = 4, .flushes = 1});
    add("cvt.ftz.f64.f32",
        (jit_row){
            .translate = acu_jit_widen_float, .vector = X86_CVTPS2PD, .size = 8, .flushes = 1});
    add("cvt.rn.ftz.f32.f64", (jit_row){.translate = acu_jit_float_of_double,
                                        .vector = X86_CVTPD2PS,
                                        .size = 4,
                                        .predicate = X86_NEAREST,
                                        .flushes_result = true});
}

static void fill(void) {
    static const char *const types[] = {"b32", "u32", "s32", "b64", "u64", "s64"};
    static const x86_vector vectors[] = {X86_PCMPUD, X86_PCMPUD, X86_PCMPD,
                                         X86_PCMPUQ, X86_PCMPUQ, X86_PCMPQ};
    *place_of(acu_ptx_copy_all) =
        (jit_row){.handler = acu_ptx_copy_all, .translate = copy, .vector = X86_LOAD, .size = 4};
    add_handler(acu_ptx_resize, acu_jit_resize);
    add_handler(acu_ptx_take_part, acu_jit_take_part);
    add_handler(acu_ptx_put_two, acu_jit_put_two);
    add_roundings();
    add_sizes();
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++)
        add_row(n);
    add_flushing_conversions();
    for (size_t n = 0; n < sizeof integers / sizeof *integers; n++)
        for (unsigned type = 0; type < 6; type++)
            add_comparisons(integers[n].name,
                            (jit_row){.translate = compare,
                                      .vector = vectors[type],
                                      .size = type < 3 ? 4 : 8,
                                      .predicate = integers[n].predicate,
                                      .is_signed = type % 3 == 2},
                            types[type]);
    for (size_t n = 0; n < sizeof integers / sizeof *integers; n++)
        for (unsigned is_signed = 0; is_signed < 3; is_signed++)
            add_comparisons(integers[n].name,
                            (jit_row){.translate = acu_jit_compare_shorts,
                                      .vector = X86_PCMPW,
                                      .size = 2,
                                      .predicate = integers[n].predicate,
                                      .is_signed = is_signed == 1},
                            is_signed == 1 ? "s16"
                            : is_signed    ? "b16"
                                           : "u16");
    for (size_t n = 0; n < sizeof floats / sizeof *floats; n++)
        for (unsigned flushes = 0; flushes < 2; flushes++)
            add_comparisons(floats[n].name,
                            (jit_row){.translate = compare,
                                      .vector = X86_CMPPS,
                                      .size = 4,
                                      .predicate = floats[n].predicate,
                                      .is_float = true,
                                      .flushes = flushes ? 2 : 0},
                            "f32");
    for (size_t n = 0; n < sizeof floats / sizeof *floats; n++)
        add_comparisons(floats[n].name,
                        (jit_row){.translate = compare,
                                  .vector = X86_CMPPD,
                                  .size = 8,
                                  .predicate = floats[n].predicate,
                                  .is_float = true},
                        "f64");
}

static const jit_row *find_known(const ptx_op *op) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill);
    return place_of(op->full);
}

bool acu_jit_is_known(const ptx_op *op) {
    return find_known(op)->handler != NULL;
}

static bool row_makes_rough(const jit_row *k) {
    return k->handler && k->size == 4 &&
           (k->is_float || k->translate == acu_jit_rounded ||
            k->translate == acu_jit_reciprocal_root || k->translate == acu_jit_power);
}

bool acu_jit_makes_rough(const ptx_op *op) {
    return row_makes_rough(find_known(op));
}

bool acu_jit_takes_rough(const ptx_op *op) {
    const jit_row *k = find_known(op);
    return row_makes_rough(k) || k->translate == acu_jit_saturate ||
           k->translate == acu_jit_integer_of_float;
}

bool acu_jit_is_late(ptx_making *m, const ptx_op *op) {
    const jit_row *k = find_known(op);
    if (!k->handler)
        return false;
    return (k->translate == binary && k->vector == X86_PADDQ && acu_jit_note_sum(m, op)) ||
           (k->translate == multiply_wide && !k->predicate &&
            acu_jit_note_product(m, op, k->is_signed));
}

bool acu_jit_flushes(const ptx_op *op) {
    const jit_row *k = find_known(op);
    return k->flushes || k->flushes_result;
}

bool acu_jit_makes_normal(const ptx_making *m, const ptx_op *op) {
    const jit_row *k = find_known(op);
    if (!k->handler || k->size != 4 || op->size != 4)
        return false;
    if (k->translate == copy || k->translate == choose)
        return acu_jit_is_normal(m, op->a) && (k->translate == copy || acu_jit_is_normal(m, op->b));
    return k->flushes || k->flushes_result || k->vector == X86_CVTDQ2PS ||
           k->vector == X86_CVTUDQ2PS || k->translate == acu_jit_float_of_short ||
           (k->translate == acu_jit_power && k->predicate);
}

bool acu_jit_lanes(ptx_making *m, const ptx_op *op) {
    const jit_row *k = find_known(op);
    const bool looks = (k->flushes || k->flushes_result) && k->translate != compare;
    return k->handler && (looks ? acu_jit_flushed : k->translate)(m, op, k);
}
