/*
 * The counterpart of CUDA's <cuda_runtime.h>: the runtime API, the small functions that make its
 * records, and, in C++, overloads for typed pointers, kernels and symbols.
 */
#ifndef ACU_CUDA_RUNTIME_H
#define ACU_CUDA_RUNTIME_H

#include <anycuda/cudart.h>
#include <anycuda/driver_functions.h>
#include <anycuda/vector_functions.h>
#if defined(__cplusplus)
#include <anycuda/channel_descriptor.h>
#include <anycuda/cuda_runtime_cxx.h>
#endif

#endif
