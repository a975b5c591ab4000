/*
 * Loads and stores. Most often the lanes of each vector have one address, or consecutive ones
 * (jit_pattern.c). Every access compares its smallest and its largest address with the allocation.
 * What does not fit is left to the interpreter's handler. jit_scatter.c has accesses whose lanes
 * lie otherwise.
 */
#include "sim/ptx/access.h"
#include "sim/ptx/grid.h"
#include "sim/ptx/jit_inside.h"
#include "sim/ptx/lower_inside.h"

#include <stddef.h>
#include <string.h>

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
    acu_x86_long(x, X86_MOV, X86_RAX, acu_jit_pattern_at(pattern, offsetof(jit_pattern, low)));
    acu_x86_long(x, X86_MOV, X86_RDX, acu_jit_pattern_at(pattern, offsetof(jit_pattern, high)));
    acu_x86_long(x, X86_ADD, X86_RAX, x86_in(X86_R8));
    acu_x86_long(x, X86_ADD, X86_RDX, x86_in(X86_R8));
}

/* Leaves unless the addresses are shared memory; adds to R8 what leads from them to its bytes. */
static void check_shared(ptx_making *m, jit_aside *aside, unsigned size) {
    x86 *x = &m->x;
    acu_x86_long(x, X86_MOV, X86_RCX, x86_at(JIT_WARP, offsetof(ptx_warp, block)));
    acu_x86_long(x, X86_MOV, X86_R9, x86_at(X86_RCX, offsetof(ptx_block, shared_bytes)));
    acu_x86_long_by(x, X86_SUB, x86_in(X86_R9), (int32_t)size);
    acu_jit_leave_if(m, aside, X86_BELOW);
    acu_x86_long(x, X86_CMP, X86_RDX, x86_in(X86_R9));
    acu_jit_leave_if(m, aside, X86_ABOVE);
    acu_x86_long(x, X86_ADD, X86_R8, x86_at(X86_RCX, offsetof(ptx_block, shared)));
}

/* Leaves unless the addresses are local memory; adds to R8 what leads from them to the bytes of the
 * first lane's. What all lanes have is less than a word can count. */
static void check_local(ptx_making *m, jit_aside *aside, unsigned size) {
    x86 *x = &m->x;
    acu_x86_long(x, X86_MOV, X86_R9, acu_jit_in_warp(offsetof(ptx_warp, local_bytes)));
    acu_x86_long_by(x, X86_CMP, x86_in(X86_R9), 1 << 25);
    acu_jit_leave_if(m, aside, X86_NOT_BELOW);
    acu_x86_long_by(x, X86_SUB, x86_in(X86_R9), (int32_t)size);
    acu_jit_leave_if(m, aside, X86_BELOW);
    acu_x86_long(x, X86_CMP, X86_RDX, x86_in(X86_R9));
    acu_jit_leave_if(m, aside, X86_ABOVE);
    acu_x86_long(x, X86_ADD, X86_R8, acu_jit_in_warp(offsetof(ptx_warp, local)));
}

void acu_jit_check_local(ptx_making *m, const ptx_op *op, jit_aside *aside, unsigned size) {
    const jit_sum address = {.root = op->a};
    load_ends(m, op, JIT_NO_PATTERN, &address);
    acu_x86_test_bits(&m->x, X86_RAX, ((const ptx_access *)op->more)->size - 1u);
    acu_jit_leave_if(m, aside, X86_NOT_ZERO);
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
    acu_jit_leave_if(m, aside, X86_BELOW);
    acu_x86_lea(x, X86_R9, x86_at(X86_RDX, (int32_t)size - 1));
    acu_x86_long(x, X86_CMP, X86_R9, last);
    acu_jit_leave_if(m, aside, X86_ABOVE);
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
    acu_jit_leave_if(m, aside, X86_NOT_ABOVE);
    acu_x86_long(x, X86_CMP, X86_RDX, x86_in(X86_R9));
    acu_jit_leave_if(m, aside, X86_NOT_BELOW);
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
    acu_jit_leave_if(m, aside, X86_NOT_BELOW);
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
    acu_x86_long_by(x, X86_CMP, acu_jit_pattern_at(pattern, offsetof(jit_pattern, kind)), JIT_ROW);
    const size_t other = acu_x86_jump(x, X86_NOT_ZERO);
    load_added(m, op, sum);
    acu_x86_long(x, X86_MOV, X86_RAX, acu_jit_pattern_at(pattern, offsetof(jit_pattern, low)));
    acu_x86_long(x, X86_MOV, X86_RDX, x86_in(X86_RAX));
    acu_x86_long(x, X86_ADD, X86_RDX, x86_in(X86_R8));
    acu_x86_test_bits(x, X86_RDX, access->size - 1u);
    acu_jit_leave_if(m, aside, X86_NOT_ZERO);
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
    const unsigned bytes = acu_jit_bytes_of_lane(access);
    load_ends(m, op, pattern, sum);
    acu_x86_long(x, X86_CMP, X86_RAX, x86_in(X86_RDX));
    acu_jit_leave_if(m, aside, X86_ABOVE);
    acu_x86_test_bits(x, X86_RAX, bytes - 1u);
    acu_jit_leave_if(m, aside, X86_NOT_ZERO);
    if (access->space == PTX_SHARED)
        check_shared(m, aside, bytes);
    else if (access->space == PTX_LOCAL)
        check_local(m, aside, bytes);
    else
        check_global(m, aside, op, bytes);
    if (pattern == JIT_NO_PATTERN)
        return;
    acu_x86_long(x, X86_MOV, X86_RSI, acu_jit_pattern_at(pattern, offsetof(jit_pattern, kind)));
    acu_x86_long_by(x, X86_CMP, x86_in(X86_RSI), JIT_CONSECUTIVE);
}

/* Returns the bytes of vector i. */
static x86_place bytes_of(ptx_making *m, unsigned pattern, unsigned i) {
    acu_x86_long(&m->x, X86_MOV, X86_R9,
                 acu_jit_pattern_at(pattern, offsetof(jit_pattern, at) + (size_t)8 * i));
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
        acu_jit_leave_if(m, aside, X86_NOT_ABOVE);
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
    if (acu_jit_is_anyhow(m, access)) {
        write_load_anyhow(m, op, pattern, aside);
        return;
    }
    size_t other = acu_x86_jump(x, X86_NOT_ZERO), done[2];
    load_all(m, op, pattern, X86_LOAD);
    done[0] = acu_x86_jump(x, X86_ALWAYS);
    acu_x86_land(x, other, x->size);
    const size_t anyhow = acu_x86_jump(x, X86_ABOVE);
    acu_x86_long(x, X86_OR, X86_RSI, x86_in(X86_RSI));
    acu_jit_leave_if(m, aside, X86_ZERO);
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
    if (acu_jit_is_anyhow(m, access)) {
        if (pattern != JIT_NO_PATTERN)
            acu_jit_leave_if(m, aside, X86_NOT_ABOVE);
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
    acu_jit_leave_if(m, aside, X86_NOT_ABOVE);
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
    acu_jit_leave_if(m, aside, X86_ZERO);
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
    const unsigned pattern = acu_jit_pattern_of(m, inner, access, &sum);
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
    const bool may_be_row = m->in_rows && !acu_jit_is_anyhow(m, access);
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
