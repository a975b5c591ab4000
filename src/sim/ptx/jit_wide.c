/* Integers of 64 bits, which are twice as many vectors, and what makes them of 32 bits. */
#include "sim/ptx/jit_inside.h"

#include <stddef.h>

static x86_place pool(unsigned at) {
    return x86_at(JIT_POOL, (int32_t)at);
}

static unsigned vectors_of(const ptx_making *m, unsigned size) {
    return PTX_LANES * size / m->width;
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

bool acu_jit_convert_wide(ptx_making *m, const ptx_op *op, const jit_row *k) {
    acu_jit_want(m, op->a, 4);
    acu_jit_begin(m, op->d, 8);
    for (unsigned i = 0; i < 2 * m->vectors; i++) {
        acu_jit_widen(m, op->a, i, k->is_signed, acu_jit_target(m, op->d, 8, i));
        acu_jit_done(m, op->d, 8, i);
    }
    return true;
}

/* d = a * b, of 64 bits; with `predicate`, + c. */
bool acu_jit_multiply_wide(ptx_making *m, const ptx_op *op, const jit_row *k) {
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

bool acu_jit_shift_wide(ptx_making *m, const ptx_op *op, const jit_row *k) {
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

/* d = a * b, of 64 bits: with AVX2, of products of 32. */
bool acu_jit_multiply_long(ptx_making *m, const ptx_op *op, const jit_row *k) {
    x86 *x = &m->x;
    if (m->wide)
        return acu_jit_binary(m, op, k);
    acu_jit_want_all(m, op, k, 2);
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
bool acu_jit_narrow(ptx_making *m, const ptx_op *op, const jit_row *k) {
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
