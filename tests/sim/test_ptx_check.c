/* What the checks find in kernels, and that they find nothing in kernels that are right. */
#include "ptx_test.h"

#include <stdio.h>
#include <stdlib.h>

#define ALL_CHECKS MACHINE ",check=all"

static int begin_with_checks(void **state) {
    (void)state;
    acu_sim_reset(ALL_CHECKS);
    return cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context);
}

#define CHECKED(name) cmocka_unit_test_setup_teardown(name, begin_with_checks, end_in_context)

/* Checks that the last finding has the text. */
static void expect(const char *text) {
    char found[1024];
    assert_true(acu_sim_last_finding(found, sizeof found) > 0);
    if (!strstr(found, text))
        print_error("expected: %s\nfound:    %s\n", text, found);
    assert_non_null(strstr(found, text));
}

/* Runs the kernel "k" of one pointer, to 256 words that have been written. Returns what the check
 * has found in it; if that is nothing, no other check may find anything. */
static unsigned found(const char *check, const char *text, unsigned blocks, unsigned threads) {
    uint32_t words[256];
    unsigned long long before = acu_sim_findings(check), all = acu_sim_findings(NULL) - before;
    count_up(words, 256);
    run(text, blocks, threads, words, 256);
    before = acu_sim_findings(check) - before;
    if (!before)
        assert_int_equal(acu_sim_findings(NULL) - acu_sim_findings(check), all);
    return (unsigned)before;
}

/* ---- races in shared memory ---- */

/* %r1 is the thread, %r2 the address of its word of s, %r3 that of the word of the thread number
 * (%r1 ^ partner); %d2 is the thread's word of global memory. */
#define SHARED(partner, instructions)                                                              \
    HEAD ".entry k(.param .u64 p) {\n.reg .b32 %r<20>; .reg .b64 %d<8>; .reg .pred %p<8>;\n"       \
         ".shared .align 16 .b8 s[1024];\nld.param.u64 %d1, [p];\nmov.u32 %r1, %tid.x;\n"          \
         "mul.wide.u32 %d2, %r1, 4;\nadd.u64 %d2, %d1, %d2;\nmov.u32 %r9, s;\n"                    \
         "mad.lo.u32 %r2, %r1, 4, %r9;\nxor.b32 %r3, %r1, " partner ";\n"                          \
         "mad.lo.u32 %r3, %r3, 4, %r9;\n" instructions "ret;\n}\n"
#define STORE "st.shared.u32 [%r2], %r1;\n"
#define LOAD  "ld.shared.u32 %r4, [%r3];\nst.global.u32 [%d2], %r4;\n"

TEST(a_read_without_a_barrier) {
    assert_int_equal(found("race", SHARED("32", STORE "bar.sync 0;\n" LOAD), 2, 64), 0);
    assert_int_equal(found("race", SHARED("32", STORE LOAD), 1, 64), 64);
    expect("kernel \"k\": check=race: block (0, 0, 0), thread (63, 0, 0): a read of 4 bytes of "
           "shared memory at 0x7c (s + 124), which thread (31, 0, 0) of the same block (0, 0, 0) "
           "writes, and "
           "no barrier orders the two; ld.shared.u32 in line 16 of the PTX; the other access: "
           "st.shared.u32 in line 15 of the PTX");
}

TEST(lanes_of_a_warp) {
    assert_int_equal(found("race", SHARED("1", STORE "bar.warp.sync -1;\n" LOAD), 1, 64), 0);
    assert_int_equal(found("race", SHARED("1", STORE LOAD), 1, 64), 64);
    expect("no barrier or __syncwarp() orders the two");
    /* A shuffle or a vote is no barrier for memory; halves of a warp may meet on their own. */
    assert_int_equal(
        found("race", SHARED("1", STORE "shfl.sync.idx.b32 %r5, %r1, 0, 31, -1;\n" LOAD), 1, 32),
        32);
    assert_int_equal(
        found("race", SHARED("1", STORE "vote.sync.ballot.b32 %r5, 1, -1;\n" LOAD), 1, 32), 32);
    assert_int_equal(
        found("race",
              SHARED("1", "mov.u32 %r5, 0xffff;\nsetp.ge.u32 %p1, %r1, 16;\n"
                          "@%p1 shl.b32 %r5, %r5, 16;\n" STORE "bar.warp.sync %r5;\n" LOAD),
              1, 32),
        0);
    /* A half of the warp knows nothing of the other one, unless lanes of both meet. */
#define HALVES_MEET(more)                                                                          \
    SHARED("16", "and.b32 %r6, %r1, 16;\nmov.u32 %r5, 0xffff;\nshl.b32 %r5, %r5, %r6;\n" STORE     \
                 "bar.warp.sync %r5;\n" more LOAD)
    assert_int_equal(found("race", HALVES_MEET(""), 1, 64), 64);
    assert_int_equal(found("race", HALVES_MEET("bar.warp.sync -1;\n"), 1, 64), 0);
    assert_int_equal(found("race",
                           HALVES_MEET("and.b32 %r6, %r1, 1;\nmov.u32 %r5, 0x55555555;\n"
                                       "shl.b32 %r5, %r5, %r6;\nbar.warp.sync %r5;\n"),
                           1, 64),
                     0);
    /* A barrier of the warp does not order other warps. */
    assert_int_equal(found("race", SHARED("32", STORE "bar.warp.sync -1;\n" LOAD), 1, 64), 64);
}

/* Each thread reads what another one wrote, again and again. The second barrier is what keeps the
 * next write from coming before the read. */
TEST(a_write_behind_a_read) {
#define LOOP(second)                                                                               \
    SHARED("32", "mov.u32 %r6, 0;\nL:\n" STORE "bar.sync 0;\n" LOAD second                         \
                 "add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p1, %r6, 3;\n@%p1 bra L;\n")
    assert_int_equal(found("race", LOOP("bar.sync 0;\n"), 1, 64), 0);
    assert_int_not_equal(found("race", LOOP(""), 1, 64), 0);
    expect("a write of 4 bytes of shared memory");
    /* With two buffers one barrier is enough. */
    assert_int_equal(
        found("race",
              SHARED("32", "mov.u32 %r6, 0;\nL:\n" STORE "bar.sync 0;\n" LOAD
                           "xor.b32 %r2, %r2, 512;\nxor.b32 %r3, %r3, 512;\n"
                           "add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p1, %r6, 5;\n@%p1 bra L;\n"),
              1, 64),
        0);
}

/* A sum over the block: the stride halves, with a barrier in each round. */
TEST(a_reduction) {
#define REDUCTION(barrier)                                                                         \
    SHARED("0", STORE "mov.u32 %r6, 512;\nL:\n" barrier "setp.ge.u32 %p1, %r2, %r6;\n"             \
                      "@%p1 bra N;\nadd.u32 %r7, %r2, %r6;\nld.shared.u32 %r4, [%r7];\n"           \
                      "ld.shared.u32 %r5, [%r2];\nadd.u32 %r5, %r5, %r4;\n"                        \
                      "st.shared.u32 [%r2], %r5;\nN:\nshr.u32 %r6, %r6, 1;\n"                      \
                      "setp.ge.u32 %p2, %r6, 4;\n@%p2 bra L;\nsetp.ne.u32 %p3, %r1, 0;\n"          \
                      "@%p3 bra E;\nld.shared.u32 %r4, [s];\nst.global.u32 [%d1], %r4;\nE:\n")
    uint32_t words[256] = {0};
    run(REDUCTION("bar.sync 0;\n"), 1, 256, words, 256);
    assert_int_equal(words[0], 255 * 128);
    assert_int_equal(acu_sim_findings(NULL), 0);
    assert_int_not_equal(found("race", REDUCTION(""), 1, 256), 0);
}

/* A cluster of two blocks: %r5 is the other block, %r6 the address of the thread's word of s there,
 * and %d2 the thread's word of global memory. */
#define CLUSTER(instructions)                                                                      \
    HEAD ".entry k(.param .u64 p)\n.explicitcluster\n.reqnctapercluster 2, 1, 1\n{\n"              \
         ".reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<3>;\n.shared .align 8 .b8 s[256];\n"     \
         ".shared .b64 m;\nld.param.u64 %d1, [p];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, "            \
         "%cluster_ctarank;\nxor.b32 %r5, %r2, 1;\nmad.lo.u32 %r4, %r2, 32, %r1;\n"                \
         "mul.wide.u32 %d2, %r4, 4;\nadd.u64 %d2, %d1, %d2;\nmov.u32 %r3, s;\n"                    \
         "mad.lo.u32 %r3, %r1, 4, %r3;\nmapa.shared::cluster.u32 %r6, %r3, %r5;\n" instructions    \
         "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\nret;\n}\n"
#define MEET   "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
#define OWN    "add.u32 %r7, %r4, 5;\nst.shared.u32 [%r3], %r7;\n"
#define REMOTE "ld.shared::cluster.u32 %r8, [%r6];\nst.global.u32 [%d2], %r8;\n"

