#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "sim/ptx/access.h"
#include "sim/ptx/grid.h"
#include "sim/ptx/jit_inside.h"
#include "sim/ptx/lane_float.h"
#include "sim/ptx/lower_inside.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct ptx_jit {
    char *code; /* NULL: there is no machine code */
    size_t bytes;
    ptx_op *copies;      /* of operations, which the machine code knows */
    uint32_t *begins[2]; /* for each operation, where its code begins, if not all lanes are active,
                            and if they are; 0: nowhere */
};

static _Atomic uint64_t made_count;

uint64_t acu_ptx_jit_count(void) {
    return atomic_load(&made_count);
}

/* How machine code ended, and the warp that it ran last: what RAX and RDX have then. */
typedef struct jit_result {
    uint64_t end;
    ptx_warp *warp;
} jit_result;

/* The code begins with the pool, behind which is what is entered. */
typedef jit_result enter(ptx_warp *warp, const char *code, const char *pool);

/* ---- frames ---- */

static const x86_register kept[] = {X86_RBX, X86_RBP, X86_R12, X86_R13, X86_R14, X86_R15};
enum { KEPT = sizeof kept / sizeof *kept };

static void write_entry(ptx_making *m) {
    x86 *x = &m->x;
    _Static_assert(sizeof(jit_frame) % 64 == 0, "the frame has its end where it is aligned");
    for (unsigned n = 0; n < KEPT; n++)
        acu_x86_push(x, kept[n]);
    acu_x86_long(x, X86_MOV, X86_RAX, x86_in(X86_RSP));
    acu_x86_long_by(x, X86_SUB, x86_in(X86_RSP), sizeof(jit_frame));
    acu_x86_long_by(x, X86_AND, x86_in(X86_RSP), -(int32_t)_Alignof(jit_frame));
    acu_x86_store_long(x, acu_jit_in_frame(offsetof(jit_frame, stack)), X86_RAX);
    acu_x86_long(x, X86_MOV, JIT_WARP, x86_in(X86_RDI));
    acu_x86_long(x, X86_MOV, JIT_POOL, x86_in(X86_RDX));
    acu_x86_long(x, X86_MOV, JIT_LAUNCH,
                 acu_jit_in_warp(offsetof(ptx_warp, base[PTX_BANK_LAUNCH])));
    acu_x86_long(x, X86_MOV, JIT_BLOCK, acu_jit_in_warp(offsetof(ptx_warp, base[PTX_BANK_BLOCK])));
    acu_x86_load_number(x, X86_RCX, sizeof(ptx_split));
    acu_x86_word(x, X86_MOV, X86_RAX, acu_jit_in_warp(offsetof(ptx_warp, current)));
    acu_x86_multiply(x, X86_RAX, x86_in(X86_RCX));
    acu_x86_long(x, X86_ADD, X86_RAX, x86_in(JIT_WARP));
    acu_x86_long_by(x, X86_ADD, x86_in(X86_RAX), offsetof(ptx_warp, splits));
    acu_x86_store_long(x, acu_jit_in_frame(offsetof(jit_frame, split)), X86_RAX);
    acu_x86_long(x, X86_MOV, X86_RAX, acu_jit_in_warp(offsetof(ptx_warp, worker)));
    acu_x86_long(x, X86_MOV, JIT_SITES, x86_at(X86_RAX, offsetof(ptx_worker, site)));
    acu_x86_long(x, X86_MOV, JIT_BANK, acu_jit_in_warp(offsetof(ptx_warp, base[PTX_BANK_WARP])));
    acu_x86_long_by(x, X86_MOV, acu_jit_in_frame(offsetof(jit_frame, count)), 0);
    if (m->has_local)
        acu_jit_write_local(m);
    acu_x86_jump_to(x, X86_RSI);
}

