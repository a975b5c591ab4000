/* From functions to code: what all instructions have in common. */
#include "sim/ptx/check.h"
#include "sim/ptx/form.h"
#include "sim/ptx/lower_inside.h"
#include "sim/ptx/registers.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- errors ---- */

static _Noreturn void end_with(ptx_lowering *l, ptx_result result, const char *format,
                               va_list list) {
    ptx_place place = l->instruction ? l->instruction->place : (ptx_place){0, 0};
    int used = snprintf(l->error->text, sizeof l->error->text,
                        "ptxas application ptx input, line %u; error   : ", place.line);
    vsnprintf(l->error->text + used, sizeof l->error->text - (size_t)used, format, list);
    l->error->place = place;
    l->result = result;
    longjmp(l->end, 1);
}

void acu_ptx_invalid(ptx_lowering *l, const char *format, ...) {
    va_list list;
    va_start(list, format);
    end_with(l, PTX_INVALID, format, list);
}

void acu_ptx_not_simulated(ptx_lowering *l, const char *format, ...) {
    va_list list;
    va_start(list, format);
    end_with(l, PTX_NOT_SIMULATED, format, list);
}

const char *acu_ptx_first_word(ptx_lowering *l) {
    snprintf(l->first_word, sizeof l->first_word, "%.*s", (int)strcspn(l->instruction->opcode, "."),
             l->instruction->opcode);
    return l->first_word;
}

void acu_ptx_mismatch(ptx_lowering *l) {
    acu_ptx_invalid(l, "Arguments mismatch for instruction '%s'", acu_ptx_first_word(l));
}

_Noreturn void acu_ptx_end_without_memory(ptx_lowering *l) {
    l->result = PTX_NO_MEMORY;
    longjmp(l->end, 1);
}

void *acu_ptx_lower_alloc(ptx_lowering *l, size_t size) {
    void *at = acu_ptx_arena_alloc(l->arena, size);
    if (!at)
        acu_ptx_end_without_memory(l);
    return at;
}

void *acu_ptx_grow(ptx_lowering *l, void *array, uint32_t count, uint32_t *room, size_t size) {
    if (count < *room)
        return array;
    uint32_t more = *room ? *room * 2 : 64;
    void *grown = more > UINT32_MAX / 2 ? NULL : realloc(array, more * size);
    if (!grown)
        acu_ptx_end_without_memory(l);
    *room = more;
    return grown;
}

/* ---- slots ---- */

/* Returns the bytes of a slot: every one begins a line of the processor's cache, and a predicate
 * has a bit of its own in sets of slots. */
static uint32_t slot_bytes(unsigned size) {
    return size ? size * PTX_LANES : 128;
}

ptx_slot acu_ptx_add_slot(ptx_lowering *l, unsigned size) {
    if (l->validates)
        return 0;
    uint32_t bytes = slot_bytes(size);
    if (l->code->warp_bytes > PTX_SLOT_OFFSET(~0u) - bytes)
        acu_ptx_not_simulated(l, "%s has more registers than the simulator has room for",
                              l->code->entry->name);
    ptx_slot slot = PTX_SLOT(PTX_BANK_WARP, l->code->warp_bytes);
    l->code->warp_bytes += bytes;
    return slot;
}

ptx_slot acu_ptx_temp(ptx_lowering *l, unsigned size) {
    uint32_t bytes = slot_bytes(size);
    if (l->temp_used + bytes > PTX_TEMP_BYTES)
        return acu_ptx_add_slot(l, size);
    l->temp_used += bytes;
    return PTX_SLOT(PTX_BANK_WARP, l->temp_used - bytes);
}

ptx_slot acu_ptx_state(ptx_lowering *l, unsigned key, unsigned size) {
    if (!l->has_state[key])
        l->state[key] = acu_ptx_add_slot(l, size);
    l->has_state[key] = true;
    return l->state[key];
}

unsigned acu_ptx_register_size(const ptx_lowering *l, const ptx_operand *operand) {
    return acu_ptx_size_of_register(&l->functions[l->current].function->registers[operand->number]);
}

