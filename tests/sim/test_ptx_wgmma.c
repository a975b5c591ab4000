/* Products of matrices by four warps: wgmma. */
#include "matrix_test.h"

#define HEAD ".version 8.6\n.target sm_90a\n.address_size 64\n"

enum {
    THREADS = 128,
    AT_B = 16384,
    IMAGE = 49152, /* bytes of shared memory, which the kernel copies from memory */
    LANE_WORDS = 4 + 128,
    METADATA = LANE_WORDS - 1, /* where d has less than 128 */
    WORDS = IMAGE / 4 + THREADS * LANE_WORDS,
};

/* ---- kernels ---- */

/* Adds "{%x0, %x1}" or, with `opcode`, loads or stores of the registers. */
static size_t add_registers(char *text, size_t used, const char *opcode, const char *name,
                            unsigned count, unsigned at) {
    for (unsigned n = 0; n < count; n++) {
        if (!opcode)
            used += (size_t)sprintf(text + used, "%s%s%u", n ? ", " : "{", name, n);
        else if (*opcode == 'l')
            used += (size_t)sprintf(text + used, "ld.global.b32 %s%u, [%%d1+%u];\n", name, n,
                                    at + n * 4);
        else
            used += (size_t)sprintf(text + used, "st.global.b32 [%%d1+%u], %s%u;\n", at + n * 4,
                                    name, n);
    }
    return opcode ? used : used + (size_t)sprintf(text + used, "}");
}

/* A kernel of the memory (bytes of shared memory, and of each thread 4 words of a and 128 of d),
 * two descriptors, and whether d is added to. */
static const char begin_of_kernel[] =
    HEAD ".extern .shared .align 1024 .b8 s[];\n"
         ".entry k(.param .u64 p, .param .u64 a, .param .u64 b, .param .u32 scale)\n{\n"
         ".reg .b32 %r<9>, %a<4>, %i<128>; .reg .f32 %f<128>; .reg .b64 %d<9>; .reg .pred %q<5>;\n"
         "ld.param.u64 %d2, [p];\nld.param.u64 %d3, [a];\nld.param.u64 %d4, [b];\n"
         "ld.param.u32 %r1, [scale];\nsetp.ne.u32 %q1, %r1, 0;\nmov.u32 %r2, %tid.x;\n"
         "mov.u32 %r3, s;\nshr.u32 %r4, %r3, 4;\ncvt.u64.u32 %d5, %r4;\nadd.u64 %d3, %d3, %d5;\n"
         "add.u64 %d4, %d4, %d5;\nshl.b32 %r5, %r2, 2;\n"
         "L: cvt.u64.u32 %d6, %r5;\nadd.u64 %d6, %d6, %d2;\nld.global.b32 %r6, [%d6];\n"
         "add.u32 %r7, %r3, %r5;\nst.shared.b32 [%r7], %r6;\nadd.u32 %r5, %r5, 512;\n"
         "setp.lt.u32 %q2, %r5, 49152;\n@%q2 bra L;\nfence.proxy.async.shared::cta;\n"
         "bar.sync 0;\nmul.wide.u32 %d1, %r2, 528;\nadd.u64 %d1, %d1, %d2;\n"
         "add.u64 %d1, %d1, 49152;\n";

typedef struct product {
    const char *types; /* of d, a and b */
    const char *more;  /* behind them */
    unsigned n, k;
    const type *d_type, *a_type, *b_type;
    bool a_in_registers, a_transposed, b_transposed, a_negated, b_negated;
    const char *scale; /* NULL: a predicate */
    bool adds;
    bool sparse; /* b has twice the k: `places` says which of it a row of a is multiplied with */
    unsigned selector;
    unsigned char places[64][32];
    int a[64 * 256], b[256 * 256], c[64 * 256]; /* a[i * k + k], b[k * n + j] */
    double d[64 * 256];                         /* what should come out */
} product;

static bool is_half(const type *t) {
    return t->bits == 16;
}

