/*
 * wgmma: four warps multiply matrices together. Each has 16 rows of a, in registers or in shared
 * memory, and of the result. Products are made at once, when all four warps have come to them, so
 * that what waits for them has nothing to wait for.
 */
#include "sim/ptx/wgmma.h"

#include "sim/ptx/access.h"
#include "sim/ptx/check_inside.h"
#include "sim/ptx/grid.h"
#include "sim/ptx/lower_inside.h"

#include <string.h>

/* Of a group; of a warp; of a tile, whose b has twice the k where a is sparse. */
enum { WARPS = 4, ROWS = 16, COLUMNS = 16, MOST_K = 32, MOST_B_K = 2 * MOST_K };

/* What an operation does; `more` of it. */
typedef struct group_product {
    ptx_shared_matrix a, b;
    bool a_in_registers, negates_a, negates_b;
    ptx_slot a_at, b_at, scale; /* descriptors; whether the result is added to */
    ptx_slot *fenced;
    unsigned n;
    ptx_product part[256 / COLUMNS]; /* each of 16 columns, the last one perhaps of 8 */
} group_product;

/* ---- the factors ---- */

static uint64_t descriptor_of(const ptx_warp *w, ptx_slot slot) {
    uint64_t bits;
    memcpy(&bits, ptx_at(w, slot), sizeof bits);
    return bits;
}

static void negate(uint32_t *elements, unsigned count, ptx_element element) {
    uint32_t sign = UINT32_C(1) << (ptx_element_bits(element) - 1);
    for (unsigned n = 0; n < count; n++)
        elements[n] ^= sign;
}

/* Returns how many elements along k b has. */
static unsigned b_k(const group_product *g, const ptx_tile *t) {
    return t->k * (g->part[0].sparse ? 2 : 1);
}

/* Copies the rows of a that a warp has. */
static void read_a(ptx_warp *w, const ptx_op *op, ptx_tile *t) {
    const group_product *g = op->more;
    if (g->a_in_registers)
        acu_ptx_fragment_read_a(w, &g->part[0], t);
    else
        acu_ptx_shared_matrix_read(w, op, &g->a, descriptor_of(w, g->a_at),
                                   w->number % WARPS * ROWS, ROWS, t->a);
    if (g->negates_a)
        negate(t->a, ROWS * t->k, g->a.element);
}

static void read_b(ptx_warp *w, const ptx_op *op, unsigned part, ptx_tile *t) {
    const group_product *g = op->more;
    acu_ptx_shared_matrix_read(w, op, &g->b, descriptor_of(w, g->b_at), part * COLUMNS, t->n, t->b);
    if (g->negates_b)
        negate(t->b, t->n * b_k(g, t), g->b.element);
}

/* ---- the product ---- */

static void multiply_part(ptx_warp *w, const ptx_op *op, unsigned part, const uint32_t *a,
                          const uint32_t *b, ptx_tile *t) {
    const group_product *g = op->more;
    const ptx_product *p = &g->part[part];
    memcpy(t->a, a, (size_t)ROWS * t->k * sizeof *a); /* products change the tile */
    memcpy(t->b, b, (size_t)t->n * b_k(g, t) * sizeof *b);
    if (*(const uint32_t *)ptx_at(w, g->scale) & 1)
        acu_ptx_fragment_read_c(w, p, t);
    else
        memset(t->c, 0, (size_t)ROWS * t->n * sizeof *t->c);
    if (p->sparse)
        acu_ptx_multiply_selected(w, p, t);
    else
        acu_ptx_multiply(t, p, w->worker->launch->machine->capability);
    acu_ptx_fragments_write(w, p, t);
}