ptx_slot acu_ptx_register_slot(ptx_lowering *l, unsigned number) {
    ptx_lowered *f = &l->functions[l->current];
    if (l->validates)
        return 0;
    if (f->slots[number] == UINT32_MAX) {
        const ptx_register *r = &f->function->registers[number];
        if (r->is_vector)
            acu_ptx_not_simulated(l, "the parameter %s is a vector of registers", r->name);
        if (l->trial)
            return 0;
        f->slots[number] = acu_ptx_add_slot(l, acu_ptx_size_of_register(r));
    }
    return f->slots[number];
}

/* ---- constants ---- */

static bool same_constant(const ptx_constant *a, const ptx_constant *b) {
    return a->kind == b->kind && a->size == b->size && a->bits == b->bits &&
           a->variable == b->variable && a->special == b->special && a->component == b->component &&
           a->param_size == b->param_size && a->is_signed == b->is_signed;
}

static uint32_t hash_of(const ptx_constant *c) {
    uint64_t h = c->bits * UINT64_C(0x9e3779b97f4a7c15) ^ (uintptr_t)c->variable ^ c->kind ^
                 (uint64_t)c->size << 8 ^ (uint64_t)c->special << 16 ^ (uint64_t)c->component << 24;
    h *= UINT64_C(0xff51afd7ed558ccd);
    return (uint32_t)(h >> 32);
}

static void rehash(ptx_lowering *l) {
    uint32_t size = l->hash_size ? l->hash_size * 4 : 256;
    uint32_t *hash = calloc(size, sizeof *hash);
    if (!hash)
        acu_ptx_end_without_memory(l);
    for (uint32_t n = 0; n < l->code->constant_count; n++) {
        uint32_t at = hash_of(&l->code->constants[n]) % size;
        while (hash[at])
            at = (at + 1) % size;
        hash[at] = n + 1;
    }
    free(l->constant_hash);
    l->constant_hash = hash;
    l->hash_size = size;
}

static ptx_slot add_constant(ptx_lowering *l, ptx_constant wanted) {
    ptx_code *code = l->code;
    if (l->validates)
        return 0;
    if (code->constant_count * 2 >= l->hash_size)
        rehash(l);
    uint32_t at = hash_of(&wanted) % l->hash_size;
    for (; l->constant_hash[at]; at = (at + 1) % l->hash_size)
        if (same_constant(&code->constants[l->constant_hash[at] - 1], &wanted))
            return code->constants[l->constant_hash[at] - 1].slot;
    code->constants =
        acu_ptx_grow(l, code->constants, code->constant_count, &l->constant_room, sizeof wanted);
    wanted.slot = PTX_SLOT(PTX_BANK_LAUNCH, code->launch_bytes);
    code->launch_bytes += slot_bytes(wanted.size);
    code->constants[code->constant_count++] = wanted;
    l->constant_hash[at] = code->constant_count;
    return wanted.slot;
}

ptx_slot acu_ptx_constant(ptx_lowering *l, uint64_t bits, unsigned size) {
    if (size && size < 8)
        bits &= (UINT64_C(1) << size * 8) - 1;
    return add_constant(
        l, (ptx_constant){.kind = PTX_CONSTANT_BITS, .size = (uint8_t)size, .bits = bits});
}

ptx_slot acu_ptx_param_as(ptx_lowering *l, uint64_t offset, unsigned size, unsigned register_size,
                          bool is_signed) {
    return add_constant(l, (ptx_constant){.kind = PTX_CONSTANT_PARAM,
                                          .size = (uint8_t)register_size,
                                          .bits = offset,
                                          .param_size = (uint8_t)size,
                                          .is_signed = is_signed});
}

/* ---- shared memory ---- */

/* What a GPU reserves in each block's shared memory, for barriers of cooperative groups. */
enum { RESERVED_IN_USE = 288 };
static const ptx_variable reserved = {
    .name = "what CUDA reserves", .space = PTX_SHARED, .align = 128, .size = PTX_RESERVED_SHARED};

