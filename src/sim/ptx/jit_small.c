/* Elements of 16 bits, conversions between sizes, and parts of values. */
#include "sim/ptx/jit_inside.h"
#include "sim/ptx/lower_inside.h"

#include <stddef.h>

static x86_place pool(unsigned at) {
    return x86_at(JIT_POOL, (int32_t)at);
}

/* ---- elements of another size ---- */

/* Puts the low 32 bits of the elements of vector i, of 16 lanes or 8, into JIT_T0; uses JIT_T1. */
static void load_words(ptx_making *m, ptx_slot slot, unsigned from, unsigned i) {
    x86 *x = &m->x;
    const size_t lanes = (size_t)i * m->width / 4;
    if (from == 2) {
        acu_x86_vector(x, X86_PMOVZXWD, JIT_T0, X86_NONE, acu_jit_memory(m, slot, lanes * 2));
    } else if (from == 4) {
        acu_x86_vector(x, X86_LOAD, JIT_T0, X86_NONE, acu_jit_source(m, slot, 4, i));
    } else if (m->wide) { /* of two vectors, the even words */
        acu_x86_vector(x, X86_LOAD, JIT_T0, X86_NONE, pool(JIT_EVEN));
        acu_x86_vector(x, X86_PERMI2D, JIT_T0, acu_jit_load(m, slot, 8, 2 * i, JIT_T1),
                       acu_jit_source(m, slot, 8, 2 * i + 1));
    } else {
        acu_x86_vector(x, X86_LOAD, JIT_T1, X86_NONE, acu_jit_memory(m, slot, lanes * 8));
        acu_x86_vector_by(x, X86_SHUFPS, JIT_T0, JIT_T1, acu_jit_memory(m, slot, lanes * 8 + 32),
                          0x88);
        acu_x86_vector_by(x, X86_PERMQ, JIT_T0, X86_NONE, x86_in(JIT_T0), 0xd8);
    }
}

/* Extends the low bytes of JIT_T0 to words. */
static void extend(ptx_making *m, unsigned bytes, bool is_signed) {
    x86 *x = &m->x;
    if (bytes >= 4)
        return;
    acu_x86_shift_by(x, X86_SHIFT_PSLLD, JIT_T0, JIT_T0, (uint8_t)(32 - 8 * bytes));
    acu_x86_shift_by(x, is_signed ? X86_SHIFT_PSRAD : X86_SHIFT_PSRLD, JIT_T0, JIT_T0,
                     (uint8_t)(32 - 8 * bytes));
}

void acu_jit_store_shorts(ptx_making *m, ptx_slot slot, unsigned i) {
    x86 *x = &m->x;
    const x86_place to = acu_jit_memory(m, slot, (size_t)i * m->width / 2);
    if (m->wide) {
        if (m->masked)
            acu_x86_masked(x, X86_PMOVDW, JIT_T0, X86_NONE, to, acu_jit_active(m, 4, i));
        else
            acu_x86_vector(x, X86_PMOVDW, JIT_T0, X86_NONE, to);
        return;
    }
    acu_x86_vector(x, X86_PAND, JIT_T0, JIT_T0, pool(JIT_SHORT)); /* so that none is clamped */
    acu_x86_vector(x, X86_PACKUSDW, JIT_T0, JIT_T0, x86_in(JIT_T0));
    acu_x86_vector_by(x, X86_PERMQ, JIT_T0, X86_NONE, x86_in(JIT_T0), 0x08);
    if (m->masked) { /* the active lanes as shorts, of which 8 count */
        x86_place words = m->mask_words;
        words.offset += (int32_t)(32 * i);
        acu_x86_vector(x, X86_LOAD, JIT_T1, X86_NONE, words);
        acu_x86_vector(x, X86_PACKSSDW, JIT_T1, JIT_T1, x86_in(JIT_T1));
        acu_x86_vector_by(x, X86_PERMQ, JIT_T1, X86_NONE, x86_in(JIT_T1), 0x08);
        acu_x86_vector(x, X86_PMOVZXDQ, JIT_T2, X86_NONE, to); /* 16 bytes, spread */
        acu_x86_vector_by(x, X86_SHUFPS, JIT_T2, JIT_T2, x86_in(JIT_T2), 0x88);
        acu_x86_vector_by(x, X86_PERMQ, JIT_T2, X86_NONE, x86_in(JIT_T2), 0x08);
        acu_x86_vector_by(x, X86_PBLENDVB, JIT_T0, JIT_T2, x86_in(JIT_T0), JIT_T1 << 4);
    }
    acu_x86_vector_by(x, X86_EXTRACT128, JIT_T0, X86_NONE, to, 0);
}

