/* Conversions, whose registers may be wider than their types. */
#include "sim/ptx/form.h"
#include "sim/ptx/lower_inside.h"

#include <string.h>

/* Copies the low `value` bytes of each lane, from elements of `flags` bytes to elements of `size`
 * bytes, and extends them with zeros, or, if `negated`, with their sign. */
void acu_ptx_resize(ptx_warp *w, const ptx_op *op) {
    const char *a = ptx_at(w, op->a);
    char *d = ptx_at(w, op->d);
    size_t bytes = (size_t)op->value, from = op->flags, to = op->size;
    unsigned shift = 64 - 8 * (unsigned)bytes;
    for (unsigned i = 0; i < PTX_LANES; i++) {
        uint64_t value = 0;
        memcpy(&value, a + i * from, bytes);
        if (op->negated)
            value = (uint64_t)((int64_t)(value << shift) >> shift);
        memcpy(d + i * to, &value, to);
    }
}

static bool is_signed(ptx_type type) {
    return type == PTX_S8 || type == PTX_S16 || type == PTX_S32 || type == PTX_S64;
}

static void emit_resize(ptx_lowering *l, ptx_slot d, unsigned to, ptx_slot a, unsigned from,
                        ptx_type type) {
    size_t bytes = acu_ptx_type_size(type);
    ptx_op *op = acu_ptx_emit_pure(l, acu_ptx_resize, d, to);
    op->a = a;
    op->flags = (uint8_t)from;
    op->value = (int64_t)(bytes < to ? bytes : to);
    op->negated = is_signed(type);
}

/* Returns the slot of a source, narrowed to its type. */
static ptx_slot source(ptx_lowering *l, const ptx_operand *o, ptx_type type) {
    unsigned lane = acu_ptx_type_size(type) < 2 ? 2 : (unsigned)acu_ptx_type_size(type);
    if (o->kind != PTX_REGISTER)
        return acu_ptx_source(l, o, lane == 2 && acu_ptx_type_size(type) == 1 ? PTX_B16 : type);
    acu_ptx_check_type(l, o, type);
    unsigned size = acu_ptx_register_size(l, o);
    if (size == acu_ptx_type_size(type))
        return acu_ptx_register_slot(l, o->number);
    if (size < acu_ptx_type_size(type))
        acu_ptx_invalid(l, "Arguments mismatch for instruction 'cvt'");
    ptx_slot narrow = acu_ptx_temp(l, lane);
    emit_resize(l, narrow, lane, acu_ptx_register_slot(l, o->number), size, type);
    return narrow;
}

/* Refuses registers that are wider than their type where ptxas does: beside bf16, tf32, and numbers
 * of 8 bits and fewer. */
static void check_widths(ptx_lowering *l, const ptx_instruction *i, const ptx_form *form) {
    bool exact = false;
    for (unsigned n = 0; n <= form->sources; n++)
        exact |= form->types[n] == PTX_BF16 || form->types[n] == PTX_BF16X2 ||
                 form->types[n] == PTX_B16 || form->types[n] == PTX_B8;
    exact |= strstr(i->opcode, ".tf32") != NULL;
    for (unsigned n = 0; n <= form->sources && exact; n++)
        if (i->operands[n].kind == PTX_REGISTER &&
            acu_ptx_type_size(i->operands[n].type) != acu_ptx_type_size((ptx_type)form->types[n]))
            acu_ptx_invalid(l, "Arguments mismatch for instruction 'cvt'");
}

void acu_ptx_lower_cvt(ptx_lowering *l, const ptx_instruction *i) {
    const ptx_form *form = acu_ptx_form_find(i->opcode);
    if (!form)
        acu_ptx_not_simulated(l, "the simulator does not execute '%s'", i->opcode);
    if (i->operand_count != 1u + form->sources)
        acu_ptx_invalid(l, "Arguments mismatch for instruction 'cvt'");
    check_widths(l, i, form);
    ptx_slot slots[6] = {0};
    ptx_type type = (ptx_type)form->types[0];
    const ptx_operand *d = &i->operands[0];
    acu_ptx_refuse_sink(l, d);
    if (d->kind != PTX_REGISTER)
        acu_ptx_invalid(l, "Result register required for instruction 'cvt'");
    acu_ptx_check_type(l, d, type);
    if (d->type == PTX_F32 && strstr(i->opcode, ".tf32.f32"))
        acu_ptx_invalid(l, "Arguments mismatch for instruction 'cvt'");
    for (unsigned n = 1; n <= form->sources; n++)
        slots[n] = source(l, &i->operands[n], (ptx_type)form->types[n]);
    unsigned lane = acu_ptx_type_size(type) < 2 ? 2 : (unsigned)acu_ptx_type_size(type);
    unsigned size = acu_ptx_register_size(l, d);
    if (size < lane)
        acu_ptx_invalid(l, "Arguments mismatch for instruction 'cvt'");
    bool direct = size == lane;
    slots[0] = direct ? acu_ptx_register_slot(l, d->number) : acu_ptx_temp(l, lane);
    acu_ptx_lower_form(l, form, slots);
    if (!direct)
        emit_resize(l, acu_ptx_register_slot(l, d->number), size, slots[0], lane, type);
}
