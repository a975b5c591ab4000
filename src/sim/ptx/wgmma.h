/* Matrices in shared memory that descriptors of 64 bits describe, which wgmma multiplies. */
#ifndef ACU_SIM_PTX_WGMMA_H
#define ACU_SIM_PTX_WGMMA_H

#include "sim/ptx/matrix.h"

/* A factor of wgmma. */
typedef struct ptx_shared_matrix {
    ptx_element element;
    unsigned chunks; /* of 16 bytes along k: 2; of b that a sparse a selects from, 4 */
    bool transposed; /* elements of 16 bits with the same k lie together */
    bool is_b;       /* how the tile has it */
} ptx_shared_matrix;

/* Copies rows of a, or columns of b, from the `first` on to a tile's array. `count` is a multiple
 * of 8. The kernel ends where the descriptor cannot be, or leads beyond shared memory. */
void acu_ptx_shared_matrix_read(ptx_warp *warp, const ptx_op *op, const ptx_shared_matrix *matrix,
                                uint64_t descriptor, unsigned first, unsigned count, uint32_t *to);

#endif
