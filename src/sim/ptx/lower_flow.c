/* Branches, calls, and where functions end. */
#include "sim/ptx/grid.h"
#include "sim/ptx/lower_inside.h"
#include "sim/ptx/count.h"

#include <string.h>

/* Returns the first instruction of the block at which lanes meet that this one sends apart. */
static uint32_t meet_of(const ptx_lowering *l, const ptx_instruction *i) {
    const ptx_lowered *f = &l->functions[l->current];
    if (l->validates)
        return PTX_NOWHERE;
    uint32_t meet = f->flow->blocks[f->flow->block_of[i - f->function->instructions]].meet;
    return meet == UINT32_MAX ? PTX_NOWHERE : f->flow->blocks[meet].begin;
}

/* Returns whether the instruction reads a clock. */
static bool reads_clock(const ptx_instruction *i) {
    for (unsigned n = 0; n < i->operand_count; n++)
        if (i->operands[n].kind == PTX_SPECIAL_REGISTER &&
            acu_ptx_special_is_clock(i->operands[n].special))
            return true;
    return false;
}

static bool function_may_spin(ptx_lowering *l, const ptx_function *function);

/* Returns whether something in these instructions, or in what they call by name, reads what other
 * threads write, or a clock. */
static bool one_may_spin(ptx_lowering *l, const ptx_instruction *one, const ptx_instruction *end) {
    for (; one < end; one++) {
        if (acu_ptx_is(one, "atom") || strstr(one->opcode, ".volatile") ||
            strstr(one->opcode, ".relaxed") || strstr(one->opcode, ".acquire") ||
            strstr(one->opcode, "_wait") || acu_ptx_is(one, "nanosleep") || reads_clock(one))
            return true;
        for (unsigned n = 0; n < one->operand_count && acu_ptx_is(one, "call"); n++)
            if (one->operands[n].kind == PTX_FUNCTION &&
                function_may_spin(l, one->operands[n].function))
                return true;
    }
    return false;
}

/* Looks at each function once. One that calls itself is looked at already. */
static bool function_may_spin(ptx_lowering *l, const ptx_function *function) {
    const ptx_function *f = function->alias ? function->alias : function;
    if (!f->has_body)
        return false;
    uint32_t n = acu_ptx_function_number(l, f);
    if (!l->functions[n].looked_at) {
        l->functions[n].looked_at = true;
        bool spins = one_may_spin(l, f->instructions, f->instructions + f->instruction_count);
        l->functions[n].may_spin = spins;
    }
    return l->functions[n].may_spin;
}

/* Returns whether another thread, or time, may end the loop that goes back by this instruction. */
static bool may_spin(ptx_lowering *l, const ptx_instruction *i, uint32_t target) {
    return one_may_spin(l, l->functions[l->current].function->instructions + target, i + 1);
}

void acu_ptx_lower_branch(ptx_lowering *l, const ptx_instruction *i) {
    if (i->operand_count != 1 || i->operands[0].kind != PTX_LABEL)
        acu_ptx_invalid(l, "Arguments mismatch for instruction 'bra'");
    uint32_t target = i->operands[0].number;
    bool spins = !l->validates && may_spin(l, i, target);
    ptx_op *op;
    if (i->guard < 0) {
        op = acu_ptx_emit_flow(l, acu_ptx_flow_jump);
    } else {
        ptx_slot guard = acu_ptx_register_slot(l, (unsigned)i->guard);
        acu_ptx_count_branch(l, guard, i->guard_negated);
        op = acu_ptx_emit_flow(l, acu_ptx_flow_branch);
        op->guard = guard;
        op->negated = i->guard_negated;
        op->e = meet_of(l, i);
    }
    op->value = target;
    op->flags = spins ? PTX_MAY_SPIN : 0;
}

void acu_ptx_lower_brx(ptx_lowering *l, const ptx_instruction *i) {
    if (i->operand_count != 2 || i->operands[1].kind != PTX_TABLE || !i->operands[1].table->labels)
        acu_ptx_invalid(l, "Arguments mismatch for instruction 'brx'");
    const ptx_table *table = i->operands[1].table;
    uint32_t *targets = acu_ptx_lower_alloc(l, (table->count + 1) * sizeof *targets);
    memcpy(targets, table->labels, table->count * sizeof *targets);
    ptx_slot index = acu_ptx_source(l, &i->operands[0], PTX_U32);
    acu_ptx_count_switch(l, index, table);
    ptx_op *op = acu_ptx_emit_flow(l, acu_ptx_flow_switch);
    op->a = index;
    op->more = targets;
    op->value = (int64_t)table->count;
    op->e = meet_of(l, i);
}

static void lower_end(ptx_lowering *l, const ptx_instruction *i, ptx_flow *flow) {
    ptx_slot guard = i->guard < 0 ? 0 : acu_ptx_register_slot(l, (unsigned)i->guard);
    ptx_op *op = acu_ptx_emit_flow(l, flow);
    op->guard = guard;
    op->negated = i->guard_negated;
    op->flags = i->guard < 0 ? 0 : PTX_GUARDED;
}