TEST(blocks_of_a_cluster) {
    assert_int_equal(found("race", CLUSTER(OWN MEET REMOTE), 2, 32), 0);
    assert_true(found("race", CLUSTER(OWN REMOTE), 2, 32) >= 32);
    expect("of 4 bytes of shared memory");
    expect("and nothing orders the two");
    /* A barrier before does not order what comes behind; blocks that come later have nothing of
     * those that had the memory before. */
    assert_true(found("race",
                      CLUSTER(OWN MEET REMOTE OWN OWN "add.u32 %r7, %r7, 1;\n"
                                                      "st.shared.u32 [%r3], %r7;\n"),
                      2, 32) >= 32);
    assert_int_equal(found("race", CLUSTER(OWN MEET REMOTE), 6, 32), 0);
    /* What is written before an arrival at another block's mbarrier is ordered by it. */
    assert_int_equal(
        found("race",
              CLUSTER("setp.eq.u32 %p1, %r1, 0;\n@%p1 mbarrier.init.shared.b64 [m], 32;\n" MEET
                      "st.shared::cluster.u32 [%r6], %r4;\nmov.u32 %r8, m;\n"
                      "mapa.shared::cluster.u32 %r8, %r8, %r5;\n"
                      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r8];\n"
                      "again: mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p2, [m], 0;\n"
                      "@!%p2 bra again;\nld.shared.u32 %r8, [%r3];\nst.global.u32 [%d2], %r8;\n"),
              2, 32),
        0);
}

/* A block must not end while another one may still access its shared memory. */
TEST(blocks_of_a_cluster_that_end) {
#define ENDS(instructions)                                                                         \
    HEAD ".entry k(.param .u64 p)\n.explicitcluster\n.reqnctapercluster 2, 1, 1\n{\n"              \
         ".reg .b32 %r<9>; .reg .b64 %d<9>;\n.shared .align 8 .b8 s[256];\nmov.u32 %r1, %tid.x;\n" \
         "mov.u32 %r2, %cluster_ctarank;\nxor.b32 %r5, %r2, 1;\nmov.u32 %r3, s;\n"                 \
         "mad.lo.u32 %r3, %r1, 4, %r3;\nmapa.shared::cluster.u32 %r6, %r3, %r5;\n"                 \
         "st.shared.u32 [%r3], %r1;\n" MEET "ld.shared::cluster.u32 %r8, [%r6];\n" instructions    \
         "ret;\n}\n"
    assert_int_equal(found("race", ENDS(MEET), 2, 32), 0);
    assert_true(found("race", ENDS(""), 2, 32) >= 2);
    expect("a read of 4 bytes of shared memory of block (");
    expect(", and nothing orders that before the end of that block; ld.shared::cluster.u32 in");
}

/* Whoever waits for the mbarrier of the memory's own block reads what the other block copied. */
TEST(copies_between_blocks_of_a_cluster) {
    assert_int_equal(
        found("race",
              CLUSTER("setp.ne.u32 %p1, %r1, 0;\n@%p1 bra A;\nmbarrier.init.shared.b64 [m], 1;\n"
                      "mbarrier.arrive.expect_tx.shared.b64 %d3, [m], 128;\n"
                      "A:\n" OWN "fence.proxy.async;\n" MEET "@%p1 bra B;\nmov.u32 %r8, m;\n"
                      "mapa.shared::cluster.u32 %r8, %r8, %r5;\nmov.u32 %r7, s;\n"
                      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
                      "[%r6+128], [%r7], 128, [%r8];\nB:\n"
                      "again: mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p2, [m], 0;\n"
                      "@!%p2 bra again;\nld.shared.u32 %r8, [%r3+128];\n"
                      "st.global.u32 [%d2], %r8;\n"),
              2, 32),
        0);
}

TEST(atomic_operations) {
#define COUNT "atom.shared.add.u32 %r5, [s], 1;\n"
#define ZERO  "st.shared.u32 [s], 0;\n"
#define READ  "ld.shared.u32 %r4, [s];\nst.global.u32 [%d2], %r4;\n"
    assert_int_equal(
        found("race", SHARED("0", ZERO "bar.sync 0;\n" COUNT "bar.sync 0;\n" READ), 1, 64), 0);
    assert_int_not_equal(found("race", SHARED("0", ZERO "bar.sync 0;\n" COUNT READ), 1, 64), 0);
    assert_int_not_equal(found("race", SHARED("0", ZERO COUNT), 1, 64), 0);
    expect(
        "an atomic operation on 4 bytes of shared memory at 0x0 (s + 0), which thread (32, 0, 0) "
        "of the same block (0, 0, 0) writes");
}

/* A loop with a compare-and-swap begins with a plain read; and an operation that changes nothing
 * only reads. */
TEST(atomic_operations_beside_reads) {
#define SWAPS                                                                                      \
    "ld.shared.u32 %r4, [s];\nL:\nmov.u32 %r5, %r4;\nadd.u32 %r6, %r5, %r1;\n"                     \
    "atom.shared.cas.b32 %r4, [s], %r5, %r6;\nsetp.ne.u32 %p1, %r4, %r5;\n@%p1 bra L;\n"
    assert_int_equal(
        found("race", SHARED("0", ZERO "bar.sync 0;\n" SWAPS "bar.sync 0;\n" READ), 1, 128), 0);
    assert_int_equal(
        found("race",
              SHARED("0", ZERO "bar.sync 0;\n" READ "atom.shared.or.b32 %r5, [s], 0;\n" READ), 1,
              64),
        0);
    assert_int_not_equal(
        found("race", SHARED("0", ZERO "bar.sync 0;\n" READ "atom.shared.or.b32 %r5, [s], 1;\n"), 1,
              64),
        0);
    /* Shared memory keeps a sum that is not normal, which is a change, too. */
    assert_int_not_equal(
        found("race",
              SHARED("0", ZERO "bar.sync 0;\n" READ "atom.shared.add.f32 %r5, [s], 0f00000001;\n"),
              1, 64),
        0);
}

TEST(stores_to_one_place) {
    assert_int_equal(found("race", SHARED("0", "st.shared.u32 [s], 7;\n"), 1, 128), 0);
    assert_int_not_equal(found("race", SHARED("0", "st.shared.u32 [s], %r1;\n"), 1, 32), 0);
    expect("a write of 4 bytes of shared memory at 0x0 (s + 0), which thread (0, 0, 0)");
    /* Neighbours in a word are not one place. */
    assert_int_equal(found("race",
                           SHARED("0", "add.u32 %r5, %r9, %r1;\nst.shared.u8 [%r5], %r1;\n"
                                       "ld.shared.u8 %r4, [%r5];\n"),
                           1, 128),
                     0);
}

/* Lanes whose generic addresses are of local memory beside others whose are of shared memory. */
TEST(addresses_of_different_memory) {
#define MIXED(of_shared)                                                                           \
    SHARED("0",                                                                                    \
           ".local .align 8 .b8 own[8];\nmov.u64 %d3, own;\ncvta.local.u64 %d3, %d3;\n"            \
           "mov.u64 %d4, s;\ncvta.shared.u64 %d4, %d4;\nsetp." of_shared ".u32 %p1, %r1, 0;\n"     \
           "selp.b64 %d5, %d4, %d3, %p1;\nst.u32 [%d5], %r1;\nld.u32 %r4, [%d5];\n")
    assert_int_equal(found("race", MIXED("eq"), 1, 32), 0);
    assert_int_not_equal(found("race", MIXED("ne"), 1, 32), 0);
    expect("a read of 4 bytes of shared memory at 0x0 (s + 0), which thread (");
}

/* Warps of a block that use barriers of their own. */
TEST(named_barriers) {
    assert_int_equal(found("race",
                           SHARED("32", "shr.u32 %r5, %r1, 6;\nadd.u32 %r5, %r5, 1;\n" STORE
                                        "bar.sync %r5, 64;\n" LOAD),
                           1, 128),
                     0);
    assert_int_not_equal(found("race",
                               SHARED("64", "shr.u32 %r5, %r1, 5;\nadd.u32 %r5, %r5, 1;\n" STORE
                                            "bar.sync %r5, 32;\n" LOAD),
                               1, 128),
                         0);
}

/* A flag behind a fence orders what was done before it; without the fence it does not. */
TEST(a_flag_in_shared_memory) {
#define FLAG(fence)                                                                                \
    HEAD ".entry k(.param .u64 p) {\n.reg .b32 %r<20>; .reg .b64 %d<8>; .reg .pred %p<8>;\n"       \
         ".shared .b32 s;\n.shared .b32 f;\nld.param.u64 %d1, [p];\nmov.u32 %r1, %tid.x;\n"        \
         "setp.ne.u32 %p1, %r1, 0;\nst.shared.u32 [f], 0;\nbar.sync 0;\n@%p1 bra W;\n"             \
         "st.shared.u32 [s], 7;\n" fence "st.volatile.shared.u32 [f], 1;\nret;\nW:\n"              \
         "ld.volatile.shared.u32 %r2, [f];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra W;\n" fence         \
         "ld.shared.u32 %r3, [s];\nst.global.u32 [%d1], %r3;\nret;\n}\n"
    assert_int_equal(found("race", FLAG("membar.cta;\n"), 1, 33), 0);
    assert_int_not_equal(found("race", FLAG(""), 1, 33), 0);
}

/* What nobody asks for is not looked at. */
TEST(checks_are_off) {
    acu_sim_reset(MACHINE);
    OK(cuInit(0));
    OK(cuCtxSetCurrent(NULL));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    assert_int_equal(found("race", SHARED("32", STORE LOAD), 1, 64), 0);
    char text[8];
    assert_int_equal(acu_sim_last_finding(text, sizeof text), 0);
    assert_string_equal(text, "");
}

