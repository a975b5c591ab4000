/* Operations in which lanes of a warp look at each other: shuffles, votes, matches and reductions.
 */
#include "sim/ptx/warp_exchange.h"

#include "sim/ptx/check_inside.h"
#include "sim/ptx/lower_inside.h"
#include "sim/ptx/masked.h"

#include <string.h>

/* Returns the lanes that take part with a lane: those that execute with the same member mask. The
 * mask names them all, unless all have one mask, which a GPU then does not look at. */
static uint32_t members_of(const ptx_warp *w, const ptx_op *op, unsigned lane) {
    const uint32_t *masks = ptx_at(w, op->a);
    uint32_t other = 0, same = 0;
    for (unsigned i = 0; i < PTX_LANES; i++)
        other |= masks[i] ^ masks[lane];
    if (!other)
        return w->mask; /* almost always */
    for (unsigned i = 0; i < PTX_LANES; i++)
        same |= (uint32_t)(masks[i] == masks[lane]) << i;
    return same & w->mask;
}

static ptx_op *emit_sync(ptx_lowering *l, ptx_handler *handler, ptx_slot members) {
    ptx_op *op = acu_ptx_emit_flow(l, acu_ptx_flow_sync);
    op->full = op->masked = handler;
    op->a = members;
    return op;
}

/* ---- shuffles ---- */

enum { UP, DOWN, BFLY, IDX };

/* Returns the lane that a lane takes its value from, and whether that is inside its segment.
 * Without branches, so that compilers make vectors of a loop in which the mode is a constant. */
static inline uint32_t source_lane(int mode, uint32_t lane, uint32_t by, uint32_t clamp,
                                   uint32_t *inside) {
    const uint32_t segment = clamp >> 8 & 31, most = (lane & segment) | (clamp & 31 & ~segment),
                   b = by & 31;
    const uint32_t from = mode == UP     ? lane - b /* large if that is less than 0 */
                          : mode == DOWN ? lane + b
                          : mode == BFLY ? lane ^ b
                                         : (lane & segment) | (b & ~segment);
    *inside = mode == UP ? (int32_t)from >= (int32_t)most : from <= most;
    return *inside ? from & 31 : lane;
}

/* Sets where the lanes take their values from; returns those for which that is inside. */
static uint32_t source_lanes(int mode, const uint32_t *by, const uint32_t *clamp, uint32_t *from) {
    uint32_t inside[PTX_LANES], bits = 0;
#define SOURCES(mode)                                                                              \
    case mode:                                                                                     \
        for (unsigned i = 0; i < PTX_LANES; i++)                                                   \
            from[i] = source_lane(mode, i, by[i], clamp[i], &inside[i]);                           \
        break
    switch (mode) {
        SOURCES(UP);
        SOURCES(DOWN);
        SOURCES(BFLY);
    default:
        SOURCES(IDX);
    }
#undef SOURCES
    for (unsigned i = 0; i < PTX_LANES; i++)
        bits |= inside[i] << i;
    return bits;
}

/* Fills in where the lanes take their values from, if it is always the same. */
static void find_sources(ptx_shuffle *s, const ptx_operand *by, const ptx_operand *clamp) {
    s->is_fixed = by->kind == PTX_INTEGER && clamp->kind == PTX_INTEGER;
    for (unsigned i = 0; i < PTX_LANES && s->is_fixed; i++) {
        uint32_t inside;
        s->from[i] =
            (uint8_t)source_lane(s->mode, i, (uint32_t)by->bits, (uint32_t)clamp->bits, &inside);
        s->inside |= inside << i;
    }
}

