/* Copies and products that read shared memory by themselves, by the async proxy: what threads wrote
 * there is seen only behind a fence.proxy.async. */
#include "sim/ptx/check_inside.h"
#include "sim/ptx/lower_inside.h"

#include <stdio.h>
#include <string.h>

static void note(ptx_warp *w, const ptx_op *op) {
    (void)op;
    w->block->check->proxied = acu_ptx_check_tick(w->worker->check);
}

void acu_ptx_check_proxy_fence(ptx_lowering *l) {
    if (l->code->watch.checks & PTX_CHECK_RACE)
        acu_ptx_emit(l, note);
}

static bool looks(const ptx_block *block) {
    return block->check && block->launch->code->watch.checks & PTX_CHECK_RACE &&
           block->worker->check->races;
}

static void report(ptx_warp *w, const ptx_op *op, unsigned lane, uint64_t address,
                   const ptx_record *r) {
    ptx_finding f = {.check = PTX_CHECK_RACE, .module = w->code->module, .has_other = true};
    ptx_checked_touch touch = {.space = PTX_SHARED, .address = address};
    unsigned writer = r->warp * PTX_LANES + (unsigned)__builtin_ctz(r->lanes);
    char place[160];
    acu_ptx_check_locate(w->block, w->block->number, w->number * PTX_LANES + lane, &f.at);
    acu_ptx_check_locate(w->block, w->block->number, writer, &f.other);
    f.at.instruction = op->instruction;
    f.other.instruction = r->site->instruction;
    acu_ptx_check_name(w, &touch, place, sizeof place);
    snprintf(f.what, sizeof f.what,
             "an asynchronous read of %s, which thread (%u, %u, %u) writes, and no "
             "fence.proxy.async is between the two",
             place, f.other.thread[0], f.other.thread[1], f.other.thread[2]);
    acu_ptx_check_give(w, &f);
}

/* Whether a thread of this block wrote behind the last fence. What cp.async writes is left out:
 * programs are known that have no fence behind it. */
static bool is_unseen(const ptx_block *block, const ptx_record *r) {
    return r->site && r->block == (uint32_t)block->number && r->time >= block->check->proxied &&
           strncmp(r->site->instruction->opcode, "cp.", 3) != 0;
}

bool acu_ptx_check_async_read(ptx_warp *w, const ptx_op *op, unsigned lane, uint64_t address,
                              uint64_t bytes) {
    if (!looks(w->block))
        return true;
    for (uint64_t at = address; at < address + bytes && at < w->block->shared_bytes; at++) {
        const ptx_record *r = &w->block->check->shared[at].write;
        if (!is_unseen(w->block, r))
            continue;
        report(w, op, lane, at, r);
        return false;
    }
    return true;
}

void acu_ptx_check_async_write(ptx_block *block, uint64_t address, uint64_t bytes) {
    for (uint64_t at = address; looks(block) && at < address + bytes && at < block->shared_bytes;
         at++)
        block->check->shared[at].write.site = NULL;
}
