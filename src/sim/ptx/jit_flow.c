/*
 * Where lanes go on. Machine code may begin at an operation to which others lead, or behind one
 * that decides where lanes go on. There vectors have no values, but for two cases: where a loop
 * begins they have those that it needs most (jit_loop.c), and behind an operation that falls
 * through they keep what they have. Who comes from elsewhere loads the values first.
 */
#include "sim/ptx/grid.h"
#include "sim/ptx/jit_inside.h"
#include "sim/ptx/lower_inside.h"
#include "sim/ptx/warp_exchange.h"

#include <stdlib.h>
#include <string.h>

/* ---- leaders ---- */

bool acu_jit_find_leaders(ptx_making *m) {
    const ptx_code *code = m->code;
    uint8_t *leads = m->leads = calloc(code->count + 1, sizeof *leads);
    m->inner = calloc(code->count + 1, sizeof *m->inner);
    if (!leads || !m->inner)
        return false;
    for (uint32_t n = 0; n < code->count; n++) {
        if (code->ops[n].flow == acu_ptx_flow_join)
            leads[n] = JIT_ON;
        if (code->ops[n].flow)
            leads[n + 1] = JIT_ON;
    }
    for (uint32_t n = 0; n < code->function_count; n++)
        leads[code->functions[n].begin] = JIT_TARGET;
    for (uint32_t n = 0; n < code->count; n++) {
        const ptx_op *op = &code->ops[n];
        if (op->flow == acu_ptx_flow_jump || op->flow == acu_ptx_flow_branch)
            leads[op->value] = JIT_TARGET;
        for (int64_t t = 0; op->flow == acu_ptx_flow_switch && t < op->value; t++)
            leads[((const uint32_t *)op->more)[t]] = JIT_TARGET;
    }
    return true;
}

/* ---- edges ---- */

/* Forgets values that nothing needs from an operation on. */
static void drop_dead(ptx_making *m, uint32_t op) {
    for (unsigned g = 0; g < m->group_count; g++)
        if (m->groups[g].size && !acu_jit_is_live(m, m->groups[g].slot, op))
            m->groups[g].size = 0;
}

static bool is_same(const jit_group *a, const jit_group *b) {
    return a->size && b->size && a->slot == b->slot && a->part == b->part;
}

/* Makes vectors have what they have where an operation begins that others lead to. */
static void write_edge(ptx_making *m, uint32_t target) {
    static const jit_group none[JIT_GROUPS];
    const uint32_t loop = m->loop_of[target];
    const jit_group *there = loop ? m->loops[loop - 1].groups : none;
    drop_dead(m, target);
    for (unsigned g = 0; g < m->group_count; g++) {
        const jit_group *here = &m->groups[g];
        if (here->size && here->dirty && !(is_same(here, &there[g]) && there[g].dirty))
            acu_jit_store_group(m, g);
        if (is_same(here, &there[g]))
            acu_jit_smooth_group(m, g);
    }
    for (unsigned g = 0; g < m->group_count; g++) {
        const bool has = is_same(&m->groups[g], &there[g]);
        m->groups[g] = there[g];
        if (there[g].size && !has)
            acu_jit_load_group(m, g);
    }
}

/* Forgets values that neither side of a branch needs. */
static void drop_dead_of_both(ptx_making *m, uint32_t branch) {
    const uint32_t target = (uint32_t)m->code->ops[branch].value;
    for (unsigned g = 0; g < m->group_count; g++)
        if (m->groups[g].size && !acu_jit_is_live(m, m->groups[g].slot, target) &&
            !acu_jit_is_live(m, m->groups[g].slot, branch + 1))
            m->groups[g].size = 0;
}

/* Ends the machine code at an operation. */
static void write_end(ptx_making *m, uint32_t pc, ptx_jit_end end) {
    x86 *x = &m->x;
    jit_group now[JIT_GROUPS];
    memcpy(now, m->groups, sizeof now);
    acu_jit_flush(m);
    memcpy(m->groups, now, sizeof now);
    acu_x86_long(x, X86_MOV, X86_RAX, acu_jit_in_frame(offsetof(jit_frame, split)));
    acu_x86_word_by(x, X86_MOV, x86_at(X86_RAX, offsetof(ptx_split, pc)), (int32_t)pc);
    acu_x86_word_by(x, X86_MOV, acu_jit_in_warp(offsetof(ptx_warp, is_plain)), 0);
    acu_x86_word_by(x, X86_MOV, x86_in(X86_R8), end);
    acu_x86_land(x, acu_x86_jump(x, X86_ALWAYS), m->exit);
}

