/*
 * Branches over a few operations that only compute become guards: lanes that would go apart stay
 * together, and both sides are executed, each for its own lanes. Real compilers do the same.
 */
#include "sim/ptx/lower_inside.h"

#include <string.h>

enum { SHORT = 8 /* operations of both sides */ };

/* A branch, `if`, with what comes before its target and, if there is a jump, what comes behind. */
typedef struct short_branch {
    uint32_t branch, jump, target, join; /* operations; jump UINT32_MAX: none */
} short_branch;

void acu_ptx_nothing(ptx_warp *w, const ptx_op *op) {
    (void)w;
    (void)op;
}

/* Returns the first operation from `n` on that does more than computing, or changes the guard, or
 * to which something else leads. */
static uint32_t end_of_side(const ptx_code *code, const uint8_t *leads, uint32_t n,
                            ptx_slot guard) {
    for (; n < code->count; n++) {
        const ptx_op *op = &code->ops[n];
        bool plain = !op->flow && acu_ptx_is_masked(op->masked);
        if (!plain || leads[n] || (!op->size && op->d == guard) || (op->count && op->e == guard))
            break;
    }
    return n;
}

/* Returns whether the branch is one over a few operations. */
static bool is_short(const ptx_code *code, uint8_t *leads, uint32_t n, short_branch *found) {
    const ptx_op *op = &code->ops[n];
    if (op->flow != acu_ptx_flow_branch || op->value <= n)
        return false;
    uint32_t target = (uint32_t)op->value, end = end_of_side(code, leads, n + 1, op->guard);
    *found = (short_branch){n, UINT32_MAX, target, target};
    if (end == target && code->ops[end].flow == acu_ptx_flow_join)
        return end - n <= SHORT + 1;
    const ptx_op *jump = &code->ops[end];
    if (jump->flow != acu_ptx_flow_jump || end + 1 != target || leads[target] != 1)
        return false;
    leads[target] = 0; /* nothing leads there but this branch */
    found->jump = end;
    found->join = end_of_side(code, leads, target, op->guard);
    leads[target] = 1;
    return jump->value == found->join && code->ops[found->join].flow == acu_ptx_flow_join &&
           found->join - n <= SHORT + 2;
}

static void guard_side(ptx_lowering *l, uint32_t from, uint32_t to, const ptx_op *branch,
                       bool negated) {
    for (uint32_t n = from; n < to; n++) {
        ptx_op *op = &l->code->ops[n], *inner = acu_ptx_lower_alloc(l, sizeof *inner);
        *inner = *op;
        acu_ptx_guard(op, inner, branch->guard, negated);
    }
}

static void do_nothing(ptx_op *op) {
    *op = (ptx_op){
        .full = acu_ptx_nothing, .masked = acu_ptx_nothing, .instruction = op->instruction};
}

/* Counts how many operations of the function lead to each one, up to 2. */
static void count_leads(const ptx_code *code, uint32_t begin, uint8_t *leads) {
    for (uint32_t n = begin; n < code->count; n++) {
        const ptx_op *op = &code->ops[n];
        int64_t targets = op->flow == acu_ptx_flow_switch ? op->value : 0;
        bool jumps = op->flow == acu_ptx_flow_jump || op->flow == acu_ptx_flow_branch;
        if (jumps && leads[op->value] < 2)
            leads[op->value]++;
        for (int64_t t = 0; t < targets; t++)
            leads[((const uint32_t *)op->more)[t]] = 2;
    }
}

/* Makes joins at which no branch's lanes meet any more do nothing. Who calls a function meets
 * behind that, and a function ends with a join. */
static void drop_joins(ptx_lowering *l, uint32_t begin) {
    ptx_code *code = l->code;
    uint8_t *meets = acu_ptx_lower_alloc(l, code->count + 1);
    for (uint32_t n = begin; n < code->count; n++) {
        const ptx_op *op = &code->ops[n];
        if ((op->flow == acu_ptx_flow_branch || op->flow == acu_ptx_flow_switch) &&
            op->e != PTX_NOWHERE)
            meets[op->e] = 1;
        if (op->flow == acu_ptx_flow_call)
            meets[n + 1] = 1;
    }
    for (uint32_t n = begin; n + 2 < code->count; n++)
        if (code->ops[n].flow == acu_ptx_flow_join && !meets[n])
            do_nothing(&code->ops[n]);
}

void acu_ptx_guard_short(ptx_lowering *l, uint32_t begin) {
    ptx_code *code = l->code;
    uint8_t *leads = acu_ptx_lower_alloc(l, code->count + 1);
    count_leads(code, begin, leads);
    for (uint32_t n = begin; n < code->count; n++) {
        short_branch found;
        if (!is_short(code, leads, n, &found))
            continue;
        const ptx_op branch = code->ops[n];
        uint32_t end = found.jump == UINT32_MAX ? found.target : found.jump;
        guard_side(l, n + 1, end, &branch, !branch.negated);
        guard_side(l, found.target, found.join, &branch, branch.negated);
        do_nothing(&code->ops[n]);
        if (found.jump != UINT32_MAX)
            do_nothing(&code->ops[found.jump]);
    }
    drop_joins(l, begin);
}