static void multiply(ptx_warp *group, const ptx_op *op) {
    const group_product *g = op->more;
    ptx_tile t;
    uint32_t a[WARPS][ROWS * MOST_K], b[COLUMNS * MOST_B_K];
    t.m = ROWS;
    t.k = g->part[0].k / (g->a.element == PTX_E_B1 ? 32u : 1);
    for (unsigned n = 0; n < WARPS; n++) {
        acu_ptx_warp_set_mask(&group[n], ~UINT32_C(0));
        read_a(&group[n], op, &t);
        memcpy(a[n], t.a, (size_t)ROWS * t.k * sizeof *t.a);
        if (descriptor_of(&group[n], g->b_at) != descriptor_of(group, g->b_at))
            acu_ptx_fail(&group[n], 0, op, 719, 0,
                         "the warps of a group have different descriptors of a matrix");
    }
    for (unsigned part = 0; part * COLUMNS < g->n; part++) {
        t.n = g->part[part].n;
        read_b(group, op, part, &t);
        memcpy(b, t.b, (size_t)t.n * b_k(g, &t) * sizeof b[0]);
        for (unsigned n = 0; n < WARPS; n++)
            multiply_part(&group[n], op, part, a[n], b, &t);
    }
}

/* ---- warps that meet ---- */

/* Returns the split of a warp that waits for its group; NULL: none does. */
static ptx_split *waiting(ptx_warp *w) {
    for (unsigned i = 0; i < w->split_count; i++)
        if (w->splits[i].wait == PTX_AT_BARRIER && w->splits[i].barrier == PTX_GROUP_BARRIER)
            return &w->splits[i];
    return NULL;
}

/* Looks who has come; false: some have not. */
static bool all_have_come(ptx_warp *group, const ptx_warp *last, uint32_t pc, const ptx_op *op) {
    for (unsigned n = 0; n < WARPS; n++) {
        const ptx_split *s = waiting(&group[n]);
        if (&group[n] == last)
            continue;
        if (!s)
            return false;
        if (s->pc != pc)
            acu_ptx_fail(&group[n], 0, op, 719, 0,
                         "the warps of a group do not execute the same wgmma.mma_async");
    }
    return true;
}

static void check_fence(ptx_warp *w, const ptx_op *op) {
    const group_product *g = op->more;
    uint32_t *fenced = ptx_at(w, *g->fenced);
    if (!*fenced && w->code->watch.checks & PTX_CHECK_SYNC)
        acu_ptx_check_report(w, op, 0, PTX_CHECK_SYNC,
                             "no wgmma.fence is before the first wgmma.mma_async");
    *fenced = 1;
}

static ptx_step meet(ptx_warp *w, const ptx_op *op) {
    ptx_split *s = ptx_current(w);
    unsigned first = w->number / WARPS * WARPS;
    if (s->mask != ~UINT32_C(0) || first + WARPS > w->block->warp_count)
        acu_ptx_fail(w, (unsigned)__builtin_ctz(s->mask), op, 719, 0,
                     "wgmma needs four whole warps, whose threads come together");
    ptx_warp *group = &w->block->warps[first];
    check_fence(w, op);
    if (!all_have_come(group, w, s->pc, op)) {
        s->wait = PTX_AT_BARRIER;
        s->barrier = PTX_GROUP_BARRIER;
        return PTX_STOP;
    }
    multiply(group, op);
    for (unsigned n = 0; n < WARPS; n++) {
        ptx_split *other = &group[n] == w ? s : waiting(&group[n]);
        other->wait = PTX_READY;
        other->pc++;
    }
    w->block->opened++;
    return PTX_GO;
}

/* Lanes of a warp that were apart come together. */
static void gather(ptx_warp *w, const ptx_op *op) {
    (void)w;
    (void)op;
}

/* ---- which products there are ---- */

static bool is_float(ptx_element element) {
    return element <= PTX_E_E5M2;
}

static bool is_half(ptx_element element) {
    return element == PTX_E_F16 || element == PTX_E_BF16;
}

static bool is_byte(ptx_element element) {
    return element == PTX_E_S8 || element == PTX_E_U8;
}