/* Adds to what the warp has executed. */
static void write_executed(ptx_making *m) {
    x86 *x = &m->x;
    const x86_place executed = acu_jit_in_warp(offsetof(ptx_warp, executed));
    acu_x86_word(x, X86_MOV, X86_RAX, acu_jit_in_warp(offsetof(ptx_warp, active)));
    acu_x86_multiply(x, X86_RAX, acu_jit_in_frame(offsetof(jit_frame, count)));
    acu_x86_long(x, X86_ADD, X86_RAX, executed);
    acu_x86_store_long(x, executed, X86_RAX);
}

void acu_jit_write_exit(ptx_making *m) {
    x86 *x = &m->x;
    write_executed(m);
    acu_x86_word(x, X86_MOV, X86_RAX, x86_in(X86_R8));
    acu_x86_long(x, X86_MOV, X86_RDX, x86_in(JIT_WARP));
    acu_x86_zeroupper(x);
    acu_x86_long(x, X86_MOV, X86_RSP, acu_jit_in_frame(offsetof(jit_frame, stack)));
    for (unsigned n = KEPT; n-- > 0;)
        acu_x86_pop(x, kept[n]);
    acu_x86_return(x);
}

static void *grow(ptx_making *m, void *list, size_t count, size_t *room, size_t size) {
    if (count < *room)
        return list;
    size_t more = *room ? 2 * *room : 64;
    void *grown = realloc(list, more * size);
    if (!grown) {
        m->x.failed = true;
        return NULL;
    }
    *room = more;
    return grown;
}

void acu_jit_note_jump(ptx_making *m, size_t jump, uint32_t target, bool is_entry) {
    jit_jump *grown = grow(m, m->jumps, m->jump_count, &m->jump_room, sizeof *grown);
    if (!grown)
        return;
    m->jumps = grown;
    m->jumps[m->jump_count++] = (jit_jump){jump, target, is_entry};
}

jit_aside *acu_jit_aside(ptx_making *m, const ptx_op *op) {
    jit_aside *grown = grow(m, m->asides, m->aside_count, &m->aside_room, sizeof *grown);
    if (!grown)
        return NULL;
    m->asides = grown;
    memset(&grown[m->aside_count], 0, sizeof *grown);
    grown[m->aside_count].op = op;
    return &grown[m->aside_count++];
}

/* ---- handlers ---- */

static void call_handler(ptx_making *m, const ptx_op *op) {
    x86 *x = &m->x;
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
    copy->a = PTX_SLOT(PTX_BANK_WARP, PTX_SCRATCH);
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
    jit_group now[JIT_GROUPS];
    memcpy(now, m->groups, sizeof now);
    for (size_t n = 0; n < m->aside_count; n++) {
        const jit_aside *a = &m->asides[n];
        for (unsigned i = 0; i < a->jump_count; i++)
            acu_x86_land(&m->x, a->jumps[i], m->x.size);
        memcpy(m->groups, a->before, sizeof m->groups);
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
        acu_x86_land(&m->x, acu_x86_jump(&m->x, X86_ALWAYS), a->back);
    }
    m->aside_count = 0;
    memcpy(m->groups, now, sizeof now);
}

/* ---- plain operations ---- */

/* Makes JIT_K_GUARD the lanes of a guard that are active. */
static void guard_in_masks(ptx_making *m, const ptx_op *op) {
    x86 *x = &m->x;
    if (!acu_jit_is_compared(m, op->guard)) {
        acu_jit_load_predicate(m, op->guard);
        if (op->negated)
            acu_x86_not(x, X86_RAX);
        acu_x86_word(x, X86_AND, X86_RAX, acu_jit_in_warp(offsetof(ptx_warp, mask)));
        acu_x86_give_mask(x, JIT_K_GUARD, X86_RAX);
        acu_x86_upper_mask(x, JIT_K_GUARD + 1, JIT_K_GUARD, 16);
        return;
    }
    for (unsigned i = 0; i < 2; i++) {
        const unsigned to = JIT_K_GUARD + i, from = JIT_K_COMPARED + i;
        if (!m->masked)
            (op->negated ? acu_x86_not_mask : acu_x86_copy_mask)(x, to, from);
        else
            (op->negated ? acu_x86_and_not_masks : acu_x86_and_masks)(x, to, from,
                                                                      acu_jit_active(m, 4, i));
    }
}

