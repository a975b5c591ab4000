/* From functions to code: functions, one after the other, and what is found out when all are there.
 */
#include "sim/ptx/contract.h"
#include "sim/ptx/copies.h"
#include "sim/ptx/form.h"
#include "sim/ptx/lower_inside.h"
#include "sim/ptx/count.h"
#include "sim/ptx/registers.h"
#include "sim/ptx/special.h"
#include "sim/ptx/stop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- functions of the code ---- */

uint32_t acu_ptx_function_number(ptx_lowering *l, const ptx_function *function) {
    ptx_code *code = l->code;
    if (function->alias)
        function = function->alias;
    for (uint32_t n = 0; n < code->function_count; n++)
        if (code->functions[n].function == function)
            return n;
    if (!function->has_body && (!l->validates || l->module->with_libraries))
        acu_ptx_not_simulated(l, "the simulator has no function '%s'", function->name);
    if (l->validates)
        return 0;
    if (code->function_count == l->function_room) {
        uint32_t room = l->function_room ? l->function_room * 2 : 8;
        ptx_code_function *functions = acu_ptx_lower_alloc(l, room * sizeof *functions);
        ptx_lowered *lowered = acu_ptx_lower_alloc(l, room * sizeof *lowered);
        if (code->function_count) {
            memcpy(functions, code->functions, code->function_count * sizeof *functions);
            memcpy(lowered, l->functions, code->function_count * sizeof *lowered);
        }
        code->functions = functions;
        l->functions = lowered;
        l->function_room = room;
    }
    code->functions[code->function_count].function = function;
    l->functions[code->function_count].function = function;
    return code->function_count++;
}

uint64_t acu_ptx_function_pointer(const ptx_module *module, const ptx_function *function) {
    uint64_t number = 1;
    if (function->alias)
        function = function->alias;
    for (const ptx_function *f = module->functions; f != function; f = f->next)
        number++;
    return PTX_FUNCTION_WINDOW + number * 16;
}

const ptx_function *acu_ptx_function_at(const ptx_module *module, uint64_t pointer) {
    uint64_t number = (pointer - PTX_FUNCTION_WINDOW) / 16;
    if (pointer < PTX_FUNCTION_WINDOW || pointer % 16)
        return NULL;
    const ptx_function *f = module->functions;
    while (f && number-- > 1)
        f = f->next;
    return number == 0 ? f : NULL;
}

static uint32_t align_up(uint64_t value, size_t align) {
    return (uint32_t)((value + align - 1) / align * align);
}

/* Gives a variable a place in the frame of the function. */
static uint32_t add_to_frame(ptx_lowering *l, const ptx_variable *v) {
    ptx_code_function *f = &l->code->functions[l->current];
    uint64_t at = align_up(f->frame, v->align ? v->align : 1);
    if (at + v->size > 1 << 28)
        acu_ptx_not_simulated(l, "the variables of %s take too much local memory",
                              f->function->name);
    f->frame = (uint32_t)(at + v->size);
    return (uint32_t)at;
}

static uint32_t *place_params(ptx_lowering *l, const ptx_variable *list) {
    uint32_t count = 0, n = 0;
    for (const ptx_variable *v = list; v; v = v->next)
        count++;
    uint32_t *at = acu_ptx_lower_alloc(l, (count + 1) * sizeof *at);
    for (const ptx_variable *v = list; v; v = v->next, n++)
        if (!v->in_register)
            at[n] = add_to_frame(l, v);
    return at;
}

static void place_in_registers(ptx_lowering *l, const ptx_variable *list, uint32_t *at) {
    for (const ptx_variable *v = list; v; v = v->next, at++)
        if (v->in_register)
            *at = acu_ptx_register_slot(l, v->number);
}

/* Where the frame has a variable that the function declares is looked up in the order of
 * declaration. */
static void place_variables(ptx_lowering *l) {
    ptx_code_function *f = &l->code->functions[l->current];
    if (!f->function->is_entry) {
        uint32_t *results = place_params(l, f->function->results),
                 *params = place_params(l, f->function->params);
        f = &l->code->functions[l->current];
        f->result_at = results;
        f->param_at = params;
    }
    for (ptx_variable *v = f->function->variables; v; v = v->next)
        if (v->space == PTX_LOCAL || v->space == PTX_PARAM)
            v->at = add_to_frame(l, v);
    for (ptx_variable *v = l->module->variables; v; v = v->next)
        if (v->space == PTX_LOCAL && !l->current)
            v->at = add_to_frame(l, v);
    f->frame = align_up(f->frame, 16);
}

