/* The operations that checks put before accesses, fences and .sync operations. */
#include "sim/ptx/check_inside.h"
#include "sim/ptx/cluster.h"
#include "sim/ptx/lower_inside.h"
#include "sim/ptx/count.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 64 }; /* of a matrix */

/* ---- where an access is ---- */

static uint32_t word_of(const ptx_warp *w, ptx_slot slot, unsigned lane) {
    return ((const uint32_t *)ptx_at(w, slot))[lane];
}

/* Makes an address of a window one of its space; false if nobody looks there. */
static bool find_space(ptx_checked_touch *t) {
    if (t->space == PTX_SHARED_CLUSTER)
        t->space = PTX_SHARED;
    if (t->space == PTX_CONST)
        t->space = PTX_GLOBAL;
    if (t->space != PTX_GENERIC)
        return t->space == PTX_GLOBAL || t->space == PTX_SHARED || t->space == PTX_LOCAL;
    t->space = PTX_GLOBAL;
    if (t->address < PTX_SHARED_WINDOW)
        return true;
    bool shared = t->address < PTX_SHARED_WINDOW + PTX_WINDOW_SIZE,
         local = t->address >= PTX_LOCAL_WINDOW && t->address < PTX_LOCAL_WINDOW + PTX_WINDOW_SIZE;
    t->space = shared ? PTX_SHARED : PTX_LOCAL;
    t->address -= shared ? PTX_SHARED_WINDOW : PTX_LOCAL_WINDOW;
    return shared || local;
}

bool acu_ptx_check_find(const ptx_warp *w, const ptx_check_site *site, unsigned lane,
                        ptx_checked_touch *t) {
    *t = (ptx_checked_touch){.site = site,
                             .lane = lane,
                             .space = site->space,
                             .address = ptx_lane_address(w, site->address, lane),
                             .size = site->has_size ? word_of(w, site->size, lane) : site->bytes};
    return t->size && find_space(t);
}

static bool find_global(ptx_warp *w, const ptx_op *op, ptx_checked_touch *t) {
    const ptx_machine *machine = w->worker->launch->machine;
    ptx_range *range = &w->worker->site[op->site].range, found;
    if (t->address < range->base || t->address > range->last ||
        range->last - t->address < t->size - 1) {
        if (!machine->find(machine->data, t->address, &found)) {
            acu_ptx_check_bounds(w, op, t, NULL);
            return false;
        }
        *range = found;
    }
    acu_ptx_check_bounds(w, op, t, range);
    t->bytes = range->bytes + (t->address - range->base);
    return range->last - t->address >= t->size - 1;
}

/* Finds the bytes of a lane's access; false if the checks cannot look at them: the access fails, or
 * is one to the memory of another block that an mbarrier orders. */
static bool find_place(ptx_warp *w, const ptx_op *op, ptx_checked_touch *t) {
    if (t->space == PTX_GLOBAL)
        return find_global(w, op, t);
    if (t->space == PTX_SHARED)
        t->owner = acu_ptx_cluster_block(w->block, &t->address);
    if (t->owner && t->owner != w->block && (t->site->by_mbarrier || t->site->space == PTX_SHARED))
        return false;
    size_t size = t->owner ? t->owner->shared_bytes : w->local_bytes;
    acu_ptx_check_bounds(w, op, t, NULL);
    t->bytes = (t->owner ? t->owner->shared : w->local + t->lane * w->local_stride) + t->address;
    return t->address <= size && size - t->address >= t->size;
}

static bool find_bytes(ptx_warp *w, const ptx_op *op, ptx_checked_touch *t) {
    const ptx_check_site *site = t->site;
    if (!find_place(w, op, t))
        return false;
    t->writes = site->writes &&
                !(site->atomic && !acu_ptx_atomic_changes(w, site->atomic, t->lane, t->bytes));
    return true;
}

/* Lists what the active lanes access; returns how many accesses there are. */
static unsigned find_lanes(ptx_warp *w, const ptx_op *op, ptx_checked_touch *touches) {
    const ptx_check_site *site = op->more;
    unsigned count = 0;
    uint32_t lanes = site->lanes ? w->mask & site->lanes : w->mask;
    for (uint32_t left = lanes; left; left &= left - 1) {
        ptx_checked_touch *t = &touches[count];
        count +=
            acu_ptx_check_find(w, site, (unsigned)__builtin_ctz(left), t) && find_bytes(w, op, t);
    }
    return count;
}

/* Lists the rows of a matrix, which is where the first active lane says. */
static unsigned find_rows(ptx_warp *w, const ptx_op *op, ptx_checked_touch *touches) {
    const ptx_check_site *site = op->more;
    unsigned count = 0, lane = (unsigned)__builtin_ctz(w->mask);
    uint64_t apart = (uint64_t)site->bytes;
    if (site->has_stride)
        apart = (uint64_t)word_of(w, site->stride, lane) * site->bits / 8;
    for (unsigned n = 0; n < site->rows && n < MOST_ROWS; n++) {
        ptx_checked_touch *t = &touches[count];
        *t = (ptx_checked_touch){.site = site,
                                 .lane = lane,
                                 .space = site->space,
                                 .address = ptx_lane_address(w, site->address, lane) + n * apart,
                                 .size = site->bytes};
        count += t->size && find_space(t) && find_bytes(w, op, t);
    }
    return count;
}