/* ---- branches ---- */

static void write_jump(ptx_making *m, uint32_t target) {
    jit_group now[JIT_GROUPS];
    memcpy(now, m->groups, sizeof now);
    write_edge(m, target);
    memcpy(m->groups, now, sizeof now);
    acu_jit_note_jump(m, acu_x86_jump(&m->x, X86_ALWAYS), target, false);
}

/* Goes to an operation, as go_to() of warp.c does. */
static void write_go_to(ptx_making *m, const ptx_op *op, uint32_t at) {
    x86 *x = &m->x;
    uint32_t target = (uint32_t)op->value;
    if (target > at) {
        write_jump(m, target);
        return;
    }
    const x86_place backward = acu_jit_in_warp(offsetof(ptx_warp, backward));
    acu_x86_word(x, X86_MOV, X86_RAX, backward);
    acu_x86_word_by(x, X86_ADD, x86_in(X86_RAX), 1);
    acu_x86_store_word(x, backward, X86_RAX);
    acu_x86_word_by(x, X86_CMP, x86_in(X86_RAX), op->flags & PTX_MAY_SPIN ? PTX_SPINS : PTX_TURN);
    size_t stop = acu_x86_jump(x, X86_NOT_BELOW);
    write_jump(m, target);
    acu_x86_land(x, stop, x->size);
    write_end(m, target, PTX_JIT_STOP);
}

/* Adds what was executed to the frame's count. */
static void write_count(ptx_making *m) {
    const bool known = m->rax_at == m->x.size;
    if (m->count)
        acu_x86_long_by(&m->x, X86_ADD, acu_jit_in_frame(offsetof(jit_frame, count)),
                        (int32_t)m->count);
    if (known)
        m->rax_at = m->x.size;
}

/* Where lanes go on behind a branch or a join, the frame's count is not yet right. */
static void write_branch(ptx_making *m, const ptx_op *op, uint32_t at) {
    x86 *x = &m->x;
    acu_jit_load_predicate(m, op->guard);
    if (op->negated)
        acu_x86_not(x, X86_RAX);
    if (m->masked)
        acu_x86_word(x, X86_MOV, X86_RCX, acu_jit_in_warp(offsetof(ptx_warp, mask)));
    acu_x86_word(x, X86_AND, X86_RAX, x86_in(m->masked ? X86_RCX : X86_RAX));
    size_t none = acu_x86_jump(x, X86_ZERO);
    if (m->masked)
        acu_x86_word(x, X86_CMP, X86_RAX, x86_in(X86_RCX));
    else
        acu_x86_word_by(x, X86_CMP, x86_in(X86_RAX), -1);
    size_t some = acu_x86_jump(x, X86_NOT_ZERO);
    write_count(m);
    write_go_to(m, op, at);
    acu_x86_land(x, some, x->size);
    write_count(m);
    jit_group now[JIT_GROUPS];
    memcpy(now, m->groups, sizeof now);
    drop_dead_of_both(m, at);
    write_end(m, at, PTX_JIT_FLOW);
    memcpy(m->groups, now, sizeof now);
    acu_x86_land(x, none, x->size);
}

/* Passes a join at which the split's lanes do not wait. */
static void write_join(ptx_making *m, uint32_t at) {
    x86 *x = &m->x;
    acu_x86_long(x, X86_MOV, X86_RAX, acu_jit_in_frame(offsetof(jit_frame, split)));
    acu_x86_long(x, X86_MOV, X86_RAX, x86_at(X86_RAX, offsetof(ptx_split, join)));
    acu_x86_long(x, X86_OR, X86_RAX, x86_in(X86_RAX));
    size_t passes = acu_x86_jump(x, X86_ZERO);
    acu_x86_word_by(x, X86_CMP, x86_at(X86_RAX, offsetof(ptx_join, pc)), (int32_t)at);
    size_t elsewhere = acu_x86_jump(x, X86_NOT_ZERO);
    write_count(m);
    write_end(m, at, PTX_JIT_FLOW);
    acu_x86_land(x, passes, x->size);
    acu_x86_land(x, elsewhere, x->size);
}

