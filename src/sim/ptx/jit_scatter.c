/*
 * Loads and stores whose lanes lie anyhow, or of which some are not active. A pattern has how far
 * each active lane's address is from that of the first one, in 32 bits, and the smallest and the
 * largest address, so that the range check is the same as for other patterns. Loads are gathers;
 * stores are scatters, or one store for each lane.
 */
#include "sim/ptx/access.h"
#include "sim/ptx/jit_inside.h"

#include <stddef.h>

static x86_place pool(unsigned at) {
    return x86_at(JIT_POOL, (int32_t)at);
}

/* ---- finding out how lanes lie: RDI has the addresses, RSI the pattern, ECX the active lanes, RDX
 * the bits that no address may have, R10 the lanes as words (AVX2) ---- */

static x86_place in_pattern(size_t offset) {
    return x86_at(X86_RSI, (int32_t)offset);
}

static x86_place offset_at(size_t bytes) {
    return in_pattern(offsetof(jit_pattern, offset) + bytes);
}

/* Puts the first active lane's address into R8, and into all elements of JIT_T1. */
static void load_origin(ptx_making *m, bool is_narrow) {
    x86 *x = &m->x;
    acu_x86_first_bit(x, X86_RAX, X86_RCX);
    acu_x86_shift_long(x, X86_RAX, is_narrow ? 2 : 3);
    acu_x86_long(x, X86_ADD, X86_RAX, x86_in(X86_RDI));
    (is_narrow ? acu_x86_word : acu_x86_long)(x, X86_MOV, X86_R8, x86_at(X86_RAX, 0));
    acu_x86_vector(x, is_narrow ? X86_PBROADCASTD : X86_PBROADCASTQ, JIT_T1, X86_NONE,
                   x86_at(X86_RAX, 0));
}

/* Puts how far the addresses of vector i are into JIT_T0, or 0 for lanes that are not active; uses
 * JIT_T3. */
static void subtract_origin(ptx_making *m, bool is_narrow, unsigned i) {
    x86 *x = &m->x;
    const x86_vector subtract = is_narrow ? X86_PSUBD : X86_PSUBQ;
    const int32_t at = (int32_t)(i * m->width);
    acu_x86_vector(x, X86_LOAD, JIT_T3, X86_NONE, x86_at(X86_RDI, at));
    if (m->wide) { /* k1 has the lanes of this vector, and of those behind it */
        acu_x86_vector(x, X86_PXOR, JIT_T0, JIT_T0, x86_in(JIT_T0));
        acu_x86_masked(x, subtract, JIT_T0, JIT_T3, x86_in(JIT_T1), 1);
        acu_x86_shift_mask(x, 1, 1, is_narrow ? 16 : 8);
        return;
    }
    acu_x86_vector(x, subtract, JIT_T3, JIT_T3, x86_in(JIT_T1));
    if (is_narrow) {
        acu_x86_vector(x, X86_PAND, JIT_T0, JIT_T3, x86_at(X86_R10, at));
        return;
    }
    acu_x86_vector(x, X86_PMOVSXDQ, JIT_T0, X86_NONE, x86_at(X86_R10, at / 2));
    acu_x86_vector(x, X86_PAND, JIT_T0, JIT_T0, x86_in(JIT_T3));
}

/* Keeps the low words of JIT_T0 in the pattern; adds to JIT_T2 what differs from them. With AVX-512
 * a vector of words, from two of JIT_T0, is also kept in JIT_T4 or JIT_T5: what was stored in two
 * parts is not soon loaded as one. */