/* Keeps the lanes of a guard that are active in the frame, as bits. */
static void guard_in_frame(ptx_making *m, const ptx_op *op) {
    x86 *x = &m->x;
    const x86_place bits = acu_jit_in_frame(offsetof(jit_frame, guard));
    acu_jit_load_predicate(m, op->guard);
    if (op->negated)
        acu_x86_not(x, X86_RAX);
    acu_x86_word(x, X86_AND, X86_RAX, acu_jit_in_warp(offsetof(ptx_warp, mask)));
    acu_x86_store_word(x, bits, X86_RAX);
}

/* The same, as words. */
static void guard_in_words(ptx_making *m) {
    x86 *x = &m->x;
    const x86_place bits = acu_jit_in_frame(offsetof(jit_frame, guard));
    for (unsigned i = 0; i < m->vectors; i++) {
        const x86_place lanes = x86_at(JIT_POOL, (int32_t)(JIT_BITS + 32 * i));
        acu_x86_vector(x, X86_PBROADCASTD, JIT_T0, X86_NONE, bits);
        acu_x86_vector(x, X86_PAND, JIT_T0, JIT_T0, lanes);
        acu_x86_vector(x, X86_PCMPEQD, JIT_T0, JIT_T0, lanes);
        acu_x86_vector(x, X86_STORE, JIT_T0, X86_NONE,
                       acu_jit_in_frame(offsetof(jit_frame, guards) + (size_t)32 * i));
    }
}

/* `words`: they are needed (AVX2). */
static void write_guard(ptx_making *m, const ptx_op *op, bool words) {
    const bool known = m->guard_known && m->guard == op->guard && m->guard_negated == op->negated &&
                       m->guard_version == acu_jit_version(m, op->guard);
    if (!known)
        (m->wide ? guard_in_masks : guard_in_frame)(m, op);
    if (words && !(known && m->words_known))
        guard_in_words(m);
    m->words_known = words || (known && m->words_known);
    m->guard_known = true;
    m->guard = op->guard;
    m->guard_negated = op->negated;
    m->guard_version = acu_jit_version(m, op->guard);
}

/* Translates a guarded operation as one of the lanes for which the guard is true. */
static bool guarded(ptx_making *m, const ptx_op *op) {
    const ptx_op *inner = op->more;
    const bool computes = acu_ptx_is_masked(inner->masked);
    if (!computes && !acu_jit_access_kind(inner))
        return false;
    const bool masked = m->masked;
    const x86_place bits = m->mask_bits, words = m->mask_words;
    const bool compared =
        !m->wide && computes && inner->size >= 4 && acu_jit_is_compared(m, op->guard);
    write_guard(m, op, !m->wide && !compared);
    m->masked = m->masked_by_guard = true;
    m->mask_bits = acu_jit_in_frame(offsetof(jit_frame, guard));
    m->mask_words =
        acu_jit_in_frame(compared ? offsetof(jit_frame, compared) : offsetof(jit_frame, guards));
    m->words_negated = compared && op->negated;
    bool done = computes ? acu_jit_lanes(m, inner) : acu_jit_access(m, op, inner);
    m->masked = masked;
    m->masked_by_guard = m->words_negated = false;
    m->mask_bits = bits;
    m->mask_words = words;
    return done;
}

/* Values of an instruction that nothing behind it needs are forgotten. */
static void forget_temporaries(ptx_making *m) {
    for (unsigned g = 0; g < m->group_count; g++)
        if (acu_jit_is_temporary(m->groups[g].slot))
            m->groups[g].size = 0;
}

