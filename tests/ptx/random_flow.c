/* Calls, switches, local memory that grows, what threads know of themselves, and what they do
 * together. */
#include "random_kernels.h"

#include <string.h>

/* ---- functions, which take and return structures ---- */

enum { FUNCTIONS = 4 };

static void put_sum(unsigned to, unsigned a, unsigned b) {
    static const char *const words[] = {"add.u32",    "xor.b32", "sub.u32", "and.b32",
                                        "mul.lo.u32", "min.s32", "max.u32", "or.b32"};
    put("%s %%r%u, %%r%u, %%r%u;\n", words[below(8)], to, a, b);
}

static void put_head(unsigned number, const char *end) {
    put(".func (.param .align 16 .b8 given[32]) g%u(.param .align 16 .b8 taken[48], .param .b32 "
        "count, .param .b64 place)%s\n",
        number, end);
}

/* Number 3 calls itself, or another one, until its count is 0. */
static void put_function(unsigned number) {
    put_head(number, "");
    put("{\n.reg .b32 %%r<8>;\n.reg .b64 %%d<4>;\n.reg .b16 %%h<4>;\n.reg .pred %%p<2>;\n"
        ".local .align 16 .b8 kept[32];\n"
        "ld.param.v4.b32 {%%r0, %%r1, %%r2, %%r3}, [taken];\nld.param.v2.b64 {%%d0, %%d1}, "
        "[taken+16];\nld.param.v2.b16 {%%h0, %%h1}, [taken+32];\nld.param.s8 %%r4, [taken+37];\n"
        "ld.param.b32 %%r5, [count];\nld.param.b64 %%d2, [place];\n");
    for (unsigned left = 3 + below(6); left; left--) {
        const unsigned to = below(5), a = below(6), b = below(6);
        put_sum(to, a, b);
    }
    put("st.local.v4.b32 [kept], {%%r0, %%r1, %%r2, %%r3};\n");
    if (one_of(2))
        put("ld.b32 %%r6, [%%d2];\nadd.u32 %%r1, %%r1, %%r6;\nst.b32 [%%d2], %%r1;\n");
    if (number == 3) {
        put("setp.eq.u32 %%p0, %%r5, 0;\n@%%p0 bra DONE;\nsub.u32 %%r5, %%r5, 1;\n{\n"
            ".param .align 16 .b8 a[48];\n.param .b32 b;\n.param .b64 c;\n.param .align 16 .b8 "
            "d[32];\nst.param.v4.b32 [a], {%%r3, %%r0, %%r1, %%r2};\nst.param.v2.b64 [a+16], "
            "{%%d1, %%d0};\nst.param.v2.b16 [a+32], {%%h1, %%h0};\nst.param.b32 [a+36], %%r4;\n"
            "st.param.b32 [b], %%r5;\nst.param.b64 [c], %%d2;\n");
        put("call (d), g%u, (a, b, c);\nld.param.v4.b32 {%%r4, %%r5, %%r6, %%r7}, [d];\n}\n",
            one_of(2) ? 3 : below(3));
        put("xor.b32 %%r2, %%r2, %%r5;\nadd.u32 %%r3, %%r3, %%r7;\n");
        put("DONE:\n");
    }
    put("ld.local.b32 %%r6, [kept+4];\nadd.u32 %%r0, %%r0, %%r6;\nadd.u64 %%d0, %%d0, %%d1;\n"
        "st.param.v4.b32 [given], {%%r0, %%r1, %%r2, %%r3};\nst.param.b64 [given+16], %%d0;\n"
        "st.param.b64 [given+24], %%d1;\n%s;\n}\n",
        one_of(2) ? "ret" : "ret.uni");
}

void put_functions(void) {
    put(".const .align 16 .b8 constants[%u] = {", (unsigned)CONSTANTS);
    for (unsigned n = 0; n < CONSTANTS; n++)
        put("%s%u", n ? ", " : "", below(256));
    put("};\n");
    for (unsigned n = 0; n < FUNCTIONS; n++)
        put_head(n, ";");
    put(".global .align 8 .u64 table[%u] = {g0, g1, g2, g3};\n", (unsigned)FUNCTIONS);
    for (unsigned n = 0; n < FUNCTIONS; n++)
        put_function(n);
}