static bool find_param(const ptx_variable *list, const uint32_t *at, const ptx_variable *v,
                       uint32_t *found) {
    for (; list; list = list->next, at++)
        if (list == v) {
            *found = *at;
            return true;
        }
    return false;
}

uint32_t acu_ptx_frame_at(ptx_lowering *l, const ptx_variable *v) {
    const ptx_code_function *f = &l->code->functions[l->current];
    uint32_t at;
    if (l->validates)
        return 0;
    if (!f->function->is_entry && (find_param(f->function->results, f->result_at, v, &at) ||
                                   find_param(f->function->params, f->param_at, v, &at)))
        return at;
    return (uint32_t)v->at;
}

static void put_frame_address(ptx_warp *w, const ptx_op *op) {
    acu_ptx_put_all(ptx_at(w, op->d), op->size, w->frame->local + (uint64_t)op->value);
}

ptx_slot acu_ptx_frame_address(ptx_lowering *l, const ptx_variable *v, uint64_t offset,
                               unsigned size) {
    offset += acu_ptx_frame_at(l, v);
    if (!l->current || !v->owner) /* the frame of the kernel begins at 0 */
        return acu_ptx_constant(l, offset, size);
    ptx_slot slot = acu_ptx_temp(l, size);
    acu_ptx_emit_pure(l, put_frame_address, slot, size)->value = (int64_t)offset;
    return slot;
}

bool acu_ptx_is_kernel_param(const ptx_lowering *l, const ptx_variable *variable) {
    for (const ptx_variable *v = l->code->entry->params; v; v = v->next)
        if (v == variable)
            return true;
    return false;
}

/* ---- instructions ---- */

/* Returns the bytes that a lane's element of the type has. */
static unsigned lane_size(ptx_type type) {
    size_t size = acu_ptx_type_size(type);
    return type == PTX_PRED ? 0 : size < 2 ? 2 : (unsigned)size;
}

void acu_ptx_lower_form(ptx_lowering *l, const ptx_form *form, const ptx_slot *slots) {
    unsigned results = form->results;
    const ptx_slot *sources = slots + results;
    ptx_slot carry =
        form->reads_carry || form->writes_carry ? acu_ptx_state(l, PTX_STATE_CARRY, 0) : 0;
    ptx_op *op = acu_ptx_emit_pure(l, acu_ptx_lane_handlers(l->code->level)[form->handler],
                                   slots[0], lane_size((ptx_type)form->types[0]));
    op->a = sources[0];
    op->b = form->sources > 1 ? sources[1] : 0;
    op->c = form->sources > 2 ? sources[2] : 0;
    op->f = form->reads_carry ? carry : form->sources > 3 ? sources[3] : 0;
    if (results > 1) {
        op->e = slots[1];
        op->count = (uint8_t)(1 + lane_size((ptx_type)form->types[1]));
    } else if (form->writes_carry) {
        op->e = carry;
        op->count = 1;
    }
}

/* Returns the slot of a number, without its sign if `magnitude`. */
static ptx_slot source_of_three(ptx_lowering *l, const ptx_operand *o, bool magnitude) {
    const ptx_slot from = acu_ptx_source(l, o, PTX_F32);
    if (!magnitude)
        return from;
    const ptx_slot slots[] = {acu_ptx_temp(l, 4), from};
    acu_ptx_lower_form(l, acu_ptx_form_find("abs.f32"), slots);
    return slots[0];
}

/* Lowers min or max of three floats: that of the first two, and of the third one. False if it is
 * not that. */
static bool lower_three(ptx_lowering *l, const ptx_instruction *i) {
    ptx_words words;
    if (i->operand_count != 4 || !(acu_ptx_is(i, "min") || acu_ptx_is(i, "max")))
        return false;
    acu_ptx_words(l, i, &words);
    const bool flushes = acu_ptx_take(&words, "ftz"), keeps = acu_ptx_take(&words, "NaN"),
               magnitude = acu_ptx_take(&words, "abs");
    if (acu_ptx_take(&words, "xorsign"))
        acu_ptx_invalid(l, "Illegal modifier '.xorsign' for instruction '%s'",
                        acu_ptx_first_word(l));
    if (acu_ptx_take_type(&words) != PTX_F32)
        acu_ptx_mismatch(l);
    acu_ptx_words_end(l, &words);
    if (l->module->target < 100)
        acu_ptx_invalid(l, "Feature '%s with 3 input operands' requires .target sm_100 or higher",
                        i->opcode);
    if (l->module->version < 88)
        acu_ptx_invalid(l,
                        "Feature '%s with 3 input operands' requires PTX ISA .version 8.8 or later",
                        i->opcode);
    char two[32];
    snprintf(two, sizeof two, "%.3s%s%s.f32", i->opcode, flushes ? ".ftz" : "",
             keeps ? ".NaN" : "");
    const ptx_form *form = acu_ptx_form_find(two);
    const ptx_slot a = source_of_three(l, &i->operands[1], magnitude),
                   b = source_of_three(l, &i->operands[2], magnitude),
                   c = source_of_three(l, &i->operands[3], magnitude);
    acu_ptx_refuse_sink(l, &i->operands[0]);
    const ptx_slot d = acu_ptx_target(l, &i->operands[0], PTX_F32), first = acu_ptx_temp(l, 4);
    acu_ptx_lower_form(l, form, (const ptx_slot[]){first, a, b});
    acu_ptx_lower_form(l, form, (const ptx_slot[]){d, first, c});
    return true;
}

