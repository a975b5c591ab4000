/* Products of matrices by a warp: mma, wmma, and how matrices come from memory and back. */
#include "matrix_test.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define HEAD ".version 8.7\n.target sm_90\n.address_size 64\n"

static const char *target = "90"; /* of the device; texts are for it */

/* Loads a text whose .target is that of HEAD. */
static CUresult load_for_target(CUmodule *module, const char *text) {
    char *copy = strdup(text);
    assert_non_null(copy);
    char *number = strstr(copy, "sm_90") + 3;
    number[0] = target[0];
    number[1] = target[1];
    const CUresult result = cuModuleLoadData(module, copy);
    free(copy);
    return result;
}

/* Runs the kernel "k" of one pointer with a warp, to words that are in memory before and are read
 * back after. */
static void run(const char *text, uint32_t *words, size_t count) {
    CUmodule module = NULL;
    CUfunction function = NULL;
    CUdeviceptr at;
    void *args[] = {&at};
    OK(load_for_target(&module, text));
    OK(cuModuleGetFunction(&function, module, "k"));
    OK(cuMemAlloc(&at, count * sizeof *words));
    OK(cuMemcpyHtoD(at, words, count * sizeof *words));
    OK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(words, at, count * sizeof *words));
    OK(cuMemFree(at));
    OK(cuModuleUnload(module));
}

/* Begins with a device of another compute capability. */
static void begin_on(const char *capability) {
    char machine[80];
    snprintf(machine, sizeof machine, "devices=1,memory=1GiB,cc=%s", capability);
    acu_sim_reset(machine);
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
}

/* ---- matrices ---- */

enum { MOST = 16 * 256 };

typedef struct matrices {
    unsigned m, n, k;
    const type *a_type, *b_type, *c_type, *d_type;
    int a[MOST], b[MOST], c[1024]; /* a[i * k + k], b[k * n + j] */
    double d[1024];                /* what should come out */
} matrices;

static void make(matrices *all, bool by_and, bool saturates) {
    for (unsigned n = 0; n < all->m * all->k; n++)
        all->a[n] = random_of(all->a_type);
    for (unsigned n = 0; n < all->n * all->k; n++)
        all->b[n] = random_of(all->b_type);
    for (unsigned n = 0; n < all->m * all->n; n++) {
        const int *a = all->a + (size_t)(n / all->n) * all->k, *b = all->b + n % all->n;
        int64_t sum = 0;
        for (unsigned k = 0; k < all->k; k++, b += all->n)
            sum += all->a_type->bits == 1 ? by_and ? a[k] & *b : a[k] ^ *b : a[k] * *b;
        all->c[n] = saturates ? n % 2 ? INT32_MAX - 100 : INT32_MIN + 100 : random_of(all->c_type);
        sum += all->c[n];
        sum = saturates && sum > INT32_MAX   ? INT32_MAX
              : saturates && sum < INT32_MIN ? INT32_MIN
                                             : sum;
        all->d[n] = (double)sum;
    }
}

/* What a lane has of one matrix, by the manual's tables: the i-th element of lane 4g + t. */
typedef struct place {
    unsigned row, column;
} place;

static place place_of(char which, const matrices *all, unsigned bits, unsigned lane, unsigned i) {
    unsigned g = lane / 4, t = lane % 4, each = bits < 32 ? 32 / bits : 1;
    if (which == 'c')
        return (place){g + i / 2 % (all->m / 8) * 8, 2 * t + i % 2};
    if (which == 'b') /* a register of each 4 * each rows */
        return (place){i / each * 4 * each + t * each + i % each, g};
    unsigned rows = all->m / 8; /* registers of the same columns */
    return (place){g + i / each % rows * 8, i / each / rows * 4 * each + t * each + i % each};
}

/* Elements of a, b, c and d in a lane's words: of each matrix, in its own 16, 8, 8 and 8. */
enum { LANE_WORDS = 40, AT_B = 16, AT_C = 24, AT_D = 32 };

static void spread(const matrices *all, uint32_t *words) {
    for (unsigned lane = 0; lane < 32; lane++, words += LANE_WORDS) {
        for (unsigned i = 0; i < all->m * all->k / 32; i++) {
            place p = place_of('a', all, all->a_type->bits, lane, i);
            put_bits(words, i, all->a_type->bits,
                     encode(all->a_type, all->a[p.row * all->k + p.column]));
        }
        for (unsigned i = 0; i < all->n * all->k / 32; i++) {
            place p = place_of('b', all, all->b_type->bits, lane, i);
            put_bits(words + AT_B, i, all->b_type->bits,
                     encode(all->b_type, all->b[p.row * all->n + p.column]));
        }
        for (unsigned i = 0; i < all->m * all->n / 32; i++) {
            place p = place_of('c', all, all->c_type->bits, lane, i);
            put_bits(words + AT_C, i, all->c_type->bits,
                     encode(all->c_type, all->c[p.row * all->n + p.column]));
        }
    }
}

static void compare(const matrices *all, const char *opcode, const uint32_t *words) {
    for (unsigned lane = 0; lane < 32; lane++, words += LANE_WORDS)
        for (unsigned i = 0; i < all->m * all->n / 32; i++) {
            place p = place_of('c', all, all->d_type->bits, lane, i);
            double is = decode(all->d_type, get_bits(words + AT_D, i, all->d_type->bits)),
                   right = all->d[p.row * all->n + p.column];
            if (is != right)
                print_error("%s: (%u, %u) is %g instead of %g\n", opcode, p.row, p.column, is,
                            right);
            assert_true(is == right);
        }
}

/* ---- PTX ---- */

