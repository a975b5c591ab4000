/* Products of matrices of which one is sparse: mma.sp. */
#include "matrix_test.h"

enum { M = 16, N = 8, MOST_K = 128, LANE_WORDS = 20, AT_B = 4, AT_C = 8, AT_E = 12, AT_D = 16 };

typedef struct product {
    const char *types; /* of d, a, b and c */
    unsigned k, selector;
    bool ordered, saturates;
    const type *a_type, *b_type, *d_type;
    int a[M * MOST_K], b[MOST_K * N], c[M * N]; /* a with its zeros */
    int stored[M * MOST_K / 2];
    unsigned metadata[M][MOST_K / 4]; /* 4 bits each */
    double d[M * N];
} product;

static product p;

static unsigned below(unsigned count) {
    last_random = last_random * 1664525 + 1013904223;
    return (last_random >> 8) % count;
}

static bool is_half(const type *t) {
    return t->bits == 16;
}

static bool is_fp8(const type *t) {
    return t->bits == 8 && t->exponent;
}

/* ---- kernels ---- */

static size_t add_list(char *text, size_t used, char name, unsigned first, unsigned count) {
    for (unsigned n = 0; n < count; n++)
        used += (size_t)sprintf(text + used, "%s%%%c%u", n ? ", " : "{", name, first + n);
    return used + (size_t)sprintf(text + used, "}, ");
}

static const char *write_kernel(void) {
    static char text[8192];
    char sum = strcmp(p.d_type->name, "f32") == 0 ? 'f' : 'r';
    unsigned sums = is_half(p.d_type) ? 2 : 4, a = M * p.k / 2 * p.a_type->bits / 1024,
             b = p.k * N * p.b_type->bits / 1024;
    size_t used = (size_t)sprintf(
        text,
        ".version 8.7\n.target %s\n.address_size 64\n.entry k(.param .u64 p) {\n"
        ".reg .b32 %%r<32>; .reg .f32 %%f<32>; .reg .b64 %%d<4>;\nld.param.u64 %%d2, [p];\n"
        "mov.u32 %%r31, %%tid.x;\nmul.wide.u32 %%d1, %%r31, 80;\nadd.u64 %%d1, %%d1, %%d2;\n"
        "ld.global.b32 %%r30, [%%d1+48];\n",
        is_fp8(p.a_type) ? "sm_89" : "sm_80");
    for (unsigned n = 0; n < 12; n++)
        used += (size_t)sprintf(text + used, "ld.global.b32 %%%c%u, [%%d1+%u];\n",
                                n < AT_C ? 'r' : sum, n, n * 4);
    used += (size_t)sprintf(text + used, "mma.sp%s.sync.aligned.m16n8k%u.row.col%s.%s ",
                            p.ordered ? "::ordered_metadata" : "", p.k,
                            p.saturates ? ".satfinite" : "", p.types);
    used = add_list(text, used, sum, AT_D, sums);
    used = add_list(text, used, 'r', 0, a);
    used = add_list(text, used, 'r', AT_B, b);
    used = add_list(text, used, sum, AT_C, sums);
    used += (size_t)sprintf(text + used, "%%r30, %u;\n", p.selector);
    for (unsigned n = AT_D; n < AT_D + sums; n++)
        used += (size_t)sprintf(text + used, "st.global.b32 [%%d1+%u], %%%c%u;\n", n * 4, sum, n);
    sprintf(text + used, "ret;\n}\n");
    return text;
}

static CUresult run_kernel(const char *text, uint32_t *words) {
    CUmodule module = load_text(text);
    CUfunction function = NULL;
    CUdeviceptr at;
    void *arguments[] = {&at};
    size_t bytes = 32 * LANE_WORDS * sizeof *words;
    OK(cuModuleGetFunction(&function, module, "k"));
    OK(cuMemAlloc(&at, bytes));
    OK(cuMemcpyHtoD(at, words, bytes));
    OK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL));
    CUresult result = cuCtxSynchronize();
    if (result)
        return result;
    OK(cuMemcpyDtoH(words, at, bytes));
    OK(cuMemFree(at));
    OK(cuModuleUnload(module));
    return CUDA_SUCCESS;
}

