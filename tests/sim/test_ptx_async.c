/* Stores and reductions that tell an mbarrier, reductions of many bytes, elements of 128 bits,
 * policies of caches. */
#include "ptx_test.h"

#include <stdio.h>
#include <string.h>

#define K(declares, instructions)                                                                  \
    ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"          \
    ".reg .b32 %r<12>; .reg .b64 %d<9>; .reg .b128 %q<6>; .reg .pred %p<5>;\n" declares            \
    "ld.param.u64 %d1, [p];\nmov.u32 %r1, %tid.x;\n" instructions "ret;\n}\n"
#define SHARED ".shared .align 16 .b8 s[64];\n.shared .align 8 .b8 m[8];\n"
/* Copies the 64 bytes of shared memory to the kernel's. */
#define COPY_ALL                                                                                   \
    "bar.sync 0;\nshl.b32 %r2, %r1, 2;\nmov.u32 %r3, s;\nadd.u32 %r3, %r3, %r2;\n"                 \
    "ld.shared.u32 %r4, [%r3];\nmul.wide.u32 %d2, %r1, 4;\nadd.u64 %d2, %d1, %d2;\n"               \
    "st.global.u32 [%d2], %r4;\n"

/* Sixteen threads: the first four store, and all wait for the bytes. */
TEST(stores_that_tell_a_barrier) {
    uint32_t words[16] = {0};
    run(K(SHARED,
          "setp.eq.u32 %p1, %r1, 0;\n@%p1 mbarrier.init.shared.b64 [m], 1;\n"
          "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [m], 64;\nbar.sync 0;\n"
          "setp.gt.u32 %p2, %r1, 3;\n@%p2 bra W;\nmov.u32 %r3, s;\n"
          "mad.lo.u32 %r3, %r1, 16, %r3;\nmov.u32 %r5, m;\nadd.u32 %r6, %r1, 10;\n"
          "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r3], {%r6, %r1}, "
          "[%r5];\nmov.b64 %d3, {%r1, %r6};\n"
          "st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%r3+8], %d3, [%r5];\nW:\n"
          "mbarrier.try_wait.parity.shared.b64 %p3, [m], 0;\n@!%p3 bra W;\n" COPY_ALL),
        1, 16, words, 16);
    for (uint32_t t = 0; t < 4; t++) {
        const uint32_t wanted[] = {t + 10, t, t, t + 10};
        assert_memory_equal(words + 4 * t, wanted, sizeof wanted);
    }
}

TEST(reductions_that_tell_a_barrier) {
    uint32_t words[16] = {0};
    run(K(SHARED,
          "mov.u32 %r2, 0;\nshl.b32 %r3, %r1, 2;\nmov.u32 %r4, s;\nadd.u32 %r3, %r3, %r4;\n"
          "st.shared.u32 [%r3], %r2;\nsetp.eq.u32 %p1, %r1, 0;\n"
          "@%p1 mbarrier.init.shared.b64 [m], 1;\n"
          "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [m], 256;\nbar.sync 0;\n"
          "mov.u32 %r5, m;\ncvt.u64.u32 %d3, %r1;\n"
          "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [%r4], "
          "%d3, [%r5];\n"
          "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.max.s32 "
          "[%r4+8], %r1, [%r5];\n"
          "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.inc.u32 "
          "[%r4+12], 9, [%r5];\nW:\nmbarrier.try_wait.parity.shared.b64 %p3, [m], 0;\n"
          "@!%p3 bra W;\n" COPY_ALL),
        1, 16, words, 16);
    assert_int_equal(words[0], 120);
    assert_int_equal(words[2], 15);
    assert_int_equal(words[3], 6); /* 16 steps of ten */
}

/* One thread adds 64 bytes to global memory. */
TEST(bulk_reductions) {
    uint32_t words[32];
    count_up(words, 32);
#define BULK(what, bytes)                                                                          \
    K(SHARED, "add.u32 %r2, %r1, 100;\nshl.b32 %r3, %r1, 2;\nmov.u32 %r4, s;\n"                    \
              "add.u32 %r3, %r3, %r4;\nst.shared.u32 [%r3], %r2;\nbar.sync 0;\n"                   \
              "setp.ne.u32 %p1, %r1, 0;\n@%p1 ret;\nmov.u32 %r5, " bytes                           \
              ";\ncp.reduce.async.bulk.global.shared::cta.bulk_group." what                        \
              " [%d1], [%r4], %r5;\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n")
    run(BULK("add.u32", "64"), 1, 16, words, 32);
    for (uint32_t n = 0; n < 32; n++)
        assert_int_equal(words[n], n < 16 ? 2 * n + 100 : n);
    run(BULK("xor.b64", "16"), 1, 16, words, 32);
    for (uint32_t n = 0; n < 4; n++)
        assert_int_equal(words[n], (2 * n + 100) ^ (n + 100));
    const uint16_t halves[8] = {0x3c00, 0x3c00, 0, 0, 0, 0, 0, 0}; /* 1 and 1 */
    memcpy(words, halves, sizeof halves);
    run(BULK("max.f16", "16"), 1, 16, words, 32); /* of 100, a subnormal number, and 0 */
    assert_int_equal(words[0], 0x3c003c00);
    assert_int_equal(words[1], 101);
    fault(BULK("add.u32", "8"), CUDA_ERROR_MISALIGNED_ADDRESS);
}

