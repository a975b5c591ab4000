/*
 * Stores and reductions in the shared memory of a cluster that tell an mbarrier (st.async,
 * red.async), and reductions of many bytes (cp.reduce.async.bulk). Each is done at once, as copies
 * are.
 */
#include "sim/ptx/atomic.h"
#include "sim/ptx/check_inside.h"
#include "sim/ptx/lower_inside.h"
#include "sim/ptx/mbarrier.h"

#include <string.h>

enum { REDUCES_NOTHING = -1 };

typedef struct reduction {
    int change; /* a ptx_change; REDUCES_NOTHING: a store */
    ptx_type type;
    unsigned size, count; /* bytes of an element; elements of a vector, if not in bulk */
    ptx_slot value[4];    /* not in bulk */
    ptx_space to_space;
    ptx_address to, from, barrier;
    bool has_barrier;
    ptx_slot bytes; /* in bulk: how many */
} reduction;

static uint64_t lane_address(const ptx_warp *w, const ptx_address *a, unsigned lane) {
    const void *at = ptx_at(w, a->slot);
    return a->narrow ? (uint32_t)(((const uint32_t *)at)[lane] + (uint64_t)a->offset)
                     : ((const uint64_t *)at)[lane] + (uint64_t)a->offset;
}

/* Changes one element, or stores it. */
static void change_element(const reduction *r, char *at, const char *value) {
    uint64_t bits = 0;
    memcpy(&bits, value, r->size);
    if (r->change == REDUCES_NOTHING)
        memcpy(at, value, r->size);
    else
        acu_ptx_change((ptx_change)r->change, r->type, at, bits, 0);
}

static void tell_barrier(ptx_warp *w, const ptx_op *op, unsigned lane, uint64_t bytes) {
    const reduction *r = op->more;
    if (r->has_barrier)
        acu_ptx_mbarrier_complete_bytes(acu_ptx_mbarrier_at(w, op, lane, PTX_SHARED_CLUSTER,
                                                            lane_address(w, &r->barrier, lane)),
                                        bytes);
}

/* ---- st.async, red.async ---- */

static void reduce_lanes(ptx_warp *w, const ptx_op *op) {
    const reduction *r = op->more;
    const unsigned bytes = r->size * r->count;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        char *at = acu_ptx_memory_at(w, op, lane, r->to_space, lane_address(w, &r->to, lane), bytes,
                                     bytes, true);
        for (unsigned n = 0; n < r->count; n++)
            change_element(r, at + (size_t)n * r->size,
                           (const char *)ptx_at(w, r->value[n]) + (size_t)lane * r->size);
        tell_barrier(w, op, lane, bytes);
    }
}

/* Reads the operands [a], b, [mbar]. */
static void read_values(ptx_lowering *l, const ptx_instruction *i, reduction *r) {
    const ptx_operand *value = &i->operands[1];
    if (i->operand_count != 3 || (r->count > 1 && value->kind != PTX_LIST) ||
        (value->kind == PTX_LIST && value->element_count != r->count))
        acu_ptx_invalid(l, "Arguments mismatch for instruction '%s'", i->opcode);
    for (unsigned n = 0; n < r->count; n++)
        r->value[n] = acu_ptx_source(l, acu_ptx_element(value, n), r->type);
    r->to = acu_ptx_address(l, &i->operands[0], r->to_space);
    r->barrier = acu_ptx_address(l, &i->operands[2], PTX_SHARED_CLUSTER);
}

/* What is written to another block's memory is ordered by the mbarrier. */
static void check_target(ptx_lowering *l, const reduction *r) {
    acu_ptx_check_access(l, (ptx_check_site){.space = r->to_space,
                                             .address = r->to,
                                             .bytes = r->size * r->count,
                                             .has_size = !r->count,
                                             .size = r->bytes,
                                             .reads = r->change != REDUCES_NOTHING,
                                             .writes = true,
                                             .strong = r->change != REDUCES_NOTHING});
}

bool acu_ptx_is_async(const ptx_instruction *i) {
    const char *second = strchr(i->opcode, '.');
    return second && strncmp(second, ".async.", 7) == 0;
}

