/*
 * Which values are needed where lanes go on: machine code writes no others to memory there. A value
 * is known by the first 32 bytes of its slot; a set has a bit for each 32 bytes of the warp's bank.
 * What an operation reads that is not known here is taken to be all.
 */
#include "sim/ptx/access.h"
#include "sim/ptx/jit_inside.h"
#include "sim/ptx/lower_inside.h"
#include "sim/ptx/warp_exchange.h"

#include <stdlib.h>
#include <string.h>

/* What is needed at the begin of a block, if `behind` is needed at its end. */
typedef struct needs {
    ptx_making *m;
    uint64_t *set, *kept; /* what it reads; what it passes on from behind it */
} needs;

static void read_slot(const needs *l, ptx_slot slot) {
    const uint32_t bit = PTX_SLOT_OFFSET(slot) / 32;
    if (PTX_SLOT_BANK(slot) == PTX_BANK_WARP)
        l->set[bit / 64] |= UINT64_C(1) << bit % 64;
}

static void write_slot(const needs *l, ptx_slot slot) {
    const uint32_t bit = PTX_SLOT_OFFSET(slot) / 32;
    if (PTX_SLOT_BANK(slot) != PTX_BANK_WARP)
        return;
    l->set[bit / 64] &= ~(UINT64_C(1) << bit % 64);
    l->kept[bit / 64] &= ~(UINT64_C(1) << bit % 64);
}

static void read_all(const needs *l) {
    memset(l->set, 0xff, l->m->live_words * sizeof *l->set);
}

/* Adds what a plain operation reads. `writes`: what it writes is not needed before it. */
static void add_plain(const needs *l, const ptx_op *op, bool writes) {
    const ptx_access *access = op->more;
    if (acu_ptx_is_masked(op->masked)) {
        if (!acu_jit_is_known(op)) {
            read_all(l);
            return;
        }
        if (writes && op->size)
            write_slot(l, op->d);
        read_slot(l, op->a);
        read_slot(l, op->b);
        read_slot(l, op->c);
        return;
    }
    const int kind = acu_jit_access_kind(op);
    if (!kind) {
        read_all(l);
        return;
    }
    for (unsigned n = 0; n < access->count; n++)
        if (access->slots[n] != UINT32_MAX && kind == 2)
            read_slot(l, access->slots[n]);
        else if (access->slots[n] != UINT32_MAX && writes)
            write_slot(l, access->slots[n]);
    read_slot(l, op->a);
}

static void add_shuffle(const needs *l, const ptx_op *op) {
    const ptx_shuffle *s = op->more;
    write_slot(l, op->d);
    read_slot(l, s->value);
    read_slot(l, s->by);
    read_slot(l, s->clamp);
    read_slot(l, op->a);
}

/* Adds what an operation reads that decides where lanes go on. A function that returns needs all:
 * its caller's values are not looked for. */
static void add_flow(const needs *l, const ptx_op *op, uint32_t at) {
    const bool ends = op->flow == acu_ptx_flow_exit || op->flow == acu_ptx_flow_return;
    const bool in_kernel = at < l->m->code->functions->end;
    if (op->flow == acu_ptx_flow_sync && op->masked == acu_ptx_shuffle)
        add_shuffle(l, op);
    else if (op->flow == acu_ptx_flow_branch || (ends && in_kernel && op->flags & PTX_GUARDED))
        read_slot(l, op->guard);
    else if (op->flow == acu_ptx_flow_switch)
        read_slot(l, op->a);
    else if (op->flow != acu_ptx_flow_jump && op->flow != acu_ptx_flow_join && !(ends && in_kernel))
        read_all(l);
}

static void add_op(const needs *l, const ptx_op *op, uint32_t at) {
    if (op->flow) {
        add_flow(l, op, at);
    } else if (acu_ptx_is_guarded(op->full)) {
        add_plain(l, op->more, false);
        read_slot(l, op->guard);
    } else if (op->full != acu_ptx_nothing) {
        add_plain(l, op, true);
    }
}

/* ---- blocks ---- */

/* The operation at which a block ends is the one before the next that leads. */
static uint32_t end_of(const ptx_making *m, uint32_t begin) {
    uint32_t end = begin + 1;
    while (end < m->code->count && !m->leads[end])
        end++;
    return end;
}

static uint64_t *set_at(const ptx_making *m, uint32_t op) {
    return m->live + (size_t)m->live_of[op] * m->live_words;
}

