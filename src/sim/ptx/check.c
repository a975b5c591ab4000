/* What the checks of a launch know, when its threads know of each other, and findings. */
#include "sim/ptx/check.h"

#include "sim/ptx/check_inside.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- launches and blocks ---- */

ptx_check *acu_ptx_check_new(void) {
    ptx_check *check = calloc(1, sizeof *check);
    if (check)
        check->races = true;
    return check;
}

void acu_ptx_check_free(ptx_check *check) {
    if (!check)
        return;
    for (size_t n = 0; n < check->page_room; n++)
        free(check->pages[n]);
    free(check->pages);
    free(check->releases);
    free(check);
}

ptx_check_block *acu_ptx_check_block_new(const ptx_block *block) {
    ptx_check_block *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    bool races = block->launch->code->watch.checks & PTX_CHECK_RACE;
    made->clocks = calloc(block->warp_count, sizeof *made->clocks);
    made->pairs = calloc(races ? block->warp_count : 1, sizeof *made->pairs);
    made->shared = calloc(races ? block->shared_bytes + 1 : 1, sizeof *made->shared);
    made->groups = calloc((size_t)block->warp_count * PTX_LANES, sizeof *made->groups);
    if (made->clocks && made->pairs && made->shared && made->groups)
        return made;
    acu_ptx_check_block_free(made);
    return NULL;
}

void acu_ptx_check_block_free(ptx_check_block *block) {
    if (!block)
        return;
    free(block->clocks);
    free(block->pairs);
    free(block->shared);
    free(block->groups);
    free(block);
}

void acu_ptx_check_block_begin(ptx_block *block) {
    ptx_check_block *own = block->check;
    own->fenced = own->fenced_outside = own->proxied = 0;
    own->apart.check = 0;
    own->visit.site = NULL;
    memset(own->told, 0, sizeof own->told);
    memset(own->came, 0, sizeof own->came);
    memset(own->clocks, 0, block->warp_count * sizeof *own->clocks);
    for (unsigned n = 0; n < block->warp_count * PTX_LANES; n++)
        own->groups[n] = (ptx_groups){.open = 1};
    if (block->launch->code->watch.checks & PTX_CHECK_INIT)
        acu_ptx_check_unwrite(block);
    if (block->launch->code->watch.checks & PTX_CHECK_RACE && block->cluster->count > 1)
        memset(own->shared, 0, (block->shared_bytes + 1) * sizeof *own->shared);
}

/* ---- times ---- */

ptx_time acu_ptx_check_tick(ptx_check *check) {
    if (check->now == UINT32_MAX - 1)
        check->races = false; /* there are no more times to tell accesses apart */
    else
        check->now++;
    return check->now;
}

static void advance(ptx_time *time, ptx_time to) {
    if (*time < to)
        *time = to;
}

void acu_ptx_check_learn(ptx_warp *w, uint32_t lanes, ptx_time time, ptx_time reads) {
    ptx_clock *clock = &w->block->check->clocks[w->number];
    advance(&clock->outside, time);
    advance(&clock->reads, reads);
    for (unsigned i = 0; i < PTX_WARPS; i++)
        advance(&clock->inside[i], time);
    for (unsigned i = 0; i < PTX_LANES; i++)
        if (lanes >> i & 1)
            advance(&clock->lanes[i], time);
}

/* Lanes that are not all of the warp know of each other, and what each of them knew. */
static void meet_some(ptx_pairs pairs, ptx_time *lanes, uint32_t some, ptx_time now) {
    ptx_time known[PTX_LANES] = {0}, of_all = 0;
    for (unsigned i = 0; i < PTX_LANES; i++)
        if (some >> i & 1) {
            advance(&of_all, lanes[i]);
            for (unsigned n = 0; n < PTX_LANES; n++)
                advance(&known[n], some >> n & 1 ? now : pairs[i][n]);
        }
    for (unsigned i = 0; i < PTX_LANES; i++)
        if (some >> i & 1) {
            lanes[i] = of_all;
            memcpy(pairs[i], known, sizeof known);
        }
}

void acu_ptx_check_meet(ptx_warp *w, const uint32_t *members) {
    ptx_check_block *check = w->block->check;
    ptx_time now = acu_ptx_check_tick(w->worker->check);
    ptx_time *lanes = check->clocks[w->number].lanes;
    uint32_t met = 0;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        const uint32_t mask = members[__builtin_ctz(left)];
        if (!(ptx_alive(w) & ~mask)) {
            for (unsigned i = 0; i < PTX_LANES; i++)
                lanes[i] = now;
            return;
        }
        if (mask & ~met && w->code->watch.checks & PTX_CHECK_RACE)
            meet_some(check->pairs[w->number], lanes, mask, now);
        met |= mask;
    }
}

