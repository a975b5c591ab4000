/*
 * The handle of a grid's group is the address of the launch's barrier, which %envreg1 and %envreg2
 * have; a launch that is not cooperative has none. As in CUDA's cooperative groups, the barrier's
 * second word is counted up by one thread of each block, and its highest bit changes when the last
 * block has come.
 */
#include "sim/code/grid_group.h"

#define FUNCTION(name, params, body)                                                               \
    ".weak .func (.param .b32 result) " name "(" params ")\n{\n"                                   \
    ".reg .pred %p<3>; .reg .b32 %r<16>; .reg .b64 %d<4>;\n" body                                  \
    "mov.u32 %r0, 0;\nbra.uni END;\n"                                                              \
    "NONE:\nmov.u32 %r0, 1;\n" /* cudaErrorInvalidValue */                                         \
    "END:\nst.param.b32 [result], %r0;\nret;\n}\n"

#define NEEDS_HANDLE "ld.param.u64 %d0, [handle];\nsetp.eq.u64 %p0, %d0, 0;\n@%p0 bra NONE;\n"

/* %r1 to %r3: the thread in its block; %r4 to %r6: the block in the grid. */
#define PLACE                                                                                      \
    "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\nmov.u32 %r3, %tid.z;\n"                           \
    "mov.u32 %r4, %ctaid.x;\nmov.u32 %r5, %ctaid.y;\nmov.u32 %r6, %ctaid.z;\n"

/* %r7 to %r9: the extents of a block; %r10 to %r12: those of the grid. */
#define EXTENTS                                                                                    \
    "mov.u32 %r7, %ntid.x;\nmov.u32 %r8, %ntid.y;\nmov.u32 %r9, %ntid.z;\n"                        \
    "mov.u32 %r10, %nctaid.x;\nmov.u32 %r11, %nctaid.y;\nmov.u32 %r12, %nctaid.z;\n"

/* The first block adds what brings the highest bit to change when all others have added 1. */
#define SYNCHRONIZE                                                                                \
    FUNCTION("cudaCGSynchronize", ".param .b64 handle, .param .b32 flags",                         \
             NEEDS_HANDLE PLACE EXTENTS                                                            \
             "bar.sync 0;\nor.b32 %r1, %r1, %r2;\nor.b32 %r1, %r1, %r3;\n"                         \
             "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra WAIT;\n"                                          \
             "or.b32 %r4, %r4, %r5;\nor.b32 %r4, %r4, %r6;\nsetp.eq.u32 %p1, %r4, 0;\n"            \
             "mul.lo.u32 %r10, %r10, %r11;\nmul.lo.u32 %r10, %r10, %r12;\n"                        \
             "sub.u32 %r10, 0x80000001, %r10;\nselp.b32 %r10, %r10, 1, %p1;\n"                     \
             "membar.gl;\natom.add.u32 %r11, [%d0+4], %r10;\n"                                     \
             "AGAIN:\nld.volatile.u32 %r12, [%d0+4];\nxor.b32 %r12, %r12, %r11;\n"                 \
             "setp.ge.s32 %p2, %r12, 0;\n@%p2 bra AGAIN;\nmembar.gl;\n"                            \
             "WAIT:\nbar.sync 0;\n")

/* Writes a number to where the parameter points, which may be NULL. */
#define WRITE(param, number)                                                                       \
    "ld.param.u64 %d1, [" param "];\nsetp.ne.u64 %p1, %d1, 0;\n@%p1 st.u32 [%d1], " number ";\n"

const char acu_sim_grid_group_ptx[] =
    ".version 6.3\n.target sm_52\n.address_size 64\n"
    ".weak .func (.param .b64 handle) cudaCGGetIntrinsicHandle(.param .b32 scope)\n{\n"
    ".reg .pred %p0; .reg .b32 %r<3>; .reg .b64 %d0;\n"
    "ld.param.u32 %r0, [scope];\nmov.b32 %r1, %envreg1;\nmov.b32 %r2, %envreg2;\n"
    "mov.b64 %d0, {%r2, %r1};\nsetp.ne.u32 %p0, %r0, 1;\n@%p0 mov.u64 %d0, 0;\n"
    "st.param.b64 [handle], %d0;\nret;\n}\n" /* */
    SYNCHRONIZE ".weak .func (.param .b32 result) "
    "cudaCGSynchronizeGrid(.param .b64 handle, .param .b32 flags);\n"
    ".alias cudaCGSynchronizeGrid, cudaCGSynchronize;\n" /* */
    FUNCTION("cudaCGGetSize", ".param .b64 threads, .param .b64 grids, .param .b64 handle",
             NEEDS_HANDLE EXTENTS
             "mul.lo.u32 %r7, %r7, %r8;\nmul.lo.u32 %r7, %r7, %r9;\nmul.lo.u32 %r7, %r7, %r10;\n"
             "mul.lo.u32 %r7, %r7, %r11;\nmul.lo.u32 %r7, %r7, %r12;\n" WRITE(
                 "threads", "%r7") "mov.u32 %r7, 1;\n" WRITE("grids", "%r7"))
        FUNCTION("cudaCGGetRank", ".param .b64 thread, .param .b64 grid, .param .b64 handle",
                 NEEDS_HANDLE PLACE EXTENTS
                 "mad.lo.u32 %r13, %r6, %r11, %r5;\nmad.lo.u32 %r13, %r13, %r10, %r4;\n"
                 "mad.lo.u32 %r13, %r13, %r9, %r3;\nmad.lo.u32 %r13, %r13, %r8, %r2;\n"
                 "mad.lo.u32 %r13, %r13, %r7, %r1;\n" WRITE(
                     "thread", "%r13") "mov.u32 %r13, 0;\n" WRITE("grid", "%r13"));
