/* Products of matrices, and what loads and stores their fragments. */
#include "random_kernels.h"

#include <string.h>

/* ---- mma ---- */

/* The registers of a, b and c, of 32 bits, or 64 of f64. */
static const struct {
    const char *shape, *types; /* of d, a, b, c */
    format a, b;
    unsigned a_count, b_count, c_count;
} products[] = {
    {"m8n8k4", "f32.f16.f16.f32", F16, F16, 2, 2, 8},
    {"m8n8k4", "f16.f16.f16.f16", F16, F16, 2, 2, 4},
    {"m16n8k8", "f32.f16.f16.f32", F16, F16, 2, 1, 4},
    {"m16n8k8", "f16.f16.f16.f16", F16, F16, 2, 1, 2},
    {"m16n8k16", "f32.f16.f16.f32", F16, F16, 4, 2, 4},
    {"m16n8k16", "f16.f16.f16.f16", F16, F16, 4, 2, 2},
    {"m16n8k8", "f32.bf16.bf16.f32", BF16, BF16, 2, 1, 4},
    {"m16n8k16", "f32.bf16.bf16.f32", BF16, BF16, 4, 2, 4},
    {"m16n8k4", "f32.tf32.tf32.f32", F32, F32, 2, 1, 4},
    {"m16n8k4", "f32.tf32.tf32.f32", F32, F32, 2, 1, 4},
    {"m16n8k8", "f32.tf32.tf32.f32", F32, F32, 4, 2, 4},
    {"m16n8k16", "f32.e4m3.e4m3.f32", E4M3, E4M3, 2, 1, 4},
    {"m16n8k16", "f16.e4m3.e5m2.f16", E4M3, E5M2, 2, 1, 2},
    {"m16n8k32", "f32.e5m2.e4m3.f32", E5M2, E4M3, 4, 2, 4},
    {"m16n8k32", "f32.e5m2.e5m2.f32", E5M2, E5M2, 4, 2, 4},
    {"m16n8k32", "f16.e4m3.e4m3.f16", E4M3, E4M3, 4, 2, 2},
    {"m8n8k4", "f64.f64.f64.f64", F64, F64, 1, 1, 2},
    {"m16n8k4", "f64.f64.f64.f64", F64, F64, 2, 1, 4},
    {"m16n8k8", "f64.f64.f64.f64", F64, F64, 4, 2, 4},
    {"m16n8k16", "f64.f64.f64.f64", F64, F64, 8, 4, 4},
    {"m8n8k16", "s32.s8.s8.s32", BITS, BITS, 1, 1, 2},
    {"m8n8k16", "s32.u8.s8.s32", BITS, BITS, 1, 1, 2},
    {"m16n8k16", "s32.s8.u8.s32", BITS, BITS, 2, 1, 4},
    {"m16n8k32", "s32.u8.u8.s32", BITS, BITS, 4, 2, 4},
    {"m16n8k32", "s32.s8.s8.s32", BITS, BITS, 4, 2, 4},
    {"m8n8k32", "s32.s4.u4.s32", BITS, BITS, 1, 1, 2},
    {"m16n8k32", "s32.u4.u4.s32", BITS, BITS, 2, 1, 4},
    {"m16n8k64", "s32.s4.s4.s32", BITS, BITS, 4, 2, 4},
    {"m8n8k128", "s32.b1.b1.s32", BITS, BITS, 1, 1, 2},
    {"m16n8k128", "s32.b1.b1.s32", BITS, BITS, 2, 1, 4},
    {"m16n8k256", "s32.b1.b1.s32", BITS, BITS, 4, 2, 4},
};

static format sums_of(const char *types) {
    return strncmp(types, "f32", 3) == 0   ? F32
           : strncmp(types, "f16", 3) == 0 ? F16
           : strncmp(types, "f64", 3) == 0 ? F64
                                           : BITS;
}

/* Puts the first register of a fragment: new values of the format, or what others left there. */
static unsigned put_fragment(char letter, unsigned count, format of, kind which) {
    const unsigned first = any(letter, count);
    if (!one_of(6))
        put_values(letter, first, count, of, which);
    return first;
}

/* Returns the first register of a result: that of c, or of registers that c does not have, nor,
 * of f64, the factors. Of fp8 ptxas 13.0 overwrites parts of c before it reads them, if others are
 * the result's; and of f64 it made kernels that an H200 refused as illegal (715). */
static unsigned put_target(char letter, unsigned c, unsigned count, const unsigned factors[2],
                           const unsigned counts[2]) {
    for (unsigned tries = 0; tries < 20 && !one_of(3); tries++) {
        const unsigned d = any(letter, count);
        bool is_apart = d + count <= c || c + count <= d;
        for (unsigned n = 0; n < 2; n++)
            is_apart = is_apart &&
                       (letter == 'r' || d + count <= factors[n] || factors[n] + counts[n] <= d);
        if (is_apart)
            return d;
    }
    return c;
}

