/* Blocks of a cluster that end while others may still access their shared memory. */
#include "sim/ptx/check_inside.h"

#include <stdio.h>

static bool looks(const ptx_block *block) {
    return block->launch->code->watch.checks & PTX_CHECK_RACE && block->cluster->count > 1;
}

/* Returns the block of the cluster whose thread made the owner's last visit. */
static const ptx_block *visitor_of(const ptx_block *owner) {
    const ptx_cluster *cluster = owner->cluster;
    unsigned n = 0;
    while (n + 1 < cluster->count &&
           (uint32_t)cluster->blocks[n]->number != owner->check->visit.block)
        n++;
    return cluster->blocks[n];
}

static void report(const ptx_block *owner) {
    const ptx_record *r = &owner->check->visit;
    const ptx_block *visitor = visitor_of(owner);
    const ptx_warp *w = &visitor->warps[r->warp];
    const ptx_checked_touch t = {.site = r->site,
                                 .space = PTX_SHARED,
                                 .address = owner->check->visit_address,
                                 .owner = owner};
    ptx_finding f = {.check = PTX_CHECK_RACE, .module = w->code->module};
    char place[160];
    acu_ptx_check_locate(visitor, visitor->number,
                         w->number * PTX_LANES + (unsigned)__builtin_ctz(r->lanes), &f.at);
    f.at.instruction = r->site->instruction;
    acu_ptx_check_name(w, &t, place, sizeof place);
    snprintf(f.what, sizeof f.what,
             "%s %u bytes of %s, and nothing orders that before the end of that block",
             acu_ptx_check_access_name(r->site), r->site->bytes, place);
    acu_ptx_check_give(w, &f);
}

void acu_ptx_check_visit(ptx_warp *w, const ptx_checked_touch *t) {
    const ptx_block *owner = t->owner;
    if (!owner || owner == w->block || !looks(w->block))
        return;
    owner->check->visit = (ptx_record){.site = t->site,
                                       .time = w->worker->check->now,
                                       .lanes = UINT32_C(1) << t->lane,
                                       .block = (uint32_t)w->block->number,
                                       .warp = (uint8_t)w->number,
                                       .writes = t->writes};
    owner->check->visit_address = t->address;
    if (owner->ended < owner->threads)
        return;
    report(owner);
    owner->check->visit.site = NULL;
}

/* One thread that knows of the last access is enough. */
void acu_ptx_check_ended(ptx_block *block) {
    ptx_record *r = &block->check->visit;
    bool known = !r->site || !looks(block) || !block->worker->check->races;
    for (unsigned n = 0; n < block->warp_count && !known; n++) {
        const ptx_clock *clock = &block->check->clocks[n];
        known = r->time < clock->outside || (!r->writes && r->time < clock->reads);
    }
    if (!known)
        report(block);
    r->site = NULL;
}