/* Returns whether the instruction adds 0 to an integer of 64 bits, as nvcc does to the address of
 * local memory. */
static bool adds_nothing(const ptx_instruction *i) {
    return (strcmp(i->opcode, "add.u64") == 0 || strcmp(i->opcode, "add.s64") == 0) &&
           i->operand_count == 3 && i->operands[0].kind == PTX_REGISTER &&
           i->operands[1].kind == PTX_REGISTER && i->operands[2].kind == PTX_INTEGER &&
           !i->operands[2].bits;
}

/* Lowers it as a copy, of which nothing is left where the integer is a constant. */
static void lower_adding_nothing(ptx_lowering *l, const ptx_instruction *i) {
    const ptx_type type = i->opcode[4] == 's' ? PTX_S64 : PTX_U64;
    const ptx_slot from = acu_ptx_source(l, &i->operands[1], type);
    acu_ptx_target(l, &i->operands[0], type);
    acu_ptx_emit_copy(l, i->operands[0].number, 8, from);
}

void acu_ptx_lower_by_form(ptx_lowering *l, const ptx_instruction *i) {
    if (lower_three(l, i))
        return;
    if (adds_nothing(i)) {
        lower_adding_nothing(l, i);
        return;
    }
    const ptx_form *form = acu_ptx_form_find(i->opcode);
    if (!form)
        acu_ptx_not_simulated(l, "the simulator does not execute '%s'", i->opcode);
    unsigned results = form->results, count = results + form->sources;
    if (i->operand_count != count)
        acu_ptx_mismatch(l);
    ptx_slot slots[6] = {0};
    for (unsigned n = results; n < count; n++)
        slots[n] = acu_ptx_source(l, &i->operands[n], (ptx_type)form->types[n]);
    for (unsigned n = 0; n < results; n++) {
        if (!acu_ptx_is(i, "setp") && !acu_ptx_is(i, "lop3"))
            acu_ptx_refuse_sink(l, &i->operands[n]);
        slots[n] = acu_ptx_target(l, &i->operands[n], (ptx_type)form->types[n]);
    }
    acu_ptx_lower_form(l, form, slots);
}

/* Puts plain operations under the guard of their instruction. */
static void guard_plain(ptx_lowering *l, const ptx_instruction *i, uint32_t begin) {
    ptx_slot guard = acu_ptx_register_slot(l, (unsigned)i->guard);
    for (uint32_t n = begin; n < l->code->count; n++) {
        ptx_op *op = &l->code->ops[n], *inner = acu_ptx_lower_alloc(l, sizeof *inner);
        *inner = *op;
        acu_ptx_guard(op, inner, guard, i->guard_negated);
    }
}

/* Puts a branch before the operations of a guarded instruction, and a join behind them. */
static void guard_flow(ptx_lowering *l, const ptx_instruction *i, uint32_t begin) {
    ptx_slot guard = acu_ptx_register_slot(l, (unsigned)i->guard);
    acu_ptx_emit_flow(l, acu_ptx_flow_join);
    uint32_t end = l->code->count;
    acu_ptx_emit_flow(l, acu_ptx_flow_branch);
    ptx_op *ops = l->code->ops;
    memmove(ops + begin + 1, ops + begin, (end - begin) * sizeof *ops);
    ops[begin] = (ptx_op){.flow = acu_ptx_flow_branch,
                          .guard = guard,
                          .negated = !i->guard_negated,
                          .instruction = i,
                          .value = end,
                          .e = end,
                          .flags = PTX_TO_OPERATION};
}