void acu_ptx_lower_return(ptx_lowering *l, const ptx_instruction *i) {
    lower_end(l, i, acu_ptx_flow_return);
}

void acu_ptx_lower_exit(ptx_lowering *l, const ptx_instruction *i) {
    lower_end(l, i, acu_ptx_flow_exit);
}

void acu_ptx_lower_nothing(ptx_lowering *l, const ptx_instruction *i) {
    (void)l;
    (void)i;
}

static void trap(ptx_warp *w, const ptx_op *op) {
    acu_ptx_fail(w, (unsigned)__builtin_ctz(w->mask), op, 719, 0, "the kernel executed trap");
}

/* Nobody debugs the kernel. */
static void brkpt(ptx_warp *w, const ptx_op *op) {
    acu_ptx_fail(w, (unsigned)__builtin_ctz(w->mask), op, 719, 0, "the kernel executed brkpt");
}

void acu_ptx_lower_brkpt(ptx_lowering *l, const ptx_instruction *i) {
    (void)i;
    acu_ptx_emit(l, brkpt);
}

void acu_ptx_lower_trap(ptx_lowering *l, const ptx_instruction *i) {
    (void)i;
    acu_ptx_emit(l, trap);
}

/* ---- calls ---- */

/* Adds to the code every function whose address something takes, for a call by an address. */
static void add_all_with_address(ptx_lowering *l) {
    for (const ptx_function *f = l->module->functions; f; f = f->next) {
        if (f->is_entry || !f->has_body || !f->address_taken)
            continue;
        uint32_t n = acu_ptx_function_number(l, f);
        l->code->functions[n].address = acu_ptx_function_pointer(l->module, f);
    }
}

/* Where an argument of a call is: in the frame, in a register, or a constant. */
static ptx_copy_place place_of(ptx_lowering *l, const ptx_operand *o, const ptx_variable *formal) {
    if (o->kind == PTX_VARIABLE && o->variable->space == PTX_PARAM)
        return (ptx_copy_place){false, acu_ptx_frame_at(l, o->variable)};
    return (ptx_copy_place){true, acu_ptx_source(l, o, formal->type)};
}

static ptx_copy *copies(ptx_lowering *l, const ptx_operand *group, const ptx_variable *formal,
                        bool results, uint32_t *count) {
    ptx_copy *list = acu_ptx_lower_alloc(l, (group->element_count + 1) * sizeof *list);
    for (unsigned n = 0; n < group->element_count; n++, formal = formal->next) {
        if (!formal)
            acu_ptx_invalid(l, "Call has wrong number of parameters");
        ptx_copy_place here = place_of(l, &group->elements[n], formal),
                       there = {formal->in_register, 0};
        list[n] = (ptx_copy){.from = results ? there : here,
                             .to = results ? here : there,
                             .size = (uint32_t)formal->size,
                             .predicate = formal->type == PTX_PRED};
    }
    *count = group->element_count;
    return list;
}

void acu_ptx_lower_call(ptx_lowering *l, const ptx_instruction *i) {
    static const ptx_operand none = {.kind = PTX_GROUP};
    const ptx_operand *o = i->operands, *end = o + i->operand_count, *results = &none,
                      *params = &none, *target;
    if (o < end && o->kind == PTX_GROUP)
        results = o++;
    if (o == end)
        acu_ptx_invalid(l, "Arguments mismatch for instruction 'call'");
    target = o++;
    if (o < end && o->kind == PTX_GROUP)
        params = o++;
    const ptx_function *declared = target->kind == PTX_FUNCTION ? target->function : NULL;
    if (!declared && o < end && o->kind == PTX_TABLE)
        declared = o->table->prototype ? o->table->prototype
                   : o->table->count   ? o->table->functions[0]
                                       : NULL;
    if (!declared)
        acu_ptx_invalid(l, "Call needs a function or a prototype");
    if (target->kind == PTX_FUNCTION && !target->function->has_body && !target->function->alias &&
        acu_ptx_lower_device_call(l, i, target->function, results, params))
        return;
    ptx_call *call = acu_ptx_lower_alloc(l, sizeof *call);
    call->params = copies(l, params, declared->params, false, &call->param_count);
    call->results = copies(l, results, declared->results, true, &call->result_count);
    ptx_slot address = target->kind == PTX_FUNCTION ? 0 : acu_ptx_source(l, target, PTX_U64);
    uint32_t number =
        target->kind == PTX_FUNCTION ? acu_ptx_function_number(l, target->function) : 0;
    if (target->kind != PTX_FUNCTION)
        add_all_with_address(l);
    ptx_op *op = acu_ptx_emit_flow(l, acu_ptx_flow_call);
    op->more = call;
    op->a = address;
    op->value = number;
    op->flags = target->kind == PTX_FUNCTION ? 0 : PTX_INDIRECT;
    acu_ptx_emit_flow(l, acu_ptx_flow_join);
}
