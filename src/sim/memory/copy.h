/* Copies and fills. */
#ifndef ACU_SIM_MEMORY_COPY_H
#define ACU_SIM_MEMORY_COPY_H

#include "sim/sim.h"

typedef struct acu_sim_box { /* a copy's rows, as the calls with two dimensions name them */
    void *to;
    const void *from;
    size_t to_pitch, from_pitch, width, height;
} acu_sim_box;

/* The bodies of the copies and fills, which have variants. Each is a whole call. */
cudaError_t acu_sim_copy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
                         cudaStream_t stream, bool async);
cudaError_t acu_sim_copy_2d(const acu_sim_box *box, enum cudaMemcpyKind kind, cudaStream_t stream,
                            bool async);
cudaError_t acu_sim_copy_3d(const struct cudaMemcpy3DParms *params, cudaStream_t stream,
                            bool async);
cudaError_t acu_sim_copy_3d_peer(const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream,
                                 bool async);

/* Inside of a call; `in_bytes`: x and width are, also in arrays. */
cudaError_t acu_sim_copy_within(const struct cudaMemcpy3DParms *params, bool in_bytes,
                                cudaStream_t stream, bool async);

/* What a node says that it copies: whole elements, also where it copies parts of them. */
struct cudaMemcpy3DParms acu_sim_copy_describe(const acu_sim_op *op);

/* All of them, or none; `early[i]`: the source is read before the call returns. */
cudaError_t acu_sim_copy_all(const struct cudaMemcpy3DParms *copies, const bool *early,
                             size_t count, cudaStream_t stream);
cudaError_t acu_sim_fill_3d(struct cudaPitchedPtr ptr, int value, struct cudaExtent extent,
                            cudaStream_t stream, bool async);
cudaError_t acu_sim_fill(void *to, size_t pitch, int value, size_t width, size_t height,
                         cudaStream_t stream, bool async);
cudaError_t acu_sim_fill_with(const struct cudaMemsetParams *params, cudaStream_t stream,
                              bool async);

/* Judges what they are to do first. Host functions need no judging. */
cudaError_t acu_sim_copy_op(const struct cudaMemcpy3DParms *params, acu_sim_op **op);
cudaError_t acu_sim_fill_op(const struct cudaMemsetParams *params, acu_sim_op **op);
struct cudaMemcpy3DParms acu_sim_copy_params(void *dst, const void *src, size_t count,
                                             enum cudaMemcpyKind kind);

#endif