/* Adds "{%x0, %x1}" or, with `opcode`, loads or stores of the registers, one by one. */
static size_t add_registers(char *text, size_t used, const char *opcode, char name, unsigned first,
                            unsigned count, unsigned size, unsigned at) {
    for (unsigned n = 0; n < count; n++) {
        if (!opcode)
            used += (size_t)sprintf(text + used, "%s%%%c%u", n ? ", " : "{", name, first + n);
        else if (*opcode == 'l')
            used += (size_t)sprintf(text + used, "ld.global.b%u %%%c%u, [%%p1+%u];\n", size * 8,
                                    name, first + n, at + n * size);
        else
            used += (size_t)sprintf(text + used, "st.global.b%u [%%p1+%u], %%%c%u;\n", size * 8,
                                    at + n * size, name, first + n);
    }
    return opcode ? used : used + (size_t)sprintf(text + used, "}");
}

static const char begin_of_kernel[] =
    HEAD ".entry k(.param .u64 p) {\n.reg .b32 %r<64>; .reg .f32 %f<64>; .reg .b64 %d<64>;\n"
         ".reg .b64 %p<4>; .reg .b32 %t;\nld.param.u64 %p2, [p];\nmov.u32 %t, %tid.x;\n"
         "mul.wide.u32 %p1, %t, 160;\nadd.u64 %p1, %p1, %p2;\n";

/* The registers of a matrix: their names, how many, and how large they are. */
typedef struct registers {
    char name;
    unsigned count, size;
} registers;

static registers registers_of(const type *t, unsigned elements) {
    char name = t->bits == 64 ? 'd' : 'r';
    if (strcmp(t->name, "f32") == 0)
        name = 'f';
    return (registers){name, elements * t->bits / 32 / (t->bits == 64 ? 64 : 32),
                       t->bits == 64 ? 8 : 4};
}

/* Writes a kernel that loads what a lane has of a, b and c, does the instruction, and stores d. */
static void write_kernel(char *text, const char *opcode, const matrices *all) {
    registers a = registers_of(all->a_type, all->m * all->k),
              b = registers_of(all->b_type, all->n * all->k),
              c = registers_of(all->c_type, all->m * all->n),
              d = registers_of(all->d_type, all->m * all->n);
    size_t used = (size_t)sprintf(text, "%s", begin_of_kernel);
    used = add_registers(text, used, "ld", a.name, 0, a.count, a.size, 0);
    used = add_registers(text, used, "ld", b.name, 16, b.count, b.size, AT_B * 4);
    used = add_registers(text, used, "ld", c.name, 32, c.count, c.size, AT_C * 4);
    used += (size_t)sprintf(text + used, "%s ", opcode);
    used = add_registers(text, used, NULL, d.name, 48, d.count, d.size, 0);
    used += (size_t)sprintf(text + used, ", ");
    used = add_registers(text, used, NULL, a.name, 0, a.count, a.size, 0);
    used += (size_t)sprintf(text + used, ", ");
    used = add_registers(text, used, NULL, b.name, 16, b.count, b.size, 0);
    used += (size_t)sprintf(text + used, ", ");
    used = add_registers(text, used, NULL, c.name, 32, c.count, c.size, 0);
    used += (size_t)sprintf(text + used, ";\n");
    used = add_registers(text, used, "st", d.name, 48, d.count, d.size, AT_D * 4);
    sprintf(text + used, "ret;\n}\n");
}

/* ---- mma ---- */

/* All shapes; `types` are those of d, a, b and c. */
typedef struct mma_row {
    unsigned m, n, k;
    const char *types, *more; /* what else the opcode says, behind the layouts or at its end */
} mma_row;

static const mma_row mma_rows[] = {
    {16, 8, 8, "f32.f16.f16.f32", ""},
    {16, 8, 8, "f16.f16.f16.f16", ""},
    {16, 8, 16, "f32.f16.f16.f32", ""},
    {16, 8, 16, "f16.f16.f16.f16", ""},
    {16, 8, 8, "f32.bf16.bf16.f32", ""},
    {16, 8, 16, "f32.bf16.bf16.f32", ""},
    {16, 8, 4, "f32.tf32.tf32.f32", ""},
    {16, 8, 8, "f32.tf32.tf32.f32", ""},
    {8, 8, 4, "f64.f64.f64.f64", ""},
    {16, 8, 4, "f64.f64.f64.f64", ""},
    {16, 8, 8, "f64.f64.f64.f64", ""},
    {16, 8, 16, "f64.f64.f64.f64", ""},
    {16, 8, 16, "f32.e4m3.e4m3.f32", ""},
    {16, 8, 32, "f32.e4m3.e5m2.f32", ""},
    {16, 8, 32, "f32.e5m2.e4m3.f32", ""},
    {16, 8, 32, "f16.e5m2.e5m2.f16", ""},
    {16, 8, 16, "f16.e4m3.e4m3.f16", ""},
    {8, 8, 16, "s32.s8.s8.s32", ""},
    {8, 8, 16, "s32.u8.u8.s32", ""},
    {16, 8, 16, "s32.s8.u8.s32", ""},
    {16, 8, 32, "s32.u8.s8.s32", ""},
    {16, 8, 32, "s32.s8.s8.s32", ".satfinite"},
    {8, 8, 16, "s32.u8.u8.s32", ".satfinite"},
    {8, 8, 32, "s32.s4.s4.s32", ""},
    {16, 8, 32, "s32.u4.s4.s32", ""},
    {16, 8, 64, "s32.s4.u4.s32", ""},
    {16, 8, 64, "s32.u4.u4.s32", ".satfinite"},
    {8, 8, 128, "s32.b1.b1.s32", ".xor.popc"},
    {16, 8, 128, "s32.b1.b1.s32", ".and.popc"},
    {16, 8, 256, "s32.b1.b1.s32", ".xor.popc"},
    {16, 8, 256, "s32.b1.b1.s32", ".and.popc"},
};

static void read_types(matrices *all, const char *names) {
    char of[4][8];
    assert_int_equal(sscanf(names, "%7[^.].%7[^.].%7[^.].%7s", of[0], of[1], of[2], of[3]), 4);
    all->d_type = type_of(of[0]);
    all->a_type = type_of(of[1]);
    all->b_type = type_of(of[2]);
    all->c_type = type_of(of[3]);
}