static void lower_instruction(ptx_lowering *l, const ptx_instruction *i) {
    uint32_t begin = l->code->count;
    l->instruction = i;
    l->temp_used = 0;
    acu_ptx_lower_one(l, i);
    if (i->guard < 0 || acu_ptx_lower_guards(i))
        return;
    bool flows = false;
    for (uint32_t n = begin; n < l->code->count; n++)
        flows |= l->code->ops[n].flow != NULL;
    if (flows)
        guard_flow(l, i, begin);
    else
        guard_plain(l, i, begin);
}

/* Replaces the numbers of instructions in branches by those of operations. */
static void resolve(ptx_lowering *l, uint32_t begin) {
    const uint32_t *op_of = l->functions[l->current].op_of;
    for (uint32_t n = begin; n < l->code->count; n++) {
        ptx_op *op = &l->code->ops[n];
        if (op->flow == acu_ptx_flow_switch)
            for (int64_t t = 0; t < op->value; t++)
                ((uint32_t *)(uintptr_t)op->more)[t] = op_of[((const uint32_t *)op->more)[t]];
        else if (op->flow != acu_ptx_flow_branch && op->flow != acu_ptx_flow_jump)
            continue;
        if (op->flags & PTX_TO_OPERATION)
            continue;
        if (op->flow != acu_ptx_flow_switch)
            op->value = op_of[op->value];
        op->e = op->e == PTX_NOWHERE ? PTX_NOWHERE : op_of[op->e];
    }
}

/* ---- registers ---- */

static void count_written(void *data, unsigned number, unsigned how) {
    uint8_t *written = data;
    if (how & PTX_WRITES && written[number] < 2)
        written[number]++;
}

/* What a trial of an instruction needs to know: whether each register that it reads has a slot, and
 * each one that it writes is written by nothing else. */
typedef struct trial {
    const ptx_slot *slots;
    const uint8_t *written;
    bool ok;
} trial;

static void may_try(void *data, unsigned number, unsigned how) {
    trial *t = data;
    if (how & PTX_READS && t->slots[number] == UINT32_MAX)
        t->ok = false;
    if (how & PTX_WRITES && t->written[number] > 1)
        t->ok = false;
}

/* Finds the instructions whose results are constants, such as parameters of the kernel. */
static void find_constants(ptx_lowering *l, const ptx_function *f) {
    ptx_lowered *lowered = &l->functions[l->current];
    uint8_t *written = acu_ptx_lower_alloc(l, f->register_count + 1);
    for (uint32_t n = 0; n < f->instruction_count; n++)
        acu_ptx_touches(&f->instructions[n], count_written, written);
    for (const ptx_variable *v = f->params; v; v = v->next)
        if (v->in_register)
            written[v->number] = 2;
    l->trial = true;
    for (uint32_t n = 0; n < f->instruction_count; n++) {
        const ptx_instruction *i = &f->instructions[n];
        if (i->absorbed || i->guard >= 0 ||
            !(acu_ptx_is(i, "mov") || acu_ptx_is(i, "cvta") || adds_nothing(i) ||
              strncmp(i->opcode, "ld.param", 8) == 0))
            continue;
        trial t = {lowered->slots, written, true};
        acu_ptx_touches(i, may_try, &t);
        uint32_t before = l->code->count;
        if (t.ok)
            lower_instruction(l, i);
        lowered->done[n] = t.ok && l->code->count == before;
        l->code->count = before;
    }
    l->trial = false;
}

/* Returns, for each block, the bits of the slots whose values are needed where it begins. */
static uint64_t *needed_slots(ptx_lowering *l, const ptx_places *places, uint32_t blocks) {
    uint64_t *needed = acu_ptx_lower_alloc(l, (blocks + 1) * sizeof *needed);
    for (uint32_t block = 0; block < blocks; block++) {
        const uint64_t *set = places->needed + (size_t)block * places->words;
        for (uint32_t n = 0; n < places->count; n++)
            if (set[n / 64] >> n % 64 & 1)
                needed[block] |= ptx_slot_bit(places->places[n].offset);
    }
    return needed;
}

/* Fills in what lanes need that wait where a block of the kernel begins. Elsewhere they may need
 * everything. */
static void list_needed(ptx_lowering *l) {
    const ptx_lowered *f = &l->functions[l->current];
    ptx_code *code = l->code;
    code->needed = acu_ptx_lower_alloc(l, (code->count + 1) * sizeof *code->needed);
    memset(code->needed, 0xff, code->count * sizeof *code->needed);
    for (uint32_t block = 0; block < f->flow->count; block++)
        code->needed[f->op_of[f->flow->blocks[block].begin]] = 0;
    for (uint32_t block = 0; block < f->flow->count; block++)
        code->needed[f->op_of[f->flow->blocks[block].begin]] |= f->needed[block];
}

