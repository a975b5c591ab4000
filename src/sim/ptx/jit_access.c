/*
 * Loads and stores. Most often the lanes of each vector have one address, or consecutive ones.
 * Which it is is found out while the kernel runs, once for each register that addresses are made
 * of: a pattern. Every access compares its smallest and its largest address with the allocation.
 * What does not fit is left to the interpreter's handler. jit_scatter.c has accesses whose lanes
 * lie otherwise.
 */
#include "sim/ptx/access.h"
#include "sim/ptx/grid.h"
#include "sim/ptx/jit_inside.h"
#include "sim/ptx/lower_inside.h"

#include <stddef.h>
#include <string.h>

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

/* Where the frame has a field of a pattern. */
static x86_place pattern_at(unsigned pattern, size_t offset) {
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

static void leave_if(ptx_making *m, jit_aside *aside, x86_condition condition) {
    aside->jumps[aside->jump_count++] = acu_x86_jump(&m->x, condition);
}

/* Multiplies the first lane's number by the scale; leaves if a lane's number overflows. */
static void scale_first(ptx_making *m, const jit_known_pattern *p, jit_aside *aside) {
    x86 *x = &m->x;
    const uint32_t most = (p->is_signed ? INT32_MAX : UINT32_MAX) - (PTX_LANES - 1);
    acu_x86_word_by(x, X86_CMP, x86_in(X86_RAX), (int32_t)most);
    leave_if(m, aside, p->is_signed ? X86_GREATER : X86_ABOVE);
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
    acu_x86_store_long(x, pattern_at(pattern, offsetof(jit_pattern, low)), X86_RAX);
    acu_x86_long_by(x, X86_MOV, pattern_at(pattern, offsetof(jit_pattern, kind)), JIT_ROW);
    aside->jumps[aside->jump_count++] = jump_if_any(m, JIT_T2);
}

/* Computes a late value where nothing else is. */
x86_place acu_jit_sum_aside(ptx_making *m, const jit_sum *sum) {
    const ptx_slot scratch = PTX_SLOT(PTX_BANK_WARP, PTX_SCRATCH);
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
    const ptx_slot scratch = PTX_SLOT(PTX_BANK_WARP, PTX_SCRATCH);
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
    acu_x86_lea(x, X86_RSI, pattern_at(pattern, 0));
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

static unsigned bytes_of_lane(const ptx_access *access) {
    return (unsigned)access->size * access->count;
}

/* Returns whether only code for lanes that lie anyhow does the access. */
static bool is_anyhow(const ptx_making *m, const ptx_access *access) {
    return m->masked || access->count > 1 || access->size < 4 || access->space == PTX_LOCAL;
}

/* Returns the pattern of an address, and what is to be added to it. */
static unsigned pattern_of(ptx_making *m, const ptx_op *op, const ptx_access *access,
                           jit_sum *sum) {
    const bool anyhow = is_anyhow(m, access);
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
                                      .size = (uint8_t)bytes_of_lane(access),
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

/* ---- accesses ---- */

/* Puts what is added to the pattern's addresses into R8. */
static void load_added(ptx_making *m, const ptx_op *op, const jit_sum *sum) {
    x86 *x = &m->x;
    if (!sum->count)
        acu_x86_long_by(x, X86_MOV, x86_in(X86_R8), (int32_t)op->value);
    for (unsigned n = 0; n < sum->count; n++)
        acu_x86_long(x, n ? X86_ADD : X86_MOV, X86_R8, acu_jit_memory(m, sum->added[n], 0));
    if (sum->count && op->value)
        acu_x86_long_by(x, X86_ADD, x86_in(X86_R8), (int32_t)op->value);
}

/* Puts the smallest and the largest address into RAX and RDX, and what is added to the pattern's
 * into R8. */
static void load_ends(ptx_making *m, const ptx_op *op, unsigned pattern, const jit_sum *sum) {
    x86 *x = &m->x;
    load_added(m, op, sum);
    if (pattern == JIT_NO_PATTERN) {
        acu_x86_long(x, X86_ADD, X86_R8, acu_jit_memory(m, sum->root, 0));
        acu_x86_long(x, X86_MOV, X86_RAX, x86_in(X86_R8));
        acu_x86_long(x, X86_MOV, X86_RDX, x86_in(X86_R8));
        return;
    }
    acu_x86_long(x, X86_MOV, X86_RAX, pattern_at(pattern, offsetof(jit_pattern, low)));
    acu_x86_long(x, X86_MOV, X86_RDX, pattern_at(pattern, offsetof(jit_pattern, high)));
    acu_x86_long(x, X86_ADD, X86_RAX, x86_in(X86_R8));
    acu_x86_long(x, X86_ADD, X86_RDX, x86_in(X86_R8));
}

/* Leaves unless the addresses are shared memory; adds to R8 what leads from them to its bytes. */
static void check_shared(ptx_making *m, jit_aside *aside, unsigned size) {
    x86 *x = &m->x;
    acu_x86_long(x, X86_MOV, X86_RCX, x86_at(JIT_WARP, offsetof(ptx_warp, block)));
    acu_x86_long(x, X86_MOV, X86_R9, x86_at(X86_RCX, offsetof(ptx_block, shared_bytes)));
    acu_x86_long_by(x, X86_SUB, x86_in(X86_R9), (int32_t)size);
    leave_if(m, aside, X86_BELOW);
    acu_x86_long(x, X86_CMP, X86_RDX, x86_in(X86_R9));
    leave_if(m, aside, X86_ABOVE);
    acu_x86_long(x, X86_ADD, X86_R8, x86_at(X86_RCX, offsetof(ptx_block, shared)));
}

/* Leaves unless the addresses are local memory; adds to R8 what leads from them to the bytes of the
 * first lane's. What all lanes have is less than a word can count. */
static void check_local(ptx_making *m, jit_aside *aside, unsigned size) {
    x86 *x = &m->x;
    acu_x86_long(x, X86_MOV, X86_R9, acu_jit_in_warp(offsetof(ptx_warp, local_bytes)));
    acu_x86_long_by(x, X86_CMP, x86_in(X86_R9), 1 << 25);
    leave_if(m, aside, X86_NOT_BELOW);
    acu_x86_long_by(x, X86_SUB, x86_in(X86_R9), (int32_t)size);
    leave_if(m, aside, X86_BELOW);
    acu_x86_long(x, X86_CMP, X86_RDX, x86_in(X86_R9));
    leave_if(m, aside, X86_ABOVE);
    acu_x86_long(x, X86_ADD, X86_R8, acu_jit_in_warp(offsetof(ptx_warp, local)));
}

void acu_jit_check_local(ptx_making *m, const ptx_op *op, jit_aside *aside, unsigned size) {
    const jit_sum address = {.root = op->a};
    load_ends(m, op, JIT_NO_PATTERN, &address);
    acu_x86_test_bits(&m->x, X86_RAX, ((const ptx_access *)op->more)->size - 1u);
    leave_if(m, aside, X86_NOT_ZERO);
    check_local(m, aside, size);
}

/* Leaves where the bytes are not in the allocation that the operation accessed last. The address in
 * RDX is a multiple of the size, so that the last byte's is not beyond all addresses. */
static void check_global(ptx_making *m, jit_aside *aside, const ptx_op *op, unsigned size) {
    x86 *x = &m->x;
    size_t range = op->site * sizeof(ptx_site) + offsetof(ptx_site, range);
    x86_place base = x86_at(JIT_SITES, (int32_t)(range + offsetof(ptx_range, base))),
              last = x86_at(JIT_SITES, (int32_t)(range + offsetof(ptx_range, last))),
              bytes = x86_at(JIT_SITES, (int32_t)(range + offsetof(ptx_range, bytes)));
    acu_x86_long(x, X86_CMP, X86_RAX, base);
    leave_if(m, aside, X86_BELOW);
    acu_x86_lea(x, X86_R9, x86_at(X86_RDX, (int32_t)size - 1));
    acu_x86_long(x, X86_CMP, X86_R9, last);
    leave_if(m, aside, X86_ABOVE);
    acu_x86_long(x, X86_ADD, X86_R8, bytes);
    acu_x86_long(x, X86_SUB, X86_R8, base);
}

/* Leaves where a row of elements that begins at RDX is not in shared memory; adds to R8 what leads
 * from addresses to bytes. */
static void check_row_in_shared(ptx_making *m, jit_aside *aside, unsigned size) {
    x86 *x = &m->x;
    acu_x86_long(x, X86_MOV, X86_RCX, acu_jit_in_warp(offsetof(ptx_warp, block)));
    acu_x86_long(x, X86_MOV, X86_R9, x86_at(X86_RCX, offsetof(ptx_block, shared_bytes)));
    acu_x86_long_by(x, X86_SUB, x86_in(X86_R9), (int32_t)(PTX_LANES * size - 1));
    leave_if(m, aside, X86_NOT_ABOVE);
    acu_x86_long(x, X86_CMP, X86_RDX, x86_in(X86_R9));
    leave_if(m, aside, X86_NOT_BELOW);
    acu_x86_long(x, X86_ADD, X86_R8, x86_at(X86_RCX, offsetof(ptx_block, shared)));
}

/* Leaves where a row of elements that begins at RDX is not in the allocation that the operation
 * accessed last; adds to R8 what leads from addresses to bytes. */
static void check_row_in_global(ptx_making *m, jit_aside *aside, const ptx_op *op) {
    x86 *x = &m->x;
    const size_t site = op->site * sizeof(ptx_site);
    acu_x86_long(x, X86_MOV, X86_R9,
                 x86_at(JIT_SITES, (int32_t)(site + offsetof(ptx_site, range.base))));
    acu_x86_long(x, X86_SUB, X86_RDX, x86_in(X86_R9));
    acu_x86_long(x, X86_CMP, X86_RDX,
                 x86_at(JIT_SITES, (int32_t)(site + offsetof(ptx_site, rows))));
    leave_if(m, aside, X86_NOT_BELOW);
    acu_x86_long(x, X86_SUB, X86_R8, x86_in(X86_R9));
    acu_x86_long(x, X86_ADD, X86_R8,
                 x86_at(JIT_SITES, (int32_t)(site + offsetof(ptx_site, range.bytes))));
}

/* Puts where the bytes of a row of elements are into RAX; leaves where the access needs the
 * handler. The bytes do not wait for the check. Returns a jump, for which the elements lie
 * otherwise. */
static size_t check_row(ptx_making *m, const ptx_op *op, unsigned pattern, const jit_sum *sum,
                        jit_aside *aside) {
    x86 *x = &m->x;
    const ptx_access *access = op->more;
    acu_x86_long_by(x, X86_CMP, pattern_at(pattern, offsetof(jit_pattern, kind)), JIT_ROW);
    const size_t other = acu_x86_jump(x, X86_NOT_ZERO);
    load_added(m, op, sum);
    acu_x86_long(x, X86_MOV, X86_RAX, pattern_at(pattern, offsetof(jit_pattern, low)));
    acu_x86_long(x, X86_MOV, X86_RDX, x86_in(X86_RAX));
    acu_x86_long(x, X86_ADD, X86_RDX, x86_in(X86_R8));
    acu_x86_test_bits(x, X86_RDX, access->size - 1u);
    leave_if(m, aside, X86_NOT_ZERO);
    if (access->space == PTX_SHARED)
        check_row_in_shared(m, aside, access->size);
    else
        check_row_in_global(m, aside, op);
    acu_x86_long(x, X86_ADD, X86_RAX, x86_in(X86_R8));
    return other;
}

/* Fetches what a later warp likely reads of what follows a row, whose bytes are at RAX. The
 * processor does so itself only where this warp reads nothing else meanwhile. */
static void fetch_ahead(ptx_making *m, unsigned bytes) {
    enum { AHEAD = 512, LINE = 64 };
    for (unsigned at = 0; at < bytes; at += LINE)
        acu_x86_prefetch(&m->x, x86_at(X86_RAX, (int32_t)(AHEAD + at)));
}

/* Does the access where the elements of all lanes are consecutive; returns a jump behind the code
 * for others, which is to follow. */
static size_t write_row_access(ptx_making *m, const ptx_op *op, unsigned pattern,
                               const jit_sum *sum, jit_aside *aside) {
    x86 *x = &m->x;
    const ptx_access *access = op->more;
    const ptx_slot slot = access->slots[0];
    const unsigned size = access->size;
    const size_t other = check_row(m, op, pattern, sum, aside);
    if (acu_jit_access_kind(op) == 1 && access->space != PTX_SHARED)
        fetch_ahead(m, PTX_LANES * size);
    for (unsigned i = 0; i < PTX_LANES * size / m->width; i++) {
        const x86_place bytes = x86_at(X86_RAX, (int32_t)(i * m->width));
        if (acu_jit_access_kind(op) == 2) {
            acu_x86_vector(x, X86_STORE, acu_jit_load(m, slot, size, i, JIT_T1), X86_NONE, bytes);
            continue;
        }
        acu_x86_vector(x, X86_LOAD, acu_jit_target(m, slot, size, i), X86_NONE, bytes);
        acu_jit_done(m, slot, size, i);
    }
    const size_t done = acu_x86_jump(x, X86_ALWAYS);
    acu_x86_land(x, other, x->size);
    return done;
}

/* Leaves where the access needs the handler. Then R8 is what leads from the pattern's addresses to
 * bytes. */
static void check(ptx_making *m, const ptx_op *op, unsigned pattern, const jit_sum *sum,
                  jit_aside *aside) {
    x86 *x = &m->x;
    const ptx_access *access = op->more;
    const unsigned bytes = bytes_of_lane(access);
    load_ends(m, op, pattern, sum);
    acu_x86_long(x, X86_CMP, X86_RAX, x86_in(X86_RDX));
    leave_if(m, aside, X86_ABOVE);
    acu_x86_test_bits(x, X86_RAX, bytes - 1u);
    leave_if(m, aside, X86_NOT_ZERO);
    if (access->space == PTX_SHARED)
        check_shared(m, aside, bytes);
    else if (access->space == PTX_LOCAL)
        check_local(m, aside, bytes);
    else
        check_global(m, aside, op, bytes);
    if (pattern == JIT_NO_PATTERN)
        return;
    acu_x86_long(x, X86_MOV, X86_RSI, pattern_at(pattern, offsetof(jit_pattern, kind)));
    acu_x86_long_by(x, X86_CMP, x86_in(X86_RSI), JIT_CONSECUTIVE);
}

/* Returns the bytes of vector i. */
static x86_place bytes_of(ptx_making *m, unsigned pattern, unsigned i) {
    acu_x86_long(&m->x, X86_MOV, X86_R9,
                 pattern_at(pattern, offsetof(jit_pattern, at) + (size_t)8 * i));
    acu_x86_long(&m->x, X86_ADD, X86_R9, x86_in(X86_R8));
    return x86_at(X86_R9, 0);
}

static void load_all(ptx_making *m, const ptx_op *op, unsigned pattern, x86_vector load) {
    const ptx_access *access = op->more;
    for (unsigned i = 0; i < PTX_LANES * access->size / m->width; i++) {
        x86_place bytes = bytes_of(m, pattern, i);
        acu_x86_vector(&m->x, load, acu_jit_target(m, access->slots[0], access->size, i), X86_NONE,
                       bytes);
        acu_jit_done(m, access->slots[0], access->size, i);
    }
}

/* Loads elements of lanes that lie anyhow, which the last comparison says. */
static void write_load_anyhow(ptx_making *m, const ptx_op *op, unsigned pattern, jit_aside *aside) {
    x86 *x = &m->x;
    const ptx_access *access = op->more;
    if (pattern != JIT_NO_PATTERN)
        leave_if(m, aside, X86_NOT_ABOVE);
    if (access->size < 4 || access->space == PTX_LOCAL) {
        acu_jit_load_anyhow(m, access, pattern, false);
        return;
    }
    acu_x86_long_by(x, X86_CMP, x86_in(X86_RSI), JIT_SAME);
    const size_t same = acu_x86_jump(x, X86_ZERO);
    acu_jit_load_anyhow(m, access, pattern, false);
    const size_t done = acu_x86_jump(x, X86_ALWAYS);
    acu_x86_land(x, same, x->size);
    acu_jit_load_anyhow(m, access, pattern, true);
    acu_x86_land(x, done, x->size);
}

static void write_load(ptx_making *m, const ptx_op *op, unsigned pattern, jit_aside *aside) {
    x86 *x = &m->x;
    const ptx_access *access = op->more;
    if (is_anyhow(m, access)) {
        write_load_anyhow(m, op, pattern, aside);
        return;
    }
    size_t other = acu_x86_jump(x, X86_NOT_ZERO), done[2];
    load_all(m, op, pattern, X86_LOAD);
    done[0] = acu_x86_jump(x, X86_ALWAYS);
    acu_x86_land(x, other, x->size);
    const size_t anyhow = acu_x86_jump(x, X86_ABOVE);
    acu_x86_long(x, X86_OR, X86_RSI, x86_in(X86_RSI));
    leave_if(m, aside, X86_ZERO);
    load_all(m, op, pattern, access->size == 4 ? X86_PBROADCASTD : X86_PBROADCASTQ);
    done[1] = acu_x86_jump(x, X86_ALWAYS);
    acu_x86_land(x, anyhow, x->size);
    acu_jit_load_anyhow(m, access, pattern, false);
    acu_x86_land(x, done[0], x->size);
    acu_x86_land(x, done[1], x->size);
}

static void write_store(ptx_making *m, const ptx_op *op, unsigned pattern, jit_aside *aside) {
    x86 *x = &m->x;
    const ptx_access *access = op->more;
    if (is_anyhow(m, access)) {
        if (pattern != JIT_NO_PATTERN)
            leave_if(m, aside, X86_NOT_ABOVE);
        acu_jit_store_anyhow(m, access, pattern);
        return;
    }
    const size_t other = acu_x86_jump(x, X86_NOT_ZERO);
    for (unsigned i = 0; i < PTX_LANES * access->size / m->width; i++) {
        unsigned vector = acu_jit_load(m, access->slots[0], access->size, i, JIT_T1);
        acu_x86_vector(x, X86_STORE, vector, X86_NONE, bytes_of(m, pattern, i));
    }
    const size_t done = acu_x86_jump(x, X86_ALWAYS);
    acu_x86_land(x, other, x->size);
    leave_if(m, aside, X86_NOT_ABOVE);
    acu_jit_store_anyhow(m, access, pattern);
    acu_x86_land(x, done, x->size);
}

int acu_jit_access_kind(const ptx_op *op) {
    const ptx_memory_handlers *handlers = acu_ptx_memory_handlers();
    for (unsigned n = 0; n < 4; n++)
        if (op->full == handlers->load[n] || op->full == handlers->store[n])
            return op->full == handlers->load[n] ? 1 : 2;
    return 0;
}

/* Returns whether elements of these sizes, in memory and in registers, have a translation. */
static bool has_size(const ptx_access *access, int kind) {
    if (access->size >= 4)
        return access->size == access->register_size;
    return kind == 2 || access->register_size == 4 || access->register_size == 2;
}

/* Returns whether other threads may change what a vector is loaded from, or see what it is stored
 * to, so that it has to be one copy of the processor, which several gathers are not. */
static bool is_one_copy(const ptx_making *m, const ptx_op *op) {
    return m->code->spins && ((const ptx_access *)op->more)->space != PTX_LOCAL &&
           !strstr(op->instruction->opcode, ".nc");
}

/* Returns whether the access has a translation. */
static bool is_known(const ptx_making *m, const ptx_op *op, int kind) {
    const ptx_access *access = op->more;
    const bool near =
        access->space == PTX_SHARED || access->space == PTX_LOCAL ||
        ((access->space == PTX_GLOBAL || access->space == PTX_GENERIC) && !access->narrow);
    const bool fits =
        op->value >= INT32_MIN / 2 && op->value <= INT32_MAX / 2 && op->site < 1000000;
    const bool single = access->count == 1 && access->slots[0] != UINT32_MAX;
    return near && fits && has_size(access, kind) &&
           (single || (access->count <= 4 && !is_one_copy(m, op)));
}

/* Jumps over the access where no lane executes it; returns the number of the code aside, which has
 * the vectors' values in their places; SIZE_MAX: there is none. */
static size_t skip_if_none(ptx_making *m) {
    x86 *x = &m->x;
    jit_aside *aside = m->masked_by_guard ? acu_jit_aside(m, NULL) : NULL;
    if (!aside)
        return SIZE_MAX;
    acu_jit_load_lanes(m, X86_RCX);
    acu_x86_word(x, X86_OR, X86_RCX, x86_in(X86_RCX));
    leave_if(m, aside, X86_ZERO);
    aside->is_skipped = true;
    __builtin_memcpy(aside->before, m->groups, sizeof m->groups);
    return m->aside_count - 1;
}

/* Says that the operation reads or writes the registers of an access. */
static void touch(ptx_making *m, const ptx_access *access, bool writes) {
    for (unsigned n = 0; n < access->count; n++)
        if (access->slots[n] != UINT32_MAX)
            (writes ? acu_jit_begin : acu_jit_want)(m, access->slots[n], access->register_size);
}

static void end_aside(const ptx_making *m, jit_aside *aside) {
    aside->back = m->x.size;
    __builtin_memcpy(aside->after, m->groups, sizeof m->groups);
}

bool acu_jit_access(ptx_making *m, const ptx_op *op, const ptx_op *inner) {
    const ptx_access *access = inner->more;
    const int kind = acu_jit_access_kind(inner);
    if (!kind || !is_known(m, inner, kind))
        return false;
    if (kind == 2 && access->space == PTX_LOCAL && acu_jit_join_stores(m, inner))
        return true;
    const size_t skipped = skip_if_none(m);
    jit_sum sum;
    const unsigned pattern = pattern_of(m, inner, access, &sum);
    jit_aside *aside = acu_jit_aside(m, op);
    if (!aside)
        return false;
    if (kind == 2)
        touch(m, access, false);
    for (unsigned n = 0; kind == 1 && n < access->count; n++)
        if (access->slots[n] != UINT32_MAX)
            acu_jit_write(m, access->slots[n], false);
    if (sum.is_late) { /* what it is made of may be elsewhere now */
        aside->address = *acu_jit_find_sum(m, inner->a);
        aside->address.is_late = true;
    }
    __builtin_memcpy(aside->before, m->groups, sizeof m->groups);
    if (kind == 1)
        touch(m, access, true);
    for (unsigned g = 0; g < m->group_count && kind == 1; g++)
        if (aside->before[g].slot != m->groups[g].slot ||
            aside->before[g].part != m->groups[g].part || !m->groups[g].size)
            aside->before[g].size = 0; /* it was stored, or has nothing yet */
    const bool may_be_row = m->in_rows && !is_anyhow(m, access);
    const size_t done = may_be_row ? write_row_access(m, inner, pattern, &sum, aside) : 0;
    check(m, inner, pattern, &sum, aside);
    (kind == 1 ? write_load : write_store)(m, inner, pattern, aside);
    if (may_be_row)
        acu_x86_land(&m->x, done, m->x.size);
    end_aside(m, aside);
    if (skipped != SIZE_MAX)
        end_aside(m, &m->asides[skipped]);
    acu_jit_forget_masks(m);
    return true;
}