/* ---- what should come out ---- */

static void read_types(const char *names) {
    char of[4][8];
    assert_int_equal(sscanf(names, "%7[^.].%7[^.].%7[^.].%7s", of[0], of[1], of[2], of[3]), 4);
    p.types = names;
    p.d_type = type_of(of[0]);
    p.a_type = type_of(of[1]);
    p.b_type = type_of(of[2]);
}

/* Chooses two of four units, perhaps one twice, in any order, as an H200 takes them; of tf32 the
 * upper half of an element and a lower one, which is 0. */
static unsigned choose(void) {
    if (p.a_type->bits == 32)
        return below(2) * 2 | (below(2) * 2 + 1) << 2;
    return below(16);
}

/* Fills in a row's group of four units, of which two are stored. */
static void make_group(unsigned row, unsigned group) {
    unsigned bits = p.metadata[row][group] = choose(), each = p.a_type->bits == 4 ? 2 : 1;
    if (p.a_type->bits == 32) {
        int value = p.stored[row * (p.k / 2) + group] = random_of(p.a_type);
        p.a[row * p.k + group * 2 + (bits >> 3)] = value;
        return;
    }
    for (unsigned n = 0; n < 2 * each; n++) {
        unsigned unit = group * 4 + (n / each ? bits >> 2 : bits & 3);
        int value = p.stored[row * (p.k / 2) + group * 2 * each + n] = random_of(p.a_type);
        p.a[row * p.k + unit * each + n % each] += value;
    }
}

static void make(void) {
    unsigned groups = p.k / (p.a_type->bits == 32 ? 2 : p.a_type->bits == 4 ? 8 : 4);
    memset(p.a, 0, sizeof p.a);
    for (unsigned row = 0; row < M; row++)
        for (unsigned group = 0; group < groups; group++)
            make_group(row, group);
    for (unsigned n = 0; n < p.k * N; n++)
        p.b[n] = random_of(p.b_type);
    for (unsigned n = 0; n < M * N; n++) {
        int64_t sum = 0;
        for (unsigned k = 0; k < p.k; k++)
            sum += (int64_t)p.a[n / N * p.k + k] * p.b[k * N + n % N];
        p.c[n] = p.saturates ? n % 2 ? INT32_MAX - 100 : INT32_MIN + 100 : random_of(p.d_type);
        sum += p.c[n];
        sum = p.saturates && sum > INT32_MAX   ? INT32_MAX
              : p.saturates && sum < INT32_MIN ? INT32_MIN
                                               : sum;
        p.d[n] = (double)sum;
    }
}

/* Puts the metadata of a row's groups where the manual has them: lanes that share the g-th row have
 * those of row g and of row g + 8, each 16 bits, or, of narrow elements, 32 bits in turns. */
static void put_metadata(uint32_t *words) {
    bool narrow = p.a_type->bits < 16;
    unsigned stored = p.k / 2 * p.a_type->bits / 8, lanes = stored / 16 * (narrow ? 2 : 1),
             groups = stored / (narrow ? 2 : 4);
    for (unsigned row = 0; row < M; row++)
        for (unsigned group = 0; group < groups; group++) {
            unsigned lane = row % 8 * 4 + p.selector * lanes, shift = group % 8 * 4;
            if (narrow)
                lane += (row >= 8) + 2 * (group / 8);
            else
                lane += group / 4, shift = group % 4 * 4 + (row >= 8 ? 16 : 0);
            words[lane * LANE_WORDS + AT_E] |= p.metadata[row][group] << shift;
        }
}

