/* Kernels whose threads, blocks and grids work together: copies that nobody waits for, barriers in
 * memory, clusters, cooperative launches, and the heap. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "alone.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- threads of the host ---- */

static unsigned questions;

/* In place of the C library's, which it calls: counts how often somebody asks for processors. */
long sysconf(int name) {
    long (*next)(int name) = NULL;
    *(void **)&next = dlsym(RTLD_NEXT, "sysconf");
    questions += name == _SC_NPROCESSORS_ONLN;
    return next(name);
}

/* A question opens a file, so that it would be a quarter of a launch of one block. */
TEST(processors_are_counted_once) {
    uint32_t words[64];
    count_up(words, 64);
    questions = 0;
    for (int n = 0; n < 5; n++)
        run(WORD("", "add.u32 %r2, %r1, 1;\n"), 2, 32, words, 64);
    assert_int_equal(words[63], 68);
    assert_in_range(questions, 0, 1);
}

/* ---- one block after the other ---- */

/* The number of the block in the grid, b, decides what its threads do: end early, go round a loop,
 * together or apart, write in order, backwards, or in another order. Those from `m` on do nothing.
 */
static const char by_block[] =
    HEAD ".entry k(.param .u64 p, .param .u32 m) {\n.reg .b32 %r<20>; .reg .b64 %d<4>;\n"
         ".reg .pred %p<9>;\nld.param.u64 %d1, [p];\nld.param.u32 %r17, [m];\n"
         "mov.u32 %r1, %ctaid.z;\nmov.u32 %r2, %nctaid.y;\nmov.u32 %r3, %ctaid.y;\n"
         "mad.lo.u32 %r1, %r1, %r2, %r3;\nmov.u32 %r2, %nctaid.x;\nmov.u32 %r3, %ctaid.x;\n"
         "mad.lo.u32 %r1, %r1, %r2, %r3;\nmov.u32 %r4, %tid.z;\nmov.u32 %r5, %ntid.y;\n"
         "mov.u32 %r6, %tid.y;\nmad.lo.u32 %r4, %r4, %r5, %r6;\nmov.u32 %r6, %ntid.x;\n"
         "mov.u32 %r7, %tid.x;\nmad.lo.u32 %r4, %r4, %r6, %r7;\nmul.lo.u32 %r5, %r5, %r6;\n"
         "mov.u32 %r6, %ntid.z;\nmul.lo.u32 %r5, %r5, %r6;\nrem.u32 %r8, %r1, 5;\n"
         "mad.lo.u32 %r9, %r1, %r5, %r4;\nsetp.ge.u32 %p1, %r9, %r17;\n@%p1 exit;\n"
         "setp.eq.u32 %p2, %r8, 1;\nsetp.ge.and.u32 %p2, %r4, 40, %p2;\n@%p2 bra X;\n"
         "mov.u32 %r10, 0;\nsetp.eq.u32 %p3, %r8, 2;\nand.b32 %r11, %r4, 1;\n"
         "setp.ne.and.u32 %p3, %r11, 0, %p3;\n@%p3 rem.u32 %r10, %r1, 7;\n"
         "setp.eq.u32 %p4, %r8, 3;\n@%p4 mov.u32 %r10, 100;\nsetp.eq.u32 %p5, %r8, 4;\n"
         "setp.eq.and.u32 %p6, %r4, 20, %p5;\n@%p6 mov.u32 %r10, 3;\n"
         "mad.lo.u32 %r12, %r1, 40503, %r4;\nL:\nsetp.eq.u32 %p7, %r10, 0;\n@%p7 bra E;\n"
         "mad.lo.u32 %r12, %r12, 1664525, 1013904223;\nsub.u32 %r10, %r10, 1;\nbra L;\nE:\n"
         "mov.u32 %r13, %r4;\nsub.u32 %r14, %r5, %r4;\nsub.u32 %r14, %r14, 1;\n"
         "@%p4 mov.u32 %r13, %r14;\nmul.lo.u32 %r14, %r4, 7;\nrem.u32 %r14, %r14, %r5;\n"
         "@%p5 mov.u32 %r13, %r14;\nmad.lo.u32 %r13, %r1, %r5, %r13;\n"
         "mul.wide.u32 %d2, %r13, 4;\nadd.u64 %d2, %d1, %d2;\nst.global.u32 [%d2], %r12;\nX:\n"
         "ret;\n}\n";

/* Does what thread t of block b does. */
static void expect_by_block(uint32_t *words, uint32_t b, uint32_t t, uint32_t threads) {
    const uint32_t kind = b % 5;
    const uint32_t place = kind == 3 ? threads - 1 - t : kind == 4 ? t * 7 % threads : t;
    const unsigned rounds = kind == 2 && t % 2     ? b % 7
                            : kind == 3            ? 100
                            : kind == 4 && t == 20 ? 3
                                                   : 0;
    uint32_t value = b * 40503 + t;
    for (unsigned n = 0; n < rounds; n++)
        value = value * 1664525 + 1013904223;
    if (kind != 1 || t < 40)
        words[b * threads + place] = value;
}

TEST(blocks_of_a_worker_differ) {
    enum { MOST = 1 << 16 };
    static const unsigned grids[][3] = {{200, 1, 1}, {1, 200, 1}, {7, 5, 3}, {3, 1, 40}},
                          shapes[][3] = {
                              {256, 1, 1}, {32, 1, 1}, {100, 1, 1}, {16, 4, 2}, {64, 1, 3}};
    static uint32_t words[MOST], expected[MOST];
    CUmodule module = load_text(by_block);
    CUfunction function;
    CUdeviceptr at;
    OK(cuModuleGetFunction(&function, module, "k"));
    for (unsigned n = 0; n < 20; n++) {
        const unsigned *grid = grids[n % 4], *shape = shapes[n % 5];
        const uint32_t threads = shape[0] * shape[1] * shape[2],
                       all = grid[0] * grid[1] * grid[2] * threads;
        uint32_t most = all - n % 3 * 29;
        void *args[] = {&at, &most};
        memset(expected, 0xff, sizeof expected);
        for (uint32_t i = 0; i < most; i++)
            expect_by_block(expected, i / threads, i % threads, threads);
        OK(cuMemAlloc(&at, all * sizeof *words)); /* the last word is the last of the allocation */
        OK(cuMemsetD32(at, UINT32_MAX, all));
        OK(cuLaunchKernel(function, grid[0], grid[1], grid[2], shape[0], shape[1], shape[2], 0,
                          NULL, args, NULL));
        OK(cuMemcpyDtoH(words, at, all * sizeof *words));
        assert_memory_equal(words, expected, all * sizeof *words);
        OK(cuMemFree(at));
    }
    OK(cuModuleUnload(module));
}

