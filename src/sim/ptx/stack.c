/*
 * alloca, stacksave and stackrestore. What a lane allocates lies at the end of its local memory,
 * the next below the one before, and is there until the function that allocated it returns.
 */
#include "sim/ptx/grid.h"
#include "sim/ptx/lower_inside.h"

#include <string.h>

enum { LEAST_ALIGN = 8, MOST_ALIGN = 1 << 23 };

/* Returns where the frames end below which no lane may allocate. */
static uint64_t end_of_frames(const ptx_warp *w) {
    const uint64_t end = (uint64_t)w->frame->local + w->frame->function->frame;
    return end > w->code->local_bytes ? end : w->code->local_bytes;
}

static uint64_t read_lane(const ptx_warp *w, const ptx_op *op, unsigned lane) {
    uint64_t value = 0;
    memcpy(&value, (const char *)ptx_at(w, op->a) + (size_t)lane * op->size, op->size);
    return value;
}

static void write_lane(const ptx_warp *w, const ptx_op *op, unsigned lane, uint64_t value) {
    memcpy((char *)ptx_at(w, op->d) + (size_t)lane * op->size, &value, op->size);
}

static uint64_t pointer_of(const ptx_warp *w, unsigned lane) {
    return w->local_bytes - w->allocated[lane];
}

/* `value` is the alignment. */
static void allocate(ptx_warp *w, const ptx_op *op) {
    for (uint32_t left = w->mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        const uint64_t size = read_lane(w, op, lane), top = pointer_of(w, lane),
                       pointer = size > top ? 0 : (top - size) & ~((uint64_t)op->value - 1);
        if (pointer < end_of_frames(w) || size > top)
            acu_ptx_fail(w, lane, op, 700, 0,
                         "the stack of %zu bytes has no room for %llu more: see cudaLimitStackSize",
                         w->local_bytes, (unsigned long long)size);
        w->allocated[lane] = (uint32_t)(w->local_bytes - pointer);
        write_lane(w, op, lane, pointer);
    }
}

static void save(ptx_warp *w, const ptx_op *op) {
    for (unsigned lane = 0; lane < PTX_LANES; lane++)
        write_lane(w, op, lane, pointer_of(w, lane));
}

static void restore(ptx_warp *w, const ptx_op *op) {
    for (uint32_t left = w->mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        const uint64_t pointer = read_lane(w, op, lane);
        if (pointer < pointer_of(w, lane) || pointer > w->local_bytes)
            acu_ptx_fail(w, lane, op, 700, pointer,
                         "the stack cannot be restored to 0x%llx, which no stacksave before gave",
                         (unsigned long long)pointer);
        w->allocated[lane] = (uint32_t)(w->local_bytes - pointer);
    }
}

/* ---- lowering ---- */

static ptx_type take_type(ptx_lowering *l, const ptx_instruction *i) {
    ptx_words words;
    acu_ptx_words(l, i, &words);
    const ptx_type type = acu_ptx_take_type(&words);
    acu_ptx_words_end(l, &words);
    if (type != PTX_U32 && type != PTX_U64)
        acu_ptx_invalid(l, "Unexpected instruction types specified for '%s'",
                        acu_ptx_first_word(l));
    return type;
}

static int64_t take_align(ptx_lowering *l, const ptx_operand *o) {
    if (o->kind != PTX_INTEGER)
        acu_ptx_mismatch(l);
    if (!o->bits || o->bits & (o->bits - 1))
        acu_ptx_invalid(l, "Alignment must be a power of two");
    if (o->bits > MOST_ALIGN)
        acu_ptx_invalid(l, "Alignment value too large, exceeds 2^23");
    return o->bits < LEAST_ALIGN ? LEAST_ALIGN : (int64_t)o->bits;
}

void acu_ptx_lower_alloca(ptx_lowering *l, const ptx_instruction *i) {
    const ptx_type type = take_type(l, i);
    if (i->operand_count < 2 || i->operand_count > 3)
        acu_ptx_mismatch(l);
    const int64_t align = i->operand_count == 3 ? take_align(l, &i->operands[2]) : LEAST_ALIGN;
    const ptx_slot size = acu_ptx_source(l, &i->operands[1], type),
                   d = acu_ptx_target(l, &i->operands[0], type);
    l->code->allocates = true;
    ptx_op *op = acu_ptx_emit(l, allocate);
    op->d = d;
    op->a = size;
    op->size = (uint8_t)acu_ptx_type_size(type);
    op->value = align;
}

void acu_ptx_lower_stacksave(ptx_lowering *l, const ptx_instruction *i) {
    const ptx_type type = take_type(l, i);
    if (i->operand_count != 1)
        acu_ptx_mismatch(l);
    const unsigned size = (unsigned)acu_ptx_type_size(type);
    const ptx_slot d = acu_ptx_target(l, &i->operands[0], type);
    acu_ptx_emit_pure(l, save, d, size)->size = (uint8_t)size;
}

void acu_ptx_lower_stackrestore(ptx_lowering *l, const ptx_instruction *i) {
    const ptx_type type = take_type(l, i);
    if (i->operand_count != 1)
        acu_ptx_mismatch(l);
    if (i->operands[0].kind != PTX_REGISTER)
        acu_ptx_invalid(l, "Result register required for instruction '%s'", acu_ptx_first_word(l));
    const ptx_slot a = acu_ptx_source(l, &i->operands[0], type);
    ptx_op *op = acu_ptx_emit(l, restore);
    op->a = a;
    op->size = (uint8_t)acu_ptx_type_size(type);
}
