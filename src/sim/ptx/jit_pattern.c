/*
 * How the addresses of a warp lie: a pattern. It is found out while the kernel runs, once in a
 * block for each register that addresses are made of.
 */
#include "sim/ptx/access.h"
#include "sim/ptx/jit_inside.h"
#include "sim/ptx/lower_inside.h"

#include <stddef.h>

/* ---- patterns ---- */

static bool is_same(const jit_known_pattern *a, const jit_known_pattern *b) {
    return a->root == b->root && a->version == b->version && a->narrow == b->narrow &&
           a->size == b->size && a->scale == b->scale && a->is_signed == b->is_signed &&
           a->anyhow == b->anyhow && a->is_guarded == b->is_guarded && a->guard == b->guard &&
           a->guard_negated == b->guard_negated && a->guard_version == b->guard_version;
}

static int known_pattern(const ptx_making *m, const jit_known_pattern *pattern) {
    for (unsigned n = 0; n < m->pattern_count; n++)
        if (is_same(&m->patterns[n], pattern))
            return (int)n;
    return -1;
}

x86_place acu_jit_pattern_at(unsigned pattern, size_t offset) {
    return x86_at(
        X86_RSP, (int32_t)(offsetof(jit_frame, patterns) + pattern * sizeof(jit_pattern) + offset));
}

/* Jumps if a vector is not 0. */
static size_t jump_if_any(ptx_making *m, unsigned vector) {
    x86 *x = &m->x;
    if (m->wide) {
        acu_x86_vector(x, X86_PTESTMD, 1, vector, x86_in(vector));
        acu_x86_test_mask(x, 1);
    } else {
        acu_x86_vector(x, X86_PTEST, vector, X86_NONE, x86_in(vector));
    }
    return acu_x86_jump(x, X86_NOT_ZERO);
}

/* Puts the first lane's address into RAX, and into all elements of JIT_T0. */
static void load_first(ptx_making *m, ptx_slot root, bool is_narrow) {
    x86 *x = &m->x;
    x86_place first = acu_jit_source(m, root, is_narrow ? 4 : 8, 0);
    acu_x86_vector(x, is_narrow ? X86_PBROADCASTD : X86_PBROADCASTQ, JIT_T0, X86_NONE, first);
    if (!first.in_memory)
        acu_x86_take_first(x, X86_RAX, first.number, is_narrow ? 4 : 8);
    else
        (is_narrow ? acu_x86_word : acu_x86_long)(x, X86_MOV, X86_RAX, first);
}

/* Adds to JIT_T2 what differs from consecutive elements. */
static void compare_steps(ptx_making *m, const jit_known_pattern *p, bool is_word) {
    x86 *x = &m->x;
    const unsigned lane = is_word ? 4 : 8;
    const unsigned steps = p->scale       ? JIT_LANES
                           : p->size == 8 ? is_word ? JIT_STEPS_8 : JIT_STEPS_8_WIDE
                           : is_word      ? JIT_STEPS_4
                                          : JIT_STEPS_4_WIDE;
    for (unsigned i = 0; i < PTX_LANES * lane / m->width; i++) {
        const unsigned to = i ? JIT_T1 : JIT_T2;
        acu_x86_vector(x, is_word ? X86_PADDD : X86_PADDQ, to, JIT_T0,
                       x86_at(JIT_POOL, (int32_t)(steps + i * m->width)));
        acu_x86_vector(x, X86_PXOR, to, to, acu_jit_source(m, p->root, lane, i));
        if (i)
            acu_x86_vector(x, X86_POR, JIT_T2, JIT_T2, x86_in(JIT_T1));
    }
}

/* Multiplies the first lane's number by the scale; leaves if a lane's number overflows. */
static void scale_first(ptx_making *m, const jit_known_pattern *p, jit_aside *aside) {
    x86 *x = &m->x;
    const uint32_t most = (p->is_signed ? INT32_MAX : UINT32_MAX) - (PTX_LANES - 1);
    acu_x86_word_by(x, X86_CMP, x86_in(X86_RAX), (int32_t)most);
    acu_jit_leave_if(m, aside, p->is_signed ? X86_GREATER : X86_ABOVE);
    if (p->is_signed)
        acu_x86_widen(x, X86_RAX);
    acu_x86_shift_long(x, X86_RAX, p->scale == 4 ? 2 : 3);
}