static void keep_words(ptx_making *m, unsigned i) {
    x86 *x = &m->x;
    const x86_place words = offset_at((size_t)i * m->width / 2);
    const unsigned both = JIT_T4 + i / 2;
    if (m->wide) {
        const x86_place half = x86_in(i % 2 ? JIT_T3 : both);
        acu_x86_vector(x, X86_PMOVQD, JIT_T0, X86_NONE, half);
        if (i % 2) {
            acu_x86_vector_by(x, X86_INSERT256, both, both, x86_in(JIT_T3), 1);
            acu_x86_vector(x, X86_STORE, both, X86_NONE, offset_at((size_t)i / 2 * m->width));
        }
        acu_x86_vector(x, X86_PMOVSXDQ, JIT_T3, X86_NONE, half);
    } else {
        acu_x86_vector(x, X86_LOAD, JIT_T3, X86_NONE, pool(JIT_EVEN));
        acu_x86_vector(x, X86_PERMD, JIT_T3, JIT_T3, x86_in(JIT_T0));
        acu_x86_vector_by(x, X86_EXTRACT128, JIT_T3, X86_NONE, words, 0);
        acu_x86_vector(x, X86_PMOVSXDQ, JIT_T3, X86_NONE, words);
    }
    acu_x86_vector(x, X86_PXOR, JIT_T3, JIT_T3, x86_in(JIT_T0));
    acu_x86_vector(x, X86_POR, JIT_T2, JIT_T2, x86_in(JIT_T3));
}

/* Joins the words of all vectors in JIT_T0. */
static void join_vectors(ptx_making *m, x86_vector op) {
    if (m->wide) {
        acu_x86_vector(&m->x, op, JIT_T0, JIT_T4, x86_in(JIT_T5));
        return;
    }
    acu_x86_vector(&m->x, X86_LOAD, JIT_T0, X86_NONE, offset_at(0));
    for (unsigned i = 1; i < m->vectors; i++)
        acu_x86_vector(&m->x, op, JIT_T0, JIT_T0, offset_at((size_t)i * m->width));
}

/* Puts the smallest or the largest word, added to the origin, into a field of the pattern. */
static void find_end(ptx_making *m, x86_vector op, size_t field) {
    x86 *x = &m->x;
    join_vectors(m, op);
    for (unsigned by = m->width / 8; by; by /= 2) {
        acu_x86_vector(x, X86_LOAD, JIT_T1, X86_NONE, pool(JIT_LANES + 4 * by));
        acu_x86_vector(x, X86_PERMD, JIT_T2, JIT_T1, x86_in(JIT_T0));
        acu_x86_vector(x, op, JIT_T0, JIT_T0, x86_in(JIT_T2));
    }
    acu_x86_take_first(x, X86_RAX, JIT_T0, 4);
    acu_x86_widen(x, X86_RAX);
    acu_x86_lea(x, X86_R9, x86_at(X86_R8, 0));
    acu_x86_long(x, X86_ADD, X86_R9, x86_in(X86_RAX));
    acu_x86_store_long(x, in_pattern(field), X86_R9);
}

static void end(ptx_making *m, int kind) {
    acu_x86_long_by(&m->x, X86_MOV, in_pattern(offsetof(jit_pattern, kind)), kind);
    acu_x86_return(&m->x);
}

static size_t jump_if_both(ptx_making *m, unsigned a, unsigned b) {
    x86 *x = &m->x;
    if (m->wide) {
        acu_x86_vector(x, X86_PTESTMD, 1, a, x86_in(b));
        acu_x86_test_mask(x, 1);
    } else {
        acu_x86_vector(x, X86_PTEST, a, X86_NONE, x86_in(b));
    }
    return acu_x86_jump(x, X86_NOT_ZERO);
}

