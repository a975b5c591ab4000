/* Operations that lanes of a warp do together: each waits until all lanes that its member mask
 * names have come. */
#include "sim/ptx/grid.h"
#include "sim/ptx/warp_splits.h"

/* Returns those of the lanes that need no lanes but `present`. */
static uint32_t complete_lanes(const ptx_warp *w, const ptx_op *op, uint32_t lanes,
                               uint32_t present) {
    const uint32_t *members = ptx_at(w, op->a);
    uint32_t complete = 0, missing = ptx_alive(w) & ~present;
    for (unsigned i = 0; i < PTX_LANES; i++)
        complete |= (uint32_t)!(members[i] & missing) << i;
    return complete & lanes;
}

/* Makes a split that waits at a .sync operation do it, but for lanes that are not complete. */
static void do_sync(ptx_warp *w, unsigned i, uint32_t complete) {
    const ptx_op *op = &w->code->ops[w->splits[i].pc];
    if (complete != w->splits[i].mask) {
        ptx_split rest = w->splits[i];
        rest.mask &= ~complete;
        w->splits[i].mask = complete;
        w->splits[w->split_count++] = rest;
    }
    ptx_split *s = &w->splits[i];
    w->frame = s->frame;
    acu_ptx_warp_set_mask(w, s->mask);
    op->masked(w, op);
    s->wait = PTX_READY;
    s->pc++;
}

bool acu_ptx_warp_finish_sync(ptx_warp *w, bool anyway) {
    uint32_t present = 0, mask = w->mask;
    ptx_frame *frame = w->frame;
    unsigned count = w->split_count;
    bool any = false;
    if (!count)
        return false;
    for (unsigned i = 0; i < count; i++)
        if (w->splits[i].wait == PTX_AT_SYNC)
            present |= w->splits[i].mask;
    for (unsigned i = 0; i < count && present; i++) {
        const ptx_split *s = &w->splits[i];
        if (s->wait != PTX_AT_SYNC)
            continue;
        uint32_t complete =
            complete_lanes(w, &w->code->ops[s->pc], s->mask, anyway ? ~UINT32_C(0) : present);
        if (!complete)
            continue;
        if (anyway && w->block->check)
            acu_ptx_check_missing(w, &w->code->ops[s->pc], s->mask, present);
        do_sync(w, i, complete);
        any = true;
    }
    w->frame = frame;
    acu_ptx_warp_set_mask(w, mask);
    return any;
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
    if (s->mask == ptx_alive(w) || complete_lanes(w, op, s->mask, s->mask) == s->mask) {
        op->masked(w, op);
        s->pc++;
        return PTX_GO;
    }
    s->wait = PTX_AT_SYNC;
    merge(w);
    acu_ptx_warp_finish_sync(w, false);
    return PTX_STOP;
}