/* ---- ends of warps ---- */

/* Puts the first warp of another block into RDX, or 0. */
static void write_next_block(ptx_making *m) {
    x86 *x = &m->x;
    ptx_warp *(*const next)(const ptx_warp *) = acu_ptx_worker_next_block;
    uint64_t function;
    memcpy(&function, &next, sizeof function);
    acu_jit_set_control(m, JIT_KEEPS);
    acu_x86_zeroupper(x);
    acu_x86_long(x, X86_MOV, X86_RDI, x86_in(JIT_WARP));
    acu_x86_load_number(x, X86_RAX, function);
    acu_x86_call(x, x86_in(X86_RAX));
    acu_jit_set_control(m, m->usual);
    acu_x86_long(x, X86_MOV, X86_RDX, x86_in(X86_RAX));
}

/* Goes on with the next warp of the block, or the first one of another block, which begins at the
 * kernel's first operation. Both have 32 lanes, so that what they execute is counted together. */
static void write_next_warp(ptx_making *m) {
    x86 *x = &m->x;
    acu_x86_long(x, X86_MOV, X86_RDX, acu_jit_in_warp(offsetof(ptx_warp, next)));
    acu_x86_long(x, X86_OR, X86_RDX, x86_in(X86_RDX));
    const size_t is_one = acu_x86_jump(x, X86_NOT_ZERO);
    write_next_block(m);
    acu_x86_land(x, is_one, x->size);
    acu_x86_word_by(x, X86_MOV, x86_in(X86_R8), PTX_JIT_STOP);
    acu_x86_long(x, X86_OR, X86_RDX, x86_in(X86_RDX));
    acu_x86_land(x, acu_x86_jump(x, X86_ZERO), m->exit);
    acu_x86_word_by(x, X86_CMP, x86_at(X86_RDX, offsetof(ptx_warp, is_new)), 0);
    acu_x86_land(x, acu_x86_jump(x, X86_ZERO), m->exit);
    acu_x86_long(x, X86_MOV, JIT_WARP, x86_in(X86_RDX));
    acu_x86_word_by(x, X86_MOV, acu_jit_in_warp(offsetof(ptx_warp, is_new)), 0);
    acu_x86_lea(x, X86_RAX, acu_jit_in_warp(offsetof(ptx_warp, splits)));
    acu_x86_store_long(x, acu_jit_in_frame(offsetof(jit_frame, split)), X86_RAX);
    acu_x86_long(x, X86_MOV, JIT_BANK, acu_jit_in_warp(offsetof(ptx_warp, base[PTX_BANK_WARP])));
    acu_jit_note_jump(m, acu_x86_jump(x, X86_ALWAYS), m->code->functions->begin, true);
}

/* Returns whether lanes may wait for others of the block or of its cluster. */
static bool has_barriers(const ptx_code *code) {
    bool any = false;
    for (uint32_t n = 0; n < code->count; n++) {
        ptx_flow *flow = code->ops[n].flow;
        any |= flow && flow != acu_ptx_flow_jump && flow != acu_ptx_flow_branch &&
               flow != acu_ptx_flow_join && flow != acu_ptx_flow_switch &&
               flow != acu_ptx_flow_exit && flow != acu_ptx_flow_return &&
               flow != acu_ptx_flow_call && flow != acu_ptx_flow_sync;
    }
    return any;
}