static unsigned b_k(const product *p) {
    return p->k * (p->sparse ? 2 : 1);
}

static unsigned sum_registers(const product *p) {
    return p->n / 8 * (is_half(p->d_type) ? 2 : 4);
}

static const char *write_kernel(const product *p) {
    static char text[32768];
    const char *name = strcmp(p->d_type->name, "f32") == 0 ? "%f" : "%i";
    size_t used = (size_t)sprintf(text, "%s", begin_of_kernel);
    used = add_registers(text, used, "ld", "%a", 4, 0);
    used = add_registers(text, used, "ld", name, sum_registers(p), 16);
    used += (size_t)sprintf(text + used,
                            "ld.global.b32 %%r8, [%%d1+%u];\nwgmma.fence.sync.aligned;\n"
                            "wgmma.mma_async%s.sync.aligned.m64n%uk%u.%s%s ",
                            METADATA * 4, p->sparse ? ".sp" : "", p->n, b_k(p), p->types, p->more);
    used = add_registers(text, used, NULL, name, sum_registers(p), 0);
    used += (size_t)sprintf(text + used, ", ");
    if (p->a_in_registers)
        used = add_registers(text, used, NULL, "%a", 4, 0);
    else
        used += (size_t)sprintf(text + used, "%%d3");
    used += (size_t)sprintf(text + used, ", %%d4");
    if (p->sparse)
        used += (size_t)sprintf(text + used, ", %%r8, %u", p->selector);
    used += (size_t)sprintf(text + used, ", %s", p->scale ? p->scale : "%q1");
    if (p->a_type->exponent)
        used +=
            (size_t)sprintf(text + used, ", %d, %d", p->a_negated ? -1 : 1, p->b_negated ? -1 : 1);
    if (is_half(p->a_type) && !p->a_in_registers)
        used += (size_t)sprintf(text + used, ", %d", p->a_transposed);
    if (is_half(p->a_type))
        used += (size_t)sprintf(text + used, ", %d", p->b_transposed);
    used += (size_t)sprintf(
        text + used, ";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n");
    used = add_registers(text, used, "st", name, sum_registers(p), 16);
    sprintf(text + used, "ret;\n}\n");
    return text;
}

/* Runs a kernel; returns what its end says. */
static CUresult run_kernel(const char *text, unsigned threads, uint32_t *words, uint64_t a,
                           uint64_t b, uint32_t scale) {
    CUmodule module = load_text(text);
    CUfunction function = NULL;
    CUdeviceptr at;
    void *arguments[] = {&at, &a, &b, &scale};
    OK(cuModuleGetFunction(&function, module, "k"));
    OK(cuMemAlloc(&at, WORDS * sizeof *words));
    OK(cuMemcpyHtoD(at, words, WORDS * sizeof *words));
    OK(cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, IMAGE, NULL, arguments, NULL));
    CUresult result = cuCtxSynchronize();
    if (result)
        return result;
    OK(cuMemcpyDtoH(words, at, WORDS * sizeof *words));
    OK(cuMemFree(at));
    OK(cuModuleUnload(module));
    return CUDA_SUCCESS;
}

/* ---- matrices in shared memory, by the manual's canonical layouts ---- */

typedef struct layout {
    unsigned start, leading, stride; /* bytes */
    unsigned width;                  /* bytes that are swizzled: 16 (none), 32, 64, 128 */
    unsigned base;                   /* an atom begins in this line of eight */
    bool transposed;
} layout;

static unsigned below(unsigned count) {
    last_random = last_random * 1664525 + 1013904223;
    return (last_random >> 8) % count;
}

/* Chooses how a matrix of `rows` (or columns, of b) lies in 16 KiB, or of b in 32. A matrix that is
 * not transposed has so many bytes of k, 32 or 64, and may be a part of rows that are longer. */
