/* Moves, vectors, and addresses in state spaces. */
#include "sim/ptx/cluster.h"
#include "sim/ptx/grid.h"
#include "sim/ptx/lower_inside.h"

#include <string.h>

/* Take a part of each lane, `value` bytes from the beginning of an element of `flags` bytes. A byte
 * becomes 16 bits. */
void acu_ptx_take_part(ptx_warp *w, const ptx_op *op) {
    char *d = ptx_at(w, op->d);
    const char *a = (const char *)ptx_at(w, op->a) + op->value;
    for (unsigned i = 0; i < PTX_LANES; i++)
        memcpy(d + (size_t)i * op->size, a + (size_t)i * op->flags, op->size);
}

static void take_byte(ptx_warp *w, const ptx_op *op) {
    uint16_t *d = ptx_at(w, op->d);
    const unsigned char *a = (const unsigned char *)ptx_at(w, op->a) + op->value;
    for (unsigned i = 0; i < PTX_LANES; i++)
        d[i] = a[(size_t)i * op->flags];
}

/* Put parts together: `flags` is the bytes of one, and each lies in an element of `step` bytes. */
static void put(ptx_warp *w, const ptx_op *op, unsigned step) {
    const ptx_slot *parts = (const ptx_slot *)(intptr_t)op->value;
    char *d = ptx_at(w, op->d);
    for (unsigned n = 0; n * op->flags < op->size; n++) {
        const char *part = ptx_at(w, parts[n]);
        for (unsigned i = 0; i < PTX_LANES; i++)
            memcpy(d + (size_t)i * op->size + (size_t)n * op->flags, part + (size_t)i * step,
                   op->flags);
    }
}

static void put_parts(ptx_warp *w, const ptx_op *op) {
    put(w, op, op->flags);
}

void acu_ptx_put_two(ptx_warp *w, const ptx_op *op) {
    put(w, op, op->flags);
}

static void put_bytes(ptx_warp *w, const ptx_op *op) {
    put(w, op, 2);
}

void acu_ptx_copy_all(ptx_warp *w, const ptx_op *op) {
    void *d = ptx_at(w, op->d);
    const void *a = ptx_at(w, op->a);
    if (op->size == 4)
        memmove(d, a, (size_t)4 * PTX_LANES); /* most often, and of a size that compilers know */
    else
        memmove(d, a, op->size ? (size_t)op->size * PTX_LANES : 4);
}

static unsigned size_of(ptx_lowering *l, const ptx_operand *o) {
    return o->kind == PTX_REGISTER ? acu_ptx_register_size(l, o) : 0;
}

/* mov.b64 {a, b}, c: c is taken apart. */
static void lower_unpack(ptx_lowering *l, const ptx_instruction *i, ptx_type type) {
    const ptx_operand *list = &i->operands[0];
    unsigned wide = (unsigned)acu_ptx_type_size(type),
             part = wide / (list->element_count ? list->element_count : 1);
    ptx_slot from = acu_ptx_source(l, &i->operands[1], type), copy = acu_ptx_temp(l, wide);
    ptx_op *op = acu_ptx_emit_pure(l, acu_ptx_copy_all, copy,
                                   wide); /* a part may be the register that is taken apart */
    op->a = from;
    for (unsigned n = 0; n < list->element_count; n++) {
        const ptx_operand *o = &list->elements[n];
        if (o->kind == PTX_SINK)
            continue;
        unsigned size = size_of(l, o);
        if (size != part && !(part == 1 && size == 2))
            acu_ptx_invalid(l, "Arguments mismatch for instruction 'mov'");
        ptx_slot d = acu_ptx_register_slot(l, o->number);
        op = acu_ptx_emit_pure(l, part == 1 ? take_byte : acu_ptx_take_part, d, size);
        op->a = copy;
        op->value = (int64_t)n * part;
        op->flags = (uint8_t)wide;
    }
}

/* Returns the slot of a part that is put together; a byte is a register of that size or a number.
 */
static ptx_slot part_of(ptx_lowering *l, const ptx_operand *o, unsigned size) {
    static const ptx_type types[] = {[2] = PTX_B16, [4] = PTX_B32, [8] = PTX_B64};
    if (size > 1)
        return acu_ptx_source(l, o, types[size]);
    if (o->kind == PTX_INTEGER)
        return acu_ptx_constant(l, o->bits, 2);
    if (o->kind != PTX_REGISTER || acu_ptx_type_size(o->type) != 1 || o->type == PTX_PRED)
        acu_ptx_invalid(l, "Arguments mismatch for instruction 'mov'");
    return acu_ptx_register_slot(l, o->number);
}

