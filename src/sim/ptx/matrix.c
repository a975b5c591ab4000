/* mma and wmma.mma: a warp multiplies matrices. */
#include "sim/ptx/matrix.h"

#include "sim/ptx/level.h"
#include "sim/ptx/grid.h"
#include "sim/ptx/lower_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const ptx_matrix_loops acu_ptx_matrix_loops_v1, acu_ptx_matrix_loops_v3,
    acu_ptx_matrix_loops_v4;

const ptx_matrix_loops *acu_ptx_matrix_loops(void) {
    return PTX_OF_LEVEL(acu_ptx_level(), &acu_ptx_matrix_loops_v1, &acu_ptx_matrix_loops_v3,
                        &acu_ptx_matrix_loops_v4);
}

/* ---- what a warp does ---- */

void acu_ptx_multiply(ptx_tile *tile, const ptx_product *p, int capability) {
    switch (p->a.element) {
    case PTX_E_F64:
        p->loops->doubles(tile);
        break;
    case PTX_E_S8:
    case PTX_E_U8:
    case PTX_E_S4:
    case PTX_E_U4:
        p->loops->integers(tile, p);
        break;
    case PTX_E_B1:
        p->loops->bits(tile, p->by_and);
        break;
    default:
        p->loops->floats(tile, p, acu_ptx_rounding(capability, p));
        break;
    }
}

static void do_product(ptx_warp *w, const ptx_op *op) {
    const ptx_product *p = op->more;
    ptx_tile tile;
    acu_ptx_fragments_read(w, p, &tile);
    acu_ptx_multiply(&tile, p, w->worker->launch->machine->capability);
    acu_ptx_fragments_write(w, p, &tile);
}

static void do_quarters(ptx_warp *w, const ptx_op *op) {
    const ptx_product *p = op->more;
    ptx_tile tiles[4];
    for (unsigned n = 0; n < 4; n++) {
        acu_ptx_quarter_read(w, p, n, &tiles[n]);
        acu_ptx_multiply(&tiles[n], p, w->worker->launch->machine->capability);
    }
    for (unsigned n = 0; n < 4; n++)
        acu_ptx_quarter_write(w, p, n, &tiles[n]);
}

/* ---- words and operands ---- */

/* Reads a letter and a number. */
static bool read_size(const char **at, char letter, unsigned *size) {
    char *end = NULL;
    if (**at != letter || (*at)[1] < '1' || (*at)[1] > '9')
        return false;
    unsigned long value = strtoul(*at + 1, &end, 10);
    *size = value < 1000 ? (unsigned)value : 0;
    *at = end;
    return true;
}

bool acu_ptx_take_shape(ptx_words *words, unsigned *m, unsigned *n, unsigned *k) {
    for (unsigned i = 1; i < words->count; i++) {
        const char *at = words->word[i];
        if (!words->taken[i] && read_size(&at, 'm', m) && read_size(&at, 'n', n) &&
            read_size(&at, 'k', k) && !*at)
            return words->taken[i] = true;
    }
    return false;
}

/* Takes the first word that is one of the choices, which blanks separate; returns its number, or
 * -1.
 */
static int take_first(ptx_words *words, const char *choices) {
    for (unsigned i = 1; i < words->count; i++) {
        ptx_words one = {.count = 2, .word = {"", words->word[i]}};
        int number = words->taken[i] ? -1 : acu_ptx_take_one(&one, choices);
        if (number < 0)
            continue;
        words->taken[i] = true;
        return number;
    }
    return -1;
}

ptx_element acu_ptx_take_element(ptx_words *words) {
    int element = take_first(words, "f16 bf16 tf32 e4m3 e5m2 f64 s8 u8 s4 u4 b1 f32 s32");
    return element < 0 ? PTX_E_NONE : (ptx_element)element;
}

bool acu_ptx_take_columns(ptx_words *words) {
    return take_first(words, "row col") == 1;
}

