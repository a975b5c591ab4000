#include "sim/ptx/mbarrier.h"

#include "sim/ptx/check_inside.h"
#include "sim/ptx/lower_inside.h"

#include <string.h>

/*
 * What an object counts. A phase is complete when nobody is pending and no bytes are expected; then
 * the next one begins, with `expected` arrivals. A state, which an arrival returns, is the object
 * as it was before.
 */
typedef struct mbarrier {
    unsigned pending, expected; /* arrivals, 20 bits each */
    int bytes;                  /* that have not come, 21 bits */
    unsigned phase;             /* 3 bits */
} mbarrier;

enum { MOST_ARRIVALS = (1 << 20) - 1, PHASES = 8 };

static mbarrier unpack(uint64_t bits) {
    return (mbarrier){.pending = bits & MOST_ARRIVALS,
                      .expected = bits >> 20 & MOST_ARRIVALS,
                      .bytes = (int)(bits >> 40 & 0x1fffff) - (1 << 20),
                      .phase = (unsigned)(bits >> 61)};
}

static uint64_t pack(const mbarrier *m) {
    return m->pending | (uint64_t)m->expected << 20 |
           ((uint64_t)(m->bytes + (1 << 20)) & 0x1fffff) << 40 | (uint64_t)m->phase << 61;
}

static mbarrier get(const char *object) {
    uint64_t bits;
    memcpy(&bits, object, sizeof bits);
    return unpack(bits);
}

/* Stores the object, in its next phase if this one is complete. */
static void set(char *object, mbarrier m) {
    if (!m.pending && !m.bytes) {
        m.phase = (m.phase + 1) % PHASES;
        m.pending = m.expected;
    }
    uint64_t bits = pack(&m);
    memcpy(object, &bits, sizeof bits);
}

char *acu_ptx_mbarrier_at(ptx_warp *w, const ptx_op *op, unsigned lane, ptx_space space,
                          uint64_t address) {
    return acu_ptx_memory_at(w, op, lane, space, address, 8, 8, true);
}

void acu_ptx_mbarrier_complete_bytes(char *object, uint64_t bytes) {
    mbarrier m = get(object);
    m.bytes -= (int)bytes;
    set(object, m);
}

static void arrive(ptx_warp *w, const ptx_op *op, unsigned lane, char *object, unsigned count) {
    mbarrier m = get(object);
    if (count > m.pending)
        acu_ptx_fail(w, lane, op, 719, 0,
                     "%u threads arrive at an mbarrier that expects %u more in this phase", count,
                     m.pending);
    m.pending -= count;
    set(object, m);
}

void acu_ptx_mbarrier_arrive(ptx_warp *w, const ptx_op *op, unsigned lane, char *object) {
    arrive(w, op, lane, object, 1);
}

/* ---- instructions ---- */

typedef enum kind {
    INIT,
    INVAL,
    ARRIVE,
    ARRIVE_DROP,
    TEST_WAIT,
    TRY_WAIT,
    EXPECT_TX,
    COMPLETE_TX,
    PENDING_COUNT,
} kind;

typedef struct mbarrier_op {
    kind kind;
    ptx_space space;
    bool expects, parity, narrow, completes;
    bool has_count; /* `b` is how many arrive, or bytes */
} mbarrier_op;

static uint64_t value_of(const ptx_warp *w, ptx_slot slot, unsigned lane, unsigned size) {
    uint64_t value = 0;
    memcpy(&value, (const char *)ptx_at(w, slot) + (size_t)lane * size, size);
    return value;
}

static char *object_of(ptx_warp *w, const ptx_op *op, unsigned lane) {
    const mbarrier_op *m = op->more;
    uint64_t address = value_of(w, op->a, lane, m->narrow ? 4 : 8) + (uint64_t)op->value;
    return acu_ptx_mbarrier_at(w, op, lane, m->space, m->narrow ? (uint32_t)address : address);
}

/* The first phase of an object is even, because waits that name a parity ask for that. The number
 * differs from that of the phase that the memory's last object completed: threads that wait for
 * that phase by a state go on, as they do on a GPU, which wakes them when the phase completes. */