static layout choose_layout(unsigned start, unsigned rows, bool transposed, unsigned bytes) {
    layout l = {.start = start, .width = 16u << below(4), .transposed = transposed};
    if (l.width > 16 && rows <= 128)
        l.base = below(2) * below(8);
    l.start += l.base * 128;
    unsigned atom = 8 * l.width; /* bytes */
    if (!transposed) {
        bool near = below(2);
        l.stride =
            l.width == 16 ? (near ? bytes * 8 : 128) : atom * (rows <= 128 ? 1 + below(2) : 1);
        l.leading = l.width == 16 ? (near ? 128 : rows * 16) : 16 * below(8);
        if (bytes > l.width &&
            l.width == 32) /* the other half of the rows lies behind all of them */
            l.leading = rows / 8 * l.stride;
        if (l.width == 64)
            l.start += 32 * below(bytes > 32 ? 1 : 2);
        if (l.width == 128)
            l.start += 32 * below(bytes > 32 ? 3 : 4);
        return l;
    }
    unsigned across = (rows * 2 + l.width - 1) / l.width; /* atoms */
    unsigned near = atom, far = atom * (bytes > 32 ? 4 : below(2) ? 2 : 2 + below(2));
    bool k_first = below(2); /* atoms with the next k lie nearer */
    if (!k_first)
        far = atom * across;
    unsigned k_apart = k_first ? near : far, rows_apart = k_first ? far : near;
    l.leading = l.width == 16 ? k_apart : rows_apart;
    l.stride = l.width == 16 ? rows_apart : k_apart;
    return l;
}

/* Returns where a byte of an atom is: 8 rows of `width` bytes, whose chunks change places. */
static unsigned in_atom(unsigned width, unsigned row, unsigned byte) {
    unsigned chunks = width / 16, line = row * width / 128;
    return row * width + ((byte / 16) ^ (line % chunks)) * 16 + byte % 16;
}

/* Returns where row n (or column, of b) has a byte of k; or, transposed, which has 8 elements of 16
 * bits, where the element of row n with k is. */
static unsigned place_of(const layout *l, unsigned n, unsigned k, unsigned bits) {
    if (l->transposed) {
        unsigned byte = n * 2, rows = byte / l->width, deep = k / 8,
                 rows_apart = l->width == 16 ? l->stride : l->leading,
                 k_apart = l->width == 16 ? l->leading : l->stride;
        return l->start + rows * rows_apart + deep * k_apart +
               in_atom(l->width, k % 8, byte % l->width);
    }
    unsigned byte = k * bits / 8;
    if (l->width == 16)
        return l->start + n / 8 * l->stride + byte / 16 * l->leading + n % 8 * 16 + byte % 16;
    if (l->width == 32 && byte >= 32) {
        const layout behind = {.start = l->start + l->leading, .stride = l->stride, .width = 32};
        return place_of(&behind, n, k - 32 * 8 / bits, bits);
    }
    unsigned at = l->start % 128 + byte; /* in a row of the atom */
    return l->start / 128 * 128 + n / 8 * l->stride + in_atom(l->width, n % 8, at);
}

static uint64_t descriptor_of(const layout *l) {
    static const uint64_t codes[] = {0, 3, 2, 1};
    uint64_t code = codes[__builtin_ctz(l->width) - 4];
    return l->start >> 4 | (uint64_t)(l->leading >> 4) << 16 | (uint64_t)(l->stride >> 4) << 32 |
           (uint64_t)l->base << 49 | code << 62;
}

static void put_element(uint32_t *image, unsigned byte, unsigned k, const type *t, int value) {
    uint64_t bits = encode(t, value);
    if (t->bits == 1)
        ((uint8_t *)image)[byte] |= (uint8_t)(bits << k % 8);
    else
        memcpy((char *)image + byte, &bits, t->bits / 8);
}

/* ---- products ---- */