/* Returns the offset of a shared variable with an extent, which has its place at its first use. */
static uint32_t place_shared(ptx_lowering *l, const ptx_variable *v) {
    ptx_code *code = l->code;
    for (const ptx_code_shared *s = code->shared; s; s = s->next)
        if (s->variable == v)
            return s->at;
    ptx_code_shared *shared = acu_ptx_lower_alloc(l, sizeof *shared);
    size_t align = v->align ? v->align : 1;
    uint64_t at = (code->shared_bytes + align - 1) / align * align;
    if (at + v->size > 1 << 28)
        acu_ptx_invalid(l, "%s uses too much shared data", code->entry->name);
    if (v != &reserved)
        code->static_shared =
            (uint32_t)((code->static_shared + align - 1) / align * align + v->size);
    *shared = (ptx_code_shared){v, (uint32_t)at, code->shared};
    code->shared = shared;
    code->shared_bytes = (uint32_t)(at + v->size);
    if (code->watch.checks & PTX_CHECK_MEMORY)
        code->shared_bytes += PTX_CHECK_GAP;
    return (uint32_t)at;
}

/* Returns the slot of a register that says where the reserved memory is, and the part of it in use,
 * which is as large as an H200's. A GPU's lies below all variables, in every block; here a kernel
 * has it among them, if it asks. */
static ptx_slot reserved_place(ptx_lowering *l, const ptx_operand *o, unsigned size) {
    const uint32_t at = place_shared(l, &reserved);
    l->code->reserved_at = at;
    l->code->reserved_bytes = (uint32_t)reserved.size;
    switch (o->special) {
    case PTX_RESERVED_SMEM_END:
        return acu_ptx_constant(l, at + RESERVED_IN_USE, size);
    case PTX_RESERVED_SMEM_CAP:
        return acu_ptx_constant(l, reserved.size, size);
    default:
        return acu_ptx_constant(l, at, size);
    }
}

ptx_slot acu_ptx_special(ptx_lowering *l, const ptx_operand *o, unsigned size) {
    if (l->validates)
        return 0;
    unsigned component = o->has_component ? o->component : o->special == PTX_ENVREG ? o->number : 0;
    ptx_special_slot wanted = {
        .special = o->special, .component = component, .size = (uint8_t)size};
    if (o->special >= PTX_RESERVED_SMEM_BEGIN && o->special <= PTX_RESERVED_SMEM_OFFSET)
        return reserved_place(l, o, size);
    if (acu_ptx_special_is_constant(o->special))
        return add_constant(l, (ptx_constant){.kind = PTX_CONSTANT_SPECIAL,
                                              .size = (uint8_t)size,
                                              .special = o->special,
                                              .component = component});
    for (uint32_t n = 0; n < l->code->special_count; n++) {
        const ptx_special_slot *s = &l->code->specials[n];
        if (s->special == wanted.special && s->component == wanted.component &&
            s->size == wanted.size)
            return s->slot;
    }
    if (acu_ptx_special_is_of_block(o->special)) {
        wanted.slot = PTX_SLOT(PTX_BANK_BLOCK, l->code->block_bytes);
        l->code->block_bytes += slot_bytes(size);
    } else {
        wanted.slot = acu_ptx_add_slot(l, size);
    }
    l->code->specials =
        acu_ptx_grow(l, l->code->specials, l->code->special_count, &l->special_room, sizeof wanted);
    l->code->specials[l->code->special_count++] = wanted;
    return wanted.slot;
}

/* ---- operands ---- */

static uint64_t float_bits(const ptx_operand *o, ptx_type type) {
    double wide;
    float single;
    memcpy(&wide, &o->bits, sizeof wide);
    if (o->type == PTX_F32) {
        uint32_t bits = (uint32_t)o->bits;
        memcpy(&single, &bits, sizeof single);
        wide = single;
    }
    if (o->type == PTX_F32 && type == PTX_F32)
        return o->bits;
    if (acu_ptx_type_size(type) == 4) {
        single = (float)wide;
        uint32_t bits;
        memcpy(&bits, &single, sizeof bits);
        return bits;
    }
    uint64_t bits;
    memcpy(&bits, &wide, sizeof bits);
    return bits;
}

