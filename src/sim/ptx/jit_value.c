/* Which values vectors have while machine code is written, and how values get there. */
#include "sim/ptx/jit_inside.h"
#include "sim/ptx/lower_inside.h"

#include <stdlib.h>
#include <string.h>

bool acu_jit_is_temporary(ptx_slot slot) {
    return PTX_SLOT_BANK(slot) == PTX_BANK_WARP && PTX_SLOT_OFFSET(slot) < PTX_TEMP_BYTES;
}

bool acu_jit_find_constants(ptx_making *m) {
    const ptx_code *code = m->code;
    m->constants = calloc(code->launch_bytes / 4 + 1, sizeof *m->constants);
    for (uint32_t n = 0; n < code->constant_count && m->constants; n++)
        m->constants[PTX_SLOT_OFFSET(code->constants[n].slot) / 4] = &code->constants[n];
    return m->constants != NULL;
}

/* Returns the constant of a slot; NULL: it is none. */
static const ptx_constant *constant_of(const ptx_making *m, ptx_slot slot) {
    return PTX_SLOT_BANK(slot) == PTX_BANK_LAUNCH ? m->constants[PTX_SLOT_OFFSET(slot) / 4] : NULL;
}

bool acu_jit_is_constant(const ptx_making *m, ptx_slot slot, uint64_t *number) {
    const ptx_constant *c = constant_of(m, slot);
    if (!c || c->kind != PTX_CONSTANT_BITS)
        return false;
    *number = c->bits;
    return true;
}

static bool differs_by_lane(const ptx_constant *c) {
    return c->kind == PTX_CONSTANT_SPECIAL &&
           (c->special == PTX_LANEID ||
            (c->special >= PTX_LANEMASK_EQ && c->special <= PTX_LANEMASK_GT));
}

bool acu_jit_is_uniform(const ptx_making *m, ptx_slot slot) {
    const ptx_constant *c = constant_of(m, slot);
    return PTX_SLOT_BANK(slot) == PTX_BANK_BLOCK || (c && !differs_by_lane(c));
}

x86_place acu_jit_memory(const ptx_making *m, ptx_slot slot, size_t offset) {
    static const x86_register banks[] = {JIT_BANK, JIT_LAUNCH, JIT_BLOCK, X86_RSP};
    (void)m;
    return x86_at(banks[PTX_SLOT_BANK(slot)], (int32_t)(PTX_SLOT_OFFSET(slot) + offset));
}

/* ---- versions ---- */

void acu_jit_wrote(ptx_making *m, ptx_slot slot) {
    if (PTX_SLOT_BANK(slot) == PTX_BANK_WARP)
        m->versions[PTX_SLOT_OFFSET(slot) / 32] = ++m->writes;
}

uint32_t acu_jit_version(const ptx_making *m, ptx_slot slot) {
    return PTX_SLOT_BANK(slot) == PTX_BANK_WARP ? m->versions[PTX_SLOT_OFFSET(slot) / 32] : 0;
}

/* ---- groups of vectors ---- */

static unsigned first_vector(const ptx_making *m, unsigned group) {
    return (m->wide ? 6 : 4) + group * m->vectors;
}

static int find(const ptx_making *m, ptx_slot slot, unsigned part) {
    for (unsigned g = 0; g < m->group_count; g++)
        if (m->groups[g].size && m->groups[g].slot == slot && m->groups[g].part == part)
            return (int)g;
    return -1;
}

static x86_place group_memory(const ptx_making *m, const jit_group *group, unsigned vector) {
    return acu_jit_memory(m, group->slot, (size_t)(group->part * m->vectors + vector) * m->width);
}

/* Writes a vector of 4 or 8 bytes for each lane to memory, for the lanes that are active in the
 * warp; uses k3, or JIT_T2 and JIT_T3. Some processors take long for a masked store of AVX2. */
