/*
 * Asynchronous copies. A copy may be over as early as it likes, so each is made at once, and who
 * waits for copies has nothing to wait for.
 */
#include "sim/ptx/atomic.h"
#include "sim/ptx/check_inside.h"
#include "sim/ptx/cluster.h"
#include "sim/ptx/lower_inside.h"
#include "sim/ptx/mbarrier.h"
#include "sim/ptx/tensor_copy.h"

#include <string.h>

/* Where an operand of a copy is in memory. */
typedef struct place {
    ptx_space space;
    ptx_address address;
} place;

typedef struct async_copy {
    place to, from, barrier;
    unsigned size;    /* bytes that are written; 0: the lanes have it in `bytes` */
    ptx_slot bytes;   /* bytes that are read, or of the whole copy */
    bool has_bytes;   /* of cp.async: fewer are read than written */
    bool has_ignored; /* cp.async reads nothing where the predicate `ignored` is true */
    ptx_slot ignored, mask;
    bool has_barrier, multicast;
    bool reduces; /* what is there is changed by what is read */
    ptx_change change;
    ptx_type type;
} async_copy;

/* ---- cp.async: 4, 8 or 16 bytes of each lane ---- */

static void copy_lane(ptx_warp *w, const ptx_op *op, unsigned lane) {
    const async_copy *c = op->more;
    char bytes[16] = {0};
    size_t read = c->size;
    if (c->has_bytes)
        read = ((const uint32_t *)ptx_at(w, c->bytes))[lane];
    if (c->has_ignored && *(const uint32_t *)ptx_at(w, c->ignored) >> lane & 1)
        read = 0;
    if (read > c->size)
        acu_ptx_fail(w, lane, op, 719, 0, "cp.async reads %zu bytes, and writes %u", read, c->size);
    if (read)
        memcpy(bytes,
               acu_ptx_memory_at(w, op, lane, c->from.space,
                                 ptx_lane_address(w, c->from.address, lane), read, c->size, false),
               read);
    memcpy(acu_ptx_memory_at(w, op, lane, c->to.space, ptx_lane_address(w, c->to.address, lane),
                             c->size, c->size, true),
           bytes, c->size);
}

static void do_copy(ptx_warp *w, const ptx_op *op) {
    for (uint32_t left = w->mask; left; left &= left - 1)
        copy_lane(w, op, (unsigned)__builtin_ctz(left));
}

/* Adds the hints that say nothing of what a copy does. */
static void take_hints(ptx_words *words, bool *has_policy) {
    *has_policy = acu_ptx_take(words, "L2::cache_hint");
    acu_ptx_take_one(words, "L2::64B L2::128B L2::256B");
}

/* Looks at what a copy reads, or writes. */
static void check_side(ptx_lowering *l, const place *side, const async_copy *c, bool writes) {
    acu_ptx_check_access(l, (ptx_check_site){.space = side->space,
                                             .address = side->address,
                                             .bytes = c->size,
                                             .has_size = !c->size || (c->has_bytes && !writes),
                                             .size = c->bytes,
                                             .reads = !writes || c->reduces,
                                             .writes = writes,
                                             .strong = writes && c->reduces,
                                             .by_mbarrier = c->has_barrier,
                                             .async = writes && c->size});
}

static void lower_copy(ptx_lowering *l, const ptx_instruction *i, ptx_words *words) {
    async_copy *c = acu_ptx_lower_alloc(l, sizeof *c);
    bool has_policy;
    const int cache = acu_ptx_take_one(words, "ca cg");
    if (cache < 0)
        acu_ptx_invalid(l, "'.ca or .cg' modifier required for instruction 'cp.async'");
    take_hints(words, &has_policy);
    acu_ptx_take_one(words, "shared shared::cta");
    acu_ptx_take(words, "global");
    acu_ptx_words_end(l, words);
    unsigned count = i->operand_count - has_policy;
    if (count < 3 || i->operands[2].kind != PTX_INTEGER ||
        (i->operands[2].bits != 4 && i->operands[2].bits != 8 && i->operands[2].bits != 16))
        acu_ptx_mismatch(l);
    c->size = (unsigned)i->operands[2].bits;
    if (cache == 1 && c->size != 16)
        acu_ptx_invalid(l,
                        "Argument 2 of instruction 'cp.async': unexpected value '%u', expected "
                        "to be 16",
                        c->size);
    if (count > 3 && i->operands[3].kind == PTX_INTEGER && i->operands[3].bits > c->size)
        acu_ptx_invalid(l,
                        "Argument 3 of instruction 'cp.async': value '%lld' out of range, "
                        "expected to be in range [0..%u]",
                        (long long)i->operands[3].bits, c->size);
    c->to = (place){PTX_SHARED, acu_ptx_address(l, &i->operands[0], PTX_SHARED)};
    c->from = (place){PTX_GLOBAL, acu_ptx_address(l, &i->operands[1], PTX_GLOBAL)};
    if (count > 3) {
        const ptx_operand *o = &i->operands[3];
        c->has_ignored = o->kind == PTX_REGISTER && !acu_ptx_register_size(l, o);
        c->has_bytes = !c->has_ignored;
        if (c->has_ignored)
            c->ignored = acu_ptx_source(l, o, PTX_PRED);
        else
            c->bytes = acu_ptx_source(l, o, PTX_U32);
    }
    if (!c->has_ignored)
        check_side(l, &c->from, c, false);
    check_side(l, &c->to, c, true);
    ptx_op *op = acu_ptx_emit(l, do_copy);
    op->more = c;
    op->site = acu_ptx_site(l);
}

