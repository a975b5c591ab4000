/* Kernels whose counts can be computed by hand, for the tests of profiles, and for a GPU's own
 * counters (tests/gpu/profile_ncu.py). Each runs with 2 blocks of 64 threads: 4 warps. */
#ifndef PROFILED_H
#define PROFILED_H

#include <anycuda/sim.h>

enum { PROFILED_BLOCKS = 2, PROFILED_THREADS = 64, PROFILED_WARPS = 4 };
enum { PROFILED_BYTES = 1 << 20, PROFILED_RESULTS = 1 << 19 }; /* of memory; where results are */

typedef struct profiled_kernel {
    const char *name, *text;
    acu_sim_profile counts; /* of one launch, but for `size` and `occupancy` */
} profiled_kernel;

/* %r1 is the thread in its block, %r2 in the grid, %d2 4 * %r2, %d1 the memory, %r9 the shared
 * memory; %r8 is stored. These are 10 instructions before the body and 2 behind it. */
#define PROFILED_TEXT(name, body)                                                                  \
    ".version 8.0\n.target sm_80\n.address_size 64\n.entry " name "(.param .u64 p) {\n"            \
    ".reg .b32 %r<20>; .reg .b64 %d<8>; .reg .pred %p<8>;\n.shared .align 16 .b8 s[8192];\n"       \
    "ld.param.u64 %d1, [p];\ncvta.to.global.u64 %d1, %d1;\nmov.u32 %r1, %tid.x;\n"                 \
    "mov.u32 %r10, %ctaid.x;\nmov.u32 %r11, %ntid.x;\nmad.lo.u32 %r2, %r10, %r11, %r1;\n"          \
    "mul.wide.u32 %d2, %r2, 4;\nadd.u64 %d3, %d1, %d2;\nadd.u64 %d3, %d3, 524288;\n"               \
    "mov.u32 %r9, s;\n" body "st.global.u32 [%d3], %r8;\nret;\n}\n"

#define PROFILED_COALESCED "add.u64 %d4, %d1, %d2;\nld.global.u32 %r8, [%d4];\n"
#define PROFILED_STRIDED(bytes)                                                                    \
    "mul.wide.u32 %d4, %r2, " bytes ";\nadd.u64 %d4, %d1, %d4;\nld.global.u32 %r8, [%d4];\n"
/* Stores and loads of a word in each row of shared memory; a thread loads what its neighbour has
 * stored. */
#define PROFILED_SHARED(bytes)                                                                     \
    "mad.lo.u32 %r3, %r1, " bytes ", %r9;\nst.shared.u32 [%r3], %r1;\nbar.sync 0;\n"               \
    "xor.b32 %r4, %r1, 1;\nmad.lo.u32 %r4, %r4, " bytes ", %r9;\nld.shared.u32 %r8, [%r4];\n"
#define PROFILED_SHARED_V2                                                                         \
    "mad.lo.u32 %r3, %r1, 16, %r9;\nst.shared.v2.u32 [%r3], {%r1, %r2};\nbar.sync 0;\n"            \
    "xor.b32 %r4, %r1, 1;\nmad.lo.u32 %r4, %r4, 16, %r9;\nld.shared.v2.u32 {%r7, %r8}, [%r4];\n"   \
    "add.u32 %r8, %r8, %r7;\n"
#define PROFILED_SHARED_V4                                                                         \
    "mad.lo.u32 %r3, %r1, 16, %r9;\nst.shared.v4.u32 [%r3], {%r1, %r2, %r10, %r11};\n"             \
    "bar.sync 0;\nxor.b32 %r4, %r1, 1;\nmad.lo.u32 %r4, %r4, 16, %r9;\n"                           \
    "ld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [%r4];\nadd.u32 %r8, %r8, %r7;\n"                      \
    "add.u32 %r8, %r8, %r6;\nadd.u32 %r8, %r8, %r5;\n"
/* A thread goes round 1 + `count` times. */
#define PROFILED_LOOP(count)                                                                       \
    count "mov.u32 %r8, 0;\nL:\nadd.u32 %r8, %r8, 1;\nsetp.le.u32 %p1, %r8, %r3;\n@%p1 bra L;\n"

/* A kernel of so many instructions, all of which all threads execute. */
#define PROFILED_ALL(count)                                                                        \
    .launches = 1, .warp_instructions = 4 * (count), .thread_instructions = 128 * (count),         \
    .store_requests = 4, .store_sectors = 16, .store_ideal = 16
#define PROFILED_LOADS(sectors, ideal)                                                             \
    .load_requests = 4, .load_sectors = (sectors), .load_ideal = (ideal)