static void write_one(ptx_making *m, bool is_narrow) {
    x86 *x = &m->x;
    const unsigned vectors = is_narrow ? m->vectors : 2 * m->vectors;
    m->place_lanes[is_narrow] = x->size;
    if (m->wide)
        acu_x86_give_mask(x, 1, X86_RCX);
    load_origin(m, is_narrow);
    acu_x86_vector(x, X86_PXOR, JIT_T2, JIT_T2, x86_in(JIT_T2));
    for (unsigned i = 0; i < vectors; i++) {
        subtract_origin(m, is_narrow, i);
        if (is_narrow)
            acu_x86_vector(x, X86_STORE, JIT_T0, X86_NONE, offset_at((size_t)i * m->width));
        else
            keep_words(m, i);
        if (is_narrow && m->wide)
            acu_x86_vector(x, X86_LOAD, JIT_T4 + i, X86_NONE, x86_in(JIT_T0));
    }
    const size_t far = jump_if_both(m, JIT_T2, JIT_T2);
    join_vectors(m, X86_POR);
    acu_x86_vector(x, X86_PBROADCASTD, JIT_T1, X86_NONE, x86_at(X86_RDX, 0));
    const size_t odd = jump_if_both(m, JIT_T0, JIT_T1);
    acu_x86_store_long(x, in_pattern(offsetof(jit_pattern, at)), X86_R8);
    const size_t differ = jump_if_both(m, JIT_T0, JIT_T0);
    acu_x86_store_long(x, in_pattern(offsetof(jit_pattern, low)), X86_R8);
    acu_x86_store_long(x, in_pattern(offsetof(jit_pattern, high)), X86_R8);
    end(m, JIT_SAME);
    acu_x86_land(x, differ, x->size);
    find_end(m, X86_PMINSD, offsetof(jit_pattern, low));
    find_end(m, X86_PMAXSD, offsetof(jit_pattern, high));
    end(m, JIT_SCATTERED);
    acu_x86_land(x, far, x->size);
    acu_x86_land(x, odd, x->size);
    end(m, JIT_FAR);
}

void acu_jit_write_place_lanes(ptx_making *m) {
    write_one(m, false);
    write_one(m, true);
}

/* Puts the active lanes into a register, as bits. */
void acu_jit_load_lanes(ptx_making *m, x86_register d) {
    x86 *x = &m->x;
    if (!m->masked) {
        acu_x86_word_by(x, X86_MOV, x86_in(d), -1);
    } else if (m->wide && m->masked_by_guard) {
        acu_x86_join_masks(x, 16, 1, JIT_K_GUARD + 1, JIT_K_GUARD);
        acu_x86_take_mask(x, d, 1);
    } else {
        acu_x86_word(x, X86_MOV, d, m->mask_bits);
    }
}

/* Returns where the pool has the bits that a multiple of a power of two has not. */
static x86_place odd_bits(unsigned bytes) {
    unsigned bits = 0;
    while (1u << bits < bytes)
        bits++;
    return pool(JIT_ODD + 4 * bits);
}

void acu_jit_place_lanes(ptx_making *m, bool is_narrow, unsigned bytes) {
    x86 *x = &m->x;
    acu_jit_load_lanes(m, X86_RCX);
    acu_x86_lea(x, X86_RDX, odd_bits(bytes));
    acu_x86_lea(x, X86_R10, m->masked ? m->mask_words : pool(JIT_ALL));
    acu_x86_land(x, acu_x86_call_near(x), m->place_lanes[is_narrow]);
}

void acu_jit_go_to_place_lanes(ptx_making *m, bool is_narrow, unsigned bytes) {
    x86 *x = &m->x;
    acu_x86_word_by(x, X86_MOV, x86_in(X86_RCX), -1);
    acu_x86_lea(x, X86_RDX, odd_bits(bytes));
    acu_x86_lea(x, X86_R10, pool(JIT_ALL));
    acu_x86_land(x, acu_x86_jump(x, X86_ALWAYS), m->place_lanes[is_narrow]);
}

/* ---- loads and stores: R8 leads from addresses to bytes ---- */

/* Puts where the first active lane's bytes are into R9. */
static void load_base(ptx_making *m, unsigned pattern, unsigned offset) {
    x86 *x = &m->x;
    if (pattern == JIT_NO_PATTERN) {
        acu_x86_lea(x, X86_R9, x86_at(X86_R8, (int32_t)offset));
        return;
    }
    acu_x86_long(x, X86_MOV, X86_R9,
                 acu_jit_in_frame(offsetof(jit_frame, patterns) + pattern * sizeof(jit_pattern) +
                                  offsetof(jit_pattern, at)));
    acu_x86_long(x, X86_ADD, X86_R9, x86_in(X86_R8));
    if (offset)
        acu_x86_long_by(x, X86_ADD, x86_in(X86_R9), (int32_t)offset);
}

