/*
 * The counterpart of CUDA's <device_launch_parameters.h>: where a thread of a kernel is. On the
 * host these are declared only, for code that is compiled for both.
 */
#ifndef ACU_DEVICE_LAUNCH_PARAMETERS_H
#define ACU_DEVICE_LAUNCH_PARAMETERS_H

#include <anycuda/cudart.h>

/* cudart.h declares nothing where NVIDIA's own headers came first: it stops there with an #error.
 */
#if defined(ACU_CUDART_TYPES_H)

ACU_BEGIN_C

#define __DEVICE_LAUNCH_PARAMETERS_H__ 1

extern const uint3 threadIdx, blockIdx;
extern const dim3 blockDim, gridDim;
extern const int warpSize;

ACU_END_C

#endif
#endif
