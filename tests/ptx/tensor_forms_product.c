/* Products of matrices: wgmma and mma.sp. Each block has values of its own. */
#include "tensor_forms.h"

#include <stdlib.h>
#include <string.h>

enum {
    BLOCKS = 6,
    IMAGE = 32768,            /* bytes of shared memory, which descriptors lead to */
    WARP_GROUP = 128,         /* threads */
    LANE_WORDS = 4 + 128 + 1, /* of a, of c and d, and metadata */
    METADATA = 4 + 128,
    BLOCK_WORDS = IMAGE / 4 + WARP_GROUP * LANE_WORDS,
    OUT_WORDS = WARP_GROUP * 128,
};

static uint32_t in_words[BLOCKS * BLOCK_WORDS], out_words[BLOCKS * OUT_WORDS];

/* ---- wgmma ---- */

typedef struct product {
    const char *types, *more;
    unsigned n;
    bool in_registers, a_transposed, b_transposed;
    int a_sign, b_sign;
    bool adds;
    uint64_t a, b; /* descriptors */
    bool sparse;
    unsigned selector;
} product;

static const format *d_format, *a_format, *b_format;

static void read_formats(const char *types) {
    char of[3][8];
    sscanf(types, "%7[^.].%7[^.].%7[^.]", of[0], of[1], of[2]);
    d_format = format_of(of[0]);
    a_format = format_of(of[1]);
    b_format = format_of(of[2]);
}

/* Returns what is behind a form's name: the kind of values. */
static const char *kind_of(kind which) {
    static const char *const names[] = {" near", " wide", " any", " special"};
    return a_format->exponent ? names[which] : "";
}

static size_t add_list(char *text, size_t used, char name, unsigned count) {
    for (unsigned n = 0; n < count; n++)
        used += (size_t)sprintf(text + used, "%s%%%c%u", n ? ", " : "{", name, n);
    return used + (size_t)sprintf(text + used, "}");
}

static unsigned sums_of(const product *p) {
    return p->n / 8 * (d_format->bits == 16 ? 2 : 4);
}

static const char *write_product(const product *p) {
    static char text[40000];
    unsigned sums = sums_of(p), half = a_format->bits == 16;
    size_t used = (size_t)sprintf(
        text,
        ".version 8.6\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 s[];\n"
        ".entry k(.param .u64 in, .param .u64 out, .param .align 64 .b8 map[128])\n{\n"
        ".reg .b32 %%r<9>, %%a<4>, %%i<128>; .reg .b64 %%d<12>; .reg .pred %%q<5>;\n"
        "ld.param.u64 %%d1, [in];\nld.param.u64 %%d2, [out];\nmov.u32 %%r1, %%ctaid.x;\n"
        "mov.u32 %%r2, %%tid.x;\nmad.wide.u32 %%d1, %%r1, %u, %%d1;\n"
        "mad.wide.u32 %%d2, %%r1, %u, %%d2;\nmad.wide.u32 %%d2, %%r2, 512, %%d2;\n"
        "mov.u32 %%r3, s;\nshl.b32 %%r4, %%r2, 2;\n"
        "L: cvt.u64.u32 %%d3, %%r4;\nadd.u64 %%d3, %%d3, %%d1;\nld.global.b32 %%r5, [%%d3];\n"
        "add.u32 %%r6, %%r3, %%r4;\nst.shared.b32 [%%r6], %%r5;\nadd.u32 %%r4, %%r4, 512;\n"
        "setp.lt.u32 %%q1, %%r4, %u;\n@%%q1 bra L;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n"
        "shr.u32 %%r7, %%r3, 4;\ncvt.u64.u32 %%d4, %%r7;\nadd.u64 %%d5, %%d4, 0x%llx;\n"
        "add.u64 %%d6, %%d4, 0x%llx;\nmad.wide.u32 %%d7, %%r2, %u, %%d1;\n"
        "setp.ne.u32 %%q2, %d, 0;\n",
        BLOCK_WORDS * 4, OUT_WORDS * 4, IMAGE, (unsigned long long)p->a, (unsigned long long)p->b,
        LANE_WORDS * 4, p->adds);
    for (unsigned n = 0; n < 4; n++)
        used += (size_t)sprintf(text + used, "ld.global.b32 %%a%u, [%%d7+%u];\n", n, IMAGE + n * 4);
    for (unsigned n = 0; n < sums; n++)
        used += (size_t)sprintf(text + used, "ld.global.b32 %%i%u, [%%d7+%u];\n", n,
                                IMAGE + 16 + n * 4);
    used += (size_t)sprintf(text + used,
                            "ld.global.b32 %%r8, [%%d7+%u];\nwgmma.fence.sync.aligned;\n"
                            "wgmma.mma_async%s.sync.aligned.m64n%uk%u.%s%s ",
                            IMAGE + METADATA * 4, p->sparse ? ".sp" : "", p->n,
                            (p->sparse ? 512 : 256) / a_format->bits, p->types, p->more);
    used = add_list(text, used, 'i', sums);
    used += (size_t)sprintf(text + used, ", ");
    if (p->in_registers)
        used = add_list(text, used, 'a', 4);
    else
        used += (size_t)sprintf(text + used, "%%d5");
    used += (size_t)sprintf(text + used, ", %%d6");
    if (p->sparse)
        used += (size_t)sprintf(text + used, ", %%r8, %u", p->selector);
    used += (size_t)sprintf(text + used, ", %%q2");
    if (a_format->exponent)
        used += (size_t)sprintf(text + used, ", %d, %d", p->a_sign, p->b_sign);
    if (half && !p->in_registers)
        used += (size_t)sprintf(text + used, ", %d", p->a_transposed);
    if (half)
        used += (size_t)sprintf(text + used, ", %d", p->b_transposed);
    used += (size_t)sprintf(text + used, ";\nwgmma.commit_group.sync.aligned;\n"
                                         "wgmma.wait_group.sync.aligned 0;\n");
    for (unsigned n = 0; n < sums; n++)
        used += (size_t)sprintf(text + used, "st.global.b32 [%%d2+%u], %%i%u;\n", n * 4, n);
    sprintf(text + used, "ret;\n}\n");
    return text;
}