static void store_active(ptx_making *m, unsigned vector, unsigned size, unsigned i, x86_place to) {
    x86 *x = &m->x;
    if (!m->partial) {
        acu_x86_vector(x, X86_STORE, vector, X86_NONE, to);
    } else if (m->wide) {
        const size_t bytes = size == 4 ? 2 : 1;
        acu_x86_load_mask(x, 3, 8 * (unsigned)bytes,
                          acu_jit_in_warp(offsetof(ptx_warp, mask) + i * bytes));
        acu_x86_masked(x, size == 4 ? X86_STORE : X86_STOREQ, vector, X86_NONE, to, 3);
    } else {
        const size_t words = offsetof(ptx_warp, lanes) + (size_t)i * (size == 4 ? 32 : 16);
        acu_x86_vector(x, size == 4 ? X86_LOAD : X86_PMOVSXDQ, JIT_T2, X86_NONE,
                       acu_jit_in_warp(words));
        acu_x86_vector(x, X86_LOAD, JIT_T3, X86_NONE, to);
        acu_x86_vector_by(x, X86_BLENDVPS, JIT_T3, JIT_T3, x86_in(vector), JIT_T2 << 4);
        acu_x86_vector(x, X86_STORE, JIT_T3, X86_NONE, to);
    }
}

void acu_jit_smooth_group(ptx_making *m, unsigned g) {
    enum { UNORDERED = 3 };
    const x86_place nan = x86_at(JIT_POOL, JIT_NAN);
    x86 *x = &m->x;
    for (unsigned v = 0; v < m->vectors && m->groups[g].is_rough; v++) {
        const unsigned vector = first_vector(m, g) + v;
        acu_x86_vector_by(x, X86_CMPPS, m->wide ? 3 : JIT_T2, vector, x86_in(vector), UNORDERED);
        if (m->wide)
            acu_x86_masked(x, X86_LOAD, vector, X86_NONE, nan, 3);
        else
            acu_x86_vector_by(x, X86_BLENDVPS, vector, vector, nan, JIT_T2 << 4);
    }
    m->groups[g].is_rough = false;
}

void acu_jit_smooth(ptx_making *m, ptx_slot slot) {
    const int g = find(m, slot, 0);
    if (g >= 0)
        acu_jit_smooth_group(m, (unsigned)g);
}

bool acu_jit_leave_rough(ptx_making *m, ptx_slot slot) {
    const int g = find(m, slot, 0);
    if (g >= 0 && !m->masked_by_guard)
        m->groups[g].is_rough = true;
    return g >= 0 && m->groups[g].is_rough;
}

void acu_jit_store_group(ptx_making *m, unsigned g) {
    jit_group *group = &m->groups[g];
    acu_jit_smooth_group(m, g);
    for (unsigned v = 0; v < m->vectors; v++)
        store_active(m, first_vector(m, g) + v, group->size, group->part * m->vectors + v,
                     group_memory(m, group, v));
    group->dirty = false;
}

static bool is_floats(ptx_slot slot) {
    return PTX_SLOT_BANK(slot) == JIT_BANK_FRAME && PTX_SLOT_OFFSET(slot) & JIT_FLOATS;
}

/* Makes floats of a value of f16 in memory. */
static void load_floats_group(ptx_making *m, unsigned g) {
    const jit_group *group = &m->groups[g];
    const uint32_t of = PTX_SLOT_OFFSET(group->slot) & ~(uint32_t)JIT_FLOATS;
    const ptx_slot slot =
        PTX_SLOT(of >> JIT_FLOATS_BANK, of & ((UINT32_C(1) << JIT_FLOATS_BANK) - 1));
    for (unsigned v = 0; v < m->vectors; v++)
        acu_x86_vector(&m->x, X86_CVTPH2PS, first_vector(m, g) + v, X86_NONE,
                       acu_jit_memory(m, slot, (size_t)(group->part * m->vectors + v) * 32));
}

void acu_jit_load_group(ptx_making *m, unsigned g) {
    if (is_floats(m->groups[g].slot)) {
        load_floats_group(m, g);
        return;
    }
    for (unsigned v = 0; v < m->vectors; v++)
        acu_x86_vector(&m->x, X86_LOAD, first_vector(m, g) + v, X86_NONE,
                       group_memory(m, &m->groups[g], v));
}

void acu_jit_flush(ptx_making *m) {
    for (unsigned g = 0; g < m->group_count; g++)
        if (m->groups[g].size && m->groups[g].dirty)
            acu_jit_store_group(m, g);
}