static void multiply_all_shapes(void) {
    static matrices all;
    for (size_t n = 0; n < sizeof mma_rows / sizeof *mma_rows; n++) {
        const mma_row *of = &mma_rows[n];
        if (strcmp(target, "89") < 0 && (strstr(of->types, "e4m3") || strstr(of->types, "e5m2")))
            continue;
        bool saturates = strcmp(of->more, ".satfinite") == 0;
        char opcode[128], text[8000];
        uint32_t words[32 * LANE_WORDS] = {0};
        all.m = of->m;
        all.n = of->n;
        all.k = of->k;
        read_types(&all, of->types);
        snprintf(opcode, sizeof opcode, "mma.sync.aligned.m%un%uk%u.row.col%s.%s%s", of->m, of->n,
                 of->k, saturates ? of->more : "", of->types, saturates ? "" : of->more);
        make(&all, strcmp(of->more, ".and.popc") == 0, saturates);
        spread(&all, words);
        write_kernel(text, opcode, &all);
        run(text, words, sizeof words / sizeof *words);
        compare(&all, opcode, words);
    }
}

TEST(products_of_all_shapes) {
    multiply_all_shapes();
}

/* Sums of integers do not depend on how many products a device adds at once. */
TEST(products_on_older_devices) {
    begin_on("8.0");
    target = "80";
    multiply_all_shapes();
    target = "90";
}

/* Elements that the manual's tables say: lane, i, row and column. */
TEST(places_of_elements) {
    static const struct {
        char which;
        unsigned m, bits, lane, i, row, column;
    } manual[] = {
        {'a', 16, 16, 5, 1, 1, 3},    {'a', 16, 16, 5, 2, 9, 2},  {'a', 16, 16, 5, 5, 1, 11},
        {'a', 16, 16, 31, 7, 15, 15}, {'b', 16, 16, 6, 3, 13, 1}, {'c', 16, 32, 30, 2, 15, 4},
        {'a', 16, 32, 9, 1, 10, 1},   {'a', 16, 32, 9, 2, 2, 5},  {'b', 16, 32, 9, 1, 5, 2},
        {'a', 16, 64, 9, 7, 10, 13},  {'b', 16, 64, 9, 3, 13, 2}, {'a', 8, 8, 7, 2, 1, 14},
        {'a', 16, 8, 7, 5, 9, 13},    {'a', 16, 8, 7, 14, 9, 30}, {'b', 16, 8, 7, 5, 29, 1},
        {'a', 16, 4, 4, 17, 1, 33},   {'a', 16, 1, 4, 40, 9, 8},  {'b', 16, 1, 4, 33, 129, 1},
        {'c', 8, 32, 13, 1, 3, 3},
    };
    for (size_t n = 0; n < sizeof manual / sizeof *manual; n++) {
        matrices all = {.m = manual[n].m};
        place p = place_of(manual[n].which, &all, manual[n].bits, manual[n].lane, manual[n].i);
        assert_int_equal(p.row, manual[n].row);
        assert_int_equal(p.column, manual[n].column);
    }
}

/* ---- four products of 8x8x4 ---- */

/* The quarter q has lanes 4q to 4q + 3 and those 16 further on. */
static void quarters(const char *layouts, const char *c_type, const char *d_type) {
    static const char text[] =
        "mma.sync.aligned.m8n8k4.%s.%s.f16.f16.%s {%s}, {%%r0, %%r1}, {%%r16, %%r17}, {%s};\n";
    char kernel[8000];
    uint32_t words[32 * LANE_WORDS] = {0};
    bool a_rows = strncmp(layouts, "row", 3) == 0, b_rows = strstr(layouts, ".row") != NULL;
    const type *half = type_of("f16"), *c = type_of(c_type), *d = type_of(d_type);
    int a[4][8][4], b[4][4][8];
    for (unsigned lane = 0; lane < 32; lane++)
        for (unsigned i = 0; i < 8; i++) {
            unsigned q = lane % 16 / 4, x = lane % 4, high = lane / 16 * 4;
            uint32_t *at = words + lane * LANE_WORDS;
            if (i < 4) {
                int one = random_of(half), other = random_of(half);
                *(a_rows ? &a[q][x + high][i] : &a[q][i + high][x]) = one;
                *(b_rows ? &b[q][x][i + high] : &b[q][i][x + high]) = other;
                put_bits(at, i, 16, encode(half, one));
                put_bits(at + AT_B, i, 16, encode(half, other));
            }
            put_bits(at + AT_C, i, c->bits, encode(c, (int)(i + lane) % 9 - 4));
        }
    size_t used = (size_t)sprintf(kernel, "%s", begin_of_kernel);
    used = add_registers(kernel, used, "ld", 'r', 0, 2, 4, 0);
    used = add_registers(kernel, used, "ld", 'r', 16, 2, 4, AT_B * 4);
    used = add_registers(kernel, used, "ld", 'r', 32, 8, 4, AT_C * 4);
    used += (size_t)sprintf(kernel + used, text, layouts, d_type, c_type,
                            d->bits == 16 ? "%r48, %r49, %r50, %r51"
                                          : "%r48, %r49, %r50, %r51, %r52, %r53, %r54, %r55",
                            c->bits == 16 ? "%r32, %r33, %r34, %r35"
                                          : "%r32, %r33, %r34, %r35, %r36, %r37, %r38, %r39");
    used = add_registers(kernel, used, "st", 'r', 48, 8, 4, AT_D * 4);
    sprintf(kernel + used, "ret;\n}\n");
    run(kernel, words, sizeof words / sizeof *words);
    for (unsigned lane = 0; lane < 32; lane++)
        for (unsigned i = 0; i < 8; i++) {
            unsigned q = lane % 16 / 4, x = lane % 4, high = lane / 16 * 4;
            bool wide = d->bits == 32;
            unsigned row = high + (wide ? (x & 1) + (i & 2) : x),
                     column = wide ? (i & 4) + (x & 2) + (i & 1) : i;
            double sum = decode(d, get_bits(words + lane * LANE_WORDS + AT_D, i, d->bits));
            for (unsigned k = 0; k < 4; k++)
                sum -= a[q][row][k] * b[q][k][column];
            if (c->bits == d->bits)
                assert_true(sum == (int)(i + lane) % 9 - 4);
            else
                assert_true(fabs(sum) <= 4);
        }
}

