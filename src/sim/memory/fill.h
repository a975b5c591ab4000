/* Fills of memory (cudaMemset and its kin). */
#ifndef ACU_SIM_MEMORY_FILL_H
#define ACU_SIM_MEMORY_FILL_H

#include "sim/sim.h"

/* Fills in a stream. A fill of host memory that is not asynchronous is waited for, and the lock is
 * given up meanwhile. Returns the error of the call. */
cudaError_t acu_sim_fill(const struct cudaMemsetParams *params, cudaStream_t stream, bool async);

/* Validates a fill and makes the operation of a node of it, which the caller owns. */
cudaError_t acu_sim_fill_op(const struct cudaMemsetParams *params, acu_sim_op **op);

/* Returns an error, and says why, if a node that fills cannot be instantiated. Captures take fills
 * that a call would refuse: of memory that CUDA does not know, of more than there is, of read-only
 * memory, and of memory that the stream's device may not write. Device memory that was freed is
 * found when the node runs. */
cudaError_t acu_sim_fill_instantiate(const acu_sim_op *op);

#endif
