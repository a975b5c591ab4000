/*
 * Machine code of kernels. Runs of operations become x86-64 code (AVX2, or AVX-512 where the
 * processor has it); what has no translation is a call of the interpreter's handler, so every
 * kernel can be translated, and computes the same bits.
 */
#ifndef ACU_SIM_PTX_JIT_H
#define ACU_SIM_PTX_JIT_H

#include "sim/ptx/warp.h"

typedef struct ptx_jit ptx_jit;

/* When kernels become machine code. */
typedef enum ptx_jit_use {
    PTX_JIT_NEVER,
    PTX_JIT_HOT,    /* when a warp has executed many instructions */
    PTX_JIT_ALWAYS, /* before they run */
    PTX_JIT_AVX2,   /* the same, without AVX-512 */
} ptx_jit_use;

/* Returns the machine code of the kernel, which is made by the first call. NULL where the processor
 * or the system allows none, or there is no memory. The code owns it. `in_rows`: 32 threads of a
 * warp lie along x, so that they likely access consecutive elements. */
const ptx_jit *acu_ptx_jit_of(const ptx_code *code, ptx_jit_use use, bool in_rows);
/* Returns the machine code that was made; NULL: none was. */
const ptx_jit *acu_ptx_jit_made(const ptx_code *code);
void acu_ptx_jit_free(ptx_jit *jit);

/* How machine code ended. */
typedef enum ptx_jit_end {
    PTX_JIT_FLOW, /* the split's `pc` is an operation that decides where lanes go on */
    PTX_JIT_STOP, /* the warp has ended, or others should have their turn */
    PTX_JIT_WAIT, /* the warp waits at a barrier */
    PTX_JIT_NONE, /* none begins at the split's `pc` */
} ptx_jit_end;
/* Runs the current split of the warp. Where that ends the warp, and the next one of the block is
 * new, it goes on with that, and where it waits at a barrier, with the next one that can run: then
 * `warp` becomes the one that ran last. */
ptx_jit_end acu_ptx_jit_run(const ptx_jit *jit, ptx_warp **warp);

/* Returns how many kernels became machine code since the process began. */
uint64_t acu_ptx_jit_count(void);

#endif
