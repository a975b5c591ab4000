/* Calls of handlers, and code aside: what is seldom executed is behind the code of a block. */
#include "sim/ptx/grid.h"
#include "sim/ptx/jit_inside.h"
#include "sim/ptx/lower_inside.h"

#include <string.h>

jit_aside *acu_jit_aside(ptx_making *m, const ptx_op *op) {
    jit_aside *grown = acu_jit_grow(m, m->asides, m->aside_count, &m->aside_room, sizeof *grown);
    if (!grown)
        return NULL;
    m->asides = grown;
    memset(&grown[m->aside_count], 0, sizeof *grown);
    grown[m->aside_count].op = op;
    grown[m->aside_count].control = m->control;
    return &grown[m->aside_count++];
}

/* ---- handlers ---- */

static void call_handler(ptx_making *m, const ptx_op *op) {
    x86 *x = &m->x;
    acu_jit_set_control(m, JIT_KEEPS);
    acu_x86_zeroupper(x);
    acu_x86_long(x, X86_MOV, X86_RDI, x86_in(JIT_WARP));
    acu_x86_load_number(x, X86_RSI, (uintptr_t)op);
    acu_x86_call(x, x86_at(X86_RSI, m->masked || op->flow ? offsetof(ptx_op, masked)
                                                          : offsetof(ptx_op, full)));
}

void acu_jit_call(ptx_making *m, const ptx_op *op) {
    acu_jit_settle_all(m);
    acu_jit_flush(m);
    call_handler(m, op);
    acu_jit_forget(m);
    acu_jit_forget_masks(m);
    if (acu_ptx_is_masked(op->masked)) { /* it writes nothing but its results */
        acu_jit_wrote(m, op->d);
        if (op->count)
            acu_jit_wrote(m, op->e);
        return;
    }
    m->sum_count = m->pattern_count = 0;
    m->writes++;
    for (uint32_t n = 0; n < m->code->warp_bytes / 32; n++)
        m->versions[n] = m->writes;
}

/* Returns the access, or a copy of it whose address is in the scratch memory. */
static const ptx_op *place_address(ptx_making *m, const jit_aside *a) {
    if (!a->address.is_late)
        return a->op;
    acu_jit_sum_aside(m, &a->address);
    ptx_op *copy = &m->copies[m->copy_count++];
    *copy = *a->op;
    copy->a = PTX_SCRATCH;
    return copy;
}

/* Makes vectors have what they have behind an operation, which wrote it to memory. */
static void load_after(ptx_making *m, const jit_aside *a) {
    memcpy(m->groups, a->after, sizeof m->groups);
    for (unsigned g = 0; g < m->group_count; g++)
        if (m->groups[g].size)
            acu_jit_load_group(m, g);
}

/* Stores or loads the masks that are kept. */
static void keep_masks(ptx_making *m, bool loads) {
    enum { FIRST = 4, COUNT = 4 };
    for (unsigned n = 0; n < COUNT && m->wide; n++) {
        const x86_place place = acu_jit_in_frame(offsetof(jit_frame, masks) + 4 * (size_t)n);
        if (loads) {
            acu_x86_load_mask(&m->x, FIRST + n, 16, place);
            continue;
        }
        acu_x86_take_mask(&m->x, X86_RAX, FIRST + n);
        acu_x86_store_word(&m->x, place, X86_RAX);
    }
}

/* Calls the handler, from code aside. */
static void write_handler(ptx_making *m, const jit_aside *a) {
    acu_jit_flush(m);
    if (a->keeps_masks)
        keep_masks(m, false);
    call_handler(m, place_address(m, a));
    for (uint32_t n = 1; n <= a->joined_with; n++)
        if (a->op[n].full != acu_ptx_nothing)
            call_handler(m, &a->op[n]);
    if (a->keeps_masks)
        keep_masks(m, true);
    load_after(m, a);
}

/* Does nothing instead of an operation. */
static void write_skip(ptx_making *m, const jit_aside *a) {
    acu_jit_flush(m);
    load_after(m, a);
}

/* Finds a pattern, from code aside. */
static void write_find(ptx_making *m, const jit_aside *a) {
    const jit_known_pattern now = m->patterns[a->pattern];
    m->patterns[a->pattern] = a->known;
    acu_jit_find_pattern(m, a->pattern);
    m->patterns[a->pattern] = now;
}

enum { UNORDERED = 3 };

void acu_jit_fix_two(ptx_making *m, unsigned one, unsigned other, unsigned constant) {
    x86 *x = &m->x;
    jit_aside *aside = acu_jit_aside(m, NULL);
    if (!aside)
        return; /* there is no memory, and the code is worth nothing */
    acu_x86_vector_by(x, X86_CMPPS, 2, one, x86_in(other), UNORDERED); /* any of both is */
    acu_x86_test_mask(x, 2);
    aside->jumps[aside->jump_count++] = acu_x86_jump(x, X86_NOT_ZERO);
    aside->is_nan = true;
    aside->vectors[0] = (uint8_t)one;
    aside->vectors[1] = (uint8_t)other;
    aside->constant = constant;
    aside->back = x->size;
}

static void write_fix(ptx_making *m, const jit_aside *a) {
    x86 *x = &m->x;
    for (unsigned n = 0; n < 2; n++) {
        acu_x86_vector_by(x, X86_CMPPS, 2, a->vectors[n], x86_in(a->vectors[n]), UNORDERED);
        acu_x86_masked(x, X86_LOAD, a->vectors[n], X86_NONE, x86_at(JIT_POOL, (int32_t)a->constant),
                       2);
    }
}

/* Begins the machine code at an operation where vectors have values. */
static void write_enter(ptx_making *m, const jit_aside *a) {
    m->begins[a->entered - 1] = (uint32_t)m->x.size;
    if (a->count)
        acu_x86_long_by(&m->x, X86_SUB, acu_jit_in_frame(offsetof(jit_frame, count)),
                        (int32_t)a->count);
    for (unsigned g = 0; g < m->group_count; g++)
        if (m->groups[g].size)
            acu_jit_load_group(m, g);
}

void acu_jit_write_asides(ptx_making *m) {
    const jit_control control = m->control;
    jit_group now[JIT_GROUPS];
    memcpy(now, m->groups, sizeof now);
    for (size_t n = 0; n < m->aside_count; n++) {
        const jit_aside *a = &m->asides[n];
        for (unsigned i = 0; i < a->jump_count; i++)
            acu_x86_land(&m->x, a->jumps[i], m->x.size);
        memcpy(m->groups, a->before, sizeof m->groups);
        m->control = a->control;
        if (a->is_nan)
            write_fix(m, a);
        else if (a->fused)
            acu_jit_fix_fused(m, a->fused, a->in_place);
        else if (a->is_skipped)
            write_skip(m, a);
        else if (a->op)
            write_handler(m, a);
        else if (a->entered)
            write_enter(m, a);
        else
            write_find(m, a);
        acu_jit_set_control(m, a->control);
        acu_x86_land(&m->x, acu_x86_jump(&m->x, X86_ALWAYS), a->back);
    }
    m->aside_count = 0;
    m->control = control;
    memcpy(m->groups, now, sizeof now);
}