TEST(four_products_at_once) {
    quarters("row.col", "f32", "f32");
    quarters("col.row", "f32", "f32");
    quarters("row.row", "f16", "f16");
    quarters("col.col", "f16", "f16");
    quarters("row.col", "f16", "f32");
}

/* ---- rounding ---- */

/* c and up to twelve products of a and b, by their bits; `times`: the first one as often. */
typedef struct sum {
    unsigned k;
    const char *types;
    uint64_t c, a[12], b[12];
    unsigned times;
    uint64_t result;
} sum;

/* Puts it where lanes 0 to 3 have row 0 of a and column 0 of b. */
static uint64_t result_of(const sum *of) {
    static matrices all;
    char opcode[128], text[8000];
    uint32_t words[32 * LANE_WORDS] = {0};
    all.m = 16;
    all.n = 8;
    all.k = of->k;
    read_types(&all, of->types);
    snprintf(opcode, sizeof opcode, "mma.sync.aligned.m16n8k%u.row.col.%s", of->k, of->types);
    for (unsigned n = 0; n < (of->times ? of->times : 12); n++) {
        unsigned bits = all.a_type->bits, each = 32 / bits, lane = n / each % 4,
                 part = n / (4 * each), from = of->times ? 0 : n;
        uint32_t *at = words + lane * LANE_WORDS;
        put_bits(at, (size_t)part * 2 * each + n % each, bits, of->a[from]);
        put_bits(at + AT_B, (size_t)part * each + n % each, bits, of->b[from]);
    }
    put_bits(words + AT_C, 0, all.c_type->bits, of->c);
    write_kernel(text, opcode, &all);
    run(text, words, sizeof words / sizeof *words);
    return get_bits(words + AT_D, 0, all.d_type->bits);
}

static void check_sums(const sum *sums, size_t count) {
    for (size_t n = 0; n < count; n++) {
        uint64_t is = result_of(&sums[n]);
        if (is != sums[n].result)
            print_error("sum %zu of %s is %llx instead of %llx\n", n, sums[n].types,
                        (unsigned long long)is, (unsigned long long)sums[n].result);
        assert_true(is == sums[n].result);
    }
}

#define F16  "f32.f16.f16.f32"
#define TO16 "f16.f16.f16.f16"
#define BF16 "f32.bf16.bf16.f32"
#define TF32 "f32.tf32.tf32.f32"
#define E4M3 "f32.e4m3.e4m3.f32"
#define E5M2 "f32.e5m2.e5m2.f32"
enum { ONE = 0x3f800000 };

/* In f16, 1 is 0x3c00, 2^-12 is 0x0c00 and 2^-13 is 0x0800. */
TEST(what_a_sum_keeps) {
    static const sum sums[] = {
        /* 25 bits below the largest exponent: eight times 2^-25 are 2^-22. */
        {16, F16, ONE, {0x0c00}, {0x0800}, 8, ONE + 2},
        {16, F16, ONE, {0x0800}, {0x0800}, 8, ONE},
        {16, F16, 0, {0x0800}, {0x0800}, 8, 0x34000000},
        {16, F16, 0, {0x3c00, 0xbc00, 0x0c00}, {0x3c00, 0x3c00, 0x0800}, 0, 0x33000000},
        {16, F16, 0, {0x3c00, 0xbc00, 0x0800}, {0x3c00, 0x3c00, 0x0800}, 0, 0},
        /* 1.5 * 1.5 counts as the sum of the factors' exponents, which is that of 1. */
        {16, F16, 0, {0x3e00, 0xbe00, 0x0c00}, {0x3e00, 0x3e00, 0x0800}, 0, 0x33000000},
        {16, F16, 0, {0x3e00, 0xbe00, 0x0800}, {0x3e00, 0x3e00, 0x0800}, 0, 0},
        /* A subnormal factor counts as the smallest normal one: 2^-24 has the exponent of 2^-14. */
        {16, F16, 0x2f800000, {0x0001, 0x8001}, {0x7800, 0x7800}, 0, 0},
        /* What is too small for f32 becomes a zero without a sign. */
        {16, BF16, 0, {0x9a00}, {0x1a00}, 1, 0},
        /* All sixteen products are added at once. */
        {16, F16, 0, {0x7800, 0xf800, [8] = 0x0c00}, {0x3c00, 0x3c00, [8] = 0x0800}, 0, 0},
        /* A result of f32 is rounded towards zero. */
        {16, F16, ONE, {0x0c00}, {0x0800}, 3, ONE},
        {16, F16, 0xbf800000, {0x0c00}, {0x0800}, 3, 0xbf7ffffe},
        {16, BF16, 0x7f7fffff, {0x5f80}, {0x5300}, 1, 0x7f7fffff},
        {16, BF16, 0, {0x5f80}, {0x5f80}, 1, 0x7f800000},
        /* A result of f16 is rounded to the nearest, and to even. */
        {16, TO16, 0x3c00, {0x1000}, {0x3c00}, 1, 0x3c00},
        {16, TO16, 0x3c01, {0x1000}, {0x3c00}, 1, 0x3c02},
        {16, TO16, 0x3c00, {0x1000, 0x1400}, {0x3c00, 0x1400}, 0, 0x3c01},
        {16, TO16, 0x7bff, {0x4c00}, {0x3c00}, 1, 0x7c00},
        {16, TO16, 0x7bff, {0x4800}, {0x3c00}, 1, 0x7bff},
        {16, TO16, 0x0001, {0x0001}, {0x3c00}, 1, 0x0002},
        {16, TO16, 0x0000, {0x0001}, {0x3900}, 1, 0x0001},
        {16, TO16, 0x8001, {0x0003}, {0xb800}, 1, 0x8002},
        /* What becomes zero there has no sign, as an H200 says. */
        {16, TO16, 0x8000, {0x0001}, {0xb800}, 1, 0},
        {16, TO16, 0x8000, {0x0001}, {0xb801}, 1, 0x8001},
        {8, TO16, 0x8000, {[6] = 0x0212}, {[6] = 0x8377}, 0, 0},
        /* Subnormal sums: 2^-150 is dropped, two of them are the smallest f32. */
        {16, BF16, 0, {0x1c80}, {0x1780}, 1, 0},
        {16, BF16, 0, {0x1c80}, {0x1780}, 2, 1},
        {16, BF16, 0x80000003, {0}, {0}, 1, 0x80000003},
        /* Of products a sum keeps more: 25 bits below 2^-133. An H200 gives these two. */
        {4,
         TF32,
         0,
         {0xc377513c, 0xb5b97da6, 0xb673e602, 0xc152e307},
         {0x149, 0xfa5f, 0x432a9},
         0,
         0x80000001},
        {4,
         TF32,
         0,
         {0x37fdf660, 0xa045e8b8, 0x9e49235b, 0x8b7144e3},
         {0x002a9f7e, 0x080f928c, 0x15521788, 0x8e217656},
         0,
         0x00000053},
        /* tf32 is what the first 19 bits say. */
        {8, TF32, 0, {0x3f801fff}, {0x3f801fff}, 1, ONE},
        {8, TF32, 0, {0x3f802000}, {0x3f800000}, 1, 0x3f802000},
        /* 2^8 * 2^8 of e4m3, minus the same, and 2^-9 * 2^-8, 33 bits below: lost where it is in
         * the same half of the products, which has the first two of each four; kept in the other
         * half. */
        {32, E4M3, 0, {0x78, 0xf8, [4] = 0x01}, {0x78, 0x78, [4] = 0x02}, 0, 0},
        {32, E4M3, 0, {0x78, 0xf8, 0x01}, {0x78, 0x78, 0x02}, 0, 0x37000000},
        /* c is added at last, and to the nearest: 2^8 - 2^-17 is 2^8. */
        {32, E4M3, 0x43800000, {0x81}, {0x02}, 1, 0x43800000},
        {32, E4M3, 0, {0x01}, {0x01}, 32, 0x39000000},
        {32, E5M2, ONE, {0x3c}, {0x3c}, 32, 0x42040000},
    };
    check_sums(sums, sizeof sums / sizeof *sums);
}