static void write_beyond(void) {
    CUmodule module = load_text(by_block);
    CUdeviceptr at;
    uint32_t most = 200 * 64;
    void *args[] = {&at, &most};
    OK(cuMemAlloc(&at, (size_t)(55 * 64 + 48) * sizeof(uint32_t)));
    OK(launch(module, "k", 200, 64, args));
    assert_int_equal(cuCtxSynchronize(), 700);
}

TEST(a_block_of_a_worker_fails) {
    run_alone(MACHINE ",threads=1", write_beyond);
    expect_said("kernel \"k\": block (55, 0, 0), thread (48, 0, 0): error 700");
}

/* Stores a word at an odd address of the memory that a parameter chooses. */
static const char oddly[] =
    HEAD ".entry k(.param .u64 p, .param .u32 kind) {\n.reg .b32 %r<3>; .reg .b64 %d<2>;\n"
         ".reg .pred %q<2>;\n.shared .b32 s[2];\n.local .b32 t[2];\nld.param.u64 %d1, [p];\n"
         "ld.param.u32 %r1, [kind];\nsetp.eq.u32 %q1, %r1, 0;\n@%q1 bra G;\n"
         "setp.eq.u32 %q1, %r1, 1;\n@%q1 bra S;\nst.local.u32 [t+1], %r1;\n"
         "G:\nst.global.u32 [%d1+1], %r1;\nS:\nst.shared.u32 [s+1], %r1;\nret;\n}\n";
static uint32_t kind_of_memory;

static void store_oddly(void) {
    CUmodule module = load_text(oddly);
    CUdeviceptr at;
    void *args[] = {&at, &kind_of_memory};
    OK(cuMemAlloc(&at, 8));
    OK(launch(module, "k", 1, 1, args));
    assert_int_equal(cuCtxSynchronize(), 716);
}

TEST(addresses_that_are_not_aligned) {
    static const char *const names[] = {"global", "shared", "local"};
    char text[128];
    for (kind_of_memory = 0; kind_of_memory < 3; kind_of_memory++) {
        run_alone(MACHINE, store_oddly);
        snprintf(text, sizeof text,
                 "error 716: an access of 4 bytes of %s memory, whose address is not a multiple of "
                 "4, at address 0x",
                 names[kind_of_memory]);
        expect_said(text);
    }
}

/* ---- cp.async ---- */

/* Each thread copies 16 bytes to shared memory, of which the last 8 are zeros for odd threads. */
TEST(copies_to_shared_memory) {
    uint32_t words[128];
    count_up(words, 128);
    run(HEAD ".entry k(.param .u64 p) {\n.reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p;\n"
             ".shared .align 16 .b8 s[512];\nld.param.u64 %d1, [p];\nmov.u32 %r1, %tid.x;\n"
             "mul.wide.u32 %d2, %r1, 16;\nadd.u64 %d2, %d1, %d2;\nshl.b32 %r2, %r1, 4;\n"
             "mov.u32 %r3, s;\nadd.u32 %r2, %r2, %r3;\nand.b32 %r4, %r1, 1;\n"
             "shl.b32 %r4, %r4, 3;\nsub.u32 %r4, 16, %r4;\n"
             "cp.async.cg.shared.global [%r2], [%d2], 16, %r4;\ncp.async.commit_group;\n"
             "cp.async.wait_group 0;\nbar.sync 0;\n"
             "ld.shared.v4.b32 {%r5, %r6, %r7, %r8}, [%r2];\n"
             "st.global.v4.b32 [%d2], {%r8, %r7, %r6, %r5};\nret;\n}\n",
        1, 32, words, 128);
    for (uint32_t t = 0; t < 32; t++)
        for (uint32_t n = 0; n < 4; n++)
            assert_int_equal(words[4 * t + n], t % 2 && n < 2 ? 0 : 4 * t + 3 - n);
}

/* ---- mbarrier ---- */

#define BARRIER                                                                                    \
    HEAD ".entry k(.param .u64 p) {\n.reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<5>;\n"        \
         ".shared .align 8 .b8 m[8];\nld.param.u64 %d1, [p];\n"

/* Phases of one arrival, of two with one dropped, and of bytes. */
TEST(phases_of_an_mbarrier) {
    uint32_t words[8] = {0};
    run(BARRIER "mbarrier.init.shared.b64 [m], 2;\nmbarrier.arrive.shared.b64 %d2, [m];\n"
                "mbarrier.pending_count.b64 %r1, %d2;\nst.global.u32 [%d1], %r1;\n"
                "mbarrier.test_wait.shared.b64 %p1, [m], %d2;\nselp.u32 %r1, 1, 0, %p1;\n"
                "st.global.u32 [%d1+4], %r1;\nmbarrier.arrive_drop.shared.b64 _, [m];\n"
                "mbarrier.test_wait.shared.b64 %p1, [m], %d2;\nselp.u32 %r1, 1, 0, %p1;\n"
                "st.global.u32 [%d1+8], %r1;\n"
                "mbarrier.arrive.expect_tx.shared.b64 %d2, [m], 48;\n"
                "mbarrier.try_wait.parity.shared.b64 %p1, [m], 1;\nselp.u32 %r1, 1, 0, %p1;\n"
                "st.global.u32 [%d1+12], %r1;\n"
                "mbarrier.complete_tx.relaxed.cta.shared.b64 [m], 48;\n"
                "mbarrier.try_wait.parity.shared.b64 %p1, [m], 1;\nselp.u32 %r1, 1, 0, %p1;\n"
                "st.global.u32 [%d1+16], %r1;\nmbarrier.inval.shared.b64 [m];\nret;\n}\n",
        1, 1, words, 8);
    static const uint32_t results[] = {2, 0, 1, 0, 1};
    assert_memory_equal(words, results, sizeof results);
}

