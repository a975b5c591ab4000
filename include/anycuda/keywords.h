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
#define __tile__
#define __tile_builtin__
#define __tile_global__
#define __nv_pure__
#define __experimental_foreign_decl__
#define __experimental_foreign_name__(name)
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __block_size__(...)
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
#define __maxnreg__(count)
#define __local_maxnreg__(count)
#define __inline_hint__
#define __specialization_static
#define __import__
#define __export__
#if !defined(__cdecl)
#define __cdecl
#endif

/* What these answer about the architecture that device code is compiled for: on the host there is
 * none. */
#define __CUDA_ARCH_HAS_FEATURE__(feature)      __CUDA_ARCH_FEAT_##feature
#define __CUDA_HAS_ARCH_FAMILY_SPECIFIC(number) 0
#define __CUDA_HAS_ARCH_SPECIFIC(number)        0

#define __NV_TL__
#define __NV_TL_BUILTIN__
#define __VECTOR_TYPE_DEPRECATED__(text) __attribute__((deprecated(text)))

#define CUDARTAPI
#define CUDARTAPI_CDECL
#endif

/* Between these, programs use what is deprecated without a warning. */
#if !defined(__NV_SILENCE_HOST_DEPRECATION_BEGIN)
#define __NV_SILENCE_HOST_DEPRECATION_BEGIN                                                        \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wdeprecated-declarations\"")
#define __NV_SILENCE_HOST_DEPRECATION_END _Pragma("GCC diagnostic pop")
#define __NV_SILENCE_DEPRECATION_BEGIN    __NV_SILENCE_HOST_DEPRECATION_BEGIN
#define __NV_SILENCE_DEPRECATION_END      __NV_SILENCE_HOST_DEPRECATION_END
#endif

#if !defined(__CUDA_DEPRECATED)
#define __CUDA_DEPRECATED __attribute__((deprecated))
#endif
#if !defined(EXCLUDE_FROM_RTC)
#define EXCLUDE_FROM_RTC
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