static void read_types(product *p, const char *names) {
    char of[3][8];
    assert_int_equal(sscanf(names, "%7[^.].%7[^.].%7s", of[0], of[1], of[2]), 3);
    p->types = names;
    p->d_type = type_of(of[0]);
    p->a_type = type_of(of[1]);
    p->b_type = type_of(of[2]);
    p->k = 256 / p->a_type->bits;
    p->sparse = false;
}

static void make(product *p) {
    bool saturates = strcmp(p->more, ".satfinite") == 0;
    for (unsigned n = 0; n < 64 * p->k; n++)
        p->a[n] = random_of(p->a_type);
    for (unsigned n = 0; n < p->n * b_k(p); n++)
        p->b[n] = random_of(p->b_type);
    for (unsigned n = 0; n < 64 * p->n; n++) {
        const int *a = p->a + (size_t)(n / p->n) * p->k, *b = p->b + n % p->n;
        int64_t sum = 0;
        for (unsigned k = 0; k < p->k; k++)
            sum += a[k] * b[(p->sparse ? p->places[n / p->n][k] : k) * p->n];
        sum = p->a_negated != p->b_negated ? -sum : sum;
        p->c[n] = saturates ? n % 2 ? INT32_MAX - 100 : INT32_MIN + 100 : random_of(p->d_type);
        sum += p->adds ? p->c[n] : 0;
        sum = saturates && sum > INT32_MAX   ? INT32_MAX
              : saturates && sum < INT32_MIN ? INT32_MIN
                                             : sum;
        p->d[n] = (double)sum;
    }
}

/* Chooses two of each four elements for each row, or one of two of tf32, and puts the metadata
 * where the manual's figures have them. */
static void choose_places(product *p, uint32_t *words) {
    static const unsigned two_of_four[] = {0x4, 0x8, 0x9, 0xc, 0xd, 0xe,
                                           0x1, 0x2, 0x3, 0x6, 0x7, 0xb};
    bool is_tf32 = p->a_type->bits == 32, narrow = p->a_type->bits == 8;
    unsigned groups = is_tf32 ? p->k : p->k / 2;
    for (unsigned n = 0; n < 64 * groups; n++) {
        unsigned row = n / groups, g = n % groups,
                 bits = is_tf32 ? (below(2) ? 0xe : 0x4) : two_of_four[below(12)];
        unsigned lane = row % 8 * 4 + (narrow ? row / 8 % 2 + g / 8 * 2 : p->selector * 2 + g / 4),
                 shift = narrow ? g % 8 * 4 : g % 4 * 4 + row / 8 % 2 * 16;
        words[IMAGE / 4 + (row / 16 * 32 + lane) * LANE_WORDS + METADATA] |= bits << shift;
        if (is_tf32) {
            p->places[row][g] = (unsigned char)(g * 2 + (bits == 0xe));
            continue;
        }
        p->places[row][g * 2] = (unsigned char)(g * 4 + (bits & 3));
        p->places[row][g * 2 + 1] = (unsigned char)(g * 4 + (bits >> 2));
    }
}

/* Puts a and b where the descriptors say, and where registers have them. */
static void put_factors(const product *p, const layout *a, const layout *b, uint32_t *words) {
    for (unsigned n = 0; n < 64 * p->k; n++) {
        unsigned i = n / p->k, k = n % p->k, bits = p->a_type->bits, each = 32 / bits;
        if (!p->a_in_registers) {
            put_element(words, place_of(a, i, k, bits), k, p->a_type, p->a[n]);
            continue;
        }
        unsigned lane = i % 8 * 4 + k / each % 4, at = i / 8 % 2 + k / each / 4 * 2;
        uint32_t *word = words + IMAGE / 4 + (size_t)(i / 16 * 32 + lane) * LANE_WORDS + at;
        put_bits(word, k % each, bits, encode(p->a_type, p->a[n]));
    }
    for (unsigned n = 0; n < p->n * b_k(p); n++) {
        unsigned k = n / p->n, j = n % p->n;
        put_element(words, place_of(b, j, k, p->b_type->bits), k, p->b_type, p->b[n]);
    }
}

