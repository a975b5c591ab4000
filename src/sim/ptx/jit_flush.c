/*
 * .ftz: what is subnormal among the operands and the result of an operation becomes a zero. The
 * code is that of the operation without it, where no active lane has such a float; else code aside
 * calls the handler. So it does where a result is the smallest normal number, which may have been
 * rounded up to that: a GPU flushes it then. What is known to be normal, or 0, is not looked at.
 */
#include "sim/ptx/access.h"
#include "sim/ptx/grid.h"
#include "sim/ptx/jit_inside.h"
#include "sim/ptx/lower_inside.h"
#include "sim/ptx/warp_exchange.h"

#include <stdlib.h>
#include <string.h>

static x86_place pool(unsigned at) {
    return x86_at(JIT_POOL, (int32_t)at);
}

/* ---- which floats are normal ---- */

static uint64_t *set_at(const ptx_making *m, uint32_t op) {
    return m->normals + (size_t)m->live_of[op] * m->live_words;
}

bool acu_jit_is_normal(const ptx_making *m, ptx_slot slot) {
    const uint32_t bit = PTX_SLOT_OFFSET(slot) / 32;
    uint64_t number;
    if (acu_jit_is_constant(m, slot, &number))
        return number & 0x7f800000 || !(number & 0x7fffffff);
    return PTX_SLOT_BANK(slot) == PTX_BANK_WARP && m->normal[bit / 64] >> bit % 64 & 1;
}

bool acu_jit_is_far_from_0(const ptx_making *m, ptx_slot slot) {
    uint64_t number;
    return acu_jit_is_constant(m, slot, &number) && number & 0x7f800000;
}

/* Forgets what is known of a slot of elements of so many bytes. */
static void forget(const ptx_making *m, ptx_slot slot, unsigned size) {
    const uint32_t first = PTX_SLOT_OFFSET(slot) / 32;
    if (PTX_SLOT_BANK(slot) != PTX_BANK_WARP)
        return;
    for (uint32_t bit = first; bit < first + size && bit / 64 < m->live_words; bit++)
        m->normal[bit / 64] &= ~(UINT64_C(1) << bit % 64);
}

static void forget_all(const ptx_making *m) {
    memset(m->normal, 0, m->live_words * sizeof *m->normal);
}

static void step_computed(const ptx_making *m, const ptx_op *op, bool is_guarded) {
    const bool normal = acu_jit_makes_normal(m, op) && (!is_guarded || acu_jit_is_normal(m, op->d));
    const uint32_t bit = PTX_SLOT_OFFSET(op->d) / 32;
    const unsigned any_size = 16;
    forget(m, op->d, acu_jit_is_known(op) ? op->size : any_size);
    if (op->count)
        forget(m, op->e, any_size);
    if (normal && PTX_SLOT_BANK(op->d) == PTX_BANK_WARP)
        m->normal[bit / 64] |= UINT64_C(1) << bit % 64;
}

void acu_jit_step_normal(ptx_making *m, const ptx_op *op) {
    const bool is_guarded = acu_ptx_is_guarded(op->full);
    const ptx_op *inner = is_guarded ? op->more : op;
    const int kind = acu_jit_access_kind(inner);
    if (!m->normals || inner->full == acu_ptx_nothing)
        return;
    if (acu_ptx_is_masked(inner->masked)) {
        step_computed(m, inner, is_guarded);
    } else if (!kind) {
        forget_all(m);
    } else if (kind == 1) {
        const ptx_access *access = inner->more;
        for (unsigned n = 0; n < access->count; n++)
            if (access->slots[n] != UINT32_MAX)
                forget(m, access->slots[n], access->register_size);
    }
}

void acu_jit_begin_normal(ptx_making *m, uint32_t op) {
    if (m->normals)
        memcpy(m->normal, set_at(m, op), m->live_words * sizeof *m->normal);
}

/* Takes out of what is known at an operation what is not known now; returns whether that is any. */
static bool meet(const ptx_making *m, uint32_t op) {
    uint64_t changed = 0;
    for (uint32_t w = 0; w < m->live_words && op < m->code->count; w++) {
        changed |= set_at(m, op)[w] & ~m->normal[w];
        set_at(m, op)[w] &= m->normal[w];
    }
    return changed;
}

/* Returns whether the operation writes no registers. */
static bool only_leads(const ptx_op *op) {
    return op->flow == acu_ptx_flow_jump || op->flow == acu_ptx_flow_branch ||
           op->flow == acu_ptx_flow_switch || op->flow == acu_ptx_flow_join ||
           op->flow == acu_ptx_flow_exit || op->flow == acu_ptx_flow_return ||
           acu_ptx_is_plain_barrier(op);
}

