/* Which arrays there can be. */
#ifndef ACU_SIM_MEMORY_ARRAY_SHAPE_H
#define ACU_SIM_MEMORY_ARRAY_SHAPE_H

#include "sim/device/device.h"
#include "sim/sim.h"

/* The flags that an array may have. */
#define ACU_SIM_ARRAY_FLAGS                                                                        \
    ((unsigned)cudaArrayLayered | cudaArraySurfaceLoadStore | cudaArrayCubemap |                   \
     cudaArrayTextureGather | cudaArrayColorAttachment | cudaArraySparse |                         \
     cudaArrayDeferredMapping)

/* Looks at what CUDA looks at before captures. */
cudaError_t acu_sim_array_validate(const acu_sim_device *device,
                                   const struct cudaChannelFormatDesc *desc,
                                   const struct cudaExtent *extent, unsigned flags);
/* Looks at what CUDA looks at after captures. */
cudaError_t acu_sim_array_validate_kind(const struct cudaChannelFormatDesc *desc,
                                        const struct cudaExtent *extent, unsigned flags);

#endif