/* Returns the word of a thread that has an element of d, and its place in it. */
static uint32_t *sum_at(const product *p, uint32_t *words, unsigned i, unsigned j, unsigned *at) {
    unsigned thread = i / 16 * 32 + i % 8 * 4 + j % 8 / 2,
             number = j / 8 * 4 + i / 8 % 2 * 2 + j % 2;
    uint32_t *own = words + IMAGE / 4 + (size_t)thread * LANE_WORDS + 4;
    *at = is_half(p->d_type) ? number % 2 : 0;
    return own + (is_half(p->d_type) ? number / 2 : number);
}

static void check_product(product *p) {
    static uint32_t words[WORDS];
    memset(words, 0, sizeof words);
    layout a = choose_layout(0, 64, p->a_transposed, 32),
           b = choose_layout(AT_B, p->n, p->b_transposed, p->sparse ? 64 : 32);
    if (p->sparse)
        choose_places(p, words);
    make(p);
    put_factors(p, &a, &b, words);
    for (unsigned n = 0; n < 64 * p->n; n++) {
        unsigned at;
        uint32_t *word = sum_at(p, words, n / p->n, n % p->n, &at);
        put_bits(word, at, p->d_type->bits, encode(p->d_type, p->c[n]));
    }
    OK(run_kernel(write_kernel(p), THREADS, words, descriptor_of(&a), descriptor_of(&b), p->adds));
    for (unsigned n = 0; n < 64 * p->n; n++) {
        unsigned at;
        uint32_t *word = sum_at(p, words, n / p->n, n % p->n, &at);
        uint64_t bits = *word >> at * 16 & (is_half(p->d_type) ? 0xffff : UINT32_MAX);
        double is = decode(p->d_type, bits);
        if (is != p->d[n])
            print_error("%sm64n%uk%u.%s%s: (%u, %u) is %g instead of %g; a: %u at %u, %u, %u%s%s; "
                        "b: %u at %u, %u, %u%s\n",
                        p->sparse ? "sp." : "", p->n, b_k(p), p->types, p->more, n / p->n, n % p->n,
                        is, p->d[n], a.width, a.start, a.leading, a.stride,
                        a.transposed ? ", transposed" : "",
                        p->a_in_registers ? ", in registers" : "", b.width, b.start, b.leading,
                        b.stride, b.transposed ? ", transposed" : "");
        assert_true(is == p->d[n]);
    }
}

static product p; /* too large for the stack */

/* Checks a product of n columns; what else it has is random. */
static void check_types(const char *names, const char *more, unsigned n, bool sparse) {
    read_types(&p, names);
    if (p.d_type->bits == 32 && !p.d_type->exponent && n % 16 && n != 8 && n != 24)
        return;
    bool scales = p.a_type->exponent, half = is_half(p.a_type);
    p.more = more;
    p.n = n;
    p.sparse = sparse;
    p.selector = sparse && p.a_type->bits > 8 ? below(2) : 0;
    p.a_in_registers = below(2);
    p.a_transposed = half && !p.a_in_registers && below(2);
    p.b_transposed = half && below(2);
    p.a_negated = scales && below(2);
    p.b_negated = scales && below(2);
    p.adds = below(4);
    p.scale = below(4) ? NULL : p.adds ? "1" : "0";
    check_product(&p);
}

TEST(products_of_all_types_and_shapes) {
    static const char *const all[][2] = {
        {"f32.f16.f16", ""},         {"f16.f16.f16", ""},        {"f32.bf16.bf16", ""},
        {"f32.tf32.tf32", ""},       {"f32.e4m3.e4m3", ""},      {"f32.e4m3.e5m2", ""},
        {"f32.e5m2.e4m3", ""},       {"f32.e5m2.e5m2", ""},      {"f16.e5m2.e5m2", ""},
        {"f16.e5m2.e4m3", ""},       {"s32.s8.s8", ""},          {"s32.s8.u8", ""},
        {"s32.u8.s8", ""},           {"s32.u8.u8", ""},          {"s32.s8.s8", ".satfinite"},
        {"s32.u8.u8", ".satfinite"}, {"s32.b1.b1", ".and.popc"},
    };
    for (unsigned n = 8; n <= 256; n += 8)
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            check_types(all[i][0], all[i][1], n, false);
}