/* Counts lanes that have ended, and jumps if others may wait for them. */
static void write_ended(ptx_making *m, size_t *jumps) {
    x86 *x = &m->x;
    acu_x86_long(x, X86_MOV, X86_RCX, acu_jit_in_warp(offsetof(ptx_warp, block)));
    acu_x86_word_by(x, X86_CMP, x86_at(X86_RCX, offsetof(ptx_block, used)), 0);
    jumps[0] = acu_x86_jump(x, X86_NOT_ZERO);
    acu_x86_long(x, X86_MOV, X86_RAX, x86_at(X86_RCX, offsetof(ptx_block, cluster)));
    acu_x86_word_by(x, X86_CMP, x86_at(X86_RAX, offsetof(ptx_cluster, arrived)), 0);
    jumps[1] = acu_x86_jump(x, X86_NOT_ZERO);
    acu_x86_word_by(x, X86_ADD, x86_at(X86_RCX, offsetof(ptx_block, ended)), PTX_LANES);
}

/* Ends the warp, whose lanes are together, if nobody waits for them, and begins the next one if
 * that is new. */
static void write_last(ptx_making *m, uint32_t at) {
    x86 *x = &m->x;
    size_t slow[3];
    const bool barriers = has_barriers(m->code);
    acu_x86_long_by(x, X86_CMP, acu_jit_in_warp(offsetof(ptx_warp, joins)), 0);
    slow[0] = acu_x86_jump(x, X86_NOT_ZERO);
    if (barriers)
        write_ended(m, &slow[1]);
    acu_x86_word_by(x, X86_MOV, acu_jit_in_warp(offsetof(ptx_warp, split_count)), 0);
    acu_x86_word_by(x, X86_MOV, acu_jit_in_warp(offsetof(ptx_warp, ended)), -1);
    write_next_warp(m);
    for (unsigned n = 0; n < (barriers ? 3 : 1); n++)
        acu_x86_land(x, slow[n], x->size);
    write_end(m, at, PTX_JIT_FLOW);
}

/* ---- barriers ---- */

/* Goes on with the next warp of the block if all its 32 lanes are together and need not wait; else
 * the machine code ends. */
static void write_other_warp(ptx_making *m) {
    x86 *x = &m->x;
    acu_x86_word_by(x, X86_MOV, x86_in(X86_R8), PTX_JIT_WAIT);
    acu_x86_long(x, X86_MOV, X86_RDX, acu_jit_in_warp(offsetof(ptx_warp, next)));
    acu_x86_long(x, X86_OR, X86_RDX, x86_in(X86_RDX));
    acu_x86_land(x, acu_x86_jump(x, X86_ZERO), m->exit);
    static const struct {
        size_t offset;
        int32_t value;
    } needed[] = {{offsetof(ptx_warp, split_count), 1},
                  {offsetof(ptx_warp, splits[0].wait), PTX_READY},
                  {offsetof(ptx_warp, splits[0].mask), -1},
                  {offsetof(ptx_warp, mask), -1}};
    for (unsigned n = 0; n < sizeof needed / sizeof *needed; n++) {
        acu_x86_word_by(x, X86_CMP, x86_at(X86_RDX, (int32_t)needed[n].offset), needed[n].value);
        acu_x86_land(x, acu_x86_jump(x, X86_NOT_ZERO), m->exit);
    }
    acu_x86_word(x, X86_MOV, X86_RAX, x86_at(X86_RDX, offsetof(ptx_warp, splits[0].pc)));
    acu_x86_load_number(x, X86_RCX, (uintptr_t)m->begins);
    acu_x86_move_indexed(x, X86_LOAD_WORD, X86_RCX, X86_RCX, X86_RAX, 4);
    acu_x86_word(x, X86_OR, X86_RCX, x86_in(X86_RCX));
    acu_x86_land(x, acu_x86_jump(x, X86_ZERO), m->exit);
    acu_x86_long(x, X86_ADD, X86_RCX, x86_in(JIT_POOL));
    acu_x86_long(x, X86_MOV, JIT_WARP, x86_in(X86_RDX));
    acu_x86_word_by(x, X86_MOV, acu_jit_in_warp(offsetof(ptx_warp, is_new)), 0);
    acu_x86_word_by(x, X86_MOV, acu_jit_in_warp(offsetof(ptx_warp, current)), 0);
    acu_x86_word_by(x, X86_MOV, acu_jit_in_warp(offsetof(ptx_warp, backward)), 0);
    acu_x86_lea(x, X86_RAX, acu_jit_in_warp(offsetof(ptx_warp, splits)));
    acu_x86_store_long(x, acu_jit_in_frame(offsetof(jit_frame, split)), X86_RAX);
    acu_x86_long(x, X86_MOV, JIT_BANK, acu_jit_in_warp(offsetof(ptx_warp, base[PTX_BANK_WARP])));
    acu_x86_jump_to(x, X86_RCX);
}

