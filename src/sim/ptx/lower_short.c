/*
 * Branches over a few operations that only compute become guards, also those within others: lanes
 * that would go apart stay together, and both sides are executed, each for its own lanes. Real
 * compilers do the same.
 */
#include "sim/ptx/form.h"
#include "sim/ptx/lower_inside.h"

#include <string.h>

enum { SHORT = 8 /* operations of both sides */, MOST_NESTED = 4 /* branches */ };

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

/* Makes an operation that is within a branch guarded. */
static void guard_one(ptx_lowering *l, ptx_op *op, ptx_slot guard, bool negated) {
    ptx_op *inner = acu_ptx_lower_alloc(l, sizeof *inner);
    *inner = *op;
    acu_ptx_guard(op, inner, guard, negated);
}

static void guard_side(ptx_lowering *l, uint32_t from, uint32_t to, const ptx_op *branch,
                       bool negated) {
    for (uint32_t n = from; n < to; n++)
        guard_one(l, &l->code->ops[n], branch->guard, negated);
}

/* Branches over operations, the inner ones within the outer ones; an inner one may go where the
 * outer one goes, as those of `if (a && b)` do. */
typedef struct branch_nest {
    uint32_t targets[MOST_NESTED]; /* of the branches that the operation is within */
    ptx_slot guards[MOST_NESTED];  /* predicates of their own: whether a branch was taken */
    unsigned depth;
    uint32_t taken[MOST_NESTED]; /* the targets of all branches, */
    unsigned count;              /* and how many these are */
} branch_nest;

static void enter_nest(branch_nest *n, uint32_t target, ptx_slot guard) {
    n->targets[n->depth] = target;
    n->guards[n->depth++] = guard;
    n->taken[n->count++] = target;
}

static void leave_nest(branch_nest *n, uint32_t at) {
    while (n->depth > 1 && n->targets[n->depth - 1] == at)
        n->depth--;
}

/* Returns whether the branch can be within those of the nest. */
static bool can_nest(const ptx_code *code, const branch_nest *n, const ptx_op *op, uint32_t at) {
    const uint32_t target = (uint32_t)op->value;
    return n->count < MOST_NESTED && !op->negated && op->value > at &&
           target <= n->targets[n->depth - 1] && code->ops[target].flow == acu_ptx_flow_join &&
           op->e == target;
}

/* Returns whether only branches of the nest lead to an operation. */
static bool is_in_nest(const branch_nest *n, const uint8_t *leads, uint32_t at) {
    unsigned inner = 0;
    for (unsigned i = 0; i < n->count; i++)
        inner += n->taken[i] == at;
    return leads[at] == inner;
}

/* Returns whether the operation does no more than computing. */
static bool only_computes(const ptx_op *op) {
    return !op->flow && (acu_ptx_is_masked(op->masked) || op->full == acu_ptx_nothing);
}

/* Returns whether a branch goes over a few operations, some of which may be branches within it. */
static bool is_nest(const ptx_code *code, const uint8_t *leads, uint32_t at) {
    const ptx_op *branch = &code->ops[at];
    const uint32_t end = (uint32_t)branch->value;
    branch_nest n = {0};
    if (branch->flow != acu_ptx_flow_branch || branch->value <= at ||
        branch->value - at > SHORT + MOST_NESTED || code->ops[end].flow != acu_ptx_flow_join)
        return false;
    enter_nest(&n, end, 0);
    for (uint32_t i = at + 1; i < end; i++) {
        const ptx_op *op = &code->ops[i];
        leave_nest(&n, i);
        if (!is_in_nest(&n, leads, i))
            return false;
        if (op->flow == acu_ptx_flow_branch && can_nest(code, &n, op, i))
            enter_nest(&n, (uint32_t)op->value, 0);
        else if (op->flow != acu_ptx_flow_join && !only_computes(op))
            return false;
    }
    return true;
}

/* Makes a branch an operation that writes a predicate: which lanes it would have sent away, or an
 * outer one, whose predicate is `outer`. */
static ptx_slot keep_sent_away(ptx_lowering *l, ptx_op *branch, const ptx_slot *outer) {
    const ptx_slot guard = acu_ptx_add_slot(l, 0);
    const ptx_form *form = acu_ptx_form_find(branch->negated ? "not.pred" : "or.pred");
    *branch = (ptx_op){.full = acu_ptx_lane_handlers(l->code->level)[form->handler],
                       .masked = acu_ptx_masked(0),
                       .d = guard,
                       .a = branch->guard,
                       .b = outer ? *outer : branch->guard,
                       .instruction = branch->instruction};
    return guard;
}

static void do_nothing(ptx_op *op) {
    *op = (ptx_op){
        .full = acu_ptx_nothing, .masked = acu_ptx_nothing, .instruction = op->instruction};
}

/* Turns the branches of a nest into guards. */
static void guard_nest(ptx_lowering *l, uint32_t at) {
    ptx_op *ops = l->code->ops;
    const uint32_t end = (uint32_t)ops[at].value;
    branch_nest n = {0};
    enter_nest(&n, end, keep_sent_away(l, &ops[at], NULL));
    for (uint32_t i = at + 1; i < end; i++) {
        ptx_op *op = &ops[i];
        leave_nest(&n, i);
        if (op->flow == acu_ptx_flow_join || op->full == acu_ptx_nothing) {
            do_nothing(op);
        } else if (op->flow) {
            const uint32_t target = (uint32_t)op->value;
            enter_nest(&n, target, keep_sent_away(l, op, &n.guards[n.depth - 1]));
        } else {
            guard_one(l, op, n.guards[n.depth - 1], true);
        }
    }
}

/* Counts how many operations of the function lead to each one, up to 100. */
static void count_leads(const ptx_code *code, uint32_t begin, uint8_t *leads) {
    for (uint32_t n = begin; n < code->count; n++) {
        const ptx_op *op = &code->ops[n];
        int64_t targets = op->flow == acu_ptx_flow_switch ? op->value : 0;
        bool jumps = op->flow == acu_ptx_flow_jump || op->flow == acu_ptx_flow_branch;
        if (jumps && leads[op->value] < 100)
            leads[op->value]++;
        for (int64_t t = 0; t < targets; t++)
            leads[((const uint32_t *)op->more)[t]] = 100;
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
        if (!is_short(code, leads, n, &found)) {
            if (is_nest(code, leads, n))
                guard_nest(l, n);
            continue;
        }
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