/* ---- cp.async.mbarrier.arrive ---- */

/* All copies are over. Without .noinc the arrival was expected besides the others, so that nothing
 * is changed. */
static void arrive(ptx_warp *w, const ptx_op *op) {
    const async_copy *c = op->more;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        char *object = acu_ptx_mbarrier_at(w, op, lane, c->barrier.space,
                                           ptx_lane_address(w, c->barrier.address, lane));
        if (op->flags)
            acu_ptx_mbarrier_arrive(w, op, lane, object);
    }
}

static void lower_arrive(ptx_lowering *l, const ptx_instruction *i, ptx_words *words) {
    async_copy *c = acu_ptx_lower_alloc(l, sizeof *c);
    acu_ptx_take(words, "arrive");
    bool counts = acu_ptx_take(words, "noinc");
    c->barrier.space = acu_ptx_take_space(words);
    acu_ptx_take_type(words);
    acu_ptx_words_end(l, words);
    c->barrier.address = acu_ptx_address(l, &i->operands[0], c->barrier.space);
    acu_ptx_check_completion(l, c->barrier.space, c->barrier.address);
    acu_ptx_check_commit(l); /* whoever waits for the mbarrier waits for the copies */
    acu_ptx_check_wait(l, 0);
    ptx_op *op = acu_ptx_emit(l, arrive);
    op->flags = counts;
    op->more = c;
    op->site = acu_ptx_site(l);
}

/* ---- cp.async.bulk: many bytes of one lane ---- */

static void reduce(const async_copy *c, char *to, const char *from, size_t bytes) {
    size_t size = acu_ptx_type_size(c->type);
    for (size_t at = 0; at < bytes; at += size) {
        uint64_t value = 0;
        memcpy(&value, from + at, size);
        acu_ptx_change_of_copy(c->change, c->type, to + at, value);
    }
}

/* Copies to the block of this rank in the cluster, and tells its barrier; to the addresses
 * themselves where the rank is negative. */
static void copy_to(ptx_warp *w, const ptx_op *op, unsigned lane, const char *from, size_t bytes,
                    int rank) {
    const async_copy *c = op->more;
    uint64_t to = ptx_lane_address(w, c->to.address, lane), barrier = 0;
    ptx_space space = c->to.space;
    if (c->has_barrier)
        barrier = ptx_lane_address(w, c->barrier.address, lane);
    if (rank >= 0) {
        to = acu_ptx_cluster_address(to, (unsigned)rank);
        barrier = acu_ptx_cluster_address(barrier, (unsigned)rank);
    }
    char *at = acu_ptx_memory_at(w, op, lane, space, to, bytes, 16, true);
    if (c->reduces)
        reduce(c, at, from, bytes);
    else
        memcpy(at, from, bytes);
    if (c->has_barrier)
        acu_ptx_mbarrier_complete_bytes(
            acu_ptx_mbarrier_at(w, op, lane, PTX_SHARED_CLUSTER, barrier), bytes);
}

static void do_bulk(ptx_warp *w, const ptx_op *op) {
    const async_copy *c = op->more;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        size_t bytes = ((const uint32_t *)ptx_at(w, c->bytes))[lane];
        if (bytes % 16)
            acu_ptx_fail(w, lane, op, 716, 0, "%s copies %zu bytes, which is no multiple of 16",
                         op->instruction->opcode, bytes);
        if (!bytes)
            continue;
        const char *from =
            acu_ptx_memory_at(w, op, lane, c->from.space,
                              ptx_lane_address(w, c->from.address, lane), bytes, 16, false);
        if (c->from.space == PTX_SHARED)
            acu_ptx_check_async_read(w, op, lane, ptx_lane_address(w, c->from.address, lane),
                                     bytes);
        if (!c->multicast)
            copy_to(w, op, lane, from, bytes, -1);
        for (unsigned mask = c->multicast ? ((const uint16_t *)ptx_at(w, c->mask))[lane] : 0; mask;
             mask &= mask - 1)
            copy_to(w, op, lane, from, bytes, __builtin_ctz(mask));
    }
}