static bool is_float(ptx_type type) {
    return type == PTX_F32 || type == PTX_F64;
}

static bool is_bits(ptx_type type) {
    return type == PTX_B8 || type == PTX_B16 || type == PTX_B32 || type == PTX_B64 ||
           type == PTX_B128;
}

static bool is_integer(ptx_type type) {
    return type == PTX_U8 || type == PTX_S8 || type == PTX_U16 || type == PTX_S16 ||
           type == PTX_U32 || type == PTX_S32 || type == PTX_U64 || type == PTX_S64;
}

/* Whether an instruction may take an operand of that type for what it wants, which may be narrower:
 * bits go with everything, integers not with floats, a float only with its own type, and a byte
 * only with bytes. The 32 bits of a float are wanted as those of tf32. */
static bool agree(ptx_type declared, ptx_type wanted) {
    if (acu_ptx_type_size(declared) == 1 && declared != PTX_PRED && acu_ptx_type_size(wanted) > 1)
        return false;
    if (is_float(declared) && !is_bits(wanted))
        return declared == wanted || (declared == PTX_F32 && wanted == PTX_TF32);
    return is_bits(declared) || is_bits(wanted) || is_integer(declared) == is_integer(wanted);
}

void acu_ptx_check_type(ptx_lowering *l, const ptx_operand *o, ptx_type type) {
    if (o->kind == PTX_REGISTER && !agree(o->type, type))
        acu_ptx_mismatch(l);
}

/* Returns the slot of a register that is read or written. */
static ptx_slot register_of(ptx_lowering *l, const ptx_operand *o, ptx_type type) {
    const unsigned size = type == PTX_PRED ? 0 : (unsigned)acu_ptx_type_size(type);
    if (o->kind != PTX_REGISTER || acu_ptx_register_size(l, o) != size || !agree(o->type, type))
        acu_ptx_mismatch(l);
    return acu_ptx_register_slot(l, o->number);
}

/* Returns the slot of the offset of a shared variable. What is dynamic lies behind all that is
 * static. */
static ptx_slot shared_address(ptx_lowering *l, const ptx_variable *v, uint64_t offset,
                               unsigned size) {
    ptx_code *code = l->code;
    if (l->validates)
        return 0;
    if (!v->size) {
        code->shared_align =
            v->align > code->shared_align ? (uint32_t)v->align : code->shared_align;
        return add_constant(
            l, (ptx_constant){.kind = PTX_CONSTANT_SHARED, .size = (uint8_t)size, .bits = offset});
    }
    return acu_ptx_constant(l, place_shared(l, v) + offset, size);
}

/* Returns the slot of the address of a variable. */
static ptx_slot address_of(ptx_lowering *l, const ptx_operand *o, unsigned size) {
    const ptx_variable *v = o->variable;
    uint64_t offset = (uint64_t)o->offset;
    if (v->type == PTX_SAMPLERREF || (acu_ptx_is_reference(v) && v->space == PTX_PARAM))
        acu_ptx_not_simulated(
            l,
            "the simulator has no samplers and no references that are parameters, "
            "such as %s: use a texture or surface object",
            v->name);
    switch (v->space) {
    case PTX_SHARED:
        return shared_address(l, v, offset, size);
    case PTX_PARAM:
        if (acu_ptx_is_kernel_param(l, v))
            return acu_ptx_constant(l, v->at + offset, size);
        return acu_ptx_frame_address(l, v, offset, size);
    case PTX_LOCAL:
        return acu_ptx_frame_address(l, v, offset, size);
    default:
        return add_constant(l, (ptx_constant){.kind = PTX_CONSTANT_VARIABLE,
                                              .size = (uint8_t)size,
                                              .bits = offset,
                                              .variable = v});
    }
}

ptx_slot acu_ptx_address_of(ptx_lowering *l, ptx_variable *variable) {
    return address_of(l, &(ptx_operand){.kind = PTX_VARIABLE, .variable = variable}, 8);
}

