/* Barriers in memory that copies and the other block arrive at, and copies with hints. */
#include "random_kernels.h"

#include <string.h>

/* Puts 100 looks at the thread's barrier until its first phase is over, and whether it is. */
static void put_own_wait(unsigned to) {
    static const char *const ways[] = {"test_wait.parity.shared", "try_wait.parity.shared::cta",
                                       "try_wait.parity.acquire.cta.shared::cta",
                                       "test_wait.parity.acquire.cluster.shared::cta",
                                       "try_wait.parity.relaxed.cluster.shared::cta"};
    const unsigned label = new_label(), way = below(5);
    put("{\n.reg .pred %%k;\n.reg .b32 %%n;\nmov.b32 %%n, 0;\nLOOK%u: mbarrier.%s.b64 %%k, [%%mb], "
        "0;\n@%%k bra SEEN%u;\nadd.u32 %%n, %%n, 1;\nsetp.lt.u32 %%k, %%n, 20000;\n@%%k bra "
        "LOOK%u;\nSEEN%u:\nmbarrier.test_wait.parity.shared.b64 %%k, [%%mb], 0;\nselp.u32 %%r%u, "
        "1, 0, %%k;\n}\n",
        label, ways[way], label, label, label, to);
}

/* A copy of a thread that its own barrier hears of. */
static void put_heard_copy(void) {
    static const unsigned sizes[] = {4, 8, 16};
    const unsigned size = sizes[below(3)], at = 16 * below(128), place = 16 * below(OWN / 16),
                   to = any('r', 4), seen = any('r', 1), region = below(20) * REGION_STEP;
    const bool counts = one_of(2);
    put("mbarrier.init.shared.b64 [%%mb], 1;\nmad.wide.u32 %%y6, %%x0, 16, %%y0;\n"
        "cp.async.ca.shared.global [%%so+%u], [%%y6+%u], %u;\n",
        place, at + region, size);
    if (counts)
        put("cp.async.mbarrier.arrive.shared.b64 [%%mb];\nmbarrier.arrive.shared.b64 _, [%%mb];\n");
    else
        put("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%%mb];\n");
    put_own_wait(seen);
    put("mbarrier.inval.shared.b64 [%%mb];\nld.shared.v4.b32 ");
    put_list('r', to, 4);
    put(", [%%so+%u];\n", place);
    put_log('r', seen, 1);
    put_log('r', to, 4);
}

/* The states of phases, and what is asked about them. */
static void put_states(void) {
    static const char *const questions[] = {"test_wait.shared.b64 %k, [%mb], %s0",
                                            "test_wait.acquire.cta.shared::cta.b64 %k, [%mb], %s0",
                                            "test_wait.shared::cta.b64 %k, [%mb], %s1",
                                            "try_wait.shared.b64 %k, [%mb], %s0, 10"};
    const unsigned members = 2 + below(4), to = any('r', 1), more = 16 * below(8);
    put("{\n.reg .b64 %%s<2>;\n.reg .pred %%k;\nmov.b32 %%r%u, 0;\nmbarrier.init.shared.b64 "
        "[%%mb], "
        "%u;\nmbarrier.arrive.release.cta.shared::cta.b64 %%s0, [%%mb];\n",
        to, members);
    for (unsigned n = 1; n < members; n++) {
        put("mbarrier.%s;\nselp.u32 %%x1, %u, 0, %%k;\nadd.u32 %%r%u, %%r%u, %%x1;\n",
            questions[below(2)], 1u << n, to, to);
        if (n + 1 == members && more)
            put("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%%mb], %u;\n"
                "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%%mb], %u;\n",
                more, more);
        else
            put("mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%%mb];\n");
    }
    put("mbarrier.arrive_drop.release.cta.shared::cta.b64 %%s1, [%%mb];\n");
    for (unsigned n = 0; n < 4; n++)
        put("mbarrier.%s;\nselp.u32 %%x1, %u, 0, %%k;\nadd.u32 %%r%u, %%r%u, %%x1;\n", questions[n],
            256u << n, to, to);
    put("mbarrier.pending_count.b64 %%x1, %%s1;\nshl.b32 %%x1, %%x1, 16;\nadd.u32 %%r%u, %%r%u, "
        "%%x1;\nmbarrier.inval.shared::cta.b64 [%%mb];\n}\n",
        to, to);
    put_log('r', to, 1);
}

/* ---- the other block ---- */

static void put_far_addresses(void) {
    put("mapa.shared::cluster.u32 %%x2, %%so, %%other;\nmapa.shared::cluster.u32 %%x3, %%wb, "
        "%%other;\n");
}

/* A warp stores in the other block and arrives at the other warp's barrier. */
static void put_far_arrival(void) {
    const unsigned from = any('r', 1), to = any('r', 1), at = 4 * below(OWN / 4), way = below(3);
    put_cluster_barrier();
    put_far_addresses();
    put("st.shared::cluster.b32 [%%x2+%u], %%r%u;\nbar.warp.sync 0xffffffff;\n", at, from);
    if (way == 0)
        put("@%%l0 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%%x3];\n");
    else if (way == 1)
        put("@%%l0 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%%x3], 1;\n");
    else
        put("@%%l0 mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%%x3], 128;\n"
            "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%%x2+%u], %%r%u, [%%x3];\n",
            at, to);
    put_wait();
    put("fence.acq_rel.cluster;\nld.shared.b32 %%r%u, [%%so+%u];\n", to, at);
    put_log('r', to, 1);
    put_cluster_barrier();
}

