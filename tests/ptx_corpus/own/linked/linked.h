/* What the files of the program have of each other. */
#pragma once
#include "../check.h"

typedef int (*unary)(int);

extern __device__ int offset;
extern __constant__ int factors[4];
extern __device__ unary operations[2];
extern __device__ int twice(int value);
extern __global__ void of_the_other_file(int *out);

/* Both files have these. */
template <typename T> __device__ T counter = 5;
inline __device__ __noinline__ int sevenfold(int value) {
    return value * 7;
}

/* The other file's. */
long run_the_other_file();