static void spread(uint32_t *words) {
    unsigned each = 32 / p.a_type->bits, stored = p.k / 2;
    for (unsigned n = 0; n < M * stored; n++) {
        unsigned row = n / stored, k = n % stored, lane = row % 8 * 4 + k / each % 4;
        put_bits(words + (size_t)lane * LANE_WORDS + row / 8 + k / each / 4 * 2, k % each,
                 p.a_type->bits, encode(p.a_type, p.stored[n]));
    }
    for (unsigned n = 0; n < p.k * N; n++) {
        unsigned k = n / N, lane = n % N * 4 + k / each % 4;
        put_bits(words + (size_t)lane * LANE_WORDS + AT_B + k / each / 4, k % each, p.b_type->bits,
                 encode(p.b_type, p.b[n]));
    }
    put_metadata(words);
}

/* Returns the word with an element of c or d. */
static uint32_t *sum_at(uint32_t *words, unsigned at, unsigned n, unsigned *part) {
    unsigned row = n / N, column = n % N, lane = row % 8 * 4 + column / 2;
    *part = is_half(p.d_type) ? column % 2 : 0;
    return words + (size_t)lane * LANE_WORDS + at +
           (is_half(p.d_type) ? row / 8 : row / 8 * 2 + column % 2);
}

static void check_product(void) {
    uint32_t words[32 * LANE_WORDS] = {0};
    unsigned part;
    make();
    spread(words);
    for (unsigned n = 0; n < M * N; n++) {
        uint32_t *word = sum_at(words, AT_C, n, &part);
        put_bits(word, part, p.d_type->bits, encode(p.d_type, p.c[n]));
    }
    OK(run_kernel(write_kernel(), words));
    for (unsigned n = 0; n < M * N; n++) {
        uint32_t word = *sum_at(words, AT_D, n, &part);
        double is = decode(p.d_type, is_half(p.d_type) ? word >> part * 16 & 0xffff : word);
        if (is != p.d[n])
            print_error("k%u.%s, selector %u: (%u, %u) is %g instead of %g\n", p.k, p.types,
                        p.selector, n / N, n % N, is, p.d[n]);
        assert_true(is == p.d[n]);
    }
}

/* ---- tests ---- */

/* Begins with a device of another compute capability. */
static void begin_on(const char *capability) {
    char machine[80];
    snprintf(machine, sizeof machine, "devices=1,memory=1GiB,cc=%s", capability);
    acu_sim_reset(machine);
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
}

/* All shapes; `lanes` of four have the metadata of a row, or of a row and its eighth next. */
static const struct {
    unsigned k, lanes;
    const char *types;
} rows[] = {
    {16, 1, "f32.f16.f16.f32"},  {32, 2, "f32.f16.f16.f32"},   {16, 1, "f16.f16.f16.f16"},
    {32, 2, "f16.f16.f16.f16"},  {16, 1, "f32.bf16.bf16.f32"}, {32, 2, "f32.bf16.bf16.f32"},
    {8, 1, "f32.tf32.tf32.f32"}, {16, 2, "f32.tf32.tf32.f32"}, {32, 2, "s32.s8.s8.s32"},
    {64, 4, "s32.u8.s8.s32"},    {64, 4, "s32.s8.u8.s32"},     {64, 2, "s32.s4.u4.s32"},
    {128, 4, "s32.u4.s4.s32"},   {128, 4, "s32.u4.u4.s32"},    {64, 4, "f32.e4m3.e5m2.f32"},
};

static void check_all(bool fp8) {
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        read_types(rows[n].types);
        if (is_fp8(p.a_type) && !fp8)
            continue;
        p.k = rows[n].k;
        for (unsigned round = 0; round < 24; round++) {
            p.selector = round % (4 / rows[n].lanes);
            p.ordered = round / 4 % 2;
            p.saturates = !p.a_type->exponent && round / 8 % 2;
            check_product();
        }
    }
}

TEST(products_of_all_shapes) {
    check_all(true);
}

TEST(products_on_older_devices) {
    begin_on("8.0");
    check_all(false);
    begin_on("8.9");
    check_all(true);
}