TEST(infinities_and_nan) {
    static const sum sums[] = {
        {16, F16, ONE, {0x7c00}, {0x3c00}, 1, 0x7f800000},
        {16, F16, ONE, {0x7c00}, {0xbc00}, 1, 0xff800000},
        {16, F16, ONE, {0x7c00}, {0x0000}, 1, 0x7fffffff},
        {16, F16, ONE, {0xfe01}, {0x3c00}, 1, 0x7fffffff},
        {16, F16, 0xffc00001, {0x3c00}, {0x3c00}, 1, 0x7fffffff},
        {16, F16, 0xff800000, {0x3c00}, {0x3c00}, 1, 0xff800000},
        {16, F16, 0xff800000, {0x7c00}, {0x3c00}, 1, 0x7fffffff},
        {16, F16, 0, {0x7c00, 0xfc00}, {0x3c00, 0x3c00}, 0, 0x7fffffff},
        {16, TO16, 0, {0x3c00, 0xfc00}, {0x3c00, 0x3c00}, 0, 0xfc00},
        {16, TO16, 0x7c01, {0x3c00}, {0x3c00}, 1, 0x7fff},
        {32, E4M3, ONE, {0x7f}, {0x38}, 1, 0x7fffffff},
        {32, E4M3, 0, {0x7e}, {0x38}, 1, 0x43e00000},
        {32, E5M2, ONE, {0x7c}, {0xbc}, 1, 0xff800000},
    };
    check_sums(sums, sizeof sums / sizeof *sums);
}

/* Ampere keeps 24 bits, and adds eight products of f16 at once; Ada 13 bits of fp8. */
TEST(sums_of_older_devices) {
    static const sum ampere[] = {
        {16, F16, ONE, {0x0c00}, {0x0800}, 8, ONE},
        {16, F16, ONE, {0x0c00}, {0x0c00}, 8, ONE + 4},
        {16, F16, 0, {0x7800, 0xf800, [8] = 0x0c00}, {0x3c00, 0x3c00, [8] = 0x0800}, 0, 0x33000000},
    };
    static const sum ada[] = {
        {32, E4M3, ONE, {0x08}, {0x08}, 1, 0x3f800800},
        {32, E4M3, ONE, {0x08}, {0x07}, 1, 0x3f800400},
        {16, F16, ONE, {0x0c00}, {0x0c00}, 8, ONE + 4},
    };
    begin_on("8.0");
    target = "80";
    check_sums(ampere, sizeof ampere / sizeof *ampere);
    begin_on("8.9");
    target = "89";
    check_sums(ada, sizeof ada / sizeof *ada);
    target = "90";
}

/* ---- wmma ---- */

/* How far the matrices are apart in memory, in bytes. */
enum { AREA = 4096 };

typedef struct wmma_row {
    unsigned m, n, k;
    const char *types;
} wmma_row;

static const wmma_row wmma_rows[] = {
    {16, 16, 16, "f32.f16.f16.f32"},   {32, 8, 16, "f32.f16.f16.f32"},
    {8, 32, 16, "f32.f16.f16.f32"},    {16, 16, 16, "f16.f16.f16.f16"},
    {32, 8, 16, "f16.f16.f16.f16"},    {8, 32, 16, "f16.f16.f16.f16"},
    {16, 16, 16, "f32.f16.f16.f16"},   {16, 16, 16, "f16.f16.f16.f32"},
    {16, 16, 16, "f32.bf16.bf16.f32"}, {32, 8, 16, "f32.bf16.bf16.f32"},
    {8, 32, 16, "f32.bf16.bf16.f32"},  {16, 16, 16, "s32.s8.s8.s32"},
    {32, 8, 16, "s32.u8.u8.s32"},      {8, 32, 16, "s32.s8.s8.s32"},
    {16, 16, 8, "f32.tf32.tf32.f32"},  {8, 8, 4, "f64.f64.f64.f64"},
    {8, 8, 32, "s32.s4.s4.s32"},       {8, 8, 32, "s32.u4.u4.s32"},
    {8, 8, 128, "s32.b1.b1.s32"},
};