static x86_place pattern_offset(unsigned pattern, size_t bytes) {
    return acu_jit_in_frame(offsetof(jit_frame, patterns) + pattern * sizeof(jit_pattern) +
                            offsetof(jit_pattern, offset) + bytes);
}

void acu_jit_write_local(ptx_making *m) {
    x86 *x = &m->x;
    acu_x86_vector(x, X86_PBROADCASTD, JIT_T0, X86_NONE,
                   acu_jit_in_warp(offsetof(ptx_warp, local_stride)));
    for (unsigned i = 0; i < m->vectors; i++) {
        acu_x86_vector(x, X86_PMULLD, JIT_T1, JIT_T0, pool(JIT_LANES + i * m->width));
        acu_x86_vector(x, X86_STORE, JIT_T1, X86_NONE,
                       acu_jit_in_frame(offsetof(jit_frame, local) + (size_t)i * m->width));
    }
}

/* Puts how far the elements of lanes are from the first active one's address into JIT_T1: of
 * those from the byte `at` of the pattern's words on. */
static void load_offsets(ptx_making *m, unsigned pattern, const ptx_access *access, size_t at) {
    x86 *x = &m->x;
    const x86_place local = acu_jit_in_frame(offsetof(jit_frame, local) + at);
    if (pattern == JIT_NO_PATTERN) {
        acu_x86_vector(x, X86_LOAD, JIT_T1, X86_NONE, local);
        return;
    }
    acu_x86_vector(x, X86_LOAD, JIT_T1, X86_NONE, pattern_offset(pattern, at));
    if (access->space == PTX_LOCAL)
        acu_x86_vector(x, X86_PADDD, JIT_T1, JIT_T1, local);
}

/* Returns a mask of the active lanes of vector i, for a gather or a scatter: k1, or JIT_T2. */
static unsigned lanes_of(ptx_making *m, unsigned size, unsigned i) {
    x86 *x = &m->x;
    if (m->wide) {
        if (!m->masked) {
            acu_x86_set_mask(x, 1);
        } else {
            const unsigned k = acu_jit_active(m, size, i);
            if (k != 1)
                acu_x86_copy_mask(x, 1, k);
        }
        return 1;
    }
    if (!m->masked) {
        acu_x86_vector(x, X86_PCMPEQD, JIT_T2, JIT_T2, x86_in(JIT_T2));
        return JIT_T2;
    }
    x86_place words = m->mask_words;
    words.offset += (int32_t)(size == 4 ? 32 * i : 16 * i);
    acu_x86_vector(x, size == 4 ? X86_LOAD : X86_PMOVSXDQ, JIT_T2, X86_NONE, words);
    return JIT_T2;
}

/* Loads one element of 4 or 8 bytes for each lane. */
static void gather(ptx_making *m, unsigned pattern, const ptx_access *access, ptx_slot slot,
                   int32_t offset) {
    x86 *x = &m->x;
    const unsigned size = access->size;
    const unsigned lanes = m->width / size;
    for (unsigned i = 0; i < PTX_LANES / lanes; i++) {
        const unsigned d = acu_jit_target(m, slot, size, i), mask = lanes_of(m, size, i);
        load_offsets(m, pattern, access, (size_t)i * lanes * 4);
        acu_x86_vector(x, X86_PXOR, d, d, x86_in(d)); /* what it had is not waited for */
        acu_x86_gather(x, size == 4 ? X86_GATHERD : X86_GATHERQ, d, X86_R9, JIT_T1, offset, mask);
        acu_jit_done(m, slot, size, i);
    }
}

