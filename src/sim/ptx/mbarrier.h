/* mbarrier objects: 64 bits of shared memory that count arrivals and bytes. */
#ifndef ACU_SIM_PTX_MBARRIER_H
#define ACU_SIM_PTX_MBARRIER_H

#include "sim/ptx/grid.h"

/* Returns the object at the address of a lane, which is in shared memory of the block, or of its
 * cluster. The kernel ends where there can be none. */
char *acu_ptx_mbarrier_at(ptx_warp *warp, const ptx_op *op, unsigned lane, ptx_space space,
                          uint64_t address);

/* Tells the object that so many of its bytes have come. */
void acu_ptx_mbarrier_complete_bytes(char *object, uint64_t bytes);

/* Arrives at the object, once. The kernel ends where nobody is expected any more. */
void acu_ptx_mbarrier_arrive(ptx_warp *warp, const ptx_op *op, unsigned lane, char *object);

#endif
