#define _DEFAULT_SOURCE
#include "sim/ptx/special.h"

#include "sim/ptx/lower_inside.h"

#include <string.h>
#include <time.h>

bool acu_ptx_special_has_size(ptx_special special, size_t size) {
    switch (special) {
    case PTX_IS_EXPLICIT_CLUSTER:
        return size == 0;
    case PTX_CLOCK64:
    case PTX_GLOBALTIMER:
    case PTX_PM64:
    case PTX_CURRENT_GRAPH_EXEC:
        return size == 8;
    case PTX_GRIDID:
        return size >= 2;
    case PTX_TID:
    case PTX_NTID:
    case PTX_CTAID:
    case PTX_NCTAID:
        return size == 2 || size == 4;
    default:
        return size == 4;
    }
}

bool acu_ptx_special_is_constant(ptx_special s) {
    switch (s) {
    case PTX_NTID:
    case PTX_NCTAID:
    case PTX_NCLUSTERID:
    case PTX_CLUSTER_NCTAID:
    case PTX_CLUSTER_NCTARANK:
    case PTX_IS_EXPLICIT_CLUSTER:
    case PTX_LANEID:
    case PTX_NWARPID:
    case PTX_NSMID:
    case PTX_GRIDID:
    case PTX_LANEMASK_EQ:
    case PTX_LANEMASK_LE:
    case PTX_LANEMASK_LT:
    case PTX_LANEMASK_GE:
    case PTX_LANEMASK_GT:
    case PTX_ENVREG:
    case PTX_TOTAL_SMEM_SIZE:
    case PTX_AGGR_SMEM_SIZE:
    case PTX_DYNAMIC_SMEM_SIZE:
    case PTX_CURRENT_GRAPH_EXEC:
    case PTX_WARP_SIZE:
        return true;
    default:
        return false;
    }
}

bool acu_ptx_special_is_of_block(ptx_special s) {
    return s == PTX_CTAID || s == PTX_CLUSTERID || s == PTX_CLUSTER_CTAID ||
           s == PTX_CLUSTER_CTARANK || s == PTX_SMID;
}

bool acu_ptx_special_is_clock(ptx_special s) {
    return s >= PTX_CLOCK && s <= PTX_PM64;
}

/* Writes a value to a lane of an element. */
static void put(char *at, unsigned lane, unsigned size, uint64_t value) {
    memcpy(at + (size_t)lane * size, &value, size); /* the low bytes come first */
}

void acu_ptx_put_all(char *at, unsigned size, uint64_t value) {
    const uint32_t word = (uint32_t)value;
    switch (size) {
    case sizeof word:
        for (unsigned i = 0; i < PTX_LANES; i++)
            memcpy(at + (size_t)i * sizeof word, &word, sizeof word);
        break;
    case sizeof value:
        for (unsigned i = 0; i < PTX_LANES; i++)
            memcpy(at + (size_t)i * sizeof value, &value, sizeof value);
        break;
    default:
        for (unsigned i = 0; i < PTX_LANES; i++)
            put(at, i, size, value);
    }
}

/* ---- launches ---- */

static size_t dynamic_at(const ptx_launch *launch) {
    size_t align = launch->code->shared_align < 16 ? 16 : launch->code->shared_align;
    return (launch->code->shared_bytes + align - 1) / align * align;
}

static bool has_clusters(const ptx_launch *launch) {
    return launch->cluster[0] * launch->cluster[1] * launch->cluster[2] > 1;
}

