/* Products of matrices of which half is zero, of all pairs of types, and wide ones of four warps.
 */
#include "random_kernels.h"

#include <string.h>

/* Puts the words of which part of each group is there into %x4: one of four that are valid, which
 * a lane's flags choose. Groups of two have one element each that is there, those of four two. */
static void put_metadata(bool of_two) {
    static const char fours[] = "489cde", twos[] = "4e";
    char words[4][9];
    for (unsigned n = 0; n < 4; n++) {
        for (unsigned i = 0; i < 8; i++)
            words[n][i] = of_two ? twos[below(2)] : fours[below(6)];
        words[n][8] = 0;
    }
    const unsigned first = below(FLAGS), second = below(FLAGS);
    put("selp.b32 %%x1, 0x%s, 0x%s, %%p%u;\nselp.b32 %%x4, 0x%s, 0x%s, %%p%u;\nselp.b32 %%x4, "
        "%%x1, %%x4, %%p%u;\n",
        words[0], words[1], first, words[2], words[3], first, second);
}

static unsigned put_new(unsigned count, format of, kind which) {
    const unsigned first = any('r', count);
    put_values('r', first, count, of, which);
    return first;
}

/* ---- mma of all pairs of types ---- */

typedef struct element {
    const char *name;
    format of;
    unsigned bits;
} element;

static const element elements[] = {{"f16", F16, 16},  {"bf16", BF16, 16}, {"tf32", F32, 32},
                                   {"e4m3", E4M3, 8}, {"e5m2", E5M2, 8},  {"s8", BITS, 8},
                                   {"u8", BITS, 8},   {"s4", BITS, 4},    {"u4", BITS, 4}};
enum { HALF, BRAIN, TENSOR, FIRST_BYTE, SECOND_BYTE, SIGNED, UNSIGNED, SIGNED_4, UNSIGNED_4, ALL };

/* Returns the second factor's type: the same, or the other one of its size and kind. */
static unsigned other_element(unsigned a) {
    const unsigned pair = a == FIRST_BYTE || a == SIGNED || a == SIGNED_4        ? a + 1
                          : a == SECOND_BYTE || a == UNSIGNED || a == UNSIGNED_4 ? a - 1
                                                                                 : a;
    return one_of(2) ? pair : a;
}

static const char *sum_of(unsigned a) {
    return a >= SIGNED                                                       ? "s32"
           : (a == HALF || a == FIRST_BYTE || a == SECOND_BYTE) && one_of(3) ? "f16"
                                                                             : "f32";
}

static void put_product(const char *word, bool is_sparse) {
    const unsigned a = below(ALL), b = other_element(a), bits = elements[a].bits;
    const bool is_byte = a == FIRST_BYTE || a == SECOND_BYTE;
    const char *const sum = is_sparse && is_byte ? "f32" : sum_of(a);
    const bool is_long = is_byte && is_sparse ? true : one_of(2);
    /* A row of a, as it is stored, has 16 bytes, or 32: 2 registers or 4. */
    const unsigned k = (is_long ? 256 : 128) / bits * (is_sparse ? 2 : 1);
    const unsigned count = is_long ? 4 : 2, sums = sum[0] == 'f' && sum[1] == '1' ? 2 : 4;
    const kind which = (kind)below(KINDS), other = (kind)below(KINDS);
    const unsigned first = put_new(count, elements[a].of, which);
    const unsigned second = put_new(is_sparse ? count : count / 2, elements[b].of, which);
    const unsigned third = put_new(sums, sum[0] == 's' ? BITS : sums == 2 ? F16 : F32, other);
    const unsigned most = bits == 16 || bits == 32 ? (is_long ? 2 : 4) : is_long ? 1 : 2;
    const unsigned selector = below(most);
    const bool saturates = sum[0] == 's' && one_of(2);
    if (is_sparse)
        put_metadata(a == TENSOR);
    put_guard(WARP);
    put("%s.sync.aligned.m16n8k%u.row.col%s.%s.%s.%s.%s ", word, k, saturates ? ".satfinite" : "",
        sum, elements[a].name, elements[b].name, sum);
    put_list('r', third, sums);
    put(", ");
    put_list('r', first, count);
    put(", ");
    put_list('r', second, is_sparse ? count : count / 2);
    put(", ");
    put_list('r', third, sums);
    if (is_sparse)
        put(", %%x4, %u", selector);
    put(";\n");
    put_log('r', third, sums);
}

static void put_dense(void) {
    put_product("mma", false);
}

static void put_sparse(void) {
    put_product(one_of(2) ? "mma.sp" : "mma.sp::ordered_metadata", true);
}

/* ---- wmma of small integers ---- */

static void put_small(void) {
    static const struct {
        const char *type, *operation, *shape;
    } kinds[] = {{"s4", "", "m8n8k32"},
                 {"u4", "", "m8n8k32"},
                 {"b1", ".xor.popc", "m8n8k128"},
                 {"b1", ".and.popc", "m8n8k128"}};
    const unsigned n = below(4), at = 32 * below(64), to = any('r', 2);
    const char *const shape = kinds[n].shape, *const type = kinds[n].type;
    const unsigned stride = 128 * (1 + below(2)), step = 32 * (1 + below(4));
    const bool saturates = n < 2 && one_of(2);
    put("{\n.reg .b32 %%m<4>;\nmad.lo.u32 %%x1, %%gw, %u, %u;\ncvt.u64.u32 %%y2, %%x1;\nadd.u64 "
        "%%y2, %%y2, %%y0;\n",
        step, at + (BITS * KINDS + ANY) * REGION_STEP);
    put("wmma.load.a.sync.aligned.row.%s.global.%s {%%m0}, [%%y2], %u;\n"
        "wmma.load.b.sync.aligned.col.%s.global.%s {%%m1}, [%%y2+64], %u;\n"
        "wmma.load.c.sync.aligned.row.%s.global.s32 {%%m2, %%m3}, [%%y2+128], 8;\n",
        shape, type, stride, shape, type, stride, shape);
    put_guard(WARP);
    put("wmma.mma%s.sync.aligned.row.col.%s.s32.%s.%s.s32%s {%%m2, %%m3}, {%%m0}, {%%m1}, {%%m2, "
        "%%m3};\n",
        kinds[n].operation, shape, type, type, saturates ? ".satfinite" : "");
    put("mov.b32 %%r%u, %%m2;\nmov.b32 %%r%u, %%m3;\n}\n", to, to + 1);
    put_log('r', to, 2);
}

