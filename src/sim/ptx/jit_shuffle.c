/* Shuffles of all lanes: by numbers, or by a register, within the whole warp. */
#include "sim/ptx/jit_inside.h"
#include "sim/ptx/warp_exchange.h"

#include <stddef.h>

enum { UP, DOWN, BFLY, IDX }; /* ptx_shuffle's mode */

static x86_place pool(unsigned at) {
    return x86_at(JIT_POOL, (int32_t)at);
}

/* Returns whether each lane may take its value from any lane of the warp. */
static bool is_whole(const ptx_making *m, const ptx_shuffle *s) {
    uint64_t clamp;
    return acu_jit_is_constant(m, s->clamp, &clamp) &&
           (uint32_t)clamp == (s->mode == UP ? 0 : PTX_LANES - 1);
}

/* Puts the lanes that those of vector i take their values from into JIT_T3, or into JIT_T4 of
 * AVX-512 if i is 1, and which of them are lanes of the warp into k2 or k3, or, as words of ~0,
 * into JIT_T2 (AVX2); the others take their own. */
static void find_lanes(ptx_making *m, const ptx_shuffle *s, unsigned i) {
    x86 *x = &m->x;
    const unsigned d = m->wide ? JIT_T3 + i : JIT_T3;
    const x86_place lanes = pool(JIT_LANES + i * m->width);
    acu_x86_vector(x, X86_LOAD, JIT_T1, X86_NONE, pool(JIT_31));
    acu_x86_vector(x, X86_PAND, JIT_T0, JIT_T1, acu_jit_source(m, s->by, 4, i));
    acu_x86_vector(x, X86_LOAD, d, X86_NONE, lanes);
    acu_x86_vector(x,
                   s->mode == UP     ? X86_PSUBD
                   : s->mode == DOWN ? X86_PADDD
                                     : X86_PXOR,
                   JIT_T0, d, x86_in(JIT_T0));
    if (s->mode == IDX)
        acu_x86_vector(x, X86_PXOR, JIT_T0, JIT_T0, x86_in(d));
    /* a lane before the first one is a large number */
    if (m->wide) {
        enum { NOT_ABOVE = 2 };
        acu_x86_vector_by(x, X86_PCMPUD, 2 + i, JIT_T0, x86_in(JIT_T1), NOT_ABOVE);
        acu_x86_masked(x, X86_LOAD, d, X86_NONE, x86_in(JIT_T0), 2 + i);
    } else {
        acu_x86_vector(x, X86_PMINUD, JIT_T2, JIT_T0, x86_in(JIT_T1));
        acu_x86_vector(x, X86_PCMPEQD, JIT_T2, JIT_T2, x86_in(JIT_T0));
        acu_x86_vector_by(x, X86_BLENDVPS, d, d, x86_in(JIT_T0), JIT_T2 << 4);
    }
}

/* A value is two vectors, of which any lane can be taken at once. RAX becomes the lanes whose
 * values are from lanes of the warp. */
static void shuffle_wide(ptx_making *m, const ptx_op *op) {
    x86 *x = &m->x;
    const ptx_shuffle *s = op->more;
    if (s->is_fixed)
        acu_x86_load_number(x, X86_RAX, (uintptr_t)s->from);
    for (unsigned i = 0; i < 2; i++)
        if (s->is_fixed)
            acu_x86_vector(x, X86_LOAD, JIT_T3 + i, X86_NONE, x86_at(X86_RAX, (int32_t)(64 * i)));
        else
            find_lanes(m, s, i);
    const unsigned low = acu_jit_load(m, s->value, 4, 0, JIT_T1),
                   high = acu_jit_load(m, s->value, 4, 1, JIT_T2);
    acu_x86_vector(x, X86_PERMI2D, JIT_T3, low, x86_in(high));
    acu_x86_vector(x, X86_PERMI2D, JIT_T4, low, x86_in(high));
    if (!s->is_fixed) /* before the result has a register: what had it is stored by k3 */
        acu_x86_join_masks(x, 16, 2, 3, 2);
    acu_jit_begin(m, op->d, 4);
    for (unsigned i = 0; i < 2; i++) {
        acu_x86_vector(x, X86_LOAD, acu_jit_target(m, op->d, 4, i), X86_NONE, x86_in(JIT_T3 + i));
        acu_jit_done(m, op->d, 4, i);
    }
    if (!s->is_fixed)
        acu_x86_take_mask(x, X86_RAX, 2);
}

/* The same by gathers from memory, whose results wait in the frame: the value may be the result's
 * register. */
static void shuffle_narrow(ptx_making *m, const ptx_op *op) {
    x86 *x = &m->x;
    const ptx_shuffle *s = op->more;
    const x86_place results = acu_jit_in_frame(offsetof(jit_frame, compared));
    acu_jit_flush_one(m, s->value);
    acu_x86_lea(x, X86_R9, acu_jit_memory(m, s->value, 0));
    acu_x86_load_number(x, X86_R10, (uintptr_t)s->from);
    for (unsigned i = 0; i < m->vectors; i++) {
        if (s->is_fixed) {
            acu_x86_vector(x, X86_LOAD, JIT_T3, X86_NONE, x86_at(X86_R10, (int32_t)(32 * i)));
        } else {
            find_lanes(m, s, i);
            acu_x86_vector(x, X86_MOVMSKPS, X86_RCX, X86_NONE, x86_in(JIT_T2));
            if (i) {
                acu_x86_shift_left(x, X86_RCX, 8 * i);
                acu_x86_word(x, X86_OR, X86_RAX, x86_in(X86_RCX));
            } else {
                acu_x86_word(x, X86_MOV, X86_RAX, x86_in(X86_RCX));
            }
        }
        acu_x86_shift_by(x, X86_SHIFT_PSLLD, JIT_T3, JIT_T3, 2);
        acu_x86_vector(x, X86_PCMPEQD, JIT_T2, JIT_T2, x86_in(JIT_T2));
        acu_x86_gather(x, X86_GATHERD, JIT_T0, X86_R9, JIT_T3, 0, JIT_T2);
        acu_x86_vector(x, X86_STORE, JIT_T0, X86_NONE,
                       x86_at(X86_RSP, results.offset + (int32_t)(32 * i)));
    }
    acu_jit_begin(m, op->d, 4);
    for (unsigned i = 0; i < m->vectors; i++) {
        acu_x86_vector(x, X86_LOAD, JIT_T0, X86_NONE,
                       x86_at(X86_RSP, results.offset + (int32_t)(32 * i)));
        acu_jit_put(m, op->d, 4, i);
    }
    acu_jit_forget_masks(m); /* of a comparison, in the same place */
}

bool acu_jit_shuffle(ptx_making *m, const ptx_op *op) {
    const ptx_shuffle *s = op->more;
    if (op->masked != acu_ptx_shuffle || (!s->is_fixed && !is_whole(m, s)))
        return false;
    acu_jit_want(m, s->value, 4);
    if (!s->is_fixed)
        acu_jit_want(m, s->by, 4);
    (m->wide ? shuffle_wide : shuffle_narrow)(m, op);
    if (s->predicate == UINT32_MAX)
        return true;
    if (s->is_fixed)
        acu_x86_word_by(&m->x, X86_MOV, x86_in(X86_RAX), (int32_t)s->inside);
    acu_jit_store_predicate(m, s->predicate);
    return true;
}
