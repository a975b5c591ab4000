/*
 * Races: accesses of several threads to the same bytes, one of them a write, that nothing orders.
 *
 * Each byte of shared memory, and each word of global memory, has a cell, which remembers the last
 * write and the last reads, with the time. A time is the number of barriers, .sync operations,
 * fences and releases that there were before. An access is ordered behind an earlier one if its
 * thread knows of that time. What an atomic operation or a volatile access finds that another
 * thread stored there behind a fence makes it know what was done before the fence; and without one,
 * what was read before, since what is stored depends on it.
 */
#include "sim/ptx/check_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- cells ---- */

static size_t hash_of(uint64_t number, size_t room) {
    return (size_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (room - 1);
}

static bool grow_pages(ptx_check *c) {
    size_t room = c->page_room ? 2 * c->page_room : 64;
    ptx_page **pages = calloc(room, sizeof *pages);
    if (!pages)
        return false;
    for (size_t n = 0; n < c->page_room; n++)
        if (c->pages[n]) {
            size_t at = hash_of(c->pages[n]->number, room);
            while (pages[at])
                at = (at + 1) & (room - 1);
            pages[at] = c->pages[n];
        }
    free(c->pages);
    c->pages = pages;
    c->page_room = room;
    return true;
}

/* Returns the page of that number; NULL without memory. */
static ptx_page *page_of(ptx_check *c, uint64_t number) {
    if (c->last && c->last->number == number)
        return c->last;
    if (2 * c->page_count >= c->page_room && !grow_pages(c))
        return NULL;
    size_t at = hash_of(number, c->page_room);
    while (c->pages[at] && c->pages[at]->number != number)
        at = (at + 1) & (c->page_room - 1);
    if (!c->pages[at]) {
        c->pages[at] = calloc(1, sizeof(ptx_page));
        if (!c->pages[at])
            return NULL;
        c->pages[at]->number = number;
        c->page_count++;
    }
    return c->last = c->pages[at];
}

/* Returns the cell of the touch's byte number `at`, and how many of its bytes are in it and which
 * parts of the cell those are; NULL without memory. */
static ptx_cell *cell_of(ptx_warp *w, const ptx_checked_touch *t, uint32_t at, uint32_t *count,
                         uint8_t *parts) {
    uint64_t address = t->address + at;
    *count = 1;
    *parts = 1;
    if (t->space == PTX_SHARED)
        return &t->owner->check->shared[address];
    uint32_t part = address & 3;
    *count = t->size - at < 4 - part ? t->size - at : 4 - part;
    *parts = (uint8_t)(((1u << *count) - 1) << part);
    ptx_page *page = page_of(w->worker->check, address >> PTX_PAGE_SHIFT);
    return page ? &page->cells[address >> 2 & (PTX_PAGE_CELLS - 1)] : NULL;
}

void acu_ptx_check_forget(ptx_warp *w, uint64_t address, uint64_t size) {
    ptx_check *c = w->worker->check;
    if (!(w->code->watch.checks & PTX_CHECK_RACE))
        return;
    for (uint64_t at = address; at < address + size && c->page_count; at += 4) {
        ptx_page *page = page_of(c, at >> PTX_PAGE_SHIFT);
        if (page)
            page->cells[at >> 2 & (PTX_PAGE_CELLS - 1)] = (ptx_cell){.write = {.site = NULL}};
    }
}

/* ---- what is ordered ---- */

/* Returns whether the lane knows, by all lanes or by each, what others of its warp did. */
static bool is_before_in_warp(const ptx_warp *w, unsigned lane, const ptx_record *r) {
    const ptx_check_block *check = w->block->check;
    if (r->time < check->clocks[w->number].lanes[lane])
        return true;
    for (uint32_t left = r->lanes & ~(UINT32_C(1) << lane); left; left &= left - 1)
        if (r->time >= check->pairs[w->number][lane][__builtin_ctz(left)])
            return false;
    return true;
}

/* Returns whether what the record says is before what the lane does now. */
static bool is_before(const ptx_warp *w, const ptx_checked_touch *t, const ptx_record *r) {
    const ptx_clock *clock = &w->block->check->clocks[w->number];
    if (!r->writes && r->time < clock->reads)
        return true;
    if (r->block != (uint32_t)w->block->number)
        return (t->space == PTX_SHARED && w->block->cluster->count == 1) ||
               r->time < clock->outside;
    if (r->warp != w->number)
        return r->time < clock->inside[r->warp];
    return t->site->together || r->site->together || is_before_in_warp(w, t->lane, r);
}

/* Returns whether the record is a copy for which the thread that made it has not waited: nothing
 * else orders it. */
static bool is_pending(const ptx_warp *w, const ptx_checked_touch *t, const ptx_record *r) {
    if (!r->group || t->site->async || r->block != (uint32_t)w->block->number)
        return false;
    const ptx_groups *groups = &w->block->check->groups[(size_t)r->warp * PTX_LANES];
    for (uint32_t left = r->lanes; left; left &= left - 1)
        if (groups[__builtin_ctz(left)].over < r->group)
            return true;
    return false;
}

/* Returns whether the two are no race whatever their order is: both are atomic, or the like, and
 * each has a scope that the other one's thread is in. */
static bool are_in_scope(const ptx_warp *w, const ptx_checked_touch *t, const ptx_record *r) {
    return t->site->strong && r->site->strong &&
           (r->block == (uint32_t)w->block->number || !(t->site->narrow || r->site->narrow));
}

/* Returns whether the two are a race. Who prepares a compare-and-swap may read as if no other
 * thread was there, since the comparison finds what has changed. */
static bool is_race(const ptx_warp *w, const ptx_checked_touch *t, const ptx_record *r,
                    uint8_t parts) {
    if (!r->site || !(r->parts & parts) || are_in_scope(w, t, r))
        return false;
    if (is_pending(w, t, r))
        return true;
    if ((t->site->swaps && !r->writes && !r->site->strong) ||
        (r->site->swaps && !t->writes && !t->site->strong))
        return false;
    return (t->writes || r->writes) && !is_before(w, t, r);
}

/* ---- values ---- */

/* Writes what a lane stores; false if that is not known. */
static bool stored_by(const ptx_warp *w, const ptx_check_site *site, unsigned lane, char *value) {
    const ptx_access *access = site->values;
    if (!access)
        return false;
    for (unsigned n = 0; n < access->count; n++)
        memcpy(value + (size_t)n * access->size,
               (const char *)ptx_at(w, access->slots[n]) + (size_t)lane * access->register_size,
               access->size);
    return true;
}

/* Returns whether the lane writes what is there already. */
static bool is_silent(const ptx_warp *w, const ptx_checked_touch *t) {
    char value[64] = {0};
    return stored_by(w, t->site, t->lane, value) && memcmp(value, t->bytes, t->size) == 0;
}

/* ---- reports ---- */

static const char *verb_of(const ptx_record *r) {
    return !r->writes ? "reads" : r->site->reads ? "changes" : "writes";
}

const char *acu_ptx_check_access_name(const ptx_check_site *site) {
    return site->reads && site->writes ? "an atomic operation on"
           : site->writes              ? "a write of"
                                       : "a read of";
}

static void report(ptx_warp *w, const ptx_checked_touch *t, const ptx_record *r) {
    ptx_finding f = {.check = PTX_CHECK_RACE, .module = w->code->module, .has_other = true};
    const ptx_block *block = w->block;
    char place[160];
    uint32_t lanes = r->lanes;
    bool same_block = r->block == (uint32_t)block->number, same_warp = r->warp == w->number;
    if (same_block && same_warp && !r->group && lanes & ~(UINT32_C(1) << t->lane))
        lanes &= ~(UINT32_C(1) << t->lane);
    acu_ptx_check_locate(block, block->number, w->number * PTX_LANES + t->lane, &f.at);
    acu_ptx_check_locate(block, r->block,
                         (unsigned)r->warp * PTX_LANES + (unsigned)__builtin_ctz(lanes), &f.other);
    f.at.instruction = t->site->instruction;
    f.other.instruction = r->site->instruction;
    acu_ptx_check_name(w, t, place, sizeof place);
    if (is_pending(w, t, r)) {
        snprintf(f.what, sizeof f.what,
                 "%s %u bytes of %s, which thread (%u, %u, %u) of the same block copies there by "
                 "cp.async, and it has not waited for that copy",
                 acu_ptx_check_access_name(t->site), t->size, place, f.other.thread[0],
                 f.other.thread[1], f.other.thread[2]);
        acu_ptx_check_give(w, &f);
        return;
    }
    snprintf(f.what, sizeof f.what,
             "%s %u bytes of %s, which thread (%u, %u, %u) of %s (%u, %u, %u) %s, and %s",
             acu_ptx_check_access_name(t->site), t->size, place, f.other.thread[0],
             f.other.thread[1], f.other.thread[2], same_block ? "the same block" : "block",
             f.other.block[0], f.other.block[1], f.other.block[2], verb_of(r),
             t->site->strong && r->site->strong ? "the scope .cta of one of them has not both"
             : !same_block                      ? "nothing orders the two"
             : same_warp                        ? "no barrier or __syncwarp() orders the two"
                                                : "no barrier orders the two");
    acu_ptx_check_give(w, &f);
}

/* Lanes of a store that write different values to one place. */
static void compare_lanes(ptx_warp *w, const ptx_checked_touch *touches, unsigned count) {
    for (unsigned i = 1; i < count; i++)
        for (unsigned n = 0; n < i; n++) {
            const ptx_checked_touch *a = &touches[i], *b = &touches[n];
            char mine[64], other[64];
            if (a->bytes - b->bytes >= (ptrdiff_t)b->size ||
                b->bytes - a->bytes >= (ptrdiff_t)a->size)
                continue;
            if (a->bytes == b->bytes && stored_by(w, a->site, a->lane, mine) &&
                stored_by(w, b->site, b->lane, other) && memcmp(mine, other, a->size) == 0)
                continue;
            ptx_record r = {.site = b->site,
                            .lanes = UINT32_C(1) << b->lane,
                            .block = (uint32_t)w->block->number,
                            .warp = (uint8_t)w->number,
                            .writes = true};
            report(w, a, &r);
            return;
        }
}

/* ---- accesses ---- */

static void look(ptx_warp *w, const ptx_checked_touch *t) {
    uint8_t parts;
    for (uint32_t at = 0, count; at < t->size; at += count) {
        const ptx_cell *cell = cell_of(w, t, at, &count, &parts);
        if (!cell)
            return;
        const ptx_record *found = is_race(w, t, &cell->write, parts)      ? &cell->write
                                  : is_race(w, t, &cell->reads[0], parts) ? &cell->reads[0]
                                  : is_race(w, t, &cell->reads[1], parts) ? &cell->reads[1]
                                                                          : NULL;
        if (!found || (found == &cell->write && t->writes && is_silent(w, t)))
            continue;
        report(w, t, found);
        return;
    }
}

/* Keeps an access of a warp in the record, if that has one of the same warp and time. */
static bool add_lanes(ptx_record *r, const ptx_record *one) {
    if (!r->site || r->block != one->block || r->warp != one->warp || r->time != one->time ||
        r->parts != one->parts || r->group != one->group)
        return false;
    r->lanes |= one->lanes;
    if (!one->site->strong || r->site->strong)
        r->site = one->site;
    return true;
}

static void keep(ptx_cell *cell, const ptx_record *one) {
    if (one->writes) {
        if (!add_lanes(&cell->write, one))
            cell->write = *one;
        return;
    }
    if (add_lanes(&cell->reads[0], one))
        return;
    if (cell->reads[0].warp != one->warp || cell->reads[0].block != one->block)
        cell->reads[1] = cell->reads[0];
    cell->reads[0] = *one;
}

static void remember(ptx_warp *w, const ptx_checked_touch *t) {
    ptx_record one = {.site = t->site,
                      .time = w->worker->check->now,
                      .lanes = t->site->together ? w->mask : UINT32_C(1) << t->lane,
                      .block = (uint32_t)w->block->number,
                      .warp = (uint8_t)w->number,
                      .writes = t->writes};
    if (t->site->async)
        one.group = w->block->check->groups[w->number * PTX_LANES + t->lane].open;
    for (uint32_t at = 0, count; at < t->size; at += count) {
        ptx_cell *cell = cell_of(w, t, at, &count, &one.parts);
        if (!cell)
            return;
        keep(cell, &one);
    }
}

/* ---- what atomic operations order ---- */

static bool grow_releases(ptx_check *c) {
    size_t room = c->release_room ? 2 * c->release_room : 64;
    ptx_release *releases = calloc(room, sizeof *releases);
    if (!releases)
        return false;
    for (size_t n = 0; n < c->release_room; n++)
        if (c->releases[n].bytes) {
            size_t at = hash_of((uintptr_t)c->releases[n].bytes, room);
            while (releases[at].bytes)
                at = (at + 1) & (room - 1);
            releases[at] = c->releases[n];
        }
    free(c->releases);
    c->releases = releases;
    c->release_room = room;
    return true;
}

/* Returns what was released at the place. Without memory nothing can be said of races any more:
 * NULL. */
static ptx_release *release_at(ptx_check *c, const char *bytes) {
    if (2 * c->release_count >= c->release_room && !grow_releases(c)) {
        c->races = false;
        return NULL;
    }
    size_t at = hash_of((uintptr_t)bytes, c->release_room);
    while (c->releases[at].bytes && c->releases[at].bytes != bytes)
        at = (at + 1) & (c->release_room - 1);
    if (!c->releases[at].bytes) {
        c->releases[at].bytes = bytes;
        c->release_count++;
    }
    return &c->releases[at];
}

static void advance_release(ptx_release *r, const ptx_check_site *site,
                            const ptx_check_block *block) {
    const ptx_time inside = site->releases ? r->reads : block->fenced;
    const ptx_time outside = site->releases ? r->reads : block->fenced_outside;
    if (r->inside < inside)
        r->inside = inside;
    if (!site->narrow && r->time < outside)
        r->time = outside;
}

/* Lets the lane know what was released where it looks, and releases what its block did before the
 * last fence, or all of it: to others of its block, or to all. */
static void order(ptx_warp *w, const ptx_checked_touch *t) {
    ptx_check *c = w->worker->check;
    const uint32_t number = (uint32_t)w->block->number;
    ptx_release *release = release_at(c, t->bytes);
    if (!release)
        return;
    ptx_time known = t->site->narrow ? 0 : release->time;
    if (release->block == number && known < release->inside)
        known = release->inside;
    acu_ptx_check_learn(w, UINT32_C(1) << t->lane, known, release->reads);
    if (!t->site->writes)
        return;
    release->reads = acu_ptx_check_tick(c);
    if (release->block != number)
        release->inside = 0;
    release->block = number;
    advance_release(release, t->site, w->block->check);
}

void acu_ptx_check_races(ptx_warp *w, const ptx_op *op, const ptx_checked_touch *touches,
                         unsigned count) {
    const ptx_check_site *site = op->more;
    if (!count || !w->worker->check->races)
        return;
    if (site->strong)
        for (unsigned i = 0; i < count; i++)
            order(w, &touches[i]);
    for (unsigned i = 0; i < count; i++)
        look(w, &touches[i]);
    if (site->values && !site->strong)
        compare_lanes(w, touches, count);
    for (unsigned i = 0; i < count; i++) {
        remember(w, &touches[i]);
        acu_ptx_check_visit(w, &touches[i]);
    }
}