/* A matrix in memory: by rows or by columns, which are `stride` elements apart. */
typedef struct layout {
    bool columns;
    unsigned stride;
} layout;

static layout layout_of(const type *t, unsigned rows, unsigned columns, bool by_columns,
                        bool padded) {
    return (layout){by_columns, (by_columns ? rows : columns) + (padded ? 128 / t->bits : 0)};
}

static size_t index_of(layout l, unsigned i, unsigned j) {
    return l.columns ? (size_t)j * l.stride + i : (size_t)i * l.stride + j;
}

static unsigned fragment_registers(const type *t, unsigned elements, bool is_factor) {
    return is_factor && t->bits == 16 && t->exponent == 5 ? 8 : registers_of(t, elements).count;
}

/* Adds a load or a store of a matrix, in the space. */
static size_t add_access(char *text, size_t used, const char *what, const matrices *all,
                         const type *t, layout l, const char *space, unsigned at,
                         unsigned registers_from, unsigned count, bool strided) {
    char name = registers_of(t, 32).name;
    bool store = strncmp(what, "store", 5) == 0;
    char list[200], address[40], stride[20] = "";
    add_registers(list, 0, NULL, name, registers_from, count, 0, 0);
    snprintf(address, sizeof address, "[%%p2+%u]", at);
    if (strided)
        snprintf(stride, sizeof stride, ", %u", l.stride);
    return used + (size_t)sprintf(text + used, "wmma.%s.sync.aligned.%s.m%un%uk%u%s.%s %s, %s%s;\n",
                                  what, l.columns ? "col" : "row", all->m, all->n, all->k, space,
                                  t->name, store ? address : list, store ? list : address, stride);
}

static void wmma(const wmma_row *of, bool a_columns, bool b_columns, bool c_columns, bool padded) {
    static matrices all;
    static uint32_t words[4 * AREA / 4];
    static char text[8000];
    all.m = of->m;
    all.n = of->n;
    all.k = of->k;
    read_types(&all, of->types);
    make(&all, false, false);
    memset(words, 0, sizeof words);
    layout a = layout_of(all.a_type, all.m, all.k, a_columns, padded),
           b = layout_of(all.b_type, all.k, all.n, b_columns, padded),
           c = layout_of(all.c_type, all.m, all.n, c_columns, padded),
           d = layout_of(all.d_type, all.m, all.n, c_columns, padded);
    for (unsigned n = 0; n < all.m * all.k; n++)
        put_bits(words, index_of(a, n / all.k, n % all.k), all.a_type->bits,
                 encode(all.a_type, all.a[n]));
    for (unsigned n = 0; n < all.k * all.n; n++)
        put_bits(words + AREA / 4, index_of(b, n / all.n, n % all.n), all.b_type->bits,
                 encode(all.b_type, all.b[n]));
    for (unsigned n = 0; n < all.m * all.n; n++)
        put_bits(words + AREA / 2, index_of(c, n / all.n, n % all.n), all.c_type->bits,
                 encode(all.c_type, all.c[n]));
    unsigned a_count = fragment_registers(all.a_type, all.m * all.k, true),
             b_count = fragment_registers(all.b_type, all.n * all.k, true),
             c_count = fragment_registers(all.c_type, all.m * all.n, false),
             d_count = fragment_registers(all.d_type, all.m * all.n, false);
    size_t used = (size_t)sprintf(text, "%s", begin_of_kernel);
    used = add_access(text, used, "load.a", &all, all.a_type, a, ".global", 0, 0, a_count, padded);
    used = add_access(text, used, "load.b", &all, all.b_type, b, "", AREA, 16, b_count, padded);
    used = add_access(text, used, "load.c", &all, all.c_type, c, ".global", 2 * AREA, 32, c_count,
                      padded);
    bool two = strncmp(all.a_type->name, "f16", 3) == 0;
    char types_of_mma[64], lists[4][200];
    const type *of_each[4] = {all.d_type, all.a_type, all.b_type, all.c_type};
    const unsigned from[] = {48, 0, 16, 32}, counts[] = {d_count, a_count, b_count, c_count};
    snprintf(types_of_mma, sizeof types_of_mma, "%s%s%s", two ? all.d_type->name : of->types,
             two ? "." : "", two ? all.c_type->name : "");
    for (unsigned n = 0; n < 4; n++)
        add_registers(lists[n], 0, NULL, registers_of(of_each[n], 32).name, from[n], counts[n], 0,
                      0);
    used +=
        (size_t)sprintf(text + used, "wmma.mma%s.sync.aligned.%s.%s.m%un%uk%u.%s %s, %s, %s, %s;\n",
                        all.a_type->bits == 1 ? ".xor.popc" : "", a_columns ? "col" : "row",
                        b_columns ? "col" : "row", all.m, all.n, all.k, types_of_mma, lists[0],
                        lists[1], lists[2], lists[3]);
    used = add_access(text, used, "store.d", &all, all.d_type, d, ".global", 3 * AREA, 48, d_count,
                      padded);
    sprintf(text + used, "ret;\n}\n");
    run(text, words, sizeof words / sizeof *words);
    for (unsigned n = 0; n < all.m * all.n; n++) {
        uint64_t bits =
            get_bits(words + 3 * AREA / 4, index_of(d, n / all.n, n % all.n), all.d_type->bits);
        if (decode(all.d_type, bits) != all.d[n])
            print_error("m%un%uk%u %s: element %u is %g instead of %g\n", all.m, all.n, all.k,
                        of->types, n, decode(all.d_type, bits), all.d[n]);
        assert_true(decode(all.d_type, bits) == all.d[n]);
    }
}

