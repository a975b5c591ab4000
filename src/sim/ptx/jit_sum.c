/*
 * Sums: values of 64 bits that are another value, or a product of one of 32 bits, and what all
 * lanes share. Addresses are such, and an access seldom needs more of them than how their lanes
 * lie. So a sum is computed late: when something needs it, or what it is made of is about to
 * change.
 */
#include "sim/ptx/jit_inside.h"
#include "sim/ptx/lower_inside.h"

#include <stddef.h>
#include <string.h>

static jit_sum *find(ptx_making *m, ptx_slot slot) {
    for (unsigned n = 0; n < m->sum_count; n++)
        if (m->sums[n].slot == slot && m->sums[n].version == acu_jit_version(m, slot))
            return &m->sums[n];
    return NULL;
}

const jit_sum *acu_jit_find_sum(const ptx_making *m, ptx_slot slot) {
    return find((ptx_making *)(uintptr_t)m, slot);
}

static void forget(ptx_making *m, ptx_slot slot) {
    for (unsigned n = 0; n < m->sum_count; n++)
        if (m->sums[n].slot == slot)
            m->sums[n].is_late = false;
}

/* Notes a sum, which is late from now on. */
static bool add_late(ptx_making *m, jit_sum sum, ptx_slot slot) {
    acu_jit_wrote(m, slot);
    sum.slot = slot;
    sum.version = acu_jit_version(m, slot);
    sum.is_late = true;
    m->sums[m->sum_count++] = sum;
    return true;
}

static void settle_readers(ptx_making *m, ptx_slot slot, bool is_read);

bool acu_jit_note_sum(ptx_making *m, const ptx_op *op) {
    const bool a_shared = acu_jit_is_uniform(m, op->a), b_shared = acu_jit_is_uniform(m, op->b);
    if (m->masked || a_shared == b_shared || m->sum_count == JIT_SUMS)
        return false;
    const ptx_slot other = a_shared ? op->b : op->a, added = a_shared ? op->a : op->b;
    const jit_sum *inner = find(m, other);
    jit_sum sum = {.root = other, .root_version = acu_jit_version(m, other)};
    if (inner && inner->is_late && inner->count == 2) {
        acu_jit_settle(m, other);
        inner = NULL;
    }
    if (inner && inner->is_late)
        sum = *inner;
    if (acu_jit_is_temporary(sum.root)) /* its vectors are forgotten with the instruction */
        return false;
    sum.added[sum.count++] = added;
    forget(m, op->d); /* what it had has been read */
    settle_readers(m, op->d, false);
    return add_late(m, sum, op->d);
}

bool acu_jit_note_product(ptx_making *m, const ptx_op *op, bool is_signed) {
    uint64_t by;
    if (m->masked || !m->in_rows || m->sum_count == JIT_SUMS ||
        !acu_jit_is_constant(m, op->b, &by) || (by != 4 && by != 8) ||
        PTX_SLOT_BANK(op->a) != PTX_BANK_WARP || acu_jit_is_temporary(op->a))
        return false;
    forget(m, op->d); /* what it had has been read */
    settle_readers(m, op->d, false);
    const jit_sum sum = {.root = op->a,
                         .root_version = acu_jit_version(m, op->a),
                         .scale = (uint8_t)by,
                         .is_signed = is_signed};
    return add_late(m, sum, op->d);
}

void acu_jit_sum_vector(ptx_making *m, const jit_sum *sum, unsigned i, unsigned d) {
    x86 *x = &m->x;
    x86_place value = acu_jit_source(m, sum->root, 8, i);
    if (sum->scale) {
        acu_jit_widen(m, sum->root, i, sum->is_signed, JIT_T1);
        acu_x86_shift_by(x, X86_SHIFT_PSLLQ, d, JIT_T1, sum->scale == 4 ? 2 : 3);
        value = x86_in(d);
    }
    for (unsigned n = 0; n < sum->count; n++) {
        if (value.in_memory)
            acu_x86_vector(x, X86_LOAD, JIT_T1, X86_NONE, value);
        acu_x86_vector(x, X86_PADDQ, d, value.in_memory ? JIT_T1 : value.number,
                       acu_jit_memory(m, sum->added[n], 0)); /* all elements are the same */
        value = x86_in(d);
    }
}