void acu_ptx_fragment(ptx_lowering *l, const ptx_operand *o, ptx_element element, bool is_target,
                      ptx_fragment *f) {
    bool list = o->kind == PTX_LIST;
    unsigned count = list ? o->element_count : 1;
    if (!list && acu_ptx_is(l->instruction, "wmma"))
        acu_ptx_invalid(l, "Vector expected for argument %u",
                        (unsigned)(o - l->instruction->operands));
    ptx_type type = element == PTX_E_F64 ? PTX_F64 : element == PTX_E_F32 ? PTX_F32 : PTX_B32;
    if (count > sizeof f->slots / sizeof *f->slots)
        acu_ptx_mismatch(l);
    f->element = element;
    f->count = (uint8_t)count;
    for (unsigned n = 0; n < count; n++) {
        const ptx_operand *one = list ? &o->elements[n] : o;
        f->slots[n] = is_target ? acu_ptx_target(l, one, type) : acu_ptx_source(l, one, type);
    }
}

ptx_op *acu_ptx_emit_together(ptx_lowering *l, ptx_handler *handler) {
    ptx_slot all = acu_ptx_constant(l, UINT32_MAX, 4);
    ptx_op *op = acu_ptx_emit_flow(l, acu_ptx_flow_sync);
    op->full = op->masked = handler;
    op->a = all;
    return op;
}

/* ---- which products there are ---- */

/* Kinds of elements, as bits of a set. */
#define SET(element) (1u << (element))
enum {
    HALVES = SET(PTX_E_F16),
    BRAINS = SET(PTX_E_BF16),
    TF32S = SET(PTX_E_TF32),
    FP8S = SET(PTX_E_E4M3) | SET(PTX_E_E5M2),
    DOUBLES = SET(PTX_E_F64),
    BYTES = SET(PTX_E_S8) | SET(PTX_E_U8),
    NIBBLES = SET(PTX_E_S4) | SET(PTX_E_U4),
    BITS = SET(PTX_E_B1),
};

typedef struct shape {
    unsigned elements; /* the set of both factors' */
    uint16_t m, n, k;
} shape;

static const shape mma_shapes[] = {
    {HALVES, 8, 8, 4},    {HALVES, 16, 8, 8},   {HALVES, 16, 8, 16},  {BRAINS, 16, 8, 8},
    {BRAINS, 16, 8, 16},  {TF32S, 16, 8, 4},    {TF32S, 16, 8, 8},    {FP8S, 16, 8, 16},
    {FP8S, 16, 8, 32},    {DOUBLES, 8, 8, 4},   {DOUBLES, 16, 8, 4},  {DOUBLES, 16, 8, 8},
    {DOUBLES, 16, 8, 16}, {BYTES, 8, 8, 16},    {BYTES, 16, 8, 16},   {BYTES, 16, 8, 32},
    {NIBBLES, 8, 8, 32},  {NIBBLES, 16, 8, 32}, {NIBBLES, 16, 8, 64}, {BITS, 8, 8, 128},
    {BITS, 16, 8, 128},   {BITS, 16, 8, 256},   {0, 0, 0, 0},
};

static const shape wmma_shapes[] = {
    {HALVES, 16, 16, 16}, {HALVES, 32, 8, 16}, {HALVES, 8, 32, 16}, {BRAINS, 16, 16, 16},
    {BRAINS, 32, 8, 16},  {BRAINS, 8, 32, 16}, {BYTES, 16, 16, 16}, {BYTES, 32, 8, 16},
    {BYTES, 8, 32, 16},   {TF32S, 16, 16, 8},  {DOUBLES, 8, 8, 4},  {NIBBLES, 8, 8, 32},
    {BITS, 8, 8, 128},    {0, 0, 0, 0},
};

/* k is that of b; half of it is stored of a. */
static const shape sparse_shapes[] = {
    {HALVES, 16, 8, 16}, {HALVES, 16, 8, 32},  {BRAINS, 16, 8, 16},   {BRAINS, 16, 8, 32},
    {TF32S, 16, 8, 8},   {TF32S, 16, 8, 16},   {FP8S, 16, 8, 64},     {BYTES, 16, 8, 32},
    {BYTES, 16, 8, 64},  {NIBBLES, 16, 8, 64}, {NIBBLES, 16, 8, 128}, {0, 0, 0, 0},
};

static bool has_shape(const shape *shapes, const ptx_product *p) {
    unsigned set = SET(p->a.element) | SET(p->b.element);
    for (; shapes->elements; shapes++)
        if (!(set & ~shapes->elements) && shapes->m == p->m && shapes->n == p->n &&
            shapes->k == p->k)
            return true;
    return false;
}