/* Counts the 32 lanes of a warp at a barrier as arrive() of barrier.c does, which opens it for the
 * last ones. */
static void write_barrier(ptx_making *m, uint32_t at, unsigned number) {
    x86 *x = &m->x;
    const size_t barrier = offsetof(ptx_block, barriers) + number * sizeof(ptx_barrier);
    _Static_assert(offsetof(ptx_barrier, reduction) == offsetof(ptx_barrier, all) + 4,
                   "`all` is written as a word");
#define OF_BARRIER(field) x86_at(X86_RCX, (int32_t)(barrier + offsetof(ptx_barrier, field)))
    acu_jit_flush(m);
    acu_x86_long(x, X86_MOV, X86_RCX, acu_jit_in_warp(offsetof(ptx_warp, block)));
    acu_x86_word(x, X86_MOV, X86_RAX, OF_BARRIER(arrived));
    acu_x86_word_by(x, X86_ADD, x86_in(X86_RAX), PTX_LANES);
    acu_x86_word(x, X86_MOV, X86_RDX, x86_at(X86_RCX, offsetof(ptx_block, threads)));
    acu_x86_word(x, X86_SUB, X86_RDX, x86_at(X86_RCX, offsetof(ptx_block, ended)));
    acu_x86_word(x, X86_CMP, X86_RAX, x86_in(X86_RDX));
    const size_t last = acu_x86_jump(x, X86_NOT_BELOW);
    acu_x86_store_word(x, OF_BARRIER(arrived), X86_RAX);
    acu_x86_word_by(x, X86_MOV, OF_BARRIER(expected), 0);
    acu_x86_word_by(x, X86_MOV, OF_BARRIER(all), 1);
    acu_x86_word_by(x, X86_MOV, OF_BARRIER(reduction), 0);
#undef OF_BARRIER
    acu_x86_word_by(x, X86_OR, x86_at(X86_RCX, offsetof(ptx_block, used)),
                    (int32_t)(UINT32_C(1) << number));
    acu_x86_word_by(x, X86_MOV, acu_jit_in_warp(offsetof(ptx_warp, is_plain)), 0);
    acu_x86_long(x, X86_MOV, X86_RAX, acu_jit_in_frame(offsetof(jit_frame, split)));
    acu_x86_word_by(x, X86_MOV, x86_at(X86_RAX, offsetof(ptx_split, pc)), (int32_t)at);
    acu_x86_word_by(x, X86_MOV, x86_at(X86_RAX, offsetof(ptx_split, wait)), PTX_AT_BARRIER);
    acu_x86_word_by(x, X86_MOV, x86_at(X86_RAX, offsetof(ptx_split, barrier)), (int32_t)number);
    write_other_warp(m);
    acu_x86_land(x, last, x->size);
    write_end(m, at, PTX_JIT_FLOW);
}

/* Returns whether all lanes of the warp come to a barrier of the block, whose number it writes. */
static bool is_barrier(const ptx_making *m, const ptx_op *op, uint64_t *number) {
    return !m->masked && acu_ptx_is_plain_barrier(op) && acu_jit_is_constant(m, op->a, number) &&
           *number < PTX_BARRIERS;
}

/* ---- operations ---- */

/* Returns whether all lanes of the warp do a .sync operation, so that none has to wait. */
static bool is_together(const ptx_making *m, const ptx_op *op) {
    return op->flow == acu_ptx_flow_sync && !m->masked;
}

static void write_together(ptx_making *m, const ptx_op *op) {
    m->now++;
    m->wanted_count = 0;
    acu_jit_settle_all(m);
    if (op->masked == acu_ptx_shuffle) {
        const ptx_shuffle *s = op->more;
        acu_jit_smooth(m, s->value);
        acu_jit_smooth(m, s->by);
        acu_jit_smooth(m, s->clamp);
    }
    if (!acu_jit_shuffle(m, op))
        acu_jit_call(m, op);
}