void acu_ptx_shuffle(ptx_warp *w, const ptx_op *op) {
    const ptx_shuffle *s = op->more;
    const uint32_t alive = ptx_alive(w), *words = ptx_at(w, s->value);
    uint32_t inside = s->inside, from[PTX_LANES], of_alive[PTX_LANES];
    for (unsigned i = 0; i < PTX_LANES && ~alive; i++)
        of_alive[i] =
            alive >> i & 1 ? words[i] : 0; /* a GPU finds zeros in lanes that have ended */
    if (!s->is_fixed)
        inside = source_lanes(s->mode, ptx_at(w, s->by), ptx_at(w, s->clamp), from);
    s->permute(ptx_at(w, op->d), ~alive ? of_alive : words, s->is_fixed ? s->from : from, w->mask);
    if (s->predicate != UINT32_MAX) {
        uint32_t *p = ptx_at(w, s->predicate);
        *p = (*p & ~w->mask) | (inside & w->mask);
    }
}

/* Reports the first lane that takes its value from one that does not take part. */
static void check_sources(ptx_warp *w, const ptx_op *op) {
    const ptx_shuffle *s = op->more;
    const uint32_t *by = ptx_at(w, s->by), *clamp = ptx_at(w, s->clamp);
    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint32_t mask = ((const uint32_t *)ptx_at(w, op->a))[lane];
        uint32_t inside;
        unsigned from = source_lane(s->mode, lane, by[lane], clamp[lane], &inside);
        if (!inside || (mask & w->mask) >> from & 1)
            continue;
        acu_ptx_check_report(w, op, lane, PTX_CHECK_SYNC,
                             "lane %u takes its value from lane %u, which %s", lane, from,
                             mask >> from & 1 ? "does not come" : "the mask does not name");
        return;
    }
}

static void do_checked_shuffle(ptx_warp *w, const ptx_op *op) {
    check_sources(w, op);
    acu_ptx_shuffle(w, op);
}

void acu_ptx_lower_shfl(ptx_lowering *l, const ptx_instruction *i) {
    ptx_words words;
    acu_ptx_words(l, i, &words);
    bool sync = acu_ptx_take(&words, "sync");
    int mode = acu_ptx_take_one(&words, "up down bfly idx");
    acu_ptx_take(&words, "b32");
    acu_ptx_words_end(l, &words);
    unsigned first = i->paired ? 2 : 1;
    if (mode < 0 || i->operand_count != first + 3 + sync)
        acu_ptx_mismatch(l);
    ptx_shuffle *s = acu_ptx_lower_alloc(l, sizeof *s);
    s->mode = mode;
    s->permute = acu_ptx_masked_handlers()->permute;
    find_sources(s, &i->operands[first + 1], &i->operands[first + 2]);
    s->value = acu_ptx_source(l, &i->operands[first], PTX_B32);
    s->by = acu_ptx_source(l, &i->operands[first + 1], PTX_B32);
    s->clamp = acu_ptx_source(l, &i->operands[first + 2], PTX_B32);
    s->predicate = i->paired ? acu_ptx_target(l, &i->operands[1], PTX_PRED) : UINT32_MAX;
    ptx_slot members =
        sync ? acu_ptx_source(l, &i->operands[first + 3], PTX_B32) : acu_ptx_constant(l, 0, 4);
    ptx_slot d = acu_ptx_target(l, &i->operands[0], PTX_B32);
    const bool checks = sync && l->code->watch.checks & PTX_CHECK_SYNC;
    ptx_op *op = emit_sync(l, checks ? do_checked_shuffle : acu_ptx_shuffle, members);
    op->d = d;
    op->more = s;
}

/* ---- votes ---- */

enum { ALL, ANY, UNI, BALLOT };

static void do_vote(ptx_warp *w, const ptx_op *op) {
    uint32_t predicate = *(const uint32_t *)ptx_at(w, op->b), *d = ptx_at(w, op->d), bits = 0;
    for (uint32_t left = w->mask, same; left; left &= ~same) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        same = op->negated ? w->mask : members_of(w, op, lane);
        const uint32_t yes = predicate & same;
        const bool result = op->value == ALL   ? yes == same
                            : op->value == ANY ? yes != 0
                                               : yes == same || yes == 0;
        bits |= result ? same : 0;
        for (unsigned i = 0; i < PTX_LANES && op->value == BALLOT; i++)
            d[i] = same >> i & 1 ? yes : d[i];
    }
    if (op->value != BALLOT)
        *d = (*d & ~w->mask) | bits;
}