void acu_jit_flush_one(ptx_making *m, ptx_slot slot) {
    for (unsigned g = 0; g < m->group_count; g++)
        if (m->groups[g].size && m->groups[g].slot == slot && m->groups[g].dirty)
            acu_jit_store_group(m, g);
}

void acu_jit_lend(ptx_making *m, ptx_slot slot) {
    for (unsigned g = 0; g < m->group_count; g++) {
        const jit_group group = m->groups[g];
        if (!group.size || group.slot != slot || !group.dirty)
            continue;
        m->groups[g].is_rough = false;
        acu_jit_store_group(m, g);
        m->groups[g] = group;
    }
}

void acu_jit_forget(ptx_making *m) {
    memset(m->groups, 0, sizeof m->groups);
}

void acu_jit_forget_one(ptx_making *m, ptx_slot slot) {
    for (unsigned g = 0; g < m->group_count; g++)
        if (m->groups[g].slot == slot)
            m->groups[g].size = 0;
}

/* Returns a group for a part of a value, which is not loaded: a free one, or the one that was not
 * used for longest; -1 if the operation itself uses all. */
static int take_group(ptx_making *m, ptx_slot slot, unsigned size, unsigned part, bool may_evict) {
    int best = -1;
    for (unsigned g = 0; g < m->group_count; g++) {
        const jit_group *group = &m->groups[g];
        if (!group->size) {
            best = (int)g;
            break;
        }
        if (may_evict && group->used != m->now && (best < 0 || group->used < m->groups[best].used))
            best = (int)g;
    }
    if (best < 0)
        return -1;
    if (m->groups[best].size && m->groups[best].dirty)
        acu_jit_store_group(m, (unsigned)best);
    m->groups[best] =
        (jit_group){.slot = slot, .size = (uint8_t)size, .part = (uint8_t)part, .used = m->now};
    return best;
}

/* Values of 64 bits need twice as many vectors, which AVX2 has not. */
static unsigned parts_of(const ptx_making *m, unsigned size) {
    return size == 4 ? 1 : size == 8 && m->wide ? 2 : 0;
}

bool acu_jit_has_all(const ptx_making *m, ptx_slot slot, unsigned size) {
    const unsigned parts = parts_of(m, size);
    for (unsigned part = 0; part < parts; part++)
        if (find(m, slot, part) < 0)
            return false;
    return parts != 0;
}

bool acu_jit_move(ptx_making *m, ptx_slot slot, unsigned size, ptx_slot to) {
    const unsigned parts = parts_of(m, size);
    if (!acu_jit_has_all(m, slot, size))
        return false;
    for (unsigned part = 0; part < parts; part++) {
        jit_group *group = &m->groups[find(m, slot, part)];
        group->slot = to;
        group->dirty = true;
    }
    return true;
}

void acu_jit_want(ptx_making *m, ptx_slot slot, unsigned size) {
    m->wanted[m->wanted_count++] = slot;
    for (unsigned part = 0; part < parts_of(m, size); part++) {
        int g = find(m, slot, part);
        if (g >= 0) {
            m->groups[g].used = m->now;
        } else if (m->wide && PTX_SLOT_BANK(slot) == PTX_BANK_WARP) {
            g = take_group(m, slot, size, part, false);
            if (g >= 0)
                acu_jit_load_group(m, (unsigned)g);
        }
    }
}

static ptx_slot floats_of(ptx_slot slot) {
    return PTX_SLOT(JIT_BANK_FRAME,
                    JIT_FLOATS | PTX_SLOT_BANK(slot) << JIT_FLOATS_BANK | PTX_SLOT_OFFSET(slot));
}

/* Returns a group that is free, or else the one of those that memory has, too, and that the
 * operation does not use, which was not used for longest; -1: there is none. */
static int find_clean(const ptx_making *m) {
    int best = -1;
    for (unsigned g = 0; g < m->group_count; g++) {
        const jit_group *group = &m->groups[g];
        if (!group->size)
            return (int)g;
        if (!group->dirty && group->used != m->now &&
            (best < 0 || group->used < m->groups[best].used))
            best = (int)g;
    }
    return best;
}