static void broadcast(ptx_making *m, ptx_slot slot, unsigned size, int32_t offset) {
    for (unsigned i = 0; i < PTX_LANES * size / m->width; i++) {
        const unsigned d = acu_jit_target(m, slot, size, i);
        acu_x86_vector(&m->x, size == 4 ? X86_PBROADCASTD : X86_PBROADCASTQ, d, X86_NONE,
                       x86_at(X86_R9, offset));
        acu_jit_done(m, slot, size, i);
    }
}

/* Prepares for elements smaller than a word: R9 becomes a multiple of 4, and the frame has what is
 * to be added to the lanes' offsets. A whole word of memory never crosses the end of a page. */
static void align_base(ptx_making *m) {
    x86 *x = &m->x;
    acu_x86_long(x, X86_MOV, X86_RCX, x86_in(X86_R9));
    acu_x86_long_by(x, X86_AND, x86_in(X86_RCX), 3);
    acu_x86_long(x, X86_SUB, X86_R9, x86_in(X86_RCX));
    acu_x86_store_word(x, acu_jit_in_frame(offsetof(jit_frame, low_bits)), X86_RCX);
}

/* Puts the elements of vector i into JIT_T0, as words. */
static void gather_small(ptx_making *m, unsigned pattern, const ptx_access *access, unsigned i) {
    x86 *x = &m->x;
    const uint8_t shift = access->size == 1 ? 24 : 16;
    const unsigned low = m->wide ? JIT_T4 : JIT_T3;
    load_offsets(m, pattern, access, (size_t)i * m->width);
    acu_x86_vector(x, X86_PBROADCASTD, low, X86_NONE,
                   acu_jit_in_frame(offsetof(jit_frame, low_bits)));
    acu_x86_vector(x, X86_PADDD, JIT_T1, JIT_T1, x86_in(low));
    acu_x86_vector(x, X86_PAND, low, JIT_T1, pool(JIT_LOW_2));
    acu_x86_vector(x, X86_PXOR, JIT_T1, JIT_T1, x86_in(low));
    acu_x86_vector(x, X86_PXOR, JIT_T0, JIT_T0, x86_in(JIT_T0));
    acu_x86_gather(x, X86_GATHERD, JIT_T0, X86_R9, JIT_T1, 0, lanes_of(m, 4, i));
    acu_x86_shift_by(x, X86_SHIFT_PSLLD, low, low, 3);
    acu_x86_vector(x, X86_PSRLVD, JIT_T0, JIT_T0, x86_in(low));
    acu_x86_shift_by(x, X86_SHIFT_PSLLD, JIT_T0, JIT_T0, shift);
    acu_x86_shift_by(x, access->is_signed ? X86_SHIFT_PSRAD : X86_SHIFT_PSRLD, JIT_T0, JIT_T0,
                     shift);
}

static void load_small(ptx_making *m, unsigned pattern, const ptx_access *access, unsigned n) {
    const ptx_slot slot = access->slots[n];
    load_base(m, pattern, n * access->size);
    align_base(m);
    for (unsigned i = 0; i < m->vectors; i++) {
        gather_small(m, pattern, access, i);
        if (access->register_size == 2) {
            acu_jit_store_shorts(m, slot, i);
            continue;
        }
        acu_jit_put(m, slot, 4, i);
    }
}

/* Puts element n of the words in JIT_T4 into JIT_T0, as words. */
static void take_small(ptx_making *m, const ptx_access *access, unsigned n) {
    x86 *x = &m->x;
    const unsigned bits = 8u * access->size;
    acu_x86_shift_by(x, X86_SHIFT_PSLLD, JIT_T0, JIT_T4, (uint8_t)(32 - (n + 1) * bits));
    acu_x86_shift_by(x, access->is_signed ? X86_SHIFT_PSRAD : X86_SHIFT_PSRLD, JIT_T0, JIT_T0,
                     (uint8_t)(32 - bits));
}

