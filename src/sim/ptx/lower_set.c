/* Comparisons with more than one result, or with a result that is not a predicate: set and setp,
 * out of setp's forms. */
#include "sim/ptx/form.h"
#include "sim/ptx/lower_inside.h"

#include <stdio.h>
#include <string.h>

/* Adds the form's operation; there must be one. */
static void emit(ptx_lowering *l, const char *opcode, ptx_slot d, ptx_slot a, ptx_slot b,
                 ptx_slot c) {
    const ptx_form *form = acu_ptx_form_find(opcode);
    if (!form)
        acu_ptx_not_simulated(l, "the simulator does not execute '%s'", l->instruction->opcode);
    ptx_slot slots[] = {d, a, b, c, 0, 0};
    acu_ptx_lower_form(l, form, slots);
}

/* What set and setp say. */
typedef struct comparison {
    ptx_words words;
    const char *logic; /* "and", "or", "xor"; NULL: none */
    ptx_type type, result;
    bool pair;      /* two comparisons, of the halves of a word */
    char plain[64]; /* setp without logic */
} comparison;

static void read(ptx_lowering *l, const ptx_instruction *i, comparison *c, bool has_result) {
    static const char *const logics[] = {"and", "or", "xor"};
    static const char choices[] = "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan";
    acu_ptx_words(l, i, &c->words);
    int cmp = acu_ptx_take_one(&c->words, choices),
        logic = acu_ptx_take_one(&c->words, "and or xor");
    bool ftz = acu_ptx_take(&c->words, "ftz");
    c->logic = logic < 0 ? NULL : logics[logic];
    c->type = acu_ptx_take_type(&c->words);
    c->result = has_result ? acu_ptx_take_type(&c->words) : PTX_PRED;
    acu_ptx_words_end(l, &c->words);
    c->pair = c->type == PTX_F16X2 || c->type == PTX_BF16X2;
    if (cmp < 0)
        acu_ptx_invalid(l, "Comparison missing for instruction '%s'", acu_ptx_first_word(l));
    const char *type = strrchr(i->opcode, '.') + 1;
    for (const char *at = choices; cmp >= 0; at += strcspn(at, " ") + 1)
        if (!cmp--)
            snprintf(c->plain, sizeof c->plain, "setp.%.*s%s.%s", (int)strcspn(at, " "), at,
                     ftz ? ".ftz" : "", type);
}

/* Compares the operands after the results, and combines what comes out with the predicate behind
 * them. `no` is where the opposite goes, if anywhere: of a pair, the comparison of the upper
 * halves. */
static void compare(ptx_lowering *l, const ptx_instruction *i, const comparison *c,
                    unsigned results, ptx_slot yes, ptx_slot no) {
    if (i->operand_count != results + 2 + (c->logic != NULL))
        acu_ptx_mismatch(l);
    ptx_slot a = acu_ptx_source(l, &i->operands[results], c->type),
             b = acu_ptx_source(l, &i->operands[results + 1], c->type);
    ptx_slot by = c->logic ? acu_ptx_source(l, &i->operands[results + 2], PTX_PRED) : 0;
    ptx_slot first = acu_ptx_temp(l, 0), second = acu_ptx_temp(l, 0);
    char combine[16];
    if (c->pair) {
        const ptx_form *form = acu_ptx_form_find(c->plain);
        if (!form)
            acu_ptx_not_simulated(l, "the simulator does not execute '%s'", i->opcode);
        ptx_slot slots[] = {first, second, a, b, 0, 0};
        acu_ptx_lower_form(l, form, slots);
    } else {
        emit(l, c->plain, first, a, b, 0);
        emit(l, "not.pred", second, first, 0, 0);
    }
    if (!c->logic)
        by = first;
    snprintf(combine, sizeof combine, "%s.pred", c->logic ? c->logic : "or");
    emit(l, combine, yes, first, by, 0);
    emit(l, combine, no, second, c->logic ? by : second, 0);
}

void acu_ptx_lower_setp(ptx_lowering *l, const ptx_instruction *i) {
    comparison c;
    bool pair = strstr(i->opcode, "f16x2") != NULL;
    if (!i->paired && !pair) {
        acu_ptx_lower_by_form(l, i);
        return;
    }
    read(l, i, &c, false);
    ptx_slot yes = acu_ptx_target(l, &i->operands[0], PTX_PRED);
    ptx_slot no = i->paired ? acu_ptx_target(l, &i->operands[1], PTX_PRED) : acu_ptx_temp(l, 0);
    /* An operand may be a result, too, so that the results are written last. */
    ptx_slot first = acu_ptx_temp(l, 0), second = acu_ptx_temp(l, 0);
    compare(l, i, &c, i->paired ? 2 : 1, first, second);
    /* A result that is the guard, too, is written behind the other one. */
    const bool guards = i->guard >= 0 && acu_ptx_register_slot(l, (unsigned)i->guard) == yes;
    if (!guards)
        emit(l, "or.pred", yes, first, first, 0);
    emit(l, "or.pred", no, second, second, 0);
    if (guards)
        emit(l, "or.pred", yes, first, first, 0);
}