/* Returns whether the operation ends all lanes of the warp. */
static bool is_last(const ptx_making *m, const ptx_op *op, uint32_t at) {
    return !m->masked && !(op->flags & PTX_GUARDED) && at < m->code->functions->end &&
           (op->flow == acu_ptx_flow_exit || op->flow == acu_ptx_flow_return);
}

/* Returns whether the operation behind this one may come next. */
static bool falls_through(const ptx_making *m, const ptx_op *op) {
    return op->flow == acu_ptx_flow_branch || op->flow == acu_ptx_flow_join || is_together(m, op);
}

/* Computes late values that are needed behind the operation. */
static void settle(ptx_making *m, const ptx_op *op, uint32_t at) {
    if (op->flow == acu_ptx_flow_jump || op->flow == acu_ptx_flow_branch)
        acu_jit_settle_live(m, (uint32_t)op->value,
                            op->flow == acu_ptx_flow_branch ? at + 1 : (uint32_t)op->value);
    else if (!is_last(m, op, at))
        acu_jit_settle_all(m);
}

static void write_flow(ptx_making *m, const ptx_op *op, uint32_t at) {
    uint64_t barrier;
    if (op->flow == acu_ptx_flow_jump)
        write_go_to(m, op, at);
    else if (op->flow == acu_ptx_flow_branch)
        write_branch(m, op, at);
    else if (op->flow == acu_ptx_flow_join)
        write_join(m, at);
    else if (is_together(m, op))
        write_together(m, op);
    else if (is_last(m, op, at))
        write_last(m, at);
    else if (is_barrier(m, op, &barrier))
        write_barrier(m, at, (unsigned)barrier);
    else
        write_end(m, at, PTX_JIT_FLOW);
}

/* Makes the machine code begin at an operation. Where vectors have values, who comes from elsewhere
 * loads them first. */
static void write_begin(ptx_making *m, uint32_t n) {
    bool any = false;
    if (m->leads[n] == JIT_TARGET)
        write_edge(m, n);
    else
        drop_dead(m, n);
    m->sum_count = m->pattern_count = m->moved_count = 0;
    acu_jit_forget_masks(m);
    m->rax_at = 0; /* who comes from elsewhere has another predicate there, or none */
    m->instruction = NULL;
    m->inner[n] = (uint32_t)m->x.size;
    for (unsigned g = 0; g < m->group_count; g++)
        any |= m->groups[g].size != 0;
    jit_aside *aside = any || m->count ? acu_jit_aside(m, NULL) : NULL;
    if (!aside) {
        m->begins[n] = m->inner[n];
        return;
    }
    memcpy(aside->before, m->groups, sizeof m->groups);
    aside->entered = n + 1;
    aside->count = m->count;
    aside->back = m->x.size;
}

void acu_jit_write_all(ptx_making *m, uint32_t *begins) {
    const ptx_code *code = m->code;
    m->count = m->joined_end = 0;
    m->begins = begins;
    m->jump_count = 0;
    m->exit = m->x.size;
    acu_jit_write_exit(m);
    m->control = m->usual;
    for (uint32_t n = 0; n < code->count; n++) {
        const ptx_op *op = &code->ops[n];
        m->at = n;
        if (m->leads[n] || op->flow)
            acu_jit_set_control(m, m->usual);
        if (m->leads[n]) {
            acu_jit_settle_live(m, n, n);
            if (m->leads[n] == JIT_TARGET) {
                write_count(m);
                m->count = 0;
            }
            write_begin(m, n);
        }
        m->count++;
        if (!op->flow) {
            acu_jit_plain(m, op);
            continue;
        }
        settle(m, op, n);
        if (!falls_through(m, op))
            write_count(m);
        write_flow(m, op, n);
        if (falls_through(m, op))
            continue;
        m->count = 0;
        acu_jit_forget(m);
        acu_jit_write_asides(m);
    }
    for (size_t n = 0; n < m->jump_count; n++) {
        const jit_jump *j = &m->jumps[n];
        acu_x86_land(&m->x, j->jump, (j->is_entry ? m->begins : m->inner)[j->target]);
    }
}