/* Threads wait for a bulk copy, which one of them has begun. */
TEST(a_bulk_copy_and_its_mbarrier) {
    uint32_t words[64];
    count_up(words, 64);
    run(HEAD ".entry k(.param .u64 p) {\n.reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<5>;\n"
             ".shared .align 16 .b8 s[256];\n.shared .align 8 .b8 m[8];\nld.param.u64 %d1, [p];\n"
             "mov.u32 %r1, %tid.x;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra W;\n"
             "mbarrier.init.shared.b64 [m], 1;\n"
             "mbarrier.arrive.expect_tx.shared.b64 _, [m], 256;\n"
             "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%d1], 256, "
             "[m];\nW:\nbar.sync 0;\nL:\nmbarrier.try_wait.parity.shared.b64 %p2, [m], 0;\n"
             "@!%p2 bra L;\nxor.b32 %r2, %r1, 63;\nshl.b32 %r2, %r2, 2;\nmov.u32 %r3, s;\n"
             "add.u32 %r2, %r2, %r3;\nld.shared.u32 %r4, [%r2];\nmul.wide.u32 %d2, %r1, 4;\n"
             "bar.sync 0;\nadd.u64 %d2, %d1, %d2;\nst.global.u32 [%d2], %r4;\nret;\n}\n",
        1, 64, words, 64);
    for (uint32_t n = 0; n < 64; n++)
        assert_int_equal(words[n], 63 - n);
}

/* Two warps wait for each other 100 times. Who has asked in vain gives the other one its turn at
 * once: it does not ask 64 times before, which took most of the time of CUTLASS's pipelines. */
TEST(waits_ask_an_mbarrier_seldom) {
    uint32_t tries[64] = {0};
    run(BARRIER "mov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 0;\n"
                "@%p1 mbarrier.init.shared.b64 [m], 64;\nbar.sync 0;\nmov.u32 %r2, 0;\n"
                "mov.u32 %r3, 0;\nN:\nmbarrier.arrive.shared.b64 _, [m];\n"
                "and.b32 %r4, %r2, 1;\nW:\nadd.u32 %r3, %r3, 1;\n"
                "mbarrier.try_wait.parity.shared.b64 %p2, [m], %r4;\n@!%p2 bra W;\n"
                "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p3, %r2, 100;\n@%p3 bra N;\n"
                "mul.wide.u32 %d2, %r1, 4;\nadd.u64 %d2, %d1, %d2;\nst.global.u32 [%d2], %r3;\n"
                "ret;\n}\n",
        1, 64, tries, 64);
    for (unsigned n = 0; n < 64; n++)
        assert_in_range(tries[n], 100, 300);
}

/* What one thread makes invalid another may still ask: the answer is that of the last phase. A test
 * of libcu++'s pipelines does so, and ends on an H200. */
TEST(an_mbarrier_keeps_its_phase_when_it_is_invalid) {
    uint32_t words[2] = {9, 9};
    run(BARRIER "mbarrier.init.shared.b64 [m], 1;\nmbarrier.arrive.shared.b64 %d2, [m];\n"
                "mbarrier.inval.shared.b64 [m];\n"
                "mbarrier.test_wait.shared.b64 %p1, [m], %d2;\nselp.u32 %r1, 1, 0, %p1;\n"
                "mbarrier.test_wait.parity.shared.b64 %p1, [m], 1;\nselp.u32 %r2, 1, 0, %p1;\n"
                "st.global.v2.u32 [%d1], {%r1, %r2};\nret;\n}\n",
        1, 1, words, 2);
    assert_int_equal(words[0], 1);
    assert_int_equal(words[1], 0);
}

/* A thread makes a new object in the memory of an old one, whose phase the other warp has not yet
 * seen to be complete: first thread 0, then thread 32, because either warp may be the last one to
 * arrive. The tests of libcu++'s transactions do so, and end on an H200. */
TEST(a_new_mbarrier_lets_those_go_who_wait_for_the_old_one) {
    uint32_t words[64] = {0};
    run(BARRIER "mov.u32 %r1, %tid.x;\nmov.u32 %r2, 0;\nsetp.eq.u32 %p1, %r1, 0;\n"
                "@%p1 mbarrier.init.shared.b64 [m], 64;\nbar.sync 0;\n"
                "N:\nmbarrier.arrive.shared.b64 %d2, [m];\n"
                "W:\nmbarrier.try_wait.shared.b64 %p2, [m], %d2;\n@!%p2 bra W;\n"
                "setp.eq.u32 %p1, %r1, %r2;\n@%p1 mbarrier.init.shared.b64 [m], 64;\nbar.sync 0;\n"
                "add.u32 %r2, %r2, 32;\nsetp.lt.u32 %p1, %r2, 64;\n@%p1 bra N;\n"
                "mbarrier.arrive.shared.b64 %d2, [m];\n"
                "V:\nmbarrier.try_wait.parity.shared.b64 %p2, [m], 0;\n@!%p2 bra V;\n"
                "mul.wide.u32 %d3, %r1, 4;\nadd.u64 %d3, %d1, %d3;\nst.global.u32 [%d3], %r1;\n"
                "ret;\n}\n",
        1, 64, words, 64);
    for (uint32_t n = 0; n < 64; n++)
        assert_int_equal(words[n], n);
}