/* A product of 16 x 8 x 16 of f16, whose elements are all 1. */
static void make_ones(uint32_t *words) {
    read_types("f32.f16.f16.f32");
    p.k = 16;
    p.selector = 0;
    p.ordered = p.saturates = false;
    make();
    for (unsigned n = 0; n < M * p.k / 2; n++)
        p.stored[n] = 1;
    for (unsigned n = 0; n < p.k * N; n++)
        p.b[n] = 1;
    spread(words);
}

/* Elements of b that a does not select do not matter. */
TEST(infinities_that_nobody_selects) {
    uint32_t words[32 * LANE_WORDS] = {0};
    make_ones(words);
    for (unsigned lane = 0; lane < 32; lane++) {
        words[lane * LANE_WORDS + AT_E] = 0x44444444; /* the first two of four */
        for (unsigned n = 0; n < 2; n++)
            words[lane * LANE_WORDS + AT_B + n] = lane % 2 ? 0x7c007c00 : 0x3c003c00;
    }
    OK(run_kernel(write_kernel(), words));
    for (unsigned lane = 0; lane < 32; lane++)
        assert_int_equal(words[lane * LANE_WORDS + AT_D], 0x41000000); /* 8 */
}

/* A product of tf32 takes each half of an element of b from where the metadata say, as an H200
 * does. Here b is 1.5, whose upper half is 0x3fc0 and whose lower one is 0. */
TEST(halves_of_elements) {
    static const struct {
        uint32_t metadata, sum;
    } cases[] = {
        {0x44444444, 0x40c00000}, /* four times 1.5 */
        {0x66666666, 0x40c00000}, /* the lower half of the other element is 0, too */
        {0x00000000, 0},          /* both halves are the lower one */
        {0x55555555, 0x40c02000}, /* both are the upper one, of which 3 bits count below */
        {0xdddddddd, 0x40c02000},
    };
    read_types("f32.tf32.tf32.f32");
    p.k = 8;
    p.selector = 0;
    p.ordered = p.saturates = false;
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        uint32_t words[32 * LANE_WORDS] = {0};
        for (unsigned lane = 0; lane < 32; lane++) {
            uint32_t *word = words + (size_t)lane * LANE_WORDS;
            word[0] = word[1] = 0x3f800000;
            word[AT_B] = word[AT_B + 1] = 0x3fc00000;
            word[AT_E] = cases[n].metadata;
        }
        OK(run_kernel(write_kernel(), words));
        for (unsigned lane = 0; lane < 32; lane++)
            assert_int_equal(words[lane * LANE_WORDS + AT_D], cases[n].sum);
    }
}

TEST(products_that_are_refused) {
    static const struct {
        const char *types;
        unsigned k, selector;
        int code;
    } cases[] = {
        {"f32.f16.f16.f32", 16, 4, 218},   {"f32.f16.f16.f32", 32, 2, 801},
        {"f32.f16.f16.f32", 8, 0, 218},    {"f32.f16.bf16.f32", 16, 0, 218},
        {"f32.e4m3.e4m3.f32", 32, 0, 218}, {"f16.e4m3.e4m3.f16", 64, 0, 218},
        {"s32.s8.s8.s32", 64, 1, 218},
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        CUmodule module = NULL;
        CUfunction function = NULL;
        uint64_t nothing = 0;
        void *arguments[] = {&nothing};
        read_types(cases[n].types);
        p.k = cases[n].k;
        p.selector = cases[n].selector;
        p.ordered = p.saturates = false;
        CUresult result = cuModuleLoadData(&module, write_kernel());
        if (!result)
            result = cuModuleGetFunction(&function, module, "k");
        if (!result)
            result = cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL);
        SAYS((CUresult)cases[n].code, result);
        if (module)
            OK(cuModuleUnload(module));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        C(products_of_all_shapes), C(products_on_older_devices), C(infinities_that_nobody_selects),
        C(halves_of_elements),     C(products_that_are_refused),
    };
    return RUN(tests);
}