/* Whether a sum of products may be of the elements. */
static bool has_sum(ptx_element factor, ptx_element sum) {
    switch (factor) {
    case PTX_E_F16:
    case PTX_E_E4M3:
    case PTX_E_E5M2:
        return sum == PTX_E_F16 || sum == PTX_E_F32;
    case PTX_E_BF16:
    case PTX_E_TF32:
        return sum == PTX_E_F32;
    case PTX_E_F64:
        return sum == PTX_E_F64;
    default:
        return sum == PTX_E_S32;
    }
}

/* Whether a product has the elements and the shape. */
static bool is_product(const ptx_product *p, bool is_wmma) {
    if (p->sparse && (is_wmma || (SET(p->a.element) & FP8S && p->d.element == PTX_E_F16)))
        return false;
    return has_shape(is_wmma     ? wmma_shapes
                     : p->sparse ? sparse_shapes
                                 : mma_shapes,
                     p) &&
           has_sum(p->a.element, p->c.element) && has_sum(p->a.element, p->d.element);
}

/* ---- lowering ---- */

/* Takes the types of d, a, b and c; wmma names only those of d and c where a and b are of f16. */
static void take_elements(ptx_words *words, ptx_product *p, bool is_wmma) {
    ptx_element found[4];
    for (unsigned n = 0; n < 4; n++)
        found[n] = acu_ptx_take_element(words);
    bool two = is_wmma && found[2] == PTX_E_NONE;
    p->d.element = found[0];
    p->a.element = two ? PTX_E_F16 : found[1];
    p->b.element = two ? PTX_E_F16 : found[2];
    p->c.element = two ? found[1] : found[3];
}

/* Writes what ptxas calls the instruction: wmma.load.a, mma. */
static const char *matrix_name(ptx_lowering *l) {
    const char *opcode = l->instruction->opcode, *sync = strstr(opcode, ".sync");
    if (!sync || strncmp(opcode, "wmma.", 5) != 0)
        return acu_ptx_first_word(l);
    if (strncmp(opcode, "wmma.mma", 8) == 0)
        return "wmma.mma";
    snprintf(l->first_word, sizeof l->first_word, "%.*s", (int)(sync - opcode), opcode);
    return l->first_word;
}

void acu_ptx_need_aligned(ptx_lowering *l, ptx_words *words) {
    if (!acu_ptx_take(words, "aligned"))
        acu_ptx_invalid(l, ".aligned modifier required for instruction '%s'", matrix_name(l));
}

void acu_ptx_need_layouts(ptx_lowering *l, const ptx_words *words, unsigned count) {
    unsigned found = 0;
    for (unsigned n = 0; n < words->count; n++)
        found += !words->taken[n] &&
                 (strcmp(words->word[n], "row") == 0 || strcmp(words->word[n], "col") == 0);
    if (found < count && count == 1)
        acu_ptx_invalid(l, "layout modifier required for instruction '%s'", matrix_name(l));
    if (found < count)
        acu_ptx_invalid(l, "'%s' modifier required for instruction '%s'",
                        found ? ".blayout" : ".alayout.blayout", matrix_name(l));
}

static void take_words(ptx_lowering *l, const ptx_instruction *i, ptx_product *p, bool is_wmma) {
    ptx_words words;
    unsigned m = 0, n = 0, k = 0;
    acu_ptx_words(l, i, &words);
    int variant = acu_ptx_take_one(&words, "sp sp::ordered_metadata");
    p->sparse = variant >= 0;
    acu_ptx_take(&words, "mma");
    acu_ptx_need(l, &words, "sync");
    acu_ptx_need_aligned(l, &words);
    acu_ptx_need_layouts(l, &words, 2);
    bool shaped = acu_ptx_take_shape(&words, &m, &n, &k);
    p->m = (uint8_t)m;
    p->n = (uint8_t)n;
    p->k = (uint16_t)k;
    p->a_columns = acu_ptx_take_columns(&words);
    p->b_rows = !acu_ptx_take_columns(&words);
    if (!is_wmma && (p->a_columns || p->b_rows) && !(m == 8 && k == 4))
        acu_ptx_invalid(l, "Illegal layout for instruction '%s'", acu_ptx_first_word(l));
    p->satfinite = acu_ptx_take(&words, "satfinite");
    p->by_and = acu_ptx_take_one(&words, "xor and") == 1;
    acu_ptx_take(&words, "popc");
    acu_ptx_take(&words, "rn");
    take_elements(&words, p, is_wmma);
    acu_ptx_words_end(l, &words);
    if (!shaped || !is_product(p, is_wmma))
        acu_ptx_invalid(l, "Illegal matrix shape or types for instruction '%s'",
                        acu_ptx_first_word(l));
}