TEST(mistakes_with_an_mbarrier) {
    fault(BARRIER "mbarrier.init.shared.b64 [m], 0;\nret;\n}\n", CUDA_ERROR_LAUNCH_FAILED);
    fault(BARRIER "mbarrier.init.shared.b64 [m], 1;\nmbarrier.arrive.shared.b64 _, [m], 2;\n"
                  "ret;\n}\n",
          CUDA_ERROR_LAUNCH_FAILED);
    fault(BARRIER "mov.u32 %r1, 8;\n"
                  "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [m], [%d1], "
                  "%r1, [m];\nret;\n}\n",
          CUDA_ERROR_MISALIGNED_ADDRESS);
}

/* Adds 16 words of shared memory to those of global memory, and 8 numbers of f16; then the least of
 * words to shared memory, whose barrier hears of them. */
TEST(bulk_copies_that_reduce) {
    uint32_t words[64];
    count_up(words, 64);
    for (unsigned n = 16; n < 20; n++)
        words[n] = 0x3c004000; /* 2 and 1 */
    run(HEAD
        ".entry k(.param .u64 p) {\n.reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<5>;\n"
        ".shared .align 16 .b8 s[256];\n.shared .align 8 .b8 m[8];\nld.param.u64 %d1, [p];\n"
        "mbarrier.init.shared.b64 [m], 1;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%d1], 256, "
        "[m];\nmbarrier.arrive.expect_tx.shared.b64 %d2, [m], 256;\n"
        "W: mbarrier.try_wait.shared.b64 %p1, [m], %d2;\n@!%p1 bra W;\n"
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d1], [s], 64;\n"
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 [%d1+64], [s+64], "
        "16;\n"
        "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.min.s32 "
        "[s+128], [s], 64, [m];\nmbarrier.arrive.expect_tx.shared.b64 %d2, [m], 64;\n"
        "V: mbarrier.try_wait.shared.b64 %p1, [m], %d2;\n@!%p1 bra V;\n"
        "cp.async.bulk.global.shared::cta.bulk_group [%d1+128], [s+128], 64;\n"
        "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;\nret;\n}\n",
        1, 1, words, 64);
    for (uint32_t n = 0; n < 16; n++) {
        assert_int_equal(words[n], 2 * n);
        assert_int_equal(words[32 + n], n);
        assert_int_equal(words[48 + n], 48 + n);
    }
    for (uint32_t n = 16; n < 20; n++)
        assert_int_equal(words[n], 0x40004400);
    assert_int_equal(words[20], 20);
}

/* ---- clusters ---- */

/* Each block reads the number that the next one of its cluster has in shared memory. */
TEST(blocks_of_a_cluster_share_memory) {
    uint32_t words[8] = {0};
    run(HEAD ".visible .entry k(.param .u64 p)\n.explicitcluster\n.reqnctapercluster 4, 1, 1\n{\n"
             ".reg .b32 %r<12>; .reg .b64 %d<9>;\n.shared .b32 s;\nld.param.u64 %d1, [p];\n"
             "mov.u32 %r1, %ctaid.x;\nadd.u32 %r2, %r1, 100;\nst.shared.u32 [s], %r2;\n"
             "mov.u32 %r3, %cluster_ctarank;\nmov.u32 %r4, %cluster_nctarank;\n"
             "barrier.cluster.arrive;\nbarrier.cluster.wait;\nadd.u32 %r5, %r3, 1;\n"
             "rem.u32 %r5, %r5, %r4;\nmov.u32 %r6, s;\nmapa.shared::cluster.u32 %r7, %r6, %r5;\n"
             "ld.shared::cluster.u32 %r8, [%r7];\ngetctarank.shared::cluster.u32 %r9, %r7;\n"
             "mad.lo.u32 %r8, %r9, 1000, %r8;\nmul.wide.u32 %d2, %r1, 4;\nadd.u64 %d2, %d1, %d2;\n"
             "st.global.u32 [%d2], %r8;\nbarrier.cluster.arrive.release;\n"
             "barrier.cluster.wait.acquire;\nret;\n}\n",
        8, 1, words, 8);
    for (uint32_t n = 0; n < 8; n++) {
        uint32_t next = (n % 4 + 1) % 4;
        assert_int_equal(words[n], 1000 * next + 100 + n / 4 * 4 + next);
    }
}

/* Instructions of shared::cluster reach another block's memory, those of shared::cta the own
 * block's only, also by an address of the cluster: an H200's answers. */
TEST(shared_is_the_own_block) {
    static const char *const accesses[] = {
        "ld.shared%s.u32 %%r8, [%%r7];\n", "atom.shared%s.add.u32 %%r8, [%%r7], 0;\n",
        "ld.shared::cluster.u32 %%r8, [%%r7];\nst.shared%s.u32 [%%r7], %%r8;\n"};
    for (unsigned way = 0; way < 12; way++) {
        const bool other = way / 3 % 2, cluster = way / 6;
        const char *space = cluster ? "::cluster" : "";
        char access[128], text[2048];
        uint32_t words[32] = {0};
        snprintf(access, sizeof access, accesses[way % 3], space);
        snprintf(text, sizeof text,
                 HEAD
                 ".visible .entry k(.param .u64 p) .reqnctapercluster 2\n{\n"
                 ".reg .b32 %%r<12>; .reg .b64 %%d<9>;\n.shared .b32 s;\n"
                 "ld.param.u64 %%d1, [p];\nmov.u32 %%r1, %%ctaid.x;\nadd.u32 %%r2, %%r1, 100;\n"
                 "st.shared.u32 [s], %%r2;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n"
                 "xor.b32 %%r5, %%r1, %u;\nmov.u32 %%r6, s;\n"
                 "mapa.shared::cluster.u32 %%r7, %%r6, %%r5;\n%s"
                 "mul.wide.u32 %%d2, %%r1, 4;\nadd.u64 %%d2, %%d1, %%d2;\n"
                 "st.global.u32 [%%d2], %%r8;\nbarrier.cluster.arrive;\n"
                 "barrier.cluster.wait;\nret;\n}\n",
                 other, access);
        if (other && !cluster) {
            fault_of_blocks(text, 2, 1, 715);
            continue;
        }
        run(text, 2, 1, words, 2);
        assert_int_equal(words[0], 100 + other);
        assert_int_equal(words[1], 101 - other);
    }
}