TEST(sparse_products_of_all_types) {
    static const char *const all[][2] = {
        {"f32.f16.f16", ""},   {"f16.f16.f16", ""},         {"f32.bf16.bf16", ""},
        {"f32.tf32.tf32", ""}, {"f32.e4m3.e5m2", ""},       {"f16.e5m2.e4m3", ""},
        {"s32.s8.u8", ""},     {"s32.u8.u8", ".satfinite"},
    };
    for (unsigned n = 8; n <= 248; n += 8)
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            check_types(all[i][0], all[i][1], n, true);
}

/* ---- what sums keep ---- */

/* Returns the bits of the sum of c and the products of a and b, whose k elements are the same for
 * all rows and columns. */
static uint32_t sum_of(const char *names, const uint64_t *a, const uint64_t *b, uint32_t c) {
    static uint32_t words[WORDS];
    layout l = {.leading = 128, .stride = 256, .width = 16};
    memset(words, 0, sizeof words);
    read_types(&p, names);
    p.more = "";
    p.n = 8;
    p.a_in_registers = p.a_transposed = p.b_transposed = p.a_negated = p.b_negated = false;
    p.scale = NULL;
    for (unsigned i = 0; i < 64; i++)
        for (unsigned k = 0; k < p.k; k++) {
            memcpy((char *)words + place_of(&l, i, k, p.a_type->bits), &a[k], p.a_type->bits / 8);
            if (i < 8)
                memcpy((char *)words + AT_B + place_of(&l, i, k, p.b_type->bits), &b[k],
                       p.b_type->bits / 8);
        }
    for (unsigned n = 0; n < THREADS; n++)
        for (unsigned i = 0; i < 4; i++)
            words[IMAGE / 4 + n * LANE_WORDS + 4 + i] = c;
    layout second = l;
    second.start = AT_B;
    OK(run_kernel(write_kernel(&p), THREADS, words, descriptor_of(&l), descriptor_of(&second), 1));
    for (unsigned n = 0; n < THREADS; n++)
        assert_int_equal(words[IMAGE / 4 + n * LANE_WORDS + 4], words[IMAGE / 4 + 4]);
    return words[IMAGE / 4 + 4];
}

/* As is published: sums of fp8 keep 13 bits below the largest exponent and have 13 bits of
 * fraction, all others keep 25 bits. */
TEST(what_sums_keep) {
    enum { F16_ONE = 0x3c00, E4M3_ONE = 0x38, F32_2_TO_25 = 0x4c000000, F32_2_TO_14 = 0x46800000 };
    const uint64_t two_ones[32] = {F16_ONE, F16_ONE}, ones[32] = {F16_ONE, F16_ONE},
                   fp8_ones[32] = {E4M3_ONE, E4M3_ONE}, no[32] = {0};
    assert_int_equal(sum_of("f32.f16.f16", two_ones, ones, F32_2_TO_25), F32_2_TO_25 + 0);
    assert_int_equal(sum_of("f32.f16.f16", (const uint64_t[32]){0x4000, 0x4000}, ones, F32_2_TO_25),
                     F32_2_TO_25 + 1);
    /* 2^14 and twice 1: below 2^(14 - 13). */
    assert_int_equal(sum_of("f32.e4m3.e4m3", fp8_ones, fp8_ones, F32_2_TO_14), F32_2_TO_14);
    assert_int_equal(sum_of("f32.e4m3.e4m3", fp8_ones, fp8_ones, F32_2_TO_14 - 0x800000),
                     F32_2_TO_14 - 0x800000 + 0x800);
    /* The fraction of c is cut off at 13 bits. */
    assert_int_equal(sum_of("f32.e4m3.e4m3", no, no, 0x3f8007ff), 0x3f800400);
    assert_int_equal(sum_of("f32.f16.f16", no, no, 0x3f8007ff), 0x3f8007ff);
}