static uint64_t launch_special(const ptx_launch *launch, const ptx_constant *c, unsigned lane) {
    unsigned n = c->component < 3 ? c->component : 0;
    bool fourth = c->component == 3; /* .w is 0 or 1 */
    switch (c->special) {
    case PTX_NTID:
        return fourth ? 1 : launch->block[n];
    case PTX_NCTAID:
        return fourth ? 1 : launch->grid[n];
    case PTX_NCLUSTERID:
        return fourth ? 1 : launch->grid[n] / launch->cluster[n];
    case PTX_CLUSTER_NCTAID:
        return fourth ? 1 : launch->cluster[n];
    case PTX_CLUSTER_NCTARANK:
        return (uint64_t)launch->cluster[0] * launch->cluster[1] * launch->cluster[2];
    case PTX_IS_EXPLICIT_CLUSTER:
        return has_clusters(launch) ? UINT32_MAX : 0;
    case PTX_LANEID:
        return lane;
    case PTX_NWARPID:
        return 64;
    case PTX_NSMID:
        return launch->smids ? launch->smids : launch->multiprocessors;
    case PTX_GRIDID:
        return launch->grid_id;
    case PTX_CURRENT_GRAPH_EXEC:
        return launch->graph;
    case PTX_ENVREG: /* where a grid's barrier is: CUDA's cooperative groups read it there */
        return c->component == 1 ? launch->barrier >> 32 : c->component == 2 ? launch->barrier : 0;
    case PTX_LANEMASK_EQ:
        return UINT32_C(1) << lane;
    case PTX_LANEMASK_LT:
        return (UINT32_C(1) << lane) - 1;
    case PTX_LANEMASK_LE:
        return (UINT32_C(2) << lane) - 1;
    case PTX_LANEMASK_GE:
        return (uint32_t)~((UINT32_C(1) << lane) - 1);
    case PTX_LANEMASK_GT:
        return (uint32_t)~((UINT32_C(2) << lane) - 1);
    case PTX_TOTAL_SMEM_SIZE: /* a GPU gives memory 128 bytes at a time */
        return (launch->code->static_shared + launch->dynamic_shared + UINT64_C(127)) / 128 * 128;
    case PTX_AGGR_SMEM_SIZE:
        return launch->code->static_shared + launch->dynamic_shared + PTX_RESERVED_SHARED;
    case PTX_DYNAMIC_SMEM_SIZE:
        return launch->dynamic_shared;
    case PTX_WARP_SIZE:
        return 32;
    default:
        return 0;
    }
}

static void put_param(const ptx_launch *launch, const ptx_constant *c, char *at) {
    uint64_t value = 0;
    memcpy(&value, (const char *)launch->params + c->bits, c->param_size);
    unsigned shift = 64 - 8u * c->param_size;
    if (c->is_signed)
        value = (uint64_t)((int64_t)(value << shift) >> shift);
    acu_ptx_put_all(at, c->size, value);
}

void acu_ptx_fill_launch(const ptx_launch *launch, char *bank) {
    const ptx_machine *machine = launch->machine;
    for (uint32_t n = 0; n < launch->code->constant_count; n++) {
        const ptx_constant *c = &launch->code->constants[n];
        char *at = bank + PTX_SLOT_OFFSET(c->slot);
        switch (c->kind) {
        case PTX_CONSTANT_BITS:
            if (c->size)
                acu_ptx_put_all(at, c->size, c->bits);
            else
                put(at, 0, 4, c->bits);
            break;
        case PTX_CONSTANT_VARIABLE:
            acu_ptx_put_all(at, c->size, machine->variable(machine->data, c->variable) + c->bits);
            break;
        case PTX_CONSTANT_PARAM:
            put_param(launch, c, at);
            break;
        case PTX_CONSTANT_SHARED:
            acu_ptx_put_all(at, c->size, dynamic_at(launch) + c->bits);
            break;
        case PTX_CONSTANT_SPECIAL:
            if (!c->size) /* a predicate: a word with a bit for each lane */
                put(at, 0, 4, launch_special(launch, c, 0));
            for (unsigned i = 0; i < PTX_LANES && c->size; i++)
                put(at, i, c->size, launch_special(launch, c, i));
            break;
        }
    }
}

/* ---- blocks and warps ---- */

/* Returns the number of the multiprocessor that the block is said to be on. */
static unsigned smid_of(const ptx_block *block) {
    const ptx_launch *launch = block->launch;
    const uint64_t *word = launch->processors;
    unsigned n =
        (unsigned)(block->number % (launch->multiprocessors ? launch->multiprocessors : 1));
    unsigned first = 0, count;
    if (!word || launch->multiprocessors == launch->smids)
        return n;
    for (; n >= (count = (unsigned)__builtin_popcountll(*word)); n -= count, first += 64)
        word++;
    uint64_t bits = *word;
    while (n--)
        bits &= bits - 1;
    return first + (unsigned)__builtin_ctzll(bits);
}

static uint64_t block_special(const ptx_block *block, ptx_special special, unsigned component) {
    const ptx_launch *launch = block->launch;
    unsigned n = component < 3 ? component : 0;
    if (component == 3)
        return 0;
    const unsigned *cluster = launch->cluster, *index = block->index;
    switch (special) {
    case PTX_CTAID:
        return index[n];
    case PTX_CLUSTERID:
        return index[n] / cluster[n];
    case PTX_CLUSTER_CTAID:
        return index[n] % cluster[n];
    case PTX_CLUSTER_CTARANK:
        return index[0] % cluster[0] +
               cluster[0] * (index[1] % cluster[1] + cluster[1] * (index[2] % cluster[2]));
    default: /* %smid */
        return smid_of(block);
    }
}

