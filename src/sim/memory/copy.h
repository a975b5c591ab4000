/* Copies between memory and arrays. */
#ifndef ACU_SIM_MEMORY_COPY_H
#define ACU_SIM_MEMORY_COPY_H

#include "sim/sim.h"

/*
 * Bodies of copies, for the runtime and the driver: `async` says whether the call is an
 * asynchronous one. Each validates the copy, gives it to the stream, and returns the error of the
 * call. The lock is given up while the host waits for the copy.
 */
cudaError_t acu_sim_copy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
                         cudaStream_t stream, bool async);
cudaError_t acu_sim_copy_3d(const struct cudaMemcpy3DParms *params, cudaStream_t stream,
                            bool async);
/* `in_bytes`: x and width are bytes also in arrays, where they would be elements else. */
cudaError_t acu_sim_copy_3d_peer(const struct cudaMemcpy3DPeerParms *peer, bool in_bytes,
                                 cudaStream_t stream, bool async);
/* Copies a box whose pitches have been validated. */
cudaError_t acu_sim_copy_box(const struct cudaMemcpy3DParms *params, bool in_bytes,
                             cudaStream_t stream, bool async);
/* Validates all copies, and then gives all of them to the stream, asynchronously. `early[i]`: what
 * the host can read of source i is read before the call returns. */
cudaError_t acu_sim_copy_all(const struct cudaMemcpy3DParms *copies, const bool *early,
                             size_t count, cudaStream_t stream);

/* Bodies of the older copies of `count` bytes to or from an array, in array_copy.c. */
cudaError_t acu_sim_copy_to_array(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src,
                                  size_t count, enum cudaMemcpyKind kind, cudaStream_t stream,
                                  bool async);
cudaError_t acu_sim_copy_from_array(void *dst, cudaArray_const_t src, size_t wOffset,
                                    size_t hOffset, size_t count, enum cudaMemcpyKind kind,
                                    cudaStream_t stream, bool async);

/* Returns what the runtime reports of a copy before it looks at anything else: a direction that
 * does not exist, or memory without the rows. */
cudaError_t acu_sim_copy_validate_shape(const struct cudaMemcpy3DParms *copy);

/* Validates a copy and makes the operation of a node of it, which the caller owns. With `in_bytes`
 * a pitch of 0 is that of rows that are as long as needed, and 0 rows are those that are needed. */
cudaError_t acu_sim_copy_op(const struct cudaMemcpy3DParms *params, bool in_bytes, acu_sim_op **op);
/* Returns the parameters that CUDA reports of a copy's node: in whole elements, also where a part
 * of an element is copied. */
struct cudaMemcpy3DParms acu_sim_copy_describe(const acu_sim_op *op);
/* Returns whether the number is a direction; memory that is not copied may have another one. */
bool acu_sim_copy_is_direction(enum cudaMemcpyKind kind);
/* Returns the parameters of a copy of `count` bytes. */
struct cudaMemcpy3DParms acu_sim_copy_params(void *dst, const void *src, size_t count,
                                             enum cudaMemcpyKind kind);

#endif
