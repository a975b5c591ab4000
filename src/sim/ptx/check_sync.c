/* Barriers to which not all threads come, and .sync operations whose masks do not match. */
#include "sim/ptx/check_inside.h"

#include <stdio.h>
#include <string.h>

/* Lanes that wait at an operation. */
typedef struct waiting {
    ptx_warp *warp;
    const ptx_split *split;
} waiting;

static const ptx_op *op_of(const waiting *who) {
    return &who->warp->code->ops[who->split->pc];
}

static ptx_finding finding_of(const waiting *one, const waiting *other, const char *what) {
    ptx_finding f = {.check = PTX_CHECK_SYNC, .module = one->warp->code->module, .has_other = true};
    const waiting *both[] = {one, other};
    ptx_whereabouts *at[] = {&f.at, &f.other};
    for (unsigned n = 0; n < 2; n++) {
        const ptx_warp *w = both[n]->warp;
        unsigned lane = (unsigned)__builtin_ctz(both[n]->split->mask);
        acu_ptx_check_locate(w->block, w->block->number, w->number * PTX_LANES + lane, at[n]);
        at[n]->instruction = op_of(both[n])->instruction;
    }
    snprintf(f.what, sizeof f.what, "%s: thread (%u, %u, %u) of the block waits elsewhere", what,
             f.other.thread[0], f.other.thread[1], f.other.thread[2]);
    return f;
}

static void report_two(const waiting *one, const waiting *other, const char *what) {
    ptx_finding f = finding_of(one, other, what);
    acu_ptx_check_give(one->warp, &f);
}

/* Returns whether all lanes of a warp must come to the barrier together. */
static bool is_aligned(const ptx_instruction *i) {
    return i && (strncmp(i->opcode, "bar.", 4) == 0 || strstr(i->opcode, ".aligned"));
}

/* Threads that come to one barrier should do so by one instruction: those of a warp must. Where
 * whole warps do not, it is a mistake if some end and others come to a barrier once more. */
static void look_at_opened(ptx_block *block, unsigned number, bool all) {
    waiting first = {NULL, NULL};
    ptx_finding *apart = &block->check->apart;
    bool some_ended = false;
    for (unsigned n = 0; n < block->warp_count; n++) {
        ptx_warp *w = &block->warps[n];
        waiting own = {NULL, NULL};
        some_ended |= !ptx_alive(w);
        for (unsigned i = 0; i < w->split_count; i++) {
            const waiting one = {w, &w->splits[i]};
            if (one.split->wait != PTX_AT_BARRIER || one.split->barrier != number ||
                !is_aligned(op_of(&one)->instruction))
                continue;
            if (own.warp && own.split->pc != one.split->pc)
                report_two(&own, &one, "not all threads of the warp come to this barrier");
            else if (all && first.warp && first.split->pc != one.split->pc && !apart->check)
                *apart =
                    finding_of(&first, &one, "not all threads of the block come to this barrier");
            own = one;
            first = first.warp ? first : one;
        }
    }
    if (!apart->check || !some_ended || !all)
        return;
    acu_ptx_check_give(first.warp ? first.warp : block->warps, apart);
    apart->check = 0;
}

void acu_ptx_check_barrier(ptx_block *block, unsigned number, bool all) {
    if (number < PTX_BARRIERS && block->launch->code->watch.checks & PTX_CHECK_SYNC)
        look_at_opened(block, number, all);
}

/* Returns the first operation behind a join that is of an instruction. */
static uint32_t behind(const ptx_warp *w, const ptx_join *join) {
    uint32_t pc = join->pc;
    while (w->code->ops[pc].flow == acu_ptx_flow_join)
        pc++;
    return pc;
}

static bool is_within(const ptx_split *s, const ptx_join *outer) {
    const ptx_join *join = s->join;
    while (join && join != outer)
        join = join->parent;
    return join == outer;
}

/* Lanes of the split wait before a join for others that have come to it. */
static void look_before_join(ptx_warp *w, const ptx_split *s, const ptx_split *others) {
    const waiting one = {w, s}, there = {w, others};
    if (s->wait == PTX_AT_SYNC)
        acu_ptx_check_missing(w, op_of(&one), s->mask, ~others->mask);
    else if (s->wait == PTX_AT_BARRIER && is_aligned(op_of(&one)->instruction))
        report_two(&one, &there, "not all threads of the warp come to this barrier");
}

/* A GPU lets lanes end early that have nothing else to do. */
void acu_ptx_check_skipped(ptx_warp *w) {
    if (!(w->code->watch.checks & PTX_CHECK_SYNC))
        return;
    for (const ptx_join *join = w->joins; join; join = join->next) {
        const ptx_split others = {.pc = behind(w, join), .mask = join->arrived};
        const ptx_op *next = &w->code->ops[others.pc];
        const bool ends = next->flow == acu_ptx_flow_exit ||
                          (next->flow == acu_ptx_flow_return && join->frame == &w->kernel);
        for (unsigned i = 0; i < w->split_count && others.mask && !ends; i++)
            if (is_within(&w->splits[i], join))
                look_before_join(w, &w->splits[i], &others);
    }
}

void acu_ptx_check_stuck(ptx_block *block) {
    waiting first = {NULL, NULL};
    if (!(block->launch->code->watch.checks & PTX_CHECK_SYNC))
        return;
    for (unsigned n = 0; n < block->warp_count; n++) {
        ptx_warp *w = &block->warps[n];
        for (unsigned i = 0; i < w->split_count; i++) {
            const waiting one = {w, &w->splits[i]};
            if (one.split->wait != PTX_AT_BARRIER)
                continue;
            if (!first.warp)
                first = one;
            if (one.split->barrier == first.split->barrier && one.split->pc == first.split->pc)
                continue;
            report_two(&first, &one, "not all threads come to this barrier");
            return;
        }
    }
    if (first.warp)
        acu_ptx_check_report(first.warp, op_of(&first), (unsigned)__builtin_ctz(first.split->mask),
                             PTX_CHECK_SYNC,
                             "fewer threads come to this barrier than it waits for");
}

/* ---- .sync operations ---- */

void acu_ptx_check_masks(ptx_warp *w, const ptx_op *op) {
    const uint32_t *members = ptx_at(w, op->a);
    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        if (!(members[lane] >> lane & 1)) {
            acu_ptx_check_report(w, op, lane, PTX_CHECK_SYNC,
                                 "the mask 0x%x does not name lane %u, which executes it",
                                 members[lane], lane);
            return;
        }
        for (uint32_t others = members[lane] & w->mask; others; others &= others - 1) {
            unsigned other = (unsigned)__builtin_ctz(others);
            if (members[other] == members[lane])
                continue;
            acu_ptx_check_report(w, op, lane, PTX_CHECK_SYNC,
                                 "the mask is 0x%x, and that of lane %u, which it names, is 0x%x",
                                 members[lane], other, members[other]);
            return;
        }
    }
}

void acu_ptx_check_missing(ptx_warp *w, const ptx_op *op, uint32_t lanes, uint32_t present) {
    const uint32_t *members = ptx_at(w, op->a);
    if (!(w->code->watch.checks & PTX_CHECK_SYNC))
        return;
    uint32_t *told = &w->block->check->told[w->number];
    for (uint32_t left = lanes & ~*told; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint32_t missing = members[lane] & ptx_alive(w) & ~present;
        if (!missing)
            continue;
        acu_ptx_check_report(w, op, lane, PTX_CHECK_SYNC,
                             "the mask 0x%x names the lanes 0x%x, which do not come", members[lane],
                             missing);
        *told |= lanes;
        return;
    }
}
