/*
 * The keywords that CUDA adds to C. They are defined as nothing, so that a C compiler compiles a
 * function marked `__host__ __device__` as an ordinary function of the host.
 */
#ifndef ACU_KEYWORDS_H
#define ACU_KEYWORDS_H

#include <anycuda/base.h>

ACU_BEGIN_QUIET

/* NVIDIA's header and compilers for CUDA define the keywords themselves. */
#if !defined(__HOST_DEFINES_H__)
#define __HOST_DEFINES_H__ 1

#if !defined(__CUDACC__) && !defined(__CUDA__)
#define __host__
#define __device__
#define __global__
#define __shared__
#define __constant__
#define __managed__
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __cudart_builtin__
#endif

/* `__noinline__` is missing on purpose, because the C++ library uses it inside an attribute. */
#define __no_return__ __attribute__((noreturn))
#undef __forceinline__
#define __forceinline__          __inline__ __attribute__((always_inline))
#define __align__(bytes)         __attribute__((aligned(bytes)))
#define __builtin_align__(bytes) __align__(bytes)
#define __thread__               __thread
#define __annotate__(words)
#define __location__(words) __annotate__(words)
#define __specialization_static

#define CUDARTAPI
#define CUDARTAPI_CDECL
#endif

#if !defined(CUDART_CB)
#define CUDART_CB
#endif
#if !defined(CUDART_DEVICE)
#define CUDART_DEVICE
#endif
#if !defined(CUDAAPI)
#define CUDAAPI
#endif
#if !defined(CUDA_CB)
#define CUDA_CB
#endif

ACU_END_QUIET

#endif