/* ---- wgmma ---- */

/* Fills half of the image with values of the input. */
static void put_half_image(unsigned half, format of, kind which) {
    enum { PART = IMAGE_BYTES / 2 / THREADS };
    put("mad.lo.u32 %%x3, %%ti, %u, %%im;\n", (unsigned)PART);
    for (unsigned n = 0; n < PART; n += 16) {
        const unsigned first = put_new(4, of, which);
        put("st.shared.v4.b32 [%%x3+%u], ", half * (IMAGE_BYTES / 2) + n);
        put_list('r', first, 4);
        put(";\n");
    }
}

/* Puts the descriptor of a matrix of so many rows of so many bytes into %y2 or %y3. */
static void put_described(unsigned which, unsigned rows, unsigned bytes) {
    unsigned code = below(4);
    while (code && (rows * (256u >> code) > IMAGE_BYTES / 2 || bytes > 256u >> code))
        code = code == 3 ? 2 : code == 2 ? 1 : 0;
    if (code && bytes > 256u >> code)
        code = 0;
    const unsigned width = code ? 256u >> code : 16;
    const unsigned leading = code ? 16 : 128, stride = code ? 8 * width : 8 * bytes;
    put("add.u32 %%x1, %%im, %u;\nshr.u32 %%x1, %%x1, 4;\nand.b32 %%x1, %%x1, 0x3fff;\n"
        "cvt.u64.u32 %%y%u, %%x1;\nor.b64 %%y%u, %%y%u, 0x%llx;\n",
        which * (IMAGE_BYTES / 2), 2 + which, 2 + which, 2 + which,
        (unsigned long long)leading / 16 << 16 | (unsigned long long)stride / 16 << 32 |
            (unsigned long long)code << 62);
}

static void put_group(void) {
    static const unsigned counts[] = {8,   16,  24,  32,  48,  64,  80,  96,  112,
                                      128, 144, 160, 176, 192, 208, 224, 240, 256};
    const unsigned a = below(SIGNED_4), b = other_element(a), bits = elements[a].bits;
    const bool is_sparse = one_of(2), in_registers = one_of(3), is_integer = a >= SIGNED;
    const unsigned n = counts[below(is_sparse ? 10 : 18)];
    const unsigned k = 256 / bits * (is_sparse ? 2 : 1);
    const bool is_half = !is_integer && a != BRAIN && a != TENSOR && one_of(3);
    const unsigned sums = is_half ? n / 4 : n / 2, to = any('r', 4), selector = below(2);
    const kind which = (kind)below(KINDS), other = (kind)below(KINDS);
    put_cluster_barrier();
    put_half_image(0, elements[a].of, which);
    put_half_image(1, elements[b].of, which);
    const unsigned registers = in_registers ? put_new(4, elements[a].of, which) : 0;
    put("{\n.reg .b32 %%m<%u>;\n", sums);
    put_values('m', 0, sums, is_integer ? BITS : is_half ? F16 : F32, other);
    put_described(1, n, is_sparse ? 64 : 32);
    if (!in_registers)
        put_described(0, 64, 32);
    if (is_sparse)
        put_metadata(a == TENSOR);
    put("fence.proxy.async.shared::cta;\nbar.sync 0;\nwgmma.fence.sync.aligned;\n");
    put("wgmma.mma_async%s.sync.aligned.m64n%uk%u.%s.%s.%s%s ", is_sparse ? ".sp" : "", n, k,
        is_integer ? "s32"
        : is_half  ? "f16"
                   : "f32",
        elements[a].name, elements[b].name, is_integer && one_of(2) ? ".satfinite" : "");
    put_list('m', 0, sums);
    put(", ");
    if (in_registers)
        put_list('r', registers, 4);
    else
        put("%%y2");
    put(", %%y3");
    if (is_sparse)
        put(", %%x4, %u", bits >= 16 ? selector : 0);
    put(", %%b%u", below(FLAGS));
    if (!is_integer) {
        const int a_sign = one_of(2) ? 1 : -1, b_sign = one_of(2) ? 1 : -1;
        put(", %d, %d%s", a_sign, b_sign, bits != 16 ? "" : in_registers ? ", 0" : ", 0, 0");
    }
    put(";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nbar.sync 0;\n");
    put("mov.b32 %%r%u, 0;\nmov.b32 %%r%u, 0;\n", to, to + 1);
    for (unsigned i = 0; i < sums; i++) /* a number of all sums */
        put("mad.lo.u32 %%r%u, %%r%u, 0x01000193, %%m%u;\nxor.b32 %%r%u, %%r%u, %%m%u;\n", to, to,
            i, to + 1, to + 1, i);
    put("mov.b32 %%r%u, %%m0;\nmov.b32 %%r%u, %%m%u;\n}\n", to + 2, to + 3, sums - 1);
    put_log('r', to, 4);
}

const statement sparse_statements[] = {
    {put_dense, WARP, 40},
    {put_sparse, WARP, 40},
    {put_small, WARP, 8},
    {put_group, CLUSTER, 20},
    {0},
};
