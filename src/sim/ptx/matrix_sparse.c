/*
 * mma.sp, and what wgmma has in common with it: half of a is zeros, which nobody stores. Of each
 * four units along k two are there; 4 bits of the metadata say which. A unit has 16 bits, of 8-bit
 * elements 8, and of 4-bit ones a pair; of tf32 it is half an element.
 */
#include "sim/ptx/grid.h"
#include "sim/ptx/matrix.h"

#include <string.h>

/* Returns the 4 bits for four units of a row. The lanes with a row's bits are those of its four
 * from the selector on; a lane has bits of two rows, or, where elements are narrow, of one. */
static unsigned bits_of_units(const ptx_warp *w, const ptx_product *p, unsigned row,
                              unsigned number) {
    const uint32_t *metadata = ptx_at(w, p->metadata);
    bool narrow = ptx_element_bits(p->a.element) < 16;
    unsigned each = narrow ? 8 : 4, lane = row % 8 * 4 + p->selector * p->selected;
    lane += narrow ? row / 8 + number / each * 2 : number / each;
    return metadata[lane] >> (number % each * 4 + (narrow ? 0 : row / 8 * 16)) & 15;
}

/* Returns which of all units along k the n-th one is that is stored of a row. What the metadata say
 * is done: also a unit twice, or in another order than the instruction says. */
static unsigned unit_of(const ptx_warp *w, const ptx_product *p, unsigned row, unsigned n) {
    unsigned number = n / 2, bits = bits_of_units(w, p, row, number);
    return number * 4 + (n % 2 ? bits >> 2 : bits & 3);
}

/* Returns the k of the n-th element that is stored of a row. */
static unsigned place_of(const ptx_warp *w, const ptx_product *p, unsigned row, unsigned n) {
    bool pairs = ptx_element_bits(p->a.element) == 4;
    return pairs ? unit_of(w, p, row, n / 2) * 2 + n % 2 : unit_of(w, p, row, n);
}

enum { BLOCK = 8 }; /* columns that lie together in a tile */

/* Copies one unit of each column of b: half of the bits of an element of tf32. */
static void select_half(const uint32_t *all, unsigned unit, bool high, uint32_t *one) {
    for (unsigned n = 0; n < BLOCK; n++) {
        uint32_t half = all[unit / 2 * BLOCK + n] >> (unit % 2 * 16) & 0xffff;
        one[n] = high ? one[n] | half << 16 : half;
    }
}

/* Copies the rows of b that a row of a selects. */
static void select_rows(const ptx_warp *w, const ptx_product *p, const ptx_tile *all, unsigned row,
                        ptx_tile *one) {
    const bool is_tf32 = p->a.element == PTX_E_TF32;
    for (unsigned n = 0; n < p->k; n++) {
        const unsigned low = is_tf32 ? unit_of(w, p, row, 2 * n) : 0,
                       high = is_tf32 ? unit_of(w, p, row, 2 * n + 1) : 0,
                       place = is_tf32 ? 0 : place_of(w, p, row, n);
        for (unsigned block = 0; block * BLOCK < p->n; block++) {
            const uint32_t *from = all->b + (size_t)block * 2 * p->k * BLOCK;
            uint32_t *to = one->b + (block * p->k + n) * (size_t)BLOCK;
            if (is_tf32) {
                select_half(from, low, false, to);
                select_half(from, high, true, to);
            } else
                memcpy(to, from + place * (size_t)BLOCK, BLOCK * sizeof *to);
        }
    }
}

/* Multiplies a row with those rows of b that it selects. */
static void multiply_row(const ptx_warp *w, const ptx_product *p, ptx_tile *all, unsigned row) {
    ptx_tile one = {.m = 1, .n = p->n, .k = p->k};
    memset(one.a, 0, BLOCK * sizeof *one.a); /* whole vectors are read */
    memcpy(one.a, all->a + (size_t)row * p->k, p->k * sizeof *one.a);
    select_rows(w, p, all, row, &one);
    for (unsigned block = 0; block * BLOCK < p->n; block++)
        memcpy(one.c + (size_t)block * BLOCK, all->c + ((size_t)block * p->m + row) * BLOCK,
               BLOCK * sizeof *one.c);
    acu_ptx_multiply(&one, p, w->worker->launch->machine->capability);
    for (unsigned block = 0; block * BLOCK < p->n; block++)
        memcpy(all->d + ((size_t)block * p->m + row) * BLOCK, one.d + (size_t)block * BLOCK,
               BLOCK * sizeof *one.d);
}

void acu_ptx_multiply_selected(const ptx_warp *w, const ptx_product *p, ptx_tile *t) {
    for (unsigned row = 0; row < p->m; row++)
        multiply_row(w, p, t, row);
}

void acu_ptx_multiply_sparse(ptx_warp *w, const ptx_op *op) {
    const ptx_product *p = op->more;
    ptx_tile all = {.m = p->m, .n = p->n, .k = p->k};
    acu_ptx_fragment_read_a(w, p, &all);
    acu_ptx_fragment_read_c(w, p, &all);
    all.k = 2u * p->k;
    acu_ptx_fragment_read_b(w, p, &all);
    acu_ptx_multiply_selected(w, p, &all);
    acu_ptx_fragments_write(w, p, &all);
}