/* Whether a can be multiplied with b into sums of d. */
static bool fit(ptx_element d, ptx_element a, ptx_element b) {
    bool is_fp8 = a == PTX_E_E4M3 || a == PTX_E_E5M2;
    if (is_fp8 ? b != PTX_E_E4M3 && b != PTX_E_E5M2 : is_byte(a) ? !is_byte(b) : a != b)
        return false;
    if (is_float(a))
        return d == PTX_E_F32 || (d == PTX_E_F16 && (a == PTX_E_F16 || is_fp8));
    return d == PTX_E_S32 && (is_byte(a) || a == PTX_E_B1);
}

/* ---- lowering ---- */

static void take_words(ptx_lowering *l, ptx_words *words, group_product *g, ptx_product *p) {
    unsigned m = 0, n = 0, k = 0;
    p->sparse = acu_ptx_take(words, "sp");
    acu_ptx_need(l, words, "sync");
    acu_ptx_take(words, "aligned");
    bool good = acu_ptx_take_shape(words, &m, &n, &k);
    p->satfinite = acu_ptx_take(words, "satfinite");
    p->by_and = acu_ptx_take(words, "and");
    bool counts = acu_ptx_take(words, "popc");
    p->c.element = p->d.element = acu_ptx_take_element(words);
    p->a.element = g->a.element = acu_ptx_take_element(words);
    p->b.element = g->b.element = acu_ptx_take_element(words);
    acu_ptx_words_end(l, words);
    good &= g->b.element != PTX_E_NONE && fit(p->d.element, g->a.element, g->b.element);
    good = good && m == 64 && n >= 8 && n <= 256 && n % 8 == 0 &&
           k * ptx_element_bits(g->a.element) == (p->sparse ? 512 : 256) &&
           (is_float(g->a.element) || n % 16 == 0 || n == 8 || n == 24) &&
           (p->by_and && counts) == (g->a.element == PTX_E_B1) &&
           (!p->satfinite || is_byte(g->a.element)) && !(p->sparse && g->a.element == PTX_E_B1);
    if (!good)
        acu_ptx_invalid(l, "Illegal matrix shape or types for instruction '%s'",
                        acu_ptx_first_word(l));
    g->a.chunks = 2;
    g->b.chunks = p->sparse ? 4 : 2;
    p->m = ROWS;
    p->k = (uint16_t)(p->sparse ? k / 2 : k);
    g->n = n;
}

/* Gives each part the registers of its columns; they are read and written. */
static void take_sums(ptx_lowering *l, const ptx_operand *o, group_product *g,
                      const ptx_product *like) {
    bool narrow = like->d.element == PTX_E_F16;
    ptx_type type = like->d.element == PTX_E_F32 ? PTX_F32 : PTX_B32;
    unsigned count = g->n / 8 * (narrow ? 2 : 4), each = narrow ? 4 : 8;
    if (o->kind != PTX_LIST || o->element_count != count)
        acu_ptx_mismatch(l);
    for (unsigned part = 0; part * COLUMNS < g->n; part++) {
        unsigned left = g->n - part * COLUMNS;
        g->part[part] = *like;
        g->part[part].n = left < COLUMNS ? 8 : COLUMNS;
        g->part[part].c.count = g->part[part].d.count = (uint8_t)(left < COLUMNS ? each / 2 : each);
    }
    for (unsigned n = 0; n < count; n++) {
        ptx_product *p = &g->part[n / each];
        p->c.slots[n % each] = p->d.slots[n % each] = acu_ptx_target(l, &o->elements[n], type);
    }
}

/* Takes 1 or another number; returns whether it is the other one. */
static bool take_choice(ptx_lowering *l, const ptx_operand *o, int64_t one, int64_t other) {
    if (o->kind != PTX_INTEGER || ((int64_t)o->bits != one && (int64_t)o->bits != other))
        acu_ptx_mismatch(l);
    return (int64_t)o->bits == other;
}

