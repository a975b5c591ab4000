/* The operations that count what instructions do. Each has the number of its instruction in
 * `value`. */
#include "sim/ptx/count.h"

#include "sim/ptx/check_inside.h"
#include "sim/ptx/cluster.h"
#include "sim/ptx/lower_inside.h"

#include <string.h>

enum { SECTOR = 32, BANK_COUNT = 32, BANK = 4, WAVEFRONT = BANK_COUNT * BANK };

void acu_ptx_counts_add(ptx_counts *sum, const ptx_counts *counts) {
    for (unsigned n = 0; n < PTX_COUNTERS; n++)
        sum->of[n] += counts->of[n];
}

static uint64_t *counts_of(const ptx_warp *w, const ptx_op *op) {
    return w->worker->counts[op->value].of;
}

static ptx_op *emit_count(ptx_lowering *l, ptx_handler *handler) {
    ptx_op *op = acu_ptx_emit(l, handler);
    op->value = (int64_t)l->code->counted_count - 1;
    return op;
}

/* ---- instructions and branches ---- */

static void count_instruction(ptx_warp *w, const ptx_op *op) {
    uint64_t *counts = counts_of(w, op);
    counts[PTX_COUNT_WARPS]++;
    counts[PTX_COUNT_THREADS] += w->active;
}

void acu_ptx_count_instruction(ptx_lowering *l, const ptx_instruction *i) {
    ptx_code *code = l->code;
    if (!code->watch.profile)
        return;
    code->counted = acu_ptx_grow(l, code->counted, code->counted_count, &l->counted_room,
                                 sizeof *code->counted);
    code->counted[code->counted_count++] = i;
    emit_count(l, count_instruction);
}

static void count_parting(const ptx_warp *w, const ptx_op *op, uint32_t some) {
    uint64_t *counts = counts_of(w, op);
    some &= w->mask;
    counts[PTX_COUNT_BRANCHES]++;
    counts[PTX_COUNT_DIVERGENT] += some && some != w->mask;
}

static void count_branch(ptx_warp *w, const ptx_op *op) {
    count_parting(w, op, ptx_guard(w, op));
}

void acu_ptx_count_branch(ptx_lowering *l, ptx_slot guard, bool negated) {
    if (!l->code->watch.profile)
        return;
    ptx_op *op = emit_count(l, count_branch);
    op->guard = guard;
    op->negated = negated;
}

/* Lanes whose index is wrong end the kernel behind this. */
static void count_switch(ptx_warp *w, const ptx_op *op) {
    const uint32_t *index = ptx_at(w, op->a);
    const ptx_table *table = op->more;
    unsigned first = (unsigned)__builtin_ctz(w->mask);
    uint32_t same = 0;
    for (unsigned i = 0; i < PTX_LANES; i++)
        if (index[i] < table->count && index[first] < table->count)
            same |= (uint32_t)(table->labels[index[i]] == table->labels[index[first]]) << i;
    count_parting(w, op, same);
}

void acu_ptx_count_switch(ptx_lowering *l, ptx_slot index, const ptx_table *table) {
    if (!l->code->watch.profile)
        return;
    ptx_op *op = emit_count(l, count_switch);
    op->a = index;
    op->more = table;
}

/* ---- global and local memory: sectors ---- */

/* The lanes of an access that are in one space. */
typedef struct profiled_lanes {
    unsigned count;
    uint8_t lane[PTX_LANES];
    uint64_t address[PTX_LANES];
    uint32_t size[PTX_LANES];
} profiled_lanes;

/* Different numbers, of sectors or of addresses. */
typedef struct profiled_set {
    unsigned count;
    uint64_t of[PTX_LANES * 16];
} profiled_set;

/* The number that was added last is most often the same. */
static void add_number(profiled_set *set, uint64_t number) {
    for (unsigned n = set->count; n-- > 0;)
        if (set->of[n] == number)
            return;
    if (set->count < sizeof set->of / sizeof *set->of)
        set->of[set->count++] = number;
}

static unsigned global_sectors(const profiled_lanes *lanes) {
    profiled_set sectors;
    sectors.count = 0;
    for (unsigned n = 0; n < lanes->count; n++) {
        uint64_t last = (lanes->address[n] + lanes->size[n] - 1) / SECTOR;
        for (uint64_t at = lanes->address[n] / SECTOR; at <= last; at++)
            add_number(&sectors, at);
    }
    return sectors.count;
}

/* On a GPU the words of the 32 lanes lie beside each other: the first of all lanes, then the second
 * of all lanes. */
static unsigned local_sectors(const profiled_lanes *lanes) {
    profiled_set sectors;
    sectors.count = 0;
    for (unsigned n = 0; n < lanes->count; n++) {
        uint64_t last = (lanes->address[n] + lanes->size[n] - 1) / BANK;
        for (uint64_t word = lanes->address[n] / BANK; word <= last; word++)
            add_number(&sectors, (word * PTX_LANES + lanes->lane[n]) * BANK / SECTOR);
    }
    return sectors.count;
}

static uint64_t ideal_sectors(const profiled_lanes *lanes) {
    uint64_t bytes = 0;
    for (unsigned n = 0; n < lanes->count; n++)
        bytes += lanes->size[n];
    return (bytes + SECTOR - 1) / SECTOR;
}

/* Returns how many lanes before this one, or itself, have its address. */
static unsigned nth_at_address(const profiled_lanes *lanes, unsigned lane) {
    unsigned count = 0;
    for (unsigned n = 0; n <= lane; n++)
        count += lanes->address[n] == lanes->address[lane];
    return count;
}

/* A GPU goes to a sector as often as lanes meet at one of its addresses: the lane that is the n-th
 * at its address goes there with the others that are the n-th. An atomic operation is aligned, so
 * that it is in one sector. */