/* Follows lanes from an operation that decides where they go on. */
static bool follow(ptx_making *m, uint32_t n) {
    const ptx_op *op = &m->code->ops[n];
    const bool ends = op->flow == acu_ptx_flow_exit || op->flow == acu_ptx_flow_return;
    bool changed = false;
    if (!only_leads(op))
        forget_all(m);
    if (op->flow == acu_ptx_flow_jump || op->flow == acu_ptx_flow_branch)
        changed |= meet(m, (uint32_t)op->value);
    for (int64_t t = 0; op->flow == acu_ptx_flow_switch && t < op->value; t++)
        changed |= meet(m, ((const uint32_t *)op->more)[t]);
    if (op->flow != acu_ptx_flow_jump && op->flow != acu_ptx_flow_switch &&
        !(ends && !(op->flags & PTX_GUARDED)))
        changed |= meet(m, n + 1);
    return changed;
}

static bool any_flushes(const ptx_code *code) {
    for (uint32_t n = 0; n < code->count; n++) {
        const ptx_op *op = &code->ops[n];
        if (acu_jit_flushes(acu_ptx_is_guarded(op->full) ? op->more : op))
            return true;
    }
    return false;
}

bool acu_jit_find_normals(ptx_making *m) {
    const ptx_code *code = m->code;
    size_t count = 0;
    if (!any_flushes(code))
        return true;
    for (uint32_t n = 0; n < code->count; n++)
        count += m->leads[n] != 0;
    m->normals = malloc((count * m->live_words + 1) * sizeof *m->normals);
    m->normal = calloc(m->live_words, sizeof *m->normal);
    if (!m->normals || !m->normal)
        return false;
    memset(m->normals, 0xff, count * m->live_words * sizeof *m->normals);
    for (uint32_t n = 0; n < code->function_count; n++) {
        forget_all(m);
        (void)meet(m, code->functions[n].begin);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t n = 0; n < code->count; n++) {
            if (m->leads[n])
                acu_jit_begin_normal(m, n);
            if (code->ops[n].flow)
                changed |= follow(m, n);
            else
                acu_jit_step_normal(m, &code->ops[n]);
            if (!code->ops[n].flow && m->leads[n + 1])
                changed |= meet(m, n + 1);
        }
    }
    return true;
}

/* ---- operations ---- */

/* Goes aside if not all bits are set that say that a float is normal or 0. Of x - 1, as an integer,
 * the exponent is 0 only where x is neither, or is the smallest normal number. */
static void leave_by_masks(ptx_making *m, size_t aside, const ptx_slot *slots, unsigned count) {
    x86 *x = &m->x;
    jit_aside *a = &m->asides[aside];
    unsigned done = 0;
    for (unsigned i = 0; i < m->vectors; i++) {
        const unsigned active = m->masked ? acu_jit_active(m, 4, i) : 0;
        for (unsigned n = 0; n < count; n++) {
            if (i && acu_jit_is_uniform(m, slots[n]) && !m->masked)
                continue;
            const unsigned value = acu_jit_load(m, slots[n], 4, i, JIT_T1);
            acu_x86_vector(x, X86_PADDD, JIT_T1, value, pool(JIT_ONES));
            acu_x86_masked(x, X86_PTESTMD, 2, JIT_T1, pool(JIT_EXPONENT), done++ ? 2 : active);
        }
        if (m->masked) {
            acu_x86_and_not_masks(x, 2, 2, active);
            acu_x86_test_mask(x, 2);
            a->jumps[a->jump_count++] = acu_x86_jump(x, X86_NOT_ZERO);
            done = 0;
        }
    }
    if (!m->masked) {
        acu_x86_test_mask(x, 2);
        a->jumps[a->jump_count++] = acu_x86_jump(x, X86_NOT_BELOW); /* not all bits are set */
    }
}

/* Sets the bits of JIT_T1 in lanes that are not active, for vector i; uses JIT_T3. */
static void fill_inactive(ptx_making *m, unsigned i) {
    x86 *x = &m->x;
    x86_place words = m->mask_words;
    words.offset += (int32_t)(32 * i);
    if (!m->words_negated) {
        acu_x86_vector(x, X86_LOAD, JIT_T3, X86_NONE, words);
        acu_x86_vector(x, X86_PXOR, JIT_T3, JIT_T3, pool(JIT_ONES));
        words = x86_in(JIT_T3);
    }
    acu_x86_vector(x, X86_POR, JIT_T1, JIT_T1, words);
}