static void do_init(ptx_warp *w, const ptx_op *op, unsigned lane, char *object) {
    uint32_t count = (uint32_t)value_of(w, op->b, lane, 4);
    if (!count || count > MOST_ARRIVALS)
        acu_ptx_fail(w, lane, op, 719, 0, "mbarrier.init with %u arrivals: 1 to %u are possible",
                     count, MOST_ARRIVALS);
    unsigned phase = ((get(object).phase + 1) & ~1U) % PHASES;
    uint64_t bits = pack(&(mbarrier){.pending = count, .expected = count, .phase = phase});
    memcpy(object, &bits, sizeof bits);
}

static void do_arrive(ptx_warp *w, const ptx_op *op, unsigned lane, char *object) {
    const mbarrier_op *how = op->more;
    uint64_t count = how->has_count ? value_of(w, op->b, lane, 4) : 1, state;
    memcpy(&state, object, sizeof state);
    mbarrier m = unpack(state);
    if (how->expects) {
        m.bytes += (int)count;
        count = 1;
    }
    if (how->kind == ARRIVE_DROP)
        m.expected -= count < m.expected ? (unsigned)count : m.expected;
    uint64_t bits = pack(&m);
    memcpy(object, &bits, sizeof bits);
    arrive(w, op, lane, object, (unsigned)count);
    memcpy((char *)ptx_at(w, op->d) + (size_t)lane * 8, &state, sizeof state);
}

static bool is_complete(const ptx_warp *w, const ptx_op *op, unsigned lane, const char *object) {
    const mbarrier_op *how = op->more;
    unsigned now = get(object).phase;
    if (how->parity)
        return (now & 1) != (value_of(w, op->b, lane, 4) & 1);
    return now != unpack(value_of(w, op->b, lane, 8)).phase;
}

static void do_lane(ptx_warp *w, const ptx_op *op, unsigned lane) {
    const mbarrier_op *how = op->more;
    char *object = object_of(w, op, lane);
    uint32_t *done = ptx_at(w, op->d);
    mbarrier m;
    switch (how->kind) {
    case INIT:
        do_init(w, op, lane, object);
        break;
    case INVAL: /* the bits stay, so that a thread that waits still sees the phase */
        break;
    case ARRIVE:
    case ARRIVE_DROP:
        do_arrive(w, op, lane, object);
        break;
    case EXPECT_TX:
        m = get(object);
        m.bytes += (int)value_of(w, op->b, lane, 4);
        set(object, m);
        break;
    case COMPLETE_TX:
        acu_ptx_mbarrier_complete_bytes(object, value_of(w, op->b, lane, 4));
        break;
    default: /* test_wait, try_wait */
        *done = (*done & ~(UINT32_C(1) << lane)) | (uint32_t)is_complete(w, op, lane, object)
                                                       << lane;
    }
}

static void do_mbarrier(ptx_warp *w, const ptx_op *op) {
    for (uint32_t left = w->mask; left; left &= left - 1)
        do_lane(w, op, (unsigned)__builtin_ctz(left));
}

/* If no lane's phase is complete, the next backward branch gives others their turn: the warps of a
 * cluster run one after the other, so that nothing comes while this one asks again. */
static void do_wait(ptx_warp *w, const ptx_op *op) {
    do_mbarrier(w, op);
    if (!(*(const uint32_t *)ptx_at(w, op->d) & w->mask) && w->backward < PTX_SPINS)
        w->backward = PTX_SPINS;
}

static void do_pending_count(ptx_warp *w, const ptx_op *op) {
    const uint64_t *states = ptx_at(w, op->a);
    uint32_t *d = ptx_at(w, op->d);
    for (unsigned i = 0; i < PTX_LANES; i++)
        d[i] = unpack(states[i]).pending;
}

static void lower_pending_count(ptx_lowering *l, const ptx_instruction *i) {
    ptx_slot state = acu_ptx_source(l, &i->operands[1], PTX_B64),
             d = acu_ptx_target(l, &i->operands[0], PTX_U32);
    acu_ptx_emit_pure(l, do_pending_count, d, 4)->a = state;
}

