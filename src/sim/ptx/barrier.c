/* Barriers of a block. A barrier counts lanes, so that also parts of a warp may come to it. */
#include "sim/ptx/cluster.h"
#include "sim/ptx/grid.h"
#include "sim/ptx/lower_inside.h"

#include <string.h>

/* What a barrier computes of its lanes' predicates. */
typedef enum reduction { NO_REDUCTION, POPC, AND, OR } reduction;

typedef struct barrier_kind {
    bool waits;  /* bar.arrive does not */
    bool counts; /* the number of threads is given */
    reduction reduction;
    ptx_slot predicate;
} barrier_kind;

/* Lets all lanes go on that wait at the barrier. */
static void open_barrier(ptx_block *block, unsigned number) {
    ptx_barrier *barrier = &block->barriers[number];
    unsigned count = barrier->count, all = count == barrier->arrived;
    uint32_t result = 0;
    if (barrier->reduction == POPC)
        result = count;
    else if (barrier->reduction == AND)
        result = all ? ~UINT32_C(0) : 0;
    else if (barrier->reduction == OR)
        result = count ? ~UINT32_C(0) : 0;
    if (block->check)
        acu_ptx_check_opened(block, number, barrier->all);
    for (unsigned n = 0; n < block->warp_count; n++)
        acu_ptx_warp_release(&block->warps[n], number, result);
    *barrier = (ptx_barrier){.expected = 0};
    block->used &= ~(1u << number);
    block->opened++;
}

/* Opens the barrier if all lanes that it waits for have come. */
static bool try_barrier(ptx_block *block, unsigned number) {
    const ptx_barrier *barrier = &block->barriers[number];
    if (!barrier->arrived)
        return false;
    unsigned expected = barrier->all ? block->threads - block->ended : barrier->expected;
    if (barrier->arrived + (barrier->all ? 0 : barrier->absent) < expected)
        return false;
    open_barrier(block, number);
    return true;
}

void acu_ptx_block_lanes_ended(ptx_warp *w, uint32_t lanes) {
    ptx_block *block = w->block;
    block->ended += ptx_count_lanes(lanes);
    if (block->check && block->ended == block->threads)
        acu_ptx_check_ended(block);
    for (uint32_t used = block->used; used; used &= used - 1) {
        unsigned n = (unsigned)__builtin_ctz(used);
        if (block->barriers[n].all)
            try_barrier(block, n);
    }
    acu_ptx_cluster_lanes_ended(w, lanes);
}

static uint32_t first_of(const ptx_warp *w, ptx_slot slot) {
    return ((const uint32_t *)ptx_at(w, slot))[__builtin_ctz(w->mask)];
}

/* `a` is the barrier's number, `b` the number of threads. */
static ptx_step arrive(ptx_warp *w, const ptx_op *op) {
    const barrier_kind *kind = op->more;
    ptx_block *block = w->block;
    ptx_split *s = ptx_current(w);
    uint32_t number = first_of(w, op->a);
    if (number >= PTX_BARRIERS)
        acu_ptx_fail(w, (unsigned)__builtin_ctz(w->mask), op, 715, 0,
                     "the barrier %u: there are %d", number, PTX_BARRIERS);
    ptx_barrier *barrier = &block->barriers[number];
    barrier->all = !kind->counts;
    barrier->expected = kind->counts ? first_of(w, op->b) : 0;
    barrier->reduction = kind->reduction;
    barrier->arrived += ptx_count_lanes(s->mask);
    block->used |= 1u << number;
    if (kind->reduction) {
        uint32_t lanes = *(const uint32_t *)ptx_at(w, kind->predicate);
        barrier->count += ptx_count_lanes(lanes & s->mask);
    }
    /* A barrier counts whole warps: lanes that the warp does not have count with the last of those
     * that it has. */
    if ((acu_ptx_warp_waiting(w, number) | s->mask) == ptx_alive(w))
        barrier->absent += PTX_LANES - ptx_count_lanes(ptx_alive(w));
    if (!kind->waits) {
        if (block->check)
            acu_ptx_check_came(w, number);
        s->pc++;
        try_barrier(block, number);
        return PTX_GO;
    }
    s->wait = PTX_AT_BARRIER;
    s->barrier = number;
    try_barrier(block, number);
    /* Other lanes of the warp may have come here apart from these; they go on together. */
    return s->wait == PTX_READY && w->split_count == 1 ? PTX_GO : PTX_STOP;
}

bool acu_ptx_is_plain_barrier(const ptx_op *op) {
    const barrier_kind *kind = op->more;
    return op->flow == arrive && kind->waits && !kind->counts && !kind->reduction;
}