void acu_ptx_lower_vote(ptx_lowering *l, const ptx_instruction *i) {
    ptx_words words;
    acu_ptx_words(l, i, &words);
    bool sync = acu_ptx_take(&words, "sync");
    int mode = acu_ptx_take_one(&words, "all any uni ballot");
    acu_ptx_take_one(&words, "pred b32");
    acu_ptx_words_end(l, &words);
    if (mode < 0 || i->operand_count != 2u + sync)
        acu_ptx_mismatch(l);
    ptx_slot predicate = acu_ptx_source(l, &i->operands[1], PTX_PRED);
    ptx_slot members =
        sync ? acu_ptx_source(l, &i->operands[2], PTX_B32) : acu_ptx_constant(l, 0, 4);
    ptx_slot d = acu_ptx_target(l, &i->operands[0], mode == BALLOT ? PTX_B32 : PTX_PRED);
    ptx_op *op = emit_sync(l, do_vote, members);
    op->b = predicate;
    op->d = d;
    op->value = mode;
    op->negated = !sync;
}

static void put_mask(ptx_warp *w, const ptx_op *op) {
    uint32_t *d = ptx_at(w, op->d);
    for (unsigned i = 0; i < PTX_LANES; i++)
        d[i] = w->lanes[i] ? w->mask : d[i];
}

void acu_ptx_lower_activemask(ptx_lowering *l, const ptx_instruction *i) {
    ptx_slot d = acu_ptx_target(l, &i->operands[0], PTX_B32);
    acu_ptx_emit(l, put_mask)->d = d;
}

static void do_elect(ptx_warp *w, const ptx_op *op) {
    uint32_t *d = ptx_at(w, op->d), *p = ptx_at(w, op->e), bits = 0;
    for (uint32_t left = w->mask, members; left; left &= ~members) {
        const unsigned leader = (unsigned)__builtin_ctz(left);
        members = members_of(w, op, leader);
        for (unsigned i = 0; i < PTX_LANES; i++)
            d[i] = members >> i & 1 ? leader : d[i];
        bits |= UINT32_C(1) << leader;
    }
    *p = (*p & ~w->mask) | bits;
}

void acu_ptx_lower_elect(ptx_lowering *l, const ptx_instruction *i) {
    ptx_words words;
    acu_ptx_words(l, i, &words);
    acu_ptx_need(l, &words, "sync");
    acu_ptx_words_end(l, &words);
    if (!i->paired || i->operand_count != 3)
        acu_ptx_mismatch(l);
    ptx_slot members = acu_ptx_source(l, &i->operands[2], PTX_B32);
    ptx_slot d = acu_ptx_target(l, &i->operands[0], PTX_B32),
             p = acu_ptx_target(l, &i->operands[1], PTX_PRED);
    ptx_op *op = emit_sync(l, do_elect, members);
    op->d = d;
    op->e = p;
}

/* ---- matches ---- */

static uint64_t element(const ptx_warp *w, ptx_slot slot, unsigned lane, unsigned size) {
    uint64_t value = 0;
    memcpy(&value, (const char *)ptx_at(w, slot) + (size_t)lane * size, size);
    return value;
}

/* Returns the lanes whose value is that of lane i. */
static uint32_t equal_lanes(const uint64_t *value, unsigned i) {
    uint32_t same = 0;
    for (unsigned n = 0; n < PTX_LANES; n++)
        same |= (uint32_t)(value[n] == value[i]) << n;
    return same;
}

