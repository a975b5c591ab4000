#include "sim/ptx/cluster.h"

#include "sim/ptx/lower_inside.h"

/* An address of shared::cluster is an offset in the memory of a block, and above it the rank of the
 * block and 1; 0: the block's own. */
enum { RANK_SHIFT = 24 };
#define OFFSET_MASK ((UINT64_C(1) << RANK_SHIFT) - 1)

ptx_block *acu_ptx_cluster_block(ptx_block *block, uint64_t *address) {
    uint64_t rank = *address >> RANK_SHIFT;
    if (*address <= block->shared_bytes || !rank || rank > block->cluster->count)
        return block;
    *address &= OFFSET_MASK;
    return block->cluster->blocks[rank - 1];
}

uint64_t acu_ptx_cluster_address(uint64_t address, unsigned rank) {
    return (address & OFFSET_MASK) | (uint64_t)(rank + 1) << RANK_SHIFT;
}

/* ---- the barrier ---- */

/* Opens the barrier if all threads of the cluster that have not ended have come. */
static void try_barrier(ptx_cluster *cluster) {
    unsigned alive = 0;
    for (unsigned b = 0; b < cluster->count; b++)
        alive += cluster->blocks[b]->threads - cluster->blocks[b]->ended;
    if (!cluster->arrived || cluster->arrived < alive)
        return;
    cluster->arrived = 0;
    for (unsigned b = 0; b < cluster->count; b++) {
        ptx_block *block = cluster->blocks[b];
        if (block->check)
            acu_ptx_check_opened(block, PTX_CLUSTER_BARRIER, true);
        for (unsigned n = 0; n < block->warp_count; n++) {
            block->warps[n].in_cluster = 0;
            acu_ptx_warp_release(&block->warps[n], PTX_CLUSTER_BARRIER, 0);
        }
        block->opened++;
        block->worker->released++;
    }
}

void acu_ptx_cluster_lanes_ended(ptx_warp *w, uint32_t lanes) {
    ptx_cluster *cluster = w->block->cluster;
    if (!cluster->arrived)
        return;
    cluster->arrived -= (unsigned)__builtin_popcount(w->in_cluster & lanes);
    w->in_cluster &= ~lanes;
    try_barrier(cluster);
}

static ptx_step arrive(ptx_warp *w, const ptx_op *op) {
    ptx_split *s = ptx_current(w);
    if (w->in_cluster & s->mask)
        acu_ptx_fail(w, (unsigned)__builtin_ctz(w->in_cluster & s->mask), op, 719, 0,
                     "a thread arrives at the cluster's barrier again, and has not waited");
    w->in_cluster |= s->mask;
    w->block->cluster->arrived += (unsigned)__builtin_popcount(s->mask);
    s->pc++;
    try_barrier(w->block->cluster);
    return PTX_GO;
}

static ptx_step wait_for_all(ptx_warp *w, const ptx_op *op) {
    ptx_split *s = ptx_current(w);
    (void)op;
    if (!(w->in_cluster & s->mask)) {
        s->pc++;
        return PTX_GO;
    }
    s->wait = PTX_AT_BARRIER;
    s->barrier = PTX_CLUSTER_BARRIER;
    return PTX_STOP;
}

void acu_ptx_lower_cluster_barrier(ptx_lowering *l, const ptx_instruction *i, ptx_words *words) {
    (void)i;
    bool arrives = acu_ptx_take(words, "arrive");
    acu_ptx_take_one(words, "release acquire relaxed");
    acu_ptx_take(words, "aligned");
    if (!arrives && !acu_ptx_take(words, "wait"))
        acu_ptx_invalid(l, "Unknown modifier of '%s'", acu_ptx_first_word(l));
    acu_ptx_words_end(l, words);
    acu_ptx_emit_flow(l, arrives ? arrive : wait_for_all);
}

/* ---- addresses in other blocks ---- */

/* `value` is where the window of generic addresses begins; 0: the addresses are not generic. */
#define MAP(bits)                                                                                  \
    static void map_##bits(ptx_warp *w, const ptx_op *op) {                                        \
        const uint##bits##_t *a = ptx_at(w, op->a);                                                \
        const uint32_t *rank = ptx_at(w, op->b);                                                   \
        uint##bits##_t *d = ptx_at(w, op->d);                                                      \
        for (unsigned i = 0; i < PTX_LANES; i++)                                                   \
            d[i] = (uint##bits##_t)((uint64_t)op->value + acu_ptx_cluster_address(a[i], rank[i])); \
    }                                                                                              \
                                                                                                   \
    static void rank_##bits(ptx_warp *w, const ptx_op *op) {                                       \
        const uint##bits##_t *a = ptx_at(w, op->a);                                                \
        uint32_t *d = ptx_at(w, op->d);                                                            \
        for (unsigned i = 0; i < PTX_LANES; i++) {                                                 \
            uint64_t rank = (a[i] - (uint64_t)op->value) >> RANK_SHIFT & 0xff;                     \
            d[i] = rank ? (uint32_t)rank - 1 : w->block->rank;                                     \
        }                                                                                          \
    }
MAP(32)
MAP(64)
#undef MAP

static ptx_op *emit(ptx_lowering *l, const ptx_instruction *i, bool maps) {
    ptx_words words;
    acu_ptx_words(l, i, &words);
    bool generic = acu_ptx_take_space(&words) == PTX_GENERIC;
    ptx_type type = acu_ptx_take_type(&words);
    acu_ptx_words_end(l, &words);
    unsigned size = (unsigned)acu_ptx_type_size(type);
    if (i->operand_count != 2u + maps || (size != 4 && size != 8))
        acu_ptx_mismatch(l);
    ptx_slot a = acu_ptx_source(l, &i->operands[1], type),
             b = maps ? acu_ptx_source(l, &i->operands[2], PTX_U32) : 0,
             d = acu_ptx_target(l, &i->operands[0], maps ? type : PTX_U32);
    ptx_handler *handler = maps ? (size == 4 ? map_32 : map_64) : (size == 4 ? rank_32 : rank_64);
    ptx_op *op = acu_ptx_emit_pure(l, handler, d, maps ? size : 4);
    op->a = a;
    op->b = b;
    op->value = generic ? (int64_t)PTX_SHARED_WINDOW : 0;
    return op;
}

void acu_ptx_lower_mapa(ptx_lowering *l, const ptx_instruction *i) {
    emit(l, i, true);
}

void acu_ptx_lower_getctarank(ptx_lowering *l, const ptx_instruction *i) {
    emit(l, i, false);
}