/* Metadata of eight groups: two different units of four; of tf32 one element of two. */
static uint32_t next_metadata(uint32_t *seed, bool ordered) {
    static const unsigned in_order[] = {0x4, 0x8, 0x9, 0xc, 0xd, 0xe};
    uint32_t metadata = 0;
    for (unsigned n = 0; n < 8; n++) {
        unsigned bits = in_order[next_below(seed, 6)];
        if (a_format->bits == 32)
            bits = next_below(seed, 2) ? 0xe : 0x4;
        else if (!ordered && next_below(seed, 2))
            bits = bits >> 2 | (bits & 3) << 2;
        metadata |= bits << 4 * n;
    }
    return metadata;
}

static void fill_product(kind which) {
    for (unsigned block = 0; block < BLOCKS; block++) {
        uint32_t *words = in_words + (size_t)block * BLOCK_WORDS, *lanes = words + IMAGE / 4;
        uint32_t seed = 100 * (block + 1) + which, groups = seed;
        fill_elements(words, IMAGE / 2, a_format, which, seed);
        fill_elements(words + IMAGE / 8, IMAGE / 2, b_format, which, seed + 7);
        for (unsigned n = 0; n < WARP_GROUP; n++, lanes += LANE_WORDS) {
            fill_elements(lanes, 16, a_format, which, seed + 1000 * n + 3);
            fill_elements(lanes + 4, 512, d_format, which, seed + 1000 * n + 5);
            lanes[METADATA] = next_metadata(&groups, false);
        }
    }
}

static int run_product(const product *p) {
    memset(out_words, 0, sizeof out_words);
    return device_run(&(run){.text = write_product(p),
                             .in = in_words,
                             .in_bytes = sizeof in_words,
                             .out = out_words,
                             .out_bytes = sizeof out_words,
                             .blocks = BLOCKS,
                             .threads = WARP_GROUP,
                             .shared = IMAGE});
}

static void ask_product(const char *name, const product *p) {
    read_formats(p->types);
    for (kind which = a_format->exponent ? NEAR : ANY; which < KINDS; which++) {
        char whole[128];
        if (!a_format->exponent && which != ANY)
            continue;
        snprintf(whole, sizeof whole, "%s%s", name, kind_of(which));
        fill_product(which);
        int code = run_product(p);
        /* The registers of each thread lie together. */
        for (unsigned n = 1; n < BLOCKS * WARP_GROUP; n++)
            memmove(out_words + (size_t)n * sums_of(p), out_words + (size_t)n * 128,
                    sums_of(p) * sizeof *out_words);
        take_result(whole, code, out_words, BLOCKS * WARP_GROUP * sums_of(p) * sizeof *out_words,
                    p->n <= 16);
    }
}