/* ---- faults ---- */

/* The kernel of a product of 64 x 8 x 16. */
static const char *small_kernel(void) {
    read_types(&p, "f32.f16.f16");
    p.more = "";
    p.n = 8;
    p.a_in_registers = p.a_transposed = p.b_transposed = p.a_negated = p.b_negated = false;
    p.scale = NULL;
    return write_kernel(&p);
}

static void check_fault(const char *text, unsigned threads, uint64_t a, uint64_t b, int code) {
    static uint32_t words[WORDS];
    SAYS((CUresult)code, run_kernel(text, threads, words, a, b, 1));
    acu_sim_reset(MACHINE);
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
}

/* Replaces a part of the text. */
static const char *with(const char *text, const char *part, const char *instead) {
    static char changed[32768];
    const char *at = strstr(text, part);
    assert_non_null(at);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, instead,
             at + strlen(part));
    return changed;
}

TEST(products_that_fail) {
    const char *text = small_kernel();
    const uint64_t good = UINT64_C(8) << 16 | UINT64_C(16) << 32;
    check_fault(text, 128, good | 49152 >> 4, good, 700);
    check_fault(text, 128, good, UINT64_C(0x3fff) << 16 | good, 700);
    check_fault(text, 128, good, good | UINT64_C(1) << 52, 801); /* what is no field */
    check_fault(text, 96, good, good, 719);                      /* three warps */
    check_fault(text, 120, good, good, 719);                     /* a warp of 24 threads */
    const char *apart = "setp.gt.u32 %q3, %r2, 95;\n@%q3 ret;\nwgmma.fence.sync.aligned;\n";
    check_fault(with(text, "wgmma.fence.sync.aligned;\n", apart), 128, good, good, 702);
    apart = "setp.gt.u32 %q3, %r2, 95;\n@%q3 add.u64 %d4, %d4, 8;\nwgmma.fence.sync.aligned;\n";
    check_fault(with(text, "wgmma.fence.sync.aligned;\n", apart), 128, good, good, 719);
    /* A product for each half of the group. */
    static char twice[32768];
    const char *first = strstr(text, "wgmma.mma_async"), *end = strstr(first, "\n") + 1;
    snprintf(twice, sizeof twice,
             "%.*ssetp.gt.u32 %%q3, %%r2, 63;\n@%%q3 bra B;\n%.*sbra C;\nB:\n%.*sC:\n%s",
             (int)(first - text), text, (int)(end - first), first, (int)(end - first), first, end);
    check_fault(twice, 128, good, good, 719);
}

/* The kernel of a sparse product of 64 x 8 x 32. */
static const char *small_sparse_kernel(void) {
    small_kernel();
    p.sparse = true;
    p.selector = 1;
    return write_kernel(&p);
}

/* Metadata that name an element twice are a fault, and a selector of lanes that are not there, or
 * none, is refused. */
TEST(sparse_products_that_fail) {
    const uint64_t good = UINT64_C(8) << 16 | UINT64_C(32) << 32;
    check_fault(small_sparse_kernel(), 128, good, good, 0); /* an H200 takes any metadata */
    const char *right = with(small_sparse_kernel(), "wgmma.fence.sync.aligned;\n",
                             "mov.u32 %r8, 0x44444444;\nwgmma.fence.sync.aligned;\n");
    check_fault(right, 128, good, good, 0);
    CUmodule module = NULL;
    SAYS(CUDA_ERROR_INVALID_PTX,
         cuModuleLoadData(&module, with(small_sparse_kernel(), "%r8, 1,", "%r8, 2,")));
    SAYS(CUDA_ERROR_INVALID_PTX,
         cuModuleLoadData(&module, with(small_sparse_kernel(), "%r8, 1,", "%r8, %r7,")));
}

