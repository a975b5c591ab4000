/* Comparisons, what chooses by a predicate, and what joins predicates. */
#include "sim/ptx/jit_inside.h"
#include "sim/ptx/lower_inside.h"

#include <stddef.h>

static x86_place pool(unsigned at) {
    return x86_at(JIT_POOL, (int32_t)at);
}

static unsigned vectors_of(const ptx_making *m, unsigned size) {
    return PTX_LANES * size / m->width;
}

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

bool acu_jit_choose(ptx_making *m, const ptx_op *op, const jit_row *k) {
    x86 *x = &m->x;
    if (k->size == 2 && !m->wide)
        return false;
    acu_jit_want_all(m, op, k, 2);
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

static bool compare_in_masks(ptx_making *m, const ptx_op *op, const jit_row *k) {
    x86 *x = &m->x;
    const unsigned low = JIT_K_COMPARED, high = low + 1, first = k->size == 8 ? 2 : low;
    acu_jit_want_all(m, op, k, 2);
    for (unsigned i = 0; i < vectors_of(m, k->size); i++) {
        const unsigned a = acu_jit_load(m, op->a, k->size, i, JIT_T1);
        acu_x86_vector_by(x, k->vector, first + i, a, acu_jit_source(m, op->b, k->size, i),
                          k->predicate);
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

/* Makes words of ~0 for the lanes of vector i for which the comparison holds, or for which it does
 * not: then it returns true. AVX2 has few comparisons. */
static bool compare_words(ptx_making *m, const ptx_op *op, const jit_row *k, unsigned i) {
    x86 *x = &m->x;
    bool turned = k->predicate == JIT_LESS || k->predicate == JIT_NOT_LESS;
    unsigned a = acu_jit_load(m, turned ? op->b : op->a, 4, i, JIT_T1);
    x86_place b = acu_jit_source(m, turned ? op->a : op->b, 4, i);
    if (k->is_float) {
        acu_x86_vector_by(x, X86_CMPPS, JIT_T1, acu_jit_load(m, op->a, 4, i, JIT_T1),
                          acu_jit_source(m, op->b, 4, i), k->predicate);
        return false;
    }
    if (k->predicate == JIT_EQUAL_TO || k->predicate == JIT_NOT_EQUAL) {
        acu_x86_vector(x, X86_PCMPEQD, JIT_T1, a, b);
        return k->predicate == JIT_NOT_EQUAL;
    }
    if (k->is_signed) {
        acu_x86_vector(x, X86_PCMPGTD, JIT_T1, a, b);
        return k->predicate == JIT_LESS_EQUAL || k->predicate == JIT_NOT_LESS;
    }
    /* The smaller one is a: a is not above b. */
    acu_x86_vector(x, X86_PMINUD, JIT_T2, a, b);
    acu_x86_vector(x, X86_PCMPEQD, JIT_T1, JIT_T2, x86_in(a));
    return k->predicate == JIT_LESS || k->predicate == JIT_NOT_LESS_EQUAL;
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
    const jit_row *k = acu_jit_find_row(next);
    return k->handler && k->translate == acu_jit_choose && next->c == predicate;
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
    const bool equal = k->predicate == JIT_EQUAL_TO || k->predicate == JIT_NOT_EQUAL;
    const bool turned = k->predicate == JIT_LESS || k->predicate == JIT_NOT_LESS;
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
    return k->predicate == JIT_NOT_EQUAL || k->predicate == JIT_LESS_EQUAL ||
           k->predicate == JIT_NOT_LESS;
}

/* Adds to the lanes in RAX those of vector i, of which JIT_T1 says by its signs which they are. */
static void add_lanes(ptx_making *m, x86_vector take, unsigned lanes, unsigned i) {
    x86 *x = &m->x;
    acu_x86_vector(x, take, i ? X86_RCX : X86_RAX, X86_NONE, x86_in(JIT_T1));
    if (i) {
        acu_x86_shift_left(x, X86_RCX, lanes * i);
        acu_x86_word(x, X86_OR, X86_RAX, x86_in(X86_RCX));
    }
}

/* A comparison of 64 bits, with AVX2. */
static bool compare_all_longs(ptx_making *m, const ptx_op *op, const jit_row *k) {
    x86 *x = &m->x;
    bool inverted = false;
    acu_jit_want_all(m, op, k, 2);
    for (unsigned i = 0; i < vectors_of(m, 8); i++) {
        inverted = compare_longs(m, op, k, i);
        add_lanes(m, X86_MOVMSKPD, 4, i);
    }
    if (inverted)
        acu_x86_not(x, X86_RAX);
    acu_jit_store_comparison(m, op, k);
    return true;
}

bool acu_jit_compare(ptx_making *m, const ptx_op *op, const jit_row *k) {
    x86 *x = &m->x;
    if (m->wide)
        return compare_in_masks(m, op, k);
    if (k->size != 4)
        return compare_all_longs(m, op, k);
    bool inverted = false;
    const bool keeps = !k->joined && !m->masked_by_guard && is_used_next(m, op->d);
    acu_jit_want_all(m, op, k, 2);
    for (unsigned i = 0; i < m->vectors; i++) {
        inverted = compare_words(m, op, k, i);
        if (keeps)
            keep_compared(m, i, inverted);
        add_lanes(m, X86_MOVMSKPS, 8, i);
    }
    if (inverted)
        acu_x86_not(x, X86_RAX);
    acu_jit_store_comparison(m, op, k);
    m->compared_known = keeps;
    m->compared = op->d;
    m->compared_version = acu_jit_version(m, op->d);
    return true;
}

bool acu_jit_logic(ptx_making *m, const ptx_op *op, const jit_row *k) {
    acu_x86_word(&m->x, X86_MOV, X86_RAX, acu_jit_memory(m, op->a, 0));
    if (k->predicate)
        acu_x86_word(&m->x, (x86_arithmetic)k->predicate, X86_RAX, acu_jit_memory(m, op->b, 0));
    else
        acu_x86_not(&m->x, X86_RAX);
    acu_jit_store_predicate(m, op->d);
    return true;
}