/* Writes the words in JIT_T0 to elements of a value. */
static void store_words(ptx_making *m, ptx_slot slot, unsigned to, bool is_signed, unsigned i) {
    x86 *x = &m->x;
    if (to == 2) {
        acu_jit_store_shorts(m, slot, i);
        return;
    }
    if (to == 4) {
        acu_jit_put(m, slot, 4, i);
        return;
    }
    const x86_place words = acu_jit_in_frame(offsetof(jit_frame, words));
    acu_x86_vector(x, X86_STORE, JIT_T0, X86_NONE, words);
    for (unsigned n = 0; n < 2; n++) {
        const x86_place part = {true, words.number, words.offset + (int32_t)(n * m->width / 2)};
        acu_x86_vector(x, is_signed ? X86_PMOVSXDQ : X86_PMOVZXDQ, JIT_T0, X86_NONE, part);
        acu_jit_put(m, slot, 8, 2 * i + n);
    }
}

void acu_jit_put(ptx_making *m, ptx_slot slot, unsigned size, unsigned i) {
    const unsigned d = acu_jit_target(m, slot, size, i);
    if (d != JIT_T0)
        acu_x86_vector(&m->x, X86_LOAD, d, X86_NONE, x86_in(JIT_T0));
    acu_jit_done(m, slot, size, i);
}

/* Makes elements of `to` bytes of the low bytes of others. Both may be the same value, of the same
 * size. */
static bool resize(ptx_making *m, const ptx_op *op, unsigned to, unsigned from, unsigned bytes,
                   bool is_signed) {
    if (bytes > 4)
        return false;
    acu_jit_want(m, op->a, from);
    acu_jit_begin(m, op->d, to);
    for (unsigned i = 0; i < m->vectors; i++) {
        load_words(m, op->a, from, i);
        extend(m, bytes, is_signed);
        store_words(m, op->d, to, is_signed, i);
    }
    return true;
}

bool acu_jit_convert_size(ptx_making *m, const ptx_op *op, const jit_row *k) {
    return resize(m, op, k->size, k->from, k->predicate, k->is_signed);
}

bool acu_jit_resize(ptx_making *m, const ptx_op *op, const jit_row *k) {
    (void)k;
    return resize(m, op, op->size, op->flags, (unsigned)op->value, op->negated);
}

/* ---- parts of values ---- */

bool acu_jit_take_part(ptx_making *m, const ptx_op *op, const jit_row *k) {
    x86 *x = &m->x;
    const unsigned size = op->size, whole = op->flags;
    (void)k;
    if (whole != 2 * size || (size != 2 && size != 4))
        return false;
    acu_jit_want(m, op->a, whole);
    acu_jit_begin(m, op->d, size);
    for (unsigned i = 0; i < m->vectors; i++) {
        if (size == 2) {
            load_words(m, op->a, 4, i);
            if (op->value)
                acu_x86_shift_by(x, X86_SHIFT_PSRLD, JIT_T0, JIT_T0, 16);
        } else if (!op->value) {
            load_words(m, op->a, 8, i);
        } else if (m->wide) {
            acu_x86_vector(x, X86_LOAD, JIT_T0, X86_NONE, pool(JIT_ODD_WORDS));
            acu_x86_vector(x, X86_PERMI2D, JIT_T0, acu_jit_load(m, op->a, 8, 2 * i, JIT_T1),
                           acu_jit_source(m, op->a, 8, 2 * i + 1));
        } else {
            acu_x86_vector(x, X86_LOAD, JIT_T1, X86_NONE, acu_jit_memory(m, op->a, (size_t)i * 64));
            acu_x86_vector_by(x, X86_SHUFPS, JIT_T0, JIT_T1,
                              acu_jit_memory(m, op->a, (size_t)i * 64 + 32), 0xdd);
            acu_x86_vector_by(x, X86_PERMQ, JIT_T0, X86_NONE, x86_in(JIT_T0), 0xd8);
        }
        store_words(m, op->d, size, false, i);
    }
    return true;
}