void acu_ptx_lower_async(ptx_lowering *l, const ptx_instruction *i) {
    reduction *r = acu_ptx_lower_alloc(l, sizeof *r);
    ptx_words words;
    acu_ptx_words(l, i, &words);
    acu_ptx_take(&words, "async");
    acu_ptx_take_one(&words, "weak relaxed");
    acu_ptx_take(&words, "cluster");
    r->has_barrier = acu_ptx_take(&words, "mbarrier::complete_tx::bytes");
    r->to_space = PTX_SHARED_CLUSTER;
    const bool in_cluster = acu_ptx_take(&words, "shared::cluster");
    const bool stores = acu_ptx_is(i, "st");
    r->change =
        stores ? REDUCES_NOTHING : acu_ptx_take_one(&words, "add min max inc dec and or xor");
    const int vector = stores ? acu_ptx_take_one(&words, "v2 v4") : -1;
    r->type = acu_ptx_take_type(&words);
    if (!r->has_barrier || !in_cluster) /* those of compute capability 10.0 */
        acu_ptx_not_simulated(l, "the simulator does not execute '%s'", i->opcode);
    acu_ptx_words_end(l, &words);
    r->count = vector < 0 ? 1 : 2u << vector;
    r->size = (unsigned)acu_ptx_type_size(r->type);
    if ((r->size != 4 && r->size != 8) || (!stores && r->change < 0))
        acu_ptx_invalid(l, "Unexpected instruction types specified for '%s'", i->opcode);
    read_values(l, i, r);
    check_target(l, r);
    ptx_op *op = acu_ptx_emit(l, reduce_lanes);
    op->more = r;
    op->site = acu_ptx_site(l);
}

/* ---- cp.reduce.async.bulk ---- */

static void reduce_bulk(ptx_warp *w, const ptx_op *op) {
    const reduction *r = op->more;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        const size_t bytes = ((const uint32_t *)ptx_at(w, r->bytes))[lane];
        if (bytes % 16)
            acu_ptx_fail(w, lane, op, 716, 0, "%s reduces %zu bytes, which is no multiple of 16",
                         op->instruction->opcode, bytes);
        if (!bytes)
            continue;
        const char *from = acu_ptx_memory_at(w, op, lane, PTX_SHARED,
                                             lane_address(w, &r->from, lane), bytes, 16, false);
        char *to = acu_ptx_memory_at(w, op, lane, r->to_space, lane_address(w, &r->to, lane), bytes,
                                     16, true);
        for (size_t n = 0; n < bytes; n += r->size)
            change_element(r, to + n, from + n);
        tell_barrier(w, op, lane, bytes);
    }
}

/* Returns whether memory has such a reduction. */
static bool is_reduction(int change, ptx_type type) {
    const bool is_half = type == PTX_F16 || type == PTX_BF16,
               is_float = type == PTX_F32 || type == PTX_F64;
    return change >= 0 && (is_half    ? change <= PTX_CHANGE_MAX
                           : is_float ? change == PTX_CHANGE_ADD
                                      : acu_ptx_type_size(type) >= 4);
}

void acu_ptx_lower_bulk_reduction(ptx_lowering *l, const ptx_instruction *i) {
    reduction *r = acu_ptx_lower_alloc(l, sizeof *r);
    ptx_words words;
    acu_ptx_words(l, i, &words);
    acu_ptx_take(&words, "reduce");
    acu_ptx_take(&words, "async");
    if (!acu_ptx_take(&words, "bulk") || acu_ptx_take(&words, "tensor"))
        acu_ptx_not_simulated(l, "the simulator does not execute '%s'", i->opcode);
    const bool has_policy = acu_ptx_take(&words, "L2::cache_hint");
    r->has_barrier = acu_ptx_take(&words, "mbarrier::complete_tx::bytes");
    const bool in_group = acu_ptx_take(&words, "bulk_group"),
               cluster = acu_ptx_take(&words, "shared::cluster"),
               global = acu_ptx_take(&words, "global"), block = acu_ptx_take(&words, "shared::cta");
    r->to_space = cluster ? PTX_SHARED_CLUSTER : PTX_GLOBAL;
    r->change = acu_ptx_take_one(&words, "add min max inc dec and or xor");
    acu_ptx_take(&words, "noftz");
    r->type = acu_ptx_take_type(&words);
    acu_ptx_words_end(l, &words);
    if (!block || cluster == global || r->has_barrier != cluster || in_group == cluster)
        acu_ptx_invalid(l, "Unknown modifier of '%s'", i->opcode);
    r->size = (unsigned)acu_ptx_type_size(r->type);
    if (!is_reduction(r->change, r->type))
        acu_ptx_invalid(l, "Unexpected instruction types specified for '%s'", i->opcode);
    if (i->operand_count != 3u + r->has_barrier + has_policy)
        acu_ptx_invalid(l, "Arguments mismatch for instruction '%s'", i->opcode);
    r->to = acu_ptx_address(l, &i->operands[0], r->to_space);
    r->from = acu_ptx_address(l, &i->operands[1], PTX_SHARED);
    r->bytes = acu_ptx_source(l, &i->operands[2], PTX_U32);
    if (r->has_barrier)
        r->barrier = acu_ptx_address(l, &i->operands[3], PTX_SHARED_CLUSTER);
    acu_ptx_check_access(l, (ptx_check_site){.space = PTX_SHARED,
                                             .address = r->from,
                                             .has_size = true,
                                             .size = r->bytes,
                                             .reads = true});
    check_target(l, r);
    ptx_op *op = acu_ptx_emit(l, reduce_bulk);
    op->more = r;
    op->site = acu_ptx_site(l);
}