/* ---- races in global memory ---- */

/* %r1 is the number of the block, %d1 the address of the words, %d2 that of word number %r1. */
#define BLOCKS(instructions)                                                                       \
    HEAD ".entry k(.param .u64 p) {\n.reg .b32 %r<20>; .reg .b64 %d<8>; .reg .pred %p<8>;\n"       \
         "ld.param.u64 %d1, [p];\nmov.u32 %r1, %ctaid.x;\nmul.wide.u32 %d2, %r1, 4;\n"             \
         "add.u64 %d2, %d1, %d2;\n" instructions "ret;\n}\n"

TEST(blocks_that_share_global_memory) {
    assert_int_equal(found("race", BLOCKS("st.global.u32 [%d2], %r1;\n"), 8, 1), 0);
    assert_int_equal(found("race", BLOCKS("red.global.add.u32 [%d1], 1;\n"), 8, 32), 0);
    assert_int_equal(found("race",
                           BLOCKS("ld.global.u32 %r2, [%d1+64];\n"
                                  "st.global.u32 [%d2], %r2;\n"),
                           8, 1),
                     0);
    assert_int_equal(found("race", BLOCKS("st.global.u32 [%d1], %r1;\n"), 3, 1), 2);
    expect("block (2, 0, 0), thread (0, 0, 0): a write of 4 bytes of global memory at 0x");
    expect("which thread (0, 0, 0) of block (1, 0, 0) writes, and nothing orders the two");
    assert_int_equal(
        found("race", BLOCKS("ld.global.u32 %r2, [%d2+4];\nst.global.u32 [%d2], %r2;\n"), 3, 1), 2);
}

/* %r1 is the thread, %d2 the address of its word, %d3 that of the word of the thread number
 * (%r1 ^ partner), %r2 what no word has yet. */
#define WORDS(partner, instructions)                                                               \
    HEAD ".entry k(.param .u64 p) {\n.reg .b32 %r<20>; .reg .b64 %d<8>; .reg .pred %p<8>;\n"       \
         "ld.param.u64 %d1, [p];\nmov.u32 %r1, %tid.x;\nadd.u32 %r2, %r1, 1000;\n"                 \
         "mad.wide.u32 %d2, %r1, 4, %d1;\nxor.b32 %r3, %r1, " partner ";\n"                        \
         "mad.wide.u32 %d3, %r3, 4, %d1;\n" instructions "ret;\n}\n"
#define STORE_WORD "st.global.u32 [%d2], %r2;\n"
#define LOAD_WORD  "ld.global.u32 %r4, [%d3];\n"

TEST(warps_that_share_global_memory) {
    assert_int_equal(found("race", WORDS("32", STORE_WORD "bar.sync 0;\n" LOAD_WORD), 1, 64), 0);
    assert_int_equal(found("race", WORDS("32", STORE_WORD LOAD_WORD), 1, 64), 64);
    expect("kernel \"k\": check=race: block (0, 0, 0), thread (63, 0, 0): a read of 4 bytes of "
           "global memory at 0x");
    expect(", which thread (31, 0, 0) of the same block (0, 0, 0) writes, and no barrier orders "
           "the two; ld.global.u32 in line 13 of the PTX; the other access: st.global.u32 in line "
           "12 of the PTX");
    assert_int_equal(found("race", WORDS("32", LOAD_WORD STORE_WORD), 1, 64), 64);
    expect("a write of 4 bytes of global memory");
    assert_int_equal(found("race", WORDS("32", LOAD_WORD "bar.sync 0;\n" STORE_WORD), 1, 64), 0);
    assert_int_equal(found("race", WORDS("32", STORE_WORD "st.u32 [%d3], %r1;\n"), 1, 64), 64);
    assert_int_equal(found("race", WORDS("32", STORE_WORD "bar.warp.sync -1;\n" LOAD_WORD), 1, 64),
                     64);
    /* A fence alone tells other threads of nothing. */
    assert_int_equal(found("race", WORDS("32", STORE_WORD "membar.gl;\n" LOAD_WORD), 1, 64), 64);
    /* Lanes of a warp, and neighbours in a word. */
    assert_int_equal(found("race", WORDS("1", STORE_WORD "bar.warp.sync -1;\n" LOAD_WORD), 1, 64),
                     0);
    assert_int_equal(found("race", WORDS("1", STORE_WORD LOAD_WORD), 1, 64), 64);
    assert_int_equal(found("race",
                           WORDS("0", "cvt.u64.u32 %d4, %r1;\nadd.u64 %d4, %d1, %d4;\n"
                                      "st.global.u8 [%d4], %r2;\nld.global.u8 %r4, [%d4];\n"),
                           1, 128),
                     0);
}

TEST(warps_that_are_ordered_in_global_memory) {
    /* Two warps each have a barrier, which orders them alone. */
#define PAIR(partner)                                                                              \
    WORDS(partner, "shr.u32 %r5, %r1, 6;\nadd.u32 %r5, %r5, 1;\n" STORE_WORD                       \
                   "barrier.sync %r5, 64;\n" LOAD_WORD)
    assert_int_equal(found("race", PAIR("32"), 1, 128), 0);
    assert_int_equal(found("race", PAIR("64"), 1, 128), 128);
    /* The second warp waits for the first one, which does not wait. */
#define ARRIVE(how)                                                                                \
    WORDS("32", "setp.ge.u32 %p1, %r1, 32;\n@%p1 bra W;\n" STORE_WORD how                          \
                " 1, 64;\nret;\nW:\nbar.sync 1, 64;\n" LOAD_WORD)
    assert_int_equal(found("race", ARRIVE("bar.arrive"), 1, 64), 0);
    assert_int_equal(found("race", ARRIVE("bar.sync"), 1, 64), 0);
    /* What the first warp does behind that is not ordered, nor what the second one did before. */
    assert_int_equal(found("race",
                           WORDS("32", "setp.ge.u32 %p1, %r1, 32;\n@%p1 bra W;\n"
                                       "bar.arrive 1, 64;\n" STORE_WORD "ret;\nW:\n"
                                       "bar.sync 1, 64;\n" LOAD_WORD),
                           1, 64),
                     32);
    assert_int_equal(found("race",
                           WORDS("32", "setp.ge.u32 %p1, %r1, 32;\n@%p1 bra W;\n"
                                       "bar.arrive 1, 64;\n" LOAD_WORD "ret;\nW:\n" STORE_WORD
                                       "bar.sync 1, 64;\n"),
                           1, 64),
                     32);
    /* The third warp knows by the second one what the first one did, and so round after round. */
#define CHAIN(last)                                                                                \
    WORDS("64", "shr.u32 %r5, %r1, 5;\nsetp.eq.u32 %p1, %r5, 1;\n@%p1 bra M;\n"                    \
                "setp.eq.u32 %p1, %r5, 2;\n@%p1 bra W;\n" STORE_WORD "bar.sync 1, 64;\nret;\nM:\n" \
                "bar.sync 1, 64;\n" last "ret;\nW:\nbar.sync 2, 64;\n" LOAD_WORD)
    assert_int_equal(found("race", CHAIN("bar.sync 2, 64;\n"), 1, 96), 0);
    assert_int_equal(found("race", CHAIN("bar.arrive 2, 64;\n"), 1, 96), 0);
    /* A counter that each warp has a fence before. */
#define COUNTER(fence)                                                                             \
    WORDS("32",                                                                                    \
          STORE_WORD fence "atom.global.add.u32 %r5, [%d1+512], 1;\nL:\n"                          \
                           "ld.volatile.global.u32 %r5, [%d1+512];\nsetp.ne.u32 %p1, %r5, 192;\n"  \
                           "@%p1 bra L;\n" fence LOAD_WORD)
    assert_int_equal(found("race", COUNTER("membar.cta;\n"), 1, 64), 0);
    assert_int_not_equal(found("race", COUNTER(""), 1, 64), 0);
    /* Atomic operations, and a plain read beside them. */
#define ADD "red.global.add.u32 [%d1], 1;\n"
#define GET "ld.global.u32 %r4, [%d1];\n"
    assert_int_equal(found("race", WORDS("0", ADD "bar.sync 0;\n" GET), 1, 64), 0);
    assert_int_not_equal(found("race", WORDS("0", ADD GET), 1, 64), 0);
    expect("which thread (32, 0, 0) of the same block (0, 0, 0) changes, and no barrier");
}

/* The last block adds up what the others have written: it knows of that by a counter, and each
 * block has a fence before it counts. */
TEST(the_last_block) {
#define LAST(fence)                                                                                \
    BLOCKS(                                                                                        \
        "st.global.u32 [%d2+64], %r1;\n" fence "atom.global.add.u32 %r2, [%d1+128], 1;\n"          \
        "sub.u32 %r2, %r2, 32;\nsetp.ne.u32 %p1, %r2, 3;\n@%p1 bra E;\nmov.u32 %r3, 0;\n"          \
        "ld.global.u32 %r4, [%d1+64];\nadd.u32 %r3, %r3, %r4;\n"                                   \
        "ld.global.u32 %r4, [%d1+72];\nadd.u32 %r3, %r3, %r4;\nst.global.u32 [%d1], %r3;\nE:\n")
    assert_int_equal(found("race", LAST("membar.gl;\n"), 4, 1), 0);
    /* What was only read needs no fence. */
    assert_int_equal(
        found("race",
              BLOCKS("ld.global.u32 %r3, [%d1+64];\natom.global.add.u32 %r2, [%d1+128], 1;\n"
                     "setp.ne.u32 %p1, %r2, 35;\n@%p1 bra E;\nst.global.u32 [%d1+64], 99;\nE:\n"),
              4, 1),
        0);
    assert_int_equal(found("race", LAST(""), 4, 1), 2);
    /* A fence of the block tells other blocks of nothing, as __threadfence_block() does. */
    assert_int_equal(found("race", LAST("membar.cta;\n"), 4, 1), 2);
    assert_int_equal(found("race", LAST("fence.acq_rel.gpu;\n"), 4, 1), 0);
}

