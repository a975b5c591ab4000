/*
 * All headers that ours stand in for, for `-include anycuda/replace.h`: a compiler then reads them
 * before the program's first line, and NVIDIA's own are empty wherever they are found. This serves
 * programs in front of a full toolkit, whose other headers (cublas_v2.h, cudnn.h) include their
 * neighbours in NVIDIA's folder. The interoperability with OpenGL, EGL and VDPAU is left to the
 * headers that a program names, since it needs those libraries' headers first; so is
 * <cuda_occupancy.h>, since NVIDIA's own needs no other header.
 */
#ifndef ACU_REPLACE_H
#define ACU_REPLACE_H

#include <anycuda/cuComplex.h>
#include <anycuda/cuda.h>
#include <anycuda/cuda_bf16.h>
#include <anycuda/cuda_fp16.h>
#include <anycuda/cuda_fp8.h>
#include <anycuda/cuda_runtime.h>
#include <anycuda/math_constants.h>
#include <anycuda/nvrtc.h>

#endif