/* Takes what cp.reduce makes of what is there. */
static void take_reduction(ptx_lowering *l, ptx_words *words, async_copy *c) {
    int change = acu_ptx_take_one(words, "add min max inc dec and or xor");
    acu_ptx_take(words, "noftz");
    c->change = (ptx_change)change;
    c->type = acu_ptx_take_type(words);
    if (change < 0 || !acu_ptx_is_reduction(c->change, c->type))
        acu_ptx_invalid(l, "Unexpected instruction types specified for '%s'",
                        acu_ptx_first_word(l));
}

/* Refuses a constant number of bytes that no copy has. */
static void check_bytes(ptx_lowering *l, const ptx_operand *o) {
    if (o->kind == PTX_INTEGER && o->bits % 16)
        acu_ptx_invalid(l,
                        "Argument 2 of instruction '%s': unexpected value '%llu', expected to be "
                        "multiple of 16",
                        acu_ptx_first_word(l), (unsigned long long)o->bits);
}

static void lower_bulk(ptx_lowering *l, const ptx_instruction *i, ptx_words *words) {
    async_copy *c = acu_ptx_lower_alloc(l, sizeof *c);
    bool has_policy;
    take_hints(words, &has_policy);
    c->has_barrier = acu_ptx_take(words, "mbarrier::complete_tx::bytes");
    c->multicast = acu_ptx_take(words, "multicast::cluster");
    acu_ptx_take(words, "bulk_group");
    c->reduces = acu_ptx_take(words, "reduce");
    if (c->reduces)
        take_reduction(l, words, c);
    bool cluster = acu_ptx_take(words, "shared::cluster"), global = acu_ptx_take(words, "global"),
         block = acu_ptx_take(words, "shared::cta");
    c->to.space = cluster ? PTX_SHARED_CLUSTER : c->has_barrier ? PTX_SHARED : PTX_GLOBAL;
    c->from.space = c->has_barrier && global ? PTX_GLOBAL : PTX_SHARED;
    if (cluster + global + block != 2)
        acu_ptx_invalid(l, "Unknown modifier of '%s'", acu_ptx_first_word(l));
    acu_ptx_words_end(l, words);
    if (i->operand_count != 3u + c->has_barrier + c->multicast + has_policy)
        acu_ptx_mismatch(l);
    check_bytes(l, &i->operands[2]);
    c->to.address = acu_ptx_address(l, &i->operands[0], c->to.space);
    c->from.address = acu_ptx_address(l, &i->operands[1], c->from.space);
    c->bytes = acu_ptx_source(l, &i->operands[2], PTX_U32);
    if (c->has_barrier)
        c->barrier.address = acu_ptx_address(l, &i->operands[3], PTX_SHARED_CLUSTER);
    if (c->multicast)
        c->mask = acu_ptx_source(l, &i->operands[4], PTX_U16);
    check_side(l, &c->from, c, false);
    if (!c->multicast)
        check_side(l, &c->to, c, true);
    if (c->has_barrier && !c->multicast)
        acu_ptx_check_completion(l, PTX_SHARED_CLUSTER, c->barrier.address);
    ptx_op *op = acu_ptx_emit(l, do_bulk);
    op->more = c;
    op->site = acu_ptx_site(l);
}

/* ---- all of them ---- */

/* There is nothing to wait for, but a check knows who has not waited for what is not `bulk`. */
static void note_groups(ptx_lowering *l, const ptx_instruction *i, int kind, bool bulk) {
    enum { COMMIT, WAIT, WAIT_ALL };
    if (i->operand_count != (kind == WAIT) || (kind == WAIT && i->operands[0].kind != PTX_INTEGER))
        acu_ptx_invalid(l, "Arguments mismatch for instruction '%.*s'",
                        (int)(strstr(i->opcode, "_group") ? strcspn(i->opcode, "_") + 6 : 17),
                        i->opcode);
    if (bulk)
        return;
    if (kind != WAIT)
        acu_ptx_check_commit(l);
    if (kind != COMMIT)
        acu_ptx_check_wait(l, kind == WAIT ? (uint32_t)i->operands[0].bits : 0);
}

void acu_ptx_lower_cp(ptx_lowering *l, const ptx_instruction *i) {
    ptx_words words;
    acu_ptx_words(l, i, &words);
    bool known = acu_ptx_take(&words, "async"), bulk = acu_ptx_take(&words, "bulk");
    if (!known)
        acu_ptx_not_simulated(l, "the simulator does not execute '%s'", i->opcode);
    if (acu_ptx_take(&words, "tensor")) {
        acu_ptx_lower_tensor(l, i, &words);
        return;
    }
    if (acu_ptx_take(&words, "prefetch"))
        return;
    const int group = acu_ptx_take_one(&words, "commit_group wait_group wait_all");
    if (group >= 0) {
        acu_ptx_take(&words, "read");
        acu_ptx_words_end(l, &words);
        note_groups(l, i, group, bulk);
        return;
    }
    if (acu_ptx_take(&words, "mbarrier"))
        lower_arrive(l, i, &words);
    else
        (bulk ? lower_bulk : lower_copy)(l, i, &words);
}
