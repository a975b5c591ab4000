/* What the row of an operation says about it. */
#include "sim/ptx/jit_inside.h"

#include <stddef.h>

bool acu_jit_is_known(const ptx_op *op) {
    return acu_jit_find_row(op)->handler != NULL;
}

static bool row_makes_rough(const jit_row *k) {
    return k->handler && k->size == 4 &&
           (k->is_float || k->translate == acu_jit_rounded ||
            k->translate == acu_jit_reciprocal_root || k->translate == acu_jit_power);
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

bool acu_jit_flushes(const ptx_op *op) {
    const jit_row *k = acu_jit_find_row(op);
    return k->flushes || k->flushes_result;
}

bool acu_jit_makes_normal(const ptx_making *m, const ptx_op *op) {
    const jit_row *k = acu_jit_find_row(op);
    if (!k->handler || k->size != 4 || op->size != 4)
        return false;
    if (k->translate == acu_jit_copy || k->translate == acu_jit_choose)
        return acu_jit_is_normal(m, op->a) &&
               (k->translate == acu_jit_copy || acu_jit_is_normal(m, op->b));
    return k->flushes || k->flushes_result || k->vector == X86_CVTDQ2PS ||
           k->vector == X86_CVTUDQ2PS || k->translate == acu_jit_float_of_short ||
           (k->translate == acu_jit_power && k->predicate);
}

bool acu_jit_lanes(ptx_making *m, const ptx_op *op) {
    const jit_row *k = acu_jit_find_row(op);
    const bool looks = (k->flushes || k->flushes_result) && k->translate != acu_jit_compare;
    return k->handler && (looks ? acu_jit_flushed : k->translate)(m, op, k);
}