/* mov.b64 c, {a, b}: c is put together. */
static void lower_pack(ptx_lowering *l, const ptx_instruction *i, ptx_type type) {
    const ptx_operand *list = &i->operands[1];
    unsigned wide = (unsigned)acu_ptx_type_size(type),
             part = wide / (list->element_count ? list->element_count : 1);
    if (part != 1 && part != 2 && part != 4 && part != 8)
        acu_ptx_invalid(l, "Arguments mismatch for instruction 'mov'");
    ptx_slot *parts = acu_ptx_lower_alloc(l, list->element_count * sizeof *parts);
    for (unsigned n = 0; n < list->element_count; n++)
        parts[n] = part_of(l, &list->elements[n], part);
    ptx_slot d = acu_ptx_target(l, &i->operands[0], type), whole = acu_ptx_temp(l, wide);
    ptx_op *op = acu_ptx_emit_pure(l,
                                   part == 1                  ? put_bytes
                                   : list->element_count == 2 ? acu_ptx_put_two
                                                              : put_parts,
                                   whole, wide);
    if (list->element_count == 2) { /* for machine code */
        op->a = parts[0];
        op->b = parts[1];
    }
    op->value = (int64_t)(intptr_t)parts;
    op->flags = (uint8_t)part;
    op = acu_ptx_emit_pure(l, acu_ptx_copy_all, d, wide);
    op->a = whole;
}

static void copy_whole(ptx_lowering *l, const ptx_operand *to, ptx_slot from, ptx_type type) {
    unsigned size = type == PTX_PRED ? 0 : (unsigned)acu_ptx_type_size(type);
    if (to->kind == PTX_SINK && l->instruction->operands[0].kind == PTX_LIST)
        return;
    acu_ptx_refuse_sink(l, to);
    if (to->kind != PTX_REGISTER || acu_ptx_register_size(l, to) != size)
        acu_ptx_mismatch(l);
    acu_ptx_check_type(l, to, type);
    acu_ptx_emit_copy(l, to->number, size, from);
}

/* mov.v2.b32 {a, b}, {b, a}: all are read before the first one is written. mov.v4.u32 {a, b, c, d},
 * %tid: the fourth one is 0, or 1 of %ntid. */
static void lower_vector(ptx_lowering *l, const ptx_instruction *i, ptx_type type, unsigned count) {
    const ptx_operand *to = &i->operands[0], *from = &i->operands[1];
    const bool special = from->kind == PTX_SPECIAL_REGISTER && count == 4 && !from->has_component &&
                         from->special <= PTX_CLUSTER_NCTAID;
    const unsigned size = type == PTX_PRED ? 0 : (unsigned)acu_ptx_type_size(type);
    if (!size || to->kind != PTX_LIST || to->element_count != count ||
        (!special && (from->kind != PTX_LIST || from->element_count != count)))
        acu_ptx_invalid(l, "Argument vector size mismatch for instruction 'mov'");
    ptx_slot copies[8];
    for (unsigned n = 0; n < count; n++) {
        ptx_operand one = special ? *from : from->elements[n];
        if (special) {
            one.has_component = true;
            one.component = (unsigned char)n;
        }
        copies[n] = acu_ptx_temp(l, size);
        const ptx_slot read = acu_ptx_source(l, &one, type);
        acu_ptx_emit_pure(l, acu_ptx_copy_all, copies[n], size)->a = read;
    }
    for (unsigned n = 0; n < count; n++)
        copy_whole(l, &to->elements[n], copies[n], type);
}

void acu_ptx_lower_mov(ptx_lowering *l, const ptx_instruction *i) {
    ptx_words words;
    acu_ptx_words(l, i, &words);
    const int vector = acu_ptx_take_one(&words, "v2 v4 v8");
    ptx_type type = acu_ptx_take_type(&words);
    acu_ptx_words_end(l, &words);
    if (type == PTX_F16 || type == PTX_BF16 || type == PTX_F16X2 || type == PTX_BF16X2)
        acu_ptx_invalid(l, "Unexpected instruction types specified for 'mov'");
    if (i->operand_count != 2)
        acu_ptx_invalid(l, "Arguments mismatch for instruction 'mov'");
    if (vector >= 0) {
        lower_vector(l, i, type, 2u << vector);
    } else if (i->operands[0].kind == PTX_LIST) {
        lower_unpack(l, i, type);
    } else if (i->operands[1].kind == PTX_LIST) {
        lower_pack(l, i, type);
    } else {
        copy_whole(l, &i->operands[0], acu_ptx_source(l, &i->operands[1], type), type);
    }
}

/* ---- addresses ---- */

uint64_t acu_ptx_window_of(ptx_space space) {
    return space == PTX_SHARED || space == PTX_SHARED_CLUSTER ? PTX_SHARED_WINDOW
           : space == PTX_LOCAL                               ? PTX_LOCAL_WINDOW
           : space == PTX_PARAM                               ? PTX_PARAM_WINDOW
                                                              : 0;
}

static void add_value(ptx_warp *w, const ptx_op *op) {
    uint64_t *d = ptx_at(w, op->d);
    const uint64_t *a = ptx_at(w, op->a);
    for (unsigned i = 0; i < PTX_LANES; i++)
        d[i] = a[i] + (uint64_t)op->value;
}