/* Computes a late sum. */
static void settle(ptx_making *m, jit_sum *late) {
    const jit_sum sum = *late;
    const uint32_t version = acu_jit_version(m, sum.slot);
    ptx_slot wanted[4];
    const unsigned wanted_count = m->wanted_count;
    memcpy(wanted, m->wanted, sizeof wanted);
    late->is_late = false;
    settle_readers(m, sum.slot, false);
    m->wanted_count = 0;
    acu_jit_want(m, sum.root, sum.scale ? 4 : 8);
    acu_jit_begin(m, sum.slot, 8);
    for (unsigned i = 0; i < 2 * m->vectors; i++) {
        acu_jit_sum_vector(m, &sum, i, acu_jit_target(m, sum.slot, 8, i));
        acu_jit_done(m, sum.slot, 8, i);
    }
    m->versions[PTX_SLOT_OFFSET(sum.slot) / 32] = version; /* it is no other value */
    memcpy(m->wanted, wanted, sizeof wanted);
    m->wanted_count = wanted_count;
}

void acu_jit_settle(ptx_making *m, ptx_slot slot) {
    jit_sum *sum = find(m, slot);
    if (sum && sum->is_late)
        settle(m, sum);
}

/* Returns whether the operation needs what the slot has; with a guard, also if it writes it. */
static bool reads(const ptx_op *op, ptx_slot slot) {
    jit_touched t;
    if (!acu_jit_touch(op, &t))
        return true;
    for (unsigned i = acu_ptx_is_guarded(op->full) ? 0 : t.written; i < t.count; i++)
        if (t.slots[i] == slot)
            return true;
    return false;
}

/* Makes what vectors have of a sum's root another root, because its slot gets another value. */
static bool move_root(ptx_making *m, const jit_sum *sum) {
    const ptx_slot from = sum->root,
                   to = PTX_SLOT(JIT_BANK_FRAME, offsetof(jit_frame, copies) +
                                                     (size_t)m->moved_count * JIT_COPY_BYTES);
    const uint32_t version = sum->root_version;
    if (m->moved_count == JIT_COPIES || reads(&m->code->ops[m->at], from) ||
        !acu_jit_move(m, from, sum->scale ? 4 : 8, to))
        return false;
    m->moved_count++;
    for (unsigned n = 0; n < m->sum_count; n++)
        if (m->sums[n].root == from && m->sums[n].root_version == version) {
            m->sums[n].root = to;
            m->sums[n].root_version = 0;
        }
    for (unsigned n = 0; n < m->pattern_count; n++)
        if (m->patterns[n].root == from && m->patterns[n].version == version) {
            m->patterns[n].root = to;
            m->patterns[n].version = 0;
        }
    return true;
}

/* Computes what is made of a slot's value, before that changes. `is_read`: the operation that is
 * translated has what it reads; then the value may be moved elsewhere instead. */
static void settle_readers(ptx_making *m, ptx_slot slot, bool is_read) {
    const ptx_op *op = &m->code->ops[m->at];
    for (unsigned n = 0; n < m->sum_count; n++) {
        jit_sum *sum = &m->sums[n];
        if (!sum->is_late || sum->root != slot)
            continue;
        if (!acu_jit_is_needed(m, sum->slot) && (is_read || !reads(op, sum->slot)))
            sum->is_late = false;
        else if (!is_read || !move_root(m, sum))
            settle(m, sum);
    }
}

void acu_jit_settle_all(ptx_making *m) {
    for (unsigned n = 0; n < m->sum_count; n++)
        if (m->sums[n].is_late)
            settle(m, &m->sums[n]);
}

void acu_jit_settle_live(ptx_making *m, uint32_t op, uint32_t or_op) {
    for (unsigned n = 0; n < m->sum_count; n++) {
        jit_sum *sum = &m->sums[n];
        if (sum->is_late &&
            (acu_jit_is_live(m, sum->slot, op) || acu_jit_is_live(m, sum->slot, or_op)))
            settle(m, sum);
    }
}

void acu_jit_write(ptx_making *m, ptx_slot slot, bool keeps) {
    if (m->masked)
        return;
    if (keeps)
        acu_jit_settle(m, slot);
    forget(m, slot);
    settle_readers(m, slot, true);
}