static void do_match(ptx_warp *w, const ptx_op *op) {
    uint32_t *d = ptx_at(w, op->d), result[PTX_LANES] = {0}, bits = 0;
    uint64_t value[PTX_LANES];
    for (unsigned i = 0; i < PTX_LANES; i++)
        value[i] = element(w, op->b, i, op->size);
    for (uint32_t left = w->mask, members; left; left &= ~members) {
        members = members_of(w, op, (unsigned)__builtin_ctz(left));
        for (uint32_t rest = members, same; rest; rest &= ~same) {
            same = equal_lanes(value, (unsigned)__builtin_ctz(rest)) & members;
            for (unsigned i = 0; i < PTX_LANES; i++)
                if (same >> i & 1)
                    result[i] = op->flags && same != members ? 0 : same;
            bits |= same == members ? same : 0;
        }
    }
    for (unsigned i = 0; i < PTX_LANES; i++)
        d[i] = w->lanes[i] ? result[i] : d[i];
    if (op->count) {
        uint32_t *p = ptx_at(w, op->e);
        *p = (*p & ~w->mask) | (bits & w->mask);
    }
}

void acu_ptx_lower_match(ptx_lowering *l, const ptx_instruction *i) {
    ptx_words words;
    acu_ptx_words(l, i, &words);
    int mode = acu_ptx_take_one(&words, "any all");
    acu_ptx_need(l, &words, "sync");
    ptx_type type = acu_ptx_take_type(&words);
    acu_ptx_words_end(l, &words);
    unsigned first = i->paired ? 2 : 1;
    if (mode < 0 || i->operand_count != first + 2 || (type != PTX_B32 && type != PTX_B64))
        acu_ptx_mismatch(l);
    ptx_slot value = acu_ptx_source(l, &i->operands[first], type);
    ptx_slot members = acu_ptx_source(l, &i->operands[first + 1], PTX_B32);
    ptx_slot d = acu_ptx_target(l, &i->operands[0], PTX_U32);
    ptx_slot p = i->paired ? acu_ptx_target(l, &i->operands[1], PTX_PRED) : 0;
    ptx_op *op = emit_sync(l, do_match, members);
    op->b = value;
    op->d = d;
    op->e = p;
    op->count = i->paired;
    op->size = (uint8_t)acu_ptx_type_size(type);
    op->flags = mode == 1;
}

/* ---- reductions ---- */

enum { ADD, MIN, MAX, AND, OR, XOR };

static uint32_t reduce(int kind, bool is_signed, uint32_t a, uint32_t b) {
    switch (kind) {
    case ADD:
        return a + b;
    case MIN:
        return is_signed ? (int32_t)a < (int32_t)b ? a : b : a < b ? a : b;
    case MAX:
        return is_signed ? (int32_t)a > (int32_t)b ? a : b : a > b ? a : b;
    case AND:
        return a & b;
    case OR:
        return a | b;
    default:
        return a ^ b;
    }
}

/* Floats: -0 is less than 0. `count`: a NaN is the result; else it is only where there is nothing
 * else. */
static uint32_t reduce_float(int kind, bool keeps_nan, uint32_t a, uint32_t b) {
    enum { INFINITE = 0x7f800000, NO_NUMBER = 0x7fffffff };
    const bool a_is = (a & NO_NUMBER) > INFINITE, b_is = (b & NO_NUMBER) > INFINITE;
    if (a_is || b_is)
        return keeps_nan || (a_is && b_is) ? NO_NUMBER : a_is ? b : a;
    /* The bits of floats that are turned like this are in the order of the floats. */
    const int32_t x = (int32_t)(a ^ (a >> 31 ? NO_NUMBER : 0)),
                  y = (int32_t)(b ^ (b >> 31 ? NO_NUMBER : 0));
    return (kind == MIN) == (x < y) ? a : b;
}

/* Returns what the members' values become together. */
static uint32_t reduce_all(const ptx_op *op, const uint32_t *value, uint32_t members) {
    uint32_t result = value[__builtin_ctz(members)];
    for (members &= members - 1; members; members &= members - 1)
        result = reduce((int)op->value, op->flags, result, value[__builtin_ctz(members)]);
    return result;
}

static uint32_t reduce_floats(const ptx_op *op, const uint32_t *value, uint32_t members) {
    uint32_t numbers[PTX_LANES];
    for (unsigned i = 0; i < PTX_LANES; i++)
        numbers[i] = op->flags ? value[i] & 0x7fffffff : value[i];
    uint32_t result = numbers[__builtin_ctz(members)];
    result = reduce_float((int)op->value, op->count, result, result);
    for (members &= members - 1; members; members &= members - 1)
        result = reduce_float((int)op->value, op->count, result, numbers[__builtin_ctz(members)]);
    return result;
}