/* A flag that is released and acquired, by the number of the block or of the thread. */
TEST(scopes_of_a_flag) {
#define FLAG_OF(number, release, acquire)                                                          \
    BLOCKS("mov.u32 %r1, " number ";\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra W;\n"                     \
           "st.global.u32 [%d1+64], 77;\n" release " [%d1+512], 1000;\nret;\nW:\n" acquire         \
           " %r2, [%d1+512];\nsetp.ne.u32 %p1, %r2, 1000;\n@%p1 bra W;\n"                          \
           "ld.global.u32 %r3, [%d1+64];\nst.global.u32 [%d1+68], %r3;\n")
#define RELEASE(scope) "st.release." scope ".global.u32"
#define ACQUIRE(scope) "ld.acquire." scope ".global.u32"
    assert_int_equal(found("race", FLAG_OF("%ctaid.x", RELEASE("gpu"), ACQUIRE("gpu")), 2, 1), 0);
    assert_int_equal(found("race", FLAG_OF("%tid.x", RELEASE("cta"), ACQUIRE("cta")), 1, 33), 0);
    assert_int_equal(found("race", FLAG_OF("%tid.x", RELEASE("gpu"), ACQUIRE("cta")), 1, 33), 0);
    assert_int_equal(found("race", FLAG_OF("%tid.x", RELEASE("cta"), ACQUIRE("gpu")), 1, 33), 0);
    /* The flag, and what it is for. */
    assert_int_equal(found("race", FLAG_OF("%ctaid.x", RELEASE("cta"), ACQUIRE("gpu")), 2, 1), 2);
    expect("which thread (0, 0, 0) of block (0, 0, 0) writes, and nothing orders the two");
    assert_int_equal(found("race", FLAG_OF("%ctaid.x", RELEASE("gpu"), ACQUIRE("cta")), 2, 1), 2);
}

/* Atomic operations of several blocks whose scope is their own block. */
TEST(scopes_of_atomic_operations) {
#define ATOMIC(scope) "atom." scope "global.add.u32 %r2, [%d1], 1;\n"
    assert_int_equal(found("race", BLOCKS(ATOMIC("")), 3, 32), 0);
    assert_int_equal(found("race", BLOCKS(ATOMIC("cta.")), 1, 64), 0);
    assert_int_equal(found("race", BLOCKS(ATOMIC("cta.")), 2, 1), 1);
    expect("which thread (0, 0, 0) of block (0, 0, 0) changes, and the scope .cta of one of them "
           "has not both");
}

/* Threads that have one after the other the same memory of the heap. */
TEST(memory_of_the_heap_again) {
    assert_int_equal(
        found("race",
              HEAD ".extern .func (.param .b64 r) malloc (.param .b64 n);\n"
                   ".extern .func free (.param .b64 a);\n.entry k(.param .u64 p) {\n"
                   ".reg .b32 %r<9>; .reg .b64 %d<9>;\nmov.u32 %r1, %tid.x;\n"
                   "{ .param .b64 n; .param .b64 r; st.param.b64 [n], 64;\n"
                   "call.uni (r), malloc, (n);\nld.param.b64 %d1, [r]; }\nst.u32 [%d1], %r1;\n"
                   "{ .param .b64 a; st.param.b64 [a], %d1;\ncall.uni free, (a); }\nret;\n}\n",
              2, 64),
        0);
}

/* ---- memory that was never written ---- */

TEST(shared_memory_that_nobody_wrote) {
    assert_int_equal(found("init", SHARED("32", STORE "bar.sync 0;\n" LOAD), 2, 64), 0);
    /* Half of the words are there; in each of the blocks the others are not. */
    assert_int_equal(found("init", SHARED("32", STORE "bar.sync 0;\n" LOAD), 2, 32), 64);
    expect("block (1, 0, 0), thread (31, 0, 0): a read of 4 bytes of shared memory at 0xfc (s + "
           "252), which were never written; ld.shared.u32 in line 17 of the PTX");
    /* Of a vector, a part is enough. */
    assert_int_equal(found("init",
                           SHARED("0", "st.shared.u32 [s+8], 1;\nbar.warp.sync -1;\n"
                                       "ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [s];\n"),
                           1, 1),
                     0);
    /* An exchange is how threads set a word at once; an addition needs what is there. */
    assert_int_equal(found("init", SHARED("0", "atom.shared.exch.b32 %r4, [s], 0;\n"), 1, 32), 0);
    assert_int_equal(found("init", SHARED("0", "atom.shared.add.u32 %r4, [s], 1;\n"), 1, 1), 1);
}

TEST(local_memory_that_nobody_wrote) {
#define LOCAL(at)                                                                                  \
    HEAD                                                                                           \
        ".entry k(.param .u64 p) {\n.reg .b32 %r<9>; .reg .b64 %d<9>;\n.local .b8 a[16];\n"        \
        "mov.u64 %d1, a;\nmov.u32 %r1, 5;\nst.local.u32 [%d1+4], %r1;\nld.local.u32 %r2, [%d1+" at \
        "];\nret;\n}\n"
    assert_int_equal(found("init", LOCAL("4"), 1, 32), 0);
    assert_int_equal(found("init", LOCAL("8"), 1, 32), 32);
    expect("a read of 4 bytes of local memory at 0x8, which were never written");
}

/* Two functions have the same place of the stack, one after the other; a third one calls itself. */
TEST(local_memory_of_functions) {
#define FUNCTIONS(at)                                                                              \
    HEAD ".func f() {\n.local .align 4 .b8 a[16];\n.reg .b64 %d<2>;\nmov.u64 %d1, a;\n"            \
         "st.local.u32 [%d1], 1;\nst.local.u32 [%d1+8], 1;\nret;\n}\n"                             \
         ".func (.reg .b32 r) g() {\n.local .align 4 .b8 a[16];\n.reg .b64 %d<2>;\n"               \
         "mov.u64 %d1, a;\nst.local.u32 [%d1], 2;\nld.local.u32 r, [%d1+" at "];\nret;\n}\n"       \
         ".func (.param .b32 s) h(.param .b32 n) {\n.local .align 4 .b8 a[4];\n.reg .b64 %d<2>;\n" \
         ".reg .b32 %r<4>; .reg .pred %p<2>;\nmov.u64 %d1, a;\nld.param.b32 %r1, [n];\n"           \
         "st.local.u32 [%d1], %r1;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra E;\n"                       \
         "sub.u32 %r1, %r1, 1;\n{ .param .b32 m; .param .b32 t; st.param.b32 [m], %r1;\n"          \
         "call (t), h, (m);\nld.param.b32 %r2, [t]; }\n"                                           \
         "E:\nld.local.u32 %r3, [%d1];\nst.param.b32 [s], %r3;\nret;\n}\n"                         \
         ".entry k(.param .u64 p) {\n.reg .b32 %r<4>;\ncall f;\ncall (%r1), g;\n"                  \
         "{ .param .b32 m; .param .b32 t; st.param.b32 [m], 3;\ncall (t), h, (m);\n"               \
         "ld.param.b32 %r2, [t]; }\nret;\n}\n"
    assert_int_equal(found("init", FUNCTIONS("0"), 1, 32), 0);
    assert_int_equal(found("init", FUNCTIONS("8"), 1, 32), 32);
    expect("a read of 4 bytes of local memory at 0x18, which were never written");
}

/* A half of a word is written and read, with each number from 0 to that of bfloat16's infinity:
 * none of them is what stands in a word that nobody wrote. */
TEST(a_half_of_a_word_is_enough) {
#define HALVES(space, declaration)                                                                 \
    HEAD ".entry k(.param .u64 p) {\n.reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<2>;\n"        \
         ".reg .b16 %h<3>;\n" declaration "mov.u32 %r1, %tid.x;\nmul.lo.u32 %r2, %r1, 1020;\n"     \
         "add.u32 %r3, %r2, 1020;\nL: cvt.u16.u32 %h1, %r2;\nst." space ".u16 [%d1], %h1;\n"       \
         "ld." space ".u16 %h2, [%d1];\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, %r3;\n"        \
         "@%p1 bra L;\nret;\n}\n"
    assert_int_equal(found("init", HALVES("local", ".local .b32 a;\nmov.u64 %d1, a;\n"), 1, 32), 0);
    assert_int_equal(found("init",
                           HALVES("shared", ".shared .b32 a[32];\nmov.u32 %r4, %tid.x;\n"
                                            "mul.wide.u32 %d2, %r4, 4;\nmov.u64 %d1, a;\n"
                                            "add.u64 %d1, %d1, %d2;\n"),
                           1, 32),
                     0);
    CUmodule module = load_text(HALVES("global", "ld.param.u64 %d1, [p];\nmov.u32 %r4, %tid.x;\n"
                                                 "mul.wide.u32 %d2, %r4, 4;\n"
                                                 "add.u64 %d1, %d1, %d2;\n"));
    CUdeviceptr at;
    void *args[] = {&at};
    unsigned long long before = acu_sim_findings(NULL);
    OK(cuMemAlloc(&at, 128));
    OK(launch(module, "k", 1, 32, args));
    OK(cuCtxSynchronize());
    assert_int_equal(acu_sim_findings(NULL) - before, 0);
    OK(cuMemFree(at));
    OK(cuModuleUnload(module));
}