void acu_ptx_lower_cvta(ptx_lowering *l, const ptx_instruction *i) {
    ptx_words words;
    acu_ptx_words(l, i, &words);
    bool to = acu_ptx_take(&words, "to");
    ptx_space space = acu_ptx_take_space(&words);
    uint64_t window = acu_ptx_window_of(space);
    ptx_type type = acu_ptx_take_type(&words);
    acu_ptx_words_end(l, &words);
    if (type != PTX_U64)
        acu_ptx_not_simulated(l, "addresses of 32 bits are not simulated");
    if (i->operand_count != 2)
        acu_ptx_mismatch(l);
    ptx_slot from = acu_ptx_source(l, &i->operands[1], PTX_U64);
    if (!window) {
        copy_whole(l, &i->operands[0], from, PTX_U64);
        return;
    }
    ptx_slot d = acu_ptx_target(l, &i->operands[0], PTX_U64);
    ptx_op *op = acu_ptx_emit_pure(l, add_value, d, 8);
    op->a = from;
    op->value = (int64_t)(to ? -window : window);
}

/* The module's variables in constant memory, which lie in global memory here. */
typedef struct constant_places {
    size_t count;
    bool inside; /* what is asked: whether an address is in one of them, or outside of all */
    struct {
        ptx_slot at;
        uint64_t size;
    } each[];
} constant_places;

static constant_places *constants_of(ptx_lowering *l, bool inside) {
    size_t count = 0;
    for (const ptx_variable *v = l->module->variables; v; v = v->next)
        count += v->space == PTX_CONST;
    constant_places *c = acu_ptx_lower_alloc(l, sizeof *c + count * sizeof *c->each);
    c->inside = inside;
    for (ptx_variable *v = l->module->variables; v && c->count < count; v = v->next)
        if (v->space == PTX_CONST) {
            c->each[c->count].at = acu_ptx_address_of(l, v);
            c->each[c->count++].size = v->size;
        }
    return c;
}

/* Whether addresses are constant memory's, or else global memory's, to which parameters belong. */
static void is_in_constants(ptx_warp *w, const ptx_op *op) {
    const constant_places *c = (const constant_places *)(uintptr_t)op->value; /* in the arena */
    const uint64_t *a = ptx_at(w, op->a);
    uint32_t bits = 0;
    for (unsigned i = 0; i < PTX_LANES; i++) {
        bool inside = false;
        for (size_t n = 0; n < c->count; n++)
            inside |= a[i] - ((const uint64_t *)ptx_at(w, c->each[n].at))[i] < c->each[n].size;
        const bool may_be =
            a[i] < PTX_SHARED_WINDOW || (!c->inside && a[i] - PTX_PARAM_WINDOW < PTX_WINDOW_SIZE);
        bits |= (uint32_t)(inside == c->inside && may_be) << i;
    }
    *(uint32_t *)ptx_at(w, op->d) = bits;
}

static void is_in_window(ptx_warp *w, const ptx_op *op) {
    const uint64_t *a = ptx_at(w, op->a);
    uint32_t bits = 0;
    for (unsigned i = 0; i < PTX_LANES; i++)
        bits |= (uint32_t)(op->value ? a[i] - (uint64_t)op->value < PTX_WINDOW_SIZE
                                     : a[i] < PTX_SHARED_WINDOW)
                << i;
    *(uint32_t *)ptx_at(w, op->d) = bits;
}

/* Whether addresses are of the block's own shared memory: an H200 says no of another block's. */
static void is_in_block(ptx_warp *w, const ptx_op *op) {
    const uint64_t *a = ptx_at(w, op->a);
    uint32_t bits = 0;
    for (unsigned i = 0; i < PTX_LANES; i++) {
        uint64_t at = a[i] - PTX_SHARED_WINDOW;
        const bool is_shared = at < PTX_WINDOW_SIZE;
        bits |= (uint32_t)(is_shared && acu_ptx_cluster_block(w->block, &at) == w->block) << i;
    }
    *(uint32_t *)ptx_at(w, op->d) = bits;
}

void acu_ptx_lower_isspacep(ptx_lowering *l, const ptx_instruction *i) {
    ptx_words words;
    acu_ptx_words(l, i, &words);
    ptx_space space = acu_ptx_take_space(&words);
    acu_ptx_words_end(l, &words);
    if (i->operand_count != 2)
        acu_ptx_mismatch(l);
    ptx_slot from = acu_ptx_source(l, &i->operands[1], PTX_U64),
             d = acu_ptx_target(l, &i->operands[0], PTX_PRED);
    const bool asks_constants = space == PTX_CONST || space == PTX_GLOBAL;
    constant_places *c = asks_constants ? constants_of(l, space == PTX_CONST) : NULL;
    ptx_op *op = acu_ptx_emit_pure(l,
                                   c                     ? is_in_constants
                                   : space == PTX_SHARED ? is_in_block
                                                         : is_in_window,
                                   d, 0);
    op->a = from;
    op->value = c ? (int64_t)(uintptr_t)c : (int64_t)acu_ptx_window_of(space);
}
