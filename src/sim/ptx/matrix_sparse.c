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

static _Noreturn void fail(ptx_warp *w, const ptx_op *op, unsigned row, unsigned bits) {
    acu_ptx_fail(w, row % 8 * 4, op, 719, 0,
                 "the metadata of a sparse matrix has 0x%x for four units of row %u", bits, row);
}

/* Returns the k of the n-th element that is stored of a row. */
static unsigned place_of(ptx_warp *w, const ptx_op *op, const ptx_product *p, unsigned row,
                         unsigned n) {
    bool is_tf32 = p->a.element == PTX_E_TF32, pairs = ptx_element_bits(p->a.element) == 4;
    unsigned unit = pairs ? n / 2 : n; /* that is stored */
    unsigned number = is_tf32 ? unit : unit / 2, bits = bits_of_units(w, p, row, number);
    unsigned first = bits & 3, second = bits >> 2;
    if (is_tf32) {
        if (bits != 0x4 && bits != 0xe)
            fail(w, op, row, bits);
        return number * 2 + first / 2;
    }
    if (first == second || (p->ordered && first > second))
        fail(w, op, row, bits);
    unsigned place = number * 4 + (unit % 2 ? second : first);
    return pairs ? place * 2 + n % 2 : place;
}

enum { BLOCK = 8 }; /* columns that lie together in a tile */

/* Copies the rows of b that a row of a selects. */
static void select_rows(ptx_warp *w, const ptx_op *op, const ptx_product *p, const ptx_tile *all,
                        unsigned row, ptx_tile *one) {
    for (unsigned n = 0; n < p->k; n++) {
        unsigned place = place_of(w, op, p, row, n);
        for (unsigned block = 0; block * BLOCK < p->n; block++)
            memcpy(one->b + (block * p->k + n) * (size_t)BLOCK,
                   all->b + (block * 2 * p->k + place) * (size_t)BLOCK, BLOCK * sizeof *one->b);
    }
}

/* Multiplies a row with those rows of b that it selects. */
static void multiply_row(ptx_warp *w, const ptx_op *op, const ptx_product *p, ptx_tile *all,
                         unsigned row) {
    ptx_tile one = {.m = 1, .n = p->n, .k = p->k};
    memset(one.a, 0, BLOCK * sizeof *one.a); /* whole vectors are read */
    memcpy(one.a, all->a + (size_t)row * p->k, p->k * sizeof *one.a);
    select_rows(w, op, p, all, row, &one);
    for (unsigned block = 0; block * BLOCK < p->n; block++)
        memcpy(one.c + (size_t)block * BLOCK, all->c + ((size_t)block * p->m + row) * BLOCK,
               BLOCK * sizeof *one.c);
    acu_ptx_multiply(&one, p, w->worker->launch->machine->capability);
    for (unsigned block = 0; block * BLOCK < p->n; block++)
        memcpy(all->d + ((size_t)block * p->m + row) * BLOCK, one.d + (size_t)block * BLOCK,
               BLOCK * sizeof *one.d);
}

void acu_ptx_multiply_selected(ptx_warp *w, const ptx_op *op, const ptx_product *p, ptx_tile *t) {
    for (unsigned row = 0; row < p->m; row++)
        multiply_row(w, op, p, t, row);
}

void acu_ptx_multiply_sparse(ptx_warp *w, const ptx_op *op) {
    const ptx_product *p = op->more;
    ptx_tile all = {.m = p->m, .n = p->n, .k = p->k};
    acu_ptx_fragment_read_a(w, p, &all);
    acu_ptx_fragment_read_c(w, p, &all);
    all.k = 2u * p->k;
    acu_ptx_fragment_read_b(w, p, &all);
    acu_ptx_multiply_selected(w, op, p, &all);
    acu_ptx_fragments_write(w, p, &all);
}