static void put_mma(void) {
    const unsigned n = below(sizeof products / sizeof *products);
    const char letter = products[n].a == F64 ? 'd' : 'r', *types = products[n].types;
    const bool is_volta = strcmp(products[n].shape, "m8n8k4") == 0 && products[n].a == F16;
    const kind which = (kind)below(KINDS);
    const unsigned a = put_fragment(letter, products[n].a_count, products[n].a, which);
    const unsigned b = put_fragment(letter, products[n].b_count, products[n].b, which);
    const unsigned c =
        put_fragment(letter, products[n].c_count, sums_of(types), (kind)below(KINDS));
    const unsigned d = put_target(letter, c, products[n].c_count, (const unsigned[]){a, b},
                                  (const unsigned[]){products[n].a_count, products[n].b_count});
    const char *const layout = is_volta && one_of(2) ? "col" : "row";
    const char *const other = is_volta && one_of(2) ? "row" : "col";
    const bool saturates = types[0] == 's' && !strstr(types, "b1") && one_of(2);
    put_guard(WARP);
    put("mma.sync.aligned.%s.%s.%s%s.%s%s ", products[n].shape, layout, other,
        saturates ? ".satfinite" : "", types,
        !strstr(types, "b1") ? ""
        : one_of(2)          ? ".xor.popc"
                             : ".and.popc");
    put_list(letter, d, products[n].c_count);
    put(", ");
    put_list(letter, a, products[n].a_count);
    put(", ");
    put_list(letter, b, products[n].b_count);
    put(", ");
    put_list(letter, c, products[n].c_count);
    put(";\n");
    put_log(letter, d, products[n].c_count);
}

/* ---- wmma, whose fragments are read and written by way of memory ---- */

static const struct {
    const char *shape, *a_type, *c_type, *d_type;
    format a;
    unsigned m, n, a_count, b_count, c_count, d_count;
} warp_products[] = {
    {"m16n16k16", "f16", "f32", "f32", F16, 16, 16, 8, 8, 8, 8},
    {"m16n16k16", "f16", "f16", "f16", F16, 16, 16, 8, 8, 4, 4},
    {"m32n8k16", "f16", "f16", "f32", F16, 32, 8, 8, 8, 4, 8},
    {"m8n32k16", "f16", "f32", "f16", F16, 8, 32, 8, 8, 8, 4},
    {"m16n16k16", "bf16", "f32", "f32", BF16, 16, 16, 4, 4, 8, 8},
    {"m32n8k16", "bf16", "f32", "f32", BF16, 32, 8, 8, 2, 8, 8},
    {"m8n32k16", "bf16", "f32", "f32", BF16, 8, 32, 2, 8, 8, 8},
    {"m16n16k8", "tf32", "f32", "f32", F32, 16, 16, 4, 4, 8, 8},
    {"m8n8k4", "f64", "f64", "f64", F64, 8, 8, 1, 1, 2, 2},
    {"m16n16k16", "s8", "s32", "s32", BITS, 16, 16, 2, 2, 8, 8},
    {"m32n8k16", "u8", "s32", "s32", BITS, 32, 8, 4, 1, 8, 8},
    {"m8n32k16", "s8", "s32", "s32", BITS, 8, 32, 1, 4, 8, 8},
};

static unsigned bytes_of(const char *type) {
    return strstr(type, "16") ? 2 : strstr(type, "32") ? 4 : strstr(type, "64") ? 8 : 1;
}

static const char *any_layout(void) {
    return one_of(2) ? "row" : "col";
}

/* Loads a fragment from a place of the input that is the warp's own. Returns its layout. */
static const char *put_matrix_load(char matrix, unsigned row, const char *type, char letter,
                                   unsigned first, unsigned count, format of, kind which) {
    const unsigned at = 32 * below(64), step = 32 * (1 + below(4)), bytes = bytes_of(type);
    const unsigned stride = 32 + 16 / bytes * below(2);
    const char *const layout = any_layout();
    put("mad.lo.u32 %%x1, %%gw, %u, %u;\ncvt.u64.u32 %%y2, %%x1;\nadd.u64 %%y2, %%y2, %%y0;\n",
        step, at + ((unsigned)of * KINDS + which) * REGION_STEP);
    put("wmma.load.%c.sync.aligned.%s.%s.global.%s ", matrix, layout, warp_products[row].shape,
        type);
    put_list(letter, first, count);
    put(", [%%y2], %u;\n", stride);
    return layout;
}