jit_floats acu_jit_want_floats(ptx_making *m, ptx_slot slot, unsigned size) {
    const ptx_slot floats = floats_of(slot);
    const uint32_t version = acu_jit_version(m, slot);
    jit_floats found = JIT_HAS_FLOATS;
    if (PTX_SLOT_OFFSET(slot) >> JIT_FLOATS_BANK)
        return JIT_NO_FLOATS;
    for (unsigned part = 0; part < parts_of(m, 2 * size); part++) {
        int g = find(m, floats, part);
        if (g < 0 || m->groups[g].version != version)
            found = JIT_EMPTY_FLOATS;
        if (g < 0)
            g = find_clean(m);
        if (g < 0) {
            acu_jit_forget_one(m, floats);
            return JIT_NO_FLOATS;
        }
        m->groups[g] = (jit_group){.slot = floats,
                                   .size = (uint8_t)(2 * size),
                                   .part = (uint8_t)part,
                                   .used = m->now,
                                   .version = version};
    }
    return found;
}

unsigned acu_jit_floats(const ptx_making *m, ptx_slot slot, unsigned i) {
    return first_vector(m, (unsigned)find(m, floats_of(slot), i / m->vectors)) + i % m->vectors;
}

bool acu_jit_is_in_memory(const ptx_making *m, ptx_slot slot) {
    return find(m, slot, 0) < 0;
}

x86_place acu_jit_source(ptx_making *m, ptx_slot slot, unsigned size, unsigned i) {
    int g = find(m, slot, i / m->vectors);
    (void)size;
    return g >= 0 ? x86_in(first_vector(m, (unsigned)g) + i % m->vectors)
                  : acu_jit_memory(m, slot, (size_t)i * m->width);
}

unsigned acu_jit_load(ptx_making *m, ptx_slot slot, unsigned size, unsigned i, unsigned temporary) {
    x86_place place = acu_jit_source(m, slot, size, i);
    if (!place.in_memory)
        return place.number;
    acu_x86_vector(&m->x, X86_LOAD, temporary, X86_NONE, place);
    return temporary;
}

/* ---- results ---- */

static bool is_wanted(const ptx_making *m, ptx_slot slot) {
    for (unsigned n = 0; n < m->wanted_count; n++)
        if (m->wanted[n] == slot)
            return true;
    return false;
}

void acu_jit_begin(ptx_making *m, ptx_slot slot, unsigned size) {
    for (unsigned part = 0; part < parts_of(m, size); part++) {
        int g = find(m, slot, part);
        if (g < 0) {
            g = take_group(m, slot, size, part, true);
            if (g >= 0 && (m->masked_by_guard || is_wanted(m, slot)))
                acu_jit_load_group(m, (unsigned)g);
        }
        if (g >= 0) {
            m->groups[g].used = m->now;
            m->groups[g].dirty = true;
            m->groups[g].is_rough &= m->masked_by_guard;
        }
    }
    acu_jit_wrote(m, slot);
}

unsigned acu_jit_target(ptx_making *m, ptx_slot slot, unsigned size, unsigned i) {
    x86_place place = acu_jit_source(m, slot, size, i);
    return m->masked_by_guard || place.in_memory ? JIT_T0 : place.number;
}

/* ---- masks ---- */

void acu_jit_forget_masks(ptx_making *m) {
    m->compared_known = false;
    m->guard_known = false;
}

bool acu_jit_is_compared(const ptx_making *m, ptx_slot predicate) {
    return m->compared_known && m->compared == predicate &&
           m->compared_version == acu_jit_version(m, predicate);
}

/* Returns the mask of vector i, of two that have 16 lanes each. */
static unsigned part_of(ptx_making *m, unsigned masks, unsigned size, unsigned i, unsigned k) {
    if (size == 2) {
        acu_x86_join_masks(&m->x, 16, k, masks + 1, masks);
        return k;
    }
    if (size == 4)
        return masks + i;
    if (i % 2 == 0)
        return masks + i / 2;
    acu_x86_upper_mask(&m->x, k, masks + i / 2, 8);
    return k;
}

static unsigned load_part(ptx_making *m, x86_place bits, unsigned size, unsigned i, unsigned k) {
    bits.offset += (int32_t)(size == 4 ? 2 * i : i);
    acu_x86_load_mask(&m->x, k, 64 / size, bits);
    return k;
}

unsigned acu_jit_active(ptx_making *m, unsigned size, unsigned i) {
    return m->masked_by_guard ? part_of(m, JIT_K_GUARD, size, i, 1)
                              : load_part(m, m->mask_bits, size, i, 1);
}

