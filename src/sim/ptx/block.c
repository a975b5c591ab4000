#include "sim/ptx/block.h"

#include "sim/ptx/special.h"

#include <stdlib.h>
#include <string.h>

/* Where each part of a block's memory is. */
typedef struct layout {
    size_t shared, bank, warps, registers, local, local_bytes, local_stride, all;
} layout;

static size_t round_up(size_t value) {
    return (value + 63) / 64 * 64;
}

/* Lanes most often access the same bytes of their local memory, for which a cache of the processor
 * has little room where these are a multiple of some power of two apart. */
static size_t spread(size_t bytes) {
    return bytes < 512 ? bytes : round_up(bytes) | 64;
}

size_t acu_ptx_launch_shared(const ptx_launch *launch) {
    size_t align = launch->code->shared_align < 16 ? 16 : launch->code->shared_align;
    return (launch->code->shared_bytes + align - 1) / align * align + launch->dynamic_shared;
}

static layout layout_of(const ptx_launch *launch, unsigned warps) {
    const ptx_code *code = launch->code;
    layout l = {0};
    l.local_bytes =
        (code->local_bytes + (code->recurses || code->allocates ? launch->stack : 0) + 15) / 16 *
        16;
    l.local_stride = spread(l.local_bytes);
    l.bank = round_up(acu_ptx_launch_shared(launch) + 16);
    l.warps = l.bank + round_up(code->block_bytes);
    l.registers = l.warps + round_up(warps * sizeof(ptx_warp));
    l.local = l.registers + (size_t)warps * code->warp_bytes;
    l.all = l.local + (size_t)warps * PTX_LANES * l.local_stride + 64;
    return l;
}

ptx_block *acu_ptx_block_new(ptx_worker *worker) {
    const ptx_launch *launch = worker->launch;
    unsigned threads = launch->block[0] * launch->block[1] * launch->block[2];
    unsigned warps = (threads + PTX_LANES - 1) / PTX_LANES;
    layout l = layout_of(launch, warps);
    ptx_block *block = calloc(1, sizeof *block);
    if (!block)
        return NULL;
    block->memory = calloc(1, l.all);
    if (!block->memory) {
        free(block);
        return NULL;
    }
    char *at = (char *)(((uintptr_t)block->memory + 63) / 64 * 64);
    block->shared = at;
    block->shared_bytes = acu_ptx_launch_shared(launch);
    block->bank = at + l.bank;
    block->warps = (ptx_warp *)(void *)(at + l.warps);
    block->warp_count = warps;
    block->threads = threads;
    block->worker = worker;
    block->launch = launch;
    for (unsigned n = 0; n < warps; n++) {
        ptx_warp *w = &block->warps[n];
        w->base[PTX_BANK_WARP] = at + l.registers + (size_t)n * launch->code->warp_bytes;
        w->base[PTX_BANK_LAUNCH] = worker->bank;
        w->base[PTX_BANK_BLOCK] = block->bank;
        for (unsigned bank = 0; bank < PTX_BANKS; bank++)
            w->origin[bank] = (uintptr_t)w->base[bank] - PTX_SLOT(bank, 0);
        w->local = at + l.local + (size_t)n * PTX_LANES * l.local_stride;
        w->local_bytes = l.local_bytes;
        w->local_stride = l.local_stride;
        w->code = launch->code;
        w->block = block;
        w->worker = worker;
        w->number = n;
        w->next = n + 1 < warps ? w + 1 : NULL;
        acu_ptx_fill_warp(w);
    }
    if (launch->code->watch.checks && !(block->check = acu_ptx_check_block_new(block))) {
        acu_ptx_block_free(block);
        return NULL;
    }
    return block;
}

void acu_ptx_block_free(ptx_block *block) {
    if (!block)
        return;
    for (unsigned n = 0; n < block->warp_count; n++)
        acu_ptx_warp_clear(&block->warps[n]);
    acu_ptx_check_block_free(block->check);
    free(block->memory);
    free(block);
}

void acu_ptx_block_begin(ptx_block *block, uint64_t number) {
    const unsigned *grid = block->launch->grid;
    const uint64_t row = number / grid[0];
    block->number = number;
    block->index[0] = (unsigned)(number - row * grid[0]);
    block->index[1] = grid[1] == 1 ? 0 : (unsigned)(row % grid[1]);
    block->index[2] = grid[2] == 1 ? 0 : (unsigned)(row / grid[1]);
    block->ended = 0;
    if (block->used)
        memset(block->barriers, 0, sizeof block->barriers);
    block->used = 0;
    acu_ptx_fill_block(block, block->bank);
    if (block->check)
        acu_ptx_check_block_begin(block);
    const ptx_code *code = block->launch->code;
    if (code->reserved_bytes)
        memset(block->shared + code->reserved_at, 0, code->reserved_bytes);
    for (unsigned n = 0; n < block->warp_count; n++) {
        unsigned left = block->threads - n * PTX_LANES;
        acu_ptx_warp_begin(&block->warps[n],
                           left >= PTX_LANES ? ~UINT32_C(0) : (UINT32_C(1) << left) - 1);
    }
}

static _Noreturn void fail_at(ptx_warp *w, const ptx_split *s) {
    unsigned lane = (unsigned)__builtin_ctz(s->mask);
    const ptx_op *op = &w->code->ops[s->pc];
    if (s->barrier == PTX_CLUSTER_BARRIER)
        acu_ptx_fail(w, lane, op, 702, 0,
                     "threads wait for ever at the cluster's barrier, to which others do not come");
    if (s->barrier == PTX_GROUP_BARRIER)
        acu_ptx_fail(w, lane, op, 702, 0,
                     "a warp waits for ever for others of its group, which do not multiply");
    acu_ptx_fail(w, lane, op, 702, 0,
                 "threads wait for ever at barrier %u, to which others of the block do not come",
                 s->barrier);
}

void acu_ptx_block_fail_waiting(ptx_block *block) {
    if (block->check)
        acu_ptx_check_stuck(block);
    for (unsigned n = 0; n < block->warp_count; n++) {
        ptx_warp *w = &block->warps[n];
        for (unsigned i = 0; i < w->split_count; i++)
            if (w->splits[i].wait == PTX_AT_BARRIER)
                fail_at(w, &w->splits[i]);
    }
    abort();
}

static bool waits_for_cluster(const ptx_block *block) {
    uint32_t waiting = 0;
    for (unsigned n = 0; n < block->warp_count; n++)
        waiting |= acu_ptx_warp_waiting(&block->warps[n], PTX_CLUSTER_BARRIER);
    return waiting != 0;
}

ptx_state acu_ptx_block_run(ptx_block *block) {
    for (;;) {
        const uint64_t number = block->number;
        bool ended = true, runs = false, opened = false;
        for (unsigned n = 0; n < block->warp_count && block->number == number; n++) {
            ptx_warp *w = &block->warps[n];
            if (!w->split_count)
                continue;
            unsigned before = block->opened;
            ptx_state state = acu_ptx_warp_run(w);
            opened |= before != block->opened;
            runs |= state == PTX_RUNS;
            ended &= state == PTX_ENDED;
        }
        if (block->number != number) /* machine code has gone on with another block */
            continue;
        if (ended)
            return PTX_ENDED;
        if (runs)
            return PTX_RUNS;
        if (opened)
            continue;
        if (!waits_for_cluster(block))
            acu_ptx_block_fail_waiting(block);
        return PTX_WAITS;
    }
}