#define PROFILED_BANKS(wavefronts, conflicts)                                                      \
    .shared_load_requests = 4, .shared_load_wavefronts = (wavefronts),                             \
    .shared_load_conflicts = (conflicts), .shared_store_requests = 4,                              \
    .shared_store_wavefronts = (wavefronts), .shared_store_conflicts = (conflicts)
#define PROFILED(name, body, ...)                                                                  \
    {                                                                                              \
        #name, PROFILED_TEXT(#name, body), {                                                       \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

static const profiled_kernel profiled_kernels[] = {
    PROFILED(coalesced, PROFILED_COALESCED, PROFILED_ALL(14), PROFILED_LOADS(16, 16)),
    PROFILED(misaligned, "add.u64 %d4, %d1, %d2;\nld.global.u32 %r8, [%d4 + 4];\n",
             PROFILED_ALL(14), PROFILED_LOADS(20, 16)),
    PROFILED(strided_2, PROFILED_STRIDED("8"), PROFILED_ALL(15), PROFILED_LOADS(32, 16)),
    PROFILED(strided_32, PROFILED_STRIDED("128"), PROFILED_ALL(15), PROFILED_LOADS(128, 16)),
    PROFILED(broadcast, "ld.global.u32 %r8, [%d1];\n", PROFILED_ALL(13), PROFILED_LOADS(4, 16)),
    PROFILED(vectors,
             "mul.wide.u32 %d4, %r2, 16;\nadd.u64 %d4, %d1, %d4;\n"
             "ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%d4];\nadd.u32 %r8, %r8, %r7;\n"
             "add.u32 %r8, %r8, %r6;\nadd.u32 %r8, %r8, %r5;\n",
             PROFILED_ALL(18), PROFILED_LOADS(64, 64)),
    PROFILED(no_conflicts, PROFILED_SHARED("4"), PROFILED_ALL(18), PROFILED_BANKS(4, 0)),
    PROFILED(conflicts_2, PROFILED_SHARED("8"), PROFILED_ALL(18), PROFILED_BANKS(8, 4)),
    PROFILED(conflicts_32, PROFILED_SHARED("128"), PROFILED_ALL(18), PROFILED_BANKS(128, 124)),
    /* Halves of a warp: words 0, 1, 4, 5, … 61, of which two are in each bank. */
    PROFILED(pairs, PROFILED_SHARED_V2, PROFILED_ALL(19), PROFILED_BANKS(16, 8)),
    /* Quarters of a warp: 32 words one behind the other. */
    PROFILED(fours, PROFILED_SHARED_V4, PROFILED_ALL(21), PROFILED_BANKS(16, 0)),
    /* 8 lanes of a warp go round once, 8 twice, 8 three times, 8 four times. */
    PROFILED(divergent_loop, PROFILED_LOOP("and.b32 %r3, %r1, 3;\n"), .launches = 1,
             .warp_instructions = 4 * (12 + 2 + 4 * 3),
             .thread_instructions = 128 * (12 + 2) + 32 * 3 * (1 + 2 + 3 + 4), .branches = 16,
             .divergent_branches = 12, .store_requests = 4, .store_sectors = 16, .store_ideal = 16),
    PROFILED(uniform_loop, PROFILED_LOOP("shr.u32 %r3, %r11, 5;\n"), PROFILED_ALL(12 + 2 + 3 * 3),
             .branches = 12),
    PROFILED(atomics_on_one, "atom.global.add.u32 %r8, [%d1], %r1;\n", PROFILED_ALL(13),
             .atomic_requests = 4, .atomic_sectors = 128, .atomic_lanes = 128,
             .atomic_addresses = 4),
    PROFILED(atomics_on_many, "add.u64 %d4, %d1, %d2;\natom.global.add.u32 %r8, [%d4], %r1;\n",
             PROFILED_ALL(14), .atomic_requests = 4, .atomic_sectors = 16, .atomic_lanes = 128,
             .atomic_addresses = 128),
    PROFILED(reductions_on_four,
             "and.b32 %r3, %r1, 3;\nmul.wide.u32 %d4, %r3, 4;\nadd.u64 %d4, %d1, %d4;\n"
             "red.global.add.u32 [%d4], %r1;\nmov.u32 %r8, 0;\n",
             PROFILED_ALL(17), .atomic_requests = 4, .atomic_sectors = 4 * 8, .atomic_lanes = 128,
             .atomic_addresses = 16),
    PROFILED(shared_atomics, "atom.shared.add.u32 %r8, [%r9], %r1;\n", PROFILED_ALL(13),
             .shared_atomic_requests = 4, .atomic_lanes = 128, .atomic_addresses = 4),
};
enum { PROFILED_COUNT = sizeof profiled_kernels / sizeof *profiled_kernels };

#endif
