#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "sim/ptx/access.h"
#include "sim/ptx/grid.h"
#include "sim/ptx/jit_inside.h"
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
    m->control = JIT_KEEPS;
    acu_jit_set_control(m, m->usual);
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
    m->control = m->usual;
    acu_jit_set_control(m, JIT_KEEPS);
    write_executed(m);
    acu_x86_word(x, X86_MOV, X86_RAX, x86_in(X86_R8));
    acu_x86_long(x, X86_MOV, X86_RDX, x86_in(JIT_WARP));
    acu_x86_zeroupper(x);
    acu_x86_long(x, X86_MOV, X86_RSP, acu_jit_in_frame(offsetof(jit_frame, stack)));
    for (unsigned n = KEPT; n-- > 0;)
        acu_x86_pop(x, kept[n]);
    acu_x86_return(x);
}

void *acu_jit_grow(ptx_making *m, void *list, size_t count, size_t *room, size_t size) {
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
    jit_jump *grown = acu_jit_grow(m, m->jumps, m->jump_count, &m->jump_room, sizeof *grown);
    if (!grown)
        return;
    m->jumps = grown;
    m->jumps[m->jump_count++] = (jit_jump){jump, target, is_entry};
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
    acu_jit_choose_control(m);
    acu_jit_write_pool(m);
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
        acu_jit_find_leaders(&m) && acu_jit_find_live(&m) && acu_jit_find_loops(&m))
        translate(&m, jit);
    free(m.constants);
    free(m.leads);
    free(m.loops);
    free(m.loop_of);
    free(m.inner);
    free(m.versions);
    free(m.live);
    free(m.live_of);
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