/* In another block of the cluster, which waits for it. */
TEST(bulk_reductions_in_a_cluster) {
    uint32_t words[8] = {0};
    run(".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n"
        ".explicitcluster\n.reqnctapercluster 2, 1, 1\n{\n"
        ".reg .b32 %r<12>; .reg .b64 %d<9>; .reg .pred %p<5>;\n" SHARED
        "ld.param.u64 %d1, [p];\nmov.u32 %r1, %cluster_ctarank;\nadd.u32 %r2, %r1, 5;\n"
        "st.shared.v4.u32 [s], {%r2, %r2, %r2, %r2};\nmov.u32 %r3, s;\nmov.u32 %r4, m;\n"
        "mbarrier.init.shared.b64 [m], 1;\nmbarrier.arrive.expect_tx.shared.b64 _, [m], 16;\n"
        "barrier.cluster.arrive;\nbarrier.cluster.wait;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra W;\n"
        "mapa.shared::cluster.u32 %r5, %r3, 1;\nmapa.shared::cluster.u32 %r6, %r4, 1;\n"
        "mov.u32 %r7, 16;\n"
        "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 "
        "[%r5], [%r3], %r7, [%r6];\nbra E;\nW:\n"
        "mbarrier.try_wait.parity.shared.b64 %p3, [m], 0;\n@!%p3 bra W;\n"
        "ld.shared.v4.u32 {%r7, %r8, %r9, %r10}, [s];\n"
        "st.global.v4.u32 [%d1], {%r7, %r8, %r9, %r10};\nE:\nbarrier.cluster.arrive;\n"
        "barrier.cluster.wait;\nret;\n}\n",
        2, 1, words, 8);
    assert_true(words[0] == 11 && words[3] == 11);
}

/* ---- 128 bits ---- */

TEST(elements_of_128_bits) {
    uint32_t words[16];
    count_up(words, 16);
    run(K("", "ld.global.b128 %q1, [%d1];\nmov.b128 {%d2, %d3}, %q1;\n"
              "mov.b128 %q2, {%d3, %d2};\nst.global.b128 [%d1+16], %q2;\n"
              "atom.global.exch.b128 %q3, [%d1+32], %q1;\n"
              "atom.global.cas.b128 %q4, [%d1+48], %q1, %q2;\n" /* it has something else */
              "atom.relaxed.gpu.global.cas.b128 %q4, [%d1], %q1, %q3;\n"
              "ld.relaxed.gpu.global.b128 %q1, [%d1];\nst.release.gpu.global.b128 [%d1], %q1;\n"),
        1, 1, words, 16);
    static const uint32_t wanted[] = {8, 9, 10, 11, 2, 3, 0, 1, 0, 1, 2, 3, 12, 13, 14, 15};
    assert_memory_equal(words, wanted, sizeof wanted);
    fault(K("", "ld.global.b128 %q1, [%d1+8];\nst.global.b128 [%d1], %q1;\n"),
          CUDA_ERROR_MISALIGNED_ADDRESS);
}

/* Threads of several blocks add to 128 bits by exchanges. */
TEST(exchanges_of_128_bits) {
    enum { BLOCKS = 8, THREADS = 32 };
    uint64_t sums[2] = {0};
    run(K("", "ld.global.b128 %q1, [%d1];\nagain:\nmov.b128 {%d2, %d3}, %q1;\n"
              "add.u64 %d4, %d2, 1;\nadd.u64 %d5, %d3, 3;\nmov.b128 %q2, {%d4, %d5};\n"
              "atom.global.cas.b128 %q3, [%d1], %q1, %q2;\nmov.b128 {%d6, %d7}, %q3;\n"
              "mov.b128 %q1, %q3;\nsetp.ne.u64 %p1, %d6, %d2;\n@%p1 bra again;\n"),
        BLOCKS, THREADS, (uint32_t *)sums, 4);
    assert_int_equal(sums[0], BLOCKS * THREADS);
    assert_int_equal(sums[1], 3 * BLOCKS * THREADS);
}