static mbarrier_op *read_words(ptx_lowering *l, const ptx_instruction *i) {
    ptx_words words;
    mbarrier_op *m = acu_ptx_lower_alloc(l, sizeof *m);
    acu_ptx_words(l, i, &words);
    int number = acu_ptx_take_one(&words, "init inval arrive arrive_drop test_wait try_wait");
    m->expects = acu_ptx_take(&words, "expect_tx");
    if (number < 0)
        number = m->expects                              ? EXPECT_TX
                 : acu_ptx_take(&words, "complete_tx")   ? COMPLETE_TX
                 : acu_ptx_take(&words, "pending_count") ? PENDING_COUNT
                                                         : -1;
    m->completes = !acu_ptx_take(&words, "noComplete");
    m->parity = acu_ptx_take(&words, "parity");
    acu_ptx_take_one(&words, "release acquire relaxed");
    acu_ptx_take_one(&words, "cta cluster");
    m->space = acu_ptx_take_space(&words);
    const ptx_type type = acu_ptx_take_type(&words);
    acu_ptx_words_end(l, &words);
    if (type != PTX_B64)
        acu_ptx_invalid(l, "Unexpected instruction types specified for '%s'",
                        acu_ptx_first_word(l));
    if (number < 0)
        acu_ptx_not_simulated(l, "the simulator does not execute '%s'", i->opcode);
    m->kind = (kind)number;
    return m;
}

static ptx_type type_of_value(const mbarrier_op *m) {
    bool state = (m->kind == TEST_WAIT || m->kind == TRY_WAIT) && !m->parity;
    return state ? PTX_B64 : PTX_U32;
}

void acu_ptx_lower_mbarrier(ptx_lowering *l, const ptx_instruction *i) {
    mbarrier_op *m = read_words(l, i);
    bool arrives = m->kind == ARRIVE || m->kind == ARRIVE_DROP,
         waits = m->kind == TEST_WAIT || m->kind == TRY_WAIT;
    unsigned first = arrives || waits || m->kind == PENDING_COUNT ? 1 : 0;
    if (i->operand_count < first + 1 + (waits || m->kind == INIT || m->kind == EXPECT_TX))
        acu_ptx_mismatch(l);
    const unsigned most = m->kind == PENDING_COUNT          ? 2
                          : m->kind == INVAL                ? 1
                          : m->kind == TRY_WAIT             ? 4
                          : m->kind == TEST_WAIT || arrives ? 3
                                                            : 2;
    if (i->operand_count > most)
        acu_ptx_mismatch(l);
    if (arrives && m->completes && i->operand_count > first + 1 && l->module->target < 90)
        acu_ptx_invalid(l, "Feature 'mbarrier.arrive with count argument and without '.noComplete' "
                           "modifier' requires .target sm_90 or higher");
    if (m->kind == PENDING_COUNT) {
        lower_pending_count(l, i);
        return;
    }
    ptx_address address = acu_ptx_address(l, &i->operands[first], m->space);
    m->has_count = i->operand_count > first + 1;
    m->narrow = address.narrow;
    ptx_slot value =
        m->has_count ? acu_ptx_source(l, &i->operands[first + 1], type_of_value(m)) : 0;
    ptx_slot d = first ? acu_ptx_target(l, &i->operands[0], arrives ? PTX_B64 : PTX_PRED) : 0;
    acu_ptx_check_access(l, (ptx_check_site){.space = m->space,
                                             .address = address,
                                             .bytes = 8,
                                             .reads = m->kind != INIT,
                                             .writes = !waits,
                                             .strong = true,
                                             .apart = true,
                                             .releases = true});
    ptx_op *op = acu_ptx_emit(l, waits ? do_wait : do_mbarrier);
    op->a = address.slot;
    op->value = address.offset;
    op->b = value;
    op->d = d;
    op->more = m;
    op->site = acu_ptx_site(l);
}