/* Puts two parts together: `a` is the lower one. */
bool acu_jit_put_two(ptx_making *m, const ptx_op *op, const jit_row *k) {
    x86 *x = &m->x;
    (void)k;
    if (op->size != 4 && op->size != 8)
        return false;
    const unsigned part = op->size / 2;
    acu_jit_want(m, op->a, part);
    acu_jit_want(m, op->b, part);
    acu_jit_begin(m, op->d, op->size);
    for (unsigned i = 0; i < (part == 2 ? 1 : 2) * m->vectors; i++) {
        if (part == 2) {
            const size_t at = (size_t)i * m->width / 2;
            acu_x86_vector(x, X86_PMOVZXWD, JIT_T1, X86_NONE, acu_jit_memory(m, op->b, at));
            acu_x86_shift_by(x, X86_SHIFT_PSLLD, JIT_T1, JIT_T1, 16);
            acu_x86_vector(x, X86_PMOVZXWD, JIT_T0, X86_NONE, acu_jit_memory(m, op->a, at));
        } else {
            acu_jit_widen(m, op->b, i, false, JIT_T1);
            acu_x86_shift_by(x, X86_SHIFT_PSLLQ, JIT_T1, JIT_T1, 32);
            acu_jit_widen(m, op->a, i, false, JIT_T0);
        }
        acu_x86_vector(x, X86_POR, JIT_T0, JIT_T0, x86_in(JIT_T1));
        acu_jit_put(m, op->d, op->size, i);
    }
    return true;
}

/* ---- 16 bits ---- */

/* Shifts by a number that all lanes share. */
bool acu_jit_shift_short(ptx_making *m, const ptx_op *op, const jit_row *k) {
    uint64_t by;
    if (!acu_jit_is_constant(m, op->b, &by))
        return false;
    acu_jit_begin(m, op->d, 2);
    for (unsigned i = 0; i < m->vectors / 2; i++) {
        const unsigned a = acu_jit_load(m, op->a, 2, i, JIT_T1);
        acu_x86_shift_by(&m->x, (x86_shift)k->vector, JIT_T0, a,
                         (uint8_t)((uint32_t)by > 16 ? 16 : (uint32_t)by));
        acu_jit_done(m, op->d, 2, i);
    }
    return true;
}

enum { EQUAL, LESS, LESS_EQUAL, NOT_EQUAL = 4, NOT_LESS, NOT_LESS_EQUAL };

/* Makes shorts of ~0 in JIT_T1 for the lanes of vector i for which a comparison holds, or, if it
 * returns true, for which it does not. AVX2 only. */
static bool compare_vector(ptx_making *m, const ptx_op *op, const jit_row *k, unsigned i) {
    x86 *x = &m->x;
    const bool turned = k->predicate == LESS || k->predicate == NOT_LESS;
    const unsigned a = acu_jit_load(m, turned ? op->b : op->a, 2, i, JIT_T1);
    const x86_place b = acu_jit_source(m, turned ? op->a : op->b, 2, i);
    if (k->predicate == EQUAL || k->predicate == NOT_EQUAL) {
        acu_x86_vector(x, X86_PCMPEQW, JIT_T1, a, b);
        return k->predicate == NOT_EQUAL;
    }
    if (k->is_signed) {
        acu_x86_vector(x, X86_PCMPGTW, JIT_T1, a, b);
        return k->predicate == LESS_EQUAL || k->predicate == NOT_LESS;
    }
    acu_x86_vector(x, X86_PMINUW, JIT_T2, a, b);
    acu_x86_vector(x, X86_PCMPEQW, JIT_T1, JIT_T2, x86_in(a));
    return k->predicate == LESS || k->predicate == NOT_LESS_EQUAL;
}

bool acu_jit_compare_shorts(ptx_making *m, const ptx_op *op, const jit_row *k) {
    x86 *x = &m->x;
    if (m->wide) {
        acu_x86_vector_by(x, k->is_signed ? X86_PCMPW : X86_PCMPUW, 2,
                          acu_jit_load(m, op->a, 2, 0, JIT_T1), acu_jit_source(m, op->b, 2, 0),
                          k->predicate);
        acu_x86_take_mask(x, X86_RAX, 2);
        acu_jit_store_comparison(m, op, k);
        return true;
    }
    const bool inverted = compare_vector(m, op, k, 0);
    acu_x86_vector(x, X86_LOAD, JIT_T3, X86_NONE, x86_in(JIT_T1));
    compare_vector(m, op, k, 1);
    acu_x86_vector(x, X86_PACKSSWB, JIT_T3, JIT_T3, x86_in(JIT_T1));
    acu_x86_vector_by(x, X86_PERMQ, JIT_T3, X86_NONE, x86_in(JIT_T3), 0xd8);
    acu_x86_vector(x, X86_PMOVMSKB, X86_RAX, X86_NONE, x86_in(JIT_T3));
    if (inverted)
        acu_x86_not(x, X86_RAX);
    acu_jit_store_comparison(m, op, k);
    return true;
}