/* Computes late values that the operation reads, or that are made of what it writes. */
static void settle(ptx_making *m, const ptx_op *op) {
    const bool is_guarded = acu_ptx_is_guarded(op->full);
    const ptx_op *inner = is_guarded ? op->more : op;
    if (acu_ptx_is_masked(inner->masked)) {
        acu_jit_settle(m, inner->a);
        acu_jit_settle(m, inner->b);
        acu_jit_settle(m, inner->c);
        acu_jit_write(m, inner->d, is_guarded);
        return;
    }
    const ptx_access *access = inner->more;
    const int kind = acu_jit_access_kind(inner);
    if (kind && is_guarded)
        acu_jit_settle(m, inner->a);
    for (unsigned n = 0; kind && n < access->count; n++)
        if (kind == 2)
            acu_jit_settle(m, access->slots[n]);
        else if (is_guarded && access->slots[n] != UINT32_MAX)
            acu_jit_write(m, access->slots[n], true);
}

/* Gives NaN in what the operation reads, or keeps some of, its bits where they matter: what is kept
 * of a result that is no float would be taken for one. */
static void smooth(ptx_making *m, const ptx_op *op) {
    const bool is_guarded = acu_ptx_is_guarded(op->full);
    const ptx_op *inner = is_guarded ? op->more : op;
    const ptx_access *access = inner->more;
    if (acu_ptx_is_masked(inner->masked)) {
        const ptx_slot slots[] = {inner->a, inner->b, inner->c};
        for (unsigned n = 0; n < 3 && !acu_jit_takes_rough(inner); n++)
            acu_jit_smooth(m, slots[n]);
        if (is_guarded && !acu_jit_makes_rough(inner))
            acu_jit_smooth(m, inner->d);
    } else if (acu_jit_access_kind(inner)) {
        acu_jit_smooth(m, inner->a);
        for (unsigned n = 0; n < access->count; n++)
            if (is_guarded || acu_jit_access_kind(inner) == 2)
                acu_jit_smooth(m, access->slots[n]);
    }
}

void acu_jit_plain(ptx_making *m, const ptx_op *op) {
    if (op->full == acu_ptx_nothing || m->at < m->joined_end)
        return;
    m->now++;
    m->wanted_count = 0;
    if (op->instruction != m->instruction)
        forget_temporaries(m);
    m->instruction = op->instruction;
    smooth(m, op);
    if (acu_ptx_is_masked(op->masked) && acu_jit_is_late(m, op))
        return;
    settle(m, op);
    bool done = acu_ptx_is_guarded(op->full)    ? guarded(m, op)
                : acu_ptx_is_masked(op->masked) ? acu_jit_lanes(m, op)
                                                : acu_jit_access(m, op, op);
    if (!done)
        acu_jit_call(m, op);
}

/* ---- making code ---- */

static void fill_words(uint32_t *pool, unsigned at, unsigned bytes, uint32_t first, uint32_t step) {
    for (unsigned n = 0; n < bytes / 4; n++)
        pool[at / 4 + n] = first + n * step;
}

/* Fills in 64 bytes. */
static void fill_wide(uint32_t *pool, unsigned at, double number) {
    for (unsigned n = 0; n < 8; n++)
        memcpy(&pool[at / 4 + 2 * n], &number, sizeof number);
}

static void fill_power(uint32_t *pool) {
    static const double series[] = {EX2_SERIES};
    _Static_assert(sizeof series / sizeof *series == JIT_SERIES_LENGTH, "all of the series");
    fill_wide(pool, JIT_POWER, -160);
    fill_wide(pool, JIT_POWER + 64, 130);
    fill_wide(pool, JIT_POWER + 128, 0x1.8p52);
    for (unsigned n = 0; n < JIT_SERIES_LENGTH; n++)
        fill_wide(pool, JIT_SERIES + 64 * n, series[n]);
    fill_words(pool, JIT_NORMAL, 64, 0x00800000, 0);
    fill_words(pool, JIT_EXPONENT, 64, 0x7f800000, 0);
    fill_wide(pool, JIT_NAN_WIDE, float_of(0x7fffffff));
}