static inline void do_any_redux(ptx_warp *w, const ptx_op *op,
                                uint32_t (*all)(const ptx_op *, const uint32_t *, uint32_t)) {
    uint32_t value[PTX_LANES], *d = ptx_at(w, op->d);
    memcpy(value, ptx_at(w, op->b), sizeof value);
    for (uint32_t left = w->mask, members; left; left &= ~members) {
        members = members_of(w, op, (unsigned)__builtin_ctz(left));
        const uint32_t result = all(op, value, members);
        for (unsigned i = 0; i < PTX_LANES; i++)
            d[i] = members >> i & 1 ? result : d[i];
    }
}

static void do_redux_float(ptx_warp *w, const ptx_op *op) {
    do_any_redux(w, op, reduce_floats);
}

static void do_redux(ptx_warp *w, const ptx_op *op) {
    do_any_redux(w, op, reduce_all);
}

void acu_ptx_lower_redux(ptx_lowering *l, const ptx_instruction *i) {
    ptx_words words;
    acu_ptx_words(l, i, &words);
    acu_ptx_need(l, &words, "sync");
    int kind = acu_ptx_take_one(&words, "add min max and or xor");
    bool magnitude = acu_ptx_take(&words, "abs"), keeps = acu_ptx_take(&words, "NaN");
    ptx_type type = acu_ptx_take_type(&words);
    acu_ptx_words_end(l, &words);
    if (kind < 0 || i->operand_count != 3)
        acu_ptx_mismatch(l);
    if (type == PTX_F32 ? kind != MIN && kind != MAX : magnitude || keeps)
        acu_ptx_invalid(l, "Incorrect type '.%s' for operation in instruction '%s'",
                        acu_ptx_type_name(type), acu_ptx_first_word(l));
    ptx_slot value = acu_ptx_source(l, &i->operands[1], type),
             members = acu_ptx_source(l, &i->operands[2], PTX_B32);
    ptx_slot d = acu_ptx_target(l, &i->operands[0], type);
    ptx_op *op = emit_sync(l, type == PTX_F32 ? do_redux_float : do_redux, members);
    op->b = value;
    op->d = d;
    op->value = kind;
    op->flags = type == PTX_F32 ? magnitude : type == PTX_S32;
    op->count = keeps;
}

/* ---- masks that name not all who execute ---- */

/* Does a .sync operation whose mask lies in a register. A GPU ends the kernel where the mask does
 * not name the lane, unless its compiler knows that the lanes have one mask. That is assumed here
 * where they do. */
static void do_named(ptx_warp *w, const ptx_op *op) {
    const uint32_t *masks = ptx_at(w, op->a);
    const ptx_op *inner = op->more;
    uint32_t named = 0;
    for (unsigned i = 0; i < PTX_LANES; i++)
        named |= masks[i] & UINT32_C(1) << i;
    const uint32_t others = w->mask & ~named;
    if (others && members_of(w, op, (unsigned)__builtin_ctz(others)) != w->mask) {
        const unsigned lane = (unsigned)__builtin_ctz(others);
        acu_ptx_fail(w, lane, op, 715, 0, "the mask 0x%x does not name lane %u, which executes it",
                     masks[lane], lane);
    }
    inner->masked(w, inner);
}

void acu_ptx_name_syncs(ptx_lowering *l) {
    const ptx_code *code = l->code;
    for (uint32_t n = 0; n < code->count; n++) {
        ptx_op *op = &code->ops[n];
        if (op->flow != acu_ptx_flow_sync || PTX_SLOT_BANK(op->a) == PTX_BANK_LAUNCH)
            continue;
        ptx_op *inner = acu_ptx_lower_alloc(l, sizeof *inner);
        *inner = *op;
        op->more = inner;
        op->full = op->masked = do_named;
    }
}