static void need(ptx_lowering *l, const ptx_fragment *f, unsigned count) {
    if (f->count != count)
        acu_ptx_mismatch(l);
}

void acu_ptx_take_metadata(ptx_lowering *l, const ptx_operand *metadata,
                           const ptx_operand *selector, ptx_product *p) {
    unsigned stored = p->k * ptx_element_bits(p->a.element) / 8; /* bytes of a row */
    p->selected = (uint8_t)(stored / 16 * (ptx_element_bits(p->a.element) < 16 ? 2 : 1));
    p->metadata = acu_ptx_source(l, metadata, PTX_B32);
    if (selector->kind != PTX_INTEGER || selector->bits > 3)
        acu_ptx_mismatch(l);
    p->selector = (uint8_t)selector->bits;
    if ((p->selector + 1) * p->selected > 4 && (p->by_group || p->selected == 4))
        acu_ptx_invalid(l, "Selector %u out of range for instruction '%s'", p->selector,
                        acu_ptx_first_word(l));
    if ((p->selector + 1) * p->selected > 4)
        acu_ptx_not_simulated(l, "the simulator does not execute '%s' with the selector %u",
                              l->instruction->opcode, p->selector);
}

static void take_operands(ptx_lowering *l, const ptx_instruction *i, ptx_product *p, bool is_wmma) {
    if (i->operand_count != (p->sparse ? 6 : 4))
        acu_ptx_mismatch(l);
    unsigned b_k = p->k;
    if (p->sparse) {
        p->k /= 2;
        acu_ptx_take_metadata(l, &i->operands[4], &i->operands[5], p);
    }
    acu_ptx_fragment(l, &i->operands[1], p->a.element, false, &p->a);
    acu_ptx_fragment(l, &i->operands[2], p->b.element, false, &p->b);
    acu_ptx_fragment(l, &i->operands[3], p->c.element, false, &p->c);
    acu_ptx_fragment(l, &i->operands[0], p->d.element, true, &p->d);
    bool quarters = ptx_is_of_volta(p);
    unsigned sums = quarters ? 256 : (unsigned)p->m * p->n, k = quarters ? 16 : p->k;
    b_k = quarters ? 16 : b_k;
    bool all = is_wmma && p->a.element == PTX_E_F16; /* 8 registers for any matrix of f16 */
    need(l, &p->a, all ? 8 : acu_ptx_fragment_size(p->a.element, p->m, k));
    need(l, &p->b, all ? 8 : acu_ptx_fragment_size(p->b.element, p->n, b_k));
    need(l, &p->c, acu_ptx_fragment_size(p->c.element, sums, 1));
    need(l, &p->d, acu_ptx_fragment_size(p->d.element, sums, 1));
}

static void lower_product(ptx_lowering *l, const ptx_instruction *i, bool is_wmma) {
    ptx_product *p = acu_ptx_lower_alloc(l, sizeof *p);
    take_words(l, i, p, is_wmma);
    take_operands(l, i, p, is_wmma);
    p->loops = acu_ptx_matrix_loops();
    ptx_handler *handler = p->sparse            ? acu_ptx_multiply_sparse
                           : ptx_is_of_volta(p) ? do_quarters
                                                : do_product;
    acu_ptx_emit_together(l, handler)->more = p;
}

void acu_ptx_lower_mma(ptx_lowering *l, const ptx_instruction *i) {
    lower_product(l, i, false);
}

void acu_ptx_lower_wmma(ptx_lowering *l, const ptx_instruction *i) {
    lower_product(l, i, true);
}
