/* Stores and reductions in the shared memory of a cluster that tell an mbarrier: st.async,
 * red.async. Each is done at once, as copies are. */
#include "sim/ptx/atomic.h"
#include "sim/ptx/check_inside.h"
#include "sim/ptx/lower_inside.h"
#include "sim/ptx/mbarrier.h"

#include <string.h>

enum { REDUCES_NOTHING = -1 };

typedef struct reduction {
    int change; /* a ptx_change; REDUCES_NOTHING: a store */
    ptx_type type;
    unsigned size, count; /* bytes of an element; elements of a vector */
    ptx_slot value[4];
    ptx_address to, barrier;
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
    acu_ptx_mbarrier_complete_bytes(
        acu_ptx_mbarrier_at(w, op, lane, PTX_SHARED_CLUSTER, lane_address(w, &r->barrier, lane)),
        bytes);
}

static void reduce_lanes(ptx_warp *w, const ptx_op *op) {
    const reduction *r = op->more;
    const unsigned bytes = r->size * r->count;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        char *at = acu_ptx_memory_at(w, op, lane, PTX_SHARED_CLUSTER, lane_address(w, &r->to, lane),
                                     bytes, bytes, true);
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
    r->to = acu_ptx_address(l, &i->operands[0], PTX_SHARED_CLUSTER);
    r->barrier = acu_ptx_address(l, &i->operands[2], PTX_SHARED_CLUSTER);
}

/* What is written to another block's memory is ordered by the mbarrier. */
static void check_target(ptx_lowering *l, const reduction *r) {
    acu_ptx_check_access(l, (ptx_check_site){.space = PTX_SHARED_CLUSTER,
                                             .address = r->to,
                                             .bytes = r->size * r->count,
                                             .reads = r->change != REDUCES_NOTHING,
                                             .writes = true,
                                             .by_mbarrier = true,
                                             .strong = r->change != REDUCES_NOTHING});
    acu_ptx_check_completion(l, PTX_SHARED_CLUSTER, r->barrier);
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
    const bool has_barrier = acu_ptx_take(&words, "mbarrier::complete_tx::bytes");
    const bool in_cluster = acu_ptx_take(&words, "shared::cluster");
    const bool stores = acu_ptx_is(i, "st");
    r->change =
        stores ? REDUCES_NOTHING : acu_ptx_take_one(&words, "add min max inc dec and or xor");
    const int vector = stores ? acu_ptx_take_one(&words, "v2 v4") : -1;
    r->type = acu_ptx_take_type(&words);
    if (!has_barrier || !in_cluster) /* those of compute capability 10.0 */
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