/* Reads word %tid.x of memory that the host has, or has not written. */
#define READ_GLOBAL                                                                                \
    HEAD ".entry k(.param .u64 p) {\n.reg .b32 %r<9>; .reg .b64 %d<9>;\nld.param.u64 %d1, [p];\n"  \
         "mov.u32 %r1, %tid.x;\nmul.wide.u32 %d2, %r1, 4;\nadd.u64 %d1, %d1, %d2;\n"               \
         "ld.global.u32 %r2, [%d1];\nst.global.u32 [%d1], %r1;\nret;\n}\n"

static unsigned unwritten_of(CUmodule module, CUdeviceptr at) {
    unsigned long long before = acu_sim_findings("init");
    void *args[] = {&at};
    OK(launch(module, "k", 1, 32, args));
    OK(cuCtxSynchronize());
    return (unsigned)(acu_sim_findings("init") - before);
}

/* Where the bytes of device memory are is not where its addresses say, nor at the same place within
 * more than a page: 33 MiB are no power of two. */
TEST(copies_of_what_nobody_wrote_in_memory_of_any_size) {
    for (unsigned mib = 32; mib < 40; mib++) {
        char machine[128];
        CUdeviceptr other, copy;
        snprintf(machine, sizeof machine, ALL_CHECKS ",memory=%uMiB", mib);
        acu_sim_reset(machine);
        OK(cuInit(0));
        OK(cuDevicePrimaryCtxRetain(&context, 0));
        OK(cuCtxSetCurrent(context));
        CUmodule module = load_text(READ_GLOBAL);
        OK(cuMemAlloc(&other, 128));
        OK(cuMemAlloc(&copy, 128));
        OK(cuMemcpyDtoD(copy, other, 128));
        assert_int_equal(unwritten_of(module, copy), 32);
        OK(cuModuleUnload(module));
        OK(cuMemFree(copy));
        OK(cuMemFree(other));
    }
    begin_with_checks(NULL);
}

TEST(device_memory_that_nobody_wrote) {
    CUmodule module = load_text(READ_GLOBAL);
    uint32_t words[32] = {0};
    CUdeviceptr at, other;
    CUstream stream;
    OK(cuStreamCreate(&stream, 0));
    OK(cuMemAlloc(&at, 128));
    OK(cuMemAlloc(&other, 128));
    OK(cuMemcpyHtoD(at, words, 31 * sizeof *words));
    assert_int_equal(unwritten_of(module, at), 1);
    expect("thread (31, 0, 0): a read of 4 bytes of global memory at 0x");
    assert_int_equal(unwritten_of(module, at), 0); /* the kernel has written it */
    assert_int_equal(unwritten_of(module, other), 32);
    OK(cuMemFree(other));
    OK(cuMemAlloc(&other, 128));
    OK(cuMemcpyDtoD(other, at, 64));
    assert_int_equal(unwritten_of(module, other), 16);
    OK(cuMemFree(other));
    CUdeviceptr copy; /* of what was never written */
    OK(cuMemAlloc(&other, 128));
    OK(cuMemAlloc(&copy, 128));
    OK(cuMemcpyDtoD(copy, other + 28, 100));
    OK(cuMemcpyHtoD(copy + 100, words, 28));
    assert_int_equal(unwritten_of(module, copy), 25);
    OK(cuMemFree(copy));
    OK(cuMemFree(other));
    OK(cuMemAllocAsync(&other, 128, stream));
    OK(cuMemsetD8Async(other, 0, 60, stream));
    OK(cuStreamSynchronize(stream));
    assert_int_equal(unwritten_of(module, other), 17);
    OK(cuMemFreeAsync(other, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuMemAllocManaged(&other, 128, CU_MEM_ATTACH_GLOBAL)); /* the host may write it unseen */
    assert_int_equal(unwritten_of(module, other), 0);
    OK(cuMemFree(other));
    OK(cuMemFree(at));
    OK(cuStreamDestroy(stream));
    OK(cuModuleUnload(module));
}

/* Each launch of a graph allocates anew, at the same address. */
TEST(memory_of_a_graph_that_nobody_wrote) {
    CUmodule module = load_text(READ_GLOBAL);
    CUfunction function;
    CUdeviceptr at;
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    void *args[] = {&at};
    OK(cuModuleGetFunction(&function, module, "k"));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemAllocAsync(&at, 128, stream));
    OK(cuMemsetD8Async(at, 0, 64, stream));
    OK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, args, NULL));
    OK(cuMemFreeAsync(at, stream));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphInstantiate(&exec, graph, 0));
    for (unsigned n = 1; n <= 2; n++) {
        OK(cuGraphLaunch(exec, stream));
        OK(cuStreamSynchronize(stream));
        assert_int_equal(acu_sim_findings("init"), 16 * n);
    }
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuStreamDestroy(stream));
    OK(cuModuleUnload(module));
}

/* Variables are zeroed or have their values. */
TEST(variables_are_written) {
    assert_int_equal(
        found("init",
              HEAD ".global .b32 a[4];\n.global .b32 b = 3;\n.const .b32 c = 4;\n"
                   ".entry k(.param .u64 p) {\n.reg .b32 %r<9>;\nld.global.u32 %r1, [a+8];\n"
                   "ld.global.u32 %r2, [b];\nld.const.u32 %r3, [c];\nret;\n}\n",
              1, 32),
        0);
}

/* ---- accesses beyond what was allocated ---- */

/* Stores to word number %r2 of memory of 1000 bytes; returns what the launch came to. */
#define STORE_AT(index)                                                                            \
    HEAD ".entry k(.param .u64 p) {\n.reg .b32 %r<9>; .reg .b64 %d<9>;\nld.param.u64 %d1, [p];\n"  \
         "mov.u32 %r1, %tid.x;\nadd.u32 %r2, %r1, " index ";\nmul.wide.s32 %d2, %r2, 4;\n"         \
         "add.u64 %d1, %d1, %d2;\nst.global.u32 [%d1], %r1;\nret;\n}\n"

static int store_at(const char *text, CUdeviceptr at, unsigned threads) {
    CUmodule module = load_text(text);
    void *args[] = {&at};
    OK(launch(module, "k", 1, threads, args));
    int result = cuCtxSynchronize();
    if (!result)
        OK(cuModuleUnload(module));
    return result;
}

/* Sizes are rounded, so that a GPU does not fail where an access is only a little too far. */
TEST(a_little_behind_an_allocation) {
    CUdeviceptr at;
    OK(cuMemAlloc(&at, 1000));
    OK(store_at(STORE_AT("218"), at, 32));
    assert_int_equal(acu_sim_findings(NULL), 0);
    OK(store_at(STORE_AT("219"), at, 32));
    assert_int_equal(acu_sim_findings("memory"), 1);
    expect("thread (31, 0, 0): a write of 4 bytes of global memory at 0x");
    expect(", 0 bytes behind the end of allocation ");
    expect(", of 1000 bytes at 0x");
    expect("(allocated at ");
    OK(store_at(STORE_AT("250"), at, 3));
    assert_int_equal(acu_sim_findings("memory"), 4);
    expect(", 8 bytes behind the end of allocation ");
    OK(cuMemFree(at));
}

/* The name of a variable says more than an address. */
TEST(near_a_variable_of_the_module) {
#define AFTER(by)                                                                                  \
    HEAD ".global .b8 first[16];\n.global .b8 second[16];\n.entry k(.param .u64 p) {\n"            \
         ".reg .b64 %d<3>;\nmov.u64 %d1, first;\nadd.u64 %d1, %d1, " by                            \
         ";\nst.global.u32 [%d1], 7;\nret;\n}\n"
    assert_int_equal(found("memory", AFTER("12"), 1, 1), 0);
    assert_int_equal(found("memory", AFTER("16"), 1, 1), 1);
    expect(", 0 bytes behind the end of the variable first, of 16 bytes at 0x");
    assert_int_equal(found("memory", AFTER("400"), 1, 1), 1);
    expect(", 384 bytes behind the end of the variable first, of 16 bytes at 0x");
    SAYS(CUDA_ERROR_ILLEGAL_ADDRESS, store_at(AFTER("1020"), 0, 1));
    expect(", 4 bytes before the variable second, of 16 bytes at 0x");
    begin_with_checks(NULL);
}

/* A constant is named as what the instruction reads, though it lies in memory like all others. */
TEST(behind_a_constant) {
#define CONSTANT(at)                                                                               \
    HEAD ".const .b32 table[4];\n.entry k(.param .u64 p) {\n.reg .b32 %r<3>; .reg .b64 %d<3>;\n"   \
         "mov.u64 %d1, table;\nld.const.u32 %r1, [%d1+" at "];\nret;\n}\n"
    assert_int_equal(found("memory", CONSTANT("12"), 1, 1), 0);
    assert_int_equal(found("memory", CONSTANT("16"), 1, 1), 1);
    expect("a read of 4 bytes of constant memory at 0x");
    expect(", 0 bytes behind the end of the variable table, of 16 bytes at 0x");
}