static void write_pool(ptx_making *m) {
    uint32_t pool[JIT_POOL_BYTES / 4] = {0};
    fill_words(pool, JIT_STEPS_4, 128, 0, 4);
    fill_words(pool, JIT_STEPS_8, 128, 0, 8);
    for (unsigned n = 0; n < PTX_LANES; n++) {
        pool[JIT_STEPS_4_WIDE / 4 + 2 * n] = 4 * n;
        pool[JIT_STEPS_8_WIDE / 4 + 2 * n] = 8 * n;
    }
    fill_words(pool, JIT_LANES, 128, 0, 1);
    fill_words(pool, JIT_NAN, 64, 0x7fffffff, 0);
    fill_words(pool, JIT_SIGN, 64, UINT32_C(1) << 31, 0);
    for (unsigned n = 0; n < PTX_LANES; n++)
        pool[JIT_BITS / 4 + n] = UINT32_C(1) << n;
    fill_words(pool, JIT_ONES, 64, UINT32_MAX, 0);
    fill_words(pool, JIT_ONE, 64, 0x3f800000, 0);
    fill_words(pool, JIT_ALL, 128, UINT32_MAX, 0);
    fill_words(pool, JIT_EVEN, 64, 0, 2);
    fill_words(pool, JIT_ODD_WORDS, 64, 1, 2);
    fill_words(pool, JIT_31, 64, 31, 0);
    fill_words(pool, JIT_32, 64, 32, 0);
    fill_words(pool, JIT_2_31, 64, 0x4f000000, 0);
    fill_words(pool, JIT_CONTROL, 16, 0x1f80, 0x2000);
    fill_words(pool, JIT_LOW_2, 64, 3, 0);
    fill_words(pool, JIT_SHORT, 64, 0xffff, 0);
    fill_words(pool, JIT_UPPER, 64, 0xffff0000, 0);
    fill_words(pool, JIT_NAN_UPPER, 64, 0x7fff0000, 0);
    fill_words(pool, JIT_BELOW_HALF, 64, 0x7fff, 0);
    fill_words(pool, JIT_ONE_WORD, 64, 1, 0);
    for (unsigned n = 0; n < 16; n++) {
        pool[JIT_SIGN_WIDE / 4 + n] = n % 2 ? UINT32_C(1) << 31 : 0;
        pool[JIT_SIZE_WIDE / 4 + n] = n % 2 ? INT32_MAX : UINT32_MAX;
    }
    fill_wide(pool, JIT_ONE_WIDE, 1);
    fill_wide(pool, JIT_MINUS_ONE_WIDE, -1);
    fill_wide(pool, JIT_ROOT_5, 0.3125);
    fill_wide(pool, JIT_ROOT_3, 0.375);
    fill_wide(pool, JIT_ROOT_1, 0.5);
    fill_power(pool);
    for (unsigned n = 0; n < 16; n++)
        pool[JIT_ODD / 4 + n] = (UINT32_C(1) << n) - 1;
    acu_x86_bytes(&m->x, pool, sizeof pool);
}

/* Returns memory with the bytes that can be executed, and not written; NULL: the system has none.
 */
static char *executable(const x86 *x) {
    char *code = mmap(NULL, x->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED)
        return NULL;
    memcpy(code, x->bytes, x->size);
    if (mprotect(code, x->size, PROT_READ | PROT_EXEC) == 0)
        return code;
    munmap(code, x->size);
    return NULL;
}

/* Returns an operation without its guard. */
static const ptx_op *access_of(const ptx_op *op) {
    return acu_ptx_is_guarded(op->full) ? op->more : op;
}

static void translate(ptx_making *m, ptx_jit *jit) {
    write_pool(m);
    write_entry(m);
    acu_jit_write_classify(m);
    if (m->has_local)
        acu_jit_write_store_same(m);
    for (uint32_t n = 0; n < m->code->count; n++) {
        const ptx_op *op = access_of(&m->code->ops[n]);
        if (acu_jit_access_kind(op) == 2)
            acu_jit_write_store_all(m, op->more);
    }
    m->mask_bits = acu_jit_in_warp(offsetof(ptx_warp, mask));
    m->mask_words = acu_jit_in_warp(offsetof(ptx_warp, lanes));
    for (unsigned full = 0; full < 2; full++) {
        m->masked = m->partial = !full;
        acu_jit_forget(m);
        acu_jit_write_all(m, jit->begins[full]);
    }
    if (m->x.failed)
        return;
    jit->code = executable(&m->x);
    jit->bytes = m->x.size;
    if (jit->code)
        atomic_fetch_add(&made_count, 1);
    else
        fprintf(stderr, "anycuda: simulator: the system lets no memory be executed, so kernels are "
                        "interpreted\n");
}