/* Gives the registers of the function their slots. */
static void place_registers(ptx_lowering *l, const ptx_function *f) {
    find_constants(l, f);
    ptx_lowered *lowered = &l->functions[l->current];
    bool *apart = acu_ptx_lower_alloc(l, f->register_count + 1);
    for (unsigned n = 0; n < f->register_count; n++)
        apart[n] = lowered->slots[n] != UINT32_MAX || f->registers[n].is_vector;
    ptx_places places;
    if (!acu_ptx_places_of(f, lowered->flow, apart, !l->code->watch.stop_line, l->arena, &places))
        acu_ptx_end_without_memory(l);
    for (uint32_t n = 0; n < places.count; n++)
        places.places[n].offset = PTX_SLOT_OFFSET(acu_ptx_add_slot(l, places.places[n].size));
    for (unsigned n = 0; n < f->register_count; n++)
        if (places.of[n] != UINT32_MAX)
            lowered->slots[n] = PTX_SLOT(PTX_BANK_WARP, places.places[places.of[n]].offset);
    lowered->places = places.places;
    lowered->place_count = places.count;
    lowered->needed = needed_slots(l, &places, lowered->flow->count);
    ptx_code_function *made = &l->code->functions[l->current];
    if (f->is_entry)
        return;
    place_in_registers(l, f->results, made->result_at);
    place_in_registers(l, f->params, made->param_at);
}

static void lower_instructions(ptx_lowering *l, const ptx_function *f) {
    const ptx_lowered lowered = l->functions[l->current]; /* calls may move the list of functions */
    for (uint32_t n = 0; n < f->instruction_count; n++) {
        const ptx_basic_block *block = &lowered.flow->blocks[lowered.flow->block_of[n]];
        lowered.op_of[n] = l->code->count;
        l->instruction = NULL; /* a join is of no instruction */
        if (block->begin == n && block->is_meet)
            acu_ptx_emit_flow(l, acu_ptx_flow_join);
        acu_ptx_stop_before(l, f, n);
        acu_ptx_count_instruction(l, &f->instructions[n]);
        if (!lowered.done[n] && !f->instructions[n].absorbed)
            lower_instruction(l, &f->instructions[n]);
    }
    lowered.op_of[f->instruction_count] = l->code->count;
}

/* Returns the function with fewer instructions. Who stops in it wants to see all registers. */
static const ptx_function *improved(ptx_lowering *l, const ptx_function *f,
                                    const ptx_flow_graph *flow) {
    ptx_function *made = acu_ptx_contracted(f, flow, l->arena);
    if (!made || (!l->code->watch.stop_line && !acu_ptx_forward_copies(made, flow, l->arena)))
        acu_ptx_end_without_memory(l);
    return made;
}

void acu_ptx_lower_function(ptx_lowering *l) {
    const ptx_function *function = l->functions[l->current].function;
    uint32_t begin = l->code->count, first_byte = l->code->warp_bytes;
    l->instruction = NULL;
    ptx_lowered *f = &l->functions[l->current];
    f->slots = acu_ptx_lower_alloc(l, (function->register_count + 1) * sizeof *f->slots);
    memset(f->slots, 0xff, function->register_count * sizeof *f->slots);
    f->op_of = acu_ptx_lower_alloc(l, (function->instruction_count + 1) * sizeof *f->op_of);
    f->done = acu_ptx_lower_alloc(l, function->instruction_count + 1);
    f->flow = acu_ptx_flow_of(function, l->arena);
    if (!f->flow)
        acu_ptx_end_without_memory(l);
    if (!l->module->debug) /* what is debugged is compiled as it is written */
        f->function = function = improved(l, function, f->flow);
    place_variables(l);
    place_registers(l, function);
    lower_instructions(l, function);
    l->instruction = NULL;
    acu_ptx_emit_flow(l, acu_ptx_flow_join);
    acu_ptx_emit_flow(l, acu_ptx_flow_return);
    resolve(l, begin);
    if (!ptx_is_watched(l->code) && !l->module->debug)
        acu_ptx_guard_short(l, begin);
    if (function->is_entry)
        list_needed(l);
    ptx_code_function *done = &l->code->functions[l->current];
    done->begin = begin;
    done->end = l->code->count;
    done->registers = first_byte;
    done->registers_end = l->code->warp_bytes;
}