/* Loads vectors of small elements that are a word together. AVX-512 only. */
static void load_word_of_small(ptx_making *m, unsigned pattern, const ptx_access *access) {
    x86 *x = &m->x;
    for (unsigned i = 0; i < m->vectors; i++) {
        load_offsets(m, pattern, access, (size_t)i * m->width);
        acu_x86_vector(x, X86_PXOR, JIT_T4, JIT_T4, x86_in(JIT_T4));
        acu_x86_gather(x, X86_GATHERD, JIT_T4, X86_R9, JIT_T1, 0, lanes_of(m, 4, i));
        for (unsigned n = 0; n < access->count; n++) {
            if (access->slots[n] == UINT32_MAX)
                continue;
            take_small(m, access, n);
            if (access->register_size == 2)
                acu_jit_store_shorts(m, access->slots[n], i);
            else
                acu_jit_put(m, access->slots[n], 4, i);
        }
    }
}

void acu_jit_load_anyhow(ptx_making *m, const ptx_access *access, unsigned pattern, bool is_same) {
    load_base(m, pattern, 0);
    if (m->wide && access->count > 1 && access->size * access->count == 4) {
        load_word_of_small(m, pattern, access);
        return;
    }
    for (unsigned n = 0; n < access->count; n++) {
        const int32_t offset = (int32_t)(n * access->size);
        if (access->slots[n] == UINT32_MAX)
            continue;
        if (access->size < 4)
            load_small(m, pattern, access, n);
        else if (is_same)
            broadcast(m, access->slots[n], access->size, offset);
        else
            gather(m, pattern, access, access->slots[n], offset);
    }
}

/* Stores one element for each lane, in their order. */
static void scatter(ptx_making *m, unsigned pattern, const ptx_access *access, ptx_slot slot,
                    int32_t offset) {
    x86 *x = &m->x;
    const unsigned size = access->size;
    const unsigned lanes = m->width / size;
    for (unsigned i = 0; i < PTX_LANES / lanes; i++) {
        const unsigned mask = lanes_of(m, size, i);
        const unsigned s = acu_jit_load(m, slot, size, i, JIT_T0);
        load_offsets(m, pattern, access, (size_t)i * lanes * 4);
        acu_x86_gather(x, size == 4 ? X86_SCATTERD : X86_SCATTERQ, s, X86_R9, JIT_T1, offset, mask);
    }
}

/* Returns where the words are that load_offsets() reads, all of them. */
static x86_place offsets_of(ptx_making *m, unsigned pattern, const ptx_access *access) {
    if (pattern == JIT_NO_PATTERN)
        return acu_jit_in_frame(offsetof(jit_frame, local));
    if (access->space != PTX_LOCAL)
        return pattern_offset(pattern, 0);
    for (unsigned i = 0; i < m->vectors; i++) {
        load_offsets(m, pattern, access, (size_t)i * m->width);
        acu_x86_vector(&m->x, X86_STORE, JIT_T1, X86_NONE,
                       acu_jit_in_frame(offsetof(jit_frame, offset) + (size_t)i * m->width));
    }
    return acu_jit_in_frame(offsetof(jit_frame, offset));
}

/* The moves that bring an element from a register, of so many bytes, to memory. */
static x86_move load_of(unsigned register_size) {
    static const x86_move loads[] = {0, X86_LOAD_SHORT, X86_LOAD_WORD, 0, X86_LOAD_LONG};
    return loads[register_size / 2];
}

static x86_move store_of(unsigned size) {
    static const x86_move stores[] = {0, X86_STORE_BYTE, X86_STORE_SHORT, 0, X86_STORE_WORD, 0, 0,
                                      0, X86_STORE_LONG};
    return stores[size];
}

static void load_element(x86 *x, unsigned size, x86_place from) {
    if (size == 2)
        acu_x86_load_short(x, X86_R10, from);
    else
        (size == 4 ? acu_x86_word : acu_x86_long)(x, X86_MOV, X86_R10, from);
}