/* Leaves out what is a thread's own; returns how many accesses there are. */
static unsigned leave_out_local(ptx_checked_touch *touches, unsigned count) {
    unsigned kept = 0;
    for (unsigned i = 0; i < count; i++)
        if (touches[i].space != PTX_LOCAL)
            touches[kept++] = touches[i];
    return kept;
}

static void check_access(ptx_warp *w, const ptx_op *op) {
    const ptx_check_site *site = op->more;
    ptx_checked_touch touches[MOST_ROWS];
    unsigned count = (site->rows ? find_rows : find_lanes)(w, op, touches);
    for (unsigned i = 0; i < count && site->reads && w->code->watch.checks & PTX_CHECK_INIT; i++)
        acu_ptx_check_written(w, op, &touches[i]);
    if (w->code->watch.checks & PTX_CHECK_RACE)
        acu_ptx_check_races(w, op, touches, leave_out_local(touches, count));
}

/* Returns whether the instruction orders threads of one block only. */
static bool has_scope_of_block(const ptx_lowering *l) {
    const char *opcode = l->instruction->opcode;
    return strstr(opcode, ".cta") && strncmp(opcode, "mbarrier", 8) != 0;
}

void acu_ptx_check_access(ptx_lowering *l, ptx_check_site site) {
    acu_ptx_count_access(l, &site);
    if (!(l->code->watch.checks & ~(unsigned)PTX_CHECK_SYNC))
        return;
    ptx_check_site *kept = acu_ptx_lower_alloc(l, sizeof *kept);
    *kept = site;
    kept->instruction = l->instruction;
    kept->narrow = has_scope_of_block(l);
    ptx_op *op = acu_ptx_emit(l, check_access);
    op->more = kept;
    op->site = acu_ptx_site(l);
}

void acu_ptx_check_completion(ptx_lowering *l, ptx_space space, ptx_address barrier) {
    acu_ptx_check_access(l, (ptx_check_site){.space = space,
                                             .address = barrier,
                                             .bytes = 8,
                                             .reads = true,
                                             .writes = true,
                                             .strong = true,
                                             .apart = true,
                                             .releases = true});
}

/* ---- fences ---- */

static void note_fence(ptx_warp *w, const ptx_op *op) {
    ptx_check_block *block = w->block->check;
    block->fenced = acu_ptx_check_tick(w->worker->check);
    if (!op->flags)
        block->fenced_outside = block->fenced;
}

void acu_ptx_check_fence(ptx_lowering *l) {
    if (l->code->watch.checks & PTX_CHECK_RACE)
        acu_ptx_emit(l, note_fence)->flags = has_scope_of_block(l);
}

/* ---- groups of copies ---- */

static ptx_groups *groups_of(const ptx_warp *w, unsigned lane) {
    return &w->block->check->groups[w->number * PTX_LANES + lane];
}

static void note_commit(ptx_warp *w, const ptx_op *op) {
    (void)op;
    for (uint32_t left = w->mask; left; left &= left - 1)
        groups_of(w, (unsigned)__builtin_ctz(left))->open++;
}

static void note_wait(ptx_warp *w, const ptx_op *op) {
    for (uint32_t left = w->mask; left; left &= left - 1) {
        ptx_groups *g = groups_of(w, (unsigned)__builtin_ctz(left));
        const uint32_t kept = (uint32_t)op->value + 1; /* with the one that is open */
        if (g->open > kept && g->open - kept > g->over)
            g->over = g->open - kept;
    }
}

void acu_ptx_check_commit(ptx_lowering *l) {
    if (l->code->watch.checks & PTX_CHECK_RACE)
        acu_ptx_emit(l, note_commit);
}

void acu_ptx_check_wait(ptx_lowering *l, uint32_t left) {
    if (l->code->watch.checks & PTX_CHECK_RACE)
        acu_ptx_emit(l, note_wait)->value = left;
}

/* ---- .sync operations ---- */

/* `more` is the operation itself. Lanes of the mask that came on another way are there, too. But
 * for bar.warp.sync these operations order no accesses to memory. */
static void meet(ptx_warp *w, const ptx_op *op) {
    const ptx_op *inner = op->more;
    w->block->check->told[w->number] &= ~w->mask;
    if (acu_ptx_is(op->instruction, "bar"))
        acu_ptx_check_meet(w, ptx_at(w, op->a));
    if (w->code->watch.checks & PTX_CHECK_SYNC)
        acu_ptx_check_masks(w, op);
    inner->masked(w, inner);
}

void acu_ptx_check_syncs(ptx_lowering *l) {
    const ptx_code *code = l->code;
    for (uint32_t n = 0; n < code->count && code->watch.checks; n++) {
        ptx_op *op = &code->ops[n];
        if (op->flow != acu_ptx_flow_sync)
            continue;
        ptx_op *inner = acu_ptx_lower_alloc(l, sizeof *inner);
        *inner = *op;
        op->more = inner;
        op->full = op->masked = meet;
    }
}
