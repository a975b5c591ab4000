/* What kernels.cu gives to programs in C, which need no header of NVIDIA's for it. */
#ifndef KERNELS_H
#define KERNELS_H

#if defined(__cplusplus)
extern "C" {
#endif

struct CUstream_st;

/* Launches sum = a + b on a stream; the pointers are the device's. Returns CUDA's error. */
int launch_vector_add(const float *a, const float *b, float *sum, int n,
                      struct CUstream_st *stream);

/* Returns the __global__ function itself, which acu_kernel_wrap() takes. */
const void *vector_add_function(void);

#if defined(__cplusplus)
}
#endif

#endif