/* Does the same with AVX2: the smallest of what is left of x - 1 is 0. */
static void leave_by_words(ptx_making *m, size_t aside, const ptx_slot *slots, unsigned count) {
    x86 *x = &m->x;
    jit_aside *a = &m->asides[aside];
    acu_x86_vector(x, X86_LOAD, JIT_T2, X86_NONE, pool(JIT_ONES));
    for (unsigned i = 0; i < m->vectors; i++)
        for (unsigned n = 0; n < count; n++) {
            if (i && acu_jit_is_uniform(m, slots[n]) && !m->masked)
                continue;
            const unsigned value = acu_jit_load(m, slots[n], 4, i, JIT_T1);
            acu_x86_vector(x, X86_PADDD, JIT_T1, value, pool(JIT_ONES));
            acu_x86_vector(x, X86_PAND, JIT_T1, JIT_T1, pool(JIT_EXPONENT));
            if (m->masked)
                fill_inactive(m, i);
            acu_x86_vector(x, X86_PMINUD, JIT_T2, JIT_T2, x86_in(JIT_T1));
        }
    acu_x86_vector(x, X86_PCMPEQD, JIT_T2, JIT_T2, pool(JIT_ZERO));
    acu_x86_vector(x, X86_PTEST, JIT_T2, X86_NONE, x86_in(JIT_T2));
    a->jumps[a->jump_count++] = acu_x86_jump(x, X86_NOT_ZERO);
}

/* Goes aside if an active lane of any of these values is, or may be, subnormal. */
static void leave_if_subnormal(ptx_making *m, size_t aside, const ptx_slot *slots, unsigned count) {
    if (count)
        (m->wide ? leave_by_masks : leave_by_words)(m, aside, slots, count);
}

/* Fills in those of the operands that are to be looked at. */
static unsigned find_suspects(const ptx_making *m, const ptx_op *op, unsigned count,
                              ptx_slot *suspects) {
    const ptx_slot slots[] = {op->a, op->b, op->c};
    unsigned found = 0;
    for (unsigned n = 0; n < count; n++) {
        bool is_new = !acu_jit_is_normal(m, slots[n]);
        for (unsigned i = 0; i < found; i++)
            is_new &= suspects[i] != slots[n];
        if (is_new)
            suspects[found++] = slots[n];
    }
    return found;
}

/* The handler finds all values in memory that the operation reads or keeps some of; vectors of the
 * result have nothing yet. */
static void begin_aside(ptx_making *m, jit_aside *aside, const ptx_op *op) {
    aside->keeps_masks = true;
    memcpy(aside->before, m->groups, sizeof m->groups);
    for (unsigned g = 0; g < m->group_count; g++)
        if (aside->before[g].slot == op->d)
            aside->before[g].size = 0;
}

bool acu_jit_flushed(ptx_making *m, const ptx_op *op, const jit_row *k) {
    const ptx_slot slots[] = {op->a, op->b, op->c};
    ptx_slot suspects[3];
    jit_aside *aside = acu_jit_aside(m, &m->code->ops[m->at]);
    if (!aside)
        return false;
    const size_t number = m->aside_count - 1;
    for (unsigned n = 0; n < k->flushes; n++)
        acu_jit_want(m, slots[n], 4);
    if (m->masked_by_guard || op->d == op->a || op->d == op->b || op->d == op->c)
        acu_jit_lend(m, op->d);
    const unsigned count = find_suspects(m, op, k->flushes, suspects);
    acu_jit_begin(m, op->d, k->size);
    m->wanted_count = 0;
    begin_aside(m, aside, op);
    leave_if_subnormal(m, number, suspects, count);
    if (!k->translate(m, op, k))
        m->x.failed = true; /* there is no operation of this kind that the processor has not */
    if (k->flushes_result)
        leave_if_subnormal(m, number, &op->d, 1);
    aside = &m->asides[number];
    aside->back = m->x.size;
    memcpy(aside->after, m->groups, sizeof m->groups);
    return true;
}

unsigned acu_jit_load_flushed(ptx_making *m, ptx_slot slot, unsigned i, unsigned temporary) {
    x86 *x = &m->x;
    const unsigned value = acu_jit_load(m, slot, 4, i, temporary);
    if (acu_jit_is_normal(m, slot))
        return value;
    if (!m->wide) {
        acu_x86_vector(x, X86_PAND, JIT_T2, value, pool(JIT_EXPONENT));
        acu_x86_vector(x, X86_PCMPEQD, JIT_T2, JIT_T2, pool(JIT_ZERO));
        acu_x86_vector(x, X86_PANDN, temporary, JIT_T2, x86_in(value));
        return temporary;
    }
    acu_x86_vector(x, X86_PTESTNMD, 2, value, pool(JIT_EXPONENT));
    if (value != temporary)
        acu_x86_vector(x, X86_LOAD, temporary, X86_NONE, x86_in(value));
    acu_x86_masked(x, X86_LOAD, temporary, X86_NONE, pool(JIT_ZERO), 2);
    return temporary;
}