TEST(wmma_of_all_shapes) {
    for (size_t n = 0; n < sizeof wmma_rows / sizeof *wmma_rows; n++) {
        matrices all;
        read_types(&all, wmma_rows[n].types);
        bool packed = all.a_type->bits < 8; /* then only one layout is there */
        for (unsigned way = 0; way < 16; way++) {
            bool a_columns = way & 1, b_columns = way & 2;
            if (!packed || (!a_columns && b_columns))
                wmma(&wmma_rows[n], a_columns, b_columns, way & 4, way & 8);
        }
    }
}

/* 2^13 and its opposite are gone before 2^-13 comes, which is in the other half of the products:
 * mma of the same shape loses it. So do 1,024 sums of an H200. */
TEST(wmma_of_tf32_adds_four_products_at_a_time) {
    static char text[4000];
    uint32_t words[3 * AREA / 4] = {[0] = 0x46000000, [1] = 0xc6000000, [4] = 0x39000000};
    for (unsigned n = 0; n < 8; n++)
        words[AREA / 4 + n] = ONE; /* the first column of b */
    char lists[3][200];
    add_registers(lists[0], 0, NULL, 'r', 0, 4, 0, 0);
    add_registers(lists[1], 0, NULL, 'r', 16, 4, 0, 0);
    add_registers(lists[2], 0, NULL, 'f', 32, 8, 0, 0);
    size_t used = (size_t)sprintf(text, "%s", begin_of_kernel);
    for (unsigned n = 32; n < 40; n++)
        used += (size_t)sprintf(text + used, "mov.f32 %%f%u, 0f00000000;\n", n);
    sprintf(text + used,
            "wmma.load.a.sync.aligned.row.m16n16k8.global.tf32 %s, [%%p2];\n"
            "wmma.load.b.sync.aligned.col.m16n16k8.global.tf32 %s, [%%p2+%d];\n"
            "wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32 %s, %s, %s, %s;\n"
            "wmma.store.d.sync.aligned.row.m16n16k8.global.f32 [%%p2+%d], %s;\nret;\n}\n",
            lists[0], lists[1], AREA, lists[2], lists[0], lists[1], lists[2], 2 * AREA, lists[2]);
    run(text, words, sizeof words / sizeof *words);
    assert_int_equal(words[2 * AREA / 4], 0x39000000);
}

/* Through shared memory, by its own and by generic addresses, and with elements of c changed one by
 * one. */
TEST(wmma_in_shared_memory) {
    static const char text[] =
        HEAD ".entry k(.param .u64 p) {\n.reg .b32 %r<40>; .reg .f32 %f<20>; .reg .b64 %d<8>;\n"
             ".shared .align 128 .b8 s[2048];\nld.param.u64 %d1, [p];\nmov.u32 %r30, %tid.x;\n"
             "mul.wide.u32 %d2, %r30, 32;\nadd.u64 %d3, %d1, %d2;\nmov.u64 %d4, s;\n"
             "add.u64 %d5, %d4, %d2;\ncvta.shared.u64 %d6, %d4;\nmov.u32 %r31, 16;\n"
             "ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%d3];\nst.shared.v4.u32 [%d5], {%r0, %r1, "
             "%r2, %r3};\n"
             "ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%d3+16];\n"
             "st.shared.v4.u32 [%d5+16], {%r0, %r1, %r2, %r3};\nbar.sync 0;\n"
             "wmma.load.c.sync.aligned.row.m16n16k16.shared.f32 {%f0, %f1, %f2, %f3, %f4, %f5, "
             "%f6, %f7}, "
             "[%d4], %r31;\n"
             "add.f32 %f0, %f0, %f0;\nadd.f32 %f1, %f1, %f1;\nadd.f32 %f2, %f2, %f2;\nadd.f32 %f3, "
             "%f3, %f3;\n"
             "add.f32 %f4, %f4, %f4;\nadd.f32 %f5, %f5, %f5;\nadd.f32 %f6, %f6, %f6;\nadd.f32 %f7, "
             "%f7, %f7;\n"
             "wmma.store.d.sync.aligned.col.m16n16k16.f32 [%d6+1024], {%f0, %f1, %f2, %f3, %f4, "
             "%f5, %f6, "
             "%f7}, %r31;\nbar.sync 0;\n"
             "ld.shared.v4.u32 {%r0, %r1, %r2, %r3}, [%d5+1024];\nst.global.v4.u32 [%d3], {%r0, "
             "%r1, %r2, %r3};\n"
             "ld.shared.v4.u32 {%r0, %r1, %r2, %r3}, [%d5+1040];\n"
             "st.global.v4.u32 [%d3+16], {%r0, %r1, %r2, %r3};\nret;\n}\n";
    float values[256];
    uint32_t words[256];
    for (unsigned n = 0; n < 256; n++)
        values[n] = (float)n;
    memcpy(words, values, sizeof words);
    run(text, words, 256);
    memcpy(values, words, sizeof words);
    for (unsigned n = 0; n < 256; n++) /* it was transposed */
        assert_int_equal((int)values[n], 2 * (n % 16 * 16 + n / 16));
}

/* ---- ldmatrix, stmatrix and movmatrix ---- */

/* Puts 4 matrices of 8x8 into shared memory, reads them and writes them to other places. */
#define MATRICES(instructions)                                                                     \
    HEAD ".entry k(.param .u64 p) {\n.reg .b32 %r<20>; .reg .b64 %d<8>;\n"                         \
         ".shared .align 128 .b8 s[1024];\nld.param.u64 %d1, [p];\nmov.u32 %r10, %tid.x;\n"        \
         "mul.wide.u32 %d2, %r10, 16;\nadd.u64 %d3, %d1, %d2;\nmov.u64 %d4, s;\n"                  \
         "add.u64 %d5, %d4, %d2;\ncvt.u32.u64 %r11, %d5;\ncvta.shared.u64 %d6, %d5;\n"             \
         "ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%d3];\n"                                         \
         "st.shared.v4.u32 [%d5], {%r0, %r1, %r2, %r3};\nbar.sync 0;\n" instructions               \
         "st.global.v4.u32 [%d3], {%r0, %r1, %r2, %r3};\nret;\n}\n"

