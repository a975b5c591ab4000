/* Loops, and which values vectors have where they begin: those that a loop writes, then those that
 * it reads, in the order in which it does. */
#include "sim/ptx/access.h"
#include "sim/ptx/jit_inside.h"
#include "sim/ptx/lower_inside.h"

#include <stdlib.h>
#include <string.h>

bool acu_jit_touch(const ptx_op *op, jit_touched *t) {
    const ptx_access *access = op->more;
    *t = (jit_touched){.count = 0};
    if (op->full == acu_ptx_nothing || op->flow == acu_ptx_flow_branch ||
        op->flow == acu_ptx_flow_jump || op->flow == acu_ptx_flow_join)
        return true;
    if (op->flow)
        return false;
    if (acu_ptx_is_guarded(op->full))
        return acu_jit_touch(op->more, t);
    if (acu_ptx_is_masked(op->masked) && acu_jit_is_known(op)) {
        *t = (jit_touched){{op->d, op->a, op->b, op->c}, op->size != 0, 4, op->size};
        return true;
    }
    const int kind = acu_ptx_is_masked(op->masked) ? 0 : acu_jit_access_kind(op);
    if (!kind || access->count != 1)
        return false;
    *t = (jit_touched){{access->slots[0], op->a}, kind == 1, 2, access->register_size};
    return true;
}

/* Notes how large values are, by the first 32 bytes of their slots. */
static void find_sizes(const ptx_making *m, uint8_t *sizes) {
    for (uint32_t n = 0; n < m->code->count; n++) {
        jit_touched t;
        if (acu_jit_touch(&m->code->ops[n], &t) && t.written &&
            PTX_SLOT_BANK(t.slots[0]) == PTX_BANK_WARP)
            sizes[PTX_SLOT_OFFSET(t.slots[0]) / 32] = t.size;
    }
}

static bool has(const jit_loop *loop, ptx_slot slot, unsigned count) {
    for (unsigned g = 0; g < count; g++)
        if (loop->groups[g].slot == slot)
            return true;
    return false;
}

/* Returns how many groups are taken when the value has some, too, if there is room. */
static unsigned add_value(const ptx_making *m, jit_loop *loop, ptx_slot slot, unsigned size,
                          bool is_written, unsigned count) {
    const unsigned most = m->wide ? 8 : 2, parts = size / 4;
    if (PTX_SLOT_BANK(slot) != PTX_BANK_WARP || (size != 4 && !(size == 8 && m->wide)) ||
        count + parts > most || !acu_jit_is_live(m, slot, loop->begin) || has(loop, slot, count))
        return count;
    for (unsigned part = 0; part < parts; part++)
        loop->groups[count++] = (jit_group){
            .slot = slot, .size = (uint8_t)size, .part = (uint8_t)part, .dirty = is_written};
    return count;
}

static bool is_written(const ptx_making *m, const jit_loop *loop, ptx_slot slot) {
    for (uint32_t n = loop->begin; n <= loop->end; n++) {
        jit_touched t;
        if (acu_jit_touch(&m->code->ops[n], &t) && t.written && t.slots[0] == slot)
            return true;
    }
    return false;
}

/* Chooses values of the operations up to the first that may change any. */
static void choose_values(const ptx_making *m, jit_loop *loop, const uint8_t *sizes) {
    unsigned count = 0;
    jit_touched t;
    for (unsigned written = 2; written-- > 0;)
        for (uint32_t n = loop->begin; n <= loop->end && acu_jit_touch(&m->code->ops[n], &t); n++)
            for (unsigned i = written ? 0 : t.written; i < (written ? t.written : t.count); i++) {
                const ptx_slot slot = t.slots[i];
                if (PTX_SLOT_BANK(slot) == PTX_BANK_WARP)
                    count = add_value(m, loop, slot, sizes[PTX_SLOT_OFFSET(slot) / 32],
                                      written || is_written(m, loop, slot), count);
            }
}

static bool goes_back(const ptx_code *code, uint32_t n) {
    const ptx_op *op = &code->ops[n];
    return (op->flow == acu_ptx_flow_jump || op->flow == acu_ptx_flow_branch) &&
           op->value <= (int64_t)n;
}

bool acu_jit_find_loops(ptx_making *m) {
    const ptx_code *code = m->code;
    uint32_t room = 0;
    for (uint32_t n = 0; n < code->count; n++)
        room += goes_back(code, n);
    m->loop_of = calloc(code->count + 1, sizeof *m->loop_of);
    m->loops = calloc(room + 1, sizeof *m->loops);
    uint8_t *sizes = calloc(code->warp_bytes / 32 + 1, 1);
    if (!m->loop_of || !m->loops || !sizes) {
        free(sizes);
        return false;
    }
    for (uint32_t n = 0; n < code->count; n++) {
        const uint32_t begin = (uint32_t)code->ops[n].value;
        if (!goes_back(code, n))
            continue;
        if (!m->loop_of[begin]) {
            m->loop_of[begin] = ++m->loop_count;
            m->loops[m->loop_count - 1].begin = begin;
        }
        m->loops[m->loop_of[begin] - 1].end = n;
    }
    find_sizes(m, sizes);
    for (uint32_t n = 0; n < m->loop_count; n++)
        choose_values(m, &m->loops[n], sizes);
    free(sizes);
    return true;
}