/* ---- cooperative launches ---- */

/* A barrier of the grid as CUDA's cooperative groups have it: only one thread of each block counts,
 * and waits for the others. */
TEST(a_barrier_of_the_grid) {
    uint32_t words[6] = {0};
    CUmodule module = load_text(
        HEAD ".entry k(.param .u64 p) {\n.reg .b32 %r<12>; .reg .b64 %d<9>; .reg .pred %p<5>;\n"
             "ld.param.u64 %d1, [p];\nmov.u32 %r1, %envreg2;\nmov.u32 %r2, %envreg1;\n"
             "mov.b64 %d2, {%r1, %r2};\nmov.u32 %r3, %tid.x;\nsetp.ne.u32 %p1, %r3, 0;\n"
             "@%p1 bra W;\natom.add.release.gpu.u32 %r4, [%d2+4], 1;\n"
             "L:\nld.acquire.gpu.u32 %r5, [%d2+4];\nsetp.lt.u32 %p2, %r5, 6;\n@%p2 bra L;\n"
             "mov.u32 %r6, %ctaid.x;\nmul.wide.u32 %d3, %r6, 4;\nadd.u64 %d3, %d1, %d3;\n"
             "st.global.u32 [%d3], %r5;\nW:\nbar.sync 0;\nret;\n}\n");
    CUfunction function = NULL;
    CUdeviceptr at;
    void *args[] = {&at};
    OK(cuModuleGetFunction(&function, module, "k"));
    OK(cuMemAlloc(&at, sizeof words));
    OK(cuLaunchCooperativeKernel(function, 6, 1, 1, 64, 1, 1, 0, NULL, args));
    OK(cuMemcpyDtoH(words, at, sizeof words));
    for (int n = 0; n < 6; n++)
        assert_int_equal(words[n], 6);
    OK(cuMemFree(at));
    OK(cuModuleUnload(module));
}

/* ---- the heap ---- */

#define HEAP                                                                                       \
    HEAD ".extern .func (.param .b64 r) malloc (.param .b64 n);\n"                                 \
         ".extern .func free (.param .b64 a);\n"                                                   \
         ".entry k(.param .u64 p) {\n.reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<5>;\n"        \
         "ld.param.u64 %d1, [p];\n"
#define MALLOC(bytes, to)                                                                          \
    "{ .param .b64 n; .param .b64 r; st.param.b64 [n], " bytes ";\n"                               \
    "call.uni (r), malloc, (n);\nld.param.b64 " to ", [r]; }\n"
#define FREE(from) "{ .param .b64 a; st.param.b64 [a], " from ";\ncall.uni free, (a); }\n"

/* Each thread has memory of its own for a moment, many times. */
TEST(memory_of_the_heap) {
    uint32_t words[64];
    count_up(words, 64);
    run(HEAP
        "mov.u32 %r1, %tid.x;\nmul.wide.u32 %d2, %r1, 4;\nadd.u64 %d2, %d1, %d2;\n"
        "mov.u32 %r2, 0;\nmov.u32 %r4, 0;\nL:\n" MALLOC(
            "1000",
            "%d3") "st.u32 [%d3], %r1;\nst.u32 [%d3+996], %r2;\nbar.sync 0;\n"
                   "ld.u32 %r3, [%d3];\nadd.u32 %r4, %r4, %r3;\nld.u32 %r3, [%d3+996];\n"
                   "add.u32 %r4, %r4, %r3;\n" FREE("%d3")
                       FREE("0") "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 300;\n@%p1 bra L;\n"
                                 "st.global.u32 [%d2], %r4;\nret;\n}\n",
        1, 64, words, 64);
    for (uint32_t n = 0; n < 64; n++)
        assert_int_equal(words[n], 300 * n + 299 * 150);
}

/* What one launch allocates, another one reads; the heap ends where the limit says. */
TEST(the_heap_has_a_limit) {
    uint32_t words[4] = {0};
    run(HEAP MALLOC("8388608",
                    "%d2") "setp.ne.u64 %p1, %d2, 0;\nselp.u32 %r1, 1, 0, %p1;\n"
                           "st.global.u32 [%d1], %r1;\n" MALLOC(
                               "16", "%d3") "setp.ne.u64 %p1, %d3, 0;\nselp.u32 %r1, 1, 0, "
                                            "%p1;\nst.global.u32 [%d1+4], %r1;\n" FREE("%d2")
                                                MALLOC("16",
                                                       "%d3") "st.u32 [%d3], 77;\nst.global.u64 "
                                                              "[%d1+8], %d3;\nret;\n}\n",
        1, 1, words, 4);
    assert_int_equal(words[0], 1);
    assert_int_equal(words[1], 0);
    run(HEAP "ld.global.u64 %d2, [%d1+8];\nld.u32 %r1, [%d2];\nst.global.u32 [%d1], %r1;\n" FREE(
            "%d2") "ret;\n}\n",
        1, 1, words, 4);
    assert_int_equal(words[0], 77);
}

/* Freeing twice, and what is no memory, ends the kernel; other memory is overlooked, as by a GPU.
 */
