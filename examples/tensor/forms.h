/*
 * What the programs are made of: for each operation a C function, PTX, and WGSL, one below the
 * other in elements.c, rows.c and matmul.c. Here is what their texts have in common.
 *
 * Blocks come first among the arguments of every program, and values after them. In PTX and in C a
 * product is rounded before it is added, so that CUDA computes what the CPU does, bit by bit. WGSL
 * cannot say that: its compiler may fuse the two.
 */
#ifndef FORMS_H
#define FORMS_H

#include "tensor.h"

extern const acu_program_source tensor_add_source, tensor_multiply_source, tensor_scale_source,
    tensor_relu_source, tensor_relu_gradient_source, tensor_sgd_source;        /* elements.c */
extern const acu_program_source tensor_sum_source, tensor_softmax_loss_source; /* rows.c */
extern const acu_program_source tensor_matmul_source;                          /* matmul.c */

/* ---- C: arguments by their position ---- */

#define IN(i)    ((const float *)args[i])
#define OUT(i)   ((float *)args[i])
#define COUNT(i) (*(const uint32_t *)args[i])
#define VALUE(i) (*(const float *)args[i])

/* ---- PTX ---- */

/* The oldest version and target that have what is used: a driver compiles for its own GPU. */
#define PTX_FILE ".version 6.0\n.target sm_52\n.address_size 64\n"

/* %i is the thread's item of `n`; threads beyond the items end. */
#define PTX_ITEM                                                                                   \
    "    .reg .pred %past, %more;\n"                                                               \
    "    .reg .b32 %i, %k, %n, %block, %threads, %thread;\n"                                       \
    "    .reg .b64 %at;\n"                                                                         \
    "    mov.u32 %block, %ctaid.x;\n"                                                              \
    "    mov.u32 %threads, %ntid.x;\n"                                                             \
    "    mov.u32 %thread, %tid.x;\n"                                                               \
    "    mad.lo.u32 %i, %block, %threads, %thread;\n"                                              \
    "    ld.param.u32 %n, [n];\n"                                                                  \
    "    setp.ge.u32 %past, %i, %n;\n"                                                             \
    "    @%past bra END;\n"

/* Loads the block of a parameter: its register is the address of the first element in it. */
#define PTX_BLOCK(name)                                                                            \
    "    .reg .b64 %" name ";\n"                                                                   \
    "    ld.param.u64 %" name ", [" name "];\n"                                                    \
    "    cvta.to.global.u64 %" name ", %" name ";\n"

/* Loads the block of a parameter: its register is the address of element `index`. */
#define PTX_BLOCK_AT(name, index)                                                                  \
    PTX_BLOCK(name) "    mad.wide.u32 %" name ", %" index ", 4, %" name ";\n"

/* Loads a value. */
#define PTX_COUNT(name) "    .reg .b32 %" name ";\n    ld.param.u32 %" name ", [" name "];\n"
#define PTX_VALUE(name) "    .reg .f32 %" name ";\n    ld.param.f32 %" name ", [" name "];\n"

#define PTX_END "END:\n    ret;\n}\n"

/* ---- WGSL ---- */

#define WGSL_IN(i, name) "@group(0) @binding(" #i ") var<storage, read> " name ": array<f32>;\n"
#define WGSL_OUT(i, name)                                                                          \
    "@group(0) @binding(" #i ") var<storage, read_write> " name ": array<f32>;\n"
#define WGSL_VALUES(i, fields)                                                                     \
    "struct Values { " fields " }\n"                                                               \
    "@group(0) @binding(" #i ") var<uniform> v: Values;\n"

/* i is the invocation's item of `n`; invocations beyond the items end. */
#define WGSL_ITEM(name)                                                                            \
    "@compute @workgroup_size(256)\n"                                                              \
    "fn " name "(@builtin(global_invocation_id) item: vec3<u32>) {\n"                              \
    "    let i = item.x;\n"                                                                        \
    "    if (i >= v.n) { return; }\n"

#endif