static void take_operands(ptx_lowering *l, const ptx_instruction *i, group_product *g,
                          ptx_product *p) {
    bool scales = is_float(g->a.element), half = is_half(g->a.element);
    g->a_in_registers = i->operand_count > 1 && i->operands[1].kind == PTX_LIST;
    unsigned next = p->sparse ? 5 : 3; /* behind the factors and the metadata */
    unsigned count = next + 1u + (scales ? 2 : 0) + (half ? 2 - g->a_in_registers : 0);
    if (i->operand_count != count)
        acu_ptx_mismatch(l);
    if (p->sparse)
        acu_ptx_take_metadata(l, &i->operands[3], &i->operands[4], p);
    if (g->a_in_registers) {
        acu_ptx_fragment(l, &i->operands[1], g->a.element, false, &p->a);
        if (p->a.count != 4)
            acu_ptx_mismatch(l);
    } else {
        g->a_at = acu_ptx_source(l, &i->operands[1], PTX_B64);
    }
    g->b_at = acu_ptx_source(l, &i->operands[2], PTX_B64);
    g->scale = acu_ptx_source(l, &i->operands[next], PTX_PRED);
    if (scales) {
        g->negates_a = take_choice(l, &i->operands[next + 1], 1, -1);
        g->negates_b = take_choice(l, &i->operands[next + 2], 1, -1);
    }
    if (half && !g->a_in_registers)
        g->a.transposed = take_choice(l, &i->operands[next + 3], 0, 1);
    if (half)
        g->b.transposed = take_choice(l, &i->operands[count - 1], 0, 1);
}

static void lower_product(ptx_lowering *l, const ptx_instruction *i, ptx_words *words) {
    group_product *g = acu_ptx_lower_alloc(l, sizeof *g);
    ptx_product p = {.by_group = true, .loops = acu_ptx_matrix_loops()};
    take_words(l, words, g, &p);
    g->b.is_b = true;
    take_operands(l, i, g, &p);
    take_sums(l, &i->operands[0], g, &p);
    g->fenced = acu_ptx_lower_alloc(l, sizeof *g->fenced);
    *g->fenced = acu_ptx_state(l, PTX_STATE_FENCED, 4);
    uint32_t site = acu_ptx_site(l);
    acu_ptx_emit_together(l, gather);
    ptx_op *op = acu_ptx_emit_flow(l, meet);
    op->more = g;
    op->site = site;
}

static void fence(ptx_warp *w, const ptx_op *op) {
    *(uint32_t *)ptx_at(w, op->d) = 1;
}

void acu_ptx_lower_wgmma(ptx_lowering *l, const ptx_instruction *i) {
    ptx_words words;
    acu_ptx_words(l, i, &words);
    if (acu_ptx_take(&words, "mma_async")) {
        lower_product(l, i, &words);
        return;
    }
    int which = acu_ptx_take_one(&words, "fence commit_group wait_group");
    acu_ptx_need(l, &words, "sync");
    acu_ptx_take(&words, "aligned");
    acu_ptx_words_end(l, &words);
    if (which < 0 || i->operand_count != (which == 2))
        acu_ptx_mismatch(l);
    if (which == 0) {
        ptx_slot fenced = acu_ptx_state(l, PTX_STATE_FENCED, 4);
        acu_ptx_emit(l, fence)->d = fenced;
    }
}

/* How many registers a thread has makes no difference. */
void acu_ptx_lower_setmaxnreg(ptx_lowering *l, const ptx_instruction *i) {
    ptx_words words;
    acu_ptx_words(l, i, &words);
    bool good = acu_ptx_take_one(&words, "inc dec") >= 0;
    acu_ptx_need(l, &words, "sync");
    acu_ptx_need(l, &words, "aligned");
    good &= acu_ptx_take(&words, "u32");
    acu_ptx_words_end(l, &words);
    if (!good || i->operand_count != 1 || i->operands[0].kind != PTX_INTEGER ||
        i->operands[0].bits < 24 || i->operands[0].bits > 256 || i->operands[0].bits % 8)
        acu_ptx_mismatch(l);
}
