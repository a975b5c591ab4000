/* What the row of an operation says about it. */
#include "sim/ptx/jit_inside.h"

#include <stddef.h>

bool acu_jit_is_known(const ptx_op *op) {
    return acu_jit_find_row(op)->handler != NULL;
}

static bool row_makes_rough(const jit_row *k) {
    return k->handler && k->size == 4 && (k->is_float || k->translate == acu_jit_rounded);
}

bool acu_jit_makes_rough(const ptx_op *op) {
    return row_makes_rough(acu_jit_find_row(op));
}

bool acu_jit_takes_rough(const ptx_op *op) {
    const jit_row *k = acu_jit_find_row(op);
    return row_makes_rough(k) || k->translate == acu_jit_saturate ||
           k->translate == acu_jit_integer_of_float;
}

bool acu_jit_is_late(ptx_making *m, const ptx_op *op) {
    const jit_row *k = acu_jit_find_row(op);
    if (!k->handler)
        return false;
    return (k->translate == acu_jit_binary && k->vector == X86_PADDQ && acu_jit_note_sum(m, op)) ||
           (k->translate == acu_jit_multiply_wide && !k->predicate &&
            acu_jit_note_product(m, op, k->is_signed));
}

/* Returns whether a row computes with floats that may be subnormal, which it keeps. */
static bool keeps_subnormal(const jit_row *k) {
    static jit_translate *const others[] = {
        acu_jit_rounded,        acu_jit_double,          acu_jit_fused_double, acu_jit_unary_double,
        acu_jit_word_of_double, acu_jit_float_of_double, acu_jit_saturate,     acu_jit_widen_float};
    const bool is_brain = k->is_signed,
               becomes_0 = k->predicate == X86_NEAREST || k->predicate == X86_TO_ZERO;
    if (k->translate == acu_jit_make_whole)
        return !becomes_0;
    if (k->is_float)
        return k->vector != X86_PXOR && k->vector != X86_PAND;
    for (unsigned n = 0; n < sizeof others / sizeof *others; n++)
        if (k->translate == others[n])
            return true;
    return k->translate == acu_jit_halves && is_brain;
}

jit_control acu_jit_needed_control(const ptx_op *op) {
    const jit_row *k = acu_jit_find_row(op);
    return k->flushes ? JIT_FLUSHES : keeps_subnormal(k) ? JIT_KEEPS : JIT_ANY;
}

bool acu_jit_lanes(ptx_making *m, const ptx_op *op) {
    const jit_row *k = acu_jit_find_row(op);
    if (!k->handler || (k->flushes && !acu_jit_can_flush()))
        return false;
    acu_jit_set_control(m, acu_jit_needed_control(op));
    return k->translate(m, op, k);
}
