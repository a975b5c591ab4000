/*
 * Reads of memory that was never written. What was not written holds words that depend on their
 * address: in device memory since it was allocated, in the memory of a block since that began, in a
 * function's frame since it was called. An access is reported if all of its words are such, so that
 * padding is not. Halves and words of them are NaN in all floating types, and their bytes neither
 * small nor text, so that what a program writes to a part of a word is hardly ever the same.
 */
#include "sim/ptx/check_inside.h"

#include <string.h>

/* Returns the word that stands at an offset in shared or local memory until it is written. */
static uint32_t unwritten(uint64_t offset) {
    uint32_t mixed = (uint32_t)(offset >> 2) * UINT32_C(0x9e3779b1) ^ UINT32_C(0xa5c3f00d);
    return UINT32_C(0x7f817f81) + (mixed & UINT32_C(0x003e003e));
}

/* Fills the words between two offsets. */
static void fill(char *bytes, uint64_t begin, uint64_t end) {
    for (uint64_t at = (begin + 3) / 4 * 4; at + 4 <= end; at += 4) {
        uint32_t word = unwritten(at);
        memcpy(bytes + at, &word, sizeof word);
    }
}

void acu_ptx_check_unwrite(ptx_block *block) {
    fill(block->shared, 0, block->shared_bytes);
    for (unsigned n = 0; n < block->warp_count; n++)
        for (unsigned i = 0; i < PTX_LANES; i++)
            fill(block->warps[n].local + i * block->warps[n].local_stride, 0,
                 block->warps[n].local_bytes);
}

void acu_ptx_check_called(ptx_warp *w, uint64_t at, uint64_t bytes, uint32_t lanes) {
    for (; w->code->watch.checks & PTX_CHECK_INIT && lanes; lanes &= lanes - 1)
        fill(w->local + (size_t)__builtin_ctz(lanes) * w->local_stride, at, at + bytes);
}

void acu_ptx_check_written(ptx_warp *w, const ptx_op *op, const ptx_checked_touch *t) {
    const ptx_machine *machine = w->worker->launch->machine;
    uint64_t first = t->address & ~UINT64_C(3);
    const char *bytes = t->bytes - (t->address - first);
    char place[160];
    if (t->site->parameter || t->site->sets || (t->space == PTX_GLOBAL && !machine->unwritten))
        return;
    for (uint64_t at = first; at < t->address + t->size; at += 4) {
        uint32_t word;
        memcpy(&word, bytes + (at - first), sizeof word);
        if (word != (t->space == PTX_GLOBAL ? machine->unwritten(at) : unwritten(at)))
            return;
    }
    acu_ptx_check_name(w, t, place, sizeof place);
    acu_ptx_check_report(w, op, t->lane, PTX_CHECK_INIT,
                         "a read of %u bytes of %s, which were never written", t->size, place);
}
