/*
 * Which element of a matrix each register of each lane has. Lane 4g + t has, of every 8 rows of a
 * or 8 columns of b, the g-th; and the t-th of every 4 registers along k. Of c and d it has two
 * neighbours, 2t and 2t + 1, in the g-th of every 8 rows. So do wmma's fragments, which could have
 * any order.
 */
#include "sim/ptx/matrix.h"
#include "sim/ptx/warp.h"

typedef uint32_t lane_word __attribute__((may_alias));
typedef double lane_double __attribute__((may_alias));

/* Returns how many elements a register has; those of one bit count as words. */
static unsigned elements_in(ptx_element element) {
    return ptx_element_bits(element) == 1 || ptx_element_bits(element) == 64
               ? 1
               : 32 / ptx_element_bits(element);
}

unsigned acu_ptx_fragment_size(ptx_element element, unsigned rows, unsigned k) {
    unsigned bits = ptx_element_bits(element);
    return rows * k * bits / (bits == 64 ? 64 : 32) / PTX_LANES;
}

/* ---- a and b ---- */

/* Copies the elements of one register: each lane has `each` of them, of `bits` bits, which are
 * `step` apart; those of the next g are `row` apart. */
static inline void spread(const lane_word *words, unsigned each, unsigned bits, uint32_t *to,
                          unsigned row, unsigned step) {
    for (unsigned lane = 0; lane < PTX_LANES; lane++) {
        uint32_t word = words[lane],
                 *at = to + (size_t)(lane / 4) * row + (size_t)(lane % 4) * each * step;
        for (unsigned e = 0; e < each; e++)
            at[(size_t)e * step] = word >> e * bits & (UINT32_MAX >> (32 - bits));
    }
}

static void spread_register(const lane_word *words, unsigned each, uint32_t *to, unsigned row,
                            unsigned step) {
    switch (each) {
    case 2:
        spread(words, 2, 16, to, row, step);
        break;
    case 4:
        spread(words, 4, 8, to, row, step);
        break;
    case 8:
        spread(words, 8, 4, to, row, step);
        break;
    default:
        spread(words, 1, 32, to, row, step);
        break;
    }
}

static void spread_doubles(const lane_double *values, double *to, unsigned row, unsigned step) {
    for (unsigned lane = 0; lane < PTX_LANES; lane++)
        to[lane / 4 * row + lane % 4 * step] = values[lane];
}

/* The registers with the same k lie together, one for each 8 rows. */
void acu_ptx_fragment_read_a(const ptx_warp *w, const ptx_product *p, ptx_tile *t) {
    const ptx_fragment *f = &p->a;
    unsigned each = elements_in(f->element), rows = t->m / 8;
    for (unsigned n = 0; n < rows * t->k / (4 * each); n++) {
        unsigned at = n % rows * 8 * t->k + n / rows * 4 * each;
        const void *words = ptx_at(w, f->slots[n]);
        if (f->element == PTX_E_F64)
            spread_doubles(words, t->f64.a + at, t->k, 1);
        else
            spread_register(words, each, t->a + at, t->k, 1);
    }
}

void acu_ptx_fragment_read_b(const ptx_warp *w, const ptx_product *p, ptx_tile *t) {
    const ptx_fragment *f = &p->b;
    unsigned each = elements_in(f->element);
    for (unsigned n = 0; n < t->n / 8 * t->k / (4 * each); n++) {
        const void *words = ptx_at(w, f->slots[n]);
        if (f->element == PTX_E_F64)
            spread_doubles(words, t->f64.b + (size_t)n * 32, 1, 8);
        else
            spread_register(words, each, t->b + (size_t)n * 32 * each, 1, 8);
    }
}

/* ---- c and d ---- */

/* A register, or half a register of two f16, has every other one of 64 elements: 8 rows. */
void acu_ptx_fragment_read_c(const ptx_warp *w, const ptx_product *p, ptx_tile *t) {
    for (unsigned n = 0; n < p->c.count; n++) {
        const void *from = ptx_at(w, p->c.slots[n]);
        const lane_word *words = from;
        const lane_double *doubles = from;
        unsigned at = n / 2 * 64 + n % 2;
        if (p->c.element == PTX_E_F64)
            for (unsigned lane = 0; lane < PTX_LANES; lane++)
                t->f64.c[at + lane * 2] = doubles[lane];
        else if (p->c.element == PTX_E_F16)
            for (unsigned e = 0; e < 64; e++)
                t->c[n * 64 + e] = words[e / 2] >> e % 2 * 16 & 0xffff;
        else
            for (unsigned lane = 0; lane < PTX_LANES; lane++)
                t->c[at + lane * 2] = words[lane];
    }
}