static uint64_t descriptor(unsigned start, unsigned leading, unsigned stride, unsigned code) {
    return start >> 4 | (uint64_t)(leading >> 4) << 16 | (uint64_t)(stride >> 4) << 32 |
           (uint64_t)code << 62;
}

static void all_types(void) {
    static const char *const all[][2] = {
        {"f32.f16.f16", ""},         {"f16.f16.f16", ""},        {"f32.bf16.bf16", ""},
        {"f32.tf32.tf32", ""},       {"f32.e4m3.e4m3", ""},      {"f32.e4m3.e5m2", ""},
        {"f32.e5m2.e4m3", ""},       {"f32.e5m2.e5m2", ""},      {"f16.e4m3.e4m3", ""},
        {"f16.e5m2.e5m2", ""},       {"s32.s8.s8", ""},          {"s32.s8.u8", ""},
        {"s32.u8.s8", ""},           {"s32.u8.u8", ""},          {"s32.s8.s8", ".satfinite"},
        {"s32.u8.u8", ".satfinite"}, {"s32.b1.b1", ".and.popc"},
    };
    static const unsigned widths[] = {8, 64, 256};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (unsigned n = 0; n < 6; n++) {
            char name[96];
            product p = {all[i][0],
                         all[i][1],
                         widths[n / 2],
                         .in_registers = n % 2,
                         .a_sign = n % 2 ? -1 : 1,
                         .b_sign = n == 2 ? -1 : 1,
                         .adds = n != 4,
                         .a = descriptor(0, 128, 256, 0),
                         .b = descriptor(IMAGE / 2, 128, 256, 0)};
            snprintf(name, sizeof name, "wgmma.m64n%u.%s%s%s", p.n, p.types, p.more,
                     p.in_registers ? " a in registers" : "");
            ask_product(name, &p);
        }
}