void acu_ptx_fill_block(const ptx_block *block, char *bank) {
    const ptx_code *code = block->launch->code;
    for (uint32_t n = 0; n < code->special_count; n++) {
        const ptx_special_slot *s = &code->specials[n];
        if (PTX_SLOT_BANK(s->slot) == PTX_BANK_BLOCK)
            acu_ptx_put_all(bank + PTX_SLOT_OFFSET(s->slot), s->size,
                            block_special(block, s->special, s->component));
    }
}

static uint64_t thread_special(const ptx_warp *w, const ptx_special_slot *s, unsigned lane) {
    const unsigned *block = w->block->launch->block;
    unsigned thread = w->number * PTX_LANES + lane;
    if (s->special == PTX_WARPID)
        return w->number;
    switch (s->component) {
    case 0:
        return thread % block[0];
    case 1:
        return thread / block[0] % block[1];
    case 2:
        return thread / block[0] / block[1];
    default:
        return 0;
    }
}

void acu_ptx_fill_warp(const ptx_warp *w) {
    for (uint32_t n = 0; n < w->code->special_count; n++) {
        const ptx_special_slot *s = &w->code->specials[n];
        if (PTX_SLOT_BANK(s->slot) != PTX_BANK_WARP)
            continue;
        for (unsigned i = 0; i < PTX_LANES; i++)
            put(w->base[PTX_BANK_WARP] + PTX_SLOT_OFFSET(s->slot), i, s->size,
                thread_special(w, s, i));
    }
}

/* ---- clocks ---- */

/* Returns the nanoseconds of one of the host's clocks. */
static uint64_t nanoseconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Returns what value / 10^6 times the numerator is, without an overflow on the way. */
static uint64_t millionths(uint64_t value, uint64_t numerator) {
    return value / 1000000 * numerator + value % 1000000 * numerator / 1000000;
}

/* Returns the cycles that the launch has counted: the clock of a launch that is to be the same each
 * time. It goes on by what the warp has executed since it read a clock last. A warp that reads it
 * after its turn waits for the clock, so it also goes on by a part of the launch's age. */
static uint64_t counted_cycles(ptx_warp *w) {
    enum { OF_A_READ = 16, PART = 64, MOST = 2000000 };
    ptx_worker *worker = w->worker;
    uint64_t *cycles = w->block->launch->cycles;
    *cycles += (w->executed - w->clocked) / PTX_LANES + OF_A_READ;
    w->clocked = w->executed;
    if (worker->had_turn) {
        const uint64_t part = (*cycles - worker->first_cycle) / PART;
        *cycles += part < MOST ? part : MOST;
    }
    worker->had_turn = false;
    return *cycles;
}

static uint64_t cycles_now(ptx_warp *w) {
    const unsigned khz = w->block->launch->machine->clock_khz;
    if (w->block->launch->cycles)
        return counted_cycles(w);
    return millionths(nanoseconds(CLOCK_MONOTONIC), khz ? khz : 1000000);
}

static uint64_t time_now(ptx_warp *w) {
    const unsigned khz = w->block->launch->machine->clock_khz;
    if (!w->block->launch->cycles)
        return nanoseconds(CLOCK_REALTIME);
    const uint64_t cycles = counted_cycles(w), of_a_second = (khz ? khz : 1000000) * UINT64_C(1000);
    return cycles / of_a_second * 1000000000 +
           cycles % of_a_second * 1000000 / (of_a_second / 1000);
}

static void read_clock(ptx_warp *w, const ptx_op *op) {
    uint64_t value = 0;
    switch ((ptx_special)op->value) {
    case PTX_CLOCK:
    case PTX_CLOCK64:
        value = cycles_now(w);
        break;
    case PTX_CLOCK_HI:
        value = cycles_now(w) >> 32;
        break;
    case PTX_GLOBALTIMER:
    case PTX_GLOBALTIMER_LO:
        value = time_now(w);
        break;
    case PTX_GLOBALTIMER_HI:
        value = time_now(w) >> 32;
        break;
    default: /* counters of performance count nothing */
        break;
    }
    acu_ptx_put_all(ptx_at(w, op->d), op->size, value);
    if (!w->block->launch->cycles && w->backward < PTX_SPINS - 1)
        w->backward = PTX_SPINS - 1; /* if it waits for the clock, others wait at the same time */
}

ptx_slot acu_ptx_clock(ptx_lowering *l, const ptx_operand *o, unsigned size) {
    ptx_slot slot = acu_ptx_temp(l, size);
    ptx_op *op = acu_ptx_emit_pure(l, read_clock, slot, size);
    op->value = o->special;
    return slot;
}