unsigned acu_jit_true(ptx_making *m, ptx_slot predicate, unsigned size, unsigned i) {
    return acu_jit_is_compared(m, predicate)
               ? part_of(m, JIT_K_COMPARED, size, i, 2)
               : load_part(m, acu_jit_memory(m, predicate, 0), size, i, 2);
}

/* Puts the lanes of JIT_T0 that execute the operation into the vector. */
static void merge(ptx_making *m, unsigned vector, unsigned size, unsigned i) {
    x86 *x = &m->x;
    x86_place words = m->mask_words;
    if (size == 2 && !m->wide) {
        words.offset += (int32_t)(64 * i);
        acu_x86_vector(x, X86_LOAD, JIT_T3, X86_NONE, words);
        words.offset += 32;
        acu_x86_vector(x, X86_PACKSSDW, JIT_T3, JIT_T3, words);
        acu_x86_vector_by(x, X86_PERMQ, JIT_T3, X86_NONE, x86_in(JIT_T3), 0xd8);
        acu_x86_vector_by(x, X86_PBLENDVB, vector, m->words_negated ? JIT_T0 : vector,
                          x86_in(m->words_negated ? vector : JIT_T0), JIT_T3 << 4);
        return;
    }
    if (m->wide) {
        acu_x86_masked(x,
                       size == 2   ? X86_LOADW
                       : size == 4 ? X86_LOAD
                                   : X86_LOADQ,
                       vector, X86_NONE, x86_in(JIT_T0), acu_jit_active(m, size, i));
        return;
    }
    words.offset += (int32_t)(size == 4 ? 32 * i : 16 * i);
    acu_x86_vector(x, size == 4 ? X86_LOAD : X86_PMOVSXDQ, JIT_T3, X86_NONE, words);
    if (m->words_negated) {
        acu_x86_vector_by(x, X86_BLENDVPS, vector, JIT_T0, x86_in(vector), JIT_T3 << 4);
        return;
    }
    acu_x86_vector_by(x, X86_BLENDVPS, vector, vector, x86_in(JIT_T0), JIT_T3 << 4);
}

void acu_jit_done(ptx_making *m, ptx_slot slot, unsigned size, unsigned i) {
    x86_place place = acu_jit_source(m, slot, size, i);
    unsigned vector = place.in_memory ? JIT_T0 : place.number;
    if (m->masked_by_guard || (m->masked && place.in_memory && size == 2)) {
        if (place.in_memory) {
            vector = JIT_T1;
            acu_x86_vector(&m->x, X86_LOAD, vector, X86_NONE, place);
        }
        merge(m, vector, size, i);
    }
    if (place.in_memory && size == 2)
        acu_x86_vector(&m->x, X86_STORE, vector, X86_NONE, place);
    else if (place.in_memory)
        store_active(m, vector, size, i, place);
}

void acu_jit_store_predicate(ptx_making *m, ptx_slot slot) {
    x86 *x = &m->x;
    x86_place place = acu_jit_memory(m, slot, 0);
    if (m->masked) {
        acu_x86_word(x, X86_MOV, X86_RCX, place);
        acu_x86_word(x, X86_XOR, X86_RAX, x86_in(X86_RCX));
        if (m->wide && m->masked_by_guard) {
            acu_x86_join_masks(x, 16, 1, JIT_K_GUARD + 1, JIT_K_GUARD);
            acu_x86_take_mask(x, X86_RDX, 1);
        }
        acu_x86_word(x, X86_AND, X86_RAX,
                     m->wide && m->masked_by_guard ? x86_in(X86_RDX) : m->mask_bits);
        acu_x86_word(x, X86_XOR, X86_RAX, x86_in(X86_RCX));
    }
    acu_x86_store_word(x, place, X86_RAX);
    acu_jit_wrote(m, slot);
    m->rax_at = x->size;
    m->rax_slot = slot;
}

void acu_jit_load_predicate(ptx_making *m, ptx_slot slot) {
    if (m->rax_at != m->x.size || m->rax_slot != slot)
        acu_x86_word(&m->x, X86_MOV, X86_RAX, acu_jit_memory(m, slot, 0));
}