/* Logs what the warp has in its global memory, so many bytes of each lane. */
static void put_warp_log(unsigned bytes) {
    const unsigned first = any('r', bytes / 4);
    put("bar.warp.sync 0xffffffff;\nmad.wide.u32 %%y2, %%lane, %u, %%y4;\n", bytes);
    for (unsigned n = 0; n < bytes / 4; n++)
        put("ld.global.b32 %%r%u, [%%y2+%u];\n", first + n, 4 * n);
    put("bar.warp.sync 0xffffffff;\n");
    put_log('r', first, bytes / 4);
}

static void put_wmma(void) {
    const unsigned row = below(sizeof warp_products / sizeof *warp_products);
    const char *const type = warp_products[row].a_type, *const sum = warp_products[row].c_type,
                      *const to = warp_products[row].d_type;
    const bool is_double = warp_products[row].a == F64;
    const char letter = 'm'; /* registers that nobody else reads: fragments may have any order */
    const kind which = (kind)below(KINDS), other = (kind)below(KINDS);
    const unsigned a = 0, b = a + 8, c = b + 8, result = is_double ? c : c + 8;
    put("{\n.reg .b%u %%m<32>;\n", is_double ? 64 : 32);
    for (unsigned n = 0; n < warp_products[row].d_count && !is_double; n++)
        put("mov.b32 %%m%u, 0;\n", result + n);
    const char *const a_layout = put_matrix_load(
        'a', row, type, letter, a, warp_products[row].a_count, warp_products[row].a, which);
    const char *const b_layout = put_matrix_load(
        'b', row, type, letter, b, warp_products[row].b_count, warp_products[row].a, which);
    put_matrix_load('c', row, sum, letter, c, warp_products[row].c_count, sums_of(sum), other);
    const bool saturates = sum[0] == 's' && one_of(2), is_half = strcmp(type, "f16") == 0;
    put_guard(WARP);
    put("wmma.mma.sync.aligned.%s.%s.%s.%s", a_layout, b_layout, warp_products[row].shape, to);
    if (!is_half)
        put(".%s.%s", type, type);
    put(".%s%s ", sum, saturates ? ".satfinite" : "");
    put_list(letter, result, warp_products[row].d_count);
    put(", ");
    put_list(letter, a, warp_products[row].a_count);
    put(", ");
    put_list(letter, b, warp_products[row].b_count);
    put(", ");
    put_list(letter, c, warp_products[row].c_count);
    const char *const layout = any_layout();
    put(";\nwmma.store.d.sync.aligned.%s.%s.global.%s [%%y4], ", layout, warp_products[row].shape,
        to);
    put_list(letter, result, warp_products[row].d_count);
    put(", %u;\n}\n", strcmp(layout, "row") == 0 ? warp_products[row].n : warp_products[row].m);
    put_warp_log(warp_products[row].m * warp_products[row].n * bytes_of(to) / 32);
}

/* ---- fragments in shared memory ---- */

static void put_ldmatrix(void) {
    const unsigned count = 1u << below(3), first = any('r', count), from = any('r', 1);
    put("and.b32 %%x1, %%r%u, %u;\nadd.u32 %%x1, %%x1, %%ws;\n", from, WARP_BYTES - 16);
    put("bar.warp.sync 0xffffffff;\n");
    put_guard(WARP);
    put("ldmatrix.sync.aligned.m8n8.x%u%s.shared.b16 ", count, one_of(2) ? ".trans" : "");
    put_list('r', first, count);
    put(", [%%x1];\nbar.warp.sync 0xffffffff;\n");
    put_log('r', first, count);
}

/* Each row has a place of its own. */
static void put_stmatrix(void) {
    const unsigned count = 1u << below(3), first = any('r', count), step = 1 + 2 * below(64),
                   at = below(128);
    put("mad.lo.u32 %%x1, %%lane, %u, %u;\nand.b32 %%x1, %%x1, 127;\nmad.lo.u32 %%x1, %%x1, 16, "
        "%%ws;\n",
        step, at);
    put("bar.warp.sync 0xffffffff;\n");
    put_guard(WARP);
    put("stmatrix.sync.aligned.m8n8.x%u%s.shared.b16 [%%x1], ", count, one_of(2) ? ".trans" : "");
    put_list('r', first, count);
    const unsigned place = 4 * below(WARP_BYTES / 128), to = any('r', 1);
    put(";\nbar.warp.sync 0xffffffff;\nmad.lo.u32 %%x1, %%lane, %u, %%ws;\nld.shared.b32 %%r%u, "
        "[%%x1+%u];\n"
        "bar.warp.sync 0xffffffff;\n",
        WARP_BYTES / 32, to, place);
    put_log('r', to, 1);
}

static void put_movmatrix(void) {
    const unsigned from = any('r', 1), to = any('r', 1);
    put_guard(WARP);
    put("movmatrix.sync.aligned.m8n8.trans.b16 %%r%u, %%r%u;\n", to, from);
    put_log('r', to, 1);
}