/* Calls a function by its name, or one of the table by its address, which lanes may choose. */
static void put_call(void) {
    const unsigned label = new_label(), quad = any('r', 4), wide = any('d', 2), half = any('h', 2),
                   chooses = any('r', 1), to = any('r', 4), number = below(FUNCTIONS);
    const bool is_indirect = one_of(2), has_shared = one_of(2);
    put("{\n.reg .b64 %%a<3>;\n.param .align 16 .b8 a[48];\n.param .b32 b;\n.param .b64 c;\n"
        ".param .align 16 .b8 d[32];\nst.param.v4.b32 [a], ");
    put_list('r', quad, 4);
    put(";\nst.param.v2.b64 [a+16], ");
    put_list('d', wide, 2);
    put(";\nst.param.v2.b16 [a+32], ");
    put_list('h', half, 2);
    put(";\nst.param.b32 [a+36], %%r%u;\nand.b32 %%x1, %%r%u, 3;\nst.param.b32 [b], %%x1;\n", quad,
        chooses);
    if (has_shared)
        put("cvt.u64.u32 %%a0, %%so;\ncvta.shared.u64 %%a0, %%a0;\n");
    else
        put("cvt.u64.u32 %%a0, %%lo;\ncvta.local.u64 %%a0, %%a0;\n");
    put("st.param.b64 [c], %%a0;\n");
    if (is_indirect) {
        put("PROTO%u: .callprototype (.param .align 16 .b8 _[32]) _(.param .align 16 .b8 _[48], "
            ".param .b32 _, .param .b64 _);\nmov.u64 %%a1, table;\nmul.wide.u32 %%a2, %%x1, "
            "8;\nadd.u64 %%a1, %%a1, %%a2;\nld.global.u64 %%a1, [%%a1];\ncall (d), %%a1, (a, b, "
            "c), "
            "PROTO%u;\n",
            label, label);
    } else {
        put("call (d), g%u, (a, b, c);\n", number);
    }
    put("ld.param.v4.b32 ");
    put_list('r', to, 4);
    put(", [d];\nld.param.v2.b64 ");
    put_list('d', wide, 2);
    put(", [d+16];\n}\n");
    put_log('r', to, 4);
    put_log('d', wide, 2);
}

/* A switch of eight ways, some of which are the same. */
static void put_switch(void) {
    const unsigned label = new_label(), chooses = any('r', 1), to = any('r', 1);
    unsigned ways[8];
    for (unsigned n = 0; n < 8; n++)
        ways[n] = below(4);
    put("{\nT%u: .branchtargets ", label);
    for (unsigned n = 0; n < 8; n++)
        put("%s$%c%u", n ? ", " : "", 'A' + (int)ways[n], label);
    put(";\nand.b32 %%x1, %%r%u, 7;\nbrx.idx %%x1, T%u;\n", chooses, label);
    for (unsigned n = 0; n < 4; n++) {
        const unsigned a = any('r', 1), b = any('r', 1);
        put("$%c%u:\n", 'A' + (int)n, label);
        put_sum(to, a, b);
        if (!one_of(4))
            put("bra $E%u;\n", label);
    }
    put("$E%u:\n}\n", label);
    put_log('r', to, 1);
}

/* Memory that is taken from the stack, and given back. */
static void put_stack(void) {
    const unsigned bytes = 16 * (1 + below(4)), from = any('d', 1), to = any('d', 1),
                   at = 8 * below(bytes / 8);
    put("{\n.reg .b64 %%a<3>;\nstacksave.u64 %%a0;\nalloca.u64 %%a1, %u, 16;\n", bytes);
    put("st.local.b64 [%%a1+%u], %%d%u;\n", at, from);
    put("ld.local.b64 %%d%u, [%%a1+%u];\nstackrestore.u64 %%a0;\n}\n", to, at);
    put_log('d', to, 1);
}