/* Adds what is needed at an operation to what is needed behind a block. */
static void add_behind(const ptx_making *m, uint64_t *behind, uint32_t op) {
    const uint64_t *set = set_at(m, op);
    for (uint32_t w = 0; w < m->live_words && op < m->code->count; w++)
        behind[w] |= set[w];
}

static void join_behind(const ptx_making *m, uint32_t end, uint64_t *behind) {
    const ptx_op *op = &m->code->ops[end - 1];
    const uint32_t *targets = op->more;
    const bool ends = op->flow == acu_ptx_flow_exit || op->flow == acu_ptx_flow_return;
    memset(behind, 0, m->live_words * sizeof *behind);
    if (op->flow == acu_ptx_flow_jump || op->flow == acu_ptx_flow_branch)
        add_behind(m, behind, (uint32_t)op->value);
    for (int64_t t = 0; op->flow == acu_ptx_flow_switch && t < op->value; t++)
        add_behind(m, behind, targets[t]);
    if (op->flow != acu_ptx_flow_jump && op->flow != acu_ptx_flow_switch &&
        !(ends && !(op->flags & PTX_GUARDED)))
        add_behind(m, behind, end);
}

/* Adds to what the block needs what is needed behind it; returns whether that is more. */
static bool flow_back(ptx_making *m, uint32_t begin, const uint64_t *kept, uint64_t *behind) {
    uint64_t *set = set_at(m, begin), changed = 0;
    join_behind(m, end_of(m, begin), behind);
    for (uint32_t w = 0; w < m->live_words; w++) {
        const uint64_t needed = set[w] | (behind[w] & kept[w]);
        changed |= needed ^ set[w];
        set[w] = needed;
    }
    return changed;
}

static void number_blocks(ptx_making *m, uint32_t *count) {
    *count = 0;
    for (uint32_t n = 0; n < m->code->count; n++)
        if (m->leads[n])
            m->live_of[n] = (*count)++;
}

bool acu_jit_find_live(ptx_making *m) {
    const ptx_code *code = m->code;
    uint32_t count;
    m->live_words = code->warp_bytes / 32 / 64 + 1;
    m->live_of = calloc(code->count + 1, sizeof *m->live_of);
    if (!m->live_of)
        return false;
    number_blocks(m, &count);
    const size_t words = (size_t)count * m->live_words;
    uint64_t *kept = malloc((words + m->live_words) * sizeof *kept);
    m->live = calloc(words + 1, sizeof *m->live);
    if (!kept || !m->live) {
        free(kept);
        return false;
    }
    memset(kept, 0xff, words * sizeof *kept);
    for (uint32_t n = 0; n < code->count; n++)
        if (m->leads[n]) {
            const needs l = {m, set_at(m, n), kept + (size_t)m->live_of[n] * m->live_words};
            for (uint32_t at = end_of(m, n); at-- > n;)
                add_op(&l, &code->ops[at], at);
        }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t n = code->count; n-- > 0;)
            if (m->leads[n])
                changed |=
                    flow_back(m, n, kept + (size_t)m->live_of[n] * m->live_words, kept + words);
    }
    free(kept);
    return true;
}

/* Returns whether a branch leads to where the value is needed. */
static bool is_needed_behind(const ptx_making *m, ptx_slot slot, uint32_t branch) {
    const ptx_op *op = &m->code->ops[branch];
    return acu_jit_is_live(m, slot, (uint32_t)op->value) ||
           (op->flow == acu_ptx_flow_branch && acu_jit_is_live(m, slot, branch + 1));
}

static bool is_branch(const ptx_op *op) {
    return op->flow == acu_ptx_flow_jump || op->flow == acu_ptx_flow_branch;
}

bool acu_jit_is_needed(const ptx_making *m, ptx_slot slot) {
    for (uint32_t n = m->at;; n++) {
        const ptx_op *op = &m->code->ops[n];
        jit_touched t;
        if (n > m->at && m->leads[n])
            return acu_jit_is_live(m, slot, n);
        if (is_branch(op))
            return is_needed_behind(m, slot, n);
        if (n == m->at)
            continue;
        if (!acu_jit_touch(op, &t))
            return true;
        for (unsigned i = t.written; i < t.count; i++)
            if (t.slots[i] == slot)
                return true;
        if (t.written && t.slots[0] == slot)
            return acu_ptx_is_guarded(op->full);
    }
}

bool acu_jit_is_live(const ptx_making *m, ptx_slot slot, uint32_t op) {
    const uint32_t bit = PTX_SLOT_OFFSET(slot) / 32;
    return PTX_SLOT_BANK(slot) == PTX_BANK_WARP && set_at(m, op)[bit / 64] >> bit % 64 & 1;
}
