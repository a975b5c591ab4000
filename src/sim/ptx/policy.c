/*
 * `createpolicy`. There is no cache here that a policy could serve, so that no instruction asks for
 * its bits; but libcu++ knows what they mean and makes some itself, and programs compare both. The
 * bits are an H200's: 936 ranges and 36 fractions, for 12 priorities each, were asked there.
 */
#include "sim/ptx/access.h"
#include "sim/ptx/lower_inside.h"

#include <math.h>
#include <string.h>

typedef enum policy_kind {
    FRACTIONAL,
    RANGE,
    CVT,
} policy_kind;

typedef struct policy {
    ptx_address address; /* of a range */
    uint64_t priorities; /* and what the other bits mean */
    bool has_fraction;
} policy;

static const uint64_t modes[] = {[FRACTIONAL] = UINT64_C(2) << 59, [RANGE] = UINT64_C(3) << 59};

enum {
    FRACTIONS = 16,
    MOST_BLOCKS = 127,
    LEAST_BLOCK = 12, /* these three are logarithms */
    LARGEST_BLOCK = 25,
    BLOCKS_OF_A_RANGE = 7,
};

/* The share of the accesses, in sixteenths from one on, has four bits. */
static uint64_t fraction_bits(float fraction) {
    float count = ceilf(fraction * FRACTIONS);
    unsigned share = count >= 1 ? (unsigned)fminf(count, 1U << 24) - 1 : 0;
    return (uint64_t)(share % FRACTIONS) << 52;
}

/* A range is divided into 128 blocks or less, of 4 KiB or more. The bits name the first block, how
 * many have the first priority, and how large they are. An empty range has no priorities. */
static uint64_t range_bits(uint64_t priorities, uint64_t from, uint32_t primary, uint32_t total) {
    if (!total)
        return modes[RANGE];
    unsigned size = LEAST_BLOCK;
    while (size < LARGEST_BLOCK && total > UINT64_C(1) << (size + BLOCKS_OF_A_RANGE))
        size++;
    uint32_t rest = primary + (UINT32_C(1) << size) - 1;
    uint64_t first = from >> size, blocks = ((from + rest) >> size) - first;
    if (blocks > MOST_BLOCKS)
        blocks = size < LARGEST_BLOCK ? MOST_BLOCKS : 1;
    return priorities | (uint64_t)(size - LEAST_BLOCK) << 52 | (first & MOST_BLOCKS) << 44 |
           blocks << 37;
}

static void do_fraction(ptx_warp *w, const ptx_op *op) {
    const policy *p = (const policy *)(intptr_t)op->value;
    const float *fractions = p->has_fraction ? ptx_at(w, op->a) : NULL;
    uint64_t *d = ptx_at(w, op->d);
    for (unsigned n = 0; n < PTX_LANES; n++)
        d[n] = p->priorities | fraction_bits(fractions ? fractions[n] : 1);
}

static void do_range(ptx_warp *w, const ptx_op *op) {
    const policy *p = (const policy *)(intptr_t)op->value;
    const uint32_t *primary = ptx_at(w, op->b), *total = ptx_at(w, op->c);
    uint64_t *d = ptx_at(w, op->d);
    for (unsigned n = 0; n < PTX_LANES; n++)
        d[n] = range_bits(p->priorities, ptx_lane_address(w, p->address, n), primary[n], total[n]);
}

/* Takes the next word that is a priority, and returns its number; -1 if there is none. */
static int take_priority(ptx_words *words) {
    static const char *const priorities[] = {"L2::evict_unchanged", "L2::evict_first",
                                             "L2::evict_last", "L2::evict_normal"};
    for (unsigned n = 1; n < words->count; n++)
        for (int number = 0; number < 4 && !words->taken[n]; number++)
            if (strcmp(words->word[n], priorities[number]) == 0) {
                words->taken[n] = true;
                return number;
            }
    return -1;
}

static uint64_t priorities_of(ptx_lowering *l, ptx_words *words, policy_kind kind) {
    int primary = take_priority(words), secondary = take_priority(words);
    if (primary < 0)
        acu_ptx_invalid(l, "cache eviction priority modifier required for instruction '%s'",
                        acu_ptx_first_word(l));
    if (secondary > 1)
        acu_ptx_invalid(l, "Unsupported modifier as secondary_priority for instruction '%s'",
                        acu_ptx_first_word(l));
    return modes[kind] | (uint64_t)primary << 57 | (uint64_t)(secondary == 1) << 56;
}

static policy *read_words(ptx_lowering *l, const ptx_instruction *i, policy_kind *kind) {
    ptx_words words;
    policy *p = acu_ptx_lower_alloc(l, sizeof *p);
    acu_ptx_words(l, i, &words);
    int number = acu_ptx_take_one(&words, "fractional range cvt");
    if (number < 0)
        acu_ptx_invalid(l, "Not a name of any known instruction: '%s'", acu_ptx_first_word(l));
    *kind = (policy_kind)number;
    if (*kind == RANGE)
        acu_ptx_take(&words, "global");
    if (*kind == CVT)
        acu_ptx_need(l, &words, "L2");
    else
        p->priorities = priorities_of(l, &words, *kind);
    if (acu_ptx_take_type(&words) != PTX_B64)
        acu_ptx_invalid(l, "Unexpected instruction types specified for '%s'",
                        acu_ptx_first_word(l));
    for (unsigned n = 1; n < words.count; n++)
        if (!words.taken[n])
            acu_ptx_invalid(l, "Illegal modifier '.%s' for instruction '%s'", words.word[n],
                            acu_ptx_first_word(l));
    return p;
}

static void lower_range(ptx_lowering *l, const ptx_instruction *i, policy *p) {
    if (i->operands[1].kind != PTX_ADDRESS)
        acu_ptx_mismatch(l);
    p->address = acu_ptx_address(l, &i->operands[1], PTX_GENERIC);
    ptx_slot primary = acu_ptx_source(l, &i->operands[2], PTX_U32),
             total = acu_ptx_source(l, &i->operands[3], PTX_U32);
    ptx_op *op = acu_ptx_emit_pure(l, do_range, acu_ptx_target(l, &i->operands[0], PTX_B64), 8);
    op->a = p->address.slot;
    op->b = primary;
    op->c = total;
    op->value = (int64_t)(intptr_t)p;
}

void acu_ptx_lower_createpolicy(ptx_lowering *l, const ptx_instruction *i) {
    static const unsigned most[] = {[FRACTIONAL] = 2, [RANGE] = 4, [CVT] = 2};
    policy_kind kind;
    policy *p = read_words(l, i, &kind);
    if (i->operand_count > most[kind] || i->operand_count < most[kind] - (kind == FRACTIONAL))
        acu_ptx_mismatch(l);
    acu_ptx_refuse_sink(l, &i->operands[0]);
    if (kind == RANGE) {
        lower_range(l, i, p);
        return;
    }
    p->has_fraction = i->operand_count == 2;
    ptx_slot from =
        p->has_fraction ? acu_ptx_source(l, &i->operands[1], kind == CVT ? PTX_B64 : PTX_F32) : 0;
    ptx_slot d = acu_ptx_target(l, &i->operands[0], PTX_B64);
    ptx_op *op = acu_ptx_emit_pure(l, kind == CVT ? acu_ptx_copy_all : do_fraction, d, 8);
    op->a = from;
    op->value = (int64_t)(intptr_t)p;
}