/* ---- what threads know ---- */

static void put_special(void) {
    static const char *const names[] = {"laneid",
                                        "lanemask_eq",
                                        "lanemask_lt",
                                        "lanemask_le",
                                        "lanemask_gt",
                                        "lanemask_ge",
                                        "tid.x",
                                        "tid.y",
                                        "ntid.x",
                                        "ntid.y",
                                        "ntid.z",
                                        "ctaid.x",
                                        "ctaid.y",
                                        "nctaid.x",
                                        "nctaid.z",
                                        "clusterid.x",
                                        "clusterid.y",
                                        "nclusterid.x",
                                        "nclusterid.z",
                                        "cluster_ctaid.x",
                                        "cluster_ctaid.y",
                                        "cluster_nctaid.x",
                                        "cluster_nctaid.z",
                                        "cluster_ctarank",
                                        "cluster_nctarank",
                                        "dynamic_smem_size",
                                        "ntid.x",
                                        "nwarpid"};
    const unsigned to = any('r', 1), n = below(sizeof names / sizeof *names), flag = below(FLAGS);
    if (one_of(10))
        put("mov.pred %%p%u, %%is_explicit_cluster;\nselp.u32 %%r%u, 1, 0, %%p%u;\n", flag, to,
            flag);
    else
        put("mov.u32 %%r%u, %%%s;\n", to, names[n]);
    put_log('r', to, 1);
}

/* ---- a warp ---- */

static void put_warp(void) {
    static const char *const sums[] = {"add.u32", "add.s32", "min.u32", "min.s32", "max.u32",
                                       "max.s32", "and.b32", "or.b32",  "xor.b32"};
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    static const char *const votes[] = {"all", "any", "uni"};
    const unsigned way = below(8), from = any('r', 1), to = any('r', 1), flag = below(FLAGS),
                   other = below(FLAGS), mode = below(4), sum = below(9), wide = any('d', 1),
                   distance = below(32), clamp = below(32), segment = below(32), vote = below(3);
    switch (way) {
    case 0:
        put("elect.sync %%r%u|%%p%u, 0xffffffff;\nselp.u32 %%x1, 1, 0, %%p%u;\nadd.u32 %%r%u, "
            "%%r%u, %%x1;\n",
            to, flag, flag, to, to);
        break;
    case 1:
        put("and.b32 %%x1, %%r%u, 3;\nmatch.any.sync.b32 %%r%u, %%x1, 0xffffffff;\n", from, to);
        break;
    case 2:
        put("and.b64 %%y2, %%d%u, 0x8000000000000001;\nmatch.any.sync.b64 %%r%u, %%y2, "
            "0xffffffff;\n",
            wide, to);
        break;
    case 3:
        put("and.b64 %%y2, %%d%u, %u;\nmatch.all.sync.b64 %%r%u|%%p%u, %%y2, 0xffffffff;\n", wide,
            mode, to, flag);
        break;
    case 4:
        put("redux.sync.%s %%r%u, %%r%u, 0xffffffff;\n", sums[sum], to, from);
        break;
    case 5:
        put("vote.sync.%s.pred %%p%u, %%p%u, 0xffffffff;\nselp.u32 %%r%u, 1, 0, %%p%u;\n",
            votes[vote], flag, other, to, flag);
        break;
    case 6:
        put("vote.sync.ballot.b32 %%r%u, %%p%u, 0xffffffff;\n", to, flag);
        break;
    default:
        put("shfl.sync.%s.b32 %%r%u|%%p%u, %%r%u, %u, %u, 0xffffffff;\n", modes[mode], to, flag,
            from, distance, clamp | segment << 8);
    }
    put_log('r', to, 1);
}