static bool has_local(const ptx_code *code) {
    for (uint32_t n = 0; n < code->count; n++) {
        const ptx_op *op = access_of(&code->ops[n]);
        if (acu_jit_access_kind(op) && ((const ptx_access *)op->more)->space == PTX_LOCAL)
            return true;
    }
    return false;
}

static void make(ptx_jit *jit, const ptx_code *code, ptx_jit_use use, bool in_rows) {
    const bool wide = code->level == PTX_AVX512 && use != PTX_JIT_AVX2;
    if (code->level < PTX_AVX2)
        return;
    ptx_making m = {.code = code,
                    .wide = wide,
                    .in_rows = in_rows,
                    .has_local = has_local(code),
                    .width = wide ? 64 : 32,
                    .vectors = wide ? 2 : 4,
                    .group_count = wide ? 13 : 3,
                    .x = {.wide = wide}};
    m.copies = jit->copies = calloc(code->count + 1, sizeof *m.copies);
    m.versions = calloc(code->warp_bytes / 32 + 1, sizeof *m.versions);
    jit->begins[0] = calloc(code->count + 1, sizeof *jit->begins[0]);
    jit->begins[1] = calloc(code->count + 1, sizeof *jit->begins[1]);
    if (m.copies && m.versions && jit->begins[0] && jit->begins[1] && acu_jit_find_constants(&m) &&
        acu_jit_find_leaders(&m) && acu_jit_find_live(&m) && acu_jit_find_loops(&m) &&
        acu_jit_find_normals(&m))
        translate(&m, jit);
    free(m.constants);
    free(m.leads);
    free(m.loops);
    free(m.loop_of);
    free(m.inner);
    free(m.versions);
    free(m.live);
    free(m.live_of);
    free(m.normals);
    free(m.normal);
    free(m.asides);
    free(m.jumps);
    free(m.x.bytes);
}

ptx_jit_end acu_ptx_jit_run(const ptx_jit *jit, ptx_warp **w) {
    const ptx_split *s = ptx_current(*w);
    uint32_t begin = jit->begins[s->mask == ~UINT32_C(0)][s->pc];
    if (!begin)
        return PTX_JIT_NONE;
    enter *entry;
    const char *code = jit->code + JIT_POOL_BYTES;
    memcpy(&entry, &code, sizeof code);
    const jit_result result = entry(*w, jit->code + begin, jit->code);
    *w = result.warp;
    return (ptx_jit_end)result.end;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the `jit` of all codes */

const ptx_jit *acu_ptx_jit_made(const ptx_code *code) {
    pthread_mutex_lock(&lock);
    const ptx_jit *jit = code->jit;
    pthread_mutex_unlock(&lock);
    return jit && jit->code ? jit : NULL;
}

const ptx_jit *acu_ptx_jit_of(const ptx_code *code, ptx_jit_use use, bool in_rows) {
    ptx_code *owner = (ptx_code *)(uintptr_t)code;
    pthread_mutex_lock(&lock);
    if (!owner->jit && (owner->jit = calloc(1, sizeof *owner->jit)))
        make(owner->jit, code, use, in_rows);
    const ptx_jit *jit = owner->jit;
    pthread_mutex_unlock(&lock);
    return jit && jit->code ? jit : NULL;
}

void acu_ptx_jit_free(ptx_jit *jit) {
    if (!jit)
        return;
    if (jit->code)
        munmap(jit->code, jit->bytes);
    free(jit->copies);
    free(jit->begins[0]);
    free(jit->begins[1]);
    free(jit);
}
