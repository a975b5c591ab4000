/* Accesses beyond what was allocated, beyond variables in shared memory, of what was freed, and of
 * the shared memory of a block that ends. */
#include "sim/ptx/check_inside.h"

#include <stdio.h>

static void report(ptx_warp *w, const ptx_op *op, const ptx_checked_touch *t, const char *where) {
    acu_ptx_check_report(w, op, t->lane, PTX_CHECK_MEMORY,
                         "%s of %u bytes of %s memory at 0x%llx, %s",
                         t->site->writes ? "a write" : "a read", t->size, acu_ptx_check_space(t),
                         (unsigned long long)t->address, where);
}

/* Says how far behind something of `size` bytes an access is that begins `into` it. */
static void say_behind(char *text, size_t room, uint64_t into, const char *what, uint64_t size) {
    snprintf(text, room, "%llu bytes behind the end of %.80s, which has %llu",
             (unsigned long long)(into > size ? into - size : 0), what, (unsigned long long)size);
}

/* Returns the last variable in shared memory that begins at the address or below it; with `above`
 * the first one that begins above it. NULL: there is none. */
static const ptx_code_shared *find_shared(const ptx_code *code, int64_t address, bool above) {
    const ptx_code_shared *found = NULL;
    for (const ptx_code_shared *s = code->shared; s; s = s->next)
        if ((s->at > address) == above && (!found || (s->at < found->at) == above))
            found = s;
    return found;
}

/* Says which variable an access is near to that is in none: shared variables have gaps between each
 * other. An index below 0 leads before the first one, where addresses of 32 bits are the highest.
 */
static void say_near(const ptx_warp *w, uint64_t address, char *text, size_t room) {
    const int64_t at = (int32_t)address;
    const ptx_code_shared *before = find_shared(w->code, at, false);
    const ptx_code_shared *behind = find_shared(w->code, at, true);
    const int64_t end = before ? before->at + (int64_t)before->variable->size : INT64_MIN / 2;
    if (behind && behind->at - at < at - end)
        snprintf(text, room, "%lld bytes before %.80s, which has %llu",
                 (long long)(behind->at - at), behind->variable->name,
                 (unsigned long long)behind->variable->size);
    else if (before)
        say_behind(text, room, (uint64_t)(at - before->at), before->variable->name,
                   before->variable->size);
    else
        snprintf(text, room, "of which the block has %zu", w->block->shared_bytes);
}

/* Dynamic shared memory is behind all variables. */
static void check_shared(ptx_warp *w, const ptx_op *op, const ptx_checked_touch *t) {
    const ptx_block *block = w->block;
    const size_t dynamic = block->launch->dynamic_shared;
    char text[160];
    if (dynamic && t->address >= w->code->shared_bytes && t->address <= INT32_MAX) {
        if (t->address <= block->shared_bytes && block->shared_bytes - t->address >= t->size)
            return;
        say_behind(text, sizeof text, t->address - (block->shared_bytes - dynamic),
                   "the dynamic shared memory", dynamic);
    } else {
        const ptx_code_shared *s = find_shared(w->code, (int64_t)t->address, false);
        const uint64_t into = s ? t->address - s->at : UINT64_MAX;
        if (s && into <= s->variable->size && s->variable->size - into >= t->size)
            return;
        say_near(w, t->address, text, sizeof text);
    }
    report(w, op, t, text);
}

static void check_global(ptx_warp *w, const ptx_op *op, const ptx_checked_touch *t,
                         const ptx_range *range) {
    const ptx_machine *machine = w->worker->launch->machine;
    char text[400] = "where nothing is allocated";
    uint64_t last = t->address + t->size - 1;
    if (range && last <= range->end &&
        !(range->heap && machine->stray(machine->data, t->address, t->size, text, sizeof text)))
        return;
    if (machine->describe &&
        !(range && range->heap)) /* of what begins inside, the first byte that is not */
        machine->describe(machine->data,
                          range && t->address <= range->end ? range->end + 1 : t->address, text,
                          sizeof text);
    report(w, op, t, text);
}

void acu_ptx_check_bounds(ptx_warp *w, const ptx_op *op, const ptx_checked_touch *t,
                          const ptx_range *range) {
    char text[80];
    if (!(w->code->watch.checks & PTX_CHECK_MEMORY))
        return;
    if (t->space == PTX_SHARED) {
        check_shared(w, op, t);
    } else if (t->space == PTX_GLOBAL) {
        check_global(w, op, t, range);
    } else if (t->address > w->local_bytes || w->local_bytes - t->address < t->size) {
        snprintf(text, sizeof text, "of which a thread has %zu", w->local_bytes);
        report(w, op, t, text);
    }
}

/* ---- blocks of a cluster that end while others may still access their shared memory ---- */

static bool has_visits(const ptx_block *block) {
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

static void report_visit(const ptx_block *owner) {
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
    if (!owner || owner == w->block || !has_visits(w->block))
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
    report_visit(owner);
    owner->check->visit.site = NULL;
}

/* One thread that knows of the last access is enough. */
void acu_ptx_check_ended(ptx_block *block) {
    ptx_record *r = &block->check->visit;
    bool known = !r->site || !has_visits(block) || !block->worker->check->races;
    for (unsigned n = 0; n < block->warp_count && !known; n++) {
        const ptx_clock *clock = &block->check->clocks[n];
        known = r->time < clock->outside || (!r->writes && r->time < clock->reads);
    }
    if (!known)
        report_visit(block);
    r->site = NULL;
}