/* Fills in the pattern if the elements of all lanes are consecutive, which most often is so; else
 * it leaves. */
static void write_consecutive(ptx_making *m, unsigned pattern, jit_aside *aside) {
    x86 *x = &m->x;
    const jit_known_pattern *p = &m->patterns[pattern];
    const bool is_word = p->narrow || p->scale;
    load_first(m, p->root, is_word);
    compare_steps(m, p, is_word);
    if (p->scale)
        scale_first(m, p, aside);
    acu_x86_store_long(x, acu_jit_pattern_at(pattern, offsetof(jit_pattern, low)), X86_RAX);
    acu_x86_long_by(x, X86_MOV, acu_jit_pattern_at(pattern, offsetof(jit_pattern, kind)), JIT_ROW);
    aside->jumps[aside->jump_count++] = jump_if_any(m, JIT_T2);
}

/* Computes a late value where nothing else is. */
x86_place acu_jit_sum_aside(ptx_making *m, const jit_sum *sum) {
    const ptx_slot scratch = PTX_SCRATCH;
    for (unsigned i = 0; i < 2 * m->vectors; i++) {
        acu_jit_sum_vector(m, sum, i, JIT_T0);
        acu_x86_vector(&m->x, X86_STORE, JIT_T0, X86_NONE,
                       acu_jit_memory(m, scratch, (size_t)i * m->width));
    }
    return acu_jit_memory(m, scratch, 0);
}

/* Copies a value from vectors to where nothing else is. What is stored for some lanes only, as the
 * value itself is, is not soon loaded; the other lanes' elements are not looked at. */
static x86_place copy_aside(ptx_making *m, ptx_slot slot, unsigned size) {
    const ptx_slot scratch = PTX_SCRATCH;
    for (unsigned i = 0; i < PTX_LANES * size / m->width; i++)
        acu_x86_vector(&m->x, X86_STORE, acu_jit_load(m, slot, size, i, JIT_T0), X86_NONE,
                       acu_jit_memory(m, scratch, (size_t)i * m->width));
    return acu_jit_memory(m, scratch, 0);
}

void acu_jit_find_pattern(ptx_making *m, unsigned pattern) {
    x86 *x = &m->x;
    const jit_known_pattern *p = &m->patterns[pattern];
    const jit_sum product = {.root = p->root, .scale = p->scale, .is_signed = p->is_signed};
    x86_place addresses = acu_jit_memory(m, p->root, 0);
    if (p->scale)
        addresses = acu_jit_sum_aside(m, &product);
    else if (m->partial && acu_jit_has_all(m, p->root, p->narrow ? 4 : 8))
        addresses = copy_aside(m, p->root, p->narrow ? 4 : 8);
    else
        acu_jit_flush_one(m, p->root);
    acu_x86_lea(x, X86_RDI, addresses);
    acu_x86_lea(x, X86_RSI, acu_jit_pattern_at(pattern, 0));
    if (p->anyhow)
        acu_jit_place_lanes(m, p->narrow, p->size);
    else
        acu_x86_land(x, acu_x86_call_near(x), m->classify[p->narrow][p->size == 8]);
}

/* Returns the pattern, for which it writes code where the block has none yet. */
static unsigned make_pattern(ptx_making *m, const jit_known_pattern *wanted) {
    const int known = known_pattern(m, wanted);
    if (known >= 0)
        return (unsigned)known;
    if (m->pattern_count == JIT_PATTERNS)
        m->pattern_count = 0;
    unsigned pattern = m->pattern_count++;
    m->patterns[pattern] = *wanted;
    jit_aside *aside = m->in_rows && !wanted->anyhow ? acu_jit_aside(m, NULL) : NULL;
    if (!aside) {
        acu_jit_find_pattern(m, pattern);
        return pattern;
    }
    write_consecutive(m, pattern, aside);
    __builtin_memcpy(aside->before, m->groups, sizeof m->groups);
    aside->pattern = pattern;
    aside->known = *wanted;
    aside->back = m->x.size;
    return pattern;
}

