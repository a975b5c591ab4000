/* Asynchronous copies and reductions, and the barriers in memory that count what they bring. */
#include "random_kernels.h"

#include <string.h>

/* ---- copies of a thread ---- */

static void put_async(void) {
    static const unsigned sizes[] = {4, 8, 16};
    const unsigned size = sizes[below(3)], quad = below(REGION / 16 - LANES),
                   at = 16 * quad + below(16) / size * size;
    const unsigned place = below(OWN / 16) * 16, step = 16 * (1 + below(4)), way = below(4),
                   to = any('r', 4);
    const bool is_global = size == 16 && one_of(2);
    put("mad.lo.u32 %%x1, %%x0, %u, %u;\nadd.u32 %%x1, %%x1, %u;\ncvt.u64.u32 %%y2, %%x1;\nadd.u64 "
        "%%y2, %%y2, %%y0;\n",
        step, at, below(20) * REGION_STEP);
    if (way == 1)
        put("and.b32 %%x1, %%r%u, %u;\nmin.u32 %%x1, %%x1, %u;\n", any('r', 1), 2 * size - 1, size);
    put_guard(LANE);
    const char *const fetches = one_of(3) ? ".L2::128B" : "", *const of = one_of(2) ? "::cta" : "";
    put("cp.async.%s.shared%s.global%s [%%so+%u], [%%y2], %u", is_global ? "cg" : "ca", of, fetches,
        place, size);
    if (way == 1)
        put(", %%x1");
    else if (way == 2)
        put(", %%p%u", below(FLAGS));
    else if (way == 3)
        put(", %u", below(size + 1));
    put(";\n");
    if (one_of(2))
        put("cp.async.wait_all;\n");
    else
        put("cp.async.commit_group;\ncp.async.wait_group 0;\n");
    put("ld.shared.v4.b32 ");
    put_operand('r', to, 4);
    put(", [%%so+%u];\n", place);
    put_log('r', to, 4);
}

/* ---- barriers in memory ---- */

/* What the barrier of a thread is told, so that it is never told too much; the results of each
 * step are logged. */
static void put_barrier(void) {
    unsigned members = 1 + below(20), pending = members, phase = 0;
    int bytes = 0; /* still to come */
    put("mbarrier.init.shared.b64 [%%mb], %u;\n", members);
    for (unsigned left = 3 + below(6); left; left--) {
        const unsigned way = below(8), count = 1 + below(pending), state = any('d', 1),
                       to = any('r', 1), flag = below(FLAGS);
        const unsigned more = below(5000);
        bool ends = false;
        switch (way) {
        case 0:
        case 1:
            put("mbarrier.arrive.shared.b64 %%y6, [%%mb], %u;\n", count);
            pending -= count;
            break;
        case 2:
            put("mbarrier.arrive.shared.b64 %%y6, [%%mb];\n");
            pending--;
            break;
        case 3:
            if (count == pending)
                continue;
            put("mbarrier.arrive.noComplete.release.cta.shared.b64 %%y6, [%%mb], %u;\n", count);
            pending -= count;
            break;
        case 4:
            if (members - count < 1)
                continue;
            put("mbarrier.arrive_drop.shared.b64 %%y6, [%%mb], %u;\n", count);
            pending -= count;
            members -= count;
            break;
        case 5:
            put("mbarrier.arrive.expect_tx.shared.b64 %%y6, [%%mb], %u;\n", more);
            pending--;
            bytes += (int)more;
            break;
        case 6:
            put("mbarrier.expect_tx.relaxed.cta.shared.b64 [%%mb], %u;\nmov.b64 %%y6, 0;\n", more);
            bytes += (int)more;
            ends = true;
            break;
        default:
            if (bytes <= 0)
                continue;
            const unsigned come = one_of(2) ? (unsigned)bytes : 1 + below((unsigned)bytes);
            put("mbarrier.complete_tx.relaxed.cta.shared.b64 [%%mb], %u;\nmov.b64 %%y6, 0;\n",
                come);
            bytes -= (int)come;
            ends = true;
        }
        if (!ends)
            put("mbarrier.pending_count.b64 %%r%u, %%y6;\n", to);
        else
            put("mov.b32 %%r%u, 0;\n", to);
        if (!pending && !bytes) {
            phase ^= 1;
            pending = members;
        }
        put("mbarrier.test_wait.parity.shared.b64 %%p%u, [%%mb], %u;\n@%%p%u add.u32 %%r%u, %%r%u, "
            "0x10000000;\n",
            flag, phase, flag, to, to);
        put("mbarrier.test_wait.parity.shared.b64 %%p%u, [%%mb], %u;\n@%%p%u add.u32 %%r%u, %%r%u, "
            "0x20000000;\n",
            flag, phase ^ 1, flag, to, to);
        put_log('r', to, 1);
        (void)state;
        if (!pending) /* bytes are still to come */
            break;
    }
    put("mbarrier.inval.shared.b64 [%%mb];\n");
}

