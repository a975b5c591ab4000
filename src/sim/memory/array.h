/* Arrays and mipmapped arrays. */
#ifndef ACU_SIM_MEMORY_ARRAY_H
#define ACU_SIM_MEMORY_ARRAY_H

#include "sim/sim.h"

typedef struct acu_sim_array acu_sim_array;

void acu_sim_arrays_drop(const acu_sim_context *context);

struct acu_sim_array {
    acu_sim_device *device;
    struct cudaChannelFormatDesc desc;
    struct cudaExtent extent;    /* as the program said it: 0 where there is no such dimension */
    size_t width, height, depth; /* in elements; at least 1 */
    size_t element, pitch;       /* in bytes */
    unsigned flags;
    char *bytes;
    bool is_level; /* of a mipmapped array, which has its memory */
    const void *where;
    const acu_sim_context *context;
    acu_sim_array *next, *before;
};

/* NULL if there is none. */
acu_sim_array *acu_sim_array_of(cudaArray_const_t handle);

/* The first level of a mipmapped one. */
const acu_sim_array *acu_sim_array_mipmap_level(cudaMipmappedArray_const_t handle);

/* Bytes of an element; 0: there are no arrays of this format. */
size_t acu_sim_array_format_size(const struct cudaChannelFormatDesc *desc);
void acu_sim_arrays_reset(acu_sim_device *device);
int acu_sim_arrays_leaks(int print);
cudaError_t acu_sim_copy_2d_to_array(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                     const void *src, size_t spitch, size_t width, size_t height,
                                     enum cudaMemcpyKind kind, cudaStream_t stream, bool async);
cudaError_t acu_sim_copy_2d_from_array(void *dst, size_t dpitch, cudaArray_const_t src,
                                       size_t wOffset, size_t hOffset, size_t width, size_t height,
                                       enum cudaMemcpyKind kind, cudaStream_t stream, bool async);
cudaError_t acu_sim_copy_2d_arrays(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
                                   cudaArray_const_t src, size_t wOffsetSrc, size_t hOffsetSrc,
                                   size_t width, size_t height, enum cudaMemcpyKind kind,
                                   cudaStream_t stream);
cudaError_t acu_sim_copy_to_array(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src,
                                  size_t count, enum cudaMemcpyKind kind, cudaStream_t stream,
                                  bool async);
cudaError_t acu_sim_copy_from_array(void *dst, cudaArray_const_t src, size_t wOffset,
                                    size_t hOffset, size_t count, enum cudaMemcpyKind kind,
                                    cudaStream_t stream, bool async);
cudaError_t acu_sim_copy_arrays(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
                                cudaArray_const_t src, size_t wOffsetSrc, size_t hOffsetSrc,
                                size_t count, enum cudaMemcpyKind kind, cudaStream_t stream);

#endif