/* Element (i, j) of matrix n is 64n + 8i + j. */
static void run_matrices(const char *text, uint16_t *halves) {
    uint32_t words[128];
    for (unsigned n = 0; n < 256; n++)
        halves[n] = (uint16_t)n;
    memcpy(words, halves, sizeof words);
    run(text, words, 128);
    memcpy(halves, words, sizeof words);
}

TEST(matrices_from_shared_memory) {
    uint16_t halves[256];
    run_matrices(
        MATRICES("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1, %r2, %r3}, [%r11];\n"),
        halves);
    for (unsigned n = 0; n < 256; n++) /* lane, matrix, element of the pair */
        assert_int_equal(halves[n], n / 2 % 4 * 64 + n / 8 / 4 * 8 + n / 8 % 4 * 2 + n % 2);
    run_matrices(
        MATRICES("ldmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 {%r0, %r1, %r2, %r3}, "
                 "[%d5];\n"),
        halves);
    for (unsigned n = 0; n < 256; n++)
        assert_int_equal(halves[n], n / 2 % 4 * 64 + (n / 8 % 4 * 2 + n % 2) * 8 + n / 8 / 4);
    run_matrices(MATRICES("mov.b32 %r2, 0;\nmov.b32 %r3, 0;\n"
                          "ldmatrix.sync.aligned.m8n8.x2.b16 {%r0, %r1}, [%d6];\n"
                          "ldmatrix.sync.aligned.m8n8.x1.b16 {%r2}, [%d6];\n"),
                 halves);
    for (unsigned n = 0; n < 256; n++) {
        unsigned matrix = n / 2 % 4, element = n / 8 / 4 * 8 + n / 8 % 4 * 2 + n % 2;
        assert_int_equal(halves[n], matrix == 3 ? 0 : matrix % 2 * 64 + element);
    }
}

TEST(matrices_to_shared_memory) {
    uint16_t halves[256];
    run_matrices(
        MATRICES("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1, %r2, %r3}, [%r11];\n"
                 "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r11+512], {%r3, %r2, %r1, %r0};\n"
                 "bar.sync 0;\nld.shared.v4.u32 {%r0, %r1, %r2, %r3}, [%d5+512];\n"),
        halves);
    for (unsigned n = 0; n < 256; n++)
        assert_int_equal(halves[n], (3 - n / 64) * 64 + n % 64);
    run_matrices(MATRICES("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r0, %r1}, [%r11];\n"
                          "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%r11], {%r0, %r1};\n"
                          "bar.sync 0;\nld.shared.v4.u32 {%r0, %r1, %r2, %r3}, [%d5];\n"),
                 halves);
    for (unsigned n = 0; n < 256; n++)
        assert_int_equal(halves[n], n < 128 ? n / 64 * 64 + n % 8 * 8 + n / 8 % 8 : n);
}

TEST(a_matrix_between_lanes) {
    uint16_t halves[256];
    run_matrices(MATRICES("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%r11];\n"
                          "movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r0;\n"
                          "mov.b32 %r2, %r0;\nmovmatrix.sync.aligned.m8n8.trans.b16 %r2, %r2;\n"
                          "movmatrix.sync.aligned.m8n8.trans.b16 %r3, %r2;\n"),
                 halves);
    for (unsigned n = 0; n < 256; n++) {
        unsigned register_of = n / 2 % 4, row = n / 8 / 4, column = n / 8 % 4 * 2 + n % 2;
        bool straight = register_of == 0 || register_of == 3;
        assert_int_equal(halves[n], straight ? row * 8 + column : column * 8 + row);
    }
}

/* ---- what is refused ---- */

static void refuses(CUresult code, const char *head, const char *instruction, const char *reason) {
    char text[2000];
    CUmodule module = NULL;
    snprintf(text, sizeof text,
             "%s.entry k() {\n.reg .b32 %%r<8>; .reg .f32 %%f<8>; .reg .b64 %%d<2>;\n%s\nret;\n}\n",
             head, instruction);
    SAYS(code, cuModuleLoadData(&module, text));
    expect_reason(reason);
}

TEST(what_is_refused) {
    static const char newer[] = ".version 8.7\n.target sm_100a\n.address_size 64\n";
    refuses(CUDA_ERROR_INVALID_PTX, HEAD,
            "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r0, %r1}, [%d0];",
            "not supported on .target 'sm_90'");
    begin_on("10.0");
    refuses(
        CUDA_ERROR_NOT_SUPPORTED, newer,
        "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32 {%f0, %f1, %f2, %f3}, "
        "{%r0, %r1, %r2, %r3}, {%r4, %r5}, {%f0, %f1, %f2, %f3};",
        ".kind::f8f6f4 is not known");
    refuses(CUDA_ERROR_NOT_SUPPORTED, newer,
            "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r0, %r1}, [%d0];",
            ".m16n16 is not known");
    refuses(
        CUDA_ERROR_INVALID_PTX, newer,
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, "
        "%r3}, {%r4, %r5}, {%f0, %f1, %f2, %f3};",
        "Illegal matrix shape or types");
    refuses(CUDA_ERROR_INVALID_PTX, newer,
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1}, "
            "{%r4, %r5}, {%f0, %f1, %f2, %f3};",
            "Arguments mismatch");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        C(products_of_all_shapes),
        C(products_on_older_devices),
        C(places_of_elements),
        C(four_products_at_once),
        C(what_a_sum_keeps),
        C(infinities_and_nan),
        C(sums_of_older_devices),
        C(wmma_of_all_shapes),
        C(wmma_of_tf32_adds_four_products_at_a_time),
        C(wmma_in_shared_memory),
        C(matrices_from_shared_memory),
        C(matrices_to_shared_memory),
        C(a_matrix_between_lanes),
        C(what_is_refused),
    };
    return RUN(tests);
}
