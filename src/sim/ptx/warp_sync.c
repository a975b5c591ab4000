/* Operations that lanes of a warp do together: each waits until all lanes that its member mask
 * names have come. */
#include "sim/ptx/grid.h"
#include "sim/ptx/warp_splits.h"

/* Returns whether each of the lanes names none but these, and lanes that have ended. */
static bool are_complete(const ptx_warp *w, const ptx_op *op, uint32_t lanes) {
    const uint32_t *members = ptx_at(w, op->a);
    uint32_t named = 0;
    for (uint32_t left = lanes; left; left &= left - 1)
        named |= members[__builtin_ctz(left)];
    return !(named & ptx_alive(w) & ~lanes);
}

/* Returns the lanes that wait at .sync operations, and their masks. */
static uint32_t waiting_lanes(const ptx_warp *w, uint32_t *masks) {
    uint32_t waiting = 0;
    for (unsigned i = 0; i < w->split_count; i++) {
        const ptx_split *s = &w->splits[i];
        if (s->wait != PTX_AT_SYNC)
            continue;
        const uint32_t *members = ptx_at(w, w->code->ops[s->pc].a);
        waiting |= s->mask;
        for (unsigned lane = 0; lane < PTX_LANES; lane++)
            masks[lane] = s->mask >> lane & 1 ? members[lane] : masks[lane];
    }
    return waiting;
}

/* Returns those of the waiting lanes for which all have come that their mask names. Who waits with
 * another mask has not come: it waits for others before. */
static uint32_t complete_lanes(const ptx_warp *w, uint32_t waiting, const uint32_t *masks) {
    uint32_t complete = 0;
    for (uint32_t left = waiting, same; left; left &= ~same) {
        const uint32_t mask = masks[__builtin_ctz(left)];
        same = 0;
        for (unsigned lane = 0; lane < PTX_LANES; lane++)
            same |= (uint32_t)(masks[lane] == mask) << lane;
        same &= left;
        if (!(mask & ptx_alive(w) & ~same))
            complete |= same;
    }
    return complete;
}

/* Makes lanes of splits do the .sync operation at which they all wait. Other lanes of these splits
 * go on waiting. */
static void do_sync(ptx_warp *w, uint32_t pc, uint32_t lanes) {
    const ptx_op *op = &w->code->ops[pc];
    for (unsigned i = 0, count = w->split_count; i < count; i++) {
        ptx_split *s = &w->splits[i], rest = *s;
        if (s->wait != PTX_AT_SYNC || s->pc != pc || !(s->mask & lanes))
            continue;
        w->frame = s->frame;
        s->mask &= lanes;
        s->wait = PTX_READY;
        s->pc++;
        rest.mask &= ~lanes;
        if (rest.mask)
            w->splits[w->split_count++] = rest;
    }
    acu_ptx_warp_set_mask(w, lanes);
    op->masked(w, op);
}

/* Returns whether lanes wait at a .sync operation. */
static bool is_waiting(const ptx_warp *w) {
    for (unsigned i = 0; i < w->split_count; i++)
        if (w->splits[i].wait == PTX_AT_SYNC)
            return true;
    return false;
}

bool acu_ptx_warp_finish_sync(ptx_warp *w, bool anyway) {
    if (!is_waiting(w))
        return false;
    uint32_t masks[PTX_LANES] = {0}, mask = w->mask;
    const uint32_t waiting = waiting_lanes(w, masks);
    const uint32_t complete = anyway ? waiting : complete_lanes(w, waiting, masks);
    ptx_frame *frame = w->frame;
    for (unsigned i = 0; i < w->split_count; i++) {
        const uint32_t pc = w->splits[i].pc;
        uint32_t lanes = 0;
        for (unsigned n = i; n < w->split_count && w->splits[i].wait == PTX_AT_SYNC; n++)
            if (w->splits[n].wait == PTX_AT_SYNC && w->splits[n].pc == pc)
                lanes |= w->splits[n].mask & complete;
        if (!lanes)
            continue;
        if (anyway && w->block->check)
            acu_ptx_check_missing(w, &w->code->ops[pc], lanes, lanes);
        do_sync(w, pc, lanes);
    }
    w->frame = frame;
    acu_ptx_warp_set_mask(w, mask);
    return complete != 0;
}

/* Adds the lanes of the current split to one that waits at the same place. False if there is none.
 */
static bool merge(ptx_warp *w) {
    const ptx_split *s = ptx_current(w);
    for (unsigned i = 0; i < w->split_count; i++) {
        ptx_split *other = &w->splits[i];
        if (other == s || other->wait != PTX_AT_SYNC || other->pc != s->pc ||
            other->join != s->join || other->frame != s->frame)
            continue;
        other->mask |= s->mask;
        w->splits[w->current] = w->splits[--w->split_count];
        return true;
    }
    return false;
}

ptx_step acu_ptx_flow_sync(ptx_warp *w, const ptx_op *op) {
    ptx_split *s = ptx_current(w);
    if (s->mask == ptx_alive(w) || are_complete(w, op, s->mask)) {
        op->masked(w, op);
        s->pc++;
        return PTX_ON;
    }
    s->wait = PTX_AT_SYNC;
    merge(w);
    acu_ptx_warp_finish_sync(w, false);
    return PTX_STOP;
}
