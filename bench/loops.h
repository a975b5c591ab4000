/* The same loops twice: over NVIDIA's names, linked directly, and over anycuda's wrappers. */
#ifndef LOOPS_H
#define LOOPS_H

#include "pairs.h"

loop direct_cudaGetDevice, direct_cudaStreamQuery, direct_cudaEventRecord;
loop anycuda_cudaGetDevice, anycuda_cudaStreamQuery, anycuda_cudaEventRecord;

extern void *bench_stream, *bench_event;

#endif