unsigned acu_jit_bytes_of_lane(const ptx_access *access) {
    return (unsigned)access->size * access->count;
}

bool acu_jit_is_anyhow(const ptx_making *m, const ptx_access *access) {
    return m->masked || access->count > 1 || access->size < 4 || access->space == PTX_LOCAL;
}

unsigned acu_jit_pattern_of(ptx_making *m, const ptx_op *op, const ptx_access *access,
                            jit_sum *sum) {
    const bool anyhow = acu_jit_is_anyhow(m, access);
    const jit_sum *found = access->narrow ? NULL : acu_jit_find_sum(m, op->a);
    if (found && found->scale && found->scale != access->size && !anyhow) {
        acu_jit_settle(m, op->a);
        found = NULL;
    }
    if (found && !found->is_late && acu_jit_version(m, found->root) != found->root_version)
        found = NULL;
    *sum = found ? *found : (jit_sum){.root = op->a, .root_version = acu_jit_version(m, op->a)};
    if (access->space == PTX_LOCAL && !access->narrow && !sum->scale &&
        acu_jit_is_uniform(m, sum->root))
        return JIT_NO_PATTERN;
    const jit_known_pattern wanted = {.root = sum->root,
                                      .version = sum->root_version,
                                      .narrow = access->narrow,
                                      .is_signed = sum->is_signed,
                                      .size = (uint8_t)acu_jit_bytes_of_lane(access),
                                      .scale = sum->scale,
                                      .anyhow = anyhow,
                                      .is_guarded = m->masked_by_guard,
                                      .guard_negated = m->masked_by_guard && m->guard_negated,
                                      .guard = m->masked_by_guard ? m->guard : 0,
                                      .guard_version = m->masked_by_guard ? m->guard_version : 0};
    return make_pattern(m, &wanted);
}

/* ---- finding patterns ---- */

/* Compares a vector of addresses with the first address of its part: what differs is added to
 * JIT_T2, what differs from consecutive elements to JIT_T3. Addresses of 32 bits become such of 64
 * where elements of 8 bytes follow. */
static void compare_vector(ptx_making *m, bool is_narrow, bool widens, unsigned step, int32_t first,
                           int32_t at) {
    x86 *x = &m->x;
    x86_vector broadcast = is_narrow ? X86_PBROADCASTD : X86_PBROADCASTQ,
               subtract = is_narrow && !widens ? X86_PSUBD : X86_PSUBQ;
    acu_x86_vector(x, widens ? X86_PMOVZXDQ : X86_LOAD, JIT_T0, X86_NONE, x86_at(X86_RDI, at));
    acu_x86_vector(x, broadcast, JIT_T1, X86_NONE, x86_at(X86_RDI, first));
    if (widens)
        acu_x86_vector(x, X86_PMOVZXDQ, JIT_T1, X86_NONE, x86_in(JIT_T1));
    acu_x86_vector(x, subtract, JIT_T0, JIT_T0, x86_in(JIT_T1));
    acu_x86_vector(x, X86_POR, JIT_T2, JIT_T2, x86_in(JIT_T0));
    acu_x86_vector(x, X86_PXOR, JIT_T0, JIT_T0, x86_at(JIT_POOL, (int32_t)step));
    acu_x86_vector(x, X86_POR, JIT_T3, JIT_T3, x86_in(JIT_T0));
}

/* Compares the first address of a part with those before: R8 and R9 have the smallest and the
 * largest, R10 the bits in which they differ from the first one, R11. */