/* ---- copies of many bytes ---- */

/* Waits for the phase of the warp's barrier, but not for ever; then it has the next one. */
void put_wait(void) {
    const unsigned label = new_label();
    put("{\n.reg .pred %%k;\n.reg .b32 %%n;\nmov.b32 %%n, 0;\n"
        "WAIT%u: mbarrier.try_wait.parity.shared.b64 %%k, [%%wb], %%ph;\n@%%k bra CAME%u;\n"
        "add.u32 %%n, %%n, 1;\nsetp.lt.u32 %%k, %%n, 20000;\n@%%k bra WAIT%u;\nCAME%u:\n}\n"
        "xor.b32 %%ph, %%ph, 1;\n",
        label, label, label, label);
}

/* Logs words of the warp's shared memory, or global memory. */
void put_read(const char *space, unsigned bytes) {
    const unsigned to = any('r', 4), count = bytes >= 512 ? 4 : 1;
    put("bar.warp.sync 0xffffffff;\nmad.lo.u32 %%x1, %%lane, %u, 0;\n", 4 * count);
    if (strcmp(space, "global") == 0)
        put("cvt.u64.u32 %%y2, %%x1;\nadd.u64 %%y2, %%y2, %%y4;\nld.global%s ",
            count == 4 ? ".v4.b32" : ".b32");
    else
        put("add.u32 %%x1, %%x1, %%ws;\nld.shared%s ", count == 4 ? ".v4.b32" : ".b32");
    put_operand('r', to, count);
    put(", [%s];\nbar.warp.sync 0xffffffff;\n", strcmp(space, "global") == 0 ? "%y2" : "%x1");
    put_log('r', to, count);
}

/* Fills the warp's memory: each lane has a quad of each 512 bytes. */
void put_fill(const char *space, unsigned bytes, format of, kind which) {
    const bool is_global = strcmp(space, "global") == 0;
    const unsigned first = any('r', 4);
    put("bar.warp.sync 0xffffffff;\n");
    for (unsigned n = 0; n < bytes; n += 512) {
        put_values('r', first, 4, of, which);
        put("mad.lo.u32 %%x1, %%lane, 16, %u;\n", n);
        if (is_global)
            put("cvt.u64.u32 %%y2, %%x1;\nadd.u64 %%y2, %%y2, %%y4;\nst.global.v4.b32 [%%y2], ");
        else
            put("add.u32 %%x1, %%x1, %%ws;\nst.shared.v4.b32 [%%x1], ");
        put_operand('r', first, 4);
        put(";\n");
    }
    put("fence.proxy.async;\nbar.warp.sync 0xffffffff;\n");
}

static void put_bulk(void) {
    const unsigned bytes = 16 * (1 + below(WARP_BYTES / 16)), way = below(2), at = 16 * below(128);
    if (way == 0) { /* from global memory */
        put_fill("shared", WARP_BYTES, BITS, ANY);
        const unsigned from = at + below(20) * REGION_STEP, step = 16 * (1 + below(32));
        put("mad.lo.u32 %%x1, %%gw, %u, %u;\ncvt.u64.u32 %%y2, %%x1;\nadd.u64 %%y2, %%y2, %%y0;\n",
            step, from);
        put("@%%l0 mbarrier.arrive.expect_tx.shared.b64 _, [%%wb], %u;\n"
            "@%%l0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%%ws], "
            "[%%y2], %u, [%%wb];\n",
            bytes, bytes);
        put_wait();
        put_read("shared", 512);
        return;
    }
    put_fill("shared", WARP_BYTES, (format)below(FORMATS), ANY);
    put("@%%l0 cp.async.bulk.global.shared::cta.bulk_group [%%y4], [%%ws], %u;\n@%%l0 "
        "cp.async.bulk.commit_group;\n"
        "@%%l0 cp.async.bulk.wait_group 0;\n",
        bytes);
    put_read("global", 512);
}

typedef struct reduction {
    const char *operation;
    format of;
} reduction;