void acu_ptx_check_came(ptx_warp *w, unsigned number) {
    w->block->check->came[number][w->number] = acu_ptx_check_tick(w->worker->check);
}

/* Returns what time of a warp the others know that were at a barrier with it; 0: it did not come.
 * A part of a warp counts as the whole warp. */
static ptx_time time_at(const ptx_block *block, unsigned warp, unsigned number, bool all,
                        ptx_time now) {
    if (all || acu_ptx_warp_waiting(&block->warps[warp], number))
        return now;
    return number < PTX_BARRIERS ? block->check->came[number][warp] : 0;
}

void acu_ptx_check_opened(ptx_block *block, unsigned number, bool all) {
    const ptx_time now = acu_ptx_check_tick(block->worker->check);
    ptx_check_block *check = block->check;
    ptx_clock known = {.outside = 0}; /* what those that came know together */
    acu_ptx_check_barrier(block, number, all);
    for (unsigned n = 0; n < block->warp_count; n++) {
        const ptx_clock *clock = &check->clocks[n];
        const ptx_time time = time_at(block, n, number, all, now);
        advance(&known.inside[n], time);
        if (!time)
            continue;
        advance(&known.outside, clock->outside);
        advance(&known.reads, clock->reads);
        for (unsigned i = 0; i < PTX_WARPS; i++)
            advance(&known.inside[i], clock->inside[i]);
    }
    if (number == PTX_CLUSTER_BARRIER)
        known.outside = now;
    for (unsigned i = 0; i < PTX_LANES; i++)
        known.lanes[i] = now;
    for (unsigned n = 0; n < block->warp_count; n++)
        if (all || acu_ptx_warp_waiting(&block->warps[n], number))
            check->clocks[n] = known;
    if (number < PTX_BARRIERS)
        memset(check->came[number], 0, sizeof check->came[number]);
}

/* ---- findings ---- */

void acu_ptx_check_locate(const ptx_block *block, uint64_t number, unsigned thread,
                          ptx_whereabouts *at) {
    const unsigned *grid = block->launch->grid, *size = block->launch->block;
    at->block[0] = (unsigned)(number % grid[0]);
    at->block[1] = (unsigned)(number / grid[0] % grid[1]);
    at->block[2] = (unsigned)(number / grid[0] / grid[1]);
    at->thread[0] = thread % size[0];
    at->thread[1] = thread / size[0] % size[1];
    at->thread[2] = thread / size[0] / size[1];
}

enum { MOST_NAME = 80 }; /* bytes of a variable's name, which C++ makes long */

const char *acu_ptx_check_space(const ptx_checked_touch *t) {
    return t->space == PTX_SHARED        ? "shared"
           : t->space == PTX_LOCAL       ? "local"
           : t->site->space == PTX_CONST ? "constant"
                                         : "global";
}

void acu_ptx_check_name(const ptx_warp *w, const ptx_checked_touch *t, char *text, size_t size) {
    const unsigned *index = t->owner ? t->owner->index : NULL;
    char of[64] = "";
    if (index && t->owner != w->block)
        snprintf(of, sizeof of, " of block (%u, %u, %u)", index[0], index[1], index[2]);
    int used = snprintf(text, size, "%s memory%s at 0x%llx", acu_ptx_check_space(t), of,
                        (unsigned long long)t->address);
    for (const ptx_code_shared *s = t->space == PTX_SHARED ? w->code->shared : NULL; s; s = s->next)
        if (t->address - s->at < s->variable->size)
            snprintf(text + used, size - (size_t)used, " (%.*s%s + %llu)", MOST_NAME,
                     s->variable->name, strlen(s->variable->name) > MOST_NAME ? "…" : "",
                     (unsigned long long)(t->address - s->at));
}

void acu_ptx_check_give(const ptx_warp *w, const ptx_finding *finding) {
    const ptx_machine *machine = w->worker->launch->machine;
    if (machine->finding)
        machine->finding(machine->data, finding);
}

void acu_ptx_check_report(ptx_warp *w, const ptx_op *op, unsigned lane, unsigned check,
                          const char *format, ...) {
    ptx_finding finding = {.check = check, .module = w->code->module};
    va_list list;
    acu_ptx_check_locate(w->block, w->block->number, w->number * PTX_LANES + lane, &finding.at);
    finding.at.instruction = op->instruction;
    va_start(list, format);
    vsnprintf(finding.what, sizeof finding.what, format, list);
    va_end(list);
    acu_ptx_check_give(w, &finding);
}