/* ---- products of four warps ---- */

static const struct {
    const char *types; /* of d, a, b */
    format a, b;
    unsigned k;
} group_products[] = {
    {"f32.f16.f16", F16, F16, 16},     {"f16.f16.f16", F16, F16, 16},
    {"f32.bf16.bf16", BF16, BF16, 16}, {"f32.tf32.tf32", F32, F32, 8},
    {"f32.e4m3.e5m2", E4M3, E5M2, 32}, {"f16.e5m2.e4m3", E5M2, E4M3, 32},
    {"f32.e4m3.e4m3", E4M3, E4M3, 32}, {"s32.s8.u8", BITS, BITS, 32},
    {"s32.u8.u8", BITS, BITS, 32},     {"s32.s8.s8", BITS, BITS, 32},
};

/* Fills half of the image that matrices are read from. */
static void put_image(unsigned half, format of, kind which) {
    enum { PART = IMAGE_BYTES / 2 / THREADS };
    put("mad.lo.u32 %%x3, %%ti, %u, %%im;\n", (unsigned)PART);
    for (unsigned n = 0; n < PART; n += 16) {
        const unsigned first = any('r', 4);
        put_values('r', first, 4, of, which);
        put("st.shared.v4.b32 [%%x3+%u], ", half * (IMAGE_BYTES / 2) + n);
        put_list('r', first, 4);
        put(";\n");
    }
}

static void put_descriptor(unsigned which, bool is_transposed) {
    const unsigned code = below(4), width = code ? 256u >> code : 16;
    const unsigned leading = (1 + below(8)) * (code ? 8 * width > 1024 ? 1024 : 128 : 128);
    const unsigned stride = one_of(3) ? 128 * (1 + below(8)) : code ? 8 * width : 128;
    put("add.u32 %%x1, %%im, %u;\nshr.u32 %%x1, %%x1, 4;\nand.b32 %%x1, %%x1, 0x3fff;\ncvt.u64.u32 "
        "%%y%u, %%x1;\n"
        "or.b64 %%y%u, %%y%u, 0x%llx;\n",
        which * (IMAGE_BYTES / 2), 2 + which, 2 + which, 2 + which,
        (unsigned long long)(leading > 1024 ? 1024 : leading) / 16 << 16 |
            (unsigned long long)stride / 16 << 32 | (unsigned long long)code << 62);
    (void)is_transposed;
}

static void put_wgmma(void) {
    const unsigned row = below(sizeof group_products / sizeof *group_products),
                   n = 8 * (1 + below(4));
    const char *const types = group_products[row].types;
    const unsigned count = types[1] == '1' ? n / 4 : n / 2;
    const bool may_transpose = group_products[row].k == 16, is_integer = types[0] == 's',
               in_registers = one_of(3);
    const bool a_transposed = may_transpose && !in_registers && one_of(2),
               b_transposed = may_transpose && one_of(2);
    const kind which = (kind)below(KINDS);
    put("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n");
    put_image(0, group_products[row].a, which);
    put_image(1, group_products[row].b, which);
    const unsigned d = any('r', count);
    put_values('r', d, count, sums_of(types), (kind)below(KINDS));
    const unsigned a = d >= 4 ? d - 4 : d + count; /* not what the product writes */
    if (in_registers)
        put_values('r', a, 4, group_products[row].a, which);
    put_descriptor(0, a_transposed);
    put_descriptor(1, b_transposed);
    put("fence.proxy.async.shared::cta;\nbar.sync 0;\nwgmma.fence.sync.aligned;\n");
    put("wgmma.mma_async.sync.aligned.m64n%uk%u.%s%s ", n, group_products[row].k, types,
        is_integer && one_of(2) ? ".satfinite" : "");
    put_list('r', d, count);
    put(", ");
    if (in_registers)
        put_list('r', a, 4);
    else
        put("%%y2");
    put(", %%y3, %%b%u", below(FLAGS));
    if (!is_integer) {
        const int a_sign = one_of(2) ? 1 : -1, b_sign = one_of(2) ? 1 : -1;
        put(", %d, %d", a_sign, b_sign);
    }
    if (may_transpose && in_registers)
        put(", %d", b_transposed);
    else if (may_transpose)
        put(", %d, %d", a_transposed, b_transposed);
    put(";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nbar.sync 0;\n");
    put_log('r', d, count);
}

const statement product_statements[] = {
    {put_mma, WARP, 30},
    {put_wmma, WARP, 8},
    {put_ldmatrix, WARP, 6},
    {put_stmatrix, WARP, 5},
    {put_movmatrix, WARP, 3},
    {put_wgmma, CLUSTER, 8},
    {0},
};