/* Whether a variable may be an operand, which is its address. */
static bool takes_addresses(const ptx_instruction *i) {
    return acu_ptx_is(i, "mov") || acu_ptx_is(i, "cvta") || acu_ptx_is(i, "mapa") ||
           acu_ptx_is(i, "getctarank") || acu_ptx_is(i, "call");
}

static bool is_half_or_pair(ptx_type type) {
    return type == PTX_F16 || type == PTX_BF16 || type == PTX_F16X2 || type == PTX_BF16X2 ||
           type == PTX_U16X2 || type == PTX_S16X2;
}

/* Refuses a constant that ptxas does not convert: 0f… is 32 bits, and any other number of floating
 * point 64, where bits are wanted. */
static void check_constant(ptx_lowering *l, const ptx_operand *o, ptx_type type) {
    const size_t size = o->type == PTX_F32 ? 4 : 8;
    if (is_half_or_pair(type) || (o->kind == PTX_INTEGER && is_float(type)) ||
        (o->kind == PTX_FLOAT && !is_float(type) &&
         !(is_bits(type) && acu_ptx_type_size(type) == size)))
        acu_ptx_mismatch(l);
}

/* Whether the instruction is a cvt from an integer to another one: cvt.sat.u8.s32. */
static bool converts_integer(const ptx_instruction *i) {
    return acu_ptx_is(i, "cvt") && !strstr(i->opcode, ".pack") && !strchr(i->opcode, 'f') &&
           !strstr(i->opcode, ".r");
}

/* Refuses a special register where a register is needed, and one of another size. */
static void check_special(ptx_lowering *l, const ptx_operand *o, ptx_type type) {
    const ptx_instruction *i = l->instruction;
    const bool stores_vector = acu_ptx_is(i, "st") && strstr(i->opcode, ".v");
    const size_t size = type == PTX_PRED ? 0 : acu_ptx_type_size(type);
    if (o->special <= PTX_CLUSTER_NCTAID && !o->has_component)
        acu_ptx_invalid(l, "Argument vector size mismatch for instruction '%s'",
                        acu_ptx_first_word(l));
    if (is_float(type) || !(stores_vector || acu_ptx_is(i, "mov") || converts_integer(i)))
        acu_ptx_invalid(l, "Special register argument not allowed for instruction '%s'",
                        acu_ptx_first_word(l));
    if (!acu_ptx_special_has_size(o->special, size) &&
        !(acu_ptx_is(i, "cvt") && (size < 8 || acu_ptx_special_has_size(o->special, 8))))
        acu_ptx_mismatch(l);
}

/* Returns a slot with the opposite of a predicate, or of a number of floating point. */
static ptx_slot negated(ptx_lowering *l, ptx_slot slot, ptx_type type) {
    static const char *const opcodes[PTX_B128] = {
        [PTX_PRED] = "not.pred",    [PTX_F32] = "neg.f32",   [PTX_F64] = "neg.f64",
        [PTX_F16] = "neg.f16",      [PTX_BF16] = "neg.bf16", [PTX_F16X2] = "neg.f16x2",
        [PTX_BF16X2] = "neg.bf16x2"};
    if (!opcodes[type])
        return slot;
    unsigned size = type == PTX_PRED ? 0 : (unsigned)acu_ptx_type_size(type);
    const ptx_form *form = acu_ptx_form_find(opcodes[type]);
    ptx_slot result = acu_ptx_temp(l, size);
    acu_ptx_emit_pure(l, acu_ptx_lane_handlers(l->code->level)[form->handler], result, size)->a =
        slot;
    return result;
}