static unsigned atomic_sectors(const profiled_lanes *lanes) {
    profiled_set visits;
    visits.count = 0;
    for (unsigned n = 0; n < lanes->count; n++)
        add_number(&visits, lanes->address[n] / SECTOR * PTX_LANES + nth_at_address(lanes, n) - 1);
    return visits.count;
}

static void count_atomic(const profiled_lanes *lanes, uint64_t *counts) {
    profiled_set addresses;
    addresses.count = 0;
    for (unsigned n = 0; n < lanes->count; n++)
        add_number(&addresses, lanes->address[n]);
    counts[PTX_COUNT_ATOMIC_LANES] += lanes->count;
    counts[PTX_COUNT_ATOMIC_ADDRESSES] += addresses.count;
}

static void count_global(const ptx_check_site *site, const profiled_lanes *lanes,
                         uint64_t *counts) {
    if (site->atomic) {
        counts[PTX_COUNT_ATOMICS]++;
        counts[PTX_COUNT_ATOMIC_SECTORS] += atomic_sectors(lanes);
        count_atomic(lanes, counts);
        return;
    }
    unsigned sectors = global_sectors(lanes);
    counts[site->reads ? PTX_COUNT_LOADS : PTX_COUNT_STORES]++;
    counts[site->reads ? PTX_COUNT_LOAD_SECTORS : PTX_COUNT_STORE_SECTORS] += sectors;
    counts[site->reads ? PTX_COUNT_LOAD_IDEAL : PTX_COUNT_STORE_IDEAL] += ideal_sectors(lanes);
}

/* ---- shared memory: wavefronts ---- */

/* Returns how often the banks are needed for lanes whose words together have room in one wavefront:
 * the most different words that one bank has. 0: no lane is active. */
static unsigned wavefronts(const profiled_lanes *lanes, unsigned begin, unsigned end) {
    unsigned count[BANK_COUNT] = {0}, most = 0;
    uint64_t words[BANK_COUNT][PTX_LANES];
    for (unsigned n = begin; n < end; n++) {
        uint64_t last = (lanes->address[n] + lanes->size[n] - 1) / BANK;
        for (uint64_t word = lanes->address[n] / BANK; word <= last; word++) {
            unsigned bank = word % BANK_COUNT, at = 0;
            while (at < count[bank] && words[bank][at] != word)
                at++;
            if (at < count[bank] || at == PTX_LANES)
                continue;
            words[bank][at] = word;
            count[bank]++;
            most = count[bank] > most ? count[bank] : most;
        }
    }
    return most;
}

/* Lanes of 8 bytes are served by halves of the warp, those of 16 by quarters. */
static void count_shared(const ptx_check_site *site, const profiled_lanes *lanes,
                         uint64_t *counts) {
    unsigned group = site->bytes > BANK ? WAVEFRONT / site->bytes : PTX_LANES;
    unsigned all = 0, conflicts = 0;
    if (site->atomic) {
        counts[PTX_COUNT_SHARED_ATOMICS]++;
        count_atomic(lanes, counts);
        return;
    }
    for (unsigned begin = 0, end; begin < lanes->count; begin = end) {
        for (end = begin + 1; end < lanes->count; end++)
            if (lanes->lane[end] / group != lanes->lane[begin] / group)
                break;
        unsigned needed = wavefronts(lanes, begin, end);
        all += needed;
        conflicts += needed - 1;
    }
    counts[site->reads ? PTX_COUNT_SHARED_LOADS : PTX_COUNT_SHARED_STORES]++;
    counts[site->reads ? PTX_COUNT_SHARED_LOAD_WAVEFRONTS : PTX_COUNT_SHARED_STORE_WAVEFRONTS] +=
        all;
    counts[site->reads ? PTX_COUNT_SHARED_LOAD_CONFLICTS : PTX_COUNT_SHARED_STORE_CONFLICTS] +=
        conflicts;
}

/* ---- accesses ---- */

static void add_lane(profiled_lanes *lanes, const ptx_checked_touch *t) {
    lanes->lane[lanes->count] = (uint8_t)t->lane;
    lanes->address[lanes->count] = t->address;
    lanes->size[lanes->count++] = t->size;
}

/* The shared memory of other blocks of the cluster has other ways, which are not counted. */
static void count_access(ptx_warp *w, const ptx_op *op) {
    const ptx_check_site *site = op->more;
    uint64_t *counts = counts_of(w, op);
    profiled_lanes global, shared, local;
    global.count = shared.count = local.count = 0;
    for (uint32_t left = site->lanes ? w->mask & site->lanes : w->mask; left; left &= left - 1) {
        ptx_checked_touch t;
        if (!acu_ptx_check_find(w, site, (unsigned)__builtin_ctz(left), &t))
            continue;
        if (t.space == PTX_GLOBAL)
            add_lane(&global, &t);
        else if (t.space == PTX_LOCAL)
            add_lane(&local, &t);
        else if (acu_ptx_cluster_block(w->block, &t.address) == w->block)
            add_lane(&shared, &t);
    }
    if (global.count)
        count_global(site, &global, counts);
    if (shared.count)
        count_shared(site, &shared, counts);
    if (local.count) {
        counts[PTX_COUNT_LOCALS]++;
        counts[PTX_COUNT_LOCAL_SECTORS] += local_sectors(&local);
    }
}

void acu_ptx_count_access(ptx_lowering *l, const ptx_check_site *site) {
    if (!l->code->watch.profile || site->apart || site->rows || !site->bytes)
        return;
    ptx_check_site *kept = acu_ptx_lower_alloc(l, sizeof *kept);
    *kept = *site;
    emit_count(l, count_access)->more = kept;
}