/* Both blocks copy bytes to both. */
static void put_multicast(void) {
    const unsigned at = 16 * below(64), region = below(20) * REGION_STEP,
                   bytes = 16 * (1 + below(16));
    put_cluster_barrier();
    put_fill("shared", 512, BITS, ANY);
    put("@%%l0 mbarrier.arrive.expect_tx.shared.b64 _, [%%wb], %u;\n", 2 * bytes);
    put_cluster_barrier();
    put("mul.wide.u32 %%y2, %%gw, 512;\nadd.u64 %%y2, %%y2, %%y0;\nmov.u32 %%x1, "
        "%%cluster_ctarank;\nmad.lo.u32 %%x1, %%x1, 256, %%ws;\nmov.b16 %%h0, 3;\n@%%l0 "
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%%x1], [%%y2+%u], %u, [%%wb], %%h0;\n",
        at + region, bytes);
    put_wait();
    put_read("shared", 512);
    put_cluster_barrier();
}

/* Stores and reductions of each type. */
static void put_far_types(void) {
    static const struct {
        const char *operation;
        char letter;
        unsigned count;
    } operations[] = {
        {"u32", 'r', 1},     {"s32", 'r', 1},     {"f32", 'r', 1},     {"u64", 'd', 1},
        {"s64", 'd', 1},     {"f64", 'd', 1},     {"v2.f32", 'r', 2},  {"v4.u32", 'r', 4},
        {"v2.s64", 'd', 2},  {"v4.f32", 'r', 4},  {"v2.f64", 'd', 2},  {"add.u32", 'r', 1},
        {"add.s32", 'r', 1}, {"add.u64", 'd', 1}, {"min.u32", 'r', 1}, {"min.s32", 'r', 1},
        {"max.u32", 'r', 1}, {"max.s32", 'r', 1}, {"or.b32", 'r', 1},  {"inc.u32", 'r', 1},
    };
    const unsigned n = below(sizeof operations / sizeof *operations), count = operations[n].count;
    const char letter = operations[n].letter;
    const unsigned from = any(letter, count), to = any('r', 4), place = 16 * below(OWN / 16);
    put_cluster_barrier();
    put_far_addresses();
    put("@%%l0 mbarrier.arrive.expect_tx.shared.b64 _, [%%wb], %u;\n",
        32 * (letter == 'd' ? 8 : 4) * count);
    put_cluster_barrier();
    put("%s.shared::cluster.mbarrier::complete_tx::bytes.%s [%%x2+%u], ",
        n < 11 ? "st.async" : "red.async.relaxed.cluster", operations[n].operation, place);
    put_operand(letter, from, count);
    put(", [%%x3];\n");
    put_wait();
    put("ld.shared.v4.b32 ");
    put_list('r', to, 4);
    put(", [%%so+%u];\n", place);
    put_log('r', to, 4);
    put_cluster_barrier();
}

/* ---- copies with hints ---- */

static void put_policy(void) {
    put("createpolicy.fractional.L2::%s.b64 %%y3;\n", one_of(2) ? "evict_first" : "evict_last");
}

static void put_hinted(void) {
    static const char *const operations[] = {"add.u32",       "min.s32",        "or.b32",
                                             "add.noftz.f16", "add.noftz.bf16", "max.u64",
                                             "add.f64",       "add.f32",        "inc.u32"};
    static const format of[] = {BITS, BITS, BITS, F16, BF16, BITS, F64, F32, BITS};
    const unsigned bytes = 16 * (1 + below(32)), way = below(3), at = 16 * below(128),
                   region = below(20) * REGION_STEP, n = below(9);
    const bool hints = one_of(2);
    put_fill("shared", 512, of[n], (kind)below(KINDS));
    put_fill("global", 512, of[n], (kind)below(KINDS));
    put_policy();
    const char *const hint = hints ? ".L2::cache_hint" : "", *const policy = hints ? ", %y3" : "";
    if (way == 0) {
        put("mul.wide.u32 %%y2, %%gw, 512;\nadd.u64 %%y2, %%y2, %%y0;\n"
            "@%%l0 mbarrier.arrive.expect_tx.shared.b64 _, [%%wb], %u;\n@%%l0 "
            "cp.async.bulk.shared::%s.global.mbarrier::complete_tx::bytes%s [%%ws], "
            "[%%y2+%u], %u, [%%wb]%s;\n",
            bytes, one_of(2) ? "cta" : "cluster", hint, at + region, bytes, policy);
        put_wait();
        put_read("shared", 512);
        return;
    }
    if (way == 1)
        put("@%%l0 cp.async.bulk.global.shared::cta.bulk_group%s [%%y4], [%%ws], %u%s;\n", hint,
            bytes, policy);
    else
        put("@%%l0 cp.reduce.async.bulk.global.shared::cta.bulk_group%s.%s [%%y4], [%%ws], %u%s;\n",
            hint, operations[n], bytes, policy);
    put("@%%l0 cp.async.bulk.commit_group;\n@%%l0 cp.async.bulk.wait_group.read %u;\n@%%l0 "
        "cp.async.bulk.wait_group 0;\n",
        below(2));
    put_read("global", 512);
}

const statement async_statements[] = {
    {put_heard_copy, LANE, 24},
    {put_states, LANE, 16},
    {put_hinted, WARP, 24},
    {put_far_arrival, CLUSTER, 20},
    {put_multicast, CLUSTER, 10},
    {put_far_types, CLUSTER, 20},
    {0},
};
