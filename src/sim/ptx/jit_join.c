/* Stores of constants side by side in local memory, as those that fill a table, become fewer and
 * larger ones. */
#include "sim/ptx/access.h"
#include "sim/ptx/jit_inside.h"
#include "sim/ptx/lower_inside.h"

#include <stddef.h>

enum { MOST = 8 }; /* bytes of one store */

void acu_jit_write_store_same(ptx_making *m) {
    static const struct {
        unsigned size;
        x86_move move;
    } stores[] = {
        {1, X86_STORE_BYTE}, {2, X86_STORE_SHORT}, {4, X86_STORE_WORD}, {8, X86_STORE_LONG}};
    x86 *x = &m->x;
    for (unsigned n = 0; n < sizeof stores / sizeof *stores; n++) {
        m->store_same[stores[n].size] = x->size;
        acu_x86_long(x, X86_MOV, X86_RDX, acu_jit_in_warp(offsetof(ptx_warp, local_stride)));
        acu_x86_word(x, X86_XOR, X86_RAX, x86_in(X86_RAX));
        acu_x86_long(x, X86_MOV, X86_R11, x86_in(X86_RDX));
        acu_x86_shift_long(x, X86_R11, 2);
        acu_x86_long(x, X86_MOV, X86_RCX, x86_in(X86_R11));
        acu_x86_long(x, X86_SUB, X86_RCX, x86_in(X86_RDX));
        for (unsigned lane = 0; lane < PTX_LANES; lane += 4) {
            acu_x86_move_indexed(x, stores[n].move, X86_R10, X86_R9, X86_RAX, 1);
            acu_x86_move_indexed(x, stores[n].move, X86_R10, X86_R9, X86_RDX, 1);
            acu_x86_move_indexed(x, stores[n].move, X86_R10, X86_R9, X86_RDX, 2);
            acu_x86_move_indexed(x, stores[n].move, X86_R10, X86_R9, X86_RCX, 1);
            acu_x86_long(x, X86_ADD, X86_R9, x86_in(X86_R11));
        }
        acu_x86_return(x);
    }
}

/* Returns whether the operation stores a constant where all lanes have one address, which it
 * writes.
 */
static bool stores_constant(const ptx_making *m, const ptx_op *op, uint64_t *value) {
    if (acu_jit_access_kind(op) != 2)
        return false;
    const ptx_access *access = op->more;
    return access->space == PTX_LOCAL && !access->narrow && access->count == 1 &&
           acu_jit_is_uniform(m, op->a) && acu_jit_is_constant(m, access->slots[0], value);
}

/* Returns how many bytes the operation and those up to the one before `end` store, which are up to
 * MOST and a power of two, and writes these. */
static unsigned join(const ptx_making *m, const ptx_op *op, uint64_t *bytes, uint32_t *end) {
    const ptx_code *code = m->code;
    uint64_t all = 0, value = 0;
    unsigned count = 0, joined = 0;
    for (uint32_t n = m->at; n < code->count && count < MOST; n++) {
        const ptx_op *next = &code->ops[n];
        if ((n > m->at && m->leads[n]) || next->flow)
            break;
        if (next->full == acu_ptx_nothing)
            continue;
        if (!stores_constant(m, next, &value) || next->a != op->a ||
            next->value != op->value + count)
            break;
        const unsigned size = ((const ptx_access *)next->more)->size;
        if (count + size > MOST)
            break;
        value = size < 8 ? value & ((UINT64_C(1) << 8 * size) - 1) : value;
        all |= value << 8 * count;
        count += size;
        if (!(count & (count - 1)) && n > m->at) {
            joined = count;
            *bytes = all;
            *end = n + 1;
        }
    }
    return joined;
}

bool acu_jit_join_stores(ptx_making *m, const ptx_op *op) {
    x86 *x = &m->x;
    uint64_t bytes = 0, value;
    uint32_t end = 0;
    if (m->masked || !stores_constant(m, op, &value))
        return false;
    const unsigned size = join(m, op, &bytes, &end);
    jit_aside *aside = size ? acu_jit_aside(m, op) : NULL;
    if (!aside)
        return false;
    __builtin_memcpy(aside->before, m->groups, sizeof m->groups);
    aside->joined_with = end - m->at - 1;
    acu_jit_check_local(m, op, aside, size);
    acu_x86_long(x, X86_MOV, X86_R9, x86_in(X86_R8));
    acu_x86_load_number(x, X86_R10, bytes);
    acu_x86_land(x, acu_x86_call_near(x), m->store_same[size]);
    aside->back = x->size;
    __builtin_memcpy(aside->after, m->groups, sizeof m->groups);
    acu_jit_forget_masks(m);
    m->joined_end = end;
    return true;
}