TEST(mistakes_with_the_heap) {
    uint32_t words[16] = {7};
    fault(HEAP MALLOC("64", "%d2") FREE("%d2") FREE("%d2") "ret;\n}\n", CUDA_ERROR_LAUNCH_FAILED);
    fault(HEAP "mov.u64 %d2, 0x123456780;\n" FREE("%d2") "ret;\n}\n", CUDA_ERROR_ILLEGAL_ADDRESS);
    run(HEAP FREE("%d1") MALLOC("64", "%d2") "add.u64 %d2, %d2, 16;\n" FREE(
            "%d2") "st.u32 [%d2], 5;\nst.u32 [%d1], 8;\nret;\n}\n",
        1, 1, words, 16);
    assert_int_equal(words[0], 8);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 16 << 20));
    expect_reason("a kernel that allocates was launched already");
    OK(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 1000000));
    size_t value;
    OK(cuCtxGetLimit(&value, CU_LIMIT_PRINTF_FIFO_SIZE));
    assert_int_equal(value, 1000192);
}

/* ---- what a block has ---- */

/* Cooperative groups keep barriers in what CUDA reserves: 1 KiB that no variable has, which is zero
 * when a block begins. */
TEST(reserved_memory) {
    uint32_t words[64] = {0};
    run(HEAD ".entry k(.param .u64 p) {\n.reg .b32 %r<9>; .reg .b64 %d<3>; .shared .b32 s[8];\n"
             "ld.param.u64 %d1, [p];\nmov.u32 %r1, %ctaid.x;\nmul.wide.u32 %d2, %r1, 16;\n"
             "add.u64 %d1, %d1, %d2;\nst.shared.u32 [s+28], 7;\n"
             "mov.u32 %r2, %reserved_smem_offset_1;\nadd.u32 %r2, %r2, 284;\n"
             "atom.shared.add.u32 %r3, [%r2], 5;\nld.shared.u32 %r4, [%r2];\n"
             "mad.lo.u32 %r4, %r3, 100, %r4;\nst.global.u32 [%d1], %r4;\n"
             "mov.u32 %r2, %reserved_smem_offset_begin;\nmov.u32 %r3, %reserved_smem_offset_end;\n"
             "sub.u32 %r3, %r3, %r2;\nst.global.u32 [%d1+4], %r3;\n"
             "mov.u32 %r3, %reserved_smem_offset_cap;\nmov.u32 %r4, %total_smem_size;\n"
             "shl.b32 %r4, %r4, 16;\nor.b32 %r3, %r3, %r4;\nst.global.u32 [%d1+8], %r3;\n"
             "ld.shared.u32 %r3, [s+28];\nst.global.u32 [%d1+12], %r3;\nret;\n}\n",
        16, 1, words, 64);
    for (int block = 0; block < 16; block++) {
        assert_int_equal(words[4 * block], 5);
        assert_int_equal(words[4 * block + 1], 288);
        assert_int_equal(words[4 * block + 2], 128 << 16 | 1024);
        assert_int_equal(words[4 * block + 3], 7);
    }
}

/* A function without variables takes a part of the stack, too. */
TEST(recursion_without_an_end) {
    fault(HEAD ".func f();\n.func f() {\ncall f;\nret;\n}\n"
               ".entry k(.param .u64 p) {\ncall f;\nret;\n}\n",
          cudaErrorIllegalAddress); /* as an H200 says */
}

/* A recursion of 4000 calls with 32 bytes each, where the program asked for the stack. */
TEST(recursion_as_deep_as_the_limit) {
    uint32_t words[4] = {0};
    OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 256 << 10));
    run(HEAD ".func (.param .b32 r) f(.param .b32 n) {\n.local .b32 l[8];\n.reg .b32 %r<4>;\n"
             ".reg .pred %p;\nld.param.u32 %r1, [n];\nst.local.u32 [l], %r1;\nmov.u32 %r2, 0;\n"
             "setp.eq.u32 %p, %r1, 0;\n@%p bra END;\nsub.u32 %r1, %r1, 1;\n"
             "{\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %r1;\ncall (b), f, (a);\n"
             "ld.param.b32 %r2, [b];\n}\nEND:\nld.local.u32 %r3, [l];\n"
             "add.u32 %r2, %r2, %r3;\nst.param.b32 [r], %r2;\nret;\n}\n"
             ".entry k(.param .u64 p) {\n.reg .b64 %d1; .reg .b32 %r1;\nld.param.u64 %d1, [p];\n"
             "{\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], 4000;\ncall (b), f, (a);\n"
             "ld.param.b32 %r1, [b];\n}\nst.global.u32 [%d1], %r1;\nret;\n}\n",
        1, 1, words, 4);
    assert_int_equal(words[0], 8002000);
}

/* What the driver refuses: more static shared memory than the device has for a kernel that asks for
 * it, and more than 64 KiB of constants. ptxas refuses more than 48 KiB of the first. */
TEST(too_much_static_memory) {
    CUmodule module;
    OK(cuModuleUnload(load_text(HEAD ".shared .b8 unused[240000];\n.const .b8 c[65536];\n"
                                     ".entry k() {\n.shared .b8 s[49152];\n"
                                     "st.shared.u8 [s], 1;\nret;\n}\n")));
    SAYS(CUDA_ERROR_INVALID_PTX,
         cuModuleLoadData(&module, HEAD ".entry k() {\n.shared .b8 s[232449];\n"
                                        "st.shared.u8 [s], 1;\nret;\n}\n"));
    SAYS(CUDA_ERROR_INVALID_PTX,
         cuModuleLoadData(&module, HEAD ".shared .b8 s[240000];\n"
                                        ".entry k() {\nst.shared.u8 [s], 1;\nret;\n}\n"));
    SAYS(CUDA_ERROR_INVALID_PTX,
         cuModuleLoadData(&module, HEAD ".const .b8 a[60000];\n.const .b8 b[6000];\n"));
    SAYS(CUDA_ERROR_INVALID_PTX,
         cuModuleLoadData(&module, HEAD ".func f() {\n.shared .b8 s[240000];\n"
                                        "st.shared.u8 [s], 1;\nret;\n}\n"
                                        ".entry k() {\ncall f;\nret;\n}\n"));
}