TEST(far_behind_an_allocation) {
    CUdeviceptr at;
    OK(cuMemAlloc(&at, 1000));
    SAYS(CUDA_ERROR_ILLEGAL_ADDRESS, store_at(STORE_AT("1250"), at, 1));
    assert_int_equal(acu_sim_findings("memory"), 1);
    expect(", 4000 bytes behind the end of allocation ");
    begin_with_checks(NULL);
}

/* A size that needs no rounding leaves no room, and what is behind it is another's. */
TEST(behind_the_first_of_two) {
    CUdeviceptr first, second;
    OK(cuMemAlloc(&first, 1024));
    OK(cuMemAlloc(&second, 1024));
    OK(store_at(STORE_AT("224"), first, 32));
    OK(store_at(STORE_AT("224"), second, 32));
    assert_int_equal(acu_sim_findings(NULL), 0);
    SAYS(CUDA_ERROR_ILLEGAL_ADDRESS, store_at(STORE_AT("256"), first, 1));
    assert_int_equal(acu_sim_findings("memory"), 1);
    expect(", 0 bytes behind the end of allocation ");
    begin_with_checks(NULL);
}

TEST(before_the_second_of_two) {
    CUdeviceptr first, second;
    OK(cuMemAlloc(&first, 1024));
    OK(cuMemAlloc(&second, 1024));
    SAYS(CUDA_ERROR_ILLEGAL_ADDRESS, store_at(STORE_AT("-1"), second, 1));
    assert_int_equal(acu_sim_findings("memory"), 1);
    expect(", 4 bytes before allocation ");
    begin_with_checks(NULL);
}

/* A large allocation begins at a multiple of 2 MiB, and may fill what is between two of them. */
TEST(behind_a_large_allocation) {
    CUdeviceptr first, second;
    OK(cuMemAlloc(&first, 2 << 20));
    OK(cuMemAlloc(&second, 2 << 20));
    SAYS(CUDA_ERROR_ILLEGAL_ADDRESS, store_at(STORE_AT("524288"), first, 1));
    assert_int_equal(acu_sim_findings("memory"), 1);
    expect(", 0 bytes behind the end of allocation ");
    begin_with_checks(NULL);
}

TEST(memory_that_was_freed) {
    CUdeviceptr at, other;
    OK(cuMemAlloc(&at, 1000));
    OK(cuMemAlloc(&other, 1000));
    OK(cuMemFree(at));
    SAYS(CUDA_ERROR_ILLEGAL_ADDRESS, store_at(STORE_AT("3"), at, 1));
    assert_int_equal(acu_sim_findings("memory"), 1);
    expect(", 12 bytes into allocation ");
    expect(", which was freed at ");
    expect(" (allocated at ");
    begin_with_checks(NULL);
}

TEST(no_memory_at_all) {
    SAYS(CUDA_ERROR_ILLEGAL_ADDRESS, store_at(STORE_AT("0"), 0, 1));
    expect("a write of 4 bytes of global memory at 0x0, which is NULL; st.global.u32");
    begin_with_checks(NULL);
}

/* A kernel that asks malloc() for 40 bytes, in %d2. */
#define WITH_HEAP(instructions)                                                                    \
    HEAD                                                                                           \
        ".extern .func (.param .b64 r) malloc(.param .b64 n);\n.extern .func free(.param .b64 p);" \
        "\n.entry k(.param .u64 p) {\n.reg .b32 %r<9>; .reg .b64 %d<9>;\n{\n.param .b64 r;\n"      \
        ".param .b64 n;\nst.param.b64 [n], 40;\ncall (r), malloc, (n);\n"                          \
        "ld.param.b64 %d2, [r];\n}\n" instructions "ret;\n}\n"
#define FREE_IT "{\n.param .b64 p;\nst.param.b64 [p], %d2;\ncall free, (p);\n}\n"

TEST(what_malloc_returned) {
    assert_int_equal(
        found("memory", WITH_HEAP("st.u32 [%d2], 1;\nst.u32 [%d2+36], 1;\n" FREE_IT), 1, 32), 0);
    assert_int_equal(found("memory", WITH_HEAP("st.u32 [%d2+40], 1;\n" FREE_IT), 1, 1), 1);
    expect(", 0 bytes behind the end of the 40 that malloc() returned at 0x");
    assert_int_equal(found("memory", WITH_HEAP("st.u64 [%d2+56], 1;\n" FREE_IT), 1, 1), 1);
    expect(", 16 bytes behind the end of the 40 that malloc() returned at 0x");
    assert_int_equal(
        found("memory", WITH_HEAP("st.u32 [%d2+8], 3;\n" FREE_IT "ld.u32 %r1, [%d2+8];\n"), 1, 1),
        1);
    expect(", 8 bytes into what malloc() returned at 0x");
    expect(" and free() took; ld.u32 in line");
    assert_int_equal(found("memory", WITH_HEAP("ld.u32 %r1, [%d2+65536];\n" FREE_IT), 1, 1), 1);
    expect(", in the heap, where nobody has memory; ld.u32 in line");
    assert_int_equal(found("memory", WITH_HEAP("add.u64 %d2, %d2, 16;\n" FREE_IT), 1, 1), 1);
    expect(", which malloc() did not return; call in line");
}

/* Asks malloc() for some bytes, in %d3. */
#define TAKE(bytes)                                                                                \
    "{\n.param .b64 r;\n.param .b64 n;\nst.param.b64 [n], " bytes ";\ncall (r), malloc, (n);\n"    \
    "ld.param.b64 %d3, [r];\n}\n"

/* What a kernel gave back is seen also where it has asked for memory of that size since. */
TEST(what_free_took_is_not_there_again) {
#define TAKE_AS_MUCH TAKE("40")
    assert_int_equal(found("memory",
                           WITH_HEAP("st.u32 [%d2+8], 3;\n" FREE_IT TAKE_AS_MUCH
                                     "st.u32 [%d3+8], 4;\nld.u32 %r1, [%d2+8];\n"),
                           1, 1),
                     1);
    expect(", 8 bytes into what malloc() returned at 0x");
}

/* Pieces that were given back serve again once there are no others, small ones also as a large one.
 * A kernel that gets no memory writes to NULL. */
TEST(memory_does_not_run_out) {
#define TAKE_PAGE TAKE("4000")
#define TAKE_MUCH TAKE("4000000")
    static const char text[] =
        WITH_HEAP(".reg .pred %p<2>;\nmov.u32 %r1, 0;\nL:\n" FREE_IT TAKE_PAGE
                  "mov.u64 %d2, %d3;\nst.u32 [%d2], %r1;\nadd.u32 %r1, %r1, 1;\n"
                  "setp.lt.u32 %p1, %r1, 20000;\n@%p1 bra L;\n" TAKE_MUCH "st.u32 [%d3], 1;\n");
    assert_int_equal(found("memory", text, 1, 1), 0);
}

/* Two variables lie one behind the other, and dynamic shared memory behind them. */
TEST(behind_a_shared_variable) {
#define BEHIND(index)                                                                              \
    HEAD ".extern .shared .align 4 .b8 d[];\n.entry k(.param .u64 p) {\n.reg .b32 %r<9>;\n"        \
         ".shared .b32 s[8];\n.shared .b32 t[8];\nmov.u32 %r1, s;\nmov.u32 %r2, t;\n"              \
         "mov.u32 %r3, d;\nmov.u32 %r4, %tid.x;\nshl.b32 %r4, %r4, 2;\nadd.u32 %r4, %r4, " index   \
         ";\nst.shared.u32 [%r4], %r4;\nret;\n}\n"
    assert_int_equal(found("memory", BEHIND("%r1"), 1, 8), 0);
    assert_int_equal(found("memory", BEHIND("%r2"), 1, 8), 0);
    assert_int_equal(found("memory", BEHIND("%r1"), 1, 9), 1);
    expect("thread (8, 0, 0): a write of 4 bytes of shared memory at 0x20, 0 bytes behind the end "
           "of s, which has 32; st.shared.u32 in line");
    assert_int_equal(found("memory", BEHIND("%r2"), 1, 10), 2);
    expect("4 bytes behind the end of t, which has 32");
}

/* An index below 0, which leads into the gap before the variable, or out of the memory. */
TEST(before_a_shared_variable) {
    assert_int_equal(found("memory", BEHIND("%r2;\nsub.u32 %r4, %r4, 4"), 1, 8), 1);
    expect("thread (0, 0, 0): a write of 4 bytes of shared memory at 0x");
    expect(", 4 bytes before t, which has 32; st.shared.u32 in line");
    SAYS(CUDA_ERROR_ILLEGAL_INSTRUCTION, store_at(BEHIND("%r1;\nsub.u32 %r4, %r4, 8"), 0, 1));
    expect(", 8 bytes before s, which has 32; st.shared.u32 in line");
    begin_with_checks(NULL);
}

/* Addresses of the device at which nothing is are none of the host's. */
TEST(far_from_all_allocations) {
    CUdeviceptr at;
    OK(cuMemAlloc(&at, 1000));
    SAYS(CUDA_ERROR_ILLEGAL_ADDRESS, store_at(STORE_AT("0"), at + (64 << 20), 1));
    expect(", where no allocation is near; st.global.u32 in line");
    begin_with_checks(NULL);
}

