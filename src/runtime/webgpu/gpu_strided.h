/*
 * Copies of elements that lie apart: of any size, at any byte, with steps of any sign. Within one
 * block nothing that is written may also be read.
 */
#ifndef ACU_GPU_STRIDED_H
#define ACU_GPU_STRIDED_H

#include "runtime/webgpu/gpu_block.h"

#include <anycuda/backend.h>

/* Copies from one block to another, or within one; the positions are not checked. */
ACU_CHECKED acu_result acu_gpu_block_copy_strided(acu_gpu_block *to, acu_gpu_block *from,
                                                  const acu_backend_strided *strided);

/* ---- the kernels (gpu_strided_text.c) ---- */

enum {
    ACU_GPU_STRIDED_DIMS = ACU_MAX_RANK + 1, /* the first one is inside of an element */
    ACU_GPU_STRIDED_GROUP = 256,             /* threads */
    ACU_GPU_STRIDED_TEXT = 4096
};

/* What a kernel is given, in words of its own size; the numbers wrap, so that steps may be
 * negative. The dimensions are listed from the innermost one on. */
typedef struct acu_gpu_strided {
    uint32_t total; /* threads, or tiles */
    uint32_t rank;  /* at least 1 */
    uint32_t to_at, from_at;
    /* of a tile: what both of its dimensions are; of bytes: the rows */
    uint32_t across, across_to, across_from;
    uint32_t down, down_to, down_from, unused[2];
    uint32_t dims[ACU_GPU_STRIDED_DIMS][4]; /* elements, step in `to`, step in `from`, unused */
} acu_gpu_strided;

/* Writes the WGSL of one of the kernels. */
void acu_gpu_strided_text(int kernel, char text[ACU_GPU_STRIDED_TEXT]);
/* Returns the elements of a side of a kernel's tile. */
uint32_t acu_gpu_strided_side(int kernel);

#endif