ptx_slot acu_ptx_source(ptx_lowering *l, const ptx_operand *o, ptx_type type) {
    unsigned size = type == PTX_PRED ? 0 : (unsigned)acu_ptx_type_size(type);
    switch (o->kind) {
    case PTX_REGISTER:;
        ptx_slot slot = register_of(l, o, type);
        return o->negated ? negated(l, slot, type) : slot;
    case PTX_INTEGER:
        check_constant(l, o, type);
        return acu_ptx_constant(l, size ? o->bits : -(o->bits & 1), size);
    case PTX_FLOAT:
        check_constant(l, o, type);
        return acu_ptx_constant(
            l, is_float(type) || o->type == PTX_F64 ? float_bits(o, type) : o->bits, size);
    case PTX_SPECIAL_REGISTER:
        check_special(l, o, type);
        if (acu_ptx_special_is_clock(o->special))
            return acu_ptx_clock(l, o, size);
        return acu_ptx_special(l, o, size);
    case PTX_VARIABLE:
        if (o->has_index && (!takes_addresses(l->instruction) ||
                             strncmp(l->instruction->opcode, "cvta.to.", 8) == 0))
            acu_ptx_mismatch(l);
        if (!o->has_offset && !takes_addresses(l->instruction))
            acu_ptx_invalid(l, "An argument of instruction '%s' must be register, and not '%s'",
                            acu_ptx_first_word(l), o->variable->name);
        return address_of(l, o, size);
    case PTX_FUNCTION:
        return acu_ptx_constant(l, acu_ptx_function_pointer(l->module, o->function), size);
    default:
        acu_ptx_mismatch(l);
    }
}

void acu_ptx_refuse_sink(ptx_lowering *l, const ptx_operand *o) {
    if (o->kind == PTX_SINK)
        acu_ptx_invalid(l, "Result discard mode is not allowed for instruction '%s'",
                        acu_ptx_first_word(l));
}

ptx_slot acu_ptx_target(ptx_lowering *l, const ptx_operand *o, ptx_type type) {
    unsigned size = type == PTX_PRED ? 0 : (unsigned)acu_ptx_type_size(type);
    if (o->kind == PTX_SINK)
        return acu_ptx_temp(l, size);
    return register_of(l, o, type);
}

const ptx_operand *acu_ptx_element(const ptx_operand *o, unsigned n) {
    return o->kind == PTX_LIST ? &o->elements[n] : o;
}

/* ---- operations ---- */

static ptx_op *add_op(ptx_lowering *l) {
    ptx_code *code = l->code;
    code->ops = acu_ptx_grow(l, code->ops, code->count, &l->op_room, sizeof *code->ops);
    ptx_op *op = memset(&code->ops[code->count++], 0, sizeof *code->ops);
    op->instruction = l->instruction;
    return op;
}

ptx_op *acu_ptx_emit(ptx_lowering *l, ptx_handler *handler) {
    ptx_op *op = add_op(l);
    op->full = op->masked = handler;
    return op;
}

ptx_op *acu_ptx_emit_flow(ptx_lowering *l, ptx_flow *flow) {
    ptx_op *op = add_op(l);
    op->flow = flow;
    return op;
}

ptx_op *acu_ptx_emit_pure(ptx_lowering *l, ptx_handler *handler, ptx_slot d, unsigned size) {
    ptx_op *op = add_op(l);
    op->full = handler;
    op->masked = acu_ptx_masked(size);
    op->d = d;
    op->size = (uint8_t)size;
    return op;
}

/* Returns whether what is in the slot stays the same while the warp runs. */
static bool is_constant(const ptx_lowering *l, ptx_slot slot) {
    if (PTX_SLOT_BANK(slot) != PTX_BANK_WARP)
        return true;
    for (uint32_t n = 0; n < l->code->special_count; n++)
        if (l->code->specials[n].slot == slot)
            return true;
    return false;
}

void acu_ptx_emit_copy(ptx_lowering *l, unsigned number, unsigned size, ptx_slot from) {
    if (l->trial && is_constant(l, from)) {
        l->functions[l->current].slots[number] = from;
        return;
    }
    ptx_slot d = acu_ptx_register_slot(l, number);
    acu_ptx_emit_pure(l, acu_ptx_copy_all, d, size)->a = from;
}

uint32_t acu_ptx_site(ptx_lowering *l) {
    return l->code->sites++;
}
