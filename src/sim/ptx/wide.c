/* Elements of 128 bits: loads, stores, and exchanges. */
#include "sim/ptx/wide.h"

#include "sim/ptx/check_inside.h"
#include "sim/ptx/lower_inside.h"

#include <string.h>

enum { WIDE = 16 };

__extension__ typedef unsigned __int128 wide_element;

/* Returns where the lane's elements are. */
static char *wide_at(ptx_warp *w, const ptx_op *op, unsigned lane, ptx_space space, bool narrow,
                     unsigned count, bool writes) {
    const void *at = ptx_at(w, op->a);
    const uint64_t address =
        (narrow ? ((const uint32_t *)at)[lane] : ((const uint64_t *)at)[lane]) +
        (uint64_t)op->value;
    return acu_ptx_memory_at(w, op, lane, space, narrow ? (uint32_t)address : address,
                             (size_t)WIDE * count, (size_t)WIDE * count, writes);
}

static char *wide_register(const ptx_warp *w, ptx_slot slot, unsigned lane) {
    return (char *)ptx_at(w, slot) + (size_t)lane * WIDE;
}

void acu_ptx_load_wide(ptx_warp *w, const ptx_op *op) {
    const ptx_access *access = op->more;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        const char *at = wide_at(w, op, lane, access->space, access->narrow, access->count, false);
        for (unsigned n = 0; n < access->count; n++)
            if (access->slots[n] != UINT32_MAX)
                memcpy(wide_register(w, access->slots[n], lane), at + (size_t)n * WIDE, WIDE);
    }
}

void acu_ptx_store_wide(ptx_warp *w, const ptx_op *op) {
    const ptx_access *access = op->more;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        char *at = wide_at(w, op, lane, access->space, access->narrow, access->count, true);
        for (unsigned n = 0; n < access->count; n++)
            memcpy(at + (size_t)n * WIDE, wide_register(w, access->slots[n], lane), WIDE);
    }
}

/* ---- atom ---- */

typedef struct wide_atom {
    ptx_space space;
    bool compares, narrow;
    ptx_slot d, b, c;
} wide_atom;

/* Puts `next` where `wanted` is, at once; returns what was there. For x86-64 clang makes a call of
 * libatomic of the builtin, and the library links nothing but libc. */
static wide_element swap_if_equal(wide_element *at, wide_element wanted, wide_element next) {
#if defined(__x86_64__)
    uint64_t low = (uint64_t)wanted, high = (uint64_t)(wanted >> 64);
    /* NOLINTNEXTLINE(portability-no-assembler): see above */
    __asm__ volatile("lock cmpxchg16b %0"
                     : "+m"(*at), "+a"(low), "+d"(high)
                     : "b"((uint64_t)next), "c"((uint64_t)(next >> 64))
                     : "cc", "memory");
    return (wide_element)high << 64 | low;
#else
    return __sync_val_compare_and_swap(at, wanted, next);
#endif
}

/* Puts `next` where `expected` is, or anything without `compares`; returns what was there. */
static wide_element exchange_wide(wide_element *at, wide_element expected, wide_element next,
                                  bool compares) {
    wide_element old = *at;
    for (;;) {
        const wide_element wanted = compares ? expected : old,
                           found = swap_if_equal(at, wanted, next);
        if (compares || found == wanted)
            return found;
        old = found;
    }
}

static void do_wide_atom(ptx_warp *w, const ptx_op *op) {
    const wide_atom *a = op->more;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        char *at = wide_at(w, op, lane, a->space, a->narrow, 1, true);
        wide_element b, c;
        memcpy(&b, wide_register(w, a->b, lane), WIDE);
        memcpy(&c, wide_register(w, a->c, lane), WIDE);
        const wide_element old =
            exchange_wide((wide_element *)(void *)at, b, a->compares ? c : b, a->compares);
        memcpy(wide_register(w, a->d, lane), &old, WIDE);
    }
}

void acu_ptx_lower_wide_atom(ptx_lowering *l, const ptx_instruction *i, ptx_space space,
                             bool compares) {
    wide_atom *a = acu_ptx_lower_alloc(l, sizeof *a);
    if (i->operand_count < 3u + compares)
        acu_ptx_invalid(l, "Arguments mismatch for instruction '%s'", i->opcode);
    const ptx_address address = acu_ptx_address(l, &i->operands[1], space);
    *a = (wide_atom){.space = space, .compares = compares, .narrow = address.narrow};
    a->b = acu_ptx_source(l, &i->operands[2], PTX_B128);
    a->c = compares ? acu_ptx_source(l, &i->operands[3], PTX_B128) : a->b;
    a->d = acu_ptx_target(l, &i->operands[0], PTX_B128);
    acu_ptx_check_access(l, (ptx_check_site){.space = space,
                                             .address = address,
                                             .bytes = WIDE,
                                             .reads = true,
                                             .writes = true,
                                             .strong = true,
                                             .releases = true});
    ptx_op *op = acu_ptx_emit(l, do_wide_atom);
    op->a = address.slot;
    op->value = address.offset;
    op->more = a;
    op->site = acu_ptx_site(l);
}