TEST(memory_of_the_host) {
    uint32_t word = 0;
    SAYS(CUDA_ERROR_ILLEGAL_ADDRESS, store_at(STORE_AT("0"), (CUdeviceptr)&word, 1));
    expect(", where the host has memory that the device cannot access; st.global.u32 in line");
    begin_with_checks(NULL);
}

TEST(behind_dynamic_shared_memory) {
    CUmodule module = load_text(BEHIND("%r3"));
    CUfunction function = NULL;
    CUdeviceptr none = 0;
    void *args[] = {&none};
    OK(cuModuleGetFunction(&function, module, "k"));
    OK(cuLaunchKernel(function, 1, 1, 1, 9, 1, 1, 36, NULL, args, NULL));
    OK(cuCtxSynchronize());
    assert_int_equal(acu_sim_findings(NULL), 0);
    OK(cuLaunchKernel(function, 1, 1, 1, 9, 1, 1, 32, NULL, args, NULL));
    SAYS(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
    expect(", 0 bytes behind the end of the dynamic shared memory, which has 32");
    begin_with_checks(NULL);
}

/* ---- copies that a thread must wait for ---- */

/* Each thread copies a word to `s`, and in between comes what is given; then it reads its
 * neighbour's. */
#define COPIED(between)                                                                            \
    HEAD ".entry k(.param .u64 p) {\n.reg .b32 %r<9>; .reg .b64 %d<4>;\n"                          \
         ".shared .align 16 .b32 s[32];\n.shared .b32 t[32];\nld.param.u64 %d1, [p];\n"            \
         "mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 2;\ncvt.u64.u32 %d2, %r2;\n"                     \
         "add.u64 %d2, %d2, %d1;\nmov.u32 %r3, s;\nadd.u32 %r3, %r3, %r2;\nmov.u32 %r4, t;\n"      \
         "add.u32 %r4, %r4, %r2;\nxor.b32 %r5, %r3, 4;\n"                                          \
         "cp.async.ca.shared.global [%r3], [%d2], 4;\n" between                                    \
         "ld.shared.u32 %r6, [%r5];\nret;\n}\n"
#define COMMIT "cp.async.commit_group;\n"
#define SECOND "cp.async.ca.shared.global [%r4], [%d2], 4;\n"

static unsigned unwaited(const char *text) {
    uint32_t words[32] = {0};
    const unsigned before = (unsigned)acu_sim_findings("race");
    run(text, 1, 32, words, 32);
    return (unsigned)acu_sim_findings("race") - before;
}

TEST(copies_that_nobody_waited_for) {
    assert_int_equal(unwaited(COPIED(COMMIT "cp.async.wait_group 0;\nbar.sync 0;\n")), 0);
    assert_int_equal(unwaited(COPIED("cp.async.wait_all;\nbar.sync 0;\n")), 0);
    assert_int_equal(unwaited(COPIED(COMMIT SECOND COMMIT "cp.async.wait_group 1;\nbar.sync 0;\n")),
                     0);
    assert_int_equal(unwaited(COPIED(COMMIT "bar.sync 0;\n")), 32);
    expect("thread (31, 0, 0): a read of 4 bytes of shared memory at 0x78 (s + 120), which thread "
           "(30, 0, 0) of the same block copies there by cp.async, and it has not waited for that "
           "copy; ld.shared.u32 in line");
    /* A copy that is in no group, one group too few, and a wait before the copy. */
    assert_int_equal(unwaited(COPIED("cp.async.wait_group 0;\nbar.sync 0;\n")), 32);
    assert_int_equal(unwaited(COPIED(COMMIT "cp.async.wait_group 1;\nbar.sync 0;\n")), 32);
    assert_int_equal(unwaited(COPIED(COMMIT "cp.async.wait_group 0;\nbar.sync 0;\n"
                                            "cp.async.ca.shared.global [%r3], [%d2], 4;\n" COMMIT
                                            "bar.sync 0;\n")),
                     32);
}

/* A thread tells the mbarrier how many bytes will come, before it copies them; then all wait. */
TEST(bulk_copies_that_are_waited_for) {
#define BULK(wait)                                                                                 \
    HEAD ".entry k(.param .u64 p) {\n.reg .b32 %r<9>; .reg .b64 %d<4>; .reg .pred %p<3>;\n"        \
         ".shared .align 16 .b32 s[32];\n.shared .b64 m;\nld.param.u64 %d1, [p];\n"                \
         "mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 2;\nmov.u32 %r3, s;\nadd.u32 %r3, %r3, %r2;\n"   \
         "setp.ne.u32 %p1, %r1, 0;\n@!%p1 mbarrier.init.shared.b64 [m], 1;\nbar.sync 0;\n"         \
         "@%p1 bra A;\nmbarrier.arrive.expect_tx.shared.b64 %d3, [m], 128;\n"                      \
         "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%d1], 128, "     \
         "[m];\nA:\n" wait "ld.shared.u32 %r6, [%r3];\nret;\n}\n"
    assert_int_equal(found("race",
                           BULK("again: mbarrier.test_wait.parity.shared.b64 %p2, [m], 0;\n"
                                "@!%p2 bra again;\n"),
                           1, 32),
                     0);
    assert_int_equal(found("race", BULK(""), 1, 32), 31);
}

/* ---- barriers and .sync operations ---- */

/* Runs a kernel that the check finds fault with, and that fails. */
static unsigned stuck(const char *text, unsigned threads) {
    CUmodule module = load_text(text);
    CUdeviceptr at;
    void *args[] = {&at};
    OK(cuMemAlloc(&at, 1024));
    OK(launch(module, "k", 1, threads, args));
    SAYS(CUDA_ERROR_LAUNCH_TIMEOUT, cuCtxSynchronize());
    unsigned long long count = acu_sim_findings("sync");
    return (unsigned)count;
}

/* Half of the block goes to another barrier, or to none. */
TEST(barriers_that_not_all_reach) {
#define SOME(there, elsewhere)                                                                     \
    SHARED("0", "setp.ge.u32 %p1, %r1, 32;\n@%p1 bra O;\n" there "bra E;\nO:\n" elsewhere "E:\n")
    assert_int_equal(found("sync", SOME("bar.sync 0;\n", "ret;\n"), 1, 64), 0);
    assert_int_equal(found("sync", SOME("bar.sync 1, 32;\n", "bar.sync 2, 32;\n"), 1, 64), 0);
    assert_int_equal(found("sync", SOME("bar.sync 0;\n", "bar.sync 0;\n"), 1, 64), 0);
    /* The second barrier of some was meant to be that of all. */
    assert_int_equal(found("sync", SOME("bar.sync 0;\nbar.sync 0;\n", "bar.sync 0;\n"), 1, 64), 1);
    expect("thread (0, 0, 0): not all threads of the block come to this barrier: thread (32, 0, 0) "
           "of the block waits elsewhere; bar.sync in line 17 of the PTX; the other: "
           "bar.sync in line 21 of the PTX");
}

/* Lanes of one warp that are at two barriers. */
TEST(barriers_of_a_divergent_warp) {
    assert_int_equal(
        found("sync",
              SHARED("0", "setp.ge.u32 %p1, %r1, 8;\n@%p1 bra O;\nbar.sync 0;\nbra E;\n"
                          "O:\nbar.sync 0;\nE:\n"),
              1, 32),
        1);
    expect("not all threads of the warp come to this barrier: thread (");
    /* Without .aligned they may be. */
    assert_int_equal(found("sync",
                           SHARED("0", "setp.ge.u32 %p1, %r1, 8;\n@%p1 bra O;\nbarrier.sync 0;\n"
                                       "bra E;\nO:\nbarrier.sync 0;\nE:\n"),
                           1, 32),
                     0);
}

/* Lanes that go on behind a barrier at which others of their warp wait. Those that end need not. */
TEST(barriers_that_lanes_skip) {
#define SKIP(behind) SHARED("0", "setp.ge.u32 %p1, %r1, 8;\n@%p1 bra E;\nbar.sync 0;\nE:\n" behind)
    assert_int_equal(found("sync", SKIP(""), 1, 64), 0);
    assert_int_equal(found("sync", SKIP("st.global.u32 [%d2], %r1;\n"), 1, 64), 1);
    expect("thread (0, 0, 0): not all threads of the warp come to this barrier: thread (8, 0, 0) "
           "of the block waits elsewhere; bar.sync in line 17 of the PTX; the other: "
           "st.global.u32 in line 19 of the PTX");
    /* A loop that lanes leave one by one. */
    assert_int_equal(found("sync",
                           SHARED("0", "mov.u32 %r5, 0;\nL:\nsetp.eq.u32 %p1, %r5, %r1;\n"
                                       "@%p1 bra E;\nbar.sync 0;\nadd.u32 %r5, %r5, 1;\n"
                                       "setp.lt.u32 %p2, %r5, 2;\n@%p2 bra L;\nE:\n"
                                       "st.global.u32 [%d2], %r1;\n"),
                           1, 32),
                     2);
    /* Whole warps may. */
    assert_int_equal(found("sync",
                           SHARED("0", "setp.ge.u32 %p1, %r1, 32;\n@%p1 bra E;\nbar.sync 0;\n"
                                       "E:\nst.global.u32 [%d2], %r1;\n"),
                           1, 64),
                     0);
}

TEST(sync_operations_that_lanes_skip) {
#define SKIP_SYNC(operation, behind)                                                               \
    SHARED("0", "setp.ge.u32 %p1, %r1, 16;\n@%p1 bra E;\n" operation "E:\n" behind)
    assert_int_equal(found("sync", SKIP_SYNC("bar.warp.sync -1;\n", ""), 1, 32), 0);
    assert_int_equal(
        found("sync", SKIP_SYNC("bar.warp.sync 0xffff;\n", "st.global.u32 [%d2], %r1;\n"), 1, 32),
        0);
    assert_int_equal(
        found("sync", SKIP_SYNC("bar.warp.sync -1;\n", "st.global.u32 [%d2], %r1;\n"), 1, 32), 1);
    expect("the mask 0xffffffff names the lanes 0xffff0000, which do not come; bar.warp.sync in");
}

TEST(barriers_that_never_open) {
    assert_int_equal(stuck(SOME("bar.sync 1;\n", "bar.sync 2;\n"), 64), 1);
    expect("not all threads come to this barrier: thread (32, 0, 0) of the block waits elsewhere");
    begin_with_checks(NULL);
    assert_int_equal(stuck(SHARED("0", "bar.sync 1, 96;\n"), 64), 1);
    expect("fewer threads come to this barrier than it waits for; bar.sync in line 15");
    begin_with_checks(NULL);
}

/* A value of a lane that does not take part is not defined. Outside of its segment a lane takes its
 * own. */
TEST(sources_of_shuffles) {
#define SHFL(how, mask) "shfl.sync." how ", " mask ";\n"
#define FIRST(count)    "setp.ge.u32 %p1, %r1, " count ";\n@%p1 ret;\n"
    assert_int_equal(found("sync", SHARED("0", SHFL("bfly.b32 %r5, %r1, 16, 31", "-1")), 1, 64), 0);
    assert_int_equal(found("sync",
                           SHARED("0", FIRST("16") SHFL("down.b32 %r5, %r1, 8, 0x100f", "0xffff")),
                           1, 32),
                     0);
    assert_int_equal(
        found("sync", SHARED("0", FIRST("16") SHFL("idx.b32 %r5, %r1, 20, 31", "0xffff")), 1, 32),
        1);
    expect("thread (0, 0, 0): lane 0 takes its value from lane 20, which the mask does not name; "
           "shfl.sync.idx.b32 in line");
    assert_int_equal(found("sync", SHARED("0", SHFL("down.b32 %r5, %r1, 16, 31", "-1")), 1, 40), 1);
    expect("thread (32, 0, 0): lane 0 takes its value from lane 16, which does not come");
}

TEST(masks_of_sync_operations) {
#define BALLOT(mask) "vote.sync.ballot.b32 %r5, 1, " mask ";\n"
    assert_int_equal(found("sync", SHARED("0", BALLOT("-1")), 1, 48), 0);
    assert_int_equal(found("sync",
                           SHARED("0", "and.b32 %r6, %r1, 16;\nmov.u32 %r7, 0xffff;\n"
                                       "shl.b32 %r7, %r7, %r6;\n" BALLOT("%r7")),
                           1, 32),
                     0);
    /* Lanes that have ended do not count. */
    assert_int_equal(
        found("sync", SHARED("0", "setp.ge.u32 %p1, %r1, 20;\n@%p1 ret;\n" BALLOT("-1")), 1, 32),
        0);
    assert_int_equal(found("sync", SHARED("0", BALLOT("0xffff")), 1, 32), 1);
    expect("thread (16, 0, 0): the mask 0xffff does not name lane 16, which executes it");
    assert_int_equal(found("sync",
                           SHARED("0", "setp.eq.u32 %p1, %r1, 3;\nmov.u32 %r6, -1;\n"
                                       "@%p1 mov.u32 %r6, 255;\n" BALLOT("%r6")),
                           1, 32),
                     1);
    expect("thread (0, 0, 0): the mask is 0xffffffff, and that of lane 3, which it names, is 0xff");
    assert_int_equal(found("sync",
                           SHARED("0", "setp.ge.u32 %p1, %r1, 4;\n@%p1 bra W;\n" BALLOT(
                                           "-1") "W:\nbar.sync 0;\n"),
                           1, 32),
                     1);
    expect("the mask 0xffffffff names the lanes 0xfffffff0, which do not come");
}

/* ---- reports ---- */

TEST(a_place_in_the_source) {
    uint32_t words[64] = {0};
    run(HEAD ".file 1 \"kernels/sum.cu\"\n.entry k(.param .u64 p) {\n.reg .b32 %r<9>;\n"
             ".shared .b32 s;\n.loc 1 17 3\nmov.u32 %r1, %tid.x;\n.loc 1 18 3\n"
             "st.shared.u32 [s], %r1;\nret;\n}\n",
        1, 64, words, 64);
    expect("st.shared.u32 in line 11 of the PTX (kernels/sum.cu:18); the other access: "
           "st.shared.u32 in line 11 of the PTX (kernels/sum.cu:18)");
    /* A name of C++ is cut, and what is behind it is not. */
#define LONG                                                                                       \
    "_ZN3cub6detail10merge_sort30DeviceMergeSortBlockSortKernelINS2_10policy_hubIPiE9Policy600"
    run(HEAD ".entry k(.param .u64 p) {\n.reg .b32 %r<9>;\n.shared .b32 " LONG "[9];\n"
             "mov.u32 %r1, %tid.x;\nst.shared.u32 [" LONG "+4], %r1;\nret;\n}\n",
        1, 64, words, 64);
    expect(
        "(_ZN3cub6detail10merge_sort30DeviceMergeSortBlockSortKernelINS2_10policy_hubIPiE9… + 4), "
        "which thread");
    /* Of what was inlined the line of the kernel comes first. */
    run(HEAD ".file 1 \"kernels/sum.cu\"\n.file 2 \"/include/a.h\"\n.entry k(.param .u64 p) {\n"
             ".reg .b32 %r<9>;\n.shared .b32 s;\nmov.u32 %r1, %tid.x;\n.loc 1 21 3\n"
             ".loc 2 7 5, function_name $A, inlined_at 1 21 3\n"
             ".loc 2 9 1, function_name $B+4, inlined_at 2 7 5\n"
             "st.shared.u32 [s], %r1;\nret;\n}\n",
        1, 64, words, 64);
    expect("st.shared.u32 in line 13 of the PTX (kernels/sum.cu:21, by a.h:9); the other access: ");
    acu_sim_reset(ALL_CHECKS);
    assert_int_equal(acu_sim_findings(NULL), 0);
    begin_with_checks(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CHECKED(a_read_without_a_barrier),
        CHECKED(lanes_of_a_warp),
        CHECKED(a_write_behind_a_read),
        CHECKED(a_reduction),
        CHECKED(blocks_of_a_cluster),
        CHECKED(blocks_of_a_cluster_that_end),
        CHECKED(copies_between_blocks_of_a_cluster),
        CHECKED(atomic_operations),
        CHECKED(atomic_operations_beside_reads),
        CHECKED(stores_to_one_place),
        CHECKED(addresses_of_different_memory),
        CHECKED(named_barriers),
        CHECKED(a_flag_in_shared_memory),
        CHECKED(checks_are_off),
        CHECKED(blocks_that_share_global_memory),
        CHECKED(warps_that_share_global_memory),
        CHECKED(warps_that_are_ordered_in_global_memory),
        CHECKED(the_last_block),
        CHECKED(scopes_of_a_flag),
        CHECKED(scopes_of_atomic_operations),
        CHECKED(memory_of_the_heap_again),
        CHECKED(shared_memory_that_nobody_wrote),
        CHECKED(local_memory_that_nobody_wrote),
        CHECKED(local_memory_of_functions),
        CHECKED(a_half_of_a_word_is_enough),
        CHECKED(copies_of_what_nobody_wrote_in_memory_of_any_size),
        CHECKED(device_memory_that_nobody_wrote),
        CHECKED(memory_of_a_graph_that_nobody_wrote),
        CHECKED(variables_are_written),
        CHECKED(a_little_behind_an_allocation),
        CHECKED(near_a_variable_of_the_module),
        CHECKED(behind_a_constant),
        CHECKED(far_behind_an_allocation),
        CHECKED(behind_the_first_of_two),
        CHECKED(before_the_second_of_two),
        CHECKED(behind_a_large_allocation),
        CHECKED(behind_dynamic_shared_memory),
        CHECKED(what_malloc_returned),
        CHECKED(what_free_took_is_not_there_again),
        CHECKED(memory_does_not_run_out),
        CHECKED(memory_that_was_freed),
        CHECKED(no_memory_at_all),
        CHECKED(before_a_shared_variable),
        CHECKED(far_from_all_allocations),
        CHECKED(memory_of_the_host),
        CHECKED(behind_a_shared_variable),
        CHECKED(barriers_that_not_all_reach),
        CHECKED(barriers_of_a_divergent_warp),
        CHECKED(barriers_that_lanes_skip),
        CHECKED(sync_operations_that_lanes_skip),
        CHECKED(barriers_that_never_open),
        CHECKED(copies_that_nobody_waited_for),
        CHECKED(bulk_copies_that_are_waited_for),
        CHECKED(sources_of_shuffles),
        CHECKED(masks_of_sync_operations),
        CHECKED(a_place_in_the_source),
    };
    return RUN(tests);
}