/* ---- hints ---- */

TEST(hints_change_nothing) {
    uint32_t words[2] = {7, 0};
    run(".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"
        ".reg .b32 %r<3>; .reg .b64 %d<4>;\nld.param.u64 %d1, [p];\n"
        "setmaxnreg.dec.sync.aligned.u32 40;\n"
        "createpolicy.fractional.L2::evict_last.b64 %d2, 1.0;\n"
        "createpolicy.fractional.L2::evict_unchanged.b64 %d2;\n"
        "ld.global.L1::evict_last.L2::cache_hint.u32 %r1, [%d1], %d2;\n"
        "ld.mmio.relaxed.sys.global.u32 %r2, [%d1];\nadd.u32 %r1, %r1, %r2;\n"
        "st.mmio.relaxed.sys.global.u32 [%d1+4], %r1;\nret;\n}\n",
        1, 32, words, 2);
    assert_int_equal(words[1], 14);
}

/* ---- policies ---- */

static const char *with_policy(const char *operation) {
    static const char before[] =
        HEAD ".entry k(.param .u64 p) {\n.reg .b32 %r<5>, %f; .reg .b64 %d<5>;\n"
             "ld.param.u64 %d1, [p];\nmov.b32 %f, 0f3FC00000;\nmov.b64 %d3, 0x7f1234567880;\n"
             "mov.b64 %d4, 0x7fffffffff70;\nmov.u32 %r2, 65536;\nmov.u32 %r3, 5000;\n"
             "mov.u32 %r4, 0;\ncreatepolicy.",
                      after[] = ";\nst.global.b64 [%d1], %d2;\nret;\n}\n";
    static char text[1000];
    snprintf(text, sizeof text, "%s%s%s", before, operation, after);
    return text;
}

/* The bits are an H200's: of a fraction's default, 1, of 24 and of 2.4 sixteenths; of blocks of
 * 8 KiB, of 32 MiB, of a range across 4 GiB, and of an empty one. */
TEST(policies_have_bits) {
    static const struct {
        const char *operation;
        uint64_t wanted;
    } rows[] = {
        {"fractional.L2::evict_first.b64 %d2", 0x12f0000000000000},
        {"fractional.L2::evict_last.L2::evict_first.b64 %d2, %f", 0x1570000000000000},
        {"fractional.L2::evict_normal.L2::evict_unchanged.b64 %d2, 0.15", 0x1620000000000000},
        {"range.L2::evict_unchanged.b64 %d2, [%d3+16], 5000, 1000000", 0x1813304000000000},
        {"range.global.L2::evict_last.b64 %d2, [%d3+16], 3000000, -1", 0x1cd1a02000000000},
        {"range.L2::evict_normal.L2::evict_first.b64 %d2, [%d4+16], %r2, %r3", 0x1f07f22000000000},
        {"range.L2::evict_last.b64 %d2, [%d3+16], %r2, %r4", 0x1800000000000000},
        {"cvt.L2.b64 %d2, 5", 5},
    };
    for (unsigned n = 0; n < sizeof rows / sizeof *rows; n++) {
        uint64_t policy = 9;
        run(with_policy(rows[n].operation), 1, 1, (uint32_t *)&policy, 2);
        assert_int_equal(policy, rows[n].wanted);
    }
}

/* ptxas 13.0 refuses these, too. */
TEST(policies_that_are_refused) {
    static const char *const wrong[] = {
        "fractional.global.L2::evict_first.b64 %d2, 0.5",
        "fractional.L2.b64 %d2, 0.5",
        "fractional.L2::evict_first.L2::evict_last.b64 %d2, 0.5",
        "fractional.L2::evict_first.b64 %d2, 0.5, 0.5",
        "fractional.L2::evict_first.b64 %d2, 1",
        "range.L2::evict_first.b64 %d2, [%d3], 5",
        "range.L2::evict_first.b64 %d2, %d3, 5, 5",
        "cvt.L2.b64 %d2",
        "cvt.b64 %d2, %d3",
    };
    for (unsigned n = 0; n < sizeof wrong / sizeof *wrong; n++) {
        CUmodule module = NULL;
        assert_int_equal(cuModuleLoadData(&module, with_policy(wrong[n])), CUDA_ERROR_INVALID_PTX);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        C(stores_that_tell_a_barrier),
        C(reductions_that_tell_a_barrier),
        C(bulk_reductions),
        C(bulk_reductions_in_a_cluster),
        C(elements_of_128_bits),
        C(exchanges_of_128_bits),
        C(hints_change_nothing),
        C(policies_have_bits),
        C(policies_that_are_refused),
    };
    return RUN(tests);
}