/* An H200 takes 60000 bytes, and has what is left for dynamic shared memory. */
TEST(much_static_memory) {
    CUmodule module = load_text(HEAD ".entry k() {\n.shared .b8 s[60000];\n"
                                     "st.shared.u8 [s+59999], 1;\nret;\n}\n");
    CUfunction function;
    int bytes;
    OK(cuModuleGetFunction(&function, module, "k"));
    OK(cuFuncGetAttribute(&bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function));
    assert_int_equal(bytes, 60000);
    OK(cuFuncGetAttribute(&bytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function));
    assert_int_equal(bytes, 232448 - 60000);
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cuCtxSynchronize());
    OK(cuModuleUnload(module));
}

/* A GPU's reads of constants find what is behind a constant, or zeros, and never fail. */
TEST(reads_beyond_constants) {
    uint32_t words[32];
    run(HEAD ".const .b32 c[4] = {5, 6, 7, 8};\n.entry k(.param .u64 p) {\n.reg .b32 %r<4>;\n"
             ".reg .b64 %d<5>;\nld.param.u64 %d1, [p];\nmov.u32 %r1, %tid.x;\n"
             "mul.wide.u32 %d2, %r1, 4;\nadd.u64 %d1, %d1, %d2;\nmul.wide.u32 %d4, %r1, 2000;\n"
             "mov.u64 %d3, c;\nadd.u64 %d3, %d3, %d4;\nld.const.u32 %r2, [%d3];\n"
             "ld.const.u32 %r3, [c+4];\nadd.u32 %r2, %r2, %r3;\nst.global.u32 [%d1], %r2;\n"
             "ret;\n}\n",
        1, 32, words, 32);
    for (int lane = 0; lane < 32; lane++)
        assert_int_equal(words[lane], lane ? 6 : 11);
}

/* ptxas aligns parameters within the constant bank, where they begin at 0x210: the offsets are an
 * H200's, and a packed buffer has them there. */
TEST(parameters_that_are_aligned) {
    static const size_t offsets[] = {0, 112, 240, 304}, sizes[] = {4, 128, 64, 8};
    char packed[312] = {0};
    size_t offset, size = sizeof packed;
    uint32_t word = 7;
    CUdeviceptr at;
    CUfunction function;
    CUmodule module = load_text(
        HEAD ".visible .entry k(.param .u32 a, .param .align 128 .b8 b[128],"
             " .param .align 64 .b8 c[64], .param .u64 d) {\n.reg .b32 %r<5>; .reg .b64 %d<2>;\n"
             "ld.param.u64 %d1, [d];\nld.param.u32 %r1, [a];\nld.param.u32 %r2, [b+124];\n"
             "ld.param.u32 %r3, [c];\nmad.lo.u32 %r1, %r2, 100, %r1;\n"
             "mad.lo.u32 %r1, %r3, 10000, %r1;\nst.global.u32 [%d1], %r1;\nret;\n}\n");
    OK(cuModuleGetFunction(&function, module, "k"));
    for (size_t n = 0; n < 4; n++) {
        OK(cuFuncGetParamInfo(function, n, &offset, &size));
        assert_int_equal(offset, offsets[n]);
        assert_int_equal(size, sizes[n]);
    }
    OK(cuMemAlloc(&at, sizeof word));
    memcpy(packed, &word, sizeof word);
    memcpy(packed + 112 + 124, &word, sizeof word);
    memcpy(packed + 240, &word, sizeof word);
    memcpy(packed + 304, &at, sizeof at);
    size = sizeof packed;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
    OK(cuMemcpyDtoH(&word, at, sizeof word));
    assert_int_equal(word, 70707);
    OK(cuMemFree(at));
    OK(cuModuleUnload(module));
}

/* An H200 calls an address of a constant one of constant memory alone, and NULL one of global
 * memory. */
TEST(addresses_of_constants) {
    uint32_t words[8] = {0};
    run(HEAD ".const .b32 c[4] = {5, 6, 7, 8};\n.global .b32 g;\n.entry k(.param .u64 p) {\n"
             ".reg .b32 %r<4>; .reg .b64 %d<5>; .reg .pred %p<3>;\nld.param.u64 %d1, [p];\n"
             "mov.u32 %r1, %tid.x;\nmul.wide.u32 %d2, %r1, 4;\nadd.u64 %d1, %d1, %d2;\n"
             "mov.u64 %d3, c;\ncvta.const.u64 %d3, %d3;\nadd.u64 %d3, %d3, %d2;\n"
             "setp.eq.u32 %p1, %r1, 4;\n@%p1 mov.u64 %d3, g;\nsetp.eq.u32 %p1, %r1, 5;\n"
             "@%p1 mov.u64 %d3, 0;\nisspacep.const %p1, %d3;\nisspacep.global %p2, %d3;\n"
             "selp.u32 %r2, 1, 0, %p1;\nselp.u32 %r3, 2, 0, %p2;\nadd.u32 %r2, %r2, %r3;\n"
             "st.global.u32 [%d1], %r2;\nret;\n}\n",
        1, 6, words, 8);
    for (unsigned n = 0; n < 8; n++)
        assert_int_equal(words[n], n < 4 ? 1 : n < 6 ? 2 : 0);
}

/* Another block's shared memory is shared::cluster alone, parameters are global memory, too, and a
 * launch with clusters is known to be one: as an H200 answered. */