/* The bits of a result that is true. */
static uint64_t bits_of_true(const comparison *c) {
    switch (c->result) {
    case PTX_F16:
    case PTX_F16X2:
        return 0x3c00;
    case PTX_BF16:
    case PTX_BF16X2:
        return 0x3f80;
    case PTX_F32:
        return 0x3f800000;
    default:
        return c->pair ? 0xffff : UINT64_MAX;
    }
}

/* Whether set has the result for operands of the type: pairs only for pairs, 16 bits of integers
 * only for halves. */
static bool has_result(ptx_type result, ptx_type type) {
    const bool is_half = type == PTX_F16 || type == PTX_BF16,
               is_pair = type == PTX_F16X2 || type == PTX_BF16X2;
    switch (result) {
    case PTX_U16:
    case PTX_S16:
        return is_half;
    case PTX_F16X2:
    case PTX_BF16X2:
        return type == result;
    case PTX_U32:
    case PTX_S32:
        return true;
    case PTX_F16:
        return !is_pair && type != PTX_BF16;
    case PTX_BF16:
        return !is_pair;
    case PTX_F32:
        return !is_pair && !is_half;
    default:
        return false;
    }
}

void acu_ptx_lower_set(ptx_lowering *l, const ptx_instruction *i) {
    comparison c;
    read(l, i, &c, true);
    if (!has_result(c.result, c.type) || acu_ptx_type_size(c.type) == 1 || c.type == PTX_PRED)
        acu_ptx_invalid(l, "Unexpected instruction types specified for 'set'");
    acu_ptx_refuse_sink(l, &i->operands[0]);
    ptx_slot yes = acu_ptx_temp(l, 0), upper = acu_ptx_temp(l, 0),
             d = acu_ptx_target(l, &i->operands[0], c.result);
    unsigned size = (unsigned)acu_ptx_type_size(c.result);
    uint64_t bits = bits_of_true(&c);
    compare(l, i, &c, 1, yes, upper);
    const char *choose = size == 2 ? "selp.b16" : "selp.b32";
    ptx_slot zero = acu_ptx_constant(l, 0, size);
    if (!c.pair) {
        emit(l, choose, d, acu_ptx_constant(l, bits, size), zero, yes);
        return;
    }
    ptx_slot low = acu_ptx_temp(l, size), high = acu_ptx_temp(l, size);
    emit(l, choose, low, acu_ptx_constant(l, bits, size), zero, yes);
    emit(l, choose, high, acu_ptx_constant(l, bits << 16, size), zero, upper);
    emit(l, "or.b32", d, low, high, 0);
}

/* lop3 with a predicate: whether the result is not 0, combined with another predicate. */
void acu_ptx_lower_lop3(ptx_lowering *l, const ptx_instruction *i) {
    ptx_words words;
    acu_ptx_words(l, i, &words);
    int logic = acu_ptx_take_one(&words, "and or");
    if (logic < 0) {
        if (i->operand_count == 5 && i->operands[4].kind != PTX_INTEGER)
            acu_ptx_mismatch(l);
        acu_ptx_lower_by_form(l, i);
        return;
    }
    if (acu_ptx_take_type(&words) != PTX_B32)
        acu_ptx_invalid(l, "Unexpected instruction types specified for 'lop3'");
    if (i->operand_count != 7 || i->operands[5].kind != PTX_INTEGER)
        acu_ptx_mismatch(l);
    ptx_slot d = acu_ptx_target(l, &i->operands[0], PTX_B32),
             p = acu_ptx_target(l, &i->operands[1], PTX_PRED);
    ptx_slot by = acu_ptx_source(l, &i->operands[6], PTX_PRED), some = acu_ptx_temp(l, 0);
    ptx_slot slots[6] = {d};
    for (unsigned n = 1; n <= 4; n++)
        slots[n] = acu_ptx_source(l, &i->operands[n + 1], PTX_B32);
    acu_ptx_lower_form(l, acu_ptx_form_find("lop3.b32"), slots);
    emit(l, "setp.ne.b32", some, d, acu_ptx_constant(l, 0, 4), 0);
    emit(l, logic ? "or.pred" : "and.pred", p, some, by, 0);
}
