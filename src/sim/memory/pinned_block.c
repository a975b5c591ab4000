/*
 * Which flags pinned memory reports. CUDA allocates blocks of 2 MiB and divides them: an allocation
 * is portable if the first one of its block was. Write-combined memory has blocks of its own. Only
 * the places in a block are imitated; the bytes of each allocation are elsewhere.
 */
#include "sim/memory/pinned_block.h"

#include <stdlib.h>

enum { PAGE = 4 << 10, PAGES = 512 };

struct acu_sim_pinned_block {
    const acu_sim_device *device;
    bool is_portable, is_write_combined;
    bool taken[PAGES];
    unsigned parts;
    acu_sim_pinned_block *next; /* made later */
};

static acu_sim_pinned_block *blocks;

/* Returns the first of so many free pages; PAGES: there are none. */
static unsigned find_room(const acu_sim_pinned_block *block, unsigned count) {
    unsigned free = 0;
    for (unsigned i = 0; i < PAGES; i++) {
        free = block->taken[i] ? 0 : free + 1;
        if (free == count)
            return i + 1 - count;
    }
    return PAGES;
}

static acu_sim_pinned_block *new_block(const acu_sim_device *device, unsigned flags) {
    acu_sim_pinned_block **link = &blocks, *block = calloc(1, sizeof *block);
    while (*link)
        link = &(*link)->next;
    if (!block)
        return NULL;
    block->device = device;
    block->is_portable = flags & cudaHostAllocPortable;
    block->is_write_combined = flags & cudaHostAllocWriteCombined;
    return *link = block;
}

static bool fits(const acu_sim_pinned_block *block, const acu_sim_device *device, unsigned flags,
                 unsigned count) {
    return block->device == device &&
           block->is_write_combined == ((flags & cudaHostAllocWriteCombined) != 0) &&
           find_room(block, count) < PAGES;
}

bool acu_sim_pinned_block_take(const acu_sim_device *device, size_t size, unsigned *flags,
                               acu_sim_pinned_part *part) {
    acu_sim_pinned_block *block = blocks;
    *part = (acu_sim_pinned_part){NULL, 0, 0};
    if (size > (size_t)PAGES * PAGE - PAGE) /* that has a block of its own size */
        return true;
    part->count = (unsigned)((size + PAGE - 1) / PAGE);
    while (block && !fits(block, device, *flags, part->count))
        block = block->next;
    if (!block && !(block = new_block(device, *flags)))
        return false;
    part->block = block;
    part->first = find_room(block, part->count);
    for (unsigned i = 0; i < part->count; i++)
        block->taken[part->first + i] = true;
    block->parts++;
    *flags &= ~(unsigned)cudaHostAllocPortable;
    *flags |= block->is_portable ? cudaHostAllocPortable : 0;
    return true;
}

void acu_sim_pinned_block_give_back(acu_sim_pinned_part part) {
    acu_sim_pinned_block **link = &blocks;
    if (!part.block)
        return;
    for (unsigned i = 0; i < part.count; i++)
        part.block->taken[part.first + i] = false;
    if (--part.block->parts)
        return;
    while (*link != part.block)
        link = &(*link)->next;
    *link = part.block->next;
    free(part.block);
}