/* Where the barrier was opened, the lanes get what it computed. */
void acu_ptx_warp_release(ptx_warp *w, unsigned barrier, uint32_t result) {
    for (unsigned n = 0; n < w->split_count; n++) {
        ptx_split *s = &w->splits[n];
        if (s->wait != PTX_AT_BARRIER || s->barrier != barrier)
            continue;
        const ptx_op *op = &w->code->ops[s->pc];
        const barrier_kind *kind = op->more;
        enum reduction computes = kind ? kind->reduction : NO_REDUCTION;
        uint32_t *d = ptx_at(w, op->d);
        if (computes == POPC)
            for (unsigned i = 0; i < PTX_LANES; i++)
                d[i] = s->mask >> i & 1 ? result : d[i];
        else if (computes)
            *d = (*d & ~s->mask) | (result & s->mask);
        s->wait = PTX_READY;
        s->pc++;
    }
}

/* bar.warp.sync does nothing but wait for the lanes of its mask. */
static void meet(ptx_warp *w, const ptx_op *op) {
    (void)w;
    (void)op;
}

static void lower_warp_sync(ptx_lowering *l, const ptx_instruction *i) {
    ptx_slot members = acu_ptx_source(l, &i->operands[0], PTX_B32);
    ptx_op *op = acu_ptx_emit_flow(l, acu_ptx_flow_sync);
    op->masked = op->full = meet;
    op->a = members;
}

/* Refuses numbers that ptxas refuses where they are written: of a barrier, and of threads. */
static void check_numbers(ptx_lowering *l, const ptx_operand *number, const ptx_operand *threads,
                          bool waits) {
    if (number->kind == PTX_INTEGER && (uint32_t)number->bits >= PTX_BARRIERS)
        acu_ptx_invalid(l, "Barrier number '%llu' out of range, expected to be in range [0..%d]",
                        (unsigned long long)number->bits, PTX_BARRIERS - 1);
    if (!threads || threads->kind != PTX_INTEGER)
        return;
    if (threads->bits % PTX_LANES)
        acu_ptx_invalid(l, "Number of threads participating in barrier must be in multiple of "
                           "warp size");
    if (!threads->bits && !waits)
        acu_ptx_invalid(l, "Instruction 'bar.arrive' requires a non-zero thread count argument");
}

/* Refuses what the barrier computes, or its type. */
static void check_computed(ptx_lowering *l, reduction computes, ptx_type type) {
    const char *opcode = l->instruction->opcode;
    const int length = (int)(strstr(opcode, ".red") - opcode) + 4; /* barrier.cta.red */
    if (type != PTX_PRED && type != PTX_U32 && type != PTX_S32)
        acu_ptx_invalid(l, "Unexpected instruction types specified for '%.*s'", length, opcode);
    if (computes == POPC && type == PTX_S32)
        acu_ptx_invalid(l, "Operation requires .u32 type");
    if ((computes == POPC) != (type == PTX_U32))
        acu_ptx_invalid(l, "Arguments mismatch for instruction '%.*s'", length, opcode);
}

void acu_ptx_lower_barrier(ptx_lowering *l, const ptx_instruction *i) {
    ptx_words words;
    acu_ptx_words(l, i, &words);
    if (acu_ptx_take(&words, "warp")) {
        acu_ptx_take(&words, "sync");
        acu_ptx_words_end(l, &words);
        lower_warp_sync(l, i);
        return;
    }
    if (acu_ptx_take(&words, "cluster")) {
        acu_ptx_lower_cluster_barrier(l, i, &words);
        return;
    }
    barrier_kind *kind = acu_ptx_lower_alloc(l, sizeof *kind);
    acu_ptx_take(&words, "cta");
    acu_ptx_take(&words, "aligned");
    kind->waits = !acu_ptx_take(&words, "arrive");
    bool reduces = acu_ptx_take(&words, "red");
    if (!reduces && kind->waits && !acu_ptx_take(&words, "sync"))
        acu_ptx_invalid(l, "Unknown modifier of '%s'", acu_ptx_first_word(l));
    unsigned first = 0, left = i->operand_count;
    ptx_slot d = 0;
    if (reduces) {
        if (i->operand_count < 3)
            acu_ptx_mismatch(l);
        kind->reduction = (reduction)(acu_ptx_take_one(&words, "popc and or") + 1);
        check_computed(l, kind->reduction, acu_ptx_take_type(&words));
        d = acu_ptx_target(l, &i->operands[0], kind->reduction == POPC ? PTX_U32 : PTX_PRED);
        kind->predicate = acu_ptx_source(l, &i->operands[i->operand_count - 1], PTX_PRED);
        first = 1;
        left -= 2;
    }
    acu_ptx_words_end(l, &words);
    kind->counts = left == 2;
    if (left < 1 || left > 2 || (!kind->waits && !kind->counts))
        acu_ptx_mismatch(l);
    check_numbers(l, &i->operands[first], kind->counts ? &i->operands[first + 1] : NULL,
                  kind->waits);
    ptx_slot number = acu_ptx_source(l, &i->operands[first], PTX_U32);
    ptx_slot threads = kind->counts ? acu_ptx_source(l, &i->operands[first + 1], PTX_U32) : 0;
    ptx_op *op = acu_ptx_emit_flow(l, arrive);
    op->d = d;
    op->a = number;
    op->b = threads;
    op->more = kind;
}