void acu_jit_write_store_all(ptx_making *m, const ptx_access *access) {
    x86 *x = &m->x;
    size_t *at = &m->store_all[access->size / 2][access->register_size / 2];
    if (*at || (m->wide && access->size >= 4))
        return;
    *at = x->size;
    for (unsigned lane = 0; lane < PTX_LANES; lane++) {
        acu_x86_load_signed(x, X86_RDX, x86_at(X86_RSI, (int32_t)(4 * lane)));
        load_element(x, access->register_size,
                     x86_at(X86_RDI, (int32_t)(access->register_size * lane)));
        acu_x86_move_indexed(x, store_of(access->size), X86_R10, X86_R9, X86_RDX, 1);
    }
    acu_x86_return(x);
}

/* Stores an element that all lanes share in their local memory, where they have one address;
 * returns a jump from behind that, or 0: it is not known here that they share it. */
static size_t store_same(ptx_making *m, unsigned pattern, const ptx_access *access) {
    x86 *x = &m->x;
    if (access->space != PTX_LOCAL || access->count > 1 || m->masked ||
        !acu_jit_is_uniform(m, access->slots[0]))
        return 0;
    size_t differ = 0;
    if (pattern != JIT_NO_PATTERN) {
        acu_x86_long_by(x, X86_CMP,
                        acu_jit_in_frame(offsetof(jit_frame, patterns) +
                                         pattern * sizeof(jit_pattern) +
                                         offsetof(jit_pattern, kind)),
                        JIT_SAME);
        differ = acu_x86_jump(x, X86_NOT_ZERO);
    }
    load_element(x, access->register_size, acu_jit_memory(m, access->slots[0], 0));
    acu_x86_land(x, acu_x86_call_near(x), m->store_same[access->size]);
    const size_t done = acu_x86_jump(x, X86_ALWAYS);
    if (differ)
        acu_x86_land(x, differ, x->size);
    return done;
}

/* Stores the lanes' elements one by one: of any size, from their place in memory. */
static void store_each(ptx_making *m, unsigned pattern, const ptx_access *access, unsigned n) {
    x86 *x = &m->x;
    jit_group now[JIT_GROUPS];
    __builtin_memcpy(now, m->groups, sizeof now);
    acu_jit_flush_one(m, access->slots[n]);
    __builtin_memcpy(m->groups, now, sizeof now); /* only this code has stored it */
    acu_x86_lea(x, X86_RSI, offsets_of(m, pattern, access));
    acu_x86_lea(x, X86_RDI, acu_jit_memory(m, access->slots[n], 0));
    if (n)
        acu_x86_long_by(x, X86_ADD, x86_in(X86_R9), access->size);
    if (!m->masked) {
        acu_x86_land(x, acu_x86_call_near(x),
                     m->store_all[access->size / 2][access->register_size / 2]);
        return;
    }
    acu_jit_load_lanes(m, X86_RCX);
    const size_t again = x->size;
    acu_x86_first_bit(x, X86_RAX, X86_RCX);
    acu_x86_move_indexed(x, X86_LOAD_SIGNED, X86_RDX, X86_RSI, X86_RAX, 4);
    acu_x86_move_indexed(x, load_of(access->register_size), X86_R10, X86_RDI, X86_RAX,
                         access->register_size);
    acu_x86_move_indexed(x, store_of(access->size), X86_R10, X86_R9, X86_RDX, 1);
    acu_x86_drop_first_bit(x, X86_RCX, X86_RCX);
    acu_x86_land(x, acu_x86_jump(x, X86_NOT_ZERO), again);
}

void acu_jit_store_anyhow(ptx_making *m, const ptx_access *access, unsigned pattern) {
    load_base(m, pattern, 0);
    const size_t same = store_same(m, pattern, access);
    for (unsigned n = 0; n < access->count; n++)
        if (m->wide && access->size >= 4)
            scatter(m, pattern, access, access->slots[n], (int32_t)(n * access->size));
        else
            store_each(m, pattern, access, n);
    if (same)
        acu_x86_land(&m->x, same, m->x.size);
}