/* Sparse matrices, in and out of registers, with each pair of lanes that has the metadata. */
static void all_sparse_types(void) {
    static const char *const all[][2] = {
        {"f32.f16.f16", ""},   {"f16.f16.f16", ""},        {"f32.bf16.bf16", ""},
        {"f32.tf32.tf32", ""}, {"f32.e4m3.e4m3", ""},      {"f32.e5m2.e4m3", ""},
        {"f16.e4m3.e4m3", ""}, {"f16.e4m3.e5m2", ""},      {"s32.s8.s8", ""},
        {"s32.u8.s8", ""},     {"s32.s8.u8", ".satfinite"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (unsigned n = 0; n < 6; n++) {
            char name[96];
            read_formats(all[i][0]);
            product p = {all[i][0],
                         all[i][1],
                         n < 4 ? 8 : 256,
                         .in_registers = n % 2,
                         .a_sign = n % 2 ? -1 : 1,
                         .b_sign = n == 2 ? -1 : 1,
                         .adds = n != 4,
                         .a = descriptor(0, 128, 256, 0),
                         .b = descriptor(IMAGE / 2, 128, 512, 0),
                         .sparse = true,
                         .selector = a_format->bits > 8 ? n / 2 % 2 : 0};
            snprintf(name, sizeof name, "wgmma.sp.m64n%u.%s%s%s selector %u%s", p.n, p.types,
                     p.more, p.in_registers ? " a in registers" : "", p.selector,
                     n == 2 ? " -b" : "");
            ask_product(name, &p);
        }
}

static void ask_layout(bool is_b, bool transposed, bool sparse, const char *name, uint64_t one) {
    uint64_t plain = descriptor(is_b ? 0 : IMAGE / 2, 128, sparse && !is_b ? 512 : 256, 0);
    product p = {"f32.f16.f16",
                 "",
                 64,
                 .a_transposed = !is_b && transposed,
                 .b_transposed = is_b && transposed,
                 .a_sign = 1,
                 .b_sign = 1,
                 .adds = true,
                 .a = is_b ? plain : one,
                 .b = is_b ? one : plain,
                 .sparse = sparse};
    read_formats(p.types);
    fill_product(NEAR);
    take_result(name, run_product(&p), out_words, sizeof out_words, false);
}

/* How matrices lie in shared memory, of which the values are random everywhere. */
static void all_layouts(void) {
    static const unsigned widths[] = {16, 128, 64, 32}; /* by the descriptor's code */
    for (unsigned n = 0; n < 64; n++) {
        unsigned code = n % 4, transposed = n / 4 % 2, is_b = n / 8 % 2, far = n / 16 % 2,
                 ahead = n / 32; /* a part of longer rows */
        unsigned atom = widths[code] * 8, leading = far ? atom * 2 : atom,
                 stride = far ? atom : atom * 2, start = is_b ? IMAGE / 2 : 0;
        if (ahead && (transposed || widths[code] < 64))
            continue;
        start += ahead ? widths[code] - 32 : 0;
        if (!transposed && code)
            leading = far ? 16 : 0x3fff0, stride = far ? atom * 2 : atom;
        if (is_b && far && !transposed && code == 1)
            stride = atom;
        char name[128];
        snprintf(name, sizeof name, "wgmma %c%s at %u, leading %u, stride %u, swizzle %u",
                 is_b ? 'b' : 'a', transposed ? " transposed" : "", start, leading, stride,
                 widths[code]);
        ask_layout(is_b, transposed, false, name, descriptor(start, leading, stride, code));
    }
}

/* Asks all layouts of sparse matrices, whose rows of b have 64 bytes. */
static void all_sparse_layouts(void) {
    static const unsigned widths[] = {16, 128, 64, 32}; /* by the descriptor's code */
    for (unsigned n = 0; n < 32; n++) {
        unsigned code = n % 4, transposed = n / 4 % 2, is_b = n / 8 % 2, far = n / 16;
        unsigned atom = widths[code] * 8, leading = far ? atom * 4 : atom,
                 stride = far ? atom : atom * 4, start = is_b ? IMAGE / 2 : 0;
        if (!transposed && is_b && code == 3)
            continue;
        if (!transposed && code)
            leading = 16, stride = far ? atom * 2 : atom;
        if (transposed && code == 1)
            leading = far ? 4096 : 2048, stride = far ? 2048 : 1024;
        char name[128];
        snprintf(name, sizeof name, "wgmma.sp %c%s, leading %u, stride %u, swizzle %u",
                 is_b ? 'b' : 'a', transposed ? " transposed" : "", leading, stride, widths[code]);
        ask_layout(is_b, transposed, true, name, descriptor(start, leading, stride, code));
    }
}

/* Matrices that begin in the fourth of eight lines, without and with a base offset. */
static void all_bases(void) {
    for (unsigned n = 0; n < 24; n++) {
        unsigned code = 1 + n % 3, is_b = n / 3 % 2, transposed = n / 6 % 2, base = n / 12 * 3,
                 start = (is_b ? IMAGE / 2 : 0) + 384;
        char name[128];
        snprintf(name, sizeof name, "wgmma %c%s at %u, swizzle %u, base offset %u",
                 is_b ? 'b' : 'a', transposed ? " transposed" : "", start, 256u >> code, base);
        ask_layout(is_b, transposed, false, name,
                   descriptor(start, 1024, 1024, code) | (uint64_t)base << 49);
    }
}

/* Which chunk of shared memory each half of each row of a is: b adds up the first eight elements
 * for column 0, and the others for column 1. */
static void ask_chunks(const char *name, uint64_t a) {
    uint16_t *halves = (uint16_t *)in_words;
    int32_t chunks[64][2];
    product p = {"f32.f16.f16",
                 "",
                 8,
                 .a_sign = 1,
                 .b_sign = 1,
                 .a = a,
                 .b = descriptor(IMAGE / 2, 128, 256, 0)};
    memset(in_words, 0, sizeof in_words);
    for (unsigned n = 0; n < IMAGE / 4; n++) { /* 2048 halves of a chunk's number, up to 1023 */
        unsigned chunk = n / 8 + 1, top = 31 - (unsigned)__builtin_clz(chunk);
        halves[n] = (uint16_t)((top + 15) << 10 | ((chunk ^ 1u << top) << 10 >> top));
    }
    halves[IMAGE / 4] = 0x3c00;          /* b: (k 0, n 0) */
    halves[IMAGE / 4 + 64 + 8] = 0x3c00; /* (k 8, n 1) */
    read_formats(p.types);
    int code = run_product(&p);
    for (unsigned row = 0; row < 64; row++) {
        const uint32_t *sums = out_words + (size_t)(row / 16 * 32 + row % 8 * 4) * 128;
        float two[2];
        memcpy(two, sums + row / 8 % 2 * 2, sizeof two);
        chunks[row][0] = (int)two[0] - 1;
        chunks[row][1] = (int)two[1] - 1;
    }
    take_result(name, code, chunks, sizeof chunks, true);
}

/* Matrices that begin in all odd lines of eight. */
static void all_lines(void) {
    for (unsigned n = 0; n < 24; n++) {
        unsigned code = 1 + n / 8, line = 1 + n % 8 / 2 * 2, base = n % 2 ? line : 0;
        char name[96];
        snprintf(name, sizeof name, "wgmma chunks of a, swizzle code %u, at %u, base offset %u",
                 code, line * 128, base);
        ask_chunks(name, descriptor(line * 128, 16, 1024, code) | (uint64_t)base << 49);
    }
}

void product_forms(void) {
    all_types();
    all_layouts();
    all_bases();
    all_lines();
    all_sparse_types();
    all_sparse_layouts();
}

/* ---- questions ---- */

/* Which chunk of shared memory each quarter of each row of b is, where rows of 64 bytes are
 * swizzled by 32: rows 0 to 3 of a take the first element of each quarter. */
static void ask_wide_rows(unsigned variant) {
    static const unsigned places[][2] = {{16, 256},   {16, 512},   {256, 512},  {512, 256},
                                         {1024, 256}, {256, 1024}, {2048, 512}, {512, 2048}};
    uint16_t *halves = (uint16_t *)in_words;
    product p = {"f32.f16.f16",
                 "",
                 16,
                 .in_registers = true,
                 .a_sign = 1,
                 .b_sign = 1,
                 .b = descriptor(0, places[variant][0], places[variant][1], 3),
                 .sparse = true};
    read_formats(p.types);
    memset(in_words, 0, sizeof in_words);
    for (unsigned n = 0; n < IMAGE / 2; n++) {
        unsigned chunk = n / 8 + 1, top = 31 - (unsigned)__builtin_clz(chunk);
        halves[n] = (uint16_t)((top + 15) << 10 | ((chunk ^ 1u << top) << 10 >> top));
    }
    /* Lane row * 4 + t has elements 2 t, 2 t + 1 of the row, and 8 + 2 t, 9 + 2 t in its third
     * word; element 4 * row is the first of its quarter. */
    for (unsigned row = 0; row < 4; row++)
        in_words[IMAGE / 4 + (row * 4 + row % 2 * 2) * LANE_WORDS + row / 2 * 2] = 0x3c00;
    for (unsigned n = 0; n < BLOCKS * WARP_GROUP; n++)
        in_words[n / WARP_GROUP * BLOCK_WORDS + IMAGE / 4 + n % WARP_GROUP * LANE_WORDS +
                 METADATA] = 0x44444444;
    int code = run_product(&p);
    printf("wgmma.sp b, swizzle 32, leading %u, stride %u: %d", places[variant][0],
           places[variant][1], code);
    for (unsigned n = 0; n < 16 * 4 && !code; n++) { /* columns, each with four quarters */
        float sum;
        unsigned column = n / 4, lane = n % 4 * 4 + column % 8 / 2;
        memcpy(&sum, out_words + lane * 128 + column / 8 * 4 + column % 2, sizeof sum);
        printf("%s%d", n % 4 ? "," : " ", (int)sum - 1);
    }
    printf("\n");
}

const question product_questions[PRODUCT_QUESTIONS] = {{ask_wide_rows, 8}};

/* ---- mma.sp ---- */

enum { SPARSE_WORDS = 16 }; /* of a lane: a 4, b 4, c 4, and the metadata */

static const char *write_sparse(const char *types, unsigned k, unsigned selector, bool ordered,
                                const char *more) {
    static char text[8192];
    unsigned sums = d_format->bits == 16 ? 2 : 4, a = 16 * k / 2 * a_format->bits / 1024,
             b = k * 8 * b_format->bits / 1024;
    size_t used = (size_t)sprintf(
        text,
        ".version 8.6\n.target sm_90\n.address_size 64\n"
        ".entry k(.param .u64 in, .param .u64 out, .param .align 64 .b8 map[128])\n{\n"
        ".reg .b32 %%r<4>, %%a<4>, %%b<4>, %%c<4>, %%e; .reg .b64 %%d<4>;\n"
        "ld.param.u64 %%d1, [in];\nld.param.u64 %%d2, [out];\nmov.u32 %%r1, %%ctaid.x;\n"
        "mov.u32 %%r2, %%tid.x;\nmad.lo.u32 %%r3, %%r1, 32, %%r2;\n"
        "mad.wide.u32 %%d1, %%r3, 64, %%d1;\nmad.wide.u32 %%d2, %%r3, 16, %%d2;\n"
        "ld.global.v4.b32 {%%a0, %%a1, %%a2, %%a3}, [%%d1];\n"
        "ld.global.v4.b32 {%%b0, %%b1, %%b2, %%b3}, [%%d1+16];\n"
        "ld.global.v4.b32 {%%c0, %%c1, %%c2, %%c3}, [%%d1+32];\nld.global.b32 %%e, [%%d1+48];\n"
        "mma.sp%s.sync.aligned.m16n8k%u.row.col%s.%s ",
        ordered ? "::ordered_metadata" : "", k, more, types);
    used = add_list(text, used, 'c', sums);
    used += (size_t)sprintf(text + used, ", ");
    used = add_list(text, used, 'a', a);
    used += (size_t)sprintf(text + used, ", ");
    used = add_list(text, used, 'b', b);
    used += (size_t)sprintf(text + used, ", ");
    used = add_list(text, used, 'c', sums);
    sprintf(text + used,
            ", %%e, %u;\nst.global.v4.b32 [%%d2], {%%c0, %%c1, %%c2, %%c3};\nret;\n}\n", selector);
    return text;
}

static void ask_sparse(const char *types, unsigned k, unsigned selector, bool ordered,
                       const char *more, kind which) {
    enum { ROUNDS = 16 };
    static uint32_t words[ROUNDS * 32 * SPARSE_WORDS], out[ROUNDS * 32 * 4];
    char name[128];
    uint32_t seed = 77;
    snprintf(name, sizeof name, "mma.sp%s.m16n8k%u%s.%s selector %u%s",
             ordered ? "::ordered_metadata" : "", k, more, types, selector, kind_of(which));
    for (unsigned n = 0; n < ROUNDS * 32; n++) {
        uint32_t *lane = words + (size_t)n * SPARSE_WORDS;
        fill_elements(lane, 16, a_format, which, n * 5 + which);
        fill_elements(lane + 4, 16, b_format, which, n * 7 + which + 1000);
        fill_elements(lane + 8, 16, d_format, which, n * 9 + which + 2000);
        lane[12] = next_metadata(&seed, ordered);
    }
    memset(out, 0, sizeof out);
    int code = device_run(&(run){.text = write_sparse(types, k, selector, ordered, more),
                                 .in = words,
                                 .in_bytes = sizeof words,
                                 .out = out,
                                 .out_bytes = sizeof out,
                                 .blocks = ROUNDS,
                                 .threads = 32});
    take_result(name, code, out, sizeof out, true);
}

void sparse_forms(void) {
    static const struct {
        const char *types;
        unsigned k, selectors;
    } rows[] = {
        {"f32.f16.f16.f32", 16, 4},   {"f32.f16.f16.f32", 32, 2},   {"f16.f16.f16.f16", 16, 4},
        {"f16.f16.f16.f16", 32, 2},   {"f32.bf16.bf16.f32", 16, 4}, {"f32.bf16.bf16.f32", 32, 2},
        {"f32.tf32.tf32.f32", 8, 4},  {"f32.tf32.tf32.f32", 16, 2}, {"s32.s8.s8.s32", 32, 2},
        {"s32.u8.s8.s32", 64, 1},     {"s32.s8.u8.s32", 32, 2},     {"s32.u8.u8.s32", 64, 1},
        {"s32.s4.s4.s32", 64, 2},     {"s32.u4.s4.s32", 128, 1},    {"f32.e4m3.e5m2.f32", 64, 1},
        {"f32.e5m2.e5m2.f32", 64, 1},
    };
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        read_formats(rows[n].types);
        for (unsigned i = 0; i < rows[n].selectors * 2; i++)
            for (kind which = NEAR; which < KINDS; which++)
                if (a_format->exponent || which == ANY)
                    ask_sparse(rows[n].types, rows[n].k, i / 2, i % 2,
                               !a_format->exponent && i % 2 ? ".satfinite" : "", which);
    }
}
