/*
 * How devices round sums of products: as is published of tensor cores, as an H100 answered for mma
 * and wmma, and an H200 for wgmma and mma.sp (docs/internals/ptx_matrix.md).
 */
#include "sim/ptx/matrix.h"

enum {
    ANY_FLOAT = 1u << PTX_E_F16 | 1u << PTX_E_BF16 | 1u << PTX_E_TF32 | 1u << PTX_E_E4M3 |
        1u << PTX_E_E5M2,
    FP8 = 1u << PTX_E_E4M3 | 1u << PTX_E_E5M2,
};

/* The first row that fits holds. */
static const struct {
    int capability;    /* this one and later ones: 90 is 9.0 */
    bool by_group;     /* of wgmma only */
    unsigned elements; /* the set of the factors' */
    ptx_sum_way way;
    uint8_t fraction, bytes; /* bytes of factors that are added at once */
    bool short_f32;
} rows[] = {
    {90, true, FP8, PTX_SUM_IN_STEPS, 13, 32, true},
    {90, false, FP8, PTX_SUM_IN_HALVES, 25, 0, false},
    {90, false, ANY_FLOAT, PTX_SUM_IN_STEPS, 25, 32, false},
    {89, false, FP8, PTX_SUM_IN_STEPS, 13, 16, true},
    {75, false, ANY_FLOAT, PTX_SUM_IN_STEPS, 24, 16, false},
    {0, false, ANY_FLOAT, PTX_SUM_IN_STEPS, 23, 8, false},
};

ptx_rounding acu_ptx_rounding(int capability, const ptx_product *p) {
    size_t n = 0;
    while (rows[n].capability &&
           (capability < rows[n].capability || (rows[n].by_group && !p->by_group) ||
            !(rows[n].elements >> p->a.element & 1)))
        n++;
    ptx_rounding r = {.way = rows[n].way,
                      .fraction = rows[n].fraction,
                      .together = rows[n].bytes * 8u / ptx_element_bits(p->a.element),
                      .short_f32 = rows[n].short_f32};
    if (r.way == PTX_SUM_IN_HALVES)
        r.together = p->k / 2;
    if (p->a.element == PTX_E_TF32 && p->m == 16 && p->n == 16 && !p->by_group)
        r.together = 4; /* wmma's: ptxas makes two instructions with a k of 4 of it */
    if (capability >= 80 && ptx_is_of_volta(p))
        r.way = PTX_SUM_BY_MULTIPLY_ADD;
    return r;
}