static void compare_first(ptx_making *m, bool is_narrow, unsigned part, int32_t first) {
    x86 *x = &m->x;
    x86_place at = x86_at(X86_RDI, first);
    (is_narrow ? acu_x86_word : acu_x86_long)(x, X86_MOV, X86_RAX, at);
    acu_x86_store_long(x, x86_at(X86_RSI, (int32_t)(offsetof(jit_pattern, at) + (size_t)8 * part)),
                       X86_RAX);
    if (!part) {
        acu_x86_long(x, X86_MOV, X86_R8, x86_in(X86_RAX));
        acu_x86_long(x, X86_MOV, X86_R9, x86_in(X86_RAX));
        acu_x86_long(x, X86_MOV, X86_R11, x86_in(X86_RAX));
        acu_x86_word(x, X86_XOR, X86_R10, x86_in(X86_R10));
        return;
    }
    acu_x86_long(x, X86_CMP, X86_RAX, x86_in(X86_R8));
    acu_x86_move_if(x, X86_BELOW, X86_R8, X86_RAX);
    acu_x86_long(x, X86_CMP, X86_RAX, x86_in(X86_R9));
    acu_x86_move_if(x, X86_ABOVE, X86_R9, X86_RAX);
    acu_x86_long(x, X86_XOR, X86_RAX, x86_in(X86_R11));
    acu_x86_long(x, X86_OR, X86_R10, x86_in(X86_RAX));
}

static void end_classify(ptx_making *m, int kind) {
    x86 *x = &m->x;
    acu_x86_long_by(x, X86_MOV, x86_at(X86_RSI, offsetof(jit_pattern, kind)), kind);
    acu_x86_return(x);
}

/* RDI has the addresses, RSI the pattern. The vectors of values stay as they are. */
static void write_one(ptx_making *m, bool is_narrow, unsigned size) {
    x86 *x = &m->x;
    unsigned lane = is_narrow ? 4 : 8, lanes = m->width / size, parts = PTX_LANES / lanes,
             vectors = is_narrow || size == 8 ? 1 : 2;
    unsigned steps = size == 8 ? JIT_STEPS_8_WIDE : is_narrow ? JIT_STEPS_4 : JIT_STEPS_4_WIDE;
    m->classify[is_narrow][size == 8] = x->size;
    acu_x86_vector(x, X86_LOAD, JIT_T2, X86_NONE, x86_at(JIT_POOL, JIT_ZERO));
    acu_x86_vector(x, X86_LOAD, JIT_T3, X86_NONE, x86_at(JIT_POOL, JIT_ZERO));
    for (unsigned part = 0; part < parts; part++) {
        int32_t first = (int32_t)(part * lanes * lane);
        for (unsigned v = 0; v < vectors; v++)
            compare_vector(m, is_narrow, is_narrow && size == 8, steps + v * m->width, first,
                           first + (int32_t)(v * m->width));
        compare_first(m, is_narrow, part, first);
    }
    acu_x86_store_long(x, x86_at(X86_RSI, offsetof(jit_pattern, low)), X86_R8);
    acu_x86_test_bits(x, X86_R10, size - 1);
    size_t odd = acu_x86_jump(x, X86_NOT_ZERO), differs = jump_if_any(m, JIT_T2);
    acu_x86_store_long(x, x86_at(X86_RSI, offsetof(jit_pattern, high)), X86_R9);
    end_classify(m, JIT_EQUAL);
    acu_x86_land(x, differs, x->size);
    size_t scattered = jump_if_any(m, JIT_T3);
    acu_x86_long_by(x, X86_ADD, x86_in(X86_R9), (int32_t)((lanes - 1) * size));
    acu_x86_store_long(x, x86_at(X86_RSI, offsetof(jit_pattern, high)), X86_R9);
    end_classify(m, JIT_CONSECUTIVE);
    acu_x86_land(x, odd, x->size);
    acu_x86_land(x, scattered, x->size);
    acu_jit_go_to_place_lanes(m, is_narrow, size);
}

void acu_jit_write_classify(ptx_making *m) {
    acu_jit_write_place_lanes(m);
    for (unsigned n = 0; n < 2; n++) {
        write_one(m, n, 4);
        write_one(m, n, 8);
    }
}