/* Lanes that go apart, and do something together with those that took the same way. */
static void put_half(void) {
    const unsigned label = new_label(), from = any('r', 1), to = any('r', 1), bit = below(5),
                   flag = below(FLAGS);
    static const char *const sums[] = {"add.u32", "max.s32", "xor.b32", "min.u32"};
    put("{\n.reg .b32 %%m<3>;\n.reg .pred %%k<2>;\nshr.u32 %%m0, %%lane, %u;\nand.b32 %%m0, %%m0, "
        "1;\nsetp.ne.u32 %%k0, %%m0, 0;\nvote.sync.ballot.b32 %%m1, %%k0, 0xffffffff;\n"
        "@%%k0 bra ONE%u;\nnot.b32 %%m1, %%m1;\n",
        bit, label);
    put("redux.sync.%s %%r%u, %%r%u, %%m1;\nbra BOTH%u;\nONE%u:\n", sums[below(4)], to, from, label,
        label);
    if (one_of(2))
        put("vote.sync.ballot.b32 %%r%u, %%p%u, %%m1;\n", to, flag);
    else
        put("elect.sync %%r%u|%%k1, %%m1;\n", to);
    put("BOTH%u:\nbar.warp.sync 0xffffffff;\n}\n", label);
    put_log('r', to, 1);
}

/* ---- a block ---- */

static void put_block(void) {
    static const char *const words[] = {"bar", "barrier", "barrier.cta"};
    const unsigned way = below(5), flag = below(FLAGS), to = any('r', 1), from = any('r', 1),
                   number = 1 + below(15), distance = 32 * (1 + below(3)), at = 4 * below(OWN / 4);
    const char *const word = words[below(3)];
    switch (way) {
    case 0:
        put("%s.red.popc.u32 %%r%u, %u, %%p%u;\n", word, to, number, flag);
        break;
    case 1:
        put("%s.red.%s.pred %%p%u, %u, %s%%p%u;\nselp.u32 %%r%u, 1, 0, %%p%u;\n", word,
            one_of(2) ? "and" : "or", flag, number, way == 1 && to % 2 ? "!" : "", flag, to, flag);
        break;
    case 2: { /* the first warps bring something, the others wait for it */
        const unsigned label = new_label();
        put("bar.sync 0;\n{\n.reg .pred %%k;\nsetp.lt.u32 %%k, %%ti, 64;\nst.shared.b32 [%%so+%u], "
            "%%r%u;\n@!%%k bra "
            "TAKE%u;\n%s.arrive %u, 128;\nbra BOTH%u;\nTAKE%u:\n%s.sync %u, 128;\n"
            "ld.shared.b32 %%r%u, [%%so+%d];\nBOTH%u:\nbar.sync 0;\n}\n",
            at, from, label, word, number, label, label, word, number, to, (int)at - 64 * 64,
            label);
        break;
    }
    case 3: /* all of the block exchange something */
        put("st.shared.b32 [%%so+%u], %%r%u;\n%s.sync %u%s;\nadd.u32 %%x1, %%ti, %u;\nand.b32 "
            "%%x1, %%x1, 127;\nshl.b32 %%x1, %%x1, 6;\nmov.u32 %%x2, own;\nadd.u32 %%x1, %%x1, "
            "%%x2;\nld.shared.b32 %%r%u, [%%x1+%u];\nbar.sync 0;\n",
            at, from, word, number, one_of(2) ? ", 128" : "", distance, to, at);
        break;
    default: /* and the cluster */
        put("st.shared::cluster.b32 [%%ro+%u], %%r%u;\nbarrier.cluster.arrive.release%s;\n"
            "barrier.cluster.wait.acquire;\nmov.u32 %%x1, far;\nshl.b32 %%x2, %%ti, 6;\nadd.u32 "
            "%%x1, %%x1, %%x2;\nld.shared.b32 %%r%u, [%%x1+%u];\nfence.acq_rel.cluster;\n"
            "barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;\n",
            at, from, one_of(2) ? ".aligned" : "", to, at);
    }
    put_log('r', to, 1);
}

const statement flow_statements[] = {
    {put_call, LANE, 24}, {put_switch, LANE, 12}, {put_stack, LANE, 8},     {put_special, LANE, 12},
    {put_warp, WARP, 40}, {put_half, WARP, 10},   {put_block, CLUSTER, 40}, {0},
};