TEST(addresses_in_a_cluster) {
    static const char *const spaces[] = {"shared", "shared::cta", "shared::cluster", "global",
                                         "param::entry"};
    char text[4096];
    int length = snprintf(
        text, sizeof text,
        ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n"
        ".explicitcluster\n.reqnctapercluster 2, 1, 1\n{\n.shared .align 8 .b32 s;\n"
        ".reg .b32 %%r<6>; .reg .b64 %%d<6>; .reg .pred %%p<2>;\nld.param.u64 %%d1, [p];\n"
        "mov.u32 %%r1, %%ctaid.x;\nmul.wide.u32 %%d2, %%r1, 4;\nadd.u64 %%d1, %%d1, %%d2;\n"
        "mov.u64 %%d2, s;\ncvta.shared.u64 %%d2, %%d2;\nxor.b32 %%r2, %%r1, 1;\n"
        "mapa.u64 %%d3, %%d2, %%r2;\nmov.u64 %%d4, p;\ncvta.param.u64 %%d4, %%d4;\n"
        "mov.pred %%p1, %%is_explicit_cluster;\nselp.u32 %%r3, 1, 0, %%p1;\n");
    for (unsigned n = 0; n < 15; n++)
        length += snprintf(text + length, sizeof text - (size_t)length,
                           "isspacep.%s %%p1, %%d%u;\nselp.u32 %%r4, %u, 0, %%p1;\n"
                           "or.b32 %%r3, %%r3, %%r4;\n",
                           spaces[n % 5], 2 + n / 5, 2u << n);
    snprintf(
        text + length, sizeof text - (size_t)length,
        "st.global.u32 [%%d1], %%r3;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\nret;\n}\n");
    uint32_t words[2] = {0};
    run(text, 2, 1, words, 2);
    for (unsigned block = 0; block < 2; block++) /* its own, the other one's, the parameter's */
        assert_int_equal(words[block], 1 | (7 | 4 << 5 | 0x18 << 10) << 1);
}

/* What __block_size__((32, 2), (2)) makes: an H200 took the grid as one of clusters, and a block of
 * one thread as one of those that the kernel names. */
TEST(a_grid_that_counts_clusters) {
    const char *text =
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n"
        ".blocksareclusters\n.reqntid 32, 2, 1\n.reqnctapercluster 2, 1, 1\n{\n"
        ".reg .b32 %r<6>; .reg .b64 %d<3>;\nld.param.u64 %d1, [p];\nmov.u32 %r1, %ctaid.x;\n"
        "mov.u32 %r2, %nctaid.x;\nmov.u32 %r3, %ntid.y;\nmad.lo.u32 %r2, %r2, 100, %r3;\n"
        "mul.wide.u32 %d2, %r1, 4;\nadd.u64 %d1, %d1, %d2;\nst.global.u32 [%d1], %r2;\nret;\n}\n";
    uint32_t words[8] = {0};
    run(text, 3, 1, words, 8);
    for (unsigned block = 0; block < 8; block++)
        assert_int_equal(words[block], block < 6 ? 602 : 0);
}

/* A grid that counts clusters needs no whole number of them: an H200 says as many. */
TEST(how_many_clusters_a_grid_of_clusters_has_room_for) {
    CUmodule module = load_text(
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k() .blocksareclusters "
        ".reqntid 32 .reqnctapercluster 4, 2\n{\nret;\n}\n");
    const CUlaunchConfig config = {.gridDimX = 2,
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = 32,
                                   .blockDimY = 1,
                                   .blockDimZ = 1};
    CUfunction k;
    int size = 0, count = 0;
    OK(cuModuleGetFunction(&k, module, "k"));
    OK(cuOccupancyMaxPotentialClusterSize(&size, k, &config));
    assert_int_equal(size, 8);
    OK(cuOccupancyMaxActiveClusters(&count, k, &config));
    assert_int_equal(count, 124);
    OK(cuModuleUnload(module));
}

/* A grid of clusters has more blocks than the numbers in a launch, and a block of one thread stands
 * for one that may be larger than the device's: their limits are those of all launches. */
TEST(extents_that_a_kernel_multiplies) {
    static const struct {
        const char *directives;
        unsigned grid;
    } cases[] = {
        {".blocksareclusters .reqntid 1 .reqnctapercluster 8", 1u << 29}, /* 2^32 blocks */
        {".blocksareclusters .reqntid 1 .reqnctapercluster 8", (1u << 29) + 1},
        {".blocksareclusters .reqntid 1 .reqnctapercluster 2", 1u << 30},
        {".reqntid 2048", 1},
        {".reqntid 65536, 65536", 1}, /* 2^32 threads */
    };
    char text[512];
    CUdeviceptr at = 0;
    void *args[] = {&at};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        snprintf(text, sizeof text,
                 ".version 9.0\n.target sm_90\n.address_size 64\n"
                 ".visible .entry k(.param .u64 p) %s\n{\nret;\n}\n",
                 cases[n].directives);
        CUmodule module = load_text(text);
        assert_int_equal(launch(module, "k", cases[n].grid, 1, args), CUDA_ERROR_INVALID_VALUE);
        OK(cuModuleUnload(module));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        /* These two come first, because a fork has no CUDA where others began it. */
        cmocka_unit_test(a_block_of_a_worker_fails),
        cmocka_unit_test(addresses_that_are_not_aligned),
        C(processors_are_counted_once),
        C(blocks_of_a_worker_differ),
        C(copies_to_shared_memory),
        C(phases_of_an_mbarrier),
        C(waits_ask_an_mbarrier_seldom),
        C(a_bulk_copy_and_its_mbarrier),
        C(an_mbarrier_keeps_its_phase_when_it_is_invalid),
        C(a_new_mbarrier_lets_those_go_who_wait_for_the_old_one),
        C(mistakes_with_an_mbarrier),
        C(bulk_copies_that_reduce),
        C(blocks_of_a_cluster_share_memory),
        C(shared_is_the_own_block),
        C(parameters_that_are_aligned),
        C(addresses_of_constants),
        C(addresses_in_a_cluster),
        C(a_grid_that_counts_clusters),
        C(how_many_clusters_a_grid_of_clusters_has_room_for),
        C(extents_that_a_kernel_multiplies),
        C(a_barrier_of_the_grid),
        C(memory_of_the_heap),
        C(the_heap_has_a_limit),
        C(mistakes_with_the_heap),
        C(reserved_memory),
        C(recursion_without_an_end),
        C(recursion_as_deep_as_the_limit),
        C(too_much_static_memory),
        C(much_static_memory),
        C(reads_beyond_constants),
    };
    return RUN(tests);
}