static const reduction reductions[] = {
    {"add.u32", BITS}, {"add.s32", BITS}, {"add.u64", BITS},      {"add.f32", F32},
    {"add.f32", F32},  {"add.f64", F64},  {"add.noftz.f16", F16}, {"add.noftz.bf16", BF16},
    {"min.u32", BITS}, {"max.s32", BITS}, {"min.s64", BITS},      {"max.u64", BITS},
    {"min.f16", F16},  {"max.f16", F16},  {"min.bf16", BF16},     {"max.bf16", BF16},
    {"inc.u32", BITS}, {"dec.u32", BITS}, {"and.b32", BITS},      {"or.b64", BITS},
    {"xor.b32", BITS}, {"and.b64", BITS},
};

static void put_reduction(void) {
    const reduction *const one = &reductions[below(sizeof reductions / sizeof *reductions)];
    const unsigned bytes = one_of(3) ? 16 * (1 + below(32)) : 512;
    put_fill("shared", 512, one->of, (kind)below(KINDS));
    put_fill("global", 512, one->of, (kind)below(KINDS));
    put("@%%l0 cp.reduce.async.bulk.global.shared::cta.bulk_group.%s [%%y4], [%%ws], %u;\n@%%l0 "
        "cp.async.bulk.commit_group;\n"
        "@%%l0 cp.async.bulk.wait_group 0;\n",
        one->operation, bytes);
    put_read("global", 512);
}

void put_cluster_barrier(void) {
    put("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n");
}

/* Copies or reduces into the other block's shared memory, whose barrier hears of it. */
static void put_far_bulk(void) {
    static const char *const operations[] = {"add.u32", "add.s32", "add.u64", "min.u32", "max.s32",
                                             "inc.u32", "dec.u32", "and.b32", "or.b32",  "xor.b32"};
    const bool copies = one_of(3);
    put_cluster_barrier();
    put_fill("shared", 1024, BITS, ANY);
    put("mapa.shared::cluster.u32 %%x2, %%ws, %%other;\nmapa.shared::cluster.u32 %%x3, %%wb, "
        "%%other;\n"
        "@%%l0 mbarrier.arrive.expect_tx.shared.b64 _, [%%wb], 512;\n");
    put_cluster_barrier();
    if (copies)
        put("@%%l0 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%%x2], "
            "[%%ws+512], 512, [%%x3];\n");
    else
        put("@%%l0 "
            "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.%s "
            "[%%x2], [%%ws+512], 512, [%%x3];\n",
            operations[below(sizeof operations / sizeof *operations)]);
    put_wait();
    put_read("shared", 512);
    put_cluster_barrier();
}

/* Stores and reductions of each thread in the other block's shared memory, whose barrier hears of
 * it. */
static void put_far_async(void) {
    static const struct {
        const char *operation;
        char letter;
        unsigned count;
    } operations[] = {
        {"add.u32", 'r', 1}, {"add.s32", 'r', 1}, {"add.u64", 'd', 1}, {"min.u32", 'r', 1},
        {"max.s32", 'r', 1}, {"inc.u32", 'r', 1}, {"dec.u32", 'r', 1}, {"and.b32", 'r', 1},
        {"xor.b32", 'r', 1}, {"b32", 'r', 1},     {"b64", 'd', 1},     {"v2.b32", 'r', 2},
        {"v4.b32", 'r', 4},  {"v2.b64", 'd', 2},
    };
    const unsigned n = below(sizeof operations / sizeof *operations),
                   from = any(operations[n].letter, operations[n].count), to = any('r', 4);
    const unsigned bytes = (operations[n].letter == 'd' ? 8 : 4) * operations[n].count,
                   place = 16 * below(OWN / 16);
    const bool stores = strchr(operations[n].operation, 'b') && n >= 9;
    put_cluster_barrier();
    put("mapa.shared::cluster.u32 %%x2, %%so, %%other;\nmapa.shared::cluster.u32 %%x3, %%wb, "
        "%%other;\n"
        "@%%l0 mbarrier.arrive.expect_tx.shared.b64 _, [%%wb], %u;\n",
        32 * bytes);
    put_cluster_barrier();
    if (stores)
        put("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.%s [%%x2+%u], ",
            operations[n].operation, place);
    else
        put("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.%s [%%x2+%u], ",
            operations[n].operation, place);
    put_operand(operations[n].letter, from, operations[n].count);
    put(", [%%x3];\n");
    put_wait();
    put("ld.shared.v4.b32 ");
    put_operand('r', to, 4);
    put(", [%%so+%u];\n", place);
    put_log('r', to, 4);
    put_cluster_barrier();
}

const statement copy_statements[] = {
    {put_async, LANE, 12},
    {put_barrier, LANE, 6},
    {put_bulk, WARP, 4},
    {put_reduction, WARP, 12},
    {put_far_bulk, CLUSTER, 6},
    {put_far_async, CLUSTER, 8},
    {0},
};