/* The first product of a kernel needs a fence, and so does what threads write to shared memory
 * before it: the checks miss them. Each of four warps reads rows of a, and b is read once. */
TEST(a_fence_is_missing) {
    static uint32_t words[WORDS];
    const uint64_t good = UINT64_C(8) << 16 | UINT64_C(16) << 32;
    acu_sim_reset(MACHINE ",check=all");
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    unsigned long long before = acu_sim_findings(NULL);
    OK(run_kernel(small_kernel(), THREADS, words, good, good, 1));
    assert_int_equal(acu_sim_findings(NULL), before);
    OK(run_kernel(with(small_kernel(), "wgmma.fence.sync.aligned;\n", ""), THREADS, words, good,
                  good, 1));
    assert_int_equal(acu_sim_findings("sync"), before + 4);
    assert_int_equal(acu_sim_findings(NULL), before + 4);
    OK(run_kernel(with(small_kernel(), "fence.proxy.async.shared::cta;\n", ""), THREADS, words,
                  good, good, 1));
    assert_int_equal(acu_sim_findings("race"), 5);
    assert_int_equal(acu_sim_findings(NULL), before + 9);
}

/* ---- what ptxas refuses, and what is not simulated ---- */

TEST(products_that_are_refused) {
    static const struct {
        const char *part, *instead;
        int code;
    } rows[] = {
        {"m64n8k16", "m64n12k16", 218},
        {"m64n8k16", "m64n264k16", 218},
        {"m64n8k16", "m64n8k8", 218},
        {"f32.f16.f16", "f16.bf16.bf16", 218},
        {"f32.f16.f16", "f32.f16.bf16", 218},
        {"m64n8k16.f32.f16.f16", "m64n40k32.s32.s8.s8", 218},
        {"%q1, 1, 1", "%q1, 2, 1", 218},
        {"%q1, 1, 1, 0, 0", "%q1, 1, 1, 0, 2", 218},
        {"%q1, 1, 1, 0, 0", "%q1, 1, 1, 0", 218},
        {"%f2, %f3}", "%f2}", 218},
        {"mma_async.sync", "mma_async.sp.sync", 218}, /* k is twice as large */
        {"mma_async.sync.aligned.m64n8k16", "mma_async.sp.sync.aligned.m64n8k32",
         218}, /* no metadata */
    };
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        CUmodule module = NULL;
        CUfunction function = NULL;
        uint64_t nothing = 0;
        void *arguments[] = {&nothing, &nothing, &nothing, &nothing};
        CUresult result =
            cuModuleLoadData(&module, with(small_kernel(), rows[n].part, rows[n].instead));
        if (!result)
            result = cuModuleGetFunction(&function, module, "k");
        if (!result)
            result = cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, IMAGE, NULL, arguments, NULL);
        SAYS((CUresult)rows[n].code, result);
        if (module)
            OK(cuModuleUnload(module));
    }
}

/* Warps of a group take registers from others. */
TEST(registers_are_handed_over) {
    static uint32_t words[WORDS];
    OK(run_kernel(with(small_kernel(), "wgmma.fence.sync.aligned;\n",
                       "setmaxnreg.dec.sync.aligned.u32 24;\nsetmaxnreg.inc.sync.aligned.u32 240;\n"
                       "wgmma.fence.sync.aligned;\n"),
                  THREADS, words, 0, 0, 1));
    assert_int_equal(words[IMAGE / 4 + 4], 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        C(products_of_all_types_and_shapes),
        C(sparse_products_of_all_types),
        C(what_sums_keep),
        C(products_that_fail),
        C(sparse_products_that_fail),
        C(a_fence_is_missing),
        C(products_that_are_refused),
        C(registers_are_handed_over),
    };
    return RUN(tests);
}
