/*
 * mma.sp: half of a is zeros, which nobody stores. Of each four units along k two are there; 4 bits
 * of the metadata say which. A unit has 16 bits, of 8-bit elements 8, and of 4-bit ones a pair; of
 * tf32 it is half an element.
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
static unsigned place_of(ptx_warp *w, const ptx_op *op, unsigned row, unsigned n) {
    const ptx_product *p = op->more;
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

/* Multiplies a row with those rows of b that it selects. */
static void multiply_row(ptx_warp *w, const ptx_op *op, const ptx_tile *all, unsigned row,
                         ptx_tile *one) {
    const ptx_product *p = op->more;
    memset(one->a, 0, 8 * sizeof *one->a); /* whole vectors are read */
    memcpy(one->a, all->a + (size_t)row * p->k, p->k * sizeof *one->a);
    for (unsigned n = 0; n < p->k; n++)
        memcpy(one->b + (size_t)n * 8, all->b + (size_t)place_of(w, op, row, n) * 8,
               8 * sizeof *one->b);
    memcpy(one->c, all->c + (size_t)row * 8, 8 * sizeof *one->c);
    acu_ptx_multiply(one, p, w->worker->launch->machine->capability);
}

void acu_ptx_multiply_sparse(ptx_warp *w, const ptx_op *op) {
    const ptx_product *p = op->more;
    ptx_tile all = {.m = p->m, .n = p->n, .k = p->k}, one = {.m = 1, .n = p->n, .k = p->k};
    acu_ptx_fragment_read_a(w, p, &all);
    acu_ptx_fragment_read_c(w, p, &all);
    all.k = 2u * p->k;
    acu_ptx_fragment_read_b(w, p, &all);
    for (unsigned row = 0; row < p->m; row++) {
        multiply_row(w, op, &all, row, &one);
        memcpy(all.d + (size_t)row * 8, one.d, 8 * sizeof *one.d);
    }
    acu_ptx_fragments_write(w, p, &all);
}
