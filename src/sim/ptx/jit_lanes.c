/* Operations of 32 bits that are one instruction on vectors, or a few. */
#include "sim/ptx/jit_inside.h"

#include <stddef.h>

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
    if (k->flushes_bits)
        acu_x86_vector(&m->x, X86_MULPS, vector, vector, pool(JIT_ONE));
    if (k->saturates)
        acu_jit_saturate_vector(m, vector);
    else if (fixes)
        fix_nan(m, vector);
}

/* Returns whether the NaN of a result that has been begun needs its bits now, not later. */
static bool fixes_now(ptx_making *m, const ptx_op *op, const jit_row *k) {
    return k->is_float && !acu_jit_leave_rough(m, op->d);
}

void acu_jit_want_all(ptx_making *m, const ptx_op *op, const jit_row *k, unsigned count) {
    const ptx_slot slots[] = {op->a, op->b, op->c};
    for (unsigned n = 0; n < count; n++)
        acu_jit_want(m, slots[n], k->size);
}

bool acu_jit_binary(ptx_making *m, const ptx_op *op, const jit_row *k) {
    acu_jit_want_all(m, op, k, 2);
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
bool acu_jit_with_pool(ptx_making *m, const ptx_op *op, const jit_row *k) {
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

bool acu_jit_unary(ptx_making *m, const ptx_op *op, const jit_row *k) {
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
bool acu_jit_make_whole(ptx_making *m, const ptx_op *op, const jit_row *k) {
    acu_jit_want(m, op->a, 4);
    acu_jit_begin(m, op->d, 4);
    const bool fixes = fixes_now(m, op, k);
    for (unsigned i = 0; i < m->vectors; i++) {
        x86_place a = acu_jit_source(m, op->a, 4, i);
        if (k->flushes) { /* a subnormal number may be rounded up to 1 */
            acu_x86_vector(&m->x, X86_MULPS, JIT_T1, acu_jit_load(m, op->a, 4, i, JIT_T1),
                           pool(JIT_ONE));
            a = x86_in(JIT_T1);
        }
        const unsigned d = acu_jit_target(m, op->d, 4, i);
        acu_x86_vector_by(&m->x, k->vector, d, X86_NONE, a, k->predicate | 8);
        finish(m, d, k, fixes);
        acu_jit_done(m, op->d, 4, i);
    }
    return true;
}

bool acu_jit_copy(ptx_making *m, const ptx_op *op, const jit_row *k) {
    if (!op->size) {
        acu_x86_word(&m->x, X86_MOV, X86_RAX, acu_jit_memory(m, op->a, 0));
        acu_jit_store_predicate(m, op->d);
        return true;
    }
    if (op->size != 2 && op->size != 4 && op->size != 8)
        return false;
    jit_row sized = *k;
    sized.size = op->size;
    return acu_jit_unary(m, op, &sized);
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
bool acu_jit_extreme(ptx_making *m, const ptx_op *op, const jit_row *k) {
    enum { EQUAL_NUMBERS = 0, UNORDERED = 3 };
    x86 *x = &m->x;
    acu_jit_want_all(m, op, k, 2);
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
        finish(m, JIT_T0, k, fixes);
        unsigned d = acu_jit_target(m, op->d, 4, i);
        if (d != JIT_T0)
            acu_x86_vector(x, X86_LOAD, d, X86_NONE, x86_in(JIT_T0));
        acu_jit_done(m, op->d, 4, i);
    }
    return true;
}

/* The sign of a, and the other bits of b. */
bool acu_jit_take_sign(ptx_making *m, const ptx_op *op, const jit_row *k) {
    x86 *x = &m->x;
    const x86_place sign = pool(k->size == 4 ? JIT_SIGN : JIT_SIGN_WIDE),
                    others = pool(k->size == 4 ? JIT_NAN : JIT_SIZE_WIDE);
    acu_jit_want_all(m, op, k, 2);
    acu_jit_begin(m, op->d, k->size);
    for (unsigned i = 0; i < vectors_of(m, k->size); i++) {
        acu_x86_vector(x, X86_PAND, JIT_T0, acu_jit_load(m, op->a, k->size, i, JIT_T1), sign);
        acu_x86_vector(x, X86_PAND, JIT_T1, acu_jit_load(m, op->b, k->size, i, JIT_T1), others);
        acu_x86_vector(x, X86_POR, JIT_T0, JIT_T0, x86_in(JIT_T1));
        acu_jit_put(m, op->d, k->size, i);
    }
    return true;
}

/* d = a * b + c, rounded once. */
bool acu_jit_fused(ptx_making *m, const ptx_op *op, const jit_row *k) {
    x86 *x = &m->x;
    acu_jit_want_all(m, op, k, 3);
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
bool acu_jit_multiply_add(ptx_making *m, const ptx_op *op, const jit_row *k) {
    acu_jit_want_all(m, op, k, 3);
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

/* Shifts two words, of which b is the upper one: `predicate` is 'l' or 'r', and by how much is the
 * low 5 bits of c, or, if `is_signed`, at most 32. */
bool acu_jit_shift_two(ptx_making *m, const ptx_op *op, const jit_row *k) {
    x86 *x = &m->x;
    const bool is_left = k->predicate == 'l';
    acu_jit_want_all(m, op, k, 3);
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
bool acu_jit_multiply_high(ptx_making *m, const ptx_op *op, const jit_row *k) {
    x86 *x = &m->x;
    const x86_vector multiply = k->is_signed ? X86_PMULDQ : X86_PMULUDQ;
    acu_jit_want_all(m, op, k, k->predicate ? 3 : 2);
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
bool acu_jit_multiply_shorts(ptx_making *m, const ptx_op *op, const jit_row *k) {
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