void acu_ptx_fragments_read(const ptx_warp *w, const ptx_product *p, ptx_tile *t) {
    t->m = p->m;
    t->n = p->n;
    t->k = p->a.element == PTX_E_B1 ? p->k / 32u : p->k;
    acu_ptx_fragment_read_a(w, p, t);
    acu_ptx_fragment_read_b(w, p, t);
    acu_ptx_fragment_read_c(w, p, t);
}

static void write_words(const ptx_warp *w, ptx_slot slot, const uint32_t *words) {
    lane_word *to = ptx_at(w, slot);
    for (unsigned lane = 0; lane < PTX_LANES; lane++)
        to[lane] = w->lanes[lane] ? words[lane] : to[lane];
}

static void write_doubles(const ptx_warp *w, ptx_slot slot, const double *every_other) {
    lane_double *to = ptx_at(w, slot);
    for (unsigned lane = 0; lane < PTX_LANES; lane++)
        to[lane] = w->lanes[lane] ? every_other[(size_t)lane * 2] : to[lane];
}

void acu_ptx_fragments_write(const ptx_warp *w, const ptx_product *p, const ptx_tile *t) {
    for (unsigned n = 0; n < p->d.count; n++) {
        unsigned at = n / 2 * 64 + n % 2;
        uint32_t words[PTX_LANES];
        if (p->d.element == PTX_E_F64) {
            write_doubles(w, p->d.slots[n], t->f64.d + at);
            continue;
        }
        if (p->d.element == PTX_E_F16)
            for (unsigned lane = 0; lane < PTX_LANES; lane++)
                words[lane] = t->d[n * 64 + lane * 2] | t->d[n * 64 + lane * 2 + 1] << 16;
        else
            for (unsigned lane = 0; lane < PTX_LANES; lane++)
                words[lane] = t->d[at + lane * 2];
        write_words(w, p->d.slots[n], words);
    }
}

/* ---- four products of 8x8x4 ---- */

/* Lanes x and 16 + x of a quarter q, which are lanes 4q + x and 16 + 4q + x of the warp, have four
 * neighbours of row x or 4 + x each; or of a column, where the other layout is asked for. */
static void read_quarter_of(const ptx_warp *w, const ptx_fragment *f, unsigned quarter, bool across,
                            uint32_t *to, unsigned row, unsigned step) {
    for (unsigned n = 0; n < 8; n++)
        for (unsigned i = 0; i < 4; i++) {
            unsigned lane = n / 4 * 16 + quarter * 4 + n % 4;
            uint32_t word = ((const lane_word *)ptx_at(w, f->slots[i / 2]))[lane];
            unsigned g = across ? n / 4 * 4 + i : n, k = across ? n % 4 : i;
            to[g * row + k * step] = word >> i % 2 * 16 & 0xffff;
        }
}

/* Returns where in the tile the i-th element of c or d of a quarter's lane is. */
static unsigned place_in_quarter(ptx_element element, unsigned n, unsigned i) {
    if (element == PTX_E_F16)
        return n * 8 + i;
    return ((n & 1) + (i & 2) + n / 4 * 4) * 8 + (i & 4) + (n & 2) + (i & 1);
}

void acu_ptx_quarter_read(const ptx_warp *w, const ptx_product *p, unsigned quarter, ptx_tile *t) {
    t->m = t->n = 8;
    t->k = 4;
    read_quarter_of(w, &p->a, quarter, p->a_columns, t->a, 4, 1);
    read_quarter_of(w, &p->b, quarter, p->b_rows, t->b, 1, 8);
    for (unsigned n = 0; n < 8; n++)
        for (unsigned i = 0; i < 8; i++) {
            unsigned lane = n / 4 * 16 + quarter * 4 + n % 4;
            bool narrow = p->c.element == PTX_E_F16;
            const lane_word *words = ptx_at(w, p->c.slots[narrow ? i / 2 : i]);
            t->c[place_in_quarter(p->c.element, n, i)] =
                narrow ? words[lane] >> i % 2 * 16 & 0xffff : words[lane];
        }
}

void acu_ptx_quarter_write(const ptx_warp *w, const ptx_product *p, unsigned quarter,
                           const ptx_tile *t) {
    bool narrow = p->d.element == PTX_E_F16;
    for (unsigned n = 0; n < 8; n++)
        for (unsigned i = 0; i < 8; i += narrow ? 2 : 1) {
            unsigned lane = n / 4 * 16 + quarter * 4 + n % 4;
            uint32_t word = t->d[place_in_quarter(p->d.element, n, i)];
            if (narrow)
                word |= t->d[place_in_quarter(p->d.element, n, i + 1)] << 16;
            if (w->lanes[lane])
                ((lane_word *)ptx_at(w, p->d.slots[narrow ? i / 2 : i]))[lane] = word;
        }
}
